"""The address of this machine that the phones of a class reach.

Nothing is sent to find it: to connect a UDP socket only asks the system which of its addresses it would send from.
"""
import contextlib
import ipaddress
import os
import re
import socket

import psutil

_FAR = "198.51.100.1"  # an address that nobody has (RFC 5737); any beyond the local network would do
# Interfaces of containers, virtual machines and tunnels, which a phone does not reach; the names are the systems' own.
_VIRTUAL = re.compile(r"docker|br-|veth|virbr|vmnet|vmware|vboxnet|virtualbox|vethernet|hyper-v|tun|tap|utun|tailscale"
                      r"|zt|wg|ppp|cni|flannel|podman|lxc|lxd|awdl|llw", re.IGNORECASE)
# What servers set whose kernels a phone does not reach: JupyterHub and with it Binder, Colab, Kaggle, Codespaces.
_ELSEWHERE = ("JUPYTERHUB_API_URL", "JUPYTERHUB_SERVICE_PREFIX", "JUPYTERHUB_USER", "COLAB_RELEASE_TAG",
              "KAGGLE_KERNEL_RUN_TYPE", "CODESPACES")


class NoNetworkError(RuntimeError):
    """There is no address on which the phones of a class would reach this kernel."""


def address_for_phones(host: str | None = None) -> str:
    """An IPv4 address of this machine on the local network.

    Args:
        host: the one to take; left out, that of the interface which has the way out of this machine, or else of the
            first that is up. Interfaces of containers, virtual machines and tunnels are the last choice.

    Raises:
        ValueError: `host` is no IPv4 address of one interface.
        NoNetworkError: no `host` is given, and the kernel runs on a server such as a JupyterHub, or no interface has
            an address.
    """
    if host is not None:
        return _checked(host)
    if any(name in os.environ for name in _ELSEWHERE):
        raise NoNetworkError("This notebook runs on a server, such as a JupyterHub, and phones usually cannot reach "
                             "the machine of its kernel. Open the course on your own computer (make lab) and ask your "
                             "class there. If the phones do reach this machine, write its address: "
                             "ask_class(host=\"192.168.1.7\").")
    addresses = candidates()
    if not addresses:
        raise NoNetworkError("This computer is in no local network that phones could be in, too. Connect it to the "
                             "Wi-Fi of your class, or open a hotspot, and run this cell again.")
    return addresses[0]


def candidates() -> list[str]:
    """The IPv4 addresses of this machine that a phone might reach, the likeliest first."""
    running = {name for name, state in psutil.net_if_stats().items() if state.isup}
    addresses = [(name, part.address) for name, parts in psutil.net_if_addrs().items() if name in running
                 for part in parts if part.family == socket.AF_INET and _is_reachable(part.address)]
    outward = _way_out()
    order = sorted(addresses, key=lambda pair: (bool(_VIRTUAL.match(pair[0])), pair[1] != outward))
    return list(dict.fromkeys(address for _, address in order))


def _is_reachable(address):
    known = ipaddress.IPv4Address(address)
    return not (known.is_loopback or known.is_link_local or known.is_unspecified or known.is_multicast)


def _way_out():
    """The address from which this machine would send to one far away; "" where it would not."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((_FAR, 9))
        return probe.getsockname()[0]
    return ""


def _checked(host):
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        raise ValueError(f"host must be an IPv4 address of this machine, such as \"192.168.1.7\", not {host!r:.80}"
                         ) from None
    if address.is_unspecified or address.is_multicast:
        raise ValueError(f"host must be an address that a phone can open, and {host} is none. Write the address that "
                         "this machine has in the network of the phones")
    return str(address)
