"""The exercises of chapter 5."""
import torch

from lessons.kit.exercise import Exercise, Wrong
from lessons.pretraining.algorithms import curvature, matching


def _layers():
    generator = torch.Generator().manual_seed(0)
    cases = []
    for shapes, permutation in ((((4, 3), (4,), (4, 4)), [2, 0, 3, 1]), (((3, 5), (3,), (2, 3)), [1, 2, 0])):
        parts = [torch.randn(*shape, generator=generator) for shape in shapes]
        cases.append((*parts, torch.tensor(permutation)))
    return cases


_PLAN = {"layers.0.weight": ("layer 1", None),
         "layers.0.bias": ("layer 1",),
         "layers.1.weight": ("layer 2", "layer 1"),
         "layers.1.bias": ("layer 2",),
         "layers.2.weight": (None, "layer 2"),
         "layers.2.bias": (None,)}


def _features():
    generator = torch.Generator().manual_seed(1)
    first, second = (torch.randn(20, 4, generator=generator).relu() for _ in range(2))
    small = tuple(torch.rand(7, 3, generator=generator) for _ in range(2))
    return [(first, 3 * second), small]


def _centred(a, b):
    return (a - a.mean(0)).T @ (b - b.mean(0)) / len(a)


def _cosines(a, b):
    return (a / a.norm(dim=0)).T @ (b / b.norm(dim=0))


def _operator(values, seed):
    """A symmetric operator with these eigenvalues, and a start."""
    generator = torch.Generator().manual_seed(seed)
    size = len(values)
    basis = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64)).Q
    matrix = basis @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ basis.T
    start = 2 * torch.randn(size, generator=generator, dtype=torch.float64)
    return lambda vector: matrix @ vector, start


def _operators():
    return [(*_operator([5.0, 1.0, 0.5, -1.0], 0), 40),
            (*_operator([1.0, 0.3, -4.0], 1), 40),
            (*_operator([0.3, 0.1, -0.05], 2), 40)]


def _power(product, start, steps, normalise=True, result=lambda vector, applied: applied.norm().item()):
    """Power iteration, and what `result` makes of the last vector and of its product."""
    vector = start / start.norm()
    for _ in range(steps):
        before = vector
        applied = product(vector)
        vector = applied / applied.norm() if normalise else applied
    return result(before, applied)


def _quartic(theta):
    return (theta ** 4).sum() / 4 + torch.outer(theta, theta).tril(-1).sum() + theta.sum()


def _triples():
    generator = torch.Generator().manual_seed(3)
    thetas = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    return [(_quartic, *thetas, alpha) for alpha in (0.5, 0.2)]


def _bends(f, theta_0, vector):
    return torch.dot(vector, curvature.hessian_vector_product(f, theta_0, vector)).item()


def _mix(theta_i, theta_j, alpha):
    return alpha * theta_i + (1 - alpha) * theta_j


EXERCISES = [
    Exercise(
        "5.1",
        "permute one layer",
        6,
        matching.permute_layer,
        cases=_layers,
        wrong=[
            Wrong(lambda weight, bias, above, order: (weight[order], bias[order], above),
                  "The units moved, but the layer above still reads them at their old places. Its columns must move "
                  "with them."),
            Wrong(lambda weight, bias, above, order: (weight[order], bias, above[:, order]),
                  "The weights moved and the biases stayed: each unit now has another unit's bias."),
            Wrong(lambda weight, bias, above, order: (weight[order], bias[order], above[order]),
                  "You permuted the rows of the layer above. Its rows are its own units; what it reads from this layer "
                  "are its columns."),
            Wrong(lambda weight, bias, above, order: (weight[order], bias[order], above[:, order.argsort()]),
                  "The columns above went the other way (the inverse permutation). Unit permutation[i] stands at place "
                  "i now, in all three."),
            Wrong(lambda weight, bias, above, order: (weight[:, order], bias[order], above[:, order]),
                  "You permuted the columns of the layer's own weight. Those belong to its inputs; its units are the "
                  "rows."),
        ],
        hints=["A unit is a row of its layer's weight, an entry of its bias, and a column of the next weight.",
               "tensor[permutation] reorders rows, tensor[:, permutation] columns."],
        praise="A layer of 100 units can be ordered in 100! ways, about 10 to the power 158. All of them are the same "
               "function.",
        tolerance=1e-6,
    ),

    Exercise(
        "5.2",
        "the plan as data",
        6,
        _PLAN,
        wrong=[
            Wrong(_PLAN | {"layers.1.weight": (None, "layer 1")},
                  "The rows of layers.1.weight are layer 2's units: they have a name too."),
            Wrong({key: tuple(reversed(names)) for key, names in _PLAN.items()},
                  "Rows and columns are swapped: a weight is (units of this layer, units of the layer below)."),
            Wrong(_PLAN | {"layers.0.weight": ("layer 1", "input")},
                  "The pixels cannot be permuted: they come from outside in a fixed order. That axis is None."),
            Wrong(_PLAN | {"layers.2.weight": ("output", "layer 2"), "layers.2.bias": ("output",)},
                  "The outputs cannot be permuted: output 3 must stay the digit 3. Those axes are None."),
            Wrong({key: names for key, names in _PLAN.items() if not key.endswith("bias")},
                  "The biases are missing. A unit takes its bias along."),
            Wrong({key: tuple("units" if name else None for name in names) for key, names in _PLAN.items()},
                  "With one name for both layers they would have to be permuted alike. Each layer has a permutation of "
                  "its own."),
        ],
        hints=["One entry a parameter, and in its tuple one entry an axis: a permutation's name, or None.",
               "layers.1.weight is (units of layer 2, units of layer 1).",
               "The first weight's columns are pixels, the last weight's rows are digits: None."],
        praise="Matching, applying and testing read this table. For ResNet-18 it is longer, and the code is the same.",
    ),

    Exercise(
        "5.3",
        "which units are on together",
        6,
        matching.feature_gain,
        cases=_features,
        wrong=[
            Wrong(_centred,
                  "You subtracted the means first. The source's E[abᵀ] is uncentred: a unit that is always on matches "
                  "one that is always on."),
            Wrong(_cosines,
                  "You normalised each unit's length: that makes cosines. Here a strong unit counts more than a weak "
                  "one."),
            Wrong(lambda a, b: a.T @ b,
                  "This is the sum over the samples. An expectation is the mean: divide by their number."),
            Wrong(lambda a, b: b.T @ a / len(a),
                  "Transposed: entry [i, j] must speak of unit i of the first network and unit j of the second."),
            Wrong(lambda a, b: a @ b.T / len(a),
                  "That compares samples with samples. Sum over the samples, so that units meet units."),
        ],
        hints=["Entry [i, j] is the mean over the samples of a[:, i] * b[:, j].",
               "As a matrix product: (units, samples) @ (samples, units)."],
        praise="Give this matrix to an assignment solver and you have activation matching.",
        tolerance=1e-5,
    ),

    Exercise(
        "5.4",
        "read the proof",
        5,
        "b",
        wrong=[
            Wrong("a",
                  "Taylor's theorem needs the third derivatives, and the theorem assumes them. Whether a ReLU network "
                  "has them is another question."),
            Wrong("c",
                  "The linear terms do cancel: α(θ_i − θ_0) + (1 − α)(θ_j − θ_0) is the interpolated network's own "
                  "difference from θ_0."),
            Wrong("d", "The identity is right; multiply it out. It is the heart of the proof."),
        ],
        hints=["A norm is never negative. Can vᵀHv be?",
               "Take H = diag(1, −1), whose norm is 1, and v = (0, 1)."],
        praise="Right: ‖H‖ ≥ λmin says nothing about vᵀHv from below; it can be negative. The proof only needs "
               "|vᵀHv| ≤ ‖H‖·‖v‖², so the theorem survives, with λmax the largest absolute eigenvalue.",
    ),

    Exercise(
        "5.5",
        "the second-order term",
        8,
        curvature.second_order,
        cases=_triples,
        wrong=[
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha:
                  alpha * (1 - alpha) * _bends(f, theta_0, theta_i - theta_j),
                  "A factor ½ is missing: it comes from the Taylor expansion."),
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha:
                  _bends(f, theta_0, theta_i - theta_j) / 2,
                  "α(1 − α) is missing: at the ends of the line nothing can deviate."),
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha:
                  alpha * (1 - alpha) / 2 * _bends(f, theta_0, _mix(theta_i, theta_j, alpha) - theta_0),
                  "The direction is wrong: the distances to θ_0 cancel, and what is left is the difference of the two "
                  "networks."),
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha:
                  alpha * (1 - alpha) / 2 * _bends(f, _mix(theta_i, theta_j, alpha), theta_i - theta_j),
                  "That is the Hessian at the interpolated network. A good idea, as you will see; but the theorem has "
                  "it at θ_0."),
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha:
                  alpha * (1 - alpha) / 2 * curvature.curvature_along(f, theta_0, theta_i - theta_j),
                  "You divided by ‖θ_i − θ_j‖². The term grows with the square of the distance."),
        ],
        hints=["d = theta_i - theta_j, and hessian_vector_product(f, theta_0, d) is Hd.",
               "torch.dot(d, Hd).item() is dᵀHd.",
               "Times α(1 − α)/2."],
        praise="For a quadratic f this is no approximation. For any other it is what remains when the networks are "
               "close.",
        tolerance=1e-6,
    ),

    Exercise(
        "5.6",
        "the largest curvature",
        10,
        curvature.power_iteration,
        cases=_operators,
        wrong=[
            Wrong(lambda product, start, steps: _power(product, start, steps, normalise=False),
                  "The vector grows (or shrinks) at every step, and its length is no eigenvalue. Divide by its length "
                  "after every product."),
            Wrong(lambda product, start, steps:
                  _power(product, start, steps, result=lambda vector, applied: torch.dot(vector, applied).item()),
                  "vᵀHv has the eigenvalue's sign. Theorem 1 needs the largest absolute value: for a negative one the "
                  "bound would be negative."),
            Wrong(lambda product, start, steps: _power(product, start, 1),
                  "One product is not enough: the start is a mix of all eigenvectors. Repeat it `steps` times."),
            Wrong(lambda product, start, steps:
                  _power(product, start, steps, result=lambda _, applied: (applied / applied.norm()).norm().item()),
                  "You returned the length of the normalised vector, which is 1. The eigenvalue is the factor by which "
                  "the product stretched it."),
            Wrong(lambda product, start, steps:
                  _power(product, start, steps, result=lambda _, applied: applied.norm().item() ** 0.5),
                  "This is the square root. A vector of length 1 is stretched by |λ| itself."),
        ],
        hints=["Start with start / start.norm().",
               "Each step: applied = product(vector); vector = applied / applied.norm().",
               "Return the last applied.norm(), as a number."],
        praise="A Hessian of 100,000 × 100,000 numbers would fill 40 GB. You know its largest eigenvalue without it.",
        tolerance=1e-4,
    ),
]
