"""A small GPT on speeches: parents that read an early and a middle third of them, mixed, go on with the late third; and
one of them grown in width and in depth (SAIL's GPT-2 and OLMo experiments, in small)."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.algorithms import mixing
from toy_models import Architecture, Recipe, growth, losses, race, zoo
from toy_models.weights import State

WIDTH, HEADS, BLOCKS, CONTEXT = 32, 4, 2, 32
CHARACTERS = len(data.speeches.CHARACTERS)
LR, BATCH, EPOCHS = 3e-3, 32, 2
STEPS = (0, 20, 50, 100, 200)
ONE, TWO, RUN = "one start", "two starts", "one run"
SHARES = (0.0, 0.5, 1.0)
TEST = 400  # pieces
SECOND = 1000
GROWN = {"parent as it is": (WIDTH, BLOCKS, None),
         "deeper, silent": (WIDTH, 2 * BLOCKS, ("deepen", "silent", {})),
         "deeper, stacking": (WIDTH, 2 * BLOCKS, ("deepen", "stacking", {})),
         "deeper, interpolation": (WIDTH, 2 * BLOCKS, ("deepen", "interpolation", {})),
         "deeper, interpolation, rows sum to ½": (WIDTH, 2 * BLOCKS, ("deepen", "interpolation", {"row_sum": 0.5})),
         "deeper, equal shares": (WIDTH, 2 * BLOCKS, ("deepen", "equal shares", {})),
         "deeper, scratch": (WIDTH, 2 * BLOCKS, None),
         "wider, Net2Wider": (2 * WIDTH, BLOCKS, ("widen", "Net2Wider", {"shares": "drawn"})),
         "wider, interpolation": (2 * WIDTH, BLOCKS, ("widen", "interpolation", {})),
         "wider, scratch": (2 * WIDTH, BLOCKS, None)}


@dataclass(frozen=True)
class Settings:
    """After how many steps the networks are looked at."""
    steps: tuple[int, ...] = STEPS


PROFILES = Profiles(quick=None, full=Settings())


def architecture(width: int = WIDTH, blocks: int = BLOCKS) -> Architecture:
    """A GPT of this size; heads of eight units each."""
    return Architecture.of("CharacterGPT", characters=CHARACTERS, width=width, heads=HEADS * width // WIDTH,
                           blocks=blocks, context=CONTEXT)


def parent(third: str, seed: int = 0, epochs: int = EPOCHS) -> Recipe:
    """A GPT that read one third of the speeches."""
    return Recipe.on("speeches", architecture(), options={"third": third, "context": CONTEXT}, lr=LR, epochs=epochs,
                     batch_size=BATCH, optimiser="adam", seed=seed, loss=losses.NEXT_CHARACTER)


def parents_of(start: str, seed: int = 0) -> tuple[Recipe, Recipe]:
    """The two parents; from one run they are its last two epochs on the middle third."""
    if start == RUN:
        return parent("middle", seed, EPOCHS - 1), parent("middle", seed)
    return parent("early", seed), parent("middle", seed if start == ONE else seed + SECOND)


def all_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network that the zoo keeps."""
    return [recipe for start in (ONE, TWO, RUN) for recipe in parents_of(start, seed)]


def fresh(size: tuple[int, int], seed: int) -> State:
    """A GPT of (width, blocks) that read nothing."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + 2 * SECOND)
        return architecture(*size).build().state_dict()


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Mix, grow, and read on in the late third.

    Returns:
        A Dataset with loss (start, share, steps), in nats a character on test pieces of the late third, from
        γ·(first parent) + (1 − γ)·(second); grown (how, steps): the same of the second parent, grown; random (steps).
    """
    zoo.get_all(all_recipes(settings, seed), device)
    sets = [data.load("speeches", part, third="late", context=CONTEXT) for part in ("train", "test")]
    mixed = np.full((3, len(SHARES), len(settings.steps)), np.nan)
    for place, start in enumerate((ONE, TWO, RUN)):
        first, second = (zoo.get(recipe).state_dict() for recipe in parents_of(start, seed))
        for i, share in enumerate(SHARES):
            state = mixing.proximal([first, second], [share, 1 - share])
            mixed[place, i] = _trained(state, (WIDTH, BLOCKS), sets, settings.steps, seed)
    near = zoo.get(parent("middle", seed)).state_dict()
    grown = [_trained(_grown(near, how, seed), GROWN[how][:2], sets, settings.steps, seed) for how in GROWN]
    random = _trained(fresh((WIDTH, BLOCKS), seed), (WIDTH, BLOCKS), sets, settings.steps, seed)
    return xarray.Dataset({"loss": (("start", "share", "steps"), mixed), "grown": (("how", "steps"), np.array(grown)),
                           "random": ("steps", random)},
                          {"start": [ONE, TWO, RUN], "share": list(SHARES), "how": list(GROWN),
                           "steps": list(settings.steps)},
                          {"images": f"{len(sets[0]):,} training and {TEST} test pieces of 32 characters"})


def _grown(state, how, seed):
    width, blocks, transform = GROWN[how]
    if how.endswith("scratch"):
        return fresh((width, blocks), seed)
    if transform is None:
        return state
    axis, name, parameters = transform
    if axis == "deepen":
        return growth.deepen(state, blocks, name, **parameters)
    return growth.widen(state, growth.times(state, 2), name, **parameters)


def _trained(state: State, size: tuple[int, int], sets, steps: Sequence[int], seed: int) -> np.ndarray:
    """The test loss after so many steps of Adam, in float32: these networks are too large to be trained twice as
    exactly twenty times."""
    network = architecture(*size).build()
    network.load_state_dict(state)
    optimiser = torch.optim.Adam(network.parameters(), lr=LR)
    train, test = sets
    order = torch.Generator().manual_seed(seed)
    pieces = test.spread(TEST)

    def loss(x, y):
        return F.cross_entropy(network(x).flatten(0, 1), y.flatten())

    def step():
        batch = torch.randint(len(train), (BATCH,), generator=order)
        optimiser.zero_grad()
        loss(train.x[batch], train.y[batch]).backward()
        optimiser.step()

    @torch.no_grad()
    def scores():
        return {"loss": loss(pieces.x, pieces.y).item()}

    return race.looks(step, steps, scores)["loss"]


def claims(sweep: xarray.Dataset | None) -> dict[str, dict[str, float]]:
    """What the GPT has to say to SAIL-6 and SAIL-9: {claim: {number: value}}; empty where it was not
    measured."""
    return {} if sweep is None else {"SAIL-6": claim_6(sweep), "SAIL-9": claim_9(sweep)}


def claim_6(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-6 on text: the rise half-way over the mean of both ends, at once and at the end, from two starts and from
    one."""
    numbers = {}
    for name, start in (("one", ONE), ("two", TWO), ("run", RUN)):
        part = sweep.loss.sel(start=start)
        rise = part.sel(share=0.5) - part.sel(share=[0.0, 1.0]).mean("share")
        numbers |= {f"gpt_{name}_0": float(rise.isel(steps=0)), f"gpt_{name}_end": float(rise.isel(steps=-1))}
    return numbers


def claim_9(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-9 on text: the loss at once and at the end of a GPT grown in depth, over that of the parent as it is."""
    numbers = {}
    names = {"silent": "deeper, silent", "stacking": "deeper, stacking", "interpolation": "deeper, interpolation",
             "half": "deeper, interpolation, rows sum to ½", "equal": "deeper, equal shares",
             "scratch": "deeper, scratch", "wider": "wider, Net2Wider", "wider_interpolation": "wider, interpolation"}
    parent = sweep.grown.sel(how="parent as it is")
    for name, how in names.items():
        over = sweep.grown.sel(how=how) - parent
        numbers |= {f"gpt_{name}_0": float(over.isel(steps=0)), f"gpt_{name}_end": float(over.isel(steps=-1))}
    return numbers


def source() -> data.types.Source:
    """Where the speeches come from."""
    return data.source("speeches")


EXPERIMENT = Experiment("sail-gpt", measure, PROFILES, source, "the speeches", recipes=all_recipes,
                        network="GPT of width 32, 2 blocks", claims=claims,
                        ledger={"full": tuple(range(6))})
run = EXPERIMENT.run
