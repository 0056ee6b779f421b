"""Chapter 2: the experiment on Split CIFAR-100 and its panels, on a ResNet18 of width 2 and the stand-in."""
import itertools

import numpy as np
import pytest
import torch

import data
from data import split_cifar100
from lessons import cast
from lessons.kit import claims
from lessons.kit.noise import Difference
from lessons.kit.predict import predict
from lessons.kit.sweep import at
from lessons.lines import panels as lines
from lessons.resnet import algorithms
from lessons.resnet.algorithms import TREATMENTS
from lessons.resnet.experiment import amounts as amounts_experiment
from lessons.resnet.experiment import causes as causes_experiment
from lessons.resnet.experiment import line as line_experiment
from lessons.resnet.experiment import pairs as experiment
from lessons.resnet.experiment import steps as steps_experiment
from lessons.resnet.panels import amounts as amounts_panels
from lessons.resnet.panels import causes as causes_panels
from lessons.resnet.panels import channels as channels_panels
from lessons.resnet.panels import heads as heads_panels
from lessons.resnet.panels import pairs as panels
from lessons.resnet.panels import steps as steps_panels
from toy_models import ResNet18, batchnorm, weights, zoo

TINY = experiment.Settings(
    width=2, size=64, pretraining_epochs=1, finetuning_epochs=1, feature_images=12, test_images=12,
    statistics_images=16, alphas=(0.0, 0.25, 0.5, 0.75, 1.0),
    amounts=(experiment.Amount("nothing", (0,), 0, 64), experiment.Amount("1 split", (0,), 1, 64)), amounts_width=2,
    step_images=(4, 64), draws=2)
QUICK, FULL = experiment.PROFILES["quick"], experiment.PROFILES["full"]
LITERAL = experiment.LITERAL.profiles["full"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("resnet")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, folder):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(folder))
    monkeypatch.setitem(experiment.PROFILES, "tiny", TINY)
    monkeypatch.setitem(causes_experiment.PROFILES, "tiny", causes_experiment.Settings(TINY, 4))


@pytest.fixture
def sweep():
    return experiment.run("tiny")


def shown(sweep, task):
    """The test images and labels of a task that the sweep was measured on."""
    return experiment.images_of(task, "test", TINY.test_images)


def of_both(right):
    """The accuracy over the test images of both tasks."""
    return right.astype(float).mean().item()


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_gap_and_coef_are_what_the_definitions_say(sweep, treatment):
    networks, (i, j), alpha = experiment.models(TINY), (1, 3), 0.5
    statistics = torch.cat([experiment.images_of(task, "train", TINY.statistics_images)[0] for task in (i, j)])
    x = torch.cat([shown(sweep, task)[0] for task in (i, j)])
    middle = ResNet18.from_state(weights.interpolate(networks[i].state_dict(), networks[j].state_dict(), alpha))
    treat = {"interpolated": lambda network: network,
             "re-estimated": lambda network: batchnorm.reestimated(network, statistics, 100),
             "batch": batchnorm.with_batch_statistics}[treatment]

    def features(network):
        *blocks, output = treat(network).features(x).items()
        found = {name: feature.flatten(1).double() for name, feature in blocks}
        logits = output[1].double()
        ten = torch.cat([logits[:, 5:10], logits[:, 15:20]], 1)
        return found | {"pooled": blocks[-1][1].mean((2, 3)).double(), "10 outputs": ten, "100 outputs": logits}

    at_i, at_j, at_middle = features(networks[i]), features(networks[j]), features(middle)
    here = at(sweep, treatment=treatment, pair="splits 1 and 3", alpha=alpha)
    assert list(here.layer.values) == list(at_i)
    for layer in at_i:
        mixed = alpha * at_i[layer] + (1 - alpha) * at_j[layer]
        gap = 1 - torch.nn.functional.cosine_similarity(at_middle[layer], mixed)
        coef = (at_middle[layer] * mixed).sum(1) / (mixed * mixed).sum(1)
        assert here.gap_mean.sel(layer=layer).item() == pytest.approx(gap.mean().item(), abs=1e-5)
        assert here.coef_mean.sel(layer=layer).item() == pytest.approx(coef.mean().item(), rel=1e-4)
    half_way = here.sel(place="half-way", task="i")
    mixed = alpha * at_i["100 outputs"] + (1 - alpha) * at_j["100 outputs"]
    for logits, right in ((at_middle["100 outputs"], half_way.right), (mixed, half_way.mixed_right)):
        answers = logits[:12, 5:10].argmax(1) + 5
        assert right.values.tolist() == (answers == shown(sweep, i)[1]).int().tolist()


def test_the_sweep_is_exact_at_both_ends_and_complete(sweep):
    ends = sweep.sel(alpha=[0.0, 1.0])
    assert abs(ends.gap_mean).max() < 1e-9 and abs(ends.coef_mean - 1).max() < 1e-9
    assert (sweep.right == sweep.mixed_right).sel(place=["θᵢ", "θⱼ"]).all()
    assert list(sweep.pair.values) == [f"splits {i} and {j}" for i, j in itertools.combinations((1, 2, 3, 4), 2)]
    assert (sweep.coef_count.sum("bin") <= 2 * TINY.test_images).all() and sweep.attrs["source_kind"] == "stand-in"
    assert sweep.distance.min() > 0


def test_each_network_is_asked_about_its_own_task(sweep):
    network, (x, y) = experiment.models(TINY)[2], shown(sweep, 2)
    right = (network(x)[:, 10:15].argmax(1) + 10 == y).int().tolist()
    assert sweep.own_right.sel(treatment="interpolated", model=2).values.tolist() == right
    of_pair = at(sweep, treatment="interpolated", pair="splits 1 and 2")
    assert of_pair.right.sel(place="θⱼ", task="j").values.tolist() == right, "of a pair, θⱼ is the second"


def test_the_controls_are_other_statistics_and_other_rows(sweep):
    (i, j), networks = (1, 2), experiment.models(TINY)
    trains = {task: experiment.images_of(task, "train", TINY.statistics_images)[0] for task in (i, j)}
    x, y = shown(sweep, i)
    control = at(sweep, pair="splits 1 and 2", task="i").control_right
    fresh = [batchnorm.reestimated(networks[task], trains[task], 100).state_dict() for task in (i, j)]
    network = ResNet18.from_state(weights.interpolate(*fresh, 0.5))
    right = network(x)[:, 5:10].argmax(1) + 5 == y
    assert control.sel(control="fresh ends").values.tolist() == right.int().tolist()
    state = weights.interpolate(networks[i].state_dict(), networks[j].state_dict(), 0.5)
    for key in ("head.weight", "head.bias"):
        state[key] = networks[i].state_dict()[key]  # of which this task reads five
    network = batchnorm.reestimated(ResNet18.from_state(state), torch.cat(list(trains.values())), 100)
    right = network(x)[:, 5:10].argmax(1) + 5 == y
    assert control.sel(control="own rows").values.tolist() == right.int().tolist()


def test_every_setting_trains_on_whole_batches_except_the_literal_one():
    for settings in (QUICK, FULL):
        for recipe in [*experiment.recipes(settings).values(), *experiment.all_amount_recipes(settings)]:
            assert algorithms.last_batch(dict(recipe.options)["size"], recipe.batch_size) == 64, recipe
    assert all("size" not in dict(recipe.options) for recipe in experiment.recipes(LITERAL).values())
    assert algorithms.last_batch(len(data.load("split_cifar100", "train", splits=(0,))), 64) == 4


def test_the_finetuning_tasks_are_in_no_pretraining_but_that_on_all_splits():
    for amount in FULL.amounts:
        assert not set(amount.splits) & set(experiment.TASKS) or len(amount.splits) == 20


def test_the_networks_of_profile_full_are_those_of_the_cast():
    assert experiment.recipes(FULL, 2) == cast.split_resnets(2)
    assert experiment.amount_recipes(FULL, 1)["all 20 splits, 1 pass"][None] == cast.widely_pretrained_resnet(1)


def test_a_line_that_was_measured_is_not_measured_again(monkeypatch):
    made = experiment.recipes(TINY)
    first = experiment.of_two(made[1], made[2], TINY)
    monkeypatch.setattr(line_experiment, "_along", lambda *_: pytest.fail("measured again"))
    assert first.identical(experiment.of_two(made[1], made[2], TINY))


def test_amounts_start_from_networks_that_saw_more_and_more():
    amounts = amounts_experiment.run("tiny")
    assert list(amounts.steps.values) == [0, 1] and list(amounts.amount.values) == ["nothing", "1 split"]
    made = experiment.amount_recipes(TINY)
    assert made["nothing"][1].parent == made["nothing"][None] and made["nothing"][None].epochs == 0
    line = experiment.of_two(made["1 split"][1], made["1 split"][2], TINY)
    gap = amounts.gap_mean.sel(amount="1 split").transpose(*line.gap_mean.dims)
    assert np.array_equal(gap.values, line.gap_mean.values)
    assert amounts.attrs["network"] == "ResNet-18 of width 2"
    assert amounts.attrs["images"] == "24 test images a pair, accuracies on 24"


def test_one_more_step_leaves_the_network_as_it_was_and_is_measured_after_it():
    recipe = experiment.amount_recipes(TINY)["1 split"][1]
    assert experiment.stepping_recipe(TINY) == recipe, "not the network that was never pretrained"
    before = {key: tensor.clone() for key, tensor in zoo.get(recipe).state_dict().items()}
    steps = steps_experiment.run("tiny")
    assert steps.sizes == {"treatment": 2, "images": 2, "draw": 2, "image": 12} and (steps.moved > 0).all()
    assert steps.attrs["images"] == "12 test images"
    assert all(torch.equal(tensor, before[key]) for key, tensor in zoo.get(recipe).state_dict().items())


def test_a_chapter_says_which_data_and_how_many_models_are_missing(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(experiment, "seconds_per_step", lambda width: 0.1)
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "nothing"))
    experiment.announce("quick")
    first, second = capsys.readouterr().out.splitlines()
    assert first == str(data.source("split_cifar100", splits=(0, 1, 2, 3, 4)))
    assert "8 of 8 models" in second and " s on this machine" in second
    assert "minutes on this machine" in experiment.estimate(FULL)
    with pytest.raises(ValueError, match="unknown profile 'half'.*quick"):
        experiment.announce("half")


def test_the_estimate_of_a_chapter_that_is_on_disk_is_short(sweep):
    amounts_experiment.run("tiny")
    assert "in the zoo" in experiment.estimate(TINY)


def test_a_step_is_timed_on_a_real_network():
    assert 0 < experiment.seconds_per_step(2) < 60


def test_an_unknown_treatment_is_an_error_that_lists_the_known_ones():
    with pytest.raises(ValueError, match="unknown treatment 'none'.*interpolated, re-estimated, batch"):
        algorithms.treated(experiment.models(TINY)[1], "none", torch.zeros(1, 3, 32, 32))


# -- panels ----------------------------------------------------------------------------------------

def every(panel):
    """All settings of a panel's controls, as dicts; the panel is moved to each in turn."""
    grids = {name: control.values for name, control in panel.controls.items()}
    for values in itertools.product(*grids.values()):
        yield dict(zip(grids, values)), panel.set(**dict(zip(grids, values)))


def frames(view, step=11):
    """What a view shows at every 11th setting of its controls, or at every `step`-th, each with its setting."""
    grids = {name: control.values for name, control in view.controls.items()}
    for values in itertools.islice(itertools.product(*grids.values()), 0, None, step):
        yield dict(zip(grids, values)), view.draw(**dict(zip(grids, values)))


def test_every_frame_of_the_gap_panel_says_the_sweeps_numbers(sweep):
    for where, panel in every(lines.gap_per_layer(sweep)):
        shown = where.pop("layer")
        here = at(sweep, **where)
        assert where["treatment"] in panel.alt and f"In {lines.in_words(shown)} the gap is" in panel.alt
        for gap, own in zip(here.gap_mean.values, here.own_mean.values):
            assert f"{gap:.4f} against {own:.3f}" in panel.alt


def test_the_gaps_guess_is_about_block_8(sweep):
    guess = predict("what share?", high=1.0)
    lines.gap_per_layer(sweep, guess)
    guess.commit(0.5)
    here = at(sweep, pair="splits 1 and 2", alpha=0.5, treatment="interpolated", layer="block 8")
    assert guess.truth == pytest.approx(here.gap_mean.item() / here.own_mean.item())


def test_frames_of_the_coef_panel_says_the_sweeps_numbers(sweep):
    for where, frame in frames(panels.coef_per_block(sweep)):
        here = at(sweep, **{name: where[name] for name in ("treatment", "pair", "alpha")})
        medians = here.coef_median.values
        for layer, median in zip(sweep.layer.values, medians):
            assert f"{lines.in_words(layer)} {median:.2f}" in frame.alt
        assert frame.values["median"] == pytest.approx(medians)
        counted = here.coef_count.sel(layer=where["layer"])
        assert (frame.values["images"] <= 0.25).all() and frame.values["images"].sum() * counted.sum() <= counted.sum()


def test_frames_of_the_batchnorm_panel_says_the_sweeps_numbers(sweep):
    for where, frame in frames(panels.batchnorm_side_by_side(sweep)):
        part = at(sweep, pair=where["pair"])
        half_way = part.sel(place="half-way")
        for treatment in TREATMENTS:
            here = at(part, treatment=treatment, alpha=where["alpha"], layer=where["layer"])
            scores = [of_both(half_way[name].sel(treatment=treatment)) for name in ("right", "mixed_right")]
            numbers = f"gap {here.gap_mean.item():.3f} and coef {here.coef_mean.item():.3f} in {where['layer']}"
            told = f"accuracy of the midpoint {scores[0]:.3f}, of the mixed outputs {scores[1]:.3f}"
            assert f"{treatment}: {numbers}, {told}" in frame.alt
        here = at(part, treatment=where["treatment"], alpha=where["alpha"]).isel(layer=slice(8))
        assert frame.values["gap, renewed"] == pytest.approx(here.gap_mean.values / here.own_mean.values)
        assert frame.values["A alone"][0] == of_both(part.right.sel(treatment="interpolated", place="θᵢ"))


def test_every_frame_of_the_pretraining_panel_says_the_sweeps_numbers():
    amounts = amounts_experiment.run("tiny")
    for where, frame in frames(amounts_panels.pretraining(amounts), 1):
        here = at(amounts, treatment=where["treatment"], alpha=where["alpha"])
        for amount in amounts.amount.values:
            part = here.sel(amount=amount)
            first, last = ((part.gap_mean / part.own_mean).sel(layer=layer).item() for layer in ("block 1", "block 8"))
            half_way = part.sel(place="half-way")
            scores = f"{of_both(half_way.right):.3f}, mixed outputs {of_both(half_way.mixed_right):.3f}"
            ends = (part.right.sel(place=place, task=task) for place, task in (("θᵢ", "i"), ("θⱼ", "j")))
            own = np.mean([of_both(end) for end in ends])
            assert f"pretrained on {amount}: share of the distance between A and B {first:.3f} in block 1" in frame.alt
            assert f"{last:.3f} in block 8, accuracy of the midpoint {scores}, A and B on their own tasks " \
                f"{own:.3f}" in frame.alt


def test_every_frame_of_the_steps_panel_says_the_sweeps_numbers():
    steps = steps_experiment.run("tiny")
    for where, frame in frames(steps_panels.small_steps(steps), 1):
        here = at(steps, **where)
        running, anew = (of_both(here.right.sel(treatment=treatment)) for treatment in steps_experiment.TREATMENTS)
        assert f"{running:.3f} with running statistics, {anew:.3f} with new ones" in frame.alt
        assert f"mean length of the step is {here.moved.mean().item():.3f}" in frame.alt
        assert frame.values["here"][0] == pytest.approx(here.moved.values)


def test_frames_of_the_answers_panel_counts_right_answers(sweep):
    names = sweep.class_name.values
    view = panels.answers(sweep)
    for where, frame in frames(view):
        line = at(sweep, treatment=where["treatment"], pair=where["pair"])
        both = experiment.PAIRS[where["pair"]]
        labels = sweep.example_label.sel(task_number=list(both)).values
        a, here, b = (line.answer.sel(alpha=alpha).transpose("task", "picture").values == labels
                      for alpha in (1.0, where["alpha"], 0.0))
        assert f"A names {a.sum()} right, the network at α = {where['alpha']:.2f} names {here.sum()}" in frame.alt
        assert f"B names {b.sum()}. " in frame.alt
        called = [mark.name for mark in view.marks if mark.kind == "spots" and mark.names
                  and np.isfinite(frame.values[mark.name][1]).any()]
        assert {name.partition(", ")[2] for name in called} <= {"right", "wrong"}
        named = [name for name in called if name.endswith("right")]
        assert {name.partition(",")[0] for name in named} == set(names[labels[here]])
        assert np.array_equal(frame.values["photo 1"], sweep.example.sel(task_number=both[0])[0])


def test_the_example_images_are_those_of_the_labels(sweep):
    for place, task in enumerate(sweep.task_number.values):
        x, y = shown(sweep, int(task))
        pictures = split_cifar100.unnormalise(x[:experiment.EXAMPLES]).movedim(1, -1)
        assert np.allclose(sweep.example.values[place], pictures.numpy())
        assert list(sweep.example_label.values[place]) == y[:experiment.EXAMPLES].tolist()
        assert all(label // 5 == task for label in y.tolist())


def test_figures_have_words_and_differ_between_treatments(sweep):
    causes = causes_experiment.run("tiny")
    drawn = [panels.figure_15(sweep), panels.figure_15(sweep, "batch"), panels.figure_16(sweep), panels.examples(sweep),
             causes_panels.growth(causes), causes_panels.growth(causes, "interpolated"), causes_panels.pooled(causes),
             panels.gains(sweep), heads_panels.who_knows_what(sweep)]
    pages = [page.data for page in drawn]
    assert len(set(pages)) == len(pages)
    for page in pages:
        assert 'alt="' in page and 'alt=""' not in page and "Not CIFAR-100!" in page


@pytest.mark.parametrize("make, measured, told, known", [
    (steps_panels.small_steps, steps_experiment.run, lambda steps: of_both(steps.right[0].sel(images=4)),
     {"before", "before, again", "chance"}),
    (panels.batchnorm_side_by_side, experiment.run,
     lambda sweep: of_both(sweep.right.sel(pair="splits 1 and 2", treatment="interpolated", place="half-way")),
     {"mix", "chance", "A alone", "B alone"}),
    (amounts_panels.pretraining, amounts_experiment.run,
     lambda amounts: (amounts.gap_mean / amounts.own_mean).sel(
         amount="nothing", treatment="re-estimated", alpha=0.5, layer="block 8").item(), {"chance"})],
    ids=["steps", "batchnorm", "pretraining"])
def test_a_view_that_asks_knows_the_answer_and_shows_only_what_is_known(make, measured, told, known):
    guess = predict("how much?")
    view = make(measured("tiny"), guess)
    assert guess.truth == pytest.approx(told(measured("tiny")))
    assert {mark.name for mark in view.marks if mark.parts} - set(view.hides) == known


# -- how sure ----------------------------------------------------------------------------------------

def test_a_paired_difference_is_counted_by_hand():
    right_a = torch.tensor([True] * 60 + [False] * 40)
    right_b = torch.tensor([False] * 10 + [True] * 54 + [False] * 36)  # ten won, four lost
    gain, error = experiment.paired(right_a, right_b)
    assert gain == pytest.approx(0.06) and error == pytest.approx(((0.14 - 0.06 ** 2) / 100) ** 0.5)
    assert experiment.paired(right_a, right_a) == (0, 0)


def test_an_image_that_several_pairs_were_asked_about_counts_once(sweep):
    right = sweep.right.sel(place="half-way", treatment="interpolated")
    mean, error = experiment.over_images(right)
    assert mean == pytest.approx(of_both(right))
    of_image = []
    for split in (1, 2, 3, 4):
        shown_to = [right.sel(pair=pair, task="ij"[both.index(split)]).values
                    for pair, both in experiment.PAIRS.items() if split in both]
        of_image.extend(np.mean(shown_to, axis=0))
    assert error == pytest.approx(np.std(of_image) / len(of_image) ** 0.5)


def test_comparisons_are_paired_and_signed(sweep):
    better = sweep.assign(right=sweep.right.where(sweep.treatment != "re-estimated", 1))
    found = experiment.comparisons(better)
    interpolated = of_both(sweep.right.sel(place="half-way", treatment="interpolated"))
    assert found["anew"][0] == pytest.approx(1 - interpolated) and found["batch"][0] < 0
    fresh = of_both(sweep.control_right.sel(control="fresh ends"))
    assert found["fresh ends"][0] == pytest.approx(fresh - interpolated)
    assert found["rest"][0] == pytest.approx(1 - fresh)
    halves = experiment.half_way(better)
    assert list(halves) == list(sweep.pair.values) and all(renewed.all() for renewed, _ in halves.values())
    middles = [before.double().mean().item() for _, before in halves.values()]
    assert np.mean(middles) == pytest.approx(interpolated)


# -- causes ------------------------------------------------------------------------------------------

def test_a_block_alone_and_a_repaired_one_are_what_their_names_say():
    causes = causes_experiment.run("tiny")
    networks, (i, j) = experiment.models(TINY), (1, 2)
    x = torch.cat([experiment.images_of(task, "test", 4)[0] for task in (i, j)])
    states = [networks[task].state_dict() for task in (i, j)]
    middle = ResNet18.from_state(weights.interpolate(*states, 0.5))
    at_i, at_j, at_middle = (list(network.features(x).values())[:8] for network in (networks[i], networks[j], middle))
    mixed = [(a + b) / 2 for a, b in zip(at_i, at_j)]

    def apart(a, b):
        return (1 - torch.nn.functional.cosine_similarity(a.flatten(1).double(), b.flatten(1).double())).mean().item()

    here = causes.sel(pair="splits 1 and 2", treatment="interpolated")
    assert here.gap.values == pytest.approx([apart(a, b) for a, b in zip(at_middle, mixed)], abs=1e-5)
    assert here.own.values == pytest.approx([apart(a, b) for a, b in zip(at_i, at_j)], abs=1e-5)
    assert here.alone.sel(block=6).item() == pytest.approx(apart(middle.blocks[5](mixed[4]), mixed[5]), abs=1e-5)
    repaired = middle.blocks[7](middle.blocks[6](mixed[5]))
    assert here.repaired.sel(block=6).item() == pytest.approx(apart(repaired, mixed[7]), abs=1e-5)
    assert (causes.repaired.sel(block=8) < 1e-6).all(), "repaired in the last block, nothing is left"
    assert causes.kinks.dims[-1] == "gates" and causes.sizes["gates"] == 3


def test_frozen_at_its_own_gates_a_block_gives_what_it_gives():
    block = experiment.models(TINY)[1].blocks[2]
    h = torch.rand(3, block.conv1.in_channels, 8, 8)
    out, gates = causes_experiment.through(block, h)
    assert torch.allclose(out, block(h), atol=1e-6)
    again, _ = causes_experiment.through(block, h, gates)
    assert torch.equal(out, again)
    assert not torch.allclose(causes_experiment.through(block, h, [~gate for gate in gates])[0], out)


# -- in words ----------------------------------------------------------------------------------------

def test_the_readings_say_this_sweeps_numbers(sweep):
    of = experiment.by_depth(sweep, "interpolated")
    text = panels.reading_of_blocks(sweep).text
    assert f"{of['block_1_share']:.0%}" in text and f"{of['block_8_share']:.0%}" in text
    for name, read in (("anew", panels.reading_of_treatments), ("own rows", panels.reading_of_rows)):
        assert f"{Difference(*experiment.comparisons(sweep)[name])} points" in read(sweep).text
    of = causes_experiment.summary(causes_experiment.run("tiny"))
    page = causes_panels.reading_of_growth(causes_experiment.run("tiny"))
    share = of["share"].sel(treatment="re-estimated", block=8).item()
    assert f"The network misses {share:.0%} in block 8" in page.text
    alone = of["alone"].sel(treatment="re-estimated")
    assert f"a single block misses {alone.min().item():.0%} to {alone.max().item():.0%}" in page.text
    most = 100 * abs(of["alone"].sel(treatment="interpolated") - alone).max().item()
    both = causes_panels.reading_of_both_treatments(causes_experiment.run("tiny")).text
    assert f"by at most {most:.1f} points" in both and f"{share:.0%} with new ones" in both


def test_pictures_that_differ_in_the_statistics_alone_say_these_first(sweep):
    causes = causes_experiment.run("tiny")
    for draw, measured in ((panels.figure_16, sweep), (causes_panels.growth, causes), (causes_panels.pooled, causes)):
        for treatment in ("interpolated", "re-estimated"):
            html, statistics = draw(measured, treatment).data, panels.STATISTICS[treatment]
            assert f'alt="With {statistics}, ' in html and f">{statistics[0].upper()}{statistics[1:]}. " in html


def test_a_mean_over_the_pixels_makes_the_gap_smaller_behind_every_block():
    """With statistics estimated anew. With interpolated ones it does not behind block 4."""
    of = causes_experiment.summary(causes_experiment.run("full"))
    smaller = of["pooled"] < of["share"]
    assert smaller.sel(treatment="re-estimated").all() and not smaller.sel(treatment="interpolated", block=4)
    for treatment, fewer in (("re-estimated", "all"), ("interpolated", "6")):
        text = causes_panels.reading_of_pooling(causes_experiment.run("full"), treatment).text
        assert f"gap smaller after {fewer} of the seven blocks" in text


def test_an_order_within_its_error_is_not_told(sweep):
    wavering = sweep.right.copy()
    wavering.loc[{"treatment": "re-estimated"}] = sweep.right.sel(treatment="interpolated").roll(image=1)
    assert "Not clear: estimating anew" in panels.reading_of_treatments(sweep.assign(right=wavering)).text
    best = sweep.right.where(sweep.treatment != "re-estimated", 1)
    assert "Yes: estimating anew" in panels.reading_of_treatments(sweep.assign(right=best)).text
    worst = sweep.right.where(sweep.treatment != "re-estimated", 0)
    assert "No: " in panels.reading_of_treatments(sweep.assign(right=worst)).text


@pytest.mark.parametrize("before, added, says", [
    (0.05, 0.003, "So no: no gain is seen that needs"), (0.0, 0.02, "So yes, as far as this shows"),
    (0.05, 0.02, "So a part of it is not about mixing"), (0.0, 0.003, "the noise hides"),
    (-0.05, 0.06, "So yes, as far as this shows")])
def test_the_midpoints_gain_is_one_of_mixing_where_new_statistics_of_the_endpoints_gain_nothing(before, added, says):
    text = panels.of_mixing(Difference(before, 0.005), Difference(added, 0.005))
    assert says in text and f"gains {100 * before:+.1f} ± 0.5 points".replace("-", "−") in text


def test_the_table_of_gains_names_what_is_compared(sweep):
    page = panels.reading_of_treatments(sweep)
    gain = Difference(*experiment.comparisons(sweep)["rest"])
    assert "midpoint: with statistics re-estimated at the midpoint, compared with statistics re-estimated in A and B" \
        f", then interpolated, points gained {gain}" in page.text
    assert "Is all of it about mixing?" in page.page


def test_statistics_estimated_anew_are_told_from_interpolated_ones_on_one_axis(sweep):
    text = panels.reading_of_length_anew(sweep).text
    outputs = sweep.coef_median.sel(treatment="re-estimated", layer="10 outputs", alpha=[0.25, 0.5, 0.75])
    assert f"between {outputs.min().item():.2f} and {outputs.max().item():.2f} on the ten outputs" in text
    ones = sweep.assign(coef_median=(0 * sweep.coef_median + 1).where(sweep.layer != "10 outputs", 0.5))
    assert "Near the line in block 8, but too short" in panels.reading_of_length_anew(ones).page


def test_what_is_forgotten_is_compared_with_before_and_with_guessing():
    scores = {"only pretrained": 0.66, "finetuned on split 1": 0.44, "finetuned on split 2": 0.47}
    page = heads_panels.reading_of_forgetting(scores, 500)
    assert "They know less of it than before, but more than nothing" in page.page and "between 44% and 47%" in page.text
    for other in (0.66, 0.21):
        page = heads_panels.reading_of_forgetting(scores | {"finetuned on split 2": other}, 500).page
        assert "How much do they still know?" in page


def test_the_reading_of_small_steps_counts_draws():
    steps = steps_experiment.run("tiny")
    broken = steps.assign(right=0 * steps.right, right_before=0 * steps.right_before + 1)
    text = steps_panels.reading_of_steps(broken).text
    assert text.startswith("No. ") and "4 images: costs (− is a gain), running statistics 100.0 points" in text
    assert "draws in which it costs more than two standard errors 2 of 2" in text
    assert "less in 0 of 2 draws and more in 0. In the others the difference is within the noise." in text
    mended = broken.assign(right=broken.right.where(broken.treatment != "re-estimated", 1))
    assert steps_panels.reading_of_steps(mended).text.startswith("For the most part. ")
    whole = broken.assign(right=0 * broken.right + 1)
    assert steps_panels.reading_of_steps(whole).text.startswith("There is little to repair. ")
    before = of_both(steps.right_before.sel(treatment="interpolated"))
    assert f"classifies {before:.0%} of the test images" in steps_panels.question(steps)


def test_the_gain_of_an_ordinary_step_is_told_from_that_of_its_statistics():
    steps = steps_experiment.run("tiny")
    ordinary = steps.isel(images=[0, -1]).assign_coords(images=[4, 64])
    stale = ordinary.assign(right=0 * ordinary.right + 1, right_before=ordinary.right_before.where(
        ordinary.treatment != "interpolated", 0).where(ordinary.treatment == "interpolated", 1))
    assert "gains 100.0 points with running statistics" in steps_panels.reading_of_steps(stale).text
    learned = stale.assign(right_before=0 * stale.right_before)
    assert "there is no gain" not in steps_panels.reading_of_steps(learned).text


def test_the_reading_of_amounts_says_their_numbers():
    amounts = amounts_experiment.run("tiny")
    part = amounts.sel(treatment="re-estimated", alpha=0.5)
    first, last = (part.gap_mean / part.own_mean).sel(layer="block 8").values
    page = amounts_panels.reading_of_amounts(amounts)
    assert f"the gap in block 8 goes from {first:.0%} to {last:.0%} of the distance between the endpoints" in page.text
    assert "More steps or more variety?" not in page.text
    assert "All rows: splits 1 and 2, at the midpoint" in page.page and "images of both tasks" in page.page
    names = ["1 split, 10 passes", "1 split, 20 passes", "10 splits, 2 passes"]
    three = amounts.isel(amount=[0, 1, 0]).assign_coords(amount=names)
    assert f"block 8 goes from {first:.0%} to {last:.0%}" in amounts_panels.reading_of_amounts(three).text
    assert f"the gap is {first:.0%} of the distance between A and B after 10 passes over one split, and {last:.0%}" in \
        amounts_panels.reading_of_variety(three).text


def test_the_accuracies_of_networks_on_splits_are_those_of_the_networks(sweep):
    scores, networks = heads_panels.of_networks(sweep), experiment.models(TINY)
    for row, network in enumerate(experiment.TASKS):
        for column, split in enumerate(experiment.TASKS):
            x, y = shown(sweep, split)
            correct = networks[network](x)[:, 5 * split:5 * split + 5].argmax(1) + 5 * split == y
            assert scores[row, column] == pytest.approx(correct.double().mean().item())
    assert f"{scores.diagonal().mean():.0%} of the test images" in heads_panels.reading_of_knowing(sweep).text


def test_the_drawing_of_a_network_has_its_sizes_and_the_rows_that_moved_are_counted():
    drawing = heads_panels.network_in_boxes(experiment.models(TINY)[1]).data
    assert "block 1: 2 channels of 32 × 32 pixels" in drawing and "block 8: 16 channels of 4 × 4 pixels" in drawing
    moved = {1: torch.zeros(100), 2: torch.zeros(100)}
    moved[1][5:10] = moved[2][10:15] = 1
    title = "Only the rows of the split’s own classes have moved"
    assert "rows 10, 11, 12, 13, 14" in heads_panels.rows(moved).data
    assert title in heads_panels.reading_of_the_rows(moved).page
    moved[2][0] = 1
    page = heads_panels.reading_of_the_rows(moved)
    assert title not in page.page and "5 (split 1) and 6 (split 2)" in page.text


@pytest.mark.parametrize("other, title", [(0.5, "These features are more useful than untrained ones"),
                                          (0.33, "What do the features know?"), (0.1, "What do the features know?")])
def test_features_are_more_useful_than_untrained_ones_only_beyond_the_noise(other, title):
    scores = {"network 2": 0.6, "network 1": other, "an untrained network": 0.3}
    assert title in heads_panels.reading_of_features(scores, 500).page
    assert f"network 1: {other:.1%}" in heads_panels.accuracies(scores, 500, "Accuracy").data


def test_the_variances_at_the_midpoint_are_measured_and_predicted():
    networks = [experiment.models(TINY)[task] for task in (3, 4)]
    midpoint = ResNet18.from_state(weights.interpolate(*(network.state_dict() for network in networks), 0.5))
    x = torch.cat([experiment.images_of(task, "train", 16)[0] for task in (3, 4)])
    entering = [experiment.batchnorm_inputs(network, x) for network in (*networks, midpoint)]
    layers = channels_panels.collected(entering, algorithms.mixed_variance)
    stem = layers["stem.1"]
    assert torch.allclose(stem["predicted"], stem["measured"], rtol=1e-3), "a convolution is linear in its weights"
    assert torch.allclose(stem["measured"], entering[2]["stem.1"].double().var((0, 2, 3)))
    for drawn in (channels_panels.one_channel(entering, algorithms.channel_statistics),
                  channels_panels.variances(layers), channels_panels.by_layer(layers)):
        assert 'alt="' in drawn.data and 'alt=""' not in drawn.data
    last = layers["blocks.7.bn2"]
    channel = channels_panels.median_channel(last["rho"])
    told = f"predicts the variance {float(last['predicted'][channel]):.3g}, and {float(last['measured'][channel]):.3g}"
    assert told in channels_panels.reading_of_one_channel(layers).text
    right = layers | {"blocks.7.bn2": last | {"measured": last["predicted"]}}
    assert "And a single channel?" in channels_panels.reading_of_one_channel(right).page
    assert "your formula is exact" in channels_panels.reading_of_variances(layers).text
    wrong = channels_panels.collected(entering, lambda var_i, var_j, correlation, alpha: var_i + var_j)
    assert "your formula is exact" not in channels_panels.reading_of_variances(wrong).text


@pytest.mark.parametrize("variances, says", [
    ((1, 2, 0.5), "varies less than in A and in B"), ((1, 2, 3), "varies more than in A and in B"),
    ((1, 2, 1.5), "varies less than in one of A and B, but not in both")])
def test_the_title_over_one_channel_compares_three_variances(variances, says):
    assert channels_panels.finding(*variances).endswith(says)


def test_the_lessons_readings_say_what_the_full_sweeps_say():
    sweep, causes, amounts = (room.run("full") for room in (experiment, causes_experiment, amounts_experiment))
    titles = {
        "The gap grows with depth": panels.reading_of_depth(sweep),
        "New statistics bring coef back to 1, but the gap remains": panels.reading_of_short_features(sweep),
        "On average, new statistics help the midpoints.": panels.reading_of_gain(sweep),
        "On the other splits, accuracy is near chance on average": heads_panels.reading_of_knowing(sweep),
        "No single block is to blame": causes_panels.reading_of_blame(causes),
        "The mean over the pixels makes the gap smaller": causes_panels.reading_of_pooling(causes),
        "With pretraining the gap is smaller": amounts_panels.reading_of_pretraining(amounts),
        "More splits helped, and more steps on one split did not": amounts_panels.reading_of_variety(amounts)}
    for title, page in titles.items():
        assert title in page.page


def test_the_endpoints_gain_after_short_training_and_not_after_long():
    long = experiment.run("full")
    short = long.assign(own_right=long.own_right.where(long.treatment != "re-estimated", 1))
    ends, midpoint = (Difference(*experiment.comparisons(long)[name]) for name in ("ends", "anew"))
    assert not ends.is_news and midpoint.is_news and midpoint.value > 0
    before, added = (Difference(*experiment.comparisons(long)[name]) for name in ("fresh ends", "rest"))
    assert not before.is_news and added.is_news and added.value > 0
    assert "renewed after the mix" in panels.of_mixing(before, added)
    page = panels.reading_of_stale(short, long)
    assert "After longer training, no gain of the endpoints is seen" in page.page
    assert f"the endpoints by {ends} points, which is within the noise, and that of the midpoints by {midpoint}" in \
        page.text
    assert "And after longer training?" in panels.reading_of_stale(long, long).page
    assert "not in this copy" in panels.reading_of_stale(short, None).text


def test_the_reading_of_the_answers_counts_those_of_the_split_of_a(sweep):
    part = at(sweep, pair="splits 1 and 2", treatment="interpolated")
    labels = sweep.example_label.sel(task_number=1)
    a, b = (int((part.answer.sel(alpha=alpha, task="i") == labels).sum()) for alpha in (1, 0))
    all_a, all_b = (of_both(part.right.sel(place=place, task="i")) for place in ("θᵢ", "θⱼ"))
    text = panels.reading_of_answers(sweep).text
    assert f"A classifies {a} correctly and B {b}. " in text
    assert f"A classifies {all_a:.0%} correctly and B {all_b:.0%}" in text
    few = sweep.assign(answer=sweep.answer.where(sweep.alpha != 1, -1).where(sweep.alpha != 0, labels.expand_dims(
        task=["i"]).reindex(task=sweep.task, fill_value=-1)), right=sweep.right.where(sweep.place != "θᵢ", 1).where(
            sweep.place != "θⱼ", 0))
    assert "Four images can mislead you" in panels.reading_of_answers(few).page


def test_the_lessons_readings_ask_where_their_conditions_fail(sweep):
    none = sweep.assign(gap_mean=0 * sweep.gap_mean, right=0 * sweep.right, own_right=0 * sweep.own_right)
    asked = [panels.reading_of_depth(none), panels.reading_of_gain(none), heads_panels.reading_of_knowing(none)]
    for title, page in zip(("The gap does not grow steadily with depth", "Do new statistics help the midpoints?",
                            "Accuracy on its own split and on the others"), asked):
        assert title in page.page
    amounts = amounts_experiment.run("tiny")
    same = amounts.isel(amount=[0, 0]).assign_coords(amount=["nothing", "1 split"])
    assert "Does pretraining make the gap smaller?" in amounts_panels.reading_of_pretraining(same).page


def test_the_question_before_the_gaps_has_chapter_1s_number_from_the_ledger(monkeypatch):
    monkeypatch.setattr(panels.claims, "measured", lambda: {"CTL-2": {"gap_over_own_most": [0.062, 0.134]}})
    before = "On 2 seeds of chapter 1's rotated digits the gap was at most 13% of the distance between the endpoints."
    assert panels.question().startswith(f"{before} At the midpoint")
    monkeypatch.setattr(panels.claims, "measured", dict)
    assert panels.question().startswith("At the midpoint of the networks")


# -- claims ----------------------------------------------------------------------------------------

def test_claims_are_named_after_their_profile_and_follow_from_the_sweep(sweep):
    found = experiment.claims(sweep)
    part = sweep.sel(treatment="interpolated", alpha=[0.25, 0.5, 0.75], layer="block 8")
    assert found.keys() == {"CTL-3", "CTL-5"}
    assert all(name.startswith("tiny ") for numbers in found.values() for name in numbers)
    middle = sweep.sel(treatment="interpolated", place="half-way")
    assert found["CTL-3"]["tiny accuracy_middle"] == pytest.approx(of_both(middle.right))
    gain = found["CTL-3"]["tiny mixed_accuracy_middle"] - found["CTL-3"]["tiny accuracy_middle"]
    assert found["CTL-3"]["tiny gain of mixed"] == pytest.approx(gain)
    assert found["CTL-3"]["tiny block_8_share"] == pytest.approx((part.gap_mean / part.own_mean).mean().item())
    assert found["CTL-5"]["tiny block_8_coef"] == pytest.approx(part.coef_mean.mean().item())


def test_the_ledgers_conditions_name_numbers_that_are_measured():
    for id in ("CTL-3", "CTL-5"):
        numbers = claims.measured()[id]
        assert {condition.number for condition in claims.ledger()[id].conditions} <= numbers.keys()


def test_the_ledgers_numbers_and_runs_are_those_of_its_experiments(sweep):
    named = {"CTL-3": set(), "CTL-5": set()}
    for one in experiment.LEDGER:
        for profile in one.ledger:
            for id, numbers in one.claims(sweep.assign_attrs(profile=profile)).items():
                named[id] |= numbers.keys()
    for id, names in named.items():
        assert {name for name in names if claims.ledger()[id].keeps(name)} == claims.measured()[id].keys()
    asked = {(one.name, profile, seed) for one in experiment.LEDGER for profile in one.ledger
             for seed in one.ledger[profile]}
    kept = set()
    for run in claims.runs():
        if run["module"] == experiment.__name__:
            kept |= {(run["experiment"], run["profile"], seed) for seed in run["seeds"]}
    assert asked == kept
