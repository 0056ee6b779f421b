import copy
import dataclasses
import math

import pytest
import torch
import torch.nn.functional as F

import data
from toy_models import MLP, Architecture, Recipe, training
from toy_models.training import resolve, train, train_through

pytestmark = pytest.mark.usefixtures("one_thread")
WIDTHS = [(3, 2), (6, 5, 4), (7, 8, 6, 5, 3)]
SMALL, WIDE = Architecture.of("MLP", widths=(2, 8, 2)), Architecture.of("MLP", widths=(2, 32, 32, 2))


def recipe(**changes):
    return Recipe.on("spirals", SMALL, **{"lr": 0.1, "epochs": 2, **changes})


def batch(widths, samples=16, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    return (torch.randn(samples, widths[0], generator=generator, dtype=torch.float64).to(dtype),
            torch.randint(widths[-1], (samples,), generator=generator))


def same_weights(network, other):
    first, second = network.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize("name, arguments, title", [
    ("MLP", {"widths": (784, 100, 10)}, "MLP 784–100–10"), ("ResNet18", {"width": 16}, "ResNet-18 of width 16"),
    ("TinyViT", {"width": 64, "depth": 2}, "TinyViT of width 64"), ("BYOL", {}, "BYOL")])
def test_an_architecture_says_what_it_is_for_captions(name, arguments, title):
    assert Architecture.of(name, **arguments).title == title


# -- the network -------------------------------------------------------------------------------------------------------

def test_features_are_in_depth_order_and_the_output_is_last():
    network, (x, _) = MLP((6, 5, 4, 3)), batch((6, 3))
    features = network.features(x)
    assert list(features) == network.layer_names == ["layer 1", "layer 2", "output"]
    assert [tuple(values.shape) for values in features.values()] == [(16, 5), (16, 4), (16, 3)]
    assert torch.equal(features["output"], network(x))


def test_features_are_taken_after_the_relu_but_the_output_has_none():
    network = MLP((6, 50, 50, 3)).requires_grad_(False)
    network.layers[-1].bias.fill_(-10.0)
    *hidden, output = network.features(batch((6, 3))[0]).values()
    for values in hidden:
        assert values.min() == 0 and values.max() > 0
    assert output.min() < 0


@pytest.mark.parametrize("widths", WIDTHS)
def test_the_output_is_that_of_the_formula(widths):
    network, (x, _) = MLP(widths), batch(widths)
    state, h = network.state_dict(), x
    for i in range(len(widths) - 1):
        h = h @ state[f"layers.{i}.weight"].T + state[f"layers.{i}.bias"]
        h = h.clamp(min=0) if i < len(widths) - 2 else h
    torch.testing.assert_close(network(x), h)


def test_images_are_flattened():
    network, images = MLP((12, 5, 2)), torch.randn(3, 1, 3, 4)
    assert torch.equal(network(images), network(images.flatten(1)))


@pytest.mark.parametrize("widths", [(), (5,), (5, 0), (5, -1, 2), (5, 2.5, 2)])
def test_widths_that_make_no_network_are_named(widths):
    with pytest.raises(ValueError, match="widths") as raised:
        MLP(widths)
    assert str(widths) in str(raised.value)


@pytest.mark.parametrize("widths", [(2, "x"), (2, None), (2, math.inf), (2, math.nan), (2.0, 3)])
def test_widths_that_are_no_numbers_are_named(widths):
    with pytest.raises(ValueError, match="widths"):
        MLP(widths)


@pytest.mark.parametrize("widths", WIDTHS)
def test_from_state_gives_the_network_of_these_weights_and_shares_their_memory(widths):
    original, (x, _) = MLP(widths), batch(widths)
    state = original.state_dict()
    network = MLP.from_state(state)
    assert same_weights(network, original) and torch.equal(network(x), original(x))
    assert not any(parameter.requires_grad for parameter in network.parameters())
    state["layers.0.bias"] += 1
    assert torch.equal(network.layers[0].bias, state["layers.0.bias"]) and torch.equal(network(x), original(x))


def test_from_state_keeps_the_dtype():
    assert MLP.from_state(MLP((3, 2)).double().state_dict()).layers[0].weight.dtype == torch.float64


def test_from_state_leaves_the_gradients_of_another_network_on():
    original = MLP((3, 2))
    MLP.from_state(dict(original.named_parameters()))
    assert all(parameter.requires_grad for parameter in original.parameters())


GOOD = MLP((3, 4, 2)).state_dict()
FOREIGN = {
    "another network": {"conv.weight": torch.zeros(3, 3), "conv.bias": torch.zeros(3)},
    "empty": {},
    "a layer missing": {key: GOOD[key] for key in GOOD if not key.startswith("layers.0")},
    "a bias missing": {key: GOOD[key] for key in GOOD if key != "layers.1.bias"},
    "a key too many": {**GOOD, "layers.1.scale": torch.ones(2)},
    "layers that do not fit": {**GOOD, "layers.1.weight": torch.zeros(2, 5)},
    "a bias that does not fit": {**GOOD, "layers.0.bias": torch.zeros(5)},
    "a convolution": {**GOOD, "layers.0.weight": torch.zeros(4, 3, 1)},
    "a vector for a matrix": {**GOOD, "layers.0.weight": torch.zeros(4)},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_state_dicts_are_refused_with_their_keys(name):
    with pytest.raises(ValueError, match="not the weights of an MLP") as raised:
        MLP.from_state(FOREIGN[name])
    assert all(key in str(raised.value) for key in FOREIGN[name])


@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@pytest.mark.parametrize("widths", WIDTHS)
def test_sgd_step_is_that_of_autograd(widths, dtype, tolerance):
    network = MLP(widths).to(dtype)
    reference = copy.deepcopy(network)
    optimiser = torch.optim.SGD(reference.parameters(), lr=0.5)
    x, y = batch(widths, dtype=dtype)
    for part in (slice(0, 16), slice(0, 7), slice(7, 8), slice(3, 16)):
        network.sgd_step(x[part], y[part], lr=0.5)
        optimiser.zero_grad()
        F.cross_entropy(reference(x[part]), y[part]).backward()
        optimiser.step()
    for parameter, expected in zip(network.parameters(), reference.parameters()):
        torch.testing.assert_close(parameter, expected, rtol=tolerance, atol=tolerance)


def test_sgd_step_does_not_change_the_batch():
    x, y = batch((6, 4))
    before = x.clone(), y.clone()
    MLP((6, 5, 4)).sgd_step(x, y, lr=0.5)
    assert torch.equal(x, before[0]) and torch.equal(y, before[1])


# -- training ----------------------------------------------------------------------------------------------------------

ALL_WAYS = [{}, {"optimiser": "adam", "lr": 0.01}, {"batch_size": None}, {"options": {"angle": 30.0}, "seed": 5}]


@pytest.mark.parametrize("changes", ALL_WAYS, ids=str)
def test_the_same_recipe_gives_the_same_weights_whatever_was_drawn_before(changes):
    first = train(recipe(**changes))
    torch.manual_seed(99)
    assert same_weights(train(recipe(**changes)), first)
    assert not same_weights(train(recipe(**{**changes, "epochs": 1})), first)


def test_the_same_recipe_gives_the_same_weights_in_another_process(start_python, tmp_path):
    process = start_python(f"""
        import torch
        from toy_models import Architecture, Recipe
        from toy_models.training import train
        torch.rand(7)
        recipe = Recipe.on("spirals", Architecture.of("MLP", widths=[2, 8, 2]), lr=0.1, epochs=2)
        torch.save(train(recipe).state_dict(), {str(tmp_path / "weights.pt")!r})
    """)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert same_weights(MLP.from_state(torch.load(tmp_path / "weights.pt", weights_only=True)), train(recipe()))


@pytest.mark.parametrize("changes", ALL_WAYS, ids=str)
def test_training_leaves_the_global_random_state_alone(changes):
    torch.manual_seed(12345)
    before = torch.get_rng_state()
    train(recipe(**changes))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
def test_training_leaves_the_random_state_of_the_gpu_alone():
    before = torch.cuda.get_rng_state()
    train(recipe())
    assert torch.equal(torch.cuda.get_rng_state(), before)


GLOBALS = [  # what a cell may set, and how it is set back
    (lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
    (lambda: torch.set_default_device("meta"), lambda: torch.set_default_device(None)),
    (lambda: torch.set_grad_enabled(False), lambda: torch.set_grad_enabled(True)),
    (lambda: torch.set_num_threads(3), lambda: torch.set_num_threads(1)),
    (lambda: torch.manual_seed(7), lambda: None)]


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("change, back", GLOBALS)
@pytest.mark.fault("surroundings", "A cell sets torch's default dtype, device, seed or threads, then trains",
                   answers="The weights are those of the recipe")
def test_what_a_cell_set_globally_does_not_reach_the_weights(change, back, optimiser):
    turned = Recipe.on("rotated_mnist", Architecture.of("MLP", widths=(784, 4, 10)), lr=0.01, epochs=1, batch_size=None,
                       options={"angle": 33.0, "size": 64}, optimiser=optimiser)
    spirals = recipe(optimiser=optimiser)
    data.rotated_mnist._turned.cache_clear()
    plain = [train(recipe) for recipe in (turned, spirals)]
    data.rotated_mnist._turned.cache_clear()  # the images too are made with what a cell has set
    change()
    try:
        networks = [train(recipe) for recipe in (turned, spirals)]
    finally:
        back()
    assert all(same_weights(*pair) for pair in zip(networks, plain))


def test_recipes_that_differ_in_epochs_alone_are_points_of_one_training():
    recipes = [recipe(epochs=epochs, optimiser="adam") for epochs in (3, 0, 1)]
    together = train_through(recipes)
    assert all(same_weights(network, train(alone)) for network, alone in zip(together, recipes, strict=True))
    with pytest.raises(ValueError, match="epochs alone"):
        train_through([recipe(), recipe(seed=1)])


def test_what_is_trained_without_a_recipe_is_copied_and_trained_in_float64():
    state = train(recipe()).state_dict()
    network = training.for_training(state)
    x, y = batch((2, 8, 2), dtype=torch.float32)
    network.sgd_step(x, y, 0.1)
    assert {tensor.dtype for tensor in network.state_dict().values()} == {torch.float64}
    assert same_weights(MLP.from_state(state), train(recipe()))
    stored = training.as_stored(network)
    assert {tensor.dtype for tensor in stored.values()} == {torch.float32}


def test_another_seed_gives_another_start_and_another_order():
    assert not same_weights(train(recipe(seed=1, epochs=0)), train(recipe(seed=2, epochs=0)))
    parent = recipe()
    start = train(parent).state_dict()
    assert not same_weights(*(train(parent.finetune(seed=seed), start) for seed in (1, 2)))


def test_sgd_in_training_is_the_sgd_of_torch(monkeypatch):
    own = train(recipe(epochs=3))
    monkeypatch.delattr(MLP, "sgd_step")
    for parameter, expected in zip(train(recipe(epochs=3)).parameters(), own.parameters()):
        torch.testing.assert_close(parameter, expected, rtol=1e-4, atol=1e-5)


def test_finetuning_for_no_epoch_gives_the_parent():
    parent = train(recipe())
    child = recipe().finetune(options={"angle": 30.0}, epochs=0)
    assert same_weights(train(child, parent.state_dict()), parent)


@pytest.mark.parametrize("changes", ALL_WAYS[:2], ids=str)
def test_finetuning_starts_from_the_parent_and_does_not_change_it(changes):
    parent = train(recipe())
    before = copy.deepcopy(parent)
    child = train(recipe().finetune(options={"angle": 30.0}, **changes), parent.state_dict())
    assert same_weights(parent, before) and not same_weights(child, parent)


def test_a_trained_network_is_ready_to_use():
    network = train(recipe())
    assert not network.training and not any(parameter.requires_grad for parameter in network.parameters())
    assert {parameter.device.type for parameter in network.parameters()} == {"cpu"}


def test_on_epoch_is_called_after_every_epoch():
    called = []
    train(recipe(epochs=3), on_epoch=lambda: called.append(1))
    assert len(called) == 3


def test_a_recipe_for_other_data_is_refused_with_both_digests():
    foreign = dataclasses.replace(recipe(), data_digest="0" * 16)
    with pytest.raises(ValueError, match="other data") as raised:
        train(foreign)
    assert "0" * 16 in str(raised.value) and recipe().data_digest in str(raised.value)


@pytest.mark.parametrize("lr, shown", [(1e40, r"1e\+40"), (1e200, r"1e\+200")])
def test_training_that_diverges_names_the_learning_rate(lr, shown):
    with pytest.raises(ValueError, match=f"learning rate.*{shown}"):
        train(Recipe.on("spirals", WIDE, lr=lr, epochs=3))


def test_infinite_weights_are_divergence_too():
    with pytest.raises(ValueError, match="learning rate"):
        train(Recipe.on("spirals", WIDE, lr=1e45, epochs=1, batch_size=None))


@pytest.mark.parametrize("device", ["nonsense", "cuda:99", ""])
def test_a_device_that_is_not_here_is_named(device):
    for call in (resolve, lambda device: train(recipe(), device=device)):
        with pytest.raises(ValueError, match=f"device '{device}'"):
            call(device)


def test_auto_is_the_cpu_where_there_is_no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve("auto") == resolve("cpu") == torch.device("cpu")


def test_adam_learns_the_spirals():
    network = train(Recipe.on("spirals", WIDE, lr=5e-3, epochs=300, batch_size=None, optimiser="adam"))
    test = data.load("spirals", "test")
    assert (network(test.x).argmax(1) == test.y).float().mean() > 0.95


def test_sgd_learns_digits():
    network = train(Recipe.on("mnist", Architecture.of("MLP", widths=(784, 32, 10)), lr=0.1, epochs=1))
    test = data.load("mnist", "test")
    assert (network(test.x).argmax(1) == test.y).float().mean() > 0.8


# -- recipes -----------------------------------------------------------------------------------------------------------

CHANGES = {
    "architecture": Architecture.of("MLP", widths=(2, 9, 2)), "dataset": "other", "options": (("angle", 30.0),),
    "data_digest": "0" * 16,
    "lr": 0.2, "epochs": 3, "batch_size": None, "optimiser": "adam", "seed": 1, "parent": recipe(),
    "loss": "all classes", "schedule": "warm-up and cosine", "frozen": ("layers.1.",),
}


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Recipe)])
def test_a_recipe_that_differs_in_any_field_has_another_key(field):
    changed = dataclasses.replace(recipe(), **{field: CHANGES[field]})
    assert changed != recipe() and changed.key != recipe().key


def test_a_recipe_whose_parent_differs_has_another_key():
    assert recipe(lr=0.1).finetune(lr=0.3).key != recipe(lr=0.2).finetune(lr=0.3).key


@pytest.mark.parametrize("make", [recipe, lambda: recipe(options={"seed": 3, "angle": 30.0}),
                                  lambda: recipe().finetune(lr=0.2)])
def test_equal_recipes_have_equal_keys(make):
    assert make() == make() and make().key == make().key and hash(make()) == hash(make())


def test_neither_the_order_of_options_nor_a_list_for_a_tuple_makes_another_recipe():
    assert recipe(options={"seed": 3, "angle": 30.0}).key == recipe(options={"angle": 30.0, "seed": 3}).key
    assert Architecture.of("MLP", widths=[2, 8, 2]) == SMALL


@pytest.mark.parametrize("changes, other", [
    ({"lr": 1}, {"lr": 1.0}), ({"options": {"angle": 30}}, {"options": {"angle": 30.0}})], ids=str)
def test_a_whole_number_and_the_same_float_make_one_recipe(changes, other):
    assert recipe(**changes) == recipe(**other)
    assert recipe(**changes).key == recipe(**other).key


def test_finetune_keeps_what_is_not_named():
    parent = recipe(lr=0.3, optimiser="adam", batch_size=32, options={"angle": 10.0})
    child = parent.finetune(options={"angle": 20.0}, seed=7)
    there = data.source("spirals", angle=20.0).digest
    assert child == dataclasses.replace(parent, options=(("angle", 20.0),), data_digest=there, seed=7, parent=parent)
    assert parent.finetune().options == parent.options


@pytest.mark.parametrize("make, named", [
    (lambda: recipe(optimiser="lion"), "'lion'"),
    (lambda: recipe(epochs=-1), "epochs.*-1"),
    (lambda: recipe(lr=0), "lr"),
    (lambda: recipe(lr=-0.1), r"lr.*-0\.1"),
    (lambda: recipe(batch_size=0), "batch_size"),
    (lambda: Architecture.of("Transformer"), "'Transformer'"),
    (lambda: Recipe.on("emnist", SMALL, lr=0.1, epochs=1), "'emnist'"),
    (lambda: recipe(options={"noise": 1}), "'noise'"),
    (lambda: recipe().finetune(architecture=Architecture.of("MLP", widths=(2, 9, 2))), "parent")])
def test_a_recipe_that_makes_no_sense_is_refused_with_what_is_wrong(make, named):
    with pytest.raises(ValueError, match=named):
        make()


@pytest.mark.parametrize("changes", [{"lr": math.nan}, {"lr": "x"}, {"epochs": 1.5}, {"batch_size": 2.5},
                                     {"seed": "x"}], ids=str)
def test_numbers_of_a_recipe_that_are_none_are_refused(changes):
    with pytest.raises(ValueError, match=next(iter(changes))):
        recipe(**changes)
