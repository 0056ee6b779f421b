"""Which unit of one network is which unit of another: permutations that leave what a network computes as it is, and two
ways to find them.

What may be permuted is data, a `Plan`: which permutation acts on which axis of which parameter. Matching, applying and
testing read that table, and none of them knows an MLP from a ResNet (the idea of Ainsworth et al. 2023, Git Re-Basin).

A permutation is an int64 tensor (units,): place → which unit of the old order comes to stand there.
"""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Float64, Int64
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn

from data.types import checked_whole
from toy_models.weights import State, mix

Permutations = dict[str, Tensor]
Moments = tuple[Float[Tensor, " _"], Float[Tensor, " _"]]  # mean and standard deviation of every unit of a layer
# BatchNorm's: they move with their channels, but were not learned
STATISTICS = ("running_mean", "running_var", "num_batches_tracked")


@dataclass(frozen=True)
class Plan:
    """What may be permuted in an architecture.

    Attributes:
        axes: {parameter: one permutation's name, or None for "stays as it is", per axis}.
        units: {permutation: the modules whose outputs, after a ReLU, are these units}; more than one where a residual
            stream ties them together.
    """
    axes: dict[str, tuple[str | None, ...]]
    units: dict[str, tuple[str, ...]]

    def __post_init__(self):
        for key, names in self.axes.items():
            for name in filter(None, names):
                if name not in self.units or names.count(name) > 1:
                    raise ValueError(f"{key!r}: {name!r} must be one of {', '.join(self.units)}, and at most once")


def mlp_plan(layers: int = 4) -> Plan:
    """The plan of an `MLP` with so many linear layers: the units of every hidden layer, rows of its weight and bias,
    columns of the next weight.
    """
    hidden = [None, *(f"layer {i}" for i in range(1, layers)), None]
    axes = {}
    for i in range(layers):
        axes |= {f"layers.{i}.weight": (hidden[i + 1], hidden[i]), f"layers.{i}.bias": (hidden[i + 1],)}
    return Plan(axes, {f"layer {i + 1}": (f"layers.{i}",) for i in range(layers - 1)})


def resnet18_plan() -> Plan:
    """The plan of a `ResNet18`. What a block adds to must stand in the same order as what it adds, so a stage has one
    permutation for its whole residual stream, shortcut included; the channels between a block's two convolutions have
    one of their own.
    """
    axes = {"stem.0.weight": ("stage 1", None, None, None)} | _batchnorm("stem.1", "stage 1")
    units = {"stage 1": ("stem", "blocks.0", "blocks.1")}
    units |= {f"stage {s + 1}": (f"blocks.{2 * s}", f"blocks.{2 * s + 1}") for s in (1, 2, 3)}
    below = "stage 1"
    for b in range(8):
        block = f"blocks.{b}"
        stage = f"stage {b // 2 + 1}"
        inside = f"inside block {b + 1}"
        axes |= {f"{block}.conv1.weight": (inside, below, None, None)} | _batchnorm(f"{block}.bn1", inside)
        axes |= {f"{block}.conv2.weight": (stage, inside, None, None)} | _batchnorm(f"{block}.bn2", stage)
        if stage != below:
            axes |= {f"{block}.shortcut.0.weight": (stage, below, None, None)}
            axes |= _batchnorm(f"{block}.shortcut.1", stage)
        units[inside] = (f"{block}.bn1",)
        below = stage
    return Plan(axes | {"head.weight": (None, below), "head.bias": (None,)}, units)


def _batchnorm(module, name):
    moved = {f"{module}.{part}": (name,) for part in ("weight", "bias", "running_mean", "running_var")}
    return moved | {f"{module}.num_batches_tracked": ()}


# -- applying --------------------------------------------------------------------------------------

def permute(state: State, plan: Plan, permutations: Permutations) -> State:
    """π(θ): the same network with its units in another order. It computes what it computed before.

    Args:
        permutations: {name: (units,)}; one that is left out leaves its units as they are.

    Returns:
        A new state dict; dtypes stay, integer tensors are carried over.

    Raises:
        ValueError: the state dict is not of the plan's architecture, or a tensor is not a permutation, which is int64
            and holds every number from 0 once.
    """
    units = _checked(state, plan)
    for name, permutation in permutations.items():
        if name not in units:
            raise ValueError(f"unknown permutation {name!r}: choose from {', '.join(units)}")
        if permutation.dtype != torch.int64 or not torch.equal(permutation.sort().values, torch.arange(units[name])):
            raise ValueError(f"the permutation of {name!r} must be an int64 tensor that holds every number from 0 to "
                             f"{units[name] - 1} once, not {tuple(permutation.shape)} of {permutation.dtype}")
    return {key: _moved(tensor, plan.axes[key], permutations).clone() for key, tensor in state.items()}


def _moved(tensor, names, permutations, but=None):
    """The tensor with every axis permuted whose permutation is given; the axis named `but` stays."""
    for axis, name in enumerate(names):
        if name in permutations and name != but:
            tensor = tensor.index_select(axis, permutations[name])
    return tensor


def permute_layer(
        weight: Float[Tensor, "units inputs"], bias: Float[Tensor, " units"],
        weight_above: Float[Tensor, "above units"], permutation: Int64[Tensor, " units"],
) -> tuple[Float[Tensor, "units inputs"], Float[Tensor, " units"], Float[Tensor, "above units"]]:
    """One hidden layer with its units in another order, written out for two linear layers: what leaves the layer above
    stays as it was.

    Args:
        weight, bias: of the layer.
        weight_above: of the next one.
        permutation: which old unit comes to stand at each place.
    """
    return weight[permutation], bias[permutation], weight_above[:, permutation]


def identity(state: State, plan: Plan) -> Permutations:
    """The permutations that change nothing."""
    return {name: torch.arange(size) for name, size in _checked(state, plan).items()}


def random_permutations(state: State, plan: Plan, seed: int = 0) -> Permutations:
    """One random permutation of each kind: a network permuted by them looks like a stranger and is the same."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randperm(size, generator=generator) for name, size in _checked(state, plan).items()}


def inverse(permutations: Permutations) -> Permutations:
    """The permutations that undo these."""
    return {name: permutation.argsort() for name, permutation in permutations.items()}


def _checked(state, plan):
    """{permutation: units}."""
    if different := state.keys() ^ plan.axes.keys():
        names = ", ".join(sorted(different)[:5])
        raise ValueError(f"the plan is for another architecture: {names} is in one of state dict and plan only")
    units = {}
    for key, names in plan.axes.items():
        if state[key].ndim != len(names):
            raise ValueError(f"{key!r} has shape {tuple(state[key].shape)}, but the plan gives it {len(names)} axes")
        for size, name in zip(state[key].shape, names):
            if name and units.setdefault(name, size) != size:
                raise ValueError(f"{key!r} has {size} units of {name!r}, others have {units[name]}: the plan is for "
                                 "another architecture")
    return units


# -- weight matching -------------------------------------------------------------------------------

@dataclass(frozen=True)
class Match:
    """What `weight_matching` found.

    Attributes:
        permutations: of the best run.
        objective: ⟨A, π(B)⟩ over all learned parameters that have a permuted axis; the higher, the closer A and π(B).
        objectives: of every run.
        sweeps: of the best run, over all layers.
    """
    permutations: Permutations
    objective: float
    objectives: tuple[float, ...]
    sweeps: int


def assign(gain: Float[Tensor, "units units"]) -> Int64[Tensor, " units"]:
    """The permutation p with the largest Σ_i gain[i, p[i]] (`scipy.optimize.linear_sum_assignment`).

    Args:
        gain: what it is worth that the other network's unit p[i] comes to stand at place i.
    """
    return torch.from_numpy(linear_sum_assignment(gain.double().numpy(), maximize=True)[1])


def layer_gain(a: State, b: State, plan: Plan, permutations: Permutations, name: str,
               keys: list[str] | None = None) -> Float64[Tensor, "units units"] | int:
    """gain[i, j] = Σ over parameters of ⟨unit i's part of A, unit j's part of B⟩, the other axes of B permuted as they
    are now; 0 where there is no parameter.

    Args:
        keys: the parameters to add up; None for all learned ones that have these units along an axis.
    """
    gain = 0
    for key in learned_with(plan, name) if keys is None else keys:
        names = plan.axes[key]
        axis = names.index(name)
        rows_a, rows_b = (tensor.movedim(axis, 0).reshape(tensor.shape[axis], -1).double()
                          for tensor in (a[key], _moved(b[key], names, permutations, but=name)))
        gain = gain + rows_a @ rows_b.T
    return gain


def learned_with(plan: Plan, name: str) -> list[str]:
    """The learned parameters that have this permutation's units along an axis."""
    return [key for key, names in plan.axes.items() if name in names and not key.endswith(STATISTICS)]


def objective(a: State, b: State, plan: Plan) -> float:
    """⟨A, B⟩ over the learned parameters with a permuted axis, in float64; ‖A − B‖² is smallest where it is largest."""
    permuted = [key for key, names in plan.axes.items() if any(names) and not key.endswith(STATISTICS)]
    return sum(torch.dot(a[key].flatten().double(), b[key].flatten().double()).item() for key in permuted)


def weight_matching(a: State, b: State, plan: Plan, restarts: int = 3, seed: int = 0, most_sweeps: int = 100) -> Match:
    """Permutations π that bring B's weights close to A's, layer by layer (Ainsworth et al. 2023, Algorithm 1).

    With all other layers held, the best order of one layer's units is a linear assignment problem. The layers are
    visited in random order, again and again, until no visit would gain more than 1e-12. That is a local optimum, and
    which one depends on the order of visits; of `restarts` runs the best is kept.

    Raises:
        ValueError: A or B is not of the plan's architecture, or their shapes differ; restarts is not a whole number of
            at least 1.
    """
    if _checked(a, plan) != _checked(b, plan):
        raise ValueError("the two networks have different numbers of units, so there is no matching between them")
    restarts = checked_whole("restarts", restarts, 1)
    generator = torch.Generator().manual_seed(seed)
    a, b = ({key: tensor.double() if tensor.is_floating_point() else tensor for key, tensor in state.items()}
            for state in (a, b))  # once, not at every visit
    # what no other layer's order changes: once
    still = {name: layer_gain(a, b, plan, {}, name, _alone(plan, name)) for name in plan.units}
    runs = [_one_run(a, b, plan, still, generator, most_sweeps) for _ in range(restarts)]
    values = [objective(a, permute(b, plan, permutations), plan) for permutations, _ in runs]
    best = values.index(max(values))
    return Match(runs[best][0], values[best], tuple(values), runs[best][1])


def _alone(plan, name):
    """The learned parameters with no other permuted axis than this."""
    return [key for key in learned_with(plan, name) if set(plan.axes[key]) <= {name, None}]


def _one_run(a, b, plan, still, generator, most_sweeps):
    permutations = identity(a, plan)
    names = list(plan.units)
    shared = {name: [key for key in learned_with(plan, name) if key not in _alone(plan, name)] for name in names}
    beside = {name: {other for key in shared[name] for other in plan.axes[key] if other} - {name} for name in names}
    waiting = set(names)  # a layer can gain only if one beside it was changed since its last visit
    for sweep in range(1, most_sweeps + 1):  # noqa: B007  how many there were is part of the result
        for name in (names[index] for index in torch.randperm(len(names), generator=generator).tolist()):
            if name in waiting:
                gain = still[name] + layer_gain(a, b, plan, permutations, name, shared[name])
                before = permutations[name]
                after = assign(gain)
                row = torch.arange(len(before))
                waiting.discard(name)
                if (gain[row, after].sum() - gain[row, before].sum()).item() > 1e-12:
                    permutations[name] = after
                    waiting |= beside[name]
        if not waiting:
            break
    return permutations, sweep


# -- activation matching ---------------------------------------------------------------------------

@torch.no_grad()
def unit_features(network: nn.Module, plan: Plan,
                  x: Float[Tensor, "samples ..."]) -> dict[str, list[Float[Tensor, "places units"]]]:
    """What the plan's units compute on x, after the ReLU: {permutation: one tensor for each of its modules}; a place is
    a sample, or a pixel of one.
    """
    modules = dict(network.named_modules())
    seen = {}

    def note(module):
        return modules[module].register_forward_hook(lambda _, __, output: seen.__setitem__(module, output))

    hooks = [note(module) for watched in plan.units.values() for module in watched]
    try:
        network(x)
    finally:
        for hook in hooks:
            hook.remove()
    return {name: [F.relu(seen[module]).movedim(1, -1).flatten(0, -2) for module in watched]
            for name, watched in plan.units.items()}


def feature_gain(features_a: Float[Tensor, "samples units"],
                 features_b: Float[Tensor, "samples units"]) -> Float[Tensor, "units units"]:
    """E[a bᵀ]: how strongly unit i of A and unit j of B are on together, over samples; uncentred, as Ainsworth et al.
    2023 have it.

    Args:
        features_a, features_b: after the ReLU, on the same images.
    """
    return features_a.T @ features_b / len(features_a)


def activation_matching(network_a: nn.Module, network_b: nn.Module, plan: Plan, x: Float[Tensor, "samples ..."],
                        batch_size: int = 500) -> Permutations:
    """Permutations π that pair units which are on for the same images x (Ainsworth et al. 2023, §3.1): one assignment a
    permutation, no restarts needed.
    """
    gains = {name: 0 for name in plan.units}
    for batch in x.split(batch_size):
        of_a = unit_features(network_a, plan, batch)
        of_b = unit_features(network_b, plan, batch)
        for name, modules_a in of_a.items():
            for features_a, features_b in zip(modules_a, of_b[name]):
                gains[name] = gains[name] + feature_gain(features_a, features_b).double() * len(batch)
    return {name: assign(gain) for name, gain in gains.items()}


# -- after the permutation: statistics -------------------------------------------------------------

def unit_correlation(features_a: Float[Tensor, "samples units_a"],
                     features_b: Float[Tensor, "samples units_b"]) -> Float64[Tensor, "units_a units_b"]:
    """Pearson's correlation between every unit of A and every unit of B over samples; 0 where a unit never changes."""
    a, b = ((features.double() - features.double().mean(0)) for features in (features_a, features_b))
    return torch.nan_to_num((a.T @ b) / (a.norm(dim=0)[:, None] * b.norm(dim=0)))


def before_relu(state: State, x: Float[Tensor, "samples ..."]) -> list[Moments]:
    """Mean and standard deviation over x of every hidden unit's W·x + b, a pair a hidden layer, of an MLP."""
    h = x.flatten(1)
    moments = []
    for layer in range(len(state) // 2 - 1):
        sums = F.linear(h, state[f"layers.{layer}.weight"], state[f"layers.{layer}.bias"])
        moments.append((sums.mean(0), sums.std(0)))
        h = F.relu(sums)
    return moments


def repaired(state: State, of_i: list[Moments], of_j: list[Moments], alpha: float,
             x: Float[Tensor, "samples ..."]) -> dict[str, Tensor]:
    """An interpolated MLP whose hidden units got back their spread: REPAIR for a network without normalisation (Jordan
    et al. 2023).

    From the first layer up, each unit's W·x + b is stretched and shifted until its mean and standard deviation over x
    are the α-mix of those that the two ends have; stretching and shifting are put into the unit's weights and bias.

    Args:
        state: α·θ_i + (1 − α)·θ_j.
        of_i, of_j: `before_relu` of the two ends, on x.
        alpha: the weight of θ_i.
        x: training images, some hundred.

    Returns:
        A new state dict.
    """
    state = {key: tensor.clone() for key, tensor in state.items()}
    h = x.flatten(1)
    for layer, ((mean_i, spread_i), (mean_j, spread_j)) in enumerate(zip(of_i, of_j)):
        weight = f"layers.{layer}.weight"
        bias = f"layers.{layer}.bias"
        sums = F.linear(h, state[weight], state[bias])
        mean = mix(mean_i, mean_j, alpha)
        spread = mix(spread_i, spread_j, alpha)
        spread_before = sums.std(0)
        stretch = torch.where(spread_before > 1e-6, spread / spread_before, torch.ones_like(spread))
        state[bias] = (state[bias] - sums.mean(0)) * stretch + mean
        state[weight] = state[weight] * stretch[:, None]
        h = F.relu((sums - sums.mean(0)) * stretch + mean)
    return state
