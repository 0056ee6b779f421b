"""Files and folders that chapter 13 opens, downloads and refuses."""
import contextlib
import gzip
import hashlib
import http.server
import io
import json
import os
import pickle
import re
import threading
import time
import zipfile

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from data import store
from lessons.checkpoints import __main__ as command
from lessons.checkpoints import adapters, fetching, folders, known, looking, naming, opening, together, tokens
from lessons.checkpoints.opening import CheckpointError
from lessons.checkpoints.towers import NAMED, Tower

STATE = {"layer.weight": torch.arange(12.0).view(3, 4), "layer.bias": torch.ones(3)}


@pytest.fixture
def sound(tmp_path):
    """A small safetensors file."""
    path = tmp_path / "model.safetensors"
    save_file(STATE, path, metadata={"made": "by a test"})
    return path


class Bomb:
    """Unpickled, it raises the alarm."""

    def __reduce__(self):
        return pytest.fail, ("a file was unpickled",)


def raw(header, data=b""):
    """A safetensors file from a header as text or JSON."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(shape, start, end, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


# -- first bytes ---------------------------------------------------------------------------------------------------

def torch_zip():
    buffer = io.BytesIO()
    torch.save({"weight": torch.ones(2)}, buffer)
    return buffer.getvalue()


def old_torch():
    buffer = io.BytesIO()
    torch.save({"weight": torch.ones(2)}, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def plain_zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("data.pkl", pickle.dumps(Bomb()))
    return buffer.getvalue()


def array():
    buffer = io.BytesIO()
    np.save(buffer, np.ones(3))
    return buffer.getvalue()


def arrays():
    buffer = io.BytesIO()
    np.savez(buffer, weight=np.ones(3))
    return buffer.getvalue()


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:2f31\nsize 349848328\n"
REFUSED = {
    "torch.save": (torch_zip(), "is a zip archive.*a pickle inside.*was not opened.*save_file"),
    "zip": (plain_zip(), "is a zip archive.*was not opened"),
    "torch.save of old": (old_torch(), "is a pickle, whatever its name is.*was not opened"),
    "pickle": (pickle.dumps(Bomb(), protocol=4), "is a pickle, whatever its name is.*weights_only"),
    "pickle 2": (pickle.dumps(Bomb(), protocol=2), "is a pickle, whatever its name is"),
    "pickle 0": (pickle.dumps(Bomb(), protocol=0), "is no safetensors file.*If it is a pickle by an old protocol"),
    "Git-LFS pointer": (POINTER, "is a Git-LFS pointer.*git lfs pull"),
    "web page": (b"  \n<!DOCTYPE html><html>Please log in</html>" + b" " * 600, "is a web page.*Download the file"),
    "server's error": (b'{"error": "Repository not found"}', "is JSON text.*error that a server sent"),
    "gzip": (gzip.compress(b"x" * 900), "is a gzip archive.*Unpack"),
    "GGUF": (b"GGUF\x03" + bytes(600), "is a GGUF file"),
    "array": (array(), "is one NumPy array"),
    "arrays": (arrays(), "is an .npz archive.*safetensors.numpy.save_file"),
    "empty": (b"", "is empty"),
    "text": (b"hello, this is no checkpoint", "is no safetensors file: it begins with b'hello"),
    "header of absurd size": ((2**40).to_bytes(8, "little") + b'{"a"' + bytes(600), "header of absurd size: 1,099,511"),
    "header of text": (raw(b'{"a": ' + b"]" * 20), "header that cannot be read"),
    "header without a place": (raw({"a": {"dtype": "F32", "shape": [1]}}, bytes(4)), "header that cannot be read"),
    "header with a negative size": (raw({"a": entry([-1], 0, 4)}, bytes(4)), "entry of 'a' makes no sense"),
    "a dtype that is not read": (raw({"a": entry([4], 0, 4, "F8_E8M0")}, bytes(4)), "'a' is F8_E8M0.*quantised model"),
    "unknown dtype": (raw({"a": entry([1], 0, 4, "F128")}, bytes(4)), "'a' is F128, and such numbers are not read"),
    "name twice": (raw(b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},'
                       b'"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}', bytes(4)), "'a' stands in it twice"),
    "metadata of numbers": (raw({"__metadata__": {"a": 1}, "a": entry([1], 0, 4)}, bytes(4)), "must map text to text"),
    "half a letter": (raw({"\ud800": entry([1], 0, 4)}, bytes(4)), "header that cannot be read"),
    "70 dimensions": (raw({"a": entry([1] * 70, 0, 4)}, bytes(4)), "'a' has 70 dimensions"),
    "overlapping": (raw({"a": entry([1], 0, 4), "b": entry([1], 0, 4)}, bytes(4)), "contradicts itself at 'b'"),
    "wrong number of bytes": (raw({"a": entry([3], 0, 4)}, bytes(4)), "contradicts itself at 'a': 4 bytes"),
    "bytes behind": (raw({"a": entry([1], 0, 4)}, bytes(9)), "has 5 bytes behind its last tensor"),
}


@pytest.mark.parametrize("content, says", REFUSED.values(), ids=REFUSED.keys())
@pytest.mark.fault("files", "A pickle, archive, web page, pointer or broken header lies under a model's name",
                   answers="It is refused by its first bytes, and nothing in it is run")
def test_what_is_no_safetensors_file_is_refused_by_its_first_bytes(tmp_path, content, says):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=says) as raised:
        folders.opened(path)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("left", [0.9, 0.3, 0.04])
@pytest.mark.fault("files", "A file ends too early", answers="It is refused with both sizes")
def test_a_truncated_file_is_said_to_be(sound, left):
    content = sound.read_bytes()
    sound.write_bytes(content[:int(left * len(content))])
    with pytest.raises(CheckpointError, match="is truncated"):
        opening.header(sound)


@pytest.mark.parametrize("length", [0x280, 0x380, 0x480])
def test_a_header_whose_length_begins_like_a_pickle_is_read(tmp_path, length):
    path = tmp_path / "model.safetensors"
    text = json.dumps({"a": entry([1], 0, 4)}).encode()
    path.write_bytes(length.to_bytes(8, "little") + text + b" " * (length - len(text)) + bytes(4))
    assert path.read_bytes()[:2] in (b"\x80\x02", b"\x80\x03", b"\x80\x04")
    assert folders.opened(path)["a"].tolist() == [0.0]


def test_metadata_may_be_null(tmp_path):
    path = tmp_path / "model.safetensors"
    path.write_bytes(raw({"__metadata__": None, "a": entry([1], 0, 4)}, bytes(4)))
    assert folders.opened(path).metadata == {} and folders.opened(path)["a"].tolist() == [0.0]


def test_a_file_that_may_not_be_read_is_named(sound, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")
    monkeypatch.setattr("builtins.open", refused)  # who runs as root may read every file
    with pytest.raises(CheckpointError, match="model.safetensors cannot be read: Permission denied"):
        opening.header(sound)


def test_a_folder_under_a_files_name_is_told(tmp_path):
    (tmp_path / "model.safetensors").mkdir()
    with pytest.raises(CheckpointError, match="model.safetensors is a folder, where a safetensors file is due"):
        folders.opened(tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="nowhere.safetensors cannot be read: No such file"):
        folders.opened(tmp_path / "nowhere.safetensors")


def test_headers_tell_shapes_and_metadata_without_reading_a_tensor(sound, monkeypatch):
    checkpoint = folders.opened(sound)
    monkeypatch.setattr(opening, "read", lambda *_: pytest.fail("a tensor was read"))
    assert checkpoint.entries["layer.weight"] == opening.Entry("F32", (3, 4)) and len(checkpoint) == 2
    assert checkpoint.metadata == {"made": "by a test"} and naming.parameters(checkpoint) == 15


def test_a_flipped_bit_is_noticed_by_its_digest_alone(sound):
    digest = opening.sha256(sound)
    opening.verify(sound, digest, sound.stat().st_size)
    content = bytearray(sound.read_bytes())
    content[-3] ^= 0x40
    sound.write_bytes(content)
    folders.opened(sound)["layer.bias"]  # safetensors notices nothing
    with pytest.raises(CheckpointError, match="another file, or a bit in it has flipped"):
        opening.verify(sound, digest)


def test_another_size_is_said_before_a_digest_is_taken(sound):
    with pytest.raises(CheckpointError, match="the published file 1,000,000. A download that stopped"):
        opening.verify(sound, "0" * 64, 1_000_000)


# -- files that change ---------------------------------------------------------------------------------------------

def replaced(path):
    other = path.with_name("other")
    save_file({key: tensor + 1 for key, tensor in STATE.items()}, other, metadata={"made": "by a test"})
    os.replace(other, path)


def rewritten(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    with open(path, "rb+") as file:
        file.write(content)


def written_with_the_old_time(path):
    before = path.stat()
    rewritten(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def cut_short(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("change", [replaced, rewritten, written_with_the_old_time, cut_short, os.remove],
                         ids=lambda change: change.__name__)
@pytest.mark.fault("files", "A file is replaced after it was opened",
                   answers="Neither its tensors nor its digest are used")
def test_a_file_that_changed_after_it_was_opened_gives_neither_tensor_nor_digest(sound, change):
    checkpoint = folders.opened(sound)
    assert checkpoint["layer.bias"].tolist() == [1.0] * 3
    checkpoint.digests()
    time.sleep(0.02)  # clocks of file systems tick every few milliseconds
    change(sound)
    for asked in (lambda: checkpoint["layer.bias"], checkpoint.digests):
        with pytest.raises(CheckpointError, match="model.safetensors (has changed since it was opened|cannot be read)"):
            asked()


@pytest.mark.fault("files", "A file is cut short while it is read", answers="An error says so, and the kernel lives on")
def test_a_file_that_shrinks_while_it_is_read_is_an_error(sound):
    known = opening.identity(sound)
    with pytest.raises(CheckpointError, match="ends after .* bytes, where .* are due"):
        opening.read(sound, 8, 10**6, known)  # in a mapped file this would kill the process


@pytest.mark.fault("files", "Contents change, and size and time stay", answers="The digest is taken anew")
def test_a_digest_is_taken_anew_where_contents_changed_and_size_and_time_did_not(sound):
    before = opening.sha256(sound)
    time.sleep(0.02)
    written_with_the_old_time(sound)
    assert opening.sha256(sound) != before


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
@pytest.mark.fault("files", "A pipe or a link to itself lies in a model's place", answers="It is refused at once")
def test_a_pipe_and_a_loop_of_links_are_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "model.safetensors")
    for path in (tmp_path, tmp_path / "model.safetensors"):
        with pytest.raises(CheckpointError, match=r"model.safetensors is a FIFO \(a pipe .*is due"):
            folders.opened(path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(CheckpointError, match="loop is a link that leads back to itself, where a"):
        folders.opened(tmp_path / "loop")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on this system")
def test_a_pipe_and_a_loop_of_links_in_the_place_of_a_text_are_refused_and_not_waited_for(tmp_path):
    save_file({"weight": torch.ones(2)}, tmp_path / "model.safetensors")
    assert folders.opened(tmp_path).config == {}
    (tmp_path / "adapter_model.safetensors").touch()
    reads = {"config.json": folders.opened, "adapter_config.json": adapters.opened, "merges.txt": tokens.Words.read}
    for name, read in reads.items():
        for put, told in ((os.mkfifo, "is a FIFO"), (lambda path: path.symlink_to(path), "is a link that leads back")):
            put(tmp_path / name)
            with pytest.raises((CheckpointError, ValueError), match=f"{tmp_path / name} {told} .*Move it away"):
                read(tmp_path)
            (tmp_path / name).unlink()


@pytest.mark.fault("files", "A header lists more tensors than can be read in time",
                   answers="It is refused with the number")
def test_headers_that_take_minutes_to_read_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "MOST_TENSORS", 5)
    save_file({str(number): torch.zeros(1) for number in range(6)}, tmp_path / "many.safetensors")
    with pytest.raises(CheckpointError, match="header of 6 tensors, where 5 is the most"):
        folders.opened(tmp_path / "many.safetensors")


@pytest.mark.parametrize("path, says", [
    ("bert-base-uncased", r"snapshot_download\('bert-base-uncased'\)"),
    ("openai/clip-vit-base-patch32", "name of a model on the hub, download it first"),
    ("https://huggingface.co/gpt2", "An address is not opened: download the model first"),
    ("x" * 256, "cannot be read: File name too long"), ("a\0b", "cannot be read"),
    ("~nosuchuser/model", "home directory. Write the path without ~")])
@pytest.mark.fault("files", "A hub's name, an address or an impossible path is given",
                   answers="An error says how to get the model")
def test_what_is_no_path_on_this_machine_is_told(path, says):
    with pytest.raises(CheckpointError, match=says):
        folders.opened(path)


@pytest.mark.parametrize("names, says", [
    (["checkpoint-500/", "checkpoint-1000/"], r"a folder of training runs.*the last for one: .*checkpoint-1000$"),
    (["my_model.safetensors"], "one safetensors file by another name: give the file itself, .*my_model.safetensors"),
    (["model-q4.gguf"], "model-q4.gguf is a GGUF file")])
def test_a_folder_without_a_model_says_what_to_open(tmp_path, names, says):
    for name in names:
        (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_bytes(b"")
    with pytest.raises(CheckpointError, match=says):
        folders.opened(tmp_path)


# -- folders -------------------------------------------------------------------------------------------------------

def sharded(folder):
    """STATE in two shards with an index."""
    folder.mkdir(exist_ok=True)
    names = {"layer.weight": "model-00001-of-00002.safetensors", "layer.bias": "model-00002-of-00002.safetensors"}
    for key, name in names.items():
        save_file({key: STATE[key]}, folder / name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    return folder


def test_a_folder_is_opened_with_its_config(sound):
    (sound.parent / "config.json").write_text('{"model_type": "test"}')
    for path in (sound, sound.parent):
        checkpoint = folders.opened(path)
        assert checkpoint.config == {"model_type": "test"} and torch.equal(checkpoint["layer.bias"], torch.ones(3))
    assert checkpoint.digests() == {"model.safetensors": hashlib.sha256(sound.read_bytes()).hexdigest()}


def test_shards_are_one_checkpoint(tmp_path):
    checkpoint = folders.opened(sharded(tmp_path / "model"))
    assert {key: tensor.tolist() for key, tensor in checkpoint.items()} == {k: t.tolist() for k, t in STATE.items()}


@pytest.mark.fault("files", "A model has more shards than files may be open", answers="It is opened")
def test_more_shards_than_files_may_be_open_are_one_checkpoint(tmp_path):
    resource = pytest.importorskip("resource", reason="Windows has no such limit")
    names = {f"layer.{i}.weight": f"model-{i:05}-of-00120.safetensors" for i in range(120)}
    for key, name in names.items():
        save_file({key: torch.ones(2)}, tmp_path / name)
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, before[1]))
    try:
        checkpoint = folders.opened(tmp_path)
        assert sum(checkpoint[key].sum().item() for key in checkpoint) == 240
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.fault("files", "A shard is missing", answers="It is named, with a key that it holds")
def test_a_missing_shard_is_named_with_a_key_that_it_holds(tmp_path):
    folder = sharded(tmp_path / "model")
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(CheckpointError, match="00002.safetensors is missing: .*index.json names it for 1 tensors, "
                                              "among them 'layer.bias'"):
        folders.opened(folder)


def test_a_half_downloaded_shard_is_named(tmp_path):
    folder = sharded(tmp_path / "model")
    shard = folder / "model-00001-of-00002.safetensors"
    shard.write_bytes(shard.read_bytes()[:-5])
    with pytest.raises(CheckpointError, match="model-00001-of-00002.safetensors is truncated"):
        folders.opened(folder)


@pytest.mark.parametrize("change, says", [
    ({"other.weight": "model-00001-of-00002.safetensors"}, "does not hold 'other.weight', which .* says it does"),
    ({"layer.bias": "model-00001-of-00002.safetensors", "x": "model-00002-of-00002.safetensors"}, "'layer.bias' lies"),
    ({"layer.bias": "../model.safetensors"}, "names a shard outside its folder"),
    ({"layer.bias": ".."}, "names a shard outside its folder"), ({"layer.bias": ""}, "names a shard outside"),
    ({"layer.bias": 3}, "is no index of shards")])
@pytest.mark.fault("files", "An index leads out of its folder, or contradicts its shards",
                   answers="It is refused with the name")
def test_an_index_that_contradicts_its_shards_is_refused(tmp_path, change, says):
    folder = sharded(tmp_path / "model")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": json.loads(index.read_text())["weight_map"] | change}))
    with pytest.raises(CheckpointError, match=says):
        folders.opened(folder)


def test_a_whole_file_goes_before_shards_that_were_left_over(tmp_path):
    folder = sharded(tmp_path / "model")
    save_file({"layer.bias": torch.zeros(3)}, folder / "model.safetensors")
    assert folders.opened(folder)["layer.bias"].tolist() == [0.0, 0.0, 0.0]
    (folder / "model-00001-of-00002.safetensors").unlink()  # as save_pretrained does, which lets the index lie
    assert list(folders.opened(folder)) == ["layer.bias"]


def test_of_two_indices_the_models_own_is_taken(tmp_path):
    folder = sharded(tmp_path / "model")
    (folder / "consolidated.safetensors.index.json").write_text('{"weight_map": {"x": "nowhere.safetensors"}}')
    assert sorted(folders.opened(folder)) == sorted(STATE)


def test_a_link_that_leads_nowhere_is_told(tmp_path):
    (tmp_path / "model.safetensors").symlink_to("../../blobs/4f2a")
    with pytest.raises(CheckpointError, match="model.safetensors is a link to ../../blobs/4f2a, which is not there"):
        folders.opened(tmp_path)


@pytest.mark.fault("files", "An index nests thousands of lists", answers="It is refused")
def test_an_index_that_nests_without_end_is_damaged(tmp_path):
    (tmp_path / "model.safetensors.index.json").write_text("[" * 100_000)
    with pytest.raises(CheckpointError, match="index.json cannot be read as JSON"):
        folders.opened(tmp_path)


def test_a_tensor_that_the_index_does_not_know_is_named(tmp_path):
    folder = sharded(tmp_path / "model")
    save_file({"layer.weight": STATE["layer.weight"], "extra": torch.ones(1)},
              folder / "model-00001-of-00002.safetensors")
    with pytest.raises(CheckpointError, match="holds 'extra', of which .* does not know"):
        folders.opened(folder)


@pytest.mark.parametrize("name, says", [
    ("pytorch_model.bin", "pytorch_model.bin is a pickle and is not opened"), ("", "it is empty"),
    ("adapter_model.safetensors", "holds a LoRA adapter, no whole model.*adapters.Adapted"),
    ("notes.txt", "holds no checkpoint: .*it holds notes.txt")])
def test_a_folder_without_a_checkpoint_says_what_is_there(tmp_path, name, says):
    if name:
        (tmp_path / name).write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(CheckpointError, match=says):
        folders.opened(tmp_path)


def test_an_adapters_file_is_no_whole_model_either(tmp_path):
    with pytest.raises(CheckpointError, match="holds a LoRA adapter, no whole model"):
        folders.opened(tmp_path / "adapter_model.safetensors")


def test_a_config_that_cannot_be_read_is_named(sound):
    (sound.parent / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="config.json cannot be read as JSON"):
        folders.opened(sound)


# -- do models belong together? ------------------------------------------------------------------------------------

def kept(folder, name, state):
    save_file({key: tensor.contiguous() for key, tensor in state.items()}, folder / f"{name}.safetensors")
    return folders.opened(folder / f"{name}.safetensors")


def test_half_precision_beside_float32_is_widened_and_said(tmp_path):
    base = kept(tmp_path, "base", STATE)
    half = kept(tmp_path, "half", {key: tensor.bfloat16() for key, tensor in STATE.items()})
    a, (b,), notes = together.together(base, [half])
    assert b["layer.weight"].dtype == torch.float32 and torch.equal(a["layer.weight"], b["layer.weight"])
    assert len(notes) == 1 and "half.safetensors holds BF16: it is read as F32" in notes[0]


def test_float16_beside_bfloat16_becomes_float32(tmp_path):
    base = kept(tmp_path, "base", {key: tensor.half() for key, tensor in STATE.items()})
    other = kept(tmp_path, "other", {key: tensor.bfloat16() for key, tensor in STATE.items()})
    a, (b,), notes = together.together(base, [other])
    assert {a["layer.bias"].dtype, b["layer.bias"].dtype} == {torch.float32} and len(notes) == 2


def test_position_ids_are_left_out_and_said():
    old = STATE | {"embeddings.position_ids": torch.arange(3)}
    a, (b,), notes = together.together(old, [STATE])
    assert list(a) == list(b) == list(STATE) and "'embeddings.position_ids' is no weight and is left out" in notes[0]


def test_batchnorms_counters_stay(tmp_path):
    counted = STATE | {"bn.num_batches_tracked": torch.tensor(7)}
    a, (b,), notes = together.together(counted, [kept(tmp_path, "two", counted)])
    assert int(a["bn.num_batches_tracked"]) == int(b["bn.num_batches_tracked"]) == 7 and not notes


@pytest.mark.parametrize("base, finetuned, says", [
    (STATE, STATE, "must be a list of models, not a dict. One model: .model.; a dict of models: list"),
    (STATE, {"task": STATE}, "must be a list of models"), (STATE, "model.safetensors", "must be a list of models"),
    (STATE, [], "nothing beside the base"),
    ("model.safetensors", [STATE], "model.safetensors is no state dict, but of type str. Open .* folders.opened")])
def test_what_is_no_list_of_models_is_told(base, finetuned, says):
    with pytest.raises(CheckpointError, match=says):
        together.together(base, finetuned)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_weight_that_is_no_number_is_named_with_its_file(tmp_path, bad):
    one = kept(tmp_path, "one", STATE)
    two = kept(tmp_path, "two", STATE | {"layer.bias": torch.tensor([1.0, bad, 1.0])})
    with pytest.raises(CheckpointError, match="two.safetensors: 'layer.bias' holds NaN or infinite weights"):
        together.finite_task_vectors("layer.bias", one, [one, two])


def test_a_config_is_found_behind_whatever_stands_before_it(sound):
    (sound.parent / "config.json").write_text('{"num_attention_heads": 4}')
    cast = together.Cast(together.Without(folders.opened(sound), "layer.bias"), torch.float64, ["layer.weight"])
    assert folders.config_of(cast) == {"num_attention_heads": 4} and folders.config_of(STATE) == {}


WRONG = {
    "missing": ({"layer.weight": STATE["layer.weight"]}, "lacks 'layer.bias'"),
    "extra": (STATE | {"head.weight": torch.ones(2, 3)}, "has 'head.weight' besides"),
    "renamed": ({key.replace("layer", "block"): tensor for key, tensor in STATE.items()},
                r"lessons.checkpoints import renamed.*renamed\(model, words=\{'block.bias': 'layer.bias'\}\)"),
    "some renamed": (
        {key.replace("weight", "kernel"): tensor for key, tensor in STATE.items()},
        r"If only their names differ, .*renamed\(model, words=\{'layer.kernel': 'layer.weight'\}\)`.*If they mean "
        r"something else: leave out .*`base = Without\(base, 'layer.kernel', 'layer.weight'\)`"),
    "shape": (STATE | {"layer.bias": torch.ones(4)}, r"'layer.bias' has shape \(4,\) in .*two.* and \(3,\) in .*one"),
    "quantised": (STATE | {"layer.weight": torch.ones(3, 4, dtype=torch.int8)}, "'layer.weight' is I8"),
    "renamed, and a number besides": (
        {f"model.{key}": tensor for key, tensor in STATE.items()} | {"a.scale": torch.ones(())},
        r"'a.scale' besides.*`base = Without\(base, 'a.'\)`"),
    "a buffer": (STATE | {"layer.ids": torch.arange(3)}, "'layer.ids' is I64.*Leave it out of all models: .from"),
    "float8": (STATE | {"layer.weight": torch.ones(3, 4).to(torch.float8_e4m3fn)}, "'layer.weight' is F8_E4M3"),
}


@pytest.mark.parametrize("other, says", WRONG.values(), ids=WRONG.keys())
@pytest.mark.fault("weights", "Files of models that do not belong together are merged",
                   answers="File and key are named")
def test_models_that_do_not_belong_together_are_refused_by_file_and_key(tmp_path, other, says):
    one, two = kept(tmp_path, "one", STATE), kept(tmp_path, "two", other)
    with pytest.raises(CheckpointError, match=says) as raised:
        together.together(one, [two])
    assert "two.safetensors" in str(raised.value)


@pytest.mark.fault("files", "A published base has older names, or none of the prefix",
                   answers="They are brought to one set of names")
def test_official_names_of_bert_and_prefixes_are_brought_to_the_bases():
    names = ("LayerNorm.gamma", "LayerNorm.beta"), ("LayerNorm.weight", "LayerNorm.bias")
    official, today = ({f"bert.{scale}": torch.ones(3), f"bert.{shift}": torch.zeros(3), "bert.w": torch.ones(1, 3)}
                       for scale, shift in names)
    bare = {key.removeprefix("bert."): tensor for key, tensor in today.items()}
    for base, other, said in ((official, today, "LayerNorm.gamma"), (today, official, "LayerNorm.gamma"),
                              (bare, today, "has 'bert.' before"), (official, bare, "has no 'bert.' before")):
        a, (b,), notes = together.together(base, [other])
        assert list(a) == list(b) == ([*bare] if base is bare else [*today]) and said in " ".join(notes)
        assert a[list(a)[2]].shape == b[list(b)[2]].shape == (1, 3)


def test_a_prefix_is_not_guessed_where_there_are_two():
    two = {f"{tower}.{key}": tensor for tower in ("text", "vision") for key, tensor in STATE.items()}
    with pytest.raises(CheckpointError, match="lacks 'layer.bias'"):
        together.together(STATE, [two])


def test_keys_are_renamed_by_words_and_prefixes():
    found = naming.renamed({"model.a.attn.w": torch.ones(1, 2), "model.attn2.w": torch.zeros(3)}, remove="model.",
                           add="bert.", words={"attn": "attention"})
    assert list(found) == ["bert.a.attention.w", "bert.attn2.w"] and found["bert.a.attention.w"].shape == (1, 2)
    assert found.entry("bert.attn2.w").shape == (3,)
    with pytest.raises(CheckpointError, match="'gamma' and 'weight' would both be named 'weight'"):
        naming.renamed({"gamma": torch.ones(1), "weight": torch.ones(1)}, words={"gamma": "weight"})


def test_a_head_that_only_one_has_is_left_out_on_request():
    other = together.Without(STATE | {"head.weight": torch.ones(2, 3)}, "head.")
    _, (b,), _ = together.together(STATE, [other])
    assert list(b) == list(STATE)


# -- one layout ----------------------------------------------------------------------------------------------------

SMALL = Tower(width=64, layers=2, heads=1, mlp=96, tokens=5, patch=8)
WORDS = Tower(width=64, layers=2, heads=1, mlp=96, tokens=9, vocabulary=30)


def random_tower(tower, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {key: 0.05 * torch.randn(shape, generator=generator) for key, shape in tower.shapes().items()}


def in_names_of(state, column, prefix):
    """A tower under another library's names: the table read backwards, by hand."""
    if column == 0:
        return {prefix + key: tensor for key, tensor in state.items()}
    table = {"embeddings.class_embedding": ("", "class_embedding", "cls_token"),
             "embeddings.patch_embedding.weight": ("", "conv1.weight", "patch_embed.proj.weight"),
             "embeddings.position_embedding.weight": ("", "positional_embedding", "pos_embed"),
             "embeddings.token_embedding.weight": ("", "token_embedding.weight", "")}
    parts = {"pre_layrnorm": ("", "ln_pre", "norm_pre"), "post_layernorm": ("", "ln_post", "norm"),
             "final_layer_norm": ("", "ln_final", ""), "layer_norm1": ("", "ln_1", "norm1"),
             "layer_norm2": ("", "ln_2", "norm2"), "self_attn.out_proj": ("", "attn.out_proj", "attn.proj"),
             "mlp.fc1": ("", "mlp.c_fc", "mlp.fc1"), "mlp.fc2": ("", "mlp.c_proj", "mlp.fc2")}
    blocks = ("", "transformer.resblocks.", "blocks.")[column]
    found = {}
    for key, tensor in state.items():
        number = re.match(r"encoder\.layers\.(\d+)\.", key)
        here, rest = (f"{blocks}{number[1]}.", key[number.end():]) if number else ("", key)
        if key in table:
            found[prefix + table[key][column]] = tensor[None] if column == 2 and tensor.ndim == 2 else tensor
        elif "q_proj" in rest:
            part = rest.rsplit(".", 1)[1]
            whole = torch.cat([state[key.replace("q_proj", f"{letter}_proj")] for letter in "qkv"])
            name = f"attn.in_proj_{part}" if column == 1 else f"attn.qkv.{part}"
            found[prefix + here + name] = whole
        elif "k_proj" not in rest and "v_proj" not in rest:
            module, part = rest.rsplit(".", 1)
            found[f"{prefix}{here}{parts[module][column]}.{part}"] = tensor
    if column == 2:
        found[f"{prefix}cls_token"] = found[f"{prefix}cls_token"].view(1, 1, -1)
    return found


NAMES = {"transformers, old": (0, "vision_model."), "transformers, new": (0, ""), "open_clip": (1, "visual."),
         "task_vectors": (1, "model.visual."), "timm": (2, "")}


@pytest.mark.parametrize("column, prefix", NAMES.values(), ids=NAMES.keys())
def test_four_sets_of_names_become_one(column, prefix):
    ours = random_tower(SMALL)
    found = naming.vision_tower(in_names_of(ours, column, prefix))
    assert found.keys() == ours.keys() and all(torch.equal(found[key], ours[key]) for key in ours)
    assert found.tower == SMALL and found.library == naming.LIBRARIES[column]
    assert {key: found.entry(key).shape for key in found} == SMALL.shapes()


def whole_clip(column):
    """Both towers and the projections, as a file of the whole CLIP has them."""
    vision, text = random_tower(SMALL), random_tower(WORDS, 1)
    prefixes = ("vision_model.", "text_model.") if column == 0 else ("visual.", "")
    state = in_names_of(vision, column, prefixes[0]) | in_names_of(text, column, prefixes[1])
    to_space, of_text = torch.randn(16, 64), torch.randn(16, 64)
    named = {"visual_projection.weight": to_space, "text_projection.weight": of_text} if column == 0 else {
        "visual.proj": to_space.T, "text_projection": of_text.T}
    return state | named | {"logit_scale": torch.tensor(4.6)}, vision, text, to_space, of_text


@pytest.mark.parametrize("column", [0, 1], ids=["transformers", "open_clip"])
def test_one_tower_of_the_whole_clip_is_shown_and_the_other_not_read(column):
    state, vision, text, to_space, of_text = whole_clip(column)
    read = []

    class Watched(dict):
        def __getitem__(self, key):
            read.append(key)
            return super().__getitem__(key)

    found = naming.vision_tower(Watched(state))
    assert all(torch.equal(found[key], vision[key]) for key in vision)
    names = {place.key for place in found.places.values()}
    assert set(read) <= names, "a tensor of the text tower was read"
    words = naming.text_tower(state)
    assert all(torch.equal(words[key], text[key]) for key in text) and words.tower == WORDS
    both = naming.projections(state)
    assert torch.equal(both["visual_projection.weight"], to_space)
    assert torch.equal(both["text_projection.weight"], of_text) and both["logit_scale"] == torch.tensor(4.6)


def test_a_finetuned_tower_has_no_projection_and_that_is_said():
    with pytest.raises(CheckpointError, match="has no projection of images.*finetuned towers come without"):
        naming.projections(random_tower(SMALL))


def test_old_files_position_ids_are_no_part_of_a_tower():
    state = in_names_of(random_tower(SMALL), 0, "vision_model.")
    state["vision_model.embeddings.position_ids"] = torch.arange(5)[None]
    assert len(naming.vision_tower(state)) == len(SMALL.shapes())


def changed(state, **changes):
    return {**state, **changes}


BLOCK_1 = "encoder.layers.1.mlp.fc1.weight"


@pytest.mark.parametrize("change, says", [
    (lambda state: {key: t for key, t in state.items() if key != BLOCK_1}, f"lacks '{BLOCK_1}' of the vision tower"),
    (lambda state: changed(state, **{"encoder.layers.1.adapter.weight": torch.ones(2)}),
     "has 'encoder.layers.1.adapter.weight' in its vision tower"),
    (lambda state: changed(state, **{BLOCK_1: torch.ones(96, 65)}), f"'{BLOCK_1}' has shape .96, 65., where .96, 64."),
    (lambda state: {f"x{key}": tensor for key, tensor in state.items()}, "holds no vision tower of CLIP by any"),
], ids=["missing", "extra", "shape", "renamed"])
def test_a_tower_that_is_not_whole_is_refused_by_key(change, says):
    with pytest.raises(CheckpointError, match=says):
        naming.vision_tower(change(random_tower(SMALL)))


def on_meta(tower):
    return {key: torch.empty(shape, device="meta") for key, shape in tower.shapes().items()}


def test_another_vit_is_called_by_its_name():
    with pytest.raises(CheckpointError, match="is ViT-L/14: width 1024, patches of 14, 24 blocks; you asked for "
                                              r"ViT-B/32 \(width 768, not 1024, patch 32, not 14"):
        naming.vision_tower(on_meta(NAMED["ViT-L/14"]), "ViT-B/32")
    for name, tower in NAMED.items():
        assert naming.vision_tower(on_meta(tower), name).tower == tower


def test_the_sizes_are_those_of_the_published_models():
    assert [tower.parameters() for tower in NAMED.values()] == [87_456_000, 85_799_424, 303_179_776]
    assert len(NAMED["ViT-B/32"].shapes()) == 199 and [tower.image for tower in NAMED.values()] == [224] * 3


def test_the_config_says_what_shapes_do_not(sound):
    save_file(random_tower(SMALL), sound)
    (sound.parent / "config.json").write_text('{"vision_config": {"num_attention_heads": 4, "hidden_act": "gelu"}}')
    tower = naming.vision_tower(folders.opened(sound)).tower
    assert (tower.heads, tower.activation) == (4, "gelu")
    (sound.parent / "config.json").write_text('{"num_attention_heads": 7}')
    with pytest.raises(CheckpointError, match="7 heads do not divide a width of 64 .config.json"):
        naming.vision_tower(folders.opened(sound))


NONSENSE = [("num_attention_heads", value) for value in ("x", [2], {}, 2.5, True, False)]
NONSENSE += [("hidden_act", value) for value in ([], {}, 3, ["gelu"])]
NONSENSE += [("vision_config", value) for value in ([], [1], "ViT", 3, "")]


@pytest.mark.parametrize("field, value", NONSENSE)
@pytest.mark.fault("files", "A config holds nonsense", answers="File and field are named")
def test_nonsense_in_a_config_is_told_by_file_and_field(sound, field, value):
    save_file(random_tower(SMALL), sound)
    (sound.parent / "config.json").write_text(json.dumps({field: value}))
    with pytest.raises(CheckpointError, match=rf"^{re.escape(str(sound))}: its config.json says .* for {field}, where"):
        naming.vision_tower(folders.opened(sound))


def test_null_in_a_config_says_nothing(sound):
    save_file(random_tower(SMALL), sound)
    nulls = dict.fromkeys(("vision_config", "num_attention_heads", "hidden_act"))
    (sound.parent / "config.json").write_text(json.dumps(nulls))
    tower = naming.vision_tower(folders.opened(sound)).tower
    assert (tower.heads, tower.activation) == (1, "quick_gelu")


# -- downloads -----------------------------------------------------------------------------------------------------

CONTENT = raw({"a": entry([50_000], 0, 200_000)}, bytes(range(250)) * 800)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def hub(network, monkeypatch):
    """A hub on 127.0.0.1 that knows ranges: `.page`, what it sends; `.tail`, what it sends behind that; `.cut`, after
    how many bytes it hangs up the next time; `.ranges`, what was asked for; `.headers`, what it says besides, or does
    not say where the text is empty."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            hub = self.server
            asked = self.headers.get("Range")
            if self.headers.get("If-Range", hub.headers.get("ETag")) != hub.headers.get("ETag") and hub.knows_if:
                asked = None
            start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and hub.knows_ranges else 0
            body = hub.page[start:]
            self.send_response(416 if asked and not body else 206 if start else 200)
            ends = {"Content-Range": f"bytes */{len(hub.page)}"} if asked and not body else {}
            for name, text in {"Content-Length": len(body), **ends, **hub.headers}.items():
                if text != "":
                    self.send_header(name, str(text))
            self.end_headers()
            if self.command == "GET":
                hub.ranges.append(self.headers.get("Range"))
                cut, hub.cut = hub.cut, None
                with contextlib.suppress(ConnectionError):  # who has read enough hangs up
                    self.wfile.write((body + hub.tail)[:cut])

        do_HEAD = do_GET

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.page, server.cut, server.ranges, server.headers, server.knows_ranges = CONTENT, None, [], {}, True
    server.knows_if, server.tail = True, b""
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    monkeypatch.setattr(known, "HUB", f"http://127.0.0.1:{server.server_port}")
    yield server
    server.shutdown()
    server.server_close()


SIZE = len(CONTENT)


def remote(sha256=DIGEST, size=SIZE, name="clip"):
    return known.Remote(name, "someone/clip", "28dca299b68f294bb368533172496dbde3901f3e", sha256, size)


def lying(folder):
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_a_pinned_file_is_fetched_checked_and_named(hub, quiet_store):
    path = fetching.fetch(remote(), progress=False)
    assert path == quiet_store / "checkpoints/clip/model.safetensors" and path.read_bytes() == CONTENT
    assert lying(path.parent) == ["model.safetensors"] and fetching.status(remote()).startswith("pinned")
    hub.ranges.clear()
    assert fetching.fetch(remote()) == path and not hub.ranges


def test_a_file_without_a_published_digest_is_said_not_to_be_pinned(hub, quiet_store):
    hub.headers = {"X-Repo-Commit": "c0ffee" * 6 + "0000"}
    path = fetching.fetch(remote("", 0), progress=False)
    beside = (path.parent / "model.safetensors.sha256").read_text().split()
    assert beside == [DIGEST, "model.safetensors", "c0ffee" * 6 + "0000"]
    assert fetching.status(remote("", 0)).startswith("not pinned")
    content = bytearray(CONTENT)
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="a bit in it has flipped"):  # since the first download
        fetching.checked(remote("", 0))


@pytest.mark.fault("fetched", "A download is cut off", answers="It goes on where it stopped")
def test_a_download_that_stopped_goes_on_where_it_did(hub):
    hub.cut = 150_000
    with pytest.raises(store.Unavailable, match="stopped after .* bytes.*goes on from there"):
        fetching.fetch(remote(), progress=False)
    folder = fetching.folder(remote())
    assert lying(folder) == [".model.safetensors.partial", ".model.safetensors.partial.version"]
    come = (folder / ".model.safetensors.partial").stat().st_size
    assert fetching.fetch(remote(), progress=False).read_bytes() == CONTENT
    assert come and hub.ranges == [None, f"bytes={come}-"] and lying(folder) == ["model.safetensors"]


MOVED = bytearray(CONTENT)  # the branch moved on while the download had stopped
MOVED[1_000] ^= 1  # in the half that has come
MOVED[-1] ^= 1  # and in the other


def half_of(hub, asked):
    hub.cut = 150_000
    with pytest.raises(store.Unavailable, match="goes on from there"):
        fetching.fetch(asked, progress=False)
    return (fetching.folder(asked) / ".model.safetensors.partial").stat().st_size


@pytest.mark.parametrize("before, after, knows_if", [
    ({"ETag": '"a"'}, {"ETag": '"b"'}, True), ({"ETag": '"a"'}, {"ETag": '"b"'}, False), ({}, {}, True),
    ({"ETag": '"a"'}, {}, False),
    ({"ETag": 'W/"a"'}, {"ETag": 'W/"a"'}, True),
    ({"Last-Modified": "Mon, 1 Jan 2024 00:00:00 GMT"}, {"Last-Modified": "Tue, 2 Jan 2024 00:00:00 GMT"}, False)],
    ids=["told by If-Range", "told by the answer", "nobody can tell", "no ETag any more", "a weak ETag",
         "told by its date"])
@pytest.mark.fault("fetched", "The file behind an address changes between two parts of a download",
                   answers="The two are never mixed")
def test_a_download_that_goes_on_never_mixes_two_revisions(hub, before, after, knows_if):
    asked = remote("", 0)
    hub.headers = before
    half_of(hub, asked)
    hub.page, hub.headers, hub.knows_if = MOVED, after, knows_if
    try:
        path = fetching.fetch(asked, progress=False)
    except store.Unavailable as error:
        assert "has changed since the download began" in str(error) and not lying(fetching.folder(asked))[2:]
        path = fetching.fetch(asked, progress=False)
    assert path.read_bytes() == MOVED
    assert lying(path.parent) == ["model.safetensors", "model.safetensors.sha256"]


def test_a_beginning_that_is_longer_than_the_file_is_now_is_not_taken_for_it(hub):
    merges = known.Remote("clip", "someone/clip", "main", file="merges.txt")
    hub.page, hub.cut = b"#version: 0.2\n" + b"a b\n" * 50_000, 150_000
    hub.headers, hub.knows_if = {"ETag": '"a"'}, False
    with pytest.raises(store.Unavailable, match="goes on from there"):
        fetching.fetch(merges, progress=False)
    hub.page = b"#version: 0.3\nc d\n"
    with pytest.raises(store.Unavailable, match="has changed since the download began"):
        fetching.fetch(merges, progress=False)
    assert fetching.fetch(merges, progress=False).read_bytes() == hub.page


@pytest.mark.fault("fetched", "A download is interrupted between two revisions",
                   answers="Nothing is left to go on from")
def test_a_kill_between_two_revisions_leaves_nothing_to_go_on_from(hub, monkeypatch):
    asked = remote("", 0)
    hub.headers = {"ETag": '"a"'}
    half_of(hub, asked)
    hub.page, hub.headers = MOVED, {"ETag": '"b"'}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(fetching, "_write", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        fetching.fetch(asked, progress=False)
    assert fetching.fetch(asked, progress=False).read_bytes() == MOVED


def test_a_file_that_is_not_pinned_goes_on_where_it_stopped_if_it_is_the_same(hub):
    asked = remote("", 0)
    hub.headers = {"ETag": '"a"'}
    come = half_of(hub, asked)
    assert fetching.fetch(asked, progress=False).read_bytes() == CONTENT and hub.ranges == [None, f"bytes={come}-"]


@pytest.mark.fault("fetched", "A server sends without end", answers="The download stops at the published size")
def test_a_body_without_end_is_cut_off_at_the_size_that_was_published(hub, monkeypatch):
    hub.page = CONTENT * 20
    written = []
    monkeypatch.setattr(fetching, "CHUNK", 1 << 12)
    monkeypatch.setattr(fetching.os, "fsync", lambda number: written.append(os.fstat(number).st_size))
    with pytest.raises(store.Unavailable, match="goes on behind the 200,... bytes that the file has"):
        fetching.fetch(remote(), progress=False)
    assert written == [pytest.approx(SIZE, abs=1 << 12)] and "model.safetensors" not in lying(fetching.folder(remote()))


@pytest.mark.parametrize("size, says", [(SIZE, "200,... bytes that the file has"),
                                        (0, "300,000 bytes that are read where nobody says how long it is")])
def test_a_body_of_unsaid_length_is_cut_off_at_the_published_size_or_at_a_limit(hub, monkeypatch, size, says):
    hub.page, hub.headers = CONTENT * 20, {"Content-Length": ""}  # it ends where the connection does
    written = []
    monkeypatch.setattr(fetching, "LARGEST", 300_000)
    monkeypatch.setattr(fetching.os, "fsync", lambda number: written.append(os.fstat(number).st_size))
    with pytest.raises(store.Unavailable, match=f"goes on behind the {says}"):
        fetching.fetch(remote(DIGEST if size else "", size), progress=False)
    assert written == [pytest.approx(size or 300_000, abs=fetching.CHUNK)]
    assert lying(fetching.folder(remote())) == []


@pytest.mark.parametrize("headers", [{}, {"Content-Length": "", "X-Linked-Size": SIZE}], ids=["length", "linked"])
def test_a_file_of_no_published_size_is_read_as_far_as_the_server_says_and_no_further(hub, headers):
    hub.headers, hub.tail = headers, bytes(200_000)
    if headers:
        with pytest.raises(store.Unavailable, match="goes on behind the 200,... bytes that the file has"):
            fetching.fetch(remote("", 0), progress=False)
        assert lying(fetching.folder(remote())) == []
    else:
        assert fetching.fetch(remote("", 0), progress=False).read_bytes() == CONTENT


def test_a_server_that_knows_no_ranges_sends_it_anew(hub):
    hub.cut = 150_000
    with pytest.raises(store.Unavailable):
        fetching.fetch(remote(), progress=False)
    hub.knows_ranges = False
    assert fetching.fetch(remote(), progress=False).read_bytes() == CONTENT


def test_a_part_that_is_whole_already_only_gets_its_name(hub):
    part = fetching.folder(remote()) / ".model.safetensors.partial"
    part.parent.mkdir(parents=True)
    part.write_bytes(CONTENT)
    assert fetching.fetch(remote(), progress=False).read_bytes() == CONTENT


@pytest.mark.parametrize("page, says", [
    (CONTENT[:-1] + b"x", "is not the file: .*has flipped"), (CONTENT[:-1], "is not the file: .*is truncated"),
    (b"<html>Please log in</html>" + bytes(600), "is not the file: .*is a web page"), (POINTER, "a Git-LFS pointer"),
    (torch_zip(), "is a zip archive")], ids=["flipped", "short", "page", "pointer", "pickle"])
@pytest.mark.fault("fetched", "A page, another file, or too few bytes come",
                   answers="It is refused, and nothing is left")
def test_what_comes_and_is_not_the_file_leaves_nothing_behind(hub, page, says):
    hub.page = page
    with pytest.raises(store.Unavailable, match=says):
        fetching.fetch(remote(), progress=False)
    assert lying(fetching.folder(remote())) == []


@pytest.mark.parametrize("page, sound", [(b"#version: 0.2\na b\n", True), (b'{"a": 0}', True), (b"<html>", False),
                                         (POINTER, False), (b"", False)])
def test_a_page_is_no_tokenizers_file(hub, page, sound):
    hub.page = page
    merges = known.Remote("clip", "someone/clip", "main", file="merges.txt")
    if sound:
        assert fetching.fetch(merges, progress=False).read_bytes() == page
    else:
        with pytest.raises(store.Unavailable, match="is not the file: it is"):
            fetching.fetch(merges, progress=False)
        assert lying(fetching.folder(merges)) == []


@pytest.mark.fault("fetched", "A bit flips on the way", answers="The hub's own digest tells it")
def test_the_hubs_own_digest_tells_a_bit_that_flipped_on_the_way(hub):
    hub.headers = {"X-Linked-Etag": f'"{DIGEST}"'}
    hub.page = CONTENT[:-1] + b"x"
    with pytest.raises(store.Unavailable, match="a bit in it has flipped"):
        fetching.fetch(remote("", 0), progress=False)


@pytest.mark.fault("fetched", "There is no room for the file", answers="It is said before anything is written")
def test_a_full_disk_is_said_before_anything_is_written(hub, monkeypatch):
    monkeypatch.setattr(fetching.shutil, "disk_usage", lambda _: type("", (), {"free": 1000})())
    with pytest.raises(store.StoreError, match="has no room for model.safetensors: 200,0.. bytes are needed, 1,000"):
        fetching.fetch(remote(), progress=False)
    assert lying(fetching.folder(remote())) == []


@pytest.mark.fault("fetched", "The disk becomes full during the download", answers="It is said, and nothing is left")
def test_a_disk_that_fills_up_on_the_way_leaves_nothing_behind(hub, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")
    monkeypatch.setattr(fetching.os, "fsync", full)
    with pytest.raises(store.StoreError, match="has no room for .*No space left on device"):
        fetching.fetch(remote(), progress=False)
    assert lying(fetching.folder(remote())) == []


def test_without_a_network_it_is_said_and_nothing_is_written(quiet_store):
    with pytest.raises(store.Unavailable, match="the network is switched off"):
        fetching.fetch(remote())
    assert not quiet_store.exists()


@pytest.mark.slow  # waits the five seconds that a network has
@pytest.mark.fault("fetched", "The hub does not answer", answers="It is given up after five seconds")
def test_a_hub_that_does_not_answer_is_given_up_after_five_seconds(network, silent_url, monkeypatch, quiet_store):
    monkeypatch.setattr(known, "HUB", silent_url.rsplit("/", 1)[0])
    with pytest.raises(store.Unavailable, match="gave no answer within 5 s"):
        fetching.fetch(remote())
    assert not quiet_store.exists()


def test_a_missing_file_says_how_to_get_it():
    with pytest.raises(CheckpointError, match="Fetch it by `python -m lessons.checkpoints fetch b32`, or copy "
                                              "model.safetensors of huggingface.co/someone/clip"):
        fetching.checked(remote())


def test_the_table_names_revision_and_digest_where_they_are_known():
    for remote in known.SETS["b32"]:
        assert remote.url.startswith(f"https://huggingface.co/{remote.repository}/resolve/")
        assert re.fullmatch("|[0-9a-f]{64}", remote.sha256)
    assert known.BASE.url.endswith("clip-vit-base-patch32/resolve/refs%2Fpr%2F15/model.safetensors")
    assert len(fetching.missing()) == len(known.SETS["b32"]) == 9
    with pytest.raises(ValueError, match="there is no set of checkpoints 'l14'; there are b32"):
        fetching.missing("l14")


def test_the_command_lists_and_fetches(hub, monkeypatch, capsys):
    monkeypatch.setattr(known, "SETS", {"b32": (remote(), remote("0" * 64, name="other"))})
    assert command.main(["fetch", "b32", "--list"]) == 0 and capsys.readouterr().out.count("missing") == 2
    assert command.main(["fetch", "b32"]) == 1
    said = capsys.readouterr()
    assert "clip/model.safetensors: pinned" in said.out and "other/model.safetensors: what came from" in said.err


@pytest.mark.parametrize("change", [
    lambda base, tuned: None,
    lambda base, tuned: tuned[1].update(tuned[0]),
    lambda base, tuned: tuned[1].update({key: tensor * (1 + 1e-7) for key, tensor in tuned[0].items()}),
    lambda base, tuned: tuned[0].update(base),
    lambda base, tuned: tuned[0].update({key: -tensor for key, tensor in base.items()}),
    lambda base, tuned: tuned[0].update({key: 1e-30 * tensor for key, tensor in base.items()}),
    lambda base, tuned: tuned[0].update({key: 1e25 * tensor for key, tensor in base.items()}),
])
def test_a_quick_look_finds_as_many_strangers_as_a_close_one(change, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    base = {"a.weight": torch.randn(30, 200, generator=generator), "a.bias": torch.randn(30, generator=generator)}
    tuned = [{key: tensor + 0.01 * torch.randn(tensor.shape, generator=generator) for key, tensor in base.items()}
             for _ in range(2)]
    change(base, tuned)
    quick = looking.strange(base, tuned, ["one", "two"])
    monkeypatch.setattr(looking, "_plainly_related", lambda *given: False)
    assert quick == looking.strange(base, tuned, ["one", "two"])
