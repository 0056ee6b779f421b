"""A learner's hands: every chapter in JupyterLab in Chromium, and an exported page.

Guesses are committed, keys go to every slider, and what the pictures then say is compared with the numbers, by the
chapter's own `chapter_N.py` beside this file.
"""
import importlib

import pytest

from lessons.kit import chapters
from lessons.linearity.experiment import mlp
from lessons.linearity.panels import lines
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]


def marks(panel):
    """What moves in a panel's picture."""
    return panel.locator(".marks").inner_html()


def guess_all(page):
    """Commit every prediction: each is answered, and no picture stays veiled."""
    guesses = page.locator(".weightspace-prediction").all()
    for guess in guesses:
        guess.scroll_into_view_if_needed()
        guess.locator("button").click()
        lab.until(page, "the answer to a guess", "(element) => element.textContent.includes('measured:')",
                  guess.element_handle())
    return len(guesses)


def move(page, panel):
    """Move a panel's first slider, or its first menu where it has none, to both ends, where the pictures must differ;
    then a slider one step back."""
    if panel.locator(".noUi-handle").count():
        lab.press(page, panel, ["Home"])
        first = marks(panel)
        assert lab.press(page, panel, ["ArrowRight", "ArrowRight", "End"]), "no key changed the picture"
        assert marks(panel) != first
        lab.press(page, panel, ["ArrowLeft"])
        return
    first, before = marks(panel), lab.settled(page, panel)
    panel.locator("select").first.select_option(index=1)
    lab.changed(page, panel, before)
    assert marks(panel) != first


@pytest.mark.parametrize("chapter", chapters.CHAPTERS, ids=lambda chapter: chapter.stem)
def test_a_chapter_answers_guesses_moves_by_key_and_its_pictures_say_what_was_measured(chapter, opened):
    page, found = opened(chapter.stem)
    assert len(found) == chapter.panels
    veiled = page.locator(".veil:visible").count()
    assert bool(guess_all(page)) == bool(veiled)
    assert not page.locator(".veil:visible").count()
    assert "Make your guess" not in "".join(page.locator(".weightspace-waiting").all_inner_texts())
    lab.drawn_ahead(page, found[0])
    for panel in found:
        move(page, panel)
    for handle in page.locator(lab.SLIDER).all():
        assert handle.get_attribute("aria-label"), "a slider without an accessible name"
    own = importlib.import_module(f"tests.browser.chapter_{chapter.number}")
    own.compare(page, [lab.says(panel) for panel in found])


def test_a_veil_keeps_the_answer_from_eyes_and_from_screen_readers_until_it_is_lifted(opened):
    page, (panel,) = opened("00_start_here")
    veil, stage = panel.locator(".veil"), panel.locator(".stage")
    assert veil.is_visible() and stage.get_attribute("aria-hidden") == "true"
    veil.locator("button").click()
    veil.wait_for(state="hidden")
    assert stage.get_attribute("aria-hidden") is None
    assert "measured" not in page.locator(".weightspace-prediction").first.inner_text()


def test_a_reading_is_not_in_the_page_before_the_guess_and_is_there_after_it(opened):
    page, _ = opened("00_start_here")
    reading = page.locator(".weightspace-waiting")
    assert reading.inner_text().strip() == "This tells the answer. Make your guess above first."
    assert guess_all(page) == 1
    lab.until(page, "the reading", "(element) => element.textContent.includes('From two random starts')",
              reading.element_handle())


def test_an_exported_panel_works_without_a_kernel_and_without_a_network(page, folder, tmp_path):
    sweep = mlp.run("quick", 0)
    path = lines.gap_per_layer(sweep).save_html(tmp_path / "gap.html")
    page.context.set_offline(True)
    try:
        page.goto(path.as_uri())
        slider, stage = page.locator("input[type=range]"), page.locator(".stage")
        slider.focus()
        page.keyboard.press("Home")
        assert "α = 0.00" in stage.get_attribute("aria-label")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.locator("select").select_option(label="22.5° and 45°")
        here = mlp.at(sweep, pair="22.5° and 45°", alpha=0.15)
        assert all(f"{value:.4f}" in stage.get_attribute("aria-label") for value in here.gap_mean.values)
    finally:
        page.context.set_offline(False)
