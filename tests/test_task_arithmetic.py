import dataclasses
import itertools

import numpy as np
import pytest
import torch
import xarray
from hypothesis import given
from hypothesis import strategies as st

from lessons.averaging.algorithms import Family
from lessons.kit import archive, claims
from lessons.kit.noise import error_of_difference, error_of_share
from lessons.kit.predict import predict
from lessons.suites import outputs_of
from lessons.task_arithmetic import algorithms, experiment, panels
from lessons.task_arithmetic.algorithms import TaskVector
from lessons.task_arithmetic.experiment import causes, forgetting, mlp, resnet
from lessons.task_arithmetic.panels import desk
from toy_models import MLP, Architecture, Recipe, ResNet18, TinyViT, training, weights, zoo


def small_states(count=4, seed=0, build=lambda: ResNet18(2, 10)):
    """State dicts of random networks with BatchNorm, whose counters and running statistics differ."""
    torch.manual_seed(seed)
    states = []
    for number in range(count):
        network = build().requires_grad_(False).train()
        for _ in range(number + 1):
            network(torch.randn(6, 3, 8, 8))
        states.append({key: tensor.clone() for key, tensor in network.state_dict().items()})
    return states


def mlp_states(count=3, widths=(12, 7, 5, 3), seed=0):
    torch.manual_seed(seed)
    return [MLP(widths).requires_grad_(False).state_dict() for _ in range(count)]


COUNTER = "stem.1.num_batches_tracked"
SUMS = {
    "half": (lambda base, a, b, c: base + 0.5 * a, (0.5, 0, 0)),
    "half, from the right": (lambda base, a, b, c: base + a * 0.5, (0.5, 0, 0)),
    "numpy's half": (lambda base, a, b, c: base + np.float64(0.5) * a, (0.5, 0, 0)),
    "difference": (lambda base, a, b, c: base + (a - b), (1, -1, 0)),
    "negation": (lambda base, a, b, c: base + -a, (-1, 0, 0)),
    "taken away": (lambda base, a, b, c: base - a, (-1, 0, 0)),
    "sum of a list": (lambda base, a, b, c: base + sum([a, b, c]), (1, 1, 1)),
    "sum that starts with the base": (lambda base, a, b, c: sum([a, b, c], base), (1, 1, 1)),
    "scaled sum": (lambda base, a, b, c: base + 0.4 * (a + b), (0.4, 0.4, 0)),
    "analogy": (lambda base, a, b, c: base + (c + (b - a)), (-1, 1, 1)),
    "analogy as the README of task_vectors writes it": (lambda base, a, b, c: base + (c + b - a), (-1, 1, 1)),
    "apply_to": (lambda base, a, b, c: (a + b).apply_to(base, scale=0.3), (0.3, 0.3, 0)),
    "vector first": (lambda base, a, b, c: 2 * a + base, (2, 0, 0)),
}


@pytest.mark.parametrize("name", SUMS)
def test_arithmetic_runs_as_it_is_written(name):
    base, *finetuned = small_states()
    before = [{key: tensor.clone() for key, tensor in state.items()} for state in (base, *finetuned)]
    written, lams = SUMS[name]
    result = written(base, *(TaskVector(base, state) for state in finetuned))
    assert type(result) is dict and result.keys() == base.keys()
    for key, tensor in base.items():
        assert result[key].dtype == tensor.dtype
        if tensor.is_floating_point():
            change = sum(lam * (state[key].double() - tensor.double()) for lam, state in zip(lams, finetuned))
            assert torch.allclose(result[key].double(), tensor.double() + change, atol=1e-5)
        else:
            assert torch.equal(result[key], tensor), "the counter is carried from the base"
    for state, kept in zip((base, *finetuned), before):
        assert all(torch.equal(state[key], kept[key]) for key in kept), "an argument was changed"
        shared = [key for key in kept if state[key].data_ptr() == result[key].data_ptr()]
        assert not shared, "the result shares memory with an argument"
    ResNet18.from_state(result)(torch.randn(2, 3, 8, 8))


def test_the_counter_is_no_part_of_the_vector():
    base, one, two, _ = small_states()
    tau, counted = TaskVector(base, one), TaskVector(base, one | {COUNTER: torch.tensor(10**9)})
    assert tau.norm() == counted.norm() and tau.dot(counted) == pytest.approx(tau.norm() ** 2)
    assert (base + 3 * (counted + TaskVector(base, two)))[COUNTER] == base[COUNTER]
    count = sum(tensor.numel() for key, tensor in base.items() if "num_batches" not in key)
    assert len(weights.flatten(tau.difference)) == count


@given(scale=st.floats(-3, 3), other=st.floats(-3, 3))
def test_task_vectors_obey_the_laws_of_a_vector_space(scale, other):
    base, one, two = mlp_states()
    a, b = TaskVector(base, one), TaskVector(base, two)

    def same(x, y):
        return all(torch.allclose(x.difference[key], y.difference[key], atol=1e-4) for key in base)

    assert same(scale * (a + b), scale * a + b * scale)
    assert same((scale + other) * a, scale * a + other * a)
    assert same(-1 * -a, a) and same(a + b, b + a) and same(a - b, -(b - a))
    assert (a - a).norm() == 0
    assert a.cosine(-a) == pytest.approx(-1) and a.dot(b) == pytest.approx(b.dot(a))


def test_the_ends_of_an_edit_are_the_two_networks():
    base, one = small_states(2)
    for lam, state in ((0.0, base), (1.0, one)):
        result = algorithms.edited(base, one, lam)
        assert all(torch.allclose(result[key], state[key], atol=1e-6) for key in base if base[key].is_floating_point())


def with_other_bias(base):
    return base | {"layers.0.bias": torch.zeros(2)}


@pytest.mark.parametrize("nonsense, error, says", [
    (lambda tau, base: tau / 2, TypeError, "0.5 \\* tau"),
    (lambda tau, base: tau * torch.ones(3), TypeError, "a number, not by a Tensor"),
    (lambda tau, base: torch.ones(3) * tau, TypeError, "a number, not by a Tensor"),
    (lambda tau, base: tau * True, TypeError, "not by a bool"),
    (lambda tau, base: "2" * tau, TypeError, "not by a str"),
    (lambda tau, base: tau * tau, TypeError, "not by a TaskVector"),
    (lambda tau, base: tau * float("inf"), ValueError, "finite number, not inf"),
    (lambda tau, base: tau.apply_to(base, float("nan")), ValueError, "finite number, not nan"),
    (lambda tau, base: tau + 1, TypeError, "unsupported operand"),
    (lambda tau, base: tau - base, TypeError, "unsupported operand"),
    (lambda tau, base: 1 - tau, TypeError, "unsupported operand"),
    (lambda tau, base: base | {"layers.0.bias": torch.zeros(2)} + tau, ValueError, "other keys"),
    (lambda tau, base: with_other_bias(base) + tau, ValueError, "'layers.0.bias' has shape"),
    (lambda tau, base: tau.only("layers.7"), ValueError, "no layer 'layers.7'; the keys are: layers.0.weight"),
    (lambda tau, base: tau.only("layer"), ValueError, "no layer 'layer'"),
    (lambda tau, base: tau.cosine(0 * tau), ValueError, "cosine with a zero vector"),
])
def test_nonsense_is_an_error_that_says_what_is_wrong(nonsense, error, says):
    base, one = mlp_states(2)
    with pytest.raises(error, match=says):
        nonsense(TaskVector(base, one), base)


def test_networks_that_do_not_belong_together_are_named_by_key():
    base, one = mlp_states(2)
    with pytest.raises(ValueError, match="layers.1.weight"):
        TaskVector(base, one | {"layers.1.weight": torch.zeros(2, 2)})
    with pytest.raises(ValueError, match="layers.1.weight.*NaN"):
        TaskVector(base, one | {"layers.1.weight": one["layers.1.weight"] * float("nan")})


def test_what_is_no_weight_or_does_not_fit_is_named_by_key():
    base, one = mlp_states(2)
    key = "layers.1.bias"
    for changed in (torch.Tensor.char, torch.Tensor.cfloat, torch.Tensor.to_sparse, torch.Tensor.numpy):
        with pytest.raises(ValueError, match=f"'{key}' of state dict 1 "):
            TaskVector(base | {key: changed(base[key])}, one | {key: changed(one[key])})
    large, small = (base | {key: torch.full_like(base[key], value)} for value in (2e38, -2e38))
    with pytest.raises(ValueError, match="'layers.1.bias' overflows.*float64"):
        TaskVector(large, small)
    tau = TaskVector(base, large)
    for overflowing in (lambda: tau.apply_to(large), lambda: tau.apply_to(base, 2.0), lambda: large + tau,
                        lambda: 2 * tau, lambda: tau + tau, lambda: -tau - tau):
        with pytest.raises(ValueError, match="'layers.1.bias' overflows.*smaller scale"):
            overflowing()


def test_parts_of_a_vector_add_up_to_the_whole_and_stop_at_the_dot():
    base, one = mlp_states(2, widths=(3,) * 12)
    tau = TaskVector(base, one)
    first = tau.only("layers.1")
    changed = {key for key, tensor in first.difference.items() if tensor.any()}
    assert changed == {"layers.1.weight", "layers.1.bias"}, "layers.10 is another layer"
    whole = sum(tau.only(f"layers.{i}") for i in range(11))
    assert all(torch.equal(whole.difference[key], tau.difference[key]) for key in base)
    by_name = tau.only(["layers.0", "layers.1.bias"])
    by_function = tau.only(lambda key: key.startswith("layers.0.") or key == "layers.1.bias")
    assert all(torch.equal(by_name.difference[key], by_function.difference[key]) for key in base)


def test_cosines_of_all_are_those_of_pairs():
    base, *finetuned = mlp_states(4)
    vectors = [TaskVector(base, state) for state in finetuned]
    table = algorithms.cosines(vectors)
    for i, j in itertools.product(range(3), repeat=2):
        assert table[i, j].item() == pytest.approx(vectors[i].cosine(vectors[j]))


@pytest.mark.parametrize("lams", [(0.5, 0.5), (0.4, 0.4), (1.0, -0.7), (0.0, 0.0)])
def test_shares_of_the_models_give_the_same_network_as_the_task_vectors(lams):
    base, one, two = mlp_states()
    x = torch.rand(20, 12)
    shared = Family([base, one, two], x).average([0, 1, 2], algorithms.shares_of(lams))
    plain = MLP.from_state(base + (lams[0] * TaskVector(base, one) + lams[1] * TaskVector(base, two))).features(x)
    assert all(torch.allclose(shared[layer], plain[layer], atol=1e-5) for layer in plain)
    assert algorithms.shares_of(lams).sum().item() == pytest.approx(1)


def test_equation_2_is_exact_where_features_are_linear_in_the_weights():
    base, one, two = mlp_states(widths=(12, 5))
    a = TaskVector(base, one)
    b = TaskVector(base, two)
    x = torch.rand(20, 12)
    for lam in (0.2, 1.0, -3.0):
        states = base + lam * (a + b), base + 2 * lam * a, base + 2 * lam * b
        three = [MLP.from_state(state).features(x) for state in states]
        measured = algorithms.halfway(*three)["output"]
        assert measured["gap"].abs().max() < 1e-9 and (measured["coef"] - 1).abs().max() < 1e-4
        assert algorithms.relative_deviation(*(features["output"] for features in three)) < 1e-5
    assert (measured["base"] > 0.01).any(), "a baseline of 0 would make the gap meaningless"


def test_cosine_arith_agrees_with_a_loop_written_from_the_definition():
    torch.manual_seed(0)
    middle, a, b = torch.randn(3, 5, 4)
    for sample in range(5):
        p, u, v = (features[sample].double().tolist() for features in (middle, a, b))
        q = [(one + other) / 2 for one, other in zip(u, v)]
        by_hand = sum(u * v for u, v in zip(p, q)) / (sum(u * u for u in p) * sum(v * v for v in q)) ** 0.5
        assert algorithms.cosine_arith(middle, a, b)[sample].item() == pytest.approx(by_hand)


@pytest.mark.parametrize("activation, exponent", [(torch.tanh, 2.0), (torch.relu, 1.5)])
def test_the_deviation_grows_with_the_power_that_the_chapter_derives(activation, exponent):
    """Smooth layers: λ². A ReLU after weights that enter linearly: λ^1.5."""
    generator = torch.Generator().manual_seed(0)
    weight, tau_i, tau_j = torch.randn(3, 300, 30, generator=generator, dtype=torch.float64)
    x = torch.randn(400, 30, generator=generator, dtype=torch.float64)

    def features(change):
        return activation(x @ (weight + change).T)

    def deviation(one, other):
        return algorithms.relative_deviation(features((one + other) / 2), features(one), features(other))

    lams = [0.005, 0.01, 0.02]
    adding = [deviation(2 * lam * tau_i, 2 * lam * tau_j) for lam in lams]
    negating = [deviation(lam * tau_i, -lam * tau_i) for lam in lams]
    for deviations in (adding, negating):
        assert algorithms.log_slope(lams, deviations) == pytest.approx(exponent, abs=0.05)


def test_a_slope_needs_points_above_zero():
    assert algorithms.log_slope([1, 10, 100], [5, 50, 500]) == pytest.approx(1)
    for x, y in (([1.0], [1.0]), ([1, 2], [0, 1]), ([-1, 2], [1, 1]), ([1, 2, 3], [1, 2])):
        with pytest.raises(ValueError, match="at least two points"):
            algorithms.log_slope(x, y)


@pytest.mark.parametrize("build, shape", [(lambda: MLP((12, 7, 5, 3)), (6, 12)),
                                          (lambda: ResNet18(2, 10), (4, 3, 16, 16)),
                                          (lambda: TinyViT(8, 2, 2), (4, 28, 28))], ids=["MLP", "ResNet", "ViT"])
def test_a_network_given_its_own_features_answers_as_it_does(build, shape):
    torch.manual_seed(0)  # of so narrow a network one in a hundred hardly looks at its first layer
    network, x = build().eval().requires_grad_(False), torch.rand(shape)
    features = network.features(x)
    for layer, h in features.items():
        assert torch.allclose(algorithms.stitched(network, layer, h), features["output"], atol=1e-6)
    first = features[network.layer_names[0]]
    other = algorithms.stitched(network, network.layer_names[0], first + torch.rand_like(first))
    assert not torch.allclose(other, features["output"], atol=1e-3)
    with pytest.raises(ValueError, match="unknown layer 'layer 9'"):
        algorithms.stitched(network, "layer 9", x)


def test_a_delta_that_is_taken_away_is_mirrored():
    base, finetuned = torch.randn(2, 5, 4)
    assert torch.allclose(algorithms.negated_in_features(base, finetuned) - base, base - finetuned, atol=1e-6)


def test_a_new_last_layer_finds_what_features_hold_and_nothing_where_they_hold_nothing():
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(0, 10, (600,), generator=generator)
    hidden = torch.randn(10, 20, generator=generator)  # every class has a direction, under a unit that never changes
    h = torch.cat([hidden[y] + 0.1 * torch.randn(600, 20, generator=generator), torch.ones(600, 1)], 1)
    right = (algorithms.read_out(h[:400], y[:400], h[400:]) == y[400:]).double().mean()
    guessed = (algorithms.read_out(torch.rand(400, 20, generator=generator), y[:400],
                                   torch.rand(200, 20, generator=generator)) == y[400:]).double().mean()
    assert right == 1 and guessed < 0.2
    negated = algorithms.read_out(-3 * h[:400] + 5, y[:400], -3 * h[400:] + 5)
    assert torch.equal(negated, algorithms.read_out(h[:400], y[:400], h[400:])), "sign and scale are no news"


def test_classes_above_the_right_one_are_counted():
    logits = torch.tensor([[3.0, 1, 2], [3, 1, 2], [3, 1, 2]])
    assert algorithms.classes_above(logits, torch.tensor([0, 1, 2])).tolist() == [0, 2, 1]


def test_a_shuffled_task_vector_is_as_long_and_points_elsewhere():
    base, one = mlp_states(2, widths=(40, 30, 10))
    tau = TaskVector(base, one)
    mixed = algorithms.shuffled(tau, 0)
    for key, tensor in tau.difference.items():
        assert torch.equal(mixed.difference[key].flatten().sort().values, tensor.flatten().sort().values)
    assert mixed.norm() == pytest.approx(tau.norm(), rel=1e-6) and abs(mixed.cosine(tau)) < 0.2
    assert algorithms.shuffled(tau, 0).cosine(mixed) == pytest.approx(1)


def double_states(**options):
    return [{key: tensor.double() for key, tensor in state.items()} for state in mlp_states(**options)]


def test_kinks_and_curvature_of_eq_2_add_up_and_layer_1_has_kinks_alone():
    one, other = double_states(count=2, widths=(12, 9, 8, 7, 5))
    x = torch.rand(50, 12)
    found = causes.of_ends(one, other, x)
    middle = weights.interpolate(one, other, 0.5)
    three = [MLP.from_state(state).features(x.double()) for state in (middle, one, other)]
    for layer in mlp.LAYERS:
        missed = algorithms.relative_deviation(*(features[layer] for features in three))
        assert found.missed.sel(layer=layer).item() == pytest.approx(missed)
    assert found.share.sel(layer="layer 1").item() == pytest.approx(1)
    assert found.share_frozen_at.sel(gates="the edited network").item() == pytest.approx(
        found.share.sel(layer="output").item())


def test_where_no_unit_switches_all_that_is_missed_is_curvature():
    one, other = double_states(count=2, widths=(12, 9, 8, 7, 5))
    for state in (one, other):
        for key in state:
            if key.endswith("bias"):
                state[key] += 100
            else:
                state[key] = state[key].abs()
    found = causes.of_ends(one, other, torch.rand(50, 12))
    assert found.share.sel(layer=["layer 2", "layer 3", "output"]).values == pytest.approx(0, abs=1e-9)


def test_exponents_are_those_of_the_powers_put_in():
    lams = xarray.DataArray(list(causes.LAMS), dims="step", coords={"step": list(causes.LAMS)})
    ends = xarray.DataArray([1.0] * 36, dims="ends", coords={"ends": [*mlp.PAIRS, *mlp.NEGATIONS]})
    layers = xarray.DataArray([1.0] * 4, dims="layer", coords={"layer": list(mlp.LAYERS)})
    made = xarray.Dataset({"kinks": ends * layers * lams ** 1.5, "curvature": ends * layers * 0 * lams})
    assert causes.exponents(made, "Eq. 2", "kinks")["output"] == pytest.approx(1.5)
    assert np.isnan(causes.exponents(made, "Eq. 3", "curvature")["layer 1"])


def test_what_is_compared_of_a_task_differs_as_its_name_says():
    torch.manual_seed(0)
    made = {0.0: MLP((784, 100, 100, 100, 10)), 45.0: MLP((784, 100, 100, 100, 10))}
    networks = {angle: network.requires_grad_(False) for angle, network in made.items()}
    compared = forgetting.networks_of(networks, 45.0, seed=3)
    assert tuple(compared) == forgetting.NETWORKS
    before, plus, minus = (compared[name].state_dict()["layers.1.weight"] for name in ("θ₀", "θ₀ + τ", "θ₀ − τ"))
    assert torch.allclose(before, (plus + minus) / 2, atol=1e-6)
    state = torch.get_rng_state()
    again = forgetting.networks_of(networks, 45.0, seed=3)
    assert torch.equal(state, torch.get_rng_state()), "the learner's random numbers stay as they are"
    for name in forgetting.NETWORKS:
        assert torch.equal(compared[name].state_dict()["layers.0.bias"], again[name].state_dict()["layers.0.bias"])


def test_sums_on_their_own_tasks_alone_are_those_of_the_edited_networks():
    torch.manual_seed(0)
    networks = {angle: MLP((784, 9, 8, 7, 10)).requires_grad_(False) for angle in mlp.EVALUATED}
    turned, y = list(torch.rand(9, 20, 28, 28)), torch.randint(0, 10, (20,))
    single, table = mlp.Singles(networks, turned, y), mlp.Table(networks, turned, y)
    for angles in ((45.0,), (22.5, 180.0), mlp.ANGLES):
        expected = table.accuracy_of(dict.fromkeys(angles, 0.3))[table.places(*angles)].mean()
        assert single.accuracy(angles, 0.3) == pytest.approx(expected, abs=0.03)


@pytest.fixture(scope="session")
def made_up_forgetting():
    """Numbers as `forgetting.measure` has them, made up: every network has its own."""
    value = xarray.DataArray([0.9, 0.8, 0.05, 0.7, 0.1], dims="network", coords={"network": list(forgetting.NETWORKS)})
    angle = xarray.DataArray(np.ones(8), dims="angle", coords={"angle": list(mlp.ANGLES)})
    layer = xarray.DataArray(np.ones(4), dims="layer", coords={"layer": list(mlp.LAYERS)})
    step = xarray.DataArray(np.ones(6), dims="step", coords={"step": list(forgetting.STEPS)})
    made = xarray.Dataset({"accuracy": angle * value, "smallest": angle * (1 - value), "above": 9 * angle * value,
                           "read_out": angle * value * layer, "again": angle * value * step})
    return made.assign_attrs(source="a stand-in", source_kind="stand-in", dataset="MNIST", network="MLP",
                             profile="quick", seed=0, images="10 test images a task", test_images=10)


def test_the_pictures_of_forgetting_hold_their_numbers(made_up_forgetting):
    for picture in (panels.is_it_forgotten, panels.learned_again):
        page = picture(made_up_forgetting).data
        assert "Not MNIST!" in page and "θ₀ − τ: 0.050" in page
    text = panels.reading_of_forgetting(made_up_forgetting).text
    assert text.startswith("What was measured.") and "right for 5.0%" in text and "95%" in text and "<b>" not in text
    parted = made_up_forgetting.copy(deep=True)
    parted["read_out"].loc[{"angle": 22.5, "network": "θ₀"}] = 0.9
    text = panels.reading_of_forgetting(parted.assign_attrs(test_images=10_000)).text
    near, *_, rest, _ = (line for line in text.splitlines() if "in points" in line)
    assert near.startswith("22.5°: ") and "in points +85.0 ±" in near
    assert rest.startswith("mean without 22.5°: ") and "in points +75.0 ±" in rest
    assert text.count("it reads less from θ₀ − τ than from θ₀") == 2
    found = forgetting.claims(made_up_forgetting)["CTL-13"]
    single = parted.copy(deep=True)
    single["read_out"].loc[{"angle": 90.0, "network": "θ₀"}] = 0.0
    text = panels.reading_of_forgetting(single).text
    assert any(line.startswith("90°: ") and "in points −5.0 ±" in line for line in text.splitlines())
    assert found["read_out_lost"] == pytest.approx(0.75) and found["again_pretrained"] == pytest.approx(0.8)


def test_a_reading_of_forgetting_does_not_tell_a_difference_within_its_error(made_up_forgetting):
    alike = made_up_forgetting.assign(read_out=made_up_forgetting.read_out * 0 + 0.8)
    text = panels.reading_of_forgetting(alike).text
    assert text.count("the difference between θ₀ − τ and θ₀ is within the noise") == 2


def test_a_reading_of_forgetting_leads_with_what_its_numbers_carry(made_up_forgetting):
    known = made_up_forgetting.assign_attrs(test_images=10_000)
    known = changed(changed(known, "again", 0.5, network="θ₀ − τ"), "smallest", 0.2, network="θ₀ − τ")
    lead = "θ₀ − τ is below chance, but a wrong sign does not explain that, and it learns"
    assert panels.reading_of_forgetting(known).text.startswith(lead)
    wrong = changed(known, "smallest", 0.9, network="θ₀ − τ")
    assert panels.reading_of_forgetting(wrong).text.startswith("What was measured."), "the sign may explain it"
    slow = changed(known, "again", 0.1, network="θ₀ − τ")
    assert panels.reading_of_forgetting(slow).text.startswith("What was measured."), "as slow as an untrained one"


@pytest.fixture(scope="session")
def made_up_growth():
    """Numbers as `causes.measure` has them: two ends taken apart, made to grow with λ to the power 1.7."""
    one, other = double_states(count=2, widths=(12, 9, 8, 7, 5))
    of_ends = causes.of_ends(one, other, torch.rand(50, 12))
    lams = xarray.DataArray(list(causes.LAMS), dims="step", coords={"step": list(causes.LAMS)})
    ends = xarray.DataArray([1.0] * 36, dims="ends", coords={"ends": [*mlp.PAIRS, *mlp.NEGATIONS]})
    grown = {name: of_ends[name] * ends * lams ** 1.7 for name in ("missed", "kinks", "curvature")}
    level = {name: of_ends[name] * ends * (lams * 0 + 1) for name in ("share", "share_frozen_at")}
    return xarray.Dataset(grown | level).assign_attrs(
        source="a stand-in", source_kind="stand-in", dataset="MNIST", network="MLP", profile="quick", seed=0, images="")


def test_the_pictures_of_growth_hold_their_numbers(made_up_growth):
    assert "Not MNIST!" in panels.growth(made_up_growth).data
    text = panels.reading_of_growth(made_up_growth).text
    share = made_up_growth.share.sel(layer="output").mean().item()
    page = panels.reading_of_growth(made_up_growth).page
    assert "λ to the power 1.70 (λ up to" in page and f"share of kinks at λ = 0.1 {share:.0%}" in text
    numbers = causes.claims(made_up_growth)
    assert numbers["CTL-10"]["exponent_kinks_output"] == pytest.approx(1.7) and numbers.keys() == {"CTL-10", "CTL-11"}


@pytest.mark.parametrize("function", [mlp.run, experiment.announce, resnet.run])
def test_an_unknown_profile_is_named(function):
    with pytest.raises(ValueError, match="unknown profile 'huge': choose one of quick, full$"):
        function("huge")


@pytest.fixture(scope="session")
def sweep(standin_folder_session):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        return mlp.run("quick", 0)


@pytest.fixture
def networks(sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    return mlp.models(0)


def test_what_tasks_share_makes_errors_of_means_larger_and_hardly_those_of_differences(networks):
    """`lessons.kit.noise` counts every task's images as others, and all tasks show the same digits."""
    table = mlp.desk(networks, 400)

    def answered(logits):
        return (logits.argmax(1).view(len(mlp.EVALUATED), -1) == table.y).double().numpy()[1:]

    def by_digit(right):
        return right.mean(0).std(ddof=1) / len(table.y) ** 0.5

    mixes = {lam: dict.fromkeys(mlp.ANGLES, lam) for lam in (0.1, 0.15, 0.2)}
    in_weights = [answered(table.features(lams)["output"]) for lams in mixes.values()]
    in_outputs = [answered(table.in_features(lams)) for lams in mixes.values()]
    for right in (*in_weights, *in_outputs):
        assert 1.2 < by_digit(right) / error_of_share(right.mean(), right.size) < 1.02 * len(right) ** 0.5
    for one, other in itertools.combinations((*in_weights, *in_outputs), 2):
        counted = error_of_difference(one.mean(), other.mean(), one.size)
        assert by_digit(one - other) < 1.5 * counted


class Plain:
    """The networks and images of the sweep, and what is measured of them, written from the definitions."""

    def __init__(self, networks):
        self.networks = networks
        self.base = networks[0.0].state_dict()
        self.vectors = mlp.task_vectors(networks)
        turned, self.y = mlp.test_sets(mlp.PROFILES["quick"].test_images)
        self.x = dict(zip(mlp.EVALUATED, turned))

    def edited(self, lams):
        return MLP.from_state(self.base + sum(lam * self.vectors[angle] for angle, lam in lams.items()))

    def stitched(self, layer, h):
        return algorithms.stitched(self.networks[0.0], layer, h)

    def agrees(self, measured, logits):
        """Rounding may tip an image."""
        right = (logits.argmax(1) == self.y).double().mean().item()
        return measured.item() == pytest.approx(right, abs=2.5 / len(self.y))


@pytest.fixture
def plain(networks):
    return Plain(networks)


def test_the_sweeps_accuracies_are_those_of_the_edited_networks(sweep, plain):
    for edit, lam in (("22.5° and 90°", 0.5), ("135°", -0.8), ("all eight", 0.1)):
        network = plain.edited(dict.fromkeys(mlp.EDITS[edit], lam))
        for task, x in plain.x.items():
            assert plain.agrees(sweep.accuracy.sel(edit=edit, lam=lam, task=task), network(x))
    for angle in (0.0, 180.0):
        assert plain.agrees(sweep.own.sel(model=angle, task=angle), plain.networks[angle](plain.x[angle]))
    a, b, c, d = mlp.QUADRUPLES["67.5° + (45° − 22.5°)"]
    network = plain.edited({c: 0.6, b: 0.6, a: -0.6})
    assert d == 90 and plain.agrees(sweep.analogy.sel(quadruple="67.5° + (45° − 22.5°)", step=0.6), network(plain.x[d]))


def test_the_sweeps_cosines_are_those_of_the_parts(sweep, plain):
    one, other = (plain.vectors[angle].only("layers.1") for angle in (45.0, 90.0))
    assert sweep.cosine.sel(part="layer 2", angle=45.0, other=90.0).item() == pytest.approx(one.cosine(other))


def test_the_sweeps_negations_are_those_of_the_stitched_networks(sweep, plain):
    plus = plain.edited({67.5: 0.6})
    minus = plain.edited({67.5: -0.6})
    x = plain.x[67.5]
    given = 2 * plain.networks[0.0].features(x)["layer 2"] - plus.features(x)["layer 2"]
    here = sweep.negated.sel(angle=67.5, lam0=0.6)
    assert plain.agrees(here.sel(layer="layer 2", how=mlp.HOW[0], which="i"), plain.stitched("layer 2", given))
    assert plain.agrees(here.sel(layer="output", how=mlp.HOW[1], which="pretraining"), minus(plain.x[0.0]))
    untouched = sweep.negated.sel(lam0=0.0)
    assert (untouched.isel(how=0) == untouched.isel(how=1)).all(), "at λ = 0 nothing was taken away"


def test_the_sweeps_stitched_accuracies_are_those_of_averaged_features(sweep, plain):
    one = plain.edited({67.5: 0.6})
    other = plain.edited({157.5: 0.6})
    x = plain.x[67.5]
    average = (one.features(x)["layer 1"] + other.features(x)["layer 1"]) / 2
    here = sweep.stitched.sel(pair="67.5° and 157.5°", step=0.6, layer="layer 1", features=mlp.FEATURES[0], two="i")
    assert plain.agrees(here, plain.stitched("layer 1", average))


def test_the_sweeps_gaps_are_those_of_equation_2(sweep, plain):
    turned, _ = mlp.test_sets(mlp.PROFILES["quick"].feature_images)
    x = torch.cat([turned[mlp.EVALUATED.index(angle)] for angle in (67.5, 157.5)])
    lams = {67.5: 0.3, 157.5: 0.3}, {67.5: 0.6}, {157.5: 0.6}
    expected = algorithms.halfway(*(plain.edited(one).features(x) for one in lams))["layer 3"]
    found = sweep.sel(ends="67.5° and 157.5°", step=0.3, layer="layer 3")
    assert found.gap_mean.item() == pytest.approx(expected["gap"].nanmean().item(), rel=1e-3)
    assert found.base_mean.item() == pytest.approx(expected["base"].nanmean().item(), rel=1e-3)


def test_the_second_run_reads_the_same_numbers_from_disk(sweep, standin_folder_session, monkeypatch, capsys):
    def refused(settings, seed, device):
        raise AssertionError("measured again")

    refused.__module__ = mlp.__name__  # the code behind it is part of the key
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    assert dataclasses.replace(mlp.TASK_VECTORS, measure=refused).run("quick", 0).equals(sweep)
    experiment.announce("quick", 0)
    said = capsys.readouterr().out
    assert str(mlp.source()) in said and "this takes seconds" in said and "ResNets" not in said
    experiment.announce("full", 0, resnets=True)
    assert "training steps and the measurement, about" in capsys.readouterr().out


def test_the_claims_are_numbers_of_the_sweep(sweep):
    found = mlp.claims(sweep)
    sums = sweep.sel(ends=list(mlp.PAIRS))
    assert found["CTL-10"]["gap_over_base_at_0.4"] == (sums.gap_mean / sums.base_mean).sel(step=0.4).max().item()
    small = sums.deviation.sel(step=[0.05, 0.1, 0.2], layer="layer 1").mean("ends")
    slope = np.polyfit(np.log(small.step), np.log(small), 1)[0]
    assert found["CTL-10"]["exponent_layer_1"] == pytest.approx(slope)
    halved = sweep.accuracy.sel(lam=0.5)
    both = [halved.sel(edit=name, task=list(pair)).mean().item() for name, pair in mlp.PAIRS.items()]
    assert found["CTL-10"]["two_at_half"] == pytest.approx(np.mean(both))
    deep = sweep.stitched.sel(features=mlp.FEATURES[0], step=1.0, layer=["layer 2", "layer 3", "output"])
    worse = deep.min("two").mean("pair")
    assert found["CTL-12"]["worse_with_average_at_1"] == pytest.approx(worse.min().item())
    negated = sweep.negated.sel(lam0=1.0, how=mlp.HOW[0], which="i").mean("angle")
    assert found["CTL-13"]["features_task_at_1"] == pytest.approx(negated.max().item())


def test_the_edit_panel_says_the_sweeps_numbers(sweep):
    panel = panels.edits(sweep)
    for edit, lam in itertools.product(("22.5° and 90°", "all eight", "180°"), (-1.0, 0.0, 0.3)):
        alt = panel.set(edit=edit, lam=lam).alt
        values = sweep.accuracy.sel(edit=edit, lam=lam).values
        assert all(f"{value:.3f}" in alt for value in values) and f"λ = {lam:.2f}" in alt


def test_the_bars_of_the_tasks_added_have_a_colour_of_their_own(sweep):
    view = panels.edits(sweep)
    roles = {mark.name: mark.role for mark in view.marks}
    assert (roles["added"], roles["other"]) == ("merged", "other")
    for edit, added in (("180°", 1), ("22.5° and 90°", 2), ("all eight", 8)):
        bars = {name: np.isfinite(view.set(edit=edit).frame.values[name][0]) for name in ("added", "other")}
        assert (bars["added"] ^ bars["other"]).all() and bars["added"].sum() == added and bars["other"][0]


HALF = "Half of each task vector"


@pytest.mark.parametrize("count, mean, alone, title", [
    (2, (0.1, 0.4, 0.8, 0.6), 0.6, f"{HALF} makes one network for both tasks, all of each is too much"),
    (2, (0.1, 0.4, 0.8, 0.8), 0.6, f"{HALF} makes one network for both tasks"),
    (2, (0.1, 0.4, 0.6, 0.8), 0.6, f"{HALF} is no better on both tasks together than one network alone"),
    (8, (0.1, 0.4, 0.6, 0.5), 0.7, "The right part of each task vector is no better on all the tasks together than one "
                                   "network alone"),
    (1, (0.1, 0.4, 0.8, 0.9), 0.9, "Adding a task vector teaches its task, subtracting it takes right answers away"),
    (1, (0.4, 0.4, 0.8, 0.9), 0.9, "Adding a task vector teaches its task"),
    (1, (0.1, 0.4, 0.4, 0.4), 0.4,
     "Adding this task vector is not seen to help its task, subtracting it takes right answers away")])
def test_the_title_of_sums_says_what_the_curve_shows(count, mean, alone, title):
    assert panels.finding_of_sums([-1.0, 0.0, 0.5, 1.0], np.array(mean), alone, count, 1000) == title


def test_a_small_best_part_of_eight_task_vectors_is_called_small():
    title = panels.finding_of_sums([-1.0, 0.0, 0.2, 1.0], np.array((0.1, 0.3, 0.6, 0.2)), 0.5, 8, 1000)
    assert title == "A small part of each task vector makes one network for all the tasks, all of each is too much"


def test_the_guess_about_a_sum_is_compared_with_half_of_each_task_vector(sweep):
    guess = predict("What share?")
    view = panels.edits(sweep, guess).set(edit="180°", lam=-1.0)
    assert guess.truth == sweep.accuracy.sel(edit="22.5° and 90°", lam=0.5, task=[22.5, 90.0]).mean().item()
    guess.commit(0.5)
    assert view.values == {"lam": 0.5, "edit": "22.5° and 90°"}


def test_the_panel_of_equations_says_the_sweeps_numbers(sweep):
    view = panels.equations(sweep)
    for ends, lam in itertools.product(("45° and 180°", mlp.negation_of(90.0)), (0.05, 1.0)):
        here = sweep.sel(ends=ends, step=lam)
        alt = view.set(ends=ends, lam=lam).alt
        assert all(f"{value:.4f}" in alt for value in (*here.gap_mean.values, *here.base_mean.values))
        assert ("Eq. 2" in alt) == (" and 180°" in ends) == ("Eq. 2" in view.frame.key[0][1])
    frame = view.set(ends="45° and 180°", layer="output").frame
    part = sweep.sel(ends="45° and 180°", layer="output")
    assert frame.values["coef of this layer"] == pytest.approx(part.coef_mean.values)
    assert frame.values["gap of this layer"] == pytest.approx((part.gap_mean / part.base_mean).values)
    low, high = frame.values["middle half of coef"]
    for counts, least, most in zip(part.coef_count.transpose("step", "bin"), low, high):
        assert counts.sel(bin=slice(least, most)).sum() >= 0.5 * counts.sum()
    assert np.isnan(frame.values["gap, output"]).all() and not np.isnan(frame.values["gap, layer 1"]).any()


FOLLOW = "For small λ the features follow the weights, for large λ they"


@pytest.mark.parametrize("gap, coef, title", [
    ((0.01, 0.2), (1.0, 0.7), f"{FOLLOW} turn and come out too short"),
    ((0.01, 0.2), (1.0, 0.95), f"{FOLLOW} turn"),
    ((0.01, 0.02), (1.0, 0.7), f"{FOLLOW} come out too short"),
    ((0.01, 0.02), (1.0, 0.95), "The features follow the weights, whatever λ is"),
    ((0.1, 0.2), (1.0, 0.7), "The features do not follow the weights, even for small λ")])
def test_the_title_of_the_equations_says_what_happens_in_any_layer(gap, coef, title):
    assert panels.finding_of_equations(np.array([(0.0, 0.0), gap]), np.array([coef, (1.0, 1.0)])) == title


def test_the_panels_of_stitching_and_negation_say_the_sweeps_numbers(sweep):
    stitching = panels.stitching(sweep)
    negation = panels.negation(sweep)
    for layer, lam in itertools.product(mlp.LAYERS, (0.1, 1.0)):
        here = sweep.stitched.sel(layer=layer, step=lam, features=mlp.FEATURES[0])
        assert f"{here.min('two').mean().item():.3f} on the worse" in stitching.set(layer=layer, lam=lam).alt
        here = sweep.negated.sel(angle=67.5, layer=layer, lam0=lam)
        alt = negation.set(angle=67.5, layer=layer, lam=lam).alt
        assert all(f"{value:.3f}" in alt for value in here.values.flatten())


def test_the_views_of_stitching_and_negation_draw_the_sweeps_numbers(sweep):
    frame = panels.stitching(sweep).set(layer="layer 3", lam=0.8).frame
    part = sweep.stitched.sel(layer="layer 3")
    here = part.sel(step=0.8, features=mlp.FEATURES[1])
    assert np.array_equal(frame.values["A"], here.transpose("two", "pair").values)
    own = (part.sel(features=mlp.FEATURES[1], two="i") + part.sel(features=mlp.FEATURES[2], two="j")).mean("pair") / 2
    assert frame.values["one network, own task"] == pytest.approx(own.values)
    alone = part.sel(features=list(mlp.FEATURES[1:])).min("two").max("features").mean("pair")
    assert frame.values["one network, worse task"] == pytest.approx(alone.values)
    guess = predict("What share?")
    view = panels.negation(sweep, guess).set(angle=90.0)
    truth = sweep.negated.sel(angle=45.0, layer="output", lam0=1.0, how=mlp.HOW[1], which="pretraining").item()
    assert guess.truth == truth and "θ₀ − λτ, pretraining" in view.spec["hides"]
    guess.commit(0.5)
    assert view.values["angle"] == 45.0 and view.frame.values["θ₀ − λτ, pretraining"][-1] == truth


PAIR = np.array([-0.01, 0.0, 0.01])


@pytest.mark.parametrize("worse, alone, title", [
    (0.8, 0.4, "Averaged features know both tasks, one network’s own know only one"),
    (0.5, 0.4, "On the worse of two tasks, averaged features are a little better than one network’s own"),
    (0.4, 0.4, "On the worse of two tasks, averaged features are no better than one network’s own"),
    (0.3, 0.4, "On the worse of two tasks, averaged features are worse than one network’s own")])
def test_the_title_of_stitching_says_what_averages_are_worth(worse, alone, title):
    assert panels.finding_of_averages(worse + PAIR, alone - PAIR, 0.9 + PAIR, 0.3 + PAIR) == title


SUBTRACTING = "Subtracting a task vector costs its task"


@pytest.mark.parametrize("by_equation, by_weights, title", [
    ((0.9, 0.1), (0.6, 0.1), f"{SUBTRACTING}, and more of pretraining than Eq. 4 says"),
    ((0.6, 0.1), (0.8, 0.1), f"{SUBTRACTING}, and less of pretraining than Eq. 4 says"),
    ((0.6, 0.1), (0.6, 0.1), f"{SUBTRACTING} and some of pretraining, as Eq. 4 says"),
    ((0.9, 0.1), (0.9, 0.1), f"{SUBTRACTING} alone"),
    ((0.9, 0.1), (0.6, 0.4), "Subtracting this task vector does not cost its task")])
def test_the_title_of_negation_says_what_it_costs(by_equation, by_weights, title):
    at_end = np.array([by_equation, by_weights])
    assert panels.finding_of_negation(at_end, np.array([0.9, 0.4]), 1000) == title


MIXES = {("22.5° and 90°", 180.0): {22.5: 0.3, 90.0: 0.3, 180.0: -0.3},
         ("all eight", None): dict.fromkeys(mlp.ANGLES, 0.3),
         ("every second", 45.0): {45.0: -0.3, 90.0: 0.3, 135.0: 0.3, 180.0: 0.3}}


def test_the_mixing_desk_computes_what_its_controls_say(sweep, networks):
    view, base = panels.mixing_desk(sweep, networks), networks[0.0].state_dict()
    vectors = mlp.task_vectors(networks)
    x, y = mlp.test_sets(mlp.DESK_IMAGES)

    def mixed(images, lams):
        before = networks[0.0](images)
        return before + sum(lam * (networks[angle](images) - before) for angle, lam in lams.items())

    for (added, subtracted), lams in MIXES.items():
        network = MLP.from_state(base + sum(lam * vectors[angle] for angle, lam in lams.items()))
        frame = view.draw(lam=0.3, added=added, subtracted=subtracted)
        assert ("and the task subtracted" in frame.title) == (subtracted is not None)
        for place, (angle, images) in enumerate(zip(mlp.EVALUATED, x)):
            both = network(images), mixed(images, lams)
            right = [(logits.argmax(1) == y).double().mean().item() for logits in both]
            mark = "added" if lams.get(angle, 0) > 0 else "other"
            shown = frame.values[mark][0][place], frame.values["outputs"][place]
            assert shown == pytest.approx(right, abs=0.011) and f"{angle:g}° {shown[0]:.3f}" in frame.alt


def test_no_mix_on_the_desk_is_empty():
    for added, subtracted in itertools.product(desk.SETS, (None, *mlp.ANGLES)):
        lams = desk.lams_of(added, subtracted, 0.5)
        assert 0.5 in lams.values() and lams.get(subtracted, -0.5) == -0.5


LAMS = np.array([0.2, 0.7, 0.3])  # accuracy over three λ


@pytest.mark.parametrize("outputs, subtracted, title", [
    (LAMS + 0.1, np.full(3, np.nan), "falls short of the mix of all networks’ outputs"),
    (LAMS, [0.5, 0.3, 0.1],
     "is within the noise of the mix of all networks’ outputs, and the task subtracted gets worse"),
    (LAMS - 0.1, [0.5, 0.5, 0.1],
     "beats the mix of all networks’ outputs, and the task subtracted does not get worse")])
def test_the_title_of_the_desk_compares_weights_with_outputs_each_at_its_best(outputs, subtracted, title):
    assert panels.finding_of_mixing(LAMS, outputs, np.array(subtracted), 1000, 2) == f"One network {title}"


@pytest.mark.parametrize("figure", [panels.heat_map, panels.many, panels.figure_7, panels.analogies,
                                    panels.tasks, panels.knowledge])
def test_figures_have_words_and_name_the_stand_in(figure, sweep, standin_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(standin_folder_session))
    page = figure(sweep).data
    assert "Not MNIST!" in page and 'alt=""' not in page


def test_readings_hold_the_sweeps_numbers(sweep):
    found = mlp.claims(sweep)
    assert f"{found['CTL-10']['coef_at_1']:.2f}" in panels.reading_of_figure_7(sweep).text
    assert f"{found['CTL-12']['worse_with_one_at_1']:.3f}" in panels.reading_of_figure_9(sweep).text
    negated = found["CTL-13"]
    text = panels.reading_of_figure_10(sweep).text
    assert f"{negated['weights_pretraining_at_1']:.3f}" in text and f"{negated['features_task_at_1']:.3f}" in text
    of_a, of_b = (np.mean([sweep.own.sel(model=i, task=j).item() for j in (22.5, 90.0)]) for i in (22.5, 90.0))
    assert f"A alone reaches {of_a:.0%} and B alone {of_b:.0%}" in panels.reading_of_half(sweep).text


def changed(sweep, name, value, **where):
    """The sweep with one value in part of a variable."""
    made = sweep.copy(deep=True)
    made[name].loc[where] = value
    return made


def test_short_readings_say_their_finding_only_where_the_numbers_carry_it(sweep):
    """Numbers made up: each finding is said, and then one number refutes it."""
    own = changed(sweep, "own", 0.2)
    for angle in mlp.EVALUATED:
        own.own.loc[{"model": angle, "task": angle}] = 0.95
    for one, other in zip(mlp.ANGLES, mlp.ANGLES[1:]):
        own.own.loc[{"model": one, "task": other}] = own.own.loc[{"model": other, "task": one}] = 0.8
    for one, other in zip(mlp.ANGLES, mlp.ANGLES[2:]):
        own.own.loc[{"model": one, "task": other}] = own.own.loc[{"model": other, "task": one}] = 0.4
    known = panels.reading_of_knowledge(own.pipe(changed, "own", 0.1, model=0.0, task=90.0)).text
    assert known.startswith("Each finetuned network knows its own task") and "So if an edited network knows" in known
    assert "40% two steps away" in known and "less than half" not in known
    first = own.pipe(changed, "own", 0.7, model=0.0, task=22.5)
    assert "right for less than half of the images of any other. So" in panels.reading_of_knowledge(first).text
    assert panels.reading_of_knowledge(changed(own, "own", 0.9)).text.startswith("What the finetuned networks know.")

    half = changed(sweep, "accuracy", 0.3).pipe(changed, "own", 0.4)
    assert panels.reading_of_half(half).text.startswith("Half of each, all of each")
    half = changed(half, "accuracy", 0.9, edit="22.5° and 90°", lam=0.5).assign_attrs(test_images=10_000)
    text = panels.reading_of_half(half).text
    assert text.startswith("Half of each is better") and "60%" not in text and "does not average" in text


def test_the_reading_of_the_best_shares_says_whether_they_fall_and_are_near_the_average(sweep):
    best = {k: min(mlp.MANY_LAMS, key=lambda lam: abs(lam - 1 / k)) for k in range(1, 9)}
    made = changed(sweep, "many", 0.1)
    for k, lam in best.items():
        made.many.loc[{"num_tasks": k, "many_lam": lam}] = 1 - k / 10
    text = panels.best_shares(made).text
    assert text.startswith("The more task vectors you add, the less") and "That is near 1/k" in text
    assert "falls from 90% with one task to 20% with eight" in text
    text = panels.best_shares(changed(made, "many", 0.95, num_tasks=8, many_lam=1.0)).text
    assert text.startswith("The best λ by the number") and "near 1/k" not in text and "goes from" in text


def test_the_reading_of_subtracting_says_what_it_costs(sweep):
    where = {"layer": "output", "how": mlp.HOW[1]}
    made = changed(sweep, "negated", 0.9, **where).pipe(changed, "negated", 0.12, **where, which="i")
    assert panels.reading_of_subtracting(made).text.startswith("What subtracting a task vector costs.")
    made = changed(made, "negated", 0.5, **where, which="pretraining", lam0=1.0)
    assert panels.reading_of_subtracting(made).text.startswith("What subtracting a task vector costs.")
    made = changed(made, "negated", 0.3, **where, which="i", lam0=0.0).pipe(changed, "own", 0.2, model=0.0)
    text = panels.reading_of_subtracting(made).text
    assert text.startswith("Subtracting a task vector lowers its task") and "from 90% to 50%" in text
    assert "knew well" not in text
    made = changed(made, "own", 0.8, model=0.0, task=22.5)
    assert "knew well" not in panels.reading_of_subtracting(made).text
    made = changed(made, "negated", 0.35, **where, which="i", lam0=1.0, angle=22.5)
    assert "one task that θ₀ knew well, the network is still 35% accurate" in panels.reading_of_subtracting(made).text


def test_the_reading_of_the_limits_names_them_and_says_where_there_are_none(sweep):
    made = sweep.assign(coef_mean=sweep.coef_mean * 0 + 1, gap_mean=sweep.base_mean * 0)
    text = panels.reading_of_the_limits(made).text
    assert text.startswith("Where the features stop") and text.count("at no λ up to 1") == 4
    assert "θ₀’s own features" not in text and "the best λ" not in text
    made.many.loc[{"num_tasks": 2}] = 0.1
    for lam in (0.6, 0.8, 1.0):
        made.gap_mean.loc[{"step": lam}] = made.base_mean.sel(step=lam)
        made.coef_mean.loc[{"step": lam}] = 0.5
    text = panels.reading_of_the_limits(made).text
    assert text.startswith("The features follow the weights at small λ") and text.count("from λ = 0.6 on") == 4
    assert "θ₀’s own features" in text and "the best λ" not in text
    made.many.loc[{"num_tasks": 2, "many_lam": 0.6}] = 0.9
    assert "The best λ for two tasks that we tried is beyond both limits." in panels.reading_of_the_limits(made).text


def test_the_reading_of_a_task_below_chance_says_only_what_its_numbers_carry(made_up_forgetting):
    many = made_up_forgetting.assign_attrs(test_images=10_000)
    assert panels.reading_of_below_chance(many).text.startswith("What is left of a task")
    made = changed(many, "again", 0.5, network="θ₀ − τ")
    text = panels.reading_of_below_chance(made).text
    assert text.startswith("θ₀ − τ is below chance, and still") and "right for 5.0%" in text and "faster still" in text
    assert "shuffled" not in text
    assert "faster still" not in panels.reading_of_below_chance(changed(made, "again", 0.5, network="θ₀")).text
    near = changed(made, "again", 0.99, network="θ₀ − τ", angle=22.5)
    assert "θ₀ − τ is 50% accurate" in panels.reading_of_below_chance(near).text, "22.5° is left out"
    for name in ("accuracy", "again"):
        made = changed(made, name, 0.8, network="θ₀ − shuffled τ")
    assert "Subtracting shuffled τ changes almost nothing" in panels.reading_of_below_chance(made).text
    assert "θ₀ and θ₀ − shuffled τ nearly coincide" in panels.learned_again(made).data
    assert "nearly coincide" not in panels.learned_again(many).data


def test_the_pretrained_network_knows_much_of_the_nearest_angle_and_a_finetuned_one_its_neighbours():
    """The first on the ledger's seeds, the second on seed 0."""
    assert min(claims.measured()["CTL-13"]["near_task_before"]) > 0.6
    own = mlp.run("full", 0).own
    assert min(own.sel(model=i, task=j).item() for i, j in itertools.permutations(mlp.ANGLES, 2)
               if abs(i - j) < 30) > 0.6


def test_on_seed_0_a_neighbours_network_beats_every_analogy_and_every_analogy_the_pretrained_one():
    measured = mlp.run("full", 0)
    for name, (_, _, c, d) in mlp.QUADRUPLES.items():
        best = measured.analogy.sel(quadruple=name).max().item()
        pretrained, neighbour = (measured.own.sel(model=model, task=d).item() for model in (0.0, c))
        assert pretrained + 0.1 < best < neighbour - 0.05, name


def test_on_the_ledgers_seeds_two_task_vectors_help_the_resnet_and_eq_2_weakens_with_depth():
    ledger = claims.measured()["CTL-10"]
    assert (np.subtract(ledger["ResNet two_at_half"], ledger["ResNet two_at_0"]) > 0.2).all()
    assert (np.subtract(ledger["ResNet eq_2_block_8_at_0.4"], ledger["ResNet eq_2_block_1_at_0.4"]) > 0.1).all()


def test_a_share_of_the_base_a_little_below_zero_did_no_harm_and_one_far_below_did():
    """On seed 0, with λ = 0.3: four tasks, where no other λ was better, and eight."""
    many = mlp.run("full", 0).many
    assert 1 - 4 * 0.3 < 0 and many.sel(num_tasks=4).idxmax("many_lam").item() == 0.3
    eight = many.sel(num_tasks=8)
    assert eight.max() - eight.sel(many_lam=0.3) > 0.1


def test_on_the_ledgers_seeds_eight_tasks_in_one_network_are_served_less_well_than_two():
    ledger = claims.measured()["CTL-10"]
    assert (np.subtract(ledger["two_at_half"], ledger["eight_best"]) > 0.1).all()


def test_on_the_ledgers_seeds_a_task_below_chance_is_learned_again_sooner_than_by_an_untrained_network():
    ledger = claims.measured()["CTL-13"]
    assert max(ledger["far_task_negated"]) < 0.1 and max(ledger["far_task_smallest_output"]) < 0.5
    assert (np.subtract(ledger["again_negated"], ledger["again_untrained"]) > 0.2).all()


def test_on_the_ledgers_seeds_the_exponent_at_the_output_is_larger_than_in_layer_1_and_kinks_make_more():
    """Both are of shares of the features' length, of which curvature's is above 2 as well."""
    ledger = claims.measured()["CTL-10"]
    assert all(first + 0.1 < last < 2 for first, last in zip(ledger["exponent_layer_1"], ledger["exponent_deepest"]))
    assert min(ledger["kinks_share_output_at_0.1"]) > 0.7 and min(ledger["kinks_share_hidden_least"]) > 0.5


def test_on_the_ledgers_seeds_a_new_last_layer_reads_less_for_the_one_task_that_was_known_and_not_for_the_others():
    ledger = claims.measured()["CTL-13"]
    assert min(ledger["near_read_out_lost"]) > 0.05 and max(ledger["far_read_out_lost"]) < 0.02


@pytest.mark.parametrize("drawing", [panels.arrows, panels.doubled,
                                     lambda: panels.kept_lam({1: 0.7, 8: -1.4}, {1: 0.9, 8: 0.5}),
                                     lambda: panels.gap_by_layer({(0.2, name): 0.01 for name in mlp.LAYERS})])
def test_drawings_have_words(drawing):
    assert 'alt=""' not in drawing().data and "<img" in drawing().data


def test_limits_are_where_the_curves_cross(sweep):
    part = sweep.sel(ends=list(mlp.PAIRS), layer="layer 2")
    ratio = (part.gap_mean / part.base_mean).mean("ends")
    first = min(float(lam) for lam in sweep.step.values if ratio.sel(step=lam) > mlp.SHARE)
    assert mlp.limits(sweep).gap.sel(equation="Eq. 2", layer="layer 2").item() == first
    made = sweep.assign(coef_mean=sweep.coef_mean * 0 + 1)
    assert mlp.limits(made).coef.isnull().all()
    text = panels.where_it_ends(made).text
    assert "never" in text and f"layer 2 {first:g}" in text


def test_resnets_are_for_full_alone():
    with archive.anew():  # whatever the repository keeps of them
        assert resnet.run("quick") is None
    assert "full" in panels.resnets(None).text and panels.reading_of_the_resnets(None).text == ""


TINY = resnet.Settings(test_images=10, statistics_images=20, lams=(-1.0, -0.5, 0.0, 0.25, 0.5, 1.0))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A pretrained ResNet and three finetuned ones, of width 2, on the stand-in; and what is measured of them."""
    with pytest.MonkeyPatch.context() as patch, training.one_thread():
        patch.setenv("WEIGHTSPACE_DATA", str(tmp_path_factory.mktemp("tiny")))
        patch.setenv("WEIGHTSPACE_OFFLINE", "1")
        parent = Recipe.on("split_cifar100", Architecture.of("ResNet18", width=2, num_classes=100),
                           options={"splits": (0,), "size": 60}, lr=0.05, epochs=1, batch_size=30)
        finetuned = {split: parent.finetune(options={"splits": (split,), "size": 60}) for split in (1, 2, 3)}
        recipes = {0: parent, **finetuned}
        networks = dict(zip(recipes, zoo.get_all(list(recipes.values()))))
        return networks, resnet.Edited(networks, TINY), resnet.measured_of(recipes, TINY)


def test_finetuning_on_a_split_moves_no_other_rows_of_the_head_so_each_task_keeps_its_own(tiny):
    networks, edited, measured = tiny
    assert measured.head_elsewhere.item() == 0
    for treatment in resnet.TREATMENTS:
        head = edited.network({1: 0.3, 2: -0.4}, treatment).head
        for split, network in networks.items():
            own = outputs_of(split)
            assert torch.allclose(head.weight[own], network.head.weight[own], atol=1e-6)


def test_the_backbone_is_edited_and_the_counter_is_that_of_the_base(tiny):
    networks, edited, _ = tiny
    edit = edited.network({1: 0.3}, "interpolated").state_dict()
    base, one = (networks[split].state_dict() for split in (0, 1))
    key = "blocks.3.conv1.weight"
    assert torch.allclose(edit[key], 0.7 * base[key] + 0.3 * one[key], atol=1e-6)
    assert edit[COUNTER] == base[COUNTER]


def test_a_variance_below_zero_is_seen_and_answers_that_are_no_numbers_are_wrong(tiny):
    networks, edited, _ = tiny
    state = networks[0].state_dict()
    assert resnet.below_zero(state) == 0
    broken = state | {"stem.1.running_var": -state["stem.1.running_var"]}
    channels = sum(len(tensor) for key, tensor in state.items() if key.endswith("running_var"))
    assert resnet.below_zero(broken) == pytest.approx(2 / channels)
    assert edited.accuracies(ResNet18.from_state(broken)) == [0, 0, 0, 0]


def test_resnets_on_a_tiny_setting(tiny):
    _, _, measured = tiny
    edits = set(map(str, measured.edit.values))
    assert {"split 1", "splits 2 and 3", "all four"} < edits and measured.sizes["layer"] == 8
    assert measured.accuracy.sel(edit="splits 1 and 2", lam=-1.0).isnull().all()
    assert measured.accuracy.sel(lam=0.5).notnull().all()
    assert (measured.gap_mean <= measured.base_mean).mean() > 0.9


@pytest.fixture(scope="module")
def full(tiny):
    """Four tasks, as the chapter has; the tiny setting's numbers put into their places."""
    _, _, measured = tiny
    tasks = (1, 2, 3, 4)
    pairs = [resnet.name_of(*pair) for pair in itertools.combinations(tasks, 2)]
    edits = [*map(resnet.name_of, tasks), *pairs, "all four"]
    made = measured.reindex(task=[0, *tasks]).reindex(edit=edits).fillna(0.5)
    made = made.reindex(ends=[*pairs, *map(resnet.negation_of, tasks)]).fillna(0.5)
    return made.assign_attrs(source="a stand-in", source_kind="stand-in", dataset="CIFAR-100", network="ResNet-18",
                             profile="full", seed=0, images="10 test images a task")


def test_the_resnets_page_holds_their_numbers(full):
    assert "Not CIFAR-100!" in panels.resnets(full).data
    assert f"{resnet.numbers(full)['two_at_half']:.3f}" in panels.reading_of_the_resnets(full).text


def test_all_experiments_together_give_every_number_that_the_verdicts_need(
        sweep, full, made_up_growth, made_up_forgetting):
    of_resnets = resnet.claims(full)
    assert of_resnets["CTL-10"]["ResNet head_elsewhere"] == 0
    parts = (mlp.claims(sweep), of_resnets, causes.claims(made_up_growth), forgetting.claims(made_up_forgetting))
    for id in parts[0]:
        found = set().union(*(part.get(id, {}) for part in parts))
        needed = {condition.number for condition in claims.ledger()[id].conditions}
        assert needed <= found, id
        assert all(name.startswith("ResNet ") for name in of_resnets.get(id, {}))
