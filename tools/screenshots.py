"""Pictures of the panels for the README, taken of the real notebooks in JupyterLab: `make screenshots`."""
import sys

from lessons.kit.chapters import CHAPTERS, ROOT
from tools import lab


def main() -> int:
    """Write docs/NAME.png for every picture that the table of chapters names."""
    if reason := lab.missing():
        print(f"no screenshots: {reason}", file=sys.stderr)
        return 1
    with lab.server(ROOT / "notebooks") as address:
        for chapter in CHAPTERS:
            if chapter.pictures:
                take(chapter, address)
    return 0


def take(chapter, address: str) -> None:
    """The pictures of one chapter, with its sliders a few keys to the right.

    Raises:
        SystemExit: the notebook has errors.
    """
    with lab.chromium(width=1400, height=1100) as page:
        if lab.run_all(page, address, chapter.notebook.name):
            raise SystemExit(f"{chapter.notebook.name} has errors")
        found = lab.panels(page)
        for index, name in chapter.pictures.items():
            panel = found[index]
            lab.press(page, panel, ["Home"] + ["ArrowRight"] * chapter.keys)
            panel.screenshot(path=str(ROOT / "docs" / f"{name}.png"))
            print(f"docs/{name}.png: {lab.says(panel)}")


if __name__ == "__main__":
    sys.exit(main())
