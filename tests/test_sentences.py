import struct
import warnings
import zipfile

import pytest
import torch

import data
from data import corpora, sentences, store
from tests.conftest import REAL


def packed(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        warnings.simplefilter("ignore")
        for name, content in members.items():
            archive.writestr(name, content)
    return path


# -- what load gives ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("task", sentences.TASKS)
def test_a_task_has_its_own_labels_and_sentences_in_no_two_parts(task):
    parts = {split: sentences.texts(split, task) for split in ("train", "test")}
    loaded = data.load("sentences", "test", task=task)
    first, last = sentences.outputs(task)
    assert loaded.x.shape == (sentences.TEST, 32) and loaded.x.dtype == torch.float32
    assert loaded.y.dtype == torch.int64 and loaded.y.unique().tolist() == list(range(first, last))
    assert [sentences.CLASSES[task][y - first] for y in loaded.y.tolist()] == [label for _, label in parts["test"]]
    keys = [sentences._key(text) for part in parts.values() for text, _ in part]
    assert len(set(keys)) == len(keys)


def test_the_classes_of_all_tasks_stand_side_by_side():
    ends = [end for task in sentences.TASKS for end in sentences.outputs(task)]
    assert ends[0] == 0 and ends[-1] == sentences.ALL_CLASSES == 36
    assert ends[1:-1:2] == ends[2::2]


def test_a_sentence_without_labels_is_tested_by_no_task():
    free = {sentences._key(text) for split in ("train", "test") for text, _ in sentences.texts(split)}
    tested = {sentences._key(text) for task in sentences.TASKS for text, _ in sentences.texts("test", task)}
    assert free and not free & tested


def test_size_takes_the_first_training_sentences_and_leaves_the_test_part():
    some, whole = (sentences.load("train", "film", size=size) for size in (50, None))
    assert torch.equal(some.x, whole.x[:50]) and torch.equal(some.y, whole.y[:50])
    assert len(sentences.load("test", "film", size=50)) == sentences.TEST
    assert len({sentences.source("film", size).digest for size in (50, 60, None)}) == 3


def test_a_stand_in_says_so_with_the_reason():
    source = data.source("sentences", task="film", size=100)
    assert source.is_stand_in and "generated" in source.text and "film" in source.text and "100" in source.text
    assert "comparative_sentences.zip is missing" in source.reason
    assert source == data.load("sentences", "train", task="film", size=100).source


@pytest.mark.parametrize("options, named", [
    ({"task": "weather"}, "task must be one of film, .*'weather'"), ({"size": 0}, "size"), ({"words": 3}, "words"),
    ({"words": 8001}, "words must be .* from 4 to 8,000"),
    ({"length": 0}, "length"), ({"length": 2.5}, "length"), ({"words": True}, "words")])
def test_an_option_that_makes_no_sense_is_named(options, named):
    with pytest.raises(ValueError, match=named):
        data.source("sentences", **options)


# -- numbers of words --------------------------------------------------------------------------------------------------

def test_words_are_letters_numbers_and_single_signs_in_small_letters():
    assert sentences.words_of("It's GREAT, 10/10!! naïve_") == [
        "it", "'s", "great", ",", "10", "/", "10", "!", "!", "naïve", "_"]
    assert sentences.words_of("a b c d", 2) == ["a", "b"]


def test_a_smaller_vocabulary_is_the_beginning_of_a_larger_one():
    some, all_words = sentences.vocabulary(100), sentences.vocabulary()
    assert list(some.values()) == list(range(3, 100)) and list(all_words)[:97] == list(some)
    assert len(all_words) == sentences.MOST_WORDS - 3 and len(set(all_words)) == len(all_words)
    assert all(sentences.words_of(word) == [word] for word in all_words)


def test_the_vocabulary_is_what_the_corpora_have(monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(REAL))
    if data.source("sentences").is_stand_in:
        pytest.skip(f"the corpora are not in {REAL}")
    assert list(sentences.vocabulary()) == sentences.counted_words()


@pytest.mark.parametrize("change", [lambda content: content[:-100], lambda content: content + b"one more\n", None])
def test_a_list_of_other_words_is_not_read_and_said_how_to_bring_it_back(tmp_path, monkeypatch, change):
    path = tmp_path / "words.txt"
    if change:
        path.write_bytes(change(sentences.WORDS.read_bytes()))
    monkeypatch.setattr(sentences, "WORDS", path)
    monkeypatch.setattr(sentences, "_listed", sentences._listed.__wrapped__)  # as in a new process
    with pytest.raises(store.StoreError, match=r"words.txt .*git checkout data/words.txt"):
        sentences.vocabulary()


def test_line_ends_of_windows_are_the_same_words(tmp_path, monkeypatch):
    known = sentences.vocabulary()
    (tmp_path / "words.txt").write_bytes(sentences.WORDS.read_bytes().replace(b"\n", b"\r\n"))
    monkeypatch.setattr(sentences, "WORDS", tmp_path / "words.txt")
    monkeypatch.setattr(sentences, "_listed", sentences._listed.__wrapped__)
    assert sentences.vocabulary() == known


def test_without_the_corpora_no_words_are_counted_and_the_stand_in_is_read_by_the_same_vocabulary():
    with pytest.raises(ValueError, match="the words are those of the corpora, and .* is missing"):
        sentences.counted_words()
    x = sentences.load("test", "question").x
    assert (x == sentences.UNKNOWN).float().sum() / (x > 0).sum() < 0.05


@pytest.mark.parametrize("text, length", [("", 1), ("   \n", 1), ("🙂🙂", 2), ("\x00\x1b[31m\u202e", 6),
                                          ("漢字 العربية", 2), ("word " * 10_000, 32), ("x" * 100_000, 1)])
def test_any_text_is_a_row_of_numbers(text, length):
    row = sentences.numbers([text])
    assert row.shape == (1, 32) and row.dtype == torch.int64
    filled = row[0] != sentences.PADDING
    assert int(filled.sum()) == length and filled[:length].all(), "padding stands behind the words"
    assert int(row.max()) < 8000


def test_known_words_have_their_numbers_and_the_rest_is_unknown():
    known = sentences.vocabulary()
    word = next(iter(known))
    assert sentences.numbers([f"{word.upper()} qqqqzzzz", word], length=4).tolist() == [
        [known[word], sentences.UNKNOWN, 0, 0], [known[word], 0, 0, 0]]
    assert sentences.numbers([]).shape == (0, 32)


@pytest.mark.parametrize("wrong", ["a text alone", [None], [b"bytes"], ["fine", 3]])
def test_what_is_no_list_of_texts_is_refused(wrong):
    with pytest.raises(ValueError, match="sentences must be a list of texts"):
        sentences.numbers(wrong)


# -- rules for rows ----------------------------------------------------------------------------------------------------

def test_of_equal_sentences_one_stays_and_none_whose_labels_contradict_each_other():
    rows = [("A good film indeed!", "good"), ("a  GOOD film, indeed", "good"), ("It is what it is.", "good"),
            ("it is what it is", "bad"), ("Short.", "bad"), ("An awful film.", "bad")]
    kept = sentences._each_once(rows)
    assert sorted(kept) == [("A good film indeed!", "good"), ("An awful film.", "bad")]
    assert sentences._each_once(reversed(rows)) != [] and len(sentences._each_once(rows + rows)) == 2


def test_the_frequent_class_is_thinned_evenly():
    rows = [(f"sentence {place}", "few" if place % 10 == 0 else "many") for place in range(200)]
    kept = sentences._balanced(rows, "many", "few", 3)
    halves = [[label for text, label in kept if (int(text.split()[1]) < 100) == is_first] for is_first in (True, False)]
    assert [(half.count("many"), half.count("few")) for half in halves] == [(30, 10), (30, 10)]
    assert sentences._balanced(rows[:1], "many", "few", 3) == rows[:1]


# -- the corpora's files -----------------------------------------------------------------------------------------------

def test_texts_are_utf_8_or_cp1252_and_the_readme_is_none(tmp_path):
    path = packed(tmp_path / "a.zip", {"a/README.txt": "no", "a/one.txt": "naïve – £".encode(),
                                       "a/two.txt": "naïve – £".encode("cp1252"), "a/": b"", "a/three": b"\x81"})
    assert corpora.texts(path) == {"a/one.txt": "naïve – £", "a/two.txt": "naïve – £", "a/three": "�"}


def test_a_bomb_is_not_unpacked(tmp_path):
    path = packed(tmp_path / "bomb.zip", {f"{place}.txt": bytes(1_000_000) for place in range(30)})
    with pytest.raises(ValueError, match=r"bomb.zip is not read: its files would take 30,000,000 bytes"):
        corpora.texts(path)


@pytest.mark.fault("data", "A zip archive unpacks to far more than it says", answers="It is not read")
def test_a_bomb_that_lies_about_its_size_gives_no_more_than_it_says(tmp_path):
    path = packed(tmp_path / "liar.zip", {"a.txt": bytes(5_000_000)})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = content.index(signature) + offset
        content[place:place + 4] = struct.pack("<I", 10)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="liar.zip is not read"):
        corpora.texts(path)


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x03\x04" + bytes(40)])
def test_what_is_no_zip_file_is_named(tmp_path, content):
    (tmp_path / "broken.zip").write_bytes(content)
    with pytest.raises(ValueError, match="broken.zip is not read: .*Delete it"):
        corpora.texts(tmp_path / "broken.zip")


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_a_damaged_member_is_named_with_its_archive(tmp_path, packing):
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr("a.txt", bytes(range(256)) * 20)
    content = bytearray(path.read_bytes())
    content[40:60] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged.zip is not read: .*Delete it"):
        corpora.texts(path)


def test_a_corpus_without_a_file_that_a_task_needs_is_named(quiet_store, monkeypatch):
    packed(quiet_store / "nltk_corpora/qc.zip", {"qc/train.txt": "HUM:ind Who wrote this?"})
    monkeypatch.setattr(store, "path_of", lambda remote: quiet_store / remote.path)
    with pytest.raises(ValueError, match=r"qc.zip has no qc/test.txt"):
        list(corpora.TASKS["question"]())


@pytest.mark.fault("data", "A file has the published MD5 and other contents", answers="It is refused by its SHA-256")
def test_a_file_with_the_right_md5_and_another_sha256_is_refused(tmp_path, quiet_store):
    content = b"content"
    path = quiet_store / "some.zip"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    md5, sha256 = store._md5_of(path), store._sha256_of(path)
    assert store.wrong_with(path, store.RemoteFile("some.zip", 7, md5, "", (), sha256=sha256)) == ""
    other = store.RemoteFile("some.zip", 7, md5, "", (), sha256="0" * 64)
    assert "SHA-256" in store.wrong_with(path, other)
    with pytest.raises(store.Unavailable, match="SHA-256"):
        store.fetch(other)


@pytest.mark.parametrize("name, members, task, expected", [
    ("sentence_polarity", {"sentence_polarity/rt-polarity.neg": "dull .\n",
                           "sentence_polarity/rt-polarity.pos": "fun .\n"}, "film",
     [("dull .", "bad"), ("fun .", "good")]),
    ("pros_cons", {"pros_cons/IntegratedPros.txt": "<Pros>Small &amp; light</Pros>\n",
                   "pros_cons/IntegratedCons.txt": " <Cons>Dear</Cons>"}, "pro/con",
     [("Small   light", "pro"), ("Dear", "con")]),
    ("qc", {"qc/train.txt": "HUM:ind Who wrote this ?", "qc/test.txt": "NUM:date When : now ?"}, "question",
     [("Who wrote this ?", "person"), ("When : now ?", "number")]),
    ("comparative_sentences", {"comparative_sentences/labeledSentences.txt":
                               "*****\nplain and long enough .\n<cs-1>\nit is better .\n</cs-1>\n1_it 2_that (better)\n"
                               "short .\n"}, "compares",
     [("plain and long enough .", "does not compare"), ("it is better .", "compares")]),
    ("state_union", {"state_union/1945-T.txt": "It is a long sentence of old.\nToo short. ",
                     "state_union/1986-R.txt": "Another one is long enough too."}, "decade",
     [("It is a long sentence of old.", "1950s"), ("Another one is long enough too.", "1980s")])])
def test_a_corpus_is_read_as_its_readme_says(quiet_store, monkeypatch, name, members, task, expected):
    packed(quiet_store / f"nltk_corpora/{name}.zip", members)
    monkeypatch.setattr(store, "path_of", lambda remote: quiet_store / remote.path)
    assert list(corpora.TASKS[task]()) == expected


def test_reviews_give_a_product_and_where_they_are_marked_praise_or_complaint(quiet_store, monkeypatch):
    text = "* header\n[t]title\nscreen[+2], price[-3]##bad value\nzoom[+1][u]##zooms well\n##bought it in may\n"
    for name in ("product_reviews_1", "product_reviews_2"):
        packed(quiet_store / f"nltk_corpora/{name}.zip", {f"{name}/Canon_G3.txt": text})
    monkeypatch.setattr(store, "path_of", lambda remote: quiet_store / remote.path)
    assert list(corpora.TASKS["customer"]()) == 2 * [("bad value", "complaint"), ("zooms well", "praise")]
    assert list(corpora.TASKS["product"]()) == 2 * [(text, "Canon G3") for text in
                                                    ("bad value", "zooms well", "bought it in may")]


def test_of_all_tasks_the_text_names_the_files_and_how_many_tasks():
    whole = data.sentences.all_tasks()
    assert whole.text.endswith(", 8 tasks") and whole.digest == data.source("sentences").digest
