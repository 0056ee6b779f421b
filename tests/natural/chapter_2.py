"""Answers to the exercises of chapter 2."""
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.natural import Natural

# -- 2.1: how many test images -------------------------------------------------------------------------

IMAGES = [
    Natural("2.1", "as the source says", 20_000),
    Natural("2.1", "one task", 500),
    Natural("2.1", "two classes", 200),
    Natural("2.1", "training images of both", 5000),
    Natural("2.1", "the whole test part", 10_000),
    Natural("2.1", "training images of one task", 2500),
    Natural("2.1", "training and test of both", 6000),
    Natural("2.1", "review: one class", 100),
    Natural("2.1", "review: all four tasks", 2000),
    Natural("2.1", "the classes of a pair", 10),
    Natural("2.1", "as text", "1000"),
    Natural("2.1", "review: four times 100", 400),
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
    Natural("2.2", "the remainder", lambda images, batch_size: images % batch_size),
    Natural("2.2", "how many full batches", lambda images, batch_size: images // batch_size),
    Natural("2.2", "how many batches", lambda images, batch_size: math.ceil(images / batch_size)),
    Natural("2.2", "what is missing", lambda images, batch_size: batch_size - images % batch_size),
    Natural("2.2", "batches not multiplied", lambda images, batch_size: images - images // batch_size),
    Natural("2.2", "always full", lambda images, batch_size: batch_size),
    Natural("2.2", "review: 64 written in", lambda images, batch_size: images % 64 or 64),
    Natural("2.2", "the smaller of both", lambda images, batch_size: min(images, batch_size)),
    Natural("2.2", "all images where nothing is left", lambda images, batch_size: images % batch_size or images),
    Natural("2.2", "off by one", lambda images, batch_size: (images - 1) % batch_size),
    Natural("2.2", "arguments exchanged", lambda images, batch_size: batch_size % images),
    Natural("2.2", "quotient and remainder", divmod),
    Natural("2.2", "subtracts once too often", subtracts_to_the_end),
    Natural("2.2", "small sets looked after, even ones not", forgets_the_even_split),
    Natural("2.2", "rounds the number of batches",
            lambda images, batch_size: images - batch_size * round(images / batch_size)),
    Natural("2.2", "a fraction of a batch", lambda images, batch_size: images / batch_size - images // batch_size),
    Natural("2.2", "ceil, then minus", lambda images, batch_size: math.ceil(images / batch_size) * batch_size - images),
    Natural("2.2", "one where nothing is left", lambda images, batch_size: max(1, images % batch_size)),
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
    Natural("2.3", "torch's var", lambda h: (h.mean((0, 2, 3)), h.var((0, 2, 3)))),
    Natural("2.3", "standard deviation", lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3), unbiased=False))),
    Natural("2.3", "torch's std", lambda h: (h.mean((0, 2, 3)), h.std((0, 2, 3)))),
    Natural("2.3", "over the samples alone", statistics_over((0,))),
    Natural("2.3", "over the pixels alone, as InstanceNorm", statistics_over((2, 3))),
    Natural("2.3", "sample by sample, as LayerNorm", statistics_over((1, 2, 3))),
    Natural("2.3", "over all but the width", statistics_over((0, 1, 2))),
    Natural("2.3", "review: torch.var_mean", lambda h: torch.var_mean(h, (0, 2, 3), unbiased=False)),
    Natural("2.3", "torch.var_mean as it comes", lambda h: torch.var_mean(h, (0, 2, 3))),
    Natural("2.3", "mean over samples of the images' variances",
            lambda h: (h.mean((0, 2, 3)), h.var((2, 3), unbiased=False).mean(0))),
    Natural("2.3", "variance of the images' means",
            lambda h: (h.mean((0, 2, 3)), h.mean((2, 3)).var(0, unbiased=False))),
    Natural("2.3", "mean square", lambda h: (h.mean((0, 2, 3)), (h ** 2).mean((0, 2, 3)))),
    Natural("2.3", "E[h]² − E[h²]", lambda h: (h.mean((0, 2, 3)), h.mean((0, 2, 3)) ** 2 - (h ** 2).mean((0, 2, 3)))),
    Natural("2.3", "dimensions kept", lambda h: (h.mean((0, 2, 3), keepdim=True),
                                                h.var((0, 2, 3), unbiased=False, keepdim=True))),
    Natural("2.3", "reshaped without transposing", flattened_without_transposing),
    Natural("2.3", "running statistics, momentum 0.1", of_a_layer(0.1)),
    Natural("2.3", "running statistics, momentum 1", of_a_layer(1.0)),
    Natural("2.3", "mean absolute deviation",
            lambda h: (h.mean((0, 2, 3)), (h - h.mean((0, 2, 3), keepdim=True)).abs().mean((0, 2, 3)))),
    Natural("2.3", "squares added, not averaged",
            lambda h: (h.mean((0, 2, 3)), ((h - h.mean((0, 2, 3), keepdim=True)) ** 2).sum((0, 2, 3)))),
    Natural("2.3", "eps added", lambda h: (h.mean((0, 2, 3)), h.var((0, 2, 3), unbiased=False) + 1e-5)),
    Natural("2.3", "over everything", lambda h: (h.mean(), h.var(unbiased=False))),
    Natural("2.3", "the mean alone", lambda h: h.mean((0, 2, 3))),
    Natural("2.3", "mean over samples, then of the variances over samples",
            lambda h: (h.mean((0, 2, 3)), h.var(0, unbiased=False).mean((1, 2)))),
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
    Natural("2.4", "review: eps forgotten", wide(lambda h, mean, var: (h - mean) / var.sqrt())),
    Natural("2.4", "review: eps outside the root", wide(lambda h, mean, var: (h - mean) / (var.sqrt() + 1e-5))),
    Natural("2.4", "no root", wide(lambda h, mean, var: (h - mean) / (var + 1e-5))),
    Natural("2.4", "as the formula reads", lambda h, mean, var: (h - mean) / (var + 1e-5).sqrt()),
    Natural("2.4", "review: a wrong view", shaped(-1, 1, 1, 1)),
    Natural("2.4", "one dimension too few", lambda h, mean, var: (h - mean[:, None]) / (var[:, None] + 1e-5).sqrt()),
    Natural("2.4", "channels on the rows of a picture", shaped(1, 1, -1, 1)),
    Natural("2.4", "the batch's own statistics", of_the_batch),
    Natural("2.4", "F.batch_norm in training",
            lambda h, mean, var: F.batch_norm(h, mean, var, training=True)),
    Natural("2.4", "a fresh layer", lambda h, mean, var: nn.BatchNorm2d(h.shape[1]).to(h.dtype)(h).detach()),
    Natural("2.4", "InstanceNorm", lambda h, mean, var: F.instance_norm(h)),
    Natural("2.4", "LayerNorm", lambda h, mean, var: F.layer_norm(h, h.shape[1:])),
    Natural("2.4", "multiplied", wide(lambda h, mean, var: (h - mean) * (var + 1e-5).sqrt())),
    Natural("2.4", "parentheses forgotten", wide(lambda h, mean, var: h - mean / (var + 1e-5).sqrt())),
    Natural("2.4", "mean added", wide(lambda h, mean, var: (h + mean) / (var + 1e-5).sqrt())),
    Natural("2.4", "mean not subtracted", wide(lambda h, mean, var: h / (var + 1e-5).sqrt())),
    Natural("2.4", "centred only", wide(lambda h, mean, var: h - mean)),
    Natural("2.4", "eps of 1e-3", wide(lambda h, mean, var: (h - mean) / (var + 1e-3).sqrt())),
    Natural("2.4", "eps of 1e-8", wide(lambda h, mean, var: (h - mean) / (var + 1e-8).sqrt())),
    Natural("2.4", "variance squared", wide(lambda h, mean, var: (h - mean) / (var ** 2 + 1e-5).sqrt())),
    Natural("2.4", "channels left last", channels_last),
    Natural("2.4", "eps taken off", wide(lambda h, mean, var: (h - mean) / (var - 1e-5).sqrt())),
    Natural("2.4", "clamped at eps", wide(lambda h, mean, var: (h - mean) / var.clamp(min=1e-5).sqrt())),
    Natural("2.4", "mean and variance exchanged", lambda h, mean, var: F.batch_norm(h, var, mean)),
    Natural("2.4", "in place", wide(lambda h, mean, var: h.sub_(mean).div_((var + 1e-5).sqrt()))),
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
    Natural("2.5", "mix of the variances", lambda p, q, r, alpha: alpha * p + (1 - alpha) * q),
    Natural("2.5", "as if independent", sum_of(lambda p, q, r, alpha: 0)),
    Natural("2.5", "2 forgotten", sum_of(lambda p, q, r, alpha: alpha * (1 - alpha) * r * math.sqrt(p * q))),
    Natural("2.5", "correlation for covariance", sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r)),
    Natural("2.5", "root forgotten", sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * p * q)),
    Natural("2.5", "as of a difference",
            sum_of(lambda p, q, r, alpha: -2 * alpha * (1 - alpha) * r * math.sqrt(p * q))),
    Natural("2.5", "review: shares exchanged", lambda p, q, r, alpha: right(p, q, r, 1 - alpha)),
    Natural("2.5", "review: standard deviation", lambda p, q, r, alpha: right(p, q, r, alpha) ** 0.5),
    Natural("2.5", "review: as text", lambda p, q, r, alpha: f"{right(p, q, r, alpha)}"),
    Natural("2.5", "fully correlated",
            lambda p, q, r, alpha: (alpha * math.sqrt(p) + (1 - alpha) * math.sqrt(q)) ** 2),
    Natural("2.5", "shares not squared",
            lambda p, q, r, alpha: alpha * p + (1 - alpha) * q + 2 * alpha * (1 - alpha) * r * math.sqrt(p * q)),
    Natural("2.5", "cross term without the shares", sum_of(lambda p, q, r, alpha: 2 * r * math.sqrt(p * q))),
    Natural("2.5", "cross term with α alone", sum_of(lambda p, q, r, alpha: 2 * alpha * r * math.sqrt(p * q))),
    Natural("2.5", "variances taken for standard deviations",
            lambda p, q, r, alpha: right(p ** 2, q ** 2, r, alpha)),
    Natural("2.5", "covariance from the mean variance",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * (p + q) / 2)),
    Natural("2.5", "(1 + ρ)/2, the case at the half",
            lambda p, q, r, alpha: (1 + r) / 2 * (alpha * p + (1 - alpha) * q)),
    Natural("2.5", "half of each", lambda p, q, r, alpha: right(p, q, r, 0.5)),
    Natural("2.5", "correlation squared",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r ** 2 * math.sqrt(p * q))),
    Natural("2.5", "torch.sqrt of a float",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * torch.sqrt(p * q))),
    Natural("2.5", "(1 − α²) for (1 − α)²", lambda p, q, r, alpha: (
        alpha ** 2 * p + (1 - alpha ** 2) * q + 2 * alpha * (1 - alpha) * r * math.sqrt(p * q))),
    Natural("2.5", "^ for power", lambda p, q, r, alpha: alpha ^ 2 * p + (1 - alpha) ^ 2 * q),
    Natural("2.5", "root of one variance only",
            sum_of(lambda p, q, r, alpha: 2 * alpha * (1 - alpha) * r * math.sqrt(p) * q)),
    Natural("2.6", "the gap vanishes", "a"),
    Natural("2.6", "never", "B"),
    Natural("2.6", "re-estimated against batch", "(d)"),
    Natural("2.6", "the text of the option", "For the length"),
]

WRONG = [*IMAGES, *LAST, *STATISTICS, *NORMALISE, *MIXED]

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
