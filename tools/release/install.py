"""Install Weightspace from this folder, without a network: python3 install.py

It makes the environment .venv, takes every package from the folder `wheels`, and asks no index. The book in
book/index.html opens without it.
"""
import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent


def check_machine(made_for):
    """End, and say why, where the wheels are for another Python or machine."""
    here = {"python": ".".join(platform.python_version_tuple()[:2]), "system": platform.system(),
            "machine": platform.machine()}
    if here != made_for:
        told = [f"Python {one['python']} on {one['system']}, {one['machine']}" for one in (made_for, here)]
        sys.exit(f"The packages in `wheels` are for {told[0]}. This is {told[1]}. Take the Python that they are for, "
                 "or the archive of another machine, or install with a network: README.md says how.")


def main():
    """Install everything."""
    wheels, environment = HERE / "wheels", HERE / ".venv"
    check_machine(json.loads((wheels / "made-for.json").read_text(encoding="utf-8")))
    print(f"Installing JupyterLab, PyTorch and what else the course needs into {environment}. This takes minutes.")
    venv.EnvBuilder(with_pip=True, clear=True).create(environment)
    python = environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [python, "-m", "pip", "install", "-q", "--no-index", "--disable-pip-version-check", "--find-links", wheels]
    for what in (["--no-deps", "--require-hashes", "-r", HERE / "lock/course.txt"], ["-r", HERE / "lock/torch.txt"],
                 ["--no-deps", "--no-build-isolation", "-e", HERE]):
        if subprocess.run([str(part) for part in (*pip, *what)]).returncode:
            sys.exit("pip could not install everything; its message is above.")
    (environment / ".ready").touch()  # so that make does not install it again
    print(f"Ready. Open the course with\n\n    {python} -m tools.lab\n\nor the book, without Jupyter: book/index.html")


if __name__ == "__main__":
    main()
