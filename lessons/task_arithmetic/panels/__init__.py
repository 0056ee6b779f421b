"""The pictures of chapter 4: five panels, drawings, and the source's Figures 7 to 10 redrawn from our measurement."""
from lessons.kit.sweep import caption
from lessons.task_arithmetic.panels.causes import growth, reading_of_growth
from lessons.task_arithmetic.panels.desk import finding_of_mixing, mixing_desk
from lessons.task_arithmetic.panels.drawings import (
    arrows, doubled, gap_by_layer, kept_lam, knowledge, reading_of_knowledge, tasks)
from lessons.task_arithmetic.panels.equations import (
    equations, figure_7, finding_of_equations, reading_of_figure_7, reading_of_the_limits, where_it_ends)
from lessons.task_arithmetic.panels.forgetting import (
    is_it_forgotten, learned_again, reading_of_below_chance, reading_of_forgetting)
from lessons.task_arithmetic.panels.resnet import reading_of_the_resnets, resnets
from lessons.task_arithmetic.panels.stitching import (
    finding_of_averages, finding_of_negation, negation, reading_of_figure_9, reading_of_figure_10,
    reading_of_subtracting, stitching)
from lessons.task_arithmetic.panels.sums import (
    analogies, best_shares, edits, finding_of_sums, heat_map, many, reading_of_half, reading_of_the_heat_map)
