"""The tasks of `data.sentences` asked in words: a prompt and a sentence, and the answer in words; and sentences with
gaps, whose words are to be written back, to pretrain on (Raffel et al. 2020).

Words have the numbers of `data.sentences`. Behind them come the sign that ends every answer and those of the gaps.
"""
import itertools
import random
from collections.abc import Sequence

import torch
from torch import Tensor

from data import sentences
from data.sentences import MOST_WORDS, PADDING, TASKS, UNKNOWN
from data.types import Dataset, Source, checked_whole, digest

END, *GAPS = range(MOST_WORDS, MOST_WORDS + 3)  # numbers that are no words
NUMBERS = MOST_WORDS + 3  # of words and signs
PROMPTS = {"film": "film :", "subjective": "tone :", "pro/con": "side :", "question": "asks :",
           "customer": "customer :", "decade": "decade :", "product": "product :", "compares": "compare :"}
ANSWERS = {"film": ("a bad film", "a good film"), "subjective": ("the plot", "an opinion"),
           "pro/con": ("against it", "for it"),
           "question": ("a short form", "a description", "a thing", "a person", "a place", "a number"),
           "customer": ("a bad product", "a good product"),
           "decade": ("the 50s", "the 60s", "the 70s", "the 80s", "the 90s", "the 2000s"),
           "product": ("the apex player", "the canon g3", "the canon sd500", "the canon s100", "the creative zen",
                       "the diaper champ", "the hitachi router", "the ipod", "the linksys router", "the micro player",
                       "the nikon 4300", "the nokia 6600", "the nokia 6610", "the norton software"),
           "compares": ("it does not", "it does")}  # in the order of `sentences.CLASSES`
PROMPT = 2  # words of a prompt
LONGEST = 5  # words of a task's answer at most, with its end
WRITTEN = 7  # words of any answer at most: both gaps' signs and words, and the end
GAP = 2  # words that a gap hides
LABELLED = 150  # sentences of each task in pretraining


def source(task: str | None = None, size: int | None = None, length: int = 32, labelled: int = LABELLED) -> Source:
    """Where the sentences come from, as `sentences.source` says it; what is asked is part of the digest."""
    labelled = checked_whole("labelled", labelled, 0)
    origin = sentences.source(task, size, length=length)
    if task:
        text = f"{origin.text}, asked in words"
        code = digest(origin.digest, "asked", PROMPTS[task], ANSWERS[task], END, GAP)
    else:
        text = f"{origin.text}, with gaps" + (f", and {labelled} labelled ones a task" if labelled else "")
        code = digest(origin.digest, "asked", labelled, *PROMPTS.values(), *ANSWERS.values(), END, GAP)
    return Source(origin.kind, text, code, origin.reason)


def load(split: str, task: str | None = None, size: int | None = None, length: int = 32,
         labelled: int = LABELLED) -> Dataset:
    """Texts x (samples, `PROMPT` + length), numbers of words as floating-point numbers, and answers y (samples,
    `WRITTEN`), numbers of words with `END` behind them; `PADDING` behind the last of both.

    Args:
        split: "train" or "test", of the sentences as `sentences.load` has them.
        task: one of `TASKS`; None for sentences with gaps.
        size: the first so many training sentences, or all where there are fewer; None for all.
        length: words of a sentence that are read; the rest of it is cut off.
        labelled: without a task, this many training sentences of each task are asked too: they are repeated until
            there are as many as of the sentences with gaps. They are not in the test part. 0 for none.

    Raises:
        ValueError: an option that makes no sense, or a corpus that cannot be read.
    """
    origin = source(task, size, length, labelled)
    if task:
        rows = sentences.texts(split, task, size)
        x, y = asked([text for text, _ in rows], task, length), answers(task)[_places(task, rows)]
    else:
        x, y = _with_gaps([text for text, _ in sentences.texts(split, size=size)], length)
        if labelled and split == "train":
            x, y = _with_labelled(x, y, labelled, length)
    return Dataset(x.float(), y, origin)


def asked(texts: Sequence[str], task: str, length: int = 32) -> Tensor:
    """(sentences, `PROMPT` + length): a task's prompt before each sentence, as numbers of words.

    Raises:
        ValueError: no such task, or one of the sentences is no text.
    """
    prompt = _numbers(PROMPTS[sentences.checked_task(task)])
    said = sentences.numbers(texts, MOST_WORDS, length)
    return torch.cat([torch.tensor(prompt).expand(len(said), -1), said], 1)


def answers(task: str) -> Tensor:
    """(classes, `WRITTEN`): the answers of a task in the order of its classes, as numbers of words.

    Raises:
        ValueError: no such task.
    """
    return torch.tensor([_padded([*_numbers(text), END], WRITTEN) for text in ANSWERS[sentences.checked_task(task)]])


def in_words(numbers: Tensor) -> str:
    """Numbers of words as text, up to the end: "a good film". Gaps are "…", unknown words "?"."""
    named = {number: word for word, number in sentences.vocabulary(MOST_WORDS).items()}
    named |= {UNKNOWN: "?"} | dict.fromkeys(GAPS, "…")
    known = itertools.takewhile(lambda number: number not in (END, PADDING), numbers.flatten().tolist())
    return " ".join(named.get(int(number), "?") for number in known)


def cut(words: Sequence[int], drawn: random.Random) -> tuple[list[int], list[int]]:
    """A sentence with gaps, and what is to be written: the sign of each gap and the words that it hides, and the end.

    Args:
        words: numbers, at least one. Of five words or more two gaps are made, with a word between them at least, else
            one.
        drawn: where the gaps are comes from here.
    """
    last = len(words) - GAP
    if len(words) > 2 * GAP:
        first, second = sorted(drawn.sample(range(last - GAP + 1), 2))
        starts = [first, second + GAP]  # they differ by more than a gap
    else:
        starts = [drawn.randint(0, max(0, last))]
    left, written, behind = [], [], 0
    for sign, start in zip(GAPS, starts):
        left += [*words[behind:start], sign]
        behind = start + GAP
        written += [sign, *words[start:behind]]
    return [*left, *words[behind:]], [*written, END]


def _with_gaps(texts, length):
    """(x, y) of sentences with gaps, the same for the same sentences in the same order."""
    drawn = random.Random("gaps")
    rows = []
    for row in sentences.numbers(texts, MOST_WORDS, length).tolist():
        rows.append(cut([number for number in row if number != PADDING], drawn))
    x, y = ([_padded(row[part], most) for row in rows] for part, most in ((0, PROMPT + length), (1, WRITTEN)))
    return torch.tensor(x), torch.tensor(y)


def _with_labelled(x, y, labelled, length):
    """(x, y) with as many rows behind them that are asked with a prompt, about sentences that are in no test part."""
    free = {text for text, _ in sentences.texts("train")}
    some = [_of_task(task, labelled, free, length) for task in TASKS]
    questions, said = (torch.cat(part) for part in zip(*some))
    again = torch.arange(len(x)) % len(questions)
    return torch.cat([x, questions[again]]), torch.cat([y, said[again]])


def _of_task(task, labelled, free, length):
    """(x, y) of the first training sentences of a task that are among those free to train on."""
    rows = list(itertools.islice((row for row in sentences.texts("train", task) if row[0] in free), labelled))
    return asked([text for text, _ in rows], task, length), answers(task)[_places(task, rows)]


def _places(task, rows):
    return [sentences.CLASSES[task].index(label) for _, label in rows]


def _numbers(text):
    known = sentences.vocabulary(MOST_WORDS)
    return [known[word] for word in sentences.words_of(text)]


def _padded(row, length):
    return [*row, *[PADDING] * (length - len(row))]
