"""Answers to the exercises of chapters 0 to 4, written from the tasks' texts alone, by somebody who had seen no
check. They are kept as they were written; (exercise, what its author thought, answer, whether it is right)."""
# ruff: noqa: F811
import numpy as np
import torch

ANSWERS = []


def add(number, thought, answer, is_right=False):
    ANSWERS.append((number, thought, answer, is_right))


def cos(a, b):
    return torch.nn.functional.cosine_similarity(a, b, dim=-1)


# ---------------------------------------------------------------- 0.1
add("0.1", "from a to b, so alpha belongs to the end b", lambda a, b, alpha: a + alpha * (b - a))
add("0.1", "sign: start at b and go by alpha times b - a", lambda a, b, alpha: b + alpha * (b - a))
add("0.1", "alpha times the sum of the two (forgot 1 - alpha)", lambda a, b, alpha: alpha * (a + b))
add("0.1", "lerp from b to a", lambda a, b, alpha: torch.lerp(b, a, alpha), True)


# ---------------------------------------------------------------- 1.1
def interpolate_counters_too(a, b, alpha):
    return {n: (alpha * a[n] + (1 - alpha) * b[n]).to(a[n].dtype) for n in a}


def interpolate_into_a(a, b, alpha):
    result = a
    for name in a:
        if a[name].is_floating_point():
            result[name] = alpha * a[name] + (1 - alpha) * b[name]
    return result


def interpolate_counters_of_b(a, b, alpha):
    result = dict(b)
    for name in b:
        if b[name].is_floating_point():
            result[name] = alpha * a[name] + (1 - alpha) * b[name]
    return result


def interpolate_right(a, b, alpha):
    return {
        name: other + alpha * (a[name] - other) if other.is_floating_point() else a[name].clone()
        for name, other in b.items()
    }


add("1.1", "mix everything, cast back to the old dtype (counters averaged and cut)", interpolate_counters_too)
add("1.1", "result = a is a copy (it is not, so a changes)", interpolate_into_a)
add("1.1", "counters stay those of b", interpolate_counters_of_b)
add("1.1", "b plus alpha times the difference, names from b", interpolate_right, True)


# ---------------------------------------------------------------- 1.2
def barrier_at_highest_loss(losses, alphas):
    k = int(np.argmax(np.asarray(losses)))
    return float(losses[k] - alphas[k] * losses[-1] - (1 - alphas[k]) * losses[0])


def barrier_even_spacing(losses, alphas):
    losses = np.asarray(losses)
    return float((losses - np.linspace(losses[0], losses[-1], len(losses))).max())


def barrier_inside_only(losses, alphas):
    heights = [l - x * losses[-1] - (1 - x) * losses[0] for l, x in zip(losses, alphas)]
    return float(max(heights[1:-1]))


def barrier_right(losses, alphas):
    losses, alphas = np.asarray(losses), np.asarray(alphas)
    return float(np.max(losses - np.interp(alphas, [0, 1], [losses[0], losses[-1]])))


add("1.2", "look where the loss is largest, and take the height there", barrier_at_highest_loss)
add("1.2", "the alphas are evenly spaced, so the line is a linspace", barrier_even_spacing)
add("1.2", "the two ends do not count (then it can be below 0)", barrier_inside_only)
add("1.2", "np.interp makes the line", barrier_right, True)


# ---------------------------------------------------------------- 1.3
def gap_mean_of_cosines(features_alpha, features_i, features_j, alpha):
    return 1 - alpha * cos(features_alpha, features_i) - (1 - alpha) * cos(features_alpha, features_j)


def gap_whole_norm(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - (features_alpha * mixed).sum(1) / (features_alpha.norm() * mixed.norm())


def gap_swapped(features_alpha, features_i, features_j, alpha):
    return 1 - cos(features_alpha, (1 - alpha) * features_i + alpha * features_j)


def gap_right(features_alpha, features_i, features_j, alpha):
    unit = torch.nn.functional.normalize
    difference = unit(features_alpha, dim=1) - unit(alpha * features_i + (1 - alpha) * features_j, dim=1)
    return difference.square().sum(1) / 2


add("1.3", "mix the two cosines instead of the features", gap_mean_of_cosines)
add("1.3", "norm() without a dim is the norm of each row", gap_whole_norm)
add("1.3", "alpha is the share of B", gap_swapped)
add("1.3", "half the squared distance of the unit vectors", gap_right, True)

# ---------------------------------------------------------------- 1.4
add("1.4", "the ratio of the lengths (forgot the cosine)", lambda a, b: a.norm(dim=1) / b.norm(dim=1))
add("1.4", "projected b on a", lambda a, b: (a * b).sum(1) / (a * a).sum(1))
add("1.4", "length of the projection, a.b / |b| (forgot to divide by |b| again)",
    lambda a, b: (a * b).sum(1) / b.norm(dim=1))
add("1.4", "means instead of sums, the width cancels", lambda a, b: (a * b).mean(1) / (b * b).mean(1), True)


# ---------------------------------------------------------------- 1.5
def worst_not_share(gap, own):
    return gap.max("alpha").stack(place=("pair", "layer")).idxmax("place").item()


def worst_mean_alpha(gap, own):
    return (gap.mean("alpha") / own).stack(place=("pair", "layer")).idxmax("place").item()


def worst_other_order(gap, own):
    return (gap.max("alpha") / own).stack(place=("layer", "pair")).idxmax("place").item()


def worst_right(gap, own):
    share = (gap / own).max("alpha").transpose("pair", "layer")
    i, j = np.unravel_index(np.argmax(share.values), share.shape)
    return share["pair"][i].item(), share["layer"][j].item()


add("1.5", "the largest gap (forgot to divide by own)", worst_not_share)
add("1.5", "mean over alpha instead of the worst alpha", worst_mean_alpha)
add("1.5", "(layer, pair) instead of (pair, layer)", worst_other_order)
add("1.5", "divide first, then the maximum, and unravel_index", worst_right, True)

# ---------------------------------------------------------------- 1.6
add("1.6", "the output layer multiplies, so it is the cross term there", "a")
add("1.6", "no ReLU at the output must be the difference", "c")
add("1.6", "b, as a capital letter", "B", True)


# ---------------------------------------------------------------- 2.1
def statistics_within_images(h):
    return h.mean(dim=(0, 2, 3)), h.var(dim=(2, 3), unbiased=False).mean(0)


def statistics_right(h):
    rows = h.transpose(0, 1).flatten(1).double()
    mean = rows.mean(1)
    return mean.to(h.dtype), ((rows * rows).mean(1) - mean**2).to(h.dtype)


add("2.1", "var() divides by the count (it divides by one less)",
    lambda h: (h.mean(dim=(0, 2, 3)), h.var(dim=(0, 2, 3))))
add("2.1", "variance in each image, then the mean over the images", statistics_within_images)
add("2.1", "torch.var_mean returns mean first (it returns var first)",
    lambda h: torch.var_mean(h, dim=(0, 2, 3), correction=0))
add("2.1", "mean of squares minus square of the mean", statistics_right, True)

# ---------------------------------------------------------------- 2.2
add("2.2", "covariance = rho * var_i * var_j (forgot the root)",
    lambda var_i, var_j, correlation, alpha: alpha**2 * var_i + (1 - alpha) ** 2 * var_j
    + 2 * alpha * (1 - alpha) * correlation * var_i * var_j)
add("2.2", "the correlation is the covariance",
    lambda var_i, var_j, correlation, alpha: alpha**2 * var_i + (1 - alpha) ** 2 * var_j
    + 2 * alpha * (1 - alpha) * correlation)
add("2.2", "forgot the 2 of the middle term",
    lambda var_i, var_j, correlation, alpha: alpha**2 * var_i + (1 - alpha) ** 2 * var_j
    + alpha * (1 - alpha) * correlation * (var_i * var_j) ** 0.5)
add("2.2", "the interpolated variance less alpha (1 - alpha) Var(a - b)",
    lambda var_i, var_j, correlation, alpha: alpha * var_i + (1 - alpha) * var_j
    - alpha * (1 - alpha) * (var_i + var_j - 2 * correlation * (var_i * var_j) ** 0.5), True)

# ---------------------------------------------------------------- 2.3
add("2.3", "right statistics repair everything", "a")
add("2.3", "interpolated is out anyway, so only the other two can differ", "d")
add("2.3", "c, as a capital letter", "C", True)

# ---------------------------------------------------------------- 2.4
add("2.4", "2 tasks x 2,500 images (those are the training images)", 5000)
add("2.4", "5 classes x 100 test images (forgot that a pair has two tasks)", 500)
add("2.4", "2 tasks x 5 classes x 100 test images, as a float", 1e3, True)


# ---------------------------------------------------------------- 2.5
def paired_unpaired(right_a, right_b):
    a, b = right_a.float(), right_b.float()
    return float(a.mean() - b.mean()), float(((a.var() + b.var()) / len(a)).sqrt())


def paired_disagree(right_a, right_b):
    difference = right_a.float().mean() - right_b.float().mean()
    return float(difference), float((right_a != right_b).float().std() / len(right_a) ** 0.5)


def paired_over_n(right_a, right_b):
    d = right_a.float() - right_b.float()
    return float(d.mean()), float(d.std() / len(d))


def paired_right(right_a, right_b):
    n = len(right_a)
    only_a = int((right_a & ~right_b).sum())
    only_b = int((right_b & ~right_a).sum())
    difference = (only_a - only_b) / n
    return difference, (((only_a + only_b) / n - difference**2) / n) ** 0.5


add("2.5", "errors of two accuracies add in squares (not paired)", paired_unpaired)
add("2.5", "standard deviation of whether they disagree (without sign)", paired_disagree)
add("2.5", "divided by the images, not by their root", paired_over_n)
add("2.5", "from the two counts of disagreement (variance divided by n)", paired_right, True)

# ---------------------------------------------------------------- 2.6
add("2.6", "the remainder (forgot that it can be 0)", lambda images, batch_size: images % batch_size)
add("2.6", "how many are missing to a full batch", lambda images, batch_size: batch_size - images % batch_size)
add("2.6", "counted from 0, and forgot to add the 1 again", lambda images, batch_size: (images - 1) % batch_size)
add("2.6", "all images less the full batches before the last one",
    lambda images, batch_size: images - (-(-images // batch_size) - 1) * batch_size, True)


# ---------------------------------------------------------------- 3.1
def average_equal(states, shares):
    return {
        n: torch.stack([s[n] for s in states]).mean(0) if v.is_floating_point() else v
        for n, v in states[0].items()
    }


def average_in_place(states, shares):
    result = dict(states[0])
    for name, value in result.items():
        if value.is_floating_point():
            value *= shares[0]
            for state, share in zip(states[1:], shares[1:]):
                value += share * state[name]
    return result


def average_counters_too(states, shares):
    return {n: sum(share * s[n] for s, share in zip(states, shares)) for n in states[0]}


def average_right(states, shares):
    result = {}
    for name, first in states[0].items():
        if first.is_floating_point():
            weights = torch.as_tensor(shares, dtype=first.dtype)
            result[name] = torch.tensordot(weights, torch.stack([s[name] for s in states]), dims=1)
        else:
            result[name] = first
    return result


add("3.1", "plain mean (forgot the shares)", average_equal)
add("3.1", "dict() copies the tensors too (it does not, so the first state changes)", average_in_place)
add("3.1", "forgot the counters", average_counters_too)
add("3.1", "tensordot of shares and stack", average_right, True)


# ---------------------------------------------------------------- 3.2
def ensemble_right(logits):
    result = torch.zeros_like(logits[0])
    for count, one in enumerate(logits, start=1):
        result = result + (one - result) / count
    return result


add("3.2", "average the probabilities", lambda logits: logits.softmax(-1).mean(0))
add("3.2", "sum instead of mean", lambda logits: logits.sum(0))
add("3.2", "average log-probabilities", lambda logits: logits.log_softmax(-1).mean(0))
add("3.2", "running mean", ensemble_right, True)


# ---------------------------------------------------------------- 3.4
def first_layer_right(before):
    mean = before.sum(0) / before.shape[0]
    return (mean + mean.abs()) / 2


add("3.4", "mean of the features (ReLU first)", lambda before: before.relu().mean(0))
add("3.4", "forgot the ReLU", lambda before: before.mean(0))
add("3.4", "sum instead of mean, then ReLU", lambda before: before.sum(0).relu())
add("3.4", "ReLU written as (m + |m|) / 2", first_layer_right, True)


# ---------------------------------------------------------------- 3.3
def soup_strict(held_out, accuracy_of):
    order = sorted(range(len(held_out)), key=lambda i: -float(held_out[i]))
    soup, best = [order[0]], held_out[order[0]]
    for i in order[1:]:
        accuracy = accuracy_of(soup + [i])
        if accuracy > best:
            soup, best = soup + [i], accuracy
    return soup


def soup_fixed_threshold(held_out, accuracy_of):
    order = sorted(range(len(held_out)), key=lambda i: -float(held_out[i]))
    soup, best = [order[0]], held_out[order[0]]
    for i in order[1:]:
        if accuracy_of(soup + [i]) >= best:
            soup = soup + [i]
    return soup


def soup_stops(held_out, accuracy_of):
    order = sorted(range(len(held_out)), key=lambda i: -float(held_out[i]))
    soup, best = [order[0]], held_out[order[0]]
    for i in order[1:]:
        accuracy = accuracy_of(soup + [i])
        if accuracy < best:
            break
        soup, best = soup + [i], accuracy
    return soup


def soup_right(held_out, accuracy_of):
    waiting = sorted(range(len(held_out)), key=lambda i: float(held_out[i]), reverse=True)
    soup = [waiting.pop(0)]
    while waiting:
        candidate = soup + [waiting.pop(0)]
        if accuracy_of(candidate) >= accuracy_of(soup):
            soup = candidate
    return soup


add("3.3", "only if it gets better (a tie is left out)", soup_strict)
add("3.3", "at least as accurate as the best single network (forgot to move the mark)", soup_fixed_threshold)
add("3.3", "stop at the first one that does not help", soup_stops)
add("3.3", "ask for the soup's accuracy anew each time, nothing stored", soup_right, True)


# ---------------------------------------------------------------- 3.5
def base_ratio_of_means(average, features):
    products = (average * features).sum(-1).mean(0)
    return products / (average.norm(dim=-1) * features.norm(dim=-1).mean(0))


def base_right(average, features):
    unit = torch.nn.functional.normalize
    return torch.einsum("sw,msw->s", unit(average, dim=-1), unit(features, dim=-1)) / len(features)


add("3.5", "cosine with the mean features", lambda average, features: cos(average, features.mean(0)))
add("3.5", "mean product over mean length", base_ratio_of_means)
add("3.5", "cosine_similarity with its usual dim=1 (those are the samples here)",
    lambda average, features: torch.nn.functional.cosine_similarity(average[None], features).mean(0))
add("3.5", "einsum of unit vectors", base_right, True)

# ---------------------------------------------------------------- 3.6
add("3.6", "many small errors add up", "d")
add("3.6", "CTL for two is not enough to start the induction", "a")
add("3.6", "c, as a capital letter", "C", True)


# ---------------------------------------------------------------- 3.7
def pairs_twice(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(k) if i != j)


def pairs_without_4(halfway, shares):
    k = len(shares)
    return sum(shares[i] * shares[j] * halfway[i, j] for i in range(k) for j in range(i + 1, k))


def pairs_one_number(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] * shares[j] * halfway[i, j].sum() for i in range(k) for j in range(i + 1, k))


def pairs_right(halfway, shares):
    weights = 4 * torch.triu(torch.outer(shares, shares), diagonal=1)
    return torch.tensordot(weights.to(halfway.dtype), halfway, dims=2)


add("3.7", "all i != j (every pair twice)", pairs_twice)
add("3.7", "forgot the 4", pairs_without_4)
add("3.7", "one number, summed over the entries of m_ij too", pairs_one_number)
add("3.7", "upper triangle of the outer product, tensordot", pairs_right, True)


# ---------------------------------------------------------------- 4.1
def edited_adds_model(base, finetuned, lam):
    return {n: v + lam * finetuned[n] if v.is_floating_point() else v for n, v in base.items()}


def edited_from_finetuned(base, finetuned, lam):
    return {n: finetuned[n] + lam * (finetuned[n] - v) if v.is_floating_point() else v for n, v in base.items()}


def edited_other_counters(base, finetuned, lam):
    return {n: base[n] + lam * (v - base[n]) if v.is_floating_point() else v for n, v in finetuned.items()}


def edited_right(base, finetuned, lam):
    result = dict(base)
    result.update({n: torch.lerp(v, finetuned[n], lam) for n, v in base.items() if v.is_floating_point()})
    return result


add("4.1", "lambda times the finetuned weights (forgot to subtract base)", edited_adds_model)
add("4.1", "start at the finetuned network", edited_from_finetuned)
add("4.1", "counters of the finetuned network", edited_other_counters)
add("4.1", "lerp also extrapolates", edited_right, True)

# ---------------------------------------------------------------- 4.2
add("4.2", "the sum is already the average", 1)
add("4.2", "half for the average and half because base counts as well", 0.25)
add("4.2", "one half, as a tensor", torch.tensor(0.5), True)

# ---------------------------------------------------------------- 4.3
add("4.3", "base has the factor 1 in the formula", lambda lams: torch.cat([torch.ones(1), lams]))
add("4.3", "base comes last", lambda lams: torch.cat([lams, 1 - lams.sum().reshape(1)]))
add("4.3", "mean instead of sum", lambda lams: torch.cat([1 - lams.mean().reshape(1), lams]))
add("4.3", "pad on the left with what is missing to 1",
    lambda lams: torch.nn.functional.pad(lams, (1, 0), value=1 - float(lams.sum())), True)

# ---------------------------------------------------------------- 4.4
add("4.4", "mean of the two cosines", lambda middle, a, b: (cos(middle, a) + cos(middle, b)) / 2)
add("4.4", "forgot the brackets", lambda middle, a, b: cos(middle, a + b / 2))
add("4.4", "the gap, as in chapter 1", lambda middle, a, b: 1 - cos(middle, (a + b) / 2))
add("4.4", "without the half, which changes no direction", lambda middle, a, b: cos(middle, a + b), True)


# ---------------------------------------------------------------- 4.5
def slope_through_origin(x, y):
    x, y = np.log(x), np.log(y)
    return float((x * y).sum() / (x * x).sum())


def slope_right(x, y):
    x, y = np.log2(x), np.log2(y)
    return float(np.cov(x, y)[0, 1] / np.var(x, ddof=1))


add("4.5", "first and last point", lambda x, y: float(np.log(y[-1] / y[0]) / np.log(x[-1] / x[0])))
add("4.5", "least squares through the origin (forgot c)", slope_through_origin)
add("4.5", "polyfit takes y first", lambda x, y: float(np.polyfit(np.log(y), np.log(x), 1)[0]))
add("4.5", "covariance over variance, logarithms to base 2", slope_right, True)

# ---------------------------------------------------------------- 4.6
add("4.6", "share times size", "c")
add("4.6", "share times size squared (forgot the root)", "d")
add("4.6", "b, as a capital letter", "B", True)

# ---------------------------------------------------------------- 4.7
add("4.7", "the finetuned features are Delta", lambda at_base, at_finetuned: at_base - at_finetuned)
add("4.7", "sign of Delta: base minus finetuned",
    lambda at_base, at_finetuned: at_base - (at_base - at_finetuned))
add("4.7", "features come after a ReLU, so cut at 0",
    lambda at_base, at_finetuned: (2 * at_base - at_finetuned).clamp(min=0))
add("4.7", "lerp with the weight -1", lambda at_base, at_finetuned: torch.lerp(at_base, at_finetuned, -1.0), True)
