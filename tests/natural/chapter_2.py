"""Answers to the exercises of chapter 2."""
import math

import numpy as np
import torch
from torch import nn

from tests.natural import Natural

# -- 2.4: how many test images -------------------------------------------------------------------------

IMAGES = [
    Natural("2.4", "as the source says", 20_000, "That is what the source"),
    Natural("2.4", "one task", 500, "That is one split. A"),
    Natural("2.4", "two classes", 200, "Two times 100 would be"),
    Natural("2.4", "training images of both", 5000, "the training images of a"),
    Natural("2.4", "the whole test part", 10_000, "That is the whole test"),
    Natural("2.4", "training images of one task", 2500, "the training images of one"),
    Natural("2.4", "training and test of both", 6000, "You counted training images too"),
    Natural("2.4", "review: one class", 100, "That is one class of"),
    Natural("2.4", "review: all four tasks", 2000, "That is all four tasks"),
    Natural("2.4", "the classes of a pair", 10, "That is how many classes"),
    Natural("2.4", "as text", "1000", "it is text"),
    Natural("2.4", "review: four times 100", 400, "Four times 100 would be"),
]

# -- 2.6: the last batch ---------------------------------------------------------------------------------


def subtracts_to_the_end(images, batch_size):
    while images > 0:
        images -= batch_size
    return images


def forgets_the_even_split(images, batch_size):
    return images if images < batch_size else images % batch_size


def counts_down(images, batch_size):
    while images > batch_size:
        images -= batch_size
    return images


LAST = [
    Natural("2.6", "the remainder", lambda images, batch_size: images % batch_size, "Right until the images fit"),
    Natural("2.6", "how many full batches", lambda images, batch_size: images // batch_size,
            "This counts the full batches"),
    Natural("2.6", "how many batches", lambda images, batch_size: math.ceil(images / batch_size),
            "This counts the batches, the"),
    Natural("2.6", "what is missing", lambda images, batch_size: batch_size - images % batch_size,
            "This is what is missing to a full batch, not what is in it."),
    Natural("2.6", "batches not multiplied", lambda images, batch_size: images - images // batch_size,
            "images // batch_size counts batches"),
    Natural("2.6", "always full", lambda images, batch_size: batch_size, "Only if the images fit"),
    Natural("2.6", "review: 64 written in", lambda images, batch_size: images % 64 or 64, "Right for batches of 64"),
    Natural("2.6", "the smaller of both", lambda images, batch_size: min(images, batch_size),
            "That is the first batch"),
    Natural("2.6", "all images where nothing is left", lambda images, batch_size: images % batch_size or images,
            "is left over you give"),
    Natural("2.6", "off by one", lambda images, batch_size: (images - 1) % batch_size, "That is the last image's"),
    Natural("2.6", "arguments exchanged", lambda images, batch_size: batch_size % images, "It would be right if"),
    Natural("2.6", "quotient and remainder", divmod, "divmod gives two numbers, the"),
    Natural("2.6", "subtracts once too often", subtracts_to_the_end, "You take away one batch"),
    Natural("2.6", "small sets looked after, even ones not", forgets_the_even_split, "Right until the images fit"),
    Natural("2.6", "rounds the number of batches",
            lambda images, batch_size: images - batch_size * round(images / batch_size), "round() goes up where more"),
    Natural("2.6", "a fraction of a batch", lambda images, batch_size: images / batch_size - images // batch_size,
            "That is the last batch"),
    Natural("2.6", "ceil, then minus", lambda images, batch_size: math.ceil(images / batch_size) * batch_size - images,
            "what is in it; at"),
    Natural("2.6", "one where nothing is left", lambda images, batch_size: max(1, images % batch_size),
            "is left over you say"),
]

# -- 2.1: mean and variance of a channel -------------------------------------------------------------------


def statistics_over(dims):
    return lambda h: (h.mean(dims), h.var(dims, unbiased=False))


def flattened_without_transposing(h):
    flat = h.reshape(h.shape[1], -1)
    return flat.mean(1), flat.var(1, unbiased=False)


def of_a_layer(momentum):
    """What a fresh BatchNorm layer has collected after one batch."""
    def answer(h):
        layer = nn.BatchNorm2d(h.shape[1], momentum=momentum).to(h.dtype).train()
        layer(h)
        return layer.running_mean, layer.running_var
    return answer


def a_loop(h):
    means, variances = [], []
    for channel in range(h.shape[1]):
        values = h[:, channel].flatten()
        means.append(values.mean())
        variances.append(((values - values.mean()) ** 2).mean())
    return torch.stack(means), torch.stack(variances)


STATISTICS = [
    Natural("2.1", "torch's var", lambda h: (h.mean((0, 2, 3)), h.var((0, 2, 3))), "Nearly: torch's var divides by"),
    Natural("2.1", "standard deviation", lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3), unbiased=False)),
            "is the standard deviation. Square"),
    Natural("2.1", "torch's std", lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3))), "is the standard deviation, and"),
    Natural("2.1", "over the samples alone", statistics_over((0,)), "You averaged over the samples"),
    Natural("2.1", "over the pixels alone, as InstanceNorm", statistics_over((2, 3)), "These are statistics of every"),
    Natural("2.1", "sample by sample, as LayerNorm", statistics_over((1, 2, 3)), "You averaged the channels away"),
    Natural("2.1", "over all but the width", statistics_over((0, 1, 2)), "You kept the last dimension"),
    Natural("2.1", "review: torch.var_mean", lambda h: torch.var_mean(h, (0, 2, 3), unbiased=False),
            "Right numbers, wrong order: torch.var_mean"),
    Natural("2.1", "torch.var_mean as it comes", lambda h: torch.var_mean(h, (0, 2, 3)),
            "gives the variance first, and"),
    Natural("2.1", "mean over samples of the images' variances",
            lambda h: (h.mean((0, 2, 3)), h.var((2, 3), unbiased=False).mean(0)), "variances of the single samples"),
    Natural("2.1", "variance of the images' means",
            lambda h: (h.mean((0, 2, 3)), h.mean((2, 3)).var(0, unbiased=False)), "That is the variance of"),
    Natural("2.1", "mean square", lambda h: (h.mean((0, 2, 3)), (h ** 2).mean((0, 2, 3))), "That is the mean square"),
    Natural("2.1", "E[h]² − E[h²]", lambda h: (h.mean((0, 2, 3)), h.mean((0, 2, 3)) ** 2 - (h ** 2).mean((0, 2, 3))),
            "A variance is never negative"),
    Natural("2.1", "dimensions kept", lambda h: (h.mean((0, 2, 3), keepdim=True),
                                                h.var((0, 2, 3), unbiased=False, keepdim=True)),
            "The right numbers, but keepdim"),
    Natural("2.1", "reshaped without transposing", flattened_without_transposing, "reshape takes the numbers as"),
    Natural("2.1", "running statistics, momentum 0.1", of_a_layer(0.1), "These are a layer's running"),
    Natural("2.1", "running statistics, momentum 1", of_a_layer(1.0), "Nearly: torch's var divides by"),
    Natural("2.1", "mean absolute deviation",
            lambda h: (h.mean((0, 2, 3)), (h - h.mean((0, 2, 3), keepdim=True)).abs().mean((0, 2, 3))),
            "That is the mean absolute"),
    Natural("2.1", "squares added, not averaged",
            lambda h: (h.mean((0, 2, 3)), ((h - h.mean((0, 2, 3), keepdim=True)) ** 2).sum((0, 2, 3))),
            "You summed the squared deviations"),
    Natural("2.1", "eps added", lambda h: (h.mean((0, 2, 3)), h.var((0, 2, 3), unbiased=False) + 1e-5),
            "You added eps. It belongs"),
    Natural("2.1", "over everything", lambda h: (h.mean(), h.var(unbiased=False)), "One number for all channels"),
    Natural("2.1", "the mean alone", lambda h: h.mean((0, 2, 3)), "That is the mean alone"),
    Natural("2.1", "mean over samples, then of the variances over samples",
            lambda h: (h.mean((0, 2, 3)), h.var(0, unbiased=False).mean((1, 2))), "variances of the single pixels"),
]

# -- 2.5: is it more than chance? ---------------------------------------------------------------------------


def booleans(function):
    """The answer with both as floats, which means and standard deviations need."""
    return lambda right_a, right_b: function(right_a.double(), right_b.double())


def apart(a, b):
    return (a - b).mean()


def of_proportions(a, b):
    p, q = a.mean(), b.mean()
    return p - q, (p * (1 - p) / len(a) + q * (1 - q) / len(b)) ** 0.5


PAIRED = [
    Natural("2.5", "difference of booleans", lambda a, b: ((a - b).mean(), (a - b).std() / len(a) ** 0.5),
            "true and false cannot be subtracted"),
    Natural("2.5", "mean of booleans", lambda a, b: (a.mean() - b.mean(), 0.0), "true and false have no mean"),
    Natural("2.5", "as if on other images", booleans(of_proportions), "as if the two had seen different images"),
    Natural("2.5", "both variances added", booleans(lambda a, b: (
        apart(a, b), ((a.var() + b.var()) / len(a)) ** 0.5)), "as if the two had seen different images"),
    Natural("2.5", "standard deviation, not error", booleans(lambda a, b: (apart(a, b), (a - b).std())),
            "of a single image"),
    Natural("2.5", "variance over n", booleans(lambda a, b: (apart(a, b), (a - b).var() / len(a))), "take its root"),
    Natural("2.5", "divided by n", booleans(lambda a, b: (apart(a, b), (a - b).std() / len(a))),
            "by the root of the number of images"),
    Natural("2.5", "error of one of them", booleans(lambda a, b: (apart(a, b), a.std() / len(a) ** 0.5)),
            "of the first network's accuracy"),
    Natural("2.5", "error of the second", booleans(lambda a, b: (apart(a, b), b.std() / len(a) ** 0.5)),
            "of the second network's accuracy"),
    Natural("2.5", "second minus first", booleans(lambda a, b: (apart(b, a), (a - b).std() / len(a) ** 0.5)),
            "the other way round"),
    Natural("2.5", "in percent", booleans(lambda a, b: (100 * apart(a, b), 100 * (a - b).std() / len(a) ** 0.5)),
            "These are per cent"),
    Natural("2.5", "error first", booleans(lambda a, b: ((a - b).std() / len(a) ** 0.5, apart(a, b))),
            "The other order"),
    Natural("2.5", "two standard errors", booleans(lambda a, b: (apart(a, b), 2 * (a - b).std() / len(a) ** 0.5)),
            "twice the standard error"),
    Natural("2.5", "the difference alone", booleans(apart), "That is the difference alone"),
    Natural("2.5", "difference without its sign", booleans(lambda a, b: (
        (a - b).abs().mean(), (a - b).std() / len(a) ** 0.5)), "on how many images the two disagree"),
    Natural("2.5", "absolute accuracy difference", booleans(lambda a, b: (
        apart(a, b).abs(), (a - b).std() / len(a) ** 0.5)), "without its sign"),
    Natural("2.5", "deviation of the absolute differences", booleans(lambda a, b: (
        apart(a, b), (a - b).abs().std() / len(a) ** 0.5)), "keep the sign"),
    Natural("2.5", "root of the disagreements", booleans(lambda a, b: (
        apart(a, b), ((a - b) ** 2).sum() ** 0.5)), ""),
    Natural("2.5", "verdict, not numbers", booleans(lambda a, b: bool(apart(a, b).abs() > 2 * (a - b).std()
                                                                     / len(a) ** 0.5)), "two numbers"),
    Natural("2.5", "counted, not shared", booleans(lambda a, b: ((a - b).sum(), (a - b).std() * len(a) ** 0.5)),
            "numbers of images"),
    Natural("2.5", "images where they differ only", booleans(lambda a, b: (
        (a - b)[a != b].mean(), (a - b)[a != b].std() / (a != b).sum() ** 0.5)), "all images count"),
    Natural("2.5", "a quarter over n", booleans(lambda a, b: (apart(a, b), 0.5 / len(a) ** 0.5)),
            "whatever the two say"),
]

# -- 2.2: the variance of a mix, and 2.3 --------------------------------------------------------------------


def sum_of(cross):
    """α²·var_i + (1 − α)²·var_j plus the cross term."""
    return lambda var_i, var_j, correlation, alpha: (
        alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + cross(var_i, var_j, correlation, alpha))


def right(var_i, var_j, correlation, alpha):
    return sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * math.sqrt(p * q))(
        var_i, var_j, correlation, alpha)


def by_matrix(var_i, var_j, correlation, alpha):
    covariance = correlation * np.sqrt(var_i) * np.sqrt(var_j)
    shares = np.array([alpha, 1 - alpha])
    return shares @ np.array([[var_i, covariance], [covariance, var_j]]) @ shares


MIXED = [
    Natural("2.2", "mix of the variances", lambda p, q, r, alpha: alpha * p + (1 - alpha) * q, "This is the mix of"),
    Natural("2.2", "as if independent", sum_of(lambda p, q, r, alpha: 0), "if the two were uncorrelated"),
    Natural("2.2", "2 forgotten", sum_of(lambda p, q, r, alpha: alpha * (1 - alpha) * r * math.sqrt(p * q)),
            "The cross term appears twice"),
    Natural("2.2", "correlation for covariance", sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r),
            "The cross term needs the"),
    Natural("2.2", "root forgotten", sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * p * q),
            "A covariance is the correlation"),
    Natural("2.2", "as of a difference",
            sum_of(lambda p, q, r, alpha: -2 * alpha * (1 - alpha) * r * math.sqrt(p * q)), "The cross term has the"),
    Natural("2.2", "review: shares exchanged", lambda p, q, r, alpha: right(p, q, r, 1 - alpha),
            "The ends are swapped: a"),
    Natural("2.2", "review: standard deviation", lambda p, q, r, alpha: right(p, q, r, alpha) ** 0.5,
            "That is the standard deviation"),
    Natural("2.2", "review: as text", lambda p, q, r, alpha: f"{right(p, q, r, alpha)}", "it is text"),
    Natural("2.2", "fully correlated",
            lambda p, q, r, alpha: (alpha * math.sqrt(p) + (1 - alpha) * math.sqrt(q)) ** 2,
            "if the two were perfectly"),
    Natural("2.2", "shares not squared",
            lambda p, q, r, alpha: alpha * p + (1 - alpha) * q + 2 * alpha * (1 - alpha) * r * math.sqrt(p * q),
            "The cross term is right"),
    Natural("2.2", "cross term without the shares", sum_of(lambda p, q, r, alpha: 2 * r * math.sqrt(p * q)),
            "The cross term lacks the"),
    Natural("2.2", "cross term with α alone", sum_of(lambda p, q, r, alpha: 2 * alpha * r * math.sqrt(p * q)),
            "The cross term has a's"),
    Natural("2.2", "variances taken for standard deviations",
            lambda p, q, r, alpha: right(p ** 2, q ** 2, r, alpha), "You squared the variances, as"),
    Natural("2.2", "covariance from the mean variance",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * (p + q) / 2), "For the covariance you took"),
    Natural("2.2", "(1 + ρ)/2, the case at the half",
            lambda p, q, r, alpha: (1 + r) / 2 * (alpha * p + (1 - alpha) * q), "(1 + correlation)/2 holds for"),
    Natural("2.2", "half of each", lambda p, q, r, alpha: right(p, q, r, 0.5), "This is the midpoint, α"),
    Natural("2.2", "correlation squared",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r ** 2 * math.sqrt(p * q)),
            "You squared the correlation. It"),
    Natural("2.2", "torch.sqrt of a float",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * torch.sqrt(p * q)),
            "torch.sqrt takes tensors only, and"),
    Natural("2.2", "(1 − α²) for (1 − α)²", lambda p, q, r, alpha: (
        alpha ** 2 * p + (1 - alpha ** 2) * q + 2 * alpha * (1 - alpha) * r * math.sqrt(p * q)), "1 - alpha ** 2"),
    Natural("2.2", "^ for power", lambda p, q, r, alpha: alpha ^ 2 * p + (1 - alpha) ^ 2 * q, "In Python ^ is no"),
    Natural("2.2", "root of one variance only",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * math.sqrt(p) * q), "In the cross term only"),
    Natural("2.3", "the gap vanishes", "a", "Look at the left-hand picture"),
    Natural("2.3", "never", "B", "Look at the middle picture"),
    Natural("2.3", "re-estimated against batch", "(d)", "Batch statistics and re-estimated ones"),
    Natural("2.3", "the text of the option", "For the length", "is not one of the letters"),
]

# -- a second list, written after the exercises had their sentences ---------------------------------------

LATER = [
    Natural("2.4", "a pair of classes of each split", 5 * 5 * 2),
    Natural("2.4", "five splits", 2500 + 500),
    Natural("2.6", "one more than the remainder", lambda images, batch_size: images % batch_size + 1,
            "That is one too many"),
    Natural("2.6", "distance", lambda images, batch_size: abs(images - batch_size)),
    Natural("2.6", "the branches exchanged",
            lambda images, batch_size: batch_size if images % batch_size else images % batch_size,
            "The two branches are exchanged"),
    Natural("2.1", "sums", lambda h: (h.sum((0, 2, 3)), h.var((0, 2, 3), unbiased=False)),
            "The variance is right. The"),
    Natural("2.1", "torch.std_mean", lambda h: torch.std_mean(h, (0, 2, 3)),
            "torch.std_mean gives the standard deviation"),
    Natural("2.1", "median",
            lambda h: (h.transpose(0, 1).flatten(1).median(1).values, h.var((0, 2, 3), unbiased=False))),
    Natural("2.1", "square of the standard deviation, as torch has it",
            lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3)) ** 2), "Nearly: torch's var divides by"),
    Natural("2.1", "square of the mean", lambda h: (h.mean((0, 2, 3)), h.mean((0, 2, 3)) ** 2)),
    Natural("2.2", "the cross term alone",
            lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * math.sqrt(p * q), "That is the cross term"),
    Natural("2.2", "squared as a whole", lambda p, q, r, alpha: (alpha * p + (1 - alpha) * q) ** 2),
    Natural("2.2", "variances in the squares' place",
            lambda p, q, r, alpha: alpha * p ** 2 + (1 - alpha) * q ** 2 + 2 * alpha * (1 - alpha) * r * p * q),
    Natural("2.2", "1 and α for the shares",
            lambda p, q, r, alpha: p + alpha ** 2 * q + 2 * alpha * r * math.sqrt(p * q)),
    Natural("2.2", "correlation times the mix of the variances",
            lambda p, q, r, alpha: r * (alpha * p + (1 - alpha) * q), "The correlation belongs to the"),
]

WRONG = [*IMAGES, *LAST, *STATISTICS, *PAIRED, *MIXED, *LATER]

RIGHT = [
    Natural("2.4", "review: a quotient", 20_000 / 20),
    Natural("2.4", "review: numpy's", np.int64(1000)),
    Natural("2.4", "review: torch's", torch.tensor(1000)),
    Natural("2.4", "a product", 2 * 5 * 100),
    Natural("2.6", "one less, one more", lambda images, batch_size: (images - 1) % batch_size + 1),
    Natural("2.6", "by quotients", lambda images, batch_size: (
        images / batch_size - math.ceil(images / batch_size) + 1) * batch_size),
    Natural("2.6", "a loop", counts_down),
    Natural("2.6", "torch.split", lambda images, batch_size: torch.arange(images).split(batch_size)[-1].numel()),
    Natural("2.6", "review: a float", lambda images, batch_size: math.fmod(images, batch_size) or float(batch_size)),
    Natural("2.1", "numpy", lambda h: (h.numpy().mean((0, 2, 3)), h.numpy().var((0, 2, 3)))),
    Natural("2.1", "review: stacked", lambda h: torch.stack([h.mean((0, 2, 3)), h.var((0, 2, 3), correction=0)])),
    Natural("2.1", "review: in float32", lambda h: (h.float().mean((0, 2, 3)), h.float().var((0, 2, 3), correction=0))),
    Natural("2.1", "a loop", a_loop),
    Natural("2.1", "mean of squares minus square of the mean",
            lambda h: [h.mean((0, 2, 3)), (h ** 2).mean((0, 2, 3)) - h.mean((0, 2, 3)) ** 2]),
    Natural("2.5", "torch", booleans(lambda a, b: (apart(a, b), (a - b).std(unbiased=False) / len(a) ** 0.5))),
    Natural("2.5", "one less", booleans(lambda a, b: (apart(a, b), (a - b).std() / len(a) ** 0.5))),
    Natural("2.5", "numpy", lambda a, b: ((a.numpy().astype(float) - b.numpy()).mean(),
                                          (a.numpy().astype(float) - b.numpy()).std() / math.sqrt(len(a)))),
    Natural("2.5", "stacked", booleans(lambda a, b: torch.stack([apart(a, b),
                                                                 ((a - b).var() / len(a)).sqrt()]))),
    Natural("2.5", "by counting", lambda a, b: (
        (int((a & ~b).sum()) - int((b & ~a).sum())) / len(a),
        (int((a ^ b).sum()) / len(a) - ((int((a & ~b).sum()) - int((b & ~a).sum())) / len(a)) ** 2) ** 0.5
        / len(a) ** 0.5)),
    Natural("2.2", "a quadratic form", by_matrix),
    Natural("2.2", "in float32", lambda p, q, r, alpha: (
        torch.tensor(alpha) ** 2 * p + (1 - torch.tensor(alpha)) ** 2 * q
        + 2 * torch.tensor(alpha) * (1 - torch.tensor(alpha)) * r * torch.tensor(p * q).sqrt())),
    Natural("2.2", "np.float64", lambda p, q, r, alpha: np.float64(right(p, q, r, alpha))),
    Natural("2.3", "a capital in parentheses", "(C)"),
    Natural("2.3", "with a dot", "c."),
]
