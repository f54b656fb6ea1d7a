"""What was said and how good the suggestions were, replayed line by line, slowly."""

import math

from classmark.workbench.store.log import STATEMENTS, LogReplay


def held(store):
    """Every line of the log with who said it, and whether it holds."""
    entries = list(store.log())
    replay = LogReplay(entries)
    who = dict(store.run("SELECT seq, who FROM judgments").fetchall())
    seen = {
        seq: (model, rank)
        for seq, model, rank in store.run("SELECT seq, model, rank FROM judgments")
    }
    return [(e, who[e.seq], seen[e.seq]) for e in entries if replay.holds(e.seq)]


def counted(store):
    """Whether a line is somebody's own word: not moved by a merge or a settlement."""
    lines = held(store)
    acts = {e.seq: e for e in store.log()}
    own = []
    for entry, who, seen in lines:
        around = acts.get(entry.within)
        if around and (around.document is None or around.act == "settle"):
            continue
        if entry.document is not None and entry.undoes is None:
            own.append((entry, who, seen))
    return own


def opinions(store, document):
    """Person → category → the last act of theirs."""
    found = {}
    for entry, who, _ in counted(store):
        is_here = entry.document == document and entry.numbers[0] is not None
        if is_here and entry.act in STATEMENTS:
            found.setdefault(who, {})[entry.numbers[0]] = entry.act
    return found


def decisions(store):
    """The ranks of the labels of each document's first decision by a person."""
    groups = []
    for entry, who, (_, rank) in counted(store):
        if entry.act not in ("assign", "primary"):
            continue
        if groups and groups[-1]["key"] == (who, entry.document):
            group = groups[-1]
            if entry.within == group["first"] or entry.seq == group["last"] + 1:
                group["ranks"].append(rank)
                group["last"] = entry.seq
                continue
        groups.append(
            {
                "key": (who, entry.document),
                "first": entry.seq,
                "last": entry.seq,
                "ranks": [rank],
            }
        )
    had = set()
    found = []
    for group in groups:
        who, document = group["key"]
        is_first = document not in had and not who.endswith(" (import)")
        if is_first and any(rank is not None for rank in group["ranks"]):
            found.append((document, group["ranks"]))
        had.add(document)
    return found


def means(all_ranks):
    """Effort, P@1, P@5, R@5, one-error and AvgP, by their definitions."""
    rows = []
    for ranks in all_ranks:
        known = [r for r in ranks if r is not None]
        first = any(r == 1 for r in known)
        five = sum(1 for r in known if r <= 5)
        precise = [sum(1 for q in known if q <= r) / r for r in known]
        rows.append(
            [
                max(known) if len(known) == len(ranks) else math.nan,
                float(first),
                five / 5,
                five / len(ranks),
                float(not first),
                sum(precise) / len(ranks),
            ]
        )
    columns = list(zip(*rows, strict=True))
    found = []
    for column in columns:
        real = [value for value in column if not math.isnan(value)]
        found.append(sum(real) / len(real) if real else math.nan)
    return found


def popular(labelled, categories):
    """Where the last of some labels is in a list of the most used first, each time.

    labelled : lists of categories in the order they were given;  ties share a place.
    """
    counts = dict.fromkeys(categories, 0)
    found = []
    for names in labelled:
        places = []
        for name in names:
            above = sum(n > counts[name] for n in counts.values())
            same = sum(n == counts[name] for n in counts.values())
            places.append(above + (same + 1) / 2)
        found.append(max(places))
        for name in names:
            counts[name] += 1
    return found
