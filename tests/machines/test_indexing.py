"""Many machines make the index that one makes, byte by byte, whatever happens."""

import json
import resource

import pytest

from classmark.corpus.documents import Document
from classmark.formats.jsonl import write_jsonl
from classmark.formats.records import Record
from classmark.formats.tables import write_parquet
from classmark.index.build import build_segments, shard_pieces
from classmark.index.index import Index
from classmark.index.segment import TwinIds
from classmark.machines import indexing
from classmark.machines.cluster import Machines
from classmark.machines.indexing import memory_for, part_size
from classmark.problems import Mistake, UnreadableFile
from classmark.workbench.project import Project, create
from classmark.workbench.search.index import index_file, index_project
from classmark.workbench.settings import Settings

WORDS = [
    "bee",
    "hive",
    "honey",
    "wasp",
    "été",
    "Straße",
    "蜂蜜",
    "swarm",
    "comb",
    "wax",
]


def words(n, many=30):
    return " ".join(
        WORDS[(n * n + 7 * k * k + k // 3) % len(WORDS)] for k in range(many)
    )


def rows(count, **more):
    return [
        Record(Document(f"d{n}", {"title": words(n, 3), "body": words(n + 1), **more}))
        for n in range(count)
    ]


def contents(folder, but=("source.json", ".lock")):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in but
    }


@pytest.fixture
def shelf(tmp_path):
    path = tmp_path / "shelf.jsonl"
    write_jsonl(rows(200), path)
    return path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Cut small files, too."""
    monkeypatch.setattr(indexing, "SMALLEST", 4000)


def both(given, tmp_path, machines, **options):
    """Index here and there; the index here, and both folders."""
    here, there = tmp_path / "here", tmp_path / "there"
    said = index_file(given, here, **options).rows
    assert index_file(given, there, machines=machines, **options).rows == said
    assert contents(there) == contents(here)
    assert not list(there.glob(".parts-*"))
    return Index.open(there)


@pytest.mark.parametrize("positions", [False, True])
@pytest.mark.parametrize("shards", [None, 3])
def test_a_file_is_indexed_as_here(shelf, tmp_path, two, positions, shards):
    index = both(shelf, tmp_path, two, positions=positions, shards=shards)
    assert len(index) == 200
    assert list(index.ids()) == [f"d{n}" for n in range(200)]
    assert index.check().segments == (shards or 1)


def test_shards_answer_as_one(shelf, tmp_path, two):
    index_file(shelf, tmp_path / "one")
    one = Index.open(tmp_path / "one")
    many = both(shelf, tmp_path, two, shards=7)
    assert many.check().segments == 7
    assert many.fields == one.fields
    for query in ("honey wasp", "蜂蜜", "Straße comb wax"):
        assert many.search(query, 20) == one.search(query, 20)


def test_lines_of_all_kinds(tmp_path, two):
    path = tmp_path / "odd.jsonl"
    lines = [
        json.dumps({"id": f"é{n}", f"f{n % 5}": words(n, 40)}, ensure_ascii=False)
        for n in range(120)
    ]
    ends = ["\n", "\r\n", "\n\n", "\n  \r\n"]
    text = (
        "".join(line + ends[n % 4] for n, line in enumerate(lines)) + '{"id": "last"}'
    )
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    index = both(path, tmp_path, two)
    assert len(index) == 121
    assert index.fields == ["f0", "f1", "f2", "f3", "f4"]


def test_a_field_that_comes_late_is_in_all_shards(tmp_path, two):
    path = tmp_path / "late.jsonl"
    write_jsonl([*rows(100), *rows(0), Record(Document("x", {"note": "bee"}))], path)
    index = both(path, tmp_path, two, shards=4)
    assert index.fields == ["title", "body", "note"]
    assert [hit.id for hit in index.search("bee", fields={"note": 1.0})] == ["x"]


def test_several_files_parquet_and_addresses(tmp_path, two):
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    found = rows(300)
    write_jsonl(found[:90], shelf / "a.jsonl")
    write_parquet(found[90:250], shelf / "b.parquet", batch=16)
    write_jsonl(found[250:], shelf / "c.jsonl.gz")
    index = both(shelf, tmp_path, two)
    assert list(index.ids()) == [record.id for record in found]
    given = [f"file://{shelf}/a.jsonl", str(shelf / "b.parquet"), shelf / "c.jsonl.gz"]
    index_file(given, tmp_path / "listed", machines=two)
    assert contents(tmp_path / "listed") == contents(tmp_path / "here")


def test_what_links_say_is_indexed_with_documents(tmp_path, two):
    path = tmp_path / "web.jsonl"
    found = [
        Record(
            Document(f"d{n}", {"text": words(n)}),
            links=((f"d{n * 7 % 150}", f"anchor {words(n, 2)}"), ("gone", "nowhere")),
        )
        for n in range(150)
    ]
    write_jsonl(found, path)
    index = both(path, tmp_path, two, shards=2)
    assert index.fields == ["text", "anchor"]
    assert len(index.search("anchor", 200, fields={"anchor": 1.0})) == 150
    assert index.generation == 1


def test_an_index_that_is_there_is_replaced(shelf, tmp_path, two):
    for to in ("here", "there"):
        index_file(shelf, tmp_path / to)
    write_jsonl(rows(50, extra="more"), shelf)
    index = both(shelf, tmp_path, two)
    assert (len(index), index.generation) == (50, 2)


def test_an_empty_file_and_blank_lines(tmp_path, two):
    path = tmp_path / "none.jsonl"
    for content in ("", "\n \n" * 3000):
        path.write_text(content)
        with pytest.raises(UnreadableFile, match="there is no document in it"):
            index_file(path, tmp_path / "here", shards=2)
        with pytest.raises(Mistake, match="there is no document in it"):
            index_file(path, tmp_path / "there", machines=two, shards=2)


def test_more_shards_than_documents(tmp_path, two):
    path = tmp_path / "few.jsonl"
    write_jsonl(rows(3), path)
    assert both(path, tmp_path, two, shards=5).check().segments == 3


def test_no_shards_are_refused(shelf, tmp_path, two):
    for machines in (None, two):
        with pytest.raises(Mistake, match="shards is 0: give at least one"):
            index_file(shelf, tmp_path / "x", shards=0, machines=machines)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("shards", [None, 2])
def test_an_id_that_comes_twice_is_refused_as_here(tmp_path, two, shards):
    path = tmp_path / "twins.jsonl"
    found = rows(200)
    found[170] = Record(Document("d5", {"body": "again"}))
    write_jsonl(found, path)
    told = []
    for machines in (None, two):
        with pytest.raises(UnreadableFile) as caught:
            index_file(path, tmp_path / "x", shards=shards, machines=machines)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "line 171: id 'd5' is there a second time" in told[0]


@pytest.mark.parametrize(("first", "second"), [(20, 2), (200, 2), (200, 200)])
def test_an_id_in_two_files_is_refused_as_here(tmp_path, two, first, second):
    for name, count in (("a", 200), ("b", first), ("c", second)):
        found = [
            Record(Document(f"{name}{r.id}", r.document.fields)) for r in rows(count)
        ]
        if name == "c":
            found[-1] = Record(Document("bd3", {"body": "again"}))
        write_jsonl(found, tmp_path / f"{name}.jsonl")
    told = []
    for machines in (None, two):
        with pytest.raises(TwinIds) as caught:
            index_file(tmp_path / "*.jsonl", tmp_path / "x", machines=machines)
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert f"document {200 + first + second}: id 'bd3'" in told[0]


def test_an_unreadable_line_is_named(shelf, tmp_path, two):
    lines = shelf.read_text().splitlines()
    lines[150] = "{"
    shelf.write_text("\n".join(lines))
    with pytest.raises(UnreadableFile, match=r"shelf.jsonl, line 151: not JSON"):
        index_file(shelf, tmp_path / "x", machines=two)
    assert Index.build(tmp_path / "x", []).check().documents == 0
    assert not list((tmp_path / "x").glob(".parts-*"))


def test_a_file_that_is_not_there(tmp_path, two):
    with pytest.raises(UnreadableFile, match="no such file"):
        index_file(tmp_path / "no.jsonl", tmp_path / "x", machines=two)
    with pytest.raises(UnreadableFile, match="no such file"):
        index_file("file:///no/such.jsonl", tmp_path / "x", machines=two)


class Stopping:
    """Lets some parts be built, then stops; notes what is there when merging begins."""

    def __init__(self, monkeypatch, folder):
        self.after, self.folder, self.merging = 0, folder, {}
        spread = Machines.spread

        def stopping(machines, work, tasks, shared=()):
            if work is indexing.merge_part:
                self.merging = self.parts()
            for number, found in enumerate(spread(machines, work, tasks, shared)):
                if number == self.after > 0:
                    raise KeyboardInterrupt
                yield found

        monkeypatch.setattr(Machines, "spread", stopping)

    def settle(self, machines):
        """Wait until what was begun has ended."""
        for worker in machines.client.scheduler_info(n_workers=-1)["workers"]:
            machines.client.submit(abs, 1, pure=False, workers=[worker]).result()

    def parts(self):
        """The parts that are there: name → the number of its folder on the disk."""
        found = self.folder.glob(".parts-*/[ps]*-??????")
        return {path.name: path.stat().st_ino for path in found}


@pytest.mark.parametrize("links", [(), (("d1", "hive of bees"),)])
def test_who_is_interrupted_goes_on(tmp_path, two, four, monkeypatch, links):
    path = tmp_path / "f.jsonl"
    write_jsonl([Record(r.document, links=links) for r in rows(200)], path)
    index_file(path, tmp_path / "here")
    stopping = Stopping(monkeypatch, tmp_path / "there")
    stopping.after = 5
    with pytest.raises(KeyboardInterrupt):
        index_file(path, tmp_path / "there", machines=two)
    stopping.settle(two)
    before = stopping.parts()
    assert len(before) >= 5
    stopping.after = 0
    index_file(path, tmp_path / "there", machines=four)
    if not links:
        assert before.items() <= stopping.merging.items()
    assert stopping.merging
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def test_other_work_is_not_gone_on_with(shelf, tmp_path, two, monkeypatch):
    stopping = Stopping(monkeypatch, tmp_path / "there")
    stopping.after = 5
    with pytest.raises(KeyboardInterrupt):
        index_file(shelf, tmp_path / "there", machines=two)
    stopping.settle(two)
    (old,) = (tmp_path / "there").glob(".parts-*")
    write_jsonl(rows(180), shelf)
    with pytest.raises(KeyboardInterrupt):
        index_file(shelf, tmp_path / "there", machines=two)
    (new,) = (tmp_path / "there").glob(".parts-*")
    assert new != old
    stopping.settle(two)
    monkeypatch.setattr(indexing, "__version__", "0")
    with pytest.raises(KeyboardInterrupt):
        index_file(shelf, tmp_path / "there", machines=two)
    (newest,) = (tmp_path / "there").glob(".parts-*")
    assert newest != new
    stopping.after = 0
    both(shelf, tmp_path, two)


def test_a_damaged_part_is_made_again(shelf, tmp_path, two, monkeypatch):
    stopping = Stopping(monkeypatch, tmp_path / "there")
    stopping.after = 5
    with pytest.raises(KeyboardInterrupt):
        index_file(shelf, tmp_path / "there", machines=two)
    for manifest in (tmp_path / "there").glob(
        ".parts-*/plain-000001/segment/manifest.json"
    ):
        manifest.write_text("{}")
    stopping.after = 0
    both(shelf, tmp_path, two)


def test_a_killed_worker_changes_nothing(tmp_path, two, killing):
    path = tmp_path / "f.jsonl"
    write_jsonl(rows(900), path)
    there = tmp_path / "there"

    def moment():
        return any(there.glob(".parts-*/plain-??????"))

    with killing(two, moment) as one:
        both(path, tmp_path, two)
    assert one.killed


def test_a_full_disk_is_told_and_gone_on_from(shelf, tmp_path, two):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    two.client.run(resource.setrlimit, resource.RLIMIT_FSIZE, (200, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            index_file(shelf, tmp_path / "there", machines=two)
    finally:
        two.client.run(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
    both(shelf, tmp_path, two)


def test_a_folder_that_workers_do_not_see(shelf, tmp_path, two, monkeypatch):
    def unseen(_, folder):
        raise Mistake(f"{folder} is not seen")

    monkeypatch.setattr(Machines, "require_folder", unseen)
    with pytest.raises(Mistake, match="is not seen"):
        index_file(shelf, tmp_path / "there", machines=two)


def test_another_may_not_change_it_meanwhile(shelf, tmp_path, two):
    with Index.build(tmp_path / "x", [("a", "bees")]) as index:
        index.add([("b", "wasps")])
        with pytest.raises(Mistake, match="is being changed"):
            index_file(shelf, tmp_path / "x", machines=two)


def fill(project, count=120):
    project.store.put_documents(
        Record(r.document, links=((f"d{n // 2}", f"said {n}"),))
        for n, r in enumerate(rows(count))
    )


def project_in(folder, **settings):
    create(folder, Settings("Web", **settings))
    return Project(folder)


@pytest.mark.parametrize("shards", [None, 3])
def test_a_project_is_indexed_as_here(tmp_path, two, shards):
    said = []
    for name, by in (("here", None), ("there", two)):
        with project_in(tmp_path / name) as project:
            fill(project)
            said.append(index_project(project, machines=by, shards=shards).rows)
    assert said[0] == said[1]
    for part in ("index", "indexed"):
        assert contents(tmp_path / "there" / part) == contents(tmp_path / "here" / part)


def test_a_project_is_brought_up_to_date_and_sharded_anew(tmp_path, two):
    with project_in(tmp_path / "web") as project:
        fill(project)
        index_project(project, machines=two)
        changed = Record(
            Document("d3", {"body": "new words"}), links=(("d1", "said 3"),)
        )
        project.store.put_documents([changed])
        (row,) = index_project(project, machines=two).rows
        assert (row["added"], row["replaced"]) == (0, 1)
        (row,) = index_project(project, machines=two, shards=4).rows
        assert row["added"] == 120
        assert len(Index.open(project.index.folder).search("new words")) == 1
        (row,) = index_project(project, machines=two, shards=4).rows
        assert row["added"] == row["replaced"] == 0


def test_a_project_of_fewer_documents_than_shards_is_not_built_anew(tmp_path):
    with project_in(tmp_path / "web") as project:
        fill(project, 2)
        assert index_project(project, shards=5).rows[0]["added"] == 2
        assert index_project(project, shards=5).rows[0]["added"] == 0
        assert index_project(project, shards=1).rows[0]["added"] == 2


def test_changed_documents_are_not_gone_on_with(tmp_path, two, monkeypatch):
    with project_in(tmp_path / "web") as project:
        fill(project)
        stopping = Stopping(monkeypatch, project.index.folder)
        stopping.after = 3
        with pytest.raises(KeyboardInterrupt):
            index_project(project, machines=two)
        stopping.settle(two)
        before = stopping.parts()
        (notes,) = project.index.folder.glob(f".parts-*/{min(before)}/notes.json")
        one = min(json.loads(notes.read_text())["digests"])
        project.store.put_documents([Record(Document(one, {"body": "new words"}))])
        stopping.after = 0
        index_project(project, machines=two)
        kept = before.items() & stopping.merging.items()
        assert len(before) > len(kept) > 0
        assert len(Index.open(project.index.folder).search("new words")) == 1


def test_a_project_in_postgresql(tmp_path, two, postgres_store):
    with project_in(tmp_path / "here") as project:
        fill(project)
        index_project(project)
    with project_in(tmp_path / "there", store=postgres_store()) as project:
        fill(project)
        index_project(project, machines=two)
    assert contents(tmp_path / "there/index") == contents(tmp_path / "here/index")


def test_memory_of_a_build_is_below_that_of_its_worker():
    for limit in (250 << 20, 400 << 20, 1 << 30, 1 << 36):
        memory = memory_for(512 * 10**6, limit)
        assert 32 << 20 <= memory <= 512 * 10**6
        assert memory < limit / 2
    assert memory_for(10**8, 0) == 10**8


def test_parts_are_of_a_size_that_workers_can_take():
    assert part_size(10**10, 2, 512 * 10**6) == 256 << 20
    assert part_size(10**9, 2, 512 * 10**6) == 125 * 10**6
    assert part_size(10**9, 2, 40 * 10**6) == 40 * 10**6
    assert part_size(160 * 10**6, 4, 512 * 10**6) == 10**7
    assert part_size(10**12, 100, 512 * 10**6) == -(-(10**12) // 512)
    assert part_size(0, 2, 512 * 10**6) == indexing.SMALLEST


def test_shards_are_cut_by_documents_alone(tmp_path):
    for sizes in ([10], [3, 7], [1, 1, 8], [5, 5]):
        found = shard_pieces([(tmp_path / str(n), n) for n in sizes], 4)
        assert [sum(p.last - p.first for p in each) for each in found] == [2, 3, 2, 3]
    assert shard_pieces([], 4) == []


def test_how_many_blocks_there_were_does_not_show(tmp_path):
    from classmark.index.build import IndexEntry, Setup
    from classmark.text import Analyzer

    for shards in (1, 3):
        made = []
        for block in (2, 7, None):
            setup = Setup(Analyzer(), block=block)
            folder = tmp_path / f"{block}-{shards}"
            stream = (IndexEntry(f"d{n}", {"t": words(n)}) for n in range(20))
            build_segments(stream, setup, folder, shards)
            made.append(contents(folder))
        assert made[0] == made[1] == made[2]
