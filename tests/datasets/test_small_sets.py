"""Loaders on small collections written for these tests."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from classmark.datasets import CATALOG, load, where
from classmark.datasets.dataset import (
    LOADERS,
    ClickSession,
    DatasetPart,
    Link,
    find,
    in_test,
)
from classmark.datasets.texts import tree_of_paths
from classmark.problems import Mistake, UnreadableFile


def put_files(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


STORY = """<REUTERS TOPICS="{yes}" LEWISSPLIT="{split}" OLDID="1" NEWID="{id}">
<DATE>1</DATE><TOPICS>{topics}</TOPICS>
<TEXT><TITLE>{title}</TITLE><BODY>Words of ours.</BODY></TEXT>
</REUTERS>
"""


def story(number, split, *topics, yes="YES"):
    marked = "".join(f"<D>{topic}</D>" for topic in topics)
    return STORY.format(
        id=number, split=split, topics=marked, yes=yes, title=f"T{number}"
    )


def test_reuters(tmp_path):
    text = "".join(
        [
            story(1, "TRAIN", "bees"),
            story(2, "TRAIN"),
            story(3, "TEST", "bees", "wasps"),
            story(4, "TRAIN", "ants", yes="NO"),
        ]
    )
    folder = put_files(tmp_path / "reuters-21578", {"reut2-000.sgm": text})
    found = load("reuters-21578", path=folder)
    assert found.train.ids == ["1", "2"]
    assert found.train.labels == [["bees"], []]
    assert found.train.texts[0] == "T1\nWords of ours."
    assert found.test.labels == [["bees"]], "wasps have no training story"
    assert found.label_names == ["bees"]
    assert found.label_numbers(found.test) == [[0]]
    assert found.taxonomy is None
    whole = load("reuters-21578", path=tmp_path, split="all")
    assert len(whole.train) == 4
    assert whole.label_names == ["ants", "bees", "wasps"]
    tarball = shutil.make_archive(str(tmp_path / "reuters21578"), "gztar", folder)
    assert load("reuters-21578", path=tarball).train.ids == ["1", "2"]
    with pytest.raises(Mistake, match="'modapte' and 'all'"):
        load("reuters-21578", path=folder, split="modlewis")


def test_newsgroups_as_folders_and_as_lines(tmp_path):
    message = "From: us\n\nHives."
    folders = put_files(
        tmp_path / "web",
        {
            "20news-bydate-train/rec.bees/1": message,
            "20news-bydate-train/sci.ants/1": message,
            "20news-bydate-test/rec.bees/2": message,
        },
    )
    one = {"id": "1", "text": message}
    rows = put_files(
        tmp_path / "lines",
        {
            "20news-bydate-train.jsonl": lines(
                {**one, "group": "rec.bees"}, {**one, "group": "sci.ants"}
            ),
            "20news-bydate-test.jsonl": lines({**one, "id": "2", "group": "rec.bees"}),
        },
    )
    first, second = (load("20newsgroups-bydate", path=path) for path in (folders, rows))
    for one, other in ((first.train, second.train), (first.test, second.test)):
        assert one.ids == other.ids
        assert one.texts == other.texts
        assert one.labels == other.labels
    assert first.train.ids == ["rec.bees/1", "sci.ants/1"]
    assert first.label_names == ["rec.bees", "sci.ants"]
    assert first.taxonomy.path("rec.bees") == ["rec", "rec.bees"]
    (rows / "20news-bydate-test.jsonl").write_text('{"id": 3}\n')
    with pytest.raises(UnreadableFile, match="line 1: 'group' is needed"):
        load("20newsgroups-bydate", path=rows)


ARFF = """@relation x
@attribute w {0,1}
@attribute L {0,1}
@data
{0 1,1 1}
{0 1}
"""


def test_mulan(tmp_path):
    folder = put_files(
        tmp_path,
        {
            "x-train.arff": ARFF,
            "x-test.arff": ARFF,
            "x.arff": ARFF,
            "x.xml": '<labels><label name="L"/></labels>',
        },
    )
    found = load("mulan", path=folder)
    assert found.train.labels == [["L"], []]
    assert found.train.X.shape == found.test.X.shape == (2, 1)
    assert found.label_names == ["L"]
    assert found.feature_names == ["w"]
    assert found.train.texts == []
    assert len(load("mulan", path=folder, split="all").test) == 0
    with pytest.raises(Mistake, match="split='half'"):
        load("mulan", path=folder, split="half")


def test_named_vectors(tmp_path):
    folder = put_files(
        tmp_path / "yahoo",
        {
            "yahoo_arts.svm": "".join(f"{n % 2} 1:{n + 1}\n" for n in range(30)),
            "yahoo_arts.labels.txt": "painting\nmusic\n",
            "yahoo_arts.features.txt": "brush\nnote\n",
        },
    )
    found = load("yahoo-arts", path=tmp_path)
    assert found.test.ids == load("yahoo", path=folder, split="arts").test.ids
    assert found.label_names == ["painting", "music"]
    assert found.train.X.shape[1] == 2
    assert len(found.train) + len(found.test) == 30
    assert set(found.train.ids) | set(found.test.ids) == {str(n) for n in range(1, 31)}
    row = found.train.ids.index(next(iter(found.train.ids)))
    number = int(found.train.ids[row])
    assert found.train.X[row, 0] == number
    assert found.train.labels[row] == [["painting", "music"][(number - 1) % 2]]
    with pytest.raises(Mistake, match="say which set, one of arts"):
        load("yahoo", path=folder)
    (folder / "yahoo_arts.labels.txt").write_text("painting\n")
    with pytest.raises(Mistake, match="label '1' is not a number below 1"):
        load("yahoo-arts", path=folder)


def test_libsvm_files_of_the_web(tmp_path):
    folder = put_files(
        tmp_path / "d", {"m_train.svm": "1,2 1:1\n", "m_test.svm": "3 4:1\n"}
    )
    found = load("libsvm", path=folder)
    assert found.train.X.shape == found.test.X.shape == (1, 4)
    assert found.label_names == ["1", "2", "3"]
    single = load("libsvm", path=folder / "m_train.svm")
    assert len(single.train) + len(single.test) == 1
    with pytest.raises(Mistake, match="say where with path="):
        load("libsvm")


def test_lshtc(tmp_path):
    folder = put_files(
        tmp_path,
        {
            "cat_hier.txt": "1 2 5\n1 3 6\n",
            "Task2_Train-x/train.txt": "5 0:9 3:1\n",
            "Task2_Train-x/validation.txt": "6 0:9 7:1\n",
            "Task1_Train-x/validation.txt": "6 0:9 7:1\n",
        },
    )
    found = load("lshtc1-dryrun", path=folder)
    assert found.train.X.shape == found.test.X.shape == (1, 7)
    assert found.taxonomy.leaves == found.label_names == ["5", "6"]
    assert found.validation.labels == [["6"]]
    assert len(load("lshtc1-dryrun", path=folder, split="task1").train) == 0
    assert len(found.descriptions) == 0
    plain = put_files(tmp_path / "p", {"train.txt": "5 1:1\n", "cat_hier.txt": "1 5\n"})
    assert load("lshtc", path=plain).train.labels == [["5"]]
    with pytest.raises(Mistake, match=r"holds no Task3_\*"):
        load("lshtc1-dryrun", path=folder, split="task3")


def test_letor_parts_folds_and_groups(tmp_path):
    row = "{grade} qid:{qid} 1:{value} #docid = d{qid}\n"
    parts = {f"S{n}.txt": row.format(grade=n % 3, qid=n, value=n) for n in range(1, 6)}
    five = put_files(tmp_path / "five", parts)
    fold = load("letor", path=five, split="fold4")
    assert fold.train.qids == ["4", "5", "1"]
    assert fold.validation.qids == ["2"]
    assert fold.test.qids == ["3"]
    assert fold.test.grades.tolist() == [0.0]
    assert fold.test.ids == ["d3"]
    (five / "S5.txt").unlink()
    some = load("letor", path=five)
    assert some.train.qids == ["1", "2", "3"]
    assert some.validation is None
    assert some.test.qids == ["4"]
    with pytest.raises(Mistake, match=r"holds no \[SA\]5"):
        load("letor", path=five, split="fold1")
    with pytest.raises(Mistake, match="give 'fold1'"):
        load("letor", path=five, split="first")
    web = put_files(
        tmp_path / "web",
        {f"Fold1/{name}.txt": parts["S1.txt"] for name in ("train", "vali", "test")},
    )
    assert load("letor", path=web).validation.qids == ["1"]
    groups = {"rank.train": "1 1:1\n", "rank.train.query": "1\n"}
    groups |= {name.replace("train", "test"): text for name, text in groups.items()}
    lightgbm = put_files(tmp_path / "gbm", groups)
    assert load("letor", path=lightgbm).test.qids == ["1"]


def test_debtags(tmp_path):
    row = {"package": "p", "section": "net", "short": "A.", "long": "B."}
    rows = [
        {**row, "package": f"p{n}", "source": f"s{n // 2}", "tags": tags}
        for n, tags in enumerate([["use::a", "lang::x:y"], [], ["use::b"], []])
    ]
    folder = put_files(tmp_path, {"packages.jsonl": lines(*rows)})
    found = load("debian-debtags", path=folder)
    assert found.label_names == ["lang::x:y", "use::a", "use::b"]
    assert found.taxonomy.path("lang::x:y") == ["lang", "lang::x", "lang::x:y"]
    for n in (0, 2):
        assert (f"p{n}" in found.test.ids) == (f"p{n + 1}" in found.test.ids)
    sections = load("debian-debtags", path=folder, split="sections")
    assert sections.label_names == ["net"]
    assert sections.taxonomy is None
    with pytest.raises(Mistake, match="'tags' and 'sections'"):
        load("debian-debtags", path=folder, split="x")
    (folder / "packages.jsonl").write_text('{"package": "p"}\n')
    with pytest.raises(UnreadableFile, match="line 1: 'source' is needed, a str"):
        load("debian-debtags", path=folder)


def test_pypi(tmp_path):
    row = {
        "name": "hive",
        "summary": "Bees.",
        "description": "Many.",
        "topics": ["T :: A"],
    }
    found = load(
        "pypi-topics", path=put_files(tmp_path, {"packages.jsonl": lines(row)})
    )
    assert (found.train.texts + found.test.texts) == ["Bees.\nMany."]
    assert found.taxonomy.path("T :: A") == ["T", "T :: A"]
    assert (found.descriptions.ids, found.descriptions.texts) == (
        ["T", "T :: A"],
        ["T", "A"],
    )


@pytest.mark.needs("rdflib")
def test_makupalat(tmp_path):
    turtle = (
        "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
        '<urn:x:1> a skos:Concept ; skos:prefLabel "a"@fi .\n'
    )
    files = {f"m-{n}.tsv": "Teksti\t<urn:x:1>\n" for n in ("train", "validate", "test")}
    found = load(
        "annif-makupalat", path=put_files(tmp_path, {**files, "x-skos.ttl": turtle})
    )
    assert found.train.labels == [["urn:x:1"]]
    assert found.validation.ids == ["validate-1"]
    assert found.taxonomy.nodes == ["urn:x:1"]
    assert found.descriptions.texts == ["a"]


MEDIAMILL = """@relation mediamill
@attribute Att1 numeric
@attribute Att2 numeric
@attribute Class1 {0,1}
@attribute Class2 {0,1}
@data
0.5,1.0E-4,0,1
{0 0.25,2 1,3 1}
"""


def test_mediamill(tmp_path):
    xml = (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<labels xmlns="http://mulan.sourceforge.net/labels">\n'
        '<label name="Class1"></label><label name="Class2"></label></labels>\n'
    )
    folder = put_files(
        tmp_path,
        {
            "mediamill-train.arff": MEDIAMILL,
            "mediamill-test.arff": MEDIAMILL,
            "mediamill.arff": MEDIAMILL,
            "mediamill.xml": xml,
            "train-exp1.svm": "0,5 1:0.5 2:1e-4\n5 120:-0.25\n",
            "test-exp1.svm": " 1:0.5\n",
        },
    )
    found = load("mediamill", path=folder)
    assert found.train.labels == found.test.labels == [["Class2"], ["Class1", "Class2"]]
    assert found.label_names == ["Class1", "Class2"]
    assert found.feature_names == ["Att1", "Att2"]
    assert found.train.X.toarray().tolist() == [[0.5, 1e-4], [0.25, 0]]
    whole = load("mediamill", path=folder, split="all")
    assert (len(whole.train), len(whole.test)) == (2, 0)
    first = load("mediamill", path=folder, split="exp1")
    assert first.train.labels == [["0", "5"], ["5"]]
    assert first.test.X.shape == (1, 120)
    with pytest.raises(Mistake, match="split='exp2'"):
        load("mediamill", path=folder, split="exp2")


def test_rcv1_with_its_tokens(tmp_path):
    folder = put_files(
        tmp_path,
        {
            "rcv1.topics.hier.orig": (
                "parent: None child: Root child-description: Root\n"
                "parent: Root child: CCAT         child-description: CORPORATE\n"
                "parent: CCAT child: C11          child-description: STRATEGY/PLANS\n"
            ),
            "rcv1-v2.topics.qrels": "C11 2286 1\nCCAT 2286 1\nCCAT 26151 1\n",
            "lyrl2004_tokens_train.dat": ".I 2286\n.W\nhoney hiv honey\nbee\n\n",
            "lyrl2004_tokens_test_pt0.dat": ".I 26151\n.W\nbread bak\n",
        },
    )
    found = load("rcv1-v2-topics", path=folder)
    assert (found.train.ids, found.test.ids) == (["2286"], ["26151"])
    assert found.train.texts == ["honey hiv honey\nbee"]
    assert found.train.labels == [["C11", "CCAT"]]
    assert found.test.labels == [["CCAT"]]
    assert found.label_names == ["CCAT", "C11"]
    assert found.taxonomy.edges[-1] == ("CCAT", "C11")


def test_rcv1(tmp_path):
    token = {"doc_label": ["A"], "doc_token": ["Our", "words"]}
    folder = put_files(
        tmp_path,
        {
            "x.taxonomy": "Root\tA\tB\nA\tA1\n",
            "x.topics.qrels": "A 2286 1\nA1 2286 1\nB 26151 1\n",
            "x-rcv1_dev.json": lines(token),
        },
    )
    found = load("rcv1-v2-topics", path=folder)
    assert found.train.ids == ["2286"]
    assert found.train.labels == [["A", "A1"]]
    assert found.test.labels == [["B"]]
    assert found.label_names == ["A", "B", "A1"]
    assert found.taxonomy.roots == ["Root"]
    tokens = load("rcv1-v2-topics", path=folder, split="tokens")
    assert tokens.train.texts + tokens.test.texts == ["Our words"]
    (folder / "x.topics.qrels").write_text("Z 1 1\n")
    with pytest.raises(UnreadableFile, match="line 1"):
        load("rcv1-v2-topics", path=folder)
    with pytest.raises(Mistake, match="'lyrl2004' and 'tokens'"):
        load("rcv1-v2-topics", path=folder, split="x")


@pytest.mark.parametrize("articles", ["lines", "files"])
def test_wikispeedia(tmp_path, articles):
    files = {
        "graph/categories.tsv": "# ours\n\nBee\tsubject.Nature.Insects\n",
        "graph/links.tsv": "Bee\tHive\n",
    }
    if articles == "lines":
        files["articles.jsonl"] = lines(
            {"id": "Bee", "text": "Buzz."}, {"id": "Hive", "text": "Wax."}
        )
    else:
        files["plaintext_articles/Bee.txt"] = "Buzz."
        files["plaintext_articles/Hive.txt"] = "Wax."
    found = load("wikispeedia", path=put_files(tmp_path, files))
    assert [document.id for document in found.documents] == ["Bee", "Hive"]
    assert [document.text for document in found.documents] == ["Buzz.", "Wax."]
    assert found.links == [Link("Bee", "Hive")]
    assert found.taxonomy.path("subject.Nature.Insects")[0] == "subject"
    assert found.descriptions.texts == ["subject", "Nature", "Insects"]
    assert sorted(found.train.ids + found.test.ids) == ["Bee", "Hive"]


def test_smart_collections(tmp_path):
    document = ".I 1\n.T\nBees\n.W\nThey swarm.\n.X\n2\t5\t1\n.I 2\n.W\nHives.\n"
    query = ".I 7\n.W\nswarms\n"
    cran = {"cran.all.1400": document, "cran.qry": query, "cranqrel": "1 2 3\n"}
    found = load("cranfield", path=put_files(tmp_path / "cranfield", cran))
    assert found.queries == {"1": "swarms"}
    assert found.qrels == {"1": {"2": 2.0}}
    assert [d.id for d in found.documents] == ["1", "2"]
    cacm = {"cacm.all": document, "query.text": query, "qrels.text": "07 1 0 0\n"}
    found = load("cacm", path=put_files(tmp_path / "cacm", cacm))
    assert found.qrels == {"7": {"1": 1.0}}
    assert found.links == [Link("1", "2")]
    adi = {"ADI.ALL": document, "ADI.QRY": query, "ADI.REL": "7 1 0 0.000000\n"}
    assert load("adi", path=put_files(tmp_path / "adi", adi)).qrels == found.qrels
    npl = {"doc-text": "1\nbees\n/\n", "query-text": "1\nhives\n/\n"}
    npl["rlv-ass"] = "1\n 1\n/\n"
    found = load("npl-vaswani", path=put_files(tmp_path / "npl", npl))
    assert found.qrels == {"1": {"1": 1.0}}


def test_beir_and_nfcorpus(tmp_path):
    beir = {
        "corpus.jsonl": lines({"_id": "d", "title": "Bees", "text": "swarm"}),
        "queries.jsonl": lines({"_id": "q", "text": "swarms"}),
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\td\t1\n",
    }
    for name, kind in (("scifact", "scifact"), ("anything", "beir")):
        found = load(kind, path=put_files(tmp_path / name, beir))
        assert found.qrels == {"q": {"d": 1.0}}
        assert next(iter(found.documents)).title == "Bees"
        assert found.name == kind
    assert load("nfcorpus", path=tmp_path / "scifact").queries == {"q": "swarms"}
    own = {
        "dev.docs": "d\tbees\n",
        "train.docs": "",
        "dev.titles.queries": "q\tswarm\n",
        "dev.all.queries": "q\tswarm of bees\n",
        "dev.3-2-1.qrel": "q 0 d 3\n",
    }
    folder = put_files(tmp_path / "nf", own)
    assert load("nfcorpus", path=folder).queries == {"q": "swarm"}
    assert (
        load("nfcorpus", path=folder, split="dev.all").queries["q"] == "swarm of bees"
    )
    with pytest.raises(Mistake, match="'train', 'dev' and 'test'"):
        load("nfcorpus", path=folder, split="all")


def test_graphs(tmp_path):
    folder = put_files(tmp_path / "e", {"edges.tsv": "# from to\na\tb\nb\tc\n"})
    found = load("edges", path=folder)
    assert found.links == [Link("a", "b"), Link("b", "c")]
    assert found.train.ids == ["a", "b", "c"]
    (folder / "edges.tsv").write_text("a b c\n")
    with pytest.raises(UnreadableFile, match="line 1: 3 cells"):
        load("edges", path=folder)
    gml = (
        'graph [\n directed 1\n node [\n id 1\n label "x.org"\n value 0\n ]\n'
        ' node [\n id 2\n label "y.org"\n value 1\n ]\n'
        " edge [\n source 1\n target 2\n ]\n]\n"
    )
    folder = put_files(tmp_path / "g", {"p.gml": gml})
    found = load("graph-polblogs", path=folder)
    assert found.links == [Link("x.org", "y.org")]
    assert found.train.labels == [["liberal"], ["conservative"]]
    (folder / "p.gml").write_text(gml.replace("target 2", "target 3"))
    with pytest.raises(UnreadableFile, match="an edge without its two nodes"):
        load("graph-polblogs", path=folder)


def test_clicks(tmp_path):
    session = "0\t5 6\t0 1\t-1 9.5\n"
    folder = put_files(
        tmp_path / "s",
        {
            "train_data": session,
            "test_data": session,
            "query_id": "bees\t0\t1\t0\n",
            "url_id": "http://x.example\t5\n",
        },
    )
    found = load("clicks-sogou-sample", path=folder)
    assert found.train.sessions == [ClickSession("0", ("5", "6"), (False, True))]
    assert found.queries == {"0": "bees"}
    assert next(iter(found.documents)).fields == {"url": "http://x.example"}
    (folder / "test_data").write_text("0\t5 6\t0\n")
    with pytest.raises(UnreadableFile, match="line 1: query, results"):
        load("clicks-sogou-sample", path=folder)
    table = ",item_id,position,click,propensity_score,x\n0,7,1,1,0.25,z\n"
    folder = put_files(tmp_path / "o", {"random/all/all.csv": table})
    found = load("obp", path=folder).train.impressions
    assert len(found) == 1
    assert (found.items[0], found.positions[0], found.clicks[0]) == (7, 1, 1)
    assert found.propensities.tolist() == [0.25]
    with pytest.raises(Mistake, match="random or bts"):
        load("obp", path=folder, split="all")
    (folder / "random/all/all.csv").write_text(table.replace("0.25", "?"))
    with pytest.raises(UnreadableFile, match="line 2: numbers are needed"):
        load("obp", path=folder)


LIBRARY = {
    "taxonomy.csv": "id,parent,label\nq,,Nature\nq.bee,q,Bees\nq.ant,q,Ants\n",
    "records.jsonl": lines(
        {
            "id": "r1",
            "title": "Hives",
            "creator": "A. Keeper",
            "text": "On swarms.",
            "meta": {"year": 1931, "kind": "book", "part": "train"},
            "primary": "q.bee",
            "secondary": ["q.ant"],
            "see": [{"id": "r2", "anchor": "the other one"}],
        },
        {
            "id": "r2",
            "title": "Hills",
            "text": "Ants.",
            "meta": {"part": "test"},
            "primary": "q.ant",
        },
    ),
    "queries.jsonl": lines({"id": "q1", "text": "swarms"}),
    "qrels.tsv": "q1\tr1\t2\n",
    "clicks.jsonl": lines({"query": "q1", "shown": ["r1", "r2"], "clicked": ["r1"]}),
}


def test_library_layout(tmp_path):
    found = load("library", path=put_files(tmp_path, LIBRARY))
    assert found.train.ids == ["r1"]
    assert found.train.texts == ["Hives\nA. Keeper\nOn swarms."]
    assert found.train.labels == [["q.bee", "q.ant"]]
    assert found.test.labels == [["q.ant"]]
    assert found.label_names == ["q.bee", "q.ant"]
    assert found.taxonomy.leaves == ["q.bee", "q.ant"]
    said = dict(zip(found.descriptions.ids, found.descriptions.texts, strict=True))
    assert said["q.bee"] == "Bees"
    assert found.queries == {"q1": "swarms"}
    assert found.qrels == {"q1": {"r1": 2.0}}
    assert found.links == [Link("r1", "r2", "the other one")]
    assert found.train.sessions == [ClickSession("q1", ("r1", "r2"), (True, False))]
    assert [document.title for document in found.documents] == ["Hives", "Hills"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("records.jsonl", '{"id": "r1", "meta": {"part": "dev"}}\n', "train or test"),
        ("records.jsonl", '{"id": "r1"}\n', "'r1': a part, train or test, is needed"),
        ("queries.jsonl", '{"text": "swarms"}\n', "line 1: no id"),
        ("queries.jsonl", '{"id": 1, "text": [2]}\n', "'text' holds a list"),
        ("qrels.tsv", "q1\tr1\tgood\n", "grade is 'good'"),
        ("clicks.jsonl", '{"query": "q1"}\n', "'shown' is needed"),
    ],
)
def test_library_damage_is_named(tmp_path, name, text, message):
    folder = put_files(tmp_path, {**LIBRARY, name: text})
    with pytest.raises(UnreadableFile, match=message):
        load("library", path=folder)


def test_where(tmp_path, monkeypatch):
    monkeypatch.setenv("CLASSMARK_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(Mistake) as caught:
        load("adi")
    for words in (str(tmp_path / "data" / "adi"), "CLASSMARK_DATA", "data get adi"):
        assert words in str(caught.value)
    assert find("adi") is None
    cached = tmp_path / "cache" / "classmark" / "data" / "adi"
    cached.mkdir(parents=True)
    assert where("adi") == cached
    (tmp_path / "data" / "adi").mkdir(parents=True)
    assert where("adi") == tmp_path / "data" / "adi"
    assert where("adi", tmp_path) == tmp_path
    with pytest.raises(Mistake, match=r"holds no ADI\.ALL"):
        load("adi")
    with pytest.raises(Mistake, match="'nothing' is not a known collection"):
        load("nothing")
    with pytest.raises(Mistake, match="not there"):
        load("beir", path=tmp_path / "nowhere")


def test_the_catalogue_is_sound():
    for entry in CATALOG.values():
        assert entry.family in LOADERS
        assert entry.what
        assert entry.licence
        assert entry.sources or entry.page or entry.name == "library"
        for source in entry.sources:
            assert source.address.startswith("https://")
            assert len(source.sha256) in (0, 64)
            assert ".." not in source.name


def test_the_checksum_split_is_about_a_third():
    share = np.mean([in_test(str(number)) for number in range(3_000)])
    assert 0.3 < share < 0.37


def test_tree_of_paths_keeps_single_names():
    assert tree_of_paths(["a", "b.c"], ".").nodes == ["a", "b", "b.c"]


def test_an_empty_part_has_no_length():
    assert len(DatasetPart()) == 0


def test_looking_up_is_light():
    code = (
        "import sys, classmark.datasets;"
        "heavy = {'scipy', 'numba', 'rdflib', 'sklearn'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


def test_every_collection_is_documented():
    page = Path(__file__).parents[2] / "docs" / "datasets.md"
    text = page.read_text()
    missing = [name for name in CATALOG if f"| {name} |" not in text]
    assert not missing
