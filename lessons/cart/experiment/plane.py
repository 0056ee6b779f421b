"""The loss on the plane of two principal components, and the way that the merged weights take from rank 0 to full rank
(CART, Fig. 5, 11 and 12)."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

from lessons.cart.algorithms.plane import Plane
from lessons.cart.algorithms.spectra import Spectra, shifted
from lessons.cart.experiment import bell, grid
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.suites import Loaded
from toy_models import weights
from toy_models.weights import State

LAMS = (0.5, 1.0, 2.0, 3.0, 4.0)
MARGIN = 0.25  # of the span of the points, around them
PLANES = ("of the finetuned networks", "of the path")


@dataclass(frozen=True)
class Settings:
    """The networks of the bell, how fine a map is (points a side), and how many test images a task it is measured
    on."""
    bell: bell.Settings
    points: int
    images: int


PROFILES = Profiles(quick=Settings(bell.PROFILES["quick"], points=13, images=100),
                    full=Settings(bell.PROFILES["full"], points=25, images=400))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """CART on the tasks with all pixels permuted, looked at in two planes through the average: of the principal
    components of the finetuned networks, and of those of the path, θ_avg + Σ SVD_k(τ̄_t) for all k.

    Returns:
        A Dataset with
        loss (plane: 2, task, row, column): mean cross-entropy (nats) at the plane's points y (plane, row) and x (plane,
        column);
        path (plane, rank, axis: 2): where θ_avg + Σ SVD_k(τ̄_t) comes to lie in the plane; another λ moves it λ times
        as far from the centre;
        inside (plane, rank): the share of its squared distance from the average that lies in it;
        away (rank): that distance;
        path_loss (rank, lam, task): the loss of θ_avg + λ·Σ SVD_k(τ̄_t), which is another one than that of the plane's
        point;
        tuned (plane, task, axis), start (plane, axis): where θ_t and θ₀ lie;
        explained (plane, axis): shares of the variance;
        tuned_away (task).
    """
    suite = bell.permuted(settings.bell, seed)
    loaded = suite.load(device, settings.images)
    ranks = settings.bell.ranks
    spectra = Spectra(loaded.base, loaded.finetuned)
    path = [shifted(spectra.origin, spectra.totals(rank), 1.0) for rank in ranks]
    planes = (Plane(loaded.finetuned), Plane(path, spectra.origin))
    names = xarray.DataArray(list(PLANES), dims="plane", name="plane")
    drawn = xarray.concat([_drawn(plane, path, loaded, settings.points) for plane in planes], names)
    sets = {"path_loss": (("rank", "lam", "task"), along(spectra, ranks, loaded)),
            "away": ("rank", _distances(path, spectra.origin)),
            "tuned_away": ("task", _distances(loaded.finetuned, spectra.origin))}
    tasks = list(range(len(suite.tasks)))
    way = xarray.Dataset(sets, {"lam": list(LAMS), "rank": list(ranks), "task": tasks})
    said = bell.about(suite, settings.bell.size, settings.images)
    return xarray.merge([drawn, way]).assign_attrs(said | {"images": f"{settings.images} test images a task",
                                                           "directions": bell.WIDTH})


def along(spectra: Spectra, ranks: Sequence[float], loaded: Loaded) -> list:
    """The loss on every task of θ_avg + λ·Σ SVD_k(τ̄_t), [ranks][lams][tasks], of MLPs with one hidden layer."""
    x, y, tasks = _images(loaded)
    losses = []
    for totals, start, step in grid.first_layer(spectra, x, ranks):
        row = []
        for lam in LAMS:
            hidden = F.relu(start + lam * step)
            out = (grid.at(spectra.origin, totals, lam, key) for key in ("layers.1.weight", "layers.1.bias"))
            row.append(_losses(F.linear(hidden, *out), y, tasks))
        losses.append(row)
    return losses


def _distances(states: Sequence[State], origin: State) -> list[float]:
    return [weights.norm(weights.subtract(state, origin)) for state in states]


def _images(loaded):
    """The test images of all tasks in a row, their labels, and how many tasks there are."""
    images = loaded.images_of("test")
    return torch.cat([x for x, _ in images]), torch.cat([y for _, y in images]), len(images)


def _drawn(plane, path, loaded, points):
    """What `measure` gives with a dimension `plane`, of one plane."""
    tuned = torch.stack([plane.place(state) for state in loaded.finetuned])
    start = plane.place(loaded.base)
    places = torch.stack([plane.place(state) for state in path])
    shown = torch.cat([tuned, start[None], max(LAMS) * places])
    columns = _axis(shown[:, 0], points)
    rows = _axis(shown[:, 1], points)
    loss = on_the_plane(plane, *_images(loaded), columns, rows)
    return xarray.Dataset({"loss": (("task", "row", "column"), loss),
                           "x": ("column", columns),
                           "y": ("row", rows),
                           "path": (("rank", "axis"), places.numpy()),
                           "inside": ("rank", [plane.inside(state) for state in path]),
                           "tuned": (("task", "axis"), tuned.numpy()),
                           "start": ("axis", start.numpy()),
                           "explained": ("axis", plane.explained.numpy())})


def on_the_plane(plane: Plane, x: Tensor, y: Tensor, tasks: int, columns: Sequence[float],
                 rows: Sequence[float]) -> np.ndarray:
    """The loss on every task at every point of the plane, (tasks, rows, columns), of MLPs with one hidden layer: what
    its first layer holds before the ReLU is linear in the coordinates."""
    corners = [plane.at(torch.tensor(place)) for place in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))]
    before = [F.linear(x.flatten(1), state["layers.0.weight"], state["layers.0.bias"]) for state in corners]
    weight = [state["layers.1.weight"] for state in corners]
    bias = [state["layers.1.bias"] for state in corners]

    def at(parts, a, b):
        return parts[0] + a * (parts[1] - parts[0]) + b * (parts[2] - parts[0])

    def losses(a, b):
        hidden = F.relu(at(before, a, b))
        return _losses(F.linear(hidden, at(weight, a, b), at(bias, a, b)), y, tasks)

    loss = [[losses(a, b) for a in columns] for b in rows]
    return np.moveaxis(np.array(loss), 2, 0)


def _losses(logits, y, tasks):
    return F.cross_entropy(logits, y, reduction="none").view(tasks, -1).mean(1).tolist()


def _axis(values, points):
    low = values.min().item()
    high = values.max().item()
    margin = MARGIN * (high - low)
    return np.linspace(low - margin, high + margin, points)


PLANE = Experiment("cart-plane", measure, PROFILES, bell.source, "MNIST",
                   recipes=lambda settings, seed: bell.permuted_recipes(settings.bell, seed))
run = PLANE.run
