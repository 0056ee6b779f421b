"""Eight tasks of sentences, and texts without labels, from the corpora of NLTK's data.

The zip files are read in memory: nothing is unpacked, and nothing is read of a file whose digest is not the published
one. Of their licences their README files say: sentence_polarity and subjectivity (Pang and Lee 2005, 2004), pros_cons
and comparative_sentences (Ganapathibhotla and Liu 2008, Jindal and Liu 2006) are under CC BY 4.0; movie_reviews (Pang
and Lee 2004) is distributed "with permission from the authors"; those of product_reviews_1 and 2 (Hu and Liu 2004, Ding
et al. 2008), qc (Li and Roth 2002) and state_union (C-SPAN) name none. So the files are fetched, and not in this
repository.
"""
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from data import store

COMMIT = "5db857e6f7df11eabb5e5665836db9ec8df07e28"
HOST = f"https://raw.githubusercontent.com/nltk/nltk_data/{COMMIT}/packages/corpora/"
MOST = 24_000_000  # bytes that the texts of one file may take; the largest takes 8 million
# what zipfile raises: no archive, encrypted, packed in an unknown way, cut short, or a damaged member of any packing
DAMAGE = (zipfile.BadZipFile, RuntimeError, EOFError, zlib.error, lzma.LZMAError)
Labelled = tuple[str, str]  # a sentence, and the name of its class


def file(name: str, size: int, md5: str, sha256: str) -> store.RemoteFile:
    """A corpus as NLTK's repository has it at one commit."""
    return store.RemoteFile(f"nltk_corpora/{name}.zip", size, md5, "", (f"{HOST}{name}.zip",), sha256=sha256)


_PUBLISHED: tuple[tuple[str, int, str, str], ...] = (  # name, bytes, MD5, SHA-256
    ("comparative_sentences", 279_121, "df2d005f455afb760fa37d7f565400f1",
     "d076e1bab25c7c2a39e8850aefbb64a2188ebc5033bf21aeb656f4fab15f7f8b"),
    ("movie_reviews", 4_004_848, "155de2b77c6834dd8eea7cbe88e93acb",
     "a41211ae685019137410268134db6a1a14428c89b671eb83056151a878539008"),
    ("product_reviews_1", 141_287, "c13be66052027a4605ca456d7cda0917",
     "627bfb0bb7c87586246d99b4402c3d7e4fb77ac14559d8695c283bd6850615ac"),
    ("product_reviews_2", 170_698, "522134e8b91086473299c3800c4adbae",
     "272b08fe130882e5867aa7ecc69a65616099183c4ccc10374a62c271801b0bc1"),
    ("pros_cons", 746_276, "c4c7e61fb4d57a2f6c95317194da0f17",
     "b5bca541ba5b2e614cde2213ddcca027416f6997067c90e45c173bf55c6fade8"),
    ("qc", 125_456, "afd4145ac31cb8d7db715974b9b8b57a",
     "091fb01e50883014d150acb7d5013d787136968b3f955ae01725a65e7e80f304"),
    ("sentence_polarity", 490_256, "5cdc0cae7f558040d050c90eb2b72e97",
     "6e1ed4405b65c7eabf1d199a7f7c437091ac21da0ea7467b410a74062574566b"),
    ("state_union", 808_757, "044f2d20c592b17a26ac0102111833c9",
     "366c1dc82b2abf896f42b2ec50ba802a0141a29f75d29ca48a7a243ce5bfbe8d"),
    ("subjectivity", 521_628, "a81a44513903ba6bb86f85aeff149561",
     "741f3371e1a4375051b874fd82fd55857b90975473c91c19a3101cbe17fc4d8c"))
FILES = {row[0]: file(*row) for row in _PUBLISHED}


def texts(path: Path, most: int = MOST) -> dict[str, str]:
    """{name in the zip file: text} of all its files but the README, in their order there.

    Args:
        path: a zip file whose digest has been checked.
        most: bytes that all its files together may take.

    Raises:
        ValueError: it is no zip file, or a file in it is damaged or encrypted, or they would take more than that.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist()
                       if not member.is_dir() and "README" not in member.filename.upper()]
            if (size := sum(member.file_size for member in members)) > most:
                raise ValueError(f"its files would take {size:,} bytes, at most {most:,} are read")
            return {member.filename: decoded(archive.read(member)) for member in members}
    except (*DAMAGE, ValueError) as error:
        raise ValueError(f"{path} is not read: {error}. Delete it, and it is fetched again.") from None


def decoded(content: bytes) -> str:
    """The text in UTF-8; where it is not that, in Windows's cp1252, as qc, subjectivity and older speeches are."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def sentences_of(text: str) -> list[str]:
    """A text cut behind its full stops, question marks and exclamation marks; its line breaks become spaces."""
    return [" ".join(sentence.split()) for sentence in re.split(r"(?<=[.!?])\s+", text)]


def unlabelled() -> Iterator[str]:
    """Sentences of film reviews and of speeches on the state of the union, more than 20 characters long."""
    for text in _texts("movie_reviews").values():  # a sentence a line
        yield from (line.strip() for line in text.splitlines() if len(line.strip()) > 20)
    for text in _texts("state_union").values():
        yield from (sentence for sentence in sentences_of(text) if len(sentence) > 20)


def _texts(name):
    return texts(store.path_of(FILES[name]))


def _member(name, member):
    """The lines of one file in a corpus.

    Raises:
        ValueError: the corpus lacks it.
    """
    members = _texts(name)
    if member not in members:
        raise ValueError(f"{store.path_of(FILES[name])} has no {member}. Delete it, and it is fetched again.")
    return members[member].splitlines()


# -- the tasks: sentences with the names of their classes, as the files have them --------------------------------------

def _film():
    for word, ending in (("bad", "neg"), ("good", "pos")):
        yield from ((line, word) for line in _member("sentence_polarity", f"sentence_polarity/rt-polarity.{ending}"))


def _subjective():
    for word, kind in (("plot", "plot"), ("opinion", "quote")):
        yield from ((line, word) for line in _member("subjectivity", f"subjectivity/{kind}.tok.gt9.5000"))


def _procon():
    for word in ("Pros", "Cons"):
        text = "\n".join(_member("pros_cons", f"pros_cons/Integrated{word}.txt"))
        for sentence in re.findall(rf"<{word}>(.*?)</{word}>", text):
            yield re.sub(r"&#?\w+;", " ", sentence), word[:-1].lower()


_ASKS = {"ABBR": "abbreviation", "DESC": "description", "ENTY": "thing", "HUM": "person", "LOC": "place",
         "NUM": "number"}


def _question():
    for part in ("train", "test"):
        for line in _member("qc", f"qc/{part}.txt"):
            label, _, sentence = line.partition(" ")
            yield sentence, _ASKS[label.partition(":")[0]]


def _reviewed():
    """(product, sum of the marks that a sentence gives, sentence) of both corpora of reviews."""
    for corpus in ("product_reviews_1", "product_reviews_2"):
        for name, text in _texts(corpus).items():
            product = Path(name).stem.replace("_", " ")
            for line in text.splitlines():
                marks, is_marked, sentence = line.partition("##")
                if is_marked:
                    yield product, sum(int(mark) for mark in re.findall(r"\[([+-]\d)\]", marks)), sentence


def _customer():
    yield from ((sentence, "praise" if mark > 0 else "complaint") for _, mark, sentence in _reviewed() if mark)


def _product():
    yield from ((sentence, product) for product, _, sentence in _reviewed())


def _compares():
    """Sentences that compare two things stand between <cs-1> and </cs-1>, or 2 to 4; lines behind them say what is
    compared. Of the others, headings and numbers are left out."""
    inside = False
    for line in map(str.strip, _member("comparative_sentences", "comparative_sentences/labeledSentences.txt")):
        if re.match(r"</?cs-\d>", line):
            inside = not line.startswith("</")
        elif inside:
            yield line, "compares"
        elif len(line) > 15 and not re.match(r"\d_|[(<*#]", line) and not re.search(r"\d_\w", line):
            yield line, "does not compare"


def _decade():
    for name, text in _texts("state_union").items():
        if year := re.search(r"/(\d{4})", name):
            decade = max(1950, int(year[1]) // 10 * 10)
            yield from ((sentence, f"{decade}s") for sentence in sentences_of(text) if 20 < len(sentence) < 400)


TASKS: dict[str, Callable[[], Iterator[Labelled]]] = {
    "film": _film, "subjective": _subjective, "pro/con": _procon, "question": _question, "customer": _customer,
    "decade": _decade, "product": _product, "compares": _compares}
