-- The inventory's first schema. Every table is STRICT: SQLite keeps a column to its type. A schema that
-- was released is never edited; the next one is a file of its own.

-- Which Mesh wrote the schema that is in force. This table is the same in every version, so that an
-- older Mesh can say which one to use.
CREATE TABLE writer (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  version TEXT NOT NULL
) STRICT;

-- One row: an inventory belongs to one mesh.
CREATE TABLE identity (
  one          INTEGER PRIMARY KEY CHECK (one = 1),
  mesh_id      TEXT NOT NULL,
  name         TEXT NOT NULL,
  signing_key  BLOB NOT NULL CHECK (length(signing_key) = 32),   -- public
  recovery_key BLOB NOT NULL CHECK (length(recovery_key) = 32),  -- public; the private half is not kept
  created      TEXT NOT NULL,
  key_check    BLOB NOT NULL  -- a known text, sealed: tells another key file before anything is opened
) STRICT;

-- Numbers are never used twice, so a push that was given up keeps its row.
CREATE TABLE push (
  number INTEGER PRIMARY KEY CHECK (number > 0),
  time   TEXT NOT NULL,  -- when it was intended, RFC 3339 in UTC
  by     TEXT NOT NULL,  -- user@host, as the caller says: a note, no proof
  verb   TEXT NOT NULL,
  digest TEXT NOT NULL,  -- of the plan that it carries out
  state  TEXT NOT NULL CHECK (state IN ('intended', 'recorded', 'given-up'))
) STRICT;

-- Bytes of accepted files, each once however many pushes hold it.
CREATE TABLE blob (
  hash  TEXT PRIMARY KEY,  -- SHA-256, 64 hexadecimal digits
  bytes BLOB NOT NULL
) STRICT;

-- What a push changed in the accepted files against the recorded push before it: ten thousand files
-- and a thousand pushes must not make ten million rows. The files of a push are, for each path, its
-- latest change among the recorded pushes up to it.
CREATE TABLE file_change (
  path TEXT NOT NULL,
  push INTEGER NOT NULL REFERENCES push (number),
  hash TEXT REFERENCES blob (hash),  -- NULL: the push no longer has the file
  PRIMARY KEY (path, push)
) STRICT, WITHOUT ROWID;
CREATE INDEX file_change_push ON file_change (push);
CREATE INDEX file_change_hash ON file_change (hash);

CREATE TABLE credential (
  principal TEXT PRIMARY KEY,
  hash      TEXT NOT NULL,  -- bcrypt; it stands in the bus configuration too
  sealed    BLOB NOT NULL,
  issued    TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE module_key (
  module TEXT PRIMARY KEY,
  sealed BLOB NOT NULL,  -- 32 bytes, sealed
  made   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE secret (
  module TEXT NOT NULL,  -- '' is the whole mesh (NULL would not be unique in a key)
  name   TEXT NOT NULL,
  bytes  INTEGER NOT NULL CHECK (bytes BETWEEN 0 AND 65536),  -- of the value, shown by `secret list`
  sealed BLOB NOT NULL,
  set_at TEXT NOT NULL,
  PRIMARY KEY (module, name)
) STRICT, WITHOUT ROWID;

-- Small facts of the controller that can be found out again.
CREATE TABLE note (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
