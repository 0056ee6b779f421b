"""`python -m lessons.kit.readings`: which readings say something else on another seed."""
import nbformat
import pytest

from lessons.kit import chapters, notebooks, readings
from lessons.kit.page import reading
from lessons.kit.readings import Place, flips, main, masked

VIEW, STATE = "application/vnd.jupyter.widget-view+json", "application/vnd.jupyter.widget-state+json"


@pytest.mark.parametrize("text, other", [
    ("It gains 0.31, so 4 %.", "It gains −0.2, so 12 %."), ("Two of three do.", "One of three do."),
    ("At γ = ½ and 1,000 images.", "At γ = 0.25 and 60 images."), ("Off by 3.1e-05.", "Off by 0.1."),
    ("By +0.08 ± 0.02 points.", "By -1 points."), ("At 0, 50 and 100 steps.", "At 0 steps."),
    ("Twenty-one of them.", "Seven of them.")])
def test_numbers_are_masked_in_digits_and_in_words(text, other):
    assert masked(text) == masked(other)


@pytest.mark.parametrize("text, other", [
    ("It gains 0.3.", "It loses 0.3."), ("Someone gains 2.", "Someone else gains 2."), ("ResNet-18", "ViT-18"),
    ("N2 is on.", "N3 is on."), ("+0.2, which is within the noise.", "+0.2.")])
def test_words_are_not_masked(text, other):
    assert masked(text) != masked(other)


def executed(*outputs, state=None):
    """An executed notebook with one code cell for each list of HTML outputs, and a text before them."""
    cells = [nbformat.v4.new_markdown_cell("# Title", id="title")]
    for place, pages in enumerate(outputs):
        shown = [nbformat.v4.new_output("display_data", page if isinstance(page, dict) else {"text/html": page})
                 for page in pages]
        cells.append(nbformat.v4.new_code_cell("1", id=f"cell-{place}", outputs=shown))
    metadata = {"widgets": {STATE: {"state": state or {}}}}
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def test_readings_are_paragraphs_also_in_folded_parts_and_no_tables():
    page = reading("What was measured", "A gap of {gap:.2f} & <more>.", gap=0.1)._repr_html_()
    folded = f"<details><summary>Open</summary><table><tr><td>1</td></tr></table>{page}</details><p></p>"
    assert readings.readings(executed(["<b>no paragraph</b>"], [page, folded])) == {
        Place(2, "cell-1", 0): "What was measured. A gap of 0.10 & <more>.",
        Place(2, "cell-1", 1): "What was measured. A gap of 0.10 & <more>."}


def test_titles_of_panels_are_those_at_which_they_open():
    frames = {"frames": {"0": {"title": "It falls"}, "1": {"title": "It rises"}}}
    notebook = executed([{VIEW: {"model_id": "a"}}, {VIEW: {"model_id": "gone"}}],
                        state={"a": {"state": {"frames": frames, "positions": [1]}}})
    assert readings.readings(notebook) == {}
    assert readings.readings(notebook, titles=True) == {Place(1, "cell-0", 0): "It rises"}


def test_a_reading_whose_words_differ_is_named_with_the_seeds_on_each_side():
    first, second = Place(2, "six", 0), Place(10, "ends", 1)
    of_seeds = {0: {first: "All 3. A is ahead by 2. So stop.", second: "4 do."},
                1: {first: "All 4. B is ahead by 1. So stop.", second: "5 do."},
                2: {first: "All 2. A is ahead by 5. So stop.", second: "6 do."}}
    (flip,) = flips(of_seeds)
    assert flip.place == first and list(flip.wordings) == [(0, 2), (1,)]
    assert str(flip) == ("cell 2 (six), reading 1, “All 3. A is ahead by 2. So stop.”:\n"
                         "  seeds 0, 2: … A is ahead by 2. …\n  seed 1: … B is ahead by 1. …")


def test_a_reading_that_is_not_there_on_a_seed_differs_and_cells_stand_in_their_order():
    late, early = Place(10, "late", 0), Place(9, "early", 0)
    listed = flips({0: {late: "Yes.", early: "Yes. It is."}, 1: {late: "No."}})
    assert [flip.place for flip in listed] == [early, late]
    assert "seed 1: (nothing here)" in str(listed[0])
    (flip,) = flips({0: {late: "Yes. It is so."}, 1: {late: "Yes."}})
    assert str(flip).endswith("seed 0: … It is so.\n  seed 1: … (nothing here)")


def test_one_seed_has_nothing_to_differ_from():
    assert flips({0: {Place(0, "a", 0): "Yes."}}) == []


@pytest.mark.parametrize("text, listed", [("0-4", [0, 1, 2, 3, 4]), ("7", [7]), ("0,2,7-9", [0, 2, 7, 8, 9])])
def test_seeds_are_listed_and_in_ranges(text, listed):
    assert readings.seeds(text) == listed


@pytest.mark.parametrize("arguments", [["10_growing", "--seeds", "x"], ["10_growing", "--seeds", "4-0"], ["09_gone"]])
def test_what_makes_no_sense_is_refused(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "invalid" in capsys.readouterr().err


KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
PARAMETERS = 'profile = "quick"\nseed = 0\nsolved = False\n'
SHOWN = """
from lessons.kit.page import reading
display(reading("Which side?", "The {side} one, by {seed}.", side="left" if seed < 2 else "right", seed=seed))
display(reading("How far?", "By {seed}, with the answers {solved}.", seed=seed, solved=solved))
"""


@pytest.mark.slow
def test_the_command_executes_a_notebook_on_every_seed(tmp_path, capsys):
    cells = [nbformat.v4.new_markdown_cell("# A notebook"),
             nbformat.v4.new_code_cell(PARAMETERS, metadata={"tags": ["parameters"]}),
             nbformat.v4.new_code_cell(SHOWN, id="shown")]
    path = tmp_path / "tiny.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": KERNEL}), path)
    before = path.read_bytes()
    assert main([str(path), "--seeds", "1-2"]) == 1
    told = capsys.readouterr().out
    assert "tiny, profile quick, seeds 1, 2: 1 of 2 readings differ in their words" in told
    assert "(shown), reading 1, “Which side? The left one, by 1.”:\n" in told
    assert told.endswith("  seed 1: … The left one, by 1.\n  seed 2: … The right one, by 2.\n")
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]


def test_a_seed_on_which_the_notebook_does_not_run_is_named(monkeypatch, capsys):
    def fails(notebook, output, seed, **parameters):
        if seed == 1:
            raise readings.NotebookError("a cell failed")
        return executed(["<p>Yes.</p>"])

    monkeypatch.setattr(readings, "execute", fails)
    assert main(["09_head_start", "--seeds", "0-1"]) == 1
    captured = capsys.readouterr()
    assert "seed 1: the notebook did not run: a cell failed" in captured.err
    assert "09_head_start, profile quick, seeds 0: 0 of 1 readings differ" in captured.out
    assert main(["09_head_start", "--seeds", "0,2"]) == 0


def test_a_cell_that_takes_too_long_and_a_dead_kernel_are_told_as_a_notebook_that_did_not_run(monkeypatch, tmp_path):
    for error in (notebooks.CellTimeoutError("a cell timed out", 4, "quiz()"), notebooks.DeadKernelError("it died")):
        def fails(*arguments, error=error, **options):
            assert options["iopub_timeout"] > 60  # a busy machine is no error
            raise error

        monkeypatch.setattr(notebooks.papermill, "execute_notebook", fails)
        with pytest.raises(notebooks.NotebookError, match="09_head_start.ipynb: "):
            notebooks.execute(chapters.chapter("09_head_start").notebook, tmp_path / "out.ipynb")
