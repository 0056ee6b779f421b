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
    Natural("1.1", "shares exchanged", floats(lambda p, q, alpha: (1 - alpha) * p + alpha * q),
            "Every tensor is there, but"),
    Natural("1.1", "lerp from a to b", floats(lambda p, q, alpha: torch.lerp(p, q, alpha)),
            "Every tensor is there, but"),
    Natural("1.1", "no thought of counters", everything(lambda p, q, alpha: alpha * p + (1 - alpha) * q),
            "also mixed “num_batches_tracked”, a whole"),
    Natural("1.1", "review: the state-dict idiom, .to(dtype)",
            everything(lambda p, q, alpha: (alpha * p + (1 - alpha) * q).to(p.dtype)),
            "you also mixed “num_batches_tracked”, and"),
    Natural("1.1", "review: lerp on everything", everything(lambda p, q, alpha: torch.lerp(q, p, alpha)),
            "The line is right for"),
    Natural("1.1", "counters rounded", counted(lambda p, q, alpha: (alpha * p + (1 - alpha) * q).round().long()),
            "right. The counter is a"),
    Natural("1.1", "b's counters", counted(lambda p, q, alpha: q), "but the counter is b's"),
    Natural("1.1", "review: the larger counter", counted(lambda p, q, alpha: torch.maximum(p, q)),
            "right. The counter is the"),
    Natural("1.1", "counters added", counted(lambda p, q, alpha: p + q), "weights are right. The counters"),
    Natural("1.1", "counters set to 0", counted(lambda p, q, alpha: torch.zeros_like(p)), "but the counter is set"),
    Natural("1.1", "counters left out", lambda a, b, alpha: {k: alpha * a[k] + (1 - alpha) * b[k] for k in a
                                                             if a[k].is_floating_point()},
            "weights are right, but “num_batches_tracked”"),
    Natural("1.1", "written into a", into_a, "Your function changed one of"),
    Natural("1.1", "a shallow copy, tensors in place", tensors_in_place, "Your function changed one of"),
    Natural("1.1", "return inside the loop", returns_in_the_loop, "Only the first tensor came"),
    Natural("1.1", "parentheses forgotten", floats(lambda p, q, alpha: alpha * p + 1 - alpha * q),
            "Python multiplies before it subtracts"),
    Natural("1.1", "half of each", floats(lambda p, q, alpha: (p + q) / 2), "This is the average whatever"),
    Natural("1.1", "through float16", lambda a, b, alpha: {
        k: (alpha * a[k] + (1 - alpha) * b[k]).half().float() if a[k].is_floating_point() else a[k] for k in a},
            "rounds it to float16"),
    Natural("1.1", "weights alone came back", lambda a, b, alpha: {
        k: alpha * a[k] + (1 - alpha) * b[k] for k in a if "weight" in k}, "called “weight” came back"),
    Natural("1.1", "dicts multiplied", lambda a, b, alpha: alpha * a + (1 - alpha) * b,
            "Python does not multiply whole"),
    Natural("1.1", "only the weights, biases are a's", lambda a, b, alpha: {
        k: alpha * a[k] + (1 - alpha) * b[k] if k.endswith("weight") else a[k] for k in a},
            "Only the tensors called “weight”"),
    Natural("1.1", "dtype compared with Python's float", lambda a, b, alpha: {
        k: alpha * a[k] + (1 - alpha) * b[k] if a[k].dtype == float else a[k] for k in a}, "This is a, whatever b"),
    Natural("1.1", "float32 alone counts as weight", lambda a, b, alpha: {
        k: alpha * a[k] + (1 - alpha) * b[k] if a[k].dtype == torch.float32 else a[k] for k in a},
            "Only float32 tensors are mixed"),
    Natural("1.1", "a list of tensors", lambda a, b, alpha: [alpha * a[k] + (1 - alpha) * b[k] for k in a],
            "A list has lost the"),
    Natural("1.1", "from a away from b", floats(lambda p, q, alpha: p + alpha * (p - q)), "You start at a and"),
    Natural("1.1", "pairs by place, not by name", by_place, "In one case the two"),
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
            arrays(lambda losses, alphas: (losses - alphas * losses[0] - (1 - alphas) * losses[-1]).max().item()),
            "The straight line runs the"),
    Natural("1.2", "review: an even grid in place of alphas", arrays(lambda losses, alphas: (
        losses - line(losses, torch.linspace(0, 1, len(losses)).double())).max().item()), "Right where the α are"),
    Natural("1.2", "highest over the ends' mean",
            arrays(lambda losses, alphas: (losses.max() - (losses[0] + losses[-1]) / 2).item()),
            "You compare every point with"),
    Natural("1.2", "highest over the worse end",
            arrays(lambda losses, alphas: (losses.max() - max(losses[0], losses[-1])).item()),
            "You compare with the worse"),
    Natural("1.2", "highest over the better end",
            arrays(lambda losses, alphas: (losses.max() - min(losses[0], losses[-1])).item()),
            "You compare with the better"),
    Natural("1.2", "review: the line under the highest loss",
            arrays(lambda losses, alphas: (losses - line(losses, alphas))[losses.argmax()].item()),
            "You looked where the loss"),
    Natural("1.2", "how far from the line, up or down",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).abs().max().item()), "A valley is not a"),
    Natural("1.2", "line minus loss", arrays(lambda losses, alphas: (line(losses, alphas) - losses).max().item()),
            "That is how far the"),
    Natural("1.2", "lowest instead of highest",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).min().item()), "That is the lowest point"),
    Natural("1.2", "ends left out",
            arrays(lambda losses, alphas: (losses - line(losses, alphas))[1:-1].max().item()), "You left out the ends"),
    Natural("1.2", "mean rise", arrays(lambda losses, alphas: (losses - line(losses, alphas)).mean().item()),
            "That is the mean rise"),
    Natural("1.2", "half-way only",
            arrays(lambda losses, alphas: (losses[len(losses) // 2] - (losses[0] + losses[-1]) / 2).item()),
            "Right comparison, but only half-way"),
    Natural("1.2", "no maximum", arrays(lambda losses, alphas: losses - line(losses, alphas)), "That is the rise at"),
    Natural("1.2", "where instead of how much",
            arrays(lambda losses, alphas: alphas[(losses - line(losses, alphas)).argmax()].item()),
            "That is the α where"),
    Natural("1.2", "index instead of value",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).argmax().item()),
            "argmax gives the place of"),
    Natural("1.2", "parentheses forgotten",
            arrays(lambda losses, alphas: (losses - alphas * losses[-1] + (1 - alphas) * losses[0]).max().item()),
            "Only the first half of"),
    Natural("1.2", "rise over the first end", arrays(lambda losses, alphas: (losses - losses[0]).max().item()),
            "That is the rise over"),
    Natural("1.2", "max(0), values and indices",
            arrays(lambda losses, alphas: (losses - line(losses, alphas)).max(0)), "max(0) gives two things, the"),
    Natural("1.2", "as a share of the line",
            arrays(lambda losses, alphas: ((losses - line(losses, alphas)) / line(losses, alphas)).max().item()),
            "You divided by the line"),
    Natural("1.2", "highest loss minus highest of the line",
            arrays(lambda losses, alphas: losses.max() - line(losses, alphas).max()), "You compare with the worse"),
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
    Natural("1.3", "the cosine itself", lambda x, p, q, alpha: F.cosine_similarity(x, mixed(p, q, alpha)),
            "This is the cosine itself"),
    Natural("1.3", "shares exchanged", lambda x, p, q, alpha: 1 - cosine(x, mixed(q, p, alpha)),
            "The mix has its ends"),
    Natural("1.3", "mean over samples", gap(lambda x, m: F.cosine_similarity(x, m).mean()),
            "Right values, averaged too early"),
    Natural("1.3", "along the samples", gap(lambda x, m: F.cosine_similarity(x, m, dim=0)),
            "You took the cosine along"),
    Natural("1.3", "review: ends normalised before they are mixed", normalised_first, "You gave both ends length"),
    Natural("1.3", "review: mix of the two cosines",
            lambda x, p, q, alpha: 1 - alpha * cosine(x, p) - (1 - alpha) * cosine(x, q), "You mixed two cosines. Mix"),
    Natural("1.3", "review: norm without dim", gap(lambda x, m: (x * m).sum(1) / (x.norm() * m.norm())),
            "norm() without dim is one"),
    Natural("1.3", "norm(1) for dim=1", gap(lambda x, m: (x * m).sum(1) / (x.norm(1) * m.norm(1))),
            "The first argument of norm"),
    Natural("1.3", "between the two ends", lambda x, p, q, alpha: 1 - cosine(p, q), "distance between the two ends"),
    Natural("1.3", "to θ_i alone", lambda x, p, q, alpha: 1 - cosine(x, p), "You compare with features_i alone"),
    Natural("1.3", "no norms", gap(lambda x, m: (x * m).sum(1)), "This is 1 minus the"),
    Natural("1.3", "one norm", gap(lambda x, m: (x * m).sum(1) / m.norm(dim=1)), "by the length of the"),
    Natural("1.3", "parentheses forgotten", gap(lambda x, m: (x * m).sum(1) / x.norm(dim=1) * m.norm(dim=1)),
            "x / p * q"),
    Natural("1.3", "roots forgotten", gap(lambda x, m: (x * m).sum(1) / ((x ** 2).sum(1) * (m ** 2).sum(1))),
            "You divided by the squares"),
    Natural("1.3", "without the sign", gap(lambda x, m: cosine(x, m).abs()), "You took the absolute value"),
    Natural("1.3", "the angle", lambda x, p, q, alpha: torch.arccos(cosine(x, mixed(p, q, alpha))),
            "That is the angle. Return"),
    Natural("1.3", "half of each", lambda x, p, q, alpha: 1 - cosine(x, (p + q) / 2), "You compare with the half-way"),
    Natural("1.3", "dimension kept", gap(lambda x, m: cosine(x, m)[:, None]), "The right numbers, in a"),
    Natural("1.3", "every sample with every other", gap(lambda x, m: F.normalize(x) @ F.normalize(m).T),
            "That is every sample against"),
    Natural("1.3", "distance instead of angle", lambda x, p, q, alpha: (x - mixed(p, q, alpha)).norm(dim=1),
            "distance between the two, which"),
    Natural("1.3", "features centred first",
            gap(lambda x, m: cosine(x - x.mean(1, keepdim=True), m - m.mean(1, keepdim=True))),
            "You subtracted each sample's mean"),
    Natural("1.3", "all samples as one vector", gap(lambda x, m: F.cosine_similarity(x.flatten(), m.flatten(), dim=0)),
            "One number for all samples"),
]

# -- 1.4: coef ----------------------------------------------------------------------------------------

COEF = [
    Natural("1.4", "the cosine alone", lambda a, b: F.cosine_similarity(a, b), "This is the cosine: it"),
    Natural("1.4", "the ratio of lengths alone", lambda a, b: a.norm(dim=1) / b.norm(dim=1), "This is the ratio of"),
    Natural("1.4", "over a's length", lambda a, b: (a * b).sum(1) / (a * a).sum(1), "You divided by ‖a‖²: that"),
    Natural("1.4", "‖b‖ forgotten", lambda a, b: a.norm(dim=1) * F.cosine_similarity(a, b),
            "Right projection, in absolute units"),
    Natural("1.4", "the product alone", lambda a, b: (a * b).sum(1), "This is the dot product"),
    Natural("1.4", "review: abs", lambda a, b: ((a * b).sum(1) / (b * b).sum(1)).abs(),
            "Features that point the opposite"),
    Natural("1.4", "norms without dim", lambda a, b: a.norm() * F.cosine_similarity(a, b) / b.norm(),
            "norm() without dim is one"),
    Natural("1.4", "norm(1) for dim=1", lambda a, b: a.norm(1) * F.cosine_similarity(a, b) / b.norm(1),
            "The first argument of norm"),
    Natural("1.4", "1-norms", lambda a, b: a.norm(p=1, dim=1) * cosine(a, b) / b.norm(p=1, dim=1),
            "You took 1-norms, sums of"),
    Natural("1.4", "along the samples", lambda a, b: (a * b).sum(0) / (b * b).sum(0), "You summed along the samples"),
    Natural("1.4", "mean over samples", lambda a, b: ((a * b).sum(1) / (b * b).sum(1)).mean(),
            "The right numbers, but one"),
    Natural("1.4", "dimension kept", lambda a, b: (a * b).sum(1, keepdim=True) / (b * b).sum(1, keepdim=True),
            "The right numbers, in a"),
    Natural("1.4", "1 minus", lambda a, b: 1 - (a * b).sum(1) / (b * b).sum(1), "Yours is 1 minus what"),
    Natural("1.4", "times ‖b‖", lambda a, b: a.norm(dim=1) * F.cosine_similarity(a, b) * b.norm(dim=1),
            "This is the dot product"),
    Natural("1.4", "the cosine gap for the cosine",
            lambda a, b: a.norm(dim=1) * (1 - F.cosine_similarity(a, b)) / b.norm(dim=1), "You put 1 − cos"),
    Natural("1.4", "unit by unit", lambda a, b: (a / b).mean(1), "That is the mean of"),
    Natural("1.4", "the dot product for the cosine", lambda a, b: a.norm(dim=1) * (a * b).sum(1) / b.norm(dim=1),
            "You put the dot product"),
    Natural("1.4", "every sample with every other", lambda a, b: (a @ b.T) / (b * b).sum(1),
            "That is every sample against"),
    Natural("1.4", "all samples at once", lambda a, b: (a * b).sum() / (b * b).sum(), "One number for all samples"),
]

# -- 1.5: where CTL is worst, and 1.6 -------------------------------------------------------------------


def place(reduced):
    """Names of pair and layer where a (pair, layer) array is largest."""
    return reduced.stack(place=("pair", "layer")).idxmax("place").item()


def of_shares(function):
    """Right shares, and then something with them."""
    return lambda gap, own: function((gap / own).transpose("pair", "alpha", "layer"))


def middle_index(share):
    pair, layer, _ = np.unravel_index(share.values.argmax(), share.shape)
    return share.pair[pair].item(), share.layer[layer].item()


def numbers_of(share):
    pair, _, layer = np.unravel_index(share.values.argmax(), share.shape)
    return int(pair), int(layer)


WORST = [
    Natural("1.5", "the gap itself, own forgotten", lambda gap, own: place(gap.max("alpha")),
            "where the gap itself is"),
    Natural("1.5", "own over gap", lambda gap, own: place((own / gap).max("alpha")), "divided the other way round"),
    Natural("1.5", "gap minus own", lambda gap, own: place((gap - own).max("alpha")), "That is a difference"),
    Natural("1.5", "over the mean of own", lambda gap, own: place((gap / own.mean()).max("alpha")),
            "divide by own, place by place"),
    Natural("1.5", "largest gap over largest own", lambda gap, own: place(gap.max("alpha") / own.max()),
            "where the gap itself is"),
    Natural("1.5", "where the ends are apart", lambda gap, own: place(own), "the two ends lie furthest"),
    Natural("1.5", "mean over alpha", of_shares(lambda share: place(share.mean("alpha"))), "You averaged over α first"),
    Natural("1.5", "layer first", of_shares(lambda share: place(share.max("alpha"))[::-1]),
            "Right place, wrong order: give"),
    Natural("1.5", "smallest", of_shares(lambda share: place(-share.max("alpha"))), "This is the place where"),
    Natural("1.5", "smallest over alpha, largest of those", of_shares(lambda share: place(share.min("alpha"))),
            "You took the smallest share"),
    Natural("1.5", "half-way", of_shares(lambda share: place(share.sel(alpha=0.5, method="nearest"))),
            "You looked at α ="),
    Natural("1.5", "review: the last alpha", of_shares(lambda share: place(share.isel(alpha=-1))),
            "You looked at the last"),
    Natural("1.5", "review: the answer on the first case", lambda gap, own: ("near", "layer 1"),
            "That is the place in"),
    Natural("1.5", "numbers instead of names", of_shares(numbers_of), "Right place, but as numbers"),
    Natural("1.5", "the share itself", of_shares(lambda share: share.max().item()), "That is how large the"),
    Natural("1.5", "alpha too", of_shares(lambda share: share.to_series().idxmax()), "That names the worst α"),
    Natural("1.5", "averaged over the other axis", of_shares(lambda share: (
        share.max("alpha").mean("layer").idxmax("pair").item(),
        share.max("alpha").mean("pair").idxmax("layer").item())), "You chose the pair by"),
    Natural("1.5", "the flat index", of_shares(lambda share: share.values.argmax()), "That is one number, counted"),
    Natural("1.5", "a dict", of_shares(lambda share: share.max("alpha").argmax(["pair", "layer"])),
            "argmax gives the two places"),
    Natural("1.5", "the last layer of the worst pair", of_shares(lambda share: (
        share.max(["alpha", "layer"]).idxmax("pair").item(), share.layer[-1].item())), "The pair is right, but"),
    Natural("1.5", "the middle index for the layer", of_shares(middle_index), "You looked up the place along α"),
    Natural("1.5", "summed over layers for the pair", of_shares(lambda share: (
        share.sum(["alpha", "layer"]).idxmax("pair").item(),
        share.max(["alpha", "pair"]).idxmax("layer").item())), "The layer is right, but"),
    Natural("1.6", "the output layer's own product", "a", "Look again at the two numbers"),
    Natural("1.6", "no ReLU", "(C)", "It is the other way"),
    Natural("1.6", "learned less well", "d", "needs no label"),
    Natural("1.6", "two letters", "a and b", "is not one of the letters"),
]

# -- a second list, written after the exercises had their sentences ---------------------------------------

LATER = [
    Natural("1.1", "shares exchanged, counters mixed",
            everything(lambda p, q, alpha: (1 - alpha) * p + alpha * q), "Two things: the ends are"),
    Natural("1.1", "b itself", lambda a, b, alpha: dict(b)),
    Natural("1.1", "mixed and halved", floats(lambda p, q, alpha: (alpha * p + (1 - alpha) * q) / 2)),
    Natural("1.1", "geometric", floats(lambda p, q, alpha: p ** alpha * q ** (1 - alpha))),
    Natural("1.2", "summed", arrays(lambda losses, alphas: (losses - line(losses, alphas)).sum().item()),
            "That is the sum of"),
    Natural("1.2", "over the mean of the line", arrays(lambda losses, alphas: (
        losses.max() - line(losses, alphas).mean()).item())),
    Natural("1.2", "rise over the last end", arrays(lambda losses, alphas: (losses - losses[-1]).max().item()),
            "the rise over the last"),
    Natural("1.2", "all but the first end", arrays(lambda losses, alphas: (
        losses - line(losses, alphas))[1:].min().item()), "That is the lowest point"),
    Natural("1.3", "difference of the ends", lambda x, p, q, alpha: 1 - cosine(x, alpha * p - (1 - alpha) * q)),
    Natural("1.3", "mean for sum above the line", gap(lambda x, m: (x * m).mean(1) / (x.norm(dim=1) * m.norm(dim=1))),
            "You averaged the products of"),
    Natural("1.3", "cosine squared", gap(lambda x, m: cosine(x, m) ** 2), "You squared the cosine, which"),
    Natural("1.3", "half of the gap", lambda x, p, q, alpha: (1 - cosine(x, mixed(p, q, alpha))) / 2,
            "Yours is half what is"),
    Natural("1.3", "squared distance", lambda x, p, q, alpha: ((x - mixed(p, q, alpha)) ** 2).mean(1)),
    Natural("1.4", "over ‖b‖ squared", lambda a, b: a.norm(dim=1) * F.cosine_similarity(a, b) / (b * b).sum(1)),
    Natural("1.4", "at most 1", lambda a, b: ((a * b).sum(1) / (b * b).sum(1)).clamp(max=1)),
    Natural("1.4", "mean for sum above the line", lambda a, b: (a * b).mean(1) / (b * b).sum(1),
            "On every input yours is"),
    Natural("1.4", "norms exchanged", lambda a, b: b.norm(dim=1) * F.cosine_similarity(a, b) / a.norm(dim=1),
            "You divided by ‖a‖²: that"),
    Natural("1.5", "one text", of_shares(lambda share: ", ".join(place(share.max("alpha")))),
            "That is one text. Asked"),
    Natural("1.5", "pair and alpha", of_shares(lambda share: share.to_series().idxmax()[:2]),
            "pair is right, but beside"),
    Natural("1.5", "worst layer of the first pair", of_shares(lambda share: (
        share.pair[0].item(), share.isel(pair=0).max("alpha").idxmax("layer").item())), "looked at the first pair"),
]

WRONG = [*INTERPOLATE, *BARRIER, *GAP, *COEF, *WORST, *LATER]

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
        losses.numpy() - np.interp(alphas, [0, 1], [losses[0], losses[-1]]))),
    Natural("1.2", "a tensor of no dimension", arrays(lambda losses, alphas: (losses - line(losses, alphas)).max())),
    Natural("1.2", "with a graph", lambda losses, alphas: (
        torch.tensor(torch.as_tensor(losses).tolist(), requires_grad=True) - line(losses, alphas)).max()),
    Natural("1.2", "in float32", lambda losses, alphas: (
        losses.float() - line(losses.float(), alphas.float())).max()),
    Natural("1.3", "torch's cosine_similarity", gap(F.cosine_similarity)),
    Natural("1.3", "normalised, then multiplied", gap(lambda x, m: (F.normalize(x) * F.normalize(m)).sum(1))),
    Natural("1.3", "loops and numpy", with_loops),
    Natural("1.3", "einsum in float64", gap(lambda x, m: torch.einsum(
        "sw,sw->s", x.double(), m.double()) / x.double().norm(dim=1) / m.double().norm(dim=1))),
    Natural("1.4", "as the formula reads", lambda a, b: a.norm(dim=1) * F.cosine_similarity(a, b) / b.norm(dim=1)),
    Natural("1.4", "a diagonal", lambda a, b: (a @ b.T).diagonal() / (b ** 2).sum(dim=1)),
    Natural("1.4", "lists", lambda a, b: [float(p.dot(q) / q.dot(q)) for p, q in zip(a, b)]),
    Natural("1.5", "pandas", of_shares(lambda share: share.max("alpha").to_series().idxmax())),
    Natural("1.5", "the maximum first, divided afterwards", lambda gap, own: place(gap.max("alpha") / own)),
    Natural("1.5", "review: an array of two", of_shares(lambda share: np.array(place(share.max("alpha"))))),
    Natural("1.5", "review: DataArrays of no dimension", of_shares(lambda share: (
        share.max(["alpha", "layer"]).idxmax("pair"), share.max(["alpha", "pair"]).idxmax("layer")))),
    Natural("1.5", "a list", of_shares(lambda share: list(place(share.max("alpha"))))),
    Natural("1.6", "review: a capital", "B"),
    Natural("1.6", "review: in parentheses", "(b)"),
    Natural("1.6", "review: with a space", "b "),
]
