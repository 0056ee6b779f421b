"""What it saves to compute once what many triples have in common."""
import time

import torch

from lessons import cast
from lessons.averaging.algorithms import Family
from lessons.averaging.experiment.models import TWENTY
from lessons.averaging.experiment.triples import TRIPLES
from toy_models import MLP, training, weights


@training.one_thread()
def speed_of_sharing(triples: int = 40, images: int = 2000) -> dict[str, float]:
    """Seconds a triple for the plain computation and for the shared one, on random networks of the chapter's shape, and
    their ratio, in one run."""
    torch.manual_seed(0)
    states = [cast.MLP_100.build().requires_grad_(False).state_dict() for _ in TWENTY]
    x = torch.rand(images, 28, 28)
    chosen = TRIPLES[::len(TRIPLES) // triples][:triples]

    def plainly():
        for triple in chosen:
            MLP.from_state(weights.average([states[i] for i in triple]))(x)
            sum(MLP.from_state(states[i])(x) for i in triple)

    def shared():
        for triple in chosen:
            family.average(triple)
            family.ensemble(triple)

    plain = _seconds(plainly) / len(chosen)
    begin = time.perf_counter()
    family = Family(states, x)
    once = time.perf_counter() - begin
    together = once / len(TRIPLES) + _seconds(shared) / len(chosen)
    return {"plain": plain, "shared": together, "ratio": plain / together}


def _seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin
