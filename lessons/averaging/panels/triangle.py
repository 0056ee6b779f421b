"""Panel (d): all mixes of three models."""
import matplotlib as mpl
import numpy as np
import torch
import torch.nn.functional as F
import xarray

from lessons.averaging.experiment.models import BOLD
from lessons.averaging.experiment.triangle import mix_of
from lessons.kit import plotting
from lessons.kit.page import said
from lessons.kit.panel import choice, panel, slider
from lessons.kit.panel.moving import Look, cloud, level, moving_titles
from lessons.kit.plotting import BLACK, PURPLE
from lessons.kit.predict import guessed

HEIGHT = np.sqrt(3) / 2
CORNERS = np.array([[0.5, HEIGHT], [0.0, 0.0], [1.0, 0.0]])  # of the first, second and third model
GUESS = Look(PURPLE)
HOW = ("triangle_average", "triangle_ensemble")


@panel
def mixes_of_three(sweep: xarray.Dataset, prediction=None):
    """Panel (d): accuracy over all mixes of three models, of averaged weights and of the ensemble.

    Controls: alpha (first model's share), rest, three. The prediction, the average of the bold one and the two best,
    is a purple line on the scale of colours.
    """
    fig, axes = plotting.figure(2, height=3.6)
    accuracies = sweep[list(HOW)].to_dataarray()
    # most colours for the highest accuracies, where most mixes are
    norm = mpl.colors.PowerNorm(2.5, float(accuracies.min()), float(accuracies.max()))
    triangles = [_Triangle(ax, what) for ax, what in zip(axes, ("Averaged weights", "Ensemble of outputs"))]
    bar = fig.colorbar(mpl.cm.ScalarMappable(norm, "cividis"), ax=list(axes), pad=0.03, shrink=0.9,
                       label="accuracy: share correct (uneven steps)")
    bar.set_ticks([tick for tick in (0.5, 0.7, 0.8, 0.9, 0.95) if norm.vmin <= tick <= norm.vmax])
    threes = sorted(map(str, sweep.three.values), key=lambda three: BOLD not in three)  # the bold one first
    grid = list(map(float, sweep.first.values))
    names = [str(name).split(":")[0] for name in sweep.name.values]
    values = {three: [sweep[how].sel(three=three) for how in HOW] for three in threes}
    a_third = grid[len(grid) // 3]
    asked = {"alpha": a_third, "rest": 0.5, "three": threes[0]}
    guess = level(bar.ax, GUESS)
    if prediction:
        truth = sweep.triangle_average.sel(three=threes[0], first=a_third, second=0.5).item()
        prediction.panel_answers(truth, asked, mark="purple line on the scale of colours")
    pictures = {three: [_picture(part, norm) for part in parts] for three, parts in values.items()}

    def draw(alpha, rest, three):
        shares = mix_of(alpha, rest).numpy()
        members = [names[i] for i in sweep.triangle_member.sel(three=three).values]
        now = []
        for triangle, picture, part in zip(triangles, pictures[three], values[three]):
            accuracy = float(part.values[grid.index(alpha), grid.index(rest)])
            triangle.show(picture, members, shares, f"{accuracy:.3f}  at α = {alpha:.2f}, rest {rest:.2f}")
            now.append(accuracy)
        height = guessed(prediction, asked, {"alpha": alpha, "rest": rest, "three": three})
        guess.set_ydata([height, height])
        mix = ", ".join(f"{share:.2f} of {name}" for share, name in zip(shares, members))
        least = [float(part.min()) for part in values[three]]
        return said("""Mix of {mix} (α = {alpha:.2f}, {rest:.2f} of the rest): averaged weights {average:.3f}, ensemble
                       {ensemble:.3f}. Over the whole triangle the averaged weights have at least {average_least:.3f},
                       the ensemble at least {ensemble_least:.3f}.""",
                    mix=mix, alpha=alpha, rest=rest, average=now[0], ensemble=now[1],
                    average_least=least[0], ensemble_least=least[1])

    controls = {"alpha": slider("α, share of the model at the top", grid, a_third),
                "rest": slider("of the rest, to the left", grid, 0.5),
                "three": choice("three models", threes)}
    return controls, fig, draw


class _Triangle:
    """A picture over the triangle with a spot in it, its corners' names and a title."""

    def __init__(self, ax, what):
        self._what = what
        self._image = ax.imshow(np.zeros((2, 2, 4)), origin="lower", extent=(0, 1, 0, HEIGHT),
                                interpolation="bilinear", animated=True)
        ax.set(xlim=(-0.2, 1.2), ylim=(-0.1, HEIGHT + 0.1), aspect="equal")
        ax.set_axis_off()
        self._spot = cloud(ax, Look("white", "o"), markersize=11, markeredgecolor=BLACK, markeredgewidth=1.5)
        self._title, = moving_titles((ax,))
        self._names = []
        for (x, y), off, va in zip(CORNERS, (0.03, -0.03, -0.03), ("bottom", "top", "top")):
            self._names.append(ax.text(x, y + off, "", ha="center", va=va, fontsize=9.5, animated=True))

    def show(self, picture, members, shares, text):
        """picture: (size, size, 4) colours; members: a name a corner; shares: (3,), where the spot lies."""
        self._image.set_data(picture)
        self._spot.set_data(*(shares @ CORNERS)[:, None])
        for name, member in zip(self._names, members):
            name.set_text(member)
        self._title.set_text(f"{self._what}: {text}")


def _picture(values, norm, size=90):
    """(size, size, 4) colours over the triangle, from accuracies on the grid of the two sliders."""
    x, y = np.meshgrid(np.linspace(0, 1, size), np.linspace(0, HEIGHT, size))
    first = y / HEIGHT
    second = np.divide(1 - x - first / 2, 1 - first, out=np.full_like(x, 0.5), where=first < 1)
    inside = (x >= first / 2 - 0.005) & (x <= 1 - first / 2 + 0.005)
    grid = torch.tensor(values.transpose("first", "second").values)[None, None]
    places = np.stack([second.clip(0, 1), first], -1)
    places = torch.tensor(places)[None] * 2 - 1  # grid_sample counts from −1 to 1, columns first
    between = F.grid_sample(grid, places, align_corners=True, padding_mode="border")  # bilinear
    colours = mpl.colormaps["cividis"](norm(between[0, 0].numpy()))
    colours[~inside, 3] = 0
    return colours
