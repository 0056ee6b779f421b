"""Things that have weights: networks, the recipes they are trained by, the zoo that keeps them, and weights as vectors.
"""
import data  # noqa: F401, I001  first, since it remembers what is imported after it
from toy_models import batchnorm, losses, weights, zoo
from toy_models.byol import BYOL
from toy_models.gpt import CharacterGPT
from toy_models.mlp import MLP
from toy_models.recipe import Architecture, Recipe
from toy_models.residual import ResidualMLP
from toy_models.resnet import ResNet18
from toy_models.velocity import VelocityNetwork
from toy_models.text_encoder import TextEncoder
from toy_models.text_to_text import TextToText
from toy_models.tiny_vit import TinyViT

__all__ = ["BYOL", "MLP", "Architecture", "CharacterGPT", "Recipe", "ResNet18", "ResidualMLP", "TextEncoder",
           "TextToText", "TinyViT", "VelocityNetwork", "batchnorm", "losses", "weights", "zoo"]
