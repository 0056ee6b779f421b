"""Training a model by its recipe.

A network without convolutions is trained on the CPU, in float64, and its weights are rounded to float32 at the end. In
float32 the instruction sets of processors end 0.4 to 9 % apart in what is derived from the weights; in float64 they
differ by less than the rounding, so the same recipe gives the same weights on every processor (a weight in many
millions may round the other way). Networks with convolutions are trained in float32, or bfloat16, on the device asked
for, and are the same bit for bit on one machine only.
"""
import contextlib
import copy
import math
import threading
from collections.abc import Sequence
from dataclasses import replace

import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

import data
from data.pinning import pinned
from data.threads import cores, stop_if_asked
from toy_models import losses
from toy_models.mlp import MLP
from toy_models.recipe import CONSTANT, Recipe


def resolve(device: str | torch.device) -> torch.device:
    """"auto" is a GPU where there is one, else the CPU; anything else is taken as torch takes it.

    Raises:
        ValueError: no such device here.
    """
    name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {device!r} cannot be used here: {error}. Choose \"auto\" or \"cpu\".") from None


_RANDOM_STATE = threading.Lock()  # torch has one for all threads


def train(recipe: Recipe, start: dict[str, Tensor] | None = None,
          device: str | torch.device = "auto", on_epoch=lambda: None) -> nn.Module:
    """Train the model that the recipe describes: `train_through` with one recipe."""
    return train_through([recipe], start, device, on_epoch)[0]


def train_through(recipes: Sequence[Recipe], start: dict[str, Tensor] | None = None,
                  device: str | torch.device = "auto", on_epoch=lambda: None) -> list[nn.Module]:
    """Train once and keep the network after each recipe's number of epochs: recipes that differ in nothing else are
    points of one training.

    The loss, unless the recipe names another, compares only the classes that occur in the training part: a network with
    100 outputs that sees five classes learns to tell those five apart and its other outputs stay as they are (one head,
    masked per task: Mirzadeh et al. 2021).

    The global random state is left as it was; initialisation and sample order come from the recipe's seed alone.

    Args:
        recipes: what to do; alike but for their epochs.
        start: the parent's weights, where the recipes have a parent; they are copied.
        device: see `resolve`.
        on_epoch: called after every epoch.

    Returns:
        The trained networks, in the recipes' order, on the CPU, needing no gradients.

    Raises:
        ValueError: the recipes differ in more than epochs, the data are not those that they were written for, or the
            weights did not stay finite.
    """
    recipe = max(recipes, key=lambda recipe: recipe.epochs)
    if recipe.schedule != CONSTANT and any(other.epochs != recipe.epochs for other in recipes):
        raise ValueError(f"with the schedule {recipe.schedule!r} recipes of other epochs are other trainings")
    if any(replace(other, epochs=recipe.epochs) != recipe for other in recipes):
        raise ValueError("recipes of one training may differ in their epochs alone")
    device = resolve(device)
    dataset = _data_of(recipe)
    with pinned():
        network = _initial(recipe, start)
        if convolves(network):
            network = network.to(device)
            held = all_threads()
        else:
            network = network.double()
            device = torch.device("cpu")
            held = one_thread()
        stops = {other.epochs for other in recipes}
        with held:
            epochs = _epochs(network, recipe, dataset.x.to(device), dataset.y.to(device), on_epoch)
            trained = {epoch: _finished(network, recipe) for epoch in epochs if epoch in stops}
    return [trained[other.epochs] for other in recipes]


def _data_of(recipe):
    dataset = data.load(recipe.dataset, "train", **dict(recipe.options))
    if dataset.source.digest != recipe.data_digest:
        raise ValueError(f"the recipe of {recipe} was written for other data (digest {recipe.data_digest}) than what "
                         f"is here now: {dataset.source} (digest {dataset.source.digest}). Make the recipe again with "
                         "Recipe.on or finetune.")
    return dataset


def _initial(recipe, start):
    """The network before the first step: with the parent's weights, or random ones."""
    with _RANDOM_STATE, torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(recipe.seed)
        network = recipe.architecture.build()
    if recipe.parent:
        network.load_state_dict(start)
    return network


def _epochs(network, recipe, x, y, on_epoch):
    """Train the network in place and yield the number of epochs it has seen: 0, 1, …

    Inputs are converted to its dtype batch by batch, since all of them would take twice the memory.
    """
    steps = recipe.epochs * math.ceil(len(x) / (recipe.batch_size or len(x)))
    step = stepper(network, recipe, y.unique(), steps)
    dtype = next(network.parameters()).dtype
    order = torch.Generator().manual_seed(recipe.seed)
    yield 0
    for epoch in range(1, recipe.epochs + 1):
        for batch in torch.randperm(len(x), generator=order).to(x.device).split(recipe.batch_size or len(x)):
            stop_if_asked()
            step(x.index_select(0, batch).to(dtype), y.index_select(0, batch))
        on_epoch()
        yield epoch


def _finished(network, recipe):
    """A copy of the network as the zoo keeps it."""
    finished = copy.deepcopy(network).cpu().float().to(memory_format=torch.contiguous_format)
    if not all(parameter.isfinite().all() for parameter in finished.parameters()):
        raise ValueError(f"training of {recipe} diverged: its weights are no longer finite. "
                         f"Lower the learning rate (it is {recipe.lr:g}).")
    return finished.eval().requires_grad_(False)


def for_training(state: dict[str, Tensor]) -> MLP:
    """An MLP with these weights, copied, in float64: for experiments that train by `MLP.sgd_step` what no recipe
    describes.
    """
    return MLP.from_state({key: tensor.to(torch.float64, copy=True) for key, tensor in state.items()})


def as_stored(network: nn.Module) -> dict[str, Tensor]:
    """A trained network's weights as the zoo would keep them: float32 copies."""
    return {key: tensor.to(torch.float32, copy=True) for key, tensor in network.state_dict().items()}


_THREADS = torch.get_num_threads()  # as torch chose them, before a notebook's cell could change them


@contextlib.contextmanager
def threads(count: int):
    """A context in which torch, numpy and scipy use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(count, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


def one_thread():
    """A context, or as `@one_thread()` a decorator, in which torch, numpy and scipy use one thread: for networks
    without convolutions.

    Their steps take a millisecond, of which a second thread saves a tenth on a quiet machine; on a busy one (a browser
    is enough) the threads wait for each other, and training or measuring takes many times as long.
    """
    return threads(1)


def all_threads():
    """A context, or as `@all_threads()` a decorator, with as many threads as torch chose, but no more than this process
    has cores: for networks with convolutions. Of what a container allows torch knows nothing, and threads that have to
    wait for each other take many times as long.
    """
    return threads(min(_THREADS, cores()))


def convolves(network: nn.Module) -> bool:
    """Whether the network has convolutions: it then trains with all threads, else with one."""
    return any(isinstance(module, nn.Conv2d) for module in network.modules())


def trains_in_bfloat16(device: torch.device | str = "cpu") -> bool:
    """Whether convolutional networks are trained under bfloat16 autocast on this device: where its arithmetic units do
    bfloat16.

    Measured, ResNet18 at width 16, batch 64: with AMX a step takes half the time of float32 (46 against 95 ms); on a
    processor that has only AVX2 ten times as long (1,490 against 138 ms), since bfloat16 is emulated there.
    """
    if torch.device(device).type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return any(torch.cpu.get_capabilities().get(unit, False) for unit in ("amx_bf16", "avx512_bf16"))


def stepper(network: nn.Module, recipe: Recipe, classes: Tensor, steps: int | None = None):
    """A function (x, y) -> None that does one step of the recipe's optimiser, by the network's own backward pass where
    it has one.

    Args:
        network: is changed, in place, at every step.
        classes: (classes,), those that the loss compares, in ascending order.
        steps: of the whole training, which a schedule needs.

    Raises:
        ValueError: a schedule without `steps`, or something frozen that the network does not have.
    """
    if _plainly_by_hand(network, recipe, classes):
        return lambda x, y: network.sgd_step(x.flatten(1), y, recipe.lr)  # type: ignore[operator]  # an MLP
    optimiser = _OPTIMISERS[recipe.optimiser](trained_part(network, recipe.frozen), lr=recipe.lr)
    schedule = _schedule(optimiser, recipe, steps)
    loss = losses.of(recipe.loss, classes)
    drawn = torch.Generator().manual_seed(recipe.seed)
    parameter = next(network.parameters())
    device, parameters = parameter.device, parameter.dtype
    fast = convolves(network) and trains_in_bfloat16(device)
    images = fastest_format(network)
    network.to(memory_format=images)  # type: ignore[call-overload]  # torch has it, its types do not

    def step(x, y):
        optimiser.zero_grad()
        # cached copies of the weights would be kept, and used at every step, while any other autocast context is open
        with torch.autocast(device.type, torch.bfloat16, enabled=fast, cache_enabled=False):
            inputs = x.contiguous(memory_format=images) if x.ndim == 4 else x  # BYOL's images have no channels yet
            outputs, wanted = loss.ask(network, inputs, y, drawn)
        loss.measure(outputs.to(parameters), wanted).backward()  # autocast gives bfloat16
        optimiser.step()
        schedule.step()

    return step


_OF_LABELS = (losses.SEEN_CLASSES, losses.ALL_CLASSES)
_OPTIMISERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
WARM_UP = 0.05  # of all steps, in which a scheduled learning rate rises


def _plainly_by_hand(network, recipe, classes):
    """Whether the network's own backward pass does all that the recipe asks for."""
    plain = recipe.optimiser == "sgd" and recipe.schedule == CONSTANT and not recipe.frozen
    every = recipe.loss == losses.ALL_CLASSES or len(classes) == _outputs(network)
    return plain and every and recipe.loss in _OF_LABELS and hasattr(network, "sgd_step")


def trained_part(network: nn.Module, frozen: Sequence[str]) -> list[nn.Parameter]:
    """The parameters that are trained. The others are told that they need no gradients.

    Raises:
        ValueError: nothing in the network begins with one of `frozen`, or everything does.
    """
    named = dict(network.named_parameters())
    for prefix in frozen:
        if not any(key.startswith(prefix) for key in named):
            raise ValueError(f"nothing in the network begins with {prefix!r}, which is to be frozen. "
                             f"Keys: {', '.join(list(named)[:6])} …")
    for key, parameter in named.items():
        parameter.requires_grad_(not key.startswith(tuple(frozen)))
    trained = [parameter for parameter in named.values() if parameter.requires_grad]
    if not trained:
        raise ValueError(f"everything in the network is frozen: {', '.join(frozen)}")
    return trained


def share_of_rate(step: int, steps: int) -> float:
    """What share of the learning rate a step takes, from 0 on: rising evenly in the first `WARM_UP` of all steps, then
    half a cosine down to 0."""
    first = max(1, round(WARM_UP * steps))
    if step < first:
        return (step + 1) / first
    return (1 + math.cos(math.pi * (step - first) / max(1, steps - first))) / 2


def _schedule(optimiser, recipe, steps):
    if recipe.schedule == CONSTANT:
        return torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1.0)
    if steps is None:
        raise ValueError(f"the schedule {recipe.schedule!r} needs the number of steps")
    return torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: share_of_rate(step, steps))


def _outputs(network):
    """How many outputs an MLP has."""
    return network.layers[-1].out_features if hasattr(network, "layers") else 0


def fastest_format(network: nn.Module) -> torch.memory_format:
    """The memory format in which the network's convolutions are fastest: channels last, unless one has fewer than 8
    channels.

    Measured, ResNet18 on two AVX2 cores, batch 64: a step at width 16 takes 138 ms against 228 ms, at width 64 the
    same. With fewer than 8 output channels torch 2.13's backward pass in this format corrupts memory there ("double
    free or corruption"), so such networks stay contiguous.
    """
    channels = [module.out_channels for module in network.modules() if isinstance(module, nn.Conv2d)]
    return torch.channels_last if channels and min(channels) >= 8 else torch.contiguous_format
