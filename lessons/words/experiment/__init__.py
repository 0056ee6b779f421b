"""What chapter 14 measures."""
from lessons.words.experiment import lines, merges, setting

__all__ = ["lines", "merges", "setting"]
