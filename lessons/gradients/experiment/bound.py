"""Theorem 2 of TVG against α: how long the gap is, and how long it may be at most, as printed and as corrected.

`run` measures on Spirals, in float64, and returns one xarray Dataset.
"""
from dataclasses import asdict, dataclass

import numpy as np
import torch
import xarray

import data
from lessons.gradients.algorithms import bound, networks
from lessons.gradients.experiment import common
from lessons.gradients.experiment.common import ANGLES, NETWORKS, Tasks
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached
from toy_models import training

STEPS, ETA = 3, 0.01
KNOWN = ("measured H and G", "printed network bounds", "corrected network bounds")


@dataclass(frozen=True)
class Settings:
    """How much is measured: samples of each task, and the values of α; 1/T = 0.25 is one of them."""
    samples: int
    alphas: tuple[float, ...]


PROFILES = Profiles(quick=Settings(samples=60, alphas=(0.05, 0.15, 0.25, 0.35, 0.5, 0.75, 1.0, 1.5)),
                    full=Settings(samples=150, alphas=(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)))


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Measure, on the CPU, whatever the device.

    Returns:
        A Dataset over network: 3 and alpha, all lengths divided by η², with
        gap: ‖θ_TA − θ_MT‖ after three steps; second: our second-order term, α·‖Σ_t s_t‖; C: ‖Σ_t s_t‖, the source's C;
        hessian, gradient: H and G, the largest ‖∇²L_t‖ and ‖∇L_t‖ along the joint path; norm_product: Π of the three ‖W_l‖ at θ_base;
        printed, corrected (…, known: 3): both versions of the bound of ‖C‖, with H and G measured, from the printed bounds of H and G by the
        network's norms, and from the corrected ones.
        Attributes: those of `lessons.kit.sweep.caption`.

    Raises:
        ValueError: there is no such profile.
    """
    settings, source = PROFILES[profile], data.source("spirals", angle=ANGLES[0])
    ingredients = {"settings": asdict(settings), "seed": seed, "data": source.digest}
    return cached("gradients-bound", ingredients, lambda: measure(settings, seed).assign_attrs(
        source="Spirals (generated), four angles", source_kind=source.kind, dataset="Spirals", profile=profile, seed=seed,
        network="networks 2–8–8–2, cross-entropy", images=f"{settings.samples} training samples of each of four tasks"))


@training.one_thread()
def measure(settings: Settings, seed: int = 0) -> xarray.Dataset:
    """`run` without the cache."""
    parts = [of_network(common.tasks(common.SPIRALS, activation, "cross-entropy", settings.samples, seed), settings.alphas) for activation in NETWORKS]
    return xarray.concat(parts, xarray.DataArray(list(NETWORKS), dims="network", name="network"))


def of_network(tasks: Tasks, alphas) -> xarray.Dataset:
    """`run`'s numbers of one network, every α at once."""
    def numbers(alpha):
        walk = common.walk(tasks, ETA, alpha, STEPS)
        hessians, slopes = zip(*(hessians_and_slopes(f, walk.joint) for f in tasks.losses))
        return walk.joint, walk.gap[-1].norm() / ETA ** 2, walk.bend[:, -1].sum(0).norm(), torch.linalg.eigvalsh(torch.stack(hessians)).abs().amax(), torch.stack(slopes).norm(dim=-1).amax()

    joint, gap, C, H, G = torch.vmap(numbers)(torch.tensor(alphas, dtype=torch.float64))
    rows = []
    for alpha, path, hessian, slope in zip(alphas, joint, H.tolist(), G.tolist()):
        constants = {KNOWN[0]: (hessian, slope)} | network_bounds(tasks, path)
        rows.append([[of(alpha, len(tasks.losses), STEPS, *constants[known]) for known in KNOWN] for of in (bound.printed_bound, bound.corrected_bound)])
    rows = np.array(rows)
    single = {"gap": gap, "second": torch.tensor(alphas) * C, "C": C, "hessian": H, "gradient": G}
    return xarray.Dataset({name: ("alpha", values.numpy()) for name, values in single.items()} | {name: (("alpha", "known"), rows[:, i]) for i, name in enumerate(("printed", "corrected"))}
                          | {"norm_product": float(np.prod(spectral_norms(tasks.base, tasks.widths)))}, coords={"alpha": list(alphas), "known": list(KNOWN)})


def hessians_and_slopes(f: networks.Function, joint: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """∇²f at points 1 to k − 1 of the joint path and ∇f at points 0 to k − 2: those that the second-order term holds."""
    return torch.vmap(torch.func.hessian(f))(joint[1:-1]), torch.vmap(torch.func.grad(f))(joint[:-2])


def network_bounds(tasks: Tasks, joint: torch.Tensor) -> dict[str, tuple[float, float]]:
    """H and G as the theorem bounds them by the layers' norms, the longest input and the activation: as printed, and corrected."""
    reach = max(x.norm(dim=1).max().item() for x in tasks.inputs)
    norms = list(map(max, zip(*(spectral_norms(theta, tasks.widths) for theta in joint))))
    beta, gamma = networks.SLOPES[tasks.activation]
    return {KNOWN[1]: (bound.printed_hessian_bound(norms, reach, beta, gamma), bound.printed_gradient_bound(norms, reach, beta)),
            KNOWN[2]: (bound.hessian_bound(norms, reach, beta, gamma), bound.gradient_bound(norms, reach, beta))}


def spectral_norms(theta: torch.Tensor, widths) -> list[float]:
    """‖W_l‖ of every layer."""
    return [torch.linalg.matrix_norm(weight, 2).item() for weight in networks.matrices(theta, widths)]


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-5, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    smooth, average = sweep.sel(network=["linear", "tanh"]), 1 / len(ANGLES)
    slack, printed = smooth.corrected.sel(known=KNOWN[0]) / smooth.C, smooth.printed.sel(known=KNOWN[0])
    low = dict(alpha=slice(0, 0.999))
    return {"TVG-5": {"printed_at_average": printed.sel(alpha=average).max().item(), "C_at_average": smooth.C.sel(alpha=average).min().item(),
                      "printed_violated_share": (printed < smooth.C).mean().item(),
                      "corrected_over_C_least": slack.min().item(), "corrected_over_C_median": slack.median().item(),
                      "printed_equals_corrected_from_1": np.abs(sweep.printed / sweep.corrected - 1).sel(known=KNOWN[0], alpha=slice(1, None)).max().item(),
                      "printed_over_corrected_most_below_1": (sweep.printed / sweep.corrected).sel(known=KNOWN[0]).sel(low).max().item(),
                      "network_over_C_log_median": float(np.log10(smooth.corrected.sel(known=KNOWN[2]) / smooth.C).median()),
                      "printed_network_linear": smooth.printed.sel(known=KNOWN[1], network="linear").max().item(),
                      "hessian_linear": smooth.hessian.sel(network="linear").max().item()}}
