"""The mathematics of the chapter: `matching` the units of two networks, the `curvature` of a loss, and how well one
number is `predicting` another."""
from lessons.pretraining.algorithms import curvature, matching, predicting
