"""What the pictures of chapter 6 say, beside what was measured."""
from lessons.gradients.experiment import epochs


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = epochs.run("quick", 0)
    last = int(epochs.SHOWN[-2])
    own = sweep.own.sel(data=epochs.DIGITS, optimiser=epochs.SGD, epochs=last).mean().item()
    assert f"{last} epochs: the six networks read {own:.3f} of their own tasks" in said[3]
