"""Chapter 5's measurements and pictures, on the stand-in and in small."""
import dataclasses
import itertools
import re

import numpy as np
import pytest
import torch
import xarray

from lessons.kit import archive, claims, page
from lessons.linearity import algorithms as linearity
from lessons.pretraining import algorithms, experiment, panels
from lessons.pretraining.algorithms import matching
from lessons.pretraining.experiment import curvature, labels, line, resnet, starts
from toy_models import MLP, Architecture, Recipe, weights, zoo

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
TEST_IMAGES = 100
TRAIN_IMAGES = 60
SMALL = {starts: {"test_images": TEST_IMAGES, "train_images": TRAIN_IMAGES, "alphas": ALPHAS},
         labels: {"test_images": TEST_IMAGES, "train_images": TRAIN_IMAGES},
         curvature: {"train_images": TRAIN_IMAGES}}


@pytest.fixture(scope="module")
def small(standin_folder_session):
    """Less training and fewer images, while this file's tests run; what is trained is kept with the other tests'
    models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        for module, less in SMALL.items():
            for profile, settings in list(module.PROFILES.items()):
                patch.setitem(module.PROFILES, profile, dataclasses.replace(settings, **less))
        patch.setattr(labels, "PRETRAIN_EPOCHS", 3)
        patch.setattr(labels, "FINETUNE_IMAGES", 400)
        patch.setattr(curvature, "FINETUNE_IMAGES", 300)
        patch.setattr(curvature, "CHECKPOINTS", tuple((200 + 100 * i, 1 + i, 0.1, 16, i / 4) for i in range(4)))
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


# -- what the sweeps hold --------------------------------------------------------------------------

def test_every_network_sees_the_same_number_of_images_and_each_start_is_there_for_both_times_apart():
    def passes(recipe):
        return recipe.epochs + (passes(recipe.parent) if recipe.parent else 0)
    made = starts.recipes(0)
    as_the_source = [name for name in made if "briefly" not in name and "longer" not in name]
    assert len({passes(made[name]) for name in as_the_source}) == 1
    epoch = made["pretrained, 45°"].epochs
    for settings, epochs in ((starts.ONE_EPOCH, epoch), (starts.TWO_EPOCHS, 2 * epoch)):
        for setting in settings:
            pair = [made[f"{starts.TOGETHER[setting]}, {angle:g}°"] for angle in line.ANGLES]
            assert [recipe.epochs for recipe in pair] == [epochs] * 2 and pair[0].parent == pair[1].parent


def test_strangers_share_no_start_and_the_others_do():
    made = starts.recipes(0)
    assert made["a, 45°"].parent == made["a, 90°"].parent != made["b, 90°"].parent
    assert made["pretrained, 45°"].parent == made["pretrained, 90°"].parent
    begun = [zoo.get(made[name].parent).state_dict() for name in ("a, 45°", "a, 90°", "b, 90°")]
    assert weights.norm(weights.subtract(begun[0], begun[1])) == 0
    assert weights.norm(weights.subtract(begun[0], begun[2])) > 1


def test_what_is_trained_names_every_network_and_what_it_begins_from():
    everything = starts.all_recipes(0)
    assert {*starts.recipes(0).values(), *line.common(0).values()} <= set(everything)
    assert len(set(everything)) == len(everything) == 12
    for recipe in everything:
        assert recipe.parent is None or everything.index(recipe.parent) < everything.index(recipe)


@pytest.mark.parametrize("setting", [*starts.SETTINGS, *starts.EQUALLY_LONG])
def test_the_numbers_of_a_setting_are_those_of_its_two_networks(setting, of_starts):
    kept = {name: (f"{of}, 45°", f"{of}, 90°") for name, of in starts.TOGETHER.items()}
    i, j = (zoo.get(starts.recipes(0)[name]) for name in kept.get(setting, ("a, 45°", "b, 90°")))
    some, _ = line.of_both(line.train_images, TRAIN_IMAGES)
    nothing = matching.identity(j.state_dict(), starts.PLAN)
    permutations = starts.permutations_between(i, j, some, 0).get(setting, nothing)
    state_j = matching.permute(j.state_dict(), starts.PLAN, permutations)
    x, y = line.of_both(line.test_images, TEST_IMAGES)
    middle = MLP.from_state(weights.interpolate(i.state_dict(), state_j, 0.5))
    here = of_starts.sel(pair="two tasks", setting=setting, treatment="as it is", alpha=0.5)
    loss, accuracy = linearity.evaluate(middle(x), y)
    assert here.loss.item() == pytest.approx(loss, rel=1e-4)
    assert here.accuracy.item() == pytest.approx(accuracy, abs=0.006)
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
    pretrained = of_starts.own_mean.sel(pair="one task", setting=starts.PRETRAINED)
    assert pretrained.isnull().all(), "there is no such pair"


def test_a_matched_pair_is_closer_in_weights_than_an_unmatched_one(of_starts):
    distance = of_starts.distance.sel(pair="two tasks")
    assert distance.sel(setting=starts.BY_WEIGHTS) < distance.sel(setting=starts.STRANGERS)


def test_correlations_are_those_of_the_units_at_their_places(of_starts):
    i, j = (zoo.get(starts.recipes(0)[name]) for name in ("a, 45°", "b, 90°"))
    x, _ = line.of_both(line.test_images, TEST_IMAGES)
    plain = np.corrcoef(i.features(x)["layer 2"].T, j.features(x)["layer 2"].T)[:100, 100:]
    correlation = of_starts.correlation.sel(how=starts.STRANGERS, unit_layer="layer 2")
    kept = correlation.transpose("unit", "partner").values / 100
    assert np.nanmax(np.abs(plain - kept)) <= 0.0051


def test_shuffled_labels_are_part_of_the_recipe_and_all_starts_share_random_weights(of_labels):
    made = labels.recipes(0)
    assert dict(made["shuffled 0.5"]["start"].options)["shuffled"] == 0.5
    assert "shuffled" not in dict(made["shuffled 0"]["start"].options)
    assert len({recipe.key for one in made.values() for recipe in one.values()}) == 7 * len(made)
    assert len({one["start"].seed for one in made.values()}) == 1
    assert of_labels.moved.sel(start=labels.NOTHING) == 0
    assert (of_labels.moved.drop_sel(start=labels.NOTHING) > 0).all()
    assert list(of_labels.start.values) == list(labels.SHOWN)


def test_the_gap_after_pretraining_is_that_of_its_two_networks(of_labels):
    made = labels.recipes(0)["shuffled 1"]
    i, j = (zoo.get(made[role]) for role in ("i", "other way"))
    x, _ = line.test_images(45.0, TEST_IMAGES)
    middle = MLP.from_state(weights.interpolate(i.state_dict(), j.state_dict(), 0.5))
    found = linearity.ctl(middle.features(x), i.features(x), j.features(x), 0.5)["layer 2"]
    here = of_labels.sel(start="shuffled 1", pair=labels.PAIRS[0], layer="layer 2")
    assert here.gap_mean.item() == pytest.approx(found["gap"].nanmean().item(), rel=1e-3)


def test_finetuning_gently_is_the_same_in_shorter_steps_and_more_of_them():
    made = labels.recipes(0)["shuffled 1"]
    for usual, gently in zip(labels.ROLES[1:], labels.GENTLY):
        a, b = made[usual], made[gently]
        assert b.lr == pytest.approx(a.lr / 10) and b.epochs == 5 * a.epochs
        assert dataclasses.replace(b, lr=a.lr, epochs=a.epochs) == a


def test_at_equal_distance_networks_are_as_far_apart_as_the_normal_pair_and_that_pair_stays(of_labels):
    normal = of_labels.sel(start=labels.NORMAL)
    assert np.allclose(normal.equal_gap, normal.gap_mean, rtol=1e-3)
    made = labels.recipes(0)["shuffled 1"]
    start, i, j = (weights.flatten(zoo.get(made[role]).state_dict()) for role in ("start", "i", "other way"))
    scale = normal.distance.sel(pair=labels.PAIRS[0]).item() / (i - j).norm()
    like = zoo.get(made["i"]).state_dict()
    ends = [weights.unflatten(start + scale * (theta - start), like) for theta in (i, j)]
    x, y = line.test_images(45.0, TEST_IMAGES)
    expected = line.along(*ends, x, y, (0.5,)).gap_mean.sel(alpha=0.5).values
    found = of_labels.equal_gap.sel(start="shuffled 1", pair=labels.PAIRS[0]).values
    assert np.allclose(found, expected, rtol=1e-2, atol=1e-6)


def test_only_three_starts_are_finetuned_gently(of_labels):
    done = np.isfinite(of_labels.gentle_distance.sel(pair=labels.PAIRS[1]))
    assert set(of_labels.start.values[done.values]) == {"shuffled 0", "shuffled 1", labels.NORMAL}


def test_forty_or_eighty_pairs_of_four_or_eight_checkpoints_with_different_settings(of_curvature):
    assert of_curvature.sizes["pairs"] == 40 and len(set(of_curvature.checkpoint.values)) == 4
    assert "pairs" not in curvature.claim_17(of_curvature)
    quick, full = (curvature.recipes(curvature.PROFILES[profile].checkpoints) for profile in ("quick", "full"))
    assert [len(one) * len(curvature.PAIRS) for one in (quick, full)] == [40, 80]
    assert full[:4] == quick
    for start, *finetuned in full:
        assert all(recipe.parent == start for recipe in finetuned)
        assert len({recipe.lr for recipe in finetuned}) >= 4
        assert len({recipe.epochs for recipe in finetuned}) >= 3
        assert len({recipe.batch_size for recipe in finetuned}) >= 3


@pytest.mark.parametrize("number", [0, 17])
def test_the_numbers_of_a_pair_agree_with_the_definitions(number, of_curvature):
    x, y = line.train_images(curvature.ANGLE, 2 * TRAIN_IMAGES)
    i, j = curvature.PAIRS[number % 10]
    start, *ends = zoo.get_all(curvature.recipes()[number // 10])
    f, theta_0 = algorithms.curvature.of_network(start, algorithms.curvature.cross_entropy(y), x)
    theta_i, theta_j = (weights.flatten(ends[k].state_dict()) for k in (i, j))
    here = of_curvature.isel(pairs=number)
    deviation = algorithms.curvature.deviation(f, theta_i, theta_j, 0.5)
    second = algorithms.curvature.second_order(f, theta_0, theta_i, theta_j, 0.5)
    bound = algorithms.curvature.bound(here.largest.item(), theta_i, theta_j, 0.5)
    assert here.deviation.item() == pytest.approx(deviation, rel=1e-3, abs=1e-6)
    assert here.at_start.item() == pytest.approx(second, rel=1e-3, abs=1e-6)
    assert here.largest.item() * here.distance_squared.item() / 8 == pytest.approx(bound, rel=1e-4)
    assert abs(here.at_start.item()) <= 1.01 * bound


@pytest.mark.parametrize("power", [1, 2, 3])
def test_exponents_are_those_of_a_power_and_missing_where_the_sign_changes(power):
    scales = np.array([1, 0.5, 0.25, 0.125])
    values = -3 * scales ** power
    values[2:] *= -1
    found = curvature.exponents(xarray.DataArray(values, dims="scale"))
    assert found[[0, 2]] == pytest.approx(power)
    assert np.isnan(found[1])


def test_the_curvature_that_is_measured_is_that_of_a_quadratic_function(of_curvature):
    smooth = of_curvature.sel(function="logit, smooth")
    bent = curvature.bending(of_curvature, "logit, smooth").values
    assert bent[-1] == pytest.approx(smooth.function_along.item(), rel=0.05)


def test_the_smooth_stand_in_is_as_near_to_the_relu_as_the_text_says():
    h = torch.linspace(-5, 5, 10_001, dtype=torch.float64)
    assert (torch.nn.functional.softplus(h, beta=curvature.SHARPNESS) - h.relu()).abs().max() < 0.035
    network, x = MLP((6, 5, 4, 3)).double().requires_grad_(False), torch.randn(20, 6, dtype=torch.float64)
    smooth = curvature.smooth_forward(weights.flatten(network.state_dict()), network.state_dict(), x)
    assert 0 < (smooth - network(x)).abs().max() < 0.5


@pytest.mark.parametrize("function", [starts.run, labels.run, curvature.run, resnet.run, experiment.announce])
def test_an_unknown_profile_is_named(function):
    with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
        function("huge")


@pytest.mark.parametrize("module, name", [(starts, "STARTS"), (labels, "LABELS"), (curvature, "CURVATURE")])
def test_the_second_run_reads_the_same_numbers_from_disk(module, name, request):
    def measured(*_):
        raise AssertionError("measured again")

    measured.__module__ = module.__name__
    sweep = request.getfixturevalue(f"of_{name.lower()}")
    again = dataclasses.replace(getattr(module, name), measure=measured)
    assert again.run("quick", 0).equals(sweep)
    with pytest.raises(AssertionError, match="measured again"):
        again.run("quick", 1)


def test_the_chapter_says_what_it_works_on_and_how_long_that_takes(of_starts, of_labels, of_curvature, capsys,
                                                                   monkeypatch):
    experiment.announce("quick", 0)
    assert capsys.readouterr().out.splitlines() == [
        str(line.source()), "All MLPs that the zoo keeps for this chapter are there: this takes seconds."]
    with archive.anew():
        experiment.announce("full", 0)
    said = capsys.readouterr().out
    found = re.search(r"(\d+) of (\d+) MLPs have to be trained: .* need ([\d,]+) training steps: about \d+ min", said)
    to_train, every = int(found[1]), int(found[2])
    assert 0 < to_train < every == len(set(experiment.all_recipes("full", 0)))
    assert found[3] == f"{resnet.steps(0):,}"
    monkeypatch.setattr("lessons.kit.experiment.to_measure", lambda *_: [])  # as where the repository has the sweeps
    experiment.announce("full", 0)
    said = capsys.readouterr().out
    assert "ResNets" not in said and "All MLPs that the zoo keeps for this chapter are there" in said


def test_the_claims_are_numbers_of_the_sweeps(of_starts, of_labels, of_curvature):
    claim = starts.claims(of_starts)["CTL-14"]
    half_way = of_starts.sel(pair="two tasks", setting=starts.BY_WEIGHTS, alpha=0.5, treatment="as it is")
    assert claim["weight_matching_gap"] == pytest.approx(half_way.gap_mean[:3].mean().item())
    assert claim["planted_recovered"] == 5
    shuffled = of_labels.gap_mean.sel(start="shuffled 1", pair="two tasks")
    assert labels.claims(of_labels)["CTL-15"]["two_tasks_shuffled_gap"] == shuffled.mean().item()
    of = curvature.claims(of_curvature)
    delta = np.abs(of_curvature.deviation.values)
    correlation = np.corrcoef(of_curvature.distance_squared, delta)[0, 1]
    assert of["CTL-17"]["distance_r2"] == pytest.approx(correlation ** 2)
    within = delta <= of_curvature.largest.values * of_curvature.distance_squared.values / 8
    assert of["CTL-16"]["pairs_within_bound"] == within.mean()


def test_the_ledger_is_offered_every_number_that_a_verdict_needs(of_starts, of_labels, of_curvature):
    sweeps = {"starts": of_starts, "labels": of_labels, "curvature": of_curvature}
    for module in (starts, labels, curvature):
        one, = claims.of_ledger(module.__name__)
        numbers = one.claims(sweeps[one.name])
        judged = {id for id, claim in claims.ledger().items() if claim.measured_by == module.__name__}
        assert numbers.keys() == judged
        for id in judged:
            needed = {condition.number for condition in claims.ledger()[id].conditions}
            missing = needed - numbers[id].keys()
            of_full_alone = {"pairs", "unlearnt_learnt", "unlearnt_moved", "two_tasks_unlearnt_gap"}
            assert missing <= of_full_alone, (id, missing)


# -- the ResNets -----------------------------------------------------------------------------------

def test_resnets_are_for_full_alone():
    with archive.anew():  # whatever the repository keeps of them
        assert resnet.run("quick") is None
    assert "full" in panels.resnet.matched(None).text
    assert panels.resnet.reading_of_the_resnets(None).text == ""


@pytest.fixture(scope="module")
def of_tiny_resnets(small):
    architecture = Architecture.of("ResNet18", width=2, num_classes=100)
    wanted = {}
    for number, name in enumerate(("p1", "p2", "s1", "s2")):
        options = {"splits": (1 + number % 2,), "size": 60}
        wanted[name] = Recipe.on("split_cifar100", architecture, options=options, lr=0.05, epochs=1, batch_size=30,
                                 seed=number)
    measured = resnet.half_way(wanted, train_images=250)
    return measured.assign_attrs(source="a stand-in", source_kind="stand-in", dataset="CIFAR-100", network="ResNet-18",
                                 profile="full", seed=0)


def test_four_settings_on_tiny_resnets(of_tiny_resnets):
    assert of_tiny_resnets.sizes["setting"] == 4 and of_tiny_resnets.sizes["layer"] == 9
    assert of_tiny_resnets.same_answers.max() < 1e-3
    own = of_tiny_resnets.own_mean.sel(layer="output", setting=list(starts.HOWS))
    assert float(own.max() - own.min()) < 1e-3, "a matched network has the outputs it had"
    assert "Not CIFAR-100!" in panels.resnet.matched(of_tiny_resnets).data


def test_the_resnets_reading_holds_the_sweeps_numbers(of_tiny_resnets):
    anew = of_tiny_resnets.sel(statistics=resnet.STATISTICS[1])
    share = (anew.gap_mean / anew.own_mean).mean("layer")
    said = panels.resnet.reading_of_the_resnets(of_tiny_resnets).text
    for setting in starts.SOURCE:
        accuracy = anew.accuracy.sel(setting=setting).item()
        assert f"{setting} {share.sel(setting=setting).item():.2f} and {accuracy:.2f}" in said
    little = share.sel(setting=starts.BY_WEIGHTS) > 0.9 * share.sel(setting=starts.STRANGERS)
    assert ("brings little" in said, " helps" in said) == (little, not little)


# -- pictures --------------------------------------------------------------------------------------

@pytest.mark.parametrize("alpha, pair", [(0.25, "two tasks"), (0.5, "one task")])
def test_the_line_panel_says_the_sweeps_numbers(alpha, pair, of_starts):
    panel = panels.starts.along_the_line(of_starts).set(alpha=alpha, pair=pair)
    here = of_starts.sel(alpha=alpha, pair=pair, treatment="as it is")
    for setting in starts.HOWS:
        assert f"{setting} {here.loss.sel(setting=setting).item():.3f}, " in panel.alt
    assert ("pretrained" in panel.alt) == (pair == "two tasks") and f"{alpha:.2f}" in panel.alt


def test_the_table_of_repair_has_every_pair_with_and_without_it(of_starts):
    told = panels.starts.with_repair(of_starts).text
    rise = starts.barriers(of_starts).sel(pair="one task", setting=starts.STRANGERS)
    for treatment, name in (("as it is", "barrier (nats)"), ("repaired", "barrier with REPAIR")):
        assert f"{name} {rise.sel(treatment=treatment).item():.3f}" in told
    assert told.count("barrier with REPAIR") == len(starts.SETTINGS) + len(starts.HOWS)


def test_the_units_panel_says_the_mean_correlation(of_starts):
    panel = panels.starts.units(of_starts)
    for how, layer in itertools.product(starts.HOWS, panel.controls["layer"].values):
        panel.set(how=how, layer=layer)
        correlation = of_starts.correlation.sel(how=how, unit_layer=layer).transpose("unit", "partner")
        assert f"correlates {np.diag(correlation / 100).mean():.2f} on average" in panel.alt


def test_the_slider_of_shuffled_labels_says_the_sweeps_numbers(of_labels):
    panel = panels.labels.shuffled(of_labels)
    assert len(labels.fractions(of_labels)) == 3
    for fraction, pair in itertools.product(labels.fractions(of_labels), labels.PAIRS):
        panel.set(fraction=fraction, pair=pair)
        gap = of_labels.gap_mean.sel(start=labels.fraction_name(fraction), pair=pair).mean().item()
        assert f"mean over the layers: {gap:.4f}" in panel.alt


def test_the_panel_of_both_sides_says_the_sweeps_numbers(of_curvature):
    panel = panels.curvature.both_sides(of_curvature)
    for function, scale in itertools.product(curvature.FUNCTIONS, (1.0, 1 / 64)):
        panel.set(function=function, scale=scale)
        here = of_curvature.sel(function=function, scale=scale)
        delta = abs(here.scaled_deviation.item())
        sags = "sags below" if here.scaled_deviation > 0 else "bulges above"
        assert f"measured |δ| {delta:.3g}, f {sags} the straight line" in panel.alt
        assert f"second-order term {here.scaled_second.item():.3g}" in panel.alt
        assert f"bound {here.scaled_bound.item():.3g}, " in panel.alt


def words_of(figure, sweep):
    """Its alternative text; the figure must name the stand-in."""
    html = figure(sweep).data
    assert "Not MNIST!" in html
    return re.search('alt="([^"]*)"', html)[1]


def test_figures_11_and_12_have_words_with_the_sweeps_numbers(of_starts, of_labels):
    half_way = of_starts.sel(pair="two tasks", setting=starts.STRANGERS, alpha=0.5, treatment="as it is")
    hidden = half_way.gap_mean[:3]
    words = words_of(panels.starts.figure_11, of_starts)
    assert f"{starts.STRANGERS} gap {hidden.min().item():.3f} to {hidden.max().item():.3f}, coef" in words
    normal = of_labels.gap_mean.sel(start=labels.NORMAL, pair=labels.PAIRS[0]).mean().item()
    assert f"normal gap {normal:.4f}, coef" in words_of(panels.labels.figure_12, of_labels)


def test_the_theorems_figures_have_words_with_the_sweeps_numbers(of_curvature):
    times = of_curvature.largest * of_curvature.distance_squared / 8 / np.abs(of_curvature.deviation)
    words = words_of(panels.curvature.slack, of_curvature)
    assert f"40 pairs: the bound is {times.min().item():.1f} to {times.max().item():,.0f} times" in words
    name = str(of_curvature.name.values[of_curvature.checkpoint.values[int(np.argmax(times.values))]])
    read = panels.curvature.reading_of_a_pair(of_curvature).text
    assert f"began from “{name}”" in read and f"the bound is {times.max().item():,.0f} times |δ|" in read
    words = words_of(panels.curvature.predicted, of_curvature)
    assert f"largest curvature: {times.median().item():.2f} times the measured size in the median" in words
    wrong = (of_curvature.half_way * of_curvature.deviation < 0).sum().item()
    assert words.split(" Dashed")[0].rstrip(".").endswith(f"sign wrong for {wrong}")
    words = words_of(panels.curvature.regressions, of_curvature)
    assert f"{curvature.r2(of_curvature)['largest']:.3f} on λmax" in words


def test_the_reading_of_figure_11_says_whether_it_agrees(of_starts):
    of = starts.claim_14(of_starts)
    said = panels.starts.reading_of_figure_11(of_starts).text
    assert f"{of['one_epoch_random_gap']:.3f} after one epoch" in said
    order = [of[f"{name}_gap"] for name in ("no_matching", "weight_matching", "pretrained")]
    agree = order == sorted(order, reverse=True) and of["activation_matching_gap"] > of["pretrained_gap"]
    assert said.startswith(page.agrees(agree))
    assert f"{of_starts.own_accuracy.values[0]:.3f}" in panels.starts.accuracies(of_starts).text


def test_the_time_apart_is_compared_with_the_same_time(of_starts):
    of = starts.equally_long(of_starts)
    hidden = of_starts.sel(pair="two tasks", alpha=0.5, treatment="as it is", layer=["layer 1", "layer 2", "layer 3"])
    gap = hidden.gap_mean.mean("layer")
    expected = (gap.sel(setting=starts.ONE_START_BRIEFLY) / gap.sel(setting=starts.PRETRAINED)).item()
    assert of["one_epoch_gap_ratio"] == pytest.approx(expected)
    assert of["two_epochs_random_distance"] == hidden.distance.sel(setting=starts.ONE_START).item()
    assert f"one epoch apart, seed 0 {expected:.2f}" in panels.starts.over_the_pretrained(of_starts).text
    unfair = of["two_epochs_random_gap"] / of["one_epoch_pretrained_gap"]
    assert f"{unfair:.2f} times" in panels.starts.reading_of_time_apart(of_starts).text
    assert f"gap, hidden layers {of['two_epochs_pretrained_gap']:.4f}" in panels.starts.time_apart(of_starts).text
    panel = panels.starts.from_one_start(of_starts)
    for apart, key in (("one epoch", "one_epoch"), ("two epochs", "two_epochs")):
        panel.set(apart=apart)
        assert f"gap {of[f'{key}_random_gap']:.4f} from one random start" in panel.alt


def test_the_reading_of_figure_12_says_whether_it_agrees(of_labels):
    said = panels.labels.reading_of_figure_12(of_labels).text
    times = [labels.over_normal(of_labels, pair, "shuffled 1") for pair in labels.PAIRS]
    assert said.startswith(page.agrees(times[0] > 2 and times[1] > 1.5))
    assert f"{labels.over_normal(of_labels, 'two tasks', 'shuffled 0'):.1f} times" in said
    moved = of_labels.moved.sel(start="shuffled 1").item()
    assert f"moved {moved:.1f}" in panels.labels.what_was_learned(of_labels).text


def test_what_explains_a_gap_stands_in_the_tables_and_the_figure(of_labels):
    here = of_labels.sel(start="shuffled 1", pair=labels.PAIRS[0])
    suspects = panels.labels.suspects(of_labels).text
    assert f"distance ‖θᵢ − θⱼ‖ {here.distance.item():.2f}" in suspects
    assert "half-way " + page.minus(f"{here.along.item():+.2f}") in suspects
    assert f"steps a tenth as long {here.gentle_gap.mean().item():.5f}" in panels.labels.gently(of_labels).text
    assert f"gap {here.gap_mean.mean().item():.4f}; at distance" in words_of(panels.labels.gap_against_distance,
                                                                             of_labels)


def test_readings_of_the_theorem_hold_the_sweeps_numbers(of_curvature):
    of = curvature.theorem(of_curvature, "loss")
    said = panels.curvature.reading_of_the_theorem(of_curvature).text
    derived, measured = (page.minus(f"{of[name]:+.3f}") for name in ("derived", "measured"))
    assert f"gives {derived}. Measured is {measured}, in the mean" in said
    assert ("The sign is wrong" in said) <= (of["derived"] * of["measured"] < 0)
    assert f"s = 1 {of['slack']:,.0f}" in panels.curvature.both_in_numbers(of_curvature).text
    near = page.minus(f"the same, s = 1/64 {of['second_near']:+.2f}")
    assert near in panels.curvature.ratios_in_numbers(of_curvature).text
    said = panels.curvature.reading_of_the_regressions(of_curvature).text
    low, high = curvature.r2_intervals(of_curvature)["product"]
    assert f"here {curvature.r2(of_curvature)['product']:.3f} ({low:.2f} to {high:.2f})" in said
    assert f"within a checkpoint {curvature.r2_within(of_curvature)['half_way']:.3f}" in said
    exponent = curvature.exponents(of_curvature.scaled_deviation.sel(function="logit, smooth"))[-1]
    assert panels.curvature.how_fast(of_curvature).text.endswith(f"{exponent:.1f}")


def test_a_question_before_a_panel_holds_what_the_learner_may_know(of_starts, of_curvature):
    of = starts.equally_long(of_starts)
    assert f"{of['one_epoch_pretrained_gap']:.3f}" in panels.starts.question_of_time(of_starts)
    derived = of_curvature.function_along.sel(function="loss").item()
    assert page.minus(f"{derived:+.3f}") in panels.curvature.question(of_curvature)
    share = of_starts.sel(setting=starts.STRANGERS, pair="two tasks", treatment="as it is", alpha=0.5, layer="output")
    assert f"{100 * (share.gap_mean / share.own_mean).item():.0f} %" in panels.starts.question_of_matching(of_starts)
