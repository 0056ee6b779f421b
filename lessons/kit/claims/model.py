"""The model of a claim, and the files that hold the claims and their numbers."""
import copy
import fnmatch
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import pydantic
import yaml

from lessons.kit.page import digits

FOLDER = Path(__file__).parents[2]  # of the chapters, each with its claims.yaml, of sources.yaml and measured.yaml
MEASURED = FOLDER / "measured.yaml"
SPREAD = FOLDER / "spread.yaml"  # of seeds that no bound was set on, in the form of measured.yaml
MOST = 5  # conditions of a claim: a reader can check so many
Numbers = dict[str, dict[str, float]]  # {claim: {number: value}}
Answer = Literal["yes", "partly", "no", "–"]
QUESTIONS = ("finding", "explanation", "formula")


class Shown(pydantic.BaseModel, extra="forbid"):
    """A number that the ledger shows, and that carries no verdict.

    Attributes:
        number: its name in the measurement.
        means: what it is.
        moved: of a number that was a condition, why it is none.
    """
    number: str
    means: str
    moved: str = ""


class Condition(Shown, extra="forbid"):
    """A number of the measurement and the bounds within which an answer of the verdict stands.

    Attributes:
        carries: the answers that rest on it.
        moved: which bound stood before, and why it moved.
        failed: the seeds that the bound was not set on and that lie outside it.
    """
    carries: list[Literal[QUESTIONS]] = pydantic.Field(min_length=1)
    at_least: float | None = None
    at_most: float | None = None
    failed: str = ""

    @pydantic.model_validator(mode="after")
    def _bounded(self):
        if self.at_least is None and self.at_most is None:
            raise ValueError(f"{self.number} carries {' and '.join(self.carries)}, so it needs a bound")
        return self

    def holds(self, value: float) -> bool:
        """Whether a measured value lies within the bounds."""
        high_enough = self.at_least is None or value >= self.at_least
        low_enough = self.at_most is None or value <= self.at_most
        return high_enough and low_enough

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        parts = []
        if self.at_least is not None:
            parts.append(f"at least {digits(self.at_least, 6)}")
        if self.at_most is not None:
            parts.append(f"at most {digits(self.at_most, 6)}")
        return " and ".join(parts)

    @property
    def brief(self) -> str:
        """The bounds in signs."""
        return self.bounds.replace("at least", "≥").replace("at most", "≤").replace(" and", ",")


class Verdict(pydantic.BaseModel, extra="forbid"):
    """What became of a claim: three questions, each answered yes, partly or no.

    Attributes:
        finding: what the source saw is seen here.
        explanation: why it comes about, as the source says, survives a test; "–" where it gives no reason.
        formula: what it derives holds as printed; "–" where it derives nothing.
        mistake: what is wrong in a formula, "misprint: …" where the source itself has it right elsewhere, else
            "error: …".
        scope: the tasks and networks of which all this is said.
    """
    finding: Answer
    explanation: Answer = "–"
    formula: Answer = "–"
    mistake: str = ""
    scope: str

    @pydantic.model_validator(mode="after")
    def _named(self):
        if self.formula in ("no", "partly") and not self.mistake.startswith(("misprint: ", "error: ")):
            raise ValueError("a formula that does not hold as printed needs its mistake, 'misprint: …' or 'error: …'")
        return self

    def __str__(self):
        answers = [f"finding observed: {self.finding}"]
        if self.explanation != "–":
            answers.append(f"explanation survives: {self.explanation}")
        if self.formula != "–":
            answers.append(f"formula right: {self.formula}")
        return ", ".join(answers)


class Claim(pydantic.BaseModel, extra="forbid"):
    """One claim of a source.

    Attributes:
        id: "CTL-2".
        line: the claim in one line, for the index.
        place: where the source says it.
        says: the claim, in our words.
        measure: how the course measures it.
        chapter: the notebook that does.
        measured_by: the module whose LEDGER lists what measures it; None while no chapter does.
        also_by: other modules that measure further numbers of it, on other networks.
        verdict: what became of it; None while no chapter measures it.
        why: what carries the verdict, in three sentences.
        more: what else came out, and where it departs from the source.
        history: how its bounds fared on seeds that they were not set on.
        decides: the number of the one condition that says most.
        numbers: those that a page shows. At most `MOST` are conditions; the others carry no verdict.
        kept: further numbers that the ledger keeps, since a sentence or table of the course uses them, and that a page
            shows by their names; * stands for any letters.
    """
    id: str
    line: str
    place: str
    says: str
    measure: str
    chapter: int
    measured_by: str | None = None
    also_by: list[str] = []
    verdict: Verdict | None = None
    why: str = ""
    more: str = ""
    history: str = ""
    decides: str = ""
    numbers: list[Condition | Shown] = []
    kept: list[str] = []

    @pydantic.model_validator(mode="after")
    def _complete(self):
        if not self.measured_by:
            if self.verdict:
                raise ValueError(f"{self.id} has a verdict and no measurement")
            return self
        if not (self.conditions and self.why and self.verdict):
            raise ValueError(f"{self.id} is measured, so it needs conditions, a verdict and a why")
        if len(self.conditions) > MOST:
            raise ValueError(f"{self.id} has {len(self.conditions)} conditions; at most {MOST} may carry a verdict")
        if self.decides not in {condition.number for condition in self.conditions}:
            raise ValueError(f"{self.id}: what decides, {self.decides!r}, is none of its conditions")
        carried = {question for condition in self.conditions for question in condition.carries}
        answered = {question for question in QUESTIONS if getattr(self.verdict, question) != "–"}
        if carried != answered:
            raise ValueError(f"{self.id}: its conditions carry {sorted(carried)}, its verdict answers "
                             f"{sorted(answered)}")
        return self

    @property
    def conditions(self) -> list[Condition]:
        """The numbers that carry the verdict."""
        return [number for number in self.numbers if isinstance(number, Condition)]

    @property
    def shown(self) -> list[Shown]:
        """The numbers that are shown and carry no verdict."""
        return [number for number in self.numbers if not isinstance(number, Condition)]

    @property
    def decisive(self) -> Condition:
        """The condition that says most."""
        return next(condition for condition in self.conditions if condition.number == self.decides)

    @property
    def modules(self) -> list[str]:
        """All that measure it."""
        return [self.measured_by, *self.also_by] if self.measured_by else []

    def keeps(self, number: str) -> bool:
        """Whether the ledger keeps a number of this name: it is a condition, or a page or a sentence shows it."""
        return any(one.number == number for one in self.numbers) or any(
            fnmatch.fnmatchcase(number, pattern) for pattern in self.kept)

    @property
    def source(self) -> str:
        """The short key of the source: "CTL"."""
        return self.id.split("-")[0]


class Source(pydantic.BaseModel, extra="forbid"):
    """One of the papers and manuscripts that the course teaches.

    Attributes:
        key: "CTL".
        title: its authors and title, as Markdown.
        version: the version that was read.
        fared: how the bounds of its claims were set and how seeds that nobody had looked at fared, as Markdown.
    """
    key: str
    title: str
    version: str
    fared: str = ""


@cache
def sources() -> dict[str, Source]:
    """All sources by key, in the order in which the pages show them."""
    return {entry["key"]: Source(**entry) for entry in _read(FOLDER / "sources.yaml")}


@cache
def ledger() -> dict[str, Claim]:
    """All claims by id, of every chapter's claims.yaml; source after source, by their numbers.

    Raises:
        ValueError: a claim stands in two places, or its source is not in sources.yaml.
        pydantic.ValidationError: an entry is not well formed.
    """
    claims, files = {}, {}
    for path in sorted(FOLDER.glob("*/claims.yaml")):
        for entry in _read(path):
            claim = Claim(**entry)
            if claim.id in claims:
                raise ValueError(f"{claim.id} stands twice, in {files[claim.id]} and in {path}; rename one")
            if claim.source not in sources():
                raise ValueError(f"{claim.id}, in {path}, is of no source in sources.yaml: {', '.join(sources())}")
            claims[claim.id], files[claim.id] = claim, path
    places = list(sources())
    ordered = sorted(claims, key=lambda id: (places.index(claims[id].source), int(id.rpartition("-")[2])))
    return {id: claims[id] for id in ordered}


def condition(id: str, number: str) -> Condition:
    """The condition of a claim on one of its numbers: a sentence that judges this number asks it, so that both say the
    same."""
    return next(condition for condition in ledger()[id].conditions if condition.number == number)


def measured() -> dict[str, dict[str, list[float]]]:
    """The ledger's numbers: {claim: {number: [one value a seed]}}; empty before the first `make claims`."""
    numbers = _kept()["numbers"]
    return {id: {name: list(values.values()) for name, values in of_claim.items()} for id, of_claim in numbers.items()}


def more_seeds() -> dict[str, dict[str, dict[int, float]]]:
    """What seeds gave that no bound was set on (`python -m lessons.kit.claims spread`), shared, so not to be changed:
    {claim: {number: {seed: value}}}."""
    return _kept(SPREAD)["numbers"]


def runs(path: Path | None = None) -> list[dict]:
    """Where and when the ledger's numbers were measured, or those of another file of this form: module, experiment,
    profile, seeds, and what `archive.circumstances` says."""
    return _kept(path)["runs"]


def _kept(path=None):
    """measured.yaml, or another file of its form: runs, and numbers {claim: {number: {seed: value}}}; shared, so not to
    be changed."""
    path = path or MEASURED
    if not path.exists():
        return {"runs": [], "numbers": {}}
    file = path.stat()
    return _parsed(path, file.st_mtime_ns, file.st_size)


@lru_cache(maxsize=2)
def _parsed(path, _changed, _size):
    """What the file holds, read once as long as it stays the same: a chapter's table asks for it twelve times, and it
    takes 0.2 s."""
    return _read(path)


def _read(path):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is ten times faster
    return yaml.load(path.read_text(encoding="utf-8"), loader)


def keep(module: str, experiment: str, profile: str, seed: int, numbers: Numbers,
         circumstances: dict[str, str], path: Path | None = None) -> None:
    """Write one measurement to measured.yaml, in place of an earlier one of the same experiment, profile and seed.

    Args:
        module: of the experiment.
        experiment: its name.
        circumstances: where and when it was measured; see `archive.circumstances`.
        path: another file of this form, `SPREAD`.
    """
    path = path or MEASURED
    known = copy.deepcopy(_kept(path))
    which = {"module": module, "experiment": experiment, "profile": profile}
    for run in known["runs"]:
        if which.items() <= run.items():
            run["seeds"] = [other for other in run["seeds"] if other != seed]
    wanted = {**which, "seeds": [], **circumstances}
    alike = next((run for run in known["runs"] if {**run, "seeds": []} == wanted), None)
    if not alike:
        alike = wanted
        known["runs"].append(alike)
    alike["seeds"] = sorted([*alike["seeds"], seed])
    runs = [run for run in known["runs"] if run["seeds"]]
    runs.sort(key=lambda run: (run["module"], run["experiment"], run["profile"], run["seeds"]))
    for id, of_claim in numbers.items():
        for name, value in of_claim.items():
            known["numbers"].setdefault(id, {}).setdefault(name, {})[seed] = value
    _write(runs, known["numbers"], path)


def _write(runs, numbers, path):
    """A line for every run and every number that the ledger keeps, claims in its order."""
    lines = [_HEAD if path == MEASURED else _HEAD_OF_SPREAD, "runs:"]
    lines += [f"- {_flow(run)}" for run in runs]
    lines.append("numbers:")
    for id, claim in ledger().items():
        kept = {name: values for name, values in numbers.get(id, {}).items() if claim.keeps(name)}
        if kept:
            lines.append(f"  {id}:")
        for name, values in sorted(kept.items()):
            lines.append(f"    {_flow(name)}: {_flow(dict(sorted(values.items())))}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _parsed.cache_clear()  # two writings may fall into one tick of the file system's clock


_HEAD = ("# Written by `make claims`; change nothing here by hand. "
         "{seed: value}, real data; profile full unless a number names another.")

_HEAD_OF_SPREAD = ("# Written by `python -m lessons.kit.claims spread`; change nothing here by hand. "
                   "No bound was set on these seeds. {seed: value}, real data.")


def _flow(value):
    """YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return text.strip().removesuffix("\n...").strip()
