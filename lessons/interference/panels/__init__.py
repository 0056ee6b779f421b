"""The pictures of chapter 7: the `toy`, the `comparison`, the `plane`, `adaptation`, and the table of `choices`."""
from lessons.interference.panels.adaptation import adapting, in_the_ledger as adaptation_in_the_ledger
from lessons.interference.panels.adaptation import reading as reading_of_adaptation
from lessons.interference.panels.choices import table as choices
from lessons.interference.panels.comparison import bars_and_radar, chosen, order, order_in_the_ledger, registry, search
from lessons.interference.panels.plane import common_and_own, reading as reading_of_the_plane
from lessons.interference.panels.toy import interference
from lessons.kit.sweep import caption

__all__ = ["adaptation_in_the_ledger", "adapting", "bars_and_radar", "caption", "choices", "chosen", "common_and_own",
           "interference", "order", "order_in_the_ledger", "reading_of_adaptation", "reading_of_the_plane", "registry",
           "search"]
