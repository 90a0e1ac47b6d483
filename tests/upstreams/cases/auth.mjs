// D and E. Challenges, tokens, and where credentials must not go.
import {
  asks,
  asksNothing,
  done,
  fails,
  fetchesOnce,
  holds,
  holdsNothing,
  noCredentials,
  requests,
  says,
} from "../expect.mjs";
import { basic, bearer, compress, error, headers, on, redirect } from "../rules.mjs";

const realm = (world) => `${world.tokens.origin}/token`;
const asksToken = (options) => (world) => [on("* *", bearer(world.tokens_, realm(world), options))];
const ann = { user: "ann", password: "s3cret-word" };
const annAt = (host) => (world) => ({ [host ?? world.upstream.address]: ["ann", "s3cret-word"] });
const blobsElsewhere = (world) => [
  on(
    "GET|HEAD blob",
    redirect(() => world.elsewhere.origin),
  ),
];

/** A challenge that is written unusually. `text` gets the realm and the scope. */
const challenge = (name, does, text, reports = ["httpwg/http-core#136"]) => ({
  name: `challenge-${name}`,
  reports,
  does,
  right: "understands it and gets a token",
  credentials: annAt(),
  tokens: ann,
  upstream: (world) =>
    asksToken({ challenge: ({ repository }, where) => text(where, `repository:${repository}:pull`) })(world),
  expect: [done, holds(), asks("tokens", "* token", 1, 4)],
});

/** A realm that credentials must not be sent to. The registry is at registry.test, behind a proxy. */
const realmCase = (name, address, does) => ({
  name,
  reports: ["google/go-containerregistry#2193"],
  does,
  right: "refuses to ask there; the password stays here",
  proxy: true,
  tls: true,
  tokens: ann,
  credentials: annAt("registry.test"),
  source: (world) => `registry.test/team/base@${world.image.digest}`,
  upstream: (world) => [on("* *", bearer(world.tokens_, address(world)))],
  expect: [
    fails(1),
    asks("upstream", "* *", 1, 12),
    asksNothing(undefined, "tokens"),
    says(/realm|token|without TLS|address/i, "the realm"),
    (seen) => {
      const other = seen.world.proxy.log.find(({ host }) => host !== "registry.test");
      return other && `asked ${other.host}`;
    },
  ],
});

export const auth = [
  challenge(
    "two-in-one-header",
    'asks for Basic and Bearer in one header, with quoted commas and `\\"`',
    (where, scope) => `Basic realm="a \\"b\\", c", Bearer realm="${where}",service="x, y",scope="${scope}"`,
  ),
  challenge("two-headers", "asks for Basic in one header and Bearer in another", (where, scope) => [
    'Basic realm="corpus"',
    `Bearer realm="${where}",service="corpus",scope="${scope}"`,
  ]),
  challenge(
    "lower-case",
    "writes `bearer Realm=…`",
    (where, scope) => `bearer Realm="${where}",SERVICE="corpus",Scope="${scope}"`,
  ),
  challenge(
    "unquoted",
    "writes the service without quotes, and blanks around commas",
    (where, scope) => `Bearer realm="${where}" , service=corpus , scope="${scope}"`,
  ),
  challenge("unknown-scheme-first", "asks for Negotiate first", (where, scope) => [
    `Negotiate`,
    `Bearer realm="${where}",service="corpus",scope="${scope}"`,
  ]),
  challenge("without-scope", "does not say which scope", (where) => `Bearer realm="${where}",service="corpus"`, [
    "appc/docker2aci#126",
  ]),
  {
    ...challenge("without-scope-or-service", "says the realm alone", (where) => `Bearer realm="${where}"`, [
      "appc/docker2aci#126",
      "cesanta/docker_auth#146",
    ]),
    expect: [
      done,
      holds(),
      (seen) => {
        const empty = requests(seen, "tokens").find(({ url }) => /[?&]scope=(&|$)/.test(url));
        return empty && "asked with an empty scope=";
      },
    ],
  },
  {
    name: "scope-with-two-entries",
    ownTokens: true,
    reports: ["containers/container-libs#1130"],
    does: "is well; the destination's challenge has two scopes with a blank between",
    right: "the token is for both",
    destination: (world) => [
      on(
        "* *",
        bearer(world.tokens_, realm(world), {
          challenge: ({ repository }, where) =>
            `Bearer realm="${where}",service="corpus",scope="repository:${repository}:pull repository:${repository}:push"`,
        }),
      ),
    ],
    expect: [done, holds()],
  },
  {
    name: "token-ends-while-downloading",
    reports: ["cesanta/docker_auth#240"],
    tokens: { ...ann, uses: 2 },
    credentials: annAt(),
    upstream: asksToken(),
    most: 80,
    does: "gives tokens that are good for two requests",
    right: "asks for another when one is refused",
    expect: [done, holds()],
  },
  {
    name: "token-ends-while-uploading",
    reports: ["cesanta/docker_auth#240"],
    image: (make) => make.large(12_000_000),
    ownTokens: true,
    does: "is well; the destination's token ends while a layer of 12 MB is sent: what begins later is 401",
    right: "asks for another token and ends the upload; the layer is not sent again",
    destination: (world) => [
      on("* *", bearer(world.tokens_, realm(world))),
      on("PATCH|PUT upload", async (exchange, next) => {
        const answer = await next();
        if (exchange.method === "PATCH" && (await exchange.body()).length > 1_000_000) world.tokens_.issued.clear();
        return answer;
      }),
    ],
    expect: [done, holds(), fetchesOnce],
  },
  {
    name: "large-put-refused-once",
    reports: ["oras-project/oras#456", "cesanta/docker_auth#240"],
    image: (make) => make.large(12_000_000),
    ownTokens: true,
    does: "is well; a proxy before the destination takes all of a layer of 12 MB, and then says 401, the token having ended",
    right: "sends it again with a new token, fetching it again where it must",
    destination: (world) => {
      let late = true;
      return [
        on("PUT|PATCH upload", async (exchange, next) => {
          if (late && (await exchange.body()).length > 1_000_000) ((late = false), world.tokens_.issued.clear());
          return next();
        }),
        on("* *", bearer(world.tokens_, realm(world))),
      ];
    },
    expect: [done, holds(), asks("upstream", "GET blob", 2, 4)],
  },
  {
    name: "put-refused-once",
    ownTokens: true,
    reports: ["oras-project/oras#456"],
    does: "is well; the destination answers 401 to the first blob's body",
    right: "sends it again with a new token",
    destination: (world) => {
      let late = true;
      return [
        on(
          "PUT|PATCH upload",
          async (exchange, next) => (
            late && (await exchange.body()).length > 0 && ((late = false), world.tokens_.issued.clear()),
            next()
          ),
        ),
        on("* *", bearer(world.tokens_, realm(world))),
      ];
    },
    expect: [done, holds(), fetchesOnce],
  },
  {
    name: "token-as-access_token",
    reports: ["docs: token authentication, OAuth2 answers"],
    tokens: { answer: (token) => ({ access_token: token }) },
    upstream: asksToken(),
    does: "answers `access_token` without `expires_in`",
    right: "takes either name, and 60 s",
    expect: [done, holds()],
  },
  {
    name: "tokens-few",
    reports: ["docs: token authentication"],
    upstream: asksToken(),
    does: "asks for tokens; one is good for every manifest and blob of a repository",
    right: "asks for one",
    expect: [done, holds(), asks("tokens", "* token", 1, 2)],
  },
  {
    name: "basic",
    reports: ["docs: Basic"],
    credentials: annAt(),
    upstream: () => [on("* *", basic("ann", "s3cret-word"))],
    does: "asks for user and password",
    right: "gives them",
    expect: [done, holds()],
  },
  {
    name: "token-refused",
    reports: ["containers/skopeo#1122"],
    tokens: ann,
    credentials: (world) => ({ [world.upstream.address]: ["ann", "s3cret-wrong"] }),
    upstream: asksToken(),
    does: "refuses the credentials",
    right: "fails naming credentials; does not try again and again",
    expect: [
      fails(1),
      says(/credential|unauthori[sz]ed|password|login/i, "credentials"),
      asks("tokens", "* token", 1, 4),
    ],
  },
  {
    name: "401-for-ever",
    reports: ["google/go-containerregistry#2349"],
    tokens: { uses: 0 },
    upstream: asksToken(),
    does: "gives tokens and accepts none",
    right: "gives up",
    expect: [fails(1), asks("upstream", "* *", 1, 12), asks("tokens", "* token", 1, 8)],
  },
  realmCase("realm-without-tls", () => "http://auth.test/token", "is an https registry that names an http realm"),
  realmCase(
    "realm-private",
    () => "https://10.0.0.1/token",
    "is a public registry that names a realm at a private address",
  ),
  realmCase(
    "realm-loopback",
    (world) => `http://127.0.0.1:${world.tokens.port}/token`,
    "is a public registry that names a realm on this machine",
  ),
  {
    name: "blobs-redirected",
    reports: ["open-policy-agent/opa#6580", "renovatebot/renovate#3877", "Azure/acr#217"],
    tokens: ann,
    credentials: annAt(),
    does: "sends blobs to another host, which answers 400 where Authorization comes along",
    right: "drops it there",
    upstream: (world) => [...asksToken()(world), ...blobsElsewhere(world)],
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
    credentials: annAt(),
    deadline: 30,
    does: "sends blobs to another host, which asks for a token itself",
    right: "fails; token and password stay with the registry",
    upstream: (world) => [...asksToken()(world), ...blobsElsewhere(world)],
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
