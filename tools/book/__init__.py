"""The book: all lessons as web pages whose sliders move and whose questions answer, with nothing to install.

`python -m tools.book` (`make site`) writes it to build/site. It opens from this folder on disk and can be put on any
web server; no page asks for anything on another machine.

1. Notebooks that were not executed yet, or are other ones now, are executed to build/book/notebooks, with the numbers
   of all settings of their panels (`executing`).
2. `lesson.Preparing` makes the source of a page of each, and `frames` what lies beside the pages; `documents` adds the
   documents of the repository, the front page and the map of lessons. All of it is in build/book/source.
3. Sphinx makes pages of that. Its settings, templates and scripts are in the folder `site` of the repository.
"""
import argparse
import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import nbformat

from lessons.kit import chapters
from lessons.kit.view.widget import MODULE
from tools.book import desks, documents, executing, plans, translating
from tools.book.frames import Beside, as_script, write
from tools.book.lesson import Preparing, states

ROOT = chapters.ROOT
SITE = ROOT / "site"
# the panel of the front page, by its notebook and cell; where it stands first, at network A of one pretrained start,
# where the values beside the lines are those of their ends; how high its charts are, so that its slider is in sight
FRONT, FRONT_AT, FRONT_HEIGHT = ("00_start_here", "panel"), {"alpha": -1, "start": 0}, 270
MIXED = ("04_task_arithmetic", "08_cart")  # lessons whose networks a page computes, where the book has both
FRONT_SAYS = "Two small networks, each of which learned to tell the arms of a spiral apart"


def prepare(executed: Path, source: Path, made: Mapping[str, dict] | None = None,
            say: translating.Translation | translating.Collecting = translating.ENGLISH) -> dict[str, dict[str, int]]:
    """Write the source of the book.

    Args:
        executed: a folder with executed notebooks, as in `notebooks`; the book has those that are there.
        source: the folder that Sphinx is given.
        made: {name: desk} of networks that a page computes (`desks.made`); None for a book without this page.
        say: what is made of every sentence of panels, questions, scripts and outputs of cells.

    Returns:
        {notebook: {panel: how many settings it has no numbers of}} of those that lack some.
    """
    here = [one for one in chapters.CHAPTERS if (executed / one.place).exists()]
    known = {*documents.DOCUMENTS, *(f"notebooks/{one.place}" for one in here),
             *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.png"))}
    _settle(source, say)
    thin, panels, data, texts = {}, set(), {"front.js"}, []
    teaching = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")
    for one in here:
        notebook = nbformat.read(executed / one.place, as_version=4)
        texts.append((one, [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]))
        up = "../" * one.place.count("/")
        work = Preparing(f"notebooks/{one.place}", Beside(source / "extra/data", f"{up}../data", say=say),
                         f"{up}../index.html#install", known,
                         [] if one.deeper else plans.longest_plan(teaching, one.number), bool(made))
        write(source / f"notebooks/{one.place}", nbformat.writes(work.page(notebook)))
        thin |= {one.stem: work.thin} if work.thin else {}
        data |= work.beside.names
        panels |= {f"{one.stem}/{panel}" for panel in work.panels}
        if one.stem == FRONT[0]:
            _front_panel(notebook, Beside(source / "extra/data", "data", say=say))
    (source / "extra/data").mkdir(parents=True, exist_ok=True)  # there may be no panel, and Sphinx asks for the folder
    data |= _write_desks(source / "extra/data", made or {})
    _write_documents(source, known, panels, made)
    write(source / "literature.md", documents.literature(texts, known))
    _forget(source / "notebooks", lambda path: f"notebooks/{path}" in known)
    _forget(source / "extra/data", lambda path: path in data)
    return thin


def _settle(source, say):
    """Sphinx's settings, and what all pages have in common."""
    for path in SITE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts and "pages" not in path.parts:
            write(source / path.relative_to(SITE), path.read_bytes())
    write(source / "_static/LICENSES", (MODULE.parent / "LICENSES").read_bytes())
    for font in MODULE.parent.glob("front/src/*.woff2"):
        write(source / "_static/fonts" / font.name, font.read_bytes())
    write(source / "_static/view.js", _words(say) + as_script(MODULE.read_text(encoding="utf-8")))
    glossary = documents.terms((ROOT / "docs/glossary.md").read_text(encoding="utf-8"))
    write(source / "glossary.json", json.dumps(glossary, ensure_ascii=False, indent=1))
    by_address = {term["at"]: term["page"] for term in glossary.values()}
    write(source / "_static/glossary.js", f"weightspace.glossary={json.dumps(by_address, ensure_ascii=False)};\n")


def _words(say):
    """What scripts of the pages say in another language; "" in English."""
    scripts = [*MODULE.parent.glob("front/src/*.js"), *(SITE / "_static").rglob("*.js")]
    words = {word: say.of_a_script(word) for path in sorted(scripts)
             for word in translating.words_of(path.read_text(encoding="utf-8"))}
    others = {word: other for word, other in words.items() if other != word}
    return f"globalThis.weightspaceWords={json.dumps(others, ensure_ascii=False)};\n" if others else ""


def _front_panel(notebook, beside):
    """The panel of the front page asks for no guess, so that a visitor can move it at once."""
    cell = next(cell for cell in notebook.cells if cell.id == FRONT[1])
    state = states(notebook)[cell.outputs[0].data["application/vnd.jupyter.widget-view+json"]["model_id"]]
    spec = {**{name: value for name, value in state["spec"].items() if name != "prediction"},
            "hides": [], "tries": [], "kicker": FRONT_SAYS,
            "charts": [chart | {"height": FRONT_HEIGHT} for chart in state["spec"]["charts"]]}
    positions = [FRONT_AT[control["name"]] % len(control["texts"]) if control["name"] in FRONT_AT else place
                 for control, place in zip(spec["controls"], state["positions"])]
    beside.panel("front", {**state, "spec": spec, "positions": positions})


def _write_desks(folder, made):
    """The networks beside their page; returns the names of their files."""
    beside = Beside(folder, "data")
    for name, desk in made.items():
        beside.script(f"desks/{name}", desk)
    return beside.names


def _write_documents(source, known, panels, made):
    for place in documents.DOCUMENTS:
        text = documents.gallery((ROOT / place).read_text(encoding="utf-8"), panels)
        write(source / place, documents.document(text, place, known))
    for picture in (ROOT / "docs").glob("*.png"):
        write(source / "docs" / picture.name, picture.read_bytes())
    for template in sorted((SITE / "pages").glob("*.md.j2")):
        page = source / template.name.removesuffix(".j2")
        if template.stem == "mixing-desk.md" and not made:
            page.unlink(missing_ok=True)
        else:
            write(page, documents.written(template, known, bool(made)))


def _forget(folder, is_kept):
    """Delete files that the book had and has no longer; `is_kept` is asked for each by its path from the folder."""
    for path in list(folder.rglob("*")):
        if path.is_file() and not is_kept(path.relative_to(folder).as_posix()):
            path.unlink()


def build(source: Path, out: Path, language: str = "") -> None:
    """Let Sphinx make the pages; its warnings are errors of the book.

    Args:
        source: what `prepare` wrote.
        out: the folder for the pages.
        language: of `site/locale`, in which sentences stand that are translated; "" for English.

    Raises:
        ValueError: the folder holds something else. subprocess.CalledProcessError: a page could not be made.
    """
    if out.exists() and any(out.iterdir()) and not (out / ".buildinfo").exists():  # old pages in it are deleted below
        raise ValueError(f"{out} holds other things than a book: name an empty folder, or one that does not exist")
    others = _stems(source / "notebooks") != _stems(out / "notebooks")
    everything = ["-a"] if others else []  # all pages name those before and after them
    translated = ["-D", f"language={language}"] if language else []
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", *everything, *translated, "-b", "html",
               "-d", source.parent / f"doctrees{language}", source, out]
    subprocess.run([str(part) for part in command], check=True)
    _forget(out / "notebooks", lambda path: (source / "notebooks" / path).with_suffix(".ipynb").exists())
    _forget(out / "data", lambda path: (source / "extra/data" / path).exists())


def languages() -> list[str]:
    """Those into which some of the book is translated."""
    return sorted(path.name for path in (SITE / "locale").iterdir())


def _stems(folder):
    return {path.relative_to(folder).with_suffix("") for path in folder.rglob("*.*")}


def main(arguments: list[str] | None = None) -> int:
    """Write the book to build/site."""
    parser = argparse.ArgumentParser(prog="python -m tools.book", description=main.__doc__)
    parser.add_argument("chapters", nargs="*", metavar="CHAPTER", help="such as 08_cart; none: all of them")
    parser.add_argument("--executed", type=Path, default=ROOT / "build/book/notebooks",
                        help="the folder with executed notebooks (default: build/book/notebooks)")
    parser.add_argument("--out", type=Path, default=ROOT / "build/site", help="the folder (default: build/site)")
    parser.add_argument("--profile", default="full", choices=executing.PROFILES,
                        help="of notebooks that are executed now (default: full, from data/measured)")
    parser.add_argument("--language", default="", choices=languages(), help="of what site/locale has translated")
    parser.add_argument("--messages", type=Path, metavar="FILE", help="write the sentences of panels, questions and "
                        "outputs of cells to a template for translators, and make no pages")
    parser.add_argument("--as-they-are", action="store_true", help="execute nothing; take the notebooks that are there")
    options = parser.parse_args(arguments)
    if not importlib.util.find_spec("sphinx"):
        parser.error("the book needs Sphinx: `make site` installs it, or pip install -e .[site]")
    try:
        chosen = [chapters.chapter(stem) for stem in options.chapters] or chapters.CHAPTERS
    except ValueError as error:
        parser.error(str(error))
    if not options.as_they_are:
        executing.bring_up_to_date(chosen, options.executed, options.profile)
    start = time.perf_counter()
    source = ROOT / "build/book/source"
    say = translating.Collecting() if options.messages else translating.Translation(
        SITE / f"locale/{options.language}/LC_MESSAGES/panels.po")
    made = desks.made() if all((options.executed / chapters.chapter(stem).place).exists() for stem in MIXED) else {}
    for stem, panels in prepare(options.executed, source, made, say).items():
        left_out = ", ".join(f"{name} {count:,}" for name, count in panels.items())
        print(f"{stem}: settings that the page has no numbers of: {left_out}")
    if options.messages:
        say.write(options.messages)
        print(f"{options.messages}: {len(say.catalog):,} sentences of panels, questions and outputs of cells")
        return 0
    prepared = time.perf_counter()
    build(source, options.out, options.language)
    print(f"{options.out / 'index.html'}: prepared in {prepared - start:.0f} s, made in "
          f"{time.perf_counter() - prepared:.0f} s")
    return 0
