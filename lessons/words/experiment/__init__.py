"""What chapter 14 measures."""
from lessons.words.experiment import lines, merges, minilm, poets, pretraining, setting

__all__ = ["lines", "merges", "minilm", "poets", "pretraining", "setting"]
