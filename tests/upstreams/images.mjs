// Images that are made on the spot: real structure, bytes that the same seed gives again.
import { createHash, createPublicKey, generateKeyPairSync, sign } from "node:crypto";

const oci = "application/vnd.oci.image.";
const docker = "application/vnd.docker.";

export const types = {
  index: `${oci}index.v1+json`,
  manifest: `${oci}manifest.v1+json`,
  config: `${oci}config.v1+json`,
  layer: `${oci}layer.v1.tar+gzip`,
  zstd: `${oci}layer.v1.tar+zstd`,
  foreign: `${oci}layer.nondistributable.v1.tar+gzip`,
  empty: "application/vnd.oci.empty.v1+json",
  dockerList: `${docker}distribution.manifest.list.v2+json`,
  dockerManifest: `${docker}distribution.manifest.v2+json`,
  dockerConfig: `${docker}container.image.v1+json`,
  dockerLayer: `${docker}image.rootfs.diff.tar.gzip`,
  dockerForeign: `${docker}image.rootfs.foreign.diff.tar.gzip`,
  schema1: `${docker}distribution.manifest.v1+prettyjws`,
};

/** The four types that a client must always accept. */
export const accepted = [types.index, types.manifest, types.dockerList, types.dockerManifest];

export const digestOf = (bytes, algorithm = "sha256") =>
  `${algorithm}:${createHash(algorithm).update(bytes).digest("hex")}`;

/**
 * A manifest and all that it consists of. `type` is what a registry serves it as; what its own
 * `mediaType` says is in the bytes.
 */
export class Image {
  constructor(type, document, parts, { algorithm = "sha256", platform, bytes } = {}) {
    this.type = type;
    this.bytes = bytes ?? Buffer.from(JSON.stringify(document));
    this.digest = digestOf(this.bytes, algorithm);
    this.platform = platform;
    this.blobs = new Map();
    this.manifests = new Map();
    for (const part of parts) {
      if (part instanceof Image) {
        part.blobs.forEach((bytes, digest) => this.blobs.set(digest, bytes));
        part.manifests.forEach((manifest, digest) => this.manifests.set(digest, manifest));
      } else {
        this.blobs.set(part.digest, part.bytes);
      }
    }
    this.manifests.set(this.digest, { type, bytes: this.bytes });
  }

  /** How an index refers to it. */
  get descriptor() {
    return {
      mediaType: this.type,
      digest: this.digest,
      size: this.bytes.length,
      ...(this.platform && { platform: this.platform }),
      ...this.extra,
    };
  }

  /** Its largest blob's digest: the layer that most cases are about. */
  get largest() {
    return [...this.blobs].reduce((most, each) => (each[1].length > most[1].length ? each : most))[0];
  }
}

/** Makes images. The same seed gives the same bytes, another gives others. */
export class Maker {
  constructor(seed) {
    this.seed = seed;
    this.made = 0;
  }

  bytes(size) {
    return createHash("shake256", { outputLength: Math.max(1, size) })
      .update(`${this.seed} ${this.made++}`)
      .digest()
      .subarray(0, size);
  }

  blob(type, bytes, { algorithm = "sha256", ...extra } = {}) {
    const digest = digestOf(bytes, algorithm);
    return { digest, bytes, descriptor: { mediaType: type, digest, size: bytes.length, ...extra } };
  }

  layer({ size = 3000, type = types.layer, ...extra } = {}) {
    return this.blob(type, type === types.zstd ? zstdFrame(this.bytes(size)) : this.bytes(size), extra);
  }

  /** An image of one platform. What `fields` says goes into the manifest; undefined takes away. */
  image({ platform = "amd64", layers, docker = false, algorithm, fields = {}, type } = {}) {
    layers ??= [
      this.layer(docker ? { type: types.dockerLayer } : {}),
      this.layer(docker ? { type: types.dockerLayer } : {}),
    ];
    const [os, architecture, variant] =
      platform === "unknown" ? ["unknown", "unknown"] : ["linux", ...platform.split("/")];
    const config = this.blob(
      docker ? types.dockerConfig : types.config,
      Buffer.from(
        JSON.stringify({
          architecture,
          os,
          ...(variant && { variant }),
          config: { Cmd: ["/bin/true"], Labels: { made: `${this.seed} ${this.made++}` } },
          rootfs: { type: "layers", diff_ids: layers.map(({ bytes }) => digestOf(bytes)) },
          history: layers.map(() => ({ created_by: "a corpus for clients" })),
        }),
      ),
      { algorithm },
    );
    type ??= docker ? types.dockerManifest : types.manifest;
    return new Image(
      type,
      {
        schemaVersion: 2,
        mediaType: type,
        config: config.descriptor,
        layers: layers.map(({ descriptor }) => descriptor),
        ...fields,
      },
      [config, ...layers],
      { algorithm, platform: { os, architecture, ...(variant && { variant }) } },
    );
  }

  /** An index of `children`, images or indexes. */
  index(children, { docker = false, algorithm, fields = {} } = {}) {
    const type = docker ? types.dockerList : types.index;
    return new Image(
      type,
      { schemaVersion: 2, mediaType: type, manifests: children.map(({ descriptor }) => descriptor), ...fields },
      children,
      { algorithm },
    );
  }

  /** What most cases copy: two platforms, two layers each. */
  base(options = {}) {
    return this.index(
      ["amd64", "arm64/v8"].map((platform) => this.image({ platform, ...options })),
      options,
    );
  }

  /** One platform whose one layer is large enough to be broken off. */
  large(size = 400_000) {
    return this.image({ layers: [this.layer({ size })] });
  }

  /** What BuildKit adds for `image`: a statement about it, of platform unknown/unknown. */
  attestation(image, { subject = false } = {}) {
    const statement = this.blob("application/vnd.in-toto+json", Buffer.from(JSON.stringify({ about: image.digest })), {
      annotations: { "in-toto.io/predicate-type": "https://slsa.dev/provenance/v0.2" },
    });
    const made = this.image({
      platform: "unknown",
      layers: [statement],
      fields: subject ? { subject: { mediaType: image.type, digest: image.digest, size: image.bytes.length } } : {},
    });
    made.extra = {
      annotations: { "vnd.docker.reference.type": "attestation-manifest", "vnd.docker.reference.digest": image.digest },
    };
    return made;
  }

  /** An artifact: no image, and possibly about one. */
  artifact({ subject, artifactType = "application/vnd.example.sbom" } = {}) {
    const empty = this.blob(types.empty, Buffer.from("{}"));
    const content = this.blob(
      "application/vnd.example.sbom+json",
      Buffer.from(JSON.stringify({ made: `${this.seed} ${this.made++}` })),
    );
    return new Image(
      types.manifest,
      {
        schemaVersion: 2,
        mediaType: types.manifest,
        artifactType,
        config: empty.descriptor,
        layers: [content.descriptor],
        ...(subject && { subject: { mediaType: subject.type, digest: subject.digest, size: subject.bytes.length } }),
      },
      [empty, content],
    );
  }

  /** Docker's first manifest, signed: the digest is over the payload without the signature. */
  schema1() {
    const layer = this.layer();
    const payload = JSON.stringify(
      {
        schemaVersion: 1,
        name: "old/base",
        tag: "1",
        architecture: "amd64",
        fsLayers: [{ blobSum: layer.digest }],
        history: [{ v1Compatibility: JSON.stringify({ id: "1".repeat(64) }) }],
      },
      null,
      3,
    );
    const image = new Image(types.schema1, null, [layer], { bytes: signedBySomebody(payload) });
    const manifest = image.manifests.get(image.digest);
    image.manifests.delete(image.digest);
    image.digest = digestOf(payload);
    image.manifests.set(image.digest, manifest);
    return image;
  }
}

/** `payload` (JSON) with a JSON web signature put in before its end, as libtrust does it. */
function signedBySomebody(payload) {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicKey = createPublicKey(privateKey);
  const kid = base32(
    createHash("sha256")
      .update(publicKey.export({ type: "spki", format: "der" }))
      .digest()
      .subarray(0, 30),
  )
    .match(/.{4}/g)
    .join(":");
  const head = payload.slice(0, payload.lastIndexOf("\n"));
  const text = (value) => Buffer.from(value).toString("base64url");
  const guarded = text(
    JSON.stringify({ formatLength: head.length, formatTail: text("\n}"), time: "2015-01-01T00:00:00Z" }),
  );
  const signature = sign("sha256", Buffer.from(`${guarded}.${text(payload)}`), {
    key: privateKey,
    dsaEncoding: "ieee-p1363",
  });
  const { crv, kty, x, y } = publicKey.export({ format: "jwk" });
  const all = [
    { header: { alg: "ES256", jwk: { crv, kid, kty, x, y } }, signature: text(signature), protected: guarded },
  ];
  return Buffer.from(`${head},\n   "signatures": ${JSON.stringify(all)}\n}`);
}

function base32(bytes) {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return bits
    .match(/.{5}/g)
    .map((five) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[parseInt(five, 2)])
    .join("");
}

/** `bytes` as a zstd frame of raw blocks (RFC 8878), which every zstd reads. */
function zstdFrame(bytes) {
  const head = Buffer.alloc(9);
  head.writeUInt32LE(0xfd2fb528, 0);
  head.writeUInt8(0xa0, 4); // one segment, its size in four bytes
  head.writeUInt32LE(bytes.length, 5);
  const out = [head];
  for (let at = 0; at < bytes.length; at += 0x10000) {
    const block = bytes.subarray(at, at + 0x10000);
    const last = at + block.length === bytes.length ? 1 : 0;
    const size = Buffer.alloc(3);
    size.writeUIntLE((block.length << 3) | last, 0, 3);
    out.push(size, block);
  }
  return Buffer.concat(out);
}
