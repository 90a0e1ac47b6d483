// What is held: never asked of upstream again; and what only seems to be.
import { rmSync, writeFileSync, readFileSync } from "node:fs";
import { asks, asksNothing, done, fails, holds, holdsNothing, requests, says, within } from "../expect.mjs";
import { hangUp, on } from "../rules.mjs";

const gone = (world) => world.upstream.rules.unshift(on("* *", hangUp));

/** The image is copied, damaged by `damage`, and copied again with --verify. */
const repaired = (name, reports, does, damage, expected) => ({
  name,
  reports,
  does: `is well; ${does}`,
  right: "`--verify` finds it and fetches what is missing, nothing else",
  runs: 2,
  between: damage,
  how: (world, run) => ({ verify: run === 2 }),
  expect: expected,
});

const repairsOrNames = (seen) =>
  seen.runs[1].code === 0
    ? holds()(seen)
    : (fails(1)(seen) ??
      says(/sha256:[0-9a-f]+/, "the layer")(seen) ??
      says(/damage|changed|corrupt|bytes|digest/i, "the damage")(seen));

export const held = [
  {
    name: "held-by-digest",
    reports: ["moby/moby#36195", "moby/buildkit#5340", "docker/buildx#738", "containers/skopeo#1801"],
    runs: 2,
    does: "drops every connection once the image is held",
    right: "done, without a request: not a manifest, not a HEAD, not a token",
    between: gone,
    expect: [done, holds(), asksNothing(2)],
  },
  {
    name: "held-and-upstream-off",
    reports: ["docker/buildx#738"],
    runs: 2,
    does: "is switched off once the image is held",
    right: "done",
    between: (world) => world.upstream.stop(),
    expect: [done, holds()],
  },
  {
    name: "held-and-a-tag-beside",
    reports: ["project-zot/zot#2584"],
    runs: 2,
    does: "drops every connection once the image is held; the second time a tag stands beside the digest",
    right: "done, without a request",
    between: gone,
    pairsOf: (world, run) => [[run === 1 ? world.pinned() : world.pinned().replace("@", ":stable@"), world.repository]],
    expect: [done, holds(), asksNothing(2)],
  },
  {
    name: "held-in-another-repository",
    reports: ["research: no peer looks there"],
    runs: 2,
    does: "drops every connection once the image is held, in another repository of the registry",
    right: "mounts the blobs, puts the manifests, asks upstream nothing",
    between: gone,
    pairsOf: (world, run) => [[world.pinned(), run === 1 ? `${world.repository}/other` : world.repository]],
    expect: [done, holds(), asksNothing(2)],
  },
  {
    name: "held-from-another-name",
    reports: ["research: no peer looks there"],
    runs: 2,
    does: "has the same image under another name; drops every connection once it is held",
    right: "the digest decides: asks nothing",
    between: gone,
    pairsOf: (world, run) => [[world.pinned(world.image, run === 1 ? "team/base" : "other/name"), world.repository]],
    expect: [done, holds(), asksNothing(2)],
  },
  {
    name: "held-is-quick",
    reports: ["project-zot/zot#4184"],
    runs: 2,
    does: "is well; the image is held",
    right: "one or two requests to the destination",
    expect: [done, holds(), asksNothing(2), asks("destination", "* *", 0, 2, 2)],
  },
  {
    name: "held-thrice",
    reports: ["project-zot/zot#4042"],
    runs: 3,
    does: "is asked for the same image three times",
    right: "fetches it once",
    expect: [done, holds(), asksNothing(2), asksNothing(3)],
  },
  {
    name: "taken-away",
    reports: ["measured: HEAD is what a registry says"],
    runs: 2,
    does: "is well; the index was deleted from the destination since",
    right: "HEAD tells; what is missing is brought again",
    between: (world) => world.atRegistry("DELETE", `/v2/${world.repository}/manifests/${world.image.digest}`),
    expect: [done, holds()],
  },
  repaired(
    "child-was-deleted",
    ["measured: HEAD of an index is 200 without its children"],
    "a child manifest was deleted from the destination",
    (world) => world.atRegistry("DELETE", `/v2/${world.repository}/manifests/${[...world.image.manifests.keys()][0]}`),
    [done, holds(), asks("upstream", "GET blob", 0, 0, 2)],
  ),
  repaired(
    "layer-was-deleted",
    ["measured: HEAD of a manifest is 200 without its layers"],
    "a layer was deleted from the destination",
    (world) => world.atRegistry("DELETE", `/v2/${world.repository}/blobs/${world.image.largest}`),
    [done, holds(), asks("upstream", "GET blob", 0, 1, 2), asks("upstream", "GET manifest", 0, 0, 2)],
  ),
  {
    ...repaired(
      "layer-was-damaged",
      ["measured: changed bytes are served with 200 and the right digest header"],
      "bytes of a layer changed on the destination's disk",
      (world) => {
        const file = world.real.file(world.image.largest);
        const bytes = readFileSync(file);
        bytes[bytes.length >> 1] ^= 1;
        writeFileSync(file, bytes);
      },
      [repairsOrNames],
    ),
    right:
      "`--verify` hashes what is held: repairs it, or, where the registry never replaces bytes, fails naming the layer",
  },
  {
    ...repaired(
      "layer-was-cut",
      ["measured: a file cut short is served with 200 and its short length"],
      "a layer was cut short on the destination's disk",
      (world) => {
        const file = world.real.file(world.image.largest);
        writeFileSync(file, readFileSync(file).subarray(0, 100));
      },
      [repairsOrNames],
    ),
    right:
      "`--verify` hashes what is held: repairs it, or, where the registry never replaces bytes, fails naming the layer",
  },
  {
    ...repaired(
      "layer-file-is-gone",
      ["measured: a link without its data"],
      "a layer's file is gone from the destination's disk",
      (world) => rmSync(world.real.file(world.image.largest)),
      [done, holds(), asks("upstream", "GET blob", 0, 1, 2)],
    ),
  },
  {
    name: "interrupted",
    reports: ["anchore/stereoscope#695", "docker-library/docker#221"],
    runs: 2,
    image: (make) => make.image({ layers: Array.from({ length: 6 }, () => make.layer({ size: 50_000 })) }),
    does: "stalls at the fifth blob, and the client is killed there; then copied again",
    right: "fetches what the destination lacks, and no more",
    upstream: (world) => {
      world.stuck = new Promise((resolve) => (world.reached = resolve));
      let number = 0;
      return [
        on("GET blob", async (exchange, next) => {
          if (world.free || ++number < 5) return next();
          // What was sent before has had its time: the destination's answers tell.
          const stored = () =>
            world.destination.log.filter(
              ({ method, kind, status }) => method === "PUT" && kind === "upload" && status === 201,
            ).length;
          const began = Date.now();
          const look = () => (stored() >= 3 || Date.now() - began > 4000 ? world.reached() : setTimeout(look, 20));
          look();
          return { ...(await next()), stall: 1000 };
        }),
      ];
    },
    how: (world, run) => (run === 1 ? { ends: world.stuck } : {}),
    between: (world) => {
      world.free = true;
      world.brought = new Set(
        world.destination.log
          .filter(({ method, kind, status }) => method === "PUT" && kind === "upload" && status === 201)
          .map(({ query }) => query.get("digest")),
      );
    },
    first: "SIGKILL",
    expect: [
      holds(),
      (seen) => (seen.runs[1].code === 0 ? undefined : `the second run ended with ${seen.runs[1].code}`),
      (seen) => {
        const again = requests(seen, "upstream", "GET blob", 2).filter(({ reference }) =>
          seen.world.brought.has(reference),
        );
        return again.length > 0 ? `fetched ${again.length} of ${seen.world.brought.size} blobs again` : undefined;
      },
    ],
  },
  {
    name: "interrupted-from-the-keyboard",
    reports: ["design: 130 interrupted"],
    does: "stalls at a blob; then Ctrl-C",
    right: "ends within seconds, with 130 or by the signal; nothing is taken for the image",
    upstream: (world) => {
      world.stuck = new Promise((resolve) => (world.reached = resolve));
      return [on("GET blob", async (exchange, next) => (world.reached("SIGINT"), { ...(await next()), stall: 100 }))];
    },
    how: (world) => ({ ends: world.stuck }),
    expect: [
      asks("upstream", "GET blob", 1, 20),
      (seen) =>
        [130, "SIGINT", ...(seen.client === "mesh" ? [] : [1])].includes(seen.runs[0].code)
          ? undefined
          : `ended with ${seen.runs[0].code}`,
      within(10),
      holdsNothing(),
    ],
  },
  {
    name: "many-share-a-base",
    reports: ["containerd/nerdctl#2404", "research: registry-wide lookup"],
    most: 200,
    does: "is well; six images on one base go to six repositories at once",
    right: "each content is fetched once",
    pairs: (world) => world.apps.map((app, at) => [world.pinned(app, `team/app${at}`), `${world.repository}/app${at}`]),
    upstream: (world) => (world.apps.forEach((app) => world.store.hold(app)), []),
    image: (make, world) => {
      const layers = [make.layer({ size: 50_000 }), make.layer({ size: 50_000 })];
      world.apps = Array.from({ length: 6 }, () => make.image({ layers: [...layers, make.layer()] }));
      return world.apps[0];
    },
    expect: [
      done,
      ...[0, 1, 2, 3, 4, 5].map(
        (at) => (seen) =>
          holds({ image: ({ world }) => world.apps[at], repository: `${seen.world.repository}/app${at}` })(seen),
      ),
      (seen) => {
        const blobs = requests(seen, "upstream", "GET blob").map(({ reference }) => reference);
        const twice = blobs.length - new Set(blobs).size;
        return twice > 0 ? `fetched ${twice} blobs again` : undefined;
      },
    ],
  },
  {
    name: "one-of-many-fails",
    reports: ["design: a pair that fails leaves the others alone"],
    does: "has two of three images",
    right: "the two are held, the third is named, and it ends with 1",
    pairs: (world) =>
      [
        ["a", world.image],
        ["b", { digest: `sha256:${"0".repeat(64)}` }],
        ["c", world.image],
      ].map(([name, image]) => [world.pinned(image, `team/${name}`), `${world.repository}/${name}`]),
    expect: [
      fails(1),
      (seen) => holds({ repository: `${seen.world.repository}/a` })(seen),
      (seen) => holds({ repository: `${seen.world.repository}/c` })(seen),
      says(/0{10}/, "the image that failed"),
    ],
  },
];
