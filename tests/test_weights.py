import math
import warnings

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes

from toy_models import weights

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SHAPES = {"layers.0.weight": (4, 3), "layers.0.bias": (4,), "temperature": ()}
FUNCTIONS = {
    "interpolate at 0": lambda a, b: weights.interpolate(a, b, 0.0),
    "interpolate": lambda a, b: weights.interpolate(a, b, 0.3),
    "interpolate at 1": lambda a, b: weights.interpolate(a, b, 1.0), "add": weights.add, "subtract": weights.subtract,
    "scale": lambda a, b: weights.scale(a, 2.0), "scale by 1": lambda a, b: weights.scale(a, 1),
    "average": lambda a, b: weights.average([a, b]), "average of one": lambda a, b: weights.average([a]),
    "flatten": lambda a, b: {"vector": weights.flatten(a)},
    "unflatten": lambda a, b: weights.unflatten(weights.flatten(b), a), "dot": weights.dot,
    "norm": lambda a, b: weights.norm(a), "cosine": weights.cosine,
}
OF_TWO = ["interpolate", "add", "subtract", "average", "dot", "cosine"]
GIVE_STATES = [name for name in FUNCTIONS if name not in ("flatten", "dot", "norm", "cosine")]


def random_state(seed, dtype=torch.float32, shapes=SHAPES):
    generator = torch.Generator().manual_seed(seed)
    return {key: torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
            for key, shape in shapes.items()}


def with_counter(state, count):
    return {**state, "norm.num_batches_tracked": torch.tensor(count)}


def copied(state):
    return {key: tensor.clone() for key, tensor in state.items()}


def assert_equal(state, expected):
    assert list(state) == list(expected)
    for key in expected:
        assert state[key].dtype == expected[key].dtype and torch.equal(state[key], expected[key]), key


def assert_close(state, expected, **tolerance):
    assert list(state) == list(expected)
    for key in expected:
        torch.testing.assert_close(state[key], expected[key], **tolerance)


@st.composite
def states(draw, number, dtypes=(torch.float64,)):
    """So many state dicts of one structure, with one to four tensors of any shape."""
    shapes = draw(st.lists(array_shapes(min_dims=0, max_dims=3, max_side=4), min_size=1, max_size=4))
    dtype, seed = draw(st.sampled_from(dtypes)), draw(st.integers(0, 10_000))
    return [random_state(seed + i, dtype, {f"key {j}": shape for j, shape in enumerate(shapes)}) for i in range(number)]


# -- interpolate -------------------------------------------------------------------------------------------------------

@given(states(2, FLOATS))
def test_interpolation_is_exact_at_both_ends(pair):
    a, b = pair
    assert_equal(weights.interpolate(a, b, 1.0), a)
    assert_equal(weights.interpolate(a, b, 0.0), b)
    assert_equal(weights.interpolate(a, b, 1), a)


@pytest.mark.parametrize("dtype", FLOATS[1:])
def test_interpolation_is_exact_at_both_ends_for_the_largest_weights(dtype):
    a = {"weight": torch.tensor([torch.finfo(dtype).max, 1.0], dtype=dtype)}
    b = {"weight": torch.tensor([torch.finfo(dtype).min, 2.0], dtype=dtype)}
    assert_equal(weights.interpolate(a, b, 1.0), a)
    assert_equal(weights.interpolate(a, b, 0.0), b)


@given(states(2, FLOATS), st.floats(0, 1))
def test_interpolation_is_alpha_a_plus_1_minus_alpha_b(pair, alpha):
    a, b = pair
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mixed = weights.interpolate(a, b, alpha)
    assert_close(mixed, {key: (alpha * a[key].double() + (1 - alpha) * b[key].double()).to(a[key].dtype) for key in a})


@pytest.mark.parametrize("alpha", [-0.5, -1e-9, 1.0001, 3])
def test_extrapolation_is_allowed_and_said(alpha):
    a, b = random_state(0, torch.float64), random_state(1, torch.float64)
    with pytest.warns(weights.ExtrapolationWarning, match="alpha"):
        mixed = weights.interpolate(a, b, alpha)
    assert_close(mixed, {key: alpha * a[key] + (1 - alpha) * b[key] for key in a})


@pytest.mark.parametrize("alpha", [math.nan, math.inf, "x", None, True])
def test_an_alpha_that_is_not_a_finite_number_is_named(alpha):
    with pytest.raises(ValueError, match="alpha must be a finite number"):
        weights.interpolate(random_state(0), random_state(1), alpha)


@pytest.mark.parametrize("factor", [math.nan, math.inf, "x", None])
def test_a_factor_that_is_not_a_finite_number_is_named(factor):
    with pytest.raises(ValueError, match="factor must be a finite number"):
        weights.scale(random_state(0), factor)


# -- what holds for all ------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("shapes", [SHAPES, {"weight": (3,)}], ids=["three keys", "one key"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_changes_its_arguments_or_shares_memory_with_them(name, shapes):
    a, b = with_counter(random_state(0, shapes=shapes), 5), with_counter(random_state(1, shapes=shapes), 7)
    before = copied(a), copied(b)
    result = FUNCTIONS[name](a, b)
    if isinstance(result, dict):
        for tensor in result.values():
            tensor.fill_(100)
    assert_equal(a, before[0])
    assert_equal(b, before[1])


def test_unflatten_does_not_share_memory_with_the_vector():
    vector = torch.arange(3.0)
    weights.unflatten(vector, {"weight": torch.zeros(3)})["weight"].zero_()
    assert torch.equal(vector, torch.arange(3.0))


@pytest.mark.parametrize("name", GIVE_STATES)
def test_integer_tensors_are_carried_from_the_first(name):
    result = FUNCTIONS[name](with_counter(random_state(0), 5), with_counter(random_state(1), 7))
    assert result["norm.num_batches_tracked"].dtype == torch.int64 and result["norm.num_batches_tracked"] == 5
    assert list(result) == [*SHAPES, "norm.num_batches_tracked"]


def test_integer_tensors_are_not_part_of_the_vector():
    a, b = random_state(0), random_state(1)
    counted = with_counter(a, 5), with_counter(b, 7)
    assert torch.equal(weights.flatten(counted[0]), weights.flatten(a))
    assert weights.dot(*counted) == weights.dot(a, b) and weights.norm(counted[0]) == weights.norm(a)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", GIVE_STATES)
def test_results_have_the_dtype_of_the_arguments(name, dtype):
    result = FUNCTIONS[name](random_state(0, dtype), random_state(1, dtype))
    assert {tensor.dtype for tensor in result.values()} == {dtype}


KEY = "layers.0.bias"
MISMATCHES = {
    "key missing in the second": lambda a, b: b.pop(KEY),
    "key missing in the first": lambda a, b: a.pop(KEY),
    "other shape": lambda a, b: b.update({KEY: torch.zeros(5)}),
    "shape that would broadcast": lambda a, b: b.update({KEY: torch.zeros(1)}),
    "other dtype": lambda a, b: b.update({KEY: b[KEY].double()}),
    "NaN in the second": lambda a, b: b[KEY][2:3].fill_(math.nan),
    "NaN in the first": lambda a, b: a[KEY][2:3].fill_(math.nan),
}


@pytest.mark.parametrize("mismatch", MISMATCHES)
@pytest.mark.parametrize("name", OF_TWO)
def test_state_dicts_that_do_not_belong_together_are_refused_with_the_key(name, mismatch):
    a, b = random_state(0), random_state(1)
    MISMATCHES[mismatch](a, b)
    with pytest.raises(ValueError, match=KEY):
        FUNCTIONS[name](a, b)


@pytest.mark.parametrize("name", ["scale", "average of one", "flatten", "norm"])
def test_a_nan_in_the_only_state_dict_is_refused_with_the_key(name):
    a = random_state(0)
    a[KEY][0] = math.nan
    with pytest.raises(ValueError, match=KEY):
        FUNCTIONS[name](a, None)


NO_WEIGHTS = {  # what a tensor may become, and what the message says of it
    "complex": (lambda t: t.to(torch.complex64), "view_as_real"),
    "quantised": (lambda t: torch.quantize_per_tensor(t, 0.1, 0, torch.qint8), r"\.dequantize\(\)"),
    "float8": (lambda t: t.to(torch.float8_e5m2), r"\.to\(torch.float32\)"),
    "sparse COO": (lambda t: t.to_sparse(), r"\.to_dense\(\)"),
    "sparse CSR": (lambda t: t[None].to_sparse_csr(), r"\.to_dense\(\)"),
    "meta": (lambda t: t.to("meta"), "has no values"),
    "int8": (lambda t: t.to(torch.int8), "only BatchNorm's num_batches_tracked"),
    "a mask": (lambda t: t > 0, "only BatchNorm's num_batches_tracked"),
    "numpy": (lambda t: t.numpy(), "not a tensor.*from_numpy"),
    "a number": (lambda t: 0.5, "not a tensor"),
    "nothing": (lambda t: None, "not a tensor"),
    "a dict": (lambda t: {"weight": t}, r"its inner dict, checkpoint\['layers.0.bias'\]"),
}


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor", "ignore:Sparse CSR", "ignore:Sparse invariant")
@pytest.mark.parametrize("kind", NO_WEIGHTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_no_weight_is_refused_with_the_key_and_what_to_do(name, kind):
    changed, says = NO_WEIGHTS[kind]
    a, b = ({**state, KEY: changed(state[KEY])} for state in (random_state(0), random_state(1)))
    with pytest.raises(ValueError, match=f"'{KEY}' of state dict 1 .*{says}"):
        FUNCTIONS[name](a, b)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_state_dicts_without_weights_are_refused(name):
    for state in ({}, with_counter({}, 5)):
        with pytest.raises(ValueError, match="state dict 1 holds no weights"):
            FUNCTIONS[name](state, state)


NO_STATE_DICTS = [None, torch.zeros(3), [torch.zeros(3)], torch.nn.Linear(2, 2), {0: torch.zeros(2)}]


@pytest.mark.parametrize("nothing", NO_STATE_DICTS,
                         ids=lambda nothing: type(nothing).__name__)
def test_what_is_no_state_dict_is_refused(nothing):
    with pytest.raises(ValueError, match="state dict 2 must be a dict of tensors"):
        weights.add(random_state(0), nothing)


# -- what does not fit -------------------------------------------------------------------------------------------------

OVERFLOWING = {
    "interpolate": lambda a, b: weights.interpolate(a, b, 0.25),
    "add": lambda a, b: weights.add(a, a),
    "subtract": weights.subtract,
    "scale": lambda a, b: weights.scale(a, 2.0),
    "unflatten": lambda a, b: weights.unflatten(weights.flatten(a).double() * 2, a),
}
ADVICE = {torch.float16: r"\.to\(torch.float32\)", torch.bfloat16: r"\.to\(torch.float64\)",
          torch.float32: r"\.to\(torch.float64\)", torch.float64: "smaller weights"}
NEVER = [("interpolate", torch.float16), ("unflatten", torch.float64)]  # one steps in float32, the other does not step
CASES = [(name, dtype) for name in OVERFLOWING for dtype in FLOATS if (name, dtype) not in NEVER]


@pytest.mark.parametrize("name, dtype", CASES)
def test_a_result_that_does_not_fit_is_refused_with_the_key(name, dtype):
    large = 0.9 * torch.finfo(dtype).max
    a, b = ({"fine": torch.zeros(3, dtype=dtype), "weight": torch.tensor([value, 1.0], dtype=dtype)}
            for value in (large, -large))
    with pytest.raises(ValueError, match=f"'weight' overflows.* does not fit {dtype}.*{ADVICE[dtype]}"):
        OVERFLOWING[name](a, b)


@pytest.mark.parametrize("name", ["dot", "norm", "cosine"])
def test_a_product_that_does_not_fit_is_refused_with_the_key(name):
    huge = {"weight": torch.full((3,), 1e200, dtype=torch.float64)}
    with pytest.raises(ValueError, match="'weight' overflows.* does not fit torch.float64"):
        FUNCTIONS[name](huge, huge)


def test_an_infinite_weight_stays_one_but_has_no_direction():
    a = {"weight": torch.tensor([math.inf, 1.0])}
    assert weights.add(a, a)["weight"].tolist() == [math.inf, 2.0] and weights.norm(a) == math.inf
    with pytest.raises(ValueError, match="cosine with an infinite vector"):
        weights.cosine(a, a)


def test_large_weights_whose_result_fits_are_no_overflow():
    a, b = ({"weight": torch.full((3, 3), value)} for value in (3e38, -3e38))  # their sum overflows, no entry does
    assert_equal(weights.average([a, b]), weights.scale(a, 0))
    assert_equal(weights.add(a, b), weights.scale(a, 0))
    assert_equal(weights.scale(a, 1), a)


# -- vectors -----------------------------------------------------------------------------------------------------------

@given(states(2, FLOATS))
def test_unflatten_undoes_flatten(pair):
    a, like = pair
    vector = weights.flatten(a)
    assert vector.shape == (sum(tensor.numel() for tensor in a.values()),)
    assert_equal(weights.unflatten(vector, like), a)
    assert torch.equal(weights.flatten(weights.unflatten(vector, like)), vector)


def test_unflatten_undoes_flatten_for_mixed_dtypes():
    a = {"half": torch.ones(2, dtype=torch.float16), "single": torch.ones(2)}
    assert_equal(weights.unflatten(weights.flatten(a), a), a)


VECTORS = [torch.zeros(16), torch.zeros(18), torch.zeros(0), torch.zeros(1, 17), torch.tensor(0.0)]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(tuple(vector.shape)))
def test_a_vector_of_another_length_is_refused_with_the_right_one(vector):
    with pytest.raises(ValueError, match=r"\(17,\)"):
        weights.unflatten(vector, random_state(0))


@given(states(2, FLOATS))
def test_dot_norm_and_cosine_are_those_of_the_vectors_in_float64(pair):
    a, b = pair
    vector, other = weights.flatten(a).double(), weights.flatten(b).double()
    dot, norm, other_norm = (value.item() for value in (vector @ other, vector.norm(), other.norm()))
    assume(norm > 0 and other_norm > 0)
    assert weights.dot(a, b) == pytest.approx(dot, rel=1e-12, abs=1e-12)
    assert weights.norm(a) == pytest.approx(norm, rel=1e-12)
    assert weights.cosine(a, b) == pytest.approx(dot / (norm * other_norm), rel=1e-12, abs=1e-12)


def test_dot_of_many_half_precision_weights_loses_nothing():
    ones = {"weight": torch.ones(100_000, dtype=torch.float16)}  # their sum is beyond float16
    assert weights.dot(ones, ones) == 100_000


def test_dot_does_not_depend_on_the_order_of_the_keys():
    a, b = random_state(0), random_state(1)
    assert weights.dot(a, dict(reversed(b.items()))) == pytest.approx(weights.dot(a, b), rel=1e-12)


def test_cosine_of_parallel_opposite_and_orthogonal_vectors():
    a, right_angle = {"weight": torch.tensor([3.0, 0.0])}, {"weight": torch.tensor([0.0, 2.0])}
    assert weights.cosine(a, weights.scale(a, 5)) == 1 and weights.cosine(a, weights.scale(a, -5)) == -1
    assert weights.cosine(a, right_angle) == 0


def test_cosine_never_leaves_minus_1_to_1():
    for seed in range(200):
        a = random_state(seed)
        assert -1 <= weights.cosine(a, a) <= 1


@pytest.mark.parametrize("zero", ["first", "second"])
def test_the_cosine_with_a_zero_vector_is_refused(zero):
    pair = [random_state(0), weights.scale(random_state(0), 0)]
    with pytest.raises(ValueError, match="zero"):
        weights.cosine(*(pair[::-1] if zero == "first" else pair))


# -- algebra -----------------------------------------------------------------------------------------------------------

factors = st.floats(-10, 10)


@given(states(3), factors, factors)
def test_add_subtract_and_scale_make_a_vector_space(triple, factor, other_factor):
    a, b, c = triple
    add, subtract, scale = weights.add, weights.subtract, weights.scale
    assert_close(add(a, b), {key: a[key] + b[key] for key in a})
    assert_equal(add(a, b), add(b, a))
    assert_close(add(add(a, b), c), add(a, add(b, c)))
    assert_close(subtract(add(a, b), b), a)
    assert_equal(subtract(a, b), add(a, scale(b, -1)))
    assert_close(scale(add(a, b), factor), add(scale(a, factor), scale(b, factor)), rtol=1e-9, atol=1e-9)
    assert_close(scale(scale(a, factor), other_factor), scale(a, factor * other_factor), rtol=1e-9, atol=1e-9)
    assert weights.norm(scale(a, factor)) == pytest.approx(abs(factor) * weights.norm(a), rel=1e-9, abs=1e-100)


@given(states(4))
def test_the_average_is_the_mean(some):
    assert_close(weights.average(some), {key: sum(state[key] for state in some) / 4 for key in some[0]})
    assert_close(weights.average(some[:2]), weights.interpolate(*some[:2], 0.5))


@given(states(1, FLOATS))
def test_the_average_of_one_is_it(one):
    assert_equal(weights.average(one), one[0])


def test_the_average_of_none_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        weights.average([])


def test_the_average_refuses_any_that_does_not_belong():
    with pytest.raises(ValueError, match="state dict 3 .*weight"):
        weights.average([random_state(0), random_state(1), {"weight": torch.zeros(3)}])
