"""The pictures, a file a question: `models` and `two_ways` draw what the lesson is about, then come `triples` (Figure
4), `features` (Figures 5, 6, 17, 18), `mixes` (Lemma 2), `triangle`, `outliers`, `walks`, `soups`, `resnets`, `speed`.
"""
from lessons.averaging.panels import (
    features,
    mixes,
    models,
    outliers,
    resnets,
    soups,
    speed,
    triangle,
    triples,
    two_ways,
    walks,
)
from lessons.kit.sweep import caption
