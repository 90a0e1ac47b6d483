// E. Where a request is sent on to, and what goes along.
import { asks, done, fails, holds, holdsNothing, noCredentials, says } from "../expect.mjs";
import { bearer, compress, error, headers, on, redirect } from "../rules.mjs";

const realm = (world) => `${world.tokens.origin}/token`;
const asksToken = (world) => [on("* *", bearer(world.tokens_, realm(world)))];
const ann = { user: "ann", password: "s3cret-word" };
const annAt = (world) => ({ [world.upstream.address]: ["ann", "s3cret-word"] });
const blobsElsewhere = (world) => [
  on(
    "GET|HEAD blob",
    redirect(() => world.elsewhere.origin),
  ),
];

export const redirects = [
  {
    name: "blobs-redirected",
    reports: ["open-policy-agent/opa#6580", "renovatebot/renovate#3877", "Azure/acr#217"],
    tokens: ann,
    credentials: annAt,
    does: "sends blobs to another host, which answers 400 where Authorization comes along",
    right: "drops it there",
    upstream: (world) => [...asksToken(world), ...blobsElsewhere(world)],
    elsewhere: () => [
      on("* *", error(400, "InvalidArgument", "Only one auth mechanism allowed"), {
        where: ({ headers }) => headers.authorization,
      }),
    ],
    expect: [done, holds(), noCredentials("elsewhere")],
  },
  {
    name: "redirected-and-asked-again",
    reports: ["google/go-containerregistry#2349", "google/go-containerregistry#2360"],
    tokens: ann,
    credentials: annAt,
    deadline: 30,
    does: "sends blobs to another host, which asks for a token itself",
    right: "fails; token and password stay with the registry",
    upstream: (world) => [...asksToken(world), ...blobsElsewhere(world)],
    elsewhere: (world) => [
      on("* *", {
        ...error(401, "UNAUTHORIZED", "who are you?"),
        headers: { "WWW-Authenticate": `Bearer realm="${realm(world)}",service="evil"` },
      }),
    ],
    expect: [fails(1), noCredentials("elsewhere"), holdsNothing(), asks("elsewhere", "* *", 1, 24)],
  },
  {
    name: "manifests-redirected",
    reports: ["moby/moby#50065"],
    source: (world) => `${world.upstream.address}/team/base:v1`,
    does: "answers 302 to HEAD and GET of manifests too",
    right: "follows, and verifies as ever",
    upstream: (world) => [
      on(
        "GET|HEAD manifest",
        redirect(() => world.elsewhere.origin, 302),
      ),
    ],
    expect: [done, holds()],
  },
  {
    name: "redirect-for-ever",
    waits: true,
    reports: ["moby/moby#50065"],
    does: "redirects blobs to themselves",
    right: "gives up after some ten",
    upstream: (world) => [
      on(
        "GET blob",
        redirect(() => world.upstream.origin),
      ),
    ],
    most: 400,
    expect: [fails(), says(/redirect/i, "the redirects"), holdsNothing()],
  },
  {
    name: "redirect-good-for-one",
    reports: ["anchore/stereoscope#695", "open-policy-agent/opa#6580"],
    image: (make) => make.large(4_000_000),
    does: "redirects blobs to addresses that are good for one request; the first transfer breaks off",
    right: "asks the registry for a new address and goes on",
    upstream: (world) => {
      let number = 0;
      return [
        on("GET blob", ({ url }) => ({
          status: 307,
          headers: { Location: `${world.elsewhere.origin}${url}?signed=${number++}` },
        })),
      ];
    },
    elsewhere: (world) => {
      const used = new Set();
      return [
        on("GET blob", ({ url }, next) =>
          used.has(url) ? error(403, "AccessDenied", "Request has expired") : (used.add(url), next()),
        ),
        on("GET blob", async (exchange, next) => ({ ...(await next()), cut: 3_000_000 }), {
          where: ({ reference }) => reference === world.image.largest,
          times: 1,
        }),
      ];
    },
    expect: [done, holds()],
  },
  {
    name: "redirect-without-tls",
    reports: ["google/go-containerregistry#2193", "distribution/distribution#479"],
    proxy: true,
    tls: true,
    does: "is an https registry that redirects blobs to http",
    right: "refuses, by name",
    source: (world) => `registry.test/team/base@${world.image.digest}`,
    upstream: () => [
      on(
        "GET blob",
        redirect(() => "http://cdn.test"),
      ),
    ],
    expect: [
      fails(1),
      asks("upstream", "GET blob", 1, 12),
      holdsNothing(),
      says(/redirect|https/i, "the redirect"),
      ({ world }) => (world.proxy.log.some(({ plain }) => plain) ? "asked for it without TLS" : undefined),
    ],
  },
  {
    name: "compressing-proxy",
    reports: ["distribution/distribution#4477"],
    does: "compresses what the client does not ask for as it is",
    right: "asks for `identity`, so that bytes are what their digest says",
    upstream: () => [on("GET blob", compress)],
    expect: [done, holds()],
  },
  {
    name: "quiet-about-the-digest",
    reports: [
      "containerd/containerd#3238",
      "distribution/distribution#3792",
      "distribution/distribution#3848",
      "crazy-max/diun#594",
    ],
    does: "sends no Docker-Content-Digest",
    right: "a tag costs a GET, whose bytes are hashed and not asked for again",
    source: (world) => `${world.upstream.address}/team/base:v1`,
    upstream: () => [on("GET|HEAD manifest", headers({ "Docker-Content-Digest": undefined }))],
    expect: [done, holds(), asks("upstream", "GET manifest", 3, 4)],
  },
];
