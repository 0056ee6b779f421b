"""Exercises about what training and choosing do: why keys need no bias, what a tangent sees of a new head, what it
costs to choose a rank on few sentences."""
import torch

from lessons.kit.exercise import Exercise, Wrong
from lessons.words.algorithms import choosing, keys, probing

# -- cases -----------------------------------------------------------------------------------------


def _drawn(seed, *shapes):
    generator = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes)


def _queries():
    """Other numbers of queries than of keys, so that the two axes cannot be mistaken for each other."""
    return [_drawn(queries, (queries, d), (count, d), (d,), (d,)) for queries, count, d in ((2, 3, 4), (5, 4, 3),
                                                                                            (3, 3, 2))]


def _heads():
    """The last head begins at 0, so that the tangent does not see how its features move."""
    cases = [_drawn(classes, (classes, width), (classes, width), (count, width), (count, width))
             for classes, width, count in ((2, 3, 4), (3, 2, 5), (4, 4, 4))]
    _, *others = cases[0]
    return [*cases, (torch.zeros_like(others[0]), *others)]


def _draws():
    """(ranks, sentences) of 0 and 1, accuracies on the test part, and draws; on the last case, two ranks tie."""
    cases = []
    for seed, ranks, sentences, draws, count in _WITHOUT_TIES:
        generator = torch.Generator().manual_seed(seed)
        right = (torch.rand(ranks, sentences, generator=generator) < 0.6).double()
        test = torch.rand(ranks, generator=generator, dtype=torch.float64)
        cases.append((right, test, torch.randint(sentences, (draws, count), generator=generator)))
    return [*cases, _TIED]


# seed, ranks, sentences, draws, sentences of a draw; on the last, no draw chooses the best rank
_WITHOUT_TIES = ((374, 3, 9, 4, 7), (18, 4, 14, 6, 12), (93, 5, 20, 7, 18), (29593, 4, 15, 5, 8))
# the first draw is one sentence twice, on which the first two ranks are right
_TIED = (torch.tensor([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 1, 0]]).double(), torch.tensor([0.5, 0.8, 0.7]).double(),
         torch.tensor([[0, 0], [1, 2], [0, 1]]))


# -- wrong answers with a family likeness ----------------------------------------------------------

def _scores(q, k, b_q=0.0, b_k=0.0):
    return (q + b_q) @ (k + b_k).T / q.shape[1] ** 0.5


def _of_queries(number):
    """A wrong answer to 14.5 that has one number(q, b_q, b_k, d) for each query."""
    return lambda q, k, b_q, b_k: number(q, b_q, b_k, q.shape[1])[:, None].repeat(1, len(k))


def _predicted(function):
    """A wrong answer to 14.6: function(f₀, Δh·φ₀, h₀·Dφ, Δh·Dφ)."""
    def answer(h_0, h, phi_0, moved):
        return function(phi_0 @ h_0.T, phi_0 @ (h - h_0).T, moved @ h_0.T, moved @ (h - h_0).T)
    return answer


def _chosen(right, draws):
    return right[:, draws].mean(2).argmax(0)


def _of_chosen(function):
    """A wrong answer to 14.4: function(test, the place of the rank that each draw chose)."""
    return lambda right, test, draws: function(test, _chosen(right, draws)).item()


def _lost(choice):
    """A wrong answer to 14.4: what is lost with the ranks at choice(right, test, draws)."""
    return lambda right, test, draws: (test.max() - test[choice(right, test, draws)].mean()).item()


# -- the solutions that are shown ------------------------------------------------------------------

def shift(q, k, b_q, b_k):
    q = q + b_q
    return (q @ (k + b_k).T - q @ k.T) / q.shape[1] ** 0.5


def f_bar(h_0, h, phi_0, moved):
    return phi_0 @ h.T + moved @ h_0.T


def cost_of_choosing(right, test, draws):
    accuracy = right[:, draws].mean(2)
    best_of_draw = accuracy.argmax(0)
    return (test.max() - test[best_of_draw].mean()).item()


# -- exercises -------------------------------------------------------------------------------------

KEYS = Exercise(
    "14.5", "a bias for keys", 7, keys.shift,
    teaching=shift,
    cases=_queries,
    wrong=[
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, 0, b_k) - _scores(q, k),
              "The queries' bias is left out. A key's bias meets the whole query, q + b_q."),
        Wrong(lambda q, k, b_q, b_k: (k @ b_k / q.shape[1] ** 0.5)[None].repeat(len(q), 1),
              "Your shift differs from key to key. b_k is part of every key, and meets the query: the shift is the "
              "same along a row, and differs from query to query."),
        Wrong(lambda q, k, b_q, b_k: ((k + b_k) @ b_q / q.shape[1] ** 0.5)[None].repeat(len(q), 1),
              "That is what the queries' bias does. Its shift differs from key to key, so this bias does change the "
              "weights. The question is what b_k does."),
        Wrong(lambda q, k, b_q, b_k: (k @ b_q / q.shape[1] ** 0.5)[None].repeat(len(q), 1),
              "That is what the queries' bias does, without b_k. The question is what the keys' bias does."),
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, b_q, b_k) - _scores(q, k),
              "That is the shift by both biases. Keep b_q in both scores, so that only b_k makes the difference."),
        Wrong(_of_queries(lambda q, b_q, b_k, d: (q + b_q) @ b_k),
              "The scores are not scaled: divide by √d, where d is how many numbers a query has."),
        Wrong(_of_queries(lambda q, b_q, b_k, d: (q + b_q) @ b_k / d),
              "Divide by the root √d, not by d."),
        Wrong(_of_queries(lambda q, b_q, b_k, d: (q + b_q) @ b_k / len(q) ** 0.5),
              "√d is the root of how many numbers a query has, q.shape[1], not of how many queries there are."),
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, b_q, b_k),
              "Those are the scores with the bias. Subtract those without b_k."),
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, b_q), "Those are the scores without b_k. Return what b_k adds."),
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, b_q) - _scores(q, k, b_q, b_k),
              "The sign is the other way round: with the bias minus without it."),
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, b_q, b_k).softmax(1) - _scores(q, k, b_q).softmax(1),
              "That is 0 but for rounding, since the weights do not change. The scores do: return by how much, before "
              "the softmax."),
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, b_q, b_k).softmax(1),
              "Those are the weights. Return how the scores change, before the softmax."),
        Wrong(lambda q, k, b_q, b_k: keys.shift(q, k, b_q, b_k)[:, 0],
              "Right, one number for each query. Every key gets it: return (queries, keys)."),
        Wrong(lambda q, k, b_q, b_k: keys.shift(q, k, b_q, b_k)[:, :1],
              "Right, one number for each query. Every key gets it: repeat it along the row, to (queries, keys)."),
        Wrong(lambda q, k, b_q, b_k: keys.shift(q, k, b_q, b_k).T,
              "Queries are rows and keys are columns: you have exchanged them."),
        Wrong(_of_queries(lambda q, b_q, b_k, d: (b_q @ b_k / d ** 0.5).expand(len(q))),
              "That is what the two biases do together. b_k meets the query itself as well: q + b_q."),
        Wrong(lambda q, k, b_q, b_k: _scores(q, k, b_k, b_q) - _scores(q, k, 0.0, b_q),
              "You have exchanged the two biases: b_q belongs to the queries, b_k to the keys."),
        Wrong(lambda q, k, b_q, b_k: (q + b_q) * b_k / q.shape[1] ** 0.5,
              "A score is a sum of products. Yours are not added up yet: use @ in place of *."),
    ],
    hints=["Write the scores twice, with k + b_k and with k, and subtract. Both have q + b_q.",
           "What is left is (q + b_q)·b_k/√d, in which there is no k.",
           "So each row holds the same number everywhere: ((q + b_q) @ b_k / d ** 0.5)[:, None].repeat(1, len(k))"],
    praise="Every row is shifted by one number, and the softmax of a row does not see it. So the keys' bias changes "
           "nothing, and its gradient is 0, whatever the network is trained on.")

TANGENT = Exercise(
    "14.6", "what the tangent sees of a new head", 7, probing.linearised,
    teaching=f_bar,
    cases=_heads,
    wrong=[
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + head + features + both),
              "That has h in place of h₀ in front of the features' move. The product Δh·Dφ is in it, of two moves, and "
              "a tangent has no such product."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + head),
              "The features move as well. Add what h₀ makes of their move."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + features),
              "The head moves as well. Add what its move makes of φ₀."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0),
              "That is what the encoder answered at the start. Add the two moves to first order."),
        Wrong(_predicted(lambda f_0, head, features, both: head + features),
              "That is the move alone. The tangent begins at f₀ = h₀·φ₀. And moved is a change already, so φ₀ is not "
              "to be subtracted."),
        Wrong(_predicted(lambda f_0, head, features, both: head + features + both),
              "The tangent begins at f₀, and it has no product of two moves. Yours is a move, with Δh·Dφ in it."),
        Wrong(_predicted(lambda f_0, head, features, both: 2 * f_0 + head + features),
              "f₀ is in it twice: h·φ₀ is f₀ + Δh·φ₀ already."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + head + both),
              "The features' move meets Δh in your answer. That product of two moves is of second order: a tangent has "
              "h₀·Dφ."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + features + both),
              "You have the features' move with the new head, and φ₀ with the old one. It is the other way round."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + both),
              "You added the product of the two moves alone, which is of second order. A tangent has each move with "
              "the start of the other."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + head + features + both / 2),
              "You took the mean of the old and the new head for the features' move. The tangent takes all derivatives "
              "at the start: h₀."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 + head - features),
              "The features' move has the wrong sign: moved is Dφ[θ − θ₀], so add it."),
        Wrong(_predicted(lambda f_0, head, features, both: f_0 - head + features),
              "The head's move has the wrong sign: it is h − h₀."),
        Wrong(lambda h_0, h, phi_0, moved: moved @ h_0.T,
              "That is what the features' move adds. f₀ and what the head's move adds are missing."),
        Wrong(lambda h_0, h, phi_0, moved: f_bar(h_0, h, phi_0, moved).T,
              "Sentences are rows and classes are columns: you have exchanged them."),
        Wrong(lambda h_0, h, phi_0, moved: f_bar(h_0, h, phi_0, moved).softmax(1),
              "You took the softmax. The tangent is one of the answers themselves, f = h·φ."),
        Wrong(lambda h_0, h, phi_0, moved: phi_0 @ h_0.T + phi_0 @ h.T + moved @ h_0.T + moved @ h.T,
              "You added all four products. Write f₀ first, and then what each move adds to first order."),
        Wrong(lambda h_0, h, phi_0, moved: phi_0 @ h.T + moved,
              "The features' move is no answer yet: the head h₀ makes one of it."),
    ],
    hints=["f is a product, so its derivative has two terms: one factor moves, and the other stays at its start.",
           "f̄ = h₀φ₀ + (h − h₀)φ₀ + h₀·Dφ[θ − θ₀], and the first two are hφ₀.",
           "With rows for sentences: phi_0 @ h.T + moved @ h_0.T"],
    praise="The tangent sees the features move through the head of the start. If h₀ is 0, it does not see them at all, "
           "whatever finetuning does to them. A head that was fitted first sees them.")

RANK = Exercise(
    "14.4", "a rank from few sentences", 8, choosing.cost_of_choosing,
    teaching=cost_of_choosing,
    cases=_draws,
    wrong=[
        Wrong(lambda right, test, draws: right[draws],
              "draws holds columns of right, and right[draws] looks for rows. Write right[:, draws]."),
        Wrong(_lost(lambda right, test, draws: right[:, draws].mean(2).argmax()),
              "argmax without an axis is one place in the whole table. Write .argmax(0), the best rank of each draw."),
        Wrong(_lost(lambda right, test, draws: right[:, draws].argmax(0)),
              "You looked for a rank at every sentence. First take the mean over the sentences of a draw, .mean(2)."),
        Wrong(_lost(lambda right, test, draws: right[:, draws].mean().argmax(0)),
              "You took one mean of everything, so there is nothing left to choose. Take the mean over the sentences "
              "of a draw, .mean(2)."),
        Wrong(lambda right, test, draws: test.max() - test[_chosen(right, draws)],
              "That is what each draw loses, and it is right. Return the mean over the draws."),
        Wrong(_lost(lambda right, test, draws: test.argmax()),
              "You chose on the test part, and so nothing is ever lost. The draws choose, and the test part only says "
              "what the choice was worth."),
        Wrong(_lost(lambda right, test, draws: right[:, draws].mean((1, 2)).argmax()),
              "You averaged over the draws before you chose, which is one choice from all sentences together. Each "
              "draw chooses by itself. Then take the mean."),
        Wrong(_lost(lambda right, test, draws: right.mean(1).argmax()),
              "You chose once, on all held-out sentences. Each draw chooses on its own sentences, right[:, draws]."),
        Wrong(_lost(lambda right, test, draws: len(right) - 1 - right[:, draws].mean(2).flip(0).argmax(0)),
              "If two ranks are equally good on a draw, take the first of them. You took the last."),
        Wrong(_lost(lambda right, test, draws: right[:, draws].mean(2).argmin(0)),
              "You chose the smallest accuracy of each draw: the largest is the best."),
        Wrong(_of_chosen(lambda test, chosen: test[chosen].mean() - test.min()),
              "You compare with the worst rank. Compare with the best one on the test part."),
        Wrong(lambda right, test, draws: (test.max() - right[:, draws].mean(2).max(0).values.mean()).item(),
              "You took the accuracy on the held-out sentences that made the choice. It flatters: look up what the "
              "chosen rank has on the test part."),
        Wrong(lambda right, test, draws: (right[:, draws].mean(2).max(0).values.mean()
                                          - test[_chosen(right, draws)].mean()).item(),
              "That is how much the held-out accuracy of the chosen rank flatters. Return how much the choice loses on "
              "the test part, compared with the best rank there."),
        Wrong(_of_chosen(lambda test, chosen: test[chosen].mean()),
              "That is the accuracy that is reached. Subtract it from the best on the test part."),
        Wrong(_of_chosen(lambda test, chosen: test[chosen].mean() - test.max()),
              "The sign is the other way round: how much lower the chosen is than the best."),
        Wrong(lambda right, test, draws: (test[right.mean(1).argmax()] - test[_chosen(right, draws)].mean()).item(),
              "You compare with the rank that all held-out sentences choose. Compare with the best on the test part."),
        Wrong(_of_chosen(lambda test, chosen: test.max() - test[chosen].min()),
              "That is what the unluckiest draw loses. Take the mean over the draws."),
        Wrong(_of_chosen(lambda test, chosen: test.max() - test[chosen].max()),
              "That is what the luckiest draw loses. Take the mean over the draws."),
        Wrong(_of_chosen(lambda test, chosen: test.max() - test[chosen].median()),
              "That is the median over the draws. Take the mean: rare bad choices count too."),
        Wrong(_of_chosen(lambda test, chosen: test.max() - test[chosen[0]]),
              "You used the first draw alone. Take the mean over all of them."),
        Wrong(_of_chosen(lambda test, chosen: test.max() - test[chosen[-1]]),
              "That is what the last draw loses. Take the mean over all of them."),
        Wrong(_lost(lambda right, test, draws: right[:, draws].mean(1).argmax(0)),
              "You averaged over the draws in place of the sentences of a draw: right[:, draws] is (ranks, draws, "
              "sentences)."),
        Wrong(_lost(lambda right, test, draws: right[:, draws].mean(2).argmax(1)),
              "You looked for the best draw of each rank. Look for the best rank of each draw: the first axis."),
        Wrong(_of_chosen(lambda test, chosen: (chosen != test.argmax()).double().mean()),
              "That is how often another rank than the best is chosen. Return how much accuracy that costs."),
        Wrong(_of_chosen(lambda test, chosen: (chosen == test.argmax()).double().mean()),
              "That is how often the best rank is chosen. Return how much accuracy the other choices cost."),
        Wrong(_of_chosen(lambda test, chosen: test.max() - test[chosen.double().mean().round().long()]),
              "You averaged the ranks that were chosen. Average the accuracies that they have on the test part."),
        Wrong(_of_chosen(lambda test, chosen: test.max() - test[chosen.mode().values]),
              "You took the rank that is chosen most often. Take the mean over all draws, since each may be yours."),
        Wrong(_of_chosen(lambda test, chosen: (test.max() - test[chosen]).sum()),
              "That is the sum over the draws. Take the mean."),
        Wrong(lambda right, test, draws: (test.max() - test.mean()).item(),
              "That is what you lose if you choose blindly. Let each draw choose."),
        Wrong(_of_chosen(lambda test, chosen: test[chosen].std()),
              "That is the standard deviation over the draws. Return the mean of what is lost."),
    ],
    hints=["right[:, draws] is (ranks, draws, sentences in a draw). Its mean over the last axis is the accuracy of "
           "every rank on every draw.",
           ".argmax(0) says which rank is best on each draw. Look up their accuracies in test.",
           "test.max() - test[best_of_draw].mean()"],
    praise="The best rank on the test part was itself chosen there, so the true cost is a little smaller. What counts "
           "is how it falls with the number of sentences.")

EXERCISES = [RANK, KEYS, TANGENT]
