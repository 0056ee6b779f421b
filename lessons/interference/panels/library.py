"""The library of merging methods: a map of them, tables of those in the race and outside it, and a table of all."""
from lessons.interference.experiment.searches import REPORTED, STORING
from lessons.kit import plotting
from lessons.kit.page import Page, folded, quiet, table
from lessons.kit.plotting import BLACK, GREEN
from lessons.merging import methods
from lessons.merging.registry import Method, Needs

NOTHING, ENTRIES, DIRECTIONS = "nothing", "single entries", "small singular values"
MERGEKIT = {"slerp": "slerp", "model_stock": "model_stock", "della": "della, della_linear"}
PASSTHROUGH = ("Passthrough", "takes tensors as they are, to stack layers of several models into a deeper one",
               "– (see chapter 10)", "passthrough")


def dropped(method: Method) -> str:
    """What kind of thing a method drops: NOTHING, ENTRIES or DIRECTIONS."""
    drops = methods()["cart"].drops if method.drops == "as CART" else method.drops
    if drops == "nothing":
        return NOTHING
    return DIRECTIONS if "singular" in drops else ENTRIES


@plotting.themed
def overview():
    """A map of all methods: by what they drop, from left to right, and by what they need, from top to bottom."""
    cells = {(needs, drops): [] for needs in Needs for drops in (NOTHING, ENTRIES, DIRECTIONS)}
    for name, method in methods().items():
        cells[method.needs[0], dropped(method)].append(name)
    most = {needs: max(len(cells[needs, drops]) for drops in (NOTHING, ENTRIES, DIRECTIONS)) for needs in Needs}
    lines = sum(most.values()) + len(most)
    fig, ax = plotting.figure(height=0.24 * lines + 0.7)
    top = 0.0
    for needs in Needs:
        ax.text(-0.05, top + 0.8, needs, ha="right", va="center", fontsize=9.5)
        for column, drops in enumerate((NOTHING, ENTRIES, DIRECTIONS)):
            for line, name in enumerate(cells[needs, drops]):
                raced = name in REPORTED
                ax.text(column + 0.05, top + 0.8 + line, methods()[name].short, va="center", fontsize=9.5,
                        color=GREEN if raced else BLACK, fontweight="bold" if raced else "normal")
        top += most[needs] + 1
        ax.axhline(top - 0.1, color="#cccccc", marker="", linewidth=0.8)
    for column in range(3):
        ax.axvline(column, color="#cccccc", marker="", linewidth=0.8)
    ax.set(xlim=(-0.75, 3), ylim=(top - 0.1, 0), yticks=[])
    ax.set_xticks([0.5, 1.5, 2.5], [f"drops {drops}" for drops in (NOTHING, ENTRIES, DIRECTIONS)])
    ax.tick_params(length=0)
    ax.xaxis.tick_top()
    ax.spines[:].set_visible(False)
    ax.grid(False)
    told = "; ".join(f"{needs}, drops {drops}: {', '.join(methods()[name].short for name in names)}"
                     for (needs, drops), names in cells.items() if names)
    return plotting.show(fig, f"Methods by what they need and what they drop. {told}.", "Green: in the race below.")


KNOWN = ("average", "task_arithmetic", "ties")  # from the lessons before this table


def raced() -> Page:
    """A table of the methods of the race that the lesson has not told of yet, a line each; last those that store
    something per task."""
    rows = [(methods()[name].short + "*" * (name in STORING), methods()[name].drops, methods()[name].combines)
            for name in REPORTED if name not in KNOWN]
    return table(("in the race", "drops", "puts the rest together as"), rows, "\n".join(map(": ".join, rows)), left=3,
                 after=quiet("* stores something per task."))


def not_raced() -> Page:
    """A table of the methods that are not in the race: each in one line, and where to find it."""
    rows = [(method.title, _in_one_line(method), name, MERGEKIT.get(name, "–"))
            for name, method in methods().items() if name not in REPORTED]
    text = "\n".join(": ".join(row[:2]) for row in (*rows, PASSTHROUGH))
    head = ("not in the race", "what it makes of the networks", "name here", "in mergekit")
    note = quiet("“Here” is what merge(name, θ₀, networks, …) calls it. The deeper notebook also compares most of "
                 "these.")
    return table(head, [*rows, PASSTHROUGH], text, left=4, after=note)


def _in_one_line(method):
    return method.combines if method.drops == "nothing" else f"{method.combines}; drops {method.drops}"


def registry() -> Page:
    """A table of all methods: what each drops, how it combines the rest, what it needs; folded, their formulas,
    parameters and sources."""
    rows = []
    lines = []
    details = []
    for name, method in methods().items():
        needs = ", ".join(method.needs)
        rows.append([method.title, method.drops, method.combines, needs])
        lines.append(f"{name}: drops {method.drops}; {method.combines} [{needs}]")
        parameters = ", ".join(parameter.name if parameter.required else f"{parameter.name} = {parameter.default}"
                               for parameter in method.parameters) or "none"
        details.append([name, method.says, parameters, method.source])
    more = folded("Formulas, parameters and sources",
                  table(("name", "in one line", "parameters", "source"), details, left=4))
    return table(("method", "drops", "puts together", "needs"), rows, "\n".join(lines), left=4,
                 after=more.page)
