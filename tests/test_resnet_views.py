"""What the views of chapter 2 say at all settings of the archived full sweeps, and their rules."""
import itertools
import re

import numpy as np
import pytest

from lessons.kit.noise import Difference
from lessons.resnet import experiment
from lessons.resnet.panels import amounts, pairs, steps


@pytest.fixture(scope="module")
def views():
    """All five, as they open without a prediction."""
    sweep = experiment.pairs.run("full", 0)
    return {"small_steps": steps.small_steps(experiment.steps.run("full", 0)),
            "coef_per_block": pairs.coef_per_block(sweep), "batchnorm": pairs.batchnorm_side_by_side(sweep),
            "pretraining": amounts.pretraining(experiment.amounts.run("full", 0)), "answers": pairs.answers(sweep)}


OPENINGS = {
    "small_steps": "One more step on so few images usually ruins the network",
    "coef_per_block": "With interpolated statistics, features come out too short in the last blocks",
    "batchnorm": "Renewed statistics mend the length, not the gap; no clear change in accuracy",
    "pretraining": "Pretraining shrinks the gap, and more splits shrink it further than more steps",
    "answers": "Of these images, A names more of its own than of B’s"}


@pytest.mark.parametrize("name", OPENINGS)
def test_a_view_opens_where_its_finding_is_seen(name, views):
    view = views[name]
    assert view.title == OPENINGS[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) <= 1
    assert all(len(control.texts) <= 6 for control in view.controls.values() if control.kind == "chips")
    assert len({role for role, _ in view.frame.key if role not in ("", "single")}) <= 3


@pytest.mark.parametrize("name", OPENINGS)
def test_titles_state_no_number_and_every_frame_is_within_its_axes(name, views):
    view = views[name]
    grids = {setting: control.values for setting, control in view.controls.items()}
    lines = {mark.name: chart.y for chart in view.charts for mark in chart.marks if mark.kind in ("line", "points")}
    for setting in itertools.islice(itertools.product(*grids.values()), 0, None, 7):
        frame = view.draw(**dict(zip(grids, setting)))
        assert not re.search(r"[0-9]", frame.title) and "nan" not in frame.alt
        for line, axis in lines.items():
            values = np.asarray(frame.values[line], dtype=float)
            values = values[np.isfinite(values)]
            assert ((values >= axis.low) & (values <= axis.high)).all(), (line, setting)


@pytest.mark.parametrize("after, title", [
    ([0.2, 0.3, 0.4], "One more step on so few images ruins the network"),
    ([0.2, 0.3, 0.78], "One more step on so few images usually ruins the network"),
    ([0.2, 0.78, 0.78], "One more step on this many images can ruin the network"),
    ([0.78, 0.77, 0.79], "After one more step on this many images, the mean change is within the noise"),
    ([0.70, 0.71, 0.69], "One more step on this many images costs a little accuracy")])
def test_the_title_over_the_steps_counts_draws_that_lose_much(after, title):
    assert steps.finding_of_steps(0.78 - np.array(after), 500) == title


@pytest.mark.parametrize("median, outputs, says", [
    ([1, 1, 1, 1, 1, 0.97, 0.92, 0.85], 0.6, "features come out too short in the last blocks"),
    ([1, 1, 0.9, 0.9, 0.9, 0.9, 0.9, 0.8], 0.6, "features come out too short in most blocks, most of all in the last"),
    ([1, 0.9, 1, 1, 1, 1, 1, 1], 0.6, "features come out too short in some blocks"),
    ([1.02, 1.03, 1.04, 1, 1, 1, 1, 0.98], 1.1, "features are about as long as the mix in every block"),
    ([1, 1, 1, 1, 1, 1, 1, 1], 0.9, "features are about as long as the mix in every block, but the outputs of both "
                                    "tasks come out too short")])
def test_the_title_over_the_lengths_says_which_blocks_are_short(median, outputs, says):
    title = pairs.finding_of_lengths("batch", np.array(median), outputs)
    assert title == f"With the batch’s own statistics, {says}"


@pytest.mark.parametrize("renewed, gain, title", [
    ((0.2, 1.01), (0.05, 0.01), "Renewed statistics mend the length, not the gap; accuracy rises"),
    ((0.2, 1.01), (-0.05, 0.01), "Renewed statistics mend the length, not the gap; accuracy falls"),
    ((0.1, 1.01), (0.01, 0.01),
     "Renewed statistics mend the length and most of the gap; no clear change in accuracy"),
    ((0.2, 0.9), (0.05, 0.01), "Renewed statistics mend neither length nor gap; accuracy rises"),
    ((0.1, 0.9), (0.05, 0.01), "Renewed statistics mend most of the gap, not the length; accuracy rises")])
def test_the_title_over_the_statistics_says_what_they_mend(renewed, gain, title):
    before, after = ([np.array([value]) for value in both] for both in ((0.25, 0.85), renewed))
    assert pairs.finding_of_statistics(before, after, Difference(*gain)) == title


@pytest.mark.parametrize("gaps, names, title", [
    ([0.5, 0.25], ["nothing", "1 split, 4 passes"], "Pretraining shrinks the gap"),
    ([0.5, 0.48], ["nothing", "1 split, 4 passes"], "Not every pretraining shrinks the gap"),
    ([0.5, 0.25, 0.24, 0.16], ["nothing", *amounts.SAME_STEPS], OPENINGS["pretraining"]),
    ([0.5, 0.25, 0.17, 0.16], ["nothing", *amounts.SAME_STEPS],
     "Pretraining shrinks the gap, but more splits shrink it no further than more steps")])
def test_the_title_over_the_amounts_tells_splits_from_steps(gaps, names, title):
    assert amounts.finding_of_amounts(names, np.array(gaps)) == title


@pytest.mark.parametrize("alpha, right, ends, title", [
    (1.0, (3, 2), ((3, 2), (1, 2)), "Of these images, A names more of its own than of B’s"),
    (1.0, (1, 0), ((1, 0), (3, 2)), "Of these images, B names more of A’s than A does"),
    (0.0, (2, 1), ((1, 3), (2, 1)), "Of these images, A names more of B’s than B does"),
    (0.0, (3, 2), ((3, 2), (3, 2)), "Of these images, B names no more of its own than of A’s"),
    (0.5, (3, 3), ((3, 2), (2, 1)), "Of these images, the network in between names more right than A or B alone"),
    (0.5, (3, 2), ((3, 2), (2, 1)),
     "Of these images, the network in between names no more right than the better of A and B"),
    (0.5, (1, 1), ((3, 2), (2, 1)), "Of these images, the network in between names fewer right than A or B alone")])
def test_the_title_over_the_answers_counts_them(alpha, right, ends, title):
    assert pairs.finding_of_answers(alpha, np.array(right), np.array(ends)) == title
