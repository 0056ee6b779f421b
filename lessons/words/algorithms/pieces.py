"""BERT's word pieces (Devlin et al. 2019, after Wu et al. 2016): a text becomes lower-case words, and every word the
longest pieces that the vocabulary knows, from its beginning on. In MiniLM's vocabulary "unmergeable" is "un", "##mer",
"##ge", "##able".
"""
import json
import os
import unicodedata
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from data import store
from data.types import checked_whole

START, END, UNKNOWN, PAD = SPECIAL = ("[CLS]", "[SEP]", "[UNK]", "[PAD]")
INSIDE = "##"  # begins a piece that goes on with a word
LENGTH = 256  # pieces of a text, both ends included, unless told otherwise
LONGEST_WORD = 100  # letters; a longer word is unknown
LARGEST_FILE = 20_000_000  # bytes; MiniLM's tokenizer.json has 466,247
IDEOGRAPHS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x2A6DF), (0x2A700, 0x2CEAF),
              (0x2F800, 0x2FA1F))  # Chinese letters, of which BERT takes each for a word
_TAKE = "Take vocab.txt or tokenizer.json of sentence-transformers/all-MiniLM-L6-v2, or of another uncased BERT."


def is_word(letter: str) -> bool:
    """Whether BERT takes this letter for a word of its own: punctuation, each of ASCII's signs, a Chinese letter."""
    sign = letter.isascii() and letter.isprintable() and not letter.isalnum() and letter != " "
    return (sign or unicodedata.category(letter)[0] == "P"
            or any(first <= ord(letter) <= last for first, last in IDEOGRAPHS))


@lru_cache(maxsize=10_000)
def plain(letter: str) -> str:
    """A letter in lower case and without its accents. White space becomes " ", a control character "", and what is a
    word of its own gets spaces around it.
    """
    category = unicodedata.category(letter)
    if category[0] == "Z" or letter in "\t\n\r":
        return " "
    if category in ("Cc", "Cf", "Co", "Cs") or letter == "\N{REPLACEMENT CHARACTER}":
        return ""
    decomposed = unicodedata.normalize("NFD", letter)  # é is e and an accent, which is a mark (Mn)
    letters = "".join(part for part in decomposed if unicodedata.category(part) != "Mn").lower()
    return "".join(f" {part} " if is_word(part) else part for part in letters)


def words(text: str) -> list[str]:
    """A text's words, before they are cut: "It's Zoë!" gives it, ', s, zoe, !."""
    return "".join(map(plain, text)).split()


def longest_match(word: str, vocabulary: Container[str], most: int | None = None) -> list[str]:
    """A word's pieces: at every place the longest that goes on from there, and no piece that was taken is given back.
    [UNK] alone where no piece goes on.

    Args:
        word: without spaces.
        vocabulary: all pieces; those that go on with a word begin with "##".
        most: letters of a piece; None for as many as the word has.
    """
    pieces: list[str] = []
    start = 0
    while start < len(word):
        begin = INSIDE if start else ""
        last = len(word) if most is None else min(len(word), start + most)
        for end in range(last, start, -1):
            if begin + word[start:end] in vocabulary:
                pieces.append(begin + word[start:end])
                start = end
                break
        else:
            return [UNKNOWN]
    return pieces


class Pieces:
    """A text as numbers.

    Args:
        vocabulary: {piece: its number}, the numbers 0 … n − 1. Pieces that go on with a word begin with "##".

    Attributes:
        vocabulary: the same.
        pad: the number that fills short rows, of [PAD].

    Raises:
        ValueError: [CLS], [SEP], [UNK] or [PAD] is missing, or the numbers are others.
    """

    def __init__(self, vocabulary: Mapping[str, int]):
        if missing := [piece for piece in SPECIAL if piece not in vocabulary]:
            raise ValueError(f"the vocabulary lacks {', '.join(missing)}")
        for piece, number in vocabulary.items():
            if type(number) is not int or not 0 <= number < len(vocabulary):
                raise ValueError(f"the vocabulary's numbers must be 0 to {len(vocabulary) - 1:,}, but {piece[:40]!r} "
                                 f"has {repr(number)[:40]}")
        self._names = {number: piece for piece, number in vocabulary.items()}
        if len(self._names) < len(vocabulary):
            raise ValueError(f"the vocabulary has {len(vocabulary):,} pieces, but {len(self._names):,} numbers: some "
                             "pieces share one")
        self.vocabulary = dict(vocabulary)
        self.pad = self.vocabulary[PAD]
        self._longest = max(map(len, self.vocabulary))

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Pieces":
        """From `tokenizer.json`, or from `vocab.txt`, which has a piece a line.

        Raises:
            ValueError: the file is missing, cannot be read, is too large, or holds another vocabulary; names it and
                says what to do.
        """
        path = Path(path)
        try:
            return cls(_from_json(_text_of(path)) if path.suffix == ".json" else _from_lines(_text_of(path)))
        except (OSError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} gives no word pieces: {error}. {_TAKE}") from error

    def __len__(self) -> int:
        return len(self.vocabulary)

    def of_word(self, word: str) -> list[str]:
        """A word's pieces, the longest first; [UNK] alone where some part of the word is in no piece."""
        return [UNKNOWN] if len(word) > LONGEST_WORD else longest_match(word, self.vocabulary, self._longest)

    def of_text(self, text: str) -> Iterator[str]:
        """A text's pieces, without its two ends."""
        for word in words(checked_text("the text", text)):
            yield from self.of_word(word)

    def __call__(self, texts: Sequence, length: int = LENGTH) -> Int[Tensor, "texts pieces"]:
        """Texts as rows of numbers: [CLS], the pieces, [SEP], and [PAD] up to the end of the longest row.

        Args:
            texts: a list of strings, whatever is in them.
            length: no row is longer; what does not fit is cut off before [SEP].

        Raises:
            TypeError: one text in the place of a list, or one of the list is no string.
            ValueError: `length` is no whole number of at least 2.
        """
        length = checked_whole("length", length, 2)
        if isinstance(texts, str | bytes):
            raise TypeError(f"give a list of texts, not the one text {texts[:40]!r}")
        for place, text in enumerate(texts):
            checked_text(f"texts[{place}]", text)
        rows = [[START, *islice(self.of_text(text), length - 2), END] for text in texts]
        numbers = torch.full((len(rows), max(map(len, rows), default=2)), self.pad)
        for row, pieces in zip(numbers, rows):
            row[:len(pieces)] = torch.tensor([self.vocabulary[piece] for piece in pieces])
        return numbers

    def shown(self, row: Int[Tensor, " pieces"]) -> list[str]:
        """The pieces behind a row of numbers, without what fills it."""
        return [self._names[number] for number in row.tolist() if number != self.pad]


def checked_text(name: str, text: object) -> str:
    """The text itself.

    Raises:
        TypeError: it is no string; the message begins with `name`.
    """
    if isinstance(text, str):
        return text
    raise TypeError(f"{name} must be a string, not {repr(text)[:40]} ({type(text).__name__})")


# -- files -------------------------------------------------------------------------------------------------------------

def _text_of(path):
    with open(store.regular(path), "rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ValueError(f"it has more than {LARGEST_FILE:,} bytes")
    return content.decode("utf-8")


def _from_lines(text):
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    vocabulary = {piece: number for number, piece in enumerate(lines)}
    if len(vocabulary) < len(lines):
        twice = next(number for number, piece in enumerate(lines) if vocabulary[piece] != number)
        raise ValueError(f"{lines[twice][:40]!r} stands in line {twice + 1:,} and in line "
                         f"{vocabulary[lines[twice]] + 1:,}")
    return vocabulary


def _from_json(text):
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is no JSON ({error}), maybe cut short") from error
    model = content.get("model") if isinstance(content, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocabulary, dict):
        raise ValueError("it has no “vocab” that maps pieces to numbers inside “model”")
    if (kind := model.get("type", "WordPiece")) != "WordPiece":
        raise ValueError(f"its model is {str(kind)[:40]}, not WordPiece, and cuts words in another way")
    return vocabulary
