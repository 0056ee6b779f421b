"""What is measured of one suite on a grid of ranks and λ. The decompositions are done once; of an MLP's first layer a
rank costs one product, a λ none."""
from collections.abc import Sequence

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

from lessons.cart.algorithms.interference import interference, reconstruction_error
from lessons.cart.algorithms.spectra import Spectra, kept_rank, shifted
from lessons.suites import PARTS, Loaded
from toy_models.weights import State

DIRECTIONS = (*range(17), 20, 32, 64)  # of the first layer that are kept; behind these stands all of them
SPECTRUM = DIRECTIONS[-1]  # so many singular values are kept for pictures
LAMS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
HOWS = ("centred (CART)", "from θ₀ (task arithmetic)")
READINGS = ("meant", "printed")
FIRST = "layers.0.weight"


def shares(width: int, directions: Sequence[int] = DIRECTIONS) -> tuple[float, ...]:
    """The rank ratios that keep so many directions of a layer with `width` singular values, and all of them at last."""
    return (*(min(1.0, count / width) for count in directions), 1.0)


def measured(loaded: Loaded, ranks: Sequence[float], lams: Sequence[float] = LAMS) -> xarray.Dataset:
    """Everything about one suite.

    Returns:
        A Dataset with
        accuracy (how: 2, part: 2, rank, lam, task): of origin + λ·Σ SVD_k(τ_t), the origin being the average or θ₀;
        own, average, base (part, task): of every task's own network, the average of all and θ₀;
        interference (how, reading: 2, layer, rank): I(k) a pair of tasks, 0 at rank 0;
        error (how, layer, rank): R(k)/R(0);
        missed (how, rank, lam): of an MLP's first layer, merged to W, on the tasks' inputs: Σ ‖W x_t − W_t x_t‖² as a
        share of Σ ‖τ_t x_t‖²: 1 is as much as θ₀ misses;
        gain (how, rank, lam): Σ ⟨W x_t − θ₀ x_t, τ_t x_t⟩ as a share of the same: how much of the task's own change is
        there, 1 in its own network;
        top (layer, task): how many singular values of τ_t are above the largest divided by T − 1, as a share of all;
        sigma (how, direction): of an MLP's first layer, singular values, mean over tasks, the first `SPECTRUM`; 0
        behind the last.
    """
    centred = Spectra(loaded.base, loaded.finetuned)
    plain = Spectra(loaded.base, loaded.finetuned, centre=False)
    both = (centred, plain)  # in the order of `HOWS`
    layers = layers_of(centred)
    sets = _answered(loaded, both, ranks, lams) | _decomposed(both, list(layers.values()), ranks)
    if not loaded.suite.splits:
        quantities = np.array([in_layer_1(loaded, spectra, ranks, lams) for spectra in both])
        sets |= {"missed": (("how", "rank", "lam"), quantities[:, 0]),
                 "gain": (("how", "rank", "lam"), quantities[:, 1]),
                 "sigma": (("how", "direction"), np.array([spectrum(spectra) for spectra in both]))}
    return xarray.Dataset(sets, {"how": list(HOWS), "part": list(PARTS), "rank": list(ranks), "lam": list(lams),
                                 "task": list(range(len(loaded.finetuned))), "reading": list(READINGS),
                                 "layer": list(layers), "direction": list(range(1, SPECTRUM + 1))})


def _answered(loaded, both, ranks, lams):
    """accuracy, own, average and base of `measured`."""
    accuracy = [[accuracies(loaded, spectra, ranks, lams, part) for part in PARTS] for spectra in both]
    sets = {"accuracy": (("how", "part", "rank", "lam", "task"), np.array(accuracy)),
            "own": (("part", "task"), np.array([loaded.own(part) for part in PARTS]))}
    for name, spectra in zip(("average", "base"), both):
        of_origin = [loaded.accuracy(spectra.origin, part) for part in PARTS]
        sets[name] = (("part", "task"), np.array(of_origin))
    return sets


def _decomposed(both, keys, ranks):
    """interference, error and top of `measured`: what singular values and vectors say."""
    curves = [[_curves(spectra, key, ranks) for key in keys] for spectra in both]
    interferences = [[[curve[reading] for curve in of_layers] for reading in READINGS] for of_layers in curves]
    errors = [[curve["error"] for curve in of_layers] for of_layers in curves]
    plain = both[1]
    sigmas = [plain.singular_values(key) for key in keys]
    top = [(sigma > sigma[:, :1] / max(1, len(sigma) - 1)).double().mean(1).numpy() for sigma in sigmas]
    return {"interference": (("how", "reading", "layer", "rank"), np.array(interferences)),
            "error": (("how", "layer", "rank"), np.array(errors)),
            "top": (("layer", "task"), np.array(top))}


def spectrum(spectra: Spectra) -> np.ndarray:
    """The first layer's singular values, mean over tasks, (`SPECTRUM`,), largest first; 0 behind the last."""
    sigma = spectra.singular_values(FIRST).mean(0)[:SPECTRUM].numpy()
    return np.pad(sigma, (0, SPECTRUM - len(sigma)))


def layers_of(spectra: Spectra) -> dict[str, str]:
    """{name for a reader: key} of the weights that are truncated: "layer 1" … "output" of an MLP, the key without
    ".weight" of others."""
    keys = list(spectra.matrices)
    if keys[0] != FIRST:
        return {key.removesuffix(".weight"): key for key in keys}
    return {f"layer {i}": key for i, key in enumerate(keys[:-1], 1)} | {"output": keys[-1]}


def _curves(spectra, key, ranks):
    """I(k) in both readings, a pair of tasks, and R(k)/R(0), for every rank."""
    shape = spectra.origin[key].shape
    rows = spectra.rows(key)
    counts = [kept_rank(rank, shape) for rank in ranks]
    pairs = max(1, len(rows) * (len(rows) - 1))
    curves = {}
    for reading in READINGS:
        curves[reading] = np.append(0.0, interference(rows, reading).numpy() / pairs)[counts]
    curves["error"] = reconstruction_error(rows.norm(dim=2)).numpy()[counts]
    return curves


def accuracies(loaded: Loaded, spectra: Spectra, ranks: Sequence[float], lams: Sequence[float],
               part: str) -> np.ndarray:
    """The share correct of origin + λ·Σ SVD_k(τ_t) on every task, (ranks, lams, tasks)."""
    if loaded.suite.splits:
        return _network_by_network(loaded, spectra, ranks, lams, part)
    return of_images(loaded.images_of(part), spectra, ranks, lams)


def of_images(images: Sequence[tuple[Tensor, Tensor]], spectra: Spectra, ranks: Sequence[float],
              lams: Sequence[float]) -> np.ndarray:
    """`accuracies` of MLPs on every task's (images, labels), as many of each."""
    x = torch.cat([x for x, _ in images])
    y = torch.cat([y for _, y in images])
    accuracies = []
    for totals, start, step in first_layer(spectra, x, ranks):
        row = []
        for lam in lams:
            answers = _answers(start + lam * step, spectra.origin, totals, lam)
            row.append((answers == y).double().view(len(images), -1).mean(1).numpy())
        accuracies.append(row)
    return np.array(accuracies)


def _network_by_network(loaded, spectra, ranks, lams, part):
    at_rank_0 = loaded.accuracy(spectra.origin, part)  # for every λ
    accuracies = []
    for rank in ranks:
        totals = spectra.totals(rank)
        merged = (shifted(spectra.origin, totals, lam) for lam in lams)
        accuracies.append([loaded.accuracy(state, part) for state in merged] if rank else [at_rank_0] * len(lams))
    return np.array(accuracies)


def in_layer_1(loaded: Loaded, spectra: Spectra, ranks: Sequence[float], lams: Sequence[float],
               images: int = 100) -> tuple[np.ndarray, np.ndarray]:
    """What of a task's own change the merged first layer makes on that task's inputs, before the ReLU: missed and gain
    of `measured`, (ranks, lams)."""
    of_tasks = [x[:images].flatten(1) for x, _ in loaded.held_out]
    x = torch.cat(of_tasks)
    own = torch.cat([_before(some, state) for some, state in zip(of_tasks, loaded.finetuned)])
    base = _before(x, loaded.base)
    scale = (own - base).square().sum()

    def share(u, v):
        return ((u * v).sum() / scale).item()

    missed = []
    gain = []
    for _, start, step in first_layer(spectra, x, ranks):
        # ‖start + λ·step − own‖² is a polynomial in λ
        a = share(start - own, start - own)
        b = share(start - own, step)
        c = share(step, step)
        missed.append([a + 2 * lam * b + lam ** 2 * c for lam in lams])
        d = share(start - base, own - base)
        e = share(step, own - base)
        gain.append([d + lam * e for lam in lams])
    return np.array(missed), np.array(gain)


def _before(x, state):
    return F.linear(x.flatten(1), state[FIRST], state["layers.0.bias"])


def first_layer(spectra: Spectra, x: Tensor, ranks: Sequence[float]):
    """Yield for every rank (totals, what the origin's first layer holds before the ReLU, what Σ SVD_k(τ_t) adds to it),
    both (samples, units)."""
    start = _before(x, spectra.origin)
    for rank in ranks:
        totals = {key: total.float() for key, total in spectra.totals(rank).items()}
        yield totals, start, F.linear(x.flatten(1), totals[FIRST], totals["layers.0.bias"])


def _answers(h, origin, totals, lam):
    """The answers of an MLP with weights origin + λ·totals, given what its first layer holds before the ReLU."""
    for i in range(1, len(totals) // 2):
        weight, bias = (at(origin, totals, lam, f"layers.{i}.{name}") for name in ("weight", "bias"))
        h = F.linear(F.relu(h), weight, bias)
    return h.argmax(1)


def at(origin: State, totals: State, lam: float, key: str) -> Tensor:
    """One weight of origin + λ·totals."""
    return origin[key] + lam * totals[key]
