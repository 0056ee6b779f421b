"""The networks of chapter 14 that lie in the repository are what their cards say, and can be trained again."""
import re
import shutil

import pytest
import safetensors.torch
import torch

import data
from data import sentences, store
from lessons import cast, suites
from lessons.words import letters, shipped
from lessons.words.algorithms.letters import generated
from tests.conftest import REAL
from toy_models import training, weights, zoo

NETWORKS = shipped.networks()
each = pytest.mark.parametrize("name", NETWORKS)


@pytest.fixture
def real_texts(monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(REAL))
    if data.source("sentences").is_stand_in or data.source("letters", of="plays").is_stand_in:
        pytest.skip(f"the corpora are not in {REAL}")


@each
def test_a_network_is_that_of_its_recipe_and_the_zoo_finds_it_without_the_corpora(name, monkeypatch):
    monkeypatch.setattr(training, "train_through", None)  # nothing is trained, and the test's zoo is empty
    network = zoo.get(NETWORKS[name], progress=False)
    folder = zoo.CHECKPOINTS / name
    kept = safetensors.torch.load_file(folder / "model.safetensors")
    assert all(torch.equal(tensor, kept[key]) for key, tensor in network.state_dict().items())
    assert (folder / "recipe.json").read_text(encoding="utf-8").strip() == NETWORKS[name].to_json()


@pytest.fixture
def damaged(monkeypatch, tmp_path):
    """(folder, recipe) of a copy of a shipped network, which a test may damage."""
    shutil.copytree(zoo.CHECKPOINTS / "letters_reviews", tmp_path / "data/checkpoints/letters_reviews")
    monkeypatch.setattr(zoo, "CHECKPOINTS", tmp_path / "data/checkpoints")
    zoo.kept_in_the_repository.cache_clear()
    yield zoo.CHECKPOINTS / "letters_reviews", NETWORKS["letters_reviews"]
    zoo.kept_in_the_repository.cache_clear()


@pytest.mark.parametrize("change, what", [(lambda content: content[:-10], "damaged: not readable"),
                                          (lambda content: content[:-10] + bytes(10), "damaged: its digest"),
                                          (None, "missing")])
def test_a_damaged_network_is_named_and_how_to_bring_it_back(damaged, change, what):
    folder, recipe = damaged
    path = folder / "model.safetensors"
    if change:
        path.write_bytes(change(path.read_bytes()))
    else:
        path.unlink()
    with pytest.raises(store.StoreError, match=rf"{what}.* `git checkout data/checkpoints/letters_reviews`"):
        zoo.get(recipe, progress=False)


def test_a_recipe_that_is_not_the_model_s_is_said(damaged):
    folder, _ = damaged
    (folder / "recipe.json").write_bytes(b'{"seed": 1\xff')
    with pytest.warns(store.DataWarning, match=r"recipe.json is not the recipe of .*git checkout data/checkpoints/let"):
        assert zoo.kept_in_the_repository() == {}


def test_on_a_stand_in_finetuning_starts_from_the_same_encoder():
    suite = suites.sentences(0, 32, 1)
    assert suite.source.is_stand_in
    assert all(recipe.parent == NETWORKS["text_encoder_64"] == suite.base for recipe in suite.recipes.values())
    assert suites.sentences(1, 32, 1).base.seed == 1


@pytest.mark.parametrize("sentence, hidden", [
    ("it is one of the best cameras .", "of"), ("what is the capital of peru ?", "?"),
    ("the president of the united states .", "states")])
def test_a_typed_sentence_is_read_without_the_corpora(sentence, hidden):
    network = zoo.get(NETWORKS["text_encoder_64"], progress=False)
    x = sentences.numbers([sentence]).float()
    word = sentences.vocabulary()[hidden]
    asked = x == word
    guesses = network.guesses(torch.where(asked, sentences.MASK, x), asked)
    assert word in guesses[0].topk(3).indices.tolist()


def test_letters_are_written_by_the_pair_and_between_them():
    ends = [zoo.get(NETWORKS[f"letters_{kind}"], progress=False) for kind in letters.ENDS]
    between = zoo.get(NETWORKS["letters_reviews"], progress=False)
    between.load_state_dict(weights.average([network.state_dict() for network in ends]))
    numbers = torch.rand(30, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    texts = {generated(network, "The people", 30, numbers) for network in (*ends, between)}
    assert len(texts) == 3 and all(len(text) in (30, 40) for text in texts)


@each
def test_the_figures_of_a_card_are_measured_again(name, real_texts):
    text = " ".join((zoo.CHECKPOINTS / name / "README.md").read_text(encoding="utf-8").split())
    for what, number in shipped.figures(NETWORKS[name]).items():
        written = float(re.search(rf"{what} (\d\.\d+)", text)[1])
        assert number == pytest.approx(written, abs=0.002), what  # on another processor a guess may tip over
    assert f"{sum(tensor.numel() for tensor in zoo.get(NETWORKS[name]).parameters()):,} parameters" in text


def test_between_plays_and_presidents_half_way_is_better_on_both_texts_together(real_texts):
    """On the 500 pieces of each text that the cards rest on."""
    ends = [zoo.get(NETWORKS[f"letters_{kind}"], progress=False) for kind in letters.ENDS]
    middle = zoo.get(NETWORKS["letters_reviews"], progress=False)
    middle.load_state_dict(weights.average([network.state_dict() for network in ends]))
    sets = [data.load("letters", "test", of=kind, context=letters.CONTEXT) for kind in letters.ENDS]
    means = [sum(shipped._loss(network, pieces) for pieces in sets) / 2 for network in (*ends, middle)]
    assert means[2] < min(means[:2])


@pytest.mark.release  # minutes: they are trained again
@each
def test_trained_again_a_network_is_as_good(name, real_texts):
    recipe = NETWORKS[name]
    start = zoo.get(recipe.parent, progress=False).state_dict() if recipe.parent else None
    again = training.train(recipe, start)
    kept = zoo.get(recipe, progress=False)
    difference = max(float((one - other).abs().max()) for one, other in zip(again.parameters(), kept.parameters()))
    assert difference < 1e-5


def test_the_encoder_is_the_one_that_the_cast_names():
    assert NETWORKS["text_encoder_64"] == cast.pretrained_encoder(0)
