"""Results of the ledger as files: kept, sent, signed, merged; and the command on a cluster."""
import contextlib
import json
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from data import cluster, store
from lessons.gradients.algorithms.bound import tight_bound
from lessons.gradients.experiment import bound
from lessons.kit import archive, units
from lessons.kit.claims import __main__, ledger, merge, model, page, results, running
from lessons.kit.claims.results import Result
from lessons.kit.units import Unit
from tools import cluster as local_cluster

BOUND = Unit("lessons.gradients.experiment.bound", "gradients-bound", "full", 0)


def numbers_of(seed):
    """What the ledger has of the claim that `BOUND` measures."""
    return {"TVG-5": {name: values[seed] for name, values in model._kept()["numbers"]["TVG-5"].items()}}


def result(numbers=None, seed=0, **changes):
    """A result as machine "first" would have measured it."""
    about = {"machine": "first", "processor": "P, AVX2", "system": "linux, x86_64", "python": "3.12.1",
             "torch": "2.13.0", "commit": "abc", "date": "2026-11-29"}
    unit = Unit(BOUND.module, BOUND.experiment, BOUND.profile, seed)
    return Result(module=unit.module, experiment=unit.experiment, profile=unit.profile, seed=seed,
                  numbers=numbers or numbers_of(seed),
                  **{"code": unit.code_digest(), "data": unit.data_digest()} | about | changes).signed()


def written(folder, *measured):
    """A folder of results."""
    folder.mkdir(exist_ok=True)
    for number, one in enumerate(measured):
        (folder / f"{number}.json").write_text(one.to_json(), encoding="utf-8")
    return folder


# -- files -------------------------------------------------------------------------------------------------------------

def test_a_result_comes_back_from_its_file_and_from_the_data_folder():
    one = result()
    assert results.from_json(one.to_json()) == one
    results.keep(one)
    assert results.kept(one.unit, one.code, one.data) == one
    assert results.kept(one.unit, "other code", one.data) is results.kept(one.unit, one.code, "other data") is None


@pytest.mark.fault("stored", "A number in a stored result of the ledger is changed",
                   answers="The result counts as missing")
def test_a_result_in_which_a_number_was_changed_is_damaged():
    text = result().to_json()
    content = json.loads(text)
    content["numbers"]["TVG-5"] = {name: value + 1 for name, value in content["numbers"]["TVG-5"].items()}
    with pytest.raises(store.Damaged, match="digest does not match"):
        results.from_json(json.dumps(content))
    with pytest.raises(store.Damaged, match="digest does not match"):
        results.from_json(text.replace('"P, AVX2"', '"P, AVX512"'))


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, "\xff".encode("latin1"), '{"format": 2}'])
def test_what_is_no_result_is_refused(text):
    with pytest.raises(store.Damaged, match="it is no result of the ledger"):
        results.from_json(text)


@pytest.mark.parametrize("changes", [{"machine": "a\x1b[31m"}, {"processor": "p" * 301}, {"seed": -1}, {"more": 1},
                                     {"numbers": {"TVG-5": {"x\n": 1.0}}}])
def test_what_would_disturb_a_terminal_or_is_too_long_is_refused(changes):
    content = result().model_dump() | changes
    with pytest.raises(store.Damaged, match=next(iter(changes))):
        results.from_json(json.dumps(content))


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "large.json"
    path.write_text("1" * 1001)
    monkeypatch.setattr(results, "LARGEST", 1000)
    with pytest.raises(store.Damaged, match="more than 1,000 bytes"):
        results.content(path)


def test_a_damaged_result_counts_as_missing_and_is_said():
    path = results.keep(result())
    path.write_text(path.read_text().replace("2.13.0", "2.14.0"))
    with pytest.warns(store.DataWarning, match="counts as missing"):
        assert results.kept(BOUND, BOUND.code_digest(), BOUND.data_digest()) is None


def test_the_machine_has_one_name_that_does_not_tell_its_network_name(monkeypatch):
    import platform
    import uuid
    name = archive.machine()
    assert name == archive.machine() and platform.node() not in name
    monkeypatch.setattr(uuid, "getnode", iter([1 << 40, (1 << 40) + 1]).__next__)  # drawn, as without a network card
    assert archive.machine() == archive.machine()


# -- merging -----------------------------------------------------------------------------------------------------------

def test_verdicts_are_counted_by_machine_processor_torch_and_seed(tmp_path, capsys):
    folder = written(tmp_path / "theirs", result(), result(seed=1), result(machine="second", processor="Q, AVX512",
                                                                            torch="2.14.0"))
    assert merge.main([str(folder)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("3 results of 2 machines. A digest shows damage, and not who measured.")
    assert f"TVG-5 ({ledger()['TVG-5'].verdict}): stands on 2 of 2 machines; 2 processors, torch 2.13.0, 2.14.0, " \
           "2 seeds" in said and "not on" not in said and "different numbers" not in said


@pytest.fixture
def measured_on(tmp_path, monkeypatch):
    """measured_on(name): measure `BOUND` anew, with fewer samples, as a machine of this name with a folder of its own;
    the folder of its results."""
    monkeypatch.setitem(bound.PROFILES, "full", bound.PROFILES["quick"])

    def measured(name):
        monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / name))
        monkeypatch.setattr(archive, "machine", lambda: name)
        running.here([BOUND], results.keep, "abc")
        return tmp_path / name / "claims"
    return measured


@pytest.mark.slow  # measures three times
@pytest.mark.fault("cluster", "One machine's results are wrong", answers="The claim that they move is named")
def test_a_bug_that_is_planted_on_one_machine_is_named_by_the_claim_that_it_moves(measured_on, monkeypatch, capsys):
    """On the third machine a bound comes out four times too small, as with a broken library: no file of the course is
    another one, so that its digests are right."""
    folders = [measured_on("first"), measured_on("second")]
    assert merge.main(list(map(str, folders))) == 0
    assert "TVG-5" in (said := capsys.readouterr().out) and "stands on 2 of 2 machines" in said
    monkeypatch.setitem(bound.BOUNDS, "tight", lambda *arguments: tight_bound(*arguments) / 4)
    folders.append(measured_on("third"))
    assert merge.main(list(map(str, folders))) == 1
    said = capsys.readouterr().out
    assert "stands on 2 of 3 machines" in said
    assert "not on third: seed 0: tight_over_C_least is " in said and "not on first" not in said
    assert "The same code, data and seed gave different numbers" in said
    (line,) = (line for line in said.splitlines() if line.startswith("  TVG-5: tight_over_C_least of gradients-bound"))
    assert "on first" in line and "on second" in line and "on third" in line


def test_results_of_other_code_damaged_ones_and_doubles_are_left_out_and_named(tmp_path, capsys):
    folder = written(tmp_path / "theirs", result(), result(), result(code="0123", machine="other"))
    (folder / "x.json").write_text("{")
    assert merge.main([str(folder), str(tmp_path / "nowhere.json")]) == 0
    told = capsys.readouterr()
    assert "1 result of 1 machine." in told.out
    assert "1.json' is left out: the same result is there already" in told.err
    assert f"2.json' is left out: other code measured it (digest 0123, commit abc) than the code here (digest " \
           f"{BOUND.code_digest()})" in told.err
    assert "x.json' is left out: it is no result of the ledger" in told.err and "nowhere.json' is left out" in told.err
    assert merge.main([str(folder / "x.json")]) == 1


@pytest.mark.skipif(not shutil.which("ssh-keygen"), reason="OpenSSH is not installed")
def test_only_signed_results_count_where_signers_are_given(tmp_path, capsys):
    folder = written(tmp_path / "theirs", result(), result(seed=1), result(seed=2), result(seed=3))
    for name in ("friend", "stranger"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", tmp_path / name], check=True)
    for key, number, space in (("friend", 0, "weightspace"), ("stranger", 1, "weightspace"), ("friend", 2, "file")):
        subprocess.run(["ssh-keygen", "-q", "-Y", "sign", "-f", tmp_path / key, "-n", space, folder / f"{number}.json"],
                       check=True, capture_output=True)
    signers = tmp_path / "signers"
    signers.write_text(f"friend@example.org {(tmp_path / 'friend.pub').read_text()}")
    assert merge.main([str(folder), "--signers", str(signers)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("1 result of 1 machine. Each is signed by one of the signers.")
    assert "1.json' is left out: none of the signers" in told.err and "2.json' is left out: none of the" in told.err
    assert "3.json' is left out: it is not signed: there is no 3.json.sig beside it" in told.err
    (folder / "0.json").write_text(result(machine="forged").to_json())
    assert merge.main([str(folder), "--signers", str(signers)]) == 1


# -- the command -------------------------------------------------------------------------------------------------------

@pytest.fixture
def own_ledger(tmp_path, monkeypatch):
    """measured.yaml, spread.yaml and the pages in a folder of the test; the code is that of a commit."""
    for name in ("MEASURED", "SPREAD"):
        path = tmp_path / getattr(model, name).name
        if getattr(model, name).exists():
            shutil.copy(getattr(model, name), path)
        monkeypatch.setattr(model, name, path)
    monkeypatch.setattr(page, "ROOT", tmp_path)
    monkeypatch.setattr(archive, "_commit", lambda: "abc1234")
    monkeypatch.setattr(archive, "changed", lambda: [])
    return tmp_path


def asked_twice(monkeypatch, command, measured):
    """What two runs of a command measure, where measuring takes no time."""
    def remeasure(experiment, profile, seed):
        measured.append((experiment.name, profile, seed))
        return numbers_of(0)

    monkeypatch.setattr(running.judge, "remeasure", remeasure)
    return [__main__.main(command), __main__.main(command)]


def test_more_seeds_are_stored_as_spread_and_a_second_run_measures_nothing(own_ledger, monkeypatch, capsys):
    before, measured = model.MEASURED.read_text(), []
    command = ["spread", "--only", BOUND.module, "--seeds", "10-12", "29"]
    assert asked_twice(monkeypatch, command, measured) == [0, 0]
    assert measured == [("gradients-bound", "full", seed) for seed in (10, 11, 12, 29)]
    assert model.MEASURED.read_text() == before
    kept = yaml.safe_load(model.SPREAD.read_text())
    assert list(kept["numbers"]["TVG-5"]["C_at_average"]) == [10, 11, 12, 29]
    assert [run["seeds"] for run in kept["runs"] if run["experiment"] == "gradients-bound"] == [[10, 11, 12, 29]]
    assert "4 of 4 units were measured before" in capsys.readouterr().err
    text = (own_ledger / "docs/claims/tvg.md").read_text()
    assert "On 4 more seeds, on which no bound was set (10–12, 29), 4 of its 4 conditions were tried; " in text
    assert "they hold on 4 of 4." in text
    assert text.count("; other seeds: ") == len(kept["numbers"]["TVG-5"])


@pytest.mark.parametrize("seeds, says", [
    (["9-11"], "the ledger's bounds were set with gradients-bound, profile full, seed 9"),
    (["11-10"], "'11-10' is no seed and no range of seeds"), (["-1"], "no range"), (["ten"], "no range")])
def test_seeds_that_cannot_be_a_spread_are_refused(own_ledger, seeds, says, capsys):
    with pytest.raises(SystemExit):
        __main__.main(["spread", "--only", BOUND.module, f"--seeds={seeds[0]}"])
    assert says in " ".join(capsys.readouterr().err.split())


def test_what_a_spread_would_measure_can_be_asked(own_ledger, capsys):
    assert __main__.main(["spread", "--list", "--profile", "quick"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "sail-spirals, profile quick, seed 10 (lessons.sail.experiment)" in lines
    assert len(lines) % 20 == 0 and not any("profile full" in line or line.startswith("resnet") for line in lines)


def test_claims_on_a_cluster_that_is_not_there_write_nothing(own_ledger, monkeypatch, capsys):
    before = model.MEASURED.read_text()
    monkeypatch.setattr(cluster, "SECONDS", 0.5)
    command = ["--only", BOUND.module, "--seeds", "0", "--cluster", "tcp://127.0.0.1:1"]
    assert __main__.main(command) == 1
    assert "no scheduler answers at tcp://127.0.0.1:1" in capsys.readouterr().err
    assert model.MEASURED.read_text() == before


def test_a_unit_that_fails_is_named_the_others_are_written_and_a_second_run_measures_it_alone(
        own_ledger, monkeypatch, capsys):
    asked, broken = [], {1}

    @contextlib.contextmanager
    def opened(address, fits, wanted):
        with ThreadPoolExecutor(1) as executor:
            yield executor

    def work(about, _):
        seed = about["unit"]["seed"]
        asked.append(seed)
        if seed in broken:
            raise ArithmeticError("the disk of this worker is broken")
        return archive.surroundings() | {"unit": about["unit"], "numbers": numbers_of(seed)}, {}

    monkeypatch.setattr(cluster, "opened", opened)
    monkeypatch.setattr(units, "measure_here", lambda parcel: cluster.answered(work, parcel))
    command = ["--only", BOUND.module, "--seeds", "0", "1", "2", "--cluster", "tcp://anywhere:1"]
    assert __main__.main(command) == 1
    said = capsys.readouterr().err
    assert "1 of 3 failed, and the others are kept" in said
    assert "gradients-bound, profile full, seed 1 (lessons.gradients.experiment.bound): a worker on" in said
    assert "failed: ArithmeticError: the disk of this worker is broken" in said
    measured_now = {seed for run in model.runs() if run["commit"] == "abc1234" for seed in run["seeds"]}
    assert asked == [0, 1, 2] and measured_now == {0, 2}
    broken.clear()
    assert __main__.main(command) == 0 and asked == [0, 1, 2, 1]


@pytest.mark.slow  # starts processes
def test_claims_on_a_cluster_are_written_as_they_come_and_what_is_there_is_not_measured(
        own_ledger, monkeypatch, tmp_path, capsys):
    """Seed 0 was measured before, on another machine."""
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
    results.keep(result(machine="before"))
    command = ["--only", BOUND.module, "--seeds", "0", "1"]
    with local_cluster.local([tmp_path / "worker"]) as worker:
        assert __main__.main([*command, "--cluster", worker.scheduler_address]) == 0
    told = capsys.readouterr().err
    assert "1 of 2 units were measured before" in told
    kept = yaml.safe_load(model.MEASURED.read_text())
    runs = {seed: run for run in kept["runs"] if run["experiment"] == "gradients-bound" for seed in run["seeds"]}
    assert runs[0]["processor"] == "P, AVX2" and runs[1]["processor"] == archive.circumstances()["processor"]
    assert runs[1]["commit"] == "abc1234" and sorted(kept["numbers"]["TVG-5"]["C_at_average"]) == list(range(10))
    there = results.kept(Unit(BOUND.module, BOUND.experiment, "full", 1), BOUND.code_digest(), BOUND.data_digest())
    assert there.machine == archive.machine() and there.numbers["TVG-5"]["C_at_average"] == pytest.approx(
        kept["numbers"]["TVG-5"]["C_at_average"][1])
