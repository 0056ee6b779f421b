"""Answers to exercises 3.7 to 6.3, written in a hurry from the tasks' texts alone, by somebody who had seen no check.
(exercise, what its author thought, answer, whether it is right)."""
# ruff: noqa: F811
import math
from fractions import Fraction

import numpy as np
import torch

ANSWERS = []


def add(number, thought, answer, is_right=False):
    ANSWERS.append((number, thought, answer, is_right))


# ---- 3.7
def pairs_both_orders(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(k) if i != j)


def pairs_with_diagonal(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(i, k))


def pairs_whole_table(halfway, shares):
    weights = 4 * shares[:, None] * shares[None, :]
    return torch.einsum("ij,ij...->...", weights, halfway)


def pairs_without_four(halfway, shares):
    k = len(shares)
    return sum(shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(i + 1, k))


def pairs_with_two(halfway, shares):
    k = len(shares)
    return sum(2 * shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(i + 1, k))


def pairs_sum_of_shares(halfway, shares):
    k = len(shares)
    return sum(4 * (shares[i] + shares[j]) * halfway[i, j] for i in range(k) for j in range(i + 1, k))


def pairs_mean(halfway, shares):
    k = len(shares)
    terms = [4 * shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(i + 1, k)]
    return torch.stack(terms).mean(dim=0)


def pairs_last_model_forgotten(halfway, shares):
    k = len(shares)
    total = torch.zeros_like(halfway[0, 0])
    for i in range(k - 1):
        for j in range(i + 1, k - 1):
            total = total + 4 * shares[i] * shares[j] * halfway[i, j]
    return total


def pairs_neighbours(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] * shares[i + 1] * halfway[i, i + 1] for i in range(k - 1))


def pairs_normalised(halfway, shares):
    i, j = torch.triu_indices(len(shares), len(shares), offset=1)
    weights = 4 * shares[i] * shares[j]
    return torch.tensordot(weights / weights.sum(), halfway[i, j], dims=1)


def pairs_equal_shares(halfway, shares):
    k = len(shares)
    return sum(4 / k**2 * halfway[i, j] for i in range(k) for j in range(i + 1, k))


def pairs_flattened(halfway, shares):
    k = len(shares)
    return sum((4 * shares[i] * shares[j] * halfway[i, j]).sum() for i in range(k) for j in range(i + 1, k))


def pairs_squared_share(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] ** 2 * halfway[i, j] for i in range(k) for j in range(i + 1, k))


def pairs_right(halfway, shares):
    i, j = torch.triu_indices(len(shares), len(shares), offset=1)
    return torch.tensordot(4 * shares[i] * shares[j], halfway[i, j], dims=1)


add("3.7", "the sum runs over all i and j that differ, both orders", pairs_both_orders)
# right: half-way between a model and itself is that model, so m_ii is 0
add("3.7", "i < j also lets j start at i", pairs_with_diagonal, is_right=True)
add("3.7", "a double sum is one einsum over the whole table", pairs_whole_table)
add("3.7", "the weight of a pair is just the product of the shares", pairs_without_four)
add("3.7", "each pair comes twice, so the factor is 2", pairs_with_two)
add("3.7", "a pair weighs as much as its two shares together", pairs_sum_of_shares)
add("3.7", "average the pairs' terms", pairs_mean)
add("3.7", "both loops stop at k - 1", pairs_last_model_forgotten)
add("3.7", "a pair is i and the next one", pairs_neighbours)
add("3.7", "weights must add up to 1", pairs_normalised)
add("3.7", "all shares are 1/k", pairs_equal_shares)
add("3.7", "the prediction is one number, so sum each m_ij too", pairs_flattened)
add("3.7", "wrote i twice instead of i and j", pairs_squared_share)
add("3.7", "the pairs above the diagonal, in one tensordot", pairs_right, is_right=True)


# ---- 4.1
def edited_task_vector_only(base, finetuned, lam):
    return {
        name: lam * (finetuned[name] - w) if w.is_floating_point() else w.clone() for name, w in base.items()
    }


def edited_sign(base, finetuned, lam):
    return {
        name: w + lam * (w - finetuned[name]) if w.is_floating_point() else w.clone() for name, w in base.items()
    }


def edited_adds_finetuned(base, finetuned, lam):
    return {name: w + lam * finetuned[name] if w.is_floating_point() else w.clone() for name, w in base.items()}


def edited_mix_reversed(base, finetuned, lam):
    result = {}
    for name, w in base.items():
        result[name] = lam * w + (1 - lam) * finetuned[name] if w.is_floating_point() else w.clone()
    return result


def edited_from_finetuned(base, finetuned, lam):
    result = {}
    for name, w in base.items():
        tau = finetuned[name] - w
        result[name] = finetuned[name] + lam * tau if w.is_floating_point() else w.clone()
    return result


def edited_scaled_base(base, finetuned, lam):
    result = {}
    for name, w in base.items():
        result[name] = lam * (w + (finetuned[name] - w)) if w.is_floating_point() else w.clone()
    return result


def edited_lam_forgotten(base, finetuned, lam):
    return {name: w + (finetuned[name] - w) if w.is_floating_point() else w.clone() for name, w in base.items()}


def edited_counters_too(base, finetuned, lam):
    return {name: base[name] + lam * (finetuned[name] - base[name]) for name in base}


def edited_counters_cast(base, finetuned, lam):
    return {name: (w + lam * (finetuned[name] - w)).to(w.dtype) for name, w in base.items()}


def edited_counters_of_finetuned(base, finetuned, lam):
    result = {name: w.clone() for name, w in finetuned.items()}
    for name, w in base.items():
        if w.is_floating_point():
            result[name] = w + lam * (finetuned[name] - w)
    return result


def edited_counters_dropped(base, finetuned, lam):
    return {name: w + lam * (finetuned[name] - w) for name, w in base.items() if w.is_floating_point()}


def edited_only_weights_and_biases(base, finetuned, lam):
    result = dict(base)
    for name in base:
        if name.endswith("weight") or name.endswith("bias"):
            result[name] = base[name] + lam * (finetuned[name] - base[name])
    return result


def edited_only_matrices(base, finetuned, lam):
    result = {}
    for name, w in base.items():
        result[name] = w + lam * (finetuned[name] - w) if w.ndim > 1 else w.clone()
    return result


def edited_right(base, finetuned, lam):
    result = dict(base)
    for name in filter(lambda n: base[n].is_floating_point(), base):
        result[name] = (1 - lam) * base[name] + lam * finetuned[name]
    return result


add("4.1", "the edit is λτ", edited_task_vector_only)
add("4.1", "τ is base minus finetuned", edited_sign)
add("4.1", "τ is the finetuned network", edited_adds_finetuned)
add("4.1", "interpolation, with λ on the base", edited_mix_reversed)
add("4.1", "edits the finetuned network", edited_from_finetuned)
add("4.1", "λ stands in front of the bracket", edited_scaled_base)
add("4.1", "adds τ and forgets λ", edited_lam_forgotten)
add("4.1", "treats every entry alike, counters as well", edited_counters_too)
add("4.1", "counters edited like weights, and rounded back to whole numbers", edited_counters_cast)
add("4.1", "counters come from the finetuned network", edited_counters_of_finetuned)
add("4.1", "counters are no weights, so they are left out", edited_counters_dropped)
add("4.1", "only names with weight and bias are edited, running statistics stay", edited_only_weights_and_biases)
add("4.1", "tells weights from counters by the number of axes, so biases stay", edited_only_matrices)
add("4.1", "the edit as an interpolation, on a copy of the base", edited_right, is_right=True)


# ---- 4.2
add("4.2", "adding the whole task vectors lands on the average", 1.0)
add("4.2", "two networks, so λ is 2", 2.0)
add("4.2", "half for the average and half again for the two", 0.25)
add("4.2", "three models take part, each gets a third", 1 / 3)
add("4.2", "the two task vectors are orthogonal, so the root of a half", 1 / math.sqrt(2))
add("4.2", "the usual λ of task arithmetic", 0.3)
add("4.2", "the other usual λ of task arithmetic", 0.4)
add("4.2", "the share of the base must vanish, so λ vanishes", 0.0)
add("4.2", "a sign slipped when solving 1 - 2λ = 0", -0.5)
add("4.2", "both sides of the average counted: half of a half plus a whole", 1.5)
add("4.2", "half, in per cent", 50.0)
add("4.2", "the base's share is 1 - 2λ, which has to be 0", Fraction(1, 2), is_right=True)


# ---- 4.3
def shares_base_one(lams):
    return torch.cat([torch.ones(1, dtype=lams.dtype), lams])


def shares_base_last(lams):
    return torch.cat([lams, (1 - lams.sum())[None]])


def shares_minus_sum(lams):
    return torch.cat([-lams.sum().reshape(1), lams])


def shares_one_minus_mean(lams):
    return torch.cat([(1 - lams.mean()).reshape(1), lams])


def shares_base_plus(lams):
    return torch.cat([(1 + lams.sum()).reshape(1), lams])


def shares_rescaled_to_one(lams):
    everything = torch.cat([torch.ones(1, dtype=lams.dtype), lams])
    return everything / everything.sum()


def shares_rest_normalised(lams):
    return torch.cat([torch.zeros(1, dtype=lams.dtype), lams / lams.sum()])


def shares_never_negative(lams):
    return torch.cat([(1 - lams.sum()).clamp(min=0).reshape(1), lams])


def shares_product(lams):
    return torch.cat([torch.prod(1 - lams).reshape(1), lams])


def shares_first_lam_only(lams):
    return torch.cat([(1 - lams[0]).reshape(1), lams])


def shares_without_base(lams):
    return lams / lams.sum()


def shares_k_minus_sum(lams):
    return torch.cat([(len(lams) - lams.sum()).reshape(1), lams])


def shares_of_averaged_edits(lams):
    k = len(lams)
    return torch.cat([(1 - lams.sum() / k).reshape(1), lams / k])


def shares_softmax(lams):
    return torch.softmax(torch.cat([torch.zeros(1, dtype=lams.dtype), lams]), dim=0)


def shares_right(lams):
    result = lams.new_empty(1 + len(lams))
    result[1:] = lams
    result[0] = 1 - result[1:].sum()
    return result


add("4.3", "θ_0 stands there with factor 1", shares_base_one)
add("4.3", "the base comes last", shares_base_last)
add("4.3", "only what the task vectors take from the base, forgot the base itself", shares_minus_sum)
add("4.3", "mean instead of sum", shares_one_minus_mean)
add("4.3", "τ = θ_t + θ_0, a sign slipped", shares_base_plus)
add("4.3", "shares add up to 1, so divide by their sum", shares_rescaled_to_one)
add("4.3", "the base drops out and the rest is normalised", shares_rest_normalised)
add("4.3", "a share cannot be negative", shares_never_negative)
add("4.3", "the edits apply one after the other", shares_product)
add("4.3", "1 - λ as with a single task", shares_first_lam_only)
add("4.3", "the shares of the tasks only", shares_without_base)
add("4.3", "each of the k sums has its own base, so k - sum", shares_k_minus_sum)
add("4.3", "averages the k edited networks", shares_of_averaged_edits)
add("4.3", "shares come from a softmax", shares_softmax)
add("4.3", "fills an empty tensor, the base last", shares_right, is_right=True)


# ---- 4.4
def cosine_mean_of_two(middle, a, b):
    cosine = torch.nn.functional.cosine_similarity
    return (cosine(middle, a, dim=1) + cosine(middle, b, dim=1)) / 2


def cosine_baseline(middle, a, b):
    return torch.nn.functional.cosine_similarity(a, b, dim=1)


def cosine_along_samples(middle, a, b):
    return torch.nn.functional.cosine_similarity(middle, (a + b) / 2, dim=0)


def cosine_difference(middle, a, b):
    return torch.nn.functional.cosine_similarity(middle, a - b, dim=1)


def cosine_unit_vectors_added(middle, a, b):
    unit = torch.nn.functional.normalize
    return torch.nn.functional.cosine_similarity(middle, unit(a, dim=1) + unit(b, dim=1), dim=1)


def cosine_dot_only(middle, a, b):
    return (middle * (a + b) / 2).sum(dim=1)


def cosine_root_forgotten(middle, a, b):
    mean = (a + b) / 2
    return (middle * mean).sum(dim=1) / ((middle**2).sum(dim=1) * (mean**2).sum(dim=1))


def cosine_averaged(middle, a, b):
    return torch.nn.functional.cosine_similarity(middle, (a + b) / 2, dim=1).mean()


def cosine_flattened(middle, a, b):
    return torch.nn.functional.cosine_similarity(middle.flatten(), ((a + b) / 2).flatten(), dim=0)


def cosine_centred(middle, a, b):
    mean = (a + b) / 2
    middle = middle - middle.mean(dim=1, keepdim=True)
    mean = mean - mean.mean(dim=1, keepdim=True)
    return torch.nn.functional.cosine_similarity(middle, mean, dim=1)


def cosine_distance(middle, a, b):
    return 1 - torch.nn.functional.cosine_similarity(middle, (a + b) / 2, dim=1)


def cosine_norm_of_parts(middle, a, b):
    mean = (a + b) / 2
    length = (a.norm(dim=1) + b.norm(dim=1)) / 2
    return (middle * mean).sum(dim=1) / (middle.norm(dim=1) * length)


def cosine_norm_of_everything(middle, a, b):
    mean = (a + b) / 2
    return (middle * mean).sum(dim=1) / (middle.norm() * mean.norm())


def cosine_minus_baseline(middle, a, b):
    cosine = torch.nn.functional.cosine_similarity
    return cosine(middle, (a + b) / 2, dim=1) - cosine(a, b, dim=1)


def cosine_precedence(middle, a, b):
    return torch.nn.functional.cosine_similarity(middle, a + b / 2, dim=1)


def cosine_right(middle, a, b):
    left = middle / torch.linalg.vector_norm(middle, dim=-1, keepdim=True)
    right = a + b
    right = right / torch.linalg.vector_norm(right, dim=-1, keepdim=True)
    return torch.einsum("sw,sw->s", left, right)


add("4.4", "the mean of the cosines with a and with b", cosine_mean_of_two)
add("4.4", "the baseline", cosine_baseline)
add("4.4", "wrong axis, one number per unit", cosine_along_samples)
add("4.4", "the right-hand side is a difference", cosine_difference)
add("4.4", "scales a and b to length 1 before they are averaged", cosine_unit_vectors_added)
add("4.4", "the inner product, not divided by the lengths", cosine_dot_only)
add("4.4", "divides by the squared lengths, forgot the root", cosine_root_forgotten)
add("4.4", "averages over the samples", cosine_averaged)
add("4.4", "flattens the features", cosine_flattened)
add("4.4", "subtracts the mean first, as in a correlation", cosine_centred)
add("4.4", "the distance instead of the cosine", cosine_distance)
add("4.4", "the length of the average is the average of the lengths", cosine_norm_of_parts)
add("4.4", "norm() without an axis", cosine_norm_of_everything)
add("4.4", "takes the baseline off", cosine_minus_baseline)
add("4.4", "forgot the brackets in (a + b) / 2", cosine_precedence)
add("4.4", "unit vectors and an einsum, the factor 1/2 drops out", cosine_right, is_right=True)


# ---- 4.5
def slope_swapped(x, y):
    return float(np.polyfit(np.log(y), np.log(x), 1)[0])


def slope_only_y_logged(x, y):
    return float(np.polyfit(x, np.log(y), 1)[0])


def slope_only_x_logged(x, y):
    return float(np.polyfit(np.log(x), y, 1)[0])


def slope_without_logs(x, y):
    return float(np.polyfit(x, y, 1)[0])


def slope_intercept(x, y):
    return float(np.polyfit(np.log(x), np.log(y), 1)[1])


def slope_first_and_last(x, y):
    return float(np.log(y[-1] / y[0]) / np.log(x[-1] / x[0]))


def slope_through_origin(x, y):
    lx, ly = np.log(x), np.log(y)
    return float((lx * ly).sum() / (lx**2).sum())


def slope_mean_ratio(x, y):
    return float(np.mean(np.log(y) / np.log(x)))


def slope_mean_of_steps(x, y):
    return float(np.mean(np.diff(np.log(y)) / np.diff(np.log(x))))


def slope_correlation(x, y):
    return float(np.corrcoef(np.log(x), np.log(y))[0, 1])


def slope_mixed_degrees_of_freedom(x, y):
    lx, ly = np.log(x), np.log(y)
    return float(np.cov(lx, ly)[0, 1] / np.var(lx))


def slope_mixed_bases(x, y):
    return float(np.polyfit(np.log10(x), np.log(y), 1)[0])


def slope_over_spread(x, y):
    lx, ly = np.log(x), np.log(y)
    return float(np.mean((lx - lx.mean()) * (ly - ly.mean())) / lx.std())


def slope_ratio_of_spreads(x, y):
    return float(np.std(np.log(y)) / np.std(np.log(x)))


def slope_right(x, y):
    design = np.stack([np.ones(len(x)), np.log2(x)], axis=1)
    (_, slope), *_ = np.linalg.lstsq(design, np.log2(y), rcond=None)
    return float(slope)


add("4.5", "fits x against y", slope_swapped)
add("4.5", "only y gets a logarithm", slope_only_y_logged)
add("4.5", "only x gets a logarithm", slope_only_x_logged)
add("4.5", "the plain slope, without logarithms", slope_without_logs)
add("4.5", "takes the second number of polyfit", slope_intercept)
add("4.5", "the slope from the first point to the last", slope_first_and_last)
add("4.5", "forgot the constant c: a line through the origin", slope_through_origin)
add("4.5", "p is log y / log x, averaged", slope_mean_ratio)
add("4.5", "the mean of the slopes from point to point", slope_mean_of_steps)
add("4.5", "the correlation on logarithmic axes", slope_correlation)
add("4.5", "np.cov divides by n - 1, np.var by n", slope_mixed_degrees_of_freedom)
add("4.5", "log10 of x and natural log of y", slope_mixed_bases)
add("4.5", "divides by the standard deviation, forgot the square", slope_over_spread)
add("4.5", "the ratio of the two spreads", slope_ratio_of_spreads)
add("4.5", "a design matrix, lstsq, and base 2", slope_right, is_right=True)


# ---- 4.7
def negated_base_minus_finetuned(at_base, at_finetuned):
    return at_base - at_finetuned


def negated_delta(at_base, at_finetuned):
    return at_finetuned - at_base


def negated_sign_of_delta(at_base, at_finetuned):
    delta = at_base - at_finetuned
    return at_base - delta


def negated_roles_swapped(at_base, at_finetuned):
    return 2 * at_finetuned - at_base


def negated_all(at_base, at_finetuned):
    return -at_finetuned


def negated_half(at_base, at_finetuned):
    return at_base - (at_finetuned - at_base) / 2


def negated_twice(at_base, at_finetuned):
    return at_base - 2 * (at_finetuned - at_base)


def negated_mean_shift(at_base, at_finetuned):
    return at_base - (at_finetuned - at_base).mean(dim=0)


def negated_clamped(at_base, at_finetuned):
    return (2 * at_base - at_finetuned).clamp(min=0)


def negated_absolute(at_base, at_finetuned):
    return at_base - (at_finetuned - at_base).abs()


def negated_average(at_base, at_finetuned):
    return (at_base + at_finetuned) / 2


def negated_turned_round(at_base, at_finetuned):
    return at_finetuned - at_base - at_base


def negated_right(at_base, at_finetuned):
    return torch.lerp(at_base, at_finetuned, -1.0)


add("4.7", "Δ is the features of the edited network", negated_base_minus_finetuned)
add("4.7", "returns Δ", negated_delta)
add("4.7", "Δ is base minus finetuned", negated_sign_of_delta)
add("4.7", "the names of the two networks swapped", negated_roles_swapped)
add("4.7", "negation puts a minus before the features", negated_all)
add("4.7", "half of Δ, as in an average", negated_half)
add("4.7", "from +λ to -λ it is twice Δ", negated_twice)
add("4.7", "Δ is one shift for all samples, the mean", negated_mean_shift)
add("4.7", "features after a ReLU cannot be negative", negated_clamped)
add("4.7", "Δ is a distance", negated_absolute)
add("4.7", "the base lies halfway between the two", negated_average)
add("4.7", "Δ minus the features of the base, the difference turned round", negated_turned_round)
add("4.7", "goes the step from base to finetuned backwards", negated_right, is_right=True)


# ---- 5.1
def permuted_inverse(weight, bias, weight_above, permutation):
    inverse = torch.argsort(torch.as_tensor(permutation))
    return weight[inverse], bias[inverse], weight_above[:, inverse]


def permuted_above_inverse(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    return weight[permutation], bias[permutation], weight_above[:, torch.argsort(permutation)]


def permuted_above_untouched(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    return weight[permutation], bias[permutation], weight_above


def permuted_bias_forgotten(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    return weight[permutation], bias, weight_above[:, permutation]


def permuted_weight_forgotten(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    return weight, bias[permutation], weight_above[:, permutation]


def permuted_bias_inverse(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    return weight[permutation], bias[torch.argsort(permutation)], weight_above[:, permutation]


def permuted_scattered_weight(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    new_weight = torch.empty_like(weight)
    new_bias = torch.empty_like(bias)
    new_weight[permutation] = weight
    new_bias[permutation] = bias
    return new_weight, new_bias, weight_above[:, permutation]


def permuted_above_twice(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    above = weight_above[:, permutation]
    return weight[permutation], bias[permutation], above[:, permutation]


def permuted_counted_from_one(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation) - 1
    return weight[permutation], bias[permutation], weight_above[:, permutation]


def permuted_returned_in_other_order(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    return weight[permutation], weight_above[:, permutation], bias[permutation]


def permuted_overwriting(weight, bias, weight_above, permutation):
    weight, bias, weight_above = weight.clone(), bias.clone(), weight_above.clone()
    for i, old in enumerate(permutation):
        weight[i] = weight[old]
        bias[i] = bias[old]
        weight_above[:, i] = weight_above[:, old]
    return weight, bias, weight_above


def permuted_above_rows(weight, bias, weight_above, permutation):
    permutation = torch.as_tensor(permutation)
    return weight[permutation], bias[permutation], weight_above[permutation]


def permuted_only_last(weight, bias, weight_above, permutation):
    return weight, bias, weight_above[:, torch.as_tensor(permutation)]


def permuted_right(weight, bias, weight_above, permutation):
    matrix = torch.zeros(len(bias), len(bias), dtype=weight.dtype)
    for place, old in enumerate(permutation):
        matrix[place, old] = 1
    return matrix @ weight, matrix @ bias, weight_above @ matrix.T


add("5.1", "permutation[i] is the place to which unit i moves", permuted_inverse)
add("5.1", "the layer above has to undo it, so the inverse", permuted_above_inverse)
add("5.1", "the layer above stays as it is", permuted_above_untouched)
add("5.1", "forgot the bias", permuted_bias_forgotten)
add("5.1", "forgot the weight", permuted_weight_forgotten)
add("5.1", "the inverse for the bias", permuted_bias_inverse)
add("5.1", "new[permutation] = old below, old[:, permutation] above", permuted_scattered_weight)
add("5.1", "permutes the columns above twice", permuted_above_twice)
add("5.1", "units count from 1", permuted_counted_from_one)
add("5.1", "returns both weights first, and the bias last", permuted_returned_in_other_order)
add("5.1", "moves the rows one at a time, reading from rows already overwritten", permuted_overwriting)
add("5.1", "the rows of the layer above (runs only with enough outputs)", permuted_above_rows)
add("5.1", "only the layer above has to change", permuted_only_last)
add("5.1", "a permutation matrix P: P W, P b, W' P^T", permuted_right, is_right=True)

# ---- 5.4
add("5.4", "axes transposed: inputs first", {
    "layers.0.weight": (None, "layer 1"), "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 1", "layer 2"), "layers.1.bias": ("layer 2",),
    "layers.2.weight": ("layer 2", None), "layers.2.bias": (None,),
})
add("5.4", "the middle weight the wrong way round", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 1", "layer 2"), "layers.1.bias": ("layer 2",),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": (None,),
})
add("5.4", "only the rows are permuted, never the columns above", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 2", None), "layers.1.bias": ("layer 2",),
    "layers.2.weight": (None, None), "layers.2.bias": (None,),
})
add("5.4", "biases are not permuted", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": (None,),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": (None,),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": (None,),
})
add("5.4", "a bias belongs to the layer below", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": (None,),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 1",),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": ("layer 2",),
})
add("5.4", "the last bias moves with the last hidden layer", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 2",),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": ("layer 2",),
})
add("5.4", "the outputs are a layer 3", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 2",),
    "layers.2.weight": ("layer 3", "layer 2"), "layers.2.bias": ("layer 3",),
})
add("5.4", "layer numbers as in the names of the weights, from 0", {
    "layers.0.weight": ("layer 0", None), "layers.0.bias": ("layer 0",),
    "layers.1.weight": ("layer 1", "layer 0"), "layers.1.bias": ("layer 1",),
    "layers.2.weight": (None, "layer 1"), "layers.2.bias": (None,),
})
add("5.4", "forgot the comma, so that a bias gets a plain string", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1"),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 2"),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": (None),
})
add("5.4", "layers.1 is layer 1, and its units are its inputs", {
    "layers.0.weight": (None, None), "layers.0.bias": (None,),
    "layers.1.weight": ("layer 1", None), "layers.1.bias": ("layer 1",),
    "layers.2.weight": ("layer 2", "layer 1"), "layers.2.bias": ("layer 2",),
})
add("5.4", "a bias has two entries like a weight", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1", None),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 2", None),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": (None, None),
})
add("5.4", "the last bias is not permuted, so it is left out", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 2",),
    "layers.2.weight": (None, "layer 2"),
})

hidden_layers = [None, "layer 1", "layer 2", None]
plan_by_loop = {}
for depth, (below, above) in enumerate(zip(hidden_layers, hidden_layers[1:])):
    plan_by_loop[f"layers.{depth}.bias"] = (above,)
    plan_by_loop[f"layers.{depth}.weight"] = (above, below)
add("5.4", "made by a loop, biases first", plan_by_loop, is_right=True)


# ---- 5.2
def gain_sum(features_a, features_b):
    return features_a.T @ features_b


def gain_over_units(features_a, features_b):
    return features_a.T @ features_b / features_a.shape[1]


def gain_transposed(features_a, features_b):
    return features_b.T @ features_a / len(features_a)


def gain_covariance(features_a, features_b):
    a = features_a - features_a.mean(dim=0)
    b = features_b - features_b.mean(dim=0)
    return a.T @ b / len(a)


def gain_correlation(features_a, features_b):
    a = (features_a - features_a.mean(dim=0)) / (features_a.std(dim=0) + 1e-8)
    b = (features_b - features_b.mean(dim=0)) / (features_b.std(dim=0) + 1e-8)
    return a.T @ b / len(a)


def gain_n_minus_one(features_a, features_b):
    return features_a.T @ features_b / (len(features_a) - 1)


def gain_outer_of_means(features_a, features_b):
    return torch.outer(features_a.mean(dim=0), features_b.mean(dim=0))


def gain_share_on_together(features_a, features_b):
    on_a = (features_a > 0).to(features_a.dtype)
    on_b = (features_b > 0).to(features_b.dtype)
    return on_a.T @ on_b / len(on_a)


def gain_cosine(features_a, features_b):
    a = torch.nn.functional.normalize(features_a, dim=0)
    b = torch.nn.functional.normalize(features_b, dim=0)
    return a.T @ b


def gain_over_samples_on(features_a, features_b):
    together = ((features_a[:, :, None] > 0) & (features_b[:, None, :] > 0)).sum(dim=0)
    return features_a.T @ features_b / together.clamp(min=1)


def gain_over_all_entries(features_a, features_b):
    return features_a.T @ features_b / features_a.numel()


def gain_elementwise(features_a, features_b):
    return (features_a * features_b).mean(dim=0)


def gain_one_network(features_a, features_b):
    return features_a.T @ features_a / len(features_a)


def gain_distance(features_a, features_b):
    return ((features_a[:, :, None] - features_b[:, None, :]) ** 2).mean(dim=0)


def gain_right(features_a, features_b):
    return (features_a.unsqueeze(2) * features_b.unsqueeze(1)).mean(dim=0)


add("5.2", "the sum over the samples", gain_sum)
add("5.2", "divides by the number of units", gain_over_units)
add("5.2", "the second network along the rows", gain_transposed)
add("5.2", "the covariance", gain_covariance)
add("5.2", "the correlation", gain_correlation)
add("5.2", "divides by n - 1", gain_n_minus_one)
add("5.2", "the mean of a product is the product of the means", gain_outer_of_means)
add("5.2", "the share of the images on which both are on", gain_share_on_together)
add("5.2", "scales each unit to length 1", gain_cosine)
add("5.2", "the mean only over images on which both are on", gain_over_samples_on)
add("5.2", "the mean divides by all entries", gain_over_all_entries)
add("5.2", "unit i with unit i only", gain_elementwise)
add("5.2", "typed the first network twice", gain_one_network)
add("5.2", "the mean squared difference", gain_distance)
add("5.2", "all products in one big tensor, then the mean", gain_right, is_right=True)


# ---- 5.6
def second_order_without_half(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) * d @ hessian_vector_product(f, theta_0, d))


def second_order_alpha_squared(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha**2 / 2 * d @ hessian_vector_product(f, theta_0, d))


def second_order_only_alpha(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha / 2 * d @ hessian_vector_product(f, theta_0, d))


def second_order_alpha_half(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(d @ hessian_vector_product(f, theta_0, d)) / 8


def second_order_plain_taylor(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(d @ hessian_vector_product(f, theta_0, d)) / 2


def second_order_sign(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(-alpha * (1 - alpha) / 2 * d @ hessian_vector_product(f, theta_0, d))


def second_order_from_base(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_0
    return float(alpha * (1 - alpha) / 2 * d @ hessian_vector_product(f, theta_0, d))


def second_order_two_task_vectors(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    tau_i, tau_j = theta_i - theta_0, theta_j - theta_0
    return float(alpha * (1 - alpha) / 2 * tau_i @ hessian_vector_product(f, theta_0, tau_j))


def second_order_at_merged(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    merged = alpha * theta_i + (1 - alpha) * theta_j
    return float(alpha * (1 - alpha) / 2 * d @ hessian_vector_product(f, merged, d))


def second_order_at_theta_i(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) / 2 * d @ hessian_vector_product(f, theta_i, d))


def second_order_arguments_swapped(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) / 2 * d @ hessian_vector_product(f, d, theta_0))


def second_order_length(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) / 2 * hessian_vector_product(f, theta_0, d).norm())


def second_order_sum(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) / 2 * hessian_vector_product(f, theta_0, d).sum())


def second_order_mean(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) / 2 * (d * hessian_vector_product(f, theta_0, d)).mean())


def second_order_unit_direction(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    d = d / d.norm()
    return float(alpha * (1 - alpha) / 2 * d @ hessian_vector_product(f, theta_0, d))


def second_order_right(f, theta_0, theta_i, theta_j, alpha):
    d = theta_i - theta_j
    t = torch.zeros((), dtype=theta_0.dtype, requires_grad=True)
    (slope,) = torch.autograd.grad(f(theta_0 + t * d), t, create_graph=True)
    (bend,) = torch.autograd.grad(slope, t)
    return alpha * (1 - alpha) * bend.item() / 2


add("5.6", "forgot the half", second_order_without_half)
add("5.6", "α squared over 2, as in Taylor with step α", second_order_alpha_squared)
add("5.6", "forgot the factor 1 - α", second_order_only_alpha)
add("5.6", "α is a half", second_order_alpha_half)
add("5.6", "the plain second-order term of Taylor", second_order_plain_taylor)
add("5.6", "a minus in front", second_order_sign)
add("5.6", "d goes from the base", second_order_from_base)
add("5.6", "the two task vectors on the two sides of the Hessian", second_order_two_task_vectors)
add("5.6", "the Hessian at the merged model", second_order_at_merged)
add("5.6", "the Hessian at θ_i", second_order_at_theta_i)
add("5.6", "the arguments theta and v swapped", second_order_arguments_swapped)
add("5.6", "the length of Hd, as a number is asked for", second_order_length)
add("5.6", "sums Hd, forgot the d on the left", second_order_sum)
add("5.6", "the mean instead of the sum in the inner product", second_order_mean)
add("5.6", "d scaled to length 1", second_order_unit_direction)
add("5.6", "the second derivative along the line θ_0 + t d", second_order_right, is_right=True)


# ---- 5.7
def power_one_less(product, start, steps):
    v = start / start.norm()
    length = product(v).norm()
    for _ in range(1, steps):
        v = product(v)
        length = v.norm()
        v = v / length
    return float(length)


def power_one_more(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
        v = v / v.norm()
    return float(product(v).norm())


def power_never_scaled(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
    return float(v.norm())


def power_root_of_last(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
    return float(v.norm() ** (1 / steps))


def power_start_not_scaled(product, start, steps):
    v = start
    for _ in range(steps):
        v = product(v)
        length = v.norm()
        v = v / length
    return float(length)


def power_rayleigh(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
        v = v / v.norm()
    return float(v @ product(v))


def power_last_product_with_vector(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        w = product(v)
        value = v @ w
        v = w / w.norm()
    return float(abs(value))


def power_root_forgotten(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
        length = v @ v
        v = v / v.norm()
    return float(length)


def power_scaled_by_square(product, start, steps):
    v = start / (start @ start)
    for _ in range(steps):
        v = product(v)
        length = v.norm()
        v = v / (v @ v)
    return float(length)


def power_largest_entry(product, start, steps):
    v = start / start.abs().max()
    for _ in range(steps):
        v = product(v)
        length = v.abs().max()
        v = v / length
    return float(length)


def power_length_is_l1(product, start, steps):
    v = start / start.abs().sum()
    for _ in range(steps):
        v = product(v)
        length = v.abs().sum()
        v = v / length
    return float(length)


def power_mean_of_lengths(product, start, steps):
    v, lengths = start / start.norm(), []
    for _ in range(steps):
        v = product(v)
        lengths.append(float(v.norm()))
        v = v / v.norm()
    return float(np.mean(lengths))


def power_all_lengths(product, start, steps):
    v, lengths = start / start.norm(), []
    for _ in range(steps):
        v = product(v)
        lengths.append(v.norm())
        v = v / lengths[-1]
    return torch.stack(lengths)


def power_always_from_start(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        length = product(v).norm()
    return float(length)


def power_noted_after_scaling(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
        v = v / v.norm()
        length = v.norm()
    return float(length)


def power_right(product, start, steps):
    direction, length = start, torch.linalg.vector_norm(start)
    while steps > 0:
        direction = product(direction / length)
        length = direction.square().sum().sqrt()
        steps -= 1
    return length.item()


add("5.7", "a loop over range(1, steps), one step less", power_one_less)
add("5.7", "measures once more after the loop", power_one_more)
add("5.7", "scales only the start", power_never_scaled)
add("5.7", "scales only the start, and takes the root in the end", power_root_of_last)
add("5.7", "forgot to scale the start (tells only when steps is 1)", power_start_not_scaled)
add("5.7", "the Rayleigh quotient of the last vector", power_rayleigh)
add("5.7", "v times Hv is the length", power_last_product_with_vector)
add("5.7", "forgot the root of the length", power_root_forgotten)
add("5.7", "divides by the squared length", power_scaled_by_square)
add("5.7", "the largest entry as length", power_largest_entry)
add("5.7", "the sum of the absolute values as length", power_length_is_l1)
add("5.7", "the mean of the lengths", power_mean_of_lengths)
add("5.7", "returns all lengths noted", power_all_lengths)
add("5.7", "v is never replaced", power_always_from_start)
add("5.7", "notes the length after the scaling", power_noted_after_scaling)
add("5.7", "scales at the beginning of each step", power_right, is_right=True)


# ---- 6.1
def one_step_uphill(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return eta * gradient(f, theta)


def one_step_without_eta(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return -gradient(f, theta)


def one_step_new_weights(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return theta - eta * gradient(f, theta)


def one_step_unit_gradient(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    g = gradient(f, theta)
    return -eta * g / g.norm()


def one_step_sign_gradient(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return -eta * torch.sign(gradient(f, theta))


def one_step_divided_by_parameters(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return -eta * gradient(f, theta) / len(theta)


def one_step_gradient_at_the_end(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    stepped = theta - eta * gradient(f, theta)
    return -eta * gradient(f, stepped)


def one_step_two_steps(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    new = theta
    for _ in range(2):
        new = new - eta * gradient(f, new)
    return new - theta


def one_step_divided_by_eta(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return -gradient(f, theta) / eta


def one_step_from_zero(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return -eta * gradient(f, torch.zeros_like(theta))


def one_step_uphill_weights(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return theta + eta * gradient(f, theta)


def one_step_half(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return -eta / 2 * gradient(f, theta)


def one_step_right(f, theta, eta):
    weights = theta.detach().clone().requires_grad_(True)
    optimiser = torch.optim.SGD([weights], lr=float(eta))
    f(weights).backward()
    optimiser.step()
    return weights.detach() - theta


add("6.1", "forgot the minus (or start minus end)", one_step_uphill)
add("6.1", "the task vector is minus the gradient", one_step_without_eta)
add("6.1", "returns the new weights", one_step_new_weights)
add("6.1", "a step of length eta along the gradient", one_step_unit_gradient)
add("6.1", "a step of eta in each weight", one_step_sign_gradient)
add("6.1", "the mean gradient, divided by the number of weights", one_step_divided_by_parameters)
add("6.1", "the gradient at the place it arrives at", one_step_gradient_at_the_end)
add("6.1", "one step too many", one_step_two_steps)
add("6.1", "the task vector is measured per step size", one_step_divided_by_eta)
add("6.1", "the expansion is around zero", one_step_from_zero)
add("6.1", "new weights, and uphill", one_step_uphill_weights)
add("6.1", "a half as for a quadratic loss", one_step_half)
add("6.1", "one step of torch's SGD, then the difference", one_step_right, is_right=True)


# ---- 6.2
def mismatch_sign(gradients, alpha):
    return gradients - alpha * gradients.sum(dim=0)


def mismatch_mean(gradients, alpha):
    return alpha * gradients.mean(dim=0) - gradients


def mismatch_without_alpha(gradients, alpha):
    return gradients.sum(dim=0) - gradients


def mismatch_alpha_on_both(gradients, alpha):
    return alpha * (gradients.sum(dim=0) - gradients)


def mismatch_others_only(gradients, alpha):
    others = gradients.sum(dim=0, keepdim=True) - gradients
    return alpha * others - gradients


def mismatch_wrong_axis(gradients, alpha):
    return alpha * gradients.sum(dim=1, keepdim=True) - gradients


def mismatch_own_only(gradients, alpha):
    return alpha * gradients - gradients


def mismatch_one_over_tasks(gradients, alpha):
    return gradients.mean(dim=0) - gradients


def mismatch_plus(gradients, alpha):
    return -alpha * gradients.sum(dim=0) - gradients


def mismatch_alpha_on_own(gradients, alpha):
    return gradients.sum(dim=0) - alpha * gradients


def mismatch_running(gradients, alpha):
    return alpha * gradients.cumsum(dim=0) - gradients


def mismatch_everything_summed(gradients, alpha):
    return alpha * gradients.sum() - gradients


def mismatch_one_minus_alpha(gradients, alpha):
    return alpha * gradients.sum(dim=0) - (1 - alpha) * gradients


def mismatch_summed_over_tasks(gradients, alpha):
    return (alpha * gradients.sum(dim=0) - gradients).sum(dim=0)


def mismatch_right(gradients, alpha):
    tasks = len(gradients)
    mixing = torch.full((tasks, tasks), float(alpha), dtype=gradients.dtype)
    return (mixing - torch.eye(tasks, dtype=gradients.dtype)) @ gradients


add("6.2", "joint training minus the task alone", mismatch_sign)
add("6.2", "the mean of the gradients instead of the sum", mismatch_mean)
add("6.2", "forgot α", mismatch_without_alpha)
add("6.2", "α before both terms", mismatch_alpha_on_both)
add("6.2", "the sum runs over the other tasks", mismatch_others_only)
add("6.2", "sums along the parameters", mismatch_wrong_axis)
add("6.2", "the joint step of a task is α times its own", mismatch_own_only)
add("6.2", "α is one over the number of tasks", mismatch_one_over_tasks)
add("6.2", "both steps have a minus, and both keep it", mismatch_plus)
add("6.2", "α at the wrong term", mismatch_alpha_on_own)
add("6.2", "cumsum for the sum: tasks up to t", mismatch_running)
add("6.2", "sum() without an axis", mismatch_everything_summed)
add("6.2", "the task alone has the weight 1 - α", mismatch_one_minus_alpha)
add("6.2", "one r for all tasks together", mismatch_summed_over_tasks)
add("6.2", "the matrix α 1 1^T - I times the gradients", mismatch_right, is_right=True)


# ---- 6.3
def order_upside_down(eta_a, error_a, eta_b, error_b):
    return float(np.log(eta_a / eta_b) / np.log(error_a / error_b))


def order_sign(eta_a, error_a, eta_b, error_b):
    return float(np.log(error_b / error_a) / np.log(eta_a / eta_b))


def order_without_logs(eta_a, error_a, eta_b, error_b):
    return float((error_a / error_b) / (eta_a / eta_b))


def order_halving(eta_a, error_a, eta_b, error_b):
    return float(np.log2(error_a / error_b))


def order_plain_slope(eta_a, error_a, eta_b, error_b):
    return float((error_a - error_b) / (eta_a - eta_b))


def order_one_point(eta_a, error_a, eta_b, error_b):
    return float(np.log(error_a) / np.log(eta_a))


def order_mean_of_points(eta_a, error_a, eta_b, error_b):
    return float((np.log(error_a) / np.log(eta_a) + np.log(error_b) / np.log(eta_b)) / 2)


def order_log_of_ratio(eta_a, error_a, eta_b, error_b):
    return float(np.log((error_a / error_b) / (eta_a / eta_b)))


def order_one_log(eta_a, error_a, eta_b, error_b):
    return float(np.log(error_a / error_b) / (eta_a - eta_b))


def order_rounded(eta_a, error_a, eta_b, error_b):
    return float(round(np.log(error_a / error_b) / np.log(eta_a / eta_b)))


def order_one_less(eta_a, error_a, eta_b, error_b):
    return float(np.log(error_a / error_b) / np.log(eta_a / eta_b) - 1)


def order_mixed_bases(eta_a, error_a, eta_b, error_b):
    return float(np.log(error_a / error_b) / np.log10(eta_a / eta_b))


def order_tenths(eta_a, error_a, eta_b, error_b):
    return float(np.log10(error_a) - np.log10(error_b))


def order_whole_division(eta_a, error_a, eta_b, error_b):
    return float(np.log(error_a / error_b) // np.log(eta_a / eta_b))


def order_right(eta_a, error_a, eta_b, error_b):
    return math.log(error_b / error_a, eta_b / eta_a)


add("6.3", "the fraction upside down", order_upside_down)
add("6.3", "a and b swapped in the numerator only", order_sign)
add("6.3", "ratio by ratio, without logarithms", order_without_logs)
add("6.3", "the step size was halved", order_halving)
add("6.3", "the slope on plain axes", order_plain_slope)
add("6.3", "p is log error / log eta at one point", order_one_point)
add("6.3", "log error / log eta, the mean of both points", order_mean_of_points)
add("6.3", "the logarithm of the ratio of the ratios", order_log_of_ratio)
add("6.3", "logarithms for the errors only", order_one_log)
add("6.3", "an order is a whole number, so round", order_rounded)
add("6.3", "the order of a method is one less than that of its error", order_one_less)
add("6.3", "log and log10 mixed", order_mixed_bases)
add("6.3", "the step sizes are a factor of 10 apart", order_tenths)
add("6.3", "typed // for /", order_whole_division)
add("6.3", "the logarithm to the base of the ratio of the steps", order_right, is_right=True)
