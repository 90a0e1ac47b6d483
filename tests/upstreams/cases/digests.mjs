// B. What comes is not what was asked for, or not all of it.
import { Image, digestOf } from "../images.mjs";
import { asks, done, fails, fetchesOnce, holds, holdsNothing, orNames, requests, says } from "../expect.mjs";
import { but, headers, on, page } from "../rules.mjs";

const largest = ({ image }) => image.largest;
const theLayer =
  (world) =>
  ({ reference }) =>
    reference === world.image.largest;

/** Bytes of the layer that the upstream has written, in all its answers. */
const sentOfLayer = (seen) =>
  requests(seen, "upstream", "GET blob")
    .filter(({ reference }) => reference === seen.image.largest)
    .reduce((sum, { sent }) => sum + sent, 0);

const layerCase = (rule, extra) => ({
  image: (make) => make.large(),
  upstream: (world) => [on("GET blob", rule(world), { where: theLayer(world), ...extra })],
});

export const digests = [
  {
    name: "sha512-where-sha256-alone-is-stored",
    reports: ["distribution/distribution#4420", "measured: docker-registry refuses a manifest by sha512"],
    does: "has the image under a sha512 digest; the destination takes sha256 alone",
    right: "fails, naming sha512 or what the registry refuses",
    image: (make) => make.image({ algorithm: "sha512", layers: [make.layer()] }),
    expect: [fails(1), says(/sha512|DIGEST_INVALID|digest/i, "the digest")],
  },
  {
    name: "sha512",
    reports: ["google/go-containerregistry#2427", "jonjohnsonjr/dagdotdev#135"],
    scripted: true,
    does: "has image, config and layers under sha512; so does the destination",
    right: "hashes each with its own digest's algorithm",
    image: (make) => make.image({ algorithm: "sha512", layers: [make.layer({ algorithm: "sha512" }), make.layer()] }),
    expect: [done, holds()],
  },
  {
    name: "sha512-layer-stored-as-sha256",
    reports: ["measured: docker-registry answers 201 to a blob by sha512, and keeps it as sha256"],
    does: "has a layer under sha512; the destination answers 201 with another digest",
    right: "looks whether it has the layer under its name; else fails, naming it",
    image: (make) => make.image({ layers: [make.layer({ algorithm: "sha512" })] }),
    expect: [orNames(/sha512/, "the digest")],
  },
  {
    name: "another-manifest",
    reports: ["oras-project/rust-oci-client#149"],
    does: "answers with another manifest, correct in itself",
    right: "compares with the digest that was asked for; stores nothing",
    upstream: (world) => {
      const other = world.make.base();
      world.store.hold(other);
      return [
        on("GET manifest", () => ({ headers: { "Content-Type": other.type }, body: other.bytes }), {
          where: ({ reference }) => reference === world.image.digest,
        }),
      ];
    },
    expect: [fails(1), says(/digest|sha256|match/i, "the digest"), holdsNothing()],
  },
  {
    name: "another-child",
    reports: ["oras-project/rust-oci-client#149"],
    does: "answers with the other platform's manifest for a child",
    right: "the same for every manifest of an index",
    upstream: (world) => {
      const [first, second] = [...world.image.manifests.keys()];
      return [
        on(
          "GET manifest",
          () => ({
            headers: { "Content-Type": world.store.manifests.get(second).type },
            body: world.store.manifests.get(second).bytes,
          }),
          { where: ({ reference }) => reference === first },
        ),
      ];
    },
    expect: [fails(1), says(/digest|sha256|match/i, "the digest"), holdsNothing()],
  },
  {
    name: "another-layer",
    reports: ["goharbor/harbor#23911", "measured: docker-registry serves changed bytes with the right digest header"],
    does: "sends a layer with one byte changed, size and headers right",
    right: "hashes while it passes on; stores nothing",
    ...layerCase(() =>
      but(({ body }) => ({ body: Buffer.concat([body.subarray(0, -1), Buffer.from([body.at(-1) ^ 1])]) })),
    ),
    expect: [
      fails(1),
      says(/digest|sha256|match/i, "the digest"),
      holdsNothing(largest),
      asks("upstream", "GET blob", 1, 12),
    ],
  },
  {
    name: "page-for-everything",
    reports: ["goharbor/harbor#23911"],
    does: "answers 200 and an HTML page to whatever is asked",
    right: "says that it is a page; stores nothing",
    upstream: () => [on("* *", page)],
    expect: [fails(1), says(/html|page|digest|manifest/i, "what came"), holdsNothing()],
  },
  {
    name: "page-for-layers",
    reports: ["goharbor/harbor#23911"],
    does: "answers 200 and an HTML page in place of each blob",
    right: "stops at the first by name; stores nothing",
    upstream: () => [on("GET blob", page)],
    expect: [
      fails(1),
      says(/html|page|sha256|digest|size|bytes/i, "what came"),
      holdsNothing(),
      asks("upstream", "GET blob", 1, 16),
    ],
  },
  {
    name: "digest-header-lies",
    reports: ["distribution/distribution#3718", "distribution/distribution#2395", "distribution/distribution#1444"],
    does: "sends the right manifest with another's Docker-Content-Digest",
    right: "hashes the body and never trusts the header; a header that differs is an error",
    upstream: () => [on("GET manifest", headers({ "Docker-Content-Digest": digestOf("another") }))],
    expect: [fails(1), says(/digest|sha256|match/i, "the digest"), holdsNothing()],
  },
  {
    name: "digest-header-lies-about-a-tag",
    reports: ["distribution/distribution#3718"],
    does: "answers HEAD of a tag with the digest of something that it does not have",
    right: "fails by name, after a bounded number of requests",
    source: (world) => `${world.upstream.address}/team/base:v1`,
    upstream: () => [
      on("HEAD manifest", headers({ "Docker-Content-Digest": digestOf("another") })),
      on("GET manifest", headers({ "Docker-Content-Digest": digestOf("another") })),
    ],
    expect: [fails(1), holdsNothing(), asks("upstream", "GET|HEAD manifest", 1, 6)],
  },
  {
    name: "endless-layer",
    reports: ["google/go-containerregistry#1044"],
    deadline: 20,
    does: "sends far more of a layer than its descriptor says, without a length",
    right: "stops at the size; stores nothing",
    ...layerCase(
      () => (exchange, next) =>
        Promise.resolve(next()).then((answer) => ({ ...answer, chunked: true, endless: 256 << 20 })),
    ),
    expect: [
      fails(1),
      holdsNothing(largest),
      asks("upstream", "GET blob", 1, 16),
      (seen) => (sentOfLayer(seen) > 24 << 20 ? `took ${sentOfLayer(seen) >> 20} MiB of a layer of 0.4` : undefined),
    ],
  },
  {
    name: "endless-manifest",
    reports: ["google/go-containerregistry#1044"],
    does: "sends a manifest without end",
    right: "stops at 4 MiB",
    upstream: () => [
      on("GET manifest", async (exchange, next) => ({ ...(await next()), chunked: true, endless: 256 << 20 })),
    ],
    expect: [
      fails(1),
      holdsNothing(),
      asks("upstream", "GET manifest", 1, 16),
      (seen) => {
        const sent = Math.max(...requests(seen, "upstream", "GET manifest").map((each) => each.sent));
        return sent > 16 << 20 ? `took ${sent >> 20} MiB of a manifest` : undefined;
      },
    ],
  },
  {
    name: "short-layer",
    reports: ["mcronce/oci-registry#13"],
    does: "sends half of a layer with a Content-Length that says so",
    right: "compares with the descriptor's size; stores nothing",
    ...layerCase(() => but(({ body }) => ({ body: body.subarray(0, body.length / 2) }))),
    expect: [fails(1), holdsNothing(largest), asks("upstream", "GET blob", 1, 16)],
  },
  {
    name: "broken-off-once",
    reports: ["docker-library/docker#221", "anchore/stereoscope#695", "project-zot/zot#4246"],
    does: "closes the connection three quarters through a layer of 4 MB, once",
    right: "goes on from there with Range",
    ...layerCase(() => async (exchange, next) => ({ ...(await next()), cut: 3_000_000 }), { times: 1 }),
    image: (make) => make.large(4_000_000),
    expect: [
      done,
      holds(),
      (seen) =>
        sentOfLayer(seen) > 5_000_000
          ? `was sent ${(sentOfLayer(seen) / 1e6).toFixed(1)} MB of a layer of 4`
          : undefined,
    ],
  },
  {
    name: "broken-off-always",
    waits: true,
    reports: ["mcronce/oci-registry#13", "docker-library/docker#221"],
    does: "closes the connection before the first byte of a layer, always",
    right: "gives up after a bounded number of attempts; stores nothing",
    ...layerCase(() => async (exchange, next) => ({ ...(await next()), cut: 0 })),
    expect: [fails(), holdsNothing(largest), asks("upstream", "GET blob", 1, 16)],
  },
  {
    name: "reset-twice",
    waits: true,
    reports: ["tiiuae/ghaf-infra#1115", "bazel-contrib/rules_img#762"],
    does: "resets the connection in the middle of a layer, twice",
    right: "goes on",
    ...layerCase(() => async (exchange, next) => ({ ...(await next()), cut: 1_300_000, reset: true }), { times: 2 }),
    image: (make) => make.large(4_000_000),
    expect: [done, holds()],
  },
  {
    name: "range-ignored",
    reports: ["anchore/stereoscope#695"],
    does: "breaks off once, then answers the Range with 200 and all of it",
    right: "begins again with the whole body",
    image: (make) => make.large(4_000_000),
    upstream: (world) => [
      on("GET blob", async (exchange, next) => ({ ...(await next()), cut: 3_000_000 }), {
        where: theLayer(world),
        times: 1,
      }),
      on("GET blob", (exchange, next) => (delete exchange.headers.range, next()), { where: theLayer(world) }),
    ],
    expect: [done, holds()],
  },
  {
    name: "range-elsewhere",
    reports: ["anchore/stereoscope#695"],
    does: "breaks off once, then answers the Range from another place, and says so in Content-Range",
    right: "looks at Content-Range; never puts the two together",
    image: (make) => make.large(4_000_000),
    upstream: (world) => [
      on("GET blob", async (exchange, next) => ({ ...(await next()), cut: 3_000_000 }), {
        where: theLayer(world),
        times: 1,
      }),
      on("GET blob", (exchange, next) => ((exchange.headers.range = "bytes=1000-"), next()), {
        where: (exchange) => theLayer(world)(exchange) && exchange.headers.range,
        times: 1,
      }),
    ],
    expect: [orNames(/range|digest|sha256/i, "the range")],
  },
  {
    name: "size-of-another",
    reports: ["google/go-containerregistry#1044"],
    does: "has a manifest whose descriptor in the index gives another size",
    right: "fails by name; stores nothing",
    image: (make) => {
      const child = make.image();
      const index = make.index([child]);
      return new Image(
        index.type,
        { schemaVersion: 2, mediaType: index.type, manifests: [{ ...child.descriptor, size: child.bytes.length + 7 }] },
        [child],
      );
    },
    expect: [fails(1), says(/size|bytes|length/i, "the size"), holdsNothing()],
  },
  {
    name: "layers-once",
    reports: ["project-zot/zot#4042"],
    does: "has two platforms that share layers",
    right: "fetches each content once",
    image: (make) => {
      const layers = [make.layer(), make.layer()];
      return make.index(["amd64", "arm64"].map((platform) => make.image({ platform, layers })));
    },
    expect: [done, holds(), fetchesOnce],
  },
];
