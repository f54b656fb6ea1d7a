"""A file of vectors: computed once, appended, resumed, checked."""

from threading import Thread

import numpy as np
import pytest

from classmark import EncoderVectors, VectorFile
from classmark.meaning import vector_file
from classmark.meaning.sources import unit_rows
from classmark.problems import DamagedFolder, Mistake
from classmark.progress import shown_by

TEXTS = [f"document {number} of many" for number in range(10)]


class Model:
    """Random vectors by text, and a note of what was asked."""

    def __init__(self, dimension=4):
        self.asked, self.dimension = [], dimension

    def encode(self, texts):
        self.asked += texts
        return [
            np.random.default_rng(list(text.encode())).normal(size=self.dimension)
            for text in texts
        ]


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def file(tmp_path, model):
    stored = VectorFile(tmp_path / "vectors", model)
    model.asked.clear()
    return stored


def test_a_text_that_is_not_stored_is_asked_for_once(file, model, monkeypatch):
    monkeypatch.setattr(vector_file, "RECENT", 2)
    first = file.encode([TEXTS[0], TEXTS[0]])
    assert first[0].tolist() == first[1].tolist()
    assert (file.encode(TEXTS[:1])[0] == first[0]).all()
    assert (model.asked, len(file)) == (TEXTS[:1], 0)
    every = file.encode(TEXTS)
    assert model.asked == TEXTS
    assert (file.encode(TEXTS) == every).all()
    assert (file.compute(TEXTS).new, len(file)) == (10, 10)
    assert (file.encode(TEXTS) == every).all()


def test_each_text_is_computed_once(file, model):
    done = file.compute(TEXTS[:6] + TEXTS[:2])
    assert (done.new, len(file), model.asked) == (6, 6, TEXTS[:6])
    assert done.rate > 0
    done = file.compute(TEXTS)
    assert (done.new, done.known, model.asked) == (4, 6, TEXTS)
    assert file.compute(TEXTS).rate == 0
    assert TEXTS[9] in file
    assert "another" not in file


def test_vectors_are_of_unit_length_and_rounded_stored_or_not(file, model):
    before = file.encode(TEXTS)
    file.compute(TEXTS[::-1])
    model.asked.clear()
    np.testing.assert_array_equal(file.encode(TEXTS), before)
    assert not model.asked
    exact = unit_rows(model.encode(TEXTS))
    np.testing.assert_array_equal(before, exact.astype(np.float16).astype(np.float32))


def test_a_text_that_is_only_asked_for_is_not_stored(file, model):
    file.compute(TEXTS[:2])
    model.asked.clear()
    file.encode([TEXTS[0], "a query"])
    assert model.asked == ["a query"]
    assert len(file) == 2


def test_an_opened_file_has_what_was_stored(file, model, tmp_path):
    file.compute(TEXTS)
    expected = file.encode(TEXTS)
    for opened in (VectorFile(file.folder, model), VectorFile(file.folder)):
        np.testing.assert_array_equal(opened.encode(TEXTS), expected)
        assert opened.facts == EncoderVectors(model).facts
    assert file.size == 10 * (4 * 2 + 20)
    with pytest.raises(Mistake, match=r"no vector for the text 'new': give the source"):
        VectorFile(file.folder).encode(["new"])
    with pytest.raises(Mistake, match="has no vectors: give their source"):
        VectorFile(tmp_path / "nowhere")


def test_the_weight_of_the_source_is_stored_with_its_vectors(model, tmp_path):
    source = EncoderVectors(model)
    source.weight = 0.25
    VectorFile(tmp_path / "light", source)
    assert VectorFile(tmp_path / "light").weight == 0.25


def test_half_a_million_documents_of_384_numbers_stay_under_400_mb():
    assert 500_000 * (384 * 2 + vector_file.ENTRY.itemsize) < 400e6


def test_a_computation_that_was_stopped_goes_on_where_it_was(file, model, monkeypatch):
    monkeypatch.setattr(vector_file, "BATCH", 3)
    encode = model.encode

    def stopped(texts):
        if TEXTS[7] in texts:
            raise KeyboardInterrupt
        return encode(texts)

    model.encode = stopped
    with pytest.raises(KeyboardInterrupt):
        file.compute(TEXTS)
    assert len(file) == 6
    model.encode = encode
    model.asked.clear()
    assert VectorFile(file.folder, model).compute(TEXTS).new == 4
    assert TEXTS[0] not in model.asked


@pytest.mark.parametrize(("name", "lost"), [("keys", 7), ("keys", 20), ("keys", 45)])
def test_what_a_killed_process_left_half_written_is_cut_off(file, model, name, lost):
    file.compute(TEXTS)
    expected = file.encode(TEXTS)
    path = file.folder / name
    path.write_bytes(path.read_bytes()[:-lost])
    opened = VectorFile(file.folder, model)
    assert len(opened) == 10 - -(-lost // 20)
    opened.compute(TEXTS)
    again = VectorFile(file.folder, model)
    assert len(again) == 10
    assert again.size == 10 * (4 * 2 + 20)
    np.testing.assert_array_equal(again.encode(TEXTS), expected)


def test_damage_is_noticed(file, model):
    file.compute(TEXTS)
    path = file.folder / "vectors"
    whole = path.read_bytes()
    path.write_bytes(whole[:9] + bytes([whole[9] ^ 1]) + whole[10:])
    opened = VectorFile(file.folder, model)
    opened.encode(TEXTS[:1])
    with pytest.raises(DamagedFolder, match="vector 1: does not match its checksum"):
        opened.encode(TEXTS)
    path.write_bytes(whole[:-1])
    with pytest.raises(DamagedFolder, match="has 9 of 10 vectors"):
        VectorFile(file.folder, model)


def test_vectors_of_another_source_are_refused(file):
    file.compute(TEXTS)
    with pytest.raises(Mistake, match="was made with the vectors of Model"):
        VectorFile(file.folder, Model(5))


def test_two_do_not_write_at_once(file, model):
    def meanwhile(texts):
        with pytest.raises(Mistake, match="another process computes these vectors"):
            VectorFile(file.folder, Model()).compute(TEXTS)
        return Model().encode(texts)

    model.encode = meanwhile
    assert file.compute(TEXTS[:1]).new == 1


def test_a_text_twice_in_two_batches_is_stored_once(file, model, monkeypatch):
    monkeypatch.setattr(vector_file, "BATCH", 2)
    assert file.compute([*TEXTS[:4], *TEXTS[:4]]).new == 4
    assert model.asked == TEXTS[:4]
    assert file.size == 4 * (4 * 2 + 20)


def test_what_is_stored_can_be_read_while_more_is_computed(file, model):
    file.compute(TEXTS[:2])
    expected, encode = file.encode(TEXTS[:2]), model.encode

    def meanwhile(texts):
        np.testing.assert_array_equal(file.encode(TEXTS[:2]), expected)
        return encode(texts)

    model.encode = meanwhile
    assert file.compute(TEXTS).new == 8


def test_progress_is_reported_text_by_text(file):
    class Display:
        def track(self, items, title, total):
            seen.append((title, total))
            yield from items

    seen = []
    with shown_by(Display()):
        file.compute(TEXTS)
    assert seen == [("vectors by Model", 10)]


def test_keys_that_begin_alike_are_told_apart(file, monkeypatch):
    def key(text):
        return bytes(8) + text.encode().rjust(8)[-8:]

    monkeypatch.setattr(vector_file, "text_key", key)
    texts = [f"text {number}" for number in range(30)]
    file.compute(texts[:20])
    assert file.has(texts).tolist() == [True] * 20 + [False] * 10
    opened = VectorFile(file.folder)
    np.testing.assert_array_equal(opened.encode(texts[:20]), file.encode(texts[:20]))


def test_what_another_process_adds_is_noticed(file):
    file.compute(TEXTS[:3])
    reader = VectorFile(file.folder)
    file.compute(TEXTS)
    assert len(reader) == 3
    assert reader.has(TEXTS).all()
    assert len(reader) == 10
    np.testing.assert_array_equal(reader.encode(TEXTS), file.encode(TEXTS))


def test_a_file_that_was_removed_and_made_anew_is_read_anew(file, model):
    file.compute(TEXTS)
    for name in ("keys", "vectors"):
        (file.folder / name).unlink()
    assert VectorFile(file.folder, model).compute(TEXTS[5:8]).new == 3
    assert file.has(["unknown", *TEXTS]).sum() == 3


def test_threads_read_while_another_appends(file, monkeypatch):
    monkeypatch.setattr(vector_file, "BATCH", 7)
    texts = [f"text {number}" for number in range(300)]
    expected = {text: file.encode([text])[0] for text in texts}
    wrong, go_on = [], True

    def read():
        while go_on:
            for at in range(0, 300, 20):
                some = texts[at : at + 20]
                if not (file.encode(some) == [expected[t] for t in some]).all():
                    wrong.append(at)

    threads = [Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        file.compute(texts)
    finally:
        go_on = False
        for thread in threads:
            thread.join()
    assert not wrong
    assert len(file) == 300


def test_one_who_waits_computes_when_the_other_has_ended(file, monkeypatch):
    with vector_file.locked_file(file.folder / "lock") as lock:
        monkeypatch.setattr(vector_file.time, "sleep", lambda _: lock.close())
        assert file.compute(TEXTS, wait=True).new == 10


def test_a_file_goes_to_another_process_by_its_folder(file):
    file.compute(TEXTS)
    build, arguments = VectorFile(file.folder).__reduce__()
    assert arguments == (file.folder, None)
    np.testing.assert_array_equal(build(*arguments).encode(TEXTS), file.encode(TEXTS))


def test_imported_vectors_are_added_and_known_by_their_text(tmp_path):
    file = VectorFile.of_imported(tmp_path / "own", 3)
    assert file.add(["a", "b"], [[3, 0, 4], [0, 2, 0]]).new == 2
    assert file.add(["b", "c", "c"], [[0, 1, 0], [1, 0, 0], [1, 0, 0]]).new == 1
    np.testing.assert_allclose(file.encode(["a"]), [[0.6, 0, 0.8]], atol=1e-3)
    again = VectorFile.of_imported(tmp_path / "own", 3)
    assert (again.facts, len(again)) == (file.facts, 3)
    assert (again.name, again.imported) == ("own vectors", True)
    with pytest.raises(Mistake, match="no vector for the text 'd': import one"):
        again.encode(["d"])
    with pytest.raises(Mistake, match="was made with the vectors of own vectors"):
        VectorFile.of_imported(tmp_path / "own", 4)


@pytest.mark.parametrize("texts", [["b", "a"], ["c", "c"]])
def test_a_second_vector_of_a_text_is_refused(tmp_path, texts):
    file = VectorFile.of_imported(tmp_path / "own", 2)
    file.add(["a"], [[1, 0]])
    with pytest.raises(Mistake, match="has another vector already") as refused:
        file.add(texts, [[1, 0], [0, 1]])
    assert refused.value.number == 1
    assert len(VectorFile(file.folder)) == 1
    with pytest.raises(Mistake, match=r"shape \(1, 3\) for 1 texts: \(1, 2\)"):
        file.add(["z"], [[1, 2, 3]])
