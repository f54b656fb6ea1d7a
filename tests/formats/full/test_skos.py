import pytest

from classmark.formats.taxonomies import read_skos, write_skos
from classmark.problems import MissingExtra, Mistake, UnreadableFile
from classmark.taxonomy import Category, taxonomy_of
from classmark.taxonomy.category import DEPRECATED

TURTLE = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix our: <http://library.example/> .
our:nature a skos:Concept ; skos:prefLabel "Nature"@en, "Luonto"@fi ;
  skos:narrower our:bees .
our:bees a skos:Concept ; skos:prefLabel "Mehiläiset"@fi, "Bees"@en ;
  skos:altLabel "drones"@en, "honeybees"@en, "kuhnurit"@fi ;
  skos:scopeNote "Not wasps."@en ; skos:notation "595.7" ; skos:broader our:insects .
our:ants a skos:Concept ; skos:prefLabel "muurahaiset"@fi ; owl:deprecated true ;
  skos:broader our:nature .
our:label skos:prefLabel "no concept"@en .
"""
XML = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
         xmlns:skos="http://www.w3.org/2004/02/skos/core#">
<skos:Concept rdf:about="urn:x:1"><skos:prefLabel>One</skos:prefLabel></skos:Concept>
</rdf:RDF>
"""


def written(tmp_path, text, name="v.ttl"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_turtle(tmp_path):
    ants, bees, nature = read_skos(written(tmp_path, TURTLE))
    base = "http://library.example/"
    assert nature == Category(f"{base}nature", "Nature")
    assert bees.label == "Bees"
    assert bees.note == "Not wasps."
    assert bees.synonyms == ("drones", "honeybees")
    assert bees.notation == "595.7"
    assert bees.parents == (f"{base}nature",), "insects is not described here"
    assert ants.label == "muurahaiset"
    assert ants.status == DEPRECATED


def test_languages_and_short_ids(tmp_path):
    path = written(tmp_path, TURTLE)
    found = read_skos(path, languages=("sv", "fi"), base="http://library.example/")
    assert [c.id for c in found] == ["ants", "bees", "nature"]
    assert found[1].label == "Mehiläiset"
    assert found[1].synonyms == ("kuhnurit",)
    assert found[1].note == ""


def test_rdf_xml(tmp_path):
    assert read_skos(written(tmp_path, XML, "v.rdf")) == [Category("urn:x:1", "One")]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("v.ttl", "@prefix a: <b> .\n\na:b a:c\n", r"v.ttl.*: not turtle"),
        ("v.ttl", "", "no skos:Concept"),
        ("v.rdf", "<rdf", "line 1: not XML"),
        (
            "v.rdf",
            XML.replace(
                "<rdf:RDF", '<!DOCTYPE r [<!ENTITY x SYSTEM "/etc/passwd">]><rdf:RDF'
            ),
            "refused",
        ),
        ("v.nt", "<a> <b>\n", "not nt"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, text, words):
    with pytest.raises(UnreadableFile, match=words):
        read_skos(written(tmp_path, text, name))


def test_a_cycle_is_refused(tmp_path):
    text = TURTLE + "our:nature skos:broader our:bees .\n"
    with pytest.raises(UnreadableFile, match="cycle"):
        read_skos(written(tmp_path, text))


def test_unknown_suffix(tmp_path):
    with pytest.raises(Mistake, match="the suffix says no syntax"):
        read_skos(written(tmp_path, TURTLE, "v.jsonld"))
    with pytest.raises(Mistake, match="the suffix says no syntax"):
        write_skos([], tmp_path / "v.jsonld")


@pytest.mark.parametrize("suffix", [".ttl", ".rdf", ".nt"])
def test_write_then_read(tmp_path, suffix):
    listed = [
        Category("a b", "A & <B>", 'Say "no".\nTwice.', ("x", "y")),
        Category("http://x.example/c", "C", parents=("a b",), notation="1.5"),
        Category("urn:x:d", "", "", ("only",), ("a b",), status=DEPRECATED),
    ]
    path = tmp_path / f"v{suffix}"
    assert write_skos(listed, path, language="fi") == 3
    assert read_skos(path) == listed


def test_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rdflib", None)
    with pytest.raises(MissingExtra, match=r"classmark\[skos\]"):
        read_skos(written(tmp_path, TURTLE))
    with pytest.raises(MissingExtra, match=r"classmark\[skos\]"):
        write_skos([], tmp_path / "v.ttl")


def test_finnish_library_classes(data):
    path = data / "annif-makupalat" / "ykl-skos-2021-12-01.ttl"
    found = read_skos(path, languages=("fi",))
    assert len(found) == 2406
    tree = taxonomy_of(found)
    assert len(tree.roots) == 12
    assert len(tree.edges) == 2394
    assert all(category.label for category in found)
