"""The exercises of chapter 3."""
import torch
import torch.nn.functional as F

from lessons.averaging import algorithms
from lessons.kit.exercise import Exercise, Wrong
from lessons.linearity.algorithms import cosine
from toy_models import weights


# -- 3.1: average many state dicts -----------------------------------------------------------------

def _states():
    generator = torch.Generator().manual_seed(0)
    states = []
    for count in (7, 4, 9):
        states.append({"layers.0.weight": torch.randn(3, 2, generator=generator),
                       "layers.0.bias": torch.randn(3, generator=generator),
                       "norm.num_batches_tracked": torch.tensor(count)})
    return [(states, [0.5, 0.3, 0.2]), (states[:2], [0.25, 0.75]), (states, [0.0, 1.0, 0.0])]


def _floats(function):
    """A wrong answer to 3.1 that carries the counter over."""
    def answer(states, shares):
        first = states[0]
        mixed = {}
        for key in first:
            floats = first[key].is_floating_point()
            mixed[key] = function([state[key] for state in states], shares) if floats else first[key]
        return mixed
    return answer


def _weighted(tensors, shares):
    return sum(share * tensor for share, tensor in zip(shares, tensors))


def _counter_mixed(states, shares):
    return {key: _weighted([state[key] for state in states], shares) for key in states[0]}


def _counter_lost(states, shares):
    mixed = _counter_mixed(states, shares)
    return {key: mixed[key] for key in mixed if states[0][key].is_floating_point()}


# -- 3.2 to 3.4: logits and features ---------------------------------------------------------------

def _logits():
    generator = torch.Generator().manual_seed(1)
    boastful = torch.tensor([3.0, 1, 1, 1])[:, None, None]
    return [(5 * torch.randn(4, 12, 3, generator=generator) * boastful,), (torch.randn(2, 6, 5, generator=generator),)]


def _votes(logits):
    return F.one_hot(logits.argmax(2), logits.shape[2]).double().mean(0)


def _before():
    generator = torch.Generator().manual_seed(2)
    return [(torch.randn(3, 6, 4, generator=generator),), (torch.randn(2, 5, 3, generator=generator),)]


def _features():
    generator = torch.Generator().manual_seed(3)
    lengths = torch.tensor([1.0, 2, 5])[:, None, None]
    return [(torch.randn(6, 4, generator=generator), torch.randn(3, 6, 4, generator=generator) * lengths)]


def _cosines(average, features):
    """(models, samples)."""
    return torch.stack([cosine(average, one) for one in features])


# -- 3.6: predict k from pairs ---------------------------------------------------------------------

def _halfway():
    generator = torch.Generator().manual_seed(4)
    m = torch.randn(4, 4, 5, generator=generator)
    m = m + m.transpose(0, 1)
    m[range(4), range(4)] = 0
    return [(m, torch.tensor([0.1, 0.2, 0.3, 0.4])),
            (m[:2, :2], torch.tensor([0.5, 0.5])),
            (m[:3, :3], torch.full((3,), 1 / 3))]


def _over_pairs(shares, each):
    return sum(each(i, j) for i in range(len(shares)) for j in range(i + 1, len(shares)))


def _no_factor(halfway, shares):
    return _over_pairs(shares, lambda i, j: shares[i] * shares[j] * halfway[i, j])


def _mean_of_pairs(halfway, shares):
    return _over_pairs(shares, lambda i, j: halfway[i, j]) / (len(shares) * (len(shares) - 1) / 2)


def _sum_of_shares(halfway, shares):
    return _over_pairs(shares, lambda i, j: 2 * (shares[i] + shares[j]) / 2 * halfway[i, j])


# -- 3.7: the greedy soup --------------------------------------------------------------------------

_FIRST = {(0,): 0.90, (1,): 0.80, (2,): 0.93, (3,): 0.70,
          (0, 2): 0.93, (0, 1): 0.94, (1, 2): 0.92, (2, 3): 0.94, (0, 3): 0.91, (1, 3): 0.85,
          (0, 1, 2): 0.92, (0, 2, 3): 0.935, (1, 2, 3): 0.95, (0, 1, 3): 0.9, (0, 1, 2, 3): 0.931}
_SECOND = {(0,): 0.90, (1,): 0.85, (2,): 0.80,
           (0, 1): 0.92, (0, 2): 0.905, (1, 2): 0.9, (0, 1, 2): 0.91}


def _tables():
    return [([0.90, 0.80, 0.93, 0.70], lambda chosen: _FIRST[tuple(sorted(chosen))]),
            ([0.90, 0.85, 0.80], lambda chosen: _SECOND[tuple(sorted(chosen))])]


def _from_the_best(held_out):
    return sorted(range(len(held_out)), key=lambda model: -held_out[model])


def _soup(held_out, accuracy_of, order=None, better=lambda new, best: new >= best, keep=lambda best, new: new):
    first, *others = order or _from_the_best(held_out)
    soup = [first]
    best = held_out[first]
    for model in others:
        accuracy = accuracy_of([*soup, model])
        if better(accuracy, best):
            soup = [*soup, model]
            best = keep(best, accuracy)
    return soup


EXERCISES = [
    Exercise(
        "3.1", "average many state dicts",
        minutes=5,
        solution=weights.average,
        cases=_states,
        tolerance=1e-5,
        wrong=[
            Wrong(_floats(lambda tensors, shares: torch.stack(tensors).mean(0)),
                  "This is the plain mean whatever the shares are: multiply each model's tensor by its share and add "
                  "up."),
            Wrong(_floats(lambda tensors, shares: _weighted(tensors, shares) / len(tensors)),
                  "You divided by the number of models once more. The shares already sum to 1."),
            Wrong(_counter_mixed,
                  "The weights are right, but you also mixed “num_batches_tracked”, a whole number that counts. Carry "
                  "it over from the first state dict, as in chapter 1."),
            Wrong(_counter_lost,
                  "The weights are right, but “num_batches_tracked” got lost: a network could not load this. Carry it "
                  "over from the first state dict."),
            Wrong(_floats(lambda tensors, shares: _weighted(tensors, shares[::-1])),
                  "The shares are in the wrong order: shares[0] belongs to states[0]."),
        ],
        hints=[
            "Go through the keys of states[0]; all the others have the same ones.",
            "For each key: sum(share * state[key] for share, state in zip(shares, states)).",
            "Whole-number tensors (not tensor.is_floating_point()) come from states[0].",
        ],
        praise="With two models this is chapter 1's interpolation; with k it is a point in the space between all of "
               "them."),

    Exercise(
        "3.2", "the logits ensemble",
        minutes=5,
        solution=algorithms.ensemble,
        cases=_logits,
        tolerance=1e-5,
        wrong=[
            Wrong(lambda logits: logits.softmax(2).mean(0),
                  "You averaged probabilities. That is an ensemble too, but another one: here the logits are averaged, "
                  "before any softmax."),
            Wrong(_votes,
                  "You let the models vote. A vote forgets how sure each of them was; average the logits themselves."),
            Wrong(lambda logits: logits.sum(0),
                  "The sum decides the same, but it is not the average: the source's formula has 1/k, and we will "
                  "compare features by their length too."),
            Wrong(lambda logits: logits.mean(1),
                  "You averaged over the samples. The models run along the first dimension."),
            Wrong(lambda logits: logits.max(0).values,
                  "You took the largest logit of any model. The most boastful model would then decide alone; average."),
        ],
        hints=[
            "The three dimensions are models, samples, classes.",
            "The models' dimension has to go.",
            "logits.mean(0).",
        ],
        praise="It needs k networks at every prediction. The averaged weights need one."),

    Exercise(
        "3.3", "the first layer of the average",
        minutes=5,
        solution=algorithms.first_layer_of_average,
        cases=_before,
        tolerance=1e-5,
        wrong=[
            Wrong(lambda before: F.relu(before).mean(0),
                  "That is the average of the features, the other side of Eq. 1. The network with averaged weights "
                  "averages W·x + b, and then applies its ReLU."),
            Wrong(lambda before: before.mean(0),
                  "This is W·x + b of the averaged network. Its features come after the ReLU."),
            Wrong(lambda before: F.relu(before.sum(0)),
                  "You added up; the averaged network has the mean of the weights."),
            Wrong(lambda before: F.relu(before.mean(1)),
                  "You averaged over the samples. The models run along the first dimension."),
        ],
        hints=[
            "The averaged network computes (mean of W)·x + (mean of b).",
            "That is the mean of the W·x + b.",
            "What comes last?",
        ],
        praise="1,140 networks share 20 products with the images. That is where four fifths of the arithmetic went."),

    Exercise(
        "3.4", "the baseline of Eq. 1",
        minutes=8,
        solution=algorithms.cosine_base,
        cases=_features,
        tolerance=1e-5,
        wrong=[
            Wrong(lambda average, features: algorithms.cosine_avg(average, features),
                  "That is cosine_avg: one cosine, with the mean of the features. The baseline takes a cosine with "
                  "every single model's features, and averages those numbers."),
            Wrong(lambda average, features: 1 - algorithms.cosine_base(average, features),
                  "This is 1 minus the baseline. Give the cosine itself."),
            Wrong(lambda average, features: _cosines(average, features).mean(),
                  "Right values, averaged too far: keep one number per sample, shape (samples,)."),
            Wrong(lambda average, features: _cosines(average, features).sum(0),
                  "You added the k cosines up; the baseline is their mean."),
            Wrong(_cosines,
                  "That is one cosine per model and sample, (models, samples). Average over the models."),
        ],
        hints=[
            "For one model: torch.nn.functional.cosine_similarity(average, features[i], dim=1).",
            "Do it for every model, torch.stack the results.",
            "Average over the models, dimension 0.",
        ],
        praise="If even a single model's features were as close, Eq. 1 would say nothing."),

    Exercise(
        "3.5", "where does the proof break?",
        minutes=4,
        solution="c",
        wrong=[
            Wrong("a",
                  "Two models are the definition of CTL, so the start of the induction is fine."),
            Wrong("b",
                  "The shares α_i/(1 − α_k') do sum to 1 and are not negative; the arithmetic is in order."),
            Wrong("d",
                  "“≈” hides how errors grow, which is a second weakness. But the counterexample has no errors at all: "
                  "its pairs are exact."),
        ],
        hints=[
            "In the counterexample every pair is exact. So the step must fail that uses a pair which is not a pair of "
            "the three models.",
            "What are the two models of the last step's pair? One is θ_k'+1. And the other?",
        ],
        praise="The lemma is right for a set Θ that holds all its own averages, a convex one. Three finetuned models "
               "are not such a set, and CTL of their pairs says nothing about pairs with a mix."),

    Exercise(
        "3.6", "predict k from pairs",
        minutes=8,
        solution=algorithms.predicted_from_pairs,
        cases=_halfway,
        tolerance=1e-5,
        wrong=[
            Wrong(_no_factor,
                  "Try it on two models with half each: it must give halfway[0, 1] itself. α_i·α_j is ¼ there, so a "
                  "factor 4 is missing."),
            Wrong(lambda halfway, shares: 4 * torch.einsum("i,j,ij...->...", shares, shares, halfway),
                  "You counted every pair twice, as (i, j) and as (j, i). The sum runs over i < j."),
            Wrong(_mean_of_pairs,
                  "This is the mean over the pairs, whatever the shares are. A pair counts by the product of its two "
                  "shares."),
            Wrong(_sum_of_shares,
                  "You weighted a pair by the sum of its shares. It is the product: where one share is 0 the pair must "
                  "not count."),
        ],
        hints=[
            "Go through all pairs i < j.",
            "Each contributes in proportion to shares[i] * shares[j].",
            "Half-way between two models that product is ¼, and the result must be halfway[0, 1].",
        ],
        praise="Sum the products for k equal shares: 4·(k(k − 1)/2)/k² = 2·(1 − 1/k). However many models, never more "
               "than twice."),

    Exercise(
        "3.7", "the greedy soup",
        minutes=10,
        solution=algorithms.greedy_soup,
        cases=_tables,
        wrong=[
            Wrong(lambda held_out, accuracy_of: _soup(held_out, accuracy_of, better=lambda new, best: new > best),
                  "Nearly: a model that leaves the accuracy as it is comes in too. Compare with ≥."),
            Wrong(lambda held_out, accuracy_of: _soup(held_out, accuracy_of, order=list(range(len(held_out)))),
                  "You tried the models in the order of the list. Begin with the best on held-out data, then go down."),
            Wrong(lambda held_out, accuracy_of: _soup(held_out, accuracy_of, keep=lambda best, new: best),
                  "You compare with the best single model for ever. Once the soup has become better, a newcomer must "
                  "not make it worse again."),
            Wrong(lambda held_out, accuracy_of: _from_the_best(held_out),
                  "You took all models: that is the uniform soup."),
            Wrong(lambda held_out, accuracy_of: _soup(held_out, accuracy_of)[:1],
                  "That is the best single model. Try whether the others improve it."),
        ],
        hints=[
            "sorted(range(len(held_out)), key=lambda model: -held_out[model]) gives the models from the best on.",
            "Start the soup with the first. For every other one, ask accuracy_of([*soup, model]).",
            "If it is at least the soup's accuracy so far, take the model and remember the new accuracy.",
        ],
        praise="It can never do worse on the held-out data than the best single model. On the test data it can."),
]
