"""CTL's numbers along a line, beside a plain loop over layers and α."""
import numpy as np
import pytest
import torch

from lessons.linearity.algorithms import along, means
from toy_models import MLP
from toy_models.weights import interpolate, norm, subtract

ALPHAS = (0.0, 0.3, 1.0)


@pytest.fixture
def ends():
    torch.manual_seed(1)
    return [MLP((6, 5, 4, 3)).state_dict() for _ in range(2)]


@pytest.fixture
def x():
    return torch.randn(40, 6, generator=torch.Generator().manual_seed(2))


def network(state, alpha):
    return MLP.from_state(state)


@np.errstate(invalid="ignore")
def naive(states, x, alpha, layer):
    """(gap, coef, own) of one layer, means over the samples, in float64 sample by sample."""
    of = [MLP.from_state(state).features(x)[layer].double().numpy() for state in
          (interpolate(*states, alpha), *states)]
    rows = []
    for between, end_i, end_j in zip(*of):  # a sample whose features are all 0 has no direction
        mixed = alpha * end_i + (1 - alpha) * end_j
        cos = between @ mixed / np.linalg.norm(between) / np.linalg.norm(mixed)
        own = end_i @ end_j / np.linalg.norm(end_i) / np.linalg.norm(end_j)
        rows.append((1 - cos, between @ mixed / (mixed @ mixed), 1 - own))
    return np.nanmean(rows, 0)


def test_the_numbers_are_those_of_a_plain_loop(ends, x):
    line = along(MLP.features, *ends, ALPHAS, parts=(x,), network=network, summary=means)
    assert line.layer.values.tolist() == ["layer 1", "layer 2", "output"]
    for alpha in ALPHAS:
        for layer in line.layer.values:
            here = line.sel(alpha=alpha, layer=layer)
            gap, coef, own = naive(ends, x, alpha, str(layer))
            assert here.gap_mean.item() == pytest.approx(gap, abs=1e-6)
            assert (here.coef_mean.item(), here.own_mean.item()) == pytest.approx((coef, own), abs=1e-6)
    assert line.distance.item() == norm(subtract(*ends))
    assert line.gap_mean.sel(alpha=[0.0, 1.0]).max() < 1e-12, "at the ends nothing is missed"


def test_images_in_parts_give_the_numbers_of_all_at_once(ends, x):
    whole, in_parts = (along(MLP.features, *ends, ALPHAS, parts=parts, network=network)
                       for parts in ((x,), x.split(7)))
    for name in whole.data_vars:
        assert np.allclose(whole[name], in_parts[name], atol=1e-6), name
    assert whole.coef_count.sum("bin").max() == len(x)


def test_what_else_is_measured_sees_the_network_and_all_logits(ends, x):
    def also(between, logits, alpha):
        assert torch.equal(logits, torch.cat([between(part) for part in x.split(9)]))
        return {"mean_logit": logits.mean().item(), "first": ("class", logits[0].tolist())}

    line = along(MLP.features, *ends, ALPHAS, parts=x.split(9), network=network, also=also)
    assert line["first"].dims == ("alpha", "class") and line["first"].shape == (3, 3)
    assert line.mean_logit.sel(alpha=1.0).item() == pytest.approx(MLP.from_state(ends[0])(x).mean().item(), abs=1e-6)


def test_ends_may_be_others_than_the_line_leads_to(ends, x):
    """As in REPAIR, which changes the networks between and not the ends."""
    halved = along(MLP.features, *ends, (1.0,), parts=(x,), summary=means, ends=[MLP.from_state(end) for end in ends],
                   network=lambda state, alpha: MLP.from_state({key: tensor / 2 for key, tensor in state.items()}))
    assert halved.coef_mean.sel(layer="layer 1").item() == pytest.approx(0.5)


def test_layers_that_differ_are_named(ends, x):
    def features(network, part):
        is_first = torch.equal(network.layers[0].weight, ends[0]["layers.0.weight"])
        return network.features(part) if is_first else {"output": network(part)}

    with pytest.raises(ValueError, match="same layers"):
        along(features, *ends, (0.5,), parts=(x,), network=network)
