"""A vote of a class on a prediction."""
import threading
from collections.abc import Callable

import segno

from lessons.kit.page import digits, paragraph
from lessons.kit.predict import Prediction
from lessons.kit.votes.network import address_for_phones, candidates
from lessons.kit.votes.server import Server

_starting = threading.Lock()
_serving: list[Server] = []  # at most one: a class keeps one address for the whole lesson


class ClassVote:
    """What the phones of a class answer to a prediction. It is open while the panel hides the answer, unless the
    teacher closes it; what a phone sent last counts.

    Args:
        prediction: which is asked.
        percent: whether phones are asked for per cent, as the panel asks.
        server: whose page asks it.

    Attributes:
        prediction: as above.
        address: which phones open.
        number: that of the question, from 1; a phone sends it, so that its answer counts for no other.
    """

    def __init__(self, prediction: Prediction, percent: bool, server: Server):
        self.prediction, self.address = prediction, server.address
        self._percent, self._server = percent, server
        self._lock = threading.Lock()
        self._votes: dict[str, float] = {}  # by the phone's token
        self._ended: list[float] | None = None  # once no phone can change its vote any more: no tokens
        self._closed = False
        self._listeners: list[Callable[[dict], None]] = []
        self.number = next(server.numbers)
        self._code = code_of(self.address)
        prediction.observe(self.tell, ["committed", "shown"])

    # -- what the teacher asks and says ----------------------------------------------------------------

    @property
    def values(self) -> list[float]:
        """The votes, from the lowest to the highest, so that their order tells nothing of who came first."""
        with self._lock:
            return sorted(self._votes.values()) if self._ended is None else list(self._ended)

    @property
    def count(self) -> int:
        """How many phones have voted."""
        return len(self.values)

    @property
    def is_open(self) -> bool:
        """Whether phones can vote or change their vote now."""
        return self._ended is None and not self._closed and self.prediction.hides

    @property
    def has_ended(self) -> bool:
        """Whether it was ended for good: it was stopped, or the class was asked something else."""
        return self._ended is not None

    def close(self) -> None:
        """Take no more votes; `open` takes them again."""
        self._closed = True
        self.tell()

    def open(self) -> None:
        """Take votes again, unless the answer is shown."""
        self._closed = False
        self.tell()

    def stop(self) -> None:
        """End the vote and, if the class was asked nothing else since, the server. The numbers stay."""
        with _starting:
            self.end()
            if self._server.vote is self:
                self._server.stop()
                _serving.clear()

    def end(self) -> None:
        """Take no more votes for good, and forget which phone sent which; the numbers stay."""
        with self._lock:
            if self._ended is None:
                self._ended = sorted(self._votes.values())
                self._votes.clear()
        self.tell()

    def forget(self) -> None:
        """Tell panels nothing more, because another vote on this prediction begins."""
        self.prediction.unobserve(self.tell, ["committed", "shown"])
        self._listeners.clear()

    def __repr__(self):
        if self.has_ended:
            return f"{self.said_count}. The vote has ended."
        where = f"The phones of your class vote at {self.address}. The panel has the code for their cameras."
        if not self.prediction.hides:
            where += " The answer is shown, so nobody can vote before you press “Guess again” in the panel."
        others = [address for address in candidates() if address != self._server.host]
        if others:
            where += (f" This computer has other addresses, too: {', '.join(others)}. If a phone cannot open the page, "
                      f"call stop() and then ask_class(host=\"{others[0]}\").")
        return where

    def _repr_html_(self):
        return str(paragraph(repr(self)))

    @property
    def said_count(self) -> str:
        """How many votes there are, in words."""
        count = self.count
        return "1 vote" if count == 1 else f"{count} votes"

    # -- what phones ask and say -----------------------------------------------------------------------

    @property
    def low(self) -> float:
        """The lowest number, as a phone is asked for it."""
        return self._scale(self.prediction.low)

    @property
    def high(self) -> float:
        """The highest number, as a phone is asked for it."""
        return self._scale(self.prediction.high)

    @property
    def unit(self) -> str:
        """What stands behind a number on a phone."""
        return " %" if self._percent else ""

    def _scale(self, value):
        return float(f"{100 * value:.12g}") if self._percent else value

    def written(self, value: float) -> str:
        """A number as phones show it."""
        return f"{digits(value, 6)}{self.unit}"

    def vote_of(self, token: str) -> float | None:
        """What a phone has voted, as it was asked; None before."""
        with self._lock:
            value = self._votes.get(token)
        return None if value is None else self._scale(value)

    def cast(self, token: str, number: float) -> bool:
        """Note what a phone votes, in place of what it voted before.

        Args:
            number: from `low` to `high`.

        Returns:
            Whether it counts; a vote that is closed takes none.
        """
        value = (number / 100 if self._percent else number) + 0.0  # -0 becomes 0
        with self._lock:
            if not self.is_open:
                return False
            self._votes[token] = value
        self.tell()
        return True

    # -- what panels show ------------------------------------------------------------------------------

    def listen(self, tell: Callable[[dict], None]) -> None:
        """Call `tell` with the `state` of now and of every change. While the server runs, its thread calls."""
        self._listeners.append(tell)
        self.tell()

    def state(self) -> dict:
        """What a panel shows, as JSON can hold it. It has the votes only while the answer is shown."""
        values = self.values
        return {"address": self.address, "code": self._code, "count": len(values), "open": self.is_open,
                "ended": self.has_ended, "turned_away": self._server.door.turned_away, "most": self._server.door.most,
                "votes": None if self.prediction.hides else values}

    def tell(self, _change=None) -> None:
        """Let the panels know in a moment."""
        self._server.soon(self._tell_all)

    def _tell_all(self):
        state = self.state()
        for tell in list(self._listeners):
            tell(state)


def code_of(address: str) -> dict:
    """An address as a QR code: {"size": modules a side, "path": the dark ones as the path of an SVG}."""
    rows = segno.make(address, error="m", micro=False).matrix
    return {"size": len(rows), "path": "".join(f"M{column} {place}h1v1h-1z" for place, row in enumerate(rows)
                                               for column, is_dark in enumerate(row) if is_dark)}


def ask(prediction: Prediction, percent: bool = False, class_size: int | None = None, host: str | None = None,
        port: int | None = None) -> ClassVote:
    """Let the phones of a class vote on a prediction. A server that runs already is used again: phones keep its page,
    and what was asked before ends. A vote on this prediction that has not ended goes on.

    Args:
        percent: whether phones are asked for per cent.
        class_size: how many students there are at most; left out, 200. Within ten minutes, half as many again may vote
            from one address for the first time; others are refused.
        host: the IPv4 address of this machine to serve on; left out, one that phones reach.
        port: to serve on; left out, a free one.

    Raises:
        ValueError: `class_size` is no number from 1 to 3,000, no server can use `host` and `port`, or the one that
            runs has others.
        NoNetworkError: phones reach this kernel at no address.
    """
    if class_size is not None and not _is_whole(class_size, 1, 3000):
        raise ValueError(f"class_size must be a whole number from 1 to 3000, not {class_size!r:.80}")
    if port is not None and not _is_whole(port, 1, 65535):
        raise ValueError(f"port must be a whole number from 1 to 65535, not {port!r:.80}; left out, it is a free one")
    with _starting:
        if not _serving:
            _serving.append(Server(address_for_phones(host), port or 0))
        server = _serving[0]
        if host not in (None, server.host) or port not in (None, server.port):
            raise ValueError(f"the phones of your class vote at {server.address} already. Call stop() of that vote "
                             "first, if you want another address")
        if class_size:
            server.door.class_size = class_size
        if prediction.vote is None or prediction.vote.has_ended:
            _begin(prediction, percent, server)
    return prediction.vote


def _begin(prediction, percent, server):
    """Ask the class this from now on."""
    if server.vote:
        server.vote.end()
    if prediction.vote:
        prediction.vote.forget()
    server.vote = ClassVote(prediction, percent, server)
    prediction.vote = server.vote


def _is_whole(value, least, most):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
