"""Writes lock/: which version of every package is installed, and the SHA-256 digests of its files (`make lock`).

    python -m tools.lock                the versions stay, where pyproject.toml still admits them
    python -m tools.lock --upgrade      the newest versions that pyproject.toml admits

It needs uv, a package on PyPI, and the network. What is locked holds for Linux, macOS and Windows and for every Python
that pyproject.toml admits. pip reads the files, so nobody needs uv in order to install.
"""
import argparse
import os
import re
import subprocess
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "lock"
# PyTorch is published as several builds of one version, on several indexes, and each has digests of its own. So these
# two have a version and no digest. The other names are the CUDA libraries that one of the builds asks for.
TORCH = ("torch", "torchvision")
CUDA = re.compile(r"nvidia-|cuda-|triton$")

HEADS = {
    "course.txt": "# What the course needs, but for PyTorch (torch.txt). Every file that pip installs from here is\n"
                  "# checked by its digest, and none is built here. Written by `make lock` from pyproject.toml.\n"
                  "--only-binary :all:\n",
    "tests.txt": "# What the tests and `make lint` need besides course.txt, site.txt, cluster.txt and hub.txt. Every\n"
                 "# file is checked by its digest. Written by `make lock` from pyproject.toml.\n"
                 "--only-binary :all:\n",
    "cluster.txt": "# What a cluster of many machines needs besides course.txt. Every file is checked by its digest.\n"
                   "# Written by `make lock` from pyproject.toml.\n"
                   "--only-binary :all:\n",
    "site.txt": "# What `make site` needs besides course.txt. Every file is checked by its digest.\n"
                "# Written by `make lock` from pyproject.toml.\n"
                "--only-binary :all:\n",
    "hub.txt": "# What `make hub` needs besides course.txt and site.txt. Every file is checked by its digest.\n"
               "# Written by `make lock` from pyproject.toml.\n"
               "--only-binary :all:\n",
    "torch.txt": "# PyTorch. Its builds (for processors alone, for CUDA) have the same version and different digests,\n"
                 "# and you may take it from an index of your own, so no digest stands here. Written by `make lock`.\n"}


def entries(text: str) -> dict[str, str]:
    """{name of a package: its lines} of a file with requirements as uv and `write` write it; where versions differ with
    that of Python, the lines of all of them."""
    of_packages = {}
    for start in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE):
        if named := re.match(r"[a-z0-9-]+", start):
            of_packages[named[0]] = of_packages.get(named[0], "") + start
    return of_packages


def compiled(uv: str, known: str, extras: list[str]) -> dict[str, str]:
    """The entries of everything that the course and these extras need.

    Args:
        uv: the command.
        known: requirements whose versions are preferred.
        extras: names of optional dependencies in pyproject.toml.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    least = project["project"]["requires-python"].removeprefix(">=")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "lock.txt").write_text(known, encoding="utf-8")
        # the course itself is built in the environment, without a download, so what builds it is installed there too
        Path(folder, "build.in").write_text("\n".join(project["build-system"]["requires"]), encoding="utf-8")
        subprocess.run([uv, "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--no-header",
                        "--no-annotate", f"--python-version={least}", *(f"--extra={extra}" for extra in extras),
                        "--output-file=lock.txt", "build.in", ROOT / "pyproject.toml"], cwd=folder,
                       stdout=subprocess.DEVNULL, check=True)
        return entries(Path(folder, "lock.txt").read_text(encoding="utf-8"))


def files(everything: dict[str, str], of_the_course: set[str], of_the_site: set[str],
          of_the_cluster: set[str] = frozenset(), of_the_hub: set[str] = frozenset()) -> dict[str, str]:
    """{name in lock/: what it holds}.

    Args:
        everything: the entries of the course, of its tests, of the book and of the hub.
        of_the_course: the names that the course needs.
        of_the_site: the names that course and book need.
        of_the_cluster: the names that the course needs on a cluster. Book and cluster are installed one without the
            other, so what both need stands in both files.
        of_the_hub: the names that course and hub need; the hub is installed after the book.
    """
    hashed = {name: lines for name, lines in everything.items() if name not in TORCH and not CUDA.match(name)}
    course = {name: lines for name, lines in hashed.items() if name in of_the_course}
    site = {name: lines for name, lines in hashed.items() if name in of_the_site - of_the_course}
    cluster = {name: lines for name, lines in hashed.items() if name in of_the_cluster - of_the_course}
    hub = {name: lines for name, lines in hashed.items() if name in of_the_hub - of_the_course - of_the_site}
    tests = {name: lines for name, lines in hashed.items()
             if name not in of_the_course | of_the_site | of_the_cluster | of_the_hub}
    torch = {name: re.match(r"[^\s;]+", everything[name])[0] + "\n" for name in TORCH}
    parts = {"course.txt": course, "tests.txt": tests, "site.txt": site, "cluster.txt": cluster, "hub.txt": hub,
             "torch.txt": torch}
    return {name: HEADS[name] + "".join(part.values()) for name, part in parts.items()}


def main(arguments: list[str] | None = None) -> None:
    """What `make lock` does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions")
    parser.add_argument("--uv", default=os.environ.get("UV", "uv"), help="the command uv (default: %(default)s)")
    options = parser.parse_args(arguments)
    FOLDER.mkdir(exist_ok=True)
    before = [entries(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.txt")]
    known = "" if options.upgrade else "".join(entry for part in before for entry in part.values())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    everything = compiled(options.uv, known, sorted(project["optional-dependencies"]))
    of_the_course = compiled(options.uv, "".join(everything.values()), [])
    of_the_site = compiled(options.uv, "".join(everything.values()), ["site"])
    of_the_cluster = compiled(options.uv, "".join(everything.values()), ["cluster"])
    of_the_hub = compiled(options.uv, "".join(everything.values()), ["hub"])
    sets = of_the_course.keys(), of_the_site.keys(), of_the_cluster.keys(), of_the_hub.keys()
    for name, text in files(everything, *sets).items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"lock/{name}: {len(entries(text))} packages")


if __name__ == "__main__":
    main()
