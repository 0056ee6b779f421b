"""Answers to the exercises of chapter 6: task vectors as gradients, orders, and a bound."""
import math

import numpy as np
import torch

from lessons.gradients.algorithms.expansion import gradient
from tests.natural import Natural

# -- 6.1 task_vector_of_one_step ---------------------------------------------------------------------

def where_it_ends(f, theta, eta):
    return theta - eta * torch.func.grad(f)(theta)


def by_backward(f, theta, eta):
    theta = theta.clone().requires_grad_()
    f(theta).backward()
    return -eta * theta.grad


def by_optimiser(f, theta, eta):
    weights = theta.clone().requires_grad_()
    optimiser = torch.optim.SGD([weights], lr=eta)
    f(weights).backward()
    optimiser.step()
    return (weights - theta).detach()


def averaged_loss(f, theta, eta):
    return -eta * gradient(f, theta) / len(theta)


def in_place_step(f, theta, eta):
    theta -= eta * gradient(f, theta)
    return theta


def normalised(f, theta, eta):
    slope = gradient(f, theta)
    return -eta * slope / slope.norm()


# -- 6.2 mismatch ------------------------------------------------------------------------------------

def without_own(gradients, alpha):
    return alpha * (gradients.sum(0) - gradients) - gradients


def others_only(gradients, alpha):
    return alpha * (gradients.sum(0) - gradients)


def own_minus_joint(gradients, alpha):
    return gradients - alpha * gradients.sum(0)


def mean_for_sum(gradients, alpha):
    return alpha * gradients.mean(0) - gradients


def wrong_axis(gradients, alpha):
    return alpha * gradients.sum(1, keepdim=True) - gradients


def shares(gradients, alpha):
    return alpha * gradients.sum(0) - (1 - alpha) * gradients


def no_alpha(gradients, alpha):
    return gradients.sum(0) - gradients


def right_by_loop(gradients, alpha):
    joint = alpha * sum(gradients)
    return [joint - own for own in gradients]


def right_split(gradients, alpha):
    T = len(gradients)
    M = torch.full((T, T), alpha, dtype=gradients.dtype) - torch.eye(T, dtype=gradients.dtype)
    return M @ gradients


# -- 6.3 order_of ------------------------------------------------------------------------------------

def by_polyfit(eta_a, error_a, eta_b, error_b):
    return np.polyfit(np.log([eta_a, eta_b]), np.log([error_a, error_b]), 1)[0]


# -- 6.5 hessian_vector ------------------------------------------------------------------------------

def finite(f, theta, v, step=1e-5):
    g = torch.func.grad(f)
    return (g(theta + step * v) - g(theta - step * v)) / (2 * step)


def forward_difference(f, theta, v):
    g = torch.func.grad(f)
    return (g(theta + 1e-4 * v) - g(theta)) / 1e-4


def long_difference(f, theta, v):
    g = torch.func.grad(f)
    return g(theta + v) - g(theta)


def pearlmutter(f, theta, v):
    return torch.func.grad(lambda one: torch.dot(torch.func.grad(f)(one), v))(theta)


def by_autograd(f, theta, v):
    theta = theta.clone().requires_grad_()
    slope, = torch.autograd.grad(f(theta), theta, create_graph=True)
    return torch.autograd.grad(slope, theta, v)[0]


def jvp_of(g, theta, v):
    return torch.func.jvp(g, (theta,), (v,))


def summed_first(f, theta, v):
    return torch.func.grad(lambda one: torch.func.grad(f)(one).sum())(theta) * v


def rayleigh(f, theta, v):
    return torch.dot(v, jvp_of(torch.func.grad(f), theta, v)[1])


# -- 6.6 corrected_bound -----------------------------------------------------------------------------

def bound(factor, pairs=lambda k: k * (k - 1) / 2, times=lambda T: T):
    def answer(alpha, num_tasks, steps, hessian, gradient):
        return times(num_tasks) * pairs(steps) * factor(alpha, num_tasks) * hessian * gradient
    return answer


def tight(alpha, T):
    return max(1, abs(alpha * T - 1))


def triangle(alpha, T):
    return alpha * (T - 1) + abs(1 - alpha)


def right_by_branches(alpha, num_tasks, steps, hessian, gradient):
    factor = 1.0 if alpha <= 2 / num_tasks else alpha * num_tasks - 1
    return num_tasks * math.comb(steps, 2) * factor * hessian * gradient


def right_by_root(alpha, num_tasks, steps, hessian, gradient):
    total = 0.0
    for e in range(1, steps):
        for _ in range(e):
            total += math.sqrt(max(1.0, (alpha * num_tasks - 1) ** 2))
    return num_tasks * total * hessian * gradient


WRONG = [
    Natural("6.1", "sign", lambda f, theta, eta: eta * gradient(f, theta), "The sign"),
    Natural("6.1", "where the step ends", where_it_ends, "network after the step"),
    Natural("6.1", "step size forgotten", lambda f, theta, eta: -gradient(f, theta), "step size is missing"),
    Natural("6.1", "review: divided by η", lambda f, theta, eta: -gradient(f, theta) / eta, "divided by the step size"),
    Natural("6.1", "mean over weights", averaged_loss, "number of weights"),
    Natural("6.1", "in place", in_place_step, "in place"),
    Natural("6.1", "gradient of length 1", normalised, "the length 1"),
    Natural("6.1", "start minus end", lambda f, theta, eta: theta - where_it_ends(f, theta, eta), "The sign"),
    Natural("6.1", "the loss in place of its gradient", lambda f, theta, eta: -eta * f(theta), "loss itself"),
    Natural("6.1", "gradient at the end", lambda f, theta, eta: -eta * gradient(f, where_it_ends(f, theta, eta)),
            "second step"),
    Natural("6.1", "θ minus η times the loss", lambda f, theta, eta: theta - eta * f(theta)),
    Natural("6.1", "half a step", lambda f, theta, eta: -eta * gradient(f, theta) / 2, "half what is asked"),
    Natural("6.1", "multiplied by θ", lambda f, theta, eta: -eta * gradient(f, theta) * theta),
    Natural("6.2", "turned round", own_minus_joint, "The sign"),
    Natural("6.2", "mean for sum", mean_for_sum, "not their mean"),
    Natural("6.2", "review: without the own term", others_only, "left task t out"),
    Natural("6.2", "others only, own counted whole", without_own, "whole gradient away"),
    Natural("6.2", "sum over parameters", wrong_axis, "over the weights"),
    Natural("6.2", "own share 1 − α", shares, "only if the sum leaves t out"),
    Natural("6.2", "own share plus 1 − α", lambda g, alpha: alpha * (g.sum(0) - g) + (1 - alpha) * g, "wrong sign"),
    Natural("6.2", "both as means", lambda g, alpha: alpha * g.mean(0) - g.mean(0)),
    Natural("6.2", "transposed", lambda g, alpha: (alpha * g.sum(0) - g).T, "transposed"),
    Natural("6.2", "no α", no_alpha, "α is missing"),
    Natural("6.2", "α on the own too", lambda g, alpha: alpha * g.sum(0) - alpha * g, "left task t out"),
    Natural("6.2", "parentheses", lambda g, alpha: alpha * (g.sum(0) - 1) * g, ""),
    Natural("6.2", "joint part alone", lambda g, alpha: (alpha * g.sum(0)).expand_as(g), "That is the joint step"),
    Natural("6.2", "summed over tasks", lambda g, alpha: (alpha * g.sum(0) - g).sum(0), "added them up"),
    Natural("6.2", "all numbers summed", lambda g, alpha: alpha * g.sum() - g, "without a dimension"),
    Natural("6.2", "lengths", lambda g, alpha: (alpha * g.sum(0) - g).norm(dim=1), "lengths of the r_t"),
    Natural("6.3", "ratio of the errors", lambda a, ea, b, eb: eb / ea, "by how much the error changed"),
    Natural("6.3", "slope without logarithms", lambda a, ea, b, eb: (eb - ea) / (b - a), "slope on plain axes"),
    Natural("6.3", "sign", lambda a, ea, b, eb: math.log(eb / ea) / math.log(a / b), "sign is the other way"),
    Natural("6.3", "upside down", lambda a, ea, b, eb: math.log(b / a) / math.log(eb / ea), "Upside down"),
    Natural("6.3", "base 2 whatever the step", lambda a, ea, b, eb: math.log2(ea / eb), "was halved"),
    Natural("6.3", "ratio of ratios", lambda a, ea, b, eb: (eb / ea) / (b / a), "logarithm of both ratios"),
    Natural("6.3", "rounded", lambda a, ea, b, eb: round(math.log(eb / ea) / math.log(b / a)), "rounded"),
    Natural("6.3", "log of the error only", lambda a, ea, b, eb: (math.log(eb) - math.log(ea)) / (b - a),
            "needs its logarithm too"),
    Natural("6.3", "through the origin", lambda a, ea, b, eb: math.log(ea) / math.log(a), "one point"),
    Natural("6.3", "quotient of logarithms, no difference",
            lambda a, ea, b, eb: math.log(eb) / math.log(ea), "logarithm of the quotient"),
    Natural("6.3", "two kinds of logarithm", lambda a, ea, b, eb: math.log10(eb / ea) / math.log(b / a)),
    Natural("6.3", "int", lambda a, ea, b, eb: int(math.log(eb / ea) / math.log(b / a))),
    Natural("6.3", "one order more", lambda a, ea, b, eb: math.log(eb / ea) / math.log(b / a) + 1, "1 more"),
    Natural("6.4", "from the loss's expansion", "a", "expansion of the loss"),
    Natural("6.4", "twice", "c", "twice too much"),
    Natural("6.4", "sign", "d", "with a plus"),
    Natural("6.4", "the number", 1, "letters"),
    Natural("6.5", "review: the first of the two", lambda f, t, v: jvp_of(torch.func.grad(f), t, v)[0],
            "first of the two"),
    Natural("6.5", "review: both of them", lambda f, t, v: jvp_of(torch.func.grad(f), t, v), "derivative alone"),
    Natural("6.5", "review: half", lambda f, t, v: 0.5 * jvp_of(torch.func.grad(f), t, v)[1], "half"),
    Natural("6.5", "review: θ and v changed places", lambda f, t, v: jvp_of(torch.func.grad(f), v, t)[1],
            "changed places"),
    Natural("6.5", "review: central difference", finite, "digits"),
    Natural("6.5", "forward difference", forward_difference, "finite difference"),
    Natural("6.5", "difference over the whole of v", long_difference, "whole way v"),
    Natural("6.5", "derivative of f, not of its gradient", lambda f, t, v: jvp_of(f, t, v)[1], "first derivative"),
    Natural("6.5", "gradient of the sum of the gradient, times v", summed_first, "Multiply first"),
    Natural("6.5", "gradient of the sum of the gradient", lambda f, t, v: summed_first(f, t, torch.ones_like(v))),
    Natural("6.5", "vᵀHv", rayleigh, "one number"),
    Natural("6.5", "gradient times v", lambda f, t, v: torch.func.grad(f)(t) * v, "entry by entry"),
    Natural("6.5", "the matrix itself", lambda f, t, v: torch.func.hessian(f)(t), "whole Hessian"),
    Natural("6.5", "vᵀ in place of v, diagonal only",
            lambda f, t, v: torch.diagonal(torch.func.hessian(f)(t)) * v, "diagonal alone"),
    Natural("6.5", "v of length 1", lambda f, t, v: jvp_of(torch.func.grad(f), t, v / v.norm())[1], "linear in v"),
    Natural("6.6", "as printed", bound(lambda a, T: abs(a * T - 1)), "printed bound"),
    Natural("6.6", "triangle inequality", bound(triangle), "A valid bound"),
    Natural("6.6", "triangle on α·S − g_t", bound(lambda a, T: a * T + 1), "gives away much"),
    Natural("6.6", "α(T + 1) − 1, as the appendix", bound(lambda a, T: abs(a * (T + 1) - 1)), "Count again"),
    Natural("6.6", "α(T − 1) + 1 − α, no absolute value", bound(lambda a, T: a * (T - 1) + 1 - a),
            "takes away from the bound"),
    Natural("6.6", "α(T − 1) + α − 1", bound(lambda a, T: a * (T - 1) + a - 1), "with their signs"),
    Natural("6.6", "one task only", bound(tight, times=lambda T: 1), "one task's share"),
    Natural("6.6", "the root of T", bound(tight, times=math.sqrt), "another √T"),
    Natural("6.6", "k² pairs", bound(tight, pairs=lambda k: k ** 2), "neither sum"),
    Natural("6.6", "k(k + 1)/2 pairs", bound(tight, pairs=lambda k: k * (k + 1) / 2), "one too many"),
    Natural("6.6", "(k − 1)(k − 2)/2 pairs", bound(tight, pairs=lambda k: (k - 1) * (k - 2) / 2), "one too few"),
    Natural("6.6", "k(k − 1), half missing", bound(tight, pairs=lambda k: k * (k - 1)), "1 + 2 + … + (k − 1)"),
    Natural("6.6", "k − 1, the inner sum forgotten", bound(tight, pairs=lambda k: k - 1), "with e terms"),
    Natural("6.6", "with the α of the gap", bound(lambda a, T: a * max(1, abs(a * T - 1))), "belongs to the gap"),
    Natural("6.6", "1 only", bound(lambda a, T: 1), "at most 2/T"),
    Natural("6.6", "max without the absolute value of the sum", bound(lambda a, T: max(1, a * T)), "own step"),
    Natural("6.6", "as if T were 2", bound(lambda a, T: max(1, 2 * a - 1)), "Right for T = 2"),
    Natural("6.6", "gradient forgotten", lambda a, T, k, H, G: T * k * (k - 1) / 2 * tight(a, T) * H, "G is missing"),
    Natural("6.6", "triangle, pairs k(k + 1)/2", bound(triangle, pairs=lambda k: k * (k + 1) / 2), "one too many"),
    Natural("6.6", "triangle, one task only", bound(triangle, times=lambda T: 1), "one task's share"),
    Natural("6.6", "root of the factor", bound(lambda a, T: math.sqrt(tight(a, T))), "One root too many"),
    Natural("6.6", "α where it should be 1", bound(lambda a, T: max(a, abs(a * T - 1))), "without any α"),
    Natural("6.6", "T²", bound(tight, times=lambda T: T * T), "T twice"),
    Natural("6.6", "H²", lambda a, T, k, H, G: bound(tight)(a, T, k, H, G) * H, "hessian²"),
    Natural("6.6", "square of the factor", bound(lambda a, T: max(1, (a * T - 1) ** 2)), "takes the root"),
    Natural("6.6", "min in place of max", bound(lambda a, T: min(1, abs(a * T - 1))), "smaller of two"),
    Natural("6.6", "the sum of both", bound(lambda a, T: 1 + abs(a * T - 1)), "added the two cases"),
]

RIGHT = [
    Natural("6.1", "backward", by_backward),
    Natural("6.1", "an optimiser", by_optimiser),
    Natural("6.1", "end minus start", lambda f, theta, eta: where_it_ends(f, theta, eta) - theta),
    Natural("6.1", "list", lambda f, theta, eta: [-eta * one for one in gradient(f, theta).tolist()]),
    Natural("6.2", "loop", right_by_loop),
    Natural("6.2", "matrix", right_split),
    Natural("6.2", "numpy", lambda g, alpha: alpha * g.numpy().sum(0, keepdims=True) - g.numpy()),
    Natural("6.3", "polyfit", by_polyfit),
    Natural("6.3", "math", lambda a, ea, b, eb: math.log(ea / eb) / math.log(a / b)),
    Natural("6.3", "torch, float64", lambda a, ea, b, eb: torch.log2(torch.tensor(ea / eb, dtype=torch.float64))
            / torch.log2(torch.tensor(a / b, dtype=torch.float64))),
    Natural("6.4", "capital", "B"),
    Natural("6.4", "in parentheses", "(b)"),
    Natural("6.5", "gradient of ⟨∇f, v⟩", pearlmutter),
    Natural("6.5", "autograd twice", by_autograd),
    Natural("6.5", "functional.hvp", lambda f, t, v: torch.autograd.functional.hvp(f, t, v)[1]),
    Natural("6.5", "the matrix after all", lambda f, t, v: torch.func.hessian(f)(t) @ v),
    Natural("6.6", "one formula", bound(tight)),
    Natural("6.6", "max without the bars", bound(lambda a, T: max(1.0, a * T - 1))),
    Natural("6.6", "branches", right_by_branches),
    Natural("6.6", "loops, root", right_by_root),
    Natural("6.6", "tensor", lambda a, T, k, H, G: torch.tensor(bound(tight)(a, T, k, H, G), dtype=torch.float64)),
]
