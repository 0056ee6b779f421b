"""Views in Chromium, in exported pages and in a notebook that is opened again: what belongs together is lit together, a
zoom of 200 % and a hidden tab cut nothing, and what the notebook keeps moves without a kernel."""
import base64

import pytest

from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Reference, chips, key, slider, view
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
    """A page like that of a notebook that is opened again: only the numbers along the slider, for the first chip."""
    view = two_charts()
    state = {"spec": view.spec, "frames": view.frames, "positions": [3, 1], "guess": None, "shown": False}
    page.goto("about:blank")
    page.evaluate("""async ([module, state]) => {
        document.body.innerHTML = "<div id='view'></div>";
        (await import(`data:text/javascript;base64,${module}`)).page(document.querySelector("#view"), state); }""",
                  [base64.b64encode(MODULE.read_bytes()).decode(), state])
    page.get_by_text("This setting waits for the notebook’s kernel").wait_for()
    assert page.locator("#view").get_attribute("data-shown") == "0,0"
    page.locator("input[type=range]").focus()
    page.keyboard.press("End")
    assert page.locator("#view").get_attribute("data-shown") == "4,0"
    assert not page.get_by_text("This setting waits for the notebook’s kernel").count()


TWICE = ("from lessons.interference.panels import toy\npanel = toy.interference()\npanel", "panel")


def test_two_views_of_one_panel_move_together_and_move_in_a_notebook_that_is_opened_again(lab_and_browser, page):
    cells = [{"cell_type": "code", "id": f"cell-{number}", "metadata": {}, "outputs": [], "execution_count": None,
              "source": source} for number, source in enumerate(TWICE)]
    kernel = {"name": "python3", "display_name": "Python 3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    address = lab_and_browser[0].format(name="twice.ipynb")
    page.goto(lab_and_browser[0].format(name=""))
    lab.until(page, "JupyterLab", "() => window.jupyterapp?.serviceManager?.isReady")
    page.evaluate("(content) => window.jupyterapp.serviceManager.contents.save('notebooks/twice.ipynb', "
                  "{type: 'notebook', format: 'json', content})", notebook)
    assert lab.run_all(page, lab_and_browser[0], "twice.ipynb") == 0
    one, other = lab.views(page)
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
