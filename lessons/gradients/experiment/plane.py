"""Two tasks, a few steps each, in the plane of their two gradients: where task arithmetic and joint training go (TVG,
Theorem 1). On Spirals, in float64."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from data.types import Source
from lessons.gradients.algorithms import expansion
from lessons.gradients.experiment import common
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles

ANGLES = (45.0, -45.0)
ETAS = (0.1, 0.2, 0.4, 0.6, 0.8)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
KS = (1, 2, 3, 5, 10)


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    samples: int = 100  # training samples of each task
    grid: int = 25  # points of the map along each side


PROFILES = Profiles(quick=Settings(), full=Settings())


def source() -> Source:
    """Where the Spirals come from."""
    return common.spirals_source("turned by 45° and −45°")


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device; the same in every profile.

    Returns:
        A Dataset with
        own (task: 2, eta, step: 11, axis: 2), joint (eta, alpha, step, axis), arithmetic (eta, alpha, step, axis):
        where θ_1, θ_2, θ_MT and θ_TA lie in the plane, the origin being θ_base and the first axis along −∇L_1;
        gradient (axis): −(∇L_1 + ∇L_2) there; apart (eta, alpha, step): ‖θ_TA − θ_MT‖ over all weights;
        far (eta, alpha, step): ‖θ_MT − θ_base‖; joint_loss, arithmetic_loss (eta, alpha, step): L_1 + L_2 (nats);
        map (vertical, horizontal): L_1 + L_2 in the plane.
    """
    tasks = common.tasks(common.SPIRALS, "tanh", "cross-entropy", settings.samples, seed, ANGLES)
    base = tasks.base
    both = expansion.total(tasks.losses)
    axes = basis(torch.stack([-expansion.gradient(f, base) for f in tasks.losses]))
    etas = torch.tensor(ETAS, dtype=torch.float64)
    sizes = torch.tensor([[eta * alpha for alpha in ALPHAS] for eta in ETAS], dtype=torch.float64)
    own = torch.vmap(lambda eta: tasks.alone(base, eta, KS[-1]), out_dims=1)(etas)  # (task, eta, step, parameters)
    joint = torch.vmap(torch.vmap(lambda eta: expansion.descend(both, base, eta, KS[-1])))(sizes)
    arithmetic = torch.stack([expansion.task_arithmetic(base, own, alpha) for alpha in ALPHAS], 1)
    placed = {}
    for name, points in (("own", own), ("joint", joint), ("arithmetic", arithmetic)):
        placed[name] = ((points - base) @ axes.T).numpy()
    horizontal, vertical = _sides(placed.values(), settings.grid)
    lattice = torch.tensor(np.stack(np.meshgrid(horizontal, vertical), -1)) @ axes + base
    where = ("eta", "alpha", "step")
    values = {"own": (("task", "eta", "step", "axis"), placed["own"]),
              "joint": ((*where, "axis"), placed["joint"]),
              "arithmetic": ((*where, "axis"), placed["arithmetic"]),
              "gradient": ("axis", (axes @ -expansion.gradient(both, base)).numpy()),
              "apart": (where, (arithmetic - joint).norm(dim=-1).numpy()),
              "far": (where, (joint - base).norm(dim=-1).numpy()),
              "map": (("vertical", "horizontal"), _each(both, lattice)),
              "joint_loss": (where, _each(both, joint)),
              "arithmetic_loss": (where, _each(both, arithmetic))}
    coords = {"eta": list(ETAS), "alpha": list(ALPHAS), "step": list(range(KS[-1] + 1)),
              "horizontal": horizontal, "vertical": vertical}
    images = f"{settings.samples} training samples of each task"
    return xarray.Dataset(values, coords).assign_attrs(images=images)


def _sides(placed, grid):
    """The map's two coordinates, around all points."""
    points = np.concatenate([values.reshape(-1, 2) for values in placed])
    margin = 0.08 * np.ptp(points, axis=0)
    low = points.min(0) - margin
    high = points.max(0) + margin
    width, height = high - low
    spare = max(0.0, 0.8 * width - height) / 2  # a map much wider than high would be a strip
    horizontal = np.linspace(low[0], high[0], grid)
    vertical = np.linspace(low[1] - spare, high[1] + spare, grid)
    return horizontal, vertical


def basis(vectors: torch.Tensor) -> torch.Tensor:
    """Orthonormal rows (n, parameters) that span the same as the given ones; the first has the first one's
    direction."""
    q, r = torch.linalg.qr(vectors.T)
    return (q * r.diagonal().sign()).T


def _each(f, points):
    """f at all points (…, parameters), as an array (…)."""
    return torch.vmap(f)(points.reshape(-1, points.shape[-1])).reshape(points.shape[:-1]).numpy()


EXPERIMENT = Experiment("gradients-plane", measure, PROFILES, source, "Spirals",
                        network="tanh network 2–8–8–2, cross-entropy")
run = EXPERIMENT.run
