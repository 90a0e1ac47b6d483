"""Registries on loopback and images made on the spot, for the benchmarks that copy."""

import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time
import urllib.parse

OCI = "application/vnd.oci.image."
MB = 1_000_000


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Registry:
    """Debian's docker-registry on a free port of 127.0.0.1, its store in a folder of its own; the
    requests that it answered are read from its access log."""

    def __init__(self, program, folder, port):
        self.program, self.folder, self.port = str(program), pathlib.Path(folder), port
        self.process = None
        self.folder.mkdir(parents=True)
        self.start()

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def start(self):
        config = self.folder / "config.json"  # JSON is YAML
        config.write_text(json.dumps({
            "version": "0.1", "log": {"level": "error", "accesslog": {"disabled": False}},
            "storage": {"filesystem": {"rootdirectory": str(self.folder / "data"), "maxthreads": 100},
                        "delete": {"enabled": True}, "cache": {"blobdescriptor": "inmemory"}},
            "http": {"addr": self.host}}))
        self.log = self.folder / "access.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([self.program, "serve", str(config)], stdout=log,
                                            stderr=subprocess.DEVNULL)
        end = time.monotonic() + 30
        while True:
            with contextlib.suppress(OSError):
                self.ask("GET", "/v2/")
                break
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(f"docker-registry does not answer on {self.host}")
            time.sleep(0.01)
        self.forget_requests()

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def wipe(self):
        self.stop()
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        self.start()

    def forget_requests(self):
        self.seen = self.log.stat().st_size

    def requests(self):
        """How many requests it answered since they were last forgotten, and the bytes of their bodies."""
        lines = re.findall(rb'"[A-Z]+ /v2/[^"]*" \d+ (\d+)', self.log.read_bytes()[self.seen:])
        return len(lines), sum(int(size) for size in lines)

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            data = answer.read()
            if answer.status >= 400:
                raise SystemExit(f"{method} {path}: {answer.status} {data[:200]}")
            return answer, data
        finally:
            connection.close()

    def put_blob(self, repository, data):
        answer, _ = self.ask("POST", f"/v2/{repository}/blobs/uploads/", b"")
        location = urllib.parse.urlparse(answer.getheader("Location"))
        self.ask("PUT", f"{location.path}?{location.query}&digest={digest_of(data)}", data,
                 {"Content-Type": "application/octet-stream"})
        return {"digest": digest_of(data), "size": len(data)}

    def put_manifest(self, repository, manifest):
        data = json.dumps(manifest).encode()
        self.ask("PUT", f"/v2/{repository}/manifests/{digest_of(data)}", data,
                 {"Content-Type": manifest["mediaType"]})
        return {"mediaType": manifest["mediaType"], "digest": digest_of(data), "size": len(data)}


def put_image(registry, repository, platforms, layer_sizes, seed):
    """An index with an image for each platform, its layers of these sizes; returns its digest and the
    bytes of its blobs. The layers are random bytes: who copies does not unpack."""
    draw, children, total = random.Random(seed), [], 0
    for platform in platforms:
        layers = [draw.randbytes(size) for size in layer_sizes]
        config = json.dumps({"architecture": platform, "os": "linux", "config": {"Cmd": ["/x"]},
                             "rootfs": {"type": "layers", "diff_ids": [digest_of(one) for one in layers]}}).encode()
        manifest = {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
                    "config": {"mediaType": OCI + "config.v1+json", **registry.put_blob(repository, config)},
                    "layers": [{"mediaType": OCI + "layer.v1.tar+gzip", **registry.put_blob(repository, one)}
                               for one in layers]}
        children.append({**registry.put_manifest(repository, manifest),
                         "platform": {"architecture": platform, "os": "linux"}})
        total += len(config) + sum(layer_sizes)
    index = registry.put_manifest(repository, {"schemaVersion": 2, "mediaType": OCI + "index.v1+json",
                                               "manifests": children})
    return index["digest"], total
