"""Sphinx's settings for the pages that `python -m docs.build` puts together."""

import os

os.environ["NUMBA_DISABLE_JIT"] = "1"  # or functions are dispatchers, without their signatures

project = "cosimlib"
author = copyright = "The cosimlib developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
exclude_patterns = ["README.md", "joss"]
default_role = "py:obj"
suppress_warnings = ["ref.python"]  # `Comparison` is of two rooms
add_module_names = False
python_use_unqualified_type_names = True

nb_execution_mode = "off"
nb_ipywidgets_js = {}
nb_mime_priority_overrides = [("html", "text/html", 0)]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = "cosimlib"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": False,
    "pygments_light_style": "default",
    "footer_start": ["copyright"],
    "footer_end": [],
}
