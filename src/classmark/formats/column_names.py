"""What a column holds, told by its name alone."""

from __future__ import annotations

import re

ID, TITLE, TEXT, LABEL, PRIMARY, YES_NO, DATE, FACT, IGNORE, STRUCTURED = (
    "id", "title", "text", "label", "primary", "yes-no", "date", "fact", "ignore",
    "structured",
)  # fmt: skip
NOT = "not"  # and a column's name: the label that «no» in it means
UNCLEAR = ""  # it may hold the labels, or something that no other role fits
ROLES = {
    ID: "the document's id",
    TITLE: "its title",
    TEXT: "text that is read and learned from",
    LABEL: "its labels",
    PRIMARY: "its primary label",
    YES_NO: "yes or no (1 or 0): the column's name is a label, or «not» and the name",
    DATE: "its date",
    FACT: "a fact that is shown, not learned from",
    IGNORE: "left out",
    STRUCTURED: "links, facts, preferences or a vector, as Classmark writes them",
}
STRUCTURES = frozenset(
    {"fields", "secondary", "meta", "links", "see", "preferences", "vector"}
)
PREFIXES = META, FIELDS = "meta.", "fields."
NAMES = {
    ID: "id docid documentid recordid identifier uid",
    TITLE: "title primarytitle headline heading articletitle documenttitle dctitle "
    "titel titre titulo título titolo otsikko",
    TEXT: "text body abstract abstractnote abstracttext notesabstract content contents "
    "description summary fulltext message keywords keyword authorkeywords "
    "zusammenfassung résumé resume resumen",
    LABEL: "label labels category categories class classes subjects topic topics "
    "kategorie kategorien catégorie catégories categoría categorías",
    UNCLEAR: "subject tag tags schlagwort schlagwörter schlagworte descriptors "
    "deskriptoren",
    PRIMARY: "primary primarylabel primarycategory maincategory",
    YES_NO: "included labelincluded includedlabel finalincluded includedfinal "
    "includedflag include asreviewlabel",
    DATE: "date published publicationdate pubdate publisheddate datepublished datum",
    FACT: "year publicationyear pubyear doi url link isbn issn pmid pmcid author "
    "authors authornames firstauthors editor editors journal publisher volume issue "
    "number pages startpage endpage language lang type accessionnumber database place "
    "edition mesh booktitle school institution series month entrytype note notes part",
}
LIKELY_IDS = (
    "referenceid",
    "pmid",
    "accessionnumber",
    "key",
    "citekey",
    "doi",
)  # where every row has its own
YES_NAMES = dict.fromkeys(
    ["labelincluded", "includedlabel", "includedflag", "include", "asreviewlabel"],
    "included",
)
_ROLE = {name: role for role, names in NAMES.items() for name in names.split()}


def plain(name: str) -> str:
    """A column's name without case, blanks and signs.

    >>> plain("Doc_ID"), plain("Abstract Note")
    ('docid', 'abstractnote')
    """
    return re.sub(r"[\W_]+", "", name.casefold())


def role_by_name(name: str) -> str | None:
    """The role of a column of this name; None where the name does not say it.

    >>> role_by_name("doc_id"), role_by_name("Category"), role_by_name("wing span")
    ('id', 'label', None)
    """
    if name in STRUCTURES or name.startswith(PREFIXES):
        return STRUCTURED
    return _ROLE.get(plain(name))


def yes_name(column: str) -> str:
    """The label that «yes» in a column means.

    >>> yes_name("label_included"), yes_name("On loan")
    ('included', 'On loan')
    """
    return YES_NAMES.get(plain(column), column)
