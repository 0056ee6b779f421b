"""How the methods look and are called in the chapter's figures and tables."""
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
SHORT = {"consensus": "Consensus", "breadcrumbs": "Breadcrumbs"}  # where there is no room for the whole title


def title_of(method: str) -> str:
    """What papers call a method, in short."""
    return SHORT.get(method) or methods()[method].title
