"""Chapter 11's mathematics: tangents, the regularised flow and its bounds, kernels, layers that are added, LoRA."""
import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from lessons.linearization.algorithms import (
    adding,
    bounds,
    choosing,
    dynamics,
    finetuning,
    kernel,
    lora,
    networks,
    tangent,
)
from lessons.linearization.algorithms.finetuning import ADAM, SGD, Plan
from lessons.linearization.algorithms.networks import Net
from toy_models import MLP, ResNet18, weights

pytestmark = pytest.mark.usefixtures("one_thread")
SEEDS = st.integers(0, 10_000)


def generator(seed):
    return torch.Generator().manual_seed(seed)


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def example(widths=(5, 6, 4, 1), activation="tanh", n=7, seed=0):
    """(net, θ, x, y) with biases that are not 0."""
    net = Net(widths, activation)
    theta = net.initial(seed) + 0.2 * draw(sum(net.sizes), seed=seed + 1)
    return net, theta, draw(n, widths[0], seed=seed + 2), draw(n, seed=seed + 3)


def positive(size, seed, least=0.0):
    """A symmetric matrix with eigenvalues from `least` on."""
    root = draw(size, size, seed=seed)
    return root @ root.mT + least * torch.eye(size, dtype=torch.float64)


# -- networks and tangents -------------------------------------------------------------------------

@pytest.mark.parametrize("activation", list(networks.ACTIVATIONS))
def test_both_products_by_hand_are_torch_funcs(activation):
    net, theta, x, _ = example((4, 5, 3, 2), activation)
    u, r = draw(len(theta), seed=5), draw(len(x), 2, seed=6)
    trace = net.trace(theta, x)
    _, along = torch.func.jvp(lambda weights: net(weights, x), (theta,), (u,))
    _, back = torch.func.vjp(lambda weights: net(weights, x), theta)
    assert torch.allclose(trace.along(u), along, atol=1e-12)
    assert torch.allclose(trace.back(r), back(r)[0], atol=1e-12)


def test_many_networks_at_once_are_each_of_them_alone():
    net, theta, x, _ = example()
    both = torch.stack([theta, 2 * theta])
    r, u = draw(2, len(x), 1, seed=5), draw(2, len(theta), seed=6)
    trace = net.trace(both, x)
    for number, one in enumerate(both):
        alone = net.trace(one, x)
        assert torch.allclose(trace.outputs[number], alone.outputs, atol=1e-12)
        assert torch.allclose(trace.back(r)[number], alone.back(r[number]), atol=1e-12)
        assert torch.allclose(trace.along(u)[number], alone.along(u[number]), atol=1e-12)


def test_a_network_here_is_chapter_1s_with_its_weights_flattened():
    network = MLP((6, 5, 4, 3)).double()
    x = draw(8, 6)
    theta = weights.flatten({key: tensor.detach() for key, tensor in network.state_dict().items()})
    assert torch.allclose(Net((6, 5, 4, 3), "ReLU")(theta, x), network(x), atol=1e-12)


def test_rows_of_a_trace_are_that_of_some_samples():
    net, theta, x, _ = example()
    some = torch.tensor([4, 1])
    part, alone = net.trace(theta, x).rows(some), net.trace(theta, x[some])
    r = draw(2, 1, seed=9)
    assert torch.allclose(part.outputs, alone.outputs) and torch.allclose(part.back(r), alone.back(r))


@given(seed=SEEDS)
def test_the_tangent_by_hand_is_that_of_jvp_and_touches_the_network(seed):
    net, theta, x, _ = example(seed=seed)
    there = theta + 0.3 * draw(len(theta), seed=seed + 7)
    by_jvp = tangent.tangent(lambda weights: net(weights, x), theta)
    by_hand = tangent.Tangent(net, theta, x)
    assert torch.allclose(by_hand(there), by_jvp(there), atol=1e-11)
    assert torch.equal(by_hand(theta), net(theta, x))
    apart = [(net(theta + share * (there - theta), x) - by_hand(theta + share * (there - theta))).norm()
             for share in (1e-3, 5e-4)]
    assert apart[0] / apart[1] == pytest.approx(4, rel=0.05), "what the tangent misses is of second order"


def test_any_module_has_a_tangent():
    network = MLP((6, 5, 3))
    x = torch.randn(4, 6)
    linear = tangent.tangent_of_module(network, x)
    state = {key: tensor.detach() for key, tensor in network.named_parameters()}
    moved = {key: tensor + 0.01 for key, tensor in state.items()}
    net = Net((6, 5, 3), "ReLU")
    by_hand = tangent.Tangent(net, weights.flatten(state), x)(weights.flatten(moved))
    assert torch.allclose(linear(moved), by_hand, atol=1e-5)


def test_gaps_are_root_mean_squares_over_samples():
    f, other = torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.zeros(2, 2)
    assert tangent.gap(f, other) == pytest.approx(math.sqrt(25 / 2))


# -- dynamics --------------------------------------------------------------------------------------

def test_error_and_gradient_are_autograds():
    net, theta, x, y = example()
    error, gradient = dynamics.error_and_gradient(net, theta, x, y)
    assert torch.allclose(gradient, torch.func.grad(lambda weights: dynamics.error(net, weights, x, y))(theta))
    assert torch.allclose(error, (net(theta, x)[:, 0] - y).square().sum())


def test_the_step_is_the_sources_and_leaves_one_minus_lambda_eta():
    theta, theta_0, gradient = (draw(5, seed=seed) for seed in (1, 2, 3))
    moved = theta - 0.1 * gradient
    assert torch.allclose(dynamics.step(theta, theta_0, gradient, 0.1, 4.0), moved - 0.4 * (moved - theta_0))
    zero = torch.zeros(5, dtype=torch.float64)
    assert torch.allclose(dynamics.step(theta, theta_0, zero, 0.1, 10.0), theta_0), "λη = 1"


@pytest.mark.parametrize("lam", [20.0, 25.0, -1.0])
def test_a_pull_that_does_not_pull_is_refused(lam):
    with pytest.raises(ValueError, match="λη must be at least 0 and less than 2.*λ may be up to 20"):
        dynamics.checked_pull(lam, 0.1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_scheme_has_the_flow_as_its_limit_with_order_1(seed):
    """LFT, Lemma 3."""
    net, theta_0, x, y = example(seed=seed)
    limit, = dynamics.flow(dynamics.regularised(net, theta_0, x, y, 2.0), theta_0, [0.2], 1e-3)
    errors = []
    for steps in (200, 400):
        theta = theta_0
        for _ in range(steps):
            gradient = dynamics.error_and_gradient(net, theta, x, y)[1]
            theta = dynamics.step(theta, theta_0, gradient, 0.2 / steps, 2.0)
        errors.append((theta - limit).norm())
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)


def test_runge_kutta_has_order_4():
    rotation = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    start = torch.tensor([1.0, 0.0], dtype=torch.float64)
    right = torch.tensor([math.cos(1), math.sin(1)], dtype=torch.float64)
    errors = [(dynamics.flow(lambda theta: theta @ rotation.mT, start, [0.4, 1.0], h)[1] - right).norm()
              for h in (0.1, 0.05)]
    assert errors[0] / errors[1] == pytest.approx(16, rel=0.1)


@given(seed=SEEDS, lam=st.floats(0, 20))
def test_the_errors_rate_along_the_flow_is_minus_g_squared_minus_lambda_s(seed, lam):
    net, theta_0, x, y = example(seed=seed)
    u = 0.3 * draw(len(theta_0), seed=seed + 9)
    error, g = dynamics.error_and_gradient(net, theta_0 + u, x, y)
    ahead = torch.func.jvp(lambda theta: dynamics.error(net, theta, x, y), (theta_0 + u,), (-g - lam * u,))[1]
    assert torch.allclose(ahead, -g.square().sum() - lam * dynamics.pulled(g, u), rtol=1e-9, atol=1e-9)


@given(seed=SEEDS, lam=st.floats(0.01, 100))
def test_the_largest_harmless_pull_is_harmless_and_the_largest(seed, lam):
    g, u = draw(6, seed=seed), draw(6, seed=seed + 1)
    s, chosen = dynamics.pulled(g, u), dynamics.largest_harmless(lam, g, u)
    rate = -g.square().sum() - chosen * s
    assert 0 <= chosen <= lam * (1 + 1e-12) and rate <= 1e-9 * g.square().sum()
    if chosen < lam:
        assert rate == pytest.approx(0, abs=1e-9 * g.square().sum().item()), "any more would raise the error"
    if dynamics.rule(g, u):
        assert chosen == lam, "never less than the slides' rule"


@given(seed=SEEDS)
def test_from_its_start_gradient_descent_on_a_quadratic_never_turns_back_so_that_the_rule_is_never_on(seed):
    """LFT, Theorem 1, on the tangent: s < 0 at every step but the first, where u = 0 and s = 0 counts as on."""
    J, y = draw(5, 9, seed=seed), draw(5, seed=seed + 1)
    eta = 0.4 / torch.linalg.matrix_norm(J, 2).square()
    u = torch.zeros(9, dtype=torch.float64)
    for step in range(60):
        g = 2 * J.mT @ (J @ u - y)
        assert dynamics.rule(g, u) == (step == 0)
        u = u - eta * g


def test_the_tangents_walk_and_flow_in_closed_form_are_what_training_gives():
    net, theta_0, x, y = example(n=5)
    linear = tangent.Tangent(net, theta_0, x)
    K = kernel.blocks(net, theta_0, x).sum(0)
    kappa, directions = torch.linalg.eigh(K)
    rho, eta, lam = directions.mT @ (net(theta_0, x)[:, 0] - y), 0.3 / kappa.max().item(), 1.5
    theta = theta_0
    for _ in range(40):
        gradient = linear.at_start.back(2 * (linear(theta) - y[:, None]))
        theta = dynamics.step(theta, theta_0, gradient, eta, lam)
    alpha = directions @ dynamics.linear_walk(kappa, rho, lam, eta, 40)
    assert torch.allclose(theta - theta_0, linear.at_start.back(alpha[:, None]), atol=1e-10)

    def field(theta):
        return -linear.at_start.back(2 * (linear(theta) - y[:, None])) - lam * (theta - theta_0)
    for pull, field_ in ((lam, field), (0.0, lambda theta: field(theta) + lam * (theta - theta_0))):
        end, = dynamics.flow(field_, theta_0, [0.3], 1e-3)
        alpha = directions @ dynamics.linear_flow(kappa, rho, pull, 0.3)
        assert torch.allclose(end - theta_0, linear.at_start.back(alpha[:, None]), atol=1e-7)


# -- bounds ----------------------------------------------------------------------------------------

@given(seed=SEEDS, lam=st.floats(0.1, 30))
def test_energy_bounds_the_distance_of_every_regularised_walk_on_a_quadratic(seed, lam):
    """R̃ + (λ/2)‖u‖² never rises, for a step size below 1/(2κ_max + λ)."""
    J, y = draw(4, 7, seed=seed), draw(4, seed=seed + 1)
    eta = 0.5 / (2 * torch.linalg.matrix_norm(J, 2).square() + lam)
    u = torch.zeros(7, dtype=torch.float64)
    for _ in range(100):
        u = u - eta * (2 * J.mT @ (J @ u - y) + lam * u)
        now = (J @ u - y).norm()
        assert u.norm() <= bounds.distance_by_energy(y.norm(), lam, now) * (1 + 1e-9)
        assert bounds.distance_by_energy(y.norm(), lam, now) <= bounds.distance_by_energy(y.norm(), lam)


def test_energy_does_not_bound_a_walk_whose_rule_switches_the_regulariser():
    """From θ₀ the rule is never on after the first step, so the walk goes as far as without a regulariser."""
    J, y, lam = draw(4, 7, seed=1), draw(4, seed=2), 1000.0
    eta, u = 0.25 / torch.linalg.matrix_norm(J, 2).square(), torch.zeros(7, dtype=torch.float64)
    for _ in range(500):
        gradient = 2 * J.mT @ (J @ u - y)
        u = u - eta * (gradient + (lam * u if gradient @ u >= 0 else 0 * u))
    assert u.norm() > 2 * bounds.distance_by_energy(y.norm(), lam)


def test_energy_beats_the_proved_bound_as_soon_as_lambda_is_below_2_L1_squared():
    for lam in (0.1, 1.0, 17.0, 19.0, 100.0):
        better = bounds.distance_by_energy(2.0, lam) < bounds.distance_proved(3.0, 2.0, lam, 1e6)
        assert better == (lam < 2 * 3.0 ** 2)


@given(seed=SEEDS)
def test_theorem_2_as_printed_fails_without_a_pull_and_as_proved_holds(seed):
    J, y = draw(3, 6, seed=seed), draw(3, seed=seed + 1)
    kappa, directions = torch.linalg.eigh(J @ J.mT)
    rho, L1 = -(directions.mT @ y), kappa.max().sqrt()
    t = 25 / kappa.min().item()
    a = dynamics.linear_flow(kappa, rho, 0.0, t)
    distance, now = (J.mT @ directions @ a).norm(), (rho + kappa * a).norm()
    assert bounds.distance_printed(L1, now, 0.0, t) < distance < bounds.distance_proved(L1, y.norm(), 0.0, t)


@given(seed=SEEDS, lam=st.floats(0.1, 20), t=st.floats(0.01, 5))
def test_theorem_3_as_printed_is_above_0_for_a_linear_network_whose_gap_is_0(seed, lam, t):
    net, theta_0, x, y = example((4, 1), "linear", seed=seed)
    theta, = dynamics.flow(dynamics.regularised(net, theta_0, x, y, lam), theta_0, [0.05], 1e-2)
    assert torch.allclose(net(theta, x), tangent.Tangent(net, theta_0, x)(theta), atol=1e-9)
    assert bounds.gap_printed(2.0, 0.0, 1.0, lam, t) > 0 == bounds.gap_right(2.0, 0.0, 1.0, lam, t, 1.0)


@pytest.mark.parametrize("lam", [0.5, 5.0])
def test_theorem_3_put_right_follows_from_its_differential_inequality(lam):
    """The bound solves Δ' = −λΔ + c, and with D = 2L1‖r_0‖/λ it stays below 10·L1²·L2·‖r_0‖²/λ²."""
    L1, L2, initial = 3.0, 2.0, 1.5
    farthest = 2 * L1 * initial / lam
    at = [bounds.gap_right(L1, L2, initial, lam, t, farthest).item() for t in (0.7, 0.7 + 1e-6)]
    rate = (at[1] - at[0]) / 1e-6
    source = 4 * L1 * L2 * farthest * initial + lam * L2 * farthest ** 2 / 2
    assert rate == pytest.approx(-lam * at[0] + source, rel=1e-4)
    assert bounds.gap_right(L1, L2, initial, lam, 1e9, farthest) == pytest.approx(
        10 * L1 ** 2 * L2 * initial ** 2 / lam ** 2)


@given(lam=st.floats(0.1, 50), t=st.floats(0.01, 3), L1=st.floats(0.5, 20), L2=st.floats(0.1, 40))
def test_theorem_3_with_the_distance_inside_the_integral_is_the_integral(lam, t, L1, L2):
    """Against the sum over many short pieces of time."""
    initial, edges = 1.5, torch.linspace(0, t, 4001, dtype=torch.float64)
    s = (edges[1:] + edges[:-1]) / 2
    far, last = (bounds.distance_proved(L1, initial, lam, time).minimum(bounds.distance_by_energy(initial, lam))
                 for time in (s, t))
    pieces = (-lam * (t - s)).exp() * (4 * L1 * L2 * far * initial + lam * L2 * far ** 2 / 2)
    inside = bounds.gap_inside(L1, L2, initial, lam, t).item()
    assert inside == pytest.approx(pieces.sum().item() * t / 4000, rel=1e-3)
    assert inside <= bounds.gap_right(L1, L2, initial, lam, t, last) * (1 + 1e-9)


def test_at_the_threshold_the_proved_bound_is_the_radius():
    L1, initial, radius = 3.0, 2.0, 0.7
    lam_0 = bounds.threshold(L1, initial, radius)
    assert bounds.distance_proved(L1, initial, lam_0, 1e9) == pytest.approx(radius)
    inside = math.log(1 / (1 - 1 / 3)) / (lam_0 / 3)  # LFT, Theorem 4: (1/λ)·ln(1/(1 − λ/λ_0))
    assert bounds.distance_proved(L1, initial, lam_0 / 3, inside) == pytest.approx(radius)
    assert bounds.distance_by_energy(initial, bounds.threshold_by_energy(initial, radius)) == pytest.approx(radius)
    assert bounds.share_kept(L1, initial, radius) == pytest.approx(lam_0 / (lam_0 + 2 * L1 ** 2))


# -- the kernel ------------------------------------------------------------------------------------

@pytest.mark.parametrize("activation", ["tanh", "ReLU"])
def test_the_layer_formula_is_the_jacobians_product_layer_by_layer(activation):
    net, theta, x, _ = example(activation=activation)
    other = draw(4, 5, seed=8)
    J, J_other = (networks.jacobian(net, theta, some) for some in (x, other))
    found = kernel.blocks(net, theta, x, other)
    for layer, block in enumerate(found):
        mask = networks.by_layers(net, [layer])
        assert (block - (J * mask) @ J_other.mT).abs().max() < 1e-10
    assert (kernel.blocks(net, theta, x).sum(0) - J @ J.mT).abs().max() < 1e-10


def test_the_product_with_a_kernel_needs_no_kernel():
    net, theta, x, y = example()
    parts = kernel.blocks(net, theta, x)
    assert torch.allclose(kernel.product(net, theta, x, y, rows=3), parts.sum(0) @ y)
    assert torch.allclose(kernel.product(net, theta, x, y, chosen=[0, 2]), kernel.of_layers(parts, [0, 2]) @ y)


def test_two_hundred_samples_of_four_layers_take_a_gigabyte_neither_of_memory_nor_of_patience():
    net = Net((784, 100, 100, 100, 1), "ReLU")
    kernel.checked_size(len(net.sizes), 200, 200)
    with pytest.raises(ValueError, match=r"6,000.*need 1\.7 GB.*4,564 samples fit.*`product`"):
        kernel.checked_size(len(net.sizes), 6000, 6000)
    kernel.checked_size(len(net.sizes), 4564, 4564)


@given(seed=SEEDS, lam=st.floats(0.05, 20))
def test_the_closed_form_is_the_minimum_of_the_mean_and_of_the_sum(seed, lam):
    J, y, f_0 = draw(4, 9, seed=seed), draw(4, seed=seed + 1), draw(4, seed=seed + 2)
    K = J @ J.mT
    for alpha, share in ((kernel.coefficients(K, y, f_0, lam), 1 / 4), (kernel.solve(K, y, f_0, lam / 2), 1.0)):
        u = J.mT @ alpha
        slope = torch.func.grad(lambda u, share=share: share * (f_0 + J @ u - y).square().sum()
                                + lam / 2 * u.square().sum())(u)
        assert slope.norm() < 1e-8 * (1 + y.norm() + f_0.norm()) * (1 + K.norm())


@given(seed=SEEDS, sigma=st.floats(0.01, 100))
def test_the_exact_sum_is_what_is_left_and_lies_between_the_bounds(seed, sigma):
    K, y, f_0 = positive(5, seed), draw(5, seed=seed + 1), draw(5, seed=seed + 2)
    left = (f_0 + K @ kernel.solve(K, y, f_0, sigma) - y).square().sum()
    kappa, c = kernel.spectrum(K, y - f_0)
    low, high = kernel.risk_bounds(kappa, (y - f_0).norm(), sigma)
    exact = kernel.risk(kappa, c ** 2, sigma)
    assert torch.allclose(left, exact, rtol=1e-6) and low * (1 - 1e-9) <= exact <= high * (1 + 1e-9)
    alpha = kernel.solve(K, y, f_0, sigma)
    assert torch.allclose(kernel.penalised(kappa, c ** 2, sigma), left + sigma * alpha @ K @ alpha, rtol=1e-6)


def test_theorem_5_lacks_one_over_n_where_the_target_is_the_top_eigenvector():
    K = positive(6, 3, least=0.1)
    kappa, directions = torch.linalg.eigh(K)
    _, c = kernel.spectrum(K, directions[:, -1])
    sigma = 6 * 0.5  # of a mean
    mean = kernel.risk(kappa, c ** 2, sigma) / 6
    printed, _ = kernel.risk_bounds(kappa, directions[:, -1].norm(), sigma)
    assert printed / mean == pytest.approx(6)


def test_with_nothing_to_tune_the_condition_number_is_the_best_there_is():
    kappa = torch.zeros(4, dtype=torch.float64)
    assert kernel.condition(kappa, 0.3) == 1 and kernel.risk(kappa, torch.ones(4), 0.3) == 4


@pytest.mark.parametrize("call, message", [
    (lambda: kernel.solve(torch.eye(2), torch.ones(2), torch.ones(2), -1.0), "σ must not be negative"),
    (lambda: kernel.coefficients(torch.eye(2), torch.ones(2), torch.ones(2), -1.0), "σ must not be negative"),
    (lambda: kernel.checked(torch.tensor([[1.0, 2.0], [0.0, 1.0]])), "symmetric, and this one is not"),
    (lambda: kernel.checked(torch.ones(2, 3)), r"square, and this has the shape \(2, 3\)"),
    (lambda: kernel.checked(torch.full((2, 2), torch.nan)), "not finite"),
    (lambda: kernel.solve(torch.eye(2), torch.ones(2), torch.zeros(1), 1.0), "f_0 must hold one number a sample"),
    (lambda: kernel.of_layers(torch.ones(3, 2, 2), []), "no layer is chosen"),
    (lambda: kernel.of_layers(torch.ones(3, 2, 2), [1, 3]), "there is no layer 3: the network has 3, 0 to 2"),
    (lambda: networks.by_layers(Net((3, 2, 1)), []), "no layer is chosen"),
    (lambda: kernel.blocks(Net((3, 2)), torch.ones(8), torch.ones(4, 3)), "one output, and this one has 2"),
    (lambda: Net((3, 2), "sine"), "unknown activation 'sine'"),
    (lambda: Net((3, 2, 1))(torch.ones(5), torch.ones(1, 3)), "must have 11 entries"),
    (lambda: lora.drawn(Net((3, 2, 1)), 0), "rank must be a whole number above 0"),
    (lambda: adding.relative_size(torch.eye(2), torch.tensor([[1.0, 2.0], [0.0, 1.0]])), "symmetric"),
    (lambda: finetuning.checked_labels(torch.tensor([0, 5]), 3), "between 0 and 2.*go from 0 to 5"),
    (lambda: finetuning.checked_labels(torch.ones(3, 2), 3), "whole numbers, one a sample")])
def test_what_makes_no_sense_is_refused_with_the_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_labels_of_the_wrong_width_are_refused():
    with pytest.raises(Exception, match="y must hold one number a sample|Type-check error"):
        kernel.solve(torch.eye(3), torch.ones(3, 10), torch.zeros(3), 1.0)


def test_batchnorm_in_training_mode_is_refused_by_name():
    network = ResNet18(width=8, num_classes=3)
    x = torch.randn(2, 3, 32, 32)
    with pytest.raises(ValueError, match=r"'.*' is BatchNorm in training mode.*network.eval\(\)"):
        tangent.tangent_of_module(network.train(), x)
    state = {key: tensor.detach() for key, tensor in network.named_parameters()}
    assert torch.allclose(tangent.tangent_of_module(network.eval(), x)(state), network(x), atol=1e-5)


# -- layers that are added -------------------------------------------------------------------------

@given(seed=SEEDS, scale=st.floats(0.01, 5))
def test_theorem_6_and_its_tighter_left_end(seed, scale):
    K, S = positive(5, seed, least=0.1), scale * positive(5, seed + 1)
    printed, below, now, above = adding.eigenvalues_between(K, S)
    slack = 1e-9 * above.max()
    assert (printed <= below + slack).all() and (below <= now + slack).all() and (now <= above + slack).all()


@given(seed=SEEDS, sigma=st.floats(0.05, 10), worst=st.booleans())
def test_the_tight_ratio_bounds_hold_for_any_kernel_addition_and_target(seed, sigma, worst):
    K, S = positive(4, seed), 10 ** (seed % 5 - 2) * positive(4, seed + 1)
    eye = sigma * torch.eye(4, dtype=torch.float64)
    residual = draw(4, seed=seed + 2)
    if worst:  # the target for which (K + S + σI)⁻¹(K + σI) stretches most
        stretch = torch.linalg.solve(K + S + eye, K + eye)
        residual = (K + eye) @ torch.linalg.svd(stretch).Vh[0]
    kappa = kernel.condition(torch.linalg.eigvalsh(K), sigma).item()
    low, high = adding.ratio_bounds(kappa, adding.relative_size(K, S, sigma))
    assert low * (1 - 1e-7) <= adding.ratio(K, S, residual, sigma) <= high * (1 + 1e-7)


@pytest.mark.parametrize("kappa", [1.5, 2.0, 10.0, 100.0])
def test_two_dimensions_reach_the_upper_bound(kappa):
    K, S, residual, sigma = adding.worst_case(kappa)
    _, high = adding.ratio_bounds(kappa, adding.relative_size(K, S, sigma))
    assert kernel.condition(torch.linalg.eigvalsh(K), sigma) == pytest.approx(kappa)
    assert adding.ratio(K, S, residual, sigma) == pytest.approx(high, rel=1e-4) and high > 1
    before, after = (kernel.penalised(*_shared(kernel.spectrum(part, residual)), sigma) for part in (K, K + S))
    assert after < before, "the penalised optimum falls all the same"


def _shared(spectrum):
    kappa, c = spectrum
    return kappa, c ** 2


@given(seed=SEEDS)
def test_the_printed_ratio_bounds_hold_where_eta_is_below_1_and_never_certify_that_a_layer_helps(seed):
    K, S = positive(4, seed, least=1.0), 0.02 * positive(4, seed + 1)
    low, high = adding.ratio_printed(K, S, 0.5)
    if math.isfinite(high):
        assert low <= adding.ratio(K, S, draw(4, seed=seed + 2), 0.5) <= high and high >= 1


def test_eta_is_infinite_for_a_layer_with_fewer_weights_than_samples_and_eta_sigma_is_not():
    v = draw(5, 2)
    few = v @ v.mT
    assert adding.relative_size(few, positive(5, 1)) == float("inf")
    S = positive(5, 1)
    assert adding.relative_size(few, S, 0.7) <= torch.linalg.eigvalsh(S).max().item() / 0.7 * (1 + 1e-9)
    assert all(math.isnan(end) for end in adding.ratio_printed(few, S, 1.0))


def test_rules_take_layer_after_layer():
    blocks = torch.stack([positive(3, seed) * scale for seed, scale in ((0, 1.0), (1, 5.0), (2, 0.1))])
    residual, sizes = draw(3, seed=5), [10, 30, 30]
    orders = {name: choosing.chosen(score, blocks, residual, 1.0, sizes) for name, score in choosing.SCORES.items()}
    assert all(sorted(order) == [0, 1, 2] for order in orders.values())
    assert orders["most weights"] == [1, 2, 0], "of equals the earlier"
    traces = [block.trace().item() for block in blocks]
    assert orders["largest trace"] == sorted(range(3), key=lambda layer: -traces[layer])
    risks = [kernel.risk(*_shared(kernel.spectrum(block, residual)), 1.0).item() for block in blocks]
    assert orders["smallest risk"][0] == int(np.argmin(risks))


# -- LoRA ------------------------------------------------------------------------------------------

def test_loras_kernel_is_that_of_its_jacobian_at_the_start_where_only_B_counts():
    net, theta, x, _ = example((4, 5, 3, 1))
    A = lora.drawn(net, 2, seed=3)
    B = [torch.zeros(width, 2, dtype=torch.float64) for width in net.widths[1:]]

    def f(A, B):
        return net(lora.merged(net, theta, A, B), x)[:, 0]
    of_A, of_B = torch.func.jacrev(f, (0, 1))(A, B)
    assert all((one == 0).all() for one in of_A)
    J = torch.cat([one.flatten(1) for one in of_B], 1)
    assert torch.allclose(lora.blocks(net, theta, x, A).sum(0), J @ J.mT, atol=1e-12)


def test_loras_gradients_are_autograds_away_from_the_start():
    net, theta, x, y = example((4, 5, 3, 1))
    A = lora.drawn(net, 2, seed=3)
    B = [draw(width, 2, seed=width) for width in net.widths[1:]]
    theta_now = lora.merged(net, theta, A, B)
    found = lora.gradients(net, dynamics.error_and_gradient(net, theta_now, x, y)[1], A, B)
    wanted = torch.func.grad(lambda A, B: dynamics.error(net, lora.merged(net, theta, A, B), x, y), (0, 1))(A, B)
    for one, other in zip([*found[0], *found[1]], [*wanted[0], *wanted[1]]):
        assert torch.allclose(one, other, atol=1e-10)


def test_averaged_over_A_loras_kernel_is_the_whole_matrices():
    net, theta, x, _ = example((4, 5, 3, 1))
    mean = torch.stack([lora.blocks(net, theta, x, lora.drawn(net, 4, seed)).sum(0) for seed in range(3000)]).mean(0)
    whole = lora.full_blocks(net, theta, x).sum(0)
    assert (mean - whole).norm() < 0.05 * whole.norm()
    J = networks.jacobian(net, theta, x)
    biases = torch.cat([torch.cat([torch.zeros(a * b), torch.ones(b)])
                        for a, b in zip(net.widths, net.widths[1:])]).double()
    assert torch.allclose(whole, J @ J.mT - (J * biases) @ J.mT, atol=1e-10)


# -- finetuning with mini-batches ------------------------------------------------------------------

def labelled(n=20):
    net = Net((6, 5, 3), "ReLU")
    return net, net.initial(0), draw(n, 6, seed=1), torch.arange(n) % 3


@pytest.mark.parametrize("optimiser", [SGD, ADAM])
def test_finetuning_is_torchs_with_the_pull_taken_apart(optimiser):
    net, theta_0, x, y = labelled()
    plan, lam = Plan(optimiser, 0.05, passes=2, batch=8, seed=3), 2.0
    theta = theta_0.clone().requires_grad_()
    torchs = {SGD: torch.optim.SGD, ADAM: torch.optim.Adam}[optimiser]([theta], lr=0.05)
    order, count, marks = torch.Generator().manual_seed(3), 0, {}
    for _ in range(2):
        for some in torch.randperm(len(x), generator=order).split(8):
            torchs.zero_grad()
            F.cross_entropy(net(theta, x[some]), y[some]).backward()
            torchs.step()
            with torch.no_grad():
                theta -= 0.05 * lam * (theta - theta_0)
            count += 1
            marks[count] = theta.detach().clone()
    found = finetuning.finetuned(net, theta_0, x, y, plan, lam, marks=(2,))
    assert list(found) == [2, plan.steps(len(x))] == [2, count]
    assert all(torch.allclose(found[step], marks[step], atol=1e-7) for step in found)


def test_the_tangent_is_finetuned_as_jvp_and_autograd_would():
    net, theta_0, x, y = labelled()
    linear = tangent.tangent(lambda theta: net(theta, x), theta_0)
    theta = theta_0
    for _ in range(3):
        theta = theta - 0.1 * torch.func.grad(lambda theta: F.cross_entropy(linear(theta), y))(theta)
    found = finetuning.finetuned(net, theta_0, x, y, Plan(SGD, 0.1, passes=3, batch=len(x)), linear=True)
    assert torch.allclose(found[3], theta, atol=1e-10)
    assert torch.equal(theta_0, net.initial(0)), "the start stays as it is"


def test_finetuning_refuses_a_pull_that_overshoots_and_stays_put_where_it_undoes_every_step():
    net, theta_0, x, y = labelled()
    with pytest.raises(ValueError, match="λη must be"):
        finetuning.finetuned(net, theta_0, x, y, Plan(lr=0.05), lam=40.0)
    end, = finetuning.finetuned(net, theta_0, x, y, Plan(lr=0.05), lam=20.0).values()
    assert torch.allclose(end, theta_0, atol=1e-14)
