"""Answers to the exercises of chapter 1."""
import copy

import numpy as np
import torch
import torch.nn.functional as F

from tests.natural import Natural

# -- 1.1: interpolate two state dicts ----------------------------------------------------------------


def floats(mix):
    """A state dict mixed where it holds weights; whole numbers are a's."""
    return lambda a, b, alpha: {k: mix(a[k], b[k], alpha) if a[k].is_floating_point() else a[k].clone() for k in a}


def counted(count):
    """Weights mixed as they should be, and counters by `count`."""
    def answer(a, b, alpha):
        return {k: alpha * a[k] + (1 - alpha) * b[k] if a[k].is_floating_point() else count(a[k], b[k], alpha)
                for k in a}
    return answer


def everything(mix):
    return lambda a, b, alpha: {k: mix(a[k], b[k], alpha) for k in a}


def into_a(a, b, alpha):
    for k in a:
        if a[k].is_floating_point():
            a[k] = alpha * a[k] + (1 - alpha) * b[k]
    return a


def tensors_in_place(a, b, alpha):
    mixed = dict(a)
    for k in mixed:
        if mixed[k].is_floating_point():
            mixed[k].mul_(alpha).add_(b[k], alpha=1 - alpha)
    return mixed


def returns_in_the_loop(a, b, alpha):
    mixed = {}
    for k in a:
        mixed[k] = alpha * a[k] + (1 - alpha) * b[k]
        return mixed


def deep_copy(a, b, alpha):
    mixed = copy.deepcopy(a)
    for k in mixed:
        if mixed[k].is_floating_point():
            mixed[k].mul_(alpha).add_(b[k], alpha=1 - alpha)
    return mixed


def by_place(a, b, alpha):
    return {k: alpha * p + (1 - alpha) * q if p.is_floating_point() else p
            for (k, p), q in zip(a.items(), b.values())}


INTERPOLATE = [
    Natural("1.1", "shares exchanged", floats(lambda p, q, alpha: (1 - alpha) * p + alpha * q)),
    Natural("1.1", "lerp from a to b", floats(lambda p, q, alpha: torch.lerp(p, q, alpha))),
    Natural("1.1", "no thought of counters", everything(lambda p, q, alpha: alpha * p + (1 - alpha) * q)),
    Natural("1.1", "review: the state-dict idiom, .to(dtype)",
            everything(lambda p, q, alpha: (alpha * p + (1 - alpha) * q).to(p.dtype))),
    Natural("1.1", "review: lerp on everything", everything(lambda p, q, alpha: torch.lerp(q, p, alpha))),
    Natural("1.1", "counters rounded", counted(lambda p, q, alpha: (alpha * p + (1 - alpha) * q).round().long())),
    Natural("1.1", "b's counters", counted(lambda p, q, alpha: q)),
    Natural("1.1", "review: the larger counter", counted(lambda p, q, alpha: torch.maximum(p, q))),
    Natural("1.1", "counters added", counted(lambda p, q, alpha: p + q)),
    Natural("1.1", "counters set to 0", counted(lambda p, q, alpha: torch.zeros_like(p))),
    Natural("1.1", "counters left out", lambda a, b, alpha: {k: alpha * a[k] + (1 - alpha) * b[k] for k in a
                                                             if a[k].is_floating_point()}),
    Natural("1.1", "written into a", into_a),
    Natural("1.1", "a shallow copy, tensors in place", tensors_in_place),
    Natural("1.1", "return inside the loop", returns_in_the_loop),
    Natural("1.1", "parentheses forgotten", floats(lambda p, q, alpha: alpha * p + 1 - alpha * q)),
    Natural("1.1", "half of each", floats(lambda p, q, alpha: (p + q) / 2)),
    Natural("1.1", "dicts multiplied", lambda a, b, alpha: alpha * a + (1 - alpha) * b),
    Natural("1.1", "only the weights, biases are a's", lambda a, b, alpha: {
        k: alpha * a[k] + (1 - alpha) * b[k] if k.endswith("weight") else a[k] for k in a}),
    Natural("1.1", "dtype compared with Python's float", lambda a, b, alpha: {
        k: alpha * a[k] + (1 - alpha) * b[k] if a[k].dtype == float else a[k] for k in a}),
    Natural("1.1", "float32 alone counts as weight", lambda a, b, alpha: {
        k: alpha * a[k] + (1 - alpha) * b[k] if a[k].dtype == torch.float32 else a[k] for k in a}),
    Natural("1.1", "a list of tensors", lambda a, b, alpha: [alpha * a[k] + (1 - alpha) * b[k] for k in a]),
    Natural("1.1", "from a away from b", floats(lambda p, q, alpha: p + alpha * (p - q))),
    Natural("1.1", "pairs by place, not by name", by_place),
]

# -- 1.2: the barrier ---------------------------------------------------------------------------------


def arrays(function):
    """The answer of someone who makes tensors of both lists first."""
    return lambda losses, alphas: function(torch.as_tensor(losses).double(), torch.as_tensor(alphas).double())


def line(losses, alphas):
    return alphas * losses[-1] + (1 - alphas) * losses[0]


def without_numpy(losses, alphas):
    highest = 0
    for loss, alpha in zip(losses, alphas):
        highest = max(highest, loss - alpha * losses[-1] - (1 - alpha) * losses[0])
    return highest


BARRIER = [
    Natural("1.2", "ends exchanged",
            arrays(lambda losses, alphas: (losses - alphas * losses[0] - (1 - alphas) * losses[-1]).max().item())),
    Natural("1.2", "review: an even grid in place of alphas", arrays(lambda losses, alphas: (
        losses - line(losses, torch.linspace(0, 1, len(losses)).double())).max().item())),
    Natural("1.2", "highest over the ends' mean",
            arrays(lambda losses, alphas: (losses.max() - (losses[0] + losses[-1]) / 2).item())),
    Natural("1.2", "highest over the worse end",
            arrays(lambda losses, alphas: (losses.max() - max(losses[0], losses[-1])).item())),
    Natural("1.2", "highest over the better end",
            arrays(lambda losses, alphas: (losses.max() - min(losses[0], losses[-1])).item())),
    Natural("1.2", "review: the line under the highest loss",
            arrays(lambda losses, alphas: (losses - line(losses, alphas))[losses.argmax()].item())),
    Natural("1.2", "how far from the line, up or down",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).abs().max().item())),
    Natural("1.2", "line minus loss", arrays(lambda losses, alphas: (line(losses, alphas) - losses).max().item())),
    Natural("1.2", "lowest instead of highest",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).min().item())),
    Natural("1.2", "ends left out",
            arrays(lambda losses, alphas: (losses - line(losses, alphas))[1:-1].max().item())),
    Natural("1.2", "mean rise", arrays(lambda losses, alphas: (losses - line(losses, alphas)).mean().item())),
    Natural("1.2", "half-way only",
            arrays(lambda losses, alphas: (losses[len(losses) // 2] - (losses[0] + losses[-1]) / 2).item())),
    Natural("1.2", "no maximum", arrays(lambda losses, alphas: losses - line(losses, alphas))),
    Natural("1.2", "where instead of how much",
            arrays(lambda losses, alphas: alphas[(losses - line(losses, alphas)).argmax()].item())),
    Natural("1.2", "index instead of value",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).argmax().item())),
    Natural("1.2", "parentheses forgotten",
            arrays(lambda losses, alphas: (losses - alphas * losses[-1] + (1 - alphas) * losses[0]).max().item())),
    Natural("1.2", "rise over the first end", arrays(lambda losses, alphas: (losses - losses[0]).max().item())),
    Natural("1.2", "max(0), values and indices",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).max(0))),
    Natural("1.2", "as a share of the line",
            arrays(lambda losses, alphas: ((losses - line(losses, alphas)) / line(losses, alphas)).max().item())),
    Natural("1.2", "highest loss minus highest of the line",
            arrays(lambda losses, alphas: losses.max() - line(losses, alphas).max())),
]

# -- 1.3: the cosine gap ------------------------------------------------------------------------------


def mixed(features_i, features_j, alpha):
    return alpha * features_i + (1 - alpha) * features_j


def gap(compare):
    """1 minus `compare` of the interpolated and the mixed features."""
    return lambda features_alpha, features_i, features_j, alpha: 1 - compare(
        features_alpha, mixed(features_i, features_j, alpha))


def cosine(a, b):
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))


def normalised_first(features_alpha, features_i, features_j, alpha):
    mix = mixed(F.normalize(features_i, dim=1), F.normalize(features_j, dim=1), alpha)
    return 1 - F.cosine_similarity(features_alpha, mix)


def with_loops(features_alpha, features_i, features_j, alpha):
    gaps = []
    for x, p, q in zip(features_alpha.numpy(), features_i.numpy(), features_j.numpy()):
        m = alpha * p + (1 - alpha) * q
        gaps.append(1 - x.dot(m) / (np.linalg.norm(x) * np.linalg.norm(m)))
    return gaps


GAP = [
    Natural("1.3", "the cosine itself", lambda x, p, q, alpha: F.cosine_similarity(x, mixed(p, q, alpha))),
    Natural("1.3", "shares exchanged", lambda x, p, q, alpha: 1 - cosine(x, mixed(q, p, alpha))),
    Natural("1.3", "mean over samples", gap(lambda x, m: F.cosine_similarity(x, m).mean())),
    Natural("1.3", "along the samples", gap(lambda x, m: F.cosine_similarity(x, m, dim=0))),
    Natural("1.3", "review: ends normalised before they are mixed", normalised_first),
    Natural("1.3", "review: mix of the two cosines",
            lambda x, p, q, alpha: 1 - alpha * cosine(x, p) - (1 - alpha) * cosine(x, q)),
    Natural("1.3", "review: norm without dim", gap(lambda x, m: (x * m).sum(1) / (x.norm() * m.norm()))),
    Natural("1.3", "norm(1) for dim=1", gap(lambda x, m: (x * m).sum(1) / (x.norm(1) * m.norm(1)))),
    Natural("1.3", "between the two ends", lambda x, p, q, alpha: 1 - cosine(p, q)),
    Natural("1.3", "to θ_i alone", lambda x, p, q, alpha: 1 - cosine(x, p)),
    Natural("1.3", "no norms", gap(lambda x, m: (x * m).sum(1))),
    Natural("1.3", "one norm", gap(lambda x, m: (x * m).sum(1) / m.norm(dim=1))),
    Natural("1.3", "parentheses forgotten", gap(lambda x, m: (x * m).sum(1) / x.norm(dim=1) * m.norm(dim=1))),
    Natural("1.3", "roots forgotten", gap(lambda x, m: (x * m).sum(1) / ((x ** 2).sum(1) * (m ** 2).sum(1)))),
    Natural("1.3", "without the sign", gap(lambda x, m: cosine(x, m).abs())),
    Natural("1.3", "the angle", lambda x, p, q, alpha: torch.arccos(cosine(x, mixed(p, q, alpha)))),
    Natural("1.3", "half of each", lambda x, p, q, alpha: 1 - cosine(x, (p + q) / 2)),
    Natural("1.3", "dimension kept", gap(lambda x, m: cosine(x, m)[:, None])),
    Natural("1.3", "every sample with every other", gap(lambda x, m: F.normalize(x) @ F.normalize(m).T)),
    Natural("1.3", "distance instead of angle", lambda x, p, q, alpha: (x - mixed(p, q, alpha)).norm(dim=1)),
    Natural("1.3", "features centred first",
            gap(lambda x, m: cosine(x - x.mean(1, keepdim=True), m - m.mean(1, keepdim=True)))),
    Natural("1.3", "all samples as one vector", gap(lambda x, m: F.cosine_similarity(x.flatten(), m.flatten(), dim=0))),
]

# -- 1.4: coef ----------------------------------------------------------------------------------------

COEF = [
    Natural("1.4", "the cosine alone", lambda a, b: F.cosine_similarity(a, b)),
    Natural("1.4", "the ratio of lengths alone", lambda a, b: a.norm(dim=1) / b.norm(dim=1)),
    Natural("1.4", "over a's length", lambda a, b: (a * b).sum(1) / (a * a).sum(1)),
    Natural("1.4", "‖b‖ forgotten", lambda a, b: a.norm(dim=1) * F.cosine_similarity(a, b)),
    Natural("1.4", "the product alone", lambda a, b: (a * b).sum(1)),
    Natural("1.4", "review: abs", lambda a, b: ((a * b).sum(1) / (b * b).sum(1)).abs()),
    Natural("1.4", "norms without dim", lambda a, b: a.norm() * F.cosine_similarity(a, b) / b.norm()),
    Natural("1.4", "norm(1) for dim=1", lambda a, b: a.norm(1) * F.cosine_similarity(a, b) / b.norm(1)),
    Natural("1.4", "1-norms", lambda a, b: a.norm(p=1, dim=1) * cosine(a, b) / b.norm(p=1, dim=1)),
    Natural("1.4", "along the samples", lambda a, b: (a * b).sum(0) / (b * b).sum(0)),
    Natural("1.4", "mean over samples", lambda a, b: ((a * b).sum(1) / (b * b).sum(1)).mean()),
    Natural("1.4", "dimension kept", lambda a, b: (a * b).sum(1, keepdim=True) / (b * b).sum(1, keepdim=True)),
    Natural("1.4", "1 minus", lambda a, b: 1 - (a * b).sum(1) / (b * b).sum(1)),
    Natural("1.4", "times ‖b‖", lambda a, b: a.norm(dim=1) * F.cosine_similarity(a, b) * b.norm(dim=1)),
    Natural("1.4", "the cosine gap for the cosine",
            lambda a, b: a.norm(dim=1) * (1 - F.cosine_similarity(a, b)) / b.norm(dim=1)),
    Natural("1.4", "unit by unit", lambda a, b: (a / b).mean(1)),
    Natural("1.4", "the dot product for the cosine", lambda a, b: a.norm(dim=1) * (a * b).sum(1) / b.norm(dim=1)),
    Natural("1.4", "every sample with every other", lambda a, b: (a @ b.T) / (b * b).sum(1)),
    Natural("1.4", "all samples at once", lambda a, b: (a * b).sum() / (b * b).sum()),
]

# -- 1.5: where CTL is worst, and 1.6 -------------------------------------------------------------------


def place(reduced):
    """Names of pair and layer where a (pair, layer) array is largest."""
    return reduced.stack(place=("pair", "layer")).idxmax("place").item()


def middle_index(gap):
    pair, layer, _ = np.unravel_index(gap.values.argmax(), gap.shape)
    return gap.pair[pair].item(), gap.layer[layer].item()


def numbers_of(gap):
    pair, _, layer = np.unravel_index(gap.values.argmax(), gap.shape)
    return int(pair), int(layer)


WORST = [
    Natural("1.5", "mean over alpha", lambda gap: place(gap.mean("alpha"))),
    Natural("1.5", "layer first", lambda gap: place(gap.max("alpha"))[::-1]),
    Natural("1.5", "smallest", lambda gap: place(-gap.max("alpha"))),
    Natural("1.5", "smallest over alpha, largest of those", lambda gap: place(gap.min("alpha"))),
    Natural("1.5", "half-way", lambda gap: place(gap.sel(alpha=0.5, method="nearest"))),
    Natural("1.5", "review: the last alpha", lambda gap: place(gap.isel(alpha=-1))),
    Natural("1.5", "review: the answer on the first case", lambda gap: ("near", "layer 1")),
    Natural("1.5", "numbers instead of names", numbers_of),
    Natural("1.5", "the gap itself", lambda gap: gap.max().item()),
    Natural("1.5", "alpha too", lambda gap: gap.to_series().idxmax()),
    Natural("1.5", "averaged over the other axis", lambda gap: (
        gap.max("alpha").mean("layer").idxmax("pair").item(), gap.max("alpha").mean("pair").idxmax("layer").item())),
    Natural("1.5", "the flat index", lambda gap: gap.argmax()),
    Natural("1.5", "a dict", lambda gap: gap.max("alpha").argmax(["pair", "layer"])),
    Natural("1.5", "the last layer of the worst pair",
            lambda gap: (gap.max(["alpha", "layer"]).idxmax("pair").item(), gap.layer[-1].item())),
    Natural("1.5", "the middle index for the layer", middle_index),
    Natural("1.5", "summed over layers for the pair",
            lambda gap: (gap.sum(["alpha", "layer"]).idxmax("pair").item(),
                         gap.max(["alpha", "pair"]).idxmax("layer").item())),
    Natural("1.6", "apart in weight space", "a"),
    Natural("1.6", "no ReLU", "(C)"),
    Natural("1.6", "learned less well", "d"),
    Natural("1.6", "two letters", "a and b"),
]

WRONG = [*INTERPOLATE, *BARRIER, *GAP, *COEF, *WORST]

RIGHT = [
    Natural("1.1", "a deep copy, then in place", deep_copy),
    Natural("1.1", "lerp from b", floats(lambda p, q, alpha: torch.lerp(q, p, alpha))),
    Natural("1.1", "in float64", floats(lambda p, q, alpha: alpha * p.double() + (1 - alpha) * q.double())),
    Natural("1.1", "numpy", floats(lambda p, q, alpha: alpha * p.numpy() + (1 - alpha) * q.numpy())),
    Natural("1.1", "review: the counter is a's very tensor", counted(lambda p, q, alpha: p)),
    Natural("1.1", "whole numbers by dtype", lambda a, b, alpha: {
        k: a[k] if a[k].dtype in (torch.int64, torch.int32) else b[k] + alpha * (a[k] - b[k]) for k in a}),
    Natural("1.2", "a loop", without_numpy),
    Natural("1.2", "numpy.interp", lambda losses, alphas: np.max(
        np.array(losses) - np.interp(alphas, [0, 1], [losses[0], losses[-1]]))),
    Natural("1.2", "a tensor of no dimension", arrays(lambda losses, alphas: (losses - line(losses, alphas)).max())),
    Natural("1.2", "in float32", lambda losses, alphas: (
        torch.tensor(losses) - line(torch.tensor(losses), torch.tensor(alphas))).max()),
    Natural("1.3", "torch's cosine_similarity", gap(F.cosine_similarity)),
    Natural("1.3", "normalised, then multiplied", gap(lambda x, m: (F.normalize(x) * F.normalize(m)).sum(1))),
    Natural("1.3", "loops and numpy", with_loops),
    Natural("1.3", "einsum in float64", gap(lambda x, m: torch.einsum(
        "sw,sw->s", x.double(), m.double()) / x.double().norm(dim=1) / m.double().norm(dim=1))),
    Natural("1.4", "as the formula reads", lambda a, b: a.norm(dim=1) * F.cosine_similarity(a, b) / b.norm(dim=1)),
    Natural("1.4", "a diagonal", lambda a, b: (a @ b.T).diagonal() / (b ** 2).sum(dim=1)),
    Natural("1.4", "lists", lambda a, b: [float(p.dot(q) / q.dot(q)) for p, q in zip(a, b)]),
    Natural("1.5", "pandas", lambda gap: gap.max("alpha").to_series().idxmax()),
    Natural("1.5", "review: an array of two", lambda gap: np.array(place(gap.max("alpha")))),
    Natural("1.5", "review: DataArrays of no dimension", lambda gap: (
        gap.max(["alpha", "layer"]).idxmax("pair"), gap.max(["alpha", "pair"]).idxmax("layer"))),
    Natural("1.5", "a list", lambda gap: list(place(gap.max("alpha")))),
    Natural("1.6", "review: a capital", "B"),
    Natural("1.6", "review: in parentheses", "(b)"),
    Natural("1.6", "review: with a space", "b "),
]
