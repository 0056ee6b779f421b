"""Letters of three kinds of text, from the corpora of NLTK's data: eight of Shakespeare's plays (in the public domain,
marked up by Jon Bosak), speeches of the presidents of the United States, and film reviews (Pang and Lee 2004).
"""
import re
from collections.abc import Iterable
from functools import lru_cache

import torch

from data import characters, corpora, speeches, store
from data.types import Dataset, Source, checked_whole, digest

_PLAYS = corpora.file("shakespeare", 475_458, "2332b32a7d83d657092ba4667c2c84c3",
                      "f1251d8c254710363254ba29c9dc0888d5cb13d5ac736ebc6fb14380f447cfc3")
FILES = {"plays": (_PLAYS,),
         "presidents": (*speeches.FILES["all"], corpora.FILES["state_union"]),
         "reviews": (corpora.FILES["movie_reviews"],)}
NAMES = {"plays": "Shakespeare's plays", "presidents": "speeches of presidents", "reviews": "film reviews"}
OF = tuple(FILES)


def source(of: str = "plays", size: int | None = None, context: int = 64) -> Source:
    """The official files of one kind of text, fetched if need be; a third of Python's own help texts, with the reason,
    where they cannot be had. The kind, the size and the context are part of the digest.
    """
    of, size, context = _checked(of, size, context)
    origin = store.official(NAMES[of], {of: FILES[of]}, lambda reason: _stand_in(of, reason))
    text = origin.text if size is None else f"{origin.text}, {size:,} training pieces"
    parts = (origin.digest, characters.CHARACTERS, "letters", of, size, context, characters.TEST)
    return Source(origin.kind, text, digest(*parts), origin.reason)


def load(split: str, of: str = "plays", size: int | None = None, context: int = 64) -> Dataset:
    """Pieces of the text x (pieces, context), numbers of characters as floating-point numbers, and y (pieces, context),
    the character that follows each.

    Args:
        split: "train" or "test": every tenth piece of a text is for testing.
        of: "plays" (speakers and lines, without stage directions), "presidents" (inaugural addresses, then addresses
            on the state of the union) or "reviews".
        size: so many training pieces, spread evenly over the text, since the first ones would be of one play or one
            century; all where there are fewer, or with None. The test part stays whole.
        context: characters of a piece.

    Raises:
        ValueError: an option that makes no sense, or a corpus that cannot be read.
    """
    origin = source(of, size, context)
    of, size, context = _checked(of, size, context)
    x, y = characters.pieces(_numbers(of, origin.is_stand_in), split, context)
    if split == "train" and size is not None and size < len(x):
        places = torch.arange(size) * len(x) // size
        x, y = x[places], y[places]
    return Dataset(x.float(), y, origin)


def speech_by_speech(play: str) -> Iterable[str]:
    """The speeches of a play in Bosak's XML, each as a line for its speakers, "HAMLET:", and then its lines.

    It is searched by patterns, since a parser of XML would also follow what a file declares.
    """
    for speech in re.findall(r"<SPEECH>(.*?)</SPEECH>", play, re.DOTALL):
        speech = re.sub(r"<STAGEDIR>.*?</STAGEDIR>|&\w+;", "", speech, flags=re.DOTALL)
        speakers, lines = ([" ".join(text.split()) for text in re.findall(rf"<{tag}>(.*?)</{tag}>", speech, re.DOTALL)]
                           for tag in ("SPEAKER", "LINE"))
        yield "\n".join([f"{' and '.join(speakers)}:", *filter(None, lines), ""])


@lru_cache(maxsize=2 * len(OF))
def _numbers(kind, is_stand_in):
    return characters.numbers(_help(kind) if is_stand_in else _official(kind))


def _official(kind):
    texts = [text for file in FILES[kind] for text in corpora.texts(store.path_of(file)).values()]
    if kind == "plays":  # the files that describe the markup have no speeches
        return "\n".join(speech for play in texts for speech in speech_by_speech(play))
    return "\n".join(texts)


def _help(kind):
    return "\n".join(characters.help_texts()[OF.index(kind)::len(OF)])


def _stand_in(kind, reason):
    text = f"stand-in for {NAMES[kind]}: a third of Python's help texts"
    return Source("stand-in", text, digest("help", _help(kind)), reason)


def _checked(kind, size, context):
    if kind not in OF:
        raise ValueError(f"of must be one of {', '.join(OF)}, not {kind!r}")
    if size is not None:
        size = checked_whole("size", size, 1)
    return kind, size, checked_whole("context", context, 1)
