"""What the pictures of chapter 6 say, beside what was measured."""
from lessons.gradients.experiment import epochs


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = epochs.run("quick", 0)
    last = int(sweep.epochs.values[-2])
    own = sweep.own.sel(data=epochs.DIGITS, optimiser=epochs.SGD, epochs=last).mean().item()
    assert f"{last} epochs: on their own tasks the six networks have accuracy {own:.3f} ±" in said[3]
