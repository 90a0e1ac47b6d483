// What one case is played in: upstream, the mesh's registry, and who else may be asked.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createProxy, request as ask } from "node:http";
import { connect, createServer as createProbe } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { accepted, Maker } from "./images.mjs";
import { before, Store } from "./registry.mjs";
import { Server } from "./server.mjs";
import { Tokens } from "./rules.mjs";

const run = promisify(execFile);

export const folder = mkdtempSync(join(tmpdir(), "mesh-upstreams-"));

/** Names that the certificate is for; the proxy leads each to the upstream that speaks TLS. */
const hubs = ["registry-1.docker.io", "docker.io", "index.docker.io", "auth.docker.io"];
const certified = [...hubs, "registry.test", "auth.test", "cdn.test", "localhost"];

/** A CA of our own and a certificate for every server here: `{ key, cert, ca }`, `ca` a file. */
export async function certificates() {
  const path = (name) => join(folder, name);
  const openssl = (...words) => run("openssl", words, { cwd: folder });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  await openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "ca.key",
    "-out",
    "ca.crt",
    "-days",
    "2",
    "-subj",
    "/CN=corpus",
    "-addext",
    "basicConstraints=critical,CA:TRUE",
    "-addext",
    "keyUsage=critical,keyCertSign",
  );
  await openssl("req", "-x509", ...key, "-keyout", "other.key", "-out", "other.crt", "-days", "2", "-subj", "/CN=another");
  await openssl("req", ...key, "-keyout", "leaf.key", "-out", "leaf.csr", "-subj", "/CN=corpus upstream");
  const names = [...certified.map((name) => `DNS:${name}`), "IP:127.0.0.1", "IP:127.0.0.2", "IP:::1"].join(",");
  writeFileSync(path("leaf.ext"), `subjectAltName=${names}\nbasicConstraints=CA:FALSE\n`);
  await openssl(
    "x509",
    "-req",
    "-in",
    "leaf.csr",
    "-CA",
    "ca.crt",
    "-CAkey",
    "ca.key",
    "-CAcreateserial",
    "-days",
    "2",
    "-extfile",
    "leaf.ext",
    "-out",
    "leaf.crt",
  );
  return { key: readFileSync(path("leaf.key")), cert: readFileSync(path("leaf.crt")), ca: path("ca.crt"), other: path("other.crt"), folder };
}

async function freePort() {
  const probe = createProbe().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address();
  probe.close();
  await once(probe, "close");
  return port;
}

/** Debian's docker-registry with its files in a folder of its own: what destinations stand before. */
export class RealRegistry {
  async start(seconds = 15) {
    this.storage = join(folder, "registry");
    for (let attempt = 1; ; ++attempt) {
      this.port = await freePort();
      writeFileSync(
        join(folder, "registry.yml"),
        JSON.stringify({
          version: 0.1,
          log: { level: "error", accesslog: { disabled: true } },
          http: { addr: `127.0.0.1:${this.port}` },
          storage: {
            filesystem: { rootdirectory: this.storage },
            delete: { enabled: true },
            maintenance: { uploadpurging: { enabled: false } },
          },
        }),
      );
      this.child = spawn("docker-registry", ["serve", join(folder, "registry.yml")], { stdio: "ignore" });
      const ended = new Promise((resolve) => this.child.once("error", resolve).once("exit", resolve));
      const deadline = Date.now() + seconds * 1000;
      let gone = false;
      ended.then((why) => (gone = why ?? true));
      while (!gone && Date.now() < deadline) {
        if (await this.#answers()) return this;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      // A port that was free may be taken by now; hence a second attempt.
      if (gone instanceof Error) throw new Error(`docker-registry: ${gone.message}`);
      if (!gone || attempt === 3) throw new Error("docker-registry does not answer");
    }
  }

  #answers() {
    return new Promise((resolve) =>
      ask(
        { host: "127.0.0.1", port: this.port, path: "/v2/" },
        (answer) => (answer.resume(), resolve(answer.statusCode === 200)),
      )
        .on("error", () => resolve(false))
        .end(),
    );
  }

  /** The file of a content's bytes. */
  file(digest) {
    const [algorithm, hex] = digest.split(":");
    return join(this.storage, "docker/registry/v2/blobs", algorithm, hex.slice(0, 2), hex, "data");
  }

  async stop() {
    if (!this.child || this.child.exitCode !== null) return;
    this.child.kill("SIGTERM");
    await once(this.child, "exit");
  }
}

/** A proxy: notes whom it is asked for, and leads the certified names to `secure()`. */
class Proxy {
  constructor(secure) {
    this.log = [];
    this.server = createProxy((request, response) => {
      // Plain http through a proxy: noted, and refused.
      this.log.push({ host: new URL(request.url).host, plain: true, headers: request.headers });
      response.writeHead(502).end();
    });
    this.server.on("connect", (request, socket) => {
      socket.on("error", () => {});
      this.log.push({ host: request.url.replace(/:443$/, ""), headers: request.headers });
      const name = request.url.split(":")[0];
      if (!certified.includes(name)) return socket.end("HTTP/1.1 502 Bad Gateway\r\n\r\n");
      const onward = connect(secure(name), "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 OK\r\n\r\n");
        socket.pipe(onward).pipe(socket);
      });
      onward.on("error", () => socket.destroy());
      socket.on("close", () => onward.destroy());
      onward.on("close", () => socket.destroy());
      this.sockets.add(socket);
    });
    this.sockets = new Set();
  }

  async start() {
    this.server.listen(0, "127.0.0.1");
    await once(this.server, "listening");
    this.address = `127.0.0.1:${this.server.address().port}`;
    return this;
  }

  async stop() {
    this.sockets.forEach((socket) => socket.destroy());
    this.server.closeAllConnections();
    this.server.close();
  }
}

export class World {
  /** `shared`: { real, certificates }. */
  constructor(the, shared, client) {
    Object.assign(this, { the, ...shared, client });
    this.repository = `bases/${the.name}`;
    this.make = new Maker(`${the.name} for ${client}`);
    this.tokens_ = new Tokens(the.tokens);
  }

  async start() {
    const { the } = this;
    const tls = (wanted) => (wanted ? { key: this.certificates.key, cert: this.certificates.cert } : undefined);
    this.store = new Store();
    this.upstream = await new Server({
      name: "upstream",
      host: the.host,
      tls: tls(the.tls),
      h2: the.h2,
      serve: this.store.serve,
    }).start();
    this.elsewhere = await new Server({
      name: "elsewhere",
      host: "127.0.0.2",
      tls: tls(the.elsewhereTls),
      serve: this.store.serve,
    }).start();
    this.tokens = await new Server({ name: "tokens", tls: tls(the.proxy), serve: this.tokens_.serve }).start();
    this.target = new Store();
    this.destination = await new Server({
      name: "destination",
      tls: tls(the.destinationTls),
      serve: the.scripted ? this.target.serve : before(this.real.port),
    }).start();
    if (the.proxy) {
      this.proxy = await new Proxy((name) => (name.startsWith("auth.") ? this.tokens : this.upstream).port).start();
    }
    this.image = (the.image ?? ((make) => make.base()))(this.make, this);
    this.store.hold(this.image, "latest", "v1");
    this.upstream.rules = the.upstream?.(this) ?? [];
    this.elsewhere.rules = the.elsewhere?.(this) ?? [];
    this.destination.rules = the.destination?.(this) ?? [];
    return this;
  }

  /** What the client is told to copy, and to where: a list of pairs. */
  get pairs() {
    const { pairs, source } = this.the;
    if (pairs) return pairs(this);
    return [[source ? source(this) : this.pinned(), this.repository]];
  }

  pinned(image = this.image, name = "team/base") {
    return `${this.upstream.address}/${name}@${image.digest}`;
  }

  /** The bytes that the destination has under a digest, or nothing. Not noted as a request. */
  async stored(kind, repository, digest) {
    if (this.the.scripted) {
      const found = this.target[kind].get(digest);
      return found?.bytes ?? found;
    }
    const { status, body } = await this.atRegistry("GET", `/v2/${repository}/${kind}/${digest}`);
    return status === 200 ? body : undefined;
  }

  /** One request to the real registry, past the rules. */
  atRegistry(method, path) {
    return new Promise((resolve, reject) =>
      ask(
        { host: "127.0.0.1", port: this.real.port, method, path, headers: { Accept: accepted.join(", ") } },
        async (answer) => {
          const parts = [];
          for await (const part of answer) parts.push(part);
          resolve({ status: answer.statusCode, body: Buffer.concat(parts) });
        },
      )
        .on("error", reject)
        .end(),
    );
  }

  get servers() {
    return [this.upstream, this.elsewhere, this.tokens, this.destination];
  }

  /** How many requests each server has had. */
  counts() {
    return Object.fromEntries(this.servers.map(({ name, log }) => [name, log.length]));
  }

  async stop() {
    await Promise.all([...this.servers, this.proxy].map((each) => each?.stop()));
  }
}

export const cleanUp = () => rmSync(folder, { recursive: true, force: true });
