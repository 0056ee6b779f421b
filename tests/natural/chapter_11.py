"""Answers to the exercises of chapter 11: a tangent, one layer's kernel, ridge regression, the rule, and a bound by
energy."""
import math

import numpy as np
import torch

from tests.natural import Natural

# -- 11.1 tangent --------------------------------------------------------------------------------------

def jvp(f, at, change):
    return torch.func.jvp(f, (at,), (change,))


def by_jacobian(f, theta_0):
    start, J = f(theta_0), torch.func.jacrev(f)(theta_0)
    return lambda theta: start + (J * (theta - theta_0)).sum(-1)


def by_differences(f, theta_0):
    def f_bar(theta, h=1e-5):
        change = theta - theta_0
        return f(theta_0) + (f(theta_0 + h * change) - f(theta_0 - h * change)) / (2 * h)
    return f_bar


def named(f, theta_0):
    def inside(theta):
        outputs, inner = jvp(f, theta_0, theta - theta_0)
        return outputs.add(inner)
    return inside


def all_summed(f, theta_0):
    gradient = torch.func.grad(lambda theta: f(theta).sum())(theta_0)
    return lambda theta: f(theta_0) + (gradient * (theta - theta_0)).sum()


# -- 11.4 regulariser_on -------------------------------------------------------------------------------

def elementwise(gradient, u):
    return gradient * u >= 0


def by_cosine(gradient, u):
    return torch.nn.functional.cosine_similarity(gradient, u, dim=0) >= 0


def by_loop(gradient, u):
    total = 0.0
    for slope, moved in zip(gradient.tolist(), u.tolist()):
        total += slope * moved
    return total >= 0


# -- 11.5 largest_lambda -------------------------------------------------------------------------------

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


# -- 11.2 layer_kernel ---------------------------------------------------------------------------------

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


# -- 11.3 coefficients ---------------------------------------------------------------------------------

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


# -- 11.7 error_left -----------------------------------------------------------------------------------

def left(power=2, keeps=lambda kappa, sigma: sigma / (sigma + kappa), times=lambda n: 1.0):
    return lambda kappa, shares, sigma: times(len(kappa)) * (keeps(kappa, sigma) ** power * shares).sum()


def right_by_loop(kappa, shares, sigma):
    return sum((sigma / (sigma + k)) ** 2 * c for k, c in zip(kappa.tolist(), shares.tolist()))


WRONG = [
    Natural("11.1", "the network", lambda f, theta_0: f, "That is the network itself"),
    Natural("11.1", "the product alone", lambda f, theta_0: lambda theta: jvp(f, theta_0, theta - theta_0)[1],
            "The first term is missing"),
    Natural("11.1", "the pair", lambda f, theta_0: lambda theta: jvp(f, theta_0, theta - theta_0),
            "You return two things"),
    Natural("11.1", "theta for the change", lambda f, theta_0: lambda theta: sum(jvp(f, theta_0, theta)),
            "not by theta. At theta_0"),
    Natural("11.1", "sign", lambda f, theta_0: lambda theta: sum(jvp(f, theta_0, theta_0 - theta)), "The sign"),
    Natural("11.1", "at theta", lambda f, theta_0: lambda theta: sum(jvp(f, theta, theta - theta_0)),
            "You took the outputs and the gradient at theta"),
    Natural("11.1", "arguments swapped", lambda f, theta_0: lambda theta: sum(jvp(f, theta - theta_0, theta_0)),
            "jvp takes first where"),
    Natural("11.1", "one gradient of the sum", all_summed, "You summed over the images too"),
    Natural("11.1", "called already", lambda f, theta_0: f(theta_0), "These are outputs, not a function"),
    Natural("11.1", "never moves", lambda f, theta_0: lambda theta: f(theta_0), "That stays at the outputs before"),
    Natural("11.4", "sign", lambda g, u: torch.dot(g, u) <= 0, "The sign: the rule asks for s ≥ 0"),
    Natural("11.4", "strictly below", lambda g, u: torch.dot(g, u) < 0, "You answered when it is off. On is"),
    Natural("11.4", "strictly above", lambda g, u: torch.dot(g, u) > 0, "Nearly: at s = 0, as at the very"),
    Natural("11.4", "entry by entry", elementwise, "Entry by entry that is one answer a"),
    Natural("11.4", "the product itself", lambda g, u: torch.dot(g, u), "That is s itself. Asked is whether"),
    Natural("11.4", "all entries", lambda g, u: bool((g * u >= 0).all()), "That asks every weight on its own"),
    Natural("11.4", "lengths", lambda g, u: g.norm() >= u.norm(), "You compared lengths. The rule"),
    Natural("11.4", "when anything has moved", lambda g, u: bool(u.norm() > 0), "That is always so after the first"),
    Natural("11.5", "the rule", the_rule, "That is the slides' rule. It is"),
    Natural("11.5", "no min", without_min, "Where s < 0 you may exceed λ, which"),
    Natural("11.5", "s never looked at", always_divided, "For s ≥ 0 the quotient is negative"),
    Natural("11.5", "‖g‖ for ‖g‖²", length_not_squared, "dR̃/dt has ‖g‖², the gradient's"),
    Natural("11.5", "‖g‖/‖u‖", over_distance, "‖g‖/‖u‖ is what is left where g and"),
    Natural("11.5", "sign of s", sign_of_s, "The sign of s: the pull −λu raises"),
    Natural("11.5", "max for min", max_for_min, "You took the larger of the two"),
    Natural("11.5", "minus forgotten", negative, "A minus is missing: s is negative"),
    Natural("11.5", "λ whatever", lambda lam, g, u: lam, "With the whole λ the error may"),
    Natural("11.2", "matrix product", lambda d, h: (d @ d.T) @ (h @ h.T + 1), "Entry by entry: K_ij is ⟨δ_i, δ_j⟩"),
    Natural("11.2", "no bias", weights_by_hand, "The bias is missing. Its gradient"),
    Natural("11.2", "sum for product", lambda d, h: d @ d.T + h @ h.T + 1, "A gradient by W is an outer product"),
    Natural("11.2", "bias added outside", lambda d, h: (d @ d.T) * (h @ h.T) + 1,
            "The 1 belongs into the parentheses"),
    Natural("11.2", "other way round", lambda d, h: (d @ d.T + 1) * (h @ h.T), "The 1 stands at the wrong factor"),
    Natural("11.2", "units for samples", lambda d, h: (d.T @ d).sum() * (h.T @ h), "That sums over the samples. The"),
    Natural("11.2", "inputs alone", lambda d, h: h @ h.T + 1, "That is the kernel of the layer's"),
    Natural("11.2", "deltas alone", lambda d, h: d @ d.T, "That is the bias's part alone. The"),
    Natural("11.2", "both biases", lambda d, h: (d @ d.T + 1) * (h @ h.T + 1), "One + 1 too many: the bias is one"),
    Natural("11.2", "mean over units", lambda d, h: (d @ d.T) * (h @ h.T + 1) / h.shape[1],
            "Right but for the width: in this"),
    Natural("11.3", "n forgotten", ridge(lambda n, lam: lam / 2, lambda y, f: y - f),
            "The n is missing: the loss is a"),
    Natural("11.3", "½ forgotten", ridge(lambda n, lam: n * lam, lambda y, f: y - f),
            "The ½ is missing: the penalty is"),
    Natural("11.3", "neither n nor f₀", ridge(lambda n, lam: lam / 2, lambda y, f: y),
            "The tangent starts at f₀, so it has to"),
    Natural("11.3", "y for y − f₀", ridge(lambda n, lam: n * lam / 2, lambda y, f: y),
            "The tangent starts at f₀, not at 0"),
    Natural("11.3", "sign of the residual", ridge(lambda n, lam: n * lam / 2, lambda y, f: f - y),
            "The sign: what is to be learned is"),
    Natural("11.3", "divided by n", ridge(lambda n, lam: lam / (2 * n), lambda y, f: y - f),
            "The n went the wrong way: a mean is"),
    Natural("11.3", "λ", ridge(lambda n, lam: lam, lambda y, f: y - f), "n and ½ are missing: the ridge is"),
    Natural("11.3", "no ridge", ridge(lambda n, lam: 0.0, lambda y, f: y - f), "That is the interpolating solution"),
    Natural("11.3", "on every entry", everywhere, "You added the ridge to every entry"),
    Natural("11.3", "the answers in place of α", predictions, "That is K·α, which is added to f₀"),
    Natural("11.7", "not squared", left(1), "Not squared: the residual in"),
    Natural("11.7", "what is learned", left(2, lambda k, s: k / (s + k)), "κ/(σ + κ) is what is learned. What"),
    Natural("11.7", "mean", left(2, times=lambda n: 1 / n), "That is the mean. Asked is R̃, the"),
    Natural("11.7", "what is learned, taken from all", lambda k, c, s: (c - (k / (s + k)) ** 2 * c).sum(),
            "What is left of a residual is 1 −"),
    Natural("11.7", "upper end", lambda k, c, s: (s / (s + k.min())) ** 2 * c.sum(),
            "That is the upper end of Theorem 5"),
    Natural("11.7", "sum squared", lambda k, c, s: (s / (s + k) * c).sum() ** 2,
            "Square each factor and then add up"),
    Natural("11.7", "shares squared again", lambda k, c, s: ((s / (s + k)) ** 2 * c ** 2).sum(),
            "`shares` are the squares c_i²"),
    Natural("11.7", "penalised", lambda k, c, s: (s / (s + k) * c).sum(), "Not squared: the residual in"),
    Natural("11.7", "not summed", lambda k, c, s: (s / (s + k)) ** 2 * c, "Right for every direction. R̃ is"),
    Natural("11.6", "no root", lambda initial, lam: 2 * initial ** 2 / lam, "That bounds ‖u‖². Take the root"),
    Natural("11.6", "½ forgotten", lambda initial, lam: initial / math.sqrt(lam),
            "The ½ of the penalty (λ/2)‖u‖² is"),
    Natural("11.6", "error not squared", lambda initial, lam: math.sqrt(2 * initial / lam),
            "R̃₀ is ‖r₀‖², the square of what"),
    Natural("11.6", "λ not under the root", lambda initial, lam: initial * math.sqrt(2) / lam,
            "λ belongs under the root too"),
    Natural("11.6", "½ the other way", lambda initial, lam: initial * math.sqrt(lam / 2),
            "Upside down: a stronger pull must"),
    Natural("11.6", "1/λ", lambda initial, lam: initial / lam, "(λ/2)‖u‖² ≤ R̃₀ is about squares"),
    Natural("11.6", "½ of λ doubled", lambda initial, lam: initial / math.sqrt(2 * lam),
            "The ½ went the wrong way: (λ/2)‖u‖²"),
    Natural("11.8", "the training error", "a", "It nearly always does, and need"),
    Natural("11.8", "the condition number", "c", "Adding a large S in one direction"),
    Natural("11.8", "the error after some steps", "d", "With a fixed number of steps it"),
    Natural("11.8", "none", "e", "One of them must. (K + S + σI)⁻¹ ⪯"),
]

RIGHT = [
    Natural("11.1", "Jacobian", by_jacobian),
    Natural("11.1", "differences", by_differences),
    Natural("11.1", "inner function", named),
    Natural("11.4", "loop", by_loop),
    Natural("11.4", "sum of products", lambda g, u: bool((g * u).sum() >= 0)),
    Natural("11.4", "number", lambda g, u: float(torch.dot(g, u) >= 0)),
    Natural("11.5", "branches", right_by_branches),
    Natural("11.2", "whole Jacobian", whole_jacobian),
    Natural("11.2", "a column of ones", with_ones),
    Natural("11.2", "numpy", lambda d, h: (d.numpy() @ d.numpy().T) * (h.numpy() @ h.numpy().T + 1)),
    Natural("11.3", "inverse", by_inverse),
    Natural("11.3", "eigenvectors", by_eigenvectors),
    Natural("11.7", "loop", right_by_loop),
    Natural("11.7", "numpy", lambda k, c, s: ((s / (s + k.numpy())) ** 2 * c.numpy()).sum()),
    Natural("11.6", "root of the quotient", lambda initial, lam: math.sqrt(2 * initial ** 2 / lam)),
    Natural("11.6", "numpy", lambda initial, lam: initial * np.sqrt(2 / lam)),
    Natural("11.8", "in parentheses", "(b)"),
    Natural("11.8", "capital", "B"),
]
