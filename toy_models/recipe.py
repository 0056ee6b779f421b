"""A recipe says everything about how a model came to be; equal recipes mean equal weights."""
from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass

from torch import nn

import data
from data.types import checked_whole
from toy_models import losses
from toy_models.byol import BYOL
from toy_models.gpt import CharacterGPT
from toy_models.mlp import MLP
from toy_models.residual import ResidualMLP
from toy_models.resnet import ResNet18
from toy_models.text_encoder import TextEncoder
from toy_models.text_to_text import TextToText
from toy_models.tiny_vit import TinyViT
from toy_models.velocity import VelocityNetwork

NETWORKS = {"MLP": MLP, "ResNet18": ResNet18, "ResidualMLP": ResidualMLP, "CharacterGPT": CharacterGPT,
            "VelocityNetwork": VelocityNetwork, "BYOL": BYOL, "TinyViT": TinyViT, "TextEncoder": TextEncoder,
            "TextToText": TextToText}
_TITLES = {"ResNet18": "ResNet-18"}  # where a network is not called as its class is
OPTIMISERS = ("sgd", "adam", "adamw")
CONSTANT, COSINE = "constant", "warm-up and cosine"
SCHEDULES = (CONSTANT, COSINE)
_ADDED = ("loss", "schedule", "frozen")
_FORMAT = 2  # raise when training itself changes, so that models of the old code are not taken for new ones
_FORMAT_OF = {"ResNet18": 3}  # where the training of one kind of network alone has changed


@dataclass(frozen=True)
class Architecture:
    """A network by name with its arguments: `Architecture.of("MLP", widths=(2, 32, 32, 2))`."""
    name: str
    arguments: tuple[tuple[str, object], ...] = ()

    @classmethod
    def of(cls, name: str, **arguments) -> Architecture:
        """Build one from keyword arguments; lists become tuples so that it can be hashed."""
        if name not in NETWORKS:
            raise ValueError(f"unknown network {name!r}: choose one of {', '.join(NETWORKS)}")
        return cls(name, _sorted(arguments))

    def build(self) -> nn.Module:
        """A network of this architecture with torch's default initialisation."""
        return NETWORKS[self.name](**dict(self.arguments))

    @property
    def title(self) -> str:
        """For captions: "MLP 784–100–10", "ResNet-18 of width 16"."""
        arguments = dict(self.arguments)
        name = _TITLES.get(self.name, self.name)
        if "widths" in arguments:
            widths = arguments["widths"]
            assert isinstance(widths, tuple)  # as `of` makes them
            return f"{name} {'–'.join(map(str, widths))}"
        return f"{name} of width {arguments['width']}" if "width" in arguments else name


@dataclass(frozen=True)
class Recipe:
    """How a model came to be.

    Attributes:
        architecture: the network.
        dataset: name of the dataset, as `data.load` knows it.
        options: the dataset's options, for example (("angle", 22.5),); lists become tuples.
        data_digest: digest of what the dataset really is; `Recipe.on` fills it in.
        lr: learning rate.
        epochs: passes over the training part.
        batch_size: samples a step; None for the whole training part.
        optimiser: "sgd", "adam" or "adamw".
        seed: of the initialisation (where there is no parent) and of the order of samples.
        parent: the recipe of the model that training starts from; None to start from random weights.
        loss: what training makes smaller, one of `losses.names()`.
        schedule: of the learning rate: "constant", or "warm-up and cosine", which rises in the first steps and falls to
            0 at the end.
        frozen: beginnings of the keys of what is not trained, such as ("head.",).
    """
    architecture: Architecture
    dataset: str
    options: tuple[tuple[str, object], ...]
    data_digest: str
    lr: float
    epochs: int
    batch_size: int | None = 64
    optimiser: str = "sgd"
    seed: int = 0
    parent: Recipe | None = None
    loss: str = losses.SEEN_CLASSES
    schedule: str = CONSTANT
    frozen: tuple[str, ...] = ()

    def __post_init__(self):
        if self.optimiser not in OPTIMISERS:
            raise ValueError(f"unknown optimiser {self.optimiser!r}: choose one of {', '.join(OPTIMISERS)}")
        if self.schedule not in SCHEDULES:
            raise ValueError(f"unknown schedule {self.schedule!r}: choose one of {', '.join(SCHEDULES)}")
        losses.checked(self.loss)
        object.__setattr__(self, "frozen", _prefixes(self.frozen))
        if not isinstance(self.lr, (int, float)) or not math.isfinite(self.lr) or self.lr <= 0:
            raise ValueError(f"lr must be a finite number above 0, not {self.lr!r}")
        for name, least in (("epochs", 0), ("batch_size", 1), ("seed", 0)):
            value = getattr(self, name)
            if name != "batch_size" or value is not None:
                object.__setattr__(self, name, checked_whole(name, value, least))  # an int, which JSON can hold
        if self.parent and self.parent.architecture != self.architecture:
            raise ValueError(f"the parent is a {self.parent.architecture}, this recipe a {self.architecture}: "
                             "finetuning keeps the architecture")

    @classmethod
    def on(cls, dataset: str, architecture: Architecture, *, lr: float, epochs: int, options: dict | None = None,
           **rest) -> Recipe:
        """A recipe on a dataset as it is here and now: the official files, or their stand-in."""
        options = options or {}
        return cls(architecture, dataset, _sorted(options), data.source(dataset, **options).digest, lr, epochs, **rest)

    def finetune(self, dataset: str | None = None, options: dict | None = None, **changes) -> Recipe:
        """The recipe of a model that starts from this one's weights; what is not named stays as it is."""
        dataset = dataset or self.dataset
        options = dict(self.options) if options is None else options
        return dataclasses.replace(self, dataset=dataset, options=_sorted(options),
                                   data_digest=data.source(dataset, **options).digest, parent=self, **changes)

    def to_json(self) -> str:
        """The recipe as text, the same for equal recipes."""
        number = _FORMAT_OF.get(self.architecture.name, _FORMAT)
        return json.dumps({"format": number, **_plain(self)}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Recipe:
        """The recipe that `to_json` wrote, maybe on another machine.

        Raises:
            ValueError: it is no recipe, or one of another version of the course.
        """
        try:
            recipe = _recipe_of({key: value for key, value in json.loads(text).items() if key != "format"})
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ValueError(f"this is no recipe: {error}") from None
        if recipe.to_json() != text:
            raise ValueError(f"the recipe of {recipe} was written by another version of the course, which trains "
                             "otherwise")
        return recipe

    @property
    def key(self) -> str:
        """Digest of the recipe: the name of the model's file in the zoo."""
        return key_of(self.to_json())

    def __str__(self):
        options = ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                            for name, value in self.options)
        start = "finetuned" if self.parent else "from scratch"
        task = f"{self.dataset} ({options})" if options else self.dataset
        return f"{self.architecture.name} {start} on {task}, seed {self.seed}"


def key_of(text: str) -> str:
    """`Recipe.key` of a recipe as text."""
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _sorted(options):
    """Keyword arguments as pairs that can be hashed: sorted by name, lists as tuples."""
    return tuple(sorted((key, tuple(value) if isinstance(value, list) else value) for key, value in options.items()))


def _prefixes(frozen):
    """Beginnings of keys as a tuple.

    Raises:
        ValueError: they are no texts; one text alone would be read letter by letter.
    """
    if isinstance(frozen, str) or not all(isinstance(prefix, str) and prefix for prefix in frozen):
        raise ValueError(f"frozen must be a tuple of beginnings of keys, such as (\"head.\",), not {frozen!r}")
    return tuple(frozen)


def _plain(recipe):
    """The recipe as JSON can hold it; 1 and 1.0 are the same learning rate or option, so they are written alike. A
    field that recipes did not always have is left out at its default, so that models of before keep their names."""
    fields = {field.name: getattr(recipe, field.name) for field in dataclasses.fields(recipe)
              if field.name not in _ADDED or getattr(recipe, field.name) != field.default}
    options = [[name, float(value) if isinstance(value, int) else value] for name, value in recipe.options]
    return fields | {
        "architecture": dataclasses.asdict(recipe.architecture),
        "lr": float(recipe.lr),
        "options": options,
        "parent": _plain(recipe.parent) if recipe.parent else None,
    }


def _recipe_of(fields):
    """The recipe of what `_plain` wrote. Whole numbers come back as such: a recipe with 1 is equal to one with 1.0."""
    network = fields["architecture"]
    options = [(name, int(value) if isinstance(value, float) and value.is_integer() else value)
               for name, value in _tuples(fields["options"])]
    return Recipe(**fields | {
        "architecture": Architecture.of(network["name"], **dict(_tuples(network["arguments"]))),
        "options": tuple(options),
        "parent": _recipe_of(fields["parent"]) if fields["parent"] else None,
    })


def _tuples(value):
    """Lists as tuples, also inside lists: what can be hashed."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
