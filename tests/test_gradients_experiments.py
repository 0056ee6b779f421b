"""Chapter 6's measurements and pictures, on the stand-in and in small."""
import numpy as np
import pytest
import torch
import torch.nn.functional as F
import xarray

import data
from lessons.gradients import experiment, panels
from lessons.gradients.experiment import bound, epochs, optimisers, plane, rounds, steps
from lessons.gradients.experiment.epochs import DIGITS, FAR, GD, SGD
from lessons.kit import claims
from lessons.merging import merge
from toy_models import MLP, weights, zoo

AMOUNTS = epochs.Amounts(images=32, test=40)
SMALL = {steps: steps.Settings(samples=15, etas=(1e-4, 1e-3, 1e-2)),
         bound: bound.Settings(samples=15, alphas=(0.1, 0.2, 0.25, 0.5, 1.0)),
         optimisers: optimisers.Settings(samples=15, etas=(1e-4, 1e-3, 1e-2)),
         epochs: epochs.Settings(AMOUNTS, optimisers=(GD, SGD), families=(DIGITS, FAR)),
         rounds: rounds.Settings(AMOUNTS, scales=(1.0,), grid=4)}
FAMILIES = {name: epochs.Family(one.dataset, one.angles[:3], one.widths, one.batch, (0.1, 1, {"size": 500}))
            for name, one in epochs.FAMILIES.items()}


@pytest.fixture(scope="module")
def small(standin_folder_session):
    """Less of everything while this file's tests run; what is trained is kept with the other tests' models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        for module, settings in SMALL.items():
            patch.setitem(module.PROFILES, "quick", settings)
        patch.setattr(epochs, "FAMILIES", FAMILIES)
        yield


@pytest.fixture(autouse=True)
def folder(small, standin_folder_session, quiet_store, one_thread, monkeypatch):
    """The session's folder also inside a test."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))


@pytest.fixture(scope="module")
def sweeps(small):
    """{module: its sweep}."""
    return {module: module.run("quick", 0) for module in (steps, plane, bound, optimisers, epochs, rounds)}


def pretrained():
    return zoo.get(epochs.start(DIGITS)).state_dict()


def samples(angle, part, name=DIGITS):
    return epochs.samples(name, angle, AMOUNTS, part)


# -- trained networks ------------------------------------------------------------------------------

def test_checkpoints_are_points_of_one_training():
    """The zoo's networks after one and two epochs are those of one training that goes on, as rounds of merging go on
    from a merge."""
    base = pretrained()
    x, y = samples(15.0, "train")
    checkpoints = epochs.recipes(SMALL[epochs])[DIGITS, SGD, 15.0]
    for passes, recipe in zip((1, 2), checkpoints):
        own = rounds.finetuned(base, x, y, passes, seed=0)
        assert all(torch.equal(own[key], tensor) for key, tensor in zoo.get(recipe).state_dict().items())


def test_the_front_door_says_which_data_and_how_much_there_is_to_train(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path))
    experiment.announce("quick", 0)
    # one start, for both families begin upright; families, tasks, checkpoints; the start of the line's other end
    networks = 1 + 2 * 3 * 7 + 1
    assert capsys.readouterr().out.splitlines() == [
        str(data.source("rotated_mnist", angle=0.0)),
        f"{networks} of {networks} MLPs have to be trained: about 8 s on two cores, once."]


def test_full_batches_are_steps_against_the_gradient():
    base = pretrained()
    x, y = samples(15.0, "train")
    first, second, *_ = states = epochs.full_batch(base, x, y)
    assert len(states) == len(epochs.EPOCHS)
    for before, after in ((base, first), (first, second)):
        wanted = weights.flatten(before) - epochs.LR[GD] * epochs.gradient(before, x, y)
        assert torch.allclose(wanted, weights.flatten(after).double(), atol=1e-7)


def test_the_gradient_is_autograds():
    network = MLP((4, 5, 3)).double()
    x = torch.randn(6, 4, dtype=torch.float64)
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    F.cross_entropy(network(x), y).backward()
    wanted = torch.cat([parameter.grad.flatten() for parameter in network.parameters()])
    state = {key: tensor.detach() for key, tensor in network.state_dict().items()}
    assert torch.allclose(epochs.gradient(state, x, y), wanted, atol=1e-12)


def test_no_two_tasks_share_a_digit_and_none_was_pretrained_or_held_out():
    family = epochs.FAMILIES[DIGITS]
    firsts = [epochs.first_image(family, angle, AMOUNTS.images) for angle in family.angles]
    assert min(np.diff(firsts)) == AMOUNTS.images and firsts[0] >= epochs.AFTER
    held, _ = samples(15.0, "held")
    assert len(held) == min(AMOUNTS.images, epochs.MOST_HELD)
    for first, angle in zip(firsts, family.angles):
        own = data.load("rotated_mnist", "train", angle=angle, first=first, size=AMOUNTS.images)
        assert torch.equal(samples(angle, "train")[0], own.x.flatten(1))
    beyond = data.load("rotated_mnist", "train", angle=15.0, first=firsts[-1] + AMOUNTS.images, size=len(held))
    assert torch.equal(held, beyond.x.flatten(1))


def test_shares_add_up_and_the_first_full_batch_epoch_is_the_gradient(sweeps):
    sweep = sweeps[epochs]
    assert np.allclose(sweep.share.sum("epoch"), 1) and np.allclose(sweep.share_moved.sum("epoch"), 1)
    gd = sweep.sel(optimiser=GD)
    assert np.allclose(gd.share, gd.share_moved, atol=1e-3)
    assert np.allclose(gd.towards.sel(epochs=1), 1, atol=1e-4)
    assert (sweep.alike.sel(epoch=1, other=1) > 0.999).all()


def test_a_merge_at_scale_0_is_the_network_before_and_at_1_the_average(sweeps):
    here = sweeps[epochs].sel(data=FAR, optimiser=SGD)
    assert np.allclose(here.accuracy.sel(scale=0.0), here.before)
    recipes = epochs.recipes(SMALL[epochs])
    angles = epochs.FAMILIES[FAR].angles
    states = [zoo.get(recipes[FAR, SGD, angle][0]).state_dict() for angle in angles]
    tests = [samples(angle, "test", FAR) for angle in angles]
    loss, accuracy = epochs.evaluate_all([weights.flatten(weights.average(states))], states[0], tests)[0]
    average = here.sel(epochs=1, scale=1.0)
    assert average.accuracy == pytest.approx(accuracy, abs=0.005)
    assert average.loss == pytest.approx(loss, rel=1e-3)


def test_the_chosen_scale_is_best_on_what_was_held_out(sweeps):
    sweep = sweeps[epochs]
    best = epochs.chosen(sweep)
    assert (sweep.held.sel(scale=best.scale) == sweep.held.max("scale")).all()


# -- rounds of merging -----------------------------------------------------------------------------

def test_one_round_is_a_single_merge_and_the_start_stays_as_it_is():
    base = pretrained()
    before = weights.scale(base, 1.0)
    sets = [samples(angle, "train") for angle in (15.0, 30.0)]
    one, = rounds.alternate(base, sets, 1, 1.0)
    ends = [rounds.finetuned(base, x, y, rounds.BUDGET, 0) for x, y in sets]
    average = merge("average", base, ends)
    assert all(torch.allclose(one[key], tensor, atol=1e-6) for key, tensor in average.items())
    assert all(torch.equal(base[key], before[key]) for key in base)
    assert len(rounds.alternate(base, sets, 5, 1.0)) == 5


def test_principal_components_of_points_in_a_plane_are_that_plane():
    generator = torch.Generator().manual_seed(0)
    places = torch.randn(6, 2, generator=generator, dtype=torch.float64)
    points = places @ torch.randn(2, 9, generator=generator, dtype=torch.float64)
    place, axes, explained = rounds.principal(points)
    assert torch.allclose(place @ axes, points - points.mean(0))
    assert explained[:2].sum() == pytest.approx(1)


def test_distances_between_merges_are_in_units_of_the_averages_way(sweeps):
    sweep = sweeps[rounds]
    found = rounds.claim_10(sweep)
    names = [f"{name} {spent}" for name, spent in zip(sweep.name.values, sweep.point_spent.values)]

    def apart(a, b):
        return float(sweep.distance[names.index(a), names.index(b)])

    unit = apart("pretrained 0", "average 10")
    assert rounds.SCALED[1] == 1.0, "lengths of 1 are the merges of the panel"
    assert found["ties_breadcrumbs"] == pytest.approx(apart("TIES 10", "Breadcrumbs 10") / unit)
    assert -1 <= found["ties_breadcrumbs_cosine"] <= 1
    assert apart("average 10", "1 rounds 10") < 1e-3, "one round is one merge"


def test_a_barrier_is_the_rise_over_the_straight_line_between_the_ends():
    line = xarray.DataArray([[1.0, 1.0, 3.0], [1.0, 5.0, 3.0], [2.0, 0.0, 2.0]], dims=("pair", "along"),
                            coords={"along": [0.0, 0.5, 1.0]})
    assert rounds.barrier(line).values.tolist() == [0, 3, 0]


def test_lines_between_merges_end_at_the_merges(sweeps):
    sweep = sweeps[rounds]
    line = sweep.line.sel(lengths=rounds.GIVEN, pair=rounds.pair_name("DARE", "average"))
    assert AMOUNTS.test < rounds.SOME, "so that the line, too, is measured on all of them"
    for along, how in ((0.0, "DARE"), (1.0, "average")):
        end = pytest.approx(float(line.sel(along=along)), rel=1e-4)
        assert float(sweep.how_loss.sel(how=how, budget=10)) == end
        assert float(sweep.scaled_loss.sel(how=how, longer=1.0)) == end
    best = sweep.scaled_held.max("longer")
    assert (sweep.scaled_held.sel(longer=sweep.chosen) == best).all()


# -- pictures --------------------------------------------------------------------------------------

def test_the_plane_says_where_the_walks_are(sweeps):
    sweep = sweeps[plane]
    view = panels.plane.walks(sweep).set(eta=0.8, alpha=1.5, k=5)
    x, y = sweep.joint.sel(eta=0.8, alpha=1.5, step=5).values
    assert "α = 1.50, 5 steps" in view.alt and f"θ_MT at ({x:.2f}, {y:.2f})" in view.alt


def test_the_gap_says_which_samples_lie_across_a_kink(sweeps):
    view = panels.steps.gap(sweeps[steps]).set(k=3, network="ReLU", data="Spirals", eta=0.01)
    now = sweeps[steps].sel(k=3, network="ReLU", loss="cross-entropy", data="Spirals", alpha=steps.AVERAGE)
    assert f"Of the samples {now.crossing.values[-1]:.2%} lie across a kink." in view.alt
    assert "kink" not in view.set(network="tanh").alt
    assert "kink" not in view.set(network="ReLU", k=10).alt


def test_the_bound_says_that_the_printed_one_is_zero_at_the_average(sweeps):
    sweep = sweeps[bound]
    view = panels.bound.against_alpha(sweep).set(alpha=0.25, network="linear")
    C = float(sweep.C.sel(alpha=0.25, network="linear"))
    assert f"α = 0.25: measured ‖C‖ {C:.3g}." in view.alt and "the theorem's bound is 0, 0×" in view.alt


def test_merging_says_own_and_merged_accuracy(sweeps):
    here = sweeps[epochs].sel(data=FAR, optimiser=SGD, epochs=20)
    merged = epochs.chosen(sweeps[epochs]).accuracy.sel(data=FAR, optimiser=SGD, epochs=20)
    view = panels.epochs.merging(sweeps[epochs]).set(epochs=20, data=FAR)
    assert f"20 epochs: on their own tasks the six networks have accuracy {float(here.own.mean()):.3f} ±" in view.alt
    assert f"their merge has {float(merged):.3f} ±" in view.alt


def test_many_merges_say_where_they_end(sweeps):
    sweep = sweeps[rounds]
    view = panels.rounds.many_merges(sweep).set(rounds=10, budget=2)
    end = float(sweep.accuracy.sel(rounds=10, scale=1.0, spent=10))
    dare = float(sweep.how_accuracy.sel(how="DARE", budget=2))
    assert view.alt.startswith("10 rounds") and f"accuracy {end:.3f} ±" in view.alt
    assert "after 2 epochs" in view.alt and f"DARE {dare:.3f}." in view.alt


def test_every_panel_has_few_enough_settings_for_a_page(sweeps):
    for view in (panels.plane.walks(sweeps[plane]), panels.steps.gap(sweeps[steps]),
                 panels.bound.against_alpha(sweeps[bound]), panels.epochs.merging(sweeps[epochs]),
                 panels.rounds.many_merges(sweeps[rounds])):
        assert np.prod([len(control.values) for control in view.controls.values()]) <= 2000


def test_still_figures_name_the_stand_in_and_their_numbers(sweeps):
    first = panels.epochs.first_epoch(sweeps[epochs], DIGITS).data
    share = sweeps[epochs].share_moved.sel(data=DIGITS, optimiser=SGD, epoch=1).mean("task")
    assert "Digits to 90°: six tasks, one line a task. " in first
    assert "Not MNIST!" in first and f"SGD: shares {float(share):.2f}," in first
    digits, likeness = (draw(sweeps[epochs]).data for draw in (panels.epochs.turned_digits, panels.epochs.likeness))
    assert "Not MNIST!" in digits and "digits to 90°: 15°, 30°, 45°; digits to 180°: 30°, 60°, 90°." in digits
    cosine = float(sweeps[epochs].towards.sel(data=DIGITS, optimiser=SGD, epochs=20).mean())
    assert "Not MNIST!" in likeness and f"20 epochs {cosine:.2f} and " in likeness
    gaps = panels.optimisers.gaps(sweeps[optimisers]).data
    sweep = sweeps[optimisers].sel(optimiser=optimisers.ADAM, step=8)
    least, *_, most = (sweep.gap / sweep.far).values
    assert "Not MNIST!" in gaps and f"{optimisers.ADAM} after 8 steps {least:.2g} to {most:.2g}" in gaps


def test_readings_say_what_the_sweeps_hold(sweeps):
    of = steps.claim_3(sweeps[steps])
    kinks = panels.steps.reading_of_the_kinks(sweeps[steps]).text
    assert f"our term misses {of['relu_missed_over_gap']:.0%} of the gap" in kinks
    crossed = sweeps[steps].assign(crossing=sweeps[steps].crossing + 0.01)
    assert "At every step size some sample crosses." in panels.steps.reading_of_the_kinks(crossed).text
    of = bound.claims(sweeps[bound])["TVG-5"]
    loose = panels.bound.reading_of_the_bound(sweeps[bound]).text
    assert f"cases below ‖C‖ none, median of the cases {of['tight_over_C_median']:.1f} times ‖C‖" in loose
    of = optimisers.numbers(sweeps[optimisers])
    others = panels.optimisers.reading_of_the_optimisers(sweeps[optimisers]).text
    assert f"it is {of['other_power_middle']:.2f} in the middle of an epoch" in others
    assert f"have a cosine of only {1 - of['adam_turn']:.2f}." in others
    of = epochs.claims(sweeps[epochs])
    figure_3 = panels.epochs.reading_of_figure_3(sweeps[epochs]).text
    assert f"With full batches it has {of['TVG-6']['gd_first_share']:.0%}, and" in figure_3
    assert f"a mean cosine of {of['TVG-7']['sgd_cosine_mean']:.2f} with it." in figure_3
    below = (sweeps[epochs].alike_moved.sel(optimiser=GD, epoch=1) < 0.8).any("other").mean()
    least = of["TVG-7"]["gd_cosine_least"]
    wanted = f"least {least:.2f}, tasks in which it falls below 0.8 by epoch 5 {below:.0%}, mean"
    assert wanted in figure_3.splitlines()[-1]
    scattered = panels.steps.slopes_table(sweeps[steps]).page
    relu = sweeps[steps].crossing.sel(network="ReLU", k=[2, 3, 5]).isel(eta=[0, steps.TINY - 1])
    calm = int((relu == 0).all("eta").sum())
    assert f"in {calm} of {relu.isel(eta=0).size} cases" in scattered.replace("\n", " ")
    of = rounds.claim_10(sweeps[rounds])
    figure_4 = panels.rounds.reading_of_figure_4(sweeps[rounds]).text
    assert f"ends at a loss of {of['path_loss']:.2f}, and joint training at {of['joint_loss']:.2f}." in figure_4
    least = min(of["best_single_loss"], of["best_scaled_loss"])
    assert f"The best single merge has {least:.2f}: the least of all four methods, at" in figure_4
    best = epochs.chosen(sweeps[epochs]).accuracy.sel(data=DIGITS, optimiser=SGD)
    gain = float(best.sel(epochs=20) - best.sel(epochs=1))
    assert f"{gain:+.3f}".replace("-", "−") in panels.epochs.does_one_epoch_do(sweeps[epochs]).text


def test_tables_have_a_row_for_everything_that_was_measured(sweeps):
    lines = panels.steps.slopes_table(sweeps[steps]).text.splitlines()
    wanted = [f"{name}, α = {alpha:g}" for name in ("linear", "tanh", "ReLU") for alpha in steps.ALPHAS]
    assert [line.split(":")[0] for line in lines] == wanted
    of_tanh = steps.slopes(sweeps[steps].gap.sel(network="tanh", alpha=steps.AVERAGE, k=[2, 3, 5]))
    low, high = f"{float(of_tanh.min()):.2f}", f"{float(of_tanh.max()):.2f}"
    assert lines[2].startswith(f"tanh, α = 0.25: gap {low if low == high else f'{low} to {high}'}, ")
    assert len(panels.steps.lemma_table(sweeps[steps]).text.splitlines()) == 2
    lines = panels.epochs.reading_of_figure_2(sweeps[epochs]).text.splitlines()
    wanted = [[f"{data}, {rule}", which]
              for data in (DIGITS, FAR) for rule in (GD, SGD) for which in ("alone", "merged")]
    assert [line.split(": ", 2)[:2] for line in lines] == wanted
    alone = float(sweeps[epochs].own.sel(data=FAR, optimiser=SGD, epochs=20).mean())
    assert f"20 {alone:.2f}" in lines[-2]
    kept = epochs.claim_11(sweeps[epochs])["far_sgd_kept"]
    assert f"share of own gain kept, epochs 1–20 {kept:.2f}" in lines[-1]


# -- the ledger ------------------------------------------------------------------------------------

def test_the_chapter_measures_every_number_that_its_verdicts_need(sweeps):
    found = {}
    for module in (steps, bound, epochs, rounds):
        found |= module.claims(sweeps[module])
    assert set(found) == {f"TVG-{number}" for number in range(1, 12)}
    for id, numbers in found.items():
        for condition in claims.ledger()[id].conditions:
            elsewhere = "adam" in condition.number or "spirals" in condition.number  # in full alone
            elsewhere = elsewhere or condition.number.startswith("ViT ")  # in chapter 12
            assert condition.number in numbers or elsewhere, (id, condition.number)
