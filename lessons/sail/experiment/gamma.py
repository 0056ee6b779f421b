"""γ from −1 to 2 between two parents, and the loss on the target after 0 to 200 steps (SAIL, §4.4, Fig. 2b and 2d);
beside the γ that distances propose."""
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.algorithms import distances, mixing
from lessons.sail.experiment import digits
from lessons.sail.experiment.digits import (
    HALVES,
    INSIDE,
    MASKED_HALVES,
    MATCHED,
    NOTHING,
    ONE,
    OUTSIDE,
    PRETRAINED,
    STEPS,
    THIRDS,
    TO_FASHION,
    TO_MNIST,
    TWO,
    Case,
)
from toy_models import Recipe, weights, zoo

GAMMAS_31 = tuple(round(-1 + i / 10, 1) for i in range(31))
SAMPLES = 1000  # of each data set, for MMD
RANDOM = 3
RULES = ("MMD, images with labels", "MMD, images alone", "MMD, biased", "as printed", "parameters", "TV")


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    gammas: tuple[float, ...]  # shares of the first parent
    cases: tuple[tuple[Case, tuple[str, ...]], ...]  # each with its starts


_STARTS = (ONE, TWO, MATCHED)
PROFILES = Profiles(
    quick=Settings((-1.0, -0.5, -0.2, 0.0, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0, 2.0),
                   ((THIRDS, (*_STARTS, NOTHING)), (INSIDE, (ONE,)), (HALVES, (ONE, TWO)))),
    full=Settings(GAMMAS_31, ((THIRDS, (*_STARTS, NOTHING)), (INSIDE, (*_STARTS, PRETRAINED)),
                              (OUTSIDE, (ONE, PRETRAINED)), (HALVES, (*_STARTS, PRETRAINED)),
                              (MASKED_HALVES, (ONE,)), (TO_MNIST, (ONE, TWO)),
                              (TO_FASHION, (ONE, TWO)))))


def all_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network that the zoo keeps."""
    return [recipe for case, starts in settings.cases for start in starts
            for recipe in digits.recipes_of(case, start, seed).values()]


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure.

    Returns:
        A Dataset over case, start, gamma and steps (0, 50, 100, 200), NaN where a case has no such start: loss (nats)
        and accuracy on the target's test images; distance (case, start, gamma): from a network that learned the target;
        target_loss, target_norm (case, start): of that network; proposed (case, start, rule): the γ that distances
        propose, MMD and TV of the data, and distances of parameters; random_loss, random_accuracy (case, again: 3,
        steps): from random weights; random_distance (case, start): of one of them from that network.
    """
    zoo.get_all(all_recipes(settings, seed), device)
    parts = []
    for case, starts in settings.cases:
        for start in starts:
            part = _of_pair(case, start, settings.gammas, seed, device)
            parts.append(part.expand_dims(case=[case.name], start=[start]))
        random = digits.retrained(digits.random_states(seed, RANDOM), case, seed=seed)
        scores = {f"random_{name}": (("again", "steps"), values) for name, values in random.items()}
        parts.append(xarray.Dataset(scores, {"steps": list(STEPS)}).expand_dims(case=[case.name]))
    sweep = xarray.combine_by_coords(parts, join="outer", compat="no_conflicts", combine_attrs="drop")
    order = {"case": [case.name for case, _ in settings.cases],
             "start": [start for start in (ONE, TWO, MATCHED, PRETRAINED, NOTHING) if start in sweep.start.values]}
    attributes = {"images": "5,000 training images of every parent and of the target, 2,000 test images"}
    return sweep.sel(order).assign_attrs(attributes)


def _of_pair(case, start, gammas, seed, device):
    """One case with one start, over gamma and steps."""
    networks = digits.networks_of(case, start, seed, device)
    first, second, target = (networks[role] for role in ("first", "second", "target"))
    states = digits.along(first, second, gammas)
    scores = digits.retrained(states, case, seed=seed)
    values = {name: (("gamma", "steps"), values) for name, values in scores.items()}
    values["distance"] = ("gamma", [weights.norm(weights.subtract(state, target)) for state in states])
    random, = digits.random_states(seed, 1)
    values["random_distance"] = weights.norm(weights.subtract(random, target))
    values["target_norm"] = weights.norm(target)
    values["target_loss"] = digits.retrained([target], case, steps=(0,))["loss"].item()
    by_rule = proposals(case, first, second, target)
    values["proposed"] = ("rule", [by_rule[rule] for rule in RULES])
    return xarray.Dataset(values, {"gamma": list(gammas), "steps": list(STEPS), "rule": list(RULES)})


def proposals(case: Case, first: weights.State, second: weights.State, target: weights.State) -> dict[str, float]:
    """{rule: the share of the first parent that it proposes}."""
    squares = squared_distances(case)
    lengths = [weights.norm(weights.subtract(a, b)) for a, b in ((first, target), (second, target), (first, second))]
    s1, s2, s12 = squares["MMD, images with labels"]
    return {rule: mixing.share_of_squares(*three) for rule, three in squares.items()} | {
        "as printed": mixing.share_of_squares(s2, s1, s12), "parameters": mixing.nearest_share(*lengths)}


@cache
def squared_distances(case: Case) -> dict[str, tuple[float, float, float]]:
    """{rule: squared distances first–target, second–target, first–second}, by the data alone."""
    sets = [tuple(part[:SAMPLES] for part in digits.images(options))
            for options in (case.first, case.second, case.target)]
    kernel = distances.gaussian(distances.median_distance(torch.cat([x[:200] for x, _ in sets])))
    pairs = ((0, 2), (1, 2), (0, 1))
    plain = {(i, j): kernel(sets[i][0], sets[j][0]) for i, j in (*pairs, (0, 0), (1, 1), (2, 2))}
    labelled = {(i, j): matrix * (sets[i][1][:, None] == sets[j][1][None]) for (i, j), matrix in plain.items()}

    def three(measure, matrices):
        return tuple(measure(matrices[i, i], matrices[j, j], matrices[i, j]) for i, j in pairs)
    return {"MMD, images with labels": three(distances.unbiased_mmd, labelled),
            "MMD, images alone": three(distances.unbiased_mmd, plain),
            "MMD, biased": three(distances.biased_mmd, labelled),
            "TV": tuple(distances.empirical_total_variation(sets[i][0], sets[j][0]) ** 2 for i, j in pairs)}


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-4 and 5, and of SAIL-1 what needs networks; SAIL-7 where the sweep has it: {claim:
    {number: value}}. What each means stands in claims.yaml."""
    numbers = {"SAIL-1": claim_1(sweep), "SAIL-4": claim_4(sweep), "SAIL-5": claim_5(sweep)}
    return numbers | ({"SAIL-7": claim_7(sweep)} if TO_MNIST.name in sweep.case.values else {})


def _of(sweep, case, start):
    return sweep.sel(case=case.name, start=start)


def _at(array, gamma):
    """A curve over γ read off between its points."""
    return float(np.interp(gamma, array.gamma, array))


def claim_1(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-1: how far the nearer parent is from a network that learned the target, in units of a random start's
    distance, from one start, two, and after matching."""
    numbers = {}
    for name, start in (("one", ONE), ("two", TWO), ("matched", MATCHED)):
        part = _of(sweep, THIRDS, start)
        numbers[f"{name}_start"] = float(part.distance.sel(gamma=0.0) / part.random_distance)
    return numbers


def claim_4(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-4: the γ that MMD proposes and that of the printed formula, and what they cost in loss beside the best γ
    before any step; and what the nearest point costs between two starts."""
    one_start, two_starts, inside = _of(sweep, THIRDS, ONE), _of(sweep, THIRDS, TWO), _of(sweep, INSIDE, ONE)

    def proposed(part, rule):
        return float(part.proposed.sel(rule=rule))

    def cost(part, share):
        loss = part.loss.sel(steps=0)
        return _at(loss, np.clip(share, -1, 2)) - float(loss.min())
    mmd, printed, nearest = RULES[0], RULES[3], RULES[4]
    numbers = {"mmd": proposed(one_start, mmd), "inputs": proposed(one_start, RULES[1]),
               "printed": proposed(one_start, printed), "best": float(one_start.loss.sel(steps=0).idxmin("gamma")),
               "cost_mmd": cost(one_start, proposed(one_start, mmd)),
               "cost_printed": cost(one_start, proposed(one_start, printed)), "inside_mmd": proposed(inside, mmd),
               "inside_cost": cost(inside, proposed(inside, mmd)), "strangers_nearest": proposed(two_starts, nearest),
               "strangers_cost": cost(two_starts, proposed(two_starts, nearest)), "tv": proposed(one_start, "TV")}
    if OUTSIDE.name in sweep.case.values:
        outside = _of(sweep, OUTSIDE, ONE)
        numbers |= {"outside_mmd": proposed(outside, mmd), "outside_cost": cost(outside, proposed(outside, mmd))}
    return numbers


def claim_5(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-5: thirds by brightness, one start: best γ, losses, and which share of the gain over random the nearer
    parent has alone; and two networks that learned nothing, at γ = 2 against γ = ½."""
    part = _of(sweep, THIRDS, ONE)
    random = sweep.random_loss.sel(case=THIRDS.name).mean("again")
    numbers = {}
    for steps in STEPS:
        loss = part.loss.sel(steps=steps)
        near, lowest, start = float(loss.sel(gamma=0.0)), float(loss.min()), float(random.sel(steps=steps))
        numbers |= {f"best_{steps}": float(loss.idxmin("gamma")), f"near_{steps}": near, f"lowest_{steps}": lowest,
                    f"random_{steps}": start, f"share_{steps}": (start - near) / (start - lowest)}
    nothing = _of(sweep, THIRDS, NOTHING).loss.sel(steps=50)
    return numbers | {"nothing_2_over_half": float(nothing.sel(gamma=2.0) / nothing.sel(gamma=0.5))}


def claim_7(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-7: from one data set to another, one start: the loss of the best γ over that of random weights, before any
    step and after 50 and 200, and the better parent's over the best γ's."""
    numbers = {}
    for name, case in (("mnist", TO_MNIST), ("fashion", TO_FASHION)):
        part = _of(sweep, case, ONE)
        random = sweep.random_loss.sel(case=case.name).mean("again")
        best = part.loss.min("gamma")
        near = part.loss.sel(gamma=[0.0, 1.0]).min("gamma")
        numbers |= {f"{name}_{steps}": float(best.sel(steps=steps) / random.sel(steps=steps)) for steps in (0, 50, 200)}
        numbers |= {f"{name}_parent_{steps}": float(near.sel(steps=steps) / best.sel(steps=steps))
                    for steps in (50, 200)}
    return numbers


EXPERIMENT = Experiment("sail-gamma", measure, PROFILES, digits.source, "MNIST", recipes=all_recipes, claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
