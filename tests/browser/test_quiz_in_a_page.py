"""A question in Chromium, in an exported page, in the page of a chapter and in a notebook that is opened again: no
kernel answers, and a press shows the sentence that belongs to a choice."""
import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons.kit.notebooks import to_html
from lessons.kit.quiz import MARKS, quiz
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
ID = "9.c"
CHOICES = quiz(ID).question.choices


@pytest.fixture
def offline(page):
    """The page without a network."""
    page.context.set_offline(True)
    yield page
    page.context.set_offline(False)


@pytest.fixture
def question(offline, tmp_path):
    offline.goto(quiz(ID).save_html(tmp_path / "question.html").as_uri())
    shown = offline.locator("#view")
    shown.get_by_role("button", name=CHOICES[-1].text).wait_for()  # a key pressed before it is there goes nowhere
    return shown


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


def test_in_the_page_of_a_chapter_a_choice_opens_its_sentence_without_a_script(offline, tmp_path):
    output = nbformat.v4.new_output("display_data", quiz(ID)._repr_mimebundle_())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("quiz('9.d')", outputs=[output])])
    (tmp_path / "chapter.html").write_text(to_html(notebook), encoding="utf-8")
    offline.goto((tmp_path / "chapter.html").as_uri())
    answer = offline.get_by_text(CHOICES[1].answer)
    assert not answer.is_visible()
    offline.get_by_text(CHOICES[1].text).click()
    assert answer.is_visible()
    offline.keyboard.press("Tab")
    offline.keyboard.press("Space")
    assert offline.get_by_text(CHOICES[2].answer).is_visible()


def test_in_a_notebook_that_is_opened_again_a_question_is_answered_without_a_kernel(lab_and_browser, page):
    address = lab_and_browser[0].format(name="quiz.ipynb")
    lab.save(page, lab_and_browser[0], "quiz.ipynb", f"from lessons.kit.quiz import quiz\nquiz('{ID}')")
    assert lab.run_all(page, lab_and_browser[0], "quiz.ipynb") == []
    assert lab.views(page) == []
    page.locator(".weightspace-quiz").get_by_role("button", name=CHOICES[1].text).click()
    page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')"
                  ".then(() => window.jupyterapp.serviceManager.sessions.shutdownAll())")
    with lab.fresh_page(lab_and_browser[1]) as again:
        again.goto(address)
        question = again.locator(".weightspace-quiz")
        question.wait_for()
        assert sentences(question) == expected(1)
        question.get_by_role("button", name=CHOICES[0].text).click()
        assert sentences(question) == expected(0)
        again.keyboard.press("ArrowDown")
        again.keyboard.press("Space")
        assert sentences(question) == expected(1)
        assert again.errors == []
