"""The functions behind the exercises of chapter 14."""
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from lessons.linearization.algorithms.tangent import tangent_of_module
from lessons.words.algorithms import choosing, keys, masked, pieces, probing
from toy_models import TextEncoder, losses


def test_the_longest_match_is_how_the_encoder_cuts_words():
    known = ["un", "##merge", "##able", "a", "##b", "##ab", "ab", "##a"]
    cutting = pieces.Pieces({piece: number for number, piece in enumerate([*pieces.SPECIAL, *known])})
    for word in ("unmergeable", "abab", "aab", "unab", "unx", "b", "aaaa"):
        assert pieces.longest_match(word, known) == cutting.of_word(word), word
    assert pieces.longest_match("abab", known) == ["ab", "##ab"]
    assert pieces.longest_match("abab", known, most=1) == ["a", "##b", "##a", "##b"]


def test_no_piece_is_given_back():
    known = ["un", "unm", "##merge", "##able"]
    assert pieces.longest_match("unmergeable", known) == ["[UNK]"]
    assert pieces.longest_match("unmergeable", [piece for piece in known if piece != "unm"]) == [
        "un", "##merge", "##able"]


def test_the_masked_loss_is_what_pretraining_makes_smaller():
    torch.manual_seed(0)
    network = TextEncoder(words=20, width=8, blocks=1).double()
    x = torch.tensor([[4.0, 9.0, 17.0, 5.0], [6.0, 3.0, 0.0, 0.0]]).double()
    loss = losses.of(losses.MASKED_WORDS, torch.arange(1))
    expected = loss.measure(*loss.ask(network, x, None, torch.Generator().manual_seed(1)))
    seen, hidden = losses.hidden(x, torch.Generator().manual_seed(1))
    everywhere = torch.ones_like(hidden)
    logits = network.guesses(seen, everywhere).view(2, 4, 20)
    torch.testing.assert_close(masked.masked_loss(logits, x, hidden), expected)
    with pytest.raises(ValueError, match="hidden must be True"):
        masked.masked_loss(logits, x, ~everywhere)


def test_a_bias_of_keys_changes_scores_but_no_weights_and_has_no_gradient():
    generator = torch.Generator().manual_seed(0)
    q, k, v, b_q, b_k = (torch.randn(shape, generator=generator, dtype=torch.float64)
                         for shape in ((5, 4), (3, 4), (3, 4), (4,), (4,)))
    b_q, b_k = b_q.requires_grad_(), b_k.requires_grad_()
    with_it, without = keys.scores(q, k, b_q, b_k), keys.scores(q, k, b_q, torch.zeros(4).double())
    torch.testing.assert_close(keys.shift(q, k, b_q, b_k), with_it - without)
    assert (with_it - without).abs().min() > 1e-3
    torch.testing.assert_close(with_it.softmax(1), without.softmax(1))
    (with_it.softmax(1) @ v).square().sum().backward()
    assert b_k.grad.abs().max() < 1e-14 < 1e-3 < b_q.grad.abs().max()


def test_a_bias_of_keys_changes_weights_where_positions_are_rotary():
    """Pairs of numbers are turned by an angle that grows with the position, after the bias is added."""
    def turned(x):
        angles = torch.arange(len(x))[:, None] * torch.tensor([1.0, 0.1], dtype=torch.float64)
        return torch.view_as_real(torch.view_as_complex(x.unflatten(1, (2, 2))) * torch.exp(1j * angles)).flatten(1)

    generator = torch.Generator().manual_seed(0)
    q, k, b_k = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((5, 4), (3, 4), (4,)))
    with_it, without = ((turned(q) @ turned(k + bias).T / 2).softmax(1) for bias in (b_k, 0 * b_k))
    assert (with_it - without).abs().max() > 0.01


def test_adamw_makes_steps_of_the_rounding_of_a_gradient():
    """Tiny ones in float64, because AdamW adds 1e-8 to the size that it divides by."""
    for dtype, most in ((torch.float64, 1e-10), (torch.float32, 1e-3)):
        generator = torch.Generator().manual_seed(0)
        q, k, v = (torch.randn(6, 16, generator=generator).to(dtype) for _ in range(3))
        b_q, b_k = (torch.zeros(16, dtype=dtype, requires_grad=True) for _ in range(2))
        optimiser = torch.optim.AdamW([b_q, b_k], lr=1e-3)
        (keys.scores(q, k, b_q, b_k).softmax(1) @ v).square().mean().backward()
        optimiser.step()
        assert 0 < b_k.abs().max() < most and b_q.abs().max() > 0.9e-3


def test_behind_a_head_of_zeros_the_tangent_does_not_see_the_features_move():
    generator = torch.Generator().manual_seed(0)
    h, phi_0, moved = (torch.randn(4, 4, generator=generator) for _ in range(3))
    assert torch.equal(probing.linearised(0 * h, h, phi_0, moved), probing.linearised(0 * h, h, phi_0, 0 * moved))
    assert not torch.allclose(probing.linearised(h, h, phi_0, moved), probing.linearised(h, h, phi_0, 0 * moved))


def test_the_tangent_of_a_head_and_an_encoder_is_the_tangent_of_the_network():
    torch.manual_seed(0)
    network = TextEncoder(words=12, width=8, blocks=1, length=5).double()
    x = torch.tensor([[4.0, 9.0, 5.0], [6.0, 3.0, 0.0]]).double()
    start = {key: tensor.detach().clone() for key, tensor in network.named_parameters()}
    end = {key: tensor + 0.3 * torch.randn_like(tensor) for key, tensor in start.items()}
    step = {key: end[key] - tensor for key, tensor in start.items()}

    def features(state):
        return torch.func.functional_call(Pooled(network), {f"network.{key}": value for key, value in state.items()},
                                          (x,))

    with sdpa_kernel(SDPBackend.MATH):  # torch's fused attention has no forward derivative
        phi_0, moved = torch.func.jvp(features, (start,), (step,))
        expected = tangent_of_module(network, x)(end)
    seen = probing.linearised(start["head.weight"], end["head.weight"], phi_0, moved) + end["head.bias"]
    torch.testing.assert_close(seen, expected)
    assert not torch.allclose(seen, torch.func.functional_call(network, end, (x,)), atol=0.01)


class Pooled(torch.nn.Module):
    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, x):
        return self.network.features(x)["pooled"]


def test_the_cost_of_choosing_falls_with_the_number_of_sentences_and_is_0_where_the_choice_is_clear():
    generator = torch.Generator().manual_seed(0)
    test = torch.tensor([0.5, 0.6, 0.55])
    right = (torch.rand(3, 2000, generator=generator) < test[:, None]).double()

    def cost(count):
        return choosing.cost_of_choosing(right, test, torch.randint(2000, (300, count), generator=generator))

    few, many = cost(20), cost(500)
    assert 0 < many < 0.5 * few < 0.05
    clear = torch.tensor([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    assert choosing.cost_of_choosing(clear, test, torch.zeros(4, 5, dtype=torch.int64)) == 0


@pytest.mark.parametrize("test, draws, named", [
    (torch.ones(2), torch.zeros(4, 5, dtype=torch.int64), "right has 3 ranks, and test has the shape"),
    (torch.ones(3), torch.zeros(0, 5, dtype=torch.int64), "draws must hold at least one sentence each"),
    (torch.ones(3), torch.zeros(4, 0, dtype=torch.int64), "draws must hold at least one sentence each")])
def test_ranks_that_do_not_fit_and_empty_draws_are_refused(test, draws, named):
    with pytest.raises(ValueError, match=named):
        choosing.cost_of_choosing(torch.ones(3, 6), test, draws)
