// F. When the destination is ill, full, or not there.
import { asksNothing, done, fails, holds, holdsNothing, orNames, says } from "../expect.mjs";
import { but, error, headers, on, tooFast } from "../rules.mjs";

export const destination = [
  {
    name: "destination-500-for-a-manifest",
    reports: ["containers/container-libs#42"],
    does: "is well; the destination answers 500 to a manifest, once",
    right: "puts it again",
    destination: () => [on("PUT manifest", error(500, "UNKNOWN", "unknown error"), { times: 1 })],
    expect: [done, holds()],
  },
  {
    name: "destination-429-for-an-upload",
    reports: ["containers/container-libs#42"],
    does: "is well; the destination answers 429 and `Retry-After: 1` to the start of an upload, once",
    right: "waits and asks again",
    destination: () => [on("POST upload", () => tooFast({ "Retry-After": "1" }), { times: 1 })],
    expect: [done, holds()],
  },
  {
    name: "destination-cannot-say",
    waits: true,
    reports: ["rancher/rke2#5754"],
    runs: 2,
    deadline: 60,
    does: "is well; the image is held, and the destination answers 500 to whatever it is asked",
    right: "that is not `not held`: fails saying who was asked what; upstream hears nothing",
    between: (world) => world.destination.rules.unshift(on("* *", () => error(500, "UNKNOWN", "unknown error"))),
    expect: [fails(69), says(/asking .*whether it holds|500/i, "what was asked"), asksNothing(2)],
  },
  {
    name: "destination-gone",
    reports: ["design: unreachable is 69"],
    runs: 2,
    deadline: 60,
    does: "is well; the image is held, and the destination is down",
    right: "fails (69) saying who was asked what; upstream hears nothing",
    between: (world) => world.destination.stop(),
    expect: [fails(69), says(/asking .*whether it holds|refused/i, "what was asked"), asksNothing(2)],
  },
  {
    name: "destination-full",
    reports: ["goharbor/harbor#22863"],
    does: "is well; the destination refuses an upload for its quota",
    right: "fails with the registry's words",
    destination: () => [
      on(
        "PUT|PATCH upload",
        async (exchange) => (
          await exchange.body(),
          error(
            403,
            "DENIED",
            "adding 3.0 KiB of storage resource, which when updated to current usage of 9.9 GiB will exceed the configured upper limit of 10.0 GiB.",
          )
        ),
      ),
    ],
    expect: [fails(1), says(/upper limit of 10.0 GiB/, "the registry's words"), holdsNothing()],
  },
  {
    name: "destination-stores-another",
    reports: ["distribution/distribution#4420"],
    does: "is well; the destination answers a manifest with another's digest",
    right: "fails by name",
    destination: () => [on("PUT manifest", headers({ "Docker-Content-Digest": `sha256:${"1".repeat(64)}` }))],
    expect: [fails(1), says(/digest|sha256/i, "the digest")],
  },
  {
    name: "destination-loses-a-blob",
    reports: ["containerd/nerdctl#2404", "goharbor/harbor#22863"],
    does: "is well; the destination answers 201 to a blob that it then does not have",
    right: "sends it again, or fails with MANIFEST_BLOB_UNKNOWN's words; never done",
    destination: () => [
      on(
        "PUT upload",
        async (exchange) => (
          await exchange.body(),
          { status: 201, headers: { "Docker-Content-Digest": exchange.query.get("digest") } }
        ),
        { times: 1 },
      ),
    ],
    expect: [orNames(/unknown|lacks|does not have/i, "the blob")],
  },
  {
    name: "destination-head-without-digest",
    reports: ["containerd/containerd#3238"],
    runs: 2,
    does: "is well; the destination sends no Docker-Content-Digest",
    right: "the same, and what is held is still known",
    destination: () => [
      on(
        "* manifest",
        but(({ headers: all }) => {
          const { "docker-content-digest": _, ...rest } = all;
          return { headers: rest };
        }),
      ),
    ],
    expect: [done, holds(), asksNothing(2)],
  },
];
