// F. The destination: the mesh's registry, as real ones are.
import { asks, done, fails, fetchesOnce, holds, holdsNothing, orNames, requests, says } from "../expect.mjs";
import { bearer, breakOff, error, headers, on } from "../rules.mjs";

const location = (change) =>
  headers(({ headers: { host } }, answer) => {
    const now = answer.headers.location ?? answer.headers.Location;
    return now ? { Location: change(now, host) } : {};
  });

/** Two images that share layers, the second copied to another repository. Its mounts get `answer`. */
const mount = (name, reports, does, answer, right = "goes on with an upload, or finds that the repository has it") => ({
  name: `mount-${name}`,
  reports,
  does: `is well; ${does}`,
  right,
  runs: 2,
  image: (make, world) => {
    const layers = [make.layer(), make.layer()];
    world.first = make.image({ layers });
    return make.image({ layers: [...layers, make.layer()] });
  },
  upstream: (world) => (world.store.hold(world.first), []),
  pairsOf: (world, run) => [
    run === 1 ? [world.pinned(world.first), `${world.repository}/first`] : [world.pinned(), world.repository],
  ],
  destination: () => [on("POST upload", answer, { where: ({ query }) => query.has("mount") })],
  expect: [done, holds()],
});

const mountedFalsely = ({ query, repository }) => ({
  status: 201,
  headers: { Location: `/v2/${repository}/blobs/${query.get("mount")}`, "Docker-Content-Digest": query.get("mount") },
});

/** A token for the destination makes clients send large blobs in two requests. */
const withToken = (world) => on("* *", bearer(world.tokens_, `${world.tokens.origin}/token`));

export const uploads = [
  {
    name: "destination-as-measured",
    reports: ["measured: docker-registry 2.8.2"],
    most: 40,
    does: "is well; the destination is Debian's docker-registry as it is: absolute locations with a query, a POST with a digest taken for a plain one",
    right: "done",
    expect: [done, holds(), fetchesOnce],
  },
  {
    name: "few-requests",
    reports: ["oras-project/oras#923"],
    does: "is well; nothing is held",
    right: "at most three requests to the destination for a blob, one for a manifest",
    expect: [
      done,
      holds(),
      (seen) => {
        const most = 3 * seen.image.blobs.size + seen.image.manifests.size + 3;
        const count = requests(seen, "destination").length;
        return count > most ? `${count} requests to the destination, not at most ${most}` : undefined;
      },
    ],
  },
  {
    name: "location-relative",
    reports: ["apple/swift-container-plugin#44"],
    does: "is well; the destination's Location is a path",
    right: "resolves it as any URL",
    destination: () => [
      on(
        "* upload",
        location((now) => now.replace(/^https?:\/\/[^/]+/, "")),
      ),
    ],
    expect: [done, holds()],
  },
  {
    name: "location-outside-v2",
    reports: ["oras-project/rust-oci-client#175"],
    does: "is well; the destination's Location is outside /v2",
    right: "takes it as it is",
    destination: () => [
      (exchange, next) => {
        const inside = /^\/artifacts-uploads\/(.*)$/.exec(exchange.url);
        if (!inside) return next();
        exchange.url = `/v2/${inside[1]}`;
        exchange.kind = "upload";
        return next();
      },
      on(
        "* upload",
        location((now) => now.replace("/v2/", "/artifacts-uploads/")),
      ),
    ],
    expect: [done, holds()],
  },
  {
    name: "location-with-a-query",
    reports: ["measured: docker-registry's `?_state=`", "opencontainers/distribution-spec#415"],
    does: "is well; the destination's Location has a query of its own",
    right: "keeps it and adds `&digest=`",
    destination: () => {
      const odd = "d=b%2Fc&a=%7E+e%3D%3D";
      const kept = ({ query }) => query.get("d") === "b/c" && query.get("a") === "~ e==" && query.has("_state");
      return [
        on("PATCH|PUT upload", (exchange, next) =>
          kept(exchange)
            ? next()
            : error(404, "BLOB_UPLOAD_INVALID", `the query is not what was given: ${exchange.url.split("?")[1]}`),
        ),
        on(
          "* upload",
          location((now) => `${now}${now.includes("?") ? "&" : "?"}${odd}`),
        ),
      ];
    },
    expect: [done, holds()],
  },
  {
    name: "location-newest",
    ownTokens: true,
    reports: ["opencontainers/distribution-spec#415", "measured: an older Location is 404 BLOB_UPLOAD_INVALID"],
    image: (make) => make.large(3_000_000),
    does: "is well; each of the destination's answers has a new Location, older ones are refused",
    right: "always goes on at the newest",
    destination: (world) => {
      const newest = new Map();
      let number = 0;
      return [
        withToken(world),
        on("PATCH|PUT|GET upload", (exchange, next) =>
          exchange.query.get("at") === newest.get(exchange.reference)
            ? next()
            : error(404, "BLOB_UPLOAD_INVALID", "an older location"),
        ),
        on(
          "* upload",
          location((now) => {
            const id = new URL(now).pathname.split("/").at(-1);
            newest.set(id, String(number++));
            return `${now}&at=${newest.get(id)}`;
          }),
        ),
      ];
    },
    expect: [done, holds()],
  },
  {
    name: "location-without-tls",
    reports: [
      "distribution/distribution#479",
      "distribution/distribution#2225",
      "distribution/distribution#2912",
      "distribution/distribution#970",
    ],
    destinationTls: true,
    does: "is well; the destination speaks TLS, its Location says http",
    right: "refuses, naming X-Forwarded-Proto or relativeurls",
    destination: () => [
      on(
        "* upload",
        location((now) => now.replace("https:", "http:")),
      ),
    ],
    expect: [fails(1), says(/X-Forwarded-Proto|relativeurls/i, "X-Forwarded-Proto"), holdsNothing()],
  },
  {
    name: "destination-with-tls",
    reports: ["google/go-containerregistry#451"],
    destinationTls: true,
    does: "is well; the destination speaks TLS with a CA that is declared",
    right: "done",
    destination: () => [
      on(
        "* upload",
        location((now) => now.replace("http:", "https:")),
      ),
    ],
    expect: [done, holds()],
  },
  {
    name: "content-range-refused",
    reports: ["openai/tart#179"],
    does: "is well; the destination refuses a Content-Range on the request that ends an upload",
    right: "sends none where the body is whole",
    destination: () => [
      on("PUT upload", error(416, "BLOB_UPLOAD_INVALID", "content range of a monolithic upload"), {
        where: ({ headers }) => headers["content-range"],
      }),
    ],
    expect: [done, holds()],
  },
  {
    name: "upload-broken-off",
    reports: ["apple/containerization#790"],
    image: (make) => make.large(3_000_000),
    does: "is well; the destination drops the connection in the middle of a layer, once, and answers 416 to bytes it has",
    right: "asks where it stands, or begins a new upload",
    destination: () => {
      let broken;
      return [
        on("PUT|PATCH upload", (exchange, next) => {
          if (exchange.reference === broken) return { status: 416, headers: { Range: "0-499999" } };
          if (broken || Number(exchange.headers["content-length"] ?? 1e9) < 1_000_000) return next();
          broken = exchange.reference;
          return breakOff(500_000)(exchange);
        }),
      ];
    },
    expect: [done, holds()],
  },
  {
    name: "upload-fails-in-the-middle",
    reports: ["apple/containerization#790"],
    image: (make) => make.large(3_000_000),
    does: "is well; the destination answers 500 to a layer, once, when all of it is there",
    right: "sends it again",
    destination: () => [
      on("PUT|PATCH upload", async (exchange) => (await exchange.body(), error(500, "UNKNOWN", "unknown error")), {
        where: ({ headers }) => Number(headers["content-length"] ?? 1e9) > 1_000_000,
        times: 1,
      }),
    ],
    expect: [done, holds()],
  },
  {
    name: "upload-forgotten",
    reports: ["opencontainers/distribution-spec#415", "measured: 404 for an upload that is not known"],
    does: "is well; the destination answers 404 BLOB_UPLOAD_UNKNOWN to the bytes of an upload that it began, once",
    right: "begins another",
    destination: () => [
      on(
        "PUT|PATCH upload",
        async (exchange) => (
          await exchange.body(),
          error(404, "BLOB_UPLOAD_UNKNOWN", "blob upload unknown to registry")
        ),
        { times: 1 },
      ),
    ],
    expect: [
      done,
      holds(),
      (seen) =>
        requests(seen, "destination", "POST upload").length <= seen.image.blobs.size
          ? "began no other upload"
          : undefined,
    ],
  },
  {
    name: "upload-range-off-by-one",
    ownTokens: true,
    reports: ["docker/for-linux#1296"],
    image: (make) => make.large(3_000_000),
    does: "is well; the destination's Range after a PATCH counts one byte too many",
    right: "counts what it sent itself",
    destination: (world) => [
      withToken(world),
      on("PATCH upload", async (exchange, next) => {
        const answer = await next();
        return { ...answer, headers: { ...answer.headers, range: `0-${(await exchange.body()).length}` } };
      }),
    ],
    expect: [done, holds()],
  },
  mount(
    "answered-202",
    ["goharbor/harbor#22863", "measured: 202 where `from` does not have it"],
    "the destination answers a mount with 202 and an upload",
    (exchange, next) => {
      exchange.url = exchange.url.split("?")[0];
      return next();
    },
    "goes on with that upload",
  ),
  mount(
    "refused-400",
    ["quay/quay#899"],
    "the destination answers 400 to a mount",
    error(400, "INVALID_REQUEST", "invalid mount"),
  ),
  {
    ...mount("refused-401", ["oras-project/oras#1924"], "the destination answers 401 to a mount, whatever the token"),
    ownTokens: true,
    destination: (world) => [
      withToken(world),
      on(
        "POST upload",
        ({ repository }) => ({
          ...error(401, "UNAUTHORIZED", "authentication required"),
          headers: {
            "WWW-Authenticate": `Bearer realm="${world.tokens.origin}/token",service="corpus",scope="repository:${repository}:pull,push",error="insufficient_scope"`,
          },
        }),
        { where: ({ query }) => query.has("mount") },
      ),
    ],
  },
  mount(
    "refused-403",
    ["oras-project/oras#1924"],
    "the destination answers 403 to a mount",
    error(403, "DENIED", "requested access to the resource is denied"),
  ),
  mount(
    "refused-404",
    ["oras-project/oras#1924"],
    "the destination answers 404 to a mount",
    error(404, "NAME_UNKNOWN", "repository name not known to registry"),
  ),
  mount(
    "refused-405",
    ["measured: mounts may be unsupported"],
    "the destination answers 405 to a mount",
    error(405, "UNSUPPORTED", "The operation is unsupported."),
  ),
  {
    ...mount(
      "answered-201-falsely",
      ["goharbor/harbor#22863"],
      "the destination answers 201 to a mount, and then does not have the blob",
      undefined,
      "brings it, or fails with MANIFEST_BLOB_UNKNOWN's words; never done",
    ),
    destination: (world) => [
      on("POST upload", mountedFalsely, {
        where: ({ query, repository }) => query.has("mount") && repository === world.repository,
      }),
    ],
    expect: [asks("destination", "PUT manifest", 1, Infinity), orNames(/unknown|lacks|does not have/i, "the blob")],
  },
  {
    ...mount(
      "used",
      ["containers/skopeo#1801"],
      "the destination mounts",
      (exchange, next) => next(),
      "asks upstream for the new layer alone",
    ),
    expect: [
      done,
      holds(),
      (seen) => {
        const shared = requests(seen, "upstream", "GET blob", 2).filter(({ reference }) =>
          seen.world.first.blobs.has(reference),
        );
        return shared.length > 0 ? `fetched ${shared.length} blobs that the registry has` : undefined;
      },
    ],
  },
  {
    name: "two-at-once",
    reports: ["containerd/nerdctl#2404", "docs: mirror recipe, concurrent pulls"],
    together: 2,
    most: 80,
    image: (make) => make.base({ layers: [make.layer({ size: 200_000 })] }),
    does: "is asked by two processes at once for images with the same layers",
    right: "both are done, and each content is fetched once",
    pairsOf: (world, run) => [[world.pinned(), `${world.repository}/${run}`]],
    expect: [
      done,
      (seen) => holds({ repository: `${seen.world.repository}/1` })(seen),
      (seen) => holds({ repository: `${seen.world.repository}/2` })(seen),
      fetchesOnce,
    ],
  },
];
