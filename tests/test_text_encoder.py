import pytest
import torch
import torch.nn.functional as F
from torch import nn

from data import sentences
from toy_models import Architecture, Recipe, TextEncoder, losses, training
from toy_models.text_encoder import mean_of_words
from toy_models.transformer import Attention, Block

FIVE = torch.tensor([[5.0, 9, 4, 7, 0, 0], [8, 3, 0, 0, 0, 0], [4, 4, 6, 1, 3, 0]])  # the last column is padding


def small(**arguments):
    torch.manual_seed(0)
    return TextEncoder(**{"words": 12, "width": 8, "blocks": 2, "heads": 2, "length": 6, "num_classes": 5} | arguments)


def test_a_block_without_padding_is_torch_s():
    ours = Block(12, 3, key_bias=False)
    theirs = nn.TransformerEncoderLayer(12, 3, 48, 0.0, F.gelu, batch_first=True, norm_first=True, dtype=torch.float64)
    attention = ours.attention
    theirs.self_attn.in_proj_weight.data = torch.cat([getattr(attention, name).weight for name in "qkv"]).data
    biases = [attention.q.bias, torch.full((12,), 3.0, dtype=torch.float64), attention.v.bias]  # any bias of keys
    theirs.self_attn.in_proj_bias.data = torch.cat(biases).data
    theirs.self_attn.out_proj = attention.out
    theirs.linear1, theirs.linear2 = ours.mlp["into"], ours.mlp["out"]
    h = torch.randn(2, 5, 12, dtype=torch.float64)
    is_word = torch.tensor([[True] * 5, [True, True, True, False, False]])
    expected = theirs(h, src_key_padding_mask=~is_word)
    assert torch.allclose(ours(h, is_word)[is_word], expected[is_word])


def test_the_gradient_of_a_keys_bias_is_nothing_but_rounding():
    attention, h = Attention(8, 2).double(), torch.randn(3, 5, 8, dtype=torch.float64)
    attention(h).square().sum().backward()
    assert attention.k.bias.grad.abs().max() < 1e-12 < attention.q.bias.grad.abs().max()
    assert "attention.k.bias" not in dict(small().blocks[0].named_parameters())


def test_padding_changes_nothing():
    network = small()
    alone = [network.features(row[None, :int((row > 0).sum())]) for row in FIVE]
    together = network.features(FIVE)
    for name in network.layer_names:
        assert torch.allclose(together[name], torch.cat([one[name] for one in alone]), atol=1e-6), name


def test_features_stand_in_depth_order_and_end_with_the_logits():
    network = small()
    features = network.features(FIVE)
    assert list(features) == network.layer_names == ["embedding", "block 1", "block 2", "pooled", "output"]
    assert [tuple(feature.shape) for feature in features.values()] == [(3, 8)] * 4 + [(3, 5)]
    assert torch.equal(network(FIVE), features["output"])
    assert torch.allclose(features["output"], network.head(mean_of_words(network.streams(FIVE)[-1], FIVE)))


def test_the_order_of_words_counts():
    network = small()
    assert not torch.allclose(network(torch.tensor([[4.0, 7, 5]])), network(torch.tensor([[5.0, 7, 4]])), atol=1e-4)


def test_a_guess_is_the_product_with_every_words_embedding():
    network = small()
    asked = torch.zeros(FIVE.shape, dtype=torch.bool)
    asked[0, 2] = asked[2, 0] = True
    h = network.streams(FIVE)[-1]
    expected = torch.stack([h[0, 2], h[2, 0]]) @ network.embedding.weight.T + network.guess
    assert torch.equal(network.guesses(FIVE, asked), expected)


def test_a_network_is_built_from_its_weights_and_shares_them():
    network = small()
    state = network.state_dict()
    again = TextEncoder.from_state(state, heads=2)
    assert torch.equal(again(FIVE), network(FIVE))
    assert again.position.data_ptr() == state["position"].data_ptr()
    with pytest.raises(ValueError, match=r"not the weights of a TextEncoder.*Keys: a …"):
        TextEncoder.from_state({"a": torch.zeros(2)})


@pytest.mark.parametrize("arguments, named", [
    ({"width": 10, "heads": 4}, "10 is no multiple of 4"), ({"words": 0}, "words"), ({"length": 0}, "length"),
    ({"blocks": -1}, "blocks")])
def test_sizes_that_do_not_fit_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        small(**arguments)


@pytest.mark.parametrize("x, named", [(torch.ones(2, 7), r"\(2, 7\)"), (torch.ones(7), r"\(7,\)"),
                                      (torch.tensor([[4.0, 0], [0, 0]]), "sentence 1 has no word")])
def test_what_is_no_stack_of_sentences_is_refused(x, named):
    with pytest.raises(ValueError, match=named):
        small()(x)


# -- masked words ------------------------------------------------------------------------------------------------------

def test_only_known_words_are_hidden_and_about_the_share_that_is_said():
    x = torch.randint(0, 40, (200, 30), generator=torch.Generator().manual_seed(0)).float()
    seen, drawn = losses.hidden(x, torch.Generator().manual_seed(1))
    assert (seen[drawn] == sentences.MASK).all() and torch.equal(seen[~drawn], x[~drawn])
    assert (x[drawn] > sentences.MASK).all()
    known = int((x > sentences.MASK).sum())
    assert abs(int(drawn.sum()) - losses.MASKED * known) < 4 * (known * losses.MASKED) ** 0.5


def test_where_no_word_was_drawn_the_first_known_one_is_hidden():
    x = torch.tensor([[1.0, 7, 0]])
    for seed in range(20):
        seen, drawn = losses.hidden(x, torch.Generator().manual_seed(seed))
        assert drawn.tolist() == [[False, True, False]] and seen.tolist() == [[1, 2, 0]]
    with pytest.raises(ValueError, match="no sentence has a known word"):
        losses.hidden(torch.ones(2, 3), torch.Generator())


def test_the_loss_asks_for_the_hidden_words_alone():
    network, x = small(), FIVE.repeat(20, 1)
    loss = losses.of(losses.MASKED_WORDS, torch.tensor([0]))
    outputs, wanted = loss.ask(network, x, None, torch.Generator().manual_seed(3))
    _, drawn = losses.hidden(x, torch.Generator().manual_seed(3))
    assert wanted.tolist() == x[drawn].long().tolist() and outputs.shape == (len(wanted), 12)


def test_training_by_recipes_learns_words_then_a_task():
    architecture = Architecture.of("TextEncoder", words=4000, width=16, blocks=1, heads=2, length=16)
    base = Recipe.on("sentences", architecture, options={"size": 640, "words": 4000, "length": 16}, lr=5e-3, epochs=2,
                     optimiser="adam", loss=losses.MASKED_WORDS)
    pretrained = training.train(base)
    options = {"task": "film", "size": 800, "words": 4000, "length": 16}
    tuned = base.finetune("sentences", options, lr=1e-2, epochs=4, batch_size=32, loss=losses.SEEN_CLASSES)
    network = training.train(tuned, pretrained.state_dict())
    test = sentences.load("test", "film", words=4000, length=16)
    first, last = sentences.outputs("film")
    shares = [(one(test.x)[:, first:last].argmax(1) == test.y - first).float().mean() for one in (pretrained, network)]
    assert shares[0] < 0.65 and shares[1] > 0.75
    assert torch.equal(network.guess, pretrained.guess), "finetuning does not touch the bias of the guesses"
