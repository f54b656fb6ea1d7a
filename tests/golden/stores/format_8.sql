BEGIN TRANSACTION;
CREATE TABLE categories (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  label TEXT NOT NULL DEFAULT '',
  note TEXT NOT NULL DEFAULT '',
  synonyms TEXT NOT NULL DEFAULT '[]',
  parents TEXT NOT NULL DEFAULT '[]',
  notation TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'active',
  stands INTEGER NOT NULL DEFAULT 0,
  joined INTEGER REFERENCES categories (number)
, guideline TEXT NOT NULL DEFAULT '');
INSERT INTO "categories" VALUES(1,'life','Life','','[]','[]','','deprecated',1,NULL,'');
INSERT INTO "categories" VALUES(2,'apis','Honey bees','Honey.','["apis"]','[1]','638','active',1,NULL,'');
INSERT INTO "categories" VALUES(3,'wasps','','','[]','[1]','','active',1,NULL,'');
INSERT INTO "categories" VALUES(4,'hornets','','','[]','[3]','','active',0,3,'');
CREATE TABLE clicks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  impression INTEGER NOT NULL REFERENCES impressions (number),
  document TEXT NOT NULL,
  position INTEGER NOT NULL CHECK (position >= 1),
  at TEXT NOT NULL
);
INSERT INTO "clicks" VALUES(1,1,'d2',2,'2026-11-15T20:06:56.666+00:00');
CREATE TABLE documents (
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  fields TEXT NOT NULL,
  meta TEXT NOT NULL DEFAULT '{}',
  links TEXT NOT NULL DEFAULT '[]',
  added TEXT NOT NULL
);
INSERT INTO "documents" VALUES(1,'d1','{"title":"Combs","text":"wax"}','{"part":"train"}','[]','2026-11-15T20:06:56.655+00:00');
INSERT INTO "documents" VALUES(2,'d2','{"text":"stings"}','{}','[["d1","see"]]','2026-11-15T20:06:56.655+00:00');
INSERT INTO "documents" VALUES(3,'d3','{"text":"nests"}','{}','[]','2026-11-15T20:06:56.655+00:00');
INSERT INTO "documents" VALUES(4,'d4','{"text":"é"}','{}','[]','2026-11-15T20:06:56.656+00:00');
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  what TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}'
);
INSERT INTO "events" VALUES(1,'2026-11-15T20:06:56.644+00:00','eve','created','{"name":"old shelf"}');
CREATE TABLE impressions (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  query TEXT NOT NULL,
  ranker TEXT NOT NULL,
  generation INTEGER NOT NULL,
  shown TEXT NOT NULL
);
INSERT INTO "impressions" VALUES(1,'2026-11-15T20:06:56.665+00:00','eve','wax','bm25',0,'[["d1",2.0],["d2",1.5]]');
CREATE TABLE judgments (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  document TEXT REFERENCES documents (id),
  act TEXT NOT NULL,
  category INTEGER REFERENCES categories (number),
  other INTEGER REFERENCES categories (number),
  grade REAL,
  model TEXT NOT NULL DEFAULT '',
  rank INTEGER,
  score REAL,
  note TEXT NOT NULL DEFAULT '',
  undoes INTEGER REFERENCES judgments (seq),
  within INTEGER REFERENCES judgments (seq),
  changes TEXT
);
INSERT INTO "judgments" VALUES(1,'2026-11-15T20:06:56.654+00:00','import',NULL,'import',NULL,NULL,NULL,'',NULL,NULL,'',NULL,NULL,'{"1":{"id":["","life"],"label":["","Life"],"stands":[0,1]},"2":{"id":["","bees"],"label":["","Bees"],"note":["","Honey."],"synonyms":["[]","[\"apis\"]"],"parents":["[]","[1]"],"notation":["","638"],"stands":[0,1]},"3":{"id":["","wasps"],"parents":["[]","[1]"],"stands":[0,1]},"4":{"id":["","hornets"],"parents":["[]","[3]"],"stands":[0,1]}}');
INSERT INTO "judgments" VALUES(2,'2026-11-15T20:06:56.656+00:00','eve','d1','assign',3,NULL,1.0,'',NULL,NULL,'sure',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(3,'2026-11-15T20:06:56.656+00:00','eve','d1','primary',2,NULL,2.0,'',NULL,NULL,'sure',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(4,'2026-11-15T20:06:56.657+00:00','eve','d2','assign',4,NULL,1.0,'',NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(5,'2026-11-15T20:06:56.657+00:00','eve','d2','prefer',4,2,1.0,'',NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(6,'2026-11-15T20:06:56.657+00:00','eve','d2','assign',1,NULL,1.0,'',NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(7,'2026-11-15T20:06:56.658+00:00','eve','d2','undo',1,NULL,NULL,'',NULL,NULL,'',6,NULL,NULL);
INSERT INTO "judgments" VALUES(8,'2026-11-15T20:06:56.658+00:00','eve','d3','reject',2,NULL,NULL,'',NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(9,'2026-11-15T20:06:56.658+00:00','eve','d3','unsure',3,NULL,NULL,'',NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(10,'2026-11-15T20:06:56.659+00:00','eve','d4','unsure',NULL,NULL,NULL,'',NULL,NULL,'',NULL,NULL,NULL);
INSERT INTO "judgments" VALUES(11,'2026-11-15T20:06:56.660+00:00','eve',NULL,'rename',2,NULL,NULL,'',NULL,NULL,'',NULL,NULL,'{"2":{"id":["bees","apis"],"label":["Bees","Honey bees"]}}');
INSERT INTO "judgments" VALUES(12,'2026-11-15T20:06:56.662+00:00','eve',NULL,'merge',4,3,NULL,'',NULL,NULL,'',NULL,NULL,'{"4":{"stands":[1,0],"joined":[null,3]}}');
INSERT INTO "judgments" VALUES(13,'2026-11-15T20:06:56.662+00:00','eve','d2','assign',3,NULL,1.0,'',NULL,NULL,'',NULL,12,NULL);
INSERT INTO "judgments" VALUES(14,'2026-11-15T20:06:56.662+00:00','eve','d2','prefer',3,2,1.0,'',NULL,NULL,'',NULL,12,NULL);
INSERT INTO "judgments" VALUES(15,'2026-11-15T20:06:56.663+00:00','eve',NULL,'retire',1,NULL,NULL,'',NULL,NULL,'',NULL,NULL,'{"1":{"status":["active","deprecated"]}}');
CREATE TABLE lessons (
  seq INTEGER PRIMARY KEY REFERENCES judgments (seq),
  revisits INTEGER NOT NULL
);
INSERT INTO "lessons" VALUES(3,4);
CREATE TABLE marks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at TEXT NOT NULL,
  who TEXT NOT NULL,
  search INTEGER NOT NULL REFERENCES searches (number),
  document TEXT NOT NULL REFERENCES documents (id),
  act TEXT NOT NULL CHECK (act IN ('example', 'yes', 'no', 'skip', 'undo')),
  undoes INTEGER REFERENCES marks (seq) CHECK ((undoes IS NULL) = (act <> 'undo')),
  origin TEXT NOT NULL CHECK (origin IN ('given', 'likely', 'random')),
  rank INTEGER,
  score REAL,
  step INTEGER NOT NULL
);
INSERT INTO "marks" VALUES(1,'2026-11-15T20:06:56.664+00:00','eve',1,'d1','example',NULL,'given',NULL,NULL,1);
INSERT INTO "marks" VALUES(2,'2026-11-15T20:06:56.664+00:00','eve',1,'d2','yes',NULL,'likely',1,0.5,1);
INSERT INTO "marks" VALUES(3,'2026-11-15T20:06:56.664+00:00','eve',1,'d3','no',NULL,'random',2,0.25,3);
INSERT INTO "marks" VALUES(4,'2026-11-15T20:06:56.665+00:00','eve',1,'d3','undo',3,'random',2,0.25,4);
CREATE TABLE searches (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  created TEXT NOT NULL,
  who TEXT NOT NULL,
  settings TEXT NOT NULL DEFAULT '{}'
);
INSERT INTO "searches" VALUES(1,'nests','2026-11-15T20:06:56.663+00:00','eve','{"kind":"like"}');
CREATE TABLE texts (
  seq INTEGER PRIMARY KEY REFERENCES judgments (seq),
  fields TEXT NOT NULL,
  meta TEXT NOT NULL,
  links TEXT NOT NULL
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
INSERT INTO "tokens" VALUES('99e80f89','eve','reader','39342985a21120f2d563f41b2f7a93953965ef313e400ce4c9b6d7fa243df1e1','','2026-11-18T02:58:24.487+00:00',NULL,NULL);
CREATE TABLE undone (seq INTEGER PRIMARY KEY REFERENCES judgments (seq));
INSERT INTO "undone" VALUES(6);
CREATE TABLE users (
  name TEXT PRIMARY KEY,
  password TEXT NOT NULL,
  role TEXT NOT NULL CHECK (role IN ('reader', 'classifier', 'admin')),
  added TEXT NOT NULL,
  disabled INTEGER NOT NULL DEFAULT 0
);
INSERT INTO "users" VALUES('eve','$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$aGFzaA','classifier','2026-11-18T02:58:24.487+00:00',0);
CREATE UNIQUE INDEX categories_by_id ON categories (id) WHERE stands = 1;
CREATE INDEX judgments_by_pair ON judgments (document, category, seq);
CREATE INDEX judgments_by_category ON judgments (category, document);
CREATE INDEX judgments_undone ON judgments (undoes) WHERE undoes IS NOT NULL;
CREATE INDEX judgments_within ON judgments (within) WHERE within IS NOT NULL;
CREATE INDEX judgments_on_categories ON judgments (seq) WHERE changes IS NOT NULL;
CREATE INDEX judgments_aside ON judgments (document)
  WHERE act = 'unsure' AND category IS NULL;
CREATE TRIGGER judgments_are_kept BEFORE DELETE ON judgments
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE TRIGGER judgments_do_not_change BEFORE UPDATE ON judgments
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE TRIGGER lessons_are_kept BEFORE DELETE ON lessons
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE TRIGGER lessons_do_not_change BEFORE UPDATE ON lessons
  BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE INDEX marks_by_search ON marks (search, seq);
CREATE INDEX marks_by_document ON marks (search, document, seq);
CREATE INDEX marks_undone ON marks (undoes) WHERE undoes IS NOT NULL;
CREATE TRIGGER marks_are_kept BEFORE DELETE ON marks
  BEGIN SELECT RAISE (ABORT, 'the log of marks is append-only'); END;
CREATE TRIGGER marks_do_not_change BEFORE UPDATE ON marks
  BEGIN SELECT RAISE (ABORT, 'the log of marks is append-only'); END;
CREATE INDEX clicks_by_impression ON clicks (impression, position);
CREATE TRIGGER impressions_are_kept BEFORE DELETE ON impressions
  BEGIN SELECT RAISE (ABORT, 'the log of impressions is append-only'); END;
CREATE TRIGGER impressions_do_not_change BEFORE UPDATE ON impressions
  BEGIN SELECT RAISE (ABORT, 'the log of impressions is append-only'); END;
CREATE TRIGGER clicks_are_kept BEFORE DELETE ON clicks
  BEGIN SELECT RAISE (ABORT, 'the log of clicks is append-only'); END;
CREATE TRIGGER clicks_do_not_change BEFORE UPDATE ON clicks
  BEGIN SELECT RAISE (ABORT, 'the log of clicks is append-only'); END;
CREATE INDEX judgments_by_document ON judgments (document, seq);
CREATE INDEX judgments_by_person ON judgments (who, seq);
CREATE TRIGGER texts_are_kept BEFORE DELETE ON texts BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
CREATE TRIGGER texts_do_not_change BEFORE UPDATE ON texts BEGIN SELECT RAISE (ABORT, 'the judgment log is append-only'); END;
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
        PARTITION BY document, min(coalesce(category, 0), coalesce(other, 0)),
          max(coalesce(category, 0), coalesce(other, 0))
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
      AND (SELECT count(*) FROM marks AS u WHERE u.undoes = m.seq) % 2 = 0) AS made
  WHERE age = 1;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('judgments',15);
INSERT INTO "sqlite_sequence" VALUES('events',1);
INSERT INTO "sqlite_sequence" VALUES('marks',4);
INSERT INTO "sqlite_sequence" VALUES('impressions',1);
INSERT INTO "sqlite_sequence" VALUES('clicks',1);
COMMIT;
PRAGMA application_id = 1131171179;
PRAGMA user_version = 8;
