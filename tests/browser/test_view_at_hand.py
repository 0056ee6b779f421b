"""What hands do with a view in Chromium: Play, a guess that is dragged, a phone; and what a screen reader hears."""
import re

import pytest

from lessons.kit.predict import predict
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, Star, View, chips, key, slider
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
SHARE = Axis("accuracy", 0, 1, unit="percent")


def drawn(alpha, pair):
    side = "left" if alpha < 0.5 else "right" if alpha > 0.5 else "middle"
    return Frame(f"A is read in the {side}", f"α = {alpha:.2f}, {pair}",
                 {"of A": [1, 0.8, 0.6, 0.4, 0.2], "both": [0.3, 0.6, 0.9, 0.6, 0.3], "chance": 0.1},
                 key(("a", "A learned digits turned by 45°"), ("merged", "both tasks")))


def made(prediction=None, hides=(), tries=()):
    marks = (Line("of A", "a", "network A"), Line("both", "merged", "both tasks"),
             Reference("chance", "chance", "chance"), Star("guess", x=(0.5,)), Handle("alpha"))
    controls = {"alpha": slider("α", {f"{alpha:g}": alpha for alpha in ALPHAS}, 0.5),
                "pair": chips("pair", ("one", "two"))}
    return View(controls, [Chart(Axis("α", 0, 1), SHARE, marks)], drawn, kicker="A test", caption="Made up.",
                prediction=prediction, hides=hides, tries=tries)


@pytest.fixture
def opened(page, tmp_path):
    """opened(view) -> the host of its page."""
    def open(view, **media):
        page.emulate_media(**media)
        page.goto(view.save_html(tmp_path / "view.html").as_uri())
        return page.locator("#view[data-shown]")
    yield open
    page.emulate_media(reduced_motion="no-preference")


STOPS = """(view) => { window.__stops = [];
    new MutationObserver(() => window.__stops.push(view.dataset.shown))
        .observe(view, {attributes: true, attributeFilter: ['data-shown']}); }"""


def test_play_runs_once_through_all_stops_and_back_to_where_it_began(page, opened):
    view = opened(made())
    view.evaluate(STOPS)
    page.get_by_role("button", name="Play once through").click()
    lab.until(page, "the end of a play", "() => window.__stops.length > 4 && window.__stops.at(-1) === '2,0'")
    stops = [int(stop.split(",")[0]) for stop in page.evaluate("() => window.__stops")]
    passed = [stop for place, stop in enumerate(stops) if not place or stop != stops[place - 1]]
    assert passed[-5:] == [1, 2, 3, 4, 2] and passed[0] == 0, "a stop was left out, or it does not return"


def test_a_view_that_is_laid_out_anew_keeps_the_focus_of_its_slider(page, opened):
    """In a long notebook a view is laid out again after the first key, because a scrollbar comes."""
    usual = page.viewport_size
    page.set_viewport_size({"width": 900, "height": 800})
    view = opened(made())
    page.get_by_role("slider", name="α").focus()
    page.keyboard.press("ArrowRight")
    was = view.evaluate("(host) => host.clientWidth")
    page.set_viewport_size({"width": 860, "height": 800})
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert view.evaluate("(host) => host.clientWidth") < was, "it was not laid out anew"
    page.keyboard.press("ArrowRight")
    page.set_viewport_size(usual)
    assert view.get_attribute("data-shown") == "4,0"


def test_without_motion_play_moves_by_a_quarter(page, opened):
    view = opened(made(), reduced_motion="reduce")
    play = page.get_by_role("button", name="Play once through")
    play.click()
    assert view.get_attribute("data-shown") == "3,0"
    page.wait_for_timeout(300)
    assert view.get_attribute("data-shown") == "3,0", "it moves by itself"


def test_a_screen_reader_hears_the_finding_once_after_the_slider_rests(page, opened):
    opened(made())
    live = page.locator("[aria-live=polite]")
    assert live.count() == 1
    lab.until(page, "the first finding", "(live) => live.textContent === 'A is read in the middle'",
              live.element_handle())
    live.evaluate("(live) => { window.__heard = []; new MutationObserver(() => window.__heard.push(live.textContent))"
                  ".observe(live, {childList: true, characterData: true, subtree: true}); }")
    page.locator("input[type=range]").focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    assert page.locator("input[type=range]").get_attribute("aria-valuetext") == "1"
    lab.until(page, "the finding on the right", "() => window.__heard.length")
    page.wait_for_timeout(700)
    assert page.evaluate("() => window.__heard") == ["A is read in the right"]


def test_a_guess_is_dragged_and_none_can_be_committed_before(page, opened):
    guess = predict("How high is it in the middle?")
    guess.panel_answers(0.9, {"alpha": 0.5})
    opened(made(guess, hides=["both"]))
    commit, number = page.get_by_role("button", name="Commit"), page.locator("input[type=number]")
    assert commit.is_disabled() and not number.input_value() and not page.locator(".star").count()
    assert not page.locator(".line.merged").count(), "the answer is drawn while the view asks"
    plot = page.locator("svg.plot").bounding_box()
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] * 0.3)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] / 2, plot["y"] + plot["height"] * 0.5, steps=3)
    page.mouse.up()
    dragged = int(number.input_value())
    assert 30 < dragged < 70 and page.locator(".star").count() == 1
    commit.click()
    verdict = page.locator(".prediction").inner_text()
    assert f"Off by {90 - dragged} points." in verdict and f"You said {dragged} %. Measured: 90 %." in verdict
    assert page.locator(".line.merged").count() and page.locator(".star").count() == 1


def test_a_chart_of_answers_alone_shows_no_scale_before_the_guess(page, opened):
    guess = predict("How high is it in the middle?")
    guess.panel_answers(0.9, {"alpha": 0.5})
    across = Axis("α", 0, 1)
    asked = Chart(across, SHARE, (Line("both", "merged", "both tasks"), Reference("chance", "chance", "chance"),
                                  Star("guess", x=(0.5,)), Handle("alpha")))
    others = [Chart(across, Axis("of both", 0, 0.93), (Line("both", "merged", "both"), Handle("alpha"))),
              Chart(across, SHARE, (Line("of A", "a", "A"), Line("both", "merged", "both"), Handle("alpha")))]
    opened(View({"alpha": made().controls["alpha"]}, [asked, *others], lambda alpha: drawn(alpha, "one"),
                kicker="A test", caption="Made up.", prediction=guess, hides=["both"]))

    def with_numbers(name):
        axes = page.locator(f"svg.plot .{name}.axis")
        return [any(axes.nth(place).locator("text").all_text_contents()) for place in range(axes.count())]

    assert (with_numbers("y"), with_numbers("x")) == ([True, False, True], [True] * 3)
    page.locator("input[type=number]").fill("50")
    page.get_by_role("button", name="Commit").click()
    assert with_numbers("y") == [True] * 3


SMALL = """() => [...document.querySelector('#view').shadowRoot
    .querySelectorAll('svg.plot text, p, span, button, .words')]
    .filter((node) => node.textContent.trim() && node.getClientRects().length)
    .map((node) => [node.textContent, parseFloat(getComputedStyle(node).fontSize)]).filter(([, size]) => size < 12)"""
# how tall and wide each target is, with what its ::after adds around it
TARGETS = """() => [...document.querySelector('#view').shadowRoot.querySelectorAll('button, .chip, summary, select')]
    .filter((node) => node.getClientRects().length).map((node) => {
        const {width, height} = node.getBoundingClientRect(), after = getComputedStyle(node, '::after');
        const more = after.content === 'none' ? 0 : -2 * parseFloat(after.top);
        return [node.textContent || node.getAttribute('aria-label'), width + more, height + more]; })
    .filter(([, width, height]) => width < 44 || height < 44)"""


def test_what_to_try_waits_for_the_guess_and_is_ticked_off_by_mouse_and_by_key(page, opened):
    prediction = predict("What share do both read half-way?")
    prediction.panel_answers(0.9, {"alpha": 0.5})
    view = opened(made(prediction, ["both"], ["Move α to its end.", "Choose “two”."]))
    boxes = view.locator(".tries input")
    assert boxes.count() == 2 and not view.locator(".tries").is_visible()
    lab.guess(page, view, 50)
    assert view.locator(".tries").is_visible()
    page.get_by_label("Move α to its end.").check()
    boxes.last.focus()
    page.keyboard.press("Space")
    assert boxes.first.is_checked() and boxes.last.is_checked()
    page.get_by_role("slider", name="α").focus()
    page.keyboard.press("ArrowRight")
    assert view.get_attribute("data-shown") == "3,0" and boxes.last.is_checked(), "a tick was lost"


def test_on_a_phone_letters_are_read_targets_are_met_and_live_values_stand_above_the_plot(page, opened):
    page.set_viewport_size({"width": 390, "height": 900})
    opened(made())
    assert page.evaluate(SMALL) == [] and page.evaluate(TARGETS) == []
    top = page.locator(".y.axis .tick").last.bounding_box()["y"]
    live = page.locator("svg.plot text.end").filter(has_text=re.compile("%$"))
    values = [one for one in live.all() if "chance" not in one.text_content()]
    assert [one.text_content() for one in values] == ["network A 60 %", "both tasks 90 %"]
    boxes = [one.bounding_box() for one in values]
    assert all(box["y"] + box["height"] <= top + 9 for box in boxes), "a value lies on the curves"
    assert boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"], "they lie on each other"
    page.set_viewport_size({"width": 1200, "height": 900})
    lab.until(page, "the wide form",
              "() => document.querySelector('#view').shadowRoot.querySelectorAll('.live').length === 2")
