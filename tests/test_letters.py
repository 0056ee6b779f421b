import hashlib
import zipfile

import pytest
import torch

import data
from data import characters, letters, speeches, store
from lessons.words import letters as pair
from lessons.words.algorithms.letters import generated, inverse, logits_before, preferred
from toy_models import CharacterGPT

PLAY = """<?xml version="1.0"?>
<!DOCTYPE PLAY [<!ENTITY a "aaaa">]>
<TITLE>The Play</TITLE>
<SPEECH>
<SPEAKER>HAMLET</SPEAKER>
<LINE>Words, &a;words, &amp; words.</LINE>
<STAGEDIR>Exit a ghost</STAGEDIR>
<LINE><STAGEDIR>Aside</STAGEDIR>  Is it
so?</LINE>
</SPEECH>
<SPEECH>
<SPEAKER>ROSENCRANTZ</SPEAKER>
<SPEAKER>GUILDENSTERN</SPEAKER>
<LINE>My lord!</LINE>
</SPEECH>"""


# -- the texts ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("of", letters.OF)
def test_a_letter_is_followed_by_the_next_and_every_tenth_piece_is_for_testing(of):
    train, test = (data.load("letters", split, of=of, context=16) for split in ("train", "test"))
    assert train.x.dtype == torch.float32 and train.y.dtype == torch.int64 and train.x.shape == train.y.shape
    assert torch.equal(train.x[:, 1:].long(), train.y[:, :-1])
    assert 9 <= len(train) / len(test) < 9.1
    text = letters._numbers(of, True)
    assert torch.equal(test.x[0].long(), text[9 * 16:10 * 16]) and torch.equal(train.x[9].long(), text[160:176])


def test_the_stand_ins_are_three_texts_and_say_so_with_the_reason():
    sources = [data.source("letters", of=of, size=10) for of in letters.OF]
    assert len({source.digest for source in sources}) == 3
    for source, name in zip(sources, letters.NAMES.values()):
        assert source.is_stand_in and name in source.text and "Python's help texts" in source.text
        assert "10 training pieces" in source.text and "is missing" in source.reason
    assert not set(letters._help("plays").splitlines()) >= set(letters._help("reviews").splitlines())


def test_size_takes_pieces_from_all_over_the_text_and_leaves_the_test_part():
    whole, some = (data.load("letters", "train", size=size) for size in (None, 7))
    assert torch.equal(some.x, whole.x[torch.arange(7) * len(whole) // 7]) and len(some.y) == 7
    assert torch.equal(data.load("letters", "train", size=10 ** 9).x, whole.x)
    assert len(data.load("letters", "test", size=7)) == len(data.load("letters", "test"))
    assert len({data.source("letters", size=size).digest for size in (7, 8, None)}) == 3


@pytest.mark.parametrize("options, named", [
    ({"of": "weather"}, "of must be one of plays, presidents, reviews, not 'weather'"), ({"size": 0}, "size"),
    ({"size": 2.5}, "size"), ({"context": 0}, "context"), ({"context": True}, "context")])
def test_an_option_that_makes_no_sense_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        data.source("letters", **options)


def test_a_play_becomes_speakers_and_lines_and_nothing_that_it_declares():
    assert list(letters.speech_by_speech(PLAY)) == [
        "HAMLET:\nWords, words, words.\nIs it so?\n", "ROSENCRANTZ and GUILDENSTERN:\nMy lord!\n"]
    assert list(letters.speech_by_speech("<SPEECH><SPEAKER>A</SPEAKER>")) == []


def test_the_official_texts_are_read_from_the_zip_files(quiet_store, monkeypatch):
    monkeypatch.setattr(store, "path_of", lambda remote: quiet_store / remote.path)
    (quiet_store / "nltk_corpora").mkdir(parents=True)
    for name, text in (("shakespeare", PLAY), ("inaugural", "Fellow citizens,"), ("state_union", "Mr. Speaker –")):
        with zipfile.ZipFile(quiet_store / f"nltk_corpora/{name}.zip", "w") as archive:
            archive.writestr(f"{name}/README", "no")
            archive.writestr(f"{name}/one", text.encode("cp1252"))
    assert letters._official("plays").startswith("HAMLET:\n") and letters._official("plays").endswith("My lord!\n")
    assert letters._official("presidents") == "Fellow citizens,\nMr. Speaker –"
    assert characters.written(characters.numbers("Mr. Speaker – é[1]\n")) == "Mr. Speaker  1\n"


def test_speeches_are_cut_into_pieces_as_before():
    """Networks of chapters 9 and 10 were trained on these."""
    def first_pieces(text, context):
        count = (len(text) - 1) // context
        x, y = text[:count * context].reshape(count, context), text[1:count * context + 1].reshape(count, context)
        return x[torch.arange(count) % 10 != 9].float(), y[torch.arange(count) % 10 != 9]

    text = speeches._numbers(True)
    loaded = data.load("speeches", "train", context=50)
    assert all(map(torch.equal, (loaded.x, loaded.y), first_pieces(text, 50)))
    with store.as_published():
        digests = [data.source("speeches", third=third).digest for third in (None, *speeches.THIRDS)]
    assert digests == ["a4ade6d45dfaf713", "cb648141b9d47a65", "370566b34b428f37", "2d1b552f56a661e2"]
    assert hashlib.sha256(speeches.CHARACTERS.encode()).hexdigest()[:16] == "94a68a7259e368ca"


# -- text letter by letter ---------------------------------------------------------------------------------------------

def network(seed, context=8):
    """A tiny GPT whose logits are far apart."""
    torch.manual_seed(seed)
    made = CharacterGPT(len(characters.CHARACTERS), width=8, heads=2, blocks=1, context=context)
    with torch.no_grad():
        made.head.weight.mul_(5)
    return made


def between(a, b, alpha):
    """α·a + (1 − α)·b."""
    made = network(0)
    state_a, state_b = a.state_dict(), b.state_dict()
    made.load_state_dict({key: alpha * state_a[key] + (1 - alpha) * state_b[key] for key in state_a})
    return made


@pytest.fixture
def uniform():
    return torch.rand(40, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def test_the_same_numbers_give_the_same_text_and_the_ends_their_own(uniform):
    a, b = network(1), network(2)
    texts = [generated(one, "The", 40, uniform) for one in (a, b)]
    assert texts[0] != texts[1] and [len(text) for text in texts] == [40, 40]
    assert [generated(between(a, b, alpha), "The", 40, uniform) for alpha in (1, 0)] == texts
    assert generated(a, "The", 10, uniform) == texts[0][:10] and generated(a, "The", 0, uniform) == ""
    assert generated(a, "The", 40, uniform.flip(0)) != texts[0]


def test_only_the_last_letters_of_a_long_text_are_read(uniform):
    a = network(1)
    assert generated(a, "x" * 30 + "a context", 40, uniform) == generated(a, " context", 40, uniform)
    assert generated(a, "漢 context", 5, uniform) == generated(a, " context", 5, uniform)


def test_a_low_temperature_writes_the_likeliest_letter(uniform):
    a = network(1)
    likeliest = a(characters.numbers("The")[None])[0, -1].argmax()
    assert generated(a, "The", 1, uniform, temperature=1e-6) == characters.CHARACTERS[likeliest]


@pytest.mark.parametrize("start, numbers, options, named", [
    ("", [0.5], {}, "start must have a letter"), ("漢字", [0.5], {}, "start must have a letter"),
    ("a", [], {}, "1 letters need as many numbers"), ("a", [1.0], {}, r"\[0, 1\)"), ("a", [-0.1], {}, r"\[0, 1\)"),
    ("a", [float("nan")], {}, r"\[0, 1\)"), ("a", [0.5, 1.0], {}, r"\[0, 1\)"),
    ("a", [0.5], {"temperature": 0.0}, "temperature"), ("a", [0.5], {"temperature": float("nan")}, "temperature")])
def test_what_cannot_be_written_from_is_refused(start, numbers, options, named):
    with pytest.raises(ValueError, match=named):
        generated(network(1), start, 1, torch.tensor(numbers), **options)


def test_a_count_that_is_no_count_is_refused(uniform):
    with pytest.raises(ValueError, match="count must be a whole number"):
        generated(network(1), "a", -1, uniform)


@pytest.mark.parametrize("u, outcome", [(0.0, 1), (0.24, 1), (0.25, 3), (0.99, 3), (1 - 2 ** -53, 3)])
def test_an_outcome_has_its_share_of_the_line_and_an_impossible_one_none(u, outcome):
    probabilities = torch.tensor([0, 0.25, 0, 0.75, 0], dtype=torch.float64)
    assert inverse(probabilities, torch.tensor(u, dtype=torch.float64)) == outcome


def test_how_often_an_outcome_comes_is_its_probability():
    probabilities = torch.tensor([0.1, 0.6, 0.3], dtype=torch.float64)
    places = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    counts = torch.bincount(torch.tensor([inverse(probabilities, u) for u in places]))
    assert counts.tolist() == [100, 600, 300]


@pytest.mark.parametrize("length", [1, 2, 8, 9, 30])
def test_logits_before_every_letter_are_those_that_it_was_written_from(length):
    a = network(1)
    text = characters.numbers("To be, or not to be, that is a question")[:length]
    expected = [a(text[max(0, place - 8):place][None])[0, -1] for place in range(1, length)]
    assert logits_before(a, text).shape == (length - 1, len(characters.CHARACTERS))
    if expected:
        torch.testing.assert_close(logits_before(a, text), torch.stack(expected))


def test_a_letter_is_preferred_by_the_network_that_finds_it_likelier():
    sure, unsure = torch.tensor([[2.0, 0.0], [0.0, 2.0]]), torch.zeros(2, 2)
    letter = torch.tensor([0, 0])
    likely, unlikely = preferred(sure, unsure, letter).tolist()
    assert likely == pytest.approx(2 - torch.tensor([2.0, 0.0]).logsumexp(0).item() + torch.tensor(2.0).log().item())
    assert likely > 0 > unlikely
    assert torch.equal(preferred(unsure, sure, letter), -preferred(sure, unsure, letter))
    assert torch.allclose(preferred(sure + 7, unsure, letter), preferred(sure, unsure, letter), atol=1e-6)
    assert preferred(sure[0], unsure[0], torch.tensor(1)).shape == ()


# -- the pair ----------------------------------------------------------------------------------------------------------

def test_both_ends_come_from_one_start_and_read_no_piece_twice():
    with store.as_published():
        ends = [pair.finetuned(kind, seed=3) for kind in pair.ENDS]
        start = pair.start(seed=3)
    assert pair.ENDS == ("plays", "presidents") and [end.parent for end in ends] == [start, start]
    for recipe, steps in ((start, 2200), (ends[0], 400), (ends[1], 400)):
        assert dict(recipe.options)["size"] == recipe.batch_size * steps and recipe.epochs == 1
    assert sum(parameter.numel() for parameter in pair.architecture().build().parameters()) == 113_996
