"""What a merged encoder answers about a typed sentence."""
import pytest
import torch

import data
from lessons import cast
from lessons.merging import merge
from lessons.vit.algorithms import matrices
from lessons.words.answers import Answers, right_and_wrong
from lessons.words.experiment import setting
from lessons.words.panels import guessing
from tests.test_words_experiment import TINY, tiny_encoder
from toy_models import weights


@pytest.fixture(scope="module")
def asked(session_sweep):
    with session_sweep((cast, "pretrained_encoder", tiny_encoder)):
        yield Answers(setting.load(TINY))


def test_a_sentence_has_an_answer_of_every_task_and_its_probabilities_add_up(asked):
    answers = asked("who wrote this ?", 2, 1.5)
    assert list(answers) == list(TINY.tasks)
    for task, of_task in answers.items():
        assert tuple(of_task) == data.sentences.CLASSES[task] and sum(of_task.values()) == pytest.approx(1)


def test_it_is_cart_on_attention_and_mlps_alone(asked):
    loaded = asked.loaded
    cart = merge("cart", loaded.base, loaded.finetuned, scale=1.5, rank_ratio=2 / 8)
    mean = weights.average(loaded.finetuned)
    expected = {key: tensor if matrices.by_name(key, tensor) else mean[key] for key, tensor in cart.items()}
    ours = asked.encoder(2, 1.5).state_dict()
    for key, tensor in expected.items():
        torch.testing.assert_close(ours[key], tensor, rtol=0, atol=1e-6)
    for key, tensor in asked.encoder(0, 1.5).state_dict().items():
        assert key.startswith("head.") or torch.equal(tensor, mean[key])


def test_the_answer_is_that_of_the_encoder(asked):
    loaded, text = asked.loaded, "a moving film"
    x = data.sentences.numbers([text]).float()
    logits = asked.encoder(0, 1.0)(x)[0, loaded.suite.outputs(1)]
    assert list(asked(text, 0, 1.0)["question"].values()) == pytest.approx(logits.softmax(0).tolist(), abs=1e-6)


@pytest.mark.parametrize("text", ["", "\x00\x07", "🎬🎬", "ταινία", "word " * 10_000, "<b>bold</b>"])
def test_any_text_has_an_answer(asked, text):
    assert all(sum(of_task.values()) == pytest.approx(1) for of_task in asked(text, 1, 1.0).values())


def test_more_directions_than_there_are_are_refused(asked):
    for directions in (9, -1, 1.5):
        with pytest.raises(ValueError, match=f"directions must be a whole number from 0 to 8, not {directions}"):
            asked("a film", directions, 1.0)


def test_what_is_right_adds_up_to_the_accuracies(asked):
    right, test = right_and_wrong(asked, (0, 2), 1.5)
    assert right.shape == (2, 3 * TINY.sentences) and set(right.unique().tolist()) <= {0.0, 1.0}
    for row, directions in enumerate((0, 2)):
        merged = {key: tensor for key, tensor in asked.encoder(directions, 1.5).state_dict().items()
                  if not key.startswith("head.")}
        of_tasks = right[row].view(3, -1).mean(1).tolist()
        assert of_tasks == pytest.approx(asked.loaded.accuracy(merged, "held-out"))
        assert float(test[row]) == pytest.approx(asked.loaded.accuracy(merged).mean())


def test_the_hidden_word_is_asked_for_and_not_seen(asked):
    word, chances = guessing.likely(asked.loaded, "a moving [film] .")
    x = data.sentences.numbers(["a moving film ."]).float()
    place = torch.arange(x.shape[1])[None] == 2
    network = asked.loaded.complete(asked.loaded.base)
    with torch.no_grad():
        logits = network.guesses(x.masked_fill(place, data.sentences.MASK), place)[0]
    assert word == "film" and list(chances.values()) == sorted(chances.values(), reverse=True)
    vocabulary = data.sentences.vocabulary()
    for name, chance in chances.items():
        assert chance == pytest.approx(float(logits.softmax(0)[vocabulary[name]]), abs=1e-6)
    assert "“film”" in guessing.guesses(asked.loaded, "a moving [film] .")._repr_html_()


@pytest.mark.parametrize("sentence, says", [
    ("a moving film", "around one word"), ("a [moving film]", "around one word"),
    ("[a] moving [film]", "around one word"), ("a [] film", "around one word"), ("a [film", "around one word"),
    ("a film]", "around one word"), (None, "around one word"),
    ("word " * 40 + "[film]", "reads 32 words, and 'film' is number 41")])
def test_a_sentence_in_which_not_one_word_is_hidden_is_refused(asked, sentence, says):
    with pytest.raises(ValueError, match=says):
        guessing.likely(asked.loaded, sentence)
