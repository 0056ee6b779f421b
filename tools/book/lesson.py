"""An executed notebook as the source of a page: `prepare`.

The page has no kernel. What a kernel would answer is there already: a panel has the numbers of all its settings, a
reading waits for the guess in the page, and a self-test has its answers. Where only a kernel will do, the page says how
to go on in JupyterLab.
"""
import copy
import json
import re
from collections.abc import Collection, Sequence

import nbformat
from markupsafe import Markup

from lessons.kit.page import inline
from tools.book import documents, plans, translating
from tools.book.frames import Beside, missing

_VIEW = "application/vnd.jupyter.widget-view+json"
_STATES = "application/vnd.jupyter.widget-state+json"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_CHECK = re.compile(r'^check\("(\d+\.\d+)"', re.MULTILINE)
_INJECTED = "injected-parameters"
_ASSIGNED = re.compile(r"^(\w+) = (.+)$", re.MULTILINE)
_PREDICTION = "<lessons.kit.predict.Prediction"
_ONLY_SHOWS = re.compile(r"(display\(hint|quiz\(|veil\()")  # the reader sees what such a cell shows, and needs no code
_PANEL = Markup('<div class="ws-panel" id="{}" data-panel="{}" data-name="{}"></div>')
_QUIZ = Markup('<div class="ws-quiz" data-quiz="{}"></div>')
_VEIL = Markup('<div class="ws-veil" data-waits-for="{}">{}</div>')
_NOTES = Markup('\n\n<aside class="ws-notes" hidden><ul>{}</ul></aside>\n')
_STEP = Markup("<li><b>{} min</b> {}</li>")
_SECTION = re.compile(r"#{1,3} ")
_WITHOUT_SCRIPT = Markup("{}<noscript>{}</noscript>")
# below a panel, where the book has a page that computes its networks: what else a reader can set there
_ELSEWHERE = Markup('<p class="ws-more">On <a href="{{}}mixing-desk.html#{}">another page</a> {}, and your browser '
                    "runs the networks.</p>")
_COMPUTED = {
    "04_task_arithmetic/panel-e": _ELSEWHERE.format("mixing", "each task vector has a λ of its own"),
    "08_paper/panel-bell": _ELSEWHERE.format("directions", "you choose any number of directions up to 32 and any λ")}
_TRY = Markup('<p class="ws-try"><b>Try it in JupyterLab</b>, which checks your answer: open <code>{}</code> and go to '
              'exercise {}. <a href="{}">How to install</a></p>')


def states(notebook: nbformat.NotebookNode) -> dict[str, dict]:
    """{model: state} of the widgets that an executed notebook keeps."""
    widgets = notebook.metadata.get("widgets", {}).get(_STATES, {}).get("state", {})
    return {model: widget["state"] for model, widget in widgets.items()}


class Preparing:
    """Makes a page of one executed notebook.

    Args:
        place: of the notebook in the repository, "notebooks/deeper/08_paper.ipynb".
        beside: the folder for what lies beside the page.
        install: the address, from the page, of what says how to install.
        known: places of all files that the book has.
        plan: what a teacher does, for the speaker's notes.
        computes: whether the book has the page whose networks the browser runs.

    Attributes:
        panels: the names of the page's panels, which are those of their cells; the second of a cell is "cell/2".
        thin: {panel: settings that it has no numbers of}.
    """

    def __init__(self, place: str, beside: Beside, install: str, known: Collection[str],
                 plan: Sequence[plans.Step] = (), computes: bool = False):
        self.place, self.beside, self.install, self.known = place, beside, install, known
        self.plan, self.computes = plan, computes
        self.stem = place.rpartition("/")[2].removesuffix(".ipynb")
        self.thin: dict[str, int] = {}
        self._states: dict[str, dict] = {}
        self._asking: dict[str, str] = {}  # {question of a prediction: the panel that asks it}
        self._last_asking = ""
        self.panels: list[str] = []

    def page(self, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
        """The source of the page: the notebook with outputs that need no kernel."""
        whole = copy.deepcopy(notebook)
        self._states = states(whole)
        whole.metadata.pop("widgets", None)
        whole.cells = _as_it_ran(whole.cells)
        ids = [cell.id for cell in whole.cells]
        for heading, section in _sections(whole.cells):
            if steps := plans.of_cells(self.plan, ids, [cell.id for cell in section]):
                notes = Markup("").join(_STEP.format(step.minutes, inline(step.todo)) for step in steps)
                heading.source += str(_NOTES.format(notes))
        for cell in whole.cells:
            if cell.cell_type == "markdown":
                cell.source = documents.followed(_COMMENT.sub("", cell.source), self.place, self.known)
            else:
                cell.outputs = [shown for output in cell.outputs if (shown := self._output(cell, output))]
                cell.metadata["tags"] = [*cell.metadata.get("tags", []), *_folding(cell)]
        return whole

    def _output(self, cell, output):
        """What the page shows of an output; None of one that needs a kernel or has been said already."""
        data = output.get("data", {})
        if not data:
            return output
        state = self._states.get(data.get(_VIEW, {}).get("model_id", ""))
        page = Markup("".join(data.get("text/html", "")))
        page = documents.followed_in_html(self.beside.pictures(page), self.place, self.known)
        page = translating.html(page, self.beside.say)
        if _PREDICTION in "".join(data.get("text/plain", "")):  # the panel below asks it
            return None
        if exercise := _CHECK.search(cell.source):
            shown = _TRY.format(self.place, exercise[1], self.install)
        elif state is not None and "spec" in state:
            shown = _WITHOUT_SCRIPT.format(self._live(cell.id, state), page) + self._more(cell.id)
        elif state is not None and "page" in state:
            panel = self._asking.get(state.get("question", ""), self._last_asking)
            shown = _VEIL.format(panel, page)
        elif _VIEW in data and not page:  # a progress bar
            return None
        elif page:
            shown = page
        else:
            return output
        return nbformat.v4.new_output("display_data", {"text/html": str(shown)})

    def _live(self, cell, state):
        """A panel or a question that works in the page."""
        if state["spec"].get("kind") == "quiz":
            asked = translating.said({"spec": state["spec"], "chosen": None}, self.beside.say)
            return _QUIZ.format(json.dumps(asked, ensure_ascii=False))
        if (count := sum(panel.partition("/")[0] == cell for panel in self.panels)):  # several in one cell
            cell = f"{cell}/{count + 1}"
        self.panels.append(cell)
        if state["spec"].get("prediction"):
            self._asking[state["spec"]["prediction"]["question"]] = self._last_asking = cell
        if left_out := missing(state):
            self.thin[cell] = left_out
        return _PANEL.format(cell, self.beside.panel(f"{self.stem}/{cell}", state), f"{self.stem}/{cell}")

    def _more(self, cell):
        """Where the reader can go on from a panel."""
        more = _COMPUTED.get(f"{self.stem}/{cell}", Markup()) if self.computes else Markup()
        return more.format("../" * self.place.count("/"))


def _sections(cells):
    """(the cell with the heading, all cells up to the next heading) of each section."""
    starts = [place for place, cell in enumerate(cells)
              if cell.cell_type == "markdown" and _SECTION.match(cell.source)]
    for start, end in zip(starts, [*starts[1:], len(cells)]):
        yield cells[start], cells[start:end]


def _as_it_ran(cells):
    """The cells, with the parameters in the first one that the notebook was executed with, and not in one of their own.
    """
    given = {name: value for cell in cells if _INJECTED in cell.metadata.get("tags", [])
             for name, value in _ASSIGNED.findall(cell.source)}
    for cell in cells:
        if "parameters" in cell.metadata.get("tags", []):
            cell.source = _ASSIGNED.sub(lambda line: f"{line[1]} = {given.get(line[1], line[2])}", cell.source)
    return [cell for cell in cells if _INJECTED not in cell.metadata.get("tags", [])]


def _folding(cell):
    """Tags for a code cell whose code waits behind a line, or is left out."""
    if not cell.metadata.get("jupyter", {}).get("source_hidden"):
        return []
    if not cell.outputs:
        return ["remove-cell"]
    return ["remove-input"] if _ONLY_SHOWS.match(cell.source) else ["hide-input"]
