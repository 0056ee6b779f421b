"""Sweeps that lie in the repository, in `data/measured`: what profile "full" measures on the real data with seed 0.

So "full" opens without training. A sweep is found by experiment, profile, seed, settings and recipes, and not by the
code that measured it: that may have changed since. Each file is signed, says where, when and at which commit it was
measured, and `changed` lists those whose code is another one today.

`python -m lessons.kit.archive 06_gradients` measures what a chapter's notebook asks for in "full" and keeps it here.
"""
import argparse
import contextlib
import datetime
import hashlib
import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import uuid
import warnings
from contextvars import ContextVar
from pathlib import Path

import torch
import xarray

import data
from data import store
from data.types import digest
from lessons.kit import sweep

FOLDER = Path(data.__file__).parent / "measured"
KEEP = "WEIGHTSPACE_ARCHIVE"  # set to 1, it makes `Experiment.run` measure anew and keep what it measured here
_ROOT = FOLDER.parents[1]
_WRITTEN = (":!data/measured", ":!lessons/measured.yaml", ":!lessons/spread.yaml", ":!CLAIMS.md", ":!docs/claims")
_anew = ContextVar("anew", default=False)


@contextlib.contextmanager
def anew():
    """Inside, nothing is taken from the repository: the ledger is about what is measured now."""
    token = _anew.set(True)
    try:
        yield
    finally:
        _anew.reset(token)


def path_of(name: str, ingredients: dict) -> Path:
    """Where the repository keeps a sweep.

    Args:
        name: of the experiment.
        ingredients: profile, seed, settings and recipes' keys, as JSON can hold them.
    """
    text = json.dumps(ingredients, sort_keys=True)
    return FOLDER / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.nc"


def read(path: Path) -> xarray.Dataset | None:
    """The sweep at this path; None where there is none, inside `anew`, and while sweeps are kept.

    A damaged one is said in a warning and counts as missing.
    """
    if _anew.get() or os.environ.get(KEEP):
        return None
    try:
        return sweep.read(path)
    except FileNotFoundError:
        return None
    except store.Damaged as error:
        warnings.warn(f"{path} is damaged ({error}); `git checkout data/measured/{path.name}` brings it back. Until "
                      "then it counts as missing", store.DataWarning, stacklevel=2)
        return None


def keep(measured: xarray.Dataset, path: Path, module: str) -> None:
    """Put a sweep into the repository, if the environment asks for it (`KEEP`) and it was measured on the real data.

    Args:
        measured: the sweep.
        path: from `path_of`.
        module: the one that measures.

    Raises:
        ValueError: no commit says which code measured it.
    """
    if not os.environ.get(KEEP) or measured.attrs["source_kind"] == "stand-in":
        return
    about = {"measured_on": json.dumps(committed()), "module": module, "code": sweep.behind(module)}
    FOLDER.mkdir(exist_ok=True)
    sweep.write(measured.assign_attrs(about), path)


def changed() -> list[str]:
    """The files whose code is another one today than when they were measured, a sentence each."""
    lines = []
    for path in sorted(FOLDER.glob("*.nc")):
        attributes = sweep.read(path).attrs
        importlib.import_module(attributes["module"])
        if sweep.behind(attributes["module"]) != attributes["code"]:
            commit = json.loads(attributes["measured_on"])["commit"]
            lines.append(f"{path.name}: the code of {attributes['module']} has changed since commit {commit}")
    return lines


def circumstances() -> dict[str, str]:
    """Where and when something is measured: processor and instructions, torch, commit, date."""
    return {"processor": f"{_processor()}, {torch.backends.cpu.get_cpu_capability()}", "torch": str(torch.__version__),
            "commit": _commit(), "date": datetime.date.today().isoformat()}


def surroundings() -> dict[str, str]:
    """As `circumstances`, with the machine, the system and Python, for results that others compare with theirs."""
    return circumstances() | {"machine": machine(), "system": f"{sys.platform}, {platform.machine()}",
                              "python": platform.python_version()}


def machine() -> str:
    """A name for this machine, the same at every call: a digest, from which its network name is not to be read."""
    node = uuid.getnode()
    address = 0 if node >> 40 & 1 else node  # without a network card Python draws another number in every process
    return digest(platform.node(), address, _processor())[:8]


def committed() -> dict[str, str]:
    """As `circumstances`, for what is written into the repository: its commit must say which code measured.

    Raises:
        ValueError: there is no commit, or files were changed since.
    """
    about = circumstances()
    changed = about["commit"].endswith("-dirty")
    if changed or about["commit"] == "unknown":
        what = "files were changed since the last one" if changed else "there is none here"
        raise ValueError(f"a measurement that is kept names the commit whose code measured it, but {what}. "
                         "Commit the code first, then measure")
    return about


def _commit():
    """The commit that is checked out, and whether the code was changed since; what measuring itself writes does not
    count."""
    if not shutil.which("git"):
        return "unknown"
    commit = _git("describe", "--always")
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", *_WRITTEN)
    return f"{commit}-dirty" if commit != "unknown" and changes else commit


def _git(*command):
    git = subprocess.run(["git", *command], cwd=_ROOT, capture_output=True, text=True)
    return "unknown" if git.returncode else git.stdout.strip()


def _processor():
    """The processor's name; Linux keeps it in a file, elsewhere Python knows it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main(arguments=None) -> int:
    """`python -m lessons.kit.archive`: run chapters in "full", seed 0, and keep what they measure in data/measured."""
    from lessons.kit import chapters, notebooks  # the latter needs papermill, which measuring does not
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("chapters", nargs="+", metavar="CHAPTER", help="a notebook's name, such as 06_gradients")
    stems = parser.parse_args(arguments).chapters
    try:
        committed()  # now, and not after minutes of measuring
    except ValueError as error:
        parser.error(str(error))
    for stem in stems:
        os.environ[KEEP] = "1"
        output = _ROOT / "build" / "measured" / f"{stem}.ipynb"
        output.parent.mkdir(parents=True, exist_ok=True)
        notebooks.execute(chapters.chapter(stem).notebook, output, profile="full", seed=0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
