"""The loss on the plane of two principal components, and the way that the merged weights take from rank 0 to full rank
(CART, Fig. 5, 11 and 12)."""
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray

from lessons.cart.algorithms.plane import Plane
from lessons.cart.algorithms.spectra import Spectra, shifted
from lessons.cart.experiment import bell
from lessons.cart.experiment.grid import first_layer
from lessons.kit.profiles import Profiles
from toy_models import training, weights

LAMS = (0.5, 1.0, 2.0, 3.0, 4.0)
MARGIN = 0.25  # of the span of the points, around them
PLANES = ("of the finetuned networks", "of the path")


@dataclass(frozen=True)
class Settings:
    """How fine a map is (points a side), and how many test images a task it is measured on."""
    points: int
    images: int


PROFILES = Profiles(quick=Settings(13, 50), full=Settings(25, 400))


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """CART on the tasks with all pixels permuted, looked at in two planes through the average: of the principal
    components of the finetuned networks, and of those of the path, θ_avg + Σ SVD_k(τ̄_t) for all k.

    Returns:
        A Dataset with
        loss (plane: 2, task, row, column): mean cross-entropy (nats) at the plane's points y (plane, row) and x (plane,
        column); path (plane, rank, axis: 2): where θ_avg + Σ SVD_k(τ̄_t) comes to lie in the plane; another λ moves it
        λ times as far from the centre; inside (plane, rank): the share of its squared distance from the average that
        lies in it; away (rank): that distance; path_loss (rank, lam, task): the loss of θ_avg + λ·Σ SVD_k(τ̄_t), which
        is another one than that of the plane's point; tuned (plane, task, axis), start (plane, axis): where θ_t and θ₀
        lie; explained (plane, axis): shares of the variance; tuned_away (task).
    """
    bell_settings, settings, suite = bell.PROFILES[profile], PROFILES[profile], bell.permuted(profile, seed)
    return bell.kept("cart-plane", {"": suite}, {"bell": asdict(bell_settings), "plane": asdict(settings)}, lambda: measure(suite.load(device, settings.images), settings, bell_settings.ranks)
                     .assign_attrs(bell.attributes(profile, seed, suite) | {"images": f"{settings.images} test images a task"}))


@training.one_thread()
def measure(loaded, settings: Settings, ranks) -> xarray.Dataset:
    """`run` without the cache."""
    spectra, images = Spectra(loaded.base, loaded.finetuned), loaded.images_of("test")
    x, y = torch.cat([x for x, _ in images]), torch.cat([y for _, y in images])
    path = [shifted(spectra.origin, spectra.totals(rank), 1.0) for rank in ranks]
    planes = (Plane(loaded.finetuned), Plane(path, spectra.origin))
    away, tuned_away = ([weights.norm(weights.subtract(state, spectra.origin)) for state in states] for states in (path, loaded.finetuned))
    losses = [[_losses(F.linear(F.relu(start + lam * step), *(spectra.origin[key] + lam * totals[key] for key in ("layers.1.weight", "layers.1.bias"))), y, len(images))
               for lam in LAMS] for totals, start, step in first_layer(spectra, x, ranks)]
    sets = {"path_loss": (("rank", "lam", "task"), losses), "away": ("rank", away), "tuned_away": ("task", tuned_away)}
    drawn = xarray.concat([_drawn(plane, path, loaded, settings.points, x, y) for plane in planes], xarray.DataArray(list(PLANES), dims="plane", name="plane"))
    return xarray.merge([drawn, xarray.Dataset(sets, {"lam": list(LAMS), "rank": list(ranks), "task": list(range(len(images)))})])


def _drawn(plane, path, loaded, points, x, y):
    """What `run` gives with a dimension `plane`, of one plane."""
    tuned, start, places = torch.stack([plane.place(state) for state in loaded.finetuned]), plane.place(loaded.base), torch.stack([plane.place(state) for state in path])
    shown = torch.cat([tuned, start[None], max(LAMS) * places])
    columns, rows = (_axis(shown[:, axis], points) for axis in (0, 1))
    return xarray.Dataset({"loss": (("task", "row", "column"), on_the_plane(plane, x, y, len(tuned), columns, rows)), "x": ("column", columns), "y": ("row", rows),
                           "path": (("rank", "axis"), places.numpy()), "inside": ("rank", [plane.inside(state) for state in path]),
                           "tuned": (("task", "axis"), tuned.numpy()), "start": ("axis", start.numpy()), "explained": ("axis", plane.explained.numpy())})


def on_the_plane(plane: Plane, x, y, tasks: int, columns, rows) -> np.ndarray:
    """The loss on every task at every point of the plane, (tasks, rows, columns), of MLPs with one hidden layer: what
    its first layer holds before the ReLU is linear in the coordinates."""
    corners = [plane.at(torch.tensor(place)) for place in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))]
    before = [F.linear(x.flatten(1), state["layers.0.weight"], state["layers.0.bias"]) for state in corners]
    out = [(state["layers.1.weight"], state["layers.1.bias"]) for state in corners]

    def at(parts, a, b):
        return parts[0] + a * (parts[1] - parts[0]) + b * (parts[2] - parts[0])

    found = [[_losses(F.linear(F.relu(at(before, a, b)), *(at(parts, a, b) for parts in zip(*out))), y, tasks) for a in columns] for b in rows]
    return np.moveaxis(np.array(found), 2, 0)


def _losses(logits, y, tasks):
    return F.cross_entropy(logits, y, reduction="none").view(tasks, -1).mean(1).tolist()


def _axis(values, points):
    low, high = values.min().item(), values.max().item()
    margin = MARGIN * (high - low)
    return np.linspace(low - margin, high + margin, points)
