BEGIN TRANSACTION;
CREATE TABLE categories (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  label TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL DEFAULT '',
  synonyms TEXT NOT NULL DEFAULT '[]',
  parents TEXT NOT NULL DEFAULT '[]',
  notation TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'active'
);
INSERT INTO "categories" VALUES(1,'b','B','','[]','[]','','active');
INSERT INTO "categories" VALUES(2,'a','A','','[]','[]','','active');
INSERT INTO "categories" VALUES(3,'c','C','','[]','["a", "b"]','','active');
CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  fields TEXT NOT NULL,
  meta TEXT NOT NULL DEFAULT '{}',
  links TEXT NOT NULL DEFAULT '[]',
  added TEXT NOT NULL
);
INSERT INTO "documents" VALUES(1,'d1','{"text": "wax"}','{}','[]','2024-01-02');
INSERT INTO "documents" VALUES(2,'d2','{"text": "stings"}','{}','[]','2024-01-02');
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE judgments (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  document TEXT NOT NULL REFERENCES documents (id),
  act TEXT NOT NULL,
  category TEXT REFERENCES categories (id),
  other TEXT REFERENCES categories (id),
  grade REAL,
  model TEXT NOT NULL DEFAULT '',
  rank INTEGER,
  score REAL,
  note TEXT NOT NULL DEFAULT '',
  undoes INTEGER REFERENCES judgments (seq)
);
INSERT INTO "judgments" VALUES(1,'2024-01-02','eve','d1','assign','a',NULL,2.0,'',4,NULL,'',NULL);
INSERT INTO "judgments" VALUES(2,'2024-01-02','eve','d1','assign','b',NULL,1.0,'',4,NULL,'',NULL);
INSERT INTO "judgments" VALUES(3,'2024-01-02','eve','d1','remove','b',NULL,NULL,'',4,NULL,'',NULL);
INSERT INTO "judgments" VALUES(4,'2024-01-02','eve','d2','assign','c',NULL,1.0,'',4,NULL,'',NULL);
INSERT INTO "judgments" VALUES(5,'2024-01-02','eve','d2','undo','c',NULL,NULL,'',4,NULL,'',4);
INSERT INTO "judgments" VALUES(6,'2024-01-02','eve','d2','prefer','c','a',3.0,'',4,NULL,'',NULL);
CREATE INDEX judgments_by_pair ON judgments (document, category, seq);
CREATE INDEX judgments_undone ON judgments (undoes) WHERE undoes IS NOT NULL;
CREATE TRIGGER judgments_are_kept BEFORE DELETE ON judgments
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE TRIGGER judgments_do_not_change BEFORE UPDATE ON judgments
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE VIEW labels AS
  SELECT document, category, grade, seq FROM (
    SELECT j.*, row_number() OVER (
      PARTITION BY document, category ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('assign', 'remove')
      AND NOT EXISTS (SELECT 1 FROM judgments AS u WHERE u.undoes = j.seq))
  WHERE age = 1 AND act = 'assign';
CREATE VIEW preferences AS
  SELECT document, category, other, grade, seq FROM (
    SELECT j.*, row_number() OVER (
      PARTITION BY document, min(category, other), max(category, other)
      ORDER BY seq DESC) AS age
    FROM judgments AS j
    WHERE act IN ('prefer', 'retract')
      AND NOT EXISTS (SELECT 1 FROM judgments AS u WHERE u.undoes = j.seq))
  WHERE age = 1 AND act = 'prefer';
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('judgments',6);
PRAGMA application_id = 1131171179;
PRAGMA user_version = 2;
COMMIT;
