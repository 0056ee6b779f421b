"""How far CTL reaches beyond turned digits: clothes (Fashion-MNIST) that are turned, and digits with clothes.

Network, training and measurement are those of `mlp`; a pair's tasks alone are others.
"""
from dataclasses import dataclass

import torch
import xarray

import data
from lessons import cast
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity import algorithms
from lessons.lines.numbers import SHOWN_ALPHAS
from toy_models import MLP, Recipe, zoo

PAIRS = {  # (family, one task, the other); a task is what is shown and by what angle it is turned
    "digits 22.5° and 45°": ("digits", ("digits", 22.5), ("digits", 45.0)),
    "digits 22.5° and 90°": ("digits", ("digits", 22.5), ("digits", 90.0)),
    "digits 45° and 90°": ("digits", ("digits", 45.0), ("digits", 90.0)),
    "clothes 22.5° and 45°": ("clothes", ("clothes", 22.5), ("clothes", 45.0)),
    "clothes 22.5° and 90°": ("clothes", ("clothes", 22.5), ("clothes", 90.0)),
    "clothes 45° and 90°": ("clothes", ("clothes", 45.0), ("clothes", 90.0)),
    "digits 22.5° and clothes": ("digits and clothes", ("digits", 22.5), ("clothes", 0.0)),
    "digits 45° and clothes": ("digits and clothes", ("digits", 45.0), ("clothes", 0.0)),
}
DATASETS = {"digits": "rotated_mnist", "clothes": "fashion_mnist"}


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    test_images: int  # per task


PROFILES = Profiles(quick=Settings(test_images=2000), full=Settings(test_images=10_000))


def source() -> data.types.Source:
    """Where the clothes come from; `mlp` says it of the digits."""
    return data.source("fashion_mnist")


def recipes(seed: int = 0) -> dict[str, dict[tuple[str, float], Recipe]]:
    """{family: {task: recipe}}: one epoch on what the family is pretrained on, upright, then one on the task. Digits
    with clothes start from digits."""
    digits = cast.pretrained_mlp(seed)
    clothes = Recipe.on("fashion_mnist", cast.MLP_100, lr=digits.lr, epochs=_passes("clothes"), batch_size=64,
                        seed=seed)
    start = {"digits": digits, "clothes": clothes, "digits and clothes": digits}
    made = {}
    for family, *tasks in PAIRS.values():
        of_family = made.setdefault(family, {})
        for task in tasks:
            shown, angle = task
            options = {"angle": angle} if angle else {}
            of_family[task] = start[family].finetune(DATASETS[shown], options=options, epochs=_passes(shown))
    return made


def _passes(shown):
    """One epoch; the stand-ins are smaller, and take more passes for as many steps."""
    if shown == "digits":
        return cast.passes()
    return 12 if source().is_stand_in else 1


def all_recipes(settings: Settings | None = None, seed: int = 0) -> list[Recipe]:
    """Every network of the experiment, once each, parents first."""
    finetuned = [recipe for of_family in recipes(seed).values() for recipe in of_family.values()]
    return list(dict.fromkeys([recipe.parent for recipe in finetuned] + finetuned))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The gap and the ends' own distance of every pair.

    Returns:
        A Dataset over pair (8), alpha (3) and layer (4) with gap_mean (pair, alpha, layer) and own_mean (pair, layer),
        over the test images of both tasks; coef_mean (pair, alpha, layer), likewise; distance (pair): ‖θ_i − θ_j‖;
        accuracy (pair, end): of either end on its own task; and the coordinate family (pair).
    """
    made = recipes(seed)
    zoo.get_all(all_recipes(seed=seed), device)
    rows = []
    for family, *tasks in PAIRS.values():
        networks = zoo.get_all([made[family][task] for task in tasks], device)
        tests = [_test_set(*task, settings.test_images) for task in tasks]
        x = torch.cat([x for x, _ in tests])
        states = [network.state_dict() for network in networks]
        line = algorithms.along(MLP.features, *states, SHOWN_ALPHAS, parts=(x,), summary=algorithms.means,
                                network=lambda state, alpha: MLP.from_state(state))
        accuracy = [algorithms.evaluate(network(x), y)[1] for network, (x, y) in zip(networks, tests)]
        rows.append(line.assign(accuracy=("end", accuracy)).assign_coords(end=["i", "j"]))
    sweep = xarray.concat(rows, xarray.DataArray(list(PAIRS), dims="pair", name="pair"))
    families = [family for family, *_ in PAIRS.values()]
    sweep = sweep.assign_coords(family=("pair", families))
    return sweep.assign_attrs(images=f"{2 * settings.test_images:,} test images a pair")


def _test_set(shown, angle, size):
    dataset = data.load(DATASETS[shown], "test", **({"angle": angle} if angle else {}))
    return dataset.x[:size], dataset.y[:size]


def shares(sweep: xarray.Dataset) -> dict[str, float]:
    """The largest gap as a share of the ends' own distance, over pairs, layers and α, for every family."""
    share = (sweep.gap_mean / sweep.own_mean).max(["alpha", "layer"])
    return {f"share_{family.replace(' ', '_')}": share.sel(pair=sweep.family == family).max().item()
            for family in dict.fromkeys(sweep.family.values.tolist())}


ELSEWHERE = Experiment("elsewhere", measure, PROFILES, source, "Fashion-MNIST", recipes=all_recipes, one_thread=False)
run = ELSEWHERE.run
