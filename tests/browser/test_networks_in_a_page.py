"""The page of the book whose networks the browser computes: the same logits as torch's, with WebAssembly and without,
and sliders, buttons and the map that show them."""
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe

from data.rotated_mnist import rotate
from lessons.cart.algorithms.spectra import Spectra
from lessons.task_arithmetic.algorithms import shares_of
from tests.browser.conftest import ANGLES, HIDDEN, reading
from tools import lab
from toy_models import MLP

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
LOGITS = """([name, settings]) => {
    const { computes } = document.getElementById(name);
    return [computes.kernel.isCompiled, Array.from(computes.logits(...settings).values)];
}"""
SAYS = "([name, text]) => document.querySelector(`#${name} .ws-says`).textContent.includes(text)"
WAYS = {"from the average (CART)": True, "from θ₀": False}


@pytest.fixture(params=["compiled", "plain"])
def way(request):
    return request.param


@pytest.fixture
def reader(site):
    """The page."""
    with reading(site) as open:
        yield open("mixing-desk")


def opened(page, name):
    """One of the page's desks, once its networks are there."""
    desk = page.locator(f"#{name}")
    desk.scroll_into_view_if_needed()
    page.locator(f"#{name}[data-ready]").wait_for()
    return desk


def logits(page, name, *settings):
    """(whether WebAssembly computed them, logits (samples, 10)) of a setting."""
    is_compiled, values = page.evaluate(LOGITS, [name, list(settings)])
    return is_compiled, torch.tensor(values).view(-1, 12)[:, :10]


def seen(x):
    """Images as the page has them, of one byte a pixel."""
    return (255 * x).round() / 255


def close(ours, expected):
    assert ours.shape == expected.shape
    assert (ours - expected).abs().max() < 1e-3 * expected.abs().max()


@pytest.fixture
def computing(reader, way):
    """The page, with WebAssembly or without."""
    if way == "plain":
        reader.add_init_script("delete globalThis.WebAssembly;")
        reader.reload()
    return reader


@pytest.mark.parametrize("lams", [(0.0, 0.0), (1.0, 0.0), (0.35, -0.8)])
def test_a_mix_of_networks_answers_as_in_torch(computing, way, networks, lams):
    states, x, _, _ = networks["mixing"]
    shares = shares_of(list(lams)).tolist()
    halves = [{key: tensor.half().float() for key, tensor in state.items()} for state in states.values()]
    mixed = {key: sum(share * state[key] for share, state in zip(shares, halves)) for key in halves[0]}
    images = torch.cat([rotate(seen(x), angle) for angle in ANGLES])
    opened(computing, "mixing")
    is_compiled, ours = logits(computing, "mixing", shares)
    assert is_compiled == (way == "compiled")
    close(ours, MLP.from_state(mixed)(images))


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("count, lam", [(0, 1.0), (1, 0.4), (13, 2.0), (32, 0.8)])
def test_directions_that_are_kept_answer_as_in_torch(computing, networks, name, count, lam):
    base, finetuned, orders, x, _, _, _ = networks["directions"]
    merged = Spectra(base, list(finetuned.values()), centre=WAYS[name]).merged(lam, count / HIDDEN)
    images = torch.cat([seen(x).flatten(1)[:, order] for order in orders])
    opened(computing, "directions")
    close(logits(computing, "directions", name, count, lam)[1], MLP.from_state(merged)(images))


def test_a_slider_and_a_button_move_what_is_shown(reader):
    desk = opened(reader, "mixing")
    says = desk.locator(".ws-says")
    assert says.inner_text().startswith("This is the pretrained network")
    desk.get_by_role("slider", name="λ for 90°").focus()
    before = desk.locator(".ws-value").all_inner_texts()
    for _ in range(20):
        reader.keyboard.press("ArrowRight")
    reader.wait_for_function(SAYS, arg=["mixing", "Of the digits that you add (90°)"])
    assert desk.get_by_role("slider", name="λ for 90°").get_attribute("aria-valuetext") == "1.00"
    alone = reader.evaluate("() => document.querySelector('#mixing').computes.accuracies([0, 1])")
    assert alone["weights"][2] == alone["own"][2], "at λ = 1 it is the task's own network"
    assert before != desk.locator(".ws-value").all_inner_texts()
    together = desk.get_by_role("slider", name="one λ for all")
    together.focus()
    for _ in range(10):
        reader.keyboard.press("ArrowRight")
    reader.wait_for_function(SAYS, arg=["mixing", "Of the digits that you add (22.5°, 90°)"])
    assert desk.locator("output").all_inner_texts() == ["0.50"] * 3
    reader.wait_for_function("() => document.querySelector('#mixing [role=status]').textContent.includes('22.5°')")


def test_a_button_takes_a_task_vector_away(reader):
    desk = opened(reader, "mixing")
    desk.get_by_role("button", name="subtracted").click()
    reader.wait_for_function(SAYS, arg=["mixing", "Of the digits that you subtract (90°)"])
    assert desk.locator("output").all_inner_texts() == ["–", "0.00", "−0.50"]


def test_the_noise_is_that_of_digits_which_all_tasks_show(reader):
    opened(reader, "mixing")
    right, says = reader.evaluate("""() => {
        const desk = document.querySelector("#mixing");
        desk.set([0.3, 0.3]);
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(
            [desk.computes.accuracies([0.3, 0.3]).right, desk.querySelector(".ws-noise").textContent]))));
    }""")
    digits = torch.tensor(right, dtype=torch.float64)[1:].mean(0)
    points = max(1, int(200 * digits.std().item() / len(digits) ** 0.5 + 0.5))
    assert says == f"Two standard errors of the first percentage are {points} points."


def test_a_press_on_the_map_goes_there(reader):
    desk = opened(reader, "directions")
    box = desk.locator("canvas").bounding_box()
    desk.locator("canvas").click(position={"x": box["width"] * 10.5 / 33, "y": box["height"] * 0.5 / 31})
    assert desk.locator("output").all_inner_texts() == ["10", "6.0"]
    desk.get_by_role("slider", name="directions").focus()
    reader.keyboard.press("Home")
    reader.wait_for_function(SAYS, arg=["directions", "No direction is kept"])
    desk.get_by_label("task vectors").select_option("from θ₀")
    reader.wait_for_function(SAYS, arg=["directions", "this is θ₀"])


def test_the_map_shows_what_each_setting_gives(reader):
    desk = opened(reader, "directions")
    reader.wait_for_function("() => document.querySelector('#directions canvas').ariaLabel.includes('Highest so far')")
    reader.wait_for_timeout(500)
    best = reader.evaluate("""() => {
        const { computes } = document.querySelector("#directions");
        let best = 0;
        for (let count = 0; count <= 32; count++) for (let place = 0; place < 31; place++) {
            const shares = computes.accuracies("from the average (CART)", count, place / 5);
            best = Math.max(best, shares.reduce((total, share) => total + share, 0) / shares.length);
        }
        return Math.round(100 * best);
    }""")
    reader.wait_for_function("(best) => document.querySelector('#directions canvas').ariaLabel.replace(/\u00a0/g, ' ')"
                             ".includes(`Highest so far: ${best} %`)", arg=best)
    assert desk.locator(".ws-measure").count() == 4


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_the_page_is_usable_by_all(reader, theme, width):
    reader.set_viewport_size({"width": width, "height": 900})
    reader.emulate_media(color_scheme=theme)
    for name in ("mixing", "directions"):
        opened(reader, name)
    reader.wait_for_function("(theme) => document.documentElement.dataset.theme === theme", arg=theme)
    assert reader.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
    violations = Axe().run(reader, options={"preload": False}).response["violations"]
    assert [found["id"] for found in violations] == []
