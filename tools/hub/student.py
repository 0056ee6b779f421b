"""One simulated learner: a server through the hub's API, a kernel through its websocket, a notebook from top to bottom,
which is then saved with its outputs, as JupyterLab would."""
import contextlib
import json
import struct
import time
import uuid
from dataclasses import dataclass, field

import nbformat
import requests
import websocket

from tools.hub.class_folder import Start

BUSY = 600  # seconds that one cell, or the start of a server, may take on a busy machine


@dataclass
class Ran:
    """What came of one notebook.

    Attributes:
        cells: how many ran.
        seconds: of all.
        errors: each with the cell's place.
        warnings: what the kernel wrote to stderr.
    """
    cells: int = 0
    seconds: float = 0
    errors: list[str] = field(default_factory=list)
    warnings: str = ""


class Student:
    """A learner on a running hub.

    Attributes:
        name: of the learner.
    """

    def __init__(self, start: Start, name: str):
        self.name = name
        self._url = start.url
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy is asked for this machine
        self._session.headers["Authorization"] = self._token = f"token {start.token}"

    def _ask(self, method, path, **options):
        answer = self._session.request(method, f"{self._url}/{path}", timeout=BUSY, **options)
        answer.raise_for_status()
        return answer.json() if answer.content else None

    def arrive(self) -> float:
        """Start the learner's server and wait until it is ready; returns the seconds that this took.

        Raises:
            TimeoutError: it is not ready after `BUSY` seconds. requests.HTTPError: the hub refused.
        """
        began = time.monotonic()
        with contextlib.suppress(requests.HTTPError):  # the hub knows them already
            self._ask("post", f"hub/api/users/{self.name}")
        if not self._is_ready():
            self._ask("post", f"hub/api/users/{self.name}/server")
        while not self._is_ready():
            if time.monotonic() - began > BUSY:
                raise TimeoutError(f"the server of {self.name} is not ready after {BUSY} s")
            time.sleep(0.3)
        return time.monotonic() - began

    def _is_ready(self):
        return self._ask("get", f"hub/api/users/{self.name}")["servers"].get("", {}).get("ready", False)

    def leave(self) -> None:
        """Stop the server and with it all kernels."""
        with contextlib.suppress(requests.RequestException):
            self._ask("delete", f"hub/api/users/{self.name}/server")

    def open(self, path: str) -> nbformat.NotebookNode:
        """A notebook of the learner's, with JupyterLab's page around it, which is asked for too."""
        page = self._session.get(f"{self._url}/user/{self.name}/lab/tree/{path}", timeout=BUSY)
        page.raise_for_status()
        content = self._ask("get", f"user/{self.name}/api/contents/{path}")["content"]
        return nbformat.from_dict(content)

    def save(self, path: str, notebook: nbformat.NotebookNode) -> None:
        """Save it under its name."""
        self._ask("put", f"user/{self.name}/api/contents/{path}",
                  json={"type": "notebook", "format": "json", "content": notebook})

    @contextlib.contextmanager
    def kernel(self, path: str = "trial.ipynb"):
        """A fresh kernel for a notebook, shut down at the end.

        Yields:
            run(code) -> the messages that answer it, those of kind "status" left out.
        """
        made = self._ask("post", f"user/{self.name}/api/sessions",
                         json={"path": path, "name": path, "type": "notebook", "kernel": {"name": "python3"}})
        try:
            with self._connected(made["kernel"]["id"]) as run:
                yield run
        finally:
            with contextlib.suppress(requests.RequestException):
                self._ask("delete", f"user/{self.name}/api/sessions/{made['id']}")

    @contextlib.contextmanager
    def _connected(self, kernel):
        address = f"{self._url}/user/{self.name}/api/kernels/{kernel}/channels".replace("http", "ws", 1)
        socket = websocket.create_connection(address, timeout=BUSY, header=[f"Authorization: {self._token}"],
                                             http_no_proxy=["127.0.0.1"])
        try:
            yield lambda code: _answers(socket, code)
        finally:
            socket.close()

    def work(self, path: str, between=lambda place: None) -> Ran:
        """Open a notebook, run all its cells, and save it with its outputs.

        Args:
            path: "notebooks/00_start_here.ipynb".
            between: called with a cell's place before it runs, and at the end, while the kernel is still there, with
                the number of cells.
        """
        began, ran = time.monotonic(), Ran()
        notebook = self.open(path)
        with self.kernel(path) as run:
            for place, cell in enumerate(notebook.cells):
                if cell.cell_type != "code" or not cell.source.strip():
                    continue
                between(place)
                messages = run(cell.source)
                cell.outputs = outputs(messages)
                ran.cells += 1
                ran.errors += [f"cell {place}: {out.ename}: {out.evalue}" for out in cell.outputs
                               if out.output_type == "error"]
                ran.warnings += "".join(out.text for out in cell.outputs if out.get("name") == "stderr")
            between(len(notebook.cells))
            self.save(path, notebook)
            ran.seconds = time.monotonic() - began
        return ran


def outputs(messages: list[dict]) -> list[nbformat.NotebookNode]:
    """What a cell shows, of the messages that answered it."""
    kinds = {"execute_result", "stream", "display_data", "error"}
    return [nbformat.v4.output_from_msg(message) for message in messages if message["header"]["msg_type"] in kinds]


class KernelDied(Exception):
    """The kernel ended before it had answered."""


def _answers(socket, code):
    """Run code and return the messages that answer it.

    Raises:
        KernelDied: the kernel ended meanwhile. TimeoutError: nothing was heard for `BUSY` seconds.
    """
    sent = uuid.uuid4().hex
    header = {"msg_id": sent, "username": "student", "session": sent, "msg_type": "execute_request", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False,
               "stop_on_error": False}
    socket.send(json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content,
                            "channel": "shell", "buffers": []}))
    found, replied, idle = [], False, False
    while not (replied and idle):
        message = _message(socket)
        if message["header"]["msg_type"] == "status" and \
                message["content"]["execution_state"] in ("restarting", "dead", "autorestarting"):
            raise KernelDied(f"the kernel is {message['content']['execution_state']}")
        if message["parent_header"].get("msg_id") != sent:
            continue
        if message["header"]["msg_type"] == "status":
            idle = idle or message["content"]["execution_state"] == "idle"
        elif message["header"]["msg_type"] == "execute_reply":
            replied = True
        else:
            found.append(message)
    return found


def _message(socket):
    """The next message of a kernel. What has buffers is sent as bytes: their number, where each begins, JSON, they."""
    try:
        got = socket.recv()
    except websocket.WebSocketTimeoutException as error:
        raise TimeoutError(f"nothing was heard of the kernel for {BUSY} s") from error
    except (websocket.WebSocketException, OSError) as error:
        raise KernelDied(f"the connection to the kernel ended: {error}") from error
    if isinstance(got, bytes):
        begin, end = struct.unpack_from("!2I", got, 4)
        got = got[begin:end]
    return json.loads(got)
