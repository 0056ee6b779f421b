"""One line between two ResNets that were finetuned on different splits, under every treatment of BatchNorm."""
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch
import xarray
from torch import Tensor, nn

import data
from lessons import cast
from lessons.kit.sweep import cached
from lessons.linearity import algorithms as linearity
from lessons.resnet.algorithms import BATCH, TREATMENTS, treated
from lessons.suites import outputs_of
from toy_models import Recipe, ResNet18, training, weights, zoo

EXAMPLES = 4  # test images of every task that the sweeps keep, to look at
PLACES = {"θⱼ": 0.0, "half-way": 0.5, "θᵢ": 1.0}  # where on the line networks are asked about all test images
FRESH_ENDS, OWN_ROWS = "fresh ends", "own rows"  # controls, half-way
POOLED, TEN, HUNDRED = "pooled", "10 outputs", "100 outputs"  # what comes after the last block
_PART = 50  # images of each task at once: features in float64 then stay small. It is the batch of the treatment "batch"


@dataclass(frozen=True)
class Images:
    """How many images of each task a line is measured on."""
    features: int  # test images whose features are compared
    test: int  # test images for accuracies, those of the features among them
    statistics: int  # training images from which BatchNorm's statistics are estimated anew


def line(recipe_i: Recipe, recipe_j: Recipe, images: Images, alphas: tuple[float, ...],
         device: str = "auto") -> xarray.Dataset:
    """All numbers of the line between two finetuned networks, kept on disk line by line.

    Args:
        recipe_i, recipe_j: of the two ends.
        images: how many are looked at.
        alphas: positions on the line, from 0 to 1.
        device: to measure on.

    Returns:
        A Dataset without attributes over treatment, alpha, layer, task, place, control, image, picture and bin; see
        `pairs.measure`. The layers are the blocks; "pooled", the last block averaged over each channel's pixels, which
        is what the head is given; "10 outputs", those of the classes of the two tasks; and "100 outputs", all.
    """
    ingredients = [recipe_i.key, recipe_j.key, asdict(images), alphas]

    def measure_line():
        networks = zoo.get_all([recipe_i, recipe_j], device)
        tasks = [dict(recipe.options)["splits"][0] for recipe in (recipe_i, recipe_j)]
        tests = [images_of(task, "test", images.test) for task in tasks]
        trains = [images_of(task, "train", images.statistics)[0] for task in tasks]
        statistics = shuffled(torch.cat(trains))
        states = [network.state_dict() for network in networks]
        lines = []
        for treatment in TREATMENTS:
            shown = {}  # {α: the network on the line, under this treatment}
            for alpha in alphas:
                network = ResNet18.from_state(weights.interpolate(*states, alpha))
                shown[alpha] = treated(network, treatment, statistics, device)
            lines.append(_along(networks, shown, tasks, tests, images.features, device))
        distance = weights.norm(weights.subtract(*map(weights_alone, networks)))
        controls = _controls(networks, tasks, tests, trains, statistics, device)
        lines = xarray.concat(lines, xarray.DataArray(list(TREATMENTS), dims="treatment", name="treatment"))
        return lines.assign(distance=distance, control_right=controls)

    return cached("line", {"line": ingredients}, measure_line).drop_attrs()


def images_of(task: int, part: str, size: int | None) -> tuple[Tensor, Tensor]:
    """The first `size` images (samples, 3, 32, 32) and labels (samples,) of a split, in an order that mixes its
    classes; None: all of them."""
    dataset = data.load(cast.SPLIT_CIFAR, part, splits=(task,))
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))[:size]
    return dataset.x[order], dataset.y[order]


def shuffled(x: Tensor) -> Tensor:
    """The images (samples, …) in another order, so that every batch holds some of all tasks."""
    return x[torch.randperm(len(x), generator=torch.Generator().manual_seed(0))]


def weights_alone(network: nn.Module) -> dict[str, Tensor]:
    """The state dict without running statistics: they are measured, not learned."""
    return {name: parameter.detach() for name, parameter in network.named_parameters()}


def own_right(network: ResNet18, treatment: str, task: int, test: tuple[Tensor, Tensor], train: tuple[Tensor, Tensor],
              device: str = "auto") -> np.ndarray:
    """Which test images (samples,) the network calls by their name, 0 or 1, under one treatment of BatchNorm, if it
    chooses among the split's five classes.

    Args:
        network: to ask.
        treatment: one of `TREATMENTS`.
        task: the split.
        test: (images, labels) that it is asked about.
        train: (images, labels) from which "re-estimated" estimates the statistics.
        device: to ask it on.
    """
    shown = treated(network, treatment, train[0], device)
    return _right(_logits(shown, test[0], device), test[1], task)


def _logits(network, x, device):
    device = training.resolve(device)
    return torch.cat([network(part.to(device)).cpu() for part in x.split(BATCH)])


# -- along the line --------------------------------------------------------------------------------


def _along(ends, networks, tasks, tests, of_features, device):
    """All numbers of one line under one treatment, with the networks {α: network} on it."""
    device = training.resolve(device)
    parts = [torch.cat(two).to(device) for two in zip(*(x.split(_PART) for x, _ in tests))]

    def pictured(network, logits, alpha):
        return _pictured(logits[:len(parts[0])], tasks)

    line = linearity.along(lambda network, x: named(network.features(x), tasks),
                           *(network.state_dict() for network in ends), list(networks),
                           parts=parts[:-(-of_features // _PART)], also=pictured,
                           network=lambda state, alpha: networks[alpha])
    logits = {place: [networks[alpha](x).cpu() for x in parts] for place, alpha in PLACES.items()}
    at_places = _answered(logits, tasks, [y for _, y in tests])
    return line.assign(at_places).assign_coords(task=["i", "j"], place=list(PLACES))


def named(features: dict[str, Tensor], tasks: Sequence[int]) -> dict[str, Tensor]:
    """What `ResNet18.features` gives, as it is compared: a vector an image (LLFC's code flattens channels and pixels).

    Args:
        features: {"block 1": (samples, channels, height, width), …, "output": (samples, classes)}.
        tasks: the splits whose outputs are "10 outputs".

    Returns:
        {layer: (samples, width)} on the CPU, with the layers of `line`.
    """
    *blocks, _ = features
    layers = {block: features[block].flatten(1).cpu() for block in blocks}
    layers[POOLED] = features[blocks[-1]].mean((2, 3)).cpu()
    output = features["output"].cpu()
    layers[TEN] = torch.cat([output[:, outputs_of(task)] for task in tasks], 1)
    layers[HUNDRED] = output
    return layers


def _answered(logits, tasks, labels):
    """Which of all test images are called by their name at the places asked: by the network there ("right") and by the
    two ends' outputs, mixed ("mixed_right").

    Args:
        logits: {place: [(samples of both tasks, classes) of every part]}.
    """
    correct = {"right": [], "mixed_right": []}
    for place, alpha in PLACES.items():
        mixed = [linearity.mix(of_i, of_j, alpha) for of_i, of_j in zip(logits["θᵢ"], logits["θⱼ"])]
        for name, parts in (("right", logits[place]), ("mixed_right", mixed)):
            of_task = zip(torch.cat([_by_task(part) for part in parts], 1), labels, tasks)
            correct[name].append([_right(some, y, task) for some, y, task in of_task])
    return {name: (("place", "task", "image"), np.array(values)) for name, values in correct.items()}


def _pictured(logits, tasks):
    """What a network calls the first test images, and with what probability among the five of a split."""
    rows = []
    for of_task, task in zip(_by_task(logits), tasks):
        outputs = outputs_of(task)
        confidence, answer = of_task[:EXAMPLES, outputs].softmax(1).max(1)
        rows.append(((answer + outputs.start).tolist(), confidence.tolist()))
    return {name: (("task", "picture"), list(values)) for name, values in zip(("answer", "confidence"), zip(*rows))}


def _right(logits, y, task):
    """(samples,) of 0 and 1: which images are called by their name, among the five of the split. Where a logit is not a
    number, the answer is wrong."""
    outputs = outputs_of(task)
    among = logits[:, outputs]
    right = (among.argmax(1) + outputs.start == y) & among.isfinite().all(1)
    return right.numpy().astype(np.int8)


def _controls(networks, tasks, tests, trains, statistics, device):
    """Which test images the half-way network calls by their name in two other ways, over control, task and image.

    "fresh ends": the statistics are mixed like weights, but those of the ends were estimated anew before, each on
    images of its own task. "own rows": the statistics are estimated anew, and each task is read with the rows of the
    head that learned it, not with the mixed ones.
    """
    fresh = [treated(network, "re-estimated", x, device).cpu().state_dict() for network, x in zip(networks, trains)]
    states = [network.state_dict() for network in networks]
    mixed = weights.interpolate(*states, PLACES["half-way"])
    own_rows = dict(mixed)
    for key in ("head.weight", "head.bias"):
        own_rows[key] = mixed[key].clone()
        for state, task in zip(states, tasks):
            own_rows[key][outputs_of(task)] = state[key][outputs_of(task)]
    fresh_ends = ResNet18.from_state(weights.interpolate(*fresh, 0.5))
    asked = {FRESH_ENDS: treated(fresh_ends, "interpolated", statistics, device),
             OWN_ROWS: treated(ResNet18.from_state(own_rows), "re-estimated", statistics, device)}
    right = [[_right(_logits(network, x, device), y, task) for (x, y), task in zip(tests, tasks)]
             for network in asked.values()]
    return xarray.DataArray(np.array(right), dims=("control", "task", "image"), coords={"control": list(asked)})


def _by_task(logits):
    """(2 · samples, classes) -> (2, samples, classes): a part holds as many images of either task."""
    return logits.view(2, -1, cast.CLASSES)
