"""CLIP's tokenizer: lower-cased words as bytes, joined pair by pair in the order of `merges.txt` (byte-pair encoding,
Sennrich et al. 2016; bytes as letters: Radford et al. 2019).
"""
import json
import os
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import torch
from jaxtyping import Int
from torch import Tensor

from data import store

START, END = "<|startoftext|>", "<|endoftext|>"
LENGTH = 77  # tokens of a text, both ends included
_CONTRACTION = re.compile("'(?:s|t|re|ve|m|ll|d)")
_PIECE = re.compile("L+|N|o+")  # letters, one digit, or anything else but spaces


def bytes_as_letters() -> dict[int, str]:
    """{byte: a letter that can be printed}: itself where it can be, else one from 256 on."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def _kind(letter):
    """L for a letter, N for a number, a space for space, o for anything else."""
    category = unicodedata.category(letter)[0]
    return category if category in "LN" else " " if letter.isspace() else "o"


def words(text: str) -> Iterator[str]:
    """The pieces that are encoded one by one: runs of letters, single digits, runs of other signs, and 's, 't, …"""
    text = unicodedata.normalize("NFC", text).lower()
    kinds = "".join(map(_kind, text))
    start = 0
    while piece := _PIECE.search(kinds, start):
        contraction = _CONTRACTION.match(text, piece.start())
        start = contraction.end() if contraction else piece.end()
        yield text[piece.start():start]


class Words:
    """A tokenizer.

    Args:
        merges: pairs that are joined, the earliest first.
        vocabulary: {token: its number}. A token that ends a word ends in </w>.
    """

    def __init__(self, merges: Sequence[tuple[str, str]], vocabulary: Mapping[str, int]):
        self.order = {pair: place for place, pair in enumerate(merges)}
        self.vocabulary = vocabulary
        self.start, self.end = vocabulary[START], vocabulary[END]
        self.of_byte = bytes_as_letters()
        self._joined = lru_cache(maxsize=10_000)(self._join)

    @classmethod
    def read(cls, folder: str | os.PathLike) -> "Words":
        """From the `merges.txt` and `vocab.json` of a folder.

        Raises:
            ValueError: one is missing or is not what its name says; names it.
        """
        folder = Path(folder)
        try:
            lines = store.regular(folder / "merges.txt").read_text(encoding="utf-8").splitlines()
            vocabulary = json.loads(store.regular(folder / "vocab.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(f"no tokenizer in {folder}: {error}. It takes merges.txt and vocab.json of "
                             "openai/clip-vit-base-patch32.") from error
        merges = [tuple(line.split()) for line in lines if line and not line.startswith("#version")]
        if any(len(pair) != 2 for pair in merges) or not isinstance(vocabulary, dict) or END not in vocabulary:
            raise ValueError(f"{folder} holds another tokenizer than CLIP's: merges.txt must have two tokens a line, "
                             f"and vocab.json must know {END}.")
        return cls([(first, second) for first, second in merges], vocabulary)

    def encoded(self, text: str) -> list[int]:
        """A text's tokens, without its two ends.

        Raises:
            ValueError: a token is not in the vocabulary.
        """
        tokens = [token for word in words(text) for token in self._joined(word)]
        if unknown := [token for token in tokens if token not in self.vocabulary]:
            raise ValueError(f"the vocabulary does not know {unknown[0]!r}, of {text!r}: are merges.txt and vocab.json "
                             "of one model?")
        return [self.vocabulary[token] for token in tokens]

    def __call__(self, texts: Sequence[str], length: int = LENGTH) -> Int[Tensor, "texts length"]:
        """Texts as numbers: its start, its tokens, its end, which also fills what is left.

        Raises:
            ValueError: a text is too long.
        """
        numbers = torch.full((len(texts), length), self.end)
        for row, text in zip(numbers, texts):
            tokens = [self.start, *self.encoded(text), self.end]
            if len(tokens) > length:
                raise ValueError(f"{text[:40]!r}… has {len(tokens)} tokens, and the text tower takes {length}")
            row[:len(tokens)] = torch.tensor(tokens)
        return numbers

    def _join(self, word):
        """A word's bytes, joined pair by pair, the pair that comes first in `merges` first."""
        letters = [self.of_byte[byte] for byte in word.encode()]
        tokens = [*letters[:-1], letters[-1] + "</w>"]
        while len(tokens) > 1:
            best = min(zip(tokens, tokens[1:]), key=lambda pair: self.order.get(pair, len(self.order)))
            if best not in self.order:
                break
            joined, place = [], 0
            while place < len(tokens):
                pair = tuple(tokens[place:place + 2])
                joined.append("".join(pair) if pair == best else tokens[place])
                place += 2 if pair == best else 1
            tokens = joined
        return tuple(tokens)
