"""What one more training step on a few images does to a finetuned network."""
import copy
import itertools

import numpy as np
import torch
import xarray
from tqdm.auto import tqdm

from lessons.kit.experiment import Experiment
from lessons.kit.noise import WIDE
from lessons.kit.sweep import at
from lessons.resnet.experiment import pairs
from lessons.resnet.experiment.line import images_of, own_right, weights_alone
from lessons.resnet.experiment.pairs import AMOUNTS_TASKS, PROFILES, Settings
from toy_models import training, weights, zoo

TREATMENTS = ("interpolated", "re-estimated")  # of BatchNorm: the running statistics, or new ones


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """What one more training step does to a network finetuned on split 1, by the number of images it is made on.

    Returns:
        A Dataset over treatment (2), images (6), draw (10) and image (500) with right (treatment, images, draw, image):
        which test images of the split are called by their name after the step, with the running statistics as they then
        are or with statistics estimated anew; right_before (treatment, image); moved (images, draw): ‖Δθ‖ of the step.
    """
    recipe = pairs.stepping_recipe(settings, seed)
    network = zoo.get(recipe, device)
    task = AMOUNTS_TASKS[0]
    test = images_of(task, "test", settings.test_images)
    train = images_of(task, "train", settings.statistics_images)
    x, y = images_of(task, "train", None)
    generator = torch.Generator().manual_seed(seed)

    def right(network):
        return [own_right(network, treatment, task, test, train, device) for treatment in TREATMENTS]

    found = []
    places = list(itertools.product(settings.step_images, range(settings.draws)))
    for count, _ in tqdm(places, desc="one step each", unit="step"):
        stepped = copy.deepcopy(network).requires_grad_().train()
        batch = torch.randperm(len(x), generator=generator)[:count]
        training.stepper(stepped, recipe, y.unique())(x[batch], y[batch])
        moved = weights.norm(weights.subtract(*map(weights_alone, (stepped, network))))
        found.append((right(stepped), moved))
    rights, moved = zip(*found)
    grid = (len(settings.step_images), settings.draws)
    rights = np.reshape(rights, (*grid, len(TREATMENTS), -1)).transpose(2, 0, 1, 3)
    found = xarray.Dataset({"right": (("treatment", "images", "draw", "image"), rights),
                            "moved": (("images", "draw"), np.reshape(moved, grid)),
                            "right_before": (("treatment", "image"), np.array(right(network)))},
                           coords={"treatment": list(TREATMENTS), "images": list(settings.step_images)})
    return found.assign_attrs(images=f"{found.sizes['image']:,} test images")


def costs(steps: xarray.Dataset, images: int) -> dict[str, float]:
    """What a step on so many images costs, in points of accuracy on the same test images, and whether statistics
    estimated anew repair it.

    Returns:
        "running" and "anew": the mean cost over the draws, with running statistics and with new ones, before and after
        the step; "draws", and in how many of them it is more than two standard errors ("running_draws"); and in how
        many draws new statistics "repair" or "worsen" the cost by more than two standard errors.
    """
    part = at(steps, images=images).transpose("treatment", "draw", ...)
    before = {name: part.right_before.sel(treatment=name).values.astype(float) for name in TREATMENTS}
    after = {name: part.right.sel(treatment=name).values.astype(float) for name in TREATMENTS}
    running, anew = (before[name] - after[name] for name in TREATMENTS)
    repaired = running - anew
    return {"running": 100 * running.mean(), "anew": 100 * anew.mean(), "draws": len(running),
            "running_draws": _sure(running), "repair": _sure(repaired), "worsen": _sure(-repaired)}


def _sure(costs):
    """In how many draws the mean over the images is above 0 by more than two standard errors; apart is (draws,
    images)."""
    return int((costs.mean(1) > WIDE * costs.std(1) / np.sqrt(costs.shape[1])).sum())


STEPS = Experiment("small-steps", measure, PROFILES, pairs.source, "CIFAR-100",
                   lambda settings, seed: [pairs.stepping_recipe(settings, seed)], one_thread=False)
run = STEPS.run
