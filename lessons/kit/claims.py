"""The ledger of claims: what the sources say, how the course measures it, what came out.

`claims.yaml` is written by hand: the claim, the measurement, the verdict, and the conditions that carry the verdict.
`measured.yaml` holds the numbers measured on the real data, and where and when they were, and is written by `make
claims` (`python -m lessons.kit.claims`), as is CLAIMS.md, which shows both.

A measured claim names a module, which lists in LEDGER the experiments that measure it, each with the profiles and seeds
with which the ledger asks it.

What the ledger promises is the verdict. A rerun is judged by `confirmed`: with other networks, or another processor,
numbers may differ as long as the conditions hold.
"""
import argparse
import copy
import fnmatch
import importlib
import statistics
import sys
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import jinja2
import pydantic
import yaml
from scipy.special import stdtrit

from lessons.kit import archive
from lessons.kit.experiment import Collection, Experiment
from lessons.kit.page import Markup, Page, quiet, table

_HERE = Path(__file__).parent
_LESSONS = _HERE.parent
LEDGER = _LESSONS / "claims.yaml"
MEASURED = _LESSONS / "measured.yaml"
MARKDOWN = _LESSONS.parent / "CLAIMS.md"
# a number without a condition is doubted where one more seed would lie outside its interval with this probability
SURE = 0.999
Numbers = dict[str, dict[str, float]]  # {claim: {number: value}}
Answer = Literal["yes", "partly", "no", "–"]


class Condition(pydantic.BaseModel, extra="forbid"):
    """A number of the measurement and the bounds within which the verdict stands; `moved` says which bound stood
    before, and why it moved."""
    number: str
    means: str
    at_least: float | None = None
    at_most: float | None = None
    moved: str = ""

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
            parts.append(f"at least {self.at_least:g}")
        if self.at_most is not None:
            parts.append(f"at most {self.at_most:g}")
        return " and ".join(parts) or "no bound"


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
        place: where the source says it.
        says: the claim, in our words.
        measure: how the course measures it.
        chapter: the notebook that does.
        measured_by: the module whose LEDGER lists what measures it; None while no chapter does.
        also_by: other modules that measure further numbers of it, on other networks.
        verdict: what became of it; None while no chapter measures it.
        why: what carries the verdict, and where it departs from the source.
        conditions: what must hold of the measured numbers for the verdict to stand.
        shown: further numbers that the ledger keeps since a sentence or table of the course uses them; * stands for any
            letters.
    """
    id: str
    place: str
    says: str
    measure: str
    chapter: int
    measured_by: str | None = None
    also_by: list[str] = []
    verdict: Verdict | None = None
    why: str = ""
    conditions: list[Condition] = []
    shown: list[str] = []

    @pydantic.model_validator(mode="after")
    def _complete(self):
        if self.measured_by and not (self.conditions and self.why and self.verdict):
            raise ValueError(f"{self.id} is measured, so it needs conditions, a verdict and a why")
        if not self.measured_by and self.verdict:
            raise ValueError(f"{self.id} has a verdict and no measurement")
        return self

    @property
    def modules(self) -> list[str]:
        """All that measure it."""
        return [self.measured_by, *self.also_by] if self.measured_by else []

    def keeps(self, number: str) -> bool:
        """Whether the ledger keeps a number of this name: a condition or a sentence uses it."""
        return any(condition.number == number for condition in self.conditions) or any(
            fnmatch.fnmatchcase(number, pattern) for pattern in self.shown)

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


def condition(id: str, number: str) -> Condition:
    """The condition of a claim on one of its numbers: a sentence that judges this number asks it, so that both say the
    same."""
    return next(condition for condition in ledger()[id].conditions if condition.number == number)


def measured() -> dict[str, dict[str, list[float]]]:
    """The ledger's numbers: {claim: {number: [one value a seed]}}; empty before the first `make claims`."""
    numbers = _kept()["numbers"]
    return {id: {name: list(values.values()) for name, values in of_claim.items()} for id, of_claim in numbers.items()}


def _kept():
    """measured.yaml: runs, and numbers {claim: {number: {seed: value}}}; shared, so not to be changed."""
    if not MEASURED.exists():
        return {"runs": [], "numbers": {}}
    file = MEASURED.stat()
    return _parsed(MEASURED, file.st_mtime_ns, file.st_size)


@lru_cache(maxsize=1)
def _parsed(path, _changed, _size):
    """What the file holds, read once as long as it stays the same: a chapter's table asks for it twelve times, and it
    takes 0.2 s."""
    return _read(path)


def _read(path):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C one is ten times faster
    return yaml.load(path.read_text(encoding="utf-8"), loader)


def confirmed(numbers: Numbers) -> list[str]:
    """What a rerun says against the ledger, a sentence each; nothing where the verdicts stand.

    A number with a condition must lie within its bounds. One without must lie where the ledger's own seeds say that one
    more seed lies (`expected`). Numbers that the ledger does not keep are not judged.
    """
    doubts = []
    for id, here in numbers.items():
        claim = ledger()[id]
        known = measured().get(id, {})
        for condition in claim.conditions:
            value = here.get(condition.number)
            if value is not None and not condition.holds(value):
                doubts.append(f"{id}: {condition.number} is {value:.4g}; the verdict needs {condition.bounds}")
        conditions = {condition.number for condition in claim.conditions}
        for name, value in here.items():
            values = known.get(name, [])
            if name in conditions or not claim.keeps(name) or len(values) < 2:
                continue
            low, high = expected(values)
            if not low <= value <= high:
                doubts.append(f"{id}: {name} is {value:.4g}; "
                              f"the ledger's {len(values)} seeds put it between {low:.4g} and {high:.4g}")
    return doubts


def expected(values: list[float]) -> tuple[float, float]:
    """Where the value of one more seed lies, by two or more seeds' values: the prediction interval of a normal
    distribution.

    mean ± t · s · √(1 + 1/n), where s is the standard deviation over the n seeds and t the quantile of Student's
    distribution with n − 1 degrees of freedom that leaves 0.1 % outside. Three seeds say little, so theirs is wide. A
    spread below the sixth digit, to which the ledger rounds, counts as that digit.
    """
    n = len(values)
    mean = statistics.fmean(values)
    spread = max(statistics.stdev(values), 1e-6 * abs(mean), 1e-9)
    reach = stdtrit(n - 1, (1 + SURE) / 2) * spread * (1 + 1 / n) ** 0.5
    return mean - reach, mean + reach


def show(numbers: dict[str, dict[str, float]], caption: str) -> Page:
    """A chapter's claims beside what was measured here and now.

    Args:
        numbers: {claim: {number: value}}, as a chapter's `claims(sweep)` returns it. Conditions on numbers that are not
            there, since they belong to another profile, are shown with the ledger's values alone.
        caption: what was measured on.
    """
    shown, lines = Markup(""), []
    for id, here in numbers.items():
        claim = ledger()[id]
        stands = all(condition.holds(here[condition.number]) for condition in claim.conditions
                     if condition.number in here)
        shown += _shown(claim, here, measured().get(id, {}), stands)
        doubt = "" if stands else " (the numbers measured here do not carry it)"
        lines.append(f"{id}, {claim.verdict}{doubt}: {here}")
    return Page("\n".join(lines), shown + quiet(caption))


def brief(numbers: dict[str, dict[str, float]]) -> Page:
    """A line for every claim: where the source says what, the verdict, and whether those numbers that were measured
    here lie where it needs them.

    Args:
        numbers: as in `show`.
    """
    rows = []
    for id, here in numbers.items():
        claim = ledger()[id]
        judged = [condition.holds(here[condition.number]) for condition in claim.conditions
                  if condition.number in here]
        carried = "✓" if all(judged) else "✗"
        verdict = claim.verdict
        rows.append((claim.place, claim.says, verdict.finding, verdict.explanation, verdict.formula, carried))
    return table(("where", "what the source says", "finding observed", "explanation survives", "formula right", "here"),
                 rows, left=2)


def _shown(claim, here, known, stands):
    """One claim as HTML: what it says, its verdict, and a row for every condition."""
    note = ""
    if not stands:
        note = Markup("<br><b>The numbers measured here do not carry this verdict</b>: other data, or another seed?")
    rows = []
    for condition in claim.conditions:
        value = here.get(condition.number)
        mark = "" if value is None else "✓ " if condition.holds(value) else "✗ "
        written = "–" if value is None else f"{value:.4g}"
        rows.append((condition.means, written, span(known.get(condition.number)), mark + condition.bounds))
    head = Markup("<h4>{} ({}): {}</h4>").format(claim.id, claim.place, claim.says)
    mistake = f" In the formula, {claim.verdict.mistake}." if claim.verdict.mistake else ""
    verdict = Markup("<p><b>{}</b> ({}).{} {}{}</p>").format(
        str(claim.verdict).capitalize(), claim.verdict.scope, mistake, claim.why, note)
    return table(("number", "here", "ledger, real data", "the verdict needs"), rows, before=head + verdict).page


def span(values: list[float] | None) -> str:
    """The smallest and largest of some measured values, and how many there are."""
    if not values:
        return "not yet measured"
    if len(values) == 1:
        return f"{values[0]:.4g} (1 seed)"
    return f"{min(values):.4g} … {max(values):.4g} ({len(values)} seeds)"


def spread(values: list[float] | None) -> str:
    """Mean and standard deviation over seeds, and the `span`."""
    if not values or len(values) == 1:
        return span(values)
    return f"{statistics.fmean(values):.4g} ± {statistics.stdev(values):.2g}; {span(values)}"


def remeasure(experiment: Experiment | Collection, profile: str, seed: int) -> Numbers:
    """Measure; the numbers that the ledger keeps.

    Raises:
        data.store.Unavailable: the data are a stand-in; the ledger is about the real ones.
    """
    kept = {}
    for id, numbers in experiment.numbers(profile, seed).items():
        claim = ledger()[id]
        kept[id] = {name: float(f"{value:.6g}") for name, value in numbers.items() if claim.keeps(name)}
    return kept


def measuring() -> list[str]:
    """The modules that measure claims."""
    return list(dict.fromkeys(module for claim in ledger().values() for module in claim.modules))


def of_ledger(module: str) -> tuple[Experiment | Collection, ...]:
    """The experiments by which a module measures its claims: those that it lists in LEDGER."""
    return importlib.import_module(module).LEDGER


def keep(module: str, experiment: str, profile: str, seed: int, numbers: Numbers,
         circumstances: dict[str, str]) -> None:
    """Write one measurement to measured.yaml, in place of an earlier one of the same experiment, profile and seed.

    Args:
        module: of the experiment.
        experiment: its name.
        circumstances: where and when it was measured; see `archive.circumstances`.
    """
    known = copy.deepcopy(_kept())
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
    _write(runs, known["numbers"])


def _write(runs, numbers):
    """measured.yaml: a line for every run and every number that the ledger keeps, claims in its order."""
    lines = [_HEAD, "runs:"]
    lines += [f"- {_flow(run)}" for run in runs]
    lines.append("numbers:")
    for id, claim in ledger().items():
        kept = {name: values for name, values in numbers.get(id, {}).items() if claim.keeps(name)}
        if kept:
            lines.append(f"  {id}:")
        for name, values in sorted(kept.items()):
            lines.append(f"    {_flow(name)}: {_flow(dict(sorted(values.items())))}")
    MEASURED.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _parsed.cache_clear()  # two writings may fall into one tick of the file system's clock


_HEAD = ("# Written by `make claims`; change nothing here by hand. "
         "{seed: value}, real data; profile full unless a number names another.")


def _flow(value):
    """YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10_000)
    return text.strip().removesuffix("\n...").strip()


def markdown() -> str:
    """CLAIMS.md: the ledger and its numbers."""
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(_HERE), trim_blocks=True, lstrip_blocks=True,
                                     keep_trailing_newline=True)
    template = environment.get_template("claims.md.j2")
    return template.render(claims=ledger().values(), measured=measured(), runs=_kept()["runs"], spread=spread)


def main(arguments=None) -> int:
    """`python -m lessons.kit.claims`: measure again, write measured.yaml after every seed, and CLAIMS.md."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--page", action="store_true", help="write CLAIMS.md from the numbers that are there")
    parser.add_argument("--only", action="append", metavar="MODULE",
                        help="measure the claims of this module, or of those inside it, and keep the other numbers")
    parser.add_argument("--experiment", metavar="NAME", help="of these the experiment with this name alone")
    parser.add_argument("--seeds", nargs="+", type=int, metavar="SEED",
                        help="measure these seeds alone and keep those of others")
    parser.add_argument("--unseen", nargs="+", type=int, metavar="SEED",
                        help="measure these seeds, write nothing, and say which conditions they do not confirm")
    parser.add_argument("--long", action="store_true",
                        help="with --unseen: also what takes more than a quarter of an hour a seed")
    options = parser.parse_args(arguments)
    try:
        asked = [] if options.page else _chosen(options.only, options.experiment)
        if options.unseen:
            return _try_unseen(asked, options.unseen, options.long)
        circumstances = archive.committed() if asked else {}
    except ValueError as error:
        parser.error(str(error))
    for module, experiment in asked:
        for profile, seed in _asked(experiment, options.seeds):
            numbers = remeasure(experiment, profile, seed)
            keep(module, experiment.name, profile, seed, numbers, circumstances)
            for doubt in confirmed(numbers):
                print(f"seed {seed}: {doubt}", file=sys.stderr)
    MARKDOWN.write_text(markdown(), encoding="utf-8")
    for line in [] if options.page else archive.changed():
        print(line, file=sys.stderr)
    return 0


def _chosen(names, experiment):
    """[(module, experiment)] of the ledger: all of them, or those of the named modules and packages.

    Raises:
        ValueError: no module that measures claims has such a name, or none of them such an experiment.
    """
    modules = measuring()
    for name in names or []:
        if not any(_lies_in(module, name) for module in modules):
            raise ValueError(f"{name} measures no claim. These modules do: {', '.join(modules)}")
    found = [(module, one) for module in modules for one in of_ledger(module)
             if names is None or any(_lies_in(module, name) for name in names)]
    chosen = [(module, one) for module, one in found if experiment in (None, one.name)]
    if not chosen:
        raise ValueError(f"there is no experiment {experiment!r}. "
                         f"There are: {', '.join(one.name for _, one in found)}")
    return chosen


def _lies_in(module, name):
    return module == name or module.startswith(f"{name}.")


def _asked(experiment, seeds):
    """(profile, seed) with which the ledger asks an experiment; where seeds are given, these alone."""
    for profile, of_profile in experiment.ledger.items():
        for seed in of_profile:
            if seeds is None or seed in seeds:
                yield profile, seed


def _try_unseen(chosen, seeds, long):
    """Measure seeds that no bound was set on, in the profiles of the ledger, and say how many conditions hold."""
    wanted = [one for _, one in chosen if long or not one.long]
    left_out = [one.name for _, one in chosen if one not in wanted]
    held = failed = 0
    for experiment in wanted:
        for profile in experiment.ledger:
            for seed in seeds:
                wrong, tried = _wrong(remeasure(experiment, profile, seed))
                held += tried - len(wrong)
                failed += len(wrong)
                for id, condition, value in wrong:
                    print(f"seed {seed}: {id} {condition.number} is {value:.4g}, the verdict needs {condition.bounds}")
    if left_out:
        print(f"Not tried, because one seed takes more than a quarter of an hour: {', '.join(left_out)}. "
              "Add --long to try these too.")
    if held + failed:
        print(f"{held} of {held + failed} conditions hold")
    else:
        print("No condition was tried.")
    return 0 if held + failed else 1


def _wrong(numbers):
    """The conditions that these numbers do not meet, [(claim, condition, value)], and how many they speak to."""
    wrong, tried = [], 0
    for id, of_claim in numbers.items():
        for condition in ledger()[id].conditions:
            if condition.number in of_claim:
                value = of_claim[condition.number]
                tried += 1
                if not condition.holds(value):
                    wrong.append((id, condition, value))
    return wrong, tried


if __name__ == "__main__":
    sys.exit(main())
