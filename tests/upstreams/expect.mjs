// What a correct client does: functions of what was seen that return nothing, or what is wrong in
// few words. `seen`: { client, runs: [{ code, text, document, seconds, killed }], world, image }.
import { names } from "./server.mjs";
import { accepted } from "./images.mjs";

const last = (seen) => seen.runs.at(-1);

/** Ends with 0 in every run, or in the last one where `runs` is "last". */
export const done = (seen) => {
  const bad = seen.runs.findIndex(({ code }) => code !== 0);
  if (bad < 0) return undefined;
  return `${seen.runs.length > 1 ? `run ${bad + 1}: ` : ""}${howItEnded(seen.runs[bad])}`;
};

function howItEnded({ code, killed, text }) {
  if (killed) return `still busy after ${killed} s`;
  return `ended with ${code}: ${briefly(text)}`;
}

/** The end of what it said, without what differs between two runs. */
export function briefly(text) {
  const message =
    /"message":\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ??
    /level=fatal msg="?(.*?)"?$/m.exec(text)?.[1] ??
    text.trim().split("\n").at(-1) ??
    "";
  const plain = message
    .replace(/\\+"/g, "'")
    .replace(/\/tmp\/\S+/g, "FILE")
    .replace(/mesh-recovery-\S+/g, "…")
    .replace(/\?_state=[^'\s]*/g, "")
    .replace(/(sha(?:256|512)):[0-9a-f]{20,}/g, "$1:…")
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "UPLOAD")
    .replace(/127\.0\.0\.(\d):\d+/g, "127.0.0.$1:PORT")
    .replace(/\[::1\]:\d+/g, "[::1]:PORT")
    .replace(/\bport \d{4,5}\b/g, "port PORT")
    .replace(/after \d+ ms/g, "");
  return plain.length > 100 ? `…${plain.slice(-100)}` : plain;
}

/** Fails in the last run. `code`: with which exit code mesh does; other clients have their own. */
export const fails =
  (...codes) =>
  (seen) => {
    const { code, killed, text } = last(seen);
    if (killed) return `still busy after ${killed} s`;
    if (code === 0) return "ended with 0, as if all were well";
    if (typeof code !== "number" || code >= 128) return `ended by ${code}`;
    if (/panic:|goroutine \d/.test(text)) return "panicked";
    if (seen.client === "mesh" && codes.length > 0 && !codes.includes(code))
      return `ended with ${code}, not ${codes.join(" or ")}: ${briefly(text)}`;
    return undefined;
  };

/** Its words (of the last run) name the matter. */
export const says =
  (pattern, what = "the cause") =>
  (seen) =>
    pattern.test(last(seen).text) ? undefined : `does not name ${what}: ${briefly(last(seen).text)}`;
export const neverSays = (pattern, what) => (seen) => (pattern.test(last(seen).text) ? `says ${what}` : undefined);

/** The destination has every byte of `image` (of the case's own by default), in `repository`. */
export const holds =
  ({ image = ({ image }) => image, repository } = {}) =>
  async (seen) => {
    const wanted = image(seen);
    const where = repository ?? seen.world.repository;
    for (const [digest, { bytes }] of wanted.manifests) {
      const found = await seen.world.stored("manifests", where, digest);
      if (!found?.equals(bytes)) return `${found ? "other bytes of" : "lacks"} manifest ${digest.slice(0, 7)}…`;
    }
    for (const [digest, bytes] of wanted.blobs) {
      const found = await seen.world.stored("blobs", where, digest);
      if (!found?.equals(bytes)) return `${found ? "other bytes of" : "lacks"} blob ${digest.slice(0, 7)}…`;
    }
    return undefined;
  };

/** Nothing that could be taken for the image: not its manifest, nor `digest` where it is given. */
export const holdsNothing = (digest) => async (seen) => {
  const { world, image } = seen;
  if (await world.stored("manifests", world.repository, image.digest)) return "stored the manifest";
  const found = digest && (await world.stored("blobs", world.repository, digest(seen)));
  return found ? "stored the blob" : undefined;
};

/** Done and held; or failed, naming the matter, with nothing stored that could be taken for it. */
export const orNames = (pattern, what) => async (seen) =>
  last(seen).code === 0 ? holds()(seen) : (fails(1)(seen) ?? says(pattern, what)(seen) ?? holdsNothing()(seen));

/** The requests of `server` that the pattern names, of one run (from 1) or of all. */
export function requests(seen, server, pattern = "* *", run) {
  const log =
    run === undefined
      ? seen.world[server].log
      : seen.world[server].log.slice(seen.runs[run - 1].from[server], seen.runs[run - 1].to[server]);
  return log.filter((exchange) => names(pattern, exchange));
}

/** So many requests, or between `least` and `most`. */
export const asks =
  (server, pattern, least, most = least, run) =>
  (seen) => {
    const count = requests(seen, server, pattern, run).length;
    const matter = pattern === "* *" ? "requests" : pattern;
    if (count >= least && count <= most) return undefined;
    return `${count} ${matter} to the ${server}${run ? ` in run ${run}` : ""}, not ${least === most ? least : most === Infinity ? `${least} or more` : least === 0 ? `at most ${most}` : `${least} to ${most}`}`;
  };

/** Nothing at all is asked of upstream (in that run). */
export const asksNothing = (run, server = "upstream") => asks(server, "* *", 0, 0, run);

/** Each blob is fetched from upstream once. */
export const fetchesOnce = (seen) => {
  const times = new Map();
  for (const { reference } of requests(seen, "upstream", "GET blob"))
    times.set(reference, (times.get(reference) ?? 0) + 1);
  const twice = [...times].find(([, count]) => count > 1);
  return twice && `fetched a blob ${twice[1]} times`;
};

/** Manifests are fetched from upstream once, in all the runs. */
export const readsOnce = (seen) => {
  const all = requests(seen, "upstream", "GET manifest").map(({ reference }) => reference);
  const twice = all.find((reference, at) => all.indexOf(reference) !== at);
  return twice && `fetched a manifest ${all.filter((each) => each === twice).length} times`;
};

/**
 * After an answer of `status`, the host hears nothing for `milliseconds`. Requests that were under
 * way when it was sent do not count, hence `grace`.
 */
export const waits =
  (server, status, milliseconds, grace = 60) =>
  (seen) => {
    const { log } = seen.world[server];
    const refused = log.find((exchange) => exchange.status === status);
    if (!refused) return `was never answered ${status}`;
    const early = log.find(({ at }) => at > refused.at + grace && at < refused.at + milliseconds);
    return early && `asked again after ${early.at - refused.at} ms, not ${milliseconds}`;
  };

/** The server never sees an Authorization header. */
export const noCredentials = (server) => (seen) => {
  const given = seen.world[server].log.find(({ headers }) => headers.authorization);
  return given && `sent Authorization to the ${server} (${given.name})`;
};

/** The last run took at most so long. */
export const within = (seconds) => (seen) =>
  last(seen).seconds > seconds ? `took ${last(seen).seconds.toFixed(1)} s, not ${seconds}` : undefined;

/** What every case asks of every client, whatever else it is about. */
export const always = [
  (seen) => {
    const secret = /s3cret[\w-]*|tok-en-\d+\w*/.exec(
      seen.runs.map(({ text, everything }) => everything ?? text).join("\n"),
    );
    return secret && `showed a secret: ${secret[0].slice(0, 8)}…`;
  },
  (seen) => {
    const short = [...seen.world.upstream.log, ...seen.world.destination.log].find(
      (exchange) =>
        names("GET|HEAD manifest", exchange) &&
        exchange.client !== "corpus" &&
        !accepted.every((type) => exchange.headers.accept?.includes(type)),
    );
    return short && `asked for a manifest with Accept: ${short.headers.accept}`;
  },
  (seen) => {
    const most = seen.most ?? 60;
    const count = seen.world.upstream.log.length;
    return count > most ? `${count} requests to the upstream, without end` : undefined;
  },
];

/** What mesh promises beyond that: its account of upstream's requests is what upstream saw. */
export const account = (seen) => {
  for (const [number, run] of seen.runs.entries()) {
    // What a client that was ended by force had under way may be seen during the next run.
    if (!run.document?.upstream || run.killed || seen.runs[number - 1]?.code === "SIGKILL") continue;
    const shown = run.document.upstream.map(({ method, url }) => `${method} ${new URL(url).pathname}`).sort();
    // Tokens that the destination's realm gives are no upstream's.
    const made = ["upstream", "elsewhere", ...(seen.ownTokens ? [] : ["tokens"])]
      .flatMap((server) => requests(seen, server, "* *", number + 1))
      .map(({ method, path }) => `${method} ${path}`)
      .sort();
    const hidden = made.filter((each) => !shown.includes(each));
    if (hidden.length > 0) return `its account lacks ${hidden[0]} (run ${number + 1})`;
    if (shown.length < made.length)
      return `its account has ${shown.length} of ${made.length} upstream requests (run ${number + 1})`;
  }
  return undefined;
};
