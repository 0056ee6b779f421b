"""Drawings that are kept on disk while sweep, code and matplotlib stay the same: six still figures take matplotlib as
long as opening the rest of a chapter."""
import hashlib
from collections.abc import Callable

import matplotlib as mpl

from data import store
from lessons.kit.sweep import behind


def kept(function, sweep, arguments: tuple, suffix: str, draw: Callable[[], str]) -> str:
    """What draw() returns, from disk where it was drawn before; not kept where the data folder may not be written.

    Args:
        function: that draws; its name and the code behind its module are part of the key.
        sweep: an xarray Dataset with the attribute `digest`, or a dict of several. What has none, because it was not
            kept, is drawn anew.
        arguments: what else the drawing depends on; they are told apart by their `repr`.
        suffix: of the file, ".html".
        draw: () -> text.
    """
    digests = _digests(sweep)
    if digests is None:
        return draw()
    code = behind(function.__module__, drawing=True)
    parts = [digests, function.__name__, *arguments, mpl.__version__, code]
    key = hashlib.sha256(repr(parts).encode()).hexdigest()[:20]
    path = store.root() / "figures" / f"{function.__name__}-{key}{suffix}"
    return store.once(path, draw, read=_read, write=_write, elsewhere=False)


def _digests(sweep):
    """What tells a sweep, or a dict of sweeps, from others; None where a sweep was not kept."""
    if isinstance(sweep, dict):
        digests = {name: _digests(one) for name, one in sweep.items()}
        return None if None in digests.values() else digests
    return getattr(sweep, "attrs", {}).get("digest")


def _write(page, path):
    signed = f"{hashlib.sha256(page.encode()).hexdigest()}\n{page}"
    path.write_bytes(signed.encode())  # as text, Windows would write other line ends than were digested


def _read(path):
    text = store.regular(path).read_bytes().decode(errors="replace")
    signature, _, page = text.partition("\n")
    if signature != hashlib.sha256(page.encode()).hexdigest():
        raise store.Damaged("its digest does not match its contents")
    return page
