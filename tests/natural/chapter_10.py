"""Answers to the exercises of chapter 10: the rule, one layer's kernel, ridge regression, and a bound by energy."""
import math

import numpy as np
import torch

from tests.natural import Natural


# -- 10.1 regulariser_on -------------------------------------------------------------------------------

def elementwise(gradient, u):
    return gradient * u >= 0


def by_cosine(gradient, u):
    return torch.nn.functional.cosine_similarity(gradient, u, dim=0) >= 0


def by_loop(gradient, u):
    total = 0.0
    for slope, moved in zip(gradient.tolist(), u.tolist()):
        total += slope * moved
    return total >= 0


# -- 10.2 largest_lambda -------------------------------------------------------------------------------

def s_of(gradient, u):
    return torch.dot(gradient, u)


def the_rule(lam, gradient, u):
    return lam if s_of(gradient, u) >= 0 else 0.0


def right_by_branches(lam, gradient, u):
    s = float(gradient @ u)
    return lam if s >= 0 else min(lam, float(gradient @ gradient) / -s)


def without_min(lam, gradient, u):
    s = s_of(gradient, u)
    return lam if s >= 0 else gradient.square().sum() / -s


def always_divided(lam, gradient, u):
    s = s_of(gradient, u)
    return min(lam, (gradient.square().sum() / -s).item())


def length_not_squared(lam, gradient, u):
    s = s_of(gradient, u)
    return lam if s >= 0 else min(lam, (gradient.norm() / -s).item())


def over_distance(lam, gradient, u):
    s = s_of(gradient, u)
    return lam if s >= 0 else min(lam, (gradient.norm() / u.norm()).item())


def sign_of_s(lam, gradient, u):
    s = s_of(gradient, u)
    return lam if s <= 0 else min(lam, (gradient.square().sum() / s).item())


def max_for_min(lam, gradient, u):
    s = s_of(gradient, u)
    return lam if s >= 0 else max(lam, (gradient.square().sum() / -s).item())


def negative(lam, gradient, u):
    s = s_of(gradient, u)
    return lam if s >= 0 else min(lam, (gradient.square().sum() / s).item())


# -- 10.3 layer_kernel ---------------------------------------------------------------------------------

def whole_jacobian(delta, h):
    rows = [torch.cat([torch.outer(d, one).flatten(), d]) for d, one in zip(delta, h)]
    J = torch.stack(rows)
    return J @ J.T


def weights_by_hand(delta, h):
    J = torch.einsum("no,ni->noi", delta, h).flatten(1)
    return J @ J.T


def with_ones(delta, h):
    augmented = torch.cat([h, torch.ones(len(h), 1, dtype=h.dtype)], 1)
    return (delta @ delta.T) * (augmented @ augmented.T)


# -- 10.4 coefficients ---------------------------------------------------------------------------------

def ridge(sigma, target):
    def answer(kernel, y, f_0, lam):
        n = len(y)
        eye = torch.eye(n, dtype=kernel.dtype)
        return torch.linalg.solve(kernel + sigma(n, lam) * eye, target(y, f_0))
    return answer


def predictions(kernel, y, f_0, lam):
    n = len(y)
    return kernel @ torch.linalg.solve(kernel + n * lam / 2 * torch.eye(n, dtype=kernel.dtype), y - f_0)


def everywhere(kernel, y, f_0, lam):
    return torch.linalg.solve(kernel + len(y) * lam / 2, y - f_0)


def by_inverse(kernel, y, f_0, lam):
    n = len(y)
    return np.linalg.inv(kernel.numpy() + n * lam / 2 * np.eye(n)) @ (y - f_0).numpy()


def by_eigenvectors(kernel, y, f_0, lam):
    kappa, U = torch.linalg.eigh(kernel)
    return U @ ((U.T @ (y - f_0)) / (kappa + len(y) * lam / 2))


# -- 10.5 error_left -----------------------------------------------------------------------------------

def left(power=2, keeps=lambda kappa, sigma: sigma / (sigma + kappa), times=lambda n: 1.0):
    return lambda kappa, shares, sigma: times(len(kappa)) * (keeps(kappa, sigma) ** power * shares).sum()


def right_by_loop(kappa, shares, sigma):
    return sum((sigma / (sigma + k)) ** 2 * c for k, c in zip(kappa.tolist(), shares.tolist()))


WRONG = [
    Natural("10.1", "sign", lambda g, u: torch.dot(g, u) <= 0),
    Natural("10.1", "strictly below", lambda g, u: torch.dot(g, u) < 0),
    Natural("10.1", "strictly above", lambda g, u: torch.dot(g, u) > 0),
    Natural("10.1", "entry by entry", elementwise),
    Natural("10.1", "the product itself", lambda g, u: torch.dot(g, u)),
    Natural("10.1", "all entries", lambda g, u: bool((g * u >= 0).all())),
    Natural("10.1", "lengths", lambda g, u: g.norm() >= u.norm()),
    Natural("10.1", "when anything has moved", lambda g, u: bool(u.norm() > 0)),
    Natural("10.2", "the rule", the_rule),
    Natural("10.2", "no min", without_min),
    Natural("10.2", "s never looked at", always_divided),
    Natural("10.2", "‖g‖ for ‖g‖²", length_not_squared),
    Natural("10.2", "‖g‖/‖u‖", over_distance),
    Natural("10.2", "sign of s", sign_of_s),
    Natural("10.2", "max for min", max_for_min),
    Natural("10.2", "minus forgotten", negative),
    Natural("10.2", "λ whatever", lambda lam, g, u: lam),
    Natural("10.3", "matrix product", lambda d, h: (d @ d.T) @ (h @ h.T + 1)),
    Natural("10.3", "no bias", weights_by_hand),
    Natural("10.3", "sum for product", lambda d, h: d @ d.T + h @ h.T + 1),
    Natural("10.3", "bias added outside", lambda d, h: (d @ d.T) * (h @ h.T) + 1),
    Natural("10.3", "other way round", lambda d, h: (d @ d.T + 1) * (h @ h.T)),
    Natural("10.3", "units for samples", lambda d, h: (d.T @ d).sum() * (h.T @ h)),
    Natural("10.3", "inputs alone", lambda d, h: h @ h.T + 1),
    Natural("10.3", "deltas alone", lambda d, h: d @ d.T),
    Natural("10.3", "both biases", lambda d, h: (d @ d.T + 1) * (h @ h.T + 1)),
    Natural("10.3", "mean over units", lambda d, h: (d @ d.T) * (h @ h.T + 1) / h.shape[1]),
    Natural("10.4", "n forgotten", ridge(lambda n, lam: lam / 2, lambda y, f: y - f)),
    Natural("10.4", "½ forgotten", ridge(lambda n, lam: n * lam, lambda y, f: y - f)),
    Natural("10.4", "as the slides", ridge(lambda n, lam: lam / 2, lambda y, f: y)),
    Natural("10.4", "y for y − f₀", ridge(lambda n, lam: n * lam / 2, lambda y, f: y)),
    Natural("10.4", "sign of the residual", ridge(lambda n, lam: n * lam / 2, lambda y, f: f - y)),
    Natural("10.4", "divided by n", ridge(lambda n, lam: lam / (2 * n), lambda y, f: y - f)),
    Natural("10.4", "λ", ridge(lambda n, lam: lam, lambda y, f: y - f)),
    Natural("10.4", "no ridge", ridge(lambda n, lam: 0.0, lambda y, f: y - f)),
    Natural("10.4", "on every entry", everywhere),
    Natural("10.4", "the answers in place of α", predictions),
    Natural("10.5", "not squared", left(1)),
    Natural("10.5", "what is learned", left(2, lambda k, s: k / (s + k))),
    Natural("10.5", "mean", left(2, times=lambda n: 1 / n)),
    Natural("10.5", "what is learned, taken from all", lambda k, c, s: (c - (k / (s + k)) ** 2 * c).sum()),
    Natural("10.5", "upper end", lambda k, c, s: (s / (s + k.min())) ** 2 * c.sum()),
    Natural("10.5", "sum squared", lambda k, c, s: (s / (s + k) * c).sum() ** 2),
    Natural("10.5", "shares squared again", lambda k, c, s: ((s / (s + k)) ** 2 * c ** 2).sum()),
    Natural("10.5", "penalised", lambda k, c, s: (s / (s + k) * c).sum()),
    Natural("10.5", "not summed", lambda k, c, s: (s / (s + k)) ** 2 * c),
    Natural("10.6", "no root", lambda initial, lam: 2 * initial ** 2 / lam),
    Natural("10.6", "½ forgotten", lambda initial, lam: initial / math.sqrt(lam)),
    Natural("10.6", "error not squared", lambda initial, lam: math.sqrt(2 * initial / lam)),
    Natural("10.6", "λ not under the root", lambda initial, lam: initial * math.sqrt(2) / lam),
    Natural("10.6", "½ the other way", lambda initial, lam: initial * math.sqrt(lam / 2)),
    Natural("10.6", "1/λ", lambda initial, lam: initial / lam),
    Natural("10.6", "½ of λ doubled", lambda initial, lam: initial / math.sqrt(2 * lam)),
    Natural("10.7", "the training error", "a"),
    Natural("10.7", "the condition number", "c"),
    Natural("10.7", "the error after some steps", "d"),
    Natural("10.7", "none", "e"),
]

RIGHT = [
    Natural("10.1", "loop", by_loop),
    Natural("10.1", "sum of products", lambda g, u: bool((g * u).sum() >= 0)),
    Natural("10.1", "number", lambda g, u: float(torch.dot(g, u) >= 0)),
    Natural("10.2", "branches", right_by_branches),
    Natural("10.3", "whole Jacobian", whole_jacobian),
    Natural("10.3", "a column of ones", with_ones),
    Natural("10.3", "numpy", lambda d, h: (d.numpy() @ d.numpy().T) * (h.numpy() @ h.numpy().T + 1)),
    Natural("10.4", "inverse", by_inverse),
    Natural("10.4", "eigenvectors", by_eigenvectors),
    Natural("10.5", "loop", right_by_loop),
    Natural("10.5", "numpy", lambda k, c, s: ((s / (s + k.numpy())) ** 2 * c.numpy()).sum()),
    Natural("10.6", "root of the quotient", lambda initial, lam: math.sqrt(2 * initial ** 2 / lam)),
    Natural("10.6", "numpy", lambda initial, lam: initial * np.sqrt(2 / lam)),
    Natural("10.7", "in parentheses", "(b)"),
    Natural("10.7", "capital", "B"),
]
