"""One budget, spent in one merge or in many small ones, and where the merged networks lie (TVG §3.1, §3.2 and Fig. 4; ATM, Zhou et al. 2025).

`run` finetunes from merged networks, which no recipe describes, so what it trains is kept in the sweep alone; it returns one xarray Dataset.
"""
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import torch
import xarray

import data
from lessons.gradients.experiment import epochs
from lessons.gradients.experiment.epochs import DIGITS, FAMILIES, PROFILES, evaluate_all, samples
from lessons.merging import merge
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import training, weights, zoo
from toy_models.weights import State

BUDGET = 10  # epochs of each task
ROUNDS = (1, 2, 5, 10)
SCALES = Profiles(quick=(1.0,), full=(1.0, 1.5, 2.0))  # αT of every round; 1 is the average
LR, BATCH = epochs.LR[epochs.SGD], FAMILIES[DIGITS].batch
SPENT = (1, 2, 5, 10)  # epochs of each task before a single merge
METHODS = {"average": ("average", {}), "TIES": ("ties", {"scale": 1.0, "density": 0.2}), "Breadcrumbs": ("breadcrumbs", {}), "DARE": ("dare", {})}
GRID = 21


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train and measure.

    Returns:
        A Dataset; `spent` is epochs of each task, 0 to 10:
        accuracy, loss (rounds: 4, scale, spent): of the merged network after every merge, on all six tasks' test images, NaN between merges; held: accuracy
        on held-out training images; joint_accuracy, joint_loss (spent): of joint training with batches from all tasks in every step;
        how_accuracy, how_loss (how: 4, budget: 4): of one merge after so many epochs;
        place (point, axis): merged networks in the plane of their two principal components, with name, group and spent (point), and distance (point,
        other): ‖·‖ between them over all weights; explained (axis): their shares of the variance; map (vertical, horizontal): loss in the plane.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings, source = PROFILES[profile], data.source("rotated_mnist", angle=FAMILIES[DIGITS].angles[0])
    ingredients = {"settings": asdict(settings), "scales": SCALES[profile], "start": epochs.start(DIGITS, seed).key, "seed": seed, "methods": METHODS}
    return cached("gradients-rounds", ingredients, lambda: measure(profile, seed, device).assign_attrs(
        source=source.text.split(",")[0], source_kind=source.kind, dataset="MNIST", profile=profile, seed=seed, network="MLP 784–64–64–10",
        images=f"{settings.images} training and {settings.test} test images of each of six tasks"))


@training.one_thread()
def measure(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    settings = PROFILES[profile]
    base = zoo.get(epochs.start(DIGITS, seed), device).state_dict()
    sets = {part: [samples(DIGITS, angle, settings, part) for angle in FAMILIES[DIGITS].angles] for part in ("train", "held", "test")}
    paths = {(rounds, scale): alternate(base, sets["train"], rounds, scale, seed) for rounds in ROUNDS for scale in SCALES[profile]}
    once = {spent: [finetuned(base, x, y, spent, seed) for x, y in sets["train"]] for spent in SPENT}
    merged = {(name, spent): merge(method, base, states, **_options(method, options, len(states))) for name, (method, options) in METHODS.items() for spent, states in once.items()}
    together = joint(base, sets["train"], seed)
    return xarray.merge([_scores(paths, together, merged, sets), _plane(base, paths, together, merged, sets["test"])])


def _options(method, options, tasks):
    """Breadcrumbs and DARE add the task vectors up; scaled by 1/T they stand beside the average."""
    return options | ({"scale": 1 / tasks} if method in ("breadcrumbs", "dare") else {})


def finetuned(state: State, x: torch.Tensor, y: torch.Tensor, passes: int, seed: int) -> State:
    """`passes` epochs of SGD from a state dict, which stays as it is; the order of samples belongs to the seed."""
    network = training.for_training(state)
    order = torch.Generator().manual_seed(seed)
    for _ in range(passes):
        for batch in torch.randperm(len(x), generator=order).split(BATCH):
            network.sgd_step(x.index_select(0, batch), y.index_select(0, batch), LR)
    return training.as_stored(network)


def alternate(base: State, sets, rounds: int, scale: float, seed: int = 0) -> list[State]:
    """Iterative task arithmetic: finetune every task from the last merge, merge with α = scale/T, and again; the merge after every round (ATM)."""
    states = [base]
    for number in range(rounds):
        ends = [finetuned(states[-1], x, y, BUDGET // rounds, seed + 1000 * number) for x, y in sets]
        states.append(merge("task_arithmetic", states[-1], ends, scale=scale / len(sets)))
    return states[1:]


def joint(base: State, sets, seed: int = 0) -> list[State]:
    """Joint training for the same number of steps, each on one batch of every task; the network after every epoch."""
    network, order, states = training.for_training(base), torch.Generator().manual_seed(seed), []
    for _ in range(BUDGET):
        orders = [torch.randperm(len(y), generator=order).split(BATCH) for _, y in sets]
        for batches in zip(*orders):
            x, y = (torch.cat([one[i].index_select(0, batch) for one, batch in zip(sets, batches)]) for i in (0, 1))
            network.sgd_step(x, y, LR)
        states.append(training.as_stored(network))
    return states


def evaluate_states(states: Sequence[State], sets) -> list[tuple[float, float]]:
    """Loss (nats) and accuracy of every state dict over the samples of all tasks."""
    return evaluate_all([weights.flatten(state) for state in states], states[0], sets)


def _scores(paths, together, merged, sets):
    spent = np.arange(BUDGET + 1)
    shape = (len(ROUNDS), len({scale for _, scale in paths}), len(spent))
    values = {name: np.full(shape, np.nan) for name in ("loss", "accuracy", "held")}
    scales = sorted({scale for _, scale in paths})
    for (rounds, scale), states in paths.items():
        scores = [evaluate_states(states, sets[part]) for part in ("test", "held")]
        for number, ((loss, accuracy), (_, held)) in enumerate(zip(*scores), 1):
            here = ROUNDS.index(rounds), scales.index(scale), number * BUDGET // rounds
            values["loss"][here], values["accuracy"][here], values["held"][here] = loss, accuracy, held
    jointly = np.array(evaluate_states(together, sets["test"]))
    by_method = np.array(evaluate_states([merged[name, budget] for name in METHODS for budget in SPENT], sets["test"])).reshape(len(METHODS), len(SPENT), 2)
    return xarray.Dataset({name: (("rounds", "scale", "spent"), value) for name, value in values.items()} |
                          {"joint_loss": ("epoch", jointly[:, 0]), "joint_accuracy": ("epoch", jointly[:, 1]),
                           "how_loss": (("how", "budget"), by_method[..., 0]), "how_accuracy": (("how", "budget"), by_method[..., 1])},
                          coords={"rounds": list(ROUNDS), "scale": scales, "spent": spent, "epoch": spent[1:], "how": list(METHODS), "budget": list(SPENT)})


def _plane(base, paths, together, merged, tests):
    """The merged networks in the plane of their two principal components; every merge of a round with α = 1/T, and of the four methods."""
    points = [("pretrained", "pretrained", 0, base)]
    points += [(f"{rounds} rounds", "rounds", number * BUDGET // rounds, state) for (rounds, scale), states in paths.items() if scale == 1 for number, state in enumerate(states, 1)]
    points += [(name, "method", spent, state) for (name, spent), state in merged.items()]
    points += [("joint", "joint", spent, together[spent - 1]) for spent in SPENT]
    flat = torch.stack([weights.flatten(state) for *_, state in points]).double()
    place, axes, explained = principal(flat)
    margin = 0.12 * np.ptp(place.numpy(), axis=0)
    horizontal, vertical = (np.linspace(place[:, i].min() - margin[i], place[:, i].max() + margin[i], GRID) for i in (0, 1))
    centre, some = flat.mean(0), [(x[:100], y[:100]) for x, y in tests]
    lattice = [centre + a * axes[0] + b * axes[1] for b in vertical for a in horizontal]
    losses = np.array([loss for loss, _ in evaluate_all(lattice, base, some)]).reshape(GRID, GRID)
    names, groups, spents, _ = zip(*points)
    return xarray.Dataset({"place": (("point", "axis"), place.numpy()), "name": ("point", list(names)), "group": ("point", list(groups)), "point_spent": ("point", list(spents)),
                           "distance": (("point", "other"), torch.cdist(flat, flat).numpy()), "explained": ("axis", explained[:2].numpy()),
                           "map": (("vertical", "horizontal"), losses)}, coords={"horizontal": horizontal, "vertical": vertical})


def principal(points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The first two principal components: places (points, 2), axes (2, parameters), and every component's share of the variance."""
    centred = points - points.mean(0)
    _, lengths, axes = torch.linalg.svd(centred, full_matrices=False)
    return centred @ axes[:2].T, axes[:2], lengths ** 2 / (lengths ** 2).sum()


def endpoints(sweep: xarray.Dataset, chosen_by: str = "held") -> Sequence[xarray.DataArray]:
    """Accuracy after the whole budget for every number of rounds, with α = 1/T, and with the scale that the held-out images prefer."""
    end = sweep.isel(spent=-1)
    best = end[chosen_by].idxmax("scale")
    return end.accuracy.sel(scale=1.0), end.accuracy.sel(scale=best).drop_vars("scale")


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-9 and TVG-10, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"TVG-9": claim_9(sweep), "TVG-10": claim_10(sweep)}


def claim_9(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-9: accuracy at the end of the budget for 1, 2, 5 and 10 rounds, averaging, and at the scale that held-out images prefer; and with joint training."""
    plain, best = endpoints(sweep)
    return {f"rounds_{int(number)}": plain.sel(rounds=number).item() for number in sweep.rounds.values} | {
        f"chosen_{int(number)}": best.sel(rounds=number).item() for number in sweep.rounds.values} | {
        "gain": (plain[-1] - plain[0]).item(), "gain_chosen": (best[-1] - best[0]).item(), "rises": float((np.diff(plain) > 0).mean()), "joint": sweep.joint_accuracy[-1].item(),
        "joint_over_rounds_10": (sweep.joint_accuracy[-1] - plain[-1]).item()}


def claim_10(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-10: after the whole budget, distances between merged networks in units of the average's from the pretrained network, cosines between their ways; losses."""
    names = [f"{name} {spent}" for name, spent in zip(sweep.name.values, sweep.point_spent.values)]

    def apart(a, b):
        return float(sweep.distance[names.index(f"{a} {BUDGET if a in METHODS else 0}"), names.index(f"{b} {BUDGET}")])

    unit, found = apart("pretrained", "average"), {}
    for a, b in (("TIES", "Breadcrumbs"), ("TIES", "average"), ("Breadcrumbs", "average"), ("DARE", "average")):
        one, other, between = apart("pretrained", a), apart("pretrained", b), apart(a, b)
        found |= {f"{a}_{b}".lower(): between / unit, f"{a}_{b}_cosine".lower(): (one ** 2 + other ** 2 - between ** 2) / (2 * one * other)}
    loss, end = sweep.how_loss.sel(budget=BUDGET), sweep.loss.sel(scale=1.0).isel(spent=-1)
    return found | {"dare_nearest": min(apart("DARE", name) for name in METHODS if name != "DARE") / unit, "dare_loss": loss.sel(how="DARE").item(), "average_loss": loss.sel(how="average").item(),
                    "best_single_loss": sweep.how_loss.min().item(), "path_loss": end.sel(rounds=ROUNDS[-1]).item(), "joint_loss": sweep.joint_loss[-1].item()}
