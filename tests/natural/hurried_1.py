"""Answers to exercises 0.1 to 3.5, written in a hurry from the tasks' texts alone, by somebody who had seen no check.
(exercise, what its author thought, answer, whether it is right)."""
# ruff: noqa: F811
import copy
import math

import numpy as np
import torch
import torch.nn.functional as F

ANSWERS = []


def add(number, thought, answer, is_right=False):
    ANSWERS.append((number, thought, answer, is_right))


# ---- 0.1
def between_right(a, b, alpha):
    return b + (a - b) * alpha


def between_swapped(a, b, alpha):
    return (1 - alpha) * a + alpha * b


def between_full_b(a, b, alpha):
    return alpha * a + b


def between_from_a(a, b, alpha):
    return a + alpha * (a - b)


def between_halved(a, b, alpha):
    return (alpha * a + (1 - alpha) * b) / 2


def between_midpoint(a, b, alpha):
    return (a + b) / 2


def between_both_alpha(a, b, alpha):
    return alpha * (a + b)


def between_minus(a, b, alpha):
    return alpha * a - (1 - alpha) * b


def between_step_from_b_wrong_way(a, b, alpha):
    return b + alpha * (b - a)


def between_no_start(a, b, alpha):
    return alpha * (a - b)


def between_brackets(a, b, alpha):
    return alpha * a + 1 - alpha * b


def between_forgot_b(a, b, alpha):
    return alpha * a + (1 - alpha)


def between_root_shares(a, b, alpha):
    return alpha ** 0.5 * a + (1 - alpha) ** 0.5 * b


add("0.1", "start in b and go the share alpha of the way to a", between_right, is_right=True)
add("0.1", "alpha = 0 is where the line starts, so at a", between_swapped)
add("0.1", "a gets the share alpha and is added to b", between_full_b)
add("0.1", "start at a and go alpha times the difference", between_from_a)
add("0.1", "it is an average of two, so divide by two", between_halved)
add("0.1", "between means in the middle", between_midpoint)
add("0.1", "both get alpha", between_both_alpha)
add("0.1", "a difference must have a minus", between_minus)
add("0.1", "start at b, and the direction is b - a", between_step_from_b_wrong_way)
add("0.1", "the share alpha of the way from b to a (and forgot to add b)", between_no_start)
add("0.1", "the formula typed without its brackets", between_brackets)
add("0.1", "forgot to type b after the bracket", between_forgot_b)
add("0.1", "the squares of the shares must sum to 1 to keep the length", between_root_shares)


# ---- 1.1
def interpolate_right(a, b, alpha):
    mixed = copy.deepcopy(dict(a))
    for name in mixed:
        if torch.is_floating_point(mixed[name]):
            mixed[name] = b[name] + alpha * (mixed[name] - b[name])
    return mixed


def interpolate_swapped(a, b, alpha):
    return {name: (1 - alpha) * a[name] + alpha * b[name] if a[name].is_floating_point() else a[name].clone()
            for name in a}


def interpolate_everything(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] for name in a}


def interpolate_and_round(a, b, alpha):
    return {name: (alpha * a[name] + (1 - alpha) * b[name]).to(a[name].dtype) for name in a}


def interpolate_counters_of_b(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] if a[name].is_floating_point() else b[name].clone()
            for name in a}


def interpolate_into_a(a, b, alpha):
    for name in a:
        if a[name].is_floating_point():
            a[name] = alpha * a[name] + (1 - alpha) * b[name]
    return a


def interpolate_shallow_copy(a, b, alpha):
    out = dict(a)
    for name in out:
        if out[name].is_floating_point():
            out[name].mul_(alpha).add_((1 - alpha) * b[name])
    return out


def interpolate_no_counters(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] for name in a if a[name].is_floating_point()}


def interpolate_weights_only(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] if name.endswith(("weight", "bias")) else a[name].clone()
            for name in a}


def interpolate_by_name(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] if not name.endswith("num_batches_tracked")
            else a[name].clone() for name in a}


def interpolate_scalars_from_a(a, b, alpha):
    return {name: a[name].clone() if a[name].ndim == 0 else alpha * a[name] + (1 - alpha) * b[name] for name in a}


def interpolate_int64_only(a, b, alpha):
    return {name: a[name].clone() if a[name].dtype == torch.int64 else alpha * a[name] + (1 - alpha) * b[name]
            for name in a}


def interpolate_float32_only(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] if a[name].dtype == torch.float32 else a[name].clone()
            for name in a}


def interpolate_midpoint(a, b, alpha):
    return {name: (a[name] + b[name]) / 2 if a[name].is_floating_point() else a[name].clone() for name in a}


def interpolate_full_b(a, b, alpha):
    return {name: alpha * a[name] + b[name] if a[name].is_floating_point() else a[name].clone() for name in a}


def interpolate_counters_add_up(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] if a[name].is_floating_point() else a[name] + b[name]
            for name in a}


def interpolate_counters_restart(a, b, alpha):
    return {name: alpha * a[name] + (1 - alpha) * b[name] if a[name].is_floating_point()
            else torch.zeros_like(a[name]) for name in a}


def interpolate_counter_scaled(a, b, alpha):
    return {name: alpha * a[name] + ((1 - alpha) * b[name] if b[name].is_floating_point() else 0) for name in a}


add("1.1", "copy a, and move each float tensor the way from b to a", interpolate_right, is_right=True)
add("1.1", "alpha moves from a to b", interpolate_swapped)
add("1.1", "one comprehension over all names; overlooked the counters", interpolate_everything)
add("1.1", "average all, and cast the counters back to whole numbers", interpolate_and_round)
add("1.1", "the counters come from b", interpolate_counters_of_b)
add("1.1", "write into a and return it", interpolate_into_a)
add("1.1", "dict(a) is a copy, so in-place operations are safe", interpolate_shallow_copy)
add("1.1", "don't average counters: leave them out", interpolate_no_counters)
add("1.1", "only weights and biases are averaged, the running statistics come from a", interpolate_weights_only)
add("1.1", "counters are called num_batches_tracked", interpolate_by_name)
add("1.1", "counters are the tensors without dimensions", interpolate_scalars_from_a)
add("1.1", "an integer is an int64", interpolate_int64_only)
add("1.1", "weights are float32, and the rest are counters", interpolate_float32_only)
add("1.1", "the average of two networks is the midpoint", interpolate_midpoint)
add("1.1", "forgot the share of b", interpolate_full_b)
add("1.1", "the merged network has seen the batches of both", interpolate_counters_add_up)
add("1.1", "a new network begins counting at zero", interpolate_counters_restart)
add("1.1", "for a counter only the part of a counts (but still times alpha)", interpolate_counter_scaled)


# ---- 1.2
def _array(x):
    return np.asarray(x, dtype=float)


def barrier_right(losses, alphas):
    pairs = list(zip(losses, alphas, strict=True))
    start, end = pairs[0][0], pairs[-1][0]
    return max(float(loss - (start + alpha * (end - start))) for loss, alpha in pairs)


def barrier_at_highest_loss(losses, alphas):
    k = int(np.argmax(_array(losses)))
    return float(losses[k] - alphas[k] * losses[-1] - (1 - alphas[k]) * losses[0])


def barrier_ends_swapped(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float((losses - alphas * losses[0] - (1 - alphas) * losses[-1]).max())


def barrier_above_mean_of_ends(losses, alphas):
    losses = _array(losses)
    return float(losses.max() - (losses[0] + losses[-1]) / 2)


def barrier_max_minus_min(losses, alphas):
    losses = _array(losses)
    return float(losses.max() - losses.min())


def barrier_absolute(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float(np.abs(losses - alphas * losses[-1] - (1 - alphas) * losses[0]).max())


def barrier_above_worse_end(losses, alphas):
    losses = _array(losses)
    return float(losses.max() - max(losses[0], losses[-1]))


def barrier_in_the_middle(losses, alphas):
    k = len(losses) // 2
    return float(losses[k] - alphas[k] * losses[-1] - (1 - alphas[k]) * losses[0])


def barrier_mean(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float((losses - alphas * losses[-1] - (1 - alphas) * losses[0]).mean())


def barrier_even_steps(losses, alphas):
    losses = _array(losses)
    return float((losses - np.linspace(losses[0], losses[-1], len(losses))).max())


def barrier_inner_only(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float((losses - alphas * losses[-1] - (1 - alphas) * losses[0])[1:-1].max())


def barrier_its_alpha(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float(alphas[np.argmax(losses - alphas * losses[-1] - (1 - alphas) * losses[0])])


def barrier_relative(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    line = alphas * losses[-1] + (1 - alphas) * losses[0]
    return float(((losses - line) / line).max())


def barrier_loss_at_index_1(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float((losses - alphas * losses[1] - (1 - alphas) * losses[0]).max())


def barrier_below_line(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float((alphas * losses[-1] + (1 - alphas) * losses[0] - losses).max())


def barrier_bracket_sign(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float((losses - alphas * losses[-1] + (1 - alphas) * losses[0]).max())


def barrier_own_losses(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float((losses - alphas * losses - (1 - alphas) * losses[0]).max())


def barrier_above_mean_of_line(losses, alphas):
    losses, alphas = _array(losses), _array(alphas)
    return float(losses.max() - np.mean(alphas * losses[-1] + (1 - alphas) * losses[0]))


add("1.2", "walk through the pairs and take the largest height above the chord", barrier_right, is_right=True)
add("1.2", "look where the loss is largest, and take the height there", barrier_at_highest_loss)
add("1.2", "theta_i is the first network, so its loss is losses[0]", barrier_ends_swapped)
add("1.2", "the barrier is the highest loss over the average of the two ends", barrier_above_mean_of_ends)
add("1.2", "the barrier is the highest minus the lowest loss", barrier_max_minus_min)
add("1.2", "the largest distance from the line, in absolute value", barrier_absolute)
add("1.2", "how much higher than the worse of the two networks", barrier_above_worse_end)
add("1.2", "the barrier is measured in the middle", barrier_in_the_middle)
add("1.2", "the average height above the line", barrier_mean)
add("1.2", "the alphas are equally spaced anyway", barrier_even_steps)
add("1.2", "the ends are zero by definition, so leave them out", barrier_inner_only)
add("1.2", "max over alpha: return the alpha", barrier_its_alpha)
add("1.2", "relative to the loss on the line", barrier_relative)
add("1.2", "losses[0] is the loss at 0 and losses[1] that at 1", barrier_loss_at_index_1)
add("1.2", "line minus loss", barrier_below_line)
add("1.2", "opened the bracket and kept a plus", barrier_bracket_sign)
add("1.2", "the loss at alpha, not that of network A, in the second term", barrier_own_losses)
add("1.2", "the highest loss minus the average of the line over the given alphas", barrier_above_mean_of_line)


# ---- 1.3
def cosine_gap_right(features_alpha, features_i, features_j, alpha):
    mixed = torch.lerp(features_j, features_i, alpha)
    u = features_alpha / features_alpha.norm(dim=-1, keepdim=True)
    v = mixed / mixed.norm(dim=-1, keepdim=True)
    return 1 - torch.einsum("sw,sw->s", u, v)


def cosine_gap_swapped(features_alpha, features_i, features_j, alpha):
    mixed = (1 - alpha) * features_i + alpha * features_j
    return 1 - F.cosine_similarity(features_alpha, mixed, dim=1)


def cosine_gap_dim0(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - F.cosine_similarity(features_alpha, mixed, dim=0)


def cosine_gap_flat(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - F.cosine_similarity(features_alpha.flatten(), mixed.flatten(), dim=0)


def cosine_gap_no_one(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return F.cosine_similarity(features_alpha, mixed, dim=1)


def cosine_gap_sign(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return F.cosine_similarity(features_alpha, mixed, dim=1) - 1


def cosine_gap_mixed_cosines(features_alpha, features_i, features_j, alpha):
    cosine = (alpha * F.cosine_similarity(features_alpha, features_i, dim=1)
              + (1 - alpha) * F.cosine_similarity(features_alpha, features_j, dim=1))
    return 1 - cosine


def cosine_gap_dot(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - (features_alpha * mixed).sum(1)


def cosine_gap_no_root(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - (features_alpha * mixed).sum(1) / ((features_alpha ** 2).sum(1) * (mixed ** 2).sum(1))


def cosine_gap_whole_norm(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - (features_alpha * mixed).sum(1) / (features_alpha.norm() * mixed.norm())


def cosine_gap_unit_first(features_alpha, features_i, features_j, alpha):
    mixed = alpha * F.normalize(features_i, dim=1) + (1 - alpha) * F.normalize(features_j, dim=1)
    return 1 - F.cosine_similarity(features_alpha, mixed, dim=1)


def cosine_gap_midpoint(features_alpha, features_i, features_j, alpha):
    return 1 - F.cosine_similarity(features_alpha, (features_i + features_j) / 2, dim=1)


def cosine_gap_centred(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    mixed = mixed - mixed.mean(0)
    return 1 - F.cosine_similarity(features_alpha - features_alpha.mean(0), mixed, dim=1)


def cosine_gap_l1(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - (features_alpha * mixed).sum(1) / (features_alpha.abs().sum(1) * mixed.abs().sum(1))


def cosine_gap_angle(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - torch.acos(F.cosine_similarity(features_alpha, mixed, dim=1).clamp(-1, 1)) / math.pi


def cosine_gap_a_only(features_alpha, features_i, features_j, alpha):
    return 1 - F.cosine_similarity(features_alpha, alpha * features_i, dim=1)


def cosine_gap_mean(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return (1 - F.cosine_similarity(features_alpha, mixed, dim=1)).mean()


def cosine_gap_product_norm(features_alpha, features_i, features_j, alpha):
    product = features_alpha * (alpha * features_i + (1 - alpha) * features_j)
    return 1 - product.sum(1) / product.norm(dim=1)


def cosine_gap_mean_product(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - (features_alpha * mixed).mean(1) / (features_alpha.norm(dim=1) * mixed.norm(dim=1))


def cosine_gap_absolute(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - F.cosine_similarity(features_alpha, mixed, dim=1).abs()


def cosine_gap_full_b(features_alpha, features_i, features_j, alpha):
    return 1 - F.cosine_similarity(features_alpha, alpha * features_i + features_j, dim=1)


add("1.3", "unit vectors and an einsum, sample by sample", cosine_gap_right, is_right=True)
add("1.3", "alpha goes from A to B", cosine_gap_swapped)
add("1.3", "the samples are axis 0, so dim=0", cosine_gap_dim0)
add("1.3", "flatten both, and take the cosine of the two long vectors", cosine_gap_flat)
add("1.3", "returned the cosine and forgot the 1 -", cosine_gap_no_one)
add("1.3", "cosine - 1", cosine_gap_sign)
add("1.3", "mix the two cosines rather than the features", cosine_gap_mixed_cosines)
add("1.3", "cosine is the scalar product", cosine_gap_dot)
add("1.3", "forgot the root in the two norms", cosine_gap_no_root)
add("1.3", ".norm() without a dim", cosine_gap_whole_norm)
add("1.3", "only directions matter, so normalise A and B before mixing them", cosine_gap_unit_first)
add("1.3", "the mixed features are the average of both", cosine_gap_midpoint)
add("1.3", "subtract the mean over the samples first", cosine_gap_centred)
add("1.3", "norm is the sum of absolute values", cosine_gap_l1)
add("1.3", "the angle, scaled to 0..1, not its cosine", cosine_gap_angle)
add("1.3", "forgot the part of B", cosine_gap_a_only)
add("1.3", "one number, averaged over the samples", cosine_gap_mean)
add("1.3", "divide by the norm of the product", cosine_gap_product_norm)
add("1.3", "mean over the width rather than sum", cosine_gap_mean_product)
add("1.3", "a gap has no sign, so the absolute cosine", cosine_gap_absolute)
add("1.3", "forgot the share of B", cosine_gap_full_b)


# ---- 1.4
def coef_right(a, b):
    return torch.linalg.vecdot(a, b) / torch.linalg.vecdot(b, b)


def coef_swapped(a, b):
    return b.norm(dim=1) * F.cosine_similarity(a, b, dim=1) / a.norm(dim=1)


def coef_one_norm(a, b):
    return (a * b).sum(1) / b.norm(dim=1)


def coef_cosine(a, b):
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))


def coef_no_cosine(a, b):
    return a.norm(dim=1) / b.norm(dim=1)


def coef_dim0(a, b):
    return (a * b).sum(0) / (b * b).sum(0)


def coef_whole_norms(a, b):
    return a.norm() * F.cosine_similarity(a, b, dim=1) / b.norm()


def coef_squared_norms(a, b):
    return (a ** 2).sum(1) * F.cosine_similarity(a, b, dim=1) / (b ** 2).sum(1)


def coef_squared_norms_throughout(a, b):
    size_a, size_b = (a ** 2).sum(1), (b ** 2).sum(1)
    return size_a * ((a * b).sum(1) / (size_a * size_b)) / size_b


def coef_mean(a, b):
    return ((a * b).sum(1) / (b * b).sum(1)).mean()


def coef_l1(a, b):
    return a.abs().sum(1) * F.cosine_similarity(a, b, dim=1) / b.abs().sum(1)


def coef_mean_product(a, b):
    return (a * b).mean(1) / b.norm(dim=1) ** 2


def coef_as_gap(a, b):
    return 1 - (a * b).sum(1) / (b * b).sum(1)


def coef_dot(a, b):
    return (a * b).sum(1)


def coef_elementwise(a, b):
    return (a / b).mean(1)


def coef_one_for_all(a, b):
    return ((a * b).sum() / (b * b).sum()).expand(len(a))


def coef_cosine_below(a, b):
    return a.norm(dim=1) / (F.cosine_similarity(a, b, dim=1) * b.norm(dim=1))


def coef_means_for_norms(a, b):
    return a.mean(1) * F.cosine_similarity(a, b, dim=1) / b.mean(1)


def coef_gap_for_cosine(a, b):
    return a.norm(dim=1) * (1 - F.cosine_similarity(a, b, dim=1)) / b.norm(dim=1)


add("1.4", "the norm of a cancels: a.b over b.b", coef_right, is_right=True)
add("1.4", "swapped a and b in the ratio", coef_swapped)
add("1.4", "the projection on b: a.b / |b|; forgot one norm", coef_one_norm)
add("1.4", "that is the cosine", coef_cosine)
add("1.4", "how long: the ratio of the lengths", coef_no_cosine)
add("1.4", "one number per sample is axis 0", coef_dim0)
add("1.4", ".norm() without a dim", coef_whole_norms)
add("1.4", "forgot the root of the two norms outside the cosine", coef_squared_norms)
add("1.4", "a norm is the sum of the squares, throughout", coef_squared_norms_throughout)
add("1.4", "averaged over the samples", coef_mean)
add("1.4", "norm is the sum of absolute values", coef_l1)
add("1.4", "mean of the products, but the norm of a sum", coef_mean_product)
add("1.4", "like the gap, so 1 minus it", coef_as_gap)
add("1.4", "|a| cos |b|: multiplied by the norm of b rather than divided", coef_dot)
add("1.4", "divide unit by unit and average", coef_elementwise)
add("1.4", "one coefficient for the whole batch, repeated", coef_one_for_all)
add("1.4", "the cosine below the line", coef_cosine_below)
add("1.4", "the double bars are the mean size", coef_means_for_norms)
add("1.4", "reused the cosine gap for the cosine", coef_gap_for_cosine)


# ---- 1.5
def _place(share):
    return tuple(share.stack(place=("pair", "layer")).idxmax("place").item())


def worst_right(gap, own):
    share = (gap / own).transpose("pair", "layer", "alpha")
    p, q, _ = np.unravel_index(np.nanargmax(share.values), share.shape)
    return share["pair"].values[p].item(), share["layer"].values[q].item()


def worst_absolute(gap, own):
    return _place(gap.max("alpha"))


def worst_mean_alpha(gap, own):
    return _place(gap.mean("alpha") / own)


def worst_times(gap, own):
    return _place(gap.max("alpha") * own)


def worst_smallest(gap, own):
    return tuple((gap.max("alpha") / own).stack(place=("pair", "layer")).idxmin("place").item())


def worst_index(gap, own):
    share = (gap.max("alpha") / own).transpose("pair", "layer")
    return tuple(int(k) for k in np.unravel_index(int(share.values.argmax()), share.shape))


def worst_order(gap, own):
    return tuple((gap.max("alpha") / own).stack(place=("layer", "pair")).idxmax("place").item())


def worst_own_over_pairs(gap, own):
    return _place(gap.max("alpha") / own.mean("pair"))


def worst_own_over_layers(gap, own):
    return _place(gap.max("alpha") / own.sum("layer"))


def worst_one_after_the_other(gap, own):
    share = gap.max("alpha") / own
    return share.mean("layer").idxmax("pair").item(), share.mean("pair").idxmax("layer").item()


def worst_in_the_middle(gap, own):
    return _place(gap.sel(alpha=0.5, method="nearest") / own)


def worst_difference(gap, own):
    return _place(own - gap.max("alpha"))


def worst_pair_by_gap(gap, own):
    pair = gap.max(("alpha", "layer")).idxmax("pair").item()
    share = gap.max("alpha") / own
    return pair, share.sel(pair=pair).idxmax("layer").item()


def worst_divmod(gap, own):
    share = (gap.max("alpha") / own).transpose("pair", "layer")
    layer, pair = divmod(int(share.values.argmax()), share.sizes["pair"])
    return share["pair"].values[pair].item(), share["layer"].values[layer].item()


def worst_best_alpha(gap, own):
    return _place(gap.min("alpha") / own)


def worst_three(gap, own):
    return tuple((gap / own).stack(place=("pair", "alpha", "layer")).idxmax("place").item())


def worst_share_of_all_gaps(gap, own):
    most = gap.max("alpha")
    return _place(most / most.sum("layer"))


def worst_squared(gap, own):
    return _place(gap.max("alpha") / own ** 2)


add("1.5", "the plain array, argmax over all three axes, and the labels of two", worst_right, is_right=True)
add("1.5", "the largest gap; overlooked the share", worst_absolute)
add("1.5", "averaged over alpha", worst_mean_alpha)
add("1.5", "share: times the distance", worst_times)
add("1.5", "idxmin: the worst is the least", worst_smallest)
add("1.5", "returned the positions, not the names", worst_index)
add("1.5", "stacked (layer, pair)", worst_order)
add("1.5", "the distance is that of the layer, averaged over pairs", worst_own_over_pairs)
add("1.5", "a share of the distance over all layers", worst_own_over_layers)
add("1.5", "the pair that is worst on average, and the layer that is worst on average", worst_one_after_the_other)
add("1.5", "the worst alpha is in the middle", worst_in_the_middle)
add("1.5", "what is left of the distance rather than the share", worst_difference)
add("1.5", "first the pair with the largest gap, then its layer with the largest share", worst_pair_by_gap)
add("1.5", "argmax of the flat array, and divmod by the number of pairs", worst_divmod)
add("1.5", "took the smallest gap over alpha", worst_best_alpha)
add("1.5", "gave the alpha along too", worst_three)
add("1.5", "the share that a layer has of the pair's gaps", worst_share_of_all_gaps)
add("1.5", "divided by the squared distance", worst_squared)


# ---- 2.1
def channel_statistics_right(h):
    rows = h.transpose(0, 1).flatten(1)
    mean = rows.sum(1) / rows.shape[1]
    return mean, ((rows - mean[:, None]) ** 2).sum(1) / rows.shape[1]


def channel_statistics_unbiased(h):
    return h.mean((0, 2, 3)), h.var((0, 2, 3))


def channel_statistics_std(h):
    return h.mean((0, 2, 3)), h.std((0, 2, 3), unbiased=False)


def channel_statistics_per_pixel(h):
    return h.mean((0, 2, 3)), h.var(0, unbiased=False).mean((1, 2))


def channel_statistics_per_image(h):
    return h.mean((0, 2, 3)), h.var((2, 3), unbiased=False).mean(0)


def channel_statistics_of_image_means(h):
    pooled = h.mean((2, 3))
    return pooled.mean(0), pooled.var(0, unbiased=False)


def channel_statistics_by_samples(h):
    mean = h.sum((0, 2, 3)) / len(h)
    return mean, ((h - mean[:, None, None]) ** 2).sum((0, 2, 3)) / len(h)


def channel_statistics_layer_norm(h):
    return h.mean((1, 2, 3)), h.var((1, 2, 3), unbiased=False)


def channel_statistics_second_moment(h):
    return h.mean((0, 2, 3)), (h ** 2).mean((0, 2, 3))


def channel_statistics_global_mean(h):
    return h.mean((0, 2, 3)), ((h - h.mean()) ** 2).mean((0, 2, 3))


def channel_statistics_reshaped(h):
    rows = h.reshape(h.shape[1], -1)
    return rows.mean(1), rows.var(1, unbiased=False)


def channel_statistics_reshaped_last(h):
    rows = h.reshape(-1, h.shape[1])
    return rows.mean(0), rows.var(0, unbiased=False)


def channel_statistics_mean_not_squared(h):
    mean = h.mean((0, 2, 3))
    return mean, (h ** 2).mean((0, 2, 3)) - mean


def channel_statistics_var_first(h):
    return torch.var_mean(h, dim=(0, 2, 3), correction=0)


def channel_statistics_sum(h):
    mean = h.mean((0, 2, 3), keepdim=True)
    return mean.flatten(), ((h - mean) ** 2).sum((0, 2, 3))


def channel_statistics_eps(h):
    return h.mean((0, 2, 3)), h.var((0, 2, 3), unbiased=False) + 1e-5


def channel_statistics_absolute(h):
    mean = h.mean((0, 2, 3), keepdim=True)
    return mean.flatten(), (h - mean).abs().mean((0, 2, 3))


def channel_statistics_channels_last(h):
    return h.mean((0, 1, 2)), h.var((0, 1, 2), unbiased=False)


def channel_statistics_running(h):
    return 0.1 * h.mean((0, 2, 3)), 0.9 + 0.1 * h.var((0, 2, 3), unbiased=False)


def channel_statistics_first_image(h):
    return h[0].mean((1, 2)), h[0].var((1, 2), unbiased=False)


add("2.1", "one row per channel, then by hand", channel_statistics_right, is_right=True)
add("2.1", ".var() with its default, which divides by the count - 1", channel_statistics_unbiased)
add("2.1", "the standard deviation", channel_statistics_std)
add("2.1", "variance over the samples for every pixel, then averaged", channel_statistics_per_pixel)
add("2.1", "variance inside each image, then averaged over the images", channel_statistics_per_image)
add("2.1", "average each image first, then mean and variance over images", channel_statistics_of_image_means)
add("2.1", "the count is the number of samples", channel_statistics_by_samples)
add("2.1", "for each sample over all the rest, as LayerNorm does", channel_statistics_layer_norm)
add("2.1", "mean of squares; forgot to subtract the mean", channel_statistics_second_moment)
add("2.1", "subtracted the mean of everything", channel_statistics_global_mean)
add("2.1", "reshape to (channels, -1) without permuting", channel_statistics_reshaped)
add("2.1", "reshape to (-1, channels) without permuting", channel_statistics_reshaped_last)
add("2.1", "E[x^2] - E[x]: forgot the square", channel_statistics_mean_not_squared)
add("2.1", "torch.var_mean returns what I need (in the other order)", channel_statistics_var_first)
add("2.1", "forgot to divide the squares by the count", channel_statistics_sum)
add("2.1", "BatchNorm adds 1e-5 to the variance", channel_statistics_eps)
add("2.1", "the mean absolute distance for the variance", channel_statistics_absolute)
add("2.1", "the channel is the last axis", channel_statistics_channels_last)
add("2.1", "the running statistics after one batch, with momentum 0.1", channel_statistics_running)
add("2.1", "an image has one mean per channel: took h[0]", channel_statistics_first_image)


# ---- 2.2
def mixed_variance_right(var_i, var_j, correlation, alpha):
    s, t = alpha * var_i ** 0.5, (1 - alpha) * var_j ** 0.5
    return (s + t) ** 2 - 2 * (1 - correlation) * s * t


def mixed_variance_no_two(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
            + alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5)


def mixed_variance_no_root(var_i, var_j, correlation, alpha):
    return alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + 2 * alpha * (1 - alpha) * correlation * var_i * var_j


def mixed_variance_shares_not_squared(var_i, var_j, correlation, alpha):
    return alpha * var_i + (1 - alpha) * var_j + 2 * alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5


def mixed_variance_no_cross(var_i, var_j, correlation, alpha):
    return alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j


def mixed_variance_minus(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
            - 2 * alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5)


def mixed_variance_swapped(var_i, var_j, correlation, alpha):
    return ((1 - alpha) ** 2 * var_i + alpha ** 2 * var_j
            + 2 * alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5)


def mixed_variance_covariance(var_i, var_j, correlation, alpha):
    return alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + 2 * alpha * (1 - alpha) * correlation


def mixed_variance_correlation_squared(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
            + 2 * alpha * (1 - alpha) * correlation ** 2 * (var_i * var_j) ** 0.5)


def mixed_variance_cross_without_shares(var_i, var_j, correlation, alpha):
    return alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + 2 * correlation * (var_i * var_j) ** 0.5


def mixed_variance_std(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
            + 2 * alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5) ** 0.5


def mixed_variance_arithmetic(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
            + alpha * (1 - alpha) * correlation * (var_i + var_j))


def mixed_variance_cross_squared(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j
            + 2 * alpha ** 2 * (1 - alpha) ** 2 * correlation * (var_i * var_j) ** 0.5)


def mixed_variance_as_if_correlated(var_i, var_j, correlation, alpha):
    return (alpha * var_i ** 0.5 + (1 - alpha) * var_j ** 0.5) ** 2


def mixed_variance_correlation_outside(var_i, var_j, correlation, alpha):
    return correlation * (alpha * var_i ** 0.5 + (1 - alpha) * var_j ** 0.5) ** 2


def mixed_variance_linear(var_i, var_j, correlation, alpha):
    return alpha * var_i + (1 - alpha) * var_j


def mixed_variance_given_std(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i ** 2 + (1 - alpha) ** 2 * var_j ** 2
            + 2 * alpha * (1 - alpha) * correlation * var_i * var_j)


def mixed_variance_one_minus(var_i, var_j, correlation, alpha):
    return (alpha ** 2 * var_i + (1 - alpha ** 2) * var_j
            + 2 * alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5)


add("2.2", "the square of the sum of standard deviations, less what lacks in correlation", mixed_variance_right,
    is_right=True)
add("2.2", "forgot the 2 of the binomial", mixed_variance_no_two)
add("2.2", "covariance is correlation times the variances", mixed_variance_no_root)
add("2.2", "did not square the shares", mixed_variance_shares_not_squared)
add("2.2", "variances of sums add up (no cross term)", mixed_variance_no_cross)
add("2.2", "the second binomial: a minus", mixed_variance_minus)
add("2.2", "alpha belongs to B", mixed_variance_swapped)
add("2.2", "correlation is the same as E[ab]", mixed_variance_covariance)
add("2.2", "squared the correlation along with the rest", mixed_variance_correlation_squared)
add("2.2", "the shares are only in the squares, not in the cross term", mixed_variance_cross_without_shares)
add("2.2", "took the root at the end", mixed_variance_std)
add("2.2", "the mean of the two variances in the cross term", mixed_variance_arithmetic)
add("2.2", "all shares are squared", mixed_variance_cross_squared)
add("2.2", "standard deviations mix linearly", mixed_variance_as_if_correlated)
add("2.2", "standard deviations mix linearly, times the correlation", mixed_variance_correlation_outside)
add("2.2", "variances mix like the features", mixed_variance_linear)
add("2.2", "took the given variances for standard deviations", mixed_variance_given_std)
add("2.2", "1 - alpha ** 2 without brackets", mixed_variance_one_minus)


# ---- 2.4
add("2.4", "20,000 is 40 classes of 500 training images; 40 classes have 4,000 test images", 20_000 * 100 // 500)
# its author took it for right; but a task is a split of five classes, so that a pair has 1,000 test images
add("2.4", "the quote says so", 20_000)
add("2.4", "the whole test set of CIFAR-100: 100 classes of 100", 10_000)
add("2.4", "20,000 is what one task has in training, so a pair has 80 classes", 8_000)
add("2.4", "the number for one task: 20 classes of 100", 2_000)
add("2.4", "training and test images together: 40 classes of 600", 24_000)
add("2.4", "a sixth of the images are test images, so a sixth of 20,000", 20_000 / 6)
add("2.4", "one test image for five training images: took them off, 20,000 - 4,000", 16_000)
add("2.4", "two classes of 100", 200)
add("2.4", "20,000 over 500 is 40, and I stopped there", 40)
add("2.4", "half the classes per task: 50 of 100", 5_000)
add("2.4", "20,000 test images at 100 each are 200 classes, of 500 images each", 100_000)


# ---- 2.5
def paired_right(right_a, right_b):
    difference = np.asarray(right_a).astype(float) - np.asarray(right_b).astype(float)
    return float(difference.mean()), float(difference.std(ddof=1) / math.sqrt(len(difference)))


def paired_unpaired(right_a, right_b):
    a, b = right_a.double(), right_b.double()
    return (a.mean() - b.mean()).item(), ((a.var() + b.var()) / len(a)).sqrt().item()


def paired_xor(right_a, right_b):
    difference = (right_a != right_b).double()
    return difference.mean().item(), (difference.std() / len(difference) ** 0.5).item()


def paired_swapped(right_a, right_b):
    difference = right_b.double() - right_a.double()
    return difference.mean().item(), (difference.std() / len(difference) ** 0.5).item()


def paired_std_only(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return difference.mean().item(), difference.std().item()


def paired_over_n(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return difference.mean().item(), (difference.std() / len(difference)).item()


def paired_variance(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return difference.mean().item(), (difference.var() / len(difference) ** 0.5).item()


def paired_per_cent(right_a, right_b):
    difference = 100 * (right_a.double() - right_b.double())
    return difference.mean().item(), (difference.std() / len(difference) ** 0.5).item()


def paired_count(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return difference.sum().item(), (difference.std() / len(difference) ** 0.5).item()


def paired_absolute(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return abs(difference.mean().item()), (difference.std() / len(difference) ** 0.5).item()


def paired_first_only(right_a, right_b):
    a, b = right_a.double(), right_b.double()
    return (a.mean() - b.mean()).item(), (a.std() / len(a) ** 0.5).item()


def paired_difference_of_std(right_a, right_b):
    a, b = right_a.double(), right_b.double()
    return (a.mean() - b.mean()).item(), ((a.std() - b.std()) / len(a) ** 0.5).item()


def paired_sum_of_std(right_a, right_b):
    a, b = right_a.double(), right_b.double()
    return (a.mean() - b.mean()).item(), ((a.std() + b.std()) / len(a) ** 0.5).item()


def paired_relative(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return (difference.mean() / right_b.double().mean()).item(), (difference.std() / len(difference) ** 0.5).item()


def paired_disagreements_only(right_a, right_b):
    difference = right_a.double() - right_b.double()
    apart = difference[difference != 0]
    return difference.mean().item(), (apart.std() / len(apart) ** 0.5).item()


def paired_root_mean_square(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return difference.mean().item(), ((difference ** 2).mean().sqrt() / len(difference) ** 0.5).item()


def paired_interval(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return difference.mean().item(), 1.96 * (difference.std() / len(difference) ** 0.5).item()


def paired_bytes(right_a, right_b):
    difference = (right_a.byte() - right_b.byte()).double()
    return difference.mean().item(), (difference.std() / len(difference) ** 0.5).item()


def paired_wins(right_a, right_b):
    wins = (right_a & ~right_b).double()
    return wins.mean().item(), (wins.std() / len(wins) ** 0.5).item()


def paired_absolute_spread(right_a, right_b):
    difference = right_a.double() - right_b.double()
    return difference.mean().item(), (difference.abs().std() / len(difference) ** 0.5).item()


def paired_z(right_a, right_b):
    difference = right_a.double() - right_b.double()
    mean = difference.mean().item()
    return mean, mean / (difference.std() / len(difference) ** 0.5).item()


add("2.5", "in numpy, image by image", paired_right, is_right=True)
add("2.5", "two independent accuracies: add their variances", paired_unpaired)
add("2.5", "the difference is where they are not equal", paired_xor)
add("2.5", "b minus a", paired_swapped)
add("2.5", "the standard deviation is the standard error", paired_std_only)
add("2.5", "divided by the number of images, without root", paired_over_n)
add("2.5", "the variance for the standard deviation", paired_variance)
add("2.5", "accuracies are in per cent", paired_per_cent)
add("2.5", "by how many images: the sum", paired_count)
add("2.5", "the size of the difference, never negative", paired_absolute)
add("2.5", "the standard error of the first network's accuracy", paired_first_only)
add("2.5", "the difference of the two standard deviations", paired_difference_of_std)
add("2.5", "the errors add up", paired_sum_of_std)
add("2.5", "more accurate relative to the second", paired_relative)
add("2.5", "only images on which they differ count for the error", paired_disagreements_only)
add("2.5", "the mean is about 0, so the root of the mean square", paired_root_mean_square)
add("2.5", "times 1.96 for a 95% interval", paired_interval)
add("2.5", "booleans cannot be subtracted, so .byte()", paired_bytes)
add("2.5", "the share of images that a gets and b does not", paired_wins)
add("2.5", "the spread of the differences' sizes", paired_absolute_spread)
add("2.5", "difference, and how many standard errors that is", paired_z)


# ---- 2.6
def last_batch_right(images, batch_size):
    return len(range(images)[(images - 1) // batch_size * batch_size:])


def last_batch_remainder(images, batch_size):
    return images % batch_size


def last_batch_number(images, batch_size):
    return images // batch_size


def last_batch_missing(images, batch_size):
    return batch_size - images % batch_size


def last_batch_number_up(images, batch_size):
    return math.ceil(images / batch_size)


def last_batch_off_by_one(images, batch_size):
    return (images - 1) % batch_size


def last_batch_or_images(images, batch_size):
    return images % batch_size or images


def last_batch_round(images, batch_size):
    return abs(images - round(images / batch_size) * batch_size)


def last_batch_even(images, batch_size):
    return images // math.ceil(images / batch_size)


def last_batch_full(images, batch_size):
    return min(images, batch_size)


def last_batch_swapped(images, batch_size):
    return batch_size % images


def last_batch_one_too_few(images, batch_size):
    return images - (images // batch_size - 1) * batch_size


def last_batch_share(images, batch_size):
    return images / batch_size - images // batch_size


def last_batch_from_one(images, batch_size):
    return images % batch_size + 1


def last_batch_or_one(images, batch_size):
    return images % batch_size or 1


def last_batch_if_divisible(images, batch_size):
    return images // batch_size if images % batch_size == 0 else images % batch_size


add("2.6", "slice the images behind the last start", last_batch_right, is_right=True)
add("2.6", "the remainder (and 0 when it divides)", last_batch_remainder)
add("2.6", "the number of full batches", last_batch_number)
add("2.6", "what is missing to a full batch", last_batch_missing)
add("2.6", "the number of batches", last_batch_number_up)
add("2.6", "the last image has the index images - 1", last_batch_off_by_one)
add("2.6", "if it divides, all images are in one", last_batch_or_images)
add("2.6", "round for the number of batches", last_batch_round)
add("2.6", "the loader makes batches of about equal size", last_batch_even)
add("2.6", "batches are full unless there are too few images", last_batch_full)
add("2.6", "the operands of % swapped", last_batch_swapped)
add("2.6", "all but the last full batch taken off", last_batch_one_too_few)
add("2.6", "as a share of a batch", last_batch_share)
add("2.6", "counting starts at 0, so one more", last_batch_from_one)
add("2.6", "at least one image must remain", last_batch_or_one)
add("2.6", "if it divides, then images over batch_size", last_batch_if_divisible)


# ---- 3.1
def average_right(states, shares):
    out = {}
    for name, first in states[0].items():
        if first.is_floating_point():
            stacked = torch.stack([state[name] for state in states])
            out[name] = torch.tensordot(torch.as_tensor(shares, dtype=stacked.dtype), stacked, dims=1)
        else:
            out[name] = first.clone()
    return out


def _weighted(states, shares, name):
    return sum(share * state[name] for state, share in zip(states, shares, strict=False))


def average_plain(states, shares):
    return {name: sum(state[name] for state in states) / len(states) if tensor.is_floating_point() else tensor.clone()
            for name, tensor in states[0].items()}


def average_everything(states, shares):
    return {name: _weighted(states, shares, name) for name in states[0]}


def average_and_cast(states, shares):
    return {name: _weighted(states, shares, name).to(states[0][name].dtype) for name in states[0]}


def average_last_counters(states, shares):
    return {name: _weighted(states, shares, name) if tensor.is_floating_point() else tensor.clone()
            for name, tensor in states[-1].items()}


def average_divided_again(states, shares):
    return {name: _weighted(states, shares, name) / len(states) if tensor.is_floating_point() else tensor.clone()
            for name, tensor in states[0].items()}


def average_running(states, shares):
    out = {name: tensor.clone() for name, tensor in states[0].items()}
    for state, share in zip(states[1:], shares[1:], strict=True):
        for name in out:
            if out[name].is_floating_point():
                out[name] = share * state[name] + (1 - share) * out[name]
    return out


def average_first_two(states, shares):
    return {name: shares[0] * tensor + (1 - shares[0]) * states[1][name] if tensor.is_floating_point()
            else tensor.clone() for name, tensor in states[0].items()}


def average_first_whole(states, shares):
    out = {name: tensor.clone() for name, tensor in states[0].items()}
    for state, share in zip(states[1:], shares[1:], strict=True):
        for name in out:
            if out[name].is_floating_point():
                out[name] = out[name] + share * state[name]
    return out


def average_first_twice(states, shares):
    out = {name: tensor.clone() for name, tensor in states[0].items()}
    for state, share in zip(states, shares, strict=True):
        for name in out:
            if out[name].is_floating_point():
                out[name] = out[name] + share * state[name]
    return out


def average_no_counters(states, shares):
    return {name: _weighted(states, shares, name) for name, tensor in states[0].items() if tensor.is_floating_point()}


def average_counters_add_up(states, shares):
    return {name: _weighted(states, shares, name) if tensor.is_floating_point()
            else sum(state[name] for state in states) for name, tensor in states[0].items()}


def average_shifted_shares(states, shares):
    return {name: _weighted(states[:1] + states[1:], shares[:1] + shares[:-1], name) if tensor.is_floating_point()
            else tensor.clone() for name, tensor in states[0].items()}


def average_by_name(states, shares):
    return {name: tensor.clone() if "num_batches_tracked" in name else _weighted(states, shares, name)
            for name, tensor in states[0].items()}


def average_int64_only(states, shares):
    return {name: tensor.clone() if tensor.dtype == torch.int64 else _weighted(states, shares, name)
            for name, tensor in states[0].items()}


def average_counter_of_largest(states, shares):
    most = max(range(len(shares)), key=lambda i: shares[i])
    return {name: _weighted(states, shares, name) if tensor.is_floating_point() else states[most][name].clone()
            for name, tensor in states[0].items()}


def average_softmax(states, shares):
    weights = torch.softmax(torch.as_tensor(shares, dtype=torch.float32), 0).tolist()
    return {name: _weighted(states, weights, name) if tensor.is_floating_point() else tensor.clone()
            for name, tensor in states[0].items()}


def average_reversed(states, shares):
    return {name: _weighted(states, list(reversed(shares)), name) if tensor.is_floating_point() else tensor.clone()
            for name, tensor in states[0].items()}


def average_into_first(states, shares):
    out = states[0]
    for name in out:
        if out[name].is_floating_point():
            out[name] *= shares[0]
            for state, share in zip(states[1:], shares[1:], strict=True):
                out[name] += share * state[name]
    return out


def average_scalars_from_first(states, shares):
    return {name: _weighted(states, shares, name) if tensor.ndim else tensor.clone()
            for name, tensor in states[0].items()}


def average_without_last(states, shares):
    return {name: sum(shares[i] * states[i][name] for i in range(len(states) - 1)) if tensor.is_floating_point()
            else tensor.clone() for name, tensor in states[0].items()}


add("3.1", "stack each tensor and contract it with the shares", average_right, is_right=True)
add("3.1", "an average is the sum over the number; overlooked the shares", average_plain)
add("3.1", "overlooked the counters", average_everything)
add("3.1", "average all, and cast the counters back", average_and_cast)
add("3.1", "the counters of the last state dict", average_last_counters)
add("3.1", "shares, and then also divided by the number", average_divided_again)
add("3.1", "mix in one network after the other with interpolate", average_running)
add("3.1", "two networks, as in chapter 1", average_first_two)
add("3.1", "begin with the first (without its share), add the others", average_first_whole)
add("3.1", "begin with a copy of the first, and add all of them", average_first_twice)
add("3.1", "leave the counters out", average_no_counters)
add("3.1", "the counters add up", average_counters_add_up)
add("3.1", "the shares one place off from the second network on", average_shifted_shares)
add("3.1", "counters are called num_batches_tracked", average_by_name)
add("3.1", "a whole number is an int64", average_int64_only)
add("3.1", "the counter of the network with the largest share", average_counter_of_largest)
add("3.1", "softmax makes the shares sum to 1", average_softmax)
add("3.1", "paired the shares with the networks in reverse", average_reversed)
add("3.1", "collect the sum in the first state dict (which it destroys)", average_into_first)
add("3.1", "counters are the tensors without dimensions", average_scalars_from_first)
add("3.1", "range(len - 1): the last one is lost", average_without_last)


# ---- 3.2
def ensemble_right(logits):
    return torch.einsum("msc->sc", logits) / logits.size(0)


def ensemble_sum(logits):
    return logits.sum(0)


def ensemble_probabilities(logits):
    return logits.softmax(-1).mean(0)


def ensemble_log_mean_probability(logits):
    return logits.softmax(-1).mean(0).log()


def ensemble_median(logits):
    return logits.median(0).values


def ensemble_max(logits):
    return logits.max(0).values


def ensemble_over_samples(logits):
    return logits.mean(1)


def ensemble_normalised(logits):
    return F.normalize(logits, dim=-1).mean(0)


def ensemble_votes(logits):
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).float().mean(0)


def ensemble_softmax_of_mean(logits):
    return logits.mean(0).softmax(-1)


def ensemble_mean_log_softmax(logits):
    return logits.log_softmax(-1).mean(0)


def ensemble_reshaped(logits):
    models, samples, classes = logits.shape
    return logits.reshape(samples, models, classes).mean(1)


def ensemble_most_confident(logits):
    best = logits.softmax(-1).amax(-1).argmax(0)
    return logits[best, torch.arange(logits.shape[1])]


def ensemble_wrong_count(logits):
    return logits.sum(0) / logits.shape[1]


def ensemble_classes(logits):
    return logits.mean(0).argmax(-1)


def ensemble_logsumexp(logits):
    return logits.logsumexp(0)


def ensemble_softmax_wrong_axis(logits):
    return (logits.softmax(0) * logits).sum(0)


def ensemble_last_two_axes(logits):
    return logits.mean(-1)


def ensemble_running(logits):
    out = logits[0]
    for one in logits[1:]:
        out = (out + one) / 2
    return out


add("3.2", "sum over the models by einsum, over their number", ensemble_right, is_right=True)
add("3.2", "added up the logits", ensemble_sum)
add("3.2", "averaged the probabilities", ensemble_probabilities)
add("3.2", "averaged the probabilities and took the log to have logits", ensemble_log_mean_probability)
add("3.2", "the median is more robust", ensemble_median)
add("3.2", "the largest logit of all models", ensemble_max)
add("3.2", "averaged over axis 1", ensemble_over_samples)
add("3.2", "make the logits equally long first", ensemble_normalised)
add("3.2", "let the models vote", ensemble_votes)
add("3.2", "averaged the logits and then a softmax", ensemble_softmax_of_mean)
add("3.2", "averaged the log probabilities", ensemble_mean_log_softmax)
add("3.2", "reshape to (samples, models, classes) in place of a permute", ensemble_reshaped)
add("3.2", "for each sample the model that is surest", ensemble_most_confident)
add("3.2", "divided by the wrong axis's length", ensemble_wrong_count)
add("3.2", "the classes that the ensemble predicts", ensemble_classes)
add("3.2", "logits are added up in the exponent", ensemble_logsumexp)
add("3.2", "a softmax over the models weights them", ensemble_softmax_wrong_axis)
add("3.2", "averaged over the last axis", ensemble_last_two_axes)
add("3.2", "average with the next one, again and again", ensemble_running)


# ---- 3.4
def first_layer_right(before):
    mean = torch.tensordot(torch.full((len(before),), 1 / len(before), dtype=before.dtype), before, dims=1)
    return (mean + mean.abs()) / 2


def first_layer_mean_of_features(before):
    return before.relu().mean(0)


def first_layer_no_relu(before):
    return before.mean(0)


def first_layer_sum(before):
    return before.sum(0).relu()


def first_layer_over_samples(before):
    return before.mean(1).relu()


def first_layer_max(before):
    return before.amax(0).relu()


def first_layer_median(before):
    return before.median(0).values.relu()


def first_layer_wrong_count(before):
    return (before.sum(0) / before.shape[1]).relu()


def first_layer_reshaped(before):
    models, samples, units = before.shape
    return before.reshape(samples, models, units).mean(1).relu()


def first_layer_rescaled(before):
    return before.mean(0).relu() * len(before) ** 0.5


def first_layer_absolute(before):
    return before.mean(0).abs()


def first_layer_gelu(before):
    return F.gelu(before.mean(0))


def first_layer_mean_of_active(before):
    return before.relu().sum(0) / (before > 0).sum(0).clamp(min=1)


def first_layer_majority(before):
    return before.mean(0) * ((before > 0).double().mean(0) > 0.5)


def first_layer_minimum(before):
    return before.mean(0).clamp(max=0)


def first_layer_mask_of_first(before):
    return before.mean(0) * (before[0] > 0)


def first_layer_relu_1(before):
    return before.mean(0).clamp(0, 1)


def first_layer_active_in_all(before):
    return before.mean(0) * (before > 0).all(0)


def first_layer_active_mask(before):
    return (before.mean(0) > 0).to(before.dtype)


add("3.4", "weigh by 1/k, and the ReLU as half of x + |x|", first_layer_right, is_right=True)
add("3.4", "average the features: the ReLU first", first_layer_mean_of_features)
add("3.4", "forgot the ReLU", first_layer_no_relu)
add("3.4", "sum, not mean", first_layer_sum)
add("3.4", "mean over axis 1", first_layer_over_samples)
add("3.4", "the largest of all networks", first_layer_max)
add("3.4", "the median", first_layer_median)
add("3.4", "divided by the number of samples", first_layer_wrong_count)
add("3.4", "reshape for a permute", first_layer_reshaped)
add("3.4", "averaging shrinks by the root of k, so repair it", first_layer_rescaled)
add("3.4", "ReLU makes everything positive: the absolute value", first_layer_absolute)
add("3.4", "another nonlinearity, GELU", first_layer_gelu)
add("3.4", "the mean of those which are active", first_layer_mean_of_active)
add("3.4", "active where most networks are active", first_layer_majority)
add("3.4", "clamp with the wrong end: max=0", first_layer_minimum)
add("3.4", "active where the first network is", first_layer_mask_of_first)
add("3.4", "ReLU is clamp(0, 1)", first_layer_relu_1)
add("3.4", "active where all networks are", first_layer_active_in_all)
add("3.4", "a feature is whether the unit is active", first_layer_active_mask)


# ---- 3.3
def _best_first(held_out):
    return sorted(range(len(held_out)), key=lambda i: -float(held_out[i]))


def greedy_soup_right(held_out, accuracy_of):
    queue = _best_first(held_out)
    soup = [queue.pop(0)]
    while queue:
        trial = [*soup, queue.pop(0)]
        if accuracy_of(trial) >= accuracy_of(soup):
            soup = trial
    return soup


def _greedy(order, held_out, accuracy_of):
    soup, best = [order[0]], float(held_out[order[0]])
    for i in order[1:]:
        accuracy = accuracy_of(soup + [i])
        if accuracy >= best:
            soup, best = soup + [i], accuracy
    return soup


def greedy_soup_ascending(held_out, accuracy_of):
    return _greedy(_best_first(held_out)[::-1], held_out, accuracy_of)


def greedy_soup_sorted(held_out, accuracy_of):
    return sorted(_greedy(_best_first(held_out), held_out, accuracy_of))


def greedy_soup_as_listed(held_out, accuracy_of):
    return _greedy(list(range(len(held_out))), held_out, accuracy_of)


def greedy_soup_stops(held_out, accuracy_of):
    order = _best_first(held_out)
    soup, best = [order[0]], float(held_out[order[0]])
    for i in order[1:]:
        accuracy = accuracy_of(soup + [i])
        if accuracy < best:
            break
        soup, best = soup + [i], accuracy
    return soup


def greedy_soup_better_than_candidate(held_out, accuracy_of):
    order = _best_first(held_out)
    soup = [order[0]]
    for i in order[1:]:
        if accuracy_of(soup + [i]) >= held_out[i]:
            soup.append(i)
    return soup


def greedy_soup_never_raised(held_out, accuracy_of):
    order = _best_first(held_out)
    soup, best = [order[0]], float(held_out[order[0]])
    for i in order[1:]:
        if accuracy_of(soup + [i]) >= best:
            soup.append(i)
    return soup


def greedy_soup_forward_selection(held_out, accuracy_of):
    order = _best_first(held_out)
    soup, best, rest = [order[0]], float(held_out[order[0]]), order[1:]
    while rest:
        i = max(rest, key=lambda k: accuracy_of(soup + [k]))
        if accuracy_of(soup + [i]) < best:
            break
        best = accuracy_of(soup + [i])
        soup = soup + [i]
        rest.remove(i)
    return soup


def greedy_soup_bar_always_moves(held_out, accuracy_of):
    order = _best_first(held_out)
    soup, best = [order[0]], float(held_out[order[0]])
    for i in order[1:]:
        accuracy = accuracy_of(soup + [i])
        if accuracy >= best:
            soup = soup + [i]
        best = accuracy
    return soup


def greedy_soup_keeps_the_rejected(held_out, accuracy_of):
    order = _best_first(held_out)
    soup, best = [order[0]], float(held_out[order[0]])
    for k in range(1, len(order)):
        accuracy = accuracy_of(order[:k + 1])
        if accuracy >= best:
            soup, best = soup + [order[k]], accuracy
    return soup


def greedy_soup_best_prefix(held_out, accuracy_of):
    order = _best_first(held_out)
    k = max(range(1, len(order) + 1), key=lambda n: accuracy_of(order[:n]))
    return order[:k]


def greedy_soup_pairs(held_out, accuracy_of):
    order = _best_first(held_out)
    first = order[0]
    return [first] + [i for i in order[1:] if accuracy_of([first, i]) >= held_out[first]]


def greedy_soup_above_mean(held_out, accuracy_of):
    order = _best_first(held_out)
    bar = sum(float(x) for x in held_out) / len(held_out)
    soup = [order[0]]
    for i in order[1:]:
        if accuracy_of(soup + [i]) >= bar:
            soup.append(i)
    return soup


def greedy_soup_without_first(held_out, accuracy_of):
    return _greedy(_best_first(held_out), held_out, accuracy_of)[1:]


def greedy_soup_index(held_out, accuracy_of):
    values = [float(x) for x in held_out]
    return _greedy([values.index(x) for x in sorted(values, reverse=True)], held_out, accuracy_of)


def greedy_soup_worse(held_out, accuracy_of):
    order = _best_first(held_out)
    soup, best = [order[0]], float(held_out[order[0]])
    for i in order[1:]:
        accuracy = accuracy_of(soup + [i])
        if accuracy < best:
            soup, best = soup + [i], accuracy
    return soup


def greedy_soup_ranks(held_out, accuracy_of):
    order = _best_first(held_out)
    return [order.index(i) for i in _greedy(order, held_out, accuracy_of)]


def greedy_soup_starts_with_0(held_out, accuracy_of):
    return _greedy([0] + [i for i in _best_first(held_out) if i != 0], held_out, accuracy_of)


def greedy_soup_all_by_rank(held_out, accuracy_of):
    return _best_first(held_out)


def greedy_soup_singles(held_out, accuracy_of):
    order = _best_first(held_out)
    soup, best = [order[0]], float(held_out[order[0]])
    for i in order[1:]:
        soup.append(i)
        if accuracy_of(soup) > best:
            best = accuracy_of(soup)
        else:
            soup.pop(0)
    return soup


add("3.3", "a queue, best first; keep the trial when it is no worse than the soup", greedy_soup_right, is_right=True)
add("3.3", "sorted with the worst first", greedy_soup_ascending)
add("3.3", "returned the soup in the order of the networks' numbers", greedy_soup_sorted)
add("3.3", "went through the networks as they are listed", greedy_soup_as_listed)
add("3.3", "greedy: stop at the first that does not help", greedy_soup_stops)
add("3.3", "take it if the soup is better than that network alone", greedy_soup_better_than_candidate)
add("3.3", "the bar is the best single network, and stays there", greedy_soup_never_raised)
add("3.3", "in each round, try all that remain and take the best", greedy_soup_forward_selection)
add("3.3", "updated the bar also when it was not taken", greedy_soup_bar_always_moves)
add("3.3", "tries the average with all before it, also the rejected ones", greedy_soup_keeps_the_rejected)
add("3.3", "the best n networks, for the n which is best", greedy_soup_best_prefix)
add("3.3", "all that help the best one, each alone with it", greedy_soup_pairs)
add("3.3", "the bar is the average accuracy of the single networks", greedy_soup_above_mean)
add("3.3", "returned only what was added to the best one", greedy_soup_without_first)
add("3.3", "sorted the accuracies and looked them up by .index (equal ones come twice)", greedy_soup_index)
add("3.3", "turned the comparison round", greedy_soup_worse)
add("3.3", "returned the ranks, not the networks", greedy_soup_ranks)
add("3.3", "start with network 0, then by accuracy", greedy_soup_starts_with_0)
add("3.3", "the soup takes all, best first", greedy_soup_all_by_rank)
add("3.3", "appended first, and if that is no better, took out the wrong end", greedy_soup_singles)


# ---- 3.5
def cosine_base_right(average, features):
    u = F.normalize(features, dim=-1).mean(0)
    return (u * F.normalize(average, dim=-1)).sum(-1)


def cosine_base_of_mean(average, features):
    return F.cosine_similarity(average, features.mean(0), dim=-1)


def cosine_base_per_model(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).mean(1)


def cosine_base_sum(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).sum(0)


def cosine_base_gap(average, features):
    return 1 - F.cosine_similarity(average[None], features, dim=-1).mean(0)


def cosine_base_best(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).amax(0)


def cosine_base_over_samples(average, features):
    return F.cosine_similarity(average[None], features, dim=1).mean(0)


def cosine_base_first(average, features):
    return F.cosine_similarity(average, features[0], dim=-1)


def cosine_base_dot(average, features):
    return (average * features).sum(-1).mean(0)


def cosine_base_average_not_normalised(average, features):
    return (average * F.normalize(features, dim=-1)).sum(-1).mean(0)


def cosine_base_mean_norm(average, features):
    return (average * features).sum(-1).mean(0) / (average.norm(dim=-1) * features.norm(dim=-1).mean(0))


def cosine_base_one_number(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).mean()


def cosine_base_to_mean_feature(average, features):
    return F.cosine_similarity(features.mean(0)[None], features, dim=-1).mean(0)


def cosine_base_whole_norm(average, features):
    return (average * features).sum(-1).mean(0) / (average.norm() * features.norm())


def cosine_base_concatenated(average, features):
    repeated = average[None].expand_as(features).transpose(0, 1).flatten(1)
    return F.cosine_similarity(repeated, features.transpose(0, 1).flatten(1), dim=1)


def cosine_base_worst(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).amin(0)


def cosine_base_absolute(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).abs().mean(0)


def cosine_base_renormalised(average, features):
    return F.cosine_similarity(average, F.normalize(features, dim=-1).mean(0), dim=-1)


def cosine_base_k_minus_1(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).sum(0) / max(len(features) - 1, 1)


def cosine_base_squared(average, features):
    return (F.cosine_similarity(average[None], features, dim=-1) ** 2).mean(0)


def cosine_base_no_root(average, features):
    return ((average * features).sum(-1) / ((average ** 2).sum(-1) * (features ** 2).sum(-1))).mean(0)


def cosine_base_width_mean(average, features):
    return ((average * features).mean(-1) / (average.norm(dim=-1) * features.norm(dim=-1))).mean(0)


def cosine_base_reshaped(average, features):
    cosine = F.cosine_similarity(average[None], features, dim=-1)
    return cosine.reshape(features.shape[1], features.shape[0]).mean(1)


def cosine_base_coef(average, features):
    return ((average * features).sum(-1) / (features ** 2).sum(-1)).mean(0)


add("3.5", "unit vectors first: the mean of cosines is linear in them", cosine_base_right, is_right=True)
add("3.5", "the cosine with the mean features", cosine_base_of_mean)
add("3.5", "averaged over the samples, one number per model", cosine_base_per_model)
add("3.5", "overlooked the 1/k", cosine_base_sum)
add("3.5", "1 - cosine, as in chapter 1", cosine_base_gap)
add("3.5", "the single model that fits best", cosine_base_best)
add("3.5", "the cosine over axis 1", cosine_base_over_samples)
add("3.5", "a single model: the first", cosine_base_first)
add("3.5", "scalar products for cosines", cosine_base_dot)
add("3.5", "normalised only the single models", cosine_base_average_not_normalised)
add("3.5", "mean product over the mean of the norms", cosine_base_mean_norm)
add("3.5", "averaged over everything", cosine_base_one_number)
add("3.5", "the average is the mean of the features", cosine_base_to_mean_feature)
add("3.5", ".norm() without a dim", cosine_base_whole_norm)
add("3.5", "the models' features in one long vector per sample", cosine_base_concatenated)
add("3.5", "the single model that fits worst", cosine_base_worst)
add("3.5", "the absolute values of the cosines", cosine_base_absolute)
add("3.5", "the mean of the unit vectors, made a unit vector again", cosine_base_renormalised)
add("3.5", "1/(k - 1), because one is the model itself", cosine_base_k_minus_1)
add("3.5", "the fit is the squared cosine", cosine_base_squared)
add("3.5", "forgot the roots of the norms", cosine_base_no_root)
add("3.5", "mean over the width, norms of sums", cosine_base_width_mean)
add("3.5", "reshaped (models, samples) to (samples, models) before the mean", cosine_base_reshaped)
add("3.5", "took coef for the cosine", cosine_base_coef)
