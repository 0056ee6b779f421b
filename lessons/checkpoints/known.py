"""Checkpoints that the course knows: repository, revision, size and digest, as far as they are published.

Sources: the model cards and file pages of `tanganke/clip-vit-base-patch32_*` (FusionBench, Tang et al. 2024) and
`openai/clip-vit-base-patch32` (Radford et al. 2021) on huggingface.co. Where no digest is known the first download's
is written beside the file, and the page says that it is not pinned.
"""
from collections.abc import Mapping
from dataclasses import dataclass

HUB = "https://huggingface.co"
WEIGHTS = "model.safetensors"
SIX = ("mnist", "fashion_mnist", "cifar100", "svhn", "kmnist", "cifar10")  # whose test images the course can read


@dataclass(frozen=True)
class Remote:
    """A file in a repository of Hugging Face.

    Attributes:
        name: of the folder below `$WEIGHTSPACE_DATA/checkpoints` that holds it.
        repository: "owner/name".
        revision: 40 hexadecimal digits, or a branch or pull request ("main", "refs/pr/15"), which can move.
        sha256: of the file; "" where it is not known.
        size: in bytes; 0 where it is not known.
        file: its name there and here.
    """
    name: str
    repository: str
    revision: str
    sha256: str = ""
    size: int = 0
    file: str = WEIGHTS

    @property
    def pinned(self) -> bool:
        """Its digest is known: only this very file is accepted."""
        return bool(self.sha256)

    @property
    def url(self) -> str:
        """Where it is fetched from."""
        return f"{HUB}/{self.repository}/resolve/{self.revision.replace('/', '%2F')}/{self.file}"


def _finetuned(task, revision="main", sha256=""):
    return Remote(f"clip-vit-base-patch32_{task}", f"tanganke/clip-vit-base-patch32_{task}", revision, sha256)


_BASE = ("clip-vit-base-patch32", "openai/clip-vit-base-patch32")
_DIGESTS = {  # (revision, SHA-256 of model.safetensors); of some revisions only the first digits are known: "main"
    "mnist": ("28dca299b68f294bb368533172496dbde3901f3e",
              "2f314468305297b901243938151fc791ab92c5953a64568cf9213e2ff4e9e19e"),
    "svhn": ("main", "5885065fa8ac4b891213fd0bc61163dbfa08f316e031ee916f596394e4c66a63"),  # 7da249d…
    "gtsrb": ("7b11ced426cc9cd0430650be19d75748f3bd64d0",
              "e87740392ae79431f180d5a80670095e403739912552d3a7d01fc5ca6d39c8a2"),
    "cifar10": ("1a596838cb54a5d34b68380dbf60891847e229b1",
                "effafc81bf88709c9cb125a69fbea14c01a052231425db8f732620b00337acb4"),
    "cifar100": ("main", ""),  # 73a39ad…
    "sun397": ("4628de77c6c97ba178c65a0bdf5ce8f5c3045d63", ""),
}
# the main branch of θ₀'s repository holds pickles alone; its safetensors file lies in a pull request
BASE = Remote(*_BASE, "refs/pr/15")
TOKENS = (Remote(*_BASE, "refs/pr/15", file="merges.txt"), Remote(*_BASE, "refs/pr/15", file="vocab.json"))
_TASKS = (*SIX, "gtsrb", "sun397")
FINETUNED: Mapping[str, Remote] = {task: _finetuned(task, *_DIGESTS.get(task, ())) for task in _TASKS}
SETS: Mapping[str, tuple[Remote, ...]] = {"b32": (BASE, *TOKENS, *(FINETUNED[task] for task in SIX))}
