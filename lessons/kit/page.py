"""Pieces of a page: text with an HTML form, tables, and readings, which are sentences with measured numbers in them."""
import functools
import html
import re
from collections.abc import Iterable, Sequence


class Page:
    """A piece of HTML with a plain-text form."""

    def __init__(self, text, page):
        self.text, self.page = text, page

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return self.page


def table(head: Sequence[str], rows: Iterable[Sequence], text: str = "", before: str = "", after: str = "",
          left: int = 1) -> Page:
    """A table.

    Args:
        head: a title for every column, as HTML.
        rows: of cells, as HTML.
        text: the plain-text form; left out, a line for every row, "first cell: title cell, title cell".
        before, after: HTML around the table.
        left: so many columns are aligned to the left.
    """
    rows = [[str(cell) for cell in row] for row in rows]
    lines = []
    for first, *others in rows:
        cells = ", ".join(f"{title} {cell}" for title, cell in zip(head[1:], others))
        lines.append(f"{first}: {cells}")
    body = "".join(_row(row, "td", left) for row in rows)
    text = text or re.sub("<[^>]*>", "", "\n".join(lines))
    return Page(text, f"{before}<table>{_row(head, 'th', left)}{body}</table>{after}")


def _row(cells, tag, left):
    shown = []
    for place, cell in enumerate(cells):
        style = " style='text-align:left'" if place < left else ""
        shown.append(f"<{tag}{style}>{cell}</{tag}>")
    return f"<tr>{''.join(shown)}</tr>"


def said(template: str, **numbers) -> str:
    """A sentence with numbers in it, wrapped in the code as prose is.

    Args:
        template: as for `str.format`; line ends and indentation count as one space.
        numbers: for its named fields, for example gap=0.0031 for "{gap:.4f}".
    """
    return " ".join(template.split()).format(**numbers)


def reading(title: str, template: str, **numbers) -> Page:
    """What a figure of a source and ours say, compared: `said` under a title, or a question, in bold."""
    text = said(template, **numbers)
    stop = "" if title.endswith("?") else "."
    return Page(text, f"<p><b>{title}{stop}</b> {text}</p>")


def agrees(holds: bool) -> str:
    """How a reading begins."""
    return "Agrees" if holds else "Does not agree here"


def folded(title: str, *parts) -> Page:
    """Pages or figures under a title that opens them: what not every reader needs.

    Args:
        title: what is inside, as HTML.
        parts: each a `Page`, or another object with an HTML form, such as a figure.
    """
    inside = "".join(part._repr_html_() for part in parts)
    text = "\n".join(repr(part) for part in parts if isinstance(part, Page))
    return Page(f"{re.sub('<[^>]*>', '', title)}\n{text}".strip(),
                f"<details><summary>{title}</summary>{inside}</details>")


def preformatted(text: str) -> Page:
    """A line of text, or several, as a cell would print it."""
    return Page(text, f"<pre>{html.escape(text)}</pre>")


def in_full_alone(draw):
    """Decorator for what only profile "full" measures: draws the sweep or, where there is none, says how to get it."""
    @functools.wraps(draw)
    def inside(sweep):
        if sweep is not None:
            return draw(sweep)
        text = said("""Measured in profile “full” alone, because it trains larger networks for some minutes.
                       Set profile = "full" in the first cell and run the notebook again.""")
        return Page(text, f"<p><i>{text}</i></p>")
    return inside
