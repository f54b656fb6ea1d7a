"""How the manual is built."""

project = "Classmark"
author = "The Classmark developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinxcontrib.bibtex",
]
bibtex_bibfiles = ["../references.bib"]
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["myst.xref_missing"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Classmark"
autodoc_typehints = "none"
