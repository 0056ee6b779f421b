"""Chapter 6's measurements and pictures, on the stand-in and in small."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lessons.kit import claims
from lessons.gradients.experiment import bound, epochs, optimisers, plane, rounds, steps
from lessons.gradients.panels import epochs as epoch_panels, expansion as panels
from lessons.merging import merge
from lessons.kit.panel import settings_of
from toy_models import MLP, weights, zoo


@pytest.fixture(scope="module")
def small(standin_folder_session):
    """Less of everything while this file's tests run; what is trained is kept with the other tests' models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        patch.setitem(steps.PROFILES, "quick", steps.Settings(samples=15, etas=(1e-4, 1e-3, 1e-2)))
        patch.setitem(bound.PROFILES, "quick", bound.Settings(samples=15, alphas=(0.1, 0.25, 1.0)))
        patch.setitem(epochs.PROFILES, "quick", epochs.Settings(images=32, test=40, optimisers=(epochs.GD, epochs.SGD), families=(epochs.DIGITS, epochs.FAR)))
        families = {name: epochs.Family(one.dataset, one.angles[:3], one.widths, one.batch, (0.1, 1, {"size": 500})) for name, one in epochs.FAMILIES.items()}
        for module in (epochs, rounds):
            patch.setattr(module, "FAMILIES", families)
        patch.setattr(rounds, "GRID", 4)
        yield


@pytest.fixture(autouse=True)
def folder(small, standin_folder_session, quiet_store, one_thread, monkeypatch):
    """The session's folder also inside a test."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))


@pytest.fixture(scope="module")
def sweeps(small):
    return {name: module.run("quick", 0) for name, module in (("steps", steps), ("plane", plane), ("bound", bound), ("optimisers", optimisers), ("epochs", epochs), ("rounds", rounds))}


# -- trained networks ----------------------------------------------------------------------------------------------------------

def test_checkpoints_are_points_of_one_training():
    """The zoo's networks after one and two epochs are those of one training that goes on, as rounds of merging go on from a merge."""
    angle, base = 15.0, zoo.get(epochs.start(epochs.DIGITS)).state_dict()
    x, y = epochs.samples(epochs.DIGITS, angle, epochs.PROFILES["quick"], "train")
    for passes, recipe in zip((1, 2), epochs.recipes("quick")[epochs.DIGITS, epochs.SGD, angle]):
        own = rounds.finetuned(base, x, y, passes, seed=0)
        assert all(torch.equal(own[key], tensor) for key, tensor in zoo.get(recipe).state_dict().items())


def test_full_batches_are_steps_against_the_gradient():
    base = zoo.get(epochs.start(epochs.DIGITS)).state_dict()
    x, y = epochs.samples(epochs.DIGITS, 15.0, epochs.PROFILES["quick"], "train")
    first, second, *_ = states = epochs.full_batch(base, x, y)
    assert len(states) == len(epochs.EPOCHS)
    for before, after in ((base, first), (first, second)):
        assert torch.allclose(weights.flatten(before) - epochs.LR[epochs.GD] * epochs.gradient(before, x, y), weights.flatten(after).double(), atol=1e-7)


def test_the_gradient_is_autograds():
    network = MLP((4, 5, 3)).double()
    x, y = torch.randn(6, 4, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1, 2])
    F.cross_entropy(network(x), y).backward()
    wanted = torch.cat([parameter.grad.flatten() for parameter in network.parameters()])
    assert torch.allclose(epochs.gradient({key: tensor.detach() for key, tensor in network.state_dict().items()}, x, y), wanted, atol=1e-12)


def test_no_two_tasks_share_a_digit_and_none_was_pretrained_or_held_out():
    settings, family = epochs.PROFILES["quick"], epochs.FAMILIES[epochs.DIGITS]
    firsts = [epochs.first_image(family, angle, settings) for angle in family.angles]
    assert min(np.diff(firsts)) == settings.images and firsts[0] >= epochs.AFTER
    held, _ = epochs.samples(epochs.DIGITS, 15.0, settings, "held")
    for angle in family.angles:
        x, _ = epochs.samples(epochs.DIGITS, angle, settings, "train")
        assert len(x) == settings.images and len(held) == min(settings.images, 200)


def test_shares_add_up_and_the_first_full_batch_epoch_is_the_gradient(sweeps):
    sweep = sweeps["epochs"]
    assert np.allclose(sweep.share.sum("epoch"), 1) and np.allclose(sweep.share_moved.sum("epoch"), 1)
    gd = sweep.sel(optimiser=epochs.GD)
    assert np.allclose(gd.share, gd.share_moved, atol=1e-3) and np.allclose(gd.towards.sel(epochs=1), 1, atol=1e-4)
    assert (sweep.alike.sel(epoch=1, other=1) > 0.999).all()


def test_a_merge_at_scale_0_is_the_network_before_and_at_1_the_average(sweeps):
    sweep, angles = sweeps["epochs"], epochs.FAMILIES[epochs.FAR].angles
    here = sweep.sel(data=epochs.FAR, optimiser=epochs.SGD)
    assert np.allclose(here.accuracy.sel(scale=0.0), here.before)
    states = [zoo.get(epochs.recipes("quick")[epochs.FAR, epochs.SGD, angle][0]).state_dict() for angle in angles]
    tests = [epochs.samples(epochs.FAR, angle, epochs.PROFILES["quick"], "test") for angle in angles]
    loss, accuracy = epochs.evaluate_all([weights.flatten(weights.average(states))], states[0], tests)[0]
    assert here.accuracy.sel(epochs=1, scale=1.0) == pytest.approx(accuracy, abs=0.005) and here.loss.sel(epochs=1, scale=1.0) == pytest.approx(loss, rel=1e-3)


def test_the_chosen_scale_is_best_on_what_was_held_out(sweeps):
    best, sweep = epochs.chosen(sweeps["epochs"]), sweeps["epochs"]
    assert (sweep.held.sel(scale=best.scale) == sweep.held.max("scale")).all()


# -- rounds of merging ---------------------------------------------------------------------------------------------------------

def test_one_round_is_a_single_merge_and_the_start_stays_as_it_is():
    base = zoo.get(epochs.start(epochs.DIGITS)).state_dict()
    before = weights.scale(base, 1.0)
    sets = [epochs.samples(epochs.DIGITS, angle, epochs.PROFILES["quick"], "train") for angle in (15.0, 30.0)]
    one, = rounds.alternate(base, sets, 1, 1.0)
    ends = [rounds.finetuned(base, x, y, rounds.BUDGET, 0) for x, y in sets]
    assert all(torch.allclose(one[key], tensor, atol=1e-6) for key, tensor in merge("average", base, ends).items())
    assert all(torch.equal(base[key], before[key]) for key in base)
    assert len(rounds.alternate(base, sets, 5, 1.0)) == 5


def test_principal_components_of_points_in_a_plane_are_that_plane():
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(6, 2, generator=generator, dtype=torch.float64) @ torch.randn(2, 9, generator=generator, dtype=torch.float64)
    place, axes, explained = rounds.principal(points)
    assert torch.allclose(place @ axes, points - points.mean(0)) and explained[:2].sum() == pytest.approx(1)


def test_distances_between_merges_are_in_units_of_the_averages_way(sweeps):
    sweep, found = sweeps["rounds"], rounds.claim_10(sweeps["rounds"])
    names = [f"{name} {spent}" for name, spent in zip(sweep.name.values, sweep.point_spent.values)]
    a, b, start, average = (names.index(name) for name in ("TIES 10", "Breadcrumbs 10", "pretrained 0", "average 10"))
    assert found["ties_breadcrumbs"] == pytest.approx(float(sweep.distance[a, b] / sweep.distance[start, average]))
    assert -1 <= found["ties_breadcrumbs_cosine"] <= 1 and names.index("1 rounds 10") and float(sweep.distance[average, names.index("1 rounds 10")]) < 1e-3


# -- pictures ------------------------------------------------------------------------------------------------------------------

def test_the_panels_say_what_their_sweeps_hold(sweeps):
    panel = panels.plane(sweeps["plane"]).set(eta=0.8, alpha=1.5, k=5)
    assert "α = 1.50, 5 steps" in panel.alt and not panel.picture.error
    panel = panels.gap(sweeps["steps"])
    assert "same up to rounding" in panel.set(k=1).alt
    now = sweeps["steps"].sel(k=3, network="ReLU", loss="cross-entropy", data="Spirals")
    assert f"{now.crossing.values[-1]:.1%} of the samples" in panel.set(k=3, network="ReLU", data="Spirals").alt
    panel = panels.bound(sweeps["bound"]).set(alpha=0.25, network="linear")
    assert "α = 0.25" in panel.alt and "printed bound 0, 0×" in panel.alt
    sweep = sweeps["epochs"]
    panel = epoch_panels.merging(sweep).set(epochs=20, data=epochs.FAR)
    assert f"{float(sweep.own.sel(data=epochs.FAR, optimiser=epochs.SGD, epochs=20).mean()):.3f}" in panel.alt and "20 epochs" in panel.alt
    panel = epoch_panels.rounds(sweeps["rounds"]).set(rounds=10, budget=2)
    assert "10 rounds" in panel.alt and "after 2 epochs" in panel.alt


def test_every_panel_has_few_enough_settings_for_a_page(sweeps):
    for panel in (panels.plane(sweeps["plane"]), panels.gap(sweeps["steps"]), panels.bound(sweeps["bound"]), epoch_panels.merging(sweeps["epochs"]), epoch_panels.rounds(sweeps["rounds"])):
        assert np.prod([len(settings_of(control)) for control in panel.controls.values()]) <= 2000


def test_still_figures_and_readings_name_the_stand_in_and_their_numbers(sweeps):
    for page in (epoch_panels.first_epoch(sweeps["epochs"], epochs.DIGITS), panels.optimisers(sweeps["optimisers"])):
        assert "Not MNIST!" in page.data
    assert f"{bound.claims(sweeps['bound'])['TVG-5']['corrected_over_C_least']:.1f} times" in panels.reading_of_the_bound(sweeps["bound"]).text
    assert f"{optimisers.numbers(sweeps['optimisers'])['other_power_middle']:.2f}" in panels.reading_of_the_optimisers(sweeps["optimisers"]).text
    assert "tanh: gap " in panels.slopes_table(sweeps["steps"]).text
    assert f"{rounds.claim_10(sweeps['rounds'])['path_loss']:.2f}" in epoch_panels.reading_of_figure_4(sweeps["rounds"]).text
    assert "merged, 1 epoch" in epoch_panels.reading_of_figure_2(sweeps["epochs"]).text and "full batches" in epoch_panels.reading_of_figure_3(sweeps["epochs"]).text


def test_the_chapter_measures_every_number_that_its_verdicts_need(sweeps):
    found = steps.claims(sweeps["steps"]) | bound.claims(sweeps["bound"]) | epochs.claims(sweeps["epochs"]) | rounds.claims(sweeps["rounds"])
    assert set(found) == {f"TVG-{number}" for number in range(1, 12)}
    for id, numbers in found.items():
        for condition in claims.ledger()[id].conditions:
            assert condition.number in numbers or "adam" in condition.number or "spirals" in condition.number, (id, condition.number)
