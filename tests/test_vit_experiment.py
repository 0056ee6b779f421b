"""The experiments on the small ViT, on networks small enough for a test, and what is made of their numbers."""
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import xarray

from lessons import cast, suites
from lessons.cart.algorithms.spectra import Spectra
from lessons.kit import claims
from lessons.merging import merge
from lessons.vit.algorithms import matrices
from lessons.vit.experiment import (
    adapting,
    causes,
    counts,
    large,
    lines,
    merges,
    numbers,
    parts,
    ranks,
    setting,
    stitching,
)
from lessons.vit.panels import lines as of_lines
from lessons.vit.panels import merges as of_merges
from lessons.vit.panels import ranks as of_ranks
from lessons.vit.panels import stitching as of_stitching
from toy_models import Architecture, Recipe, TinyViT, weights

TINY = setting.Settings(widths=(8,), size=64, epochs=1, images=8, features=4, alphas=(0.0, 0.5, 1.0),
                        ranks=(0.25, 0.5), lams=(1.0, 2.0), way_ranks=(0.5,), way_lams=(1.0,), counts=(2, 4, 8))


def tiny_vit(width=8, seed=0):
    return Recipe.on("medley", Architecture.of("TinyViT", width=8, depth=2, heads=2),
                     options={"upright": 64, "each": 8}, lr=1e-3, epochs=1, optimiser="adamw", seed=seed)


@pytest.fixture(scope="module")
def small(session_sweep):
    with session_sweep((cast, "pretrained_vit", tiny_vit), (suites._WITHOUT_STATISTICS, "TinyViT", WithTwoHeads)):
        yield setting.load(TINY, 0, 8)


class WithTwoHeads(TinyViT):
    """Weights do not tell how many heads there are."""

    @classmethod
    def from_state(cls, state):
        return TinyViT.from_state(state, heads=2)


@pytest.fixture(scope="module")
def sweeps(small):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setting, "load", lambda *arguments: small)
        attributes = {"source": "MNIST", "source_kind": "official", "dataset": "MNIST", "network": "TinyViT",
                      "profile": "quick", "seed": 0}
        return {name: module.measure(TINY).assign_attrs(attributes)
                for name, module in (("lines", lines), ("merges", merges), ("ranks", ranks))}


def test_the_head_stays_and_tasks_choose_among_their_own_classes(small):
    heads = [state["head.weight"] for state in (small.base, *small.finetuned)]
    assert all(torch.equal(head, heads[0]) for head in heads)
    x, y = small.test[4]
    logits = small.network(x)[:, 10:20]
    assert small.accuracy(small.base)[4] == pytest.approx((logits.argmax(1) == y - 10).double().mean().item())
    assert small.suite.tasks[0] == "digits turned by 90°" and small.suite.tasks[-1] == "clothes striped"


def test_many_merges_are_looked_at_as_one_is(small):
    states = [small.base, *small.finetuned]
    assert np.array_equal(setting.looked_at(small, states, "test"), [small.accuracy(state) for state in states])


def test_features_at_the_ends_are_the_ends_and_all_is_named(sweeps):
    found = sweeps["lines"]
    assert float(found.gap_mean.sel(alpha=[0.0, 1.0]).max()) < 1e-6
    assert list(found.layer.values) == ["block 1", "block 2", "pooled", "output"]
    assert list(found.what.values) == list(lines.WHAT) and found.averaged.notnull().all()


def test_the_mean_of_features_is_that_of_eight_networks(small, sweeps):
    x = small.test[0][0][:4]
    mean = torch.stack([small.complete(state).features(x)["pooled"] for state in small.finetuned]).mean(0)
    merged = small.complete(merge("average", small.base, small.finetuned)).features(x)["pooled"]
    whole = lines.of_all(small, [x])
    expected = 1 - F.cosine_similarity(merged.double(), mean.double(), dim=1).mean()
    assert whole["all_gap"][2] == pytest.approx(float(expected), abs=1e-6)


def test_task_vectors_of_their_own_length_are_the_networks(sweeps):
    found = sweeps["lines"].isel(width=0)
    gap = found.gap_mean.sel(alpha=0.5).mean("pair")
    assert np.allclose(found.long_gap.sel(length=1.0), gap, rtol=1e-2, atol=1e-7)
    assert np.allclose(found.long_own.sel(length=1.0), found.own_mean.mean("pair"), rtol=1e-2)
    assert float(found.long_own.sel(length=8.0, layer="pooled")) > float(found.long_own.sel(length=1.0, layer="pooled"))


def test_every_method_is_tried_and_the_best_on_held_out_images_is_reported(small, sweeps):
    found = sweeps["merges"].isel(width=0)
    assert list(found.searched.values) == list(merges.GRIDS)
    for method, grid in merges.GRIDS.items():
        assert int(found.held.sel(searched=method).count()) == len(grid.scales) * len(grid.tried)
        scale, other = map(float, found.chosen.sel(searched=method).values)
        if method == "average":
            continue
        merged = merge(method, small.base, small.finetuned, scale=scale, **({grid.other: other} if grid.other else {}))
        assert np.array_equal(found.test.sel(reported=method), small.accuracy(merged))


def test_taking_away_nothing_is_theta_0(small, sweeps):
    nothing = sweeps["merges"].negated.isel(width=0).sel(lam=0.0, of="its own task")
    assert np.array_equal(nothing, small.accuracy(small.base))


def test_lengths_and_cosines_are_those_of_the_task_vectors(small, sweeps):
    found = sweeps["merges"].isel(width=0)
    vectors = [weights.subtract(state, small.base) for state in small.finetuned]
    assert float(found.length[3]) == pytest.approx(weights.norm(vectors[3]) / weights.norm(small.base), rel=1e-4)
    pairs = [weights.cosine(a, b) for i, a in enumerate(vectors) for b in vectors[:i]]
    assert float(found.cosine) == pytest.approx(np.mean(pairs), abs=1e-4)


def test_cart_on_the_grid_is_the_registry_s(small, sweeps):
    found = sweeps["ranks"].isel(width=0)
    for rank, lam in ((0.25, 2.0), (0.5, 1.0)):
        merged = merge("cart", small.base, small.finetuned, rank_ratio=rank, scale=lam)
        for part in ("held-out", "test"):
            grid = found.accuracy.sel(part=part, rank=rank, lam=lam)
            assert np.array_equal(grid, small.accuracy(merged, part))


def test_only_the_chosen_matrices_move(small):
    spectra = Spectra(small.base, small.finetuned)
    total = matrices.truncated_sum(spectra, 0.5, matrices.of_attention)
    moved = {key for key, tensor in total.items() if tensor.any()}
    assert moved and all("attention" in key and key.endswith("weight") for key in moved)


def test_a_part_of_a_task_vector_alone_is_grafted_on_theta_0(small, sweeps):
    found = sweeps["ranks"].isel(width=0)
    own = small.finetuned[2]
    grafted = {key: own[key] if "attention" in key else tensor for key, tensor in small.base.items()}
    assert float(found.alone.sel(group="attention")[2]) == small.accuracy(grafted)[2]


def test_the_shares_of_the_squared_length_sum_to_one(sweeps):
    assert float(sweeps["ranks"].squares.sum()) == pytest.approx(1)


def test_the_claims_numbers_are_numbers(sweeps):
    numbers = lines.claims(sweeps["lines"])
    assert numbers and all(np.isfinite(value) for value in numbers.values())


# -- more tasks, more passes, adaptation -----------------------------------------------------------

def test_a_part_of_the_suite_has_its_own_choices(small):
    part = small.suite.part((1, 6))
    assert part.tasks == ["digits negative", "clothes upside down"] and part.choices == ((0, 10), (10, 20))


def test_more_tasks_and_more_passes_are_measured(small, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    own = suites.Loaded.own  # of eight images a tiny network may read none
    monkeypatch.setattr(suites.Loaded, "own", lambda *arguments: np.maximum(own(*arguments), 0.1))
    found = counts.measure(TINY)
    assert found.kept.sel(count=8).notnull().sum() == len(counts.METHODS)
    assert found.kept.sel(count=2).notnull().all()
    passes = counts.measure_passes(TINY)
    assert list(passes.passes.values) == list(counts.PASSES) and passes.merged.notnull().all()
    assert not np.array_equal(passes.single[0], passes.single[1])
    named = numbers.as_tasks_are_added(found) | numbers.by_passes(passes)
    assert named["cart_lost_more_than_least_8"] == pytest.approx(
        named["CART_few_8"] - named["CART_many_8"]
        - min(named[f"{name}_few_8"] - named[f"{name}_many_8"] for name in ("average", "TIES", "TSV-M",
                                                                           "task_arithmetic")))


def test_of_two_tasks_cart_is_the_average(small):
    spectra = Spectra(small.base, small.finetuned[:2])
    average = merge("average", small.base, small.finetuned[:2])
    for lam, rank in ((1.0, 0.25), (3.0, 0.5)):
        merged = spectra.merged(lam, rank)
        assert all(torch.allclose(merged[key], tensor, atol=1e-6) for key, tensor in average.items())


def test_adaptation_begins_at_the_methods_it_adapts(small, monkeypatch):
    monkeypatch.setattr(setting, "load", lambda *arguments: small)
    monkeypatch.setattr(adapting, "STEPS", 3)
    found = adapting.measure(TINY)
    plain = merge("task_arithmetic", small.base, small.finetuned, scale=0.1)
    centred = merge("cart", small.base, small.finetuned, scale=1.0, rank_ratio=adapting.RANK)
    for name, merged in zip(adapting.STARTS, (plain, centred)):
        assert np.array_equal(found.accuracy.sel(adapted=name, when="at first"), small.accuracy(merged))
    assert found.entropy.sizes["step"] == 3 and float(found.entropy.max()) <= np.log(10)


def test_the_ledger_s_numbers_are_numbers(sweeps):
    found = numbers.peak(sweeps["ranks"].assign_coords(rank=[0.0, 0.08, 0.5, 1.0]))
    assert found["height_8"] >= -1 and set(found) == {"best_rank_8", "best_lam_8", "height_8", "lost_at_8_percent_8"}
    named = [name(sweeps["merges"]) for name in (numbers.leads, numbers.stored, numbers.by_width)]
    for values in named:
        # these networks learn nothing, so there is no way for a merge to go
        assert values and all(np.isfinite(value) for name, value in values.items() if "_way_" not in name)


def test_the_way_of_a_merge_goes_from_theta_0_to_the_single_networks(sweeps):
    found = sweeps["merges"].copy(deep=True)
    for name, value in (("θ₀", 0.4), ("single", 0.8), ("average", 0.5), ("cart", 0.6)):
        found.test.loc[{"reported": name}] = value
    way = numbers.by_width(found)
    assert way["average_way_8"] == pytest.approx(0.25) and way["cart_way_8"] == pytest.approx(0.5)
    assert way["average_lost_8"] == pytest.approx(0.375)


# -- causes and parts ------------------------------------------------------------------------------

def test_an_mlp_learns_the_same_tasks_in_the_same_way(small):
    suite = causes.of_control(TINY)
    assert suite.tasks == small.suite.tasks and suite.choices == small.suite.choices
    mine, theirs = suite.recipes["digits negative"], small.suite.recipes["digits negative"]
    assert (mine.options, mine.lr, mine.epochs, mine.optimiser, mine.schedule) == (
        theirs.options, theirs.lr, theirs.epochs, theirs.optimiser, theirs.schedule)
    assert mine.frozen == ("layers.4.",) and mine.architecture.build().layers[4].out_features == 20


@pytest.fixture(scope="module")
def caused(small):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setting, "load", lambda *arguments: small)
        patch.setattr(causes, "load", lambda *arguments: small)
        return causes.measure(TINY)


def test_controls_are_what_they_are_called():
    x = torch.rand(5, 28, 28)
    kinked, smooth, residual = (network([784, 6, 6, 20]) for network in list(causes.NETWORKS.values())[:3])
    for network in (smooth, residual):
        network.load_state_dict(kinked.state_dict())
    first, second, last = kinked.layers
    h = F.gelu(first(x.flatten(1)))
    assert torch.equal(kinked.features(x)["layer 1"], F.relu(first(x.flatten(1))))
    assert torch.equal(smooth(x), last(F.gelu(second(h)))) and torch.equal(residual(x), last(h + F.gelu(second(h))))


def test_a_fixed_reading_is_the_same_table_for_every_image():
    torch.manual_seed(0)
    network = causes.FixedViT(8, 2, 2, 14)
    assert not any(".q." in key or ".k." in key for key in network.state_dict())
    reading = network.blocks[0].attention
    torch.nn.init.normal_(reading.table)
    h = torch.randn(3, 5, 8)
    first, second = reading.table.softmax(-1) @ reading.v(h).unflatten(2, (2, 4)).transpose(1, 2)[1]
    assert torch.allclose(reading(h)[1], reading.out(torch.cat([first, second], 1)), atol=1e-6)
    assert torch.allclose(reading(2 * h) - reading(h), reading(h) - reading(0 * h), atol=1e-5)  # attention's is not
    again = causes.FixedViT.from_state(network.state_dict())
    x = torch.rand(2, 28, 28)
    assert torch.equal(again(x), network(x))


def test_controls_are_trained_by_their_own_recipes(standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    monkeypatch.setenv("WEIGHTSPACE_OFFLINE", "1")
    monkeypatch.setattr(causes.setting, "suite", lambda *arguments: replace(whole, recipes=dict(first)))
    whole = suites.altered(8, 0, TINY.size, TINY.epochs)
    whole = replace(whole, base=replace(tiny_vit(), architecture=whole.base.architecture))
    first = list(whole.recipes.items())[:1]
    found = {kind: causes.load(TINY, 0, kind) for kind in causes.NETWORKS}
    assert len({loaded.suite.base.key for loaded in found.values()}) == 4
    for kind, loaded in found.items():
        head, body = ("head", "patch") if kind == causes.FIXED else ("layers.4", "layers.0")
        assert type(loaded.network) is causes.NETWORKS[kind] is type(loaded.complete(loaded.base))
        assert torch.equal(loaded.finetuned[0][f"{head}.weight"], loaded.base[f"{head}.weight"])
        assert not torch.equal(loaded.finetuned[0][f"{body}.weight"], loaded.base[f"{body}.weight"])


def test_lengths_and_ends_of_the_causes_are_those_of_the_line(caused, sweeps):
    line = sweeps["lines"].isel(width=0)
    for length in (0.5, 1.0, 8.0):
        mine = caused.sel(kind=causes.VIT, length=length)
        theirs = line.sel(length=length, layer="block 2")
        assert float(mine.gap) == pytest.approx(float(theirs.long_gap), abs=1e-9)
        assert float(mine.own) == pytest.approx(float(theirs.long_own), abs=1e-9)


def test_half_way_between_adding_and_taking_away_is_theta_0(caused, small):
    features = []
    for sign in (1, -1):
        states = [lines.longer(small.base, state, sign * 2.0) for state in small.finetuned]
        features.append([small.complete(state).features(x[:TINY.features])["block 2"].flatten(1).double()
                         for state, (x, _) in zip(states, small.test)])
    start = [small.network.features(x[:TINY.features])["block 2"].flatten(1).double() for x, _ in small.test]
    gaps = [1 - F.cosine_similarity(at, (plus + minus) / 2, dim=1).mean() for at, plus, minus in zip(start, *features)]
    assert float(caused.gap.sel(kind=causes.BACK, length=2.0)) == pytest.approx(float(np.mean(gaps)), rel=1e-6)


def test_a_part_is_shorter_than_the_whole(caused, small):
    whole, attention, mlps, back, *_ = caused.relative.values
    assert attention ** 2 + mlps ** 2 < whole ** 2 == back ** 2
    for key, tensor in causes.only(small, "attention")[3].items():
        assert torch.equal(tensor, (small.finetuned[3] if "attention" in key else small.base)[key])


def test_a_share_between_two_measured_lengths_lies_on_a_line_of_logarithms(caused):
    made = caused.copy(deep=True)
    made["own"] = 0.01 * made.length ** 2 * xarray.ones_like(made.own)
    made["gap"] = 0.002 * made.length ** 4 * xarray.ones_like(made.gap)
    assert causes.share_at(made, causes.VIT, "own", 0.05) == pytest.approx(0.2 * 5)
    assert causes.share_at(made, causes.VIT, "relative", 3 * float(made.relative[0])) == pytest.approx(0.2 * 9)
    assert np.isnan(causes.share_at(made, causes.VIT, "own", 100.0))


def test_parts_are_exchanged(small):
    found = parts.measured(small)
    places = parts.places_of(small.base)
    assert list(places)[3:] == ["block 1", "block 2"] == list(map(str, found.place.values[3:]))
    assert set().union(*list(places.values())[:3]) == set(small.base)
    average, own = merge("average", small.base, small.finetuned), small.finetuned[2]
    one = places["block 2"]
    mixed = {"alone": (small.base, own), "spoiled": (own, average), "rescued": (average, own)}
    for name, (outside, inside) in mixed.items():
        state = {key: (inside if key in one else outside)[key] for key in small.base}
        assert float(found[name].sel(place="block 2")[2]) == small.accuracy(state)[2], name
    assert float(found.squares[:3].sum()) == pytest.approx(1, rel=1e-5)


# -- θ₀ given the features of others ----------------------------------------------------------------

@pytest.fixture(scope="module")
def put_in(small, session_sweep):
    with session_sweep((setting, "load", lambda *arguments: small), (stitching, "IMAGES", 30)):
        attributes = {"source": "MNIST", "source_kind": "official", "dataset": "MNIST", "network": "TinyViT",
                      "profile": "full", "seed": 0}
        yield stitching.measure(TINY).assign_attrs(attributes)


def features_at(small, lam, task, of, layer="block 1"):
    """Of θ₀ + λτ of a task, on the test images of another."""
    state = {key: tensor + lam * (small.finetuned[task][key] - tensor) for key, tensor in small.base.items()}
    return small.complete(state).features(small.test[of][0])[layer]


def read(small, h, of, layer="block 1"):
    """The share that θ₀ reads of a task when its second block gets this."""
    first, last = small.suite.choices[of]
    h = h if layer == "block 2" else small.network.blocks[1](h)
    logits = small.network.compared(small.network.norm(h[:, 0]))[:, first:last]
    return (logits.argmax(1) == small.test[of][1] - first).double().mean().item()


@pytest.mark.parametrize("layer", ["block 1", "block 2"])
def test_theta_0_is_given_the_features_that_the_sweep_says(small, put_in, layer):
    i, j, lam = 1, 6, 0.6
    mine, theirs = (features_at(small, lam, task, i, layer) for task in (i, j))
    found = put_in.both.sel(pair="digits negative and clothes upside down", lam=lam, layer=layer).isel(two=0).values
    assert found.tolist() == [read(small, h, i, layer) for h in ((mine + theirs) / 2, mine, theirs)]
    less = 2 * features_at(small, 0.0, i, i, layer) - mine
    back = features_at(small, -lam, i, i, layer)
    away = put_in.negated.sel(task="digits negative", lam=lam, layer=layer, which=stitching.WHICH[0]).values
    assert away.tolist() == [read(small, h, i, layer) for h in (less, back)]


def test_without_anything_put_in_theta_0_and_the_average_read_as_they_do(small, put_in):
    assert np.array_equal(put_in.before.sel(which=stitching.WHICH[0]), small.accuracy(small.base))
    half = merge("average", small.base, [small.finetuned[0], small.finetuned[7]])
    read_by_half = put_in.merged.sel(lam=1.0, pair="digits turned by 90° and clothes striped")
    assert np.allclose(read_by_half, small.accuracy(half)[[0, 7]])


def test_every_image_chooses_among_the_classes_of_its_kind():
    logits = torch.zeros(3, 20)
    logits[0, [3, 15]] = torch.tensor([1.0, 2.0])
    logits[1, [2, 15]] = torch.tensor([3.0, 2.0])
    logits[2, 9] = torch.nan
    assert stitching.correct(logits, torch.tensor([3, 15, 9])) == pytest.approx(2 / 3)


@pytest.mark.parametrize("tau_kept, says", [(0.4, "the upright images 20.0 ± 1.5 points more."),
                                            (0.8, "the upright images 20.0 ± 1.4 points less."),
                                            (0.59, "points more, which is within the noise")])
def test_a_difference_of_either_sign_is_news_where_it_is_wider_than_two_errors(monkeypatch, tau_kept, says):
    numbers = {"taken out, Δ: task at 1": 0.1, "taken out, τ: task at 1": 0.1, "taken out: task before": 0.5,
               "taken out, Δ: upright at 1": 0.6, "taken out, τ: upright at 1": tau_kept,
               "taken out: upright before": 0.9}
    monkeypatch.setattr(stitching, "claims", lambda sweep: {"CTL-18": numbers})
    monkeypatch.setattr(stitching, "IMAGES", 1000)
    assert says in of_stitching.reading_of_figure_10("a sweep").text


def made_up(average, one, other):
    """A sweep of one pair in which θ₀ reads so much of both tasks, given the mean, one alone and the other alone."""
    both = np.array([average, one, other])[None, None, None]
    left = np.array([[[0.1, 0.9], [0.2, 0.7]]])[None, None]
    return xarray.Dataset({"both": (("lam", "pair", "layer", "given", "two"), both),
                           "negated": (("lam", "task", "layer", "way", "which"), left)},
                          {"lam": [1.0], "layer": ["block 3"], "given": list(stitching.GIVEN),
                           "way": list(stitching.WAYS), "which": list(stitching.WHICH)})


def test_the_mean_is_compared_with_the_better_of_two_networks_each_on_its_worse_task():
    # task i's network reads 0.9 of its own and 0.3 of the other's task, task j's 0.8 and 0.5: the better one is j's
    found = stitching.worse_of_two(made_up((0.7, 0.6), (0.9, 0.8), (0.5, 0.3)))
    assert found.average.item() == 0.6 and found.one.item() == 0.5 == found.any_lam.item()


def test_figures_9_and_10_are_told_with_their_numbers(put_in, monkeypatch):
    for module in (stitching, of_stitching):
        monkeypatch.setattr(module, "LAYER", "block 2")
    numbers_here = stitching.claims(put_in)["CTL-18"]
    assert all(0 <= value <= 1 for name, value in numbers_here.items() if "over" not in name)
    nine, ten = of_stitching.reading_of_figure_9(put_in), of_stitching.reading_of_figure_10(put_in)
    assert f"in {numbers_here['put in: share of pairs at 1']:.0%} of the 28 pairs" in repr(nine)
    assert f"to {numbers_here['taken out, Δ: task at 1']:.3f} (chance is 0.1)" in repr(ten)
    assert len(repr(of_stitching.put_in_table(put_in)).splitlines()) == 2
    assert len(repr(of_stitching.taken_out_table(put_in)).splitlines()) == 1 + len(stitching.LAMS)
    assert "profile “full” alone" in repr(of_stitching.put_in_table(None))


# -- the ledger ------------------------------------------------------------------------------------

def test_widths_are_measured_one_by_one_and_shown_together(monkeypatch):
    asked = []

    def measure(settings, seed=0, device="auto"):
        asked.append(settings.widths)
        width, = settings.widths
        return xarray.Dataset({"value": ("width", [float(width)])}, {"width": [width]})

    both = setting.ByWidth("made up", measure)
    for experiment in both.of.values():
        monkeypatch.setattr(type(experiment), "run", lambda self, profile, seed, device, fresh:
                            self.measure(self.profiles[profile]).assign_attrs(digest=str(seed), seed=seed))
    found = both.run("full", 3)
    assert asked == [(64,), (128,)] and list(found.value.values) == [64, 128]
    assert found.attrs == {"digest": "3 3", "seed": 3, "network": "TinyViT"}
    assert both.run("quick").width.values.tolist() == [64]


def test_the_ledger_is_offered_every_number_that_a_verdict_needs(sweeps, caused, small, put_in, monkeypatch):
    counted = xarray.Dataset({"kept": (("width", "count", "subset", "merged_by"), np.ones((1, 2, 3, 5)))},
                             {"width": [8], "count": [4, 8], "merged_by": list(counts.METHODS)})
    after = xarray.Dataset({"merged": (("passes", "merged_by", "task"), np.ones((2, 5, 8))),
                            "single": (("passes", "task"), np.ones((2, 8)))},
                           {"passes": [1, 3], "merged_by": list(counts.METHODS)})
    then = xarray.Dataset({"accuracy": (("adapted", "when", "task"), np.ones((2, 2, 8)))},
                          {"adapted": list(adapting.STARTS)})
    inside = parts.measured(small).expand_dims(width=[8])
    ready = {"lines": sweeps["lines"], "merges": sweeps["merges"], "parts": inside, "counts": counted,
             "ranks": sweeps["ranks"].assign_coords(rank=[0.0, 0.08, 0.5, 1.0])}
    for name, sweep in ready.items():
        monkeypatch.setattr(getattr(numbers, name), "EXPERIMENT", OfOneWidth(sweep))
    monkeypatch.setattr(numbers.causes, "run", lambda *arguments: caused)
    monkeypatch.setattr(numbers.adapting, "run", lambda *arguments: then)
    monkeypatch.setattr(numbers.counts, "run_passes", lambda *arguments: after)
    monkeypatch.setattr(stitching, "LAYER", "block 2")
    offered = numbers.of_width(numbers.FIRST, "full", 0)
    offered["CTL-18"] |= stitching.claims(put_in)["CTL-18"]
    judged = {id for id, claim in claims.ledger().items() if "lessons.vit.experiment" in claim.modules}
    assert judged == offered.keys()
    for id, values in offered.items():
        claim = claims.ledger()[id]
        names = {one.number for one in claim.conditions if id == "CTL-18" or one.number.startswith("ViT ")}
        plain = {name.removesuffix("_8") for name in values}
        here = plain | {f"{name}_{width}" for name in plain for width in (64, 128)}
        # the test's ViT has two blocks, and so has fewer parts
        assert names and {name for name in names if "block 4" not in name} <= here, id


class OfOneWidth:
    """`setting.ByWidth` whose sweep is there."""

    def __init__(self, sweep):
        self.of = {width: self for width in (64, 128)}
        self.run = lambda *arguments: sweep


# -- the larger ViT --------------------------------------------------------------------------------

SMALL = large.Settings(width=16, depth=2, heads=2, patch=8, groups=3, known=2, epochs=1, tuning_epochs=2, size=40,
                       batch_size=20, images=10, tuning_lr=1e-3, ranks=(0.25, 0.5), lams=(1.0, 2.0))


@pytest.fixture(scope="module")
def larger(session_sweep):
    with session_sweep():
        yield large.measure(SMALL, device="cpu")


def test_the_larger_vit_is_trained_merged_and_looked_at(larger):
    assert larger.test.notnull().all() and float(larger.test.max()) <= 1
    layers = ["block 1", "block 2", "pooled", "output"]
    assert list(larger.layer.values) == layers and bool((larger.own > larger.gap).all())
    assert float(larger.length.min()) > 0 and list(larger.chosen.searched.values) == [*large.SEARCHES, "cart"]
    said = large.report(larger)
    assert "CPU" in said and "tsv" in said
    unseen = float(larger.test.sel(group=2, reported="single"))
    assert f"that it did not see: θ₀ {float(larger.test.sel(group=2, reported='θ₀')):.3f}, single {unseen:.3f}" in said
    seen = larger.test.sel(group=[0, 1])
    gains = 100 * (seen.sel(reported="ties") - seen.sel(reported="θ₀")).values
    assert f"ties {gains.mean():.1f} ± {abs(gains[0] - gains[1]) / 2:.1f}" in said


def test_pretraining_sees_only_the_groups_that_it_is_said_to_see(session_sweep):
    seen = []

    class Watched(large.Bench):
        """Notes which groups it is trained on."""

        def trained(self, start, groups, *arguments, **named):
            seen.append(list(groups))
            return super().trained(start, groups, *arguments, **named)

    with session_sweep(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "Bench", Watched)
        large.measure(SMALL, device="cpu")
    assert seen == [[0, 1], [0], [1], [2]]


def test_a_finetuned_larger_vit_keeps_its_head(session_sweep):
    with session_sweep():
        bench = large.Bench(SMALL, 0, "cpu")
        start = bench.state
        tuned = bench.trained(start, [1], 1, 1e-2, frozen=True)
        assert torch.equal(tuned["head.weight"], start["head.weight"])
        assert not torch.equal(tuned["patch.weight"], start["patch.weight"])
        again = bench.trained(start, [1], 1, 1e-2, frozen=True)
        assert all(torch.equal(tuned[key], again[key]) for key in tuned)


def test_how_long_the_larger_vit_takes_is_said_before_it_starts(capsys):
    seconds = large.estimate(SMALL, "cpu", steps=1)
    said = capsys.readouterr().out
    assert seconds > 0 and "CPU" in said and "320 training images a seed" in said


# -- pictures --------------------------------------------------------------------------------------

def test_every_view_says_the_numbers_of_its_sweep(sweeps):
    line = sweeps["lines"].sel(width=8, alpha=0.5, layer="block 2")
    pair = str(line.pair.values[0])
    expected = 100 * float((line.gap_mean / line.own_mean).sel(pair=pair))
    assert f"block 2 {expected:.1f} %" in of_lines.lines(sweeps["lines"]).set(alpha=0.5, pair=pair).alt
    expected = float(sweeps["ranks"].accuracy.sel(width=8, part="test", rank=0.25, lam=2.0).mean())
    assert f"0.25: {expected:.3f}" in of_ranks.ranks(sweeps["ranks"]).set(lam=2.0, rank=0.25).alt
    expected = float(sweeps["merges"].negated.sel(width=8, lam=1.0, of="its own task").mean())
    assert f"on its own task is {expected:.3f}" in of_merges.negation(sweeps["merges"]).set(lam=1.0).alt


@pytest.mark.parametrize("name, drawn", [
    ("lines", of_lines.reading_of_the_share), ("merges", of_merges.reading_of_methods),
    ("lines", of_lines.reading_of_the_average), ("lines", of_lines.reading_of_the_compromise),
    ("ranks", of_ranks.reading_of_the_parts),
    ("ranks", of_ranks.reading_of_the_bell), ("ranks", of_ranks.reading_of_the_ways),
    ("merges", of_merges.methods_table), ("merges", of_merges.reading_of_table_1),
    ("merges", of_merges.reading_of_storing), ("merges", of_merges.reading_of_negation)],
    ids=lambda given: getattr(given, "__name__", given))
def test_tables_and_readings_hold_numbers(sweeps, name, drawn):
    text = drawn(sweeps[name]).text
    assert any(letter.isdigit() for letter in text) and "nan" not in text


def test_questions_are_asked_with_measured_numbers(sweeps):
    own = float(sweeps["lines"].own_mean.sel(width=8, layer="block 2").mean())
    assert f"{own:.2f} apart" in of_lines.question(sweeps["lines"])
    assert "average of the eight networks" in of_ranks.question(sweeps["ranks"])


def test_what_chapter_12_says_of_its_controls_is_so_on_every_seed_of_the_ledger():
    found = {name: np.array(values) for name, values in claims.measured()["CTL-18"].items()}
    for distance in causes.EQUAL:  # where features have moved equally far, both ViTs have a smaller gap than the MLPs
        residual = "residual MLP with GELU over {}: share at own distance " + f"{distance:g}"
        assert (found[residual.format("ViT")] > 1).all() and (found[residual.format("ViT, fixed reading")] > 1).all()
        assert (found[residual.format("MLP with GELU")] < 1).all()
        assert (found[f"MLP with GELU over MLP: share at own distance {distance:g}"] < 1).all()
    for mlp in ("MLP", "MLP with GELU", "residual MLP with GELU"):  # where weights have, the ViT has a larger one
        assert (found[f"ViT over {mlp}: share at equal length"] > 1).all()
    assert (found["gap_over_own_4_times_as_long_64"] > 2 * found["gap_over_own_last_block_64"]).all()
    for control in ("features_regain_64", "answers_regain_64", "features_regain_128", "answers_regain_128"):
        assert (found[control] < 0.5).all()  # of what averaging weights loses, less than half


def test_in_profile_full_cart_is_a_little_ahead_of_the_average_on_every_seed_of_the_ledger():
    found = {name: np.array(values) for name, values in claims.measured()["CART-8"].items()}
    found |= {name: np.array(values) for name, values in claims.measured()["CART-14"].items()}
    for width in (64, 128):
        gain, lost = found[f"ViT cart_over_average_{width}"], found[f"ViT average_lost_{width}"]
        assert (gain > 0).all() and (gain < of_ranks.LITTLE * lost).all()
