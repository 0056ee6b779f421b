"""JupyterHub's settings for `make hub`: a class on one machine, for trying it. docs/class.md says what a real class
changes; the lines that it needs too are those under "every class"."""
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))
from tools.hub.class_folder import free_port  # noqa: E402

CLASS = Path(os.environ["WEIGHTSPACE_CLASS"])
START = json.loads((CLASS / "hub" / "start.json").read_text(encoding="utf-8"))
c = get_config()  # noqa: F821  JupyterHub gives it

# -- every class: the course, and the store that all read
c.Spawner.cmd = [sys.executable, str(HERE / "learner.py")]
c.Spawner.default_url = "/lab/tree/notebooks/00_start_here.ipynb"
c.Spawner.environment = {"WEIGHTSPACE_SHARED": START["shared"],
                         # on Linux, memory that a kernel no longer uses goes back to the machine at once
                         "MALLOC_MMAP_THRESHOLD_": "1048576", "MALLOC_TRIM_THRESHOLD_": "1048576",
                         # torch's threads wait for each other, and with more of them than cores they mostly wait
                         "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
                         **{name: os.environ[name] for name in ("WEIGHTSPACE_OFFLINE", "WEIGHTSPACE_DIARY")
                            if name in os.environ}}
# Kernels speak to their server through Unix sockets. With ports, two kernels that begin at once may choose the same
# one. Then one of them never starts, because jupyter_client tries its port five times and no other.
c.Spawner.args = ["--KernelManager.transport=ipc"]
c.Spawner.start_timeout = c.Spawner.http_timeout = 300  # when all come at once, the last one waits longest


def before(spawner):
    """A learner's server gets a port that nothing takes in the seconds until it listens, and a folder for its kernels'
    sockets, whose paths may have no more than 107 bytes."""
    spawner.port = free_port()
    after(spawner)
    spawner.environment["JUPYTER_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="weightspace-")


def after(spawner):
    """The folder of sockets goes with the server."""
    if folder := spawner.environment.pop("JUPYTER_RUNTIME_DIR", None):
        shutil.rmtree(folder, ignore_errors=True)


c.Spawner.pre_spawn_hook, c.Spawner.post_stop_hook = before, after  # only where servers are processes of one machine

# -- for trying only: everybody is the same user of this machine, and has the same password
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = str(CLASS / "learners" / "{username}")
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = START["password"]
c.Authenticator.allow_all = True
c.Authenticator.username_pattern = r"[a-z0-9][a-z0-9_-]{0,30}"  # it becomes the name of a folder
c.JupyterHub.bind_url = START["url"]
c.JupyterHub.hub_ip = "127.0.0.1"
c.JupyterHub.hub_port = START["hub_port"]
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{START['proxy_port']}"
c.ConfigurableHTTPProxy.command = [os.environ["WEIGHTSPACE_PROXY"]]
c.ConfigurableHTTPProxy.pid_file = str(CLASS / "hub" / "proxy.pid")
c.JupyterHub.db_url = f"sqlite:///{CLASS / 'hub' / 'jupyterhub.sqlite'}"
c.JupyterHub.cookie_secret_file = str(CLASS / "hub" / "cookie_secret")
c.Spawner.args += ["--LabApp.expose_app_in_browser=True"]  # simulated students press JupyterLab's own commands
c.JupyterHub.services = [{"name": "students", "api_token": START["token"]}]
c.JupyterHub.load_roles = [{"name": "students", "services": ["students"],
                            "scopes": ["admin:users", "admin:servers", "access:servers"]}]
