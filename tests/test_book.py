"""The book: what becomes of an executed notebook, of documents and of the glossary, and what every page may do."""
import base64
import hashlib
import importlib.util
import json
import re
import subprocess
from urllib.parse import unquote

import nbformat
import pytest
from bs4 import BeautifulSoup
from markupsafe import Markup

from lessons.kit import chapters, quiz
from lessons.kit.page import Page
from lessons.kit.predict import predict, veil
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Star, View, chips, slider
from lessons.kit.view.widget import MODULE
from tools import book
from tools.book import documents, executing, frames, kernel, plans, translating
from tools.book.lesson import Preparing, states

ALPHAS = (0.0, 0.5, 1.0)
QUESTION = "How accurate is the **midpoint**?"
KNOWN = {"docs/glossary.md", "notebooks/00_start_here.ipynb"}
TOLD = "The midpoint is 80 % accurate."


def asked():
    """A view that asks, and a reading that waits for the guess."""
    guess = predict(QUESTION)
    guess.panel_answers(0.8, {"alpha": 0.5, "start": "one start"})

    def draw(alpha, start):
        return Frame(f"From {start}, the midpoint is good", f"At α = {alpha:g}", {"curve": [0.5, 0.8, 0.5]},
                     [("a", "a network")])

    across = Axis("α", 0, 1)
    chart = Chart(across, Axis("accuracy", 0, 1, unit="percent"),
                  (Line("curve", "a", "a network"), Star("guess", x=(0.5,)), Handle("alpha")))
    view = View({"alpha": slider("α", ALPHAS, 0.5), "start": chips("start", ("one start", "two starts"))}, [chart],
                draw, "Chapter 0: a test", "Made up.", guess, hides=("curve",))
    return view, veil(guess, Page(TOLD, Markup("<p>The midpoint is 80 % accurate.</p>")))


def executed():
    """An executed notebook of a chapter, with all that a page has to do with."""
    view, waiting = asked()
    view.frames = view.packed(view.everywhere())
    question = quiz.quiz("0.a")
    picture = base64.b64encode(b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200.5 100.25"/>').decode()
    check = 'def f():\n    ...\n\n\ncheck("0.1", f, solved=solved)'
    cells = [
        nbformat.v4.new_markdown_cell("# 0 · A lesson\n\nThe [midpoint](../docs/glossary.md#midpoint). "
                                      "<!-- holds: CTL-1.barrier --> See [the code](../lessons/kit/page.py)."),
        nbformat.v4.new_markdown_cell("## A section (5 minutes)\n\nA barrier is $\\max_\\alpha L$. Two barriers.",
                                      id="four-networks"),
        code("parameters", 'profile = "quick"\nseed = 0', tags=["parameters"]),
        code("injected", '# Parameters\nprofile = "full"', tags=["injected-parameters"]),
        code("guess", "guess = predict()\nguess", shown("<lessons.kit.predict.Prediction object at 0x1>", QUESTION)),
        code("panel", "panel", widget(view), hidden=True),
        code("reading", "veil(guess, reading)", widget(waiting), hidden=True),
        code("quiz-0-a", 'quiz("0.a")', widget(question), hidden=True),
        code("progress", "train()", {"application/vnd.jupyter.widget-view+json": {"model_id": "bar"}}),
        code("exercise", check, shown("not yet", "<div>Nothing here yet</div>")),
        code("picture", "draw()",
             shown("", f'<img width="400" alt="a line" src="data:image/svg+xml;base64,{picture}">')),
    ]
    python = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
              "language_info": {"name": "python", "pygments_lexer": "ipython3"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=python)
    kept = {one.model_id: {"state": one.get_state()} for one in (view, waiting, question)}
    notebook.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {**kept, "bar": {"state": {}}}}}
    return notebook


def code(name, source, data=None, hidden=False, tags=()):
    """An executed cell."""
    metadata = {"tags": list(tags), **({"jupyter": {"source_hidden": True}} if hidden else {})}
    outputs = [nbformat.v4.new_output("execute_result", data)] if data else []
    return nbformat.v4.new_code_cell(source, id=name, metadata=metadata, outputs=outputs)


def shown(text, page):
    """The data of an output."""
    return {"text/plain": text, "text/html": page}


def widget(one):
    """The data of an output that shows a widget."""
    return one._repr_mimebundle_()


@pytest.fixture
def prepared(tmp_path):
    """The page's cells by their ids, and the folder of what lies beside it."""
    beside = frames.Beside(tmp_path, "../data")
    work = Preparing("notebooks/00_start_here.ipynb", beside, "../index.html#install", KNOWN)
    page = work.page(executed())
    assert work.thin == {} and "widgets" not in page.metadata
    return {cell.id: cell for cell in page.cells}, tmp_path


def html(cell):
    """What a cell shows."""
    return "".join(output.data["text/html"] for output in cell.outputs)


def test_a_section_has_the_teacher_s_notes_from_the_plan(tmp_path):
    steps = [plans.Step(4, "a-point", "panel", "Not here."), plans.Step(8, "four-networks", "panel", "Vote & `move`."),
             plans.Step(3, "reading", "quiz-0-a", "Ask for *reasons*.")]
    work = Preparing("notebooks/00_start_here.ipynb", frames.Beside(tmp_path, ""), "", KNOWN, steps)
    heading = next(cell for cell in work.page(executed()).cells if cell.id == "four-networks")
    notes = BeautifulSoup(heading.source, "html.parser").find("aside", hidden=True)
    assert [item.get_text() for item in notes.find_all("li")] == ["8 min Vote & move.", "3 min Ask for reasons."]


def test_the_longest_plan_says_in_full_what_it_takes_from_the_shorter_one():
    text = """## 3 · Three
| **45 minutes** | cells | what to do |
|---|---|---|
| 5 | `a` to `c` | Vote. |
| 7 | `d` | Read. |

| **90 minutes** | cells | what to do |
|---|---|---|
| 9 | `a` to `b` | As above. Then discuss. |
| 9 | `d` | As above, and exercise 3.1. |
| 6 | `e` | Close. |

## 4 · Four
"""
    assert plans.longest_plan(text, "3") == [
        plans.Step(9, "a", "b", "Vote. Then discuss."), plans.Step(9, "d", "d", "Read. Exercise 3.1."),
        plans.Step(6, "e", "e", "Close.")]
    assert plans.longest_plan(text, "4") == plans.longest_plan(text, "5") == []


@pytest.mark.parametrize("lesson", chapters.LESSONS, ids=lambda one: one.stem)
def test_every_section_of_a_lesson_with_a_step_of_its_plan_has_notes(lesson):
    plan = plans.longest_plan((chapters.ROOT / "docs/teaching.md").read_text(encoding="utf-8"), lesson.number)
    ids = [cell.id for cell in nbformat.read(lesson.notebook, as_version=4).cells]
    assert plan and all({step.first, step.last} <= set(ids) for step in plan)
    assert all(plans.of_cells(plan, ids, [step.first]) for step in plan)
    assert not any("As above" in step.todo for step in plan)


def test_the_page_of_sources_has_each_lesson_s_own_with_links_from_the_root():
    deeper = chapters.chapter("09_theorems")
    texts = ["## A section\n\nNo source.", "**Where it comes from.** See [lesson 0](../00_start_here.ipynb), "
             "[x](https://a.b) and [code](../../lessons/kit/page.py). <!-- holds: CTL-1.barrier -->\n\n**Next:** no."]
    page = documents.literature([(deeper, texts), (chapters.chapter("10_growing"), ["nothing"])], KNOWN)
    assert "[arXiv 2402.03660](https://arxiv.org/abs/2402.03660)" in page
    assert page.endswith(f"### [Deeper 9 · {deeper.title}](notebooks/deeper/09_theorems.ipynb)\n\n**Where it comes "
                         "from.** See [lesson 0](notebooks/00_start_here.ipynb), [x](https://a.b) and code.\n")


def test_a_panel_lies_beside_the_page_with_all_its_settings_and_no_guess(prepared):
    cells, folder = prepared
    here = 'id="panel" data-panel="../data/00_start_here/panel.js" data-name="00_start_here/panel"'
    assert here in html(cells["panel"])
    script = (folder / "00_start_here/panel.js").read_text(encoding="utf-8")
    arguments = re.fullmatch(r"weightspace\.take\((.*)\);\n", script)[1]
    name, text = json.loads(f"[{arguments}]")
    state = frames.unpacked(text)
    assert name == "00_start_here/panel" and len(state["frames"]["frames"]) == 6 and state["guess"] is None
    assert "curve" in state["spec"]["hides"] and frames.missing(state) == 0
    assert "hide-input" in cells["panel"].metadata.tags


def test_a_panel_that_lacks_settings_is_told(tmp_path):
    notebook = executed()
    (state,) = (state for state in states(notebook).values() if "frames" in state)
    for place in ("0,1", "1,1"):
        del state["frames"]["frames"][place]
    work = Preparing("notebooks/00_start_here.ipynb", frames.Beside(tmp_path, "../data"), "", KNOWN)
    work.page(notebook)
    assert work.thin == {"panel": 2}


def test_a_reading_waits_for_the_panel_that_asks_and_tells_nothing_before(prepared):
    cells, _ = prepared
    page = html(cells["reading"])
    assert page.startswith('<div class="ws-veil" data-waits-for="panel"><details><summary>') and TOLD in page
    assert "remove-input" in cells["reading"].metadata.tags
    assert cells["guess"].outputs == [], "the panel asks, so the question does not stand above it once more"


def test_a_question_has_its_answers_and_nothing_is_html_that_was_text(prepared):
    cells, _ = prepared
    page = html(cells["quiz-0-a"])
    text = re.search(r'data-quiz="([^"]*)"', page)[1]
    state = json.loads(Markup(text).unescape())
    assert state["chosen"] is None and sum(choice["right"] for choice in state["spec"]["choices"]) == 1
    assert "<noscript><p><b>" in page, "where no script runs, the question can be read"


def test_what_needs_a_kernel_says_how_to_go_on_or_is_left_out(prepared):
    cells, folder = prepared
    assert "Try it in JupyterLab" in html(cells["exercise"]) and "exercise 0.1" in html(cells["exercise"])
    assert "Nothing here yet" not in html(cells["exercise"]) and "../index.html#install" in html(cells["exercise"])
    assert cells["progress"].outputs == []
    assert cells["parameters"].source == 'profile = "full"\nseed = 0' and "injected" not in cells
    inside = r'<img width="400" height="200" alt="a line" loading="lazy" src="\.\./data/(pictures/\w+\.svg)">'
    picture = re.fullmatch(inside, html(cells["picture"]))[1]
    assert (folder / picture).read_bytes().startswith(b"<svg")
    assert "holds" not in "".join(cell.source for cell in cells.values())


def test_the_state_of_a_panel_is_packed_alike_each_time_and_unpacked():
    state = {"spec": {"title": "α ≤ ½ </script>"}, "rows": [[0.1, None]]}
    assert frames.packed(state) == frames.packed(state) and frames.unpacked(frames.packed(state)) == state
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", frames.packed(state))


def test_a_file_that_holds_this_already_is_not_written_again(tmp_path):
    path = tmp_path / "a" / "b.js"
    assert frames.write(path, "α") and not frames.write(path, "α") and frames.write(path, b"x")


def test_the_module_of_the_views_becomes_a_script():
    script = frames.as_script(MODULE.read_text(encoding="utf-8"))
    assert script.startswith("globalThis.weightspace=(()=>{") and not re.search(r"\bexport\s*\{", script)
    assert {name for name, _ in re.findall(r"(\w+):(\w+)", script[script.rindex("return{"):])} == {"Panel", "page"}
    with pytest.raises(ValueError, match="must end with export"):
        frames.as_script("let x = 1;")


@pytest.mark.parametrize("text, becomes", [
    ("[a](../docs/glossary.md#kink)", "[a](../docs/glossary.md#kink)"), ("[a](../lessons/kit/page.py)", "a"),
    ("[`a` [b]](../x.md)", "`a` [b]"), ("![a](b.png)", ""), ("[a](https://arxiv.org/abs/1)", "[a](https://arxiv.org/abs/1)"),
    ("[a](#below)", "[a](#below)"), ("[a](01_linearity.ipynb)", "[a](01_linearity.ipynb)"),
    ("[a](deeper/01_kinks.ipynb), b", "a, b")])
def test_a_link_to_what_the_book_does_not_have_is_its_words(text, becomes):
    known = {"docs/glossary.md", "notebooks/01_linearity.ipynb"}
    assert documents.followed(text, "notebooks/00_start_here.ipynb", known) == becomes


@pytest.mark.parametrize("page, becomes", [
    ('<a href="00_start_here.ipynb">0</a>', '<a href="00_start_here.html">0</a>'),
    ('<a class="x" href="../docs/glossary.md#kink" rel="y">0</a>',
     '<a class="x" href="../docs/glossary.html#kink" rel="y">0</a>'),
    ('<a href="01_linearity.ipynb"><b>1</b></a>, <a href="00_start_here.ipynb">0</a>',
     '<b>1</b>, <a href="00_start_here.html">0</a>'),
    ('<a href="https://a.b/c.md">c</a>', '<a href="https://a.b/c.md">c</a>')])
def test_a_link_that_a_cell_shows_leads_to_a_page(page, becomes):
    assert documents.followed_in_html(Markup(page), "notebooks/00_start_here.ipynb", KNOWN) == becomes


def test_the_glossary_has_every_term_with_its_definition():
    text = (chapters.ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = documents.terms(text)
    assert len(terms) == text.count("\n### ") > 50
    assert terms["task vector"] == {"at": "task-vector", "page": "τ, the finetuned weights minus the base weights. "
                                    "Ilharco et al. 2023. Chapter 4."}
    assert "\n## task vector\n" in documents.document(text, "docs/glossary.md", set())
    assert documents.terms("### a\n\n<b> & [c](d.md)\n") == {"a": {"at": "a", "page": "&lt;b&gt; &amp; c"}}


def test_the_gallery_has_panels_that_move_where_the_book_has_them():
    text = documents.gallery((chapters.ROOT / "docs/gallery.md").read_text(encoding="utf-8"), {"00_start_here/panel"})
    assert 'data-open data-panel="../data/00_start_here/panel.js"' in text
    assert "](start_decision_map.png)" not in text and "](linearity_strangers.png)" in text
    assert 'href="../notebooks/00_start_here.html#panel">Chapter 0: between two networks' in text


def test_the_front_page_maps_the_lessons_with_their_minutes():
    page = documents.written(book.SITE / "pages/index.md.j2", {"notebooks/01_linearity.ipynb"})
    linked = re.findall(r'<h3><a href="([^"]+)">', page)
    assert linked == ["notebooks/01_linearity.html"] and page.count('class="ws-card"') == len(chapters.LESSONS)
    for one in chapters.LESSONS:
        assert f"{one.minutes} minutes" in page
    lessons = documents.written(book.SITE / "pages/lessons.md.j2", {"notebooks/01_linearity.ipynb"})
    assert "[1 · Are networks linear in their weights?](notebooks/01_linearity.ipynb)" in lessons


def test_a_folder_with_other_things_is_no_place_for_the_book(tmp_path):
    (tmp_path / "data").mkdir()
    with pytest.raises(ValueError, match="holds other things than a book"):
        book.build(tmp_path / "source", tmp_path)


def test_an_executed_notebook_is_up_to_date_until_its_cells_or_the_profile_change(tmp_path, monkeypatch):
    notebook = nbformat.v4.new_notebook(cells=[code("a", "x = 1"), code("p", "profile = 1")])
    done = nbformat.from_dict({**notebook, "cells": [*notebook.cells, code("i", "", tags=["injected-parameters"])]})
    nbformat.write(notebook, tmp_path / "a.ipynb")
    place = tmp_path / "done.ipynb"
    assert not executing.is_up_to_date(tmp_path / "a.ipynb", place, "full")
    nbformat.write(done, place)
    assert not executing.is_up_to_date(tmp_path / "a.ipynb", place, "full"), "not executed for the book"
    done.metadata["weightspace_book"] = "full"
    nbformat.write(done, place)
    assert executing.is_up_to_date(tmp_path / "a.ipynb", place, "full")
    assert not executing.is_up_to_date(tmp_path / "a.ipynb", place, "quick")
    notebook.cells[0].source = "x = 2"
    nbformat.write(notebook, tmp_path / "a.ipynb")
    assert not executing.is_up_to_date(tmp_path / "a.ipynb", place, "full")


def loaded(name):
    """An extension of the book's Sphinx that needs no Sphinx itself."""
    spec = importlib.util.spec_from_file_location(name, book.SITE / f"extensions/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_page_may_run_its_own_scripts_and_ask_for_nothing():
    policy = loaded("policy")
    page = ('<head><meta charset="utf-8"><script>let a = "α";</script><script src="x.js"></script>'
            '<script type="application/json">{}</script></head>')
    bound = policy.with_policy(page)
    digest = base64.b64encode(hashlib.sha256('let a = "α";'.encode()).digest()).decode()
    content = re.search(r'content="([^"]*)"', bound)[1]
    rules = dict(rule.split(" ", 1) for rule in content.split("; "))
    assert rules["connect-src"] == rules["default-src"] == "'none'"
    assert rules["script-src"] == f"'self' file: 'sha256-{digest}'"
    assert bound.index("Content-Security-Policy") < bound.index("<script") and policy.with_policy(bound) == bound


def test_only_a_page_that_computes_may_compile_webassembly():
    bound = loaded("policy").with_policy('<head><meta charset="utf-8"><script src="_static/kernel.js"></script></head>')
    assert "script-src 'self' file: 'wasm-unsafe-eval'" in bound


def test_the_arithmetic_of_the_pages_is_compiled_from_its_source():
    pytest.importorskip("wasmtime", reason="the compiler is one of the packages for tests")
    assert kernel.kept() == kernel.compiled(), "run python -m tools.book.kernel"


@pytest.mark.slow  # starts Sphinx, twice
def test_the_site_is_a_book_that_sphinx_makes_from_what_is_prepared(tmp_path):
    """Without a browser: pages are there, with formulas as MathML, words that lead to the glossary, and a policy."""
    pytest.importorskip("sphinx", reason="the book needs Sphinx: make site-environment")
    made = make(tmp_path)
    page = (made / "notebooks/00_start_here.html").read_text(encoding="utf-8")
    assert "<math" in page and "ws-panel" in page and "Content-Security-Policy" in page
    assert page.count('class="ws-term reference internal" href="../docs/glossary.html#barrier"') == 1
    assert "the code" in page and "page.py" not in page
    assert re.search(r'id="barrier"', (made / "docs/glossary.html").read_text(encoding="utf-8"))
    for path in made.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="https?:', text), path
    assert dead_links(made) == []
    (tmp_path / "executed/00_start_here.ipynb").rename(tmp_path / "executed/01_linearity.ipynb")
    build(tmp_path)
    assert [path.name for path in (made / "notebooks").iterdir()] == ["01_linearity.html"], "an old page is still there"
    assert not (made / "data/00_start_here/panel.js").exists() and dead_links(made) == []


def dead_links(folder):
    """Links and sources of all pages that lead to no file, or to nothing in a page, and ids that a page has twice."""
    pages = {path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser") for path in folder.rglob("*.html")
             if "_static" not in path.parts}
    ids = {path: [tag["id"] for tag in page.find_all(id=True)] for path, page in pages.items()}
    dead = [f"{path.name}: {name} twice" for path, names in ids.items() for name in set(names) if names.count(name) > 1]
    for path, page in pages.items():
        for tag in page.find_all(["a", "link", "script", "img"]):
            target, _, part = unquote(tag.get("href") or tag.get("src") or "").partition("#")
            there = (path.parent / target.partition("?")[0]).resolve() if target else path
            if ":" not in target and not (there.exists() and (not part or there not in ids or part in ids[there])):
                dead.append(f"{path.name}: {target}#{part}")
    return dead


def make(folder, made=None):
    """A book of one lesson that was made up, and of networks that a page computes."""
    notebook = executed()
    (folder / "executed").mkdir()
    nbformat.write(notebook, folder / "executed/00_start_here.ipynb")
    return build(folder, made=made)


def build(folder, language="", made=None):
    """The book of the executed notebooks in a folder."""
    source, out = folder / "book/source", folder / f"site{language}"
    say = translating.Translation(book.SITE / f"locale/{language}/LC_MESSAGES/panels.po")
    assert book.prepare(folder / "executed", source, made, say) == {}
    try:
        book.build(source, out, language)
    except subprocess.CalledProcessError as error:
        pytest.fail(f"Sphinx: {error}")
    return out


# -- other languages ---------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not importlib.util.find_spec("sphinx"), reason="the book needs Sphinx: make site-environment")
@pytest.mark.slow  # Sphinx builds a book
def test_a_translated_page_is_in_its_language_and_every_sentence_of_it_is_still_there(tmp_path):
    (tmp_path / "executed").mkdir()
    nbformat.write(executed(), tmp_path / "executed/00_start_here.ipynb")
    page = (build(tmp_path, "de") / "index.html").read_text(encoding="utf-8")
    translated = (book.SITE / "locale/de/LC_MESSAGES/index.po").read_text(encoding="utf-8")
    sentences = re.findall(r'^msgid "(.+)"\nmsgstr "(.+)"$', translated, re.MULTILINE)
    source = " ".join((tmp_path / "book/source/index.md").read_text(encoding="utf-8").split())
    shown = " ".join(BeautifulSoup(page, "html.parser").get_text().split())
    for english, german in sentences:
        assert english in source, "it was changed since it was translated"
        assert re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`]", r"\1", german) in shown
    assert 'lang="de"' in page and len(sentences) > 12
    script = (tmp_path / "sitede/_static/view.js").read_text(encoding="utf-8")
    assert '"Just show me": "Einfach zeigen"' in script


def test_every_sentence_of_a_panel_and_of_a_question_is_said_in_another_language_and_nothing_else_changes():
    notebook = executed()
    kept = states(notebook)
    shouted = {}

    def say(text):
        shouted[text.upper()] = text
        return text.upper()

    for state in kept.values():
        if "spec" not in state:
            continue
        other = translating.said(state, say)
        assert other != state and as_it_was(other, shouted) == json.loads(json.dumps(state))
    assert {"FROM ONE START, THE MIDPOINT IS GOOD", "A NETWORK", "ONE START", "ACCURACY", "CHAPTER 0: A TEST",
            QUESTION.upper()} <= set(shouted)
    assert "CURVE" not in shouted, "a mark is found by its name"


def as_it_was(part, said):
    """Nested lists and mappings with the sentences that were said put back."""
    if isinstance(part, dict):
        return {name: as_it_was(value, said) for name, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [as_it_was(entry, said) for entry in part]
    return said.get(part, part) if isinstance(part, str) else part


def test_a_translation_serves_all_numbers_of_a_sentence_and_must_have_them(tmp_path):
    path = tmp_path / "panels.po"
    path.write_text('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
                    'msgid "{0} of {1} layers"\nmsgstr "von {1} Schichten {0}"\n', encoding="utf-8")
    say = translating.Translation(path)
    assert say("3 of 1,200 layers") == "von 1,200 Schichten 3" and say("3 layers") == "3 layers"
    assert translating.Translation(tmp_path / "none.po")("3 layers") == "3 layers"
    path.write_text(path.read_text(encoding="utf-8").replace("{1} Schichten", "Schichten"), encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape("must have the same {numbers} as '{0} of {1} layers'")):
        translating.Translation(path)


def test_what_a_cell_shows_is_translated_by_paragraphs():
    page = Markup('<table><tr><th>name</th><td>0.5</td></tr></table><p class="a">A <b>bold</b> word.</p><p>3.5</p>')
    assert translating.html(page, lambda text: f"[{text}]") == (
        '<table><tr><th>[name]</th><td>0.5</td></tr></table><p class="a">[A <b>bold</b> word.]</p><p>3.5</p>')


def test_the_panel_of_the_front_page_is_wholly_in_german():
    heard = translating.Collecting()
    for path in sorted(MODULE.parent.glob("front/src/*.js")):
        for word in translating.words_of(path.read_text(encoding="utf-8")):
            heard.of_a_script(word)
    say = translating.Translation(book.SITE / "locale/de/LC_MESSAGES/panels.po")
    words = [str(message.id) for message in heard.catalog if message.id]
    assert len(words) > 20 and [word for word in words if say.of_a_script(word) == word] == []
