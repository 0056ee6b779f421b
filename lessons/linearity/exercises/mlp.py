"""The exercises of chapter 1."""
import numpy as np
import torch
import xarray

from lessons.kit.exercise import Exercise, Wrong
from lessons.linearity import algorithms
from toy_models import weights
from toy_models.weights import mix


def _states():
    generator = torch.Generator().manual_seed(0)

    def state(count):
        return {"layers.0.weight": torch.randn(3, 2, generator=generator),
                "layers.0.bias": torch.randn(3, generator=generator),
                "norm.num_batches_tracked": torch.tensor(count)}

    a = state(7)
    b = state(4)
    return [(a, b, 0.25), (a, b, 1.0), (a, b, 0.0)]


def _each(function):
    """A wrong answer to 1.1: apply a function to every tensor, the counter included."""
    return lambda a, b, alpha: {key: function(a[key], b[key], alpha) for key in a}


def _floats(function):
    """A wrong answer to 1.1 that at least carries the counter over."""
    def each(of_a, of_b, alpha):
        return function(of_a, of_b, alpha) if of_a.is_floating_point() else of_a

    return _each(each)


def _counter_lost(a, b, alpha):
    return {key: alpha * a[key] + (1 - alpha) * b[key] for key in a if a[key].is_floating_point()}


def _features():
    generator = torch.Generator().manual_seed(1)
    alpha, i, j = torch.randn(3, 6, 4, generator=generator)
    return alpha, i, j


def _gap_cases():
    alpha, i, j = _features()
    return [(alpha, i, j, 0.3), (mix(i, j, 0.3), i, j, 0.3), (alpha, i, j, 0.5)]


def _cos(a, b):
    return algorithms.cosine(a, b)


def _curves():
    alphas = [0.0, 0.25, 0.5, 0.75, 1.0]
    return [([1.0, 1.2, 2.0, 2.8, 0.5], alphas),
            ([0.4, 0.3, 0.2, 0.3, 0.6], alphas),
            ([3.0, 2.9, 2.0, 1.6, 0.2], alphas)]


def _chord(losses, alphas):
    return mix(torch.tensor(losses[-1]), torch.tensor(losses[0]), torch.tensor(alphas))


def _gaps():
    values = np.array([[[0.1, 0.2], [0.5, 0.1]],
                       [[0.2, 0.38], [0.3, 0.4]],
                       [[0.0, 0.39], [0.1, 0.05]]])  # pair, alpha, layer
    coords = {"pair": ["near", "middle", "far"], "alpha": [0.5, 0.75], "layer": ["layer 1", "output"]}
    return [(xarray.DataArray(values, dims=("pair", "alpha", "layer"), coords=coords),)]


def _place(gap, reduce, best):
    table = reduce(gap).stack(place=("pair", "layer"))
    return tuple(getattr(table, best)("place").item())


EXERCISES = [
    Exercise(
        "1.1", "interpolate two state dicts", 5, weights.interpolate,
        cases=_states,
        wrong=[
            Wrong(_floats(lambda a, b, alpha: mix(b, a, alpha)),
                  "Every tensor is there, but the ends are swapped: α is the weight of the first network, so α = "
                  "1 must give a."),
            Wrong(_floats(lambda a, b, alpha: a + alpha * b),
                  "The shares must sum to 1: b gets 1 − α, and a only α."),
            Wrong(_floats(lambda a, b, alpha: (a + b) / 2), "This is the average whatever α is: use alpha."),
            Wrong(_each(lambda a, b, alpha: alpha * a + (1 - alpha) * b),
                  "The weights are right, but you also mixed “num_batches_tracked”, a whole number that counts "
                  "(BatchNorm has one). Half a step means nothing: carry it over from the first state dict. "
                  "tensor.is_floating_point() tells the two kinds apart."),
            Wrong(_counter_lost,
                  "The weights are right, but “num_batches_tracked” got lost: a network could not load this. "
                  "Carry whole numbers over from the first state dict."),
        ],
        hints=[
            "Go through the keys of a; b has the same ones.",
            "For each key it is the line of chapter 0.",
            "Whole-number tensors (not tensor.is_floating_point()) are not weights: take them from a.",
        ],
        praise="Two networks in, one network out, and nothing was trained."),

    Exercise(
        "1.2", "the barrier", 6, algorithms.barrier,
        cases=_curves,
        wrong=[
            Wrong(lambda losses, alphas: max(losses) - min(losses),
                  "That is the range of the curve. A curve that falls straight from 3 to 0 has a large range and "
                  "no barrier: compare with the straight line between the ends."),
            Wrong(lambda losses, alphas: max(losses) - (losses[0] + losses[-1]) / 2,
                  "You compare every point with the average of the ends. Where the ends differ, the straight "
                  "line between them is not flat."),
            Wrong(lambda losses, alphas: max(losses) - max(losses[0], losses[-1]),
                  "You compare with the worse end. That overlooks a hump next to the better one; compare with "
                  "the straight line."),
            Wrong(lambda losses, alphas: (torch.tensor(losses) - _chord(losses, alphas))[len(losses) // 2].item(),
                  "Right comparison, but only half-way: the barrier is the highest point over all α, and it need "
                  "not be in the middle."),
            Wrong(lambda losses, alphas: (torch.tensor(losses) - _chord(losses[::-1], alphas)).max().item(),
                  "The straight line runs the wrong way: at α = 0 it must meet losses[0]."),
            Wrong(lambda losses, alphas: (torch.tensor(losses) - _chord(losses, alphas)).abs().max().item(),
                  "A valley is not a barrier: keep the sign, and take the highest point above the line."),
        ],
        hints=[
            "Between the ends the straight line is (1 − α)·losses[0] + α·losses[-1].",
            "Subtract it from the curve.",
            "Take the maximum over all α.",
        ],
        praise="A number below the line is a dip, not a barrier; you will meet one.",
        tolerance=1e-5),

    Exercise(
        "1.3", "the cosine gap", 8, algorithms.cosine_gap,
        cases=_gap_cases,
        wrong=[
            Wrong(lambda f, i, j, alpha: _cos(f, mix(i, j, alpha)),
                  "This is the cosine itself. The gap is what is missing to 1, so that 0 means: same direction."),
            Wrong(lambda f, i, j, alpha: 1 - _cos(f, mix(j, i, alpha)),
                  "The mix has its ends swapped: features_i gets the share α, as θ_i did in the weights."),
            Wrong(lambda f, i, j, alpha: 1 - _cos(f, (i + j) / 2),
                  "You compare with the half-way mix whatever α is; the network you look at stands at α."),
            Wrong(lambda f, i, j, alpha: 1 - _cos(f.flatten()[None], mix(i, j, alpha).flatten()[None])[0],
                  "One number for all samples together: samples with long features then drown the others. The "
                  "definition takes one cosine per sample, shape (samples,)."),
            Wrong(lambda f, i, j, alpha: (1 - _cos(f, mix(i, j, alpha))).mean(),
                  "Right values, averaged too early: give one gap per sample, shape (samples,). Quartiles need "
                  "them all."),
            Wrong(lambda f, i, j, alpha: 1 - _cos(f, mix(i, j, alpha)).abs(),
                  "You took the absolute value of the cosine. Features that point the opposite way would then "
                  "pass as a perfect fit; keep the sign."),
            Wrong(lambda f, i, j, alpha: 1 - (f * mix(i, j, alpha)).sum(1).double(),
                  "This is 1 minus the dot product. A cosine also divides by both lengths."),
            Wrong(lambda f, i, j, alpha: 1 - torch.nn.functional.cosine_similarity(f, mix(i, j, alpha), dim=0).double(),
                  "You took the cosine along the samples (dim=0), so each unit got a number. One per sample: the "
                  "features run along dim=1."),
        ],
        hints=[
            "First mix the two ends' features with the same α.",
            "torch.nn.functional.cosine_similarity(a, b, dim=1) gives one cosine per sample.",
            "The gap is 1 minus it.",
        ],
        praise="Gap 0 for every sample and layer: that is LLFC.",
        tolerance=1e-5),

    Exercise(
        "1.4", "coef: how long are the features?", 8, algorithms.coef,
        cases=lambda: [_features()[:2], _features()[1:], (_features()[0], _features()[0])],
        wrong=[
            Wrong(lambda a, b: a.norm(dim=1).double() / b.norm(dim=1),
                  "This is the ratio of the two lengths. coef measures only the part of a that lies along b: the "
                  "cosine is missing as a factor."),
            Wrong(lambda a, b: _cos(a, b),
                  "This is the cosine: it forgets both lengths. coef is how long a's projection on b is, in "
                  "units of b."),
            Wrong(lambda a, b: (a * b).sum(1).double() / (a * a).sum(1),
                  "You divided by ‖a‖²: that projects b on a. The yardstick is b, the mixed features."),
            Wrong(lambda a, b: (a * b).sum(1).double() / b.norm(dim=1),
                  "Right projection, in absolute units: divide by ‖b‖ once more, so that 1 means “as long as b”."),
        ],
        hints=[
            "The projection of a on b has length ‖a‖·cos(a, b).",
            "Measure it in units of ‖b‖.",
            "It simplifies to ⟨a, b⟩/‖b‖².",
        ],
        praise="LLFC asks for the direction only, CTL also for coef ≈ 1.",
        tolerance=1e-5),

    Exercise(
        "1.5", "where is CTL worst?", 6, algorithms.worst,
        cases=_gaps,
        wrong=[
            Wrong(lambda gap: _place(gap, lambda g: g.mean("alpha"), "idxmax"),
                  "You averaged over α first. The question is for the worst case: take the maximum over α."),
            Wrong(lambda gap: _place(gap, lambda g: g.max("alpha"), "idxmin"),
                  "This is the place where the gap is smallest."),
            Wrong(lambda gap: _place(gap, lambda g: g.sel(alpha=0.5), "idxmax"),
                  "You looked at α = 0.5 only. It is often the worst α, but nothing guarantees it."),
            Wrong(lambda gap: algorithms.worst(gap)[::-1],
                  "Right place, wrong order: give the pair first, then the layer."),
        ],
        hints=[
            'gap.max("alpha") leaves pair × layer.',
            '.stack(place=("pair", "layer")) makes one axis of the two.',
            '.idxmax("place").item() gives the (pair, layer) of the maximum.',
        ],
        praise="Now ask why it is there."),

    Exercise(
        "1.6", "why there?", 5, "b",
        wrong=[
            Wrong("a",
                  "Look at the right-hand picture: 45° and 90° lie as far apart in weight space and have a "
                  "smaller gap. Distance of the weights is only one factor."),
            Wrong("c",
                  "It is the other way round: without a ReLU the last layer is linear in its own weights and in "
                  "its inputs. Its gap comes from the product of the two."),
            Wrong("d",
                  "Compare the ends of panel (a): every finetuned network reads its own task about equally well."),
        ],
        hints=[
            "In the right-hand picture, which of the two distances orders the pairs as the gap does?",
            "Look at the cross term: it is a product of two differences.",
        ],
        praise="The cross term is −α(1 − α)(W_i − W_j)(h_i − h_j): networks that differ in their weights and, "
               "above all, see a digit differently deviate most, and most near α = 0.5."),
]
