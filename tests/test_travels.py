"""The same recipe gives the same bits on processors of other kinds.

Here the processor is made to look different by environment variables.
"""
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import data
from toy_models import Architecture, Recipe, recipe, training

INSTRUCTIONS = {
    "this machine's": {},
    "AVX2": {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "compatible": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
}
SCRIPT = """
import hashlib, json
import data
from toy_models import Architecture, Recipe, training

def digest(*tensors):
    hasher = hashlib.sha256()
    for tensor in tensors:
        hasher.update(tensor.numpy().tobytes())
    return hasher.hexdigest()[:12]

def mlp(*widths):
    return Architecture.of("MLP", widths=widths)

deep = Recipe.on("rotated_mnist", mlp(784, 100, 100, 100, 10), lr=0.1, epochs=1, options={"size": 6000})
wide = Recipe.on("permuted_mnist", mlp(784, 400, 10), lr=0.1, epochs=1, options={"size": 6000})
adam = Recipe.on("spirals", mlp(2, 32, 32, 2), lr=0.01, epochs=20, optimiser="adam")
found = {}
for name, recipe, options in (("chapter 1's MLP", deep, {"angle": 45.0, "size": 6000}),
                              ("400 wide", wide, {"permutation": 1, "size": 6000}),
                              ("spirals with Adam", adam, {"angle": 30.0})):
    start = training.train(recipe).state_dict()
    child = training.train(recipe.finetune(options=options), start).state_dict()
    found[name] = digest(*start.values(), *child.values())
for angle in (22.5, 45.0, 90.0):
    found[f"digits turned by {angle}"] = digest(data.load("rotated_mnist", "test", angle=angle).x)
print(json.dumps(found))
"""


@pytest.mark.slow  # five small trainings and an import of torch under each of three instruction sets: about 20 s
def test_recipes_and_turned_digits_have_the_same_bits_under_three_instruction_sets(quiet_store):
    found = {name: _run(SCRIPT, variables) for name, variables in INSTRUCTIONS.items()}
    assert found["AVX2"] == found["this machine's"]
    assert found["compatible"] == found["this machine's"]
    assert len(set(found["AVX2"].values())) == 6


WEIGHTS = {2: "614233f50996"}  # format of recipes: digest of the weights below


@pytest.mark.fault("surroundings", "Somebody changes what training does",
                   answers="A test asks to raise the format, so that old models are not taken for new ones")
def test_when_training_changes_the_format_of_recipes_is_raised():
    """Else models of the old code would be taken for new ones.

    These weights are the same on every processor, so their digest can be written down.
    """
    architecture = Architecture.of("MLP", widths=(2, 16, 2))
    hasher = hashlib.sha256()
    for optimiser, lr in (("sgd", 0.1), ("adam", 0.01)):
        network = training.train(Recipe.on("spirals", architecture, lr=lr, epochs=2, optimiser=optimiser))
        for tensor in network.state_dict().values():
            hasher.update(tensor.numpy().tobytes())
    found = {recipe._FORMAT: hasher.hexdigest()[:12]}
    assert found == WEIGHTS, "training or the spirals changed: raise recipe._FORMAT, and write the new digest here"


def _run(script, variables):
    """What the script prints, as JSON, in a process of its own with these environment variables."""
    others = {name: value for name, value in os.environ.items() if name not in {"ATEN_CPU_CAPABILITY", "MKL_CBWR"}}
    repository = Path(data.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", script], env=others | {"OMP_NUM_THREADS": "1"} | variables,
                          cwd=repository, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
