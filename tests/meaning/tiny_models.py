"""Tiny models that tests make themselves: a tokenizer, a table, an ONNX graph."""

import json
import struct

import numpy as np

from classmark.meaning.server import VectorServer
from classmark.meaning.sources import PROBE
from classmark.workbench.settings import MeaningSettings

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "bee", "hive", "honey", "road", "car"]
CLS, SEP = TOKENS.index("[CLS]"), TOKENS.index("[SEP]")
TABLE = np.random.default_rng(5).normal(size=(len(TOKENS), 3)).astype(np.float32)


def write_tokenizer(path, *, unknown="[UNK]"):
    """A tokenizer of words; a sentence is [CLS] words [SEP]."""
    special = [
        {
            "id": number, "content": token, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False, "special": True,
        }
        for number, token in enumerate(TOKENS[:4])
    ]  # fmt: skip
    piece = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    last = {"SpecialToken": {"id": "[SEP]", "type_id": 0}}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    template = {
        "type": "TemplateProcessing",
        "single": [piece, sequence, last],
        "pair": [piece, sequence, last],
        "special_tokens": {
            name: {"id": name, "ids": [number], "tokens": [name]}
            for name, number in (("[CLS]", CLS), ("[SEP]", SEP))
        },
    }
    vocabulary = {token: number for number, token in enumerate(TOKENS)}
    model = {"type": "WordLevel", "vocab": vocabulary, "unk_token": unknown}
    whole = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": special,
        "normalizer": None, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": template, "decoder": None, "model": model,
    }  # fmt: skip
    path.write_text(json.dumps(whole))


def numbers(text):
    """The tokens of a text, without the special ones."""
    known = {token: number for number, token in enumerate(TOKENS)}
    return [known.get(word, 1) for word in text.split()]


def _varint(value):
    encoded = b""
    while value > 127:
        encoded += bytes([value & 127 | 128])
        value >>= 7
    return encoded + bytes([value])


def _field(number, value):
    """One field of a protocol buffer: a whole number, a string, or a message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    raw = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(raw)) + raw


def _value(name, kind, dimensions):
    sizes = b"".join(
        _field(1, _field(1, size) if isinstance(size, int) else _field(2, size))
        for size in dimensions
    )
    tensor = _field(1, kind) + _field(2, sizes)
    return _field(1, name) + _field(2, _field(1, tensor))


def _tensor(name, array):
    kinds = {np.dtype(np.float32): 1, np.dtype(np.int64): 7}
    sizes = b"".join(_field(1, int(size)) for size in array.shape)
    head = sizes + _field(2, kinds[array.dtype])
    return head + _field(8, name) + _field(9, array.tobytes())


def _node(kind, inputs, output, **whole):
    named = b"".join(_field(1, name) for name in inputs) + _field(2, output)
    attributes = b"".join(
        _field(5, _field(1, name) + _field(3, value) + _field(20, 2))
        for name, value in whole.items()
    )
    return named + _field(4, kind) + attributes


def onnx_model(nodes, inputs, outputs, tensors):
    """A model of ONNX (opset 17) as bytes."""
    graph = b"".join(_field(1, node) for node in nodes) + _field(2, "tiny")
    graph += b"".join(_field(5, tensor) for tensor in tensors)
    graph += b"".join(_field(11, each) for each in inputs)
    graph += b"".join(_field(12, each) for each in outputs)
    opset = _field(1, "") + _field(2, 17)
    return _field(1, 8) + _field(7, graph) + _field(8, opset)


def write_sentence_model(folder, *, table=TABLE, extra_input=None, pooled=False):
    """A model whose token vectors are rows of a table, whatever the other tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    names += [extra_input] if extra_input else []
    inputs = [_value(name, 7, ["texts", "tokens"]) for name in names]
    width = table.shape[1]
    nodes = [_node("Gather", ["table", "input_ids"], "last_hidden_state")]
    outputs = [_value("last_hidden_state", 1, ["texts", "tokens", width])]
    if pooled:
        mean = _node("ReduceMax", ["last_hidden_state"], "sentence_embedding",
                     keepdims=0)  # fmt: skip
        axes = _field(1, "axes") + _field(8, 1) + _field(20, 7)
        nodes.append(mean + _field(5, axes))
        outputs.append(_value("sentence_embedding", 1, ["texts", width]))
    model = onnx_model(nodes, inputs, outputs, [_tensor("table", table)])
    (folder / "model.onnx").write_bytes(model)
    write_tokenizer(folder / "tokenizer.json")
    return folder


def configure(folder, *, pooling=None, modules=("Transformer", "Pooling"), **files):
    """Write the configuration of sentence-transformers."""
    paths = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    listed = [
        {
            "idx": at,
            "path": paths.get(kind, ""),
            "type": f"sentence_transformers.{kind}",
        }
        for at, kind in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    if pooling:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))


def write_safetensors(path, **tensors):
    """A safetensors file: the length of a head in JSON, the head, the numbers."""
    kinds = {"float32": "F32", "float16": "F16", "int64": "I64"}
    head, body = {}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        place = [len(body), len(body) + len(raw)]
        kind = kinds[array.dtype.name]
        head[name] = {"dtype": kind, "shape": array.shape, "data_offsets": place}
        body += raw
    text = json.dumps(head).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


class Model:
    """Vectors by chance, one for each text; none for a text without long words."""

    def __init__(self, dimension=5):
        self.dimension, self.calls = dimension, 0

    def encode(self, texts):
        self.calls += 1
        return np.array([self.vector(text.split()) for text in texts])

    def vector(self, words):
        seeds = [list(word.encode()) for word in words if len(word) > 2]
        chance = [np.random.default_rng(seed) for seed in seeds]
        every = [own.normal(2.0, 1.0, self.dimension) for own in chance]
        return np.sum(every, axis=0) if every else np.zeros(self.dimension)


AWAY = MeaningSettings("server", "m", "http://192.0.2.1/v1/embeddings", True)


def texts_sent_away(monkeypatch):
    """A server on another machine; the list of the texts that it was sent."""
    sent = []

    def ask(_, texts):
        sent.extend(text for text in texts if text != PROBE)
        return np.array([[1.0 + text.count(one) for one in "behry"] for text in texts])

    monkeypatch.setattr(VectorServer, "_ask", ask)
    return sent
