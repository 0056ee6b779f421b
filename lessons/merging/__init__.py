"""The merging methods, one file per family, and the registry that lists them all.

`methods()` gives every method with its parameters, `merge(name, base, finetuned, **parameters)` applies one. Importing
a family registers its methods, in the order of the imports below.
"""
from lessons.merging.registry import Method, Needs, Parameter, merge, merge_on_demand, methods
from lessons.merging.arithmetic import average, task_arithmetic
from lessons.merging.angles import model_stock, slerp
from lessons.merging.sparse import breadcrumbs, dare, della, ties
from lessons.merging.masks import consensus, emr, tall_masks
from lessons.merging.lowrank import cart, cart_indexing, isotropic, tsv
from lessons.merging.weighted import fisher, regmean
from lessons.merging.adaptive import adamerging, adamerging_cart
from lessons.merging.states import StateFile
from lessons.merging.storage import PerTask

__all__ = ["Method", "Needs", "Parameter", "PerTask", "StateFile", "merge", "merge_on_demand", "methods", *methods()]
