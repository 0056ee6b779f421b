"""What every chapter uses, and what knows no chapter."""
