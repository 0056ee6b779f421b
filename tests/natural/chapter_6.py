"""Answers to the exercises of chapter 6."""
from tests.natural import Natural

WRONG: list[Natural] = []

RIGHT: list[Natural] = []
