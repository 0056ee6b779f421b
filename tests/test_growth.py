"""Other widths and depths: against matrices written out, and what keeps the function."""
import inspect

import pytest
import torch
from torch import nn

from toy_models import MLP, CharacterGPT, ResidualMLP, ResNet18, growth
from toy_models.growth import units
from toy_models.growth.units import Map

KEEPING = [one.name for one in growth.transforms("width") if one.keeps]


def drawn(network, spread=0.4, seed=0):
    """The network with larger random weights than it began with, so that every part of it matters."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(spread * torch.randn(parameter.shape, generator=generator))
    return network.eval().requires_grad_(False)


def mlp(*widths):
    return drawn(MLP(widths))


def said(network, x):
    with torch.no_grad():
        return network(x)


X = torch.rand(7, 6, generator=torch.Generator().manual_seed(1))


# -- the registry ----------------------------------------------------------------------------------

def test_every_transform_has_a_name_a_source_and_says_what_it_does():
    known = growth.transforms()
    assert len({(one.axis, one.name) for one in known}) == len(known) >= 14
    assert all(one.source and one.says.endswith(".") for one in known)
    for one in known:
        text = inspect.getdoc(one.function)
        assert all(f"{name}:" in text for name in one.parameters if name not in ("seed", "row_sum")), one.name


def test_an_unknown_transform_or_parameter_is_named_and_the_known_ones_are_listed():
    state = mlp(6, 4, 3).state_dict()
    with pytest.raises(ValueError, match="'wider'.*'Net2Wider'"):
        growth.widen(state, {"layer 1": 8}, "wider")
    with pytest.raises(ValueError, match="'noise'.*copied, shares, seed"):
        growth.widen(state, {"layer 1": 8}, "Net2Wider", noise=0.1)
    with pytest.raises(ValueError, match="'taller'.*'silent'"):
        growth.deepen(mlp(6, 4, 4, 3).state_dict(), 3, "taller")


def test_units_and_sizes_that_are_not_there_are_named():
    state = mlp(6, 4, 3).state_dict()
    with pytest.raises(ValueError, match="no units 'layer 7'; there are: layer 1"):
        growth.widen(state, {"layer 7": 8}, "Net2Wider")
    with pytest.raises(ValueError, match="'layer 1' must be a whole number"):
        growth.widen(state, {"layer 1": 0}, "Net2Wider")
    with pytest.raises(ValueError, match="only make more units, and 4 are to become 2"):
        growth.widen(state, {"layer 1": 2}, "Net2Wider")
    with pytest.raises(ValueError, match="only make fewer units, and 4 are to become 8"):
        growth.widen(state, {"layer 1": 8}, "selection")
    with pytest.raises(ValueError, match="no table for this architecture"):
        growth.sizes({"weight": torch.zeros(2, 2)})


def test_a_map_that_does_not_fit_is_refused_with_layer_and_sizes():
    state = mlp(6, 4, 3).state_dict()
    wrong = torch.eye(8, 5, dtype=torch.float64)
    with pytest.raises(ValueError, match="'layer 1' is made for 5 and 5 units, and there are 4"):
        growth.mapped(state, {"layer 1": Map(wrong, wrong)})
    with pytest.raises(ValueError, match="mixes 3 layers, and the stack has 1"):
        growth.depth.mixed(mlp(6, 4, 4, 3).state_dict(), torch.ones(2, 3))


# -- matrices written out --------------------------------------------------------------------------

def test_a_map_is_the_product_with_matrices_on_both_sides():
    state = mlp(6, 5, 4, 3).double().state_dict()
    generator = torch.Generator().manual_seed(2)
    P, Q, R, S = (torch.randn(*shape, generator=generator, dtype=torch.float64)
                  for shape in ((8, 5), (8, 5), (6, 4), (6, 4)))
    grown = growth.mapped(state, {"layer 1": Map(P, Q), "layer 2": Map(R, S)})
    written_out = {"layers.0.weight": P @ state["layers.0.weight"],
                   "layers.0.bias": P @ state["layers.0.bias"],
                   "layers.1.weight": R @ state["layers.1.weight"] @ Q.T,
                   "layers.1.bias": R @ state["layers.1.bias"],
                   "layers.2.weight": state["layers.2.weight"] @ S.T,
                   "layers.2.bias": state["layers.2.bias"]}
    assert all(torch.allclose(grown[key], tensor, atol=1e-6) for key, tensor in written_out.items())


def test_net2wider_written_out():
    state = mlp(6, 2, 3).double().state_dict()
    grown = growth.widen(state, {"layer 1": 5}, "Net2Wider")
    rows = [0, 1, 0, 1, 0]
    counts = torch.tensor([3.0, 2.0, 3.0, 2.0, 3.0])
    assert torch.allclose(grown["layers.0.weight"], state["layers.0.weight"][rows], atol=1e-6)
    assert torch.allclose(grown["layers.0.bias"], state["layers.0.bias"][rows], atol=1e-6)
    assert torch.allclose(grown["layers.1.weight"], state["layers.1.weight"][:, rows] / counts, atol=1e-6)


def test_interpolation_written_out():
    made = growth.width.resampling(2, 4).made
    assert torch.allclose(made, torch.tensor([[1, 0], [0.75, 0.25], [0.25, 0.75], [0, 1]], dtype=torch.float64))
    halved = growth.width.resampling(4, 2)
    assert torch.allclose(halved.made, torch.tensor([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]], dtype=torch.float64))
    assert torch.allclose(halved.used, 2 * halved.made)


def test_svd_with_the_singular_vectors_is_zero_padding_and_as_printed_only_the_singular_values_survive():
    state = mlp(6, 5, 4, 3).double().state_dict()
    new = {"layer 1": 10, "layer 2": 9}
    padded = growth.widen(state, new, "zero padding")
    vectors = growth.widen(state, new, "SVD", begin="singular vectors")
    assert all(torch.allclose(padded[key], vectors[key], atol=1e-6) for key in padded)
    turned = dict(state)
    left, _ = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64))
    turned["layers.1.weight"] = left @ state["layers.1.weight"]
    one, other = (growth.widen(given, new, "SVD", seed=3)["layers.1.weight"] for given in (state, turned))
    assert torch.allclose(one, other, atol=1e-6), "another matrix with the same singular values"


def test_svd_as_printed_does_not_give_back_a_network_of_its_own_size():
    state = mlp(6, 5, 4, 3).state_dict()
    same = growth.widen(state, {"layer 1": 5, "layer 2": 4}, "SVD")
    assert all(torch.equal(same[key], state[key]) for key in state), "units that stay as many are not touched"
    known = growth.transforms("width")
    svd = next(one for one in known if one.name == "SVD").function
    redrawn = svd(state, {"layer 1": 6, "layer 2": 4})
    assert not torch.allclose(redrawn["layers.1.weight"][:, :5], state["layers.1.weight"], atol=0.1)


def test_layers_are_mixed_by_the_rows_of_the_matrix():
    state = mlp(6, 4, 4, 4, 3).double().state_dict()
    D = torch.tensor([[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]])
    grown = growth.depth.mixed(state, D)
    middle = 0.25 * state["layers.1.weight"] + 0.75 * state["layers.2.weight"]
    assert torch.allclose(grown["layers.2.weight"], middle, atol=1e-6)
    assert torch.equal(grown["layers.4.weight"], state["layers.3.weight"]) and len(grown) == 10
    assert list(grown) == list(MLP((6, 4, 4, 4, 4, 3)).state_dict())


def test_rows_that_sum_to_half_make_half_the_step_of_a_residual_block():
    state = drawn(ResidualMLP(6, 4, 1, 3)).double().state_dict()
    h = torch.rand(5, 4, dtype=torch.float64)

    def step(state, block):
        inside = (h @ state[f"blocks.{block}.into.weight"].T + state[f"blocks.{block}.into.bias"]).relu()
        return inside @ state[f"blocks.{block}.out.weight"].T + state[f"blocks.{block}.out.bias"]
    whole, half = (growth.deepen(state, 2, "interpolation", row_sum=row_sum) for row_sum in (1.0, 0.5))
    assert torch.allclose(step(half, 1), 0.5 * step(whole, 1), atol=1e-6)
    assert torch.allclose(step(whole, 0), step(state, 0), atol=1e-6)


# -- what keeps the function -----------------------------------------------------------------------

@pytest.mark.parametrize("name", KEEPING)
@pytest.mark.parametrize("factor", [1.5, 2, 3])
def test_a_width_transform_that_keeps_the_function_does(name, factor):
    network = mlp(6, 8, 4, 3)
    grown = growth.widen(network.state_dict(), growth.times(network.state_dict(), factor), name)
    assert torch.allclose(said(MLP.from_state(grown), X), said(network, X), atol=1e-5)
    assert grown["layers.1.weight"].shape == (round(4 * factor), round(8 * factor))


@pytest.mark.parametrize("parameters", [{"shares": "drawn"}, {"copied": "at random"},
                                        {"copied": "at random", "shares": "drawn", "seed": 5}])
def test_net2wider_keeps_the_function_however_it_copies_and_shares(parameters):
    network = mlp(6, 8, 4, 3)
    grown = growth.widen(network.state_dict(), {"layer 1": 13, "layer 2": 9}, "Net2Wider", **parameters)
    assert torch.allclose(said(MLP.from_state(grown), X), said(network, X), atol=1e-5)


@pytest.mark.parametrize("name", ["interpolation", "projection", "SVD", "fresh units"])
def test_the_others_do_not(name):
    network = mlp(6, 8, 4, 3)
    grown = growth.widen(network.state_dict(), growth.times(network.state_dict(), 2), name)
    assert not torch.allclose(said(MLP.from_state(grown), X), said(network, X), atol=0.01, rtol=0)


def test_fresh_units_that_nobody_listens_to_keep_it():
    network = mlp(6, 8, 4, 3)
    grown = growth.widen(network.state_dict(), {"layer 1": 12, "layer 2": 9}, "fresh units", outgoing="zero")
    assert torch.allclose(said(MLP.from_state(grown), X), said(network, X), atol=1e-5)
    assert grown["layers.0.weight"][8:].abs().min() > 0 and not grown["layers.2.weight"][:, 4:].any()


def test_a_resnet_and_a_gpt_of_twice_the_width_compute_the_same():
    resnet = drawn(ResNet18(4, 10), spread=0.2)
    with torch.no_grad():
        for name, buffer in resnet.named_buffers():
            if name.endswith("running_var"):
                buffer.copy_(0.5 + torch.rand(buffer.shape))
    images = torch.rand(2, 3, 16, 16).double()
    state = {key: tensor.double() if tensor.is_floating_point() else tensor
             for key, tensor in resnet.state_dict().items()}
    before = said(ResNet18.from_state(state), images)
    for how, parameters in (("Net2Wider", {"shares": "drawn"}), ("zero padding", {})):
        grown = growth.widen(state, growth.times(state, 2), how, **parameters)
        assert torch.allclose(said(ResNet18.from_state(grown), images), before, atol=1e-5, rtol=0), how
        assert grown["blocks.7.bn2.running_var"].shape == (64,) and grown["stem.1.bias"].shape == (8,)
    gpt = drawn(CharacterGPT(9, 8, 2, 2, 5))
    text = torch.randint(9, (3, 5))
    grown = growth.widen(gpt.state_dict(), growth.times(gpt.state_dict(), 2), "Net2Wider")
    assert torch.allclose(said(loaded(CharacterGPT(9, 16, 4, 2, 5), grown), text), said(gpt, text), atol=1e-5)


def loaded(network, state):
    network.load_state_dict(state)
    return network.eval()


DEPTH = [(ResidualMLP(6, 4, 2, 3), ResidualMLP(6, 4, 5, 3), X),
         (MLP((6, 4, 4, 4, 3)), MLP((6, 4, 4, 4, 4, 4, 4, 3)), X),
         (CharacterGPT(9, 8, 2, 2, 5), CharacterGPT(9, 8, 2, 5, 5), torch.randint(9, (3, 5)))]


@pytest.mark.parametrize("old, new, x", DEPTH, ids=["residual", "plain", "GPT"])
def test_silent_layers_keep_the_function(old, new, x):
    old = drawn(old)
    grown = growth.deepen(old.state_dict(), 5, "silent")
    assert torch.allclose(said(loaded(new, grown), x), said(old, x), atol=1e-5)
    assert list(grown) == list(new.state_dict()), "the order of keys stays the architecture's"


@pytest.mark.parametrize("name", [one.name for one in growth.transforms("depth")])
@pytest.mark.parametrize("old, new, x", DEPTH, ids=["residual", "plain", "GPT"])
def test_every_depth_transform_gives_a_network_and_leaves_the_old_one_alone(name, old, new, x):
    state = {key: tensor.clone() for key, tensor in drawn(old).state_dict().items()}
    before = {key: tensor.clone() for key, tensor in state.items()}
    grown = growth.deepen(state, 5, name)
    assert said(loaded(new, grown), x).isfinite().all()
    assert all(torch.equal(state[key], before[key]) for key in state)
    for tensor in grown.values():
        tensor.zero_()
    assert all(torch.equal(state[key], before[key]) for key in state), "no memory is shared"


@pytest.mark.parametrize("name", [one.name for one in growth.transforms("width")])
def test_every_width_transform_leaves_the_network_alone(name):
    state = mlp(6, 8, 4, 3).state_dict()
    before = {key: tensor.clone() for key, tensor in state.items()}
    factor = 0.5 if name == "selection" else 2
    for tensor in growth.widen(state, growth.times(state, factor), name).values():
        tensor.zero_()
    assert all(torch.equal(state[key], before[key]) for key in state)


def test_a_network_without_a_stack_is_refused():
    for state in (mlp(6, 4, 3).state_dict(), ResNet18(4, 10).state_dict()):
        with pytest.raises(ValueError, match="no stack of layers of one shape"):
            growth.deepen(state, 3, "silent")
    with pytest.raises(ValueError, match=r"layers.2.weight is \(5, 4\), layers.1.weight is \(4, 4\)"):
        growth.deepen(mlp(6, 4, 4, 5, 3).state_dict(), 3, "interpolation")
    with pytest.raises(ValueError, match="only make more layers"):
        growth.deepen(mlp(6, 4, 4, 4, 3).state_dict(), 1, "silent")


# -- the lemma -------------------------------------------------------------------------------------

def test_which_maps_keep_a_relu_network():
    one = torch.tensor([[1.0, 0], [0, 1], [1, 0]], dtype=torch.float64)
    assert Map(one, one / one.sum(0)).keeps
    assert not Map(one, one).keeps, "the shares of the two copies sum to 2"
    doubled = torch.tensor([[2.0, 0], [0, 1], [1, 0]], dtype=torch.float64)
    used = torch.tensor([[0.25, 0], [0, 1], [0.5, 0]], dtype=torch.float64)
    assert Map(doubled, used).keeps_relu and not Map(doubled, used).keeps
    assert not Map(-doubled, -used).keeps_relu, "a ReLU does not let a sign through"
    mixed = torch.tensor([[1.0, 0], [0, 1], [0.5, 0.5]], dtype=torch.float64)
    unheard = torch.tensor([[1.0, 0], [0, 1], [0, 0]], dtype=torch.float64)
    assert Map(mixed, unheard).keeps and not Map(mixed, mixed).keeps_relu


@pytest.mark.parametrize("seed", range(8))
def test_the_lemma_by_trying(seed):
    """P·ReLU(z) = ReLU(P·z) for all z, if and only if every row of P has at most one entry that is not 0, and that one
    is positive."""
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(2000, 3, generator=generator, dtype=torch.float64)
    P = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    if seed % 2:
        P = P.abs() * nn.functional.one_hot(torch.randint(3, (4,), generator=generator), 3)
    holds = torch.allclose(z.relu() @ P.T, (z @ P.T).relu(), atol=1e-12)
    condition = bool((((P != 0).sum(1) <= 1) & (P >= 0).all(1)).all())
    assert holds == condition


# -- copies stay copies ----------------------------------------------------------------------------

@pytest.mark.parametrize("shares, alike", [("equal", True), ("drawn", False)])
def test_copies_with_equal_shares_stay_copies_however_long_one_trains(shares, alike):
    network = mlp(6, 4, 3)
    grown = growth.widen(network.state_dict(), {"layer 1": 8}, "Net2Wider", shares=shares)
    larger = MLP.from_state({key: tensor.double() for key, tensor in grown.items()})
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        larger.sgd_step(torch.rand(16, 6, generator=generator), torch.randint(3, (16,), generator=generator), 0.1)
    rows = larger.layers[0].weight
    assert torch.allclose(rows[:4], rows[4:], atol=1e-9) == alike


# -- learned maps ----------------------------------------------------------------------------------

def test_learned_maps_lower_the_loss_and_leave_the_source_alone():
    network = mlp(6, 8, 3)
    state = network.state_dict()
    y = (X[:, 0] > 0.5).long()

    def loss(mapped, batch):
        h = (X.double() @ mapped["layers.0.weight"].T + mapped["layers.0.bias"]).relu()
        return nn.functional.cross_entropy(h @ mapped["layers.1.weight"].T + mapped["layers.1.bias"], y)
    maps = growth.learned.beginning(state, {"layer 1": 12}, "copies")
    began = growth.mapped(state, maps)
    assert torch.allclose(said(MLP.from_state(began), X), said(network, X), atol=1e-5)
    grown = growth.learned.learn(state, maps, loss, [None] * 50, 0.05)
    before, after = (loss({key: tensor.double() for key, tensor in one.items()}, None) for one in (began, grown))
    assert after < 0.7 * before
    assert torch.equal(state["layers.0.weight"], network.layers[0].weight)
    with pytest.raises(ValueError, match="begin must be one of copies"):
        growth.learned.beginning(state, {"layer 1": 12}, "nothing")


def test_the_gradient_by_a_map_is_what_multiplies_out():
    """SAIL, F.1, prints factors whose shapes do not fit. With G = ∂L/∂θ̃ and θ̃ = c_in·θ·c_outᵀ: ∂L/∂c_in = G·c_out·θᵀ
    and ∂L/∂c_out = Gᵀ·c_in·θ."""
    generator = torch.Generator().manual_seed(0)
    theta = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    c_in, c_out = (torch.randn(*shape, generator=generator, dtype=torch.float64, requires_grad=True)
                   for shape in ((5, 3), (6, 4)))
    target = torch.randn(5, 6, generator=generator, dtype=torch.float64)
    grown = c_in @ theta @ c_out.T
    ((grown - target) ** 2).sum().backward()
    G = 2 * (grown - target).detach()
    assert torch.allclose(c_in.grad, G @ c_out.detach() @ theta.T)
    assert torch.allclose(c_out.grad, G.T @ c_in.detach() @ theta)


def test_every_architecture_of_a_table_lists_all_its_parameters():
    for network in (MLP((6, 4, 3)), ResidualMLP(6, 4, 2, 3), ResNet18(4, 10), CharacterGPT(9, 8, 2, 2, 5)):
        state = network.state_dict()
        table = units.table(state)
        assert table.keys() == state.keys()
        assert all(len(axes) == state[key].ndim for key, axes in table.items())
    with pytest.raises(ValueError, match="'extra' is in one of network and table alone"):
        units.table({**MLP((6, 4, 3)).state_dict(), "extra": torch.zeros(2)})
