"""`python -m tools.bench`: what is named is measured, everything where nothing is."""
import pytest

from lessons.checkpoints.towers import Tower
from tools.bench import __main__ as benchmarks
from tools.bench import checkpoints, clip_device, goals


@pytest.fixture
def measured(monkeypatch):
    """The names of the parts that were run, in order; none of them measures anything."""
    names = []

    def part(name):
        def measure():
            """What it measures."""
            names.append(name)
        return measure
    monkeypatch.setattr(benchmarks, "PARTS", {name: part(name) for name in benchmarks.PARTS})
    return names


def test_everything_is_measured_where_nothing_is_named(measured):
    assert benchmarks.main([]) == 0
    assert measured == list(benchmarks.PARTS) and len(measured) > 1


def test_only_the_parts_named_are_measured(measured):
    assert benchmarks.main(["matching", "training"]) == 0
    assert measured == ["training", "matching"]


def test_help_says_what_each_part_measures_and_measures_nothing(measured, capsys):
    with pytest.raises(SystemExit) as end:
        benchmarks.main(["--help"])
    text = capsys.readouterr().out
    assert end.value.code == 0 and not measured
    assert all(f"{name} " in text for name in benchmarks.PARTS) and "What it measures." in text


def test_an_unknown_part_is_named_with_those_there_are(measured, capsys):
    with pytest.raises(SystemExit) as end:
        benchmarks.main(["matching", "speed"])
    assert end.value.code == 2 and not measured
    assert "no part speed" in capsys.readouterr().err


def test_merging_from_files_is_timed_and_its_memory_seen(tmp_path, one_thread):
    tower = Tower(width=64, layers=1, heads=1, mlp=96, tokens=5, patch=8)
    checkpoints.write(tmp_path, tower)
    seconds, peak = checkpoints.measured("ties", tmp_path)
    assert seconds > 0 and peak >= 0 and (tmp_path / "merged by ties/README.md").exists()
    assert checkpoints.goal(tower) == 4 * (2 * tower.parameters() + 8 * 3 * 8 * 8 * 64)


def test_every_step_of_clips_path_is_timed_on_a_device(capsys, one_thread):
    clip_device.clip_on_device("cpu", Tower(width=64, layers=1, heads=1, mlp=96, tokens=5, patch=8), images=3, steps=1)
    said = capsys.readouterr().out
    assert "fails on" not in said and "one model on all tasks, bfloat16" in said
    assert all(f"{title}, on the device" in said for title in ("Average", "TIES", "TSV-M", "CART"))
    assert "linearity, one pair" in said and "AdaMerging, 1 steps" in said


def test_the_table_says_what_is_kept_what_is_missed_and_what_was_not_measured():
    slow = goals.Figure([2.0, 3.0, 1.0], [4.0, 4.0, 4.0], "mergekit", "ours 2.00 s")
    text = goals.table({"average": slow, "ties": goals.Figure([0.2]), "dare": goals.Figure(said="not installed")})
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines() if line.startswith("| ")}
    assert {goal.what for goal in goals.GOALS.values()} <= rows.keys()
    average = rows["average, in memory"]
    assert "mergekit | 2.00× (1.00 to 3.00) | ≤ 1.1× | 4.00× (4.00 to 4.00) | missed" in average
    assert "kept" in rows["TIES, in memory"] and "not installed" in rows["DARE, in memory"]
    assert "chapters was not run" in rows["main line in quick with nothing kept"]
    assert "685c6b7" in rows["test suite"]
    assert "Missed: average, in memory" in text and "Missed: TIES" not in text


def test_pairs_take_turns_and_divide_by_the_fastest():
    order = []

    def taking(name, seconds):
        return lambda: order.append(name) or (seconds, 2 * seconds)

    figure = goals.pairs(taking("ours", 1.0), {"slow": taking("slow", 8.0), "quick": taking("quick", 4.0)}, 2)
    assert figure.peer == "quick" and figure.values == [0.25, 0.25] == figure.clock
    assert order[:3] == order[5:2:-1] and order.count("ours") == 3
    assert goals.pairs(taking("ours", 1.0), {}).said == "not installed"
