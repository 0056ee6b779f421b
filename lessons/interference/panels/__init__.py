"""The pictures of chapter 7: the `toy`, the `comparison`, the `plane`, `adaptation`, and the table of `choices`."""
from lessons.interference.panels import adaptation, choices, comparison, plane, toy
from lessons.interference.panels.comparison import captioned
from lessons.kit.sweep import caption

__all__ = ["adaptation", "caption", "captioned", "choices", "comparison", "plane", "toy"]
