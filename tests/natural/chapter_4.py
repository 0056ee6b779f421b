"""Answers to the exercises of chapter 4: task vectors, shares, Eq. 2 and 4, exponents."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from tests.natural import Natural

# -- 4.1 · θ₀ + λτ -------------------------------------------------------------------------------------

def of_floats(combine, counter=lambda base, finetuned: base):
    """What `combine(base, finetuned, lam)` gives at floating-point keys."""
    def answer(base, finetuned, lam):
        return {key: combine(base[key], finetuned[key], lam) if base[key].is_floating_point()
                else counter(base[key], finetuned[key]) for key in base}
    return answer


def every_key(base, finetuned, lam):
    return {key: base[key] + lam * (finetuned[key] - base[key]) for key in base}


def every_key_cast_back(base, finetuned, lam):
    return {key: (base[key] + lam * (finetuned[key] - base[key])).to(base[key].dtype) for key in base}


def only_floats(base, finetuned, lam):
    return {key: base[key] + lam * (finetuned[key] - base[key]) for key in base if base[key].is_floating_point()}


def in_place(base, finetuned, lam):
    for key in base:
        if base[key].is_floating_point():
            base[key] += lam * (finetuned[key] - base[key])
    return base


def shallow_copy(base, finetuned, lam):
    result = dict(base)
    for key, tensor in result.items():
        if tensor.is_floating_point():
            tensor.add_(finetuned[key] - tensor, alpha=lam)
    return result


def no_buffers(base, finetuned, lam):
    return {key: base[key] if "running" in key or "tracked" in key
            else base[key] + lam * (finetuned[key] - base[key]) for key in base}


def normalised(base, finetuned, lam):
    tau = finetuned - base
    return base + lam * tau / tau.norm()


def copied(base, finetuned, lam):
    result = {key: tensor.clone() for key, tensor in base.items()}
    for key in result:
        if result[key].dtype.is_floating_point:
            result[key].add_(finetuned[key] - base[key], alpha=lam)
    return result


# -- 4.3 · (1 − Σλ, λ₁ … λ_k) --------------------------------------------------------------------------

def tensor_of(lams):
    return torch.tensor(list(lams), dtype=torch.float64)


def with_share_of_base(share, at_end=False):
    def answer(lams):
        parts = [float(share(tensor_of(lams)))], [float(lam) for lam in lams]
        return torch.tensor(sum(parts[::-1] if at_end else parts, []))
    return answer


def divided_by_total(lams):
    lams = tensor_of(lams)
    return torch.cat([torch.ones(1), lams]) / (1 + lams.sum())


def scaled_down(lams):
    lams = tensor_of(lams)
    return torch.cat([torch.zeros(1), lams / lams.sum()])


def softmax(lams):
    return torch.cat([torch.zeros(1), tensor_of(lams)]).softmax(0)


def base_repeated(lams):
    lams = tensor_of(lams)
    return torch.cat([1 - lams, lams])


def in_loop(lams):
    shares, left = [], 1.0
    for lam in lams:
        shares.append(lam * left)
        left = left * (1 - lam)
    return torch.tensor([left, *shares])


def in_float32(lams):
    lams = torch.as_tensor(lams, dtype=torch.float32)
    return torch.cat([1 - lams.sum()[None], lams])


def in_numpy(lams):
    lams = np.asarray(lams)
    return np.insert(lams, 0, 1 - lams.sum())


# -- 4.4 · cos(f(middle), ½f(a) + ½f(b)) -----------------------------------------------------------------

def flattened(middle, a, b):
    return F.cosine_similarity(middle.flatten(), ((a + b) / 2).flatten(), dim=0)


def by_hand(middle, a, b):
    mean = ((a + b) / 2).double().numpy()
    middle = middle.double().numpy()
    return (middle * mean).sum(1) / np.linalg.norm(middle, axis=1) / np.linalg.norm(mean, axis=1)


def norms_of_all(middle, a, b):
    mean = (a + b) / 2
    return (middle * mean).sum(1) / (middle.norm() * mean.norm())


def units_averaged(middle, a, b):
    return F.cosine_similarity(middle, F.normalize(a, dim=1) + F.normalize(b, dim=1), dim=1)


# -- 4.5 · the slope on logarithmic axes -------------------------------------------------------------------

def logs(*lists):
    return [np.log(np.asarray(one, dtype=float)) for one in lists]


def ends(x, y):
    return math.log(y[-1] / y[0]) / math.log(x[-1] / x[0])


def mean_of_steps(x, y):
    u, v = logs(x, y)
    return float(np.mean(np.diff(v) / np.diff(u)))


def without_centring(x, y):
    u, v = logs(x, y)
    return float((u * v).sum() / (u ** 2).sum())


def centred_above_only(x, y):
    u, v = logs(x, y)
    return float(((u - u.mean()) * (v - v.mean())).sum() / (u ** 2).sum())


def mean_of_ratios(x, y):
    u, v = logs(x, y)
    return float(np.mean(v / u))


def polyfit(x, y, take):
    return take(np.polyfit(*logs(x, y), 1))


def of_covariance(x, y):
    u, v = logs(x, y)
    return float(np.cov(u, v)[0, 1] / u.var())


def over_torchs_variance(x, y):
    u, v = (torch.tensor(one, dtype=torch.float64).log() for one in (x, y))
    return (((u - u.mean()) * (v - v.mean())).mean() / u.var()).item()


def covariance_over_x(x, y):
    u, v = logs(x, y)
    return float(np.cov(u, v)[0, 1])


def correlation(x, y):
    return float(np.corrcoef(*logs(x, y))[0, 1])


def only_y(x, y):
    return float(np.polyfit(x, np.log(y), 1)[0])


def only_x(x, y):
    return float(np.polyfit(np.log(x), y, 1)[0])


def mixed_bases(x, y):
    return float(np.polyfit(np.log10(x), np.log(y), 1)[0])


def scatter_ratio(x, y):
    u, v = logs(x, y)
    return float(v.std() / u.std())


def sum_over_variance(x, y):
    u, v = logs(x, y)
    return float(((u - u.mean()) * (v - v.mean())).sum() / u.var())


def median_of_steps(x, y):
    u, v = logs(x, y)
    return float(np.median(np.diff(v) / np.diff(u)))


def cov_torch(x, y):
    both = torch.cov(torch.tensor([x, y], dtype=torch.float64).log())
    return both[0, 1] / both[0, 0]


def by_lstsq(x, y):
    u, v = (torch.tensor(one, dtype=torch.float64).log() for one in (x, y))
    matrix = torch.stack([u, torch.ones_like(u)], 1)
    return torch.linalg.lstsq(matrix, v[:, None]).solution[0, 0].item()


WRONG = [
    Natural("4.1", "the difference the other way", of_floats(lambda b, f, lam: b + lam * (b - f)),
            "This goes the other way"),
    Natural("4.1", "review: from the finetuned one on", of_floats(lambda b, f, lam: f + lam * (f - b)),
            "You start at the finetuned"),
    Natural("4.1", "review: from the finetuned one back", of_floats(lambda b, f, lam: f + lam * (b - f)),
            "At λ = 0 you have the finetuned"),
    Natural("4.1", "the finetuned one added", of_floats(lambda b, f, lam: b + lam * f),
            "You added λ times the finetuned"),
    Natural("4.1", "shares exchanged", of_floats(lambda b, f, lam: lam * b + (1 - lam) * f),
            "At λ = 0 you have the finetuned"),
    Natural("4.1", "without the base", of_floats(lambda b, f, lam: lam * (f - b)), "That is the scaled task"),
    Natural("4.1", "λ forgotten", of_floats(lambda b, f, lam: b + (f - b)), "That is the finetuned network"),
    Natural("4.1", "parentheses forgotten", of_floats(lambda b, f, lam: b + lam * f - b), "Only λ times the finetuned"),
    Natural("4.1", "every key", every_key, "The weights are right, but you"),
    Natural("4.1", "every key, the counter cast back", every_key_cast_back,
            "The weights are right, but “num_batches_tracked” was"),
    Natural("4.1", "the counter of the finetuned", of_floats(lambda b, f, lam: b + lam * (f - b), lambda b, f: f),
            "The weights are right, but “num_batches_tracked” came"),
    Natural("4.1", "the counter left out", only_floats, "The weights are right, but “num_batches_tracked” got"),
    Natural("4.1", "in place", in_place, "changed one of its arguments in place"),
    Natural("4.1", "a shallow copy", shallow_copy, "changed one of its arguments in place"),
    Natural("4.1", "running statistics kept", no_buffers, "Weights and biases are"),
    Natural("4.1", "torch.lerp the wrong way round", of_floats(lambda b, f, lam: torch.lerp(f, b, lam)),
            "At λ = 0 you have the finetuned"),
    Natural("4.1", "τ at length 1", of_floats(normalised), "You scaled every difference"),
    Natural("4.1", "λ on both", of_floats(lambda b, f, lam: lam * (b + f)), "λ stands before both networks"),
    Natural("4.1", "λ cut to 0 … 1", of_floats(lambda b, f, lam: b + min(max(lam, 0), 1) * (f - b)),
            "You cut λ off at 0 and"),
    Natural("4.1", "the absolute value of λ", of_floats(lambda b, f, lam: b + abs(lam) * (f - b)),
            "You took λ without its"),

    Natural("4.1", "the task vector alone", of_floats(lambda b, f, lam: f - b), "That is the task vector"),
    Natural("4.1", "λ before the base", of_floats(lambda b, f, lam: lam * b + (f - b)), "λ stands before the base"),
    Natural("4.1", "minus the finetuned one", of_floats(lambda b, f, lam: b - lam * f)),
    Natural("4.1", "half-way", of_floats(lambda b, f, lam: (b + f) / 2)),
    Natural("4.1", "the counters' difference",
            of_floats(lambda b, f, lam: b + lam * (f - b), lambda b, f: f - b),
            "are right, but “num_batches_tracked” is"),
    Natural("4.1", "the counter at zero",
            of_floats(lambda b, f, lam: b + lam * (f - b), lambda b, f: torch.zeros_like(b))),
    Natural("4.1", "λ squared", of_floats(lambda b, f, lam: b + lam ** 2 * (f - b)), "It would be right for"),

    Natural("4.2", "one", 1, "With λ = 1 you are at θᵢ"),
    Natural("4.2", "two", 2, "Look at the share of θ₀"),
    Natural("4.2", "review: a quarter", 0.25, "At λ = ¼ each of the two"),
    Natural("4.2", "zero", 0, "At λ = 0 nothing was added"),
    Natural("4.2", "the source's 0.4", 0.4, "0.4 is the value that the"),
    Natural("4.2", "one of three networks", 1 / 3, "λ = ⅓ is the average of"),
    Natural("4.2", "as text", "1/2", "but it is text"),
    Natural("4.2", "minus a half", -0.5, "The right size, the wrong"),
    Natural("4.2", "√½", 0.5 ** 0.5, "√½ would keep the length"),
    Natural("4.2", "for all", "all", "but it is text"),

    Natural("4.2", "0.3", 0.3),
    Natural("4.2", "minus one", -1),
    Natural("4.2", "a tuple", (0.5,), "This should be a number"),

    Natural("4.3", "the base in full", with_share_of_base(lambda lams: 1), "θ₀ got the share 1. But"),
    Natural("4.3", "the base last", with_share_of_base(lambda lams: 1 - lams.sum(), at_end=True),
            "The right shares, in the"),
    Natural("4.3", "the base without share", with_share_of_base(lambda lams: 0), "θ₀ got no share. It has"),
    Natural("4.3", "only the λ", lambda lams: tensor_of(lams), "The share of θ₀ is missing"),
    Natural("4.3", "the sign of the base", with_share_of_base(lambda lams: lams.sum() - 1), "The share of θ₀ has the"),
    Natural("4.3", "minus the sum", with_share_of_base(lambda lams: -lams.sum()), "The task vectors take Σλ"),
    Natural("4.3", "one plus the sum", with_share_of_base(lambda lams: 1 + lams.sum()), "You gave λ to θ₀ for every"),
    Natural("4.3", "never below zero", with_share_of_base(lambda lams: max(0, 1 - lams.sum())),
            "You cut the share of θ₀"),
    Natural("4.3", "the mean for the sum", with_share_of_base(lambda lams: 1 - lams.mean()),
            "You took the mean of the"),
    Natural("4.3", "the product of 1 − λ", with_share_of_base(lambda lams: (1 - lams).prod()),
            "You multiplied what each"),
    Natural("4.3", "divided by the total", divided_by_total, "You began with 1 for θ₀"),
    Natural("4.3", "scaled to sum to 1", scaled_down, "You scaled the λ until"),
    Natural("4.3", "softmax", softmax, "A softmax makes shares"),
    Natural("4.3", "1 − λ of every one", base_repeated, "You gave θ₀ a share for"),
    Natural("4.3", "one after the other", in_loop, "You gave each task vector"),
    Natural("4.3", "k − Σλ", with_share_of_base(lambda lams: len(lams) - lams.sum()), "You counted θ₀ once for"),
    Natural("4.3", "absolute values", with_share_of_base(lambda lams: 1 - lams.abs().sum()), "You took the λ without"),
    Natural("4.3", "stacked", lambda lams: torch.stack([1 - tensor_of(lams).sum(), tensor_of(lams)]),
            "torch.stack wants tensors"),
    Natural("4.3", "cat of a number", lambda lams: torch.cat([1 - tensor_of(lams).sum(), tensor_of(lams)]),
            "torch.cat wants at least"),
    Natural("4.3", "two things", lambda lams: (1 - sum(lams), lams), "These are the right numbers"),

    Natural("4.3", "the sum for the base", with_share_of_base(lambda lams: lams.sum()), "θ₀ got the sum of"),
    Natural("4.3", "the largest for the sum", with_share_of_base(lambda lams: 1 - lams.max()),
            "You took the largest λ"),
    Natural("4.3", "the signs of the others", lambda lams: torch.cat([1 - lams.sum()[None], -lams]),
            "share of θ₀ is right"),
    Natural("4.3", "all cut to 0 … 1", lambda lams: torch.cat([1 - lams.sum()[None], lams]).clamp(0, 1)),
    Natural("4.3", "the λ averaged", lambda lams: torch.cat([1 - lams.mean()[None], lams / len(lams)])),
    Natural("4.3", "a dimension too many", lambda lams: torch.cat([1 - lams.sum()[None], lams])[None],
            "The right numbers, in a"),

    Natural("4.4", "the mean of two cosines",
            lambda m, a, b: (F.cosine_similarity(m, a) + F.cosine_similarity(m, b)) / 2, "You averaged two cosines"),
    Natural("4.4", "the baseline", lambda m, a, b: F.cosine_similarity(a, b, dim=1),
            "That is the baseline, cosine_base"),
    Natural("4.4", "over the samples", lambda m, a, b: F.cosine_similarity(m, (a + b) / 2, dim=0),
            "The cosine ran over the"),
    Natural("4.4", "averaged over the samples", lambda m, a, b: F.cosine_similarity(m, (a + b) / 2, dim=1).mean(),
            "Right values, averaged"),
    Natural("4.4", "1 minus it", lambda m, a, b: 1 - F.cosine_similarity(m, (a + b) / 2, dim=1),
            "This is 1 − cosine, what"),
    Natural("4.4", "the difference of the ends", lambda m, a, b: F.cosine_similarity(m, (a - b) / 2, dim=1),
            "You took the difference"),
    Natural("4.4", "parentheses forgotten", lambda m, a, b: F.cosine_similarity(m, a + b / 2, dim=1),
            "Python divides before it"),
    Natural("4.4", "everything flattened", flattened, "You made one long vector"),
    Natural("4.4", "only one end", lambda m, a, b: F.cosine_similarity(m, a, dim=1), "That is the cosine with"),
    Natural("4.4", "no norms", lambda m, a, b: (m * (a + b) / 2).sum(1), "These are scalar products"),
    Natural("4.4", "norms over all samples", norms_of_all, "You divided by one length"),
    Natural("4.4", "ends at length 1 first", units_averaged, "You gave both ends' features"),
    Natural("4.4", "the deviation's length", lambda m, a, b: (m - (a + b) / 2).norm(dim=1),
            "That is the length of the"),
    Natural("4.4", "the product of the two cosines",
            lambda m, a, b: F.cosine_similarity(m, a, dim=1) * F.cosine_similarity(m, b, dim=1),
            "You multiplied two cosines"),
    Natural("4.4", "of the changes from the middle", lambda m, a, b: F.cosine_similarity(a - m, b - m, dim=1),
            "That compares how the ends"),
    Natural("4.4", "the angle", lambda m, a, b: F.cosine_similarity(m, (a + b) / 2, dim=1).arccos(),
            "That is the angle. Give"),
    Natural("4.4", "a number for a sample, keepdim",
            lambda m, a, b: F.cosine_similarity(m, (a + b) / 2, dim=1)[:, None], "The right numbers, in a"),

    Natural("4.4", "the other end", lambda m, a, b: F.cosine_similarity(m, b, dim=1), "the cosine with the second"),
    Natural("4.4", "the sum of two cosines", lambda m, a, b: F.cosine_similarity(m, a) + F.cosine_similarity(m, b),
            "You added two cosines up"),
    Natural("4.4", "of the deviation", lambda m, a, b: F.cosine_similarity(m, m - (a + b) / 2, dim=1),
            "the cosine with the difference"),
    Natural("4.4", "coef", lambda m, a, b: (m * (a + b) / 2).sum(1) / (((a + b) / 2) ** 2).sum(1),
            "That is coef: it divides"),
    Natural("4.4", "every sample with every other", lambda m, a, b: F.normalize(m) @ F.normalize((a + b) / 2).T,
            "You compared every sample with"),
    Natural("4.4", "the ends stacked, the wrong mean",
            lambda m, a, b: F.cosine_similarity(m, torch.stack([a, b]).mean(1), dim=1)),
    Natural("4.4", "the smaller of two cosines",
            lambda m, a, b: torch.minimum(F.cosine_similarity(m, a), F.cosine_similarity(m, b))),
    Natural("4.4", "absolute value", lambda m, a, b: F.cosine_similarity(m, (a + b) / 2, dim=1).abs(),
            "Yours has the right size"),

    Natural("4.5", "x and y exchanged", lambda x, y: polyfit(y, x, lambda line: float(line[0])),
            "You have x and y the wrong"),
    Natural("4.5", "review: the intercept", lambda x, y: polyfit(x, y, lambda line: float(line[1])),
            "That is the intercept"),
    Natural("4.5", "polyfit's both", lambda x, y: polyfit(x, y, lambda line: line), "That is slope and intercept"),
    Natural("4.5", "no logarithms", lambda x, y: float(np.polyfit(x, y, 1)[0]), "That is the slope of y"),
    Natural("4.5", "only y logarithmic", only_y, "Only y is logarithmic here"),
    Natural("4.5", "only x logarithmic", only_x, "Only x is logarithmic here"),
    Natural("4.5", "the first and the last point", ends,
            "not only the first and the last"),
    Natural("4.5", "the mean slope of the steps", mean_of_steps, "Right for an exact power law. The"),
    Natural("4.5", "review: a line through the origin", without_centring, "Your line goes through"),
    Natural("4.5", "centred in the numerator only", centred_above_only, "The mean was taken away"),
    Natural("4.5", "the mean of log y / log x", mean_of_ratios, "log y / log x is p only"),
    Natural("4.5", "unbiased covariance over biased variance", of_covariance, "np.cov divides by n − 1"),
    Natural("4.5", "biased covariance over torch's variance", over_torchs_variance, "You divided by n above"),
    Natural("4.5", "the covariance alone", covariance_over_x, "That is the covariance"),
    Natural("4.5", "the correlation", correlation, "That is the correlation"),
    Natural("4.5", "two bases", mixed_bases, "Two kinds of logarithm: x got log10"),
    Natural("4.5", "the ratio of the scatters", scatter_ratio, "That is the ratio of the"),
    Natural("4.5", "rounded to one digit", lambda x, y: round(polyfit(x, y, lambda line: float(line[0])), 1)),
    Natural("4.5", "the first two points", lambda x, y: math.log(y[1] / y[0]) / math.log(x[1] / x[0]),
            "not only the first two"),
    Natural("4.5", "c is 1", lambda x, y: math.log(y[0]) / math.log(x[0]), "That takes c for 1, and"),
    Natural("4.5", "log1p", lambda x, y: float(np.polyfit(np.log1p(x), np.log1p(y), 1)[0]), "log1p(x) is log(1 + x)"),

    Natural("4.5", "a sum over numpy's variance", sum_over_variance, "the fraction bar, a mean"),
    Natural("4.5", "R²", lambda x, y: correlation(x, y) ** 2, "That is R², how well"),
    Natural("4.5", "the median slope of the steps", median_of_steps, "exact power law. The median"),
    Natural("4.5", "math.log of a list", lambda x, y: math.log(y) / math.log(x), "math.log takes one number. Go"),
    Natural("4.5", "the mean of log y − log x", lambda x, y: float(np.mean(np.log(y) - np.log(x)))),
    Natural("4.5", "the logarithm of the slope", lambda x, y: math.log(abs(np.polyfit(x, y, 1)[0]))),
    Natural("4.5", "a parabola", lambda x, y: float(np.polyfit(*logs(x, y), 2)[0])),
    Natural("4.5", "minus the slope", lambda x, y: -polyfit(x, y, lambda line: float(line[0])),
            "The sign is the other"),

    Natural("4.6", "the change alone", "a", "λ¹ would be a unit that"),
    Natural("4.6", "share times size", "c", "λ² is what a smooth function"),
    Natural("4.6", "the mean square", "d", "λ³ is how the mean of the"),
    Natural("4.6", "review: the number", 1.5, "not one of the letters"),
    Natural("4.6", "the power", "λ^1.5", "not one of the letters"),

    Natural("4.7", "the sign of Δ", lambda base, tuned: base + (tuned - base), "You added Δ, and so came"),
    Natural("4.7", "only Δ", lambda base, tuned: tuned - base, "That is Δ alone. Take it"),
    Natural("4.7", "only −Δ", lambda base, tuned: base - tuned, "That is −Δ alone. Take"),
    Natural("4.7", "parentheses forgotten", lambda base, tuned: base - tuned - base, "You turned the sign of"),
    Natural("4.7", "from the finetuned one", lambda base, tuned: 2 * tuned - base, "You went on beyond θ₀ +"),
    Natural("4.7", "from the finetuned one back", lambda base, tuned: tuned - (tuned - base),
            "You took Δ away from the"),
    Natural("4.7", "a ReLU behind it", lambda base, tuned: F.relu(2 * base - tuned), "You cut at 0, as a ReLU"),
    Natural("4.7", "half-way", lambda base, tuned: (base + tuned) / 2, "That is half-way between"),
    Natural("4.7", "the sum", lambda base, tuned: base + tuned, "You added the two. Δ is"),
    Natural("4.7", "minus everything", lambda base, tuned: -tuned, "You turned the sign of"),
    Natural("4.7", "in place", lambda base, tuned: base.mul_(2).sub_(tuned), "changed one of its arguments in place"),
    Natural("4.7", "Δ halved", lambda base, tuned: base - (tuned - base) / 2, "You took half of Δ away"),
    Natural("4.7", "Δ doubled", lambda base, tuned: base - 2 * (tuned - base), "You took Δ away twice"),
    Natural("4.7", "the absolute Δ", lambda base, tuned: base - (tuned - base).abs()),
    Natural("4.7", "Δ's mean over the samples", lambda base, tuned: base - (tuned - base).mean(0)),
    Natural("4.7", "three times the base", lambda base, tuned: 3 * base - tuned),
    Natural("4.7", "the ½ of Eq. 3", lambda base, tuned: base - tuned / 2, "Yours is half what is"),
    Natural("4.7", "averaged over the samples", lambda base, tuned: (2 * base - tuned).mean(0),
            "The right numbers, but"),
]

RIGHT = [
    Natural("4.1", "shares of both", of_floats(lambda b, f, lam: (1 - lam) * b + lam * f)),
    Natural("4.1", "a clone, filled", copied),
    Natural("4.1", "lerp", of_floats(lambda b, f, lam: torch.lerp(b, f, lam))),
    Natural("4.1", "numpy", of_floats(lambda b, f, lam: b.numpy() + lam * (f.numpy() - b.numpy()))),
    Natural("4.2", "a fraction", 1 / 2),
    Natural("4.2", "np.float64", np.float64(0.5)),
    Natural("4.2", "a tensor", torch.tensor(0.5)),
    Natural("4.3", "review: a list", lambda lams: [1 - sum(lams), *lams]),
    Natural("4.3", "float32", in_float32),
    Natural("4.3", "numpy", in_numpy),
    Natural("4.4", "float32", lambda m, a, b: F.cosine_similarity(m, (a + b) / 2, dim=1)),
    Natural("4.4", "the sum has the same direction", lambda m, a, b: F.cosine_similarity(m, a + b, dim=-1)),
    Natural("4.4", "numpy, by hand", by_hand),
    Natural("4.5", "polyfit", lambda x, y: polyfit(x, y, lambda line: line[0])),
    Natural("4.5", "log2", lambda x, y: float(np.polyfit(np.log2(x), np.log2(y), 1)[0])),
    Natural("4.5", "covariance over variance", cov_torch),
    Natural("4.5", "least squares with a column of ones", by_lstsq),
    Natural("4.6", "review: a capital letter", "B"),
    Natural("4.6", "in brackets", "(b)"),
    Natural("4.7", "as it reads", lambda base, tuned: base - (tuned - base)),
    Natural("4.7", "numpy", lambda base, tuned: 2 * base.numpy() - tuned.numpy()),
    Natural("4.7", "in float64", lambda base, tuned: torch.add(base.double(), base - tuned)),
]
