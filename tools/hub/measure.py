"""What learners cost: memory, processor time and disk of each (`python -m tools.hub.measure`).

It looks at the processes that a hub started on this machine, whatever hub it is, and needs no rights on the hub, but
the right to look at the learners' processes: those of the same user, or all as root. It needs Linux.

Memory is PSS, in which a page that n processes share counts as 1/n for each, so that the sum over all processes is what
they really take.
"""
import argparse
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tools.hub import class_folder


@dataclass(frozen=True)
class Cost:
    """What one learner's processes take now.

    Attributes:
        server, kernels: memory in MB (PSS).
        server_seconds, kernel_seconds: processor time since they started.
        running: how many kernels run.
    """
    server: float = 0
    kernels: float = 0
    server_seconds: float = 0
    kernel_seconds: float = 0
    running: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(mine + theirs for mine, theirs in zip(vars(self).values(), vars(other).values())))

    @property
    def memory(self) -> float:
        """All of it, in MB."""
        return self.server + self.kernels


def processes() -> Iterator[tuple[str, psutil.Process]]:
    """(learner's name, process) of all that hubs started on this machine and that may be looked at."""
    for process in psutil.process_iter():
        try:
            name = process.environ().get("JUPYTERHUB_USER")
        except (psutil.Error, OSError):
            continue
        if name:
            yield name, process


def is_kernel(process: psutil.Process) -> bool:
    """Whether it is a kernel, and not a server."""
    return "ipykernel_launcher" in process.cmdline()


def costs(names: Collection[str] | None = None) -> dict[str, Cost]:
    """{learner: what their processes take now}, of these learners or of all."""
    found = {}
    for name, process in processes():
        if names is not None and name not in names:
            continue
        try:
            memory = process.memory_full_info().pss / 1e6
            times = process.cpu_times()
            seconds = times.user + times.system
            one = Cost(kernels=memory, kernel_seconds=seconds, running=1) if is_kernel(process) else \
                Cost(server=memory, server_seconds=seconds)
        except (psutil.Error, OSError):  # it has ended meanwhile
            continue
        found[name] = found.get(name, Cost()) + one
    return found


def disk(home: Path) -> float:
    """MB of all files below a learner's home."""
    return sum(path.lstat().st_size for path in home.rglob("*") if path.is_file()) / 1e6


def trained(home: Path) -> int:
    """How many models lie in a learner's own store, which the shared one lacked."""
    return len(list((home / "store" / "zoo").glob("*.safetensors")))


HEAD = f"{'learner':16}{'server MB':>11}{'kernels':>9}{'MB':>8}{'all MB':>8}{'CPU s':>8}{'disk MB':>9}{'models':>8}"


def table(found: dict[str, Cost], homes: Path) -> str:
    """The costs as text, a line a learner, and their means."""
    lines = [HEAD]
    for name, cost in sorted(found.items()):
        home = homes / name
        lines.append(f"{name:16.16}{cost.server:11.0f}{cost.running:9}{cost.kernels:8.0f}{cost.memory:8.0f}"
                     f"{cost.server_seconds + cost.kernel_seconds:8.1f}{disk(home):9.1f}{trained(home):8}")
    every = sum(found.values(), Cost())
    count = len(found) or 1
    lines.append(f"{'mean of ' + str(len(found)):16}{every.server / count:11.0f}{every.running / count:9.1f}"
                 f"{every.kernels / count:8.0f}{every.memory / count:8.0f}"
                 f"{(every.server_seconds + every.kernel_seconds) / count:8.1f}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Print what every learner takes now."""
    parser = argparse.ArgumentParser(prog="python -m tools.hub.measure", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=class_folder.usual(), help="of the class (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not psutil.LINUX:
        parser.error("PSS can be read on Linux alone")
    print(table(costs(), options.folder / "learners"))


if __name__ == "__main__":
    main()
