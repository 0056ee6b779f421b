"""Pictures of the panels for the gallery, taken of the real notebooks in JupyterLab: `make screenshots`.

`python -m tools.screenshots 00_start_here 08_cart` takes those of some chapters alone.
"""
import argparse
import io
import json
import sys

from PIL import Image, ImageOps, PngImagePlugin

from lessons.kit import chapters
from lessons.kit.chapters import CHAPTERS, ROOT
from tools import lab, pictures

MARGIN = 28  # pixels of white around a panel, or its leftmost labels touch the edge
COLOURS = 128  # a picture of lines and letters needs no more, and is half as large


def main(arguments=None) -> int:
    """Write docs/NAME.png for every picture that the table of chapters names, and docs/gallery.md."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("stems", nargs="*", metavar="CHAPTER", help="a notebook's name; all, where none is given")
    wanted = parser.parse_args(arguments).stems
    chosen = [chapters.chapter(stem) for stem in wanted] or CHAPTERS
    if reason := lab.missing():
        print(f"no screenshots: {reason}", file=sys.stderr)
        return 1
    with lab.server(ROOT / "notebooks") as address:
        for chapter in chosen:
            if chapter.pictures:
                take(chapter, address)
    pictures.GALLERY.write_text(pictures.gallery(), encoding="utf-8")
    return 0


def take(chapter, address: str) -> None:
    """The pictures of one chapter, unveiled, with its sliders a few keys to the right.

    The profile is "full", which opens what was measured once for all, so that they are the same wherever they are
    taken.

    Raises:
        SystemExit: the notebook has errors.
    """
    with lab.chromium(width=1400, height=1100, scale=2) as page:
        if lab.run_all(page, address, chapter.notebook.name, seconds=900, full=True):
            raise SystemExit(f"{chapter.notebook.name} has errors")
        found = lab.panels(page)
        for index, name in chapter.pictures.items():
            panel = found[index]
            panel.scroll_into_view_if_needed()
            lab.show_anyway(panel)
            lab.press(page, panel, ["Home"] + ["ArrowRight"] * chapter.keys)
            shown = lab.settled(page, panel)
            page.evaluate("() => document.activeElement.blur()")  # no ring around the slider's handle
            keep(name, panel.screenshot(), lab.says(panel), shown)


def keep(name: str, png: bytes, alt: str, shown: str) -> None:
    """Write docs/NAME.png, with few colours and with what a test compares.

    Args:
        name: of the picture.
        png: the picture.
        alt: what it says, which is kept in the file.
        shown: the frame's name, "generation,position,…" with the position of every control.
    """
    about = PngImagePlugin.PngInfo()
    about.add_itxt("Description", alt)
    about.add_itxt("Positions", json.dumps([int(part) for part in shown.split(",")[1:]]))
    image = ImageOps.expand(Image.open(io.BytesIO(png)).convert("RGB"), MARGIN, "white")
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(pictures.path(name), pnginfo=about, optimize=True)
    print(f"docs/{name}.png, {pictures.path(name).stat().st_size // 1024} kB: {alt}")


if __name__ == "__main__":
    sys.exit(main())
