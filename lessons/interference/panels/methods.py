"""How the methods look in the chapter's figures."""
from lessons.kit.panel.moving import Look
from lessons.kit.plotting import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY
from lessons.merging import methods

LOOKS = {  # those of CART's Figure 4
    "average": Look(GREY, "o"),
    "task_arithmetic": Look(BLUE, "s"),
    "ties": Look(ORANGE, "^"),
    "consensus": Look(GREEN, "D"),
    "cart": Look(RED, "v"),
    "tsv": Look(PURPLE, "P"),
}
OTHERS = SKY  # the colour of all the others


def title_of(method: str) -> str:
    """What papers call a method, in short."""
    return methods()[method].short
