"""Networks of other widths and depths, made of trained ones: pure functions on state dicts, in one registry.

    growth.widen(state, {"layer 1": 128}, "Net2Wider")
    growth.deepen(state, 4, "silent")

`growth.transforms()` lists them with their parameters and sources.
"""
from toy_models.growth import depth, learned, units, width
from toy_models.growth.depth import deepen
from toy_models.growth.registry import transforms
from toy_models.growth.units import Map, mapped, sizes, times
from toy_models.growth.width import widen

__all__ = ["Map", "deepen", "depth", "learned", "mapped", "sizes", "times", "transforms", "units", "widen", "width"]
