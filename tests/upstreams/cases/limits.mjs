// C. Quotas, and servers that want to be left alone.
import { asks, asksNothing, done, fails, holds, neverSays, requests, says, waits, within } from "../expect.mjs";
import { error, headers, on, quotaSpent, tooFast } from "../rules.mjs";

const tag = (world) => `${world.upstream.address}/team/base:v1`;
const later = () => new Date(Math.floor(Date.now() / 1000) * 1000 + 2000).toUTCString();

/** Refuses everything until the time that it named, as a server would. */
const closedFor = (seconds, answer) => {
  let until;
  return (exchange, next) => {
    until ??= Date.now() + seconds * 1000;
    return Date.now() < until ? answer() : next();
  };
};

export const limits = [
  {
    name: "429-with-seconds",
    waits: true,
    reports: [
      "containers/image#618",
      "google/go-containerregistry#1569",
      "google/go-containerregistry#2111",
      "containerd/containerd#10447",
    ],
    does: "answers 429 and `Retry-After: 1` to a manifest, once",
    right: "asks the host nothing for that second, then goes on",
    upstream: () => [
      on(
        "GET manifest",
        closedFor(1, () => tooFast({ "Retry-After": "1" })),
      ),
    ],
    expect: [done, holds(), waits("upstream", 429, 980)],
  },
  {
    name: "429-with-a-date",
    waits: true,
    reports: ["containerd/containerd#14066"],
    does: "answers 429 and a `Retry-After` that is a date, once",
    right: "reads dates too",
    upstream: () => [on("GET manifest", () => tooFast({ "Retry-After": later() }), { times: 1 })],
    expect: [done, holds(), waits("upstream", 429, 900)],
  },
  {
    name: "429-for-a-layer",
    waits: true,
    reports: ["containerd/containerd#10447"],
    does: "answers 429 and `Retry-After: 1` to a blob, once",
    right: "the whole host is left alone, not this one request",
    image: (make) => make.base(),
    upstream: () => [on("GET blob", () => tooFast({ "Retry-After": "1" }), { times: 1 })],
    expect: [done, holds(), waits("upstream", 429, 980, 400)],
  },
  {
    name: "503-with-seconds",
    waits: true,
    reports: ["containerd/containerd#14066"],
    does: "answers 503 and `Retry-After: 1`, once",
    right: "the same",
    upstream: () => [
      on("GET manifest", () => error(503, "UNAVAILABLE", "back soon", { "Retry-After": "1" }), { times: 1 }),
    ],
    expect: [done, holds(), waits("upstream", 503, 980)],
  },
  {
    name: "429-for-fifteen-minutes",
    reports: ["containerd/containerd#14066"],
    deadline: 20,
    does: "answers 429 and `Retry-After: 900`",
    right: "fails at once, saying for how long",
    upstream: () => [on("GET|HEAD manifest|blob", () => tooFast({ "Retry-After": "900" }))],
    expect: [
      fails(),
      says(/429|too many requests|rate|limit/i),
      says(/900|15 ?m/i, "how long"),
      asks("upstream", "GET manifest", 1, 2),
      within(10),
    ],
  },
  {
    name: "quota-spent",
    reports: ["docker/hub-feedback#2197", "docker/hub-feedback#2040", "docker/hub-feedback#2511"],
    deadline: 30,
    does: "says that the quota of the window is spent; each refused request counts too",
    right: "stops asking, for every image of that host, and says quota",
    pairs: (world) =>
      ["a", "b", "c", "d"].map((name) => [
        world.pinned(world.image, `team/${name}`).replace(world.image.digest, world.store.tags.get(name)),
        `${world.repository}/${name}`,
      ]),
    upstream: (world) => (
      ["a", "b", "c", "d"].forEach((name) => world.store.hold(world.make.base(), name)),
      [on("GET manifest", () => quotaSpent())]
    ),
    expect: [fails(), says(/quota|rate limit/i, "the quota"), asks("upstream", "GET manifest", 1, 4)],
  },
  {
    name: "too-fast",
    waits: true,
    reports: ["docker/hub-feedback#2040", "docker/hub-feedback#2511", "docker/docs#22157"],
    does: "answers a bare `Too Many Requests` twice, without a Retry-After",
    right: "this is about haste, not quota: pauses, longer each time, and goes on",
    upstream: () => [on("GET manifest", () => tooFast(), { times: 2 })],
    expect: [done, holds(), waits("upstream", 429, 200)],
  },
  {
    name: "too-fast-for-ever",
    waits: true,
    reports: ["docker/hub-feedback#2040", "docker/hub-feedback#2511"],
    deadline: 60,
    does: "answers a bare `Too Many Requests` to everything",
    right: "gives up after a few pauses, and does not call it a quota",
    upstream: () => [on("GET manifest", () => tooFast())],
    expect: [
      fails(),
      says(/429|too many requests/i),
      neverSays(/quota/i, "quota"),
      asks("upstream", "GET manifest", 2, 8),
    ],
  },
  {
    name: "counted-requests",
    reports: ["regclient/regclient#711", "regclient/regclient#20", "docker/docs#11707"],
    does: "counts each GET of a manifest, and no HEAD",
    right: "a tag costs one HEAD, its index and each child one GET, and nothing twice",
    source: tag,
    image: (make) => make.index(["amd64", "arm64", "riscv64", "s390x"].map((platform) => make.image({ platform }))),
    expect: [done, holds(), asks("upstream", "GET manifest", 5), asks("upstream", "HEAD manifest", 1)],
  },
  {
    name: "same-tags-again",
    reports: [
      "pulp/pulp_container#1047",
      "containers/skopeo#1801",
      "containers/skopeo#1587",
      "containers/skopeo#2426",
      "containers/skopeo#1021",
      "google/go-containerregistry#2038",
      "nebius/nebius-physical-ai#250",
      "distribution/distribution#4050",
      "goharbor/harbor#20632",
    ],
    does: "is asked for five tags that have not moved, a second time",
    right: "one HEAD for each, no GET, no blob",
    runs: 2,
    pairs: (world) =>
      ["1", "2", "3", "4", "5"].map((name) => [
        `${world.upstream.address}/team/base:${name}`,
        `${world.repository}/t${name}`,
      ]),
    upstream: (world) => (
      ["1", "2", "3", "4", "5"].forEach((name) => world.store.hold((world.fifth = world.make.image()), name)),
      []
    ),
    expect: [
      done,
      (seen) => holds({ repository: `${seen.world.repository}/t5`, image: ({ world }) => world.fifth })(seen),
      asks("upstream", "GET *", 0, 0, 2),
      asks("upstream", "HEAD manifest", 0, 5, 2),
    ],
  },
  {
    name: "quota-spent-and-held",
    reports: ["goharbor/harbor#19257", "ghdl/docker#30"],
    runs: 2,
    does: "says that the quota is spent; the image is named by digest and held",
    right: "done, and upstream does not hear of it",
    between: (world) => world.upstream.rules.unshift(on("* *", () => quotaSpent())),
    expect: [done, holds(), asksNothing(2)],
  },
  {
    name: "quota-spent-and-tag-held",
    reports: ["goharbor/harbor#19257"],
    runs: 2,
    source: tag,
    meshOnly: "only mesh keeps what a tag meant",
    does: "says that the quota is spent; the tag's digest is locked and held",
    right: "goes on with what is held, and says so",
    between: (world) => world.upstream.rules.unshift(on("* *", () => quotaSpent())),
    expect: [
      done,
      holds(),
      says(/locked|held|mesh\.lock/i, "that it goes on with what is held"),
      asks("upstream", "* *", 1, 2, 2),
    ],
  },
  {
    name: "down-and-tag-held",
    reports: ["docker/buildx#738"],
    runs: 2,
    source: tag,
    meshOnly: "only mesh keeps what a tag meant",
    does: "is gone; the tag's digest is locked and held",
    right: "goes on with what is held, and says so",
    between: (world) => world.upstream.stop(),
    expect: [done, holds(), says(/locked|held|mesh\.lock/i, "that it goes on with what is held")],
  },
  {
    name: "quota-headers",
    reports: ["docker/docs#11648"],
    does: "says `ratelimit-remaining` with each answer, enough for the image",
    right: "goes on",
    upstream: () => [
      on("GET|HEAD manifest", headers({ "ratelimit-limit": "100;w=21600", "ratelimit-remaining": "76;w=21600" })),
    ],
    expect: [done, holds(), asks("upstream", "GET manifest", 3)],
  },
  {
    name: "server-errors-once",
    waits: true,
    reports: ["containerd/containerd#10447"],
    does: "answers 500, then 502, then 504, each once",
    right: "repeats, with pauses",
    upstream: () =>
      [500, 502, 504].map((status) => on("GET manifest", () => error(status, "UNKNOWN", "ill"), { times: 1 })),
    expect: [done, holds()],
  },
  {
    name: "server-errors-for-ever",
    waits: true,
    reports: ["rancher/rke2#5754"],
    deadline: 60,
    does: "answers 500 to every manifest",
    right: "gives up after a few pauses, with the status and the server's words",
    upstream: () => [on("GET manifest", () => error(500, "UNKNOWN", "the disk is full"))],
    expect: [
      fails(),
      says(/500/, "the status"),
      says(/disk is full/, "the server's words"),
      asks("upstream", "GET manifest", 1, 16),
    ],
  },
  {
    name: "destination-429",
    reports: ["containers/container-libs#42"],
    does: "is well; the destination answers 429 and `Retry-After: 1` to the manifest, once",
    right: "waits and puts it again",
    destination: () => [
      on("PUT manifest", () => quotaSpent({ "ratelimit-remaining": "5;w=60", "Retry-After": "1" }), { times: 1 }),
    ],
    expect: [
      done,
      holds(),
      (seen) => (requests(seen, "destination", "PUT manifest").length < 4 ? "did not put it again" : undefined),
    ],
  },
];
