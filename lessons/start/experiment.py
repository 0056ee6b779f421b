"""Two networks that learned two turned spirals, from one pretrained start or as strangers; and what this machine has
and can do."""
import itertools
import platform
import time

import torch
import xarray

import data
from data.threads import cores
from lessons import cast
from lessons.kit.experiment import estimate
from lessons.kit.profiles import Profiles
from lessons.start import algorithms
from toy_models import MLP, Architecture, Recipe, training, weights, zoo

ARCHITECTURE = Architecture.of("MLP", widths=(2, 32, 32, 2))
ANGLES = {"i": 45.0, "upright": 0.0, "j": -45.0}
STARTS = ("one pretrained start", "two random starts")
ALPHAS = tuple(round(i / 20, 2) for i in range(21))
SECONDS_OF_CHAPTER_1 = Profiles(quick=35, full=80)  # rough, on 2 cores, nothing kept


# -- the networks ----------------------------------------------------------------------------------

def recipes(seed: int = 0) -> dict[str, tuple[Recipe, Recipe]]:
    """{start: (recipe of θ_i, of θ_j)}: 400 full-batch steps on the upright spirals, then 200 on the spirals turned by
    45° for θ_i, by −45° for θ_j.

    All four have the same lessons. From "one pretrained start" the two have the first 400 steps in common; "two random
    starts" have them each for itself.
    """
    shared, own_i, own_j = map(_upright, (seed, seed + 1000, seed + 2000))
    return {STARTS[0]: (_turned(shared, "i"), _turned(shared, "j")),
            STARTS[1]: (_turned(own_i, "i"), _turned(own_j, "j"))}


def _upright(seed):
    return Recipe.on("spirals", ARCHITECTURE, options={"angle": 0.0}, lr=5e-3, epochs=400, batch_size=None,
                     optimiser="adam", seed=seed)


def _turned(upright, which):
    return upright.finetune(options={"angle": ANGLES[which]}, epochs=200)


def ends(seed: int = 0, device: str = "auto") -> dict[str, tuple[MLP, MLP]]:
    """{start: (θ_i, θ_j)}, trained now (seconds) if they are not in the zoo."""
    made = recipes(seed)
    networks = iter(zoo.get_all(list(itertools.chain(*made.values())), device))
    return {start: (next(networks), next(networks)) for start in made}


def after_the_shared_steps(seed: int = 0, device: str = "auto") -> MLP:
    """The network from which both of the pair with "one pretrained start" went on: after 400 upright steps."""
    return zoo.get(recipes(seed)[STARTS[0]][0].parent, device)


def between(pair: tuple[MLP, MLP], alpha: float) -> MLP:
    """The network with weights α·θ_i + (1 − α)·θ_j."""
    network_i, network_j = pair
    return MLP.from_state(weights.interpolate(network_i.state_dict(), network_j.state_dict(), alpha))


def run(networks: dict[str, tuple[MLP, MLP]]) -> xarray.Dataset:
    """Accuracy of the interpolated networks: accuracy (start, alpha, task), tasks "i", "upright" and "j"."""
    tests = [data.load("spirals", "test", angle=angle) for angle in ANGLES.values()]
    accuracy = []
    for pair in networks.values():
        along = [between(pair, alpha) for alpha in ALPHAS]
        accuracy.append([[algorithms.accuracy(network(test.x), test.y) for test in tests] for network in along])
    return xarray.Dataset({"accuracy": (("start", "alpha", "task"), accuracy)},
                          coords={"start": list(networks), "alpha": list(ALPHAS), "task": list(ANGLES)},
                          attrs={"source": tests[1].source.text})


# -- this machine ----------------------------------------------------------------------------------

def matrix_product_rate(size: int = 1024, repeats: int = 5, device: str = "auto") -> float:
    """Floating-point operations a second of the product of two size × size float32 matrices; the best of some
    repeats."""
    a, b = torch.rand(2, size, size, device=training.resolve(device))
    a @ b
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        (a @ b).sum().item()  # .item() waits for a GPU
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def look_around(profile: str = "quick", device: str = "auto") -> dict[str, str]:
    """What the course found here: {"data": …, "device": …, "speed": …, "chapter 1": …, "versions": …}, each a sentence
    or two.

    Raises:
        ValueError: there is no such profile.
    """
    seconds = SECONDS_OF_CHAPTER_1[profile]
    return {"data": str(data.source("mnist")),
            "device": _name_of(training.resolve(device)),
            "speed": _speed(matrix_product_rate(device=device)),
            "chapter 1": f"profile {profile}: {estimate(cast.all_linearity_mlps(), seconds, 'models')}",
            "versions": f"Python {platform.python_version()}, torch {torch.__version__}"}


def _name_of(device):
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' * (threads > 1)} on {cores()} cores"


def _speed(rate):
    epoch = 6 * 99_710 * 60_000 / rate  # parameters of chapter 1's MLP, images of MNIST; measured: 2 to 4 times this
    return (f"{rate / 1e9:.0f} billion operations a second in matrix products; a pass over the digits of chapter 1 "
            f"takes about {3 * epoch:.1f} s")
