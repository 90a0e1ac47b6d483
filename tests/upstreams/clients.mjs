// How each client is told to copy. `copy(world, what)` runs it to its end:
// { code, text, document, seconds, killed }.
import { execFile, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { folder } from "./world.mjs";

const call = promisify(execFile);

/**
 * Runs a program; after `seconds` it is ended by force. `ends`: a promise of the
 * signal that ends it earlier, SIGKILL where it has none.
 */
function execute(program, words, { env, seconds, ends, cwd }) {
  const began = Date.now();
  const child = spawn(program, words, { env, cwd, stdio: ["ignore", "pipe", "pipe"] });
  const output = [[], []];
  child.stdout.on("data", (data) => output[0].push(data));
  child.stderr.on("data", (data) => output[1].push(data));
  let killed;
  const timer = setTimeout(() => ((killed = seconds), child.kill("SIGKILL")), seconds * 1000);
  ends?.then((signal) => child.kill(signal ?? "SIGKILL"));
  return new Promise((resolve) => {
    const end = (code) => {
      clearTimeout(timer);
      const [stdout, stderr] = output.map((parts) => Buffer.concat(parts).toString());
      resolve({ code, killed, stdout, text: `${stdout}\n${stderr}`, seconds: (Date.now() - began) / 1000 });
    };
    child.once("error", (error) => (output[1].push(Buffer.from(error.message)), end(error.code)));
    child.once("close", (code, signal) => end(code ?? signal));
  });
}

/** What both clients have around them: credentials, the proxy, the CA, and a home of their own. */
function surroundings(world, home) {
  const { the } = world;
  const auth = join(home, "auth.json");
  const pairs = Object.entries(the.credentials?.(world) ?? {});
  const basic = ([user, password]) => ({ auth: Buffer.from(`${user}:${password}`).toString("base64") });
  const auths = Object.fromEntries(pairs.map(([host, found]) => [host, Array.isArray(found) ? basic(found) : found]));
  writeFileSync(auth, JSON.stringify({ auths, ...the.helpers?.(world) }));
  mkdirSync(join(home, "bin"));
  if (the.helper) writeFileSync(join(home, "bin/docker-credential-corpus"), the.helper, { mode: 0o755 });
  const proxy = world.proxy && `http://${world.proxy.address}`;
  return {
    PATH: `${join(home, "bin")}:${process.env.PATH}`,
    HOME: home,
    XDG_RUNTIME_DIR: home,
    REGISTRY_AUTH_FILE: auth,
    ...(proxy && {
      https_proxy: proxy,
      HTTPS_PROXY: proxy,
      http_proxy: proxy,
      HTTP_PROXY: proxy,
      no_proxy: "127.0.0.1,localhost",
    }),
    ...(process.env.ASAN_OPTIONS && { ASAN_OPTIONS: process.env.ASAN_OPTIONS }),
  };
}

/** `mesh mirror` in a mesh of its own, whose registry is external: the destination. */
export class MeshClient {
  name = "mesh";
  deadline = 40;

  constructor(program) {
    this.program = program;
  }

  async version() {
    return (await call(this.program, ["--version"])).stdout.trim();
  }

  prepare(world) {
    const home = mkdtempSync(join(folder, "mesh-"));
    const { the, upstream, destination, certificates } = world;
    const access = (server, secure) =>
      secure && the.otherCa && server === upstream
        ? `ca = ${JSON.stringify(certificates.other)}`
        : secure && !the.untrusted ? `ca = ${JSON.stringify(certificates.ca)}` : "insecure = true";
    const upstreams = { [upstream.address]: access(upstream, the.tls) };
    if (the.proxy) for (const host of ["docker.io", "registry.test"]) upstreams[host] = access(upstream, true);
    if (the.mirror) upstreams[upstream.address] += `\nmirror = "${the.mirror(world)}"`;
    writeFileSync(
      join(home, "mesh.toml"),
      [
        'mesh = "corpus"',
        "[registry]",
        'server = "external"',
        `advertise = "${destination.address}"`,
        access(destination, the.destinationTls),
        ...Object.entries(upstreams).flatMap(([host, how]) => [`[upstreams."${host}"]`, how]),
        "",
      ].join("\n"),
    );
    return { home, env: surroundings(world, home) };
  }

  async copy(world, { place, pairs = world.pairs, verify, timeout, ends }) {
    let what = pairs[0];
    if (pairs.length > 1) {
      writeFileSync(join(place.home, "pairs"), pairs.map((pair) => `${pair.join(" ")}\n`).join(""));
      what = ["--from", "pairs"];
    }
    const words = [
      "-C",
      place.home,
      "mirror",
      ...what,
      "--json",
      ...(verify ? ["--verify"] : []),
      ...(timeout ? ["--timeout", timeout] : []),
    ];
    const ended = await execute(this.program, words, {
      env: place.env,
      cwd: place.home,
      seconds: world.the.deadline ?? this.deadline,
      ends,
    });
    try {
      ended.document = JSON.parse(ended.stdout);
    } catch {
      return ended;
    }
    // The account of what was asked names hosts and digests: that is not yet naming a cause.
    const { upstream, ...rest } = ended.document;
    const errors = ended.text
      .slice(ended.stdout.length)
      .split("\n")
      .filter((line) => !/^  (GET|HEAD|POST) /.test(line));
    return { ...ended, text: `${JSON.stringify(rest)}\n${errors.join("\n")}`, everything: ended.text };
  }
}

/** Does nothing and says nothing, and ends with `code`: no case may take that for a correct client. */
export class NoClient {
  deadline = 1;

  constructor(code) {
    Object.assign(this, { code, name: `a client that only ends with ${code}` });
  }

  version = async () => this.name;
  prepare = () => ({});
  copy = async () => ({ code: this.code, text: "", stdout: "", seconds: 0 });
}

/** `skopeo copy`, every platform and every byte as it is, for each pair. */
export class SkopeoClient {
  name = "skopeo";
  deadline = 90;

  async version() {
    return (await call("skopeo", ["--version"])).stdout.trim().replace(" version", "");
  }

  prepare(world) {
    const home = mkdtempSync(join(folder, "skopeo-"));
    const { the, certificates, upstream } = world;
    const trust = join(home, "trust");
    mkdirSync(trust);
    if (!the.untrusted) copyFileSync(the.otherCa ? certificates.other : certificates.ca, join(trust, "ca.crt"));
    const mirror = the.mirror && `\n[[registry.mirror]]\nlocation = "${the.mirror(world)}"\ninsecure = true\n`;
    writeFileSync(
      join(home, "registries.conf"),
      mirror ? `[[registry]]\nlocation = "${upstream.address}"\ninsecure = true\n${mirror}` : "",
    );
    return { home, trust, env: { ...surroundings(world, home), ...(the.proxy && { SSL_CERT_FILE: certificates.ca }) } };
  }

  async copy(world, { place, pairs = world.pairs, timeout, ends }) {
    const { the, destination } = world;
    const tls = (side, secure) => (secure ? [`--${side}-cert-dir`, place.trust] : [`--${side}-tls-verify=false`]);
    let all;
    for (const [source, repository] of pairs) {
      const words = [
        "--insecure-policy",
        "--registries-conf",
        join(place.home, "registries.conf"),
        ...(timeout ? ["--command-timeout", timeout] : []),
        "copy",
        "--quiet",
        "--all",
        "--preserve-digests",
        "--retry-times",
        "3",
        ...tls("src", the.tls || the.proxy),
        ...tls("dest", the.destinationTls),
        `docker://${source}`,
        `docker://${destination.address}/${repository}:latest`,
      ];
      const one = await execute("skopeo", words, {
        env: place.env,
        cwd: place.home,
        seconds: the.deadline ?? this.deadline,
        ends,
      });
      all = all
        ? {
            ...one,
            code: all.code || one.code,
            text: all.text + one.text,
            seconds: all.seconds + one.seconds,
            killed: all.killed ?? one.killed,
          }
        : one;
    }
    return all;
  }
}
