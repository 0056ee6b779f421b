"""The page that phones open, and the thread that serves it.

Whoever opens the page gets a random token as a cookie, and a form with one number; no script runs in it. What is no
number in the range is refused with a sentence, so is what comes from another page or under another name of this
machine. An address becomes a digest as soon as a connection is there, so nothing behind it, a log neither, knows who
sent what.
"""
import asyncio
import atexit
import base64
import hashlib
import itertools
import math
import os
import re
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qsl

import jinja2
from tornado import httpserver, netutil, web

from lessons.kit.predict import emphasised
from lessons.kit.votes.door import Door, fresh_token, is_token

MOST_BYTES = 300  # of what a phone sends; "value=0.123456" has 14
MOST_READ = 64 * 1024  # bytes of a body that are read and dropped, so that its sender hears why
MOST_CONNECTIONS = 400  # at once; Windows waits for at most 512, and elsewhere a process often may open 1,024 files
BACKLOG = 512  # phones that wait for a connection
PATIENCE = 5.0  # s for the head of a request and for its body; some browsers open a connection that they never use
DAY = 24 * 3600  # s for which a phone keeps its token
PAUSE = 0.05  # s from a vote until panels are told, so that many votes are told at once
_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # that look like no other: a path can be read from the wall and typed
_COOKIE = "phone"
_FORM = "application/x-www-form-urlencoded"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LENGTH = re.compile(r"\d{1,9}", re.ASCII)
_ROOM = jinja2.Environment(loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True)
_STYLE = hashlib.sha256(_ROOM.get_template("phone.css").render().encode()).digest()  # as the page has it
_POLICY = (f"default-src 'none'; style-src 'sha256-{base64.b64encode(_STYLE).decode()}'; form-action 'self'; "
           "base-uri 'none'; frame-ancestors 'none'")


class Refused(web.HTTPError):
    """A request that is not done.

    Args:
        status: of HTTP.
        sentence: which the phone shows.
    """

    def __init__(self, status: int, sentence: str):
        super().__init__(status)
        self.sentence = sentence


class Server:
    """A page for phones, in a thread with an event loop of its own.

    Args:
        host: the IPv4 address of this machine to serve on.
        port: 0 is a free one.

    Attributes:
        host, port, address: where phones find the page, with an unguessable path.
        path: its path.
        vote: what is asked now; None before the first question.
        numbers: the next of which is that of the next question.
        door: which decides which phones are counted.

    Raises:
        ValueError: this machine has no such address, or something else uses the port.
    """

    def __init__(self, host: str, port: int = 0):
        try:
            self._sockets = netutil.bind_sockets(port, host, family=socket.AF_INET, backlog=BACKLOG)
        except OSError as error:
            raise ValueError(f"nothing can be served at host {host}, port {port or 'any'}: {error.strerror or error}. "
                             "Leave host and port out, or write an address of this computer and a port that is free"
                             ) from None
        self.host, self.port = self._sockets[0].getsockname()
        self.authority = f"{self.host}:{self.port}"
        self.path = "/" + "-".join("".join(secrets.choice(_LETTERS) for _ in range(4)) for _ in range(3))
        self.address = f"http://{self.authority}{self.path}"
        self.vote, self.numbers, self.door = None, itertools.count(1), Door()
        self._waiting: set[Callable[[], None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="class vote", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._loop is None:
            raise RuntimeError("the page for phones could not be served: its thread has ended, and said why above")
        atexit.register(self.stop)

    def stop(self) -> None:
        """Close the page; its address answers no more."""
        atexit.unregister(self.stop)
        loop, self._loop = self._loop, None
        if loop:
            loop.call_soon_threadsafe(self._end.set)
            self._thread.join(PATIENCE)

    def soon(self, tell: Callable[[], None]) -> None:
        """Call `tell` in the thread of the server in a moment, once for all that asked meanwhile; where the server has
        stopped, now. So panels hear of changes one after the other."""
        loop = self._loop
        if loop is None:
            tell()
        else:
            loop.call_soon_threadsafe(self._note, loop, tell)

    def _note(self, loop, tell):
        if tell not in self._waiting:
            self._waiting.add(tell)
            loop.call_later(PAUSE, self._call, tell)

    def _call(self, tell):
        self._waiting.discard(tell)
        tell()

    def _run(self):
        try:
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:  # tornado needs this one on Windows
                runner.run(self._serve())
        finally:
            self._loop = None
            self._ready.set()

    async def _serve(self):
        self._end = asyncio.Event()
        pages = [(re.escape(self.path) + r"(?:/([0-9]{1,9}))?", _Page, {"server": self, "is_there": True})]
        application = web.Application(pages, default_handler_class=_Page, default_handler_args={"server": self},
                                      log_function=lambda _handler: None)
        server = _Anonymous(application, no_keep_alive=True, idle_connection_timeout=PATIENCE, body_timeout=PATIENCE,
                            max_header_size=8 * 1024, max_body_size=MOST_READ)
        server.add_sockets(self._sockets)
        self._loop = asyncio.get_running_loop()
        self._ready.set()
        await self._end.wait()
        server.stop()
        for tell in list(self._waiting):
            self._call(tell)
        await server.close_all_connections()


class _Anonymous(httpserver.HTTPServer):
    """Takes a digest for the address of whoever connects, with a key that nobody keeps, and no more connections than
    this process can hold."""

    def initialize(self, *arguments, **options):
        super().initialize(*arguments, **options)
        self._key, self._count = os.urandom(32), 0

    def handle_stream(self, stream, address):
        if self._count >= MOST_CONNECTIONS:
            stream.close()
            return
        self._count += 1
        digest = hashlib.blake2b(address[0].encode(), key=self._key, digest_size=16).hexdigest()
        super().handle_stream(stream, (digest, 0))

    def on_close(self, server_conn):
        self._count -= 1
        super().on_close(server_conn)


@web.stream_request_body
class _Page(web.RequestHandler):
    """The page, and what is sent from it. Elsewhere there is nothing, and it tells nothing of the page."""
    SUPPORTED_METHODS = ("GET", "POST")

    def initialize(self, server, is_there=False):
        self.server, self.is_there = server, is_there
        self.vote = server.vote  # the same for the whole request
        self.body, self.length = b"", 0

    # -- what is refused -------------------------------------------------------------------------------

    def prepare(self):
        if self.request.host != self.server.authority:
            self.is_there = False
            raise Refused(421, f"This page is at {self.server.authority} alone. Scan the code of your teacher again.")
        if not self.is_there or self.vote is None:
            raise Refused(404, "There is nothing here. Scan the code of your teacher again.")
        if self.request.method == "POST":
            self._check_sender()

    def _check_sender(self):
        headers = self.request.headers
        if headers.get("Origin") != f"http://{self.server.authority}":
            raise Refused(403, "This vote came from another page, so it does not count. Send it from here.")
        if headers.get("Content-Type", "").partition(";")[0].strip().lower() != _FORM or self.request.query:
            raise Refused(415, "A vote is sent with the form of this page and in no other way.")
        if not (_LENGTH.fullmatch(length := headers.get("Content-Length", "0")) and int(length) <= MOST_BYTES):
            raise _too_long()

    def data_received(self, chunk):
        self.length += len(chunk)
        self.body += chunk[:max(0, MOST_BYTES - len(self.body))]

    def _number(self):
        """The number that was sent."""
        if self.length > MOST_BYTES:
            raise _too_long()
        try:
            fields = parse_qsl(self.body.decode("ascii"), keep_blank_values=True, strict_parsing=True)
        except ValueError:
            raise Refused(400, "What came is no form. Type a number and press the button.") from None
        if [name for name, _ in fields] != ["value"]:
            raise Refused(400, "A vote is one number and nothing else. Type it and press the button.")
        text = fields[0][1].strip(" ")
        if not _NUMBER.fullmatch(text):
            raise Refused(400, "That is no number. Write it in digits, with a point before decimals.")
        number = float(text)
        if not (math.isfinite(number) and self.vote.low <= number <= self.vote.high):
            raise Refused(422, f"The number must lie between {self.vote.written(self.vote.low)} and "
                               f"{self.vote.written(self.vote.high)}.")
        return number

    # -- what is done ----------------------------------------------------------------------------------

    def get(self, number=None):
        if number is not None:
            return self.redirect(self.server.path, status=303)
        if not is_token(self._token):
            self.set_cookie(_COOKIE, fresh_token(), path=self.server.path, max_age=DAY, httponly=True, samesite="Lax")
        mine = self.vote.vote_of(self._token)
        said = "" if mine is None else f"Your vote is {self.vote.written(mine)}."
        if not self.vote.is_open:
            said = f"The vote is closed. {said}".strip()
        elif said:
            said += " You can change it until your teacher closes the vote."
        self._show(said)

    def post(self, number=None):
        if number != str(self.vote.number):
            raise Refused(409, "Your teacher asks another question now. Your number was not counted.")
        if not self.vote.is_open:
            raise _closed()
        value = self._number()
        if not is_token(self._token):
            raise Refused(403, "Your browser sent no cookie, so this vote does not count. Allow cookies, open this "
                               "page again, and vote.")
        if not self.server.door.lets_in(self._token, self.request.remote_ip):
            self.vote.tell()
            raise Refused(429, "More phones than your class can have voted from this network within ten minutes, so "
                               "your number was not counted. Tell your teacher.")
        if not self.vote.cast(self._token, value):
            raise _closed()
        self.redirect(self.server.path, status=303)

    @property
    def _token(self):
        return self.get_cookie(_COOKIE)

    # -- what is shown ---------------------------------------------------------------------------------

    def _show(self, said, is_refused=False):
        vote = self.vote if self.is_there else None
        self.finish(_ROOM.get_template("phone.html.j2").render(
            vote=vote, question=emphasised(vote.prediction.question) if vote else "", said=said,
            is_refused=is_refused, path=self.server.path, mine=vote.vote_of(self._token) if vote else None))

    def set_default_headers(self):
        self.clear_header("Server")
        for name, value in {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store",
                            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
                            "Cross-Origin-Resource-Policy": "same-origin"}.items():
            self.set_header(name, value)

    def compute_etag(self):
        return None

    def write_error(self, status_code, **about):
        error = about.get("exc_info", (None, None, None))[1]
        sentences = {405: "This page can be opened, and its form can be sent. There is nothing else."}
        usual = sentences.get(status_code, "Something went wrong. Open this page again.")
        is_ours = isinstance(error, Refused)
        self.is_there = self.is_there and is_ours  # else nobody has looked who asks, and under which name
        self._show(error.sentence if is_ours else usual, is_refused=True)

    def log_exception(self, kind, error, trace):
        """Of a refusal there is nothing to tell; of a mistake in the code, tornado would tell the request, too."""
        if not isinstance(error, web.HTTPError):
            web.app_log.error("the page for the phones of a class has failed", exc_info=(kind, error, trace))


def _closed():
    return Refused(409, "The vote is closed. Your number was not counted.")


def _too_long():
    return Refused(413, "That is longer than a number can be. Type a number and press the button.")
