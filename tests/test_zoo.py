import errno
import math
import os
import re
import shutil
import signal
import threading
import time
import warnings

import pytest
import safetensors
import torch

from data import store
from data.threads import cores, side_by_side, stop_if_asked
from toy_models import Architecture, Recipe, training, zoo
from toy_models.training import train

pytestmark = pytest.mark.usefixtures("one_thread")


def recipe(**changes):
    return Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), **{"lr": 0.1, "epochs": 2, **changes})


RECIPE = recipe()
FINETUNED = RECIPE.finetune(options={"angle": 30.0})


def same_weights(network, other):
    first, second = network.state_dict(), other.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[key], second[key]) for key in first)


def kept():
    """The names of the models on disk."""
    return sorted(path.name for path in (store.root() / "zoo").glob("*.safetensors"))


@pytest.fixture
def trained(monkeypatch):
    """The recipes that were trained, in order."""
    recipes = []

    def counted(recipe, *arguments, **keywords):
        recipes.append(recipe)
        return train(recipe, *arguments, **keywords)

    monkeypatch.setattr(zoo, "train", counted)
    return recipes


# -- keeping -----------------------------------------------------------------------------------------------------------

def test_a_model_is_trained_once_and_then_read_from_disk(trained):
    first, again = zoo.get(RECIPE), zoo.get(RECIPE)
    assert trained == [RECIPE] and kept() == [zoo.path_of(RECIPE).name]
    assert same_weights(first, again) and same_weights(first, train(RECIPE))


def test_what_get_gives_is_ready_to_use_made_or_read():
    for network in (zoo.get(RECIPE), zoo.get(RECIPE)):
        assert not network.training and not any(parameter.requires_grad for parameter in network.parameters())
        assert network(torch.zeros(3, 2)).shape == (3, 2)


def test_changing_a_model_in_place_changes_neither_the_file_nor_the_next_one():
    for _ in range(2):
        network = zoo.get(RECIPE)
        assert same_weights(network, train(RECIPE))
        network.layers[0].weight.fill_(100)


def test_parents_are_trained_first_and_kept(trained):
    child = FINETUNED.finetune(lr=0.05)
    network = zoo.get(child)
    assert trained == [RECIPE, FINETUNED, child] and len(kept()) == 3
    assert same_weights(network, train(child, train(FINETUNED, train(RECIPE).state_dict()).state_dict()))
    zoo.get(FINETUNED)
    assert len(trained) == 3


def test_a_parent_is_not_needed_where_the_child_is_kept(trained):
    zoo.get(FINETUNED)
    zoo.path_of(RECIPE).unlink()
    zoo.get(FINETUNED)
    assert trained == [RECIPE, FINETUNED]


def test_get_all_gives_models_in_the_order_of_the_recipes(trained):
    other = recipe(seed=1)
    networks = zoo.get_all([FINETUNED, RECIPE, other, FINETUNED])
    assert set(trained[:2]) == {RECIPE, other} and trained[2:] == [FINETUNED]
    expected = [zoo.get(recipe) for recipe in (FINETUNED, RECIPE, other, FINETUNED)]
    assert all(same_weights(network, right) for network, right in zip(networks, expected, strict=True))
    assert not any(same_weights(networks[0], network) for network in networks[1:3])


def test_recipes_that_differ_in_epochs_alone_are_trained_once_and_all_kept(monkeypatch, capsys):
    wanted = [recipe(epochs=epochs) for epochs in (1, 4, 2)]
    groups = []
    through = training.train_through
    def noted(group, *rest, **options):
        groups.append(group)
        return through(group, *rest, **options)

    monkeypatch.setattr(training, "train_through", noted)
    networks = zoo.get_all(wanted)
    assert groups == [[wanted[0], wanted[2], wanted[1]]] and "4/4" in capsys.readouterr().err and len(kept()) == 3
    assert all(same_weights(network, train(one)) for network, one in zip(networks, wanted, strict=True))


def test_training_shows_a_progress_bar_over_all_epochs_and_reading_none(capsys):
    zoo.get_all([FINETUNED, recipe(seed=1)])
    assert "6/6" in capsys.readouterr().err
    zoo.get_all([FINETUNED, recipe(seed=1)])
    zoo.get(recipe(seed=2), progress=False)
    assert capsys.readouterr().err == ""


def test_a_model_s_file_has_the_mode_of_an_ordinary_new_one(is_ordinary):
    zoo.get(RECIPE)
    assert is_ordinary(zoo.path_of(RECIPE))


def test_a_model_that_diverges_is_not_kept():
    with pytest.raises(ValueError, match="learning rate"):
        zoo.get(recipe(lr=1e60))
    assert kept() == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    (tmp_path / "a file").write_text("")
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(tmp_path / "a file" / "folder"))
    with pytest.raises(store.StoreError, match="WEIGHTSPACE_DATA") as raised:
        zoo.get(RECIPE)
    assert str(tmp_path / "a file" / "folder") in str(raised.value)


def test_a_model_that_a_closed_folder_lacks_goes_to_the_learner_s_own(trained, quiet_store, tmp_path, close):
    zoo.get(RECIPE)
    close(quiet_store)
    assert not zoo.has(FINETUNED)
    with pytest.warns(store.DataWarning, match=f"^{quiet_store} cannot be written .* {tmp_path / 'own'}"):
        first = zoo.get(FINETUNED)
    assert zoo.has(FINETUNED) and trained == [RECIPE, FINETUNED] and len(kept()) == 1
    assert (tmp_path / "own/zoo" / zoo.path_of(FINETUNED).name).exists()
    assert same_weights(zoo.get(FINETUNED), first) and same_weights(zoo.get(RECIPE), train(RECIPE))
    assert trained == [RECIPE, FINETUNED]


def test_on_a_full_disk_trained_models_stay_in_memory(trained, monkeypatch):
    def full(tensors, path, **_):
        raise safetensors.SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(zoo.safetensors.torch, "save_file", full)
    with pytest.warns(store.DataWarning, match="has no room for .* bytes are free") as said:
        child = zoo.get(FINETUNED)
    assert len(said) == 1 and kept() == [] and zoo.has(RECIPE) and zoo.has(FINETUNED)
    child.layers[0].weight.fill_(100)
    again = zoo.get(FINETUNED)
    assert trained == [RECIPE, FINETUNED] and same_weights(zoo.get(RECIPE), train(RECIPE))
    assert same_weights(again, train(FINETUNED, train(RECIPE).state_dict()))


@pytest.mark.parametrize("what", ["folder", "fifo", "loop"])
@pytest.mark.fault("stored", "A folder, a pipe or a link to itself lies in a model's place",
                   answers="An error names it at once")
def test_what_is_no_file_in_a_model_s_place_is_named_and_not_waited_for(trained, what):
    path = zoo.path_of(RECIPE)
    path.parent.mkdir(parents=True)
    {"folder": path.mkdir, "fifo": lambda: os.mkfifo(path), "loop": lambda: path.symlink_to(path)}[what]()
    for call in (lambda: zoo.get(RECIPE), lambda: zoo._read(path, RECIPE)):
        with pytest.raises(store.StoreError, match=f"^{path} is a .*Move it away"):
            call()
    assert not trained


@pytest.mark.parametrize("error", [ImportError("no torch"), MemoryError()])
def test_what_is_no_fault_of_the_file_is_not_called_damage(right, trained, monkeypatch, error):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr(zoo.safetensors.torch, "load", failing)
    with pytest.raises(type(error)):
        get_from(right[1])
    assert not trained and kept() == [zoo.path_of(RECIPE).name]


# -- side by side ------------------------------------------------------------------------------------------------------

def test_networks_that_are_trained_side_by_side_get_the_weights_of_their_recipes():
    recipes = [made for seed in range(6)
               for made in (recipe(seed=seed), recipe(seed=seed).finetune(options={"angle": 30.0}))]
    networks = zoo.get_all(recipes[::-1])[::-1]
    for made, network in zip(recipes, networks, strict=True):
        assert same_weights(network, train(made, zoo.get(made.parent).state_dict() if made.parent else None))


def test_training_side_by_side_leaves_the_threads_and_the_random_state_as_they_were():
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    zoo.get_all([recipe(seed=seed) for seed in range(4)])
    assert torch.equal(torch.get_rng_state(), before) and torch.get_num_threads() == threads


def test_where_one_of_several_diverges_its_error_is_raised_and_nothing_unsound_is_kept():
    sound = recipe(seed=1)
    with pytest.raises(ValueError, match="learning rate"):
        zoo.get_all([recipe(lr=1e60), sound, recipe(seed=2).finetune(options={"angle": 30.0}, lr=1e60)])
    assert set(kept()) <= {zoo.path_of(made).name for made in (sound, recipe(seed=2))}
    assert same_weights(zoo.get(sound), train(sound))


@pytest.mark.parametrize("work", [
    """
    recipes = [Recipe.on("spirals", Architecture.of("MLP", widths=(2, 32, 32, 2)), lr=0.1, epochs=100_000, seed=seed)
               for seed in range(3)]
    work = lambda: zoo.get_all(recipes, progress=False)
    """, """
    stack = abreast.stacked([MLP((784, 100, 10)).state_dict() for _ in range(8)])
    x, y = torch.rand(512, 784), torch.zeros(512, dtype=torch.long)
    work = lambda: abreast.in_groups(lambda group, _: list(abreast.descend(group, [(x, y)] * 10**6, 0.1)), stack, 512)
    """], ids=["zoo", "abreast"])
@pytest.mark.fault("killed", "Trainings side by side are interrupted",
                   answers="All end within seconds, and nothing unsound is stored")
def test_an_interrupt_ends_training_side_by_side_within_seconds(start_python, work):
    """Seconds of computing, of all threads together: on a busy machine the clock says nothing."""
    process = start_python("""
    import threading, time
    import torch
    from toy_models import MLP, Architecture, Recipe, abreast, zoo
    """ + work + """
    def tell():
        while threading.active_count() < 3:
            time.sleep(0.05)
        time.sleep(1)
        begun.append(time.process_time())
        print("training", flush=True)

    begun = []
    threading.Thread(target=tell, daemon=True).start()
    try:
        work()
    except KeyboardInterrupt:
        print("stopped after", time.process_time() - begun[0], flush=True)
    """)
    assert process.stdout.readline() == "training\n", process.communicate()[1]
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=120)
    said, seconds = out.rsplit(maxsplit=1)
    assert said == "stopped after" and process.returncode == 0 and not errors
    assert float(seconds) < 5 and kept() == []


@pytest.mark.fault("killed", "A training is interrupted",
                   answers="It ends, nothing is stored, and the next call trains the same weights")
def test_an_interrupt_in_a_training_keeps_nothing_and_the_next_one_is_right(start_python):
    process = start_python("""
    import threading
    from toy_models import Architecture, Recipe, zoo
    from toy_models import training
    original, begun = training.train, threading.Event()

    def watched(recipe, start, device, on_epoch):
        def tell():
            if not begun.is_set():
                begun.set()
                print("training", flush=True)
            on_epoch()
        return original(recipe, start, device, tell)

    zoo.train = watched
    try:
        zoo.get(Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), lr=0.1, epochs=10**6), progress=False)
    except KeyboardInterrupt:
        print("stopped", flush=True)
    """)
    assert process.stdout.readline() == "training\n", process.communicate()[1]
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert out == "stopped\n" and not errors and kept() == []
    assert same_weights(zoo.get(RECIPE), train(RECIPE))


def test_where_one_work_of_several_fails_those_at_work_are_finished_and_the_others_are_not_begun():
    begun, done, waiting = [], [], threading.Event()

    def work(item):
        begun.append(item)
        if item == 0:
            waiting.wait(10)
            raise ValueError("nothing came of it")
        waiting.set()
        time.sleep(0.2)
        stop_if_asked()
        done.append(item)

    with pytest.raises(ValueError, match="nothing came of it"):
        side_by_side(work, range(6), at_once=2)
    assert begun[:2] == [0, 1] and len(begun) < 6 and sorted(done) == begun[1:]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system binds no process to a core")
def test_cores_are_those_that_this_process_may_use():
    before = os.sched_getaffinity(0)
    assert 1 <= cores() <= len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_work_inside_work_is_stopped_with_it():
    def inner(_):
        for _ in range(1000):
            stop_if_asked()
            time.sleep(0.01)

    def outer(item):
        if item:
            raise KeyboardInterrupt  # as the learner's
        side_by_side(inner, range(2), at_once=2)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        side_by_side(outer, range(2), at_once=2)
    assert time.monotonic() - start < 5


def test_convolutional_networks_are_trained_one_after_the_other(monkeypatch):
    network = Architecture.of("MLP", widths=(2, 8, 2))
    wanted = [Recipe.on("spirals", network, lr=0.1, epochs=1, seed=seed) for seed in range(2)]
    names = []

    def noted(recipe, *rest, **keywords):
        names.append(threading.current_thread())
        return train(recipe, *rest, **keywords)

    monkeypatch.setattr(zoo, "train", noted)
    monkeypatch.setattr(zoo.training, "convolves", lambda network: True)
    zoo.get_all(wanted)
    assert names == [threading.main_thread()] * 2


# -- damage ------------------------------------------------------------------------------------------------------------

POSITIONS = 25


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    """The right model and the bytes of its file."""
    folder = tmp_path_factory.mktemp("right")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEIGHTSPACE_DATA", str(folder))
        return zoo.get(RECIPE), zoo.path_of(RECIPE).read_bytes()


def get_from(content):
    """Get the model where its file has this content: the network and whether damage was noticed."""
    path = zoo.path_of(RECIPE)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = zoo.get(RECIPE)
    said = [str(warning.message) for warning in caught if issubclass(warning.category, store.DataWarning)]
    noticed = any(str(path) in message for message in said)
    return network, noticed


@pytest.mark.parametrize("flip", [0x01, 0xFF])
@pytest.mark.parametrize("i", range(POSITIONS))
@pytest.mark.fault("stored", "A byte of a stored model is another one, at 25 places of the file",
                   answers="The damage is named and the model is trained again, or its weights are unchanged")
def test_a_flipped_byte_never_gives_wrong_weights(right, trained, i, flip):
    network, content = right
    content = bytearray(content)
    content[i * (len(content) - 1) // (POSITIONS - 1)] ^= flip
    found, noticed = get_from(content)
    assert same_weights(found, network)
    assert trained == [RECIPE] * noticed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert same_weights(zoo.get(RECIPE), network)
    assert trained == [RECIPE] * noticed  # what was damaged is whole again


def test_a_flipped_byte_in_any_weight_is_noticed(right):
    _, content = right
    start = 8 + int.from_bytes(content[:8], "little")  # safetensors: the header's length, the header, the weights
    path = zoo.path_of(RECIPE)
    path.parent.mkdir(parents=True)
    for position in range(start, len(content)):
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1:])
        with pytest.raises(store.Damaged):
            zoo._read(path, RECIPE)


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.fault("stored", "A stored model is cut short",
                   answers="The damage is named, and the model is trained again")
def test_a_truncated_file_is_noticed_and_trained_again(right, trained, share):
    network, content = right
    found, noticed = get_from(content[:int(share * len(content))])
    assert noticed and trained == [RECIPE] and same_weights(found, network)


@pytest.mark.parametrize("content", [b"not a model", b"\xff" * 1000, b"\0" * 1000])
@pytest.mark.fault("stored", "Something else lies under a model's name",
                   answers="The damage is named, and the model is trained again")
def test_a_file_of_something_else_is_noticed_and_trained_again(right, trained, content):
    found, noticed = get_from(content)
    assert noticed and trained == [RECIPE] and same_weights(found, right[0])


def of_another_kind(state):
    """{what is wrong: a state dict in which it is}."""
    first = "layers.0.weight"
    weight = state[first]
    return {f"'{first}' is torch.bfloat16 (8, 2), not torch.float32 (8, 2)": state | {first: weight.bfloat16()},
            f"'{first}' is torch.float64 (8, 2), not torch.float32 (8, 2)": state | {first: weight.double()},
            f"'{first}' is torch.float32 (2, 8), not torch.float32 (8, 2)": state | {first: weight.T.contiguous()},
            f"'{first}' has values that are not finite": state | {first: weight * math.inf},
            f"'{first}' is missing": {name: tensor for name, tensor in state.items() if name != first},
            "'further' is not in the network": state | {"further": torch.zeros(1)}}


@pytest.mark.parametrize("i", range(6))
@pytest.mark.fault("stored", "A file has the right name and digest and other tensors, or values that are not finite",
                   answers="The tensor is named, and the model is trained again")
def test_a_file_with_other_tensors_than_the_recipe_s_network_has_is_damaged(right, trained, monkeypatch, i):
    problem, state = list(of_another_kind(right[0].state_dict()).items())[i]
    path = zoo.path_of(RECIPE)
    path.parent.mkdir(parents=True)
    with monkeypatch.context() as patch:  # with its recipe, and with its digest where numpy has the type
        patch.setattr(zoo, "_check", lambda *_: None, raising=False)
        if "bfloat16" in problem:
            patch.setattr(zoo, "_digest", lambda *_: "")
        zoo._write(state, path, RECIPE)
    with pytest.warns(store.DataWarning, match=re.escape(f"{path} is damaged ({problem})")):
        network = zoo.get(RECIPE)
    assert trained == [RECIPE] and same_weights(network, right[0]) and same_weights(zoo.get(RECIPE), right[0])


@pytest.mark.parametrize("i", range(6))
def test_other_tensors_than_the_recipe_s_network_has_are_not_stored(right, monkeypatch, i):
    problem, state = list(of_another_kind(right[0].state_dict()).items())[i]
    made = torch.nn.Module()
    monkeypatch.setattr(made, "state_dict", lambda: state)
    monkeypatch.setattr(zoo, "train", lambda *_, **__: made)
    with pytest.raises(ValueError, match=re.escape(f"the model of {RECIPE} is not stored: {problem}")):
        zoo.get(RECIPE)
    assert kept() == []


def test_a_sound_model_is_read_whatever_torch_s_default_type_is(right, trained):
    torch.set_default_dtype(torch.float64)
    try:
        network, noticed = get_from(right[1])
    finally:
        torch.set_default_dtype(torch.float32)
    assert not noticed and not trained and same_weights(network, right[0])


def test_a_model_that_may_not_be_read_is_not_called_damaged(right, trained, forbid):
    path = zoo.path_of(RECIPE)
    path.parent.mkdir(parents=True)
    path.write_bytes(right[1])
    forbid(path)
    with pytest.raises(store.StoreError, match=f"^{path} may not be read"):
        zoo.get(RECIPE)
    assert not trained


def test_models_in_a_folder_that_may_not_be_looked_into_are_not_trained(right, trained, forbid, monkeypatch):
    def refused(path, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(os, "stat", refused)
    forbid(zoo.path_of(RECIPE))
    with pytest.raises(store.StoreError, match="may not be read"):
        zoo.get(RECIPE)
    assert not trained


@pytest.mark.fault("stored", "The model from which another is finetuned is damaged",
                   answers="It is trained again, and then the other")
def test_a_damaged_parent_is_trained_again_for_its_child(trained):
    zoo.get(RECIPE)
    zoo.path_of(RECIPE).write_bytes(b"damaged")
    with pytest.warns(store.DataWarning, match=RECIPE.key):
        child = zoo.get(FINETUNED)
    assert trained == [RECIPE, RECIPE, FINETUNED]
    assert same_weights(child, train(FINETUNED, train(RECIPE).state_dict()))


def test_a_file_under_another_recipe_s_name_is_not_believed(trained):
    other = recipe(seed=1)
    zoo.get(RECIPE)
    shutil.copy(zoo.path_of(RECIPE), zoo.path_of(other))
    with pytest.warns(store.DataWarning, match=other.key):
        network = zoo.get(other)
    assert trained == [RECIPE, other] and same_weights(network, train(other))


# -- several processes -------------------------------------------------------------------------------------------------

WRAPPED = """
    import time
    from data import store
    from toy_models import Architecture, Recipe, training, zoo
    original = zoo.train
    recipe = Recipe.on("spirals", Architecture.of("MLP", widths=(2, 8, 2)), lr=0.1, epochs=2)
"""


@pytest.mark.fault("killed", "A process is killed while it trains",
                   answers="No file is left, and the next call trains the same weights")
def test_training_killed_half_way_leaves_no_model_and_the_next_get_works(start_python):
    process = start_python(WRAPPED + """
    def half(recipe, start, device, on_epoch):
        def stop():
            print("half-way", flush=True)
            time.sleep(600)
        return original(recipe, start, device, stop)

    zoo.train = half
    zoo.get(recipe, progress=False)
    """)
    assert process.stdout.readline() == "half-way\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert kept() == []
    assert same_weights(zoo.get(RECIPE), train(RECIPE)) and kept() == [zoo.path_of(RECIPE).name]


@pytest.mark.fault("killed", "Two processes want the same model at once", answers="It is trained once")
def test_two_processes_train_one_model_once(start_together, quiet_store):
    start_together(WRAPPED, """
def slow(*arguments, **keywords):
    with open(store.root() / "log", "a") as log:
        log.write("trained\\n")
    time.sleep(0.5)
    return original(*arguments, **keywords)

zoo.train = slow
zoo.get(recipe)
    """)
    assert (quiet_store / "log").read_text() == "trained\n"
    assert same_weights(zoo.get(RECIPE), train(RECIPE))
