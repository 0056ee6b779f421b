"""The exercises of chapter 3."""
import itertools

import torch
import torch.nn.functional as F

from lessons.averaging import algorithms
from lessons.kit.exercise import Exercise, Wrong
from lessons.linearity.algorithms import cosine

# -- 3.1: average many state dicts -----------------------------------------------------------------

def average(states, shares):
    mixed = {}
    for key, first in states[0].items():
        if first.is_floating_point():
            mixed[key] = sum(share * state[key] for share, state in zip(shares, states))
        else:
            mixed[key] = first.clone()
    return mixed


def _states():
    """In the last case counters have other names, one is int32 and one has a dimension, which the only weight has not.
    """
    states = [_state([1.0, -2.0, 0.5], 0.25, 7), _state([3.0, 1.0, -1.5], 0.75, 4), _state([0.5, 2.5, 4.0], 2.0, 9)]
    return [(states, [0.5, 0.3, 0.2]), (states[:2], [0.25, 0.75]), (states, [0.0, 1.0, 0.0]),
            ([_with_other_counters(2.0, 3, [6, 2]), _with_other_counters(-1.0, 8, [1, 9])], [0.75, 0.25])]


def _state(weight, mean, count):
    return {"layers.0.weight": torch.tensor([weight]), "norm.running_mean": torch.tensor([mean]),
            "norm.num_batches_tracked": torch.tensor(count)}


def _with_other_counters(weight, steps, seen):
    return {"layers.1.weight": torch.tensor(weight), "steps": torch.tensor(steps, dtype=torch.int32),
            "seen": torch.tensor(seen)}


def _floats(function, counter=lambda counters, shares: counters[0]):
    """A wrong answer to 3.1: what it makes of floating-point tensors and of counters."""
    def answer(states, shares):
        mixed = {}
        for key, first in states[0].items():
            combine = function if first.is_floating_point() else counter
            mixed[key] = combine([state[key] for state in states], shares)
        return mixed
    return answer


def _weighted(tensors, shares):
    return sum(share * tensor for share, tensor in zip(shares, tensors))


def _plain_mean(tensors, shares):
    return torch.stack(tensors).double().mean(0)


def _one_after_the_other(tensors, shares):
    mixed = tensors[0]
    for share, tensor in zip(shares[1:], tensors[1:]):
        mixed = (1 - share) * mixed + share * tensor
    return mixed


def _counter_lost(states, shares):
    mixed = average(states, shares)
    return {key: mixed[key] for key in mixed if states[0][key].is_floating_point()}


def _where(is_weight):
    """A wrong answer to 3.1 that mixes the tensors that a rule (name, tensor) chooses, and keeps the first's others."""
    return lambda states, shares: {
        key: _weighted([state[key] for state in states], shares) if is_weight(key, first) else first
        for key, first in states[0].items()}


def _statistics_kept(states, shares):
    return {key: tensor if key.startswith("layers") else states[0][key]
            for key, tensor in average(states, shares).items()}


AVERAGE = Exercise(
    "3.1", "average many state dicts",
    minutes=5,
    solution=algorithms.average,
    teaching=average,
    cases=_states,
    tolerance=1e-5,
    wrong=[
        Wrong(_floats(_plain_mean),
              "This is the plain mean whatever the shares are: multiply each model's tensor by its share and add up."),
        Wrong(_floats(_plain_mean, _plain_mean),
              "This is the plain mean of everything: the shares play no part, and num_batches_tracked, a whole number "
              "that counts, is averaged too."),
        Wrong(_floats(lambda tensors, shares: sum(tensors)),
              "You added the state dicts up without their shares. Each one counts by its share."),
        Wrong(_floats(lambda tensors, shares: _weighted(tensors, shares) / len(tensors)),
              "You divided by the number of models once more. The shares already sum to 1."),
        Wrong(_floats(lambda tensors, shares: _weighted(tensors, torch.tensor(shares).softmax(0))),
              "You took a softmax of the shares. They sum to 1 as they are: use them so."),
        Wrong(_floats(lambda tensors, shares: _weighted(tensors, shares[::-1])),
              "The shares are in the wrong order: shares[0] belongs to states[0]."),
        Wrong(_floats(lambda tensors, shares: tensors[0] + _weighted(tensors[1:], shares[1:])),
              "The first state dict counts in full here. It has a share as well, shares[0]."),
        Wrong(_floats(lambda tensors, shares: _weighted(tensors[:-1], shares)),
              "The last state dict got left out: a range one too short?"),
        Wrong(_floats(lambda tensors, shares: _weighted(tensors[:2], [shares[0], 1 - shares[0]])),
              "Right for two models. Here there may be more: the third one got left out, and the second took its "
              "share."),
        Wrong(_floats(lambda tensors, shares: shares[-1] * tensors[-1]),
              "Only the last state dict's part is left: each one overwrites the one before. Add to what is there."),
        Wrong(_floats(_one_after_the_other),
              "Right for two models. Mixing in one model after the other makes the earlier ones' shares smaller every "
              "time: multiply each by its own share and add up once."),
        Wrong(_floats(lambda tensors, shares: torch.stack([share * one for share, one in zip(shares, tensors)])),
              "The tensors are multiplied by their shares and stacked, but not yet added up over the models."),
        Wrong(_floats(_weighted, _weighted),
              "The weights are right, but you also mixed “num_batches_tracked”, a whole number that counts. Carry it "
              "over from the first state dict, as in chapter 1."),
        Wrong(_floats(_weighted, lambda counters, shares: _weighted(counters, shares).to(counters[0].dtype)),
              "The weights are right, but “num_batches_tracked” was mixed and then rounded down. It counts batches, "
              "and is not to be mixed at all: carry over the first one's."),
        Wrong(_floats(_weighted, lambda counters, shares: counters[-1]),
              "The weights are right, but “num_batches_tracked” is the last state dict's. Take the first's."),
        Wrong(_floats(_weighted, lambda counters, shares: sum(counters)),
              "The weights are right, but you added up “num_batches_tracked”. Carry over the first one's."),
        Wrong(_floats(lambda tensors, shares: tensors[0] + _weighted(tensors, shares)),
              "The first state dict is in the sum twice, once in full and once with its share. Start from zero."),
        Wrong(_floats(lambda tensors, shares: _weighted(tensors, [shares[0], *shares])),
              "From the second state dict on, each one gets the share of the one before it. The shares have to sum to "
              "1 here too."),
        Wrong(_floats(_weighted, lambda counters, shares: counters[shares.index(max(shares))]),
              "The weights are right, but the counter is that of the network with the largest share. Take the first "
              "one's."),
        Wrong(_where(lambda key, tensor: not key.endswith("num_batches_tracked")),
              "You know a counter by its name. In one case counters have other names: what they have in common is that "
              "they hold whole numbers."),
        Wrong(_where(lambda key, tensor: tensor.ndim > 0),
              "You take every tensor without dimensions for a counter. A weight can be a single number too, and a "
              "counter can have a dimension: ask whether a tensor holds whole numbers."),
        Wrong(_where(lambda key, tensor: tensor.dtype != torch.int64),
              "You take only int64 tensors for counters. There are other types of whole numbers, and one case has "
              "int32."),
        Wrong(_counter_lost,
              "The weights are right, but “num_batches_tracked” got lost: a network could not load this. Carry it over "
              "from the first state dict."),
        Wrong(_statistics_kept,
              "Weights and biases are right, but “running_mean” was carried over from the first. It is a "
              "floating-point tensor: only whole-number counters are carried over."),
    ],
    hints=[
        "Go through the keys of states[0]; all the others have the same ones.",
        "For each key: sum(share * state[key] for share, state in zip(shares, states)).",
        "Whole-number tensors (not tensor.is_floating_point()) come from states[0].",
    ],
    praise="With two models this is chapter 1's interpolation; with k it is a point in the space between all of them.")


# -- 3.2: the logits ensemble ----------------------------------------------------------------------

def ensemble(logits):
    return logits.mean(0)


def _logits():
    generator = torch.Generator().manual_seed(1)
    boastful = torch.tensor([3.0, 1, 1, 1])[:, None, None]
    few = torch.tensor([[[2.0, -1.0, 0.5]], [[0.5, 1.5, -2.0]], [[4.0, 3.0, 0.0]]])
    return [(5 * torch.randn(4, 12, 3, generator=generator) * boastful,), (torch.randn(2, 6, 5, generator=generator),),
            (few.repeat(1, 2, 1) * torch.tensor([1.0, -1.0])[:, None],)]


def _votes(logits):
    return F.one_hot(logits.argmax(2), logits.shape[2]).double().mean(0)


def _surest(logits):
    surest = logits.softmax(2).amax(2).argmax(0)
    return logits[surest, torch.arange(logits.shape[1])]


def _again_and_again(logits):
    mixed = logits[0]
    for of_model in logits[1:]:
        mixed = (mixed + of_model) / 2
    return mixed


def _reshaped(tensor):
    """What somebody does who exchanges the first two dimensions by a reshape."""
    return tensor.reshape(tensor.shape[1], tensor.shape[0], *tensor.shape[2:])


ENSEMBLE = Exercise(
    "3.2", "the logits ensemble",
    minutes=5,
    solution=algorithms.ensemble,
    teaching=ensemble,
    cases=_logits,
    tolerance=1e-5,
    wrong=[
        Wrong(lambda logits: logits.softmax(2).mean(0),
              "You averaged probabilities. That is an ensemble too, but another one: here the logits are averaged, "
              "before any softmax."),
        Wrong(lambda logits: logits.mean(0).softmax(1),
              "The average is right, but then you took its softmax. Return the ensemble's logits, before any "
              "softmax."),
        Wrong(lambda logits: logits.log_softmax(2).mean(0),
              "You averaged logarithms of probabilities. That predicts the same classes as the ensemble of logits, but "
              "its numbers are others: average the logits as they are."),
        Wrong(lambda logits: logits.softmax(2).mean(0).log(),
              "You averaged probabilities and took the logarithm. Here the logits are averaged, before any softmax."),
        Wrong(lambda logits: logits.softmax(0).mean(0),
              "That is a softmax over the models, and then a mean: always 1/k. Leave the softmax out."),
        Wrong(_votes,
              "You let the models vote. A vote forgets how sure each of them was; average the logits themselves."),
        Wrong(lambda logits: logits.mean(0).argmax(1),
              "That is the class that the ensemble predicts. Return its logits, a number for every class."),
        Wrong(lambda logits: logits.sum(0),
              "The sum predicts the same class, but it is not the average: the formula above has 1/k, and we will "
              "compare features by their length too."),
        Wrong(lambda logits: logits.mean(1),
              "You averaged over the samples. The models run along the first dimension."),
        Wrong(lambda logits: logits.mean(2),
              "You averaged over the classes. The models run along the first dimension."),
        Wrong(lambda logits: logits.mean(),
              "You averaged over everything. Only the models' dimension has to go: logits.mean needs a dimension."),
        Wrong(lambda logits: logits.amax(0),
              "You took the largest logit of any model. The most confident model would then decide alone: average."),
        Wrong(lambda logits: logits.median(0).values,
              "That is the median over the models. The formula above has the mean."),
        Wrong(lambda logits: F.normalize(logits, dim=2).mean(0),
              "You gave all logits the same length first. How sure a model is counts in this ensemble: average the "
              "logits as they come."),
        Wrong(lambda logits: _reshaped(logits).mean(1),
              "A reshape does not exchange dimensions, it takes the numbers as they lie, and mixes samples. The models "
              "already run along a dimension of their own."),
        Wrong(_surest,
              "For each sample you took the surest model alone. All models count, each by 1/k."),
        Wrong(lambda logits: logits.logsumexp(0),
              "You took the logarithm of a sum of exponentials. Here the logits themselves are averaged."),
        Wrong(lambda logits: (logits.softmax(0) * logits).sum(0),
              "You weighted the models by a softmax over them, so that larger logits count more. All count the same, "
              "1/k."),
        Wrong(_again_and_again,
              "Right for two models. With more, halving again and again makes the later ones count most: all count the "
              "same."),
        Wrong(lambda logits: logits.median(0),
              "torch's median gives values and places. And the formula above has the mean."),
    ],
    hints=[
        "The three dimensions are models, samples, classes.",
        "The models' dimension has to go.",
        "logits.mean(0).",
    ],
    praise="It needs k networks at every prediction. The averaged weights need one.")


# -- 3.3: the greedy soup --------------------------------------------------------------------------

def greedy_soup(held_out, accuracy_of):
    first, *others = sorted(range(len(held_out)), key=lambda model: -held_out[model])
    soup = [first]
    best = held_out[first]
    for model in others:
        accuracy = accuracy_of([*soup, model])
        if accuracy >= best:
            soup.append(model)
            best = accuracy
    return soup


_TABLES = (  # accuracies of one model each, and of averages of several; equal numbers may be tried in any order
    ([0.90, 0.80, 0.93, 0.70],
     {(0, 2): 0.93, (0, 1): 0.94, (1, 2): 0.92, (2, 3): 0.94, (0, 3): 0.91, (1, 3): 0.85,
      (0, 1, 2): 0.92, (0, 2, 3): 0.935, (1, 2, 3): 0.95, (0, 1, 3): 0.9, (0, 1, 2, 3): 0.931}),
    ([0.90, 0.85, 0.80], {(0, 1): 0.92, (0, 2): 0.905, (1, 2): 0.9, (0, 1, 2): 0.91}),
    ([0.90, 0.85, 0.80], {(0, 1): 0.92, (0, 2): 0.88, (1, 2): 0.9, (0, 1, 2): 0.925}),
    ([0.80, 0.90, 0.80], {(0, 1): 0.75, (1, 2): 0.91, (0, 2): 0.85, (0, 1, 2): 0.90}),
    ([0.90, 0.85, 0.80], {(0, 1): 0.70, (0, 2): 0.80, (1, 2): 0.80, (0, 1, 2): 0.75}),
    ([0.60, 0.70], {(0, 1): 0.64}),
    ([0.90, 0.80], {(0, 1): 0.87}),
    ([0.900, 0.895], {(0, 1): 0.902}),  # a small gain counts
    ([0.90, 0.85, 0.80], {(0, 1): 0.88, (0, 2): 0.91, (1, 2): 0.85, (0, 1, 2): 0.89}),  # 1 does harm, also to 2
)


def _tables():
    return [(held_out, _accuracies(held_out, averages)) for held_out, averages in _TABLES]


def _accuracies(held_out, averages):
    table = {(model,): accuracy for model, accuracy in enumerate(held_out)} | averages

    def accuracy_of(models):
        chosen = {int(model) for model in models}
        if not chosen:
            raise ValueError("accuracy_of was asked for the average of no models")
        return table[tuple(sorted(chosen))]
    return accuracy_of


def _from_the_best(held_out):
    return sorted(range(len(held_out)), key=lambda model: -held_out[model])


def _soup(order=_from_the_best, better=lambda new, best: new >= best, keep=lambda best, new: new, start=None,
          tried=lambda soup, model: [*soup, model]):
    """A greedy soup with one thing changed."""
    def answer(held_out, accuracy_of):
        first, *others = order(held_out)
        soup = [first]
        best = held_out[first] if start is None else start
        for model in others:
            accuracy = accuracy_of(tried(soup, model))
            if better(accuracy, best):
                soup = [*soup, model]
                best = keep(best, accuracy)
        return soup
    return answer


def _last_trial(held_out, accuracy_of):
    soup = _from_the_best(held_out)[:1]
    best = held_out[soup[0]]
    for model in _from_the_best(held_out)[1:]:
        accuracy = accuracy_of([*soup, model])
        if accuracy >= best:
            soup = [*soup, model]
        best = accuracy
    return soup


def _own_remembered(held_out, accuracy_of):
    soup = _from_the_best(held_out)[:1]
    for model in _from_the_best(held_out)[1:]:
        if accuracy_of([*soup, model]) >= held_out[soup[-1]]:
            soup = [*soup, model]
    return soup


def _beside_the_rejected(held_out, accuracy_of):
    order = _from_the_best(held_out)
    return _soup(tried=lambda soup, model: order[:order.index(model) + 1])(held_out, accuracy_of)


def _wrong_end_taken_out(held_out, accuracy_of):
    soup = _from_the_best(held_out)[:1]
    best = held_out[soup[0]]
    for model in _from_the_best(held_out)[1:]:
        tried = [*soup, model]
        helps = accuracy_of(tried) > best
        best = max(best, accuracy_of(tried))
        soup = tried if helps else tried[1:]
    return soup


def _from_the_first_ones(held_out, accuracy_of):
    return _soup(start=held_out[0])(held_out, accuracy_of)


def _taken_out(held_out, accuracy_of):
    soup = _from_the_best(held_out)
    for model in _from_the_best(held_out):
        rest = [one for one in soup if one != model]
        if rest and accuracy_of(rest) >= accuracy_of(soup):
            soup = rest
    return soup


def _best_subset(held_out, accuracy_of):
    models = range(len(held_out))
    subsets = (list(chosen) for k in range(1, len(models) + 1) for chosen in itertools.combinations(models, k))
    return max(subsets, key=accuracy_of)


def _until_one_fails(held_out, accuracy_of):
    order = _from_the_best(held_out)
    taken = greedy_soup(held_out, accuracy_of)
    length = next((k for k, model in enumerate(order) if model not in taken), len(order))
    return order[:length]


def _newcomers_own(held_out, accuracy_of):
    soup = _from_the_best(held_out)[:1]
    for model in _from_the_best(held_out)[1:]:
        if accuracy_of([*soup, model]) >= held_out[model]:
            soup = [*soup, model]
    return soup


def _members_mean(held_out, accuracy_of):
    soup = _from_the_best(held_out)[:1]
    for model in _from_the_best(held_out)[1:]:
        tried = [*soup, model]
        if accuracy_of(tried) >= sum(held_out[one] for one in tried) / len(tried):
            soup = tried
    return soup


def _best_partner(held_out, accuracy_of):
    soup = _from_the_best(held_out)[:1]
    best = held_out[soup[0]]
    while rest := [model for model in _from_the_best(held_out) if model not in soup]:
        partner = max(rest, key=lambda model: accuracy_of([*soup, model]))
        accuracy = accuracy_of([*soup, partner])
        if accuracy < best:
            break
        soup, best = [*soup, partner], accuracy
    return soup


def _best_prefix(held_out, accuracy_of):
    order = _from_the_best(held_out)
    return max((order[:k] for k in range(1, len(order) + 1)), key=accuracy_of)


def _places(held_out, accuracy_of):
    order = _from_the_best(held_out)
    return [order.index(model) for model in greedy_soup(held_out, accuracy_of)]


def _best_twice(held_out, accuracy_of):
    taken = greedy_soup(held_out, accuracy_of)
    return [taken[0], *taken]


def _accuracies_for_models(held_out, accuracy_of):
    first, *others = sorted(held_out, reverse=True)
    soup, best = [first], first
    for alone in others:
        accuracy = accuracy_of([*soup, alone])
        if accuracy >= best:
            soup, best = [*soup, alone], accuracy
    return soup


def _with_accuracy(held_out, accuracy_of):
    taken = greedy_soup(held_out, accuracy_of)
    return taken, accuracy_of(taken)


SOUP = Exercise(
    "3.3", "the greedy soup",
    minutes=10,
    solution=algorithms.greedy_soup,
    teaching=greedy_soup,
    cases=_tables,
    wrong=[
        Wrong(_soup(better=lambda new, best: new > best),
              "Nearly: a model that leaves the accuracy unchanged is taken, too. Compare with ≥."),
        Wrong(_soup(order=lambda held_out: list(range(len(held_out)))),
              "You tried the models in the order of the list. Begin with the best on held-out data, then go down."),
        Wrong(_soup(order=lambda held_out: sorted(range(len(held_out)), key=lambda model: held_out[model])),
              "You began with the worst model: sorted() goes upwards. Begin with the best on held-out data."),
        Wrong(_soup(order=lambda held_out: [held_out.index(one) for one in sorted(held_out, reverse=True)]),
              "Where two models are equally accurate you try one of them twice and the other never: index() finds the "
              "first. Sort the places, not the accuracies."),
        Wrong(_soup(keep=lambda best, new: best),
              "You compare with the best single model every time. Once the soup has become better, a newcomer must not "
              "make it worse again."),
        Wrong(_soup(keep=lambda best, new: best, tried=lambda soup, model: [soup[0], model]),
              "You try every model together with the best one alone. It has to get on with all that are in the soup "
              "by then."),
        Wrong(_soup(start=0.0),
              "The second model always comes in, whatever it does to the soup: the accuracy to beat has to start as "
              "that of the best model."),
        Wrong(_soup(better=lambda new, best: new <= best),
              "You take a model where it makes the soup worse, with ≤. It comes in where the accuracy is at least as "
              "high."),
        Wrong(_beside_the_rejected,
              "You try each model together with all before it, also with those that were left out. Try it with the "
              "soup alone."),
        Wrong(_soup(order=lambda held_out: _from_the_best(held_out)[::-1]),
              "You go from the worst model up to the best. Begin with the best on held-out data, then go down."),
        Wrong(_soup(better=lambda new, best: new < best),
              "You take a model where it makes the soup worse, with <. It comes in where the accuracy is at least as "
              "high."),
        Wrong(_soup(order=lambda held_out: [0, *(model for model in _from_the_best(held_out) if model != 0)]),
              "Your soup always starts with network 0. Start with the network that is best on held-out data."),
        Wrong(_wrong_end_taken_out,
              "Where the newcomer does not help you take out the first model of the soup. Take out the newcomer, and "
              "keep it where the accuracy stays the same."),
        Wrong(_from_the_first_ones,
              "The accuracy to beat starts as held_out[0], that of the first in the list. The soup starts with the "
              "best one."),
        Wrong(_last_trial,
              "You remember the accuracy of every trial, also of a model that was left out. Keep the soup's own."),
        Wrong(_own_remembered,
              "You remember the newcomer's own accuracy where it comes in. Remember the soup's: the next one has to "
              "beat that."),
        Wrong(_taken_out,
              "You begin with all models and take out what does harm. This recipe begins with the best one and adds."),
        Wrong(_best_subset,
              "You looked for the best of all subsets. The greedy soup tries each model once, from the best on, and "
              "never takes one out again."),
        Wrong(lambda held_out, accuracy_of: accuracy_of(_from_the_best(held_out)[0]),
              "accuracy_of wants a list of models, also of a single one. Ask it about the soup together with the "
              "newcomer."),
        Wrong(lambda held_out, accuracy_of: set(greedy_soup(held_out, accuracy_of)),
              "The right models, in a set: a set has no order. Return a list, in the order in which they were taken."),
        Wrong(_newcomers_own,
              "You compare the soup with the newcomer alone. Compare it with what the soup had before."),
        Wrong(_members_mean,
              "You compare the soup with the mean of its members. Compare it with what the soup had before."),
        Wrong(_until_one_fails,
              "You stop at the first model that makes the soup worse. Leave it out and go on: a later one may help."),
        Wrong(_best_partner,
              "In every round you look for the best partner. This recipe tries the models in a fixed order, each one "
              "once."),
        Wrong(_best_prefix,
              "You choose among the uniform soups of the best k. In a greedy soup a model that does harm is left out, "
              "and later ones may still come in."),
        Wrong(lambda held_out, accuracy_of: _from_the_best(held_out),
              "You took all models: that is the uniform soup. One that makes the soup worse has to stay out."),
        Wrong(lambda held_out, accuracy_of: _from_the_best(held_out)[:1],
              "You end up with the best single model alone. Ask accuracy_of for the soup together with the newcomer: "
              "no model alone is better than the best."),
        Wrong(_places,
              "These are places in the sorted order. Return the models' own numbers, as in held_out."),
        Wrong(_best_twice,
              "The best model is in the soup twice: it is there from the start, and then it is tried again."),
        Wrong(lambda held_out, accuracy_of: greedy_soup(held_out, accuracy_of)[1:],
              "The best model is missing from your list: it is taken too, before any other."),
        Wrong(lambda held_out, accuracy_of: [held_out[model] for model in greedy_soup(held_out, accuracy_of)],
              "The right models, but you gave their accuracies. Return their numbers."),
        Wrong(_accuracies_for_models,
              "You sorted the accuracies themselves, so your list holds accuracies. Sort the models' numbers, 0, 1, …, "
              "by their accuracy."),
        Wrong(lambda held_out, accuracy_of: sorted(greedy_soup(held_out, accuracy_of)),
              "The right models, sorted by their number. Return them in the order in which they were taken."),
        Wrong(_with_accuracy,
              "The soup is right, and its accuracy is too much: return the list of models alone."),
        Wrong(lambda held_out, accuracy_of: accuracy_of(greedy_soup(held_out, accuracy_of)),
              "That is the soup's accuracy. Return the list of its models."),
    ],
    hints=[
        "sorted(range(len(held_out)), key=lambda model: -held_out[model]) gives the models from the best on.",
        "Start the soup with the first. For every other one, ask accuracy_of([*soup, model]).",
        "If it is at least the soup's accuracy so far, take the model and remember the new accuracy.",
    ],
    praise="It can never do worse on the held-out data than the best single model. On the test data it can.")


# -- 3.4: the first layer of the average -------------------------------------------------------------

def first_layer_of_average(before):
    return before.mean(0).relu()


def _before():
    generator = torch.Generator().manual_seed(2)
    few = torch.tensor([[[2.0, -1.0], [0.5, 1.5]], [[-4.0, 3.0], [1.5, -2.5]]])
    return [(torch.randn(3, 6, 4, generator=generator),), (torch.randn(2, 5, 3, generator=generator),), (few,)]


def _passed(mask):
    """A wrong answer to 3.4: the mean of what the networks compute, let through where a mask says so."""
    return lambda before: before.mean(0) * mask(before > 0)


FIRST_LAYER = Exercise(
    "3.4", "the first layer of the average",
    minutes=5,
    solution=algorithms.first_layer_of_average,
    teaching=first_layer_of_average,
    cases=_before,
    tolerance=1e-5,
    wrong=[
        Wrong(lambda before: F.relu(before).mean(0),
              "That is the average of the features, with the ReLU first. The network with averaged weights "
              "averages W·x + b, and then applies its ReLU."),
        Wrong(lambda before: F.relu(before).sum(0),
              "That is the sum of the single networks' features. The network with averaged weights has the mean of the "
              "W·x + b, and then its own ReLU."),
        Wrong(lambda before: before.mean(0),
              "This is W·x + b of the averaged network. Its features come after the ReLU."),
        Wrong(lambda before: F.relu(before.sum(0)),
              "You added up; the averaged network has the mean of the weights."),
        Wrong(F.relu,
              "These are the features of all the single networks. The averaged network is one: where does the models' "
              "dimension go, before its ReLU?"),
        Wrong(lambda before: F.relu(before.mean(1)),
              "You averaged over the samples. The models run along the first dimension."),
        Wrong(lambda before: F.relu(before.mean(2)),
              "You averaged over the units. The models run along the first dimension."),
        Wrong(lambda before: before.mean(0).clamp(max=0),
              "You kept what is negative. A ReLU keeps what is positive: clamp(min=0)."),
        Wrong(lambda before: (before.mean(0) > 0).double(),
              "That says where the ReLU lets something through, 1 or 0. The features are what comes through."),
        Wrong(lambda before: max(0, before.mean(0)),
              "Python's max compares two things as a whole. Use torch.relu or clamp(min=0), which go number by "
              "number."),
        Wrong(lambda before: torch.maximum(before.mean(0), 0),
              "torch.maximum wants two tensors. Use torch.relu, or clamp(min=0)."),
        Wrong(lambda before: before.amax(0),
              "You took the largest over the models. The averaged network has their mean, and the ReLU compares that "
              "with 0."),
        Wrong(lambda before: before.amax(0).relu(),
              "You took the largest over the models. The averaged network has their mean."),
        Wrong(lambda before: before.median(0).values.relu(),
              "That is the median over the models. The averaged network has their mean."),
        Wrong(lambda before: (before.sum(0) / before.shape[1]).relu(),
              "You added up over the models but divided by the number of samples. Divide by the number of models."),
        Wrong(lambda before: _reshaped(before).mean(1).relu(),
              "A reshape does not exchange dimensions, it takes the numbers as they lie, and mixes samples. The models "
              "already run along a dimension of their own."),
        Wrong(lambda before: before.mean(0).relu() * len(before) ** 0.5,
              "You multiplied by the root of the number of models. Averaging may shrink features, but these are asked "
              "as they are."),
        Wrong(lambda before: before.mean(0).abs(),
              "You took the absolute value. A ReLU makes 0 of what is negative."),
        Wrong(lambda before: before.relu().sum(0) / (before > 0).sum(0).clamp(min=1),
              "You averaged over the networks in which the unit is active. The averaged network has the mean of all, "
              "and its own ReLU comes after it."),
        Wrong(_passed(lambda active: active.double().mean(0) > 0.5),
              "You let a unit through where most networks are active. The averaged network's ReLU looks at its own "
              "W·x + b."),
        Wrong(_passed(lambda active: active[0]),
              "You let a unit through where the first network is active. The averaged network's ReLU looks at its own "
              "W·x + b."),
        Wrong(_passed(lambda active: active.all(0)),
              "You let a unit through where all networks are active. The averaged network's ReLU looks at its own "
              "W·x + b."),
        Wrong(_passed(lambda active: active.any(0)),
              "You let a unit through where any network is active. The averaged network's ReLU looks at its own "
              "W·x + b."),
        Wrong(lambda before: before.mean(0).clamp(0, 1),
              "You cut off what is above 1 too. A ReLU has no upper limit."),
        Wrong(lambda before: F.gelu(before.mean(0)),
              "That is a GELU. Chapter 1's network has a ReLU behind its layers."),
    ],
    hints=[
        "The averaged network computes (mean of W)·x + (mean of b).",
        "That is the mean of the W·x + b.",
        "What comes last?",
    ],
    praise="So nobody has to build the averaged network to know its first layer. The twenty Wᵢx are computed "
           "once, and each of the 1,140 triples uses three of them.")


# -- 3.5: the baseline of Eq. 1 ----------------------------------------------------------------------

def _features():
    generator = torch.Generator().manual_seed(3)
    cases = []
    for models, samples, width in ((3, 6, 4), (2, 3, 5), (4, 5, 3)):
        lengths = torch.tensor([1.0, 2, 5, 0.5])[:models, None, None]
        cases.append((torch.randn(samples, width, generator=generator),
                      torch.randn(models, samples, width, generator=generator) * lengths))
    return cases


def _cosines(average, features):
    """(models, samples)."""
    return torch.stack([cosine(average, one) for one in features])


def _between_singles(average, features):
    return torch.stack([cosine(a, b) for a, b in itertools.combinations(features, 2)]).mean(0)


def _products(average, features):
    """(models, samples) of scalar products."""
    return (average * features).sum(2)


def _one_length_for_all(average, features):
    return (_products(average, features) / average.norm() / features.norm(dim=(1, 2))[:, None]).mean(0)


BASELINE = Exercise(
    "3.5", "the baseline of Eq. 1",
    minutes=8,
    solution=algorithms.cosine_base,
    cases=_features,
    tolerance=1e-5,
    wrong=[
        Wrong(lambda average, features: algorithms.cosine_avg(average, features),
              "That is cosine_avg: one cosine, with the mean of the features. The baseline takes a cosine with every "
              "single model's features, and averages those numbers."),
        Wrong(lambda average, features: _cosines(features.mean(0), features).mean(0),
              "You took the mean of the features for the averaged network's. These are in `average`: that the two are "
              "nearly the same is what Eq. 1 claims, and we want to test it."),
        Wrong(_between_singles,
              "These are the cosines between the single models. The baseline compares each one with the averaged "
              "network, `average`."),
        Wrong(lambda average, features: 1 - algorithms.cosine_base(average, features),
              "This is 1 minus the baseline. Give the cosine itself."),
        Wrong(lambda average, features: _cosines(average, features).mean(),
              "Right values, averaged too far: keep one number per sample, shape (samples,)."),
        Wrong(lambda average, features: _cosines(average, features).mean(1),
              "You averaged over the samples and have one number per model. Average over the models."),
        Wrong(lambda average, features: _cosines(average, features).sum(0),
              "You added the k cosines up; the baseline is their mean."),
        Wrong(lambda average, features: _cosines(average, features).sum(0) / 3,
              "You divide by 3 whatever the number of models is: len(features)."),
        Wrong(_cosines,
              "That is one cosine per model and sample, (models, samples). Average over the models."),
        Wrong(lambda average, features: F.cosine_similarity(average[None], features, dim=1).mean(0),
              "The cosine ran over the samples. In a tensor (models, samples, width) the width is dimension 2."),
        Wrong(lambda average, features: cosine(average, features[0]),
              "That is the cosine with the first model alone. Average over all of them."),
        Wrong(lambda average, features: cosine(average, F.normalize(features.double(), dim=2).mean(0)),
              "You gave all features the length 1 and took one cosine with their mean. The baseline is the mean of the "
              "k cosines: the mean's own length must not be divided away."),
        Wrong(lambda average, features: F.cosine_similarity(average.reshape(1, -1), features.flatten(1)).mean(),
              "You made one long vector of all samples. Every sample has a cosine of its own."),
        Wrong(lambda average, features: _cosines(average, features).amin(0),
              "That is the cosine with the model that fits worst. The baseline is the mean over all of them."),
        Wrong(lambda average, features: _cosines(average, features).amax(0),
              "That is the cosine with the model that fits best. The baseline is the mean over all of them."),
        Wrong(lambda average, features: _products(average, features).mean(0),
              "These are scalar products. A cosine divides by both lengths."),
        Wrong(lambda average, features: (_products(average, features) / features.norm(dim=2)).mean(0),
              "You divided by the single models' lengths only. A cosine divides by the length of `average` too."),
        Wrong(lambda average, features: (_products(average, features) / average.norm(dim=1)).mean(0),
              "You divided by the length of `average` only. A cosine divides by the single models' lengths too."),
        Wrong(lambda average, features: (_cosines(average, features) / features.norm(dim=2)
                                         / average.norm(dim=1)).mean(0),
              "You divided by the squares of the lengths. A cosine divides by the lengths themselves."),
        Wrong(lambda average, features: _products(average, features).mean(0) / (average.norm() * features.norm()),
              "norm() without dim is one length for everything together. Every sample and model has its own: "
              "norm(dim=…)."),
        Wrong(lambda average, features: (_products(average, features).sum(0) / average.norm(dim=1)
                                         / len(features) ** 0.5 / features.norm(dim=(0, 2))),
              "You joined the models' features to one long vector per sample. Each model has a cosine of its own, and "
              "these are averaged."),
        Wrong(lambda average, features: _cosines(average, features).abs().mean(0),
              "You averaged absolute values. A cosine keeps its sign: features that point the other way do not fit."),
        Wrong(lambda average, features: (_cosines(average, features) ** 2).mean(0),
              "You averaged the squares of the cosines. Asked is the mean of the cosines, with their signs."),
        Wrong(lambda average, features: _cosines(average, features).mean(0) / features.shape[2],
              "You averaged the products over the width. A scalar product is their sum."),
        Wrong(lambda average, features: _reshaped(_cosines(average, features)).mean(1),
              "A reshape does not exchange dimensions, it takes the numbers as they lie, and mixes samples. Average "
              "over the models' dimension directly."),
        Wrong(lambda average, features: (_products(average, features) / (features ** 2).sum(2)).mean(0),
              "That is the mean of coef, which divides by the single model's length twice. A cosine divides by each of "
              "the two lengths once."),
        Wrong(_one_length_for_all,
              "You divided by one length for all samples together. Every sample has its own: norm(dim=…)."),
        Wrong(lambda average, features: (_products(average, features).mean(0)
                                         / (average.norm(dim=1) * features.norm(dim=2).mean(0))),
              "That is the mean product over the mean length. Divide first, for every model, and then average."),
    ],
    hints=[
        "For one model: torch.nn.functional.cosine_similarity(average, features[i], dim=1).",
        "Do it for every model, torch.stack the results.",
        "Average over the models, dimension 0.",
    ],
    praise="If even a single model's features were as close, Eq. 1 would say nothing.")


# -- 3.6: where does the proof break? ----------------------------------------------------------------

BREAK = Exercise(
    "3.6", "where does the proof break?",
    minutes=4,
    solution="c",
    wrong=[
        Wrong("a",
              "Two models are the definition of CTL, so the start of the induction is fine."),
        Wrong("b",
              "The shares α_i/(1 − α_(k'+1)) do sum to 1 and are not negative; the arithmetic is in order."),
        Wrong("d",
              "“≈” hides how errors grow, which is a second weakness. But the counterexample has no errors at all: "
              "its pairs are exact."),
    ],
    hints=[
        "In the counterexample every pair is exact. So the step must fail that uses a pair which is not a pair of "
        "the three models.",
        "What are the two models of the last step's pair? One is θ_(k'+1). And the other?",
    ],
    praise="Where CTL is exact, the lemma is right for a convex set Θ, which holds all averages of its models. Three "
           "finetuned models are not such a set, and CTL of their pairs does not imply CTL of pairs with a mix.")


# -- 3.7: predict k from pairs ---------------------------------------------------------------------

def _halfway():
    generator = torch.Generator().manual_seed(4)
    m = _symmetric(torch.randn(4, 4, 5, generator=generator))
    two = _symmetric(torch.tensor([[[0.0, 0, 0], [1.5, -2, 1]], [[0, 0, 0], [0, 0, 0]]]))
    return [(m, torch.tensor([0.1, 0.2, 0.3, 0.4])),
            (m[:2, :2], torch.tensor([0.5, 0.5])),
            (two, torch.tensor([0.25, 0.75])),
            (m[:3, :3], torch.full((3,), 1 / 3)),
            (_symmetric(torch.randn(3, 3, 2, 4, generator=generator)), torch.tensor([0.5, 0.3, 0.2]))]


def _symmetric(m):
    """Deviations of pairs; that of a model with itself is zero."""
    m = m + m.transpose(0, 1)
    m[range(len(m)), range(len(m))] = 0
    return m


def _over_pairs(weight):
    """A wrong answer to 3.7: how it weights a pair's deviation."""
    def answer(halfway, shares):
        return sum(weight(shares, i, j) * halfway[i, j] for i, j in itertools.combinations(range(len(shares)), 2))
    return answer


def _all_but_the_last(halfway, shares):
    without_it = _over_pairs(lambda shares, i, j: 4 * shares[i] * shares[j])(halfway, shares[:-1])
    return torch.zeros_like(halfway[0, 0]) + without_it


def _count(shares):
    return len(shares) * (len(shares) - 1) / 2


PAIRS = Exercise(
    "3.7", "predict k from pairs",
    minutes=8,
    solution=algorithms.predicted_from_pairs,
    cases=_halfway,
    tolerance=1e-5,
    wrong=[
        Wrong(_over_pairs(lambda shares, i, j: shares[i] * shares[j]),
              "Try it on two models with half each: it must give halfway[0, 1] itself. α_i·α_j is ¼ there, so a factor "
              "4 is missing."),
        Wrong(_over_pairs(lambda shares, i, j: shares[i] * shares[j] / 4),
              "You divided by 4. Half-way between two models α_i·α_j is ¼, and the result must be halfway[0, 1]: "
              "multiply."),
        Wrong(_over_pairs(lambda shares, i, j: -shares[i] * shares[j] / 2),
              "The −½ stands before the second derivatives. m_ij is the whole deviation, it has that factor in it "
              "already; here it is 4."),
        Wrong(lambda halfway, shares: 4 * torch.einsum("i,j,ij...->...", shares, shares, halfway),
              "You counted every pair twice, as (i, j) and as (j, i). The sum runs over i < j."),
        Wrong(_over_pairs(lambda shares, i, j: 1 / _count(shares)),
              "This is the mean over the pairs, whatever the shares are. A pair counts by the product of its two "
              "shares."),
        Wrong(_over_pairs(lambda shares, i, j: 4 * shares[i] * shares[j] / _count(shares)),
              "The terms are right, but you took their mean over the pairs. The formula has their sum."),
        Wrong(_over_pairs(lambda shares, i, j: 4 / len(shares) ** 2),
              "That is right for equal shares, whatever the shares are. A pair counts by the product of its own two."),
        Wrong(_over_pairs(lambda shares, i, j: shares[i] + shares[j]),
              "You weighted a pair by the sum of its shares. It is the product: where one share is 0 the pair must not "
              "count."),
        Wrong(_over_pairs(lambda shares, i, j: 4 * (shares[i] + shares[j])),
              "A pair counts here by four times the sum of its shares. Where one share is 0 it must not count at all: "
              "multiply the two."),
        Wrong(_over_pairs(lambda shares, i, j: (shares[i] + shares[j]) / 2),
              "You weighted a pair by the mean of its two shares. It is four times their product."),
        Wrong(_over_pairs(lambda shares, i, j: 4 * shares[i] ** 2),
              "You took the share of i twice. The second one is that of j."),
        Wrong(lambda halfway, shares: _over_pairs(lambda shares, i, j: 4 * shares[i] * shares[j])(halfway, shares[:-1]),
              "No pair with the last model is in your sum: a range one too short?"),
        Wrong(lambda halfway, shares: sum(4 * shares[i] * shares[i + 1] * halfway[i, i + 1]
                                          for i in range(len(shares) - 1)),
              "Your pairs are neighbours only, (i, i + 1). The sum runs over all i < j."),
        Wrong(lambda halfway, shares: 2 * torch.einsum("i,j,ij...->", shares, shares, halfway),
              "You also summed over what m_ij itself holds. Only i and j have to go."),
        Wrong(lambda halfway, shares: torch.outer(shares, shares) * halfway,
              "m_ij may have dimensions of its own behind i and j, and then torch lines up the wrong ones. Go through "
              "the pairs one by one, or name the dimensions in an einsum."),
        Wrong(lambda halfway, shares: halfway * torch.outer(shares, shares),
              "halfway may have more dimensions than the products of the shares, and then torch lines up the wrong "
              "ones. Go through the pairs one by one, or name the dimensions in an einsum."),
        Wrong(lambda halfway, shares: halfway[0, 1].item(),
              "item() is for a single number. m_ij may be a tensor of any shape, and so is the result."),
        Wrong(lambda halfway, shares: torch.outer(shares, shares)[:, :, None] * halfway,
              "You count on exactly one dimension behind i and j. m_ij may be a tensor of any shape: go through the "
              "pairs."),
        Wrong(lambda halfway, shares: shares @ halfway @ shares,
              "A product of matrices suits halfway only where m_ij is a number. It may have dimensions of its own: go "
              "through the pairs, or name the dimensions in an einsum."),
        Wrong(_all_but_the_last,
              "Your sum stops before the last model. Its pairs with the others belong to the sum too."),
    ],
    hints=[
        "Go through all pairs i < j.",
        "Each contributes in proportion to shares[i] * shares[j].",
        "Half-way between two models that product is ¼, and the result must be halfway[0, 1].",
    ],
    praise="Sum the products for k equal shares: 4·(k(k − 1)/2)/k² = 2·(1 − 1/k). However many models, never more than "
           "twice.")

EXERCISES = [AVERAGE, ENSEMBLE, SOUP, FIRST_LAYER, BASELINE, BREAK, PAIRS]
