"""The mathematics of chapters 9 and 10: shares, distances of data, quadratics, the theorems, a printed table."""
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lessons.sail.algorithms import closeness, distances, mixing, quadratic, tables
from lessons.sail.experiment import theory
from toy_models import MLP, weights

NUMBERS = st.floats(0.1, 10)


def three_points(seed, d=6):
    return torch.randn(3, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def states(count=2, widths=(3, 4, 2)):
    return [MLP(widths).state_dict() for _ in range(count)]


# -- mixing ----------------------------------------------------------------------------------------

def test_a_mixture_is_the_sum_of_shares_times_parents_also_outside_the_simplex():
    a, b, c = states(3)
    mixed = mixing.proximal([a, b, c], [1.5, -0.75, 0.25])
    for key in a:
        assert torch.allclose(mixed[key], 1.5 * a[key] - 0.75 * b[key] + 0.25 * c[key], atol=1e-6)
    two = mixing.proximal([a, b], [0.3, 0.7])
    assert all(torch.allclose(two[key], tensor, atol=1e-6) for key, tensor in weights.interpolate(a, b, 0.3).items())


def test_a_mixture_leaves_the_parents_alone_and_carries_counters():
    a, b = ({"w": torch.rand(3), "bn.num_batches_tracked": torch.tensor(number)} for number in (4, 9))
    mixed = mixing.proximal([a, b], [0.5, 0.5])
    assert mixed["bn.num_batches_tracked"] == 4
    before = a["w"].clone()
    mixed["w"].zero_()
    assert torch.equal(a["w"], before)


@pytest.mark.parametrize("shares, said", [([0.5, 0.4], "must sum to 1"), ([1.0], "one share a parent"),
                                          ([float("nan"), 1.0], "must sum to 1"), ([0.5, 0.5, 0.0], "one share a "
                                                                                                    "parent")])
def test_shares_that_do_not_sum_to_one_or_are_too_few_are_refused(shares, said):
    with pytest.raises(ValueError, match=said):
        mixing.proximal(states(), shares)


def test_parents_of_other_architectures_are_refused_with_layer_and_sizes_and_advice():
    with pytest.raises(ValueError, match=r"'layers.0.weight' is \(4, 3\) in the one and \(5, 3\).*Transform first"):
        mixing.proximal([states(1)[0], states(1, (3, 5, 2))[0]], [0.5, 0.5])
    with pytest.raises(ValueError, match="'layers.2.weight' is no such layer in the one.*Transform first"):
        mixing.proximal([states(1)[0], states(1, (3, 4, 2, 2))[0]], [0.5, 0.5])


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_share_is_that_of_a_search(seed):
    a, b, target = three_points(seed)
    d1, d2, d12 = ((x - y).norm().item() for x, y in ((a, target), (b, target), (a, b)))
    share = mixing.nearest_share(d1, d2, d12)
    grid = torch.linspace(share - 1, share + 1, 2001, dtype=torch.float64)
    far = (grid[:, None] * a + (1 - grid)[:, None] * b - target).norm(dim=1)
    assert grid[far.argmin()] == pytest.approx(share, abs=1.1e-3)
    assert mixing.distance_along(d1, d2, d12, share) == pytest.approx(far.min().item(), abs=1e-6)
    assert mixing.distance_along(d1, d2, d12, 1.0) == pytest.approx(d1)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_the_printed_share_is_the_other_parents(d1, d2, d12):
    assert mixing.printed_share(d1, d2, d12) == pytest.approx(1 - mixing.nearest_share(d1, d2, d12), abs=1e-9)


def test_equal_distances_as_samples_total_variations_are_give_the_uniform_soup():
    assert mixing.nearest_share(1, 1, 1) == 0.5
    for n in (3, 5):
        H = mixing.inner_products(torch.ones(n), 1 - torch.eye(n))
        assert torch.allclose(mixing.shares_of(H), torch.full((n,), 1 / n, dtype=torch.float64))


@pytest.mark.parametrize("lengths, said", [((1, 1, 0), "every share gives the same"), ((-1, 1, 1), "not negative"),
                                           ((1, float("inf"), 1), "finite")])
def test_distances_that_make_no_sense_are_refused(lengths, said):
    with pytest.raises(ValueError, match=said):
        mixing.nearest_share(*lengths)


@pytest.mark.parametrize("seed", range(4))
def test_h_of_distances_is_twice_the_inner_products_and_its_shares_are_nearest(seed):
    points = torch.randn(4, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    *parents, target = points
    errors = torch.stack(parents) - target
    H = mixing.inner_products(errors.norm(dim=1), torch.cdist(errors, errors))
    assert torch.allclose(H, 2 * errors @ errors.T, atol=1e-9)
    shares = mixing.shares_of(H)
    assert shares.sum() == pytest.approx(1)
    least = (shares @ errors).norm()
    generator = torch.Generator().manual_seed(seed)
    for _ in range(50):
        step = torch.randn(3, generator=generator, dtype=torch.float64)
        other = shares + 0.3 * (step - step.mean())
        assert (other @ errors).norm() >= least - 1e-9


def test_with_two_parents_h_gives_the_formula_for_two():
    a, b, target = three_points(3)
    lengths = [(x - y).norm() for x, y in ((a, target), (b, target), (a, b))]
    H = mixing.inner_products(torch.stack(lengths[:2]), lengths[2] * (1 - torch.eye(2, dtype=torch.float64)))
    assert mixing.shares_of(H)[0].item() == pytest.approx(mixing.nearest_share(*map(float, lengths)))


def test_an_indefinite_h_is_refused_unless_a_way_out_is_asked_for():
    squared, plain = theory.four_outcomes()
    with pytest.raises(ValueError, match="not positive definite, its lowest eigenvalue is -0.732.*simplex"):
        mixing.shares_of(squared)
    assert torch.allclose(mixing.shares_of(squared, "simplex"), torch.tensor([0.5, 0, 0.5], dtype=torch.float64))
    exact = torch.tensor([1.0, -1, 1], dtype=torch.float64)
    assert exact @ plain @ exact == pytest.approx(0, abs=1e-12) and exact @ squared @ exact < -0.5
    ones = torch.ones(3, dtype=torch.float64)
    assert ones @ torch.linalg.inv(squared) @ ones == pytest.approx(0, abs=1e-9), "Eq. 12 divides by zero"
    with pytest.raises(ValueError, match="otherwise must be"):
        mixing.shares_of(squared, "clip")
    with pytest.raises(ValueError, match="symmetric"):
        mixing.shares_of(torch.tensor([[1.0, 2], [0, 1]]))


@pytest.mark.parametrize("seed", range(6))
def test_shares_on_the_simplex_are_those_of_a_search(seed):
    generator = torch.Generator().manual_seed(seed)
    H = torch.randn(3, 3, generator=generator, dtype=torch.float64)
    H = H + H.T
    found = mixing.on_simplex(H)
    assert (found >= 0).all() and found.sum() == pytest.approx(1)
    grid = [torch.tensor([i, j, 100 - i - j], dtype=torch.float64) / 100
            for i, j in itertools.product(range(101), repeat=2) if i + j <= 100]
    assert found @ H @ found <= min(one @ H @ one for one in grid) + 1e-9


def test_distances_between_parents_must_be_a_table_of_distances():
    for to, between, said in ((torch.ones(2), torch.ones(3, 3), "2×2"), (torch.ones(2), torch.ones(2, 2), "symmetric"),
                              (-torch.ones(2), 1 - torch.eye(2), "not negative")):
        with pytest.raises(ValueError, match=said):
            mixing.inner_products(to, between)


def test_clones_take_each_others_share():
    """The third is farther from θ* than the second and takes its weight: no law says “nearer, so heavier”."""
    errors = torch.tensor([[1.0, 0.0], [1.0, 0.15], [0.0, 1.05]], dtype=torch.float64)
    shares = mixing.shares_of(mixing.inner_products(errors.norm(dim=1), torch.cdist(errors, errors)), "simplex")
    assert shares[2] > 0.4 > shares[1] and errors[2].norm() > errors[1].norm()


# -- distances of data -----------------------------------------------------------------------------

def test_total_variation_of_samples_counts_shared_points_alone():
    a = torch.tensor([[0.0], [1.0], [1.0], [2.0]])
    b = torch.tensor([[1.0], [1.0], [3.0], [3.0]])
    assert distances.empirical_total_variation(a, b) == pytest.approx(0.5)
    assert distances.empirical_total_variation(torch.rand(50, 2), torch.rand(70, 2)) == 1.0
    assert distances.empirical_total_variation(a, a) == 0


def test_mmd_by_a_double_loop():
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(4, 3, generator=generator), torch.randn(5, 3, generator=generator)
    labels_a, labels_b = torch.tensor([0, 1, 1, 0]), torch.tensor([1, 1, 0, 0, 1])

    def k(x, y):
        return math.exp(-((x - y) ** 2).sum().item() / (2 * 1.3 ** 2))

    def mean(x, y, of_x, of_y, same):
        values = [k(x[i], y[j]) * (of_x[i] == of_y[j]).item() for i in range(len(x)) for j in range(len(y))
                  if not (same and i == j)]
        return sum(values) / len(values)
    wanted = (mean(a, a, labels_a, labels_a, True) + mean(b, b, labels_b, labels_b, True)
              - 2 * mean(a, b, labels_a, labels_b, False))
    kernel = distances.gaussian(1.3)
    assert distances.squared_mmd(a, b, kernel, True, labels_a, labels_b) == pytest.approx(wanted, abs=1e-6)
    assert distances.squared_mmd(a, b, kernel, False) >= 0
    assert distances.squared_mmd(a, a, kernel, False) == pytest.approx(0, abs=1e-9)


def test_the_share_of_a_known_mixture_is_found():
    """D* is a mixture of D1 and D2: MMD² and squared total variation both give its share."""
    p, q = torch.tensor([0.7, 0.3, 0.0]), torch.tensor([0.1, 0.2, 0.7])
    mixed = 0.3 * p + 0.7 * q
    tv = [distances.total_variation(x, y) for x, y in ((p, mixed), (q, mixed), (p, q))]
    assert mixing.nearest_share(*tv) == pytest.approx(0.3, abs=1e-6)
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(1000, 2, generator=generator), torch.randn(1000, 2, generator=generator) + 2
    target = torch.cat([torch.randn(300, 2, generator=generator), torch.randn(700, 2, generator=generator) + 2])
    kernel = distances.gaussian(1.0)
    squares = [distances.squared_mmd(x, y, kernel) for x, y in ((a, target), (b, target), (a, b))]
    assert mixing.share_of_squares(*squares) == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("width", [0, -1.0, float("nan")])
def test_a_bandwidth_of_zero_is_refused(width):
    with pytest.raises(ValueError, match="bandwidth must be above 0"):
        distances.gaussian(width)


def test_empty_samples_are_refused():
    kernel, empty, some = distances.gaussian(1.0), torch.zeros(0, 2), torch.zeros(3, 2)
    for call in (lambda: distances.squared_mmd(empty, some, kernel), lambda: distances.squared_mmd(some, empty, kernel),
                 lambda: distances.empirical_total_variation(empty, some)):
        with pytest.raises(ValueError, match="nothing to compare"):
            call()
    with pytest.raises(ValueError, match="at least two points"):
        distances.squared_mmd(some[:1], some, kernel)
    with pytest.raises(ValueError, match="at least two points"):
        distances.median_distance(some[:1])


def test_lemma_2_by_counting():
    """TV of two Gaussians at Mahalanobis distance Δ is 2Φ(Δ/2) − 1, which is not Δ/2."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(400_000, generator=generator, dtype=torch.float64)
    for delta in (0.5, 1.0, 2.0, 3.0):
        apart = ((x < delta / 2).double().mean() - (x + delta < delta / 2).double().mean()).item()
        assert distances.gaussian_total_variation(delta) == pytest.approx(apart, abs=0.004)
    assert distances.gaussian_total_variation(3.0) < 0.9 < 3.0 / 2


def test_mahalanobis_and_the_discriminants_direction():
    covariance = torch.tensor([[2.0, 0.3], [0.3, 0.5]])
    apart = torch.tensor([1.0, -2.0])
    inverse = torch.linalg.inv(covariance.double())
    assert distances.mahalanobis(apart, covariance) == pytest.approx((apart.double() @ inverse @ apart.double()).sqrt())
    assert torch.allclose(distances.lda_direction(apart, covariance), inverse @ apart.double())


# -- quadratics ------------------------------------------------------------------------------------

def test_steps_on_a_quadratic_are_gradient_descent():
    a, e = quadratic.spectrum(5, 20.0), three_points(1, 5)[0]
    walked = e.clone()
    for _ in range(7):
        walked = walked - 0.4 * a * walked
    assert torch.allclose(quadratic.after(e, a, 0.4, 7), walked)
    assert quadratic.loss_after(e, a, 0.4, 7).item() == pytest.approx((a * walked ** 2).sum().item() / 2)
    assert a[0] == 1 and a[-1] == pytest.approx(1 / 20)
    with pytest.raises(ValueError, match="at least 1"):
        quadratic.spectrum(3, 0.5)


@pytest.mark.parametrize("steps", [0, 3, 40])
def test_the_best_share_after_some_steps_is_that_of_a_search(steps):
    e1, e2, _ = three_points(7)
    a = quadratic.spectrum(6, 30.0)
    best = quadratic.best_share(e1, e2, a, 0.9, steps)
    grid = torch.linspace(best - 1, best + 1, 2001, dtype=torch.float64)[:, None]
    losses = quadratic.loss_after(grid * e1 + (1 - grid) * e2, a, 0.9, steps)
    assert grid[losses.argmin(), 0].item() == pytest.approx(best, abs=1.1e-3)


def test_where_all_directions_are_alike_the_nearest_is_the_best_whenever_one_asks():
    e1, e2, _ = three_points(2)
    nearest = mixing.nearest_share(e1.norm().item(), e2.norm().item(), (e1 - e2).norm().item())
    for steps in (0, 5):
        assert quadratic.best_share(e1, e2, torch.ones(6), 0.5, steps) == pytest.approx(nearest)
    with pytest.raises(ValueError, match="every share is best"):
        quadratic.best_share(e1, e2, torch.ones(6), 1.0, 1)


def test_nearer_is_not_faster():
    a = torch.tensor([1.0, 0.01])
    near, far = torch.tensor([0.0, 0.9]), torch.tensor([2.0, 0.0])
    assert near.norm() < far.norm() and quadratic.loss(near, a) < quadratic.loss(far, a)
    for steps in (2, 20):
        assert quadratic.loss_after(near, a, 0.9, steps) > quadratic.loss_after(far, a, 0.9, steps)


# -- Theorem 1 -------------------------------------------------------------------------------------

@pytest.mark.parametrize("d, target", [(2, 0.0), (3, 0.0), (2, 2.0), (10, 5.0)])
def test_from_two_parameters_on_the_inequality_holds(d, target):
    assert closeness.worst(d, target) <= 1 + 1e-9
    shares = np.linspace(0.001, 1, 200)
    by_simulation = _nearer(shares * (d + target), d, target)
    assert np.allclose(closeness.not_nearer(shares * (d + target) * 0.5, 0.5, d, target), by_simulation, atol=0.01)


def _nearer(thresholds, d, target):
    random = np.random.default_rng(0).standard_normal((100_000, d))
    random[:, 0] += math.sqrt(target)
    y = (random ** 2).sum(1)
    return (y[:, None] <= thresholds).mean(0)


def test_with_one_parameter_no_constant_saves_it():
    assert closeness.worst(1) > 500
    assert closeness.not_nearer(0.005, 0.5, 1) == pytest.approx(0.0797, abs=1e-3)
    assert closeness.bound(0.005, 0.5, 1) == pytest.approx(0.01)
    for alpha, d in ((0, 3), (1, 3), (0.5, 0)):
        with pytest.raises(ValueError):
            closeness.bound(1.0, alpha, d)


# -- a table ---------------------------------------------------------------------------------------

def test_which_numbers_of_questions_fit_table_2():
    rows = {name: list(row.values()) for name, row in tables.TABLE_2.items()}
    assert tables.fits(rows["ARC-Easy"], tables.SAID["ARC-Easy"]) == 1 and tables.fits(rows["ARC-Easy"], 570) == 5
    assert tables.smallest_fitting(rows["COPA"]) == 100 and tables.smallest_fitting(rows["Winogrande"]) == 1267
    assert tables.smallest_fitting([33.33, 50.0]) == 6 and tables.smallest_fitting([33.3], most=100) is None
    with pytest.raises(ValueError, match="at least one question"):
        tables.fits([50.0], 0)


def test_the_error_of_a_difference_of_percentages():
    a, b = np.random.default_rng(0).binomial(100, [[0.63], [0.58]], (2, 20_000)) / 100
    assert tables.error_of_percentages(63.0, 58.0, 100) == pytest.approx(100 * (a - b).std(), rel=0.02)
    with pytest.raises(ValueError, match="between 0 and 100"):
        tables.error_of_percentages(101.0, 50.0, 100)
