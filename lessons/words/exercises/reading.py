"""Exercises about how a transformer reads a sentence: word pieces, the mean without padding, the loss of masked
words."""
import functools

import torch
import torch.nn.functional as F

from lessons.kit.exercise import Exercise, Wrong
from lessons.words.algorithms import masked, pieces
from toy_models import text_encoder

# -- cases -----------------------------------------------------------------------------------------


def _words():
    """Words that are pieces, words of several, words with a part that is in none, words that can be cut in two ways."""
    known = ["un", "##merge", "##able", "merge", "##s", "able", "##a", "##m", "##ble", "u", "##n", "##r"]
    several = ["to", "##gether", "toget", "##h", "##er", "##s", "together", "get", "her", "##e", "##r"]
    stuck = ["un", "unm", "##merge", "##able", "##a", "##b", "##le", "able", "##e"]
    return [("unmergeable", known), ("merges", known), ("able", known), ("unable", known), ("unzmerge", known),
            ("zun", known), ("unz", known), ("togethers", several[:6]), ("together", several),
            ("unmerges", ["un", "##merge", "##s", "##ges", "##mer"]),
            ("unable", ["un", "##able", "u", "##nabl", "##e"]), ("unmergeable", stuck), ("unmable", stuck),
            ("unable", ["un", "able"]), ("able", ["##able", "##a"])]


def _streams():
    """h, and the numbers of the words; one word has a vector of zeros, and what stands at the padding has none."""
    generator = torch.Generator().manual_seed(0)
    rows = ([[5, 9, 4], [7, 0, 0]], [[3, 8, 1, 6, 2], [4, 4, 9, 0, 0], [11, 3, 0, 0, 0]], [[6, 0, 0], [8, 3, 0]])
    cases = []
    for place, numbers in enumerate(rows):
        x = torch.tensor(numbers)
        cases.append((torch.randn(*x.shape, 2 + place, generator=generator, dtype=torch.float64), x))
    cases[1][0][0, 1] = 0.0
    return cases


def _guesses():
    """Logits of six words; sentences of several lengths, with one, several and no words hidden."""
    generator = torch.Generator().manual_seed(1)
    rows = (([[3, 5, 4, 0], [4, 3, 0, 0]], [[0, 1, 1, 0], [1, 0, 0, 0]]), ([[5, 3, 4]], [[0, 0, 1]]),
            ([[3, 4, 5], [5, 4, 0], [3, 5, 4]], [[1, 1, 0], [0, 0, 0], [0, 1, 0]]))
    return [(torch.randn(*torch.tensor(x).shape, 6, generator=generator, dtype=torch.float64), torch.tensor(x),
             torch.tensor(hidden).bool()) for x, hidden in rows]


# -- wrong answers with a family likeness ----------------------------------------------------------

def _longest_first(start, size):
    return range(size, start, -1)


def _split(ends=_longest_first, first="", inside="##", write=lambda piece, start: piece, stuck=None):
    """A word cut from its beginning on, in another order of ends, with other marks, or going on where no piece does:
    stuck(pieces) changes the list and says whether to go on."""
    def answer(word, vocabulary):
        parts, start = [], 0
        while start < len(word):
            begin = inside if start else first
            end = next((end for end in ends(start, len(word)) if begin + word[start:end] in vocabulary), None)
            if end is not None:
                parts.append(write(begin + word[start:end], start))
            elif stuck is None:
                return ["[UNK]"]
            elif not stuck(parts):
                return parts
            start = end or start + 1
        return parts
    return answer


def _unknown_and_on(parts):
    parts.append("[UNK]")
    return True


def _unknown_and_stop(parts):
    parts.append("[UNK]")
    return False


def _one_unknown_a_gap(parts):
    if parts[-1:] != ["[UNK]"]:
        parts.append("[UNK]")
    return True


def _ways(word, vocabulary, start=0):
    """All ways to cut a word, longest first pieces first."""
    if start == len(word):
        return [[]]
    begin = "##" if start else ""
    return [[begin + word[start:end], *rest] for end in range(len(word), start, -1)
            if begin + word[start:end] in vocabulary for rest in _ways(word, vocabulary, end)]


def _gives_back(word, vocabulary):
    return next(iter(_ways(word, vocabulary)), ["[UNK]"])


def _fewest(word, vocabulary):
    return min(_ways(word, vocabulary), key=len, default=["[UNK]"])


def _from_the_end(word, vocabulary):
    parts, end = [], len(word)
    while end:
        start = next((start for start in range(end) if ("##" if start else "") + word[start:end] in vocabulary), None)
        if start is None:
            return ["[UNK]"]
        parts.insert(0, ("##" if start else "") + word[start:end])
        end = start
    return parts


def _longest_anywhere(word, vocabulary, start=0, stop=None):
    """The longest piece wherever it is, and then what stands before and behind it."""
    stop = len(word) if stop is None else stop
    for size in range(stop - start, 0, -1):
        for begin in range(start, stop - size + 1):
            if (piece := ("##" if begin else "") + word[begin:begin + size]) in vocabulary:
                before = _longest_anywhere(word, vocabulary, start, begin)
                behind = _longest_anywhere(word, vocabulary, begin + size, stop)
                parts = [*before, piece, *behind]
                return ["[UNK]"] if "[UNK]" in parts else parts
    return ["[UNK]"] if start < stop else []


def _every_start(word, vocabulary):
    parts = [next(iter(piece for piece in _begun(word, start) if piece in vocabulary), None)
             for start in range(len(word))]
    return [piece for piece in parts if piece] or ["[UNK]"]


def _begun(word, start):
    return [("##" if start else "") + word[start:end] for end in range(len(word), start, -1)]


def _every_piece(word, vocabulary):
    return [piece for start in range(len(word)) for piece in _begun(word, start) if piece in vocabulary] or ["[UNK]"]


def _on_split(function):
    """What is right, changed at the end."""
    return lambda word, vocabulary: function(longest_match(word, vocabulary))


def _is_word(x):
    return (x != 0)[..., None]


def _of_words(function):
    """A wrong answer to 14.2: function(h with zeros at the padding, (sentences, 1) words)."""
    return lambda h, x: function(h * _is_word(x), (x != 0).sum(1, keepdim=True))


def _row_by_row(function):
    """A wrong answer to 14.2: function(one sentence's vectors, its words alone)."""
    return lambda h, x: torch.stack([function(row[numbers != 0]) for row, numbers in zip(h, x)])


def _losses(logits, x):
    return F.cross_entropy(logits.transpose(1, 2), x, reduction="none")


def _mean_over(places):
    """A wrong answer to 14.3: the mean over places(x, hidden)."""
    return lambda logits, x, hidden: _losses(logits, x)[places(x, hidden)].mean()


def _summed(divided_by):
    """A wrong answer to 14.3: the sum over the hidden words, divided by divided_by(x, hidden)."""
    return lambda logits, x, hidden: _losses(logits, x)[hidden].sum() / divided_by(x, hidden)


def _of_hidden(function):
    """A wrong answer to 14.3: function(logits, words) of the hidden places."""
    return lambda logits, x, hidden: function(logits[hidden], x[hidden])


def _mean_of_sentences(logits, x, hidden):
    return torch.stack([_losses(logits, x)[row, places].mean()
                        for row, places in enumerate(hidden) if places.any()]).mean()


# -- the solutions that are shown ------------------------------------------------------------------

def longest_match(word, vocabulary):
    parts, start = [], 0
    while start < len(word):
        begin = "##" if start else ""
        ends = [end for end in range(len(word), start, -1) if begin + word[start:end] in vocabulary]
        if not ends:
            return ["[UNK]"]
        parts.append(begin + word[start:ends[0]])
        start = ends[0]
    return parts


def mean_of_words(h, x):
    is_word = (x != 0)[..., None]
    return (h * is_word).sum(1) / is_word.sum(1)


def masked_loss(logits, x, hidden):
    return F.cross_entropy(logits[hidden], x[hidden])


# -- exercises -------------------------------------------------------------------------------------

PIECES = Exercise(
    "14.1", "a word in pieces", 8, pieces.longest_match,
    teaching=longest_match,
    cases=_words,
    wrong=[
        Wrong(_split(lambda start, size: range(start + 1, size + 1)),
              "You take the shortest piece first. Try the whole rest of the word first, and then one letter less each "
              "time."),
        Wrong(_split(inside=""),
              "The pieces inside a word have no ## in your answer. Behind its first piece, a word goes on with pieces "
              "that begin with ##, and these are the ones to look up."),
        Wrong(_split(write=lambda piece, start: piece.removeprefix("##")),
              "You look up the right pieces, but you return them without their ##. With it, ##able is another row of "
              "the embedding than able."),
        Wrong(_split(inside="", write=lambda piece, start: "##" + piece if start else piece),
              "You look up the pieces without ## and put it in front afterwards. The vocabulary may have able without "
              "having ##able: look up what you return."),
        Wrong(_split(first="##"),
              "Your first piece has ## too. It marks a piece that goes on with a word, so the first one has none."),
        Wrong(_split(stuck=_unknown_and_on),
              "You put [UNK] in the place of the letter that no piece has, and go on. In BERT the whole word is "
              "[UNK] then: return this alone."),
        Wrong(_split(stuck=_one_unknown_a_gap),
              "You put one [UNK] for the letters that no piece has, and go on. In BERT the whole word is [UNK] then: "
              "return this alone."),
        Wrong(_split(stuck=_unknown_and_stop),
              "Your [UNK] stands for the rest of the word, and the pieces before it stay. In BERT the whole word is "
              "[UNK] then: return this alone."),
        Wrong(_split(stuck=lambda parts: True),
              "You skip a letter that no piece has. Then two different words can get the same pieces. The whole word "
              "is [UNK] instead."),
        Wrong(_split(stuck=lambda parts: False),
              "You stop at a letter that no piece has, and return the pieces before it. The whole word is [UNK] "
              "instead."),
        Wrong(lambda word, vocabulary: [] if longest_match(word, vocabulary) == ["[UNK]"]
              else longest_match(word, vocabulary),
              "Where no piece goes on, you return an empty list. Then the sentence loses a word: return a list with "
              "[UNK]."),
        Wrong(lambda word, vocabulary: "[UNK]" if longest_match(word, vocabulary) == ["[UNK]"]
              else longest_match(word, vocabulary),
              "Right pieces, but an unknown word should be a list as well: [\"[UNK]\"]."),
        Wrong(_split(lambda start, size: range(size - (start == 0), start, -1)),
              "You never look up the whole word. Start with the whole word: it may be a piece itself."),
        Wrong(_split(lambda start, size: range(size - 1, start, -1)),
              "The last letter is never part of a piece: word[start:end] leaves out the letter at end, so end begins "
              "at len(word)."),
        Wrong(_from_the_end,
              "You begin at the end of the word. BERT begins at the front, and the pieces can be others."),
        Wrong(_longest_anywhere,
              "You take the longest piece anywhere in the word first. BERT takes the longest that begins where the "
              "last piece ended."),
        Wrong(_gives_back,
              "Where no piece goes on, you give a piece back and try a shorter one. BERT does not go back: the word is "
              "[UNK] then, even if there is another way to cut it."),
        Wrong(_fewest,
              "You look for the fewest pieces. BERT looks at one place at a time, and its longest piece there can "
              "lead to more pieces in the end."),
        Wrong(lambda word, vocabulary: [word] if word in vocabulary else ["[UNK]"],
              "You look up the whole word only. A word that is no piece itself is cut into several."),
        Wrong(lambda word, vocabulary: longest_match(word, vocabulary)[:1],
              "That is the first piece only. Go on where it ends, until the word is used up."),
        Wrong(lambda word, vocabulary: [word[0], *("##" + letter for letter in word[1:])],
              "You cut the word into letters without a look at the vocabulary."),
        Wrong(_every_start,
              "Your pieces overlap, because you look for one at every letter. The next piece begins where the last one "
              "ended."),
        Wrong(_every_piece,
              "You list all pieces that are in the word, so they overlap. Take one at a time, and begin the next where "
              "it ended."),
        Wrong(_on_split(" ".join), "The pieces are right, but they are one string. Return a list of them."),
        Wrong(_on_split(lambda parts: parts[::-1]), "Your pieces stand from the last to the first: turn the list."),
    ],
    hints=["Keep the place where the next piece begins, and move it to where the piece ended.",
           "From there, try the whole rest of the word first, then one letter less each time. Behind the first piece, "
           "look up \"##\" + word[start:end].",
           "If none of them is in the vocabulary, return [\"[UNK]\"] at once, whatever was found before."],
    praise="So a rare word need not be unknown: it becomes several pieces, each with a vector of its own.")

MEAN = Exercise(
    "14.2", "the mean of a sentence", 5, text_encoder.mean_of_words,
    teaching=mean_of_words,
    cases=_streams,
    wrong=[
        Wrong(lambda h, x: (h * (x != 0)).sum(1),
              "h has one axis more than x, so the mask x != 0 needs a last axis of length 1: (x != 0)[..., None]."),
        Wrong(lambda h, x: (h * _is_word(x)).sum(1) / (x != 0).sum(1),
              "The sums are right, (sentences, width). The numbers of words are (sentences,), so they need a last "
              "axis: (x != 0).sum(1, keepdim=True)."),
        Wrong(lambda h, x: h.mean(1),
              "Padding is counted. A short sentence then depends on how long the longest one in its batch is. Leave "
              "the positions out where x is 0."),
        Wrong(_of_words(lambda h, count: h.mean(1)),
              "You set the padding to 0 but divide by the length of the row, which makes the vectors of short "
              "sentences too short. Divide by the number of words."),
        Wrong(_of_words(lambda h, count: h.sum(1)),
              "That is the sum of the words' vectors, which grows with the sentence. Divide by the number of words."),
        Wrong(lambda h, x: h.sum(1) / (x != 0).sum(1, keepdim=True),
              "You divide by the number of words, but the sum still has the padding in it."),
        Wrong(lambda h, x: h.sum(1), "That is the sum over the whole row, padding included. Take the words' mean."),
        Wrong(_row_by_row(lambda words: words.max(0).values),
              "That is the largest value of each number over the words, not their mean."),
        Wrong(lambda h, x: h.max(1).values,
              "That is the largest value of each number, and padding counts in it. Take the mean of the words."),
        Wrong(lambda h, x: h.masked_fill(_is_word(x).logical_not(), 0).max(1).values,
              "That is the largest value of each number, with 0 at the padding. Take the mean of the words."),
        Wrong(lambda h, x: h[:, 0], "That is the vector of the first word. Take the mean over all words."),
        Wrong(_row_by_row(lambda words: words[-1]), "That is the vector of the last word. Take the mean over all."),
        Wrong(lambda h, x: h.mean(2),
              "You averaged over the width, the last axis. The mean runs over the positions, axis 1."),
        Wrong(lambda h, x: h.mean(0), "You averaged over the sentences. The mean runs over the positions, axis 1."),
        Wrong(lambda h, x: (h * _is_word(x)).sum((0, 1)) / (x != 0).sum(),
              "That is one mean for all sentences. Each sentence has its own: sum over axis 1 alone."),
        Wrong(_of_words(lambda h, count: h.sum(1) / count.sum()),
              "You divide by the words of all sentences together. Each sentence is divided by its own number: "
              "sum(1, keepdim=True)."),
        Wrong(_of_words(lambda h, count: h.sum(1) / count.max()),
              "You divide every sentence by the words of the longest one. Divide each by its own number."),
        Wrong(_of_words(lambda h, count: h.sum(1) / count.sqrt()),
              "You divide by the root of the number of words. A mean is divided by the number itself."),
        Wrong(_of_words(lambda h, count: h.sum(1, keepdim=True) / count[..., None]),
              "Right numbers, but the axis of the positions is still there. Return (sentences, width)."),
        Wrong(lambda h, x: (h * x[..., None]).sum(1) / x.sum(1, keepdim=True),
              "You weight each vector with the id of its word. Ids are only names: a word counts once, "
              "whatever its id is."),
        Wrong(lambda h, x: (h * x[..., None]).sum(1) / (x != 0).sum(1, keepdim=True),
              "You multiply each vector by the id of its word. Ids are only names: make a mask of them, "
              "x != 0."),
        Wrong(lambda h, x: (h * (x == 0)[..., None]).sum(1) / (x == 0).sum(1, keepdim=True),
              "You averaged over the padding: the mask is the wrong way round."),
        Wrong(lambda h, x: (h * (x > 1)[..., None]).sum(1) / (x > 1).sum(1, keepdim=True),
              "You left out the words with the id 1, the unknown ones. They are words too: only 0 is padding."),
        Wrong(lambda h, x: (h * (x > 2)[..., None]).sum(1) / (x > 2).sum(1, keepdim=True),
              "You left out unknown and masked words, the ids 1 and 2. The encoder reads them too: only 0 is "
              "padding."),
        Wrong(_of_words(lambda h, count: h.sum(1) / (h != 0).sum(1)),
              "You count the numbers that are not 0. A word may have a 0 in its vector: count the words in x."),
        Wrong(_of_words(lambda h, count: h.sum(1) / (count - 1).clamp(min=1)),
              "You divide by one less than the number of words, as a variance would. A mean needs all of them."),
        Wrong(_of_words(lambda h, count: F.normalize(h.sum(1))),
              "You brought the vectors to length 1. The direction is right; a mean has a length of its own."),
        Wrong(_row_by_row(lambda words: words.median(0).values),
              "That is the median of the words, not their mean."),
    ],
    hints=["x != 0 is True where a word is.",
           "Set h to 0 at the padding: multiply by the mask as (sentences, positions, 1). Then add up over axis 1.",
           "Divide by the number of words of each sentence, (sentences, 1)."],
    praise="Now a sentence has the same vector whatever else is in its batch.")

MASKED = Exercise(
    "14.3", "the loss of hidden words", 6, masked.masked_loss,
    teaching=masked_loss,
    cases=_guesses,
    wrong=[
        Wrong(lambda logits, x, hidden: F.cross_entropy(logits, x),
              "cross_entropy expects the words of the vocabulary on the second axis, and here they are on the last. "
              "Pick the hidden positions first: logits[hidden], x[hidden]."),
        Wrong(lambda logits, x, hidden: F.cross_entropy(logits[hidden], x),
              "You picked the hidden positions of logits, but not those of x: x[hidden]."),
        Wrong(lambda logits, x, hidden: F.cross_entropy(x[hidden], logits[hidden]),
              "The two arguments of cross_entropy have changed places: first the logits, then the words."),
        Wrong(_mean_over(lambda x, hidden: torch.ones_like(hidden)),
              "That is the loss over all positions. Where a word is visible the network can copy it, and padding is no "
              "word. Only hidden positions count."),
        Wrong(_mean_over(lambda x, hidden: x != 0),
              "That is the loss over all words, hidden or not. Where a word is visible the network can copy it, so "
              "there is nothing to guess. Only hidden positions count."),
        Wrong(_mean_over(lambda x, hidden: ~hidden & (x != 0)),
              "That is the loss over the visible words: the mask is the wrong way round."),
        Wrong(_mean_over(lambda x, hidden: ~hidden),
              "That is the loss over the visible positions, padding included: the mask is the wrong way round."),
        Wrong(_mean_over(lambda x, hidden: hidden | (x == 0)),
              "Padding is counted. It was never hidden, and it is no word that could be guessed."),
        Wrong(_summed(lambda x, hidden: 1),
              "That is the sum over the hidden words. It grows with how many are hidden: take the mean."),
        Wrong(_summed(lambda x, hidden: x.numel()),
              "You add up the right positions, but divide by how many there are. Divide by how many are hidden."),
        Wrong(_summed(lambda x, hidden: (x != 0).sum()),
              "You add up the right positions, but divide by the number of all words. Divide by how many are hidden."),
        Wrong(_summed(lambda x, hidden: len(x)),
              "You divide by the number of sentences. Divide by the number of hidden words."),
        Wrong(_mean_of_sentences,
              "You averaged each sentence first. Then a hidden word counts less if more words of its sentence are "
              "hidden. Every hidden word counts alike."),
        Wrong(lambda logits, x, hidden: F.cross_entropy((logits * hidden[..., None]).flatten(0, 1), x.flatten()),
              "You set the logits of the visible positions to 0, but these still count: with equal logits each "
              "has the loss log(words). Take only the hidden ones, logits[hidden]."),
        Wrong(lambda logits, x, hidden: F.cross_entropy(logits.flatten(0, 1), (x * hidden).flatten()),
              "At the visible positions you ask for word 0, and they still count. Take only the hidden ones: "
              "logits[hidden], x[hidden]."),
        Wrong(_of_hidden(lambda logits, x: -logits.gather(1, x[:, None]).mean()),
              "That is the mean logit with its sign turned. Before you read off a word's logit, make them "
              "log-probabilities: log_softmax over the words."),
        Wrong(_of_hidden(lambda logits, x: logits.log_softmax(1).gather(1, x[:, None]).mean()),
              "The sign is missing: the loss is minus the logarithm of the probability."),
        Wrong(_of_hidden(lambda logits, x: -logits.log_softmax(0).gather(1, x[:, None]).mean()),
              "Your softmax runs over the positions. The probabilities of all words at a position sum to 1: the last "
              "axis."),
        Wrong(_of_hidden(lambda logits, x: -logits.softmax(1).gather(1, x[:, None]).mean().log()),
              "You average the probabilities and then take the logarithm. Take the logarithm of each, then the mean."),
        Wrong(_of_hidden(lambda logits, x: -logits.softmax(1).gather(1, x[:, None]).mean()),
              "That is the mean probability with its sign turned. Take the logarithm of each probability."),
        Wrong(_of_hidden(lambda logits, x: 1 - logits.softmax(1).gather(1, x[:, None]).mean()),
              "That is 1 minus the mean probability. Cross-entropy takes minus the logarithm of each."),
        Wrong(_of_hidden(lambda logits, x: F.cross_entropy(logits.softmax(1), x)),
              "F.cross_entropy takes logits and does the softmax itself. You did it twice."),
        Wrong(_of_hidden(lambda logits, x: F.cross_entropy(logits, x) / torch.tensor(2.0).log()),
              "Your loss is in bits. Here it is in nats, with the natural logarithm."),
        Wrong(_of_hidden(lambda logits, x: F.cross_entropy(logits, x).exp()),
              "That is the perplexity, the exponential of the loss."),
        Wrong(_of_hidden(lambda logits, x: (logits.argmax(1) != x).double().mean()),
              "That is the share of wrong guesses, which has no gradient. Take the cross-entropy."),
        Wrong(_of_hidden(lambda logits, x: (logits.argmax(1) == x).double().mean()),
              "That is the share of right guesses, which has no gradient. Take the cross-entropy."),
        Wrong(_of_hidden(functools.partial(F.cross_entropy, reduction="none")),
              "These are the losses of the hidden words, one each, and they are right. Return their mean."),
        Wrong(lambda logits, x, hidden: _losses(logits, x) * hidden,
              "You return a loss for every position, with 0 where words are visible. Return one number, the mean over "
              "the hidden words."),
        Wrong(_of_hidden(lambda logits, x: _losses(logits[None], x[None]).median()),
              "That is the median over the hidden words. Take their mean."),
    ],
    hints=["hidden picks positions: logits[hidden] is (hidden words, words of the vocabulary).",
           "x[hidden] holds the words that should be guessed there.",
           "torch.nn.functional.cross_entropy(logits[hidden], x[hidden]) takes the mean."],
    praise="In pretraining 15 % of the known words are hidden, others each time that a sentence is read, and these "
           "alone are guessed.")

EXERCISES = [PIECES, MEAN, MASKED]
