"""Accuracies that others published for CLIP's image encoders, as data: nothing here was measured by this course."""
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from lessons.kit.page import Markup, Page, paragraph, table

MARK = "Published, not measured here"
EIGHT = ("SUN397", "Cars", "RESISC45", "EuroSAT", "SVHN", "GTSRB", "MNIST", "DTD")
SIX = ("mnist", "fashion_mnist", "cifar100", "svhn", "kmnist", "cifar10")
FUSION = "FusionBench, tanganke's checkpoints (Tang et al. 2024)"


@dataclass(frozen=True)
class Published:
    """A table of accuracies in per cent.

    Attributes:
        title: what was merged.
        source: who published it.
        columns: tasks, or numbers of tasks.
        rows: {model or method: accuracies}; NaN where none is given.
        note: what one has to know before comparing.
    """
    title: str
    source: str
    columns: tuple[str, ...]
    rows: Mapping[str, tuple[float, ...]]
    note: str = ""

    def dataset(self) -> xr.DataArray:
        """(model, column), in per cent, marked as published."""
        attrs = {"mark": MARK, "source": self.source, "note": self.note}
        named = {"model": list(self.rows), "column": list(self.columns)}
        return xr.DataArray(np.array(list(self.rows.values())), named, tuple(named), attrs=attrs)

    def mean(self, row: str) -> float:
        """The mean over the columns, in per cent."""
        return float(np.nanmean(self.rows[row]))

    def page(self) -> Page:
        """The table for a notebook, headed by what it is."""
        head = ["", *self.columns, *(["mean"] if len(self.columns) > 3 else [])]
        rows = []
        for name, values in self.rows.items():
            cells = ["–" if np.isnan(value) else f"{value:.1f}" for value in values]
            rows.append([name, *cells, *([f"{self.mean(name):.1f}"] if len(self.columns) > 3 else [])])
        before = Markup("<p><b>{}.</b> <i>{}.</i> In per cent; {}.</p>").format(self.title, MARK, self.source)
        after = paragraph(self.note) if self.note else ""
        shown = table(head, rows, before=before, after=after)
        return Page(f"{self.title}. {MARK}. {self.source}.\n{shown.text}\n{self.note}".strip(), shown.page)


B32 = Published("ViT-B/32, the classic eight tasks", FUSION, EIGHT, {
    "θ₀": (63.2, 59.8, 60.7, 46.0, 31.6, 32.5, 48.2, 43.9),
    "single models": (75.0, 78.3, 95.2, 99.0, 97.3, 98.9, 99.6, 79.7),
    "average": (65.4, 62.6, 70.8, 76.9, 64.5, 54.9, 86.3, 50.9),
    "task arithmetic, λ 0.3": (57.1, 55.7, 64.9, 76.7, 77.9, 68.5, 96.1, 47.2),
    "TIES 20 %, λ 0.3": (67.1, 64.2, 74.1, 76.8, 77.7, 69.4, 94.1, 54.0),
    "AdaMerging, per layer": (67.9, 71.3, 83.5, 92.7, 87.4, 92.9, 98.2, 67.0),
    "TSV-M": (67.6, 71.6, 84.7, 93.4, 91.9, 92.5, 98.9, 63.8),
}, "Others mostly reproduce such figures within one or two points; not always (TIES at λ 0.3: 36 % on SUN397). "
   "Means are of the rounded figures; the source gives 90.3 for the single models.")

SIX_TASKS = Published("ViT-B/32, the six tasks whose images the course can read", FUSION, SIX, {
    "θ₀": (48.3, 63.0, 63.7, 31.6, 10.0, 89.8),
    "single models": (99.6, 94.8, 88.4, 97.3, 98.2, 97.6),
}, "No merge of exactly these six is published. TSV-M of all twenty models has 97.9, 84.7, 67.6, 81.9, 49.1 and 93.3.")

CART_TABLE = Published("CART, Table 1, ViT-B/32", "CART (Choi et al.), Table 1", ("8 tasks", "14 tasks", "20 tasks"), {
    "θ₀": (48.0, 57.1, 56.0), "single models": (90.5, 89.6, 90.5), "average": (65.9, 64.3, 61.0),
    "task arithmetic": (69.1, 65.4, 60.5), "TIES": (72.4, 65.2, 62.9), "Consensus": (75.2, 70.0, 65.0),
    "CART": (84.7, 79.5, 76.3), "AdaMerging": (80.1, 76.7, 69.2), "AdaMerging + CART": (85.8, 82.3, 82.7)})

LARGE = Published("ViT-L/14", "CART (Choi et al.), Table 1, and TSV-M's own repository (Gargiulo et al. 2025)",
                  ("8 tasks", "14 tasks", "20 tasks"), {"CART": (92.6, 88.7, 87.9), "TSV-M": (93.0, 89.2, 87.7)},
                  "The two rows do not stand on the same single models.")

LARGER = Published("Means over the eight tasks", FUSION, ("ViT-B/16", "ViT-L/14"), {
    "θ₀": (55.3, 64.6), "single models": (92.3, 94.3), "average": (72.3, 80.0), "task arithmetic": (77.1, 80.7),
    "TIES": (77.5, 84.0), "AdaMerging": (85.0, 91.0)})

TSV_TABLE = Published("TSV-M, ViT-B/32", "TSV-M's own repository (Gargiulo et al. 2025)",
                      ("8 tasks", "14 tasks", "20 tasks"), {"TSV-M": (85.9, 80.1, 77.1)},
                      "Its single models have 92.8 on the eight tasks. Its DTD model answers 97.98 % of DTD's test "
                      "images right, and 78.55 % of the validation images; FusionBench's has 79.7 % on the test "
                      "images.")

ALL: Sequence[Published] = (B32, SIX_TASKS, CART_TABLE, TSV_TABLE, LARGE, LARGER)

# the single models that stand behind two published tables, per cent on DTD's test images and the mean over the eight
BEHIND: Mapping[str, Mapping[str, float]] = {
    "CART, Table 1": {"merged": 84.7, "single models": 90.5},
    "TSV-M's repository": {"merged": 85.9, "single models": 92.8, "DTD": 85.2, "DTD, single": 97.98},
    "TSV-M on FusionBench's models": {"merged": 83.1, "single models": 90.3, "DTD": 63.8, "DTD, single": 79.7},
}


def behind() -> Page:
    """The three rows of `BEHIND` as a table: what is asked in the exercise on two tables."""
    names = list(BEHIND["TSV-M's repository"])
    rows = [[name, *(f"{row[what]:.1f}" if what in row else "–" for what in names)]
            for name, row in BEHIND.items()]
    before = Markup("<p><b>ViT-B/32, eight tasks: mean, and DTD alone.</b> <i>{}.</i> In per cent.</p>").format(MARK)
    return table(["", *names], rows, before=before)
