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
    cases = []
    for tasks, alpha in ((3, 0.5), (2, 1.0), (4, 0.25)):
        cases.append((torch.randn(tasks, 5, generator=generator, dtype=torch.float64), alpha))
    return cases


def _products():
    a, b, c, d = _points()
    return [(_quartic, a, b), (_quartic, c, 2 * d)]


def _errors():
    return [(0.1, 0.3, 0.05, 0.3 / 4), (0.01, 2.0, 0.03, 2.0 * 3 ** 1.5), (1e-3, 1e-9, 1e-2, 1e-6)]


def _bounds():
    """α below 2/T, on both sides of 1/T, and above, on both sides of 1."""
    return [(0.25, 4, 3, 2.0, 1.5), (1.5, 3, 5, 1.0, 0.5), (0.8, 2, 2, 3.0, 1.0), (0.5, 3, 4, 1.5, 2.0),
            (0.75, 8, 3, 2.0, 0.5), (0.1, 5, 2, 1.0, 3.0)]


# -- wrong steps and wrong orders ------------------------------------------------------------------

def _two_steps(f, theta, eta):
    first = theta - eta * gradient(f, theta)
    return first - eta * gradient(f, first) - theta


def _averaged_over_points(eta_a, error_a, eta_b, error_b):
    return (math.log(error_a) / math.log(eta_a) + math.log(error_b) / math.log(eta_b)) / 2


def _of_logs(function):
    """A wrong answer to 6.3: what it does with the logarithms of the two ratios."""
    def answer(eta_a, error_a, eta_b, error_b):
        return function(math.log(eta_a / eta_b), math.log(error_a / error_b))
    return answer


# -- wrong bounds ----------------------------------------------------------------------------------

def _tight(alpha, T):
    return max(1, abs(alpha * T - 1))


def _triangle(alpha, T):
    return alpha * (T - 1) + abs(1 - alpha)


def _bound(factor=_tight, products=lambda k: k * (k - 1) / 2, times=lambda T: T):
    """The bound with another factor of G in ‖r_t‖, or another number of products, or not T times."""
    def answer(alpha, num_tasks, steps, hessian, gradient):
        return times(num_tasks) * products(steps) * factor(alpha, num_tasks) * hessian * gradient
    return answer


_COUNTS = [
    (dict(products=lambda k: 1),
     "how many products H·r does the double sum hold? e = 1 … k − 1, and for each of them m = 0 … e − 1."),
    (dict(products=lambda k: k * (k + 1) / 2),
     "one too many in the double sum: for k = 1 there is no gap at all, so the bound must be 0 there."),
    (dict(products=lambda k: k - 1),
     "you counted e = 1 … k − 1 alone. For each e there is an inner sum over m < e, with e terms."),
    (dict(products=lambda k: k * (k - 1)),
     "the inner sum does not go up to k each time: for e it has e terms. What is 1 + 2 + … + (k − 1)?"),
    (dict(products=lambda k: k ** 2),
     "neither sum has k terms: e begins at 1, and m ends before e."),
    (dict(products=lambda k: (k - 1) * (k - 2) / 2),
     "one too few in the double sum: for k = 2 there is one product, e = 1 and m = 0."),
    (dict(times=lambda T: 1),
     "that is one task's share. The outer sum goes over all T tasks."),
]


def _miscounted():
    """Both factors with another number of products."""
    for other, says in _COUNTS:
        yield Wrong(_bound(**other), f"The factor of G is right. But {says}")
        yield Wrong(_bound(_triangle, **other), f"The triangle inequality is a beginning. But {says}")


# -- the solutions that are shown ------------------------------------------------------------------

def mismatch(gradients, alpha):
    return alpha * gradients.sum(0) - gradients


def order_of(eta_a, error_a, eta_b, error_b):
    return math.log(error_b / error_a) / math.log(eta_b / eta_a)


def hessian_vector(f, theta, v):
    return torch.func.jvp(torch.func.grad(f), (theta,), (v,))[1]


def corrected_bound(alpha, num_tasks, steps, hessian, gradient):
    products = num_tasks * steps * (steps - 1) / 2
    return products * max(1, abs(alpha * num_tasks - 1)) * hessian * gradient


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
            Wrong(lambda f, theta, eta: -gradient(f, theta) / eta,
                  "You divided by the step size. A larger step makes a longer task vector."),
            Wrong(lambda f, theta, eta: -eta * gradient(f, theta) / len(theta),
                  "You divided by the number of weights. The gradient is no mean over them; each weight takes its own "
                  "step."),
            Wrong(lambda f, theta, eta: -eta * f(theta),
                  "That is the loss itself, one number. A step goes along its gradient."),
            Wrong(lambda f, theta, eta: -eta * gradient(f, theta - eta * gradient(f, theta)),
                  "You took the gradient where the step ends, as the second step does. The first step takes it at θ."),
            Wrong(lambda f, theta, eta: -eta * gradient(f, theta).sign(),
                  "You kept only the signs of the gradient. Plain gradient descent keeps its numbers, so a steep "
                  "direction gets a long step."),
            Wrong(_two_steps,
                  "You took two steps. The exercise asks for the task vector after the first one."),
            Wrong(lambda f, theta, eta: -eta * gradient(f, torch.zeros_like(theta)),
                  "You took the gradient at 0. The step begins at θ, so the gradient is needed there."),
            Wrong(lambda f, theta, eta: theta + eta * gradient(f, theta),
                  "That is a network, and it went up the gradient. Gradient descent goes down, and the task vector "
                  "is only what the step added."),
        ],
        hints=["One step: θ_new = θ − η·∇f(θ).",
               "The task vector is θ_new − θ.",
               "torch.func.grad(f)(theta) is ∇f(θ)."],
        praise="So for one full-batch step, a task vector is the gradient, up to the factor −η.",
        tolerance=1e-8),

    Exercise(
        "6.2", "one step alone and one joint step", 5, expansion.mismatch,
        teaching=mismatch,
        cases=_gradients,
        wrong=[
            Wrong(lambda gradients, alpha: gradients - alpha * gradients.sum(0),
                  "The sign: r_t is α·Σ ∇L_t' minus ∇L_t. Both steps go against their gradients, so this gives "
                  "θ_t − θ_MT = +η·r_t."),
            Wrong(lambda gradients, alpha: gradients.sum(0) - gradients,
                  "α is missing: the joint step is α times the sum of all gradients."),
            Wrong(lambda gradients, alpha: alpha * (gradients.sum(0) - gradients),
                  "You left task t out of the joint step. It takes part there too, with α: its own share of r_t is "
                  "(α − 1)·∇L_t."),
            Wrong(lambda gradients, alpha: alpha * gradients.mean(0) - gradients,
                  "The joint loss is the sum of the tasks' losses, not their mean."),
            Wrong(lambda gradients, alpha: alpha * gradients.sum(1, keepdim=True) - gradients,
                  "You summed over the weights. Sum over the tasks, which are the first dimension."),
            Wrong(lambda gradients, alpha: alpha * (gradients.sum(0) - gradients) - gradients,
                  "You left task t out of the sum, and then took its whole gradient away. The joint step has all T "
                  "gradients in it."),
            Wrong(lambda gradients, alpha: alpha * gradients.sum(0) - (1 - alpha) * gradients,
                  "Task t's own step is a whole ∇L_t. The 1 − α comes out only if the sum leaves t out."),
            Wrong(lambda gradients, alpha: alpha * gradients.sum(0) + (1 - 2 * alpha) * gradients,
                  "The others are right, the own gradient has the wrong sign: its share is α − 1, not 1 − α."),
            Wrong(lambda gradients, alpha: (alpha * gradients.sum(0)).expand_as(gradients),
                  "That is the joint step. r_t is the difference from it to task t's own step."),
            Wrong(lambda gradients, alpha: alpha * gradients.sum(0),
                  "That is the joint step, which is the same for all tasks. Subtract the own gradient of each task."),
            Wrong(lambda gradients, alpha: (alpha * gradients.sum(0) - gradients).sum(0),
                  "Each r_t is right, but you added them up. All of them are asked, one a row."),
            Wrong(lambda gradients, alpha: alpha * gradients.sum() - gradients,
                  "sum() without a dimension adds all numbers, tasks and weights. Sum over the tasks alone."),
            Wrong(lambda gradients, alpha: (alpha * gradients.sum(0) - gradients).norm(dim=1),
                  "Those are the lengths of the r_t. The vectors themselves are asked."),
            Wrong(lambda gradients, alpha: alpha * gradients - gradients,
                  "Your joint step has only task t's own gradient in it. A joint step uses the gradients of all "
                  "tasks."),
            Wrong(lambda gradients, alpha: gradients.mean(0) - gradients,
                  "You used α = 1/T, which is the mean of the gradients. Here α is an argument and can be any "
                  "number."),
            Wrong(lambda gradients, alpha: -alpha * gradients.sum(0) - gradients,
                  "Both terms have a minus here. r_t is the difference of two steps, so one of the two gets the "
                  "opposite sign."),
            Wrong(lambda gradients, alpha: gradients.sum(0) - alpha * gradients,
                  "You multiplied task t's own gradient by α. It is the sum, the joint step, that has the α."),
            Wrong(lambda gradients, alpha: alpha * gradients.cumsum(0) - gradients,
                  "cumsum adds up the tasks only as far as t. The joint step has all tasks in it, for every t."),
        ],
        hints=["A joint step subtracts η·α·Σ ∇L_t', a step of task t alone subtracts η·∇L_t.",
               "r_t = α·Σ_t' ∇L_t' − ∇L_t, for every t at once.",
               "gradients.sum(0) adds the tasks up."],
        praise="At α = 1/T the r_t sum to zero over the tasks: each task drifts to its own side. That does not make "
               "the gap zero.",
        tolerance=1e-8),

    Exercise(
        "6.3", "the order of a method from two step sizes", 5, expansion.order,
        teaching=order_of,
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
            Wrong(lambda eta_a, error_a, eta_b, error_b: (eta_b / eta_a) / (error_b / error_a),
                  "You divided one ratio by the other without logarithms. p is the logarithm of the ratio of the "
                  "errors over that of the step sizes."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: math.log(eta_b / eta_a) / math.log(error_b / error_a),
                  "Upside down: p is the change of the error over the change of the step size."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: math.log2(error_a / error_b),
                  "Right where the step size was halved. For other ratios divide by the logarithm of the ratio of the "
                  "step sizes."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: (math.log(error_b) - math.log(error_a)) / (eta_b - eta_a),
                  "Only the error is on a logarithmic scale. The step size needs its logarithm too."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: math.log(error_a) / math.log(eta_a),
                  "You used one point. That is right only if error = ηᵖ without a factor; two points get rid of it."),
            Wrong(lambda eta_a, error_a, eta_b, error_b: math.log(error_b) / math.log(error_a),
                  "The quotient of two logarithms is not the logarithm of the quotient, and the step sizes do not "
                  "occur."),
            Wrong(_averaged_over_points,
                  "You took log error / log η at each point and averaged. The unknown factor in front of ηᵖ is still "
                  "in each of them, but the difference between the points gets rid of it."),
            Wrong(_of_logs(lambda eta, error: error - eta),
                  "That is the logarithm of one ratio over the other. Take two logarithms first, and then divide "
                  "these."),
            Wrong(_of_logs(lambda eta, error: error),
                  "That is by how much the logarithm of the error changed. Divide it by how much that of the step "
                  "size changed."),
            Wrong(_of_logs(lambda eta, error: error / eta - 1),
                  "You subtracted 1. p is the power of η that the error itself is proportional to."),
            Wrong(_of_logs(lambda eta, error: error / (eta / math.log(10))),
                  "The step sizes got log10 and the errors the natural logarithm. Use the same one for both."),
            Wrong(_of_logs(lambda eta, error: error / math.log(10) / eta),
                  "The errors got log10 and the step sizes the natural logarithm. Use the same one for both."),
            Wrong(_of_logs(lambda eta, error: error / math.log(10)),
                  "Right where the step size changed by a factor of 10. For other ratios divide by the logarithm of "
                  "the ratio of the step sizes."),
            Wrong(_of_logs(lambda eta, error: error // eta),
                  "// cuts off what is behind the decimal point. An order need not be a whole number, so divide with "
                  "/."),
        ],
        hints=["If error = c·ηᵖ, then log error = log c + p·log η.",
               "Two points give two equations; subtract them.",
               "p = log(error_b/error_a) / log(eta_b/eta_a)."],
        praise="Halve the step: a second-order error falls to a quarter, a third-order one to an eighth.",
        tolerance=1e-5),

    Exercise(
        "6.4", "is there a ½?", 5, "b",
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
               "“Taylor”, and it stays until Theorem 1."),

    Exercise(
        "6.5", "a Hessian-vector product", 8, hessian_vector_product,
        teaching=hessian_vector,
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
            Wrong(lambda f, theta, v: gradient(f, theta),
                  "You returned g(θ), the first of the two that jvp gives. The derivative along v is the second."),
            Wrong(lambda f, theta, v: (gradient(f, theta), torch.func.hessian(f)(theta) @ v),
                  "That is all that jvp gives: g(θ) and the derivative. Return the derivative alone."),
            Wrong(lambda f, theta, v: torch.dot(gradient(f, theta), v),
                  "That is the slope of f along v, a first derivative. Give jvp the gradient of f, not f."),
            Wrong(lambda f, theta, v: torch.func.hessian(f)(theta).sum(0) * v,
                  "You summed the gradient's entries before you multiplied by v. Multiply first: the gradient of "
                  "⟨∇f, v⟩ is H·v."),
            Wrong(lambda f, theta, v: torch.diagonal(torch.func.hessian(f)(theta)) * v,
                  "That is the Hessian's diagonal alone. Each weight's gradient changes with the other weights too."),
            Wrong(lambda f, theta, v: (gradient(f, theta + 1e-4 * v) - gradient(f, theta)) / 1e-4,
                  "A finite difference: right to a few digits. jvp needs no step and is exact."),
            Wrong(lambda f, theta, v: torch.dot(gradient(f, theta), v) * v,
                  "You gave jvp f itself and multiplied its slope by v. That is still a first derivative: "
                  "differentiate the gradient along v."),
            Wrong(lambda f, theta, v: torch.func.hessian(f)(theta + v) @ v,
                  "That is the Hessian at θ + v. Asked is the one at θ; v is only the direction."),
            Wrong(lambda f, theta, v: gradient(f, theta) + torch.func.hessian(f)(theta) @ v,
                  "The gradient at θ is still in it: that is Taylor’s line for the gradient at θ + v. Asked is its "
                  "second term alone."),
            Wrong(lambda f, theta, v: gradient(f, theta) * torch.dot(gradient(f, theta), v),
                  "You multiplied the gradient with itself in place of the Hessian. That has first derivatives alone: "
                  "the Hessian is the derivative of the gradient."),
        ],
        hints=["H·v is the directional derivative of the gradient along v.",
               "torch.func.jvp(g, (theta,), (v,)) returns g(θ) and the derivative of g along v.",
               "Take g = torch.func.grad(f)."],
        praise="It costs about as much as a few gradients, and no Hessian is made. The second-order term needs nothing "
               "else that is new.",
        tolerance=1e-10),  # a central difference has eight digits

    Exercise(
        "6.6", "the corrected bound", 10, bound.tight_bound,
        teaching=corrected_bound,
        cases=_bounds,
        wrong=[
            Wrong(_bound(_triangle),
                  "A valid bound, and the best for one task alone: it is what a gives. But all r_t cannot be that "
                  "long at once: r_t is longest where the other gradients point away from ∇L_t. Multiply out "
                  "Σ‖αS − ∇L_t‖², as b says."),
            Wrong(bound.printed_bound,
                  "That is the printed bound. At α = 1/T it is 0, and the gap is not: it takes all gradients as equal. "
                  "For a small α the r_t are longer where the gradients cancel."),
            Wrong(_bound(lambda alpha, T: alpha * T + 1),
                  "This holds, but gives away much: it bounds αS and ∇L_t apart, and both contain ∇L_t. Multiply out "
                  "Σ‖αS − ∇L_t‖² before you bound."),
            Wrong(_bound(lambda alpha, T: abs(alpha * (T + 1) - 1)),
                  "Count again: r_t holds T − 1 gradients with α and its own with α − 1. Together that is αT − 1. And "
                  "is it a bound where it is 0?"),
            Wrong(_bound(lambda alpha, T: alpha * (T - 1) + 1 - alpha),
                  "For α above 1, 1 − α is negative and takes away from the bound. And one task's bound is not yet "
                  "the best for all of them together."),
            Wrong(_bound(lambda alpha, T: alpha * (T - 1) + alpha - 1),
                  "You added the coefficients with their signs, as the source does. Then they cancel at α = 1/T, "
                  "though the vectors do not."),
            Wrong(_bound(lambda alpha, T: 1),
                  "Right as long as α is at most 2/T. Above, α(2 − αT) is negative, and the sum is longest where ‖S‖ "
                  "is: all gradients equal."),
            Wrong(_bound(lambda alpha, T: max(1, alpha * T)),
                  "Nearly: with all gradients equal to g, r_t is αT·g − g. Your second case forgets the own step."),
            Wrong(_bound(lambda alpha, T: max(1, 2 * alpha - 1)),
                  "Right for T = 2. With T tasks S is up to T·G long, not 2G."),
            Wrong(_bound(lambda alpha, T: min(1, abs(alpha * T - 1))),
                  "You took the smaller of two cases. A bound must hold in both, so it is the larger."),
            Wrong(_bound(lambda alpha, T: 1 + abs(alpha * T - 1)),
                  "You added the two cases. Either the gradients cancel or they are equal, not both: the larger of "
                  "the two is enough."),
            Wrong(_bound(lambda alpha, T: max(1, (alpha * T - 1) ** 2)),
                  "That is the bound of Σ‖r_t‖² over T·G². Cauchy–Schwarz takes the root before it becomes one of "
                  "Σ‖r_t‖."),
            Wrong(_bound(lambda alpha, T: max(alpha, abs(alpha * T - 1))),
                  "Where the gradients cancel, S is 0: then r_t is −∇L_t, without any α."),
            Wrong(_bound(lambda alpha, T: math.sqrt(_tight(alpha, T))),
                  "One root too many: the bound of Σ‖r_t‖² has (αT − 1)² in it, and its root is |αT − 1|."),
            Wrong(_bound(times=lambda T: T * T),
                  "T twice: Cauchy–Schwarz gives √T·√(Σ‖r_t‖²), and the sum of squares is at most T times G² and the "
                  "factor's square."),
            Wrong(_bound(lambda alpha, T: alpha * _tight(alpha, T)),
                  "The α before the double sum belongs to the gap, not to this sum: leave it out here."),
            Wrong(_bound(times=math.sqrt),
                  "Cauchy–Schwarz gives Σ‖r_t‖ ≤ √T·√Σ‖r_t‖², and the second root holds another √T."),
            Wrong(lambda alpha, num_tasks, steps, hessian, gradient:
                  _bound()(alpha, num_tasks, steps, hessian, 1),
                  "G is missing: twice as long gradients make r_t twice as long."),
            *_miscounted(),
        ],
        hints=["a: r_t = α·Σ_{t'≠t} ∇L_t' + (α − 1)·∇L_t, so ‖r_t‖ ≤ (α(T − 1) + |1 − α|)·G.",
               "b: Σ‖αS − ∇L_t‖² = Σ‖∇L_t‖² − α(2 − αT)·‖S‖². Is the last term's factor positive or negative?",
               "For α ≤ 2/T it is largest at S = 0, above at ‖S‖ = T·G. Then Σ‖r_t‖ ≤ √(T·Σ‖r_t‖²).",
               "So Σ‖r_t‖ is at most T·G times 1 or times αT − 1, whichever is larger.",
               "The double sum over e and m < e has k(k − 1)/2 terms."],
        praise="And it cannot be bettered: gradients that cancel reach it, or gradients that are all equal. So the "
               "printed factor |αT − 1| is right from α = 2/T on. Below, α plays no part.",
        tolerance=1e-6),
]
