"""Pages of the book that are no notebooks: documents of the repository, the glossary, the front page, the map."""
import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from lessons.kit import chapters
from lessons.kit.page import inline, slug

# in the order in which the book's menu has them
DOCUMENTS = ("docs/glossary.md", "docs/which-method.md", "CLAIMS.md", "docs/gallery.md", "docs/teaching.md",
             "docs/class.md", "docs/scale.md", "docs/reliability.md", "docs/larger-vit.md",
             *sorted(f"docs/claims/{path.name}" for path in (chapters.ROOT / "docs/claims").glob("*.md")))
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_ANCHOR = re.compile(r'<a\b([^>]*\s)href="([^":#]+)(\.ipynb|\.md)((?:#[^"]*)?"[^>]*)>(.*?)</a>', re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_TERM = re.compile(r"^### (.+?)\n\n(.+?)(?=\n\n### |\Z)", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"^!\[.*\]\([^()\s]+\.png\)\n\n\[(.+), cell `([\w-]+)`\]\(where\.md#(\w+)\)$", re.MULTILINE)
_MOVING = Markup("""\
```{{raw}} html
<div class="ws-panel" id="{stem}-{cell}" data-open data-panel="../data/{stem}/{cell}.js"
data-name="{stem}/{cell}"></div>
<p><a href="../notebooks/{place}.html#{cell}">{title}, in its lesson</a></p>
```""")
_FROM = ("**Where it comes from", "**Literature")  # how a paragraph on sources begins
_PLAIN_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def followed(text: str, place: str, known: Collection[str]) -> str:
    """Markdown in which a link to a file that the book does not have is its words alone.

    Args:
        text: Markdown.
        place: of the file in the repository: "docs/gallery.md".
        known: places of all files that the book has.
    """
    def link(match):
        sign, words, target = match.groups()
        path = target.partition("#")[0]
        if ":" in path or not path or _is_there(path, place, known):
            return match[0]
        return words if not sign else ""
    return _LINK.sub(link, text)


def followed_in_html(page: Markup, place: str, known: Collection[str]) -> Markup:
    """What a cell shows, with links to pages of the book in place of those to notebooks and documents; a link to what
    the book does not have is its words alone."""
    def link(match):
        before, path, ending, after, words = match.groups()
        if not _is_there(f"{path}{ending}", place, known):
            return words
        return f'<a{before}href="{path}.html{after}>{words}</a>'
    return Markup(_ANCHOR.sub(link, page))


def _is_there(path, place, known):
    """Whether the book has what a file of the repository names by a path."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(place), path)) in known


def document(text: str, place: str, known: Collection[str]) -> str:
    """A Markdown file of the repository as the source of a page."""
    text = followed(_COMMENT.sub("", text), place, known)
    if place == "docs/glossary.md":
        return re.sub(r"^###", "##", text, flags=re.MULTILINE)
    if place == "CLAIMS.md":
        pages = "\n".join(other.removesuffix(".md") for other in DOCUMENTS if other.startswith("docs/claims/"))
        return f"{text}\n```{{toctree}}\n:hidden:\n{pages}\n```\n"
    return text


def gallery(text: str, panels: Collection[str]) -> str:
    """The gallery, with panels that can be moved in place of their pictures.

    Args:
        text: `docs/gallery.md`, in which a line below every picture names notebook and cell.
        panels: those that the book has, "00_start_here/panel".
    """
    def moving(match):
        title, cell, stem = match.groups()
        if f"{stem}/{cell}" not in panels:
            return match[0]
        place = chapters.chapter(stem).place.removesuffix(".ipynb")
        return str(_MOVING.format(stem=stem, cell=cell, title=title, place=place))
    return _PICTURE.sub(moving, text)


def literature(lessons: Iterable[tuple[chapters.Chapter, Sequence[str]]], known: Collection[str]) -> str:
    """The page of sources: the five that the course teaches, then what each lesson says of where its matter comes from.

    Args:
        lessons: each with the texts of its cells.
        known: places of all files that the book has.
    """
    sources = (chapters.ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Sources\n")[2]
    parts = [f"# Literature\n\n## The five sources\n\n{followed(sources.strip(), 'README.md', known)}",
             "## Lesson by lesson"]
    for one, texts in lessons:
        place = f"notebooks/{one.place}"
        said = [_COMMENT.sub("", part).strip() for text in texts for part in text.split("\n\n")
                if part.startswith(_FROM)]
        if said:
            parts += [f"### [{'Deeper ' if one.deeper else ''}{one.number} · {one.title}]({place})",
                      *(_from_root(followed(part, place, known), place) for part in said)]
    return "\n\n".join(parts) + "\n"


def _from_root(text, place):
    """Markdown of a file, whose links to other files are from the root of the repository."""
    def link(match):
        sign, words, target = match.groups()
        if ":" in target or target.startswith("#"):
            return match[0]
        return f"{sign}[{words}]({posixpath.normpath(posixpath.join(posixpath.dirname(place), target))})"
    return _LINK.sub(link, text)


def terms(glossary: str) -> dict[str, dict[str, str]]:
    """{term: {"at": what a link names it by, "page": its definition as HTML}} of the glossary."""
    found = {}
    for term, definition in _TERM.findall(glossary):
        words = _PLAIN_LINK.sub(r"\1", " ".join(definition.split()))
        found[term] = {"at": slug(term), "page": str(inline(words))}
    return found


def written(template: Path, known: Collection[str], desks: bool = False) -> str:
    """A page of `site/pages`, which is a template: the front page, the map of lessons and others.

    Args:
        template: its file.
        known: places of all files that the book has.
        desks: whether the book has networks that a page computes.
    """
    rooms = jinja2.Environment(loader=jinja2.FileSystemLoader(template.parent), autoescape=False,
                               undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return rooms.get_template(template.name).render(**_tables(known), desks=desks, desk=desk)


def desk(name: str) -> str:
    """The place of networks that their page computes, for a template."""
    return (f'```{{raw}} html\n<div class="ws-desk" id="{name}" data-desk="data/desks/{name}.js" '
            f'data-name="desks/{name}"></div>\n```')


def _tables(known: Collection[str]) -> Mapping[str, list[dict]]:
    """What the templates say of the lessons and of the deeper notebooks."""
    rows: dict[str, list[dict]] = {"lessons": [], "deeper": []}
    for one in chapters.CHAPTERS:
        place = f"notebooks/{one.place}"
        rows["deeper" if one.deeper else "lessons"].append(
            {"number": one.number, "title": one.title, "minutes": one.minutes, "teaches": one.teaches,
             "data": one.data, "page": place.removesuffix(".ipynb") if place in known else ""})
    return rows
