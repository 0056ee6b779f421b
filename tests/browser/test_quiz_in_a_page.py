"""A question in Chromium, in an exported page and in the page of a chapter: no kernel answers, and a press shows the
sentence that belongs to a choice."""
import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons.kit.notebooks import to_html
from lessons.kit.quiz import MARKS, quiz
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
ID = "9.e"
CHOICES = quiz(ID).question.choices


@pytest.fixture
def page():
    """A page of its own, in which no script fails and which has no network; no JupyterLab is needed."""
    with lab.chromium(1024, 768) as page:
        page.context.set_offline(True)
        yield page
        assert page.errors == []


@pytest.fixture
def question(page, tmp_path):
    page.goto(quiz(ID).save_html(tmp_path / "question.html").as_uri())
    return page.locator("#view")


def sentences(question):
    """What is shown beneath the choices."""
    return [text for text in question.locator(".answer").all_inner_texts() if text]


def expected(place):
    """What is shown once a choice is pressed, without the sign, which is in front of the choice."""
    return [f"{MARKS[CHOICES[place].right][1]} {CHOICES[place].answer}"]


def test_a_click_shows_the_sentence_of_a_choice_and_another_click_that_of_another(page, question):
    assert sentences(question) == []
    for place, choice in enumerate(CHOICES):
        button = page.get_by_role("button", name=choice.text)
        button.click()
        assert sentences(question) == expected(place)
        assert button.get_attribute("aria-pressed") == "true"
        assert [mark for mark in question.locator(".mark").all_inner_texts() if mark] == [MARKS[choice.right][0]]
        assert question.locator(".answer").nth(place).get_attribute("aria-live") == "polite"
        assert question.locator(".right" if choice.right else ".wrong").count() == 1
    assert question.locator("[aria-pressed=true]").count() == 1


def test_keys_reach_every_choice_and_an_arrow_answers_nothing(page, question):
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert sentences(question) == []
    page.keyboard.press("Space")
    assert sentences(question) == expected(2)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert sentences(question) == expected(3)
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    assert sentences(question) == expected(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nobody_is_shut_out_and_nothing_is_cut_on_a_phone(page, question, theme):
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    page.set_viewport_size({"width": 400, "height": 800})
    for place in (0, 1):
        page.get_by_role("button", name=CHOICES[place].text).click()
        violations = Axe().run(page).response["violations"]
        assert [(problem["id"], part["html"]) for problem in violations for part in problem["nodes"]] == []
    assert question.get_attribute("data-theme") == theme
    assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_in_the_page_of_a_chapter_a_choice_opens_its_sentence_without_a_script(page, tmp_path):
    output = nbformat.v4.new_output("display_data", quiz(ID)._repr_mimebundle_())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("quiz('9.e')", outputs=[output])])
    (tmp_path / "chapter.html").write_text(to_html(notebook), encoding="utf-8")
    page.goto((tmp_path / "chapter.html").as_uri())
    answer = page.get_by_text(CHOICES[1].answer)
    assert not answer.is_visible()
    page.get_by_text(CHOICES[1].text).click()
    assert answer.is_visible()
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert page.get_by_text(CHOICES[2].answer).is_visible()
