"""Answers to the exercises of chapter 8."""
from tests.natural import Natural

WRONG: list[Natural] = []

RIGHT: list[Natural] = []
