"""Many machines: the zoo, sweeps and the ledger on a Dask cluster of two processes with a folder each."""
import hashlib
import os
import signal
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

import pytest
import torch

from data import cluster, parcels, store
from lessons.kit import units
from lessons.kit.claims import judge, model
from lessons.kit.units import Unit
from tools import cluster as local_cluster
from toy_models import Architecture, Recipe, elsewhere, zoo


def recipes(epochs=3, seeds=(0, 1)):
    """Two networks that were finetuned from one start, on spirals, which need no files."""
    start = Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), lr=0.1, epochs=epochs)
    return [start.finetune(options={"angle": 30.0}, seed=seed) for seed in seeds]


def same_weights(networks, others):
    return all(torch.equal(one, other) for network, second in zip(networks, others, strict=True)
               for one, other in zip(network.state_dict().values(), second.state_dict().values(), strict=True))


def kept(folder):
    return sorted(path.name for path in (folder / "zoo").glob("*.safetensors"))


# -- parcels -----------------------------------------------------------------------------------------------------------

def test_a_parcel_comes_out_as_it_went_in():
    assert parcels.unpacked(parcels.packed({"a": [1, "ü"]}, {"x": b"\n\n", "y": b""})) == (
        {"a": [1, "ü"]}, {"x": b"\n\n", "y": b""})
    assert parcels.unpacked(parcels.packed({})) == ({}, {})


@pytest.mark.fault("cluster", "Any byte of what a worker sends is another one", answers="It is refused")
def test_a_parcel_in_which_any_byte_is_another_one_is_damaged():
    parcel = parcels.packed({"a": 1}, {"x": b"1234"})
    for place in range(len(parcel)):
        with pytest.raises(store.Damaged):
            parcels.unpacked(parcel[:place] + bytes([parcel[place] ^ 1]) + parcel[place + 1:])
        with pytest.raises(store.Damaged):
            parcels.unpacked(parcel[:place])


@pytest.mark.parametrize("head", [b"[]", b"{}", b'{"about": [], "files": []}', b'{"about": {}, "files": [["x", 5]]}',
                                  b'{"about": {}, "files": [["x", -1], ["y", 1]]}', b"\xff"])
@pytest.mark.fault("cluster", "What a worker sends has the right digest and another form",
                   answers="It is refused, and nothing in it is run")
def test_a_parcel_of_another_form_is_damaged_also_where_its_digest_is_right(head):
    body = head + b"\n"
    with pytest.raises(store.Damaged):
        parcels.unpacked(parcels._MARK + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


# -- recipes as text ---------------------------------------------------------------------------------------------------

def test_a_recipe_comes_back_from_its_text():
    network = Architecture.of("MLP", widths=(2, 8, 2))
    scheduled = Recipe.on("spirals", network, lr=1, epochs=2, batch_size=None, optimiser="adam",
                          schedule="warm-up and cosine", frozen=("layers.0",), options={"angle": 12.5})
    images = Recipe.on("split_cifar100", Architecture.of("ResNet18", width=4, num_classes=100), lr=0.05, epochs=1,
                       options={"splits": [3, 4], "size": 20})
    for recipe in (*recipes(), scheduled, images):
        again = Recipe.from_json(recipe.to_json())
        assert again == recipe and again.key == recipe.key
    assert type(dict(Recipe.from_json(images.to_json()).options)["size"]) is int


def test_a_recipe_of_another_version_of_the_course_is_refused():
    text = recipes()[0].to_json()
    with pytest.raises(ValueError, match="another version of the course"):
        Recipe.from_json(text.replace('"format": 2', '"format": 1'))
    for wrong in ("", "[]", "{}", text.replace('"MLP"', '"Nothing"'), text.replace('"sgd"', '"nothing"')):
        with pytest.raises(ValueError, match="no recipe"):
            Recipe.from_json(wrong)


# -- any executor ------------------------------------------------------------------------------------------------------

class Elsewhere(ThreadPoolExecutor):
    """An executor whose only worker has a data folder of its own, as another machine has."""

    def __init__(self, folder):
        super().__init__(1)
        self.folder = folder

    def submit(self, function, *arguments):
        """As Executor.submit; done at once, with the worker's folder."""
        future = Future()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WEIGHTSPACE_DATA", str(self.folder))
            future.set_result(function(*arguments))
        return future


def test_what_an_executor_trains_is_what_this_machine_would_have_trained(tmp_path, quiet_store, monkeypatch):
    """It is in both folders: the worker has trained it in its own, and sent it."""
    with elsewhere.on(Elsewhere(tmp_path / "worker")):
        networks = zoo.get_all(recipes())
        assert kept(quiet_store) == kept(tmp_path / "worker") and len(kept(quiet_store)) == 3
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "alone"))
    assert same_weights(networks, zoo.get_all(recipes()))


def test_epochs_of_one_training_are_one_job(tmp_path, monkeypatch):
    jobs, gathered = [], cluster.gathered
    monkeypatch.setattr(cluster, "gathered", lambda executor, function, named, keep:
                        jobs.append(len(named)) or gathered(executor, function, named, keep))
    start = recipes()[0].parent
    with elsewhere.on(Elsewhere(tmp_path / "worker")):
        zoo.get_all([start.finetune(epochs=epochs) for epochs in (1, 2, 4)])
    assert jobs == [1, 1]


def test_a_job_that_fails_is_named_and_the_others_are_kept(tmp_path, quiet_store):
    good, bad = recipes()[0], recipes()[1].finetune(lr=1e30, seed=7)
    with elsewhere.on(Elsewhere(tmp_path / "worker")), pytest.raises(cluster.Unfinished) as raised:
        zoo.get_all([bad.parent, good, bad])
    assert "1 of 1 failed" in str(raised.value) and "seed 7" in str(raised.value) and "diverged" in str(raised.value)
    assert f"{good.key}.safetensors" in kept(quiet_store) and f"{bad.key}.safetensors" not in kept(quiet_store)


@pytest.mark.fault("cluster", "A worker has other code", answers="It is refused with both digests")
def test_a_worker_with_other_code_is_refused_with_both_digests(tmp_path, monkeypatch):
    about = elsewhere.wanted() | {"recipes": [], "device": "cpu"}
    here = about["code"]
    answer, _ = parcels.unpacked(elsewhere.train_here(parcels.packed(about | {"code": "0123"})))
    assert f"other code for training networks (digest {here}) than the machine that asks (digest 0123)" \
        in answer["refused"] and "a worker on" in answer["by"]


@pytest.mark.fault("cluster", "A worker sends a damaged model, or another one", answers="It is named and not kept")
def test_what_a_worker_sends_damaged_or_for_another_recipe_is_not_kept(tmp_path, quiet_store, monkeypatch):
    first, second = recipes()
    train = elsewhere.train_here

    def exchanged(parcel):
        about, files = parcels.unpacked(train(parcel))
        return parcels.packed(about, {key: zoo.packed(first.parent) for key in files})

    with elsewhere.on(Elsewhere(tmp_path / "worker")):
        zoo.get(first.parent)
        monkeypatch.setattr(elsewhere, "train_here", exchanged)
        with pytest.raises(cluster.Unfinished, match="Damaged: it holds another recipe's model"):
            zoo.get_all([first, second])
        monkeypatch.setattr(elsewhere, "train_here", lambda parcel: train(parcel)[:-1])
        with pytest.raises(cluster.Unfinished, match="Damaged: its digest does not match"):
            zoo.get_all([first, second])
        monkeypatch.setattr(elsewhere, "train_here", lambda parcel: {"not": "a parcel"})
        with pytest.raises(cluster.Unfinished, match="Damaged: it is no parcel"):
            zoo.get_all([first, second])
    assert kept(quiet_store) == [f"{first.parent.key}.safetensors"]


@pytest.mark.fault("cluster", "A worker sends control characters", answers="They do not reach the terminal")
def test_what_a_worker_says_disturbs_no_terminal():
    def failing(about, files):
        raise RuntimeError("a\x1b[31m\nb")

    with ThreadPoolExecutor(1) as pool:
        failures = cluster.gathered(pool, lambda parcel: cluster.answered(failing, parcel),
                                    {"x": lambda: parcels.packed({})}, lambda *_: None)
    assert failures["x"].endswith("failed: RuntimeError: a [31m b")


@pytest.mark.fault("cluster", "The disk is full where results arrive",
                   answers="An error says so, and the worker is not blamed")
def test_a_disk_that_is_full_here_is_no_failure_of_the_worker():
    def keep(*_):
        raise store.NoRoom("the disk is full")

    with ThreadPoolExecutor(1) as pool, pytest.raises(store.NoRoom):
        cluster.gathered(pool, lambda parcel: parcel, {"a": lambda: parcels.packed({})}, keep)


def test_few_jobs_are_made_at_once():
    """Each may hold a network."""
    made, most = [], []

    def parcel(number):
        made.append(number)
        return parcels.packed({"number": number})

    done = []
    with ThreadPoolExecutor(2) as pool:
        jobs = {str(number): partial(parcel, number) for number in range(100)}
        failures = cluster.gathered(pool, lambda parcel: parcel, jobs,
                                    lambda *_: (done.append(1), most.append(len(made) - len(done))))
    assert failures == {} and len(done) == 100 and max(most) <= cluster.AHEAD


def test_an_interrupt_hands_over_nothing_more():
    begun, interrupted = [], threading.Event()

    def slow(parcel):
        begun.append(parcel)
        if len(begun) > 1:
            interrupted.wait(10)
        return parcel

    def keep(*_):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            cluster.gathered(pool, slow, {str(number): lambda: parcels.packed({}) for number in range(20)}, keep)
        interrupted.set()
    assert len(begun) <= 2


def test_without_the_packages_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(cluster.NotInstalled, match=r"needs the package distributed, which is not installed here .*"
                                                   r"pip install -r lock/cluster.txt"), \
            cluster.opened("tcp://127.0.0.1:1", elsewhere.fits, {}):
        pass


def test_a_machine_without_the_packages_trains_as_it_does_alone(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with elsewhere.on(Elsewhere(tmp_path / "worker")):
        assert zoo.get(recipes()[0])


# -- sweeps ------------------------------------------------------------------------------------------------------------

MODULE = "lessons.gradients.experiment.bound"  # on spirals, which are generated, so that no files are needed


def test_sweeps_that_an_executor_measures_are_those_of_this_machine_and_are_measured_once(tmp_path, monkeypatch):
    unit = Unit(MODULE, "gradients-bound", "quick", 0)
    done, worker = [], Elsewhere(tmp_path / "worker")
    for _ in range(2):
        units.sweeps(worker, [unit], done.append)
    assert done == [unit]
    assert unit.found().is_there("quick", 0)
    monkeypatch.setattr(units, "measure_here", lambda parcel: pytest.fail("it is there"))
    came = unit.found().run("quick", 0)
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "alone"))
    alone = unit.found().run("quick", 0)
    assert came.equals(alone) and came.attrs["digest"] == alone.attrs["digest"]


def test_a_sweep_of_another_seed_or_a_damaged_one_is_not_kept(tmp_path, monkeypatch):
    first, second = (Unit(MODULE, "gradients-bound", "quick", seed) for seed in (0, 1))
    came = []
    measure = units.measure_here
    monkeypatch.setattr(units, "measure_here", lambda parcel: came.append(measure(parcel)) or came[-1])
    units.sweeps(Elsewhere(tmp_path / "worker"), [first])
    monkeypatch.setattr(units, "measure_here", lambda parcel: came[0])
    with pytest.raises(cluster.Unfinished, match="seed 1 .*Damaged: it is the answer to another question"):
        units.sweeps(Elsewhere(tmp_path / "worker"), [second])
    about, files = parcels.unpacked(came[0])
    about["unit"]["seed"] = 1
    monkeypatch.setattr(units, "measure_here", lambda parcel: parcels.packed(about, files))
    with pytest.raises(cluster.Unfinished, match="seed 1 .*Damaged: it is a sweep of seed 0, not 1"):
        units.sweeps(Elsewhere(tmp_path / "worker"), [second])
    spoilt = parcels.packed(about, {name: content[:-1] + bytes([content[-1] ^ 1]) for name, content in files.items()})
    monkeypatch.setattr(units, "measure_here", lambda parcel: spoilt)
    with pytest.raises(cluster.Unfinished, match="Damaged"):
        units.sweeps(Elsewhere(tmp_path / "worker"), [second])
    assert not second.found().is_there("quick", 1)


@pytest.mark.parametrize("unit, says", [
    (Unit("os", "x", "quick", 0), "'os' is no module of the lessons"),
    (Unit("lessons.kit.claims.__main__;", "x", "quick", 0), "no module of the lessons"),
    (Unit(MODULE, "nothing", "quick", 0), "has no experiment 'nothing'"),
    (Unit("lessons.cart.experiment", "cart", "full", 0), "is a collection of several experiments")])
def test_what_is_no_sweep_of_the_lessons_is_refused(unit, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        units.sweeps(Elsewhere(tmp_path / "worker"), [unit])


# -- a cluster of two processes ----------------------------------------------------------------------------------------

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
real = pytest.mark.slow  # starts processes


@pytest.fixture
def two_machines(tmp_path):
    """A cluster of two worker processes with a folder each; `.address`, `.folders` and `.processes()`."""
    folders = [tmp_path / "first", tmp_path / "second"]
    with local_cluster.local(folders) as running:
        running.address, running.folders = running.scheduler_address, folders
        running.processes = lambda: [nanny.process.pid for nanny in running.workers.values()]
        yield running


@real
def test_two_machines_train_what_one_trains_bit_for_bit(two_machines, quiet_store, monkeypatch, tmp_path):
    todo = recipes(seeds=range(6))
    with cluster.opened(two_machines.address, elsewhere.fits, elsewhere.wanted()) as executor, elsewhere.on(executor):
        networks = zoo.get_all(todo)
    assert len(kept(quiet_store)) == 7 and all(kept(folder) for folder in two_machines.folders)
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "alone"))
    assert same_weights(networks, zoo.get_all(todo))


def until(condition, seconds=60):
    """Wait until a condition holds, and give what it gave."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)
    return value


def in_training(recipe, folders):
    """The process that holds the lock of a recipe's model in one of these folders, or None."""
    for folder in folders:
        lock = folder / "zoo" / f".{recipe.key}.safetensors.lock"
        if lock.exists() and (words := lock.read_text().split()):
            return int(words[1])
    return None


@real
@pytest.mark.fault("cluster", "A worker is killed while it trains",
                   answers="The job is done again, with the same weights")
def test_a_worker_that_is_killed_in_training_costs_nothing_but_time(two_machines, quiet_store, monkeypatch, tmp_path):
    (recipe,) = recipes(epochs=600, seeds=(0,))  # half a second
    killed = []

    def kill():
        killed.append(until(lambda: in_training(recipe, two_machines.folders)))
        assert killed[0] in two_machines.processes()
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with cluster.opened(two_machines.address, elsewhere.fits, elsewhere.wanted()) as executor, elsewhere.on(executor):
        network = zoo.get(recipe)
    killer.join()
    assert killed and killed[0] not in two_machines.processes()
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "alone"))
    assert same_weights([network], [zoo.get(recipe)])


SCHEDULER = "from tools import cluster; cluster.main(['--workers', '1', '--port', '0'])"


@real
@pytest.mark.fault("cluster", "The scheduler is killed", answers="What is done stays done, and a second run goes on")
def test_what_is_done_stays_done_when_the_scheduler_dies_and_a_second_run_goes_on(
        start_python, quiet_store, monkeypatch, two_machines, tmp_path):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "worker"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # a killed process leaves what it wrote there
    process = start_python(SCHEDULER)
    said = [process.stdout.readline() for _ in range(3)]
    address = said[1].split("CLUSTER=")[1].strip()
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(quiet_store))
    todo = recipes(epochs=150, seeds=range(6))

    def kill():
        until(lambda: len(kept(quiet_store)) >= 3)
        process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(cluster.Lost, match=r"stopped answering.* of 6 are done and kept"), \
            cluster.opened(address, elsewhere.fits, elsewhere.wanted()) as executor, elsewhere.on(executor):
        zoo.get_all(todo)
    killer.join()
    before = kept(quiet_store)
    assert 3 <= len(before) < 7
    with cluster.opened(two_machines.address, elsewhere.fits, elsewhere.wanted()) as executor, elsewhere.on(executor):
        zoo.get_all(todo)
    trained = {name for folder in two_machines.folders for name in kept(folder)} - {f"{todo[0].parent.key}.safetensors"}
    assert sorted(trained) == sorted(set(kept(quiet_store)) - set(before)) and len(kept(quiet_store)) == 7


@real
@pytest.mark.fault("cluster", "A worker lacks the data", answers="It is named and gets no work, and the others do all")
def test_a_worker_without_the_data_is_named_gets_no_work_and_the_other_does_all(
        two_machines, real_data, quiet_store, monkeypatch):
    """The first worker has the official MNIST, the second its stand-in."""
    two_machines.folders[0].mkdir(exist_ok=True)
    (two_machines.folders[0] / "MNIST").symlink_to(real_data / "MNIST")
    todo = [Unit("lessons.linearity.experiment.mlp", "linearity", "quick", seed) for seed in (0, 1)]
    network = Architecture.of("MLP", widths=(784, 4, 10))
    recipe = Recipe.on("mnist", network, lr=0.1, epochs=0)
    with pytest.warns(cluster.WorkerWarning, match=r"worker-1 at tcp://.* was refused: it has other data for linearity "
                                                   r"\(digest [0-9a-f]{16}\).*gets no work"), \
            cluster.opened(two_machines.address, units.fits, units.wanted(todo)) as executor, elsewhere.on(executor):
        assert zoo.get(recipe)
    assert kept(two_machines.folders[0]) == [f"{recipe.key}.safetensors"] and not kept(two_machines.folders[1])


@real
def test_a_cluster_whose_workers_all_differ_is_not_used_and_says_why(two_machines):
    with pytest.warns(cluster.WorkerWarning), \
            pytest.raises(cluster.Unreachable, match="no worker that can be used. .*other code for training"), \
            cluster.opened(two_machines.address, elsewhere.fits, {"code": "0123"}):
        pass


@real
def test_a_cluster_without_workers_is_said(monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 2)
    with local_cluster.local([]) as empty, \
            pytest.raises(cluster.Unreachable, match="has no worker that can be used. No worker has joined it."), \
            cluster.opened(empty.scheduler_address, elsewhere.fits, elsewhere.wanted()):
        pass


@pytest.mark.fault("cluster", "Nobody answers at the scheduler's address", answers="An error says so")
def test_an_address_where_nobody_answers_is_said(monkeypatch, dead_url):
    monkeypatch.setattr(cluster, "SECONDS", 0.5)
    address = dead_url.replace("http", "tcp").removesuffix("/file.gz")
    with pytest.raises(cluster.Unreachable, match=f"no scheduler answers at {address}.*make cluster"), \
            cluster.opened(address, elsewhere.fits, {}):
        pass
    with pytest.raises(cluster.Unreachable, match="no scheduler answers at nonsense"), \
            cluster.opened("nonsense", elsewhere.fits, {}):
        pass


BOUND = [Unit(MODULE, "gradients-bound", "full", 0)]


@real
def test_units_of_the_ledger_give_its_numbers_and_their_sweeps_are_kept_here(two_machines, quiet_store):
    came = {}
    with cluster.opened(two_machines.address, units.fits, units.wanted(BOUND)) as executor:
        units.mapped(executor, BOUND, True, lambda unit, about: came.update({unit: about}))
    assert set(came) == set(BOUND)
    for unit, about in came.items():
        numbers = judge.kept(about["numbers"])
        known = {id: {name: model._kept()["numbers"][id][name][unit.seed] for name in of_claim}
                 for id, of_claim in numbers.items()}
        assert numbers == {id: pytest.approx(of_claim, rel=1e-3, abs=5e-4) for id, of_claim in known.items()}
        assert unit.found().is_there(unit.profile, unit.seed) and about["processor"] and about["machine"]
