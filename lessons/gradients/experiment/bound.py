"""Theorem 2 of TVG against α: how long the gap is, and how long it may be at most, as printed and as corrected. On
Spirals, in float64."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from data.types import Source
from lessons.gradients.algorithms import bound, networks
from lessons.gradients.experiment import common
from lessons.gradients.experiment.common import ANGLES, NETWORKS, Tasks
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles

STEPS = 3
ETA = 0.01
KNOWN = ("measured H and G", "printed network bounds", "corrected network bounds")
MEASURED, AS_PRINTED, AS_CORRECTED = KNOWN


@dataclass(frozen=True)
class Settings:
    """How much is measured: samples of each task, and the values of α; 1/T = 0.25 is one of them."""
    samples: int
    alphas: tuple[float, ...]


PROFILES = Profiles(
    quick=Settings(samples=60, alphas=(0.05, 0.15, 0.25, 0.35, 0.5, 0.75, 1.0, 1.5)),
    full=Settings(samples=150, alphas=(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5, 2.0)))


def source() -> Source:
    """Where the Spirals come from."""
    return common.spirals_source("four angles")


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over network: 3 and alpha, all lengths divided by η², with
        gap: ‖θ_TA − θ_MT‖ after three steps; second: our second-order term, α·‖Σ_t s_t‖; C: ‖Σ_t s_t‖, the source's C;
        hessian, gradient: H and G, the largest ‖∇²L_t‖ and ‖∇L_t‖ along the joint path; norm_product: Π of the three
        ‖W_l‖ at θ_base;
        printed, corrected (…, known: 3): both versions of the bound of ‖C‖, with H and G measured, from the printed
        bounds of H and G by the network's norms, and from the corrected ones.
    """
    parts = []
    for activation in NETWORKS:
        tasks = common.tasks(common.SPIRALS, activation, "cross-entropy", settings.samples, seed)
        parts.append(of_network(tasks, settings.alphas))
    found = xarray.concat(parts, xarray.DataArray(list(NETWORKS), dims="network", name="network"))
    return found.assign_attrs(images=f"{settings.samples} training samples of each of four tasks")


def of_network(tasks: Tasks, alphas) -> xarray.Dataset:
    """`measure`'s numbers of one network, every α at once."""
    at_once = torch.tensor(alphas, dtype=torch.float64)
    joint, gap, C, H, G = torch.vmap(lambda alpha: _lengths(tasks, alpha))(at_once)
    printed = []
    corrected = []
    for alpha, path, hessian, slope in zip(alphas, joint, H.tolist(), G.tolist()):
        constants = {MEASURED: (hessian, slope)} | network_bounds(tasks, path)
        given = [(alpha, len(tasks.losses), STEPS, *constants[known]) for known in KNOWN]
        printed.append([bound.printed_bound(*one) for one in given])
        corrected.append([bound.corrected_bound(*one) for one in given])
    found = {"gap": ("alpha", gap.numpy()),
             "second": ("alpha", (torch.tensor(alphas) * C).numpy()),
             "C": ("alpha", C.numpy()),
             "hessian": ("alpha", H.numpy()),
             "gradient": ("alpha", G.numpy()),
             "printed": (("alpha", "known"), printed),
             "corrected": (("alpha", "known"), corrected),
             "norm_product": float(np.prod(spectral_norms(tasks.base, tasks.widths)))}
    return xarray.Dataset(found, coords={"alpha": list(alphas), "known": list(KNOWN)})


def _lengths(tasks, alpha):
    """The joint path, and gap, C, H and G at one α."""
    walk = common.walk(tasks, ETA, alpha, STEPS)
    hessians, slopes = zip(*(hessians_and_slopes(f, walk.joint) for f in tasks.losses))
    gap = walk.gap[-1].norm() / ETA ** 2
    C = walk.bend[:, -1].sum(0).norm()
    H = torch.linalg.eigvalsh(torch.stack(hessians)).abs().amax()
    G = torch.stack(slopes).norm(dim=-1).amax()
    return walk.joint, gap, C, H, G


def hessians_and_slopes(f: networks.Function, joint: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """∇²f at points 1 to k − 1 of the joint path and ∇f at points 0 to k − 2: those that the second-order term
    holds."""
    return torch.vmap(torch.func.hessian(f))(joint[1:-1]), torch.vmap(torch.func.grad(f))(joint[:-2])


def network_bounds(tasks: Tasks, joint: torch.Tensor) -> dict[str, tuple[float, float]]:
    """H and G as the theorem bounds them by the layers' norms, the longest input and the activation: as printed, and
    corrected."""
    reach = max(x.norm(dim=1).max().item() for x in tasks.inputs)
    norms = list(map(max, zip(*(spectral_norms(theta, tasks.widths) for theta in joint))))
    beta, gamma = networks.SLOPES[tasks.activation]
    return {AS_PRINTED: (bound.printed_hessian_bound(norms, reach, beta, gamma),
                         bound.printed_gradient_bound(norms, reach, beta)),
            AS_CORRECTED: (bound.hessian_bound(norms, reach, beta, gamma),
                           bound.gradient_bound(norms, reach, beta))}


def spectral_norms(theta: torch.Tensor, widths) -> list[float]:
    """‖W_l‖ of every layer."""
    return [torch.linalg.matrix_norm(weight, 2).item() for weight in networks.matrices(theta, widths)]


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind TVG-5: {claim: {number: value}}. What each means stands in claims.yaml."""
    smooth = sweep.sel(network=["linear", "tanh"])
    average = smooth.sel(alpha=1 / len(ANGLES))
    printed = smooth.printed.sel(known=MEASURED)
    slack = smooth.corrected.sel(known=MEASURED) / smooth.C
    slack_by_norms = smooth.corrected.sel(known=AS_CORRECTED) / smooth.C
    printed_share = (sweep.printed / sweep.corrected).sel(known=MEASURED)
    linear = smooth.sel(network="linear")
    return {"TVG-5": {
        "printed_at_average": average.printed.sel(known=MEASURED).max().item(),
        "C_at_average": average.C.min().item(),
        "printed_violated_share": (printed < smooth.C).mean().item(),
        "corrected_over_C_least": slack.min().item(),
        "corrected_over_C_median": slack.median().item(),
        "printed_equals_corrected_from_1": np.abs(printed_share - 1).sel(alpha=slice(1, None)).max().item(),
        "printed_over_corrected_most_below_1": printed_share.sel(alpha=slice(0, 0.999)).max().item(),
        "network_over_C_log_median": float(np.log10(slack_by_norms).median()),
        "printed_network_linear": linear.printed.sel(known=AS_PRINTED).max().item(),
        "hessian_linear": linear.hessian.max().item()}}


EXPERIMENT = Experiment("gradients-bound", measure, PROFILES, source, "Spirals", claims=claims,
                        network="networks 2–8–8–2, cross-entropy")
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
