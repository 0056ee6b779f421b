"""One JupyterLab and one browser for all chapters, or one of each in every process."""
import pytest

from lessons.kit import chapters
from lessons.kit.notebooks import CHAPTERS
from tools import lab


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
        assert lab.run_all(page, lab_and_browser[0], chapters.chapter(name).place) == 0, "a cell failed"
        return page, lab.views(page)
    return open
