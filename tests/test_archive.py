"""Sweeps that lie in the repository."""
import importlib
import json
import pkgutil
import shutil
import subprocess
from dataclasses import dataclass

import pytest
import xarray

from data import store
from data.types import Source
from lessons.kit import archive, claims, sweep
from lessons.kit.chapters import CHAPTERS
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles

FILES = sorted(archive.FOLDER.glob("*.nc"))
MEGABYTES = 25


@dataclass(frozen=True)
class Settings:
    steps: int


def made(monkeypatch, tmp_path, kind="real"):
    """An experiment that counts how often it measures, an empty archive, and an empty data folder."""
    monkeypatch.setattr(archive, "FOLDER", tmp_path / "measured")
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(archive, "_commit", lambda: "abc1234")
    measured = []

    def measure(settings, seed, device):
        measured.append(settings.steps)
        return xarray.Dataset({"value": 1.5 * settings.steps + seed}, attrs={"images": "no images"})

    measure.__module__ = __name__
    profiles = Profiles(quick=Settings(1), full=Settings(9))
    source = Source(text="the real thing", kind=kind, digest="d")
    return Experiment("made-up", measure, profiles, lambda: source, "things", network="none"), measured


def test_what_was_kept_opens_without_measuring_unless_fresh_or_within_anew(monkeypatch, tmp_path):
    experiment, measured = made(monkeypatch, tmp_path)
    assert experiment.archived() is None
    monkeypatch.setenv(archive.KEEP, "1")
    experiment.run("full")
    monkeypatch.delenv(archive.KEEP)
    assert measured == [9]
    kept = experiment.run("full")
    assert measured == [9] and float(kept.value) == 13.5
    assert "Kept in the repository: measured on 20" in sweep.caption(kept)
    assert "fresh=True" in sweep.caption(kept)
    own = experiment.run("full", fresh=True)  # from the data folder, where the first run left it
    assert "Kept in the repository" not in sweep.caption(own)
    with archive.anew():
        assert "measured_on" not in experiment.run("full").attrs
    assert experiment.run("full", seed=1).value == 14.5 and measured == [9, 9], "another seed is measured"
    assert experiment.archived("quick") is None


def test_a_profile_that_measures_nothing_shows_what_the_repository_has_of_full(monkeypatch, tmp_path):
    experiment, measured = made(monkeypatch, tmp_path)
    experiment.profiles["quick"] = None
    assert experiment.run() is None and experiment.in_full() is None and measured == []
    monkeypatch.setenv(archive.KEEP, "1")
    experiment.run("full")
    monkeypatch.delenv(archive.KEEP)
    for shown in (experiment.run(), experiment.in_full(), experiment.in_full("full")):
        assert float(shown.value) == 13.5 and shown.attrs["profile"] == "full"
    with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
        experiment.in_full("huge")


def test_stand_ins_are_not_kept(monkeypatch, tmp_path):
    experiment, _ = made(monkeypatch, tmp_path, kind="stand-in")
    monkeypatch.setenv(archive.KEEP, "1")
    experiment.run("full")
    assert not (tmp_path / "measured").exists()


def test_a_damaged_file_is_said_and_measured_instead(monkeypatch, tmp_path):
    experiment, measured = made(monkeypatch, tmp_path)
    monkeypatch.setenv(archive.KEEP, "1")
    experiment.run("full")
    monkeypatch.delenv(archive.KEEP)
    path, = (tmp_path / "measured").glob("*.nc")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"the real thing", b"the reel thing"))
    with pytest.warns(store.DataWarning, match="git checkout .*counts as missing"):
        assert experiment.run("full").value == 13.5


def test_code_that_changed_since_is_named_with_its_commit(monkeypatch, tmp_path):
    experiment, _ = made(monkeypatch, tmp_path)
    monkeypatch.setenv(archive.KEEP, "1")
    experiment.run("full")
    assert archive.changed() == []
    monkeypatch.setattr(sweep, "behind", lambda module: "other code")
    line, = archive.changed()
    assert "made-up" in line and archive.circumstances()["commit"] in line


@pytest.mark.skipif(not shutil.which("git"), reason="no git here")
def test_a_measurement_names_its_commit_and_says_when_the_code_was_changed_since(monkeypatch, tmp_path):
    def git(*command):
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        return subprocess.run(["git", *who, *command], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init")
    for name in ("code.py", "CLAIMS.md"):
        (tmp_path / name).write_text("before")
    git("add", ".")
    git("commit", "-m", "first")
    monkeypatch.setattr(archive, "_ROOT", tmp_path)
    commit = git("rev-parse", "--short", "HEAD").strip()
    (tmp_path / "CLAIMS.md").write_text("what measuring wrote")
    assert archive.circumstances()["commit"] == archive.committed()["commit"] == commit
    (tmp_path / "code.py").write_text("after")
    assert archive.circumstances()["commit"] == f"{commit}-dirty"
    with pytest.raises(ValueError, match="files were changed since.*Commit the code first"):
        archive.committed()
    monkeypatch.setattr(archive, "_ROOT", tmp_path.parent)
    assert archive.circumstances()["commit"] == "unknown"
    with pytest.raises(ValueError, match="there is none here"):
        archive.committed()


def test_nothing_is_kept_or_measured_for_the_repository_by_code_that_no_commit_has(monkeypatch, tmp_path, capsys):
    experiment, _ = made(monkeypatch, tmp_path)
    monkeypatch.setattr(archive, "_commit", lambda: "abc1234-dirty")
    monkeypatch.setenv(archive.KEEP, "1")
    with pytest.raises(ValueError, match="Commit the code first"):
        experiment.run("full")
    assert not (tmp_path / "measured").exists()
    with pytest.raises(SystemExit):
        archive.main(["00_start_here"])
    assert "Commit the code first" in capsys.readouterr().err


def in_history(commit):
    """Whether a commit is an ancestor of the one that is checked out."""
    return not subprocess.run(["git", "merge-base", "--is-ancestor", commit, "HEAD"], cwd=archive._ROOT,
                              capture_output=True).returncode


def whole_history():
    """Whether all commits before this one are at hand."""
    shallow = ["git", "rev-parse", "--is-shallow-repository"]
    return bool(shutil.which("git")) and subprocess.run(shallow, cwd=archive._ROOT, capture_output=True,
                                                        text=True).stdout.strip() == "false"


@pytest.mark.skipif(not whole_history(), reason="not all commits are here")
def test_what_measured_the_ledger_and_the_kept_sweeps_is_a_commit_of_this_repository():
    named = {path.name: json.loads(sweep.read(path).attrs["measured_on"])["commit"] for path in FILES}
    for run in claims.runs():
        named[f"{run['experiment']}, seeds {run['seeds']}"] = run["commit"].removesuffix(" or before")
    known = {commit: in_history(commit) for commit in set(named.values())}
    assert {name: commit for name, commit in named.items() if not known[commit]} == {}


def experiments():
    """Every Experiment that a module of a chapter names, by its name."""
    found = {}
    for chapter in CHAPTERS:
        package = importlib.import_module(chapter.package)
        for module in pkgutil.walk_packages(package.__path__, f"{chapter.package}."):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Experiment):
                    found[value.name] = value
    return found


def test_the_archive_is_small():
    assert sum(path.stat().st_size for path in FILES) < MEGABYTES * 2 ** 20


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_what_was_written_and_is_found_by_its_experiment(path):
    found = sweep.read(path)  # checks the digest
    assert found.attrs["profile"] == "full" and found.attrs["seed"] == 0
    assert found.attrs["source_kind"] != "stand-in"
    name = path.stem.rpartition("-")[0]
    known = experiments().get(name)
    if known:  # the others belong to chapter 7's suites; test_interference.py looks for them
        assert known.archived() is not None, f"{name}: settings or recipes are others now; measure it again"


@pytest.mark.parametrize("package", ["cart", "sail", "linearization", "vit"])
def test_profile_full_announces_no_minutes_for_what_the_repository_has(package, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path))
    importlib.import_module(f"lessons.{package}.experiment").announce("full", 0)
    said = capsys.readouterr().out
    assert "there already" in said and " s on two" not in said
    with archive.anew():
        importlib.import_module(f"lessons.{package}.experiment").announce("full", 0)
    assert " s on two cores, once" in capsys.readouterr().out
