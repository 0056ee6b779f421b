"""Formulas in LaTeX as MathML, which browsers show without script or network."""
import html
import re
from xml.etree import ElementTree

from math_core import LatexError, LatexToMathML

_MATHML = LatexToMathML(fancy_error=False)


class FormulaError(Exception):
    """LaTeX that has no MathML here."""


def mathml(formula: str, display: bool = False) -> str:
    """A formula in LaTeX as MathML, which browsers show without help.

    Args:
        formula: without its dollar signs.
        display: stands on a line of its own.

    Raises:
        FormulaError: LaTeX that has no MathML here.
    """
    if r"\tag" in formula and not formula.lstrip().startswith(r"\begin"):  # numbers belong to numbered equations
        formula = rf"\begin{{equation}}{formula}\end{{equation}}"
    try:
        page = _MATHML.convert_with_local_state(formula, displaystyle=display)
    except LatexError as error:
        raise FormulaError(f"the formula {formula!r} cannot be shown: {error}") from error
    return _for_every_browser(page)


def _for_every_browser(page):
    """MathML without what not every browser or font shows as it is meant."""
    page = re.sub("&(?!lt;|gt;|amp;)[^;]*;", lambda entity: html.unescape(entity[0]), page)  # XML knows few by name
    root = ElementTree.fromstring(page)
    for parent in list(root.iter()):
        for place, child in enumerate(list(parent)):
            first = child[0] if len(child) else None
            if child.tag == "menclose":  # Firefox alone draws it
                child.tag, child.attrib = "mrow", {"class": "boxed"}
            elif child.tag == "msup" and first.tag == "mi" and child[1].text == "′":
                # many fonts' prime is raised already; raised once more it is a dot
                prime = ElementTree.Element("mtext")
                prime.text = "′"
                parent[place] = _row(first, prime)
            elif child.tag in ("msub", "msup", "msubsup") and "minsize" in first.attrib:
                # Chromium does not enlarge a bracket that has an index, so the index goes to an empty box of its size
                half = float(first.get("minsize").removesuffix("em")) / 2
                child[0] = ElementTree.Element("mspace", height=f"{half + 0.25}em", depth=f"{half - 0.25}em")
                parent[place] = _row(first, child)
    return ElementTree.tostring(root, encoding="unicode")


def _row(*elements):
    row = ElementTree.Element("mrow")
    row.extend(elements)
    return row
