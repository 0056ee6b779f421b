"""Views in Chromium, in exported pages and in a notebook that is opened again: what belongs together is lit together, a
zoom of 200 % and a hidden tab cut nothing, and what the notebook keeps moves without a kernel."""
import base64

import pytest

from lessons.kit.view import (
    Axis,
    Chart,
    Frame,
    Handle,
    Letters,
    Line,
    Reference,
    View,
    chips,
    key,
    lettered,
    slider,
    typed,
    view,
)
from lessons.kit.view.widget import MODULE
from tools import lab, pictures

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)


@view
def two_charts():
    """Two lines in each of two charts, of which A is in both."""
    def draw(alpha, pair):
        return Frame("A falls where the other rises", f"α = {alpha:.2f}, {pair}",
                     {"of A": [1, 0.8, 0.6, 0.4, 0.2], "other": [0.2, 0.3, 0.5, 0.6, 0.7], "loss of A": [0, 1, 2, 3, 4],
                      "chance": 0.1}, key(("a", "A learned digits turned by 45°")))
    across = Axis("α", 0, 1)
    left = Chart(across, Axis("accuracy", 0, 1, unit="percent"),
                 (Line("of A", "a", "network A"), Line("other", "other", "other"),
                  Reference("chance", "chance", "chance"), Handle("alpha")))
    right = Chart(across, Axis("loss", 0, 4), (Line("loss of A", "a", "loss of A"), Handle("alpha")))
    return {"kicker": "A test", "charts": [left, right], "draw": draw, "caption": "Made up.",
            "controls": {"alpha": slider("α", {f"{alpha:g}": alpha for alpha in ALPHAS}, 0.5),
                         "pair": chips("pair", ("one", "two"))}}


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    return two_charts().save_html(tmp_path_factory.mktemp("view") / "view.html").as_uri()


def test_a_name_under_the_pointer_is_lit_in_both_charts_and_in_the_table(page, address):
    page.set_viewport_size({"width": 1200, "height": 1000})
    page.goto(address)
    page.get_by_role("button", name="All numbers").click()
    pale = page.locator(".pale")
    assert not pale.count()
    page.locator(".key .a").hover()
    assert {node.get_attribute("data-link") for node in pale.all()} == {"other", "chance"}
    assert page.locator(".line.a:not(.pale)").count() == 2
    assert page.locator("th.pale").all_inner_texts() == ["other", "chance"]
    page.locator("text.end.other").hover()
    assert page.locator(".line.a.pale").count() == 2 and not page.locator(".line.other.pale").count()
    page.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".line.a.pale").count() == 2, "a new frame forgot what is lit"
    page.locator(".title").hover()
    assert not pale.count()


FITS = """() => [document.documentElement.scrollWidth <= innerWidth,
    [...document.querySelector('#view').shadowRoot.querySelectorAll('svg.plot text, .title, .chip, .words')]
        .filter((node) => node.getClientRects().length)
        .map((node) => [node.textContent, node.getBoundingClientRect()])
        .filter(([, box]) => box.left < -0.5 || box.right > innerWidth + 0.5).map(([text]) => text)]"""


def test_at_a_zoom_of_200_percent_nothing_is_cut_and_the_slider_moves(lab_and_browser, page, address):
    """A browser's zoom halves the page's pixels and doubles the screen's."""
    zoomed = lab_and_browser[1].browser.new_context(viewport={"width": 640, "height": 400}, device_scale_factor=2)
    with lab.fresh_page(zoomed) as here:
        here.goto(address)
        assert here.evaluate(FITS) == [True, []]
        here.locator("input[type=range]").focus()
        here.keyboard.press("End")
        assert "α = 1.00" in here.locator(".says").get_attribute("aria-label")
        handle, = here.locator("svg.plot").first.locator(".handle").all()
        box = here.locator("svg.plot").first.bounding_box()
        here.mouse.click(box["x"] + box["width"] / 3, box["y"] + box["height"] / 2)
        assert "α = 1.00" not in here.locator(".says").get_attribute("aria-label")
        assert here.errors == []
    zoomed.close()


def test_a_view_that_opens_in_a_hidden_tab_fits_once_it_is_seen(page, address):
    """What is hidden has no width, and its frames may change meanwhile."""
    page.set_viewport_size({"width": 700, "height": 900})
    page.add_init_script("addEventListener('DOMContentLoaded', () => { document.body.style.display = 'none'; })")
    page.goto(address)
    page.locator("input[type=range]").evaluate(
        "(range) => { range.value = 4; range.dispatchEvent(new Event('input')); }")
    page.evaluate("() => { document.body.style.display = ''; }")
    lab.until(page, "a chart as wide as the page", "() => { const {width} = document.querySelector('#view').shadowRoot"
              ".querySelector('svg.plot').getBoundingClientRect(); return width > 300 && width < 700; }")
    assert page.evaluate(FITS) == [True, []]
    assert "α = 1.00" in page.locator(".says").get_attribute("aria-label")


@pytest.mark.parametrize("name", [name for name, picture in pictures.PICTURES.items() if not picture.trained])
def test_a_saved_page_moves_by_key_and_by_drag_without_a_network(name, page, tmp_path):
    path = pictures.PICTURES[name].panel().save_html(tmp_path / "view.html")
    page.context.set_offline(True)
    try:
        page.goto(path.as_uri())
        view, slider = page.locator("#view"), page.locator("input[type=range]")
        slider.focus()
        page.keyboard.press("Home")
        first, words = view.get_attribute("data-shown"), page.locator(".says").get_attribute("aria-label")
        page.keyboard.press("End")
        assert (ended := view.get_attribute("data-shown")) != first
        assert page.locator(".says").get_attribute("aria-label") != words
        lab.drag(page, view, 0.9, 0.1)
        assert view.get_attribute("data-shown") not in (ended, None)
        assert page.errors == []
    finally:
        page.context.set_offline(False)


def test_what_a_notebook_keeps_is_shown_where_it_was_saved_at_a_setting_whose_numbers_it_does_not_keep(page):
    """A page that has, as a notebook that is opened again, only the numbers along the slider, for the first chip."""
    view = two_charts()
    state = {"spec": view.spec, "frames": view.frames, "positions": [3, 1], "guess": None, "shown": False}
    page.goto("about:blank")
    page.evaluate("""async ([module, state]) => {
        document.body.innerHTML = "<div id='view'></div>";
        (await import(`data:text/javascript;base64,${module}`)).page(document.querySelector("#view"), state); }""",
                  [base64.b64encode(MODULE.read_bytes()).decode(), state])
    page.get_by_text("This page does not have this setting").wait_for()
    assert page.locator("#view").get_attribute("data-shown") == "0,0"
    page.locator("input[type=range]").focus()
    page.keyboard.press("End")
    assert page.locator("#view").get_attribute("data-shown") == "4,0"
    assert not page.get_by_text("This page does not have this setting").count()


def run_in_lab(page, address, name, sources):
    """Run a notebook of these cells in JupyterLab; returns its views."""
    lab.save(page, address, name, *sources)
    assert lab.run_all(page, address, name) == []
    return lab.views(page)


TWICE = ("from lessons.interference.panels import toy\npanel = toy.interference()\npanel", "panel")


def test_two_views_of_one_panel_move_together_and_move_in_a_notebook_that_is_opened_again(lab_and_browser, page):
    address = lab_and_browser[0].format(name="twice.ipynb")
    one, other = run_in_lab(page, lab_and_browser[0], "twice.ipynb", TWICE)
    lab.press(page, one, ["End"])
    lab.until(page, "the other view", "([one, other]) => one.dataset.shown === other.dataset.shown",
              [one.element_handle(), other.element_handle()])
    ended = one.get_attribute("data-shown")
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')"
                  ".then(() => window.jupyterapp.serviceManager.sessions.shutdownAll())")
    with lab.fresh_page(lab_and_browser[1]) as again:
        again.goto(address)
        view = again.locator(lab.VIEW).first
        view.wait_for()
        lab.until(again, "what was shown", "(view) => 'shown' in view.dataset", view.element_handle())
        assert view.get_attribute("data-shown") == ended
        view.locator("input[type=range]").focus()
        again.keyboard.press("Home")
        assert view.get_attribute("data-shown") != ended
        chip = view.locator(".chips:not(.pick) .chip input:not(:checked)").first
        chip.evaluate("(chip) => chip.click()")
        view.get_by_text("This setting waits for the notebook’s kernel").wait_for()
        assert again.errors == []


TYPED = ("""
import time
from lessons.kit.view import Axis, Bars, Chart, Frame, View, slider, typed

drawn = []

def draw(alpha, sentence):
    drawn.append(sentence)
    time.sleep(1.2 * sentence.startswith("slow"))
    return Frame(f"“{sentence}” at {alpha}", ", ".join(drawn[-4:]), {"letters": [len(sentence), alpha]})

panel = View({"alpha": slider("α", [0, 1], 0), "sentence": typed("Type a sentence", ("ready one", "ready two"))},
             [Chart(Axis("x", -0.5, 1.5), Axis("letters", 0, 500), (Bars("letters", "merged", x=(0, 1)),))], draw)
panel""",)
ENTERED = """async (field, texts) => { for (const text of texts) {
    field.value = text;
    field.dispatchEvent(new Event("input"));
    await new Promise((done) => setTimeout(done, 40)); } }"""
TITLE = "([view, title]) => view.shadowRoot.querySelector('.title').textContent === title"


def test_a_sentence_is_typed_in_the_notebook_and_python_answers(lab_and_browser, page):
    view, = run_in_lab(page, lab_and_browser[0], "typed.ipynb", TYPED)
    field = view.get_by_role("textbox", name="Type a sentence")

    def reads(title):
        lab.until(page, title, TITLE, [view.element_handle(), title])

    assert field.input_value() == "ready one"
    evil = "<img src=x onerror='window.ran = 1'> 🦉 雪"
    field.fill(evil)
    reads(f"“{evil}” at 0")
    assert not view.locator("img").count() and not page.evaluate("() => window.ran")
    assert not view.locator(".chip input:checked").count()
    view.get_by_role("slider", name="α").focus()
    page.keyboard.press("End")
    reads(f"“{evil}” at 1")
    field.press("Control+a")
    field.press_sequentially("as b typed")  # letters are keys of the notebook, too
    reads("“as b typed” at 1")
    field.evaluate(ENTERED, ["q", "qu", "quick"])
    reads("“quick” at 1")
    for text in ("slow 1", "slow 2", "slow 3"):
        field.evaluate(ENTERED, [text])
        page.wait_for_timeout(300)
    reads("“slow 3” at 1")
    told = lab.says(view)
    assert told.endswith("as b typed, quick, slow 1, slow 3"), "it asks at a rest, and behind an answer for the newest"
    field.fill("slow")
    page.wait_for_timeout(300)
    field.press_sequentially(30 * " on", delay=20)  # meanwhile comes the answer
    reads(f"“slow{30 * ' on'}” at 1")
    field.fill(" ")
    reads("Type a sentence, or choose one")
    field.fill(600 * "a")
    reads(f"“{500 * 'a'}” at 1")
    assert len(field.input_value()) == 500
    assert view.get_by_text("Only the first 500 letters are used.").count() == 1
    view.get_by_label("ready two").check(force=True)
    reads("“ready two” at 1")
    assert field.input_value() == "ready two" and not view.get_by_text("Only the first 500").count()


SAYS = "It was\na  <b>$5</b> 🦉 theconstitutionalgovernmentofpeople"
CONTRASTS = """() => {
    const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    const light = (colour) => {
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => part / 255)
            .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05; };
    return [...document.querySelector("#view").shadowRoot.querySelectorAll(".text .a, .text .b")].map((letter) => {
        const {color, backgroundColor} = getComputedStyle(letter), [ink, ground] = [color, backgroundColor].map(light);
        return Math.max(ink, ground) / Math.min(ink, ground); }); }"""
CUT = """() => { const view = document.querySelector("#view"), {right} = view.getBoundingClientRect();
    const parts = [...view.shadowRoot.querySelectorAll(".text span, .head span, .chip, .note")];
    return document.documentElement.scrollWidth > innerWidth
        || parts.some((node) => node.getBoundingClientRect().right > right); }"""


@pytest.mark.parametrize("width", [1120, 400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_saved_page_has_ready_sentences_and_letters_that_are_read_on_their_colours(page, tmp_path, width, theme):
    letters = Letters("said", ends=("a president", "Shakespeare"))
    values = [-1 + 2 * place / (len(SAYS) - 1) for place in range(len(SAYS))]

    def draw(sentence):
        return Frame(f"“{sentence}”", letters.said(SAYS, values), {"said": (SAYS, values)})
    made = View({"sentence": typed("Type a sentence", {"one": "ready one", "two": "ready two"})},
                [lettered(letters, "who would rather have written a letter", height=120)], draw)
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(made.set(sentence="<i>mine</i>").save_html(tmp_path / "view.html").as_uri())
    assert page.locator(".title").inner_text() == "“<i>mine</i>”" and not page.get_by_role("textbox").count()
    assert page.locator(".chip").all_inner_texts() == ["one", "two", "<i>mine</i>"]
    assert page.get_by_text("To type a sentence of your own, open this panel in its notebook.").is_visible()
    page.get_by_label("two").check(force=True)
    assert page.locator(".title").inner_text() == "“ready two”"
    assert page.locator(".lettered .text").evaluate("(text) => text.textContent") == SAYS.replace("\n", "¶\n")
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) >= len(SAYS) - 1 and min(contrasts) >= 4.5
    assert not page.evaluate(CUT)
    page.get_by_role("button", name="All numbers").click()
    rows = page.locator("tbody tr").all_inner_texts()
    assert rows[:3] == ["I\t−1.00", f"t\t−{-values[1]:.2f}", f"space\t−{-values[2]:.2f}"] and len(rows) == len(SAYS)
    page.emulate_media(color_scheme=None)
