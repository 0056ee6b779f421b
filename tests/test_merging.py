"""lessons.merging: every method against its formula written out in loops, what holds for all methods, and the defects
of other libraries.
"""
import inspect
import itertools
import math
import os
import re
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import jaxtyping
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes
from safetensors.torch import save_file

from data import imported
from lessons import merging
from lessons.cart.algorithms import spectra
from lessons.linearity import algorithms as linearity
from lessons.merging import (
    Needs,
    PerTask,
    StateFile,
    adaptive,
    lowrank,
    masks,
    merge,
    methods,
    sparse,
    storage,
    ties,
    weighted,
)
from toy_models import MLP, ResNet18, weights

METHODS = methods()
ONE_MODEL = [name for name, method in METHODS.items() if method.gives_one_model]
FROM_WEIGHTS = [name for name in ONE_MODEL if Needs.WEIGHTS in METHODS[name].needs]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SHAPES = {"conv": (4, 3, 2, 2), "weight": (5, 4), "bias": (5,), "temperature": ()}
KEY = "bias"


# -- state dicts to merge ----------------------------------------------------------------------------------------------

def random_states(seed, tasks, shapes=SHAPES, dtype=torch.float32, grain=0.0):
    """A base and so many finetuned ones. With a grain all weights are small multiples of it: ties, and sums without
    rounding.
    """
    generator = torch.Generator().manual_seed(seed)

    def state(spread):
        drawn = {key: spread * torch.randn(shape, generator=generator, dtype=torch.float64)
                 for key, shape in shapes.items()}
        return {key: ((tensor / grain).round() * grain if grain else tensor).to(dtype) for key, tensor in drawn.items()}

    base = state(1)
    return base, [weights.add(base, state(0.5)) for _ in range(tasks)]


def with_counter(state, count):
    return {**state, "norm.num_batches_tracked": torch.tensor(count)}


def needed(name, states):
    """What a method must be given: for AdaMerging a function that makes three logits of all weights, and inputs; few
    steps. For Fisher merging and RegMean, numbers of every model and key.
    """
    if Needs.INPUTS not in METHODS[name].needs:
        return {}
    if name in ("fisher", "regmean"):
        return {"information" if name == "fisher" else "products": [made_up(name, state) for state in states]}

    def forward(state, x, task):
        vector = torch.cat([tensor.flatten().float() for tensor in state.values() if tensor.is_floating_point()])
        return torch.stack([(vector * (k + 1)).sin().sum() + vector.sum() * x * k for k in range(3)], 1)

    batches = [[torch.linspace(-1, 1, 4) + task] for task in range(len(states))]
    return {"forward": forward, "batches": batches, "steps": 2}


def made_up(name, state):
    """{key: Fisher information, or a product of inputs}, the same for all models and independent of the weights."""
    found = {}
    for key, tensor in state.items() if isinstance(state, Mapping) else ():
        shape = tuple(getattr(tensor, "shape", ()))
        generator = torch.Generator().manual_seed(zlib.crc32(key.encode()))
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and (name == "fisher" or len(shape) == 2):
            drawn = torch.rand(shape, generator=generator)
            found[key] = drawn if name == "fisher" else drawn.T @ drawn
    return found


def as_many(name, finetuned):
    """As many of them as the method takes: the first two for a method of two models, or one twice."""
    number = METHODS[name].models
    return [*finetuned, *finetuned][:number] if number else finetuned


def merged(name, base, finetuned, **parameters):
    finetuned = as_many(name, finetuned)
    return merge(name, base, finetuned, **needed(name, finetuned), **parameters)


def models(result):
    """The state dicts that a result holds, one or one a task."""
    return [result.model(task) for task in range(len(result))] if isinstance(result, PerTask) else [result]


def copied(states):
    return [{key: tensor.clone() for key, tensor in state.items()} for state in states]


def assert_equal(state, expected):
    assert list(state) == list(expected)
    for key in expected:
        assert state[key].dtype == expected[key].dtype and torch.equal(state[key], expected[key]), key


def assert_close(state, expected, rtol=1e-6, atol=1e-6):
    assert list(state) == list(expected)
    for key in expected:
        torch.testing.assert_close(state[key], expected[key].to(state[key].dtype), rtol=rtol, atol=atol,
                                   msg=lambda text, key=key: f"{key}: {text}")


@st.composite
def to_merge(draw, exact=False, min_tasks=1, max_tasks=4, max_dims=4):
    """(base, finetuned) of one to three tensors: random float64, or also float32 with many ties where `exact` says that
    order and rounding do not matter.
    """
    shapes = draw(st.lists(array_shapes(min_dims=0, max_dims=max_dims, max_side=4), min_size=1, max_size=3))
    grain = draw(st.sampled_from([0.0, 0.25])) if exact else 0.0
    dtype = draw(st.sampled_from([torch.float32, torch.float64])) if grain else torch.float64
    seed = draw(st.integers(0, 10_000))
    tasks = draw(st.integers(min_tasks, max_tasks))
    return random_states(seed, tasks, {f"key {i}": shape for i, shape in enumerate(shapes)}, dtype, grain)


shares = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 0.25]), st.floats(0, 1))
scales = st.floats(-1, 2)


# -- the formulas, entry by entry --------------------------------------------------------------------------------------

def entries(state):
    return {key: tensor.double().flatten().tolist() for key, tensor in state.items()}


def naive_vectors(base, finetuned):
    """[{key: [τ_t]}], one a task."""
    base = entries(base)
    return [{key: [b - a for a, b in zip(base[key], values)] for key, values in entries(state).items()}
            for state in finetuned]


def naive_state(base, values):
    """The state dict with base's keys and shapes that holds these lists of entries."""
    return {key: torch.tensor(values[key], dtype=torch.float64).reshape(tensor.shape) for key, tensor in base.items()}


def naive_shifted(base, vector, scale):
    shifted = {key: [a + scale * v for a, v in zip(values, vector[key])] for key, values in entries(base).items()}
    return naive_state(base, shifted)


def naive_trim(values, density, outliers=0.0, count="floor"):
    floor = math.floor(density * len(values) + 1e-6)
    wanted = {"floor": floor, "floor + 1": floor + 1, "at least one": max(1, floor)}[count]
    kept = min(wanted, len(values)) if density else 0
    if not kept:
        return [0.0] * len(values)
    above = min(math.floor(outliers * len(values) + 1e-6), len(values) - kept)
    ranked = sorted((abs(value) for value in values), reverse=True)
    return [value if ranked[above + kept - 1] <= abs(value) <= ranked[above] else 0.0 for value in values]


def naive_grouped(function, vector, base, trim):
    """Apply a function of lists of entries to the whole vector, to every tensor or to every row."""
    if trim == "global":
        flat = iter(function([value for key in base for value in vector[key]]))
        return {key: [next(flat) for _ in vector[key]] for key in base}
    result = {}
    for key, tensor in base.items():
        if trim == "row" and tensor.ndim == 0:
            result[key] = vector[key]
            continue
        width = tensor.shape[-1] if trim == "row" else tensor.numel()
        groups = [vector[key][start:start + width] for start in range(0, tensor.numel(), width)]
        result[key] = [value for group in groups for value in function(group)]
    return result


def sign(value):
    return (value > 0) - (value < 0)


def naive_agreed(vectors, agree, on_tie="zero"):
    result = {key: [sum(values) for values in zip(*(vector[key] for vector in vectors))] for key in vectors[0]}
    if agree == "sum":
        return result
    assert agree in ("elected sum", "elected mean"), agree
    majority = sign(sum(sign(value) for values in result.values() for value in values)) or -1
    elected = {"zero": 0, "positive": 1, "negative": -1, "majority": majority}[on_tie]
    for key, totals in result.items():
        for i, total in enumerate(totals):
            chosen = [vector[key][i] for vector in vectors if sign(vector[key][i]) == (sign(total) or elected) != 0]
            totals[i] = sum(chosen) / (max(1, len(chosen)) if agree == "elected mean" else 1)
    return result


def naive_matrices(base, finetuned, origin, of_matrices, of_others):
    """{key: of_matrices([(m, n)]) or of_others([tensor])} of the differences to an origin, tensor by tensor, in
    float64.
    """
    result = {}
    for key in base:
        differences = [state[key].double() - origin[key].double() for state in finetuned]
        if base[key].ndim < 2:
            result[key] = of_others(differences)
        else:
            result[key] = of_matrices([d.reshape(len(d), -1) for d in differences]).reshape(base[key].shape)
    return result


def naive_svd(matrix, rank):
    """Σ σ_i u_i v_iᵀ over the first `rank`."""
    u, s, v = torch.linalg.svd(matrix)
    total = torch.zeros_like(matrix)
    for i in range(rank):
        total += s[i] * torch.outer(u[:, i], v[i])
    return total


def naive_average(finetuned):
    return {key: sum(state[key].double() for state in finetuned) / len(finetuned) for key in finetuned[0]}


def naive_polar(columns):
    u, _, v = torch.linalg.svd(columns, full_matrices=False)
    return u @ v


# -- every method is its formula ---------------------------------------------------------------------------------------

@given(to_merge(exact=True))
def test_average(states):
    assert_close(merge("average", *states), naive_average(states[1]))


@given(to_merge(exact=True), scales)
def test_task_arithmetic(states, scale):
    base, finetuned = states
    total = naive_agreed(naive_vectors(base, finetuned), "sum")
    assert_close(merge("task_arithmetic", base, finetuned, scale=scale), naive_shifted(base, total, scale))


AGREE, ON_TIE = (st.sampled_from(next(p for p in METHODS["ties"].parameters if p.name == name).choices)
                 for name in ("agree", "on_tie"))
TRIM = st.sampled_from(["global", "tensor", "row"])
COUNT = st.sampled_from(["floor", "floor + 1", "at least one"])
DECOMPOSITION = st.sampled_from(["auto", "gram", "svd"])


@settings(max_examples=200)
@given(to_merge(exact=True), scales, shares, TRIM, COUNT, AGREE, ON_TIE)
def test_ties(states, scale, density, trim, count, agree, on_tie):
    base, finetuned = states
    trimmed = [naive_grouped(lambda values: naive_trim(values, density, 0.0, count), vector, base, trim)
               for vector in naive_vectors(base, finetuned)]
    expected = naive_shifted(base, naive_agreed(trimmed, agree, on_tie), scale)
    options = {"density": density, "trim": trim, "count": count, "agree": agree, "on_tie": on_tie}
    assert_close(merge("ties", base, finetuned, scale=scale, **options), expected)


@settings(max_examples=100)
@given(to_merge(exact=True), scales, shares, shares, TRIM, AGREE)
def test_breadcrumbs(states, scale, density, outliers, trim, agree):
    base, finetuned = states
    trimmed = [naive_grouped(lambda values: naive_trim(values, density, outliers), vector, base, trim)
               for vector in naive_vectors(base, finetuned)]
    expected = naive_shifted(base, naive_agreed(trimmed, agree), scale)
    options = {"density": density, "outliers": outliers, "trim": trim, "agree": agree}
    assert_close(merge("breadcrumbs", base, finetuned, scale=scale, **options), expected)


@given(to_merge(exact=True), scales, st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]),
       st.sampled_from(["rate", "norm", "none"]), AGREE, st.integers(0, 100))
def test_dare(states, scale, drop_rate, rescale, agree, seed):
    base, finetuned = states
    # dropping from a vector of ones shows the mask
    ones = {key: torch.ones_like(tensor) for key, tensor in base.items()}
    kept = sparse.random(drop_rate, "none", seed)
    masks = {key: kept(key, torch.stack([ones[key].flatten()] * len(finetuned))).tolist() for key in base}
    vectors = naive_vectors(base, finetuned)
    for task, vector in enumerate(vectors):
        for key, values in vector.items():
            masked = [value * mask for value, mask in zip(values, masks[key][task])]
            factor = {"rate": 1 / (1 - drop_rate) if drop_rate < 1 else 1.0, "none": 1.0,
                      "norm": sum(map(abs, values)) / sum(map(abs, masked)) if any(masked) else 1.0}[rescale]
            vector[key] = [value * factor for value in masked]
    # rounded, a sum that should be 0 elects a sign
    assume(agree == "sum" or rescale == "none" or (rescale == "rate" and drop_rate in (0, 0.5, 1)))
    options = {"drop_rate": drop_rate, "seed": seed, "rescale": rescale, "agree": agree}
    assert_close(merge("dare", base, finetuned, scale=scale, **options),
                 naive_shifted(base, naive_agreed(vectors, agree), scale), rtol=1e-5 if drop_rate == 0.9 else 1e-6)


@given(to_merge(exact=True), scales, st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.sampled_from([0.0, 0.25, 1.0]), AGREE,
       st.integers(0, 100))
def test_della(states, scale, drop_rate, spread, agree, seed):
    base, finetuned = states

    def rates(row):
        """p_min + ε · r/n, where r counts from the largest magnitude; of equal ones the first comes first."""
        order = sorted(range(len(row)), key=lambda place: (-abs(row[place]), place))
        return [min(1.0, max(0.0, drop_rate - spread / 2 + spread * order.index(place) / len(row)))
                for place in range(len(row))]

    vectors = naive_vectors(base, finetuned)
    for key, tensor in base.items():
        generator = torch.Generator().manual_seed(zlib.crc32(f"{seed} {key}".encode()))
        width = tensor.shape[-1] if tensor.ndim else 1
        for vector in vectors:
            drawn = torch.rand(len(vector[key]), generator=generator).tolist()
            of_row = [rates(vector[key][start:start + width]) for start in range(0, len(vector[key]), width)]
            chances = [rate for row in of_row for rate in row]
            assume(min(abs(draw - rate) for draw, rate in zip(drawn, chances)) > 1e-6)
            vector[key] = [value / (1 - rate) if draw >= rate else 0.0
                           for value, rate, draw in zip(vector[key], chances, drawn)]
    totals = [sum(values) for key in base for values in zip(*(vector[key] for vector in vectors))]
    # rounded, a sum that should be 0 elects a sign
    assume(agree == "sum" or all(abs(total) > 1e-5 or total == 0 for total in totals))
    options = {"drop_rate": drop_rate, "spread": spread, "seed": seed, "agree": agree}
    assert_close(merge("della", base, finetuned, scale=scale, **options),
                 naive_shifted(base, naive_agreed(vectors, agree), scale), rtol=1e-5, atol=1e-5)


def length(values):
    return math.sqrt(sum(value * value for value in values))


def naive_cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / (length(a) * length(b))


@given(to_merge(min_tasks=2, max_tasks=2), shares)
def test_slerp(states, alpha):
    base, finetuned = states
    expected = {}
    for key in base:
        a, b = (entries(state)[key] for state in finetuned)
        cosine = max(-1.0, min(1.0, naive_cosine(a, b)))
        if abs(cosine) > 0.9995:
            shares_of = 1 - alpha, alpha
        else:
            angle = math.acos(cosine)
            shares_of = math.sin((1 - alpha) * angle) / math.sin(angle), math.sin(alpha * angle) / math.sin(angle)
        expected[key] = [shares_of[0] * x + shares_of[1] * y for x, y in zip(a, b)]
    assert_close(merge("slerp", base, finetuned, alpha=alpha), naive_state(base, expected))


@given(to_merge())
def test_model_stock(states):
    base, finetuned = states
    vectors = naive_vectors(base, finetuned)
    tasks = len(vectors)
    expected = {}
    for key in base:
        pairs = [naive_cosine(a[key], b[key]) for a, b in itertools.combinations(vectors, 2)]
        cosine = max(0.0, sum(pairs) / len(pairs)) if pairs else 1.0
        ratio = tasks * cosine / (1 + (tasks - 1) * cosine)
        expected[key] = [ratio * sum(values) / tasks for values in zip(*(vector[key] for vector in vectors))]
    assert_close(merge("model_stock", base, finetuned), naive_shifted(base, expected, 1))


@settings(max_examples=100)
@given(to_merge(), scales, DECOMPOSITION)
def test_isotropic(states, scale, decomposition):
    base, finetuned = states

    def of_matrices(matrices):
        u, s, v = torch.linalg.svd(sum(matrices), full_matrices=False)
        return s.mean() * (u @ v)

    vector = naive_matrices(base, finetuned, base, of_matrices, lambda ds: sum(ds) / len(ds))
    result = merge("isotropic", base, finetuned, scale=scale, decomposition=decomposition)
    assert_close(result, {key: base[key] + scale * vector[key] for key in base}, rtol=1e-5, atol=1e-5)


def naive_tall_masks(vectors, multi, strength):
    def of_task(vector):
        return {key: [abs(v) > strength * abs(m - v) for v, m in zip(vector[key], multi[key])] for key in multi}
    return [of_task(vector) for vector in vectors]


@settings(max_examples=100)
@given(to_merge(exact=True), scales, st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0]), st.integers(0, 5),
       st.sampled_from([1.0, 0.5, 0.05]), COUNT, st.sampled_from(["sum", "elected sum"]))
def test_consensus_and_tall_masks(states, scale, strength, min_votes, density, count, agree):
    base, finetuned = states
    vectors = naive_vectors(base, finetuned)
    trimmed = [naive_grouped(lambda values: naive_trim(values, density, 0.0, count), vector, base, "global")
               for vector in vectors]
    multi = naive_agreed(trimmed, agree)
    masks = naive_tall_masks(vectors, multi, strength)
    kept = {key: [value * (sum(mask[key][i] for mask in masks) >= min_votes) for i, value in enumerate(values)]
            for key, values in multi.items()}
    options = {"mask_strength": strength, "density": density, "count": count, "agree": agree}
    consensus = merge("consensus", base, finetuned, scale=scale, min_votes=min_votes, **options)
    assert_close(consensus, naive_shifted(base, kept, scale))
    stored = merge("tall_masks", base, finetuned, **options)
    for task, mask in enumerate(masks):
        masked = {key: [v * m for v, m in zip(multi[key], mask[key])] for key in base}
        assert_close(stored.model(task), naive_shifted(base, masked, 1))


@settings(max_examples=100)
@given(to_merge(exact=True), st.sampled_from(["global", "tensor"]), ON_TIE)
def test_emr(states, rescale, on_tie):
    base, finetuned = states
    vectors = naive_vectors(base, finetuned)
    totals = naive_agreed(vectors, "sum")
    majority = sign(sum(sign(value) for values in totals.values() for value in values)) or -1
    elected = {"zero": 0, "positive": 1, "negative": -1, "majority": majority}[on_tie]
    signs = {key: [sign(total) or elected for total in values] for key, values in totals.items()}
    unified = {}
    for key, values in signs.items():
        aligned = [[abs(vector[key][i]) for vector in vectors if sign(vector[key][i]) == s]
                   for i, s in enumerate(values)]
        unified[key] = [s * max([0.0, *magnitudes]) for s, magnitudes in zip(values, aligned)]
    stored = merge("emr", base, finetuned, rescale=rescale, on_tie=on_tie)
    for task, vector in enumerate(vectors):
        masked = {key: [u if v * u > 0 else 0.0 for v, u in zip(vector[key], unified[key])] for key in base}
        share = {key: 1 / max(1, len(values)) if rescale == "tensor" else 1.0 for key, values in masked.items()}
        above, below = (sum(share[key] * sum(map(abs, values)) for key, values in of.items())
                        for of in (vector, masked))
        assert_close(stored.model(task), naive_shifted(base, masked, above / below if below else 0.0), rtol=2e-6)


@settings(max_examples=100)
@given(to_merge(), scales, shares, st.sampled_from(["ceil", "floor"]), DECOMPOSITION)
def test_cart_and_cart_indexing(states, scale, ratio, rounding, decomposition):
    base, finetuned = states
    average = naive_average(finetuned)

    def rank(full):
        if ratio == 0:
            return 0
        return max(1, math.ceil(ratio * full - 1e-6) if rounding == "ceil" else math.floor(ratio * full + 1e-6))

    def truncated(matrices):
        return sum(naive_svd(matrix, rank(min(matrix.shape))) for matrix in matrices)

    options = {"scale": scale, "rank_ratio": ratio, "rounding": rounding, "decomposition": decomposition}
    total = naive_matrices(base, finetuned, average, truncated, lambda others: 0 * others[0])
    assert_close(merge("cart", base, finetuned, **options), {key: average[key] + scale * total[key] for key in base})
    for vectors, share in (("own", 1), ("average", 0)):
        stored = merge("cart_indexing", base, finetuned, vectors=vectors, **options)
        for task, state in enumerate(finetuned):
            single = naive_matrices(base, [state], average, truncated, lambda others, share=share: share * others[0])
            assert_close(stored.model(task), {key: average[key] + scale * single[key] for key in base})


@settings(max_examples=100)
@given(to_merge(max_tasks=6), scales, DECOMPOSITION)
def test_tsv(states, scale, decomposition):
    base, finetuned = states

    def of_matrices(matrices):
        rank = max(1, int(min(matrices[0].shape) / len(matrices)))
        parts = [torch.linalg.svd(matrix, full_matrices=False) for matrix in matrices]
        left, right = torch.cat([u[:, :rank] for u, _, _ in parts], 1), torch.cat([v[:rank] for _, _, v in parts])
        return naive_polar(left) @ torch.diag(torch.cat([s[:rank] for _, s, _ in parts])) @ naive_polar(right)

    vector = naive_matrices(base, finetuned, base, of_matrices, lambda ds: sum(ds) / len(ds))
    result = merge("tsv", base, finetuned, scale=scale, decomposition=decomposition)
    assert_close(result, {key: base[key] + scale * vector[key] for key in base})


# -- shapes in signatures ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("module, call", [
    (lowrank, lambda: lowrank.low_rank(torch.zeros(3), 1)),
    (lowrank, lambda: lowrank.whitened_sum(torch.zeros(2, 3).double(), torch.zeros(4, 2).double(), 1)),
    (masks, lambda: masks.tall_mask(torch.zeros(2, 3), torch.zeros(4), 0.4)),
    (linearity, lambda: linearity.own_distance(torch.zeros(2, 3), torch.zeros(2, 4))),
    (spectra, lambda: spectra.truncated(torch.zeros(2, 2, 2), 1)),
])
def test_in_tests_a_tensor_of_another_shape_is_refused_and_the_text_of_the_module_is_known(module, call):
    with pytest.raises(jaxtyping.TypeCheckError):
        call()
    assert imported._texts[module.__name__] == Path(module.__file__).read_text(encoding="utf-8")


def test_outside_tests_signatures_check_nothing():
    code = "import torch; from lessons.merging.masks import tall_mask; tall_mask(torch.ones(2, 1), torch.ones(3), 0.4)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[1])


# -- what holds for all methods ----------------------------------------------------------------------------------------

COURSE = {  # a family's file: its methods
    "arithmetic": ["average", "task_arithmetic"],
    "angles": ["slerp", "model_stock"],
    "sparse": ["ties", "dare", "della", "breadcrumbs"],
    "masks": ["consensus", "tall_masks", "emr"],
    "lowrank": ["tsv", "isotropic", "cart", "cart_indexing"],
    "weighted": ["fisher", "regmean"],
    "adaptive": ["adamerging", "adamerging_cart"],
}


def test_the_registry_lists_the_methods_of_the_course():
    families = {name: method.function.__module__.rpartition(".")[2] for name, method in METHODS.items()}
    assert list(families.items()) == [(name, family) for family, names in COURSE.items() for name in names]
    assert METHODS.keys() < set(merging.__all__) and all(hasattr(merging, name) for name in merging.__all__)
    assert [p.name for p in METHODS["ties"].parameters][:3] == ["scale", "density", "trim"]
    assert [p.name for p in METHODS["cart"].parameters][:3] == ["scale", "rank_ratio", "rounding"]


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_is(name):
    method = METHODS[name]
    assert method.name == name and method.title and method.source and method.says and method.needs
    assert method.short and method.drops and method.combines
    assert method.gives_one_model == (Needs.STORAGE not in method.needs)
    names = [parameter.name for parameter in method.parameters]
    assert list(inspect.signature(method.function).parameters) == ["base", "finetuned", *names]
    for parameter in method.parameters:
        assert parameter.says, f"{parameter.name} is not explained"
        assert parameter.required or parameter.check(parameter.default) == parameter.default
        assert parameter.required or parameter.kind is not object, f"{parameter.name} has no type that can be checked"


def test_the_registry_cannot_be_changed_from_outside():
    methods().clear()
    assert list(methods()) == list(METHODS)


@pytest.mark.parametrize("tasks", [1, 2, 6])
@pytest.mark.parametrize("name", METHODS)
def test_inputs_are_not_changed_and_share_no_memory_with_results(name, tasks):
    base, finetuned = random_states(0, tasks)
    states = [with_counter(base, 3), *(with_counter(state, 7) for state in finetuned)]
    before = copied(states)
    results = merged(name, states[0], states[1:])
    for state in models(results):
        assert list(state) == list(states[0])
        for tensor in state.values():
            tensor.fill_(1)
    if isinstance(results, PerTask):
        for state in [*results.shared.values(), *results.extras]:
            for tensor in state.values():
                tensor.fill_(1)
    for state, expected in zip(states, before):
        assert_equal(state, expected)


@pytest.mark.parametrize("name", METHODS)
def test_the_counter_of_batchnorm_is_carried_from_the_base(name):
    base, finetuned = random_states(0, 3)
    plain = models(merged(name, base, finetuned))
    counted = models(merged(name, with_counter(base, 3), [with_counter(state, 7) for state in finetuned]))
    for state, expected in zip(counted, plain):
        assert state["norm.num_batches_tracked"].dtype == torch.int64 and state["norm.num_batches_tracked"] == 3
        assert_equal({key: state[key] for key in expected}, expected)  # no vote of theirs counts


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", METHODS)
def test_results_have_the_dtype_of_the_input_and_the_accuracy_of_float32(name, dtype):
    base, finetuned = random_states(0, 3, dtype=dtype)
    wide_base, *wide = ({key: tensor.double() for key, tensor in state.items()} for state in (base, *finetuned))
    result = models(merged(name, base, finetuned))
    precise = models(merged(name, wide_base, wide))
    for state, expected in zip(result, precise):
        assert {tensor.dtype for tensor in state.values()} == {dtype}
        roundings = 1 if METHODS[name].gives_one_model else 4  # what is stored per task is rounded too
        for key in state:
            error = (state[key].double() - expected[key]).abs()
            largest = max(expected[key].abs().max().item(), *(one[key].abs().max().item() for one in finetuned))
            relative = max(torch.finfo(dtype).eps, 2e-6 if dtype != torch.float64 else 1e-12)
            assert (error <= roundings * largest * relative).all(), key


@pytest.mark.parametrize("name", METHODS)
def test_a_state_dict_may_mix_dtypes_and_hold_empty_tensors(name):
    base, finetuned = random_states(0, 2, {**SHAPES, "empty": (0, 3), "none": (0,)})
    states = [{**state, "weight": state["weight"].double(), "bias": state["bias"].half()}
              for state in (base, *finetuned)]
    expected = {key: (tensor.shape, tensor.dtype) for key, tensor in states[0].items()}
    for state in models(merged(name, states[0], states[1:])):
        assert {key: (tensor.shape, tensor.dtype) for key, tensor in state.items()} == expected


@pytest.mark.parametrize("name", METHODS)
def test_the_memory_layout_of_a_tensor_does_not_matter(name):
    base, finetuned = random_states(0, 2)
    states = [{**state, "conv": state["conv"].to(memory_format=torch.channels_last),
               "weight": state["weight"].T.contiguous().T} for state in (base, *finetuned)]
    for state, expected in zip(models(merged(name, states[0], states[1:])), models(merged(name, base, finetuned))):
        assert_close(state, expected)


@pytest.mark.parametrize("name", METHODS)
def test_parameters_that_ask_for_gradients_give_plain_tensors(name):
    base, finetuned = random_states(0, 2)
    asking = [{key: tensor.clone().requires_grad_() for key, tensor in state.items()} for state in (base, *finetuned)]
    for state, expected in zip(models(merged(name, asking[0], asking[1:])), models(merged(name, base, finetuned))):
        assert not any(tensor.requires_grad for tensor in state.values())
        assert_equal(state, expected)


@pytest.mark.parametrize("name", METHODS)
def test_models_that_equal_the_base_give_the_base(name):
    base, _ = random_states(0, 1, dtype=torch.float64)
    for tasks in (1, 3):
        for state in models(merged(name, base, [base] * tasks)):
            assert_close(state, base, atol=1e-12, rtol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_neither_the_order_of_keys_nor_that_of_tasks_matters(name):
    base, finetuned = random_states(0, 3, dtype=torch.float64)
    expected = models(merged(name, base, finetuned))
    backwards = models(merged(name, base, [dict(reversed(state.items())) for state in finetuned]))
    for state, same in zip(backwards, expected):
        assert_close(state, same, atol=1e-9)
    turned = models(merged(name, dict(reversed(base.items())), finetuned))[0]
    assert_close(dict(sorted(turned.items())), dict(sorted(expected[0].items())), atol=1e-7)
    if name in FROM_WEIGHTS and name not in ("dare", "della"):  # their draws belong to the tasks' places
        assert_close(merged(name, base, as_many(name, finetuned)[::-1]), expected[0], atol=1e-9)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("network", [lambda: MLP((6, 5, 4)), lambda: ResNet18(2, 3)], ids=["MLP", "ResNet18"])
def test_a_merged_network_runs(name, network):
    torch.manual_seed(0)
    base, finetuned = network().state_dict(), [network().state_dict() for _ in range(2)]
    for state in models(merged(name, base, finetuned)):
        restored = (MLP if "layers.0.weight" in state else ResNet18).from_state(state)
        assert restored(torch.zeros(2, *((6,) if isinstance(restored, MLP) else (3, 8, 8)))).shape[0] == 2


@pytest.mark.parametrize("name", METHODS)
def test_the_pieces_that_large_tensors_are_cut_into_do_not_show(name, monkeypatch):
    base, finetuned = random_states(0, 3)
    expected = models(merged(name, base, finetuned))
    for room in ("states", "sparse", "masks"):
        monkeypatch.setattr(f"lessons.merging.{room}.PIECE", 7)
    for state, whole in zip(models(merged(name, base, finetuned)), expected):
        assert_close(state, whole)


MISMATCHES = {
    "key missing in a finetuned one": lambda base, one: one.pop(KEY),
    "key missing in the base": lambda base, one: base.pop(KEY),
    "other shape": lambda base, one: one.update({KEY: torch.zeros(6)}),
    "shape that would broadcast": lambda base, one: one.update({KEY: torch.zeros(1)}),
    "other dtype": lambda base, one: one.update({KEY: one[KEY].double()}),
    "NaN in a finetuned one": lambda base, one: one[KEY][2:3].fill_(math.nan),
    "NaN in the base": lambda base, one: base[KEY][2:3].fill_(math.nan),
    "infinity in a finetuned one": lambda base, one: one[KEY][2:3].fill_(math.inf),
    "infinity in the base": lambda base, one: base[KEY][2:3].fill_(-math.inf),
    "infinities that cancel": lambda base, one: one[KEY].copy_(torch.tensor([math.inf, -math.inf, 0, 0, 0])),
}


@pytest.mark.parametrize("mismatch", MISMATCHES)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.fault("weights", "Keys are missing, shapes or dtypes differ, or values are NaN or infinite",
                   answers="Every method names the key and refuses")
def test_state_dicts_that_do_not_belong_together_are_refused_with_the_key(name, mismatch):
    base, finetuned = random_states(0, 3)
    MISMATCHES[mismatch](base, finetuned[1])
    with pytest.raises(ValueError, match=KEY):
        merged(name, base, finetuned)


UNMERGEABLE = {  # key's tensor -> what has no mean, and what the message says of it
    "complex": (lambda t: t.to(torch.complex64), "torch.complex64.*view_as_real"),
    "quantised": (lambda t: torch.quantize_per_tensor(t, 0.1, 0, torch.qint8), r"torch.qint8.*\.dequantize\(\)"),
    "float8": (lambda t: t.to(torch.float8_e4m3fn), r"torch.float8_e4m3fn.*\.to\(torch.float32\)"),
    "sparse COO": (lambda t: t.to_sparse(), r"torch.sparse_coo.*\.to_dense\(\)"),
    "sparse CSR": (lambda t: t[None].to_sparse_csr(), r"torch.sparse_csr.*\.to_dense\(\)"),
    "meta": (lambda t: t.to("meta"), "meta.*no values"),
    "int8 weights": (lambda t: t.to(torch.int8), "torch.int8.*num_batches_tracked"),
    "a mask": (lambda t: t > 0, "torch.bool.*num_batches_tracked"),
    "a number": (lambda t: 0.5, "is a float, not a tensor"),
    "numpy": (lambda t: t.numpy(), "is a ndarray, not a tensor.*torch.from_numpy"),
    "nothing": (lambda t: None, "is a NoneType, not a tensor"),
}
IN_FILES = ["complex", "float8", "int8 weights", "a mask"]  # safetensors holds no others


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor", "ignore:Sparse CSR", "ignore:Sparse invariant")
@pytest.mark.parametrize("kind", UNMERGEABLE)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.fault("weights", "Weights are complex, quantised, float8, sparse, without values, or no tensors",
                   answers="Every method names the key and says what to do")
def test_what_cannot_be_merged_is_refused_with_the_key_and_what_to_do(name, kind):
    """Once the result was the base's tensor, or an error from deep inside torch."""
    changed, says = UNMERGEABLE[kind]
    base, finetuned = random_states(0, 2)
    states = [{**state, KEY: changed(state[KEY])} for state in (base, *finetuned)]
    with pytest.raises(ValueError, match=f"'{KEY}' of state dict 1 .*{says}"):
        merged(name, states[0], states[1:])
    with pytest.raises(ValueError, match=f"'{KEY}' of state dict 3 .*{says}"):
        merged(name, base, [finetuned[0], states[2]])


@pytest.mark.parametrize("kind", IN_FILES)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.fault("weights", "The same weights come from files",
                   answers="Every method names the key and says what to do")
def test_what_cannot_be_merged_is_refused_from_files_too(name, kind, tmp_path):
    changed, says = UNMERGEABLE[kind]
    base, finetuned = random_states(0, 2)
    for number, state in enumerate((base, *finetuned)):
        save_file({**state, KEY: changed(state[KEY])}, tmp_path / f"{number}.safetensors")
    files = [StateFile(tmp_path / f"{number}.safetensors") for number in range(3)]
    with pytest.raises(ValueError, match=f"'{KEY}' of state dict 1 .*{says}"):
        merged(name, files[0], files[1:])


@pytest.mark.parametrize("name", METHODS)
def test_a_checkpoint_around_the_state_dict_is_refused_with_its_inner_key(name):
    base, finetuned = random_states(0, 2)
    around = [{"epoch": 3, "state_dict": state} for state in (base, *finetuned)]
    for states in (around, [base, around[1], around[2]]):
        with pytest.raises(ValueError, match=r"its inner dict, checkpoint\['state_dict'\]"):
            merged(name, states[0], states[1:])


@pytest.mark.parametrize("kind", ["empty", "only a counter"])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.fault("weights", "A state dict is empty, or holds a counter alone", answers="Every method refuses it")
def test_state_dicts_without_weights_are_refused(name, kind):
    state = {} if kind == "empty" else with_counter({}, 3)
    with pytest.raises(ValueError, match="state dict 1 holds no weights"):
        merged(name, state, [state, state])


def with_scale(name, value):
    """The λ of a method, under the name that it has there."""
    known = {parameter.name for parameter in METHODS[name].parameters}
    if "start" in known:
        return {"start": value, "steps": 0, "clamp": False}
    return {"scale": value} if "scale" in known else {}


def of_value(value, dtype):
    """A state dict with one tensor that is of that size and one that is not."""
    return {"fine": torch.eye(3, dtype=dtype), "weight": value * torch.ones(3, 4, dtype=dtype).tril()}


@pytest.mark.parametrize("dtype", FLOATS[1:])
@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("slerp", "fisher")])  # no difference, no sum
@pytest.mark.fault("weights", "The merged weights are larger than their dtype holds",
                   answers="The key is named, and nothing infinite is returned")
def test_a_result_that_does_not_fit_its_dtype_is_refused_with_the_key(name, dtype):
    """Task vectors of twice the largest number, and a sum of models that is."""
    large = 0.9 * torch.finfo(dtype).max
    base, finetuned = of_value(-large, dtype), [of_value(large, dtype)] * 2
    advice = "smaller scale" if dtype == torch.float64 else r"\.to\(torch.float64\)"
    with pytest.raises(ValueError, match=f"'weight' overflows.* does not fit torch.b?float.*{advice}"):
        merged(name, base, finetuned)


# what these give lies between what they are given
BETWEEN = ("average", "model_stock", "fisher", "regmean", "adamerging", "adamerging_cart")


@pytest.mark.parametrize("name", [name for name in METHODS if name not in BETWEEN])
def test_half_precision_weights_are_refused_only_where_the_result_does_not_fit(name):
    """It is computed in float32, but what is stored is half precision too."""
    base, finetuned = random_states(0, 3)
    states = [{key: (60_000 * tensor.sign()).half() for key, tensor in state.items()} for state in (base, *finetuned)]
    options = with_scale(name, 3.0)
    with pytest.raises(ValueError, match=r"'[a-z]+' overflows.* does not fit torch.float16.*\.to\(torch.float32\)"):
        models(merged(name, states[0], states[1:], **options))
    single = [{key: tensor.float() for key, tensor in state.items()} for state in states]
    for state in models(merged(name, single[0], single[1:], **options)):
        assert all(tensor.isfinite().all() for tensor in state.values())


SIZES = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 1.0]), min_size=4, max_size=4)  # in units of the largest number


@given(to_merge(max_tasks=3), st.sampled_from(list(METHODS)), st.sampled_from(FLOATS), SIZES)
def test_no_result_holds_an_infinity_however_large_the_weights_are(states, name, dtype, sizes):
    base, finetuned = states
    largest = torch.finfo(dtype).max
    base, *finetuned = ({key: (tensor.clamp(-1, 1) * size * largest).to(dtype) for key, tensor in state.items()}
                        for state, size in zip((base, *finetuned), sizes))
    try:
        results = models(merged(name, base, finetuned))
    except ValueError as error:
        assert re.search("'key [0-2]' overflows|entropy is nan after 0 steps", str(error))
    else:
        assert all(tensor.isfinite().all() for result in results for tensor in result.values())


@pytest.mark.parametrize("name, parameters", [("emr", {}), ("emr", {"on_tie": "majority"}), ("ties", {"density": 1.0}),
                                              ("ties", {"density": 1.0, "on_tie": "majority"}),
                                              ("dare", {"drop_rate": 0.0, "agree": "elected sum"})])
def test_a_sum_that_does_not_fit_elects_no_sign(name, parameters):
    """The sum is -1e38, but its first two terms are infinite: it would elect + and the largest entry, which does fit.
    """
    with pytest.raises(ValueError, match="'weight' overflows"):
        merge(name, *of_vectors([3e38], [3e38], [-3e38], [-3e38], [-1e38]), **parameters)


@pytest.mark.parametrize("name", ["tall_masks", "consensus"])
def test_a_distance_that_does_not_fit_is_compared_all_the_same(name):
    """|τ_1| = 2e38 is more than 0.3 · |τ_MTL − τ_1| = 1.5e38, though the distance, 5e38, is beyond float32."""
    parameters = {"mask_strength": 0.3} | ({"scale": 1.0, "min_votes": 3} if name == "consensus" else {})
    base, finetuned = of_vectors([2e38, 1.0], [-2.5e38, 1.0], [-2.5e38, 0.0])
    wide = [{key: tensor.double() for key, tensor in state.items()} for state in (base, *finetuned)]
    expected = models(merge(name, wide[0], wide[1:], **parameters))
    for state, precise in zip(models(merge(name, base, finetuned, **parameters)), expected):
        assert_close(state, precise)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", [name for name in METHODS if with_scale(name, 1.0)])
def test_a_scale_that_is_too_large_is_refused_with_the_key(name, dtype):
    base, finetuned = random_states(0, 3, dtype=dtype)
    finetuned = [weights.scale(state, 100) for state in finetuned]
    with pytest.raises(ValueError, match="'[a-z]+' overflows.*smaller scale"):
        models(merge(name, base, finetuned, **{**needed(name, finetuned), **with_scale(name, 1e308)}))


@pytest.mark.parametrize("decomposition", ["auto", "gram", "svd"])
@pytest.mark.parametrize("name", ["cart", "cart_indexing", "isotropic", "tsv"])
@pytest.mark.fault("weights", "Weights are so large that their squares overflow",
                   answers="They are decomposed or refused with the key")
def test_weights_without_squares_are_decomposed_or_refused(name, decomposition):
    base, finetuned = random_states(0, 2, dtype=torch.float64)
    huge = [{key: 1e200 * tensor for key, tensor in state.items()} for state in (base, *finetuned)]
    if name == "tsv":
        with pytest.raises(ValueError, match="'conv' overflows"):
            merge(name, huge[0], huge[1:], decomposition=decomposition)
    else:
        results = models(merge(name, huge[0], huge[1:], decomposition=decomposition))
        plain = models(merge(name, base, finetuned, decomposition=decomposition))
        for state, expected in zip(results, plain):
            assert_close({key: tensor / 1e200 for key, tensor in state.items()}, expected)


def test_large_finite_weights_are_no_infinity():
    state = {"weight": torch.full((3, 3), 3e38)}  # their sum overflows
    assert_equal(merge("task_arithmetic", state, [state]), state)


@pytest.mark.parametrize("finetuned, message", [
    ([], "at least one"), ({"weight": torch.zeros(2)}, "list of state dicts"), ("weights", "list of state dicts"),
    (None, "list of state dicts"), ([MLP((2, 2))], r"state_dict\(\)"), ([[torch.zeros(2)]], "dict of tensors")])
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.fault("weights", "Something else than a list of state dicts is given",
                   answers="An error says what is expected")
def test_what_is_no_list_of_state_dicts_is_refused(name, finetuned, message):
    with pytest.raises(ValueError, match=message):
        METHODS[name].function({"weight": torch.zeros(2)}, finetuned, **needed(name, [0]))


WRONG = {float: [math.nan, math.inf, -math.inf, "0.5", None, True, torch.tensor(0.5)],
         int: [1.5, math.nan, "1", None, True], bool: [0, "yes", None]}
CASES = [(name, parameter) for name, method in METHODS.items() for parameter in method.parameters
         if parameter.kind is not object]


@pytest.mark.parametrize("name, parameter", CASES, ids=[f"{name} {parameter.name}" for name, parameter in CASES])
def test_every_parameter_has_a_range_and_says_it(name, parameter):
    base, finetuned = random_states(0, 2)
    ends = [end for end in (parameter.range.low, parameter.range.high) if math.isfinite(end)]
    outside = [end + step for end, step in ((parameter.range.low, -1e-6), (parameter.range.high, 1e-6))
               if math.isfinite(end)]
    if parameter.kind is int:
        outside = [round(end + step) for end, step in zip(ends, (-1, 1))]

    def with_value(value):
        return merge(name, base, finetuned, **{**needed(name, finetuned), parameter.name: value})

    for value in [*WRONG.get(parameter.kind, ["no such word", None, 1, ""]), *outside]:
        with pytest.raises(ValueError, match=f"^{parameter.name} must be") as caught:
            with_value(value)
        assert all(choice in str(caught.value) for choice in parameter.choices)
    for value in [*parameter.choices, *(int(end) if parameter.kind is int else end for end in ends)]:
        for state in models(with_value(value)):
            assert all(tensor.isfinite().all() for tensor in state.values())


def test_what_is_unknown_is_named_with_what_there_is():
    base, finetuned = random_states(0, 2)
    with pytest.raises(ValueError, match=f"'tie'.*{', '.join(METHODS)}"):
        merge("tie", base, finetuned)
    with pytest.raises(ValueError, match="ties has no parameter 'sparsity'; it has scale, density"):
        merge("ties", base, finetuned, sparsity=0.5)
    with pytest.raises(ValueError, match="average has no parameter 'scale'; it has none"):
        merge("average", base, finetuned, scale=1)
    with pytest.raises(ValueError, match="adamerging needs forward and batches"):
        merge("adamerging", base, finetuned)


@pytest.mark.parametrize("name", FROM_WEIGHTS)
def test_state_dicts_may_stay_in_files(name, tmp_path):
    base, finetuned = random_states(0, 2)
    states = [with_counter(state, 3) for state in (base, *finetuned)]
    for number, state in enumerate(states):
        save_file(state, tmp_path / f"{number}.safetensors")
    files = [StateFile(tmp_path / f"{number}.safetensors") for number in range(3)]
    expected = merge(name, states[0], states[1:])
    result = merge(name, files[0], files[1:])
    assert_equal({key: result[key] for key in expected}, expected)
    assert "no such key" not in files[0] and len(files[0]) == len(states[0])


@pytest.mark.parametrize("size", [0, 100])
def test_a_file_that_is_cut_short_is_an_error_and_not_the_end_of_the_process(size, tmp_path):
    path = tmp_path / "0.safetensors"
    save_file({"a": torch.ones(512, 512)}, path)
    states = StateFile(path)
    held = states["a"]
    os.truncate(path, size)
    with pytest.raises(ValueError, match="0.safetensors has changed since it was opened"):
        states["a"]
    assert held.sum() == 512 * 512  # it is no part of the file


# -- the ends of the ranges, where methods meet ------------------------------------------------------------------------

TASK_ARITHMETIC = {
    "TIES that trims and elects nothing": ("ties", {"density": 1, "agree": "sum"}),
    "DARE that drops nothing": ("dare", {"drop_rate": 0}),
    "DELLA that drops and elects nothing": ("della", {"drop_rate": 0, "spread": 0, "agree": "sum"}),
    "Breadcrumbs of all": ("breadcrumbs", {"density": 1}), "Consensus without votes": ("consensus", {"min_votes": 0}),
}


@pytest.mark.parametrize("case", TASK_ARITHMETIC)
def test_at_one_end_of_their_ranges_the_methods_are_task_arithmetic(case):
    base, finetuned = random_states(0, 3)
    name, parameters = TASK_ARITHMETIC[case]
    expected = merge("task_arithmetic", base, finetuned, scale=0.3)
    assert_close(merge(name, base, finetuned, scale=0.3, **parameters), expected)


@pytest.mark.parametrize("name, parameters", [
    ("ties", {"density": 0}), ("ties", {"density": 0, "count": "floor + 1"}),
    ("ties", {"density": 0, "count": "at least one"}), ("dare", {"drop_rate": 1}),
    ("della", {"drop_rate": 1, "spread": 0}), ("isotropic", {"scale": 0}), ("breadcrumbs", {"density": 0}),
    ("consensus", {"min_votes": 4}), ("task_arithmetic", {"scale": 0}),
    ("ties", {"scale": 0}), ("tsv", {"scale": 0})])
def test_at_the_other_end_they_leave_the_base(name, parameters):
    base, finetuned = random_states(0, 3)
    assert_equal(merge(name, base, finetuned, **parameters), base)


def test_task_arithmetic_with_a_scale_of_1_over_the_number_of_tasks_is_the_average():
    base, finetuned = random_states(0, 4)
    assert_close(merge("task_arithmetic", base, finetuned, scale=0.25), merge("average", base, finetuned))


@pytest.mark.parametrize("name, parameters", [
    ("task_arithmetic", {"scale": 1}), ("ties", {"density": 1}), ("tsv", {}), ("cart", {}), ("average", {}),
    ("emr", {}), ("tall_masks", {}), ("model_stock", {}), ("della", {"drop_rate": 0, "spread": 0}),
    ("cart_indexing", {"rank_ratio": 0})])
def test_merging_one_model_can_give_it_back(name, parameters):
    base, finetuned = random_states(0, 1, dtype=torch.float64)
    assert_close(models(merge(name, base, finetuned, **parameters))[0], finetuned[0], rtol=1e-9, atol=1e-9)


# -- what to drop, and how to agree ------------------------------------------------------------------------------------

def of_vectors(*vectors):
    """A base of zeros and finetuned models that are these task vectors."""
    finetuned = [{"weight": torch.tensor(vector, dtype=torch.float32)} for vector in vectors]
    return {"weight": torch.zeros(len(vectors[0]))}, finetuned


def entries_of(name, *vectors, **parameters):
    return merge(name, *of_vectors(*vectors), **parameters)["weight"].tolist()


def test_exact_ties_follow_the_rule_that_is_asked_for():
    """The formula's sgn(0) leaves 0; the paper's code lets the majority over all entries decide; mergekit says
    positive, EMR's code negative.
    """
    vectors = [1.0, 5.0, 3.0], [-1.0, 5.0, 3.0]
    for on_tie, expected in {"zero": 0.0, "majority": 1.0, "positive": 1.0, "negative": -1.0}.items():
        assert entries_of("ties", *vectors, density=1, on_tie=on_tie) == [expected, 5.0, 3.0]
    assert entries_of("ties", [1.0, -5.0, -3.0], [-1.0, -5.0, -3.0], density=1, on_tie="majority") == [-1.0, -5.0, -3.0]
    no_majority = [1.0, 2.0, -3.0], [-1.0, 2.0, -3.0]
    assert entries_of("ties", *no_majority, density=1, on_tie="majority") == [-1.0, 2.0, -3.0]


@given(to_merge(exact=True), shares)
def test_without_a_preferred_sign_ties_of_mirrored_vectors_is_mirrored(states, density):
    base, finetuned = states
    zero = weights.scale(base, 0)
    vectors = [weights.subtract(state, base) for state in finetuned]
    assert_close(merge("ties", zero, [weights.scale(vector, -1) for vector in vectors], density=density),
                 weights.scale(merge("ties", zero, vectors, density=density), -1))


def test_entries_that_were_trimmed_away_do_not_count_in_the_mean():
    assert entries_of("ties", [4.0, 1.0, 0.0, 0.0], [2.0, 5.0, 0.0, 0.0], density=0.25) == [4.0, 5.0, 0.0, 0.0]


def test_trimming_globally_and_per_tensor_differ():
    base = {"small": torch.zeros(2), "large": torch.zeros(2)}
    finetuned = [{"small": torch.tensor([1.0, 2.0]), "large": torch.tensor([3.0, 4.0])}]
    assert merge("ties", base, finetuned, density=0.5)["small"].tolist() == [0, 0]
    assert merge("ties", base, finetuned, density=0.5, trim="tensor")["small"].tolist() == [0, 2]


def test_a_share_keeps_as_many_entries_as_it_says():
    vector = [float(i) for i in range(1, 101)]
    for density, kept in {0.2: 20, 0.29: 29, 0.005: 0, 0.01: 1, 1.0: 100}.items():  # 0.29 · 100 is 28.999999999999996
        assert sum(value != 0 for value in entries_of("ties", vector, density=density)) == kept
        one_more = entries_of("ties", vector, density=density, count="floor + 1")
        assert sum(value != 0 for value in one_more) == min(kept + 1, 100)
        some = entries_of("ties", vector, density=density, count="at least one")
        assert sum(value != 0 for value in some) == max(kept, 1)


def test_entries_of_equal_magnitude_stay_or_go_together():
    assert entries_of("ties", [1.0, -1.0, 0.5, 1.0], density=0.25) == [1.0, -1.0, 0.0, 1.0]


def test_breadcrumbs_leave_out_the_largest_and_the_smallest():
    vector = [float(i) for i in range(1, 11)]
    assert entries_of("breadcrumbs", vector, scale=1, density=0.5, outliers=0.2) == [0, 0, 0, 4, 5, 6, 7, 8, 0, 0]
    # density goes before outliers
    assert entries_of("breadcrumbs", vector, scale=1, density=0.9, outliers=0.2) == [*vector[:9], 0]


def test_dare_keeps_the_expectation():
    base, finetuned = of_vectors([1.0] * 20_000)
    for drop_rate in (0.1, 0.5, 0.9):
        kept = merge("dare", base, finetuned, scale=1, drop_rate=drop_rate)["weight"]
        share = (kept != 0).double().mean().item()
        assert share == pytest.approx(1 - drop_rate, abs=5 * math.sqrt(drop_rate * (1 - drop_rate) / 20_000))
        assert kept.unique().tolist() == pytest.approx([0, 1 / (1 - drop_rate)])


def test_della_keeps_large_entries_more_often_and_the_expectation():
    base, finetuned = of_vectors(torch.linspace(1, 2, 2000).tolist())
    kept = torch.stack([merge("della", base, finetuned, drop_rate=0.5, spread=0.8, seed=seed, agree="sum")["weight"]
                        for seed in range(200)])
    share = (kept != 0).double().mean(0)
    largest, smallest = share[-200:].mean().item(), share[:200].mean().item()
    assert largest == pytest.approx(0.86, abs=0.01) and smallest == pytest.approx(0.14, abs=0.01)
    for part in (slice(0, 200), slice(900, 1100), slice(1800, 2000)):
        before = finetuned[0]["weight"][part].mean().item()
        assert kept.mean(0)[part].mean().item() == pytest.approx(before, rel=0.05)


def test_slerp_goes_along_the_arc_at_even_pace():
    base, finetuned = of_vectors([3.0, 0.0], [0.0, 3.0])
    for alpha in (0.0, 0.25, 0.5, 1.0):
        x, y = merge("slerp", base, finetuned, alpha=alpha)["weight"].tolist()
        assert math.hypot(x, y) == pytest.approx(3) and math.atan2(y, x) == pytest.approx(alpha * math.pi / 2)


@pytest.mark.parametrize("vectors", [([1.0, 2.0], [2.0, 4.0]), ([1.0, 2.0], [-1.0, -2.0]), ([0.0, 0.0], [1.0, 2.0])])
def test_slerp_of_parallel_models_is_the_line(vectors):
    base, finetuned = of_vectors(*vectors)
    expected = [0.75 * a + 0.25 * b for a, b in zip(*vectors)]
    assert merge("slerp", base, finetuned, alpha=0.25)["weight"].tolist() == pytest.approx(expected)


def test_a_method_of_two_models_refuses_another_number():
    base, finetuned = random_states(0, 3)
    for some in (finetuned, finetuned[:1]):
        with pytest.raises(ValueError, match=f"slerp merges 2 finetuned models, not {len(some)}"):
            merge("slerp", base, some)


@pytest.mark.parametrize("vectors, expected", [
    (([2.0, 0.0], [2.0, 0.0]), [2.0, 0.0]),            # they agree: the average
    (([2.0, 0.0], [0.0, 2.0]), [0.0, 0.0]),            # they have nothing in common: θ₀
    (([2.0, 0.0], [-2.0, 0.1]), [0.0, 0.0]),           # they disagree: θ₀ too
    (([1.0, 1.0], [1.0, 0.0]), [2 / (1 + 0.5 ** 0.5) * 0.5 ** 0.5, 0.5 ** 0.5 / (1 + 0.5 ** 0.5)])])
def test_model_stock_goes_as_far_as_the_task_vectors_agree(vectors, expected):
    assert merge("model_stock", *of_vectors(*vectors))["weight"].tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("decomposition", ["auto", "gram", "svd"])
def test_the_directions_of_isotropic_merging_are_those_of_the_sum(decomposition):
    """Singular values 3, 1 and 0 become 4/3, 4/3 and 0."""
    left, right = (naive_polar(random_states(seed, 0, {"q": (3, 3)})[0]["q"].double()) for seed in (0, 1))
    total = left @ torch.diag(torch.tensor([3.0, 1.0, 0.0], dtype=torch.float64)) @ right
    base = {"weight": torch.zeros(3, 3, dtype=torch.float64)}
    result = merge("isotropic", base, [{"weight": 0.25 * total}, {"weight": 0.75 * total}], decomposition=decomposition)
    assert torch.linalg.svdvals(result["weight"]).tolist() == pytest.approx([4 / 3, 4 / 3, 0], abs=1e-6)
    expected = left @ torch.diag(torch.tensor([4 / 3, 4 / 3, 0.0], dtype=torch.float64)) @ right
    assert_close(result, {"weight": expected}, atol=1e-6)


def test_dare_draws_by_seed_key_and_task():
    base = {key: torch.zeros(200) for key in "ab"}
    finetuned = [{key: torch.ones(200) for key in "ab"} for _ in range(3)]

    def kept(seed, drop_rate=0.5, states=finetuned):
        return [merge("dare", base, states[:1], scale=1, seed=seed, drop_rate=drop_rate)[key] != 0 for key in "ab"]

    assert torch.equal(kept(0)[0], kept(0)[0])
    assert not torch.equal(kept(0)[0], kept(1)[0]) and not torch.equal(kept(0)[0], kept(2**31 - 1)[0])
    assert not torch.equal(*kept(0))
    assert not (kept(0, 0.7)[0] & ~kept(0, 0.5)[0]).any()  # a higher rate drops more of the same
    drops = sparse.random(0.5, "none", 0)
    # a further task changes nothing for the others
    assert torch.equal(drops("a", torch.ones(3, 200))[:2], drops("a", torch.ones(2, 200)))
    assert not torch.equal(*drops("a", torch.ones(2, 200)))


# -- masks -------------------------------------------------------------------------------------------------------------

def test_consensus_drops_catastrophic_and_selfish_weights():
    """With three tasks and strength 0.9, entry 0 matters to the first alone, entry 1, where all agree, to none, and
    entry 2 to two.
    """
    vectors = [1.0, 1.0, 1.0], [0.1, 1.0, 1.0], [0.1, 1.0, -1.0]
    for min_votes, expected in enumerate([[1.2, 3, 1], [1.2, 0, 1], [0, 0, 1], [0, 0, 0]]):
        found = entries_of("consensus", *vectors, scale=1, mask_strength=0.9, min_votes=min_votes)
        assert found == pytest.approx(expected)


@pytest.mark.parametrize("tasks, strength, matters", [(3, 0.4, True), (4, 0.4, False), (5, 0.2, True), (7, 0.2, False)])
def test_an_entry_that_all_change_alike_matters_to_none_once_they_are_many(tasks, strength, matters):
    assert entries_of("consensus", *[[1.0]] * tasks, scale=1, mask_strength=strength) == [tasks if matters else 0]


def test_emr_rescales_by_the_magnitude_that_is_left():
    base, finetuned = of_vectors([1.0, 2.0, -1.0], [3.0, -1.0, -1.0])
    stored = merge("emr", base, finetuned)
    assert stored.shared["vector"]["weight"].tolist() == [3, 2, -1]
    assert stored.model(0)["weight"].tolist() == pytest.approx([4 / 6 * value for value in (3, 2, -1)])
    assert stored.model(1)["weight"].tolist() == pytest.approx([5 / 4 * value for value in (3, 0, -1)])


def test_emr_sums_over_all_entries_or_over_tensor_means():
    base = {"weight": torch.zeros(4), "bias": torch.zeros(1)}
    finetuned = [{"weight": torch.ones(4), "bias": torch.ones(1)},
                 {"weight": torch.full((4,), 2.0), "bias": -torch.ones(1)}]
    assert merge("emr", base, finetuned).extras[0]["λ"].item() == pytest.approx(5 / 8)
    assert merge("emr", base, finetuned, rescale="tensor").extras[0]["λ"].item() == pytest.approx(2 / 2)


@pytest.mark.parametrize("name", ["tall_masks", "emr"])
def test_masks_are_stored_as_one_bit_a_weight(name):
    base, finetuned = random_states(0, 3, {"weight": (40, 30), "bias": (7,)})
    stored = merge(name, base, finetuned)
    assert stored.task_bytes(0) == 150 + 1 + (4 if name == "emr" else 0)
    assert stored.shared_bytes() == 2 * 4 * 1207 and len(stored) == 3


@given(array_shapes(min_dims=0, max_dims=3, max_side=9, min_side=0), st.integers(0, 1000))
def test_unpack_undoes_pack(shape, seed):
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    assert torch.equal(storage.unpack(storage.pack(mask), mask.shape), mask)


@pytest.mark.parametrize("task", [-1, 3, 1.0, "0", None, True])
def test_a_task_that_is_not_there_is_refused(task):
    with pytest.raises(ValueError, match="from 0 to 2"):
        merge("emr", *random_states(0, 3)).model(task)


# -- low rank ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("scale", [-3.0, 0.0, 1.0, 2.0, 10.0])
@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_cart_1_at_rank_zero_and_at_full_rank_it_is_the_average(ratio, scale, dtype):
    for tasks in (1, 2, 5):
        base, finetuned = random_states(tasks, tasks, dtype=dtype)
        tolerance = (1 + abs(scale)) * 5 * torch.finfo(dtype).eps
        for rounding in ("ceil", "floor"):
            result = merge("cart", base, finetuned, scale=scale, rank_ratio=ratio, rounding=rounding)
            assert_close(result, merge("average", base, finetuned), rtol=tolerance, atol=tolerance)


def test_cart_between_the_ends_is_not_the_average():
    base, finetuned = random_states(0, 3)
    result = merge("cart", base, finetuned, rank_ratio=0.3)["weight"]
    assert (result - merge("average", base, finetuned)["weight"]).abs().max() > 0.05


def test_cart_truncates_by_dimensions_not_by_names():
    """In the released code no name of an MLP or a CNN matches, and CART is the average."""
    torch.manual_seed(0)
    base, finetuned = MLP((6, 5, 4)).state_dict(), [MLP((6, 5, 4)).state_dict() for _ in range(3)]
    result, average = merge("cart", base, finetuned, rank_ratio=0.3), merge("average", base, finetuned)
    changed = {key for key in base if not torch.allclose(result[key], average[key], atol=1e-6)}
    assert changed == {"layers.0.weight", "layers.1.weight"}


@pytest.mark.parametrize("name", ["cart", "tsv"])
def test_convolutions_are_flattened_or_averaged(name):
    base, finetuned = random_states(0, 3)
    flat_base, *flat = ({"conv": state["conv"].flatten(1)} for state in (base, *finetuned))
    assert_close({"conv": merge(name, base, finetuned)["conv"].flatten(1)}, merge(name, flat_base, flat))
    result = merge(name, base, finetuned, convolutions="average")["conv"]
    assert_close({"conv": result}, {"conv": merge("average", base, finetuned)["conv"]})


@pytest.mark.parametrize("ratio, full, ceil, floor", [
    (0.0, 100, 0, 0), (1.0, 100, 100, 100), (0.07, 100, 7, 7), (0.29, 100, 29, 29), (0.08, 10, 1, 1), (0.08, 100, 8, 8),
    (0.12, 20, 3, 2), (1e-4, 10, 1, 1), (0.999, 3, 3, 2), (0.5, 1, 1, 1), (1e-12, 100, 1, 1)])
def test_ranks_are_rounded_as_the_paper_or_its_code_do(ratio, full, ceil, floor):
    assert lowrank.rank_of(ratio, full, "ceil") == ceil and lowrank.rank_of(ratio, full, "floor") == floor


@pytest.mark.parametrize("shape", [(100, 784), (784, 100), (60, 60), (1, 30), (30, 1), (64, 576)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_the_gram_matrix_gives_what_a_full_decomposition_gives(shape, dtype):
    """A spectrum that falls over four orders of magnitude; what float32 weights need is an agreement to 1e-4."""
    generator = torch.Generator().manual_seed(0)
    u, _, v = torch.linalg.svd(torch.randn(shape, generator=generator, dtype=torch.float64), full_matrices=False)
    matrix = (u * torch.logspace(0, -4, min(shape), dtype=torch.float64) @ v).to(dtype)
    for rank in {1, max(1, min(shape) // 12), max(1, min(shape) // 3), min(shape)}:
        s = torch.linalg.svd(matrix.double(), full_matrices=False)
        expected = (s.U[:, :rank] * s.S[:rank]) @ s.Vh[:rank]
        for decomposition in ("gram", "svd", "auto"):
            left, right = lowrank.factors(matrix, rank, decomposition)
            assert left.shape == (shape[0], rank) and right.shape == (rank, shape[1])
            assert (left @ right - expected).norm() <= 1e-9 * expected.norm()
            # the largest first, as torch.linalg.svd has them
            values = right.norm(dim=1) if shape[0] <= shape[1] else left.norm(dim=0)
            torch.testing.assert_close(values, s.S[:rank], rtol=1e-4, atol=1e-9)


def test_a_matrix_of_low_rank_is_kept_whole_by_its_rank():
    matrix = torch.outer(torch.arange(1.0, 5), torch.arange(1.0, 7))
    for decomposition in ("gram", "svd"):
        torch.testing.assert_close(lowrank.low_rank(matrix, 1, decomposition), matrix.double())
        torch.testing.assert_close(lowrank.low_rank(matrix, 3, decomposition), matrix.double())


def test_tsv_of_orthogonal_tasks_adds_them():
    """Tasks that live in directions of their own do not disturb each other: TSV-M is task arithmetic with λ = 1."""
    base = {"weight": torch.zeros(4, 6)}
    finetuned = [{"weight": torch.zeros(4, 6)} for _ in range(2)]
    finetuned[0]["weight"][0, 0], finetuned[0]["weight"][1, 1] = 3, 2
    finetuned[1]["weight"][2, 2], finetuned[1]["weight"][3, 3] = 5, 1
    assert_close(merge("tsv", base, finetuned), merge("task_arithmetic", base, finetuned, scale=1))


def test_tsv_of_equal_tasks_is_one_of_them_truncated():
    base, (one,) = random_states(0, 1, {"weight": (6, 8)}, torch.float64)
    difference = one["weight"] - base["weight"]
    for tasks in (2, 3, 7):
        expected = base["weight"] + lowrank.low_rank(difference, max(1, 6 // tasks), "svd")
        assert_close(merge("tsv", base, [one] * tasks), {"weight": expected}, rtol=1e-7, atol=1e-7)


def test_tsv_keeps_one_direction_where_there_are_more_tasks_than_singular_values():
    base, finetuned = random_states(0, 5, {"weight": (3, 4)})
    assert (merge("tsv", base, finetuned)["weight"] - base["weight"]).abs().max() > 0.1


def test_a_task_that_left_a_matrix_alone_does_not_disturb_the_others():
    base, finetuned = random_states(0, 2, {"weight": (6, 8)}, torch.float64)
    expected = base["weight"] + lowrank.low_rank(finetuned[0]["weight"] - base["weight"], 3, "svd")
    assert_close(merge("tsv", base, [finetuned[0], base]), {"weight": expected}, rtol=1e-9, atol=1e-9)


def test_cart_indexing_restores_every_model_at_full_rank():
    base, finetuned = random_states(0, 3)
    stored = merge("cart_indexing", base, finetuned, rank_ratio=1)
    for task, state in enumerate(finetuned):
        assert_close(stored.model(task), state)


def test_cart_indexing_stores_factors_where_they_are_smaller():
    base, finetuned = random_states(0, 3, {"weight": (50, 40), "bias": (50,)})
    assert merge("cart_indexing", base, finetuned, rank_ratio=0.1, vectors="average").task_bytes(0) == 4 * 4 * (50 + 40)
    assert merge("cart_indexing", base, finetuned, rank_ratio=0.1).task_bytes(0) == 4 * 4 * (50 + 40) + 4 * 50
    assert merge("cart_indexing", base, finetuned, rank_ratio=0.9, vectors="average").task_bytes(0) == 4 * 50 * 40
    assert merge("cart_indexing", base, finetuned, rank_ratio=0, vectors="average").task_bytes(0) == 0
    assert merge("cart_indexing", base, finetuned).shared_bytes() == 4 * (50 * 40 + 50)


# -- AdaMerging --------------------------------------------------------------------------------------------------------

def adapting(tasks=3, dtype=torch.float64):
    torch.manual_seed(0)
    network = MLP((6, 8, 4)).to(dtype)
    base = copied([network.state_dict()])[0]
    finetuned = [{key: tensor + 0.5 * torch.randn_like(tensor) for key, tensor in base.items()} for _ in range(tasks)]
    batches = [[torch.randn(16, 6, dtype=dtype) for _ in range(2)] for _ in range(tasks)]
    forward = lambda state, x, task: torch.func.functional_call(network, state, (x,))
    return base, finetuned, {"forward": forward, "batches": batches}


def summed_entropy(state, inputs):
    return sum(adaptive.entropy(inputs["forward"](state, batch, task)).item()
               for task, of_task in enumerate(inputs["batches"]) for batch in of_task)


@pytest.mark.parametrize("name", ["adamerging", "adamerging_cart"])
@pytest.mark.parametrize("per", ["layer", "task"])
def test_adamerging_makes_the_predictions_more_certain(name, per):
    base, finetuned, inputs = adapting()
    options = {"per": per, "lr": 0.05, **inputs} | ({"rank_ratio": 0.3} if name == "adamerging_cart" else {})
    before, after = (summed_entropy(merge(name, base, finetuned, steps=steps, **options), inputs) for steps in (0, 30))
    assert after < before - 0.05


def test_without_steps_they_are_task_arithmetic_and_cart():
    base, finetuned, inputs = adapting()
    plain = merge("adamerging", base, finetuned, steps=0, start=0.4, **inputs)
    assert_close(plain, merge("task_arithmetic", base, finetuned, scale=0.4))
    centred = merge("adamerging_cart", base, finetuned, steps=0, start=1.7, rank_ratio=0.3, **inputs)
    assert_close(centred, merge("cart", base, finetuned, scale=1.7, rank_ratio=0.3))


@pytest.mark.parametrize("per", ["layer", "task"])
def test_the_first_step_goes_down_every_slope_of_the_entropy(per):
    """Adam's first step is lr in the direction −sgn(∂H/∂λ); the slopes here are differences of the entropy itself."""
    base, finetuned, inputs = adapting(2)
    vectors = {key: torch.stack([state[key] - base[key] for state in finetuned]) for key in base}
    forward, batches = inputs["forward"], inputs["batches"]
    scales, entropies = adaptive.adapted_scales(base, vectors, forward, batches, per, start=0.3, steps=1, lr=0.01,
                                                clamp=True)

    def first_batches(changed):
        start = torch.full((2,), 0.3, dtype=torch.float64)
        state = adaptive.combined(base, vectors, {key: start + change for key, change in changed.items()})
        return sum(adaptive.entropy(forward(state, batches[task][0], task)).item() for task in range(2))

    still = {key: torch.zeros(2, dtype=torch.float64) for key in base}
    assert entropies == pytest.approx([first_batches(still)])
    for key, task in itertools.product(base, range(2)):
        moved = {name: change.clone() for name, change in still.items()}
        for name in [key] if per == "layer" else base:
            moved[name][task] = 1e-5
        slope = (first_batches(moved) - first_batches(still)) / 1e-5
        assert scales[key][task].item() == pytest.approx(0.3 - math.copysign(0.01, slope), abs=1e-5)


def test_the_batches_are_gone_through_in_turn_and_then_from_the_first_again():
    base, finetuned, inputs = adapting(2)
    batches, seen = [["a", "b", "c"], ["d"]], []

    def forward(state, x, task):
        seen.append((task, x))
        return inputs["forward"](state, inputs["batches"][task][0], task)

    merge("adamerging", base, finetuned, forward=forward, batches=batches, steps=4)
    assert [x for task, x in seen if task == 0] == ["a", "b", "c", "a"]
    assert [x for task, x in seen if task == 1] == ["d"] * 4


def test_scales_stay_between_0_and_1_where_they_are_clamped():
    base, finetuned, inputs = adapting()
    vectors = {key: torch.stack([state[key] - base[key] for state in finetuned]) for key in base}
    for clamp in (True, False):
        scales, _ = adaptive.adapted_scales(base, vectors, inputs["forward"], inputs["batches"], "layer", 0.5, 20, 0.2,
                                            clamp)
        inside = all(((column >= 0) & (column <= 1)).all() for column in scales.values())
        assert inside == clamp


@pytest.mark.parametrize("training", [False, True])
def test_adamerging_takes_networks_with_batchnorm(training):
    torch.manual_seed(0)
    network = ResNet18(2, 3).train(training)
    base = copied([network.state_dict()])[0]
    def moved(tensor):
        return tensor + 0.05 * torch.rand_like(tensor) if tensor.is_floating_point() else tensor + 5

    finetuned = [{key: moved(tensor) for key, tensor in base.items()} for _ in range(2)]
    before = copied([base, *finetuned])
    result = merge("adamerging", base, finetuned, steps=2, lr=0.1, batches=[[torch.randn(4, 3, 8, 8)]] * 2,
                   forward=lambda state, x, task: torch.func.functional_call(network, state, (x,)))
    for state, expected in zip((base, *finetuned), before):
        assert_equal(state, expected)
    started = merge("task_arithmetic", base, finetuned, scale=0.3)
    # no gradient leads there
    assert_close({"running": result["stem.1.running_var"]}, {"running": started["stem.1.running_var"]})
    assert not torch.allclose(result["stem.0.weight"], started["stem.0.weight"])
    assert result["stem.1.num_batches_tracked"] == 0


@pytest.mark.parametrize("batches", [[], [[]], [[torch.zeros(2, 6)]], [[torch.zeros(2, 6)], []], None,
                                     torch.zeros(2, 1, 2, 6)])
def test_adamerging_needs_inputs_of_every_task(batches):
    base, finetuned, inputs = adapting(2)
    with pytest.raises(ValueError, match="batches must be 2 lists"):
        merge("adamerging", base, finetuned, **{**inputs, "batches": batches})


def test_adamerging_needs_a_function_and_finite_logits():
    base, finetuned, inputs = adapting(2)
    with pytest.raises(ValueError, match="forward must be a function"):
        merge("adamerging", base, finetuned, **{**inputs, "forward": 3})
    with pytest.raises(ValueError, match="entropy is nan after 0 steps"):
        infinite = lambda state, x, task: inputs["forward"](state, x, task) * math.inf
        merge("adamerging", base, finetuned, **{**inputs, "forward": infinite})


# -- defects of other libraries ----------------------------------------------------------------------------------------

# -- averages that weigh ----------------------------------------------------------------------------------------------

@given(to_merge(), st.sampled_from([0.0, 0.3]), st.integers(0, 100))
def test_fisher(states, floor, seed):
    base, finetuned = states
    generator = torch.Generator().manual_seed(seed)
    information = [{key: torch.randn(tensor.shape, generator=generator).double().clamp(min=0)
                    for key, tensor in base.items()} for _ in finetuned]
    expected = {}
    for key in base:
        weights_ = [[max(floor, value) for value in entries(of_model)[key]] for of_model in information]
        values = [entries(state)[key] for state in finetuned]
        expected[key] = [sum(w * v for w, v in zip(ws, vs)) / sum(ws) if sum(ws) else sum(vs) / len(vs)
                         for ws, vs in zip(zip(*weights_), zip(*values))]
    assert_close(merge("fisher", base, finetuned, information=information, floor=floor), naive_state(base, expected))


def test_regmean_comes_nearest_to_all_outputs():
    base, finetuned = random_states(0, 3, {"weight": (4, 5), "bias": (4,)}, torch.float64)
    inputs = [random_states(seed, 0, {"x": (20, 5)}, torch.float64)[0]["x"] for seed in range(3)]
    products = [{"weight": x.T @ x} for x in inputs]
    merged_ = merge("regmean", base, finetuned, products=products, off_diagonal=1)
    wanted = torch.cat([x @ state["weight"].T for x, state in zip(inputs, finetuned)])
    nearest = torch.linalg.lstsq(torch.cat(inputs), wanted).solution.T
    assert_close(merged_, {"weight": nearest, "bias": naive_average(finetuned)["bias"]})
    alone = merge("regmean", base, finetuned, products=products, off_diagonal=0)["weight"]
    chances = torch.stack([product["weight"].diagonal() for product in products])
    expected = sum(w * state["weight"] for w, state in zip(chances / chances.sum(0), finetuned))
    torch.testing.assert_close(alone, expected)


@pytest.mark.parametrize("off_diagonal", [0.0, 0.9, 1.0])
def test_regmean_averages_what_no_input_reads(off_diagonal):
    """As the pixels at MNIST's edge, which are black in every image."""
    base, finetuned = random_states(0, 2, {"weight": (4, 5)}, torch.float64)
    x = random_states(1, 0, {"x": (20, 5)}, torch.float64)[0]["x"] * torch.tensor([1, 1, 1, 0, 0])
    result = merge("regmean", base, finetuned, products=[{"weight": x.T @ x}] * 2, off_diagonal=off_diagonal)
    assert_close(result, naive_average(finetuned))


def test_information_and_products_are_those_of_the_inputs():
    network, x = MLP((6, 5, 4)).double(), torch.rand(7, 6, dtype=torch.float64)
    found = weighted.fisher_information(network, x)
    assert found.keys() == network.state_dict().keys()
    expected = {key: torch.zeros_like(tensor) for key, tensor in found.items()}
    for sample in x:
        for column in range(4):
            score = network(sample[None]).log_softmax(1)[0, column]
            slopes = torch.autograd.grad(score, list(network.parameters()))
            for key, slope in zip(expected, slopes):
                expected[key] += score.exp().detach() * slope.square() / len(x)
    assert_close(found, expected)
    products = weighted.input_products(network, x)
    hidden = network.features(x)["layer 1"]
    assert_close(products, {"layers.0.weight": x.T @ x / 7, "layers.1.weight": hidden.T @ hidden / 7})
    assert not any(tensor.requires_grad for made in (found, products) for tensor in made.values())
    with pytest.raises(ValueError, match="every weight must belong to a linear layer, and 'stem.0.weight' does not"):
        weighted.input_products(ResNet18(2, 3), torch.rand(2, 3, 8, 8))


@pytest.mark.parametrize("name, given_, says", [
    ("fisher", [{}], "information must be 2 dicts of tensors"), ("fisher", 3, "information must be 2 dicts"),
    ("fisher", [{"bias": torch.ones(5)}, {}], "model 2 has other keys"),
    ("fisher", [{"bias": torch.ones(4)}] * 2, r"'bias': it must have the shape \(5,\), and it has \(4,\)"),
    ("fisher", [{"bias": -torch.ones(5)}] * 2, "'bias': it must be finite and at least 0"),
    ("fisher", [{"other": torch.ones(5)}] * 2, "'other', which is no weight of the models"),
    ("regmean", [{"weight": torch.ones(5, 5)}] * 2, r"'weight': it must have the shape \(4, 4\), and it has \(5, 5\)"),
    ("regmean", [{"bias": torch.ones(5, 5)}] * 2, "'bias': it is of no matrix"),
    ("regmean", [{"weight": math.nan * torch.ones(4, 4)}] * 2, "'weight': it must be finite")])
def test_what_the_inputs_say_must_fit_the_models(name, given_, says):
    base, finetuned = random_states(0, 2)
    with pytest.raises(ValueError, match=says):
        merge(name, base, finetuned, **{"information" if name == "fisher" else "products": given_})


def test_merging_twice_gives_the_same_twice():
    """Elsewhere the average or task arithmetic overwrites the models that it is given."""
    base, finetuned = random_states(0, 3)
    for name in METHODS:
        for first, second in zip(models(merged(name, base, finetuned)), models(merged(name, base, finetuned))):
            assert_equal(first, second)


def test_batchnorm_networks_can_be_averaged():
    """Elsewhere num_batches_tracked, a whole number, has no mean and raises."""
    states = [ResNet18(2, 3).state_dict() for _ in range(3)]
    assert merge("average", states[0], states[1:])["stem.1.num_batches_tracked"] == 0


def test_a_counter_has_no_say_in_what_is_trimmed():
    """Elsewhere integer buffers are flattened into the votes of TIES, where a counter of 10,000 takes the place of a
    weight.
    """
    base, finetuned = of_vectors([1.0, 2.0, 3.0, 4.0])
    counted = (with_counter(base, [0, 0]), [with_counter(finetuned[0], [10_000, 10_000])])
    result = merge("ties", *counted, density=0.5)["weight"]
    assert torch.equal(result, merge("ties", base, finetuned, density=0.5)["weight"])


@pytest.mark.parametrize("density", [0, 0.0, 1, 1.0])
def test_whole_numbers_and_ends_are_densities(density):
    """Elsewhere density 0 and density 1 crash, and 1 may be read as one per cent."""
    base, finetuned = random_states(0, 2)
    expected = merge("task_arithmetic", base, finetuned, scale=1) if density else base
    assert_equal(ties(base, finetuned, density=density, agree="sum", scale=1), expected)
