"""Files, folders and names that bring elements and scripts along, and the cells that show them.

Whoever runs leaves a word in `window.ran`; an image that becomes an element asks for an address with "canary" in it.
"""
import html.parser
import json
import os
from pathlib import Path

import torch
from safetensors.torch import save_file


def evil(what: str) -> str:
    """A name that is an element with a handler, where it becomes HTML; without slashes, so that a folder can have it.
    """
    return f'<img src="canary-{what}" onerror="(window.ran??=[]).push(`{what}`)">'


def worse(what: str) -> str:
    """The same with scripts, ends of elements and Markdown's and matplotlib's own signs; no folder can have it."""
    return (f"{evil(what)}<svg onload='(window.ran??=[]).push(`{what} svg`)'></td></script><script>(window.ran??=[])"
            f".push(`{what} script`)</script><!--<script>| [{what}](javascript:alert(1)) **{what}** $x_1 \\frac")


TENSOR = f"{worse('tensor')}.attn.weight"
CARD = f"{worse('card')}\n\n![card](canary-image)\n\n[card][a] <javascript:alert(1)>\n\n[a]: javascript:alert(1)"
EXPORTED = "exported.html"


def written(root: Path) -> dict[str, str]:
    """Hostile folders below `root`: {"BASE", "TUNED", "ADAPTER", "DATA", "OUT", "PAGE": what a cell needs, as Python}.
    """
    draw = torch.Generator().manual_seed(0)
    base = {TENSOR: torch.randn(8, 8, generator=draw), "b.weight": torch.randn(8, 8, generator=draw)}
    folders = {name: root / evil(name) for name in ("base", "cola", "mrpc", "adapter", "data")}
    for name in ("base", "cola", "mrpc"):
        moved = {TENSOR: 0.1, "b.weight": 0.01}  # the panels name the matrix that moved most
        state = {key: tensor + (name != "base") * moved[key] * torch.randn(8, 8, generator=draw)
                 for key, tensor in base.items()}
        state[f"{worse('buffer')}\n# two.position_ids"] = torch.arange(4)
        folders[name].mkdir(parents=True)
        save_file(state, folders[name] / "model.safetensors", {"format": "pt", evil("metadata"): worse("value")})
        config = {"model_type": worse("config"), "trained_on": worse("trained")}
        (folders[name] / "config.json").write_text(json.dumps(config))
    (folders["base"] / "README.md").write_text(f"# A merged model\n\n{CARD}")
    folders["adapter"].mkdir()
    module = f"base_model.model.{TENSOR.removesuffix('.weight')}"
    save_file({f"{module}.lora_A.weight": torch.randn(2, 8, generator=draw),
               f"{module}.lora_B.weight": torch.randn(8, 2, generator=draw)},
              folders["adapter"] / "adapter_model.safetensors")
    config = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, "target_modules": [worse("target")],
              "base_model_name_or_path": worse("name"), "task_type": worse("type"), "auto_mapping": worse("mapping")}
    (folders["adapter"] / "adapter_config.json").write_text(json.dumps(config))
    paths = {name: str(path) for name, path in folders.items()}
    return {"BASE": paths["base"], "TUNED": [paths["cola"], paths["mrpc"]], "ADAPTER": paths["adapter"],
            "DATA": paths["data"], "OUT": str(root / evil("merged")), "PAGE": str(root / EXPORTED)}


IMPORTS = """
from IPython.display import Markdown
from lessons.kit.exercise import Exercise, Result
from lessons.kit.page import folded, reading, table
from lessons.kit.predict import predict
from lessons.checkpoints import adapters, folders, looking, writing
from lessons.vit.experiment import clip as measuring
from lessons.vit.panels import files, own

base, tuned = folders.opened(BASE), [folders.opened(path) for path in TUNED]
looked = looking.look(base, tuned, progress=False)
layer = looking.layer(base, tuned, TENSOR, densities=(1.0,), ratios=(1.0,))
adapted = adapters.Adapted(base, adapters.opened(ADAPTER))
"""
SHOWN = ["own.summary(looked)", "own.reading_of_regime(looked)", "own.by_layer(looked)", "own.one_layer(layer)",
         "own.map_of_lengths(looked)", "files.contents(base)", "files.said_of_spoilt({TENSOR: BASE, TASK: DATA})",
         "measuring.announce()",
         "Markdown(writing.card_of(writing.merge(OUT, 'ties', base, tuned, [TENSOR, TASK], density=0.2)))",
         "Markdown(writing.card_of(BASE))",
         "own.summary(looking.look(base, [adapted], [TASK], spectra=False, progress=False))",
         "folded(TASK, table([TASK], [[TENSOR]], before=TASK, after=TASK), reading(TASK, '{task}', task=TASK))",
         "predict(f'{TASK}?')", "Result(Exercise('1.1', TASK, 1, 1, (), (), ''), False, TENSOR)"]
EXPORT = "own.by_layer(looked).save_html(PAGE)"


def cells(root: Path) -> list[str]:
    """The code of a notebook that opens what `written` wrote below `root` and shows it in every way."""
    names = {**written(root), "TENSOR": TENSOR, "TASK": f"{worse('task')}\n# two"}
    given = "\n".join(f"{name} = {value!r}" for name, value in names.items())
    first = f"import os\n{given}\nos.environ['WEIGHTSPACE_DATA'] = DATA\nos.environ['WEIGHTSPACE_OFFLINE'] = '1'\n"
    return [first + IMPORTS, *SHOWN, f"{EXPORT};"]


class Hostile(html.parser.HTMLParser):
    """What of a page came from a name: `found` lists its elements, and handlers in others."""

    def __init__(self, page: str):
        super().__init__()
        self.found = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        """An element that no author of the course writes into a piece of a page."""
        for name, value in attributes:
            if name.startswith("on") or (name in ("src", "href") and ("canary" in value or "javascript" in value)):
                self.found.append(f"{tag} {name}={value}")

    def handle_comment(self, data):
        """A comment hides what follows it."""
        if "<script>" in data:
            self.found.append(f"<!--{data}")


def environment(root: Path) -> dict[str, object]:
    """What the cells' names stand for after the first cell has run in this process."""
    code, *_ = cells(root)
    before, found = dict(os.environ), {}
    try:
        exec(code, found)
    finally:
        os.environ.clear()
        os.environ.update(before)
    return found
