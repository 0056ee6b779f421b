"""The book in Firefox and in WebKit, opened from its folder: every panel is drawn and its slider moves, a guess opens
what it hides, a question answers, networks are computed, and no page complains.

Firefox speaks WebDriver BiDi on a websocket (https://www.w3.org/TR/webdriver-bidi/). WebKitGTK's own browser is asked
by WebDriver (https://www.w3.org/TR/webdriver2/), and draws on a screen that Xvfb makes. Debian's packages are
firefox-esr, webkit2gtk-driver and xvfb; what is not installed is skipped."""
import contextlib
import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import websocket

from tests.test_book import TOLD

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
DRIVER, SCREEN = shutil.which("WebKitWebDriver"), shutil.which("Xvfb")
pytestmark = [pytest.mark.browser, pytest.mark.timed]
SECONDS = 60
PANELS = """async () => {
    const rest = (time) => new Promise((done) => setTimeout(done, time)), found = [];
    for (const host of document.querySelectorAll("[data-panel]")) {
        host.scrollIntoView();
        for (let i = 0; i < 200 && !host.shadowRoot?.querySelector(".view"); i++) await rest(50);
        [...host.shadowRoot.querySelectorAll("button")].find((one) => one.textContent === "Just show me")?.click();
        const slider = host.shadowRoot.querySelector("input[type=range]"), before = host.dataset.shown;
        slider.value = slider.value === slider.max ? slider.min : slider.max;
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        for (let i = 0; i < 200 && host.dataset.shown === before; i++) await rest(50);
        found.push([host.id, host.dataset.shown !== before]);
    }
    return JSON.stringify(found);
}"""


class Firefox:
    """A tab of a Firefox.

    Attributes:
        complaints: what pages wrote to the console as errors, or threw.
    """

    def __init__(self, port: int):
        self.socket = websocket.create_connection(f"ws://127.0.0.1:{port}/session", timeout=SECONDS,
                                                  suppress_origin=True)
        self.numbers, self.complaints = itertools.count(1), []
        self.ask("session.new", capabilities={})
        self.ask("session.subscribe", events=["log.entryAdded"])
        self.tab = self.ask("browsingContext.create", type="tab")["context"]

    def ask(self, method, **params):
        """What a command returns; what is told meanwhile is looked at."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while (message := json.loads(self.socket.recv())).get("id") != number:
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.complaints.append(message["params"]["text"])
        assert message["type"] == "success", message
        return message["result"]

    def open(self, path):
        """A page, when all of it is there."""
        self.ask("browsingContext.navigate", context=self.tab, url=path.as_uri(), wait="complete")

    def run(self, function):
        """What a function in the page returns."""
        result = self.ask("script.evaluate", expression=f"({function})()", target={"context": self.tab},
                          awaitPromise=True)
        assert result["type"] == "success", result
        return result["result"].get("value")


class WebKit:
    """A tab of WebKitGTK's MiniBrowser.

    Attributes:
        complaints: what the page that is open has thrown.
    """

    def __init__(self, port: int):
        self.address = f"http://127.0.0.1:{port}/session"
        browser = {"webkitgtk:browserOptions": {"binary": str(mini_browser()), "args": ["--automation"]}}
        self.address += "/" + self.ask("", capabilities={"alwaysMatch": browser})["sessionId"]
        self.ask("/timeouts", script=1000 * SECONDS, pageLoad=1000 * SECONDS)
        self.complaints = []

    def ask(self, command, **params):
        """What a command returns."""
        request = urllib.request.Request(self.address + command, json.dumps(params).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)["value"]

    def open(self, path):
        """A page, when all of it is there."""
        self.ask("/url", url=path.as_uri())
        self.ask("/execute/sync", script="globalThis.thrown = [];"
                 "addEventListener('error', (event) => thrown.push(event.message));"
                 "addEventListener('unhandledrejection', (event) => thrown.push(String(event.reason)));", args=[])

    def run(self, function):
        """What a function in the page returns."""
        script = f"({function})().then(arguments[0], (error) => arguments[0](`failed: ${{error}}`));"
        result = self.ask("/execute/async", script=script, args=[])
        self.complaints += self.ask("/execute/sync", script="return thrown;", args=[])
        return result


def mini_browser():
    """Debian has it where no path leads."""
    return next(iter(sorted(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"))), None)


@pytest.fixture(scope="module", params=["Firefox", "WebKit"])
def browser(request, tmp_path_factory):
    """A browser with a folder of its own."""
    home = tmp_path_factory.mktemp(request.param)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    if request.param == "Firefox":
        if not FIREFOX:
            pytest.skip("Firefox is not installed")
        command = [FIREFOX, "--headless", "--no-remote", "--profile", home, "--remote-debugging-port", str(port)]
        with running(command, environment) as process:
            yield connected(Firefox, port, process)
        return
    if not (DRIVER and SCREEN and mini_browser()):
        pytest.skip("WebKitWebDriver, its MiniBrowser or Xvfb is not installed")
    with screen() as display, running([DRIVER, f"--port={port}"], environment | {"DISPLAY": display}) as process:
        yield connected(WebKit, port, process)


@contextlib.contextmanager
def running(command, environment):
    """A process, which is killed at the end with those that it started."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)


@contextlib.contextmanager
def screen():
    """The name of a screen that nobody sees."""
    reader, writer = os.pipe()
    process = subprocess.Popen([SCREEN, "-displayfd", str(writer), "-screen", "0", "1280x1000x24", "-nolisten", "tcp"],
                               pass_fds=[writer], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with os.fdopen(reader) as said:
            yield f":{said.readline().strip()}"
    finally:
        process.kill()
        process.wait(20)


def connected(kind, port, process):
    """The browser's tab, once it listens."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            return kind(port)
        except (ConnectionError, urllib.error.URLError, websocket.WebSocketException):
            time.sleep(0.2)
    pytest.fail(f"{kind.__name__} does not listen")


def test_every_panel_of_every_page_moves_and_no_page_complains(browser, site):
    pages = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    moved = []
    for path in pages:
        browser.open(path)
        moved += json.loads(browser.run(PANELS))
    assert len(pages) > 12 and {"front", "panel"} <= {name for name, _ in moved}
    assert all(has_moved for _, has_moved in moved) and browser.complaints == []


def test_a_guess_opens_what_it_hides_and_a_question_answers(browser, site):
    browser.open(site / "notebooks/00_start_here.html")
    told = json.loads(browser.run("""async () => {
        const host = document.querySelector("#panel"), rest = () => new Promise((done) => setTimeout(done, 50));
        host.scrollIntoView();
        for (let i = 0; i < 200 && !host.shadowRoot?.querySelector(".commit"); i++) await rest();
        const veil = document.querySelector(".ws-veil"), before = veil.classList.contains("ws-told");
        const field = host.shadowRoot.querySelector("input[type=number]");
        field.value = "70";
        field.dispatchEvent(new Event("input", {bubbles: true}));
        host.shadowRoot.querySelector(".commit").click();
        for (let i = 0; i < 200 && !veil.classList.contains("ws-told"); i++) await rest();
        const quiz = document.querySelector(".ws-quiz").shadowRoot ?? document.querySelector(".ws-quiz");
        quiz.querySelector(".choice").click();
        await rest();
        return JSON.stringify([before, veil.innerText, quiz.querySelector(".answer").innerText]); }"""))
    assert told[0] is False and TOLD in told[1] and told[2].startswith(("Right.", "Not this one."))
    assert browser.complaints == []


def test_networks_are_computed_by_webassembly(browser, site):
    browser.open(site / "mixing-desk.html")
    told = json.loads(browser.run("""async () => {
        const found = {}, rest = () => new Promise((done) => setTimeout(done, 50));
        for (const name of ["mixing", "directions"]) {
            const host = document.getElementById(name);
            host.scrollIntoView();
            for (let i = 0; i < 200 && !("ready" in host.dataset); i++) await rest();
            found[name] = [host.computes.kernel.isCompiled, host.querySelectorAll("input[type=range]").length];
        }
        return JSON.stringify(found); }"""))
    assert told == {"mixing": [True, 3], "directions": [True, 2]} and browser.complaints == []
