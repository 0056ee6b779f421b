"""The views of chapter 14 that ask networks while the learner types."""
import numpy as np
import pytest

import data
from lessons import cast
from lessons.words import letters
from lessons.words.algorithms.letters import generated
from lessons.words.answers import Answers
from lessons.words.experiment import setting
from lessons.words.panels import live
from tests.test_words_experiment import TINY, tiny_encoder
from toy_models import zoo


@pytest.fixture(scope="module")
def asked(session_sweep):
    with session_sweep((cast, "pretrained_encoder", tiny_encoder)):
        yield Answers(setting.load(TINY))


def test_every_class_has_its_probability_and_the_likeliest_of_each_task_is_the_answer(asked):
    view = live.answers(asked)
    view.controls["sentence"].value = "a film about 🦉 <b>owls</b>"
    view.controls["directions"].value = 2
    answers = asked("a film about 🦉 <b>owls</b>", 2, 2.0)
    values = view.frame.values
    for column in range(len([name for name in values if name.startswith("answer")])):
        chosen, others = values[f"answer {column}"][0], values[f"other {column}"][0]
        assert len(chosen) and set(np.round(chosen, 9)) <= {round(max(of.values()), 9) for of in answers.values()}
        assert len(others) == 0 or max(others) <= max(max(of.values()) for of in answers.values())
    shown = sum(len(values[name][0]) for name in values if name.startswith(("answer", "other")))
    assert shown == sum(len(data.sentences.CLASSES[task]) for task in TINY.tasks)
    assert all(f"{name} " in view.alt for task in TINY.tasks for name in data.sentences.CLASSES[task])


def test_the_finding_names_the_surest_tasks_beside_a_guess_among_their_classes():
    of_tasks = {"film": {"bad": 0.4, "good": 0.6}, "question": {"person": 0.7, "place": 0.1, "thing": 0.2},
                "customer": {"complaint": 0.95, "praise": 0.05}}
    assert live.finding_of_answers(of_tasks).endswith("“complaint” (customer) and “person” (question)")


def test_the_text_is_that_of_the_ends_and_its_colours_are_what_these_say():
    view = live.between(0, count=12)
    ends = zoo.get_all([letters.of_text(kind) for kind in letters.ENDS], "cpu", progress=False)
    for alpha, end in ((1.0, ends[0]), (0.0, ends[1])):
        view.controls["alpha"].value = alpha
        text, values = view.frame.values["text"]
        start = live.BEGINNINGS[0]
        numbers = live.drawn(0, 12)
        assert text == start + generated(end, start, 12, numbers, live.TEMPERATURE)
        assert len(values) == len(text) and np.isnan(values[:len(start)]).all() and np.nanmax(np.abs(values)) <= 1
        share = float(np.mean(values[len(start):] > 0))
        assert view.title.startswith(f"{max(share, 1 - share):.0%}".replace("%", " %"))
