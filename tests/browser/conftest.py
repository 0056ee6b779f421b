"""One JupyterLab and one browser for all chapters, and one book, or one of each in every process."""
import contextlib

import pytest
import torch

from lessons.kit import chapters
from lessons.kit.notebooks import CHAPTERS
from tests.test_book import make
from tools import lab
from tools.book import desks
from toy_models import MLP

ANGLES = (0.0, 22.5, 90.0)
HIDDEN, IMAGES = 340, 8


@contextlib.contextmanager
def bounded(page, inside):
    """What a page asks for lies inside an address, no script throws, and the browser refuses nothing."""
    asked, complaints = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield page
    assert [address for address in asked if not address.startswith((inside, "data:", "blob:"))] == []
    assert page.errors == [] and complaints == []


@contextlib.contextmanager
def reading(folder):
    """open(name) opens a page of the book in a folder, without a network, and the page is `bounded` by the folder."""
    with lab.chromium(width=1200, height=900) as page, bounded(page, folder.as_uri()):
        page.context.set_offline(True)

        def open(name, settings=""):
            page.goto(f"{(folder / f'{name}.html').as_uri()}{settings}")
            return page

        yield open


@pytest.fixture(scope="session")
def networks():
    """{name: what `tools.book.desks` makes a desk of} of networks with random weights, on random images."""
    draw = torch.Generator().manual_seed(0)

    def states(widths, count):
        sizes = {key: tensor.shape for key, tensor in MLP(widths).state_dict().items()}
        base, *steps = [{key: torch.randn(size, generator=draw) for key, size in sizes.items()}
                        for _ in range(count + 1)]
        return [{key: 0.1 * base[key] for key in sizes}] + [
            {key: 0.1 * base[key] + 0.05 * step[key] for key in sizes} for step in steps]

    x = torch.rand(IMAGES, 28, 28, generator=draw)
    y = torch.arange(IMAGES)
    base, *finetuned = states((784, HIDDEN, 10), 3)
    return {"mixing": (dict(zip(ANGLES, states((784, 21, 16, 10), 2))), x, y, "made-up images"),
            "directions": (base, {f"task {number}": state for number, state in enumerate(finetuned)},
                           [torch.randperm(784, generator=draw) for _ in finetuned], x, y, [0.5, 0.6, 0.7],
                           "made-up images")}


@pytest.fixture(scope="session")
def site(tmp_path_factory, networks):
    """The folder of a book of one lesson that was made up, and of these networks."""
    pytest.importorskip("sphinx", reason="the book needs Sphinx: make site-environment")
    made = {"mixing": desks.mixing(*networks["mixing"]), "directions": desks.directions(*networks["directions"])}
    return make(tmp_path_factory.mktemp("book"), made)


@pytest.fixture(scope="session")
def lab_and_browser(chapters_folder_session):
    """One JupyterLab, whose kernels find the models and sweeps that the chapters' own tests left, and one browser."""
    environment = {"WEIGHTSPACE_DATA": str(chapters_folder_session), "WEIGHTSPACE_OFFLINE": "1"}
    with lab.server(CHAPTERS[0].parent, **environment) as address, lab.browser() as context:
        yield address, context


@pytest.fixture
def folder(chapters_folder_session, monkeypatch):
    monkeypatch.setenv("WEIGHTSPACE_DATA", str(chapters_folder_session))
    return chapters_folder_session


@pytest.fixture
def page(lab_and_browser):
    """A page of its own, in which no script fails. The kernels that it started end with it, because each holds most of
    a gigabyte, and with those of all chapters running the last ones did not start. The errors are read before that:
    a kernel that ends while JupyterLab still asks it something makes the page throw "Kernel is dead"."""
    with lab.fresh_page(lab_and_browser[1]) as page:
        yield page
        page.evaluate("() => 0")  # what the page has thrown by now has arrived when this has returned
        assert page.errors == []


@pytest.fixture
def opened(lab_and_browser, page, folder):
    """opened(name) -> (page, views) of a chapter that was run in JupyterLab."""
    def open(name):
        assert lab.run_all(page, lab_and_browser[0], chapters.chapter(name).place) == []
        return page, lab.views(page)
    return open
