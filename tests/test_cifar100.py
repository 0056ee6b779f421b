import hashlib
import io
import os
import signal
import subprocess
import sys
import tarfile
import time

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

import data
from data import cifar100, drawn, split_cifar100, store
from test_data import DAMAGE, alter, own_copy

FINE = "".join(f"kind_{c}\n" for c in range(100)).encode()
SAMPLES = {"train": 3, "test": 2}  # images a class of the tiny CIFAR-100 below


def names(folder):
    """What lies in the folder, locks aside."""
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def binary(split):
    """The bytes of a file of the tiny CIFAR-100, its pixels (n, 3, 32, 32) and its labels (n,)."""
    generator = torch.Generator().manual_seed(len(split))
    y = torch.arange(100).repeat(SAMPLES[split])[torch.randperm(100 * SAMPLES[split], generator=generator)]
    pixels = torch.randint(0, 256, (len(y), 3, 32, 32), dtype=torch.uint8, generator=generator)
    rows = [bytes([label // 5, label]) + image.numpy().tobytes() for label, image in zip(y.tolist(), pixels)]
    return b"".join(rows), pixels, y


@pytest.fixture(scope="module")
def tiny():
    """{path: bytes} of the four files of the tiny CIFAR-100."""
    contents = {"train.bin": binary("train")[0], "test.bin": binary("test")[0],
                "fine_label_names.txt": FINE, "coarse_label_names.txt": b"things\n"}
    return {f"cifar-100-binary/{name}": content for name, content in contents.items()}


def packed(contents, **links):
    """A tar.gz with these files and symbolic links."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        for path, content in contents.items():
            member = tarfile.TarInfo(path)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
        for path, target in links.items():
            member = tarfile.TarInfo(path)
            member.type, member.linkname = tarfile.SYMTYPE, target
            tar.addfile(member)
    return archive.getvalue()


def publish(monkeypatch, tiny, archive, *urls):
    """Make the tiny CIFAR-100 the official one, in an archive at these addresses."""
    within = store.RemoteFile("cifar-100-binary.tar.gz", len(archive), hashlib.md5(archive).hexdigest(), "", urls)

    def published(path):
        return store.RemoteFile(path, len(tiny[path]), hashlib.md5(tiny[path]).hexdigest(), "", (), within)

    files = {part: tuple(published(file.path) for file in files) for part, files in cifar100.FILES.items()}
    monkeypatch.setattr(cifar100, "FILES", files)
    monkeypatch.setattr(cifar100, "IMAGES_PER_CLASS", SAMPLES)
    monkeypatch.setattr(store, "_given_up", {})


@pytest.fixture
def here(monkeypatch, quiet_store, tiny):
    """The data folder, with the tiny CIFAR-100 in it as the official one, without its archive."""
    publish(monkeypatch, tiny, b"nowhere")
    for path, content in tiny.items():
        (quiet_store / path).parent.mkdir(parents=True, exist_ok=True)
        (quiet_store / path).write_bytes(content)
    return quiet_store


@pytest.fixture
def online(monkeypatch, server, tiny):
    """The web server, with the tiny CIFAR-100 as the official one at /cifar-100-binary.tar.gz."""
    others = {"cifar-100-binary/readme": b"no one asks for this", "../outside": b"nor for this"}
    server.pages["/cifar-100-binary.tar.gz"] = packed(tiny | others)
    publish(monkeypatch, tiny, server.pages["/cifar-100-binary.tar.gz"], f"{server.url}/cifar-100-binary.tar.gz")
    return server


# -- the binary layout -------------------------------------------------------------------------------------------------

def test_a_row_is_coarse_fine_and_the_red_green_and_blue_plane_row_by_row(tmp_path):
    red, green, blue = ([plane] * 1024 for plane in (10, 20, 30))
    red[1], green[32], blue[-1] = 11, 22, 33  # beside the first pixel, below the first pixel, the last pixel
    (tmp_path / "file").write_bytes(bytes([7, 99, *red, *green, *blue]) + bytes([8, 3]) + bytes(3072))
    pixels, y = cifar100.rows(tmp_path / "file", range(100))
    assert pixels.shape == (2, 3, 32, 32) and pixels.dtype == torch.uint8
    assert y.tolist() == [99, 3] and y.dtype == torch.int64
    assert [pixels[0, channel].float().median() for channel in range(3)] == [10, 20, 30]
    assert pixels[0, 0, 0, 1] == 11 and pixels[0, 1, 1, 0] == 22 and pixels[0, 2, 31, 31] == 33 and not pixels[1].any()


@pytest.mark.parametrize("split", data.SPLITS)
def test_load_gives_the_images_of_the_splits_in_the_files_order_normalised_with_labels_from_0_to_99(here, split):
    _, pixels, y = binary(split)
    loaded = data.load("split_cifar100", split, splits=(19, 3))
    chosen = ((y >= 15) & (y < 20)) | (y >= 95)
    mean, std = (torch.tensor(values)[:, None, None] for values in (cifar100.MEAN, cifar100.STD))
    expected = (pixels[chosen] / 255 - mean) / std
    assert loaded.source.kind == "official" and len(loaded) == 10 * SAMPLES[split]
    assert loaded.x.dtype == torch.float32 and loaded.y.dtype == torch.int64 and torch.equal(loaded.y, y[chosen])
    torch.testing.assert_close(loaded.x, expected)
    torch.testing.assert_close(split_cifar100.unnormalise(loaded.x), pixels[chosen] / 255)


def test_all_splits_together_are_cifar_100(here):
    whole, splits = data.load("cifar100", "test"), data.load("split_cifar100", "test", splits=tuple(range(20)))
    assert torch.equal(whole.x, splits.x) and torch.equal(whole.y, splits.y) and torch.equal(whole.y, binary("test")[2])


@pytest.mark.parametrize("name, options", [("cifar100", {}), ("split_cifar100", {"splits": (4, 2)})])
def test_size_takes_the_first_images(here, name, options):
    whole, first = data.load(name, "train", **options), data.load(name, "train", size=7, **options)
    assert torch.equal(first.x, whole.x[:7]) and torch.equal(first.y, whole.y[:7])
    assert "first 7 images" in first.source.text
    assert first.source.digest != whole.source.digest


def test_the_class_names_are_the_official_ones_where_the_files_are(here):
    assert split_cifar100.class_names() == [f"kind {c}" for c in range(100)]


# -- options -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("splits", [(), [], (20,), (-1,), (0, 0), (0, True), (True,), (1.0,), (1.5,), ("0",), "0", 0,
                                    None, ([0],), {0}, {0: 1}])
def test_splits_that_make_no_sense_are_named(splits):
    for call in (lambda: data.source("split_cifar100", splits=splits),
                 lambda: data.load("split_cifar100", "test", splits=splits)):
        with pytest.raises(ValueError, match="from 0 to 19") as raised:
            call()
        assert repr(splits) in str(raised.value)


@pytest.mark.parametrize("size", [0, -1, True, 1.5, "3", 50_001])
@pytest.mark.parametrize("name", ["cifar100", "split_cifar100"])
def test_a_size_that_makes_no_sense_is_named(name, size):
    for call in (lambda: data.source(name, size=size), lambda: data.load(name, "test", size=size)):
        with pytest.raises(ValueError, match="size") as raised:
            call()
        assert repr(size) in str(raised.value)


@pytest.mark.parametrize("fixture, most", [("here", 5 * SAMPLES["test"]), ("quiet_store", 500)],
                         ids=["official", "stand-in"])
def test_more_images_than_a_part_has_are_refused(request, fixture, most):
    request.getfixturevalue(fixture)
    assert len(data.load("split_cifar100", "test", size=most)) == most
    with pytest.raises(ValueError, match=f"from 1 to {most}, not {most + 1}"):
        data.load("split_cifar100", "test", size=most + 1)


choices = st.sets(st.integers(0, 19), min_size=1).map(tuple)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choices, choices, st.none() | st.integers(1, 15), st.none() | st.integers(1, 15), st.randoms())
def test_digests_are_equal_only_for_equal_images_whatever_the_order_of_the_splits(
        here, splits, other, size, other_size, random):
    first = data.source("split_cifar100", splits=splits, size=size)
    second = data.source("split_cifar100", splits=other, size=other_size)
    assert (first.digest == second.digest) == ((set(splits), size) == (set(other), other_size))
    assert data.source("split_cifar100", splits=random.sample(splits, len(splits)), size=size) == first


def test_the_order_of_the_splits_does_not_change_the_images(here):
    first = data.load("split_cifar100", "test", splits=(7, 2))
    second = data.load("split_cifar100", "test", splits=[2, 7])
    assert torch.equal(first.x, second.x) and torch.equal(first.y, second.y) and first.source == second.source


def test_the_text_names_the_splits(here):
    for splits, text in {(0,): "split 0", (8, 0, 5, 7, 6): "splits 0, 5–8", (3, 1): "splits 1, 3"}.items():
        assert data.source("split_cifar100", splits=splits).text == f"CIFAR-100 (official files), {text}"


# -- files that are not sound ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["train.bin", "test.bin", "fine_label_names.txt", "coarse_label_names.txt"])
@pytest.mark.parametrize("problem", DAMAGE)
@pytest.mark.fault("data", "A file of CIFAR-100 is damaged", answers="The damage is named, and a stand-in is used")
def test_a_damaged_file_is_noticed_and_named_and_the_stand_in_taken(here, name, problem):
    path = here / "cifar-100-binary" / name
    if problem == "has been altered":
        alter(path, -1)
    else:
        DAMAGE[problem](path)
    before = {path: path.read_bytes() for path in path.parent.iterdir()}
    found = data.load("split_cifar100", "test").source
    assert found.is_stand_in and f"{path} {problem}" in found.reason and "WEIGHTSPACE_OFFLINE" in found.reason
    assert {path: path.read_bytes() for path in path.parent.iterdir()} == before


def test_a_byte_that_another_process_alters_between_two_loads_is_noticed(here):
    path = here / "cifar-100-binary/train.bin"
    assert data.load("split_cifar100", "train").source.kind == "official"
    flip = (f"with open({str(path)!r}, 'rb+') as file: file.seek(100_000); byte = file.read(1)[0]; "
            "file.seek(100_000); file.write(bytes([byte ^ 1]))")
    subprocess.run([sys.executable, "-c", flip], check=True)
    found = data.load("split_cifar100", "train").source
    assert found.is_stand_in and f"{path} has been altered" in found.reason


# -- the archive -------------------------------------------------------------------------------------------------------

def test_the_archive_is_fetched_once_for_all_its_files_and_nothing_else_is_unpacked(online, quiet_store, tiny):
    loaded = data.load("split_cifar100", "train")
    data.load("split_cifar100", "test", splits=(3,))
    assert loaded.source.kind == "official"
    assert [asked for asked in online.asked if "GET" in asked] == ["GET /cifar-100-binary.tar.gz"]
    assert {path: (quiet_store / path).read_bytes() for path in tiny} == tiny
    assert names(quiet_store) == ["cifar-100-binary", "cifar-100-binary.tar.gz"]
    assert len(names(quiet_store / "cifar-100-binary")) == 4
    assert names(quiet_store.parent) == ["data"]


def test_a_damaged_file_comes_back_from_the_archive_without_a_network(online, quiet_store, tiny, monkeypatch):
    data.source("cifar100")
    monkeypatch.setenv("WEIGHTSPACE_OFFLINE", "1")
    alter(path := quiet_store / "cifar-100-binary/test.bin")
    with pytest.warns(store.DataWarning, match="test.bin has been altered"):
        assert data.source("cifar100").kind == "official"
    assert path.read_bytes() == tiny["cifar-100-binary/test.bin"]


def test_an_archive_that_was_brought_by_hand_is_enough(online, quiet_store, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_OFFLINE", "1")
    quiet_store.mkdir()
    (quiet_store / "cifar-100-binary.tar.gz").write_bytes(online.pages["/cifar-100-binary.tar.gz"])
    assert data.source("cifar100").kind == "official" and not online.asked


@pytest.mark.parametrize("damaged", [lambda content: content[:-1], lambda content: content + b"x",
                                     lambda content: b"<html>Please log in</html>"])
def test_wrong_bytes_in_the_archives_place_are_not_unpacked(online, quiet_store, damaged):
    online.pages["/cifar-100-binary.tar.gz"] = damaged(online.pages["/cifar-100-binary.tar.gz"])
    for _ in range(2):
        found = data.source("cifar100")
        assert found.is_stand_in and "train.bin is missing" in found.reason
        assert f"{online.url}/cifar-100-binary.tar.gz" in found.reason
    assert names(quiet_store) == [] and sum("GET" in asked for asked in online.asked) == 1


@pytest.mark.parametrize("kind", ["missing", "link", "another file", "no archive"])
@pytest.mark.fault("data", "The archive of CIFAR-100 holds other files", answers="It is refused")
def test_an_archive_without_the_right_files_is_not_believed(server, quiet_store, monkeypatch, tiny, kind):
    others = {path: content for path, content in tiny.items() if not path.endswith("train.bin")}
    name = "cifar-100-binary/train.bin"
    archive = {"missing": lambda: packed(others), "link": lambda: packed(others, **{name: "/etc/passwd"}),
               "another file": lambda: packed(others | {name: b"x"}), "no archive": lambda: b"no archive"}[kind]()
    server.pages["/archive"] = archive
    publish(monkeypatch, tiny, archive, f"{server.url}/archive")
    found = data.source("cifar100")
    archive = quiet_store / "cifar-100-binary.tar.gz"
    assert found.is_stand_in and f"{name} could not be taken from {archive}" in found.reason
    assert names(quiet_store / "cifar-100-binary") == []


def test_without_a_network_the_stand_in_is_taken_at_once_and_the_reason_given(
        network, dead_url, monkeypatch, tiny, quiet_store):
    publish(monkeypatch, tiny, b"archive", dead_url)
    start = time.monotonic()
    found = data.source("split_cifar100")
    assert found.is_stand_in and "train.bin is missing" in found.reason and "gave no answer" in found.reason
    assert found.reason in str(found)
    assert time.monotonic() - start < 5.5 and not quiet_store.exists()


PUBLISHED = """
    from data import cifar100, store
    from data.store import RemoteFile
    cifar100.FILES = {files!r}
"""


def test_archive_and_files_have_the_mode_of_ordinary_new_files(online, quiet_store, tiny, is_ordinary):
    cifar100.found()
    assert all(is_ordinary(quiet_store / path) for path in (*tiny, "cifar-100-binary.tar.gz"))


@pytest.mark.fault("killed", "A process is killed while it downloads",
                   answers="Nothing is taken for the file, and the next call fetches it")
def test_a_process_that_is_killed_while_it_downloads_leaves_nothing_that_is_taken_for_the_archive(
        online, start_python, quiet_store, tiny):
    online.halves.add("/cifar-100-binary.tar.gz")
    process = start_python(PUBLISHED.format(files=cifar100.FILES) + "    cifar100.found()")
    assert online.half_sent.wait(60)
    while not names(quiet_store) and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (left,) = names(quiet_store)
    assert left.startswith(".cifar-100-binary.tar.gz.") and left.endswith(f".{process.pid}.part")
    online.halves.clear()
    loaded = data.load("split_cifar100", "train", splits=tuple(range(20)))
    assert loaded.source.kind == "official" and torch.equal(loaded.y, binary("train")[2])
    torch.testing.assert_close(split_cifar100.unnormalise(loaded.x), binary("train")[1] / 255)
    assert names(quiet_store) == ["cifar-100-binary", "cifar-100-binary.tar.gz"]


@pytest.mark.fault("killed", "A process is killed while it unpacks",
                   answers="Nothing is taken for the file, and the next call unpacks it")
def test_a_process_that_is_killed_while_it_unpacks_leaves_nothing_that_is_taken_for_the_file(
        online, start_python, quiet_store, tiny):
    process = start_python(PUBLISHED.format(files=cifar100.FILES) + """
    import time

    def half(packed, unpacked):
        unpacked.write(packed.read(100_000))
        unpacked.flush()
        print("half-way", flush=True)
        time.sleep(600)

    store.shutil.copyfileobj = half
    cifar100.found()
    """)
    assert process.stdout.readline() == "half-way\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    (left,) = names(quiet_store / "cifar-100-binary")
    assert left.startswith(".train.bin.") and left.endswith(f".{process.pid}.part")
    assert (quiet_store / "cifar-100-binary" / left).stat().st_size == 100_000
    assert data.source("cifar100").kind == "official"
    assert {path: (quiet_store / path).read_bytes() for path in tiny} == tiny
    assert len(names(quiet_store / "cifar-100-binary")) == 4 and sum("GET" in asked for asked in online.asked) == 1


def test_two_processes_that_want_the_files_at_once_fetch_the_archive_once(online, start_together, quiet_store, tiny):
    start_together(PUBLISHED.format(files=cifar100.FILES), "assert cifar100.found().kind == 'official'")
    assert sum("GET" in asked for asked in online.asked) == 1
    assert {path: (quiet_store / path).read_bytes() for path in tiny} == tiny


# -- the stand-in ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("split, samples", [("train", 500), ("test", 100)])
def test_the_stand_in_has_as_many_images_of_each_class_as_cifar_100(split, samples):
    loaded = data.load("split_cifar100", split, splits=(2,))
    assert loaded.source.kind == "stand-in"
    assert loaded.source.text == "stand-in for CIFAR-100: drawn shapes and textures, split 2"
    assert loaded.x.shape == (5 * samples, 3, 32, 32)
    assert loaded.x.dtype == torch.float32 and loaded.y.dtype == torch.int64
    assert loaded.y.bincount().tolist() == [0] * 10 + [samples] * 5


def test_the_stand_in_names_100_classes_five_of_one_shape_in_each_split():
    class_names = split_cifar100.class_names()
    assert len(set(class_names)) == 100 and class_names[:2] == ["plain disc", "striped disc"]
    assert all(len({name.split(" ", 1)[1] for name in class_names[5 * s:5 * s + 5]}) == 1 for s in range(20))


def test_the_stand_in_is_drawn_the_same_way_every_time_and_whatever_is_drawn_with_it():
    torch.manual_seed(1)
    alone, alone_y = drawn.pixels("test", range(10, 15))
    drawn._class.cache_clear()
    torch.manual_seed(2)
    both, both_y = drawn.pixels("test", range(5, 15))
    assert torch.equal(both[both_y >= 10], alone) and torch.equal(both_y[both_y >= 10], alone_y)


def test_no_two_images_of_the_stand_in_are_equal():
    images = [image.numpy().tobytes() for split in data.SPLITS for image in drawn.pixels(split, range(5))[0]]
    assert len(set(images)) == len(images) == 3000


def test_the_first_images_of_the_stand_in_are_as_many_of_each_class():
    loaded = data.load("split_cifar100", "test", splits=(0, 1), size=30)
    assert loaded.y.bincount().tolist() == [3] * 10
    assert torch.equal(loaded.x, data.load("split_cifar100", "test", splits=(0, 1)).x[:30])


def test_changing_loaded_images_in_place_does_not_change_what_is_loaded_next():
    x = data.load("split_cifar100", "test").x
    before = x.clone()
    x.zero_()
    assert torch.equal(data.load("split_cifar100", "test").x, before)


def test_unnormalised_images_lie_between_0_and_1():
    x = split_cifar100.unnormalise(data.load("split_cifar100", "test").x)
    assert x.min() >= 0 and x.max() <= 1
    torch.testing.assert_close(x * 255, drawn.pixels("test", range(5))[0].float(), atol=1e-3, rtol=0)


@pytest.mark.slow
def test_the_stand_in_is_normalised_by_its_own_mean_and_standard_deviation():
    mean, std = cifar100.channel_statistics(drawn.pixels("train", range(100))[0])
    assert mean == pytest.approx(drawn.MEAN, abs=1e-5) and std == pytest.approx(drawn.STD, abs=1e-5)


def test_a_small_network_learns_the_stand_in_but_not_at_once(one_thread):
    train, test = (data.load("split_cifar100", split, splits=(5,)) for split in data.SPLITS)
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 5))
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    for _ in range(5):
        for batch in torch.randperm(len(train)).split(50):
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(train.x[batch]), train.y[batch] - 25).backward()
            optimiser.step()
    with torch.no_grad():
        accuracy = (model.eval()(test.x).argmax(1) == test.y - 25).float().mean().item()
    assert 0.4 < accuracy < 0.97  # 0.2 is chance


# -- the official files ------------------------------------------------------------------------------------------------

@pytest.mark.real
def test_the_constants_are_the_mean_and_standard_deviation_of_the_official_training_images(real_cifar):
    pixels, y = cifar100.rows(real_cifar / cifar100.FILES["train"][0].path, range(100))
    mean, std = cifar100.channel_statistics(pixels)
    assert mean == pytest.approx(cifar100.MEAN, abs=1e-7) and std == pytest.approx(cifar100.STD, abs=1e-7)
    assert y.bincount().tolist() == [500] * 100


@pytest.mark.real
def test_the_official_files_are_taken_where_they_are_sound(real_cifar):
    loaded = data.load("split_cifar100", "test", splits=(0, 9))
    assert loaded.source.kind == "official" and not loaded.source.reason
    assert loaded.source.text == "CIFAR-100 (official files), splits 0, 9"
    assert loaded.y.bincount().tolist() == [100] * 5 + [0] * 40 + [100] * 5
    assert [split_cifar100.class_names()[c] for c in (0, 1, 49, 99)] == ["apple", "aquarium fish", "mountain", "worm"]
    assert data.load("cifar100", "test", size=1).y.tolist() == [49]  # the first test image is a mountain


@pytest.mark.real
@pytest.mark.parametrize("problem", ["is truncated", "has been altered"])
def test_a_damaged_official_file_is_noticed_and_named(real_cifar, problem):
    own_copy(path := real_cifar / cifar100.FILES["test"][0].path)
    DAMAGE[problem](path)
    found = data.source("split_cifar100")
    assert found.is_stand_in and f"{path} {problem}" in found.reason
