#!/usr/bin/env python3
"""Runs clang-tidy-19 over the project's sources, several at once.

usage: tidy.py BUILD_DIR JOBS [FILE…]

A file whose text, whose headers and whose configuration are what they were when it was last clean is
not read again: BUILD_DIR/tidy.json keeps a digest for each.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def digest_of_headers():
    """All headers and configurations together: a change in one makes every file dirty."""
    total = hashlib.sha256()
    for name in subprocess.run(["git", "ls-files", "*.h", "*.clang-tidy", ".clang-tidy"], cwd=ROOT,
                               capture_output=True, text=True, check=True).stdout.splitlines():
        total.update((ROOT / name).read_bytes())
    return total.hexdigest()


def tidy(build, path):
    run = subprocess.run(["clang-tidy-19", "-p", str(build), "--quiet", str(path)], cwd=ROOT,
                         capture_output=True, text=True)
    return path, run.returncode, run.stdout, run.stderr


def main():
    build, jobs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    wanted = [pathlib.Path(name).resolve() for name in sys.argv[3:]]
    known = {pathlib.Path(entry["file"]).resolve()
             for entry in json.loads((build / "compile_commands.json").read_text())}
    sources = sorted(path for path in known if path.is_relative_to(ROOT) and
                     not path.is_relative_to(ROOT / "build") and (not wanted or path in wanted))
    memory = build / "tidy.json"
    clean = json.loads(memory.read_text()) if memory.exists() else {}
    headers = digest_of_headers()
    digest = {path: hashlib.sha256(path.read_bytes() + headers.encode()).hexdigest() for path in sources}
    todo = [path for path in sources if clean.get(str(path.relative_to(ROOT))) != digest[path]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, code, out, err in pool.map(lambda path: tidy(build, path), todo):
            if code == 0:
                clean[str(path.relative_to(ROOT))] = digest[path]
                continue
            failed += 1
            print(out.strip() or err.strip(), flush=True)
    memory.write_text(json.dumps(clean, indent=0, sort_keys=True))
    print(f"clang-tidy: {len(sources)} files, {len(todo)} read, {failed} with findings")
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
