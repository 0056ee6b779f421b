import math

import pytest
import torch
import torch.nn.functional as F

from data.asked import END, NUMBERS
from toy_models import Architecture, Recipe, TextToText, losses, training
from toy_models.text_to_text import bucket

X = torch.tensor([[5.0, 9, 4, 7, 0, 0], [8, 3, 0, 0, 0, 0], [4, 4, 6, 1, 3, 0]])  # the last column is padding
Y = torch.tensor([[7, 8, END, 0], [5, END, 0, 0], [9, 4, 6, END]])


def small(seed=0, **arguments):
    torch.manual_seed(seed)
    network = TextToText(**{"words": NUMBERS, "width": 8, "blocks": 2, "heads": 2} | arguments)
    for parameter in network.parameters():  # far from 1 and from each other, so that nothing is the same by chance
        torch.nn.init.normal_(parameter, mean=0.2 if parameter.ndim == 1 else 0, std=0.6)
    return network


# -- the arithmetic ----------------------------------------------------------------------------------------------------

def published(distance, both_ways, buckets=32, furthest=128):
    """T5's bucket of a distance, in whole numbers alone: the last k with exact·(furthest/exact)^(k/wide) ≤ distance."""
    first = 0
    if both_ways:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(0, -distance)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    wide = buckets - exact
    reached = [k for k in range(wide) if distance ** wide * exact ** k >= exact ** wide * furthest ** k]
    return first + exact + max(reached)


@pytest.mark.parametrize("both_ways", [True, False])
def test_distances_fall_into_t5_s_buckets(both_ways):
    distances = range(-200, 201)
    seen = bucket(torch.tensor(distances), both_ways).tolist()
    assert seen == [published(distance, both_ways) for distance in distances]
    assert set(seen) == set(range(32)) - ({16} if both_ways else set())  # no distance above 0 is 0


def test_buckets_that_can_be_counted_by_hand():
    assert bucket(torch.tensor([0, -1, 1, -7, 7, -8, -11, -12, 500]), True).tolist() == [0, 1, 17, 7, 23, 8, 8, 9, 31]
    assert bucket(torch.tensor([3, 0, -1, -15, -16, -18, -19, -500]), False).tolist() == [0, 0, 1, 15, 16, 16, 17, 31]


def normed(h, weight):
    return torch.stack([row / (row.square().mean() + 1e-6).sqrt() for row in h]) * weight


def attended(state, h, read, key, bias=None):
    """What attention adds, head by head; bias (i, j, head) -> what is added to a score."""
    q, k, v = (rows @ state[f"{key}.{name}.weight"].T for name, rows in (("q", h), ("k", read), ("v", read)))
    columns = []
    for head in range(2):
        mine = slice(4 * head, 4 * head + 4)
        scores = q[:, mine] @ k[:, mine].T / 2
        if bias:
            scores += torch.tensor([[bias(i, j, head) for j in range(len(read))] for i in range(len(h))])
        columns.append(scores.softmax(1) @ v[:, mine])
    return torch.cat(columns, 1) @ state[f"{key}.out.weight"].T


def through(state, h, key, last, bias):
    """The stream after attention and the two linear layers of a block, without what the encoder gives."""
    read = normed(h, state[f"{key}.norm1.weight"])
    return h + attended(state, read, read, f"{key}.attention", bias), lambda h: h + (
        normed(h, state[f"{key}.{last}.weight"]) @ state[f"{key}.mlp.into.weight"].T).relu() @ state[
            f"{key}.mlp.out.weight"].T


def by_hand(state, x, y):
    """Logits for one text and one answer without padding, (places, words), for width 8 and two heads."""
    def towards(i, j, head):
        return state["encoder.relative"][published(j - i, True), head].item()

    def before(i, j, head):
        return -math.inf if j > i else state["decoder.relative"][published(j - i, False), head].item()

    words = state["embedding.weight"]
    h = words[x]
    for i in range(2):
        h, mlp = through(state, h, f"encoder.blocks.{i}", "norm2", towards)
        h = mlp(h)
    memory, h = normed(h, state["encoder.norm.weight"]), words[torch.tensor([0, *y[:-1]])]
    for i in range(2):
        key = f"decoder.blocks.{i}"
        h, mlp = through(state, h, key, "norm3", before)
        h = mlp(h + attended(state, normed(h, state[f"{key}.norm2.weight"]), memory, f"{key}.cross_attention"))
    return normed(h, state["decoder.norm.weight"]) @ words.T


def test_logits_are_those_computed_by_hand():
    network = small().double()
    state = {key: tensor.detach().clone() for key, tensor in network.state_dict().items()}
    for x, y in zip(X, Y):
        x, y = x[x > 0].long(), y[y > 0]
        assert torch.allclose(network(x[None], y[None])[0], by_hand(state, x, y.tolist()), atol=1e-9)


def test_a_later_word_of_the_answer_changes_no_logits_before_it():
    network, changed = small(), Y.clone()
    changed[:, 1] = 3
    before, after = network(X, Y), network(X, changed)
    assert torch.equal(before[:, :2], after[:, :2])
    assert (before[:, 2] - after[:, 2]).abs().max() > 1e-3


def test_the_last_word_of_a_text_changes_what_is_read_at_its_first_place():
    network, changed = small(), X.clone()
    changed[0, 3] = 11
    assert (network(X, Y)[0] - network(changed, Y)[0]).abs().max() > 1e-3
    assert torch.equal(network(X, Y)[1:], network(changed, Y)[1:])


def test_padding_changes_nothing():
    network = small()
    together = network.features(X)
    alone = [network.features(row[None, :int((row > 0).sum())]) for row in X]
    for name in network.layer_names:
        assert torch.allclose(together[name], torch.cat([one[name] for one in alone]), atol=1e-5), name
    wider = network(F.pad(X, (0, 3)), F.pad(Y, (0, 2)))
    assert torch.allclose(wider[:, :4], network(X, Y), atol=1e-5)


def test_the_order_of_words_counts_on_both_sides():
    network = small()
    assert not torch.allclose(network(X[:1].flip(1)[:, 2:], Y[:1]), network(X[:1], Y[:1]), atol=1e-3)
    first, other = (network(X[:1], torch.tensor([[*words, 6]]))[0, 2] for words in ((7, 8), (8, 7)))
    assert not torch.allclose(first, other, atol=1e-3)


# -- features, answers -------------------------------------------------------------------------------------------------

def test_features_are_the_means_of_what_is_read_and_the_first_place_of_what_is_written():
    network = small()
    seen = network.features(X)
    assert list(seen) == network.layer_names == ["encoder 1", "encoder 2", "decoder 1", "decoder 2", "output"]
    assert [tuple(feature.shape) for feature in seen.values()] == [(3, 8)] * 4 + [(3, NUMBERS)]
    assert torch.allclose(seen["output"], network(X, Y)[:, 0], atol=1e-5)
    streams = {}
    for name, block in (("encoder 2", network.encoder.blocks[1]), ("decoder 1", network.decoder.blocks[0])):
        block.register_forward_hook(lambda block, given, out, name=name: streams.update({name: out}))
    network(X[:1], Y[:1])
    assert torch.allclose(seen["encoder 2"][0], streams["encoder 2"][0].mean(0), atol=1e-5)
    assert torch.allclose(seen["decoder 1"][0], streams["decoder 1"][0, 0], atol=1e-5)


def test_a_greedy_answer_is_the_likeliest_word_at_every_place():
    network = small()
    said = network.answer(X, 4)
    assert said.shape == (3, 4) and len(said.unique()) > 2
    assert torch.equal(network(X, said).argmax(2), said), "none of them has ended"


def test_behind_the_end_an_answer_is_padding():
    network = small()
    free = network.answer(X, 4)
    second = int(free[0, 1])
    with torch.no_grad():  # what was said second is now said by the sign of the end
        rows = network.embedding.weight
        rows[[END, second]] = rows[[second, END]]
    said = network.answer(X, 4)
    assert said[0].tolist() == [int(free[0, 0]), END, 0, 0]
    assert network.answer(X[:1], 1).tolist() == said[:1, :1].tolist()


def test_what_is_compared_are_the_words_of_the_answers_alone():
    network = small()
    loss = losses.of(losses.WRITTEN_WORDS, torch.tensor([0]))
    logits, words = loss.ask(network, X, Y, torch.Generator())
    assert words.tolist() == [7, 8, END, 5, END, 9, 4, 6, END] and logits.shape == (9, NUMBERS)
    expected = [-network(X, Y)[row, place].log_softmax(0)[Y[row, place]] for row, place in (Y > 0).nonzero().tolist()]
    assert loss.measure(logits, words).item() == pytest.approx(torch.stack(expected).mean().item(), abs=1e-5)


# -- weights and sizes -------------------------------------------------------------------------------------------------

def test_a_network_is_built_from_its_weights_and_shares_them():
    network = small(heads=4, blocks=3)
    state = network.state_dict()
    again = TextToText.from_state(state)
    assert torch.allclose(again(X, Y), network(X, Y), atol=1e-5) and again.embedding.weight.data_ptr() == state[
        "embedding.weight"].data_ptr()
    with pytest.raises(ValueError, match=r"not the weights of a TextToText.*Keys: a …"):
        TextToText.from_state({"a": torch.zeros(2)})


def test_there_is_no_bias_and_no_head():
    keys = set(small().state_dict())
    assert not [key for key in keys if "bias" in key or "head" in key]
    assert {tensor.dtype for tensor in TextToText(width=8).state_dict().values()} == {torch.float32}
    assert {"encoder.relative", "decoder.blocks.1.cross_attention.out.weight", "decoder.blocks.0.norm3.weight"} <= keys
    assert "encoder.blocks.0.norm3.weight" not in keys


@pytest.mark.parametrize("arguments, named", [({"width": 10, "heads": 4}, "10 is no multiple of 4"),
                                              ({"words": END}, "words"), ({"blocks": -1}, "blocks")])
def test_sizes_that_do_not_fit_are_refused(arguments, named):
    with pytest.raises(ValueError, match=named):
        TextToText(**arguments)


@pytest.mark.parametrize("x, named", [(torch.ones(7), r"\(7,\)"), (torch.tensor([[4.0, 0], [0, 0]]),
                                                                   "text 1 has no word")])
def test_what_is_no_stack_of_texts_is_refused(x, named):
    with pytest.raises(ValueError, match=named):
        small().answer(x, 3)
    with pytest.raises(ValueError, match="length"):
        small().answer(X, 0)


def test_training_by_recipes_learns_to_answer():
    architecture = Architecture.of("TextToText", width=16, blocks=1, heads=2)
    recipe = Recipe.on("asked", architecture, options={"task": "film", "size": 400, "length": 12}, lr=1e-2, epochs=4,
                       batch_size=32, optimiser="adam", loss=losses.WRITTEN_WORDS)
    network = training.train(recipe)
    x, y = (values[:200] for values in training.data.load("asked", "test", task="film", length=12).__dict__.values()
            if isinstance(values, torch.Tensor))
    right = (network.answer(x, 5) == y[:, :5]).all(1).double().mean().item()
    assert right > 0.65, "the stand-in's sentences are told apart by their words"
