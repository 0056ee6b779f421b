"""Speeches, character by character: the inaugural addresses of the presidents of the United States, 1789 to 2021, in
the corpus of NLTK's data (compiled by K. Ahrens from C-SPAN's sources; in the public domain).
"""
import zipfile
from functools import lru_cache

from data import characters, corpora, store
from data.characters import CHARACTERS, TEST
from data.types import Dataset, Source, checked_whole, digest

FILES = {"all": (corpora.file("inaugural", 346_476, "4e01cc9505ed7f9d04a330e67fb45509",
                              "7c5fb5793e31fbeae12bf1aa0ffda5336468f07cedb50654c6d31ca384e2046b"),)}
THIRDS = ("early", "middle", "late")


def source(third: str | None = None, context: int = 32) -> Source:
    """The official file, fetched if need be; Python's own help texts, with the reason, where it cannot be had. The part
    that is taken, and how long its pieces are, is in the text and the digest.
    """
    third, context = _checked(third, context)
    origin = store.official("Inaugural addresses", FILES, _stand_in)
    text = f"{origin.text}, the {third} third" if third else origin.text
    return Source(origin.kind, text, digest(origin.digest, CHARACTERS, third, context, TEST), origin.reason)


def load(split: str, third: str | None = None, context: int = 32) -> Dataset:
    """Pieces of the text x (pieces, context), numbers of characters as floating-point numbers, and y (pieces, context),
    the character that follows each.

    Args:
        split: "train" or "test": every tenth piece of a text is for testing.
        third: "early", "middle" or "late": of all characters, in the order of the speeches; None for all.
        context: characters of a piece.

    Raises:
        ValueError: another third, or a context that is not a whole number of at least 1.
    """
    origin = source(third, context)
    third, context = _checked(third, context)
    text = _numbers(origin.is_stand_in)
    if third:
        place = THIRDS.index(third)
        text = text[len(text) * place // 3:len(text) * (place + 1) // 3]
    x, y = characters.pieces(text, split, context)
    return Dataset(x.float(), y, origin)


@lru_cache(maxsize=2)
def _numbers(is_stand_in):
    return characters.numbers(_help() if is_stand_in else _speeches())


def _speeches():
    with zipfile.ZipFile(store.path_of(FILES["all"][0])) as archive:
        names = sorted(name for name in archive.namelist() if name.endswith(".txt"))  # by year
        return "\n".join(archive.read(name).decode("utf-8", "replace") for name in names)


def _help():
    return "\n".join(characters.help_texts())


def _stand_in(reason):
    return Source("stand-in", "stand-in for the inaugural addresses: Python's help texts", digest("help", _help()),
                  reason)


def _checked(third, context):
    if third not in (None, *THIRDS):
        raise ValueError(f"third must be one of {', '.join(THIRDS)}, or None for all, not {third!r}")
    return third, checked_whole("context", context, 1)
