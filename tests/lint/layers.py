#!/usr/bin/env python3
"""Who may include whom, and what the pure rooms may not touch.

The allowed edges are the USES of each mesh_room() in CMakeLists.txt. An include that is not allowed,
an allowed edge that nothing uses, a pure room that includes the world, and a source that holds more
than one idea by its size are findings. Exit 1 when there is one.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PURE = {"base", "model", "natsconf", "broker", "plan", "oci", "containerfile", "secrets",
        "declaration", "converge"}
# What reaches the world: files, time, randomness, environment, threads, the network.
WORLD = re.compile(
    r"#include <(fstream|filesystem|random|thread|mutex|iostream|unistd\.h|fcntl\.h|sys/[^>]+|"
    r"netinet/[^>]+|nats[^>]*|sqlite3\.h)>|\bclock::now\(|\bgetenv\(|\brandombytes_buf\(|\bstd::locale\b"
)
MOST_LINES = 500


def rooms():
    """room -> the rooms it may include, as CMakeLists.txt says."""
    text = (ROOT / "CMakeLists.txt").read_text()
    found = {}
    for name, rest in re.findall(r"^mesh_room\((\w+)([^)]*)\)", text, re.M):
        uses = re.search(r"USES((?:\s+(?!LIBS)\w+)*)", rest)
        found[name] = set(uses.group(1).split()) if uses else set()
    return found


def reachable(allowed, room):
    """Every room that `room` may include: those it names, and theirs."""
    seen, todo = set(), list(allowed[room])
    while todo:
        other = todo.pop()
        if other not in seen:
            seen.add(other)
            todo += allowed.get(other, ())
    return seen


def main():
    allowed = rooms()
    findings = []
    for room in sorted(allowed):
        used = set()
        for path in sorted((ROOT / "src" / room).glob("*.[ch]*")):
            text = path.read_text()
            name = path.relative_to(ROOT)
            is_test = path.name.endswith("_test.cc")
            if text.count("\n") > MOST_LINES:
                findings.append(f"{name}: {text.count(chr(10))} lines, more than {MOST_LINES}")
            for other in re.findall(r'#include "(\w+)/', text):
                if other == room or other == "tests":
                    continue
                used.add(other)
                if not is_test and other in allowed and other not in reachable(allowed, room):
                    findings.append(f"{name}: {room} may not include {other}")
            if room in PURE and not is_test:
                for number, line in enumerate(text.splitlines(), 1):
                    if WORLD.search(line) and not line.lstrip().startswith("//"):
                        findings.append(f"{name}:{number}: a pure room reaches the world: {line.strip()}")
        files = list((ROOT / "src" / room).glob("*.cc"))
        if files:
            for edge in sorted(allowed[room] - used):
                findings.append(f"CMakeLists.txt: {room} says that it uses {edge} and does not")
    for line in findings:
        print(line)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
