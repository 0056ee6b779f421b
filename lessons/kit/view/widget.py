"""The widget that shows a view, and its controls.

The page has the numbers of every setting along the slider before anything is moved, so a step of the slider needs no
kernel. For another choice it asks, and keeps what it is told. A page that is saved has all of them.
"""
import base64
import contextlib
import functools
import itertools
import json
import math
import re
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import anywidget
import jinja2
import traitlets

from data import store
from lessons.kit.page import Page
from lessons.kit.predict import Prediction, unless_guessed
from lessons.kit.sweep import caption
from lessons.kit.view import printed
from lessons.kit.view.marks import Chart, Frame, Mark, described, gap, rows_of

_HERE = Path(__file__).parent
MODULE = _HERE / "view.js"
MOST_FRAMES = 3000
MOST_LETTERS = 500  # of a sentence that is typed
_NO_LETTER = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ALONE = re.compile(r"[\ud800-\udfff]")  # half of a letter


class Control(traitlets.HasTraits):
    """A slider, a row of chips or a field with ready sentences: one of several settings.

    Attributes:
        value: where it stands; set it from Python, observe it, or link it with `ipywidgets.link`.
        index: the same as a place among `values`.
        label, texts: what stands before it, and the name of every setting.
        words: what a slider says of every setting, where it stands ("half-way").
        ends: what stands under a slider's first and last setting, each (role, text).
        at: the positions of a slider's settings on the x axis of the chart that has its handle.
        more: whether it waits behind "More".
    """
    value = traitlets.Any()
    index = traitlets.Int()

    def __init__(self, kind: str, label: str, options: Mapping[str, object], value, **about):
        self.kind, self.label = kind, label
        self.texts, self.values = list(options), list(options.values())
        self.words = list(about.get("words") or self.texts)
        self.ends = [list(end) for end in about.get("ends", ())]
        self.at = [float(place) for place in about.get("at", range(len(self.values)))]
        self.more = bool(about.get("more", False))
        if not self.values:
            raise ValueError(f"the control {label!r} has no setting")
        if len(self.words) != len(self.values) or len(self.at) != len(self.values):
            raise ValueError(f"the control {label!r} has {len(self.values)} settings, but {len(self.words)} words and "
                             f"{len(self.at)} positions")
        super().__init__(value=self._checked(value))
        self.index = self.place_of(self.value)

    def place_of(self, value) -> int:
        """The place of a value among the settings."""
        return self.values.index(value)

    def value_at(self, place: int):
        """The value at a place among the settings."""
        return self.values[place]

    @property
    def places(self) -> range:
        """Of all settings that a saved page has."""
        return range(len(self.values))

    def is_typed(self, place: int) -> bool:
        """Whether a place is that of a text that is typed."""
        return False

    def _checked(self, value):
        if value not in self.values:
            raise ValueError(f"{self.label} cannot be {value!r}; it can be: {', '.join(map(str, self.values))}")
        return value

    @traitlets.validate("value")
    def _is_one_of_them(self, proposal):
        return self._checked(proposal["value"])

    @traitlets.observe("value")
    def _follow_value(self, change):
        self.index = self.place_of(change["new"])

    @traitlets.observe("index")
    def _follow_index(self, change):
        self.value = self.value_at(change["new"])

    @property
    def options(self) -> list[tuple[str, object]]:
        """(text, value) of every setting, as the controls of ipywidgets give them."""
        return list(zip(self.texts, self.values))

    @property
    def description(self) -> str:
        """What stands before it, as the controls of ipywidgets give it."""
        return self.label

    def spec(self, name: str) -> dict:
        """As the page needs it."""
        return {"name": name, "kind": self.kind, "label": self.label, "texts": self.texts, "words": self.words,
                "ends": self.ends, "at": self.at, "more": self.more}


class Typed(Control):
    """A field for a sentence, over a row of chips with ready ones. Its value is a ready sentence or any other text of
    at most 500 letters; of a longer one the first 500 are taken, with a warning. A control character becomes a space.

    Attributes:
        typed: the text that is none of the ready ones; "" where there was none. Its place is behind theirs.
    """
    typed = traitlets.Unicode()

    def __init__(self, label: str, ready: Mapping[str, str], value: str):
        if not all(isinstance(sentence, str) and says_something(sentence) for sentence in ready.values()):
            raise ValueError(f"the ready sentences of {label!r} must be texts that are not empty")
        super().__init__("typed", label, {name: cleaned(sentence) for name, sentence in ready.items()}, value)

    def _checked(self, value):
        if not isinstance(value, str):
            raise ValueError(f"{self.label} takes a text, not {value!r:.80}")
        if len(value) > MOST_LETTERS:
            warnings.warn(f"{self.label}: a text has at most {MOST_LETTERS} letters, so the first {MOST_LETTERS} of "
                          f"{len(value):,} are taken", stacklevel=2)
        return cleaned(value)

    def place_of(self, value) -> int:
        """The place of a ready sentence, or that of the text that is typed, which becomes this one."""
        if value in self.values:
            return self.values.index(value)
        self.typed = value
        return len(self.values)

    def value_at(self, place: int):
        """A ready sentence, or behind them the text that is typed."""
        return [*self.values, self.typed][place]

    @property
    def places(self) -> range:
        """Of the ready sentences and, where it stands at another text, of that one."""
        return range(len(self.values) + self.is_typed(self.index))

    def is_typed(self, place: int) -> bool:
        """Whether a place is the one behind the ready sentences."""
        return place == len(self.values)

    def spec(self, name: str) -> dict:
        """As the page needs it."""
        return {**super().spec(name), "sentences": self.values}


def cleaned(text: str) -> str:
    """A text that can be sent and shown: at most 500 letters, control characters as spaces. The page does the same."""
    return _ALONE.sub("�", _NO_LETTER.sub(" ", text[:MOST_LETTERS]))


def says_something(text: str) -> bool:
    """Whether there is anything to be read in it."""
    return any(letter.isprintable() and not letter.isspace() for letter in text)


def slider(label: str, values, value, words: Callable[[object], str] | None = None, ends=(), places=None) -> Control:
    """A slider over given values in order, or over {text: value}. It lies under the x axis, so it is for one quantity
    that the chart shows there.

    Args:
        value: where it begins, one of them.
        words: value -> what is said under the slider when it stands there.
        ends: what stands under the first and the last, each (role, text).
        places: their positions on the x axis; left out, the values themselves, where they are numbers.
    """
    options = dict(values) if isinstance(values, Mapping) else {_number(setting): setting for setting in values}
    if places is None and all(isinstance(setting, (int, float)) for setting in options.values()):
        places = options.values()
    about = {"words": [words(setting) for setting in options.values()] if words else None, "ends": ends}
    return Control("slider", label, options, value, **about | ({} if places is None else {"at": places}))


def chips(label: str, options, value=None, more: bool = False) -> Control:
    """A row of chips over {text: value}, or over names, each of which is its own value; it begins at the first unless
    `value` is given. With `more` it waits behind "More"."""
    named = dict(options) if isinstance(options, Mapping) else {str(name): name for name in options}
    return Control("chips", label, named, next(iter(named.values())) if value is None else value, more=more)


def typed(label: str, ready, value: str | None = None) -> Typed:
    """A field in which the learner types a sentence, over a row of chips with ready ones. A page without a kernel has
    the ready ones alone. `draw` gets the text and never an empty one: for that the view asks for a sentence.

    Args:
        label: what stands before the field: "Type a sentence".
        ready: sentences, or {name of the chip: sentence}.
        value: the text to begin with; left out, the first of the ready ones.

    Raises:
        ValueError: no sentence, an empty one, or one that is no text.
    """
    named = ready if isinstance(ready, Mapping) else {sentence: sentence for sentence in _sentences(ready, "ready")}
    return Typed(label, named, next(iter(named.values()), "") if value is None else value)


def _number(value):
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _sentences(tries, name):
    """As a list. A text alone would become a box for each of its letters."""
    if isinstance(tries, str) or not all(isinstance(sentence, str) for sentence in tries):
        raise ValueError(f"{name} must be a list or tuple of sentences, not {tries!r}; one sentence needs a comma "
                         "behind it: (\"Move the slider.\",)")
    return list(tries)


def _only(controls, kind, what):
    """The name of the only control of a kind; "" where there is none."""
    names = [name for name, control in controls.items() if control.kind == kind]
    if len(names) > 1:
        raise ValueError(f"a view has one {what}, not {len(names)} ({', '.join(names)}): make the others chips")
    return "".join(names)


class View(anywidget.AnyWidget):
    """Charts over a slider and chips, in the page.

    Args:
        controls: {name: `slider`, `chips` or `typed`}; at most one slider and one field to type in.
        charts: from left to right.
        draw: (**values of the controls) -> `Frame`.
        kicker: where one is: "Chapter 1: along the line".
        caption: how it was measured; folded.
        prediction: what the learner commits before the answer is shown; `panel_answers` has told it the truth and where
            the view shows it. The chart's `Star` stands for the guess.
        hides: names of marks that wait for the guess.
        tries: what to do with it, in order, each a sentence. They stand above the charts and can be ticked off.
        stacked: whether the charts stand below each other and share their x axis, also in a wide page.
        alone: of a view for a hall, the chart that it shows first; None is the usual view.

    Attributes:
        made: of the class, all views of this process.
        controls, charts, prediction: as above. `controls["alpha"].value = 0.4` moves one.
        positions: where each stands, in their order; the page moves it.
        typed: the text in the field that is none of its ready sentences; the page changes it.
        ticked: which of `tries` the learner has ticked off, counted from 0.
        guess: what was committed in the page, None before; shown: whether the learner looked without a guess.

    Raises:
        ValueError: several sliders or fields to type in, a handle without its slider, a frame that names marks that
            there are not, `tries` that are no sentences, or a prediction that was not told the truth.
    """
    _esm = MODULE
    made: ClassVar[weakref.WeakSet["View"]] = weakref.WeakSet()
    spec = traitlets.Dict().tag(sync=True)
    frames = traitlets.Dict().tag(sync=True)
    positions = traitlets.List(traitlets.Int()).tag(sync=True)
    typed = traitlets.Unicode().tag(sync=True)
    ticked = traitlets.List(traitlets.Int()).tag(sync=True)
    guess = traitlets.Float(None, allow_none=True).tag(sync=True)
    shown = traitlets.Bool(False).tag(sync=True)

    def __init__(self, controls: Mapping[str, Control], charts: Sequence[Chart], draw: Callable[..., Frame],
                 kicker: str = "", caption: str = "", prediction: Prediction | None = None, hides: Sequence[str] = (),
                 tries: Sequence[str] = (), stacked: bool = False, alone: int | None = None):
        self.controls, self.charts, self.draw = dict(controls), list(charts), draw
        self.stacked, self.kicker, self.hides, self.tries = stacked, kicker, list(hides), _sentences(tries, "tries")
        self.prediction = prediction
        self.slider = _only(self.controls, "slider", "slider")
        self.field = _only(self.controls, "typed", "field to type in")
        for chart in self.charts:
            if chart.slider not in ("", self.slider):
                raise ValueError(f"a chart has the handle of {chart.slider!r}, which is no slider of this view")
            unknown = [name for mark in chart.marks for name in getattr(mark, "picks", ()) if name not in self.controls]
            if unknown:
                raise ValueError(f"a press in a chart picks {', '.join(unknown)}, which is no control of this view")
        self.caption = caption
        spec = {"kicker": kicker, "caption": caption, "slider": self.slider,
                "controls": [control.spec(name) for name, control in self.controls.items()],
                "charts": [described(chart) for chart in self.charts], "hides": self.hides, "stacked": stacked,
                "tries": list(self.tries)}
        if alone is not None:
            spec["alone"] = alone
        if prediction:
            if prediction.truth is None:
                raise ValueError("call prediction.panel_answers(…) before the view is made: it tells what was measured")
            where = {name: self.controls[name].values.index(value) for name, value in prediction.at.items()}
            spec["prediction"] = {"question": prediction.question, "low": prediction.low, "high": prediction.high,
                                  "step": prediction.step, "truth": prediction.truth, "at": where}
            if prediction.before is not None:
                spec["prediction"]["before"] = prediction.before
        super().__init__(spec=spec, positions=[control.index for control in self.controls.values()])
        self.typed = getattr(self.controls.get(self.field), "typed", "")
        self._tell()
        View.made.add(self)
        for control in self.controls.values():
            control.observe(self._moved, "index")
            control.observe(self._typed, "typed")
        self.observe(self._moved_in_the_page, ["positions", "typed"])
        self.on_msg(self._asked)
        if prediction:
            self.guess, self.shown = prediction.committed, prediction.shown  # it may be older than this view
            self.observe(self._guessed_in_the_page, ["guess", "shown"])
            prediction.observe(self._guessed, ["committed", "shown"])
            prediction.observe(self._follow_vote, "vote")
            self._follow_vote()

    # -- what is shown ---------------------------------------------------------------------------------

    @property
    def marks(self) -> list[Mark]:
        """Those of all charts."""
        return [mark for chart in self.charts for mark in chart.marks]

    @property
    def values(self) -> dict:
        """The controls' values by name."""
        return {name: control.value for name, control in self.controls.items()}

    @property
    def frame(self) -> Frame:
        """What is shown now."""
        return self._drawn(self.values)

    def _drawn(self, values):
        """A frame; for an empty text one that asks for a sentence and shows nothing."""
        if not self.field or says_something(values[self.field]):
            return self.draw(**values)
        usual = self.draw(**{**values, self.field: self.controls[self.field].values[0]})
        nothing = {mark.name: gap(mark, usual.values[mark.name]) for mark in self.marks if mark.name in usual.values}
        return Frame("Type a sentence, or choose one", "Nothing is shown, because no sentence is typed.", nothing,
                     usual.key)

    @property
    def alt(self) -> str:
        """What is shown now, in words and numbers."""
        return self.frame.alt

    @property
    def title(self) -> str:
        """The finding that is shown now."""
        return self.frame.title

    @property
    def spoken(self) -> str:
        """What a screen reader says of the charts now: the finding, and its numbers in words."""
        return f"{self.title}. {self.alt}"

    def set(self, **values) -> "View":
        """Move several controls and return the view.

        Raises:
            ValueError: no such control, or a value that it cannot take; nothing has moved then.
        """
        for name, value in values.items():
            if name not in self.controls:
                raise ValueError(f"this view has no control {name!r}; it has: {', '.join(self.controls)}")
            self.controls[name]._checked(value)
        for name, value in values.items():
            self.controls[name].value = value
        return self

    def big(self, chart: int = 0) -> "View":
        """This view as one sees it from the back of a hall: one chart as wide as the page, letters that grow with it.
        It has the same controls, so both move together. In the page the key f fills the screen.

        Args:
            chart: which is shown first, counted from the left; chips show the others.

        Raises:
            ValueError: there is no such chart.
        """
        if not 0 <= chart < len(self.charts):
            raise ValueError(f"there is no chart {chart}: this view has {len(self.charts)}, counted from 0")
        return View(self.controls, self.charts, self.draw, self.kicker, self.caption, self.prediction, self.hides,
                    self.tries, self.stacked, alone=chart)

    def ask_class(self, class_size: int | None = None, host: str | None = None, port: int | None = None):
        """Let the phones of a class vote on this view's question. This view, `big()` and others of its prediction show
        a code for their cameras and the number of votes, and draw the votes once the answer is shown.

        Args:
            class_size: how many students there are at most; left out, 200.
            host, port: where this computer serves the page for phones; left out, an address on the local network.

        Returns:
            The `lessons.kit.votes.ClassVote`; its `stop()` ends it, and so does the end of the kernel.

        Raises:
            ValueError: this view asks no question, or as `lessons.kit.votes.ask`.
            NoNetworkError: phones reach this kernel at no address.
        """
        from lessons.kit import votes  # nothing of a server is here unless it is asked for
        if not self.prediction:
            raise ValueError("this panel asks for no guess, so a class has nothing to vote on. Call ask_class() of a "
                             "panel that was given a prediction")
        return votes.ask(self.prediction, self._axis_of_the_guess().unit == "percent", class_size, host, port)

    def _axis_of_the_guess(self):
        """On which the page draws the guess, and in whose unit it asks."""
        stars = [(chart, mark) for chart in self.charts for mark in chart.marks if mark.kind == "star"]
        return next((chart.x if mark.along == "x" else chart.y for chart, mark in stars), self.charts[0].y)

    def still(self) -> str:
        """The charts as they are now, as an HTML image with alternative text; matplotlib draws it."""
        stops = {name: control.at for name, control in self.controls.items()}
        return printed.image(self.charts, self.frame, self.caption, self.stacked, stops)

    def _repr_mimebundle_(self, **arguments):
        bundle = super()._repr_mimebundle_(**arguments)
        data = (bundle[0] if isinstance(bundle, tuple) else bundle) or {}
        still = Page(self.caption, self.still())
        if self.prediction:  # the page asks, so a notebook shows no question beside it
            question = str(self.prediction.question_page) if self.prediction.hides else ""
            still = question + unless_guessed([self.prediction], still)
        else:
            still = still._repr_html_()
        return {**data, "text/html": still}  # shown where no widget can be: nbconvert, GitHub

    # -- frames ----------------------------------------------------------------------------------------

    def _along(self, positions: Sequence[int]) -> list[tuple[int, ...]]:
        """The positions of all controls along the slider, the others as here; for a typed text only these."""
        if any(control.is_typed(place) for control, place in zip(self.controls.values(), positions)):
            return [tuple(positions)]
        grids = [range(len(control.values)) if name == self.slider else [place]
                 for (name, control), place in zip(self.controls.items(), positions)]
        return list(itertools.product(*grids))

    def _settings(self, place, typed):
        """The values at a place, by the names of their controls, and what its frame is found by: a typed text by
        itself, so that no frame of another text is ever shown for it."""
        values, words = {}, []
        for (name, control), index in zip(self.controls.items(), place):
            values[name] = typed if control.is_typed(index) else control.values[index]
            words.append(f"“{typed}" if control.is_typed(index) else str(index))
        return values, ",".join(words)

    def packed(self, places: Sequence[tuple[int, ...]], typed: str | None = None) -> dict:
        """The frames at these positions as JSON can hold them: {"rows": distinct numbers, "frames": {"2,0": …}}, where
        a frame names rows. A curve that does not move with the slider stands there once. `typed` is the text in the
        field; left out, the one of now.

        Raises:
            ValueError: a frame gives numbers for marks that there are not, or leaves one out.
        """
        rows: dict[str, int] = {}
        frames = {}
        wanted = {mark.name: mark for mark in self.marks if mark.parts}
        known = {}  # by mark and identity, for what does not move; it holds the numbers, so that no others get their id

        def row_of(name, numbers):
            if (name, id(numbers)) not in known:
                row = json.dumps(rows_of(wanted[name], numbers))
                known[name, id(numbers)] = rows.setdefault(row, len(rows)), numbers
            return known[name, id(numbers)][0]

        for place in places:
            settings, words = self._settings(place, self.typed if typed is None else typed)
            frame = self._drawn(settings)
            if frame.values.keys() != wanted.keys():
                different = sorted(frame.values.keys() ^ wanted.keys())
                raise ValueError(f"a frame gives numbers for every mark and no other; look at {', '.join(different)}")
            values = {name: row_of(name, numbers) for name, numbers in frame.values.items()}
            frames[words] = {"title": frame.title, "alt": frame.alt, "values": values,
                             "key": [list(item) for item in frame.key]}
        return {"rows": [json.loads(row) for row in rows], "frames": frames}

    def _tell(self):
        self.frames = self.packed(self._along(self.positions))

    def _typed(self, change):
        self.typed = change["new"]

    def _moved(self, _change):
        self.positions = [control.index for control in self.controls.values()]

    def _moved_in_the_page(self, _change):
        for control, index in zip(self.controls.values(), self.positions):
            if control.is_typed(index):
                control.value = self.typed
            elif 0 <= index < len(control.values):
                control.index = index
            else:
                raise ValueError(f"{control.label} has {len(control.values)} settings, there is no place {index}")

    def _asked(self, _view, question, _buffers):
        """The page asks for the frames along the slider at other settings. It says what is typed, because its question
        may come before the trait. Or it asks what the class has voted so far, or closes or opens the vote."""
        if "vote" in question:
            vote = self.prediction and self.prediction.vote
            if vote and question["vote"] in ("tell", "close", "open"):
                getattr(vote, question["vote"])()
            return
        places = [place for positions in question["along"] for place in self._along(positions)]
        typed = cleaned(question.get("typed") or "")
        self.send({"told": question["along"], "packed": self.packed(places, typed)})

    def _guessed_in_the_page(self, change):
        if change["name"] == "guess" and change["new"] is None:
            self.prediction.take_back()
        elif change["name"] == "guess":
            self.prediction.commit(change["new"])
        elif change["new"]:
            self.prediction.show_anyway()
        elif self.guess is None:
            self.prediction.take_back()

    def _guessed(self, _change):
        self.guess, self.shown = self.prediction.committed, self.prediction.shown
        if self.guess is not None:
            self.set(**self.prediction.at)

    def _follow_vote(self, _change=None):
        """Send the page what a class votes. A message is no trait, so the notebook does not save it, and any thread can
        send one while this one is at work."""
        if self.prediction.vote:
            self.prediction.vote.listen(lambda state: self.send({"class": state}))

    # -- a page of its own -----------------------------------------------------------------------------

    def save_html(self, path) -> Path:
        """Write the view as one page that needs no kernel and no network: it has every setting's numbers.

        Raises:
            ValueError: more than 3,000 settings.
            StoreError: its folder cannot be written, or the disk is full; a page that was there stays as it was.
        """
        state = {"spec": self.spec, "frames": self.packed(self.everywhere()), "positions": self.positions,
                 "typed": self.typed, "guess": self.guess, "shown": self.shown, "ticked": self.ticked}
        return write_page(path, self.title, state)

    def everywhere(self) -> list[tuple[int, ...]]:
        """The positions of the controls at all settings.

        Raises:
            ValueError: more than 3,000 settings.
        """
        needed = math.prod(len(control.places) for control in self.controls.values())
        if needed > MOST_FRAMES:
            raise ValueError(f"the page would need {needed:,} settings, at most {MOST_FRAMES:,} are allowed: give the "
                             "controls fewer")
        return list(itertools.product(*(control.places for control in self.controls.values())))


def keep_all_settings() -> list[str]:
    """Let every view of this process have the frames of all its settings in its state, as a page needs them that is
    made of the notebook: without a kernel it can ask for none.

    Returns:
        The kickers of views that keep those along the slider alone, because they have more than 3,000 settings.
    """
    too_many = []
    for panel in View.made:
        try:
            panel.frames = panel.packed(panel.everywhere())
        except ValueError:
            too_many.append(panel.kicker)
    return too_many


def write_page(path, title: str, state: dict) -> Path:
    """Write what the module shows of a state as one page that needs no kernel and no network.

    Args:
        title: of the page.
        state: a widget's, by the names of its traits.

    Raises:
        StoreError: its folder cannot be written, the disk is full, or a folder or device has this name; a page that was
        there stays as it was.
    """
    path = _free(Path(path).expanduser())
    rooms = jinja2.Environment(loader=jinja2.FileSystemLoader(_HERE), autoescape=True)
    module = f"data:text/javascript;base64,{base64.b64encode(MODULE.read_bytes()).decode()}"
    page = rooms.get_template("page.html.j2").render(state=state, title=title, module=module)
    with store.atomic(path) as part:
        part.write_text(page, encoding="utf-8")
    return path


def _free(path):
    """The path, where a page can be written; its folder is made if need be."""
    try:
        store.writable(path.parent)
    except store.NoRoom:
        raise
    except store.StoreError as error:  # it speaks of the data folder
        why = error.__cause__
        raise type(error)(f"{path} cannot be written: {getattr(why, 'strerror', None) or why}. Save it in a folder "
                          "that you can write to.") from error
    with contextlib.suppress(FileNotFoundError):
        store.regular(path)  # to replace a device by a page would break it for the whole machine
    return path


def view(function):
    """Decorator for (sweep, *others) -> {arguments of `View` by name}: makes a `View` of them. The caption, left out,
    says what the sweep was measured on; a prediction among the arguments is the view's."""
    @functools.wraps(function)
    def inside(*arguments, **options):
        sweep = arguments[0] if arguments else None
        predictions = [given for given in (*arguments, *options.values()) if isinstance(given, Prediction)]
        about = function(*arguments, **options)
        if "caption" not in about:
            about["caption"] = "" if sweep is None else caption(sweep)
        about.setdefault("prediction", predictions[0] if predictions else None)
        return View(**about)
    return inside
