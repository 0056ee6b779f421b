"""What the views of chapter 6 say at several settings of the archived full sweeps, beside the sweeps' numbers."""
import re

import numpy as np
import pytest
import torch

from lessons.gradients import panels
from lessons.gradients.algorithms import expansion
from lessons.gradients.experiment import bound, common, epochs, plane, rounds, steps
from lessons.gradients.experiment.epochs import DIGITS, FAR, GD, SGD
from lessons.kit.noise import WIDE, Difference
from lessons.kit.predict import predict

PANELS = {"plane": (plane, panels.plane.walks), "term": (steps, panels.steps.term), "steps": (steps, panels.steps.gap),
          "bound": (bound, panels.bound.against_alpha), "epochs": (epochs, panels.epochs.merging),
          "rounds": (rounds, panels.rounds.many_merges)}
LABELS = {"remains", "after the formula"}
OPENINGS = {
    "plane": "Task arithmetic ends far from joint training",
    "term": "For small steps the formula explains the gap",
    "steps": "For small steps our term explains the gap, the paper’s makes it longer",
    "bound": "At this α the theorem’s bound is zero, and C is not",
    "epochs": "The networks go on learning, but only part of it reaches their merge",
    "rounds": "Merged often, the networks are as good as joint training, within the noise"}


@pytest.fixture(scope="module")
def sweeps():
    return {name: module.run("full", 0) for name, (module, _) in PANELS.items()}


@pytest.fixture(scope="module")
def views(sweeps):
    """All six, as they open without a prediction."""
    return {name: draw(sweeps[name]) for name, (_, draw) in PANELS.items()}


def at(view, **values):
    """The frame at other settings; the view stays where it is."""
    return view.draw(**view.values | values)


@pytest.mark.parametrize("name", OPENINGS)
def test_a_view_opens_where_its_finding_is_seen(name, views):
    view = views[name]
    assert view.title == OPENINGS[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) == 1
    assert all(len(control.texts) <= 6 for control in view.controls.values() if control.kind == "chips")


@pytest.mark.parametrize("name", OPENINGS)
def test_titles_state_no_number_and_alts_no_gap(name, views):
    view = views[name]
    for value in view.controls[view.slider].values:
        frame = at(view, **{view.slider: value})
        assert not re.search(r"[0-9]", frame.title) and "nan" not in frame.alt
        if "alpha" in view.controls:
            assert f"α = {frame_alpha(view, value):.2f}" in frame.alt


def frame_alpha(view, value):
    return value if view.slider == "alpha" else view.controls["alpha"].value


# -- the plane -------------------------------------------------------------------------------------

@pytest.mark.parametrize("k, eta, title", [
    (1, 0.8, "After one step, task arithmetic is joint training exactly"),
    (2, 0.4, "From the second step on, task arithmetic leaves joint training"),
    (10, 0.1, "From the second step on, task arithmetic leaves joint training"),
    (10, 0.8, "Task arithmetic ends far from joint training")])
def test_how_far_the_walks_are_apart(k, eta, title, sweeps, views):
    frame = at(views["plane"], k=k, eta=eta)
    here = sweeps["plane"].sel(eta=eta, alpha=0.5, step=k)
    share = (here.apart / here.far).item()
    assert frame.title == title and frame.values["distance"][k - 1] == pytest.approx(share)
    assert f"The gap is {share:.2g} of how far joint training went" in frame.alt


def test_the_walks_lie_on_the_map_and_end_at_the_step_of_the_slider(sweeps, views):
    for values in ({"eta": 0.8, "alpha": 1.5, "k": 10}, {"eta": 0.8, "alpha": 0.25, "k": 4}):
        frame = at(views["plane"], **values)
        for name in ("A", "B", "added", "joint"):
            walk = np.array(frame.values[f"walk of {name}"])
            assert ((walk >= 0) & (walk <= 1)).all() and walk.shape == (2, 11)
            assert walk[:, -1:] == pytest.approx(np.array(frame.values[name]))
            assert walk[:, values["k"]] == pytest.approx(walk[:, -1])
    sweep = sweeps["plane"]
    corner = np.array([[sweep.horizontal.values[0], sweep.vertical.values[-1]]])
    across, up = panels.plane.on_map(sweep, corner)[:, 0]
    assert across == pytest.approx(0.5 / 25) and up == pytest.approx(1 - 0.5 / 25), "the middle of a corner's cell"
    nearest = np.array(frame.values["loss"])[-1 - int(25 * frame.values["start"][1, 0]),
                                             int(25 * frame.values["start"][0, 0])]
    assert nearest == pytest.approx(sweep.joint_loss.isel(step=0, eta=0, alpha=0).item(), abs=0.02)


# -- the terms -------------------------------------------------------------------------------------

@pytest.mark.parametrize("values, title", [
    ({"network": "linear", "k": 10}, OPENINGS["steps"]),
    ({"alpha": steps.TRAP}, "At this α the paper’s term passes the test too, once its sign is turned round"),
    ({"network": "ReLU"}, "Where samples cross a kink, our term misses part of the gap"),
    ({"network": "ReLU", "k": 10, "data": "Rotated MNIST"}, "Even for small steps our term leaves much of the gap"),
    ({"network": "ReLU", "k": 10, "alpha": steps.TRAP, "loss": "squared error"},
     "Only for the smallest steps does our term explain the gap")])
def test_which_term_explains_the_gap(values, title, views):
    frame = at(views["steps"], **values)
    assert frame.title == title
    is_split = values.get("network") == "ReLU" and "k" not in values
    assert np.isfinite(np.array(frame.values["smooth"])).any() == is_split


@pytest.mark.parametrize("values, title", [
    ({"network": "linear", "k": 10}, OPENINGS["term"]),
    ({"network": "ReLU"}, "Where samples cross a kink, the formula misses part of the gap")])
def test_the_lesson_shows_our_term_as_the_formula_without_the_papers(values, title, views):
    frame, in_deeper = at(views["term"], **values), at(views["steps"], **values)
    assert frame.title == title and "paper" not in frame.alt and "our term" not in frame.alt
    assert ("Of what the formula leaves" in frame.alt) == (values["network"] == "ReLU")
    assert {mark.label for mark in views["term"].marks if mark.name.endswith("missed")} == LABELS
    assert frame.values["missed"] == pytest.approx(in_deeper.values["missed"], nan_ok=True)
    assert not any("printed" in name or "flipped" in name for name in frame.values)


def test_the_powers_are_those_of_a_line_on_logarithmic_axes():
    etas = np.geomspace(1e-4, 1e-1, 7)
    assert panels.steps._powers(etas, 7 * etas ** 2.5) == pytest.approx(2.5)
    assert np.isnan(panels.steps._powers(etas, 0 * etas)).all()


def test_shares_and_powers_beyond_the_axes_are_not_drawn(sweeps, views):
    part = sweeps["steps"].sel(network="ReLU", k=3, alpha=0.25, loss="cross-entropy", data="Spirals")
    frame = at(views["steps"], network="ReLU")
    assert frame.values["missed"] == pytest.approx((part.missed / part.gap).values)
    powers = np.array(frame.values["power of missed"])
    assert np.isnan(powers).any() and np.nanmax(powers) <= panels.steps.POWERS[1]


# -- the bound -------------------------------------------------------------------------------------

@pytest.mark.parametrize("alpha, known, title", [
    (0.05, bound.AS_CORRECTED, "At this α the theorem’s bound holds, but nothing guarantees it"),
    (0.2, bound.AS_CORRECTED, "At this α the theorem’s bound holds, and that of its proof does not"),
    (0.5, bound.AS_CORRECTED, "For so large an α the theorem’s bound is the best there is"),
    (0.5, bound.AS_PRINTED, "With H from the printed norms every bound is zero, and C is not")])
def test_what_is_said_of_the_bounds_of_a_linear_network(alpha, known, title, sweeps, views):
    frame = at(views["bound"], network="linear", alpha=alpha, known=known)
    here = sweeps["bound"].sel(network="linear", alpha=alpha, known=bound.MEASURED)
    assert frame.title == title and f"that of 6.6 b {here.tight.item():.3g}" in frame.alt
    column = list(sweeps["bound"].alpha.values).index(alpha)
    assert frame.values["tight"][column] == pytest.approx((here.tight / here.C).item())


def test_with_relu_the_panel_says_that_the_source_has_another_bound(views):
    assert at(views["bound"], network="ReLU", known=bound.AS_PRINTED).title.endswith("for ReLU the source has another")


def test_a_bound_below_the_truth_is_called_so():
    numbers = {"C": 2.0, "printed": 1.0, "appendix": 1.0, "tight": 9.0}
    assert panels.bound.finding_of_bounds(numbers, numbers) == "At this α the theorem’s bound is below the truth"


# -- epochs and rounds -----------------------------------------------------------------------------

@pytest.mark.parametrize("alone, merged, title", [
    ([0.5, 0.9], [0.5, 0.7], "The networks go on learning, but only part of it reaches their merge"),
    ([0.5, 0.9], [0.5, 0.9], "The longer the networks learn, the better their merge"),
    ([0.5, 0.9], [0.5, 0.51], "The networks go on learning, their merge gains nothing beyond the noise"),
    ([0.5, 0.9], [0.5, 0.3], "The networks go on learning, and their merge gets worse"),
    ([0.5, 0.51], [0.5, 0.7], "The networks learn nothing more, within the noise")])
def test_what_a_merge_gains_from_more_epochs(alone, merged, title):
    assert panels.epochs.finding_of_epochs(np.array(alone), np.array(merged), 3000) == title


@pytest.mark.parametrize("data, optimiser", [(DIGITS, SGD), (FAR, SGD), (DIGITS, GD), ("Spirals", SGD)])
def test_the_title_over_the_epochs_is_what_the_sweep_says(data, optimiser, sweeps, views):
    frame = at(views["epochs"], epochs=20, data=data, optimiser=optimiser)
    merged = epochs.chosen(sweeps["epochs"]).accuracy.sel(data=data, optimiser=optimiser)
    gain = Difference.of(float(merged[-1]), float(merged[0]), 6000)
    assert gain.is_news != ("nothing beyond" in frame.title)
    assert f"their merge has {float(merged[-1]):.3f} ± " in frame.alt
    low, high = np.array(frame.values["merged, sure"])
    assert high - low == pytest.approx(2 * WIDE * np.sqrt(merged.values * (1 - merged.values) / 6000))


@pytest.mark.parametrize("rounds, end, once, joint, title", [
    (1, 0.7, 0.7, 0.8, "Merged once, the networks stay behind joint training"),
    (1, 0.8, 0.8, 0.8, "One merge is as good as joint training, within the noise"),
    (2, 0.71, 0.7, 0.8, "So many rounds are no better than one merge, within the noise"),
    (2, 0.75, 0.7, 0.8, "Merged more than once, the networks come closer to joint training"),
    (9, 0.8, 0.7, 0.8, "Merged often, the networks are as good as joint training, within the noise")])
def test_what_many_merges_come_to(rounds, end, once, joint, title):
    assert panels.rounds.finding_of_rounds(rounds, end, once, joint, 3000) == title


def test_the_path_of_merges_begins_at_the_pretrained_network_and_single_merges_follow_their_chips(sweeps, views):
    sweep = sweeps["rounds"]
    frame = at(views["rounds"], rounds=5, budget=1)
    path = np.array(frame.values["path"])
    assert path.shape == (2, 6) and path[:, :1] == pytest.approx(frame.values["start"])
    assert frame.values["TIES"] == ([1], [sweep.how_accuracy.sel(how="TIES", budget=1).item()])
    there = (sweep.name == "TIES") & (sweep.point_spent == 1)
    place = panels.plane.on_map(sweep, sweep.place.values[there.values])
    assert np.array(frame.values["TIES there"]) == pytest.approx(place)


# -- predictions -----------------------------------------------------------------------------------

def test_the_predictions_are_asked_where_the_views_show_the_answer(sweeps):
    truths = {"term": 2.0,
              "epochs": epochs.chosen(sweeps["epochs"]).accuracy.sel(data=DIGITS, optimiser=SGD, epochs=1).item(),
              "rounds": sweeps["rounds"].accuracy.sel(rounds=10, scale=1.0, spent=10).item()}
    for name, truth in truths.items():
        guess = predict("How much?", low=0.3, high=4)
        view = PANELS[name][1](sweeps[name], guess)
        assert guess.truth == pytest.approx(truth, abs=1e-3)
        assert guess.at.items() <= view.values.items(), "it opens where it is asked"
        told = [mark for mark in view.marks if mark.kind in ("line", "band") and mark.role == "merged"]
        shown = {mark.name for mark in told} - set(view.hides)
        assert shown <= {"missed"}, "the share that our term leaves says nothing of the gap's power"
    assert set(view.hides) < {mark.name for mark in view.marks}


def test_the_questions_name_what_is_known(sweeps):
    own = sweeps["epochs"].own.sel(data=DIGITS, optimiser=SGD, epochs=1).mean().item()
    once = sweeps["rounds"].how_accuracy.sel(how="average", budget=10).item()
    assert f"accuracy {own:.2f}" in panels.epochs.question(sweeps["epochs"])
    assert f"accuracy {once:.2f} on all six tasks" in panels.rounds.question(sweeps["rounds"])


# -- the lesson's readings -------------------------------------------------------------------------

def test_the_readings_of_the_lesson_say_what_the_full_sweeps_say(sweeps):
    walks = panels.plane.reading_of_walks(sweeps["plane"])
    assert "there was no gap, for any step size and any α" in str(walks.page) and "equally many steps" in walks.text
    powers = panels.steps.reading_of_the_powers(sweeps["steps"])
    assert "a quarter of the gap" in powers.page and "misses nothing of second order" in powers.text
    kinks = panels.steps.reading_of_what_kinks_add(sweeps["steps"])
    assert "the formula can miss much of the gap, and nearly all of that comes from samples across a kink" in kinks.page
    deeper = panels.steps.reading_of_the_kinks(sweeps["steps"]).page
    assert "<b>What the Hessian misses comes from the samples across a kink.</b>" in deeper
    figure_3 = panels.epochs.reading_of_figure_3(sweeps["epochs"]).page
    assert "<b>With SGD the first epoch has a larger share than with full batches, and the later ones keep" in figure_3
    middle = steps.middle_of_relu(sweeps["steps"])
    missed = (middle.missed / middle.gap).mean("eta").sel(loss="cross-entropy")
    least, most = (float(missed.sel(data=name)) for name in (common.SPIRALS, common.DIGITS))
    assert f"from {least:.0%} on Spirals with cross-entropy to {most:.0%} on digits with cross-entropy" in kinks.text
    best = epochs.chosen(sweeps["epochs"]).accuracy.sel(data=DIGITS, optimiser=SGD)
    first = panels.epochs.reading_of_the_first_epoch(sweeps["epochs"])
    assert "most of what twenty brought, but not all" in first.page
    one, twenty = (float(best.sel(epochs=number)) for number in (1, 20))
    assert f"to {one:.0%} in the first epoch, and to {twenty:.0%} after twenty" in first.text
    assert first.page.startswith("<p><b>With SGD, ")
    many = panels.rounds.reading_of_many_merges(sweeps["rounds"], sweeps["epochs"])
    assert "many small merges were better than one" in many.page
    assert "rose with every number of rounds that we tried, though from five to ten within the noise." in many.text
    assert f"at its best scale had {float(best.sel(epochs=10)):.0%} in the last section." in many.text


def test_the_merge_becomes_better_while_its_task_vectors_become_less_like_gradients(sweeps):
    sweep = sweeps["epochs"]
    part = sweep.sel(data=DIGITS, optimiser=SGD)
    assert (part.towards.sel(epochs=20) < part.towards.sel(epochs=1)).all(), "in every task"
    merged = epochs.chosen(sweep).accuracy.sel(data=DIGITS, optimiser=SGD)
    gain = Difference.of(float(merged[-1]), float(merged[0]), 6000)
    assert gain.is_news and gain.value > 0
    said = panels.epochs.reading_of_likeness(sweep)
    assert "became better while its task vectors became less like gradients" in said.page
    before = float(part.before)
    first, last = (float((merged.sel(epochs=number) - before) / (part.own.mean("task").sel(epochs=number) - before))
                   for number in (1, 20))
    assert f"the merge had {first:.0%} after one epoch and {last:.0%} after twenty." in said.text


def test_only_part_of_what_the_networks_gain_after_the_first_epoch_arrives_in_their_merge(sweeps):
    best, own = epochs.chosen(sweeps["epochs"]).accuracy, sweeps["epochs"].own.mean("task")
    for name in (DIGITS, FAR):
        alone, merged = (values.sel(data=name, optimiser=SGD) for values in (own, best))
        gains = [Difference.of(float(values[-1]), float(values[0]), 6000) for values in (alone, merged)]
        assert gains[0].is_news and gains[0].value > 0
        kept_back = Difference(gains[0].value - gains[1].value, float(np.hypot(gains[0].error, gains[1].error)))
        assert kept_back.is_news and kept_back.value > 0


def test_what_does_not_hold_is_not_said(sweeps):
    sweep = sweeps["epochs"].copy(deep=True)
    sweep["towards"] = sweep.towards * 0 + 0.5
    likeness = panels.epochs.reading_of_likeness(sweep)
    assert likeness.page.startswith("<p><b>Are task vectors") and "decide" not in likeness.text
    flat = sweeps["epochs"].copy(deep=True)
    flat["own"] = flat.own * 0 + 0.9
    unlearned = panels.epochs.reading_of_likeness(flat).text
    assert "does not decide it" in unlearned and "learn more" not in unlearned
    flat = sweeps["rounds"].copy(deep=True)
    flat["accuracy"] = flat.accuracy * 0 + 0.5
    many = panels.rounds.reading_of_many_merges(flat)
    assert "Are many small merges better than one?" in many.page and "rose" not in many.text
    kinks = sweeps["steps"].copy(deep=True)
    kinks["smooth"] = kinks.gap * 0.2
    assert "How much does the formula miss" in panels.steps.reading_of_what_kinks_add(kinks).page
    clear = panels.rounds._risen([1, 2], [0.5, 0.7], 6000)
    assert clear == "The accuracy rose with every number of rounds that we tried."


def test_the_lesson_shows_single_merges_by_averaging_alone(sweeps):
    view = panels.rounds.many_merges(sweeps["rounds"], methods=("average",))
    assert list(view.controls) == ["rounds"] and "TIES" not in view.alt
    assert "TIES there" not in {mark.name for mark in view.marks}


# -- places ----------------------------------------------------------------------------------------

def test_the_red_line_between_the_arrows_is_the_gap():
    tasks = common.tasks(common.SPIRALS, "tanh", "cross-entropy", 50, 0, plane.ANGLES)
    step = panels.places.second_step(tasks, eta=0.4)
    walk = common.walk(tasks, 0.4, 0.5, 2)
    axes = plane.basis(torch.stack([-expansion.gradient(f, tasks.base) for f in tasks.losses]))
    assert step.gap == pytest.approx(walk.gap[2].norm().item())
    assert (step.at_own - step.at_joint).mean(0) == pytest.approx((axes @ walk.gap[2]).numpy())
    assert f"{step.lengths[0]:.2f} long with the gradient at A" in panels.places.reading_of_the_arrows(step).text
    drawn = panels.places.arrows(step).data
    assert f"over all weights they are {step.gap:.3f} apart" in drawn and "η = 0.4. Drawn is what lies in" in drawn


def test_half_the_step_size_leaves_about_half_of_the_plane_across_a_kink():
    tasks = common.tasks(common.SPIRALS, "ReLU", "cross-entropy", 100)
    across = panels.places.kinks(tasks, side=200)
    assert all(0.4 <= b.share / a.share <= 0.6 for a, b in zip(across, across[1:]))
    assert "about half as much of the plane" in panels.places.reading_of_between_kinks(across).page
    drawn = panels.places.between_kinks(across, tasks.inputs[-1], tasks.labels[-1]).data
    assert f"{across[0].share:.1%} of the disc and {int(across[0].points.sum())} points" in drawn
    assert "How much of the plane" in panels.places.reading_of_between_kinks(across[:1] * 2).page


def test_stills_of_small_tasks_say_their_numbers():
    tasks = common.tasks(common.SPIRALS, "tanh", "cross-entropy", 50)
    drawn = panels.places.four_tasks(tasks).data
    assert f"22.5°, loss {tasks.losses[0](tasks.base).item():.2f}" in drawn
    assert "widths 2–8–8–2, tanh in the two hidden layers, no biases and 96 weights" in drawn
    parabolas = panels.places.parabolas().data
    assert "Joint training has not moved from 0.00, and the average is at −0.12." in parabolas
    assert "That is −αη²C = −½ · 0.16 · 1.5." in parabolas and round(-0.5 * 0.16 * 1.5, 2) == -0.12
    assert "1 0.5, 12 0." in panels.rounds.by_hand({1: 0.5, 12: 0.0}).data
