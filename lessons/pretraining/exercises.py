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


def _as_asked(order):
    return order


def _unmoved(order):
    return torch.arange(len(order))


def _twice(order):
    return order[order]


def _moved(rows=_as_asked, biases=_as_asked, columns=_as_asked):
    """A wrong answer to 5.1: the order that each of the three tensors gets."""
    def answer(weight, bias, above, order):
        return weight[rows(order)], bias[biases(order)], above[:, columns(order)]
    return answer


def _overwritten(weight, bias, above, order):
    weight, bias, above = weight.clone(), bias.clone(), above.clone()
    for place, old in enumerate(order):
        weight[place], bias[place], above[:, place] = weight[old], bias[old], above[:, old]
    return weight, bias, above


def _features():
    generator = torch.Generator().manual_seed(1)
    first, second = (torch.randn(20, 4, generator=generator).relu() for _ in range(2))
    small = tuple(torch.rand(7, 3, generator=generator) for _ in range(2))
    return [(first, 3 * second), small]


def _centred(a, b):
    return (a - a.mean(0)).T @ (b - b.mean(0)) / len(a)


def _cosines(a, b):
    return (a / a.norm(dim=0)).T @ (b / b.norm(dim=0))


def _correlations(a, b):
    return _cosines(a - a.mean(0), b - b.mean(0))


def _over_those_both_on(a, b):
    both = (a > 0).to(a.dtype).T @ (b > 0).to(b.dtype)
    return a.T @ b / both.clamp(min=1)


def _squared_differences(a, b):
    return ((a[:, :, None] - b[:, None, :]) ** 2).mean(0)


_PLAN = {"layers.0.weight": ("layer 1", None),
         "layers.0.bias": ("layer 1",),
         "layers.1.weight": ("layer 2", "layer 1"),
         "layers.1.bias": ("layer 2",),
         "layers.2.weight": (None, "layer 2"),
         "layers.2.bias": (None,)}


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
            (*_operator([0.3, 0.1, -0.05], 2), 40),
            (*_operator([2.0, 1.5, -1.0], 3), 3),  # too few for the eigenvalue: the number of products shows
            (*_operator([2.0, 1.5, -1.0], 4), 1)]


def _power(product, start, steps, normalise=True, result=lambda vector, applied: applied.norm().item()):
    """Power iteration, and what `result` makes of the last vector and of its product."""
    vector = start / start.norm()
    for _ in range(steps):
        before = vector
        applied = product(vector)
        vector = applied / applied.norm() if normalise else applied
    return result(before, applied)


def _fewer(product, start, steps):
    return _power(product, start, steps - 1) if steps > 1 else start.norm().item()


def _from_the_unscaled_start(product, start, steps):
    return _power(product, start, steps) * (start.norm().item() if steps == 1 else 1)


def _by_the_largest_entry(product, start, steps, length=lambda applied: applied.norm()):
    vector = start / start.abs().max()
    for _ in range(steps):
        applied = product(vector)
        vector = applied / applied.abs().max()
    return length(applied).item()


def _scaled_by(size, result=torch.linalg.norm):
    """A wrong answer to 5.7: what it divides each vector by, and what it returns of the last product."""
    def answer(product, start, steps):
        vector = start / size(start)
        for _ in range(steps):
            applied = product(vector)
            vector = applied / size(applied)
        return result(applied).item()
    return answer


def _sum_of_sizes(vector):
    return vector.abs().sum()


def _lengths(product, start, steps):
    return [_power(product, start, count) for count in range(1, steps + 1)]


def _geometric_mean(product, start, steps):
    return _power(product, start, steps, normalise=False) ** (1 / steps)


def _quotient_afterwards(product, start, steps):
    return _power(product, start, steps + 1, result=lambda vector, applied: torch.dot(vector, applied).item())


def _eigenvalues(product, start):
    matrix = torch.stack([product(unit) for unit in torch.eye(len(start), dtype=start.dtype)], dim=1)
    return torch.linalg.eigvalsh(matrix)


def _quartic(theta):
    return (theta ** 4).sum() / 4 + torch.outer(theta, theta).tril(-1).sum() + theta.sum()


def _triples():
    cases = []
    for seed, size, alpha in ((3, 4, 0.5), (3, 4, 0.2), (5, 3, 0.7)):  # dᵀHd is negative, negative, positive
        generator = torch.Generator().manual_seed(seed)
        cases.append((_quartic, *torch.randn(3, size, generator=generator, dtype=torch.float64), alpha))
    return cases


def _bends(f, theta_0, vector):
    return torch.dot(vector, curvature.hessian_vector_product(f, theta_0, vector)).item()


def _mix(theta_i, theta_j, alpha):
    return alpha * theta_i + (1 - alpha) * theta_j


def _second(share=lambda alpha: alpha * (1 - alpha) / 2, form=_bends, apart=lambda at_0, at_i, at_j: at_i - at_j,
            at=lambda at_0, at_i, at_j: at_0):
    """The second-order term with other parts: the factor, what is made of H and d, d, and where H is."""
    def answer(f, theta_0, theta_i, theta_j, alpha):
        thetas = (theta_0, theta_i, theta_j)
        return share(alpha) * form(f, at(*thetas), apart(*thetas))
    return answer


def _product(f, theta, vector):
    return curvature.hessian_vector_product(f, theta, vector)


def _without_parentheses(f, theta_0, theta_i, theta_j, alpha):
    return alpha * 1 - alpha / 2 * _bends(f, theta_0, theta_i - theta_j)


def _between_task_vectors(f, theta_0, theta_i, theta_j, alpha):
    applied = _product(f, theta_0, theta_j - theta_0)
    return alpha * (1 - alpha) / 2 * torch.dot(theta_i - theta_0, applied).item()


def _two_forms(f, theta_0, theta_i, theta_j, alpha):
    return alpha * (1 - alpha) / 2 * (_bends(f, theta_0, theta_i - theta_0) - _bends(f, theta_0, theta_j - theta_0))


# -- the solutions that are shown ------------------------------------------------------------------

def permute_layer(weight, bias, weight_above, permutation):
    return weight[permutation], bias[permutation], weight_above[:, permutation]


def feature_gain(features_a, features_b):
    return features_a.T @ features_b / len(features_a)


def power_iteration(product, start, steps):
    vector = start / start.norm()
    for _ in range(steps):
        applied = product(vector)
        length = applied.norm()
        vector = applied / length
    return length.item()


# -- exercises -------------------------------------------------------------------------------------

EXERCISES = [
    Exercise(
        "5.1",
        "permute one layer",
        6,
        matching.permute_layer,
        teaching=permute_layer,
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
            Wrong(lambda weight, bias, above, order:
                  (weight[order.argsort()], bias[order.argsort()], above[:, order.argsort()]),
                  "You put unit i at place permutation[i]. Here permutation[i] says who comes to place i."),
            Wrong(lambda weight, bias, above, order: (weight[order.argsort()], bias[order], above[:, order]),
                  "The rows of the weight went the other way (the inverse permutation) than bias and layer above."),
            Wrong(lambda weight, bias, above, order: (weight[order], above[:, order], bias[order]),
                  "All three are right, but in another order: weight, bias, and then the layer above."),
            Wrong(lambda weight, bias, above, order: (weight[order], bias[order]),
                  "Only the layer itself came back. The layer above belongs to it: it reads this layer's units."),
            Wrong(lambda weight, bias, above, order: (weight[order], bias[order], above.T[order]),
                  "You transposed the layer above to reach its columns. Turn it back, or index the columns directly."),
            Wrong(lambda weight, bias, above, order: weight[order],
                  "Only the weight came back. Return three tensors: weight, bias and weight_above."),
            Wrong(lambda weight, bias, above, order: (weight, bias, above),
                  "These are the three tensors as they came. Put their units into the order of `permutation`."),
            Wrong(lambda weight, bias, above, order: [weight[order], bias[order], above[:, order]][::-1],
                  "The three tensors are in reverse order. Return weight, bias, and then weight_above."),
            Wrong(_moved(rows=_unmoved),
                  "The rows of the weight stayed where they were. A unit that moves takes along its row, its bias, "
                  "and its column in the layer above."),
            Wrong(_moved(_unmoved, _unmoved),
                  "Only the layer above moved. Its columns must stand in the same order as the units that they read, "
                  "so these have to move too."),
            Wrong(_moved(biases=_unmoved, columns=_unmoved),
                  "Only the rows of the weight moved. Each unit also has a bias and a column in the layer above."),
            Wrong(_moved(biases=torch.argsort),
                  "The biases went the other way (the inverse permutation) than the rows of the weight."),
            Wrong(_moved(torch.argsort, torch.argsort),
                  "Weight and bias went the other way (the inverse permutation) than the layer above, as in "
                  "new[permutation] = old. Here permutation[i] is the old unit that comes to place i."),
            Wrong(_moved(columns=_twice),
                  "The columns of the layer above moved twice. Each of them moves once, like the unit that it reads."),
            Wrong(lambda weight, bias, above, order: (weight[order - 1], bias[order - 1], above[:, order - 1]),
                  "You subtracted 1 from the permutation. Units and places are counted from 0, as everywhere in "
                  "Python."),
            Wrong(_overwritten,
                  "You copy units within one tensor, so some of them are overwritten before they are read. Read from "
                  "the old tensor and write to a new one."),
        ],
        hints=["A unit is a row of its layer's weight, an entry of its bias, and a column of the next weight.",
               "tensor[permutation] reorders rows, tensor[:, permutation] columns."],
        praise="A layer of 100 units can be ordered in 100! ways, about 10 to the power 158. All of them are the same "
               "function.",
        tolerance=1e-6,
    ),

    Exercise(
        "5.2",
        "which units are on together",
        6,
        matching.feature_gain,
        teaching=feature_gain,
        cases=_features,
        wrong=[
            Wrong(_centred,
                  "You subtracted the means first. Here E[abᵀ] is uncentred: a unit that is always on matches "
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
            Wrong(lambda a, b: a @ b.T / a.shape[1],
                  "Entry [s, t] compares sample s with sample t there, averaged over units. Average over samples."),
            Wrong(lambda a, b: _centred(a, b) * len(a) / (len(a) - 1),
                  "That is the covariance as statistics has it, with the means subtracted and n − 1. Here it is the "
                  "plain mean of the products."),
            Wrong(_correlations,
                  "Those are correlations: centred, and each unit divided by its spread. Here neither is done."),
            Wrong(lambda a, b: a.T @ b / (len(a) - 1),
                  "Divide by the number of samples. n − 1 is for a variance, where a mean was subtracted."),
            Wrong(lambda a, b: a.T @ b / a.shape[1],
                  "You divided by the number of units. The mean is over the samples: which dimension are they?"),
            Wrong(lambda a, b: (a * b).mean(0),
                  "That is unit i with unit i alone, the diagonal. Every unit of the first network meets every unit "
                  "of the second."),
            Wrong(lambda a, b: torch.outer(a.mean(0), b.mean(0)),
                  "That is the product of the means. Which units are on together shows only in the mean of the "
                  "products."),
            Wrong(lambda a, b: (a > 0).to(a.dtype).T @ (b > 0).to(b.dtype) / len(a),
                  "You counted how often both are on. How strongly they are on counts too: multiply the features."),
            Wrong(lambda a, b: (a * b).mean(),
                  "You averaged over samples and units, and one number is left. Each pair of units needs its own mean "
                  "over the samples."),
            Wrong(lambda a, b: _correlations(a, b) * (len(a) - 1) / len(a),
                  "You centred the features and divided them by their standard deviations, which gives correlations. "
                  "Here the features are multiplied as they are."),
            Wrong(_over_those_both_on,
                  "You divided by the number of samples on which both units are on. The mean is over all samples, "
                  "also over those where the product is 0."),
            Wrong(lambda a, b: a.T @ b / a.numel(),
                  "You divided by the number of all entries, samples times units. The mean is over the samples "
                  "alone."),
            Wrong(lambda a, b: a.T @ a / len(a),
                  "Both factors come from the first network. The columns belong to the units of the second."),
            Wrong(lambda a, b: b.T @ b / len(b),
                  "Both factors come from the second network. The rows belong to the units of the first."),
            Wrong(_squared_differences,
                  "That is the mean squared difference of two units. The exercise asks for the mean of their "
                  "product."),
        ],
        hints=["Entry [i, j] is the mean over the samples of a[:, i] * b[:, j].",
               "As a matrix product: (units, samples) @ (samples, units)."],
        praise="Give this matrix to an assignment solver and you have activation matching.",
        tolerance=1e-5,
    ),

    Exercise(
        "5.3",
        "how far from linear?",
        2,
        4.5,
        wrong=[
            Wrong(1.5, "You put in the distance as it is. The formula has its square."),
            Wrong(9.0, "That is what the distance does. The curvature is a factor, too, and it has halved."),
            Wrong(3.0, "That is the distance. The formula has its square, and the curvature has halved."),
            Wrong(0.5, "That is what the curvature does. The distance has grown, and the formula has its square."),
            Wrong(18.0, "You divided by the curvature. δ is proportional to it: half the curvature, half of δ."),
            Wrong(6.0, "You divided by the curvature and did not square the distance. The curvature multiplies, and "
                       "the distance enters with its square."),
            Wrong(2.25, "You squared the curvature, too. Only the distance is squared."),
            Wrong(13.5, "You took the third power of the distance. The formula has its square."),
            Wrong(0.5625, "You multiplied by ⅛. It stands in the old δ and in the new one, so it cancels."),
            Wrong(2 / 9, "That is the old δ divided by the new one. Divide the new one by the old one."),
            Wrong(3.5, "You subtracted the old δ. A factor is the new δ divided by the old one."),
            Wrong(9.5, "You added what distance and curvature do. In the formula they are multiplied."),
            Wrong(450.0, "That is in per cent. A factor is a plain number."),
        ],
        hints=["Write δ = ⅛ c d², with d for the distance, before and after, and divide.",
               "The distance enters with its square, 3² = 9. The curvature enters as it is."],
        praise="Distance counts twice, once for each factor of the square. So two networks that stay close can bear a "
               "large curvature.",
    ),

    Exercise(
        "5.4",
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
            Wrong(_PLAN | {"layers.2.weight": ("layer 3", "layer 2"), "layers.2.bias": ("layer 3",)},
                  "There is no layer 3 that could be permuted: its units are the outputs, and output 3 must stay the "
                  "digit 3."),
            Wrong(_PLAN | {"layers.0.weight": ("layer 1", "layer 0")},
                  "There is no layer 0 that could be permuted: the columns of the first weight are pixels, in a fixed "
                  "order."),
            Wrong(_PLAN | {"layers.2.bias": ("layer 2",)},
                  "A bias goes with the rows of its own weight. The rows of layers.2.weight are the outputs, and they "
                  "stay."),
            Wrong(_PLAN | {"layers.0.bias": (None,), "layers.1.bias": (None,)},
                  "The biases would stay while their units move. A unit takes its bias along."),
            Wrong({key: names if len(names) == 2 else names[0] for key, names in _PLAN.items()},
                  "The values of the biases are no tuples. A tuple with one entry needs a comma before the "
                  "parenthesis closes."),
            Wrong({key: names if len(names) == 2 else (*names, None) for key, names in _PLAN.items()},
                  "A bias has one axis, so its tuple has one entry, not two."),
            Wrong(_PLAN | {"layers.1.weight": ("layer 2", None), "layers.2.weight": (None, None)},
                  "You named the rows alone. The columns are the units of the layer below, and must move when those "
                  "do."),
            Wrong({key: tuple(name and f"layer {int(name[-1]) - 1}" for name in names)
                   for key, names in _PLAN.items()},
                  "You counted the hidden layers from 0. Here the first hidden layer, whose weight is "
                  "layers.0.weight, is called layer 1."),
            Wrong(_PLAN | {"layers.1.weight": ("layer 1", "layer 2")},
                  "At layers.1.weight rows and columns are swapped. Its rows are the units of layer 2."),
            Wrong(_PLAN | {"layers.0.weight": ("layer 1",)},
                  "layers.0.weight has two axes, so its tuple has two entries. What is the one for the pixels?"),
            Wrong(_PLAN | {"layers.2.bias": None},
                  "A value is a tuple with one entry for each axis, also where this entry is None."),
            Wrong({key: tuple(name and name.replace(" ", "") for name in names) for key, names in _PLAN.items()},
                  "The names have a space: write \"layer 1\" and \"layer 2\"."),
            Wrong(_PLAN | {"layers.0.bias": (None,), "layers.1.bias": ("layer 1",), "layers.2.bias": ("layer 2",)},
                  "Each bias has the name of the layer below. It has one number for each unit of its own layer, like "
                  "the rows of its weight."),
            Wrong({"layers.0.weight": (None, None), "layers.0.bias": (None,),
                   "layers.1.weight": ("layer 1", None), "layers.1.bias": ("layer 1",),
                   "layers.2.weight": ("layer 2", "layer 1"), "layers.2.bias": ("layer 2",)},
                  "You took the numbers of the hidden layers from the keys, which count from 0. The 50 rows of "
                  "layers.0.weight are the units of the first hidden layer."),
            Wrong({key: names for key, names in _PLAN.items() if key != "layers.2.bias"},
                  "The entry of layers.2.bias is missing. A tensor that is not permuted has an entry too, and it "
                  "says so."),
        ],
        hints=["One entry a parameter, and in its tuple one entry an axis: a permutation's name, or None.",
               "layers.1.weight is (units of layer 2, units of layer 1).",
               "The first weight's columns are pixels, the last weight's rows are digits: None."],
        praise="Matching, applying and testing read this table. For ResNet-18 it is longer, and the code is the same.",
    ),

    Exercise(
        "5.5",
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
        "5.6",
        "the second-order term",
        8,
        curvature.second_order,
        cases=_triples,
        wrong=[
            Wrong(_second(share=lambda alpha: alpha * (1 - alpha)),
                  "A factor ½ is missing: it comes from the Taylor expansion."),
            Wrong(_second(share=lambda alpha: 1 / 2),
                  "α(1 − α) is missing: at the ends of the line nothing can deviate."),
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha:
                  alpha * (1 - alpha) / 2 * _bends(f, theta_0, _mix(theta_i, theta_j, alpha) - theta_0),
                  "The direction is wrong: the distances to θ_0 cancel, and what is left is the difference of the two "
                  "networks."),
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha:
                  alpha * (1 - alpha) / 2 * _bends(f, _mix(theta_i, theta_j, alpha), theta_i - theta_j),
                  "That is the Hessian at the interpolated network. A good idea, as you will see; but the theorem has "
                  "it at θ_0."),
            Wrong(_second(form=curvature.curvature_along),
                  "You divided by ‖θ_i − θ_j‖². The term grows with the square of the distance."),
            Wrong(lambda f, theta_0, theta_i, theta_j, alpha: curvature.deviation(f, theta_i, theta_j, alpha),
                  "That is the deviation itself, all orders together. Here only its second-order part is asked."),
            Wrong(_second(share=lambda alpha: alpha / 2),
                  "The factor 1 − α is missing: at α = 1 you stand on θ_i itself, and nothing can deviate there."),
            Wrong(_second(share=lambda alpha: alpha ** 2 / 2),
                  "You squared α. The factor is α(1 − α), which is zero at both ends of the line."),
            Wrong(_second(at=lambda at_0, at_i, at_j: at_i),
                  "That is the Hessian at θ_i. The theorem expands around θ_0: take it there."),
            Wrong(_second(at=lambda at_0, at_i, at_j: (at_i + at_j) / 2),
                  "That is the Hessian half-way between the two networks. The theorem expands around θ_0."),
            Wrong(_second(apart=lambda at_0, at_i, at_j: at_i - at_0),
                  "That is the way from θ_0 to θ_i. Here d goes from one finetuned network to the other."),
            Wrong(_second(form=lambda f, theta, vector: _product(f, theta, vector).norm().item()),
                  "That is the length of Hd. dᵀHd is its scalar product with d, and has a sign."),
            Wrong(_second(form=lambda f, theta, vector: _product(f, theta, vector).sum().item()),
                  "You summed the entries of Hd. Multiply by d first: dᵀHd has d on both sides."),
            Wrong(_second(form=_product),
                  "That is a multiple of the vector Hd. dᵀHd is a number: d stands on both sides."),
            Wrong(_second(form=lambda f, theta, vector: vector * _product(f, theta, vector)),
                  "Nearly there: you multiplied d and Hd entry by entry. A scalar product also sums."),
            Wrong(_without_parentheses,
                  "Python multiplies before it subtracts: 1 - alpha needs parentheses."),
            Wrong(_two_forms,
                  "vᵀHv is no linear function of v: the difference of two such forms is not that of the difference "
                  "d."),
            Wrong(_second(share=lambda alpha: 1 / 8),
                  "You used α = ½. Here α is an argument and can be any number."),
            Wrong(_between_task_vectors,
                  "You put one task vector on each side of the Hessian. The same d, from θ_j to θ_i, stands on both "
                  "sides."),
            Wrong(_second(form=lambda f, theta, vector: torch.dot(vector, _product(f, vector, theta)).item()),
                  "You exchanged two arguments of hessian_vector_product. The point where the Hessian is taken comes "
                  "before the vector."),
            Wrong(_second(form=lambda f, theta, vector: (vector * _product(f, theta, vector)).mean().item()),
                  "You took the mean of the products of the entries of d and Hd. A scalar product is their sum."),
        ],
        hints=["d = theta_i - theta_j, and hessian_vector_product(f, theta_0, d) is Hd.",
               "torch.dot(d, Hd).item() is dᵀHd.",
               "Times α(1 − α)/2."],
        praise="For a quadratic f this is no approximation. For another smooth f it is the leading term when both "
               "networks are close to θ_0.",
        tolerance=1e-6,
    ),

    Exercise(
        "5.7",
        "the largest curvature",
        10,
        curvature.power_iteration,
        teaching=power_iteration,
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
            Wrong(_fewer,
                  "One product too few: with steps = 1 there is one product, and its length is the answer."),
            Wrong(_from_the_unscaled_start,
                  "Your first product is of `start` as it came. Scale it to length 1 before, or with steps = 1 the "
                  "answer is too long."),
            Wrong(lambda product, start, steps: _power(product, start, 100),
                  "That is |λ| itself, whatever `steps` is: from more products, or from the whole matrix, which no "
                  "memory holds for a network. Asked is the length after `steps` products, also where those are few."),
            Wrong(_by_the_largest_entry,
                  "You divide by the largest entry. Then the vector's length is not 1, and the product's length says "
                  "nothing by itself."),
            Wrong(lambda product, start, steps:
                  _by_the_largest_entry(product, start, steps, lambda one: one.abs().max()),
                  "You divide by the largest entry. It has the same limit, but asked are lengths: norms."),
            Wrong(lambda product, start, steps: _eigenvalues(product, start).max().item(),
                  "That is the largest eigenvalue with its sign, from the whole matrix. Asked is the largest absolute "
                  "value, from `steps` products."),
            Wrong(lambda product, start, steps:
                  _power(product, start, steps, result=lambda _, applied: applied / applied.norm()),
                  "You returned the vector. It turns towards the eigenvector; asked is by how much a product "
                  "stretches it."),
            Wrong(_lengths, "You returned all the lengths. Only the last is asked: the first are still on their way."),
            Wrong(lambda product, start, steps: sum(_lengths(product, start, steps)) / steps,
                  "You averaged over the steps. The first lengths are still far from |λ|: return the last."),
            Wrong(lambda product, start, steps: _power(product, start, steps + 1),
                  "One product too many: the length of the last of `steps` products is the answer."),
            Wrong(lambda product, start, steps: _power(product, start, max(steps - 1, 1)),
                  "Where steps is above 1, you make one product too few. For example, range(1, steps) makes only "
                  "steps − 1 rounds."),
            Wrong(_geometric_mean,
                  "You scaled only the start and took the root of the last length. That averages the stretch over "
                  "all steps, but the exercise asks for the last step's."),
            Wrong(_quotient_afterwards,
                  "That is vᵀHv of the vector after the last step, and it has the eigenvalue's sign. The exercise "
                  "asks for a length, that of the last of `steps` products."),
            Wrong(lambda product, start, steps:
                  _power(product, start, steps, result=lambda vector, applied: torch.dot(vector, applied).abs().item()),
                  "You returned |vᵀHv|. It has the same limit, but after a few steps it can be smaller than the "
                  "length of Hv, which is asked for."),
            Wrong(_scaled_by(lambda vector: torch.dot(vector, vector)),
                  "You divide by the squared length, v·v. The vector gets the length 1 only if you divide by the "
                  "root of that."),
            Wrong(_scaled_by(_sum_of_sizes, _sum_of_sizes),
                  "You measure a vector by the sum of its absolute values. It has the same limit, but the length of "
                  "a vector is norm(), the root of the sum of squares."),
        ],
        hints=["Start with start / start.norm().",
               "Each step: applied = product(vector); vector = applied / applied.norm().",
               "Return the last applied.norm(), as a number."],
        praise="A Hessian of 100,000 × 100,000 numbers would fill 40 GB. You know its largest eigenvalue without it.",
        tolerance=1e-4,
    ),
]
