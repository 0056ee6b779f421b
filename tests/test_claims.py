import functools
import re

import numpy as np
import pydantic
import pytest
import torch
import yaml

from lessons.cart.panels.centring import CLEAR
from lessons.cart.panels.peak import CLIFF
from lessons.kit import archive, claims, sweep
from lessons.kit.claims import Claim, Condition, Verdict, __main__, judge, model, page
from lessons.kit.experiment import Collection, Experiment

LEDGER = claims.ledger()
FOUND = {"finding": "yes", "scope": "s"}
MEASURED = [claim for claim in LEDGER.values() if claim.measured_by]


@functools.cache
def kept():
    """What measured.yaml holds, read once: it takes a second."""
    return yaml.safe_load(model.MEASURED.read_text(encoding="utf-8"))


def test_the_claims_of_each_of_the_five_sources_stand_together_and_are_numbered_from_1_without_a_hole():
    by_source = {}
    for id in LEDGER:
        source, number = id.split("-")
        by_source.setdefault(source, []).append(int(number))
    assert list(by_source) == ["CTL", "CART", "TVG", "SAIL", "LFT"]
    assert list(LEDGER) == [f"{source}-{number}" for source, numbers in by_source.items() for number in numbers]
    for source, numbers in by_source.items():
        assert numbers == list(range(1, len(numbers) + 1)), source


@functools.cache
def made_pages():
    """What `make claims` would write now."""
    return claims.pages()


def test_the_index_and_the_pages_are_what_the_ledger_and_the_numbers_make():
    made = made_pages()
    assert {name: (page.ROOT / name).read_text(encoding="utf-8") for name in made} == made
    there = {path.relative_to(page.ROOT).as_posix() for path in (page.ROOT / page.FOLDER).iterdir()}
    assert there == set(made) - {page.INDEX}


def test_the_index_has_a_line_for_every_claim_and_stays_short():
    index = made_pages()[page.INDEX]
    assert re.findall(r"^\| \[([A-Z]+-\d+)\]", index, re.MULTILINE) == list(LEDGER)
    assert len(index) < 17_000


def test_a_claim_lies_with_the_chapter_that_measures_most_of_it():
    for path in sorted(model.FOLDER.glob("*/claims.yaml")):
        for entry in model._read(path):
            if "measured_by" in entry:
                assert entry["measured_by"].startswith(f"lessons.{path.parent.name}."), entry["id"]


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim.id)
def test_a_verdict_is_told_in_three_sentences(claim):
    assert 1 <= len(re.findall(r"[.!?](?=\s|$)", claim.why)) <= 3
    assert len(claim.line) <= 110


def test_what_the_words_of_cart_14_count_over_seeds_is_so():
    """The averages of narrow and wide layers overlap, and seed by seed they do not."""
    numbers = {name: np.array(values) for name, values in claims.measured()["CART-14"].items()}
    less = {name: numbers[f"{name}_lost_narrow"] - numbers[f"{name}_lost_wide"]
            for name in ("average", "task_arithmetic", "cart")}
    assert {name: (round(values.mean(), 3), round(values.std(ddof=1) / 10 ** 0.5, 3), int((values > 0).sum()))
            for name, values in less.items()} == {"average": (0.024, 0.006, 9), "task_arithmetic": (0.024, 0.008, 8),
                                                  "cart": (0.288, 0.017, 10)}
    for name in ("average", "task_arithmetic", "ties", "consensus", "cart", "tsv"):
        narrow, wide = (numbers[f"ViT {name}_lost_{width}"] for width in (64, 128))
        assert (narrow[:len(wide)] > wide).all(), name  # the first seeds of the one are those of the other


def test_tuned_cart_is_within_a_point_of_the_average_on_twenty_splits():
    leads = claims.measured()["CART-8"]["ResNet, more tasks split 20: cart over average"]
    assert len(leads) == 3 and max(map(abs, leads)) < 0.01


def test_regmean_leads_on_both_suites_and_every_seed():
    numbers = {name: np.array(values) for name, values in claims.measured()["CART-8"].items()}
    for suite in ("several", "rotated"):
        regmean, cart = (numbers[f"{suite}: {method} over average"] for method in ("regmean", "cart"))
        rivals = {"average": 0 * cart, "cart": cart, "ties": cart - numbers[f"{suite}: cart over ties"],
                  "tsv": cart + numbers[f"{suite}: tsv over cart"]}
        assert len(regmean) == 10 and all((regmean > lead).all() for lead in rivals.values()), suite
        assert (numbers[f"{suite}: model_stock over average"] < 0).all()
        assert (numbers[f"{suite}: fisher over average"] < numbers[f"{suite}: della over average"]).all()


def test_what_chapter_8_counts_over_seeds_is_so():
    """Four tasks unless a name says eight; CART behind others, where it is best, how many values are large."""
    cart_2, cart_4 = ({name: np.array(values) for name, values in claims.measured()[id].items()}
                      for id in ("CART-2", "CART-4"))
    assert (cart_2["truncated_over_cart_head_cut"] > 0).all() and len(cart_2["best"]) == 10
    assert (cart_2["task_arithmetic"] > cart_2["best"]).sum() == 8
    assert 0 < (cart_2["truncated_over_cart_head_whole"] < 0).sum() < 10
    assert len(cart_2["eight_cart"]) == 10 and 0 < (cart_2["eight_cart_over_truncated_head_cut"] < 0).sum() < 10
    for name in ("truncated", "task_arithmetic", "ties"):
        assert (cart_2["eight_cart"] - cart_2[f"eight_{name}"] >= CLEAR).all(), name
    assert (cart_4["10_digits_4_tasks_first"] == 11).sum() == 9 and (cart_4["10_digits_4_tasks_large"] == 10).all()
    assert (cart_4["10_digits_4_tasks_first"] < 10).sum() == 1
    assert (cart_4["8_tasks_best_head_whole"] - cart_4["8_tasks_large"] >= 4).all()
    assert (cart_4["10_digits_4_tasks_left_at_32"] < 0.5).all()
    for name, count in (("3_tasks", 10), ("8_tasks", 10), ("5_digits_5_outputs", 5), ("5_digits_10_outputs", 5)):
        assert (cart_4[f"{name}_large"] == count).all(), name
    assert 7 < cart_4["10_digits_5_outputs_large"].min() <= cart_4["10_digits_5_outputs_large"].max() <= 8
    assert (cart_4["60000_images_large"] > 15).all()
    for name in ("standardised_pixels", "pixels_only_larger"):
        assert (cart_4[f"{name}_drop"] > CLIFF).all() and (abs(cart_4[f"{name}_large"] - 15) <= 1).all(), name
    for name in ("standardised_pixels_lower_learning_rate", "pixels_only_shifted"):
        assert (cart_4[f"{name}_large"] == 10).all() and len(cart_4[f"{name}_large"]) == 10, name
    for name, least, most in (("standardised_pixels", 11, 13), ("standardised_pixels_lower_learning_rate", 7, 11)):
        first = cart_4[f"{name}_first"]
        assert len(first) == 10 and (first.min(), first.max()) == (least, most), name
    assert (cart_4["standardised_pixels_lower_learning_rate_first"] < 10).sum() == 8
    assert (cart_4["pixels_only_shifted_drop"] > CLIFF).sum() == 9
    left = cart_4["standardised_pixels_left_at_32"]
    assert 0.68 < left.min() and left.max() < 0.87 and cart_4["standardised_pixels_drop"].min() > 0.91


@pytest.mark.parametrize("claim", MEASURED, ids=lambda claim: claim.id)
def test_a_verdict_stands_on_numbers_of_all_its_seeds_within_its_bounds(claim):
    numbers = kept()["numbers"][claim.id]
    asked = [seeds for module in claim.modules for experiment in claims.of_ledger(module)
             for seeds in experiment.ledger.values()]
    for condition in claim.conditions:
        assert condition.at_least is not None or condition.at_most is not None
        values = numbers[condition.number]
        assert any(values.keys() <= set(seeds) and len(values) >= min(5, len(seeds)) for seeds in asked), condition
        assert all(condition.holds(value) for value in values.values()), condition


RATIOS = ("two_tasks_shuffled_over_normal", "two_tasks_true_over_normal")


@pytest.mark.parametrize("claim", [claim for claim in MEASURED if claim.chapter <= 8], ids=lambda claim: claim.id)
def test_a_bound_lies_half_a_standard_deviation_beyond_the_extreme_seed(claim):
    """Of a number that varies: one more seed then need not break it. A bound of 0 says which of two is ahead. Ratios
    that spread over much are judged by their logarithms."""
    for condition in claim.conditions:
        scaled = np.log if condition.number in RATIOS else float
        seeds = [scaled(seed) for seed in claims.measured()[claim.id][condition.number]]
        room = 0.5 * np.std(seeds, ddof=1) if len(seeds) > 2 else 0.0
        for bound, sign in ((condition.at_least, 1), (condition.at_most, -1)):
            if bound and room:
                assert min(sign * (seed - scaled(bound)) for seed in seeds) >= room, f"{condition.number}: {bound}"


def test_the_ledger_keeps_what_a_condition_or_a_sentence_uses_and_no_more():
    for id, numbers in claims.measured().items():
        assert all(LEDGER[id].keeps(name) for name in numbers), id
        assert {condition.number for condition in LEDGER[id].conditions} <= numbers.keys(), id


def test_every_number_was_measured_somewhere_and_on_some_day():
    runs = {}
    for run in kept()["runs"]:
        assert run.keys() == {"module", "experiment", "profile", "seeds", *archive.circumstances()}
        assert run["experiment"] in {experiment.name for experiment in claims.of_ledger(run["module"])}
        runs.setdefault(run["module"], set()).update(run["seeds"])
    for claim in MEASURED:
        numbers = kept()["numbers"][claim.id]
        of_modules = [runs[module] for module in claim.modules]
        assert all(any(values.keys() <= seeds for seeds in of_modules) for values in numbers.values()), claim.id


MADE_UP = """
- {id: X-1, line: l, place: p, says: s, measure: m, chapter: 1, measured_by: m, verdict: {finding: "yes", scope: s},
   why: w, kept: ["a * b"], decides: bounded,
   numbers: [{number: bounded, means: m, carries: [finding], at_least: 1, at_most: 2}]}
"""
SOURCES = "- {key: X, title: t, version: v}"
NUMBERS = {"X-1": {"bounded": {0: 1.1, 1: 1.9, 2: 1.5}, "a over b": {0: 0.10, 1: 0.12, 2: 0.11}}}


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A ledger of one claim, with numbers of three seeds; the folder of the chapters."""
    (tmp_path / "one").mkdir()
    for name, text in (("one/claims.yaml", MADE_UP), ("sources.yaml", SOURCES),
                       ("measured.yaml", yaml.safe_dump({"runs": [], "numbers": NUMBERS}))):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(model, "FOLDER", tmp_path)
    monkeypatch.setattr(model, "MEASURED", tmp_path / "measured.yaml")
    monkeypatch.setattr(model, "SPREAD", tmp_path / "spread.yaml")
    monkeypatch.setattr(page, "ROOT", tmp_path)
    for read in (model.ledger, model.sources):
        read.cache_clear()
    yield tmp_path
    for read in (model.ledger, model.sources):
        read.cache_clear()


def test_a_claim_that_stands_twice_is_refused_with_both_places(made_up):
    (made_up / "two").mkdir()
    (made_up / "two" / "claims.yaml").write_text(MADE_UP)
    with pytest.raises(ValueError, match="X-1 stands twice, in .*one/claims.yaml and in .*two/claims.yaml"):
        claims.ledger()


def test_a_claim_of_an_unknown_source_is_refused(made_up):
    (made_up / "one" / "claims.yaml").write_text(MADE_UP.replace("X-1", "Y-1"))
    with pytest.raises(ValueError, match="Y-1, in .*claims.yaml, is of no source in sources.yaml: X"):
        claims.ledger()


def test_claims_of_all_chapters_come_source_after_source_by_their_numbers(made_up):
    (made_up / "another").mkdir()
    (made_up / "another" / "claims.yaml").write_text("\n".join(MADE_UP.replace("X-1", id) for id in ("X-10", "X-2")))
    assert list(claims.ledger()) == ["X-1", "X-2", "X-10"]


def test_the_command_writes_the_index_and_a_page_for_every_source(made_up):
    assert __main__.main(["--page"]) == 0
    written = {path.relative_to(made_up).as_posix() for path in made_up.rglob("*.md")}
    assert written == {"CLAIMS.md", "docs/claims/x.md", "docs/claims/runs.md"}
    index, text = ((made_up / name).read_text() for name in ("CLAIMS.md", "docs/claims/x.md"))
    assert "| [X-1](docs/claims/x.md#X-1) | l | yes | – | – | m: 1.5 (≥ 1, ≤ 2) |" in index
    assert "| m | 1.5 ± 0.4; 1.1 … 1.9 (3 seeds) | at least 1 and at most 2 | finding |" in text
    assert "| `a over b` | 0.11 ± 0.01; 0.1 … 0.12 (3 seeds) |" in text


def entry(bounded=1, **other):
    """A measured claim with so many conditions, as YAML gives it."""
    numbers = [{"number": f"n{i}", "means": "m", "carries": ["finding"], "at_least": 0} for i in range(bounded)]
    return {"id": "X-1", "line": "l", "place": "p", "says": "s", "measure": "m", "chapter": 1, "measured_by": "m",
            "verdict": FOUND, "why": "w", "decides": "n0", "numbers": numbers, **other}


def test_at_most_five_conditions_carry_a_verdict_and_any_number_is_shown():
    shown = [{"number": f"s{i}", "means": "m"} for i in range(9)]
    five = Claim(**entry(5))
    assert len(five.conditions) == 5 and five.decisive.number == "n0"
    with pytest.raises(pydantic.ValidationError, match="X-1 has 6 conditions; at most 5 may carry a verdict"):
        Claim(**entry(6))
    more = Claim(**entry() | {"numbers": entry()["numbers"] + shown})
    assert len(more.conditions) == 1 and len(more.shown) == 9 and more.keeps("s8")


@pytest.mark.parametrize("change, says", [
    ({"decides": "n9"}, "what decides, 'n9', is none of its conditions"),
    ({"verdict": FOUND | {"explanation": "no"}}, "its conditions carry .'finding'., its verdict answers"),
    ({"numbers": [{"number": "n0", "means": "m", "carries": ["finding"]}]}, "n0 carries finding, so it needs a bound"),
    ({"numbers": [{"number": "n0", "means": "m", "at_least": 1}]}, "at_least")])
def test_every_answer_rests_on_a_condition_and_every_condition_carries_one(change, says):
    with pytest.raises(pydantic.ValidationError, match=says):
        Claim(**entry() | change)


@pytest.mark.parametrize("numbers, doubts", [
    ({"bounded": 1.0, "a over b": 0.11}, []),
    ({"bounded": 2.0, "unknown": 1e9}, []),
    ({"bounded": 0.99}, ["X-1: bounded is 0.99; the verdict needs at least 1 and at most 2"]),
    ({"bounded": float("nan")}, ["X-1: bounded is nan"]),
    ({"a over b": 0.5}, ["X-1: a over b is 0.5; the ledger's 3 seeds put it between"]),
    ({"a over b": float("nan")}, ["X-1: a over b is nan"]),
    ({"a over b": 0.14}, [])])
def test_a_rerun_is_judged_by_bounds_and_where_there_are_none_by_the_spread_of_seeds(made_up, numbers, doubts):
    found = claims.confirmed({"X-1": numbers})
    assert len(found) == len(doubts) and all(doubt.startswith(start) for doubt, start in zip(found, doubts))


def test_one_more_seed_of_a_normal_distribution_lies_where_it_is_expected():
    generator = np.random.default_rng(0)
    outside = 0
    for values in generator.normal(5.0, 2.0, (5_000, 5)):
        low, high = claims.expected(list(values[:4]))
        outside += not low <= values[4] <= high
    assert 0 <= outside <= 16  # 1 in 1,000, so 5; five standard errors beyond
    assert claims.expected([0.0, 0.0, 0.0])[1] < 1e-6


def of_seed(seed):
    """The ledger's numbers of one seed; those that were not measured with it are left out."""
    return {id: {name: values[seed] for name, values in of_claim.items() if seed in values}
            for id, of_claim in model._kept()["numbers"].items()}


def test_a_measurement_is_kept_beside_those_of_other_seeds_and_in_place_of_its_own(made_up):
    circumstances = {"processor": "p", "torch": "t", "commit": "c", "date": "2026-01-01"}
    for seed in (3, 1):
        claims.keep("m", "e", "full", seed, {"X-1": {"bounded": 1.25, "useless": 5.0}}, circumstances)
    claims.keep("m", "e", "full", 3, {"X-1": {"bounded": 1.75}}, circumstances | {"commit": "d"})
    assert claims.measured()["X-1"] == {"a over b": [0.1, 0.12, 0.11], "bounded": [1.1, 1.25, 1.5, 1.75]}
    kept = yaml.safe_load(model.MEASURED.read_text())
    assert [(run["seeds"], run["commit"]) for run in kept["runs"]] == [([1], "c"), ([3], "d")]
    assert of_seed(3) == {"X-1": {"bounded": 1.75}}


def test_what_this_machine_says_of_itself_can_be_written(made_up):
    claims.keep("m", "e", "full", 3, {"X-1": {"bounded": 1.25}}, archive.circumstances())
    run, = yaml.safe_load(model.MEASURED.read_text())["runs"]
    assert run["torch"] == str(torch.__version__) and run["processor"]


def test_seeds_that_nobody_has_looked_at_are_counted_and_nothing_is_written(made_up, monkeypatch, capsys):
    bounded = {20: 1.5, 21: 2.5}
    found = lambda profile, seed, device: {"X-1": {"bounded": bounded[seed], "a over b": 9.0}}
    on_mlps = Collection("mlps", sources=lambda: [], measure=found)
    on_resnets = Collection("resnets", sources=lambda: [], measure=found, ledger={"quick": (0, 1, 2)}, long=True)
    monkeypatch.setattr(judge, "of_ledger", lambda module: (on_mlps, on_resnets))
    before = model.MEASURED.read_text()
    assert __main__.main(["--unseen", "20", "21"]) == 0 and model.MEASURED.read_text() == before
    said = capsys.readouterr().out
    assert "seed 21: X-1 bounded is 2.5, the verdict needs at least 1 and at most 2" in said
    assert "1 of 2 conditions hold" in said and "more than a quarter of an hour: resnets. Add --long" in said
    assert __main__.main(["--unseen", "20", "--long", "--experiment", "resnets"]) == 0
    assert "1 of 1 conditions hold" in capsys.readouterr().out


def test_seeds_that_try_no_condition_are_no_success(made_up, monkeypatch, capsys):
    silent = Collection("silent", sources=lambda: [], measure=lambda profile, seed, device: {})
    monkeypatch.setattr(judge, "of_ledger", lambda module: (silent,))
    assert __main__.main(["--unseen", "20"]) == 1
    said = capsys.readouterr().out
    assert "No condition was tried" in said and "0 of 0" not in said


def test_unseen_seeds_try_every_condition_of_the_ledger(monkeypatch):
    asked = [(experiment.name, profile) for _, experiment in OF_THE_LEDGER for profile in experiment.ledger]
    tried = []
    monkeypatch.setattr(judge, "remeasure", lambda experiment, profile, seed: tried.append((experiment.name, profile))
                        or of_seed(0))
    assert __main__.main(["--unseen", "99", "--long"]) == 0
    assert sorted(tried) == sorted(asked)


def test_every_experiment_that_a_module_lists_for_the_ledger_is_measured():
    """`--unseen` tries what the claims name; this compares that with what the chapters have."""
    modules = [".".join(path.relative_to(model.FOLDER.parent).with_suffix("").parts)
               for path in model.FOLDER.rglob("*.py") if "\nLEDGER = " in path.read_text(encoding="utf-8")]
    listed = {one.name for module in modules for one in judge.of_ledger(module.removesuffix(".__init__"))}
    assert listed == {experiment.name for _, experiment in OF_THE_LEDGER}


@pytest.mark.parametrize("package, holds", [("lessons.linearization.experiment", "linearization-rule"),
                                            ("lessons.sail", "sail-width"), ("lessons.vit", "vit-64")])
def test_a_package_stands_for_the_modules_in_it(package, holds):
    assert holds in {experiment.name for _, experiment in __main__._chosen([package], None)}


@pytest.mark.parametrize("options, says", [
    (["--only", "lessons.start"], "lessons.start measures no claim. These modules do: lessons.linearity"),
    (["--only", "lessons.sail", "--experiment", "width"], "no experiment 'width'. There are: sail-spirals")])
def test_a_name_that_measures_nothing_is_refused_with_those_that_do(options, says, capsys):
    with pytest.raises(SystemExit):
        __main__.main([*options, "--unseen", "9"])
    assert says in " ".join(capsys.readouterr().err.split())


def test_the_ledger_is_not_written_by_code_that_no_commit_has(made_up, monkeypatch, capsys):
    monkeypatch.setattr(archive, "_commit", lambda: "abc1234-dirty")
    monkeypatch.setattr(judge, "of_ledger", lambda module: (Collection("c", sources=lambda: [], measure=None),))
    before = model.MEASURED.read_text()
    with pytest.raises(SystemExit):
        __main__.main(["--seeds", "0"])
    assert "Commit the code first" in capsys.readouterr().err and model.MEASURED.read_text() == before


# The same networks, evaluated in float32 with other instructions, differed by less than 1e-5.
NEAR = {"rel": 1e-3, "abs": 5e-4}
OF_THE_LEDGER = [(module, one) for module in claims.measuring() for one in claims.of_ledger(module)]
NOT_IN_THE_REPOSITORY = {  # why
    "resnet-literal": "ResNets for one number of the ledger",
    "interference": "of its suites, what the chapter opens with", "interference-resnets": "as interference",
    "interference-more-tasks": "as interference", "interference-unraced": "as interference"}


def experiments_in_full():
    """The experiments that the ledger measures in full with seed 0, each once."""
    return [pytest.param(one, id=one.name) for _, one in OF_THE_LEDGER
            if 0 in one.ledger.get("full", ()) and one.name not in NOT_IN_THE_REPOSITORY]


@pytest.mark.parametrize("experiment", experiments_in_full())
def test_the_sweeps_in_the_repository_give_the_ledgers_numbers(experiment, monkeypatch):
    """MLPs have the same bits on every processor, so their numbers repeat; ResNets have not, and the ledger's were
    trained elsewhere: their verdicts stand."""
    monkeypatch.setattr(sweep, "cached", lambda name, *_: pytest.fail(f"{name} is not in the repository"))
    if isinstance(experiment, Collection):
        found = experiment.measure("full", 0, "cpu")
    else:
        found = experiment.claims(experiment.archived("full", 0))
    assert found and claims.confirmed(found) == []
    known = of_seed(0)
    for id, measured in found.items():
        kept = {name: value for name, value in measured.items() if LEDGER[id].keeps(name)}
        if not any("ResNet" in name for name in kept) and "resnet" not in experiment.name:
            assert kept == pytest.approx({name: known[id][name] for name in kept}, **NEAR), id


# Their numbers are controls and carry no verdict. What lessons say of them is held in tests/test_sail_views.py and in
# tests/test_linearization_views.py.
CONTROLS = {"sail-knowledge", "sail-between", "sail-rates", "sail-random-maps", "linearization-batches"}


@pytest.mark.parametrize("experiment", [
    pytest.param(one, id=one.name) for _, one in OF_THE_LEDGER
    if isinstance(one, Experiment) and "full" not in one.ledger and one.archived() is not None])
def test_what_the_ledger_measures_in_quick_holds_for_the_full_sweep_too(experiment):
    """A chapter in profile full shows both beside each other."""
    wrong, tried = claims.wrong(experiment.claims(experiment.archived()))
    assert bool(tried) is (experiment.name not in CONTROLS) and wrong == []


# From the training of networks to the ledger's numbers, in the suite for these; `make claims` does so for all.
FROM_NOTHING = {"linearity", "labels", "gradients-steps", "linearization-lora"}


@pytest.mark.timed  # of MLPs that the chapters' tests trained, six to fifteen seconds each
@pytest.mark.real
@pytest.mark.parametrize("experiment", [pytest.param(one, id=one.name) for _, one in OF_THE_LEDGER
                                        if one.name in FROM_NOTHING])
def test_measuring_again_confirms_the_ledger_and_repeats_its_numbers(experiment, real_data, real_folder_session,
                                                                     monkeypatch):
    """Seed 0 in full on the real data.

    The verdicts stand, and as MLPs have the same bits on every processor, so do the numbers, nearly.
    """
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(real_folder_session))
    numbers = claims.remeasure(experiment, "full", 0)
    assert claims.confirmed(numbers) == []
    known = of_seed(0)
    for id, measured in numbers.items():
        expected = {name: known[id][name] for name in measured}
        assert measured == pytest.approx(expected, **NEAR), id


def test_measuring_the_ledger_on_a_stand_in_is_refused():
    from data import store
    generated = {"sail-spirals", "sail-flow"}  # Spirals alone
    for module in claims.measuring():
        for experiment in claims.of_ledger(module):
            if module.split(".")[1] != "gradients" and experiment.name not in generated:  # gradients: both kinds
                with pytest.raises(store.Unavailable, match="stand-in"):
                    claims.remeasure(experiment, "full", 0)


def test_a_claim_without_a_measurement_has_no_verdict():
    with pytest.raises(pydantic.ValidationError, match="no measurement"):
        Claim(**entry() | {"measured_by": None})
    with pytest.raises(pydantic.ValidationError, match="needs conditions"):
        Claim(**entry(0))


@pytest.mark.parametrize("formula, mistake, fits", [
    ("no", "", False), ("partly", "the sign", False), ("no", "error: the sign", True), ("yes", "", True),
    ("partly", "misprint: the sign", True), ("–", "", True)])
def test_a_formula_that_does_not_hold_names_a_misprint_or_an_error(formula, mistake, fits):
    entry = {"finding": "yes", "formula": formula, "mistake": mistake, "scope": "s"}
    if fits:
        assert Verdict(**entry).formula == formula
    else:
        with pytest.raises(pydantic.ValidationError, match="misprint"):
            Verdict(**entry)


def test_a_brief_line_answers_the_three_questions():
    shown = claims.brief({"CART-5": {}})
    verdict = LEDGER["CART-5"].verdict
    cells = "".join(f"<td[^>]*>{answer}</td>" for answer in (verdict.finding, verdict.explanation, verdict.formula))
    assert re.search(cells, re.sub(r"\s+", " ", shown.page)), shown.page
    assert "✗" in claims.brief({"CTL-6": {"excess_equal_loss": 0.5}}).page


def test_a_brief_line_has_a_tick_only_where_a_condition_was_measured():
    none = claims.brief({"CTL-3": {"quick block_8_share": 0.2}})
    assert none.text.endswith("here –") and "✓" not in none.page and "✗" not in none.page
    assert "the numbers that the verdict needs belong to another profile" in none.page
    one = claims.brief({"CTL-3": {"full block_8_share": 0.2}})
    assert one.text.endswith("here ✓") and "another profile" not in one.page
    assert claims.brief({"CTL-3": {"full block_8_share": 0.5}}).text.endswith("here ✗")


def test_a_condition_holds_between_its_bounds():
    condition = Condition(number="n", means="m", carries=["finding"], at_least=1, at_most=2)
    assert [condition.holds(value) for value in (0.9, 1, 2, 2.1, float("nan"))] == [False, True, True, False, False]


def test_a_claim_opens_by_itself_and_what_else_came_out_lies_in_a_fold_of_its_own():
    shown = claims.show({"TVG-1": {"apart_most": 0.0}, "TVG-3": {"gap_power_least": 2.0}}, "made up").page
    first, second, more = shown.split("<details><summary>")[1:]
    assert first.startswith("<b>TVG-1 (Eq. 1):</b>") and LEDGER["TVG-1"].why in first
    assert second.startswith("<b>TVG-3 (Eq. 2, 3):</b>") and more.startswith("More on what came out</summary>")
    assert "Finding observed: yes, formula right: no</b> ✓</summary>" in second


def test_a_verdict_that_the_numbers_do_not_carry_is_said():
    numbers = {"CTL-6": {"excess_equal_loss": 0.5, "excess_over_chord": -1.0}}
    shown = claims.show(numbers, "made up")
    assert "do not carry" in shown.text and "do not carry" in shown.page and "✗" in shown.page
    of_shown = claims.show({"CTL-1": {"barrier_one_task": 9.0}}, "").page
    assert of_shown.count("barrier on one task, largest") == 1
    assert "✗" not in of_shown, "what is shown carries no verdict"
    of_another_profile = claims.show({"CTL-6": {}}, "nothing measured here")
    assert "do not carry" not in of_another_profile.page, "they say nothing against a verdict"
    assert "Not judged here" in of_another_profile.page and "another profile" in of_another_profile.text
    assert "Not judged here" not in shown.page and "Not judged here" in of_shown
