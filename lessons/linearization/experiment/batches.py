"""When the rule of LFT §2 is on (a control to LFT-2): with mini-batches, with large steps, and from random weights,
where the proof about the tangent's flow says nothing. A mini-batch decides by its own gradient, or by that of all
samples."""
from dataclasses import dataclass, replace

import torch
import xarray

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearization.algorithms import dynamics
from lessons.linearization.experiment import common, flow

LAM = 50.0
SMALL, LARGE = 0.15, 1.0  # η·κ_max
FULL, LARGE_STEPS, RANDOM = "full batches, small steps", "large steps", "from random weights"
BATCHES, BY_ALL = "mini-batches", "mini-batches, the rule by all samples"
# mini-batches?, does their own gradient decide?, η·κ_max, start
WAYS = {FULL: (False, True, SMALL, common.PRETRAINED), BATCHES: (True, True, SMALL, common.PRETRAINED),
        BY_ALL: (True, False, SMALL, common.PRETRAINED), LARGE_STEPS: (False, True, LARGE, common.PRETRAINED),
        RANDOM: (False, True, SMALL, common.RANDOM)}
PARTS = 4  # mini-batches in a pass over the samples


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    task: flow.Settings  # network, samples and pretraining
    steps: int


PROFILES = Profiles(quick=Settings(flow.PROFILES["quick"], steps=400), full=Settings(flow.PROFILES["full"], steps=1500))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """On the CPU, whatever the device.

    Returns:
        A Dataset over way, with
        on: share of the steps from the second on in which the rule has the regulariser on, λ = 50;
        distance, error: ‖u‖ and R̃ over the first R̃, after the last step under the rule; plain_distance, plain_error:
        the same without a regulariser, with the same mini-batches.
    """
    rows = [_run(_task(settings.task, start, seed), batches, itself, share, settings.steps, seed)
            for batches, itself, share, start in WAYS.values()]
    return xarray.Dataset({name: ("way", [row[name] for row in rows]) for name in rows[0]}, {"way": list(WAYS)},
                          {"images": f"{settings.task.n} training images", "network":
                           f"MLP 196–{settings.task.width}–{settings.task.width}–1, tanh, float64"})


def _task(small, start, seed):
    pretrained = flow.task_of(small, seed)
    if start == common.PRETRAINED:
        return pretrained
    return replace(pretrained, theta_0=pretrained.net.initial(seed).float().double())


def _run(task, batches, itself, share, steps, seed):
    """Both walks at once: under the rule, and without a regulariser. Whether the rule has the regulariser on is decided
    by the gradient of the step's samples if `itself`, else by that of all samples."""
    eta = common.step_size(task, share)
    order = torch.Generator().manual_seed(seed)
    theta, on = task.theta_0.repeat(2, 1), 0
    queue = []
    for count in range(steps):
        if not queue:
            queue = list(torch.randperm(task.n, generator=order).chunk(PARTS)) if batches else [torch.arange(task.n)]
        some = queue.pop()
        gradient = dynamics.error_and_gradient(task.net, theta, task.x[some], task.y[some])[1] * (task.n / len(some))
        decides = gradient if itself else dynamics.error_and_gradient(task.net, theta, task.x, task.y)[1]
        pull = torch.where(dynamics.rule(decides, theta - task.theta_0), LAM, 0.0)[:, None]
        pull[1] = 0.0
        on += count > 0 and pull[0].item() > 0
        theta = dynamics.step(theta, task.theta_0, gradient, eta, pull)
    error = dynamics.error(task.net, theta, task.x, task.y) / dynamics.error(task.net, task.theta_0, task.x, task.y)
    distance = (theta - task.theta_0).norm(dim=-1)
    return {"on": on / (steps - 1), "distance": distance[0].item(), "plain_distance": distance[1].item(),
            "error": error[0].item(), "plain_error": error[1].item()}


# -- claims ----------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """LFT-2: the share of the steps in which the rule is on, of every way; and with mini-batches the distance under the
    rule over that without a regulariser."""
    short = dict(zip(WAYS, ("full", "batches", "by_all", "large", "random")))
    part = sweep.sel(way=BATCHES)
    return {"LFT-2": {f"on_{name}": float(sweep.on.sel(way=way)) for way, name in short.items()}
            | {"batches_over_plain": float(part.distance / part.plain_distance)}}


EXPERIMENT = Experiment("linearization-batches", measure, PROFILES, common.source, "MNIST", claims=claims,
                        ledger={"quick": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
