"""What chapter 14 measures."""
from lessons.words.experiment import lines, merges, minilm, poets, setting

__all__ = ["lines", "merges", "minilm", "poets", "setting"]
