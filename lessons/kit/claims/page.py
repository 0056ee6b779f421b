"""Showing claims: in a chapter, in CLAIMS.md, which is an index, and on the pages in docs/claims."""
import statistics
from pathlib import Path

import jinja2

from lessons.kit.claims import model
from lessons.kit.claims.model import Claim, Condition, Shown, ledger, measured, more_seeds, sources
from lessons.kit.page import Markup, Page, digits, folded, quiet, table

ROOT = Path(__file__).parents[3]
INDEX = "CLAIMS.md"
FOLDER = "docs/claims"  # of the pages of the sources, and of runs.md


def show(numbers: dict[str, dict[str, float]], caption: str) -> Page:
    """A chapter's claims beside what was measured here and now, each under a line that opens it.

    Args:
        numbers: {claim: {number: value}}, as a chapter's `claims(sweep)` returns it. Conditions on numbers that are not
            there, since they belong to another profile, are shown with the ledger's values alone.
        caption: what was measured on.
    """
    shown, lines = Markup(""), []
    for id, here in numbers.items():
        claim = ledger()[id]
        carried = _carried(claim, here)
        shown += _shown(claim, here, measured().get(id, {}), carried)
        doubt = {True: "", False: " (the numbers measured here do not carry it)", None: f" ({_UNJUDGED})"}[carried]
        lines.append(f"{id}, {claim.verdict}{doubt}: {here}")
    return Page("\n".join(lines), shown + quiet(caption))


def brief(numbers: dict[str, dict[str, float]]) -> Page:
    """A line for every claim: where the source says what, the verdict, and whether those numbers that were measured
    here lie where it needs them; a dash where none of its conditions was measured here.

    Args:
        numbers: as in `show`.
    """
    rows = []
    for id, here in numbers.items():
        claim = ledger()[id]
        verdict, mark = claim.verdict, _MARKS[_carried(claim, here)]
        rows.append((claim.place, claim.says, verdict.finding, verdict.explanation, verdict.formula, mark))
    unjudged = any(row[-1] == _MARKS[None] for row in rows)
    return table(("where", "what the source says", "finding observed", "explanation survives", "formula right", "here"),
                 rows, left=2, after=quiet(f"– in the last column: {_UNJUDGED}.") if unjudged else "")


_MARKS = {True: "✓", False: "✗", None: "–"}
_UNJUDGED = "the numbers that the verdict needs belong to another profile, or were not measured here"


def _carried(claim, numbers):
    """Whether those conditions hold whose numbers were measured here; None where there are none."""
    judged = [condition.holds(numbers[condition.number]) for condition in claim.conditions
              if condition.number in numbers]
    return all(judged) if judged else None


def _shown(claim, here, known, carried):
    """One claim as HTML. A line says what it claims and the verdict. It opens to why, to a row for every number that
    its page shows, and, in a fold of its own, to what else came out."""
    note = ""
    if carried is None:
        note = Markup("<br>Not judged here: {}.").format(_UNJUDGED)
    elif not carried:
        note = Markup("<br><b>The numbers measured here do not carry this verdict</b>: other data, or another seed?")
    rows = [_row(number, here.get(number.number), known.get(number.number)) for number in claim.numbers]
    title = Markup("<b>{} ({}):</b> {} <b>{}</b> {}").format(
        claim.id, claim.place, claim.says, str(claim.verdict).capitalize(), _MARKS[carried])
    mistake = f" In the formula, {claim.verdict.mistake}." if claim.verdict.mistake else ""
    why = Markup("<p>Scope: {}.{} {}{}</p>").format(claim.verdict.scope, mistake, claim.why, note)
    numbers = table(("number", "here", "ledger, real data", "the verdict needs"), rows, before=why)
    more = Page(claim.more, Markup("<p>{}</p>").format(claim.more))
    return folded(title, numbers, *([folded("More on what came out", more)] if claim.more else [])).page


def _row(number: Shown, value, known):
    """A number's row: what it is, its value here, the ledger's, and the bounds, if it is a condition."""
    written = "–" if value is None else digits(value)
    if not isinstance(number, Condition):
        return number.means, written, span(known), ""
    mark = "" if value is None else "✓ " if number.holds(value) else "✗ "
    return number.means, written, span(known), mark + number.bounds


def span(values: list[float] | None) -> str:
    """The smallest and largest of some measured values, and how many there are."""
    if not values:
        return "not yet measured"
    if len(values) == 1:
        return f"{digits(values[0])} (1 seed)"
    if min(values) == max(values):
        return f"{digits(values[0])} on each of {len(values)} seeds"
    return f"{digits(min(values))} … {digits(max(values))} ({len(values)} seeds)"


def spread(values: list[float] | None) -> str:
    """Mean and standard deviation over seeds, and the `span`; the span alone where all are the same."""
    if not values or min(values) == max(values):
        return span(values)
    return f"{digits(statistics.fmean(values))} ± {statistics.stdev(values):.2g}; {span(values)}"


def fared(claim: Claim) -> str:
    """How the conditions of a claim fared on seeds that no bound was set on, in a sentence; "" where none was tried."""
    values = more_seeds().get(claim.id, {})
    tried = [condition for condition in claim.conditions if condition.number in values]
    held = {}  # {seed: whether all conditions hold that were tried}
    for condition in tried:
        for seed, value in values[condition.number].items():
            held[seed] = held.get(seed, True) and condition.holds(value)
    if not tried:
        return ""
    count = f"{len(held)} more seed{'' if len(held) == 1 else 's'}"
    which = "its condition was" if len(claim.conditions) == 1 else \
        f"{len(tried)} of its {len(claim.conditions)} conditions {'was' if len(tried) == 1 else 'were'}"
    return (f"On {count}, on which no bound was set ({_ranges(held)}), {which} tried; "
            f"{'it holds' if len(tried) == 1 else 'they hold'} on {sum(held.values())} of {len(held)}.")


def elsewhere(claim: Claim, number: str) -> str:
    """What seeds that no bound was set on gave for a number, to stand behind its `spread`; "" where none did."""
    values = list(more_seeds().get(claim.id, {}).get(number, {}).values())
    return f"; other seeds: {spread(values)}" if values else ""


def _ranges(numbers):
    """Whole numbers, those in a row as a range: "10–12, 29"."""
    parts = []
    for number in sorted(numbers):
        if parts and parts[-1][-1] == number - 1:
            parts[-1][1:] = [number]
        else:
            parts.append([number])
    return ", ".join("–".join(map(str, part)) for part in parts)


def mean(values: list[float] | None) -> str:
    """The mean over seeds, to three digits."""
    return digits(statistics.fmean(values), 3) if values else "not yet measured"


def pages() -> dict[str, str]:
    """What `make claims` writes: {path below the repository's root: text}."""
    rooms = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), trim_blocks=True,
                               lstrip_blocks=True, keep_trailing_newline=True)
    by_source = {key: [claim for claim in ledger().values() if claim.source == key] for key in sources()}
    common = {"measured": measured(), "spread": spread, "mean": mean, "fared": fared, "elsewhere": elsewhere,
              "pages": FOLDER}
    made = {INDEX: rooms.get_template("index.md.j2").render(claims=by_source, sources=sources(), **common)}
    for key, claims in by_source.items():
        made[f"{FOLDER}/{key.lower()}.md"] = rooms.get_template("source.md.j2").render(
            source=sources()[key], claims=claims, others=_others, **common)
    made[f"{FOLDER}/runs.md"] = rooms.get_template("runs.md.j2").render(runs=model.runs())
    return made


def _others(claim: Claim) -> dict[str, list[float]]:
    """The numbers that are kept and that no row shows, by name."""
    rows = {number.number for number in claim.numbers}
    return {name: values for name, values in measured().get(claim.id, {}).items() if name not in rows}


def write() -> None:
    """Write the index and the pages."""
    for name, text in pages().items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
