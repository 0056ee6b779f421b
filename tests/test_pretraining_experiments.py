"""Chapter 5's measurements and pictures, on the stand-in and in small."""
import itertools

import numpy as np
import pytest
import torch

from lessons.linearity import algorithms as linearity
from lessons.kit.panel import settings_of
from lessons.pretraining.algorithms import curvature as algorithms, matching
from lessons.pretraining.experiment import curvature, labels, line, overview, resnet, starts
from lessons.pretraining.panels import curvature as curvature_panels, labels as label_panels, resnet as resnet_panels, starts as panels
from toy_models import MLP, Architecture, Recipe, weights, zoo

SMALL = line.Settings(test_images=100, train_images=60, alphas=(0.0, 0.25, 0.5, 0.75, 1.0))


@pytest.fixture(scope="module")
def small(standin_folder_session):
    """Less training and fewer images, while this file's tests run; what is trained is kept with the other tests' models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        for profile in line.PROFILES:
            patch.setitem(line.PROFILES, profile, SMALL)
        patch.setattr(labels, "PRETRAIN_EPOCHS", 3)
        patch.setattr(labels, "FINETUNE_IMAGES", 400)
        patch.setattr(curvature, "FINETUNE_IMAGES", 300)
        patch.setattr(curvature, "CHECKPOINTS", tuple((200 + 100 * i, 1 + i, 0.1) for i in range(5)))
        yield


@pytest.fixture(scope="module")
def of_starts(small):
    return starts.run("quick", 0)


@pytest.fixture(scope="module")
def of_labels(small):
    return labels.run("quick", 0)


@pytest.fixture(scope="module")
def of_curvature(small):
    return curvature.run("quick", 0)


@pytest.fixture(autouse=True)
def folder(small, standin_folder_session, quiet_store, monkeypatch):
    """The session's folder also inside a test."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))


# -- what the sweeps hold ------------------------------------------------------------------------------------------------------

def test_every_network_sees_the_same_number_of_images():
    def passes(recipe):
        return recipe.epochs + (passes(recipe.parent) if recipe.parent else 0)
    assert len({passes(recipe) for recipe in starts.recipes(0).values()}) == 1


def test_strangers_share_no_start_and_the_others_do():
    made = starts.recipes(0)
    assert made["a, 45°"].parent == made["a, 90°"].parent != made["b, 90°"].parent
    assert made["pretrained, 45°"].parent == made["pretrained, 90°"].parent
    assert not weights.norm(weights.subtract(*(zoo.get(made[name].parent).state_dict() for name in ("a, 45°", "a, 90°"))))


@pytest.mark.parametrize("setting", starts.SETTINGS)
def test_the_numbers_of_a_setting_are_those_of_its_two_networks(setting, of_starts):
    names = {starts.ONE_START: ("a, 45°", "a, 90°"), starts.PRETRAINED: ("pretrained, 45°", "pretrained, 90°")}.get(setting, ("a, 45°", "b, 90°"))
    i, j = (zoo.get(starts.recipes(0)[name]) for name in names)
    some = line.of_both(line.train_images, SMALL.train_images)[0]
    permutations = starts.permutations_between(i, j, some, 0).get(setting, matching.identity(j.state_dict(), starts.PLAN))
    state_j = matching.permute(j.state_dict(), starts.PLAN, permutations)
    x, y = line.of_both(line.test_images, SMALL.test_images)
    middle = MLP.from_state(weights.interpolate(i.state_dict(), state_j, 0.5))
    here = of_starts.sel(pair="two tasks", setting=setting, treatment="as it is", alpha=0.5)
    loss, accuracy = linearity.evaluate(middle(x), y)
    assert here.loss.item() == pytest.approx(loss, rel=1e-4) and here.accuracy.item() == pytest.approx(accuracy, abs=0.006)
    found = linearity.ctl(middle.features(x), i.features(x), MLP.from_state(state_j).features(x), 0.5)
    for layer in found:
        assert here.gap_mean.sel(layer=layer).item() == pytest.approx(found[layer]["gap"].nanmean().item(), rel=1e-3)
        assert here.coef_mean.sel(layer=layer).item() == pytest.approx(found[layer]["coef"].nanmean().item(), rel=1e-3)


def test_matching_changes_neither_end_and_repair_changes_neither_either(of_starts):
    strangers = of_starts.sel(pair="two tasks", setting=list(starts.HOWS))
    for alpha in (0.0, 1.0):
        ends = strangers.loss.sel(alpha=alpha)
        assert float(ends.max() - ends.min()) < 1e-3
    assert of_starts.same_answers.max() < 1e-4 and of_starts.recovered.all()
    assert of_starts.own_mean.sel(pair="one task", setting=starts.PRETRAINED).isnull().all(), "there is no such pair"


def test_a_matched_pair_is_closer_in_weights_than_an_unmatched_one(of_starts):
    distance = of_starts.distance.sel(pair="two tasks")
    assert distance.sel(setting=starts.BY_WEIGHTS) < distance.sel(setting=starts.STRANGERS)


def test_correlations_are_those_of_the_units_at_their_places(of_starts):
    i, j = (zoo.get(starts.recipes(0)[name]) for name in ("a, 45°", "b, 90°"))
    x = line.of_both(line.test_images, SMALL.test_images)[0]
    plain = np.corrcoef(i.features(x)["layer 2"].T, j.features(x)["layer 2"].T)[:100, 100:]
    kept = of_starts.correlation.sel(how=starts.STRANGERS, unit_layer="layer 2").transpose("unit", "partner").values / 100
    assert np.nanmax(np.abs(plain - kept)) <= 0.0051


def test_shuffled_labels_are_part_of_the_recipe_and_all_starts_share_random_weights(of_labels):
    made = labels.recipes(0)
    assert dict(made["shuffled 0.5"]["start"].options)["shuffled"] == 0.5 and "shuffled" not in dict(made["shuffled 0"]["start"].options)
    assert len({recipe.key for one in made.values() for recipe in one.values()}) == 4 * len(made)
    assert len({one["start"].seed for one in made.values()}) == 1
    assert of_labels.moved.sel(start=labels.NOTHING) == 0 and (of_labels.moved.drop_sel(start=labels.NOTHING) > 0).all()
    assert list(of_labels.start.values) == list(labels.SHOWN)


def test_the_gap_after_pretraining_is_that_of_its_two_networks(of_labels):
    made = labels.recipes(0)["shuffled 1"]
    i, j = zoo.get(made["i"]), zoo.get(made["other way"])
    x = line.test_images(45.0, SMALL.test_images)[0]
    middle = MLP.from_state(weights.interpolate(i.state_dict(), j.state_dict(), 0.5))
    found = linearity.ctl(middle.features(x), i.features(x), j.features(x), 0.5)["layer 2"]
    here = of_labels.sel(start="shuffled 1", pair=labels.PAIRS[0], layer="layer 2")
    assert here.gap_mean.item() == pytest.approx(found["gap"].nanmean().item(), rel=1e-3)


def test_thirty_or_sixty_pairs_of_three_or_six_checkpoints_with_different_settings(of_curvature):
    assert of_curvature.sizes["pairs"] == 30 and len(set(of_curvature.checkpoint.values)) == 3 and "pairs" not in curvature.claim_17(of_curvature)
    assert [len(curvature.recipes(profile)) * len(curvature.PAIRS) for profile in ("quick", "full")] == [30, 60]
    assert curvature.recipes("full")[:3] == curvature.recipes("quick")
    for one in curvature.recipes("full"):
        assert all(recipe.parent == one[0] for recipe in one[1:])
        assert len({recipe.lr for recipe in one[1:]}) >= 4 and len({recipe.epochs for recipe in one[1:]}) >= 3 and len({recipe.batch_size for recipe in one[1:]}) >= 3


def test_the_numbers_of_a_pair_agree_with_the_definitions(of_curvature):
    x, y = line.train_images(curvature.ANGLE, 2 * SMALL.train_images)
    for number in (0, 17):
        checkpoint, (i, j) = number // 10, curvature.PAIRS[number % 10]
        start, *ends = zoo.get_all(curvature.recipes()[checkpoint])
        f, theta_0 = algorithms.of_network(start, algorithms.cross_entropy(y), x)
        theta_i, theta_j = (weights.flatten(ends[k].state_dict()) for k in (i, j))
        here = of_curvature.isel(pairs=number)
        assert here.deviation.item() == pytest.approx(algorithms.deviation(f, theta_i, theta_j, 0.5), rel=1e-3, abs=1e-6)
        assert here.at_start.item() == pytest.approx(algorithms.second_order(f, theta_0, theta_i, theta_j, 0.5), rel=1e-3, abs=1e-6)
        assert here.largest.item() * here.distance_squared.item() / 8 == pytest.approx(algorithms.bound(here.largest.item(), theta_i, theta_j, 0.5), rel=1e-4)
        assert abs(here.at_start.item()) <= 1.01 * here.largest.item() * here.distance_squared.item() / 8


def test_the_smooth_stand_in_is_as_near_to_the_relu_as_the_text_says():
    h = torch.linspace(-5, 5, 10_001, dtype=torch.float64)
    assert (torch.nn.functional.softplus(h, beta=curvature.SHARPNESS) - h.relu()).abs().max() < 0.035
    network, x = MLP((6, 5, 4, 3)).double().requires_grad_(False), torch.randn(20, 6, dtype=torch.float64)
    smooth = curvature.smooth_forward(weights.flatten(network.state_dict()), network.state_dict(), x)
    assert 0 < (smooth - network(x)).abs().max() < 0.5


def test_an_unknown_profile_is_named():
    for function in (starts.run, labels.run, curvature.run, resnet.run, overview.estimate):
        with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
            function("huge")


def test_the_second_run_reads_the_same_numbers_from_disk(of_starts, of_labels, of_curvature, monkeypatch):
    for module, sweep in ((starts, of_starts), (labels, of_labels), (curvature, of_curvature)):
        with monkeypatch.context() as patch:
            patch.setattr(module, "measure", None)  # would fail if it were called
            assert module.run("quick", 0).equals(sweep)
    assert "seconds" in overview.estimate("quick", 0) and "training steps" in overview.estimate("full", 0)


def test_the_claims_are_numbers_of_the_sweeps(of_starts, of_labels, of_curvature):
    claim = starts.claims(of_starts)["CTL-14"]
    hidden = of_starts.gap_mean.sel(pair="two tasks", setting=starts.BY_WEIGHTS, alpha=0.5, treatment="as it is")[:3]
    assert claim["weight_matching_gap"] == pytest.approx(hidden.mean().item()) and claim["planted_recovered"] == 5
    assert labels.claims(of_labels)["CTL-15"]["two_tasks_shuffled_gap"] == of_labels.gap_mean.sel(start="shuffled 1", pair="two tasks").mean().item()
    of = curvature.claims(of_curvature)
    assert of["CTL-17"]["distance_r2"] == pytest.approx(np.corrcoef(of_curvature.distance_squared, np.abs(of_curvature.deviation))[0, 1] ** 2)
    assert of["CTL-16"]["pairs_within_bound"] == np.mean(np.abs(of_curvature.deviation.values) <= of_curvature.largest.values * of_curvature.distance_squared.values / 8)


# -- the ResNets ---------------------------------------------------------------------------------------------------------------

def test_resnets_are_for_full_alone():
    assert resnet.run("quick") is None
    assert "full" in resnet_panels.matched(None).text


def test_four_settings_on_tiny_resnets():
    tiny = {"options": {"size": 60}, "lr": 0.05, "epochs": 1, "batch_size": 30}
    made = {name: Recipe.on("split_cifar100", Architecture.of("ResNet18", width=2, num_classes=100), **(tiny | {"options": {"splits": (1 + number % 2,), "size": 60}}), seed=number)
            for number, name in enumerate(("p1", "p2", "s1", "s2"))}
    measured = resnet.measure(made)
    assert measured.sizes["setting"] == 4 and measured.sizes["layer"] == 9 and measured.same_answers.max() < 1e-3
    own = measured.own_mean.sel(layer="output", setting=[starts.STRANGERS, starts.BY_WEIGHTS, starts.BY_FEATURES])
    assert float(own.max() - own.min()) < 1e-3, "a matched network has the outputs it had"
    page = resnet_panels.matched(measured.assign_attrs(source="a stand-in", source_kind="stand-in", dataset="CIFAR-100", network="ResNet-18", profile="full", seed=0))
    assert "Not CIFAR-100!" in page.data


# -- pictures ------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("alpha, pair, treatment", [(0.25, "two tasks", "as it is"), (0.5, "one task", "repaired")])
def test_the_line_panel_says_the_sweeps_numbers(alpha, pair, treatment, of_starts):
    panel = panels.along_the_line(of_starts).set(alpha=alpha, pair=pair, treatment=treatment)
    here = of_starts.sel(alpha=alpha, pair=pair, treatment=treatment)
    for setting in starts.HOWS:
        assert f"{setting} {here.loss.sel(setting=setting).item():.3f}, " in panel.alt
    assert ("pretrained" in panel.alt) == (pair == "two tasks") and f"{alpha:.2f}" in panel.alt


def test_the_units_panel_says_the_mean_correlation(of_starts):
    panel = panels.units(of_starts)
    for how, layer in itertools.product(starts.HOWS, settings_of(panel.controls["layer"])):
        panel.set(how=how, layer=layer)
        values = np.diag(of_starts.correlation.sel(how=how, unit_layer=layer).transpose("unit", "partner").values / 100)
        assert f"correlates {values.mean():.2f} on average" in panel.alt


def test_the_slider_of_shuffled_labels_says_the_sweeps_numbers(of_labels):
    panel = label_panels.shuffled(of_labels)
    for fraction, pair in itertools.product(labels.fractions(of_labels), labels.PAIRS):
        assert len(labels.fractions(of_labels)) == 3
        panel.set(fraction=fraction, pair=pair)
        assert f"mean over the layers: {of_labels.gap_mean.sel(start=labels.fraction_name(fraction), pair=pair).mean().item():.4f}" in panel.alt


def test_the_panel_of_both_sides_says_the_sweeps_numbers(of_curvature):
    panel = curvature_panels.both_sides(of_curvature)
    for function, scale in itertools.product(curvature.FUNCTIONS, (1.0, 1 / 64)):
        panel.set(function=function, scale=scale)
        here = of_curvature.sel(function=function, scale=scale)
        assert f"measured δ {abs(here.scaled_deviation.item()):.3g}, second-order term {here.scaled_second.item():.3g}, bound {here.scaled_bound.item():.3g}" in panel.alt


def test_figures_have_words_and_name_the_stand_in(of_starts, of_labels, of_curvature):
    for figure, sweep in ((panels.figure_11, of_starts), (label_panels.figure_12, of_labels), (curvature_panels.slack, of_curvature), (curvature_panels.regressions, of_curvature)):
        page = figure(sweep).data
        assert "Not MNIST!" in page and 'alt=""' not in page


def test_readings_hold_the_sweeps_numbers(of_starts, of_labels, of_curvature):
    assert f"{starts.claim_14(of_starts)['one_random_start_gap']:.3f}" in panels.reading_of_figure_11(of_starts).text
    assert f"{of_starts.own_accuracy.values[0]:.3f}" in panels.accuracies(of_starts).text
    assert f"{labels.over_normal(of_labels, 'two tasks', 'shuffled 0'):.1f} times" in label_panels.reading_of_figure_12(of_labels).text
    curved = [of_labels.curvature.sel(start=start).item() for start in ("shuffled 0", "shuffled 1", labels.NORMAL)]
    assert f" {max(curved[:2]) / curved[2]:.1f} times as sharply curved" in label_panels.reading_of_figure_12(of_labels).text
    assert f"moved {of_labels.moved.sel(start='shuffled 1').item():.1f}" in label_panels.what_was_learned(of_labels).text
    assert f"{curvature.theorem(of_curvature, 'loss')['slack']:.0f} times" in curvature_panels.reading_of_the_theorem(of_curvature).text
    assert f"here {curvature.r2(of_curvature)['product']:.3f}" in curvature_panels.reading_of_the_regressions(of_curvature).text
