"""The small ViT: its parts against torch's and against loops, its training, its data."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import data
from data import altered, medley
from lessons.vit.algorithms import matrices
from toy_models import Architecture, Recipe, TinyViT, training, zoo
from toy_models.colour_vit import ColourViT
from toy_models.recipe import COSINE
from toy_models.tiny_vit import patches
from toy_models.transformer import Attention, Block

SMALL = Architecture.of("TinyViT", width=8, depth=1, heads=2)


def recipe(**changes):
    options = {"of": "mnist", "change": "negative", "size": 64}
    plain = {"options": options, "lr": 1e-3, "epochs": 1, "optimiser": "adamw"}
    return Recipe.on("altered", SMALL, **(plain | changes))


def images(count=5, seed=0):
    return torch.rand(count, 28, 28, generator=torch.Generator().manual_seed(seed))


# -- the network -----------------------------------------------------------------------------------

def test_a_patch_holds_the_pixels_of_its_square_row_by_row():
    x = torch.arange(2 * 6 * 4).view(2, 6, 4)
    found = patches(x, 2)
    assert found.shape == (2, 6, 4)
    for image in range(2):
        for row in range(3):
            for column in range(2):
                square = x[image, 2 * row:2 * row + 2, 2 * column:2 * column + 2]
                assert found[image, 2 * row + column].tolist() == square.flatten().tolist()


@pytest.mark.parametrize("shape", [(3, 28, 27), (28, 28), (2, 1, 28, 28)])
def test_images_that_cannot_be_cut_are_refused_with_their_shape(shape):
    with pytest.raises(ValueError, match=r"multiples of 7, not \(" + str(shape[0])):
        patches(torch.zeros(shape), 7)


def test_the_patch_embedding_is_a_convolution_with_strides():
    network = TinyViT(16)
    convolution = nn.Conv2d(1, 16, 7, 7)
    convolution.weight.data = network.patch.weight.data.view(16, 1, 7, 7)
    convolution.bias.data = network.patch.bias.data
    x = images()
    expected = convolution(x[:, None]).flatten(2).transpose(1, 2)
    assert torch.allclose(network.embedded(x)[:, 1:], expected + network.position[1:], atol=1e-6)


def test_attention_is_torch_s():
    ours = Attention(12, 3)
    theirs = nn.MultiheadAttention(12, 3, batch_first=True, dtype=torch.float64)
    theirs.in_proj_weight.data = torch.cat([ours.q.weight, ours.k.weight, ours.v.weight]).data
    theirs.in_proj_bias.data = torch.cat([ours.q.bias, ours.k.bias, ours.v.bias]).data
    theirs.out_proj = ours.out
    h = torch.randn(2, 5, 12, dtype=torch.float64)
    assert torch.allclose(ours(h), theirs(h, h, h)[0])


def test_a_block_is_torch_s_with_the_norms_first():
    ours = Block(12, 3)
    theirs = nn.TransformerEncoderLayer(12, 3, 48, 0.0, F.gelu, batch_first=True, norm_first=True, dtype=torch.float64)
    attention = ours.attention
    theirs.self_attn.in_proj_weight.data = torch.cat([getattr(attention, name).weight for name in "qkv"]).data
    theirs.self_attn.in_proj_bias.data = torch.cat([getattr(attention, name).bias for name in "qkv"]).data
    theirs.self_attn.out_proj = attention.out
    theirs.linear1, theirs.linear2 = ours.mlp["into"], ours.mlp["out"]
    h = torch.randn(2, 5, 12, dtype=torch.float64)
    assert torch.allclose(ours(h), theirs(h))


def test_features_stand_after_every_block_in_depth_order():
    found = TinyViT(16, depth=3)(images()), TinyViT(16, depth=3).features(images())
    shapes = {name: tuple(feature.shape[1:]) for name, feature in found[1].items()}
    assert shapes == {"block 1": (17, 16), "block 2": (17, 16), "block 3": (17, 16), "pooled": (16,), "output": (20,)}
    assert list(shapes) == TinyViT(16, depth=3).layer_names


def test_patches_that_are_shuffled_with_their_positions_change_nothing():
    torch.manual_seed(0)
    network, other = TinyViT(16), torch.cat([torch.zeros(1, dtype=int), 1 + torch.randperm(16)])  # its token stays
    with torch.no_grad():
        plain = network.embedded(images())
        alone = torch.cat([plain[:, :1], (plain - network.position)[:, other[1:]] + network.position[1:]], 1)
        found = []
        for h in (plain, plain[:, other], alone):
            for block in network.blocks:
                h = block(h)
            found.append(h)
    assert torch.allclose(found[1], found[0][:, other], atol=1e-5)
    assert torch.allclose(network.norm(found[1][:, 0]), network.features(images())["pooled"], atol=1e-5)
    assert (found[2][:, 0] - found[0][:, 0]).abs().max() > 1e-3, "without their positions"


def test_answers_are_temperature_times_a_cosine():
    network = TinyViT(16)
    pooled = network.features(images())["pooled"]
    cosines = F.cosine_similarity(pooled[:, None], network.head.weight[None], dim=2)
    assert torch.allclose(network(images()), 16 * cosines, atol=1e-5)


def test_a_network_is_built_from_its_weights_and_shares_them():
    network = TinyViT(16, depth=2, patch=14, num_classes=3)
    state = network.state_dict()
    again = TinyViT.from_state(state)
    assert torch.equal(again(images()), network(images()))
    assert again.token.data_ptr() == state["token"].data_ptr()


def test_foreign_weights_are_refused_with_their_keys():
    with pytest.raises(ValueError, match=r"not the weights of a TinyViT.*Keys: a …"):
        TinyViT.from_state({"a": torch.zeros(2)})


@pytest.mark.parametrize("arguments, named", [({"width": 10, "heads": 4}, "10 is no multiple of 4"),
                                              ({"patch": 5}, "28 is no multiple of 5"), ({"depth": -1}, "depth")])
def test_sizes_that_do_not_fit_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        TinyViT(**arguments)


def small_in_colour():
    torch.manual_seed(0)
    return ColourViT(16, depth=2, heads=2, patch=8)


def test_colours_are_cut_into_patches_of_all_channels():
    network = small_in_colour()
    x = torch.rand(2, 3, 32, 32)
    with torch.no_grad():
        for parameter in (network.patch.weight, network.patch.bias, network.position):
            parameter.zero_()
        network.patch.weight[:, 64 * 2 + 8] = 1.0  # the first pixel of the second row of a patch, in blue
        stream = network.embedded(x)
    assert torch.equal(stream[:, 1 + 4 * 1 + 2, 0], x[:, 2, 9, 16]) and stream.shape == (2, 17, 16)


def test_in_colour_the_blocks_and_the_head_are_the_small_ones():
    network, plain = small_in_colour(), TinyViT(16, 2, 2, 8, 32, 100)
    assert network.state_dict().keys() == plain.state_dict().keys()
    shared = {key: tensor for key, tensor in network.state_dict().items() if key != "patch.weight"}
    shared["patch.weight"] = network.state_dict()["patch.weight"][:, :64]
    plain.load_state_dict(shared)
    x = torch.rand(2, 3, 32, 32)
    x[:, 1:] = 0.0  # nothing in green and blue
    with torch.no_grad():
        features, expected = network.features(x), plain.features(x[:, 0])
        assert torch.equal(network(x), features["output"])
    assert list(features) == list(expected) == ["block 1", "block 2", "pooled", "output"]
    for layer, values in expected.items():
        assert torch.allclose(features[layer], values, atol=1e-5)


@pytest.mark.parametrize("sizes", [{"width": 16, "heads": 3}, {"width": 16, "heads": 2, "patch": 5}])
def test_a_vit_in_colour_whose_sizes_do_not_fit_is_refused(sizes):
    with pytest.raises(ValueError, match="heads must divide the width and patch the size"):
        ColourViT(**sizes)


# -- its training ----------------------------------------------------------------------------------

def test_it_is_trained_in_float64_and_side_by_side():
    assert not training.convolves(TinyViT(8))


def test_a_schedule_and_frozen_parts_change_no_key_where_they_are_not_named():
    assert "schedule" not in recipe().to_json() and "frozen" not in recipe().to_json()
    assert "cosine" in recipe(schedule=COSINE).to_json()


def test_the_rate_rises_falls_and_ends_at_nothing():
    shares = [training.share_of_rate(step, 100) for step in range(100)]
    assert shares[:5] == [0.2, 0.4, 0.6, 0.8, 1.0]
    assert np.all(np.diff(shares[5:]) <= 0) and shares[-1] < 0.001
    assert training.share_of_rate(0, 1) == 1.0


def test_a_frozen_part_stays_to_the_last_bit_and_the_rest_moves():
    base = recipe(epochs=0)
    before = training.train(base).state_dict()
    after = training.train(base.finetune(epochs=1, frozen=("head.", "blocks.0.attention.q")), before).state_dict()
    moved = {key for key in before if not torch.equal(before[key], after[key])}
    assert moved == {key for key in before if not key.startswith(("head.", "blocks.0.attention.q"))}


def test_what_is_to_be_frozen_must_be_there_and_leave_something():
    with pytest.raises(ValueError, match="nothing in the network begins with 'heads'"):
        training.train(recipe(frozen=("heads",)))
    with pytest.raises(ValueError, match="everything in the network is frozen"):
        training.trained_part(TinyViT(8), tuple(dict(TinyViT(8).named_parameters())))
    with pytest.raises(ValueError, match="must be a tuple of beginnings"):
        recipe(frozen="head.")


def test_with_a_schedule_other_epochs_are_another_training():
    one, two = recipe(schedule=COSINE), recipe(schedule=COSINE, epochs=2)
    with pytest.raises(ValueError, match="other trainings"):
        training.train_through([one, two])
    together = zoo.get_all([one, two], progress=False)
    alone = training.train(one)
    assert all(torch.equal(a, b) for a, b in zip(together[0].state_dict().values(), alone.state_dict().values()))


def test_an_unknown_schedule_or_optimiser_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="choose one of constant, warm-up and cosine"):
        recipe(schedule="linear")
    with pytest.raises(ValueError, match="choose one of sgd, adam, adamw"):
        recipe(optimiser="lion")


def test_adamw_with_the_schedule_is_torch_s(monkeypatch):
    base = recipe(schedule=COSINE, epochs=1)
    trained = training.train(base).state_dict()
    torch.manual_seed(base.seed)
    network = base.architecture.build().double()
    dataset = data.load("altered", "train", **dict(base.options))
    optimiser = torch.optim.AdamW(network.parameters(), lr=base.lr)
    order = torch.randperm(len(dataset.x), generator=torch.Generator().manual_seed(base.seed))
    for step, batch in enumerate(order.split(64)):
        optimiser.param_groups[0]["lr"] = base.lr * training.share_of_rate(step, 1)
        optimiser.zero_grad()
        F.cross_entropy(network(dataset.x[batch].double())[:, :10], dataset.y[batch]).backward()
        optimiser.step()
    assert all(torch.allclose(trained[key], tensor.float()) for key, tensor in network.state_dict().items())


# -- its data --------------------------------------------------------------------------------------

@pytest.mark.parametrize("of, change", medley.TASKS)
def test_an_altered_task_has_images_between_0_and_1_and_its_own_labels(of, change):
    found = data.load("altered", "test", of=of, change=change)
    first, last = altered.outputs(of)
    assert 0 <= found.x.min() and found.x.max() <= 1
    assert found.y.min() == first and found.y.max() == last - 1
    assert change in found.source.text


def test_every_change_is_what_its_name_says():
    plain = data.load("altered", "test", of="mnist").x[:3]
    clothes = data.load("altered", "test", of="fashion_mnist").x[:3]

    def changed(change):
        return data.load("altered", "test", of="mnist", change=change).x[:3]
    assert torch.equal(changed("negative"), 1 - plain)
    assert torch.equal(changed("turned by 90°")[0], torch.rot90(plain[0]))
    assert torch.equal(changed("upside down"), plain.flip(1, 2))
    assert torch.equal(changed("on others"), (plain - clothes).abs())
    assert torch.equal(changed("striped")[:, :4], plain[:, :4])
    assert torch.equal(changed("striped")[:, 4:8], 1 - plain[:, 4:8])
    noise = 2 * changed("in noise") - plain
    assert 0.45 < noise.mean() < 0.55 and noise.min() > -1e-6 and noise.max() < 1 + 1e-6


def test_the_first_images_are_the_same_whatever_the_size():
    few = data.load("altered", "train", of="mnist", change="in noise", size=10)
    more = data.load("altered", "train", of="mnist", change="in noise", size=20)
    assert torch.equal(few.x, more.x[:10]) and few.source.digest != more.source.digest


def test_what_there_is_not_is_refused_with_what_there_is():
    with pytest.raises(ValueError, match="of must be one of mnist, fashion_mnist"):
        data.source("altered", of="cifar")
    with pytest.raises(ValueError, match="change must be one of none, turned by 90°"):
        data.source("altered", change="blurred")


def test_the_medley_holds_upright_images_and_a_few_of_each_task():
    found = data.load("medley", "train", upright=30, each=4)
    assert len(found) == 2 * 30 + 8 * 4 and sorted(found.y.unique().tolist()) == list(range(20))
    assert torch.equal(found.x[60:64], data.load("altered", "train", of="mnist", change="turned by 90°", size=4).x)
    assert data.source("medley", each=5).digest != data.source("medley", each=4).digest


# -- q, k and v ------------------------------------------------------------------------------------

def test_fusing_and_taking_apart_gives_the_same_weights_in_the_same_order():
    state = TinyViT(8, depth=2, heads=2).state_dict()
    as_one = matrices.fused(state)
    assert as_one["blocks.1.attention.qkv.weight"].shape == (24, 8)
    assert torch.equal(as_one["blocks.0.attention.qkv.bias"][8:16], state["blocks.0.attention.k.bias"])
    again = matrices.apart(as_one)
    assert set(again) == set(state) and all(torch.equal(again[key], state[key]) for key in state)


def test_queries_and_keys_exchanged_load_and_compute_something_else():
    torch.manual_seed(0)
    network, swap = TinyViT(8, depth=1, heads=2), {"q": "k", "k": "q"}
    for part in ("q", "k"):  # no two of random weights are alike
        torch.nn.init.normal_(getattr(network.blocks[0].attention, part).weight)
    exchanged = {".".join(swap.get(part, part) for part in key.split(".")): tensor
                 for key, tensor in network.state_dict().items()}
    again = TinyViT(8, depth=1, heads=2)
    again.load_state_dict(exchanged)
    assert not torch.allclose(network(images()), again(images()), atol=1e-3)


def test_a_q_without_its_k_is_refused_by_name():
    state = TinyViT(8, depth=1, heads=2).state_dict()
    del state["blocks.0.attention.k.bias"]
    with pytest.raises(ValueError, match="'blocks.0.attention.k.bias' is missing"):
        matrices.fused(state)


def test_by_name_leaves_embeddings_and_head_out_and_by_dimension_does_not():
    state = TinyViT(8, depth=1, heads=2).state_dict()
    both = [{key for key in state if rule(key, state[key])} for rule in (matrices.by_dimension, matrices.by_name)]
    assert both[0] - both[1] == {"position", "patch.weight", "head.weight"}
    assert both[1] == {key for key in state if key.endswith("weight") and ("attention" in key or "mlp" in key)}


