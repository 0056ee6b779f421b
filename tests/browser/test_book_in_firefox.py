"""The book in Firefox, opened from its folder: every panel is drawn and its slider moves, a guess opens what it hides,
a question answers, and no page complains. Firefox speaks WebDriver BiDi on a websocket
(https://www.w3.org/TR/webdriver-bidi/), so nothing but the browser is needed."""
import itertools
import json
import shutil
import socket
import subprocess
import time

import pytest
import websocket

from tests.test_book import TOLD

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(not FIREFOX, reason="Firefox is not installed")]
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


@pytest.fixture(scope="module")
def firefox(tmp_path_factory):
    """A Firefox with a profile of its own."""
    home = tmp_path_factory.mktemp("firefox")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [FIREFOX, "--headless", "--no-remote", "--profile", home, "--remote-debugging-port", str(port)]
    process = subprocess.Popen(command, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    try:
        yield connected(port, process)
    finally:
        process.kill()
        process.wait(20)


def connected(port, process):
    """The browser's tab, once it listens."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            return Firefox(port)
        except (ConnectionError, websocket.WebSocketException):
            time.sleep(0.2)
    pytest.fail("Firefox does not listen")


def test_every_panel_of_every_page_moves_and_no_page_complains(firefox, site):
    pages = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    moved = []
    for path in pages:
        firefox.open(path)
        moved += json.loads(firefox.run(PANELS))
    assert len(pages) > 12 and {"front", "panel"} <= {name for name, _ in moved}
    assert all(has_moved for _, has_moved in moved) and firefox.complaints == []


def test_a_guess_opens_what_it_hides_and_a_question_answers(firefox, site):
    firefox.open(site / "notebooks/00_start_here.html")
    told = json.loads(firefox.run("""async () => {
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
    assert firefox.complaints == []
