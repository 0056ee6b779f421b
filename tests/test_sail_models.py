"""What chapters 9 and 10 add to data and toy_models: small images, parts of Spirals, losses of recipes, four networks,
and networks trained abreast."""
import pytest
import torch
import torch.nn.functional as F

import data
from toy_models import BYOL, MLP, Architecture, CharacterGPT, Recipe, ResidualMLP, abreast, losses, training
from toy_models.byol import view

SPIRALS = Architecture.of("MLP", widths=(2, 8, 2))


# -- data ------------------------------------------------------------------------------------------

def test_small_images_are_means_of_squares_of_four_pixels():
    small, whole = (data.load(name, "test") for name in ("small_mnist", "mnist"))
    assert small.x.shape == (len(whole), 14, 14) and torch.equal(small.y, whole.y)
    assert torch.allclose(small.x[3, 5, 6], whole.x[3, 10:12, 12:14].mean())


def test_the_thirds_are_sorted_by_brightness_and_share_no_image():
    thirds = [data.load("small_mnist", "test", third=third) for third in ("dark", "middle", "bright")]
    light = [part.x.mean((1, 2)) for part in thirds]
    assert light[0].max() <= light[1].min() + 1e-6 and light[1].max() <= light[2].min() + 1e-6
    assert sum(map(len, thirds)) == len(data.load("mnist", "test"))
    assert len({part.source.digest for part in thirds}) == 3 and "the dark third" in thirds[0].source.text


def test_classes_ranges_and_angles_are_taken_and_said():
    some = data.load("small_mnist", "train", classes=(5, 3), first=10, size=7, angle=30.0)
    every = data.load("small_mnist", "train", classes=(3, 5))
    assert len(some) == 7 and torch.equal(some.y, every.y[10:17]) and set(every.y.tolist()) == {3, 5}
    assert not torch.equal(some.x, every.x[10:17]), "they are turned"
    for said in ("classes 3, 5", "images 10–16", "turned by 30°"):
        assert said in some.source.text
    assert data.source("small_mnist", classes=[5, 3]).digest == data.source("small_mnist", classes=(3, 5)).digest
    turned = data.load("rotated_mnist", "train", angle=30.0, size=1).x
    small = data.load("small_mnist", "train", angle=30.0, size=1).x
    assert torch.allclose(F.avg_pool2d(turned[:, None], 2)[:, 0], small)


@pytest.mark.parametrize("options, said", [
    ({"of": "letters"}, "of must be one of mnist, fashion_mnist"), ({"third": "dim"}, "third must be one of dark"),
    ({"classes": ()}, "classes must be a tuple"), ({"classes": (1, 1)}, "classes must be a tuple"),
    ({"classes": (11,)}, "each class"), ({"first": -1}, "first"), ({"size": 0}, "size"), ({"first": 10 ** 6}, "first"),
    ({"size": 10 ** 6}, "size")])
def test_an_option_of_the_small_images_that_makes_no_sense_is_named(options, said):
    with pytest.raises(ValueError, match=said):
        data.load("small_mnist", "train", **options)


def test_parts_of_spirals():
    whole = data.load("spirals", "train")
    arm = data.load("spirals", "train", arm=1, size=400)
    assert torch.equal(arm.x, whole.x[whole.y == 1][:400]) and set(arm.y.tolist()) == {1}
    part = data.load("spirals", "train", first=400, size=400)
    assert torch.equal(part.x, whole.x[400:800]) and "points 400–799" in part.source.text
    assert data.source("spirals").text == "Spirals, turned by 0°"
    parts = ({}, {"arm": 0}, {"arm": 1}, {"size": 400})
    assert len({data.source("spirals", **options).digest for options in parts}) == 4
    for options in ({"arm": 2}, {"size": 0}, {"first": 1000}, {"size": 1001}, {"arm": 0, "size": 501}):
        with pytest.raises(ValueError, match=list(options)[-1]):
            data.load("spirals", "train", **options)


def test_the_spirals_of_before_have_the_digest_of_before():
    """Models of other chapters are kept under it."""
    assert data.source("spirals").digest == "32d9d2649a69f6b8"


# -- losses of recipes -----------------------------------------------------------------------------

def recipe(loss=losses.SEEN_CLASSES, **changes):
    how = {"lr": 5e-3, "epochs": 2, "optimiser": "adam", "batch_size": None, "options": {"arm": 0}} | changes
    return Recipe.on("spirals", SPIRALS, loss=loss, **how)


def test_a_recipe_without_a_loss_keeps_its_name_and_one_with_another_gets_its_own():
    plain = Recipe.on("spirals", SPIRALS, lr=0.1, epochs=1)
    assert '"loss"' not in plain.to_json() and '"loss": "all classes"' in recipe(losses.ALL_CLASSES).to_json()
    assert recipe().key != recipe(losses.ALL_CLASSES).key
    assert plain.key == "3d0d9f80ccc17b9041a8", "models of other chapters are kept under it"


def test_an_unknown_loss_is_refused():
    with pytest.raises(ValueError, match="unknown loss 'hinge': choose one of seen classes, all classes"):
        recipe("hinge")


def test_one_arm_teaches_nothing_among_the_classes_seen_and_something_among_all(one_thread):
    """The trap: with one class the masked loss is 0, and the network stays where it began."""
    before = training.train(recipe(epochs=0))
    masked, whole = (training.train(recipe(loss)) for loss in (losses.SEEN_CLASSES, losses.ALL_CLASSES))
    assert torch.equal(masked.layers[0].weight, before.layers[0].weight)
    assert not torch.equal(whole.layers[0].weight, before.layers[0].weight)
    by_sgd = training.train(recipe(losses.ALL_CLASSES, optimiser="sgd", lr=0.1))
    assert not torch.equal(by_sgd.layers[0].weight, before.layers[0].weight)


def test_a_velocity_network_learns_to_make_spirals_of_noise(one_thread):
    how = Recipe.on("spirals", Architecture.of("VelocityNetwork", hidden=(32, 32)), lr=5e-3, epochs=120, batch_size=250,
                    optimiser="adam", loss=losses.FLOW_MATCHING)
    network, again = training.train(how), training.train(how)
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), again.parameters())), "noise comes from the seed"
    points = data.load("spirals", "test").x
    noise = torch.randn(500, 2, generator=torch.Generator().manual_seed(0))

    def misses(sample):
        return torch.cdist(sample, points).min(1).values.mean()
    assert misses(network.sample(noise)) < 0.5 * misses(noise)
    assert isinstance(network, MLP) and network.sample(noise, steps=1).shape == (500, 2)


def test_flow_matching_asks_for_the_way_from_noise_to_the_point():
    x = torch.rand(6, 2, dtype=torch.float64)
    inputs, velocity = losses.flow(x, torch.Generator().manual_seed(0))
    place, time = inputs[:, :2], inputs[:, 2:]
    assert torch.allclose(place + (1 - time) * velocity, x), "who goes on at that velocity arrives at the point"


# -- networks --------------------------------------------------------------------------------------

def test_a_residual_network_adds_what_its_blocks_say():
    network = ResidualMLP(6, 5, 2, 3)
    x = torch.rand(4, 6)
    features = network.features(x)
    assert list(features) == ["first", "block 1", "block 2", "output"]
    block = network.blocks[0]
    step = block.out(F.relu(block.into(features["first"])))
    assert torch.allclose(features["block 1"], features["first"] + step)
    with pytest.raises(ValueError, match="width"):
        ResidualMLP(6, 0, 2, 3)


def test_a_gpt_sees_no_character_that_comes_later():
    network = CharacterGPT(9, 8, 2, 2, 6).eval()
    text = torch.randint(9, (2, 6))
    other = text.clone()
    other[:, 4:] = (text[:, 4:] + 1) % 9
    assert torch.allclose(network(text)[:, :4], network(other)[:, :4], atol=1e-6)
    assert not torch.allclose(network(text)[:, 4:], network(other)[:, 4:], atol=1e-4)
    with pytest.raises(ValueError, match="7 characters is longer than the context of 6"):
        network(torch.zeros(1, 7))
    with pytest.raises(ValueError, match="heads must divide the width"):
        CharacterGPT(9, 8, 3)


def test_byols_target_follows_and_never_gets_a_gradient():
    network = BYOL(8, follow=0.9)
    assert all(torch.equal(a, b) for a, b in zip(network.encoder.parameters(), network.target_encoder.parameters()))
    with torch.no_grad():
        for parameter in network.encoder.parameters():
            parameter.add_(1)
    predicted, wanted = network.compare_views(torch.rand(4, 14, 14), torch.Generator().manual_seed(0))
    losses.unlike(predicted, wanted).backward()
    pairs = list(zip(network.encoder.parameters(), network.target_encoder.parameters()))
    assert all(torch.allclose(a - b, torch.tensor(0.9), atol=1e-6) for a, b in pairs), "a tenth of the way"
    assert all(b.grad is None for _, b in pairs) and all(a.grad is not None for a, _ in pairs)
    assert losses.unlike(wanted, wanted) == pytest.approx(0, abs=1e-6)


def test_two_views_of_an_image_differ_and_belong_to_the_generator():
    x = torch.rand(5, 14, 14)
    a, b = (view(x, torch.Generator().manual_seed(seed)) for seed in (0, 1))
    assert a.shape == x.shape and not torch.allclose(a, b)
    assert torch.equal(a, view(x, torch.Generator().manual_seed(0)))


def test_a_view_is_made_of_any_number_below_1_also_of_one_that_float32_rounds_up(monkeypatch):
    x = torch.rand(5, 14, 14)
    nearly_1 = torch.full((4, 5), 1 - 1e-12, dtype=torch.float64)
    monkeypatch.setattr(torch, "rand", lambda *size, **options: nearly_1)
    assert nearly_1.to(x).max() == 1 and view(x, torch.Generator().manual_seed(0)).shape == x.shape


# -- abreast ---------------------------------------------------------------------------------------

STATES = [MLP((6, 5, 4, 3)).state_dict() for _ in range(5)]
X = torch.rand(40, 6, dtype=torch.float64)
Y = torch.randint(3, (40,))


def one_by_one(state, steps, lr, optimiser):
    network = MLP.from_state({key: tensor.double() for key, tensor in state.items()}).requires_grad_(True)
    rule = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[optimiser](network.parameters(), lr=lr)
    for x, y in abreast.batches(X, Y, steps, 16, seed=3):
        rule.zero_grad()
        F.cross_entropy(network(x), y).backward()
        rule.step()
    return network


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_abreast_is_one_by_one_within_rounding(optimiser, one_thread):
    rates = torch.tensor([0.1, 0.2, 0.05, 0.1, 0.3], dtype=torch.float64)
    for moment in abreast.descend(abreast.stacked(STATES), abreast.batches(X, Y, 21, 16, seed=3), rates, optimiser):
        if moment.steps == 20:
            stack = {key: tensor.clone() for key, tensor in moment.stack.items()}
    for number, (state, lr) in enumerate(zip(STATES, rates.tolist())):
        for key, tensor in one_by_one(state, 20, lr, optimiser).state_dict().items():
            assert torch.allclose(stack[key][number], tensor, atol=1e-9), key


def test_a_moment_has_the_loss_and_the_length_of_the_gradient_on_the_next_batch(one_thread):
    moment = next(abreast.descend(abreast.stacked(STATES), [(X, Y)], 0.1))
    network = MLP.from_state({key: tensor.double() for key, tensor in STATES[2].items()}).requires_grad_(True)
    loss = F.cross_entropy(network(X), Y)
    loss.backward()
    squares = sum(parameter.grad.square().sum() for parameter in network.parameters())
    assert moment.steps == 0 and moment.loss[2] == pytest.approx(loss.item())
    assert moment.slope[2] == pytest.approx(squares.sqrt().item())
    scored = abreast.scores(moment.stack, X, Y)
    assert scored[0][2] == pytest.approx(loss.item()) and 0 <= scored[1][2] <= 1


def test_what_is_stacked_stays_as_it_is_and_comes_back_as_the_zoo_keeps_it(one_thread):
    stack = abreast.stacked(STATES)
    for _ in abreast.descend(stack, abreast.batches(X, Y, 3, 16), 0.5):
        pass
    back = abreast.single(stack, 4)
    assert all(torch.equal(back[key], STATES[4][key]) for key in back)
    with pytest.raises(ValueError, match="layers.0.weight"):
        abreast.stacked([STATES[0], MLP((6, 4, 4, 3)).state_dict()])


def test_groups_give_what_all_together_give(monkeypatch):
    def work(group, which):
        *_, last = abreast.descend(group, abreast.batches(X, Y, 6, 16), torch.arange(1.0, 6.0)[which] / 10)
        return {"loss": last.loss, "number": torch.arange(5)[which]}
    together = work(abreast.stacked(STATES), slice(None))
    monkeypatch.setattr(abreast, "_NUMBERS", 16 * 6 * 2)
    assert [len(group["layers.0.bias"]) for group in abreast.groups(abreast.stacked(STATES), 16)] == [2, 2, 1]
    apart = abreast.in_groups(work, abreast.stacked(STATES), 16)
    assert torch.allclose(apart["loss"], together["loss"]) and apart["number"].tolist() == [0, 1, 2, 3, 4]


def test_a_wrong_optimiser_or_too_many_rates_are_refused():
    stack = abreast.stacked(STATES)
    with pytest.raises(ValueError, match="unknown optimiser 'lion'"):
        next(abreast.descend(stack, [(X, Y)], 0.1, "lion"))
    with pytest.raises(ValueError, match=r"one for each of 5 networks, not \(2,\)"):
        next(abreast.descend(stack, [(X, Y)], torch.tensor([0.1, 0.2])))


def test_batches_go_through_all_samples_before_they_begin_again():
    first = torch.cat([x for x, _ in abreast.batches(X, Y, 3, 16, seed=1)])
    assert torch.equal(first.sort(0).values, X.sort(0).values) and len(abreast.batches(X, Y, 7, 16)) == 7
    assert all(x is X for x, _ in abreast.batches(X, Y, 2, None))
