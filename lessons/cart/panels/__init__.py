"""The pictures of chapter 8, one file a question."""
