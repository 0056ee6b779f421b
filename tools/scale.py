"""docs/scale.md: what ten seeds of the claims on large networks would cost at the sources' own sizes, and where the
design would break first. `python -m tools.scale` writes it (`make docs`).

Nothing is measured here. FLOPs are counted as 6·N·D for training and 2·N·D for looking, where N is the number of
parameters and D that of tokens; a table of assumptions says where each number comes from. What a cluster would do is
simulated: machines that take jobs, a line that carries weights, and machines that stop.
"""
import heapq
import random
import statistics
from dataclasses import dataclass
from pathlib import Path

import jinja2

from data.cluster import AHEAD
from lessons.kit.chapters import ROOT

PAGE = ROOT / "docs/scale.md"
SEEDS = 10
BYTES = 4  # of a parameter: the zoo keeps float32


@dataclass(frozen=True)
class Assumed:
    """A number that everything below rests on, and where it comes from."""
    value: float
    means: str
    source: str


ASSUMED = {
    "peak": Assumed(989e12, "FLOP/s of one GPU in bfloat16, without sparsity (H100 SXM)", "NVIDIA's data sheet"),
    "used": Assumed(0.4, "share of this that training and evaluation reach", "ours; a first run would replace it"),
    "core": Assumed(30e9, "FLOP/s of one CPU core in float64", "ours; a product of matrices on one AVX2 core"),
    "line": Assumed(1.25e9, "bytes/s between the machine that asks and the others", "ours; 10 Gbit/s"),
    "stops": Assumed(1000.0, "hours after which one machine stops, on average", "ours"),
    "vit_steps": Assumed(2000, "steps of finetuning a CLIP model on one task",
                         "Ilharco et al. 2023, whose checkpoints CTL takes (B.1.3)"),
    "vit_batch": Assumed(128, "images in such a step", "Ilharco et al. 2023"),
    "t5_samples": Assumed(1e6, "texts that finetuning T5 on one task sees", "ours; CTL takes checkpoints as they are"),
    "t5_tokens": Assumed(512, "tokens of such a text", "ours; the context of T5"),
    "glue_tokens": Assumed(128, "tokens of a text of GLUE", "ours"),
    "glue_epochs": Assumed(10, "epochs on a task of GLUE", "Liu et al. 2019, at most"),
    "soup_epochs": Assumed(10, "epochs of finetuning on ImageNet", "ours; Wortsman et al. 2022 try 4 to 16"),
    "settings": Assumed(44, "settings that CART tries: 4 ranks and 11 values of λ", "CART, appendix B"),
    "test": Assumed(10_000, "images of a test set", "CTL, B.1.3; ours for CART"),
    "subsets": Assumed(100, "sets of tasks of each size", "ours; CART (Eq. 10) does not give its ε"),
    "sit_images": Assumed(400_000 * 256, "images that training SiT-B/2 sees, 400,000 steps of 256", "SAIL, table 3"),
    "gpt_tokens": Assumed(20, "tokens a parameter in pretraining a GPT", "Hoffmann et al. 2022; SAIL does not say"),
    "lft_pulls": Assumed(8, "trainings on each of LFT's 4 tasks (SST-2, CoLA, IMDb, Yelp): pulls and forms", "ours"),
    "λ": Assumed(10, "values of λ on a line between two models", "ours"),
}


def assumed(name: str) -> float:
    """The value of an assumption."""
    return ASSUMED[name].value


@dataclass(frozen=True)
class Model:
    """A network of the sources: its parameters, tokens of one sample, width, and where these numbers come from."""
    name: str
    parameters: float
    tokens: float
    width: int
    source: str

    @property
    def size(self) -> float:
        """Bytes of its weights."""
        return BYTES * self.parameters

    @property
    def attention(self) -> float:
        """What attention between n tokens adds to 2·N a token: 4·n·d of 24·d² in a block of width d."""
        return self.tokens / (6 * self.width)


VIT_B = Model("ViT-B/32", 87.8e6, 50, 768, "CLIP's image tower; 7 · 7 patches and one more")
VIT_L = Model("ViT-L/14", 304e6, 257, 1024, "CLIP's image tower; 16 · 16 patches and one more")
T5 = Model("T5-base", 223e6, assumed("t5_tokens"), 768, "Raffel et al. 2020")
ROBERTA = Model("RoBERTa-base", 125e6, assumed("glue_tokens"), 768, "Liu et al. 2019")
GPT = Model("GPT, 6 layers of width 384", 21e6, 1024, 384, "SAIL, section 4")
SIT = Model("SiT-B/2", 130e6, 256, 768, "Ma et al. 2024; 16 · 16 patches")
OLMO_1 = Model("OLMo-1B", 1e9, 128, 2048, "SAIL, I.1; tokens are ours")
OLMO_7 = Model("OLMo-7B", 7e9, 128, 4096, "SAIL, I.1; tokens are ours")
MODELS = (VIT_B, VIT_L, T5, ROBERTA, GPT, SIT, OLMO_1, OLMO_7)
FROM_SCRATCH = (GPT, SIT)

GLUE = 8_500 + 67_000 + 3_700 + 7_000 + 364_000 + 393_000 + 105_000 + 2_500  # CoLA … RTE, Wang et al. 2019
BENCHMARKS = 7_000 + 70_000 + 44_000 + 13_679 + 3_779 + 1_000  # PIQA … COPA, SAIL, I.2
LFT_TEXTS = 67_000 + 8_500 + 25_000 + 560_000  # SST-2, CoLA, IMDb, Yelp with two classes


@dataclass(frozen=True)
class Work:
    """What the claims on one model need for one seed.

    Attributes:
        claims: which.
        model: what is trained.
        trainings: how many networks.
        seen: samples that one training sees.
        looks: samples that are only looked at, over all networks and merges.
    """
    claims: str
    model: Model
    trainings: int
    seen: float
    looks: float

    @property
    def training_flops(self) -> float:
        """6·N·D of all trainings."""
        return 6 * self.model.parameters * self.model.tokens * self.seen * self.trainings

    @property
    def looking_flops(self) -> float:
        """2·N·D of all that is looked at."""
        return 2 * self.model.parameters * self.model.tokens * self.looks

    @property
    def hours(self) -> float:
        """Of one GPU."""
        return (self.training_flops + self.looking_flops) / (assumed("peak") * assumed("used")) / 3600

    @property
    def hours_of_one(self) -> float:
        """Of one GPU, for one of its trainings."""
        return self.training_flops / self.trainings / (assumed("peak") * assumed("used")) / 3600

    @property
    def kept(self) -> float:
        """Bytes of the networks that are kept."""
        return self.trainings * self.model.size

    @property
    def sent(self) -> float:
        """Bytes over the line: every job brings a network back, and all but those from scratch take one, too."""
        return (1 if self.model in FROM_SCRATCH else 2) * self.trainings * self.model.size


def pairs(count: int) -> int:
    """Of so many networks."""
    return count * (count - 1) // 2


VIT_SEEN = assumed("vit_steps") * assumed("vit_batch")
TEST = assumed("test")


def _of_ctl(model, tasks, layers, on_pairs=TEST, seen=VIT_SEEN):
    """Addition over all pairs and negation over all tasks, three networks at every λ; stitching at every layer, with 20
    values of λ and 2,000 samples (CTL, B.1.3)."""
    looks = assumed("λ") * 3 * (pairs(tasks) * on_pairs + tasks * TEST)
    return Work("CTL-10 to 13, 18", model, tasks, seen, looks + pairs(tasks) * layers * 20 * 2 * 2_000)


def _of_cart(model):
    """Every setting on 20 tasks, a plane of 20 · 20 points, and sets of 2 to 20 tasks with four methods."""
    tasks = 20
    on_sets = assumed("subsets") * 4 * sum(range(2, tasks + 1)) if model is VIT_B else 0
    looks = (assumed("settings") * tasks + 400 * tasks + on_sets) * TEST
    return Work("CART-2 to 12, 14", model, tasks, VIT_SEEN, looks)


WORKS = (
    _of_ctl(VIT_B, 8, 12), _of_ctl(VIT_L, 8, 24),
    _of_ctl(T5, 6, 0, on_pairs=1_000, seen=assumed("t5_samples")),
    Work("CTL-7 to 9", VIT_B, 20, assumed("soup_epochs") * 1.28e6, (1140 + 20) * TEST),
    _of_cart(VIT_B), _of_cart(VIT_L),
    Work("CART-13", ROBERTA, 8, assumed("glue_epochs") * GLUE / 8, assumed("settings") * 8 * TEST),
    Work("TVG-6 to 11", VIT_B, 7, VIT_SEEN, 7 * 10 * 4 * TEST),
    Work("SAIL-4 to 9, 11", GPT, 10, assumed("gpt_tokens") * GPT.parameters / GPT.tokens, 10 * TEST),
    Work("SAIL-13", SIT, 2, assumed("sit_images"), 2 * 50_000),
    Work("SAIL, appendix I", OLMO_1, 2, BENCHMARKS, 2 * TEST),
    Work("SAIL, appendix I", OLMO_7, 2, BENCHMARKS, 2 * TEST),
    Work("LFT", ROBERTA, int(4 * assumed("lft_pulls")), assumed("glue_epochs") * LFT_TEXTS / 4,
         4 * assumed("lft_pulls") * TEST),
)
LARGEST = WORKS[5]  # CART on ViT-L/14 with 20 tasks

CLIP_SAMPLES = 12.8e9  # 400 million pairs of image and text, 32 times (Radford et al. 2021)


@dataclass(frozen=True)
class Outcome:
    """What a simulation gave.

    Attributes:
        hours: until all jobs are done.
        busy: share of this time in which the machines worked on what was kept.
        again: how often a job began again because its machine stopped.
        line: share of this time in which the line carried weights.
    """
    hours: float
    busy: float
    again: int
    line: float


def simulated(machines: int, jobs: int, hours: float, size: float, line: float, stops: float, seed: int = 0) -> Outcome:
    """Machines take jobs one after another. A job's network comes over the one line of the machine that asks and goes
    back over it, one after another; a machine that stops loses its job, which is begun again.

    Args:
        machines: how many.
        jobs: how many.
        hours: of one job.
        size: bytes of a network, that come and go with every job.
        line: bytes/s.
        stops: hours after which a machine stops, on average.
        seed: of the stops.
    """
    draw = random.Random(seed)
    transfer = size / line / 3600
    events = [(0.0, machine, "free") for machine in range(min(machines, jobs))]
    waiting, again, carried, line_free, end = jobs, 0, 0, 0.0, 0.0
    while events:
        now, machine, what = heapq.heappop(events)
        if what == "free" and not waiting:
            continue
        if what == "stopped":
            again += 1
            waiting += 1
        line_free = max(now, line_free) + transfer  # a network comes, or goes back
        carried += 1
        if what == "done":
            end = line_free
            heapq.heappush(events, (line_free, machine, "free"))
            continue
        waiting -= 1
        until = draw.expovariate(1 / stops)
        next_event = (line_free + until, machine, "stopped") if until < hours else (line_free + hours, machine, "done")
        heapq.heappush(events, next_event)
    return Outcome(end, jobs * hours / (machines * end), again, carried * transfer / end)


MACHINES = (1, 10, 100, 160, 400, 1000)
JOBS = 20  # of a machine: with few, all begin and end together, and the line is crowded at both ends


def simulations() -> list[tuple[int, Outcome, Outcome]]:
    """CART's trainings of ViT-L/14 on more and more machines, with as many jobs for each: how many machines, with
    `data.cluster.AHEAD` jobs handed over at once, and without this limit."""
    def run(machines, used):
        return simulated(used, JOBS * machines, LARGEST.hours_of_one, LARGEST.model.size, assumed("line"),
                         assumed("stops"))
    return [(machines, run(machines, min(machines, AHEAD)), run(machines, machines)) for machines in MACHINES]


LONGEST = max(WORKS, key=lambda work: work.hours_of_one)
STOPS = (1000.0, 100.0, 10.0)
TIMES = 50  # that a simulation with stops is repeated


def interruptions() -> list[tuple[float, float, float]]:
    """The longest trainings for all seeds, one on every machine, on machines that stop more and more often: (hours
    between stops, hours until all are done, how often a job began again), the last two on average."""
    jobs, averages = LONGEST.trainings * SEEDS, []
    for stops in STOPS:
        outcomes = [simulated(jobs, jobs, LONGEST.hours_of_one, LONGEST.model.size, assumed("line"), stops, seed)
                    for seed in range(TIMES)]
        averages.append((stops, statistics.fmean(outcome.hours for outcome in outcomes),
                         statistics.fmean(outcome.again for outcome in outcomes)))
    return averages


def enough() -> float:
    """How many machines keep the line busy with trainings of ViT-L/14: more of them wait for it."""
    return LARGEST.hours_of_one * 3600 / (2 * LARGEST.model.size / assumed("line"))


def numbers() -> dict:
    """What the page says, by name."""
    total = sum(work.hours for work in WORKS)
    clip = 6 * CLIP_SAMPLES * (VIT_L.parameters * VIT_L.tokens + 124e6 * 77)
    largest = LARGEST.training_flops / LARGEST.trainings
    return {"works": WORKS, "models": MODELS, "assumed": ASSUMED.values(), "seeds": SEEDS, "ahead": AHEAD,
            "largest": LARGEST, "hours": total * SEEDS, "kept": sum(work.kept for work in WORKS) * SEEDS,
            "sent": sum(work.sent for work in WORKS) * SEEDS, "held": AHEAD * VIT_L.size,
            "core_days": largest / assumed("core") / 86400, "enough": enough(), "simulations": simulations(),
            "clip_hours": clip / (assumed("peak") * assumed("used")) / 3600,
            "merged": 21 * VIT_L.size, "most": max(WORKS, key=lambda work: work.hours),
            "longest": LONGEST, "times": TIMES, "jobs": JOBS,
            "attention": sorted(100 * model.attention for model in MODELS), "interruptions": interruptions(),
            "looking": sum(work.looking_flops for work in (WORKS[1], LARGEST)) / sum(
                work.looking_flops + work.training_flops for work in (WORKS[1], LARGEST))}


def rounded(value: float, digits: int = 2) -> str:
    """A number as a page says it: two digits that count, thousands with commas."""
    value = float(f"{value:.{digits}g}")
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def in_bytes(value: float) -> str:
    """Bytes in words."""
    for size, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if value >= size:
            return f"{rounded(value / size)} {name}"
    return f"{rounded(value / 1e3)} kB"


def page() -> str:
    """The text of docs/scale.md."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    rooms = jinja2.Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
                               undefined=jinja2.StrictUndefined)
    rooms.filters |= {"rounded": rounded, "bytes": in_bytes}
    return rooms.get_template("scale.md.j2").render(**numbers())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
