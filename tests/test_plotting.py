"""Figures look the same whatever the learner set in matplotlib, and whichever thread draws them."""
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
import xarray
from matplotlib import style
from matplotlib.axes import Axes

from lessons.kit import plotting
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, slider, view

PLACES = list(range(32))
HOSTILE = {"dark": style.library["dark_background"], "text by LaTeX": {"text.usetex": True},
           "dashes": {"lines.linestyle": "--", "lines.dash_capstyle": "round"}, "margins": {"axes.xmargin": 0.4},
           "whole paths": {"path.simplify": False, "path.sketch": (1, 100, 2)},
           "dots an inch": {"figure.dpi": 220, "savefig.dpi": 30, "svg.image_inline": False},
           "letters": {"font.sans-serif": ["DejaVu Serif"], "mathtext.fontset": "cm", "axes.unicode_minus": False},
           "ticks": {"xtick.direction": "in", "axes.formatter.use_locale": True, "ytick.minor.visible": True}}


@view
def waves():
    """A curve of many points, which path.simplify would thin out."""
    x = np.linspace(0, 1, 1500)
    chart = Chart(Axis("x, $α$", 0, 1), Axis("y", -1, 1),
                  (Line("wave", "merged", "a wave", x=tuple(x)), Handle("place")))

    def draw(place):
        return Frame(f"Place {place}, −1", f"place {place}", {"wave": np.sin(place * x)})
    return {"controls": {"place": slider("place", PLACES, 5, places=np.linspace(0, 1, len(PLACES)))}, "charts": [chart],
            "draw": draw, "caption": "caption"}


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
    """Everything that the course draws by matplotlib, one figure of each kind, as text."""
    return standing(None).data, of_a_cell(), waves().still()


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
@pytest.mark.fault("surroundings", "A cell changes matplotlib's style", answers="The course's figures look as always")
def test_a_figure_that_is_kept_has_nothing_of_a_learners_settings(settings, tmp_path, monkeypatch):
    def kept_under(folder, learners):
        monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / folder))
        with mpl.rc_context(learners):
            standing(xarray.Dataset(attrs={"digest": "of a sweep"}))
        (path,) = (tmp_path / folder / "figures").glob("*.html")
        return path.read_bytes()

    assert kept_under("learners", settings) == kept_under("usual", {})


def test_what_a_cell_draws_looks_as_what_the_course_draws_whose_axes_are_matplotlibs_own(usual):
    """The course's are not slowed down by a look at the lock at every call."""
    with plotting.drawing():
        assert of_a_cell() == usual[1] and type(plotting.figure()[1]) is Axes


def test_pictures_that_two_threads_draw_are_those_that_one_draws(few_steps_a_turn):
    """As when a page asks while a cell runs: its messages come on another thread."""
    def drawn(place):
        return waves().set(place=place).still(), of_a_cell()

    places = PLACES[:6]
    alone = [drawn(place) for place in places]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(drawn, places)) == alone


def test_two_threads_that_draw_leave_the_learners_settings_as_they_were():
    """Each puts back what it found: were both inside at once, the second would draw with the learner's."""
    second_inside, first_left, drawn_with = threading.Event(), threading.Event(), []

    @plotting.themed
    def draw_second():
        second_inside.set()
        first_left.wait(10)
        drawn_with.append(mpl.rcParams["lines.linewidth"])

    @plotting.themed
    def draw_first():
        second.start()
        second_inside.wait(0.1)  # with one thread at a time it waits in vain

    second = threading.Thread(target=draw_second, daemon=True)
    with mpl.rc_context({"lines.linewidth": 7}):
        draw_first()
        first_left.set()
        second.join(10)
        assert mpl.rcParams["lines.linewidth"] == 7 and drawn_with == [plotting.THEME["lines.linewidth"]]


def test_a_character_that_xml_cannot_hold_does_not_take_the_picture_away():
    fig, ax = plotting.figure()
    ax.set_title("a\x1b[31m\x0b\uffffb\ttab\nline")
    svg = plotting._svg(fig)
    ElementTree.fromstring(svg)
    assert "\x1b" not in svg and "\uffff" not in svg


def test_shares_on_an_axis_are_percentages_with_no_more_digits_than_they_need():
    _, ax = plotting.figure()
    plotting.in_percent(ax.xaxis)
    written = ax.xaxis.get_major_formatter().format_ticks([-0.05, -1e-17, 0.008, 0.07, 1.0])
    assert written == ["−5 %", "0 %", "0.8 %", "7 %", "100 %"]
