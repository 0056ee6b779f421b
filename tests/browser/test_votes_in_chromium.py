"""A class votes in Chromium: a phone opens the page by the code's address and votes by key, and in JupyterLab the panel
counts, keeps the numbers to itself, and draws the swarm once the answer is shown."""
import contextlib
import inspect
import textwrap
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from axe_playwright_python.sync_playwright import Axe

from lessons.kit.predict import predict
from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Star, View, slider
from lessons.kit.view.widget import MODULE
from tests.test_votes import ALPHAS, HERE, Phone, a_panel
from tools import lab

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
CELLS = [f"""
    from lessons.kit.predict import predict
    from lessons.kit.view import Axis, Chart, Frame, Handle, Line, Star, View, slider
    ALPHAS = {ALPHAS}
    {textwrap.indent(inspect.getsource(a_panel), "    ").strip()}
    panel, _ = a_panel()
    del panel.send  # which only notes what it sends
    panel
    """, """
    panel.big()
    """, f"""
    vote = panel.ask_class(host="{HERE}")
    vote
    """]
BUSY = """
    import time
    end = time.monotonic() + 600
    while vote.count < 5 and time.monotonic() < end:
        pass
    """


@contextlib.contextmanager
def a_phone(context, address):
    """The page on a phone, and the addresses that it asks for."""
    with lab.fresh_page(context) as phone:
        asked = []
        phone.on("request", lambda request: asked.append(request.url))
        phone.on("console", lambda message: phone.errors.append(message.text))
        phone.set_viewport_size({"width": 390, "height": 844})
        phone.goto(address)
        yield phone, asked
        assert phone.errors == []


@pytest.fixture
def vote():
    vote = a_panel(question="How **high** is <it>?")[0].ask_class(host=HERE)
    yield vote
    vote.stop()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_votes_by_key_and_nobody_is_shut_out(lab_and_browser, vote, theme):
    with a_phone(lab_and_browser[1], vote.address) as (phone, asked):
        phone.emulate_media(color_scheme=theme)
        assert phone.get_by_role("heading").inner_text() == "How high is <it>?"
        for key in ("Tab", "4", "2", "Tab", "Enter"):
            phone.keyboard.press(key)
        said = phone.get_by_role("status")
        said.wait_for()
        assert said.inner_text().startswith("Your vote is 42 %.") and phone.title() == said.inner_text()
        assert vote.values == [0.42]
        assert Axe().run(phone).response["violations"] == []
        assert phone.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        ground = phone.evaluate("() => getComputedStyle(document.querySelector('button')).backgroundColor")
        assert (ground == "rgb(0, 0, 0)") is (theme == "light")
        for part in (phone.get_by_role("spinbutton"), phone.get_by_role("button")):
            assert part.bounding_box()["height"] >= 44
        assert {url.partition(vote.address)[0] for url in asked if "favicon" not in url} == {""}


def test_what_lies_outside_of_the_question_the_phone_itself_refuses_and_a_closed_vote_says_so(lab_and_browser, vote):
    with a_phone(lab_and_browser[1], vote.address) as (phone, _):
        phone.get_by_role("spinbutton").fill("142")
        phone.get_by_role("button", name="Vote").click()
        assert phone.get_by_role("spinbutton").evaluate("(field) => field.validity.rangeOverflow") and not vote.count
        phone.get_by_role("spinbutton").fill("14")
        phone.get_by_role("button", name="Vote").click()
        phone.get_by_role("button", name="Change my vote").wait_for()
        vote.close()
        phone.reload()
        assert phone.get_by_role("status").inner_text() == "The vote is closed. Your vote is 14 %."
        assert not phone.get_by_role("button").count()
        vote.open()
        phone.get_by_role("link", name="Look for the next question").click()
        phone.get_by_role("button", name="Change my vote").wait_for()


@pytest.fixture
def class_room(lab_and_browser, page):
    """The page in JupyterLab, the panel, the same for a hall, and the vote as phones know it."""
    lab.save(page, lab_and_browser[0], "votes.ipynb", *(textwrap.dedent(cell).strip() for cell in CELLS))
    assert lab.run_all(page, lab_and_browser[0], "votes.ipynb") == []
    panel, hall = lab.views(page)
    panel.locator(".class .code path").wait_for()
    vote = SimpleNamespace(address=panel.locator(".address").inner_text(), number=1)
    return SimpleNamespace(page=page, panel=panel, hall=hall, vote=vote)


def counted(room, text):
    """Wait until both panels say so many votes."""
    for view in (room.panel, room.hall):
        lab.until(room.page, text, "([{shadowRoot}, text]) => shadowRoot.querySelector('.count').textContent === text",
                  [view.element_handle(), text])


def in_the_kernel(room, code):
    """Let the kernel begin a cell; does not wait for it."""
    room.page.evaluate("(code) => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
                       ".requestExecute({code}); }", textwrap.dedent(code))


def all_vote(room, phones):
    """Each phone sends its place as a number, many at once."""
    with ThreadPoolExecutor(50) as pool:
        pages = list(pool.map(lambda pair: pair[1].votes(pair[0] % 101), enumerate(phones)))
    assert {page.status for page in pages} == {200}


def test_a_phone_and_then_200_vote_and_the_panel_counts_and_draws_the_swarm(class_room, lab_and_browser):
    panel, page = class_room.panel, class_room.page
    counted(class_room, "0 votes")
    with a_phone(lab_and_browser[1], class_room.vote.address) as (phone, _):
        phone.get_by_role("spinbutton").fill("62")
        phone.get_by_role("button", name="Vote").click()
        phone.get_by_role("button", name="Change my vote").wait_for()
    counted(class_room, "1 vote")
    all_vote(class_room, [Phone(class_room.vote) for _ in range(199)])
    counted(class_room, "200 votes")
    assert not page.locator(".voted").count() and "62" not in panel.locator(".class").inner_text()
    lab.guess(page, panel, 50)
    for view in (panel, class_room.hall):
        view.locator("circle.voted").nth(200).wait_for(state="attached")  # and one in the key
        assert view.locator(".plot circle.voted").count() == 200
        assert not view.locator(".class .code").is_visible()
    told = panel.locator(".class").inner_text()
    assert told.startswith("The class: 200 votes, half of them from ") and told in lab.says(panel)
    assert page.evaluate(APART, panel.element_handle()) == []
    panel.get_by_role("button", name="Guess again").click()
    counted(class_room, "200 votes")
    assert not page.locator(".plot .voted").count() and panel.locator(".class .code").is_visible()


MADE = """async ([module, state, votes, told]) => {
    const { Panel } = await import(URL.createObjectURL(new Blob([module], {type: 'text/javascript'})));
    document.body.replaceChildren(document.createElement('div'));
    const model = {get: (name) => state[name], set() {}, save_changes() {}, on() {}};
    const panel = new Panel(model, document.body.firstChild);
    panel.hear({...told, votes, count: votes.length});
    window.__box = panel.charts[0].box; }"""
# how many dots the swarm has, and how many of them are outside of the axes
PLACED = """() => {
    const {left, right, top, bottom, width, height} = window.__box;
    const dots = [...document.body.firstChild.shadowRoot.querySelectorAll('.plot .voted')];
    const isOutside = ([x, y]) => !(x >= left && x <= width - right && y >= top && y <= height - bottom);
    const places = dots.map((dot) => ['cx', 'cy'].map((name) => Number(dot.getAttribute(name))));
    return [dots.length, places.filter(isOutside).length]; }"""


@pytest.mark.parametrize("votes", [[0.0, 1.0], [0.5] * 300, [place / 100 for place in range(101)], [1e-9, 0.2, 1.0]],
                         ids=["ends", "one place", "everywhere", "near 0"])
@pytest.mark.parametrize("about", [{"x": (0.5,)}, {"x": (0.0,)}, {"x": (1.0,)}, {"along": "x"}],
                         ids=["middle", "left", "right", "on the x axis"])
@pytest.mark.parametrize("kind", ["linear", "log"])
def test_every_vote_is_a_dot_inside_the_axes_that_meets_no_other(page, about, votes, kind):
    guess = predict("How high is it?")
    guess.panel_answers(0.1, {"alpha": 0.5})
    guess.show_anyway()
    marks = (Line("of A", "a", "A"), Star("guess", **about), Handle("alpha"))
    chart = Chart(Axis("α", 0, 1), Axis("accuracy", 0.01, 0.2, kind=kind, unit="percent"), marks)
    view = View({"alpha": slider("α", [0.0, 0.5, 1.0], 0.5)}, [chart],
                lambda alpha: Frame("It is", "It.", {"of A": [0.1, 0.1, 0.1]}), prediction=guess, hides=["of A"])
    state = {name: getattr(view, name) for name in ("spec", "frames", "positions", "typed", "guess", "shown", "ticked")}
    told = {"address": "", "code": {"size": 1, "path": ""}, "open": False, "ended": True, "turned_away": 0, "most": 1}
    page.goto("about:blank")
    page.evaluate(MADE, [MODULE.read_text(encoding="utf-8"), state, votes, told])
    assert page.evaluate(PLACED) == [len(votes), 0]
    assert page.evaluate(APART, page.locator("div").first.element_handle()) == []


# dots of the swarm that lie on each other
APART = """({shadowRoot}) => {
    const dots = [...shadowRoot.querySelectorAll('.plot .voted')]
        .map((dot) => ['cx', 'cy', 'r'].map((name) => Number(dot.getAttribute(name))));
    const meet = ([x, y, r], [left, top]) => Math.hypot(x - left, y - top) < 2 * r - 0.01;
    return dots.flatMap((dot, index) => dots.slice(index + 1).filter((other) => meet(dot, other))); }"""


def test_votes_are_counted_in_the_panel_while_a_cell_runs(class_room):
    in_the_kernel(class_room, BUSY)
    all_vote(class_room, [Phone(class_room.vote) for _ in range(4)])
    counted(class_room, "4 votes")
    busy = "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'"
    assert class_room.page.evaluate(busy)
    Phone(class_room.vote).votes(3)
    counted(class_room, "5 votes")


def test_the_panel_closes_the_vote_and_opens_it_and_enlarges_the_code_by_key(class_room):
    panel, page, vote = class_room.panel, class_room.page, class_room.vote
    switch = panel.get_by_role("button", name="Close the vote")
    switch.focus()
    page.keyboard.press("Enter")
    panel.get_by_text("The vote is closed.").wait_for()
    assert Phone(vote).votes(3).status == 409
    page.keyboard.press("Enter")
    panel.get_by_role("button", name="Close the vote").wait_for()
    assert Phone(vote).votes(3).status == 200
    counted(class_room, "1 vote")
    code = panel.locator(".code")
    small = code.bounding_box()["width"]
    code.focus()
    page.keyboard.press("Space")
    assert code.bounding_box()["width"] > 2 * small and code.get_attribute("aria-pressed") == "true"
    page.keyboard.press("Space")
    assert code.bounding_box()["width"] == small


def test_the_code_is_dark_on_light_in_both_themes_and_axe_finds_nothing(class_room):
    page, panel = class_room.page, class_room.panel
    Phone(class_room.vote).votes(3)
    wear(page, "dark")
    assert barred(page) == []
    fills = panel.evaluate("({shadowRoot}) => ['light', 'dark'].map((part) => "
                           "getComputedStyle(shadowRoot.querySelector(`.code .${part}`)).fill)")
    assert fills == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
    lab.guess(page, panel, 50)
    panel.locator(".plot .voted").wait_for(state="attached")
    assert barred(page) == []
    wear(page, "light")
    assert barred(page) == []


def wear(page, theme):
    """Let JupyterLab have a theme, and wait until views have it."""
    name = f"JupyterLab {theme.capitalize()}"
    page.evaluate("(theme) => window.jupyterapp.commands.execute('apputils:change-theme', {theme})", name)
    page.locator(f"{lab.VIEW}[data-theme={theme}]").first.wait_for()


def barred(page):
    """What of the panels axe finds that a keyboard or a screen reader cannot use."""
    return [(problem["id"], part["html"]) for problem in Axe().run(page, context=lab.VIEW).response["violations"]
            for part in problem["nodes"]]
