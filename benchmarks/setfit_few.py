"""SetFit's recipe beside ours: few examples of five topics of 20 Newsgroups.

SetFit (contrastive pairs, one pass, cosine loss, logistic head) needs packages that the
house has not, so three steps, the second with an environment of its own:

``python benchmarks/setfit_few.py write FOLDER`` draws topics, examples and 100 test
messages of each topic; ``python benchmarks/setfit_few.py fit FOLDER MODEL`` (``setfit``
installed) fine-tunes the sentence model of that folder on the examples of all five
topics, once for each size, and writes P(topic | message) and the seconds it took;
``python benchmarks/setfit_few.py measure FOLDER MODEL`` prints MAP of both, ours with
the vectors of the same model as it is (``model.onnx``).
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

SET, TOPICS, TESTED, SIZES = "20newsgroups-bydate", 5, 100, (1, 3, 5)
# As published: 20 pairs of either kind for each example, in batches of 16, one pass.
ITERATIONS, BATCH, PASSES = 20, 16, 1


def write(folder: Path) -> None:
    """Draw the task, and write its texts and which of them are examples."""
    from meaning_few import few_task

    task, texts, cut = few_task(SET)
    task, chance = task.some(TOPICS), np.random.default_rng(0)
    drawn = [chance.choice(t.relevant, TESTED, replace=False) for t in task.topics]
    examples = {
        size: [_drawn(task, topic, size) for topic in task.topics] for size in SIZES
    }
    facts = {
        "topics": [topic.name for topic in task.topics],
        "train": texts[:cut],
        "test": [texts[cut + at] for own in drawn for at in np.sort(own)],
        "examples": examples,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.json").write_text(json.dumps(facts))


def _drawn(task: Any, topic: Any, size: int) -> list[int]:
    """Places in the training part of the first draw's examples, as ``few`` draws."""
    from dataclasses import replace

    from classmark.arrays import rows_from

    numbers = rows_from(np.eye(len(task.train), dtype=np.float32))
    own = replace(task, train=numbers)
    return [int(at) for at in own.examples(topic, size, 0).columns]


def fit(folder: Path, model: Path) -> None:
    """Fine-tune and score, one size after the other."""
    from setfit import SetFitModel, Trainer, TrainingArguments

    from datasets import Dataset

    facts = json.loads((folder / "task.json").read_text())
    for size, drawn in facts["examples"].items():
        begin = time.process_time()
        labels = [at for at, own in enumerate(drawn) for _ in own]
        texts = [facts["train"][at] for own in drawn for at in own]
        tuned = SetFitModel.from_pretrained(str(model))
        arguments = TrainingArguments(
            output_dir=str(folder / "runs"), batch_size=BATCH, num_epochs=PASSES,
            num_iterations=ITERATIONS, save_strategy="no", report_to="none", seed=0,
        )  # fmt: skip
        examples = Dataset.from_dict({"text": texts, "label": labels})
        Trainer(model=tuned, args=arguments, train_dataset=examples).train()
        learned = time.process_time() - begin
        likely = np.asarray(tuned.predict_proba(facts["test"], as_numpy=True))
        np.save(folder / f"setfit-{size}.npy", likely)
        taken = {"train": learned, "all": time.process_time() - begin}
        (folder / f"setfit-{size}.json").write_text(json.dumps(taken))
        print(size, taken, flush=True)


def measure(folder: Path, model: Path) -> None:
    """Print MAP of SetFit and of ours, the same examples and messages."""
    import classmark as cm
    from classmark.arrays import take
    from reproductions.qbme_tasks import measure as precision

    facts = json.loads((folder / "task.json").read_text())
    texts, cut = facts["train"] + facts["test"], len(facts["train"])
    source = cm.VectorFile(folder / "vectors", cm.SentenceModel(model))
    source.compute(texts)
    whole = {
        name: cm.Vectorizer(weighting="log-tfidf", meaning=meaning)
        .fit(texts)
        .rows(texts)
        for name, meaning in (("words", None), ("words ⊕ sentence", source))
    }
    collection = np.arange(cut, len(texts))
    print("| examples | method | MAP | CPU s |", "|---|---|---|---|", sep="\n")
    for size, drawn in facts["examples"].items():
        scores = {name: [] for name in whole}
        taken = dict.fromkeys(whole, 0.0)
        for name, rows in whole.items():
            for own in drawn:
                begin, U = time.process_time(), take(rows, collection)
                query = cm.ExampleQuery().fit(take(rows, own), U)
                scores[name].append(query.decision_function(U))
                taken[name] += time.process_time() - begin
        if (folder / f"setfit-{size}.npy").exists():
            scores["SetFit"] = list(np.load(folder / f"setfit-{size}.npy").T)
            recorded = (folder / f"setfit-{size}.json").read_text()
            taken["SetFit"] = json.loads(recorded)["all"]
        for name, own in scores.items():
            relevant = np.repeat(np.eye(TOPICS), TESTED, axis=1)
            both = zip(own, relevant, strict=True)
            mean = np.mean([precision(each, right).ap for each, right in both])
            print(f"| {size} | {name} | {mean:.3f} | {taken[name]:.1f} |")


if __name__ == "__main__":
    step, *places = sys.argv[1:]
    {"write": write, "fit": fit, "measure": measure}[step](*map(Path, places))
