"""The pictures of chapter 14 that show what was measured, a file for every question."""
