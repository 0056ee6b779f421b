"""What did the class think? `python -m lessons.kit.collect FOLDER` runs the exercises of handed-in notebooks.

Three kinds of processes work on it:

* The collecting process (`marking`, `nursery`) finds the files, decides and writes the tables. No learner's code ever
  runs in it, and it does not even parse a notebook.
* A nursery (`nursery_process`) has imported the course. All it does is to make copies of itself. It never sees a
  submission.
* A cell (`cell`), a copy of the nursery, is made for every answer, and one more to read each notebook. It first gives
  up all rights (`confining`, `syscalls`). Then it runs the learner's code, puts the exercise's cases to the function,
  and writes what came back to a pipe, as JSON (`values`).

The collecting process decodes the values, checks their form, and compares them with those of the course's solution and
of the known wrong answers. So a verdict is not something that a learner's code could write. What it can do is what a
learner can do in the notebook, too: give the right values because it calls the course's own solution, or copies it.
"""
