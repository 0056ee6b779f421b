"""docs/scale.md is what tools/scale.py calculates, and its arithmetic can be followed."""
import pytest

from tools import scale


def test_the_page_says_what_the_script_calculates():
    assert scale.PAGE.read_text(encoding="utf-8") == scale.page(), "run python -m tools.scale"


def test_an_assumption_that_changes_changes_the_page(monkeypatch):
    before = scale.page()
    monkeypatch.setitem(scale.ASSUMED, "used", scale.Assumed(0.2, "slower", "the test"))
    assert scale.page() != before
    work = scale.LARGEST
    assert work.hours == pytest.approx((work.training_flops + work.looking_flops) / (989e12 * 0.2) / 3600)


def test_flops_are_6nd_and_bytes_4n():
    work = scale.Work("X", scale.Model("x", 1e9, 100, 10, "s"), trainings=3, seen=1e6, looks=1e4)
    assert work.training_flops == 6 * 1e9 * (1e6 * 100) * 3 and work.looking_flops == 2 * 1e9 * 1e4 * 100
    assert work.kept == 12e9 and work.sent == 24e9


def test_every_number_that_is_not_of_a_source_says_so():
    assert all(one.source and one.means for one in scale.ASSUMED.values())
    assert {"ours" in one.source for one in scale.ASSUMED.values()} == {True, False}


HOUR = 3.6e12  # bytes that a line of 1 GB/s carries in an hour


@pytest.mark.parametrize("machines, jobs, size, hours", [
    (1, 5, 0.0, 5.0), (5, 5, 0.0, 1.0), (2, 5, 0.0, 3.0), (10, 5, 0.0, 1.0),
    (1, 2, HOUR, 6.0),  # in, 1, out, in, 1, out
    (2, 2, HOUR, 4.0)])  # in and in; out (3), out (4)
def test_without_stops_the_simulation_is_arithmetic(machines, jobs, size, hours):
    outcome = scale.simulated(machines, jobs, 1.0, size, 1e9, 1e12)
    assert outcome.hours == pytest.approx(hours) and outcome.again == 0
    assert outcome.busy == pytest.approx(jobs / (machines * hours))
    assert outcome.line == pytest.approx(2 * jobs * size / HOUR / hours)


def test_more_machines_than_the_line_can_feed_are_hardly_faster():
    enough = round(scale.enough())
    job = scale.LARGEST.hours_of_one, scale.LARGEST.model.size, scale.assumed("line"), 1e12
    hours = {machines: scale.simulated(machines, 2000, *job).hours for machines in (enough // 10, enough, 5 * enough)}
    assert hours[enough // 10] > 8 * hours[enough] and hours[enough] < 1.3 * hours[5 * enough]


def test_stops_cost_what_theory_says():
    """A job of h hours that begins again at every stop takes (e^(h/s) − 1)·s hours on average."""
    outcome = scale.simulated(1, 2000, 10.0, 0.0, 1.0, 10.0)
    assert outcome.hours / 2000 == pytest.approx((2.71828 - 1) * 10, rel=0.1)
    assert outcome.again == pytest.approx(2000 * (2.71828 - 1), rel=0.1)
