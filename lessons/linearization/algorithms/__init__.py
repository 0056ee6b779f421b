"""The mathematics of the chapter: small `networks` and their `tangent`, `finetuning`, the `dynamics` of its limit and
their `bounds`, the `kernel`, what `adding` a layer does to it, rules for `choosing` layers, and `lora`.
"""
from lessons.linearization.algorithms import (adding, bounds, choosing, dynamics, finetuning, kernel, lora, networks,
                                              tangent)
