"""What a wider network that random maps made has beyond the size of its weights: beside random matrices of the same
size, and with its first layer alone kept (controls to SAIL, Eq. 8 and F.1)."""
from dataclasses import dataclass

import torch
import xarray
from torch import Generator, Tensor

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.experiment import digits, width
from toy_models import Recipe, abreast, growth, race, zoo
from toy_models.weights import State

PROJECTION, SVD = "projection", "SVD as printed"
NORMS, VALUES = "same norms", "same singular values"
FIRST, REST = "first layer kept", "first layer alone random"
OUTPUTS = "same norms, and as large outputs of the first layer"
# name: (the map, what is replaced)
HOWS = {PROJECTION: (PROJECTION, ""), f"{PROJECTION}, {NORMS}": (PROJECTION, NORMS),
        f"{PROJECTION}, {VALUES}": (PROJECTION, VALUES),
        f"{PROJECTION}, {OUTPUTS}": (PROJECTION, OUTPUTS), f"{PROJECTION}, {FIRST}": (PROJECTION, FIRST),
        f"{PROJECTION}, {REST}": (PROJECTION, REST),
        SVD: (SVD, ""), f"{SVD}, {NORMS}": (SVD, NORMS), f"{SVD}, {VALUES}": (SVD, VALUES)}
_MAPS = {PROJECTION: "projection", SVD: "SVD"}  # as `growth` calls them


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    draws: int  # of the maps and of the controls
    steps: tuple[int, ...] = (0, 20, 100)  # after which the networks are looked at


PROFILES = Profiles(quick=Settings(1), full=Settings(2))


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The network that grows, of 64 units a hidden layer."""
    return width.recipes(settings, seed)[:1]


def control(state: State, replaced: str, seed: int = 0, x: Tensor | None = None) -> State:
    """The network with random tensors in place of its own.

    Args:
        replaced: `NORMS`, all tensors, by Gaussian ones, each as long as the one that it replaces. `VALUES`, the same,
            but a matrix also has the singular values of the one that it replaces. `FIRST`, as `NORMS`, but the first
            layer stays. `REST`, as `NORMS` in the first layer alone, and all others stay. `OUTPUTS`, as `NORMS`, but
            the first layer is multiplied so that its outputs before the ReLU are as large on `x` as those of `state`.
        x: images, (n, inputs), for `OUTPUTS`.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = {key: _drawn(tensor, replaced == VALUES, generator) for key, tensor in state.items()}
    first = {key for key in state if key.startswith("layers.0.")}
    stays = {FIRST: first, REST: state.keys() - first}.get(replaced, set())
    if replaced == OUTPUTS:
        larger = _size_of_outputs(state, x) / _size_of_outputs(drawn, x)
        drawn |= {key: larger * drawn[key] for key in first}
    return {key: tensor if key in stays else drawn[key] for key, tensor in state.items()}


def _size_of_outputs(state, x):
    """The root mean square of the first layer's outputs before the ReLU."""
    weight, bias = (state[f"layers.0.{name}"].double() for name in ("weight", "bias"))
    return (x.double() @ weight.T + bias).square().mean().sqrt().item()


def _drawn(tensor: Tensor, values: bool, generator: Generator) -> Tensor:
    """A Gaussian tensor of the same norm, or a matrix of the same singular values."""
    gaussian = torch.randn(tensor.shape, generator=generator, dtype=torch.float64)
    if values and tensor.ndim > 1:
        left, _, right = torch.linalg.svd(gaussian, full_matrices=False)
        return ((left * torch.linalg.svdvals(tensor.double())) @ right).to(tensor)
    return (gaussian * (tensor.double().norm() / gaussian.norm())).to(tensor)


def starts_of(how: str, seed: int, draws: int) -> list[State]:
    """Networks of 128 units a hidden layer, made in the way `how` from the source of 64, one a draw."""
    source = zoo.get(recipes(None, seed)[0]).state_dict()
    new = {"layer 1": width.LARGE, "layer 2": width.LARGE}
    name, replaced = HOWS[how]
    x, _ = digits.images({"first": width.FIRST, "size": width.SIZE})
    states = []
    for draw in range(draws):
        other = seed + digits.SECOND * draw
        grown = growth.widen(source, new, _MAPS[name], seed=other)
        states.append(control(grown, replaced, other, x) if replaced else grown)
    return states


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Grow 64 units to 128 by random maps, replace what they made by random tensors, and train on with SGD.

    Returns:
        A Dataset over how (`HOWS`), draw and steps, with accuracy on 2,000 test images.
    """
    states = [state for how in HOWS for state in starts_of(how, seed, settings.draws)]
    images = digits.images({"first": width.FIRST, "size": width.SIZE})
    batches = abreast.batches(*images, settings.steps[-1] + 1, digits.BATCH, seed)
    looks = race.of_mlps(states, batches, settings.steps, {"": digits.tested({})}, width.LR[width.SGD],
                         size=digits.BATCH)
    shape = len(HOWS), settings.draws, len(settings.steps)
    return xarray.Dataset({"accuracy": (("how", "draw", "steps"), looks["accuracy"].reshape(shape))},
                          {"how": list(HOWS), "steps": list(settings.steps)},
                          {"images": "8,000 training images that the source did not see, 2,000 test images"})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """SAIL-8: accuracy with random maps and with each control, mean over the draws, and by how much the maps are
    ahead."""
    accuracy = sweep.accuracy.mean("draw")
    names = {"norms": NORMS, "values": VALUES, "first": FIRST, "rest": REST, "outputs": OUTPUTS}
    numbers = {}
    for short, name in (("projection", PROJECTION), ("svd", SVD)):
        for control_name, replaced in names.items():
            if f"{name}, {replaced}" in HOWS:
                for steps in digits.LOOKS:
                    control_has, map_has = (float(accuracy.sel(how=how, steps=steps))
                                            for how in (f"{name}, {replaced}", name))
                    numbers[f"random_{short}_{control_name}_{steps}"] = control_has
                    numbers[f"random_{short}_ahead_{control_name}_{steps}"] = map_has - control_has
    return {"SAIL-8": numbers}


EXPERIMENT = Experiment("sail-random-maps", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLP 196–64–64–10 and 196–128–128–10", claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
