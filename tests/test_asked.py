import random

import pytest
import torch

import data
from data import asked, sentences
from tests.conftest import REAL

SIZE = 60  # sentences with gaps: more than three labelled ones of each task


def read(row):
    """A row without its padding."""
    return [int(number) for number in row if number != sentences.PADDING]


def filled(x, y):
    """The sentence that a text with gaps was made of."""
    hidden, words = {}, iter(read(y))
    for number in words:
        if number in asked.GAPS:
            sign = number
        elif number != asked.END:
            hidden.setdefault(sign, []).append(number)
    return [word for number in read(x) for word in hidden.get(number, [number])]


# -- the words ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("task", sentences.TASKS)
def test_every_word_of_a_prompt_and_of_an_answer_is_in_the_vocabulary(task):
    known = sentences.vocabulary()
    texts = [asked.PROMPTS[task], *asked.ANSWERS[task]]
    assert [word for text in texts for word in sentences.words_of(text) if word not in known] == []
    assert len(sentences.words_of(asked.PROMPTS[task])) == asked.PROMPT


def test_every_class_has_an_answer_of_its_own_and_two_to_four_words():
    assert {task: len(of) for task, of in asked.ANSWERS.items()} == {
        task: len(of) for task, of in sentences.CLASSES.items()}
    every = [text for of in asked.ANSWERS.values() for text in of]
    assert len(set(every)) == len(every) == sentences.ALL_CLASSES and len(set(asked.PROMPTS.values())) == 8
    assert {len(sentences.words_of(text)) for text in every} == {2, 3, 4}
    assert asked.LONGEST == 4 + 1 and asked.WRITTEN == 2 * (1 + asked.GAP) + 1


def test_signs_are_no_words():
    signs = [asked.END, *asked.GAPS]
    assert signs == list(range(sentences.MOST_WORDS, asked.NUMBERS)) and len(signs) == 3
    assert not set(signs) & set(sentences.vocabulary().values())


# -- a task ------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("task", ["film", "question"])
def test_a_task_is_asked_with_its_prompt_and_answered_in_words(task):
    loaded, rows = data.load("asked", "test", task=task), sentences.texts("test", task)
    assert loaded.x.shape == (1000, asked.PROMPT + 32) and loaded.x.dtype == torch.float32
    assert loaded.y.shape == (1000, asked.WRITTEN) and loaded.y.dtype == torch.int64
    for place in (0, 7, 999):
        text, label = rows[place]
        whole = sentences.numbers([f"{asked.PROMPTS[task]} {text}"], length=asked.PROMPT + 32)
        assert torch.equal(loaded.x[place].long(), whole[0])
        assert asked.in_words(loaded.x[place]).startswith(asked.PROMPTS[task])
        answer = asked.ANSWERS[task][sentences.CLASSES[task].index(label)]
        assert asked.in_words(loaded.y[place]) == answer
        assert read(loaded.y[place])[-1] == asked.END


def test_an_answer_may_have_words_and_numbers():
    assert [asked.in_words(row) for row in asked.answers("decade")[:2]] == ["the 50 s", "the 60 s"]
    assert asked.in_words(torch.tensor([asked.GAPS[0], 1, asked.END, 5])) == "… ?"


def test_the_stand_in_is_named_and_options_are_part_of_the_digest():
    source = data.source("asked", task="film", size=40)
    assert source.is_stand_in and "generated" in source.text and "asked in words" in source.text
    assert source == data.load("asked", "train", task="film", size=40).source
    made = [asked.source(**options) for options in (
        {}, {"labelled": 0}, {"labelled": 20}, {"size": 40}, {"length": 20}, {"task": "film"},
        {"task": "film", "size": 9}, {"task": "question"})]
    assert len({one.digest for one in made}) == len(made)
    assert made[0].digest != sentences.source().digest and "gaps" in made[1].text and "labelled" not in made[1].text


@pytest.mark.parametrize("options, named", [({"task": "poems"}, "task"), ({"labelled": -1}, "labelled"),
                                            ({"size": 0}, "size"), ({"length": 0}, "length"), ({"words": 9}, "words")])
def test_options_that_make_no_sense_are_refused(options, named):
    with pytest.raises(ValueError, match=named):
        data.load("asked", "train", **options)
    with pytest.raises(ValueError, match="task"):
        asked.answers("poems")


# -- gaps --------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6, 9, 32])
def test_gaps_filled_again_are_the_sentence(count):
    words = list(range(10, 10 + count))
    places = set()
    for seed in range(200):
        left, written = asked.cut(words, random.Random(seed))
        assert filled(left, written) == words and written[-1] == asked.END
        gaps = [number for number in left if number in asked.GAPS]
        assert gaps == [number for number in written if number in asked.GAPS] == asked.GAPS[:1 + (count > 4)]
        between = left.index(gaps[-1]) - left.index(gaps[0])
        assert len(gaps) == 1 or between > 1, "a word stands between two gaps"
        assert len(written) == len(gaps) * (1 + asked.GAP) + 1 or count == 1
        places.add(tuple(left.index(gap) for gap in gaps))
    assert min(first for first, *_ in places) == 0 and max(last for *_, last in places) == len(left) - 1


def test_sentences_with_gaps_are_those_without_labels_and_the_same_every_time():
    loaded = asked.load("train", size=60, labelled=0)
    whole = sentences.load("train", size=60)
    assert [filled(x, y) for x, y in zip(loaded.x, loaded.y)] == [read(row) for row in whole.x]
    assert torch.equal(loaded.x, asked.load("train", size=60, labelled=0).x)
    test = asked.load("test", size=60)
    assert len(test) == len(sentences.load("test")) and (test.x == asked.GAPS[0]).any(1).all()


# -- the mixture -------------------------------------------------------------------------------------------------------

def test_half_of_pretraining_is_labelled_sentences_of_every_task_from_their_training_part():
    loaded = asked.load("train", size=SIZE, labelled=3)
    assert loaded.x.shape == (2 * SIZE, asked.PROMPT + 32)
    has_gap = torch.isin(loaded.x.long(), torch.tensor(asked.GAPS)).any(1)
    assert has_gap[:SIZE].all() and not has_gap[SIZE:].any()
    questions = {tuple(read(row)) for row in loaded.x[SIZE:]}
    assert len(questions) == 3 * len(sentences.TASKS)
    for task in sentences.TASKS:
        whole = asked.load("train", task, size=20)
        known = {tuple(read(x)): read(y) for x, y in zip(whole.x, whole.y)}
        mine = questions & known.keys()
        assert len(mine) == 3
        for x, y in zip(loaded.x[SIZE:SIZE + 24], loaded.y[SIZE:SIZE + 24]):
            assert tuple(read(x)) not in mine or read(y) == known[tuple(read(x))]


def test_no_tested_sentence_is_in_the_labelled_pool(monkeypatch):
    """One that is a training sentence of one task and a test sentence of another is left out."""
    first = sentences.texts("train", "film")[0][0]
    known = sentences.texts
    monkeypatch.setattr(sentences, "texts", lambda split, task=None, size=None: [
        row for row in known(split, task, size) if task or row[0] != first])  # as if another task tested it
    loaded = asked.load("train", size=40, labelled=3)
    assert read(asked.asked([first], "film")[0]) not in [read(row) for row in loaded.x[40:]]
    assert len({tuple(read(row)) for row in loaded.x[40:]}) == 24


def test_of_the_real_corpora_nothing_that_is_tested_is_asked_in_pretraining(monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(REAL))
    if data.source("sentences").is_stand_in:
        pytest.skip(f"the corpora are not in {REAL}")
    tested = {text for task in sentences.TASKS for text, _ in sentences.texts("test", task)}
    first = {task: [text for text, _ in sentences.texts("train", task)[:asked.LABELLED]] for task in sentences.TASKS}
    assert any(tested & set(texts) for texts in first.values()), "otherwise there is nothing to leave out"
    loaded, tested = asked.load("train", size=1500), numbered(tested)
    assert not {tuple(filled(x, y)) for x, y in zip(loaded.x[:1500], loaded.y)} & tested
    rows = list(map(read, loaded.x[1500:2700]))
    for task in sentences.TASKS:
        prompt = read(asked.asked(["a"], task)[0])[:asked.PROMPT]
        mine = {tuple(row[asked.PROMPT:]) for row in rows if row[:asked.PROMPT] == prompt}
        assert len(mine) > asked.LABELLED - 5 and not mine & tested


def numbered(texts):
    """Sentences as numbers of words. Short ones with unknown words may be alike without being the same."""
    rows = map(read, sentences.numbers(sorted(texts)))
    return {tuple(row) for row in rows if len(row) > 8 and row.count(sentences.UNKNOWN) < 3}
