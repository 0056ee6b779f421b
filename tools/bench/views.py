"""Views beside the goals that the course set itself: how soon a key shows, how much the page is told."""
import gzip
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tools import lab, pictures

CURVES, MAPS, PAINT = 16, 33, 33  # ms, at the 90th percentile; the last where the browser draws with a GPU
READY = 1.0  # s after the last cell
TOLD = 8.0  # MB of all views of the course, compressed
KEYS = ["ArrowRight"] * 20 + ["ArrowLeft"] * 20


def views() -> None:
    """The gallery's views in exported pages, in Chromium, 40 keys on each: a key to the page and to the screen, and
    what drawing ahead costs."""
    made = {name: picture.panel() for name, picture in pictures.PICTURES.items() if not picture.trained}
    sizes = [compressed(view.spec, view.frames) for view in made.values()]
    print(f"the page is told {sum(sizes) / 1e6:.2f} MB, compressed, of {len(sizes)} views of the gallery "
          f"(goal: {TOLD:g} MB of all views of the course, which `chapters` adds up)")
    for name, view in made.items():
        places = list(itertools.product(*(range(len(control.values)) if key == view.slider else [control.index]
                                          for key, control in view.controls.items())))
        start = time.perf_counter()
        view.packed(places)
        print(f"{name}: drawing {len(places)} stops ahead takes {1000 * (time.perf_counter() - start):.0f} ms")
    if reason := lab.missing():
        print(f"keys in Chromium not measured: {reason}")
        return
    with lab.chromium() as page, tempfile.TemporaryDirectory() as folder:
        page.add_init_script(lab.PROBE)
        for name, view in made.items():
            page.goto(view.save_html(Path(folder) / f"{name}.html").as_uri())
            host = page.locator(lab.VIEW)
            host.wait_for()
            page.evaluate("() => window.__watch(document.body)")
            print(f"{name}: {keys(page, host)}")


def compressed(*parts) -> int:
    """Bytes of what the page is told."""
    return len(gzip.compress(json.dumps(parts).encode()))


def keys(page, view) -> str:
    """40 keys on a view's slider: how soon they show, beside the goals.

    Args:
        page: where the probe watches the view.
        view: its host in the page.
    """
    is_map = view.locator(".cell").count() > 0
    lab.press(page, view, ["Home"])
    times = lab.press(page, view, KEYS)
    changed, painted = ([one[event] for one in times] for event in ("changed", "painted"))
    return (f"{len(times)} of {len(KEYS)} keys changed the picture; to the page "
            f"{beside(changed, MAPS if is_map else CURVES)}, to the screen {beside(painted, PAINT)}")


def beside(times: Sequence[float], goal: float) -> str:
    """Milliseconds beside their goal."""
    found = lab.percentile_90(times)
    return (f"{statistics.median(times):.0f} ms, 90th percentile {found:.0f} ms (goal: {goal:g} ms"
            f"{'' if found <= goal else ', missed'})")

