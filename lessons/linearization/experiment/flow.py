"""The theorems about gradient flow, both sides measured: how far finetuning goes, how far it ends from its tangent, and
the λ that keeps it in a ball (LFT §3; Lemmas 1 and 3, Theorems 2, 3 and 4). A small tanh network in float64, squared
error as a sum, constant λ from the start."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms import bounds, dynamics, kernel
from lessons.linearization.algorithms.networks import Net
from lessons.linearization.experiment import common
from lessons.linearization.experiment.common import Task

ANGLE = 45.0
STABLE = 0.4  # h·κ_max: Runge and Kutta's method needs 2·h·κ < 2.78, and κ grows on the way
ORDER_LAM, ORDER_TIME = 5.0, 0.05  # where the scheme is compared with its limit
ORDER_STEPS = (0.4, 0.2, 0.1, 0.05)  # η·κ_max
ROUNDS, DIRECTIONS = 15, 2  # of the search for ‖∇²f‖: rounds, and random directions to begin from
PLACES = (0.5, 1.0)  # between θ_0 and θ_t, where ‖J‖ and ‖∇²f‖ are looked at


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    width: int  # of both inner layers
    n: int  # training samples
    lams: tuple[float, ...]  # λ; the first is 0
    end: float  # how long the flow runs
    moments: int  # how many times are looked at, evenly spaced on a logarithmic scale
    images: int  # of pretraining
    pretraining: int  # steps of it

    @property
    def times(self) -> list[float]:
        """When the flow is looked at."""
        return [0.0, *np.geomspace(1e-4, self.end, self.moments).tolist()]


PROFILES = Profiles(
    quick=Settings(width=12, n=12, lams=(0.0, 1.0, 10.0, 50.0), end=1.0, moments=16, images=1000, pretraining=200),
    full=Settings(width=20, n=20, lams=(0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 50.0), end=3.0, moments=28, images=2000,
                  pretraining=300))


def net_of(width: int) -> Net:
    """196 inputs, two inner layers, one output, tanh: smooth, as the theorems ask."""
    return Net((common.SIDE ** 2, width, width, 1), "tanh")


def task_of(settings: Settings, seed: int) -> Task:
    """The task, pretraining included."""
    return common.task(net_of(settings.width), settings.n, ANGLE, seed, test=10, images=settings.images,
                       steps=settings.pretraining)


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over lam and t, lengths being over all samples, with
        distance, linear_distance: ‖u‖ and ‖ū‖; residual, linear_residual: ‖r‖ and ‖r̄‖; gap: ‖f_θ − f̄_θ̄‖ on the
        training samples; grown: ∫ e^(−λ(t−s))‖r_s‖ ds;
        L1, L2 (lam): the largest ‖J‖ and ‖∇²f‖ found on the path and between it and θ_0, so at most the true Lipschitz
        constants;
        lemma (lam): the largest ‖k_a − k_b‖/((‖J_a‖ + ‖J_b‖)·‖J_a − J_b‖) of two points of the path; lemma_global: the
        largest ‖k_a − k_b‖/(2·L1·L2·‖θ_a − θ_b‖);
        kappa_max, kappa_min: of K; order: the power of η with which the scheme's error falls.
    """
    task = task_of(settings, seed)
    lam = torch.tensor(settings.lams, dtype=torch.float64)[:, None]
    K = kernel.blocks(task.net, task.theta_0, task.x).sum(0)
    kappa, directions = torch.linalg.eigh(K)
    f_0 = task.net(task.theta_0, task.x)[:, 0]
    rho = directions.mT @ (f_0 - task.y)
    states = _flow(task, lam, settings.times, STABLE / kappa.max().item())
    rows = []
    for t, state in zip(settings.times, states):
        theta, grown = state[:, :-1], state[:, -1]
        alpha = dynamics.linear_flow(kappa, rho, lam, t) @ directions.mT
        f, linear = task.net(theta, task.x)[..., 0], f_0 + alpha @ K
        rows.append({"distance": (theta - task.theta_0).norm(dim=-1),
                     "linear_distance": ((alpha @ K) * alpha).sum(-1).clamp_min(0).sqrt(),
                     "residual": (f - task.y).norm(dim=-1), "linear_residual": (linear - task.y).norm(dim=-1),
                     "gap": (f - linear).norm(dim=-1), "grown": grown})
    variables = {name: (("lam", "t"), torch.stack([row[name] for row in rows], 1).numpy()) for name in rows[0]}
    variables |= {name: ("lam", values.numpy()) for name, values in constants(task, states).items()}
    variables |= {"kappa_max": kappa.max().item(), "kappa_min": kappa.min().item(), "order": order(task, kappa)}
    return xarray.Dataset(variables, {"lam": list(settings.lams), "t": settings.times},
                          {"images": f"{settings.n} training images", "network": f"MLP 196–{settings.width}–"
                           f"{settings.width}–1, tanh, float64"})


def _flow(task, lam, times, h):
    """The flow of all λ at once, with ∫ e^(−λ(t−s))‖r_s‖ ds as one more entry: [(λ, parameters + 1) of every time]."""
    def field(state):
        theta, grown = state[:, :-1], state[:, -1:]
        error, gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)
        return torch.cat([-gradient - lam * (theta - task.theta_0), error.sqrt()[:, None] - lam * grown], 1)

    begin = torch.cat([task.theta_0, task.theta_0.new_zeros(1)]).repeat(len(lam), 1)
    return dynamics.flow(field, begin, times, h)


# -- Lipschitz constants ---------------------------------------------------------------------------

def constants(task: Task, states: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    """"L1", "L2", "lemma" and "lemma_global" of `measure`, each (λ,)."""
    thetas = [state[:, :-1] for state in states]
    looked_at = thetas[::-max(1, len(thetas) // 4)]  # the end, and three or four before
    L1 = torch.zeros(len(thetas[0]), dtype=torch.float64)
    L2 = L1.clone()
    for theta in looked_at:
        for place in PLACES:
            between = (task.theta_0 + place * (theta - task.theta_0)).clone()
            L1 = L1.maximum(slope(task, between))
            L2 = L2.maximum(curvature(task, between))
    local, far = zip(*(_lemma(task, torch.stack([theta[number] for theta in looked_at])) for number in range(len(L1))))
    return {"L1": L1, "L2": L2, "lemma": torch.stack(local), "lemma_global": torch.stack(far) / (2 * L1 * L2)}


def slope(task: Task, theta: torch.Tensor) -> torch.Tensor:
    """‖J‖, the largest singular value, of every network θ (λ, parameters)."""
    kernels = torch.stack([kernel.blocks(task.net, weights, task.x).sum(0) for weights in theta])
    return torch.linalg.eigvalsh(kernels)[:, -1].sqrt()


def curvature(task: Task, theta: torch.Tensor) -> torch.Tensor:
    """‖∇²f‖ = max over ‖v‖ = 1 of ‖∇²f[v, v]‖, of every network θ (λ, parameters), by alternating maximisation: the
    answers' direction w for which v bends most, and then the v that bends most along w.

    Some v reaches the value that is returned, so it is never too large.
    """
    generator = torch.Generator().manual_seed(0)
    best = torch.zeros(len(theta), dtype=torch.float64)
    for _ in range(DIRECTIONS):
        v = torch.randn(theta.shape, generator=generator, dtype=torch.float64)
        for _ in range(ROUNDS):
            v = v / v.norm(dim=-1, keepdim=True)
            w = _bent(task, theta, v)
            length = w.norm(dim=(-2, -1))
            best = best.maximum(length)
            w = w / length[:, None, None]
            v = torch.func.jvp(lambda there, w=w: task.net.trace(there, task.x).back(w), (theta,), (v,))[1]
    return best


def _bent(task, theta, v):
    """∇²f[v, v]: the answers' second derivative along v, (λ, samples, 1)."""
    def along(there):
        return torch.func.jvp(lambda weights: task.net(weights, task.x), (there,), (v,))[1]
    return torch.func.jvp(along, (theta,), (v,))[1]


def _lemma(task, path):
    """Lemma 1 on all pairs of a path (points, parameters): the largest of both ratios, the second without the
    constants."""
    J = torch.stack([torch.func.jacrev(lambda weights: task.net(weights, task.x)[:, 0])(theta) for theta in path])
    k = J @ J.mT
    norms = torch.linalg.matrix_norm(J, 2)
    local, far = [J.new_zeros(())], [J.new_zeros(())]
    for a in range(len(path)):
        for b in range(a):
            change = torch.linalg.matrix_norm(k[a] - k[b], 2)
            if change > 1e-9 * norms[a] ** 2:
                local.append(change / ((norms[a] + norms[b]) * torch.linalg.matrix_norm(J[a] - J[b], 2)))
                far.append(change / (path[a] - path[b]).norm())
    return torch.stack(local).max(), torch.stack(far).max()


def order(task: Task, kappa: torch.Tensor) -> float:
    """With which power of η the regularised step's distance from its limit falls (Lemma 3)."""
    steps = [round(ORDER_TIME * kappa.max().item() / share) for share in ORDER_STEPS]
    field = dynamics.regularised(task.net, task.theta_0, task.x, task.y, ORDER_LAM)
    limit = dynamics.flow(field, task.theta_0, [ORDER_TIME], ORDER_TIME / steps[-1])[0]
    errors = []
    for count in steps:
        theta = task.theta_0
        for _ in range(count):
            gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)[1]
            theta = dynamics.step(theta, task.theta_0, gradient, ORDER_TIME / count, ORDER_LAM)
        errors.append((theta - limit).norm().item())
    return float(np.polyfit(np.log([ORDER_TIME / count for count in steps]), np.log(errors), 1)[0])


# -- both sides ------------------------------------------------------------------------------------

def with_bounds(sweep: xarray.Dataset) -> xarray.Dataset:
    """The sweep with every bound beside what it bounds: (lam, t) each.

    distance_printed, distance_proved, distance_integral (2·L1·∫e^(−λ(t−s))‖r_s‖ ds), distance_energy; gap_printed,
    gap_right, gap_inside, gap_trivial (‖r‖ + ‖r̄‖), gap_vacuous (2‖r_0‖, which says nothing).
    """
    t = torch.tensor(sweep.t.values)[None]
    lam = torch.tensor(sweep.lam.values)[:, None]
    L1, L2 = (torch.tensor(sweep[name].values)[:, None] for name in ("L1", "L2"))
    residual, linear, grown = (torch.tensor(sweep[name].values) for name in ("residual", "linear_residual", "grown"))
    first = residual[:, :1]
    energy = bounds.distance_by_energy(first, lam)
    farthest = torch.minimum(energy, bounds.distance_proved(L1, first, lam, t))
    limits = {"distance_printed": bounds.distance_printed(L1, residual, lam, t),
              "distance_proved": bounds.distance_proved(L1, first, lam, t),
              "distance_integral": 2 * L1 * grown,
              "distance_energy": energy,
              "gap_printed": bounds.gap_printed(L1, L2, first, lam, t),
              "gap_right": bounds.gap_right(L1, L2, first, lam, t, farthest),
              "gap_inside": bounds.gap_inside(L1, L2, first, lam, t),
              "gap_trivial": bounds.gap_trivial(residual, linear),
              "gap_vacuous": 2 * first}
    shape = residual.shape
    return sweep.assign({name: (("lam", "t"), value.expand(shape).numpy()) for name, value in limits.items()})


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind LFT-1 and LFT-3 to 6: {claim: {number: value}}. What each means stands in claims.yaml."""
    known = with_bounds(sweep).isel(t=slice(1, None))
    return {"LFT-1": {"power": float(sweep.order)},
            "LFT-3": {"local_most": float(sweep.lemma.max()), "global_most": float(sweep.lemma_global.max())},
            "LFT-4": claim_4(known), "LFT-5": claim_5(known), "LFT-6": claim_6(known)}


def claim_4(known: xarray.Dataset) -> dict[str, float]:
    """LFT-4: every bound of the distance over the distance."""
    plain, pulled = known.sel(lam=0.0), known.isel(lam=slice(1, None))
    numbers = {"printed_violated_share": float((plain.distance_printed < plain.distance).mean()),
               "printed_over_distance": float((plain.distance_printed / plain.distance)[-1]),
               "printed_violated_pulled": float((pulled.distance_printed < pulled.distance).mean())}
    for name in ("proved", "integral", "energy"):
        over = pulled[f"distance_{name}"] / pulled.distance
        numbers |= {f"{name}_least": float(over.isel(t=-1).min()), f"{name}_most": float(over.isel(t=-1).max()),
                    f"{name}_least_ever": float(over.min())}
    end = pulled.isel(t=-1)
    gain = (end.distance_proved / end.distance_energy).values
    return numbers | {"energy_gain_least": float(gain.min()), "energy_gain_most": float(gain.max())}


def claim_5(known: xarray.Dataset) -> dict[str, float]:
    """LFT-5: Theorem 3 as printed and right, over the gap, and from when on the printed one says nothing."""
    pulled = known.isel(lam=slice(1, None))
    over = pulled.gap_right / pulled.gap
    vacuous = pulled.gap_printed > pulled.gap_vacuous
    first = pulled.t.where(vacuous).min("t")
    early = pulled.where((pulled.gap_printed < pulled.gap_vacuous) | (pulled.gap_right < pulled.gap_vacuous))
    return {"printed_violated": float((pulled.gap_printed < pulled.gap).sum()),
            "right_violated": float((pulled.gap_right < pulled.gap * (1 - 1e-9)).sum()),
            "inside_violated": float((pulled.gap_inside < pulled.gap * (1 - 1e-9)).sum()),
            "inside_over_printed": float((early.gap_inside / early.gap_printed).median()),
            "right_over_printed": float((early.gap_right / early.gap_printed).median()),
            "right_gain": float((pulled.gap_printed / pulled.gap_right).isel(t=-1).median()),
            "right_over_gap": float(over.isel(t=-1).median()),
            "right_over_trivial": float((pulled.gap_right / pulled.gap_trivial).isel(t=-1).min()),
            "printed_over_gap_log": float(np.log10((pulled.gap_printed / pulled.gap).isel(t=-1)).median()),
            "vacuous_from": float(first.median()),
            "vacuous_in_units": float(first.median() * 2 * known.kappa_max)}


def claim_6(known: xarray.Dataset) -> dict[str, float]:
    """LFT-6: the threshold for two radii, over the λ that was needed, and whether it holds."""
    initial, L1 = float(known.residual.max()), float(known.L1.max())
    wide = float(known.distance.sel(lam=0.0).max())
    narrow = float(known.distance.isel(lam=-1).max())
    needed = float(known.lam[-1])
    held = 0
    for lam in known.lam.values[1:]:
        radius = 2 * initial * L1 / lam  # the radius of which this λ is the threshold
        held += int((known.distance.sel(lam=lam) <= radius).all())
    return {"held_share": held / (len(known.lam) - 1),
            "threshold_wide": bounds.threshold(L1, initial, wide),
            "energy_wide": bounds.threshold_by_energy(initial, wide),
            "threshold_over_needed": bounds.threshold(L1, initial, narrow) / needed,
            "energy_over_needed": bounds.threshold_by_energy(initial, narrow) / needed,
            "share_kept_wide": bounds.share_kept(L1, initial, wide)}


EXPERIMENT = Experiment("linearization-flow", measure, PROFILES, common.source, "MNIST", claims=claims)
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
