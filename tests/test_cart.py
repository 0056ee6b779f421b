"""The mathematics of chapter 8: CART's identities, interference in both readings, Theorem 2, planes and costs."""
import math

import pytest
import torch

from lessons.cart.algorithms import costs, interference, parts, planted, spectra, theorem
from lessons.cart.algorithms.plane import Plane
from lessons.cart.algorithms.spectra import Spectra
from lessons.merging import cart, lowrank, task_arithmetic
from toy_models import weights

RANKS = (0.0, 0.1, 0.34, 0.5, 1.0)
SHAPES = {"wide": (6, 11), "tall": (9, 4), "conv": (5, 2, 3, 3), "bias": (6,)}


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def drawn(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def states(count, seed=0, dtype=torch.float64):
    """θ₀ and `count` finetuned state dicts: a wide and a tall matrix, a convolution, a bias and a counter."""
    generator = seeded(seed)

    def draw(scale=1.0):
        state = {key: scale * torch.randn(shape, generator=generator, dtype=dtype) for key, shape in SHAPES.items()}
        return state | {"norm.num_batches_tracked": torch.tensor(3)}

    base = draw()
    return base, [weights.add(base, draw(0.3)) for _ in range(count)]


def far(a, b):
    return max((a[key].double() - b[key].double()).abs().max().item() for key in a)


# -- sums of truncated task vectors ----------------------------------------------------------------

@pytest.mark.parametrize("rank_ratio", RANKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_centred_sums_are_cart(rank_ratio, dtype):
    base, finetuned = states(4, dtype=dtype)
    merged = Spectra(base, finetuned).merged(1.7, rank_ratio)
    expected = cart(base, finetuned, scale=1.7, rank_ratio=rank_ratio)
    assert far(merged, expected) < (1e-5 if dtype == torch.float32 else 1e-12)
    assert merged["wide"].dtype == dtype and merged["norm.num_batches_tracked"] == 3


def test_from_theta_0_full_rank_is_task_arithmetic_and_rank_0_is_theta_0():
    base, finetuned = states(3)
    plain = Spectra(base, finetuned, centre=False)
    assert far(plain.merged(0.3, 1.0), task_arithmetic(base, finetuned, scale=0.3)) < 1e-12
    assert far(plain.merged(0.3, 0.0), base) == 0


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_cart_is_the_average_at_both_ends_for_every_lambda(scale):
    base, finetuned = states(5)
    average = weights.average(finetuned)
    merged = Spectra(base, finetuned)
    for rank in (0.0, 1.0):
        assert far(merged.merged(scale, rank), average) < 1e-12
    assert far(merged.merged(scale, 0.34), average) > 0.01 * scale


@pytest.mark.parametrize("rank_ratio", RANKS)
def test_of_two_tasks_cart_is_the_average_at_every_rank(rank_ratio):
    base, finetuned = states(2)
    assert far(Spectra(base, finetuned).merged(3.0, rank_ratio), weights.average(finetuned)) < 1e-12


def test_inputs_stay_as_they_are():
    base, finetuned = states(3)
    copies = [{key: tensor.clone() for key, tensor in state.items()} for state in (base, *finetuned)]
    for centre in (True, False):
        Spectra(base, finetuned, centre).merged(2.0, 0.5)
    spectra.centred(finetuned)
    for state, copy in zip((base, *finetuned), copies):
        assert far(state, copy) == 0


def test_centred_task_vectors_sum_to_zero_and_lead_back():
    base, finetuned = states(4)
    vectors = spectra.centred(finetuned)
    total = vectors[0]
    for vector in vectors[1:]:
        total = weights.add(total, vector)
    assert weights.norm(total) < 1e-12
    assert far(weights.add(weights.average(finetuned), vectors[1]), finetuned[1]) < 1e-12


def test_truncation_is_the_closest_of_its_rank():
    matrix = drawn(seeded(0), 7, 5)
    sigma = torch.linalg.svdvals(matrix)
    for rank in range(6):
        kept = spectra.truncated(matrix, rank)
        assert rank == 0 or torch.linalg.matrix_rank(kept) == rank
        assert (matrix - kept).norm().item() == pytest.approx(sigma[rank:].norm().item(), abs=1e-12)


def test_the_rank_kept_is_a_share_of_the_smaller_side_rounded_up():
    ranks = {(400, 784): 32, (784, 400): 32, (10, 400): 1, (64, 32, 3, 3): 6, (10,): 1}
    assert {shape: spectra.kept_rank(0.08, shape) for shape in ranks} == ranks
    assert spectra.kept_rank(0.07, (100, 100)) == 7, "0.07 · 100 is 7.000000000000001"
    assert spectra.kept_rank(0, (10,)) == 0
    with pytest.raises(ValueError, match="rank_ratio must be a share from 0 to 1, not 8"):
        spectra.kept_rank(8, (10, 10))


@pytest.mark.parametrize("key", ["wide", "tall", "conv"])
def test_singular_values_and_rows_are_those_of_the_task_vectors(key):
    base, finetuned = states(3)
    found = Spectra(base, finetuned, centre=False)
    for task, state in enumerate(finetuned):
        vector = (state[key] - base[key]).flatten(1)
        sigma = torch.linalg.svdvals(vector)
        rows = found.rows(key)[task]
        assert torch.allclose(found.singular_values(key)[task], sigma)
        assert torch.allclose(rows.T @ rows, vector.T @ vector)


# -- interference ----------------------------------------------------------------------------------

def two_rows(seed=0, r=4, n=9):
    generator = seeded(seed)
    found = []
    for _ in range(2):
        _, sigma, right = torch.linalg.svd(drawn(generator, r, n), full_matrices=False)
        found.append(sigma[:, None] * right)
    return found


def test_the_printed_formula_does_not_depend_on_directions():
    i, j = two_rows()
    sigmas = [rows.norm(dim=1) for rows in (i, j)]
    tilde = [torch.diag(sigma / sigma.norm()) for sigma in sigmas]
    printed = interference.printed_pair(*sigmas)
    for seed in range(3):
        turn = torch.linalg.qr(drawn(seeded(seed), 9, 9)).Q
        here = [rows / sigma[:, None] for rows, sigma in zip((i, j @ turn), sigmas)]  # Ṽ, rows orthonormal
        for k in range(1, 5):
            first, second = (sigma[:k, :k] @ rows[:k] for sigma, rows in zip(tilde, here))
            assert (first.T @ second).norm().item() == pytest.approx(printed[k - 1].item(), rel=1e-9)


def test_the_meant_formula_measures_overlap():
    i, j = two_rows()
    one_by_one = [interference.overlap(i, j, k) for k in range(1, 5)]
    assert one_by_one == pytest.approx(lowrank.meant_pair(i, j).tolist())
    assert one_by_one[-1] == pytest.approx((i @ j.T).norm().item() / (i.norm() * j.norm()).item())


def test_orthogonal_and_equal_tasks_differ_as_meant_and_not_as_printed():
    equal, orthogonal = planted.equal_and_orthogonal()
    assert interference.interference(orthogonal)[-1] == 0 < interference.interference(equal)[-1]
    printed = [interference.interference(rows, "printed") for rows in (equal, orthogonal)]
    assert torch.allclose(*printed)


def test_interference_adds_up_ordered_pairs_and_refuses_other_readings():
    rows = torch.stack([*two_rows(), *two_rows(1)])
    pairs = sum(lowrank.meant_pair(rows[a], rows[b]) for a in range(4) for b in range(4) if a != b)
    assert torch.allclose(interference.interference(rows), pairs)
    with pytest.raises(ValueError, match="reading must be"):
        interference.interference(rows, "literal")


def test_centring_puts_overlap_where_there_was_none():
    vectors = planted.orthogonal_tasks(torch.tensor([3.0, 2.0, 1.0], dtype=torch.float64), 4)
    base = {"w": torch.zeros(12, 12, dtype=torch.float64)}
    finetuned = [{"w": vector} for vector in vectors]

    def at_full_rank(centre):
        return interference.interference(Spectra(base, finetuned, centre).rows("w"))[-1].item()

    plain = at_full_rank(False)
    centred = at_full_rank(True)
    assert plain < 1e-12 and centred > 0.5


def test_the_reconstruction_error_is_what_truncation_leaves():
    base, finetuned = states(3)
    found = Spectra(base, finetuned)
    shares = interference.reconstruction_error(found.singular_values("wide"))
    matrices = found.matrices["wide"]
    for k in range(7):
        left = sum((matrix - spectra.truncated(matrix, k)).square().sum() for matrix in matrices)
        assert shares[k].item() == pytest.approx((left / matrices.square().sum()).item(), abs=1e-9)


# -- where the bell peaks --------------------------------------------------------------------------

@pytest.mark.parametrize("tasks", [3, 4, 6])
def test_orthogonal_tasks_are_best_served_at_the_predicted_rank(tasks):
    sigma = torch.tensor([8.0, 5.0, 3.1, 1.5, 0.7], dtype=torch.float64)
    vectors = planted.orthogonal_tasks(sigma, tasks)
    merged = Spectra({"w": torch.zeros_like(vectors[0])}, [{"w": vector} for vector in vectors])
    size = len(sigma) * tasks

    def gain(k):
        at_k = merged.merged(1.0, k / size)["w"]
        return sum((at_k * vector).sum().item() for vector in vectors)

    assert max(range(size + 1), key=gain) == planted.predicted_rank(sigma, tasks)


def test_one_task_has_no_predicted_rank():
    with pytest.raises(ValueError, match="at least 2"):
        planted.predicted_rank(torch.ones(3), 1)


def test_what_gets_through_adds_up_to_nothing_at_full_rank_and_is_the_merged_matrix_in_between():
    vectors = drawn(seeded(2), 3, 5, 7)
    own, others = parts.let_through(vectors, 5)
    assert (own + others)[-1].item() == pytest.approx(0, abs=1e-6)
    assert own[0] == others[0] == 0
    centred = vectors - vectors.mean(0)
    merged = sum(spectra.truncated(matrix, 2) for matrix in centred)
    share = [(merged * vector).sum() / vector.square().sum() for vector in vectors]
    assert (own + others)[2].item() == pytest.approx(sum(share).item() / 3, abs=1e-5)
    brought = [(spectra.truncated(matrix, 2) * vector).sum() / vector.square().sum()
               for matrix, vector in zip(centred, vectors)]
    assert own[2].item() == pytest.approx(sum(brought).item() / 3, abs=1e-5)


def test_of_planted_tasks_most_gets_through_at_the_predicted_rank():
    sigma = torch.tensor([8.0, 5.0, 3.1, 1.5, 0.7], dtype=torch.float64)
    own, others = parts.let_through(torch.stack(planted.orthogonal_tasks(sigma, 4)), 20)
    assert int((own + others).argmax()) == planted.predicted_rank(sigma, 4)


def test_large_are_the_singular_values_above_a_quarter_of_the_largest():
    assert parts.large(torch.tensor([8.0, 4.0, 2.1, 2.0, 0.5])) == 3
    assert parts.large(torch.tensor([8.0, 4.0, 2.1, 2.0, 0.5]), share=0.5) == 1


def test_spaces_are_shared_by_all_or_nothing_where_they_are_planted_so():
    sigma = torch.tensor([3.0, 2.0], dtype=torch.float64)
    assert parts.shared(torch.stack(planted.orthogonal_tasks(sigma, 3)), 2) == pytest.approx((0, 0), abs=1e-6)
    one = drawn(seeded(0), 4, 2)
    same_columns = torch.stack([torch.cat([one, 0 * one], 1), torch.cat([0 * one, one], 1)])
    assert parts.shared(same_columns, 2) == pytest.approx((1, 0), abs=1e-6)


# -- Theorem 2 -------------------------------------------------------------------------------------

@pytest.mark.parametrize("reading", ["meant", "printed"])
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_the_theorem_holds_for_planted_tasks(reading, noise):
    for seed in range(10):
        vectors, inputs = theorem.planted(seed / 9, tasks=3 + seed % 3, rank=1 + seed % 3, noise=noise,
                                          generator=seeded(seed))
        top = max(torch.linalg.matrix_norm(vector, 2).item() for vector in vectors)
        assert theorem.theorem_2(vectors, inputs, c=1 / top, eta=noise, reading=reading).holds


@pytest.mark.parametrize("which", ["square V", "I(k)"])
def test_the_theorem_fails_when_read_to_the_letter(which):
    vectors, inputs, others = theorem.counterexample(which)
    found = theorem.theorem_2(vectors, inputs, **others)
    assert found.loss > 0.5 and found.bound == 0 and not found.holds
    assert theorem.theorem_2(vectors, inputs, **others | {"reading": "printed"}).holds


def test_task_interference_is_what_its_definition_says():
    vectors, inputs = theorem.planted(0.5, generator=seeded(3))
    base = drawn(seeded(4), 24, 24)
    merged = base + sum(vectors)
    literal = 0.0
    for vector, xs in zip(vectors, inputs):
        for x in xs:
            literal += (merged @ x - (base + vector) @ x).square().sum().item()
    assert theorem.task_interference(vectors, inputs) == pytest.approx(literal)


def test_planted_row_spaces_overlap_as_asked():
    apart, _ = theorem.planted(0.0)
    same, _ = theorem.planted(1.0)
    assert (apart[0] @ apart[1].T).norm() < 1e-12
    assert torch.linalg.matrix_rank(torch.cat(same), rtol=1e-9) == 2
    with pytest.raises(ValueError, match="overlap"):
        theorem.planted(2.0)
    with pytest.raises(ValueError, match="counterexample"):
        theorem.counterexample("another")


# -- planes and costs ------------------------------------------------------------------------------

def test_a_plane_holds_what_lies_in_it_and_shows_the_shadow_of_the_rest():
    base, finetuned = states(3)
    plane = Plane(finetuned)
    for state in finetuned:  # three points span exactly one plane
        assert plane.inside(state) == pytest.approx(1)
        assert far(plane.at(plane.place(state)), state) < 1e-9
    assert plane.explained.sum().item() == pytest.approx(1)
    assert plane.axes @ plane.axes.T == pytest.approx(torch.eye(2, dtype=torch.float64), abs=1e-9)
    assert plane.inside(base) < 1 and math.isnan(plane.inside(plane.at(torch.zeros(2))))
    assert weights.norm(weights.subtract(Plane(finetuned, base).at(torch.zeros(2)), base)) < 1e-12
    with pytest.raises(ValueError, match="at least three"):
        Plane(finetuned[:2])


def test_the_sample_size_is_the_sources():
    assert costs.sample_size(0, 1, 0.05) == math.ceil((1.96 * 0.5 / 0.05) ** 2) == 385
    assert costs.sample_size(0.3, 0.3, 0.1) == 0
    for margin, high in ((0, 1), (0.1, -1)):
        with pytest.raises(ValueError, match="margin must be above 0"):
            costs.sample_size(0, high, margin)


@pytest.mark.parametrize("rank", [1, 16])
def test_low_rank_wins_from_64_times_its_rank_on(rank):
    width = costs.width_where_low_rank_wins(rank)
    assert costs.low_rank_bits(width, width, rank) < costs.mask_bits(width, width)
    assert costs.low_rank_bits(width - 1, width - 1, rank) >= costs.mask_bits(width - 1, width - 1)


def test_at_a_share_of_the_rank_the_width_drops_out():
    for width in (100, 1000, 10_000):
        low_rank = costs.low_rank_bits(width, width, width * 8 // 100)
        assert low_rank / costs.mask_bits(width, width) == pytest.approx(5.12)
    assert costs.low_rank_bits(4, 4, 4) == costs.BITS * 16, "no more than the matrix itself"
