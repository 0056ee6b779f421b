"""What the picture of the deeper notebook of chapter 1 says, beside what was measured."""
from lessons.kit.sweep import at
from lessons.linearity.experiment import mlp


def compare(page, said):
    """said: the alternative text of the panel, one step before the end of its slider."""
    units, = said
    assert "α = 0.95" in units
    z_i, z_j = at(mlp.run("quick", 0), two="two finetuned networks").first_input.isel(image=0).values
    assert f"{(z_i * z_j < 0).sum()} units are on in one" in units
