"""The mathematics of the chapter, one file a question: the sums of truncated task vectors, their interference,
Theorem 2, and what it all costs.
"""
from lessons.cart.algorithms import costs, interference, parts, plane, planted, spectra, theorem
