"""Sweeps: numbers measured on a grid, as an xarray Dataset, kept on disk under a digest of all that went into them."""
import hashlib
import inspect
import json

import xarray

from data import store


def cached(name: str, ingredients: dict, measure, code=()) -> xarray.Dataset:
    """The sweep, from disk if it is there, else measured now and kept.

    Args:
        name: for the file's name, for example "linearity".
        ingredients: everything that the numbers depend on, as JSON can hold it: recipe keys, grids, sample sizes.
        measure: () -> xarray.Dataset.
        code: modules whose source text is an ingredient too: when the measurement is changed, old numbers are not shown.
    """
    ingredients = json.dumps([ingredients, [inspect.getsource(module) for module in code]], sort_keys=True)
    path = store.root() / "sweeps" / f"{name}-{hashlib.sha256(ingredients.encode()).hexdigest()[:20]}.nc"
    return store.once(path, measure, read=_read, write=_write)


def _digest(dataset):
    hasher = hashlib.sha256(json.dumps({key: str(value) for key, value in dataset.attrs.items() if key != "digest"}, sort_keys=True).encode())
    for name in sorted(map(str, dataset.variables)):
        values = dataset[name].values
        hasher.update(f"{name} {dataset[name].dims} {values.shape}".encode())
        hasher.update(json.dumps(values.tolist()).encode())
    return hasher.hexdigest()


def _write(dataset, path):
    dataset.assign_attrs(digest=_digest(dataset)).to_netcdf(path, engine="scipy")


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
