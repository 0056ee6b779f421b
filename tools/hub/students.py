"""Simulated students on a running hub: they all open a lesson at once and run all its cells.

    make hub                                               in one terminal
    python -m tools.hub.students 30 00_start_here          in another

It prints the errors, the models that somebody trained although the shared store should have them, and what each student
took. Three of them sit before a real Chromium, where one is installed (--browsers). With --faults some then do what
students do: one ends a kernel in training, the disk of one is full, and the shared store goes away and comes back.
"""
import argparse
import contextlib
import functools
import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import nbformat

from lessons.kit import chapters
from tools import lab
from tools.hub import class_folder, faults, measure
from tools.hub.class_folder import Start
from tools.hub.student import Ran, Student


@dataclass
class Trial:
    """What came of a class.

    Attributes:
        ran: {student: their notebook}.
        arrived: {student: seconds until the server was ready}.
        costs: {student: what their processes took when they were last seen with a kernel}.
        most: the largest sum of all students' memory that was seen, in MB.
        seconds: from the first request to the last cell.
        trained: {student: models in their own store}.
        disk: {student: MB of their home}.
        new_in_shared: files of the shared store that are new, gone or changed; nobody may write there.
    """
    ran: dict[str, Ran] = field(default_factory=dict)
    arrived: dict[str, float] = field(default_factory=dict)
    costs: dict[str, measure.Cost] = field(default_factory=dict)
    most: float = 0
    seconds: float = 0
    trained: dict[str, int] = field(default_factory=dict)
    disk: dict[str, float] = field(default_factory=dict)
    new_in_shared: list[str] = field(default_factory=list)

    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def look(self, names: list[str], one: str = "") -> None:
        """Note what students take now, all of them or one."""
        now = measure.costs([one] if one else names)
        with self._lock:
            if not one:
                self.most = max(self.most, sum(cost.memory for cost in now.values()))
            for name, cost in now.items():
                if cost.running and cost.kernel_seconds >= self.costs.get(name, measure.Cost()).kernel_seconds:
                    self.costs[name] = cost

    @property
    def errors(self) -> list[str]:
        """All of them, each with the student's name."""
        return [f"{name}: {error}" for name, ran in self.ran.items() for error in ran.errors]


def in_chromium(start: Start, name: str, place: str) -> tuple[float, Ran]:
    """A student who logs in with name and password in Chromium, opens a lesson and runs all its cells.

    Returns:
        Seconds until JupyterLab was there, and what came of the lesson.
    """
    began = time.monotonic()
    with lab.chromium() as page:
        page.goto(f"{start.url}/hub/login?next=%2Fhub%2Fspawn", timeout=120_000)
        page.locator("#username_input").fill(name)
        page.locator("#password_input").fill(start.password)
        page.locator("#login_submit").click()
        page.wait_for_url(f"**/user/{name}/lab**", timeout=150_000)
        lab.until(page, f"JupyterLab of {name}", "() => window.jupyterapp", seconds=150)
        arrived, began = time.monotonic() - began, time.monotonic()
        wrong = lab.run_all(page, f"{start.url}/user/{name}/lab/tree/notebooks/{{name}}?reset", place, seconds=600)
        cells = page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets"
                              ".filter((cell) => cell.model.executionCount).length")
        ran = Ran(cells, time.monotonic() - began, wrong + page.errors)
        page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    return arrived, ran


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """{file: its bytes, and the time of its last change in nanoseconds} of a store."""
    found = {path.relative_to(folder).as_posix(): path.stat() for path in folder.rglob("*") if path.is_file()}
    return {place: (status.st_size, status.st_mtime_ns) for place, status in found.items()}


def together(start: Start, folder: Path, count: int, stem: str, browsers: int = 0, prefix: str = "student") -> Trial:
    """Let students run a lesson at once.

    Args:
        folder: the class's.
        count: how many students.
        stem: of the lesson, "00_start_here".
        browsers: how many of them sit before Chromium.
        prefix: of their names.
    """
    place, trial = chapters.chapter(stem).place, Trial()
    names = [f"{prefix}{i:02}" for i in range(count)]
    shared, homes = Path(start.shared), folder / "learners"
    before = files_of(shared)
    last = len(nbformat.read(chapters.chapter(stem).notebook, as_version=4).cells)  # where the kernel has all it needs

    def look_at_the_end(name, place):
        if place == last:
            trial.look(names, name)

    def attend(name):
        if name in names[:browsers]:
            return in_chromium(start, name, place)
        student = Student(start, name)
        return student.arrive(), student.work(f"notebooks/{place}", functools.partial(look_at_the_end, name))

    began = time.monotonic()
    with ThreadPoolExecutor(count) as pool, _looking(trial, names):
        for name, outcome in [(name, pool.submit(attend, name)) for name in names]:
            try:
                trial.arrived[name], trial.ran[name] = outcome.result()
            except Exception as error:  # one student's trouble is told, and the others go on
                trial.ran[name] = Ran(errors=[f"{type(error).__name__}: {error}"])
    trial.seconds = time.monotonic() - began
    trial.trained = {name: measure.trained(homes / name) for name in names}
    trial.disk = {name: measure.disk(homes / name) for name in names}
    trial.new_in_shared = sorted({place for place, _ in files_of(shared).items() ^ before.items()})
    return trial


@contextlib.contextmanager
def _looking(trial, names):
    """Inside, a thread looks every few seconds at what all take, also those in a browser."""
    ended = threading.Event()

    def look():
        while not ended.wait(5):
            trial.look(names)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def report(trial: Trial) -> str:
    """A trial in words and a table."""
    costs = [trial.costs[name] for name in trial.ran if name in trial.costs]
    lines = [f"{len(trial.ran)} students, {sum(ran.cells for ran in trial.ran.values())} cells, {trial.seconds:.0f} s "
             f"in all; {len(trial.errors)} errors; models trained anew: {sum(trial.trained.values())}; changes in the "
             f"shared store: {len(trial.new_in_shared)}; most memory at once: {trial.most / 1000:.1f} GB",
             f"{'of a student':28}{'least':>10}{'median':>10}{'most':>10}"]
    rows = {"seconds until the server": trial.arrived.values(),
            "seconds for the lesson": [ran.seconds for ran in trial.ran.values() if ran.seconds],
            "server, MB (PSS)": [cost.server for cost in costs], "kernel, MB (PSS)": [cost.kernels for cost in costs],
            "CPU seconds, server": [cost.server_seconds for cost in costs],
            "CPU seconds, kernel": [cost.kernel_seconds for cost in costs],
            "disk, MB": trial.disk.values()}
    for name, values in rows.items():
        if values := sorted(values):
            lines.append(f"{name:28}{values[0]:10.1f}{statistics.median(values):10.1f}{values[-1]:10.1f}")
    return "\n".join([*lines, *trial.errors])


def main(arguments: list[str] | None = None) -> int:
    """Run a class; 1 where something went wrong, else 0."""
    parser = argparse.ArgumentParser(prog="python -m tools.hub.students", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=3, help="how many students (default: %(default)s)")
    parser.add_argument("lessons", nargs="*", default=["00_start_here"], metavar="LESSON", help="one after the other")
    parser.add_argument("--browsers", type=int, default=0 if lab.missing() else 3,
                        help="how many of them sit before Chromium (default: %(default)s)")
    parser.add_argument("--faults", action="store_true", help="then let something go wrong for some")
    parser.add_argument("--folder", type=Path, default=class_folder.usual(), help="of the class (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.count < 1:
        parser.error(f"{options.count} students are too few: name 1 or more")
    try:
        start = Start.read(options.folder)
        for stem in options.lessons:
            chapters.chapter(stem)
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    names = [f"student{i:02}" for i in range(max(2, options.count))]
    bad = False
    for stem in options.lessons:
        trial = together(start, options.folder, options.count, stem, min(options.browsers, options.count))
        print(f"\n{stem}: {report(trial)}", flush=True)
        bad |= bool(trial.errors or trial.new_in_shared)
    if options.faults:
        for name, trouble in faults.all_of_them(start, options.folder, [names[0], names[-1]]).items():
            print(f"{name}: {trouble or 'nobody else noticed'}", flush=True)
            bad |= bool(trouble)
    for name in names:
        Student(start, name).leave()
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
