"""Copying images from one registry to another: `mesh mirror` against Debian's skopeo, and crane where it
can be had. Both registries are docker-registry; tools run in turns, each on an emptied destination."""

import hashlib
import os
import pathlib
import re
import select
import shutil
import statistics
import subprocess
import tempfile
import time

import images

BIG = ("amd64", "arm64", "riscv64"), [n * images.MB for n in (1, 2, 4, 8, 14, 20)]
BASE = ("amd64", "arm64"), [n * images.MB for n in (2, 4, 8, 12)]


def find(name, tools):
    made = tools / name
    return str(made) if made.exists() else shutil.which(name)


def timed(commands, cwd=None):
    """Wall seconds, CPU seconds and peak memory (bytes) of commands run one after the other."""
    start, cpu, peak = time.monotonic(), 0.0, 0
    for command in commands:
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen([str(word) for word in command], cwd=cwd, stdout=subprocess.DEVNULL,
                                       stderr=said)
            peak = max(peak, watch_memory(process))
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode != 0:
                said.seek(0)
                raise SystemExit(f"{command}: exit {process.returncode}\n{said.read()[-2000:].decode(errors='replace')}")
        cpu += usage.ru_utime + usage.ru_stime
    return {"wall": time.monotonic() - start, "cpu": cpu, "memory": peak}


def watch_memory(process):
    """The high-water mark of the process's memory, read until it ends. (The ru_maxrss of a child begins
    with what this process had when it made it.)"""
    peak = 0
    ended = os.pidfd_open(process.pid)
    try:
        while not select.select([ended], [], [], 0.002)[0]:
            text = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            found = re.search(r"VmHWM:\s+(\d+)", text)
            peak = max(peak, int(found.group(1)) * 1024 if found else 0)
    finally:
        os.close(ended)
    return peak


class Copiers:
    """The tools, each as the commands that copy pairs of a source and a repository."""

    def __init__(self, mesh, tools, folder, source, target):
        self.mesh, self.folder, self.source, self.target = mesh, folder, source, target
        self.skopeo = find("skopeo", tools)
        self.crane = find("crane", tools)
        self.home = folder / "home"
        self.fresh = folder / "fresh"
        self.fresh.mkdir(parents=True)
        (self.fresh / "mesh.toml").write_text(
            f'mesh = "bench"\n[registry]\nserver = "external"\nadvertise = "{target.host}"\ninsecure = true\n'
            f'[upstreams."{source.host}"]\ninsecure = true\n[nodes.one]\n')
        subprocess.run([str(mesh), "init"], cwd=self.fresh, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def names(self):
        return [name for name in ("mesh", "skopeo", "crane") if name == "mesh" or getattr(self, name)]

    def prepare(self):
        """Nothing held: an empty destination and a state of Mesh that knows of nothing."""
        self.target.wipe()
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.copytree(self.fresh, self.home)
        shutil.rmtree(pathlib.Path.home() / ".local/share/containers/cache", ignore_errors=True)
        self.source.forget_requests()

    def run(self, tool, pairs):
        for registry in (self.source, self.target):
            registry.forget_requests()
        found = timed(getattr(self, f"{tool}_commands")(pairs), cwd=self.home)
        found["source"], found["bytes"] = self.source.requests()
        found["target"], _ = self.target.requests()
        return found

    def mesh_commands(self, pairs):
        listed = self.home / "pairs"
        listed.write_text("".join(f"{source} {repository}\n" for source, repository in pairs))
        return [[self.mesh, "mirror", "--from", listed]]

    def skopeo_commands(self, pairs):
        return [[self.skopeo, "copy", "--quiet", "--all", "--preserve-digests", "--src-tls-verify=false",
                 "--dest-tls-verify=false", f"docker://{source}", f"docker://{self.target.host}/{repository}:v1"]
                for source, repository in pairs]

    def crane_commands(self, pairs):
        return [[self.crane, "copy", "--insecure", source, f"{self.target.host}/{repository}:v1"]
                for source, repository in pairs]


def medians(runs):
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def floor(folder, source):
    """Seconds for every blob of `source` read, hashed and written once, in one process."""
    blobs = sorted((source.folder / "data").glob("docker/registry/v2/blobs/sha256/*/*/data"))
    start = time.monotonic()
    for blob in blobs:
        with open(blob, "rb") as read, open(folder / "copy", "wb") as written:
            digest = hashlib.sha256()
            while piece := read.read(1 << 20):
                digest.update(piece)
                written.write(piece)
    return time.monotonic() - start


def row(what, unit, mesh, against, other, limit=None):
    return {"what": what, "unit": unit, "mesh": mesh, "against": against, "other": other,
            "ratio": mesh / other if other else mesh, "limit": limit}


def one_image(copiers, folder, rounds):
    digest, size = images.put_image(copiers.source, "big", *BIG, seed=1)
    pair = [(f"{copiers.source.host}/big@{digest}", "bases/big")]
    runs = {tool: [] for tool in copiers.names()}
    for _ in range(rounds):
        for tool, found in runs.items():
            copiers.prepare()
            found.append(copiers.run(tool, pair))
    start = max(timed([[copiers.mesh, "--version"]])["memory"] for _ in range(5))
    ours = medians(runs["mesh"])
    what = f"one image of 3 platforms, {size / 1e6:.0f} MB, cold"
    rows = [row(f"{what}: requests to the source", "1", ours["source"], "the fewest possible", 25, 1.0),
            row(f"{what}: requests to the registry", "1", ours["target"], "the fewest possible", 46, 1.0),
            row(f"{what}: peak memory above the start", "B", ours["memory"] - start, "32 MiB", 32 << 20, 1.0),
            row(f"{what}: wall", "s", ours["wall"], "the same bytes read, hashed and written once",
                statistics.median(floor(folder, copiers.source) for _ in range(3)))]
    limits = {"skopeo": (0.75, 0.45), "crane": (0.95, 0.85)}
    for tool in runs.keys() - {"mesh"}:
        theirs = medians(runs[tool])
        rows.append(row(f"{what}: wall", "s", ours["wall"], tool, theirs["wall"], limits[tool][0]))
        rows.append(row(f"{what}: CPU of the client", "s", ours["cpu"], tool, theirs["cpu"], limits[tool][1]))
    return rows


def catalogue(copiers, rounds):
    """3 bases, each mirrored under 10 modules' repositories: cold, then held."""
    digests = [images.put_image(copiers.source, f"base{n}", *BASE, seed=10 + n) for n in range(3)]
    size = sum(total for _, total in digests)
    pairs = [(f"{copiers.source.host}/base{n % 3}@{digests[n % 3][0]}", f"modules/m{n:02}") for n in range(30)]
    cold, held = {tool: [] for tool in copiers.names()}, []
    for _ in range(rounds):
        for tool, found in cold.items():
            copiers.prepare()
            found.append(copiers.run(tool, pairs))
            if tool == "mesh":
                held.append(copiers.run(tool, pairs))
    ours, again = medians(cold["mesh"]), medians(held)
    best = min((medians(found)["wall"], tool) for tool, found in cold.items() if tool != "mesh")
    what = "3 bases under 30 repositories"
    return [row(f"{what}, cold: speed", "1/s", 1 / ours["wall"], best[1], 1 / best[0], -2.2),
            row(f"{what}, cold: requests to the source", "1", ours["source"], "the fewest possible", 39, 1.0),
            row(f"{what}, cold: requests to the registry", "1", ours["target"], "of the fewest, 420", 440, 1.0),
            row(f"{what}, cold: bytes from the source", "B", ours["bytes"], "the distinct bytes", size, 1.01),
            row(f"{what}, held: requests to the source", "1", again["source"], "none", 0, 0.0),
            row(f"{what}, held: requests to the registry", "1", again["target"], "one for each", 30, 1.0),
            row(f"{what}, held: wall", "s", again["wall"], "0.15 s", 0.15, 1.0)]


def bench_copy(mesh, tools, folder, free_port, quick):
    program = find("docker-registry", tools)
    if not program:
        raise SystemExit("docker-registry is not installed")
    source = images.Registry(program, folder / "source", free_port())
    target = images.Registry(program, folder / "target", free_port())
    try:
        copiers = Copiers(mesh, tools, folder, source, target)
        return one_image(copiers, folder, 3 if quick else 9) + catalogue(copiers, 1 if quick else 5)
    finally:
        source.stop()
        target.stop()
