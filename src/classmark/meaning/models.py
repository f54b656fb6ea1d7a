"""Models in a folder: a table of token vectors, or a sentence model in ONNX.

Both are read from files that lie there, as the usual hubs offer them, with the packages
``tokenizers`` and ``safetensors`` or ``onnxruntime``; nothing is ever downloaded.
"""

from __future__ import annotations

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from classmark.arrays import bounds_of
from classmark.language import N_
from classmark.meaning.sources import MeaningSource, Vectors, digest_of, unit_rows
from classmark.problems import MissingExtra, Mistake, UnreadableFile
from classmark.progress import track

WEIGHTS, TOKENIZER, ONNX = "model.safetensors", "tokenizer.json", "model.onnx"
TABLES = ("embeddings", "embedding.weight")  # model2vec's name, and the others'
PACKAGED = (  # of the package wordllama
    "weights/l2_supercat_256.safetensors",
    "tokenizers/l2_supercat_tokenizer_config.json",
)
GPUS = (
    "CUDAExecutionProvider", "ROCMExecutionProvider", "MIGraphXExecutionProvider",
    "DmlExecutionProvider", "CoreMLExecutionProvider",
)  # fmt: skip
POOLINGS = {  # how sentence-transformers writes it → how we do it
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_lasttoken": "lasttoken",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}
INPUTS = {  # of a model → of what the tokenizer gives
    "input_ids": "ids",
    "attention_mask": "attention_mask",
    "token_type_ids": "type_ids",
}
KNOWN_POOLINGS = ("mean", "cls", "max", "lasttoken")
PROMPTS = ("document", "passage", "corpus")  # prefixes of texts that are not queries
STATIC_BATCH, SENTENCES = 1024, 1024  # texts whose tokens are in memory at once
TOKENS, LONGEST = 1 << 13, 512  # of a batch, of a text where the folder is silent


def required(package: str, feature: str, extra: str = "meaning") -> Any:
    """Import a package of an extra; or say how it is installed."""
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(feature, extra) from error


def file_in(folder: Path, *names: str) -> Path:
    """The first of some files that is there."""
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise UnreadableFile(folder, None, f"has no {names[0]}: give the model's folder")


def json_in(folder: Path, name: str) -> Any:
    """What a JSON file holds; {} where it is missing."""
    path = folder / name
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise UnreadableFile(path, None, f"not JSON ({error}): copy it again") from None


def tokenizer_from(path: Path, extra: str = "meaning") -> Any:
    """A tokenizer that neither cuts nor pads."""
    package = required("tokenizers", "Vectors of meaning", extra)
    try:
        tokenizer = package.Tokenizer.from_file(str(path))
    except Exception as error:  # the package raises nothing narrower
        raise UnreadableFile(
            path, None, f"no tokenizer ({error}): copy it again"
        ) from (error)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


class StaticVectors(MeaningSource):
    """The mean of a text's token vectors, Σ_t f_t · v_t / Σ_t f_t over its tokens.

    folder : has ``model.safetensors`` with a table of vectors, ``tokenizer.json`` and
    perhaps ``config.json``, as model2vec and sentence-transformers write them;
    weights, tokens : other names of the former two. Unknown tokens are left out; a
    table that was quantised has the row (``mapping``) and the factor (``weights``) of
    each token besides. The whole text counts.
    """

    weight = 0.3  # words tell more than such means do

    def __init__(
        self, folder: Path | str, weights: str = WEIGHTS, tokens: str = TOKENIZER
    ) -> None:
        place = Path(folder)
        unit = bool(json_in(place, "config.json").get("normalize"))
        self._load(file_in(place, weights), file_in(place, tokens), unit=unit)
        self.name = place.resolve().name

    @classmethod
    def packaged(cls) -> StaticVectors:
        """The table of the extra: 32,000 tokens of 256 numbers, English above all.

        Those of the package wordllama (MIT), whose files are read, but not its code.
        """
        package = find_spec("wordllama")
        if package is None or not package.submodule_search_locations:
            raise MissingExtra(N_("Vectors of meaning"), "meaning")
        return cls(package.submodule_search_locations[0], *PACKAGED)

    def _load(self, weights: Path, tokens: Path, *, unit: bool) -> None:
        tensors = _tensors(weights)
        table = next((tensors[key] for key in TABLES if key in tensors), None)
        if table is None or table.ndim != 2:
            raise UnreadableFile(
                weights, None, f"has no table named {TABLES[0]}: give a static model"
            )
        self.dimension = int(table.shape[1])
        self.digest = digest_of((weights, tokens), "unit" if unit else "")
        self._unit, self._tokenizer = unit, tokenizer_from(tokens)
        size = max(self._tokenizer.get_vocab().values(), default=-1) + 1
        rows = tensors.get("mapping", np.arange(size)).astype(np.int64)
        if len(rows) < size or rows.max(initial=-1) >= len(table):
            raise UnreadableFile(
                weights,
                None,
                f"{len(table)} vectors for {size} tokens: it is not the table of "
                f"{tokens.name}",
            )
        self._table = table.astype(np.float32)[rows]
        if "weights" in tensors:
            self._table *= tensors["weights"].astype(np.float32)[: len(rows), None]
        self._known = np.ones(len(rows), np.bool_)
        unknown = json.loads(self._tokenizer.to_str())["model"]
        token = self._tokenizer.token_to_id(str(unknown.get("unk_token")))
        token = unknown.get("unk_id") if token is None else token
        if token is not None:
            self._known[token] = False

    def _vectors(self, texts: list[str]) -> Vectors:
        parts = [
            self._means(texts[at : at + STATIC_BATCH])
            for at in range(0, len(texts), STATIC_BATCH)
        ]
        return np.vstack(parts)

    def _means(self, texts: list[str]) -> Vectors:
        from scipy.sparse import csr_array

        encoded = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        ids = [np.array(each.ids, np.int64) for each in encoded]
        ids = [tokens[self._known[tokens]] for tokens in ids]
        lengths = np.array([len(tokens) for tokens in ids])
        ones = np.ones(lengths.sum(), np.float32)
        shape = len(texts), len(self._table)
        tokens = csr_array((ones, np.concatenate(ids), bounds_of(lengths)), shape=shape)
        means = (tokens @ self._table) / np.maximum(lengths, 1)[:, None]
        return unit_rows(means) if self._unit else means.astype(np.float32)


def _tensors(path: Path) -> dict[str, NDArray[Any]]:
    package = required("safetensors.numpy", "Vectors of meaning")
    try:
        return dict(package.load_file(str(path)))
    except Exception as error:  # the package raises nothing narrower
        raise UnreadableFile(
            path, None, f"no readable safetensors ({error}): copy it again"
        ) from error


class SentenceSettings(NamedTuple):
    """What a folder says of how its model is to be used.

    pooling : of token vectors;  unit : whether vectors are made unit length;  prefix :
    put before each text;  lower : whether it is lower-cased;  longest : tokens that
    count, special ones included.
    """

    pooling: str
    unit: bool
    prefix: str
    lower: bool
    longest: int

    @classmethod
    def read(cls, folder: Path, pooling: str | None, prefix: str | None) -> Any:
        """Read the files of sentence-transformers; arguments come first."""
        modules = json_in(folder, "modules.json") or []
        kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
        if other := set(kinds) - {"Transformer", "Pooling", "Normalize"}:
            raise UnreadableFile(
                folder / "modules.json",
                None,
                f"{min(other)} is not supported: export it into {ONNX}, with the "
                "output sentence_embedding",
            )
        places = dict(
            zip(kinds, [str(m.get("path", "")) for m in modules], strict=True)
        )
        own = json_in(folder / places.get("Pooling", "1_Pooling"), "config.json")
        sentence = json_in(folder, "config_sentence_transformers.json")
        prompts = sentence.get("prompts") or {}
        names = [sentence.get("default_prompt_name"), *PROMPTS]
        prompt = next((prompts[name] for name in names if name in prompts), "")
        bert = json_in(folder, "sentence_bert_config.json")
        limits = [
            bert.get("max_seq_length"),
            json_in(folder, "tokenizer_config.json").get("model_max_length"),
            json_in(folder, "config.json").get("max_position_embeddings"),
        ]
        return cls(
            pooling or _pooling(own),
            "Normalize" in kinds,
            prompt if prefix is None else prefix,
            bool(bert.get("do_lower_case")),
            int(min((limit for limit in limits if limit), default=LONGEST)),
        )


def _pooling(config: dict[str, Any]) -> str:
    """The name of the pooling; "" where the folder does not say."""
    chosen = [name for key, name in POOLINGS.items() if config.get(key)]
    return "+".join(chosen) or str(config.get("pooling_mode", ""))


class SentenceModel(MeaningSource):
    """Vectors of a sentence model: a folder with ``model.onnx`` and ``tokenizer.json``.

    Pooling, prefix, normalisation and the longest text are read from the folder's
    configuration, as sentence-transformers writes it.

    pooling : "mean", "cls", "max" or "lasttoken", where the folder does not say;
    prefix : put before each text; None: the folder's prompt for documents, if any;
    device : "cpu", "gpu", or "auto" for a GPU where onnxruntime has one.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        pooling: str | None = None,
        prefix: str | None = None,
        device: Literal["auto", "cpu", "gpu"] = "auto",
    ) -> None:
        place = Path(folder)
        model = file_in(place, ONNX, f"onnx/{ONNX}")
        tokens = file_in(place, TOKENIZER)
        self.settings = SentenceSettings.read(place, pooling, prefix)
        self._tokenizer = tokenizer_from(tokens, "sentences")
        self._tokenizer.enable_truncation(self.settings.longest)
        self._session = _session(model, device)
        self._inputs = {each.name for each in self._session.get_inputs()}
        outputs = {each.name: each for each in self._session.get_outputs()}
        pooled = "sentence_embedding"
        self._output = pooled if pooled in outputs else next(iter(outputs))
        self._pooled = len(outputs[self._output].shape) == 2
        self._check(place)
        self.name = place.resolve().name
        self.digest = digest_of((model, tokens), repr(tuple(self.settings)))
        self.dimension = self._run([self._tokenizer.encode("a")]).shape[1]

    def _check(self, folder: Path) -> None:
        """Refuse what is not known, rather than guess."""
        if other := self._inputs - INPUTS.keys():
            raise UnreadableFile(
                folder / ONNX, None, f"the input {min(other)} is not supported"
            )
        if not self._pooled and self.settings.pooling not in KNOWN_POOLINGS:
            choices = ", ".join(map(repr, KNOWN_POOLINGS))
            raise UnreadableFile(
                folder / "1_Pooling/config.json",
                None,
                f"pooling is {self.settings.pooling!r}: give pooling=, one of "
                f"{choices}, as the model's makers say",
            )

    def _vectors(self, texts: list[str]) -> Vectors:
        begins = range(0, len(texts), SENTENCES)
        parts = track(begins, f"vectors by {self.name}", len(begins))
        return np.vstack([self._some(texts[at : at + SENTENCES]) for at in parts])

    def _some(self, texts: list[str]) -> Vectors:
        """Encode batches of texts that are about as long, the longest first."""
        changed = [self.settings.prefix + text for text in texts]
        if self.settings.lower:
            changed = [text.lower() for text in changed]
        encoded = self._tokenizer.encode_batch(changed)
        lengths = np.array([len(each.ids) for each in encoded])
        order = np.argsort(-lengths, kind="stable")
        batches, first = [], 0
        while first < len(order):
            size = max(1, TOKENS // max(int(lengths[order[first]]), 1))
            batches.append(order[first : first + size])
            first += size
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for batch in batches:
            vectors[batch] = self._run([encoded[at] for at in batch])
        return vectors

    def _run(self, encoded: list[Any]) -> Vectors:
        width = max(1, *(len(each.ids) for each in encoded))
        feed = {name: np.zeros((len(encoded), width), np.int64) for name in INPUTS}
        for name, field in INPUTS.items():
            for row, each in zip(feed[name], encoded, strict=True):
                row[: len(each.ids)] = getattr(each, field)
        inputs = {name: feed[name] for name in self._inputs}
        states = self._session.run([self._output], inputs)[0]
        if not self._pooled:
            states = pooled(states, feed["attention_mask"], self.settings.pooling)
        return unit_rows(states) if self.settings.unit else states.astype(np.float32)


def pooled(states: NDArray[Any], mask: NDArray[np.int64], how: str) -> NDArray[Any]:
    """One vector of each text's token vectors.

    states : shape (texts, tokens, numbers);  mask : 1 for a token, 0 for padding, at
    the end. "mean": Σ m_t h_t / Σ m_t; "cls": the first; "lasttoken": the last; "max":
    the greatest of each number.

    >>> states = np.array([[[1.0, 4.0], [3.0, 0.0], [9.0, 9.0]]])
    >>> pooled(states, np.array([[1, 1, 0]]), "mean").tolist()
    [[2.0, 2.0]]
    """
    if how == "cls":
        return np.asarray(states[:, 0])
    lengths = mask.sum(axis=1)
    if how == "lasttoken":
        last = np.maximum(lengths, 1) - 1
        return np.asarray(states[np.arange(len(states)), last])
    inside = mask[:, :, None].astype(bool)
    if how == "max":
        return np.asarray(np.where(inside, states, -np.inf).max(axis=1))
    total = np.where(inside, states, 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(lengths, 1)[:, None])


def _session(model: Path, device: str) -> Any:
    runtime = required("onnxruntime", "Sentence models", "sentences")
    has = [name for name in GPUS if name in runtime.get_available_providers()]
    if device not in {"auto", "cpu", "gpu"}:
        raise Mistake(f"device is {device!r}: use 'auto', 'cpu' or 'gpu'")
    if device == "gpu" and not has:
        raise Mistake(
            "device is 'gpu', and the installed onnxruntime has none: install "
            "onnxruntime-gpu, or use device='cpu'"
        )
    providers = ([] if device == "cpu" else has) + ["CPUExecutionProvider"]
    try:
        return runtime.InferenceSession(str(model), providers=providers)
    except Exception as error:  # the package raises nothing narrower
        reason = str(error).partition("\n")[0][:200]
        raise UnreadableFile(
            model, None, f"no model that onnxruntime can run ({reason})"
        ) from error
