"""Networks that make points of noise, mixed and trained on (SAIL, app. J, asks of diffusion transformers whether a head
start helps; its own experiment mixes no weights). Flow matching on Spirals, measured by its loss and by how far the
points that come out are from real ones."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray

import data
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.pretraining.algorithms import matching
from lessons.sail.algorithms import distances, mixing
from toy_models import Architecture, Recipe, VelocityNetwork, losses, race, zoo
from toy_models.weights import State

ARCHITECTURE = Architecture.of("VelocityNetwork", hidden=(64, 64))
LR, BATCH, EPOCHS = 2e-3, 250, 400  # of the parents: 800 steps on 500 points
STEPS = (0, 50, 200, 800)
HALVES, ARMS = "a half of the points each", "one arm each"
ONE, TWO, MATCHED = "one start", "two starts", "two starts, matched"
PAIRS = ((HALVES, ONE), (HALVES, TWO), (HALVES, MATCHED), (ARMS, ONE))
SHARES = (0.0, 0.5, 1.0)
RANDOM = "random"
EULER, POINTS = 50, 500
BANDWIDTH = 0.2


@dataclass(frozen=True)
class Settings:
    """After how many steps the networks are looked at."""
    steps: tuple[int, ...] = STEPS


PROFILES = Profiles(quick=None, full=Settings())


def recipes_of(pair: tuple[str, str], seed: int = 0) -> list[Recipe]:
    """The two parents of a pair, before they are matched."""
    parents, start = pair
    parts = ({"size": 500}, {"first": 500, "size": 500}) if parents == HALVES else ({"arm": 0}, {"arm": 1})
    seeds = (seed, seed if start == ONE else seed + 1000)
    return [_recipe(part, each) for part, each in zip(parts, seeds)]


def _recipe(options, seed, epochs=EPOCHS):
    return Recipe.on("spirals", ARCHITECTURE, options=options, lr=LR, epochs=epochs, batch_size=BATCH,
                     optimiser="adam", seed=seed, loss=losses.FLOW_MATCHING)


def all_recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network that the zoo keeps."""
    return [recipe for pair in PAIRS for recipe in recipes_of(pair, seed)] + [_recipe({}, seed + 2000, epochs=0)]


def starts_of(seed: int, device: str = "auto") -> dict[tuple[str, float], State]:
    """{(pair, share of the first parent): a network}, and one that learned nothing."""
    states = {}
    for pair in PAIRS:
        first, second = (network.state_dict() for network in zoo.get_all(recipes_of(pair, seed), device))
        if pair[1] == MATCHED:
            plan = matching.mlp_plan(3)
            second = matching.permute(second, plan, matching.weight_matching(first, second, plan).permutations)
        for share in SHARES:
            states["; ".join(pair), share] = mixing.proximal([first, second], [share, 1 - share])
    states[RANDOM, 0.5] = zoo.get(_recipe({}, seed + 2000, epochs=0)).state_dict()
    return states


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train on all points from every start.

    Returns:
        A Dataset over pair, share (0, ½, 1; of the network that learned nothing the middle one alone) and steps with
        loss, of flow matching on 1,000 test points, and mmd, the squared distance of 500 points made in 50 Euler steps
        from 1,000 test points, without bias; own_mmd: between two samples of real points.
    """
    zoo.get_all(all_recipes(settings, seed), device)
    train, test = (data.load("spirals", part).x.double() for part in ("train", "test"))
    pairs = ["; ".join(pair) for pair in PAIRS] + [RANDOM]
    shape = (len(pairs), len(SHARES), len(settings.steps))
    scores = {name: np.full(shape, np.nan) for name in ("loss", "mmd")}
    for (pair, share), state in starts_of(seed, device).items():
        place = pairs.index(pair), SHARES.index(share)
        for name, looks in _trained(state, train, test, settings.steps, seed).items():
            scores[name][place] = looks
    values = {name: (("pair", "share", "steps"), array) for name, array in scores.items()}
    kernel = distances.gaussian(BANDWIDTH)
    values["own_mmd"] = distances.squared_mmd(train[:POINTS], test, kernel)
    coords = {"pair": pairs, "share": list(SHARES), "steps": list(settings.steps)}
    return xarray.Dataset(values, coords, {"images": "1,000 training and 1,000 test points"})


def _trained(state, train, test, steps, seed):
    """Loss and MMD² after so many steps of Adam."""
    network = VelocityNetwork((64, 64)).double()
    network.load_state_dict(state)
    optimiser = torch.optim.Adam(network.parameters(), lr=LR)
    drawn = torch.Generator().manual_seed(seed)
    inputs_tested, wanted = losses.flow(test.repeat(4, 1), torch.Generator().manual_seed(1))
    noise = torch.randn(POINTS, 2, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    kernel = distances.gaussian(BANDWIDTH)

    def step():
        batch = train[torch.randint(len(train), (BATCH,), generator=drawn)]
        inputs, velocity = losses.flow(batch, drawn)
        optimiser.zero_grad()
        F.mse_loss(network(inputs), velocity).backward()
        optimiser.step()

    @torch.no_grad()
    def scores():
        return {"loss": F.mse_loss(network(inputs_tested), wanted).item(),
                "mmd": distances.squared_mmd(network.sample(noise, EULER), test, kernel)}

    return race.looks(step, steps, scores)


def claims(sweep: xarray.Dataset | None) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-13: {claim: {number: value}}. What each means stands in claims.yaml;
    empty where it was not measured."""
    return {} if sweep is None else {"SAIL-13": claim_13(sweep)}


def claim_13(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-13: flow-matching loss of the average in units of a random start's, at once and after 50 and 800 steps, and
    over that of the better parent alone; by what the parents share. And how far the points are that the average of
    parents with one arm each makes, over those of the better parent."""
    loss = sweep.loss
    random = loss.sel(pair=RANDOM, share=0.5)
    numbers = {}
    for name, pair in (("one", PAIRS[0]), ("two", PAIRS[1]), ("matched", PAIRS[2]), ("arms", PAIRS[3])):
        part = loss.sel(pair="; ".join(pair))
        half, parent = part.sel(share=0.5), part.sel(share=[0.0, 1.0]).min("share")
        for steps in (0, 50, 800):
            numbers[f"{name}_over_random_{steps}"] = float(half.sel(steps=steps) / random.sel(steps=steps))
            numbers[f"{name}_over_parent_{steps}"] = float(half.sel(steps=steps) / parent.sel(steps=steps))
    points = sweep.mmd.sel(pair="; ".join(PAIRS[3]))
    for steps in (0, 50):
        better = points.sel(share=[0.0, 1.0], steps=steps).min()
        numbers[f"arms_points_{steps}"] = float(points.sel(share=0.5, steps=steps) / better)
    return numbers


def source() -> data.types.Source:
    """Where the points come from."""
    return data.source("spirals")


EXPERIMENT = Experiment("sail-flow", measure, PROFILES, source, "Spirals", recipes=all_recipes,
                        network="velocity network 3–64–64–2", claims=claims,
                        ledger={"full": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
