// Every case, by chapter; and the reports that are about something else than a client's copying.
import { auth } from "./auth.mjs";
import { destination } from "./destination.mjs";
import { digests } from "./digests.mjs";
import { held } from "./held.mjs";
import { limits } from "./limits.mjs";
import { manifests } from "./manifests.mjs";
import { redirects } from "./redirects.mjs";
import { references } from "./references.mjs";
import { transport } from "./transport.mjs";
import { uploads } from "./uploads.mjs";

export const chapters = [
  ["What is held", held],
  ["Names", references],
  ["Digests and broken transfers", digests],
  ["Quotas", limits],
  ["Credentials", auth],
  ["Redirects and proxies", redirects],
  ["Uploads", uploads],
  ["The destination", destination],
  ["Manifests", manifests],
  ["HTTP", transport],
];

/** What mesh is known not to do yet. A case that it has come to pass must leave this list. */
export const notYet = new Set([]);

export const elsewhere = [
  ["project-zot/zot#2410", "a cap on bandwidth: no client here has one, and Mesh promises none"],
  [
    "distribution/distribution#3178",
    "garbage collection of a registry that runs: `mesh registry prune` has its own tests",
  ],
  ["distribution/distribution#4461", "the same"],
  ["spegel-org/spegel#504", "a peer-to-peer server that does not fetch what no node has: about a server"],
  ["kernel/hypeman#85", "a program that mirrors bases by hand: what `mesh build` does"],
  ["linuxkit/linuxkit#4149", "the same"],
];
