"""How much a chapter measures: the profile that a notebook's first cell names."""

SEEDS = tuple(range(10))  # with which the ledger measures what is not a ResNet


class Profiles(dict):
    """{profile: settings}, such as `Profiles(quick=…, full=…)`.

    Raises:
        ValueError: an unknown profile is asked for; the message lists the known ones.
    """

    def __missing__(self, profile):
        raise ValueError(f"unknown profile {profile!r}: choose one of {', '.join(self)}")
