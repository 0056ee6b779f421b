"""docs/reliability.md: what was done to the course on purpose, what it answers, and which test does it.

`python -m tools.reliability` (`make reliability`) runs the tests that have the marker `fault` and writes the page from
those that ran. What follows the command goes to pytest, for example `-n 2`.
"""
import ast
import collections
import datetime
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/reliability.md"
MARKER = "fault"
PARTS = {
    "network": "The network",
    "data": "Files of data sets",
    "killed": "Processes that are killed, stopped or interrupted, or that run at once",
    "stored": "Stored models, sweeps and figures",
    "full": "Full disks",
    "shared": "Folders of others, and disks on a network",
    "cluster": "Work on other machines",
    "surroundings": "Odd surroundings, and code that changes",
    "answers": "What a learner's function does",
    "collect": "Notebooks that a class handed in",
    "votes": "A class that votes from its phones",
    "pages": "Names and texts in pages",
    "weights": "Weights that cannot be merged",
    "files": "Checkpoints and adapters from elsewhere",
    "fetched": "Checkpoints that are fetched",
    "written": "Merged models that are written",
}
PACKAGES = ("torch", "numpy", "scipy", "xarray", "matplotlib", "safetensors", "filelock", "pytest")
HEAD = """# What was broken on purpose

May you trust the course with your files and your time? Every row of this page is a test that causes a fault. It kills
a process, fills a disk, flips a bit of a file, or hands over a file that somebody made to do harm. Where a test cannot
cause a fault safely, it imitates it, and raises the error that the system would. The row says what is done, what the
course answers, and which test does it. A test that was skipped or failed is shown as such.
[The end of the page](#What-the-course-does-not-answer) says what the course does not answer.
`make reliability` runs these tests and writes this page.

Some words of the course appear in the rows. A *sweep* is a table of measurements, a *recipe* says how a network is
trained, and the *ledger* is the list of the papers' claims. A *stand-in* is drawn data that replaces a data set which
cannot be loaded. A *card* is the text beside a merged model that says what it was made of.
"""
TAIL = """## What the course does not answer

These trials were made too, and the course has no answer to them, or a weak one.

* **Code in a notebook runs as you**, so it can read, change and delete your files. Run only notebooks that you trust.
* **Whoever may write to the data folder is believed.** Every stored figure, model and sweep has a digest, which finds
  damage. The digest is no signature. A person who may write there can replace a figure and its digest, and scripts in
  that figure then run in the page. So give a class a shared store that only you can write (`WEIGHTSPACE_SHARED`).
* **A very slow download is not given up.** A server that is silent for five seconds is. One that sends a byte every
  second is not, because a slow network would look the same. The bar shows the speed, and you can interrupt it.
* **SVHN comes over http**, and so does Fashion-MNIST if its first address fails, because we know no other addresses.
  What comes is compared with a digest, which is only an MD5 for both.
* **A cell that replaces a function of the course changes what is measured.** What an answer to an exercise replaces is
  set back. What another cell replaces stays, and what is measured then is stored under the usual name. Restart the
  kernel after such an experiment, and delete what was stored meanwhile in `sweeps` and `zoo` of the data folder.
* **A function that replaces the handlers of the timer's signals escapes the time limit.** An interrupt from JupyterLab
  ends it all the same, unless it replaces that handler too.
* **A merge that needs more memory than there is ends in torch's own error**, or is ended by the system.
* **Names that differ in capitals alone are one file on Windows and macOS.** The names of stored models, sweeps and
  figures are digests in small letters, so this concerns only folders that you name yourself.

Not tried were loss of power, a real NFS server, macOS, native Windows and conda. Three faults on a hub are tried by
`make students` with `--faults` ([A class on a hub](class.md)), and not by the tests of this page.
"""


@dataclass(frozen=True)
class Trial:
    """A test with the marker, as it stands in its file.

    Attributes:
        part: one of `PARTS`.
        done: what is done to the course.
        answers: what the course answers.
        file: of the test, from the root of the repository.
        test: its name.
    """
    part: str
    done: str
    answers: str
    file: str
    test: str

    @property
    def id(self) -> str:
        """As pytest names it, without its parameters."""
        return f"{self.file}::{self.test}"

    def row(self, result: str) -> str:
        """A line of a table of the page."""
        link = f"[`{self.test}`](../{self.file})"
        return f"| {self.done} | {self.answers} | {link} | {result} |"


def trials() -> list[Trial]:
    """Every trial of every test, in the order of `PARTS`, then of the files. The files are read and not imported.

    Raises:
        ValueError: a marker says something else than a part, what is done, and what is answered.
    """
    found = [trial for path in sorted((ROOT / "tests").rglob("test_*.py")) for trial in _of_file(path)]
    order = list(PARTS)
    return sorted(found, key=lambda trial: order.index(trial.part))


def _of_file(path: Path) -> Iterator[Trial]:
    text = path.read_text(encoding="utf-8")
    if f"pytest.mark.{MARKER}(" not in text:
        return
    for node in ast.parse(text).body:
        for decorator in getattr(node, "decorator_list", ()):
            if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == f"pytest.mark.{MARKER}":
                yield _trial(decorator, path.relative_to(ROOT).as_posix(), node.name)


def _trial(decorator, file, test):
    try:
        part, done = (ast.literal_eval(argument) for argument in decorator.args)
        (answers,) = (ast.literal_eval(keyword.value) for keyword in decorator.keywords if keyword.arg == "answers")
    except ValueError:
        raise ValueError(f"{file}::{test}: write pytest.mark.{MARKER}(part, done, answers=…), three plain texts"
                         ) from None
    if part not in PARTS:
        raise ValueError(f"{file}::{test}: there is no part {part!r}; there are: {', '.join(PARTS)}")
    return Trial(part, done, answers, file, test)


def _without_paths(reason):
    """A text for the page, in which the folders of whoever ran the tests have no place."""
    for folder, word in ((os.environ.get("WEIGHTSPACE_DATA"), "$WEIGHTSPACE_DATA"), (str(ROOT), "")):
        reason = reason.replace(f"{folder}/", f"{word}/".lstrip("/")).replace(folder, word) if folder else reason
    return " ".join(reason.replace("|", " ").split())


@dataclass
class Results:
    """A plugin of pytest that remembers how every test ended, all its cases together.

    Attributes:
        outcomes: {test, as `Trial.id` names it: how each of its cases ended}.
        reasons: {test: why a case was skipped}.
    """
    outcomes: dict[str, collections.Counter] = field(
        default_factory=lambda: collections.defaultdict(collections.Counter))
    reasons: dict[str, str] = field(default_factory=dict)

    def pytest_runtest_logreport(self, report) -> None:
        """Called by pytest for the setup, the call and the teardown of every case."""
        name = report.nodeid.partition("[")[0]
        if report.outcome == "skipped":
            self.outcomes[name]["skipped"] += 1
            self.reasons[name] = _without_paths(report.longrepr[2].removeprefix("Skipped: "))
        elif report.outcome == "failed" or report.when == "call":
            self.outcomes[name][report.outcome] += 1

    def of(self, trial: Trial) -> str:
        """What the page says of a trial's result."""
        counts = self.outcomes.get(trial.id)
        if not counts:
            return "**not run**"
        cases = sum(counts.values())
        if counts["failed"]:
            return f"**failed** ({counts['failed']} of {cases})" if cases > 1 else "**failed**"
        if not counts["passed"]:
            return f"**skipped**: {self.reasons[trial.id]}"
        skipped = f", {counts['skipped']} skipped: {self.reasons[trial.id]}" if counts["skipped"] else ""
        return "passed" + (f", {counts['passed']} cases" if cases > 1 else "") + skipped


def page(found: Sequence[Trial], results: Results, ran: Mapping[str, str]) -> str:
    """The page.

    Args:
        ran: on what it ran: a word and its value for each line.
    """
    lines = [HEAD, *(f"* {what}: {value}" for what, value in ran.items()), ""]
    for part, heading in PARTS.items():
        if rows := [trial.row(results.of(trial)) for trial in found if trial.part == part]:
            lines += [f"## {heading}", "", "| what is done | what the course answers | test | result |",
                      "|---|---|---|---|", *rows, ""]
    return "\n".join([*lines, TAIL])


def surroundings(found: Sequence[Trial]) -> dict[str, str]:
    """Where and when the tests run, for the head of the page."""
    from lessons.kit import archive  # it imports torch, and nothing else here does
    here = archive.surroundings()
    return {"Trials": str(len(found)), "Day": datetime.date.today().isoformat(), "Commit": here["commit"],
            "Machine": f"{here['processor']}; {here['system']}", "Python": here["python"],
            "Versions": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)}


def main(arguments: Sequence[str]) -> int:
    """Run the tests and write the page; what pytest returns."""
    import pytest  # a learner has none
    found, results = trials(), Results()
    ran = surroundings(found)  # before, since the code may change while it runs
    files = list(dict.fromkeys(str(ROOT / trial.file) for trial in found))
    code = pytest.main(["-m", MARKER, "-q", *arguments, *files], plugins=[results])
    PAGE.write_text(page(found, results, ran), encoding="utf-8")
    print(PAGE.relative_to(ROOT), "written")
    return int(code)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
