"""The pictures in docs/: which panel each is of, what a reader should see in it, and what it says.

A picture keeps its alternative text and the positions of its controls, within its file. `today` says what the panel
says there now, without a browser, so that a test finds a picture that is out of date. `python -m tools.pictures` writes
docs/gallery.md from the pictures that are there (`make docs`).
"""
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

import lessons.averaging.panels
import lessons.cart.panels
import lessons.gradients.panels
import lessons.interference.panels
import lessons.linearity.panels
import lessons.linearization.panels
import lessons.lines.panels
import lessons.pretraining.panels
import lessons.resnet.panels
import lessons.sail.panels
import lessons.start.panels
import lessons.task_arithmetic.panels
import lessons.vit.panels.lines
from lessons.averaging import experiment as averaging
from lessons.cart import experiment as cart
from lessons.gradients import experiment as gradients
from lessons.interference import experiment as interference
from lessons.kit.chapters import CHAPTERS, ROOT
from lessons.kit.view import View
from lessons.linearity import experiment as linearity
from lessons.linearization import experiment as linearization
from lessons.pretraining import experiment as pretraining
from lessons.resnet import experiment as resnet
from lessons.sail import experiment as sail
from lessons.start import experiment as start
from lessons.task_arithmetic import experiment as task_arithmetic
from lessons.vit import experiment as vit
from tools import where

DOCS = ROOT / "docs"
GALLERY = DOCS / "gallery.md"
MOVING = DOCS / "moving_alpha.gif"
FULL = ("full", 0)  # profile and seed of all pictures


@dataclass(frozen=True)
class Picture:
    """One picture.

    Attributes:
        shows: a plain sentence for the gallery, without numbers.
        panel: () -> the panel, from a sweep that lies in the repository.
        trained: its numbers come from networks, which are trained where it is drawn if the zoo does not have them.
    """
    shows: str
    panel: Callable[[], View]
    trained: bool = False


def _desk():
    experiment = task_arithmetic.mlp
    return lessons.task_arithmetic.panels.mixing_desk(experiment.run(*FULL), experiment.models(0))


def _plane():
    suite = interference.comparison.suites_of(*FULL)["several"]
    return lessons.interference.panels.plane.common_and_own(interference.plane.run(suite, *FULL))


PICTURES = {
    "start_decision_map": Picture(
        "What the network between two others thinks of every point of the plane, and how often it is right.",
        lambda: lessons.start.panels.decision_map(start.ends()), trained=True),
    "linearity_strangers": Picture(
        "Between two random starts, mixed weights do not give mixed outputs.",
        lambda: lessons.linearity.panels.mlp.linear_in_the_weights(linearity.mlp.run(*FULL))),
    "linearity_along_the_line": Picture(
        "Accuracy on the straight line between two finetuned networks.",
        lambda: lessons.linearity.panels.midpoint.midpoint(linearity.mlp.run(*FULL))),
    "linearity_gap_per_layer": Picture(
        "How far the features between two networks are from the mix of theirs, layer by layer.",
        lambda: lessons.lines.panels.gap_per_layer(linearity.mlp.run(*FULL))),
    "linearity_coef_per_layer": Picture(
        "How long the features between two networks are, beside the mix of theirs.",
        lambda: lessons.lines.panels.coef_per_layer(linearity.mlp.run(*FULL))),
    "resnet_batchnorm": Picture(
        "Three ways to treat BatchNorm's statistics between two ResNets, side by side.",
        lambda: lessons.resnet.panels.pairs.batchnorm_side_by_side(resnet.pairs.run(*FULL))),
    "averaging_triangle": Picture(
        "All mixes of three models: where averaging their weights loses beside an ensemble of the same three.",
        lambda: lessons.averaging.panels.triangle.mixes_of_three(averaging.run(*FULL))),
    "task_arithmetic_mixing_desk": Picture(
        "Task vectors added and subtracted at once, in the weights of one network and in the outputs of all.",
        _desk, trained=True),
    "pretraining_along_the_line": Picture(
        "The line between networks of different starts, before and after their units are matched.",
        lambda: lessons.pretraining.panels.starts.along_the_line(pretraining.starts.run(*FULL))),
    "gradients_gap": Picture(
        "What two formulas leave of the gap between merged task vectors and joint training, and how fast it falls.",
        lambda: lessons.gradients.panels.steps.gap(gradients.steps.run(*FULL))),
    "merging_interference": Picture(
        "TIES on a page: what two tasks want of each weight, what is trimmed away, and what the merge gives.",
        lambda: lessons.interference.panels.toy.interference()),
    "merging_plane": Picture(
        "How accurate a merge is, depending on how far it goes along what tasks share and what each has alone.",
        _plane),
    "cart_bell": Picture(
        "Centred task vectors cut to a low rank: accuracy above, the singular values that are kept below.",
        lambda: lessons.cart.panels.directions.directions(cart.bell.run(*FULL))),
    "sail_spirals": Picture(
        "A mixture of two trained networks as a start: what it sees before training, and its loss while it is trained.",
        lambda: lessons.sail.panels.spirals.starts(sail.spirals.run(*FULL))),
    "linearization_subsets": Picture(
        "Every choice of layers to tune: what the kernel predicts, and how far training gets.",
        lambda: lessons.linearization.panels.subsets.every_subset(linearization.subsets.run(*FULL))),
    "vit_lines": Picture(
        "The features of a small vision transformer between two finetuned ones, layer by layer.",
        lambda: lessons.vit.panels.lines.lines(vit.lines.run(*FULL))),
}


def path(name: str) -> Path:
    """Where a picture lies."""
    return DOCS / f"{name}.png"


def said(name: str) -> str:
    """The alternative text that a picture keeps."""
    return _kept(name)["Description"]


def today(name: str) -> str:
    """What the panel of a picture says today, with its controls where the picture has them."""
    return _says(PICTURES[name].panel(), json.loads(_kept(name)["Positions"]))


def _says(panel, positions):
    """What a panel says with every control at its position.

    Raises:
        ValueError: the panel waits for a guess, so its picture would not show what was measured.
    """
    if panel.prediction and panel.prediction.hides:
        raise ValueError("the panel of a picture waits for a guess: make it without its prediction")
    for control, position in zip(panel.controls.values(), positions, strict=True):
        control.index = position
    return panel.spoken


def moving_panel() -> View:
    """Chapter 0's panel, where the moving picture begins."""
    return PICTURES["start_decision_map"].panel().set(alpha=0.0)


def said_by_moving() -> str:
    """The alternative text that the moving picture keeps."""
    return _kept_by_moving()["Description"]


def today_of_moving() -> str:
    """What the panel of the moving picture says today, where the picture has the slider half-way."""
    panel = PICTURES["start_decision_map"].panel()
    return words_of_moving([_says(panel, positions) for positions in _kept_by_moving()["Positions"]])


def words_of_moving(alts) -> str:
    """The alternative text of the moving picture, from the panel's own of both times that the slider is half-way."""
    first, second = alts
    return f"The slider α runs from end to end, twice. Half-way, the first time: {first} The second time: {second}"


def _kept_by_moving():
    with Image.open(MOVING) as image:
        return json.loads(image.info["comment"])


def _kept(name):
    with Image.open(path(name)) as image:
        return dict(image.text)


def gallery() -> str:
    """docs/gallery.md, which shows every picture of the table of chapters."""
    lines = ["# Gallery", "", "<!-- written by make screenshots -->", "",
             "What the sliders move. Each picture is of a panel in a notebook, in profile `full`. Its last lines or,",
             "in the notebook, *How measured* say which data it shows: official files, or spirals and numbers that the",
             "course generates. Below each picture you find the line above its title and the cell that shows it. They",
             "link to the section of [Where every picture comes from](where.md) that names the functions behind it."]
    for chapter in CHAPTERS:
        if chapter.pictures:
            lines += ["", f"## [{chapter.number} · {chapter.title}](../notebooks/{chapter.place})"]
        for name, drawing in where.pictured(chapter).items():
            behind = f"{where.kicker(drawing.draws)}, cell `{drawing.cell}`"
            lines += ["", PICTURES[name].shows, "", f"![{_in_markdown(said(name))}]({name}.png)", "",
                      f"[{behind}](where.md#{where.section(chapter)})"]
    return "\n".join(lines) + "\n"


def _in_markdown(text):
    """An alternative text as Markdown holds it between brackets."""
    for sign in "\\[]*_<`":
        text = text.replace(sign, f"\\{sign}")
    return text


if __name__ == "__main__":
    GALLERY.write_text(gallery(), encoding="utf-8")
