"""The pretrained ViTs that lie in the repository, `data/checkpoints`: each a safetensors file of the zoo with its
recipe and a model card beside it.

`python -m lessons.vit.shipped` trains what is missing and writes them.
"""
import hashlib
from pathlib import Path

import torch

import data
from data import medley
from lessons import cast, suites
from toy_models import Recipe, zoo

CARD = """# {name}: a small vision transformer, pretrained

A checkpoint for chapters 12 and 13 of Weightspace, made to be opened, merged and broken, and for nothing else.

- **Network**: `toy_models.TinyViT`, width {width}, 4 blocks of 4 heads, patches of 7×7 pixels, {parameters:,}
  parameters in float32. Images of 28×28 pixels, one channel, from 0 to 1; outputs: ten digits, then ten clothes.
- **Trained on**: {source}. {epochs} passes, AdamW, learning rate {lr:g} with warm-up and cosine, batches of
  {batch_size}, seed {seed}; float64 on a CPU, rounded to float32 at the end. `recipe.json` is the whole recipe, and its
  SHA-256 begins with the name that the zoo gives to the file.
- **Accuracy** on {images} test images each: {accuracies}.
- **Where it fails**: on the altered tasks, which it has seen only a few images of. That is the point: finetuning has
  something to do.
- **File**: `model.safetensors`, {bytes:,} bytes, SHA-256 `{digest}`.
- **Licence**: as the course's code (MIT). MNIST: LeCun, Cortes and Burges. Fashion-MNIST: Xiao, Rasul and Vollgraf
  2017, MIT.
"""
IMAGES = 500


def folder_of(recipe: Recipe) -> Path:
    """Where a pretrained ViT lies in the repository."""
    return zoo.CHECKPOINTS / f"tiny_vit_{dict(recipe.architecture.arguments)['width']}"


def recipes() -> list[Recipe]:
    """Of all that lie there."""
    return [cast.pretrained_vit(width, seed) for width, seed in cast.SHIPPED_VITS]


@torch.inference_mode()
def accuracies(network: torch.nn.Module, images: int = IMAGES) -> dict[str, float]:
    """{task: share correct} on test images, upright ones first; each among its own ten classes."""
    shares = {}
    for kind, change in [*((kind, "none") for kind in data.altered.OF), *medley.TASKS]:
        test = data.load("altered", "test", of=kind, change=change).spread(images)
        first, last = data.altered.outputs(kind)
        logits = torch.cat([network(some) for some in test.x.split(250)])[:, first:last]
        name = "upright" if change == "none" else change
        shares[f"{suites.NAMES[kind]} {name}"] = suites.share_correct(logits, test.y - first)
    return shares


def card(recipe: Recipe, path: Path, shares: dict[str, float]) -> str:
    """The model card of a file."""
    network = recipe.architecture.build()
    content = path.read_bytes()
    return CARD.format(
        name=path.parent.name, width=dict(recipe.architecture.arguments)["width"],
        parameters=sum(parameter.numel() for parameter in network.parameters()),
        source=data.source(recipe.dataset, **dict(recipe.options)).text, epochs=recipe.epochs, lr=recipe.lr,
        batch_size=recipe.batch_size, seed=recipe.seed, images=f"{IMAGES:,}",
        accuracies=", ".join(f"{task} {share:.3f}" for task, share in shares.items()), bytes=len(content),
        digest=hashlib.sha256(content).hexdigest())


def write(recipe: Recipe) -> Path:
    """Train the network if it is missing, and put it into the repository; returns its folder."""
    folder = zoo.ship(recipe, folder_of(recipe).name)
    shares = accuracies(zoo.get(recipe))
    (folder / "README.md").write_text(card(recipe, folder / "model.safetensors", shares), encoding="utf-8")
    return folder


if __name__ == "__main__":
    for one in recipes():
        print(write(one))
