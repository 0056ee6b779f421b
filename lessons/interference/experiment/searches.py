"""What is tried of every method: values of λ and of its other parameter, ours and the sources'."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Search:
    """What is tried of a method.

    Attributes:
        other: its other parameter besides λ, None where it has none.
        values: of that.
        source_values, source_scales: what the sources try: CART, app. B (CART itself) and app. D (task arithmetic and
            TIES); for the others what their own papers recommend, with task arithmetic's λ where they add as it does.
        few_values, few_scales: of these, what is tried on ResNets, where looking takes seconds.
        end: the value of `other` at which the method becomes another one that is also tried, so that its grid needs no
            edge there.
    """
    other: str | None
    values: tuple[float, ...]
    source_values: tuple[float, ...]
    source_scales: tuple[float, ...]
    few_values: tuple[float, ...]
    few_scales: tuple[float, ...]
    end: float | None = None

    def at(self, place: int) -> dict[str, float]:
        """{the other parameter: its value at a place}; {} where there is none."""
        return {self.other: self.values[place]} if self.other else {}


FROM_1_TO_3 = tuple(round(1 + step / 5, 1) for step in range(11))
SCALES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8, *FROM_1_TO_3, 3.5, 4.0)
_AS_TASK_ARITHMETIC = (0.1, 0.2, 0.3)
SEARCHES = {
    "task_arithmetic": Search(
        None, (), (),
        source_scales=_AS_TASK_ARITHMETIC,
        few_values=(),
        few_scales=(0.05, 0.1, 0.15, 0.2, 0.3)),
    "ties": Search(
        "density", (0.05, 0.1, 0.2, 0.4, 0.7),
        source_values=(0.05, 0.1, 0.2),
        source_scales=(1.0,),
        few_values=(0.1, 0.2, 0.4),
        few_scales=(0.5, 1.0, 1.4)),
    "consensus": Search(
        "mask_strength", (0.1, 0.2, 0.3, 0.4, 0.6),
        source_values=(0.2, 0.3, 0.4, 0.6),
        source_scales=_AS_TASK_ARITHMETIC,
        few_values=(0.2, 0.4),
        few_scales=(0.1, 0.2, 0.3, 0.5),
        end=0.1),
    "dare": Search(
        "drop_rate", (0.1, 0.5, 0.7, 0.9, 0.99),
        source_values=(0.9,),
        source_scales=_AS_TASK_ARITHMETIC,
        few_values=(0.5, 0.9),
        few_scales=(0.1, 0.2),
        end=0.1),
    "breadcrumbs": Search(
        "density", (0.02, 0.05, 0.1, 0.3, 0.6),
        source_values=(0.1,),
        source_scales=_AS_TASK_ARITHMETIC,
        few_values=(0.1, 0.3),
        few_scales=(0.1, 0.3, 0.5)),
    "tsv": Search(
        None, (), (),
        source_scales=(1.0,),
        few_values=(),
        few_scales=(0.4, 0.8, 1.0, 1.4)),
    "cart": Search(
        "rank_ratio", (0.02, 0.04, 0.08, 0.16, 0.32),
        source_values=(0.04, 0.08, 0.16, 0.32),
        source_scales=FROM_1_TO_3,
        few_values=(0.04, 0.08, 0.16),
        few_scales=(0.3, 0.6, 1.0, 1.4)),
}
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
    """How much is tried and looked at.

    Attributes:
        held_out, test: images per task.
        scales, places: λ that are tried, and which of a search's five values; None for its `few_scales` and
            `few_values`.
    """
    held_out: int
    test: int
    scales: tuple[float, ...] | None = None
    places: tuple[int, ...] | None = None

    def scales_of(self, search: Search) -> tuple[float, ...]:
        """The λ that are tried of a method."""
        return self.scales or search.few_scales

    def places_of(self, search: Search) -> tuple[int, ...]:
        """The places of its other parameter's values that are tried; (0,) where it has none."""
        if not search.other:
            return (0,)
        return self.places or tuple(search.values.index(value) for value in search.few_values)
