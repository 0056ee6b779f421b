"""The zoo's models, trained by other machines: `with elsewhere.on(executor): zoo.get_all(recipes)`.

A job is a group of recipes that differ in their epochs alone, as JSON, and the model that training starts from, as a
safetensors file. The worker trains in its own folder and sends the files back. The zoo checks them as it checks its own
and writes them, so what was done stays done where a later job fails.
"""
from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial

import data
from data import cluster, code, parcels
from toy_models import zoo
from toy_models.recipe import Recipe

_CODE = "toy_models.training"  # behind this stands all that makes a model what it is


def on(executor: Executor):
    """A context in which `zoo.get` and `zoo.get_all` let the executor's workers train what is missing.

    Inside it they raise `data.cluster.Unfinished`, which names the networks that were not trained, after the others are
    kept, and `data.cluster.Lost` where a cluster stops answering.
    """
    return zoo.trained_by(partial(_trained, executor))


def wanted() -> dict[str, str]:
    """What a worker must have, for `fits`."""
    return {"code": code.behind(_CODE)}


def fits(parcel: bytes) -> bytes:
    """On a worker: whether it has the code of the machine that asks (`data.cluster.opened`)."""
    return cluster.answered(_compared, parcel)


def _compared(about, _):
    cluster.same("code for training networks", code.behind(_CODE), about["code"])
    return {}, {}


def _trained(executor, groups: Sequence[Sequence[Recipe]], device, on_done):
    named = {f"{group[-1]} ({group[-1].key})": group for group in groups}

    def keep(name, _, files):
        for recipe in named[name]:
            zoo.receive(recipe, files[recipe.key])
        on_done(named[name])

    jobs = {name: partial(_job, group, device) for name, group in named.items()}
    if failures := cluster.gathered(executor, train_here, jobs, keep):
        raise cluster.Unfinished(failures, len(groups))


def _job(group, device):
    parent = group[-1].parent
    about = {**wanted(), "recipes": [recipe.to_json() for recipe in group], "device": str(device)}
    return parcels.packed(about, {"parent": zoo.packed(parent)} if parent else {})


def train_here(parcel: bytes) -> bytes:
    """On a worker: train a group of recipes; the models' files under the recipes' keys."""
    return cluster.answered(_train, parcel)


def _train(about, files):
    _compared(about, files)
    recipes = [Recipe.from_json(text) for text in about["recipes"]]
    for recipe in recipes:
        if not zoo.has(recipe):
            _same_data(recipe)
    if parent := recipes[-1].parent:
        zoo.receive(parent, files["parent"])
    with zoo.trained_by(None):  # the worker may be a thread of the machine that asks
        zoo.get_all(recipes, about["device"], progress=False)
    return {}, {recipe.key: zoo.packed(recipe) for recipe in recipes}


def _same_data(recipe):
    source = data.source(recipe.dataset, **dict(recipe.options))
    cluster.same(f"data called {recipe.dataset}, here {source},", source.digest, recipe.data_digest)
