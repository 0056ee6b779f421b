import numpy as np
import pytest
import torch

import data
from lessons.kit import experiment as kit
from lessons.kit.predict import predict
from lessons.linearity.experiment import mlp as chapter_1
from lessons.start import algorithms, experiment, panels
from toy_models import MLP


def test_the_grid_tiles_the_square_row_by_row_from_below():
    points = algorithms.grid(4, 2.0)
    assert points.shape == (16, 2)
    assert torch.equal(points[0], torch.tensor([-1.5, -1.5]))
    assert torch.equal(points[1], torch.tensor([-0.5, -1.5]))
    with pytest.raises(ValueError, match="at least one pixel"):
        algorithms.grid(0)


def test_the_decision_map_is_the_networks_probability_of_class_1():
    network = MLP([2, 5, 2])
    points = algorithms.grid(3)
    chart = algorithms.decision_map(network, points)
    assert torch.allclose(chart[2, 0], network(points[6:7]).softmax(1)[0, 1])


def test_accuracy_counts_hits_and_needs_samples():
    logits = torch.tensor([[2.0, 1.0], [0.0, 1.0], [3.0, 0.0]])
    assert algorithms.accuracy(logits, torch.tensor([0, 1, 1])) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="evaluation set is empty"):
        algorithms.accuracy(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64))


@pytest.fixture(scope="module")
def networks(standin_folder_session):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        return experiment.ends()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_all_four_networks_had_the_same_lessons_and_only_those_with_one_start_share_them(seed):
    for start, pair in experiment.recipes(seed).items():
        lessons = [(one.parent.options, one.parent.epochs, one.epochs) for one in pair]
        assert lessons == [((("angle", 0.0),), 400, 200)] * 2
        assert (pair[0].parent == pair[1].parent) == (start == "one pretrained start")


def test_what_the_chapter_says_about_shared_and_separate_starts_is_measured(networks):
    """Chapter 0's prose: both pairs learned their tasks; the midpoint of the pair with one start classifies the upright
    spirals better than both ends, and the other midpoint worse."""
    accuracy = experiment.run(networks).accuracy
    for start in experiment.STARTS:
        own = accuracy.sel(start=start)
        assert own.sel(alpha=1.0, task="i") > 0.95
        assert own.sel(alpha=0.0, task="j") > 0.95
    upright = accuracy.sel(task="upright")
    half, ends = upright.sel(alpha=0.5), upright.sel(alpha=[0.0, 1.0])
    assert half.sel(start="one pretrained start") > max(0.95, ends.sel(start="one pretrained start").max())
    assert half.sel(start="two random starts") < ends.sel(start="two random starts").min() - 0.05
    start, test = experiment.after_the_shared_steps(), data.load("spirals", "test", angle=0.0)
    said = panels.what_you_saw(networks, start).text
    before = algorithms.accuracy(start(test.x), test.y)
    assert before > ends.sel(start="one pretrained start").mean() and "the midpoint has it back" in said
    assert "From one pretrained start, the midpoint beats A and B" in \
        panels.what_you_saw(networks, start)._repr_html_()
    assert "From two random starts, the midpoint loses to A and B" in said
    assert f"the midpoint is {half.sel(start='two random starts').item():.2f}," in said


def test_what_the_midpoint_knows_of_both_tasks_is_told_beside_what_the_start_knew(networks):
    accuracy = experiment.run(networks).accuracy
    start = experiment.after_the_shared_steps()
    page = panels.reading_of_both_tasks(networks, start)
    tests = {task: data.load("spirals", "test", angle=experiment.ANGLES[task]) for task in "ij"}
    before = {task: algorithms.accuracy(start(test.x), test.y) for task, test in tests.items()}
    half_way = accuracy.sel(alpha=0.5, start=experiment.STARTS[0])
    assert all(half_way.sel(task=task).item() < before[task] + 0.03 for task in "ij")
    assert "the midpoint knows no more than the start did" in page._repr_html_()
    told = [accuracy.sel(alpha=0.5, start=name, task=task).item() for name in experiment.STARTS for task in "ij"]
    assert all(f"{number:.2f}" in page.text for number in (*told, *before.values()))
    untrained = panels.reading_of_both_tasks(networks, MLP([2, 32, 32, 2]))
    assert "Does the midpoint know more of both tasks than the start did?" in untrained._repr_html_()


def test_units_with_one_number_are_alike_from_one_start_alone(networks):
    """Chapter 0's prose. Half of a turn is 180°."""
    shared, separate = (algorithms.angles(*networks[start]) for start in experiment.STARTS)
    assert shared.median() < panels.ALIKE < panels.UNLIKE < separate.median() and separate.max() <= 180
    said = panels.reading_of_the_units(networks)._repr_html_()
    assert "Only from one start" in said and f"is {shared.median():.0f}°" in said
    assert f"{separate.median():.0f}°" in panels.units(networks).data
    swapped = {start: networks[other] for start, other in zip(experiment.STARTS, experiment.STARTS[::-1])}
    assert "Only from one start" not in panels.reading_of_the_units(swapped)._repr_html_()


def test_the_angle_between_two_units_is_that_of_their_weights():
    a, b = MLP([2, 3, 2]), MLP([2, 3, 2])
    with torch.no_grad():
        a.layers[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
        b.layers[0].weight.copy_(torch.tensor([[3.0, 0.0], [1.0, 0.0], [-1.0, -1.0]]))
    assert algorithms.angles(a, b).detach().tolist() == pytest.approx([0, 90, 180], abs=1e-5)


@pytest.fixture(scope="module")
def view(networks):
    return panels.decision_map(networks)


def test_every_frame_of_the_panel_says_what_the_network_gets_right(networks, view):
    accuracy = experiment.run(networks).accuracy
    for start in experiment.STARTS:
        for alpha in (0.0, 0.5, 1.0):
            frame = view.draw(start=start, alpha=alpha, points="upright")
            assert f"α = {alpha:.2f}" in frame.alt
            assert all(f"{value:.3f}" in frame.alt for value in accuracy.sel(start=start, alpha=alpha).values)


def test_the_map_shows_both_sides_and_the_points_of_the_chosen_task(networks, view):
    frame = view.draw(start=experiment.STARTS[0], alpha=0.5, points="i")
    first, second = (frame.values[f"the {arm} arm’s side"] for arm in ("first", "second"))
    network = experiment.between(networks[experiment.STARTS[0]], 0.5)
    lowest_row = algorithms.decision_map(network, algorithms.grid())[0].numpy()
    assert (first + second == 1).all() and (second[-1] == lowest_row).all(), "an image's first row is above"
    upright = view.draw(start=experiment.STARTS[0], alpha=0.5, points="upright")
    assert not np.array_equal(frame.values["first arm"], upright.values["first arm"])


def test_the_panel_opens_on_one_start_and_keeps_the_answer_until_the_guess(networks, view):
    assert view.values == {"alpha": 0.5, "start": experiment.STARTS[0], "points": "upright"}
    assert view.title == "From one pretrained start, the midpoint beats A and B on upright spirals"
    guess = predict("how accurate?")
    waiting = panels.decision_map(networks, guess)
    assert waiting.spec["prediction"]["at"] == {"start": 1, "alpha": 10}
    upright = experiment.run(networks).accuracy.sel(start=experiment.STARTS[1], alpha=0.5, task="upright").item()
    assert guess.truth == upright
    shown = {mark.name for mark in waiting.marks if mark.parts} - set(waiting.hides)
    assert shown == {"first arm", "second arm", "chance", "A alone", "B alone"}


@pytest.mark.parametrize("upright, says", [
    ([0.90, 0.99, 0.92], "beats A and B on upright spirals"), ([0.90, 0.70, 0.92], "loses to A and B"),
    ([0.90, 0.93, 0.92], "is neither better nor worse than both A and B"),
    ([0.70, 0.80, 0.92], "is neither better nor worse than both A and B")])
def test_the_title_says_of_the_network_half_way_what_its_error_allows(upright, says):
    title = panels.finding("two random starts", np.array(upright), 1000)
    assert title.startswith(f"From two random starts, the midpoint {says}")


def test_what_is_found_here_names_a_stand_in():
    found = experiment.look_around()
    assert "stand-in" in found["data"]
    assert "stand-in" in repr(panels.Found(found))
    assert "The real MNIST is not here" in panels.Found(found)._repr_html_()
    assert "The real MNIST is not here" not in panels.Found(found | {"data": "MNIST"})._repr_html_()


def test_chapter_0_says_of_chapter_1_what_is_so():
    """It does not import chapter 1, which comes after it."""
    for profile, seconds in chapter_1.SECONDS.items():
        said = kit.estimate(chapter_1.all_recipes(), seconds, "models")
        assert experiment.look_around(profile)["chapter 1"] == f"profile {profile}: {said}"
    with pytest.raises(ValueError, match="unknown profile 'huge'"):
        experiment.look_around("huge")
