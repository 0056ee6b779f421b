"""The theorems, simulated where they say something that can be simulated: Theorem 1 and the inequality in its proof,
Theorem 2 on quadratics, Theorem 3 and Lemma 2 on linear discriminants, Theorem 4's distance between samples."""
import math
from dataclasses import dataclass

import numpy as np
import torch
import xarray

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.algorithms import closeness, distances, mixing, quadratic

DIMENSIONS = (1, 2, 3, 10, 100)
SHARES = np.logspace(-4, 0, 81)  # t over its mean
CONDITIONS = (1.0, 10.0, 100.0)
RULES = ("parameters", "as printed", "total variation", "Δ/2, as in Lemma 2", "Mahalanobis")
FEATURES = 10
ETA = 0.9
AFTER = (0, 1, 2, 10, 50, 100)
CURVES = 20  # curvatures of the random quadratics
SIZES = (100, 1000, 10_000)
DELTAS = (0.5, 1.0, 2.0, 3.0, 4.0)
EVIDENCE = ("Spirals", "MNIST's images", "MNIST's labels")


@dataclass(frozen=True)
class Settings:
    """How much is drawn."""
    draws: int  # of each kind
    sizes: tuple[int, ...]  # points of the samples that are compared


PROFILES = Profiles(quick=Settings(150, SIZES[:2]), full=Settings(400, SIZES))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Draw and compute, in float64.

    Returns:
        A Dataset with
        nearer (d, share): Pr(Y ≤ t) for t/E[Y] = share; worst (d), worst_off (d): the largest ratio of the two, for θ*
        = 0 and for ‖θ*‖² = 2; drawn (d): Pr(X ≥ αY) over the bound, of a random X, by simulation;
        slower (condition, after): how often the start that is nearer has the higher loss after so many steps;
        rate_holds, distance_holds: shares of draws in which Eq. 6 and 7 hold; shortcut (condition): of pairs with
        ‖θ^P − θ*‖² ≤ μ/2L·‖θ_rand − θ*‖², the largest ratio of their losses;
        best (condition, after): median over draws of the best γ's distance from the nearest point's γ;
        missed (condition, rule), cost (condition, rule): median |γ − nearest γ| in draws of linear discriminants, and
        median ratio of ‖θ^P − θ*‖² to the smallest; outside (condition): how often the nearest γ lies outside [0, 1];
        closer_heavier (condition): of n = 2, how often the parent with the smaller TV gets the larger share;
        indefinite, saddle: of H from TV² of five random distributions; saddle_within: how often a saddle has positive
        shares alone, as SAIL asks of Eq. 12; root (outcomes), its eigenvalues in the example;
        lemma (delta), lemma_says (delta): TV of two Gaussians, and Δ/2;
        tv (of: 3, size): empirical total variation of two samples.
    """
    generator = torch.Generator().manual_seed(seed)
    values = _theorem_1(generator) | _theorem_2(settings.draws, generator) | _theorem_3(settings.draws, generator)
    values |= _many(settings.draws, generator) | _theorem_4(settings.sizes, seed)
    coords = {"d": list(DIMENSIONS), "share": SHARES, "condition": list(CONDITIONS), "after": list(AFTER),
              "rule": list(RULES), "delta": list(DELTAS), "of": list(EVIDENCE), "size": list(settings.sizes)}
    return xarray.Dataset(values, coords).assign_attrs(images=f"{settings.draws} random draws of each kind")


# -- Theorem 1 -------------------------------------------------------------------------------------

def _theorem_1(generator):
    nearer = [closeness.not_nearer(SHARES * d, 1 - 1e-12, d) for d in DIMENSIONS]
    drawn = []
    for d in DIMENSIONS:
        x = torch.empty(200_000, dtype=torch.float64).exponential_(generator=generator).numpy() * 0.2 * d
        drawn.append(closeness.not_nearer(x, 0.5, d).mean() / closeness.bound(x.mean(), 0.5, d))
    return {"nearer": (("d", "share"), np.array(nearer)),
            "worst": ("d", [closeness.worst(d) for d in DIMENSIONS]),
            "worst_off": ("d", [closeness.worst(d, 2.0) for d in DIMENSIONS]),
            "drawn": ("d", drawn)}


# -- Theorem 2 -------------------------------------------------------------------------------------

def _theorem_2(draws, generator):
    slower, best, shortcut = [], [], []
    rate, distance = [], []
    for condition in CONDITIONS:
        a = quadratic.spectrum(CURVES, condition)
        errors = torch.randn(2, draws, CURVES, generator=generator, dtype=torch.float64)
        first = quadratic.loss(errors, a)
        far = errors.norm(dim=-1)
        nearer = far[0] < far[1]
        losses = [quadratic.loss_after(errors, a, ETA, steps) for steps in AFTER]
        slower.append([((loss[0] > loss[1]) == nearer).double().mean().item() for loss in losses])
        holds = [loss <= quadratic.rate_bound(first, a[-1].item(), ETA, steps) + 1e-12
                 for loss, steps in zip(losses, AFTER)]
        rate.append(torch.stack(holds).double().mean().item())
        distance.append((first <= quadratic.distance_bound(far, a[0].item()) + 1e-12).double().mean().item())
        best.append([_best(errors, a, steps) for steps in AFTER])
        shortcut.append(_shortcut(errors, a))
    return {"slower": (("condition", "after"), slower), "best": (("condition", "after"), best),
            "rate_holds": ("condition", rate), "distance_holds": ("condition", distance),
            "shortcut": ("condition", shortcut)}


def _best(errors, a, steps):
    """The median distance between the best share for the loss after so many steps and the nearest point's."""
    misses = []
    for e1, e2 in zip(*errors):
        nearest = mixing.nearest_share(e1.norm().item(), e2.norm().item(), (e1 - e2).norm().item())
        misses.append(abs(quadratic.best_share(e1, e2, a, ETA, steps) - nearest))
    return float(np.median(misses))


def _shortcut(errors, a):
    """The largest ratio of losses where the first error was shortened to √(μ/2L) of the second's length."""
    alpha = (a[-1] / (2 * a[0])).item()
    first = errors[0] * (math.sqrt(alpha) * errors[1].norm(dim=1) / errors[0].norm(dim=1))[:, None]
    return (quadratic.loss(first, a) / quadratic.loss(errors[1], a)).max().item()


# -- Theorem 3 and Lemma 2 -------------------------------------------------------------------------

def _theorem_3(draws, generator):
    missed, cost, outside, heavier = [], [], [], []
    for condition in CONDITIONS:
        covariance = torch.diag(quadratic.spectrum(FEATURES, condition))
        rows = [_one_draw(covariance, generator) for _ in range(draws)]
        missed.append([np.median([row[rule][0] for row in rows]) for rule in RULES])
        cost.append([np.median([row[rule][1] for row in rows]) for rule in RULES])
        outside.append(np.mean([row["outside"] for row in rows]))
        heavier.append(np.mean([row["heavier"] for row in rows]))
    says = [delta / 2 for delta in DELTAS]
    return {"missed": (("condition", "rule"), missed), "cost": (("condition", "rule"), cost),
            "outside": ("condition", outside), "closer_heavier": ("condition", heavier),
            "lemma": ("delta", [distances.gaussian_total_variation(delta) for delta in DELTAS]),
            "lemma_says": ("delta", says)}


def _one_draw(covariance, generator):
    """{rule: (|γ − nearest γ|, squared distance over the smallest)} for two data sets and a target."""
    means = torch.randn(3, len(covariance), generator=generator, dtype=torch.float64)  # differences of class means
    means *= covariance.diagonal().sqrt()  # in units of the features' spread
    theta = [distances.lda_direction(difference, covariance) for difference in means]
    pairs = ((0, 2), (1, 2), (0, 1))
    far = [(theta[i] - theta[j]).norm().item() for i, j in pairs]
    delta = [distances.mahalanobis(means[i] - means[j], covariance) for i, j in pairs]
    tv = [distances.gaussian_total_variation(length) for length in delta]
    nearest = mixing.nearest_share(*far)
    shares = {"parameters": nearest, "as printed": mixing.printed_share(*far),
              "total variation": mixing.nearest_share(*tv),
              "Δ/2, as in Lemma 2": mixing.nearest_share(*[length / 2 for length in delta]),
              "Mahalanobis": mixing.nearest_share(*delta)}
    least = mixing.distance_along(*far, nearest) ** 2
    row = {rule: (abs(share - nearest), mixing.distance_along(*far, share) ** 2 / least)
           for rule, share in shares.items()}
    heavier = (nearest > 0.5) == (tv[0] < tv[1])
    return row | {"outside": not 0 <= nearest <= 1, "heavier": heavier}


# four outcomes; the target is D1 − D2 + D3 exactly
FOUR = torch.tensor([[0.5, 0.5, 0, 0], [0, 0.5, 0.5, 0], [0, 0, 0.5, 0.5], [0.5, 0, 0, 0.5]], dtype=torch.float64)


def four_outcomes() -> tuple[torch.Tensor, torch.Tensor]:
    """H of the example with four outcomes, from total variations as SAIL has it (squared), and from their roots."""
    target, *parents = FOUR
    to, between = _total_variations(target, parents)
    return mixing.inner_products(to, between), mixing.inner_products(to.sqrt(), between.sqrt())


def _total_variations(target, parents):
    """Of every parent to the target, and between the parents."""
    to = [distances.total_variation(parent, target) for parent in parents]
    between = [[distances.total_variation(a, b) for a in parents] for b in parents]
    return torch.tensor(to, dtype=torch.float64), torch.tensor(between, dtype=torch.float64)


def _many(draws, generator):
    """How often H from squared total variations of five random distributions on six outcomes is not positive definite,
    how often its “minimum” is a saddle, and how often all shares of such a saddle are positive."""
    indefinite, saddle, within = [], [], []
    for _ in range(draws):
        drawn = torch.empty(6, 6, dtype=torch.float64).exponential_(generator=generator)
        target, *parents = drawn / drawn.sum(1, keepdim=True)
        H = mixing.inner_products(*_total_variations(target, parents))
        indefinite.append(torch.linalg.eigvalsh(H)[0].item() < -1e-12)
        ones = torch.ones(len(H), 1, dtype=torch.float64)
        across = torch.linalg.qr(torch.cat([ones, torch.eye(len(H), dtype=torch.float64)[:, 1:]], 1))[0][:, 1:]
        saddle.append(torch.linalg.eigvalsh(across.T @ H @ across)[0].item() < -1e-12)
        weights = torch.linalg.solve(H, ones)
        within.append(saddle[-1] and (weights / weights.sum() > 0).all().item())
    eigenvalues = torch.linalg.eigvalsh(four_outcomes()[0]).numpy()
    return {"indefinite": np.mean(indefinite), "saddle": np.mean(saddle), "saddle_within": np.mean(within),
            "four_lowest": eigenvalues[0]}


# -- Theorem 4 -------------------------------------------------------------------------------------

def _theorem_4(sizes, seed):
    """The empirical total variation of two samples of one and the same distribution."""
    distance = np.full((len(EVIDENCE), len(sizes)), np.nan)
    x, y = _images(2 * max(sizes), seed)
    for place, size in enumerate(sizes):
        distance[1, place] = distances.empirical_total_variation(x[:size], x[size:2 * size])
        distance[2, place] = distances.empirical_total_variation(y[:size], y[size:2 * size])
        if size <= 1000:  # Spirals has so many points
            spirals = [data.load("spirals", part, seed=seed).x[:size] for part in ("train", "test")]
            distance[0, place] = distances.empirical_total_variation(*spirals)
    return {"tv": (("of", "size"), distance)}


def _images(count, seed):
    """MNIST's images (samples, 784), and their labels (samples, 1), in an order of their own."""
    dataset = data.load("mnist", "train")
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(seed))[:count]
    return dataset.x[order].flatten(1), dataset.y[order, None].double()


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-2, 3 and 14, and of SAIL-1 what needs no network: {claim: {number: value}}. What each
    means stands in claims.yaml."""
    return {"SAIL-1": claim_1(sweep), "SAIL-2": claim_2(sweep), "SAIL-3": claim_3(sweep), "SAIL-14": claim_14(sweep)}


def claim_1(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-1: the largest probability over its bound, for one, two and ten parameters; and of random X."""
    return {"worst_1": float(sweep.worst.sel(d=1)), "worst_2": float(sweep.worst.sel(d=2)),
            "worst_10": float(sweep.worst.sel(d=10)), "drawn_10": float(sweep.drawn.sel(d=10))}


def claim_2(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-2: in which share of draws the two inequalities hold, and in which the nearer start is the slower one."""
    hard, easy = (sweep.slower.sel(condition=condition) for condition in (100.0, 1.0))
    return {"rate_holds": float(sweep.rate_holds.min()), "distance_holds": float(sweep.distance_holds.min()),
            "slower_now": float(hard.sel(after=0)), "slower_later": float(hard.sel(after=100)),
            "slower_easy": float(easy.max()), "shortcut": float(sweep.shortcut.max()),
            "best_later": float(sweep.best.sel(condition=10.0, after=100))}


def claim_3(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-3: how far the γ of each rule lies from the nearest point's, at κ = 1 and κ = 100; and what H is like."""
    numbers = {"indefinite": float(sweep.indefinite), "saddle": float(sweep.saddle),
               "saddle_within": float(sweep.saddle_within), "four_lowest": float(sweep.four_lowest)}
    names = {"parameters": "parameters", "printed": "as printed", "tv": "total variation", "lemma": RULES[3]}
    for condition in (1, 100):
        part = sweep.sel(condition=float(condition))
        numbers |= {f"{name}_{condition}": float(part.missed.sel(rule=rule)) for name, rule in names.items()}
        numbers |= {f"outside_{condition}": float(part.outside), f"heavier_{condition}": float(part.closer_heavier)}
    return numbers


def claim_14(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-14: the empirical total variation of two samples of one distribution."""
    tv = sweep.tv
    return {"images": float(tv.sel(of=EVIDENCE[1]).min()), "spirals": float(tv.sel(of=EVIDENCE[0]).min()),
            "labels_small": float(tv.sel(of=EVIDENCE[2]).isel(size=0)),
            "labels_large": float(tv.sel(of=EVIDENCE[2]).isel(size=-1))}


def source() -> data.types.Source:
    """Where the images come from."""
    return data.source("mnist")


EXPERIMENT = Experiment("sail-theory", measure, PROFILES, source, "MNIST", network="linear models", claims=claims,
                        ledger={"full": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
