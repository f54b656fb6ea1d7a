"""SetFit's recipe beside ours: one to twenty examples of five topics, on four sets.

SetFit (contrastive pairs, one pass, cosine loss, logistic head) needs packages that the
house has not, so three steps, the second with an environment of its own:

``python benchmarks/setfit_few.py write FOLDER`` draws, of each set, topics, examples
and at most 100 test documents of each topic; ``python benchmarks/setfit_few.py fit
FOLDER MODEL`` (``sentence-transformers`` and scikit-learn installed; a GPU is used
where there is one) fine-tunes the sentence model of that folder on the examples of all
five topics, once for each draw and size, and writes P(topic | document) and the seconds
it took; what is written already is not done again. ``… fit-package FOLDER MODEL`` does
it by the package ``setfit``, by which the loop here was checked.
``python benchmarks/setfit_few.py measure FOLDER MODEL`` prints MAP over the draws
(SetFit's over those that were fitted), ours with the vectors of the same model as it is
(``model.onnx``): a query from one topic's examples; and, as SetFit compares the topics,
the five queries' standard scores and the scores of ``PreferenceRanker()``, each less
the best of the other topics. And on how many topics and draws the query is ahead of
SetFit, and the processor time of both.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SETS = ("library", "pypi-topics", "reuters-21578", "20newsgroups-bydate")
TOPICS, TESTED, SIZES, DRAWS = 5, 100, (1, 3, 5, 10, 20), 5
# As published: 20 pairs of either kind for each example, in batches of 16, one pass;
# the rest as the package has it.
ITERATIONS, BATCH, PASSES = 20, 16, 1
RATE, WARMUP, DECAY, CLIP = 2e-5, 0.1, 0.01, 1.0
OURS = ("words", "words ⊕ sentence", "queries compared", "ranker")
SETFIT = "SetFit"
WAYS = (*OURS, SETFIT)


def write(folder: Path) -> None:
    """Draw the tasks, and write their texts and which of them are examples."""
    from meaning_few import few_task

    for name in SETS:
        task, texts, cut = few_task(name)
        task, chance = task.some(TOPICS), np.random.default_rng(0)
        tested = set()
        for topic in task.topics:
            some = min(TESTED, len(topic.relevant))
            tested.update(chance.choice(topic.relevant, some, replace=False).tolist())
        order = sorted(tested)
        facts = {
            "topics": [topic.name for topic in task.topics],
            "train": texts[:cut],
            "test": [texts[cut + at] for at in order],
            "relevant": [np.isin(order, t.relevant).tolist() for t in task.topics],
            "examples": {
                f"{size}-{draw}": [
                    _drawn(task, topic, size, draw) for topic in task.topics
                ]
                for draw in range(DRAWS)
                for size in SIZES
            },
        }
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "task.json").write_text(json.dumps(facts))


def _drawn(task: Any, topic: Any, size: int, draw: int) -> list[int]:
    """Places in the training part of the examples of a draw, as ``few`` draws."""
    from dataclasses import replace

    from classmark.arrays import rows_from

    numbers = rows_from(np.eye(len(task.train), dtype=np.float32))
    own = replace(task, train=numbers)
    return [int(at) for at in own.examples(topic, size, draw).columns]


def fit(folder: Path, model: Path, learn: Any = None) -> None:
    """Fine-tune and score, one draw after the other, the sizes of each rising."""
    for draw in range(DRAWS):
        for size in SIZES:
            for name in SETS:
                if not (folder / name / f"setfit-{size}-{draw}.npy").exists():
                    _fit_one(folder / name, model, f"{size}-{draw}", learn or _recipe)


def fit_package(folder: Path, model: Path) -> None:
    """The same by the package ``setfit``."""
    fit(folder, model, _package)


def _fit_one(folder: Path, model: Path, which: str, learn: Any) -> None:
    facts = json.loads((folder / "task.json").read_text())
    drawn, begin = facts["examples"][which], (time.process_time(), time.perf_counter())
    labels = [at for at, own in enumerate(drawn) for _ in own]
    texts = [facts["train"][at] for own in drawn for at in own]
    likely = np.asarray(learn(model, texts, labels)(facts["test"]))
    times = {
        "all": time.process_time() - begin[0], "clock": time.perf_counter() - begin[1]
    }  # fmt: skip
    (folder / f"setfit-{which}.json").write_text(json.dumps(times))
    np.save(folder / f"setfit-{which}.npy", likely)
    print(folder.name, which, times, flush=True)


def _package(model: Path, texts: list[str], labels: list[int]) -> Any:
    from setfit import SetFitModel, Trainer, TrainingArguments

    from datasets import Dataset

    tuned = SetFitModel.from_pretrained(str(model))
    arguments = TrainingArguments(
        output_dir=str(model / "runs"), batch_size=BATCH, num_epochs=PASSES,
        num_iterations=ITERATIONS, save_strategy="no", report_to="none", seed=0,
    )  # fmt: skip
    examples = Dataset.from_dict({"text": texts, "label": labels})
    Trainer(model=tuned, args=arguments, train_dataset=examples).train()
    return lambda test: tuned.predict_proba(test, as_numpy=True)


def _pairs(labels: list[int]) -> list[tuple[int, int, float]]:
    """Pairs alike and unlike by turns, each kind in one order again and again."""
    both = np.stack(np.triu_indices(len(labels)), axis=-1)
    shuffled = both[np.random.RandomState(seed=42).permutation(len(both))]
    alike = np.array([labels[a] == labels[b] for a, b in shuffled])
    wanted = ITERATIONS * len(labels)
    like, unlike = (np.resize(own, (wanted, 2)) for own in _parted(shuffled, alike))
    return [
        (int(a), int(b), value)
        for pair in zip(like, unlike, strict=True)
        for (a, b), value in zip(pair, (1.0, 0.0), strict=True)
    ]


def _parted(rows: Any, mask: Any) -> tuple[Any, Any]:
    return rows[mask], rows[~mask]


def _recipe(model: Path, texts: list[str], labels: list[int]) -> Any:
    """The body by pairs: AdamW, linear warm-up and decay; then a logistic head."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sklearn.linear_model import LogisticRegression

    torch.manual_seed(0)
    body = SentenceTransformer(str(model)).float()
    pairs = _pairs(labels)
    steps = PASSES * -(-len(pairs) // BATCH)
    weights = [
        {"params": [v for k, v in body.named_parameters() if _decays(k) == decays],
         "weight_decay": DECAY * decays}
        for decays in (True, False)
    ]  # fmt: skip
    optimizer = torch.optim.AdamW(weights, lr=RATE)
    warm = max(1, int(np.ceil(WARMUP * steps)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda t: min(t / warm, max(0.0, (steps - t) / max(1, steps - warm)))
    )
    body.train()
    order = torch.randperm(len(pairs)).tolist()
    for at in range(0, len(order), BATCH):
        batch = [pairs[i] for i in order[at : at + BATCH]]
        sides = [_embed(body, [texts[p[side]] for p in batch]) for side in (0, 1)]
        target = torch.tensor([p[2] for p in batch], device=sides[0].device)
        cosine = torch.cosine_similarity(*sides)
        torch.nn.functional.mse_loss(cosine, target).backward()
        torch.nn.utils.clip_grad_norm_(body.parameters(), CLIP)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    body.eval()
    head = LogisticRegression().fit(body.encode(texts), labels)
    return lambda test: head.predict_proba(body.encode(test))


def _decays(name: str) -> bool:
    return not name.endswith("bias") and "LayerNorm" not in name


def _embed(body: Any, texts: list[str]) -> Any:
    tokens = body.tokenize(texts)
    moved = {
        name: own.to(body.device) if hasattr(own, "to") else own
        for name, own in tokens.items()
    }
    return body(moved)["sentence_embedding"]


def measure(folder: Path, model: Path) -> None:
    """Print MAP of SetFit and of ours, the same examples and documents."""
    import classmark as cm

    source = cm.VectorFile(folder / "vectors", cm.SentenceModel(model))
    heads = ("set", "examples", "draws", *WAYS, "ahead", "query, CPU s", "SetFit")
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in SETS:
        facts = json.loads((folder / name / "task.json").read_text())
        texts = facts["train"] + facts["test"]
        source.compute(texts)
        words, both = (
            cm.Vectorizer(weighting="log-tfidf", meaning=meaning).fit(texts).rows(texts)
            for meaning in (None, source)
        )
        for size in SIZES:
            _row(folder / name, size, facts, words, both)


def _row(folder: Path, size: int, facts: dict[str, Any], words: Any, both: Any) -> None:
    """Print the means of one size over the draws and topics."""
    from scipy.stats import zscore

    from classmark.arrays import take
    from reproductions.qbme_tasks import measure as precision

    collection = np.arange(len(facts["train"]), len(words))
    truth = np.array(facts["relevant"])
    U, U_both = take(words, collection), take(both, collection)
    values: dict[str, list[float]] = {way: [] for way in WAYS}
    ahead, seconds, fits = [], 0.0, []
    for draw in range(DRAWS):
        drawn = facts["examples"][f"{size}-{draw}"]
        begin = time.process_time()
        queries = _queries(U_both, [take(both, own) for own in drawn])
        seconds += time.process_time() - begin
        scores = dict(zip(OURS, (
            _queries(U, [take(words, own) for own in drawn]),
            queries,
            _margins(zscore(queries, axis=1)),
            _margins(_ranker(both, U_both, drawn)),
        ), strict=True))  # fmt: skip
        fitted = folder / f"setfit-{size}-{draw}.npy"
        if fitted.exists():
            scores[SETFIT] = np.load(fitted).T
            fits.append(json.loads(fitted.with_suffix(".json").read_text())["all"])
        AP = {
            way: [precision(own[t], truth[t]).ap for t in range(len(drawn))]
            for way, own in scores.items()
        }
        for way, own in AP.items():
            values[way] += own
        if fitted.exists():
            ahead += [a > b for a, b in zip(AP[OURS[1]], AP[SETFIT], strict=True)]
    means = " | ".join(f"{np.mean(v):.3f}" if v else "–" for v in values.values())
    fit_time = f"{np.mean(fits):.1f}" if fits else "–"
    print(
        f"| {folder.name} | {size} | {DRAWS}, {len(fits)} | {means} | "
        f"{sum(ahead)} of {len(ahead)} | {seconds / DRAWS:.2f} | {fit_time} |",
        flush=True,
    )


def _queries(U: Any, examples: list[Any]) -> Any:
    """Scores of the collection by the query of each topic, topics × documents."""
    import classmark as cm

    queries = (cm.ExampleQuery().fit(P, U) for P in examples)
    return np.array([query.decision_function(U) for query in queries])


def _ranker(rows: Any, U: Any, drawn: list[list[int]]) -> Any:
    """Scores of the collection by a ranker of the topics, topics × documents."""
    import classmark as cm
    from classmark.arrays import take

    labels = [[topic] for topic, own in enumerate(drawn) for _ in own]
    places = [at for own in drawn for at in own]
    ranker = cm.PreferenceRanker().fit(take(rows, places), labels)
    return np.asarray(ranker.decision_function(U)).T


def _margins(scores: Any) -> Any:
    """Each topic's score less the best of the others."""
    order = np.sort(scores, axis=0)
    best = scores == order[-1]
    return scores - np.where(best, order[-2], order[-1])


if __name__ == "__main__":
    step, *places = sys.argv[1:]
    steps = {"write": write, "fit": fit, "fit-package": fit_package, "measure": measure}
    steps[step](*map(Path, places))
