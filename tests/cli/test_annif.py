"""What a librarian from Annif types: vocabularies, corpora, several texts at once."""

import json

import pytest

VOCABULARY = (
    "<http://x/1>\tmehiläiset\t59.1\n<http://x/2>\tleipä\t68.2\n"
    "<http://x/3>\tkirjastot\n"
)
TURTLE = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://x/1> a skos:Concept ; skos:prefLabel "bees"@en, "mehiläiset"@fi ;
    skos:altLabel "hives"@en, "pesät"@fi .
"""
TEXTS = {1: "mehiläinen lentää pesään", 2: "leipä paistuu uunissa", 3: "kirja hyllyllä"}


def corpus(path, times=20):
    """Short texts as in Annif's corpora, so many times each."""
    lines = [f"{text} {n}\t<http://x/{at}>\n" for n in range(times)
             for at, text in TEXTS.items()]  # fmt: skip
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def shelf(tmp_path, run, monkeypatch):
    (tmp_path / "subjects.tsv").write_text(VOCABULARY, encoding="utf-8")
    folder = tmp_path / "shelf"
    assert run("init", folder, "--language", "finnish")[0] == 0
    monkeypatch.setenv("CLASSMARK_PROJECT", str(folder))
    return folder


def rows(out):
    return json.loads(out)


def labels(run, tmp_path):
    assert run("taxonomy", "export", tmp_path / "out.csv")[0] == 0
    lines = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [line.split(",")[2] for line in lines]


@pytest.mark.usefixtures("shelf")
def test_a_vocabulary_in_tsv_is_a_taxonomy(run, tmp_path):
    code, out, err = run("taxonomy", "import", tmp_path / "subjects.tsv", "--json")
    assert (code, err) == (0, "")
    assert rows(out)[0]["categories"] == 3
    assert labels(run, tmp_path) == ["mehiläiset", "leipä", "kirjastot"]


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize(
    ("words", "label"), [((), "mehiläiset"), (("--language", "en"), "bees")]
)
def test_labels_are_in_the_language_of_the_project_or_another(
    run, tmp_path, words, label
):
    pytest.importorskip("rdflib")
    (tmp_path / "v.ttl").write_text(TURTLE, encoding="utf-8")
    assert run("taxonomy", "import", tmp_path / "v.ttl", *words)[0] == 0
    assert labels(run, tmp_path) == [label]
    assert run("taxonomy", "export", tmp_path / "o.ttl")[0] == 0
    assert f'"{label}"@fi' in (tmp_path / "o.ttl").read_text(encoding="utf-8")


def test_a_language_may_be_given_by_its_code(run, tmp_path):
    assert run("init", tmp_path / "a", "--language", "fi")[0] == 0
    assert "stop(finnish)" in (tmp_path / "a" / "classmark.toml").read_text()
    assert run("init", tmp_path / "b", "--language", "xx")[0] == 2


@pytest.mark.usefixtures("shelf")
@pytest.mark.parametrize("kind", ["ttl", "csv"])
def test_labels_in_another_language_than_was_asked_for_are_counted(run, tmp_path, kind):
    if kind == "ttl":
        pytest.importorskip("rdflib")
    table = "uri,label_en,label_fi\nhttp://x/1,bees,mehiläiset\n"
    text = {"ttl": TURTLE, "csv": table}[kind]
    (tmp_path / f"v.{kind}").write_text(text, encoding="utf-8")
    code, out, _ = run("taxonomy", "import", tmp_path / f"v.{kind}", "--language", "sv")
    assert code == 0
    told = "labels in another language than sv, for want of one in it: 1 (en 1)"
    assert told in " ".join(out.split())
    out = run("taxonomy", "import", tmp_path / f"v.{kind}")[1]
    assert "another language" not in out


@pytest.fixture
def trained(shelf, run, tmp_path):
    assert run("taxonomy", "import", tmp_path / "subjects.tsv")[0] == 0
    assert run("import", corpus(tmp_path / "train.tsv"))[0] == 0
    assert run("train")[0] == 0
    return shelf


@pytest.mark.usefixtures("trained")
def test_a_corpus_is_measured_as_annif_does(run, tmp_path):
    code, out, err = run("evaluate", corpus(tmp_path / "test.tsv", 1), "--json")
    assert (code, err) == (0, "")
    (row,) = rows(out)
    assert row["documents"] == 3
    assert (row["p_at_1"], row["ndcg_at_10"]) == (1.0, 1.0)
    assert row["f1_at_5"] == pytest.approx(2 / 6, abs=1e-3)
    (tmp_path / "other.tsv").write_text(f"{TEXTS[1]}\t<http://x/1> <http://x/9>\n")
    code, out, _ = run("evaluate", tmp_path / "other.tsv", "--json")
    assert rows(out)[0]["f1_at_5"] == pytest.approx(2 / 7, abs=1e-3)
    out = run("evaluate", tmp_path / "other.tsv")[1]
    told = " ".join(out.split())
    assert "labels of categories that are not ranked: 1" in told
    (tmp_path / "unknown.tsv").write_text(f"{TEXTS[1]}\t<http://x/8> <http://x/9>\n")
    code, out, err = run("evaluate", tmp_path / "unknown.tsv")
    assert (code, out) == (2, "")
    assert "none of its 2 labels ('http://x/8', 'http://x/9', …)" in err
    assert "give labels by the ids of categories" in " ".join(err.split())
    code, _, err = run("evaluate", tmp_path / "test.tsv", "--folds", "3")
    assert code == 2
    assert "leave the other options out" in err


def keyed(folder, keys):
    """Full texts with the labels of their subjects, one a line."""
    folder.mkdir()
    for at, labels in enumerate(keys):
        (folder / f"d{at}.txt").write_text(TEXTS[at + 1], encoding="utf-8")
        (folder / f"d{at}.key").write_text(labels, encoding="utf-8")
    return folder


@pytest.mark.usefixtures("trained")
def test_labels_in_key_files_are_looked_up_in_the_vocabulary(run, tmp_path):
    more = "id,parent,label,synonyms\nhttp://x/1,,mehiläiset,mesipistiäinen\n"
    (tmp_path / "more.csv").write_text(more, encoding="utf-8")
    assert run("taxonomy", "import", tmp_path / "more.csv")[0] == 0
    folder = keyed(tmp_path / "full", ["mesipistiäinen\n", "Leipä\nuuni\n", "leipä\n"])
    code, out, err = run("evaluate", folder, "--json")
    assert (code, err) == (0, "")
    assert rows(out)[0]["p_at_1"] == pytest.approx(2 / 3, abs=1e-3)
    code, out, err = run("import", folder)
    assert (code, err) == (0, "")
    assert "because a label named them: uuni" in " ".join(out.split())
    assert run("export", tmp_path / "all.jsonl")[0] == 0
    lines = (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines()
    own = {row["id"]: sorted(row["labels"]) for row in map(json.loads, lines)}
    assert own["d0"] == ["http://x/1"]
    assert own["d1"] == ["http://x/2", "uuni"]
    assert own["d2"] == ["http://x/2"]


@pytest.mark.usefixtures("shelf")
def test_a_label_that_names_several_categories_is_refused(run, tmp_path):
    (tmp_path / "two.tsv").write_text("<http://x/1>\tkuusi\n<http://x/2>\tkuusi\n")
    assert run("taxonomy", "import", tmp_path / "two.tsv")[0] == 0
    code, _, err = run("import", keyed(tmp_path / "full", ["kuusi\n"]))
    assert code == 2
    assert "document 'd0': label 'kuusi' is the name of several categories" in err


@pytest.mark.usefixtures("trained")
def test_several_texts_and_folders_are_suggested_for(run, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for at, text in TEXTS.items():
        (folder / f"t{at}.txt").write_text(text, encoding="utf-8")
    code, out, err = run("suggest", folder, "-k", "1", "--json")
    assert (code, err) == (0, "")
    best = [each["suggestions"][0]["category"] for each in json.loads(out)]
    assert best == ["http://x/1", "http://x/2", "http://x/3"]
    code, out, _ = run("suggest", folder / "t1.txt", folder / "t2.txt", "-k", "1")
    assert code == 0
    assert str(folder / "t1.txt") in out
    assert out.index("mehiläiset") < out.index(str(folder / "t2.txt"))
    code, _, err = run("suggest", folder, "--why")
    assert code == 2
    assert "are of one text" in err
