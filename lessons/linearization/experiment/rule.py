"""The rule that switches the regulariser on and off (LFT-2): what it does from three starts, beside no regulariser, a
constant one, and the largest λ that does not raise the error. By the regularised step itself, small tanh network."""
from dataclasses import dataclass

import numpy as np
import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms import dynamics
from lessons.linearization.experiment import common, flow

NONE, CONSTANT, PRINTED, HARMLESS = "none", "constant", "the rule", "largest harmless"
RULES = (NONE, CONSTANT, PRINTED, HARMLESS)
FROM_START, LATE, ELSEWHERE = "θ₀", "λ on late", "solution for 90°"
STARTS = (FROM_START, LATE, ELSEWHERE)
SHARE = 0.15  # η·κ_max
LATE_AT = 0.3  # ηk when λ is switched on late
OTHER_ANGLE = 90.0
ROUNDING = 1e-12  # of R̃: smaller rises are rounding


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    task: flow.Settings  # the flow's
    lams: tuple[float, ...]  # λ
    end: float  # ηk at the end
    moments: int  # how many are looked at


PROFILES = Profiles(quick=Settings(flow.PROFILES["quick"], lams=(10.0, 50.0), end=0.8, moments=40),
                    full=Settings(flow.PROFILES["full"], lams=(1.0, 10.0, 50.0), end=1.5, moments=60))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over start, rule, lam and moment (time, ηk), with
        error: R̃; distance: ‖u‖; share_on: the share of the steps so far in which λ_t > 0; pull: λ_t;
        and over start, rule, lam alone: rise, the largest rise of R̃ above what it was before; switches, how often the
        regulariser was switched; first_on: the share of steps from the second on in which λ_t > 0; apart: how far the
        end is from that without a regulariser, over the way.
    """
    task = flow.task_of(settings.task, seed)
    eta = common.step_size(task, SHARE)
    steps = round(settings.end / eta)
    marks = np.unique(np.linspace(0, steps, settings.moments + 1).round().astype(int))
    first = common.BEFORE + common.APART * (seed % common.SEEDS_APART)
    turned_further = common.digits(OTHER_ANGLE, first, task.n)
    starts = torch.stack([task.theta_0, _descended(task, task.x, task.y, round(LATE_AT / eta), eta),
                          _descended(task, *turned_further, steps, eta)])
    lam = torch.tensor(settings.lams, dtype=torch.float64)
    grid = (len(STARTS), len(RULES), len(lam))
    theta = starts[:, None, None].expand(*grid, -1).reshape(-1, starts.shape[-1])
    pulls = _pulls(lam, grid)
    runs = _run(task, theta, pulls, eta, steps, marks.tolist())
    shaped = {name: np.moveaxis(values.reshape(len(values), *grid), 0, -1) if values.ndim == 2
              else values.reshape(grid) for name, values in runs.items() if name != "end"}
    ends = runs["end"].reshape(*grid, -1)
    way = np.linalg.norm(ends[:, :1] - starts.numpy()[:, None, None], axis=-1)
    shaped["apart"] = np.linalg.norm(ends - ends[:, :1], axis=-1) / way
    dims = ("start", "rule", "lam", "moment")
    return xarray.Dataset({name: (dims[:values.ndim], values) for name, values in shaped.items()} | {"eta": eta},
                          {"start": list(STARTS), "rule": list(RULES), "lam": list(settings.lams),
                           "moment": (marks * eta).tolist()},
                          {"images": f"{settings.task.n} training images", "network":
                           f"MLP 196–{settings.task.width}–{settings.task.width}–1, tanh, float64"})


def _descended(task, x, y, steps, eta):
    """Where plain gradient descent from θ_0 ends."""
    theta = task.theta_0
    for _ in range(steps):
        theta = theta - eta * dynamics.error_and_gradient(task.net, theta, x, y)[1]
    return theta


def _pulls(lam, grid):
    """(g, u) -> λ_t of every run (runs, 1)."""
    every = lam.expand(grid).reshape(-1)
    which = torch.arange(len(RULES))[:, None].expand(grid).reshape(-1)

    def pulls(gradient, u):
        harmless = dynamics.largest_harmless(every, gradient, u)
        by_rule = torch.where(dynamics.rule(gradient, u), every, 0.0)
        of_rules = torch.stack([torch.zeros_like(every), every, by_rule, harmless])
        return of_rules.gather(0, which[None])[0][:, None]
    return pulls


def _run(task, theta, pulls, eta, steps, marks):
    """All runs at once; the rule reads gradient and θ before the step."""
    rows, least = [], None
    rise = theta.new_zeros(len(theta))
    on, later, switches, before = rise.clone(), rise.clone(), rise.clone(), None
    for count in range(steps + 1):
        error, gradient = dynamics.error_and_gradient(task.net, theta, task.x, task.y)
        u = theta - task.theta_0
        pull = pulls(gradient, u)
        least = error if least is None else least.minimum(error)
        rise = rise.maximum(error - least)
        switched_on = (pull[:, 0] > 0).double()
        switches = switches if before is None else switches + (switched_on != before)
        on, later, before = on + switched_on, later + switched_on * (count > 0), switched_on
        if count in marks:
            rows.append({"error": error, "distance": u.norm(dim=-1), "share_on": on / (count + 1), "pull": pull[:, 0]})
        if count < steps:
            theta = dynamics.step(theta, task.theta_0, gradient, eta, pull)
    numbers = {name: torch.stack([row[name] for row in rows]).numpy() for name in rows[0]}
    return numbers | {"rise": rise.numpy(), "switches": switches.numpy(), "first_on": (later / steps).numpy(),
                      "end": theta.numpy()}


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind LFT-2: {claim: {number: value}}. What each means stands in claims.yaml."""
    first = sweep.sel(start=FROM_START)
    initial = sweep.error.isel(moment=0)
    rise = sweep.rise / initial
    last = sweep.isel(moment=-1)
    elsewhere, late = last.sel(start=ELSEWHERE), last.sel(start=LATE)
    strongest = first.isel(lam=-1, moment=-1)
    return {"LFT-2": {
        "on_from_start": float(first.first_on.sel(rule=PRINTED).max()),
        "apart_from_start": float(first.apart.sel(rule=PRINTED).max()),
        "rise_rule": float(rise.sel(rule=PRINTED).max()),
        "rise_constant_late": float(sweep.rise.sel(rule=CONSTANT, start=LATE).max()
                                    / sweep.error.sel(rule=CONSTANT, start=LATE).isel(moment=0).max()),
        "distance_rule": float(strongest.distance.sel(rule=PRINTED)),
        "distance_constant": float(strongest.distance.sel(rule=CONSTANT)),
        "constant_over_rule": float(strongest.distance.sel(rule=CONSTANT) / strongest.distance.sel(rule=PRINTED)),
        "on_elsewhere_most": float(sweep.first_on.sel(start=ELSEWHERE, rule=PRINTED).max()),
        "elsewhere_rule_over_constant": float((elsewhere.distance.sel(rule=PRINTED)
                                               / elsewhere.distance.sel(rule=CONSTANT)).min()),
        "late_harmless_over_rule": float((late.distance.sel(rule=HARMLESS) / late.distance.sel(rule=PRINTED)).min()),
        "rise_harmless": float(rise.sel(rule=HARMLESS).max())}}


EXPERIMENT = Experiment("linearization-rule", measure, PROFILES, common.source, "MNIST", claims=claims)
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
