"""Answers to the exercises of chapters 5 to 8, written from the tasks' texts alone, by somebody who had seen no
check. They are kept as they were written; (exercise, what its author thought, answer, whether it is right)."""
# ruff: noqa: F811
import math

import numpy as np
import torch
import torch.nn.functional as F

ANSWERS = []


def add(number, thought, is_right=False):
    """Decorator: put the function below it into ANSWERS."""
    def put(function):
        ANSWERS.append((number, thought, function, is_right))
        return function
    return put


# ---------------------------------------------------------------- 5.1
@add("5.1", "the layer above must undo the permutation, so it gets the inverse")
def permute_layer(weight, bias, weight_above, permutation):
    inverse = torch.argsort(torch.as_tensor(permutation))
    return weight[permutation], bias[permutation], weight_above[:, inverse]


@add("5.1", "forgot that the bias belongs to the units as well")
def permute_layer(weight, bias, weight_above, permutation):
    return weight[permutation], bias, weight_above[:, permutation]


@add("5.1", "old unit i goes to place permutation[i] (the inverse, used throughout)")
def permute_layer(weight, bias, weight_above, permutation):
    new_weight = torch.empty_like(weight)
    new_bias = torch.empty_like(bias)
    new_above = torch.empty_like(weight_above)
    new_weight[permutation] = weight
    new_bias[permutation] = bias
    new_above[:, permutation] = weight_above
    return new_weight, new_bias, new_above


@add("5.1", "as products with a permutation matrix", True)
def permute_layer(weight, bias, weight_above, permutation):
    P = torch.eye(len(bias), dtype=weight.dtype)[permutation]
    return P @ weight, P @ bias, weight_above @ P.T


# ---------------------------------------------------------------- 5.4
ANSWERS.append(("5.4", "transposed: took the first axis for the inputs", {
    "layers.0.weight": (None, "layer 1"),
    "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 1", "layer 2"),
    "layers.1.bias": ("layer 2",),
    "layers.2.weight": ("layer 2", None),
    "layers.2.bias": (None,),
}, False))

ANSWERS.append(("5.4", "only units of the layer itself move; forgot the columns of the layer above", {
    "layers.0.weight": ("layer 1", None),
    "layers.0.bias": ("layer 1",),
    "layers.1.weight": ("layer 2", None),
    "layers.1.bias": ("layer 2",),
    "layers.2.weight": (None, None),
    "layers.2.bias": (None,),
}, False))

_along = [None, "layer 1", "layer 2", None]
ANSWERS.append(("5.4", "built in a comprehension, biases first", {
    **{f"layers.{n}.bias": (_along[n + 1],) for n in range(3)},
    **{f"layers.{n}.weight": (_along[n + 1], _along[n]) for n in range(3)},
}, True))


# ---------------------------------------------------------------- 5.2
@add("5.2", "transposed: b a^T")
def feature_gain(features_a, features_b):
    return features_b.T @ features_a / len(features_a)


@add("5.2", "the sum over the samples, forgot to divide")
def feature_gain(features_a, features_b):
    return features_a.T @ features_b


@add("5.2", "divided by the number of units instead of samples")
def feature_gain(features_a, features_b):
    return features_a.T @ features_b / features_a.shape[1]


@add("5.2", "all outer products, then the mean", True)
def feature_gain(features_a, features_b):
    return (features_a[:, :, None] * features_b[:, None, :]).mean(0)


# ---------------------------------------------------------------- 5.5
ANSWERS.append(("5.5", "a quadratic form of a mix surely is not exact", "d", False))
ANSWERS.append(("5.5", "thought the linear terms stay", "c", False))
ANSWERS.append(("5.5", "the norm is not between the eigenvalues; capital letter", "B", True))


# ---------------------------------------------------------------- 5.6
@add("5.6", "forgot the half")
def second_order(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) * d @ hessian_vector_product(f, theta_0, d))


@add("5.6", "took the Hessian at theta_i instead of theta_0")
def second_order(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) / 2 * d @ hessian_vector_product(f, theta_i, d))


@add("5.6", "length of H d instead of d^T H d")
def second_order(f, theta_0, theta_i, theta_j, alpha):
    from lessons.pretraining.algorithms.curvature import hessian_vector_product
    d = theta_i - theta_j
    return float(alpha * (1 - alpha) / 2 * d.norm() * hessian_vector_product(f, theta_0, d).norm())


@add("5.6", "second derivative of f along the line through theta_0", True)
def second_order(f, theta_0, theta_i, theta_j, alpha):
    d = theta_j - theta_i

    def along(s):
        return f(theta_0 + s * d)

    bend = torch.func.grad(torch.func.grad(along))(torch.zeros((), dtype=theta_0.dtype))
    return 0.5 * float(alpha) * (1 - float(alpha)) * bend.item()


# ---------------------------------------------------------------- 5.7
@add("5.7", "the Rayleigh quotient, which has a sign")
def power_iteration(product, start, steps):
    v = start / start.norm()
    value = 0.0
    for _ in range(steps):
        w = product(v)
        value = float(v @ w)
        v = w / w.norm()
    return value


@add("5.7", "forgot to scale the start")
def power_iteration(product, start, steps):
    v = start
    length = 0.0
    for _ in range(steps):
        v = product(v)
        length = v.norm().item()
        v = v / length
    return length


@add("5.7", "one step too many, because a last product gives the length")
def power_iteration(product, start, steps):
    v = start / start.norm()
    for _ in range(steps):
        v = product(v)
        v = v / v.norm()
    return product(v).norm().item()


@add("5.7", "the ratio of two lengths, so the start need not be scaled before", True)
def power_iteration(product, start, steps):
    v, ratio = start, 0.0
    while steps > 0:
        w = product(v)
        ratio = (torch.linalg.vector_norm(w) / torch.linalg.vector_norm(v)).item()
        v = w / torch.linalg.vector_norm(w)
        steps -= 1
    return ratio


# ---------------------------------------------------------------- 6.1
@add("6.1", "sign: went uphill")
def task_vector_of_one_step(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return eta * gradient(f, theta)


@add("6.1", "returned the new weights instead of the difference")
def task_vector_of_one_step(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return theta - eta * gradient(f, theta)


@add("6.1", "forgot the step size")
def task_vector_of_one_step(f, theta, eta):
    from lessons.gradients.algorithms.expansion import gradient
    return -gradient(f, theta)


@add("6.1", "the gradient of -eta f", True)
def task_vector_of_one_step(f, theta, eta):
    return torch.func.grad(lambda weights: -eta * f(weights))(theta)


# ---------------------------------------------------------------- 6.2
@add("6.2", "sign: joint training seen from the task")
def mismatch(gradients, alpha):
    return gradients - alpha * gradients.sum(0)


@add("6.2", "mean instead of sum of the gradients")
def mismatch(gradients, alpha):
    return alpha * gradients.mean(0) - gradients


@add("6.2", "alpha on the task's own gradient as well")
def mismatch(gradients, alpha):
    return alpha * (gradients.sum(0) - gradients)


@add("6.2", "as one matrix (alpha everywhere, minus the identity) times the gradients", True)
def mismatch(gradients, alpha):
    T = gradients.shape[0]
    coefficients = alpha * torch.ones(T, T, dtype=gradients.dtype) - torch.eye(T, dtype=gradients.dtype)
    return coefficients @ gradients


# ---------------------------------------------------------------- 6.3
@add("6.3", "upside down: step sizes over errors")
def order_of(eta_a, error_a, eta_b, error_b):
    return float(np.log(eta_a / eta_b) / np.log(error_a / error_b))


@add("6.3", "assumed that the second step size is half the first")
def order_of(eta_a, error_a, eta_b, error_b):
    return float(np.log2(error_a / error_b))


@add("6.3", "sign: mixed up a and b in the denominator")
def order_of(eta_a, error_a, eta_b, error_b):
    return float(np.log(error_a / error_b) / np.log(eta_b / eta_a))


@add("6.3", "fit a line through two points on logarithmic axes", True)
def order_of(eta_a, error_a, eta_b, error_b):
    x = np.log10([float(eta_a), float(eta_b)])
    y = np.log10([float(error_a), float(error_b)])
    return float(np.polyfit(x, y, 1)[0])


# ---------------------------------------------------------------- 6.4
ANSWERS.append(("6.4", "Taylor's second-order term has a half, so this one too", "a", False))
ANSWERS.append(("6.4", "the derivative of d squared gives a 2", "c", False))
ANSWERS.append(("6.4", "first-order Taylor of the gradient; a space slipped in", "b ", True))


# ---------------------------------------------------------------- 6.5
@add("6.5", "took the first output of jvp, which is the gradient")
def hessian_vector(f, theta, v):
    return torch.func.jvp(torch.func.grad(f), (theta,), (v,))[0]


@add("6.5", "order of the arguments: theta and v exchanged")
def hessian_vector(f, theta, v):
    return torch.func.jvp(torch.func.grad(f), (v,), (theta,))[1]


@add("6.5", "difference of two gradients, which is exact only for a quadratic")
def hessian_vector(f, theta, v):
    g = torch.func.grad(f)
    return g(theta + v) - g(theta)


@add("6.5", "the gradient of (gradient times v)", True)
def hessian_vector(f, theta, v):
    g = torch.func.grad(f)
    return torch.func.grad(lambda t: (g(t) * v).sum())(theta)


# ---------------------------------------------------------------- 6.6
@add("6.6", "stopped after a: triangle inequality for every r_t")
def corrected_bound(alpha, num_tasks, steps, hessian, gradient):
    r = (alpha * (num_tasks - 1) + abs(alpha - 1)) * gradient
    return float(num_tasks * hessian * r * steps * (steps - 1) / 2)


@add("6.6", "forgot the case S = 0, so it is zero at alpha = 1/T")
def corrected_bound(alpha, num_tasks, steps, hessian, gradient):
    r = abs(alpha * num_tasks - 1) * gradient
    return float(num_tasks * hessian * r * steps * (steps - 1) / 2)


@add("6.6", "off by one: k(k+1)/2 pairs of steps")
def corrected_bound(alpha, num_tasks, steps, hessian, gradient):
    r = max(1.0, abs(alpha * num_tasks - 1)) * gradient
    return float(num_tasks * hessian * r * steps * (steps + 1) / 2)


@add("6.6", "written as multiplied out, with the root at the end", True)
def corrected_bound(alpha, num_tasks, steps, hessian, gradient):
    T, G = num_tasks, gradient
    # sum |alpha S - g|^2 = sum |g|^2 + (alpha^2 T - 2 alpha) |S|^2, and 0 <= |S| <= T G
    squares = T * G**2 + max(0.0, alpha**2 * T - 2 * alpha) * (T * G) ** 2
    lengths = math.sqrt(T * squares)
    return float(hessian * lengths * sum(range(steps)))


# ---------------------------------------------------------------- 7.1
@add("7.1", "largest value instead of largest magnitude")
def trimmed(vector, density):
    flat = vector.flatten()
    k = int(density * flat.numel())
    keep = flat.topk(k).indices
    out = torch.zeros_like(flat)
    out[keep] = flat[keep]
    return out.reshape(vector.shape)


@add("7.1", "threshold at the k-th largest; forgot k = 0, where it is the smallest one")
def trimmed(vector, density):
    magnitude = vector.abs().flatten()
    k = int(density * magnitude.numel())
    threshold = magnitude.sort(descending=True).values[k - 1]
    return vector * (vector.abs() >= threshold)


@add("7.1", "wrong dim: trims every row on its own")
def trimmed(vector, density):
    k = int(density * vector.shape[-1])
    keep = vector.abs().topk(k, dim=-1).indices
    return torch.zeros_like(vector).scatter(-1, keep, vector.gather(-1, keep))


@add("7.1", "the rank of every entry by sorting twice", True)
def trimmed(vector, density):
    rank = vector.flatten().abs().argsort(descending=True).argsort()
    mask = (rank < math.floor(density * vector.numel())).reshape(vector.shape)
    return torch.where(mask, vector, torch.zeros_like(vector))


# ---------------------------------------------------------------- 7.2
@add("7.2", "every task has one vote, whatever its magnitude")
def elected(stack):
    return stack.sign().sum(0).sign()


@add("7.2", "forgot that the sign can be 0")
def elected(stack):
    total = stack.sum(0)
    return torch.where(total >= 0, torch.ones_like(total), -torch.ones_like(total))


@add("7.2", "wrong dim: sum over the last axis")
def elected(stack):
    return stack.sum(-1).sign()


@add("7.2", "two comparisons", True)
def elected(stack):
    total = stack.mean(dim=0)
    return (total > 0).to(stack.dtype) - (total < 0).to(stack.dtype)


# ---------------------------------------------------------------- 7.3
ANSWERS.append(("7.3", "the plain mean of both", 1.0, False))
ANSWERS.append(("7.3", "mean over two tasks, where the loser counts as 0", 1.5, False))
ANSWERS.append(("7.3", "as a tensor", torch.tensor(3.0), True))


# ---------------------------------------------------------------- 7.4
@add("7.4", "divided by the number of all tasks")
def mean_of_those(stack):
    sign = stack.sum(0).sign()
    return (stack * (stack.sign() == sign)).mean(0)


@add("7.4", "forgot the case that there is none (0/0)")
def mean_of_those(stack):
    sign = stack.sum(0).sign()
    won = stack.sign() == sign
    return (stack * won).sum(0) / won.sum(0)


@add("7.4", "elected by counting heads instead of by the sum")
def mean_of_those(stack):
    sign = stack.sign().sum(0).sign()
    won = stack.sign() == sign
    return (stack * won).sum(0) / won.sum(0).clamp(min=1)


@add("7.4", "losers become NaN and nanmean leaves them out", True)
def mean_of_those(stack):
    sign = torch.sgn(stack.sum(0))
    kept = torch.where(torch.sgn(stack) == sign, stack, torch.full_like(stack, float("nan")))
    return kept.nanmean(0).nan_to_num(nan=0.0)


# ---------------------------------------------------------------- 7.5
@add("7.5", "ratio of the means instead of mean of the ratios")
def normalised(accuracy, own):
    return accuracy.mean() / own.mean()


@add("7.5", "in per cent")
def normalised(accuracy, own):
    return 100 * (accuracy / own).mean()


@add("7.5", "upside down")
def normalised(accuracy, own):
    return (own / accuracy).mean()


@add("7.5", "a Python sum over pairs", True)
def normalised(accuracy, own):
    shares = [float(a) / float(o) for a, o in zip(accuracy, own)]
    return sum(shares) / len(shares)


# ---------------------------------------------------------------- 7.6
@add("7.6", "sign: the average minus the model")
def centred(finetuned):
    out = []
    for state in finetuned:
        new = {}
        for name, tensor in state.items():
            if tensor.is_floating_point():
                new[name] = sum(s[name] for s in finetuned) / len(finetuned) - tensor
            else:
                new[name] = tensor
        out.append(new)
    return out


@add("7.6", "the average of the others only")
def centred(finetuned):
    out = []
    for t, state in enumerate(finetuned):
        others = finetuned[:t] + finetuned[t + 1:]
        new = {}
        for name, tensor in state.items():
            if tensor.is_floating_point():
                new[name] = tensor - sum(s[name] for s in others) / len(others)
            else:
                new[name] = tensor
        out.append(new)
    return out


@add("7.6", "forgot the counters and subtracted their mean as well")
def centred(finetuned):
    average = {name: torch.stack([s[name].float() for s in finetuned]).mean(0) for name in finetuned[0]}
    return [{name: state[name] - average[name] for name in state} for state in finetuned]


@add("7.6", "the mean of the differences to all models", True)
def centred(finetuned):
    return [
        {
            name: torch.stack([tensor - other[name] for other in finetuned]).mean(0)
            if torch.is_floating_point(tensor) else tensor.clone()
            for name, tensor in state.items()
        }
        for state in finetuned
    ]


# ---------------------------------------------------------------- 7.7
@add("7.7", "wrong dim: softmax over the samples")
def entropy(logits):
    p = logits.softmax(0)
    return -(p * logits.log_softmax(0)).sum(1).mean()


@add("7.7", "in bits instead of nats")
def entropy(logits):
    p = logits.softmax(1)
    return -(p * logits.log_softmax(1) / math.log(2)).sum(1).mean()


@add("7.7", "mean over the classes as well, instead of the sum")
def entropy(logits):
    p = logits.softmax(1)
    return -(p * logits.log_softmax(1)).mean()


@add("7.7", "cross entropy of the predictions with themselves", True)
def entropy(logits):
    return F.cross_entropy(logits, logits.softmax(dim=-1))


# ---------------------------------------------------------------- 8.1
@add("8.1", "torch gives V transposed already; transposed it again")
def truncated(matrix, rank):
    U, S, V = torch.linalg.svd(matrix)
    return U[:, :rank] @ torch.diag(S[:rank]) @ V[:, :rank].T


@add("8.1", "forgot the singular values")
def truncated(matrix, rank):
    U, S, Vh = torch.linalg.svd(matrix, full_matrices=False)
    return U[:, :rank] @ Vh[:rank]


@add("8.1", "off by one: counted the terms from 1")
def truncated(matrix, rank):
    U, S, Vh = torch.linalg.svd(matrix, full_matrices=False)
    out = torch.zeros_like(matrix)
    for r in range(1, min(rank, len(S))):
        out = out + S[r] * torch.outer(U[:, r], Vh[r])
    return out


@add("8.1", "projected on the first right singular vectors", True)
def truncated(matrix, rank):
    rows = torch.linalg.svd(matrix, full_matrices=False).Vh[:rank]
    return (matrix @ rows.mT) @ rows


# ---------------------------------------------------------------- 8.2
@add("8.2", "took the first state for the starting point")
def centred(states):
    start = states[0]
    return [
        {n: t - start[n] if t.is_floating_point() else t for n, t in state.items()}
        for state in states
    ]


@add("8.2", "sum instead of average")
def centred(states):
    return [
        {n: t - sum(s[n] for s in states) if t.is_floating_point() else t for n, t in state.items()}
        for state in states
    ]


@add("8.2", "left the counters out of the result")
def centred(states):
    T = len(states)
    return [
        {n: t - sum(s[n] for s in states) / T for n, t in state.items() if t.is_floating_point()}
        for state in states
    ]


@add("8.2", "stack each name once, centre along the first axis, then unstack", True)
def centred(states):
    out = [dict() for _ in states]
    for name, first in states[0].items():
        stack = torch.stack([s[name] for s in states])
        if first.is_floating_point():
            stack = stack - stack.mean(dim=0, keepdim=True)
        for new, tensor in zip(out, stack.unbind(0)):
            new[name] = tensor
    return out


# ---------------------------------------------------------------- 8.3
ANSWERS.append(("8.3", "fewer tasks disturb each other less", "a", False))
ANSWERS.append(("8.3", "everything depends on lambda", "b", False))
ANSWERS.append(("8.3", "the two centred vectors are opposite and cancel; capital letter", "C", True))


# ---------------------------------------------------------------- 8.4
@add("8.4", "rounded down")
def kept_rank(rank_ratio, shape):
    return int(rank_ratio * min(shape[0], math.prod(shape[1:])))


@add("8.4", "forgot the kernel of a convolution")
def kept_rank(rank_ratio, shape):
    return math.ceil(rank_ratio * min(shape[0], shape[1]))


@add("8.4", "grouped the axes the other way: (out * kh * kw, in)")
def kept_rank(rank_ratio, shape):
    m = shape[0] * math.prod(shape[2:])
    n = shape[1]
    return math.ceil(rank_ratio * min(m, n))


@add("8.4", "ceiling as minus the floor of minus, shape by numpy", True)
def kept_rank(rank_ratio, shape):
    m = int(shape[0])
    n = int(np.prod(tuple(shape))) // m
    return -int(-(rank_ratio * min(m, n)) // 1)


# ---------------------------------------------------------------- 8.5
@add("8.5", "a tie counts as before")
def predicted_rank(sigma, num_tasks):
    T = num_tasks
    return int(((T - 1) * sigma >= sigma[0]).sum())


@add("8.5", "forgot that the own ones shrink by 1 - 1/T")
def predicted_rank(sigma, num_tasks):
    return int((sigma > sigma[0] / num_tasks).sum())


@add("8.5", "off by one: the place of the first foreign one")
def predicted_rank(sigma, num_tasks):
    own = (1 - 1 / num_tasks) * sigma
    foreign = sigma[0] / num_tasks
    return int((own > foreign).sum()) + 1


@add("8.5", "a binary search in the negated values", True)
def predicted_rank(sigma, num_tasks):
    sigma = torch.as_tensor(sigma)
    return int(torch.searchsorted(-(num_tasks - 1) * sigma, -sigma[:1]))


# ---------------------------------------------------------------- 8.6
@add("8.6", "divided by the norm of the kept singular values only")
def overlap(rows_i, rows_j, rank):
    a, b = rows_i[:rank], rows_j[:rank]
    return float((a @ b.T).norm() / (a.norm() * b.norm()))


@add("8.6", "other norm: the spectral norm")
def overlap(rows_i, rows_j, rank):
    product = rows_i[:rank] @ rows_j[:rank].T
    return float(torch.linalg.matrix_norm(product, ord=2) / (rows_i.norm() * rows_j.norm()))


@add("8.6", "divided by the sum of the singular values instead of their norm")
def overlap(rows_i, rows_j, rank):
    product = rows_i[:rank] @ rows_j[:rank].T
    return float(product.norm() / (rows_i.norm(dim=1).sum() * rows_j.norm(dim=1).sum()))


@add("8.6", "singular values as row lengths, and the sum of squares by hand", True)
def overlap(rows_i, rows_j, rank):
    sigma_i = torch.linalg.vector_norm(rows_i, dim=1)
    sigma_j = torch.linalg.vector_norm(rows_j, dim=1)
    a = rows_i[:rank] / torch.linalg.vector_norm(sigma_i)
    b = rows_j[:rank] / torch.linalg.vector_norm(sigma_j)
    return torch.einsum("rn,sn->rs", a, b).square().sum().sqrt().item()


# ---------------------------------------------------------------- 8.7
@add("8.7", "forgot the 2: sigma is the whole range")
def sample_size(low, high, margin):
    return math.ceil((1.96 * (high - low) / margin) ** 2)


@add("8.7", "forgot the square")
def sample_size(low, high, margin):
    return math.ceil(1.96 * (high - low) / 2 / margin)


@add("8.7", "rounded down")
def sample_size(low, high, margin):
    return int((1.96 * (high - low) / 2 / margin) ** 2)


@add("8.7", "the 2 taken into 1.96, and numpy's ceiling", True)
def sample_size(low, high, margin):
    return int(np.ceil(np.square(0.98 * (high - low) / margin)))
