CREATE TABLE IF NOT EXISTS spillway_records (
	hash      text COLLATE "C" PRIMARY KEY,
	caller    text NOT NULL,
	operation text NOT NULL,
	opkey     text NOT NULL,
	state     text NOT NULL,
	created   bigint NOT NULL, -- this and all times: ns since 1970, 0 is none
	expires   bigint NOT NULL,
	lease     bigint NOT NULL,
	epoch     bigint NOT NULL,
	revision  bigint NOT NULL,
	tombstone integer NOT NULL,
	body      bytea NOT NULL
);
CREATE INDEX IF NOT EXISTS spillway_records_by_caller ON spillway_records (caller, opkey);
CREATE INDEX IF NOT EXISTS spillway_records_by_age ON spillway_records (created, hash);
CREATE INDEX IF NOT EXISTS spillway_records_by_end ON spillway_records (expires) WHERE expires > 0;
CREATE TABLE IF NOT EXISTS spillway_parcels (
	id      text COLLATE "C" PRIMARY KEY,
	caller  text NOT NULL,
	expires bigint NOT NULL,
	data    bytea NOT NULL
);
