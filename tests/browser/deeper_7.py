"""What the pictures of chapter 7's deeper notebook say, beside what was measured."""
from lessons.interference.experiment import adaptation, comparison, results, unraced
from lessons.interference.panels.methods import title_of


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    plane, everything, adapting = said
    assert "rank ratio" in plane
    suites = comparison.suites_of("quick")
    sweeps = comparison.run_all(suites, "quick", 0)
    others = unraced.run_all(suites, "quick", 0)["several"]
    shares = results.shares(unraced.together(sweeps["several"], others)).mean("task")
    for method in ("regmean", "average", "cart"):
        assert f"{title_of(method)} {shares.sel(reported=method).item():.3f} ±" in everything
    sweep = adaptation.run_all({"rotated": suites["rotated"]}, sweeps, "quick", 0)["rotated"]
    entropy = sweep.entropy.sel(adapted="adamerging").values
    assert "step 22 of 24" in adapting and f"entropy {entropy[-2]:.3f} nats (at first {entropy[0]:.3f}" in adapting
