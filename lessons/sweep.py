"""Sweeps: numbers measured on a grid, as an xarray Dataset, kept on disk under a digest of all that went into them; and figures drawn of them."""
import functools
import hashlib
import inspect
import json

import xarray

from data import store
from lessons import plotting


def cached(name: str, ingredients: dict, measure, code=()) -> xarray.Dataset:
    """The sweep, from disk if it is there, else measured now and kept.

    Args:
        name: for the file's name, for example "linearity".
        ingredients: everything that the numbers depend on, as JSON can hold it: recipe keys, grids, sample sizes.
        measure: () -> xarray.Dataset. The result also gets the attribute `digest`, of its numbers.
        code: modules whose source text is an ingredient too: when the measurement is changed, old numbers are not shown.
    """
    ingredients = json.dumps([ingredients, [inspect.getsource(module) for module in code]], sort_keys=True)
    path = store.root() / "sweeps" / f"{name}-{hashlib.sha256(ingredients.encode()).hexdigest()[:20]}.nc"
    return store.once(path, lambda: _signed(measure()), read=_read, write=lambda sweep, part: sweep.to_netcdf(part, engine="scipy"))


def _digest(dataset):
    hasher = hashlib.sha256(json.dumps({key: str(value) for key, value in dataset.attrs.items() if key != "digest"}, sort_keys=True).encode())
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        hasher.update(f"{name} {dataset[name].dims} {values.shape}".encode())
        hasher.update(json.dumps(values.tolist()).encode())
    return hasher.hexdigest()


def _signed(dataset):
    return dataset.assign_attrs(digest=_digest(dataset))


def _read(path):
    if not path.exists():
        raise FileNotFoundError(path)
    try:
        with xarray.open_dataset(path, engine="scipy") as file:
            dataset = file.load()
    except Exception as error:  # a flipped byte can surface as nearly anything in the parser
        raise store.Damaged(f"not readable: {error}") from None
    if dataset.attrs.get("digest") != _digest(dataset):
        raise store.Damaged("its digest does not match its contents")
    return dataset


def drawn_once(function):
    """Decorator for (sweep, *arguments) -> IPython HTML: what it drew is kept on disk and shown again while sweep, arguments and code stay the same.

    Six still figures take matplotlib as long as opening the rest of a chapter. A sweep without a digest (one that was not kept) is drawn anew.
    """
    @functools.wraps(function)
    def inside(sweep, *arguments, **options):
        from IPython.display import HTML
        if "digest" not in sweep.attrs:
            return function(sweep, *arguments, **options)
        source = inspect.getsource(inspect.getmodule(function)) + inspect.getsource(plotting)
        key = hashlib.sha256(repr([sweep.attrs["digest"], function.__name__, arguments, options, source]).encode()).hexdigest()[:20]
        page = store.once(store.root() / "figures" / f"{function.__name__}-{key}.html", lambda: function(sweep, *arguments, **options).data,
                          read=_read_page, write=_write_page)
        return HTML(page)
    return inside


def _write_page(page, path):
    path.write_text(f"{hashlib.sha256(page.encode()).hexdigest()}\n{page}", encoding="utf-8")


def _read_page(path):
    text = path.read_bytes().decode(errors="replace")
    signature, _, page = text.partition("\n")
    if signature != hashlib.sha256(page.encode()).hexdigest():
        raise store.Damaged("its digest does not match its contents")
    return page
