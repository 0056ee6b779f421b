"""The mathematics of chapter 1: what CTL speaks of (`features`), its numbers along a `line`, and why features are
missed (`missed`)."""
from lessons.linearity.algorithms.features import (Numbers, barrier, coef, cosine, cosine_gap, ctl, evaluate,
                                                   own_distance, worst)
from lessons.linearity.algorithms.line import along, interpolated, means, with_counters
from lessons.linearity.algorithms.missed import (cross_term, from_layer, gates_of, handed_on, inputs,
                                                 kinks_and_curvature, opposite_signs, part_of)
from toy_models.weights import mix
