"""The table of notebooks: the lessons of the main line, and the deeper notebooks for readers of the papers. What
exercises, tests, screenshots and README ask about one stands here and nowhere else."""
import ast
import functools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Chapter:
    """One notebook: a lesson of the main line, or a deeper one.

    Attributes:
        stem: of its notebook, "01_linearity"; the number in front is that of its exercises. A deeper notebook has the
            number of the lesson whose paper it reads.
        package: "lessons.linearity"; two lessons may share one.
        teaches: a line for the README.
        slider: what is moved, for the README.
        panels: how many the notebook shows.
        quick, full: budgets with nothing kept, in epochs of chapter 1's MLP; `make bench` says how many seconds one
            takes here. Machines differ by a factor of two and more: 45 epochs were 30 s on two AVX2 cores.
        needs: the data sets behind its official files: "mnist", "cifar", "fashion", "sentences".
        needs_in_full: those that its profile "full" needs besides.
        pictures: {index of a panel: name of its picture in docs/}.
        deeper: whether it lies in notebooks/deeper, for readers of the papers.
    """
    stem: str
    package: str
    teaches: str
    slider: str
    panels: int
    quick: int = 45
    full: int = 90
    needs: tuple[str, ...] = ("mnist",)
    needs_in_full: tuple[str, ...] = ()
    pictures: Mapping[int, str] = field(default_factory=dict)
    deeper: bool = False

    @property
    def exercises(self) -> str:
        """The module of its exercises."""
        return f"{self.package}.exercises"

    @property
    def number(self) -> str:
        """As in the ids of its exercises: "1"."""
        return str(int(self.stem.partition("_")[0]))

    @property
    def notebook(self) -> Path:
        """Where the notebook lies."""
        return ROOT / "notebooks" / self.place

    @property
    def place(self) -> str:
        """Where it lies in the folder of notebooks: "deeper/09_theorems.ipynb"."""
        return f"{'deeper/' if self.deeper else ''}{self.stem}.ipynb"

    @property
    def title(self) -> str:
        """Its name, which stands behind the number in its first heading: "A head start"."""
        return read_markdown(self.notebook)[0].splitlines()[0].partition(" · ")[2]

    @property
    def data(self) -> str:
        """The data sets that it needs, for the README."""
        named, more = (", ".join(map(DATA.get, names)) for names in (self.needs, self.needs_in_full))
        return f"{named}; in `full` also {more}" if more else named

    @property
    def minutes(self) -> int:
        """How long a learner takes: what the headings of the notebook's sections say, "## Adding (13 minutes)",
        together, to the nearest five."""
        text = "\n\n".join(read_markdown(self.notebook))
        return 5 * round(sum(map(int, _SECTION.findall(text))) / 5)

    @property
    def asks(self) -> "Asked":
        """What its notebook asks of a learner, as it stands on disk now; nothing, where no notebook can be read there.
        """
        try:
            return _asked(self.stem, self.notebook.read_text(encoding="utf-8"))
        except (OSError, ValueError, LookupError, TypeError):  # a learner may have moved or spoilt it
            return Asked((), (), {})


@dataclass(frozen=True)
class Asked:
    """What a notebook asks of a learner.

    Attributes:
        exercises: the ids of its checks, "1.2".
        questions: those of its self-tests, "1.a".
        guesses: {the call of `predict`, as Python writes it: "01_linearity/guess", the notebook and the cell}.
    """
    exercises: tuple[str, ...]
    questions: tuple[str, ...]
    guesses: Mapping[str, str]


@functools.lru_cache(maxsize=64)
def _asked(stem, text):
    cells = {cell["id"]: "".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"}
    guesses = {call: f"{stem}/{id}" for id, source in cells.items() for call in _calls_of_predict(source)}
    sources = "\n".join(cells.values())
    return Asked(*(tuple(dict.fromkeys(pattern.findall(sources))) for pattern in (_CHECK, _QUIZ)), guesses)


def _calls_of_predict(source):
    """The calls in a cell; none where a learner has made it something that is no Python."""
    try:
        nodes = ast.walk(ast.parse(source)) if "predict(" in source else ()
    except SyntaxError:
        return []
    return [ast.unparse(node) for node in nodes
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "predict"]


_CHECK = re.compile(r'\bcheck\("(\d+\.\d+)"')
_QUIZ = re.compile(r'\bquiz\("(\d+\.[a-z])"')
_SECTION = re.compile(r"^## .*\((\d+) minutes?\b[^)]*\)$", re.MULTILINE)


def read_markdown(notebook: Path) -> list[str]:
    """The text of a notebook's markdown cells."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]


DATA = {"mnist": "MNIST", "cifar": "CIFAR-100", "fashion": "Fashion-MNIST", "sentences": "NLTK’s corpora"}
CIFAR = ("cifar",)

CHAPTERS = (
    Chapter("00_start_here", "lessons.start", panels=1, slider="α",
            teaches="how the course works; that it matters how two networks began; two spirals",
            pictures={0: "start_decision_map"}),
    Chapter("01_linearity", "lessons.linearity", panels=4, slider="α", needs=("mnist", "fashion"), quick=60,
            teaches="what lies between two finetuned networks: linear mode connectivity, layerwise linear feature "
                    "connectivity and cross-task linearity, measured on Rotated MNIST; why there is no hill",
            pictures={0: "linearity_strangers", 1: "linearity_along_the_line", 2: "linearity_gap_per_layer",
                      3: "linearity_coef_per_layer"}),
    Chapter("01_kinks", "lessons.linearity", deeper=True, panels=1, slider="α", needs=("mnist", "fashion"), quick=60,
            teaches="where features miss the mix most and why: units that switch and layers that multiply; the "
                    "figures and claims of cross-task linearity"),
    Chapter("02_linearity_resnet", "lessons.resnet", panels=4, slider="α, block", needs=("cifar",), quick=130,
            full=2250,
            teaches="whether that survives depth: ResNet-18 on Split CIFAR-100, block by block; what BatchNorm's "
                    "statistics and rows nobody trained do to a network; how much pretraining it takes",
            pictures={1: "resnet_batchnorm"}),
    Chapter("02_statistics", "lessons.resnet", deeper=True, panels=2, slider="images in a step, layer",
            needs=("cifar",), quick=130, full=2250,
            teaches="how to tell a difference from noise; a last batch of four that ruins a network; the variance of a "
                    "mix, layer by layer; figures and claims of CTL on ResNet-18"),
    Chapter("03_averaging", "lessons.averaging", panels=4, slider="α over three models", full=120,
            teaches="averaging many networks, and averaging what they predict; the network that spoils an average; "
                    "soups",
            pictures={2: "averaging_triangle"}),
    Chapter("03_pairs", "lessons.averaging", deeper=True, panels=1, slider="k", needs_in_full=CIFAR, full=450,
            teaches="when pairs tell about twenty: a lemma whose proof fails, and what holds instead; how much of a "
                    "correlation its members explain; ten triples of ResNets"),
    Chapter("04_task_arithmetic", "lessons.task_arithmetic", panels=4, slider="λ", quick=90, full=360,
            teaches="adding and subtracting task vectors, how much of each to add, and how far features follow; "
                    "whether a subtracted task is forgotten; a mixing desk for eight tasks",
            pictures={3: "task_arithmetic_mixing_desk"}),
    Chapter("04_exponents", "lessons.task_arithmetic", deeper=True, panels=1, slider="λ", needs_in_full=CIFAR,
            quick=90, full=1350,
            teaches="the exponent of the error of Eq. 2, which does not tell its cause; what below chance means; "
                    "stitching, analogies and a ResNet-18; the figures of CTL beside ours"),
    Chapter("05_pretraining", "lessons.pretraining", panels=4, slider="α", quick=75, full=270,
            teaches="what pretraining gives: a common start or common knowledge? matching neurons, shuffled labels, "
                    "steps that are too long, curvature and distance",
            pictures={1: "pretraining_along_the_line"}),
    Chapter("05_theorem", "lessons.pretraining", deeper=True, panels=1, slider="s", needs_in_full=CIFAR, quick=75,
            full=1350,
            teaches="what may be permuted in a network, written down as data; a theorem on curvature and distance "
                    "with both sides measured, where a Hessian is blind, and whether curvature times distance predicts "
                    "anything; ResNet-18; Figures 11 and 12"),
    Chapter("06_gradients", "lessons.gradients", panels=4, slider="k, η, epochs, rounds",
            full=450,
            teaches="task vectors as gradients: equal after one step, why they part at the second, and where the "
                    "formula for it fails; how long to finetune, how often to merge"),
    Chapter("06_derivation", "lessons.gradients", deeper=True, panels=3, slider="η, α, rounds", full=450,
            teaches="the gap between task arithmetic and joint training, derived line by line and checked by numbers; "
                    "a formula and a bound put right; mini-batches, Adam and the first epoch; one basin",
            pictures={0: "gradients_gap"}),
    Chapter("07_interference", "lessons.interference", panels=3, slider="λ, density",
            needs=("mnist", "fashion"), needs_in_full=CIFAR, full=3600,
            teaches="what interference is; TIES by hand; a race of merging methods, all tuned alike; a map of all of "
                    "them; on which tasks CART leads",
            pictures={0: "merging_interference"}),
    Chapter("07_comparisons", "lessons.interference", deeper=True, panels=3, slider="a, method, step",
            needs=("mnist", "fashion"), needs_in_full=CIFAR, full=3600,
            teaches="the plane of the average, task arithmetic and CART; the race in tables, with the sources' grids; "
                    "test-time adaptation without labels; choices that implementers make",
            pictures={0: "merging_plane"}),
    Chapter("08_cart", "lessons.cart", panels=6, slider="directions kept, pixels permuted", quick=130, full=3600,
            needs=("mnist", "fashion"), needs_in_full=CIFAR,
            teaches="centred low-rank task vectors: why CART must keep some directions but not all, whether it is "
                    "the centring that helps, which tasks they need, where to cut, and what they are good for in "
                    "storage"),
    Chapter("08_paper", "lessons.cart", deeper=True, panels=5, slider="rank, λ", needs_in_full=("fashion", "cifar"),
            quick=130, full=3600,
            teaches="CART’s figures beside ours: the bell at every λ, layers of several widths, interference as meant, "
                    "a theorem with its counterexamples, a map of the loss, bits, ResNet-18",
            pictures={0: "cart_bell"}),
    Chapter("09_head_start", "lessons.sail", panels=5, slider="γ, steps", quick=65, full=1000,
            needs_in_full=("fashion", "cifar"),
            teaches="when a mixture of two trained networks is a better start than the better of the two alone; why "
                    "the nearest mixture need not be the best one; why the best one depends on how long you train",
            pictures={0: "sail_spirals"}),
    Chapter("09_theorems", "lessons.sail", deeper=True, panels=1, slider="d", quick=65, full=1000,
            needs=("mnist", "fashion"), needs_in_full=CIFAR,
            teaches="four theorems, with proofs that hold and counterexamples; distances of data in place of distances "
                    "of weights; a printed table that does not add up; GPT, flows, ResNets and BYOL"),
    Chapter("10_growing", "lessons.sail", panels=2, slider="numbering, the sum of a row", quick=45, full=1000,
            needs_in_full=CIFAR,
            teaches="how to start a wider or deeper network from a trained one, which ways keep what it knows, and why "
                    "units have no neighbours"),
    Chapter("11_tangent", "lessons.linearization", panels=5, slider="λ, share of the way, α",
            quick=45, full=540,
            teaches="whether finetuning is linear: a network beside its tangent, a pull that keeps it near, finetuning "
                    "in one line, and whether linearity is why merging works"),
    Chapter("11_theorems", "lessons.linearization", deeper=True, panels=5, slider="λ, σ, rank", quick=45, full=540,
            teaches="five theorems with both sides measured, two of them put right; which layers to tune; LoRA",
            pictures={3: "linearization_subsets"}),
    Chapter("12_transformers", "lessons.vit", panels=3, slider="α, rank, λ", needs=("mnist", "fashion"), quick=130,
            full=2250,
            teaches="a vision transformer from its pixels up; whether features add up in it, and why that does not "
                    "make eight of them easy to merge",
            pictures={1: "vit_lines"}),
    Chapter("13_checkpoints", "lessons.vit", panels=2, slider="α, rank, matrix", needs=("mnist", "fashion"), quick=130,
            full=130,
            teaches="what a file of weights can be, names that differ between libraries, your own checkpoints layer by "
                    "layer, a merge with a card, and LoRA adapters"),
    Chapter("13_published_tables", "lessons.vit", deeper=True, panels=1, slider="λ", needs=("mnist", "fashion"),
            quick=130, full=2250,
            teaches="CLIP from files, heads made of sentences, why two of the published tables must not be compared; "
                    "figures of CART and CTL beside ours"),
    Chapter("14_words", "lessons.words", panels=6, slider="λ, α, directions", needs=("sentences",), quick=130,
            full=130,
            teaches="how sentences become numbers; whether encoders of text add up, ours and a real one; what it costs "
                    "to choose a rank on few sentences; which of their weights add; half a poet, half a president"),
    Chapter("14_language", "lessons.words", deeper=True, panels=6, slider="λ, α", needs=("sentences",), quick=130,
            full=130,
            teaches="why a key needs no bias; what a penalty does under a new and under a probed head; a network that "
                    "answers in words and does not merge; figures of CART, CTL and LFT on language beside ours"),
)


LESSONS = tuple(one for one in CHAPTERS if not one.deeper)


def chapter(stem: str) -> Chapter:
    """The line of the table with this notebook.

    Raises:
        ValueError: there is none; the message lists those that there are.
    """
    found = {one.stem: one for one in CHAPTERS}
    if stem not in found:
        raise ValueError(f"there is no chapter {stem!r}; there are: {', '.join(found)}")
    return found[stem]


def readme_table() -> str:
    """The README's tables of lessons and deeper notebooks, with how long they run; a test compares."""
    rows, deeper = (["| lesson | what you will know | time | data | slider |", "|---|---|---|---|---|"],
                    ["| deeper | what you will know | time | data |", "|---|---|---|---|"])
    for lesson in CHAPTERS:
        cells = [f"[{lesson.number} · {lesson.title}](notebooks/{lesson.place})", lesson.teaches,
                 f"{lesson.minutes}\N{NO-BREAK SPACE}min", lesson.data, *([] if lesson.deeper else [lesson.slider])]
        (deeper if lesson.deeper else rows).append(f"| {' | '.join(cells)} |")
    *most, last = (lesson.number for lesson in LESSONS if lesson.quick > _MINUTE)
    for_readers = "For readers of the papers there are deeper notebooks, with proofs, tables and what did not work:"
    return "\n".join([*rows, "", for_readers, "", *deeper, "", f"""\
The times are for reading, guessing and exercises. The computer needs less: with `profile = "quick"`, on a machine with
two cores, the first run of most chapters takes less than a minute, and that of chapters {", ".join(most)} and {last}
takes one to two minutes. Every later run opens in seconds, because models and measurements are kept."""])


def readme() -> str:
    """The README with its table of chapters as it should be, between the two marks."""
    before, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition(_BEGINS)
    return f"{before}{_BEGINS}\n{readme_table()}\n{_ENDS}{rest.partition(_ENDS)[2]}"


_MINUTE = 90  # epochs of chapter 1's MLP in a minute, on two AVX2 cores
_BEGINS = "<!-- chapters: written by python -m lessons.kit.chapters -->"
_ENDS = "<!-- end of chapters -->"

if __name__ == "__main__":
    (ROOT / "README.md").write_text(readme(), encoding="utf-8")
