"""The same network with more units, or fewer: what each map keeps of what it knew, and how training goes on (SAIL, Eq.
8 and F.1)."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.pretraining.algorithms import matching
from lessons.sail.experiment import digits
from lessons.sail.experiment.table import loss_of
from toy_models import MLP, Architecture, Recipe, abreast, growth, race, zoo
from toy_models.weights import State

SMALL, LARGE = 64, 128
GROW, SHRINK = "grow 64 → 128", "shrink 128 → 64"
FIRST, SIZE = 10_000, 8000  # the target's images; the source saw the first ten thousand
SGD, ADAM = "SGD", "Adam"
LR = {SGD: 0.1, ADAM: 1e-3}
STEPS = (0, 10, 20, 50, 100, 200, 300)
MAP_STEPS, MAP_LR = 100, 0.01
NUMBERINGS = 20
SCRATCH = "scratch"
# name: (transform, its parameters); None: learned maps, and what they begin from
GROWING = {"Net2Wider": ("Net2Wider", {"shares": "drawn"}),
           "Net2Wider, equal shares": ("Net2Wider", {}),
           "zero padding": ("zero padding", {}),
           "fresh units": ("fresh units", {}),
           "interpolation": ("interpolation", {}),
           "projection": ("projection", {}),
           "projection, tied": ("projection", {"tied": True}),
           "SVD as printed": ("SVD", {}),
           "SVD, singular vectors": ("SVD", {"begin": "singular vectors"}),
           "learned from Net2Wider": (None, "copies"),
           "learned from interpolation": (None, "interpolation"),
           "learned from projection": (None, "projection")}
SHRINKING = {"strongest units": ("selection", {}),
             "first units": ("selection", {"which": "first"}),
             "first units, louder": ("selection", {"which": "first", "louder": True}),
             "random units": ("selection", {"which": "at random"}),
             "interpolation": ("interpolation", {}),
             "interpolation, alike first": ("interpolation", {}),
             "projection, tied": ("projection", {"tied": True}),
             "SVD as printed": ("SVD", {}),
             "SVD, singular vectors": ("SVD", {"begin": "singular vectors"}),
             "learned from interpolation": (None, "interpolation")}
RENUMBERED = {GROW: ("Net2Wider", "interpolation"), SHRINK: ("strongest units", "interpolation")}
QUICK = ("Net2Wider", "zero padding", "fresh units", "interpolation", "projection", "SVD as printed", "strongest units",
         "random units", "SVD, singular vectors", "learned from Net2Wider")


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    optimisers: tuple[str, ...]  # SGD, Adam
    maps: tuple[str, ...]  # those that are tried; () for all
    steps: tuple[int, ...]  # after which the networks are looked at


PROFILES = Profiles(quick=Settings((SGD,), QUICK, (0, 10, 20, 50, 100)), full=Settings((SGD, ADAM), (), STEPS))


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The two sources, of 64 and of 128 units a hidden layer."""
    return [_source(SMALL, seed), _source(LARGE, seed)]


def _source(width, seed):
    architecture = Architecture.of("MLP", widths=(196, width, width, 10))
    return digits.recipe({"size": FIRST}, seed, epochs=4, architecture=architecture)


def sources(seed: int = 0, device: str = "auto") -> list[State]:
    """The state dicts of the two sources, 64 and 128 units wide."""
    return [network.state_dict() for network in zoo.get_all(recipes(None, seed), device)]


def copies_apart(grown: State, steps: int, seed: int) -> float:
    """How far the new units of the first hidden layer are from their originals after so many steps of SGD, as a share
    of these: of a network whose units were doubled in turn."""
    batches = abreast.batches(*_images(), steps + 1, digits.BATCH, seed)
    *_, last = abreast.descend(abreast.stacked([grown]), batches, LR[SGD])
    weight = last.stack["layers.0.weight"][0]
    old, new = weight.chunk(2)
    return ((new - old).norm() / old.norm()).item()


def starts_of(direction: str, seed: int, maps: Sequence[str] = ()) -> dict[str, State]:
    """{name: a network of the target's size}."""
    source = zoo.get(_source(SMALL if direction == GROW else LARGE, seed)).state_dict()
    size = LARGE if direction == GROW else SMALL
    new = {"layer 1": size, "layer 2": size}
    states = {SCRATCH: _fresh(size, seed)}
    for name, (how, parameters) in (GROWING if direction == GROW else SHRINKING).items():
        if maps and name not in maps:
            continue
        before = alike_first(source) if name.endswith("alike first") else source
        if how is None:
            states[name] = _learned(before, new, parameters, seed)
        else:
            known = {transform.name: transform.parameters for transform in growth.transforms("width")}[how]
            seeded = {"seed": seed} if "seed" in known else {}
            states[name] = growth.widen(before, new, how, **parameters, **seeded)
    return states


def _fresh(width, seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + digits.SECOND)
        return MLP((196, width, width, 10)).state_dict()


def _images():
    return digits.images({"first": FIRST, "size": SIZE})


def _learned(source, new, begin, seed):
    """Maps trained for 100 steps on the target's images."""
    maps = growth.learned.beginning(source, new, begin, seed)
    batches = abreast.batches(*_images(), MAP_STEPS, digits.BATCH, seed + 1)
    return growth.learned.learn(source, maps, loss_of, batches, MAP_LR)


# -- the order of units ----------------------------------------------------------------------------

def renumbered(state: State, number: int) -> State:
    """The same network with its units in another order; 0 leaves it as it is."""
    if not number:
        return dict(state)
    plan = matching.mlp_plan(len(state) // 2)
    return matching.permute(state, plan, matching.random_permutations(state, plan, number))


def alike_first(state: State) -> State:
    """The same network with units that have similar weights side by side: from one unit to the most similar one that is
    left, and so on."""
    plan = matching.mlp_plan(len(state) // 2)
    permutations = {}
    for layer in range(len(state) // 2 - 1):
        rows = torch.cat([state[f"layers.{layer}.weight"], state[f"layers.{layer}.bias"][:, None]], 1).double()
        distances = torch.cdist(rows, rows)
        order = [0]
        while len(order) < len(rows):
            left = distances[order[-1]].clone()
            left[order] = torch.inf
            order.append(int(left.argmin()))
        permutations[f"layer {layer + 1}"] = torch.tensor(order)
    return matching.permute(state, plan, permutations)


def _of_numberings(direction, seed, test):
    """Accuracy at once of some maps, for every numbering of the source's units."""
    source = zoo.get(_source(SMALL if direction == GROW else LARGE, seed)).state_dict()
    size = LARGE if direction == GROW else SMALL
    new = {"layer 1": size, "layer 2": size}
    table = GROWING if direction == GROW else SHRINKING
    accuracies = []
    for number in range(NUMBERINGS + 1):
        other = renumbered(source, number)
        states = [growth.widen(other, new, table[name][0], **table[name][1]) for name in RENUMBERED[direction]]
        accuracies.append(abreast.scores(abreast.stacked(states), *test)[1].numpy())
    return np.array(accuracies).T


# -- measuring -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Grow, shrink, and train on.

    Returns:
        A Dataset over direction, how, optimiser and steps, NaN where a direction has no such map, with loss (nats) and
        accuracy on 2,000 test images; source (direction): the source's accuracy; numbering_accuracy (direction, of: 2,
        numbering: 21): of a map that keeps units whole and of interpolation, at once, the units in other orders.
    """
    zoo.get_all(recipes(settings, seed), device)
    test = digits.tested({})
    parts = []
    for direction in (GROW, SHRINK):
        starts = starts_of(direction, seed, settings.maps)
        for optimiser in settings.optimisers:
            batches = abreast.batches(*_images(), settings.steps[-1] + 1, digits.BATCH, seed)
            looks = race.of_mlps(list(starts.values()), batches, settings.steps, {"": test}, LR[optimiser],
                                 optimiser.lower(), digits.BATCH)
            values = {name: (("how", "steps"), array) for name, array in looks.items()}
            part = xarray.Dataset(values, {"how": list(starts), "steps": list(settings.steps)})
            parts.append(part.expand_dims(direction=[direction], optimiser=[optimiser]))
    sweep = xarray.merge(parts, join="outer", compat="no_conflicts")
    names = [name for name in dict.fromkeys([SCRATCH, *GROWING, *SHRINKING]) if name in sweep.how.values]
    accuracies = [abreast.scores(abreast.stacked([state]), *test)[1].item() for state in sources(seed, device)]
    orders = np.array([_of_numberings(direction, seed, test) for direction in (GROW, SHRINK)])
    sweep = sweep.sel(direction=[GROW, SHRINK], how=names, optimiser=list(settings.optimisers))
    return sweep.assign(source=("direction", accuracies), numbering_accuracy=(("direction", "of", "numbering"), orders)
                        ).assign_attrs(images="8,000 training images that the source did not see, 2,000 test images")


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-8: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"SAIL-8": claim_8(sweep)}


def claim_8(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-8: accuracy of every map at once, after twenty and after a hundred steps of SGD, growing and shrinking; and
    between which two accuracies interpolation of one network lies, its units in other orders."""
    names = {"copies": "Net2Wider", "zeros": "zero padding", "fresh": "fresh units", "interpolation": "interpolation",
             "projection": "projection", "tied": "projection, tied", "svd": "SVD as printed",
             "vectors": "SVD, singular vectors", "learned": "learned from Net2Wider", "scratch": SCRATCH,
             "learned_projection": "learned from projection", "equal": "Net2Wider, equal shares"}
    numbers = _looks(sweep.accuracy.sel(direction=GROW), names, "")
    names = {"strongest": "strongest units", "random": "random units", "interpolation": "interpolation",
             "alike": "interpolation, alike first", "svd": "SVD as printed", "vectors": "SVD, singular vectors",
             "scratch": SCRATCH}
    numbers |= _looks(sweep.accuracy.sel(direction=SHRINK), names, "shrink_")
    for direction, prefix in ((GROW, ""), (SHRINK, "shrink_")):
        whole_units, mixed = sweep.numbering_accuracy.sel(direction=direction).values
        numbers |= {f"{prefix}orders_low": mixed.min(), f"{prefix}orders_high": mixed.max(),
                    f"{prefix}whole_orders": np.ptp(whole_units)}
    return numbers | {"source": float(sweep.source.sel(direction=GROW))}


def _looks(accuracy, names, prefix):
    """After the steps of `digits.LOOKS`, which both profiles take; the name of a number ends in its steps."""
    numbers = {}
    for name, how in names.items():
        if how in accuracy.how.values:
            part = accuracy.sel(how=how, optimiser=SGD)
            numbers |= {f"{prefix}{name}_{steps}": float(part.sel(steps=steps)) for steps in digits.LOOKS}
    return numbers


EXPERIMENT = Experiment("sail-width", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLP 196–64–64–10 and 196–128–128–10", claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
