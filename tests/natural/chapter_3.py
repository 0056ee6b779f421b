"""Answers to the exercises of chapter 3: averages of state dicts and of logits, their baseline, pairs, greedy soups."""
import copy
import itertools

import numpy as np
import torch
import torch.nn.functional as F

from tests.natural import Natural

# -- 3.1 · Σ α_i θ_i of state dicts ----------------------------------------------------------------

def plain_mean(states, shares):
    return {key: torch.stack([state[key].float() for state in states]).mean(0) for key in states[0]}


def every_key_mixed(states, shares):
    return {key: sum(share * state[key] for share, state in zip(shares, states)) for key in states[0]}


def of_floats(combine, counter=lambda counters, shares: counters[0]):
    """What `combine(tensors, shares)` gives at floating-point keys, with the counter of the first elsewhere."""
    def answer(states, shares):
        return {key: combine([state[key] for state in states], shares) if first.is_floating_point()
                else counter([state[key] for state in states], shares) for key, first in states[0].items()}
    return answer


def weighted(tensors, shares):
    return sum(share * tensor for share, tensor in zip(shares, tensors))


def divided_by_count_too(tensors, shares):
    return weighted(tensors, shares) / len(tensors)


def one_after_the_other(tensors, shares):
    result = tensors[0]
    for share, tensor in zip(shares[1:], tensors[1:]):
        result = (1 - share) * result + share * tensor
    return result


def without_the_last(tensors, shares):
    return sum(shares[i] * tensors[i] for i in range(len(shares) - 1))


def first_in_full(tensors, shares):
    return tensors[0] + sum(share * tensor for share, tensor in zip(shares[1:], tensors[1:]))


def only_weights(states, shares):
    return {key: sum(share * state[key] for share, state in zip(shares, states))
            for key, first in states[0].items() if first.is_floating_point()}


def into_the_first(states, shares):
    result = states[0]
    for key, first in result.items():
        if first.is_floating_point():
            result[key] = weighted([state[key] for state in states], shares)
    return result


def times_in_place(states, shares):
    result = dict(states[0])
    for key, tensor in result.items():
        if tensor.is_floating_point():
            tensor.mul_(shares[0])
            for share, state in zip(shares[1:], states[1:]):
                tensor.add_(state[key], alpha=share)
    return result


def stack_of_each(tensors, shares):
    return torch.stack([share * tensor for share, tensor in zip(shares, tensors)])


def unweighted_sum(tensors, shares):
    return torch.stack(tensors).sum(0)


def only_named_weight(states, shares):
    return {key: weighted([state[key] for state in states], shares) if key.endswith(("weight", "bias"))
            else first for key, first in states[0].items()}


def two_only(tensors, shares):
    return shares[0] * tensors[0] + (1 - shares[0]) * tensors[1]


def with_einsum(tensors, shares):
    shares = torch.as_tensor(shares, dtype=torch.float32)
    return torch.einsum("k,k...->...", shares, torch.stack(tensors))


def copied_and_filled(states, shares):
    result = copy.deepcopy(states[0])
    for key in result:
        if result[key].is_floating_point():
            result[key] = torch.zeros_like(result[key])
            for share, state in zip(shares, states):
                result[key] += share * state[key]
    return result


def in_numpy(tensors, shares):
    return np.average([tensor.numpy() for tensor in tensors], axis=0, weights=np.asarray(shares))


# -- 3.2 · the mean of the logits --------------------------------------------------------------------

def one_hot_votes(logits):
    return F.one_hot(logits.argmax(-1), logits.shape[-1]).float().mean(0)


# -- 3.3 · the greedy soup ---------------------------------------------------------------------------

def best_first(held_out):
    return sorted(range(len(held_out)), key=lambda i: held_out[i], reverse=True)


def cooked(order=best_first, better=lambda new, old: new >= old, keep=lambda new, old: new, start=None):
    """A greedy soup with one thing changed."""
    def answer(held_out, accuracy_of):
        first, *others = order(held_out)
        soup = [first]
        best = held_out[first] if start is None else start
        for model in others:
            new = accuracy_of(soup + [model])
            if better(new, best):
                soup.append(model)
                best = keep(new, best)
        return soup
    return answer


def until_one_fails(held_out, accuracy_of):
    order = best_first(held_out)
    soup, best = [order[0]], held_out[order[0]]
    for model in order[1:]:
        new = accuracy_of(soup + [model])
        if new < best:
            break
        soup.append(model)
        best = new
    return soup


def against_the_models_own(held_out, accuracy_of):
    order = best_first(held_out)
    soup = [order[0]]
    for model in order[1:]:
        if accuracy_of(soup + [model]) >= held_out[model]:
            soup.append(model)
    return soup


def model_alone_as_good(held_out, accuracy_of):
    order = best_first(held_out)
    soup = [order[0]]
    for model in order[1:]:
        if held_out[model] >= accuracy_of(soup):
            soup.append(model)
    return soup


def with_the_best_only(held_out, accuracy_of):
    order = best_first(held_out)
    soup, best = [order[0]], held_out[order[0]]
    for model in order[1:]:
        if accuracy_of([order[0], model]) >= best:
            soup.append(model)
    return soup


def best_partner_each_round(held_out, accuracy_of):
    rest = best_first(held_out)
    soup = [rest.pop(0)]
    best = held_out[soup[0]]
    while rest:
        model = max(rest, key=lambda one: accuracy_of(soup + [one]))
        new = accuracy_of(soup + [model])
        if new < best:
            return soup
        soup.append(model)
        rest.remove(model)
        best = new
    return soup


def best_prefix(held_out, accuracy_of):
    order = best_first(held_out)
    return max((order[:k] for k in range(1, len(order) + 1)), key=accuracy_of)


def places_in_order(held_out, accuracy_of):
    order = best_first(held_out)
    soup, taken, best = [order[0]], [0], held_out[order[0]]
    for place, model in enumerate(order[1:], 1):
        if accuracy_of(soup + [model]) >= best:
            soup.append(model)
            taken.append(place)
            best = accuracy_of(soup)
    return taken


def looked_up_by_value(held_out, accuracy_of):
    order = [held_out.index(value) for value in sorted(held_out, reverse=True)]
    return cooked(order=lambda _: order)(held_out, accuracy_of)


def with_accuracy(held_out, accuracy_of):
    soup = cooked()(held_out, accuracy_of)
    return soup, accuracy_of(soup)


def best_tried_twice(held_out, accuracy_of):
    order = best_first(held_out)
    soup, best = [order[0]], held_out[order[0]]
    for model in order:
        new = accuracy_of(soup + [model])
        if new >= best:
            soup.append(model)
            best = new
    return soup


def at_least_the_mean(held_out, accuracy_of):
    order = best_first(held_out)
    soup = [order[0]]
    for model in order[1:]:
        if accuracy_of(soup + [model]) >= np.mean([held_out[one] for one in soup + [model]]):
            soup.append(model)
    return soup


def kept_while_tried(held_out, accuracy_of):
    soup, best = [], 0.0
    for model in best_first(held_out):
        soup.append(model)
        new = accuracy_of(soup)
        if new >= best:
            best = new
    return soup


def by_number(held_out, accuracy_of):
    return sorted(cooked()(held_out, accuracy_of))


def without_the_first(held_out, accuracy_of):
    return cooked()(held_out, accuracy_of)[1:]


def with_torch(held_out, accuracy_of):
    order = torch.argsort(torch.tensor(held_out), descending=True, stable=True)
    soup, best = [order[0].item()], held_out[order[0]]
    for model in order[1:].tolist():
        if accuracy_of([*soup, model]) >= best:
            soup.append(model)
            best = accuracy_of(soup)
    return torch.tensor(soup)


def with_numpy(held_out, accuracy_of):
    order = np.argsort(-np.array(held_out), kind="stable")
    soup = [order[0]]
    for model in order[1:]:
        if accuracy_of(soup + [model]) >= accuracy_of(soup):
            soup.append(model)
    return soup


def from_the_empty_soup(held_out, accuracy_of):
    soup, best = [], -1.0
    for _, model in sorted((-accuracy, model) for model, accuracy in enumerate(held_out)):
        new = accuracy_of(soup + [model])
        if new >= best:
            soup, best = soup + [model], new
    return tuple(soup)


def last_trial_remembered(held_out, accuracy_of):
    order = best_first(held_out)
    soup, best = [order[0]], held_out[order[0]]
    for model in order[1:]:
        new = accuracy_of(soup + [model])
        if new >= best:
            soup.append(model)
        best = new
    return soup


def newcomers_accuracy_remembered(held_out, accuracy_of):
    order = best_first(held_out)
    soup, best = [order[0]], held_out[order[0]]
    for model in order[1:]:
        if accuracy_of(soup + [model]) >= best:
            soup.append(model)
            best = held_out[model]
    return soup


def starts_at_the_first_ones(held_out, accuracy_of):
    return cooked(start=held_out[0])(held_out, accuracy_of)


def one_model_asked(held_out, accuracy_of):
    order = best_first(held_out)
    return [order[0]] + [model for model in order[1:] if accuracy_of(model) >= held_out[order[0]]]


def begins_empty(held_out, accuracy_of):
    soup = []
    for model in best_first(held_out):
        if accuracy_of(soup + [model]) >= accuracy_of(soup):
            soup.append(model)
    return soup


def best_of_all_subsets(held_out, accuracy_of):
    models = range(len(held_out))
    subsets = [chosen for k in models for chosen in itertools.combinations(models, k + 1)]
    return list(max(subsets, key=lambda chosen: accuracy_of(list(chosen))))


def takes_out(held_out, accuracy_of):
    soup = best_first(held_out)
    for model in list(soup):
        rest = [one for one in soup if one != model]
        if rest and accuracy_of(rest) >= accuracy_of(soup):
            soup = rest
    return soup


def put_in_front(held_out, accuracy_of):
    order = best_first(held_out)
    soup = [order[0]]
    for model in order[1:]:
        if accuracy_of([model] + soup) >= accuracy_of(soup):
            soup = [model] + soup
    return soup


def overwritten(tensors, shares):
    for share, tensor in zip(shares, tensors):
        result = share * tensor
    return result


# -- 3.5 · the mean of the cosines -------------------------------------------------------------------

def between_singles(average, features):
    k = len(features)
    pairs = [F.cosine_similarity(features[i], features[j], dim=1) for i in range(k) for j in range(i + 1, k)]
    return torch.stack(pairs).mean(0)


def with_mean_of_features(average, features):
    mean = features.mean(0)
    return torch.stack([F.cosine_similarity(mean, one, dim=1) for one in features]).mean(0)


def norm_of_everything(average, features):
    return torch.stack([(average * one).sum(1) / (average.norm() * one.norm()) for one in features]).mean(0)


def three_models(average, features):
    return sum(F.cosine_similarity(average, one, dim=1) for one in features) / 3


def cosines_by_hand(average, features):
    products = (average * features).sum(2)
    return (products / (average.norm(dim=1) * features.norm(dim=2))).mean(0)


def cosines_in_loops(average, features):
    result = []
    for sample in range(average.shape[0]):
        one = [float(F.cosine_similarity(average[sample].double(), model[sample].double(), dim=0))
               for model in features]
        result.append(sum(one) / len(one))
    return result


# -- 3.7 · Σ_{i<j} 4 α_i α_j m_ij ----------------------------------------------------------------------

def over_pairs(weight, pairs=itertools.combinations):
    """Σ weight(shares, i, j)·m_ij over the pairs of places."""
    def answer(halfway, shares):
        return sum(weight(shares, i, j) * halfway[i, j] for i, j in pairs(range(len(shares)), 2))
    return answer


def product(shares, i, j):
    return 4 * shares[i] * shares[j]


def quadratic_form(halfway, shares):
    return 4 * torch.einsum("i,j,ij...->...", shares, shares, halfway)


def einsum_of_everything(halfway, shares):
    return 2 * torch.einsum("i,j,ij...->", shares, shares, halfway)


def matrix_product(halfway, shares):
    return 2 * shares @ halfway @ shares


def outer_times_halfway(halfway, shares):
    return (4 * torch.outer(shares, shares) * halfway).triu(1).sum()


def as_if_equal(halfway, shares):
    k = len(shares)
    return sum(4 * halfway[i, j] / k ** 2 for i in range(k) for j in range(i + 1, k))


def stops_one_early(halfway, shares):
    k = len(shares)
    return sum(4 * shares[i] * shares[j] * halfway[i, j] for i in range(k - 1) for j in range(i + 1, k - 1))


def neighbours_only(halfway, shares):
    return sum(4 * shares[i] * shares[i + 1] * halfway[i, i + 1] for i in range(len(shares) - 1))


def average_over_pairs(halfway, shares):
    terms = [product(shares, i, j) * halfway[i, j] for i, j in itertools.combinations(range(len(shares)), 2)]
    return torch.stack(terms).mean(0)


def not_summed(halfway, shares):
    return torch.stack([product(shares, i, j) * halfway[i, j]
                        for i, j in itertools.combinations(range(len(shares)), 2)])


def half_of_all(halfway, shares):
    outer = torch.outer(shares, shares).reshape(*halfway.shape[:2], *[1] * (halfway.ndim - 2))
    both = (4 * outer * halfway).sum((0, 1))
    diagonal = sum(4 * shares[i] ** 2 * halfway[i, i] for i in range(len(shares)))
    return (both - diagonal) / 2


def in_float64(halfway, shares):
    result = np.zeros(tuple(halfway.shape[2:]))
    for i, j in itertools.combinations(range(len(shares)), 2):
        result = result + 4 * float(shares[i]) * float(shares[j]) * halfway[i, j].double().numpy()
    return result


WRONG = [
    Natural("3.1", "the shares forgotten", of_floats(lambda tensors, shares: torch.stack(tensors).mean(0)),
            "This is the plain mean whatever"),
    Natural("3.1", "the shares forgotten, counters too", plain_mean, "This is the plain mean of"),
    Natural("3.1", "the counter mixed too", every_key_mixed, "The weights are right, but you also"),
    Natural("3.1", "the counter mixed and cast back",
            of_floats(weighted, lambda counters, shares: weighted(counters, shares).to(counters[0].dtype)),
            "The weights are right, but “num_batches_tracked” was"),
    Natural("3.1", "the counter of the last", of_floats(weighted, lambda counters, shares: counters[-1]),
            "The weights are right, but “num_batches_tracked” is"),
    Natural("3.1", "the counters summed", of_floats(weighted, lambda counters, shares: sum(counters)),
            "The weights are right, but you added"),
    Natural("3.1", "the largest counter", of_floats(weighted, lambda counters, shares: max(counters))),
    Natural("3.1", "divided by the count as well", of_floats(divided_by_count_too), "You divided by the number"),
    Natural("3.1", "mixed in one after the other", of_floats(one_after_the_other), "Right for two models. Mixing"),
    Natural("3.1", "one state dict too few", of_floats(without_the_last), "The last state dict got"),
    Natural("3.1", "begins with the first in full", of_floats(first_in_full), "The first state dict counts"),
    Natural("3.1", "floating-point keys only", only_weights, "The weights are right, but “num_batches_tracked” got"),
    Natural("3.1", "into the first state dict", into_the_first, "changed one of its arguments in place"),
    Natural("3.1", "mul_ and add_ on the first one's tensors", times_in_place, "changed one of its arguments in place"),
    Natural("3.1", "stacked, not summed", of_floats(stack_of_each), "The tensors are multiplied"),
    Natural("3.1", "summed without shares", of_floats(unweighted_sum), "You added the state dicts"),
    Natural("3.1", "weights and biases by name", only_named_weight, "Weights and biases are"),
    Natural("3.1", "for two models only", of_floats(two_only), "Right for two models. Here"),
    Natural("3.1", "the softmax of the shares",
            of_floats(lambda tensors, shares: weighted(tensors, torch.tensor(shares).softmax(0))),
            "You took a softmax of the"),

    Natural("3.1", "each overwrites the one before", of_floats(overwritten), "Only the last state dict's"),
    Natural("3.1", "the first share for all", of_floats(lambda tensors, shares: shares[0] * sum(tensors))),
    Natural("3.1", "shares divided by the largest",
            of_floats(lambda tensors, shares: weighted(tensors, shares) / max(shares))),
    Natural("3.1", "a list of tensors", lambda states, shares: list(of_floats(weighted)(states, shares).values()),
            "The right numbers, but not"),

    Natural("3.2", "the sum", lambda logits: logits.sum(0), "The sum predicts the same"),
    Natural("3.2", "the mean over the samples", lambda logits: logits.mean(1), "You averaged over the samples"),
    Natural("3.2", "the mean over the classes", lambda logits: logits.mean(-1), "You averaged over the classes"),
    Natural("3.2", "the mean of everything", lambda logits: logits.mean(), "You averaged over everything"),
    Natural("3.2", "softmax, then the mean", lambda logits: logits.softmax(-1).mean(0), "You averaged probabilities"),
    Natural("3.2", "the mean, then softmax", lambda logits: logits.mean(0).softmax(-1), "The average is right, but"),
    Natural("3.2", "review: log_softmax, then the mean", lambda logits: logits.log_softmax(-1).mean(0),
            "You averaged logarithms"),
    Natural("3.2", "softmax over the models' dimension", lambda logits: logits.softmax(0).mean(0),
            "That is a softmax over"),
    Natural("3.2", "the class", lambda logits: logits.mean(0).argmax(-1), "That is the class that"),
    Natural("3.2", "every model's vote", one_hot_votes, "You let the models vote"),
    Natural("3.2", "the median", lambda logits: logits.median(0).values, "That is the median over"),
    Natural("3.2", "the largest", lambda logits: logits.amax(0), "You took the largest logit"),
    Natural("3.2", "keepdim", lambda logits: logits.mean(0, keepdim=True), "The right numbers, in a"),
    Natural("3.2", "median as it reads", lambda logits: logits.median(0), "torch's median gives values"),

    Natural("3.2", "the logarithm of the mean probability", lambda logits: logits.softmax(-1).mean(0).log(),
            "You averaged probabilities and took"),
    Natural("3.2", "logsumexp over the models", lambda logits: logits.logsumexp(0)),
    Natural("3.2", "divided by the number of samples", lambda logits: logits.sum(0) / logits.shape[1],
            "On every input yours is"),
    Natural("3.2", "in a tuple", lambda logits: (logits.mean(0),), "The right numbers, but not"),
    Natural("3.2", "the logits at length 1 first", lambda logits: F.normalize(logits, dim=-1).mean(0)),

    Natural("3.4", "the ReLU before the mean", lambda before: F.relu(before).mean(0), "That is the average of"),
    Natural("3.4", "the ReLU forgotten", lambda before: before.mean(0), "This is W·x + b of the"),
    Natural("3.4", "the sum", lambda before: F.relu(before.sum(0)), "You added up; the averaged"),
    Natural("3.4", "the sum of the features", lambda before: F.relu(before).sum(0), "That is the sum of the"),
    Natural("3.4", "the mean over the samples", lambda before: F.relu(before.mean(1)), "You averaged over the samples"),
    Natural("3.4", "not averaged", F.relu, "These are the features"),
    Natural("3.4", "relu_ in place on the input", lambda before: before.relu_().mean(0),
            "changed one of its arguments in place"),
    Natural("3.4", "the mean over the units", lambda before: F.relu(before.mean(-1)), "You averaged over the units"),
    Natural("3.4", "the ReLU as a mask", lambda before: before.mean(0) > 0, "That says where the ReLU"),
    Natural("3.4", "gelu", lambda before: F.gelu(before.mean(0)), "That is a GELU. Chapter"),
    Natural("3.4", "clamped from above", lambda before: before.mean(0).clamp(max=0), "You kept what is negative"),

    Natural("3.4", "Python's max", lambda before: max(0, before.mean(0)), "Python's max compares two things"),
    Natural("3.4", "maximum with a number", lambda before: torch.maximum(before.mean(0), 0),
            "torch.maximum wants two tensors. Use"),
    Natural("3.4", "the largest model", lambda before: before.amax(0), "You took the largest over"),
    Natural("3.4", "a leaky ReLU", lambda before: F.leaky_relu(before.mean(0))),
    Natural("3.4", "averaged over the samples as well", lambda before: F.relu(before.mean(0)).mean(0),
            "The right numbers, but one"),

    Natural("3.3", "strictly better", cooked(better=lambda new, old: new > old), "Nearly: a model that leaves"),
    Natural("3.3", "from the worst on", cooked(order=lambda h: sorted(range(len(h)), key=lambda i: h[i])),
            "You began with the worst"),
    Natural("3.3", "in the order given", cooked(order=lambda h: range(len(h))), "You tried the models in"),
    Natural("3.3", "always against the first", cooked(keep=lambda new, old: old), "You compare with the best"),
    Natural("3.3", "review: stops at the first that does not help", until_one_fails, "You stop at the first model"),
    Natural("3.3", "review: compared with the new model alone", against_the_models_own,
            "You compare the soup with the newcomer"),
    Natural("3.3", "the model alone against the soup", model_alone_as_good, "You end up with the best"),
    Natural("3.3", "pairs with the best", with_the_best_only, "You try every model together"),
    Natural("3.3", "the best partner each round", best_partner_each_round, "In every round you look"),
    Natural("3.3", "the best of the uniform soups", best_prefix, "You choose among the uniform"),
    Natural("3.3", "places in the sorted order", places_in_order, "These are places in the"),
    Natural("3.3", "index() of equal accuracies", looked_up_by_value, "Where two models are equally"),
    Natural("3.3", "the accuracy returned too", with_accuracy, "The soup is right, and"),
    Natural("3.3", "review: the best one tried twice", best_tried_twice, "The best model is in the"),
    Natural("3.3", "the accuracy of the soup",
            lambda held_out, accuracy_of: accuracy_of(cooked()(held_out, accuracy_of)), "That is the soup's accuracy"),
    Natural("3.3", "a new model has to be at least as good as the mean", at_least_the_mean,
            "You compare the soup with the mean"),
    Natural("3.3", "the last trial remembered", last_trial_remembered, "You remember the accuracy of"),
    Natural("3.3", "the newcomer's own accuracy remembered", newcomers_accuracy_remembered,
            "You remember the newcomer's own"),
    Natural("3.3", "starts at held_out[0]", starts_at_the_first_ones, "The accuracy to beat starts"),
    Natural("3.3", "the comparison the other way", cooked(better=lambda new, old: new <= old),
            "You take a model where"),
    Natural("3.3", "accuracy_of one model", one_model_asked, "accuracy_of wants a list of"),
    Natural("3.3", "the accuracy of the empty soup", begins_empty, "asked for the average of no models"),
    Natural("3.3", "the best of all subsets", best_of_all_subsets, "You looked for the best"),
    Natural("3.3", "takes out what does harm", takes_out, "You begin with all models"),
    Natural("3.3", "put in front", put_in_front, "The right numbers in another"),
    Natural("3.3", "a set", lambda held_out, accuracy_of: set(cooked()(held_out, accuracy_of)),
            "The right models, in a"),
    Natural("3.3", "never taken out again", kept_while_tried, "You took all models: that"),
    Natural("3.3", "sorted by number", by_number, "The right models, sorted"),
    Natural("3.3", "the first one not in the list", without_the_first, "The best model is missing"),
    Natural("3.3", "starts at 0 and so takes a second one at once", cooked(start=0.0), "The second model always"),
    Natural("3.3", "the whole order given as accuracies",
            lambda held_out, accuracy_of: [held_out[i] for i in cooked()(held_out, accuracy_of)],
            "The right models, but you"),
    Natural("3.5", "the cosine with the mean", lambda a, f: F.cosine_similarity(a, f.mean(0), dim=1),
            "That is cosine_avg: one"),
    Natural("3.5", "cosines, not averaged", lambda a, f: F.cosine_similarity(a[None], f, dim=2),
            "That is one cosine per"),
    Natural("3.5", "the sum of the cosines", lambda a, f: F.cosine_similarity(a[None], f, dim=2).sum(0),
            "You added the k cosines"),
    Natural("3.5", "averaged over the samples", lambda a, f: F.cosine_similarity(a[None], f, dim=2).mean(1),
            "You averaged over the samples"),
    Natural("3.5", "averaged over everything", lambda a, f: F.cosine_similarity(a[None], f, dim=2).mean(),
            "Right values, averaged"),
    Natural("3.5", "cosine_similarity over dimension 1", lambda a, f: F.cosine_similarity(a[None], f, dim=1).mean(0),
            "The cosine ran over the"),
    Natural("3.5", "one number, as a float", lambda a, f: F.cosine_similarity(a[None], f, dim=2).mean().item(),
            "Right values, averaged"),
    Natural("3.5", "1 minus it", lambda a, f: 1 - F.cosine_similarity(a[None], f, dim=2).mean(0),
            "This is 1 minus the baseline"),
    Natural("3.5", "between the single models", between_singles, "These are the cosines between"),
    Natural("3.5", "the mean of the features in the average's place", with_mean_of_features,
            "You took the mean of the"),
    Natural("3.5", "no norms", lambda a, f: (a * f).sum(2).mean(0), "These are scalar products"),
    Natural("3.5", "norms over everything", norm_of_everything, "You divided by one length"),
    Natural("3.5", "only the first model", lambda a, f: F.cosine_similarity(a, f[0], dim=1),
            "That is the cosine with the first"),
    Natural("3.5", "the best model", lambda a, f: F.cosine_similarity(a[None], f, dim=2).amax(0),
            "That is the cosine with the model"),
    Natural("3.5", "squared lengths below",
            lambda a, f: ((a * f).sum(2) / (a.norm(dim=1) ** 2 * f.norm(dim=2) ** 2)).mean(0),
            "You divided by the squares"),
    Natural("3.5", "only the models' lengths", lambda a, f: ((a * f).sum(2) / f.norm(dim=2)).mean(0),
            "You divided by the single"),
    Natural("3.5", "the mean of the products over the mean of the lengths",
            lambda a, f: (a * f).sum(2).mean(0) / (a.norm(dim=1) * f.norm(dim=2).mean(0)), "That is the mean product"),

    Natural("3.5", "an eps that shows", lambda a, f: ((a * f).sum(2) / (a.norm(dim=1) * f.norm(dim=2) + 1e-4)).mean(0),
            "Right to about 4 digits"),
    Natural("3.5", "review: three models written in", three_models, "You divide by 3 whatever"),

    Natural("3.5", "the mean of the features at length 1",
            lambda a, f: F.cosine_similarity(a, F.normalize(f, dim=2).mean(0), dim=1), "You gave all features the"),
    Natural("3.5", "one long vector", lambda a, f: F.cosine_similarity(a.flatten()[None], f.flatten(1)).mean(),
            "You made one long vector"),
    Natural("3.5", "the worst model", lambda a, f: F.cosine_similarity(a[None], f, dim=2).amin(0),
            "the model that fits worst"),
    Natural("3.5", "the median", lambda a, f: F.cosine_similarity(a[None], f, dim=2).median(0).values),
    Natural("3.5", "absolute cosines", lambda a, f: F.cosine_similarity(a[None], f, dim=2).abs().mean(0)),
    Natural("3.5", "divided by k − 1", lambda a, f: F.cosine_similarity(a[None], f, dim=2).sum(0) / (len(f) - 1),
            "On every input yours is"),

    Natural("3.6", "CTL for pairs is not enough to begin with", "a", "Two models are the definition"),
    Natural("3.6", "the shares", "b", "The shares α_i/(1 − α_(k'+1))"),
    Natural("3.6", "many ≈", "d", "“≈” hides how errors grow"),
    Natural("3.6", "the number of the step", 2, "not one of the letters"),
    Natural("3.6", "in words", "step 2", "not one of the letters"),

    Natural("3.7", "the 4 forgotten", over_pairs(lambda shares, i, j: shares[i] * shares[j]),
            "Try it on two models with"),
    Natural("3.7", "every pair twice", over_pairs(product, itertools.permutations), "You counted every pair"),
    Natural("3.7", "every pair twice, and i = j", quadratic_form, "You counted every pair"),
    Natural("3.7", "the factor 2", over_pairs(lambda shares, i, j: 2 * shares[i] * shares[j]),
            "Yours is half what is asked"),
    Natural("3.7", "the factor ¼", over_pairs(lambda shares, i, j: shares[i] * shares[j] / 4),
            "You divided by 4. Half-way"),
    Natural("3.7", "−½ from the expansion", over_pairs(lambda shares, i, j: -shares[i] * shares[j] / 2),
            "The −½ stands before the"),
    Natural("3.7", "the sum of the two shares", over_pairs(lambda shares, i, j: 4 * (shares[i] + shares[j])),
            "A pair counts here by four"),
    Natural("3.7", "the mean over the pairs", average_over_pairs, "The terms are right, but"),
    Natural("3.7", "equal shares", as_if_equal, "That is right for equal"),
    Natural("3.7", "the last model never", stops_one_early, "No pair with the last model"),
    Natural("3.7", "neighbours only", neighbours_only, "Your pairs are neighbours"),
    Natural("3.7", "not summed", not_summed, "Nearly there: sum over"),
    Natural("3.7", "α twice, from i", over_pairs(lambda shares, i, j: 4 * shares[i] ** 2), "You took the share of i"),
    Natural("3.7", "triu of the matrix, for numbers only", outer_times_halfway, "m_ij may have dimensions"),
    Natural("3.7", "a matrix product, for numbers only", matrix_product, "A product of matrices suits"),
    Natural("3.7", "einsum that sums over everything", einsum_of_everything, "You also summed over what"),

    Natural("3.7", "the matrix times the products, for numbers only",
            lambda halfway, shares: (4 * halfway * torch.outer(shares, shares)).triu(1).sum((0, 1)),
            "halfway may have more dimensions"),
    Natural("3.7", "item()",
            lambda halfway, shares: over_pairs(lambda a, i, j: 4 * a[i] * a[j] * halfway[i, j].item())(halfway, shares),
            "item() is for a single"),
    Natural("3.7", "the mean of the two shares", over_pairs(lambda shares, i, j: (shares[i] + shares[j]) / 2),
            "a pair by the mean"),
    Natural("3.7", "the root of the product", over_pairs(lambda shares, i, j: 4 * (shares[i] * shares[j]) ** 0.5)),
    Natural("3.7", "pairs with the first model", lambda halfway, shares: sum(
        4 * shares[0] * shares[j] * halfway[0, j] for j in range(1, len(shares)))),
    Natural("3.7", "divided by the sum of the products", lambda halfway, shares: (
        over_pairs(product)(halfway, shares) / over_pairs(product)(torch.ones(len(shares), len(shares)), shares)),
            "On every input yours is"),

]

RIGHT = [
    Natural("3.1", "einsum", of_floats(with_einsum)),
    Natural("3.1", "a copy of the first, filled", copied_and_filled),
    Natural("3.1", "numpy", of_floats(in_numpy)),
    Natural("3.1", "in float64", of_floats(lambda tensors, shares: weighted([t.double() for t in tensors], shares))),
    Natural("3.2", "torch.mean", lambda logits: torch.mean(logits, dim=0)),
    Natural("3.2", "the sum over the count", lambda logits: sum(logits) / len(logits)),
    Natural("3.2", "numpy", lambda logits: logits.numpy().mean(axis=0)),
    Natural("3.2", "in float64, as lists", lambda logits: logits.double().mean(0).tolist()),
    Natural("3.4", "clamp", lambda before: before.mean(0).clamp(min=0)),
    Natural("3.4", "nn.ReLU", lambda before: torch.nn.ReLU()(before.mean(dim=0))),
    Natural("3.4", "numpy's maximum", lambda before: np.maximum(before.numpy().mean(0), 0)),
    Natural("3.4", "the ReLU of the sum, divided", lambda before: F.relu(before.sum(0)) / len(before)),
    Natural("3.3", "review: a tensor", with_torch),
    Natural("3.3", "review: np.int64, and the soup asked again", with_numpy),
    Natural("3.3", "from the empty soup, as a tuple", from_the_empty_soup),
    Natural("3.5", "cosine_similarity, broadcast",
            lambda average, features: F.cosine_similarity(average[None], features, dim=2).mean(0)),
    Natural("3.5", "by hand in float32", cosines_by_hand),
    Natural("3.5", "a list of floats", cosines_in_loops),
    Natural("3.5", "normalised first",
            lambda average, features: (F.normalize(average, dim=1) * F.normalize(features, dim=2).mean(0)).sum(1)),
    Natural("3.6", "a capital letter", "C"),
    Natural("3.6", "in brackets", "(c)"),
    Natural("3.7", "i = j too, where m is 0", over_pairs(product, itertools.combinations_with_replacement)),
    Natural("3.7", "everything, halved",
            lambda halfway, shares: 2 * torch.einsum("i,j,ij...->...", shares, shares, halfway)),
    Natural("3.7", "all pairs, halved, without i = j", half_of_all),
    Natural("3.7", "numpy, float64", in_float64),
    Natural("3.7", "with the other triangle",
            over_pairs(product, lambda p, n: [(j, i) for i in p for j in p if i < j])),
]
