"""A file of vectors: computed once, appended, resumed, checked."""

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
