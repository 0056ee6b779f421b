"""Views: their numbers, their controls, their pictures on paper, and the module that draws them in the page."""
import base64
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import weakref

import ipywidgets
import numpy as np
import pytest
from PIL import Image as Pixels

from data import store
from lessons.kit import chapters
from lessons.kit.predict import predict
from lessons.kit.view import (
    Axis,
    Band,
    Bars,
    Chart,
    Frame,
    Handle,
    Image,
    Letters,
    Line,
    Map,
    Path,
    Points,
    Reference,
    Spots,
    Star,
    View,
    chips,
    keep_all_settings,
    lettered,
    printed,
    slider,
    typed,
)
from lessons.kit.view.marks import described, rows_of
from lessons.kit.view.widget import MODULE, cleaned

FRONT = MODULE.parent / "front"
ALPHAS = [0.0, 0.5, 1.0]
X = Axis("α", 0, 1)
SHARE = Axis("accuracy", 0, 1, unit="percent")


def curve(power):
    return np.array(ALPHAS) ** power


def drawn(alpha, power):
    return Frame(f"The curve bends {power} times", f"At {alpha} it is {alpha ** power}", {"curve": curve(power)},
                 [("a", "a curve")])


def made(prediction=None, draw=drawn, charts=None, **more):
    chart = Chart(X, SHARE, (Line("curve", "a", "curve"), Star("guess", x=(0.5,)), Handle("alpha")))
    controls = {"alpha": slider("α", ALPHAS, 0.5), "power": chips("power", {"one": 1, "two": 2})}
    return View(controls, charts or [chart], draw, prediction=prediction, **more)


@pytest.mark.fault("surroundings", "The code behind a panel fails at one stop of the slider",
                   answers="The error is shown in the cell that makes the panel")
def test_a_drawing_that_fails_at_any_stop_is_told_where_the_view_is_made():
    """Also at a stop that nobody chose, since the page is given all of them at once."""
    def failing(alpha, power):
        if alpha == ALPHAS[-1]:
            raise ZeroDivisionError("at the end")
        return drawn(alpha, power)
    with pytest.raises(ZeroDivisionError, match="at the end"):
        made(draw=failing)


def test_a_control_is_moved_from_python_and_by_a_link():
    view = made()
    view.controls["alpha"].value = 1.0
    assert view.positions == [2, 0] and view.title == "The curve bends 1 times"
    other = ipywidgets.IntSlider(value=1, min=0, max=1)
    ipywidgets.link((other, "value"), (view.controls["power"], "index"))
    assert view.positions == [2, 1] and view.values == {"alpha": 1.0, "power": 2}


def test_the_page_moves_the_controls():
    view = made()
    view.positions = [0, 1]
    assert view.values == {"alpha": 0.0, "power": 2} and "bends 2" in view.title


@pytest.mark.parametrize("change, says", [
    (lambda view: view.set(beta=1), "no control 'beta'; it has: alpha, power"),
    (lambda view: view.set(alpha=0.5, power=7), "power cannot be 7; it can be: 1, 2"),
    (lambda view: view.set(alpha=float("nan")), "α cannot be nan"),
    (lambda view: setattr(view, "positions", [5, 0]), "α has 3 settings, there is no place 5")])
def test_a_value_that_a_control_cannot_take_is_named(change, says):
    view = made()
    with pytest.raises(ValueError, match=re.escape(says)):
        change(view)
    assert view.values == {"alpha": 0.5, "power": 1}


def test_a_view_has_one_slider_and_handles_of_it_alone():
    with pytest.raises(ValueError, match="a view has one slider, not 2"):
        View({"a": slider("a", [1, 2], 1), "b": slider("b", [1, 2], 1)}, [], drawn)
    with pytest.raises(ValueError, match="handle of 'beta', which is no slider"):
        made(charts=[Chart(X, SHARE, (Handle("beta"),))])


def test_a_frame_gives_numbers_for_every_mark_and_no_other():
    with pytest.raises(ValueError, match="look at curve, other"):
        made(draw=lambda alpha, power: Frame("t", "a", {"other": [1]}))


def test_the_frames_along_the_slider_are_there_and_those_of_a_chip_come_when_asked_for(monkeypatch):
    view, told = made(), []
    assert sorted(view.frames["frames"]) == ["0,0", "1,0", "2,0"]
    assert len(view.frames["rows"]) == 1, "a curve that does not move is sent once"
    monkeypatch.setattr(view, "send", told.append)
    view._asked(view, {"along": [[1, 1]]}, [])
    assert sorted(told[0]["packed"]["frames"]) == ["0,1", "1,1", "2,1"]


def test_what_is_not_finite_is_a_gap():
    assert rows_of(Line("x"), [1, np.nan, np.inf]) == [[1.0, None, None]]
    assert rows_of(Reference("x"), 0.123456789) == [[0.12346]]
    with pytest.raises(ValueError, match="the mark 'x' takes low and high"):
        rows_of(Band("x"), np.ones((3, 2)))
    with pytest.raises(ValueError, match="the mark 'x' takes low and high"):
        rows_of(Band("x"), np.ones((2, 2, 2)))


@pytest.mark.parametrize("make, says", [
    (lambda: Line("x", "nobody"), "role 'nobody'; there are: a, b"),
    (lambda: Axis("x", 1, 0), "low < high"),
    (lambda: Axis("x", 0, 1, kind="log"), "logarithmic, so it cannot begin at 0"),
    (lambda: Axis("x", 0, float("nan")), "finite ends"),
    (lambda: Chart(X, SHARE, (Line("x"), Band("x"))), "a name of its own"),
    (lambda: slider("x", [], 0), "has no setting"),
    (lambda: chips("x", ["a"], "b"), "cannot be 'b'")])
def test_what_cannot_be_drawn_is_named_where_it_is_made(make, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        make()


def test_a_prediction_tells_the_page_what_was_asked_and_hears_what_is_committed():
    guess = predict("How high is it?", step=0.01)
    guess.panel_answers(0.25, {"alpha": 0.5, "power": 2})
    view = made(guess, hides=["curve"])
    assert view.spec["prediction"]["truth"] == 0.25 and view.spec["prediction"]["at"] == {"alpha": 1, "power": 1}
    view.guess = 0.3
    assert guess.committed == 0.3 and view.values == {"alpha": 0.5, "power": 2}
    other = made(guess)
    assert other.guess == 0.3, "the guess was made before this view"
    guess.commit(0.4)
    assert view.guess == 0.4 and other.guess == 0.4


def test_a_prediction_that_was_not_told_the_truth_is_refused():
    with pytest.raises(ValueError, match="call prediction.panel_answers"):
        made(predict("How high is it?"))


def test_a_guess_can_be_taken_back_after_a_look_too():
    guess = predict("How high is it?")
    guess.panel_answers(0.25, {})
    view = made(guess)
    view.guess = 0.3
    view.guess = None
    assert guess.hides and guess.committed is None and view.guess is None
    view.shown = True
    assert not guess.hides
    view.shown = False  # the page sends both; a guess that was none does not change
    assert guess.hides and not view.shown
    view.guess = 0.4
    assert guess.committed == 0.4 and view.guess == 0.4


def test_the_picture_waits_for_the_guess_in_a_page_without_a_kernel():
    guess = predict("How high is it?")
    guess.panel_answers(0.25, {})
    before = made(guess)._repr_mimebundle_()["text/html"]
    assert "<details" in before
    guess.commit(0.1)
    assert "<details" not in made(guess)._repr_mimebundle_()["text/html"]


THREE = (0, 1, 2)
EVERYTHING = Chart(
    Axis("place", -0.5, 2.5, kind="places", ticks={0: "x", 1: "y", 2: "z"}), Axis("y", 0.01, 10, kind="log"),
    (Line("line", "a", "line", x=THREE, dots=True), Band("band", "a", x=THREE), Bars("bars", "merged", x=THREE),
     Points("points", "b", x=THREE, written=True), Reference("level", "chance", "chance")))
VALUES = {"line": [1, np.nan, 3], "band": ([1, 1, 1], [2, 2, 2]), "bars": ([1, 2, 3], [0.5, 1, 2], [2, 3, 4]),
          "points": [1, 2, 3], "level": 0.1}


KEY = [("a", "what is blue"), ("single", "a thick line"), ("", "grey: the rest")]


def test_every_mark_has_a_picture_on_paper():
    view = View({"how": chips("how", ["x"])}, [EVERYTHING], lambda how: Frame("All of them", "five marks", VALUES, KEY))
    assert 'alt="five marks"' in view.still() and "svg" in view.still()
    cells = Chart(Axis("α", 0, 1), Axis("layer", 0, 1), (Map("cells", rows=("one", "two")),))
    assert View({"how": chips("how", ["x"])}, [cells], lambda how: Frame("t", "a map", {"cells": np.eye(2)})).still()


def test_a_walk_and_named_points_lie_on_a_map_that_fills_both_axes():
    chart = Chart(X, Axis("β", 0, 1), (Map("cells"), Path("walk", "merged"), Spots("where", "single", names=("here",))))
    values = {"cells": np.eye(3), "walk": ([0, 0.5, 1], [0, 1, 0]), "where": ([0.5], [np.nan])}
    view = View({"how": chips("how", ["x"])}, [chart], lambda how: Frame("t", "a walk", values))
    packed = view.packed([(0,)])
    assert packed["rows"][packed["frames"]["0"]["values"]["where"]] == [[0.5], [None]]
    assert 'alt="a walk"' in view.still()


def test_a_press_in_a_cloud_picks_among_all_settings_of_controls_that_there_are():
    chart = Chart(X, SHARE, (Spots("cloud", small=True, picks=("alpha", "power")),))
    x, y = np.tile([[0.1], [0.9]], 6)
    view = made(charts=[chart], draw=lambda alpha, power: Frame("t", "a cloud", {"cloud": (x, y)}))
    assert view.spec["charts"][0]["marks"][0]["picks"] == ["alpha", "power"] and 'alt="a cloud"' in view.still()
    with pytest.raises(ValueError, match="a press in a chart picks beta, which is no control of this view"):
        made(charts=[Chart(X, SHARE, (Spots("cloud", picks=("alpha", "beta")),))])


def test_stacked_charts_stand_below_each_other_on_paper_too():
    bars = Chart(X, Axis("y", 0, 1), (Bars("bars", x=THREE, bare=True), Handle("alpha")), height=150)
    line = Chart(X, SHARE, (Line("curve", "a", "curve", near=True), Star("guess", along="x"), Handle("alpha")))
    values = {"curve": [0, 1, 2], "bars": [1, 1, 1]}
    controls = {"alpha": slider("α", ALPHAS, 0.5)}
    view = View(controls, [line, bars], lambda alpha: Frame("t", "two", values), stacked=True)
    assert view.spec["stacked"] and view.spec["charts"][1]["height"] == 150
    assert view.spec["charts"][0]["marks"][1]["along"] == "x" and view.still()


def test_a_value_is_written_with_its_unit():
    assert Axis("x", 0, 1, unit="points").written(12.2) == "12 points" and Axis("x", 0, 1).written(0.6) == "1"


def test_an_image_is_a_grey_png_that_the_page_colours():
    picture = Image("digit", "single", low=1, high=3)
    address = rows_of(picture, [[0, 1, 2], [3, 4, np.nan]])
    with Pixels.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))) as png:
        assert png.mode == "L" and np.asarray(png).tolist() == [[0, 0, 128], [255, 255, 0]]
    with pytest.raises(ValueError, match="the image 'digit' takes rows of numbers"):
        rows_of(picture, [1, 2])
    photo = rows_of(Image("photo", photo=True), np.eye(3)[None])
    with Pixels.open(io.BytesIO(base64.b64decode(photo.partition(",")[2]))) as png:
        assert png.mode == "RGB" and np.asarray(png).tolist() == [[[255, 0, 0], [0, 255, 0], [0, 0, 255]]]
    with pytest.raises(ValueError, match="the image 'digit' takes rows of numbers"):
        rows_of(picture, np.zeros((2, 2, 3)))
    chart = Chart(X, SHARE, (picture, Bars("bars", "a", x=(0, 1), bare=True), Line("here", "merged", near=True)))
    values = {"digit": np.eye(3), "bars": [1, 2], "here": [0, 1]}
    view = View({"how": chips("how", ["x"])}, [chart], lambda how: Frame("t", "a digit", values))
    assert view.frames["rows"][0].startswith("data:image/png;base64,") and 'alt="a digit"' in view.still()


def test_a_control_says_its_settings_as_those_of_ipywidgets_do():
    control = made().controls["power"]
    assert control.values == [1, 2] and control.options[0] == ("one", 1) and control.description == "power"


def test_a_view_asks_in_a_page_without_a_kernel_too():
    guess = predict("How **high** is it?")
    guess.panel_answers(0.25, {})
    view = made(guess)
    assert "How <b>high</b> is it?" in view._repr_mimebundle_()["text/html"]
    guess.commit(0.1)
    assert "How <b>high</b>" not in view._repr_mimebundle_()["text/html"]


def test_a_view_for_a_hall_shows_one_chart_and_has_the_same_controls():
    view = made()
    big = view.big()
    big.set(**{name: control.values[-1] for name, control in view.controls.items()})
    assert view.positions == big.positions and big.title == view.title
    assert big.spec["alone"] == 0 and "alone" not in view.spec
    with pytest.raises(ValueError, match="there is no chart 9: this view has"):
        view.big(9)


def test_a_saved_page_has_every_setting_and_nothing_in_it_becomes_html(tmp_path):
    title = "</script><img src=x onerror=alert(1)>"
    view = made(draw=lambda alpha, power: Frame(title, "a", {"curve": curve(power)}), caption=title, kicker=title)
    page = view.save_html(tmp_path / "view.html").read_text(encoding="utf-8")
    assert "<img" not in page and page.count("</script>") == 2
    state = json.loads(re.search(r'id="state">(.*?)</script>', page, re.DOTALL)[1])
    assert len(state["frames"]["frames"]) == 6 and state["spec"]["caption"] == title


def test_what_to_try_and_what_is_ticked_off_go_with_a_saved_page(tmp_path):
    view = made(tries=("Move α.", "Choose “two”."))
    view.ticked = [1]
    page = view.save_html(tmp_path / "view.html").read_text(encoding="utf-8")
    state = json.loads(re.search(r'id="state">(.*?)</script>', page, re.DOTALL)[1])
    assert state["spec"]["tries"] == ["Move α.", "Choose “two”."] and state["ticked"] == [1]
    assert made().spec["tries"] == []


@pytest.mark.parametrize("tries", ["Move α.", [None], [1.0]])
def test_what_to_try_must_be_sentences(tries):
    with pytest.raises(ValueError, match="tries must be a list or tuple of sentences"):
        made(tries=tries)


def test_all_settings_go_into_the_state_and_what_has_too_many_is_named(monkeypatch):
    monkeypatch.setattr(View, "made", weakref.WeakSet())
    view = made()
    many = View({"a": slider("a", list(range(3001)), 0)}, [], lambda a: Frame("t", "a", {}), kicker="Many")
    assert len(view.frames["frames"]) == 3 and set(View.made) == {view, many}
    assert keep_all_settings() == ["Many"]
    assert view.frames == view.packed(view.everywhere()) and len(view.frames["frames"]) == 6
    assert len(many.frames["frames"]) == 3001


def test_a_page_of_too_many_settings_is_refused(tmp_path):
    view = View({"a": slider("a", list(range(3001)), 0)}, [], lambda a: Frame("t", "a", {}))
    with pytest.raises(ValueError, match="3,001 settings, at most 3,000"):
        view.save_html(tmp_path / "view.html")


@pytest.mark.fault("written", "The disk is full when a panel is saved as a page",
                   answers="It is said, and the page before stays")
def test_a_page_for_which_there_is_no_room_is_told_and_the_one_before_stays(tmp_path, full_disk):
    page = made().save_html(tmp_path / "view.html").read_bytes()
    with full_disk(4096), pytest.raises(store.NoRoom, match=f"^{tmp_path} has no room for view.html"):
        made().save_html(tmp_path / "view.html")
    assert [path.name for path in tmp_path.iterdir()] == ["view.html"]
    assert (tmp_path / "view.html").read_bytes() == page


@pytest.mark.fault("written", "A folder or a pipe lies where a page is saved", answers="It is named and stays")
def test_a_page_takes_the_place_of_no_folder_and_no_pipe(tmp_path):
    (tmp_path / "folder").mkdir()
    places = [tmp_path / "folder", ""]
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        places.append(tmp_path / "pipe")
    for place in places:
        with pytest.raises(store.StoreError, match="and a file belongs there"):
            made().save_html(place)
    assert not [path for path in tmp_path.iterdir() if path.is_file()]


def test_a_page_in_the_home_is_saved_there_and_one_in_no_folder_is_told(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert made().save_html("~/pages/view.html") == tmp_path / "pages" / "view.html"
    with pytest.raises(store.StoreError, match="view.html cannot be written.*a folder that you can write to") as told:
        made().save_html(tmp_path / "pages" / "view.html" / "view.html")
    assert "WEIGHTSPACE_DATA" not in str(told.value)


def test_a_still_picture_without_words_is_refused():
    with pytest.raises(ValueError, match="alternative text"):
        made(draw=lambda alpha, power: Frame("t", " ", {"curve": curve(power)})).still()


def test_what_the_page_is_told_is_json():
    assert json.loads(json.dumps(described(EVERYTHING)))["marks"][0]["kind"] == "line"


# -- a field to type in ------------------------------------------------------------------------------

READY = {"film": "the film was a delight", "river": "which river is long ?"}


def counted(sentence, power=1):
    return Frame(f"“{sentence}” is read", f"{len(sentence)} letters: {sentence}", {"letters": [len(sentence), power]})


def written(**more):
    chart = Chart(X, Axis("letters", 0, 500), (Bars("letters", "merged", x=(0, 1)),))
    controls = {"power": chips("power", {"one": 1, "two": 2}), "sentence": typed("Type a sentence", READY, **more)}
    return View(controls, [chart], counted)


def test_a_sentence_is_typed_from_python_and_a_ready_one_keeps_its_place():
    view = written()
    field = view.controls["sentence"]
    assert (view.positions, view.typed, field.value) == ([0, 0], "", "the film was a delight")
    field.value = "Ein Satz, 雪 und 🦉"
    assert (view.positions, view.typed, view.title) == ([0, 2], "Ein Satz, 雪 und 🦉", "“Ein Satz, 雪 und 🦉” is read")
    field.value = "another"
    assert (view.positions, view.typed) == ([0, 2], "another")
    view.set(sentence="which river is long ?")
    assert view.positions == [0, 1] and field.options[1] == ("river", "which river is long ?")


def test_the_page_types_and_asks_for_the_frame_of_that_text_alone(monkeypatch):
    view, told = written(), []
    moves = []
    view.observe(lambda change: moves.append((view.positions, view.typed)), ["positions", "typed"])
    view.set_state({"typed": "so it is", "positions": [1, 2]})
    assert view.values == {"power": 2, "sentence": "so it is"} and moves[-1] == ([1, 2], "so it is")
    monkeypatch.setattr(view, "send", told.append)
    view._asked(view, {"along": [[1, 2]], "typed": "so it is,"}, [])
    (words, frame), = told[0]["packed"]["frames"].items()
    assert words == "1,“so it is," and frame["title"] == "“so it is,” is read", "the question knows the newest text"
    view.set_state({"typed": "which river is long ?", "positions": [1, 2]})
    assert view.positions == [1, 1], "a ready sentence that somebody types is the ready one"


def test_views_of_one_field_type_together():
    view = written()
    big = view.big()
    view.controls["sentence"].value = "typed in one"
    assert (big.typed, big.positions) == (view.typed, view.positions) == ("typed in one", [0, 2])
    assert list(view.big().frames["frames"]) == ["0,“typed in one"]


@pytest.mark.parametrize("empty", ["", " \n\t ", "\u200b\u202e"])
def test_an_empty_text_asks_for_a_sentence_and_shows_nothing(empty):
    view = written(value=empty)
    assert view.title == "Type a sentence, or choose one" and "no sentence is typed" in view.alt
    assert view.frames["rows"] == [[[None, None]]] and "svg" in view.still()


@pytest.mark.parametrize("text, clean", [("a\x00b\nc\x9fd\te", "a b c d e"), ("\ud83d half", "� half"),
                                         ("مرحبا 👩‍🚀 ไทย", "مرحبا 👩‍🚀 ไทย"), ("<b>&amp;</b>", "<b>&amp;</b>")])
def test_any_letters_are_safe_to_be_typed(text, clean, tmp_path):
    view = written(value=text)
    assert view.controls["sentence"].value == cleaned(text) == clean and clean in view.title
    page = view.save_html(tmp_path / "view.html").read_text(encoding="utf-8")
    assert "<b>" not in page.partition("<script")[2]


def test_of_a_text_that_is_too_long_the_first_500_letters_are_read_with_a_warning():
    view = written()
    with pytest.warns(UserWarning, match="Type a sentence: a text has at most 500 letters.*first 500 of 1,000"):
        view.controls["sentence"].value = 500 * "🦉 "
    assert view.typed == 250 * "🦉 "


def test_a_saved_page_has_the_ready_sentences_and_the_one_it_stands_at(tmp_path):
    view = written()
    frames = [view.save_html(tmp_path / "view.html"), view.set(sentence="mine").save_html(tmp_path / "mine.html")]
    ready, mine = [json.loads(re.search(r'id="state">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1])
                   for page in frames]
    assert sorted(ready["frames"]["frames"]) == ["0,0", "0,1", "1,0", "1,1"] and ready["typed"] == ""
    assert sorted(mine["frames"]["frames"].keys() - ready["frames"]["frames"].keys()) == ["0,“mine", "1,“mine"]


@pytest.mark.parametrize("make, says", [
    (lambda: typed("x", ()), "has no setting"), (lambda: typed("x", ("a", " ")), "must be texts that are not empty"),
    (lambda: typed("x", "a sentence"), "ready must be a list or tuple of sentences"),
    (lambda: typed("x", {"a": 1}), "must be texts that are not empty"),
    (lambda: typed("x", ("a",), value=3), "x takes a text, not 3"),
    (lambda: View({"x": typed("x", ("a",)), "y": typed("y", ("a",))}, [], counted),
     "one field to type in, not 2 (x, y)")])
def test_a_field_that_cannot_be_made_says_why(make, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        make()


# -- coloured letters --------------------------------------------------------------------------------

SAID = Letters("said", ends=("a president", "Shakespeare"))


def spoken(text, values):
    chart = lettered(SAID, "who would rather have written a letter", height=100)
    return View({"how": chips("how", ["x"])}, [chart], lambda how: Frame("Both", SAID.said(text, values),
                                                                       {"said": (text, values)}))


def test_letters_go_to_the_page_with_their_values_and_have_words_for_who_does_not_see_them():
    view = spoken("I am\n\x00<b>$", [np.nan, 0.123456, -1, 0, 1, -1, -0.5, 0.5, 0.25, 1])
    assert view.frames["rows"] == [["I am\n�<b>$", [None, 0.12346, -1, 0, 1, -1, -0.5, 0.5, 0.25, 1]]]
    assert view.alt == ("56 % of the letters towards “Shakespeare” and 33 % of the letters towards “a president”: "
                        "I am\n�<b>$")
    assert view.spec["charts"][0]["marks"][0]["ends"] == ["a president", "Shakespeare"]
    assert "svg" in view.still() and spoken("", []).still()
    assert spoken("ab", [np.nan, np.nan]).alt == "No letter has a colour: ab"


@pytest.mark.parametrize("text, values, says", [
    ("abc", [1, 0], "a value for each of its 3 letters, not values of shape (2,)"),
    ("ab", [0, 1.5], "takes values from -1 to 1, not 1.5"), ("ab", [[0, 1]], "not values of shape (1, 2)")])
def test_letters_without_a_value_each_are_refused(text, values, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        spoken(text, values)
    with pytest.raises(ValueError, match=re.escape("the mark 'said' takes (text, values), not [1, 0]")):
        rows_of(SAID, [1, 0])


def test_letters_have_a_chart_of_their_own():
    with pytest.raises(ValueError, match="letters have a chart of their own; here are said, line"):
        Chart(X, SHARE, (SAID, Line("line")))


def test_a_text_on_paper_is_broken_behind_spaces_and_line_ends_and_loses_no_letter():
    text = "to be or\nnot to be, that is theconstitution\n\nend "
    lines = ["".join(text[place] for place in line) for line in printed.broken(text, 10)]
    assert "".join(lines) == text and max(map(len, lines)) <= 10
    assert lines == ["to be or\n", "not to ", "be, that ", "is ", "theconstit", "ution\n", "\n", "end "]
    assert printed.broken("", 10) == []


def test_every_letter_is_on_paper_in_the_colour_of_its_value(monkeypatch):
    figures = []
    monkeypatch.setattr(printed.plotting, "image_tag", lambda fig, *_: figures.append(fig) or "")
    spoken("a$b\n", [1, -1, 0, np.nan]).still()
    ax, scale = figures[-1].axes
    assert [text.get_text() for text in ax.texts] == ["a", "$", "b", "¶"]
    towards_a, towards_b, *others = [patch.get_facecolor()[:3] for patch in ax.patches]
    assert towards_a[2] > towards_a[0] and towards_b[0] > towards_b[2] and set(others) == {(1.0, 1.0, 1.0)}
    assert [text.get_text() for text in scale.get_xticklabels()] == ["−1: a president", "1: Shakespeare"]


# -- the module ------------------------------------------------------------------------------------

needs_node = pytest.mark.skipif(not shutil.which("npm"), reason="node is not installed")


@needs_node
def test_the_helpers_of_the_module_pass_their_own_tests(tmp_path):
    copy = installed(tmp_path)
    done = subprocess.run(["npm", "test"], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]


@needs_node
def test_the_module_is_what_its_source_builds(tmp_path):
    copy = installed(tmp_path)
    subprocess.run(["npm", "run", "build"], cwd=copy, check=True, capture_output=True)
    assert (copy.parent / "view.js").read_bytes() == MODULE.read_bytes(), f"run `npm run build` in {FRONT}"


def test_the_licences_of_what_is_in_the_module_stand_beside_it():
    names = json.loads((FRONT / "package.json").read_text(encoding="utf-8"))["dependencies"]
    licences = (MODULE.parent / "LICENSES").read_text(encoding="utf-8")
    assert all(name in licences for name in names)


# of code, of checks or of readings; a browser takes what the bundled letters lack from the system's
NOT_IN_VIEWS = set("Ṽᵢⱼ�") | set(map(chr, range(0x3040, 0x30A0)))


def test_the_letters_of_the_views_are_bundled_with_them():
    declared = re.findall(r'= "(U\+[^"]+)"', (FRONT / "src" / "fonts.js").read_text(encoding="utf-8"))
    ranges = [[int(end, 16) for end in part[2:].split("-")] for part in ",".join(declared).split(",")]
    sources = [path.read_text(encoding="utf-8") for pattern in ("lessons/**/*.py", "lessons/*/questions.yaml")
               for path in chapters.ROOT.glob(pattern)]
    letters = set("".join(sources)) - NOT_IN_VIEWS
    assert [letter for letter in letters if not any(one[0] <= ord(letter) <= one[-1] for one in ranges)] == []


def installed(folder):
    """A copy of the module's source with what it is built from, from the npm registry."""
    copy = shutil.copytree(FRONT, folder / "front", ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"npm cannot install here: {done.stderr[-200:]}")
    return copy


def test_a_picture_on_paper_has_the_points_where_the_page_has_them(monkeypatch):
    drawn = []
    monkeypatch.setattr(printed, "_DRAWN", {"line": lambda ax, chart, mark, rows: drawn.append(mark.x)})
    for places in ((1.0, 10.0, 100.0), None):
        chart = Chart(Axis("x", 0.5, 200, "log"), Axis("y", 0, 1), (Line("curve", "merged"), Handle("at")))
        control = slider("at", [1, 10, 100], 10, places=places)
        View({"at": control}, [chart], lambda at: Frame("One", "One.", {"curve": [0.1, 0.2, 0.3]}, ())).still()
        assert drawn.pop() == (1.0, 10.0, 100.0)


def test_names_on_paper_stand_apart_and_long_words_are_wrapped(monkeypatch):
    figures = []
    monkeypatch.setattr(printed.plotting, "image_tag", lambda fig, *_: figures.append(fig) or "")
    ends = {"low": 1.0, "high": 3.0, "higher": 3.01, "highest": 3.02}
    for kind, low in (("linear", 0.0), ("log", 0.5)):
        chart = Chart(X, Axis("a long name of what stands along this vertical axis", low, 3.05, kind),
                      tuple(Line(name, "merged", name) for name in ends))
        values = {name: [end, end, end] for name, end in ends.items()}
        printed.image([chart], Frame("A sentence that says so much of what there is to be seen that it does not fit "
                                     "above the picture", "alt", values, ()))
        ax, = figures[-1].axes
        figures[-1].canvas.draw()
        boxes = [text.get_window_extent() for text in ax.texts]
        assert [text.get_text() for text in ax.texts] == list(ends)
        assert all(upper.y0 > lower.y0 + 0.6 * lower.height for lower, upper in itertools.pairwise(boxes))
        assert boxes[0].y0 < ax.transData.transform((0, 1.0))[1] < boxes[0].y1, "where nothing is near, it stays"
        assert "\n" in figures[-1]._suptitle.get_text()


@pytest.mark.parametrize("heights, places", [
    ([0.2, 0.6], [0.2, 0.6]),
    ([0.29, 0.29, 0.33, 0.33, 0.45, 0.71], [0.218, 0.278, 0.338, 0.398, 0.458, 0.71]),
    ([0.97, 0.98, 0.99], [0.88, 0.94, 1.0]),
    ([0.0, 0.01], [0.0, 0.06])])
def test_names_on_paper_stand_as_near_to_their_lines_as_they_can(heights, places):
    assert printed.apart(heights, 0.06) == pytest.approx(places)


@pytest.mark.parametrize("stacked", [False, True])
def test_the_name_of_a_vertical_axis_stands_whole_above_it_and_on_no_other(monkeypatch, stacked):
    figures = []
    monkeypatch.setattr(printed.plotting, "image_tag", lambda fig, *_: figures.append(fig) or "")
    name = "a long name of what stands along this vertical axis, with a condition that makes it longer still"
    charts = [Chart(X, Axis(name, 0.0, 3.0), (Line(f"line {place}", "merged"),), height=130) for place in range(3)]
    values = {f"line {place}": [1.0, 2.0, 3.0] for place in range(3)}
    printed.image(charts, Frame("A finding", "alt", values, ()), stacked=stacked)
    figure = figures[-1]
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    names = [ax._left_title.get_window_extent(renderer) for ax in figure.axes]
    boxes = [ax.get_window_extent(renderer) for ax in figure.axes]
    assert all(ax.get_title("left").replace("\n", " ") == name for ax in figure.axes)
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in names)
    everything = [*names, *boxes, figure._suptitle.get_window_extent(renderer)]
    for one, other in itertools.combinations(everything, 2):
        assert not one.overlaps(other)


def test_a_number_that_a_logarithmic_axis_cannot_hold_is_a_gap_in_the_still(monkeypatch):
    figures = []
    monkeypatch.setattr(printed.plotting, "image_tag", lambda fig, *_: figures.append(fig) or "")
    chart = Chart(X, Axis("length", 0.1, 3.0, "log"), (Line("length", "merged"),))
    printed.image([chart], Frame("A finding", "alt", {"length": [1.0, 0.0, 2.0]}, ()))
    drawn = figures[-1].axes[0].lines[0].get_ydata()
    assert np.isnan(drawn[1]) and drawn[0] == 1.0 and drawn[2] == 2.0
