"""Training a model by its recipe."""
import contextlib

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import data
from toy_models.recipe import Recipe


def resolve(device: str) -> torch.device:
    """"auto" is a GPU where there is one, else the CPU; anything else is taken as torch takes it.

    Raises:
        ValueError: no such device here.
    """
    name = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {device!r} cannot be used here: {error}. Choose \"auto\" or \"cpu\".") from None


def train(recipe: Recipe, start: dict[str, Tensor] | None = None, device: str = "auto", on_epoch=lambda: None) -> nn.Module:
    """Train the model that the recipe describes.

    The global random state is left as it was; initialisation and sample order come from the recipe's seed alone, so the same recipe gives
    the same weights, bit for bit, on one machine.

    Args:
        recipe: what to do.
        start: the parent's weights, where the recipe has a parent; they are copied.
        device: see `resolve`.
        on_epoch: called after every epoch.

    Returns:
        The trained network, on the CPU, needing no gradients.

    Raises:
        ValueError: the data are not those that the recipe was written for, or the weights did not stay finite.
    """
    device = resolve(device)
    dataset = data.load(recipe.dataset, "train", **dict(recipe.options))
    if dataset.source.digest != recipe.data_digest:
        raise ValueError(f"the recipe of {recipe} was written for other data (digest {recipe.data_digest}) than what is here now: "
                         f"{dataset.source} (digest {dataset.source.digest}). Make the recipe again with Recipe.on or finetune.")
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(recipe.seed)
        network = recipe.architecture.build()
    if recipe.parent:
        network.load_state_dict(start)
    network.to(device)
    x, y = dataset.x.flatten(1).to(device), dataset.y.to(device)
    step = _step(network, recipe)
    order = torch.Generator().manual_seed(recipe.seed)
    with _threads_for(network):
        for _ in range(recipe.epochs):
            for batch in torch.randperm(len(x), generator=order).to(device).split(recipe.batch_size or len(x)):
                step(x.index_select(0, batch), y.index_select(0, batch))
            on_epoch()
    if not all(parameter.isfinite().all() for parameter in network.parameters()):
        raise ValueError(f"training of {recipe} diverged: its weights are no longer finite. Lower the learning rate (it is {recipe.lr:g}).")
    return network.cpu().eval().requires_grad_(False)


ONE_THREAD_BELOW = 1_000_000  # parameters


@contextlib.contextmanager
def _threads_for(network):
    """One thread for small networks. Their steps take a millisecond, of which a second thread saves a tenth on a quiet machine; on a busy
    one (a browser is enough) the threads wait for each other, and training takes many times as long."""
    threads = torch.get_num_threads()
    if sum(parameter.numel() for parameter in network.parameters()) < ONE_THREAD_BELOW:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _step(network, recipe):
    """(x, y) -> None: one step of the recipe's optimiser; by the network's own backward pass where it has one."""
    if recipe.optimiser == "sgd" and hasattr(network, "sgd_step"):
        return lambda x, y: network.sgd_step(x, y, recipe.lr)
    optimiser = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[recipe.optimiser](network.parameters(), lr=recipe.lr)

    def step(x, y):
        optimiser.zero_grad()
        F.cross_entropy(network(x), y).backward()
        optimiser.step()

    return step
