"""What chapter 14 measures."""
from lessons.words.experiment import merges, setting

__all__ = ["merges", "setting"]
