"""What the pictures of chapter 10 say, beside what was measured."""
from lessons.sail.experiment import depth, width


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    wider, deeper = said
    sweep = width.run("quick", 0)
    orders = sweep.numbering_accuracy.sel(direction=width.GROW)[1]
    assert f"{float(orders.min()):.3f}" in wider and f"{float(orders.max()):.3f}" in wider
    loss = depth.run("quick", 0).loss.sel(start="silent", steps=0)
    assert any(f"have loss {float(value):.3f} at once" in deeper for value in loss)
