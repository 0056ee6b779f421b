"""Who measured a result: signatures by SSH keys, which many people have.

`ssh-keygen -Y sign -f ~/.ssh/id_ed25519 -n weightspace FILE` writes FILE.sig, and OpenSSH checks it here, so that the
course has no cryptography of its own.
"""
import shutil
import subprocess
from pathlib import Path

NAMESPACE = "weightspace"  # a signature for something else is none for a result
SECONDS = 20


def verified(content: bytes, path: Path, signers: Path) -> str:
    """The name of the signer of a file, whose signature lies beside it.

    Args:
        content: what the file holds.
        path: of the file.
        signers: OpenSSH's file of allowed signers, lines "name ssh-ed25519 …".

    Raises:
        ValueError: there is no signature, or none of the signers made it.
        OSError: ssh-keygen, or a file, is not there.
    """
    tool = shutil.which("ssh-keygen")
    if not tool:
        raise FileNotFoundError("ssh-keygen is not installed, which checks signatures; it comes with OpenSSH")
    signature = path.with_name(f"{path.name}.sig")
    if not signature.is_file():
        raise ValueError(f"it is not signed: there is no {signature.name} beside it")
    if not signers.is_file():
        raise FileNotFoundError(f"{signers} is not there, which should name the signers")
    about = ["-s", str(signature.absolute())]
    named = _run([tool, "-Y", "find-principals", *about, "-f", str(signers.absolute())])
    for name in named.stdout.decode("utf-8", "replace").splitlines() if named.returncode == 0 else ():
        checked = _run([tool, "-Y", "verify", "-n", NAMESPACE, "-I", name, *about, "-f", str(signers.absolute())],
                       content)
        if checked.returncode == 0:
            return name
    raise ValueError(f"none of the signers in {signers} signed what it holds now")


def _run(command, content=b""):
    return subprocess.run(command, input=content, capture_output=True, timeout=SECONDS)
