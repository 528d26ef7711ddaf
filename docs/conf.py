"""The site: `make docs` builds it from this folder, and runs every example in it.

Sphinx, because the Python reference comes from the docstrings without a second tool; furo, because
it brings no fonts and asks for nothing from outside.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "mindshare"
html_title = "mindshare"
author = "the authors of mindshare"
extensions = ["myst_parser", "sphinx.ext.autodoc", "executed"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
default_role = "code"  # docstrings have single backticks
myst_enable_extensions = ["attrs_block"]
suppress_warnings = ["myst.xref_missing"]  # links to files that are no pages: ARCHITECTURE.md, …

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_preserve_defaults = True

html_theme = "furo"
html_copy_source = False
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
