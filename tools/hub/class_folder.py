"""The folder of a class that `make hub` keeps: the shared store, a home for every learner, and the hub's own files.

    shared/            models, measurements, figures and data sets, which learners read
    learners/NAME/     the home of a learner: `weightspace` has their notebooks, `store` what their kernels keep
    hub/               the hub's database, its log, and the password and token of this start
"""
import contextlib
import itertools
import json
import os
import random
import secrets
import shutil
import socket
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROXY = ROOT / "tools" / "hub" / "node_modules" / ".bin" / "configurable-http-proxy"
LEFT_OUT = {"diary"}  # of a teacher's store: what only they may read


def usual() -> Path:
    """The class's folder, unless another one is named: `$WEIGHTSPACE_CLASS`, or one in the home."""
    return Path(os.environ.get("WEIGHTSPACE_CLASS") or "~/weightspace-class").expanduser().absolute()


def proxy() -> Path | None:
    """The command of the proxy, from tools/hub/node_modules or the PATH; None where it is not installed."""
    found = shutil.which("configurable-http-proxy")
    return PROXY if PROXY.exists() else Path(found) if found else None


@dataclass(frozen=True)
class Start:
    """What one start of the hub chose, and what whoever speaks to it needs.

    Attributes:
        url: "http://127.0.0.1:8000".
        password: of every learner.
        token: of the hub's API, for `students`; it may start servers and reach them.
        hub_port, proxy_port: where hub and proxy speak to each other.
        shared: the shared store.
    """
    url: str
    password: str
    token: str
    hub_port: int
    proxy_port: int
    shared: str

    def write(self, folder: Path) -> Path:
        """Write it where nobody else can read it; returns the file."""
        file = folder / "hub" / "start.json"
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.unlink(missing_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as out:
            json.dump(asdict(self), out)
        return file

    @classmethod
    def read(cls, folder: Path) -> "Start":
        """What `write` wrote for the hub that keeps this folder.

        Raises:
            FileNotFoundError: no hub was started with it; says what to do.
        """
        file = folder / "hub" / "start.json"
        try:
            return cls(**json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise FileNotFoundError(f"{file} is not there, so no hub was started with this folder. Type `make hub`, "
                                    "or name the class's folder with --folder.") from None


PORTS = itertools.cycle(random.sample(range(20_000, 30_000), 10_000))


def free_port() -> int:
    """A port of this machine that is free, another one at every call.

    It is below those that the system gives when a program asks for any port. A kernel asks for five of these, so it
    might take one between the choice and the start of the server for which it was chosen.

    Raises:
        OSError: none of them is free.
    """
    for port in itertools.islice(PORTS, 10_000):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError("no port from 20,000 to 29,999 of this machine is free")


def new_start(shared: Path, port: int = 0) -> Start:
    """Ports that are free, a password and a token.

    Args:
        shared: the shared store.
        port: of the address that learners open; 0 for one that is free.
    """
    return Start(f"http://127.0.0.1:{port or free_port()}", secrets.token_urlsafe(9), secrets.token_hex(16),
                 free_port(), free_port(), str(shared))


def copy_store(source: Path, target: Path) -> int:
    """Copy what a store has and another lacks: everything but diaries, locks and unfinished files. A link is followed,
    and nothing that is there is replaced.

    Returns:
        How many files were copied.
    """
    copied = 0
    for path in sorted(source.rglob("*")) if source.is_dir() else ():
        place = path.relative_to(source)
        if place.parts[0] in LEFT_OUT or path.name.startswith(".") or not path.is_file() or (target / place).exists():
            continue
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        part = target / place.parent / f".{place.name}.copy"
        shutil.copyfile(path, part)
        os.replace(part, target / place)
        copied += 1
    return copied


def let_write(folder: Path, allowed: bool) -> None:
    """Allow or forbid its owner to write a folder and all that is in it. (The user root may write in any case.)"""
    change = stat.S_IWUSR if allowed else stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
    for path in [folder, *folder.rglob("*")]:
        if not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | change if allowed else mode & ~change)
