"""Answers to the exercises of chapter 14, about reading sentences, keys, tangents and ranks, written by the author of
the checks.
"""
import torch
import torch.nn.functional as F

from tests.natural import Natural

# -- 14.1 longest_match ----------------------------------------------------------------------------

def cut(word, vocabulary, ends=lambda start, n: range(n, start, -1), mark="##", unknown=None):
    parts, start = [], 0
    while start < len(word):
        for end in ends(start, len(word)):
            piece = (mark if start else "") + word[start:end]
            if piece in vocabulary:
                parts.append(piece)
                start = end
                break
        else:
            if unknown is None:
                return ["[UNK]"]
            parts += unknown
            start += 1
    return parts


def recursive(word, vocabulary, mark=""):
    if not word:
        return []
    for end in range(len(word), 0, -1):
        if mark + word[:end] in vocabulary:
            rest = recursive(word[end:], vocabulary, "##")
            return rest if rest == ["[UNK]"] else [mark + word[:end], *rest]
    return ["[UNK]"]


def until_stuck(word, vocabulary):
    parts, rest = [], word
    while rest:
        end = len(rest)
        while end and ("##" if parts else "") + rest[:end] not in vocabulary:
            end -= 1
        if not end:
            break
        parts.append(("##" if parts else "") + rest[:end])
        rest = rest[end:]
    return parts


def bare(word, vocabulary):
    return [piece.removeprefix("##") for piece in cut(word, vocabulary)]


def from_behind(word, vocabulary):
    parts, end = [], len(word)
    while end > 0:
        for start in range(end):
            if ("##" if start else "") + word[start:end] in vocabulary:
                parts = [("##" if start else "") + word[start:end], *parts]
                end = start
                break
        else:
            return ["[UNK]"]
    return parts


def with_second_thoughts(word, vocabulary, mark=""):
    if not word:
        return []
    for end in range(len(word), 0, -1):
        if mark + word[:end] in vocabulary:
            rest = with_second_thoughts(word[end:], vocabulary, "##")
            if rest != ["[UNK]"]:
                return [mark + word[:end], *rest]
    return ["[UNK]"]


OF_PIECES = [
    Natural("14.1", "range from the front", lambda w, v: cut(w, v, lambda start, n: range(start + 1, n + 1)),
            "You take the shortest piece first"),
    Natural("14.1", "forgot the marks", lambda w, v: cut(w, v, mark=""), "have no ## in your answer"),
    Natural("14.1", "cleans the marks", bare, "you return them without their ##"),
    Natural("14.1", "unknown by letter", lambda w, v: cut(w, v, unknown=["[UNK]"]), "the whole word is [UNK] then"),
    Natural("14.1", "ignores what is unknown", lambda w, v: cut(w, v, unknown=[]), "You skip a letter"),
    Natural("14.1", "stops there", until_stuck, "You stop at a letter that no piece has"),
    Natural("14.1", "right to left", from_behind, "You begin at the end of the word"),
    Natural("14.1", "search with a way back", with_second_thoughts, "you give a piece back"),
    Natural("14.1", "only whole words", lambda w, v: [w] if w in v else ["[UNK]"], "You look up the whole word only"),
    Natural("14.1", "never the last letter", lambda w, v: cut(w, v, lambda start, n: range(n - 1, start, -1)),
            "The last letter is never part of a piece"),
    Natural("14.1", "a string", lambda w, v: " ".join(cut(w, v)), "they are one string"),
    Natural("14.1", "unknown letter by letter, kept", lambda w, v: [*until_stuck(w, v), "[UNK]"]
            if cut(w, v) == ["[UNK]"] else cut(w, v), "the pieces before it stay"),
    Natural("14.1", "one piece a letter", lambda w, v: [letter for letter in w if letter in v], ""),
]

# -- 14.2 mean_of_words ----------------------------------------------------------------------------


def masked_mean(h, x):
    return h.masked_fill((x == 0).unsqueeze(-1), 0).sum(1) / (x > 0).sum(1).unsqueeze(1)


def by_loop(h, x):
    rows = []
    for vectors, numbers in zip(h, x):
        length = int((numbers > 0).sum())
        rows.append(vectors[:length].mean(0))
    return torch.stack(rows)


def by_einsum(h, x):
    weights = (x > 0).double()
    return torch.einsum("spw,sp->sw", h, weights / weights.sum(1, keepdim=True))


def nan_mean(h, x):
    return h.masked_fill((x == 0)[..., None], float("nan")).nanmean(1)


def zeroed_mean(h, x):
    return (h * (x > 0).unsqueeze(-1)).mean(1)


OF_MEAN = [
    Natural("14.2", "plain mean", lambda h, x: h.mean(dim=1), "Padding is counted"),
    Natural("14.2", "zeroed, then mean", zeroed_mean, "divide by the length of the row"),
    Natural("14.2", "sum of the words", lambda h, x: (h * (x > 0)[..., None]).sum(1), "That is the sum of the words"),
    Natural("14.2", "maximum", lambda h, x: h.masked_fill((x == 0)[..., None], -1e9).amax(1), "not their mean"),
    Natural("14.2", "sum of all over words", lambda h, x: h.sum(1) / (x > 0).sum(1)[:, None], "the padding in it"),
    Natural("14.2", "mask turned round", lambda h, x: (h * (x == 0)[..., None]).sum(1) / (x == 0).sum(1)[:, None],
            "the mask is the wrong way round"),
    Natural("14.2", "first token", lambda h, x: h[:, 0, :], "the vector of the first word"),
    Natural("14.2", "over all sentences", lambda h, x: h[x > 0].mean(0), "one mean for all sentences"),
    Natural("14.2", "known words only", lambda h, x: (h * (x > 2)[..., None]).sum(1) / (x > 2).sum(1)[:, None],
            "only 0 is padding"),
    Natural("14.2", "half of the mean", lambda h, x: masked_mean(h, x) / 2, "half"),
]

# -- 14.3 masked_loss ------------------------------------------------------------------------------


def log_of_right(logits, x):
    return torch.log_softmax(logits, -1).gather(-1, x[..., None])[..., 0]


def ignoring(logits, x, hidden):
    wanted = torch.where(hidden, x, -100)
    return F.cross_entropy(logits.flatten(0, 1), wanted.flatten())


def weighted(logits, x, hidden):
    return -(log_of_right(logits, x) * hidden).sum() / hidden.sum()


def by_two_loops(logits, x, hidden):
    found = [-torch.log_softmax(logits[row, place], 0)[x[row, place]]
             for row in range(len(x)) for place in range(x.shape[1]) if hidden[row, place]]
    return sum(found) / len(found)


OF_LOSS = [
    Natural("14.3", "everything", lambda logits, x, hidden: F.cross_entropy(logits.flatten(0, 1), x.flatten()),
            "That is the loss over all positions"),
    Natural("14.3", "padding ignored alone", lambda logits, x, hidden: F.cross_entropy(
        logits.flatten(0, 1), x.flatten(), ignore_index=0), "That is the loss over all words, hidden or not"),
    Natural("14.3", "visible words", lambda logits, x, hidden: F.cross_entropy(logits[~hidden], x[~hidden]),
            "the visible positions, padding included"),
    Natural("14.3", "visible words without padding", lambda logits, x, hidden: -log_of_right(logits, x)[
        ~hidden & (x > 0)].mean(), "That is the loss over the visible words"),
    Natural("14.3", "summed", lambda logits, x, hidden: F.cross_entropy(logits[hidden], x[hidden], reduction="sum"),
            "That is the sum over the hidden words"),
    Natural("14.3", "product with the mask, then mean", lambda logits, x, hidden: -(log_of_right(logits, x)
                                                                                   * hidden).mean(),
            "divide by how many there are"),
    Natural("14.3", "no minus", lambda logits, x, hidden: log_of_right(logits, x)[hidden].mean(),
            "The sign is missing"),
    Natural("14.3", "softmax before", lambda logits, x, hidden: F.cross_entropy(logits.softmax(-1)[hidden], x[hidden]),
            "You did it twice"),
    Natural("14.3", "accuracy", lambda logits, x, hidden: (logits.argmax(-1) == x)[hidden].double().mean(),
            "the share of right guesses"),
    Natural("14.3", "logits zeroed", lambda logits, x, hidden: F.cross_entropy(
        (logits * hidden[..., None]).flatten(0, 1), x.flatten()), "You set the logits of the visible positions to 0"),
    Natural("14.3", "sentence by sentence", lambda logits, x, hidden: torch.stack(
        [F.cross_entropy(a[m], b[m]) for a, b, m in zip(logits, x, hidden) if m.any()]).mean(),
            "You averaged each sentence first"),
    Natural("14.3", "one loss each", lambda logits, x, hidden: F.cross_entropy(logits[hidden], x[hidden],
                                                                              reduction="none"),
            "Return their mean"),
]

# -- 14.5 shift ------------------------------------------------------------------------------------


def attention(q, k):
    return torch.einsum("qd,kd->qk", q, k) / q.shape[-1] ** 0.5


def by_difference(q, k, b_q, b_k):
    return attention(q + b_q, k + b_k) - attention(q + b_q, k)


def by_outer(q, k, b_q, b_k):
    return torch.outer((q + b_q) @ b_k / q.shape[1] ** 0.5, torch.ones(len(k), dtype=q.dtype))


OF_SHIFT = [
    Natural("14.5", "q alone", lambda q, k, b_q, b_k: attention(q, k + b_k) - attention(q, k),
            "The queries' bias is left out"),
    Natural("14.5", "both biases against none", lambda q, k, b_q, b_k: attention(q + b_q, k + b_k) - attention(q, k),
            "the shift by both biases"),
    Natural("14.5", "what b_q does", lambda q, k, b_q, b_k: attention(q + b_q, k + b_k) - attention(q, k + b_k),
            "what the queries' bias does"),
    Natural("14.5", "k meets its own bias", lambda q, k, b_q, b_k: (k @ b_k / k.shape[1] ** 0.5).expand(len(q), len(k)),
            "Your shift differs from key to key"),
    Natural("14.5", "no root of d", lambda q, k, b_q, b_k: (q + b_q) @ (k + b_k).T - (q + b_q) @ k.T,
            "The scores are not scaled"),
    Natural("14.5", "scores with the bias", lambda q, k, b_q, b_k: attention(q + b_q, k + b_k),
            "Subtract those without"),
    Natural("14.5", "weights", lambda q, k, b_q, b_k: attention(q + b_q, k + b_k).softmax(1)
            - attention(q + b_q, k).softmax(1), "0 but for rounding"),
    Natural("14.5", "one a query", lambda q, k, b_q, b_k: (q + b_q) @ b_k / q.shape[1] ** 0.5,
            "one number for each query"),
    Natural("14.5", "other way round", lambda q, k, b_q, b_k: -by_difference(q, k, b_q, b_k), "with the bias minus"),
    Natural("14.5", "keys are rows", lambda q, k, b_q, b_k: attention(k + b_k, q + b_q) - attention(k, q + b_q),
            "Queries are rows"),
    Natural("14.5", "keys scale", lambda q, k, b_q, b_k: by_difference(q, k, b_q, b_k) * (q.shape[1] / len(k)) ** 0.5,
            ""),
]

# -- 14.6 f_bar ------------------------------------------------------------------------------------


def by_three_terms(h_0, h, phi_0, moved):
    return phi_0 @ h_0.T + phi_0 @ (h - h_0).T + moved @ h_0.T


def by_autograd(h_0, h, phi_0, moved):
    return sum(torch.func.jvp(lambda head, phi: phi @ head.T, (h_0, phi_0), (h - h_0, moved)))


OF_TANGENT = [
    Natural("14.6", "to first order in θ alone", lambda h_0, h, phi_0, moved: (phi_0 + moved) @ h.T,
            "in place of h₀"),
    Natural("14.6", "only the head", lambda h_0, h, phi_0, moved: phi_0 @ h.T, "The features move as well"),
    Natural("14.6", "only the features", lambda h_0, h, phi_0, moved: (phi_0 + moved) @ h_0.T,
            "The head moves as well"),
    Natural("14.6", "no f₀", lambda h_0, h, phi_0, moved: phi_0 @ (h - h_0).T + moved @ h_0.T,
            "That is the move alone"),
    Natural("14.6", "f₀ twice", lambda h_0, h, phi_0, moved: phi_0 @ h_0.T + phi_0 @ h.T + moved @ h_0.T, "twice"),
    Natural("14.6", "new head for the features, old for the rest", lambda h_0, h, phi_0, moved: phi_0 @ h_0.T
            + moved @ h.T, "It is the other way round"),
    Natural("14.6", "changes times changes", lambda h_0, h, phi_0, moved: phi_0 @ h_0.T + moved @ (h - h_0).T,
            "the product of the two moves alone"),
    Natural("14.6", "mean of the heads", lambda h_0, h, phi_0, moved: phi_0 @ h.T + moved @ (h + h_0).T / 2,
            "the mean of the old and the new head"),
    Natural("14.6", "features are rows", lambda h_0, h, phi_0, moved: h @ phi_0.T + h_0 @ moved.T,
            "Sentences are rows"),
    Natural("14.6", "the start", lambda h_0, h, phi_0, moved: phi_0 @ h_0.T, "what the encoder answered at the start"),
    Natural("14.6", "moved taken for features at θ", lambda h_0, h, phi_0, moved: phi_0 @ h.T
            + (moved - phi_0) @ h_0.T, "so φ₀ is not to be subtracted"),
]

# -- 14.4 cost_of_choosing -------------------------------------------------------------------------


def by_draws(right, test, draws):
    lost = []
    for sentences in draws:
        accuracy = right[:, sentences].mean(1)
        lost.append(test.max() - test[int(accuracy.argmax())])
    return torch.stack(lost).mean()


def by_lists(right, test, draws):
    best = max(test.tolist())
    lost = [best - test[max(range(len(test)), key=lambda rank: right[rank, sentences].sum().item())].item()
            for sentences in draws]
    return sum(lost) / len(lost)


def at(right, test, draws, choose):
    return (test.max() - test[choose(right[:, draws])].mean()).item()


OF_RANK = [
    Natural("14.4", "the best on test", lambda right, test, draws: (test.max() - test[test.argmax()]).item(),
            "You chose on the test part"),
    Natural("14.4", "mean over draws first", lambda right, test, draws: at(
        right, test, draws, lambda drawn: drawn.mean(2).mean(1).argmax()), "averaged over the draws before you chose"),
    Natural("14.4", "least accuracy", lambda right, test, draws: at(
        right, test, draws, lambda drawn: drawn.mean(2).argmin(0)), "the largest is the best"),
    Natural("14.4", "held-out accuracy of the chosen", lambda right, test, draws: (
        test.max() - right[:, draws].mean(2).amax(0).mean()).item(), "It flatters"),
    Natural("14.4", "all held-out sentences", lambda right, test, draws: (
        test.max() - test[right.mean(1).argmax()]).item(), "You chose once, on all held-out sentences"),
    Natural("14.4", "not subtracted", lambda right, test, draws: test[right[:, draws].mean(2).argmax(0)].mean().item(),
            "That is the accuracy that is reached"),
    Natural("14.4", "negative", lambda right, test, draws: -by_lists(right, test, draws), "The sign is the other way"),
    Natural("14.4", "how often", lambda right, test, draws: (right[:, draws].mean(2).argmax(0)
                                                             != test.argmax()).double().mean().item(),
            "how often another rank"),
    Natural("14.4", "worst case", lambda right, test, draws: (
        test.max() - test[right[:, draws].mean(2).argmax(0)].min()).item(), "the unluckiest draw"),
    Natural("14.4", "axes of the mean", lambda right, test, draws: at(
        right, test, draws, lambda drawn: drawn.mean(1).argmax(0)), "in place of the sentences of a draw"),
    Natural("14.4", "in points", lambda right, test, draws: 100 * by_lists(right, test, draws), "in per cent"),
    Natural("14.4", "second best", lambda right, test, draws: at(
        right, test, draws, lambda drawn: drawn.mean(2).topk(2, 0).indices[1]), ""),
]

WRONG = [*OF_PIECES, *OF_MEAN, *OF_LOSS, *OF_SHIFT, *OF_TANGENT, *OF_RANK]
RIGHT = [
    Natural("14.1", "a loop with for and else", cut), Natural("14.1", "recursion", lambda w, v: recursive(w, v)),
    Natural("14.1", "a tuple", lambda w, v: tuple(cut(w, v))),
    Natural("14.2", "masked_fill", masked_mean), Natural("14.2", "a loop", by_loop),
    Natural("14.2", "einsum", by_einsum), Natural("14.2", "nanmean", nan_mean),
    Natural("14.3", "ignore_index", ignoring), Natural("14.3", "a weighted mean", weighted),
    Natural("14.3", "two loops", by_two_loops), Natural("14.3", "a number", lambda *case: weighted(*case).item()),
    Natural("14.5", "difference of scores", by_difference), Natural("14.5", "an outer product", by_outer),
    Natural("14.6", "three terms", by_three_terms), Natural("14.6", "by jvp", by_autograd),
    Natural("14.4", "a loop over draws", by_draws), Natural("14.4", "without torch", by_lists),
]
