"""Pictures of the panels for the gallery and the README, taken in JupyterLab: `make screenshots`.

The panels are those of the notebooks, each alone in a notebook of its own: without its prediction, so without a veil,
and with the sweep that lies in the repository. So a picture is the same wherever it is taken, and takes seconds.

`python -m tools.screenshots 00_start_here 08_cart` takes those of some chapters alone; the moving one belongs to
00_start_here.
"""
import argparse
import io
import json
import sys
import tempfile
from pathlib import Path

import nbformat
from PIL import Image, ImageOps, PngImagePlugin

from lessons.kit import chapters
from lessons.kit.chapters import CHAPTERS, ROOT
from tools import lab, pictures

MARGIN = 28  # pixels of white around a panel, or its leftmost labels touch the edge
SCALE = 2  # pixels for every one of a laptop's screen
NOTEBOOK = "pictures.ipynb"


def main(arguments=None) -> int:
    """Write docs/NAME.png for every picture in the table of chapters, the moving picture and docs/gallery.md."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("stems", nargs="*", metavar="CHAPTER", help="a notebook's name; all, where none is given")
    wanted = parser.parse_args(arguments).stems
    chosen = [chapters.chapter(stem) for stem in wanted] or CHAPTERS
    if reason := lab.missing():
        print(f"no screenshots: {reason}", file=sys.stderr)
        return 1
    names = [name for chapter in chosen for name in chapter.pictures.values()]
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder) / NOTEBOOK, names)
        with (lab.server(Path(folder), PYTHONPATH=str(ROOT)) as address,
              lab.chromium(width=1400, height=1100, scale=SCALE) as page):
            take(page, address, names, film=CHAPTERS[0] in chosen)
    pictures.GALLERY.write_text(pictures.gallery(), encoding="utf-8")
    return 0


def _write(path, names):
    """A notebook with a cell for every picture, and one for the moving picture."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    panels = [f"pictures.PICTURES[{name!r}].panel()" for name in names]
    cells = [nbformat.v4.new_code_cell(f"from tools import pictures\n{panel}")
             for panel in (*panels, "pictures.moving_panel()")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), path)


def take(page, address: str, names: list[str], film: bool) -> None:
    """Pictures of the panels as they open, and the moving one.

    Raises:
        SystemExit: a panel cannot be drawn.
    """
    if lab.run_all(page, address, NOTEBOOK):
        raise SystemExit("a panel cannot be drawn: `python -m pytest tests/test_pictures.py` says why")
    *found, last = lab.views(page)
    for name, panel in zip(names, found, strict=True):
        shown = lab.positions(page, panel)
        keep(name, panel.screenshot(), lab.says(panel), shown)
    if film:
        moving(page, last)


def moving(page, panel) -> None:
    """docs/moving_alpha.gif: the slider of chapter 0 runs from end to end, once for each pair of networks.

    It is a GIF because readers of GitHub can stop one.
    """
    frames, said = [], []
    for pair, keys in enumerate((["Home"] + ["ArrowRight"] * 20, ["End"] + ["ArrowLeft"] * 20)):
        panel.get_by_role("radio", name="start").nth(pair).check()
        for step, key in enumerate(keys):
            lab.press(page, panel, [key])
            if step == 10:
                said.append((lab.says(panel), lab.positions(page, panel)))
            frames.append(_frame(panel.screenshot()))
    _film(frames, *zip(*said))


def _with_margin(png):
    return ImageOps.expand(Image.open(io.BytesIO(png)).convert("RGB"), MARGIN, "white")


def _frame(png):
    image = _with_margin(png)
    return image.resize([round(0.8 * length / SCALE) for length in image.size], Image.Resampling.LANCZOS)


def _film(frames, alts, shown):
    """Write the frames, which have one palette, with their words and the positions of the controls."""
    some = frames[::9]
    sheet = Image.new("RGB", (some[0].width, some[0].height * len(some)))
    for place, frame in enumerate(some):
        sheet.paste(frame, (0, place * frame.height))
    palette = sheet.quantize(256, kmeans=2)
    frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    one_run = len(frames) // 2
    long = {0, one_run // 2, one_run - 1}  # the ends, and half-way
    durations = [1200 if place % one_run in long else 110 for place in range(len(frames))]
    about = {"Description": pictures.words_of_moving(alts), "Positions": list(shown)}
    frames[0].save(pictures.MOVING, save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True,
                   comment=json.dumps(about, ensure_ascii=False).encode())
    print(f"{pictures.MOVING.name}, {pictures.MOVING.stat().st_size // 1024} kB: {about['Description']}")


def keep(name: str, png: bytes, alt: str, positions: list[int]) -> None:
    """Write docs/NAME.png, with what a test compares.

    Args:
        name: of the picture.
        png: the picture.
        alt: what it says, which is kept in the file.
        positions: of every control, in their order.
    """
    about = PngImagePlugin.PngInfo()
    about.add_itxt("Description", alt)
    about.add_itxt("Positions", json.dumps(positions))
    _with_margin(png).save(pictures.path(name), pnginfo=about, optimize=True)
    print(f"docs/{name}.png, {pictures.path(name).stat().st_size // 1024} kB: {alt}")


if __name__ == "__main__":
    sys.exit(main())
