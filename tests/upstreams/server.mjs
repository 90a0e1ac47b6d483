// A server whose every answer can be scripted, and which remembers every request.
import { createServer as createPlain } from "node:http";
import { constants, createSecureServer } from "node:http2";
import { createServer as createTls } from "node:https";

const paths = [
  ["base", /^\/v2\/?$/],
  ["upload", /^\/v2\/(.+)\/blobs\/uploads\/?([^/]*)$/],
  ["blob", /^\/v2\/(.+)\/blobs\/([^/]+)$/],
  ["manifest", /^\/v2\/(.+)\/manifests\/([^/]+)$/],
  ["referrers", /^\/v2\/(.+)\/referrers\/([^/]+)$/],
  ["token", /^\/token$/],
];

/** One request: what was asked, and (once it is over) what was answered. */
export class Exchange {
  constructor(server, request, response) {
    this.server = server;
    this.request = request;
    this.response = response;
    this.at = Date.now();
    this.method = request.method;
    this.url = request.url;
    this.host = request.headers.host ?? request.headers[":authority"];
    this.headers = request.headers;
    const url = new URL(request.url, "http://host");
    this.path = url.pathname;
    this.query = url.searchParams;
    this.kind = "other";
    for (const [kind, pattern] of paths) {
      const found = pattern.exec(url.pathname);
      if (!found) continue;
      [this.kind, this.repository, this.reference] = [kind, found[1], found[2] && decodeURIComponent(found[2])];
      break;
    }
    this.sent = 0; // bytes of the answer's body that were written
    this.status = undefined;
  }

  /** `GET manifest`: how rules and expectations name it. */
  get name() {
    return `${this.method} ${this.kind}`;
  }

  /** The request's whole body. */
  async body() {
    if (!this.whole) {
      const parts = [];
      for await (const part of this.request) parts.push(part);
      this.whole = Buffer.concat(parts);
    }
    return this.whole;
  }
}

/** True where the pattern (`GET|HEAD manifest`, `* blob`, `*`) names the exchange. */
export function names(pattern, exchange) {
  const [method, kind = "*"] = pattern.split(" ");
  return (
    (method === "*" || method.split("|").includes(exchange.method)) &&
    (kind === "*" || kind.split("|").includes(exchange.kind))
  );
}

/**
 * Answers come from the rules, in their order, and at the end from `serve`. A rule is a function of
 * the exchange and of `next` (which asks the rest), and returns an answer:
 * `{ status, headers, body }`, and what is wrong with it: `cut` (bytes of the body after which the
 * connection is closed, or with `reset` is reset), `stall` (bytes after which nothing more comes),
 * `endless` (so many bytes more than announced), `chunked` (no Content-Length).
 */
export class Server {
  constructor({ name, host = "127.0.0.1", tls, h2, rules = [], serve }) {
    Object.assign(this, { name, host, rules, tls });
    this.serve = serve ?? (() => ({ status: 404, body: "404 page not found\n" }));
    this.log = [];
    const answer = (request, response) => this.#answer(request, response);
    if (h2) this.server = createSecureServer({ ...tls, allowHTTP1: true }, answer);
    else this.server = tls ? createTls(tls, answer) : createPlain(answer);
    this.sockets = new Set();
    this.server.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
    });
    this.server.on("sessionError", () => {});
    this.server.keepAliveTimeout = 60_000;
    // A client that is killed, or told to go away: expected here.
    this.server.on("clientError", (_, socket) => socket.destroy());
  }

  /** `port` is 0 (a free one), or the one it had before. */
  async start(port = 0) {
    await new Promise((resolve, reject) => {
      this.server.once("error", reject);
      this.server.listen(port, this.host, resolve);
    });
    this.port = this.server.address().port;
    return this;
  }

  get address() {
    return `${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  get origin() {
    return `${this.tls ? "https" : "http"}://${this.address}`;
  }

  async stop() {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.sockets.forEach((socket) => socket.destroy());
    await closed;
  }

  async #answer(request, response) {
    const exchange = new Exchange(this, request, response);
    this.log.push(exchange);
    request.on("error", () => {});
    response.on("error", () => {});
    const ask = async (at) =>
      at < this.rules.length ? this.rules[at](exchange, () => ask(at + 1)) : this.serve(exchange);
    let answer;
    try {
      answer = await ask(0);
    } catch (error) {
      answer = { status: 599, body: `the script failed: ${error.stack}` };
      if (!response.destroyed) console.error(`# ${this.name} ${exchange.name}: ${error.stack}`);
    }
    if (answer) send(exchange, answer);
  }
}

function send(exchange, { status = 200, headers = {}, body = "", cut, reset, stall, endless, chunked }) {
  const { response } = exchange;
  const bytes = Buffer.from(body);
  exchange.status = status;
  if (response.destroyed) return;
  const named = Object.keys(headers).some((name) => name.toLowerCase() === "content-length");
  const empty = exchange.method === "HEAD" || status === 204 || status === 304;
  response.writeHead(status, {
    ...(chunked || named || status === 204 ? {} : { "Content-Length": bytes.length }),
    ...headers,
  });
  if (empty) return response.end();
  if (cut === undefined && stall === undefined && endless === undefined) {
    exchange.sent = bytes.length;
    return response.end(bytes);
  }
  const part = bytes.subarray(0, cut ?? stall ?? bytes.length);
  exchange.sent = part.length;
  response.write(part, () => {
    if (endless !== undefined) return pour(exchange, endless);
    if (cut === undefined) return; // it stalls, until the server stops
    if (response.stream?.close) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else if (reset) response.socket?.resetAndDestroy();
    else response.socket?.destroy();
  });
}

/** Writes until the reader has had enough. */
function pour(exchange, most) {
  const block = Buffer.alloc(65_536);
  const { response } = exchange;
  if (response.destroyed || most <= 0) return response.end();
  exchange.sent += block.length;
  response.write(block, () => pour(exchange, most - block.length));
}
