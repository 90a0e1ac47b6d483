// A registry as it should be (distribution-spec 1.1): what rules then misbehave on top of.
import { request as ask } from "node:http";
import { randomUUID } from "node:crypto";
import { digestOf } from "./images.mjs";

const fault = (status, code, message) => ({
  status,
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ errors: [{ code, message }] }),
});

/** What a server has, by digest and by tag; every repository has all of it. */
export class Store {
  constructor() {
    this.manifests = new Map();
    this.blobs = new Map();
    this.tags = new Map();
    this.uploads = new Map();
  }

  hold(image, ...tags) {
    image.manifests.forEach((manifest, digest) => this.manifests.set(digest, manifest));
    image.blobs.forEach((bytes, digest) => this.blobs.set(digest, bytes));
    tags.forEach((tag) => this.tags.set(tag, image.digest));
  }

  /** The `serve` of a Server. */
  serve = async (exchange) => {
    const { kind, method } = exchange;
    if (kind === "base") return { body: "{}", headers: { "Docker-Distribution-Api-Version": "registry/2.0" } };
    if (kind === "manifest") return method === "PUT" ? this.#put(exchange) : this.#manifest(exchange);
    if (kind === "blob") return this.#blob(exchange);
    if (kind === "upload") return this.#upload(exchange);
    return { status: 404, body: "404 page not found\n" };
  };

  #manifest({ reference }) {
    const digest = this.tags.get(reference) ?? reference;
    const found = this.manifests.get(digest);
    if (!found) return fault(404, "MANIFEST_UNKNOWN", `manifest unknown: ${reference}`);
    return { headers: { "Content-Type": found.type, "Docker-Content-Digest": digest }, body: found.bytes };
  }

  #blob({ reference, headers }) {
    const bytes = this.blobs.get(reference);
    if (!bytes) return fault(404, "BLOB_UNKNOWN", `blob unknown to registry: ${reference}`);
    const about = {
      "Content-Type": "application/octet-stream",
      "Docker-Content-Digest": reference,
      "Accept-Ranges": "bytes",
    };
    const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? "");
    if (!range) return { headers: about, body: bytes };
    const [from, to] = [Number(range[1]), range[2] ? Math.min(Number(range[2]), bytes.length - 1) : bytes.length - 1];
    if (from >= bytes.length) return { status: 416, headers: { "Content-Range": `bytes */${bytes.length}` } };
    return {
      status: 206,
      headers: { ...about, "Content-Range": `bytes ${from}-${to}/${bytes.length}` },
      body: bytes.subarray(from, to + 1),
    };
  }

  async #put(exchange) {
    const bytes = await exchange.body();
    const [algorithm, hex] = exchange.reference.split(":");
    const digest = digestOf(bytes, hex ? algorithm : "sha256");
    if (hex && digest !== exchange.reference)
      return fault(400, "DIGEST_INVALID", "provided digest did not match uploaded content");
    if (!hex) this.tags.set(exchange.reference, digest);
    this.manifests.set(digest, { type: exchange.headers["content-type"], bytes });
    return {
      status: 201,
      headers: { "Docker-Content-Digest": digest, Location: `/v2/${exchange.repository}/manifests/${digest}` },
    };
  }

  async #upload(exchange) {
    const { method, repository, query } = exchange;
    const bytes = await exchange.body();
    const name = method === "POST" ? randomUUID() : exchange.reference;
    if (method !== "POST" && !this.uploads.has(name))
      return fault(404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry");
    const mounted = query.get("mount");
    if (method === "POST" && this.blobs.has(mounted))
      return { status: 201, headers: { Location: `/v2/${repository}/blobs/${mounted}` } };
    const whole = Buffer.concat([this.uploads.get(name) ?? Buffer.alloc(0), bytes]);
    const at = { Location: `/v2/${repository}/blobs/uploads/${name}`, Range: `0-${Math.max(0, whole.length - 1)}` };
    if (method === "DELETE") return (this.uploads.delete(name), { status: 204 });
    if (method === "GET") return { status: 204, headers: at };
    if (method !== "PUT") return (this.uploads.set(name, whole), { status: 202, headers: at });
    const digest = query.get("digest");
    if (digestOf(whole, digest.split(":")[0]) !== digest)
      return fault(400, "DIGEST_INVALID", "provided digest did not match uploaded content");
    this.uploads.delete(name);
    this.blobs.set(digest, whole);
    return { status: 201, headers: { "Docker-Content-Digest": digest, Location: `/v2/${repository}/blobs/${digest}` } };
  }
}

/**
 * The `serve` of a Server that stands before a real registry at `port`: passes on what no rule
 * answered, with the Host that it was asked for, so that the registry's locations lead back here.
 */
export const before = (port) => async (exchange) => {
  const body = await exchange.body();
  const { expect: _, ...given } = exchange.headers;
  return new Promise((resolve, reject) => {
    const onward = ask(
      {
        host: "127.0.0.1",
        port,
        method: exchange.method,
        path: exchange.url,
        headers: { ...given, connection: "close" },
      },
      async (answer) => {
        const parts = [];
        for await (const part of answer) parts.push(part);
        const { connection, "transfer-encoding": chunks, ...headers } = answer.headers;
        resolve({ status: answer.statusCode, headers, body: Buffer.concat(parts) });
      },
    );
    onward.on("error", reject);
    onward.end(body);
  });
};
