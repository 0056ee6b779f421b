"""Eight tasks of sentences, as numbers of words; and sentences without labels, to pretrain on.

Of sentences that differ in letters' case and punctuation alone one is kept, and none where they have two labels. The
parts of a task are the same on every machine: sentences stand in the order of their digests, and the first are for
testing. So no sentence is in two parts of a task, and none without a label is in the test part of any.

The vocabulary lies in `words.txt`, the most frequent word first, so that a network that was trained on the corpora
reads sentences also where they are not. `write_words` counts the words of the corpora and writes it.
"""
import hashlib
import itertools
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from data import corpora, store
from data.types import Dataset, Source, checked_whole, digest

TEST = 1000  # sentences of a task that are for testing
FILES = {name: (file,) for name, file in corpora.FILES.items()}
CLASSES = {"film": ("bad", "good"), "subjective": ("plot", "opinion"), "pro/con": ("con", "pro"),
           "question": ("abbreviation", "description", "thing", "person", "place", "number"),
           "customer": ("complaint", "praise"), "decade": ("1950s", "1960s", "1970s", "1980s", "1990s", "2000s"),
           "product": ("Apex AD2600 Progressive scan DVD player", "Canon G3", "Canon PowerShot SD500", "Canon S100",
                       "Creative Labs Nomad Jukebox Zen Xtra 40GB", "Diaper Champ", "Hitachi router", "ipod",
                       "Linksys Router", "MicroMP3", "Nikon coolpix 4300", "Nokia 6600", "Nokia 6610", "norton"),
           "compares": ("does not compare", "compares")}
TASKS = tuple(CLASSES)
ALL_CLASSES = sum(map(len, CLASSES.values()))
PADDING, UNKNOWN, MASK = 0, 1, 2  # numbers that are no words
_FIRST_WORD = 3
WORDS = Path(__file__).with_name("words.txt")
_WORDS_SHA256 = "0e75cc4bae59940013f9ab8a05d32b0b1bace910765c9b8fa065840b7b0443a6"
MOST_WORDS = 8000  # of a vocabulary, with the three numbers that are no words
_MOST_PER_OTHER = {"compares": 3}  # sentences of the first class for one of the second, where there are many more


def outputs(task: str) -> tuple[int, int]:
    """The first label of a task, and the one behind its last: the tasks' classes stand side by side."""
    before = TASKS[:TASKS.index(checked_task(task))]
    first = sum(len(CLASSES[other]) for other in before)
    return first, first + len(CLASSES[task])


def source(task: str | None = None, size: int | None = None, words: int = 8000, length: int = 32) -> Source:
    """The official corpora, fetched if need be; generated sentences, with the reason, where one cannot be had. The
    task, the size, the vocabulary and the length are part of the digest.
    """
    task, size, words, length = _checked(task, size, words, length)
    origin = _origin()
    text = f"{origin.text}, {task or 'without labels'}"
    if size is not None:
        text += f", first {size:,} training sentences"
    return Source(origin.kind, text, digest(origin.digest, "sentences", task, size, *vocabulary(words), length, TEST),
                  origin.reason)


def all_tasks() -> Source:
    """As `source` without a task, for captions of what is about all tasks with their labels."""
    return replace(source(), text=f"{_origin().text}, {len(TASKS)} tasks")


def _origin():
    return store.official("sentences of NLTK's corpora", FILES, _stand_in)


def load(split: str, task: str | None = None, size: int | None = None, words: int = 8000,
         length: int = 32) -> Dataset:
    """Sentences x (sentences, length), numbers of words as floating-point numbers, with `PADDING` behind the last word;
    and labels y (sentences,), those of `outputs`, or 0 where there is no task.

    Args:
        split: "train" or "test": `TEST` sentences of a task. Without a task every tenth sentence is for testing.
        task: one of `TASKS`; None for sentences without labels, the tasks' training sentences among them.
        size: the first so many training sentences, or all where there are fewer; None for all. The test part stays
            whole.
        words: of the vocabulary, the most frequent in the tasks' training sentences, the three numbers that are no
            words among them; at most `MOST_WORDS`. Other words are `UNKNOWN`.
        length: words of a sentence that are read; the rest of it is cut off.

    Raises:
        ValueError: an option that makes no sense, or a corpus that cannot be read.
    """
    origin = source(task, size, words, length)
    rows = _rows(split, task, size, origin.is_stand_in)
    first = outputs(task)[0] if task else 0
    labels = torch.tensor([first + CLASSES[task].index(label) if task else 0 for _, label in rows])
    return Dataset(numbers([text for text, _ in rows], words, length).float(), labels, origin)


def texts(split: str, task: str | None = None, size: int | None = None) -> list[tuple[str, str]]:
    """The sentences that `load` gives, in its order, as they are written, each with the name of its class; "" without a
    task."""
    return list(_rows(split, task, size, source(task, size).is_stand_in))


def numbers(sentences: Sequence[str], words: int = 8000, length: int = 32) -> Tensor:
    """(sentences, length): every word's number in the vocabulary, `PADDING` behind the last. A sentence without a word
    is one unknown word.

    Args:
        sentences: texts of any length in any script.
        words, length: as for `load`.

    Raises:
        ValueError: one of them is no text.
    """
    _, _, words, length = _checked(None, None, words, length)
    if isinstance(sentences, str) or not all(isinstance(sentence, str) for sentence in sentences):
        raise ValueError(f"sentences must be a list of texts, not {sentences!r:.80}")
    known = vocabulary(words)
    rows = []
    for sentence in sentences:
        row = [known.get(word, UNKNOWN) for word in words_of(sentence, length)] or [UNKNOWN]
        rows.append(row + [PADDING] * (length - len(row)))
    return torch.tensor(rows, dtype=torch.int64).reshape(len(rows), length)


def words_of(sentence: str, most: int | None = None) -> list[str]:
    """The words, numbers and other signs of a sentence, in small letters: ["it", "'s", "2", "films", "!"]; the first
    `most` of them.
    """
    words = []
    for match in _WORD.finditer(sentence.lower()):
        if len(words) == most:
            break
        words.append(match[0])
    return words


_WORD = re.compile(r"'?[^\W\d_]+|\d+|[^\w\s]|_")


def vocabulary(words: int = 8000) -> dict[str, int]:
    """{word: number}, the most frequent first."""
    words = _checked(None, None, words, 1)[2]
    return {word: number for number, word in enumerate(_listed()[:words - _FIRST_WORD], _FIRST_WORD)}


@lru_cache(maxsize=1)
def _listed():
    """The words of `WORDS`.

    Raises:
        StoreError: the file is missing or was changed. With other words, sentences would be other numbers.
    """
    advice = f"`git checkout data/{WORDS.name}` brings it back"
    try:
        content = WORDS.read_bytes()
    except OSError as error:
        raise store.StoreError(f"{WORDS} cannot be read: {error.strerror or error}. {advice}") from None
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")  # a checkout on Windows may write these
    if hashlib.sha256(text.encode()).hexdigest() != _WORDS_SHA256:
        raise store.StoreError(f"{WORDS} is not the list of words that the course's encoders were trained with. "
                               f"{advice}")
    return text.split()


def counted_words() -> list[str]:
    """The most frequent words of the tasks' training sentences, as `WORDS` has them; of equally frequent ones the first
    in the alphabet is first.

    Raises:
        ValueError: the corpora are not here, so that there is nothing to count.
    """
    if (origin := store.official("sentences", FILES, _stand_in)).is_stand_in:
        raise ValueError(f"the words are those of the corpora, and {origin.reason}")
    counts = Counter(word for task in TASKS for sentence, _ in _parts(task, False)["train"]
                     for word in words_of(sentence))
    return sorted(counts, key=lambda word: (-counts[word], word))[:MOST_WORDS - _FIRST_WORD]


def write_words() -> None:
    """Write `WORDS` anew, from the corpora. Networks that were trained with other words cannot read these, so a list of
    others is not read until its digest stands in this module."""
    WORDS.write_text("".join(f"{word}\n" for word in counted_words()), encoding="utf-8")


def _rows(split, task, size, is_stand_in):
    """[(sentence, name of its class)] of a part."""
    rows = _parts(task, is_stand_in)[split] if task else _unlabelled(is_stand_in)[split]
    return rows[:size] if split == "train" else rows


@lru_cache(maxsize=2 * len(TASKS))
def _parts(task, is_stand_in):
    made = _generated(task) if is_stand_in else corpora.TASKS[task]()
    rows = _each_once(made)
    if task in _MOST_PER_OTHER:
        rows = _balanced(rows, *CLASSES[task], _MOST_PER_OTHER[task])
    return {"test": rows[:TEST], "train": rows[TEST:]}


@lru_cache(maxsize=2)
def _unlabelled(is_stand_in):
    """Without what any task tests."""
    parts = [_parts(task, is_stand_in) for task in TASKS]
    tested = {_key(sentence) for part in parts for sentence, _ in part["test"]}
    free = [] if is_stand_in else list(corpora.unlabelled())
    free += [sentence for part in parts for sentence, _ in part["train"]]
    rows = [row for row in _each_once((sentence, "") for sentence in free) if _key(row[0]) not in tested]
    return {"test": rows[::10], "train": [row for place, row in enumerate(rows) if place % 10]}


def _each_once(rows):
    """Rows (sentence, label) in the order of their digests: of those with the same letters the first, and none of
    those whose labels contradict each other."""
    first, labels = {}, {}
    for sentence, label in rows:
        key = _key(sentence)
        if len(key) > 8:
            first.setdefault(key, " ".join(sentence.split()))
            labels.setdefault(key, set()).add(label)
    agreed = [key for key in first if len(labels[key]) == 1]
    agreed.sort(key=lambda key: hashlib.sha256(key.encode()).digest())
    return [(first[key], *labels[key]) for key in agreed]


def _key(sentence):
    """What two sentences have in common that count as one."""
    return re.sub(r"[\W_]+", " ", sentence.lower()).strip()


def _balanced(rows, many, few, ratio):
    """Rows with at most `ratio` of the class `many` for one of the class `few`, taken evenly from all of them."""
    counts = Counter(label for _, label in rows)
    thinned, met, share = [], 0, min(1.0, ratio * counts[few] / max(1, counts[many]))
    for sentence, label in rows:
        met += label == many
        if label != many or int(share * met) > int(share * (met - 1)):
            thinned.append((sentence, label))
    return thinned


# -- the stand-in ------------------------------------------------------------------------------------------------------

_GENERATED = 4000  # sentences of a task, evenly of its classes
_ABOUT = ("the", "a", "this", "that", "one", "every")
_THINGS = ("book", "camera", "letter", "house", "garden", "street", "player", "evening", "window", "answer")
_CUES = 12  # words of a class


def _generated(task):
    """Sentences of words that the vocabulary knows, without a meaning. Every class has words of its own, of which a
    sentence has two or three; one in five is another class's."""
    drawn = random.Random(f"sentences {task}")
    known = [word for word in _listed()[500:3500] if word.isalpha() and len(word) > 3]
    several = iter(drawn.sample(known, _CUES * len(CLASSES[task])))
    cues = {label: list(itertools.islice(several, _CUES)) for label in CLASSES[task]}
    for label in CLASSES[task]:
        for _ in range(_GENERATED // len(cues)):
            parts = []
            for _ in range(drawn.choice((2, 3))):
                whose = label if drawn.random() < 0.8 else drawn.choice(CLASSES[task])
                parts += [drawn.choice(_ABOUT), drawn.choice(cues[whose]), drawn.choice(_THINGS)]
            yield " ".join(parts) + ".", label


@lru_cache(maxsize=1)
def _digest_of_generated():
    return digest(*(f"{sentence} {label}" for task in TASKS for sentence, label in _generated(task)))


def _stand_in(reason):
    return Source("stand-in", "stand-in for sentences: generated ones", _digest_of_generated(), reason)


# -- options -----------------------------------------------------------------------------------------------------------

def checked_task(task: str) -> str:
    """The task.

    Raises:
        ValueError: there is no such task.
    """
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, or None for sentences without labels, not {task!r}")
    return task


def _checked(task, size, words, length):
    if task is not None:
        checked_task(task)
    if size is not None:
        size = checked_whole("size", size, 1)
    return task, size, checked_whole("words", words, _FIRST_WORD + 1, MOST_WORDS), checked_whole("length", length, 1)
