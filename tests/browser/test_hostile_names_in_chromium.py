"""Hostile names in a real browser: nothing that comes from a file, a folder or a path runs."""
import json
import urllib.request

import nbformat
import pytest

from lessons.kit import notebooks
from tests import hostile
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]


def watched(page):
    """(page, what it asked for with "canary" in it, dialogs that it opened)."""
    canaries, dialogs = [], []
    page.on("request", lambda request: canaries.append(request.url) if "canary" in request.url else None)
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    return page, canaries, dialogs


def nothing_ran(page, canaries, dialogs):
    """Whether no script ran, once everything in the page had its chance; where one did, says which."""
    page.wait_for_timeout(500)
    assert (page.evaluate("() => window.ran ?? []"), canaries, dialogs) == ([], [], [])


def saved(address, name, code):
    """Put a notebook of these cells into the folder of a JupyterLab."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in code])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    body = json.dumps({"type": "notebook", "format": "json", "content": book}).encode()
    where = address.format(name=name).replace("/lab/tree/", "/api/contents/")
    urllib.request.urlopen(urllib.request.Request(where, body, method="PUT")).close()


def still(run):
    """An executed notebook's page as `make notebooks` writes it, from the outputs that JupyterLab holds."""
    cells = [nbformat.v4.new_code_cell("", outputs=[nbformat.from_dict(output) for output in outputs])
             for outputs in run]
    return notebooks.to_html(nbformat.v4.new_notebook(cells=cells))


@pytest.mark.fault("pages", "The same names are shown by JupyterLab in Chromium", answers="No script runs")
def test_no_name_from_a_file_or_a_path_runs_in_lab_in_an_exported_panel_or_in_a_still_page(
        lab_and_browser, page, tmp_path):
    address, seen = lab_and_browser[0], watched(page)
    saved(address, "hostile.ipynb", hostile.cells(tmp_path))
    assert lab.run_all(page, address, "hostile.ipynb") == []
    lab.views(page)
    for index in range(1 + len(hostile.SHOWN)):
        page.evaluate("(index) => window.jupyterapp.shell.currentWidget.content.scrollToItem(index)", index)
    assert page.locator("text=canary-task").count(), "the names are not shown at all"
    nothing_ran(*seen)
    outputs = page.evaluate(f"() => {{ {lab.OUTPUTS} return cells.map((cell) => "
                            "outputs(cell).map((output) => output.toJSON())); }")
    (tmp_path / "still.html").write_text(still(outputs), encoding="utf-8")
    with lab.fresh_page(lab_and_browser[1]) as other:
        seen = watched(other)
        for name in ("still.html", hostile.EXPORTED):
            other.goto((tmp_path / name).as_uri())
            assert "canary-tensor" in other.content()
            nothing_ran(*seen)
        assert "canary-tensor" in other.locator(".stage, .says").first.get_attribute("aria-label")
        assert other.errors == []
