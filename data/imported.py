"""The text that every module of the course had when it was imported.

What is kept on disk is signed with the code that made it. A running kernel has the code that it imported; the file may
since have become another one (an update, an editor), so its text is taken at the import.
"""
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOMS = ("data", "toy_models", "lessons")
_ROOT = Path(__file__).parents[1]
_texts = {}  # module's name -> source


class _Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        """What the other finders answer, with a loader that remembers; None for what is not the course's.

        The tests have a finder of jaxtyping's, whose loader makes functions check the shapes in their signatures.
        """
        if name.partition(".")[0] not in ROOMS:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, cls)]
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec and isinstance(spec.loader, SourceFileLoader):
            spec.loader.exec_module = _remembering(spec.loader)
        return spec


def _remembering(loader):
    execute = loader.exec_module

    def exec_module(module):
        _texts[module.__name__] = loader.get_data(loader.path).decode()
        execute(module)
    return exec_module


def text(name: str) -> str | None:
    """The source of a module of the course: as it was at the import; as it is now, where the module came before this
    one or has not been imported yet; "" of one without a file; None where there is no such module.
    """
    if name not in _texts:
        if name not in sys.modules:
            stem = _ROOT.joinpath(*name.split("."))
            files = [path for path in (stem / "__init__.py", stem.with_suffix(".py")) if path.is_file()]
            return files[0].read_text(encoding="utf-8") if files else None
        path = getattr(sys.modules[name], "__file__", None)
        _texts[name] = Path(path).read_text(encoding="utf-8") if path else ""
    return _texts[name]


if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
for _name in list(sys.modules):  # the packages around this module
    if _name.partition(".")[0] in ROOMS:
        text(_name)
