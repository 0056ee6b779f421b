"""The mathematics of the chapter: `networks` as functions of their weights, the `expansion` of task arithmetic around
joint training, its `bound`.
"""
from lessons.gradients.algorithms import bound, expansion, networks, optimisers
