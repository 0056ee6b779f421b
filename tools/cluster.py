"""`make cluster`: a cluster of worker processes on this machine, for `make claims CLUSTER=…`.

Its scheduler listens to this machine alone. Dask's protocol pickles, so every user of this machine who can speak to the
scheduler can run code as you: start it where nobody else logs in, or use TLS (CONTRIBUTING.md, "On many machines").
"""
import argparse
import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

from data import threads

HOST, PORT = "127.0.0.1", 8786
# set before a worker starts: it keeps quiet, and torch and numpy have one thread, as Dask itself would set it
BEFORE = {"DASK_LOGGING__DISTRIBUTED": "error", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@contextlib.contextmanager
def local(folders: Sequence[Path | None], port: int = 0):
    """A context with a running cluster of one process for every folder.

    Args:
        folders: the data folders of the workers. None for the one that this process has, which processes of one machine
            can share.
        port: of the scheduler; 0 for a free one.

    Yields:
        A `distributed.SpecCluster`, whose `.scheduler_address` is that of the scheduler.
    """
    import dask
    import distributed
    with tempfile.TemporaryDirectory(prefix="weightspace-cluster-", ignore_cleanup_errors=True) as scratch:
        workers = {}
        for number, folder in enumerate(folders):
            variables = {"WEIGHTSPACE_DATA": str(folder)} if folder else {}
            options = {"nthreads": 1, "host": HOST, "env": variables, "local_directory": scratch, "dashboard": False}
            workers[f"worker-{number}"] = {"cls": distributed.Nanny, "options": options}
        scheduler = {"cls": distributed.Scheduler, "options": {"host": HOST, "port": port, "dashboard": False}}
        with dask.config.set({"distributed.nanny.pre-spawn-environ": BEFORE}), \
                distributed.SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster:
            yield cluster


def main(arguments: list[str] | None = None) -> None:
    """Start a cluster, say its address, and end it on an interrupt."""
    parser = argparse.ArgumentParser(prog="python -m tools.cluster", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=threads.cores(), help="processes (default: one on every core)")
    parser.add_argument("--port", type=int, default=PORT, help="of the scheduler (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.workers < 1:
        parser.error(f"--workers must be at least 1, not {options.workers}")
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    with local([None] * options.workers, options.port) as cluster:
        print(f"{options.workers} workers (process {os.getpid()}). In another terminal:\n"
              f"  make claims CLUSTER={cluster.scheduler_address}\nCtrl-C ends them.", flush=True)
        while not ended.wait(1):
            pass


if __name__ == "__main__":
    main()
