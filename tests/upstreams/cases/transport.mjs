// H. HTTP itself.
import { asks, done, fails, holds, holdsNothing, says, within } from "../expect.mjs";
import { error, hangUp, headers, on } from "../rules.mjs";

const tag = (world) => `${world.upstream.address}/team/base:v1`;

export const transport = [
  {
    name: "h2-stream-reset",
    reports: ["tiiuae/ghaf-infra#1115", "bazel-contrib/rules_img#762"],
    tls: true,
    h2: true,
    does: "speaks HTTP/2 and resets the stream of a layer of 4 MB in its middle, once",
    right: "goes on, over HTTP/2 or 1.1",
    image: (make) => make.large(4_000_000),
    upstream: (world) => [
      on("GET blob", async (exchange, next) => ({ ...(await next()), cut: 2_000_000 }), {
        where: ({ reference }) => reference === world.image.largest,
        times: 1,
      }),
    ],
    expect: [done, holds()],
  },
  {
    name: "head-refused",
    reports: ["moby/buildkit: HEAD refused with 405"],
    source: tag,
    does: "answers 405 to HEAD",
    right: "asks with GET",
    upstream: () => [on("HEAD *", { status: 405 })],
    expect: [done, holds(), asks("upstream", "GET manifest", 3, 4)],
  },
  {
    name: "head-without-length",
    reports: ["oras-project/oras-go#370", "distribution/distribution#4895", "distribution/distribution#2475"],
    source: tag,
    does: "answers HEAD without a Content-Length",
    right: "takes sizes from descriptors",
    upstream: () => [on("HEAD *", async (exchange, next) => ({ ...(await next()), chunked: true }))],
    expect: [done, holds()],
  },
  {
    name: "no-lengths",
    reports: ["oras-project/oras-go#370"],
    source: tag,
    does: "sends everything chunked",
    right: "takes sizes from descriptors",
    upstream: () => [on("* *", async (exchange, next) => ({ ...(await next()), chunked: true }))],
    expect: [done, holds()],
  },
  {
    name: "head-then-404",
    reports: ["spegel-org/spegel#1378"],
    source: tag,
    does: "answers HEAD of a tag with a digest, and 404 to the digest",
    right: "fails naming it; does not go round in circles",
    upstream: () => [on("GET manifest", error(404, "MANIFEST_UNKNOWN", "manifest unknown"))],
    expect: [
      fails(1),
      says(/manifest unknown|not found|404/i, "the manifest"),
      asks("upstream", "GET|HEAD manifest", 1, 6),
    ],
  },
  {
    name: "tls-found-out",
    reports: ["google/go-containerregistry#451", "google/go-containerregistry#1064", "containers/skopeo#530"],
    tls: true,
    does: "speaks TLS on loopback, with a CA that is declared",
    right: "done",
    expect: [done, holds()],
  },
  {
    name: "tls-not-trusted",
    reports: ["google/go-containerregistry#1064", "containers/skopeo#2371"],
    tls: true,
    untrusted: true,
    does: "speaks TLS with a CA that nobody declared",
    right: "fails; the error names the certificate",
    expect: [fails(), says(/certificate|x509|self.signed|trust/i, "the certificate"), asks("upstream", "* *", 0)],
  },
  {
    name: "tls-wrong-ca",
    reports: ["google/go-containerregistry#1064"],
    tls: true,
    otherCa: true,
    does: "speaks TLS on loopback; the CA that is declared is another",
    right: "fails; the error names the certificate and the CA's file; plain http is not tried",
    expect: [
      fails(69),
      says(/certificate/, "the certificate"),
      says(/other\.crt/, "the file"),
      (seen) => (/plain http/.test(seen.runs[0].text) ? "tried plain http" : undefined),
      asks("upstream", "* *", 0),
    ],
  },
  {
    name: "nobody-listens",
    reports: ["google/go-containerregistry#451", "containers/skopeo#2371"],
    does: "is not there; its address is this machine's, so http and https may be meant",
    right: "fails, naming both that were tried",
    upstream: (world) => (world.upstream.server.close(), []),
    expect: [
      fails(),
      says(/refused|connect/i, "that nobody answers"),
      says(/https/, "https"),
      says(/http:|plain http/, "http"),
    ],
  },
  {
    name: "hangs-up-once",
    reports: ["tiiuae/ghaf-infra#1115"],
    does: "drops the connection of the first request for a manifest without an answer",
    right: "asks again",
    upstream: () => [on("GET manifest", hangUp, { times: 1 })],
    expect: [done, holds()],
  },
  {
    name: "hangs-up-for-ever",
    reports: ["tiiuae/ghaf-infra#1115"],
    deadline: 60,
    does: "drops every connection without an answer",
    right: "gives up after a few pauses",
    upstream: () => [on("* *", hangUp)],
    expect: [fails(), asks("upstream", "* *", 1, 30)],
  },
  {
    name: "never-answers",
    waits: true,
    reports: ["docker-library/docker#221"],
    how: () => ({ timeout: "2s" }),
    deadline: 20,
    does: "takes the request and never answers; the client is given 2 s",
    right: "ends after 2 s, saying what it waited for",
    upstream: () => [on("GET manifest", () => undefined)],
    expect: [fails(1, 69), asks("upstream", "GET manifest", 1, 3), says(/time|deadline|2 ?s/i, "the time"), within(10)],
  },
  {
    name: "stalls-once",
    reports: ["docker-library/docker#221"],
    image: (make) => make.large(4_000_000),
    slow: true,
    deadline: 80,
    does: "sends half of a layer and then nothing, the connection open; once",
    right: "notices after half a minute, and goes on",
    upstream: (world) => [
      on("GET blob", async (exchange, next) => ({ ...(await next()), stall: 2_000_000 }), {
        where: ({ reference }) => reference === world.image.largest,
        times: 1,
      }),
    ],
    expect: [done, holds()],
  },
  {
    name: "closes-idle-connections",
    reports: ["docker-library/docker#221"],
    does: "closes the connection after each answer, saying nothing before",
    right: "opens another",
    upstream: () => [
      (exchange, next) => (exchange.response.once("finish", () => exchange.request.socket.destroySoon()), next()),
    ],
    expect: [done, holds()],
  },
  {
    name: "header-names-in-any-case",
    reports: ["RFC 9110"],
    source: tag,
    does: "writes header names in lower case",
    right: "the same",
    upstream: () => [
      on("* *", async (exchange, next) => {
        const answer = await next();
        return {
          ...answer,
          headers: Object.fromEntries(
            Object.entries(answer.headers).map(([name, value]) => [name.toLowerCase(), value]),
          ),
        };
      }),
    ],
    expect: [done, holds()],
  },
  {
    name: "etag-and-cookies",
    reports: ["RFC 9110"],
    does: "sets a cookie, an ETag and a Via",
    right: "takes no notice",
    upstream: () => [on("* *", headers({ "Set-Cookie": "session=1; Path=/", ETag: '"x"', Via: "1.1 proxy" }))],
    expect: [done, holds()],
  },
  {
    name: "large-layer-is-refused-whole",
    waits: true,
    reports: ["bazel-contrib/rules_img#762"],
    image: (make) => make.large(2_000_000),
    deadline: 60,
    does: "resets a layer after its first bytes, always at the same place",
    right: "gives up after a bounded number of attempts, naming the layer",
    upstream: (world) => [
      on("GET blob", async (exchange, next) => ({ ...(await next()), cut: 0, reset: true }), {
        where: ({ reference }) => reference === world.image.largest,
      }),
    ],
    expect: [fails(), holdsNothing(), asks("upstream", "GET blob", 2, 20)],
  },
];
