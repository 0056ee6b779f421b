"""How much pretraining it takes: the line between splits 1 and 2 for networks that were pretrained on more and more."""
import numpy as np
import xarray
from tqdm.auto import tqdm

from lessons.kit.experiment import Experiment
from lessons.resnet.algorithms import TREATMENTS
from lessons.resnet.experiment import pairs
from lessons.resnet.experiment.line import images_of, own_right
from lessons.resnet.experiment.pairs import AMOUNTS_TASKS, PRETRAINING, PROFILES, Settings
from toy_models import zoo


def measure(settings: Settings, seed: int = 0, device: str = "auto") -> xarray.Dataset:
    """The line between splits 1 and 2 for networks that were pretrained on more and more.

    Returns:
        As `pairs.measure`, with dimension amount in the place of pair, and steps (amount): of the pretraining;
        pretrained_right (treatment, amount, image): which test images of split 0, which is in every pretraining, the
        pretrained network calls by their name.
    """
    made = pairs.amount_recipes(settings, seed)
    zoo.get_all(pairs.all_amount_recipes(settings, seed), device)
    test = images_of(PRETRAINING, "test", settings.test_images)
    train = images_of(PRETRAINING, "train", settings.statistics_images)
    rows = []
    for group in tqdm(made.values(), desc="measuring", unit="amount"):
        pretrained = zoo.get(group[None], device)
        right = [own_right(pretrained, treatment, PRETRAINING, test, train, device) for treatment in TREATMENTS]
        ends = [group[task] for task in AMOUNTS_TASKS]
        line = pairs.of_two(*ends, settings, device)
        line = line.assign(pretrained_right=(("treatment", "image"), np.array(right)))
        rows.append(line.assign(steps=pairs.steps_of(group[None])))
    line = xarray.concat(rows, xarray.DataArray(list(made), dims="amount", name="amount"))
    return line.assign_attrs(images=pairs.said_of_images(settings, line))


AMOUNTS = Experiment("amounts", measure, PROFILES, pairs.source, "CIFAR-100", pairs.all_amount_recipes,
                     one_thread=False)
run = AMOUNTS.run
in_full = AMOUNTS.in_full
