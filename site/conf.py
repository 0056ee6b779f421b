"""Sphinx's settings for the book. `tools/book` copies this folder beside the pages that it prepares."""
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "extensions"))

project = "Weightspace"
author = "The authors of Weightspace"
copyright = "the authors of Weightspace"
language = "en"
smartquotes = False  # the text has its quotation marks
locale_dirs = ["locale"]
gettext_compact = False

extensions = ["myst_nb", "formulas", "glossary_words", "policy", "tables"]
exclude_patterns = ["extra", "_static", "locale", "pages"]

# -- notebooks and Markdown --------------------------------------------------------------------------------------------
nb_execution_mode = "off"  # they were executed before
nb_merge_streams = True
nb_code_prompt_show = "Code"
nb_code_prompt_hide = "Code"
nb_mime_priority_overrides = [("html", "text/html", 0)]
myst_enable_extensions = ["amsmath", "attrs_block", "dollarmath"]
myst_update_mathjax = False
myst_heading_anchors = 4
myst_heading_slug_func = "lessons.kit.page.slug"
myst_links_external_new_tab = False

# -- pages -------------------------------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "Weightspace"
html_static_path = ["_static"]
html_extra_path = ["extra"]
html_favicon = "_static/icon.svg"
html_use_index = False
html_math_renderer = "mathml"
html_css_files = ["book.css"]
html_js_files = [("view.js", {"defer": "defer"}), ("glossary.js", {"defer": "defer"}), ("book.js", {"defer": "defer"}),
                 ("present.js", {"defer": "defer"})]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # it would fetch every page that was found
html_show_sphinx = False
html_permalinks_icon = "#"
html_sidebars = {"**": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 1,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "lessons": []},
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "back_to_top_button": False,
}
