"""Answers to the exercises of chapter 5: permutations of units, what two networks share, curvature."""
import numpy as np
import torch

from lessons.pretraining.algorithms.curvature import deviation, hessian_vector_product
from tests.natural import Natural

# -- 5.1 permute_layer -------------------------------------------------------------------------------

def moved_to(weight, bias, weight_above, permutation):
    """Puts unit i at place permutation[i]."""
    w, b, above = torch.empty_like(weight), torch.empty_like(bias), torch.empty_like(weight_above)
    for i, place in enumerate(permutation):
        w[place], b[place], above[:, place] = weight[i], bias[i], weight_above[:, i]
    return w, b, above


def in_place(weight, bias, weight_above, permutation):
    weight[:] = weight[permutation]
    bias[:] = bias[permutation]
    weight_above[:] = weight_above[:, permutation]
    return weight, bias, weight_above


def own_columns_too(weight, bias, weight_above, permutation):
    return weight[:, permutation], bias[permutation], weight_above[:, permutation]


def undone_above(weight, bias, weight_above, permutation):
    return weight[permutation], bias[permutation], weight_above[:, permutation.argsort()]


def matrix(weight, bias, weight_above, permutation):
    P = torch.eye(len(permutation))[permutation]
    return P @ weight, P @ bias, weight_above @ P


def right_matrix(weight, bias, weight_above, permutation):
    P = torch.eye(len(permutation), dtype=weight.dtype)[permutation]
    return P @ weight, P @ bias, weight_above @ P.T


def right_by_loops(weight, bias, weight_above, permutation):
    w = torch.stack([weight[old] for old in permutation])
    b = torch.stack([bias[old] for old in permutation])
    return w, b, torch.stack([weight_above[:, old] for old in permutation], dim=1)


# -- 5.4 plan ----------------------------------------------------------------------------------------

PLAN = {"layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1",),
        "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 2",),
        "layers.2.weight": (None, "layer 2"), "layers.2.bias": (None,)}


# -- 5.2 feature_gain --------------------------------------------------------------------------------

def correlation(a, b):
    a, b = a - a.mean(0), b - b.mean(0)
    return a.T @ b / (a.norm(dim=0)[:, None] * b.norm(dim=0) + 1e-12)


def cosine(a, b):
    return a.T @ b / (a.norm(dim=0)[:, None] * b.norm(dim=0) + 1e-12)


def covariance(a, b):
    return (a - a.mean(0)).T @ (b - b.mean(0)) / len(a)


# -- 5.6 second_order --------------------------------------------------------------------------------

def quadratic(f, theta_0, d):
    return torch.dot(d, hessian_vector_product(f, theta_0, d))


def whole_deviation(f, theta_0, theta_i, theta_j, alpha):
    return deviation(f, theta_i, theta_j, alpha)


def one_share(f, theta_0, theta_i, theta_j, alpha):
    return (alpha / 2 * quadratic(f, theta_0, theta_i - theta_j)).item()


def no_half(f, theta_0, theta_i, theta_j, alpha):
    return (alpha * (1 - alpha) * quadratic(f, theta_0, theta_i - theta_j)).item()


def no_shares(f, theta_0, theta_i, theta_j, alpha):
    return (quadratic(f, theta_0, theta_i - theta_j) / 2).item()


def elsewhere(f, theta_0, theta_i, theta_j, alpha):
    return (alpha * (1 - alpha) / 2 * quadratic(f, theta_i, theta_i - theta_j)).item()


def halfway(f, theta_0, theta_i, theta_j, alpha):
    theta = alpha * theta_i + (1 - alpha) * theta_j
    return (alpha * (1 - alpha) / 2 * quadratic(f, theta, theta_i - theta_j)).item()


def from_the_start(f, theta_0, theta_i, theta_j, alpha):
    return (alpha * (1 - alpha) / 2 * quadratic(f, theta_0, theta_i - theta_0)).item()


def of_a_unit(f, theta_0, theta_i, theta_j, alpha):
    d = theta_i - theta_j
    return (alpha * (1 - alpha) / 2 * quadratic(f, theta_0, d / d.norm())).item()


def length_of_product(f, theta_0, theta_i, theta_j, alpha):
    return (alpha * (1 - alpha) / 2 * hessian_vector_product(f, theta_0, theta_i - theta_j).norm()).item()


def elementwise(f, theta_0, theta_i, theta_j, alpha):
    d = theta_i - theta_j
    return alpha * (1 - alpha) / 2 * d * hessian_vector_product(f, theta_0, d)


def summed_product(f, theta_0, theta_i, theta_j, alpha):
    return (alpha * (1 - alpha) / 2 * hessian_vector_product(f, theta_0, theta_i - theta_j).sum()).item()


def absolute(f, theta_0, theta_i, theta_j, alpha):
    return abs((alpha * (1 - alpha) / 2 * quadratic(f, theta_0, theta_i - theta_j)).item())


def sign_turned(f, theta_0, theta_i, theta_j, alpha):
    return -(alpha * (1 - alpha) / 2 * quadratic(f, theta_0, theta_i - theta_j)).item()


def precedence(f, theta_0, theta_i, theta_j, alpha):
    return (alpha * 1 - alpha / 2 * quadratic(f, theta_0, theta_i - theta_j)).item()


def squared_share(f, theta_0, theta_i, theta_j, alpha):
    return (alpha ** 2 / 2 * quadratic(f, theta_0, theta_i - theta_j)).item()


def difference_of_forms(f, theta_0, theta_i, theta_j, alpha):
    i, j = quadratic(f, theta_0, theta_i - theta_0), quadratic(f, theta_0, theta_j - theta_0)
    return (alpha * (1 - alpha) / 2 * (i - j)).item()


def right_by_matrix(f, theta_0, theta_i, theta_j, alpha):
    """On a chapter's network this stops as it does on a small machine, whatever memory the one that tests has."""
    if len(theta_0) > 20_000:
        raise RuntimeError(f"DefaultCPUAllocator: can't allocate memory: you tried {4 * len(theta_0) ** 2} bytes")
    d = theta_j - theta_i
    return alpha * (1 - alpha) / 2 * (d @ torch.func.hessian(f)(theta_0) @ d)


def right_by_gradients(f, theta_0, theta_i, theta_j, alpha):
    """By autograd twice; the number keeps its graph."""
    d, theta = theta_j - theta_i, theta_0.clone().requires_grad_()
    gradient, = torch.autograd.grad(f(theta), theta, create_graph=True)
    along, = torch.autograd.grad(gradient @ d, theta, create_graph=True)
    return alpha * (1 - alpha) / 2 * (along @ d)


def right_by_step_d(f, theta_0, theta_i, theta_j, alpha):
    v_i, v_j = theta_i - theta_0, theta_j - theta_0

    def q(v):
        return quadratic(f, theta_0, v) / 2
    return np.float64(alpha * q(v_i) + (1 - alpha) * q(v_j) - q(alpha * v_i + (1 - alpha) * v_j))


# -- 5.7 power_iteration -----------------------------------------------------------------------------

def iterated(rounds=lambda steps: steps, scale=lambda v: v / v.norm(), result=lambda length, v, product: length):
    def answer(product, start, steps):
        v, length = scale(start), start.norm()
        for _ in range(rounds(steps)):
            v = product(v)
            length = v.norm()
            v = scale(v)
        return float(result(length, v, product))
    return answer


def largest_entry(product, start, steps):
    v = start / start.abs().max()
    for _ in range(steps):
        v = product(v)
        length = v.abs().max()
        v = v / length
    return length


def start_not_scaled(product, start, steps):
    v = start
    for _ in range(steps):
        v = product(v)
        length = v.norm()
        v = v / length
    return length.item()


def never_scaled(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
    return v.norm().item()


def length_after_scaling(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
        v = v / v.norm()
        length = v.norm()
    return length.item()


def by_eigenvalues(product, start, steps):
    H = torch.stack([product(e) for e in torch.eye(len(start), dtype=start.dtype)], dim=1)
    return torch.linalg.eigvalsh(H).abs().max().item()


def by_signed_eigenvalues(product, start, steps):
    H = torch.stack([product(e) for e in torch.eye(len(start), dtype=start.dtype)], dim=1)
    return torch.linalg.eigvalsh(H).max().item()


def rayleigh(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        w = product(v)
        value = torch.dot(v, w)
        v = w / w.norm()
    return value.item()


def the_vector(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
        v = v / v.norm()
    return v


def always_the_start(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        length = product(v).norm()
    return length.item()


def all_lengths(product, start, steps):
    v, lengths = start / start.norm(), []
    for _ in range(steps):
        v = product(v)
        lengths.append(v.norm().item())
        v = v / v.norm()
    return lengths


def mean_length(product, start, steps):
    return sum(all_lengths(product, start, steps)) / steps


def right_with_ratio(product, start, steps):
    v = start
    for _ in range(steps):
        before, v = v, product(v)
    return v.norm() / before.norm()


WRONG = [
    Natural("5.1", "review: unit i to place permutation[i]", moved_to, "who comes to place i"),
    Natural("5.1", "the inverse everywhere", lambda w, b, above, p: (w[p.argsort()], b[p.argsort()],
                                                                     above[:, p.argsort()]), "who comes to place i"),
    Natural("5.1", "the layer above undoes it", undone_above, "went the other way"),
    Natural("5.1", "rows of the layer above", lambda w, b, above, p: (w[p], b[p], above[p]), "rows of the layer above"),
    Natural("5.1", "the layer above left transposed", lambda w, b, above, p: (w[p], b[p], above.T[p]), "Turn it back"),
    Natural("5.1", "bias forgotten", lambda w, b, above, p: (w[p], b, above[:, p]), "the biases stayed"),
    Natural("5.1", "layer above forgotten", lambda w, b, above, p: (w[p], b[p], above), "must move"),
    Natural("5.1", "inputs in place of units", own_columns_too, "belong to its inputs"),
    Natural("5.1", "only weights and bias returned", lambda w, b, above, p: (w[p], b[p]), "Only the layer itself"),
    Natural("5.1", "in place", in_place, "in place"),
    Natural("5.1", "matrix from the wrong side above", matrix, "went the other way"),
    Natural("5.1", "above before the bias", lambda w, b, above, p: (w[p], above[:, p], b[p]),
            "in another order: weight, bias"),
    Natural("5.1", "inverse for the weight alone", lambda w, b, above, p: (w[p.argsort()], b[p], above[:, p]),
            "rows of the weight went"),
    Natural("5.1", "permuted twice above", lambda w, b, above, p: (w[p], b[p], above[:, p][:, p])),
    Natural("5.3", "the distance not squared", 3 * 0.5, "You put in the distance as it is"),
    Natural("5.3", "the distance alone", 3 ** 2, "That is what the distance does"),
    Natural("5.3", "the curvature alone", 1 / 2, "That is what the curvature does"),
    Natural("5.3", "three times", 3, "That is the distance"),
    Natural("5.3", "twice the curvature", 9 * 2, "You divided by the curvature"),
    Natural("5.3", "both squared", torch.tensor(9 * 0.25), "You squared the curvature"),
    Natural("5.3", "with the factor of the formula", 9 * 0.5 / 8, "You multiplied by"),
    Natural("5.3", "old over new", 1 / (9 * 0.5), "That is the old δ"),
    Natural("5.3", "the old one subtracted", 9 * 0.5 - 1, "You subtracted the old"),
    Natural("5.3", "the cube", 27 / 2, "You took the third power"),
    Natural("5.3", "in per cent", 450, "That is in per cent"),
    Natural("5.3", "factors added", 9 + 0.5, "You added what"),
    Natural("5.4", "numbers for names", {key: tuple(name and int(name[-1]) for name in names)
                                         for key, names in PLAN.items()}),
    Natural("5.4", "last weight not permuted", PLAN | {"layers.2.weight": (None, None)}),
    Natural("5.4", "axes of the weights exchanged", PLAN | {
        "layers.0.weight": (None, "layer 1"), "layers.1.weight": ("layer 1", "layer 2"),
        "layers.2.weight": ("layer 2", None)}, "Rows and columns are swapped"),
    Natural("5.4", "outputs permuted too", PLAN | {
        "layers.2.weight": ("layer 3", "layer 2"), "layers.2.bias": ("layer 3",)}, "no layer 3"),
    Natural("5.4", "inputs permuted", PLAN | {"layers.0.weight": ("layer 1", "layer 0")}, "no layer 0"),
    Natural("5.4", "biases not permuted", PLAN | {"layers.0.bias": (None,), "layers.1.bias": (None,)},
            "takes its bias along"),
    Natural("5.4", "biases as text", PLAN | {
        "layers.0.bias": "layer 1", "layers.1.bias": "layer 2", "layers.2.bias": None}, "needs a comma"),
    Natural("5.4", "biases with two axes", PLAN | {
        "layers.0.bias": ("layer 1", None), "layers.1.bias": ("layer 2", None), "layers.2.bias": (None, None)},
            "one entry, not two"),
    Natural("5.4", "the layer below forgotten", PLAN | {
        "layers.1.weight": ("layer 2", None), "layers.2.weight": (None, None)}, "rows alone"),
    Natural("5.4", "layers counted from 0", {
        "layers.0.weight": ("layer 0", None), "layers.0.bias": ("layer 0",),
        "layers.1.weight": ("layer 1", "layer 0"), "layers.1.bias": ("layer 1",),
        "layers.2.weight": (None, "layer 1"), "layers.2.bias": (None,)}, "from 0"),
    Natural("5.4", "one slip, in the last weight", PLAN | {"layers.2.weight": (None, "layer 1")}, "layers.2.weight"),
    Natural("5.4", "output's bias with its layer", PLAN | {"layers.2.bias": ("layer 2",)}, "own weight"),
    Natural("5.4", "keys without layers", {key.removeprefix("layers."): value for key, value in PLAN.items()},
            "The keys should be"),
    Natural("5.2", "b aᵀ", lambda a, b: b.T @ a / len(a), "Transposed"),
    Natural("5.2", "sum for mean", lambda a, b: a.T @ b, "sum over the samples"),
    Natural("5.2", "covariance", covariance, "subtracted the means"),
    Natural("5.2", "review: correlation", correlation, "correlations"),
    Natural("5.2", "cosine", cosine, "cosines"),
    Natural("5.2", "review: n − 1", lambda a, b: a.T @ b / (len(a) - 1), "for a variance"),
    Natural("5.2", "samples by samples", lambda a, b: a @ b.T / a.shape[1], "compares sample s"),
    Natural("5.2", "mean over units", lambda a, b: a.T @ b / a.shape[1], "number of units"),
    Natural("5.2", "mean of the products, unit by unit", lambda a, b: (a * b).mean(0), "diagonal"),
    Natural("5.2", "product of the means", lambda a, b: torch.outer(a.mean(0), b.mean(0)), "product of the means"),
    Natural("5.2", "on or off", lambda a, b: (a > 0).float().T @ (b > 0).float() / len(a), "how often both are on"),
    Natural("5.2", "torch.cov", lambda a, b: torch.cov(torch.cat([a, b], 1).T)[:a.shape[1], a.shape[1]:],
            "as statistics has it"),
    Natural("5.2", "torch.corrcoef", lambda a, b: torch.corrcoef(torch.cat([a, b], 1).T)[:a.shape[1], a.shape[1]:],
            "correlations"),
    Natural("5.2", "mean over everything", lambda a, b: (a.T @ b).mean()),
    Natural("5.2", "root of n", lambda a, b: a.T @ b / len(a) ** 0.5),
    Natural("5.5", "Taylor", "a", "third derivatives"),
    Natural("5.5", "cancelling", "c", "do cancel"),
    Natural("5.5", "the combination", "D", "identity is right"),
    Natural("5.5", "two letters", "b, d", "choose one"),
    Natural("5.6", "review: the whole deviation", whole_deviation, "all orders together"),
    Natural("5.6", "review: 1 − α missing", one_share, "1 − α is missing"),
    Natural("5.6", "review: Hessian at θ_i", elsewhere, "Hessian at θ_i"),
    Natural("5.6", "Hessian at the mix", halfway, "interpolated network"),
    Natural("5.6", "Hessian half-way", lambda f, t_0, t_i, t_j, alpha:
            (alpha * (1 - alpha) / 2 * quadratic(f, (t_i + t_j) / 2, t_i - t_j)).item(), "half-way between"),
    Natural("5.6", "a quarter", lambda f, t_0, t_i, t_j, alpha:
            (alpha * (1 - alpha) / 4 * quadratic(f, t_0, t_i - t_j)).item(), "half what is asked"),
    Natural("5.6", "two different vectors", lambda f, t_0, t_i, t_j, alpha: alpha * (1 - alpha) / 2 * torch.dot(
            t_i - t_j, hessian_vector_product(f, t_0, t_i - t_0)).item()),
    Natural("5.6", "half missing", no_half, "factor ½"),
    Natural("5.6", "shares missing", no_shares, "α(1 − α) is missing"),
    Natural("5.6", "way from θ_0", from_the_start, "way from θ_0"),
    Natural("5.6", "d of length 1", of_a_unit, "You divided by"),
    Natural("5.6", "length of the product", length_of_product, "length of Hd"),
    Natural("5.6", "elementwise product, not summed", elementwise, "also sums"),
    Natural("5.6", "summed without d", summed_product, "summed the entries"),
    Natural("5.6", "absolute value", absolute, "right size without the sign"),
    Natural("5.6", "sign turned", sign_turned, "sign is the other way"),
    Natural("5.6", "1 - alpha without parentheses", precedence, "parentheses"),
    Natural("5.6", "α²", squared_share, "squared α"),
    Natural("5.6", "difference of two forms", difference_of_forms, "no linear function"),
    Natural("5.7", "quotient of the start alone", lambda product, start, steps:
            (torch.dot(start, product(start)) / torch.dot(start, start)).item()),
    Natural("5.7", "start not scaled", start_not_scaled, "as it came"),
    Natural("5.7", "never scaled", never_scaled, "grows (or shrinks)"),
    Natural("5.7", "length after scaling", length_after_scaling, "which is 1"),
    Natural("5.7", "review: steps − 1", iterated(lambda steps: steps - 1), "too few"),
    Natural("5.7", "one more product at the end", iterated(result=lambda length, v, product: product(v).norm()),
            "too many"),
    Natural("5.7", "review: 100 fixed steps", iterated(lambda steps: 100), "whatever `steps` is"),
    Natural("5.7", "review: largest entry for length", iterated(scale=lambda v: v / v.abs().max()), "length is not 1"),
    Natural("5.7", "review: largest entry for both", largest_entry, "same limit"),
    Natural("5.7", "review: all eigenvalues", by_eigenvalues, "whatever `steps` is"),
    Natural("5.7", "largest signed eigenvalue", by_signed_eigenvalues, "with its sign"),
    Natural("5.7", "Rayleigh quotient with its sign", rayleigh, "vᵀHv has"),
    Natural("5.7", "the vector", the_vector, "returned the vector"),
    Natural("5.7", "always the start", always_the_start, "One product is not enough"),
    Natural("5.7", "all lengths", all_lengths, "all the lengths"),
    Natural("5.7", "mean of the lengths", mean_length, "averaged over"),
    Natural("5.7", "squared length", iterated(result=lambda length, v, product: length ** 2), "square"),
]

RIGHT = [
    Natural("5.1", "matrices", right_matrix),
    Natural("5.1", "loops", right_by_loops),
    Natural("5.1", "index_select, a list", lambda w, b, above, p: [
        w.index_select(0, p), b.index_select(0, p), above.index_select(1, p)]),
    Natural("5.1", "numpy", lambda w, b, above, p: (w.numpy()[p], b.numpy()[p], above.numpy()[:, p])),
    Natural("5.3", "a fraction of integers", 9 / 2),
    Natural("5.3", "a tensor", torch.tensor(4.5)),
    Natural("5.3", "numpy", np.float32(4.5)),
    Natural("5.4", "lists", {key: list(names) for key, names in PLAN.items()}),
    Natural("5.4", "in another order", dict(reversed(PLAN.items()))),
    Natural("5.2", "einsum", lambda a, b: torch.einsum("si,sj->ij", a, b) / a.shape[0]),
    Natural("5.2", "mean of outer products", lambda a, b: (a[:, :, None] * b[:, None, :]).mean(0)),
    Natural("5.2", "numpy, float64", lambda a, b: a.double().numpy().T @ b.double().numpy() / len(b)),
    Natural("5.2", "loop over samples", lambda a, b: sum(torch.outer(x, y) for x, y in zip(a, b)) / len(a)),
    Natural("5.5", "review: capital", "B"),
    Natural("5.5", "review: in parentheses", "(b)"),
    Natural("5.6", "whole matrix, tensor", right_by_matrix, "so the course's own function runs"),
    Natural("5.6", "by autograd twice, with its graph", right_by_gradients),
    Natural("5.6", "step d, numpy number", right_by_step_d),
    Natural("5.7", "library's shape, a tensor", right_with_ratio),
    Natural("5.7", "numpy number", lambda product, start, steps: np.float64(iterated()(product, start, steps))),
]
