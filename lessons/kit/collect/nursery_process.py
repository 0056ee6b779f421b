"""The process that has imported the course and makes cells, copies of itself, when it is asked to.

It never opens a submission nor runs a line of one, so a cell finds no other submission in its memory.
"""
import ast
import functools
import gc
import importlib
import json
import os
import signal
import socket
import sys

from lessons.kit import chapters
from lessons.kit.collect import confining

MESSAGE = 65536  # bytes of a command, at most
# what answers import, too. Where there is no Landlock, a cell can open no file, so it can import nothing more.
_COMMON = ("bisect", "cmath", "collections", "decimal", "fractions", "functools", "heapq", "itertools", "math",
           "operator", "random", "statistics", "string", "typing", "numpy.linalg", "scipy.linalg")


def main() -> None:
    """Serve the socket whose number is this program's argument, until the other end is closed."""
    control = socket.socket(fileno=int(sys.argv[1]))
    limits = json.loads(sys.argv[2])
    layers = confining.new_namespaces()
    confining.die_with_parent()  # other rights make the kernel forget it
    if layers:  # the first process of the new namespace: all others end with it
        child = os.fork()
        if child:
            control.close()
            os.waitpid(child, 0)
            return
        confining.die_with_parent()
    _Server(control, confining.Limits(limits["seconds"], limits["memory"], tuple(limits["readable"])), layers).serve()


class _Server:
    def __init__(self, control, limits, layers):
        self._control, self._limits, self._layers = control, limits, layers
        self._names = {}
        # once, for all cells. A process with several threads can enter no namespaces, so little is imported before
        self._cell = importlib.import_module("lessons.kit.collect.cell")

    def serve(self):
        """Answer one command after the other."""
        while True:
            message, files, _, _ = socket.recv_fds(self._control, MESSAGE, 2)
            if not message:
                return
            command = json.loads(message)
            try:
                reply = getattr(self, f"_{command.pop('do')}")(files=files, **command)
            except Exception as error:
                reply = {"error": f"{type(error).__name__}: {error}"}
            for file in files:
                os.close(file)
            self._control.send(json.dumps(reply).encode())

    def _load(self, chapter, files):
        """Import what a chapter's notebook and its exercises need; some of it is imported where it is first used."""
        self._names[chapter] = names_of(chapter)
        for name in _COMMON:
            importlib.import_module(name)
        self._cell.warm_up(chapter)
        gc.collect()
        gc.freeze()  # the copies share these pages as long as nobody writes to them
        return {}

    def _start(self, kind, files, chapter=""):
        """Make a cell. It reads the first file and writes to the second."""
        child = os.fork()
        if not child:
            self._live(kind, chapter, *files)
        return {"pid": child}

    def _live(self, kind, chapter, source, sink):
        """In the cell; it does not come back."""
        try:
            send = functools.partial(_send, sink)
            try:
                layers = confining.confine(self._limits, (source, sink))
            except Exception as error:
                send({"unconfined": f"{type(error).__name__}: {error}"})
            else:
                self._run(kind, source, send, self._names.get(chapter, {}), layers + self._named())
        finally:
            os._exit(0)

    def _run(self, kind, source, send, names, layers):
        if kind == "read":
            self._cell.read(source, send)
            return
        with os.fdopen(source, "rb") as file:
            job = json.load(file)
        self._cell.answer(job, names, send) if kind == "answer" else self._cell.probe(job, layers, send)

    def _named(self):
        return [f"namespaces ({', '.join(self._layers)})"] if self._layers else []

    def _end(self, pid, files):
        """End a cell, if it still runs: it is a child of this process, so nobody else has its number yet."""
        os.kill(pid, signal.SIGKILL)
        _, status, used = os.wait4(pid, 0)
        return {"signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "code": status >> 8 & 255,
                "seconds": used.ru_utime + used.ru_stime}


def _send(sink, line):
    content = json.dumps(line).encode() + b"\n"
    while content:
        content = content[os.write(sink, content):]


def names_of(chapter: str) -> dict:
    """What the course's own version of a notebook imports, and the parameters in its first cell. Its experiments are
    not run."""
    notebook = json.loads(chapters.chapter(chapter).notebook.read_text(encoding="utf-8"))
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            if "parameters" not in cell["metadata"].get("tags", []):
                tree.body = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
            exec(compile(tree, chapter, "exec"), names)  # the course's own text
    return names


if __name__ == "__main__":
    main()
