"""Chapter 1: the algorithms, the experiment on Rotated MNIST and its panels, on the stand-in."""
import functools
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import data
from lessons.kit.panel import settings_of
from lessons.linearity import algorithms
from lessons.linearity.experiment import mlp as experiment
from lessons.linearity.panels import lines
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
        experiment.at(sweep, **where)


@pytest.mark.parametrize("asked", [experiment.run, experiment.announce], ids=["run", "announce"])
def test_an_unknown_profile_is_named(asked):
    with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full"):
        asked("huge")


def test_a_chapter_with_nothing_trained_says_which_data_and_how_long(capsys):
    experiment.announce("full", 3)
    first, second = capsys.readouterr().out.splitlines()
    assert first == str(data.source("rotated_mnist"))
    assert second == "8 of 8 models have to be trained: about 45 s on two cores, once."


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
    here = experiment.at(sweep, pair="45° and 90°", alpha=alpha)
    assert np.allclose(here.gap_mean.values, gaps, rtol=1e-6)
    right = (between(x).argmax(1) == y).double().mean().item()
    assert here.accuracy.sel(task="both").item() == pytest.approx(right)
    assert (here.coef_count.sum("bin") <= 2 * samples).all()


def test_the_second_run_reads_the_same_numbers_from_disk(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    monkeypatch.setattr(experiment, "_along", lambda *_: pytest.fail("measured again"))
    assert experiment.run("quick", 0).equals(sweep)


@pytest.mark.parametrize("make, names", [(panels.along_the_line, ("accuracy", "loss")),
                                         (lines.gap_per_layer, ("gap_mean", "own_mean")),
                                         (lines.coef_per_layer, ("coef_median",))], ids=["a", "b", "c"])
def test_every_frame_of_a_panel_says_the_sweeps_numbers(make, names, sweep):
    panel = make(sweep)
    pairs, alphas = settings_of(panel.controls["pair"]), settings_of(panel.controls["alpha"])
    assert sorted(pairs) == sorted(sweep.pair.values) and alphas == list(sweep.alpha.values)
    for pair, alpha in itertools.product(pairs[:2], alphas[::7]):
        panel.set(pair=pair, alpha=alpha)
        for name in names:
            variable = experiment.at(sweep, pair=pair)[name]
            values = variable.sel(alpha=alpha) if "alpha" in variable.dims else variable
            digits = 4 if name == "gap_mean" else 3
            assert all(f"{value:.{digits}f}" in panel.alt for value in values.values.ravel()), (name, panel.alt)


def test_the_misconception_panel_says_the_sweeps_numbers(sweep):
    panel = panels.linear_in_the_weights(sweep)
    for start, alpha in itertools.product(settings_of(panel.controls["start"]), (0.0, 0.5, 1.0)):
        here = experiment.at(sweep, start=start, alpha=alpha)
        panel.set(start=start, alpha=alpha)
        assert f"{here.start_accuracy.item():.3f}" in panel.alt and f"{here.mixed_accuracy.item():.3f}" in panel.alt


def test_figures_have_words_made_of_their_data_and_are_kept(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    page = lines.figure_13(sweep).data
    assert f"{sweep.own_mean.max().item():.3f}" in page and "Not MNIST!" in page
    monkeypatch.setattr(lines.plotting, "figure", lambda *_, **__: pytest.fail("drawn again"))
    assert lines.figure_13(sweep).data == page
    with pytest.raises(ValueError, match="unknown pair 'none'"):
        lines.figure_13(sweep, pairs=["none"])


def test_worst_finds_the_largest_gap(sweep):
    pair, layer = algorithms.worst(sweep.gap_mean)
    assert sweep.gap_mean.sel(pair=pair, layer=layer).max().item() == sweep.gap_mean.max().item()


def test_the_readings_say_this_sweeps_numbers_and_judge_them(sweep):
    inner = sweep.sel(alpha=[0.25, 0.5, 0.75])
    most = (inner.gap_mean / sweep.own_mean).max().item()
    text = lines.reading_of_the_gap(sweep).text
    assert f"nowhere more than {most:.0%} of the two ends' own distance" in text
    hidden = inner.coef_mean.isel(layer=slice(None, -1))
    least, largest = hidden.min().item(), hidden.max().item()
    text = lines.reading_of_coef(sweep).text
    assert f"The means run from {least:.3f} to {largest:.3f}" in text
    flat = 0 * sweep.gap_mean
    for share, coef, verdict in ((0.1, 0.9, "Agrees: "), (0.2, 0.8, "Does not agree here: ")):
        made_up = sweep.assign(gap_mean=share * sweep.own_mean + flat, coef_mean=coef + flat)
        for page in (lines.reading_of_the_gap(made_up), lines.reading_of_coef(made_up)):
            assert page.text.startswith(verdict)
