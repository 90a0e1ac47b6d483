// A registry that stands for the world's: Debian's docker-registry on loopback, with one base image
// that is made on the spot.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until, within } from "./program.mjs";

const oci = "application/vnd.oci.image";
const tools = new URL("../../../build/tools/", import.meta.url).pathname;
const digestOf = (bytes) => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

export class Upstream {
  /** Starts it on `port`; nothing of it is left when the process ends. */
  static async start(port) {
    const upstream = new Upstream();
    upstream.host = `127.0.0.1:${port}`;
    upstream.folder = mkdtempSync(join(tmpdir(), "mesh-upstream-"));
    process.on("exit", () => (upstream.child.kill("SIGKILL"), rmSync(upstream.folder, { recursive: true, force: true })));
    const config = join(upstream.folder, "config.json"); // JSON is YAML
    writeFileSync(config, JSON.stringify({
      version: "0.1", log: { level: "error", accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(upstream.folder, "data") } }, http: { addr: upstream.host },
    }));
    const program = existsSync(`${tools}docker-registry`) ? `${tools}docker-registry` : "docker-registry";
    upstream.child = spawn(program, ["serve", config], { stdio: "ignore" });
    upstream.gone = new Promise((resolve) => upstream.child.once("exit", resolve).once("error", resolve));
    await Promise.race([
      until(10, "docker-registry", () => fetch(`http://${upstream.host}/v2/`).then((answer) => answer.ok, () => false)),
      upstream.gone.then((why) => { throw new Error(`docker-registry: ${why.message ?? why}`); }),
    ]);
    return upstream;
  }

  /** Switches it off. */
  async stop() {
    this.child.kill("SIGTERM");
    await within(10, "the end of docker-registry", this.gone);
  }

  async #put(path, body, type) {
    const answer = await fetch(new URL(path, `http://${this.host}`), {
      method: "PUT", body, headers: { "content-type": type },
    });
    if (!answer.ok) throw new Error(`PUT ${path}: ${answer.status} ${await answer.text()}`);
  }

  async #blob(repository, bytes) {
    const begun = await fetch(`http://${this.host}/v2/${repository}/blobs/uploads/`, { method: "POST" });
    const location = new URL(begun.headers.get("location"), `http://${this.host}`);
    location.searchParams.set("digest", digestOf(bytes));
    await this.#put(location, bytes, "application/octet-stream");
    return { digest: digestOf(bytes), size: bytes.length };
  }

  /** An image of one layer that holds one file; its reference, by digest. */
  async base(repository) {
    writeFileSync(join(this.folder, "made-by"), "made on the spot for the demo\n");
    const layer = spawnSync("tar", ["-cf", "-", "made-by"], { cwd: this.folder }).stdout;
    const config = Buffer.from(JSON.stringify({
      architecture: { x64: "amd64", arm64: "arm64" }[process.arch] ?? process.arch, os: "linux", config: {},
      rootfs: { type: "layers", diff_ids: [digestOf(layer)] }, history: [{ created_by: "the demo" }],
    }));
    const manifest = JSON.stringify({
      schemaVersion: 2, mediaType: `${oci}.manifest.v1+json`,
      config: { mediaType: `${oci}.config.v1+json`, ...await this.#blob(repository, config) },
      layers: [{ mediaType: `${oci}.layer.v1.tar`, ...await this.#blob(repository, layer) }],
    });
    await this.#put(`/v2/${repository}/manifests/1.0`, manifest, `${oci}.manifest.v1+json`);
    return `${this.host}/${repository}@${digestOf(manifest)}`;
  }
}
