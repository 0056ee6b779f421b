"""What chapter 14 measures."""
from lessons.words.experiment import lines, merges, poets, setting

__all__ = ["lines", "merges", "poets", "setting"]
