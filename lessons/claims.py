"""The ledger of claims: what the sources say, how the course measures it, what came out.

`claims.yaml` is written by hand: the claim, the measurement, the verdict, and the conditions that carry the verdict. `measured.yaml` holds
the numbers measured on the real data and is written by `make claims` (`python -m lessons.claims`), as is CLAIMS.md, which shows both.

A measured claim names a module with `run(profile, seed)` and `claims(sweep)`. It is measured in profile "full" with three seeds, unless the
module says otherwise in LEDGER = {profile: seeds}; the numbers of such a module begin with the name of their profile.
"""
import argparse
import html
import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Literal

import jinja2
import pydantic
import yaml

from data import store
from lessons.exercise import Page

_HERE = Path(__file__).parent
LEDGER, MEASURED, MARKDOWN = _HERE / "claims.yaml", _HERE / "measured.yaml", _HERE.parent / "CLAIMS.md"
SEEDS = (0, 1, 2)
Verdict = Literal["reproduced", "reproduced with a change", "not reproduced here", "contradicted", "not tested", "open"]


class Condition(pydantic.BaseModel, extra="forbid"):
    """A number of the measurement and the bounds within which the verdict stands."""
    number: str
    means: str
    at_least: float | None = None
    at_most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a measured value lies within the bounds."""
        return (self.at_least is None or value >= self.at_least) and (self.at_most is None or value <= self.at_most)

    @property
    def bounds(self) -> str:
        """The bounds in words."""
        parts = [f"at least {self.at_least:g}" if self.at_least is not None else "", f"at most {self.at_most:g}" if self.at_most is not None else ""]
        return " and ".join(part for part in parts if part) or "no bound"


class Claim(pydantic.BaseModel, extra="forbid"):
    """One claim of a source.

    Attributes:
        id: "CTL-2".
        place: where the source says it.
        says: the claim, in our words.
        measure: how the course measures it.
        chapter: the notebook that does.
        measured_by: the module whose `claims(sweep)` returns its numbers; None while no chapter measures it.
        verdict: one of the course's verdicts; "open" while its chapter is not written.
        why: what carries the verdict, and where it departs from the source.
        conditions: what must hold of the measured numbers for the verdict to stand.
    """
    id: str
    place: str
    says: str
    measure: str
    chapter: int
    measured_by: str | None = None
    verdict: Verdict = "open"
    why: str = ""
    conditions: list[Condition] = []

    @pydantic.model_validator(mode="after")
    def _complete(self):
        if self.measured_by and not (self.conditions and self.why and self.verdict not in ("open", "not tested")):
            raise ValueError(f"{self.id} is measured, so it needs conditions, a verdict and a why")
        if not self.measured_by and self.verdict not in ("open", "not tested"):
            raise ValueError(f"{self.id} has the verdict {self.verdict!r} and no measurement")
        return self

    @property
    def source(self) -> str:
        """The short key of the source: "CTL"."""
        return self.id.split("-")[0]


@cache
def ledger() -> dict[str, Claim]:
    """All claims by id.

    Raises:
        pydantic.ValidationError: the ledger is not well formed.
    """
    return {entry["id"]: Claim(**entry) for entry in _read(LEDGER)}


def measured() -> dict[str, dict[str, list[float]]]:
    """The ledger's numbers: {claim: {number: [one value a seed]}}; empty before the first `make claims`."""
    return _read(MEASURED)["numbers"] if MEASURED.exists() else {}


def _read(path):
    return yaml.load(path.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # the C one is ten times faster


def show(numbers: dict[str, dict[str, float]], caption: str) -> Page:
    """A chapter's claims beside what was measured here and now.

    Args:
        numbers: {claim: {number: value}}, as a chapter's `claims(sweep)` returns it. Conditions on numbers that are not there, since they
            belong to another profile, are shown with the ledger's values alone.
        caption: what was measured on.
    """
    rows, lines, ledger_numbers = [], [], measured()
    for id, here in numbers.items():
        claim, known = ledger()[id], ledger_numbers.get(id, {})
        cells = "".join(_row(condition, here.get(condition.number), known.get(condition.number)) for condition in claim.conditions)
        stands = all(condition.holds(here[condition.number]) for condition in claim.conditions if condition.number in here)
        note = "" if stands else "<br><b>The numbers measured here do not carry this verdict</b>: other data, or another seed?"
        rows.append(f"<h4>{id} ({html.escape(claim.place)}): {html.escape(claim.says)}</h4><p>Verdict: <b>{claim.verdict}</b>. {html.escape(claim.why)}{note}</p>"
                    f"<table><tr><th style='text-align:left'>number</th><th>here</th><th>ledger, real data</th><th>the verdict needs</th></tr>{cells}</table>")
        lines.append(f"{id} {claim.verdict}{'' if stands else ' (the numbers measured here do not carry it)'}: {here}")
    return Page("\n".join(lines), f"{''.join(rows)}<p style='color:#555'>{html.escape(caption)}</p>")


def _row(condition, value, known):
    mark = "" if value is None else "✓ " if condition.holds(value) else "✗ "
    shown = "–" if value is None else f"{value:.4g}"
    return f"<tr><td style='text-align:left'>{html.escape(condition.means)}</td><td>{shown}</td><td>{span(known)}</td><td>{mark}{condition.bounds}</td></tr>"


def span(values: list[float] | None) -> str:
    """The smallest and largest of some measured values, and how many there are."""
    if not values:
        return "not yet measured"
    return f"{values[0]:.4g} (1 seed)" if len(values) == 1 else f"{min(values):.4g} … {max(values):.4g} ({len(values)} seeds)"


def remeasure(modules=None) -> dict[str, dict[str, list[float]]]:
    """Run the experiments behind the measured claims; {claim: {number: [one value a seed]}}.

    Args:
        modules: names of those to run; all where None.

    Raises:
        data.store.Unavailable: the data are a stand-in; the ledger is about the real ones.
    """
    result = {}
    for module in modules or measuring():
        experiment = importlib.import_module(module)
        for profile, seeds in ledger_profiles(experiment).items():
            for seed in seeds:
                sweep = experiment.run(profile, seed)
                if sweep.attrs["source_kind"] == "stand-in":
                    raise store.Unavailable(f"the ledger is about the real data, and here is only the {sweep.attrs['source']}")
                for id, numbers in experiment.claims(sweep).items():
                    for name, value in numbers.items():
                        result.setdefault(id, {}).setdefault(name, []).append(float(f"{value:.6g}"))
    return result


def measuring() -> list[str]:
    """The modules that measure claims."""
    return list(dict.fromkeys(claim.measured_by for claim in ledger().values() if claim.measured_by))


def ledger_profiles(experiment) -> dict[str, tuple[int, ...]]:
    """{profile: seeds} that a measuring module is run with for the ledger."""
    return getattr(experiment, "LEDGER", {"full": SEEDS})


def markdown() -> str:
    """CLAIMS.md: the ledger and its numbers."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_HERE), trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    return environment.get_template("claims.md.j2").render(claims=ledger().values(), measured=measured(), seeds=SEEDS, span=span)


def main(arguments=None) -> int:
    """`python -m lessons.claims`: measure again, write measured.yaml and CLAIMS.md; with --only MODULE, measure that module's claims alone;
    with --page, write CLAIMS.md alone."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--page", action="store_true", help="write CLAIMS.md from the numbers that are there")
    parser.add_argument("--only", action="append", metavar="MODULE", help="measure the claims of this module and keep the other numbers")
    options = parser.parse_args(arguments)
    if not options.page:
        new = remeasure(options.only)
        numbers = {id: new.get(id) or measured().get(id) for id in ledger() if id in new or id in measured()}
        head = "# Written by `make claims`; change nothing here by hand. One value a seed, real data; profile full unless a number names another.\n"
        MEASURED.write_text(head + yaml.safe_dump({"seeds": list(SEEDS), "numbers": numbers}, sort_keys=False), encoding="utf-8")
        for id, claim in ledger().items():
            for condition in claim.conditions:
                for seed, value in enumerate(numbers.get(id, {}).get(condition.number, [])):
                    if not condition.holds(value):
                        print(f"{id}: {condition.number} is {value:.4g} for seed {seed}; the verdict {claim.verdict!r} needs {condition.bounds}", file=sys.stderr)
    MARKDOWN.write_text(markdown(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
