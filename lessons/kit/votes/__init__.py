"""The phones of a class vote on a panel's prediction: `panel.ask_class()`.

The kernel serves one small page on the local network, in a thread of its own. A phone that opens it sends a number and
nothing else. The panel shows the address as a code for cameras, counts the votes, and draws them as a swarm of dots
beside the truth once the teacher shows the answer. Before that, the page in JupyterLab does not have them.

* `vote`: what was asked, which numbers came, whether it is open.
* `door`: how many phones are plausible, and when a phone is turned away.
* `server`: the page, what it refuses, and the thread.
* `network`: the address that phones reach, or why there is none.
"""
from lessons.kit.votes.network import NoNetworkError
from lessons.kit.votes.vote import ClassVote, ask

__all__ = ["ClassVote", "NoNetworkError", "ask"]
