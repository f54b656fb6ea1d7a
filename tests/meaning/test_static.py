"""Static vectors: the mean of token vectors, from files that lie there."""

import logging
import subprocess
import sys

import numpy as np
import pytest

from classmark import StaticVectors
from classmark.problems import MissingExtra, Mistake
from meaning.tiny_models import TABLE, numbers, write_safetensors, write_tokenizer

pytestmark = [pytest.mark.needs("tokenizers"), pytest.mark.needs("safetensors")]
TEXTS = ["bee hive hive", "road", "bee unheard honey", "", "unheard"]


@pytest.fixture
def folder(tmp_path):
    write_tokenizer(tmp_path / "tokenizer.json")
    write_safetensors(tmp_path / "model.safetensors", embeddings=TABLE)
    return tmp_path


def means(texts, table=TABLE, factors=None):
    """The slow way: a loop over the tokens; number 1 is unknown."""
    result = []
    for text in texts:
        total, count = np.zeros(table.shape[1]), 0
        for token in numbers(text):
            if token != 1:
                total += table[token] * (1.0 if factors is None else factors[token])
                count += 1
        result.append(total / count if count else total)
    return np.array(result)


def test_a_text_is_the_mean_of_its_known_tokens(folder):
    source = StaticVectors(folder)
    assert source.dimension == 3
    vectors = source.encode(TEXTS)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, means(TEXTS), rtol=1e-6)
    assert not vectors[3:].any()


def test_many_texts_give_the_vectors_they_have_alone(folder):
    source = StaticVectors(folder)
    many = TEXTS * 500
    alone = np.vstack([source.encode([text]) for text in TEXTS])
    np.testing.assert_array_equal(source.encode(many), np.tile(alone, (500, 1)))


def test_a_quantised_table_has_rows_and_factors_of_tokens(folder):
    rows = np.array([0, 0, 0, 1, 1, 2, 2, 3, 3])
    factors = np.linspace(0.5, 2.0, 9).astype(np.float32)
    few = TABLE[:4].astype(np.float16)
    path = folder / "model.safetensors"
    write_safetensors(path, embeddings=few, mapping=rows, weights=factors)
    expected = means(TEXTS, few.astype(np.float32)[rows], factors)
    np.testing.assert_allclose(
        StaticVectors(folder).encode(TEXTS), expected, rtol=1e-6, atol=1e-7
    )


def test_vectors_are_of_unit_length_where_the_folder_says_so(folder):
    (folder / "config.json").write_text('{"normalize": true}')
    lengths = np.linalg.norm(StaticVectors(folder).encode(TEXTS), axis=1)
    np.testing.assert_allclose(lengths, [1, 1, 1, 0, 0], rtol=1e-6)


def test_the_digest_is_of_what_makes_the_vectors(folder):
    before = StaticVectors(folder).digest
    assert StaticVectors(folder).digest == before
    write_safetensors(folder / "model.safetensors", embeddings=TABLE + 1)
    assert StaticVectors(folder).digest != before


def test_the_name_sentence_transformers_gives_the_table_is_known(folder):
    path = folder / "model.safetensors"
    write_safetensors(path, **{"embedding.weight": TABLE})
    np.testing.assert_allclose(
        StaticVectors(folder).encode(TEXTS), means(TEXTS), rtol=1e-6
    )


def test_a_table_of_another_tokenizer_is_refused(folder):
    write_safetensors(folder / "model.safetensors", embeddings=TABLE[:5])
    with pytest.raises(Mistake, match="5 vectors for 9 tokens"):
        StaticVectors(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_what_is_missing_or_damaged_is_named(folder, name):
    (folder / name).write_text("{")
    with pytest.raises(Mistake, match=f"{name}: no .*copy it again"):
        StaticVectors(folder)
    (folder / name).unlink()
    with pytest.raises(Mistake, match=f"has no {name}: give the model's folder"):
        StaticVectors(folder)


def test_one_string_for_a_list_of_texts_is_refused(folder):
    with pytest.raises(Mistake, match="texts is one string"):
        StaticVectors(folder).encode("bee")


@pytest.mark.needs("wordllama")
def test_the_table_of_the_extra_gives_the_vectors_of_its_package():
    logging.disable(logging.CRITICAL)
    import wordllama
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
    from wordllama.inference import WordLlamaInference

    from classmark.meaning.models import PACKAGED

    logging.disable(logging.NOTSET)
    weights, tokens = (f"{wordllama.__path__[0]}/{name}" for name in PACKAGED)
    table = load_file(weights)["embedding.weight"]
    own = WordLlamaInference(table, Tokenizer.from_file(tokens))
    texts = ["A hive of bees", "Die Straße — naïve", "x" * 50, "two\nlines"]
    source = StaticVectors.packaged()
    assert source.name == "wordllama"
    np.testing.assert_allclose(source.encode(texts), own.embed(texts), atol=1e-5)


@pytest.mark.needs("wordllama")
def test_the_package_of_the_table_is_not_imported():
    program = (
        "import sys, classmark as cm; cm.StaticVectors.packaged().encode(['a bee']);"
        "print([name for name in ('wordllama', 'requests', 'huggingface_hub')"
        " if name in sys.modules])"
    )
    run = subprocess.run(  # noqa: S603 (our own program)
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_without_the_package_the_remedy_is_the_extra(monkeypatch):
    monkeypatch.setattr("classmark.meaning.models.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install 'classmark\[meaning\]'"):
        StaticVectors.packaged()
