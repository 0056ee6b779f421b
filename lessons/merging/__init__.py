"""Chapter 7: many ways to merge finetuned models into one, in one registry (CART, §2 and §5; TVG)."""
from lessons.merging.algorithms import merge, methods

__all__ = ["merge", "methods"]
