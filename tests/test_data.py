import hashlib
import math
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits

import data
from data import digits, fashion_mnist, mnist, permuted_mnist, rotated_mnist, store, types

FILES = [file for files in mnist.FILES.values() for file in files]
DAMAGE = {  # what `reason` says: how to bring it about
    "is missing": lambda path: path.unlink(),
    "is truncated": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "has been altered": lambda path: alter(path),
}


def alter(path, position=-100):
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def own_copy(link):
    """Put a copy in the place of the link, so that it can be damaged."""
    target = link.resolve()
    link.unlink()
    shutil.copyfile(target, link)


# -- what load gives ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, split, shape, classes", [
    ("mnist", "train", (20_000, 28, 28), 10), ("mnist", "test", (4_000, 28, 28), 10),
    ("rotated_mnist", "test", (4_000, 28, 28), 10), ("fashion_mnist", "train", (5_000, 28, 28), 10),
    ("fashion_mnist", "test", (1_000, 28, 28), 10), ("permuted_mnist", "test", (4_000, 28, 28), 10),
    ("spirals", "train", (1_000, 2), 2), ("spirals", "test", (1_000, 2), 2)])
def test_load_gives_tensors_of_the_promised_shapes_and_types(name, split, shape, classes):
    loaded = data.load(name, split)
    assert loaded.x.shape == shape and loaded.x.dtype == torch.float32
    assert loaded.y.shape == shape[:1] and loaded.y.dtype == torch.int64
    assert loaded.y.unique().tolist() == list(range(classes))
    assert len(loaded) == shape[0]


@pytest.mark.parametrize("name, options", [
    ("mnist", {}), ("fashion_mnist", {}), ("fashion_mnist", {"angle": 30.0}), ("rotated_mnist", {"angle": 30.0}),
    ("spirals", {"angle": 30.0, "seed": 3}),
    ("permuted_mnist", {"of": "fashion_mnist", "permutation": 2, "share": 0.5})])
def test_source_is_that_of_what_load_gives(name, options):
    assert data.source(name, **options) == data.load(name, "test", **options).source


@pytest.mark.parametrize("name", ["mnist", "rotated_mnist"])
def test_pixels_lie_between_0_and_1(name):
    x = data.load(name, "test").x
    assert x.min() == 0 and 0.9 < x.max() <= 1.000001


@pytest.mark.parametrize("call, named", [
    (lambda: data.load("emnist", "train"), "'emnist'"),
    (lambda: data.source("emnist"), "'emnist'"),
    (lambda: data.load("mnist", "validation"), "'validation'"),
    (lambda: data.load("mnist", "train", angle=1.0), "'angle'"),
    (lambda: data.source("spirals", noise=1.0), "'noise'")])
def test_an_unknown_name_split_or_option_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


@pytest.mark.parametrize("name", ["rotated_mnist", "spirals"])
@pytest.mark.parametrize("angle", ["x", math.nan, math.inf, -math.inf, None, True])
def test_an_angle_that_is_not_a_finite_number_is_named(name, angle):
    for call in (lambda: data.load(name, "train", angle=angle), lambda: data.source(name, angle=angle)):
        with pytest.raises(ValueError, match="angle") as raised:
            call()
        assert repr(angle) in str(raised.value)


@pytest.mark.parametrize("options", [{"angle": 10**400}, {"seed": "x"}, {"seed": None}, {"seed": 1.7}])
def test_an_option_of_the_spirals_that_makes_no_sense_is_named(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        data.load("spirals", "train", **options)


# -- spirals -----------------------------------------------------------------------------------------------------------

angles = st.floats(-720, 720).map(lambda angle: angle + 0.0)  # + 0.0 makes 0.0 of -0.0


@given(angles, angles, st.integers(0, 5), st.integers(0, 5))
def test_spirals_have_equal_digests_only_for_equal_angle_and_seed(angle, other_angle, seed, other_seed):
    first = data.source("spirals", angle=angle, seed=seed)
    second = data.source("spirals", angle=other_angle, seed=other_seed)
    assert (first.digest == second.digest) == ((angle, seed) == (other_angle, other_seed))
    assert data.source("spirals", angle=angle, seed=seed).digest == first.digest


def test_spirals_draw_the_same_points_again_and_others_for_another_seed_or_split():
    first = data.load("spirals", "train", seed=1)
    assert torch.equal(first.x, data.load("spirals", "train", seed=1).x)
    others = [("train", 2), ("test", 1), ("test", 0)]
    for other in (data.load("spirals", split, seed=seed) for split, seed in others):
        assert not torch.isin(first.x, other.x).all(1).any()


def test_spirals_are_generated_and_the_same_for_a_whole_number_as_for_a_float():
    assert data.source("spirals").kind == "generated" and not data.source("spirals").is_stand_in
    assert data.source("spirals", angle=90).digest == data.source("spirals", angle=90.0).digest


def test_spirals_turn_counter_clockwise():
    plain, turned = (data.load("spirals", "train", angle=angle).x for angle in (0, 90))
    expected = torch.stack([-plain[:, 1], plain[:, 0]], 1)
    # up to the noise, which does not turn
    assert (turned - expected).norm(dim=1).mean() < (turned + expected).norm(dim=1).mean() / 4


# -- rotation ----------------------------------------------------------------------------------------------------------

def test_rotated_by_0_are_the_plain_images():
    plain, rotated = data.load("mnist", "test"), data.load("rotated_mnist", "test", angle=0.0)
    assert torch.equal(plain.x, rotated.x) and torch.equal(plain.y, rotated.y) and plain.source == rotated.source


@pytest.mark.parametrize("turns", [-1, 1, 2, 3, 4])
def test_rotating_by_right_angles_is_rot90(turns):
    x = data.load("mnist", "test").x[:50]
    torch.testing.assert_close(rotated_mnist.rotate(x, 90 * turns), torch.rot90(x, turns, (1, 2)), atol=1e-5, rtol=0)


def test_rotation_is_counter_clockwise():
    x = torch.zeros(1, 28, 28)
    x[0, 13:15, 21:24] = 1  # a spot to the right of the centre
    turned = rotated_mnist.rotate(x, 45)[0]
    row, column = (torch.arange(28.0) @ weights / turned.sum() for weights in (turned.sum(1), turned.sum(0)))
    assert row < 12 and column > 16  # from the right to the upper right


def test_images_in_chunks_are_rotated_as_one_by_one():
    x = torch.rand(rotated_mnist._CHUNK + 5, 28, 28, generator=torch.Generator().manual_seed(0))
    turned = rotated_mnist.rotate(x, 22.5)
    assert turned.shape == x.shape
    for i in (0, rotated_mnist._CHUNK - 1, rotated_mnist._CHUNK, len(x) - 1):
        torch.testing.assert_close(turned[i], rotated_mnist.rotate(x[i:i + 1], 22.5)[0])


@given(angles, st.floats(-3, 3), st.floats(-3, 3))
def test_rotation_is_linear_in_the_images(angle, factor, other_factor):
    x, other = torch.rand(2, 4, 28, 28, generator=torch.Generator().manual_seed(0))
    expected = factor * rotated_mnist.rotate(x, angle) + other_factor * rotated_mnist.rotate(other, angle)
    turned = rotated_mnist.rotate(factor * x + other_factor * other, angle)
    torch.testing.assert_close(turned, expected, atol=1e-5, rtol=1e-5)


def test_load_rotates_the_digits_and_keeps_the_labels():
    plain, rotated = data.load("mnist", "test"), data.load("rotated_mnist", "test", angle=22.5)
    torch.testing.assert_close(rotated.x[:100], rotated_mnist.rotate(plain.x[:100], 22.5))
    assert torch.equal(plain.y, rotated.y) and "22.5°" in rotated.source.text


@given(angles, angles)
def test_rotated_digits_have_equal_digests_only_for_equal_angles(angle, other):
    digests = [data.source("rotated_mnist", angle=turn).digest for turn in (angle, other)]
    assert (digests[0] == digests[1]) == (angle == other)


# -- a part of the images ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("angle", [0.0, 22.5])
@pytest.mark.parametrize("options, part", [
    ({"size": 30}, slice(30)), ({"first": 3_950}, slice(3_950, None)), ({"first": 7, "size": 5}, slice(7, 12)),
    ({"size": 4_000}, slice(None))])
def test_first_and_size_take_these_images_of_the_rotated_digits(angle, options, part):
    whole = data.load("rotated_mnist", "test", angle=angle)
    some = data.load("rotated_mnist", "test", angle=angle, **options)
    assert torch.equal(some.y, whole.y[part]) and some.source == data.source("rotated_mnist", angle=angle, **options)
    torch.testing.assert_close(some.x, whole.x[part])


@pytest.mark.parametrize("options, text", [
    ({"size": 2_000}, "images 0–1,999"), ({"first": 1_000, "size": 1}, "images 1,000–1,000"),
    ({"first": 1_000}, "images from 1,000 on")])
def test_the_text_says_which_images_of_the_rotated_digits(options, text):
    expected = f"{data.source('mnist').text}, {text}, turned by 30°"
    assert data.source("rotated_mnist", angle=30.0, **options).text == expected


@given(st.integers(0, 3), st.none() | st.integers(1, 3), st.integers(0, 3), st.none() | st.integers(1, 3))
def test_parts_of_the_rotated_digits_have_equal_digests_only_for_the_same_images(first, size, other_first, other_size):
    digest, other = (data.source("rotated_mnist", first=f, size=s).digest
                     for f, s in ((first, size), (other_first, other_size)))
    assert (digest == other) == ((first, size) == (other_first, other_size))


def test_the_whole_part_keeps_the_digest_it_has_always_had():
    plain = data.source("mnist").digest
    for options in ({}, {"first": 0}, {"size": None}):
        assert data.source("rotated_mnist", **options).digest == plain  # stored models are found by it
        assert data.source("rotated_mnist", angle=22.5, **options).digest == types.digest(plain, 22.5)


@pytest.mark.parametrize("options", [
    {"first": -1}, {"first": 1.5}, {"first": True}, {"first": None}, {"first": "1"},
    {"size": 0}, {"size": -1}, {"size": 2.0}, {"size": True}, {"size": "all"}])
def test_a_first_or_size_of_the_rotated_digits_that_makes_no_sense_is_named(options):
    (name, value), = options.items()
    for call in (lambda: data.load("rotated_mnist", "test", **options),
                 lambda: data.source("rotated_mnist", **options)):
        with pytest.raises(ValueError, match=name) as raised:
            call()
        assert repr(value) in str(raised.value)


@pytest.mark.parametrize("options, message", [
    ({"first": 4_000}, "first .* to 3,999, not 4000"), ({"size": 4_001}, "size .* to 4,000, not 4001"),
    ({"first": 3_990, "size": 11}, "size .* to 10, not 11")])
def test_more_rotated_digits_than_there_are_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        data.load("rotated_mnist", "test", **options)


# -- shuffled labels ---------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("options", [{}, {"angle": 22.5, "size": 500}])
def test_shuffled_labels_change_places_among_themselves_in_the_same_way_every_time(options):
    plain = data.load("rotated_mnist", "train", **options)
    wrong = {}
    for share in (0.0, 0.3, 1.0):
        some = data.load("rotated_mnist", "train", shuffled=share, **options)
        assert torch.equal(some.x, plain.x) and torch.equal(some.y.bincount(), plain.y.bincount())
        assert torch.equal(some.y, data.load("rotated_mnist", "train", shuffled=share, **options).y)
        wrong[share] = (some.y != plain.y).double().mean().item()
        assert wrong[share] == pytest.approx(0.9 * share, abs=0.06)  # one in ten lands where its class was
    assert wrong[0.0] == 0 and torch.equal(data.load("rotated_mnist", "train", **options).y, plain.y)


def test_test_labels_are_never_shuffled():
    assert torch.equal(data.load("rotated_mnist", "test", shuffled=1.0).y, data.load("rotated_mnist", "test").y)


def test_the_share_of_shuffled_labels_is_part_of_digest_and_text_and_no_share_leaves_both_as_they_were():
    plain, half = data.source("rotated_mnist", angle=22.5), data.source("rotated_mnist", angle=22.5, shuffled=0.5)
    assert data.source("rotated_mnist", angle=22.5, shuffled=0) == plain
    assert data.source("rotated_mnist", angle=22.5, shuffled=0.0) == plain
    assert half.text == f"{plain.text}, 50% of the training labels shuffled"
    assert data.load("rotated_mnist", "test", angle=22.5, shuffled=0.5).source == half
    assert len({data.source("rotated_mnist", angle=22.5, shuffled=share).digest for share in (0, 0.25, 0.5, 1)}) == 4
    assert data.source("rotated_mnist", shuffled=1).digest == data.source("rotated_mnist", shuffled=1.0).digest


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf, True, "half", None])
def test_a_share_of_shuffled_labels_that_makes_no_sense_is_named(share):
    for call in (lambda: data.load("rotated_mnist", "train", shuffled=share),
                 lambda: data.source("rotated_mnist", shuffled=share)):
        with pytest.raises(ValueError, match="shuffled must be a share from 0 to 1") as raised:
            call()
        assert repr(share) in str(raised.value)


# -- the stand-in ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["mnist", "rotated_mnist"])
def test_the_stand_in_says_what_it_is_and_which_file_is_missing(name, quiet_store):
    found = data.load(name, "test").source
    assert found.kind == "stand-in" and found.is_stand_in and "stand-in" in found.text
    assert f"{quiet_store / FILES[0].path} is missing" in found.reason and "WEIGHTSPACE_OFFLINE" in found.reason
    assert found.reason in str(found)


def test_the_stand_in_writes_nothing(quiet_store):
    data.load("mnist", "test")
    assert not quiet_store.exists()


def test_the_stand_in_shows_no_digit_in_both_parts(monkeypatch):
    monkeypatch.setattr(digits, "_jittered", lambda x, which, generator: x[which])  # the digits themselves, unmoved
    parts = {split: digits._drawn.__wrapped__(split) for split in data.SPLITS}
    train, test = ({image.numpy().tobytes() for image in parts[split][0]} for split in data.SPLITS)
    target = torch.tensor(load_digits().target)
    assert len(train) == digits.TRAIN_DIGITS and len(test) == len(target) - digits.TRAIN_DIGITS and not train & test
    for split, expected in (("train", target[:digits.TRAIN_DIGITS]), ("test", target[digits.TRAIN_DIGITS:])):
        assert torch.equal(parts[split][1][:len(expected)], expected)


def test_the_stand_in_is_drawn_the_same_way_every_time():
    first = digits._drawn.__wrapped__("test")
    torch.manual_seed(123)
    again = digits._drawn.__wrapped__("test")
    assert all(torch.equal(a, b) for a, b in zip(first, again))


@pytest.mark.parametrize("name", ["mnist", "rotated_mnist"])
def test_changing_loaded_images_in_place_does_not_change_what_is_loaded_next(name):
    x = data.load(name, "test").x
    before = x.clone()
    try:
        x.zero_()
        assert torch.equal(data.load(name, "test").x, before)
    finally:
        x.copy_(before)


# -- a few samples of many ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("count, which", [(1, [0]), (3, [0, 3, 6]), (4, [0, 2, 4, 6]), (6, [0, 1, 2, 3, 4, 5]),
                                          (10, range(10)), (11, range(10))])
def test_a_few_samples_are_spread_evenly_over_the_set(count, which):
    whole = types.Dataset(torch.arange(20).view(10, 2), torch.arange(10), types.Source("generated", "numbers", "d1"))
    some = whole.spread(count)
    assert some.y.tolist() == list(which)
    assert torch.equal(some.x, whole.x[list(which)]) and some.source == whole.source


@pytest.mark.parametrize("count", [0, -1, 2.0, True, None])
def test_a_count_of_samples_that_makes_no_sense_is_named(count):
    with pytest.raises(ValueError, match="count must be a whole number of at least 1"):
        data.load("spirals", "test").spread(count)


# -- the form of MNIST's files -----------------------------------------------------------------------------------------

def idx(name, content, folder):
    """A file of the data folder, with these bytes."""
    path = folder / "MNIST/raw" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return store.RemoteFile(f"MNIST/raw/{name}", len(content), hashlib.md5(content).hexdigest(), "", ())


PIXELS = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 2, *range(0, 240, 20)])


def test_images_and_labels_are_read_from_their_bytes(quiet_store):
    x, y = mnist.read(idx("x", PIXELS, quiet_store), idx("y", bytes([0, 0, 8, 1, 0, 0, 0, 2, 7, 255]), quiet_store))
    assert x.dtype == torch.float32 and y.dtype == torch.int64
    assert torch.equal(x, torch.arange(0, 240, 20).view(2, 3, 2) / 255) and y.tolist() == [7, 255]
    x.add_(1), y.add_(1)


@pytest.mark.real
@pytest.mark.parametrize("split", ["train", "test"])
def test_torchvision_reads_the_same_from_the_official_files(real_data, split):
    from data.vision import torchvision
    theirs, (images, labels) = torchvision.datasets.mnist, mnist.FILES[split]
    x, y = mnist.read(images, labels)
    assert torch.equal(x, theirs.read_image_file(real_data / images.path).to(torch.float32).div_(255))
    assert torch.equal(y, theirs.read_label_file(real_data / labels.path))


@pytest.mark.parametrize("content", [b"", PIXELS[:3], b"\1" + PIXELS[1:], bytes([0, 0, 13, 3]) + PIXELS[4:],
                                     bytes([0, 0, 8, 1]) + PIXELS[4:]])
def test_bytes_of_another_form_are_named(content, quiet_store):
    with pytest.raises(ValueError, match="MNIST/raw/x"):
        mnist.read(idx("x", content, quiet_store), idx("y", b"", quiet_store))


@pytest.mark.parametrize("content", [PIXELS[:10], PIXELS[:-1], PIXELS + b"0"])
def test_a_file_that_is_cut_or_too_long_is_named(content, quiet_store):
    with pytest.raises(ValueError, match="MNIST/raw/x"):
        mnist.read(idx("x", content, quiet_store), idx("y", b"", quiet_store))


# -- the official files ------------------------------------------------------------------------------------------------

@pytest.mark.real
@pytest.mark.parametrize("split, samples", [("train", 60_000), ("test", 10_000)])
def test_the_official_files_are_taken_where_they_are_sound(real_data, split, samples):
    loaded = data.load("mnist", split)
    assert loaded.source.kind == "official" and not loaded.source.is_stand_in and not loaded.source.reason
    assert loaded.x.shape == (samples, 28, 28) and loaded.x.dtype == torch.float32
    assert loaded.x.min() == 0 and loaded.x.max() == 1
    assert loaded.y.shape == (samples,) and loaded.y.dtype == torch.int64


@pytest.mark.real
def test_official_digits_and_stand_in_have_different_digests(real_data, tmp_path, monkeypatch):
    official = [data.source("mnist").digest, data.source("rotated_mnist", angle=22.5).digest]
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "empty"))
    assert not {data.source("mnist").digest, data.source("rotated_mnist", angle=22.5).digest} & set(official)


@pytest.mark.real
def test_official_digits_are_rotated(real_data):
    plain, rotated = data.load("mnist", "test"), data.load("rotated_mnist", "test", angle=90)
    torch.testing.assert_close(rotated.x, torch.rot90(plain.x, 1, (1, 2)), atol=1e-5, rtol=0)
    assert rotated.source.kind == "official"


@pytest.mark.real
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path.rpartition("/")[2])
@pytest.mark.parametrize("problem", DAMAGE)
def test_a_damaged_official_file_is_noticed_and_named(real_data, file, problem):
    own_copy(path := real_data / file.path)
    DAMAGE[problem](path)
    loaded = data.load("mnist", "test")
    assert loaded.source.is_stand_in and f"{path} {problem}" in loaded.source.reason
    assert len(loaded) == digits.COPIES_TO["test"]


@pytest.mark.real
@pytest.mark.parametrize("position", [3, 16, -1])  # in the header, the first pixel, the last
def test_one_altered_byte_is_noticed_anywhere(real_data, position):
    own_copy(path := real_data / mnist.FILES["test"][0].path)
    alter(path, position)
    assert f"{path} has been altered" in data.source("mnist").reason


@pytest.mark.real
def test_a_file_that_is_damaged_after_it_was_read_is_noticed(real_data):
    own_copy(path := real_data / mnist.FILES["test"][0].path)
    assert data.source("mnist").kind == "official"
    alter(path)
    assert data.source("mnist").is_stand_in


@pytest.mark.real
@pytest.mark.parametrize("problem", ["is truncated", "has been altered"])
def test_without_network_a_damaged_official_file_stays_as_it_is(real_data, problem):
    own_copy(path := real_data / FILES[0].path)
    DAMAGE[problem](path)
    content, names = path.read_bytes(), sorted(path.parent.iterdir())
    data.load("mnist", "train")
    assert path.read_bytes() == content and sorted(path.parent.iterdir()) == names


def test_without_network_a_file_under_an_official_name_stays_as_it_is(quiet_store):
    path = quiet_store / FILES[0].path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    assert f"{path} is truncated (4 of 47,040,016 bytes)" in data.load("mnist", "train").source.reason
    assert path.read_bytes() == b"mine" and list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("module, folder", [(mnist, "MNIST"), (fashion_mnist, "FashionMNIST")])
@pytest.mark.fault("data", "Other images lie beside the checked files, in a form of old torchvision",
                   answers="The checked files are read, and the others are never opened")
def test_what_was_checked_is_read_also_beside_files_of_an_old_torchvision(quiet_store, monkeypatch, module, folder):
    pixels, labels = torch.arange(3 * 784).reshape(3, 28, 28).to(torch.uint8), torch.tensor([7, 0, 9])
    contents = {"images": bytes([0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 28, 0, 0, 0, 28]) + pixels.numpy().tobytes(),
                "labels": bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 0, 9])}
    for path in (f"{folder}/raw", f"{folder}/processed"):
        (quiet_store / path).mkdir(parents=True)
    for kind, content in contents.items():
        (quiet_store / f"{folder}/raw/{kind}").write_bytes(content)
    for split in ("training", "test"):
        torch.save((torch.zeros_like(pixels), torch.zeros_like(labels)), quiet_store / f"{folder}/processed/{split}.pt")
    files = tuple(store.RemoteFile(f"{folder}/raw/{kind}", len(content), hashlib.md5(content).hexdigest(), "", ())
                  for kind, content in contents.items())
    monkeypatch.setattr(module, "FILES", {"train": files, "test": files})
    for split in data.SPLITS:
        loaded = module.load(split)
        assert loaded.source.kind == "official" and torch.equal(loaded.y, labels)
        torch.testing.assert_close(loaded.x, pixels / 255)


def test_whatever_makes_the_files_unavailable_is_the_reason(monkeypatch):
    def unavailable(file):
        raise store.Unavailable("the reason")

    monkeypatch.setattr(store, "fetch", unavailable)
    assert data.load("mnist", "test").source.reason == "the reason"


# -- permuted pixels ---------------------------------------------------------------------------------------------------

@given(permutation=st.integers(1, 1000), share=st.floats(0, 1))
def test_a_permutation_moves_at_most_its_share_of_the_pixels_and_loses_none(permutation, share):
    x = torch.arange(2 * permuted_mnist.PIXELS, dtype=torch.float32).view(2, 28, 28)
    moved = permuted_mnist.permuted(x, permutation, share)
    assert torch.equal(moved.flatten(1).sort(1).values, x.flatten(1))
    assert (moved != x).sum(dim=(1, 2)).max() <= round(share * permuted_mnist.PIXELS)
    assert torch.equal(moved[1] - moved[0], x[1] - x[0])  # every image in the same way
    assert torch.equal(x.flatten(), torch.arange(2.0 * permuted_mnist.PIXELS))


def test_a_larger_share_moves_the_pixels_of_a_smaller_one_too():
    x = torch.arange(permuted_mnist.PIXELS, dtype=torch.float32).view(1, 28, 28)
    counts = []
    places = torch.zeros(28, 28, dtype=torch.bool)
    for share in (0.25, 0.5, 0.75, 1.0):
        now = permuted_mnist.permuted(x, 1, share)[0] != x[0]
        counts.append(int(now.sum()))
        assert (places & ~now).sum() <= 5  # a pixel may be dealt its own place
        places = now
    assert counts == sorted(counts) and counts[-1] > 770


def test_permutations_differ_and_are_the_same_for_both_parts_and_every_time():
    options = {"permutation": 3, "share": 0.5}
    plain, turned = data.load("mnist", "test").x, data.load("permuted_mnist", "test", **options).x
    assert torch.equal(turned, permuted_mnist.permuted(plain, 3, 0.5))
    assert torch.equal(turned, data.load("permuted_mnist", "test", **options).x)
    assert not torch.equal(turned, data.load("permuted_mnist", "test", permutation=4, share=0.5).x)


def test_no_permutation_and_no_share_leave_images_and_digest_as_they_were():
    for options in ({}, {"permutation": 3, "share": 0}):
        assert data.source("permuted_mnist", **options) == data.source("mnist")
    assert torch.equal(data.load("permuted_mnist", "test", permutation=0).x, data.load("mnist", "test").x)


def test_what_is_permuted_and_how_many_images_are_taken_is_part_of_text_and_digest():
    some = data.source("permuted_mnist", of="fashion_mnist", permutation=2, share=0.25, size=1000)
    whole = data.source("fashion_mnist").text
    assert some.text == whole + ", 25% of the pixels permuted (no. 2), first 1,000 training images"
    digests = {data.source("permuted_mnist", **options).digest for options in (
        {}, {"of": "fashion_mnist"}, {"permutation": 1}, {"permutation": 2}, {"permutation": 2, "share": 0.5},
        {"size": 1000})}
    assert len(digests) == 6
    assert len(data.load("permuted_mnist", "train", size=1000)) == 1000
    assert len(data.load("permuted_mnist", "test", size=1000)) == 4000


@pytest.mark.parametrize("options, named", [
    ({"of": "emnist"}, "of must be one of mnist, fashion_mnist, not 'emnist'"), ({"permutation": -1}, "permutation"),
    ({"share": 1.5}, "share"), ({"size": 0}, "size"), ({"size": 20_001}, "size")])
def test_options_of_permuted_mnist_that_make_no_sense_are_named(options, named):
    with pytest.raises(ValueError, match=named):
        data.load("permuted_mnist", "train", **options)


@pytest.mark.parametrize("split", ["train", "test"])
def test_every_class_of_what_is_drawn_for_fashion_mnist_is_among_even_and_odd_images(split):
    y = data.load("fashion_mnist", split).y
    assert all(set(half.tolist()) == set(range(10)) for half in (y[::2], y[1::2]))


def test_what_is_drawn_for_fashion_mnist_says_so_and_may_be_changed_by_the_caller():
    first = data.load("fashion_mnist", "test")
    assert first.source.is_stand_in and "drawn shapes" in first.source.text
    first.x.zero_()
    assert data.load("fashion_mnist", "test").x.max() > 0.5
    assert first.y.bincount().tolist() == [100] * 10


@pytest.mark.real
def test_the_official_fashion_mnist_is_read(real_fashion):
    loaded = data.load("fashion_mnist", "test")
    assert loaded.source.kind == "official" and loaded.x.shape == (10_000, 28, 28)
    assert loaded.y.bincount().tolist() == [1000] * 10
