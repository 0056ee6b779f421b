"""Answers to exercises 6.5 to 8.7, written in a hurry from the tasks' texts alone, by somebody who had seen no check.
(exercise, what its author thought, answer, whether it is right)."""
# ruff: noqa: F811
import math

import numpy as np
import torch

ANSWERS = []


def add(number, thought, answer, is_right=False):
    ANSWERS.append((number, thought, answer, is_right))


# ---- 6.5
def hv_gradient_only(f, theta, v):
    return torch.func.jvp(torch.func.grad(f), (theta,), (v,))[0]


def hv_swapped(f, theta, v):
    _, out = torch.func.jvp(torch.func.grad(f), (v,), (theta,))
    return out


def hv_half(f, theta, v):
    _, out = torch.func.jvp(torch.func.grad(f), (theta,), (v,))
    return 0.5 * out


def hv_slope_of_f(f, theta, v):
    _, slope = torch.func.jvp(f, (theta,), (v,))
    return slope * v


def hv_quadratic_form(f, theta, v):
    _, out = torch.func.jvp(torch.func.grad(f), (theta,), (v,))
    return (v * out).sum()


def hv_at_the_moved_point(f, theta, v):
    _, out = torch.func.jvp(torch.func.grad(f), (theta + v,), (v,))
    return out


def hv_whole_step(f, theta, v):
    g = torch.func.grad(f)
    return g(theta + v) - g(theta)


def hv_taylor_with_gradient(f, theta, v):
    value, out = torch.func.jvp(torch.func.grad(f), (theta,), (v,))
    return value + out


def hv_elementwise_gradient(f, theta, v):
    return torch.func.grad(f)(theta) * v


def hv_outer_product_of_gradients(f, theta, v):
    g = torch.func.grad(f)(theta)
    return g * (g * v).sum()


def hv_unit_direction(f, theta, v):
    _, out = torch.func.jvp(torch.func.grad(f), (theta,), (v / v.norm(),))
    return out


def hv_row_sums(f, theta, v):
    _, out = torch.func.jvp(torch.func.grad(f), (theta,), (torch.ones_like(v),))
    return out * v


def hv_centred_difference_one_h(f, theta, v):
    g, h = torch.func.grad(f), 1e-2
    return (g(theta + h * v) - g(theta - h * v)) / h


def hv_minus(f, theta, v):
    _, out = torch.func.jvp(torch.func.grad(f), (theta,), (-v,))
    return out


def hv_reverse_over_reverse(f, theta, v):
    def slope(point):
        return (torch.func.grad(f)(point) * v).sum()

    return torch.func.grad(slope)(theta)


add("6.5", "jvp returns two things, and the first one is the one I want", hv_gradient_only)
add("6.5", "the vector comes first, then the place: primals and tangents swapped", hv_swapped)
add("6.5", "a second-order term always has a half in front", hv_half)
add("6.5", "jvp of f itself, then times v, is second order in v", hv_slope_of_f)
add("6.5", "the product with v on both sides, a number: v'Hv", hv_quadratic_form)
add("6.5", "the Hessian belongs at the point where v leads, theta + v", hv_at_the_moved_point)
add("6.5", "the difference of the gradients at theta + v and theta is H v", hv_whole_step)
add("6.5", "gradient plus its change: the Taylor line with the gradient still in it", hv_taylor_with_gradient)
add("6.5", "gradient times v, entry by entry", hv_elementwise_gradient)
add("6.5", "the Hessian is the outer product of the gradient with itself (Fisher)", hv_outer_product_of_gradients)
add("6.5", "a derivative along v needs a unit vector, so normalise v", hv_unit_direction)
add("6.5", "multiply by ones to get the Hessian's row sums, then scale by v", hv_row_sums)
add("6.5", "central difference, divided by h instead of 2h", hv_centred_difference_one_h)
add("6.5", "descent goes against the gradient, so along -v", hv_minus)
add("6.5", "gradient of the slope along v: reverse over reverse", hv_reverse_over_reverse, True)


# ---- 7.1
def trim_ceil(vector, density):
    k = math.ceil(density * vector.numel())
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().topk(k).indices
    out[keep] = flat[keep]
    return out.view(vector.shape)


def trim_signed(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.topk(k).indices
    out[keep] = flat[keep]
    return out.view(vector.shape)


def trim_drops_density(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten().clone()
    flat[flat.abs().argsort(descending=True)[:k]] = 0
    return flat.view(vector.shape)


def trim_keeps_smallest(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().argsort()[:k]
    out[keep] = flat[keep]
    return out.view(vector.shape)


def trim_zeroes_k_smallest(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten().clone()
    flat[flat.abs().argsort()[:k]] = 0
    return flat.view(vector.shape)


def trim_stays_flat(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().topk(k).indices
    out[keep] = flat[keep]
    return out


def trim_magnitudes(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten().abs()
    out = torch.zeros_like(flat)
    values, keep = flat.topk(k)
    out[keep] = values
    return out.view(vector.shape)


def trim_per_row(vector, density):
    k = int(density * vector.shape[-1])
    keep = vector.abs().topk(k, dim=-1).indices
    mask = torch.zeros_like(vector).scatter(-1, keep, 1.0)
    return vector * mask


def trim_length_of_first_axis(vector, density):
    k = int(density * len(vector))
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().topk(k).indices
    out[keep] = flat[keep]
    return out.view(vector.shape)


def trim_strictly_above(vector, density):
    k = int(density * vector.numel())
    if k == 0:
        return torch.zeros_like(vector)
    threshold = vector.abs().flatten().topk(k).values[-1]
    return torch.where(vector.abs() > threshold, vector, torch.zeros_like(vector))


def trim_share_of_largest(vector, density):
    threshold = (1 - density) * vector.abs().max()
    return vector * (vector.abs() > threshold)


def trim_rescaled(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().topk(k).indices
    out[keep] = flat[keep]
    return (out / max(density, 1e-9)).view(vector.shape)


def trim_at_least_one(vector, density):
    k = max(1, int(density * vector.numel()))
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().topk(k).indices
    out[keep] = flat[keep]
    return out.view(vector.shape)


def trim_rounded(vector, density):
    k = round(density * vector.numel())
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().topk(k).indices
    out[keep] = flat[keep]
    return out.view(vector.shape)


def trim_mask(vector, density):
    k = int(density * vector.numel())
    out = torch.zeros_like(vector.flatten())
    out[vector.flatten().abs().topk(k).indices] = 1
    return out.view(vector.shape)


def trim_ties_all_stay(vector, density):
    k = int(density * vector.numel())
    if k == 0:
        return torch.zeros_like(vector)
    threshold = vector.abs().flatten().topk(k).values[-1]
    return vector * (vector.abs() >= threshold)


def trim_quantile(vector, density):
    threshold = torch.quantile(vector.abs().flatten(), 1 - density)
    return vector * (vector.abs() >= threshold)


def trim_sort_minus_k(vector, density):
    k = int(density * vector.numel())
    flat = vector.flatten()
    out = torch.zeros_like(flat)
    keep = flat.abs().argsort()[-k:]
    out[keep] = flat[keep]
    return out.view(vector.shape)


def trim_by_ranks(vector, density):
    order = torch.argsort(vector.reshape(-1).abs(), descending=True)
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel())
    keep = place < math.floor(density * vector.numel())
    return vector.masked_fill(~keep.reshape(vector.shape), 0)


add("7.1", "round the number of entries up", trim_ceil)
add("7.1", "round the number of entries to the nearest", trim_rounded)
add("7.1", "the largest entries, forgot the absolute value", trim_signed)
add("7.1", "trim means: take the largest ones away", trim_drops_density)
add("7.1", "sorted ascending by default, kept the first k", trim_keeps_smallest)
add("7.1", "density is the share that gets trimmed away", trim_zeroes_k_smallest)
add("7.1", "forgot to bring the shape back", trim_stays_flat)
add("7.1", "put the magnitudes back instead of the entries", trim_magnitudes)
add("7.1", "topk along the last axis, so every row is trimmed on its own", trim_per_row)
add("7.1", "n is len(vector)", trim_length_of_first_axis)
add("7.1", "strictly above the k-th largest, so one too few", trim_strictly_above)
add("7.1", "density as a share of the largest magnitude, not of the number", trim_share_of_largest)
add("7.1", "what is kept must be scaled up by 1/density, as in DARE", trim_rescaled)
add("7.1", "never trim everything: keep at least one entry", trim_at_least_one)
add("7.1", "return the mask of those kept", trim_mask)
# right: the text leaves open which of two equal magnitudes stays, and the library keeps both
add("7.1", "everything at least as large as the k-th stays, ties too", trim_ties_all_stay, True)
add("7.1", "the threshold is the (1 - density) quantile", trim_quantile)
add("7.1", "the last k of the sorted ones with [-k:], forgot that k can be 0", trim_sort_minus_k)
add("7.1", "give every entry its place in the ranking, keep places below k", trim_by_ranks, True)


# ---- 7.2
def elect_majority(stack):
    return torch.sign(torch.sign(stack).sum(0))


def elect_last_axis(stack):
    return torch.sign(stack.sum(-1))


def elect_sum(stack):
    return stack.sum(0)


def elect_count(stack):
    return torch.sign(stack).sum(0)


def elect_mean_of_signs(stack):
    return torch.sign(stack).mean(0)


def elect_product(stack):
    return torch.sign(stack.prod(0))


def elect_whole(stack):
    return torch.sign(stack.sum())


def elect_no_zero(stack):
    total = stack.sum(0)
    return torch.where(total >= 0, torch.ones_like(total), -torch.ones_like(total))


def elect_zero_is_minus(stack):
    return 2.0 * (stack.sum(0) > 0) - 1.0


def elect_loudest(stack):
    loudest = stack.abs().argmax(0, keepdim=True)
    return torch.sign(stack.gather(0, loudest)[0])


def elect_median(stack):
    return torch.sign(stack.median(0).values)


def elect_boolean(stack):
    return (stack.sum(0) > 0).float()


def elect_absolute(stack):
    return torch.sign(stack.abs().sum(0))


def elect_no_sum(stack):
    return torch.sign(stack)


def elect_per_task(stack):
    return torch.sign(stack.flatten(1).sum(1))


def elect_squared(stack):
    return torch.sign((torch.sign(stack) * stack ** 2).sum(0))


def elect_two_piles(stack):
    up = stack.clamp(min=0).sum(0)
    down = (-stack).clamp(min=0).sum(0)
    return (up > down).to(stack.dtype) - (up < down).to(stack.dtype)


add("7.2", "one task, one vote: the majority of the signs", elect_majority)
add("7.2", "summed over the last axis", elect_last_axis)
add("7.2", "the sum shows the sign already", elect_sum)
add("7.2", "the sum of the signs is the vote", elect_count)
add("7.2", "the mean of the signs", elect_mean_of_signs)
add("7.2", "the sign of the product", elect_product)
add("7.2", "sum() without an axis: one sign for everything", elect_whole)
add("7.2", "a sign is plus or minus, and a tie goes to plus", elect_no_zero)
add("7.2", "larger than zero or not, and a tie goes to minus", elect_zero_is_minus)
add("7.2", "the task with the largest magnitude decides", elect_loudest)
add("7.2", "the sign of the median task", elect_median)
add("7.2", "elected means positive: 1 or 0", elect_boolean)
add("7.2", "add up the magnitudes, then take the sign", elect_absolute)
add("7.2", "the sign of every task's entry, without the vote", elect_no_sum)
add("7.2", "summed over the entries: one sign per task", elect_per_task)
add("7.2", "votes are weighted with the square of the value", elect_squared)
add("7.2", "weigh the positive pile against the negative pile", elect_two_piles, True)


# ---- 7.3
add("7.3", "the sum of the two", 2.0)
add("7.3", "the plain mean of the two", 1.0)
add("7.3", "the loser is set to 0, and then the mean over both tasks", 1.5)
add("7.3", "one vote for plus, one for minus: a tie, so nothing stays", 0.0)
add("7.3", "the minority with the small magnitude is what stays", -1.0)
add("7.3", "the loser's sign is turned to the elected one, and then the sum", 4.0)
add("7.3", "the sign was confused: minus wins, with the magnitude of the largest", -3.0)
add("7.3", "minus is elected, and the sum gets this sign", -2.0)
add("7.3", "the winner weighted with its share of the magnitudes, 3/4", 2.25)
add("7.3", "the winner times the usual scaling 0.4", 1.2)
add("7.3", "plus is elected, only 3.0 agrees, and the mean of one number is that number", 6.0 / 2, True)


# ---- 7.4
def those_over_all_tasks(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return (stack * agrees).mean(0)


def those_summed(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return (stack * agrees).sum(0)


def those_of_majority(stack):
    agrees = torch.sign(stack) == torch.sign(torch.sign(stack).sum(0))
    return (stack * agrees).sum(0) / agrees.sum(0).clamp(min=1)


def those_mean_of_magnitudes(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return (stack.abs() * agrees).sum(0) / agrees.sum(0).clamp(min=1)


def those_nan(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return (stack * agrees).sum(0) / agrees.sum(0)


def those_zeros_count(stack):
    agrees = stack * torch.sign(stack.sum(0)) >= 0
    return (stack * agrees).sum(0) / agrees.sum(0).clamp(min=1)


def those_without_zeros(stack):
    return stack.sum(0) / (stack != 0).sum(0).clamp(min=1)


def those_turned(stack):
    return stack.abs().mean(0) * torch.sign(stack.sum(0))


def those_tie_is_plus(stack):
    chosen = torch.where(stack.sum(0) >= 0, 1.0, -1.0)
    agrees = torch.sign(stack) == chosen
    return (stack * agrees).sum(0) / agrees.sum(0).clamp(min=1)


def those_one_more(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return (stack * agrees).sum(0) / (agrees.sum(0) + 1)


def those_losers(stack):
    differs = torch.sign(stack) != torch.sign(stack.sum(0))
    return (stack * differs).sum(0) / differs.sum(0).clamp(min=1)


def those_largest(stack):
    sign = torch.sign(stack.sum(0))
    return sign * (stack * sign).max(0).values


def those_all_together(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return stack[agrees].mean()


def those_sum_over_winners(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return stack.sum(0) / agrees.sum(0).clamp(min=1)


def those_wrong_axis(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return (stack * agrees).sum(-1) / agrees.sum(-1).clamp(min=1)


def those_count_of_tasks(stack):
    agrees = torch.sign(stack) == torch.sign(stack.sum(0))
    return (stack * agrees).sum(0) / (len(stack) - 1)


def those_nanmean(stack):
    sign = torch.sign(stack.sum(0, keepdim=True))
    kept = stack.masked_fill(torch.sign(stack) != sign, float("nan"))
    return torch.nan_to_num(kept.nanmean(0), nan=0.0)


add("7.4", "set the losers to 0 and take the mean over all tasks", those_over_all_tasks)
add("7.4", "the sum of the winners", those_summed)
add("7.4", "the elected sign is that of most tasks", those_of_majority)
add("7.4", "the mean of the winners' magnitudes", those_mean_of_magnitudes)
add("7.4", "forgot that nobody may have the sign: 0/0", those_nan)
add("7.4", "not against the sign is enough, so trimmed zeros count too", those_zeros_count)
add("7.4", "the mean over the tasks that were not trimmed, no vote", those_without_zeros)
add("7.4", "the mean magnitude of all, with the elected sign", those_turned)
add("7.4", "a tie elects plus", those_tie_is_plus)
add("7.4", "add 1 to the count so as not to divide by 0", those_one_more)
add("7.4", "mask the wrong way round: the mean of the losers", those_losers)
add("7.4", "the largest of the winners", those_largest)
add("7.4", "index with the mask and take one mean over everything", those_all_together)
add("7.4", "forgot the mask in the numerator", those_sum_over_winners)
add("7.4", "sum over the last axis instead of the tasks", those_wrong_axis)
add("7.4", "divide by the number of tasks less one", those_count_of_tasks)
add("7.4", "nan for the losers and nanmean over the tasks", those_nanmean, True)


# ---- 7.5
def norm_ratio_of_means(accuracy, own):
    return accuracy.mean() / own.mean()


def norm_inverse(accuracy, own):
    return (own / accuracy).mean()


def norm_sum(accuracy, own):
    return (accuracy / own).sum()


def norm_per_cent(accuracy, own):
    return 100 * (accuracy / own).mean()


def norm_vector(accuracy, own):
    return accuracy / own


def norm_gap(accuracy, own):
    return (accuracy - own).mean()


def norm_relative_gap(accuracy, own):
    return ((accuracy - own) / own).mean()


def norm_by_best(accuracy, own):
    return (accuracy / own.max()).mean()


def norm_capped(accuracy, own):
    ratio = accuracy / own
    ratio[ratio > 1] = 1
    return ratio.mean()


def norm_geometric(accuracy, own):
    return (accuracy / own).prod() ** (1 / len(own))


def norm_worst(accuracy, own):
    return (accuracy / own).min()


def norm_mean_over_each(accuracy, own):
    return (accuracy.mean() / own).mean()


def norm_each_over_mean_product(accuracy, own):
    return (accuracy * own).mean()


def norm_cosine(accuracy, own):
    return (accuracy * own).sum() / (own * own).sum()


def norm_one_less(accuracy, own):
    return (accuracy / own).sum() / (len(own) - 1)


def norm_loop(accuracy, own):
    total = 0.0
    for got, best in zip(accuracy, own):
        total = total + got / best / len(own)
    return total


add("7.5", "mean accuracy divided by mean own accuracy", norm_ratio_of_means)
add("7.5", "divided the wrong way round", norm_inverse)
add("7.5", "the sum over the tasks", norm_sum)
add("7.5", "accuracies are in per cent", norm_per_cent)
add("7.5", "forgot the mean", norm_vector)
add("7.5", "compare: the mean difference to one's own network", norm_gap)
add("7.5", "the mean relative loss", norm_relative_gap)
add("7.5", "divide by the best own network", norm_by_best)
add("7.5", "a merged network cannot be better than 100 %", norm_capped)
add("7.5", "ratios are averaged by the geometric mean", norm_geometric)
add("7.5", "the worst task counts", norm_worst)
add("7.5", "averaged the accuracy first, then divided by every own one", norm_mean_over_each)
add("7.5", "multiplied instead of divided: own accuracy as a weight", norm_each_over_mean_product)
add("7.5", "the slope of the best fitting line through 0", norm_cosine)
add("7.5", "mean with T - 1", norm_one_less)
add("7.5", "loop over the tasks, each ratio divided by T", norm_loop, True)


# ---- 7.6
def c76_sign(finetuned):
    out = []
    for state in finetuned:
        new = {}
        for key, value in state.items():
            if value.is_floating_point():
                new[key] = torch.stack([s[key] for s in finetuned]).mean(0) - value
            else:
                new[key] = value.clone()
        out.append(new)
    return out


def c76_first_as_base(finetuned):
    base = finetuned[0]
    return [{key: value - base[key] if value.is_floating_point() else value
             for key, value in state.items()} for state in finetuned]


def c76_sum(finetuned):
    total = {k: sum(s[k] for s in finetuned) for k in finetuned[0]}
    return [{k: v - total[k] if v.is_floating_point() else v for k, v in s.items()} for s in finetuned]


def c76_counters_too(finetuned):
    average = {k: sum(s[k] for s in finetuned) / len(finetuned) for k in finetuned[0]}
    return [{k: v - average[k] for k, v in s.items()} for s in finetuned]


def c76_counters_dropped(finetuned):
    average = {k: torch.stack([s[k] for s in finetuned]).mean(0)
               for k, v in finetuned[0].items() if v.is_floating_point()}
    return [{k: s[k] - average[k] for k in average} for s in finetuned]


def c76_counters_of_first(finetuned):
    out = []
    for state in finetuned:
        new = dict(finetuned[0])
        for key, value in state.items():
            if value.is_floating_point():
                new[key] = value - torch.stack([s[key] for s in finetuned]).mean(0)
        out.append(new)
    return out


def c76_counters_zero(finetuned):
    out = []
    for state in finetuned:
        new = {}
        for key, value in state.items():
            if value.is_floating_point():
                new[key] = value - torch.stack([s[key] for s in finetuned]).mean(0)
            else:
                new[key] = torch.zeros_like(value)
        out.append(new)
    return out


def c76_others_average(finetuned):
    out = []
    for i, state in enumerate(finetuned):
        rest = finetuned[:i] + finetuned[i + 1:]
        new = {}
        for key, value in state.items():
            if value.is_floating_point():
                new[key] = value - torch.stack([s[key] for s in rest]).mean(0)
            else:
                new[key] = value
        out.append(new)
    return out


def c76_scalar_mean(finetuned):
    return [{k: v - v.mean() if v.is_floating_point() else v for k, v in s.items()} for s in finetuned]


def c76_in_place(finetuned):
    states = [dict(s) for s in finetuned]
    for state in states:
        for key, value in state.items():
            if value.is_floating_point():
                state[key] = value - torch.stack([s[key] for s in states]).mean(0)
    return states


def c76_average_only(finetuned):
    average = {k: torch.stack([s[k] for s in finetuned]).mean(0) if v.is_floating_point() else v
               for k, v in finetuned[0].items()}
    return [average for _ in finetuned]


def c76_running_statistics(finetuned):
    out = []
    for state in finetuned:
        new = {}
        for key, value in state.items():
            if value.is_floating_point() and "bias" not in key and "running" not in key:
                new[key] = value - torch.stack([s[key] for s in finetuned]).mean(0)
            else:
                new[key] = value
        out.append(new)
    return out


def c76_share_of_each(finetuned):
    n = len(finetuned)
    return [{k: v - v / n if v.is_floating_point() else v for k, v in s.items()} for s in finetuned]


def c76_by_subtraction(finetuned):
    n = len(finetuned)
    result = [{} for _ in finetuned]
    for key, example in finetuned[0].items():
        if example.dtype.is_floating_point:
            columns = torch.stack([state[key] for state in finetuned])
            columns = columns - columns.sum(0, keepdim=True) / n
        else:
            columns = [state[key].clone() for state in finetuned]
        for target, column in zip(result, columns):
            target[key] = column
    return result


add("7.6", "average minus model", c76_sign)
add("7.6", "subtract the first model, as if it were the base", c76_first_as_base)
add("7.6", "subtract the sum, forgot to divide by the number of models", c76_sum)
add("7.6", "everything is subtracted, the counters too", c76_counters_too)
add("7.6", "counters are no weights, so leave them out", c76_counters_dropped)
add("7.6", "counters are carried over from the first model to all", c76_counters_of_first)
add("7.6", "a difference of counters means nothing, so put zeros", c76_counters_zero)
add("7.6", "the average of the others, without the model itself", c76_others_average)
add("7.6", "centre a tensor: subtract its own mean number", c76_scalar_mean)
add("7.6", "the average is recomputed while the models already change", c76_in_place)
add("7.6", "returned the average for every model", c76_average_only)
add("7.6", "biases and running statistics are no weights either", c76_running_statistics)
add("7.6", "subtract the model's own share 1/T of the average only", c76_share_of_each)
add("7.6", "key by key: stack, centre, hand the pieces out", c76_by_subtraction, True)


# ---- 7.7
def ent_bits(logits):
    p = logits.softmax(-1)
    return -(p * p.log2()).sum(-1).mean()


def ent_over_samples(logits):
    p = logits.softmax(0)
    return -(p * p.log()).sum(-1).mean()


def ent_sum(logits):
    p = logits.softmax(-1)
    return -(p * p.log()).sum()


def ent_mean_of_all(logits):
    p = logits.softmax(-1)
    return -(p * p.log()).mean()


def ent_sign(logits):
    p = logits.softmax(-1)
    return (p * p.log()).sum(-1).mean()


def ent_of_mean(logits):
    p = logits.softmax(-1).mean(0)
    return -(p * p.log()).sum()


def ent_of_mean_logits(logits):
    p = logits.mean(0).softmax(-1)
    return -(p * p.log()).sum()


def ent_per_sample(logits):
    return torch.distributions.Categorical(logits=logits).entropy()


def ent_top_class(logits):
    return torch.nn.functional.cross_entropy(logits, logits.argmax(-1))


def ent_logits_are_logs(logits):
    return -(logits.softmax(-1) * logits).sum(-1).mean()


def ent_softmax_twice(logits):
    p = logits.softmax(-1)
    return -(p * p.log_softmax(-1)).sum(-1).mean()


def ent_normalised(logits):
    p = logits.softmax(-1)
    return -(p * p.log()).sum(-1).mean() / math.log(logits.shape[-1])


def ent_sigmoid(logits):
    p = torch.sigmoid(logits)
    return -(p * p.log()).sum(-1).mean()


def ent_uniform_weights(logits):
    return -logits.log_softmax(-1).mean()


def ent_given_as_probabilities(logits):
    return torch.distributions.Categorical(probs=logits - logits.min() + 1e-9).entropy().mean()


def ent_gini(logits):
    p = logits.softmax(-1)
    return 1 - (p * p).sum(-1).mean()


def ent_naive_log(logits):
    p = logits.softmax(-1)
    return -(p * p.log()).sum(-1).mean()


def ent_logsumexp(logits):
    shifted = logits - logits.amax(dim=1, keepdim=True)
    weight = shifted.exp()
    total = weight.sum(1)
    return (total.log() - (weight * shifted).sum(1) / total).mean()


add("7.7", "entropy is in bits", ent_bits)
add("7.7", "softmax along axis 0", ent_over_samples)
add("7.7", "summed over samples too", ent_sum)
add("7.7", "mean over everything, classes as well", ent_mean_of_all)
add("7.7", "forgot the minus", ent_sign)
add("7.7", "the entropy of the mean prediction", ent_of_mean)
add("7.7", "the entropy of the prediction from the mean logits", ent_of_mean_logits)
add("7.7", "forgot the mean over samples", ent_per_sample)
add("7.7", "how sure: minus the log of the top probability", ent_top_class)
add("7.7", "logits are the logs of the probabilities, without normalising", ent_logits_are_logs)
add("7.7", "log_softmax of the probabilities: softmax twice", ent_softmax_twice)
add("7.7", "divided by the largest entropy, log of the classes", ent_normalised)
add("7.7", "sigmoid instead of softmax", ent_sigmoid)
add("7.7", "mean of -log p over the classes, forgot the weight p", ent_uniform_weights)
add("7.7", "make the logits positive and use them as probabilities", ent_given_as_probabilities)
add("7.7", "one minus the sum of squares, forgot the log", ent_gini)
add("7.7", "p times log p as it stands, forgot that p can be 0 (nan at large logits)", ent_naive_log)
add("7.7", "logsumexp less the mean logit, by hand", ent_logsumexp, True)


# ---- 8.1
def svd_one_more(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return u[:, :rank + 1] @ torch.diag(s[:rank + 1]) @ vh[:rank + 1]


def svd_one_less(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return sum((s[r] * torch.outer(u[:, r], vh[r]) for r in range(1, rank)), torch.zeros_like(matrix))


def svd_vh_not_v(matrix, rank):
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    return (u[:, :rank] * s[:rank]) @ v[:, :rank].T


def svd_coordinates(matrix, rank):
    _, _, vh = torch.linalg.svd(matrix, full_matrices=False)
    return matrix @ vh[:rank].T


def svd_no_sigma(matrix, rank):
    u, _, vh = torch.linalg.svd(matrix, full_matrices=False)
    return u[:, :rank] @ vh[:rank]


def svd_sigma_twice(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return (u[:, :rank] * s[:rank]) @ (s[:rank, None] * vh[:rank])


def svd_root(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return u[:, :rank] @ torch.diag(s[:rank].sqrt()) @ vh[:rank]


def svd_smallest(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return (u[:, -rank:] * s[-rank:]) @ vh[-rank:]


def svd_rest(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return (u[:, rank:] * s[rank:]) @ vh[rank:]


def svd_kth_only(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return s[rank - 1] * torch.outer(u[:, rank - 1], vh[rank - 1])


def svd_transposed(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return vh[:rank].T @ torch.diag(s[:rank]) @ u[:, :rank].T


def svd_centred(matrix, rank):
    mean = matrix.mean(0)
    u, s, vh = torch.linalg.svd(matrix - mean, full_matrices=False)
    return (u[:, :rank] * s[:rank]) @ vh[:rank] + mean


def svd_same_norm(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    short = (u[:, :rank] * s[:rank]) @ vh[:rank]
    return short * s.sum() / s[:rank].sum()


def svd_rows_only(matrix, rank):
    _, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return s[:rank, None] * vh[:rank]


def svd_largest_entries(matrix, rank):
    rows = matrix.norm(dim=1).topk(rank).indices
    out = torch.zeros_like(matrix)
    out[rows] = matrix[rows]
    return out


def svd_by_eigenvectors(matrix, rank):
    wide = matrix.double()
    _, vectors = torch.linalg.eigh(wide.T @ wide)
    v = vectors.flip(1)[:, :rank]
    return (wide @ v @ v.T).to(matrix.dtype)


add("8.1", "the slice excludes its end, so rank + 1", svd_one_more)
add("8.1", "the sum runs from r = 1 to k, and Python's range too", svd_one_less)
add("8.1", "torch.linalg.svd gives V, so take columns and transpose", svd_vh_not_v)
add("8.1", "project on the first directions, forgot to go back to n columns", svd_coordinates)
add("8.1", "forgot the singular values", svd_no_sigma)
add("8.1", "the singular values on both sides", svd_sigma_twice)
add("8.1", "took the root of the singular values, as if they were eigenvalues", svd_root)
add("8.1", "singular values come in ascending order, so take the last ones", svd_smallest)
add("8.1", "truncate: the first terms are cut away", svd_rest)
add("8.1", "only the k-th term, forgot the sum", svd_kth_only)
add("8.1", "U and V mixed up: the transposed matrix", svd_transposed)
add("8.1", "as in PCA: subtract the mean row first and add it again", svd_centred)
add("8.1", "scale up so that the sum of the singular values stays", svd_same_norm)
add("8.1", "sigma times V', forgot U", svd_rows_only)
add("8.1", "keep the strongest rows of the matrix itself", svd_largest_entries)
add("8.1", "project on the top eigenvectors of A'A", svd_by_eigenvectors, True)


# ---- 8.2
def c82_plus(states):
    average = {k: torch.stack([s[k] for s in states]).mean(0)
               for k in states[0] if states[0][k].is_floating_point()}
    return [{k: average[k] - s[k] if k in average else s[k] for k in s} for s in states]


def c82_last_as_base(states):
    return [{k: v - states[-1][k] if v.is_floating_point() else v for k, v in s.items()} for s in states]


def c82_without_base(states):
    base = states[0]
    return [{k: v - base[k] if v.is_floating_point() else v for k, v in s.items()} for s in states[1:]]


def c82_one_less(states):
    total = {k: sum(s[k] for s in states) / (len(states) - 1) for k in states[0]}
    return [{k: v - total[k] if v.is_floating_point() else v for k, v in s.items()} for s in states]


def c82_whole_division(states):
    total = {k: sum(s[k] for s in states) // len(states) for k in states[0]}
    return [{k: v - total[k] if v.is_floating_point() else v for k, v in s.items()} for s in states]


def c82_times_one_minus(states):
    factor = 1 - 1 / len(states)
    return [{k: factor * v if v.is_floating_point() else v for k, v in s.items()} for s in states]


def c82_counters_averaged(states):
    out = []
    for s in states:
        new = {}
        for k, v in s.items():
            average = torch.stack([t[k].float() for t in states]).mean(0)
            new[k] = v - average if v.is_floating_point() else average.to(v.dtype)
        out.append(new)
    return out


def c82_counters_subtracted(states):
    out = []
    for s in states:
        new = {}
        for k, v in s.items():
            average = torch.stack([t[k].double() for t in states]).mean(0)
            new[k] = (v - average).to(v.dtype)
        out.append(new)
    return out


def c82_counters_missing(states):
    out = [{} for _ in states]
    for k, v in states[0].items():
        if not v.is_floating_point():
            continue
        average = sum(s[k] for s in states) / len(states)
        for i, s in enumerate(states):
            out[i][k] = s[k] - average
    return out


def c82_counters_of_last(states):
    out = []
    average = {k: sum(s[k] for s in states) / len(states) for k in states[0]}
    for s in states:
        out.append({k: s[k] - average[k] if s[k].is_floating_point() else states[-1][k] for k in s})
    return out


def c82_median(states):
    return [{k: v - torch.stack([t[k] for t in states]).median(0).values if v.is_floating_point() else v
             for k, v in s.items()} for s in states]


def c82_standardised(states):
    out = []
    for s in states:
        new = {}
        for k, v in s.items():
            if v.is_floating_point():
                many = torch.stack([t[k] for t in states])
                new[k] = (v - many.mean(0)) / many.std(0).clamp(min=1e-8)
            else:
                new[k] = v
        out.append(new)
    return out


def c82_per_column(states):
    return [{k: v - v.mean(0) if v.is_floating_point() else v for k, v in s.items()} for s in states]


def c82_matrices_only(states):
    return [{k: v - torch.stack([t[k] for t in states]).mean(0) if v.dim() > 1 else v
             for k, v in s.items()} for s in states]


def c82_one_dict(states):
    return {k: states[0][k] - torch.stack([t[k] for t in states]).mean(0)
            if v.is_floating_point() else v for k, v in states[0].items()}


def c82_mean_of_differences(states):
    many = len(states)
    answer = []
    for mine in states:
        new = {}
        for key, tensor in mine.items():
            new[key] = tensor
            if torch.is_floating_point(tensor):
                new[key] = sum(tensor - other[key] for other in states) / many
        answer.append(new)
    return answer


add("8.2", "average minus state: the arrow points to the average", c82_plus)
add("8.2", "the last state is the start", c82_last_as_base)
add("8.2", "the first state is the base and the others are the tasks", c82_without_base)
add("8.2", "average with T - 1", c82_one_less)
add("8.2", "divided with //", c82_whole_division)
add("8.2", "centring is a factor of 1 - 1/T", c82_times_one_minus)
add("8.2", "counters are averaged, as the average model has them", c82_counters_averaged)
add("8.2", "counters are subtracted too, and made whole again", c82_counters_subtracted)
add("8.2", "counters are no weights, so skip them", c82_counters_missing)
add("8.2", "counters all from the last state", c82_counters_of_last)
add("8.2", "the median state as the centre", c82_median)
add("8.2", "centre and scale to unit spread", c82_standardised)
add("8.2", "subtract the mean over axis 0 of the tensor itself", c82_per_column)
add("8.2", "only matrices are weights, biases are carried over", c82_matrices_only)
add("8.2", "returned only the first one, a dict and no list", c82_one_dict)
add("8.2", "the mean of the differences to all states", c82_mean_of_differences, True)


# ---- 8.4
def rank_floor(rank_ratio, shape):
    return int(rank_ratio * min(shape[0], math.prod(shape[1:])))


def rank_round(rank_ratio, shape):
    return round(rank_ratio * min(shape[0], math.prod(shape[1:])))


def rank_floor_plus_one(rank_ratio, shape):
    return int(rank_ratio * min(shape[0], math.prod(shape[1:]))) + 1


def rank_at_least_one(rank_ratio, shape):
    return max(1, int(rank_ratio * min(shape[0], math.prod(shape[1:]))))


def rank_max(rank_ratio, shape):
    return math.ceil(rank_ratio * max(shape[0], math.prod(shape[1:])))


def rank_min_of_all(rank_ratio, shape):
    return math.ceil(rank_ratio * min(shape))


def rank_first_two(rank_ratio, shape):
    return math.ceil(rank_ratio * min(shape[0], shape[1]))


def rank_first_and_last(rank_ratio, shape):
    return math.ceil(rank_ratio * min(shape[0], shape[-1]))


def rank_of_out(rank_ratio, shape):
    return math.ceil(rank_ratio * shape[0])


def rank_other_flattening(rank_ratio, shape):
    rows = shape[0] * math.prod(shape[2:])
    return math.ceil(rank_ratio * min(rows, shape[1]))


def rank_per_cent(rank_ratio, shape):
    return math.ceil(rank_ratio / 100 * min(shape[0], math.prod(shape[1:])))


def rank_eight(rank_ratio, shape):
    return math.ceil(0.08 * min(shape[0], math.prod(shape[1:])))


def rank_dropped(rank_ratio, shape):
    k = min(shape[0], math.prod(shape[1:]))
    return k - math.ceil(rank_ratio * k)


def rank_no_ceil(rank_ratio, shape):
    return rank_ratio * min(shape[0], math.prod(shape[1:]))


def rank_numbers(rank_ratio, shape):
    return math.ceil(rank_ratio * math.prod(shape))


def rank_same_storage(rank_ratio, shape):
    m, n = shape[0], math.prod(shape[1:])
    return math.ceil(rank_ratio * m * n / (m + n))


def rank_in_times_one_side(rank_ratio, shape):
    n = shape[1] * (shape[2] if len(shape) > 2 else 1)
    return math.ceil(rank_ratio * min(shape[0], n))


def rank_sum_of_rest(rank_ratio, shape):
    return math.ceil(rank_ratio * min(shape[0], sum(shape[1:])))


def rank_upside_down(rank_ratio, shape):
    rows, *rest = shape
    columns = int(np.prod(rest))
    return int(-(-rank_ratio * min(rows, columns) // 1))


add("8.4", "rounded down", rank_floor)
add("8.4", "rounded to the nearest", rank_round)
add("8.4", "rounding up is int() + 1", rank_floor_plus_one)
add("8.4", "rounded down, but at least 1", rank_at_least_one)
add("8.4", "the larger side", rank_max)
add("8.4", "the smallest number in the shape, which may be the kernel", rank_min_of_all)
add("8.4", "out and in, forgot the kernel", rank_first_two)
add("8.4", "first and last number of the shape", rank_first_and_last)
add("8.4", "the rank is the number of outputs", rank_of_out)
add("8.4", "flattened as (out*kh*kw, in)", rank_other_flattening)
add("8.4", "gamma is given in per cent", rank_per_cent)
add("8.4", "8 %, as the title says", rank_eight)
add("8.4", "the rank that is cut away", rank_dropped)
add("8.4", "forgot to round", rank_no_ceil)
add("8.4", "a share of all the numbers in the weight", rank_numbers)
add("8.4", "a share of the storage: mn / (m + n)", rank_same_storage)
add("8.4", "in times kh, forgot kw", rank_in_times_one_side)
add("8.4", "added in, kh and kw instead of multiplying", rank_sum_of_rest)
add("8.4", "floor division of the negative number, turned again", rank_upside_down, True)


# ---- 8.5
def bell_no_own_factor(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int((sigma > sigma[0] / num_tasks).sum())


def bell_at_least(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int(((num_tasks - 1) * sigma >= sigma[0]).sum())


def bell_same_index(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int(((1 - 1 / num_tasks) * sigma > sigma / num_tasks).sum())


def bell_position(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int(((num_tasks - 1) * sigma > sigma[0]).sum()) + 1


def bell_last_index(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int(((num_tasks - 1) * sigma > sigma[0]).sum()) - 1


def bell_first_failing(sigma, num_tasks):
    sigma = np.asarray(sigma)
    own = (num_tasks - 1) * sigma
    return int(np.argmax(own <= sigma[0]))


def bell_after(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int(((num_tasks - 1) * sigma < sigma[0]).sum())


def bell_all_foreign_added(sigma, num_tasks):
    sigma = np.asarray(sigma)
    foreign = (num_tasks - 1) * sigma[0] / num_tasks
    return int((sigma > foreign).sum())


def bell_squares(sigma, num_tasks):
    energy = np.asarray(sigma) ** 2
    return int(((num_tasks - 1) * energy > energy[0]).sum())


def bell_mean_foreign(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int(((1 - 1 / num_tasks) * sigma > sigma.mean() / num_tasks).sum())


def bell_factors_swapped(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int((sigma / num_tasks > (1 - 1 / num_tasks) * sigma[0]).sum())


def bell_own_among_top(sigma, num_tasks):
    sigma = np.asarray(sigma)
    own = (1 - 1 / num_tasks) * sigma
    foreign = np.tile(sigma / num_tasks, num_tasks - 1)
    order = np.argsort(-np.concatenate([own, foreign]), kind="stable")[:len(sigma)]
    return int((order < len(sigma)).sum())


def bell_share(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return float(((num_tasks - 1) * sigma > sigma[0]).mean())


def bell_foreign_strength_unscaled(sigma, num_tasks):
    sigma = np.asarray(sigma)
    return int(((1 - 1 / num_tasks) * sigma > (1 / num_tasks)).sum())


def bell_rank_over_tasks(sigma, num_tasks):
    return len(sigma) // num_tasks


def bell_searchsorted(sigma, num_tasks):
    values = [float(s) for s in sigma]
    found = 0
    while found < len(values) and values[found] * (num_tasks - 1) > values[0]:
        found += 1
    return found


add("8.5", "forgot that the own ones shrink by 1 - 1/T", bell_no_own_factor)
add("8.5", "equally strong ones still come before", bell_at_least)
add("8.5", "compared with the foreign one of the same index", bell_same_index)
add("8.5", "the place of the first foreign one, counted from 1", bell_position)
add("8.5", "the index of the last own one, counted from 0", bell_last_index)
add("8.5", "argmax of the first that fails, forgot that none may fail", bell_first_failing)
add("8.5", "counted those after the first foreign one", bell_after)
add("8.5", "the foreign ones of T - 1 tasks add up", bell_all_foreign_added)
add("8.5", "compared the squares, with the factors left as they are", bell_squares)
add("8.5", "compared with the mean foreign one", bell_mean_foreign)
add("8.5", "the two factors swapped", bell_factors_swapped)
add("8.5", "how many own ones are among the first r of all", bell_own_among_top)
add("8.5", "as a share of the rank", bell_share)
add("8.5", "the foreign ones have the strength 1/T, as if sigma began at 1", bell_foreign_strength_unscaled)
add("8.5", "every task gets its share of the rank", bell_rank_over_tasks)
add("8.5", "walk down until one is not stronger than the strongest foreign one", bell_searchsorted, True)


# ---- 8.6
def over_plain(rows_i, rows_j, rank):
    return (rows_i[:rank] @ rows_j[:rank].T).norm()


def over_norm_of_kept(rows_i, rows_j, rank):
    a, b = rows_i[:rank], rows_j[:rank]
    return (a @ b.T).norm() / (a.norm() * b.norm())


def over_squared(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i.norm(), rows_j[:rank] / rows_j.norm()
    return ((a @ b.T) ** 2).sum()


def over_spectral(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i.norm(), rows_j[:rank] / rows_j.norm()
    return torch.linalg.matrix_norm(a @ b.T, ord=2)


def over_nuclear(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i.norm(), rows_j[:rank] / rows_j.norm()
    return torch.linalg.matrix_norm(a @ b.T, ord="nuc")


def over_sum_of_sigma(rows_i, rows_j, rank):
    a = rows_i[:rank] / rows_i.norm(dim=1).sum()
    b = rows_j[:rank] / rows_j.norm(dim=1).sum()
    return (a @ b.T).norm()


def over_no_sigma(rows_i, rows_j, rank):
    a = torch.nn.functional.normalize(rows_i[:rank], dim=1)
    b = torch.nn.functional.normalize(rows_j[:rank], dim=1)
    return (a @ b.T).norm()


def over_transposed(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i.norm(), rows_j[:rank] / rows_j.norm()
    return (a.T @ b).norm()


def over_trace(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i.norm(), rows_j[:rank] / rows_j.norm()
    return (a * b).sum().abs()


def over_columns(rows_i, rows_j, rank):
    a, b = rows_i[:, :rank] / rows_i.norm(), rows_j[:, :rank] / rows_j.norm()
    return (a @ b.T).norm()


def over_all_rows(rows_i, rows_j, rank):
    return ((rows_i / rows_i.norm()) @ (rows_j / rows_j.norm()).T).norm()


def over_sigma_max(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i[0].norm(), rows_j[:rank] / rows_j[0].norm()
    return (a @ b.T).norm()


def over_absolute_sum(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i.norm(), rows_j[:rank] / rows_j.norm()
    return (a @ b.T).abs().sum()


def over_one_norm(rows_i, rows_j, rank):
    return (rows_i[:rank] @ rows_j[:rank].T).norm() / rows_i.norm()


def over_same_norm_twice(rows_i, rows_j, rank):
    return (rows_i[:rank] @ rows_j[:rank].T).norm() / rows_i.norm() ** 2


def over_squared_norms(rows_i, rows_j, rank):
    return (rows_i[:rank] @ rows_j[:rank].T).norm() / (rows_i.norm() ** 2 * rows_j.norm() ** 2)


def over_one_more_row(rows_i, rows_j, rank):
    a, b = rows_i[:rank + 1] / rows_i.norm(), rows_j[:rank + 1] / rows_j.norm()
    return (a @ b.T).norm()


def over_norm_of_whole_product(rows_i, rows_j, rank):
    return (rows_i[:rank] @ rows_j[:rank].T).norm() / (rows_i @ rows_j.T).norm()


def over_by_grams(rows_i, rows_j, rank):
    head_i, head_j = rows_i[:rank], rows_j[:rank]
    inner = torch.einsum("an,an->a", head_i @ head_j.T @ head_j, head_i).sum()
    return torch.sqrt(inner.clamp(min=0) / ((rows_i ** 2).sum() * (rows_j ** 2).sum()))


add("8.6", "forgot to divide by the norms", over_plain)
add("8.6", "the norm of the kept singular values only", over_norm_of_kept)
add("8.6", "forgot the root: the squared norm", over_squared)
add("8.6", "the largest singular value as the norm", over_spectral)
add("8.6", "the nuclear norm", over_nuclear)
add("8.6", "the norm of the singular values is their sum", over_sum_of_sigma)
add("8.6", "rows made unit vectors: V only, sigma lost", over_no_sigma)
add("8.6", "transposed the wrong one: an n by n matrix", over_transposed)
add("8.6", "only row r with row r", over_trace)
add("8.6", "cut the columns instead of the rows", over_columns)
add("8.6", "forgot to cut", over_all_rows)
add("8.6", "divided by the largest singular value", over_sigma_max)
add("8.6", "the sum of absolute entries", over_absolute_sum)
add("8.6", "divided by the norm of i only", over_one_norm)
add("8.6", "divided by the norm of i twice (copy and paste)", over_same_norm_twice)
add("8.6", "divided by the squared norms", over_squared_norms)
add("8.6", "one row too many", over_one_more_row)
add("8.6", "as a share of the norm of the whole product", over_norm_of_whole_product)
add("8.6", "the trace of the product of the two Gram matrices, then the root", over_by_grams, True)


# ---- 8.7
def size_floor(low, high, margin):
    return int((1.96 * (high - low) / 2 / margin) ** 2)


def size_full_range(low, high, margin):
    return math.ceil((1.96 * (high - low) / margin) ** 2)


def size_no_square(low, high, margin):
    return math.ceil(1.96 * (high - low) / 2 / margin)


def size_ceil_inside(low, high, margin):
    return math.ceil(1.96 * (high - low) / 2 / margin) ** 2


def size_no_quantile(low, high, margin):
    return math.ceil(((high - low) / 2 / margin) ** 2)


def size_variance(low, high, margin):
    return math.ceil((1.96 * ((high - low) / 2) ** 2 / margin) ** 2)


def size_midpoint(low, high, margin):
    return math.ceil((1.96 * (high + low) / 2 / margin) ** 2)


def size_quarter(low, high, margin):
    return math.ceil((1.96 * (high - low) / 4 / margin) ** 2)


def size_uniform(low, high, margin):
    return math.ceil((1.96 * (high - low) / math.sqrt(12) / margin) ** 2)


def size_two(low, high, margin):
    return math.ceil((2 * (high - low) / 2 / margin) ** 2)


def size_one_sided(low, high, margin):
    return math.ceil((1.645 * (high - low) / 2 / margin) ** 2)


def size_precedence(low, high, margin):
    return math.ceil((1.96 * (high - low / 2) / margin) ** 2)


def size_square_on_quantile(low, high, margin):
    return math.ceil(1.96 ** 2 * (high - low) / 2 / margin)


def size_root_of_half(low, high, margin):
    return math.ceil(1.96 ** 2 * (high - low) / 2 / margin ** 2)


def size_no_ceil(low, high, margin):
    return (1.96 * (high - low) / 2 / margin) ** 2


def size_finite(low, high, margin):
    m = (1.96 * (high - low) / 2 / margin) ** 2
    return math.ceil(m / (1 + (m - 1) / 125970))


def size_eight_of_twenty(low, high, margin):
    return math.ceil((1.96 * (high - low) / 2 / margin) ** 2 / 8)


def size_per_cent(low, high, margin):
    return math.ceil((1.96 * (high - low) / 2 / (margin / 100)) ** 2)


def size_floor_plus_one(low, high, margin):
    return math.floor((1.96 * (high - low) / 2 / margin) ** 2) + 2


def size_negated_floor(low, high, margin):
    sigma = (high - low) / 2
    return int(-(-((1.96 * sigma / margin) ** 2) // 1))


add("8.7", "rounded down", size_floor)
add("8.7", "sigma is the whole range", size_full_range)
add("8.7", "forgot the square", size_no_square)
add("8.7", "rounded up before squaring", size_ceil_inside)
add("8.7", "forgot the 1.96", size_no_quantile)
add("8.7", "took sigma squared for sigma", size_variance)
add("8.7", "(high + low) / 2", size_midpoint)
add("8.7", "the range is four sigma", size_quarter)
add("8.7", "sigma of a uniform distribution, range over the root of 12", size_uniform)
add("8.7", "95 % is two sigma", size_two)
add("8.7", "the one-sided 95 % quantile", size_one_sided)
add("8.7", "high - low / 2 without brackets", size_precedence)
add("8.7", "the square on the 1.96 only", size_square_on_quantile)
add("8.7", "Popoviciu bounds the variance by (high - low) / 2", size_root_of_half)
add("8.7", "forgot to round", size_no_ceil)
add("8.7", "corrected for the finite number of subsets", size_finite)
add("8.7", "one subset holds 8 tasks, so an eighth of it is enough", size_eight_of_twenty)
add("8.7", "the margin is in per cent", size_per_cent)
add("8.7", "round up, and one more to be strictly within", size_floor_plus_one)
add("8.7", "minus the floor of minus", size_negated_floor, True)
