"""Answers to the exercises of chapter 2."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.natural import Natural

# -- 2.1: how many test images -------------------------------------------------------------------------

IMAGES = [
    Natural("2.1", "as the source says", 20_000, "That is what the source"),
    Natural("2.1", "one task", 500, "That is one split. A"),
    Natural("2.1", "two classes", 200, "Two times 100 would be"),
    Natural("2.1", "training images of both", 5000, "the training images of a"),
    Natural("2.1", "the whole test part", 10_000, "That is the whole test"),
    Natural("2.1", "training images of one task", 2500, "the training images of one"),
    Natural("2.1", "training and test of both", 6000, "You counted training images too"),
    Natural("2.1", "review: one class", 100, "That is one class of"),
    Natural("2.1", "review: all four tasks", 2000, "That is all four tasks"),
    Natural("2.1", "the classes of a pair", 10, "That is how many classes"),
    Natural("2.1", "as text", "1000", "it is text"),
    Natural("2.1", "review: four times 100", 400, "Four times 100 would be"),
]

# -- 2.2: the last batch ---------------------------------------------------------------------------------


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
    Natural("2.2", "the remainder", lambda images, batch_size: images % batch_size, "Right until the images fit"),
    Natural("2.2", "how many full batches", lambda images, batch_size: images // batch_size,
            "This counts the full batches"),
    Natural("2.2", "how many batches", lambda images, batch_size: math.ceil(images / batch_size),
            "This counts the batches, the"),
    Natural("2.2", "what is missing", lambda images, batch_size: batch_size - images % batch_size,
            "This is what is missing to a full batch, not what is in it."),
    Natural("2.2", "batches not multiplied", lambda images, batch_size: images - images // batch_size,
            "images // batch_size counts batches"),
    Natural("2.2", "always full", lambda images, batch_size: batch_size, "Only if the images fit"),
    Natural("2.2", "review: 64 written in", lambda images, batch_size: images % 64 or 64, "Right for batches of 64"),
    Natural("2.2", "the smaller of both", lambda images, batch_size: min(images, batch_size),
            "That is the first batch"),
    Natural("2.2", "all images where nothing is left", lambda images, batch_size: images % batch_size or images,
            "is left over you give"),
    Natural("2.2", "off by one", lambda images, batch_size: (images - 1) % batch_size, "That is the last image's"),
    Natural("2.2", "arguments exchanged", lambda images, batch_size: batch_size % images, "It would be right if"),
    Natural("2.2", "quotient and remainder", divmod, "divmod gives two numbers, the"),
    Natural("2.2", "subtracts once too often", subtracts_to_the_end, "You take away one batch"),
    Natural("2.2", "small sets looked after, even ones not", forgets_the_even_split, "Right until the images fit"),
    Natural("2.2", "rounds the number of batches",
            lambda images, batch_size: images - batch_size * round(images / batch_size), "round() goes up where more"),
    Natural("2.2", "a fraction of a batch", lambda images, batch_size: images / batch_size - images // batch_size,
            "That is the last batch"),
    Natural("2.2", "ceil, then minus", lambda images, batch_size: math.ceil(images / batch_size) * batch_size - images,
            "what is in it; at"),
    Natural("2.2", "one where nothing is left", lambda images, batch_size: max(1, images % batch_size),
            "is left over you say"),
]

# -- 2.3: mean and variance of a channel -------------------------------------------------------------------


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
    Natural("2.3", "torch's var", lambda h: (h.mean((0, 2, 3)), h.var((0, 2, 3))), "Nearly: torch's var divides by"),
    Natural("2.3", "standard deviation", lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3), unbiased=False)),
            "is the standard deviation; asked"),
    Natural("2.3", "torch's std", lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3))), "is the standard deviation, and"),
    Natural("2.3", "over the samples alone", statistics_over((0,)), "You averaged over the samples"),
    Natural("2.3", "over the pixels alone, as InstanceNorm", statistics_over((2, 3)), "These are statistics of every"),
    Natural("2.3", "sample by sample, as LayerNorm", statistics_over((1, 2, 3)), "You averaged the channels away"),
    Natural("2.3", "over all but the width", statistics_over((0, 1, 2)), "You kept the last dimension"),
    Natural("2.3", "review: torch.var_mean", lambda h: torch.var_mean(h, (0, 2, 3), unbiased=False),
            "Right numbers, wrong order: torch.var_mean"),
    Natural("2.3", "torch.var_mean as it comes", lambda h: torch.var_mean(h, (0, 2, 3)),
            "gives the variance first, and"),
    Natural("2.3", "mean over samples of the images' variances",
            lambda h: (h.mean((0, 2, 3)), h.var((2, 3), unbiased=False).mean(0)), "variances of the single samples"),
    Natural("2.3", "variance of the images' means",
            lambda h: (h.mean((0, 2, 3)), h.mean((2, 3)).var(0, unbiased=False)), "That is the variance of"),
    Natural("2.3", "mean square", lambda h: (h.mean((0, 2, 3)), (h ** 2).mean((0, 2, 3))), "That is the mean square"),
    Natural("2.3", "E[h]² − E[h²]", lambda h: (h.mean((0, 2, 3)), h.mean((0, 2, 3)) ** 2 - (h ** 2).mean((0, 2, 3))),
            "A variance is never negative"),
    Natural("2.3", "dimensions kept", lambda h: (h.mean((0, 2, 3), keepdim=True),
                                                h.var((0, 2, 3), unbiased=False, keepdim=True)),
            "The right numbers, but keepdim"),
    Natural("2.3", "reshaped without transposing", flattened_without_transposing, "reshape takes the numbers as"),
    Natural("2.3", "running statistics, momentum 0.1", of_a_layer(0.1), "These are a layer's running"),
    Natural("2.3", "running statistics, momentum 1", of_a_layer(1.0), "Nearly: torch's var divides by"),
    Natural("2.3", "mean absolute deviation",
            lambda h: (h.mean((0, 2, 3)), (h - h.mean((0, 2, 3), keepdim=True)).abs().mean((0, 2, 3))),
            "That is the mean absolute"),
    Natural("2.3", "squares added, not averaged",
            lambda h: (h.mean((0, 2, 3)), ((h - h.mean((0, 2, 3), keepdim=True)) ** 2).sum((0, 2, 3))),
            "You summed the squared deviations"),
    Natural("2.3", "eps added", lambda h: (h.mean((0, 2, 3)), h.var((0, 2, 3), unbiased=False) + 1e-5),
            "You added eps. It belongs"),
    Natural("2.3", "over everything", lambda h: (h.mean(), h.var(unbiased=False)), "One number for all channels"),
    Natural("2.3", "the mean alone", lambda h: h.mean((0, 2, 3)), "That is the mean alone"),
    Natural("2.3", "mean over samples, then of the variances over samples",
            lambda h: (h.mean((0, 2, 3)), h.var(0, unbiased=False).mean((1, 2))), "variances of the single pixels"),
]

# -- 2.4: normalise -------------------------------------------------------------------------------------


def shaped(*shape):
    """The answer with mean and variance viewed in this shape."""
    return lambda h, mean, var: (h - mean.view(shape)) / (var.view(shape) + 1e-5).sqrt()


def wide(function):
    """The answer with mean and variance shaped as they should be."""
    return lambda h, mean, var: function(h, mean[None, :, None, None], var[None, :, None, None])


def of_the_batch(h, mean, var):
    mean = h.mean((0, 2, 3), keepdim=True)
    var = h.var((0, 2, 3), keepdim=True, unbiased=False)
    return (h - mean) / (var + 1e-5).sqrt()


def channels_last(h, mean, var):
    return (h.permute(0, 2, 3, 1) - mean) / (var + 1e-5).sqrt()


NORMALISE = [
    Natural("2.4", "review: eps forgotten", wide(lambda h, mean, var: (h - mean) / var.sqrt()),
            "Right but for eps: add"),
    Natural("2.4", "review: eps outside the root", wide(lambda h, mean, var: (h - mean) / (var.sqrt() + 1e-5)),
            "eps stands outside the root"),
    Natural("2.4", "no root", wide(lambda h, mean, var: (h - mean) / (var + 1e-5)), "You divided by the variance"),
    Natural("2.4", "as the formula reads", lambda h, mean, var: (h - mean) / (var + 1e-5).sqrt(),
            "(channels,) meets the last dimension"),
    Natural("2.4", "review: a wrong view", shaped(-1, 1, 1, 1), "The channels are dimension 1"),
    Natural("2.4", "one dimension too few", lambda h, mean, var: (h - mean[:, None]) / (var[:, None] + 1e-5).sqrt(),
            "(channels, 1) meets the last"),
    Natural("2.4", "channels on the rows of a picture", shaped(1, 1, -1, 1), "(channels, 1) meets the last"),
    Natural("2.4", "the batch's own statistics", of_the_batch, "You computed the statistics from"),
    Natural("2.4", "F.batch_norm in training",
            lambda h, mean, var: F.batch_norm(h, mean, var, training=True), "Your function changed one of"),
    Natural("2.4", "a fresh layer", lambda h, mean, var: nn.BatchNorm2d(h.shape[1]).to(h.dtype)(h).detach(),
            "You computed the statistics from"),
    Natural("2.4", "InstanceNorm", lambda h, mean, var: F.instance_norm(h), "InstanceNorm takes the statistics of"),
    Natural("2.4", "LayerNorm", lambda h, mean, var: F.layer_norm(h, h.shape[1:]), "LayerNorm takes the statistics of"),
    Natural("2.4", "multiplied", wide(lambda h, mean, var: (h - mean) * (var + 1e-5).sqrt()),
            "You multiplied by the standard"),
    Natural("2.4", "parentheses forgotten", wide(lambda h, mean, var: h - mean / (var + 1e-5).sqrt()),
            "Only the mean is divided"),
    Natural("2.4", "mean added", wide(lambda h, mean, var: (h + mean) / (var + 1e-5).sqrt()),
            "You added the mean: subtract"),
    Natural("2.4", "mean not subtracted", wide(lambda h, mean, var: h / (var + 1e-5).sqrt()),
            "The scale is right, but"),
    Natural("2.4", "centred only", wide(lambda h, mean, var: h - mean), "The mean is gone, the"),
    Natural("2.4", "eps of 1e-3", wide(lambda h, mean, var: (h - mean) / (var + 1e-3).sqrt()),
            "Your eps is 1e-3. Here"),
    Natural("2.4", "eps of 1e-8", wide(lambda h, mean, var: (h - mean) / (var + 1e-8).sqrt()),
            "Your eps is 1e-8. Here"),
    Natural("2.4", "variance squared", wide(lambda h, mean, var: (h - mean) / (var ** 2 + 1e-5).sqrt()),
            "You squared var before the"),
    Natural("2.4", "channels left last", channels_last, "The numbers are right, but"),
    Natural("2.4", "eps taken off", wide(lambda h, mean, var: (h - mean) / (var - 1e-5).sqrt()),
            "You took eps off the"),
    Natural("2.4", "clamped at eps", wide(lambda h, mean, var: (h - mean) / var.clamp(min=1e-5).sqrt()),
            "You raised the variance to"),
    Natural("2.4", "mean and variance exchanged", lambda h, mean, var: F.batch_norm(h, var, mean),
            "It would be right if"),
    Natural("2.4", "in place", wide(lambda h, mean, var: h.sub_(mean).div_((var + 1e-5).sqrt())),
            "Your function changed one of"),
]

# -- 2.5: the variance of a mix, and 2.6 --------------------------------------------------------------------


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
    Natural("2.5", "mix of the variances", lambda p, q, r, alpha: alpha * p + (1 - alpha) * q, "This is the mix of"),
    Natural("2.5", "as if independent", sum_of(lambda p, q, r, alpha: 0), "if the two were uncorrelated"),
    Natural("2.5", "2 forgotten", sum_of(lambda p, q, r, alpha: alpha * (1 - alpha) * r * math.sqrt(p * q)),
            "The cross term appears twice"),
    Natural("2.5", "correlation for covariance", sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r),
            "The cross term needs the"),
    Natural("2.5", "root forgotten", sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * p * q),
            "A covariance is the correlation"),
    Natural("2.5", "as of a difference",
            sum_of(lambda p, q, r, alpha: -2 * alpha * (1 - alpha) * r * math.sqrt(p * q)), "The cross term has the"),
    Natural("2.5", "review: shares exchanged", lambda p, q, r, alpha: right(p, q, r, 1 - alpha),
            "The ends are swapped: a"),
    Natural("2.5", "review: standard deviation", lambda p, q, r, alpha: right(p, q, r, alpha) ** 0.5,
            "That is the standard deviation"),
    Natural("2.5", "review: as text", lambda p, q, r, alpha: f"{right(p, q, r, alpha)}", "it is text"),
    Natural("2.5", "fully correlated",
            lambda p, q, r, alpha: (alpha * math.sqrt(p) + (1 - alpha) * math.sqrt(q)) ** 2,
            "if the two were perfectly"),
    Natural("2.5", "shares not squared",
            lambda p, q, r, alpha: alpha * p + (1 - alpha) * q + 2 * alpha * (1 - alpha) * r * math.sqrt(p * q),
            "The cross term is right"),
    Natural("2.5", "cross term without the shares", sum_of(lambda p, q, r, alpha: 2 * r * math.sqrt(p * q)),
            "The cross term lacks the"),
    Natural("2.5", "cross term with α alone", sum_of(lambda p, q, r, alpha: 2 * alpha * r * math.sqrt(p * q)),
            "The cross term has a's"),
    Natural("2.5", "variances taken for standard deviations",
            lambda p, q, r, alpha: right(p ** 2, q ** 2, r, alpha), "You squared the variances, as"),
    Natural("2.5", "covariance from the mean variance",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * (p + q) / 2), "For the covariance you took"),
    Natural("2.5", "(1 + ρ)/2, the case at the half",
            lambda p, q, r, alpha: (1 + r) / 2 * (alpha * p + (1 - alpha) * q), "(1 + correlation)/2 holds for"),
    Natural("2.5", "half of each", lambda p, q, r, alpha: right(p, q, r, 0.5), "That is half of each"),
    Natural("2.5", "correlation squared",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r ** 2 * math.sqrt(p * q)),
            "You squared the correlation. It"),
    Natural("2.5", "torch.sqrt of a float",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * torch.sqrt(p * q)),
            "torch.sqrt takes tensors only, and"),
    Natural("2.5", "(1 − α²) for (1 − α)²", lambda p, q, r, alpha: (
        alpha ** 2 * p + (1 - alpha ** 2) * q + 2 * alpha * (1 - alpha) * r * math.sqrt(p * q)), "1 - alpha ** 2"),
    Natural("2.5", "^ for power", lambda p, q, r, alpha: alpha ^ 2 * p + (1 - alpha) ^ 2 * q, "In Python ^ is no"),
    Natural("2.5", "root of one variance only",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * math.sqrt(p) * q), "In the cross term only"),
    Natural("2.6", "the gap vanishes", "a", "Look at the left-hand picture"),
    Natural("2.6", "never", "B", "Look at the middle picture"),
    Natural("2.6", "re-estimated against batch", "(d)", "Batch statistics and re-estimated ones"),
    Natural("2.6", "the text of the option", "For the length", "is not one of the letters"),
]

# -- a second list, written after the exercises had their sentences ---------------------------------------

LATER = [
    Natural("2.1", "a pair of classes of each split", 5 * 5 * 2),
    Natural("2.1", "five splits", 2500 + 500),
    Natural("2.2", "one more than the remainder", lambda images, batch_size: images % batch_size + 1,
            "That is one too many"),
    Natural("2.2", "distance", lambda images, batch_size: abs(images - batch_size)),
    Natural("2.2", "the branches exchanged",
            lambda images, batch_size: batch_size if images % batch_size else images % batch_size,
            "The two branches are exchanged"),
    Natural("2.3", "sums", lambda h: (h.sum((0, 2, 3)), h.var((0, 2, 3), unbiased=False)),
            "The variance is right. The"),
    Natural("2.3", "torch.std_mean", lambda h: torch.std_mean(h, (0, 2, 3)),
            "torch.std_mean gives the standard deviation"),
    Natural("2.3", "median",
            lambda h: (h.transpose(0, 1).flatten(1).median(1).values, h.var((0, 2, 3), unbiased=False))),
    Natural("2.3", "square of the standard deviation, as torch has it",
            lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3)) ** 2), "Nearly: torch's var divides by"),
    Natural("2.3", "square of the mean", lambda h: (h.mean((0, 2, 3)), h.mean((0, 2, 3)) ** 2)),
    Natural("2.4", "eps added at the end", wide(lambda h, mean, var: (h - mean) / var.sqrt() + 1e-5),
            "Right but for eps: add"),
    Natural("2.4", "eps of 1e-6", wide(lambda h, mean, var: (h - mean) / (var + 1e-6).sqrt()),
            "Your eps is 1e-6. Here"),
    Natural("2.4", "mean minus h", wide(lambda h, mean, var: (mean - h) / (var + 1e-5).sqrt()),
            "The sign is the other"),
    Natural("2.4", "eps squared", wide(lambda h, mean, var: (h - mean) / (var + 1e-10).sqrt())),
    Natural("2.4", "the root twice", wide(lambda h, mean, var: (h - mean) / (var + 1e-5) ** 0.25),
            "You took the root twice"),
    Natural("2.5", "the cross term alone",
            lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * math.sqrt(p * q), "That is the cross term"),
    Natural("2.5", "squared as a whole", lambda p, q, r, alpha: (alpha * p + (1 - alpha) * q) ** 2),
    Natural("2.5", "variances in the squares' place",
            lambda p, q, r, alpha: alpha * p ** 2 + (1 - alpha) * q ** 2 + 2 * alpha * (1 - alpha) * r * p * q),
    Natural("2.5", "1 and α for the shares",
            lambda p, q, r, alpha: p + alpha ** 2 * q + 2 * alpha * r * math.sqrt(p * q)),
    Natural("2.5", "correlation times the mix of the variances",
            lambda p, q, r, alpha: r * (alpha * p + (1 - alpha) * q), "The correlation belongs to the"),
]

WRONG = [*IMAGES, *LAST, *STATISTICS, *NORMALISE, *MIXED, *LATER]

RIGHT = [
    Natural("2.1", "review: a quotient", 20_000 / 20),
    Natural("2.1", "review: numpy's", np.int64(1000)),
    Natural("2.1", "review: torch's", torch.tensor(1000)),
    Natural("2.1", "a product", 2 * 5 * 100),
    Natural("2.2", "one less, one more", lambda images, batch_size: (images - 1) % batch_size + 1),
    Natural("2.2", "a loop", counts_down),
    Natural("2.2", "torch.split", lambda images, batch_size: torch.arange(images).split(batch_size)[-1].numel()),
    Natural("2.2", "review: a float", lambda images, batch_size: math.fmod(images, batch_size) or float(batch_size)),
    Natural("2.3", "numpy", lambda h: (h.numpy().mean((0, 2, 3)), h.numpy().var((0, 2, 3)))),
    Natural("2.3", "review: stacked", lambda h: torch.stack([h.mean((0, 2, 3)), h.var((0, 2, 3), correction=0)])),
    Natural("2.3", "review: in float32", lambda h: (h.float().mean((0, 2, 3)), h.float().var((0, 2, 3), correction=0))),
    Natural("2.3", "a loop", a_loop),
    Natural("2.3", "mean of squares minus square of the mean",
            lambda h: [h.mean((0, 2, 3)), (h ** 2).mean((0, 2, 3)) - h.mean((0, 2, 3)) ** 2]),
    Natural("2.4", "F.batch_norm", F.batch_norm),
    Natural("2.4", "a view", shaped(1, -1, 1, 1)),
    Natural("2.4", "permuted and back", lambda h, mean, var: channels_last(h, mean, var).permute(0, 3, 1, 2)),
    Natural("2.4", "rsqrt", wide(lambda h, mean, var: (h - mean) * torch.rsqrt(var + 1e-5))),
    Natural("2.4", "numpy in float64", lambda h, mean, var: (
        h.double().numpy() - mean.double().numpy()[:, None, None])
        / np.sqrt(var.double().numpy() + 1e-5)[:, None, None]),
    Natural("2.5", "a quadratic form", by_matrix),
    Natural("2.5", "in float32", lambda p, q, r, alpha: (
        torch.tensor(alpha) ** 2 * p + (1 - torch.tensor(alpha)) ** 2 * q
        + 2 * torch.tensor(alpha) * (1 - torch.tensor(alpha)) * r * torch.tensor(p * q).sqrt())),
    Natural("2.5", "np.float64", lambda p, q, r, alpha: np.float64(right(p, q, r, alpha))),
    Natural("2.6", "a capital in parentheses", "(C)"),
    Natural("2.6", "with a dot", "c."),
]
