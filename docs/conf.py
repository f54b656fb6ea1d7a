"""How the manual is built."""

from pygments.lexers.special import TextLexer

project = "Classmark"
author = "The Classmark developers"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinxcontrib.bibtex",
]
bibtex_bibfiles = ["../references.bib"]
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["myst.xref_missing"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Classmark"
autodoc_typehints = "none"


def setup(app):  # noqa: ANN001, ANN201, Sphinx's own protocol
    """Show docstrings as they are written: formulas and shapes keep their form.

    Files that the manual prints, named by their formats, are plain text.
    """
    for name in ("csv", "tsv", "qrels"):
        app.add_lexer(name, TextLexer)

    def as_written(_app, _what, _name, _object, _options, lines):  # noqa: ANN001, ANN202
        lines[:] = ["::", "", *(f"   {line}" for line in lines), ""]

    app.connect("autodoc-process-docstring", as_written)
