-- Images that `mesh build` built and pushed. What was built from the same inputs is not built again, so
-- earlier keys of a component stay: going back to older sources needs no build.
CREATE TABLE built (
  module    TEXT NOT NULL,
  component TEXT NOT NULL,
  key       TEXT NOT NULL,  -- over all inputs: 64 hexadecimal digits
  registry  TEXT NOT NULL,  -- HOST[:PORT]
  repository TEXT NOT NULL,
  digest    TEXT NOT NULL,  -- of the manifest, or of the index of several platforms
  platforms TEXT NOT NULL,  -- separated by commas
  time      TEXT NOT NULL,  -- RFC 3339 in UTC: built, or last found unchanged
  PRIMARY KEY (module, component, key, registry)
) STRICT, WITHOUT ROWID;
