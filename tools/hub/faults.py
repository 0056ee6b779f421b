"""What goes wrong in a class, done on purpose: each must cost one student something, and nobody else anything.

Each of the three is a function of a running hub, and returns what was wrong, "" where all went as it should.
"""
import contextlib
import itertools
import os
import signal
import subprocess
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.hub import measure
from tools.hub.class_folder import Start
from tools.hub.student import BUSY, KernelDied, Student, outputs

# A network that no lesson asks for, because nobody takes this seed. Spirals need no file.
RECIPE = """
from toy_models import Architecture, Recipe, zoo
mine = Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), lr=0.01, epochs={epochs}, batch_size=None,
                 seed={seed})
"""
SEED = 990_017


def killed_in_training(start: Start, folder: Path, name: str) -> str:
    """A student's kernel is ended by force while it trains. The network is then trained again in a new one, and no
    half-written file is left."""
    student = Student(start, name)
    student.arrive()
    store = folder / "learners" / name / "store"
    before = {path.name for path in store.rglob("*.safetensors")}
    with student.kernel() as run:
        run(RECIPE.format(seed=SEED, epochs=1_000_000))
        _when_it_works(name, lambda pid: os.kill(pid, signal.SIGKILL))
        try:
            run("zoo.get(mine)")
        except KernelDied:
            pass
        else:
            return "the kernel was not ended while it trained"
    left = {path.name for path in store.rglob("*.safetensors")} - before
    with student.kernel() as run:
        run(RECIPE.format(seed=SEED, epochs=1))
        errors = _errors(run("zoo.get(mine); zoo.get(mine)"))
    parts = [path.name for path in store.rglob("*.part")]
    return "; ".join([*errors, *(f"{file} was left" for file in [*left, *parts])])


def _when_it_works(name, act):
    """In a thread: once the student's kernel has worked for a second from now on, do something to its process."""
    def wait():
        (process,) = (process for one, process in measure.processes() if one == name and measure.is_kernel(process))
        before = sum(process.cpu_times()[:2])
        while sum(process.cpu_times()[:2]) < before + 1:
            time.sleep(0.05)
        act(process.pid)

    threading.Thread(target=wait, daemon=True).start()


FILL = """
import pathlib, data
with open(data.store.root() / "a-large-film", "wb") as film:
    try:
        while True:
            film.write(bytes(1 << 16))
            film.flush()
    except OSError as error:
        print(error.strerror)
"""


def disk_full(start: Start, folder: Path, name: str) -> str:
    """A student's store is a disk of 1 MB, which they fill. What is trained then stays in memory, a warning says so,
    and the kernel goes on. Where nobody may mount a disk, the kernel's own files are limited instead."""
    student = Student(start, name)
    student.arrive()
    with small_disk(folder / "learners" / name / "store") as mounted, student.kernel() as run:
        limit = "" if mounted else "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        filled = run(limit + FILL)
        messages = run(RECIPE.format(seed=SEED + 1, epochs=1) + "zoo.get(mine)\nmine is not None and zoo.has(mine)")
        shown = outputs(messages)
        warned = any("no room" in out.get("text", "") for out in shown)
        kept = any(out.get("data", {}).get("text/plain") == "True" for out in shown)
        errors = _errors(filled) + _errors(messages)
    return "; ".join([*errors, *["no warning said that there is no room"] * (not warned),
                      *["the network was not kept in memory"] * (not kept)])


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "1m"):
    """Inside, a folder is a small disk of its own; yields False where this user may not mount one."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], capture_output=True)


def unplugged(start: Start, lesson: str, names: tuple[str, str]) -> str:
    """The shared store goes away while the first student is in the middle of a lesson, and the second one begins only
    then. Both run all their cells without an error: what the store would have given is made in their own. It is back at
    the end.

    Args:
        lesson: "notebooks/00_start_here.ipynb".
    """
    shared = Path(start.shared)
    away = shared.with_name(f"{shared.name}-away")
    first, second = (Student(start, name) for name in names)
    gone = threading.Event()
    cells = itertools.count(1)

    def unplug(_):
        if next(cells) == 3:
            shared.rename(away)
            gone.set()

    def begin_late():
        gone.wait(BUSY)
        return second.work(lesson)

    try:
        with ThreadPoolExecutor(2) as pool:
            pool.submit(first.arrive), pool.submit(second.arrive)
        with ThreadPoolExecutor(2) as pool:
            both = pool.submit(first.work, lesson, unplug), pool.submit(begin_late)
        ran = [one.result() for one in both]
    finally:
        if away.exists():
            away.rename(shared)
    errors = [f"{name}: {error}" for name, one in zip(names, ran) for error in one.errors]
    unsaid = [f"{name} was not told" for name, one in zip(names, ran) if str(shared) not in one.warnings]
    return "; ".join(errors + unsaid)


def _errors(messages):
    return [f"{out.ename}: {out.evalue}" for out in outputs(messages) if out.output_type == "error"]


def all_of_them(start: Start, folder: Path, names: list[str], lesson: str = "notebooks/00_start_here.ipynb"):
    """{fault: what was wrong}: the first two at once, then the third.

    Args:
        names: of two students, who may have a server already.
    """
    one, other = names
    with ThreadPoolExecutor(2) as pool:
        killed = pool.submit(killed_in_training, start, folder, one)
        full = pool.submit(disk_full, start, folder, other)
    return {"a kernel killed in training": killed.result(), "a full disk": full.result(),
            "the shared store unplugged": unplugged(start, lesson, (one, other))}
