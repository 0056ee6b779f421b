"""The same network with more layers: mixtures of layers, copies, layers that do nothing yet, and controls that know
nothing (SAIL, Eq. 9 and F.2)."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import nn

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.experiment import digits
from lessons.sail.experiment.digits import BATCH, LR
from toy_models import Architecture, Recipe, abreast, growth, race, zoo
from toy_models.weights import State

WIDTH, OLD, NEW = 64, 2, 4
PLAIN, RESIDUAL = "plain", "residual"
FIRST, SIZE = 10_000, 8000  # as for widths
STEPS = (0, 5, 10, 20, 50, 100, 200, 300)
MAP_STEPS, MAP_LR = 100, 0.1
SUMS = (0.25, 0.5, 0.75, 1.0, 1.25)  # of the rows of D
SCRATCH, HE_SCRATCH, SOFTMAX = "scratch", "scratch, He scale", "softmax, learned"
STARTS = {"silent": ("silent", {}),
          "stacking": ("stacking", {}),
          "interpolation": ("interpolation", {}),
          "equal shares": ("equal shares", {}),
          "interpolation, shuffled": ("shuffled", {}),
          "ends alone": ("ends alone", {}),
          "random middle, He scale": ("fresh middle", {}),
          "random middle": ("fresh middle", {"scale": "torch"})}
QUICK = ("silent", "stacking", "interpolation", "interpolation, shuffled", "ends alone", "random middle, He scale")


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    starts: tuple[str, ...]  # those that are tried; () for all
    sums: tuple[float, ...]  # of the rows of D, for interpolation
    steps: tuple[int, ...]  # after which the networks are looked at


PROFILES = Profiles(quick=Settings(QUICK, (0.25, 0.5, 0.75, 1.0), (0, 10, 20, 50, 100)), full=Settings((), SUMS, STEPS))


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The two sources: a plain MLP and a residual one."""
    return [_source(kind, seed) for kind in (PLAIN, RESIDUAL)]


def source(kind: str, seed: int = 0) -> State:
    """The trained network of two layers that is to become deeper."""
    return zoo.get(_source(kind, seed)).state_dict()


def outputs(state: State, blocks: int) -> torch.Tensor:
    """What a residual network with so many blocks gives for 2,000 test images, in float64."""
    network = architecture(RESIDUAL, blocks).build().double()
    network.load_state_dict(state)
    return network(digits.tested({})[0]).detach()


def _source(kind, seed):
    return digits.recipe({"size": FIRST}, seed, epochs=4, architecture=architecture(kind, OLD))


def architecture(kind: str, layers: int) -> Architecture:
    """A plain MLP with so many square layers after its first, or a residual one with so many blocks."""
    if kind == PLAIN:
        return Architecture.of("MLP", widths=(196, *[WIDTH] * (layers + 1), 10))
    return Architecture.of("ResidualMLP", inputs=196, width=WIDTH, blocks=layers, outputs=10)


def network_of(kind: str, state: State) -> nn.Module:
    """The network with these weights, in float64; copies."""
    network = architecture(kind, NEW).build().double()
    network.load_state_dict(state)
    return network


def starts_of(kind: str, seed: int, settings: Settings) -> dict[str, State]:
    """{name: a network of four layers}."""
    trained = source(kind, seed)
    states = {SCRATCH: _fresh(kind, seed)}
    for name, (how, parameters) in STARTS.items():
        if settings.starts and name not in settings.starts:
            continue
        sums = settings.sums if name == "interpolation" else (1.0,)
        seeded = {"seed": seed} if how in ("shuffled", "fresh middle") else {}
        for row_sum in sums:
            summed = {"row_sum": row_sum} if name == "interpolation" else {}
            states[name if row_sum == 1 else f"{name}, rows sum to {row_sum:g}"] = growth.deepen(
                trained, NEW, how, **parameters, **seeded, **summed)
    if not settings.starts:
        states[HE_SCRATCH] = _he(_fresh(kind, seed), seed)
        states[SOFTMAX] = learned_shares(kind, trained, seed)
    return states


def _fresh(kind, seed):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + digits.SECOND)
        return architecture(kind, NEW).build().state_dict()


def _he(state, seed):
    """Every matrix drawn with variance 2/inputs, every bias 0."""
    generator = torch.Generator().manual_seed(seed)
    return {key: torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(tensor)
            * (2 / tensor.shape[1]) ** 0.5 if tensor.ndim > 1 else torch.zeros_like(tensor)
            for key, tensor in state.items()}


def _images():
    return digits.images({"first": FIRST, "size": SIZE})


def learned_shares(kind: str, source: State, seed: int) -> State:
    """Layers mixed by rows of a softmax, whose logits were trained for 100 steps of Adam on the target's images, from
    equal shares on (SAIL, F.2)."""
    logits = torch.zeros(NEW, OLD, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([logits], lr=MAP_LR)
    network = architecture(kind, NEW).build().double()
    layers = growth.depth.stack_of({key: tensor.double() for key, tensor in source.items()})
    rest = growth.deepen({key: tensor.double() for key, tensor in source.items()}, NEW, "equal shares")
    for x, y in abreast.batches(*_images(), MAP_STEPS, BATCH, seed + 1):
        optimiser.zero_grad()
        mixed = [{name: sum(share * layer[name] for share, layer in zip(row, layers)) for name in layers[0]}
                 for row in logits.softmax(1)]
        state = growth.depth.with_stack(rest, mixed)
        F.cross_entropy(torch.func.functional_call(network, state, (x,)), y).backward()
        optimiser.step()
    return growth.depth.mixed(source, logits.detach().softmax(1))


# -- measuring -------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Deepen two networks from two layers to four, and train on with SGD.

    Returns:
        A Dataset over network ("plain", "residual"), start and steps with loss (nats) and accuracy on 2,000 test
        images; source (network): the source's accuracy.
    """
    sources = zoo.get_all(recipes(settings, seed), device)
    test = digits.tested({})
    batches = abreast.batches(*_images(), settings.steps[-1], BATCH, seed)
    parts = []
    for kind in (PLAIN, RESIDUAL):
        starts = starts_of(kind, seed, settings)
        looks = [_trained(kind, state, batches, settings.steps, test) for state in starts.values()]
        values = {name: (("start", "steps"), np.array([part[name] for part in looks])) for name in looks[0]}
        part = xarray.Dataset(values, {"start": list(starts), "steps": list(settings.steps)})
        parts.append(part.expand_dims(network=[kind]))
    accuracies = [_scores(network.double(), *test)["accuracy"] for network in sources]
    return xarray.concat(parts, "network").assign(source=("network", accuracies)).assign_attrs(
        images="8,000 training images that the source did not see, 2,000 test images")


def _trained(kind, state, batches, steps, test):
    """Loss and accuracy after so many steps of SGD; not a number where training diverged."""
    network = network_of(kind, state)
    upcoming = iter(batches)
    return race.looks(lambda: _step(network, *next(upcoming)), steps, lambda: _scores(network, *test))


def _step(network, x, y):
    """One step of SGD."""
    if hasattr(network, "sgd_step"):
        network.sgd_step(x, y, LR)
        return
    optimiser = torch.optim.SGD(network.parameters(), lr=LR)  # it remembers nothing from step to step
    optimiser.zero_grad()
    F.cross_entropy(network(x), y).backward()
    optimiser.step()


@torch.no_grad()
def _scores(network, x, y):
    """Loss (nats) and accuracy."""
    logits = network(x)
    return {"loss": F.cross_entropy(logits, y).item(), "accuracy": (logits.argmax(1) == y).double().mean().item()}


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind SAIL-9: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"SAIL-9": claim_9(sweep)}


def claim_9(sweep: xarray.Dataset) -> dict[str, float]:
    """SAIL-9: the loss at once, and the accuracy after twenty and after a hundred steps, of every start in both
    networks."""
    names = {"silent": "silent", "stacking": "stacking", "interpolation": "interpolation", "equal": "equal shares",
             "shuffled": "interpolation, shuffled", "ends": "ends alone", "he": "random middle, He scale",
             "half": "interpolation, rows sum to 0.5", "softmax": SOFTMAX, "scratch": SCRATCH}
    numbers = {}
    for network in (PLAIN, RESIDUAL):
        for name, start in names.items():
            if start in sweep.start.values:
                part = sweep.sel(network=network, start=start)
                at_once, *later = digits.LOOKS
                numbers[f"{network}_{name}_{at_once}"] = float(part.loss.sel(steps=at_once))
                numbers |= {f"{network}_{name}_{steps}": float(part.accuracy.sel(steps=steps)) for steps in later}
    return numbers


EXPERIMENT = Experiment("sail-depth", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLPs of width 64, plain and residual", claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
