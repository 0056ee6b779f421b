"""The pictures of chapter 7: its `tasks`, the `toy`, your own `ties`, the `library` of methods, the `comparison`, its
`leads`, and `all_methods`, the `plane`, `adaptation`, and the table of `choices`."""
from lessons.interference.panels import (
    adaptation,
    all_methods,
    choices,
    comparison,
    leads,
    library,
    plane,
    tasks,
    ties,
    toy,
)
from lessons.interference.panels.comparison import captioned
from lessons.kit.sweep import caption

__all__ = ["adaptation", "all_methods", "caption", "captioned", "choices", "comparison", "leads", "library", "plane",
           "tasks", "ties", "toy"]
