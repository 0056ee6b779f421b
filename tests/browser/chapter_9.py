"""What the pictures of chapter 9 say, beside what was measured."""
import re

from lessons.sail.experiment import gamma, spirals


def compare(page, said):
    """said: the alternative text of every panel, one step before the end of its slider."""
    starts, nearest, _, along, _ = said
    sweep = spirals.run("quick", 0)
    share = float(sweep.gamma[-2])
    setting = re.search(r"Parents: (.*)\. γ = ", starts)[1]
    loss = float(spirals.relative(sweep).sel(setting=setting, gamma=share))
    assert f"γ = {share:.2f}. Mean loss over training {loss:.2f} times" in starts
    sweep = gamma.run("quick", 0)
    case, start, share = re.search(r"Parents differ in (.*); (.*)\. γ = ([\d.]+):", nearest).groups()
    at = sweep.sel(case=case, start=start, gamma=float(share), steps=0)
    assert f"{float(at.distance):.1f} from θ*, loss {float(at.loss):.2f} before training" in nearest
    pair, steps = re.match(r"[^.]*\. (.*)\. After (\d+) steps", along).groups()  # behind the title
    case, start = pair.split("; ")
    half = sweep.loss.sel(case=case, start=start, steps=int(steps), gamma=0.5)
    assert int(steps) == int(sweep.steps[-2]) and f"at γ = ½ it is {float(half):.3f}" in along
