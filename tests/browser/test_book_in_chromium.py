"""The book in Chromium, opened from its folder on disk with the network off: a reader moves a slider, commits a guess,
answers a question, looks a word up and searches, and no page asks for anything outside its folder."""
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons.kit.predict import FOLDED
from tests.browser.conftest import reading
from tests.test_book import TOLD
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]


@pytest.fixture
def reader(site):
    """reader(name) opens a page of the book."""
    with reading(site) as open:
        yield open


def test_the_front_page_has_a_panel_that_moves_at_once(reader):
    page = reader("index")
    view = page.locator("#front")
    assert lab.positions(page, view) == [2, 0]
    page.set_viewport_size({"width": 1366, "height": 768})
    slider = view.locator("input[type=range]")
    assert slider.bounding_box()["y"] < 768, "who opens the page sees no slider"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert lab.positions(page, view) == [1, 0]
    view.get_by_role("radio", name="two starts").check()
    assert lab.positions(page, view) == [1, 1] and "From two starts" in lab.says(view)
    page.get_by_role("link", name="Begin with lesson 0", exact=True).click()
    assert page.locator("h1").inner_text().startswith("0 · A lesson")


def test_a_guess_in_the_page_opens_the_panel_and_what_would_have_told_the_answer(reader):
    page = reader("notebooks/00_start_here")
    view, told = page.locator("#panel"), page.get_by_text(TOLD)
    view.locator(".commit").wait_for()
    assert view.locator(".title").inner_text() == "How accurate is the midpoint?"
    assert not told.is_visible() and page.get_by_text(FOLDED).is_visible()
    assert "You said 70 %. Measured: 80 %." in lab.guess(page, view, 70)
    assert told.is_visible() and not page.get_by_text(FOLDED).is_visible()
    lab.drag(page, view, 0.5, 1)
    assert lab.positions(page, view) == [2, 0]
    view.get_by_role("button", name="Guess again").click()
    assert not told.is_visible()


def test_a_question_answers_in_the_page(reader):
    page = reader("notebooks/00_start_here")
    choices = page.locator(".ws-quiz .choice")
    choices.first.click()
    assert re.match(r"(Right|Not this one)\.", page.locator(".ws-quiz .answer").first.inner_text())


def test_an_address_leads_to_a_panel_at_a_position_once_the_guess_is_made(reader):
    page = reader("index", "#front?alpha=1&start=two+starts")
    assert lab.positions(page, page.locator("#front")) == [2, 1]
    page = reader("notebooks/00_start_here", "#panel?alpha=0&start=two+starts")
    view = page.locator("#panel")
    assert lab.positions(page, view) == [1, 0], "it would tell the answer"


def test_a_word_of_the_glossary_shows_its_definition_and_leads_to_it(reader):
    page = reader("notebooks/00_start_here")
    word, card = page.locator("a.ws-term", has_text="barrier"), page.locator("#ws-definition")
    assert not card.is_visible()
    word.hover()
    assert "straight line between the losses" in card.inner_text()
    page.keyboard.press("Escape")
    assert not card.is_visible()
    word.focus()
    assert card.is_visible() and word.get_attribute("aria-describedby") == "ws-definition"
    page.keyboard.press("Enter")
    page.wait_for_url("**/docs/glossary.html#barrier")
    assert page.locator("#barrier h2").is_visible()


def test_search_finds_a_page_from_the_folder(reader):
    page = reader("search", "?q=barriers")
    page.locator("#search-results li a", has_text="A lesson").first.wait_for()


def test_formulas_have_the_font_of_the_book(reader):
    page = reader("notebooks/00_start_here")
    assert page.locator("math").first.is_visible()
    assert page.evaluate("() => document.fonts.load('16px \"Weightspace Math\"').then((faces) => faces.length)") == 1


@pytest.fixture
def presented(reader):
    """(page, what stands on the screen now) of a lesson in front of a class."""
    page = reader("notebooks/00_start_here")
    page.get_by_role("link", name="Present this lesson").click()
    page.get_by_role("region", name="Presentation").wait_for()
    return page, lambda: page.locator("article :is(h1, h2):visible").all_inner_texts()


def test_a_lesson_is_presented_a_section_a_screen_with_notes_and_a_clock(presented):
    page, headings = presented
    assert headings() == ["0 · A lesson"] and page.get_by_text("1 of 2").is_visible()
    page.keyboard.press("ArrowRight")
    assert headings() == ["0 · A lesson", "A section (5 minutes)"] and page.get_by_text("2 of 2").is_visible()
    assert page.evaluate("() => parseFloat(getComputedStyle(document.querySelector('article p')).fontSize)") >= 20
    notes = page.get_by_role("note", name="Notes")
    assert not notes.is_visible()
    page.keyboard.press("n")
    assert "Vote, move α" in notes.inner_text()
    page.keyboard.press("ArrowRight")
    assert page.get_by_text("2 of 2").is_visible(), "there is no third"
    assert re.fullmatch(r"\d+:\d\d", page.locator(".ws-clock").inner_text())
    page.keyboard.press("Home")
    for _ in range(9):  # what a presenter's remote sends: down the section, then on
        page.keyboard.press("PageDown")
    assert page.get_by_text("2 of 2").is_visible() and page.evaluate("() => scrollY") > 0
    page.keyboard.press("Escape")
    page.get_by_role("link", name="Present this lesson").wait_for()
    assert page.url.endswith("00_start_here.html#a-section-5-minutes"), "it leaves where it was"
    assert len(page.locator("article h2").all()) == 1


def test_keys_that_a_panel_needs_stay_with_it(presented):
    page, headings = presented
    page.keyboard.press("End")
    view = page.locator("#panel")
    view.get_by_role("button", name="Just show me").click()
    view.locator("input[type=range]").focus()
    before = lab.positions(page, view)
    page.keyboard.press("ArrowRight")
    assert lab.positions(page, view) == [before[0] + 1, before[1]] and page.get_by_text("2 of 2").is_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_presented_is_usable_by_all(presented, theme):
    page, _ = presented
    page.emulate_media(color_scheme=theme)
    page.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
    for _ in range(2):
        page.keyboard.press("n")
        violations = Axe().run(page, options={"preload": False}).response["violations"]
        assert [found["id"] for found in violations] == []
        page.keyboard.press("ArrowRight")


def test_every_page_opens_without_a_complaint_and_fits_on_a_phone(reader, site):
    names = [path.relative_to(site).with_suffix("").as_posix() for path in sorted(site.rglob("*.html"))
             if "_static" not in path.parts]
    assert len(names) > 12
    for name in names:
        page = reader(name)
        page.set_viewport_size({"width": 390, "height": 800})
        for panel in page.locator("[data-panel]").all():
            panel.scroll_into_view_if_needed()
            panel.locator(".view").wait_for()
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), name


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_who_uses_a_keyboard_or_a_screen_reader_is_kept_out_of_nothing(reader, theme):
    for name in ("index", "lessons", "notebooks/00_start_here", "docs/glossary", "CLAIMS", "search"):
        page = reader(name)
        page.emulate_media(color_scheme=theme)
        for panel in page.locator("[data-panel]").all():
            panel.scroll_into_view_if_needed()
            panel.locator(".view").wait_for()
        page.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
        violations = Axe().run(page, options={"preload": False}).response["violations"]  # the policy forbids to preload
        assert [found["id"] for found in violations] == [], name


def test_a_page_could_ask_for_nothing_even_if_it_wanted_to(site):
    with lab.chromium() as page:
        refused = []
        page.on("console", lambda message: refused.append(message.text))
        page.goto((site / "index.html").as_uri())
        assert page.evaluate("() => fetch('lessons.html').then(() => 'came', () => 'refused')") == "refused"
        assert page.evaluate("() => fetch('http://127.0.0.1:9').then(() => 'came', () => 'refused')") == "refused"
        assert sum("connect-src 'none'" in text for text in refused) == 2


def test_the_panels_wear_the_theme_that_the_reader_chooses(reader):
    page = reader("index")
    for theme in ("dark", "light"):
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        page.wait_for_function("(theme) => document.querySelector('#front').dataset.theme === theme", arg=theme)
