"""Why Eq. 2 and Eq. 3 miss: kinks or curvature, for every λ, split by chapter 1's frozen ReLUs.

An exponent alone does not tell. In layer 1 there are kinks and nothing else. Behind it many kinks average into
something smoother, which grows faster than λ^1.5, and curvature grows like λ². So both are measured.
"""
from dataclasses import dataclass

import torch
import xarray
from torch import Tensor

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity.algorithms import gates_of, inputs, kinks_and_curvature, part_of
from lessons.task_arithmetic import algorithms
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import LAYERS, NEGATIONS, PAIRS
from toy_models import weights

LAMS = (0.05, 0.1, 0.2, 0.4, 0.6, 1.0)
GATES = ("the edited network", "one end", "the other end")  # of which network the ReLUs are frozen at
SMALL = 0.2  # up to this λ exponents are fitted
EQUATIONS = {"Eq. 2": list(PAIRS), "Eq. 3": NEGATIONS}


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    test_images: int  # per task


PROFILES = Profiles(quick=Settings(test_images=100), full=Settings(test_images=500))  # float64 is slow


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All numbers, over ends (28 pairs of Eq. 2, eight negations of Eq. 3), step (λ) and layer (4).

    Returns:
        A Dataset with
        missed, kinks, curvature (ends, step, layer): the root mean square length of what the edited network's features
        are more than the mean of the ends', and of its two parts, in units of that of the features;
        share (ends, step, layer): how much of what is missed kinks make (`part_of`); curvature makes the rest;
        share_frozen_at (ends, step, gates): the same at the output, with the ReLUs frozen at one of three networks.
    """
    states = {angle: {key: tensor.double() for key, tensor in network.state_dict().items()}
              for angle, network in mlp.models(seed, device).items()}
    turned, _ = mlp.test_sets(settings.test_images)
    images = dict(zip(mlp.EVALUATED, turned))
    sweeps = []
    for i, j in PAIRS.values():
        x = torch.cat([images[i], images[j]])
        sweeps.append(_over_lams(states, ((i, 2.0), (j, 2.0)), x))
    for angle in mlp.ANGLES:
        sweeps.append(_over_lams(states, ((angle, 1.0), (angle, -1.0)), images[angle]))
    names = xarray.DataArray([*PAIRS, *NEGATIONS], dims="ends", name="ends")
    return xarray.concat(sweeps, names).assign_attrs(images=f"{settings.test_images:,} test images a task")


def _over_lams(states, ends, x):
    """`of_ends` for every λ. ends: two times (angle, how often λτ is added)."""
    lines = []
    for lam in LAMS:
        edited = [algorithms.edited(states[0.0], states[angle], lam * times) for angle, times in ends]
        lines.append(of_ends(*edited, x))
    return xarray.concat(lines, xarray.DataArray(list(LAMS), dims="step", name="step"))


def of_ends(one: dict[str, Tensor], other: dict[str, Tensor], x: Tensor) -> xarray.Dataset:
    """The numbers of two ends and the network half-way between them, as `measure` says, over layer and gates.

    Args:
        one, other: state dicts of MLPs, in float64.
        x: images (samples, …).
    """
    middle = weights.interpolate(one, other, 0.5)
    *hidden, output = inputs(middle, x)
    features = [z.relu() for z in hidden] + [output]
    parts = kinks_and_curvature([one, other], [0.5, 0.5], x)
    rows = {"missed": [], "kinks": [], "curvature": [], "share": []}
    for (kinks, curvature), of_layer in zip((part.values() for part in parts.values()), features):
        missed = kinks + curvature
        for name, part in (("missed", missed), ("kinks", kinks), ("curvature", curvature)):
            rows[name].append((part.norm() / of_layer.norm()).item())
        rows["share"].append(part_of(kinks, missed))
    variables = {name: ("layer", values) for name, values in rows.items()}
    frozen_at = [1 - part_of(_curvature(one, other, gates_of(state, x), x), missed) for state in (middle, one, other)]
    variables["share_frozen_at"] = ("gates", frozen_at)
    return xarray.Dataset(variables, coords={"layer": list(LAYERS), "gates": list(GATES)})


def _curvature(one, other, gates, x):
    """What the output misses when all three networks run with these gates."""
    middle = weights.interpolate(one, other, 0.5)
    of_middle, of_one, of_other = (inputs(state, x, gates)[-1] for state in (middle, one, other))
    return of_middle - (of_one + of_other) / 2


# -- what the chapter says of it -------------------------------------------------------------------

def exponents(sweep: xarray.Dataset, equation: str, part: str) -> dict[str, float]:
    """{layer: the power of λ with which a part grows}, for small λ, mean over the ends; nan where there is none of it.

    Args:
        equation: "Eq. 2" or "Eq. 3".
        part: "missed", "kinks" or "curvature".
    """
    mean = sweep[part].sel(ends=EQUATIONS[equation], step=slice(0, SMALL)).mean("ends")
    slopes = {}
    for layer in LAYERS:
        values = mean.sel(layer=layer).values
        slopes[layer] = algorithms.log_slope(mean.step.values, values) if min(values) > 1e-10 else float("nan")
    return slopes


def shares(sweep: xarray.Dataset, equation: str) -> xarray.DataArray:
    """(step, layer): how much of what is missed kinks make, mean over the ends."""
    return sweep.share.sel(ends=EQUATIONS[equation]).mean("ends")


def gates_matter(sweep: xarray.Dataset, equation: str, lam: float) -> tuple[float, float]:
    """The least and the largest share of kinks at the output, mean over the ends, over what the ReLUs are frozen at."""
    shares = sweep.share_frozen_at.sel(ends=EQUATIONS[equation], step=lam).mean("ends")
    return shares.min().item(), shares.max().item()


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """What of this stands in the ledger: {claim: {number: value}}."""
    return {"CTL-10": _numbers(sweep, "Eq. 2"), "CTL-11": _numbers(sweep, "Eq. 3")}


def _numbers(sweep, equation):
    share = shares(sweep, equation)
    hidden = share.sel(layer=list(LAYERS[:-1]))
    numbers = {"kinks_share_hidden_least": hidden.min().item()}
    for lam in (0.1, 0.4, 1.0):
        numbers[f"kinks_share_output_at_{lam:g}"] = share.sel(step=lam, layer="output").item()
    for part in ("kinks", "curvature"):
        numbers[f"exponent_{part}_output"] = exponents(sweep, equation, part)["output"]
    return numbers


CAUSES = Experiment("task-arithmetic-causes", measure, PROFILES, mlp.source, "MNIST", claims=claims,
                    recipes=lambda settings, seed: mlp.recipes(seed).values())
run = CAUSES.run
