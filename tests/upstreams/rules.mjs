// What a server can do wrong, or differently: rules for Server, made anew for each run of a case.
import { gzipSync } from "node:zlib";
import { names } from "./server.mjs";

/**
 * A rule for the requests that `pattern` names and `where` holds for: `act` answers them (a
 * function of the exchange and of `next`, or an answer). From the `after`-th on, `times` times.
 */
export function on(pattern, act, { where = () => true, after = 0, times = Infinity } = {}) {
  let seen = 0;
  return (exchange, next) => {
    if (!names(pattern, exchange) || !where(exchange)) return next();
    const number = seen++;
    if (number < after || number >= after + times) return next();
    return typeof act === "function" ? act(exchange, next) : act;
  };
}

/** An answer as the rest would give it, changed by `change`. */
export const but = (change) => async (exchange, next) => {
  const answer = await next();
  return answer.status >= 400 ? answer : { ...answer, ...change(answer, exchange) };
};

/** The same, with these headers over its own; undefined takes one away. */
export const headers = (over) =>
  but((answer, exchange) => {
    const all = new Map(
      Object.entries(answer.headers ?? {}).map(([name, value]) => [name.toLowerCase(), [name, value]]),
    );
    for (const [name, value] of Object.entries(typeof over === "function" ? over(exchange, answer) : over)) {
      if (value === undefined) all.delete(name.toLowerCase());
      else all.set(name.toLowerCase(), [name, value]);
    }
    return { headers: Object.fromEntries(all.values()) };
  });

export const error = (status, code, message, headers = {}) => ({
  status,
  headers: { "Content-Type": "application/json", ...headers },
  body: JSON.stringify({ errors: [{ code, message }] }),
});

/** What Docker Hub says when the pulls of a window are spent, and when somebody asks too fast. */
export const quotaSpent = (headers = {}) =>
  error(
    429,
    "TOOMANYREQUESTS",
    "You have reached your pull rate limit. You may increase the limit by authenticating and upgrading",
    { "ratelimit-limit": "100;w=21600", "ratelimit-remaining": "0;w=21600", ...headers },
  );
export const tooFast = (headers = {}) => ({
  status: 429,
  headers: { "Content-Type": "text/html", ...headers },
  body: "Too Many Requests\n",
});

export const page = {
  status: 200,
  headers: { "Content-Type": "text/html; charset=utf-8" },
  body: `<!doctype html><html><head><title>Sign in</title></head><body>${"<p>Please sign in.</p>".repeat(60)}</body></html>`,
};

/** Drops the connection without an answer. */
export const hangUp = (exchange) => (exchange.request.socket.destroy(), undefined);

/** Reads `bytes` of a request's body, then drops the connection. */
export const breakOff = (bytes) => (exchange) =>
  new Promise((resolve) => {
    let read = 0;
    exchange.request.on("data", (part) => {
      read += part.length;
      if (read >= bytes) exchange.request.socket.destroy();
    });
    exchange.request.on("end", () => exchange.request.socket.destroy());
    exchange.request.on("close", () => resolve(undefined));
  });

/** Compresses what the client does not say it takes as it is. */
export const compress = async (exchange, next) => {
  const answer = await next();
  if (!/gzip|\*/.test(exchange.headers["accept-encoding"] ?? "identity") || exchange.method === "HEAD") return answer;
  return { ...answer, headers: { ...answer.headers, "Content-Encoding": "gzip" }, body: gzipSync(answer.body) };
};

/** Refuses manifests to those whose Accept lacks `type`, as docker-registry does. */
export const strictAccept = (types) => async (exchange, next) => {
  const accept = exchange.headers.accept ?? "";
  if (types.every((type) => accept.includes(type))) return next();
  return error(404, "MANIFEST_UNKNOWN", "OCI manifest found, but accept header does not support OCI manifests");
};

const needed = ({ method, repository }) =>
  `repository:${repository}:${method === "GET" || method === "HEAD" ? "pull" : "push"}`;

/** True where `scope` (`repository:a:pull,push repository:b:pull`) grants what is needed. */
const grants = (scope, wanted) =>
  scope.split(" ").some((each) => {
    const [type, ...rest] = each.split(":");
    const actions = rest.pop() ?? "";
    const action = wanted.slice(wanted.lastIndexOf(":") + 1);
    return (
      `${type}:${rest.join(":")}` === wanted.slice(0, wanted.lastIndexOf(":")) &&
      actions.split(",").some((mine) => mine === action || mine === "*")
    );
  });

/** Tokens of one realm: who has which, for what, for how many requests. */
export class Tokens {
  /**
   * `uses`: requests that one token is good for. `user`: who must ask, with which
   * password. `refresh`: the identity token that must be shown.
   */
  constructor({ uses = Infinity, user, password, refresh, expires = 300, answer } = {}) {
    Object.assign(this, { uses, user, password, refresh, expires, answer });
    this.issued = new Map();
  }

  /** The `serve` of the server that issues them. */
  serve = async (exchange) => {
    if (exchange.kind !== "token") return { status: 404, body: "404 page not found\n" };
    const form = new URLSearchParams(exchange.method === "POST" ? (await exchange.body()).toString() : "");
    exchange.scopes = [...exchange.query.getAll("scope"), ...form.getAll("scope")];
    if (this.refresh && (form.get("grant_type") !== "refresh_token" || form.get("refresh_token") !== this.refresh)) {
      return error(401, "UNAUTHORIZED", "incorrect refresh token");
    }
    if (this.user) {
      const given = /^Basic (.*)$/.exec(exchange.headers.authorization ?? "")?.[1];
      if (given !== Buffer.from(`${this.user}:${this.password}`).toString("base64")) {
        return error(401, "UNAUTHORIZED", "incorrect username or password");
      }
    }
    const token = `tok-en-${this.issued.size}-${"x".repeat(20)}`;
    this.issued.set(token, { scope: exchange.scopes.join(" "), left: this.uses });
    const answer = this.answer?.(token) ?? { token, expires_in: this.expires };
    return { headers: { "Content-Type": "application/json" }, body: JSON.stringify(answer) };
  };

  /** Whether a request may be answered; a use of its token where it is. */
  admits(exchange) {
    const token = this.issued.get(/^Bearer (.*)$/.exec(exchange.headers.authorization ?? "")?.[1]);
    if (!token || token.left <= 0) return false;
    if (exchange.kind !== "base" && !grants(token.scope, needed(exchange))) return false;
    token.left -= 1;
    return true;
  }
}

const challengeOf = (exchange, realm) =>
  `Bearer realm="${realm}",service="corpus"${exchange.kind === "base" ? "" : `,scope="${needed(exchange).replace(/:push$/, ":pull,push")}"`}`;

/**
 * Asks for a token of `tokens`. `challenge`: the WWW-Authenticate of a refusal, a list for several.
 */
export const bearer =
  (tokens, realm, { challenge = challengeOf, late = () => false } = {}) =>
  async (exchange, next) => {
    if (late(exchange)) await exchange.body();
    if (tokens.admits(exchange)) return next();
    if (exchange.method !== "GET" && exchange.method !== "HEAD") await exchange.body();
    return {
      ...error(401, "UNAUTHORIZED", "authentication required"),
      headers: { "Content-Type": "application/json", "WWW-Authenticate": challenge(exchange, realm) },
    };
  };

export const basic = (user, password) => (exchange, next) =>
  exchange.headers.authorization === `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`
    ? next()
    : {
        ...error(401, "UNAUTHORIZED", "authentication required"),
        headers: { "WWW-Authenticate": 'Basic realm="corpus"' },
      };

/** Sends the reader to another server, at the same path. */
export const redirect =
  (origin, status = 307) =>
  (exchange) => ({ status, headers: { Location: `${origin()}${exchange.url}` } });
