"""The pictures of chapter 11, a file for every question."""
