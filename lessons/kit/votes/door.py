"""Who may vote: one random token a phone, and no more new tokens from one address than a class can have phones.

A class often stands behind a single address, because the router of its network translates addresses (NAT). So the door
cannot allow one vote an address; it allows a class.
"""
import math
import re
import secrets
import time
from collections import defaultdict, deque

USUAL = 200  # students, unless the teacher says how many: few lecture halls hold more
SPARE = 1.5  # as many phones as students, and half as many again: tablets, laptops, a second browser, private windows
WHILE = 600.0  # s in which so many are plausible from one address; a class that is asked comes within a few minutes
MOST_PHONES = 5000  # in all, so that the tokens of somebody with many addresses do not fill the memory
_TOKEN = re.compile(r"[\w-]{22}", re.ASCII)


class Door:
    """Lets phones in. It knows tokens and digests of addresses, and keeps them in memory alone.

    Attributes:
        class_size: how many students there are at most.
        turned_away: how many votes were refused because more phones came.
    """

    def __init__(self):
        self.class_size = USUAL
        self.turned_away = 0
        self._known: set[str] = set()
        self._arrivals: defaultdict[str, deque[float]] = defaultdict(deque)

    @property
    def most(self) -> int:
        """How many new phones may come from one address within ten minutes."""
        return math.ceil(SPARE * self.class_size)

    def lets_in(self, token: str, address: str) -> bool:
        """Whether the vote of this phone counts; one that voted before always may.

        Args:
            token: of the phone.
            address: where it comes from, or what stands for it.
        """
        if token in self._known:
            return True
        now_in_seconds = time.monotonic()
        arrivals = self._arrivals[address]
        while arrivals and arrivals[0] < now_in_seconds - WHILE:
            arrivals.popleft()
        if len(arrivals) >= self.most or len(self._known) >= MOST_PHONES:
            self.turned_away += 1
            return False
        arrivals.append(now_in_seconds)
        self._known.add(token)
        return True


def fresh_token() -> str:
    """A token of 128 random bits for a phone that has none."""
    return secrets.token_urlsafe(16)


def is_token(text: str | None) -> bool:
    """Whether a text has the form of such a token."""
    return bool(text and _TOKEN.fullmatch(text))
