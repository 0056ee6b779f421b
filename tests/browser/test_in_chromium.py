"""A learner's hands: every chapter in JupyterLab in Chromium, and an exported page.

Guesses are committed, keys go to every slider, and what the pictures then say is compared with the numbers, by the
chapter's own `chapter_N.py` beside this file.
"""
import importlib

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons.kit import chapters
from lessons.kit.notebooks import to_html
from lessons.kit.sweep import at
from lessons.linearity.experiment import mlp
from lessons.linearity.panels import lines
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]


def shown(view):
    """What the charts of a view show, with what stands at the ends of lines."""
    return view.locator(".stage").inner_html()


def guess_all(page):
    """Commit every prediction; returns how many there are. Before, its view tells nothing; after, it tells all."""
    asking = [view for view in page.locator(lab.VIEW).all() if view.locator(".commit").count()]
    for view in asking:
        assert says_nothing(view)
        assert "Measured:" in lab.guess(page, view, 12)
        assert not says_nothing(view) and view.locator(".stage .answer").count()
    return len(asking)


READ = """() => [...document.querySelectorAll('.weightspace-waiting')]
    .every((element) => !element.textContent.includes('Make your guess'))"""  # the kernel tells each after a guess


def says_nothing(view):
    """Whether a view keeps the answer from eyes and screen readers: none of the marks that wait, no table of numbers
    and no button that shows one, and a label that says that it waits."""
    drawn = view.locator(".stage .answer").count()
    numbers = view.locator(".foot .quiet:visible, .numbers:visible").count()
    return not drawn and not numbers and "wait for your guess" in lab.says(view)


NEAREST = """({shadowRoot}, share) => {  // whether the thumb is at the notch nearest to this share of the track
    const middle = (selector) => [...shadowRoot.querySelectorAll(selector)].map((element) => {
        const {left, right} = element.getBoundingClientRect();
        return (left + right) / 2; });
    const {left, width} = shadowRoot.querySelector('.rail .track').getBoundingClientRect();
    const off = (place) => Math.abs(place - left - share * width);
    return off(middle('.thumb')[0]) <= Math.min(...middle('.notches line').map(off)) + 1; }"""


PICKED = ".chart:has(.rail) :is(.cloud, .spot)"  # dots above a slider, from which a press may choose


def move(page, view):
    """Drag a view's slider in its plot, if it lies along the x axis, then move it by keys to both ends, where the
    pictures must differ, and one step back. Of a view without a slider, make another choice."""
    if not view.locator(lab.HANDLE).count():
        before, chips = shown(view), view.locator(".chips:not(.pick) .chip input:not(:checked)")
        chips.first.check() if chips.count() else view.locator("select").first.select_option(index=1)
        lab.settled(page, view)
        assert shown(view) != before
        return
    lab.press(page, view, ["Home"])
    picked, nearest = False, []
    drags = ((0.9, 0.25), (0.25, 0.75)) if view.locator(".chart:has(.rail) .handle").count() else ()
    for start, end in drags:  # twice: what a first drag selects must not stop a second
        before = lab.settled(page, view)
        lab.drag(page, view, start, end)
        # where dots pick, the nearest is chosen, wherever its stop is, maybe by both drags the same
        picked |= bool(view.locator(PICKED).count()) and lab.settled(page, view) != before
        nearest.append(view.evaluate(NEAREST, end))
    assert picked or all(nearest), "the slider does not stand at the stop nearest to the pointer"
    lab.press(page, view, ["Home"])
    first = shown(view)
    assert lab.press(page, view, ["ArrowRight", "ArrowRight", "End"]), "no key changed the picture"
    assert shown(view) != first
    lab.press(page, view, ["ArrowLeft"])


CUT = """() => [...document.querySelectorAll('.weightspace-view')]  // what is wider than its place
    .filter((element) => element.scrollWidth > element.clientWidth).map((element) => element.textContent)"""


BEYOND = """(view) => {  // the words at a slider that its view cuts
    const {left, right} = view.getBoundingClientRect();
    const reaches = (place) => place.left < left - 1 || place.right > right + 1;
    return [...view.shadowRoot.querySelectorAll('.rail .words, .rail .end')]
        .filter((element) => reaches(element.getBoundingClientRect())).map((element) => element.textContent); }"""


UNKNOWN = """() => [...document.querySelectorAll('.weightspace-view')].flatMap(({shadowRoot}) => {
    const choices = [...shadowRoot.querySelectorAll('.chip, .chips .legend, option, summary, text')]
        .map((element) => element.textContent);
    const named = (words) => [...words.matchAll(/“([^”]+)”/g)].map((match) => match[1]);
    return [...shadowRoot.querySelectorAll('.try')].flatMap((element) => named(element.textContent))
        .filter((name) => !choices.includes(name)); })"""  # choices that a view tells to try and does not have


@pytest.mark.parametrize("chapter", chapters.CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapter_answers_guesses_moves_by_key_and_its_pictures_say_what_was_measured(chapter, opened):
    page, found = opened(chapter.stem)
    assert len(found) == chapter.panels
    guess_all(page)
    lab.until(page, "the readings that wait for a guess", READ)
    for view in found:
        move(page, view)
    for slider in page.locator(f"{lab.VIEW} {lab.HANDLE}").all():
        assert slider.get_attribute("aria-label") and slider.get_attribute("aria-valuetext"), "a slider without words"
    assert page.evaluate(CUT) == [] and page.evaluate(UNKNOWN) == []
    assert not found or shut_out(page) == []
    own = importlib.import_module(f"tests.browser.{'deeper' if chapter.deeper else 'chapter'}_{chapter.number}")
    own.compare(page, [lab.says(view) for view in found])


CONTRAST = """(element) => {  // of its letters with what lies behind them, as WCAG 2 defines it
    const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
    const light = (rgb) => rgb.map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    let [red, green, blue, ink = 1] = numbers(getComputedStyle(element).color), behind;
    for (let at = element; at; at = at.parentElement) {
        const style = getComputedStyle(at), [r, g, b, opaque = 1] = numbers(style.backgroundColor);
        ink *= style.opacity;
        if (!behind && opaque === 1) behind = [r, g, b];
    }
    const seen = [red, green, blue].map((c, i) => ink * c + (1 - ink) * behind[i]);
    const [dark, bright] = [light(seen), light(behind)].sort((a, b) => a - b);
    return (bright + 0.05) / (dark + 0.05); }"""


@pytest.fixture
def theme(page):
    """theme(name): JupyterLab's, which it keeps for the pages that are opened next; at the end it is the light one."""
    def choose(name):
        page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
        lab.until(page, name, "(name) => document.body.dataset.jpThemeName === name", name)
    yield choose
    choose("JupyterLab Light")


def test_chapter_0_is_read_in_both_themes_and_narrow_and_tells_no_answer_before_it_is_asked_to(opened, theme):
    page, (view,) = opened("00_start_here")
    reading = page.locator(".weightspace-waiting")
    reading.scroll_into_view_if_needed()  # JupyterLab lays out what is in sight
    lab.until(page, "the reading that waits", "(element) => element.innerText.trim() === "
              "'This tells the answer. Make your guess above first.'", reading.element_handle())
    assert shut_out(page) == [], "what asks for the guess has a name too"
    for name in ("JupyterLab Light", "JupyterLab Dark"):
        theme(name)
        for kind in ("figure > img + figcaption", "[role=status]", "summary", "td"):
            found = page.locator(f".jp-OutputArea-output {kind}").first
            found.scroll_into_view_if_needed()
            assert found.evaluate(CONTRAST) >= 4.5, (name, kind)
    assert says_nothing(view) and not view.locator(".stage .stands").count()
    view.get_by_role("button", name="Just show me").click()
    view.locator(".prediction", has_text="Shown without a guess").wait_for()
    assert not says_nothing(view) and view.locator(".stage .stands").count() == 2
    assert "Measured" not in view.locator(".prediction").inner_text()
    lab.until(page, "the reading", "(element) => element.textContent.includes('From two random starts')",
              reading.element_handle())
    page.set_viewport_size({"width": 1024, "height": 768})
    lab.views(page)
    assert page.evaluate(CUT) == []
    for key in ("Home", "End"):
        lab.press(page, view, [key])
        assert view.evaluate(BEYOND) == []


OWN = """import torch
from lessons.checkpoints import looking
from lessons.vit.panels import own
base = {"block.weight": torch.ones(8, 8)}
tuned = [{"block.weight": torch.ones(8, 8) + torch.eye(8).roll(shift, 0)} for shift in (1, 2, 3)]
names = ("digits_turned_and_finetuned_for_ten_more_epochs_on_all_of_their_images", "digits_turned_by_45_degrees", "c")
own.one_layer(looking.layer(base, tuned, "block.weight", names))"""


def test_the_names_of_your_own_models_are_shown_in_full_on_a_narrow_screen(lab_and_browser, page):
    page.set_viewport_size({"width": 1024, "height": 768})
    lab.save(page, lab_and_browser[0], "own.ipynb", OWN)
    assert lab.run_all(page, lab_and_browser[0], "own.ipynb") == []
    view, = lab.views(page)
    name = view.locator(".key .a")
    assert name.inner_text() == "A: digits_turned_and_finetuned_for_ten_more_epochs_on_all_of_their_images"
    assert name.evaluate("(element) => element.scrollWidth <= element.clientWidth")
    assert page.evaluate(CUT) == []


def test_a_cell_that_fails_ends_the_run_and_is_named(lab_and_browser, page):
    lab.save(page, lab_and_browser[0], "fails.ipynb", "1 + 1", "1 / 0", "import time; time.sleep(1000)")
    assert lab.run_all(page, lab_and_browser[0], "fails.ipynb", seconds=60) == ["ZeroDivisionError: division by zero"]


def shut_out(page, theme=None):
    """What axe-core finds in a page, or in the views of JupyterLab's: what a keyboard or a screen reader cannot use,
    and too low a contrast."""
    if theme:
        page.emulate_media(color_scheme=theme)
    context = None if theme else {"include": [lab.VIEW]}
    return [(problem["id"], part["html"]) for problem in Axe().run(page, context).response["violations"]
            for part in problem["nodes"]]


def test_a_view_fills_the_hall_with_one_chart_whose_slider_the_arrows_move(page, folder, tmp_path):
    sweep = mlp.run("quick", 0)
    view = lines.coef_per_layer(sweep)
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(view.save_html(tmp_path / "coef.html").as_uri())
    host = page.locator("#view")
    size = "({shadowRoot}) => parseFloat(getComputedStyle(shadowRoot.querySelector('.title')).fontSize)"
    letters, stop = host.evaluate(size), host.get_attribute("data-shown")
    page.locator("input[type=range]").focus()
    page.keyboard.press("f")
    page.wait_for_function("() => document.fullscreenElement")
    page.get_by_label("share of the images").check()
    assert page.locator(".chart:visible").count() == 1 and not page.locator(".foot:visible, .kicker:visible").count()
    assert host.evaluate(size) >= letters
    page.evaluate("() => document.querySelector('#view').shadowRoot.activeElement?.blur()")
    page.keyboard.press("ArrowRight")
    assert host.get_attribute("data-shown") != stop
    page.keyboard.press("f")
    page.wait_for_function("() => !document.fullscreenElement")
    page.goto(view.big(1).save_html(tmp_path / "big.html").as_uri())
    page.set_viewport_size({"width": 1920, "height": 1080})
    assert page.locator(".chart:visible").count() == 1 and page.get_by_role("radio", name="share of the").is_checked()
    assert host.evaluate(size) > 1.4 * letters
    assert page.evaluate("() => document.documentElement.scrollHeight <= innerHeight"), "it does not fit on the screen"


def test_an_exported_panel_works_without_a_kernel_and_without_a_network(page, folder, tmp_path):
    sweep = mlp.run("quick", 0)
    path = lines.gap_per_layer(sweep).save_html(tmp_path / "gap.html")
    page.context.set_offline(True)
    try:
        page.goto(path.as_uri())
        slider, stage = page.locator("input[type=range]"), page.locator(".says")
        slider.focus()
        page.keyboard.press("Home")
        assert "α = 0.00" in stage.get_attribute("aria-label")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.get_by_text("More").click()
        page.get_by_label("22.5° and 45°").check()
        here = at(sweep, pair="22.5° and 45°", alpha=0.15)
        assert all(f"{value:.4f}" in stage.get_attribute("aria-label") for value in here.gap_mean.values)
        page.get_by_role("button", name="All numbers").click()
        shares = here.gap_mean / here.own_mean
        assert [out for theme in ("light", "dark") for out in shut_out(page, theme)] == []
        row = page.locator(".numbers .now").first
        assert row.locator("th").inner_text() == "0.15"
        assert row.locator("td").all_inner_texts() == [f"{share:.1%}".replace("%", " %") for share in shares.values]
        page.get_by_role("button", name="Copy link").click()
        page.wait_for_function("() => location.hash")
        address, place = page.evaluate("() => location.href"), page.locator("#view").get_attribute("data-shown")
        page.goto("about:blank")
        page.goto(address)
        assert page.locator("#view").get_attribute("data-shown") == place
    finally:
        page.context.set_offline(False)


# False where there is no code to see (text, or a folded cell), null until the code is drawn.
WIDTHS = """(index) => {
    const {model, node, inputHidden} = window.jupyterapp.shell.currentWidget.content.widgets[index];
    const code = node.querySelector('.jp-InputArea-editor .cm-scroller');
    return model.type === 'code' && !inputHidden && code && [code.scrollWidth, code.clientWidth]; }"""


def test_a_first_start_asks_nothing_cuts_no_line_at_1024_pixels_and_its_links_open(lab_and_browser, page):
    """Nothing is run, so that the page is as a learner meets it."""
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(lab_and_browser[0].format(name="00_start_here.ipynb"))
    lab.until(page, "a kernel", lab.READY, seconds=90)
    measured = 0
    for index in range(page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")):
        page.evaluate("(index) => window.jupyterapp.shell.currentWidget.content.scrollToItem(index)", index)
        lab.until(page, f"cell {index}", f"(index) => ({WIDTHS})(index) !== null", index)
        if widths := page.evaluate(WIDTHS, index):
            assert widths[0] <= widths[1], f"cell {index} has a line of code that is cut"
            measured += 1
    assert measured
    for name, wanted in (("glossary", "docs/glossary.md"), ("chapter 1, linearity", "notebooks/01_linearity.ipynb")):
        page.get_by_role("link", name=name, exact=True).click()
        lab.until(page, wanted, "(path) => window.jupyterapp.shell.currentWidget?.context?.path === path", wanted)
        lab.until(page, f"the first heading of {wanted}, and not its source",
                  "() => window.jupyterapp.shell.currentWidget.node.querySelector('h1')")
        page.evaluate("(path) => { window.jupyterapp.commands.execute('docmanager:open', {path}); }", lab.FIRST)
    assert page.locator(".Toastify__toast, .jp-Dialog").count() == 0, "JupyterLab asks a question"


@pytest.mark.parametrize("name", ["00_start_here", "13_checkpoints"])
def test_a_chapters_page_cuts_no_line_at_1024_pixels(name, page, tmp_path):
    """Unexecuted, with an output whose lines are long and cannot be broken at a space."""
    notebook = nbformat.read(chapters.chapter(name).notebook, as_version=4)
    cell = next(cell for cell in notebook.cells if cell.cell_type == "code")
    cell.outputs = [nbformat.v4.new_output("stream", text=300 * "/folder")]
    path = tmp_path / f"{name}.html"
    path.write_text(to_html(notebook), encoding="utf-8")
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(path.as_uri())
    widths = page.locator("pre").evaluate_all("(all) => all.map((one) => [one.scrollWidth, one.clientWidth])")
    assert len(widths) > 10 and all(inside <= seen for inside, seen in widths)
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
