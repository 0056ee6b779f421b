"""Tasks that are asked in words and answered in words: merged networks that read a text and write one, the line between
two of them (CTL, §4.3 and B.1.3), and a task vector taken away again.

A network answers greedily, and an answer is right where it is the wanted one word for word, its end included. All
accuracies are kept as numbers of sentences, so that their errors can be computed.
"""
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
import xarray
from torch import Tensor

import data
from data import asked, threads
from lessons.cart.algorithms.spectra import Spectra
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.linearity.algorithms import along, coef, own_distance
from lessons.merging.search import Grid, Merges, anew, searched, tuned
from lessons.suites import PARTS
from lessons.vit.algorithms import matrices
from lessons.words import asking
from lessons.words.experiment import setting
from lessons.words.experiment.lines import without
from lessons.words.experiment.merges import geometry
from toy_models import Recipe, TextToText, zoo
from toy_models.text_to_text import greedy
from toy_models.weights import State, average, interpolate

Questions = tuple[Tensor, Tensor]  # texts x and answers y, as `data.asked` gives them
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
TAKEN = (0.0, 0.25, 0.5, 1.0)  # λ of what is taken away
PAIRS = (("film", "question"), ("subjective", "compares"), ("pro/con", "customer"), ("product", "decade"),
         ("film", "customer"), ("subjective", "pro/con"))
GRIDS = {grid.method: grid for grid in (
    Grid("average"),
    Grid("task_arithmetic", (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)),
    Grid("ties", (0.25, 0.5, 1.0, 1.5), "density", (0.1, 0.3)),
    Grid("tsv", (0.25, 0.5, 0.75, 1.0)),
    Grid("cart", (1.0, 1.5), "rank_ratio", (1 / 64, 0.04, 0.08, 0.16, 0.32)))}
AT_ONCE = 100  # questions that a network answers
WAYS = ("written", "chosen")
SAID = ("an answer of the task", "an answer of another task", "something else")


@dataclass(frozen=True)
class Settings:
    """How much is trained and measured."""
    tasks: tuple[str, ...]  # of `data.sentences`
    pretraining: int  # sentences with gaps, once each
    size: int  # training sentences a task, where there are as many
    epochs: int  # passes over them
    held_out: int  # sentences a task on which parameters are chosen
    test: int  # sentences a task that are reported
    taken: int  # of these, on which networks are tried that a task vector was taken from
    features: int  # of these, on which features are compared


FULL = Settings(tasks=data.sentences.TASKS, pretraining=19_200, size=1200, epochs=3, held_out=200, test=400, taken=200,
                features=100)
PROFILES = Profiles(quick=None, full=FULL)


@dataclass(frozen=True)
class Loaded:
    """The networks, and what they are asked.

    Attributes:
        tasks: their names.
        base, finetuned: state dicts.
        held_out, test: of every task.
    """
    tasks: tuple[str, ...]
    base: State
    finetuned: list[State]
    held_out: list[Questions]
    test: list[Questions]

    def right(self, state: State, part: str = "test", most: int | None = None) -> np.ndarray:
        """(tasks,): how many of a part's questions, or of the first `most`, are answered right."""
        network = TextToText.from_state(state)
        return np.array([right(network, *(values[:most] for values in of_task)) for of_task in self.of(part)])

    def share(self, state: State, part: str = "test") -> np.ndarray:
        """(tasks,): the share of them."""
        return self.right(state, part) / len(self.of(part)[0][1])

    def own(self, count: Callable[[TextToText, int], np.ndarray | int]) -> np.ndarray:
        """(tasks, …): what `count` gives of every task's own network."""
        networks = map(TextToText.from_state, self.finetuned)
        return np.array([count(network, task) for task, network in enumerate(networks)])

    def of(self, part: str) -> list[Questions]:
        """Of every task the questions of a part, one of `suites.PARTS`."""
        return self.test if part == PARTS[1] else self.held_out


# -- networks and questions --------------------------------------------------------------------------------------------

def recipes(settings: Settings, seed: int = 0) -> list[Recipe]:
    """The pretrained network, and one finetuned on each task."""
    start = asking.start(seed, settings.pretraining)
    return [start, *(asking.finetuned(start, task, settings.size, settings.epochs) for task in settings.tasks)]


def load(settings: Settings, seed: int = 0) -> Loaded:
    """The networks and their questions; as everywhere, held-out ones are the even-numbered of the test part and test
    ones the odd-numbered."""
    base, *finetuned = (network.state_dict() for network in zoo.get_all(recipes(settings, seed), "cpu"))
    parts = [[questions(task, first, count) for task in settings.tasks]
             for first, count in enumerate((settings.held_out, settings.test))]
    return Loaded(settings.tasks, base, finetuned, *parts)


def questions(task: str, first: int, count: int) -> Questions:
    """Every second question of a task's test part from the first or second on, `count` of them spread evenly."""
    tested = data.load("asked", "test", task=task, length=asking.LENGTH)
    half = data.Dataset(tested.x[first::2], tested.y[first::2], tested.source).spread(count)
    return half.x.clone(), half.y[:, :asked.LONGEST].clone()


# -- what is measured --------------------------------------------------------------------------------------------------

def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """Everything on test sentences, but parameters, which are chosen on held-out ones.

    Returns:
        A Dataset with
        right (way: 2, reported, task): how many answers are right, "written" greedily out of all words, or "chosen",
        the likeliest of the task's own answers: of the network without finetuning ("θ₀"), of every task's own
        ("single"), and of merged ones;
        said (kind: 3, reported, task): how many of the written answers are one of the task's own, one of another
        task's, or neither;
        majority (task): how many have the most frequent answer;
        held (searched, scale, place): the share right on held-out sentences, mean over tasks, NaN where nothing was
        tried; value (searched, place): the other parameter;
        length (task): ‖τ_t‖/‖θ₀‖; cosine: of two task vectors, mean over pairs;
        gap_…, coef_… (pair, alpha, layer), own_… (pair, layer), distance (pair): as `along` names them;
        between (pair, alpha, end: 2): how many written answers are right on the two tasks of a pair;
        gap_all, coef_all, own_all (layer): of the average of all networks' weights beside the mean of their features,
        means over questions of all tasks; own_all is the mean over pairs of networks;
        outputs (task): how many are right of answers whose words have the highest mean of all networks' logits;
        negated (lam, taken, task): how many are right of θ₀ − λτ_taken.
        The attributes `test` and `negated` say of how many sentences a task; `outputs` has as many as `negated`.
    """
    return measured(load(settings, seed), settings)


def measured(loaded: Loaded, settings: Settings) -> xarray.Dataset:
    """`measure` of networks that are there."""
    sweep = merged(loaded, settings).merge(lines(loaded, settings)).merge(of_all(loaded, settings))
    return sweep.assign(negated=(("lam", "taken", "task"), negated(loaded, settings.taken))).assign_coords(
        lam=list(TAKEN), taken=list(loaded.tasks)).assign_attrs(
        test=settings.test, negated=settings.taken,
        images=f"{settings.held_out} held-out and {settings.test} test sentences a task, {settings.features} for "
               f"features and {settings.taken} for what is taken away")


def merged(loaded: Loaded, settings: Settings) -> xarray.Dataset:
    """What `measure` says of merged networks."""
    merges = truncated_by_name(loaded.base, loaded.finetuned)
    examples = settings.held_out * len(loaded.tasks)
    tried = searched(partial(loaded.share, part=PARTS[0]), merges, GRIDS, loaded.tasks, examples, threads.side_by_side)
    networks = map(TextToText.from_state, [loaded.base, *tuned(tried, GRIDS, merges).values()])
    everywhere = threads.side_by_side(partial(on_all, loaded), list(networks))
    counts = np.array([*everywhere, loaded.own(partial(counted, loaded))]).transpose(2, 0, 1)
    lengths, cosine = geometry(loaded.base, loaded.finetuned)
    sets = {"right": (("way", "reported", "task"), counts[:2]), "said": (("kind", "reported", "task"), counts[2:]),
            "majority": ("task", [most_frequent(y) for _, y in loaded.test]),
            "held": tried.held.mean("task", skipna=False), "value": tried.value,
            "length": ("task", lengths), "cosine": cosine}
    coords = {"way": list(WAYS), "kind": list(SAID), "reported": ["θ₀", *GRIDS, "single"], "task": list(loaded.tasks)}
    return xarray.Dataset(sets, coords, tried.attrs)


def truncated_by_name(base: State, finetuned: Sequence[State]) -> Merges:
    """As `anew`, but CART truncates attention's and the MLPs' matrices alone, as its released code does, and decomposes
    them once; all else stays at the average."""
    others, spectra = anew(base, finetuned), Spectra(base, finetuned)

    def of(method, **parameters):
        if method != "cart":
            return others(method, **parameters)
        total = matrices.truncated_sum(spectra, parameters["rank_ratio"], matrices.by_name)
        return partial(matrices.moved, spectra.origin, total)

    return of


def on_all(loaded: Loaded, network: TextToText) -> np.ndarray:
    """(tasks, 5): `counted` of every task."""
    return np.array([counted(loaded, network, task) for task in range(len(loaded.tasks))])


def counted(loaded: Loaded, network: TextToText, task: int) -> np.ndarray:
    """How many of a task's test questions are answered right, written and chosen, and how many answers are of each kind
    of `SAID`, (5,)."""
    x, y = loaded.test[task]
    said = written(network, x, asked.LONGEST)
    answers = answers_of([loaded.tasks[task]])
    others = answers_of([other for other in loaded.tasks if other != loaded.tasks[task]])
    is_own, is_others = is_among(said, answers), is_among(said, others)
    kinds = [is_own, is_others & ~is_own, ~is_own & ~is_others]
    correct = [(said == y).all(1), (answers[likeliest(network, x, answers)] == y).all(1)]
    return np.array([int(which.sum()) for which in (*correct, *kinds)])


def right(network: TextToText, x: Tensor, y: Tensor) -> int:
    """How many questions are answered right, word for word.

    Args:
        network: that is asked.
        x, y: questions (questions, length), answers (questions, places).
    """
    return int((written(network, x, y.shape[1]) == y).all(1).sum())


def written(network: TextToText, x: Tensor, length: int) -> Tensor:
    """(questions, length): the answers, some at a time, so that logits stay in the processor's cache."""
    said = []
    for some in x.split(AT_ONCE):
        threads.stop_if_asked()
        said.append(network.answer(some, length))
    return torch.cat(said)


def answers_of(tasks: Sequence[str]) -> Tensor:
    """(answers, `asked.LONGEST`): all answers of these tasks."""
    return torch.cat([asked.answers(task)[:, :asked.LONGEST] for task in tasks])


def is_among(said: Tensor, answers: Tensor) -> Tensor:
    """(questions,): whether what was said is one of the answers."""
    return (said[:, None] == answers).all(2).any(1)


@torch.no_grad()
def likeliest(network: TextToText, x: Tensor, answers: Tensor) -> Tensor:
    """(questions,): the number of the answer whose words, and its end, have the highest probability together.

    Args:
        network: that is asked.
        x: questions (questions, length).
        answers: to choose from (answers, places).
    """
    scores = []
    for answer in answers:
        threads.stop_if_asked()
        logits, words = network.written(x, answer.expand(len(x), -1))
        scores.append(-F.cross_entropy(logits, words, reduction="none").view(len(x), -1).sum(1))
    return torch.stack(scores, 1).argmax(1)


def most_frequent(y: Tensor) -> int:
    """How many of the answers (questions, places) are the most frequent one."""
    return int(y.unique(dim=0, return_counts=True)[1].max())


def lines(loaded: Loaded, settings: Settings) -> xarray.Dataset:
    """What `measure` says of the lines between networks."""
    pairs = [pair for pair in PAIRS if set(pair) <= set(loaded.tasks)]
    along_lines = threads.side_by_side(partial(of_pair, loaded, settings.features), pairs)
    names = xarray.DataArray([" and ".join(pair) for pair in pairs], dims="pair", name="pair")
    return xarray.concat(along_lines, names)


def of_pair(loaded: Loaded, count: int, pair: tuple[str, str]) -> xarray.Dataset:
    """Gap, coef and own distance between two networks, on so many questions of both tasks, and their answers between
    them; α is the weight of the first."""
    places = [loaded.tasks.index(task) for task in pair]
    ends = [loaded.finetuned[place] for place in places]
    x = torch.cat([loaded.test[place][0][:count] for place in places])
    line = along(lambda state, x: TextToText.from_state(state).features(x), *ends, ALPHAS, parts=(x,))
    between = [[right(TextToText.from_state(interpolate(*ends, alpha)), *loaded.test[place]) for place in places]
               for alpha in ALPHAS]
    return line.drop_vars(["coef_count", "bin"]).assign(between=(("alpha", "end"), between))


def of_all(loaded: Loaded, settings: Settings) -> xarray.Dataset:
    """What `measure` says of all networks together: whether their average has the mean of their features (CTL for more
    than two), and what the mean of their logits answers."""
    networks = list(map(TextToText.from_state, loaded.finetuned))
    middle = TextToText.from_state(average(loaded.finetuned))
    seen = threads.side_by_side(lambda of_task: beside_the_mean(networks, middle, of_task[0][:settings.features]),
                                loaded.test)
    said = threads.side_by_side(lambda of_task: in_chorus(networks, *(part[:settings.taken] for part in of_task)),
                                loaded.test)
    numbers = np.mean(seen, 0).T
    sets = {f"{name}_all": ("layer", numbers[place]) for place, name in enumerate(("gap", "coef", "own"))}
    return xarray.Dataset(sets | {"outputs": ("task", said)},
                          {"layer": middle.layer_names, "task": list(loaded.tasks)})


@torch.no_grad()
def beside_the_mean(networks: Sequence[TextToText], middle: TextToText, x: Tensor) -> list[tuple[float, ...]]:
    """Gap, coef and own distance of every layer, means over questions x."""
    each, rows = [network.features(x) for network in networks], []
    for layer, features in middle.features(x).items():
        ends = [features_of[layer].double() for features_of in each]
        mean = torch.stack(ends).mean(0)
        distances = [own_distance(*pair).mean() for pair in itertools.combinations(ends, 2)]
        gap = own_distance(features, mean).mean()
        rows.append((gap.item(), coef(features, mean).mean().item(), torch.stack(distances).mean().item()))
    return rows


def in_chorus(networks: Sequence[TextToText], x: Tensor, y: Tensor) -> int:
    """How many questions are answered right by the mean of the networks' logits."""
    def logits(some, said):
        threads.stop_if_asked()
        return torch.stack([network(some, F.pad(said[:, 1:], (0, 1)))[:, -1] for network in networks]).mean(0)

    said = [greedy(partial(logits, some), len(some), y.shape[1]) for some in x.split(AT_ONCE)]
    return int((torch.cat(said) == y).all(1).sum())


def negated(loaded: Loaded, most: int) -> np.ndarray:
    """`negated` of `measure`, on so many sentences a task."""
    less = [partial(without, loaded, task, lam) for lam in TAKEN[1:] for task in range(len(loaded.tasks))]
    seen = threads.side_by_side(lambda make: loaded.right(make(), most=most), less)
    start = np.tile(loaded.right(loaded.base, most=most), (len(loaded.tasks), 1))
    return np.concatenate([start[None], np.reshape(seen, (-1, *start.shape))])


# -- what the numbers say ----------------------------------------------------------------------------------------------

def mean_share(counts: Sequence[int] | xarray.DataArray, questions: int) -> tuple[float, float]:
    """The mean over tasks of shares right, and its standard error, from the number right of each (tasks,).

    Args:
        counts: how many are right.
        questions: how many there are a task.
    """
    shares = np.asarray(counts) / questions
    return float(shares.mean()), float(np.sqrt((shares * (1 - shares) / questions).sum()) / len(shares))


def forgetting(sweep: xarray.Dataset) -> xarray.Dataset:
    """own, others (lam, taken): the share right of θ₀ − λτ on the task whose vector was taken away, and the mean over
    the others."""
    shares = sweep.negated / sweep.attrs["negated"]
    tasks = list(sweep.taken.values)
    itself = xarray.concat([shares.sel(taken=task, task=task, drop=True) for task in tasks],
                           xarray.DataArray(tasks, dims="taken", name="taken"))
    return xarray.Dataset({"own": itself, "others": (shares.sum("task") - itself) / (len(tasks) - 1)})


EXPERIMENT = Experiment("words-texts", measure, PROFILES, setting.source, setting.DATASET, recipes=recipes)
run = EXPERIMENT.run
