"""JupyterLab in a headless Chromium: open a notebook, run it, press keys on its sliders. For tests, benchmarks and
screenshots."""
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

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ("--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync").split()
PANEL, SLIDER = ".weightspace-panel", ".weightspace-panel .noUi-handle"

# Notes when a key went down, when after it the marks of a picture were replaced, and when the frame that shows them was
# painted: an
# animation frame runs before the paint, a message sent from it arrives after.
PROBE = """
window.__times = {};
addEventListener('keydown', () => { window.__times = {key: performance.now()}; }, true);
const afterPaint = new MessageChannel();
afterPaint.port1.onmessage = () => { window.__times.painted ??= performance.now(); };
window.__watch = (root) => new MutationObserver((records) => {
  if (!records.some((record) => record.target.closest?.('.marks')) || window.__times.changed) return;
  window.__times.changed = performance.now();
  requestAnimationFrame(() => afterPaint.port2.postMessage(0));
}).observe(root, {subtree: true, childList: true});
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


@contextlib.contextmanager
def chromium(width: int = 1300, height: int = 1000):
    """A fresh browser page that can reach nothing but this machine; `page.errors` collects what its scripts threw."""
    from playwright.sync_api import sync_playwright
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, executable_path=CHROMIUM, headless=True, args=FLAGS,
                                                                viewport={"width": width, "height": height})
        page = context.pages[0]
        page.errors = []
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        try:
            yield page
        finally:
            context.close()


@contextlib.contextmanager
def server(folder: Path):
    """JupyterLab on this machine over a copy of the notebooks in `folder` (it saves what it opens), with a random token
    and settings of its own.

    Yields its address with the token and {name} for the notebook's.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port, token = probe.getsockname()[1], secrets.token_hex(16)
        probe.close()
        home = Path(home)
        settings = home / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
        settings.parent.mkdir(parents=True)
        (home / "notebooks").mkdir()
        for notebook in folder.glob("*.ipynb"):
            shutil.copy(notebook, home / "notebooks")
        settings.write_text('{"fetchNews": "false", "checkForUpdates": false}')
        folders = {f"JUPYTER_{kind}_DIR": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
        env = {**os.environ, **folders, "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"), "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces")}
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0",
             f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={home / 'notebooks'}", "--LabApp.expose_app_in_browser=True", "--LabApp.news_url=None",
             "--LabApp.extension_manager=readonly", "--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate"],
            env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", process)
            yield f"http://127.0.0.1:{port}/lab/tree/{{name}}?token={token}&reset"
        finally:
            process.terminate()
            process.wait(20)


def _wait_for(address, process, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(address, timeout=2).close()
            return
        if process.poll() is not None:
            raise RuntimeError(f"JupyterLab stopped at once with code {process.returncode}")
        time.sleep(0.3)
    raise TimeoutError(f"JupyterLab did not start within {seconds} s")


def run_all(page, address: str, name: str, seconds: int = 300) -> int:
    """Open the notebook `name`, run all its cells, wait until they are done; returns how many outputs are errors."""
    page.add_init_script(PROBE)
    page.goto(address.format(name=name))
    page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'", timeout=90_000)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function("""() => {
        const cells = window.jupyterapp.shell.currentWidget.content.widgets.filter((cell) => cell.model.type === 'code' && cell.model.sharedModel.source.trim());
        return cells.every((cell) => cell.model.executionCount !== null) && window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'; }""",
                           timeout=1000 * seconds)
    page.wait_for_timeout(1500)
    page.evaluate("() => window.__watch(document.querySelector('.jp-Notebook'))")
    return page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']").count()


def panels(page) -> list:
    """The panels of the open notebook, top to bottom, each scrolled into being: JupyterLab draws cells only when they
    come into sight."""
    cells = page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length")
    for index in range(cells):
        page.evaluate("(index) => window.jupyterapp.shell.currentWidget.content.scrollToItem(index)", index)
        page.wait_for_timeout(60)
    return page.locator(PANEL).all()


def press(page, panel, keys: list[str]) -> list[dict[str, float]]:
    """Press keys on a panel's first slider, one by one.

    Returns:
        For every key that changed the picture, milliseconds from the key to {"changed": the new picture in the page,
        "painted": on the screen}.
    """
    panel.scroll_into_view_if_needed()
    page.wait_for_timeout(1500)  # the frames along the slider are drawn ahead while the learner reads
    panel.locator(".noUi-handle").first.focus()
    times = []
    for key in keys:
        page.keyboard.press(key)
        with contextlib.suppress(Exception):  # a key at the end of the slider changes nothing
            page.wait_for_function("() => window.__times.painted", timeout=1500, polling=5)
            times.append(page.evaluate("() => { const t = window.__times; return {changed: t.changed - t.key, painted: t.painted - t.key}; }"))
        page.wait_for_timeout(60)
    return times


def says(panel) -> str:
    """The alternative text of a panel's picture as it is now."""
    return panel.locator(".stage").get_attribute("aria-label")


def percentile_90(times: list[float]) -> float:
    """The 90th percentile."""
    return statistics.quantiles(times, n=10)[-1]
