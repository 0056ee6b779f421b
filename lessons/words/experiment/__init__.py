"""What chapter 14 measures."""
from lessons.words.experiment import heads, lines, merges, minilm, poets, pretraining, setting, texts

__all__ = ["heads", "lines", "merges", "minilm", "poets", "pretraining", "setting", "texts"]
