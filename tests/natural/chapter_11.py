"""Answers to the exercises of chapter 11."""
from tests.natural.chapter_11_transformer import RIGHT, WRONG

__all__ = ["RIGHT", "WRONG"]
