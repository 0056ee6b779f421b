"""What is tried of every method: values of λ and of its other parameter, ours and the sources'."""
from dataclasses import dataclass, replace

from lessons.merging.search import Grid

FROM_1_TO_3 = tuple(round(1 + step / 5, 1) for step in range(11))
SCALES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, *FROM_1_TO_3, 3.5, 4.0)


@dataclass(frozen=True, kw_only=True)
class Search(Grid):
    """What is tried of a method, and which part of it where.

    Attributes:
        source_values, source_scales: what the sources try: CART, app. B (CART itself) and app. D (task arithmetic and
            TIES); for the others what their own papers recommend, with task arithmetic's λ where they add as it does.
        few_values, few_scales: what is tried on ResNets, where looking takes seconds.
        end: the value of `other` at which the method becomes another one that is also tried, so that its grid needs no
            edge there.
    """
    scales: tuple[float, ...] = SCALES
    source_values: tuple[float, ...] = ()
    source_scales: tuple[float, ...]
    few_values: tuple[float, ...] = ()
    few_scales: tuple[float, ...]
    end: float | None = None


_AS_TASK_ARITHMETIC = (0.1, 0.2, 0.3)
SEARCHES = {search.method: search for search in (
    Search("task_arithmetic", source_scales=_AS_TASK_ARITHMETIC, few_scales=(0.05, 0.1, 0.15, 0.2, 0.3)),
    Search("ties", other="density", values=(0.05, 0.1, 0.2, 0.4, 0.7),
           source_values=(0.05, 0.1, 0.2), source_scales=(1.0,),
           few_values=(0.1, 0.2, 0.4), few_scales=(0.5, 1.0, 1.4)),
    Search("consensus", other="mask_strength", values=(0.1, 0.2, 0.3, 0.4, 0.6), end=0.1,
           source_values=(0.2, 0.3, 0.4, 0.6), source_scales=_AS_TASK_ARITHMETIC,
           few_values=(0.2, 0.4), few_scales=(0.1, 0.2, 0.3, 0.5)),
    Search("dare", other="drop_rate", values=(0.1, 0.5, 0.7, 0.9, 0.99), end=0.1,
           source_values=(0.9,), source_scales=_AS_TASK_ARITHMETIC,
           few_values=(0.5, 0.9), few_scales=(0.1, 0.2)),
    Search("breadcrumbs", other="density", values=(0.02, 0.05, 0.1, 0.3, 0.6),
           source_values=(0.1,), source_scales=_AS_TASK_ARITHMETIC,
           few_values=(0.1, 0.3), few_scales=(0.1, 0.3, 0.5)),
    Search("tsv", source_scales=(1.0,), few_scales=(0.4, 0.8, 1.0, 1.4)),
    Search("cart", other="rank_ratio", values=(0.02, 0.04, 0.08, 0.16, 0.32),
           source_values=(0.04, 0.08, 0.16, 0.32), source_scales=FROM_1_TO_3,
           few_values=(0.04, 0.08, 0.16), few_scales=(0.3, 0.6, 1.0, 1.4)))}
SEARCHED = tuple(SEARCHES)
STORING = {"emr": {}, "tall_masks": {}, "cart_indexing": {}}  # one model a task; as they are by default
REPORTED = ("average", *SEARCHED, *STORING)
CLAIMED = ("cart", "consensus", "ties", "task_arithmetic", "average")
TABLE_1 = {  # of Choi et al.: accuracy in per cent with ViT-B/32 on 8, 14 and 20 tasks, then with ViT-L/14
    "cart": (84.7, 79.5, 76.3, 92.6, 88.7, 87.9),
    "consensus": (75.2, 70.0, 65.0, 86.6, 81.9, 78.8),
    "ties": (72.4, 65.2, 62.9, 86.1, 79.5, 75.8),
    "task_arithmetic": (69.1, 65.4, 60.5, 84.5, 79.6, 74.2),
    "average": (65.9, 64.3, 61.0, 79.6, 76.8, 71.7),
}
WIDE = "wide"  # all that was tried
SOURCES = "source"  # the sources' part of it
GRIDS = (WIDE, SOURCES)


@dataclass(frozen=True)
class Settings:
    """How much is tried and looked at."""
    held_out: int  # images a task
    test: int  # images a task
    scales: tuple[float, ...] | None = None  # λ that are tried; None for a search's `few_scales`
    places: tuple[int, ...] | None = None  # which of a search's five values are tried; None for its `few_values`

    def grid_of(self, search: Search) -> Grid:
        """What is tried of a method."""
        places = self.places or tuple(search.values.index(value) for value in search.few_values)
        return replace(search, scales=self.scales or search.few_scales, places=places)
