// A. What a name means, and who is asked for it.
import { asks, asksNothing, done, fails, holds, requests, says } from "../expect.mjs";
import { bearer, error, on } from "../rules.mjs";

/** The manifests asked for are all of this repository. */
const askedFor = (repository) => (seen) => {
  const other = requests(seen, "upstream").find((each) => each.repository && each.repository !== repository);
  return other && `asked for ${other.repository}, not ${repository}`;
};

/** No name but these was connected to through the proxy. */
const connects =
  (...hosts) =>
  ({ world }) => {
    const other = world.proxy.log.find(({ host }) => !hosts.includes(host));
    return other && `connected to ${other.host}`;
  };

/** A name that cannot be: refused, and nobody asked. */
const refused = (name, reports, source, does, pattern) => ({
  name,
  reports,
  does,
  right: "refuses the name, saying why, before anything is asked",
  source: (world) => source(world),
  expect: [
    fails(64, 65, 1),
    says(pattern, "what is wrong with it"),
    asksNothing(),
    asksNothing(undefined, "destination"),
  ],
});

const hub = (user, password) => (world) => [
  on("* *", bearer(world.tokens_, "https://auth.docker.io/token"), { where: () => Boolean(user && password) }),
];

export const references = [
  {
    name: "tag-beside-digest",
    reports: ["google/go-containerregistry#351", "moby/moby#13083"],
    does: "is named with a tag and a digest; the tag has moved on",
    right: "the digest decides; the tag is neither asked for nor part of the repository",
    source: (world) => `${world.upstream.address}/golang:1.4.2@${world.image.digest}`,
    upstream: (world) => (world.store.tags.set("1.4.2", `sha256:${"0".repeat(64)}`), []),
    expect: [
      done,
      holds(),
      askedFor("golang"),
      (seen) =>
        requests(seen, "upstream").some(({ reference }) => reference === "1.4.2") ? "asked for the tag" : undefined,
    ],
  },
  {
    name: "port-is-no-tag",
    reports: ["coder/envbuilder#248"],
    does: "is named with a port and without a tag",
    right: "asks that port for the tag latest",
    source: (world) => `${world.upstream.address}/tools`,
    expect: [done, holds(), askedFor("tools"), asks("upstream", "GET|HEAD manifest", 1, Infinity)],
  },
  {
    name: "no-library-elsewhere",
    reports: ["getnora-io/nora#36"],
    does: "is not Docker's registry, its repository has one part",
    right: "does not put library/ before it",
    source: (world) => world.pinned(world.image, "bash"),
    expect: [done, holds(), askedFor("bash")],
  },
  {
    name: "ipv6",
    reports: [
      "distribution/distribution#3665",
      "kubernetes/kubernetes#104491",
      "containers/image#1004",
      "regclient/regclient#956",
    ],
    does: "listens on [::1]",
    right: "takes an IPv6 address in brackets",
    host: "::1",
    expect: [done, holds()],
  },
  refused(
    "ipv6-zone",
    ["distribution/distribution#3665"],
    (world) => `[fe80::1%25lo]:5000/base@${world.image.digest}`,
    "is named by an address with a zone",
    /zone|%|invalid reference|not an image reference/i,
  ),
  refused(
    "ipv6-alone",
    ["containers/image#1004"],
    () => "[::1]:5000",
    "is named by an address alone",
    /repository|invalid reference|not an image reference/i,
  ),
  refused(
    "ipv6-without-brackets",
    ["openshift/oc#239"],
    (world) => `fd2e::1:5000/base@${world.image.digest}`,
    "is named by an IPv6 address without brackets",
    /bracket|\[fd2e/i,
  ),
  {
    name: "hub-short-name",
    reports: ["open-component-model/ocm#1946", "greenbone/openvas-scanner#2354"],
    proxy: true,
    tls: true,
    does: "is `docker.io/bash`, behind a proxy of the environment",
    right: "asks registry-1.docker.io for library/bash",
    source: (world) => `docker.io/bash@${world.image.digest}`,
    expect: [done, holds(), askedFor("library/bash"), connects("registry-1.docker.io")],
  },
  ...[
    ["hub-credentials", "https://index.docker.io/v1/"],
    ["hub-credentials-of-the-endpoint", "registry-1.docker.io"],
  ].map(([name, key]) => ({
    name,
    reports: ["docker/cli#5378", "containers/skopeo#1122"],
    proxy: true,
    tls: true,
    tokens: { user: "ann", password: "s3cret-hub" },
    does: `is \`docker.io/team/base\`, its credentials are kept as ${key}`,
    right: "one registry, one set of credentials, under whichever of its names",
    credentials: () => ({ [key]: ["ann", "s3cret-hub"] }),
    source: (world) => `docker.io/team/base@${world.image.digest}`,
    upstream: hub("ann", "s3cret-hub"),
    expect: [done, holds(), connects("registry-1.docker.io", "auth.docker.io")],
  })),
  {
    name: "credentials-of-a-repository",
    reports: ["containers/skopeo#1122"],
    tokens: { user: "bob", password: "s3cret-team" },
    does: "has credentials for HOST and others for HOST/team",
    right: "takes the longest that fits",
    credentials: (world) => ({
      [world.upstream.address]: ["ann", "s3cret-wrong"],
      [`${world.upstream.address}/team`]: ["bob", "s3cret-team"],
    }),
    upstream: (world) => [on("* *", bearer(world.tokens_, `${world.tokens.origin}/token`))],
    expect: [done, holds()],
  },
  {
    name: "mirror-fails-over",
    waits: true,
    reports: ["rancher/rke2#5754", "docker/buildx#606"],
    does: "has a mirror that is asked first, which answers 500 to everything",
    right: "goes on to the registry itself",
    mirror: (world) => world.elsewhere.address,
    elsewhere: () => [on("* *", error(500, "UNKNOWN", "the mirror is ill"))],
    expect: [done, holds(), asks("elsewhere", "* *", 1, 40), asks("upstream", "GET manifest", 3)],
  },
  {
    name: "mirror-is-enough",
    reports: ["docker/buildx#606"],
    does: "has a mirror that has the image",
    right: "asks the mirror alone",
    mirror: (world) => world.elsewhere.address,
    expect: [done, holds(), asks("elsewhere", "GET manifest", 3), asksNothing()],
  },
];
