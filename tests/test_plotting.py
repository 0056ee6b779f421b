"""Figures look the same whatever the learner set in matplotlib, and whichever thread draws them."""
import asyncio
import sys
import threading
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
import xarray
from matplotlib import style
from matplotlib.axes import Axes

from lessons.kit import plotting
from lessons.kit.panel import panel, slider
from lessons.kit.panel.moving import Bars, Look, curve, here

PLACES = list(range(32))
HOSTILE = {"dark": style.library["dark_background"], "text by LaTeX": {"text.usetex": True},
           "dashes": {"lines.linestyle": "--", "lines.dash_capstyle": "round"}, "margins": {"axes.xmargin": 0.4},
           "whole paths": {"path.simplify": False, "path.sketch": (1, 100, 2)},
           "dots an inch": {"figure.dpi": 220, "savefig.dpi": 30, "svg.image_inline": False},
           "letters": {"font.sans-serif": ["DejaVu Serif"], "mathtext.fontset": "cm", "axes.unicode_minus": False},
           "ticks": {"xtick.direction": "in", "axes.formatter.use_locale": True, "ytick.minor.visible": True}}


@panel
def waves(sweep):
    """A curve of many points, which path.simplify would thin out, a line and a title."""
    fig, ax = plotting.figure()
    x = np.linspace(0, 1, 1500)
    line = curve(ax, Look("black"), "a line")
    ax.set(xlabel="x, $\\alpha$", ylabel="y", ylim=(-1, 1))
    ax.plot([0.2, 0.6], [-0.5, 0.5], label="another")
    ax.legend()
    upright = here(ax)
    title, = plotting.moving_titles((ax,))

    def draw(place):
        line.set_data(x, np.sin(place * x))
        upright.set_xdata([place / len(PLACES)] * 2)
        title.set_text(f"place {place}, −1")
        return f"place {place}"
    return {"place": slider("place", PLACES, 0)}, fig, draw, "caption"


@plotting.still
def standing(sweep):
    fig, ax = plotting.figure()
    ax.plot(np.linspace(0, 1, 4000), np.sin(np.linspace(0, 30, 4000)), label="a line")
    ax.set(xlabel="x", ylabel="y, −1", title="a title")
    ax.legend()
    return plotting.show(fig, "a line")


def of_a_cell():
    """A figure as notebooks draw it, in a cell of their own."""
    fig, (left, right) = plotting.figure(2)
    left.loglog([1, 2, 3], [1, 2, 1], "o", label="measured")
    left.plot([1, 2], [1, 2], linestyle=":")
    left.annotate("a name", (1, 1), (-10, 0), textcoords="offset points")
    left.set(title="a title", xlabel="x, −1")
    left.legend()
    right.bar(range(3), [1, 3, 2], hatch="///", label="bars")
    right.hist([1, 2, 2], bins=3)
    right.scatter([1, 2], [1, 2])
    fig.legend()
    return plotting.show(fig, "points and bars").data


def pictures():
    """Everything that the course draws for one figure of each kind, as text."""
    shown = waves(None)
    shown.controls["place"].value = PLACES[5]
    panel = shown.picture.background, shown.picture.frame, shown.still(), shown.big().still()
    return standing(None).data, of_a_cell(), *panel


@pytest.fixture
def few_steps_a_turn():
    """Threads take turns after a microsecond, so that what they share is spoilt if it can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def usual():
    with mpl.rc_context({name: value for name, value in mpl.rcParamsDefault.items() if name != "backend"}):
        return pictures()


@pytest.mark.parametrize("settings", HOSTILE.values(), ids=HOSTILE)
def test_a_learners_settings_change_no_picture_and_stay_as_they_are(settings, usual):
    with mpl.rc_context(settings):
        before = dict(mpl.rcParams)
        assert pictures() == usual
        assert dict(mpl.rcParams) == before


@pytest.mark.parametrize("settings", HOSTILE.values(), ids=HOSTILE)
def test_a_figure_that_is_kept_has_nothing_of_a_learners_settings(settings, tmp_path, monkeypatch):
    def kept_under(folder, learners):
        monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / folder))
        with mpl.rc_context(learners):
            standing(xarray.Dataset(attrs={"digest": "of a sweep"}))
        (path,) = (tmp_path / folder / "figures").glob("*.html")
        return path.read_bytes()

    assert kept_under("learners", settings) == kept_under("usual", {})


def test_what_a_cell_draws_looks_as_what_a_panel_draws_whose_axes_are_matplotlibs_own(usual):
    """A panel's are not slowed down by a look at the lock at every call."""
    with plotting.drawing():
        assert of_a_cell() == usual[1] and type(plotting.figure()[1]) is Axes


def test_frames_that_two_threads_draw_are_those_that_one_draws(few_steps_a_turn):
    """As when a slider is moved while frames are drawn ahead: the messages come on another thread than the event
    loop's."""
    alone, shared = waves(None), waves(None)

    async def ask():
        shared.picture._handle_custom_msg({"ahead": 1}, [])
        await shared._drawing_ahead

    ahead = threading.Thread(target=lambda: asyncio.run(ask()), daemon=True)
    ahead.start()
    for place in reversed(PLACES):
        shared.controls["place"].value = place
    ahead.join(30)
    assert not ahead.is_alive()
    assert len(shared._frames) == len(PLACES)
    wrong = [place for place in PLACES if shared.set(place=place).picture.frame != alone.set(place=place).picture.frame]
    assert wrong == []


def test_two_threads_that_draw_leave_the_learners_settings_as_they_were():
    """Each puts back what it found: were both inside at once, the second would find the course's settings."""
    second_inside, first_left = threading.Event(), threading.Event()

    @plotting.themed
    def draw_second():
        second_inside.set()
        first_left.wait(10)

    @plotting.themed
    def draw_first():
        second.start()
        second_inside.wait(0.1)  # with one thread at a time it waits in vain

    second = threading.Thread(target=draw_second, daemon=True)
    with mpl.rc_context({"lines.linewidth": 7}):
        draw_first()
        first_left.set()
        second.join(10)
        assert mpl.rcParams["lines.linewidth"] == 7


def test_a_character_that_xml_cannot_hold_does_not_take_the_picture_away():
    fig, ax = plotting.figure()
    ax.set_title("a\x1b[31m\x0b\uffffb\ttab\nline")
    ax.plot([0, 1], label="moving", animated=True)
    moving = ax.text(0, 0, "\x08c", animated=True)
    figure = plotting.MovingFigure(fig)
    for svg in (figure.background, figure.marks(), figure.whole()):
        ElementTree.fromstring(svg)
    assert moving.get_text() == "\x08c" and "�c" in figure.marks()


@pytest.mark.parametrize("height", [2.0, 4.0, 8.0])
def test_a_moving_title_stays_in_its_picture_however_high_the_axes_are(height):
    with plotting.drawing():
        fig, ax = plotting.figure(height=height)
        ax.set_title(" ")  # keeps the room
        title, = plotting.moving_titles((ax,), in_layout=False)
        title.set_text("12 directions")
        fig.draw_without_rendering()
        place = title.get_window_extent()
        assert ax.bbox.y1 < place.y0 and place.y1 <= fig.bbox.height


@pytest.mark.filterwarnings("error")
def test_a_moving_title_comes_into_no_legend():
    fig, ax = plotting.figure()
    plotting.moving_titles((ax,))
    ax.plot([0, 1], [0, 1], label="a line")
    assert [text.get_text() for text in ax.legend().get_texts()] == ["a line"]


def test_the_number_of_a_bar_is_on_no_bar():
    fig, ax = plotting.figure()
    Bars(ax, [0, 1, 2], "grey", "{:.2f}".format).set_values([-0.19, 0.5, 0.0])
    assert [(text.get_text(), text.get_position()) for text in ax.texts] == [
        ("-0.19", (0, 0)), ("0.50", (1, 0.5)), ("0.00", (2, 0.0))]
