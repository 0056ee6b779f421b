"""What several chapters draw: images side by side, arrows, the arms of Spirals, accuracies."""
import numpy as np
import pytest
import torch

from lessons.kit import drawings, plotting


@pytest.fixture
def ax():
    return plotting.figure()[1]


@pytest.mark.parametrize("as_kind", [torch.as_tensor, np.asarray])
def test_images_stand_side_by_side_in_their_order(ax, as_kind):
    drawings.images(ax, as_kind(np.stack([np.zeros((2, 3)), np.ones((2, 3))])), "two", xlabel="a row")
    (row,) = (image.get_array() for image in ax.images)
    assert row.shape == (2, 6) and (row[:, :3] == 0).all() and (row[:, 3:] == 1).all()
    assert len(ax.get_xticks()) == len(ax.get_yticks()) == 0
    assert (ax.get_title(loc="left"), ax.get_xlabel()) == ("two", "a row")


def test_an_arrow_leads_from_one_point_to_the_other(ax):
    drawings.arrow(ax, (0, 1), (2, 3), "#123456", linestyle=":")
    (arrow,) = ax.texts
    assert (arrow.xyann, arrow.xy) == ((0, 1), (2, 3))
    assert arrow.arrowprops["color"] == "#123456" and arrow.arrowprops["linestyle"] == ":"


def test_the_arms_have_the_courses_colours_or_those_that_are_asked_for(ax):
    x, y = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]), torch.tensor([0, 1, 1])
    drawings.arms(ax, x, y, 1.5)
    first, second = ax.lines
    assert first.get_xydata().tolist() == x[:1].tolist() and second.get_xydata().tolist() == x[1:].tolist()
    assert [line.get_color() for line in ax.lines] == [colour for colour, _ in drawings.ARMS]
    assert ax.get_xlim() == ax.get_ylim() == (-1.5, 1.5)
    drawings.arms(ax, x, y, 1.5, colours=("red", "blue"))
    assert [line.get_color() for line in ax.lines[2:]] == ["red", "blue"]


def test_every_fourth_point_is_one_of_each_arm_also_where_the_arms_take_turns(ax):
    x = torch.arange(32.0).reshape(16, 2)
    drawings.arms(ax, x, torch.arange(16) % 2, 40, every=4)
    assert [line.get_xydata().tolist() for line in ax.lines] == [x[[0, 8]].tolist(), x[[1, 9]].tolist()]


def test_accuracies_are_told_with_their_title_and_how_many_images_they_rest_on():
    page = drawings.accuracies({"A": 0.953, "midpoint": 0.5}, 2000, {"midpoint": plotting.GREEN}, "Worse", chance=0.1,
                               asked="test images of 45°").data
    assert 'alt="Worse. A: 95.3%; midpoint: 50.0%."' in page
    assert "On 2,000 test images of 45°. Black lines: two standard errors. Dotted: guessing." in page
    assert "Dotted" not in drawings.accuracies({"A": 0.953}, 2000).data
