"""The experiments.

`spirals`: two parents in the plane. `gamma`, `overlap`, `table`: mixtures on small MNIST, with what they share in
`digits`. `knowledge`: how much of a parent's gain needs what it knows. `width`, `depth`: one network at other
sizes, `between`: where interpolated units lose what it knew, `rates`: a wider one at several learning rates,
`random_maps`: random maps beside random matrices of the same size, `rows`: what the sum of a block's shares scales.
`theory`: what can be simulated. In full alone: `gpt`, `flow`, `resnets`, `byol`.
"""
import data
from lessons.kit import experiment
from lessons.sail.experiment import (between, byol, depth, digits, flow, gamma, gpt, knowledge, overlap, random_maps,
                                     rates, resnets, rows, spirals, table, theory, width)

# measured on two cores, nothing kept; in full 266 for all but the ResNets, and 335 for these in one thread
SECONDS = {"quick": 50, "full": 600}
_OF_MLPS = (spirals, gamma, knowledge, overlap, table, width, between, rates, random_maps, depth, rows, theory)
_IN_FULL = (flow, gpt, resnets, byol)
LEDGER = tuple(module.EXPERIMENT for module in (*_OF_MLPS, *_IN_FULL))


def announce(profile: str = "quick", seed: int = 0) -> None:
    """Print which data the chapter works on, and how long that takes."""
    modules = _OF_MLPS if profile == "quick" else (*_OF_MLPS, *_IN_FULL)
    wanted = experiment.to_measure((module.EXPERIMENT for module in modules), profile, seed)
    recipes = [recipe for measured in wanted for recipe in measured.recipes(measured.profiles[profile], seed)]
    sources = [data.source("small_mnist")] + ([] if profile == "quick" else [gpt.source(), resnets.source()])
    experiment.announce(*sources, experiment.estimate(recipes, SECONDS[profile], "networks") if wanted else
                        experiment.ALL_THERE)


def claims(*numbers: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The numbers of several experiments as one {claim: {number: value}}: some claims have numbers in several. Claims
    in their order."""
    by_claim = {}
    for of_one in numbers:
        for id, values in of_one.items():
            by_claim[id] = by_claim.get(id, {}) | values
    return dict(sorted(by_claim.items(), key=lambda pair: int(pair[0].split("-")[1])))
