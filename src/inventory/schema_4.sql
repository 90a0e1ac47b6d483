-- The images that the components of a push run: a line `MODULE COMPONENT REPOSITORY@DIGEST` each,
-- by content, as accepted files are kept.
CREATE TABLE push_images (
  push INTEGER PRIMARY KEY REFERENCES push (number),
  hash TEXT NOT NULL REFERENCES blob (hash)
) STRICT;

-- The machines: which of the declared nodes were invited or have joined, and what they were told.
CREATE TABLE node (
  name     TEXT PRIMARY KEY,
  key      BLOB CHECK (length(key) = 32),  -- NULL: invited, and has not joined yet
  joined   TEXT,     -- RFC 3339 in UTC
  expires  INTEGER,  -- of its invitation, seconds since 1970; NULL: there is none
  declared INTEGER NOT NULL DEFAULT 0,   -- number of its last declaration
  content  TEXT NOT NULL DEFAULT '',     -- digest of what that said
  platform TEXT NOT NULL DEFAULT ''      -- `linux/amd64`, as it reports; empty: not known
) STRICT, WITHOUT ROWID;
