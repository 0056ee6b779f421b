"""Is a task forgotten whose vector was subtracted? What θ₀ − τ still knows of it, asked in four ways, beside what other
networks know.

Below chance means that the answers depend on the labels. It does not say how. So: is the *smallest* output right (then
it is a sign)? At which place stands the right class? What does a new last layer make of the features? And how fast is
the task learned again?
"""
from dataclasses import dataclass

import torch
import xarray
from tqdm.auto import tqdm

import data
from data.rotated_mnist import rotate
from lessons.kit.experiment import Experiment
from lessons.kit.profiles import Profiles
from lessons.task_arithmetic import algorithms
from lessons.task_arithmetic.algorithms import TaskVector
from lessons.task_arithmetic.experiment import mlp
from lessons.task_arithmetic.experiment.mlp import ANGLES, LAYERS
from toy_models import MLP, training

# finetuned; pretrained; τ taken away; as much taken away, in no direction; and a network that has learned nothing
NETWORKS = ("θ₀ + τ", "θ₀", "θ₀ − τ", "θ₀ − shuffled τ", "untrained")
STEPS = (0, 5, 10, 20, 50, 100)  # of SGD on the task, as finetuning does
LR, BATCH = 0.1, 64


@dataclass(frozen=True)
class Settings:
    """How much is measured."""
    test_images: int  # per task
    training_images: int  # per task, for new last layers and for learning again


PROFILES = Profiles(quick=Settings(test_images=1200, training_images=6400),
                    full=Settings(test_images=5000, training_images=20000))


def networks_of(networks: dict[float, MLP], angle: float, seed: int = 0) -> dict[str, MLP]:
    """{name: network}: what is compared for the task of one angle, by `NETWORKS`.

    Args:
        networks: {angle: network}, the pretrained one at 0.0.
        seed: of the shuffling, and of the untrained network.
    """
    base = networks[0.0].state_dict()
    tau = TaskVector(base, networks[angle].state_dict())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        untrained = mlp.recipes(seed)[0.0].architecture.build()
    states = (networks[angle].state_dict(), base, base - tau, base - algorithms.shuffled(tau, seed),
              untrained.state_dict())
    return {name: MLP.from_state(state) for name, state in zip(NETWORKS, states)}


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """All numbers, on the task of each of the eight angles, over angle and network (`NETWORKS`).

    Returns:
        A Dataset with
        accuracy (angle, network): share correct;
        smallest (angle, network): share of images where the right class has the smallest output;
        above (angle, network): how many of the nine other classes the network prefers to the right one, mean;
        read_out (angle, network, layer): share correct of a new last layer on the features of a layer, fitted to
        training images of the task (`algorithms.read_out`);
        again (angle, network, step): share correct after so many steps of SGD on the task.
    """
    networks = mlp.models(seed, device)
    train = data.load("rotated_mnist", "train", angle=0.0).spread(settings.training_images)
    test = data.load("rotated_mnist", "test", angle=0.0).spread(settings.test_images)
    sweeps = []
    for angle in tqdm(ANGLES, desc="what is left of a task", unit="task"):
        seen = rotate(train.x, angle), train.y
        asked = rotate(test.x, angle), test.y
        of_networks = [_of_network(network, seen, asked) for network in networks_of(networks, angle, seed).values()]
        sweeps.append(xarray.concat(of_networks, xarray.DataArray(list(NETWORKS), dims="network", name="network")))
    sweep = xarray.concat(sweeps, xarray.DataArray(list(ANGLES), dims="angle", name="angle"))
    return sweep.assign_attrs(images=f"{len(test):,} test images a task", test_images=len(test))


def _of_network(network, seen, asked):
    x, y = asked
    at_training = network.features(seen[0])
    features = network.features(x)
    logits = features["output"]
    read_out = [_right(algorithms.read_out(at_training[layer], seen[1], features[layer]), y) for layer in LAYERS]
    return xarray.Dataset({"accuracy": _right(logits.argmax(1), y),
                           "smallest": _right(logits.argmin(1), y),
                           "above": algorithms.classes_above(logits, y).double().mean().item(),
                           "read_out": ("layer", read_out),
                           "again": ("step", _learned_again(network, seen, asked))},
                          coords={"layer": list(LAYERS), "step": list(STEPS)})


def _right(answers, y):
    return (answers == y).double().mean().item()


def _learned_again(network, seen, asked):
    """Share correct after `STEPS` steps of SGD; the batches are the same for every network."""
    x, y = seen
    x = x.flatten(1).double()
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    learner = training.for_training(network.state_dict())
    accuracies = []
    for step, batch in enumerate(order[:max(STEPS) * BATCH].split(BATCH)):
        if step in STEPS:
            accuracies.append(_right(learner(asked[0].double()).argmax(1), asked[1]))
        learner.sgd_step(x[batch], y[batch], LR)
    accuracies.append(_right(learner(asked[0].double()).argmax(1), asked[1]))
    return accuracies


# -- what the chapter says of it -------------------------------------------------------------------

def over_tasks(sweep: xarray.Dataset, name: str, **where) -> dict[str, float]:
    """{network: a quantity, mean over the eight tasks}.

    Args:
        where: a layer or a step, where the quantity has several.
    """
    mean = sweep[name].sel(**where).mean("angle")
    return {network: mean.sel(network=network).item() for network in NETWORKS}


def claims(sweep: xarray.Dataset) -> dict[str, dict[str, float]]:
    """What of this stands in the ledger: {claim: {number: value}}. Near task: 22.5°, the only one that the pretrained
    network knew; far tasks: the others."""
    near = sweep.sel(angle=[ANGLES[0]])
    far = sweep.sel(angle=list(ANGLES[1:]))
    third = over_tasks(sweep, "read_out", layer="layer 3")
    of_near = over_tasks(near, "read_out", layer="layer 3")
    of_far = over_tasks(far, "read_out", layer="layer 3")
    again = over_tasks(sweep, "again", step=20)
    return {"CTL-13": {"far_task_negated": over_tasks(far, "accuracy")["θ₀ − τ"],
                       "far_task_smallest_output": over_tasks(far, "smallest")["θ₀ − τ"],
                       "task_shuffled": over_tasks(sweep, "accuracy")["θ₀ − shuffled τ"],
                       "read_out_negated": third["θ₀ − τ"],
                       "read_out_lost": third["θ₀"] - third["θ₀ − τ"],
                       "read_out_over_untrained": third["θ₀ − τ"] - third["untrained"],
                       "near_read_out_lost": of_near["θ₀"] - of_near["θ₀ − τ"],
                       "near_read_out_over_untrained": of_near["θ₀"] - of_near["untrained"],
                       "far_read_out_lost": of_far["θ₀"] - of_far["θ₀ − τ"],
                       "again_negated": again["θ₀ − τ"],
                       "again_pretrained": again["θ₀"],
                       "again_untrained": again["untrained"]}}


FORGETTING = Experiment("task-arithmetic-forgetting", measure, PROFILES, mlp.source, "MNIST", claims=claims,
                        recipes=lambda settings, seed: mlp.recipes(seed).values())
run = FORGETTING.run
