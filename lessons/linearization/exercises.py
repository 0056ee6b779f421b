"""The exercises of chapter 11."""
import math

import torch

from lessons.kit.exercise import Exercise, Wrong
from lessons.kit.judging.running import Unfit
from lessons.linearization.algorithms import bounds, dynamics, kernel
from lessons.linearization.algorithms import tangent as linear

# -- cases -----------------------------------------------------------------------------------------

def _networks():
    """Two functions of three weights with several outputs, and where their tangents are taken."""
    generator = torch.Generator().manual_seed(5)
    cases = []
    for outputs in (4, 2):
        inner = torch.randn(outputs, 3, generator=generator, dtype=torch.float64)
        theta_0 = torch.randn(3, generator=generator, dtype=torch.float64)
        cases.append((lambda theta, inner=inner: torch.tanh((inner * theta).sum(-1)) + theta.square().sum(-1), theta_0))
    return cases


_PLACES = ((0.3, -0.5, 1.2), (-1.0, 0.4, 0.0), (0.0, 0.0, 0.0))


def at_places(function) -> list:
    """What the learner's tangent gives at three θ of the cases' size.

    Raises:
        Unfit: it is no function.
    """
    if not callable(function):
        raise Unfit("return a function of theta.")
    return [function(torch.tensor(place, dtype=torch.float64)) for place in _PLACES]


def _pairs(count=6, size=4):
    generator = torch.Generator().manual_seed(0)
    return [(torch.randn(size, generator=generator, dtype=torch.float64),
             torch.randn(size, generator=generator, dtype=torch.float64)) for _ in range(count)]


def _directions():
    """s above, below and equal to 0, and pairs in which the signs of the entries mislead."""
    cases = [(torch.tensor(g, dtype=torch.float64), torch.tensor(u, dtype=torch.float64)) for g, u in (
        ([1.0, 2.0], [2.0, -0.5]), ([1.0, 2.0], [0.5, -2.0]), ([3.0, 1.0], [0.0, 0.0]), ([0.1, 0.2], [3.0, 4.0]),
        ([4.0, -3.0], [-0.1, 0.1]))]
    return cases + _pairs()


def _harmless():
    """s ≥ 0; s < 0 with ‖g‖² large against −s, and small against it."""
    cases = [(2.0, torch.tensor([1.0, 2.0]).double(), torch.tensor([2.0, -0.5]).double()),
             (10.0, torch.tensor([1.0, 2.0]).double(), torch.tensor([-0.5, -1.0]).double()),
             (0.5, torch.tensor([3.0, 1.0]).double(), torch.tensor([-1.0, 0.5]).double()),
             (50.0, torch.tensor([0.2, -0.1]).double(), torch.tensor([-3.0, 2.0]).double())]
    return cases + [(3.0, g, u) for g, u in _pairs(4)]


def _layers():
    generator = torch.Generator().manual_seed(1)
    return [(torch.randn(n, out, generator=generator, dtype=torch.float64),
             torch.randn(n, width, generator=generator, dtype=torch.float64))
            for n, out, width in ((3, 2, 4), (4, 4, 4), (5, 1, 3))]


def _kernels():
    generator = torch.Generator().manual_seed(2)
    cases = []
    for n, lam in ((3, 1.0), (5, 0.5), (4, 10.0)):
        root = torch.randn(n, n + 2, generator=generator, dtype=torch.float64)
        y, f_0 = (torch.randn(n, generator=generator, dtype=torch.float64) for _ in range(2))
        cases.append((root @ root.T, y, f_0, lam))
    return cases


def _spectra():
    generator = torch.Generator().manual_seed(3)
    return [(torch.rand(n, generator=generator, dtype=torch.float64) * 5,
             torch.rand(n, generator=generator, dtype=torch.float64), sigma)
            for n, sigma in ((3, 1.0), (5, 0.3), (4, 7.0))]


# -- wrong answers with a family likeness ----------------------------------------------------------

def _line(at=lambda theta, theta_0: theta_0, change=lambda theta, theta_0: theta - theta_0, result=sum):
    """A tangent that is taken somewhere else, or in another direction."""
    def answer(f, theta_0):
        return lambda theta: result(torch.func.jvp(f, (at(theta, theta_0),), (change(theta, theta_0),)))
    return answer


def _ridge(sigma=lambda n, lam: n * lam / 2, target=lambda y, f_0: y - f_0):
    def answer(kernel, y, f_0, lam):
        n = len(y)
        return torch.linalg.solve(kernel + sigma(n, lam) * torch.eye(n, dtype=kernel.dtype), target(y, f_0))
    return answer


def _s(gradient, u):
    return torch.dot(gradient, u)


def _room(gradient, u):
    return (gradient.square().sum() / -_s(gradient, u)).item()


# -- the solutions that are shown ------------------------------------------------------------------

def tangent(f, theta_0):
    def f_bar(theta):
        before, moved = torch.func.jvp(f, (theta_0,), (theta - theta_0,))
        return before + moved
    return f_bar


def regulariser_on(gradient, u):
    return torch.dot(gradient, u) >= 0


def largest_lambda(lam, gradient, u):
    s = torch.dot(gradient, u)
    if s >= 0:
        return lam
    return min(lam, (gradient.square().sum() / -s).item())


def layer_kernel(delta, h):
    return (delta @ delta.T) * (h @ h.T + 1)


def coefficients(kernel, y, f_0, lam):
    n = len(y)
    return torch.linalg.solve(kernel + n * lam / 2 * torch.eye(n, dtype=kernel.dtype), y - f_0)


def error_left(kappa, shares, sigma):
    return ((sigma / (sigma + kappa)) ** 2 * shares).sum()


def farthest(initial, lam):
    return initial * math.sqrt(2 / lam)


# -- exercises -------------------------------------------------------------------------------------

EXERCISES = [
    Exercise(
        "11.1", "build the tangent", 5, linear.tangent,
        teaching=tangent,
        cases=_networks,
        seen_as=at_places,
        wrong=[
            Wrong(lambda f, theta_0: f,
                  "That is the network itself. The tangent adds ⟨gradient at θ₀, change⟩ to f(θ₀), and does not call f "
                  "at any other weights."),
            Wrong(lambda f, theta_0: lambda theta: f(theta_0),
                  "That stays at the outputs before finetuning, whatever theta is. The inner product is missing."),
            Wrong(_line(result=lambda both: both[1]),
                  "The first term is missing: the tangent starts at f(theta_0), the outputs before finetuning."),
            Wrong(_line(result=lambda both: both),
                  "You return two things, f(θ₀) and the inner product. The tangent is their sum."),
            Wrong(_line(change=lambda theta, theta_0: theta),
                  "The gradient is multiplied by the change of the weights, theta − theta_0, not by theta. At theta_0 "
                  "the tangent has to give f(theta_0)."),
            Wrong(_line(change=lambda theta, theta_0: theta_0 - theta),
                  "The sign: the change goes from theta_0 to theta, so it is theta − theta_0."),
            Wrong(_line(at=lambda theta, theta_0: theta),
                  "You took the outputs and the gradient at theta. Both are taken once, at theta_0, or the tangent "
                  "would not be linear in theta."),
            Wrong(_line(at=lambda theta, theta_0: theta - theta_0, change=lambda theta, theta_0: theta_0),
                  "jvp takes first where, then in which direction: (theta_0,), and then the change of the weights."),
            Wrong(lambda f, theta_0: lambda theta: f(theta_0) + torch.func.jvp(f, (theta,), (theta - theta_0,))[1],
                  "The output is that at theta_0, but the gradient is that at theta. The tangent has one gradient, at "
                  "theta_0, wherever theta is."),
            Wrong(lambda f, theta_0: lambda theta: f(theta) + torch.func.jvp(f, (theta_0,), (theta - theta_0,))[1],
                  "Add the inner product to the outputs before finetuning, f(theta_0). You added it to f(theta), which "
                  "has moved already."),
            Wrong(lambda f, theta_0: lambda theta: f(theta_0) + (torch.func.jacrev(f)(theta_0)
                                                                 * (theta - theta_0)).sum(),
                  "You summed over the images too. Every image has its own gradient and its own inner product."),
            Wrong(lambda f, theta_0: f(theta_0),
                  "These are outputs, not a function. Define a function of theta inside of yours, and return its name "
                  "without calling it."),
        ],
        hints=["A function can define another one and return it: def f_bar(theta): … and then return f_bar.",
               "The change is theta − theta_0, and jvp returns a pair, f(theta_0) and the inner product.",
               "before, moved = torch.func.jvp(f, (theta_0,), (theta - theta_0,)); f_bar returns before + moved."],
        praise="Your tangent is a model of its own: it has all the weights of the network and can be trained like one.",
        tolerance=1e-6),

    Exercise(
        "11.2", "the kernel of one layer", 8, kernel.layer_kernel,
        teaching=layer_kernel,
        cases=_layers,
        wrong=[
            Wrong(lambda delta, h: (delta @ delta.T) @ (h @ h.T + 1),
                  "Entry by entry: K_ij is ⟨δ_i, δ_j⟩ times (⟨h_i, h_j⟩ + 1). You took the product of matrices, @ in "
                  "place of *."),
            Wrong(lambda delta, h: (delta @ delta.T) * (h @ h.T),
                  "The bias is missing. Its gradient is δ itself, so that it adds ⟨δ_i, δ_j⟩: the + 1."),
            Wrong(lambda delta, h: delta @ delta.T + h @ h.T + 1,
                  "A gradient by W is an outer product δhᵀ. The inner product of two of them is a product of two inner "
                  "products, not their sum."),
            Wrong(lambda delta, h: delta @ delta.T + h @ h.T,
                  "A gradient by W is an outer product δhᵀ, and so two inner products are multiplied. And the bias is "
                  "missing."),
            Wrong(lambda delta, h: (delta @ delta.T) * (h @ h.T) + 1,
                  "The 1 belongs into the parentheses: the bias's gradient is δ, so it adds ⟨δ_i, δ_j⟩, not 1."),
            Wrong(lambda delta, h: (delta @ delta.T + 1) * (h @ h.T),
                  "The 1 stands at the wrong factor: the bias is like one more input that is always 1, so it goes with "
                  "hhᵀ."),
            Wrong(lambda delta, h: (delta @ delta.T + 1) * (h @ h.T + 1),
                  "One + 1 too many: the bias is one more input, so it goes with hhᵀ alone."),
            Wrong(lambda delta, h: h @ h.T + 1,
                  "That is the kernel of the layer's inputs. How much z counts for the answer, δ, is missing."),
            Wrong(lambda delta, h: delta @ delta.T,
                  "That is the bias's part alone. The weights add (δδᵀ)∘(hhᵀ)."),
            Wrong(lambda delta, h: (delta @ delta.T) * (h @ h.T + 1) / h.shape[1],
                  "Right but for the width: in this kernel nothing is divided by it."),
            Wrong(lambda delta, h: h.T @ h,
                  "That sums over the samples. The kernel compares samples: n × n."),
            Wrong(lambda delta, h: (delta.T @ delta).sum() * (h.T @ h),
                  "That sums over the samples. The kernel compares samples, n × n: delta @ delta.T."),
        ],
        hints=["The gradient of one output by W is δ·hᵀ, and by b it is δ.",
               "⟨δhᵀ, δ'h'ᵀ⟩ = ⟨δ, δ'⟩·⟨h, h'⟩.",
               "(delta @ delta.T) * (h @ h.T + 1)"],
        praise="No gradient was stored: four such blocks for two hundred samples take milliseconds.",
        tolerance=1e-8),

    Exercise(
        "11.3", "the coefficients of ridge regression", 7, kernel.coefficients,
        teaching=coefficients,
        cases=_kernels,
        wrong=[
            Wrong(_ridge(lambda n, lam: lam / 2),
                  "The n is missing: the loss is a mean. Multiply the whole problem by n, and the ridge becomes nλ/2."),
            Wrong(_ridge(lambda n, lam: n * lam),
                  "The ½ is missing: the penalty is (λ/2)‖θ − θ₀‖², while the squares have no ½."),
            Wrong(_ridge(lambda n, lam: lam),
                  "n and ½ are missing: the ridge is nλ/2."),
            Wrong(_ridge(lambda n, lam: lam / 2, lambda y, f_0: y),
                  "The tangent starts at f₀, so it has to learn y − f₀; and the loss is "
                  "a mean, so the ridge is nλ/2."),
            Wrong(_ridge(target=lambda y, f_0: y),
                  "The tangent starts at f₀, not at 0: it has to learn y − f₀."),
            Wrong(_ridge(target=lambda y, f_0: f_0 - y),
                  "The sign: what is to be learned is y − f₀."),
            Wrong(_ridge(lambda n, lam: lam / (2 * n)),
                  "The n went the wrong way: a mean is n times smaller than the sum, so beside it the penalty counts n "
                  "times more."),
            Wrong(_ridge(lambda n, lam: 0.0),
                  "That is the interpolating solution, λ = 0. The penalty adds a ridge to K."),
            Wrong(lambda kernel, y, f_0, lam: torch.linalg.solve(kernel + len(y) * lam / 2, y - f_0),
                  "You added the ridge to every entry of K. It belongs on the diagonal: times torch.eye(n)."),
            Wrong(lambda kernel, y, f_0, lam: kernel @ _ridge()(kernel, y, f_0, lam),
                  "That is K·α, which is added to f₀ on the training images. Return α."),
            Wrong(lambda kernel, y, f_0, lam: f_0 + kernel @ _ridge()(kernel, y, f_0, lam),
                  "Those are the outputs on the training images, f₀ + K·α. Return α."),
        ],
        hints=["The outputs on the training images are f₀ + Kα, and the penalty is (λ/2)αᵀKα.",
               "Times n the loss is ‖Kα − (y − f₀)‖² + (nλ/2)·αᵀKα. Its gradient is 0 where (K + nλ/2·I)α = y − f₀.",
               "torch.linalg.solve(A, b) solves A·x = b."],
        praise="The whole of finetuning, for a tangent with squared error, in one line.",
        tolerance=1e-7),

    Exercise(
        "11.4", "when is the regulariser on?", 4, dynamics.rule,
        teaching=regulariser_on,
        cases=_directions,
        wrong=[
            Wrong(lambda gradient, u: _s(gradient, u) <= 0,
                  "The sign: the rule asks for s ≥ 0. Then the step against the gradient goes towards θ₀ already."),
            Wrong(lambda gradient, u: _s(gradient, u) < 0,
                  "You answered when it is off. On is s ≥ 0."),
            Wrong(lambda gradient, u: _s(gradient, u) > 0,
                  "Nearly: at s = 0, as at the very first step, where u = 0, the rule as printed is on."),
            Wrong(lambda gradient, u: gradient * u >= 0,
                  "Entry by entry that is one answer a weight. s is one number, the sum of the products."),
            Wrong(lambda gradient, u: bool((gradient * u >= 0).all()),
                  "That asks every weight on its own. s is the sum of the products, and some may be negative."),
            Wrong(lambda gradient, u: _s(gradient, u),
                  "That is s itself. Asked is whether it is at least 0: True or False."),
            Wrong(lambda gradient, u: gradient.norm() >= u.norm(),
                  "You compared lengths. The rule looks at the angle between the gradient and θ − θ₀."),
            Wrong(lambda gradient, u: bool(u.norm() > 0),
                  "That is always so after the first step. The rule looks at the gradient too."),
            Wrong(lambda gradient, u: _s(gradient, u) / gradient.norm() / u.norm() > 0.5,
                  "There is no threshold on the cosine: s ≥ 0 is all."),
        ],
        hints=["s = ⟨∇R̃, θ − θ₀⟩, one number: the sum over all weights of gradient times u.",
               "On where s ≥ 0, and s = 0 counts as on.",
               "torch.dot(gradient, u) >= 0"],
        praise="Read it again: s ≥ 0 says that plain gradient descent is on its way back to θ₀. How often is it, on a "
               "walk that began at θ₀?"),

    Exercise(
        "11.5", "the largest λ that does no harm", 7, dynamics.largest_harmless,
        teaching=largest_lambda,
        cases=_harmless,
        wrong=[
            Wrong(lambda lam, gradient, u: lam if _s(gradient, u) >= 0 else 0.0,
                  "That is the slides' rule. It is safe, but not the largest: where s < 0, the gradient's own −‖g‖² "
                  "leaves room for some λ_t."),
            Wrong(lambda lam, gradient, u: lam if _s(gradient, u) >= 0 else _room(gradient, u),
                  "Where s < 0 you may exceed λ, which is the most that is asked for: take the smaller of the two."),
            Wrong(lambda lam, gradient, u: min(lam, _room(gradient, u)),
                  "For s ≥ 0 the quotient is negative, and yours too. There any λ lowers the error: return lam."),
            Wrong(lambda lam, gradient, u: lam if _s(gradient, u) >= 0
                  else min(lam, (gradient.norm() / -_s(gradient, u)).item()),
                  "dR̃/dt has ‖g‖², the gradient's length squared, not its length."),
            Wrong(lambda lam, gradient, u: min(lam, (gradient.norm() / u.norm()).item()) if _s(gradient, u) < 0
                  else lam,
                  "‖g‖/‖u‖ is what is left where g and u point in opposite directions. In general −s is smaller than "
                  "‖g‖·‖u‖, and there is more room."),
            Wrong(lambda lam, gradient, u: lam if _s(gradient, u) <= 0
                  else min(lam, -_room(gradient, u)),
                  "The sign of s: the pull −λu raises the error where s < 0, and lowers it where s ≥ 0."),
            Wrong(lambda lam, gradient, u: lam if _s(gradient, u) >= 0 else max(lam, _room(gradient, u)),
                  "You took the larger of the two: then the error may rise, or λ_t exceed λ. Take the smaller."),
            Wrong(lambda lam, gradient, u: lam if _s(gradient, u) >= 0 else min(lam, -_room(gradient, u)),
                  "A minus is missing: s is negative there, and λ_t would be too. λ_t·(−s) ≤ ‖g‖²."),
            Wrong(lambda lam, gradient, u: lam,
                  "With the whole λ the error may rise: where s < 0 and λ·(−s) > ‖g‖²."),
            Wrong(lambda lam, gradient, u: lam if _s(gradient, u) >= 0
                  else min(lam, (gradient.square().sum() / (-2 * _s(gradient, u))).item()),
                  "A 2 too many: in dR̃/dt = −‖g‖² − λ_t·s both terms have the factor 1, since g = ∇R̃."),
        ],
        hints=["dR̃/dt = −‖g‖² − λ_t·s must not be above 0.",
               "For s ≥ 0 every λ_t will do. For s < 0 solve λ_t·(−s) ≤ ‖g‖² for λ_t.",
               "lam if s ≥ 0, else min(lam, ‖g‖²/(−s))."],
        praise="From θ₀ this is the whole λ nearly all the time here, where the slides' rule is off. Along a flow, "
               "both keep the error from rising.",
        tolerance=1e-8),

    Exercise(
        "11.6", "how far, by energy alone", 5, bounds.distance_by_energy,
        teaching=farthest,
        cases=lambda: [(2.0, 0.5), (7.5, 10.0), (0.3, 3.0), (5.0, 50.0)],
        wrong=[
            Wrong(lambda initial, lam: 2 * initial ** 2 / lam,
                  "That bounds ‖u‖². Take the root."),
            Wrong(lambda initial, lam: initial / math.sqrt(lam),
                  "The ½ of the penalty (λ/2)‖u‖² is missing: multiply by 2 before the root."),
            Wrong(lambda initial, lam: initial / math.sqrt(2 * lam),
                  "The ½ went the wrong way: (λ/2)‖u‖² ≤ R̃₀ gives ‖u‖² ≤ 2R̃₀/λ."),
            Wrong(lambda initial, lam: math.sqrt(2 * initial / lam),
                  "R̃₀ is ‖r₀‖², the square of what you are given."),
            Wrong(lambda initial, lam: initial * math.sqrt(2) / lam,
                  "λ belongs under the root too."),
            Wrong(lambda initial, lam: initial * math.sqrt(lam / 2),
                  "Upside down: a stronger pull must give a smaller bound."),
            Wrong(lambda initial, lam: initial / lam,
                  "(λ/2)‖u‖² ≤ R̃₀ is about squares: solve it for ‖u‖², then take the root."),
            Wrong(lambda initial, lam: 2 * initial / lam,
                  "That is the proof's bound 2L‖r₀‖/λ with L = 1. Here no Lipschitz constant is needed: solve "
                  "(λ/2)‖u‖² ≤ ‖r₀‖²."),
        ],
        hints=["At the start R̃ + (λ/2)‖u‖² is ‖r₀‖², since u = 0.",
               "Later it is at most that, and R̃ ≥ 0. So (λ/2)‖u‖² ≤ ‖r₀‖².",
               "initial · √(2/λ)"],
        praise="One line, no Lipschitz constant, and at the end of training here tighter than the proved bound.",
        tolerance=1e-8),

    Exercise(
        "11.7", "the training error that is left", 5, kernel.risk,
        teaching=error_left,
        cases=_spectra,
        wrong=[
            Wrong(lambda kappa, shares, sigma: (sigma / (sigma + kappa) * shares).sum(),
                  "Not squared: the residual in direction i shrinks to σ/(σ + κ_i), and the error is its square. "
                  "(Yours is the penalised optimum, R̃ + σ‖u‖².)"),
            Wrong(lambda kappa, shares, sigma: ((kappa / (sigma + kappa)) ** 2 * shares).sum(),
                  "κ/(σ + κ) is what is learned. What is left is σ/(σ + κ)."),
            Wrong(lambda kappa, shares, sigma: shares.sum() - ((kappa / (sigma + kappa)) ** 2 * shares).sum(),
                  "What is left of a residual is 1 − κ/(σ + κ); subtract before you square."),
            Wrong(lambda kappa, shares, sigma: ((sigma / (sigma + kappa)) ** 2 * shares).mean(),
                  "That is the mean. Asked is R̃, the sum over the samples."),
            Wrong(lambda kappa, shares, sigma: (sigma / (sigma + kappa.min())) ** 2 * shares.sum(),
                  "That is the upper end of Theorem 5, with κ_min for every direction. The exact sum is as cheap."),
            Wrong(lambda kappa, shares, sigma: (sigma / (sigma + kappa.max())) ** 2 * shares.sum(),
                  "That is the lower end of Theorem 5, with κ_max for every direction. The exact sum is as cheap."),
            Wrong(lambda kappa, shares, sigma: ((sigma / (sigma + kappa)) ** 2 * shares ** 2).sum(),
                  "`shares` are the squares c_i² already."),
            Wrong(lambda kappa, shares, sigma: (sigma / (sigma + kappa) * shares).sum() ** 2,
                  "Square each factor and then add up; the square of the sum is something else."),
            Wrong(lambda kappa, shares, sigma: (sigma / (sigma + kappa)) ** 2 * shares,
                  "Right for every direction. R̃ is their sum."),
            Wrong(lambda kappa, shares, sigma: ((1 / (sigma + kappa)) ** 2 * shares).sum(),
                  "1/(σ + κ) gives the coefficients α. The residual that is left is σ·α."),
        ],
        hints=["In an eigendirection of K with eigenvalue κ_i the residual c_i shrinks to σ/(σ + κ_i)·c_i.",
               "R̃ is the sum of the squares of what is left.",
               "((sigma / (sigma + kappa)) ** 2 * shares).sum()"],
        praise="This lies between the two bounds of Theorem 5, and it is exact. Where eigh gives all eigenvalues at "
               "once, it costs no more than the bounds.",
        tolerance=1e-8),

    Exercise(
        "11.8", "what must fall when a layer is added?", 4, "b",
        wrong=[
            Wrong("a",
                  "It nearly always does, and need not: K ⪯ K + S does not order the squares of the inverses. The cell "
                  "below builds two 2 × 2 kernels for which it rises."),
            Wrong("c",
                  "Adding a large S in one direction raises κ_max and leaves κ_min: the condition number grows."),
            Wrong("d",
                  "With a fixed number of steps it depends on the step size too, and with the network in the tangent's "
                  "place on more than the kernel."),
            Wrong("e",
                  "One of them must. (K + S + σI)⁻¹ ⪯ (K + σI)⁻¹, and one of the four is σ·ỹᵀ(K + σI)⁻¹ỹ."),
        ],
        hints=["More weights to tune can never make the best value of a minimisation worse. Which of the four is the "
               "best value of what is minimised?",
               "Ridge regression minimises R̃ + σ‖u‖²."],
        praise="The penalised optimum is a minimum over more weights. R̃ alone is only a part of it, and may rise: at "
               "most by (κ + 1)²/(4κ), κ being the condition number of K + σI."),
]
