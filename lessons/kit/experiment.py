"""The shape of every measurement: what is trained for it, what is measured, in which profiles, and which claims it
speaks to."""
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass
from pathlib import Path

import xarray

import data
from data import store
from data.types import Source
from lessons.kit import archive, sweep
from lessons.kit.profiles import SEEDS, Profiles
from toy_models import Recipe, training, zoo

Numbers = dict[str, dict[str, float]]


def no_recipes(settings, seed: int) -> list[Recipe]:
    """For what trains nothing that the zoo keeps."""
    return []


@dataclass(frozen=True)
class Experiment:
    """One measurement that is made once and kept.

    Attributes:
        name: of the kept sweep's file.
        measure: (settings, seed, device) -> xarray.Dataset. Its attribute `images` says for captions what was measured
            on; what else it sets replaces what `run` would write.
        profiles: {"quick": settings, "full": settings}: how much is measured; settings are a frozen dataclass, or None
            where a profile measures nothing and shows what the repository has.
        source: () -> where the data come from; a stand-in is never silent.
        dataset: what the data are called where they are the real thing: "MNIST".
        recipes: (settings, seed) -> every network that is trained for it.
        network: for captions; left out, what the first recipe trains.
        claims: sweep -> {claim: {number: value}}, the numbers that the ledger keeps.
        ledger: {profile: seeds} with which the ledger measures the claims.
        one_thread: what runs on networks so small that a second thread costs more than it gives.
        long: one seed takes more than a quarter of an hour where nothing is kept.
        attributes: others that the sweep gets.
    """
    name: str
    measure: Callable[..., xarray.Dataset]
    profiles: Profiles
    source: Callable[[], Source]
    dataset: str
    recipes: Callable[..., Iterable[Recipe]] = no_recipes
    network: str = ""
    claims: Callable[[xarray.Dataset], Numbers] | None = None
    ledger: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"full": SEEDS})
    one_thread: bool = True
    long: bool = False
    attributes: Mapping[str, object] = field(default_factory=dict)

    def run(self, profile: str = "quick", seed: int = 0, device: str = "auto",
            fresh: bool = False) -> xarray.Dataset | None:
        """Train what is missing and measure; from the repository, or from disk, where that was done before.

        Args:
            fresh: do not take what the repository has (`lessons.kit.archive`).

        Returns:
            What `measure` returns, with the attributes that `lessons.kit.sweep.caption` reads. In a profile whose
            settings are None nothing is measured: what the repository has of profile "full", or None.

        Raises:
            ValueError: there is no such profile.
        """
        settings = self.profiles[profile]
        if settings is None:
            return self.archived()
        known = None if fresh else self.archived(profile, seed)
        if known is not None:
            return known
        source = self.source()
        recipes = self._recipes(settings, seed)
        ingredients = self.ingredients(profile, seed)
        network = self.network or (recipes[0].architecture.title if recipes else "")
        about = {"source": source.text, "source_kind": source.kind, "dataset": self.dataset, "network": network,
                 "profile": profile, "seed": seed, **self.attributes}

        def measured():
            with training.one_thread() if self.one_thread else training.all_threads():
                dataset = self.measure(settings, seed, device)
            return dataset.assign_attrs(about | dataset.attrs)

        module = self.measure.__module__
        dataset = sweep.cached(self.name, ingredients | {"data": source.digest}, measured, module)
        archive.keep(dataset, self.archived_at(profile, seed), module)
        return dataset

    def in_full(self, profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
        """As `run` in profile "full"; in another profile what the repository has of "full", or None.

        Raises:
            ValueError: there is no such profile.
        """
        self.profiles[profile]  # an error where there is none
        return self.run(profile, seed, device) if profile == "full" else self.archived()

    def shown(self, profile: str = "quick", seed: int = 0, device: str = "auto") -> xarray.Dataset | None:
        """What the repository has of profile "full" and this seed, for a picture that quick shows too coarsely or with
        too much noise; where it has nothing, as `run`. Captions name the profile.

        Raises:
            ValueError: there is no such profile.
        """
        self.profiles[profile]  # an error where there is none
        known = self.archived("full", seed)
        return self.run(profile, seed, device) if known is None else known

    def archived(self, profile: str = "full", seed: int = 0) -> xarray.Dataset | None:
        """What the repository has of this, measured on the real data, whether these are here or not; None where it has
        nothing.

        Raises:
            ValueError: there is no such profile.
        """
        return archive.read(self.archived_at(profile, seed))

    def is_there(self, profile: str, seed: int) -> bool:
        """Whether `run` measures nothing, because the repository or the learner's store has the sweep, or because the
        profile measures none.

        Raises:
            ValueError: there is no such profile.
        """
        if self.profiles[profile] is None or self.archived(profile, seed) is not None:
            return True
        ingredients = self.ingredients(profile, seed) | {"data": self.source().digest}
        return sweep.is_kept(self.name, ingredients, self.measure.__module__)

    def keep(self, measured: xarray.Dataset, profile: str, seed: int) -> None:
        """Keep a sweep that another machine measured with this code and these data, where `run` finds it. One that is
        kept already stays.

        Raises:
            ValueError: there is no such profile.
        """
        ingredients = self.ingredients(profile, seed) | {"data": self.source().digest}
        sweep.cached(self.name, ingredients, lambda: measured, self.measure.__module__)

    def archived_at(self, profile: str, seed: int) -> Path:
        """Where the repository has or would have this."""
        with store.as_published():
            return archive.path_of(self.name, self.ingredients(profile, seed))

    def _recipes(self, settings, seed):
        return list(dict.fromkeys(self.recipes(settings, seed)))

    def ingredients(self, profile: str, seed: int) -> dict:
        """What the numbers depend on, behind code and data, as JSON can hold it."""
        settings = self.profiles[profile]
        return {"profile": profile,  # it is among the attributes, and two may have the same settings
                "settings": asdict(settings) if is_dataclass(settings) else settings, "seed": seed,
                "recipes": [recipe.key for recipe in self._recipes(settings, seed)]}

    def numbers(self, profile: str = "full", seed: int = 0, device: str = "auto") -> Numbers:
        """{claim: {number: value}}, measured now if they are not kept.

        Raises:
            data.store.Unavailable: the data are a stand-in; the ledger is about the real ones.
        """
        real_or_refused(self.source())
        with archive.anew():
            return self.claims(self.run(profile, seed, device))


@dataclass(frozen=True)
class Collection:
    """Numbers for the ledger that several experiments give together.

    Attributes:
        name: as the ledger calls it.
        sources: () -> those of all data.
        measure: (profile, seed, device) -> {claim: {number: value}}.
        ledger: {profile: seeds} with which the ledger measures them.
        long: one seed takes more than a quarter of an hour where nothing is kept.
    """
    name: str
    sources: Callable[[], Iterable[Source]]
    measure: Callable[..., Numbers]
    ledger: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: {"full": SEEDS})
    long: bool = False

    def numbers(self, profile: str = "full", seed: int = 0, device: str = "auto") -> Numbers:
        """As `Experiment.numbers`."""
        for source in self.sources():
            real_or_refused(source)
        with archive.anew():
            return self.measure(profile, seed, device)


def real_or_refused(source: Source) -> None:
    """Refuse a stand-in.

    Raises:
        data.store.Unavailable: it is one.
    """
    if source.is_stand_in:
        raise data.store.Unavailable(f"the ledger is about the real data, and here is only the {source.text}")


def missing(recipes: Iterable[Recipe]) -> list[Recipe]:
    """Those that the zoo does not hold yet, once each."""
    return [recipe for recipe in dict.fromkeys(recipes) if not zoo.has(recipe)]


def estimate(recipes: Iterable[Recipe], seconds: float, networks: str = "MLPs") -> str:
    """How long it takes to train what is missing, in a sentence.

    Args:
        recipes: all networks that the zoo keeps for the chapter; others may be trained with a sweep.
        seconds: that training and measuring took on two cores with nothing kept.
        networks: what they are called.
    """
    wanted = list(dict.fromkeys(recipes))
    to_train = missing(wanted)
    if not to_train:
        return f"All {networks} that the zoo keeps for this chapter are there: this takes seconds."
    return f"{len(to_train)} of {len(wanted)} {networks} have to be trained: about {seconds:g} s on two cores, once."


def to_measure(experiments: Iterable, profile: str, seed: int) -> list:
    """Those of the experiments whose sweep neither the repository nor the learner's store has."""
    return [one for one in experiments if not one.is_there(profile, seed)]


ALL_THERE = "Everything that is measured for this chapter is there already, so it opens in seconds."


def announce(*sentences: object) -> None:
    """What a chapter's notebook says first: which data it works on, and how long that takes."""
    for sentence in dict.fromkeys(map(str, sentences)):
        print(sentence)
