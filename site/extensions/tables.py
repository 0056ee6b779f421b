"""The corner of a table, above the names of its rows, is no heading of a column if it is empty."""
from docutils import nodes
from sphinx.writers.html5 import HTML5Translator


def _begin(self, node):
    HTML5Translator.visit_entry(self, node)
    if isinstance(node.parent.parent, nodes.thead) and not node.astext().strip():
        self.body[-1] = self.body[-1].replace("<th", "<td", 1)
        self.context[-1] = self.context[-1].replace("</th>", "</td>")


def _end(self, node):
    HTML5Translator.depart_entry(self, node)


def setup(app):
    """Register how a cell is written."""
    app.add_node(nodes.entry, override=True, html=(_begin, _end))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
