"""Is linearity why merging works? Task vectors of networks and of their tangents (Ortiz-Jimenez, Favero and Frossard
2023), added up on tasks that are alike (Rotated MNIST) and on tasks that are not (Permuted MNIST); and short task
vectors beside them, by λ and by stopping early."""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import xarray

import data
from data.permuted_mnist import permuted
from data.rotated_mnist import rotate
from data.types import Source
from lessons import cast, suites
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms import finetuning
from lessons.linearization.algorithms.finetuning import SGD, Plan
from lessons.linearization.algorithms.networks import Net, Trace
from lessons.merging import search
from toy_models import Recipe, weights, zoo

ROTATED, PERMUTED = "Rotated MNIST", "Permuted MNIST"
FAMILIES = (ROTATED, PERMUTED)
NETWORK, LINEAR = "network", "tangent"
POST_HOC, BACK = "network's τ in the tangent", "tangent's τ in the network"
ARMS = (NETWORK, LINEAR, POST_HOC, BACK)
HELD, TEST = "held-out", "test"
PARTS = (HELD, TEST)
LR = 0.1
PRETRAINING_IMAGES = 12_000  # upright digits, for Permuted MNIST's start; two passes


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    tasks: int  # of each family
    groups: tuple[tuple[tuple[int, ...], ...], ...]  # for each number of merged tasks, which ones
    size: int  # training images of a task
    passes: int  # over them
    lams: tuple[float, ...]  # λ of the short vectors
    stops: tuple[int, ...]  # steps after which early stopping stops
    width: int  # of Permuted MNIST's one inner layer
    held: int  # images of a task that α is chosen on
    test: int  # images of a task that are reported on
    alphas: tuple[float, ...]  # the grid of α

    @property
    def shorts(self) -> list[str]:
        """The arms of short task vectors."""
        return [f"λ = {lam:g}" for lam in self.lams] + [f"{stop} steps" for stop in self.stops]

    @property
    def every_group(self) -> list[tuple[int, ...]]:
        """The tasks of every merge."""
        return [group for groups in self.groups for group in groups]

    @property
    def plan(self) -> Plan:
        """How every task is finetuned."""
        return Plan(SGD, LR, self.passes)


PROFILES = Profiles(
    quick=Settings(4, (((0, 1), (0, 3), (1, 2)), ((0, 1, 2, 3),)), size=1280, passes=3, lams=(0.05, 0.5), stops=(15,),
                   width=100, held=250, test=400, alphas=(0.15, 0.3, 0.45, 0.6, 0.8, 1.0, 1.5, 2.2)),
    full=Settings(8, (((0, 3), (1, 5), (2, 7)), ((0, 2, 4, 6), (1, 3, 5, 7), (0, 1, 4, 5)), (tuple(range(8)),)),
                  size=6000, passes=4, lams=(0.05, 0.2, 1.0), stops=(30, 100), width=100, held=400, test=800,
                  alphas=(0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0, 4.0, 6.0, 9.0, 13.0)))


@dataclass(frozen=True)
class Family:
    """Tasks of one kind: where finetuning starts, the network, and which data sets with which options."""
    base: Recipe
    net: Net
    dataset: str
    options: tuple[dict, ...]
    first: dict


def family(name: str, settings: Settings, seed: int) -> Family:
    """Rotated or Permuted MNIST with so many tasks."""
    numbers = range(1, settings.tasks + 1)
    if name == ROTATED:
        angles = [180.0 * number / settings.tasks for number in numbers]
        return Family(cast.pretrained_mlp(seed), Net((784, 100, 100, 100, 10), "ReLU"), "rotated_mnist",
                      tuple({"angle": angle} for angle in angles), {"first": 0})
    suite = suites.permuted(settings.tasks, seed=seed, size=PRETRAINING_IMAGES, width=settings.width)
    return Family(suite.base, Net((784, settings.width, 10), "ReLU"), "permuted_mnist",
                  tuple({"permutation": number} for number in numbers), {})


def recipes(settings: Settings, seed: int) -> list[Recipe]:
    """The networks where finetuning starts."""
    return [family(name, settings, seed).base for name in FAMILIES]


def source() -> Source:
    """Where the digits come from."""
    return data.source("rotated_mnist", angle=0.0)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over family, arm (those of `ARMS`, then the short vectors, in the network), alpha, part and group,
        accuracy and normalised: the mean over the group's tasks of θ_0 + α·Στ, and of its share of the single
        network's; tasks (group): how many are merged; member (group, task): which;
        and over family, arm: single, the mean accuracy of the single networks at α = 1 on test images; length: the mean
        ‖τ‖; cosine: the mean cosine of two tasks' τ; start (family): of θ_0 on all tasks.
    """
    parts = []
    for name in FAMILIES:
        kind = family(name, settings, seed)
        network = zoo.get_all([kind.base], device)[0]
        theta_0 = weights.flatten(network.state_dict()).double()
        vectors = _trained(kind, settings, theta_0, seed)
        parts.append(_merged(kind, settings, theta_0, vectors).expand_dims(family=[name]))
    sweep = xarray.concat(parts, "family")
    groups = settings.every_group
    sweep["tasks"] = ("group", [len(group) for group in groups])
    sweep["member"] = (("group", "task"), [[task in group for task in range(settings.tasks)] for group in groups])
    images = f"{settings.size:,} training, {settings.held} held-out and {settings.test:,} test images a task"
    examples = [settings.held * len(group) for group in groups]
    return sweep.assign_attrs(images=images, test_images=settings.test, **search.resting_on(*examples))


# -- training --------------------------------------------------------------------------------------

def _trained(family, settings, theta_0, seed):
    """{arm: task vectors (tasks, parameters)} of the network, of the tangent, and the short ones."""
    vectors = {name: [] for name in (NETWORK, LINEAR, *settings.shorts)}
    for number, options in enumerate(family.options):
        task = data.load(family.dataset, "train", **options, **family.first, size=settings.size)
        x, y = task.x.flatten(1).double(), task.y
        plan = Plan(SGD, LR, settings.passes, seed=1000 * number + seed)

        def ends(lam=0.0, linear=False, marks=()):
            return finetuning.finetuned(family.net, theta_0, x, y, plan, lam, linear, marks)  # noqa: B023

        *early, last = ends(marks=settings.stops).values()
        vectors[NETWORK].append(last - theta_0)
        vectors[LINEAR].append(list(ends(linear=True).values())[-1] - theta_0)
        for stop, theta in zip(settings.stops, early):
            vectors[f"{stop} steps"].append(theta - theta_0)
        for lam in settings.lams:
            vectors[f"λ = {lam:g}"].append(list(ends(lam).values())[-1] - theta_0)
    return {name: torch.stack(taus) for name, taus in vectors.items()}


# -- merging ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Tried:
    """A task's images that a merge is tried on, in float32: inputs, labels, and a pass through the network at θ_0."""
    x: torch.Tensor
    y: torch.Tensor
    at_start: Trace


def _tried(family, settings, theta_0):
    """[{part: Tried} of every task]: held-out images are the even-numbered ones of the test part."""
    upright = data.load("rotated_mnist", "test", angle=0.0)
    halves = {}
    for part, first, count in ((HELD, 0, settings.held), (TEST, 1, settings.test)):
        halves[part] = data.Dataset(upright.x[first::2], upright.y[first::2], upright.source).spread(count)
    tried = []
    for options in family.options:
        parts = {}
        for part, half in halves.items():
            x = (rotate(half.x, **options) if "angle" in options else permuted(half.x, **options)).flatten(1)
            parts[part] = Tried(x, half.y, family.net.trace(theta_0.float(), x))
        tried.append(parts)
    return tried


def _merged(family, settings, theta_0, vectors):
    """One family's Dataset."""
    tried = _tried(family, settings, theta_0)
    groups = settings.every_group
    singles = [(number,) for number in range(settings.tasks)]
    names = (*ARMS, *settings.shorts)
    accuracy = np.zeros((len(names), len(settings.alphas), len(PARTS), len(groups)))
    normalised, single = np.zeros_like(accuracy), np.zeros((len(names), settings.tasks))
    lengths, cosines = [], []
    for number, name in enumerate(names):
        answers = _answers(family, theta_0, vectors, name, tried)
        single[number] = [_correct(answers(group, 1.0, task, TEST), tried[task][TEST].y)
                          for task, group in enumerate(singles)]
        for place in np.ndindex(accuracy.shape[1:]):
            alpha, part, group = settings.alphas[place[0]], PARTS[place[1]], groups[place[2]]
            of_tasks = np.array([_correct(answers(group, alpha, task, part), tried[task][part].y) for task in group])
            accuracy[number, *place] = of_tasks.mean()
            normalised[number, *place] = (of_tasks / single[number, list(group)]).mean()
        taus = vectors[_source_of(name)]
        unit = taus / taus.norm(dim=1, keepdim=True)
        lengths.append(taus.norm(dim=1).mean().item())
        cosines.append((unit @ unit.mT)[torch.triu(torch.ones(len(unit), len(unit)), 1).bool()].mean().item())
    dims = ("arm", "alpha", "part", "group")
    start = np.mean([_correct(parts[TEST].at_start.outputs, parts[TEST].y) for parts in tried])
    variables = {"accuracy": (dims, accuracy), "normalised": (dims, normalised), "single": ("arm", single.mean(1)),
                 "length": ("arm", lengths), "cosine": ("arm", cosines), "start": float(start)}
    return xarray.Dataset(variables, {"arm": list(names), "alpha": list(settings.alphas), "part": list(PARTS),
                                      "group": range(len(groups))})


def _source_of(arm):
    """Whose task vectors an arm adds up."""
    return {POST_HOC: NETWORK, BACK: LINEAR}.get(arm, arm)


def _answers(family, theta_0, vectors, arm, tried) -> Callable:
    """(group, α, task, part) -> logits of θ_0 + α·Στ of the group, on that task's images."""
    taus = vectors[_source_of(arm)]
    if arm in (LINEAR, POST_HOC):  # linear in τ: one product a vector and task, and every α is a sum
        moved = [[{part: images.at_start.along(tau) for part, images in parts.items()} for parts in tried]
                 for tau in taus.float()]
        return lambda group, alpha, task, part: (tried[task][part].at_start.outputs
                                                 + alpha * sum(moved[number][task][part] for number in group))
    merged = {}

    def answers(group, alpha, task, part):
        if (group, alpha) not in merged:
            merged.clear()
            merged[group, alpha] = (theta_0 + alpha * taus[list(group)].sum(0)).float()
        return family.net(merged[group, alpha], tried[task][part].x)
    return answers


def _correct(logits, y):
    return (logits.argmax(1) == y).double().mean().item()


# -- what is read off ------------------------------------------------------------------------------

def chosen(sweep: xarray.Dataset) -> xarray.Dataset:
    """Every arm and group at the α that is best on held-out images, (family, arm, group): accuracy and normalised on
    test images, and alpha."""
    alphas = search.best(sweep.accuracy.sel(part=HELD), "alpha")
    return sweep.sel(part=TEST)[["accuracy", "normalised"]].sel(alphas).reset_coords("alpha").drop_vars("part")


def by_count(sweep: xarray.Dataset) -> xarray.Dataset:
    """The same, mean over the groups of so many tasks, (family, arm, count)."""
    best = chosen(sweep)
    counts = sorted(set(sweep.tasks.values.tolist()))
    means = [best.isel(group=np.flatnonzero(sweep.tasks.values == count)).mean("group") for count in counts]
    return xarray.concat(means, xarray.DataArray(counts, dims="count", name="count"))


def images_of(sweep: xarray.Dataset, count: int) -> int:
    """How many different test images the groups of so many tasks are tried on."""
    members = sweep.member.values[sweep.tasks.values == count]
    return int(members.any(0).sum()) * int(sweep.attrs["test_images"])


def lead_at_one_length(sweep: xarray.Dataset, arm: str) -> xarray.DataArray:
    """All tasks merged, (family,): accuracy of `arm` at its best α less that of whole task vectors of about the same
    length in the sum, on test images."""
    best = chosen(sweep).isel(group=-1).sel(arm=arm, drop=True)
    wanted = best.alpha * sweep.length.sel(arm=arm, drop=True) / sweep.length.sel(arm=NETWORK, drop=True)
    nearest = abs(np.log(sweep.alpha / wanted)).idxmin("alpha")
    of_networks = sweep.accuracy.isel(group=-1).sel(arm=NETWORK, part=TEST, drop=True).sel(alpha=nearest)
    return best.accuracy - of_networks.drop_vars("alpha")


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind CTL-19, all tasks of a family merged: {claim: {number: value}}. What each means stands in
    claims.yaml; "stopped" are networks that were stopped early, after the fewest steps."""
    stopped = next(arm for arm in sweep.arm.values if arm.endswith("steps"))
    merged, same, numbers = by_count(sweep).isel(count=-1).accuracy, lead_at_one_length(sweep, stopped), {}
    for name, family in (("turned", ROTATED), ("permuted", PERMUTED)):
        of_arm = {arm: float(merged.sel(family=family, arm=arm)) for arm in (*ARMS, stopped)}
        alone = sweep.single.sel(family=family)
        numbers |= {f"inside_{name}": of_arm[POST_HOC] - of_arm[NETWORK],
                    f"alone_inside_{name}": float(alone.sel(arm=POST_HOC) - alone.sel(arm=NETWORK)),
                    f"merged_over_start_{name}": of_arm[NETWORK] - float(sweep.start.sel(family=family)),
                    f"tangents_{name}": of_arm[LINEAR] - of_arm[NETWORK],
                    f"stopped_{name}": of_arm[stopped] - of_arm[NETWORK],
                    f"back_{name}": of_arm[BACK] - of_arm[LINEAR],
                    f"as_long_{name}": float(same.sel(family=family))}
    return {"CTL-19": numbers}


EXPERIMENT = Experiment("linearization-merging", measure, PROFILES, source, "MNIST", recipes=recipes,
                        network="MLPs 784–100–100–100–10 and 784–100–10", claims=claims,
                        ledger={"full": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
shown = EXPERIMENT.shown  # in quick the differences are mostly noise
