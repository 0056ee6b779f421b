"""Panel (d): the rule that switches the regulariser on and off."""
import xarray

from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, curve, here, moving_titles
from lessons.kit.plotting import BLACK, BLUE, GREEN, RED
from lessons.kit.predict import guessed
from lessons.linearization.experiment.rule import CONSTANT, FROM_START, HARMLESS, NONE, PRINTED, STARTS

LOOKS = {NONE: Look(BLACK, "o"), CONSTANT: Look(RED, "v", "--"), PRINTED: Look(BLUE, "s", ":"),
         HARMLESS: Look(GREEN, "^", "-.")}
LABELS = {NONE: "no regulariser", CONSTANT: "λ all the time", PRINTED: "the slides' rule",
          HARMLESS: "10.2: the largest λ that does no harm"}
LEAST = 1e-8  # R̃ that is drawn


@panel
def rules(sweep: xarray.Dataset, prediction=None):
    """Panel (d): training error and distance from θ_0 along training under four rules. Controls: start, lam, moment."""
    fig, (left, right) = plotting.figure(2, height=4.4)
    times = sweep.moment.values
    span = {"xlim": (0, times[-1] * 1.02), "xlabel": "time ηk"}
    left.set(yscale="log", ylabel="training error R̃ = ‖r‖²", ylim=(LEAST, 3 * float(sweep.error.max())), **span)
    right.set(ylabel="distance ‖θ − θ₀‖", ylim=(0, 1.06 * float(sweep.distance.max())), **span)
    errors, distances = ({name: curve(ax, look, LABELS[name], markersize=4, linewidth=1.5, markevery=4 + place)
                          for place, (name, look) in enumerate(LOOKS.items())} for ax in (left, right))
    lines = [here(ax, 0) for ax in (left, right)]
    fig.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    titles = moving_titles((left, right))
    first = float(sweep.lam[0])
    asked = {"start": FROM_START, "lam": first}
    guess = right.text(0.02, 0.04, "", transform=right.transAxes, color=plotting.PURPLE, fontsize=10, animated=True)
    if prediction:
        truth = 100 * float(sweep.first_on.sel(**asked, rule=PRINTED))
        prediction.panel_answers(truth, asked, "purple line of text")

    def draw(start, lam, moment):
        part = sweep.sel(start=start, lam=lam)
        for name in LOOKS:
            of_rule = part.sel(rule=name)
            errors[name].set_data(times, of_rule.error.clip(min=LEAST))
            distances[name].set_data(times, of_rule.distance)
        for line in lines:
            line.set_xdata([moment, moment])
        said_so = guessed(prediction, asked, {"start": start, "lam": lam})
        guess.set_text("" if said_so != said_so else f"★ you said: on in {said_so:g} % of the steps")
        of_moment = part.sel(moment=moment)
        numbers = {"start": start, "lam": lam, "moment": moment, "on": float(of_moment.share_on.sel(rule=PRINTED))}
        for short, name in (("none", NONE), ("constant", CONSTANT), ("rule", PRINTED), ("harmless", HARMLESS)):
            of_rule = of_moment.sel(rule=name)
            numbers |= {f"{short}_distance": float(of_rule.distance), f"{short}_error": float(of_rule.error)}
        titles[0].set_text(said("The rule: on in {on:.1%} of the steps so far", **numbers))
        titles[1].set_text(said("Distance: rule {rule_distance:.2f}, λ always {constant_distance:.2f}", **numbers))
        return said("""Start: {start}, λ = {lam:g}, time {moment:.2f}. The rule had the regulariser on in {on:.2%} of
                       the steps. Training error: none {none_error:.3g}, constant {constant_error:.3g}, the rule
                       {rule_error:.3g}, largest harmless {harmless_error:.3g}. Distance from θ₀: none
                       {none_distance:.3f}, constant {constant_distance:.3f}, the rule {rule_distance:.3f}, largest
                       harmless {harmless_distance:.3f}.""", **numbers)

    controls = {"start": choice("start", STARTS),
                "lam": slider("λ", {f"{lam:g}": lam for lam in map(float, sweep.lam.values)}, first),
                "moment": slider("time ηk", {f"{t:.2f}": float(t) for t in times}, float(times[-1]))}
    return controls, fig, draw
