CREATE TABLE IF NOT EXISTS records (
	hash      TEXT PRIMARY KEY, -- of caller, operation and key
	caller    TEXT NOT NULL,    -- '' of a tombstone
	operation TEXT NOT NULL,
	opkey     TEXT NOT NULL,    -- '' of a tombstone
	state     TEXT NOT NULL,
	created   INTEGER NOT NULL, -- this and all times: ns since 1970, 0 is none
	expires   INTEGER NOT NULL,
	lease     INTEGER NOT NULL,
	epoch     INTEGER NOT NULL,
	revision  INTEGER NOT NULL,
	tombstone INTEGER NOT NULL,
	body      BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS records_by_caller ON records (caller, opkey);
CREATE INDEX IF NOT EXISTS records_by_age ON records (created, hash);
CREATE INDEX IF NOT EXISTS records_by_end ON records (expires) WHERE expires > 0;
CREATE TABLE IF NOT EXISTS parcels (
	id      TEXT PRIMARY KEY,
	caller  TEXT NOT NULL,
	expires INTEGER NOT NULL,
	data    BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS clock (
	id   INTEGER PRIMARY KEY CHECK (id = 1),
	told INTEGER NOT NULL -- the largest time that any write named
);
