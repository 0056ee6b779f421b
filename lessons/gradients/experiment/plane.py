"""Two tasks, a few steps each, in the plane of their two gradients: where task arithmetic and joint training go (TVG, Theorem 1).

`run` measures on Spirals, in float64, and returns one xarray Dataset.
"""

import numpy as np
import torch
import xarray

import data
from lessons.gradients.algorithms import expansion
from lessons.gradients.experiment import common
from lessons.kit.sweep import cached
from toy_models import training

ANGLES = (45.0, -45.0)
ETAS = (0.1, 0.2, 0.4, 0.6, 0.8)
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
KS = (1, 2, 3, 5, 10)
SAMPLES = 100
GRID = 25  # points of the map along each side


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Measure; the same in every profile.

    Returns:
        A Dataset with
        own (task: 2, eta, step: 11, axis: 2), joint (eta, alpha, step, axis), arithmetic (eta, alpha, step, axis): where θ_1, θ_2, θ_MT and θ_TA lie in the
        plane, the origin being θ_base and the first axis along −∇L_1;
        gradient (axis): −(∇L_1 + ∇L_2) there; apart (eta, alpha, step): ‖θ_TA − θ_MT‖ over all weights; far (eta, alpha, step): ‖θ_MT − θ_base‖;
        joint_loss, arithmetic_loss (eta, alpha, step): L_1 + L_2 (nats); map (vertical, horizontal): L_1 + L_2 in the plane.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    source = data.source("spirals", angle=ANGLES[0])
    ingredients = {"seed": seed, "data": source.digest, "etas": ETAS, "alphas": ALPHAS}
    return cached("gradients-plane", ingredients, lambda: measure(seed).assign_attrs(
        source="Spirals (generated), turned by 45° and −45°", source_kind=source.kind, dataset="Spirals", seed=seed,
        network="tanh network 2–8–8–2, cross-entropy", images=f"{SAMPLES} training samples of each task")).assign_attrs(profile=profile)


@training.one_thread()
def measure(seed: int = 0) -> xarray.Dataset:
    """`run` without the cache."""
    tasks = common.tasks(common.SPIRALS, "tanh", "cross-entropy", SAMPLES, seed, ANGLES)
    base, both, steps = tasks.base, expansion.total(tasks.losses), KS[-1]
    own = torch.vmap(lambda eta: tasks.alone(base, eta, steps), out_dims=1)(torch.tensor(ETAS, dtype=torch.float64))
    sizes = torch.tensor([[eta * alpha for alpha in ALPHAS] for eta in ETAS], dtype=torch.float64)
    joint = torch.vmap(torch.vmap(lambda eta: expansion.descend(both, base, eta, steps)))(sizes)
    arithmetic = torch.stack([expansion.task_arithmetic(base, own, alpha) for alpha in ALPHAS], 1)
    axes = basis(torch.stack([-expansion.gradient(f, base) for f in tasks.losses]))
    placed = {name: ((points - base) @ axes.T).numpy() for name, points in (("own", own), ("joint", joint), ("arithmetic", arithmetic))}
    side = np.concatenate([values.reshape(-1, 2) for values in placed.values()])
    low, high = side.min(0) - 0.08 * np.ptp(side, axis=0), side.max(0) + 0.08 * np.ptp(side, axis=0)
    spare = max(0.0, 0.8 * (high[0] - low[0]) - (high[1] - low[1])) / 2  # a map much wider than high would be a strip
    horizontal, vertical = np.linspace(low[0], high[0], GRID), np.linspace(low[1] - spare, high[1] + spare, GRID)
    lattice = torch.tensor(np.stack(np.meshgrid(horizontal, vertical), -1)) @ axes + base
    losses = {"map": (("vertical", "horizontal"), _each(both, lattice))} | {f"{name}_loss": (("eta", "alpha", "step"), _each(both, points))
                                                                             for name, points in (("joint", joint), ("arithmetic", arithmetic))}
    where = ("eta", "alpha", "step")
    return xarray.Dataset({"own": (("task", "eta", "step", "axis"), placed["own"]), "joint": ((*where, "axis"), placed["joint"]),
                           "arithmetic": ((*where, "axis"), placed["arithmetic"]), "gradient": ("axis", (axes @ -expansion.gradient(both, base)).numpy()),
                           "apart": (where, (arithmetic - joint).norm(dim=-1).numpy()), "far": (where, (joint - base).norm(dim=-1).numpy())} | losses,
                          coords={"eta": list(ETAS), "alpha": list(ALPHAS), "step": list(range(steps + 1)), "horizontal": horizontal, "vertical": vertical})


def basis(vectors: torch.Tensor) -> torch.Tensor:
    """Orthonormal rows (n, parameters) that span the same as the given ones; the first has the first one's direction."""
    q, r = torch.linalg.qr(vectors.T)
    return (q * r.diagonal().sign()).T


def _each(f, points):
    """f at all points (…, parameters), as an array (…)."""
    return torch.vmap(f)(points.reshape(-1, points.shape[-1])).reshape(points.shape[:-1]).numpy()
