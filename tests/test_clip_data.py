"""KMNIST, SVHN and CIFAR-10: the data of three of CLIP's tasks, from small files in the official formats, and their
stand-ins."""
import gzip
import hashlib
import io
import struct
import tarfile
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.io import savemat

import data
from data import cifar10, cifar100, fashion_mnist, kmnist, mnist, store, svhn

NEW = {"kmnist": (28, 28), "svhn": (3, 32, 32), "cifar10": (3, 32, 32)}


def put(folder, remote, content):
    """The file in its place, and its RemoteFile with this content's digest."""
    path = folder / remote.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return replace(remote, size=len(content), md5=hashlib.md5(content).hexdigest())


def some(*shape):
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("name", NEW)
def test_without_a_network_there_is_a_stand_in_that_says_so(name):
    found = data.load(name, "test")
    assert found.source.is_stand_in and "stand-in for" in found.source.text and "offline" in str(found.source).lower()
    assert found.x.shape[1:] == NEW[name] and found.x.dtype == torch.float32 and found.y.dtype == torch.int64
    assert found.x.min() >= 0 and found.x.max() <= 1 and sorted(found.y.unique().tolist()) == list(range(10))
    again = data.load(name, "test")
    assert torch.equal(again.x, found.x) and again.source == data.source(name)
    again.x.zero_()
    assert torch.equal(data.load(name, "test").x, found.x)  # the caller may change what it gets
    assert not torch.equal(data.load(name, "train").x[:50], found.x[:50])


@pytest.mark.parametrize("name", ["svhn", "cifar10"])
def test_a_part_is_the_first_images_and_another_source(name):
    part = data.load(name, "test", size=30)
    assert len(part) == 30 and torch.equal(part.x, data.load(name, "test").x[:30])
    assert part.source.digest != data.source(name).digest and "first 30 images" in part.source.text
    with pytest.raises(ValueError, match="size must be a whole number"):
        data.load(name, "test", size=0)


def test_kmnist_is_read_from_its_gzipped_files(quiet_store, monkeypatch):
    pixels, labels = some(5, 28, 28), np.array([3, 1, 4, 1, 5], np.uint8)
    images = gzip.compress(struct.pack(">IIII", 2051, 5, 28, 28) + pixels.tobytes())
    numbers = gzip.compress(struct.pack(">II", 2049, 5) + labels.tobytes())
    files = {split: (put(quiet_store, one, images), put(quiet_store, other, numbers))
             for split, (one, other) in kmnist.FILES.items()}
    monkeypatch.setattr(kmnist, "FILES", files)
    found = data.load("kmnist", "test")
    assert found.source.kind == "official" and found.y.tolist() == labels.tolist()
    assert torch.equal((found.x * 255).round().to(torch.uint8), torch.from_numpy(pixels))


def test_svhn_is_read_from_matlabs_file_and_its_zero_is_called_10(quiet_store, monkeypatch):
    pixels, labels = some(32, 32, 3, 4), np.array([[10], [1], [9], [10]], np.uint8)
    buffer = io.BytesIO()
    savemat(buffer, {"X": pixels, "y": labels})
    monkeypatch.setattr(svhn, "FILES", {split: (put(quiet_store, file, buffer.getvalue()),)
                                        for split, (file,) in svhn.FILES.items()})
    found = data.load("svhn", "test")
    assert found.source.kind == "official" and found.y.tolist() == [0, 1, 9, 0] and found.x.shape == (4, 3, 32, 32)
    expected = torch.from_numpy(pixels[:, :, 2, 3].copy())  # the last image's blue plane
    assert torch.equal((found.x[3, 2] * 255).round().to(torch.uint8), expected)


def archive_of(rows):
    """CIFAR-10's archive with so few images: {member: (images, 3073)}."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in rows.items():
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = content.size
            tar.addfile(member, io.BytesIO(content.tobytes()))
    return buffer.getvalue()


def test_cifar_10_is_read_from_its_archive_in_the_files_order(quiet_store, monkeypatch):
    names = [*cifar10.MEMBERS["test"], *reversed(cifar10.MEMBERS["train"]), "readme.html"]
    rows = {name: some(2, cifar10.ROW) for name in names}
    for number, name in enumerate(names):
        rows[name][:, 0] = number
    remote = put(quiet_store, cifar10.ARCHIVE, archive_of(rows))
    monkeypatch.setattr(cifar10, "ARCHIVE", remote)
    test, train = data.load("cifar10", "test"), data.load("cifar10", "train", size=3)
    assert test.source.kind == "official" and test.y.tolist() == [0, 0] and train.y.tolist() == [5, 5, 4]
    expected = torch.from_numpy(rows["test_batch.bin"][1, 1:].reshape(3, 32, 32).copy())
    assert torch.equal((test.x[1] * 255).round().to(torch.uint8), expected)


@pytest.mark.parametrize("module", [kmnist, svhn])
def test_an_altered_file_is_not_believed(quiet_store, module):
    for files in module.FILES.values():
        for file in files:
            put(quiet_store, file, b"something else")
    with pytest.raises(store.Unavailable, match="has been altered"):
        store.fetch(module.FILES["test"][0])
    assert data.source(module.__name__.split(".")[1]).is_stand_in


def test_files_come_over_https_where_their_host_is_known_to_have_it():
    files = [cifar10.ARCHIVE, *(file for module in (mnist, fashion_mnist, kmnist, svhn, cifar100)
                                for some in module.FILES.values() for file in some)]
    files = [file.within or file for file in files]
    plain = {url.split("/")[2] for file in files for url in file.urls if not url.startswith("https://")}
    assert plain == {"fashion-mnist.s3-website.eu-central-1.amazonaws.com", "ufldl.stanford.edu"}
    for file in files:
        assert file.urls[0].startswith("https://") or file.path.startswith("SVHN/")
        assert file.md5 and (file.archive_md5 or not file.path.startswith("FashionMNIST/"))
