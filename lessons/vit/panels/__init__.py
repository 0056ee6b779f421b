"""The pictures of chapters 12 and 13, a file for every question."""
