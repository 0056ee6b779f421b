"""Chapter 1: the algorithms, the experiment on Rotated MNIST and its panels, on the stand-in."""
import functools
import itertools
import math

import numpy as np
import pytest
import torch
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

import data
from lessons.kit import claims
from lessons.kit.sweep import at
from lessons.linearity import algorithms
from lessons.linearity.experiment import causes, elsewhere
from lessons.linearity.experiment import mlp as experiment
from lessons.linearity.panels import between, lines, midpoint, units
from lessons.linearity.panels import causes as causes_panels
from lessons.linearity.panels import elsewhere as elsewhere_panels
from lessons.linearity.panels import mlp as panels
from toy_models import MLP, weights

SHAPES = [(1, 1), (7, 3), (50, 100)]


def features(shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(3, *shape, generator=generator)


@pytest.mark.parametrize("shape", SHAPES)
def test_cosine_and_coef_agree_with_loops_written_from_the_definition(shape):
    a, b, _ = features(shape)
    for row, (x, y) in enumerate(zip(a.double().tolist(), b.double().tolist())):
        product = sum(p * q for p, q in zip(x, y))
        length_x = math.sqrt(sum(p * p for p in x))
        length_y = math.sqrt(sum(q * q for q in y))
        cos = product / (length_x * length_y)
        assert algorithms.cosine(a, b)[row].item() == pytest.approx(cos, abs=1e-10)
        assert algorithms.coef(a, b)[row].item() == pytest.approx(length_x * cos / length_y, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_ctl_of_exactly_mixed_features_has_gap_0_and_coef_1(alpha):
    _, i, j = features((20, 8))
    numbers = algorithms.ctl({"l": weights.mix(i.double(), j.double(), alpha)}, {"l": i}, {"l": j}, alpha)["l"]
    assert numbers["gap"].abs().max() < 1e-12 and (numbers["coef"] - 1).abs().max() < 1e-12


def test_cosine_keeps_its_sign():
    a, _, _ = features((4, 5))
    assert torch.allclose(algorithms.cosine(a, -a), -torch.ones(4, dtype=torch.float64))


def test_features_of_length_zero_have_no_direction():
    a, b, _ = features((2, 3))
    a[0] = 0
    assert algorithms.cosine(a, b).isnan().tolist() == [True, False]


@pytest.mark.parametrize("function", [algorithms.cosine, algorithms.coef])
def test_bad_features_are_refused(function):
    a, b, _ = features((4, 5))
    with pytest.raises(ValueError, match=r"same shape.*\(4, 5\) and \(3, 5\)"):
        function(a, b[:3])
    with pytest.raises(ValueError, match="evaluation set is empty"):
        function(a[:0], b[:0])
    with pytest.raises(ValueError, match=r"\(samples, width\), not \(4,\)"):
        function(a[:, 0], b[:, 0])


def test_an_empty_evaluation_set_is_refused():
    with pytest.raises(ValueError, match="evaluation set is empty"):
        algorithms.evaluate(torch.zeros(0, 10), torch.zeros(0, dtype=torch.int64))


def test_networks_with_other_layers_are_refused():
    with pytest.raises(ValueError, match="same layers"):
        algorithms.ctl({"a": torch.ones(1, 1)}, {"b": torch.ones(1, 1)}, {"a": torch.ones(1, 1)}, 0.5)


def test_barrier_of_a_hump_a_slope_and_a_dip():
    alphas = [0.0, 0.5, 1.0]
    assert algorithms.barrier([1.0, 4.0, 2.0], alphas) == pytest.approx(2.5)
    assert algorithms.barrier([3.0, 2.0, 1.0], alphas) == 0
    assert algorithms.barrier([3.0, 0.0, 1.0], alphas) == 0


@pytest.mark.parametrize("losses, alphas, says", [([1.0], [0.0], "same length"),
                                                  ([1.0, 2.0], [0.0, 0.5, 1.0], "same length"),
                                                  ([1.0, 2.0], [0.1, 1.0], "from 0 to 1")])
def test_a_barrier_without_its_ends_is_refused(losses, alphas, says):
    with pytest.raises(ValueError, match=says):
        algorithms.barrier(losses, alphas)


@given(alpha=st.floats(0, 1), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_the_cross_term_is_exactly_what_mixing_twice_adds(alpha, seed):
    generator = torch.Generator().manual_seed(seed)
    W_i, W_j = torch.randn(2, 4, 6, generator=generator, dtype=torch.float64)
    h_i, h_j = torch.randn(2, 9, 6, generator=generator, dtype=torch.float64)
    both = weights.mix(h_i, h_j, alpha) @ weights.mix(W_i, W_j, alpha).T
    results = weights.mix(h_i @ W_i.T, h_j @ W_j.T, alpha)
    assert torch.allclose(both, results + algorithms.cross_term(W_i, W_j, h_i, h_j, alpha), atol=1e-12)


def drawn_states(count=2, widths=(5, 8, 6, 3), seed=0):
    """State dicts of MLPs with random weights, in float64."""
    generator = torch.Generator().manual_seed(seed)
    states = []
    for _ in range(count):
        state = {}
        for layer, (below, above) in enumerate(zip(widths, widths[1:])):
            state[f"layers.{layer}.weight"] = torch.randn(above, below, generator=generator, dtype=torch.float64)
            state[f"layers.{layer}.bias"] = torch.randn(above, generator=generator, dtype=torch.float64)
        states.append(state)
    return states


IMAGES = torch.randn(40, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_inputs_are_what_a_network_computes_before_its_relus_and_its_own_gates_change_nothing():
    state, = drawn_states(1)
    features = list(MLP.from_state(state).features(IMAGES).values())
    zs = algorithms.inputs(state, IMAGES)
    assert all(torch.allclose(z.relu(), f) for z, f in zip(zs, features[:-1])) and torch.allclose(zs[-1], features[-1])
    frozen = algorithms.inputs(state, IMAGES, algorithms.gates_of(state, IMAGES))
    assert all(torch.equal(a, b) for a, b in zip(zs, frozen))
    with pytest.raises(ValueError, match="not the weights of an MLP; keys: a"):
        algorithms.inputs({"a": IMAGES}, IMAGES)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.2, 0.8), (1.0, 1.0, -1.0)])
def test_kinks_and_curvature_are_together_what_the_mixed_network_misses(shares):
    states = drawn_states(len(shares))
    mixed = {key: sum(share * state[key] for share, state in zip(shares, states)) for key in states[0]}
    features = [MLP.from_state(state).features(IMAGES) for state in states]
    parts = algorithms.kinks_and_curvature(states, shares, IMAGES)
    for layer, whole in MLP.from_state(mixed).features(IMAGES).items():
        missed = whole - sum(share * f[layer] for share, f in zip(shares, features))
        assert torch.allclose(parts[layer]["kinks"] + parts[layer]["curvature"], missed, atol=1e-12)
        total = sum(algorithms.part_of(part, missed) for part in parts[layer].values())
        assert total == pytest.approx(1)
    assert parts["layer 1"]["curvature"].abs().max() < 1e-12  # its input is linear in the weights
    assert parts["output"]["curvature"].norm() > 0.1 and parts["output"]["kinks"].norm() > 0.1


def test_where_no_unit_switches_there_is_curvature_alone():
    states = drawn_states()
    for state in states:
        state["layers.0.bias"] += 100
        state["layers.1.bias"] += 10_000  # more than any sum of what comes from below
    parts = algorithms.kinks_and_curvature(states, (0.5, 0.5), IMAGES)["output"]
    assert parts["kinks"].abs().max() == 0 and parts["curvature"].abs().max() > 1


def test_the_cross_term_and_what_is_handed_on_are_together_what_a_layers_input_misses():
    state_i, state_j = drawn_states()
    between = weights.interpolate(state_i, state_j, 0.3)
    z_i, z_j, z = (algorithms.inputs(state, IMAGES) for state in (state_i, state_j, between))
    for layer in (1, 2):
        pair = [state[f"layers.{layer}.weight"] for state in (state_i, state_j)]
        h_i, h_j, h = (of[layer - 1].relu() for of in (z_i, z_j, z))
        own = algorithms.cross_term(*pair, h_i, h_j, 0.3)
        below = algorithms.handed_on(*pair, h_i, h_j, h, 0.3)
        assert torch.allclose(own + below, z[layer] - weights.mix(z_i[layer], z_j[layer], 0.3), atol=1e-12)


def test_a_network_goes_on_from_the_features_of_any_hidden_layer():
    state, = drawn_states(1)
    features = MLP.from_state(state).features(IMAGES)
    for layer in (1, 2):
        assert torch.allclose(algorithms.from_layer(state, features[f"layer {layer}"], layer), features["output"])
    with pytest.raises(ValueError, match="layer"):
        algorithms.from_layer(state, features["output"], 3)


def test_the_causes_of_a_pair_add_up_and_vanish_where_the_two_are_one():
    state_i, state_j = drawn_states()
    found = causes.of_pair(state_i, state_j, IMAGES)
    assert np.allclose(found.kinks + found.curvature, 1) and found.kinks[0] == pytest.approx(1)
    assert abs(found.curvature_gap.isel(layer=0)).max() < 1e-9
    assert found.repaired[-1] == 0 and (found.repaired[:-1] > 0).all()
    # layer 2 repaired, what is left is the output layer's own cross term
    h_i, h_j = (MLP.from_state(state).features(IMAGES)["layer 2"] for state in (state_i, state_j))
    out_i, out_j = (MLP.from_state(state).features(IMAGES)["output"] for state in (state_i, state_j))
    own = algorithms.cross_term(state_i["layers.2.weight"], state_j["layers.2.weight"], h_i, h_j, 0.5)
    left = algorithms.cosine_gap((out_i + out_j) / 2 + own, out_i, out_j, 0.5).mean().item()
    assert found.repaired[1].item() == pytest.approx(left)
    same = causes.of_pair(state_i, state_i, IMAGES)
    assert abs(same.gap).max() < 1e-12 and abs(same.repaired).max() < 1e-12


@given(alpha=st.floats(0, 1), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_first_layer_is_never_above_the_mix_and_misses_it_only_where_signs_differ(alpha, seed):
    drawn = functools.partial(torch.randn, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    states = []
    for _ in range(2):
        states.append({"layers.0.weight": drawn(8, 5), "layers.0.bias": drawn(8),
                       "layers.1.weight": drawn(2, 8), "layers.1.bias": torch.zeros(2, dtype=torch.float64)})
    x = drawn(20, 5)
    middle = weights.interpolate(*states, alpha)
    first = [MLP.from_state(state).features(x)["layer 1"] for state in (middle, *states)]
    short = weights.mix(first[1], first[2], alpha) - first[0]
    assert short.min() > -1e-12
    before = [torch.nn.functional.linear(x, state["layers.0.weight"], state["layers.0.bias"]) for state in states]
    same_sign = before[0] * before[1] >= 0
    assert short[same_sign].abs().max() < 1e-12
    first_layers = [state[f"layers.0.{part}"] for state in states for part in ("weight", "bias")]
    share = algorithms.opposite_signs(*first_layers, x)
    assert torch.allclose(share, (~same_sign).double().mean(1))


@given(seed=st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_lemma_1_holds_on_networks_that_are_linear_in_their_weights(seed):
    excess = experiment.lemma_1(seed, trials=20)
    assert excess["excess_equal_loss"] <= 1e-12 and excess["excess_over_chord"] <= 1e-12


def test_lemma_1_needs_its_condition():
    """Strangers are not linear in their weights, and between them the loss does rise: the test above can fail."""
    alphas = experiment.ALPHAS
    x, y = torch.tensor([[1.0]]), torch.tensor([0])
    swapped = []
    for order in ([0, 1], [1, 0]):
        swapped.append({"layers.0.weight": torch.tensor([[3.0], [-3.0]])[order], "layers.0.bias": torch.zeros(2),
                        "layers.1.weight": 3 * torch.eye(2)[:, order], "layers.1.bias": torch.zeros(2)})
    networks = [MLP.from_state(weights.interpolate(*swapped, alpha)) for alpha in alphas]
    losses = [algorithms.evaluate(network(x), y)[0] for network in networks]
    assert losses[0] == pytest.approx(losses[-1]) and algorithms.barrier(losses, alphas) > 0.1


@pytest.mark.parametrize("where, says", [({"pair": "0° and 1°"}, "unknown pair '0° and 1°'.*22.5° and 45°"),
                                         ({"layer": "layer 9"}, "unknown layer 'layer 9'.*output"),
                                         ({"alpha": 0.123}, "unknown alpha 0.123"),
                                         ({"colour": 1}, "unknown dimension 'colour'")])
def test_an_unknown_place_in_the_sweep_is_named(sweep, where, says):
    with pytest.raises(ValueError, match=says):
        at(sweep, **where)


@pytest.mark.parametrize("asked", [experiment.run, experiment.announce], ids=["run", "announce"])
def test_an_unknown_profile_is_named(asked):
    with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
        asked("huge")


def test_a_chapter_with_nothing_trained_says_which_data_and_how_long(capsys):
    experiment.announce("full", 3)
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == str(data.source("rotated_mnist")) and second == str(data.source("fashion_mnist"))
    assert third == "13 of 13 models have to be trained: about 80 s on two cores, once."


@pytest.fixture(scope="module")
def sweep(session_sweep):
    """On fewer images than the chapter's, which change no sentence."""
    with session_sweep((experiment.PROFILES, "quick", experiment.Settings(test_images=200))):
        yield experiment.run("quick", 0)


def test_the_sweep_is_exact_at_both_ends_and_measures_what_the_definitions_say(sweep, standin_folder_session,
                                                                               monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    ends = sweep.sel(alpha=[0.0, 1.0])
    assert abs(ends.gap_mean).max() < 1e-12 and abs(ends.coef_mean - 1).max() < 1e-12
    networks = experiment.models(0)
    i, j, alpha, samples = 45.0, 90.0, 0.35, experiment.PROFILES["quick"].test_images
    tests = [data.load("rotated_mnist", "test", angle=angle) for angle in (i, j)]
    x = torch.cat([test.x[:samples] for test in tests])
    y = torch.cat([test.y[:samples] for test in tests])
    between = MLP.from_state(weights.interpolate(networks[i].state_dict(), networks[j].state_dict(), alpha))
    features_i = networks[i].features(x)
    features_j = networks[j].features(x)
    gaps = []
    for layer, feature in between.features(x).items():
        gap = algorithms.cosine_gap(feature, features_i[layer], features_j[layer], alpha)
        gaps.append(gap.nanmean().item())
    here = at(sweep, pair="45° and 90°", alpha=alpha)
    assert np.allclose(here.gap_mean.values, gaps, rtol=1e-6)
    right = (between(x).argmax(1) == y).double().mean().item()
    assert here.accuracy.sel(task="both").item() == pytest.approx(right)
    assert (here.coef_count.sum("bin") <= 2 * samples).all()


def test_the_second_run_reads_the_same_numbers_from_disk(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    monkeypatch.setattr(experiment, "_along", lambda *_: pytest.fail("measured again"))
    assert experiment.run("quick", 0).equals(sweep)


@pytest.mark.parametrize("make, names", [(midpoint.midpoint, ("accuracy",)),
                                         (lines.gap_per_layer, ("gap_mean", "own_mean")),
                                         (lines.coef_per_layer, ("coef_median",))], ids=["a", "b", "c"])
def test_every_frame_of_a_panel_says_the_sweeps_numbers(make, names, sweep):
    panel = make(sweep)
    pairs, alphas = panel.controls["pair"].values, panel.controls["alpha"].values
    assert sorted(pairs) == sorted(sweep.pair.values) and alphas == list(sweep.alpha.values)
    for pair, alpha in itertools.product(pairs[:2], alphas[::7]):
        panel.set(pair=pair, alpha=alpha)
        for name in names:
            variable = at(sweep, pair=pair)[name]
            if "task" in variable.dims:
                variable = variable.sel(task=["i", "j", "both"])
            values = variable.sel(alpha=alpha) if "alpha" in variable.dims else variable
            digits = 4 if name == "gap_mean" else 3
            assert all(f"{value:.{digits}f}" in panel.alt for value in values.values.ravel()), (name, panel.alt)


def test_the_misconception_panel_says_the_sweeps_numbers(sweep):
    panel = panels.linear_in_the_weights(sweep)
    for start, alpha in itertools.product(panel.controls["start"].values, (0.0, 0.5, 1.0)):
        here = at(sweep, start=start, alpha=alpha)
        panel.set(start=start, alpha=alpha)
        assert f"{here.start_accuracy.item():.3f}" in panel.alt and f"{here.mixed_accuracy.item():.3f}" in panel.alt
    assert "200 test images. Standard error" in panel.spec["caption"]


@pytest.mark.parametrize("weights_mixed, says", [(0.5, "spoils the network"), (0.9, "costs some accuracy"),
                                                 (0.949, "is as good as"), (0.99, "is better than")])
def test_the_title_about_mixing_depends_on_the_accuracy_half_way(weights_mixed, says):
    title = panels.finding_of_mixing("two random starts", [0.95, weights_mixed, 0.95], [0.95, 0.95, 0.95], 2000)
    assert title.startswith("From two random starts, mixing the weights") and says in title


def test_the_title_about_the_midpoint_depends_on_both_ends():
    assert "is better than A or B" in midpoint._finding([0.6, 0.8, 0.6], 1, 2000)
    assert "is within the noise of the better of A and B" in midpoint._finding([0.6, 0.61, 0.6], 1, 2000)
    assert "is worse than the better" in midpoint._finding([0.6, 0.4, 0.6], 1, 2000)


@pytest.mark.parametrize("most, says", [
    ((0.05, 0.06), "nearly in the direction of the mix, in every layer"),
    ((0.02, 0.1), "nearly in the direction of the mix, best in first, worst in last"),
    ((0.05, 0.3), "nearly in the direction of the mix in first, but not in last"),
    ((0.2, 0.3), "do not point in the direction of the mix, in any layer")])
def test_the_title_about_gaps_depends_on_the_largest(most, says):
    mean = np.outer(most, [0, 1, 0])
    assert says in lines.finding_of_gaps(["first", "last"], mean, 0.6 * mean, 1.5 * mean)


@pytest.mark.parametrize("shortest, says", [
    ((0.9, 0.9), "In every hidden layer, most images' features come out too short, most of all half-way"),
    ((0.9, 0.99), "In first, most images' features come out too short"),
    ((1.0, 1.0), "In no hidden layer")])
def test_the_title_about_lengths_depends_on_the_middle_half_of_the_images(shortest, says):
    median = 1 - np.outer([*(1 - np.array(shortest)), 0], [0, 0.5, 1, 0.5, 0])
    assert says in lines.finding_of_lengths(["first", "second", "output"], median - 0.01, median, median + 0.011)


@pytest.mark.parametrize("low, high, says", [(0.8, 0.95, "Most images' outputs come out too short"),
                                             (1.05, 1.2, "Most images' outputs come out too long"),
                                             (0.9, 1.1, "too short for some images and too long for others")])
def test_the_title_about_the_outputs_lengths_depends_on_the_middle_half_of_the_images(low, high, says):
    ends = np.array([1, 0, 1])
    quartiles = [np.where(ends, 1, value) for value in (low, (low + high) / 2, high)]
    assert says in lines.finding_of_output_lengths(*quartiles)


def test_at_both_ends_no_image_is_longer_than_the_mix(sweep):
    for alpha in (0.0, 1.0):
        assert "0% of the images have a coef above 1.01" in lines.coef_per_layer(sweep).set(alpha=alpha).alt


def test_the_title_about_units_depends_on_what_is_missed():
    finetuned, strangers = units.FINETUNED, "two strangers"
    assert "nothing is missing" in units.finding_of_units(finetuned, 0.0, 0.1, {strangers: 0.3})
    assert "only units that are on in one" in units.finding_of_units(finetuned, 0.1, 0.1, {strangers: 0.3})
    assert "more is missing" in units.finding_of_units(strangers, 0.3, 0.3, {finetuned: 0.1})
    assert "only units that are on in one" in units.finding_of_units(strangers, 0.1, 0.1, {finetuned: 0.1})


def test_figures_have_words_made_of_their_data_and_are_kept(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    page = lines.figure_13(sweep).data
    assert f"{sweep.own_mean.max().item():.3f}" in page and "Not MNIST!" in page
    monkeypatch.setattr(lines.plotting, "figure", lambda *_, **__: pytest.fail("drawn again"))
    assert lines.figure_13(sweep).data == page
    with pytest.raises(ValueError, match="unknown pair 'none'"):
        lines.figure_13(sweep, pairs=["none"])


def test_only_a_figure_with_several_alphas_says_in_which_order_they_come(sweep):
    assert "left to right" in lines.figure_14(sweep).data and "left to right" not in lines.figure_3(sweep).data


def test_worst_finds_the_largest_share_of_the_own_distance(sweep):
    pair, layer = algorithms.worst(sweep.gap_mean, sweep.own_mean)
    share = sweep.gap_mean / sweep.own_mean
    assert share.sel(pair=pair, layer=layer).max().item() == share.max().item()
    assert f"{share.max().item():.1%}" in panels.worst_places(sweep).data


@pytest.mark.parametrize("two", units.WHOSE)
def test_the_panel_of_units_says_how_many_flip_and_what_is_missed(two, sweep):
    panel = units.one_digit(sweep)
    for alpha, digit in ((0.6, 0), (0.35, 3)):
        panel.set(alpha=alpha, two=two, digit=digit)
        z_i, z_j = sweep.first_input.sel(two=two).isel(image=digit).values
        missed = alpha * z_i.clip(0) + (1 - alpha) * z_j.clip(0) - (alpha * z_i + (1 - alpha) * z_j).clip(0)
        mix = alpha * z_i.clip(0) + (1 - alpha) * z_j.clip(0)
        assert f"{((z_i > 0) | (z_j > 0)).sum()} are on in A, in B or in both" in panel.alt
        assert f"{(z_i * z_j < 0).sum()} units are on in one" in panel.alt
        assert f"misses {missed.sum() / mix.sum():.1%} of the mix" in panel.alt
    panel.set(alpha=0.0)
    assert "This is one of the two networks itself." in panel.alt and "misses" not in panel.alt
    assert "missed" in units.one_unit(sweep).data


def test_the_weights_of_a_unit_are_drawn_for_both_networks_and_an_unknown_unit_is_refused(standin_folder_session,
                                                                                          sweep, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    pairs = {"strangers": experiment.pair("strangers", 0)}
    first = [network.state_dict()["layers.0.weight"][3] for network in pairs["strangers"]]
    page = units.what_a_unit_looks_for(pairs, 3).data
    cosine = f"{torch.nn.functional.cosine_similarity(*first, dim=0).item():.2f}".replace("-", "−")
    assert f"strangers {cosine}" in page
    with pytest.raises(ValueError, match="units 0 to 99, not 100"):
        units.what_a_unit_looks_for(pairs, 100)


def test_the_table_of_rises_and_the_convex_loss_say_what_was_measured(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    both = sweep.loss.sel(pair=experiment.FAR, task="both")
    below = both.sel(alpha=[0.0, 1.0]).mean().item() - both.sel(alpha=0.5).item()
    row = next(line for line in panels.rises(sweep).text.splitlines() if line.startswith(experiment.FAR))
    assert f"straight line by {below:.2f}" in row
    networks = experiment.models(0)
    page = panels.convex(networks[22.5], networks[90.0], data.load("rotated_mnist", "test", angle=45.0)).data
    assert "a convex loss" not in page and "at the midpoint the straight line is at" in page
    assert "Of 500 test images, the one whose loss bends most" in page
    assert "none has a higher loss at the 19 α tried" in panels.reading_of_lemma_1(0).text


def test_causes_are_measured_shown_and_said(sweep, session_sweep):
    """On the networks of `sweep`."""
    with session_sweep((causes.PROFILES, "quick", causes.Settings(test_images=100))):
        found = causes.run("quick", 0)
    assert np.allclose(found.kinks + found.curvature, 1) and np.allclose(found.kinks.isel(layer=0), 1)
    numbers = causes.summary(found)
    assert f"{numbers['kinks_output']:.0%}" in causes_panels.causes(found).data
    text = causes_panels.reading_of_causes(found).text
    assert f"{numbers['handed_on_output']:.0%} of the output's error was inherited from below, on average" in text
    repairs = causes_panels.reading_of_repairs(found)
    assert f"with layer 3 repaired {numbers['left_after_layer_3']:.0%}" in repairs.text
    assert ("is gone once layer 2 is repaired" in repairs.page) == (numbers["left_after_layer_2"] < 0.5)
    of_all = found.assign(handed_on=0 * found.handed_on + 0.9), found.assign(handed_on=0 * found.handed_on + 0.1)
    assert ["For every pair" in causes_panels.reading_of_causes(one).text for one in of_all] == [True, False]


def test_other_data_are_measured_shown_and_said(sweep, session_sweep):
    """One pair of digits with clothes, trained for one pass."""
    few = {"digits 45° and 90°": elsewhere.PAIRS["digits 45° and 90°"],
           "clothes 22.5° and 45°": elsewhere.PAIRS["clothes 22.5° and 45°"],
           "digits 45° and clothes": elsewhere.PAIRS["digits 45° and clothes"]}
    with session_sweep((elsewhere, "PAIRS", few), (elsewhere, "_passes", lambda shown: 1),
                       (elsewhere.PROFILES, "quick", elsewhere.Settings(test_images=100))):
        found = elsewhere.run("quick", 0)
    assert found.sizes == {"pair": 3, "alpha": 3, "layer": 4, "end": 2} and (found.own_mean > 0).all()
    most = elsewhere.shares(found)["share_digits_and_clothes"]
    assert most == pytest.approx((found.gap_mean / found.own_mean).isel(pair=2).max().item())
    assert f"{most:.0%} for digits with clothes" in elsewhere_panels.reading_of_elsewhere(found).text
    page = elsewhere_panels.elsewhere(found).data
    assert f"digits 45° and clothes: {most:.0%}" in page and "Not MNIST! Measured on stand-in for MNIST" in page


def test_the_readings_say_this_sweeps_numbers_and_judge_them(sweep):
    inner = sweep.sel(alpha=[0.25, 0.5, 0.75])
    most = (inner.gap_mean / sweep.own_mean).max().item()
    text = lines.reading_of_the_gap(sweep).text
    assert f"nowhere more than {most:.0%} of the distance between A and B" in text
    hidden = inner.coef_mean.isel(layer=slice(None, -1))
    least, largest = hidden.min().item(), hidden.max().item()
    text = lines.reading_of_coef(sweep).text
    assert f"images run from {least:.3f} to {largest:.3f}" in text
    flat = 0 * sweep.gap_mean
    for share, coef, of_gap, of_coef in ((0.1, 0.9, "Agrees with", "Agrees in part with"),
                                         (0.1, 1.1, "Agrees with", "Agrees with"),
                                         (0.2, 0.8, "Does not agree here with", "Does not agree here with")):
        made_up = sweep.assign(gap_mean=share * sweep.own_mean + flat, coef_mean=coef + flat)
        assert lines.reading_of_the_gap(made_up).text.startswith(of_gap)
        assert lines.reading_of_coef(made_up).text.startswith(of_coef)


def test_the_plane_of_the_networks_keeps_most_of_their_variance(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    networks = experiment.models(0)
    vectors = np.stack([weights.flatten(network.state_dict()).numpy() for network in networks.values()])
    sizes = np.linalg.svd(vectors.astype(float) - vectors.mean(0), compute_uv=False) ** 2
    page = between.places(networks).data
    assert f"keeps {sizes[:2].sum() / sizes.sum():.0%} of the variance" in page and "Not MNIST!" in page
    moved = [np.linalg.norm(vector - vectors[0]) for vector in vectors[1:]]
    assert f"{min(moved):.1f} to {max(moved):.1f} away" in page


def with_accuracies(sweep, of_weights, of_outputs):
    """A sweep in which mixing the weights after two random starts, and mixing the outputs, have these accuracies."""
    flat = 0 * sweep.start_accuracy
    strangers = sweep.start == between.TWO_STARTS
    return sweep.assign(start_accuracy=flat + strangers * (of_weights - of_outputs) + of_outputs,
                        mixed_accuracy=flat + of_outputs)


@pytest.mark.parametrize("of_weights, says", [(0.5, "is not the same as mixing the outputs."),
                                              (0.94, "The two midpoints."), (0.99, "The two midpoints.")])
def test_the_reading_of_mixing_calls_the_weights_spoilt_only_if_they_are(of_weights, says, sweep):
    page = between.reading_of_mixing(with_accuracies(sweep, of_weights, 0.95))
    assert says in page.page and f"mixed weights is {100 * of_weights:.0f} % accurate" in page.text
    assert "+0.0 ± " in page.text and "within the noise" in page.text


def test_the_reading_of_units_compares_the_medians(standin_folder_session, sweep, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    networks = experiment.models(0)
    near, strangers = [networks[22.5], networks[90.0]], experiment.pair("strangers", 0)
    alike, unlike = [torch.nn.functional.cosine_similarity(
        *(network.state_dict()["layers.0.weight"] for network in pair), dim=1).median() for pair in (near, strangers)]
    page = between.reading_of_units({"from one": near, "from two": strangers})
    assert f"is {alike:.2f} from one, and {unlike:.2f} from two".replace("-0.00", "0.00").replace("-", "−") in page.text
    same = between.reading_of_units({"from one": near, "from two": near})
    assert "How alike are the units?" in same.page and "but not from two" not in same.page


def with_hills(sweep, of_tasks, of_starts):
    """A sweep in which the loss rises by so much at the midpoint, on every task and after two random starts."""
    alphas = sweep.alpha
    shape = 4 * alphas * (1 - alphas)
    return sweep.assign(loss=0 * sweep.loss + 1 + of_tasks * shape,
                        start_loss=0 * sweep.start_loss + of_starts * shape)


@pytest.mark.parametrize("of_tasks, of_starts, title, says", [
    (-0.5, 1.4, "A hill after two random initialisations, a valley after finetuning", "There is no hill between"),
    (-0.5, 0.0, "The loss does not rise above the straight line", "There is no hill between"),
    (0.3, 1.4, "Between some finetuned networks the loss rises", "The largest rise of the loss")])
def test_the_picture_and_the_reading_of_hills_depend_on_the_barriers(of_tasks, of_starts, title, says, sweep):
    made_up = with_hills(sweep, of_tasks, of_starts)
    page = between.reading_of_hills(made_up)
    assert title in between.finding_of_hills(made_up) and says in page.page
    assert ("the midpoint even has a lower loss" in page.text) == (of_tasks < 0)
    assert f"it rises by {of_starts:.2f} nats" in page.text
    assert f"it is at most {max(of_tasks, 0):.2f} nats" in between.hills(made_up).data


def test_the_short_readings_say_this_sweeps_numbers_and_no_more_than_they_carry(sweep):
    inner = sweep.sel(alpha=[0.25, 0.5, 0.75])
    most = (inner.gap_mean / sweep.own_mean).max().item()
    assert f"at most {most:.0%} of the distance" in between.reading_of_directions(sweep).text
    least = inner.coef_mean.isel(layer=slice(None, -1)).min().item()
    assert f"means over the images run from {least:.2f} to" in between.reading_of_lengths(sweep).text
    flat = 0 * sweep.gap_mean
    for share, coef, direction, length in ((0.1, 0.9, "point nearly in", "a little too short"),
                                           (0.2, 0.8, "not small everywhere", "How long"),
                                           (0.2, 1.1, "not small everywhere", "How long")):
        made_up = sweep.assign(gap_mean=share * sweep.own_mean + flat, coef_mean=coef + flat)
        assert direction in between.reading_of_directions(made_up).page
        assert length in between.reading_of_lengths(made_up).page


def test_the_reading_of_the_shortest_features_names_the_place_with_the_fewest_images_near_the_mix(
        sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    strangers = experiment.pair("strangers", 0)
    x = data.load("rotated_mnist", "test", angle=0.0).x[:200]
    coef = between.at_the_midpoint(strangers, x)
    least = min(length for layer, (_, length) in coef.items() if layer != "output")
    one, two = list(sweep.pair.values[:2])
    near = xarray.where((sweep.pair == two) & (sweep.layer == "layer 2"), 0.4, 0.9)
    inside = (sweep.bin >= 0.9) & (sweep.bin <= 1.1)
    counts = xarray.where(inside, near / inside.sum(), (1 - near) / (~inside).sum())
    made_up = sweep.assign(coef_count=counts + 0 * sweep.alpha)
    page = between.reading_of_shortest(made_up, strangers, x)
    assert f"At the midpoint of {two}, only 40% of the images are that close in layer 2" in page.text
    assert f"coef falls to {least:.2f} in layer" in page.text and "Not every layer" in page.page
    assert "only" not in between.reading_of_shortest(sweep.assign(coef_count=sweep.coef_count.where(
        abs(sweep.bin - 1) < 0.09, 0)), strangers, x).text and one not in page.text


@pytest.mark.parametrize("hidden, output, coef, title, will", [
    (0.17, 4.9, 0.4, "even strangers have small shares", True), (0.17, 4.9, 0.9, "even strangers have small", False),
    (0.5, 4.9, 0.4, "The shares of the strangers", False), (0.17, 0.5, 0.4, "The shares of the strangers", False)])
def test_the_reading_of_strangers_calls_their_shares_small_only_if_they_are(hidden, output, coef, title, will,
                                                                            monkeypatch):
    monkeypatch.setattr(between, "at_the_midpoint", lambda *_: {
        "layer 1": (hidden, coef), "layer 2": (hidden / 2, coef + 0.1), "output": (output, 0.1)})
    page = between.reading_of_strangers([], None)
    assert title in page.page and f"{hidden:.0%} of the distance" in page.text and f"{output:.0%} of it" in page.text
    assert ("the length of their features will show it, too" in page.text) == will


def test_the_reading_of_convexity_compares_the_line_the_mix_and_the_network(standin_folder_session, sweep, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    networks = experiment.models(0)
    tests = [data.load("rotated_mnist", "test", angle=angle) for angle in (22.5, 90.0)]
    here = sweep.sel(pair=experiment.FAR, task="both")
    text = between.reading_of_convexity([networks[22.5], networks[90.0]], tests, images=200).text
    line, middle = here.loss.sel(alpha=[0.0, 1.0]).mean().item(), here.loss.sel(alpha=0.5).item()
    assert text.startswith(f"Over 200 test images of each task, the straight line is at {line:.2f} nats")
    assert f"the network with mixed weights at {middle:.2f}." in text
    same = between.reading_of_convexity([networks[22.5], networks[22.5]], tests, images=200)
    assert "On all images" in same.page and "costs accuracy" not in same.text


def test_on_the_ledgers_seeds_the_loss_on_both_tasks_has_a_valley_and_on_each_no_hill():
    """Between any two of the finetuned networks, as the lesson says."""
    numbers = {name: np.array(values) for name, values in claims.measured()["CTL-1"].items()}
    assert len(numbers["middle_gain_least"]) >= 10 and (numbers["middle_gain_least"] > 0).all()
    assert numbers["barrier_one_task"].max() <= between.NO_HILL and numbers["barrier_both"].max() <= between.NO_HILL


def test_with_seed_0_the_gap_is_largest_at_the_output_and_its_share_in_layer_3():
    measured = experiment.LINE.archived("full", 0)
    gap = measured.gap_mean.max("alpha")
    for values, layer in ((gap, "output"), (gap / measured.own_mean, "layer 3")):
        assert values.max("pair").idxmax("layer").item() == layer


def test_with_seed_0_kinks_are_the_larger_part_of_the_error_and_the_output_inherits_most_of_it():
    measured = causes.CAUSES.archived("full", 0)
    assert (measured.kinks.mean("pair") > 0.5).all() and (measured.handed_on.sel(layer="output") > 0.5).all()


def test_on_the_ledgers_seeds_the_gap_is_larger_after_two_epochs_than_after_one():
    numbers = {name: np.array(values) for name, values in claims.measured()["CTL-14"].items()}
    for start in ("pretrained", "random"):
        assert (numbers[f"two_epochs_{start}_gap"] > numbers[f"one_epoch_{start}_gap"]).all()


@pytest.mark.parametrize("of_both, title", [(0.2, "Other tasks can have larger gaps"), (0.1, "The gap on other tasks")])
def test_the_readings_of_other_tasks_compare_families(of_both, title):
    pairs = {"digits 1": ("digits", 5.0, 0.1), "clothes 1": ("clothes", 7.0, 0.12),
             "digits and clothes 1": ("digits and clothes", 7.1, of_both)}
    families, distances, gap = map(list, zip(*pairs.values()))
    made_up = xarray.Dataset(
        {"gap_mean": (("pair", "alpha", "layer"), np.array(gap)[:, None, None] * np.ones((3, 1, 2))),
         "own_mean": (("pair", "layer"), np.ones((3, 2))), "distance": ("pair", distances),
         "coef_mean": (("pair", "alpha", "layer"), np.full((3, 1, 2), 0.8))},
        {"pair": list(pairs), "alpha": [0.5], "layer": ["one", "output"], "family": ("pair", families)})
    page = between.reading_of_reach(made_up)
    assert title in page.page and f"{of_both:.0%} for digits with clothes" in page.text
    decides = "“digits and clothes 1” and “clothes 1” are about equally far apart"
    assert (decides in elsewhere_panels.reading_of_elsewhere(made_up).text) == (of_both == 0.2)
