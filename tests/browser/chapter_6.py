"""What the pictures of chapter 6 say, beside what was measured."""
from lessons.gradients.experiment import epochs, rounds


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    sweep = epochs.run("quick", 0)
    last = int(sweep.epochs.values[-2])
    own = sweep.own.sel(data=epochs.DIGITS, optimiser=epochs.SGD, epochs=last).mean().item()
    assert any(f"{last} epochs: on their own tasks the six networks have accuracy {own:.3f} ±" in text for text in said)
    many = rounds.run("quick", 0)
    number = int(many.rounds.values[-2])
    end = many.accuracy.sel(scale=1.0, rounds=number).isel(spent=-1).item()
    assert any(f"{number} rounds of finetuning" in text and f"accuracy {end:.3f} ±" in text
               for text in said)
