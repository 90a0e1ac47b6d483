#!/usr/bin/env python3
"""Runs clang-tidy-19 over the project's sources, several at once.

usage: tidy.py BUILD_DIR JOBS [FILE…]

What is read is the unity build's files, each of which includes ten sources: most of the time goes to
the libraries' headers. With FILEs, only what includes those is read. A unity file whose sources,
headers and configuration are what they were when it was last clean is not read again:
BUILD_DIR/tidy.json keeps a digest for each.
"""

import concurrent.futures
import hashlib
import json
import pathlib
import re
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


def sources_of(unity):
    """The sources that a unity file includes."""
    return [pathlib.Path(name) for name in re.findall(r'#include "(.*)"', unity.read_text())]


def tidy(build, path):
    # What ends in .cc is included on purpose here.
    run = subprocess.run(["clang-tidy-19", "-p", str(build), "--quiet", "--checks=-bugprone-suspicious-include",
                          str(path)], cwd=ROOT, capture_output=True, text=True)
    return path, run.returncode, run.stdout, run.stderr


def main():
    build, jobs = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2])
    wanted = {pathlib.Path(name).resolve() for name in sys.argv[3:]}
    known = {pathlib.Path(entry["file"]) for entry in json.loads((build / "compile_commands.json").read_text())}
    sources = {path: sources_of(path) for path in sorted(known) if path.match("unity_*")}
    sources = {path: files for path, files in sources.items() if not wanted or wanted & set(files)}
    memory = build / "tidy.json"
    clean = json.loads(memory.read_text()) if memory.exists() else {}
    headers = digest_of_headers()
    digest = {str(path): hashlib.sha256(b"".join(file.read_bytes() for file in files) + headers.encode()).hexdigest()
              for path, files in sources.items()}
    todo = [path for path in sources if clean.get(str(path)) != digest[str(path)]]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for path, code, out, err in pool.map(lambda path: tidy(build, path), todo):
            if code == 0:
                clean[str(path)] = digest[str(path)]
                continue
            failed += 1
            print(out.strip() or err.strip(), flush=True)
    memory.write_text(json.dumps(clean, indent=0, sort_keys=True))
    files = sum(len(included) for included in sources.values())
    print(f"clang-tidy: {files} files in {len(sources)}, {len(todo)} read, {failed} with findings")
    return 1 if failed or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
