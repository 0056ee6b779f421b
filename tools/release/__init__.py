"""One file for a class room without a network: `python -m tools.release` (`make release`) writes
build/release/weightspace-VERSION-offline.zip.

It holds what git tracks (the notebooks and the archive of measured sweeps are among that), the book of `make site` in
the folder `book`, and in `wheels` every package that `lock/` names, for the machine that made it. `install.py` in it
installs from these files alone. The data sets are not in it, because their licences differ; README.md says how to bring
them along.
"""
import argparse
import hashlib
import json
import platform
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from lessons.kit.chapters import ROOT

OUT = ROOT / "build/release"
WHEELS, BOOK, INSTALL = "wheels", "book", "install.py"
MADE_FOR = "made-for.json"  # beside the wheels, for which Python and machine they are
_WHEN = (1980, 1, 1, 0, 0, 0)  # of every file, so that the same files make the same archive


def version() -> str:
    """The course's version."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def pins(lock: str) -> str:
    """The versions in a file of `lock/`, without digests: constraints for pip."""
    lines = (line.rstrip(" \\") for line in lock.splitlines() if re.match(r"[a-z0-9]", line))
    return "".join(f"{line}\n" for line in lines)


def download(folder: Path, torch_index: str = "") -> None:
    """Put all packages of `lock/course.txt` and `lock/torch.txt`, for this machine, into a folder.

    Args:
        folder: for the wheels; those that are there are not fetched again.
        torch_index: where pip finds PyTorch, if not in the usual place.

    Raises:
        subprocess.CalledProcessError: pip could not get one; it says which.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", folder, "--find-links", folder]
    subprocess.run([*pip, "--no-deps", "--require-hashes", "-r", ROOT / "lock/course.txt"], check=True)
    known = folder / "constraints.txt"
    known.write_text(pins((ROOT / "lock/course.txt").read_text(encoding="utf-8")), encoding="utf-8")
    index = ["--index-url", torch_index] if torch_index else []
    subprocess.run([*pip, *index, "-c", known, "-r", ROOT / "lock/torch.txt"], check=True)
    known.unlink()
    here = {"python": ".".join(platform.python_version_tuple()[:2]), "system": platform.system(),
            "machine": platform.machine()}
    (folder / MADE_FOR).write_text(json.dumps(here) + "\n", encoding="utf-8")


def tracked() -> list[str]:
    """What git tracks.

    Raises:
        ValueError: files were changed since the last commit, or this is no repository.
    """
    git = ["git", "-C", str(ROOT)]
    changed = subprocess.run([*git, "status", "--porcelain", "--untracked-files=no"], capture_output=True, text=True)
    if changed.returncode:
        raise ValueError("a release is made of what git tracks, and there is no repository here")
    if changed.stdout:
        raise ValueError(f"commit first: these files were changed since the last commit:\n{changed.stdout}")
    listed = subprocess.run([*git, "ls-files", "-z"], capture_output=True, text=True, check=True)
    return sorted(filter(None, listed.stdout.split("\0")))


def write(path: Path, names: Sequence[str], book: Path, wheels: Path) -> Path:
    """Write the archive.

    Args:
        path: its file.
        names: of the repository's files that it holds, from its root.
        book: the folder that `make site` wrote.
        wheels: the folder of `download`.

    Returns:
        A file beside it with its SHA-256, as `sha256sum --check` reads it.

    Raises:
        ValueError: the book or the wheels are not there; says what to do.
    """
    if not (book / "index.html").is_file():
        raise ValueError(f"{book} holds no book: run `make site` first")
    if not (wheels / MADE_FOR).is_file():
        raise ValueError(f"{wheels} does not hold the packages: run `make release`")
    top = path.stem
    parts = [(name, ROOT / name) for name in names]
    parts += [(INSTALL, Path(__file__).with_name(INSTALL))]
    for name, folder in ((BOOK, book), (WHEELS, wheels)):
        parts += [(f"{name}/{file.relative_to(folder).as_posix()}", file)
                  for file in sorted(folder.rglob("*")) if file.is_file()]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}")
    with zipfile.ZipFile(part, "w") as archive:
        for name, file in parts:
            member = zipfile.ZipInfo(f"{top}/{name}", _WHEN)
            member.external_attr = (0o755 if file.stat().st_mode & 0o100 else 0o644) << 16
            member.compress_type = zipfile.ZIP_STORED if file.suffix == ".whl" else zipfile.ZIP_DEFLATED
            with file.open("rb") as content, archive.open(member, "w", force_zip64=True) as into:
                shutil.copyfileobj(content, into)
    part.replace(path)
    digest = path.with_name(f"{path.name}.sha256")
    with path.open("rb") as content:
        digest.write_text(f"{hashlib.file_digest(content, 'sha256').hexdigest()}  {path.name}\n", encoding="ascii")
    return digest


def main(arguments: list[str] | None = None) -> int:
    """Write the archive for class rooms without a network."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=OUT, help="the folder (default: build/release)")
    parser.add_argument("--book", type=Path, default=ROOT / "build/site", help="what make site wrote (build/site)")
    parser.add_argument("--torch-index", default="", metavar="ADDRESS", help="where pip finds PyTorch")
    options = parser.parse_args(arguments)
    path = options.out / f"weightspace-{version()}-offline.zip"
    try:
        names = tracked()
        download(options.out / WHEELS, options.torch_index)
        write(path, names, options.book, options.out / WHEELS)
    except ValueError as error:
        parser.error(str(error))
    except subprocess.CalledProcessError:
        parser.error("pip could not get every package; its message is above")
    print(f"{path}: {path.stat().st_size / 1e6:,.0f} MB. Unpack it, and run `python3 install.py` there.")
    return 0
