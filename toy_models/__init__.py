"""Things that have weights: networks, the recipes they are trained by, the zoo that keeps them, and weights as vectors.
"""
import data  # noqa: F401, I001  first, since it remembers what is imported after it
from toy_models import batchnorm, weights, zoo
from toy_models.mlp import MLP
from toy_models.recipe import Architecture, Recipe
from toy_models.resnet import ResNet18

__all__ = ["MLP", "Architecture", "Recipe", "ResNet18", "batchnorm", "weights", "zoo"]
