"""The experiments.

In float64, on a few samples: `plane`, `steps`, `bound`, `optimisers`, with what they share in `common`. On trained
networks: `epochs`, `rounds`.
"""
import data
from lessons.gradients.experiment import bound, common, epochs, optimisers, plane, rounds, steps
from lessons.kit import experiment

_MODULES = (plane, steps, bound, optimisers, epochs, rounds)


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Print which data the chapter works on, and how long that takes."""
    wanted = experiment.to_measure((module.EXPERIMENT for module in _MODULES), profile, seed)
    recipes = [recipe for measured in wanted for recipe in measured.recipes(measured.profiles[profile], seed)]
    experiment.announce(data.source("rotated_mnist", angle=0.0), experiment.estimate(recipes, epochs.SECONDS[profile])
                        if wanted else experiment.ALL_THERE)
