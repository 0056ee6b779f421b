"""Work on many machines, through one interface: `concurrent.futures.Executor`.

Any executor will do: threads or processes of this machine, or those of a Dask cluster (`opened`), which needs the extra
`cluster`. What is sent and what comes back are parcels (`data.parcels`), bytes under a digest. A machine keeps what it
made in its own folder and sends it, and the caller verifies it and writes it into his: no disk is shared.

Dask's own protocol pickles, so whoever can speak to a scheduler can run code on every machine of its cluster, and on
those that ask it. A cluster must therefore be trusted and closed to others.
"""
import contextlib
import itertools
import platform
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait

from data import parcels, store

AHEAD = 32  # jobs that are handed over at once; each may hold a network
SECONDS = 10  # that a scheduler has to answer, and a first worker to join


class NotInstalled(ImportError):
    """The packages that speak to a cluster are missing."""


class Unreachable(OSError):
    """A cluster does not answer, or has no worker that can be used."""


class Lost(OSError):
    """A cluster stopped answering before everything was done."""


class Differs(Exception):
    """This machine has other code or other data than the one that asks it."""


class WorkerWarning(UserWarning):
    """A worker of the cluster cannot be used."""


class Unfinished(RuntimeError):
    """Some jobs failed; the others are done and kept.

    Attributes:
        failures: {job: why}.
    """

    def __init__(self, failures: Mapping[str, str], total: int):
        self.failures = dict(failures)
        reasons = "\n".join(f"  {name}: {why}" for name, why in failures.items())
        super().__init__(f"{len(failures)} of {total} failed, and the others are kept:\n{reasons}")


@contextlib.contextmanager
def opened(address: str, fits: Callable[[bytes], bytes], wanted: Mapping) -> Iterator[Executor]:
    """A Dask cluster's executor. Workers that do not fit are named in a warning and get no work.

    Args:
        address: of the scheduler, "tcp://host:port", or "tls://host:port" with the certificates of Dask's own
            configuration.
        fits: a function of a module, which every worker calls with a parcel of `wanted`; made with `answered`.
        wanted: what `fits` compares, as JSON can hold it.

    Raises:
        NotInstalled: the extra `cluster` is not installed.
        Unreachable: nobody answers at this address, or no worker fits.
    """
    Client = _dask().Client
    try:
        client = Client(address, timeout=SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise Unreachable(f"no scheduler answers at {address} ({error}). Start a cluster, for example with `make "
                          "cluster`, and give the address that it says") from None
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph")  # of a network that training starts from
        try:
            good, bad = _asked(client, fits, wanted)
            for sentence in bad:
                warnings.warn(sentence, WorkerWarning, stacklevel=3)
            if not good:
                reasons = " ".join(bad) or "No worker has joined it."
                raise Unreachable(f"the cluster at {address} has no worker that can be used. {reasons}")
            # others may, where the good ones are gone: a worker that restarts has another address
            preferred = {"workers": good, "allow_other_workers": True} if bad else {}
            with client.get_executor(pure=False, **preferred) as executor:
                yield executor
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                client.close(timeout=2)


def _dask():
    try:
        import distributed
    except ImportError as error:
        raise NotInstalled("a cluster needs the package distributed, which is not installed here "
                           f"({error}). Install it with: make cluster-environment, or pip install -r lock/cluster.txt"
                           ) from None
    return distributed


def _asked(client, fits, wanted):
    """([addresses of the workers that fit], [a sentence for every other one])."""
    good, bad = [], []
    with contextlib.suppress(TimeoutError):  # where nobody joins, nobody answers
        client.wait_for_workers(1, timeout=SECONDS)
    answers = client.run(fits, parcels.packed(wanted), on_error="return") if client.nthreads() else {}
    names = {address: worker["name"] for address, worker in client.scheduler_info(n_workers=-1)["workers"].items()}
    for address, answer in answers.items():
        if problem := _greeted(answer):
            bad.append(f"{names.get(address, 'the worker')} at {address} {problem}. It gets no work.")
        else:
            good.append(address)
    return good, bad


def _greeted(answer):
    """What is wrong with a worker by its answer to `fits`, as the end of a sentence about it, or ""."""
    if isinstance(answer, BaseException):  # it lacks the module, for example
        return f"did not understand the question ({answer})"
    try:
        return _problem(parcels.unpacked(answer)[0])
    except store.Damaged as error:
        return f"gave an answer that cannot be used: {error}"


# -- on the worker -----------------------------------------------------------------------------------------------------

def answered(work: Callable[[dict, dict], tuple[dict, dict]], parcel: bytes) -> bytes:
    """What a worker sends back: what work(about, files) gives for this parcel, or why it gives nothing. Whatever is
    raised becomes a sentence, so that no exception is pickled."""
    try:
        about, files = work(*parcels.unpacked(parcel))
        return parcels.packed({**about, "by": worker()}, files)
    except Differs as error:
        return parcels.packed({"by": worker(), "refused": str(error)})
    except Exception as error:
        return parcels.packed({"by": worker(), "failed": f"{type(error).__name__}: {error}"})


def worker() -> str:
    """This machine, and the Dask worker that this is, in words."""
    try:
        from distributed import get_worker
        name = str(get_worker().name)
    except (ImportError, ValueError):  # a thread or a process without Dask
        name = "a worker"
    return f"{name} on {platform.node()}"


def same(what: str, ours: str, theirs: str) -> None:
    """Refuse work, on a worker.

    Args:
        what: is compared, "code" for example.
        ours: the worker's digest.
        theirs: the digest of the machine that asks.

    Raises:
        Differs: the digests differ; names both.
    """
    if ours != theirs:
        raise Differs(f"it has other {what} (digest {ours}) than the machine that asks (digest {theirs})")


# -- on the machine that asks ------------------------------------------------------------------------------------------

def gathered(executor: Executor, function: Callable[[bytes], bytes], jobs: Mapping[str, Callable[[], bytes]],
             keep: Callable[[str, dict, dict[str, bytes]], None]) -> dict[str, str]:
    """Hand jobs over, and keep every answer as soon as it comes. A job that fails ends no other one.

    Args:
        executor: gets a few dozen at a time.
        function: of a module that the workers have; made with `answered`.
        jobs: {name: () -> parcel}.
        keep: called in this thread with name, words and files of an answer; what it raises is a failure of the job.

    Returns:
        {name: why} of those that failed.

    Raises:
        Lost: the cluster stopped answering. What was done before is kept.
        StoreError: this machine cannot keep what comes.
    """
    waiting, pending, failures = iter(jobs.items()), {}, {}
    try:
        while True:
            for name, parcel in itertools.islice(waiting, AHEAD - len(pending)):
                pending[executor.submit(function, parcel())] = name
            if not pending:
                return failures
            # what is done is kept before what was lost ends it all
            for future in sorted(wait(pending, return_when=FIRST_COMPLETED).done, key=Future.cancelled):
                name = pending.pop(future)
                if why := _failure(name, future, keep):
                    failures[name] = why
    except CancelledError:
        done = len(jobs) - len(pending) - 1 - sum(1 for _ in waiting) - len(failures)
        raise Lost(f"the cluster stopped answering: its scheduler ended, or the network did. {done} of {len(jobs)} are "
                   "done and kept. The same command, given again, goes on with the others") from None
    finally:
        for future in pending:
            future.cancel()


def _failure(name, future, keep):
    """Why a job failed, or "" where its answer is kept."""
    try:
        about, files = parcels.unpacked(future.result())
        if problem := _problem(about):
            return f"{about.get('by', 'a worker')} {problem}"
        keep(name, about, files)
    except (CancelledError, store.StoreError):  # the second: this machine's disk, and not the worker
        raise
    except Exception as error:  # of the executor too: a worker that died again and again, for example
        return f"{type(error).__name__}: {error}"
    return ""


def _problem(about):
    """What a worker says it could not do, as the end of a sentence about it, or ""."""
    for what, words in (("refused", "was refused"), ("failed", "failed")):
        if what in about:
            told = "".join(letter if letter.isprintable() else " " for letter in str(about[what]))
            return f"{words}: {told}"
    return ""
