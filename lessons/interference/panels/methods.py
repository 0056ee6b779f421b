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
WHAT = {  # method: what it drops of the task vectors, and how it puts the rest together
    "average": ("nothing", "their mean"),
    "task_arithmetic": ("nothing", "λ times their sum"),
    "ties": ("small entries, and those that lost the vote", "the mean of those that won"),
    "dare": ("entries at random; the rest is made larger", "λ times their sum"),
    "breadcrumbs": ("small entries, and the very largest", "λ times their sum"),
    "consensus": ("entries that too few tasks need", "λ times their sum"),
    "tsv": ("small singular values", "singular vectors made orthogonal, then summed"),
    "cart": ("small singular values, measured from the average", "the average plus λ times their sum"),
    "adamerging": ("nothing", "a λ for every layer and task, found on unlabelled images"),
    "adamerging_cart": ("as CART", "as AdaMerging"),
    "emr": ("entries that lost the vote", "one vector, and a mask and a size for every task"),
    "tall_masks": ("entries that a task does not need", "the sum, and a mask for every task"),
    "cart_indexing": ("small singular values, measured from the average", "the average plus the task's own"),
}
OTHERS = SKY  # the colour of all the others
SHORT = {"consensus": "Consensus", "breadcrumbs": "Breadcrumbs"}  # where there is no room for the whole title


def title_of(method: str) -> str:
    """What papers call a method, in short."""
    return SHORT.get(method) or methods()[method].title
