"""The mathematics of the chapter: `matching` the units of two networks, and the `curvature` of a loss."""
from lessons.pretraining.algorithms import curvature, matching
