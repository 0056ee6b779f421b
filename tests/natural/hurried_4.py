"""Answers to exercises 0.1 to 8.7, written in a hurry from the tasks' texts alone, by somebody who had seen no check.
The checks had been taught with the other files: of these 135 wrong answers they told 123 apart, and accepted none.
(exercise, what its author thought, answer, whether it is right)."""
# ruff: noqa: F811
import math

import numpy as np
import torch
import torch.nn.functional as F

ANSWERS = []


def add(number, thought, answer, is_right=False):
    ANSWERS.append((number, thought, answer, is_right))


# What the notebook provides (`algorithms.expansion.gradient`, `algorithms.curvature.hessian_vector_product`)
def gradient(f, theta):
    return torch.func.grad(f)(theta)


def hessian_vector_product(f, theta, v):
    return torch.func.jvp(torch.func.grad(f), (theta,), (v,))[1]


# ---- 0.1
def between_brackets(a, b, alpha):
    return alpha * a + (1 - alpha * b)


def between_lerp(a, b, alpha):
    return torch.lerp(a, b, alpha)


def between_from_a(a, b, alpha):
    return a + alpha * (a - b)


def between_right(a, b, alpha):
    return b + alpha * (a - b)


add("0.1", "alpha a plus one minus alpha b, with the bracket closed too late", between_brackets)
add("0.1", "torch has lerp for this, and the arguments come in the order a, b, alpha", between_lerp)
add("0.1", "start at a and walk alpha of the difference", between_from_a)
add("0.1", "start at b and walk the share alpha of the way to a", between_right, is_right=True)


# ---- 1.1
def interpolate_and_cast_back(a, b, alpha):
    return {name: (alpha * a[name] + (1 - alpha) * b[name]).to(a[name].dtype) for name in a}


def interpolate_into_b(a, b, alpha):
    result = b
    for name in a:
        if a[name].is_floating_point():
            result[name] = alpha * a[name] + (1 - alpha) * b[name]
        else:
            result[name] = a[name]
    return result


def interpolate_without_counters(a, b, alpha):
    result = {}
    for name in a:
        if not a[name].is_floating_point():
            continue
        result[name] = alpha * a[name] + (1 - alpha) * b[name]
    return result


def interpolate_right(a, b, alpha):
    result = {name: tensor.clone() for name, tensor in a.items()}
    for name, tensor in result.items():
        if torch.is_floating_point(tensor):
            tensor.mul_(alpha).add_(b[name], alpha=1 - alpha)
    return result


add("1.1", "mix everything and cast to the old dtype, then the counters are whole numbers again",
    interpolate_and_cast_back)
add("1.1", "take b as the result and overwrite each entry with the mix", interpolate_into_b)
add("1.1", "counters must not be averaged, so leave them out", interpolate_without_counters)
add("1.1", "clone a, and mix b in where the tensor is a float", interpolate_right, is_right=True)


# ---- 1.2
def barrier_over_worse_end(losses, alphas):
    return float(np.max(losses) - max(losses[0], losses[-1]))


def barrier_ends_swapped(losses, alphas):
    losses, alphas = np.asarray(losses), np.asarray(alphas)
    return float((losses - alphas * losses[0] - (1 - alphas) * losses[-1]).max())


def barrier_in_the_middle(losses, alphas):
    k = int(np.argmin(np.abs(np.asarray(alphas) - 0.5)))
    return float(losses[k] - 0.5 * losses[0] - 0.5 * losses[-1])


def barrier_right(losses, alphas):
    heights = []
    for loss, alpha in zip(losses, alphas):
        heights.append(float(loss) - float(alpha) * float(losses[-1]) - (1 - float(alpha)) * float(losses[0]))
    return sorted(heights)[-1]


add("1.2", "the barrier is how far the highest loss lies above the worse of the two networks", barrier_over_worse_end)
add("1.2", "i comes first, so theta_i is the first loss", barrier_ends_swapped)
add("1.2", "the barrier is always in the middle, at alpha one half", barrier_in_the_middle)
add("1.2", "a loop over the points, then sort and take the last", barrier_right, is_right=True)


# ---- 1.3
def gap_to_each(features_alpha, features_i, features_j, alpha):
    to_i = F.cosine_similarity(features_alpha, features_i, dim=1)
    to_j = F.cosine_similarity(features_alpha, features_j, dim=1)
    return 1 - (alpha * to_i + (1 - alpha) * to_j)


def gap_axis_zero(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - F.cosine_similarity(features_alpha, mixed, dim=0)


def gap_of_unit_vectors(features_alpha, features_i, features_j, alpha):
    unit_i = features_i / features_i.norm(dim=1, keepdim=True)
    unit_j = features_j / features_j.norm(dim=1, keepdim=True)
    return 1 - F.cosine_similarity(features_alpha, alpha * unit_i + (1 - alpha) * unit_j, dim=1)


def gap_right(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 0.5 * (F.normalize(features_alpha, dim=-1) - F.normalize(mixed, dim=-1)).square().sum(-1)


add("1.3", "mix the two cosines with the shares alpha and 1 - alpha", gap_to_each)
add("1.3", "samples are axis 0, so dim=0", gap_axis_zero)
add("1.3", "cosine ignores lengths, so scale both features to length 1 before the mix", gap_of_unit_vectors)
add("1.3", "half the squared distance of the two unit vectors is 1 - cosine", gap_right, is_right=True)


# ---- 1.4
def coef_projection(a, b):
    return (a * b).sum(1) / b.norm(dim=1)


def coef_whole_norms(a, b):
    return torch.norm(a) * F.cosine_similarity(a, b, dim=1) / torch.norm(b)


def coef_other_way(a, b):
    return (a * b).sum(-1) / (a * a).sum(-1)


def coef_right(a, b):
    return torch.stack([torch.dot(x, y) / torch.dot(y, y) for x, y in zip(a, b)])


add("1.4", "the length of a times the cosine is the projection, a.b over the norm of b", coef_projection)
add("1.4", "write the formula as it is there, torch.norm for the norms", coef_whole_norms)
add("1.4", "it shortens to a.b divided by the squared length of the first", coef_other_way)
add("1.4", "a dot product per sample over the squared length of b", coef_right, is_right=True)


# ---- 1.5
def worst_over_largest_distance(gap, own):
    share = gap.max("alpha") / own.max()
    flat = share.stack(place=("pair", "layer"))
    return flat.place.values[int(flat.values.argmax())]


def worst_by_layer_mean(gap, own):
    share = (gap.max("alpha") / own.mean("pair")).stack(place=("pair", "layer"))
    return share.idxmax("place").item()


def worst_layer_first(gap, own):
    share = (gap.max("alpha") / own).stack(place=("layer", "pair"))
    return share.idxmax("place").item()


def worst_right(gap, own):
    best, where = -math.inf, None
    for pair in gap.pair.values:
        for layer in gap.layer.values:
            ratio = float(gap.sel(pair=pair, layer=layer).max()) / float(own.sel(pair=pair, layer=layer))
            if ratio > best:
                best, where = ratio, (pair, layer)
    return where


add("1.5", "divide by the largest distance of all, then it is a share", worst_over_largest_distance)
add("1.5", "every layer has its own scale, so divide by the mean distance in the layer", worst_by_layer_mean)
add("1.5", "stack layer and pair and take the index of the maximum", worst_layer_first)
add("1.5", "two loops, keep the largest ratio so far", worst_right, is_right=True)


# ---- 2.1
def statistics_image_by_image(h):
    return h.mean(dim=(0, 2, 3)), h.var(dim=(2, 3), unbiased=False).mean(0)


def statistics_default_var(h):
    flat = h.transpose(0, 1).flatten(1)
    return flat.mean(1), flat.var(1)


def statistics_of_pooled(h):
    pooled = h.mean(dim=(2, 3))
    return pooled.mean(0), pooled.var(0, unbiased=False)


def statistics_right(h):
    count = h.numel() // h.shape[1]
    mean = h.sum(dim=(0, 2, 3)) / count
    return mean, torch.einsum("schw,schw->c", h, h) / count - mean ** 2


add("2.1", "the variance over every image, averaged over the images", statistics_image_by_image)
add("2.1", "flatten per channel and call mean and var", statistics_default_var)
add("2.1", "first pool the height and the width away, then mean and variance over the samples", statistics_of_pooled)
add("2.1", "mean of the square minus the square of the mean", statistics_right, is_right=True)


# ---- 2.2
def mixed_variance_without_root(var_i, var_j, correlation, alpha):
    return alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + 2 * alpha * (1 - alpha) * correlation * var_i * var_j


def mixed_variance_alpha_not_squared(var_i, var_j, correlation, alpha):
    return alpha * var_i + (1 - alpha) * var_j + 2 * alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5


def mixed_variance_correlation_is_covariance(var_i, var_j, correlation, alpha):
    return alpha ** 2 * var_i + (1 - alpha) ** 2 * var_j + 2 * alpha * (1 - alpha) * correlation


def mixed_variance_right(var_i, var_j, correlation, alpha):
    s, t = alpha * var_i ** 0.5, (1 - alpha) * var_j ** 0.5
    return (s + t) ** 2 - 2 * (1 - correlation) * s * t


add("2.2", "E[ab] is the correlation times both variances", mixed_variance_without_root)
add("2.2", "variances mix with alpha and 1 - alpha, plus the mixed term", mixed_variance_alpha_not_squared)
add("2.2", "E[ab] is the correlation", mixed_variance_correlation_is_covariance)
add("2.2", "the square of the sum of both deviations, less what the correlation misses", mixed_variance_right,
    is_right=True)


# ---- 2.4
add("2.4", "the test set of CIFAR-100 is 100 classes of 100 images", 10_000)
add("2.4", "20,000 / 500 is 40 classes, half of them in each task, 100 images of each", 2_000)
add("2.4", "40 classes of 500 + 100 images", 24_000)
# Its author took it for right; chapter 2 says that a task has five classes.
add("2.4", "20,000 is 40 classes of 500, which are training images; the test has 100 of each", 40 * 100)


# ---- 2.5
def paired_independent(right_a, right_b):
    p, q, n = right_a.float().mean(), right_b.float().mean(), len(right_a)
    return (p - q).item(), torch.sqrt(p * (1 - p) / n + q * (1 - q) / n).item()


def paired_variance(right_a, right_b):
    difference = right_a.float() - right_b.float()
    return difference.mean().item(), difference.var().item() / math.sqrt(len(difference))


def paired_disagreement(right_a, right_b):
    disagree = (right_a != right_b).float()
    return (right_a.float().mean() - right_b.float().mean()).item(), (disagree.std() / len(disagree) ** 0.5).item()


def paired_right(right_a, right_b):
    n = len(right_a)
    only_a, only_b = int((right_a & ~right_b).sum()), int((right_b & ~right_a).sum())
    mean = (only_a - only_b) / n
    return mean, math.sqrt((only_a + only_b) / n - mean ** 2) / math.sqrt(n)


add("2.5", "the variances of two accuracies add", paired_independent)
add("2.5", "the variance of the difference over the root of the number", paired_variance)
add("2.5", "the difference image by image is whether the two disagree", paired_disagreement)
add("2.5", "count the images that only one of them gets right", paired_right, is_right=True)


# ---- 2.6
def last_batch_modulo(images, batch_size):
    return images % batch_size


def last_batch_rounded(images, batch_size):
    return images - round(images / batch_size) * batch_size


def last_batch_missing(images, batch_size):
    return batch_size - images % batch_size


def last_batch_right(images, batch_size):
    return (images - 1) % batch_size + 1


add("2.6", "the remainder", last_batch_modulo)
add("2.6", "take away the full batches, round(images / batch_size) of them", last_batch_rounded)
add("2.6", "the last batch is short by the remainder", last_batch_missing)
add("2.6", "number from 0, the last image stands at (images - 1) % batch_size", last_batch_right, is_right=True)


# ---- 3.1
def average_first_unscaled(states, shares):
    result = {name: tensor.clone() for name, tensor in states[0].items()}
    for state, share in zip(states[1:], shares[1:]):
        for name in result:
            if result[name].is_floating_point():
                result[name] += share * state[name]
    return result


def average_last_counter(states, shares):
    result = {}
    for state, share in zip(states, shares):
        for name, tensor in state.items():
            if tensor.is_floating_point():
                result[name] = result.get(name, 0) + share * tensor
            else:
                result[name] = tensor
    return result


def average_one_by_one(states, shares):
    result = dict(states[0])
    for state, share in zip(states[1:], shares[1:]):
        for name, tensor in state.items():
            if tensor.is_floating_point():
                result[name] = (1 - share) * result[name] + share * tensor
    return result


def average_right(states, shares):
    first = states[0]
    return {name: torch.einsum("k,k...->...", torch.tensor(shares, dtype=first[name].dtype),
                               torch.stack([state[name] for state in states]))
            if first[name].dtype.is_floating_point else first[name].clone() for name in first}


add("3.1", "start with the first state dict and add the share of each of the others", average_first_unscaled)
add("3.1", "add up the floats, copy the counters", average_last_counter)
add("3.1", "interpolate as in chapter 1, one network after another", average_one_by_one)
add("3.1", "stack and contract with the shares", average_right, is_right=True)


# ---- 3.2
def ensemble_sum(logits):
    return logits.sum(0)


def ensemble_probabilities(logits):
    return logits.softmax(-1).mean(0)


def ensemble_most_confident(logits):
    return logits.max(dim=0).values


def ensemble_right(logits):
    return torch.einsum("msc,m->sc", logits, torch.full((len(logits),), 1 / len(logits), dtype=logits.dtype))


add("3.2", "the ensemble adds up what the networks say, the argmax stays the same", ensemble_sum)
add("3.2", "average the predicted probabilities", ensemble_probabilities)
add("3.2", "for every class the most confident network counts", ensemble_most_confident)
add("3.2", "contract with equal shares", ensemble_right, is_right=True)


# ---- 3.4
def first_layer_relu_first(before):
    return torch.relu(before).mean(0)


def first_layer_no_relu(before):
    return before.mean(0)


def first_layer_sum(before):
    return before.sum(0).relu()


def first_layer_right(before):
    mean = sum(before) / len(before)
    return torch.where(mean > 0, mean, torch.zeros_like(mean))


add("3.4", "the features of every network, then their average", first_layer_relu_first)
add("3.4", "a layer is linear, so the average of W x + b is all there is", first_layer_no_relu)
add("3.4", "the ReLU does not care for the factor, so the sum will do", first_layer_sum)
add("3.4", "average first, then cut off below 0 with where", first_layer_right, is_right=True)


# ---- 3.3
def soup_against_first(held_out, accuracy_of):
    order = sorted(range(len(held_out)), key=lambda i: -held_out[i])
    soup, best = [order[0]], held_out[order[0]]
    for i in order[1:]:
        if accuracy_of(soup + [i]) >= best:
            soup.append(i)
    return soup


def soup_against_candidate(held_out, accuracy_of):
    order = np.argsort(held_out)[::-1].tolist()
    soup = [order[0]]
    for i in order[1:]:
        if accuracy_of(soup + [i]) >= held_out[i]:
            soup.append(i)
    return soup


def soup_best_next(held_out, accuracy_of):
    left = set(range(len(held_out)))
    soup = [int(np.argmax(held_out))]
    best = held_out[soup[0]]
    left.discard(soup[0])
    while left:
        i = max(sorted(left), key=lambda j: accuracy_of(soup + [j]))
        if accuracy_of(soup + [i]) < best:
            break
        best = accuracy_of(soup + [i])
        soup.append(i)
        left.discard(i)
    return soup


def soup_right(held_out, accuracy_of):
    ranked = [i for _, i in sorted((-score, i) for i, score in enumerate(held_out))]

    def extend(soup, best, rest):
        if not rest:
            return soup
        score = accuracy_of(soup + rest[:1])
        if score >= best:
            return extend(soup + rest[:1], score, rest[1:])
        return extend(soup, best, rest[1:])

    return extend(ranked[:1], held_out[ranked[0]], ranked[1:])


add("3.3", "keep a network if the soup is as good as the best single network", soup_against_first)
add("3.3", "keep a network if the soup with it is better than it alone", soup_against_candidate)
add("3.3", "greedy: each time take the network that helps most, stop when none does", soup_best_next)
add("3.3", "best first, recursion over the rest", soup_right, is_right=True)


# ---- 3.5
def base_of_mean_features(average, features):
    return F.cosine_similarity(average, features.mean(0), dim=-1)


def base_per_model(average, features):
    return F.cosine_similarity(average[None], features, dim=-1).mean(-1)


def base_best_single(average, features):
    return F.cosine_similarity(average.unsqueeze(0), features, dim=2).max(0).values


def base_right(average, features):
    directions = F.normalize(features, dim=-1).mean(0)
    return torch.einsum("sw,sw->s", F.normalize(average, dim=-1), directions)


add("3.5", "pull the mean over the models into the cosine", base_of_mean_features)
add("3.5", "cosine along the width and then the mean over the last axis", base_per_model)
add("3.5", "how well does a single model fit: the one that fits best", base_best_single)
add("3.5", "the dot product with the mean of the unit vectors", base_right, is_right=True)


# ---- 3.7
def pairs_both_orders(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(k) if i != j)


def pairs_with_diagonal(halfway, shares):
    k = len(shares)
    total = torch.zeros_like(halfway[0, 0])
    for i in range(k):
        for j in range(i, k):
            total = total + 4 * shares[i] * shares[j] * halfway[i, j]
    return total


def pairs_off_by_one(halfway, shares):
    k = len(shares)
    total = 0
    for i in range(k - 1):
        for j in range(i + 1, k - 1):
            total = total + 4 * shares[i] * shares[j] * halfway[i, j]
    return total + torch.zeros_like(halfway[0, 0])


def pairs_right(halfway, shares):
    everything = torch.einsum("i,j,ij...->...", shares, shares, halfway)
    diagonal = torch.einsum("i,ii...->...", shares ** 2, halfway)
    return 2 * (everything - diagonal)


add("3.7", "halfway is symmetric, so every pair of different networks counts", pairs_both_orders)
add("3.7", "half of the matrix, from the diagonal on", pairs_with_diagonal, is_right=True)  # m_ii is 0
add("3.7", "both loops to k - 1, as the indices start at 0", pairs_off_by_one)
add("3.7", "the whole sum without its diagonal, and half of it", pairs_right, is_right=True)


# ---- 4.1
def edited_adds_finetuned(base, finetuned, lam):
    return {name: base[name] + lam * finetuned[name] if base[name].is_floating_point() else base[name]
            for name in base}


def edited_from_finetuned(base, finetuned, lam):
    result = {}
    for name in base:
        if "num_batches_tracked" in name:
            result[name] = base[name].clone()
        else:
            result[name] = finetuned[name] + lam * (finetuned[name] - base[name])
    return result


def edited_counter_of_finetuned(base, finetuned, lam):
    result = dict(finetuned)
    for name, weight in base.items():
        if weight.is_floating_point():
            result[name] = weight + lam * (finetuned[name] - weight)
    return result


def edited_right(base, finetuned, lam):
    return {name: torch.lerp(weight, finetuned[name], lam) if weight.is_floating_point() else weight.clone()
            for name, weight in base.items()}


add("4.1", "the task vector is what was finetuned, add lam of it", edited_adds_finetuned)
add("4.1", "walk on from the finetuned network along tau", edited_from_finetuned)
add("4.1", "copy the finetuned dict, and replace the weights in it", edited_counter_of_finetuned)
add("4.1", "lerp goes from base to finetuned, and beyond", edited_right, is_right=True)


# ---- 4.2
add("4.2", "the base counts as well, so all three get the same share: 1 - 2 lam = lam", 1 / 3)
add("4.2", "a sum of both task vectors as they are, so 1", 1.0)
add("4.2", "half for the average, and half again since there are two task vectors", 0.25)
add("4.2", "nothing of the base may be left, 1 - 2 lam = 0", 2 ** -1, is_right=True)


# ---- 4.3
def shares_base_whole(lams):
    return torch.cat([torch.ones(1, dtype=lams.dtype), lams])


def shares_normalised(lams):
    shares = torch.cat([torch.ones(1, dtype=lams.dtype), lams])
    return shares / shares.sum()


def shares_left_over_product(lams):
    return torch.cat([(1 - lams).prod().reshape(1), lams])


def shares_right(lams):
    return torch.eye(1 + len(lams), dtype=lams.dtype)[0] + F.pad(lams, (1, 0)) - F.pad(
        lams.sum().reshape(1), (0, len(lams)))


add("4.3", "theta_0 stands there with the factor 1", shares_base_whole)
add("4.3", "1 and the lambdas, divided by their sum so that the shares sum to 1", shares_normalised)
add("4.3", "each task leaves 1 - lambda of the base", shares_left_over_product)
add("4.3", "a unit vector plus the lambdas, less their sum at the first place", shares_right, is_right=True)


# ---- 4.4
def arith_of_unit_vectors(middle, a, b):
    return F.cosine_similarity(middle, F.normalize(a, dim=-1) + F.normalize(b, dim=-1), dim=-1)


def arith_distance(middle, a, b):
    return 1 - F.cosine_similarity(middle, (a + b) / 2, dim=-1)


def arith_mean_of_cosines(middle, a, b):
    return (F.cosine_similarity(middle, a, dim=1) + F.cosine_similarity(middle, b, dim=1)) / 2


def arith_right(middle, a, b):
    total = a + b
    return torch.einsum("sw,sw->s", middle, total) / torch.linalg.vector_norm(middle, dim=1) / torch.sqrt(
        torch.einsum("sw,sw->s", total, total))


add("4.4", "only directions count, so bring a and b to length 1 first", arith_of_unit_vectors)
add("4.4", "one minus the cosine as in chapter 1", arith_distance)
add("4.4", "half the cosine with a plus half the cosine with b", arith_mean_of_cosines)
add("4.4", "the half drops out, so a + b will do", arith_right, is_right=True)


# ---- 4.5
def slope_is_the_second(x, y):
    return float(np.polyfit(np.log(x), np.log(y), 1)[1])


def slope_through_origin(x, y):
    u, v = np.log(x), np.log(y)
    return float((u * v).sum() / (u * u).sum())


def slope_half_logarithmic(x, y):
    return float(np.polyfit(x, np.log(y), 1)[0])


def slope_right(x, y):
    u, v = np.log2(np.asarray(x, float)), np.log2(np.asarray(y, float))
    return float(np.cov(u, v)[0, 1] / np.var(u, ddof=1))


add("4.5", "polyfit gives intercept and slope", slope_is_the_second)
add("4.5", "least squares: sum of the products over the sum of the squares", slope_through_origin)
add("4.5", "take the logarithm of y and fit a line", slope_half_logarithmic)
add("4.5", "covariance over variance, to base 2", slope_right, is_right=True)


# ---- 4.7
def negated_difference(at_base, at_finetuned):
    return at_base - at_finetuned


def negated_twice(at_base, at_finetuned):
    delta = at_base - at_finetuned
    return at_base - delta


def negated_mean_change(at_base, at_finetuned):
    delta = (at_finetuned - at_base).mean(0)
    return at_base - delta


def negated_right(at_base, at_finetuned):
    return torch.lerp(at_base, at_finetuned, -1.0)


add("4.7", "the base minus the finetuned features, that is the negation", negated_difference)
add("4.7", "Delta is base minus finetuned, and subtract it", negated_twice)
add("4.7", "Delta is the mean change of the features over the samples", negated_mean_change)
add("4.7", "walk as far in the opposite direction", negated_right, is_right=True)


# ---- 5.1
def permute_above_inverse(weight, bias, weight_above, permutation):
    back = torch.argsort(torch.as_tensor(permutation))
    return weight[permutation], bias[permutation], weight_above[:, back]


def permute_forgets_bias(weight, bias, weight_above, permutation):
    return weight[permutation], bias, weight_above[:, permutation]


def permute_scatter(weight, bias, weight_above, permutation):
    new_weight, new_bias, new_above = weight.clone(), bias.clone(), weight_above.clone()
    for i, p in enumerate(permutation):
        new_weight[p], new_bias[p], new_above[:, p] = weight[i], bias[i], weight_above[:, i]
    return new_weight, new_bias, new_above


def permute_right(weight, bias, weight_above, permutation):
    order = torch.as_tensor(permutation)
    matrix = torch.eye(len(bias), dtype=weight.dtype)[order]
    return matrix @ weight, matrix @ bias, weight_above @ matrix.T


add("5.1", "the layer above has to undo the permutation, so its inverse", permute_above_inverse)
add("5.1", "rows below and columns above, and leave the rest", permute_forgets_bias)
add("5.1", "unit i moves to the place permutation[i]", permute_scatter)
add("5.1", "with a permutation matrix P: P W, P b, W P^T", permute_right, is_right=True)


# ---- 5.4
add("5.4", "a weight goes from its inputs to its outputs, so the inputs come first", {
    "layers.0.weight": (None, "layer 1"), "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 1", "layer 2"), "layers.1.bias": ("layer 2",),
    "layers.2.weight": ("layer 2", None), "layers.2.bias": (None,)})
add("5.4", "a bias has one axis, one entry in brackets", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": ("layer 1"),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": ("layer 2"),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": (None)})
add("5.4", "biases belong to no inputs, so nothing may be permuted in them", {
    "layers.0.weight": ("layer 1", None), "layers.0.bias": (None,),
    "layers.1.weight": ("layer 2", "layer 1"), "layers.1.bias": (None,),
    "layers.2.weight": (None, "layer 2"), "layers.2.bias": (None,)})

plan_right = {}
axes = [None, "layer 1", "layer 2", None]
for layer in range(3):
    plan_right[f"layers.{layer}.weight"] = (axes[layer + 1], axes[layer])
    plan_right[f"layers.{layer}.bias"] = (axes[layer + 1],)
add("5.4", "in a loop over the layers, outputs first", plan_right, is_right=True)


# ---- 5.2
def gain_transposed(features_a, features_b):
    return features_b.T @ features_a / len(features_a)


def gain_on_or_off(features_a, features_b):
    on_a, on_b = (features_a > 0).float(), (features_b > 0).float()
    return on_a.T @ on_b / len(on_a)


def gain_over_units(features_a, features_b):
    return features_a.T @ features_b / features_a.shape[1]


def gain_right(features_a, features_b):
    return (features_a[:, :, None] * features_b[:, None, :]).mean(0)


add("5.2", "b transposed times a, over the samples", gain_transposed)
add("5.2", "which units are on together: the share of the images where both are above 0", gain_on_or_off)
add("5.2", "the product divided by the size", gain_over_units)
add("5.2", "all outer products, and their mean", gain_right, is_right=True)


# ---- 5.6
def second_order_no_half(f, theta_0, theta_i, theta_j, alpha):
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) * d @ hessian_vector_product(f, theta_0, d))


def second_order_from_base(f, theta_0, theta_i, theta_j, alpha):
    d = theta_i - theta_0
    return float(alpha * (1 - alpha) / 2 * (d @ hessian_vector_product(f, theta_0, d)))


def second_order_at_the_mix(f, theta_0, theta_i, theta_j, alpha):
    d = theta_i - theta_j
    here = alpha * theta_i + (1 - alpha) * theta_j
    return float(alpha * (1 - alpha) / 2 * torch.dot(d, hessian_vector_product(f, here, d)))


def second_order_right(f, theta_0, theta_i, theta_j, alpha):
    d = theta_i - theta_j
    hessian = torch.func.hessian(f)(theta_0)
    return torch.einsum("p,pq,q->", d, hessian, d).item() * alpha * (1 - alpha) / 2


add("5.6", "alpha (1 - alpha) times d H d", second_order_no_half)
add("5.6", "d is the way from theta_0 to theta_i", second_order_from_base)
add("5.6", "the curvature on the line, at the network in between", second_order_at_the_mix)
add("5.6", "make the Hessian all the same, it is small", second_order_right, is_right=True)


# ---- 5.7
def power_rayleigh(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        w = product(v)
        v = w / w.norm()
    return float(v @ product(v))


def power_never_scaled(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
    return float(v.norm())


def power_largest_entry(product, start, steps):
    v = start / start.norm()
    length = 0.0
    for _ in range(steps):
        v = product(v)
        length = v.abs().max()
        v = v / length
    return float(length)


def power_right(product, start, steps):
    lengths, vectors = [], [start / torch.sqrt((start ** 2).sum())]
    while len(lengths) < steps:
        image = product(vectors[-1])
        lengths.append(torch.sqrt((image ** 2).sum()).item())
        vectors.append(image / lengths[-1])
    return lengths[-1]


add("5.7", "after the loop v is the eigenvector, so v H v is the eigenvalue", power_rayleigh)
add("5.7", "apply the product steps times and take the length", power_never_scaled)
add("5.7", "divide by the largest entry each time so that it stays near 1", power_largest_entry)
add("5.7", "collect lengths and vectors in lists", power_right, is_right=True)


# ---- 6.1
def one_step_weights(f, theta, eta):
    return theta - eta * gradient(f, theta)


def one_step_plus(f, theta, eta):
    return eta * gradient(f, theta)


def one_step_of_length_eta(f, theta, eta):
    g = gradient(f, theta)
    return -eta * g / g.norm()


def one_step_right(f, theta, eta):
    weights = theta.detach().clone().requires_grad_(True)
    optimiser = torch.optim.SGD([weights], lr=eta)
    f(weights).backward()
    optimiser.step()
    return weights.detach() - theta


add("6.1", "gradient descent: theta minus eta times the gradient", one_step_weights)
add("6.1", "the task vector is the step, eta times the gradient", one_step_plus)
add("6.1", "the step has the size eta, so the gradient has to be scaled to length 1", one_step_of_length_eta)
add("6.1", "let SGD do the step, and subtract", one_step_right, is_right=True)


# ---- 6.2
def mismatch_sign(gradients, alpha):
    return gradients - alpha * gradients.sum(0)


def mismatch_of_others(gradients, alpha):
    others = gradients.sum(0, keepdim=True) - gradients
    return alpha * others - gradients


def mismatch_axis(gradients, alpha):
    return alpha * gradients.sum(1, keepdim=True) - gradients


def mismatch_right(gradients, alpha):
    tasks = len(gradients)
    matrix = torch.full((tasks, tasks), float(alpha), dtype=gradients.dtype) - torch.eye(tasks, dtype=gradients.dtype)
    return matrix @ gradients


add("6.2", "its own gradient minus the joint one", mismatch_sign)
add("6.2", "t' are the other tasks", mismatch_of_others)
add("6.2", "alpha times the sum of the gradients, kept as an axis, minus each", mismatch_axis)
add("6.2", "a matrix of alphas minus the identity, times the gradients", mismatch_right, is_right=True)


# ---- 6.3
def order_halved(eta_a, error_a, eta_b, error_b):
    return float(np.log2(error_a / error_b))


def order_plain_ratio(eta_a, error_a, eta_b, error_b):
    return float((error_a / error_b) / (eta_a / eta_b))


def order_of_differences(eta_a, error_a, eta_b, error_b):
    return float(np.log(abs(error_a - error_b)) / np.log(abs(eta_a - eta_b)))


def order_right(eta_a, error_a, eta_b, error_b):
    return math.log(error_b / error_a, eta_b / eta_a)


add("6.3", "one halves the step, and looks how many factors 2 the error loses", order_halved)
add("6.3", "how many times faster the error falls than the step", order_plain_ratio)
add("6.3", "log of the difference of the errors over log of the difference of the steps", order_of_differences)
add("6.3", "the logarithm of the ratio of errors to the base of the ratio of steps", order_right, is_right=True)


# ---- 6.5
def hessian_vector_first_output(f, theta, v):
    product, _ = torch.func.jvp(torch.func.grad(f), (theta,), (v,))
    return product


def hessian_vector_swapped(f, theta, v):
    return torch.func.jvp(torch.func.grad(f), (v,), (theta,))[1]


def hessian_vector_whole_step(f, theta, v):
    g = torch.func.grad(f)
    return g(theta + v) - g(theta)


def hessian_vector_right(f, theta, v):
    g = torch.func.grad(f)

    def along(x):
        return (g(x) * v).sum()

    return torch.func.grad(along)(theta)


add("6.5", "jvp gives the product first", hessian_vector_first_output)
add("6.5", "vector first, then where", hessian_vector_swapped)
add("6.5", "how much the gradient changes when one walks along v", hessian_vector_whole_step)
add("6.5", "the gradient of (gradient times v)", hessian_vector_right, is_right=True)


# ---- 7.1
def trimmed_drops(vector, density):
    flat = vector.flatten().clone()
    k = int(density * flat.numel())
    flat[flat.abs().argsort()[:k]] = 0
    return flat.view_as(vector)


def trimmed_signless(vector, density):
    k = math.floor(density * vector.numel())
    top = vector.abs().flatten().topk(k)
    result = torch.zeros(vector.numel(), dtype=vector.dtype)
    result[top.indices] = top.values
    return result.reshape(vector.shape)


def trimmed_largest_values(vector, density):
    flat = vector.reshape(-1)
    keep = torch.topk(flat, int(density * len(flat))).indices
    result = torch.zeros_like(flat)
    result[keep] = flat[keep]
    return result.reshape(vector.shape)


def trimmed_right(vector, density):
    magnitude = vector.abs().flatten()
    place = magnitude.argsort(descending=True, stable=True).argsort()
    return vector * (place < math.floor(density * vector.numel())).view(vector.shape)


add("7.1", "set the density * n smallest to 0", trimmed_drops)
add("7.1", "topk of the magnitudes, put back at their places", trimmed_signless)
add("7.1", "topk gives the largest entries", trimmed_largest_values)
add("7.1", "rank the magnitudes, and keep the ranks below density * n", trimmed_right, is_right=True)


# ---- 7.2
def elected_majority(stack):
    return torch.sign(torch.sign(stack).sum(0))


def elected_strongest(stack):
    strongest = stack.abs().argmax(0, keepdim=True)
    return stack.gather(0, strongest).squeeze(0).sign()


def elected_never_zero(stack):
    total = stack.sum(0)
    return torch.where(total >= 0, torch.ones_like(total), -torch.ones_like(total))


def elected_right(stack):
    total = torch.einsum("t...->...", stack)
    return (total > 0).to(stack.dtype) - (total < 0).to(stack.dtype)


add("7.2", "a vote: every task has one voice, its sign", elected_majority)
add("7.2", "the task with the largest magnitude decides", elected_strongest)
add("7.2", "plus 1 if the sum is at least 0, otherwise minus 1", elected_never_zero)
add("7.2", "above 0 minus below 0", elected_right, is_right=True)


# ---- 7.3
add("7.3", "only 3.0 has the elected sign, over two tasks", 1.5)
add("7.3", "the positive one wins, and the sum of both remains", 2.0)
add("7.3", "one plus and one minus is a tie, so nothing is elected", 0.0)
add("7.3", "plus is elected since the sum is 2, and the mean over the winner is itself", float(max(3.0, -1.0)),
    is_right=True)


# ---- 7.4
def mean_over_all_tasks(stack):
    sign = stack.sum(0).sign()
    return torch.where(stack.sign() == sign, stack, torch.zeros_like(stack)).mean(0)


def mean_counts_zeros(stack):
    sign = stack.sum(0).sign()
    agree = stack * sign >= 0
    return (stack * agree).sum(0) / agree.sum(0).clamp(min=1)


def mean_of_majority(stack):
    sign = stack.sign().sum(0).sign()
    agree = (stack.sign() == sign) & (sign != 0)
    return (stack * agree).sum(0) / agree.sum(0).clamp(min=1)


def mean_of_those_right(stack):
    sign = torch.sign(stack.sum(0))
    chosen = torch.where(stack * sign > 0, stack, torch.full_like(stack, float("nan")))
    return torch.nan_to_num(torch.nanmean(chosen, dim=0), nan=0.0)


add("7.4", "set those who lost to 0 and take the mean", mean_over_all_tasks)
add("7.4", "agree means that value times sign is not negative", mean_counts_zeros)
add("7.4", "the sign that most tasks have, and the mean of these", mean_of_majority)
add("7.4", "those who lost become nan, then nanmean", mean_of_those_right, is_right=True)


# ---- 7.5
def normalised_ratio_of_means(accuracy, own):
    return accuracy.mean() / own.mean()


def normalised_capped(accuracy, own):
    return (accuracy / own).clamp(max=1).mean()


def normalised_inverse(accuracy, own):
    return torch.mean(own / accuracy)


def normalised_right(accuracy, own):
    return torch.dot(accuracy, own.reciprocal()) / len(own)


add("7.5", "mean accuracy over the mean of the own networks", normalised_ratio_of_means)
add("7.5", "a normalised accuracy lies between 0 and 1, so cut it off there", normalised_capped)
add("7.5", "divide the own network's by it", normalised_inverse)
add("7.5", "a dot product with the reciprocals", normalised_right, is_right=True)


# ---- 7.6
def centred_each_tensor(finetuned):
    return [{name: w - w.mean() if w.is_floating_point() else w for name, w in state.items()} for state in finetuned]


def centred_on_the_others(finetuned):
    result = []
    for t, state in enumerate(finetuned):
        others = [other for s, other in enumerate(finetuned) if s != t]
        result.append({name: w - sum(o[name] for o in others) / len(others) if w.is_floating_point() else w
                       for name, w in state.items()})
    return result


def centred_first_counter(finetuned):
    first = finetuned[0]
    result = [dict(first) for _ in finetuned]
    for name in first:
        if first[name].is_floating_point():
            average = torch.stack([state[name] for state in finetuned]).mean(0)
            for t, state in enumerate(finetuned):
                result[t][name] = state[name] - average
    return result


def centred_right(finetuned):
    result = [dict() for _ in finetuned]
    for name, example in finetuned[0].items():
        tensors = torch.stack([state[name] for state in finetuned])
        if example.is_floating_point():
            tensors = tensors - tensors.mean(0, keepdim=True)
        for out, tensor in zip(result, tensors.unbind()):
            out[name] = tensor
    return result


add("7.6", "centre: subtract from every tensor its mean", centred_each_tensor)
add("7.6", "the average of the other models", centred_on_the_others)
add("7.6", "copy the first dict for all, and put the centred weights in", centred_first_counter)
add("7.6", "stack each tensor, subtract the mean over the models, unbind", centred_right, is_right=True)


# ---- 7.7
def entropy_of_mean_prediction(logits):
    p = logits.softmax(-1).mean(0)
    return torch.special.entr(p).sum()


def entropy_mean_of_all(logits):
    return -(logits.softmax(-1) * logits.log_softmax(-1)).mean()


def entropy_wrong_softmax(logits):
    p = torch.softmax(logits, dim=0)
    return torch.special.entr(p).sum(-1).mean()


def entropy_right(logits):
    return torch.distributions.Categorical(logits=logits).entropy().mean()


add("7.7", "average the predictions over the samples and take the entropy", entropy_of_mean_prediction)
add("7.7", "minus the mean of p log p", entropy_mean_of_all)
add("7.7", "softmax, with dim=0", entropy_wrong_softmax)
add("7.7", "let Categorical compute the entropy", entropy_right, is_right=True)


# ---- 8.1
def truncated_transposes_again(matrix, rank):
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    return u[:, :rank] @ torch.diag(s[:rank]) @ v[:, :rank].T


def truncated_without_sigma(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix, full_matrices=False)
    return u[:, :rank] @ vh[:rank]


def truncated_from_one(matrix, rank):
    u, s, vh = torch.linalg.svd(matrix)
    result = torch.zeros_like(matrix)
    for r in range(1, rank):
        result += s[r] * torch.outer(u[:, r], vh[r])
    return result


def truncated_right(matrix, rank):
    _, _, vh = torch.linalg.svd(matrix, full_matrices=False)
    return matrix @ vh[:rank].T @ vh[:rank]


add("8.1", "svd gives U, S, V, and V has to be transposed", truncated_transposes_again)
add("8.1", "the first columns of U times the first rows of V^T", truncated_without_sigma)
add("8.1", "a loop from r = 1 up to rank", truncated_from_one)
add("8.1", "project the rows onto the first right singular vectors", truncated_right, is_right=True)


# ---- 8.2
def centred_at_first(states):
    return [{name: w - states[0][name] if w.is_floating_point() else w for name, w in state.items()}
            for state in states]


def centred_running_total(states):
    average = dict(states[0])
    for name in average:
        if average[name].is_floating_point():
            for state in states[1:]:
                average[name] += state[name]
            average[name] /= len(states)
    return [{name: w - average[name] if w.is_floating_point() else w for name, w in state.items()}
            for state in states]


def centred_counters_too(states):
    average = {name: sum(state[name] for state in states) / len(states) for name in states[0]}
    return [{name: (w - average[name]).to(w.dtype) for name, w in state.items()} for state in states]


def centred_task_vectors_right(states):
    k = len(states)

    def centre(t, name):
        if not states[t][name].is_floating_point():
            return states[t][name].clone()
        return sum(states[t][name] - other[name] for other in states) / k

    return [{name: centre(t, name) for name in states[t]} for t in range(k)]


add("8.2", "a task vector starts at the first model", centred_at_first)
add("8.2", "add the others to the first, divide, subtract", centred_running_total)
add("8.2", "subtract the average from everything and cast back", centred_counters_too)
add("8.2", "the mean of the differences to all models", centred_task_vectors_right, is_right=True)


# ---- 8.4
def kept_rank_min_of_shape(rank_ratio, shape):
    return math.ceil(rank_ratio * min(shape))


def kept_rank_without_kernel(rank_ratio, shape):
    return math.ceil(rank_ratio * min(shape[0], shape[1]))


def kept_rank_rounded(rank_ratio, shape):
    rows, columns = shape[0], math.prod(shape[1:])
    return max(1, round(rank_ratio * min(rows, columns)))


def kept_rank_right(rank_ratio, shape):
    full = min(torch.empty(tuple(shape)).flatten(1).shape)
    return int(-(-rank_ratio * full // 1))


add("8.4", "the smallest number in the shape", kept_rank_min_of_shape)
add("8.4", "the rank is bounded by outputs and inputs", kept_rank_without_kernel)
add("8.4", "round to a whole number, at least 1", kept_rank_rounded)
add("8.4", "flatten a tensor of this shape, and ceil by a negative floor division", kept_rank_right, is_right=True)


# ---- 8.5
def predicted_rank_factor(sigma, num_tasks):
    return int((sigma > sigma[0] / num_tasks).sum())


def predicted_rank_place(sigma, num_tasks):
    own = (1 - 1 / num_tasks) * sigma
    return int((own > sigma[0] / num_tasks).sum()) + 1


def predicted_rank_interleaved(sigma, num_tasks):
    own, foreign = (1 - 1 / num_tasks) * sigma, sigma / num_tasks
    everything = torch.cat([own] + [foreign] * (num_tasks - 1))
    first = everything.argsort(descending=True, stable=True)[:len(sigma)]
    return int((first < len(sigma)).sum())


def predicted_rank_right(sigma, num_tasks):
    count = 0
    while count < len(sigma) and float(sigma[count]) * (num_tasks - 1) > float(sigma[0]):
        count += 1
    return count


add("8.5", "the foreign ones are a T-th as large, so count what lies above sigma_1 / T", predicted_rank_factor)
add("8.5", "the rank where the first foreign one stands", predicted_rank_place)
add("8.5", "sort all, and count the own ones among the first n", predicted_rank_interleaved)
add("8.5", "walk down as long as (T - 1) sigma_r is above sigma_1", predicted_rank_right, is_right=True)


# ---- 8.6
def overlap_norm_of_kept(rows_i, rows_j, rank):
    a, b = rows_i[:rank], rows_j[:rank]
    return float((a / a.norm() @ (b / b.norm()).T).norm())


def overlap_transposed(rows_i, rows_j, rank):
    a, b = rows_i[:rank] / rows_i.norm(), rows_j[:rank] / rows_j.norm()
    return float((a.T @ b).norm())


def overlap_sum_of_singular_values(rows_i, rows_j, rank):
    a = rows_i[:rank] / rows_i.norm(dim=1).sum()
    b = rows_j[:rank] / rows_j.norm(dim=1).sum()
    return float(torch.linalg.norm(a @ b.T))


def overlap_right(rows_i, rows_j, rank):
    gram_i, gram_j = rows_i[:rank].T @ rows_i[:rank], rows_j[:rank].T @ rows_j[:rank]
    return math.sqrt(float((gram_i * gram_j).sum()) / float((rows_i ** 2).sum() * (rows_j ** 2).sum()))


add("8.6", "cut to rank, scale to norm 1, multiply", overlap_norm_of_kept)
add("8.6", "V V^T is the small one transposed times the other", overlap_transposed)
add("8.6", "divide by all singular values, that is by their sum", overlap_sum_of_singular_values)
add("8.6", "the trace of the product of the two Gram matrices", overlap_right, is_right=True)


# ---- 8.7
def sample_size_rounds_first(low, high, margin):
    sigma = (high - low) / 2
    return math.ceil(1.96 * sigma / margin) ** 2


def sample_size_half_is_variance(low, high, margin):
    variance = (high - low) / 2
    return math.ceil(1.96 ** 2 * variance / margin ** 2)


def sample_size_whole_width(low, high, margin):
    sigma = (high - low) / 2
    return math.ceil((1.96 * sigma / (margin / 2)) ** 2)


def sample_size_right(low, high, margin):
    root = 0.98 * (high - low) / margin
    return int(np.ceil(np.square(root)))


add("8.7", "round up, then square", sample_size_rounds_first)
add("8.7", "Popoviciu bounds the variance by half the range", sample_size_half_is_variance)
add("8.7", "the interval has the width margin, so half of it to each side", sample_size_whole_width)
add("8.7", "1.96 / 2 is 0.98", sample_size_right, is_right=True)
