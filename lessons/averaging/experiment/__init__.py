"""Twenty finetunings of one pretrained MLP on one task, asked five questions (CTL §4.2 and B.1.2, smaller).

`run` trains (through the zoo), measures, and returns one xarray Dataset; the second time all of it comes from disk.
The questions have a file each: `triples`, `features`, `mixes`, `triangle`, `soups`. `resnets` asks the first two of
five ResNet-18s.
"""
from dataclasses import dataclass

import xarray

from lessons.averaging.experiment import features, mixes, models, resnets, soups, triangle, triples, walks
from lessons.averaging.experiment.accuracy import Accuracy
from lessons.averaging.experiment.speed import speed_of_sharing
from lessons.averaging.experiment.triples import TRIPLES
from lessons.kit import experiment
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from toy_models import weights, zoo

SECONDS = {"quick": 20, "full": 60}  # rough, on 2 cores, nothing kept


@dataclass(frozen=True)
class Settings:
    """How much is measured; training is the same in every profile."""
    test_images: int  # spread evenly over the test part
    soup_images: int  # the same for soups, which differ by little
    orders: int  # random orders in which models join an average, for Eq. 1
    lemma_images: int  # test images on which Lemma 2 is measured; all 190 pairs' deviations on them are held in memory
    draws: int  # random orders in which models join a mix, for Lemma 2
    steps: int = 13  # positions of each slider of the triangle; with 13 there is a third


PROFILES = Profiles(quick=Settings(test_images=2000, soup_images=10_000, orders=3, lemma_images=250, draws=10),
                    full=Settings(test_images=10_000, soup_images=10_000, orders=5, lemma_images=500, draws=20))


def announce(profile: str = "quick", seed: int = 0, with_resnets: bool = False) -> None:
    """Say which data there are, and what `run` will have to do, and `resnets.run` if it follows."""
    PROFILES[profile]  # an error where there is no such profile
    made = models.recipes(seed)
    told = [experiment.estimate([made["pretrained"], *models.all_recipes(seed)], SECONDS[profile])]
    if with_resnets and profile == "full" and experiment.to_measure([resnets.RESNETS], profile, seed):
        told.append(resnets.estimate(seed))
    experiment.announce(models.source(), " ".join(told))


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Everything but the ResNets.

    Returns:
        A Dataset with
        name, accuracy, held_out_accuracy, distance (model: 22): of the single models; distance is ‖θ_i − θ_0‖;
        member (triple: 1140, place: 3), average_accuracy, ensemble_accuracy, spread (triple): of averaged weights and
        logits ensemble; spread is the root mean square of the three distances between the members;
        above_best, above_best_error (triple): by how much the average beats the best of its members, with the standard
        error on the same images; half_average, half_ensemble (triple, half: 2), half_alone (model, half): accuracies on
        every second test image, and on the others;
        outlier_average, outlier_ensemble (outlier: 2, pair: 190): the same for triples of an outlier and the two of the
        twenty in pair_member (pair, two);
        gap_*, base_*, coef_* (models: 2 … 20, layer: 4): Eq. 1, as `lessons.kit.sweep.summarise` gives them, over
        images and orders;
        deviation, predicted, agreement (kind: 2, models, layer): Lemma 2, root mean square length of the deviation and
        of its prediction from pairs, in units of the mixed features' length, and the cosine between the two, for equal
        and for random shares, mean over draws;
        pair_deviation (layer): the deviation half-way between two, mean over all 190 pairs;
        triangle_member (three: 4, place), triangle_average, triangle_ensemble (three, first: 13, second: 13): accuracy
        over the triangle; `first` is the first model's share, `second` the second's share of the rest;
        uniform, greedy, soup_ensemble, best_single (guest: 3, size: 1 … 20): test accuracies of soups of the `size`
        best, where a guest takes the last place; greedy_size: how many models the greedy soup took; *_gain: by how much
        a soup beats best_single, *_gain_error: the standard error of that, on the same images; greedy_over_uniform and
        its error;
        walk_* (walker: 2, length: 8): see `walks`.
    """
    states = [network.state_dict() for network in models.networks(seed, device)]
    twenty = states[:len(models.TWENTY)]
    x, y = models.test_images(settings.test_images)
    step = max(1, len(x) // settings.lemma_images)
    some = x[::step][:settings.lemma_images]
    unseen = models.held_out()
    accuracy = Accuracy(states, x, y)
    held_out = Accuracy(states, unseen.x, unseen.y, at_once=len(unseen))
    alone = _alone(states, accuracy, held_out, seed, device)
    best = sorted(models.TWENTY, key=lambda model: -alone.held_out_accuracy.values[model])
    of_triples = triples.measure(accuracy, twenty)
    parts = [alone,
             of_triples,
             triples.measure_outliers(accuracy),
             features.measure(twenty, x, settings.orders, seed),
             mixes.measure(twenty, some, settings.draws, seed),
             triangle.measure(accuracy, of_triples.spread, best, settings.steps),
             walks.measure(states, _start(seed, device), best, x, y),
             soups.measure(Accuracy(states, *models.test_images(settings.soup_images)), held_out, best)]
    return xarray.merge(parts).assign_attrs(images=f"{len(y):,} test images", soup_images=settings.soup_images)


def _start(seed, device):
    """The pretrained network's state dict."""
    return zoo.get(models.recipes(seed)["pretrained"], device).state_dict()


def _alone(states, accuracy, held_out, seed, device):
    """name, accuracy, held_out_accuracy and distance of the single models."""
    recipes = models.all_recipes(seed)
    start = _start(seed, device)
    numbers = range(len(states))
    columns = {"name": [models.name_of(recipe, number) for number, recipe in enumerate(recipes, 1)],
               "accuracy": [accuracy.alone(i) for i in numbers],
               "held_out_accuracy": [held_out.alone(i) for i in numbers],
               "distance": [weights.norm(weights.subtract(state, start)) for state in states]}
    return xarray.Dataset({name: ("model", values) for name, values in columns.items()})


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """The numbers behind the chapter's claims, from one sweep: {claim: {number: value}}. claims.yaml says what each
    means."""
    of_triples = triples.claim(sweep) | walks.claim(sweep) | soups.claim(sweep)
    return {"CTL-7": of_triples, "CTL-8": features.claim(sweep), "CTL-9": mixes.claim(sweep)}


MLPS = Experiment("averaging", measure, PROFILES, models.source, "MNIST",
                  recipes=lambda settings, seed: models.all_recipes(seed), claims=claims)
LEDGER = (MLPS,)
run = MLPS.run
