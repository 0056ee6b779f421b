"""Starts one learner's server, as JupyterHub's `Spawner.cmd`: gives them the course's notebooks, then becomes
`jupyterhub-singleuser`, with the settings of `make lab`.

It runs as the learner, so it can do no more than they may, and it is a file without a package, because a hub starts it
by its path. In the learner's home lie then `weightspace`, their notebooks with what these link to, and `store`, what
their kernels keep. A notebook that they have changed is never overwritten. One that they have not changed is replaced
when the course has a newer one.
"""
import hashlib
import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GIVEN = ".weightspace-given.json"  # {file: SHA-256 of what was given}


def course() -> list[Path]:
    """What a learner gets: notebooks, and the documents to which they link."""
    found = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "docs").rglob("*"), *ROOT.glob("*.md")]
    hidden = ".ipynb_checkpoints"
    return [path.relative_to(ROOT) for path in found if path.is_file() and hidden not in path.parts]


def give(folder: Path) -> list[str]:
    """Copy the course into a learner's folder.

    A file that is there is replaced only if it still is what was given, and the course has another one now.

    Returns:
        The files that the learner has changed and of which the course has a newer one, by name.

    Raises:
        OSError: there is no room, or the folder may not be written. What is there is as it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / GIVEN
    try:
        given = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        given = None
    given = given if isinstance(given, dict) else {}  # then no file is known to be unchanged, so none is replaced
    kept = []
    for place in course():
        content, target, name = (ROOT / place).read_bytes(), folder / place, place.as_posix()
        digest = hashlib.sha256(content).hexdigest()
        if os.path.lexists(target):
            theirs = hashlib.sha256(target.read_bytes()).hexdigest() if target.is_file() else ""
            if theirs == digest or theirs != given.get(name):
                kept += [name] * (theirs != digest and given.get(name) != digest)
                continue
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, content)
        given[name] = digest
    _replace(note, json.dumps(given).encode())
    return kept


def _replace(target, content):
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(content)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def main() -> None:
    """Give the course, then become the server. On a full disk the server starts all the same, so that the learner can
    delete something."""
    folder = Path.home() / "weightspace"
    try:
        if kept := give(folder):
            print(f"{folder}: changed by the learner, so the newer ones are not taken: {', '.join(kept)}", flush=True)
    except OSError as error:
        print(f"{folder}: not all of the course could be copied: {error}", flush=True)
    os.environ.setdefault("WEIGHTSPACE_DATA", str(Path.home() / "store"))
    # the learner's kernels find the course here, whatever is installed
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(os.pathsep.join(paths).split(os.pathsep)))
    os.environ["JUPYTER_CONFIG_PATH"] = str(ROOT / "tools" / "jupyter")
    sys.path.insert(0, str(ROOT))
    from tools import lab
    os.chdir(folder if folder.is_dir() else Path.home())
    os.execv(sys.executable, [sys.executable, "-m", "jupyterhub.singleuser", *lab.settings(Path.cwd()), *sys.argv[1:]])


if __name__ == "__main__":
    main()
