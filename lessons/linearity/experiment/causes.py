"""Why the features of the network half-way between two others are not the mix of theirs.

Two questions are asked of every layer. Is the difference due to kinks or to curvature? Does the layer make it, or do
the layers below hand it on? Both are measured for every pair of chapter 1's finetuned networks half-way, at α = ½,
where the gap is largest.
"""
from dataclasses import dataclass

import torch
import xarray
from torch import Tensor

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity import algorithms
from lessons.linearity.experiment import mlp
from toy_models import weights

ALPHA = 0.5
GATES = ("half-way", "θᵢ", "θⱼ")  # of which network the ReLUs are frozen at


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    test_images: int  # per task


PROFILES = Profiles(quick=Settings(test_images=2000), full=Settings(test_images=5000))  # float64 is slow


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All numbers, half-way between two networks, on the test images of both tasks.

    Returns:
        A Dataset over pair (6), layer (4) and gates (3) with
        gap, own (pair, layer): 1 − cos to the mixed features, and between the ends;
        kinks, curvature (pair, layer): the shares of these two in what is missed, which sum to 1
        (`algorithms.part_of`);
        curvature_gap (pair, layer, gates): 1 − cos to the mixed features where all three networks run with the same
        frozen gates;
        handed_on (pair, layer): of what a layer's *pre-activation* misses, the share that comes from what the layer
        below misses. The rest is this layer's own cross term. In the first layer both are 0, so it is NaN there;
        repaired (pair, layer): the gap of the output when the half-way network is given the mixed features at this
        layer. At the output itself it is 0.
    """
    networks = {angle: network.state_dict() for angle, network in mlp.models(seed, device).items()}
    tests = {angle: data.load("rotated_mnist", "test", angle=angle).x[:settings.test_images] for angle in mlp.ANGLES}
    pairs = []
    for i, j in mlp.PAIRS.values():
        doubled = [{key: tensor.double() for key, tensor in networks[angle].items()} for angle in (i, j)]
        pairs.append(of_pair(*doubled, torch.cat([tests[i], tests[j]])))
    sweep = xarray.concat(pairs, xarray.DataArray(list(mlp.PAIRS), dims="pair", name="pair"))
    return sweep.assign_attrs(images=f"{2 * settings.test_images:,} test images a pair")


def of_pair(state_i: dict[str, Tensor], state_j: dict[str, Tensor], x: Tensor) -> xarray.Dataset:
    """The numbers of one pair, as `measure` says, over layer and gates.

    Args:
        state_i, state_j: of two MLPs, in float64.
        x: images (samples, …).
    """
    middle = weights.interpolate(state_i, state_j, ALPHA)
    states = {"half-way": middle, "θᵢ": state_i, "θⱼ": state_j}
    features = {name: _features(state, x) for name, state in states.items()}
    frozen = {gates: [_features(state, x, algorithms.gates_of(states[gates], x)) for state in states.values()]
              for gates in GATES}
    parts = algorithms.kinks_and_curvature([state_i, state_j], [ALPHA, 1 - ALPHA], x)
    rows = []
    for layer, name in enumerate(parts):
        of_middle, of_i, of_j = (of_network[layer] for of_network in features.values())
        missed = of_middle - algorithms.mix(of_i, of_j, ALPHA)
        row = {"gap": _gap(of_middle, of_i, of_j), "own": algorithms.own_distance(of_i, of_j).nanmean().item()}
        row |= {cause: algorithms.part_of(part, missed) for cause, part in parts[name].items()}
        row["curvature_gap"] = [_gap(*(of_network[layer] for of_network in three)) for three in frozen.values()]
        row["handed_on"] = _handed_on(state_i, state_j, features, layer)
        row["repaired"] = _repaired(middle, features, layer)
        rows.append(row)
    variables = {name: (("layer", "gates") if name == "curvature_gap" else "layer", [row[name] for row in rows])
             for name in rows[0]}
    return xarray.Dataset(variables, coords={"layer": list(parts), "gates": list(GATES)})


def _features(state, x, gates=None):
    """After the ReLU, one (samples, width) for every layer."""
    *hidden, output = algorithms.inputs(state, x, gates)
    opened = gates or [z > 0 for z in hidden]
    return [z * gate for z, gate in zip(hidden, opened)] + [output]


def _gap(of_middle, of_i, of_j):
    return algorithms.cosine_gap(of_middle, of_i, of_j, ALPHA).nanmean().item()


def _handed_on(state_i, state_j, features, layer):
    """The share that comes from the layer below, of what a layer's pre-activation misses."""
    if not layer:
        return float("nan")
    of_middle, of_i, of_j = (of_network[layer - 1] for of_network in features.values())
    weight_i, weight_j = (state[f"layers.{layer}.weight"] for state in (state_i, state_j))
    own = algorithms.cross_term(weight_i, weight_j, of_i, of_j, ALPHA)
    below = algorithms.handed_on(weight_i, weight_j, of_i, of_j, of_middle, ALPHA)
    return algorithms.part_of(below, own + below)


def _repaired(middle, features, layer):
    """The output's gap once a layer holds the mixed features."""
    _, of_i, of_j = features.values()
    if layer == len(of_i) - 1:
        return 0.0
    mixed = algorithms.mix(of_i[layer], of_j[layer], ALPHA)
    return _gap(algorithms.from_layer(middle, mixed, layer + 1), of_i[-1], of_j[-1])


def summary(sweep: xarray.Dataset) -> dict[str, float]:
    """What the chapter says of the causes, as means over pairs.

    Every layer but the first has the shares of kinks and of what is handed on. Every layer but the output has the share
    of the output's gap that is left when it is repaired.
    """
    numbers = {}
    left = sweep.repaired / sweep.gap.isel(layer=-1)
    for name in sweep.layer.values[1:]:
        short = name.replace(" ", "_")
        numbers[f"kinks_{short}"] = sweep.kinks.sel(layer=name).mean().item()
        numbers[f"handed_on_{short}"] = sweep.handed_on.sel(layer=name).mean().item()
    for name in sweep.layer.values[:-1]:
        numbers[f"left_after_{name.replace(' ', '_')}"] = left.sel(layer=name).mean().item()
    return numbers


CAUSES = Experiment("causes", measure, PROFILES, mlp.source, "MNIST", one_thread=False,
                    recipes=lambda settings, seed: [mlp.recipes(seed)["pretrained"],
                                                    *mlp.recipes(seed)["finetuned"].values()])
run = CAUSES.run
