"""Pieces of a page: text with an HTML form, tables, and readings, which are sentences with measured numbers in them.

Text becomes HTML here and nowhere else. A plain string is never HTML: it is escaped, wherever it came from. What an
author writes as HTML is a `Markup`, a constant; `Markup(…).format(…)` escapes what is put into it.
"""
import functools
import html
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from markupsafe import Markup, escape

from lessons.kit.formulas import mathml


class Page:
    """A piece of HTML with a plain-text form.

    Args:
        text: the plain text; of a `Markup` what it says, without its tags.
        page: a `Markup`; another text is escaped.
    """

    def __init__(self, text: str, page: str):
        self.text, self.page = plain(text), escape(page)

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        return str(self.page)


def plain(text: object) -> str:
    """What a text says: a `Markup` without its tags and entities, anything else as it is."""
    return html.unescape(re.sub("<[^>]*>", "", text)) if isinstance(text, Markup) else str(text)


def paragraph(text: object) -> Markup:
    """A paragraph; the text is escaped unless it is a `Markup`."""
    return Markup("<p>{}</p>").format(text)


def quiet(text: object) -> Markup:
    """A paragraph in a paler shade, for captions; the text is escaped unless it is a `Markup`."""
    return Markup("<p style='opacity:0.75'>{}</p>").format(text)


def bold(text: object) -> Markup:
    """Text in bold; it is escaped unless it is a `Markup`."""
    return Markup("<b>{}</b>").format(text)


_INLINE = re.compile(r"`([^`]+)`|\$([^$]+)\$|\*\*(.+?)\*\*|\*([^*]+)\*")  # code, a formula, bold, italics


def slug(heading: str) -> str:
    """What a link names a heading by, as in JupyterLab: its words with hyphens between them."""
    return heading.replace(" ", "-")


def inline(text: str) -> Markup:
    """A line of Markdown as HTML: **bold**, *italics*, `code` and $formulas$, which become MathML. All else is escaped.

    Raises:
        FormulaError: a formula has no MathML.
    """
    parts, end = [], 0
    for match in _INLINE.finditer(text):
        parts += [escape(text[end:match.start()]), _marked_up(*match.groups())]
        end = match.end()
    return Markup("").join([*parts, escape(text[end:])])


def _marked_up(code, formula, strong, stressed):
    """A piece of `inline`; three of the four are None."""
    if code:
        return Markup("<code>{}</code>").format(code)
    if formula:
        return Markup(mathml(formula))
    return bold(inline(strong)) if strong else Markup("<i>{}</i>").format(inline(stressed))


def table(head: Sequence[str], rows: Iterable[Sequence], text: str = "", before: str = "", after: str = "",
          left: int = 1) -> Page:
    """A table. Whatever is no `Markup` is escaped.

    Args:
        head: a title for every column.
        rows: of cells.
        text: the plain-text form; left out, a line for every row, "first cell: title cell, title cell".
        before, after: what stands around the table.
        left: so many columns are aligned to the left.
    """
    rows = [list(row) for row in rows]
    lines = []
    for first, *others in rows:
        cells = ", ".join(f"{plain(title)} {plain(cell)}" for title, cell in zip(head[1:], others))
        lines.append(f"{plain(first)}: {cells}")
    body = Markup("").join(_row(row, "td", left) for row in rows)
    page = Markup("{}<table>{}{}</table>{}").format(before, _row(head, "th", left), body, after)
    return Page(text or "\n".join(lines), page)


def grid_table(values, written: str = "{:.3f}", corner: str = "", **around) -> Page:
    """A table of numbers on a grid.

    Args:
        values: xarray.DataArray over two dimensions, with names for both; NaN is shown as "–".
        written: a template for one number.
        corner: what stands above the names of the rows.
        around: `text`, `before` and `after`, as `table` takes them.

    Raises:
        ValueError: there are not two dimensions.
    """
    if values.ndim != 2:
        raise ValueError(f"a table has two dimensions, not {values.dims}")
    rows, columns = (values[dim].values for dim in values.dims)
    cells = [[written.format(number) if number == number else "–" for number in row] for row in values.values]
    return table((corner, *map(str, columns)), [(str(name), *row) for name, row in zip(rows, cells)], **around)


def _row(cells, tag, left):
    """A row; a cell that is empty is no heading, which a screen reader would announce."""
    shown = []
    for place, cell in enumerate(cells):
        style = Markup(" style='text-align:left'") if place < left else ""
        kind = tag if plain(cell) else "td"
        shown.append(Markup("<{kind}{style}>{cell}</{kind}>").format(kind=kind, style=style, cell=cell))
    return Markup("<tr>{}</tr>").format(Markup("").join(shown))


def said(template: str, **numbers) -> str:
    """A sentence with numbers in it, wrapped in the code as prose is.

    Args:
        template: as for `str.format`; line ends and indentation count as one space. Of a `Markup` a Markup is made, in
            which the numbers and names are escaped.
        numbers: for its named fields, for example gap=0.0031 for "{gap:.4f}".
    """
    words = " ".join(template.split())
    return Markup(words).format(**numbers) if isinstance(template, Markup) else words.format(**numbers)


def reading(title: str, template: str, **numbers) -> Page:
    """What a figure of a source and ours say, compared: `said` under a title, or a question, in bold."""
    text = said(template, **numbers)
    stop = "" if title.endswith("?") else "."
    return Page(text, Markup("<p><b>{}{}</b> {}</p>").format(title, stop, text))


def minus(text: str) -> str:
    """Numbers with minus signs, where Python writes hyphens."""
    return text.replace("-", "−")


def digits(value: float, count: int = 4) -> str:
    """A number with at most so many digits that count, and a minus sign."""
    return minus(f"{value:.{count}g}")


def half_up(value: float, digits: int = 3) -> float:
    """A number rounded to so many digits behind the point, a half always up.

    0.9135 becomes 0.914. Rounded first, it is the same number as "0.914" and as "91.4%"; a format alone rounds each of
    the two by what the computer makes of 0.9135 and of 91.35, which is a little more or a little less.
    """
    exact = Decimal(f"{value:.9f}")  # without what a computer's sum adds in the last places
    return float(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def capital(text: str) -> str:
    """With its first letter as at the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def agrees(holds: bool) -> str:
    """How a reading begins."""
    return "Agrees" if holds else "Does not agree here"


def folded(title: str, *parts) -> Page:
    """Pages or figures under a title that opens them: what not every reader needs.

    Args:
        title: what is inside; escaped unless it is a `Markup`.
        parts: each a `Page`, or another object with an HTML form, such as a figure.
    """
    inside = Markup("").join(Markup(part._repr_html_()) for part in parts)
    text = "\n".join(repr(part) for part in parts if isinstance(part, Page))
    return Page(f"{plain(title)}\n{text}".strip(),
                Markup("<details><summary>{}</summary>{}</details>").format(title, inside))


def preformatted(text: str) -> Page:
    """A line of text, or several, as a cell would print it."""
    return Page(text, Markup("<pre>{}</pre>").format(text))


def in_full_alone(draw):
    """Decorator for what only profile "full" measures: draws the sweep or, where there is none, says how to get it."""
    @functools.wraps(draw)
    def inside(sweep, *others, **named):
        if sweep is not None:
            return draw(sweep, *others, **named)
        text = said("""Measured in profile “full” alone, because it trains larger networks for some minutes.
                       Set profile = "full" in the first cell and run the notebook again.""")
        return Page(text, Markup("<p><i>{}</i></p>").format(text))
    return inside
