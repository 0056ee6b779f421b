"""What the pictures of the deeper notebook on language models say, beside what was measured."""
from lessons.words.experiment import heads, lines, parts, texts
from lessons.words.panels.parts import METHODS, kept


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    pulled, exchanged, forgetting, between, negation, of_parts = said
    sweep = heads.EXPERIMENT.archived()
    lam = float(sweep.lam.values[-2])
    assert f" tuned, λ = {lam:g}. New head: distance " in pulled
    line = lines.run("quick", 0)
    alpha = float(line.alpha.values[-2])
    own = float(line.exchanged.sel(alpha=alpha, of="film", head="its own"))
    assert f"α = {alpha:.2f}, accuracy on film’s sentences: {own:.3f} under film’s head" in exchanged
    assert f"λ = {float(line.taken_lam.values[-2]):g}: accuracy on " in forgetting
    written = texts.EXPERIMENT.archived()
    alpha = float(written.alpha.values[-2])
    assert f"α = {alpha:.2f}, the share of A. Mean over {written.sizes['pair']} pairs" in between
    assert f"λ = {float(written.lam.values[-2]):g}: accuracy on " in negation
    measured = parts.EXPERIMENT.archived()
    assert any(str(kept(measured, start, trained, method)) in of_parts for method in METHODS
               for start in measured.start.values for trained in measured.trained.values)
