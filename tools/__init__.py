"""What `make` runs that is not the course."""
