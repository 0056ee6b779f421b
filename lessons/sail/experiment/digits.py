"""What the experiments on small MNIST share: the network, pairs of data sets for two parents, a third for the target,
and what the parents have in common."""
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import torch

import data
from lessons.pretraining.algorithms import matching
from lessons.sail.algorithms import mixing
from toy_models import Architecture, Recipe, abreast, losses, race, zoo
from toy_models.weights import State

WIDTHS = (196, 100, 10)
ARCHITECTURE = Architecture.of("MLP", widths=WIDTHS)
LR, BATCH = 0.1, 64
IMAGES, EPOCHS = 5000, 6  # of every parent: 474 steps
TEST = 2000
STEPS = (0, 50, 100, 200)
LOOKS = (0, 20, 100)  # steps after which the ledger looks at a network of another size; both profiles take them
ONE, TWO, MATCHED, PRETRAINED = "one start", "two starts", "two starts, matched", "one pretraining"
NOTHING = "two random networks"  # the null control: nobody has learned anything
SECOND, THIRD = 1000, 2000  # seeds beside the first parent's


@dataclass(frozen=True)
class Case:
    """Two parents' data and the target's.

    Attributes:
        name: what readers call it.
        first, second, target: options of "small_mnist" for training.
        test: those for testing on the target.
        loss: of the parents.
        epochs: of the parents' training, in units of `EPOCHS`.
    """
    name: str
    first: dict
    second: dict
    target: dict
    test: dict = field(default_factory=dict)
    loss: str = losses.ALL_CLASSES
    epochs: int = 1

    def __hash__(self):
        return hash(self.name)


def _part(number, **options):
    """Five thousand images; parts with different numbers share no image."""
    return {**options, "first": number * IMAGES, "size": IMAGES}


_THIRD = {"size": IMAGES}
THIRDS = Case("thirds by brightness", {"third": "dark", **_THIRD}, {"third": "middle", **_THIRD},
              {"third": "bright", **_THIRD}, {"third": "bright"})
INSIDE = Case("turned by −45° and 45°, target 20°", _part(0, angle=-45.0), _part(1, angle=45.0), _part(2, angle=20.0),
              {"angle": 20.0})
OUTSIDE = Case("turned by −45° and 45°, target 75°", _part(0, angle=-45.0), _part(1, angle=45.0), _part(2, angle=75.0),
               {"angle": 75.0})
_HALF = {"size": 9 * IMAGES // 10}  # these lie among the first ten thousand images, the target's after them
HALVES = Case("digits 0–4 and 5–9, target all", {"classes": tuple(range(5)), **_HALF},
              {"classes": tuple(range(5, 10)), **_HALF}, _part(2))
MASKED_HALVES = Case("digits 0–4 and 5–9, each parent asked among its own", HALVES.first, HALVES.second, HALVES.target,
                     loss=losses.SEEN_CLASSES)
_FASHION = {"of": "fashion_mnist"}
FEWER = {"size": IMAGES // 3}  # of Fashion-MNIST, whose stand-in has no more in a third; three times as often
TO_MNIST = Case("from Fashion-MNIST to MNIST", {**_FASHION, "third": "dark", **FEWER},
                {**_FASHION, "third": "bright", **FEWER}, _part(0), epochs=3)
TO_FASHION = Case("from MNIST to Fashion-MNIST", {"third": "dark", **_THIRD}, {"third": "bright", **_THIRD},
                  _part(0, **_FASHION), _FASHION)
CASES = (THIRDS, INSIDE, OUTSIDE, HALVES, MASKED_HALVES, TO_MNIST, TO_FASHION)


# -- parents ---------------------------------------------------------------------------------------

def recipe(options: dict, seed: int, before: Recipe | None = None, loss: str = losses.ALL_CLASSES,
           epochs: int | None = None, architecture: Architecture = ARCHITECTURE) -> Recipe:
    """A network after so many passes over these images, `EPOCHS` unless told, from random weights or from `before`."""
    epochs = EPOCHS if epochs is None else epochs
    if before:
        return before.finetune(options=options, epochs=epochs, loss=loss)
    return Recipe.on("small_mnist", architecture, options=options, lr=LR, epochs=epochs, batch_size=BATCH, seed=seed,
                     loss=loss)


def recipes_of(case: Case, start: str, seed: int = 0) -> dict[str, Recipe]:
    """{"first", "second", "target"}: the two parents, and a network that learned the target's data, which one lacks in
    practice. From two starts, each of the three networks begins from random weights of its own.
    """
    if start == NOTHING:
        trained = recipes_of(case, TWO, seed)
        return {role: known if role == "target" else recipe(getattr(case, role), known.seed, epochs=0)
                for role, known in trained.items()}
    seeds = {"first": seed, "second": seed, "target": seed}
    before = None
    if start in (TWO, MATCHED):
        seeds |= {"second": seed + SECOND, "target": seed + THIRD}
    elif start == PRETRAINED:
        before = recipe({"first": 3 * IMAGES, "size": IMAGES // 2}, seed, epochs=2)
    recipes = {}
    for role, each in seeds.items():
        loss, epochs = (losses.ALL_CLASSES, 1) if role == "target" else (case.loss, case.epochs)
        recipes[role] = recipe(getattr(case, role), each, before, loss, epochs * EPOCHS)
    return recipes


def networks_of(case: Case, start: str, seed: int = 0, device: str = "auto") -> dict[str, State]:
    """The state dicts of `recipes_of`; matched ones to the first parent."""
    made = recipes_of(case, start, seed)
    states = {role: network.state_dict() for role, network in zip(made, zoo.get_all(list(made.values()), device))}
    if start == MATCHED:
        for role in ("second", "target"):
            states[role] = matched(states["first"], states[role])
    return states


def matched(to: State, state: State) -> State:
    """The network with its units in the order of another one's."""
    plan = matching.mlp_plan(len(state) // 2)
    return matching.permute(state, plan, matching.weight_matching(to, state, plan).permutations)


def random_states(seed: int, count: int) -> list[State]:
    """Networks that have learned nothing."""
    return [zoo.get(recipe({"size": IMAGES}, seed + 100 * (i + 1), epochs=0), progress=False).state_dict()
            for i in range(count)]


# -- data ------------------------------------------------------------------------------------------

@lru_cache(maxsize=32)
def _loaded(split, options):
    dataset = data.load("small_mnist", split, **dict(options))
    return dataset.x.flatten(1).double(), dataset.y


def images(options: dict, split: str = "train") -> tuple[torch.Tensor, torch.Tensor]:
    """x (samples, 196) in float64 and y."""
    return _loaded(split, tuple(sorted(options.items())))


def tested(options: dict) -> tuple[torch.Tensor, torch.Tensor]:
    """x (samples, 196) in float64 and y of 2,000 test images, spread over the set."""
    spread = data.Dataset(*images(options, "test"), source()).spread(TEST)
    return spread.x, spread.y


# -- training --------------------------------------------------------------------------------------

def retrained(states: Sequence[State], case: Case, steps: Sequence[int] = STEPS, lr=LR, seed: int = 0,
              train: tuple[torch.Tensor, torch.Tensor] | None = None) -> dict[str, np.ndarray]:
    """SGD on the target's images from every start, all on the same batches: loss (nats) and accuracy on its test images
    after so many steps, each (starts, steps).

    Args:
        lr: one learning rate, or one a start.
        seed: of the order of images.
        train: other images to train on.
    """
    x, y = train or images(case.target)
    batches = abreast.batches(x, y, steps[-1] + 1, min(BATCH, len(y)), seed)
    return race.of_mlps(states, batches, steps, {"": tested(case.test)}, torch.as_tensor(lr, dtype=torch.float64),
                        size=BATCH)


def along(first: State, second: State, gammas: Sequence[float]) -> list[State]:
    """θ^P for every γ."""
    return [mixing.proximal([first, second], [gamma, 1 - gamma]) for gamma in gammas]


def source() -> data.types.Source:
    """Where the digits come from."""
    return data.source("small_mnist")
