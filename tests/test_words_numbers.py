"""What the ledger keeps of networks that read text, from sweeps made by hand."""
import numpy as np
import pytest
import torch
import xarray

import data
from lessons.kit import claims
from lessons.words.experiment import (
    heads,
    lines,
    longer,
    merges,
    minilm,
    negation,
    numbers,
    parts,
    poets,
    pretraining,
    texts,
)
from lessons.words.experiment.heads import LONG, NEW, PROBE, WHOLE
from lessons.words.experiment.setting import PROFILES

TASKS = list(data.sentences.TASKS)
REPORTED = ["average", "task_arithmetic", "ties", "tsv", "θ₀", "single"]


def made(seed=0, **variables):
    """A sweep of random numbers between 0.1 and 1: {name: {dimension: coordinates}}."""
    generator = np.random.default_rng(seed)
    return xarray.Dataset({name: xarray.DataArray(generator.uniform(0.1, 1, [len(values) for values in grid.values()]),
                                                  {dim: list(values) for dim, values in grid.items()}, list(grid))
                           for name, grid in variables.items()})


def of_line(layers, pairs=("a and b", "b and c")):
    grid = {"pair": pairs, "alpha": texts.ALPHAS, "layer": layers}
    return {"gap_mean": grid, "coef_mean": grid, "own_mean": {"pair": pairs, "layer": layers}}


VECTORS = {"length": {"task": TASKS}, "cosine": {}}
ENCODER_LAYERS = ("embedding", "block 1", "block 2", "pooled", "output")
MINILM_LAYERS = ("embedding", *(f"layer {place}" for place in range(1, 7)), "output")
TEXT_LAYERS = ("encoder 1", "encoder 2", "decoder 1", "decoder 2", "output")


def of_merges(settings, ways):
    return {"accuracy": {"way": ways, "part": ("held-out", "test"), "directions": (0, *settings.directions),
                         "lam": settings.lams, "task": TASKS}, "test": {"reported": REPORTED, "task": TASKS}} | VECTORS


def taken(lams):
    return {"taken": {"taken_lam": lams, "task": TASKS, "effect": ("its own task", "the others")}}


def of_text():
    pairs = tuple(map(" and ".join, texts.PAIRS))
    reported = ["θ₀", "average", "task_arithmetic", "ties", "tsv", "cart", "single"]
    sweep = made(right={"way": texts.WAYS, "reported": reported, "task": TASKS},
                 said={"kind": texts.SAID, "reported": reported, "task": TASKS},
                 between={"pair": pairs, "alpha": texts.ALPHAS, "end": (0, 1)}, outputs={"task": TASKS},
                 negated={"lam": texts.TAKEN, "taken": TASKS, "task": TASKS}, gap_all={"layer": TEXT_LAYERS},
                 own_all={"layer": TEXT_LAYERS}, **of_line(TEXT_LAYERS, pairs), **VECTORS)
    return sweep.assign_attrs(test=1, negated=1)


def of_heads(settings):
    names = {"task": settings.tasks, "rank": settings.ranks, "head": settings.heads}
    grid = names | {"path": heads.PATHS, "lam": settings.lams}
    early = names | {"moment": settings.moments}
    sweep = made(**dict.fromkeys(heads.NUMBERS, grid),
                 **dict.fromkeys(("early_distance", "early_gap", "early_move"), early))
    far = xarray.DataArray(np.linspace(1, 0.2, len(settings.lams)), {"lam": list(settings.lams)}, ["lam"])
    return sweep.assign(distance=far.broadcast_like(sweep.distance),
                        early_distance=0 * sweep.early_distance + xarray.DataArray(
                            np.linspace(0.1, 0.6, len(settings.moments)), dims="moment"))


def of_negation(layers):
    grid = {"task": TASKS, "lam": negation.LAMS, "layer": layers}
    return made(gap_mean=grid, coef_mean=grid, own_mean=grid)


def swept():
    """A sweep for every experiment of the ledger, with the coordinates that it has in full."""
    own, real = PROFILES["full"], minilm.PROFILES["full"]
    methods = {"reported": [*pretraining.SEARCHES, "θ₀", "single"], "task": TASKS}
    rows = {"amount": list(pretraining.AMOUNTS)}
    trainings = {"training": list(longer.TRAININGS)}
    cells = {"start": list(parts.STARTS), "trained": list(parts.FROZEN)}
    letters = {"text": ("plays", "presidents"), "piece": range(9)}
    return {
        merges.EXPERIMENT.name: made(**of_merges(own, merges.WAYS)).assign_attrs(width=64),
        lines.EXPERIMENT.name: made(**of_line(ENCODER_LAYERS), **taken(lines.TAKEN)),
        minilm.EXPERIMENT.name: made(**of_merges(real, minilm.WAYS), **of_line(MINILM_LAYERS),
                                     **taken(real.taken)).assign_attrs(width=minilm.WIDTH),
        texts.EXPERIMENT.name: of_text(),
        pretraining.EXPERIMENT.name: made(test=rows | methods, length=rows | {"task": TASKS}, cosine=rows),
        longer.EXPERIMENT.name: made(test=trainings | methods, length=trainings | {"task": TASKS}, cosine=trainings),
        parts.EXPERIMENT.name: made(test=cells | methods, length=cells | {"task": TASKS}, cosine=cells),
        heads.EXPERIMENT.name: of_heads(heads.PROFILES["full"]),
        heads.MINILM.name: of_heads(heads.MINILM_PROFILES["full"]),
        negation.EXPERIMENT.name: of_negation(ENCODER_LAYERS), negation.MINILM.name: of_negation(MINILM_LAYERS),
        negation.TEXTS.name: of_negation(TEXT_LAYERS),
        poets.EXPERIMENT.name: made(loss={"alpha": poets.BEYOND} | letters, mixed={"way": poets.WAYS} | letters,
                                    length={"text": letters["text"]}, cosine={})}


@pytest.fixture(scope="module")
def offered():
    """{claim: {number: value}} of all experiments of the ledger."""
    sweeps, found = swept(), {}
    for experiment in numbers.LEDGER:
        for claim, values in experiment.claims(sweeps[experiment.name]).items():
            assert not found.get(claim, {}).keys() & values.keys(), "no number is given twice"
            found[claim] = found.get(claim, {}) | values
    return found


def of_text_networks(name):
    return name.startswith((numbers.ENCODER, numbers.MINILM, numbers.TEXTS, numbers.LETTERS))


def test_the_ledger_is_offered_every_number_on_text_that_a_claim_shows(offered):
    judged = {id: claim for id, claim in claims.ledger().items() if numbers.__name__ in claim.modules}
    assert judged.keys() == offered.keys()
    for id, claim in judged.items():
        shown = {one.number for one in claim.numbers if of_text_networks(one.number)}
        assert shown and shown <= offered[id].keys(), (id, shown - offered[id].keys())
        for pattern in filter(of_text_networks, claim.kept):
            assert any(claims.Claim.keeps(claim.model_copy(update={"numbers": [], "kept": [pattern]}), name)
                       for name in offered[id]), f"{id} keeps {pattern}, which nothing gives"


def test_all_numbers_are_finite_plain_numbers(offered):
    for id, values in offered.items():
        assert all(type(value) in (float, int) and np.isfinite(value) for value in values.values()), id


def test_what_a_method_keeps_is_a_share_of_what_finetuning_gained():
    test = xarray.DataArray([[0.3, 0.5], [0.5, 0.7], [0.4, 0.4], [0.8, 1.0]],
                            {"reported": ["θ₀", "average", "ties", "single"], "task": ["a", "b"]}, ["reported", "task"])
    found = numbers.of_methods(test)
    assert found == pytest.approx({"θ₀": 0.4, "average": 0.6, "ties": 0.4, "single": 0.9, "single over θ₀": 0.5,
                                   "average kept of the gain": 0.4, "ties kept of the gain": 0.0,
                                   "ties over average": -0.2})
    nothing = numbers.of_methods(xarray.zeros_like(test))
    assert np.isnan(nothing["average kept of the gain"])


def test_held_out_sentences_choose_directions_and_lam_and_test_sentences_judge():
    grid = {"way": [merges.BY_NAME], "part": ["held-out", "test"], "directions": [0, 1, 5, 32], "lam": [1.0, 2.0],
            "task": ["a"]}
    accuracy = np.zeros((1, 2, 4, 2, 1))
    accuracy[0, 0, :, :, 0] = [[0.9, 0.9], [0.1, 0.2], [0.5, 0.4], [0.3, 0.2]]  # no direction is not CART
    accuracy[0, 1, :, :, 0] = [[0.6, 0.6], [0.55, 0.5], [0.7, 0.8], [0.62, 0.9]]
    sweep = xarray.Dataset({"accuracy": (list(grid), accuracy)}, grid)
    curve = numbers.by_directions(sweep, merges.BY_NAME)
    assert curve.attrs == {"chosen": 5, "lam": 1.0} and curve.sel(task="a").values.tolist() == [0.5, 0.7, 0.62]
    found = numbers.of_curve(curve.mean("task", keep_attrs=True), 0.6, 64)
    assert found == pytest.approx({"best share": 5 / 64, "best λ": 1.0, "8 % over average": 0.1,
                                   "fewest over average": -0.1, "best over fewest": 0.2, "best over most": 0.08})


def test_the_gap_is_compared_with_the_distance_between_the_ends_where_there_is_one():
    sweep = made(**of_line(("embedding", "block 1", "pooled", "output")))
    sweep = sweep.assign(gap_mean=0 * sweep.gap_mean + 0.1, own_mean=0 * sweep.own_mean + 0.5)
    sweep.own_mean.loc[{"layer": "embedding"}] = 1e-12
    sweep.own_mean.loc[{"layer": "output", "pair": "b and c"}] = 0.2
    found = numbers.of_line(sweep)
    assert found["gap over own, last block"] == pytest.approx(0.2) and found["own, last block"] == pytest.approx(0.5)
    assert found["gap over own, most"] == pytest.approx(0.5), "not that of the embedding, which both ends share"


@pytest.mark.parametrize("layers, last", [(ENCODER_LAYERS, "block 2"), (MINILM_LAYERS, "layer 6"),
                                          (TEXT_LAYERS, "decoder 2")])
def test_the_last_block_is_found_in_every_network(layers, last):
    assert numbers.last_block(made(**of_line(layers))) == last


def test_what_is_forgotten_is_told_for_all_tasks_and_for_one():
    sweep = of_text()
    found = numbers.of_texts(sweep)["CTL-13"]
    place = TASKS.index(numbers.ALONE)
    half = sweep.negated.sel(lam=0.5).values
    assert found["question at 0.5"] == pytest.approx(half[place, place])
    assert found["other tasks than question at 0.5"] == pytest.approx((half[place].sum() - half[place, place]) / 7)
    assert found["task at 0.5"] == pytest.approx(np.trace(half) / 8)


def test_two_averaged_networks_are_compared_with_their_own_ends():
    sweep = of_text()
    right = {name: sweep.right.sel(way="written", reported=name) for name in ("θ₀", "single")}
    means = {name: np.mean([values.sel(task=task) for pair in texts.PAIRS for task in pair])
             for name, values in right.items()}
    middle = sweep.between.sel(alpha=0.5).mean().item()
    expected = (middle - means["θ₀"]) / (means["single"] - means["θ₀"])
    assert numbers.of_texts(sweep)["CART-13"]["pairs kept of the gain"] == pytest.approx(expected)
    whole = sweep.assign(between=sweep.between * 0 + means["single"])
    assert numbers.of_texts(whole)["CART-13"]["pairs kept of the gain"] == pytest.approx(1)


TUNED = heads.Settings(("film", "question"), (WHOLE, 8), (NEW, PROBE, LONG), (0.0, 1.0, 50.0), size=1, passes=1,
                       rates=(1, 1), moments=(0.2, 0.6), sentences=1)


def bent(with_lam, as_short):
    """A sweep whose relative gap over λ is given; 1 and λ make NaN under LONG as `heads.measured` does."""
    sweep = of_heads(TUNED)
    gap = xarray.DataArray([with_lam, as_short], {"path": list(heads.PATHS), "lam": list(TUNED.lams)}, ["path", "lam"])
    sweep = sweep.assign(gap=gap.broadcast_like(sweep.gap).copy(), move=0 * sweep.move + 1)
    late = {"head": LONG, "lam": [1.0, 50.0]}
    for name in ("gap", "move", "distance", "accuracy", "moved"):
        sweep[name] = sweep[name].transpose("task", "rank", "head", "path", "lam").copy()
        sweep[name].loc[late] = np.nan
    return sweep


def test_how_often_the_relative_gap_falls_and_whether_a_shorter_vector_would_do():
    found = numbers.of_heads(bent([0.5, 0.4, 0.6], [0.5, 0.3, 0.1]))
    text, lora = found["LFT-11"], found["LFT-14"]
    assert text["steps at which the relative gap falls"] == 0.5 and text["steps at which the distance falls"] == 1.0
    assert text["relative gap less as short at 1"] == pytest.approx(0.1)
    assert text["relative gap less as short at 50, most"] == pytest.approx(0.5)
    assert text["new head: relative gap at 0"] == pytest.approx(0.5)
    assert lora["rank 8: steps at which the relative gap falls"] == 0.5
    assert lora["rank 8: relative gap less that of all weights"] == pytest.approx(0)
    assert "all weights: relative gap less that of all weights" not in lora


def test_a_head_as_long_as_the_probes_is_compared_without_lam():
    sweep = bent([0.5, 0.4, 0.3], [0.5, 0.4, 0.3])
    sweep.gap.loc[{"head": LONG, "lam": 0.0}] = 0.8
    found = numbers.of_heads(sweep)["LFT-11"]
    assert found[f"{LONG}: relative gap less the probe's"] == pytest.approx(0.3)
    assert found[f"{NEW}: relative gap less the probe's"] == pytest.approx(0)


def test_stopping_early_is_compared_at_the_same_distance():
    sweep = bent([0.5, 0.4, 0.3], [0.5, 0.4, 0.3])
    sweep = sweep.assign(early_gap=0 * sweep.early_gap + 0.25, early_move=0 * sweep.early_move + 1)
    found = numbers.of_stopping(sweep)  # distances 1, 0.6, 0.2; moments at 0.1 and 0.6
    assert found == pytest.approx({"relative gap less stopped early at 1": 0.15,
                                   "relative gap less stopped early at 50": 0.05})
    assert numbers.of_stopping(sweep.drop_dims("moment")) == {}


def test_a_barrier_is_the_rise_over_the_straight_line_between_the_two_writers():
    sweep = swept()[poets.EXPERIMENT.name]
    heights = xarray.DataArray([9.0, 1.0, 1.5, 1.2, 1.1, 2.0, 9.0], {"alpha": list(poets.BEYOND)}, ["alpha"])
    sweep = sweep.assign(loss=heights.broadcast_like(sweep.loss), mixed=0 * sweep.mixed + 1.0)
    found = numbers.of_writers(sweep)["CTL-1"]
    assert found["barrier on both texts"] == pytest.approx(1.5 - 1.25)
    assert found["middle gain"] == pytest.approx(-0.2) and found["mean of logits less middle"] == pytest.approx(-0.2)
    assert found["loss ratio least"] == pytest.approx(2.0)


# -- a task vector added and taken away --------------------------------------------------------------------------------

def test_linear_features_are_half_way_and_curved_ones_are_not():
    generator = torch.Generator().manual_seed(0)
    base, *finetuned = ({"W": torch.randn(3, 4, generator=generator, dtype=torch.float64)} for _ in range(3))
    x = [torch.randn(5, 3, generator=generator, dtype=torch.float64) for _ in range(2)]

    def features(state, x):
        return {"block 1": x @ state["W"], "block 2": (x @ state["W"]).square()}

    sweep = negation.measured(features, base, finetuned, x, ["a", "b"])
    assert sweep.gap_mean.dims == ("task", "lam", "layer")
    assert float(abs(sweep.gap_mean.sel(layer="block 1")).max()) < 1e-12
    assert np.allclose(sweep.coef_mean.sel(layer="block 1"), 1)
    curved = sweep.gap_mean.sel(layer="block 2")
    assert (curved > 1e-8).all() and (curved.diff("lam") > 0).all()
    step = 0.4 * (finetuned[1]["W"] - base["W"])
    ends = [(x[1] @ (base["W"] + sign * step)).square() for sign in (1, -1)]
    expected = 1 - torch.cosine_similarity((x[1] @ base["W"]).square(), sum(ends) / 2, dim=1).mean().item()
    assert curved.sel(task="b", lam=0.4).item() == pytest.approx(expected)
    found = numbers.of_negation(sweep)["CTL-11"]
    share = (sweep.gap_mean / sweep.own_mean).sel(layer="block 2", lam=0.4)
    assert found["gap over own at 0.4, last block"] == pytest.approx(float(share.mean()))
    assert found["gap over own at 0.4, most"] == pytest.approx(float(share.max()))
