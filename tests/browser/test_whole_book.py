"""The whole book as a reader has it, before a release: every page with the network off, every panel and its slider, a
guess, a question, a search, a word of the glossary, a checkpoint and what is none, networks that the page computes, and
a lesson in front of a class. It makes the book first, which takes some minutes if its notebooks were not executed."""
import itertools
import re

import pytest
import safetensors.torch
import torch
from playwright.sync_api import TimeoutError as TooLong

from lessons.kit import chapters
from tests.browser.conftest import reading
from tests.test_book import dead_links
from tests.test_vit_checkpoints import REFUSED
from tools import book, lab

pytestmark = [pytest.mark.release, pytest.mark.browser,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
MAIN = [one for one in chapters.CHAPTERS if not one.deeper]


@pytest.fixture(scope="module")
def whole():
    """The folder of the book."""
    pytest.importorskip("sphinx", reason="the book needs Sphinx: make site-environment")
    assert book.main([]) == 0
    return chapters.ROOT / "build/site"


@pytest.fixture
def reader(whole):
    """reader(name) opens a page."""
    with reading(whole) as open:
        yield open


def pages(folder):
    """The names of all pages."""
    return [path.relative_to(folder).with_suffix("").as_posix() for path in sorted(folder.rglob("*.html"))
            if "_static" not in path.parts]


def moved(page, panel):
    """Whether a panel's slider moves it; None where it has no slider."""
    panel.scroll_into_view_if_needed()
    panel.locator(".view").wait_for()
    shows = panel.get_by_role("button", name="Just show me")
    if shows.count() and shows.first.is_visible():
        shows.first.click()
    slider = panel.locator("input[type=range]").first
    if not slider.count():
        return None
    before = panel.evaluate("(host) => host.dataset.shown")
    slider.focus()
    is_last = slider.evaluate("(one) => one.value === one.max")
    page.keyboard.press("ArrowLeft" if is_last else "ArrowRight")
    try:
        page.wait_for_function("([host, before]) => host.dataset.shown !== before",
                               arg=[panel.element_handle(), before], timeout=5000)
    except TooLong:
        return False
    return True


def test_every_page_opens_and_every_slider_moves(reader, whole):
    still, count = [], 0
    for name in pages(whole):
        page = reader(name)
        for panel in page.locator("[data-panel]").all():
            has_moved = moved(page, panel)
            count += has_moved is not None
            if has_moved is False:
                still.append(f"{name}#{panel.get_attribute('id')}")
    assert still == [] and count > 90


def test_every_link_leads_to_something(whole):
    assert dead_links(whole) == []


def test_each_lesson_that_asks_for_a_guess_takes_it_and_answers_a_question(reader):
    asking = [one for one in MAIN if "predict(" in one.notebook.read_text(encoding="utf-8")]
    assert len(asking) > 10
    for one in asking:
        page = reader(f"notebooks/{one.place.removesuffix('.ipynb')}")
        hosts = page.locator("[data-panel]").all()
        for panel in hosts:
            panel.scroll_into_view_if_needed()
            panel.locator(".view").wait_for()
            commit = panel.locator(".commit")
            if commit.count() and commit.first.is_visible():
                break
        else:
            pytest.fail(f"{one.stem}: no panel asks for a guess")
        panel.locator("input[type=number]").first.fill("37")
        commit.first.click()
        assert "You said" in panel.locator(".prediction").inner_text(), one.stem
        question = page.locator(".ws-quiz .choice").first
        question.scroll_into_view_if_needed()
        question.click()
        page.wait_for_function("() => /^(Right|Not this one)\\./.test(document.querySelector('.ws-quiz')"
                               "?.shadowRoot.querySelector('.answer')?.textContent ?? '')")


@pytest.mark.parametrize("word", ["barrier", "BatchNorm", "CART", "checkpoint", "λ"])
def test_search_finds_pages(reader, word):
    page = reader("search", f"?q={word}")
    page.locator("#search-results li a").first.wait_for()


def test_words_of_the_glossary_are_explained_where_they_stand(reader):
    for one in MAIN:
        page = reader(f"notebooks/{one.place.removesuffix('.ipynb')}")
        word = page.locator("a.ws-term").first
        word.scroll_into_view_if_needed()
        word.focus()
        assert len(page.locator("#ws-definition").inner_text()) > 20, one.stem
        page.keyboard.press("Enter")
        page.wait_for_url("**/docs/glossary.html#*")


def test_a_checkpoint_is_dropped_and_what_is_none_is_refused(reader, tmp_path):
    page = reader("your-checkpoints")
    names = list(itertools.islice(REFUSED, 10))
    assert len(names) == 10
    for name in names:
        content, says = REFUSED[name]
        drop(page, "base", "model.safetensors", content)
        page.locator("[data-says].ws-wrong").wait_for()
        assert re.search(says, page.locator("[data-says]").inner_text()), name
        page.reload()
    state = {"weight": torch.randn(8, 6)}
    safetensors.torch.save_file(state, tmp_path / "one.safetensors")
    content = (tmp_path / "one.safetensors").read_bytes()
    for zone in ("base", "tuned"):
        drop(page, zone, "one.safetensors", content)
        page.locator(f"[data-named-{zone}]", has_text="one.safetensors").wait_for()


def drop(page, zone, name, content):
    """Drop a file of these bytes on a zone of the page."""
    files = page.evaluate_handle("""([name, bytes]) => {
        const transfer = new DataTransfer();
        transfer.items.add(new File([new Uint8Array(bytes)], name));
        return transfer; }""", [name, list(content)])
    page.locator(f"[data-drop-{zone}]").dispatch_event("drop", {"dataTransfer": files})


def test_networks_are_computed_in_the_page(reader):
    page = reader("mixing-desk")
    for name in ("mixing", "directions"):
        desk = page.locator(f"#{name}")
        desk.scroll_into_view_if_needed()
        page.locator(f"#{name}[data-ready]").wait_for()
        before = desk.locator(".ws-says").inner_text()
        desk.get_by_role("slider").first.focus()
        page.keyboard.press("End")
        page.wait_for_function("([name, before]) => document.querySelector(`#${name} .ws-says`).innerText !== before",
                               arg=[name, before])


@pytest.mark.parametrize("lesson", [one.stem for one in MAIN])
def test_every_lesson_can_be_presented(reader, lesson):
    page = reader(f"notebooks/{lesson}", "?present")
    page.get_by_role("region", name="Presentation").wait_for()
    count = int(re.search(r"1 of (\d+)", page.locator(".ws-bar").inner_text())[1])
    assert count > 3
    for number in range(2, count + 1):
        page.keyboard.press("ArrowRight")
        page.get_by_text(f"{number} of {count}", exact=True).wait_for()
        assert page.locator("article :is(h1, h2, h3):visible").count() >= 1
