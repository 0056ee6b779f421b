"""Things that have weights: networks, the recipes they are trained by, the zoo that keeps them, and weights as vectors."""
from toy_models import weights, zoo
from toy_models.mlp import MLP
from toy_models.recipe import Architecture, Recipe

__all__ = ["MLP", "Architecture", "Recipe", "weights", "zoo"]
