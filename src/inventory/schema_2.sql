-- What the mesh's registry holds: the ledger of images that were verified, and the manifests' bytes, which
-- can be put into another repository without asking whom they came from. All of it can be found out again.

-- Bytes of manifests and indexes, each once.
CREATE TABLE manifest (
  digest     TEXT PRIMARY KEY,  -- of the bytes: `sha256:…`
  media_type TEXT NOT NULL,     -- the one to put them with
  bytes      BLOB NOT NULL
) STRICT;

CREATE TABLE image (
  digest     TEXT PRIMARY KEY,  -- of its index or manifest
  media_type TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- All that an image consists of, its own manifest included, in the order in which it can be put.
CREATE TABLE image_member (
  image    TEXT NOT NULL REFERENCES image (digest) ON DELETE CASCADE,
  position INTEGER NOT NULL,
  digest   TEXT NOT NULL,
  size     INTEGER NOT NULL CHECK (size >= 0),
  kind     TEXT NOT NULL CHECK (kind IN ('blob', 'manifest')),
  PRIMARY KEY (image, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX image_member_digest ON image_member (digest);

-- Where an image was, all of it, when it was last verified.
CREATE TABLE holding (
  registry   TEXT NOT NULL,  -- HOST[:PORT]
  repository TEXT NOT NULL,
  image      TEXT NOT NULL REFERENCES image (digest),
  verified   TEXT NOT NULL,
  PRIMARY KEY (registry, repository, image)
) STRICT, WITHOUT ROWID;
CREATE INDEX holding_image ON holding (image);
