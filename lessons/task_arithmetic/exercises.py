"""The exercises of chapter 4."""
import math

import torch
import torch.nn.functional as F

from lessons.kit.exercise import Exercise, Wrong
from lessons.linearity.algorithms import cosine
from lessons.task_arithmetic import algorithms

# -- 4.1 -------------------------------------------------------------------------------------------

def _states():
    generator = torch.Generator().manual_seed(0)
    base, finetuned = (_state(generator, count) for count in (7, 40))
    return [(base, finetuned, lam) for lam in (0.4, -1.0, 0.0)]


def _state(generator, count):
    return {"layers.0.weight": torch.randn(3, 2, generator=generator),
            "layers.0.bias": torch.randn(3, generator=generator),
            "norm.num_batches_tracked": torch.tensor(count)}


def _floats(function):
    """A wrong answer to 4.1 that carries the base's counter over."""
    def edited(base, finetuned, lam):
        result = dict(base)
        for key, tensor in base.items():
            if tensor.is_floating_point():
                result[key] = function(tensor, finetuned[key], lam)
        return result
    return edited


def _also_the_counter(base, finetuned, lam):
    return {key: base[key] + lam * (finetuned[key] - base[key]) for key in base}


def _finetuned_counter(base, finetuned, lam):
    counter = {key: tensor for key, tensor in finetuned.items() if not tensor.is_floating_point()}
    return algorithms.edited(base, finetuned, lam) | counter


EDITED = Exercise(
    "4.1", "edit a network with a task vector", 5, algorithms.edited,
    cases=_states,
    wrong=[
        Wrong(_floats(lambda base, finetuned, lam: base + lam * finetuned),
              "You added λ times the finetuned weights. A task vector is what finetuning changed: finetuned − base."),
        Wrong(_floats(lambda base, finetuned, lam: base - lam * (finetuned - base)),
              "This goes the other way: λ = 1 must give the finetuned network. A negative λ is for forgetting."),
        Wrong(_floats(lambda base, finetuned, lam: lam * (finetuned - base)),
              "That is the scaled task vector alone. Put it back on top of the base."),
        Wrong(_also_the_counter,
              "The weights are right, but you also edited “num_batches_tracked”, a whole number that counts. It is no "
              "weight: the result has the base's."),
        Wrong(_finetuned_counter,
              "The weights are right, but “num_batches_tracked” came from the finetuned network. An edited base keeps "
              "the base's counter, also when ten task vectors are added."),
    ],
    hints=["Go through the keys of base.",
           "For each tensor: base[key] + lam * (finetuned[key] - base[key]).",
           "Whole-number tensors (not tensor.is_floating_point()) are taken from base as they are."],
    praise="λ = 0 is the base, λ = 1 the finetuned network. What lies beyond 1 and below 0, nobody has trained.",
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
        Wrong(2.0, "Look at the share of θ₀, which is 1 − 2λ. At λ = 2 it is −3."),
        Wrong(0.0, "At λ = 0 nothing was added: that is θ₀."),
    ],
    hints=["θ₀ + λ(τᵢ + τⱼ) = (1 − 2λ)·θ₀ + λ·θᵢ + λ·θⱼ.",
           "For which λ has θ₀ the share 0?"],
    praise="Only there. With k task vectors it is λ = 1/k. Everything else is an average with θ₀ in it, or goes "
           "beyond the models.")


# -- 4.3 -------------------------------------------------------------------------------------------

def _lams():
    return [(torch.tensor(lams, dtype=torch.float64),) for lams in ([0.5, 0.5], [0.4, -0.3, 1.0], [-1.0])]


def _base_in_full(lams):
    return torch.cat([torch.ones(1, dtype=lams.dtype), lams])


def _base_last(lams):
    return torch.cat([lams, 1 - lams.sum(0, keepdim=True)])


def _scaled_to_one(lams):
    return torch.cat([torch.zeros(1, dtype=lams.dtype), lams / lams.sum()])


def _cut_at_zero(lams):
    return torch.cat([(1 - lams.sum(0, keepdim=True)).clamp(min=0), lams])


SHARES = Exercise(
    "4.3", "a sum as shares of models", 6, algorithms.shares_of,
    cases=_lams,
    wrong=[
        Wrong(_base_in_full,
              "θ₀ got the share 1. But every λ·τ = λ·θ_t − λ·θ₀ also takes λ away from θ₀."),
        Wrong(_base_last,
              "The right shares, in the wrong order: θ₀ comes first."),
        Wrong(_scaled_to_one,
              "You scaled the λ until they sum to 1. The share of θ₀ is there to fill up what is missing, or to take "
              "away what is too much."),
        Wrong(_cut_at_zero,
              "You cut the share of θ₀ at 0. It may be negative: then the point lies outside the models."),
        Wrong(lambda lams: 1 - lams.sum(0, keepdim=True),
              "That is the share of θ₀. The shares of the finetuned models belong into the result too."),
    ],
    hints=["Write every τ_t as θ_t − θ₀ and collect.",
           "θ_t has the share λ_t.",
           "θ₀ has 1 minus the sum of all of these. torch.cat puts the two together."],
    praise="They sum to 1, always. Where all are at least 0 the point lies between the models, as in chapter 3; beyond "
           "that, it is extrapolation.",
    tolerance=1e-6)


# -- 4.4 -------------------------------------------------------------------------------------------

def _features():
    generator = torch.Generator().manual_seed(1)
    return [tuple(torch.randn(3, 6, 4, generator=generator) * torch.tensor([1.0, 3, 0.5])[:, None, None])]


def _to_equal_lengths(middle, a, b):
    return cosine(middle, (F.normalize(a.double(), dim=1) + F.normalize(b.double(), dim=1)) / 2)


COSINE = Exercise(
    "4.4", "measure Eq. 2", 6, algorithms.cosine_arith,
    cases=_features,
    wrong=[
        Wrong(lambda middle, a, b: cosine(a, b),
              "That is the baseline, cosine_base: the two ends with each other. Eq. 2 compares the edited network with "
              "their mean."),
        Wrong(lambda middle, a, b: (cosine(middle, a) + cosine(middle, b)) / 2,
              "You averaged two cosines. Eq. 2 averages the features, and then there is one cosine."),
        Wrong(lambda middle, a, b: 1 - algorithms.cosine_arith(middle, a, b),
              "This is 1 − cosine, what the figures show. Give the cosine itself."),
        Wrong(lambda middle, a, b: algorithms.cosine_arith(middle, a, b).mean(),
              "Right values, averaged too far: keep one number per sample, shape (samples,)."),
        Wrong(_to_equal_lengths,
              "You gave both ends' features the length 1 before averaging. Eq. 2 averages them as they are: the longer "
              "one counts for more."),
    ],
    hints=["The right-hand side of Eq. 2 is (a + b) / 2.",
           "torch.nn.functional.cosine_similarity(…, …, dim=1) gives one number per sample."],
    praise="With the ends θ₀ + λτ and θ₀ − λτ, the same function measures Eq. 3.",
    tolerance=1e-5)


# -- 4.5 -------------------------------------------------------------------------------------------

def _powers():
    x = [0.05, 0.1, 0.2, 0.4]
    return [(x, [3 * value ** 2 for value in x]),
            (x, [0.1 * value ** 1.5 for value in x]),
            ([1.0, 2.0, 5.0], [1.0, 2.5, 4.0])]


def _slope(x, y):
    """The least-squares slope."""
    x = torch.tensor(x, dtype=torch.float64)
    y = torch.tensor(y, dtype=torch.float64)
    u = x - x.mean()
    v = y - y.mean()
    return ((u * v).sum() / (u ** 2).sum()).item()


EXPONENT = Exercise(
    "4.5", "the exponent of a power law", 8, algorithms.log_slope,
    cases=_powers,
    wrong=[
        Wrong(_slope,
              "That is the slope of y against x. A power law y = c·xᵖ becomes a line only when both axes are "
              "logarithmic."),
        Wrong(lambda x, y: _slope(x, [math.log(value) for value in y]),
              "Only y is logarithmic here. log y = log c + p·log x: take the logarithm of x too."),
        Wrong(lambda x, y: y[-1] / y[0],
              "By how much y grows depends on how far x went. Divide the logarithm of this by that of x[-1]/x[0], or "
              "better, use all points."),
        Wrong(lambda x, y: math.log(y[-1] / y[0]) / math.log(x[-1] / x[0]),
              "Right for an exact power law. Measured points scatter: fit a line through all of them, not only the "
              "first and the last."),
        Wrong(lambda x, y: 1 / algorithms.log_slope(x, y),
              "You have x and y the wrong way round: p is the slope of log y over log x."),
    ],
    hints=["Take the logarithms of x and of y.",
           "The least-squares slope is Σ(u − ū)(v − v̄) / Σ(u − ū)²; numpy.polyfit(u, v, 1)[0] gives it too."],
    praise="A slope on logarithmic axes is the fingerprint of a mechanism. Now look for ours.",
    tolerance=1e-4)


# -- 4.6 -------------------------------------------------------------------------------------------

FIRST_LAYER = Exercise(
    "4.6", "which exponent has the first layer?", 6, "b",
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
    hints=["How many units deviate at all? Those whose input is within reach of 0, and the reach grows like λ.",
           "How much does such a unit deviate? Like λ.",
           "Root mean square: √(λ · λ²)."],
    praise="So a slope of 1.5 says “kinks”, one of 2 says “curvature”. Look in the panel which layer is what.")


# -- 4.7 -------------------------------------------------------------------------------------------

def _two():
    return [_features()[0][:2]]


NEGATED = Exercise(
    "4.7", "negation in feature space", 5, algorithms.negated_in_features,
    cases=_two,
    wrong=[
        Wrong(lambda at_base, at_finetuned: at_base - at_finetuned,
              "That is −Δ alone. Take Δ away from the features of θ₀."),
        Wrong(lambda at_base, at_finetuned: at_base + (at_finetuned - at_base),
              "You added Δ, and so came out at the features of θ₀ + λτ."),
        Wrong(lambda at_base, at_finetuned: -at_finetuned,
              "Negating the features is another thing. Only what the task vector changed, Δ, is turned round."),
        Wrong(lambda at_base, at_finetuned: (2 * at_base - at_finetuned).clamp(min=0),
              "You cut at 0, as a ReLU does. Eq. 4 does not: it says what the features should be, and a negative one "
              "shows where it must fail."),
    ],
    hints=["Δ = at_finetuned − at_base.",
           "The result is at_base − Δ."],
    praise="A mirror image: as far from f(θ₀) as f(θ₀ + λτ) is, on the other side.",
    tolerance=1e-5)

EXERCISES = [EDITED, AVERAGE, SHARES, COSINE, EXPONENT, FIRST_LAYER, NEGATED]
