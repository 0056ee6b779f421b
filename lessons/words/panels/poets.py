"""Between the network that writes as Shakespeare's plays do and the one that writes as presidents do."""
import numpy as np
import xarray

from lessons.kit.noise import WIDE, Difference
from lessons.kit.page import minus, said
from lessons.kit.sweep import caption, names, position
from lessons.kit.view import Axis, Band, Chart, Frame, Handle, Line, Reference, key, slider, view
from lessons.words.experiment import poets
from lessons.words.panels.networks import is_more

ROLES = ("a", "b")  # of the two texts, in the sweep's order
BOTH = "both texts"
MOST_ABOVE = 0.2  # nats above the better end: what the right chart draws
_ALT = """
    α = {alpha:.2f}, the share of the network of {first}. Loss in nats a letter: {first} {on_first:.3f}, {second}
    {on_second:.3f}, mean of both {both:.3f}. By α, mean of both: {by_alpha}. Averaging the two networks’ logits instead
    of their weights gives {mixed:.3f}. Compared with the better end, the mean at this α is {above:+.3f} ±
    {error:.3f}."""


@view
def poets_loss(sweep: xarray.Dataset):
    """Left, the loss on plays and on speeches along α, and their mean, each with two standard errors; right, by how
    much the mean is above that of the better end, with two standard errors of this difference, paired over pieces. The
    sweep is that of `experiment.poets`.

    Control: alpha.
    """
    alphas, texts = list(map(float, sweep.alpha.values)), names(sweep.text)
    loss = sweep.loss.transpose("text", "alpha", "piece")
    means, errors = loss.mean("piece").values, loss.std("piece", ddof=1).values / np.sqrt(loss.sizes["piece"])
    curves = {**dict(zip(texts, zip(means, errors))), BOTH: (means.mean(0), np.sqrt((errors ** 2).sum(0)) / len(texts))}
    end = _better_end(sweep)
    gains = [Difference(*poets.gain(sweep, alpha, end)) for alpha in alphas]
    above, far = (np.array([getattr(each, name) for each in gains]) for name in ("value", "error"))
    above = np.where(-above <= MOST_ABOVE, -above, np.nan)
    mixed = float(sweep.mixed.sel(way=poets.WAYS[0]).mean()) - float(loss.sel(alpha=end).mean())
    values = {"above": above, "sure of above": (above - WIDE * far, above + WIDE * far), "the better end": 0.0,
              "logits averaged": mixed}
    for name, (line, error) in curves.items():
        values |= {name: line, f"sure of {name}": (line - WIDE * error, line + WIDE * error)}

    def draw(alpha):
        step = position(alphas, alpha)
        alt = said(_ALT, alpha=alpha, first=texts[0], second=texts[1], on_first=means[0, step],
                   on_second=means[1, step], both=means[:, step].mean(),
                   by_alpha=", ".join(f"{each:g}: {value:.3f}" for each, value in zip(alphas, means.mean(0))),
                   mixed=mixed + float(loss.sel(alpha=end).mean()), above=-gains[step].value, error=gains[step].error)
        return Frame(finding_of_poets(sweep, alpha), minus(alt), values,
                     key(("a", f"Loss on {texts[0]}"), ("b", f"on {texts[1]}"), ("merged", "mean of both")))

    ends = [("", ""), ("", "")]
    return {"kicker": "Chapter 14: plays and presidents",
            "tries": ("Drag α from one network to the other. Where is the green line lowest?",
                      "Drag α beyond the ends."),
            "charts": _charts(alphas, texts, curves, values), "draw": draw,
            "controls": {"alpha": slider("α", {minus(f"{alpha:g}"): alpha for alpha in alphas},
                                         0.5 if 0.5 in alphas else alphas[0], places=alphas, ends=ends,
                                         words=lambda alpha: _where(alpha, texts))},
            "caption": f"{caption(sweep)} Bands: two standard errors of the pieces; right, of the difference, paired "
                       f"over pieces. The right picture stops at {MOST_ABOVE:g} nats."}


def _where(alpha, texts):
    """Where the slider stands."""
    if alpha in (0, 1):
        return f"the network of {texts[0] if alpha else texts[1]}"
    if 0 < alpha < 1:
        return "halfway" if alpha == 0.5 else f"{alpha:.0%} {texts[0]}"
    return f"beyond {texts[0] if alpha > 1 else texts[1]}"


def _better_end(sweep):
    """The α of the end whose loss on both texts together is lower."""
    return float(sweep.loss.sel(alpha=[0.0, 1.0]).mean(("text", "piece")).idxmin("alpha"))


def _charts(alphas, texts, curves, values):
    """The losses, and the mean above the better end, along α."""
    across = Axis("α", alphas[0] - 0.1, alphas[-1] + 0.1, ticks={alpha: minus(f"{alpha:g}") for alpha in alphas
                                                     if alpha not in (0.25, 0.75)})
    lines = np.concatenate([line for line, _ in curves.values()])
    looks = list(zip((*texts, BOTH), (*ROLES, "merged")))
    left = Chart(across, Axis("loss, nats a letter", float(lines.min()) - 0.08, float(lines.max()) + 0.08, digits=2),
                 (*(Band(f"sure of {name}", role) for name, role in looks),
                  *(Line(name, role, name) for name, role in looks), Handle("alpha")))
    low = float(np.nanmin([*values["sure of above"][0], values["logits averaged"]]))
    right = Chart(across, Axis("mean of both, minus that of the better end", low - 0.02, MOST_ABOVE, digits=3),
                  (Reference("the better end", "single", "better end"),
                   Reference("logits averaged", "other", "logits averaged"),
                   Band("sure of above", "merged"), Line("above", "merged", dots=True, near=True), Handle("alpha")))
    return [left, right]


def finding_of_poets(sweep: xarray.Dataset, alpha: float) -> str:
    """How the loss on both texts together compares with that of the ends, and beyond them with that of the nearer end,
    each beyond two standard errors of the paired difference."""
    texts = names(sweep.text)
    if alpha in (0.0, 1.0):
        leads = [_lower(sweep, text, place, 1 - place) for text, place in zip(texts, (1.0, 0.0))]
        return "Each end is better on its own text" if all(map(is_more, leads)) else \
            "That each end is better on its own text is within the noise"
    if not 0 < alpha < 1:
        end = float(alpha > 1)
        text = texts[0] if end else texts[1]
        worse = _lower(sweep, text, end, alpha)
        if not worse.is_news:
            return f"Beyond the end, the loss on {text} is within the noise of the end’s"
        return f"Beyond the end, {'even ' if worse.value > 0 else ''}{text} are predicted " \
            f"{'worse' if worse.value > 0 else 'better still'}"
    gains = {place: Difference(*poets.gain(sweep, alpha, place)) for place in (1.0, 0.0)}
    better = [text for text, gain in zip(texts, gains.values()) if is_more(gain)]
    worse = [text for text, gain in zip(texts, gains.values()) if gain.is_news and gain.value < 0]
    together = "On both texts together, this network is"
    for word, ends in (("better", better), ("worse", worse)):
        if len(ends) == 2:
            return f"{together} {word} than either end"
    if better and worse:
        return f"{together} better than the end of {better[0]}, but worse than that of {worse[0]}"
    if not better + worse:
        return f"{together} within the noise of both ends"
    near = next(text for text in texts if text not in better + worse)
    word, end = ("better", better[0]) if better else ("worse", worse[0])
    return f"{together} {word} than the end of {end}, within the noise of {near}"


def _lower(sweep, text, alpha, other):
    """By how much the loss on one text is lower at one α than at another, paired over pieces."""
    of_text = sweep.loss.sel(text=text)
    return Difference.paired(of_text.sel(alpha=other).values, of_text.sel(alpha=alpha).values)
