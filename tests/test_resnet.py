"""ResNet18, its training on a few of its classes, and the treatments of BatchNorm."""
import contextlib
import copy
import itertools
import json
import signal
import statistics

import pytest
import torch
import torch.nn.functional as F

import data
from data.pinning import pinned
from lessons.resnet import algorithms
from toy_models import Architecture, Recipe, ResNet18, batchnorm, losses, training, weights, zoo

TINY = Architecture.of("ResNet18", width=2, num_classes=100)


def recipe(**changes):
    arguments = {"options": {"splits": (0,), "size": 128}, "lr": 0.05, "epochs": 1, "batch_size": 64, "seed": 0}
    arguments |= changes
    return Recipe.on("split_cifar100", TINY, **arguments)


def network(width=2, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        found = ResNet18(width, 10)
        found(torch.randn(32, 3, 32, 32))  # its running statistics then are not what they were made with
    return found.eval().requires_grad_(False)


def images(samples=8):
    return torch.randn(samples, 3, 32, 32, generator=torch.Generator().manual_seed(1))


def test_features_come_after_every_block_in_depth_order():
    features = network(4).features(images(2))
    assert list(features) == [f"block {i}" for i in range(1, 9)] + ["output"]
    stages = [(4, 32, 32)] * 2 + [(8, 16, 16)] * 2 + [(16, 8, 8)] * 2 + [(32, 4, 4)] * 2
    assert [tuple(f.shape[1:]) for f in features.values()] == [*stages, (10,)]
    assert all((feature >= 0).all() for name, feature in features.items() if name != "output")
    assert torch.equal(features["output"], network(4)(images(2)))


def test_the_full_network_is_resnet_18():
    # as counted for the CIFAR form with ten classes
    assert sum(p.numel() for p in ResNet18(64, 10).parameters()) == 11_173_962


@pytest.mark.parametrize("arguments, says", [
    ({"width": 0}, "width must be"), ({"width": 1.5}, "width must be"), ({"num_classes": True}, "num_classes must be")])
def test_a_senseless_size_is_an_error(arguments, says):
    with pytest.raises(ValueError, match=says):
        ResNet18(**arguments)


@pytest.mark.parametrize("shape", [(8, 3072), (8, 1, 32, 32), (3, 32, 32)])
def test_images_of_another_shape_are_an_error_that_names_it(shape):
    with pytest.raises(ValueError, match=str(shape[-1])):
        network()(torch.zeros(shape))


def test_a_network_comes_back_from_its_state_dict_and_foreign_ones_are_refused():
    original = network(3)
    again = ResNet18.from_state(original.state_dict())
    assert torch.equal(again(images()), original(images()))
    with pytest.raises(ValueError, match="not the weights of a ResNet18.*layers.0.weight"):
        ResNet18.from_state({"layers.0.weight": torch.zeros(2, 2)})


def test_an_interpolated_state_dict_carries_the_counters_and_mixes_the_running_statistics():
    a, b = network(seed=0).state_dict(), network(seed=1).state_dict()
    b["stem.1.num_batches_tracked"] = torch.tensor(7)
    mixed = weights.interpolate(a, b, 0.25)
    assert mixed["stem.1.num_batches_tracked"] == a["stem.1.num_batches_tracked"] == 1
    assert torch.allclose(mixed["stem.1.running_var"], 0.25 * a["stem.1.running_var"] + 0.75 * b["stem.1.running_var"])


# -- training ----------------------------------------------------------------------------------------------------------

def test_the_loss_compares_only_the_classes_that_occur():
    logits, y = torch.randn(6, 20, generator=torch.Generator().manual_seed(0)), torch.tensor([5, 9, 5, 12, 9, 12])
    classes = torch.tensor([5, 9, 12])
    expected = F.cross_entropy(logits[:, [5, 9, 12]], torch.tensor([0, 1, 0, 2, 1, 2]))
    assert torch.isclose(losses.masked(classes)(logits, y), expected)
    assert torch.isclose(losses.masked(torch.arange(20))(logits, y), F.cross_entropy(logits, y))


def test_outputs_of_other_tasks_stay_as_they_are():
    start = zoo.get(recipe(epochs=0), progress=False).state_dict()
    end = zoo.get(recipe(options={"splits": (3,), "size": 128}).finetune(), progress=False).state_dict()
    begin = zoo.get(recipe(options={"splits": (3,), "size": 128}, epochs=0), progress=False).state_dict()
    assert torch.equal(begin["head.weight"], start["head.weight"]), "the seed alone decides about the initial weights"
    changed = (end["head.weight"] != begin["head.weight"]).any(1)
    assert changed.nonzero().flatten().tolist() == [15, 16, 17, 18, 19]


def test_training_is_the_same_twice_and_the_zoo_keeps_the_running_statistics():
    first = training.train(recipe()).state_dict()
    kept = zoo.get(recipe(), progress=False).state_dict()
    read = zoo.get(recipe(), progress=False).state_dict()
    for key in first:
        assert torch.equal(first[key], kept[key]) and torch.equal(first[key], read[key]), key
    assert read["stem.1.num_batches_tracked"] == 2 and not torch.equal(read["stem.1.running_var"], torch.ones(2))


def test_finetuning_carries_the_running_statistics_on():
    child = recipe().finetune(options={"splits": (1,), "size": 128})
    assert zoo.get(child, progress=False).state_dict()["stem.1.num_batches_tracked"] == 4


def test_bfloat16_is_used_where_the_processor_has_it(monkeypatch):
    for units, expected in (({"amx_bf16": True}, True), ({"avx512_bf16": True}, True),
                            ({"avx2": True, "amx_bf16": False}, False), ({}, False)):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda units=units: units)
        assert training.trains_in_bfloat16("cpu") is expected


def test_training_in_bfloat16_differs_less_than_another_order_of_samples(monkeypatch):
    """After one epoch, on average over four orders. After three, on these few images, both have led equally far away.
    """
    start = recipe(epochs=0)
    weights_before = training.train(start).state_dict()
    trained = {}
    for fast in (False, True):
        monkeypatch.setattr(training, "trains_in_bfloat16", lambda device, fast=fast: fast)
        trained[fast] = [training.train(start.finetune(epochs=1, seed=seed), weights_before).state_dict()
                         for seed in range(4)]

    def apart(a, b):
        return weights.norm(weights.subtract(a, b))

    near = [apart(*pair) for pair in zip(trained[False], trained[True])]
    far = [apart(*pair) for pair in itertools.combinations(trained[False], 2)]
    assert 0 < statistics.fmean(near) < statistics.fmean(far)


def test_steps_in_bfloat16_are_the_same_inside_another_autocast_context(monkeypatch):
    """Training runs inside `pinned`, which opens one. A cache of weights would live as long as that, and every step
    would see the weights of the first."""
    monkeypatch.setattr(training, "trains_in_bfloat16", lambda device: True)
    images = data.load("split_cifar100", "train", splits=(0,), size=64)
    ends = []
    for outside in (contextlib.nullcontext, pinned):
        with outside():
            trained = training._initial(recipe(), None)
            step = training.stepper(trained, recipe(), images.y.unique())
            for _ in range(3):
                step(images.x, images.y)
        ends.append(trained.state_dict())
    free, within = ends
    assert all(torch.equal(free[key], within[key]) for key in free)


def test_networks_with_convolutions_have_a_format_of_their_own():
    """Those that were trained in bfloat16 before are not taken for these."""
    formats = {name: json.loads(Recipe.on("split_cifar100", Architecture.of(name, **arguments), lr=0.1,
                                          epochs=1).to_json())["format"]
               for name, arguments in (("MLP", {"widths": (3072, 100)}), ("ResNet18", {"width": 2}))}
    assert formats == {"MLP": 2, "ResNet18": 3}


def test_an_interrupted_run_goes_on_with_the_model_it_was_at(start_python, quiet_store):
    """A process is killed while it trains the second of three models: the first is kept, nothing half-written is left,
    the second is trained anew.
    """
    begin = """
        from toy_models import Architecture, Recipe, training, zoo
        base = Recipe.on("split_cifar100", Architecture.of("ResNet18", width=2, num_classes=100),
                         options={"splits": (0,), "size": 128}, lr=0.05, epochs=1)
        recipes = [base, *(base.finetune(options={"splits": (split,), "size": 128}) for split in (1, 2))]
    """
    killed = start_python(begin + """
        train = training.train
        def slow(recipe, start, device, on_epoch):
            network = train(recipe, start, device, on_epoch)
            if recipe is recipes[1]:
                print("training the second", flush=True)
                input()
            return network
        zoo.train = slow
        zoo.get_all(recipes, progress=False)
    """)
    assert killed.stdout.readline() == "training the second\n", killed.communicate()[1]
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    kept = [path for path in (quiet_store / "zoo").iterdir() if path.suffix == ".safetensors"]
    assert len(kept) == 1
    written = kept[0].stat().st_mtime_ns
    again = start_python(begin + """
        trained = []
        train = training.train
        zoo.train = lambda recipe, *rest, **options: trained.append(recipe) or train(recipe, *rest, **options)
        zoo.get_all(recipes, progress=False)
        assert trained == recipes[1:], trained
        print("done", flush=True)
    """)
    assert again.stdout.readline() == "done\n", again.communicate()[1]
    assert kept[0].stat().st_mtime_ns == written
    assert len([path for path in (quiet_store / "zoo").iterdir() if path.suffix == ".safetensors"]) == 3
    assert not list((quiet_store / "zoo").glob("*.part"))


# -- BatchNorm ---------------------------------------------------------------------------------------------------------

def test_reestimated_statistics_are_those_of_the_images():
    original, x = network(3), images(16)
    before = copy.deepcopy(original.state_dict())
    anew = batchnorm.reestimated(original, x, batch_size=16).state_dict()
    mean, var = algorithms.channel_statistics(original.stem[0](x))
    count = 16 * 32 * 32
    assert torch.allclose(anew["stem.1.running_mean"], mean, atol=1e-5)
    unbiased = var * count / (count - 1)  # which torch keeps
    assert torch.allclose(anew["stem.1.running_var"], unbiased, rtol=1e-4)
    for key, tensor in original.state_dict().items():
        assert torch.equal(tensor, before[key]), "the original was changed"
        assert "running" in key or "tracked" in key or torch.equal(tensor, anew[key]), "a weight was changed"


def test_several_batches_are_averaged():
    x, original = images(16), network(3)
    means = [batchnorm.reestimated(original, part, 8).state_dict()["stem.1.running_mean"] for part in x.split(8)]
    together = batchnorm.reestimated(original, x, 8).state_dict()["stem.1.running_mean"]
    assert torch.allclose(together, (means[0] + means[1]) / 2, atol=1e-6)


def test_statistics_of_no_image_are_an_error():
    with pytest.raises(ValueError, match="without a sample"):
        batchnorm.reestimated(network(), images(0))


def test_batch_statistics_are_those_of_training_and_nothing_is_kept():
    original, x = network(3), images(8)
    expected = copy.deepcopy(original).train()(x)
    treated = batchnorm.with_batch_statistics(original)
    assert torch.allclose(treated(x), expected, atol=1e-5)
    assert torch.allclose(treated(x), expected, atol=1e-5), "the second time too"
    assert not torch.allclose(original(x), expected, atol=1e-3), "running statistics give something else"
    assert "stem.1.running_mean" not in treated.state_dict() and "stem.1.running_mean" in original.state_dict()


def test_the_kernel_has_the_stand_in_that_recipes_name():
    assert data.source("split_cifar100", splits=(0,), size=128).digest == recipe().data_digest


def test_channels_last_is_used_from_eight_channels_on():
    """With fewer, its backward pass crashes the process on some processors; `fastest_format` says more."""
    assert training.fastest_format(network(8)) is torch.channels_last
    assert training.fastest_format(network(4)) is torch.contiguous_format
    assert training.fastest_format(Architecture.of("MLP", widths=(4, 2)).build()) is torch.contiguous_format
