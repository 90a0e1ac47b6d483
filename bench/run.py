#!/usr/bin/env python3
"""The benchmarks: each figure is a ratio between two things measured in the same run.

usage: bench/run.py [--quick] [--json FILE] [--only NAME]

Prints a table in Markdown and, with --json, writes every measured number. Servers listen on 127.0.0.1
and keep their stores in a temporary directory, in memory where /dev/shm allows it; every process is
ended by its id. `./dev bench` builds what this needs.
"""

import argparse
import contextlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import copying

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "bin"
SERVERS = {"2.10": ROOT / "build/tools/nats-2.10/nats-server",
           "newest": ROOT / "build/tools/nats-newest/nats-server"}
DEADLINE = 180  # seconds for anything that is waited for


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run(*command, **options):
    return subprocess.run([str(part) for part in command], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def timed(*command, cwd=None):
    """Wall seconds and peak memory (bytes) of one command that must succeed."""
    start = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], cwd=cwd, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command}: exit {process.returncode}")
    return time.monotonic() - start, usage.ru_maxrss * 1024


def best(measure, rounds):
    """The least wall time of `rounds` runs and the greatest memory."""
    results = [measure() for _ in range(rounds)]
    return min(result[0] for result in results), max(result[1] for result in results)


class Client:
    """A NATS client that connects, answers pings and waits."""

    def __init__(self, port, user, password):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE)
        self.lines = self.socket.makefile("rb")
        self.lines.readline()
        login = {"user": user, "pass": password, "verbose": False, "protocol": 1, "headers": True}
        self.socket.sendall(b"CONNECT " + json.dumps(login).encode() + b"\r\n")
        self.ping()

    def ping(self):
        """Raises where the server has closed the connection or refused the login."""
        self.socket.sendall(b"PING\r\n")
        while True:
            line = self.lines.readline()
            if line.startswith(b"PONG"):
                return
            if line.startswith(b"PING"):
                self.socket.sendall(b"PONG\r\n")
            elif not line.startswith(b"INFO"):
                raise OSError(line.decode() or "closed")

    def close(self):
        self.socket.close()


class Server:
    """nats-server on a configuration of bench_make's."""

    def __init__(self, program, folder, text):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=folder))
        self.port = free_port()
        self.config = self.folder / "nats.conf"
        self.log = self.folder / "log"
        self.write(text)
        start = time.monotonic()
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([str(program), "-c", str(self.config)], stdout=log, stderr=log)
        self.wait_for(b"Server is ready", 0)
        self.start_seconds = time.monotonic() - start

    def write(self, text):
        self.config.write_text(text.replace("@DIR@", str(self.folder)).replace("@PORT@", str(self.port)))

    def wait_for(self, words, offset):
        end = time.monotonic() + DEADLINE
        while words not in self.log.read_bytes()[offset:]:
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(self.log.read_text()[-2000:])
            time.sleep(0.001)

    def reload(self):
        """Seconds from the signal to the server's word that it is done."""
        offset = self.log.stat().st_size
        start = time.monotonic()
        self.process.send_signal(signal.SIGHUP)
        self.wait_for(b"Reloaded server configuration", offset)
        return time.monotonic() - start

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) * 1024

    def stop(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def make(folder, modules, nodes):
    target = folder / f"made-{modules}"
    if not target.exists():
        run(BIN / "bench_make", target, modules, nodes)
    return target


def bench_compose(folder, quick):
    """Check, grants and composition against reading the same files and writing the same bytes."""
    rows, seconds = [], {}
    sizes = (100, 1000) if quick else (1000, 10000)
    for modules in sizes:
        made = make(folder, modules, max(5, modules // 20))
        directory = made / "mesh"
        subprocess.run([BIN / "mesh", "bus-config"], cwd=directory, check=True,
                       stdout=open(made / "composed.conf", "wb"), stderr=subprocess.DEVNULL)
        size = (made / "composed.conf").stat().st_size
        mesh, memory = best(lambda: timed(BIN / "mesh", "bus-config", cwd=directory), 3)
        floor, _ = best(lambda: timed(BIN / "bench_floor", directory, made / "composed.conf",
                                      made / "floor.out"), 3)
        seconds[modules] = mesh
        rows.append({"what": f"check, grants and composition of {modules} modules", "unit": "s",
                     "mesh": mesh, "against": "parsing the same TOML, writing and hashing the same bytes",
                     "other": floor, "ratio": mesh / floor, "limit": 3.0})
    # The process alone takes some 16 MB: only the large mesh tells what a module costs.
    rows.append({"what": f"memory for {modules} modules", "unit": "B", "mesh": memory,
                 "against": "the output's size", "other": size, "ratio": memory / size, "limit": 10.0})
    small, large = sizes
    rows.append({"what": f"{large} modules", "unit": "s", "mesh": seconds[large],
                 "against": f"{small} modules", "other": seconds[small],
                 "ratio": seconds[large] / seconds[small], "limit": 12.0})
    return rows


def bench_raise(folder, quick):
    """Raising absent consumers against a bare pipelined loop; raising again by its requests."""
    rows = []
    modules = 500 if quick else 10000
    made = make(folder, modules, max(5, modules // 20))
    for version, program in SERVERS.items():
        directory = folder / f"raise-{version}"
        shutil.copytree(made / "mesh", directory, ignore=shutil.ignore_patterns(".mesh"))
        port = free_port()
        with open(directory / "mesh.toml", "a") as declared:
            declared.write(f'\n[bus]\nlisten = "127.0.0.1:{port}"\nprogram = "{program}"\n')
        with controller(directory):
            run(BIN / "mesh", "push", "--timeout", "10m", cwd=directory)
            # What the question itself asks is taken off: two questions, then two with a push between.
            counts = [bus_status(directory)["api_requests"] for _ in range(2)]
            start = time.monotonic()
            again = json.loads(run(BIN / "mesh", "push", "--json", "--timeout", "10m", cwd=directory))
            seconds = time.monotonic() - start
            status = bus_status(directory)
            counts.append(status["api_requests"])
            streams = status["streams"]
            requests = (counts[2] - counts[1]) - (counts[1] - counts[0])
            user, password = controller_login(directory)
            measured = json.loads(run(BIN / "bench_raise", f"nats://127.0.0.1:{port}", user, password,
                                      1 if quick else 3))
        ours = statistics.median(entry["mesh"] for entry in measured["rounds"])
        bare = statistics.median(entry["bare"] for entry in measured["rounds"])
        consumers = measured["consumers"]
        rows.append({"what": f"raising {consumers} absent consumers ({version})", "unit": "1/s", "mesh": ours,
                     "against": "a bare pipelined request loop", "other": bare, "ratio": ours / bare,
                     "limit": -0.8})
        allowed = consumers / 256 + 3 * streams
        rows.append({"what": f"raising again ({version}): requests, with {streams} streams", "unit": "1",
                     "mesh": requests, "against": "one for each 256 consumers, three for each stream",
                     "other": allowed, "ratio": requests / allowed, "limit": 1.0, "seconds": seconds})
        rows.append({"what": f"raising again ({version}): writes", "unit": "1", "mesh": again["writes"],
                     "against": "none", "other": 0, "ratio": again["writes"], "limit": 0.0})
    return rows


@contextlib.contextmanager
def controller(directory):
    """`mesh controller` in `directory`, once its bus answers; ended in order."""
    log = open(directory / "controller.log", "wb")
    process = subprocess.Popen([str(BIN / "mesh"), "controller"], cwd=directory, stdout=log, stderr=log)
    try:
        end = time.monotonic() + DEADLINE
        while not (directory / ".mesh/bus/server.json").exists():
            if time.monotonic() > end or process.poll() is not None:
                raise SystemExit((directory / "controller.log").read_text()[-2000:])
            time.sleep(0.01)
        yield process
    finally:
        # 2.15 needs about 11 ms for each consumer to stop: the bench does not wait for it.
        server = json.loads((directory / ".mesh/bus/server.json").read_text())["pid"]
        process.kill()
        process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)


def controller_login(directory):
    """The controller's user with a password of the bench's own: its line in the file in force is
    replaced, so that no secret is taken out of the mesh's state."""
    config = directory / ".mesh/bus/nats.conf"
    text = config.read_text()
    changed = re.sub(r'(user: "controller"\s+password: )"[^"]*"', r'\1"bench-password"', text)
    if changed == text:
        raise SystemExit("no user controller in the composed configuration")
    config.write_text(changed)
    server = json.loads((directory / ".mesh/bus/server.json").read_text())
    os.kill(server["pid"], signal.SIGHUP)
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            Client(server["port"], "controller", "bench-password").close()
            return "controller", "bench-password"
        time.sleep(0.05)
    raise SystemExit("the controller's user could not log in")


def bus_status(directory):
    return json.loads(run(BIN / "mesh", "status", "--json", cwd=directory))["bus"]


def bench_reload(folder, quick):
    """A reload with connected clients whose passwords are hashes, against plain ones."""
    rows = []
    clients = 20 if quick else 100
    made = make(folder, 1000, 50)
    for version, program in SERVERS.items():
        took, dropped = {}, 0
        for kind, file, password in (("hash", "accounts.bcrypt.conf", lambda user: "pw"),
                                     ("plain", "accounts.conf", lambda user: "pw-" + user)):
            text = (made / file).read_text()
            users = re.findall(r'user: "([^"]*\.[^"]*)"', text)
            users = [user for user in users if not user.startswith("controller")][:clients]
            server = Server(program, folder, text)
            try:
                connected = [Client(server.port, user, password(user)) for user in users]
                took[kind] = statistics.median(server.reload() for _ in range(5))
                for client in connected:
                    try:
                        client.ping()
                    except OSError:
                        dropped += 1
            finally:
                server.stop()
        rows.append({"what": f"reload with {len(users)} connected clients ({version})", "unit": "s",
                     "mesh": took["hash"], "against": "the same with plain passwords", "other": took["plain"],
                     "ratio": took["hash"] / took["plain"], "limit": 3.0})
        rows.append({"what": f"clients disconnected by it ({version})", "unit": "1", "mesh": dropped,
                     "against": "none", "other": 0, "ratio": dropped, "limit": 0.0})
    return rows


MEASURED = (("start", "s"), ("reload", "s"), ("memory at start", "B"), ("memory after a reload", "B"))


def bench_accounts(folder, quick):
    """Start, reload and memory of the server with an account for each module, against one account."""
    rows = []
    for version, program in SERVERS.items():
        starts = {}
        for modules in (100, 1000) if quick else (100, 1000, 5000, 10000):
            made = make(folder, modules, max(5, modules // 20))
            found = {}
            for layout in ("accounts", "one"):
                runs = []
                for _ in range(3):
                    server = Server(program, folder, (made / f"{layout}.conf").read_text())
                    try:
                        memory = server.memory()
                        server.write((made / f"{layout}.more.conf").read_text())
                        reload = server.reload()
                        runs.append((server.start_seconds, reload, memory, server.memory()))
                    finally:
                        server.stop()
                found[layout] = [statistics.median(column) for column in zip(*runs)]
            starts[modules] = found["accounts"]
            for index, (what, unit) in enumerate(MEASURED):
                ours, one = found["accounts"][index], found["one"][index]
                rows.append({"what": f"{what} with {modules} modules ({version})", "unit": unit, "mesh": ours,
                             "against": "the same users in one account", "other": one, "ratio": ours / one,
                             "limit": 6.0})
        sizes = sorted(starts)
        for index, (what, _) in enumerate(MEASURED):
            small, large = starts[sizes[-2]][index], starts[sizes[-1]][index]
            growth = sizes[-1] / sizes[-2]
            rows.append({"what": f"{what}: {sizes[-1]} modules ({version})", "unit": "",
                         "mesh": large, "against": f"{sizes[-2]} modules, times {growth:g}",
                         "other": small * growth, "ratio": large / (small * growth), "limit": 1.3})
    return rows


def bench_copy(folder, quick):
    """Images from one registry to another, against the tools that do nothing else."""
    return copying.bench_copy(BIN / "mesh", ROOT / "build/tools", folder / "copy", free_port, quick)


BENCHES = {"compose": bench_compose, "raise": bench_raise, "reload": bench_reload, "accounts": bench_accounts,
           "copy": bench_copy}


def human(value, unit):
    if unit == "B":
        return f"{value / 1e6:.1f} MB"
    if unit == "s":
        return f"{value:.3f} s"
    return f"{value:,.0f}" if value >= 10 else f"{value:.3g}"


def limit_text(limit):
    if limit is None:
        return "–"
    return f"≥ {-limit:g}" if limit < 0 else f"≤ {limit:g}"


def holds(row):
    """A negative limit is a least ratio, any other the greatest; a row without one only tells."""
    if row["limit"] is None:
        return True
    return row["ratio"] >= -row["limit"] if row["limit"] < 0 else row["ratio"] <= row["limit"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--only", choices=BENCHES)
    arguments = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    shared = pathlib.Path("/dev/shm")
    where = shared if shared.is_dir() and shutil.disk_usage(shared).free > 4 << 30 else None
    rows = []
    with tempfile.TemporaryDirectory(prefix="mesh-bench.", dir=where) as name:
        for bench in [arguments.only] if arguments.only else BENCHES:
            print(f"bench: {bench}", file=sys.stderr, flush=True)
            rows += [{"bench": bench, **row} for row in BENCHES[bench](pathlib.Path(name), arguments.quick)]
    print("| what | Mesh | against | that | ratio | limit |\n|---|---|---|---|---|---|")
    for row in rows:
        limit = limit_text(row["limit"])
        mark = "" if holds(row) else " **missed**"
        print(f"| {row['what']} | {human(row['mesh'], row['unit'])} | {row['against']} | "
              f"{human(row['other'], row['unit'])} | {row['ratio']:.2f} | {limit}{mark} |")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps({"rows": rows}, indent=1) + "\n")
    return 0 if all(holds(row) for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
