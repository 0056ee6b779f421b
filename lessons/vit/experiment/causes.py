"""What makes the gap of the small ViT small: its architecture, or how far its networks went? MLPs learn the same eight
tasks in the same way, with ReLU's kinks, without them, and with a residual stream as well; so does a ViT whose places
read the same from each other whatever the image; and task vectors are made longer and shorter, whole and in parts."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import nn

import toy_models
from lessons.kit.experiment import Experiment
from lessons.linearity.algorithms import along, means
from lessons.suites import Loaded, Suite
from lessons.vit.experiment import lines, setting
from lessons.vit.experiment.setting import FIRST, PAIRS, Settings, in_threads
from toy_models import Architecture, Recipe, zoo
from toy_models.weights import State, norm, subtract

VIT, ATTENTION, MLPS, BACK, MLP = "ViT", "ViT, attention alone", "ViT, MLPs alone", "ViT, added or taken away", "MLP"
SMOOTH, RESIDUAL, FIXED = "MLP with GELU", "residual MLP with GELU", "ViT, fixed reading"
KINDS = (VIT, ATTENTION, MLPS, BACK, MLP, SMOOTH, RESIDUAL, FIXED)
LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # of task vectors, in units of their own
EQUAL = (0.05, 0.2)  # own distances at which they are compared
WIDTHS = (784, 128, 128, 128, 128, 20)  # of the MLPs: as many hidden layers as the ViT has blocks


class SmoothMLP(toy_models.MLP):
    """`MLP` with a GELU where that has a ReLU."""

    def features(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """As `MLP.features`."""
        h = x.flatten(1)
        features = {}
        for name, layer in zip(self.layer_names, self.layers):
            h = features[name] = layer(h) if name == "output" else self.after(h, F.gelu(layer(h)))
        return features

    def after(self, before: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        """What a layer hands on."""
        return added


class ResidualSmoothMLP(SmoothMLP):
    """The same, where every layer but the first adds to what it gets."""

    def after(self, before: torch.Tensor, added: torch.Tensor) -> torch.Tensor:
        """What a layer hands on."""
        return before + added if before.shape == added.shape else added


class FixedReading(nn.Module):
    """In place of attention: how much a place reads from which other is a table for each head, learned, and the same
    for all images. There is no q and no k."""

    def __init__(self, width: int, heads: int, places: int):
        super().__init__()
        self.table = nn.Parameter(torch.zeros(heads, places, places, dtype=torch.float64))
        self.v, self.out = (nn.Linear(width, width, dtype=torch.float64) for _ in range(2))

    def forward(self, h: torch.Tensor, is_read: None = None) -> torch.Tensor:
        """What all heads read, put together again: (samples, places, width) as h. Every place is read."""
        v = self.v(h).unflatten(-1, (len(self.table), -1)).transpose(1, 2)
        return self.out((self.table.softmax(-1) @ v).transpose(1, 2).flatten(2))


class FixedViT(toy_models.TinyViT):
    """`TinyViT` with `FixedReading` where that has attention."""

    def __init__(self, width: int = 64, depth: int = 4, heads: int = 4, *rest):
        super().__init__(width, depth, heads, *rest)
        for block in self.blocks:
            block.attention = FixedReading(width, heads, len(self.position))
        self.float()

    @classmethod
    def from_state(cls, state: State) -> "FixedViT":
        """As `TinyViT.from_state`; the tables tell how many heads there are."""
        return super().from_state(state, len(state["blocks.0.attention.table"]))


NETWORKS = {MLP: toy_models.MLP, SMOOTH: SmoothMLP, RESIDUAL: ResidualSmoothMLP, FIXED: FixedViT}


@dataclass(frozen=True)
class Control(Architecture):
    """The architecture of a network that no other chapter has."""

    def build(self) -> nn.Module:
        """A network of it with torch's default initialisation."""
        return NETWORKS[self.name](**dict(self.arguments))


class OfControls(Loaded):
    """The networks of one of the controls' suites."""

    def complete(self, merged: State, statistics_of=None) -> nn.Module:
        """A network that can answer."""
        return type(self.network).from_state(merged)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The first width of the ViT, and the controls.

    Returns:
        A Dataset with
        gap, own (kind: 8, length): half-way between θ₀ + lτ_i and θ₀ + lτ_j, in a ViT's last block or an MLP's last
        hidden layer, mean over pairs and test images of both tasks. "Alone": τ without all else. "Added or taken away":
        half-way between θ₀ + lτ_t and θ₀ − lτ_t, which is θ₀, on the task's images;
        relative (kind): ‖τ‖/‖θ₀‖, mean over tasks;
        single, average, base (network: 5): accuracy on test images, mean over tasks.
    """
    vit = setting.load(settings, seed, settings.widths[0], device)
    controls = {kind: load(settings, seed, kind, device) for kind in NETWORKS}
    parts = {VIT: (vit, vit.finetuned), ATTENTION: (vit, only(vit, "attention")), MLPS: (vit, only(vit, "mlp")),
             BACK: (vit, vit.finetuned)} | {kind: (loaded, loaded.finetuned) for kind, loaded in controls.items()}
    gaps, owns, relative = [], [], []
    for kind, (loaded, finetuned) in parts.items():
        gap, own = of_lengths(loaded, finetuned, settings.features, back=kind == BACK)
        gaps.append(gap)
        owns.append(own)
        relative.append(np.mean([norm(subtract(state, loaded.base)) for state in finetuned]) / norm(loaded.base))
    every = {VIT: vit} | controls
    accuracies = {name: ("network", [value(loaded) for loaded in every.values()]) for name, value in ACCURACIES.items()}
    return xarray.Dataset({"gap": (("kind", "length"), np.array(gaps)), "own": (("kind", "length"), np.array(owns)),
                           "relative": ("kind", relative), **accuracies},
                          {"kind": list(KINDS), "length": list(LENGTHS), "network": list(every)},
                          {"images": f"{settings.features} test images a task for features, {settings.images} for "
                                     "accuracies", "test_images": len(vit.finetuned) * settings.images})


ACCURACIES = {"single": lambda loaded: loaded.own().mean(), "base": lambda loaded: loaded.accuracy(loaded.base).mean(),
              "average": lambda loaded: loaded.accuracy(lines.merge("average", loaded.base, loaded.finetuned)).mean()}


def of_lengths(loaded: Loaded, finetuned: list[State], images: int,
               back: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Gap and own distance, each (lengths,), in the last layer before the class token or the answers."""
    x = [x[:images] for x, _ in loaded.test]
    layer = last_hidden(loaded)

    def at(length):
        if back:
            ends = [[lines.longer(loaded.base, state, sign * length) for sign in (1, -1)] for state in finetuned]
            rows = [between(loaded, two, loaded.base, some, layer) for two, some in zip(ends, x)]
        else:
            long = [lines.longer(loaded.base, state, length) for state in finetuned]
            rows = [between(loaded, (long[i], long[j]), None, torch.cat([x[i], x[j]]), layer) for i, j in PAIRS]
        return np.mean(rows, 0)

    gap, own = np.stack(in_threads(at, LENGTHS), 1)
    return gap, own


def between(loaded: Loaded, ends: Sequence[State], middle: State | None, x: torch.Tensor,
            layer: str) -> tuple[float, float]:
    """Gap half-way and own distance of two networks in one layer, mean over images; `middle`, where it is known, are
    the weights half-way."""
    def features(state, x):
        return {layer: lines.features(loaded, state, x)[layer]}

    line = along(features, *ends, (0.5,), parts=(x,), ends=tuple(ends), summary=means,
                 network=lambda state, alpha: state if middle is None else middle)
    return line.gap_mean.item(), line.own_mean.item()


def only(loaded: Loaded, part: str) -> list[State]:
    """θ₀ with a task's own weights where their name has this part, for every task."""
    return [{key: state[key] if part in key else tensor for key, tensor in loaded.base.items()}
            for state in loaded.finetuned]


def last_hidden(loaded: Loaded) -> str:
    """The name of a ViT's last block, or of an MLP's last hidden layer."""
    names = loaded.network.layer_names
    return [name for name in names if name not in ("pooled", "output")][-1]


def of_control(settings: Settings, seed: int = 0, kind: str = MLP) -> Suite:
    """The suite of the ViT, learned by a control: the same images, passes, optimiser, schedule and frozen head."""
    vits = setting.suite(settings, seed)
    if kind == FIXED:
        architecture = Control(FIXED, vits.base.architecture.arguments)
        base = replace(vits.base, architecture=architecture)
        recipes = {task: replace(recipe, architecture=architecture, parent=base)
                   for task, recipe in vits.recipes.items()}
        return Suite(f"eight altered tasks, {FIXED}", base, recipes, choices=vits.choices)
    plain = Architecture.of("MLP", widths=WIDTHS)
    architecture = plain if kind == MLP else Control(kind, plain.arguments)
    base = Recipe.on("medley", architecture, lr=vits.base.lr, epochs=vits.base.epochs, batch_size=vits.base.batch_size,
                     optimiser=vits.base.optimiser, seed=seed, schedule=vits.base.schedule)
    head = f"layers.{len(WIDTHS) - 2}."
    recipes = {task: replace(recipe, architecture=architecture, parent=base, frozen=(head,))
               for task, recipe in vits.recipes.items()}
    return Suite(f"eight altered tasks, {kind}", base, recipes, choices=vits.choices)


def load(settings: Settings, seed: int, kind: str, device: str = "auto") -> Loaded:
    """The networks of a control's suite."""
    suite = of_control(settings, seed, kind)
    base, *finetuned = zoo.get_all(suite.all_recipes, device)
    return OfControls(suite, base, finetuned, settings.images)


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """Every network of all architectures."""
    of_vit = setting.suite(settings, seed).all_recipes
    return of_vit + [recipe for kind in NETWORKS for recipe in of_control(settings, seed, kind).all_recipes]


def share_at(sweep: xarray.Dataset, kind: str, by: str, value: float) -> float:
    """Gap over own distance where the own distance, or the relative length, has this value: between two measured
    lengths on a straight line of logarithms; NaN outside of what was measured.

    Args:
        by: "own" or "relative".
    """
    of_kind = sweep.sel(kind=kind)
    places = of_kind.own.values if by == "own" else of_kind.length.values * float(of_kind.relative)
    rising = np.concatenate([[True], np.diff(np.maximum.accumulate(places)) > 0])
    share = (of_kind.gap / of_kind.own).values
    return float(np.exp(np.interp(np.log(value), np.log(places[rising]), np.log(share[rising]), np.nan, np.nan)))


EXPERIMENT = Experiment("vit-causes", measure, setting.of_width(FIRST), setting.source, setting.DATASET,
                        recipes=recipes, network=f"TinyViTs of width {FIRST} and MLPs of 4 × {WIDTHS[1]}")
run = EXPERIMENT.run
