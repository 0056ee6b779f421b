"""The pictures in docs/ are of the panels of today, whole, sharp and small, and the gallery shows them all."""
import re

import numpy as np
import pytest
from PIL import Image

from lessons.kit import sweep
from lessons.kit.chapters import CHAPTERS
from lessons.kit.predict import predict
from lessons.linearity.experiment import mlp as linearity
from lessons.linearity.panels import midpoint
from lessons.start import experiment as start
from lessons.task_arithmetic.experiment import mlp
from tools import pictures, where

NAMES = [name for chapter in CHAPTERS for name in chapter.pictures.values()]
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"


def words(text):
    """A text without its numbers."""
    return re.sub(NUMBER, "#", text)


def numbers(text):
    return [float(number) for number in re.findall(NUMBER, text)]


@pytest.fixture
def nothing_is_measured(monkeypatch):
    def refuse(name, *_):
        raise AssertionError(f"{name} is not among the sweeps in data/measured")
    monkeypatch.setattr(sweep, "cached", refuse)


def test_every_picture_of_the_table_has_a_panel_and_nothing_else_lies_in_docs():
    assert sorted(NAMES) == sorted(pictures.PICTURES)
    lying = {path for ending in ("png", "gif", "jpg", "svg") for path in pictures.DOCS.glob(f"*.{ending}")}
    assert lying == {pictures.MOVING, *map(pictures.path, NAMES)}


def test_a_picture_is_of_the_panel_with_its_number_in_the_table():
    for chapter in CHAPTERS:
        for name, drawing in where.pictured(chapter).items():
            used = pictures.PICTURES[name].panel.__code__.co_names
            assert {drawing.draws.__module__.split(".")[1], drawing.draws.__name__} <= {*used}, name


@pytest.mark.slow  # draws a panel
@pytest.mark.parametrize("name", [name for name in NAMES if not pictures.PICTURES[name].trained])
def test_a_picture_says_what_its_panel_says_today(name, nothing_is_measured):
    """Else `make screenshots` has to take it again. Its sweep is in the repository, so this holds on every machine."""
    assert pictures.said(name) == pictures.today(name)


def test_a_stale_picture_is_told(monkeypatch, nothing_is_measured):
    kept = {"Description": "something that the panel said once", "Positions": "[1, 0, 0]"}
    monkeypatch.setattr(pictures, "_kept", lambda name: kept)
    assert pictures.said("merging_interference") != pictures.today("merging_interference")


@pytest.mark.slow  # draws a panel
def test_no_picture_is_taken_of_a_panel_that_waits_for_a_guess(monkeypatch, nothing_is_measured):
    name = "linearity_along_the_line"
    asks = pictures.Picture("", lambda: midpoint.midpoint(linearity.run(*pictures.FULL), predict("How much?")))
    monkeypatch.setitem(pictures.PICTURES, name, asks)
    with pytest.raises(ValueError, match="waits for a guess"):
        pictures.today(name)


@pytest.fixture
def chapter_0(standin_folder_session, monkeypatch):
    """Chapter 0's networks, which the tests of that chapter train too."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    return start.ends()


@pytest.mark.parametrize("said, today", [
    (lambda: pictures.said("start_decision_map"), lambda: pictures.today("start_decision_map")),
    (pictures.said_by_moving, pictures.today_of_moving)], ids=["still", "moving"])
def test_chapter_0s_pictures_say_what_the_panel_says_today(said, today, chapter_0):
    """Its networks are trained here, so a point or two may lie on the other side of a border."""
    assert words(said()) == words(today())
    assert numbers(said()) == pytest.approx(numbers(today()), abs=0.01)


@pytest.mark.slow  # draws a panel
def test_the_mixing_desks_picture_has_the_words_of_its_panel_today(monkeypatch, nothing_is_measured):
    """Its numbers are those of nine networks that would have to be trained for this."""
    untrained = {angle: recipe.architecture.build() for angle, recipe in mlp.recipes(0).items()}
    monkeypatch.setattr(mlp, "models", lambda seed: untrained)
    name = "task_arithmetic_mixing_desk"
    told, today = (one(name).partition(". ")[2] for one in (pictures.said, pictures.today))  # behind the title
    assert words(told) == words(today)
    assert max(numbers(told.partition("Accuracy")[2])[1:]) > 0.5, "taken of networks that know nothing"


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_sharp_and_has_a_white_margin(name):
    with Image.open(pictures.path(name)) as image:
        assert image.width > 1800, "two pixels for every one of a laptop's screen"
        pixels = np.asarray(image.convert("L"))
    edges = [pixels[:20], pixels[-20:], pixels[:, :20], pixels[:, -20:]]
    assert all((edge > 250).all() for edge in edges), "something is cut off"


def test_the_moving_picture_moves_and_keeps_its_colours():
    with Image.open(pictures.MOVING) as image:
        assert image.n_frames > 40 and image.info["loop"] == 0
        for frame in (0, image.n_frames // 2):
            image.seek(frame)
            r, g, b = np.asarray(image.convert("RGB"), dtype=int).reshape(-1, 3).T
            assert ((g - r > 100) & (g - b > 20)).sum() > 100, "the green line"


def test_all_pictures_together_are_small():
    assert pictures.MOVING.stat().st_size < 1.5e6
    assert sum(pictures.path(name).stat().st_size for name in NAMES) < 3.5e6


def test_the_gallery_is_what_the_pictures_say():
    assert pictures.GALLERY.read_text(encoding="utf-8") == pictures.gallery()
    assert not any(re.search(r"\d", picture.shows) for picture in pictures.PICTURES.values())
