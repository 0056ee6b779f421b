"""A learner's diary in JupyterLab: what is pressed there is noted, and on reopening the map is filled and the guess is
a draft that tells nothing."""
import json

import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons.kit.chapters import CHAPTERS, chapter
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
LESSON = chapter("00_start_here")
MAP = ".jp-OutputArea-output:has(svg[aria-label^='lesson 0'])"


@pytest.fixture
def opened(tmp_path):
    """opened() -> chapter 0 in a fresh page of one JupyterLab, all cells run in a fresh kernel, with a diary kept."""
    variables = {"WEIGHTSPACE_DATA": str(tmp_path), "WEIGHTSPACE_OFFLINE": "1", "WEIGHTSPACE_DIARY": "on"}
    with lab.server(CHAPTERS[0].notebook.parent, **variables) as address, lab.browser() as context:
        def open_lesson(page):
            assert lab.run_all(page, address, LESSON.place) == []
            return lab.views(page)[0]
        yield context, open_lesson


def noted(folder):
    """The diary, without the times."""
    path, = (folder / "diary").glob("*.jsonl")
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [(line["what"], line["id"], line.get("value", line.get("passed"))) for line in lines]


def test_what_is_pressed_is_noted_and_comes_back_and_tells_no_answer(opened, tmp_path):
    context, open_lesson = opened
    with lab.fresh_page(context) as page:
        view = open_lesson(page)
        assert noted(tmp_path) == [("opened", LESSON.stem, None)]
        assert view.locator(".commit").is_disabled()
        assert "Measured:" in lab.guess(page, view, 12)
        page.locator(".weightspace-quiz .choice").first.click()
        lab.until(page, "the answer", "() => document.querySelector('.weightspace-quiz').dataset.chosen === '0'")
    with lab.fresh_page(context) as page:
        view = open_lesson(page)
        assert noted(tmp_path)[:2] == [("opened", LESSON.stem, None), ("guess", f"{LESSON.stem}/guess", 0.12)]
        assert noted(tmp_path)[2][:2] == ("answer", "0.a")
        assert view.locator("input[type=number]").input_value() == "12" and view.locator(".commit").is_enabled()
        assert "You guessed this before" in view.locator(".prediction").text_content()
        assert not view.locator(".stage .answer").count() and "wait for your guess" in lab.says(view)
        filled = page.locator(MAP)
        filled.scroll_into_view_if_needed()
        assert "1 of 1 prediction made" in filled.locator("tr:nth-child(2) svg").nth(1).get_attribute("aria-label")
        assert Axe().run(page, {"include": [MAP]}).response["violations"] == []
        page.get_by_role("link", name="lesson 0, Start here, at exercise 0.1").wait_for()
        view.locator(".commit").click()
        view.locator(".prediction", has_text="Measured:").wait_for()
