"""Answers to the exercises of chapter 7: the three steps of TIES, normalised accuracy, centring, entropy."""
import math

import numpy as np
import torch
from torch.nn import functional

from tests.natural import Natural

# -- 7.1: keep the ⌊density · n⌋ entries of largest magnitude ------------------------------------

def _top(vector, kept, rank=torch.abs):
    mask = torch.zeros(vector.numel())
    mask[rank(vector).flatten().argsort(descending=True)[:kept]] = 1.0
    return vector * mask.view_as(vector)


def _last_place(vector, density):
    kept = int(density * vector.numel())
    smallest = vector.abs().flatten().sort(descending=True).values[kept - 1]
    return torch.where(vector.abs() >= smallest, vector, 0.0)


def _larger_only(vector, density):
    kept = int(density * vector.numel())
    if kept == 0:
        return torch.zeros_like(vector)
    return vector * (vector.abs() > vector.abs().flatten().topk(kept).values[-1])


def _in_place(vector, density):
    gone = vector.numel() - int(density * vector.numel())
    vector.view(-1)[vector.abs().flatten().argsort()[:gone]] = 0.0
    return vector


def _of_last_dimension(vector, density):
    kept = int(density * vector.shape[-1])
    places = vector.abs().topk(kept).indices
    return torch.zeros_like(vector).scatter(-1, places, vector.gather(-1, places))


def _with_magnitudes(vector, density):
    values, places = vector.abs().flatten().topk(int(density * vector.numel()))
    return torch.zeros(vector.numel()).scatter(0, places, values).view_as(vector)


def _by_kthvalue(vector, density):
    kept = int(density * vector.numel())
    if kept == 0:
        return torch.zeros_like(vector)
    return torch.where(vector.abs() >= vector.abs().flatten().kthvalue(kept).values, vector, 0.0)


def _official(vector, density):
    """As TIES's released code has it: the k-th smallest is kept too."""
    gone = vector.numel() - int(density * vector.numel())
    return vector * (vector.abs() >= vector.abs().flatten().kthvalue(max(gone, 1)).values)


def _rescaled(vector, density):
    kept = _top(vector, int(density * vector.numel()))
    return kept / density if density else kept


TRIM = [
    ("review: the count rounded up", lambda v, d: _top(v, math.ceil(d * v.numel())), "You rounded the count up"),
    ("review: the count rounded", lambda v, d: _top(v, round(d * v.numel())), "You rounded the count to"),
    ("review: one more", lambda v, d: _top(v, int(d * v.numel()) + 1), "One too many stays"),
    ("review: at least one", lambda v, d: _top(v, max(1, int(d * v.numel()))), "Right, except that one"),
    ("review: a quantile as the bound", lambda v, d: torch.where(v.abs() >= v.abs().quantile(1 - d), v, 0.0),
     "A quantile lies between two entries"),
    ("larger than the quantile", lambda v, d: torch.where(v.abs() > v.abs().quantile(1 - d), v, 0.0),
     "A quantile lies between two entries"),
    ("as the released code has it", _official, "One too many stays"),
    ("largest values", lambda v, d: _top(v, int(d * v.numel()), lambda one: one), "You kept the largest"),
    ("every row by itself", _of_last_dimension, "You trimmed every row"),
    ("place −1 where nothing is kept", _last_place, "Right, except at density"),
    ("larger than the smallest kept", _larger_only, "One too few stays"),
    ("in place", _in_place, "in place"),
    ("above a share of the mean", lambda v, d: torch.where(v.abs() >= v.abs().mean() * d, v, 0.0)),
    ("magnitudes returned", _with_magnitudes, "Yours has the right"),
    ("kthvalue counts from below", _by_kthvalue, "You counted from the"),
    ("the mask", lambda v, d: _top(v, int(d * v.numel())) != 0, "That is the mask"),
    ("density as a bound", lambda v, d: torch.where(v.abs() > d, v, 0.0), "You compared the entries"),
    ("density as a share of the largest", lambda v, d: torch.where(v.abs() >= d * v.abs().max(), v, 0.0),
     "You compared with density"),
    ("density is what goes", lambda v, d: _top(v, v.numel() - int(d * v.numel())), "You set ⌊density ·"),
    ("the largest go", lambda v, d: v - _top(v, int(d * v.numel())), "You set the largest"),
    ("rows counted", lambda v, d: _top(v, int(d * len(v))), "len(vector) is the length"),
    ("rescaled as by dropout", _rescaled, "You divided what stays"),
    ("left flat", lambda v, d: _top(v.flatten(), int(d * v.numel())), "The right entries, but"),
    ("only those kept", lambda v, d: v[_top(v, int(d * v.numel())) != 0], "Those are the entries"),
]


# -- 7.2: the sign of the sum ------------------------------------------------------------------------

def _to_the_majority(stack):
    """Ties as the released code resolves them: the sign that most entries have."""
    sign = stack.sum(0).sign()
    sign[sign == 0] = sign.sum().sign()
    return sign


ELECT = [
    ("heads counted", lambda s: s.sign().sum(0).sign(), "You counted heads: one"),
    ("heads counted, no sign taken", lambda s: s.sign().sum(0), "You counted heads and"),
    ("of the largest", lambda s: s.gather(0, s.abs().argmax(0, keepdim=True))[0].sign(),
     "You took the sign of the largest entry"),
    ("of the largest value", lambda s: s.max(0).values.sign(), "You took the sign of the largest value"),
    ("the sum", lambda s: s.sum(0), "That is the sum"),
    ("review: ties to −1", lambda s: torch.where(s.sum(0) > 0, 1.0, -1.0), "Where the votes sum to exactly 0 you"),
    ("ties to +1", lambda s: torch.where(s.sum(0) >= 0, 1.0, -1.0), "Where the votes sum to exactly 0 nobody"),
    ("ties to the majority", _to_the_majority, "You broke ties by"),
    ("over the last dimension", lambda s: s.sum(-1).sign(), "You summed over the"),
    ("over everything", lambda s: s.sum().sign(), "Without a dimension"),
    ("true where positive", lambda s: s.sum(0) > 0, "True and False cannot"),
    ("of the median", lambda s: s.median(0).values.sign(), "You took the sign of the median"),
    ("the commonest sign", lambda s: s.sign().mode(0).values, "You took the commonest"),
    ("squares weigh", lambda s: (s * s.abs()).sum(0).sign(), "You weighed every vote"),
    ("cut off at ±1", lambda s: s.sum(0).clamp(-1, 1)),
    ("every task its own", lambda s: s.sign(), "Those are the votes"),
    ("only where all agree", lambda s: torch.where((s.sign() == s[0].sign()).all(0), s[0].sign(), 0.0),
     "You elect a sign"),
    ("magnitudes summed", lambda s: s.abs().sum(0).sign(), "You took the magnitudes"),
    ("product", lambda s: s.prod(0).sign(), "You multiplied the signs"),
]


# -- 7.3: 3.0 and −1.0 ---------------------------------------------------------------------------------

BY_HAND = [
    ("mean", 1.0,
     "That is the plain"), ("sum", 2.0,
     "That is the sum"), ("winner halved", 1.5,
     "You left out −1"), ("loser", -1.0,
     "The vote goes by"), ("magnitudes", 4.0,
     "You added the magnitudes"),
    ("mean of the magnitudes", 2,
     "That is the sum"), ("a conflict gives nothing", 0.0,
     "A conflict does not"), ("a list, one a task", [3.0, 0.0],
     "The merged network has"),
    ("the sign", "+",
     "That is the sign"), ("as text", "3.0",
     "but it is text"),
]


# -- 7.4: mean over those with the elected sign ----------------------------------------------------------

def _chosen(stack, sign=None):
    return stack * (stack.sum(0).sign() if sign is None else sign) > 0


def _over(total, count):
    return total / count.clamp(min=1)


def _zeroed(stack):
    chosen = _chosen(stack)
    stack[~chosen] = 0.0
    return _over(stack.sum(0), chosen.sum(0))


def _not_negative(stack):
    chosen = stack * stack.sum(0).sign() >= 0
    return _over((stack * chosen).sum(0), chosen.sum(0))


def _of_the_losers(stack):
    chosen = stack * stack.sum(0).sign() < 0
    return _over((stack * chosen).sum(0), chosen.sum(0))


def _heads(stack):
    chosen = _chosen(stack, stack.sign().sum(0).sign())
    return _over((stack * chosen).sum(0), chosen.sum(0))


def _median_of_the_winners(stack):
    return torch.where(_chosen(stack), stack, torch.nan).nanmedian(0).values.nan_to_num()


WINNERS = [
    ("over all tasks", lambda s: (s * _chosen(s)).mean(0), "You divided by the number of all"),
    ("sum", lambda s: (s * _chosen(s)).sum(0), "That is the sum"),
    ("plain mean", lambda s: s.mean(0), "That is the plain"),
    ("0/0", lambda s: (s * _chosen(s)).sum(0) / _chosen(s).sum(0), "Right, except where nobody"),
    ("nanmean", lambda s: torch.where(_chosen(s), s, torch.nan).nanmean(0), "Right, except where nobody"),
    ("the largest", lambda s: (s * _chosen(s)).gather(0, (s * _chosen(s)).abs().argmax(0, keepdim=True))[0],
     "You kept the largest"),
    ("review: heads vote", _heads, "You elected the sign"),
    ("review: zeros counted in", _not_negative, "With >= the zeros"),
    ("positive ones only", lambda s: _over((s * (s > 0)).sum(0), (s > 0).sum(0)), "You took the positive"),
    ("magnitudes", lambda s: _over((s.abs() * _chosen(s)).sum(0), _chosen(s).sum(0)), "You averaged magnitudes: where"),
    ("everything in one mean", lambda s: s[_chosen(s)].mean(), "A boolean index makes"),
    ("one too many in the count", lambda s: (s * _chosen(s)).sum(0) / (_chosen(s).sum(0) + 1), "One too many in"),
    ("the losers", _of_the_losers, "Those are the entries"),
    ("median of the winners", _median_of_the_winners, "That is the median"),
    ("sign times mean magnitude", lambda s: s.sum(0).sign() * s.abs().mean(0), "The elected sign times"),
    ("all summed, winners counted", lambda s: _over(s.sum(0), _chosen(s).sum(0)), "You divided by how"),
    ("in place", _zeroed, "in place"),
    ("over two", lambda s: (s * _chosen(s)).sum(0) / 2),
    ("sign times the largest magnitude", lambda s: s.sum(0).sign() * s.abs().amax(0)),
    ("divided by those that are not 0", lambda s: _over((s * _chosen(s)).sum(0), (s != 0).sum(0)),
     "You divided by the number of entries"),
    ("sign of the mean of all entries", lambda s: _over((s * _chosen(s, s.sum().sign())).sum(0),
                                                       _chosen(s, s.sum().sign()).sum(0)), "You elected one sign"),
    ("over the last dimension", lambda s: _over((s * _chosen(s)).sum(-1), _chosen(s).sum(-1))),
    ("the mask", _chosen, "That mask says who"),
]


# -- 7.5: (accuracy / own).mean() ------------------------------------------------------------------------

SHARE = [
    ("ratio of the means", lambda a, own: a.mean() / own.mean(), "You divided the means"),
    ("upside down", lambda a, own: (own / a).mean(), "Upside down: 1 is"),
    ("points lost", lambda a, own: (own - a).mean(), "That is what merging"),
    ("points gained", lambda a, own: (a - own).mean(), "That is the difference"),
    ("share lost", lambda a, own: ((own - a) / own).mean(), "Yours is 1 minus"),
    ("product", lambda a, own: (a * own).mean()),
    ("1 minus the points lost", lambda a, own: 1 - (own - a).mean()),
    ("one a task", lambda a, own: a / own, "Right for every task"),
    ("review: cut off at 1", lambda a, own: (a / own).clamp(max=1).mean(), "You cut the shares"),
    ("review: in per cent", lambda a, own: 100 * (a / own).mean(), "Yours is in per"),
    ("the merged network's alone", lambda a, own: a.mean(), "The single models' accuracy"),
    ("the sum", lambda a, own: (a / own).sum(), "You added the shares"),
    ("the median", lambda a, own: (a / own).median(), "That is the median"),
    ("geometric mean", lambda a, own: (a / own).log().mean().exp(), "That is the geometric"),
    ("the worst task", lambda a, own: (a / own).min(), "That is the worst"),
    ("of the errors", lambda a, own: ((1 - a) / (1 - own)).mean(), "You compared the errors"),
    ("the best task's own", lambda a, own: (a / own.max()).mean(), "You divided every task"),
    ("two digits", lambda a, own: round((a / own).mean().item(), 2)),
    ("whole shares", lambda a, own: (a // own).mean(), "// divides and drops"),
    ("the mean of own", lambda a, own: (a / own.mean()).mean(), "You divided the means"),
    ("n − 1", lambda a, own: (a / own).sum() / (len(a) - 1), "You divided by the"),
]


# -- 7.6: θ_t − θ_avg, counters carried over -----------------------------------------------------------

def average(states, key):
    return torch.stack([state[key].float() for state in states]).mean(0)


def centred_by(origin, states):
    """θ_t − origin(states, key) of every floating-point tensor, the others carried over."""
    return [{key: tensor - origin(states, key) if tensor.is_floating_point() else tensor
             for key, tensor in state.items()} for state in states]


def _weights_in_place(states):
    for key in states[0]:
        if states[0][key].is_floating_point():
            middle = average(states, key)
            for state in states:
                state[key] -= middle
    return states


def _dicts_in_place(states):
    for key in states[0]:
        if states[0][key].is_floating_point():
            middle = average(states, key)
            for state in states:
                state[key] = state[key] - middle
    return states


def _only(words, states):
    """θ_t − θ_avg of the keys that end in one of these words."""
    return [{key: state[key] - average(states, key) for key in state if key.endswith(words)} for state in states]


def _running(states):
    """Subtracts the mean of those so far."""
    return [centred_by(average, states[:place + 1])[-1] for place in range(len(states))]


def _from_the_first(states):
    """Carries the first model's counters over."""
    return [{key: state[key] - average(states, key) if tensor.is_floating_point() else tensor
             for key, tensor in states[0].items()} for state in states]


def _summed(states):
    vectors = centred_by(average, states)
    return {key: sum(vector[key] for vector in vectors) for key in vectors[0]}


CENTRE = [
    ("sum", lambda f: centred_by(lambda s, key: average(s, key) * len(s), f), "You subtracted the sum"),
    ("first model", lambda f: centred_by(lambda s, key: s[0][key], f), "the first model"),
    ("last model", lambda f: centred_by(lambda s, key: s[-1][key], f), "did a loop overwrite it?"),
    ("the average", lambda f: [{key: average(f, key) for key in f[0]} for _ in f], "That is the average itself"),
    ("one mean of all entries", lambda f: centred_by(lambda s, key: average(s, key).mean(), f),
     "the mean of all entries"),
    ("own mean of every tensor", lambda f: [{key: t - t.mean() if t.is_floating_point() else t
                                             for key, t in state.items()} for state in f],
     "The mean is over the models, entry by entry"),
    ("n − 1", lambda f: centred_by(lambda s, key: average(s, key) * len(s) / (len(s) - 1), f),
     "An average divides by"),
    ("review: counters left out", lambda f: _only(("weight", "bias"), f),
     "the counter is gone"),
    ("counters centred too", lambda f: [{key: t - average(f, key) for key, t in state.items()} for state in f],
     "from the counters too"),
    ("counters are no weights: 0", lambda f: [{key: t - average(f, key) if t.is_floating_point() else 0 * t
                                               for key, t in state.items()} for state in f],
     "The counter became 0"),
    ("mean of whole numbers", lambda f: [{key: t - torch.stack([s[key] for s in f]).mean(0)
                                          for key, t in state.items()} for state in f],
     "torch has no mean of whole numbers"),
    ("weights alone", lambda f: _only(("weight",), f), "Biases are parameters too"),
    ("in place", _weights_in_place, "in place"),
    ("the dicts changed", _dicts_in_place, "in place"),
    ("added up", _summed),
    ("a dict of stacks", lambda f: {key: torch.stack([s[key] for s in f]) - average(f, key) for key in f[0]},
     "One dict with all models stacked"),
    ("the mean so far", _running, "the models seen so far"),
    ("median", lambda f: centred_by(lambda s, key: torch.stack([one[key] for one in s]).median(0).values, f),
     "is their mean"),
    ("the first model's counters", _from_the_first, "Every model got the first one's counter"),
]


# -- 7.7: mean entropy in nats ----------------------------------------------------------------------------

def _h(p, dim=1):
    return -(p * p.log()).sum(dim)


SURE = [
    ("sign", lambda x: (x.softmax(1) * x.softmax(1).log()).sum(1).mean(), "The sign: Σ p·log"),
    ("summed over samples", lambda x: _h(x.softmax(1)).sum(), "You added the samples"),
    ("mean over both", lambda x: -(x.softmax(1) * x.log_softmax(1)).mean(), "You averaged over classes"),
    ("softmax over samples", lambda x: _h(x.softmax(0)).mean(), "Your probabilities sum to"),
    ("softmax over samples, summed there", lambda x: _h(x.softmax(0), 0).mean(), "You went along dimension"),
    ("softmax over everything", lambda x: _h(x.flatten().softmax(0), 0), "One softmax over all"),
    ("of the mean prediction", lambda x: _h(x.softmax(1).mean(0), 0), "You averaged the predictions"),
    ("of the mean logits", lambda x: _h(x.mean(0).softmax(0), 0), "You averaged the logits"),
    ("log of the largest", lambda x: -x.softmax(1).max(1).values.log().mean(), "That is −log of"),
    ("cross-entropy with the argmax", lambda x: functional.cross_entropy(x, x.argmax(1)), "That is −log of"),
    ("largest probability", lambda x: x.softmax(1).max(1).values.mean(), "That is how large"),
    ("in bits", lambda x: -(x.softmax(1) * x.softmax(1).log2()).sum(1).mean(), "Right, in bits. We"),
    ("log10", lambda x: -(x.softmax(1) * x.softmax(1).log10()).sum(1).mean(), "Right, with the logarithm"),
    ("logits as probabilities", lambda x: _h(x).mean(), "Logits are no probabilities"),
    ("logits over their sum", lambda x: _h(x / x.sum(1, keepdim=True)).mean(), "Logits are no probabilities"),
    ("one a sample", lambda x: _h(x.softmax(1)), "Right for every sample"),
    ("share of the largest possible", lambda x: _h(x.softmax(1)).mean() / math.log(x.shape[1]), "You divided by the"),
    ("a p that is rounded to 0", lambda x: _h(x.softmax(1)).mean(), "0 times that is nan"),
    ("perplexity", lambda x: _h(x.softmax(1)).exp().mean(), "You took the exponential"),
    ("not weighted by p", lambda x: -x.log_softmax(1).sum(1).mean(), "Every −log p counts"),
    ("mean of all −log p", lambda x: -x.log_softmax(1).mean(), "That is the mean of all −log p"),
    ("variance of p", lambda x: x.softmax(1).var(1).mean()),
    ("log forgotten", lambda x: -(x.softmax(1) ** 2).sum(1).mean(), "The logarithm is missing"),
    ("Gini", lambda x: (1 - (x.softmax(1) ** 2).sum(1)).mean(), "1 − Σ p²"),
    ("softmax twice", lambda x: functional.cross_entropy(x.softmax(1), x.softmax(1)), "A second softmax came"),
    ("Categorical given probabilities as logits",
     lambda x: torch.distributions.Categorical(logits=x.softmax(1)).entropy().mean(), "You took the softmax"),
    ("p times logits", lambda x: -(x.softmax(1) * x).sum(1).mean(), "The logit is not"),
    ("sigmoid", lambda x: _h(x.sigmoid()).mean(), "sigmoid looks at every"),
    ("eps of a thousandth", lambda x: -(x.softmax(1) * (x.softmax(1) + 1e-3).log()).sum(1).mean()),
]

WRONG = [
    *(Natural("7.1", *one) for one in TRIM),
    *(Natural("7.2", *one) for one in ELECT),
    *(Natural("7.3", *one) for one in BY_HAND),
    *(Natural("7.4", *one) for one in WINNERS),
    *(Natural("7.5", *one) for one in SHARE),
    *(Natural("7.6", *one) for one in CENTRE),
    *(Natural("7.7", *one) for one in SURE),
]


# -- right ones in another dress ----------------------------------------------------------------------------

def _trimmed_by_sorting(vector, density):
    flat = np.asarray(vector).ravel()
    order = sorted(range(len(flat)), key=lambda place: -abs(flat[place]))
    found = np.zeros(len(flat))
    for place in order[:math.floor(density * len(flat))]:
        found[place] = flat[place]
    return found.reshape(vector.shape)


def _trimmed_by_topk(vector, density):
    flat = vector.flatten()
    found = torch.zeros_like(flat)
    places = flat.abs().topk(int(density * flat.numel())).indices
    found[places] = flat[places]
    return found.view_as(vector)


def _winners_in_loops(stack):
    found = torch.zeros(stack[0].numel(), dtype=torch.float64)
    for place, votes in enumerate(stack.flatten(1).T.tolist()):
        won = [vote for vote in votes if vote * sum(votes) > 0]
        found[place] = sum(won) / len(won) if won else 0.0
    return found.view(stack.shape[1:])


def _winners_with_equal_signs(stack):
    chosen = stack.sign() == stack.sum(0).sign()
    return (stack * chosen).sum(0) / (chosen.sum(0) + 1e-8)


def centred_in_loops(states):
    found = [dict(state) for state in states]
    for key, tensor in states[0].items():
        if tensor.dtype == torch.int64:
            continue
        total = torch.zeros_like(tensor)
        for state in states:
            total = total + state[key]
        for vector, state in zip(found, states):
            vector[key] = state[key] - total / len(states)
    return found


def centred_in_double(states):
    return centred_by(lambda s, key: torch.stack([one[key].double() for one in s]).mean(0), states)


RIGHT = [
    Natural("7.1", "numpy, sorted", _trimmed_by_sorting),
    Natural("7.1", "topk", _trimmed_by_topk),
    Natural("7.1", "float64", lambda v, d: _top(v.double(), math.floor(d * v.numel()))),
    Natural("7.2", "of the mean", lambda s: s.mean(0).sign()),
    Natural("7.2", "whole numbers", lambda s: s.sum(0).sign().int()),
    Natural("7.2", "numpy", lambda s: np.sign(np.asarray(s).sum(0))),
    Natural("7.2", "positive against negative", lambda s: torch.sign(s.clamp(min=0).sum(0) + s.clamp(max=0).sum(0))),
    Natural("7.3", "whole", 3),
    Natural("7.3", "a tensor", torch.tensor(3.0)),
    Natural("7.3", "numpy", np.int64(3)),
    Natural("7.4", "loops", _winners_in_loops),
    Natural("7.4", "equal signs, a small number in the count", _winners_with_equal_signs),
    Natural("7.4", "nan set to 0", lambda s: ((s * _chosen(s)).sum(0) / _chosen(s).sum(0)).nan_to_num()),
    Natural("7.5", "review: a Python float", lambda a, own: (a / own).mean().item()),
    Natural("7.5", "loop", lambda a, own: sum(x / y for x, y in zip(a.tolist(), own.tolist())) / len(a)),
    Natural("7.5", "numpy", lambda a, own: np.mean(np.asarray(a) / np.asarray(own))),
    Natural("7.6", "loops", centred_in_loops),
    Natural("7.6", "float64", centred_in_double),
    Natural("7.7", "review: a Python float", lambda x: -torch.xlogy(x.softmax(1), x.softmax(1)).sum(1).mean().item()),
    Natural("7.7", "cross-entropy with itself", lambda x: functional.cross_entropy(x, x.softmax(1))),
    Natural("7.7", "Categorical", lambda x: torch.distributions.Categorical(logits=x).entropy().mean()),
    Natural("7.7", "float64 by hand", lambda x: -(x.double().exp() / x.double().exp().sum(1, keepdim=True)
                                                  * x.double().log_softmax(1)).sum() / len(x)),
]
