"""The experiments.

In float64, on a few samples: `plane`, `steps`, `bound`, `optimisers`, with what they share in `common`. On trained
networks: `epochs`, `rounds`.
"""
import data
from lessons.gradients.experiment import bound, common, epochs, optimisers, plane, rounds, steps
from lessons.kit import experiment


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Print which data the chapter works on, and how long that takes."""
    experiment.announce(data.source("rotated_mnist", angle=0.0), epochs.estimate(profile, seed))
