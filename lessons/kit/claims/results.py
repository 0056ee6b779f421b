"""What measuring one unit of the ledger gave, as a file that can be kept, sent and merged with those of others.

A file holds the numbers, the digests of code and data, where and when it was measured, and a digest of all this. The
digest finds damage and careless editing. It does not say who measured: whoever changes a file can write a new digest.
For that, sign the file as it is (`ssh-keygen -Y sign`), and let `merge` ask for signatures.
"""
import hashlib
import json
import warnings
from pathlib import Path
from typing import Annotated, Literal

import pydantic

from data import store
from data.types import digest
from lessons.kit.units import Unit

LARGEST = 1_000_000  # bytes of a file; the longest that the ledger has takes 20,000
# words of a file are shown in a terminal and on pages, so nothing but plain letters and signs
Words = Annotated[str, pydantic.Field(max_length=300, pattern=r"^[^\x00-\x1f\x7f-\x9f]*$")]


class Result(pydantic.BaseModel, extra="forbid", frozen=True):
    """The numbers of one unit, and all that they depend on.

    Attributes:
        format: of the file.
        module, experiment, profile, seed: the unit.
        code: digest of the code behind the module.
        data: digest of the data.
        numbers: {claim: {number: value}}, rounded to six digits, as the ledger keeps them.
        machine: a name for the machine (`archive.machine`), as it calls itself.
        processor, system, python, torch, commit, date: where, with what and when it was measured.
        digest: of all the rest.
    """
    format: Literal[1] = 1
    module: Words
    experiment: Words
    profile: Words
    seed: int = pydantic.Field(ge=0)
    code: Words
    data: Words
    numbers: dict[Words, dict[Words, float]]
    machine: Words
    processor: Words
    system: Words
    python: Words
    torch: Words
    commit: Words
    date: Words
    digest: Words = ""

    @property
    def unit(self) -> Unit:
        """What was measured."""
        return Unit(self.module, self.experiment, self.profile, self.seed)

    def content_digest(self) -> str:
        """SHA-256 over everything but `digest`, with sorted keys and no blanks."""
        content = json.dumps(self.model_dump(exclude={"digest"}), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    def signed(self) -> "Result":
        """The same, with its digest."""
        return self.model_copy(update={"digest": self.content_digest()})

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(self.signed().model_dump(), sort_keys=True, indent=1) + "\n"


def from_json(text: str | bytes) -> Result:
    """A result.

    Raises:
        Damaged: it is none, or its digest is not that of its contents; says which.
    """
    try:
        result = Result.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:  # pydantic's and json's errors are ValueErrors
        first = str(error).splitlines()[0] if not isinstance(error, pydantic.ValidationError) else _first(error)
        raise store.Damaged(f"it is no result of the ledger: {first}") from None
    if result.digest != result.content_digest():
        raise store.Damaged("its digest does not match its contents")
    return result


def _first(error):
    """What is wrong first, with the name of the field, without what stands there."""
    problem = error.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, problem['loc'])) or 'the whole'}: {problem['msg']}"


def content(path: Path) -> bytes:
    """What a result's file holds, for `from_json`.

    Raises:
        FileNotFoundError: there is none. Damaged: it is too large for a result. StoreError: it is no file.
    """
    with open(store.regular(path), "rb") as file:
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise store.Damaged(f"it has more than {LARGEST:,} bytes, so it is no result of the ledger")
    return text


def _path_of(unit, code, data):
    name = f"{unit.experiment}-{unit.profile}-{unit.seed}-{digest(unit, code, data)[:12]}.json"
    return store.root() / "claims" / name


def keep(result: Result) -> Path:
    """Write a result to the data folder, in place of an earlier one of the same unit, code and data; its path."""
    path = store.workplace("claims") / _path_of(result.unit, result.code, result.data).name
    with store.lock(path), store.atomic(path) as part:
        part.write_text(result.to_json(), encoding="utf-8")
    return path


def kept(unit: Unit, code: str, data: str) -> Result | None:
    """What this machine has of a unit, measured with this code and these data, here or elsewhere."""
    for path in store.places(_path_of(unit, code, data)):
        try:
            result = from_json(content(path))
        except FileNotFoundError:
            continue
        except store.Damaged as error:
            warnings.warn(f"{path} counts as missing: {error}", store.DataWarning, stacklevel=2)
            continue
        if (result.unit, result.code, result.data) == (unit, code, data):
            return result
    return None
