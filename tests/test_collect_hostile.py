"""Hostile notebooks, each the real thing: `python -m lessons.kit.collect` gives every one a row, and nothing else
happens.

One run collects all of them, next to a good notebook and files that are to stay as they are.
"""
import csv
import json
import os
import socket
import subprocess
import sys
import threading

import psutil
import pytest

from lessons.kit.chapters import ROOT
from lessons.kit.collect import syscalls
from tests import planting

pytestmark = pytest.mark.skipif(not syscalls.is_known(), reason="collect refuses to run here")
WRONG = "Gave other values."
STEM, ID, SECONDS = "00_start_here", "0.1", 2
GOOD = "def between(a, b, alpha):\n    return alpha * a + (1 - alpha) * b"
SWAPPED = "def between(a, b, alpha):\n    return alpha * b + (1 - alpha) * a"
SCRIPT = "<script>alert('canary')</script>"


def does(code):
    """A function that is wrong, and does this first."""
    lines = "\n".join(f"    {line}" for line in code.strip().splitlines())
    return f"def between(a, b, alpha):\n{lines}\n    return 7 * a"


# code: what the table says of it. FOLDER, CANARY and PORT are filled in.
ANSWERS = {
    "endless": (does("while True: pass"), "Did not end."),
    "endless-cell": ("while True: pass", "Did not end."),
    "endless-deaf": (does("""import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass"""), "Did not end."),
    "sleeps": (does("import time\ntime.sleep(1000)"), "Did not end."),
    "stops-itself": (does("import signal\nsignal.raise_signal(signal.SIGSTOP)"), "Did not end."),
    "fork-bomb": (does("import os\nwhile True: os.fork()"), "Stopped with PermissionError."),
    "fork-bomb-in-c": (does("""import ctypes
libc = ctypes.CDLL(None)
children = [libc.fork() for _ in range(100)] + [libc.syscall(57), libc.syscall(58), libc.syscall(435, None, 0)]
if max(children) > 0: open('CANARY', 'w').write('forked')"""), WRONG),
    "thread-bomb": (does("""import threading, time
while True: threading.Thread(target=time.sleep, args=(1000,)).start()"""), "Stopped with RuntimeError."),
    "daemon": (does("import subprocess\nsubprocess.Popen(['sleep', '1000'], start_new_session=True)"),
               "Stopped with PermissionError."),
    "memory-hog": ("hoard = []\n" + does("while True: hoard.append(bytearray(10 ** 8))"), "Stopped with MemoryError."),
    "tensor-hog": (does("import torch\nreturn torch.ones(10 ** 9) * 2"), "Stopped with RuntimeError."),
    "writes": (does("open('CANARY', 'w').write('changed')"), "Stopped with PermissionError."),
    "appends": (does("open('CANARY', 'a').write('changed')"), "Stopped with PermissionError."),
    "writes-beside": (does("import pathlib\npathlib.Path('FOLDER/new').write_text('new')"),
                      "Stopped with PermissionError."),
    "writes-temporary": (does("import tempfile\ntempfile.TemporaryFile()"), "Stopped with"),
    "writes-in-c": (does("""import ctypes
libc = ctypes.CDLL(None)
for flags in (0o1, 0o2, 0o101, 0o1001, 0o2001):
    number = libc.open(b'CANARY', flags, 0o666)
    if number >= 0: libc.write(number, b'changed', 7)
libc.truncate(b'CANARY', 0), libc.chmod(b'CANARY', 0o777), libc.syscall(257, -100, b'CANARY', 0o1002, 0)
libc.creat(b'FOLDER/new', 0o666), libc.mkdir(b'FOLDER/new-folder', 0o777), libc.symlink(b'/', b'FOLDER/new-link')"""),
                    WRONG),
    "deletes": (does("import os\nos.unlink('CANARY')"), "Stopped with PermissionError."),
    "deletes-all": (does("import shutil\nshutil.rmtree('FOLDER')"), "Stopped with PermissionError."),
    "renames": (does("import os\nos.rename('CANARY', 'CANARY-away')"), "Stopped with PermissionError."),
    "talks": (does("""import os, sys
for _ in range(50):
    print('x' * 10 ** 6), sys.stderr.write('x' * 10 ** 6)
    os.write(1, b'x' * 10 ** 6), os.write(2, b'x' * 10 ** 6)"""), WRONG),
    "large-result": (does("import torch\nreturn torch.ones(3, 10 ** 7)"), "This should be a tensor of shape"),
    "floods": (does("""import os
for number in range(3, 64):
    try:
        while True: os.write(number, b'x' * 65536)
    except OSError: pass"""), "Gave back too much."),
    "kills-parent": (does("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"), "Stopped with PermissionError."),
    "kills-all": (does("""import ctypes, os
libc = ctypes.CDLL(None)
for pid in (1, 0, -1, *range(2, 3000)):
    if pid == os.getpid(): continue
    libc.kill(pid, 9), libc.syscall(234, pid, pid, 9), libc.syscall(200, pid, 9), libc.syscall(129, pid, 9, None)
os.fstat(0)"""), WRONG),
    "signals-by-file": (does("""import fcntl, os
for number in range(64):
    try: fcntl.fcntl(number, fcntl.F_SETOWN, os.getppid())
    except OSError as error: print(error)"""), WRONG),
    "raises-limits": (does("""import resource
for name in (resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
    try: resource.setrlimit(name, (10 ** 9, 10 ** 9))
    except (ValueError, OSError): pass
while True: pass"""), "Did not end."),
    "socket": (does("import socket\nsocket.create_connection(('127.0.0.1', PORT))"), "Stopped with PermissionError."),
    "socket-in-c": (does("""import ctypes
libc = ctypes.CDLL(None)
made = [libc.socket(2, 1, 0), libc.socket(1, 1, 0), libc.syscall(41, 2, 1, 0), libc.syscall(425, 1, None)]
if max(made) >= 0: 1 / 0"""), WRONG),
    "runs-a-program": (does("import os\nos.execv('/bin/sh', ['sh', '-c', 'echo > FOLDER/new'])"), "Stopped with"),
    "reads-others": (does("return open('FOLDER/good.ipynb').read()"), "Stopped with PermissionError."),
    "lists-others": (does("import os\nreturn os.listdir('FOLDER')"), "Stopped with PermissionError."),
    "reads-the-system": (does("return open('/etc/passwd').read()"), "Stopped with PermissionError."),
    "reads-its-parent": (does("import os\nreturn open(f'/proc/{os.getppid()}/environ').read()"),
                         "Stopped with PermissionError."),
    "mounts": (does("""import ctypes
libc = ctypes.CDLL(None)
calls = [libc.unshare(0x10000000), libc.mount(b'/', b'/mnt', None, 4096, None), libc.chroot(b'/'),
         libc.ptrace(16, 1, 0, 0), libc.syscall(101, 0, 0, 0, 0)]
if max(calls) >= 0: 1 / 0"""), WRONG),
    "leaves-at-once": (does("import os\nos._exit(0)"), "Ended Python."),
    "leaves": (does("raise SystemExit"), "Stopped with SystemExit."),
    "interrupts": (does("raise KeyboardInterrupt"), "Stopped with KeyboardInterrupt."),
    "crashes": (does("import ctypes\nctypes.string_at(0)"), "Crashed Python (SIGSEGV)."),
    "odd-signal": (does("import signal\nsignal.raise_signal(40)"), "Crashed Python (signal 40)."),
    "nested": ("x = " + 5000 * "(" + 5000 * ")" + "\n" + SWAPPED, "Stopped with"),
    "deep-minus": ("x = " + 90_000 * "-" + "1\n" + SWAPPED, ""),
    "no-python": ("def between(a, b, alpha:\n    what", "Stopped with SyntaxError."),
    "half-a-letter": ("x = '\ud800'\n" + SWAPPED, "mistake"),
    # -- a verdict of one's own
    "always-passes": ("""import lessons.kit.exercise as mine
mine.check = mine._judge = mine.decided = lambda *a, **k: mine.Result(mine.find('0.1'), True, 'Well done!')
mine.Verdict = lambda *a, **k: type('V', (), {'passed': True, 'says': 'Well done!'})()
mine.difference = lambda *a: ''
import lessons.kit.judging.comparing as comparing
comparing.same = lambda *a: True
check = lambda *a, **k: 'passed 0.1: Well done!'
""" + SWAPPED, "mistake"),
    "prints-passed": (does("print('passed 0.1: Well done!'); print('{\"passed\": true}')"), WRONG),
    "writes-passed": (does("""import json, os
for number in range(3, 64):
    for line in ({"state": "passed"}, {"kind": "passed", "value": True, "problem": ""}, {"passed": True}):
        try: os.write(number, json.dumps(line).encode() + b'\\n')
        except OSError: pass
os._exit(0)"""), "Sent something that is no answer."),
    "writes-no-json": (does("""import os
for number in range(3, 64):
    try: os.write(number, b'[' * 10 ** 6 + b'\\n\\xff\\x00\\n')
    except OSError: pass
os._exit(0)"""), "Sent something that is no answer."),
    "pickle": (does("""class Trap:
    def __reduce__(self): return (open, ('CANARY', 'w'))
return Trap()"""), "This should be a tensor of shape (3,), but it is a Trap."),
    "named-passed": (f"class passed(Exception): pass\n{does('raise passed(' + repr(SCRIPT) + ')')}",
                     "Stopped with passed."),
    "script": (does(f"return {SCRIPT!r}"), "This should be a tensor of shape (3,), but it is a str."),
    "formula": (does("raise ValueError('=cmd|/c calc!A1')"), "Stopped with ValueError."),
}
NAMES = {"script-name": f"{SCRIPT.replace('/', '')}.ipynb", "formula-name": "=HYPERLINK(1)/a.ipynb",
         "escape-name": "\x1b[31mred\u202e.ipynb", "bytes-name": os.fsdecode(b"\xff\xfe.ipynb"),
         "line-name": "a\nb.ipynb"}
FILES = {"empty": (b"", "no notebook"), "no-json": (b"{", "no notebook"), "list": (b"[]", "no notebook"),
         "null-cells": (b'{"cells": null}', "no notebook"), "odd-cells": (b'{"cells": [1, null]}', "no notebook"),
         "binary": (bytes(range(256)) * 100, "no notebook"), "deep": (b"[" * 1_000_000, "no notebook"),
         "no-exercise": (b'{"cells": []}', "no exercise of the course")}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """What became of all of them: {name: its row in the CSV}, and where."""
    above = tmp_path_factory.mktemp("class")
    folder, canary = above / "handed in", above / "canary"
    folder.mkdir()
    canary.write_text("untouched")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        write_all(folder, canary, listening.getsockname()[1])
        before = state_of(above)
        done = collected(folder, above, "--seconds", str(SECONDS))
        with pytest.raises(TimeoutError):
            listening.accept()
    assert state_of(above) == before | {path: state_of(above)[path] for path in ("c.csv", "c.html", "g.csv")}
    return done


def write_all(folder, canary, port):
    """Every hostile notebook and file, and a good one."""
    def fill(code):
        return code.replace("FOLDER", str(folder)).replace("CANARY", str(canary)).replace("PORT", str(port))

    for name, (code, _) in ANSWERS.items():
        planting.handed_in(folder / f"{name}.ipynb", STEM, {ID: planting.cell_with(STEM, ID, fill(code))})
    for name in ("good.ipynb", *NAMES.values()):
        planting.handed_in(folder / name, STEM, {ID: planting.cell_with(STEM, ID, GOOD)})
    for name, (content, _) in FILES.items():
        (folder / f"{name}.ipynb").write_bytes(content)
    with (folder / "huge.ipynb").open("wb") as file:
        file.truncate(100_000_000)
    (folder / "many-lists.ipynb").write_bytes(b'{"cells": [' + b"[]," * 15_000_000 + b"[]]}")
    many = {"cells": [{"cell_type": "code", "id": "x", "source": "x"}] * 5000}
    (folder / "many-cells.ipynb").write_text(json.dumps(many))
    (folder / "link.ipynb").symlink_to(folder / "good.ipynb")
    (folder / "folder.ipynb").mkdir()
    os.mkfifo(folder / "fifo.ipynb")


def state_of(folder):
    """{path: what it is and when it was changed} of everything in a folder."""
    return {path.relative_to(folder).as_posix(): (path.lstat().st_mode, path.lstat().st_size, path.lstat().st_mtime_ns)
            for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


def collected(folder, above, *options, before=()):
    """Run the command: its text and the files that it wrote."""
    command = [sys.executable, *before, "-m", "lessons.kit.collect", str(folder), "--quiet", *options,
               "--csv", str(above / "c.csv"), "--html", str(above / "c.html"), "--nbgrader", str(above / "g.csv")]
    done = subprocess.run(command, cwd=above, capture_output=True, text=True, timeout=500,
                          env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"})
    assert done.returncode == 0, done.stderr
    with (above / "c.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {"text": done.stdout, "rows": rows, "page": (above / "c.html").read_text(encoding="utf-8"),
            "csv": (above / "c.csv").read_text(encoding="utf-8"), "graded": (above / "g.csv").read_text(),
            "errors": done.stderr}


def row_of(run, name):
    """The row of one file."""
    (row,) = [row for row in run["rows"] if row["file"] == f"{name}.ipynb"]
    return row


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.fault("collect", "Answers fork, kill, delete, connect, read others' files, or pretend to pass",
                   answers="None passes, and each is a row of the table")
def test_a_hostile_answer_is_a_row_that_does_not_pass(run, name):
    row = row_of(run, name)
    assert row["result"] in ("other", "mistake")
    expected = ANSWERS[name][1]
    assert row["what"].startswith(expected) or row["result"] == expected, (row["what"], row["message"])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.fault("collect", "Files are no notebooks, or damaged ones", answers="Each is a row that says so")
def test_a_file_that_is_no_notebook_is_a_row_that_says_so(run, name):
    row = row_of(run, name)
    assert row["result"] == "not marked" and FILES[name][1] in row["message"]


@pytest.mark.parametrize("name, says", [
    ("huge", "larger than 64 MB"), ("many-lists", "no notebook"), ("many-cells", "more than 1,000 cells"),
    ("link", "is a link"), ("folder", "no file"), ("fifo", "no file")])
@pytest.mark.fault("collect", "A file is huge, a link, a folder or a pipe", answers="It is not read, and a row says so")
def test_what_cannot_be_read_in_safety_is_a_row_that_says_so(run, name, says):
    row = row_of(run, name)
    assert row["result"] == "not marked" and says in row["message"]


@pytest.mark.fault("collect", "A right answer lies among all these", answers="It passes, and no process is left")
def test_the_good_one_among_them_passes_and_nothing_is_left_running(run):
    assert row_of(run, "good")["result"] == "passed"
    assert sum(row["result"] == "passed" for row in run["rows"]) == 1 + len(NAMES)
    assert len(run["rows"]) == len(ANSWERS) + len(NAMES) + len(FILES) + 7
    left = [process.info["cmdline"] for process in psutil.process_iter(["cmdline"])
            if "lessons.kit.collect.nursery_process" in (process.info["cmdline"] or ())]
    assert left == [] and "Traceback" not in run["errors"]


@pytest.mark.fault("collect", "Names and answers hold scripts, control characters and formulas of spreadsheets",
                   answers="They are text in the page, the terminal and the tables")
def test_names_and_sentences_are_escaped_everywhere(run):
    assert "<script" not in run["page"] and "onerror" not in run["page"] and "&lt;script&gt;" in run["page"]
    assert "default-src 'none'" in run["page"]
    for shown in (run["text"], run["page"], run["csv"], run["graded"]):
        assert not any(letter in shown for letter in ("\x1b", "\u202e", "\udcff"))
    for cells in csv.reader([*run["csv"].splitlines(), *run["graded"].splitlines()]):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in cells)
    assert "'=HYPERLINK(1)" in run["graded"]


def test_who_calls_the_solution_passes_as_in_the_notebook(tmp_path):
    folder = tmp_path / "in"
    code = f"from lessons.kit.exercise import find\nbetween = find('{ID}').solution"
    planting.handed_in(folder / "a.ipynb", STEM, {ID: planting.cell_with(STEM, ID, code)})
    assert row_of(collected(folder, tmp_path), "a")["result"] == "passed"


# what a container without privileges refuses: unshare; and, before Linux 5.13 or where it is switched off, Landlock
REFUSING = """
import ctypes, errno, os, struct, sys
from lessons.kit.collect import syscalls
numbers = {"x86_64": (272, 444), "aarch64": (97, 444)}[os.uname().machine]
steps = [(0x20, 0, 0, 0), *((step) for number in numbers for step in (
    (0x15, 0, 1, number), (6, 0, 0, 0x50000 | errno.EPERM))), (6, 0, 0, 0x7fff0000)]
code = b"".join(struct.pack("=HBBI", *step) for step in steps)
filtering = syscalls._Program(len(steps), code)
syscalls.prctl(syscalls.NO_NEW_PRIVILEGES, 1)
syscalls.prctl(22, 2, ctypes.addressof(filtering))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.slow  # starts processes
@pytest.mark.fault("collect", "A container refuses namespaces and Landlock",
                   answers="No file can be opened, and answers are marked all the same")
def test_without_namespaces_and_landlock_no_file_can_be_opened_at_all_and_answers_are_marked(tmp_path):
    folder, canary = tmp_path / "in", tmp_path / "canary"
    canary.write_text("untouched")
    for name in ("fork-bomb", "writes", "deletes", "kills-all", "socket", "reads-others", "always-passes", "endless"):
        code = ANSWERS[name][0].replace("FOLDER", str(folder)).replace("CANARY", str(canary)).replace("PORT", "80")
        planting.handed_in(folder / f"{name}.ipynb", STEM, {ID: planting.cell_with(STEM, ID, code)})
    planting.handed_in(folder / "good.ipynb", STEM, {ID: planting.cell_with(STEM, ID, GOOD)})
    run = collected(folder, tmp_path, "--seconds", "2", before=("-c", REFUSING))
    assert "Protected by resource limits, seccomp.\n" in run["text"]
    for row in run["rows"]:
        name = row["file"].removesuffix(".ipynb")
        assert name == "good" and row["result"] == "passed" or row["what"].startswith(ANSWERS[name][1]) \
            or row["result"] == ANSWERS[name][1], row
    assert canary.read_text() == "untouched"


@pytest.mark.slow  # starts processes
@pytest.mark.fault("collect", "The kernel gives no protection at all", answers="Nothing is run")
def test_where_the_kernel_gives_no_protection_nothing_is_run(tmp_path):
    folder = tmp_path / "in"
    planting.handed_in(folder / "a.ipynb", STEM, {ID: planting.cell_with(STEM, ID, GOOD)})
    refusing = REFUSING.replace("(272, 444)", "(157,)").replace("(97, 444)", "(167,)")  # prctl
    command = [sys.executable, "-c", refusing, "-m", "lessons.kit.collect", str(folder), "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 1 and "Nothing was run" in done.stderr and done.stdout == ""


@pytest.mark.slow  # starts processes
@pytest.mark.fault("collect", "The run is ended, killed or interrupted", answers="All processes that it started end")
def test_an_interrupted_run_ends_all_that_it_started(tmp_path):
    folder = tmp_path / "in"
    for number in range(3):
        planting.handed_in(folder / f"{number}.ipynb", STEM, {ID: planting.cell_with(STEM, ID, ANSWERS["sleeps"][0])})
    command = [sys.executable, "-m", "lessons.kit.collect", str(folder), "--quiet", "--seconds", "60"]
    for ending in ("terminate", "kill", "interrupt"):
        started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                   env={**os.environ, "PYTHONPATH": str(ROOT)})
        assert "Protected" in started.stdout.readline()
        children = wait_for_cells(psutil.Process(started.pid))
        started.send_signal(2) if ending == "interrupt" else getattr(started, ending)()
        started.communicate(timeout=60)
        _, alive = psutil.wait_procs(children, timeout=20)
        assert alive == []


def wait_for_cells(process):
    """All processes below this one, once a cell is among them."""
    for _ in range(300):
        children = process.children(recursive=True)
        if len(children) > 2:
            return children
        threading.Event().wait(0.1)
    raise AssertionError("no cell was made")
