"""Twenty finetunings of one pretrained MLP on one task, all their triples, averages of 2 to 20 of them, and soups (CTL §4.2 and B.1.2, smaller).

`run` trains (through the zoo), measures, and returns one xarray Dataset; the second time all of it comes from disk. `run_resnet` is the same
question asked of five ResNet-18s, in "full" alone.
"""
import itertools
import time
from dataclasses import asdict, dataclass, replace

import numpy as np
import torch
import xarray
from tqdm.auto import tqdm

import data
from lessons.averaging import algorithms
from lessons.averaging.algorithms import Family
from lessons.linearity import algorithms as linearity
from lessons.linearity.experiment import mlp as chapter_1, resnet as chapter_2
from lessons.kit.profiles import Profiles
from lessons.kit.sweep import cached, on_grid, summarise
from toy_models import MLP, Recipe, ResNet18, batchnorm, training, weights, zoo

ANGLE, TRAIN_IMAGES, HELD_OUT_IMAGES = 45.0, 10_000, 5_000
LEARNING_RATES = tuple(float(f"{0.02 * 5 ** (i / 19):.2g}") for i in range(20))  # from 0.02 to 0.1, evenly on a logarithmic scale
EPOCHS, BATCH_SIZES = (1, 2, 3, 4) * 5, (32,) * 7 + (64,) * 7 + (128,) * 6
BOLD, STRANGER = "the bold one", "the stranger"
OUTLIERS = (BOLD, STRANGER)
SECONDS = {"quick": 20, "full": 60}  # rough, on 2 cores, nothing cached


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the same in every profile.

    Attributes:
        test_images: spread evenly over the test part.
        orders: random orders in which models join an average, for Eq. 1.
        lemma_images: test images on which Lemma 2 is measured; all 190 pairs' deviations on them are held in memory.
        draws: random orders in which models join a mix, for Lemma 2.
        steps: positions of each slider of the triangle.
    """
    test_images: int
    orders: int
    lemma_images: int
    draws: int
    steps: int = 11


PROFILES = Profiles(quick=Settings(test_images=2000, orders=3, lemma_images=250, draws=10), full=Settings(test_images=10_000, orders=5, lemma_images=500, draws=20))


# -- the models ----------------------------------------------------------------------------------------------------------------

def recipes(seed: int = 0) -> dict[str, Recipe | list[Recipe]]:
    """Every model of the chapter.

    "pretrained": chapter 1's, one epoch on upright MNIST; "finetuned": 20 from there, on the first 10,000 digits turned by 45°, each with its
    own learning rate, epochs, batch size and order of images, drawn by the seed; "the bold one": the same with three times the largest
    learning rate; "the stranger": the same task, but from chapter 1's other pretrained network, which began from other random weights.
    """
    generator = torch.Generator().manual_seed(seed)
    epochs, batch_sizes = ([values[i] for i in torch.randperm(20, generator=generator).tolist()] for values in (EPOCHS, BATCH_SIZES))
    before = chapter_1.recipes(seed)
    pretrained, other = before["pretrained"], before["strangers"][1].parent
    task = {"options": {"angle": ANGLE, "size": TRAIN_IMAGES}}
    first = pretrained.finetune(**task)  # reads the data's digest once
    finetuned = [replace(first, lr=lr, epochs=e, batch_size=b, seed=seed + 10_000 * (i + 1))
                 for i, (lr, e, b) in enumerate(zip(LEARNING_RATES, epochs, batch_sizes))]
    return {"pretrained": pretrained, "finetuned": finetuned,
            BOLD: replace(first, lr=0.3, epochs=3, batch_size=16, seed=seed + 300_000),
            STRANGER: other.finetune(lr=0.1, epochs=2, batch_size=32, seed=seed + 400_000, **task)}


def all_recipes(seed: int = 0) -> list[Recipe]:
    """The 22 finetuned models' recipes: the twenty, the bold one, the stranger."""
    made = recipes(seed)
    return [*made["finetuned"], made[BOLD], made[STRANGER]]


def name_of(recipe: Recipe, number: int) -> str:
    """"model 7: lr 0.05, 3 epochs, batch 64"; the 21st and 22nd are the bold one and the stranger."""
    who = f"model {number}" if number <= 20 else OUTLIERS[number - 21]
    return f"{who}: lr {recipe.lr:g}, {recipe.epochs} epoch{'s' * (recipe.epochs > 1)}, batch {recipe.batch_size}"


def models(seed: int = 0, device: str = "auto") -> list[MLP]:
    """The 22 finetuned networks, trained now if they are not in the zoo."""
    return zoo.get_all(all_recipes(seed), device)


def estimate(profile: str, seed: int = 0) -> str:
    """A sentence that says what `run` and `run_resnet` will have to do and about how long that takes on two cores."""
    PROFILES[profile]  # an error where there is no such profile
    wanted = [chapter_1.recipes(seed)["pretrained"], *all_recipes(seed)]
    missing = sum(not zoo.path_of(recipe).exists() for recipe in wanted)
    said = f"{missing} of {len(wanted)} MLPs have to be trained: about {SECONDS[profile]} s on two cores, once." if missing else "All MLPs of this chapter are in the zoo: this takes seconds."
    if profile == "full":
        chain = {step for recipe in resnet_recipes(seed) for step in (recipe.parent, recipe)}
        steps = sum(recipe.epochs * -(-dict(recipe.options)["size"] // recipe.batch_size) for recipe in chain if not zoo.path_of(recipe).exists())
        said += f" The ResNets at the end need {steps:,} training steps: about {steps * RESNET_SECONDS_A_STEP / 60:.0f} minutes, once." if steps else " So are the ResNets."
    return said


# -- the measurement -----------------------------------------------------------------------------------------------------------

TRIPLES = list(itertools.combinations(range(20), 3))
PAIRS = list(itertools.combinations(range(20), 2))


def run(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Train what is missing and measure everything but the ResNets.

    Returns:
        A Dataset with
        name, accuracy, held_out_accuracy, distance (model: 22): of the single models; distance is ‖θ_i − θ_0‖;
        member (triple: 1140, place: 3), average_accuracy, ensemble_accuracy, spread (triple): of averaged weights and logits ensemble; spread
        is the root mean square of the three distances between the members;
        outlier_average, outlier_ensemble (outlier: 2, pair: 190): the same for triples of an outlier and the two of the twenty in pair_member (pair, two);
        gap_*, base_*, coef_* (models: 2 … 20, layer: 4): Eq. 1, as `lessons.kit.sweep.summarise` gives them, over images and orders;
        deviation, predicted, agreement (kind: 2, models, layer): Lemma 2, root mean square length of the deviation and of its prediction from
        pairs, in units of the mixed features' length, and the cosine between the two, for equal and for random shares, mean over draws;
        pair_deviation (layer): the deviation half-way between two, mean over all 190 pairs;
        triangle_member (three: 4, place), triangle_average, triangle_ensemble (three, first: 11, second: 11): accuracy over the triangle; `first` is
        the first model's share, `second` the second's share of the rest;
        uniform, greedy, soup_ensemble, best_single (guest: 3, size: 1 … 20): test accuracies of soups of the `size` best, where a guest takes the
        last place; greedy_size: how many models the greedy soup took.
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    settings = PROFILES[profile]
    source = data.source("rotated_mnist", angle=ANGLE)
    ingredients = {"settings": asdict(settings), "recipes": [recipe.key for recipe in all_recipes(seed)]}
    return cached("averaging", ingredients, lambda: measure(settings, seed, device).assign_attrs(
        source=source.text, source_kind=source.kind, dataset="MNIST", network="MLP 784–100–100–100–10", profile=profile, seed=seed))


@training.one_thread()
def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """`run` without the cache."""
    wanted, networks = all_recipes(seed), models(seed, device)
    states = [network.state_dict() for network in networks]
    test, held_out = test_set(settings.test_images), _held_out_set()
    parts = [(Family(states, x), y) for x, y in zip(test[0].split(_PART), test[1].split(_PART))]
    held = Family(states, held_out[0]), held_out[1]
    start = zoo.get(wanted[0].parent, device).state_dict()
    single = {"name": [name_of(recipe, number) for number, recipe in enumerate(wanted, 1)], "accuracy": [_accuracy(parts, "ensemble", [i]) for i in range(22)],
              "held_out_accuracy": [_accuracy([held], "ensemble", [i]) for i in range(22)],
              "distance": [weights.norm(weights.subtract(state, start)) for state in states]}
    measured = xarray.Dataset({name: ("model", values) for name, values in single.items()}).merge(_triples(parts, states)).merge(_outliers(parts))
    best = sorted(range(20), key=lambda model: -single["held_out_accuracy"][model])
    return measured.merge(_equation_1(states, test[0], settings.orders, seed)).merge(_lemma_2(states[:20], test[0], settings, seed)).merge(
        _triangles(parts, measured, best, settings.steps)).merge(_soups(parts, held, single["held_out_accuracy"], best)).assign_attrs(
        images=f"{len(test[1]):,} test images")


_PART = 2000  # images at once: what one layer computes on them stays in the processor's cache


def test_set(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Images and labels of the task, spread evenly over the test part: MNIST's first half is harder than its second."""
    dataset = data.load("rotated_mnist", "test", angle=ANGLE).spread(size)
    return dataset.x, dataset.y


def _held_out_set():
    dataset = data.load("rotated_mnist", "train", angle=ANGLE, first=TRAIN_IMAGES, size=HELD_OUT_IMAGES)
    return dataset.x, dataset.y


def _accuracy(parts, how, chosen, shares=None):
    """Share correct over all parts of what a family's `average` or `ensemble` says of the chosen models."""
    right = total = 0
    for family, y in parts:
        logits = family.ensemble(chosen, shares) if how == "ensemble" else family.average(chosen, shares)["output"]
        right, total = right + (logits.argmax(1) == y).sum().item(), total + len(y)
    return right / total


def _triples(parts, states):
    distance = np.zeros((20, 20))
    for i, j in PAIRS:
        distance[i, j] = weights.norm(weights.subtract(states[i], states[j]))
    rows = [(_accuracy(parts, "average", triple), _accuracy(parts, "ensemble", triple),
             np.sqrt(np.mean([distance[pair] ** 2 for pair in itertools.combinations(triple, 2)]))) for triple in tqdm(TRIPLES, desc="measuring", unit="triple")]
    return xarray.Dataset({"member": (("triple", "place"), np.array(TRIPLES))} |
                          {name: ("triple", list(column)) for name, column in zip(("average_accuracy", "ensemble_accuracy", "spread"), zip(*rows))})


def _outliers(parts):
    both = {how: [[_accuracy(parts, how, [outlier, *pair]) for pair in PAIRS] for outlier in (20, 21)] for how in ("average", "ensemble")}
    return xarray.Dataset({f"outlier_{how}": (("outlier", "pair"), values) for how, values in both.items()} | {"pair_member": (("pair", "two"), np.array(PAIRS))},
                          coords={"outlier": list(OUTLIERS)})


def _equation_1(states, x, orders, seed):
    """`algorithms.along_an_order` for several random orders, part by part of the images, described over all of them together."""
    generator = torch.Generator().manual_seed(seed)
    families, values = [Family(states[:20], part) for part in x.split(_PART)], {}
    for _ in range(orders):
        order = torch.randperm(20, generator=generator).tolist()
        for family in families:
            for k, layers in algorithms.along_an_order(family, order):
                for layer, numbers in layers.items():
                    for name, value in numbers.items():
                        values.setdefault((k, layer), {}).setdefault(name, []).append(value)
    layers = list(families[0].features)
    return on_grid([summarise({name: torch.cat(parts) for name, parts in values[k, layer].items()}) for k in MODELS for layer in layers], models=MODELS, layer=layers)


MODELS = range(2, 21)
KINDS = ("equal", "random")


def _lemma_2(states, x, settings, seed):
    """How far mixes of k models deviate from the mixed features, beside what the 190 half-way deviations predict."""
    x = x[::max(1, len(x) // settings.lemma_images)][:settings.lemma_images]
    family, generator, sampler = Family(states, x), torch.Generator().manual_seed(seed), np.random.default_rng(seed)
    layers = list(family.features)
    halfway, of_pairs = {layer: torch.empty(len(PAIRS), *family.features[layer][0].shape) for layer in layers}, np.zeros(len(layers))
    for row, pair in enumerate(PAIRS):
        found, mixed = _deviation(family, list(pair), torch.tensor([0.5, 0.5]))
        for place, layer in enumerate(layers):
            halfway[layer][row] = found[layer]
            of_pairs[place] += (found[layer].norm() / mixed[layer].norm()).item() / len(PAIRS)
    first, second = torch.tensor(PAIRS).T
    result = np.zeros((3, len(KINDS), len(MODELS), len(layers)))
    for order in [torch.randperm(20, generator=generator).tolist() for _ in range(settings.draws)]:
        mixes = [(kind, k, order[:k], torch.full((k,), 1 / k) if kind == 0 else torch.tensor(sampler.dirichlet(np.ones(k)), dtype=torch.float32))
                 for k in MODELS for kind in range(len(KINDS))]
        every = torch.zeros(len(mixes), 20)
        for row, (_, _, chosen, shares) in enumerate(mixes):
            every[row, chosen] = shares
        products = 4 * every[:, first] * every[:, second]
        predictions = {layer: torch.tensordot(products, halfway[layer], 1) for layer in layers}
        for row, (kind, k, chosen, shares) in enumerate(mixes):
            measured, mixed = _deviation(family, chosen, shares)
            for place, layer in enumerate(layers):
                found, predicted, unit = measured[layer].flatten(), predictions[layer][row].flatten(), mixed[layer].norm()
                result[:, kind, k - 2, place] += np.array([found.norm() / unit, predicted.norm() / unit,
                                                           torch.dot(found, predicted) / (found.norm() * predicted.norm())]) / settings.draws
    return xarray.Dataset({name: (("kind", "models", "layer"), values) for name, values in zip(("deviation", "predicted", "agreement"), result)} | {"pair_deviation": ("layer", of_pairs)},
                          coords={"kind": list(KINDS), "models": list(MODELS), "layer": layers})


def _deviation(family, chosen, shares):
    """({layer: f(mix) − mixed features}, {layer: mixed features})."""
    average = family.average(chosen, shares)
    mixed = {layer: torch.einsum("k,ksw->sw", shares, feature[chosen]) for layer, feature in family.features.items()}
    return {layer: average[layer] - mixed[layer] for layer in mixed}, mixed


def _triangles(parts, measured, best, steps):
    far = TRIPLES[measured.spread.values.argmax()]
    threes = {"the three best of the twenty": best[:3], "the three of the twenty that lie furthest apart": list(far), "the bold one and the two best": [20, *best[:2]],
              "the stranger and the two best": [21, *best[:2]]}
    grid = np.linspace(0, 1, steps).round(4)
    values = {how: [[[_accuracy(parts, how, three, mix_of(first, second)) for second in grid] for first in grid] for three in threes.values()]
              for how in ("average", "ensemble")}
    return xarray.Dataset({f"triangle_{how}": (("three", "first", "second"), value) for how, value in values.items()} |
                          {"triangle_member": (("three", "place"), list(threes.values()))}, coords={"three": list(threes), "first": grid, "second": grid})


def mix_of(first: float, second: float) -> torch.Tensor:
    """The three shares that the triangle's two sliders mean: the first model's, and the second's share of the rest."""
    return torch.tensor([first, (1 - first) * second, (1 - first) * (1 - second)], dtype=torch.float64)


NOBODY = "nobody"
GUESTS = (NOBODY, *OUTLIERS)


def _soups(parts, held, held_out, best):
    """For every guest and number of models: uniform soup, greedy soup, ensemble, and the single model that held-out data would choose."""
    kept = {}

    def held_accuracy(chosen):
        key = tuple(sorted(chosen))
        if key not in kept:
            kept[key] = _accuracy([held], "average", chosen)
        return kept[key]

    rows = np.zeros((5, len(GUESTS), 20))
    for row, guest in enumerate((None, 20, 21)):
        for size in range(1, 21):
            candidates = best[:size] if guest is None else [*best[:size - 1], guest]
            soup = [candidates[i] for i in algorithms.greedy_soup([held_out[model] for model in candidates], lambda places: held_accuracy([candidates[i] for i in places]))]
            rows[:, row, size - 1] = (_accuracy(parts, "average", candidates), _accuracy(parts, "average", soup), _accuracy(parts, "ensemble", candidates),
                                      _accuracy(parts, "ensemble", [max(candidates, key=held_out.__getitem__)]), len(soup))
    return xarray.Dataset({name: (("guest", "size"), values) for name, values in zip(("uniform", "greedy", "soup_ensemble", "best_single", "greedy_size"), rows)},
                          coords={"guest": list(GUESTS), "size": list(range(1, 21))})


@training.one_thread()
def speed_of_sharing(triples: int = 40, images: int = 2000) -> dict[str, float]:
    """Seconds a triple for the plain computation and for the shared one, on random networks of the chapter's shape, and their ratio, in one run."""
    torch.manual_seed(0)
    states = [chapter_1.ARCHITECTURE.build().requires_grad_(False).state_dict() for _ in range(20)]
    x, chosen = torch.rand(images, 28, 28), TRIPLES[::len(TRIPLES) // triples][:triples]
    begin = time.perf_counter()
    for triple in chosen:
        MLP.from_state(weights.average([states[i] for i in triple]))(x)
        sum(MLP.from_state(states[i])(x) for i in triple)
    plain, begin = time.perf_counter() - begin, time.perf_counter()
    family = Family(states, x)
    once, begin = time.perf_counter() - begin, time.perf_counter()
    for triple in chosen:
        family.average(triple)
        family.ensemble(triple)
    plain, shared = plain / len(chosen), once / len(TRIPLES) + (time.perf_counter() - begin) / len(chosen)
    return {"plain": plain, "shared": shared, "ratio": plain / shared}


# -- five ResNet-18s -----------------------------------------------------------------------------------------------------------

RESNET_TASK, RESNET_CLASSES = 1, 5  # a split, and how many classes one has
RESNET_SECONDS_A_STEP = 0.2  # rough, width 16, batch 64, two cores
RESNET_STATISTICS = 750  # training images from which an averaged network's BatchNorm statistics are estimated again
RESNET_HYPERS = ((0.02, 5, 64), (0.03, 4, 64), (0.05, 4, 64), (0.08, 3, 64), (0.05, 4, 128))  # learning rate, epochs, batch size


def resnet_recipes(seed: int = 0) -> list[Recipe]:
    """Five finetunings on split 1 of Split CIFAR-100 of chapter 2's pretrained ResNet-18 of width 16, which learned split 0 for ten epochs."""
    first = chapter_2.recipes("width 16", seed)[RESNET_TASK]
    return [replace(first, lr=lr, epochs=epochs, batch_size=batch, seed=seed + 10_000 * (i + 1)) for i, (lr, epochs, batch) in enumerate(RESNET_HYPERS)]


def run_resnet(profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
    """The triples of five ResNet-18s, in "full"; None in "quick".

    Returns:
        A Dataset with name, accuracy (model: 5); member (triple: 10, place), average_accuracy, ensemble_accuracy, inherited_accuracy (triple): the last
        with the members' BatchNorm statistics averaged like weights, the first with statistics estimated again; gap_*, base_*, coef_* (triple, layer).
        Attributes: those of `lessons.kit.sweep.caption`.
    """
    PROFILES[profile]  # an error where there is no such profile
    if profile != "full":
        return None
    source, wanted = data.source("split_cifar100", splits=(RESNET_TASK,)), resnet_recipes(seed)
    return cached("averaging_resnet", {"recipes": [recipe.key for recipe in wanted]}, lambda: measure_resnet(wanted, device).assign_attrs(
        source=source.text, source_kind=source.kind, dataset="CIFAR-100", network="ResNet-18 of width 16", profile=profile, seed=seed))


def measure_resnet(wanted: list[Recipe], device: str = "auto") -> xarray.Dataset:
    """`run_resnet` without the cache, for any recipes of ResNets on one split."""
    splits = dict(wanted[0].options)["splits"]
    train, test = (data.load("split_cifar100", part, splits=splits) for part in ("train", "test"))
    first = RESNET_CLASSES * splits[0]
    some = train.x[::max(1, len(train.y) // RESNET_STATISTICS)]
    networks = zoo.get_all(wanted, device)
    states = [network.state_dict() for network in networks]
    single = [_features(batchnorm.reestimated(network, some), test.x) for network in networks]

    def right(logits):
        return (logits[:, first:first + RESNET_CLASSES].argmax(1) + first == test.y).double().mean().item()

    rows, described, triples = [], [], list(itertools.combinations(range(len(wanted)), 3))
    for triple in tqdm(triples, desc="measuring ResNets", unit="triple"):
        inherited = ResNet18.from_state(weights.average([states[i] for i in triple]))
        features = _features(batchnorm.reestimated(inherited, some), test.x)
        stacked = {layer: torch.stack([single[i][layer] for i in triple]) for layer in features}
        rows.append((right(features["output"]), right(algorithms.ensemble(stacked["output"])), right(inherited(test.x))))
        described += [summarise({"gap": 1 - algorithms.cosine_avg(value, stacked[layer]), "base": 1 - algorithms.cosine_base(value, stacked[layer]),
                                 "coef": linearity.coef(value, stacked[layer].mean(0))}) for layer, value in features.items()]
    return on_grid(described, triple=range(len(triples)), layer=list(features)).assign(
        {name: ("triple", list(column)) for name, column in zip(("average_accuracy", "ensemble_accuracy", "inherited_accuracy"), zip(*rows))} |
        {"name": ("model", [name_of(recipe, number) for number, recipe in enumerate(wanted, 1)]), "member": (("triple", "place"), np.array(triples)),
         "accuracy": ("model", [right(features["output"]) for features in single])}).assign_attrs(images=f"{len(test.y):,} test images")


def _features(network, x):
    parts = [network.features(part) for part in x.split(250)]
    return {layer: torch.cat([part[layer] for part in parts]).flatten(1) for layer in parts[0]}


# -- claims --------------------------------------------------------------------------------------------------------------------

def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind the chapter's claims, from one sweep: {claim: {number: value}}. What each means stands in claims.yaml."""
    return {"CTL-7": claim_7(sweep), "CTL-8": claim_8(sweep), "CTL-9": claim_9(sweep)}


def members_mean(sweep: xarray.Dataset) -> np.ndarray:
    """The mean of its three members' own accuracies, for every triple."""
    return sweep.accuracy.values[sweep.member.values].mean(1)


def claim_7(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-7: the regression over all triples, what is left of it when the members' own accuracies are known, and what an outlier does to it."""
    average, ensemble, own = sweep.average_accuracy.values, sweep.ensemble_accuracy.values, members_mean(sweep)
    line = algorithms.regression(average, ensemble)
    left_out = [algorithms.regression(average[keep], ensemble[keep])["r2"] for keep in ((sweep.member.values != model).all(1) for model in range(20))]
    bold, stranger = ((sweep.outlier_ensemble - sweep.outlier_average).sel(outlier=outlier) for outlier in OUTLIERS)
    rest = algorithms.regression(algorithms.without(average, own), algorithms.without(ensemble, own))
    return {"r2": line["r2"], "slope": line["slope"], "r2_least_without_one_model": min(left_out), "r2_from_members": algorithms.regression(own, ensemble)["r2"],
            "r2_beyond_members": rest["r2"], "average_over_members": float(np.mean(average - own)), "ensemble_over_average": float(np.mean(ensemble - average)),
            "share_average_below": float(np.mean(average < ensemble)), "lost_with_bold": bold.mean().item(), "lost_with_stranger": stranger.mean().item(),
            "r2_bold": algorithms.regression(sweep.outlier_average.sel(outlier=BOLD).values, sweep.outlier_ensemble.sel(outlier=BOLD).values)["r2"]}


def claim_8(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-8: the cosine gap of averages of 2 to 20 models, beside the baseline, and coef."""
    return {"gap_mean": sweep.gap_mean.mean().item(), "gap_most": sweep.gap_mean.max().item(), "base_least": sweep.base_mean.min().item(), "base_most": sweep.base_mean.max().item(),
            "gap_over_base_most": (sweep.gap_mean / sweep.base_mean).max().item(), "coef_least": sweep.coef_mean.min().item(), "coef_most": sweep.coef_mean.max().item()}


def claim_9(sweep: xarray.Dataset) -> dict[str, float]:
    """CTL-9: the counterexample, and how the deviation grows with the number of models."""
    growth, more = sweep.deviation / sweep.pair_deviation, sweep.sel(models=slice(3, None))
    return lemma_2_fails() | {"growth_most": growth.max().item(), "growth_at_10": growth.sel(kind="equal", models=10).mean().item(), "growth_at_20": growth.sel(kind="equal", models=20).mean().item(),
                              "agreement_least": more.agreement.min().item(), "predicted_share_least": (more.predicted / more.deviation).min().item(),
                              "predicted_share_most": (more.predicted / more.deviation).max().item()}


def lemma_2_fails(steps: int = 21) -> dict[str, float]:
    """`algorithms.sleeping_unit` against Lemma 2.

    Returns:
        pairs_deviate: the largest deviation from CTL of any pair, in any layer, at any α; three_deviate: the largest, over the layers, in the middle of the three.
    """
    states, x = algorithms.sleeping_unit(), torch.ones(1, 1)

    def largest(chosen, shares):
        return max(value.abs().max().item() for value in algorithms.deviation([states[i] for i in chosen], shares, x).values())

    pairs = max(largest(pair, [alpha, 1 - alpha]) for pair in itertools.combinations(range(3), 2) for alpha in np.linspace(0, 1, steps))
    return {"pairs_deviate": pairs, "three_deviate": largest(range(3), [1 / 3] * 3)}
