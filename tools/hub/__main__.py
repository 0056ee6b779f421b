"""`make hub`, or `python -m tools.hub [--fill LESSON …]`: JupyterHub on this machine alone, for trying a class."""
import argparse
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import data
from lessons.kit import chapters, notebooks
from tools.hub import class_folder
from tools.hub.class_folder import ROOT

WARNING = """
This hub is for TRYING a class on your own machine. It is not safe for a real class, because all learners run as you:
every one of them can read and delete your files and those of the others. Only this machine can reach it. docs/class.md
says what a real class needs.
"""


def missing() -> str:
    """What of the hub is not installed here, and what to do, or ""."""
    if importlib.util.find_spec("jupyterhub") is None:
        return "JupyterHub is not installed; `make hub-environment` installs it"
    if class_folder.proxy() is None:
        return ("JupyterHub's proxy is not installed; with Node.js 20 or newer, `make hub-environment` or "
                "`npm ci --prefix tools/hub` installs it")
    return ""


def fill(shared: Path, lessons: list[str]) -> None:
    """Put into the shared store what lessons need, so that no learner trains it: what this user's own store has is
    copied, and the lessons are run.

    Args:
        lessons: "01_linearity"; [] for all of the main line.

    Raises:
        ValueError: there is no such lesson. NotebookError, PapermillExecutionError: one failed.
    """
    chosen = [chapters.chapter(stem) for stem in lessons] or chapters.LESSONS
    own = data.store.root()
    if own != shared:
        print(f"{class_folder.copy_store(own, shared):,} files of {own} were copied to {shared}.", flush=True)
    before = {name: os.environ.get(name) for name in ("WEIGHTSPACE_DATA", "WEIGHTSPACE_SHARED")}
    os.environ["WEIGHTSPACE_DATA"] = str(shared)
    os.environ.pop("WEIGHTSPACE_SHARED", None)
    try:
        with tempfile.TemporaryDirectory() as executed:
            for chapter in chosen:
                print(f"Running {chapter.stem}, so that the shared store has what it trains and measures …", flush=True)
                notebooks.execute(chapter.notebook, Path(executed, "executed.ipynb"), profile="quick")
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)


def start(folder: Path, shared: Path, port: int, log=None) -> subprocess.Popen:
    """Start the hub; it answers some seconds later, at the address in `Start.read(folder).url`.

    Args:
        folder: the class's (`class_folder`).
        shared: the shared store.
        port: of the address; 0 for one that is free.
        log: an open file for what hub, proxy and servers say; None for this process's output.
    """
    (folder / "learners").mkdir(parents=True, exist_ok=True)
    class_folder.new_start(shared, port).write(folder)
    environment = {**os.environ, "WEIGHTSPACE_CLASS": str(folder), "WEIGHTSPACE_PROXY": str(class_folder.proxy())}
    command = [sys.executable, "-m", "jupyterhub", "-f", str(ROOT / "tools" / "hub" / "jupyterhub_config.py")]
    return subprocess.Popen(command, env=environment, cwd=folder / "hub", stdout=log, stderr=log)


def main(arguments: list[str] | None = None) -> int:
    """Fill the shared store if asked, start the hub, and stop it with this process."""
    parser = argparse.ArgumentParser(prog="python -m tools.hub", description=__doc__)
    parser.add_argument("--folder", type=Path, default=class_folder.usual(),
                        help="of the class: shared store, learners' homes (default: %(default)s)")
    parser.add_argument("--port", type=int, default=8000, help="default: %(default)s")
    parser.add_argument("--fill", nargs="*", metavar="LESSON",
                        help="run these lessons first, such as 01_linearity (none named: all of the main line), so "
                             "that the shared store has what they train")
    options = parser.parse_args(arguments)
    if problem := missing():
        parser.error(problem)
    folder = options.folder.expanduser().absolute()
    if folder.is_relative_to(ROOT):
        parser.error(f"the class's folder {folder} is in the repository, where `make clean` or git may delete what "
                     "learners write. Name another one with --folder or WEIGHTSPACE_CLASS")
    (folder / "hub").mkdir(parents=True, exist_ok=True, mode=0o700)
    theirs = os.environ.get("WEIGHTSPACE_SHARED")
    shared = Path(theirs).expanduser().absolute() if theirs else folder / "shared"
    shared.mkdir(parents=True, exist_ok=True)
    if options.fill is not None:
        try:
            if not theirs:
                class_folder.let_write(shared, True)
            fill(shared, options.fill)
        except ValueError as error:
            parser.error(str(error))
    if not theirs:
        class_folder.let_write(shared, False)
    return _run(folder, shared, options.port)


def _run(folder, shared, port):
    """Run the hub until it ends or is interrupted; its exit status."""
    log = folder / "hub" / "hub.log"
    with open(log, "a", encoding="utf-8") as out:
        process = start(folder, shared, port, out)
        started = class_folder.Start.read(folder)
        print(WARNING, f"Open {started.url}, choose a name (letters, digits, - and _), password: {started.password}",
              f"Learners' folders: {folder / 'learners'}; shared store: {shared}; log: {log}", "Ctrl-C ends it.",
              sep="\n", flush=True)
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        while True:
            try:
                code = process.wait()
                break
            except KeyboardInterrupt:  # the hub was interrupted, too: it stops the servers, and then ends
                continue
    if code > 0:
        print(f"The hub ended with code {code}. The end of {log} says why.", file=sys.stderr)
    return max(code, 0)


if __name__ == "__main__":
    sys.exit(main())
