"""A residual network whose new blocks are mixtures of its old ones: the sum of their shares may scale a block's last
layer alone, or all of its weights (SAIL, Eq. 9)."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.sail.experiment import depth, digits
from toy_models import Recipe, abreast, growth, race
from toy_models.weights import State

STEP, WHOLE = "V and c", "W, b, V and c"
FORMS = (STEP, WHOLE)


@dataclass(frozen=True)
class Settings:
    """How much is trained."""
    sums: tuple[float, ...]  # of the shares of a new block
    steps: tuple[int, ...]  # after which the networks are looked at


SUMS = (0.25, 0.35, 0.5, 0.6, 0.71, 0.85, 1.0, 1.25)
PROFILES = Profiles(quick=Settings(SUMS, (0,)), full=Settings(SUMS, (*digits.LOOKS, 300)))


def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The residual network of two blocks."""
    return depth.recipes(None, seed)[1:]


def deepened(state: State, form: str, row_sum: float) -> State:
    """The network with four blocks that are interpolated from its two, and scaled.

    Args:
        form: `STEP`, the sum scales the last layer of a block, V and c, and so its step. `WHOLE`, it scales W and b,
            too, as Eq. 9 of SAIL has it, so V·ReLU(Wh + b) is multiplied by its square.
    """
    last = (".out.weight", ".out.bias")
    return {key: row_sum * tensor if key.startswith("blocks.") and (form == WHOLE or key.endswith(last)) else tensor
            for key, tensor in growth.deepen(state, depth.NEW, "interpolation").items()}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Deepen the residual network from two blocks to four with each sum, and train on with SGD. Profile quick looks
    before any step, and trains nothing.

    Returns:
        A Dataset over form (`FORMS`), row_sum and steps, with loss (nats) and accuracy on 2,000 test images.
    """
    source = depth.source(depth.RESIDUAL, seed)
    states = [deepened(source, form, row_sum) for form in FORMS for row_sum in settings.sums]
    images = digits.images({"first": depth.FIRST, "size": depth.SIZE})
    batches = abreast.batches(*images, settings.steps[-1], digits.BATCH, seed)
    looks = _trained(states, batches, settings.steps, digits.tested({}))
    shape = len(FORMS), len(settings.sums), len(settings.steps)
    return xarray.Dataset({name: (("form", "row_sum", "steps"), array.T.reshape(shape))
                           for name, array in looks.items()},
                          {"form": list(FORMS), "row_sum": list(settings.sums), "steps": list(settings.steps)},
                          {"images": "8,000 training images that the source did not see, 2,000 test images"})


def _trained(states, batches, steps, test):
    """Residual networks trained abreast, in float64: {"loss", "accuracy"}, (looks, networks) each."""
    network = depth.architecture(depth.RESIDUAL, depth.NEW).build().double()
    stack = {key: torch.stack([state[key].double() for state in states]).requires_grad_() for key in states[0]}
    upcoming = iter(batches)

    def logits(x: Tensor) -> Tensor:
        return torch.func.vmap(lambda state: torch.func.functional_call(network, state, (x,)))(stack)

    def losses(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        outputs = logits(x)
        return F.cross_entropy(outputs.movedim(0, 2), y[:, None].expand(-1, len(states)), reduction="none").mean(0), \
            (outputs.argmax(-1) == y).double().mean(1)

    def step():
        gradients = torch.autograd.grad(losses(*next(upcoming))[0].sum(), list(stack.values()))
        with torch.no_grad():
            for tensor, gradient in zip(stack.values(), gradients):
                tensor -= digits.LR * gradient

    @torch.no_grad()
    def at():
        return {name: value.numpy() for name, value in zip(("loss", "accuracy"), losses(*test))}

    return race.looks(step, steps, at)


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """SAIL-9: which sum has the lowest loss in either form, after how many steps, how far apart these two sums are, and
    how far above a sum of 1 a sum of 1/2 (or 0.71, whose square is that) is."""
    numbers = {}
    for short, form in (("step", STEP), ("whole", WHOLE)):
        for steps in sweep.steps.values:
            loss = sweep.loss.sel(form=form, steps=steps)
            of_sum = {name: float(loss.sel(row_sum=row_sum)) for name, row_sum in (("half", 0.5), ("root", 0.71))}
            numbers |= {f"{short}_{name}_over_one_{steps}": value - float(loss.sel(row_sum=1.0))
                        for name, value in of_sum.items()}
            numbers |= {f"{short}_half_over_root_{steps}": of_sum["half"] - of_sum["root"],
                        f"{short}_best_{steps}": float(loss.idxmin("row_sum"))}
    for steps in sweep.steps.values:
        numbers[f"best_apart_{steps}"] = numbers[f"whole_best_{steps}"] - numbers[f"step_best_{steps}"]
        numbers[f"smaller_over_one_{steps}"] = max(numbers[f"step_half_over_one_{steps}"],
                                                   numbers[f"whole_root_over_one_{steps}"])
    return {"SAIL-9": numbers}


EXPERIMENT = Experiment("sail-rows", measure, PROFILES, digits.source, "MNIST", recipes=recipes,
                        network="MLPs of width 64, residual", claims=claims,
                        ledger={"quick": tuple(range(6)), "full": tuple(range(6))})
LEDGER = (EXPERIMENT,)
run = EXPERIMENT.run
