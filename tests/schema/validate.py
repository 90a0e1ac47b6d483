#!/usr/bin/env python3
"""The published JSON Schemas agree with what `mesh check` says.

Every example and every golden case without an error must validate; the files of the cases below,
which hold one wrong thing after the other, must not.
"""
import json
import pathlib
import sys
import tomllib

import jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Golden cases whose every module.toml or mesh.toml breaks the schema, not only the checks across files.
REFUSED = {
    "bad-values": ["mesh.toml", "a/module.toml"],
    "components": ["a/module.toml", "b/module.toml"],
    "names": ["mesh.toml", "shop/module.toml"],
    "reserved-nodes": ["mesh.toml"],
    "unknown-keys": ["mesh.toml", "a/module.toml"],
    "unquoted-names": ["mesh.toml", "a/module.toml"],
    "wrong-types": ["mesh.toml", "b/module.toml", "c/module.toml"],
}


def validators():
    out = {}
    for name in ("mesh", "module"):
        schema = json.loads((ROOT / f"docs/schema/{name}.schema.json").read_text())
        jsonschema.Draft7Validator.check_schema(schema)
        out[name + ".toml"] = jsonschema.Draft7Validator(schema)
    return out


def golden(path):
    files, name = {}, None
    for line in path.read_text().splitlines(keepends=True):
        if line.startswith("--- "):
            name = line[4:].strip()
            files[name] = ""
        elif name:
            files[name] += line
    return files


def problems(check, path, text):
    validator = check[pathlib.PurePath(path).name]
    return [f"{'/'.join(map(str, e.absolute_path))}: {e.message}"
            for e in validator.iter_errors(tomllib.loads(text))]


def main():
    check = validators()
    failures, seen = [], 0
    for path in sorted((ROOT / "examples").rglob("*.toml")):
        if path.name in check and "node_modules" not in path.parts:
            seen += 1
            failures += [f"{path}: {p}" for p in problems(check, path.name, path.read_text())]
    for path in sorted((ROOT / "tests/golden/check").glob("*.txt")):
        files = golden(path)
        accepted = ": error: " not in files.pop("problems")
        for name, text in files.items():
            if pathlib.PurePath(name).name not in check:
                continue
            if accepted:
                seen += 1
                failures += [f"{path.name} {name}: {p}" for p in problems(check, name, text)]
            elif name in REFUSED.get(path.stem, []):
                seen += 1
                if not problems(check, name, text):
                    failures.append(f"{path.name} {name}: the schema accepts it, mesh check does not")
    print("\n".join(failures) or f"{seen} files agree")
    return 1 if failures or seen < 15 else 0


if __name__ == "__main__":
    sys.exit(main())
