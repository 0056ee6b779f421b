"""The checkpoints that lie in the repository are what their cards say, and can be trained again."""
import hashlib
import re

import pytest
import safetensors.torch
import torch

import data
from lessons import cast, suites
from lessons.vit import shipped
from toy_models import training, zoo

RECIPES = shipped.recipes()
by_width = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: shipped.folder_of(recipe).name)


@by_width
def test_a_checkpoint_is_the_model_of_its_recipe_and_the_zoo_finds_it(recipe, monkeypatch):
    monkeypatch.setattr(training, "train_through", None)  # nothing is trained, and the test's zoo is empty
    network = zoo.get(recipe, progress=False)
    kept = safetensors.torch.load_file(shipped.folder_of(recipe) / "model.safetensors")
    assert all(torch.equal(tensor, kept[key]) for key, tensor in network.state_dict().items())


def test_on_a_stand_in_finetuning_starts_from_the_same_checkpoint():
    suite = suites.altered(64, 0, 32, 1)
    assert suite.source.is_stand_in and all(recipe.parent == RECIPES[0] for recipe in suite.recipes.values())
    assert zoo.has(suite.base) and not zoo.has(suite.recipes["digits negative"])


@by_width
def test_the_card_names_digest_size_and_accuracy(recipe):
    folder = shipped.folder_of(recipe)
    content = (folder / "model.safetensors").read_bytes()
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(content).hexdigest() in text and f"{len(content):,} bytes" in text
    assert re.search(r"digits upright 0\.\d{3}, clothes upright 0\.\d{3}, digits turned by 90° 0\.\d{3}", text)
    assert recipe.to_json() == (folder / "recipe.json").read_text(encoding="utf-8").strip()


def test_all_of_them_together_are_small():
    assert sum(path.stat().st_size for path in zoo.CHECKPOINTS.rglob("*") if path.is_file()) < 8.2e6


@by_width
def test_the_accuracy_of_the_card_is_measured_again(recipe, real_data, real_fashion):
    text = (shipped.folder_of(recipe) / "README.md").read_text(encoding="utf-8")
    for task, share in shipped.accuracies(zoo.get(recipe, progress=False)).items():
        written = float(re.search(rf"{task} (0\.\d+)", text)[1])
        assert share == pytest.approx(written, abs=0.002)  # on another processor an image may tip over


EARLY = {"tiny_vit_64": 2.222903, "tiny_vit_128": 1.846176}  # loss after 40 steps of the training that was kept
STEPS = 40


class Enough(Exception):
    pass


@pytest.mark.slow  # ten seconds each
@by_width
def test_trained_again_it_begins_as_it_did(recipe, real_data, real_fashion, monkeypatch):
    """In float64 every machine has the same first steps; whoever changes how a ViT is trained changes them too."""
    networks, steps, initial = [], iter(range(STEPS)), training._initial

    def begun(*arguments):
        networks.append(initial(*arguments))
        return networks[0]

    def count():
        if next(steps, None) is None:
            raise Enough

    monkeypatch.setattr(training, "_initial", begun)
    monkeypatch.setattr(training, "stop_if_asked", count)
    with pytest.raises(Enough):
        training.train(recipe)
    images = data.load(recipe.dataset, "train")
    which = [*range(200), *range(20_000, 20_200)]  # digits, clothes
    with torch.inference_mode():
        loss = torch.nn.functional.cross_entropy(networks[0](images.x[which].double()), images.y[which])
    assert loss.item() == pytest.approx(EARLY[shipped.folder_of(recipe).name], abs=1e-5)


@pytest.mark.release  # three and a half minutes: it is trained again
def test_trained_again_it_is_as_good(real_data, real_fashion):
    recipe = cast.pretrained_vit(*cast.SHIPPED_VITS[0])
    again = shipped.accuracies(training.train(recipe))
    for task, share in shipped.accuracies(zoo.get(recipe, progress=False)).items():
        assert again[task] == pytest.approx(share, abs=0.01)
