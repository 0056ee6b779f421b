"""What the chapters teach: one package a chapter, and the rooms that all chapters share."""
from importlib.util import find_spec
from pathlib import Path

for _name in ("data", "toy_models"):  # where each is looked for, before anything of it runs
    _spec = find_spec(_name)
    _folder = Path(__file__).parents[1] / _name
    if _spec and _spec.origin and Path(_spec.origin).resolve().parent != _folder.resolve():
        raise ImportError(f"{_spec.origin} hides the course's own package {_name!r} ({_folder}), because Python looks "
                          "there first. Rename that file or folder, then restart the kernel.")

import data  # noqa: E402, F401, I001  first, since it remembers what is imported after it
