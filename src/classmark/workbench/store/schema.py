"""The tables of a store, what brings older ones up to date, and errors of any store.

One log, ``judgments``, holds all acts of everybody in one order: acts on a document,
and, without a document, acts on the categories. It only grows. It names categories by
their ``number``, which never changes, so that ids may. What an act did to categories is
in its ``changes``: number → field → [before, after]; the table ``categories`` is the
result of all changes. The acts that do not hold now, being undone, are in ``undone``.
``all_documents`` has every document that ever was; ``documents`` is the view of those
that are here: not deleted, and their import not undone (``stands``, kept up to date by
the acts). The other views are what holds: the last statement on a document and a
category (``statements``), and on a document and a pair of categories
(``comparisons``), where no category (NULL) stands for the threshold of the other. The
acts
``skip``, ``note``, ``settle`` and ``replace`` name no category and change none of them;
what a document said before an act replaced it is in ``texts``. ``delete`` takes a
document away with all that was said of it, ``insert`` brings one; an ``import`` without
changes is the act that the rest of an import is within.

A search by examples has a log of its own, ``marks``, that only grows as well: an
``undo`` takes its mark back, or, the mark being taken back, brings it again; marks made
together share a ``step``. What holds is in ``marked``, the last mark of a search on a
document. ``impressions`` are lists that a search has shown, ``clicks`` what was opened
from them; both only grow.

Who is here (``PRESENCE``) is beside all that, and of no format: ``presence``.

SQLite and PostgreSQL read the same text; the few words that differ are filled in.
"""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template

from classmark.problems import DamagedFolder, Mistake, worded

APPLICATION = 0x436C4D6B  # "ClMk": the file is ours
VERSION = 9
NUMBERING = (  # what numbers the rows of a table in PostgreSQL
    "CREATE FUNCTION number_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ "
    "BEGIN IF NEW.{key} IS NULL THEN SELECT coalesce(max({key}), 0) + 1 "
    "INTO NEW.{key} FROM {table}; END IF; RETURN NEW; END $$;\n"
    "CREATE TRIGGER {table}_are_numbered BEFORE INSERT ON {table} "
    "FOR EACH ROW EXECUTE FUNCTION number_{table}();"
)
WORDS = {  # of SQLite and PostgreSQL
    "INTEGER": ("INTEGER", "BIGINT"),
    "REAL": ("REAL", "DOUBLE PRECISION"),
    "TEXT": ("TEXT", 'TEXT COLLATE "C"'),
    "AUTOINCREMENT": ("AUTOINCREMENT", ""),  # a trigger numbers the rows
    "LEAST": ("min", "least"),
    "GREATEST": ("max", "greatest"),
    "REFUSE": (
        "BEGIN SELECT RAISE (ABORT, ",
        "FOR EACH ROW EXECUTE FUNCTION refuse(",
    ),
    "END": ("); END", ")"),
    "RENUMBERED": (
        "",
        "DROP TRIGGER documents_are_numbered ON all_documents;\n"
        "DROP FUNCTION number_documents;\n"
        + NUMBERING.format(table="all_documents", key="number"),
    ),
}
SQLITE, POSTGRES = (
    dict(zip(WORDS, words, strict=True)) for words in zip(*WORDS.values(), strict=True)
)
APPEND_ONLY = """
CREATE TRIGGER {0}_are_kept BEFORE DELETE ON {0} $REFUSE'{1} is append-only'$END;
CREATE TRIGGER {0}_do_not_change BEFORE UPDATE ON {0} $REFUSE'{1} is append-only'$END;
"""
DOCUMENTS = """
CREATE TABLE all_documents (
  number $INTEGER PRIMARY KEY,
  id $TEXT NOT NULL UNIQUE,
  fields $TEXT NOT NULL,
  meta $TEXT NOT NULL DEFAULT '{}',
  links $TEXT NOT NULL DEFAULT '[]',
  added $TEXT NOT NULL,
  added_by $INTEGER,
  stands $INTEGER NOT NULL DEFAULT 1
);
CREATE TABLE events (
  seq $INTEGER PRIMARY KEY $AUTOINCREMENT,
  at $TEXT NOT NULL,
  who $TEXT NOT NULL,
  what $TEXT NOT NULL,
  detail $TEXT NOT NULL DEFAULT '{}'
);
"""
IMPORTED_BY = """
CREATE INDEX documents_by_import ON all_documents (added_by)
  WHERE added_by IS NOT NULL;
"""
CATEGORIES = """
CREATE TABLE categories (
  number $INTEGER PRIMARY KEY,
  id $TEXT NOT NULL,
  label $TEXT NOT NULL DEFAULT '',
  note $TEXT NOT NULL DEFAULT '',
  synonyms $TEXT NOT NULL DEFAULT '[]',
  parents $TEXT NOT NULL DEFAULT '[]',
  notation $TEXT NOT NULL DEFAULT '',
  status $TEXT NOT NULL DEFAULT 'active',
  stands $INTEGER NOT NULL DEFAULT 0,
  joined $INTEGER REFERENCES categories (number),
  guideline $TEXT NOT NULL DEFAULT ''
);
CREATE TABLE judgments (
  seq $INTEGER PRIMARY KEY $AUTOINCREMENT,
  at $TEXT NOT NULL,
  who $TEXT NOT NULL,
  document $TEXT REFERENCES all_documents (id),
  act $TEXT NOT NULL,
  category $INTEGER REFERENCES categories (number),
  other $INTEGER REFERENCES categories (number),
  grade $REAL,
  model $TEXT NOT NULL DEFAULT '',
  rank $INTEGER,
  score $REAL,
  note $TEXT NOT NULL DEFAULT '',
  undoes $INTEGER REFERENCES judgments (seq),
  within $INTEGER REFERENCES judgments (seq),
  changes $TEXT
);
CREATE TABLE lessons (
  seq $INTEGER PRIMARY KEY REFERENCES judgments (seq),
  revisits $INTEGER NOT NULL
);
CREATE TABLE undone (seq $INTEGER PRIMARY KEY REFERENCES judgments (seq));
"""
LOG_BY_PERSON = """
CREATE INDEX judgments_by_document ON judgments (document, seq);
CREATE INDEX judgments_by_person ON judgments (who, seq);
"""
LOG = (
    """
CREATE UNIQUE INDEX categories_by_id ON categories (id) WHERE stands = 1;
CREATE INDEX judgments_by_pair ON judgments (document, category, seq);
CREATE INDEX judgments_by_category ON judgments (category, document);
CREATE INDEX judgments_undone ON judgments (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX judgments_within ON judgments (within) WHERE within IS NOT NULL;
CREATE INDEX judgments_on_categories ON judgments (seq) WHERE changes IS NOT NULL;
CREATE INDEX judgments_aside ON judgments (document)
  WHERE act = 'unsure' AND category IS NULL;
"""
    + APPEND_ONLY.format("judgments", "the judgment log")
    + APPEND_ONLY.format("lessons", "the judgment log")
)
TEXTS = """
CREATE TABLE texts (
  seq $INTEGER PRIMARY KEY REFERENCES judgments (seq),
  fields $TEXT NOT NULL,
  meta $TEXT NOT NULL,
  links $TEXT NOT NULL
);
""" + APPEND_ONLY.format("texts", "the judgment log")
SEARCHES = """
CREATE TABLE searches (
  number $INTEGER PRIMARY KEY,
  name $TEXT NOT NULL UNIQUE,
  created $TEXT NOT NULL,
  who $TEXT NOT NULL,
  settings $TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE marks (
  seq $INTEGER PRIMARY KEY $AUTOINCREMENT,
  at $TEXT NOT NULL,
  who $TEXT NOT NULL,
  search $INTEGER NOT NULL REFERENCES searches (number),
  document $TEXT NOT NULL REFERENCES all_documents (id),
  act $TEXT NOT NULL CHECK (act IN ('example', 'yes', 'no', 'skip', 'undo')),
  undoes $INTEGER REFERENCES marks (seq) CHECK ((undoes IS NULL) = (act <> 'undo')),
  origin $TEXT NOT NULL CHECK (origin IN ('given', 'likely', 'random')),
  rank $INTEGER,
  score $REAL,
  step $INTEGER NOT NULL
);
CREATE INDEX marks_by_search ON marks (search, seq);
CREATE INDEX marks_by_document ON marks (search, document, seq);
CREATE INDEX marks_undone ON marks (undoes) WHERE undoes IS NOT NULL;
""" + APPEND_ONLY.format("marks", "the log of marks")
CLICKS = (
    """
CREATE TABLE impressions (
  number $INTEGER PRIMARY KEY $AUTOINCREMENT,
  at $TEXT NOT NULL,
  who $TEXT NOT NULL,
  query $TEXT NOT NULL,
  ranker $TEXT NOT NULL,
  generation $INTEGER NOT NULL,
  shown $TEXT NOT NULL
);
CREATE TABLE clicks (
  seq $INTEGER PRIMARY KEY $AUTOINCREMENT,
  impression $INTEGER NOT NULL REFERENCES impressions (number),
  document $TEXT NOT NULL,
  position $INTEGER NOT NULL CHECK (position >= 1),
  at $TEXT NOT NULL
);
CREATE INDEX clicks_by_impression ON clicks (impression, position);
"""
    + APPEND_ONLY.format("impressions", "the log of impressions")
    + APPEND_ONLY.format("clicks", "the log of clicks")
)
PEOPLE = """
CREATE TABLE users (
  name $TEXT PRIMARY KEY,
  password $TEXT NOT NULL,
  role $TEXT NOT NULL CHECK (role IN ('reader', 'classifier', 'admin')),
  added $TEXT NOT NULL,
  disabled $INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE tokens (
  id $TEXT PRIMARY KEY,
  owner $TEXT NOT NULL,
  role $TEXT NOT NULL CHECK (role IN ('reader', 'classifier', 'admin')),
  digest $TEXT NOT NULL UNIQUE,
  label $TEXT NOT NULL DEFAULT '',
  created $TEXT NOT NULL,
  expires $TEXT,
  revoked $TEXT
);
"""
VIEWS = """
CREATE VIEW documents AS
  SELECT number, id, fields, meta, links, added FROM all_documents WHERE stands = 1;
CREATE VIEW statements AS
  SELECT document, category, act, grade, seq FROM (
    SELECT j.document, j.category, j.act, j.grade, j.seq, row_number() OVER (
      PARTITION BY document, category ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('assign', 'remove', 'primary', 'reject', 'unsure')
      AND category IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)) AS made
  WHERE age = 1;
CREATE VIEW standing AS
  SELECT s.document, c.id AS category, s.act, s.grade, s.seq
  FROM statements AS s JOIN categories AS c ON c.number = s.category
  WHERE c.stands = 1 AND s.act <> 'remove';
CREATE VIEW labels AS
  SELECT document, category, act, grade, seq FROM standing
  WHERE act IN ('assign', 'primary');
CREATE VIEW comparisons AS
  SELECT document, category, other, grade, seq FROM (
    SELECT j.document, j.category, j.other, j.grade, j.act, j.seq,
      row_number() OVER (
        PARTITION BY document, $LEAST(coalesce(category, 0), coalesce(other, 0)),
          $GREATEST(coalesce(category, 0), coalesce(other, 0))
        ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('prefer', 'retract')
      AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)) AS made
  WHERE age = 1 AND act = 'prefer';
CREATE VIEW preferences AS
  SELECT p.document, coalesce(c.id, 'threshold') AS category,
    coalesce(o.id, 'threshold') AS other, p.grade, p.seq
  FROM comparisons AS p
  LEFT JOIN categories AS c ON c.number = p.category
  LEFT JOIN categories AS o ON o.number = p.other
  WHERE coalesce(c.stands, 1) = 1 AND coalesce(o.stands, 1) = 1;
CREATE VIEW aside AS
  SELECT DISTINCT document FROM judgments AS a
  WHERE act = 'unsure' AND category IS NULL
    AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = a.seq)
    AND NOT EXISTS (
      SELECT 1 FROM judgments AS j
      WHERE j.document = a.document AND j.seq > a.seq
        AND j.act NOT IN ('undo', 'skip', 'note', 'settle', 'replace')
        AND j.within IS NULL
        AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq));
CREATE VIEW marked AS
  SELECT seq, at, who, search, document, act, undoes, origin, rank, score, step FROM (
    SELECT m.*, row_number() OVER (
      PARTITION BY search, document ORDER BY seq DESC) AS age
    FROM marks AS m
    WHERE act <> 'undo'
      AND (SELECT count(*) FROM marks AS u WHERE u.undoes = m.seq) % 2 = 0
      AND EXISTS (SELECT 1 FROM documents AS d WHERE d.id = m.document)) AS made
  WHERE age = 1;
"""
PRESENCE = """
CREATE TABLE IF NOT EXISTS sessions (
  digest $TEXT PRIMARY KEY,
  name $TEXT NOT NULL,
  stamp $TEXT NOT NULL,
  began $REAL NOT NULL,
  used $REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS claims (
  document $TEXT PRIMARY KEY,
  who $TEXT NOT NULL,
  until $REAL NOT NULL
);
CREATE INDEX IF NOT EXISTS claims_by_person ON claims (who, until);
CREATE TABLE IF NOT EXISTS failures (source $TEXT NOT NULL, at $REAL NOT NULL);
CREATE INDEX IF NOT EXISTS failures_by_source ON failures (source, at);
CREATE TABLE IF NOT EXISTS cookies (number $INTEGER PRIMARY KEY, mark $TEXT NOT NULL);
"""
TABLES = (
    DOCUMENTS, IMPORTED_BY, CATEGORIES, LOG, LOG_BY_PERSON, TEXTS, SEARCHES, CLICKS,
    PEOPLE, VIEWS,
)  # fmt: skip
DROP_VIEWS = "".join(
    f"DROP VIEW IF EXISTS {view};\n"
    for view in (
        "aside", "preferences", "comparisons", "labels", "standing", "statements",
        "marked",
    )
)  # fmt: skip
DELETED_DOCUMENTS = """
ALTER TABLE documents RENAME TO all_documents;
ALTER TABLE all_documents ADD COLUMN added_by $INTEGER;
ALTER TABLE all_documents ADD COLUMN stands $INTEGER NOT NULL DEFAULT 1;
$RENUMBERED
"""
RENAME_LOG = """
ALTER TABLE judgments RENAME TO judgments_2;
ALTER TABLE categories RENAME TO categories_2;
"""
NUMBER_CATEGORIES = """
INSERT INTO categories
  SELECT number, id, label, note, synonyms,
    (SELECT json_group_array(parent) FROM (
      SELECT p.number AS parent FROM json_each(c.parents) AS e
      JOIN categories_2 AS p ON p.id = e.value ORDER BY e.key)),
    notation, status, 1, NULL, ''
  FROM categories_2 AS c;
INSERT INTO judgments (seq, at, who, act, changes)
  SELECT 0, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now'), 'migration', 'import',
    json_group_object(number, json_object(
      'id', json_array('', id), 'label', json_array('', label),
      'note', json_array('', note), 'synonyms', json_array('[]', synonyms),
      'parents', json_array('[]', parents), 'notation', json_array('', notation),
      'status', json_array('active', status), 'stands', json_array(0, 1)))
  FROM categories HAVING count(*) > 0;
INSERT INTO judgments
  SELECT seq, at, who, document, act, c.number, o.number, grade, model, rank, score,
    j.note, undoes, NULL, NULL
  FROM judgments_2 AS j
  LEFT JOIN categories_2 AS c ON c.id = j.category
  LEFT JOIN categories_2 AS o ON o.id = j.other
  ORDER BY seq;
DROP TABLE judgments_2;
DROP TABLE categories_2;
INSERT INTO undone
  SELECT DISTINCT undoes FROM judgments WHERE undoes IS NOT NULL;
"""
ADD_GUIDELINES = """
ALTER TABLE categories ADD COLUMN guideline $TEXT NOT NULL DEFAULT '';
"""
MIGRATIONS = (  # formats, and what a store of one of them still needs, in order
    (range(1, 9), DROP_VIEWS),
    (range(1, 9), DELETED_DOCUMENTS + IMPORTED_BY),
    (range(1, 3), RENAME_LOG + CATEGORIES),
    (range(1, 3), NUMBER_CATEGORIES),
    (range(1, 3), LOG),
    (range(1, 4), SEARCHES),
    (range(1, 5), CLICKS),
    (range(3, 6), ADD_GUIDELINES),
    (range(1, 6), LOG_BY_PERSON + PEOPLE),
    (range(1, 7), TEXTS),
    (range(1, 9), VIEWS),
)


def script(version: int, words: Mapping[str, str]) -> str:
    """What makes the tables of today: of nothing (0), or of those of an older format.

    words : ``SQLITE`` or ``POSTGRES``.
    """
    parts = [text for formats, text in MIGRATIONS if version in formats]
    return Template("".join(parts if version else TABLES)).substitute(words)


def presence(words: Mapping[str, str]) -> str:
    """What makes the tables of presence, where they are missing."""
    return Template(PRESENCE).substitute(words)


def table_names() -> list[str]:
    """Every table, after those that it refers to."""
    return re.findall(r"CREATE TABLE (\w+)", "".join(TABLES))


def statements(text: str) -> Iterator[str]:
    """The statements of a script, one by one.

    >>> list(statements("SELECT 1; SELECT ';';"))
    ['SELECT 1;', "SELECT ';';"]
    """
    statement = ""
    for piece in text.split(";")[:-1]:
        statement += piece + ";"
        if sqlite3.complete_statement(statement):
            yield statement.strip()
            statement = ""


REMEDIES = {  # what SQLite says → what cannot be done, and the remedy
    "is full": "cannot grow ({}): make room on its disk, then repeat",
    "disk I/O": "cannot be read or written ({}): see that its disk is well and has "
    "room, then repeat",
    "no more files": "cannot be opened ({}): raise their number (ulimit -n), or try "
    "again in a moment",
    "readonly": "cannot be written: let yourself write to it and its folder, or work "
    "on a copy of the project",
    "unable to open": "cannot be written: let yourself write to it and its folder, or "
    "work on a copy of the project",
    "": "cannot be used ({}): restore it from a backup, or import an export into a new "
    "project",
}


def damaged(path: Path | str, problem: Exception | str) -> DamagedFolder:
    """The error that says why the store cannot be used.

    >>> print(damaged("x.sqlite", "database or disk is full"))
    x.sqlite cannot grow (database or disk is full): make room on its disk, then repeat
    """
    reason = str(problem)
    if "unable to open" in reason and _may_open_none():
        reason = "this process may open no more files"
    remedy = next(text for words, text in REMEDIES.items() if words in reason)
    return DamagedFolder(f"{path} {remedy.format(reason)}")


def _may_open_none() -> bool:
    """Whether the process has as many files open as it may."""
    try:
        Path(os.devnull).open("rb").close()
    except OSError as problem:
        return problem.errno in (errno.EMFILE, errno.ENFILE)
    return False


class StoreInUse(Mistake):
    """Another process writes for too long."""


def in_use(place: str) -> StoreInUse:
    """The error that another process writes for too long."""
    return StoreInUse(f"{place} is in use by another process: try again in a moment")


def archived(place: str) -> Mistake:
    """The error that a project is closed to writing."""
    remedy = worded("bring it back with classmark projects unarchive")
    return Mistake(f"{place} is archived, so nothing is written: {remedy}")


def too_new(place: str, version: int) -> DamagedFolder:
    """The error that a store has a format newer than this program."""
    return DamagedFolder(
        f"{place} has format version {version}, this program reads up to {VERSION}: "
        "upgrade classmark"
    )
