"""What the views of chapters 12 and 13 say at several settings of the archived full sweeps, beside these."""
import html
import itertools
import re

import numpy as np
import pytest
import torch
import xarray
from safetensors.torch import save_file

from lessons.kit.noise import reach
from lessons.kit.predict import predict
from lessons.kit.sweep import names
from lessons.vit import experiment
from lessons.vit.panels import clip, files, lines, merges, ranks, seen
from toy_models import tiny_vit

IMAGES = 4000
MIX = "The features point nearly in the direction of the mix"


@pytest.fixture(scope="module")
def sweeps():
    return {name: getattr(experiment, name).run("full", 0) for name in ("lines", "ranks", "merges")}


@pytest.fixture(scope="module")
def views(sweeps):
    """All three, as they open without a prediction."""
    return {"lines": lines.lines(sweeps["lines"]), "ranks": ranks.ranks(sweeps["ranks"]),
            "negation": merges.negation(sweeps["merges"])}


OPENINGS = {"lines": f"{MIX}, in every layer and for every pair",
            "ranks": "The best rank gains a little over the average, too few directions lose",
            "negation": "The task taken away is forgotten, and the others lose accuracy too"}


@pytest.mark.parametrize("name", OPENINGS)
def test_a_view_opens_where_its_finding_is_seen(name, views):
    view = views[name]
    assert view.title == OPENINGS[name]
    assert len([control for control in view.controls.values() if control.kind == "chips" and not control.more]) <= 1
    coloured = {mark.role for mark in view.marks} - {"other", "chance", "single"}
    assert coloured == {"merged"}


@pytest.mark.parametrize("name", OPENINGS)
def test_titles_state_no_number_and_alts_state_all_of_a_setting(name, views):
    view = views[name]
    for value in view.controls[view.slider].values:
        frame = view.draw(**view.values | {view.slider: value})
        assert not re.search("[0-9]", frame.title) and "nan" not in frame.alt


def test_gaps_are_shares_of_the_distance_between_the_ends_of_a_pair_and_of_all(sweeps, views):
    sweep, view = sweeps["lines"], views["lines"]
    part = sweep.sel(width=128, layer="block 3")
    shares = 100 * (part.gap_mean / part.own_mean).transpose("pair", "alpha")
    frame = view.draw(alpha=0.3, layer="block 3", pair=lines.ALL, width=128)
    assert frame.values["this layer"] == pytest.approx(shares.mean("pair").values)
    assert np.array(frame.values["spread"]) == pytest.approx(np.stack([shares.min("pair"), shares.max("pair")]))
    pair = names(sweep.pair)[3]
    frame = view.draw(alpha=0.3, layer="block 3", pair=pair, width=128)
    assert f"{pair}, width 128, α = 0.30" in frame.alt and ("", f"A and B finetuned on {pair}") in frame.key
    assert f"block 3 {float(shares.sel(pair=pair, alpha=0.3)):.1f} %" in frame.alt
    assert frame.values["coef"] == pytest.approx(part.coef_mean.sel(pair=pair).values)
    assert np.isnan(frame.values["block 3"]).all() and not np.isnan(frame.values["block 2"]).any()


@pytest.mark.parametrize("gaps, worst, title", [
    ([10, 14], [14, 15], f"{MIX}, in every layer and for every pair"),
    ([10, 14], [14, 16], f"{MIX}, in every layer"),
    ([10, 14], None, f"{MIX}, in every layer"),
    ([10, 16], [14, 20], f"{MIX}, but not in the output"),
    ([20, 16], None, "The features do not point in the direction of the mix, in any layer")])
def test_what_the_gaps_of_a_vit_are_called(gaps, worst, title):
    over_alpha = [np.array([[0, gap, 0] for gap in some]) if some else None for some in (gaps, worst)]
    assert lines.finding_of_layers(["block 1", "output"], *over_alpha) == title


def test_several_layers_that_miss_the_mix_are_counted():
    gaps = np.array([[1.0], [16.0], [20.0]])
    assert lines.finding_of_layers(["block 1", "block 2", "output"], gaps) == f"{MIX}, but not in 2 of the layers"


def test_guesses_are_answered_where_a_view_shows_the_measured_number(sweeps):
    asked = predict("How far?", high=100, step=1)
    view = lines.lines(sweeps["lines"], asked)
    shown = view.draw(**view.values | asked.at).values["this layer"]
    assert shown[list(view.controls["alpha"].values).index(0.5)] == pytest.approx(asked.truth)
    assert 0 < asked.truth < 10
    asked = predict("How high?", low=-10, high=25, step=0.5)
    view = ranks.ranks(sweeps["ranks"], asked)
    shown = view.draw(**view.values | asked.at).values["CART"]
    assert shown[view.controls["rank"].values.index(asked.at["rank"])] == pytest.approx(asked.truth)
    assert {"lam", "rank", "width"} == asked.at.keys()


@pytest.mark.parametrize("name", ["lines", "ranks"])
def test_what_gives_the_answer_away_waits_for_the_guess(name, views):
    shown = [mark.name for mark in views[name].marks if mark.kind in ("line", "band", "spots")]
    assert set(shown) <= set(views[name].hides)


def test_cart_and_every_task_are_points_above_the_average(sweeps, views):
    part = sweeps["ranks"].sel(width=128, part="test", lam=1.5)
    frame = views["ranks"].draw(rank=0.16, lam=1.5, width=128)
    above = 100 * (part.accuracy.mean("task") - part.average.mean())
    assert frame.values["CART"] == pytest.approx(above.values)
    tasks, rows = frame.values["tasks"]
    assert tasks == pytest.approx(100 * (part.accuracy.sel(rank=0.16) - part.average).values) and rows[0] == 7
    assert f"0.16: {float(part.accuracy.sel(rank=0.16).mean()):.3f}" in frame.alt


@pytest.mark.parametrize("means, title", [
    ([0.5, 0.3, 0.54, 0.5], "The best rank gains a little over the average, too few directions lose"),
    ([0.5, 0.54, 0.3, 0.5], "The best rank gains a little over the average, too many directions lose"),
    ([0.5, 0.49, 0.7, 0.5], "The best rank gains much over the average"),
    ([0.5, 0.3, 0.51, 0.5], "No rank is seen to beat the average, and too few directions lose"),
    ([0.5, 0.49, 0.51, 0.5], "Every rank is within the noise of the average")])
def test_what_a_curve_over_ranks_is_called(means, title):
    assert ranks.finding_of_bell(np.array(means), 0.5, 0.8, IMAGES) == title


def test_what_is_lost_is_lost_from_the_start(sweeps, views):
    part = sweeps["merges"].negated.sel(width=64)
    frame = views["negation"].draw(lam=1.5, task="digits in noise", width=64)
    own = part.sel(task="digits in noise", of="its own task")
    assert frame.values["own"] == pytest.approx(own.values)
    low, high = frame.values["own, two standard errors"]
    assert high - low == pytest.approx(2 * reach(own.values, IMAGES // 8))
    others = 100 * (part.sel(lam=0) - part.sel(lam=1.5)).sel(of="the others")
    assert frame.values["each"][0] == pytest.approx([float(others.mean()), *others.values])
    assert np.flatnonzero(np.isfinite(frame.values["chosen"][0])) == [4]
    assert views["negation"].draw(lam=0.0, task=merges.ALL).title == "With nothing taken away, this is θ₀ itself"


@pytest.mark.parametrize("own, others, title", [
    ((0.4, 0.1), (0.4, 0.3), "The task taken away is forgotten, and the others lose accuracy too"),
    ((0.4, 0.05), (0.4, 0.39), "The task taken away is forgotten, the others are not seen to lose"),
    ((0.4, 0.3), (0.4, 0.3), "The task taken away is partly forgotten, and the others lose accuracy too"),
    ((0.4, 0.39), (0.4, 0.3), "The task taken away is not seen to suffer, but the others lose accuracy too"),
    ((0.4, 0.4), (0.4, 0.4), "With nothing taken away, this is θ₀ itself")])
def test_what_taking_a_task_vector_away_is_called(own, others, title):
    assert merges.finding_of_taking_away(own, others, IMAGES, IMAGES) == title


def test_clips_views_are_those_of_the_small_vit():
    tasks, layers = ["mnist", "svhn"], [f"block {number}" for number in range(12)] + ["pooled"]
    hill = np.array([0, 0.01, 0])[None, :, None] * np.ones((2, 1, 13))
    sweep = xarray.Dataset(
        {"accuracy": (("model", "task"), [[0.4, 0.4], [0.9, 0.2], [0.2, 0.9], [0.6, 0.6]]),
         "bell": (("ratio", "lam", "task"), np.full((3, 2, 2), 0.8)), "gap_mean": (("pair", "alpha", "layer"), hill),
         "coef_mean": (("pair", "alpha", "layer"), 1 + hill), "own_mean": (("pair", "layer"), np.full((2, 13), 0.2))},
        {"model": ["θ₀", "single: mnist", "single: svhn", "average"], "task": tasks, "ratio": [0.02, 0.08, 0.32],
         "lam": [1.0, 2.0], "alpha": [0.0, 0.5, 1.0], "layer": layers, "pair": ["a, b", "b, a"]},
        {"images": "1,000 test images a task", "profile": "files", "seed": 0, "network": "CLIP", "dataset": "six",
         "source": "six", "source_kind": "official"})
    view = clip.bell(sweep)
    assert view.title == "The best rank gains much over the average" and "each network alone 0.900" in view.alt
    assert view.frame.values["CART"] == pytest.approx([20, 20, 20])
    between = clip.line(sweep)
    assert between.title == f"{MIX}, in every layer and for every pair" and "block 11 5.0 %, coef 1.010" in between.alt
    chips = between.controls["layer"]
    assert len(chips.texts) <= 7 and chips.value == "block 11" and chips.texts[-1] == "class token"


@pytest.fixture(scope="module")
def attentive():
    """A ViT with random weights, longer than they are drawn, so that it looks at some places more than at others."""
    torch.manual_seed(0)
    network = tiny_vit.TinyViT(width=32, depth=2, heads=2)
    for block in network.blocks:
        block.attention.q.weight.data *= 20
    return network.eval().requires_grad_(False), torch.rand(3, 28, 28), torch.tensor([7, 2, 1])


def test_the_map_of_attention_is_what_the_class_token_reads(attentive):
    network, images, _ = attentive
    shares = seen.shares_read(network, images)
    assert shares.shape == (2, 3, 2, 17) and shares.sum(-1) == pytest.approx(1)
    block, h = network.blocks[0], network.embedded(images[:1])
    into = block.norm1(h)
    v = block.attention.v(into)[0].unflatten(1, (2, -1)).transpose(0, 1)  # (heads, places, numbers)
    read = (torch.as_tensor(shares[0, 0])[:, None] @ v).flatten()
    assert block.attention.out(read).numpy() == pytest.approx(block.attention(into)[0, 0].numpy(), abs=1e-5)


def test_every_setting_of_the_map_of_attention_has_its_words(attentive):
    view = seen.class_token(*attentive)
    shares = seen.shares_read(*attentive[:2])
    for head, block, image in itertools.product(*(control.values for control in view.controls.values())):
        frame = view.draw(head, block, image)
        assert frame.values["read"].ravel() == pytest.approx(shares[block, image, head, 1:])
        assert frame.values["share"] == pytest.approx(shares[block, image, head])
        assert f"Block {block + 1}, head {head + 1}, the digit {(7, 2, 1)[image]}. " in frame.alt
        assert not re.search("[0-9]", frame.title)


@pytest.mark.parametrize("share, title", [
    ([0.0, 0.6, 0.4, 0, 0, 0, 0], "Here the class token attends mostly to one patch"),
    ([0.6, 0.4, 0, 0, 0, 0, 0], "Here the class token attends mostly to itself"),
    ([0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], "Here the class token attends mostly to a few tokens"),
    ([0.1] * 10, "Here the class token attends a little to many patches")])
def test_from_how_many_places_the_class_token_reads(share, title):
    assert seen.finding_of_looking(np.array(share)) == title


def test_the_drawing_of_patches_counts_them_and_the_empty_ones():
    image = torch.zeros(28, 28)
    image[8, 3] = image[20, 20] = 1.0
    assert "into 4 × 4 squares" in seen.cut(image, 7).data and "14 of the squares are empty" in seen.cut(image, 7).data


def test_the_bytes_of_a_file_are_drawn_with_what_they_stand_for(tmp_path):
    path = tmp_path / "model.safetensors"
    save_file({"b": torch.ones(2), "a": torch.tensor([0.5, -0.25, 3.0, 1.0])}, path)
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    page = html.unescape(files.bytes_of(path).data)
    assert f"The first 8 bytes, {content[:8].hex(' ')}, are the length of the header, N = {length}." in page
    assert f'begin with {content[8:48].decode()}. From byte {8 + length} on' in page
    assert "a number of the tensor a: 0.50000, -0.25000, 3.00000, 1.00000." in page


def test_accuracies_as_dots_are_said_with_their_names(sweeps):
    line, merged, grid = sweeps["lines"], sweeps["merges"], sweeps["ranks"]
    weights = float(line.averaged.sel(width=64, what="weights").mean())
    assert "Width 64: each network alone" in lines.averaged(line).data
    assert f"weights averaged {weights:.3f}" in lines.averaged(line).data
    assert f"CART {float(merged.test.sel(width=64, reported='cart').mean()):.3f}" in merges.methods_as_dots(merged).data
    assert f"the average {float(grid.average.sel(width=64, part='test').mean()):.3f}" in ranks.ways(grid).data
    share = (line.long_gap / line.long_own).sel(width=64, layer="block 4", length=4)
    assert "4 times as long: distance" in lines.lengths(line).data and f"share {float(share):.1%}" in \
        lines.lengths(line).data


def test_bytes_that_differ_from_the_first_file_are_coloured(tmp_path):
    for name, content in (("sound", bytes(range(40))), ("other", bytes(range(39)) + b"\xff")):
        (tmp_path / name).write_bytes(content)
    paths = {name: tmp_path / name for name in ("sound", "other")}
    page = files.compared(paths, last=True).data
    assert "other: 18 19" in page and " 26 ff." in page
    assert "other: 00 01" in files.compared(paths).data


def test_a_matrix_of_queries_keys_and_values_is_drawn_in_thirds():
    page = files.three_in_one(torch.arange(18.0).view(6, 3), "qkv").data
    assert "6 × 3: rows 0 to 1 are queries, the next 2 keys" in page


def test_one_network_of_all_recovers_little_and_one_a_task_most(sweeps):
    sweep = sweeps["merges"]
    test = sweep.test.mean("task")
    lost = test.sel(reported="single") - test.sel(reported="average")
    storing = names(sweep.storing)
    for method in set(names(sweep.reported)) - {"θ₀", "single"}:
        gained = (test.sel(reported=method) - test.sel(reported="average")) / lost
        assert (gained > merges.MOST).all() if method in storing else (gained < merges.LITTLE).all()
    assert "<b>One network of all eight stays near the average" in merges.reading_of_methods(sweep).page


def test_a_gain_that_few_images_leave_open_says_what_its_error_is(sweeps):
    said = merges.reading_of_methods(sweeps["merges"].assign_attrs(test_images=600)).text
    assert "(± is at most one standard error, so on so few images this may be noise)" in said
    assert "standard error" not in merges.reading_of_methods(sweeps["merges"]).text
