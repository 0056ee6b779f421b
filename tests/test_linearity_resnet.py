"""Chapter 2: the experiment on Split CIFAR-100 and its panels, on a ResNet18 of width 2 and the stand-in."""
import itertools

import numpy as np
import pytest
import torch

import data
from lessons.kit import claims, plotting
from lessons.linearity import algorithms
from lessons.linearity.experiment import resnet as experiment
from lessons.linearity.panels import resnet as panels
from lessons.kit.panel import settings_of
from toy_models import ResNet18, batchnorm, weights, zoo

TINY = experiment.Settings(width=2, size=64, pretraining_epochs=1, finetuning_epochs=1, test_images=12, statistics_images=16, alphas=(0.0, 0.25, 0.5, 0.75, 1.0), amounts=(
    experiment.Amount("nothing", (0,), 0, 64), experiment.Amount("1 split", (0,), 1, 64)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("resnet")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, folder):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(folder))
    monkeypatch.setitem(experiment.PROFILES, "tiny", TINY)
    monkeypatch.setattr(experiment, "AMOUNTS_WIDTH", 2)
    monkeypatch.setattr(experiment, "STEP_IMAGES", (2, 64))
    monkeypatch.setattr(experiment, "DRAWS", 2)


@pytest.fixture
def sweep():
    return experiment.run("tiny")


def shown(sweep, task):
    """The test images and labels of a task that the sweep was measured on."""
    return experiment._images_of(task, "test", TINY.test_images)


@pytest.mark.parametrize("treatment", experiment.TREATMENTS)
def test_gap_and_coef_are_what_the_definitions_say(sweep, treatment):
    networks, (i, j), alpha = experiment.models("tiny"), (1, 3), 0.5
    statistics = torch.cat([experiment._images_of(task, "train", TINY.statistics_images)[0] for task in (i, j)])
    x = torch.cat([shown(sweep, task)[0] for task in (i, j)])
    middle = ResNet18.from_state(weights.interpolate(networks[i].state_dict(), networks[j].state_dict(), alpha))
    treat = {"interpolated": lambda network: network, "re-estimated": lambda network: batchnorm.reestimated(network, statistics, 100),
             "batch": batchnorm.with_batch_statistics}[treatment]
    at_i, at_j, at_middle = ({name: f.flatten(1).double() for name, f in treat(network).features(x).items()} for network in (networks[i], networks[j], middle))
    here = experiment.at(sweep, treatment=treatment, pair="splits 1 and 3", alpha=alpha)
    for layer in at_i:
        mixed = alpha * at_i[layer] + (1 - alpha) * at_j[layer]
        gap = 1 - torch.nn.functional.cosine_similarity(at_middle[layer], mixed)
        coef = (at_middle[layer] * mixed).sum(1) / (mixed * mixed).sum(1)
        assert here.gap_mean.sel(layer=layer).item() == pytest.approx(gap.mean().item(), abs=1e-5)
        assert here.coef_mean.sel(layer=layer).item() == pytest.approx(coef.mean().item(), rel=1e-4)
    logits = at_middle["output"][:12, 5:10]
    assert here.accuracy.sel(task="i").item() == pytest.approx((logits.argmax(1) + 5 == shown(sweep, i)[1]).double().mean().item())


def test_the_sweep_is_exact_at_both_ends_and_complete(sweep):
    ends = sweep.sel(alpha=[0.0, 1.0])
    assert abs(ends.gap_mean).max() < 1e-9 and abs(ends.coef_mean - 1).max() < 1e-9
    assert (ends.accuracy == ends.mixed_accuracy).all()
    assert list(sweep.pair.values) == [f"splits {i} and {j}" for i, j in itertools.combinations((1, 2, 3, 4), 2)]
    assert (sweep.coef_count.sum("bin") <= 2 * TINY.test_images).all() and sweep.attrs["source_kind"] == "stand-in"
    assert sweep.distance.min() > 0


def test_each_network_is_asked_about_its_own_task(sweep):
    network, (x, y) = experiment.models("tiny")[2], shown(sweep, 2)
    right = (network(x)[:, 10:15].argmax(1) + 10 == y).double().mean().item()
    assert sweep.own_accuracy.sel(treatment="interpolated", model=2).item() == pytest.approx(right)


def test_every_setting_trains_on_whole_batches_except_the_literal_one():
    for profile in ("quick", "width 16", "full"):
        groups = [experiment.recipes(profile), *experiment.amount_recipes(profile).values()]
        for recipe in (recipe for group in groups for recipe in group.values()):
            assert algorithms.last_batch(dict(recipe.options)["size"], recipe.batch_size) == 64, recipe
    assert algorithms.last_batch(len(data.load("split_cifar100", "train", splits=(0,))), 64) == 4


def test_the_finetuning_tasks_are_in_no_pretraining_but_that_on_all_splits():
    for amount in experiment.PROFILES["full"].amounts:
        assert not set(amount.splits) & set(experiment.TASKS) or len(amount.splits) == 20


def test_a_line_that_was_measured_is_not_measured_again(monkeypatch):
    made = experiment.recipes("tiny")
    first = experiment.line(made[1], made[2], TINY)
    monkeypatch.setattr(experiment, "_along", lambda *_: pytest.fail("measured again"))
    assert first.identical(experiment.line(made[1], made[2], TINY))


def test_amounts_start_from_networks_that_saw_more_and_more():
    amounts = experiment.run_amounts("tiny")
    assert list(amounts.steps.values) == [0, 1] and list(amounts.amount.values) == ["nothing", "1 split"]
    made = experiment.amount_recipes("tiny")
    assert made["nothing"][1].parent == made["nothing"][None] and made["nothing"][None].epochs == 0
    line = experiment.line(made["1 split"][1], made["1 split"][2], TINY)
    assert np.array_equal(amounts.gap_mean.sel(amount="1 split").transpose(*line.gap_mean.dims).values, line.gap_mean.values)


def test_one_more_step_leaves_the_network_as_it_was_and_is_measured_after_it():
    recipe = experiment.amount_recipes("tiny")["1 split"][1]
    before = {key: tensor.clone() for key, tensor in zoo.get(recipe).state_dict().items()}
    steps = experiment.run_small_steps("tiny")
    assert steps.sizes == {"treatment": 2, "images": 2, "draw": 2} and (steps.moved > 0).all()
    assert all(torch.equal(tensor, before[key]) for key, tensor in zoo.get(recipe).state_dict().items())


def test_the_estimate_says_how_many_models_are_missing(monkeypatch, tmp_path):
    monkeypatch.setattr(experiment, "seconds_per_step", lambda width: 0.1)
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "nothing"))
    monkeypatch.setattr(experiment, "AMOUNTS_WIDTH", 16)
    assert "8 of 8 models" in experiment.estimate("quick") and " s on this machine" in experiment.estimate("quick")
    assert "minutes on this machine" in experiment.estimate("full")
    with pytest.raises(ValueError, match="unknown profile 'half'.*quick"):
        experiment.estimate("half")


def test_the_estimate_of_a_chapter_that_is_on_disk_is_short(sweep):
    experiment.run_amounts("tiny")
    assert "in the zoo" in experiment.estimate("tiny")


def test_a_step_is_timed_on_a_real_network():
    assert 0 < experiment.seconds_per_step(2) < 60


def test_an_unknown_treatment_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown treatment 'none'.*interpolated, re-estimated, batch"):
        experiment.treated(experiment.models("tiny")[1], "none", torch.zeros(1, 3, 32, 32))


# -- panels --------------------------------------------------------------------------------------------------------------------

def every(panel):
    """All settings of a panel's controls, as dicts; the panel is moved to each in turn."""
    grids = {name: settings_of(control) for name, control in panel.controls.items()}
    for values in itertools.product(*grids.values()):
        yield dict(zip(grids, values)), panel.set(**dict(zip(grids, values)))


def test_every_frame_of_the_gap_panel_says_the_sweeps_numbers(sweep):
    for where, panel in every(panels.gap_per_layer(sweep)):
        here = experiment.at(sweep, **where)
        assert all(f"{gap:.4f} against {own:.3f}" in panel.alt for gap, own in zip(here.gap_mean.values, here.own_mean.values)) and where["treatment"] in panel.alt


def test_every_frame_of_the_coef_panel_says_the_sweeps_numbers(sweep):
    for where, panel in every(panels.coef_per_block(sweep)):
        assert all(f"{layer} {median:.2f}" in panel.alt for layer, median in zip(sweep.layer.values, experiment.at(sweep, **where).coef_median.values))


def test_every_frame_of_the_batchnorm_panel_says_the_sweeps_numbers(sweep):
    for where, panel in every(panels.batchnorm_side_by_side(sweep)):
        for treatment in experiment.TREATMENTS:
            here = experiment.at(sweep, treatment=treatment, **where)
            assert f"{treatment}: accuracy {here.accuracy.mean().item():.3f}, gap {here.gap_mean.values[-2]:.3f}" in panel.alt


def test_every_frame_of_the_pretraining_panel_says_the_sweeps_numbers():
    amounts = experiment.run_amounts("tiny")
    for where, panel in every(panels.pretraining(amounts)):
        here = experiment.at(amounts, **where)
        for amount in amounts.amount.values:
            part = here.sel(amount=amount)
            share = (part.gap_mean / part.own_mean).values
            assert f"pretrained on {amount}: share of own distance {share[0]:.3f} in block 1, {share[-2]:.3f} in block 8, accuracy {part.accuracy.mean().item():.3f}" in panel.alt


def test_every_frame_of_the_answers_panel_counts_right_answers(sweep):
    names = sweep.class_name.values
    for where, panel in every(panels.answers(sweep)):
        line = experiment.at(sweep, treatment=where["treatment"], pair=where["pair"])
        i, j = experiment.pairs("tiny")[where["pair"]]
        labels = sweep.example_label.sel(task_number=[i, j]).values
        right = [(line.answer.sel(alpha=alpha).transpose("task", "image").values == labels).sum() for alpha in (1.0, where["alpha"], 0.0)]
        assert f"θᵢ names {right[0]} right, the network at α = {where['alpha']:.2f} names {right[1]}, θⱼ names {right[2]}" in panel.alt
        assert f"The first is a {names[labels[0, 0]]}" in panel.alt


@pytest.mark.parametrize("make", [panels.gap_per_layer, panels.coef_per_block, panels.batchnorm_side_by_side, panels.answers], ids=lambda make: make.__name__)
def test_a_panels_background_is_drawn_once_and_its_frames_stay_the_same(make, sweep, monkeypatch):
    unkept = make(sweep.drop_attrs().assign_attrs({name: value for name, value in sweep.attrs.items() if name != "digest"}))
    first = make(sweep)
    monkeypatch.setattr(plotting.MovingFigure, "_drawn", lambda self: pytest.fail("drawn again"))
    second = make(sweep)
    for panel in (unkept, first, second):
        panel.set(alpha=0.25, pair="splits 2 and 3")
    assert unkept.picture.background == first.picture.background == second.picture.background
    assert unkept.picture.frame["marks"] == first.picture.frame["marks"] == second.picture.frame["marks"]


def test_a_damaged_background_is_drawn_again(sweep, folder):
    background = panels.gap_per_layer(sweep).picture.background
    kept = next((folder / "figures").glob("gap_per_layer-*.json"))
    kept.write_bytes(kept.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="damaged"):
        assert panels.gap_per_layer(sweep).picture.background == background


def test_the_example_images_are_those_of_the_labels(sweep):
    from data import split_cifar100
    for place, task in enumerate(sweep.task_number.values):
        x, y = shown(sweep, int(task))
        assert np.allclose(sweep.example.values[place], split_cifar100.unnormalise(x[:experiment.EXAMPLES]).movedim(1, -1).numpy())
        assert list(sweep.example_label.values[place]) == y[:experiment.EXAMPLES].tolist() and all(label // 5 == task for label in y.tolist())


def test_figures_have_words_and_differ_between_treatments(sweep):
    pages = [panels.figure_15(sweep).data, panels.figure_15(sweep, "batch").data, panels.figure_16(sweep).data, panels.examples(sweep).data,
             panels.small_steps(experiment.run_small_steps("tiny")).data, panels.small_steps(experiment.run_small_steps("tiny"), 0.5).data]
    assert len(set(pages)) == len(pages) and all('alt="' in page and 'alt=""' not in page and "Not CIFAR-100!" in page for page in pages)


def test_the_readings_say_this_sweeps_numbers(sweep):
    of = experiment.by_depth(sweep, "interpolated")
    text = panels.reading(sweep).text
    assert f"{of['block_1_share']:.0%} of the two ends' own distance in block 1 and {of['block_8_share']:.0%} in block 8" in text
    amounts = experiment.run_amounts("tiny")
    assert "nothing" in panels.reading_of_amounts(amounts)._repr_html_() and "goes from" in panels.reading_of_amounts(amounts).text
    assert "steps each" not in panels.reading_of_amounts(amounts).text
    accuracy = amounts.accuracy.sel(treatment="interpolated", alpha=0.5, amount="nothing").mean().item()
    assert "After 5 steps each, nothing: " in (said := panels.reading_of_amounts(amounts.assign(steps=("amount", [5, 5]))).text) and f"{accuracy:.2f}" in said


def test_the_question_before_the_gaps_has_chapter_1s_number_from_the_ledger(monkeypatch):
    monkeypatch.setattr(panels.claims, "measured", lambda: {"CTL-2": {"gap_over_own_most": [0.062, 0.134]}})
    assert "never more than 13% of the two ends' own distance. Half-way" in panels.question()
    monkeypatch.setattr(panels.claims, "measured", dict)
    assert panels.question().startswith("Half-way between")


# -- claims --------------------------------------------------------------------------------------------------------------------

def test_claims_are_named_after_their_profile_and_follow_from_the_sweep(sweep):
    found = experiment.claims(sweep)
    part = sweep.sel(treatment="interpolated", alpha=[0.25, 0.5, 0.75], layer="block 8")
    assert found.keys() == {"CTL-3", "CTL-5"} and all(name.startswith("tiny ") for numbers in found.values() for name in numbers)
    middle = sweep.sel(treatment="interpolated", alpha=0.5)
    assert found["CTL-3"]["tiny accuracy_middle"] == pytest.approx(middle.accuracy.mean().item())
    assert found["CTL-3"]["tiny block_8_share"] == pytest.approx((part.gap_mean / part.own_mean).mean().item())
    assert found["CTL-5"]["tiny block_8_coef"] == pytest.approx(part.coef_mean.mean().item())


def test_the_ledgers_conditions_name_numbers_that_are_measured():
    for id in ("CTL-3", "CTL-5"):
        numbers = claims.measured()[id]
        assert {condition.number for condition in claims.ledger()[id].conditions} <= numbers.keys()
        assert {name.rsplit(" ", 1)[0].removesuffix(" re-estimated") for name in numbers} <= set(experiment.LEDGER)
