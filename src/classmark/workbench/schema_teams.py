"""The sixth format of a store: guidelines, people, and acts that only tell.

The acts ``skip``, ``note`` and ``settle`` name no category and leave what holds as it
is. The views are written anew, in words that SQLite and PostgreSQL both understand.
"""

from __future__ import annotations

TEAMS = """
DROP VIEW aside;
DROP VIEW preferences;
DROP VIEW comparisons;
DROP VIEW labels;
DROP VIEW standing;
DROP VIEW statements;
DROP VIEW marked;
ALTER TABLE categories ADD COLUMN guideline TEXT NOT NULL DEFAULT '';
CREATE INDEX judgments_by_document ON judgments (document, seq);
CREATE INDEX judgments_by_person ON judgments (who, seq);
CREATE TABLE users (
  name TEXT PRIMARY KEY,
  password TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('reader', 'classifier', 'admin')),
  added TEXT NOT NULL,
  disabled INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE tokens (
  id TEXT PRIMARY KEY,
  owner TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('reader', 'classifier', 'admin')),
  digest TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL DEFAULT '',
  created TEXT NOT NULL,
  expires TEXT,
  revoked TEXT
);
CREATE VIEW statements AS
  SELECT document, category, act, grade, seq FROM (
    SELECT j.document, j.category, j.act, j.grade, j.seq, row_number() OVER (
      PARTITION BY document, category ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('assign', 'remove', 'primary', 'reject', 'unsure')
      AND category IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)) AS said
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
        PARTITION BY document, min(category, other), max(category, other)
        ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('prefer', 'retract')
      AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq)) AS said
  WHERE age = 1 AND act = 'prefer';
CREATE VIEW preferences AS
  SELECT p.document, c.id AS category, o.id AS other, p.grade, p.seq
  FROM comparisons AS p
  JOIN categories AS c ON c.number = p.category
  JOIN categories AS o ON o.number = p.other
  WHERE c.stands = 1 AND o.stands = 1;
CREATE VIEW aside AS
  SELECT DISTINCT document FROM judgments AS a
  WHERE act = 'unsure' AND category IS NULL
    AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = a.seq)
    AND NOT EXISTS (
      SELECT 1 FROM judgments AS j
      WHERE j.document = a.document AND j.seq > a.seq
        AND j.act NOT IN ('undo', 'skip', 'note', 'settle') AND j.within IS NULL
        AND NOT EXISTS (SELECT 1 FROM undone AS u WHERE u.seq = j.seq));
CREATE VIEW marked AS
  SELECT seq, at, who, search, document, act, undoes, origin, rank, score, step FROM (
    SELECT m.*, row_number() OVER (
      PARTITION BY search, document ORDER BY seq DESC) AS age
    FROM marks AS m
    WHERE act <> 'undo'
      AND (SELECT count(*) FROM marks AS u WHERE u.undoes = m.seq) % 2 = 0) AS made
  WHERE age = 1;
"""
