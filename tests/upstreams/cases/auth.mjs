// D and E. Challenges, tokens, and where credentials must not go.
import { asks, asksNothing, done, fails, fetchesOnce, holds, holdsNothing, requests, says, waits } from "../expect.mjs";
import { basic, bearer, headers, on, tooFast } from "../rules.mjs";

const realm = (world) => `${world.tokens.origin}/token`;
const asksToken = (options) => (world) => [on("* *", bearer(world.tokens_, realm(world), options))];
const ann = { user: "ann", password: "s3cret-word" };
const annAt = (host) => (world) => ({ [host ?? world.upstream.address]: ["ann", "s3cret-word"] });

/** What `docker login` writes beside an identity token. */
const nobody = Buffer.from("00000000-0000-0000-0000-000000000000:").toString("base64");

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
    name: "identity-token",
    reports: ["docs: token authentication, OAuth2"],
    does: "asks for a token; what is known is an identity token, as `docker login` keeps it",
    right: "shows it to the realm, by POST",
    tokens: { refresh: "s3cret-identity" },
    credentials: (world) => ({ [world.upstream.address]: { auth: nobody, identitytoken: "s3cret-identity" } }),
    upstream: asksToken(),
    expect: [done, holds()],
  },
  {
    name: "credential-helper",
    reports: ["docs: credential helpers", "containers/skopeo#1122"],
    tokens: ann,
    does: "asks for a token; the credentials are kept by a helper program",
    right: "asks the helper of that registry",
    helpers: (world) => ({ credHelpers: { [world.upstream.address]: "corpus" } }),
    helper: '#!/bin/sh\ncat >/dev/null\necho \'{"ServerURL":"x","Username":"ann","Secret":"s3cret-word"}\'\n',
    upstream: asksToken(),
    expect: [done, holds()],
  },
  {
    name: "credential-helper-ill",
    reports: ["docs: credential helpers"],
    tokens: ann,
    does: "asks for a token; the helper program fails, saying why",
    right: "fails, naming the helper or its words",
    helpers: (world) => ({ credHelpers: { [world.upstream.address]: "corpus" } }),
    helper: "#!/bin/sh\ncat >/dev/null\necho 'the keyring is locked'\nexit 1\n",
    upstream: asksToken(),
    expect: [fails(), says(/docker-credential-corpus|keyring is locked/, "the helper"), holdsNothing()],
  },
  {
    name: "credential-helper-missing",
    reports: ["docs: credential helpers"],
    tokens: ann,
    does: "asks for a token; the helper program that the file names is not there",
    right: "fails, naming the helper and the file",
    helpers: (world) => ({ credHelpers: { [world.upstream.address]: "corpus" } }),
    upstream: asksToken(),
    expect: [fails(1), says(/docker-credential-corpus/, "the helper"), says(/auth\.json/, "the file"), holdsNothing()],
  },
  {
    name: "credential-helper-hangs",
    slow: true,
    deadline: 60,
    reports: ["docs: credential helpers"],
    tokens: ann,
    does: "asks for a token; the helper program never answers",
    right: "gives up after half a minute, as where it fails",
    helpers: (world) => ({ credHelpers: { [world.upstream.address]: "corpus" } }),
    helper: "#!/bin/sh\nexec sleep 300\n",
    upstream: asksToken(),
    expect: [fails(69), says(/docker-credential-corpus did not answer/, "the helper"), holdsNothing()],
  },
  {
    name: "basic-refused",
    reports: ["containers/skopeo#1122"],
    credentials: annAt(),
    upstream: () => [on("* *", basic("ann", "another-word"))],
    does: "asks for user and password, and refuses those that are known",
    right: "sends them once, and names their file",
    expect: [
      fails(1),
      asks("upstream", "* *", 2, 2),
      says(/auth\.json/, "the file"),
      says(/refuse/, "that they are refused"),
    ],
  },
  {
    name: "token-server-429",
    reports: ["docker/hub-feedback#2040"],
    waits: true,
    does: "asks for a token; the realm answers 429 and `Retry-After: 1`, once",
    right: "waits and asks it again",
    upstream: (world) => {
      world.tokens.rules = [on("* token", () => tooFast({ "Retry-After": "1" }), { times: 1 })];
      return asksToken()(world);
    },
    expect: [done, holds(), waits("tokens", 429, 980)],
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
];
