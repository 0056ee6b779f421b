"""One line between two ResNets that were finetuned on different splits, under every treatment of BatchNorm."""
from dataclasses import dataclass, field

import torch
import xarray
from torch import Tensor, nn

import data
from lessons import cast
from lessons.kit.sweep import cached, on_grid, summarise
from lessons.linearity import algorithms
from lessons.linearity.algorithms import TREATMENTS, treated
from lessons.suites import outputs_of, share_correct_among
from toy_models import Recipe, ResNet18, training, weights, zoo

EXAMPLES = 4  # test images of every task that the sweeps keep, to look at
_PART = 50  # images of each task at once: features in float64 then stay small. It is the batch of the treatment "batch"


def line(recipe_i: Recipe, recipe_j: Recipe, test_images: int, statistics_images: int, alphas: tuple[float, ...],
         device: str = "auto") -> xarray.Dataset:
    """All numbers of the line between two finetuned networks, kept on disk line by line.

    Args:
        recipe_i, recipe_j: of the two ends.
        test_images: per task.
        statistics_images: training images per task from which BatchNorm's statistics are estimated anew.
        alphas: positions on the line, from 0 to 1.
        device: to measure on.

    Returns:
        A Dataset over treatment, alpha, layer, task and bin, without attributes.
    """
    ingredients = [recipe_i.key, recipe_j.key, test_images, statistics_images, alphas]

    def measure_line():
        networks = zoo.get_all([recipe_i, recipe_j], device)
        tasks = [dict(recipe.options)["splits"][0] for recipe in (recipe_i, recipe_j)]
        tests = [images_of(task, "test", test_images) for task in tasks]
        statistics = torch.cat([images_of(task, "train", statistics_images)[0] for task in tasks])
        found = []
        for treatment in TREATMENTS:
            shown = _networks(networks, alphas, treatment, statistics, device)
            found.append(_along(shown, tasks, tests, alphas, device))
        distance = weights.norm(weights.subtract(*map(weights_alone, networks)))
        found = xarray.concat(found, xarray.DataArray(list(TREATMENTS), dims="treatment", name="treatment"))
        return found.assign(distance=distance)

    return cached("line", {"line": ingredients}, measure_line).drop_attrs()


def images_of(task: int, part: str, size: int | None) -> tuple[Tensor, Tensor]:
    """The first `size` images (samples, 3, 32, 32) and labels (samples,) of a split, in an order that mixes its
    classes; None: all of them."""
    dataset = data.load(cast.SPLIT_CIFAR, part, splits=(task,))
    order = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))[:size]
    return dataset.x[order], dataset.y[order]


def weights_alone(network: nn.Module) -> dict[str, Tensor]:
    """The state dict without running statistics: they are measured, not learned."""
    return {name: parameter.detach() for name, parameter in network.named_parameters()}


def own_accuracy(network: ResNet18, treatment: str, task: int, test, train, device: str = "auto") -> float:
    """The share correct among a split's five classes, of the network under one treatment of BatchNorm.

    Args:
        network: to ask.
        treatment: one of `TREATMENTS`.
        task: the split.
        test: (images, labels) that it is asked about.
        train: (images, labels) from which "re-estimated" estimates the statistics.
        device: to ask it on.
    """
    shown = treated(network, treatment, train[0], device)
    device = training.resolve(device)
    logits = torch.cat([shown(x.to(device)).cpu() for x in test[0].split(algorithms.BATCH)])
    return share_correct_among(logits, test[1], task)


# -- along the line --------------------------------------------------------------------------------

@dataclass
class _Point:
    """What is collected at one α, part by part of the images.

    Attributes:
        outputs: logits of the network there, [(task, samples, classes)].
        mixed: the ends' logits, mixed, likewise.
        quantities: {layer: {"gap" or "coef": [(samples,)]}}.
    """
    outputs: list[Tensor] = field(default_factory=list)
    mixed: list[Tensor] = field(default_factory=list)
    quantities: dict[str, dict[str, list[Tensor]]] = field(default_factory=dict)

    def add(self, features, features_i, features_j, alpha):
        """Take in another part: features {layer: (samples, width)} of the network at α and of the two ends."""
        mixed = algorithms.mix(features_i["output"], features_j["output"], alpha)
        self.outputs.append(_by_task(features["output"]))
        self.mixed.append(_by_task(mixed))
        for layer, measured in algorithms.ctl(features, features_i, features_j, alpha).items():
            of_layer = self.quantities.setdefault(layer, {})
            for name, values in measured.items():
                of_layer.setdefault(name, []).append(values)

    def summaries(self):
        """A summary for every layer, as `on_grid` joins them."""
        return [summarise(_joined(parts)) for parts in self.quantities.values()]


def _networks(ends, alphas, treatment, statistics, device):
    """The networks on the line, under one treatment."""
    states = [network.state_dict() for network in ends]
    found = []
    for alpha in alphas:
        network = ResNet18.from_state(weights.interpolate(*states, alpha))
        found.append(treated(network, treatment, statistics, device))
    return found


def _along(networks, tasks, tests, alphas, device):
    """All numbers of one line under one treatment; the networks are those at `alphas`, of which the first is θ_j."""
    (x_i, y_i), (x_j, y_j) = tests
    device = training.resolve(device)
    points = [_Point() for _ in alphas]
    own = {}
    for parts in zip(x_i.split(_PART), x_j.split(_PART)):
        x = torch.cat(parts).to(device)
        end_j, *_, end_i = networks
        features_i = _doubled(_flat(end_i.features(x)))
        features_j = _doubled(_flat(end_j.features(x)))
        for layer in features_i:
            distances = algorithms.own_distance(features_i[layer], features_j[layer])
            own.setdefault(layer, []).append(distances)
        for point, alpha, network in zip(points, alphas, networks):
            at_end = {end_i: features_i, end_j: features_j}.get(network)
            features = at_end or _flat(network.features(x))
            point.add(features, features_i, features_j, alpha)
    layers = list(own)
    summaries = [summary for point in points for summary in point.summaries()]
    own = [summarise({"own": torch.cat(parts)}) for parts in own.values()]
    found = on_grid(summaries, alpha=alphas, layer=layers).merge(on_grid(own, layer=layers))
    return found.assign(_said(points, tasks, (y_i, y_j))).assign_coords(task=["i", "j"])


def _said(points, tasks, labels):
    """What the networks of a line say of the images of both tasks, as variables over alpha, task and image."""
    names = ("loss", "accuracy", "mixed_accuracy", "answer", "confidence")
    found = {name: [] for name in names}
    for point in points:
        outputs = torch.cat(point.outputs, 1)
        mixed = torch.cat(point.mixed, 1)
        rows = []
        for logits, mixed_logits, y, task in zip(outputs, mixed, labels, tasks):
            mixed_accuracy = share_correct_among(mixed_logits, y, task)
            rows.append((*_score(logits, y, task), mixed_accuracy, *_answers(logits[:EXAMPLES], task)))
        for name, column in zip(names, zip(*rows)):
            found[name].append(column)
    dims = ("alpha", "task", "image")
    return {name: (dims if name in ("answer", "confidence") else dims[:2], values) for name, values in found.items()}


def _score(logits, y, task):
    """Loss and accuracy among the five classes of a split."""
    outputs = outputs_of(task)
    return algorithms.evaluate(logits[:, outputs], y - outputs.start)


def _answers(logits, task):
    """The classes that the network names, and with what probability among the five of the split."""
    outputs = outputs_of(task)
    confidence, answer = logits[:, outputs].softmax(1).max(1)
    return (answer + outputs.start).tolist(), confidence.tolist()


def _flat(features):
    """Features as CTL compares them: one vector per image (LLFC's code flattens channels and pixels)."""
    return {layer: value.flatten(1).cpu() for layer, value in features.items()}


def _doubled(features):
    return {layer: value.double() for layer, value in features.items()}


def _by_task(logits):
    """(2 · samples, classes) -> (2, samples, classes): a part holds as many images of either task."""
    return logits.view(2, -1, cast.CLASSES)


def _joined(parts):
    return {name: torch.cat(values) for name, values in parts.items()}
