"""What this course measured stands in no notebook as a typed number: a cell shows it, and so it cannot go stale.

Read are markdown and the sentences in code, such as the question handed to `predict`. A decimal, a percentage or a
measure in words needs a rule there (angles, section numbers, links, code) or a line in ALLOWED, which says why it
cannot go stale: it is a setting, a definition, or what a source reports.
"""
import ast
import json
import re

import pytest

from lessons.kit.notebooks import CHAPTERS

NUMBER = re.compile(r"\d+\.\d+|\d+(?= ?(?:%|per ?cent\b))")
WORDS = re.compile(r"""\bhalf\ an?\ point\b | \bpoints?\ (?:ahead|behind|below|above)\b
                       | \bby\ (?!how)(?:[\w-]+\ ){1,4}points?\b
                       | \b\w+\ (?:third|quarter|fifth|tenth|hundredth)s\b
                       | \b(?:a|one)\ (?:third|quarter|fifth|tenth|hundredth|thousandth)\ of\b
                       | \bfactor\ of\ \w+ | \b(?:twice|thrice|(?!many)\w+\ times)\ as\ \w+ | \babout\ half\b(?!-)
                       """, re.IGNORECASE | re.VERBOSE)
RULES = re.compile(r"`[^`]*`|<!--.*?-->"  # code, markers
                   r"|\]\([^)]*\)|arXiv \d+\.\d+"  # links, papers
                   r"|[Ee]xercise \d+\.\d+"  # test_exercises.py holds them
                   r"|§ ?\d+(?:\.\d+)*|\b[A-Z]\.\d+(?:\.\d+)*|(?:Eq|Fig)\. \d+(?:\.\d+)?"  # in a source
                   r"|\d+\.\d+°")  # an angle is a task
SLIDER, CHANCE = "where the learner puts a slider", "one over the number of classes"
RATE, RANK = "a learning rate", "the source's rank"
REPORTED, GRID, LITERATURE = "CTL reports it", "CART's grid", "the literature's λ"
THIRDS = "how the data are split"
ALLOWED = {
    "00_start_here": {
        "training-loop": {"0.5": CHANCE}},
    "01_linearity": {
        "baseline": {"5": "an example; its square root is 0.22"}},
    "02_linearity_resnet": {
        "batchnorm-heads": {"0.2": CHANCE},
        "exercise-2-3-text": {"0.5": SLIDER}},
    "02_statistics": {
        "own-text": {"20 times as large": "√20: 1,000 images or 20,000", "1.4": "√2", "4 times as large": "1.4, √2"}},
    "03_averaging": {
        "setting-hypers": {"0.02": RATE, "0.1": RATE},
        "mine-3-2-read": {"0.1": "two of 2,000"}},
    "04_task_arithmetic": {
        "mine-4-3-text": {"0.3": LITERATURE, "0.4": LITERATURE},
        "equation-2-text": {"twice as far": "the 2 of Eq. 2"}},
    "04_exponents": {
        "exercise-4-6-text": {"1.5": "an option"},
        "growth-text": {"0.2": "up to where exponents are fitted, `causes.SMALL`"},
        "claims-text": {"0.4": "the source's λ", "0.2": "half of it"},
        "in-one-minute": {"0.4": "the source's λ"}},
    "05_pretraining": {
        "exercise-5-3-text": {"three times as far": "given in the exercise"},
        "gently-text": {"five times as many": "a setting"}},
    "05_theorem": {
        "gently-text": {"five times as many": "a setting"},
        "panel-d-text": {"0.035": "log 2 / 20, the softplus' largest distance from the ReLU"},
        "regressions-intro": {"0.903": REPORTED, "0.782": REPORTED, "0.839": REPORTED}},
    "06_derivation": {
        "epochs-text": {"0.8": "TVG reports it"}},
    "07_interference": {
        "exercise-7-3-text": {"3.0": "given", "1.0": "given"}},
    "07_comparisons": {
        "given-text": {number: "CART prints it" for number in ("1.0", "0.2", "0.4", "3.0")},
        "adaptation-read": {"0.001": RATE, "0.5": "500 steps of 0.001"}},
    "08_cart": {
        "five-text": {"0.6": "the definition of a cliff"},
        "minute": {"8": RANK}},
    "08_paper": {
        "title": {"8": RANK},
        "ranks": {"8": RANK},
        "card-rank": {"8": RANK},
        "minute": {"8": RANK},
        "mine-8-4": {"8": RANK},
        "card-8": {"8": RANK, "12": RANK, "16": RANK, "32": RANK},
        "width-text": {"Twice as wide": "a width"},
        "tasks-text": {"1.96": "a quantile", "95": "a level of confidence"},
        "bits-text": {"8": RANK, "0.08": RANK},
        "interference-why": {"87.5": "how many pixels are permuted"},
        "cases-text": {"a quarter of": "`parts.LARGE`"},
        "claims-text": {"8": RANK}},
    "09_theorems": {
        "thirds-text": {"into thirds": THIRDS},
        "mine-9-4-text": {"the thirds": THIRDS},
        "figure-2b-text": {"10.9": "SAIL reports it", "5.0": "SAIL reports it", "10.8": "ln 50257"},
        "exercise-9-6-text": {"0.005": "half a unit of the second digit"}},
    "10_growing": {
        "rows-text": {"twice as many": "a depth", "twice as far": "twice as many steps"},
        "resnet-text": {"twice as wide": "a width"}},
    "11_tangent": {
        "causes-text": {"a fifth of": "where `causes` looks"}},
    "11_theorems": {
        "hump-text": {"a fifth of": "where `causes` looks"}},
    "13_published_tables": {
        "mine-13-4-text": {"ten times as long": "made up"}},
}


def prose(cell: dict) -> str:
    """What a learner reads of a cell: markdown, or the sentences in code, strings of more than two words."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    constants = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return "\n".join(text for text in constants if isinstance(text, str) and len(text.split()) > 2)


def typed(notebook: dict, allowed: dict[str, dict[str, str]]) -> list[str]:
    """The typed numbers that no rule and no line of `allowed` covers, with their cell and the words around them."""
    found = []
    for cell in notebook["cells"]:
        text = RULES.sub("▪", prose(cell))
        for match in sorted([*NUMBER.finditer(text), *WORDS.finditer(text)], key=lambda match: match.start()):
            if match[0] not in allowed.get(cell["id"], {}):
                around = " ".join(text[max(0, match.start() - 40):match.end() + 20].split())
                found.append(f"{cell['id']}: {match[0]!r} in “{around}”")
    return found


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_no_measured_number_is_typed(chapter):
    notebook = json.loads(chapter.read_text(encoding="utf-8"))
    found = typed(notebook, ALLOWED.get(chapter.stem, {}))
    assert not found, "let a cell show it, from the sweep or the ledger, or say in ALLOWED why it cannot go stale"


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_what_is_allowed_is_there(chapter):
    everything = typed(json.loads(chapter.read_text(encoding="utf-8")), {})
    unused = [(id, number) for id, numbers in ALLOWED.get(chapter.stem, {}).items() for number in numbers
              if not any(line.startswith(f"{id}: {number!r} ") for line in everything)]
    assert not unused


def markdown(text, id="text"):
    return {"cell_type": "markdown", "id": id, "source": text}


@pytest.mark.parametrize("sentence, number", [
    ("The entropy falls by 0.09 nats.", "0.09"),
    ("It keeps 93 % of it.", "93"),
    ("It keeps 93% of it.", "93"),
    ("It keeps 93 per cent.", "93"),
    ("We follow §4.1 and get 1.4.", "1.4"),
    ("It gained half a point.", "half a point"),
    ("It ends two points below.", "points below"),
    ("It falls by up to two points.", "by up to two points"),
    ("They keep nine tenths.", "nine tenths"),
    ("It was never more than a tenth of the distance.", "a tenth of"),
    ("They differ by a factor of ten.", "factor of ten"),
    ("It went several times as far.", "several times as far"),
    ("It works up to about half its length.", "about half"),
])
def test_a_typed_measurement_is_found(sentence, number):
    allowed = {"another": {number: "allowed in another cell"}}
    found = typed({"cells": [markdown("# A title"), markdown(sentence)]}, allowed)
    assert len(found) == 1 and found[0].startswith(f"text: {number!r} in")


def test_a_typed_measurement_is_found_in_a_question():
    source = 'guess = predict("Chapter 1 had 0.07. "\n                "And now?", high=0.6)'
    cell = {"cell_type": "code", "id": "ask", "source": source}
    assert typed({"cells": [cell]}, {}) == ["ask: '0.07' in “Chapter 1 had 0.07. And now?”"]


@pytest.mark.parametrize("sentence", [
    "See §4.1, B.1.1, A.2, Eq. 2.1, Fig. 3b and exercise 4.6.",
    "Zhou et al. ([arXiv 2402.03660](https://arxiv.org/abs/2402.03660)), and arXiv 2203.05482.",
    "Turned by 22.5°, with `alpha=0.5` and 10,000 images.",
    "### Exercise 1.4 · coef (8 minutes)",
    "One point a triple, two tasks, from one point to another, about half-way.",
])
def test_places_in_a_source_angles_code_and_counts_are_no_measurements(sentence):
    assert typed({"cells": [markdown(sentence)]}, {}) == []
