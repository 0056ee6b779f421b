"""Checkpoints from Hugging Face: by repository, revision and SHA-256, resumed where a download stopped.

A file gets its name only when it is whole and its digest is right; until then it is `.{name}.partial` beside it, and
`.{name}.partial.version` says of which version of the file that is the beginning.
"""
import errno
import os
import shutil
from pathlib import Path

from tqdm.auto import tqdm

from data import store
from lessons.checkpoints import known
from lessons.checkpoints.known import Remote
from lessons.checkpoints.opening import CheckpointError, header, kind, sha256, verify

CHUNK = 1 << 16  # bytes; so many at most are lost when a connection breaks
LARGEST = 20_000_000_000  # bytes, where neither the table nor the server says how long a file is
SILENCE = 30  # seconds without a byte after which a download has stopped; for connecting it is store.NETWORK_SECONDS


def folder(remote: Remote) -> Path:
    """Where the file's folder is: `checkpoints/{name}` of the store that has the file, or, where none has it, of
    `$WEIGHTSPACE_DATA`. On a machine without a network, copy it there.
    """
    return path_of(remote).parent


def path_of(remote: Remote) -> Path:
    """Where the file is kept: in the learner's own store or in a shared one."""
    usual = store.root() / "checkpoints" / remote.name / remote.file
    return store.where(usual) or usual


def digest_beside(path: Path) -> Path:
    """Where the digest of a file that is not pinned is written at its first download."""
    return path.with_name(f"{path.name}.sha256")


def here(remote: Remote) -> bool:
    """The file is there; whether it is the right one `checked` says."""
    return os.path.exists(path_of(remote))


def checked(remote: Remote) -> Path:
    """The path of a file that is there and is what was published, or at least what came at its first download.

    Raises:
        CheckpointError: it is missing, is not a safetensors file, or has another size or digest. Names the file and the
            command that fetches it.
    """
    path = path_of(remote)
    if not os.path.exists(path):
        raise CheckpointError(f"{path} is missing. Fetch it by `python -m lessons.checkpoints fetch b32`, or copy "
                              f"{remote.file} of huggingface.co/{remote.repository} there (revision "
                              f"{remote.revision}).")
    if path.suffix == ".safetensors":
        header(path)
    wanted = remote.sha256
    if not wanted and digest_beside(path).exists():
        wanted = digest_beside(path).read_text(encoding="utf-8").split()[0]
    if wanted:
        verify(path, wanted, remote.size or None)
    return path


def status(remote: Remote) -> str:
    """How far the file can be trusted, in a few words."""
    if not here(remote):
        return "missing"
    if remote.pinned:
        return f"pinned: SHA-256 {remote.sha256[:12]}…"
    return f"not pinned: nobody published its digest; here it is {sha256(path_of(remote))[:12]}…"


def fetch(remote: Remote, progress: bool = True) -> Path:
    """The path of the file, downloaded if need be: resumed where an earlier download stopped, checked, then named.

    Raises:
        store.Unavailable: no network within 5 seconds, an address that does not answer, a download that stopped, or
            one that came with another digest. What has come so far is kept for the next try, unless it was wrong.
        store.StoreError: the disk is full, or the folder cannot be written.
        CheckpointError: the file is there but is not the published one.
    """
    path = path_of(remote)
    if os.path.exists(path):
        return checked(remote)
    store.answering((remote.url,))
    path = store.workplace(f"checkpoints/{remote.name}") / remote.file
    with store.lock(path):
        if path.exists():  # another process fetched it while we waited
            return checked(remote)
        part = path.with_name(f".{path.name}.partial")
        reply = _download(remote, part, progress)
        _check_what_came(remote, part, reply)
        if not remote.pinned:
            commit = reply.get("X-Repo-Commit") or remote.revision
            digest_beside(path).write_text(f"{sha256(part)}  {path.name}  {commit}\n", encoding="utf-8")
        os.replace(part, path)
        _version_of(part).unlink(missing_ok=True)
    return path


def _version_of(part):
    return part.with_name(f"{part.name}.version")


def _forget(part):
    part.unlink(missing_ok=True)
    _version_of(part).unlink(missing_ok=True)


def _resumable(remote, part):
    """(bytes that have come, which version of the file they are of). A server is asked to go on only if it can say
    whether the file is still the same, or if the published digest says so in the end.
    """
    come = part.stat().st_size if part.exists() else 0
    version = _version_of(part).read_text(encoding="utf-8").strip() if _version_of(part).exists() else ""
    if come and (version or remote.pinned):
        return come, version
    return 0, ""


def _validator(answer):
    """What names this version of the file in `If-Range`: a strong ETag, or else its date; "" where there is none."""
    tag = answer.headers.get("ETag", "")
    return tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified", "")


def _download(remote, part, progress):
    """Bring `part` to the whole file, from where it ends; what the hub said of it on the way, {header: text}."""
    import requests
    come, version = _resumable(remote, part)
    headers = {"Accept-Encoding": "identity"}  # a range of what is packed on the way would be of another file
    if come:
        headers |= {"Range": f"bytes={come}-"} | ({"If-Range": version} if version else {})
    try:
        with requests.get(remote.url, headers=headers, stream=True, timeout=(store.NETWORK_SECONDS, SILENCE)) as answer:
            nothing_more = come and answer.status_code == 416
            if nothing_more and _ends_at(answer, come):
                return {}  # nothing lies behind what has come: it was whole
            resumed = come and answer.status_code == 206 and _goes_on(answer, come, version)
            if nothing_more or (come and answer.status_code == 206 and not resumed):
                _forget(part)
                raise store.Unavailable(f"{remote.url} has changed since the download began. Run the same command "
                                        "again: it starts over.")
            answer.raise_for_status()
            reply = {name: text for response in (*answer.history, answer) for name, text in response.headers.items()}
            come = come if resumed else 0
            expected = _whole_size(answer, reply, remote, come)
            _check_room(part, expected - come)
            if not resumed:
                _forget(part)  # a process that is killed now leaves no beginning of one version under another's name
                _version_of(part).write_text(_validator(answer), encoding="utf-8")
            _write(answer, part, "ab" if resumed else "wb", expected, come, remote, progress)
    except requests.RequestException as error:
        received = part.stat().st_size if part.exists() else 0
        raise store.Unavailable(f"{remote.url} stopped after {received:,} bytes ({type(error).__name__}). Run the same "
                                "command again: it goes on from there.") from error
    return reply


def _whole_size(answer, reply, remote, come):
    """How long the whole file is, in bytes, by the server's word; 0 where nobody knows."""
    if length := int(answer.headers.get("Content-Length") or 0):
        return length + come
    return remote.size or int(reply.get("X-Linked-Size") or 0)


def _goes_on(answer, come, version):
    """A part that was sent begins where ours ends, and is of the same version. A server that was asked by an ETag has
    to repeat it; by a date, it need not.
    """
    begins = answer.headers.get("Content-Range", f"bytes {come}-").startswith(f"bytes {come}-")
    same = {version} if version.startswith('"') else {version, ""}
    return begins and (not version or _validator(answer) in same)


def _ends_at(answer, come):
    """Whether the file of which no more is to be had is as long as what has come, as far as the server says."""
    return answer.headers.get("Content-Range", f"/{come}").rpartition("/")[2] == str(come)


def _write(answer, part, mode, expected, come, remote, progress):
    bar = tqdm(total=expected or None, initial=come, unit="B", unit_scale=True, desc=remote.name, disable=not progress)
    try:
        with bar, open(part, mode) as file:
            for chunk in answer.iter_content(CHUNK):
                file.write(chunk)
                come += len(chunk)
                bar.update(len(chunk))
                if come > _most(remote, expected):
                    break
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _forget(part)
            raise _no_room(part, error.strerror) from error
        raise
    _check_length(remote, part, come, expected)


def _most(remote, expected):
    """After how many bytes a download is cut off."""
    return remote.size or expected or LARGEST


def _check_length(remote, part, size, expected):
    if size > (most := _most(remote, expected)):
        _forget(part)
        of_what = "that the file has" if remote.size or expected else "that are read where nobody says how long it is"
        raise store.Unavailable(f"what came from {remote.url} is not the file: it goes on behind the {most:,} bytes "
                                f"{of_what}.")
    if expected and size < expected:
        raise store.Unavailable(f"{remote.url} stopped after {size:,} of {expected:,} bytes. Run the same command "
                                "again: it goes on from there.")


def _check_room(part, needed):
    free = shutil.disk_usage(part.parent).free
    if needed > free:
        raise _no_room(part, f"{needed:,} bytes are needed, {free:,} are free")


def _no_room(part, why):
    return store.StoreError(f"{part.parent} has no room for {part.name.removesuffix('.partial')[1:]}: {why}. Free some "
                            "space, or set the environment variable WEIGHTSPACE_DATA to a folder on a larger disk.")


def _check_what_came(remote, part, reply):
    """Refuse, and delete, what is not the file that was asked for. The hub names the digest of a large file itself:
    that tells a bit that flipped on the way, not whether it is the file that somebody measured.
    """
    on_the_way = reply.get("X-Linked-Etag", "").strip('"')
    try:
        if remote.file.endswith(".safetensors"):
            header(part)
        else:
            _check_text(part)
        if remote.pinned:
            verify(part, remote.sha256, remote.size or None)
        elif len(on_the_way) == 64:
            verify(part, on_the_way)
    except CheckpointError as error:
        _forget(part)
        raise store.Unavailable(f"what came from {remote.url} is not the file: {error}") from error


def _check_text(part):
    """A tokenizer's file is text; a page in its place is told by its first bytes."""
    with open(part, "rb") as file:
        what, advice = kind(file.read(512))
    if what in ("a web page", "empty") or "Git-LFS" in what:
        raise CheckpointError(f"it is {what}. {advice}")


def missing(name: str = "b32") -> list[Remote]:
    """Files of a set that are not here.

    Raises:
        ValueError: there is no such set.
    """
    if name not in known.SETS:
        raise ValueError(f"there is no set of checkpoints {name!r}; there are {', '.join(known.SETS)}")
    return [remote for remote in known.SETS[name] if not here(remote)]
