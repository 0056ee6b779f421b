"""The exercises of chapter 4."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from lessons.kit.exercise import Exercise, Wrong
from lessons.linearity.algorithms import coef, cosine
from lessons.task_arithmetic import algorithms

# -- 4.1 -------------------------------------------------------------------------------------------

def edited(base, finetuned, lam):
    result = {}
    for key, tensor in base.items():
        if tensor.is_floating_point():
            result[key] = tensor + lam * (finetuned[key] - tensor)
        else:
            result[key] = tensor.clone()
    return result


def _states():
    base = _state([1.0, -2.0, 0.5], 0.25, 7)
    finetuned = _state([3.0, 1.0, -1.5], 0.75, 40)
    return [(base, finetuned, lam) for lam in (0.4, -1.0, 0.0, 2.0)]


def _state(weight, mean, count):
    return {"layers.0.weight": torch.tensor([weight]), "norm.running_mean": torch.tensor([mean]),
            "norm.num_batches_tracked": torch.tensor(count)}


def _floats(function, counter=lambda base, finetuned, lam: base):
    """A wrong answer to 4.1: what it makes of floating-point tensors and of counters."""
    def edited(base, finetuned, lam):
        result = {}
        for key, tensor in base.items():
            combine = function if tensor.is_floating_point() else counter
            result[key] = combine(tensor, finetuned[key], lam)
        return result
    return edited


def _step(base, finetuned, lam):
    return base + lam * (finetuned - base)


def _unit_step(base, finetuned, lam):
    return base + lam * (finetuned - base) / (finetuned - base).norm()


def _counter_lost(base, finetuned, lam):
    return {key: tensor for key, tensor in edited(base, finetuned, lam).items() if tensor.is_floating_point()}


def _statistics_kept(base, finetuned, lam):
    return edited(base, finetuned, lam) | {key: base[key] for key in base if key.startswith("norm")}


_SLIPS = (
    (lambda base, finetuned, lam: base + lam * finetuned,
     "You added λ times the finetuned weights. A task vector is what finetuning changed: finetuned − base."),
    (lambda base, finetuned, lam: base - lam * (finetuned - base),
     "This goes the other way: λ = 1 must give the finetuned network. A negative λ is for forgetting."),
    (lambda base, finetuned, lam: finetuned + lam * (base - finetuned),
     "At λ = 0 you have the finetuned network and at λ = 1 the base. It is to be the other way round."),
    (lambda base, finetuned, lam: finetuned + lam * (finetuned - base),
     "You start at the finetuned network. A task vector is applied to the base: λ = 0 must change nothing "
     "there."),
    (lambda base, finetuned, lam: lam * (finetuned - base),
     "That is the scaled task vector alone. Put it back on top of the base."),
    (lambda base, finetuned, lam: finetuned,
     "That is the finetuned network, whatever λ is. λ says how far to go from the base towards it."),
    (lambda base, finetuned, lam: lam * finetuned,
     "Only λ times the finetuned weights is left, as in base + lam * finetuned − base: Python multiplies "
     "first. The difference needs parentheses."),
    (lambda base, finetuned, lam: lam * (base + finetuned),
     "λ stands before both networks here. It belongs to the task vector alone; the base counts in full."),
    (lambda base, finetuned, lam: _step(base, finetuned, min(max(lam, 0), 1)),
     "You cut λ off at 0 and 1. It may lie beyond: below 0 a task is to be forgotten."),
    (lambda base, finetuned, lam: _step(base, finetuned, abs(lam)),
     "You took λ without its sign. Below 0 the task vector is to be subtracted."),
    (lambda base, finetuned, lam: finetuned - base,
     "That is the task vector alone. Multiply it by λ, and add it to the base."),
    (lambda base, finetuned, lam: lam * base + finetuned - base,
     "λ stands before the base here. It belongs to the task vector; the base counts in full."),
    (_unit_step,
     "You scaled every difference to length 1. A task vector keeps its length: it says how far finetuning "
     "went."),
)


EDITED = Exercise(
    "4.1", "edit a network with a task vector", 5, algorithms.edited,
    teaching=edited,
    cases=_states,
    wrong=[
        *(Wrong(_floats(slip), says) for slip, says in _SLIPS),
        *(Wrong(_floats(slip, slip), f"{says} Also, copy “num_batches_tracked” from the base.")
          for slip, says in _SLIPS),
        Wrong(_floats(_step, _step),
              "The weights are right, but you also edited “num_batches_tracked”, a whole number that counts. It is no "
              "weight, so copy it from the base."),
        Wrong(_floats(_step, lambda base, finetuned, lam: _step(base, finetuned, lam).to(base.dtype)),
              "The weights are right, but “num_batches_tracked” was edited too and then rounded. It is no weight: take "
              "the base's as it is."),
        Wrong(_floats(_step, lambda base, finetuned, lam: finetuned),
              "The weights are right, but “num_batches_tracked” came from the finetuned network. An edited base keeps "
              "the base's counter, also when ten task vectors are added."),
        Wrong(_floats(_step, lambda base, finetuned, lam: finetuned - base),
              "The weights are right, but “num_batches_tracked” is the difference of the two. The result has the "
              "base's."),
        Wrong(_counter_lost,
              "The weights are right, but “num_batches_tracked” got lost: a network could not load this. Take the "
              "base's."),
        Wrong(_statistics_kept,
              "Weights and biases are right, but “running_mean” is still the base's. It is a floating-point tensor and "
              "goes through the arithmetic with the weights; only whole-number counters do not."),
    ],
    hints=["Go through the keys of base.",
           "For each tensor: base[key] + lam * (finetuned[key] - base[key]).",
           "Whole-number tensors (not tensor.is_floating_point()) are taken from base as they are."],
    praise="λ = 0 is the base, λ = 1 the finetuned network. Nobody trained any of the other networks on this line.",
    tolerance=1e-5)


# -- 4.2 -------------------------------------------------------------------------------------------

AVERAGE = Exercise(
    "4.2", "when is a sum an average?", 3, 0.5,
    wrong=[
        Wrong(1.0,
              "With λ = 1 you are at θᵢ + θⱼ − θ₀: both task vectors in full length. Write out "
              "θ₀ + λ(θᵢ − θ₀) + λ(θⱼ − θ₀) and ask when θ₀ drops out."),
        Wrong(0.4,
              "0.4 is the value that the literature likes for many tasks. Write out the sum and ask when θ₀ drops "
              "out."),
        Wrong(0.25,
              "At λ = ¼ each of the two has the share ¼, and half of the network is still θ₀. Write out the sum and "
              "ask when θ₀ drops out."),
        Wrong(1 / 3,
              "λ = ⅓ is the average of three networks: θ₀ is one of them. When does it drop out?"),
        Wrong(math.sqrt(0.5),
              "√½ would keep the length of the sum for two arrows at right angles. Asked is an average of networks: "
              "when does θ₀ drop out?"),
        Wrong(-0.5,
              "The right size, the wrong sign: below 0 both task vectors are subtracted, and you go away from both "
              "networks."),
        Wrong(2.0, "Look at the share of θ₀, which is 1 − 2λ. At λ = 2 it is −3."),
        Wrong(0.0, "At λ = 0 nothing was added: that is θ₀."),
        Wrong(0.3,
              "0.3 is a common choice for many tasks, found by trying. Here λ follows from the sum, so write it out "
              "and ask when θ₀ drops out."),
        Wrong(50.0, "That is a number in per cent. Give λ itself, the factor in front of the sum."),
    ],
    hints=["θ₀ + λ(τᵢ + τⱼ) = (1 − 2λ)·θ₀ + λ·θᵢ + λ·θⱼ.",
           "For which λ has θ₀ the share 0?"],
    praise="Only there. With k task vectors it is λ = 1/k. Everything else is an average with θ₀ in it, or goes "
           "beyond the models.")


# -- 4.3 -------------------------------------------------------------------------------------------

def _lams():
    return [(torch.tensor(lams, dtype=torch.float64),)
            for lams in ([0.5, 0.5], [0.4, -0.3, 1.0], [-1.0], [0.2, 0.4], [0.7, 0.6, 0.5])]


def _base_gets(share):
    """A wrong answer to 4.3: the share that θ₀ gets there."""
    def answer(lams):
        return torch.cat([torch.as_tensor(share(lams), dtype=torch.float64).reshape(1), lams])
    return answer


def _base_last(lams):
    return torch.cat([lams, 1 - lams.sum(0, keepdim=True)])


def _scaled_to_one(lams):
    return torch.cat([torch.zeros(1, dtype=lams.dtype), lams / lams.sum()])


def _one_and_lams_scaled(lams):
    return torch.cat([torch.ones(1), lams]) / (1 + lams.sum())


def _of_what_is_left(lams):
    left = torch.cat([torch.ones(1), 1 - lams]).cumprod(0)
    return torch.cat([left[-1:], lams * left[:-1]])


def _averaged_edits(lams):
    return torch.cat([1 - lams.mean(0, keepdim=True), lams / len(lams)])


SHARES = Exercise(
    "4.3", "a sum as shares of models", 6, algorithms.shares_of,
    cases=_lams,
    wrong=[
        Wrong(_base_gets(lambda lams: 1),
              "θ₀ got the share 1. But every λ·τ = λ·θ_t − λ·θ₀ also takes λ away from θ₀."),
        Wrong(_base_gets(lambda lams: 0),
              "θ₀ got no share. It has what the λ leave over of 1."),
        Wrong(_base_gets(lambda lams: -lams.sum()),
              "The task vectors take Σλ away from θ₀, that is right. But it was there once to begin with."),
        Wrong(_base_gets(lambda lams: lams.sum() - 1),
              "The share of θ₀ has the wrong sign: the shares must sum to 1."),
        Wrong(_base_gets(lambda lams: lams.sum()),
              "θ₀ got the sum of the λ. It has what they leave over of 1."),
        Wrong(_base_gets(lambda lams: 1 - lams.max()),
              "You took the largest λ away from θ₀. Every one of them takes its own: their sum."),
        Wrong(lambda lams: torch.cat([1 - lams.sum(0, keepdim=True), -lams]),
              "The share of θ₀ is right. Those of the θ_t have the wrong sign: τ_t = θ_t − θ₀ has +θ_t in it."),
        Wrong(_base_gets(lambda lams: 1 + lams.sum()),
              "You gave λ to θ₀ for every task vector. τ_t = θ_t − θ₀: each takes it away."),
        Wrong(_base_gets(lambda lams: 1 - lams.mean()),
              "You took the mean of the λ away from θ₀. Every one of them takes its own: their sum."),
        Wrong(_base_gets(lambda lams: 1 - lams.abs().sum()),
              "You took the λ without their sign. A negative λ gives θ₀ something back."),
        Wrong(_base_gets(lambda lams: (1 - lams).prod()),
              "You multiplied what each λ leaves over. All task vectors start at θ₀ itself, none from where the one "
              "before ended: the λ are added."),
        Wrong(_base_gets(lambda lams: len(lams) - lams.sum()),
              "You counted θ₀ once for every task vector. It is in the sum once: the shares must sum to 1."),
        Wrong(_base_gets(lambda lams: (1 - lams.sum()).clamp(min=0)),
              "You cut the share of θ₀ at 0. It may be negative: then the point lies outside the models."),
        Wrong(lambda lams: torch.cat([1 - lams, lams]),
              "You gave θ₀ a share for each task vector. It is one model and has one share."),
        Wrong(_base_last,
              "The right shares, in the wrong order: θ₀ comes first."),
        Wrong(lambda lams: lams,
              "The share of θ₀ is missing: it comes first."),
        Wrong(lambda lams: 1 - lams.sum(0, keepdim=True),
              "That is the share of θ₀. The shares of the finetuned models belong into the result too."),
        Wrong(lambda lams: (1 - lams.sum(), lams),
              "These are the right numbers, in two things. Join them into one tensor of 1 + k numbers, with "
              "torch.cat."),
        Wrong(lambda lams: torch.stack([1 - lams.sum(), lams]),
              "torch.stack wants tensors of one shape. torch.cat joins longer and shorter ones, if the share of θ₀ has "
              "one dimension too."),
        Wrong(lambda lams: torch.cat([1 - lams.sum(), lams]),
              "torch.cat wants at least one dimension: lams.sum() has none. Give the share of θ₀ the shape (1,)."),
        Wrong(_scaled_to_one,
              "You scaled the λ until they sum to 1. The share of θ₀ is there to fill up what is missing, or to take "
              "away what is too much."),
        Wrong(_one_and_lams_scaled,
              "You began with 1 for θ₀ and scaled all shares until they sum to 1. Nothing is scaled: each θ_t has λ_t, "
              "and θ₀ what is left."),
        Wrong(lambda lams: torch.cat([torch.zeros(1), lams]).softmax(0),
              "A softmax makes shares of any numbers, but other ones. Multiply the sum out and collect what stands "
              "before each model."),
        Wrong(_of_what_is_left,
              "You gave each task vector a share of what the ones before left over. Here all start at θ₀: θ_t has the "
              "share λ_t."),
        Wrong(_base_gets(lambda lams: 1 - lams[0]),
              "You took only the first λ away from θ₀. Every task vector takes its own λ away."),
        Wrong(lambda lams: lams / lams.sum(),
              "The share of θ₀ is missing, and you scaled the λ until they sum to 1. Keep them as they are, because "
              "θ₀ makes up the difference."),
        Wrong(_averaged_edits,
              "You averaged k networks, each edited with one task vector. Here all the task vectors are added to one "
              "θ₀, and nothing is divided by k."),
    ],
    hints=["Write every τ_t as θ_t − θ₀ and collect.",
           "θ_t has the share λ_t.",
           "θ₀ has 1 minus the sum of all of these. torch.cat puts the two together."],
    praise="They sum to 1, always. Where all are at least 0 the point lies between the models, as in chapter 3; beyond "
           "that, it is extrapolation.",
    tolerance=1e-5)


# -- 4.4 -------------------------------------------------------------------------------------------

def _features():
    generator = torch.Generator().manual_seed(1)
    lengths = torch.tensor([1.0, 3, 0.5])[:, None, None]
    return [tuple(torch.randn(3, *shape, generator=generator) * lengths) for shape in ((6, 4), (3, 5))]


def _to_equal_lengths(middle, a, b):
    return cosine(middle, (F.normalize(a.double(), dim=1) + F.normalize(b.double(), dim=1)) / 2)


def _one_length_for_all(middle, a, b):
    mean = (a + b) / 2
    return (middle * mean).sum(1) / (middle.norm() * mean.norm())


def _by_squared_lengths(middle, a, b):
    mean = (a + b) / 2
    return (middle * mean).sum(1) / (middle.norm(dim=1) * mean.norm(dim=1)) ** 2


def _correlation(middle, a, b):
    mean = (a + b) / 2
    return cosine(middle - middle.mean(1, keepdim=True), mean - mean.mean(1, keepdim=True))


def _by_the_mean_of_lengths(middle, a, b):
    return (middle * (a + b)).sum(1) / (middle.norm(dim=1) * (a.norm(dim=1) + b.norm(dim=1)))


COSINE = Exercise(
    "4.4", "measure Eq. 2", 6, algorithms.cosine_arith,
    cases=_features,
    wrong=[
        Wrong(lambda middle, a, b: cosine(a, b),
              "That is the baseline, cosine_base: the two ends with each other. Eq. 2 compares the edited network with "
              "their mean."),
        Wrong(lambda middle, a, b: (cosine(middle, a) + cosine(middle, b)) / 2,
              "You averaged two cosines. Eq. 2 averages the features, and then there is one cosine."),
        Wrong(lambda middle, a, b: cosine(middle, a) * cosine(middle, b),
              "You multiplied two cosines. Eq. 2 averages the features, and then there is one cosine."),
        Wrong(lambda middle, a, b: cosine(middle, a),
              "That is the cosine with one end alone. On the right of Eq. 2 stands the mean of both."),
        Wrong(lambda middle, a, b: cosine(middle, b),
              "That is the cosine with the second end alone. On the right of Eq. 2 stands the mean of both."),
        Wrong(lambda middle, a, b: cosine(middle, a) + cosine(middle, b),
              "You added two cosines up. Eq. 2 averages the features, and then there is one cosine."),
        Wrong(lambda middle, a, b: cosine(middle, middle - (a + b) / 2),
              "That is the cosine with the difference of the two sides. Asked is the one between the sides."),
        Wrong(lambda middle, a, b: coef(middle, (a + b) / 2),
              "That is coef: it divides by the square of one length. A cosine divides by both lengths."),
        Wrong(lambda middle, a, b: F.normalize(middle) @ F.normalize(a + b).T,
              "You compared every sample with every other. Asked is each one with itself: the diagonal."),
        Wrong(lambda middle, a, b: cosine(middle, a - b),
              "You took the difference of the ends. On the right of Eq. 2 stands their mean."),
        Wrong(lambda middle, a, b: cosine(a - middle, b - middle),
              "That compares how the ends differ from the middle. Eq. 2 compares features with features: the middle's "
              "with the mean of the ends'."),
        Wrong(lambda middle, a, b: cosine(middle, a + b / 2),
              "Python divides before it adds: only b was halved. (a + b) / 2 needs its parentheses."),
        Wrong(lambda middle, a, b: 1 - algorithms.cosine_arith(middle, a, b),
              "This is 1 − cosine, what the figures show. Give the cosine itself."),
        Wrong(lambda middle, a, b: algorithms.cosine_arith(middle, a, b).arccos(),
              "That is the angle. Give its cosine."),
        Wrong(lambda middle, a, b: algorithms.cosine_arith(middle, a, b).mean(),
              "Right values, averaged too far: keep one number per sample, shape (samples,)."),
        Wrong(lambda middle, a, b: cosine(middle.T, (a + b).T / 2),
              "The cosine ran over the samples, and there is one number per unit. dim=1 runs over the units of a "
              "sample."),
        Wrong(lambda middle, a, b: cosine(middle.reshape(1, -1), (a + b).reshape(1, -1))[0],
              "You made one long vector of all samples. Every sample has a cosine of its own: dim=1."),
        Wrong(lambda middle, a, b: (middle * (a + b) / 2).sum(1),
              "These are scalar products. A cosine divides by both lengths."),
        Wrong(_one_length_for_all,
              "You divided by one length for all samples together. Every sample has its own: norm(dim=1)."),
        Wrong(lambda middle, a, b: (middle - (a + b) / 2).norm(dim=1),
              "That is the length of the difference of the two sides. Asked is the cosine between them."),
        Wrong(_to_equal_lengths,
              "You gave both ends' features the length 1 before averaging. Eq. 2 averages them as they are: the longer "
              "one counts for more."),
        Wrong(_by_squared_lengths,
              "You divided by the squares of both lengths. A cosine divides by the lengths, so their roots are "
              "missing."),
        Wrong(_correlation,
              "You subtracted each sample's mean over its units, which gives a correlation. A cosine takes the "
              "features as they are."),
        Wrong(_by_the_mean_of_lengths,
              "You divided by the mean of the lengths of a and b. The cosine needs the length of their mean, which "
              "is shorter where they point in different directions."),
        Wrong(lambda middle, a, b: algorithms.cosine_arith(middle, a, b) - cosine(a, b),
              "You subtracted the baseline. It is compared with the cosine later, so return the cosine alone."),
    ],
    hints=["The right-hand side of Eq. 2 is (a + b) / 2.",
           "torch.nn.functional.cosine_similarity(…, …, dim=1) gives one number per sample."],
    praise="With the ends θ₀ + λτ and θ₀ − λτ, the same function measures Eq. 3.",
    tolerance=1e-5)


# -- 4.5 -------------------------------------------------------------------------------------------

def log_slope(x, y):
    u = [math.log(value) for value in x]
    v = [math.log(value) for value in y]
    mean_u = sum(u) / len(u)
    mean_v = sum(v) / len(v)
    above = sum((p - mean_u) * (q - mean_v) for p, q in zip(u, v))
    below = sum((p - mean_u) ** 2 for p in u)
    return above / below


def _powers():
    x = [0.05, 0.1, 0.2, 0.4]
    return [(x, [3 * value ** 2 for value in x]),
            (x, [0.1 * value ** 1.5 for value in x]),
            ([0.5, 2.0, 5.0], [1.5, 2.5, 4.0]),
            ([0.5, 2.0, 5.0, 8.0], [7.0, 3.5, 3.0, 0.9])]


def _fit(x, y):
    """The least-squares slope and intercept."""
    return np.polyfit(x, y, 1)


def _of_logs(function):
    """A wrong answer to 4.5: what it does with the logarithms."""
    def answer(x, y):
        return function(np.log(x), np.log(y))
    return answer


EXPONENT = Exercise(
    "4.5", "the exponent of a power law", 8, algorithms.log_slope,
    teaching=log_slope,
    cases=_powers,
    wrong=[
        Wrong(lambda x, y: _fit(x, y)[0],
              "That is the slope of y against x. A power law y = c·xᵖ becomes a line only when both axes are "
              "logarithmic."),
        Wrong(lambda x, y: _fit(x, np.log(y))[0],
              "Only y is logarithmic here. log y = log c + p·log x: take the logarithm of x too."),
        Wrong(lambda x, y: _fit(np.log(x), y)[0],
              "Only x is logarithmic here. log y = log c + p·log x: take the logarithm of y too."),
        Wrong(lambda x, y: _fit(np.log10(x), np.log(y))[0],
              "Two kinds of logarithm: x got log10 and y the natural one. Which one does not matter, but both must "
              "get the same."),
        Wrong(lambda x, y: _fit(np.log(x), np.log10(y))[0],
              "Two kinds of logarithm: x got the natural one and y log10. Which one does not matter, but both must "
              "get the same."),
        Wrong(lambda x, y: _fit(np.log1p(x), np.log1p(y))[0],
              "log1p(x) is log(1 + x). A power law becomes a line in log(x)."),
        Wrong(lambda x, y: y[-1] / y[0],
              "By how much y grows depends on how far x went. Divide the logarithm of this by that of x[-1]/x[0], or "
              "better, use all points."),
        Wrong(_of_logs(lambda u, v: (v[-1] - v[0]) / (u[-1] - u[0])),
              "Right for an exact power law. Measured points scatter: fit a line through all of them, not only the "
              "first and the last."),
        Wrong(_of_logs(lambda u, v: (v[1] - v[0]) / (u[1] - u[0])),
              "Right for an exact power law. Measured points scatter: fit a line through all of them, not only the "
              "first two."),
        Wrong(_of_logs(lambda u, v: np.mean(np.diff(v) / np.diff(u))),
              "Right for an exact power law. The mean of the slopes from point to point is not the least-squares line: "
              "there points far apart count for more."),
        Wrong(_of_logs(lambda u, v: _fit(v, u)[0]),
              "You have x and y the wrong way round: p is the slope of log y over log x."),
        Wrong(lambda x, y: 1 / algorithms.log_slope(x, y),
              "That is 1/p, the exponent of x as a power of y. p is the slope of log y over log x."),
        Wrong(_of_logs(lambda u, v: _fit(u, v)[1]),
              "That is the intercept, log c. np.polyfit gives the slope first."),
        Wrong(_of_logs(lambda u, v: tuple(_fit(u, v))),
              "That is slope and intercept. The exponent is the slope alone."),
        Wrong(_of_logs(lambda u, v: (u * v).sum() / (u ** 2).sum()),
              "Your line goes through the origin, as if c were 1. Take the means away from both logarithms first."),
        Wrong(_of_logs(lambda u, v: np.mean(v / u)),
              "log y / log x is p only where c is 1. Fit a line, with an intercept for log c."),
        Wrong(_of_logs(lambda u, v: v[0] / u[0]),
              "That takes c for 1, and one point for all. Fit a line through all points, with an intercept for log c."),
        Wrong(_of_logs(lambda u, v: ((u - u.mean()) * (v - v.mean())).sum() / (u ** 2).sum()),
              "The mean was taken away above the fraction bar only. Below it, too, belongs the scatter of log x around "
              "its mean."),
        Wrong(_of_logs(lambda u, v: np.cov(u, v)[0, 1] / u.var()),
              "np.cov divides by n − 1, var by n. Use one kind for both, and the two cancel."),
        Wrong(_of_logs(lambda u, v: np.mean((u - u.mean()) * (v - v.mean())) / u.var(ddof=1)),
              "You divided by n above the fraction bar and by n − 1 below, as torch.var does. Use one kind for both, "
              "and the two cancel."),
        Wrong(_of_logs(lambda u, v: ((u - u.mean()) * (v - v.mean())).sum() / u.var()),
              "A sum above the fraction bar, a mean below: var divides by the number of points. Take a sum or a mean "
              "for both."),
        Wrong(_of_logs(lambda u, v: ((u - u.mean()) * (v - v.mean())).sum() / u.var(ddof=1)),
              "A sum above the fraction bar, and below it torch's var, which divides by n − 1. Take a sum for both."),
        Wrong(_of_logs(lambda u, v: np.corrcoef(u, v)[0, 1] ** 2),
              "That is R², how well a line fits. Asked is how steep it is."),
        Wrong(_of_logs(lambda u, v: np.cov(u, v)[0, 1] / u.std(ddof=1)),
              "You divided the covariance by the standard deviation of log x. A slope divides by the variance."),
        Wrong(_of_logs(lambda u, v: np.median(np.diff(v) / np.diff(u))),
              "Right for an exact power law. The median of the slopes from point to point is not the least-squares "
              "line."),
        Wrong(lambda x, y: math.log(y) / math.log(x),
              "math.log takes one number. Go through the lists, or use numpy.log."),
        Wrong(_of_logs(lambda u, v: np.cov(u, v)[0, 1]),
              "That is the covariance of the logarithms. A slope divides it by the variance of log x."),
        Wrong(_of_logs(lambda u, v: np.corrcoef(u, v)[0, 1]),
              "That is the correlation: how well a line fits, not how steep it is."),
        Wrong(_of_logs(lambda u, v: v.std() / u.std()),
              "That is the ratio of the scatters. It is the slope only where all points lie on a line, and it has no "
              "sign."),
        Wrong(_of_logs(lambda u, v: np.mean((u - u.mean()) * (v - v.mean())) / u.std()),
              "The covariance is right, but you divided it by the scatter of log x. A slope divides by the square of "
              "that."),
    ],
    hints=["Take the logarithms of x and of y.",
           "The least-squares slope is Σ(u − ū)(v − v̄) / Σ(u − ū)²; numpy.polyfit(u, v, 1)[0] gives it too."],
    praise="A slope on logarithmic axes is a clue to a mechanism. A clue, not a proof: you will see.",
    tolerance=1e-4)


# -- 4.6 -------------------------------------------------------------------------------------------

FIRST_LAYER = Exercise(
    "4.6", "which exponent does the first layer have?", 6, "b",
    wrong=[
        Wrong("a",
              "λ¹ would be a unit that deviates for every image by something proportional to λ. But a unit whose input "
              "keeps its sign does not deviate at all."),
        Wrong("c",
              "λ² is what a smooth function gives. In the first layer W·x + b is exactly linear in the weights, so "
              "there is nothing smooth to bend; only the ReLU's kink is left."),
        Wrong("d",
              "λ³ is how the mean of the squares grows: a share ∝ λ of the units, times a square ∝ λ². We take the "
              "root at the end."),
    ],
    hints=["How many units deviate at all? Those whose pre-activation is within reach of 0, and the reach grows like "
           "λ.",
           "How much does such a unit deviate? Like λ.",
           "Root mean square: √(λ · λ²)."],
    praise="In the first layer, where there is nothing but kinks, that is the slope to expect. Whether a slope says as "
           "much behind it, you will measure.")


# -- 4.7 -------------------------------------------------------------------------------------------

def _two():
    few = torch.tensor([[2.0, 0.0, 0.5], [1.0, 3.0, 0.0]]), torch.tensor([[1.5, 1.0, 2.0], [0.0, 4.5, 0.0]])
    return [_features()[0][:2], few]


NEGATED = Exercise(
    "4.7", "negation in feature space", 5, algorithms.negated_in_features,
    cases=_two,
    wrong=[
        Wrong(lambda at_base, at_finetuned: at_base - at_finetuned,
              "That is −Δ alone. Take Δ away from the features of θ₀."),
        Wrong(lambda at_base, at_finetuned: at_finetuned - at_base,
              "That is Δ alone. Take it away from the features of θ₀."),
        Wrong(lambda at_base, at_finetuned: at_base + (at_finetuned - at_base),
              "You added Δ, and so came out at the features of θ₀ + λτ."),
        Wrong(lambda at_base, at_finetuned: 1.0 * at_base,
              "You took Δ away from the features of θ₀ + λτ, and so came out at those of θ₀. Take it away from "
              "these."),
        Wrong(lambda at_base, at_finetuned: 2 * at_finetuned - at_base,
              "You went on beyond θ₀ + λτ, by one more Δ. Eq. 4 goes the other way, from the features of θ₀."),
        Wrong(lambda at_base, at_finetuned: (at_base + at_finetuned) / 2,
              "That is half-way between the two. Eq. 4 goes away from at_finetuned: f(θ₀) is the middle of it and what "
              "you look for."),
        Wrong(lambda at_base, at_finetuned: at_base + at_finetuned,
              "You added the two. Δ is their difference, and it is taken away from the features of θ₀."),
        Wrong(lambda at_base, at_finetuned: at_base - (at_finetuned - at_base) / 2,
              "You took half of Δ away. The ½ of Eq. 3 is gone once it is solved for the negated network."),
        Wrong(lambda at_base, at_finetuned: at_base - 2 * (at_finetuned - at_base),
              "You took Δ away twice."),
        Wrong(lambda at_base, at_finetuned: -at_finetuned,
              "You turned the sign of all of f(θ₀ + λτ). Only what the task vector changed, Δ, is turned round; and "
              "Δ needs its parentheses when it is taken away."),
        Wrong(lambda at_base, at_finetuned: (2 * at_base - at_finetuned).clamp(min=0),
              "You cut at 0, as a ReLU does. Eq. 4 does not: it says what the features should be, and a negative one "
              "shows where it must fail."),
        Wrong(lambda at_base, at_finetuned: at_base - (at_finetuned - at_base).mean(0),
              "You averaged Δ over the samples. Each sample has its own Δ."),
        Wrong(lambda at_base, at_finetuned: at_base - (at_finetuned - at_base).abs(),
              "You took Δ without its sign. A feature that finetuning made smaller must become larger here."),
    ],
    hints=["Δ = at_finetuned − at_base.",
           "The result is at_base − Δ."],
    praise="A mirror image: as far from f(θ₀) as f(θ₀ + λτ) is, on the other side.",
    tolerance=1e-5)

EXERCISES = [EDITED, AVERAGE, SHARES, COSINE, EXPONENT, FIRST_LAYER, NEGATED]
