"""What the picture of chapter 7's deeper notebook says, beside what was measured."""
from lessons.interference.experiment import adaptation, comparison


def compare(page, said):
    """said: the alternative text of the panel, one step before the end of its slider."""
    suites = comparison.suites_of("quick")
    sweeps = {"rotated": comparison.run(suites["rotated"], "quick", 0)}
    sweep = adaptation.run_all({"rotated": suites["rotated"]}, sweeps, "quick", 0)["rotated"]
    entropy = sweep.entropy.sel(adapted="adamerging").values
    assert "step 22 of 24" in said[0] and f"entropy {entropy[-2]:.3f} nats (at first {entropy[0]:.3f}" in said[0]
