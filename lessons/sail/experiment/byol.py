"""Networks that learned without labels (SAIL, Fig. 3, 5 and 6, BYOL), mixed and trained on: how many images their
features tell apart, by the nearest neighbours."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.algorithms import mixing
from toy_models import BYOL, Architecture, Recipe, batchnorm, losses, race, training, zoo
from toy_models.weights import State

WIDTH = 8
ARCHITECTURE = Architecture.of("BYOL", width=WIDTH)
LR, BATCH, IMAGES, EPOCHS = 1e-3, 120, 1200, 16  # of the parents: 160 steps. The stand-in has 5,000 images
STEPS = (0, 40, 120)
NEIGHBOURS, LABELLED, TEST = 10, 1400, 1000
SCRATCH, FIRST, SECOND, ONE, TWO = "scratch", "parent 1", "parent 2", "γ = ½, one start", "γ = ½, two starts"
STARTS = (SCRATCH, FIRST, SECOND, ONE, TWO)
STRANGER = 1000


@dataclass(frozen=True)
class Settings:
    """After how many steps the networks are looked at."""
    steps: tuple[int, ...] = STEPS


PROFILES = Profiles(quick=None, full=Settings())


def recipe(part: int, seed: int, epochs: int = EPOCHS) -> Recipe:
    """A network after so many passes over 1,200 pictures of clothes, without labels."""
    options = {"of": "fashion_mnist", "first": part * IMAGES, "size": IMAGES}
    return Recipe.on("small_mnist", ARCHITECTURE, options=options, lr=LR, epochs=epochs, batch_size=BATCH,
                     optimiser="adam", seed=seed, loss=losses.TWO_VIEWS)


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Two parents from one start, the second once more from another, and a network that learned nothing."""
    return [recipe(0, seed), recipe(1, seed), recipe(1, seed + STRANGER), recipe(2, seed + 2 * STRANGER, epochs=0)]


def starts(seed: int, device: str = "auto") -> dict[str, State]:
    """{name: where training on the third part begins}."""
    first, second, stranger, nothing = (network.state_dict() for network in zoo.get_all(recipes(None, seed), device))
    return {SCRATCH: nothing, FIRST: first, SECOND: second, ONE: mixing.proximal([first, second], [0.5, 0.5]),
            TWO: mixing.proximal([first, stranger], [0.5, 0.5])}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train on, without labels, from every start.

    Returns:
        A Dataset over start and steps with accuracy, the share of 1,000 test images whose class is that of most of the
        ten nearest among 1,400 labelled ones, by the cosine of the encoder's features; loss, BYOL's on the last batch.
    """
    looks = [_trained(state, settings.steps, seed, device) for state in starts(seed, device).values()]
    return xarray.Dataset({name: (("start", "steps"), np.array([look[name] for look in looks])) for name in looks[0]},
                          {"start": list(STARTS), "steps": list(settings.steps)},
                          {"images": "1,200 images without labels; 1,400 labelled ones and 1,000 test images"})


def _trained(state, steps, seed, device):
    """Accuracy by neighbours, and loss, after so many steps."""
    device = training.resolve(device)
    network = BYOL(WIDTH)
    network.load_state_dict(state)
    network.to(device).train()
    step = training.stepper(network, recipe(2, seed), torch.arange(10))
    train = data.load("small_mnist", "train", of="fashion_mnist", first=2 * IMAGES, size=IMAGES)
    order = torch.Generator().manual_seed(seed)

    def once():
        batch = torch.randint(len(train), (BATCH,), generator=order)
        step(train.x[batch].to(device), train.y[batch])

    @torch.no_grad()
    def scores():
        accuracy = by_neighbours(network)
        views = network.compare_views(train.x[:500].to(device), torch.Generator().manual_seed(0))  # the target follows
        return {"accuracy": accuracy, "loss": losses.unlike(*views).item()}

    return race.looks(once, steps, scores)


@torch.no_grad()
def by_neighbours(network: BYOL) -> float:
    """The share of test images whose class most of the nearest labelled ones have; BatchNorm's statistics are estimated
    on these."""
    sets = [data.load("small_mnist", part, of="fashion_mnist", **options)
            for part, options in (("train", {"first": 3 * IMAGES, "size": LABELLED}), ("test", {"size": TEST}))]
    device = next(network.parameters()).device
    ready = batchnorm.reestimated(network, sets[0].x.to(device))
    known, tested = (F.normalize(ready(dataset.x.to(device)).float().cpu(), dim=1) for dataset in sets)
    nearest = (tested @ known.T).topk(NEIGHBOURS, dim=1).indices
    votes = F.one_hot(sets[0].y[nearest], 10).sum(1)
    return (votes.argmax(1) == sets[1].y).double().mean().item()


def claims(sweep: xarray.Dataset | None) -> dict[str, dict[str, float]]:
    """What BYOL has to say to SAIL-12: {claim: {number: value}}; empty where it was not
    measured."""
    return {} if sweep is None else {"SAIL-12": claim_12(sweep)}


def claim_12(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-12, BYOL: accuracy by neighbours before and after the target's steps, from scratch, from the better parent,
    and from mixtures."""
    last = sweep.accuracy.isel(steps=-1)
    parent = last.sel(start=[FIRST, SECOND]).max().item()
    return {"byol_scratch_0": float(sweep.accuracy.sel(start=SCRATCH, steps=0)),
            "byol_scratch": float(last.sel(start=SCRATCH)), "byol_parent": parent,
            "byol_parent_over_random": parent - float(sweep.accuracy.sel(start=SCRATCH, steps=0)),
            "byol_half": float(last.sel(start=ONE)), "byol_strangers": float(last.sel(start=TWO)),
            "byol_half_over_parent": float(last.sel(start=ONE)) - parent,
            "byol_half_over_scratch": float(last.sel(start=ONE) - last.sel(start=SCRATCH))}


def source() -> data.types.Source:
    """Where the pictures come from."""
    return data.source("small_mnist", of="fashion_mnist")


EXPERIMENT = Experiment("sail-byol", measure, PROFILES, source, "Fashion-MNIST", recipes=recipes, one_thread=False,
                        network="BYOL of width 8", claims=claims, ledger={"full": tuple(range(6))})
run = EXPERIMENT.run
