"""Formulas as MathML, which browsers show without a script, made by `lessons.kit.formulas`."""
from docutils import nodes

from lessons.kit.formulas import mathml


def _inline(self, node):
    self.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def _display(self, node):
    self.body.append(f'<div class="ws-formula" tabindex="0" role="group" aria-label="formula">'
                     f'{mathml(node.astext(), display=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
