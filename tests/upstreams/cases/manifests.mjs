// G. What images consist of.
import { Image, types, accepted } from "../images.mjs";
import { asks, done, fails, holds, holdsNothing, orNames, requests, says } from "../expect.mjs";
import { error, headers, on, strictAccept } from "../rules.mjs";

/** An image that looks odd and is right: copied as it is. */
const odd = (name, does, image, reports = ["measured: docker-registry takes it"], more = []) => ({
  name,
  reports,
  does,
  right: "copies it as it is",
  image,
  expect: [done, holds(), ...more],
});

const nested = (depth) => (make) => {
  let inner = make.base();
  for (let at = 1; at < depth; ++at) inner = make.index([inner]);
  return inner;
};

/** The manifests were put in an order in which `first` came before `second`. */
const putBefore = (first, second) => (seen) => {
  const order = requests(seen, "destination", "PUT manifest")
    .filter(({ status }) => status === 201)
    .map(({ reference }) => reference);
  const at = (image) => order.indexOf(image(seen).digest);
  return at(first) < 0 ? undefined : at(first) < at(second) ? undefined : "put the referrer before its subject";
};

export const manifests = [
  {
    name: "sparse-index",
    reports: [
      "distribution/distribution#3536",
      "opencontainers/distribution-spec#310",
      "regclient/regclient#836",
      "regclient/regclient#875",
    ],
    does: "has an index and not one of its children",
    right: "fails, naming the child; never rewrites an index",
    upstream: (world) => (world.store.manifests.delete([...world.image.manifests.keys()][0]), []),
    expect: [fails(1), says(/manifest unknown|404|not found/i, "what is missing"), holdsNothing()],
  },
  {
    name: "sparse-refused-by-the-destination",
    reports: ["regclient/regclient#836", "regclient/regclient#884", "measured: 400 MANIFEST_BLOB_UNKNOWN"],
    does: "is well; the destination refuses an index whose children it does not have",
    right: "children first, all of them",
    destination: (world) => {
      const put = new Set();
      return [
        on("PUT manifest", async (exchange, next) => {
          const children = JSON.parse(await exchange.body()).manifests ?? [];
          if (!children.every(({ digest }) => put.has(digest)))
            return error(400, "MANIFEST_BLOB_UNKNOWN", "blob unknown to registry");
          put.add(exchange.reference.includes(":") ? exchange.reference : world.image.digest);
          return next();
        }),
      ];
    },
    expect: [done, holds()],
  },
  odd("nested-index", "has an index within an index", nested(2), [
    "containers/skopeo#2068",
    "pelagos-containers/pelagos#533",
    "apptainer/apptainer#2905",
  ]),
  odd(
    "nested-index-deeper",
    "has indexes four deep, and an image beside them",
    (make) => make.index([nested(3)(make), make.image()]),
    ["containers/skopeo#2068"],
  ),
  {
    name: "nested-for-ever",
    reports: ["containers/skopeo#2068"],
    image: nested(40),
    most: 120,
    does: "has forty indexes, each within the next",
    right: "has a limit, and names it",
    expect: [fails(1), says(/deep|depth|nest|level/i, "the depth"), holdsNothing()],
  },
  odd(
    "attestations",
    "has unknown/unknown children, as BuildKit makes them",
    (make) => {
      const images = ["amd64", "arm64"].map((platform) => make.image({ platform }));
      return make.index([...images, ...images.map((image) => make.attestation(image))]);
    },
    ["openshift/oc-mirror#1526", "zarf-dev/zarf#5272", "spiffe/spiffe-csi#280"],
  ),
  {
    name: "subject-first",
    reports: ["magda-io/magda#3769", "moby/buildkit#7007"],
    does: "lists an attestation before the image that is its subject; the destination refuses one whose subject it lacks",
    right: "puts the subject first",
    image: (make, world) => {
      world.about = make.image();
      world.statement = make.attestation(world.about, { subject: true });
      return make.index([world.statement, world.about]);
    },
    destination: () => {
      const put = new Set();
      return [
        on("PUT manifest", async (exchange, next) => {
          const { subject } = JSON.parse(await exchange.body());
          if (subject && !put.has(subject.digest)) return error(400, "MANIFEST_INVALID", "subject not found");
          put.add(exchange.reference);
          return next();
        }),
      ];
    },
    expect: [
      done,
      holds(),
      putBefore(
        (seen) => seen.world.about,
        (seen) => seen.world.statement,
      ),
    ],
  },
  odd(
    "subject-that-nobody-has",
    "is an artifact whose subject is nowhere",
    (make) => make.artifact({ subject: make.image() }),
    ["opencontainers/distribution-spec: subject may be missing"],
  ),
  odd(
    "no-referrers-tag",
    "is an artifact; the destination answers without OCI-Subject and has no referrers",
    (make) => make.artifact({ subject: make.image() }),
    ["google/go-containerregistry#2205", "measured: /referrers/ is 404 in plain text"],
    [
      (seen) => {
        const tag = requests(seen, "destination", "PUT manifest").find(({ reference }) => /^sha256-/.test(reference));
        return tag && `put the tag ${tag.reference.slice(0, 13)}…, which two writers lose`;
      },
    ],
  ),
  {
    name: "accept-all-four",
    reports: [
      "sigstore/sigstore-js#1162",
      "eclipse-che/che-plugin-registry#2082",
      "measured: 404 where Accept lacks the type",
    ],
    does: "answers 404 to those whose Accept does not have all four types",
    right: "always sends all four",
    upstream: () => [on("GET|HEAD manifest", strictAccept(accepted))],
    destination: () => [on("GET|HEAD manifest", strictAccept(accepted))],
    runs: 2,
    expect: [done, holds()],
  },
  {
    name: "content-type-with-charset",
    reports: ["camallo/dkregistry-rs#176"],
    does: "adds `; charset=utf-8` to every Content-Type",
    right: "takes the type without it",
    upstream: () => [
      on(
        "GET|HEAD manifest",
        headers((exchange, { headers: all }) => ({ "Content-Type": `${all["Content-Type"]}; charset=utf-8` })),
      ),
    ],
    expect: [done, holds()],
  },
  {
    name: "content-type-says-nothing",
    reports: ["camallo/dkregistry-rs#176"],
    does: "serves manifests as application/octet-stream",
    right: "goes by the manifest's own mediaType",
    upstream: () => [on("GET|HEAD manifest", headers({ "Content-Type": "application/octet-stream" }))],
    expect: [done, holds()],
  },
  {
    name: "404-with-charset",
    reports: ["camallo/dkregistry-rs#176", "distribution/distribution#4477"],
    does: "answers 404 with JSON of another charset's name, and the cause in it",
    right: "fails with that cause",
    upstream: () => [
      on("GET manifest", {
        status: 404,
        headers: { "Content-Type": "application/json; charset=UTF-8" },
        body: JSON.stringify({ errors: [{ code: "NAME_UNKNOWN", message: "the project was moved to team-b" }] }),
      }),
    ],
    expect: [fails(1), says(/moved to team-b/, "the cause"), asks("upstream", "GET manifest", 1, 4)],
  },
  {
    name: "404-in-plain-text",
    reports: ["measured: `404 page not found`", "rancher/rke2#5754"],
    does: "answers 404 in plain text",
    right: "fails with 404, does not trip over the text",
    upstream: () => [
      on("GET manifest", {
        status: 404,
        headers: { "Content-Type": "text/plain; charset=utf-8" },
        body: "404 page not found\n",
      }),
    ],
    expect: [fails(1), says(/404|not found|unknown/i, "404"), asks("upstream", "GET manifest", 1, 4)],
  },
  {
    name: "schema1",
    reports: ["estesp/manifest-tool#120", "seqeralabs/wave#10"],
    image: (make) => make.schema1(),
    does: "has a signed manifest of schema 1, its digest over the payload",
    right: "refuses, naming schema 1 (or copies it, where it was asked to)",
    expect: [orNames(/schema ?(version )?v?1|manifest\.v1/i, "schema 1")],
  },
  ...[
    ["foreign-layer", types.foreign, false],
    ["foreign-layer-of-docker", types.dockerForeign, true],
  ].map(([name, type, docker]) => ({
    name,
    reports: [
      "google/go-containerregistry#1418",
      "google/go-containerregistry#709",
      "docker/hub-feedback#2132",
      "containers/image#1998",
      "measured: docker-registry answers 500",
    ],
    does: "has a layer that is to be fetched from its own URL, not from registries",
    right: "fails naming the layer; the URL is not asked",
    image: (make, world) => {
      const foreign = make.layer({ type, urls: [`${world.elsewhere.origin}/layer`] });
      const image = make.image({ docker, layers: [make.layer(), foreign] });
      image.blobs.delete(foreign.digest);
      return image;
    },
    expect: [
      fails(1),
      says(/foreign|nondistributable|sha256:/i, "the layer"),
      holdsNothing(),
      asks("elsewhere", "* *", 0),
    ],
  })),
  {
    name: "docker-types-stay",
    reports: ["project-zot/zot#3307", "project-zot/zot#4042"],
    image: (make) => make.base({ docker: true }),
    runs: 3,
    does: "has Docker's types; copied three times",
    right: "types and digests stay, and nothing is fetched twice",
    expect: [done, holds(), asks("upstream", "* *", 0, 0, 2), asks("upstream", "* *", 0, 0, 3)],
  },
  odd("no-media-type", "has a manifest without mediaType", (make) => make.image({ fields: { mediaType: undefined } })),
  odd("no-media-type-index", "has an index without mediaType", (make) =>
    make.index([make.image()], { fields: { mediaType: undefined } }),
  ),
  odd("no-platform", "has an index whose entry has no platform", (make) => {
    const image = make.image();
    image.platform = undefined;
    return make.index([image]);
  }),
  odd(
    "same-layer-twice",
    "has a manifest with one layer twice",
    (make) => {
      const layer = make.layer();
      return make.image({ layers: [layer, layer] });
    },
    undefined,
    [
      (seen) => {
        const blobs = requests(seen, "upstream", "GET blob");
        return blobs.length > 2 ? `${blobs.length} GET blob, not 2` : undefined;
      },
    ],
  ),
  odd("same-child-twice", "has an index with one child twice", (make) => {
    const image = make.image();
    return make.index([image, image]);
  }),
  odd("no-layers", "has a manifest without layers", (make) => make.image({ layers: [] })),
  odd("empty-blob", "has a layer of no bytes", (make) =>
    make.image({ layers: [make.layer({ size: 0 }), make.layer()] }),
  ),
  odd("empty-index", "has an index without children", (make) => make.index([])),
  odd(
    "zstd",
    "has zstd layers",
    (make) => make.image({ layers: [make.layer({ type: types.zstd }), make.layer({ type: types.zstd })] }),
    ["feature table: zstd"],
  ),
  odd("artifact", "is an artifact with the empty config", (make) => make.artifact(), ["feature table: artifacts"]),
  odd(
    "unknown-types",
    "has a config and layers of types nobody has heard of",
    (make) => {
      const [config, layer] = [
        make.blob("application/vnd.example.config+toml", make.bytes(100)),
        make.blob("application/wasm", make.bytes(2000)),
      ];
      return new Image(
        types.manifest,
        { schemaVersion: 2, mediaType: types.manifest, config: config.descriptor, layers: [layer.descriptor] },
        [config, layer],
      );
    },
    ["feature table: artifacts"],
  ),
  odd(
    "data-in-the-descriptor",
    "has the config's bytes within the manifest too",
    (make) => {
      const image = make.image();
      const document = JSON.parse(image.bytes);
      document.config.data = image.blobs.get(document.config.digest).toString("base64");
      return new Image(
        types.manifest,
        document,
        [...image.blobs].map(([digest, bytes]) => ({ digest, bytes })),
      );
    },
    ["opencontainers/distribution-spec: conformance, data field"],
  ),
  odd(
    "annotations-and-more",
    "has fields that nobody knows",
    (make) => make.image({ fields: { annotations: { "org.example": "é \u0001" }, "x-future": { a: [1, 2.5, null] } } }),
    ["opencontainers/image-spec: unknown fields are ignored"],
  ),
  {
    name: "manifest-of-five-megabytes",
    reports: ["measured: more than 4 MiB is 400"],
    does: "has a manifest of 5 MB",
    right: "fails, naming the size",
    image: (make) => make.image({ fields: { annotations: { large: "x".repeat(5 << 20) } } }),
    expect: [fails(1), says(/4 ?MiB|too large|4194304|bytes|size/i, "the size"), holdsNothing()],
  },
  {
    name: "layer-is-missing",
    reports: ["distribution/distribution#4477"],
    does: "has a manifest, and not one of its layers",
    right: "fails naming the layer; stores no manifest",
    image: (make) => make.large(),
    upstream: (world) => (world.store.blobs.delete(world.image.largest), []),
    expect: [fails(1), says(/blob unknown|404|not found/i, "what is missing"), holdsNothing()],
  },
  {
    name: "type-of-another",
    reports: ["opencontainers/distribution-spec: mediaType and Content-Type must agree"],
    does: "serves an index with the Content-Type of an image",
    right: "fails naming both, or goes by the bytes; never takes the index for an image",
    upstream: (world) => [
      on("GET manifest", headers({ "Content-Type": types.manifest }), {
        where: ({ reference }) => reference === world.image.digest,
      }),
    ],
    expect: [orNames(/type/i, "the types")],
  },
];
