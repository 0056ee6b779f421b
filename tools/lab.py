"""JupyterLab as `make lab` starts it (`python -m tools.lab`), and the same JupyterLab in a headless Chromium.

Tests, benchmarks and screenshots open a notebook there, run it and press keys on its sliders.
"""
import argparse
import contextlib
import os
import secrets
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIRST = "notebooks/00_start_here.ipynb"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]
# Views are charts in a shadow root, into which Playwright's selectors look.
VIEW, HANDLE = ".weightspace-view", "input[type=range]"

# Notes when a key went down, when after it a view showed other positions, and when the frame that shows them was
# painted: an animation frame runs before the paint, a message sent from it arrives after.
PROBE = """
window.__times = {};
addEventListener('keydown', () => { window.__times = {key: performance.now()}; }, true);
const afterPaint = new MessageChannel();
afterPaint.port1.onmessage = () => { window.__times.painted ??= performance.now(); };
window.__watch = (root) => new MutationObserver((records) => {
  if (!records.some(({target}) => target.matches('.weightspace-view')) || window.__times.changed) return;
  window.__times.changed = performance.now();
  requestAnimationFrame(() => afterPaint.port2.postMessage(0));
}).observe(root, {subtree: true, attributes: true, attributeFilter: ['data-shown']});
"""


def missing() -> str:
    """Why no browser can be driven here, or ""."""
    if not CHROMIUM:
        return "Chromium is not installed"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "playwright is not installed"
    return ""


_playwrights: list = []  # the one that runs; it can be started once a thread


@contextlib.contextmanager
def _playwright():
    """What starts browsers. Who asks while another one is at work shares his."""
    if _playwrights:
        yield _playwrights[0]
        return
    from playwright.sync_api import sync_playwright
    with sync_playwright() as started:
        _playwrights.append(started)
        try:
            yield started
        finally:
            _playwrights.remove(started)


@contextlib.contextmanager
def browser(width: int = 1300, height: int = 1000, scale: float = 1):
    """A Chromium that can reach nothing but this machine; `fresh_page` opens pages in it.

    Args:
        width, height: of its window, in CSS pixels.
        scale: device pixels a CSS pixel, 2 for pictures that stay sharp on a dense screen.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, _playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, headless=True, args=FLAGS, viewport={"width": width, "height": height},
            device_scale_factor=scale)
        try:
            yield context
        finally:
            context.close()


@contextlib.contextmanager
def fresh_page(context):
    """A page in an open browser; `page.errors` collects what its scripts threw.

    Kernels that JupyterLab started end with it.
    """
    page = context.new_page()
    page.errors = []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    try:
        yield page
    finally:
        with contextlib.suppress(Exception):  # whatever went wrong in the page is told already
            page.evaluate("() => window.jupyterapp?.serviceManager.sessions.shutdownAll()")
        page.close()


@contextlib.contextmanager
def chromium(width: int = 1300, height: int = 1000, scale: float = 1):
    """A fresh page in a fresh browser, as `browser` and `fresh_page` give them."""
    with browser(width, height, scale) as context, fresh_page(context) as page:
        yield page


def options(root: Path) -> list[str]:
    """What JupyterLab is told when it serves the course.

    Args:
        root: the repository's root. JupyterLab opens no file outside the folder that it serves, and notebooks link to
            the glossary and to the ledger of claims, which lie beside their own folder.
    """
    return ["--ip=127.0.0.1", *settings(root)]


def settings(root: Path) -> list[str]:
    """What every server of the course is told, wherever it listens: also a learner's on a hub. Arguments as `options`.
    """
    # In most containers one is root, and Jupyter serves no root unless told. Only this machine, or a hub, can reach it,
    # and only with its token.
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return [*as_root, f"--ServerApp.root_dir={root}",
            "--LabApp.news_url=None", "--LabApp.extension_manager=readonly",
            "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate"]


def main(arguments=None) -> None:
    """Start JupyterLab with chapter 0. Arguments that are not known here go to JupyterLab, as `--no-browser` does. With
    `--ip`, as in a container, other machines can reach it."""
    from jupyterlab.labapp import LabApp
    parser = argparse.ArgumentParser(prog="python -m tools.lab", description=main.__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="another copy of the course to serve")
    known, others = parser.parse_known_args(arguments)
    # JupyterLab reads defaults of its settings here: long lines of code are wrapped. A learner's own settings win.
    places = [str(Path(__file__).parent / "jupyter"), *filter(None, [os.environ.get("JUPYTER_CONFIG_PATH")])]
    os.environ["JUPYTER_CONFIG_PATH"] = os.pathsep.join(places)
    # also in the address that is printed, for those whose browser does not open by itself
    ours = [option for option in options(known.root) if not _is_ip(option) or not any(map(_is_ip, others))]
    LabApp.launch_instance([*ours, f"--LabApp.default_url=/lab/tree/{FIRST}", *others])


def _is_ip(option):
    return option.partition("=")[0] in ("--ip", "--ServerApp.ip")


@contextlib.contextmanager
def server(folder: Path, **environment: str):
    """JupyterLab on this machine as `make lab` starts it, with a random token and settings of its own.

    Args:
        folder: with the notebooks, which are copied: it saves what it opens. Beside them lie copies of what they link
            to, as in the repository.
        environment: variables for it and its kernels, besides this process's. No learner's diary is kept, unless
            they say so.

    Yields:
        Its address with the token and {name} for the notebook's.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port, token = probe.getsockname()[1], secrets.token_hex(16)
        probe.close()
        home = Path(home)
        variables = {"WEIGHTSPACE_DIARY": "off", **os.environ, **environment, **_settings(home)}
        process = subprocess.Popen(_command(_course(home / "course", folder), port, token), env=variables, cwd=ROOT,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", process)
            yield f"http://127.0.0.1:{port}/lab/tree/notebooks/{{name}}?token={token}&reset"
        finally:
            process.terminate()
            process.wait(20)


def _command(root, port, token):
    """How JupyterLab is started."""
    return [sys.executable, "-m", "tools.lab", "--root", str(root), "--no-browser",
            f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}",
            "--LabApp.expose_app_in_browser=True"]


def _course(root, folder):
    """Fill the folder `root` as the repository is filled, with the notebooks of `folder`."""
    shutil.copytree(ROOT / "docs", root / "docs")
    for notebook in folder.rglob("*.ipynb"):
        copy = root / "notebooks" / notebook.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(notebook, copy)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, root)
    return root


def _settings(home):
    """The environment variables that give JupyterLab settings of its own: those of somebody who never started it."""
    return {"JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
            **{f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}}


def wait_for(address: str, process: subprocess.Popen, seconds: float = 90) -> None:
    """Wait until a server that was started answers.

    Raises:
        RuntimeError: its process has ended. TimeoutError: it does not answer within so many seconds.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=2).close()
            return
        if process.poll() is not None:
            raise RuntimeError(f"the server at {address.partition('?')[0]} stopped with code {process.returncode}")
        time.sleep(0.3)
    raise TimeoutError(f"the server at {address.partition('?')[0]} did not start within {seconds} s")


READY = "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'"
DONE = """() => {
    const notebook = window.jupyterapp.shell.currentWidget;
    const models = notebook.content.widgets.map((cell) => cell.model);
    const code = models.filter((model) => model.type === 'code' && model.sharedModel.source.trim());
    return code.every((model) => model.executionCount !== null)
        && notebook.sessionContext.session.kernel.status === 'idle'; }"""
OUTPUTS = """
const cells = window.jupyterapp.shell.currentWidget.content.widgets;
const outputs = ({model: {outputs}}) => Array.from({length: outputs?.length ?? 0}, (_, i) => outputs.get(i));
"""
ERRORS = f"""() => {{ {OUTPUTS}
    return cells.flatMap(outputs).filter((output) => output.type === 'error').map((output) => output.toJSON())
        .map(({{ename, evalue}}) => `${{ename}}: ${{evalue}}`); }}"""
ENDED = f"() => ({DONE})() || (({ERRORS})().length > 0)"  # after an error JupyterLab runs no further cell
WITH_VIEWS = f"""() => {{ {OUTPUTS}  // a progress bar is a widget too, but carries no still picture
    const isView = ({{data}}) => 'application/vnd.jupyter.widget-view+json' in data && 'text/html' in data;
    return [...cells.keys()].filter((i) => outputs(cells[i]).some(isView)); }}"""
SHOWN = """(index) => {
    const {node} = window.jupyterapp.shell.currentWidget.content.widgets[index];
    const views = [...node.querySelectorAll('.weightspace-view')];
    return (views.length || node.querySelector('.weightspace-waiting, .weightspace-quiz'))
        && views.every((view) => 'shown' in view.dataset); }"""


def until(page, wanted: str, condition: str, argument=None, seconds: float = 60) -> None:
    """Wait until a JavaScript function of `argument` is true in the page.

    Raises:
        TimeoutError: it is not, within so many seconds; the message names what was `wanted`.
    """
    from playwright.sync_api import TimeoutError as TooLong
    try:
        page.wait_for_function(condition, arg=argument, timeout=1000 * seconds, polling=20)
    except TooLong:
        raise TimeoutError(f"{wanted}: not within {seconds:g} s") from None


def save(page, address: str, name: str, *cells: str) -> None:
    """Save a notebook of these cells' code as `name` among the notebooks of the JupyterLab at `address`."""
    made = [{"cell_type": "code", "id": f"cell-{place}", "metadata": {}, "outputs": [], "execution_count": None,
             "source": cell} for place, cell in enumerate(cells)]
    notebook = {"cells": made, "nbformat": 4, "nbformat_minor": 5,
                "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}}}
    page.goto(address.format(name=""))
    until(page, "JupyterLab", "() => window.jupyterapp?.serviceManager?.isReady")
    page.evaluate("([path, content]) => window.jupyterapp.serviceManager.contents.save(path, "
                  "{type: 'notebook', format: 'json', content})", [f"notebooks/{name}", notebook])


def run_all(page, address: str, name: str, seconds: int = 300) -> list[str]:
    """Open the notebook `name` and run its cells until they are done or one fails; returns the errors that it shows."""
    page.add_init_script(PROBE)
    page.goto(address.format(name=name))
    until(page, f"a kernel for {name}", READY, seconds=90)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    until(page, f"the last cell of {name}", ENDED, seconds=seconds)
    page.evaluate("() => window.__watch(document.querySelector('.jp-Notebook'))")
    return page.evaluate(ERRORS)


def views(page) -> list:
    """The views of the open notebook, top to bottom.

    Each is scrolled into being: JupyterLab draws cells only when they come into sight.
    """
    for index in page.evaluate(WITH_VIEWS):
        page.evaluate("(index) => window.jupyterapp.shell.currentWidget.content.scrollToItem(index)", index)
        until(page, f"the views of cell {index}", SHOWN, index)
    return page.locator(VIEW).all()


def settled(page, view) -> str:
    """Wait until a view shows the frame that its controls ask for; returns the name of the frame."""
    element = view.element_handle()
    until(page, "the frame that the controls ask for", "({dataset}) => dataset.shown === dataset.wanted", element)
    return element.get_attribute("data-shown")


def positions(page, view) -> list[int]:
    """Where the controls of a view stand, in their order."""
    return [int(part) for part in settled(page, view).split(",")]


def press(page, view, keys: list[str]) -> list[dict[str, float]]:
    """Press keys on a view's slider, one by one, each when the picture of the one before is there.

    Returns:
        For every key that changed the picture, milliseconds from the key to
        {"changed": the new picture in the page, "painted": on the screen}.
    """
    view.scroll_into_view_if_needed()
    view.locator(HANDLE).focus()
    times = []
    before = settled(page, view)
    for key in keys:
        page.keyboard.press(key)
        now = settled(page, view)
        if now != before:  # a key at the end of the slider changes nothing
            until(page, "the picture on the screen", "() => window.__times.painted")
            noted = page.evaluate("() => window.__times")
            times.append({event: noted[event] - noted["key"] for event in ("changed", "painted")})
        before = now
    return times


def standing(page, part) -> dict[str, float]:
    """Where a part is once it stands still: what is drawn late above it moves it, and then a press misses it."""
    before = None
    for _ in range(50):
        here = part.bounding_box()
        if here == before:
            return here
        before = here
        page.wait_for_timeout(100)
    raise TimeoutError(f"what was to be dragged still moves: {before}")


HOLDS_MOUSE = "({shadowRoot}) => shadowRoot.querySelector('.chart:has(.rail) .plot').hasPointerCapture(1)"


def drag(page, view, start: float, end: float) -> None:
    """Press the mouse at one share of a view's slider's length, in the plot above it, move it to another share and let
    go. A press that misses the plot, because JupyterLab laid out a cell above it in between, is tried again.

    Raises:
        TimeoutError: five presses missed the plot.
    """
    for _ in range(5):
        view.scroll_into_view_if_needed()
        track = standing(page, view.locator(".rail .track"))
        plot = view.locator(".chart:has(.rail) .plot").bounding_box()
        y = plot["y"] + plot["height"] / 2
        page.mouse.move(track["x"] + start * track["width"], y)
        page.mouse.down()
        if view.evaluate(HOLDS_MOUSE):
            break
        page.mouse.move(0, 0)  # so that what was pressed instead is not clicked
        page.mouse.up()
    else:
        raise TimeoutError("five presses missed the plot")
    page.mouse.move(track["x"] + end * track["width"], y, steps=4)
    page.mouse.up()
    settled(page, view)


def guess(page, view, value: float) -> str:
    """Type a guess into a view that asks, in the unit that it shows, and commit it; returns what the view says then."""
    view.scroll_into_view_if_needed()
    view.locator(".prediction input[type=number]").fill(f"{value:g}")
    view.locator(".prediction .commit").click()
    verdict = view.locator(".prediction", has_text="You said")
    verdict.wait_for()
    return verdict.inner_text()


def says(view) -> str:
    """The alternative text of a view as it is now."""
    return view.locator("[role=img][aria-label]").first.get_attribute("aria-label")


def percentile_90(times: list[float]) -> float:
    """The 90th percentile."""
    return statistics.quantiles(times, n=10)[-1]


if __name__ == "__main__":
    main()
