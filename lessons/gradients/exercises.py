"""The exercises of chapter 6."""
import math

import torch

from lessons.gradients.algorithms import bound, expansion
from lessons.gradients.algorithms.expansion import gradient, hessian_vector_product
from lessons.kit.exercise import Exercise, Wrong

# -- cases -----------------------------------------------------------------------------------------

def _quartic(theta):
    return (theta ** 4).sum() / 4 + theta[0] * theta[1] + theta.sum()


def _points():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(4, generator=generator, dtype=torch.float64) for _ in range(4)]


def _one_step():
    a, b, *_ = _points()
    return [(_quartic, a, 0.1), (_quartic, b, 0.5)]


def _gradients():
    generator = torch.Generator().manual_seed(1)
    found = []
    for tasks, alpha in ((3, 0.5), (2, 1.0), (4, 0.25)):
        found.append((torch.randn(tasks, 5, generator=generator, dtype=torch.float64), alpha))
    return found


def _products():
    a, b, c, d = _points()
    return [(_quartic, a, b), (_quartic, c, 2 * d)]


def _errors():
    return [(0.1, 0.3, 0.05, 0.3 / 4), (0.01, 2.0, 0.03, 2.0 * 3 ** 1.5), (1e-3, 1e-9, 1e-2, 1e-6)]


def _bounds():
    return [(0.25, 4, 3, 2.0, 1.5), (1.5, 3, 5, 1.0, 0.5), (0.8, 2, 2, 3.0, 1.0)]


# -- wrong bounds ----------------------------------------------------------------------------------

def _bound_with_alpha_plus_one(alpha, num_tasks, steps, hessian, gradient):
    pairs = steps * (steps - 1) / 2
    return num_tasks * pairs * (alpha * num_tasks + 1) * hessian * gradient


def _bound_without_absolute_value(alpha, num_tasks, steps, hessian, gradient):
    pairs = steps * (steps - 1) / 2
    return num_tasks * pairs * (alpha * (num_tasks - 1) + 1 - alpha) * hessian * gradient


def _bound_of_one_product(alpha, num_tasks, steps, hessian, gradient):
    return num_tasks * (alpha * (num_tasks - 1) + abs(1 - alpha)) * hessian * gradient


def _bound_of_too_many_products(alpha, num_tasks, steps, hessian, gradient):
    pairs = steps * (steps + 1) / 2
    return num_tasks * pairs * (alpha * (num_tasks - 1) + abs(1 - alpha)) * hessian * gradient


# -- exercises -------------------------------------------------------------------------------------

EXERCISES = [
    Exercise(
        "6.1", "the task vector after one step", 4, expansion.task_vector_of_one_step,
        cases=_one_step,
        wrong=[
            Wrong(lambda f, theta, eta: theta - eta * gradient(f, theta),
                  "That is the network after the step. The task vector is what the step added: finetuned minus base."),
            Wrong(lambda f, theta, eta: eta * gradient(f, theta),
                  "The sign: gradient descent goes down, against the gradient."),
            Wrong(lambda f, theta, eta: -gradient(f, theta),
                  "Right direction, wrong length: the step size is missing."),
            Wrong(lambda f, theta, eta: -eta * gradient(f, theta) / gradient(f, theta).norm(),
                  "You gave the gradient the length 1. Plain gradient descent does not: a steep loss makes a long task "
                  "vector."),
        ],
        hints=["One step: θ_new = θ − η·∇f(θ).",
               "The task vector is θ_new − θ.",
               "torch.func.grad(f)(theta) is ∇f(θ)."],
        praise="So for one full-batch step, a task vector is the gradient, up to −η. Everything else in this chapter "
               "is about the second step.",
        tolerance=1e-8),

    Exercise(
        "6.2", "one step alone beside a joint step", 5, expansion.mismatch,
        cases=_gradients,
        wrong=[
            Wrong(lambda gradients, alpha: gradients - alpha * gradients.sum(0),
                  "The sign: r_t is joint step minus own step in the gradients. θ_t then lies at +η·r_t from θ_MT, "
                  "since both go against their gradients."),
            Wrong(lambda gradients, alpha: gradients.sum(0) - gradients,
                  "α is missing: the joint step is α times the sum of all gradients."),
            Wrong(lambda gradients, alpha: alpha * (gradients.sum(0) - gradients),
                  "You left task t out of the joint step. It takes part there too, with α: its own share of r_t is "
                  "(α − 1)·∇L_t."),
            Wrong(lambda gradients, alpha: alpha * gradients.mean(0) - gradients,
                  "The joint loss is the sum of the tasks' losses, not their mean."),
            Wrong(lambda gradients, alpha: alpha * gradients.sum(1, keepdim=True) - gradients,
                  "You summed over the weights. Sum over the tasks, which are the first dimension."),
        ],
        hints=["A joint step subtracts η·α·Σ ∇L_t', a step of task t alone subtracts η·∇L_t.",
               "r_t = α·Σ_t' ∇L_t' − ∇L_t, for every t at once.",
               "gradients.sum(0) adds the tasks up."],
        praise="At α = 1/T the r_t sum to zero over the tasks: each task drifts to its own side. That does not make "
               "the gap zero.",
        tolerance=1e-8),

    Exercise(
        "6.3", "the order of a method from two step sizes", 5, expansion.order,
        cases=_errors,
        wrong=[
            Wrong(lambda eta_a, error_a, eta_b, error_b: error_b / error_a,
                  "That is by how much the error changed. Relate it to by how much the step size changed, on "
                  "logarithmic scales."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: (error_b - error_a) / (eta_b - eta_a),
                  "That is a slope on plain axes. A power becomes a straight line only when both axes are "
                  "logarithmic."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: (error_b / error_a) / (eta_b / eta_a),
                  "Take the logarithm of both ratios before you divide."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: math.log(eta_b / eta_a) / math.log(error_b / error_a),
                  "Upside down: p is the change of the error over the change of the step size."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: math.log2(error_a / error_b),
                  "Right where the step size was halved. For other ratios divide by the logarithm of the ratio of the "
                  "step sizes."),
        ],
        hints=["If error = c·ηᵖ, then log error = log c + p·log η.",
               "Two points give two equations; subtract them.",
               "p = log(error_b/error_a) / log(eta_b/eta_a)."],
        praise="Halve the step: a second-order error falls to a quarter, a third-order one to an eighth. A wrong term "
               "cannot hide from this.",
        tolerance=1e-6),

    Exercise(
        "6.4", "where does the ½ come from?", 5, "b",
        wrong=[
            Wrong("a",
                  "½ belongs to the expansion of the loss: L(θ+d) = L + ∇L·d + ½ dᵀHd. Differentiate that by d, and "
                  "see what becomes of the ½."),
            Wrong("c",
                  "That is twice too much. Try L = θ², whose gradient is 2θ and whose Hessian is 2: from θ to θ + d "
                  "the gradient grows by 2d."),
            Wrong("d",
                  "Try L = θ²: from θ to θ + d the gradient grows by 2d, and H·d = 2d with a plus."),
        ],
        hints=["Take L(θ) = θ² and write down both sides.",
               "The gradient is 2θ, so ∇L(θ + d) − ∇L(θ) = 2d. And H = 2."],
        praise="A gradient expanded to first order has no ½. The source's appendix has one in the line marked "
               "“Taylor”, and it stays until the theorem."),

    Exercise(
        "6.5", "a Hessian-vector product", 8, hessian_vector_product,
        cases=_products,
        wrong=[
            Wrong(lambda f, theta, v: torch.dot(v, torch.func.hessian(f)(theta) @ v),
                  "That is vᵀHv, one number: the curvature along v. Here the vector H·v is wanted."),
            Wrong(lambda f, theta, v: torch.func.hessian(f)(theta),
                  "That is the whole Hessian. For a network of 100,000 weights it would need 80 GB. Only its product "
                  "with v is wanted."),
            Wrong(lambda f, theta, v: gradient(f, theta) * v,
                  "Gradient times v, entry by entry, has no second derivative in it. Differentiate the gradient along "
                  "v."),
            Wrong(lambda f, theta, v: gradient(f, theta + v) - gradient(f, theta),
                  "That is how much the gradient changes over the whole way v. H·v is its rate of change at θ; the "
                  "two agree only for a short v."),
            Wrong(lambda f, theta, v: torch.func.hessian(f)(theta) @ (v / v.norm()),
                  "You gave v the length 1 first. H·v is linear in v: twice the vector, twice the product."),
        ],
        hints=["H·v is the directional derivative of the gradient along v.",
               "torch.func.jvp(g, (theta,), (v,)) returns g(θ) and the derivative of g along v.",
               "Take g = torch.func.grad(f)."],
        praise="Two passes through the network, no Hessian. This is the one new number that the second-order term "
               "needs.",
        tolerance=1e-8),

    Exercise(
        "6.6", "the corrected bound", 8, bound.corrected_bound,
        cases=_bounds,
        wrong=[
            Wrong(bound.printed_bound,
                  "That is the printed bound. It is 0 at α = 1/T, because it adds the terms of r_t with their signs "
                  "before taking the absolute value."),
            Wrong(_bound_with_alpha_plus_one,
                  "This holds, but gives away more than it must: task t's own gradient appears once, with the factor "
                  "α − 1, so |1 − α| is enough instead of α + 1."),
            Wrong(_bound_without_absolute_value,
                  "For α above 1, 1 − α is negative and takes away from the bound. Take its absolute value."),
            Wrong(_bound_of_one_product,
                  "The factor of r_t is right. But how many products H·r does the double sum hold? e = 1 … k − 1, and "
                  "for each of them m = 0 … e − 1."),
            Wrong(_bound_of_too_many_products,
                  "One too many in the double sum: for k = 1 there is no gap at all, so the bound must be 0 there."),
        ],
        hints=["r_t = α·Σ_{t'≠t} ∇L_t' + (α − 1)·∇L_t has T gradients in it, each at most G long.",
               "|r_t| ≤ (α(T − 1) + |1 − α|)·G.",
               "The double sum over e and m < e has k(k − 1)/2 terms, and there are T tasks."],
        praise="For α ≥ 1 it is the printed bound. Merging uses α below 1, and there the two part.",
        tolerance=1e-9),
]
