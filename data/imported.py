"""The text that every module of the course had when it was imported.

What is kept on disk is signed with the code that made it. A running kernel has the code that it imported; the file may since have become
another one (an update, an editor), so its text is taken at the import.
"""
import importlib.machinery
import sys
from pathlib import Path

ROOMS = ("data", "toy_models", "lessons")
_texts = {}  # module's name -> source


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module):
        _texts[module.__name__] = self.get_data(self.path).decode()
        super().exec_module(module)


class _Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        """Python's own answer, with a loader that remembers; None for what is not the course's."""
        if name.partition(".")[0] not in ROOMS:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def text(name: str) -> str:
    """The source of an imported module as it was then; as it is now, where the module came before this one; "" of one without a file.

    Raises:
        KeyError: no such module was imported.
    """
    if name not in _texts:
        path = getattr(sys.modules[name], "__file__", None)
        _texts[name] = Path(path).read_text(encoding="utf-8") if path else ""
    return _texts[name]


if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
for _name in list(sys.modules):  # the packages around this module
    if _name.partition(".")[0] in ROOMS:
        text(_name)
