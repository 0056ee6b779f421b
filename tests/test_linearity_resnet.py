"""Chapter 2: the experiment on Split CIFAR-100 and its panels, on a ResNet18 of width 2 and the stand-in."""
import itertools

import numpy as np
import pytest
import torch
import yaml

import data
from data import split_cifar100
from lessons import cast
from lessons.kit import claims, plotting
from lessons.kit.panel import settings_of
from lessons.kit.predict import predict
from lessons.linearity import algorithms
from lessons.linearity.experiment import resnet as experiment
from lessons.linearity.experiment import resnet_line
from lessons.linearity.panels import lines
from lessons.linearity.panels import resnet as panels
from toy_models import ResNet18, batchnorm, weights, zoo

TINY = experiment.Settings(
    width=2, size=64, pretraining_epochs=1, finetuning_epochs=1, test_images=12, statistics_images=16,
    alphas=(0.0, 0.25, 0.5, 0.75, 1.0),
    amounts=(experiment.Amount("nothing", (0,), 0, 64), experiment.Amount("1 split", (0,), 1, 64)), amounts_width=2,
    step_images=(4, 64), draws=2)
QUICK, FULL = experiment.PROFILES["quick"], experiment.PROFILES["full"]
WIDTH_16, LITERAL = experiment.WIDTH_16.profiles["full"], experiment.LITERAL.profiles["full"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("resnet")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, folder):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(folder))
    monkeypatch.setitem(experiment.PROFILES, "tiny", TINY)


@pytest.fixture
def sweep():
    return experiment.run("tiny")


def shown(sweep, task):
    """The test images and labels of a task that the sweep was measured on."""
    return experiment.images_of(task, "test", TINY.test_images)


@pytest.mark.parametrize("treatment", experiment.TREATMENTS)
def test_gap_and_coef_are_what_the_definitions_say(sweep, treatment):
    networks, (i, j), alpha = experiment.models(TINY), (1, 3), 0.5
    statistics = torch.cat([experiment.images_of(task, "train", TINY.statistics_images)[0] for task in (i, j)])
    x = torch.cat([shown(sweep, task)[0] for task in (i, j)])
    middle = ResNet18.from_state(weights.interpolate(networks[i].state_dict(), networks[j].state_dict(), alpha))
    treat = {"interpolated": lambda network: network,
             "re-estimated": lambda network: batchnorm.reestimated(network, statistics, 100),
             "batch": batchnorm.with_batch_statistics}[treatment]

    def features(network):
        return {name: feature.flatten(1).double() for name, feature in treat(network).features(x).items()}

    at_i, at_j, at_middle = features(networks[i]), features(networks[j]), features(middle)
    here = experiment.at(sweep, treatment=treatment, pair="splits 1 and 3", alpha=alpha)
    for layer in at_i:
        mixed = alpha * at_i[layer] + (1 - alpha) * at_j[layer]
        gap = 1 - torch.nn.functional.cosine_similarity(at_middle[layer], mixed)
        coef = (at_middle[layer] * mixed).sum(1) / (mixed * mixed).sum(1)
        assert here.gap_mean.sel(layer=layer).item() == pytest.approx(gap.mean().item(), abs=1e-5)
        assert here.coef_mean.sel(layer=layer).item() == pytest.approx(coef.mean().item(), rel=1e-4)
    logits = at_middle["output"][:12, 5:10]
    right = (logits.argmax(1) + 5 == shown(sweep, i)[1]).double().mean().item()
    assert here.accuracy.sel(task="i").item() == pytest.approx(right)


def test_the_sweep_is_exact_at_both_ends_and_complete(sweep):
    ends = sweep.sel(alpha=[0.0, 1.0])
    assert abs(ends.gap_mean).max() < 1e-9 and abs(ends.coef_mean - 1).max() < 1e-9
    assert (ends.accuracy == ends.mixed_accuracy).all()
    assert list(sweep.pair.values) == [f"splits {i} and {j}" for i, j in itertools.combinations((1, 2, 3, 4), 2)]
    assert (sweep.coef_count.sum("bin") <= 2 * TINY.test_images).all() and sweep.attrs["source_kind"] == "stand-in"
    assert sweep.distance.min() > 0


def test_each_network_is_asked_about_its_own_task(sweep):
    network, (x, y) = experiment.models(TINY)[2], shown(sweep, 2)
    right = (network(x)[:, 10:15].argmax(1) + 10 == y).double().mean().item()
    assert sweep.own_accuracy.sel(treatment="interpolated", model=2).item() == pytest.approx(right)


def test_every_setting_trains_on_whole_batches_except_the_literal_one():
    for settings in (QUICK, FULL, WIDTH_16):
        for recipe in [*experiment.recipes(settings).values(), *experiment.all_amount_recipes(settings)]:
            assert algorithms.last_batch(dict(recipe.options)["size"], recipe.batch_size) == 64, recipe
    assert all("size" not in dict(recipe.options) for recipe in experiment.recipes(LITERAL).values())
    assert algorithms.last_batch(len(data.load("split_cifar100", "train", splits=(0,))), 64) == 4


def test_the_finetuning_tasks_are_in_no_pretraining_but_that_on_all_splits():
    for amount in FULL.amounts:
        assert not set(amount.splits) & set(experiment.TASKS) or len(amount.splits) == 20


def test_the_networks_of_width_16_are_those_of_the_cast():
    assert experiment.recipes(WIDTH_16, 2) == cast.split_resnets(2)
    assert experiment.amount_recipes(FULL, 1)["all 20 splits, 1 pass"][None] == cast.widely_pretrained_resnet(1)


def test_a_line_that_was_measured_is_not_measured_again(monkeypatch):
    made = experiment.recipes(TINY)
    first = experiment.line(made[1], made[2], TINY)
    monkeypatch.setattr(resnet_line, "_along", lambda *_: pytest.fail("measured again"))
    assert first.identical(experiment.line(made[1], made[2], TINY))


def test_amounts_start_from_networks_that_saw_more_and_more():
    amounts = experiment.run_amounts("tiny")
    assert list(amounts.steps.values) == [0, 1] and list(amounts.amount.values) == ["nothing", "1 split"]
    made = experiment.amount_recipes(TINY)
    assert made["nothing"][1].parent == made["nothing"][None] and made["nothing"][None].epochs == 0
    line = experiment.line(made["1 split"][1], made["1 split"][2], TINY)
    gap = amounts.gap_mean.sel(amount="1 split").transpose(*line.gap_mean.dims)
    assert np.array_equal(gap.values, line.gap_mean.values)
    assert amounts.attrs["network"] == "ResNet-18 of width 2" and amounts.attrs["images"] == "24 test images a pair"


def test_one_more_step_leaves_the_network_as_it_was_and_is_measured_after_it():
    recipe = experiment.amount_recipes(TINY)["1 split"][1]
    assert experiment.stepping_recipe(TINY) == recipe, "not the network that was never pretrained"
    before = {key: tensor.clone() for key, tensor in zoo.get(recipe).state_dict().items()}
    steps = experiment.run_small_steps("tiny")
    assert steps.sizes == {"treatment": 2, "images": 2, "draw": 2} and (steps.moved > 0).all()
    assert steps.attrs["images"] == "12 test images"
    assert all(torch.equal(tensor, before[key]) for key, tensor in zoo.get(recipe).state_dict().items())


def test_a_chapter_says_which_data_and_how_many_models_are_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(experiment, "seconds_per_step", lambda width: 0.1)
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "nothing"))
    experiment.announce("quick")
    first, second = capsys.readouterr().out.splitlines()
    assert first == str(data.source("split_cifar100", splits=(0, 1, 2, 3, 4)))
    assert "8 of 8 models" in second and " s on this machine" in second
    assert "minutes on this machine" in experiment.estimate(FULL)
    with pytest.raises(ValueError, match="unknown profile 'half'.*quick"):
        experiment.announce("half")


def test_the_estimate_of_a_chapter_that_is_on_disk_is_short(sweep):
    experiment.run_amounts("tiny")
    assert "in the zoo" in experiment.estimate(TINY)


def test_a_step_is_timed_on_a_real_network():
    assert 0 < experiment.seconds_per_step(2) < 60


def test_an_unknown_treatment_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown treatment 'none'.*interpolated, re-estimated, batch"):
        algorithms.treated(experiment.models(TINY)[1], "none", torch.zeros(1, 3, 32, 32))


# -- panels ----------------------------------------------------------------------------------------

def every(panel):
    """All settings of a panel's controls, as dicts; the panel is moved to each in turn."""
    grids = {name: settings_of(control) for name, control in panel.controls.items()}
    for values in itertools.product(*grids.values()):
        yield dict(zip(grids, values)), panel.set(**dict(zip(grids, values)))


def test_every_frame_of_the_gap_panel_says_the_sweeps_numbers(sweep):
    for where, panel in every(lines.gap_per_layer(sweep)):
        here = experiment.at(sweep, **where)
        assert where["treatment"] in panel.alt
        for gap, own in zip(here.gap_mean.values, here.own_mean.values):
            assert f"{gap:.4f} against {own:.3f}" in panel.alt


def test_every_frame_of_the_coef_panel_says_the_sweeps_numbers(sweep):
    for where, panel in every(panels.coef_per_block(sweep)):
        medians = experiment.at(sweep, **where).coef_median.values
        assert all(f"{layer} {median:.2f}" in panel.alt for layer, median in zip(sweep.layer.values, medians))


def test_every_frame_of_the_batchnorm_panel_says_the_sweeps_numbers(sweep):
    for where, panel in every(panels.batchnorm_side_by_side(sweep)):
        for treatment in experiment.TREATMENTS:
            here = experiment.at(sweep, treatment=treatment, **where)
            accuracy, gap = here.accuracy.mean().item(), here.gap_mean.values[-2]
            assert f"{treatment}: accuracy {accuracy:.3f}, gap {gap:.3f}" in panel.alt


def test_every_frame_of_the_pretraining_panel_says_the_sweeps_numbers():
    amounts = experiment.run_amounts("tiny")
    for where, panel in every(panels.pretraining(amounts)):
        here = experiment.at(amounts, **where)
        for amount in amounts.amount.values:
            part = here.sel(amount=amount)
            share = (part.gap_mean / part.own_mean).values
            shares = f"{share[0]:.3f} in block 1, {share[-2]:.3f} in block 8"
            accuracy = part.accuracy.mean().item()
            said = f"pretrained on {amount}: share of own distance {shares}, accuracy {accuracy:.3f}"
            assert said in panel.alt


def test_every_frame_of_the_answers_panel_counts_right_answers(sweep):
    names = sweep.class_name.values
    for where, panel in every(panels.answers(sweep)):
        line = experiment.at(sweep, treatment=where["treatment"], pair=where["pair"])
        i, j = experiment.PAIRS[where["pair"]]
        labels = sweep.example_label.sel(task_number=[i, j]).values
        right = []
        for alpha in (1.0, where["alpha"], 0.0):
            right.append((line.answer.sel(alpha=alpha).transpose("task", "image").values == labels).sum())
        assert f"θᵢ names {right[0]} right, the network at α = {where['alpha']:.2f} names {right[1]}" in panel.alt
        assert f"θⱼ names {right[2]}. " in panel.alt
        assert f"The first is a {names[labels[0, 0]]}" in panel.alt


@pytest.mark.parametrize("make", [lines.gap_per_layer, panels.coef_per_block, panels.batchnorm_side_by_side,
                                  panels.answers], ids=lambda make: make.__name__)
def test_a_panels_background_is_drawn_once_and_its_frames_stay_the_same(make, sweep, monkeypatch):
    attributes = {name: value for name, value in sweep.attrs.items() if name != "digest"}
    unkept = make(sweep.drop_attrs().assign_attrs(attributes))
    first = make(sweep)
    monkeypatch.setattr(plotting.MovingFigure, "_drawn", lambda self: pytest.fail("drawn again"))
    second = make(sweep)
    for panel in (unkept, first, second):
        panel.set(alpha=0.25, pair="splits 2 and 3")
    assert unkept.picture.background == first.picture.background == second.picture.background
    assert unkept.picture.frame["marks"] == first.picture.frame["marks"] == second.picture.frame["marks"]


def test_a_damaged_background_is_drawn_again(sweep, folder):
    background = lines.gap_per_layer(sweep).picture.background
    kept = next((folder / "figures").glob("gap_per_layer-*.json"))
    kept.write_bytes(kept.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="damaged"):
        assert lines.gap_per_layer(sweep).picture.background == background


def test_the_example_images_are_those_of_the_labels(sweep):
    for place, task in enumerate(sweep.task_number.values):
        x, y = shown(sweep, int(task))
        pictures = split_cifar100.unnormalise(x[:experiment.EXAMPLES]).movedim(1, -1)
        assert np.allclose(sweep.example.values[place], pictures.numpy())
        assert list(sweep.example_label.values[place]) == y[:experiment.EXAMPLES].tolist()
        assert all(label // 5 == task for label in y.tolist())


def test_figures_have_words_and_differ_between_treatments(sweep):
    steps = experiment.run_small_steps("tiny")
    guess = predict("how accurate?")
    guess.commit(0.5)
    drawn = [panels.figure_15(sweep), panels.figure_15(sweep, "batch"), panels.figure_16(sweep), panels.examples(sweep),
             panels.small_steps(steps), panels.small_steps(steps, guess)]
    pages = [page.data for page in drawn]
    assert len(set(pages)) == len(pages)
    for page in pages:
        assert 'alt="' in page and 'alt=""' not in page and "Not CIFAR-100!" in page


def test_the_figure_of_small_steps_answers_a_prediction_also_when_it_was_kept():
    steps = experiment.run_small_steps("tiny")
    for _ in range(2):
        guess = predict("how accurate?")
        guess.commit(0.5)
        panels.small_steps(steps, guess)
        assert "measured:" in guess.said


def test_the_figure_of_small_steps_says_their_mean():
    steps = experiment.run_small_steps("tiny")
    mean = steps.accuracy.sel(treatment="interpolated", images=4).mean().item()
    moved = steps.moved.mean("draw").values
    page = panels.small_steps(steps).data
    assert f"mean over 2 draws: 4 images {mean:.2f}, 64 images " in page
    assert f"falls from {moved[0]:.3f} on 4 images to {moved[1]:.3f} on 64." in page


def test_the_readings_say_this_sweeps_numbers(sweep):
    of = experiment.by_depth(sweep, "interpolated")
    text = panels.reading_of_blocks(sweep).text
    assert f"{of['block_1_share']:.0%} of the two ends' own distance in block 1 and {of['block_8_share']:.0%}" in text
    small = sweep.assign(gap_mean=0.01 * sweep.own_mean + 0 * sweep.gap_mean)
    assert "Agrees with the source throughout: " in panels.reading_of_blocks(small).text
    far = sweep.assign(gap_mean=sweep.own_mean + 0 * sweep.gap_mean)
    assert "Agrees with the source in the first blocks only: " in panels.reading_of_blocks(far).text


def test_the_reading_of_amounts_says_their_numbers():
    amounts = experiment.run_amounts("tiny")
    part = amounts.sel(treatment="interpolated", alpha=0.5)
    first, last = (part.gap_mean / part.own_mean).sel(layer="block 8").values
    page = panels.reading_of_amounts(amounts)
    assert page.text.endswith(f"the gap in block 8 goes from {first:.0%} to {last:.0%} of the ends' own distance.")
    own = part.own_mean.sel(layer="block 8", amount="nothing").item()
    assert f"<td>0</td><td>{part.pretrained_accuracy[0].item():.2f}</td><td>{own:.2f}</td>" in page._repr_html_()
    accuracy = part.accuracy.sel(amount="nothing").mean().item()
    text = panels.reading_of_amounts(amounts.assign(steps=("amount", [5, 5]))).text
    assert f"After 5 steps each, nothing: {first:.0%}, half-way accuracy {accuracy:.2f}; 1 split: {last:.0%}" in text


def test_the_question_before_the_gaps_has_chapter_1s_number_from_the_ledger(monkeypatch):
    monkeypatch.setattr(panels.claims, "measured", lambda: {"CTL-2": {"gap_over_own_most": [0.062, 0.134]}})
    assert "never more than 13% of the two ends' own distance. Half-way" in panels.question()
    monkeypatch.setattr(panels.claims, "measured", dict)
    assert panels.question().startswith("Half-way between")


# -- claims ----------------------------------------------------------------------------------------

def test_claims_are_named_after_their_profile_and_follow_from_the_sweep(sweep):
    found = experiment.claims(sweep)
    part = sweep.sel(treatment="interpolated", alpha=[0.25, 0.5, 0.75], layer="block 8")
    assert found.keys() == {"CTL-3", "CTL-5"}
    assert all(name.startswith("tiny ") for numbers in found.values() for name in numbers)
    middle = sweep.sel(treatment="interpolated", alpha=0.5)
    assert found["CTL-3"]["tiny accuracy_middle"] == pytest.approx(middle.accuracy.mean().item())
    assert found["CTL-3"]["tiny block_8_share"] == pytest.approx((part.gap_mean / part.own_mean).mean().item())
    assert found["CTL-5"]["tiny block_8_coef"] == pytest.approx(part.coef_mean.mean().item())


def test_the_ledgers_conditions_name_numbers_that_are_measured():
    for id in ("CTL-3", "CTL-5"):
        numbers = claims.measured()[id]
        assert {condition.number for condition in claims.ledger()[id].conditions} <= numbers.keys()


def test_the_ledgers_numbers_and_runs_are_those_of_its_experiments(sweep):
    named = {"CTL-3": set(), "CTL-5": set()}
    for one in experiment.LEDGER:
        for profile in one.ledger:
            for id, numbers in one.claims(sweep.assign_attrs(profile=profile)).items():
                named[id] |= numbers.keys()
    for id, names in named.items():
        assert {name for name in names if claims.ledger()[id].keeps(name)} == claims.measured()[id].keys()
    asked = {(one.name, profile, seed) for one in experiment.LEDGER for profile in one.ledger
             for seed in one.ledger[profile]}
    kept = set()
    for run in yaml.safe_load(claims.MEASURED.read_text(encoding="utf-8"))["runs"]:
        if run["module"] == experiment.__name__:
            kept |= {(run["experiment"], run["profile"], seed) for seed in run["seeds"]}
    assert asked == kept
