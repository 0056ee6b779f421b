"""The suites of chapters 7 and 8, on small networks and the stand-in."""
import pytest
import torch

import data
from data import store
from lessons import suites
from lessons.merging import merge
from lessons.suites import Suite
from toy_models import Architecture, Recipe


@pytest.fixture
def small(one_thread):
    """Three permuted tasks on an MLP of width 20."""
    return suites.permuted(3, size=640, width=20).load(images=50)


@pytest.fixture
def resnets(one_thread):
    """Two splits with their own heads on ResNets of width 8."""
    architecture = Architecture.of("ResNet18", width=8, num_classes=100)
    base = Recipe.on("split_cifar100", architecture, options={"splits": (5,), "size": 64}, lr=0.05, epochs=1)
    recipes = {f"split {i}": base.finetune(options={"splits": (i,), "size": 64}) for i in (0, 3)}
    return Suite("two splits", base, recipes, (0, 3)).load(images=20)


def test_held_out_and_test_images_are_the_even_and_the_odd_ones(small):
    whole = data.load("permuted_mnist", "test", permutation=2)
    every = len(whole) // 2 // 50
    for part, first in (("held-out", 0), ("test", 1)):
        x, y = small.images_of(part)[1]
        assert torch.equal(x, whole.x[first::2][::every][:50]) and torch.equal(y, whole.y[first::2][::every][:50])


def test_a_part_that_does_not_exist_is_named(small):
    with pytest.raises(ValueError, match="'train'"):
        small.accuracy(small.base, "train")


def test_a_finetuned_networks_weights_have_its_own_accuracy_on_its_task(small):
    for part in suites.PARTS:
        own = small.own(part)
        of_task = [small.accuracy(state, part)[task] for task, state in enumerate(small.finetuned)]
        assert of_task == pytest.approx(list(own))
        assert small.normalised(small.finetuned[1], part)[1] == pytest.approx(1)


def test_what_is_kept_per_task_answers_each_task_with_its_own_weights(small, resnets):
    whole = merge("cart_indexing", small.base, small.finetuned, rank_ratio=1.0)
    one_image = 0.021  # of 50 may change: what is no matrix is averaged
    assert list(small.accuracy(whole)) == pytest.approx(list(small.own()), abs=one_image)
    assert resnets.accuracy(merge("emr", resnets.base, resnets.finetuned)).shape == (2,)


def test_an_answer_that_is_not_a_number_is_wrong(small):
    broken = {key: torch.full_like(tensor, torch.nan) for key, tensor in small.base.items()}
    assert list(small.accuracy(broken)) == [0, 0, 0]


def test_tasks_that_are_not_permuted_are_still_trained_differently():
    recipes = list(suites.permuted(3, share=0.0, size=640, width=20).recipes.values())
    assert len({recipe.seed for recipe in recipes}) == 3
    digests = {data.source(recipe.dataset, **dict(recipe.options)).digest for recipe in recipes}
    assert digests == {data.source("permuted_mnist", size=640).digest}


def test_the_backbone_is_merged_and_every_task_keeps_its_own_head(resnets):
    assert not any(key.startswith("head") for key in resnets.base) and "stem.0.weight" in resnets.base
    network = resnets.complete(resnets.base)
    for task, rows in ((0, slice(0, 5)), (1, slice(15, 20))):
        assert torch.equal(network.head.weight[rows], resnets.networks[task].head.weight[rows])
    assert torch.equal(network.head.weight[50:55], resnets.network.head.weight[50:55])


def test_batchnorms_statistics_are_estimated_anew_on_images_of_the_tasks_and_nothing_is_changed(resnets):
    before = {key: tensor.clone() for key, tensor in resnets.base.items()}
    shifted = {key: tensor + 100 if key.endswith("running_mean") else tensor for key, tensor in resnets.base.items()}
    assert list(resnets.accuracy(shifted)) == list(resnets.accuracy(resnets.base))
    assert all(torch.equal(before[key], resnets.base[key]) for key in before)
    one, both = (resnets.complete(resnets.base, tasks).stem[1].running_mean for tasks in ([0], None))
    assert not torch.allclose(one, both)


def test_forward_gives_the_tasks_own_outputs_and_a_gradient(small, resnets):
    for loaded, classes in ((small, 10), (resnets, 5)):
        state = {key: tensor.clone().requires_grad_(tensor.is_floating_point()) for key, tensor in loaded.base.items()}
        batches = loaded.unlabelled(batch_size=8, batches=2)
        assert [[len(batch) for batch in of_task] for of_task in batches] == [[8, 8]] * len(loaded.suite.tasks)
        logits = loaded.forward(state, batches[1][0], 1)
        assert logits.shape == (8, classes)
        logits.sum().backward()
        first = next(iter(state.values()))
        assert first.grad.abs().sum() > 0


def test_suites_have_as_many_tasks_as_they_say():
    assert suites.rotated().tasks == [f"{22.5 * i:g}°" for i in range(1, 9)]
    assert suites.rotated(size=640).tasks == suites.rotated().tasks
    assert len(suites.several().tasks) == 8 and suites.several().tasks[:2] == ["digits", "clothes"]
    assert suites.split(14).splits == tuple(range(14)) and suites.split((3, 7)).tasks == ["split 3", "split 7"]
    assert suites.rotated().source.is_stand_in


def test_a_suite_made_again_is_on_the_data_of_the_moment_and_one_of_ones_own_stays():
    for here in (suites.rotated(size=640), suites.several().part([1, 0]), suites.split((3, 7))):
        with store.as_published():
            there = here.remade()
        assert here.remade() == here and there != here
        assert (there.title, there.tasks, there.splits) == (here.title, here.tasks, here.splits)
    own = Suite("my own", here.base, here.recipes)
    with store.as_published():
        assert own.remade() is own and own.part([0]).remade() == own.part([0])


@pytest.mark.parametrize("make, texts", [
    (suites.rotated, ["MNIST"]),
    (suites.several, ["MNIST", "Fashion-MNIST"]),
    (suites.split, ["CIFAR-100"])])
def test_a_suite_names_each_of_its_data_sets_once_and_not_what_was_done_to_their_images(make, texts):
    said = [source.text for source in make().sources]
    assert len(said) == len(texts) and all(text in one for text, one in zip(texts, said))
    assert not any(word in one for one in said for word in ("turned", "permuted", "first"))


def test_images_are_those_of_the_data_that_are_there_now(small, monkeypatch):
    """They are kept for the next time; under other data they are others."""
    recipe = small.suite.recipes["permutation 2"]
    before = suites._half(recipe, 0, 50)
    assert suites._half(recipe, 0, 50)[0] is before[0]
    other = data.Dataset(torch.zeros(200, 28, 28), torch.zeros(200, dtype=int), data.types.Source("generated", "", "1"))
    monkeypatch.setattr(data, "source", lambda *_, **__: other.source)
    monkeypatch.setattr(data, "load", lambda *_, **__: other)
    assert suites._half(recipe, 0, 50)[0].abs().sum() == 0 < before[0].abs().sum()


def test_a_stand_in_among_the_data_of_a_suite_makes_the_whole_one(monkeypatch):
    official = data.types.Source("official", "MNIST (official files)", "1")
    drawn = data.types.Source("stand-in", "drawn shapes", "2", "no network")
    monkeypatch.setattr(suites.Suite, "sources", [official, drawn])
    joint = suites.several().joint_source
    assert joint.is_stand_in and joint.reason == "no network"
    assert joint.text == "MNIST (official files) and drawn shapes"
    assert joint.digest not in (official.digest, drawn.digest)
    monkeypatch.setattr(suites.Suite, "sources", [official])
    assert suites.several().joint_source is official
