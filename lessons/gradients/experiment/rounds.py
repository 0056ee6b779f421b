"""One budget, spent in one merge or in many small ones, and where the merged networks lie (TVG §3.1, §3.2 and Fig. 4;
ATM, Zhou et al. 2025).

Finetuning goes on from merged networks, which no recipe describes, so what is trained is kept in the sweep alone.
"""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.gradients.experiment import common, epochs
from lessons.gradients.experiment.epochs import AMOUNTS, DIGITS, Amounts, evaluate_all
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import on_grid
from lessons.merging import merge, search
from toy_models import Recipe, training, weights, zoo
from toy_models.weights import State

BUDGET = 10  # epochs of each task
ROUNDS = (1, 2, 5, 10)
LR = epochs.LR[epochs.SGD]
BATCH = epochs.FAMILIES[DIGITS].batch
SPENT = (1, 2, 5, 10)  # epochs of each task before a single merge
METHODS = {"average": ("average", {}),
           "TIES": ("ties", {"scale": 1.0, "density": 0.2}),
           "Breadcrumbs": ("breadcrumbs", {}),
           "DARE": ("dare", {})}
ADDING = ("breadcrumbs", "dare")  # they add the task vectors up; scaled by 1/T they stand beside the average
SCALED = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)  # lengths of a merge: 1 is the average, TIES at λ = 1, the two at 1/T
GIVEN, CHOSEN = "as above", "scale chosen"
STRANGER = "average from another start"
PAIRS = (("TIES", "Breadcrumbs"), ("TIES", "average"), ("Breadcrumbs", "average"), ("DARE", "average"),
         ("average", STRANGER))
ALONG = tuple(i / 10 for i in range(11))
SOME = 300  # test images of a task on a line


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    amounts: Amounts  # of samples, those of `epochs`
    scales: tuple[float, ...]  # αT of every round; 1 is the average
    grid: int = 21  # points of the map along each side


PROFILES = Profiles(quick=Settings(AMOUNTS["quick"], scales=(1.0,)),
                    full=Settings(AMOUNTS["full"], scales=(1.0, 1.5, 2.0)))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train and measure.

    Returns:
        A Dataset; `spent` is epochs of each task, 0 to 10:
        accuracy, loss (rounds: 4, scale, spent): of the merged network after every merge, on all six tasks' test
        images, NaN between merges; held: accuracy on held-out training images; joint_accuracy, joint_loss (spent): of
        joint training with batches from all tasks in every step;
        how_accuracy, how_loss (how: 4, budget: 4): of one merge after so many epochs;
        scaled_loss, scaled_held (how, longer: 7): of the merge after the whole budget, made so much longer, on test and
        held-out images; chosen (how): the length that these prefer; line (lengths: 2, pair: 5, along: 11): loss on the
        line between two merges, of the length above and of the chosen one; apart, cosine (lengths, pair): their
        distance and the cosine of their ways from the pretrained network;
        place (point, axis): merged networks in the plane of their two principal components, with name, group and spent
        (point), and distance (point, other): ‖·‖ between them over all weights; explained (axis): their shares of the
        variance; map (vertical, horizontal): loss in the plane.
    """
    base = zoo.get(epochs.start(DIGITS, seed), device).state_dict()
    sets = epochs.all_samples(DIGITS, settings.amounts)
    paths = {}
    for rounds in ROUNDS:
        for scale in settings.scales:
            paths[rounds, scale] = alternate(base, sets["train"], rounds, scale, seed)
    ends = {spent: [finetuned(base, x, y, spent, seed) for x, y in sets["train"]] for spent in SPENT}
    merged = {(name, spent): _merged(name, base, states) for name in METHODS for spent, states in ends.items()}
    together = joint(base, sets["train"], seed)
    after_epochs = np.array(evaluate_states(together, sets["test"]))
    of_joint = xarray.Dataset({"joint_loss": ("epoch", after_epochs[:, 0]),
                               "joint_accuracy": ("epoch", after_epochs[:, 1])}, {"epoch": np.arange(1, BUDGET + 1)})
    single = evaluate_states([merged[name, budget] for name in METHODS for budget in SPENT], sets["test"])
    of_methods = on_grid([{"how_loss": loss, "how_accuracy": accuracy} for loss, accuracy in single],
                         how=list(METHODS), budget=list(SPENT))
    elsewhere = zoo.get(other_start(seed), device).state_dict()
    stranger = _merged("average", elsewhere, [finetuned(elsewhere, x, y, BUDGET, seed) for x, y in sets["train"]])
    scores = xarray.merge([_of_paths(paths, settings.scales, sets), of_joint, of_methods,
                           _of_lines(base, ends[BUDGET], stranger, sets)])
    plane = _plane(_points(base, paths, together, merged), base, sets["test"], settings.grid)
    return scores.merge(plane).assign_attrs(images=epochs.images_said(settings.amounts),
                                            **search.resting_on(sum(len(y) for _, y in sets["held"])))


# -- training --------------------------------------------------------------------------------------

def _merged(name, base, states, longer=1.0):
    """One merge by a method of METHODS, `longer` times as long as above."""
    method, options = METHODS[name]
    if method == "average":
        method = "task_arithmetic"
    scale = longer / len(states) if method in ("task_arithmetic", *ADDING) else longer
    return merge(method, base, states, **options | {"scale": scale})


def other_start(seed: int) -> Recipe:
    """A network that learned the same digits from other first weights: a merge from it lies in another basin."""
    return epochs.start(DIGITS, seed + 1000)


def finetuned(state: State, x: torch.Tensor, y: torch.Tensor, passes: int, seed: int) -> State:
    """`passes` epochs of SGD from a state dict, which stays as it is; the order of samples belongs to the seed."""
    network = training.for_training(state)
    order = torch.Generator().manual_seed(seed)
    for _ in range(passes):
        for batch in torch.randperm(len(x), generator=order).split(BATCH):
            network.sgd_step(x.index_select(0, batch), y.index_select(0, batch), LR)
    return training.as_stored(network)


def alternate(base: State, sets, rounds: int, scale: float, seed: int = 0) -> list[State]:
    """Iterative task arithmetic: finetune every task from the last merge, merge with α = scale/T, and again; the merge
    after every round (ATM)."""
    states = [base]
    for number in range(rounds):
        ends = [finetuned(states[-1], x, y, BUDGET // rounds, seed + 1000 * number) for x, y in sets]
        states.append(merge("task_arithmetic", states[-1], ends, scale=scale / len(sets)))
    return states[1:]


def joint(base: State, sets, seed: int = 0) -> list[State]:
    """Joint training for the same number of steps, each on one batch of every task; the network after every epoch."""
    network = training.for_training(base)
    order = torch.Generator().manual_seed(seed)
    states = []
    for _ in range(BUDGET):
        orders = [torch.randperm(len(y), generator=order).split(BATCH) for _, y in sets]
        for batches in zip(*orders):
            x = torch.cat([x.index_select(0, batch) for (x, _), batch in zip(sets, batches)])
            y = torch.cat([y.index_select(0, batch) for (_, y), batch in zip(sets, batches)])
            network.sgd_step(x, y, LR)
        states.append(training.as_stored(network))
    return states


# -- measuring -------------------------------------------------------------------------------------

def evaluate_states(states: Sequence[State], sets) -> list[tuple[float, float]]:
    """Loss (nats) and accuracy of every state dict over the samples of all tasks."""
    return evaluate_all([weights.flatten(state) for state in states], states[0], sets)


def _of_paths(paths, scales, sets):
    """Loss and accuracy after every round."""
    spent = np.arange(BUDGET + 1)
    shape = (len(ROUNDS), len(scales), len(spent))
    values = {name: np.full(shape, np.nan) for name in ("loss", "accuracy", "held")}
    for (rounds, scale), states in paths.items():
        test = evaluate_states(states, sets["test"])
        held = evaluate_states(states, sets["held"])
        for number in range(rounds):
            place = ROUNDS.index(rounds), scales.index(scale), (number + 1) * BUDGET // rounds
            values["loss"][place], values["accuracy"][place] = test[number]
            values["held"][place] = held[number][1]
    variables = {name: (("rounds", "scale", "spent"), value) for name, value in values.items()}
    return xarray.Dataset(variables, coords={"rounds": list(ROUNDS), "scale": list(scales), "spent": spent})


def _of_lines(base, states, stranger, sets):
    """The loss on the lines between merges, as they are above and at the length that held-out images prefer."""
    scaled = {(name, longer): _merged(name, base, states, longer) for name in METHODS for longer in SCALED}
    shape = (len(METHODS), len(SCALED))
    loss = np.array([loss for loss, _ in evaluate_states(list(scaled.values()), sets["test"])]).reshape(shape)
    held = np.array([share for _, share in evaluate_states(list(scaled.values()), sets["held"])]).reshape(shape)
    chosen = search.best(xarray.DataArray(held, {"longer": list(SCALED)}, ("how", "longer")), "longer")["longer"].values
    of_lengths = []
    for lengths in ([1.0] * len(METHODS), chosen):
        flat = {name: weights.flatten(scaled[name, float(longer)]).double() for name, longer in zip(METHODS, lengths)}
        flat[STRANGER] = weights.flatten(stranger).double()
        of_lengths.append(_between(flat, base, [(x[:SOME], y[:SOME]) for x, y in sets["test"]]))
    lines = xarray.concat(of_lengths, xarray.DataArray([GIVEN, CHOSEN], dims="lengths", name="lengths"))
    of_methods = {"scaled_loss": (("how", "longer"), loss),
                  "scaled_held": (("how", "longer"), held),
                  "chosen": ("how", chosen)}
    return lines.assign(of_methods).assign_coords(how=list(METHODS), longer=list(SCALED))


def _between(flat, base, tests):
    """Losses on the lines between PAIRS of {name: weights}, their distances, and the cosines of their ways."""
    start = weights.flatten(base).double()
    lines = []
    distances = []
    cosines = []
    for a, b in PAIRS:
        on_line = [torch.lerp(flat[a], flat[b], share) for share in ALONG]
        lines.append([loss for loss, _ in evaluate_all(on_line, base, tests)])
        distances.append((flat[a] - flat[b]).norm().item())
        cosines.append(torch.cosine_similarity(flat[a] - start, flat[b] - start, dim=0).item())
    values = {"line": (("pair", "along"), np.array(lines)), "apart": ("pair", distances), "cosine": ("pair", cosines)}
    return xarray.Dataset(values, coords={"pair": [pair_name(*pair) for pair in PAIRS], "along": list(ALONG)})


def pair_name(a: str, b: str) -> str:
    """As the sweep calls a pair of merges."""
    return f"{a} – {b}"


def barrier(line: xarray.DataArray) -> xarray.DataArray:
    """By how much the loss on a line rises above the straight line between its ends (nats), at most; `along` is
    gone."""
    straight = line.isel(along=0) * (1 - line.along) + line.isel(along=-1) * line.along
    return (line - straight).max("along")


def _points(base, paths, together, merged):
    """[(name, group, epochs spent, state dict)]: every merge of a round with α = 1/T, those of the four methods, and
    joint training."""
    points = [("pretrained", "pretrained", 0, base)]
    for (rounds, scale), states in paths.items():
        if scale == 1:
            points += [(f"{rounds} rounds", "rounds", number * BUDGET // rounds, state)
                       for number, state in enumerate(states, 1)]
    points += [(name, "method", spent, state) for (name, spent), state in merged.items()]
    points += [("joint", "joint", spent, together[spent - 1]) for spent in SPENT]
    return points


def _plane(points, base, tests, grid):
    """The merged networks in the plane of their two principal components, and the loss there."""
    names, groups, spents, states = zip(*points)
    flat = torch.stack([weights.flatten(state) for state in states]).double()
    place, axes, explained = principal(flat)
    horizontal, vertical = (_around(place[:, i].numpy(), grid) for i in (0, 1))
    centre = flat.mean(0)
    lattice = [centre + a * axes[0] + b * axes[1] for b in vertical for a in horizontal]
    some = [(x[:100], y[:100]) for x, y in tests]
    losses = np.array([loss for loss, _ in evaluate_all(lattice, base, some)]).reshape(grid, grid)
    values = {"place": (("point", "axis"), place.numpy()),
              "name": ("point", list(names)),
              "group": ("point", list(groups)),
              "point_spent": ("point", list(spents)),
              "distance": (("point", "other"), torch.cdist(flat, flat).numpy()),
              "explained": ("axis", explained[:2].numpy()),
              "map": (("vertical", "horizontal"), losses)}
    return xarray.Dataset(values, coords={"horizontal": horizontal, "vertical": vertical})


def _around(values, count):
    """So many numbers from a little below the smallest value to a little above the largest."""
    margin = 0.12 * np.ptp(values)
    return np.linspace(values.min() - margin, values.max() + margin, count)


def principal(points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The first two principal components: places (points, 2), axes (2, parameters), and every component's share of the
    variance."""
    centred = points - points.mean(0)
    _, lengths, axes = torch.linalg.svd(centred, full_matrices=False)
    return centred @ axes[:2].T, axes[:2], lengths ** 2 / (lengths ** 2).sum()


def endpoints(sweep: xarray.Dataset, chosen_by: str = "held") -> tuple[xarray.DataArray, xarray.DataArray]:
    """Accuracy after the whole budget for every number of rounds, with α = 1/T, and with the scale that the held-out
    images prefer."""
    end = sweep.isel(spent=-1)
    return end.accuracy.sel(scale=1.0), end.accuracy.sel(search.best(end[chosen_by], "scale")).drop_vars("scale")


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-9 and TVG-10: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"TVG-9": claim_9(sweep), "TVG-10": claim_10(sweep)}


def claim_9(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-9: accuracy at the end of the budget for 1, 2, 5 and 10 rounds, averaging, and at the scale that held-out
    images prefer; and with joint training."""
    plain, best = endpoints(sweep)
    numbers = [int(number) for number in sweep.rounds.values]
    accuracies = {f"rounds_{number}": plain.sel(rounds=number).item() for number in numbers}
    accuracies |= {f"chosen_{number}": best.sel(rounds=number).item() for number in numbers}
    return accuracies | {"gain": (plain[-1] - plain[0]).item(),
                         "gain_chosen": (best[-1] - best[0]).item(),
                         "rises": float((np.diff(plain) > 0).mean()),
                         "joint": sweep.joint_accuracy[-1].item(),
                         "joint_over_rounds_10": (sweep.joint_accuracy[-1] - plain[-1]).item()}


def claim_10(sweep: xarray.Dataset) -> dict[str, float]:
    """TVG-10: after the whole budget, distances between merged networks in units of the average's from the pretrained
    network, cosines between their ways, and barriers on the lines between them, as they are and at the chosen lengths;
    losses."""
    unit = _apart(sweep, "pretrained", "average")
    numbers = {}
    for prefix, lengths in (("", GIVEN), ("chosen_", CHOSEN)):
        part = sweep.sel(lengths=lengths)
        barriers = barrier(part.line)
        for a, b in PAIRS[:-1]:
            pair = pair_name(a, b)
            name = f"{prefix}{a}_{b}".lower()
            numbers |= {name: part.apart.sel(pair=pair).item() / unit,
                        f"{name}_cosine": part.cosine.sel(pair=pair).item(),
                        f"{name}_barrier": barriers.sel(pair=pair).item()}
        numbers[f"{prefix}strangers_barrier"] = barriers.sel(pair=pair_name(*PAIRS[-1])).item()
    loss = sweep.how_loss.sel(budget=BUDGET)
    end = sweep.loss.sel(scale=1.0).isel(spent=-1)
    from_dare = [_apart(sweep, "DARE", name) for name in METHODS if name != "DARE"]
    return numbers | {"dare_nearest": min(from_dare) / unit,
                      "dare_loss": loss.sel(how="DARE").item(),
                      "average_loss": loss.sel(how="average").item(),
                      "best_single_loss": sweep.how_loss.min().item(),
                      "best_scaled_loss": sweep.scaled_loss.min().item(),
                      "path_loss": end.sel(rounds=ROUNDS[-1]).item(),
                      "joint_loss": sweep.joint_loss[-1].item()}


def _apart(sweep, a, b):
    """The distance of two merges after the whole budget, or of the pretrained network from one."""
    names = [f"{name} {spent}" for name, spent in zip(sweep.name.values, sweep.point_spent.values)]
    place = names.index(f"{a} {BUDGET if a in METHODS else 0}")
    return float(sweep.distance[place, names.index(f"{b} {BUDGET}")])


EXPERIMENT = Experiment("gradients-rounds", measure, PROFILES, common.digits_source, "MNIST",
                        recipes=lambda settings, seed: [epochs.start(DIGITS, seed), other_start(seed)], claims=claims)
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
