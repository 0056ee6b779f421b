"""Are triples whose averaged weights are good also good ensembles? (CTL, Figure 4)"""
import itertools

import numpy as np
import xarray
from tqdm.auto import tqdm

from lessons.averaging import algorithms
from lessons.averaging.experiment.accuracy import HOW, Accuracy
from lessons.averaging.experiment.models import BOLD, OUTLIERS, STRANGER, TWENTY
from toy_models import weights

TRIPLES = list(itertools.combinations(TWENTY, 3))
PAIRS = list(itertools.combinations(TWENTY, 2))


def measure(accuracy: Accuracy, states: list[dict]) -> xarray.Dataset:
    """All triples of the twenty: member, average_accuracy, ensemble_accuracy, spread."""
    distance = np.zeros((len(TWENTY), len(TWENTY)))
    for i, j in PAIRS:
        distance[i, j] = weights.norm(weights.subtract(states[i], states[j]))
    columns = {"average_accuracy": [], "ensemble_accuracy": [], "spread": []}
    for triple in tqdm(TRIPLES, desc="measuring", unit="triple"):
        squares = [distance[pair] ** 2 for pair in itertools.combinations(triple, 2)]
        columns["average_accuracy"].append(accuracy.of_average(triple))
        columns["ensemble_accuracy"].append(accuracy.of_ensemble(triple))
        columns["spread"].append(np.sqrt(np.mean(squares)))
    found = {name: ("triple", column) for name, column in columns.items()}
    return xarray.Dataset({"member": (("triple", "place"), np.array(TRIPLES)), **found})


def measure_outliers(accuracy: Accuracy) -> xarray.Dataset:
    """All triples of an outlier and two of the twenty: outlier_average, outlier_ensemble, pair_member."""
    found = {"pair_member": (("pair", "two"), np.array(PAIRS))}
    for how in HOW:
        rows = [[accuracy.of(how, [place, *pair]) for pair in PAIRS] for place in OUTLIERS.values()]
        found[f"outlier_{how}"] = ("outlier", "pair"), rows
    return xarray.Dataset(found, coords={"outlier": list(OUTLIERS)})


def members_mean(sweep: xarray.Dataset) -> np.ndarray:
    """The mean of its three members' own accuracies, for every triple."""
    return sweep.accuracy.values[sweep.member.values].mean(1)


def claim(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-7: the regression over all triples, what is left of it when the members' own accuracies are known, and what
    an outlier does to it."""
    average = sweep.average_accuracy.values
    ensemble = sweep.ensemble_accuracy.values
    own = members_mean(sweep)
    line = algorithms.regression(average, ensemble)
    beyond = algorithms.regression(algorithms.without(average, own), algorithms.without(ensemble, own))
    lost = sweep.outlier_ensemble - sweep.outlier_average
    bold = sweep.sel(outlier=BOLD)
    with_bold = algorithms.regression(bold.outlier_average.values, bold.outlier_ensemble.values)
    return {"r2": line["r2"],
            "slope": line["slope"],
            "r2_least_without_one_model": min(_r2_without_one(sweep)),
            "r2_from_members": algorithms.regression(own, ensemble)["r2"],
            "r2_beyond_members": beyond["r2"],
            "average_over_members": float(np.mean(average - own)),
            "ensemble_over_average": float(np.mean(ensemble - average)),
            "share_average_below": float(np.mean(average < ensemble)),
            "lost_with_bold": lost.sel(outlier=BOLD).mean().item(),
            "lost_with_stranger": lost.sel(outlier=STRANGER).mean().item(),
            "r2_bold": with_bold["r2"]}


def _r2_without_one(sweep):
    """R² over the triples that one of the twenty is not in, for each of them."""
    found = []
    for model in TWENTY:
        rest = sweep.isel(triple=(sweep.member.values != model).all(1))
        line = algorithms.regression(rest.average_accuracy.values, rest.ensemble_accuracy.values)
        found.append(line["r2"])
    return found
