"""A learner's hands: JupyterLab and an exported page in Chromium.

Keys go to every slider, and the picture is compared with the numbers.
"""
import re

import pytest

from tools import lab
from lessons.averaging import experiment as averaging
from lessons.cart.experiment import bell
from lessons.gradients.experiment import epochs
from lessons.linearity.experiment import mlp as experiment, resnet
from lessons.linearity.panels import lines as panels
from lessons.interference.experiment import comparison
from lessons.kit.notebooks import CHAPTERS
from lessons.pretraining.experiment import curvature, labels, starts
from lessons.start import experiment as start
from lessons.task_arithmetic.experiment import mlp as arithmetic

pytestmark = [pytest.mark.browser, pytest.mark.timed,
              pytest.mark.skipif(bool(lab.missing()), reason=lab.missing() or "browser")]
KEYS = ["Home", "ArrowRight", "ArrowRight", "ArrowRight", "End", "ArrowLeft"]


@pytest.fixture(scope="module")
def lab_and_browser(chapters_folder_session):
    """One JupyterLab, whose kernels find the models and sweeps that the chapters' own tests left, and one browser."""
    environment = {"WEIGHTSPACE_DATA": str(chapters_folder_session), "WEIGHTSPACE_OFFLINE": "1"}
    with lab.server(CHAPTERS[0].parent, **environment) as address, lab.browser() as context:
        yield address, context


@pytest.fixture
def folder(chapters_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(chapters_folder_session))
    return chapters_folder_session


@pytest.fixture
def page(lab_and_browser):
    """A page of its own, in which no script fails."""
    with lab.fresh_page(lab_and_browser[1]) as page:
        yield page
        assert page.errors == []


@pytest.fixture
def opened(lab_and_browser, page, folder):
    """opened(name) -> (page, panels) of a chapter that was run in JupyterLab."""
    def open(name):
        assert lab.run_all(page, lab_and_browser[0], name) == 0, "a cell failed"
        return page, lab.panels(page)
    return open


def chosen(page, panel, label):
    """Choose from a panel's first menu; the picture must become another one."""
    marks, before = panel.locator(".marks").inner_html(), lab.settled(page, panel)
    panel.locator("select").first.select_option(label=label)
    lab.changed(page, panel, before)
    assert panel.locator(".marks").inner_html() != marks


def pressed(page, found):
    """Move the first slider of each to both ends, where the pictures must differ, then to the last setting but one."""
    for panel in found:
        lab.press(page, panel, ["Home"])
        first = panel.locator(".marks").inner_html()
        assert lab.press(page, panel, ["End"]), "no key changed the picture"
        assert panel.locator(".marks").inner_html() != first
        lab.press(page, panel, ["ArrowLeft"])


def test_chapter_0_moves_by_key_says_what_the_network_says_names_its_slider_and_draws_a_prediction(opened):
    page, found = opened("00_start_here.ipynb")
    panel, = found
    lab.drawn_ahead(page, panel)
    assert lab.press(page, panel, KEYS), "no key changed the picture"
    assert panel.locator("[data-ahead=here]").count(), "the kernel was asked for a frame that the page must have"
    networks = start.ends()
    expected = start.run(networks).accuracy.sel(start="one pretrained start", alpha=0.98)
    assert "0.98·θ_i" in lab.says(panel)
    for value in expected.values:
        assert f"{value:.3f}" in lab.says(panel)
    for handle in page.locator(lab.SLIDER).all():
        assert handle.get_attribute("aria-label"), "a slider without an accessible name"
    star, before = panel.locator(".marks").inner_html(), lab.settled(page, panel)
    page.locator(".weightspace-prediction button").click()
    lab.changed(page, panel, before)
    assert panel.locator(".marks").inner_html() != star, "the committed prediction is not drawn"


def test_chapter_1_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("01_linearity.ipynb")
    assert len(found) == 4
    sweep = experiment.run("quick", 0)
    pair = experiment.FAR
    for panel in found:
        before = panel.locator(".marks").inner_html()
        assert lab.press(page, panel, KEYS), "no key changed the picture"
        assert panel.locator(".marks").inner_html() != before
        assert "α = 0.95" in lab.says(panel)
    strangers, along, gap, coef = (lab.says(panel) for panel in found)
    here = experiment.at(sweep, pair=pair, alpha=0.95)
    for task in ("i", "j", "both", "pretraining"):
        assert f"{here.accuracy.sel(task=task).item():.3f}" in along
    for value in here.gap_mean.values:
        assert f"{value:.4f}" in gap
    for value in here.coef_median.values:
        assert f"{value:.3f}" in coef
    assert f"{experiment.at(sweep, start='two random starts', alpha=0.95).start_accuracy.item():.3f}" in strangers


def test_chapter_2_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("02_linearity_resnet.ipynb")
    assert len(found) == 5
    sweep, amounts = resnet.run("quick", 0), resnet.run_amounts("quick", 0)
    for panel in found:
        before = panel.locator(".marks").inner_html()
        assert lab.press(page, panel, KEYS), "no key changed the picture"
        assert panel.locator(".marks").inner_html() != before
        assert "α = 0.75" in lab.says(panel)
    gap, coef, batchnorm, pretraining, answers = (lab.says(panel) for panel in found)
    here = resnet.at(sweep, pair="splits 1 and 2", alpha=0.75)
    own = here.sel(treatment="interpolated")
    for value in own.gap_mean.values:
        assert f"{value:.4f}" in gap
    for value in own.coef_median.values:
        assert f"{value:.2f}" in coef
    for treatment in resnet.TREATMENTS:
        assert f"{treatment}: accuracy {here.accuracy.sel(treatment=treatment).mean().item():.3f}" in batchnorm
    for amount in amounts.amount.values:
        part = resnet.at(amounts, treatment="interpolated", alpha=0.75, amount=amount)
        assert f"pretrained on {amount}" in pretraining and f"accuracy {part.accuracy.mean().item():.3f}" in pretraining
    assert f"with probability {own.confidence.sel(task='i').values[0]:.3f}" in answers


def test_chapter_3_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("03_averaging.ipynb")
    assert len(found) == 5
    sweep = averaging.run("quick", 0)
    pressed(page, found)
    ranked = sweep.average_accuracy.sortby(sweep.average_accuracy)
    second = f"Averaged weights {ranked.values[-2]:.4f}"
    assert second in lab.says(found[0]), "one key left of the end is the second best average"
    assert page.locator("svg.points title").count() == len(averaging.TRIPLES)


def test_chapter_4_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("04_task_arithmetic.ipynb")
    assert len(found) == 5
    sweep, networks = arithmetic.run("quick", 0), arithmetic.models(0)
    pressed(page, found)
    edits, equations, stitching, negation, desk = (lab.says(panel) for panel in found)
    at_09 = sweep.accuracy.sel(lam=0.9)
    said = [all(f"{value:.3f}" in edits for value in at_09.sel(edit=edit).values) for edit in arithmetic.EDITS]
    assert any(said), edits
    assert all("λ = 0.80" in said for said in (equations, stitching, negation))
    shown = desk.split(": ")[-1].rstrip(".").split("; ")
    table = arithmetic.desk(sweep, networks)
    lams = dict.fromkeys(arithmetic.ANGLES, 0.1) | {22.5: float(re.search(r"22.5° (-?[\d.]+)", desk)[1])}
    assert lams[22.5] > 0.5
    expected = table.accuracy(table.features(lams)["output"])
    assert [float(text.split()[-1]) for text in shown] == pytest.approx(expected, abs=6e-4)


def test_chapter_5_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("05_pretraining.ipynb")
    assert len(found) == 4
    units, line, shares, theorem = found
    chosen(page, units, "matched by weights")
    pressed(page, (line, shares, theorem))
    sweep, shuffled, both = starts.run("quick", 0), labels.run("quick", 0), curvature.run("quick", 0)
    here = sweep.sel(pair="two tasks", treatment="as it is", alpha=0.9)
    assert "α = 0.90" in lab.says(line)
    for setting in starts.SETTINGS:
        assert f"{setting} {here.loss.sel(setting=setting).item():.3f}" in lab.says(line)
    part = shuffled.sel(start=labels.fraction_name(0.5), pair="two tasks")
    assert "0.50 of the labels shuffled" in lab.says(shares)
    assert f"mean over the layers: {part.gap_mean.mean().item():.4f}" in lab.says(shares)
    assert f"{abs(both.scaled_deviation.sel(function='loss').values[1]):.3g}" in lab.says(theorem)


def test_chapter_6_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("06_gradients.ipynb")
    assert len(found) == 5
    pressed(page, found)
    sweep = epochs.run("quick", 0)
    last = int(epochs.SHOWN[-2])
    own = sweep.own.sel(data=epochs.DIGITS, optimiser=epochs.SGD, epochs=last).mean().item()
    assert f"{last} epochs: the six networks read {own:.3f} of their own tasks" in lab.says(found[3])


def test_chapter_7_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("07_interference.ipynb")
    assert len(found) == 5
    toy, search, bars, plane, adapting = found
    pressed(page, [toy, search, plane, adapting])
    chosen(page, bars, "Rotated MNIST")
    sweep = comparison.run(comparison.suites_of("quick")["several"], "quick", 0)
    ties = (sweep.tried / sweep.own_tried).sel(searched="ties").mean("task")
    assert f"The best of the method is {ties.max().item():.3f}" in lab.says(search)


def test_chapter_8_moves_by_key_and_the_pictures_say_what_the_sweep_says(opened):
    page, found = opened("08_cart.ipynb")
    assert len(found) == 6
    pressed(page, found)
    sweep = bell.run("quick", 0)
    said = lab.says(found[0])
    setting, how = said.split(", λ")[0].rsplit(", ", 1)
    lam = float(re.search(r"λ = ([\d.]+)", said)[1])
    mean = sweep.accuracy.sel(setting=setting, how=how, lam=lam, part="test").isel(rank=-2).mean("task").item()
    assert f"mean accuracy {mean:.3f}" in said


def test_an_exported_panel_works_without_a_kernel_and_without_a_network(page, folder, tmp_path):
    sweep = experiment.run("quick", 0)
    path = panels.gap_per_layer(sweep).save_html(tmp_path / "gap.html")
    page.context.set_offline(True)
    try:
        page.goto(path.as_uri())
        slider, stage = page.locator("input[type=range]"), page.locator(".stage")
        slider.focus()
        page.keyboard.press("Home")
        assert "α = 0.00" in stage.get_attribute("aria-label")
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        page.locator("select").select_option(label="22.5° and 45°")
        here = experiment.at(sweep, pair="22.5° and 45°", alpha=0.15)
        assert all(f"{value:.4f}" in stage.get_attribute("aria-label") for value in here.gap_mean.values)
    finally:
        page.context.set_offline(False)
