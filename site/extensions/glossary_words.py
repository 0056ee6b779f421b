"""Words of the glossary, where a section uses them first, lead to their definition; `book.js` shows it when they are
pointed at or focused."""
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

GLOSSARY = "docs/glossary"
# what is a name, a quotation or a link already
_CLOSED = (nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw,
           nodes.comment, nodes.thead, nodes.strong)


def pattern_of(terms):
    """What finds the terms in a text, also in the plural; the longest first."""
    names = sorted(terms, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, names))})(?:e?s)?(?![\w-])", re.IGNORECASE)


class GlossaryWords(SphinxPostTransform):
    """Puts the links in, section by section."""
    default_priority = 500
    formats = ("html",)

    def run(self, **options):
        """Go through the sections of a notebook's page."""
        page = self.env.docname
        if not page.startswith("notebooks/"):
            return
        terms = json.loads(Path(self.app.srcdir, "glossary.json").read_text(encoding="utf-8"))
        self.terms = {term.lower(): about for term, about in terms.items()}
        self.pattern = pattern_of(terms)
        self.address = self.app.builder.get_relative_uri(page, GLOSSARY)
        for top in self.document.findall(nodes.section):
            if isinstance(top.parent, nodes.document):
                self._section(top)

    def _section(self, section):
        """A section of the first or second level; each names a term once."""
        named = set()
        for child in section.children:
            if isinstance(child, nodes.section) and isinstance(section.parent, nodes.document):
                self._section(child)
            else:
                for text in list(child.findall(nodes.Text)):
                    if not _is_closed(text):
                        self._link(text, named)

    def _link(self, text, named):
        words, parts, end = text.astext(), [], 0
        for match in self.pattern.finditer(words):
            term = match[1].lower()
            if term in named:
                continue
            named.add(term)
            parts.append(nodes.Text(words[end:match.start()]))
            parts.append(nodes.reference("", match[0], internal=True, classes=["ws-term"],
                                         refuri=f"{self.address}#{nodes.make_id(self.terms[term]['at'])}"))
            end = match.end()
        if parts:
            text.parent.replace(text, [*parts, nodes.Text(words[end:])])


def _is_closed(text):
    node = text.parent
    while node is not None:
        if isinstance(node, _CLOSED):
            return True
        node = node.parent
    return False


def setup(app):
    """Register the transformation."""
    app.add_post_transform(GlossaryWords)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
