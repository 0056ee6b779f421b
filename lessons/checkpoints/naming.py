"""Three libraries write the same tower under four sets of names, and two of them keep q, k and v in one matrix. A table
maps all of them onto one: the names of transformers from 5.6 on.
"""
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from torch import Tensor

from lessons.checkpoints.folders import Tensors, config_of, entry_of
from lessons.checkpoints.opening import CheckpointError, Entry
from lessons.checkpoints.towers import NAMED, Tower
from toy_models.weights import State

# A row is one tensor, or with {p} a weight and a bias: our name, open_clip's, timm's. [0] is the first third of the
# rows of a matrix that holds q, k and v; "turned" a matrix that is stored transposed.
IN_BLOCK = (
    ("layer_norm1.{p}", "ln_1.{p}", "norm1.{p}"),
    ("self_attn.q_proj.{p}", "attn.in_proj_{p}[0]", "attn.qkv.{p}[0]"),
    ("self_attn.k_proj.{p}", "attn.in_proj_{p}[1]", "attn.qkv.{p}[1]"),
    ("self_attn.v_proj.{p}", "attn.in_proj_{p}[2]", "attn.qkv.{p}[2]"),
    ("self_attn.out_proj.{p}", "attn.out_proj.{p}", "attn.proj.{p}"),
    ("layer_norm2.{p}", "ln_2.{p}", "norm2.{p}"),
    ("mlp.fc1.{p}", "mlp.c_fc.{p}", "mlp.fc1.{p}"),
    ("mlp.fc2.{p}", "mlp.c_proj.{p}", "mlp.fc2.{p}"),
)
OF_VISION = (
    ("embeddings.class_embedding", "class_embedding", "cls_token"),
    ("embeddings.patch_embedding.weight", "conv1.weight", "patch_embed.proj.weight"),
    ("embeddings.position_embedding.weight", "positional_embedding", "pos_embed"),
    ("pre_layrnorm.{p}", "ln_pre.{p}", "norm_pre.{p}"),
    ("post_layernorm.{p}", "ln_post.{p}", "norm.{p}"),
)
OF_TEXT = (
    ("embeddings.token_embedding.weight", "token_embedding.weight", None),
    ("embeddings.position_embedding.weight", "positional_embedding", None),
    ("final_layer_norm.{p}", "ln_final.{p}", None),
)
OF_BOTH = (  # these lie beside the towers in a file of the whole CLIP, under their full names
    ("visual_projection.weight", "visual.proj turned", None),
    ("text_projection.weight", "text_projection turned", None),
    ("logit_scale", "logit_scale", None),
)
LIBRARIES = ("transformers", "open_clip", "timm")  # the columns
BLOCKS = ("encoder.layers.{i}.", "transformer.resblocks.{i}.", "blocks.{i}.")
BUFFERS = ("position_ids", "attn_mask")  # no weights: older files hold them, newer ones do not
# where a tower ends that begins with nothing: names of what lies beside it
BESIDE = {"vision": ("text_model.", "text_projection", "visual_projection", "logit_scale", "head.", "fc_norm."),
          "text": ("visual.", "vision_model.", "visual_projection", "text_projection", "logit_scale")}


@dataclass(frozen=True)
class Place:
    """Where a tensor of ours lies in a file.

    Attributes:
        key: its name there.
        third: 0, 1 or 2 where it is the first, second or third third of that tensor's rows.
        turned: it is stored transposed.
        as_it_is: nothing but the name is another; leading dimensions of 1 stay.
    """
    key: str
    third: int | None = None
    turned: bool = False
    as_it_is: bool = False

    @classmethod
    def read(cls, written: str, prefix: str = "") -> "Place":
        """From the table's notation."""
        if written.endswith("]"):
            return cls(prefix + written[:-3], third=int(written[-2]))
        return cls(prefix + written.removesuffix(" turned"), turned=written.endswith(" turned"))

    def shape(self, stored: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of ours, from that of what is stored. Leading dimensions of 1 (timm's `cls_token`) are dropped."""
        if self.as_it_is:
            return stored
        while len(stored) > 1 and stored[0] == 1:
            stored = stored[1:]
        if self.third is not None:
            stored = (stored[0] // 3, *stored[1:])
        return stored[::-1] if self.turned else stored

    def taken(self, tensor: Tensor) -> Tensor:
        """Ours, from what is stored."""
        if self.as_it_is:
            return tensor
        shape = self.shape(tuple(tensor.shape))
        if self.third is not None:
            return tensor.reshape(3, *shape)[self.third]
        return tensor.T if self.turned else tensor.reshape(shape)


class Renamed(Tensors):
    """Some tensors of a state dict under our names; each is read when it is asked for, and the others never.

    Attributes:
        state: the state dict or checkpoint behind it.
        places: {our name: where it lies there}.
        library: whose names those are.
        tower: its sizes; None where it is not a tower.
    """

    def __init__(self, state: State, places: Mapping[str, Place], library: str, tower: Tower | None = None):
        self.state = state
        self.places = self.shown = dict(places)
        self.library = library
        self.tower = tower

    def __getitem__(self, key: str) -> Tensor:
        place = self.places[key]
        return place.taken(self.state[place.key])

    def entry(self, key: str) -> Entry:
        """Dtype and shape of a tensor, without reading it from a checkpoint."""
        place = self.places[key]
        stored = entry_of(self.state, place.key)
        return Entry(stored.dtype, place.shape(stored.shape))

    @property
    def name(self) -> str:
        """The file or folder behind it, for messages."""
        return name_of(self.state)


def name_of(state: State) -> str:
    """The file or folder behind a state dict, for messages."""
    return str(getattr(state, "path", None) or getattr(state, "name", None) or "the state dict")


def renamed(state: State, remove: str = "", add: str = "", words: Mapping[str, str] | None = None) -> Renamed:
    """The same tensors under other names; each is read when it is asked for.

    Args:
        state: a checkpoint or any state dict.
        remove: what is taken away from the front of the keys that begin with it, "transformer." for one.
        add: what is put in front of every key afterwards, "bert." for one.
        words: {part of a key between dots: what stands there instead}, {"gamma": "weight"} for one.

    Raises:
        CheckpointError: two keys would get the same name. Names the file and both keys.
    """
    places = {}
    for key in state:
        ours = key.removeprefix(remove)
        for old, new in (words or {}).items():
            ours = re.sub(rf"(?<![^.]){re.escape(old)}(?![^.])", lambda _, new=new: new, ours)  # type: ignore[misc]
        if add + ours in places:
            raise CheckpointError(f"{name_of(state)}: {places[add + ours].key!r} and {key!r} would both be named "
                                  f"{add + ours!r}. Rename fewer keys.")
        places[add + ours] = Place(key, as_it_is=True)
    return Renamed(state, places, "renamed")


def is_buffer(key: str, shape: tuple[int, ...]) -> bool:
    """Whether a tensor is not a weight but a table that the library makes anew: positions, or GPT-2's mask of what lies
    ahead.
    """
    mask = key.endswith("attn.bias") and len(shape) == 4 and shape[:2] == (1, 1)
    return key.endswith((*BUFFERS, "attn.masked_bias")) or mask


# -- towers --------------------------------------------------------------------------------------------------------

def vision_tower(state: State, expect: str | Tower | None = None) -> Renamed:
    """The vision tower of a checkpoint of any of the libraries, under our names; nothing else of it is read.

    Args:
        state: the checkpoint: the tower alone, or both towers.
        expect: the tower that it should be, "ViT-B/32" say; None takes any.

    Raises:
        CheckpointError: there is no such tower, keys are missing or too many, a shape is another, or it is another
            tower than expected. Names file and key.
    """
    return _tower(state, "vision", OF_VISION, expect)


def text_tower(state: State, expect: Tower | None = None) -> Renamed:
    """The text tower of a checkpoint of the whole CLIP; as `vision_tower`."""
    return _tower(state, "text", OF_TEXT, expect)


def projections(state: State) -> Renamed:
    """What leads from both towers into the space they share, and the scale of its cosines: `visual_projection.weight`
    (projection, width), `text_projection.weight`, `logit_scale`; those that the checkpoint has.
    """
    for column, library in enumerate(LIBRARIES):
        places = {row[0]: Place.read(written) for row in OF_BOTH if (written := row[column])}
        there = {key: place for key, place in places.items() if place.key in state}
        if "visual_projection.weight" in there:
            return Renamed(state, there, library)
    raise CheckpointError(f"{name_of(state)} has no projection of images: neither visual_projection.weight nor "
                          "visual.proj. It lies in the file of the whole CLIP, which finetuned towers come without.")


def _tower(state, kind, rows, expect):
    column, prefix = _recognised(state, kind, rows)
    layers = _layers(state, prefix, column)
    places = {}
    for row in rows:
        places |= _filled(row[0], row[column], "", prefix)
    for number in range(layers):
        for row in IN_BLOCK:
            block = BLOCKS[0].format(i=number)
            places |= _filled(row[0], row[column], block, prefix + BLOCKS[column].format(i=number))
    _check_keys(state, kind, prefix, places, LIBRARIES[column])
    tensors = Renamed(state, places, LIBRARIES[column])
    tensors.tower = _sizes(tensors, kind, layers, prefix)
    _check_shapes(tensors, expect)
    return tensors


def _filled(ours, theirs, our_prefix, prefix):
    """{our name: place} of a row: of a weight and a bias where it has {p}."""
    if "{p}" not in ours:
        return {our_prefix + ours: Place.read(theirs, prefix)}
    return {our_prefix + ours.format(p=part): Place.read(theirs.format(p=part), prefix) for part in ("weight", "bias")}


def _recognised(state, kind, rows):
    """(column of the table, what the tower's keys begin with), by the names of the embedding."""
    for column in range(len(LIBRARIES)):
        if rows[0][column] is None:
            continue
        first, second = rows[0][column], rows[1][column]
        for key in state:
            prefix = key.removesuffix(first)
            fits = key.endswith(first) and (not prefix or prefix.endswith("."))
            another = column == 1 and prefix.endswith("embeddings.")  # transformers' name ends with open_clip's
            if fits and not another and (prefix + second in state
                                         or prefix + rows[2][column].format(p="weight") in state):
                return column, prefix
    some = ", ".join(list(state)[:3])
    raise CheckpointError(f"{name_of(state)} holds no {kind} tower of CLIP by any of the names that transformers, "
                          f"open_clip and timm give it. Its first keys are {some}.")


def _layers(state, prefix, column):
    pattern = re.compile(re.escape(prefix + BLOCKS[column]).replace(r"\{i\}", r"(\d+)"))
    numbers = {int(match[1]) for key in state if (match := pattern.match(key))}
    return max(numbers, default=-1) + 1


def _check_keys(state, kind, prefix, places, library):
    needed = {place.key for place in places.values()}
    if missing := sorted(key for key in needed if key not in state):
        raise CheckpointError(f"{name_of(state)} lacks {_some(missing)} of the {kind} tower (names of {library}). "
                              "Is it half a download, or another model?")
    extra = [key for key in state if key.startswith(prefix) and key not in needed and not key.endswith(BUFFERS)]
    if not prefix or kind == "text":
        extra = [key for key in extra if not key.startswith(BESIDE[kind])]
    extra = [key for key in extra if key != prefix + "proj"]  # open_clip's projection lies inside its tower
    if extra:
        raise CheckpointError(f"{name_of(state)} has {_some(sorted(extra))} in its {kind} tower, which no CLIP of "
                              f"{library} has. Is it another model?")


def _some(keys):
    rest = f" and {len(keys) - 3} more" if len(keys) > 3 else ""
    return ", ".join(map(repr, keys[:3])) + rest


def _sizes(tensors, kind, layers, prefix):
    """The tower's sizes: from shapes, and what these do not say from `config.json`, else as OpenAI's CLIP has it."""
    shapes = {key: tensors.entry(key).shape for key in tensors}
    config = config_of(tensors.state)
    config = _said(tensors, config, f"{kind}_config", dict, "an object") or config
    tokens, width = shapes["embeddings.position_embedding.weight"]
    mlp = shapes["encoder.layers.0.mlp.fc1.weight"][0] if layers else 0
    heads = _said(tensors, config, "num_attention_heads", int, "a whole number") or max(1, width // 64)
    activation = _said(tensors, config, "hidden_act", str, "a text") or "quick_gelu"
    more = {"patch": shapes["embeddings.patch_embedding.weight"][-1]} if kind == "vision" else {
        "vocabulary": shapes["embeddings.token_embedding.weight"][0]}
    try:
        return Tower(width, layers, heads, mlp, tokens, activation=activation, **more)
    except ValueError as error:
        raise CheckpointError(f"{tensors.name}: {error} (config.json)") from error


def _said(tensors, config, field, kind, what):
    """What a config says in a field; None where it says nothing."""
    value = config.get(field)
    if value is None or (isinstance(value, kind) and not isinstance(value, bool)):
        return value
    raise CheckpointError(f"{tensors.name}: its config.json says {str(value)[:60]!r} for {field}, where {what} is due. "
                          "Download it again.")


def _check_shapes(tensors, expect):
    wanted = NAMED[expect] if isinstance(expect, str) else expect
    if wanted and _in_shapes(tensors.tower) != _in_shapes(wanted):
        names = {tower: name for name, tower in NAMED.items()}
        wanted_name = expect if isinstance(expect, str) else names.get(wanted, "another tower")
        raise CheckpointError(f"{tensors.name} is {_described(tensors.tower)}; you asked for {wanted_name} "
                              f"({_differs(wanted, tensors.tower)}).")
    expected = tensors.tower.shapes()
    for key in tensors:
        if (shape := tensors.entry(key).shape) != expected[key]:
            raise CheckpointError(f"{tensors.name}: {tensors.places[key].key!r} has shape {shape}, where "
                                  f"{expected[key]} is due in {_described(tensors.tower)}.")


def _in_shapes(tower):
    """What shapes say of a tower."""
    return replace(tower, heads=1, activation="gelu")


def _described(tower):
    for name, known in NAMED.items():
        if _in_shapes(tower) == _in_shapes(known):
            return f"{name}: width {tower.width}, patches of {tower.patch}, {tower.layers} blocks"
    what = f"patches of {tower.patch}" if tower.patch else f"{tower.vocabulary:,} tokens"
    return f"a tower of width {tower.width}, {what}, {tower.layers} blocks"


def _differs(wanted, tower):
    pairs = [(name, getattr(wanted, name), getattr(tower, name)) for name in ("width", "patch", "layers", "mlp",
                                                                             "tokens", "vocabulary")]
    return ", ".join(f"{name} {a}, not {b}" for name, a, b in pairs if a != b)


def parameters(state: State) -> int:
    """How many numbers a state dict or checkpoint holds; of a checkpoint no tensor is read for it."""
    return sum(math.prod(entry_of(state, key).shape) for key in state)
