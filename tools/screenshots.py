"""Pictures of the panels for the README, taken of the real notebooks in JupyterLab.

`python -m tools.screenshots` (`make screenshots`).
"""
import sys
from pathlib import Path

from tools import lab

FOLDER = Path(__file__).parent.parent
SHOTS = {
    "00_start_here.ipynb": {0: "start_decision_map"},
    "01_linearity.ipynb": {0: "linearity_strangers", 1: "linearity_along_the_line", 2: "linearity_gap_per_layer",
                           3: "linearity_coef_per_layer"},
    "02_linearity_resnet.ipynb": {2: "resnet_batchnorm"},
    "03_averaging.ipynb": {3: "averaging_triangle"},
    "04_task_arithmetic.ipynb": {4: "task_arithmetic_mixing_desk"},
    "05_pretraining.ipynb": {1: "pretraining_along_the_line"},
    "06_gradients.ipynb": {1: "gradients_gap"},
    "07_interference.ipynb": {0: "merging_interference", 3: "merging_plane"},
    "08_cart.ipynb": {0: "cart_bell"},
}


def steps(notebook: str) -> int:
    """How far to the right of its left end the slider stands in the picture."""
    if notebook.startswith("00"):
        return 25
    return 4 if notebook > "04" else 2 if notebook > "02" else 10


def main() -> int:
    """Write docs/NAME.png for every panel."""
    if reason := lab.missing():
        print(f"no screenshots: {reason}", file=sys.stderr)
        return 1
    with lab.server(FOLDER / "notebooks") as address:
        for notebook, shots in SHOTS.items():
            with lab.chromium(width=1400, height=1100) as page:
                if lab.run_all(page, address, notebook):
                    raise SystemExit(f"{notebook} has errors")
                found = lab.panels(page)
                for index, name in shots.items():
                    panel = found[index]
                    lab.press(page, panel, ["Home"] + ["ArrowRight"] * steps(notebook))
                    panel.screenshot(path=str(FOLDER / "docs" / f"{name}.png"))
                    print(f"docs/{name}.png: {lab.says(panel)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
