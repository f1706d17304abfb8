-- The accounting is done by triggers, so that no path through the code can
-- change an entry and forget a counter.

-- bytes: the objects as stored, each once.
CREATE TABLE state (id INTEGER PRIMARY KEY CHECK (id = 1), bytes INTEGER NOT NULL);
INSERT INTO state VALUES (1, 0);

-- bytes: the objects a caller refers to, as stored.
CREATE TABLE callers (caller TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;

-- One original. hash is SHA-256 of its bytes; data is NULL if it is a file.
-- bad: a read found it damaged.
CREATE TABLE objects (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  stored INTEGER NOT NULL CHECK (stored > 0),
  refs INTEGER NOT NULL DEFAULT 0,
  bad INTEGER NOT NULL DEFAULT 0,
  data BLOB);

-- seq orders entries by their last Put: the smallest goes first.
CREATE TABLE entries (
  seq INTEGER PRIMARY KEY,
  caller TEXT NOT NULL,
  ref TEXT NOT NULL,
  canonical BLOB NOT NULL,
  object INTEGER NOT NULL REFERENCES objects (id),
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  keep TEXT NOT NULL,
  rows TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  UNIQUE (caller, ref));
CREATE INDEX entries_caller ON entries (caller);
CREATE INDEX entries_expires ON entries (expires);

-- Refs that expired or were evicted, oldest id first.
CREATE TABLE tombstones (
  id INTEGER PRIMARY KEY,
  caller TEXT NOT NULL,
  ref TEXT NOT NULL,
  canonical BLOB NOT NULL,
  tool TEXT NOT NULL,
  at INTEGER NOT NULL,
  UNIQUE (caller, ref));

-- Files without an object, to be deleted in a later transaction: deleting them
-- in the one that drops the object would lose them if it rolls back.
CREATE TABLE doomed (hash BLOB PRIMARY KEY) WITHOUT ROWID;

CREATE TRIGGER object_in AFTER INSERT ON objects BEGIN
  UPDATE state SET bytes = bytes + new.stored;
  DELETE FROM doomed WHERE hash = new.hash;
END;

CREATE TRIGGER object_out AFTER DELETE ON objects BEGIN
  UPDATE state SET bytes = bytes - old.stored;
  INSERT OR IGNORE INTO doomed SELECT old.hash WHERE old.data IS NULL;
END;

CREATE TRIGGER entry_in AFTER INSERT ON entries BEGIN
  UPDATE objects SET refs = refs + 1 WHERE id = new.object;
  INSERT INTO callers SELECT new.caller, stored FROM objects WHERE id = new.object
    ON CONFLICT (caller) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER entry_out AFTER DELETE ON entries BEGIN
  UPDATE callers SET bytes = bytes - (SELECT stored FROM objects WHERE id = old.object)
    WHERE caller = old.caller;
  DELETE FROM callers WHERE caller = old.caller AND bytes <= 0;
  UPDATE objects SET refs = refs - 1 WHERE id = old.object;
  DELETE FROM objects WHERE id = old.object AND refs = 0;
END;
