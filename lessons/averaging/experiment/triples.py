"""Are triples whose averaged weights are good also good ensembles? (CTL, Figure 4)"""
import itertools

import numpy as np
import xarray
from tqdm.auto import tqdm

from lessons.averaging import algorithms
from lessons.averaging.experiment.accuracy import HOW, Accuracy
from lessons.averaging.experiment.models import BOLD, OUTLIERS, STRANGER, TWENTY
from lessons.kit.noise import WIDE
from toy_models import weights

TRIPLES = list(itertools.combinations(TWENTY, 3))
PAIRS = list(itertools.combinations(TWENTY, 2))


def measure(accuracy: Accuracy, states: list[dict]) -> xarray.Dataset:
    """All triples of the twenty: member, average_accuracy, ensemble_accuracy, spread; above_best, above_best_error;
    half_*."""
    distance = np.zeros((len(TWENTY), len(TWENTY)))
    for i, j in PAIRS:
        distance[i, j] = weights.norm(weights.subtract(states[i], states[j]))
    alone = [accuracy.right("ensemble", [model]) for model in TWENTY]
    rows = []
    for triple in tqdm(TRIPLES, desc="measuring", unit="triple"):
        squares = [distance[pair] ** 2 for pair in itertools.combinations(triple, 2)]
        right = {how: accuracy.right(how, triple) for how in HOW}
        best = max(triple, key=lambda model: alone[model].sum())
        above, error = algorithms.paired(right["average"], alone[best])
        rows.append({"average_accuracy": right["average"].mean(), "ensemble_accuracy": right["ensemble"].mean(),
                     "spread": np.sqrt(np.mean(squares)), "above_best": above, "above_best_error": error}
                    | {f"half_{how}": _halves(right[how]) for how in HOW})
    correct = {}
    for name, first in rows[0].items():
        correct[name] = ("triple", "half")[:1 + np.ndim(first)], [row[name] for row in rows]
    halves = np.full((len(TWENTY) + len(OUTLIERS), 2), np.nan)  # the outliers take part in no triple
    halves[:len(TWENTY)] = [_halves(right) for right in alone]
    half_alone = ("model", "half"), halves
    return xarray.Dataset({"member": (("triple", "place"), np.array(TRIPLES)), "half_alone": half_alone, **correct})


def _halves(right):
    """Accuracy on every second image, and on the others: what is measured on the one shares no image with the other."""
    return np.array([right[::2].mean(), right[1::2].mean()])


def measure_outliers(accuracy: Accuracy) -> xarray.Dataset:
    """All triples of an outlier and two of the twenty: outlier_average, outlier_ensemble, pair_member."""
    variables = {"pair_member": (("pair", "two"), np.array(PAIRS))}
    for how in HOW:
        rows = [[accuracy.of(how, [place, *pair]) for pair in PAIRS] for place in OUTLIERS.values()]
        variables[f"outlier_{how}"] = ("outlier", "pair"), rows
    return xarray.Dataset(variables, coords={"outlier": list(OUTLIERS)})


def members_mean(sweep: xarray.Dataset) -> np.ndarray:
    """The mean of its three members' own accuracies, for every triple."""
    return sweep.accuracy.values[sweep.member.values].mean(1)


def explained(sweep: xarray.Dataset) -> dict[str, float]:
    """R² between averages and ensembles when more and more of what both could follow is taken away.

    "nothing": as they are; "members": the mean of the members' accuracies; "members in full": the three accuracies,
    worst first, with their squares and products, and how far the three lie apart; "other images": the same, with the
    averages measured on one half of the test images and the ensembles on the other. "itself": what that would be for
    two ways that agree completely, that is R² of averages with averages and of ensembles with ensembles, on two halves.
    """
    average = sweep.average_accuracy.values
    ensemble = sweep.ensemble_accuracy.values
    mean = members_mean(sweep)
    halves = [_halves_beyond_members(sweep, half) for half in (0, 1)]
    other = [_r2(halves[0][0], halves[1][1]), _r2(halves[1][0], halves[0][1])]
    itself = [_r2(halves[0][place], halves[1][place]) for place in (0, 1)]
    whole = _described(sweep.accuracy.values[sweep.member.values], sweep.spread.values)
    return {"nothing": _r2(average, ensemble),
            "members": _r2(algorithms.without(average, mean), algorithms.without(ensemble, mean)),
            "members in full": _r2(algorithms.remains(average, whole), algorithms.remains(ensemble, whole)),
            "other images": float(np.mean(other)),
            "itself": float(np.mean(itself))}


def _r2(a, b):
    return algorithms.regression(a, b)["r2"]


def _halves_beyond_members(sweep, half):
    """What the members leave of averages and of ensembles, on one half of the test images."""
    part = sweep.isel(half=half)
    known = _described(part.half_alone.values[sweep.member.values], sweep.spread.values)
    return [algorithms.remains(values, known) for values in (part.half_average.values, part.half_ensemble.values)]


def _described(own, spread):
    """What is known of a triple without merging it: (triples, numbers)."""
    own = np.sort(own, axis=1)
    products = [own[:, i] * own[:, j] for i in range(3) for j in range(i, 3)]
    return np.column_stack([own, *products, spread, spread ** 2])


def claim(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-7: the regression over all triples, what is left of it when the members' own accuracies are known, and what
    an outlier does to it."""
    average = sweep.average_accuracy.values
    ensemble = sweep.ensemble_accuracy.values
    own = members_mean(sweep)
    line = algorithms.regression(average, ensemble)
    beyond = algorithms.regression(algorithms.without(average, own), algorithms.without(ensemble, own))
    rest = explained(sweep)
    lost = sweep.outlier_ensemble - sweep.outlier_average
    surely = (sweep.above_best > WIDE * sweep.above_best_error).mean().item()
    bold = sweep.sel(outlier=BOLD)
    with_bold = algorithms.regression(bold.outlier_average.values, bold.outlier_ensemble.values)
    without_one = []  # R² over the triples that one of the twenty is not in
    for model in TWENTY:
        others = (sweep.member.values != model).all(1)
        without_one.append(_r2(average[others], ensemble[others]))
    return {"r2": line["r2"],
            "slope": line["slope"],
            "r2_least_without_one_model": min(without_one),
            "r2_from_members": algorithms.regression(own, ensemble)["r2"],
            "r2_beyond_members": beyond["r2"],
            "r2_beyond_members_in_full": rest["members in full"],
            "r2_on_other_images": rest["other images"],
            "r2_itself_on_other_images": rest["itself"],
            "share_above_best": (sweep.above_best > 0).mean().item(),
            "share_surely_above_best": surely,
            "average_over_members": float(np.mean(average - own)),
            "ensemble_over_average": float(np.mean(ensemble - average)),
            "share_average_below": float(np.mean(average < ensemble)),
            "lost_with_bold": lost.sel(outlier=BOLD).mean().item(),
            "lost_with_stranger": lost.sel(outlier=STRANGER).mean().item(),
            "r2_bold": with_bold["r2"]}
