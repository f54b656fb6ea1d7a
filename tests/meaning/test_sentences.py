"""Sentence models: a folder with model.onnx, used as its configuration says."""

import numpy as np
import pytest

from classmark import SentenceModel
from classmark.meaning import models
from classmark.meaning.models import pooled
from classmark.problems import Mistake
from meaning.tiny_models import (
    CLS,
    SEP,
    TABLE,
    configure,
    numbers,
    write_sentence_model,
)

pytestmark = [pytest.mark.needs("tokenizers"), pytest.mark.needs("onnxruntime")]
TEXTS = ["bee hive honey", "road", "car car bee road hive honey", "", "honey unheard"]
MEAN = {"pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}


@pytest.fixture
def folder(tmp_path):
    return write_sentence_model(tmp_path / "tiny")


def states(text, longest=512):
    """The token vectors of a text, one by one, special tokens included."""
    tokens = [CLS, *numbers(text)[: longest - 2], SEP]
    return np.array([TABLE[token] for token in tokens], np.float64)


POOLED = {
    "mean": lambda h: h.sum(axis=0) / len(h),
    "cls": lambda h: h[0],
    "max": lambda h: [max(column) for column in h.T],
    "lasttoken": lambda h: h[-1],
}


@pytest.mark.parametrize("pooling", POOLED)
def test_token_vectors_are_pooled_without_the_padding(folder, pooling):
    configure(folder)
    source = SentenceModel(folder, pooling=pooling)
    assert (source.name, source.dimension) == ("tiny", 3)
    expected = [POOLED[pooling](states(text)) for text in TEXTS]
    np.testing.assert_allclose(source.encode(TEXTS), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("config", "pooling"),
    [
        (MEAN, "mean"),
        ({"pooling_mode_cls_token": True}, "cls"),
        ({"pooling_mode_max_tokens": True}, "max"),
        ({"pooling_mode_lasttoken": True}, "lasttoken"),
        ({"pooling_mode": "mean"}, "mean"),
    ],
)
def test_the_pooling_is_read_from_the_folder(folder, config, pooling):
    configure(folder, pooling=config)
    expected = [POOLED[pooling](states(text)) for text in TEXTS]
    np.testing.assert_allclose(SentenceModel(folder).encode(TEXTS), expected, rtol=1e-6)


def test_batches_do_not_change_the_vectors_nor_their_order(folder, monkeypatch):
    configure(folder, pooling=MEAN)
    source = SentenceModel(folder)
    many = TEXTS * 3
    whole = source.encode(many)
    shapes = []
    monkeypatch.setattr(models, "TOKENS", 10)
    monkeypatch.setattr(models, "SENTENCES", 30)
    monkeypatch.setattr(
        models, "pooled", lambda h, *how: shapes.append(h.shape) or pooled(h, *how)
    )
    np.testing.assert_allclose(source.encode(many), whole, rtol=1e-6)
    assert all(texts * tokens <= 10 for texts, tokens, _ in shapes)
    lengths = [tokens for _, tokens, _ in shapes]
    assert lengths == sorted(lengths, reverse=True)


def test_texts_are_encoded_some_at_a_time(folder, monkeypatch):
    configure(folder, pooling=MEAN)
    source = SentenceModel(folder)
    whole = source.encode(TEXTS)
    monkeypatch.setattr(models, "SENTENCES", 2)
    np.testing.assert_allclose(source.encode(TEXTS), whole, rtol=1e-6)


def test_normalisation_prefix_and_lower_case_are_read_from_the_folder(folder):
    configure(
        folder,
        pooling=MEAN,
        modules=("Transformer", "Pooling", "Normalize"),
        config_sentence_transformers={"prompts": {"query": "car ", "document": "BEE "}},
        sentence_bert_config={"do_lower_case": True, "max_seq_length": 64},
    )
    source = SentenceModel(folder)
    mean = POOLED["mean"](states("bee road"))
    np.testing.assert_allclose(
        source.encode(["Road"])[0], mean / np.linalg.norm(mean), rtol=1e-6
    )
    assert SentenceModel(folder, prefix="").digest != source.digest


def test_the_default_prompt_comes_before_the_one_for_documents(folder):
    prompts = {"prompts": {"a": "car ", "document": "bee "}, "default_prompt_name": "a"}
    configure(folder, pooling=MEAN, config_sentence_transformers=prompts)
    assert SentenceModel(folder).settings.prefix == "car "


@pytest.mark.parametrize(
    "files",
    [
        {"sentence_bert_config": {"max_seq_length": 4}},
        {"tokenizer_config": {"model_max_length": 4}},
        {"config": {"max_position_embeddings": 4}},
    ],
)
def test_the_longest_text_is_read_from_the_folder(folder, files):
    configure(folder, pooling=MEAN, **files)
    expected = [POOLED["mean"](states(text, 4)) for text in TEXTS]
    np.testing.assert_allclose(SentenceModel(folder).encode(TEXTS), expected, rtol=1e-6)


def test_vectors_that_the_model_has_pooled_itself_are_taken_as_they_are(tmp_path):
    folder = write_sentence_model(tmp_path / "pooled", pooled=True)
    alone = SentenceModel(folder).encode(["bee hive"])
    expected = POOLED["max"](states("bee hive"))
    np.testing.assert_allclose(alone[0], expected, rtol=1e-6)


def test_the_model_may_lie_in_a_folder_named_onnx(folder):
    configure(folder, pooling=MEAN)
    before = SentenceModel(folder)
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert SentenceModel(folder).facts == before.facts


def test_a_folder_that_does_not_say_the_pooling_asks_for_it(folder):
    with pytest.raises(Mistake, match=r"give pooling=, one of 'mean', 'cls'"):
        SentenceModel(folder)


def test_a_pooling_that_is_not_known_is_refused(folder):
    both = MEAN | {"pooling_mode_max_tokens": True}
    configure(folder, pooling=both)
    with pytest.raises(Mistake, match=r"pooling is 'mean\+max'"):
        SentenceModel(folder)


def test_modules_behind_the_pooling_are_refused(folder):
    configure(folder, pooling=MEAN, modules=("Transformer", "Pooling", "Dense"))
    with pytest.raises(Mistake, match=r"modules.json: Dense is not supported"):
        SentenceModel(folder)


def test_inputs_that_are_not_known_are_refused(tmp_path):
    folder = write_sentence_model(tmp_path / "odd", extra_input="position_ids")
    with pytest.raises(Mistake, match="the input position_ids is not supported"):
        SentenceModel(folder, pooling="mean")


def test_a_gpu_that_is_not_there_is_refused(folder):
    configure(folder, pooling=MEAN)
    with pytest.raises(Mistake, match="install onnxruntime-gpu, or use device='cpu'"):
        SentenceModel(folder, device="gpu")
    with pytest.raises(Mistake, match="use 'auto', 'cpu' or 'gpu'"):
        SentenceModel(folder, device="abacus")


def test_a_file_that_is_no_model_is_named(folder):
    configure(folder, pooling=MEAN)
    (folder / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(Mistake, match=r"model.onnx: no model that onnxruntime can run"):
        SentenceModel(folder)
