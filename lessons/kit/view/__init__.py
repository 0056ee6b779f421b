"""A view: what a panel shows, as numbers. One ES module draws it in the page (view.js), matplotlib draws it where it is
printed or saved (`printed.py`), from the same marks.

A view is a pure function of its controls. Its charts say once which marks there are; `draw` gives for every setting of
the controls the numbers of these marks, a title that states what is to be seen, and the same in words for those who do
not see it. Nothing is trained or measured here.
"""
from lessons.kit.view.marks import (
    Axis,
    Band,
    Bars,
    Chart,
    Frame,
    Handle,
    Image,
    Letters,
    Line,
    Map,
    Path,
    Points,
    Reference,
    Spots,
    Star,
    key,
    lettered,
    percent,
)
from lessons.kit.view.widget import Control, Typed, View, chips, keep_all_settings, slider, typed, view

__all__ = ["Axis", "Band", "Bars", "Chart", "Control", "Frame", "Handle", "Image", "Letters", "Line", "Map", "Path",
           "Points", "Reference", "Spots", "Star", "Typed", "View", "chips", "keep_all_settings", "key", "lettered",
           "percent", "slider", "typed", "view"]
