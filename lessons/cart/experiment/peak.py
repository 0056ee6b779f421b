"""Where the bell peaks, direction by direction: sets of permuted tasks that differ in one thing (the number of tasks,
of digits, of outputs, of units or of training images), with the output layer cut as every layer is and left whole.
"""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

import data
from data.permuted_mnist import permuted
from lessons.cart.algorithms import parts, planted
from lessons.cart.algorithms.spectra import Spectra
from lessons.cart.experiment import bell, grid
from lessons.cart.experiment.grid import FIRST, HOWS
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.merging import search
from lessons.suites import share_correct
from toy_models import MLP, training
from toy_models.weights import State

HEADS = ("output layer cut like the others", "output layer whole")
LAMS = (0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)
SECONDS = {"quick": 60, "full": 300}  # rough, on 2 cores
LR, BATCH = 0.1, 64  # as the networks of the bell are trained
PRETRAINING_EPOCHS = 2
Images = list[tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Case:
    """One set of tasks."""
    digits: int = 10  # only images of the first so many digits
    outputs: int = 10  # of the network; the label is the digit modulo this number
    num_tasks: int = 4  # how many permutations
    width: int = bell.WIDTH  # of the one hidden layer
    size: int = 10_000  # training images a task
    epochs: int = 1  # of finetuning


@dataclass(frozen=True)
class Scaling:
    """What is done to every pixel, (pixel − shift) / spread, and the learning rate of pretraining and finetuning."""
    shift: float = 0.0
    spread: float = 1.0
    lr: float = LR

    def of(self, x: Tensor) -> Tensor:
        """The images, scaled."""
        return (x - self.shift) / self.spread


FEW_DIGITS = "5 digits, 5 outputs"
USUAL = "10 digits, 4 tasks"
MANY_IMAGES = "60,000 images"
CASES = {USUAL: Case(),
         "3 tasks": Case(num_tasks=3),
         "8 tasks": Case(num_tasks=8),
         FEW_DIGITS: Case(digits=5, outputs=5),
         "5 digits, 10 outputs": Case(digits=5),
         "10 digits, 5 outputs": Case(outputs=5),
         MANY_IMAGES: Case(size=60_000)}
MORE_CASES = {"6 tasks": Case(num_tasks=6),
              "5 digits, 8 tasks": Case(digits=5, outputs=5, num_tasks=8),
              "200 units": Case(width=200),
              "800 units": Case(width=800),
              "60,000 images, 4 epochs": Case(size=60_000, epochs=4)}


@dataclass(frozen=True)
class Settings:
    """The cases, by what a reader calls them, and how many test images a task and part are looked at."""
    cases: dict[str, Case]
    images: int
    directions: tuple[int, ...] = grid.DIRECTIONS


PROFILES = Profiles(quick=Settings(CASES, images=400), full=Settings(CASES | MORE_CASES, images=1000))


@dataclass(frozen=True)
class Trained:
    """The networks of a case, and what they are judged on."""
    base: State  # θ₀
    finetuned: list[State]  # θ_1 … θ_T
    held_out: Images  # (images, labels) of every task
    test: Images  # as many of each

    def own(self) -> float:
        """The mean accuracy of the tasks' own networks."""
        answers = [MLP.from_state(state)(x) for state, (x, _) in zip(self.finetuned, self.test)]
        return float(np.mean([share_correct(logits, y) for logits, (_, y) in zip(answers, self.test)]))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Every case.

    Returns:
        A Dataset with
        accuracy (case, head: 2, how: 2, rank): mean over tasks, on test images, each with the λ that is best on
        held-out images; lam: that λ;
        own, average (case): of the tasks' own networks, and of the average;
        sigma (case, how, direction): the singular values of layer 1, mean over tasks;
        rule, large (case): what exercise 8.5 predicts, and how many singular values of τ_t are large (`parts.large`),
        means over tasks;
        brought, taken (case, rank): `parts.let_through` of layer 1;
        columns, rows (case): `parts.shared` of the large directions;
        images (case): how many the accuracies are a share of.
        A rank is a number of directions in layer 1, and the last one all of them.
    """
    by_name = {name: measured(networks(case, seed, settings.images), case.width, settings.directions)
               for name, case in settings.cases.items()}
    return joined(by_name, settings.images, [case.num_tasks for case in settings.cases.values()])


def joined(by_name: Mapping[str, xarray.Dataset], images: int, num_tasks: Sequence[int]) -> xarray.Dataset:
    """Cases, each as `measured` gives it, in one Dataset with what captions say of them.

    Args:
        by_name: {what a reader calls the case: its Dataset}.
        images: test images a task and part.
        num_tasks: of every case.
    """
    digits = bell.source()
    names = xarray.DataArray(list(by_name), dims="case", name="case")
    return xarray.concat(by_name.values(), names).assign_attrs(
        source=digits.text, source_kind=digits.kind, network=f"MLP 784–{bell.WIDTH}–10",
        images=f"10,000 training and {images:,} test images a task, unless the case says otherwise",
        test_images=images, directions=1, **search.resting_on(*(images * count for count in num_tasks)))


def networks(case: Case, seed: int = 0, images: int = 400, scaling: Scaling = Scaling()) -> Trained:
    """Trained now, in float64, with the seeds of `lessons.suites.permuted`: no recipe says that digits are left out or
    share a label, or that pixels are scaled."""
    x, y = _labelled(case, "train")
    x = scaling.of(x[:case.size])
    y = y[:case.size]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        start = MLP((784, case.width, case.outputs)).double()
    base = _trained(start, x, y, PRETRAINING_EPOCHS, seed, scaling.lr).state_dict()
    finetuned = []
    for number in range(1, case.num_tasks + 1):
        network = _trained(training.for_training(base), permuted(x, number), y, case.epochs, 1000 * number + seed,
                           scaling.lr)
        finetuned.append(training.as_stored(network))
    judged = [[(scaling.of(x), y) for x, y in _test_images(case, part, images)] for part in (0, 1)]
    return Trained({key: tensor.float() for key, tensor in base.items()}, finetuned, *judged)


def _labelled(case, split):
    """The images and labels of the case's digits, pixels in their places."""
    dataset = data.load("mnist", split)
    wanted = dataset.y < case.digits
    return dataset.x[wanted], dataset.y[wanted] % case.outputs


def _trained(network, x, y, epochs, seed, lr):
    order = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for batch in torch.randperm(len(x), generator=order).split(BATCH):
            network.sgd_step(x[batch].flatten(1).double(), y[batch], lr)
    return network


def _test_images(case, first, images):
    """Every second test image from the first or second on, spread evenly, permuted as each task has them."""
    x, y = _labelled(case, "test")
    half = data.Dataset(x[first::2], y[first::2], data.source("mnist")).spread(images)
    return [(permuted(half.x, number), half.y) for number in range(1, case.num_tasks + 1)]


# -- what is measured of one case ------------------------------------------------------------------

def measured(trained: Trained, width: int, directions: Sequence[int] = grid.DIRECTIONS) -> xarray.Dataset:
    """What `measure` gives of one case."""
    both = [Spectra(trained.base, trained.finetuned, centre) for centre in (True, False)]
    plain = both[1]
    ranks = grid.shares(width, directions)
    curves = np.array([_best_of_lams(trained, spectra, ranks) for spectra in both])
    sigmas = plain.singular_values(FIRST)
    large = float(np.mean([parts.large(sigma) for sigma in sigmas]))
    vectors = plain.matrices[FIRST]
    brought, taken = ([part[min(count, len(part) - 1)].item() for count in directions] + [part[-1].item()]
                      for part in parts.let_through(vectors, min(vectors.shape[1:])))
    columns, rows = parts.shared(vectors, round(large))
    average = [share_correct(MLP.from_state(both[0].origin)(x), y) for x, y in trained.test]
    rule = [planted.predicted_rank(sigma, len(sigmas)) for sigma in sigmas]
    sets = {"accuracy": (("how", "head", "rank"), curves[:, 0]),
            "lam": (("how", "head", "rank"), curves[:, 1]),
            "own": trained.own(),
            "average": float(np.mean(average)),
            "sigma": (("how", "direction"), np.array([grid.spectrum(spectra) for spectra in both])),
            "rule": float(np.mean(rule)),
            "large": large,
            "brought": ("rank", brought),
            "taken": ("rank", taken),
            "columns": columns,
            "rows": rows,
            "images": sum(len(y) for _, y in trained.test)}
    counts = [*map(float, directions), float(bell.WIDTH)]
    return xarray.Dataset(sets, {"how": list(HOWS), "head": list(HEADS), "rank": counts,
                                 "direction": list(range(1, grid.SPECTRUM + 1))})


def _best_of_lams(trained, spectra, ranks):
    """The mean test accuracy at every rank with the λ that is best on held-out images, and that λ,
    (2, heads, ranks)."""
    accuracy = xarray.DataArray(over_heads(spectra, [trained.held_out, trained.test], ranks),
                                dims=("part", "head", "rank", "lam"), coords={"lam": list(LAMS)})
    best = search.best(accuracy[0], "lam")
    return accuracy[1].sel(best).values, best["lam"].values


@torch.no_grad()
def over_heads(spectra: Spectra, parts_of_images: Sequence[Images], ranks: Sequence[float],
               lams: Sequence[float] = LAMS) -> np.ndarray:
    """The mean accuracy of origin + λ·Σ SVD_k(τ_t) of MLPs with one hidden layer, (parts, heads, ranks, lams): with the
    output layer's task vectors cut to the same share, and whole."""
    x = torch.cat([x for images in parts_of_images for x, _ in images])
    y = torch.cat([y for images in parts_of_images for _, y in images])
    whole = spectra.total("layers.1.weight", 1.0).float()
    accuracies = np.empty((len(parts_of_images), len(HEADS), len(ranks), len(lams)))
    for row, (totals, start, step) in enumerate(grid.first_layer(spectra, x, ranks)):
        heads = (totals["layers.1.weight"], whole)
        for column, lam in enumerate(lams):
            hidden = F.relu(start + lam * step)
            bias = grid.at(spectra.origin, totals, lam, "layers.1.bias")
            for which, head in enumerate(heads):
                logits = F.linear(hidden, spectra.origin["layers.1.weight"] + lam * head, bias)
                right = (logits.argmax(1) == y).double()
                accuracies[:, which, row, column] = right.view(len(parts_of_images), -1).mean(1)
    return accuracies


PEAK = Experiment("cart-peak", measure, PROFILES, bell.source, "MNIST")
run = PEAK.run
