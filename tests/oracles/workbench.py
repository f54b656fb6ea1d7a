"""The judgment log the obvious way: everything is computed anew from the whole list."""

from dataclasses import dataclass, field, replace

LABELS = {"assign", "primary"}
STATEMENTS = {*LABELS, "remove", "reject", "unsure"}


@dataclass
class Line:
    seq: int
    document: str | None
    act: str
    category: int | None = None
    other: int | None = None
    grade: float | None = None
    undoes: int | None = None
    within: int | None = None
    said: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Node:
    id: str
    label: str = ""
    parents: tuple = ()
    retired: bool = False


class Model:
    """A list of lines; what holds is folded from those that are not undone."""

    def __init__(self):
        self.lines = []

    def append(self, **what):
        line = Line(len(self.lines) + 1, **what)
        self.lines.append(line)
        return line.seq

    def holds(self, seq):
        return not any(u.undoes == seq and self.holds(u.seq) for u in self.lines)

    def live(self):
        dead = set()
        for line in reversed(self.lines):
            if line.undoes is not None and line.seq not in dead:
                dead.add(line.undoes)
        return [line for line in self.lines if line.seq not in dead]

    def nodes(self):
        """Number → Node, by folding the acts on categories that hold."""
        found = {}
        for line in self.live():
            said, at = line.said, line.category
            if line.act == "add":
                found[at] = Node(said["id"], parents=said["parents"])
            elif line.act == "split":
                found[line.other] = Node(said["id"], parents=said["parents"])
            elif at not in found:
                continue
            elif line.act == "rename":
                found[at] = replace(found[at], **said)
            elif line.act == "move":
                found[at] = replace(found[at], parents=said["parents"])
            elif line.act == "retire":
                found[at] = replace(found[at], retired=True)
            elif line.act == "merge":
                del found[at]
                for child, node in found.items():
                    moved = [line.other if p == at else p for p in node.parents]
                    parents = tuple(dict.fromkeys(moved))
                    found[child] = replace(node, parents=parents)
        return dict(sorted(found.items()))

    def words(self, document):
        """Number → the last line on it; and pair → the last line on both."""
        said, pairs = {}, {}
        for line in self.live():
            if line.document != document:
                continue
            if line.act in STATEMENTS and line.category is not None:
                said[line.category] = line
            if line.act == "prefer":
                pairs[frozenset({line.category, line.other})] = line
        return said, pairs

    def state(self, document):
        """What holds of a document, by names, as one comparable value."""
        nodes = self.nodes()
        said, pairs = self.words(document)
        name = {number: node.id for number, node in nodes.items()}
        kept = {name[n]: (x.act, x.grade) for n, x in said.items() if n in name}
        own = [
            line
            for line in self.live()
            if line.document == document and line.act != "undo" and not line.within
        ]
        return (
            {n: grade for n, (act, grade) in kept.items() if act in LABELS},
            {n for n, (act, _) in kept.items() if act == "primary"},
            {n for n, (act, _) in kept.items() if act == "reject"},
            {n for n, (act, _) in kept.items() if act == "unsure"},
            bool(own) and own[-1].act == "unsure" and own[-1].category is None,
            {
                (name[p.category], name[p.other]): p.grade
                for p in pairs.values()
                if p.category in name and p.other in name
            },
        )

    def undo(self, seq, within=None):
        target = self.lines[seq - 1]
        new = self.append(
            document=target.document, act="undo", category=target.category,
            other=target.other, undoes=seq, within=within,
        )  # fmt: skip
        parts = [line.seq for line in self.live() if line.within == seq]
        for part in reversed(parts):
            self.undo(self.newest(part), new)
        return new

    def newest(self, seq):
        """The act itself; of an undoing, the newest on the same matter."""
        base = seq
        while self.lines[base - 1].undoes is not None:
            base = self.lines[base - 1].undoes
        chain = {base}
        for line in self.lines:
            if line.undoes in chain:
                chain.add(line.seq)
        return seq if base == seq else max(chain)

    def merge(self, number, target):
        documents = list(dict.fromkeys(x.document for x in self.lines if x.document))
        carried = []
        for document in documents:
            said, pairs = self.words(document)
            none = Line(0, document, "")
            line, over = said.get(number, none), said.get(target, none)
            act, had = line.act, over.act
            take = (
                (act == "primary" and had != "primary")
                or (act == "assign" and had not in LABELS)
                or (act == "assign" == had and line.grade > over.grade)
                or (act == "unsure" and had not in {"unsure", *LABELS})
            )
            if take:
                carried.append((0, line.seq, document, act, target, None, line.grade))
            for pair, line in pairs.items():
                third = next(iter(pair - {number}))
                new = frozenset({target, third})
                if number not in pair or third == target or third not in self.nodes():
                    continue
                if new not in pairs:
                    ends = [target if n == number else n
                            for n in (line.category, line.other)]  # fmt: skip
                    carried.append((1, line.seq, document, "prefer", *ends, line.grade))
        seq = self.append(document=None, act="merge", category=number, other=target)
        for _, _, document, act, category, other, grade in sorted(
            carried, key=lambda one: one[:2]
        ):
            self.append(
                document=document, act=act, category=category, other=other,
                grade=grade, within=seq,
            )  # fmt: skip
