"""A panel: ipywidgets controls above one picture, which is a pure function of their values.

Moving a control never trains anything: `draw` looks numbers up in a sweep, or computes something that takes a few
milliseconds. Since the picture depends on the controls alone, a frame is drawn once; while the learner reads, the
kernel draws those along the sliders ahead, and the page keeps them (picture.js).

There is no Output widget on the way, so an error in `draw` cannot vanish: where the controls stand at what cannot be
drawn, it is shown in the picture's place, kept in `panel.picture.error`, and raised if Python moved them there.
"""
import asyncio
import contextlib
import functools
import itertools
import json
import math
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path

import anywidget
import ipywidgets as widgets
import jinja2
import traitlets
from matplotlib.figure import Figure

from data import store
from lessons.kit.hall import alone
from lessons.kit.handles import Handles
from lessons.kit.kept import kept
from lessons.kit.page import Page
from lessons.kit.plotting import MovingFigure, drawing, moving_parts, svg_tag
from lessons.kit.predict import Prediction, unless_guessed
from lessons.kit.sweep import caption

_HERE = Path(__file__).parent
MOST_FRAMES = 3000
VEIL = "Commit your guess above, then look."


class Picture(anywidget.AnyWidget):
    """A figure in the page.

    Traits: `background`, SVG; `frame`, the newest {"key", "marks" (SVG), "alt"}; `controls`, whose positions are a
    frame's key together with `generation`, which rises when frames drawn before are no longer true; `caption`; `veil`,
    what stands before the picture while the learner has not guessed; `error`, the traceback if drawing failed.
    """
    _esm = _HERE / "picture.js"
    _css = _HERE / "picture.css"
    background = traitlets.Unicode().tag(sync=True)
    frame = traitlets.Dict().tag(sync=True)
    controls = traitlets.List().tag(sync=True, **widgets.widget_serialization)
    generation = traitlets.Int(0).tag(sync=True)
    caption = traitlets.Unicode().tag(sync=True)
    veil = traitlets.Unicode().tag(sync=True)
    error = traitlets.Unicode().tag(sync=True)


class Panel(widgets.VBox):
    """Controls over a picture.

    Args:
        controls: name -> a slider or dropdown (`slider`, `choice`). `panel.controls["alpha"].value = 0.3` moves one
            from Python.
        figure: a matplotlib figure whose moving artists are marked `animated=True`.
        draw: called with the controls' values by name; sets the moving artists' data and returns the alternative text.
        caption: printed below; says which data were used.
        predictions: `predict(…)` widgets whose committed value `draw` shows. The picture is veiled until the learner
            has committed one or asks to see it anyway, then moves to the setting that was asked about.
        keep: asked for the background, as `MovingFigure` says.
        again: (axis) -> this panel with one of its axes alone, large; `big` calls it.

    Attributes:
        controls, predictions, picture: as above; `picture.frame` holds what is shown.
    """

    def __init__(self, controls: dict[str, widgets.Widget], figure: Figure, draw, caption: str = "", predictions=(),
                 keep=None, again=None):
        self._again = again
        self.controls = dict(controls)
        self._draw = draw
        with drawing():
            draw(**self.values)  # before the background, so that the layout has room for what will be shown
            self._figure = MovingFigure(figure, keep)
        self._frames = {}
        self._question = self._drawing_ahead = None
        all_controls = list(self.controls.values())
        self.picture = Picture(background=self._figure.background, controls=all_controls, caption=caption)
        self.picture.frame = self._frame(self.values)
        self.picture.on_msg(self._asked)
        row = widgets.HBox(all_controls, layout=widgets.Layout(flex_flow="row wrap", grid_gap="0 18px"))
        super().__init__([row, self.picture, Handles()])
        self.add_class("weightspace-panel")
        for control in self.controls.values():
            control.observe(self._redraw, "value")
        self.predictions = list(predictions)
        for prediction in self.predictions:
            prediction.observe(self._start_over, "committed")
            prediction.observe(self._unveil, "shown")
        self._unveil()

    @property
    def values(self) -> dict:
        """The controls' values by name."""
        return {name: control.value for name, control in self.controls.items()}

    def set(self, **values) -> "Panel":
        """Move several controls and return the panel.

        Raises:
            ValueError: no such control, or a value that it cannot take.
        """
        for name, value in values.items():
            if name not in self.controls:
                raise ValueError(f"this panel has no control {name!r}; it has: {', '.join(self.controls)}")
            settings = settings_of(self.controls[name])
            if value not in settings:
                raise ValueError(f"{name} cannot be {value!r}; it can be: {', '.join(map(str, settings))}")
            self.controls[name].value = value
        return self

    def big(self, axis: int = 0) -> "Panel":
        """This panel as one sees it from the back of a hall: one of its axes alone, letters of 20 points.

        Args:
            axis: which, counted from the left; a figure has `len(panel.figure.axes)`.

        Raises:
            ValueError: there is no such axis, nothing moves on it, or the panel was not made by a function that is a
                `@panel`.
        """
        if self._again is None:
            raise ValueError("this panel cannot be drawn again: only what a @panel function returns can be made big")
        if not 0 <= axis < len(self.figure.axes):
            raise ValueError(f"there is no axis {axis}: this panel has {len(self.figure.axes)}, counted from 0")
        moving = [number for number, ax in enumerate(self.figure.axes) if moving_parts(ax)]
        if axis not in moving:
            raise ValueError(f"nothing moves on axis {axis} of this panel; it does on {', '.join(map(str, moving))}")
        return self._again(axis).set(**self.values)

    def still(self) -> str:
        """The whole picture as it is now, as an HTML image with alternative text."""
        with drawing():
            alt = self._draw(**self.values)
            whole = self._figure.whole()
        return svg_tag(whole, self.figure.get_figwidth(), alt, self.picture.caption)

    def save_html(self, path) -> Path:
        """Write the panel as one self-contained page whose controls work with no kernel and no network.

        Every setting of the controls is drawn now; at most 3,000 of them.

        Raises:
            ValueError: more settings than that.
            StoreError: its folder cannot be written, or the disk is full; a page that was there stays as it was.
        """
        before = self.values
        grids = {name: settings_of(control) for name, control in self.controls.items()}
        needed = math.prod(map(len, grids.values()))
        if needed > MOST_FRAMES:  # before they are listed: eight faders have a hundred million
            raise ValueError(f"the page would need {needed:,} pictures, at most {MOST_FRAMES:,} are allowed: "
                             "give the sliders larger steps")
        frames = [self._frame(dict(zip(grids, setting))) for setting in itertools.product(*grids.values())]
        controls = []
        for name, control in self.controls.items():
            controls.append({"name": name, "label": control.description, "index": grids[name].index(before[name]),
                             "texts": _texts(control), "slider": isinstance(control, widgets.SelectionSlider)})
        rooms = jinja2.Environment(loader=jinja2.FileSystemLoader(_HERE), autoescape=True)
        page = rooms.get_template("page.html.j2").render(
            controls=controls, frames=frames, background=self._figure.background,
            caption=self.picture.caption, css=(_HERE / "picture.css").read_text(encoding="utf-8"),
            script=(_HERE / "page.js").read_text(encoding="utf-8"))
        path = Path(path)
        store.writable(path.parent)
        with store.atomic(path) as part:
            part.write_text(page, encoding="utf-8")
        return path

    @property
    def figure(self) -> Figure:
        """The figure, laid out as it is shown."""
        return self._figure.figure

    @property
    def alt(self) -> str:
        """What the picture shows now, in words and numbers."""
        return self.picture.frame["alt"]

    def _frame(self, values):
        """The frame of these control values, drawn if it was not yet: {"key", "marks", "alt"}."""
        positions = [settings_of(control).index(values[name]) for name, control in self.controls.items()]
        with drawing():  # a slider's messages and the drawing ahead can be on two threads
            key = ",".join(map(str, [self.picture.generation, *positions]))
            if key not in self._frames:
                alt = self._draw(**values)
                self._frames[key] = {"key": key, "marks": self._figure.marks(), "alt": alt}
            return self._frames[key]

    def _redraw(self, _change):
        try:
            self.picture.frame = self._frame(self.values)
        except Exception:
            self.picture.error = traceback.format_exc()
            raise
        self.picture.error = ""

    def _start_over(self, change):
        """A prediction was committed: every frame looks different now, and the learner wants to see what it was
        about."""
        with drawing():
            self._frames.clear()
            self.picture.generation += 1
        self._redraw(change)
        where = change.owner.at
        if where.keys() <= self.controls.keys():  # else another panel answers, and this one only waits
            self.set(**where)
        self._unveil()

    def _unveil(self, _change=None):
        self.picture.veil = VEIL if any(prediction.hides for prediction in self.predictions) else ""

    def _asked(self, _picture, question, _buffers):
        """The page asks for frames, or to see the truth without a guess."""
        if "show" in question:
            for prediction in self.predictions:
                prediction.show_anyway()
        else:
            self._draw_ahead(question)

    def _draw_ahead(self, question):
        """Draw the frames along every slider, nearest first, in the kernel's idle time, and send them to the page; at
        last, as the sign that these are all, its own question. The page asks again for a frame that could not be drawn
        when a slider stands there, and the error is shown then."""
        self._question = question

        async def run():
            for values in self._neighbours():
                if self._question is not question:  # there is a newer one, perhaps on another thread's loop
                    return
                with contextlib.suppress(Exception):
                    self.picture.send(self._frame(values))
                await asyncio.sleep(0)  # whatever the learner does comes first
            self.picture.send(question)

        self._drawing_ahead = asyncio.get_running_loop().create_task(run())

    def _neighbours(self):
        """The settings that differ from the present one in one slider, nearest first."""
        now = self.values
        places = []
        for name, control in self.controls.items():
            if isinstance(control, widgets.SelectionSlider):
                settings = settings_of(control)
                here = settings.index(now[name])
                places += [(abs(index - here), {**now, name: value}) for index, value in enumerate(settings)]
        return [values for _, values in sorted(places, key=lambda place: place[0])]

    def _repr_mimebundle_(self, **arguments):
        bundle = super()._repr_mimebundle_(**arguments)
        still = unless_guessed(self.predictions, Page(self.picture.caption, self.still()))
        return {**(bundle or {}), "text/html": still}  # shown where no widget can be: nbconvert, GitHub


def panel(function):
    """Decorator for (sweep, *others) -> controls, figure, draw[, caption]: makes a `Panel` of what the function
    returns.

    The figure has the course's look; its background is kept on disk while sweep and code stay the same; predictions
    among the arguments move the picture; the caption, left out, says what the sweep was measured on.
    """
    @functools.wraps(function)
    def inside(*arguments, **options):
        sweep = arguments[0] if arguments else None
        given = [*arguments, *options.values()]
        predictions = [one for one in given if isinstance(one, Prediction)]

        def made(axis=None):
            def keep(draw):
                return json.loads(kept(function, sweep, (axis,), ".json", lambda: json.dumps(draw())))

            with drawing():
                controls, fig, draw, *captions = function(*arguments, **options)
                if axis is not None:
                    alone(fig, axis)
                text = captions[0] if captions else caption(sweep)
                return Panel(controls, fig, draw, text, predictions, keep, made)
        return made()
    return inside


def slider(label: str, values, value) -> widgets.SelectionSlider:
    """A slider over given values, in order, or over {text: value}; it starts at `value`, which must be one of them.
    Numbers are shown with two digits.

    A long label makes the slider wider, as far as the page has room, and then goes on in a second line.
    """
    options = list(values.items()) if isinstance(values, dict) else [(_number(v), v) for v in values]
    room = widgets.Layout(width="max-content", min_width="min(420px, 100%)", max_width="100%", height="auto")
    return widgets.SelectionSlider(description=label, options=options, value=value, continuous_update=True,
                                   tooltip=label, layout=room, style={"description_width": "initial"})


def choice(label: str, options: Mapping[str, object] | Iterable) -> widgets.Dropdown:
    """A dropdown over {text: value}, or over names, each of which is its own value; it starts at the first."""
    named = options if isinstance(options, Mapping) else {str(name): str(name) for name in options}
    return widgets.Dropdown(description=label, options=list(named.items()),
                            tooltip=label, style={"description_width": "initial"},
                            layout=widgets.Layout(width="max-content", max_width="100%", height="auto"))


def settings_of(control) -> list:
    """Every value that a panel's control can take, in order."""
    return [value for _, value in control.options]


def _texts(control):
    return [text for text, _ in control.options]


def _number(value):
    return f"{value:.2f}" if isinstance(value, float) else str(value)
