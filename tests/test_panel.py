import asyncio
import json
import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from data import store
from lessons.kit import hall, plotting
from lessons.kit.panel import Panel, choice, panel, settings_of, slider
from lessons.kit.panel.moving import Look, curve
from lessons.kit.predict import Star, predict


def a_panel(prediction=None, calls=None):
    """A line whose slope is alpha, and its title the name."""
    fig, ax = plotting.figure()
    line, = ax.plot([0, 1], [0, 0], animated=True)

    def draw(alpha, name):
        if calls is not None:
            calls.append((alpha, name))
        if name == "broken":
            raise RuntimeError("cannot draw this")
        line.set_ydata([0, alpha])
        guess = f", guess {prediction.committed}" if prediction else ""
        return f"slope {alpha} of {name}{guess}"

    controls = {"alpha": slider("α", [0.0, 0.5, 1.0], 0.5),
                "name": choice("which", {"this one": "this", "</script>": "that", "x": "broken"})}
    return Panel(controls, fig, draw, "caption <here>", [prediction] if prediction else [])


def test_a_control_changes_the_picture_and_its_words():
    panel = a_panel()
    before = panel.picture.frame
    panel.controls["alpha"].value = 1.0
    assert panel.alt == "slope 1.0 of this"
    assert panel.picture.frame["marks"] != before["marks"] and panel.picture.frame["key"] != before["key"]
    panel.controls["alpha"].value = 0.5
    assert panel.picture.frame == before


def test_a_frame_is_drawn_once():
    calls = []
    panel = a_panel(calls=calls)
    for alpha in (1.0, 0.5, 1.0, 0.0, 1.0):
        panel.controls["alpha"].value = alpha
    assert calls.count((1.0, "this")) == 1


def test_the_frames_along_a_slider_are_sent_ahead_nearest_first_and_at_last_the_pages_question(monkeypatch):
    """By which the page, and who drives it, knows that it has them all."""
    panel, sent = a_panel(), []
    monkeypatch.setattr(panel.picture, "send", sent.append)

    async def ask():
        panel.picture._handle_custom_msg({"ahead": 3}, [])
        await panel._drawing_ahead

    asyncio.run(ask())
    *frames, last = sent
    assert [frame["alt"] for frame in frames] == [f"slope {alpha} of this" for alpha in (0.5, 0.0, 1.0)]
    assert last == {"ahead": 3}


def test_set_moves_several_controls_and_refuses_what_they_cannot_be():
    panel = a_panel().set(alpha=0.0, name="that")
    assert panel.values == {"alpha": 0.0, "name": "that"}
    with pytest.raises(ValueError, match="no control 'beta'.*alpha, name"):
        panel.set(beta=1)
    with pytest.raises(ValueError, match="alpha cannot be 0.3.*0.0, 0.5, 1.0"):
        panel.set(alpha=0.3)


def test_an_error_while_drawing_is_shown_kept_and_raised():
    panel = a_panel()
    with pytest.raises(RuntimeError, match="cannot draw this"):
        panel.controls["name"].value = "broken"
    assert "cannot draw this" in panel.picture.error
    panel.controls["name"].value = "this"
    assert panel.picture.error == ""


def test_an_error_where_no_slider_stands_is_shown_when_one_does(monkeypatch):
    fig, ax = plotting.figure()
    line, = ax.plot([0, 1], [0, 0], animated=True)

    def draw(alpha):
        line.set_ydata([0, 1 / alpha])
        return f"1 / {alpha}"

    panel, sent = Panel({"alpha": slider("α", [-1.0, 0.0, 1.0], 1.0)}, fig, draw), []
    monkeypatch.setattr(panel.picture, "send", sent.append)

    async def ask():
        panel.picture._handle_custom_msg({"ahead": 3}, [])
        await panel._drawing_ahead

    asyncio.run(ask())
    assert [frame.get("alt") for frame in sent] == ["1 / 1.0", "1 / -1.0", None] and sent[-1] == {"ahead": 3}
    assert panel.picture.error == ""
    with pytest.raises(ZeroDivisionError):
        panel.controls["alpha"].value = 0.0
    assert "ZeroDivisionError" in panel.picture.error


def test_a_committed_prediction_is_drawn_in_every_frame():
    guess = predict("how much?")
    panel = a_panel(guess)
    assert panel.alt.endswith("None")
    guess.commit(0.25)
    assert panel.alt.endswith("0.25")
    panel.controls["alpha"].value = 1.0
    assert panel.alt == "slope 1.0 of this, guess 0.25"


def test_the_truth_is_veiled_until_a_guess_is_committed_and_then_said_beside_it():
    guess = predict("how much?", step=0.001)
    panel = a_panel(guess)
    assert panel.picture.veil and not guess.said
    guess.commit(0.25)
    assert guess.said == "You said <b>0.250</b>. Run the cells below: they hold the answer."
    guess.panel_answers(0.6, {"alpha": 1.0, "name": "that"})
    assert guess.said.startswith("You said <b>0.250</b>, measured: <b>0.600</b>, 0.350 higher. Your guess is the ")
    assert not panel.picture.veil


def test_a_commit_moves_the_panel_to_what_was_asked():
    guess = predict("how much?")
    panel = a_panel(guess)
    guess.panel_answers(0.6, {"alpha": 1.0, "name": "that"})
    guess.commit(0.25)
    assert panel.values == {"alpha": 1.0, "name": "that"}


def test_who_wants_no_guess_sees_the_truth_at_once():
    guess = predict("how much?")
    panel = a_panel(guess)
    panel._asked(panel.picture, {"show": True}, [])
    assert not panel.picture.veil and guess.committed is None and panel.alt.endswith("None")


def test_the_star_stands_where_the_panel_shows_what_was_asked_and_nowhere_else():
    guess = predict("how much?")
    ax = Figure().subplots()
    star = Star(ax, guess, 0.5, 0.6, {"alpha": 0.5})
    star.place(alpha=0.5)
    assert np.isnan(ax.lines[0].get_ydata()).all()
    guess.commit(0.25)
    star.place(alpha=0.5)
    assert ax.lines[0].get_xydata().tolist() == [[0.5, 0.25]]
    star.place(alpha=1.0)
    assert np.isnan(ax.lines[0].get_ydata()).all()


def test_a_panel_without_a_prediction_has_no_veil():
    assert not a_panel().picture.veil


@panel
def two_axes(sweep):
    fig, (left, right) = plotting.figure(2)
    line = curve(left, Look("black", "o"), "a line")
    other = curve(right, Look("red", "s"))
    left.set(xlabel="x", ylabel="y")
    title, = plotting.moving_titles((left,))

    def draw(alpha):
        line.set_data([0, 1], [0, alpha])
        other.set_data([0, 1], [1, alpha])
        title.set_text(f"slope {alpha}")
        return f"slope {alpha}"
    return {"alpha": slider("α", [0.0, 0.5, 1.0], 0.5)}, fig, draw, "caption"


@pytest.mark.parametrize("axis", [0, 1])
def test_a_big_panel_has_one_axis_large_letters_and_moves_like_the_other(axis):
    small = two_axes(None).set(alpha=1.0)
    big = small.big(axis)
    assert len(big.figure.axes) == 1 and len(small.figure.axes) == 2 and big.values == small.values
    sizes = {text.get_fontsize() for text in big.figure.findobj(Text) if text.get_text()}
    assert sizes == {hall.HALL}
    before = big.picture.frame["marks"]
    assert big.set(alpha=0.0).picture.frame["marks"] != before and big.alt == "slope 0.0"


LONG = "what the network between them says of new images of both"


@panel
def wide(sweep):
    """Two axes that share an axis; titles, labels and a legend that large letters do not leave room for, and a third
    axis on which nothing moves."""
    fig, axes = plotting.figure(3, width=24, sharey=True)
    lines = [curve(ax, Look("black", "o"), name) for ax, name in zip(axes, ("short", LONG))]
    axes[0].set(ylabel="y", xlabel=LONG)
    axes[1].set(xlabel=LONG)
    for place, line in zip(("outside lower left", "outside lower right"), lines):
        fig.legend(handles=[line], loc=place)
    titles = plotting.moving_titles(axes[:2])

    def draw(alpha):
        for line, title in zip(lines, titles):
            line.set_data([0, 1], [0, alpha])
            title.set_text(LONG)
        return "wide"
    return {"alpha": slider("α", [0.0, 1.0], 1.0)}, fig, draw, "caption"


@pytest.mark.parametrize("axis", [0, 1])
def test_large_letters_stay_in_the_picture(axis):
    fig = wide(None).big(axis).figure
    fig.draw_without_rendering()
    renderer = fig.canvas.get_renderer()
    (ax,), (legend,) = fig.axes, fig.legends
    page = fig.bbox.padded(2)
    for text in (ax.xaxis.label, ax.yaxis.label, ax.title, *ax.texts, *legend.get_texts()):
        box = text.get_window_extent(renderer)
        assert page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1, text
    assert ax.get_position().width > 0.7 and ax.get_position().height > 0.4
    assert ax.get_ylabel() == "y" and all(tick.label1.get_visible() for tick in ax.yaxis.get_major_ticks())


@panel
def coloured(sweep):
    """Two pictures with one colour bar."""
    fig, axes = plotting.figure(2)
    images = [ax.imshow([[0.0, 1.0]], animated=True) for ax in axes]
    fig.colorbar(images[0], ax=list(axes), label="share")

    def draw(alpha):
        for image in images:
            image.set_data([[alpha, 1.0]])
        return "coloured"
    return {"alpha": slider("α", [0.0, 1.0], 1.0)}, fig, draw, "caption"


@pytest.mark.parametrize("axis", [0, 1])
def test_a_big_picture_keeps_its_colour_bar_beside_it(axis):
    picture, bar = coloured(None).big(axis).figure.axes
    assert bar.get_ylabel() == "share" and bar.get_position().x0 >= picture.get_position().x1
    assert picture.get_position().width > 0.5


def test_what_cannot_be_made_big_says_why():
    with pytest.raises(ValueError, match="nothing moves on axis 2 of this panel; it does on 0, 1"):
        wide(None).big(2)
    with pytest.raises(ValueError, match="there is no axis 2: this panel has 2"):
        two_axes(None).big(2)
    with pytest.raises(ValueError, match="only what a @panel function returns"):
        a_panel().big()


def test_a_prediction_outside_its_range_is_refused():
    with pytest.raises(ValueError, match="between 0 and 1, not 2"):
        predict("how much?").commit(2)
    with pytest.raises(ValueError, match="low < high"):
        predict("how much?", low=1, high=0)


def test_the_page_holds_every_setting_and_nothing_from_elsewhere(tmp_path):
    guess = a_panel()
    guess.controls["name"].options = guess.controls["name"].options[:2]  # without the one that cannot be drawn
    page = guess.save_html(tmp_path / "new" / "panel.html").read_text(encoding="utf-8")
    frames = json.loads(re.search(r'id="frames">(.*?)</script>', page, re.S).group(1).replace("<\\/", "</"))
    expected = [f"slope {alpha} of {name}" for alpha in (0.0, 0.5, 1.0) for name in ("this", "that")]
    assert [frame["alt"] for frame in frames] == expected
    assert not re.search(r'(src|href)="https?:', page)
    assert "caption &lt;here&gt;" in page and "<option value=\"1\">&lt;/script&gt;</option>" in page


def test_a_page_for_which_there_is_no_room_is_told_and_the_one_before_stays(tmp_path, full_disk):
    small = two_axes(None)
    page = small.save_html(tmp_path / "panel.html").read_bytes()
    with full_disk(4096), pytest.raises(store.NoRoom, match=f"^{tmp_path} has no room for panel.html"):
        small.save_html(tmp_path / "panel.html")
    assert [path.name for path in tmp_path.iterdir()] == ["panel.html"]
    assert (tmp_path / "panel.html").read_bytes() == page


def test_too_many_settings_for_a_page_are_refused(tmp_path):
    fig, ax = plotting.figure()
    ax.plot([0, 1], [0, 1], animated=True)
    many = Panel({name: slider(name, list(range(100)), 0) for name in ("a", "b")}, fig, lambda a, b: "a line")
    with pytest.raises(ValueError, match="10,000 pictures"):
        many.save_html(tmp_path / "panel.html")


def test_a_figure_in_which_nothing_moves_is_refused():
    fig, ax = plotting.figure()
    ax.plot([0, 1], [0, 1])
    with pytest.raises(ValueError, match="animated=True"):
        Panel({"a": slider("a", [0, 1], 0)}, fig, lambda a: "a line")


def test_a_figure_without_words_is_refused():
    fig, _ = plotting.figure()
    with pytest.raises(ValueError, match="alternative text"):
        plotting.show(fig, " ")


def test_a_panel_carries_a_still_picture_for_where_no_widget_can_be():
    bundle = a_panel()._repr_mimebundle_()
    assert 'alt="slope 0.5 of this"' in bundle["text/html"] and "application/vnd.jupyter.widget-view+json" in bundle


def test_the_settings_of_a_control_are_its_values_in_order():
    assert settings_of(slider("α", [0.0, 0.1], 0.0)) == [0.0, 0.1]
    assert settings_of(choice("which", {"a": 1, "b": 2})) == [1, 2]
