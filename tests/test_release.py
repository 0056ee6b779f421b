"""The archive for class rooms without a network: what is in it, and that it installs with no index."""

import hashlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

from lessons.kit.chapters import ROOT
from tools import release
from tools.release import BOOK, INSTALL, MADE_FOR, WHEELS

HERE = {"python": ".".join(platform.python_version_tuple()[:2]), "system": platform.system(),
        "machine": platform.machine()}
# builds the course in the test without setuptools, which would have to be downloaded
BACKEND = '''
import zipfile

def wheel(folder, name):
    file, about = f"{name}-1.0-py3-none-any.whl", f"{name}-1.0.dist-info"
    with zipfile.ZipFile(f"{folder}/{file}", "w") as packed:
        packed.writestr(f"{name}.py", "")
        packed.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
        packed.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        packed.writestr(f"{about}/RECORD", "")
    return file

def build_editable(folder, settings=None, metadata=None):
    return wheel(folder, "course")
'''


@pytest.fixture
def made(tmp_path, monkeypatch):
    """An archive of a small course with one package, unpacked; and the folder in which it was made."""
    root, book, wheels = tmp_path / "root", tmp_path / "site", tmp_path / "wheels"
    for folder in (root / "lock", root / "notebooks", book / "data", wheels):
        folder.mkdir(parents=True)
    spoken = {}
    exec(BACKEND, spoken)
    name = spoken["wheel"](wheels, "needed")
    digest = hashlib.sha256((wheels / name).read_bytes()).hexdigest()
    (wheels / MADE_FOR).write_text(json.dumps(HERE))
    (root / "lock/course.txt").write_text(f"needed==1.0 \\\n    --hash=sha256:{digest}\n")
    (root / "lock/torch.txt").write_text("# nothing\n")
    (root / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "backend"\n'
                                         'backend-path = ["."]\n[project]\nname = "course"\nversion = "1.0"\n')
    (root / "backend.py").write_text(BACKEND)
    (root / "notebooks/one.ipynb").write_text("{}")
    (book / "index.html").write_text("<p>the book</p>")
    (book / "data/panel.js").write_text("take()")
    monkeypatch.setattr(release, "ROOT", root)
    names = ["backend.py", "lock/course.txt", "lock/torch.txt", "notebooks/one.ipynb", "pyproject.toml"]
    path = tmp_path / "weightspace-1.0-offline.zip"
    release.write(path, names, book, wheels)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    return tmp_path / "unpacked" / path.stem, tmp_path


def install(folder):
    """What install.py says there, and whether it ended well. An index that pip would ask is not one."""
    blocked = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull, "PATH": "",
               "HOME": str(folder)}
    run = subprocess.run([sys.executable, folder / INSTALL], env=blocked, capture_output=True, text=True, cwd="/")
    return run.stdout + run.stderr, run.returncode == 0


def test_it_holds_the_course_the_book_and_the_packages_and_says_its_digest(made):
    folder, place = made
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
        "backend.py", "lock/course.txt", "lock/torch.txt", "notebooks/one.ipynb", "pyproject.toml", INSTALL,
        f"{BOOK}/index.html", f"{BOOK}/data/panel.js", f"{WHEELS}/{MADE_FOR}", f"{WHEELS}/needed-1.0-py3-none-any.whl"}
    path = place / "weightspace-1.0-offline.zip"
    digest, name = (place / f"{path.name}.sha256").read_text().split()
    assert (digest, name) == (hashlib.sha256(path.read_bytes()).hexdigest(), path.name)


def test_the_same_files_make_the_same_archive(made):
    _, place = made
    before = (place / "weightspace-1.0-offline.zip.sha256").read_text()
    (place / "site/index.html").touch()
    release.write(place / "weightspace-1.0-offline.zip", ["backend.py", "lock/course.txt", "lock/torch.txt",
                                                          "notebooks/one.ipynb", "pyproject.toml"],
                  place / "site", place / "wheels")
    assert (place / "weightspace-1.0-offline.zip.sha256").read_text() == before


def test_it_installs_in_a_fresh_folder_where_no_index_can_be_reached(made):
    folder, _ = made
    told, is_done = install(folder)
    assert is_done, told
    assert "-m tools.lab" in told and "book/index.html" in told
    python = folder / ".venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    subprocess.run([python, "-c", "import needed, importlib.metadata as m; m.version('course')"], check=True)
    assert (folder / ".venv/.ready").exists(), "make would install it again"


def test_a_package_that_was_changed_is_not_installed(made):
    folder, _ = made
    with zipfile.ZipFile(folder / WHEELS / "needed-1.0-py3-none-any.whl", "a") as packed:
        packed.writestr("more.py", "")
    told, is_done = install(folder)
    assert not is_done and "pip could not install everything" in told and "HASHES" in told


@pytest.mark.parametrize("other", [{"python": "3.9"}, {"system": "Windows"}, {"machine": "arm64"}])
def test_on_another_machine_it_says_what_the_packages_are_for(made, other):
    folder, _ = made
    (folder / WHEELS / MADE_FOR).write_text(json.dumps(HERE | other))
    told, is_done = install(folder)
    assert not is_done and next(iter(other.values())) in told and not (folder / ".venv").exists()


def test_without_the_book_or_the_packages_it_says_what_to_run(tmp_path, made):
    _, place = made
    with pytest.raises(ValueError, match="holds no book: run `make site` first"):
        release.write(tmp_path / "a.zip", [], tmp_path / "nowhere", place / "wheels")
    with pytest.raises(ValueError, match="does not hold the packages"):
        release.write(tmp_path / "a.zip", [], place / "site", tmp_path / "nowhere")


def test_constraints_have_the_versions_and_no_digests():
    lock = "# a head\n--only-binary :all:\na-b==1.2 ; python_version < '3.12' \\\n    --hash=sha256:00 \\\n" \
           "    --hash=sha256:11\nc==2 \\\n    --hash=sha256:22\n"
    assert release.pins(lock) == "a-b==1.2 ; python_version < '3.12'\nc==2\n"


def test_what_git_does_not_track_or_what_was_changed_makes_no_release(tmp_path, monkeypatch):
    monkeypatch.setattr(release, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="there is no repository here"):
        release.tracked()
    who = ["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-C", tmp_path]
    (tmp_path / "a").write_text("1")
    for command in (["init", "-q"], ["add", "a"], ["commit", "-qm", "first"]):
        subprocess.run([*who, *command], check=True)
    (tmp_path / "b").write_text("untracked")
    assert release.tracked() == ["a"]
    (tmp_path / "a").write_text("2")
    with pytest.raises(ValueError, match="commit first"):
        release.tracked()


def test_the_courses_own_name_and_version():
    assert release.version() == __import__("importlib.metadata").metadata.version("weightspace")


@pytest.mark.release
@pytest.mark.slow  # downloads 350 MB and installs them: two minutes
def test_the_real_archive_installs_and_runs_lesson_0(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/index.html").write_text("<p>the book</p>")
    assert release.main(["--out", str(tmp_path), "--book", str(tmp_path / "site")]) == 0
    path, = tmp_path.glob("*.zip")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / path.stem
    told, is_done = install(folder)
    assert is_done, told
    python = folder / ".venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    offline = {"WEIGHTSPACE_OFFLINE": "1", "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    subprocess.run([python, "-m", "lessons.kit.notebooks", "00_start_here", "--out", tmp_path / "out"], cwd=folder,
                   env=offline, check=True)
    assert (tmp_path / "out/notebooks/00_start_here.html").exists()


def test_the_container_is_made_of_what_is_there():
    folder = ROOT / ".devcontainer"
    described = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))["build"]
    dockerfile = (folder / described["dockerfile"]).resolve()
    assert dockerfile == ROOT / ".binder/Dockerfile" and (folder / described["context"]).resolve() == ROOT
    text = dockerfile.read_text(encoding="utf-8")
    python = re.search(r"^FROM python:(\d+)\.(\d+)", text, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f">={python[1]}.{python[2]}" >= project["requires-python"]
    target = re.search(r"^RUN make ([\w-]+) ", text, re.MULTILINE)[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    command = json.loads(re.search(r"^CMD (.+)$", text, re.MULTILINE)[1])
    assert command[:2] == ["python", "-m"] and importlib.util.find_spec(command[2])
