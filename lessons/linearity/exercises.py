"""The exercises of chapter 1."""
import numpy as np
import torch
import xarray

from lessons.kit.exercise import Exercise, Wrong
from lessons.linearity import algorithms
from toy_models.weights import mix

# -- the solutions, in the few lines that a learner writes ------------------------------------------------

def interpolate(a, b, alpha):
    mixed = {}
    for name, tensor in a.items():
        if tensor.is_floating_point():
            mixed[name] = alpha * tensor + (1 - alpha) * b[name]
        else:  # a counter, which no half step leads to
            mixed[name] = tensor.clone()
    return mixed


def barrier(losses, alphas):
    line = alphas * losses[-1] + (1 - alphas) * losses[0]
    return (losses - line).max().item()


def cosine_gap(features_alpha, features_i, features_j, alpha):
    mixed = alpha * features_i + (1 - alpha) * features_j
    return 1 - torch.nn.functional.cosine_similarity(features_alpha, mixed, dim=1)


def coef(a, b):
    return (a * b).sum(dim=1) / (b * b).sum(dim=1)


def worst(gap, own):
    highest = (gap / own).max("alpha")
    pair, layer = highest.stack(place=("pair", "layer")).idxmax("place").item()
    return pair, layer


# -- 1.1 ---------------------------------------------------------------------------------------------

def _states():
    """The shortest first; then counters the other way round, names in another order, a tensor in float64, and numbers
    that float16 rounds. In the last case counters have other names, one is int32 and one has a dimension, which the
    only weight has not."""
    a = {"layer.weight": torch.tensor([[1.0, -2.0]]),
         "layer.bias": torch.tensor([4.0]),
         "norm.num_batches_tracked": torch.tensor(7)}
    b = {"layer.weight": torch.tensor([[5.0, 0.5]]),
         "layer.bias": torch.tensor([-3.0]),
         "norm.num_batches_tracked": torch.tensor(4)}
    c = {"scale": torch.tensor([2.0, 0.3, -1.0], dtype=torch.float64),
         "layer.weight": torch.tensor([[0.5, 3.1, 1.7]]),
         "norm.num_batches_tracked": torch.tensor(3)}
    d = {"layer.weight": torch.tensor([[-1.0, 2.3, 0.25]]),
         "scale": torch.tensor([1.0, -0.6, 4.0], dtype=torch.float64),
         "norm.num_batches_tracked": torch.tensor(12)}
    e, f = ({"scale.weight": torch.tensor(scale), "steps": torch.tensor(steps, dtype=torch.int32),
             "seen": torch.tensor(seen)} for scale, steps, seen in ((2.0, 3, [6, 2]), (-1.0, 8, [1, 9])))
    return [(a, b, 0.25), (a, b, 1.0), (a, b, 0.0), (c, d, 0.625), (e, f, 0.75)]


def _each(function):
    """A wrong answer to 1.1: apply a function to every tensor, the counter included."""
    return lambda a, b, alpha: {key: function(a[key], b[key], alpha) for key in a}


def _floats(function):
    """A wrong answer to 1.1 that at least carries the counter over."""
    def each(of_a, of_b, alpha):
        return function(of_a, of_b, alpha) if of_a.is_floating_point() else of_a

    return _each(each)


def _line(a, b, alpha):
    return alpha * a + (1 - alpha) * b


def _counted(count):
    """A wrong answer to 1.1 whose weights are right; the counter is some function of both."""
    return _each(lambda a, b, alpha: (_line if a.is_floating_point() else count)(a, b, alpha))


def _where(chosen):
    """A wrong answer to 1.1 that mixes the tensors that a rule (name, tensor) chooses, and keeps a's others."""
    return lambda a, b, alpha: {key: _line(a[key], b[key], alpha) if chosen(key, a[key]) else a[key] for key in a}


def _counter_lost(a, b, alpha):
    return {key: alpha * a[key] + (1 - alpha) * b[key] for key in a if a[key].is_floating_point()}


def _by_place(a, b, alpha):
    return {key: _line(p, q, alpha) if p.is_floating_point() else p for (key, p), q in zip(a.items(), b.values())}


def _first_alone(a, b, alpha):
    key = next(iter(a))
    return {key: _line(a[key], b[key], alpha)}


_INTERPOLATED = [
    Wrong(_floats(lambda a, b, alpha: mix(b, a, alpha)),
          "Every tensor is there, but the ends are swapped: α is the weight of the first network, so α = "
          "1 must give a."),
    Wrong(_floats(lambda a, b, alpha: a + alpha * b),
          "The shares must sum to 1: b gets 1 − α, and a only α."),
    Wrong(_floats(lambda a, b, alpha: (a + b) / 2), "This is the average whatever α is: use alpha."),
    Wrong(_floats(lambda a, b, alpha: alpha * a + 1 - alpha * b),
          "Python multiplies before it subtracts: 1 - alpha needs parentheses before it meets b."),
    Wrong(_floats(lambda a, b, alpha: a + alpha * (a - b)),
          "You start at a and walk on, away from b. From b the way to a is a − b: begin there."),
    Wrong(_each(lambda a, b, alpha: _line(b, a, alpha)),
          "Two things: the ends are swapped, as α = 1 must give a; and you averaged a counter. Take that from a."),
    Wrong(_each(_line),
          "The weights are right, but you also mixed “num_batches_tracked”, a whole number that counts "
          "(BatchNorm has one). Half a step means nothing: carry it over from the first state dict. "
          "tensor.is_floating_point() tells the two kinds apart."),
    Wrong(_each(lambda a, b, alpha: _line(a, b, alpha).to(a.dtype)),
          "The weights are right, but you also mixed “num_batches_tracked”, and .to(dtype) cut the mix back to a whole "
          "number that neither network ever counted. Leave whole numbers as they are in a."),
    Wrong(_each(lambda a, b, alpha: torch.lerp(b, a, alpha)),
          "The line is right for weights, but torch.lerp refuses whole numbers, and “num_batches_tracked” is one. Do "
          "not mix it: take a's."),
    Wrong(_counted(lambda a, b, alpha: _line(a, b, alpha).round().long()),
          "The weights are right. The counter is a mix too, rounded: that many steps nobody made. Take a's."),
    Wrong(_counted(lambda a, b, alpha: b), "The weights are right, but the counter is b's. Take it from a."),
    Wrong(_counted(lambda a, b, alpha: torch.maximum(a, b)),
          "The weights are right. The counter is the larger of the two: take a's, whichever is larger."),
    Wrong(_counted(lambda a, b, alpha: a + b),
          "The weights are right. The counters are added, as if one network had made the steps of both: take a's."),
    Wrong(_counted(lambda a, b, alpha: torch.zeros_like(a)),
          "The weights are right, but the counter is set back to 0: carry it over from a."),
    Wrong(_counter_lost,
          "The weights are right, but “num_batches_tracked” got lost: a network could not load this. "
          "Carry whole numbers over from the first state dict."),
    Wrong(lambda a, b, alpha: {key: _line(a[key], b[key], alpha) for key in a if "weight" in key},
          "Only the tensors called “weight” came back. Biases, scales and counters belong to the network as much."),
    Wrong(_floats(lambda a, b, alpha: _line(a, b, alpha).half()),
          "The line is right, but .half() rounds it to float16, about three digits. Leave the numbers in the precision "
          "that they come in."),
    Wrong(_where(lambda key, tensor: key.endswith("weight")),
          "Only the tensors called “weight” are mixed. Biases and scales belong to the network as much."),
    Wrong(_where(lambda key, tensor: tensor.dtype == torch.float32),
          "Only float32 tensors are mixed. Here is a network with float64 ones: tensor.is_floating_point() is true of "
          "all of them."),
    Wrong(_where(lambda key, tensor: False),
          "This is a, whatever b and α are. If you ask each tensor whether it is floating-point, the answer was always "
          "no: tensor.is_floating_point() asks it rightly."),
    Wrong(_by_place,
          "In one case the two dicts hold the same names in different orders. Look tensors up by name, b[name], "
          "not by place."),
    Wrong(_first_alone,
          "Only the first tensor came back. Does return stand inside the loop?"),
    Wrong(_where(lambda key, tensor: not key.endswith("num_batches_tracked")),
          "You know a counter by its name. In one case counters have other names: what they have in common is that "
          "they hold whole numbers."),
    Wrong(_where(lambda key, tensor: tensor.ndim > 0),
          "You take every tensor without dimensions for a counter. A weight can be a single number too, and a counter "
          "can have a dimension: ask whether a tensor holds whole numbers."),
    Wrong(_where(lambda key, tensor: tensor.dtype != torch.int64),
          "You take only int64 tensors for counters. There are other types of whole numbers, and one case has int32."),
    Wrong(_floats(lambda a, b, alpha: alpha * a + b),
          "You add α·a to the whole of b. The shares must sum to 1: b gets what a leaves over."),
    Wrong(_counted(lambda a, b, alpha: alpha * a),
          "The weights are right, but you multiplied the counter of a by α. Take it as it is."),
    Wrong(lambda a, b, alpha: [_line(a[key], b[key], alpha) for key in a],
          "A list has lost the names. Give a dict with the same names, {name: tensor}."),
    Wrong(lambda a, b, alpha: alpha * a + (1 - alpha) * b,
          "Python does not multiply whole dicts. Go through the names, and mix tensor by tensor."),
]


# -- 1.2 ---------------------------------------------------------------------------------------------

def _curves():
    even = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0])
    return [(torch.tensor([1.0, 2.0, 1.5, 0.5]), torch.tensor([0.0, 0.25, 0.5, 1.0])),
            (torch.tensor([1.0, 1.2, 2.0, 2.8, 0.5]), even),
            (torch.tensor([0.4, 0.3, 0.2, 0.3, 0.6]), even),
            (torch.tensor([3.0, 2.9, 2.0, 1.6, 0.2]), torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0]))]


def _rise(losses, alphas):
    """How far the loss lies above the straight line, at every α."""
    return losses - alphas * losses[-1] - (1 - alphas) * losses[0]


_BARRIER = [
    Wrong(lambda losses, alphas: max(losses) - min(losses),
          "That is the range of the curve. A curve that falls straight from 3 to 0 has a large range and "
          "no barrier: compare with the straight line between the ends."),
    Wrong(lambda losses, alphas: max(losses) - (losses[0] + losses[-1]) / 2,
          "You compare every point with the average of the ends. Where the ends differ, the straight "
          "line between them is not flat."),
    Wrong(lambda losses, alphas: max(losses) - max(losses[0], losses[-1]),
          "You compare with the worse end. That overlooks a hill next to the better end; compare with "
          "the straight line."),
    Wrong(lambda losses, alphas: max(losses) - min(losses[0], losses[-1]),
          "You compare with the better end. A straight slope from the worse end down to it would then count as a "
          "barrier; compare with the straight line."),
    Wrong(lambda losses, alphas: max(losses),
          "That is the highest loss itself. The barrier is how far the loss rises above the straight line between the "
          "ends."),
    Wrong(lambda losses, alphas: max(losses) - losses[0],
          "That is the rise over the first end. The straight line goes on from there to losses[-1]."),
    Wrong(lambda losses, alphas: _rise(losses, alphas)[len(losses) // 2],
          "Right comparison, but only half-way: the barrier is the highest point over all α, and it need "
          "not be in the middle."),
    Wrong(lambda losses, alphas: _rise(losses, alphas)[losses.argmax()],
          "You looked where the loss is highest. On a slope that is an end; the rise over the line can be larger "
          "elsewhere: subtract first, then take the maximum."),
    Wrong(lambda losses, alphas: _rise(losses, torch.linspace(0, 1, len(losses))).max(),
          "Right where the α are evenly spaced. They need not be: use the alphas that are given."),
    Wrong(lambda losses, alphas: _rise(losses, 1 - alphas).max(),
          "The straight line runs the wrong way: at α = 0 it must meet losses[0]."),
    Wrong(lambda losses, alphas: (losses - alphas * losses[-1] + (1 - alphas) * losses[0]).max(),
          "Only the first half of the line is subtracted: the minus has to reach (1 − α)·losses[0] too."),
    Wrong(lambda losses, alphas: _rise(losses, alphas).abs().max(),
          "A valley is not a barrier: keep the sign, and take the highest point above the line."),
    Wrong(lambda losses, alphas: (-_rise(losses, alphas)).max(),
          "That is how far the loss falls below the line: subtract the line from the loss, not the other way round."),
    Wrong(lambda losses, alphas: _rise(losses, alphas).min(),
          "That is the lowest point over the line; a barrier is the highest."),
    Wrong(lambda losses, alphas: _rise(losses, alphas)[1:-1].max(),
          "You left out the ends. They lie on the line, so that the barrier is 0 where all between lies below it."),
    Wrong(lambda losses, alphas: _rise(losses, alphas).mean(),
          "That is the mean rise. One high ridge is enough to stop you: take the maximum."),
    Wrong(lambda losses, alphas: _rise(losses, alphas).sum(),
          "That is the sum of all rises, which grows with the number of points. Take the largest."),
    Wrong(lambda losses, alphas: max(losses) - losses[-1],
          "That is the rise over the last end. The straight line comes there from losses[0]."),
    Wrong(lambda losses, alphas: _rise(losses, alphas),
          "That is the rise at every α. The barrier is the largest of them: one number."),
    Wrong(lambda losses, alphas: _rise(losses, alphas).max(0),
          "max(0) gives two things, the largest value and its place. Return the value alone: .max()."),
    Wrong(lambda losses, alphas: alphas[_rise(losses, alphas).argmax()],
          "That is the α where the barrier is highest. Return its height."),
    Wrong(lambda losses, alphas: _rise(losses, alphas).argmax(),
          "argmax gives the place of the largest rise. Return its height."),
    Wrong(lambda losses, alphas: (losses - alphas * losses[1] - (1 - alphas) * losses[0]).max(),
          "You took losses[1] for the loss of network A. It is the second loss on the line; network A is at α = 1."),
    Wrong(lambda losses, alphas: (losses - alphas * losses - (1 - alphas) * losses[0]).max(),
          "Behind the first α you put the loss at that α. The straight line is made of the losses of the two ends."),
    Wrong(lambda losses, alphas: (losses - alphas * losses[-1] - (1 - alphas) * losses).max(),
          "Behind 1 − α you put the loss at that α. The straight line is made of the losses of the two ends."),
    Wrong(lambda losses, alphas: (losses - (losses - _rise(losses, alphas)).mean()).max(),
          "You compare every loss with the mean of the line. Compare it with the line at its own α."),
    Wrong(lambda losses, alphas: (_rise(losses, alphas) / (losses - _rise(losses, alphas))).max(),
          "You divided by the line: a share of the loss. The barrier is the difference itself, in units of the loss."),
]


# -- 1.3 and 1.4 ---------------------------------------------------------------------------------------

def _features():
    generator = torch.Generator().manual_seed(1)
    alpha, i, j = torch.randn(3, 6, 4, generator=generator)
    return alpha, i, j


def _few_features():
    """Two samples, three units, numbers that one can follow."""
    alpha = torch.tensor([[1.0, 0.0, 2.0], [3.0, 4.0, 0.0]])
    i = torch.tensor([[4.0, 0.0, 4.0], [0.0, 8.0, 0.0]])
    j = torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 2.0]])
    return alpha, i, j


def _gap_cases():
    alpha, i, j = _features()
    return [(*_few_features(), 0.25), (alpha, i, j, 0.3), (alpha, i, j, 0.5), (j, alpha, i, 0.8)]


def _coef_cases():
    alpha, i, j = _features()
    return [_few_features()[:2], (alpha, i), (i, j), (alpha, alpha)]


def _cos(a, b, dim=1):
    return torch.nn.functional.cosine_similarity(a, b, dim=dim)


def _dot(a, b):
    return (a * b).sum(1)


def _gap(compare):
    """A wrong answer to 1.3: 1 minus some comparison of the interpolated and the mixed features."""
    return lambda f, i, j, alpha: 1 - compare(f, mix(i, j, alpha))


def _centred(a):
    return a - a.mean(1, keepdim=True)


_GAP = [
    Wrong(lambda f, i, j, alpha: _cos(f, mix(i, j, alpha)),
          "This is the cosine itself. The gap is 1 minus it, so that 0 means the same direction."),
    Wrong(lambda f, i, j, alpha: 1 - _cos(f, mix(j, i, alpha)),
          "The mix has its ends swapped: features_i gets the share α, as θ_i did in the weights."),
    Wrong(lambda f, i, j, alpha: 1 - _cos(f, (i + j) / 2),
          "You compare with the half-way mix whatever α is. The network in between is the one at α."),
    Wrong(lambda f, i, j, alpha: 1 - _cos(f, mix(_unit(i), _unit(j), alpha)),
          "You gave both ends length 1 before you mixed them. Mix them as they are. The cosine does not depend on the "
          "length of the mix."),
    Wrong(lambda f, i, j, alpha: 1 - mix(_cos(f, i), _cos(f, j), alpha),
          "You mixed two cosines. Mix the features first, then take one cosine with the mix."),
    Wrong(lambda f, i, j, alpha: 1 - _cos(i, j),
          "That is the distance between the two ends, which comes next. Compare the interpolated network with the mix "
          "of the two."),
    Wrong(lambda f, i, j, alpha: 1 - _cos(f, i),
          "You compare with features_i alone. Compare with the mix of both ends."),
    Wrong(_gap(lambda f, m: _cos(f.flatten(), m.flatten(), dim=0)),
          "One number for all samples together: samples with long features then drown the others. The "
          "definition takes one cosine per sample, shape (samples,)."),
    Wrong(_gap(lambda f, m: _cos(f, m).mean()),
          "Right values, averaged too early: give one gap per sample, shape (samples,). The next "
          "charts need them all."),
    Wrong(_gap(lambda f, m: _cos(f, m).abs()),
          "You took the absolute value of the cosine. Features that point the opposite way would then "
          "pass as a perfect fit; keep the sign."),
    Wrong(_gap(_dot), "This is 1 minus the dot product. A cosine also divides by both lengths."),
    Wrong(_gap(lambda f, m: _dot(f, m) / m.norm(dim=1)),
          "You divided by the length of the mix alone. A cosine divides by both lengths."),
    Wrong(_gap(lambda f, m: _dot(f, m) / f.norm(dim=1)),
          "You divided by the length of features_alpha alone. A cosine divides by both lengths."),
    Wrong(_gap(lambda f, m: _dot(f, m) / f.norm(dim=1) * m.norm(dim=1)),
          "x / p * q divides by p and multiplies by q. Put the product of the two lengths in parentheses."),
    Wrong(_gap(lambda f, m: _dot(f, m) / (_dot(f, f) * _dot(m, m))),
          "You divided by the squares of the two lengths: the roots are missing."),
    Wrong(_gap(lambda f, m: (f * m).mean(1) / (f.norm(dim=1) * m.norm(dim=1))),
          "You averaged the products of the units. A dot product is their sum."),
    Wrong(_gap(lambda f, m: _cos(f, m) ** 2),
          "You squared the cosine, which loses its sign too. Return 1 minus the cosine itself."),
    Wrong(_gap(lambda f, m: _dot(f, m) / (f.norm() * m.norm())),
          "norm() without dim is one length for all samples together. Each sample has its own: norm(dim=1)."),
    Wrong(_gap(lambda f, m: _dot(f, m) / (f.norm(1) * m.norm(1))),
          "The first argument of norm is p, the kind of norm: norm(1) adds up all absolute values, of all samples. "
          "Write norm(dim=1)."),
    Wrong(_gap(lambda f, m: _cos(f, m, dim=0)),
          "You took the cosine along the samples (dim=0), so each unit got a number. One per sample: the "
          "features run along dim=1."),
    Wrong(_gap(lambda f, m: _unit(f) @ _unit(m).T),
          "That is every sample against every other. Compare each one with its own mix: the diagonal of yours."),
    Wrong(_gap(lambda f, m: _cos(_centred(f), _centred(m))),
          "You subtracted each sample's mean first: that makes it a correlation. A cosine takes features as they are."),
    Wrong(_gap(lambda f, m: _cos(f - f.mean(0), m - m.mean(0))),
          "You subtracted the mean over the samples first. The cosine takes every sample's features as they are."),
    Wrong(_gap(lambda f, m: _dot(f, m) / (f.norm(p=1, dim=1) * m.norm(p=1, dim=1))),
          "You divided by sums of absolute values. A length is the root of the sum of squares."),
    Wrong(_gap(lambda f, m: torch.arccos(_cos(f, m)) / torch.pi),
          "You took the angle as a share of π, and that from 1. Asked is 1 minus the cosine of the angle."),
    Wrong(_gap(lambda f, m: _dot(f, m) / (f * m).norm(dim=1)),
          "You divided by the length of the product f·m, taken unit by unit. A cosine divides by the lengths of the "
          "two vectors themselves."),
    Wrong(lambda f, i, j, alpha: 1 - _cos(f, alpha * i + j),
          "In your mix features_j counts in full. The two shares sum to 1."),
    Wrong(lambda f, i, j, alpha: torch.arccos(_cos(f, mix(i, j, alpha))),
          "That is the angle. Return 1 minus its cosine."),
    Wrong(lambda f, i, j, alpha: (f - mix(i, j, alpha)).norm(dim=1),
          "That is the distance between the two, which length enters too. LLFC asks about the direction: take the "
          "cosine."),
]

_COEF = [
    Wrong(lambda a, b: a.norm(dim=1) / b.norm(dim=1),
          "This is the ratio of the two lengths. coef measures only the part of a that lies along b: the "
          "cosine is missing as a factor."),
    Wrong(_cos,
          "This is the cosine: it forgets both lengths. coef is how long a's projection on b is, in "
          "units of b."),
    Wrong(lambda a, b: _dot(a, b) / _dot(a, a),
          "You divided by ‖a‖²: that projects b on a. The yardstick is b, the mixed features."),
    Wrong(lambda a, b: _dot(a, b) / b.norm(dim=1),
          "Right projection, in absolute units: divide by ‖b‖ once more, so that 1 means “as long as b”."),
    Wrong(_dot,
          "This is the dot product, ‖a‖·‖b‖·cos(a, b). ‖b‖ stands below the line, not above."),
    Wrong(lambda a, b: (_dot(a, b) / _dot(b, b)).abs(),
          "Features that point the opposite way have a negative coef: keep the cosine's sign."),
    Wrong(lambda a, b: a.norm(dim=1) * _dot(a, b) / b.norm(dim=1),
          "You put the dot product where the cosine stands. A cosine is the dot product over both lengths."),
    Wrong(lambda a, b: a.norm(dim=1) * (1 - _cos(a, b)) / b.norm(dim=1),
          "You put 1 − cos in, the gap. coef takes the cosine itself."),
    Wrong(lambda a, b: a.norm() * _cos(a, b) / b.norm(),
          "norm() without dim is one length for all samples together. Each sample has its own: norm(dim=1)."),
    Wrong(lambda a, b: a.norm(1) * _cos(a, b) / b.norm(1),
          "The first argument of norm is p, the kind of norm: norm(1) adds up all absolute values, of all samples. "
          "Write norm(dim=1)."),
    Wrong(lambda a, b: a.norm(p=1, dim=1) * _cos(a, b) / b.norm(p=1, dim=1),
          "You took 1-norms, sums of absolute values. A length is the root of the sum of squares, p=2."),
    Wrong(lambda a, b: (a * b).sum(0) / (b * b).sum(0),
          "You summed along the samples (dim=0), so each unit got a number. One per sample: the features run along "
          "dim=1."),
    Wrong(lambda a, b: (a * b).sum() / (b * b).sum(),
          "One number for all samples together. Give one per sample: sum along dim=1 only."),
    Wrong(lambda a, b: (a / b).mean(1),
          "That is the mean of the units' ratios, in which a unit near 0 decides. Sum first, divide afterwards."),
    Wrong(lambda a, b: _dot(a, a) * _cos(a, b) / _dot(b, b),
          "You took the squares of the two lengths: the roots are missing."),
    Wrong(lambda a, b: _dot(a, b) / _dot(b, b) ** 2,
          "You took the sum of squares for the length, in the cosine too. A length is the root of that sum."),
    Wrong(lambda a, b: ((a * b).sum() / (b * b).sum()).expand(len(a)),
          "Every sample gets the same number here, made of all samples together. Each sample has its own."),
    Wrong(lambda a, b: a.norm(dim=1) / (_cos(a, b) * b.norm(dim=1)),
          "You divided by the cosine. In the formula it is a factor, above the line."),
    Wrong(lambda a, b: a.mean(1) * _cos(a, b) / b.mean(1),
          "You took the mean of the units for the length. ‖a‖ is the root of the sum of squares."),
    Wrong(lambda a, b: a @ b.T / _dot(b, b),
          "That is every sample against every other. Compare each one with its own mix: the diagonal of yours."),
]


def _unit(a):
    return torch.nn.functional.normalize(a, dim=1)


# -- 1.5 ---------------------------------------------------------------------------------------------

def _gaps():
    """Two tables, so small that one sees the place, and so uneven that each wrong way leads elsewhere. Gaps are written
    as shares of the ends' own distance first, and multiplied by it."""
    first = [[[0.1, 0.2], [0.5, 0.1]],
             [[0.2, 0.38], [0.3, 0.42]],
             [[0.0, 0.48], [0.4, 0.05]]]
    own_first = [[0.5, 0.1], [0.2, 0.6], [0.8, 0.6]]
    second = [[[0.55, 0.05, 0.68], [0.55, 0.05, 0.68], [0.5, 0.05, 0.45]],
              [[0.1, 0.7, 0.2], [0.1, 0.2, 0.3], [0.0, 0.1, 0.2]]]
    own_second = [[0.4, 0.8, 0.3], [0.1, 0.2, 0.6]]
    return [_tables(first, own_first, ["near", "middle", "far"], [0.5, 0.75], ["layer 1", "output"]),
            _tables(second, own_second, ["A", "B"], [0.25, 0.5, 0.75], ["one", "two", "three"])]


def _tables(shares, own, pairs, alphas, layers):
    coords = {"pair": pairs, "layer": layers}
    own = xarray.DataArray(np.array(own), dims=("pair", "layer"), coords=coords)
    shares = xarray.DataArray(np.array(shares), dims=("pair", "alpha", "layer"), coords=coords | {"alpha": alphas})
    return shares * own, own


def _largest(reduce):
    """A wrong answer to 1.5: the place of the largest in some table of pair × layer."""
    return lambda gap, own: tuple(reduce(gap, own).stack(place=("pair", "layer")).idxmax("place").item())


def _of_shares(function):
    """A wrong answer to 1.5 that takes the right shares, and then goes wrong with them."""
    return lambda gap, own: function((gap / own).transpose("pair", "alpha", "layer"))


def _numbers(share):
    pair, _, layer = np.unravel_index(share.values.argmax(), share.shape)
    return int(pair), int(layer)


def _alpha_for_layer(share):
    pair, place, _ = np.unravel_index(share.values.argmax(), share.shape)
    return share.pair[pair].item(), share.layer[place].item()


def _by_averages(share):
    table = share.max("alpha")
    return table.mean("layer").idxmax("pair").item(), table.mean("pair").idxmax("layer").item()


def _place(share):
    return share.max("alpha").stack(place=("pair", "layer")).idxmax("place").item()


_PLACES = [
    Wrong(_largest(lambda gap, own: gap.max("alpha")),
          "That is where the gap itself is largest. If the two ends lie far apart there anyway, it may be a small part "
          "of that: divide by own, place by place."),
    Wrong(_largest(lambda gap, own: own.expand_dims("alpha").max("alpha")),
          "That is where the two ends lie furthest apart. Asked is where the gap is the largest part of that."),
    Wrong(_largest(lambda gap, own: (own / gap).max("alpha")),
          "You divided the other way round: own by gap. The share is gap / own."),
    Wrong(_largest(lambda gap, own: (gap * own).max("alpha")),
          "You multiplied by own. A share is a quotient: gap / own."),
    Wrong(_largest(lambda gap, own: (gap - own).max("alpha")),
          "That is a difference. A share is a quotient: gap / own."),
    Wrong(_largest(lambda gap, own: (gap / own).mean("alpha")),
          "You averaged over α first. The question is for the worst case: take the maximum over α."),
    Wrong(_largest(lambda gap, own: (gap / own).min("alpha")),
          "You took the smallest share over α, its best case. The worst is the largest."),
    Wrong(_largest(lambda gap, own: -(gap / own).max("alpha")), "This is the place where the share is smallest."),
    Wrong(_largest(lambda gap, own: (gap / own).sel(alpha=0.5)),
          "You looked at α = 0.5 only. It is often the worst α, but nothing guarantees it."),
    Wrong(_largest(lambda gap, own: (gap / own).isel(alpha=-1)),
          "You looked at the last α only. The worst can be any: take the maximum over all of them."),
    Wrong(_largest(lambda gap, own: (gap / own).isel(alpha=0)),
          "You looked at the first α only. The worst can be any: take the maximum over all of them."),
    Wrong(_of_shares(lambda share: _place(share)[::-1]),
          "Right place, wrong order: give the pair first, then the layer."),
    Wrong(lambda gap, own: ("near", "layer 1"),
          "That is the place in one table. The function must find it in any: look it up in gap and own."),
    Wrong(_of_shares(_numbers),
          "Right place, but as numbers. Asked are the names that gap has there, in gap.pair and gap.layer."),
    Wrong(_of_shares(lambda share: share.max().item()),
          "That is how large the share is there. Asked is where: (pair, layer)."),
    Wrong(_of_shares(lambda share: share.to_series().idxmax()),
          "That names the worst α too, three things. Asked are two, (pair, layer): leave α out."),
    Wrong(_of_shares(lambda share: share.to_series().idxmax()[:2]),
          "The pair is right, but beside it stands the worst α. Asked is the layer."),
    Wrong(_of_shares(lambda share: ", ".join(_place(share))),
          "That is one text. Asked are two things, (pair, layer)."),
    Wrong(_of_shares(lambda share: _place(share.isel(pair=[0]))),
          "You looked at the first pair only. The worst can be any."),
    Wrong(_of_shares(lambda share: int(share.values.argmax())),
          "That is one number, counted through all axes. Asked are the names of the pair and of the layer."),
    Wrong(lambda gap, own: int(gap.values.argmax()),
          "That is one number, counted through all axes, of the largest gap. Divide by own first, and give the names "
          "of the pair and of the layer."),
    Wrong(_largest(lambda gap, own: gap.max("alpha") / own.max("layer")),
          "You divided by the largest distance of each pair. Every layer has its own: divide place by place, gap / "
          "own."),
    Wrong(_largest(lambda gap, own: gap.max("alpha") / own.mean("pair")),
          "You divided by a layer's mean distance over all pairs. Every pair has its own distance."),
    Wrong(_of_shares(lambda share: share.max("alpha").argmax(["pair", "layer"])),
          "argmax gives the two places as numbers, in a dict. Asked are the names there, as (pair, layer)."),
    Wrong(_of_shares(lambda share: (_place(share)[0], share.layer[-1].item())),
          "The pair is right, but you took its last layer. The worst can be any."),
    Wrong(_of_shares(_alpha_for_layer),
          "You looked up the place along α among the layers. The axes are (pair, alpha, layer): layers come third."),
    Wrong(_of_shares(_by_averages),
          "You chose the pair by its average over the layers, and the layer by its average over the pairs. The largest "
          "single share can stand elsewhere."),
    Wrong(_of_shares(lambda share: (share.sum(["alpha", "layer"]).idxmax("pair").item(),
                                    share.max(["alpha", "pair"]).idxmax("layer").item())),
          "The layer is right, but you chose the pair by its sum over all layers and α. Take maxima all the way."),
]


EXERCISES = [
    Exercise(
        "1.1", "interpolate two state dicts", 5, algorithms.interpolated,
        teaching=interpolate,
        cases=_states,
        wrong=_INTERPOLATED,
        hints=[
            "Go through the keys of a; b has the same ones.",
            "For each key it is α·a[key] + (1 − α)·b[key].",
            "Whole-number tensors (not tensor.is_floating_point()) are not weights: take them from a.",
        ],
        praise="Two networks in, one network out, and nothing was trained.",
        tolerance=1e-5),

    Exercise(
        "1.2", "the barrier", 6, algorithms.barrier,
        teaching=barrier,
        cases=_curves,
        wrong=_BARRIER,
        hints=[
            "Between the ends the straight line is (1 − α)·losses[0] + α·losses[-1].",
            "Subtract it from the curve.",
            "Take the maximum over all α.",
        ],
        praise="A loss below the straight line is a dip, not a barrier. You will meet one.",
        tolerance=1e-5),

    Exercise(
        "1.3", "the cosine gap", 8, algorithms.cosine_gap,
        teaching=cosine_gap,
        cases=_gap_cases,
        wrong=_GAP,
        hints=[
            "First mix the two ends' features with the same α.",
            "torch.nn.functional.cosine_similarity(a, b, dim=1) gives one cosine per sample.",
            "The gap is 1 minus it.",
        ],
        praise="Gap 0 for every sample and layer: that is LLFC.",
        tolerance=1e-5),

    Exercise(
        "1.4", "coef: how long are the features?", 6, algorithms.coef,
        teaching=coef,
        cases=_coef_cases,
        wrong=_COEF,
        hints=[
            "The projection of a on b has length ‖a‖·cos(a, b).",
            "Measure it in units of ‖b‖.",
            "cos(a, b) is ⟨a, b⟩/(‖a‖·‖b‖): what cancels?",
        ],
        praise="LLFC asks for the direction only, CTL also for coef ≈ 1.",
        tolerance=1e-5),

    Exercise(
        "1.5", "where is CTL worst?", 6, algorithms.worst,
        teaching=worst,
        cases=_gaps,
        wrong=_PLACES,
        hints=[
            "(gap / own) is the share, for every pair, α and layer: xarray matches the axes by name.",
            '.max("alpha") leaves pair × layer, .stack(place=("pair", "layer")) makes one axis of the two.',
            '.idxmax("place").item() gives the (pair, layer) of the maximum.',
        ],
        praise="Now ask why it is there."),

    Exercise(
        "1.6", "what spoils the output?", 4, "b",
        wrong=[
            Wrong("a",
                  "Look again at the two numbers that you measured for the output: its own cross term is much smaller "
                  "than what it inherits from below."),
            Wrong("c",
                  "It is the other way round: without a ReLU the output layer has no kinks of its own. It is linear in "
                  "its weights and linear in its inputs."),
            Wrong("d",
                  "Two networks that are poor at their tasks could still have features that mix exactly: the gap "
                  "compares features with features, and needs no label."),
        ],
        hints=[
            "Which is larger at the output, its own cross term or what is inherited from below?",
            "How much of the output's gap remains once layer 2 is repaired, and with it all that went wrong below?",
            "In layer 1 nothing but kinks can cause a gap. Follow it upwards.",
        ],
        praise="It begins where units flip, the layers on the way add kinks and cross terms, and most of the output's "
               "error was inherited from below. You know that because you measured it, not because a formula looked "
               "plausible."),
]
