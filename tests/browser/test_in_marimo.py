"""A view in marimo, which has other widgets around it than Jupyter: it moves by key and says what was measured. marimo
is no part of the course's environment; `pip install marimo` beside it, and this runs."""
import importlib.util
import os
import socket
import subprocess
import sys
import textwrap

import pytest

from lessons.kit.sweep import at
from lessons.linearity.experiment import mlp
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser"),
              pytest.mark.skipif(not importlib.util.find_spec("marimo"), reason="marimo is not installed")]

NOTEBOOK = """
    import marimo
    app = marimo.App()

    @app.cell
    def _():
        from marimo import ui
        from lessons.linearity.experiment import mlp
        from lessons.linearity.panels import midpoint
        view = ui.anywidget(midpoint.midpoint(mlp.run("full", 0)))
        view
        return
    """


@pytest.fixture
def address(tmp_path):
    """Where marimo serves the notebook, its code hidden."""
    notebook = tmp_path / "notebook.py"
    notebook.write_text(textwrap.dedent(NOTEBOOK), encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    # Python puts the notebook's folder first, and ours must be found
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "marimo", "run", str(notebook), "--headless", "--no-token", f"--port={port}"]
    process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        lab.wait_for(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(20)


def test_a_view_moves_by_key_and_says_what_was_measured(address):
    with lab.chromium() as page:
        page.goto(address)
        view = page.locator(lab.VIEW)
        view.wait_for(state="attached")
        view.locator(lab.HANDLE).focus()
        before = lab.settled(page, view)
        page.keyboard.press("ArrowRight")
        assert lab.settled(page, view) != before
        here = at(mlp.run("full", 0), pair=mlp.FAR, alpha=0.55)
        assert f"{here.accuracy.sel(task='both').item():.3f}" in lab.says(view)
        assert page.errors == []
