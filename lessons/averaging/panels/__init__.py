"""The pictures, a file a question: `triples` (Figure 4), `features` (Figures 5, 6, 17, 18), `mixes` (Lemma 2),
`triangle`, `outliers`, `walks`, `soups`, `resnets`,
`speed`."""
from lessons.averaging.panels import features, mixes, outliers, resnets, soups, speed, triangle, triples, walks
from lessons.kit.sweep import caption
