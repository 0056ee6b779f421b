"""The pictures of chapter 7: the `toy`, the `comparison`, the `plane`, `adaptation`, and the table of `choices`."""
from lessons.interference.panels import adaptation, choices, comparison, plane, toy
from lessons.kit.sweep import caption

__all__ = ["adaptation", "caption", "choices", "comparison", "plane", "toy"]
