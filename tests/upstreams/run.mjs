// Runs the corpus. A line for each case; exit code 1 when mesh does other than a correct client does,
// or than `notYet` says.
//   node run.mjs [--client mesh|skopeo|all] [--only WORD] [--at-once N] [--slow] [--verbose]
//   node run.mjs --client mesh|skopeo|all --write-table
// --slow adds what waits for half a minute; --write-table renews docs/clients.md.
// MESH is the binary (build/bin/mesh).
import { networkInterfaces } from "node:os";
import { parseArgs } from "node:util";
import { MeshClient, NoClient, SkopeoClient } from "./clients.mjs";
import { chapters, notYet } from "./cases/all.mjs";
import { account, always } from "./expect.mjs";
import { outOfDate, writeTable } from "./table.mjs";
import { World, RealRegistry, certificates, cleanUp } from "./world.mjs";

const { values: options } = parseArgs({
  options: {
    client: { type: "string", default: "mesh" },
    only: { type: "string", default: "" },
    "at-once": { type: "string", default: "4" },
    "write-table": { type: "boolean", default: false },
    slow: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});

const program = process.env.MESH ?? new URL("../../build/bin/mesh", import.meta.url).pathname;
const clients = { mesh: new MeshClient(program), skopeo: new SkopeoClient() };

/** Runs a case's runs, one after the other or together: each with what each server had seen. */
async function play(the, world, client) {
  const place = client.prepare(world);
  const one = async (number) => {
    const from = world.counts();
    const pairs = the.pairsOf?.(world, number) ?? world.pairs;
    const run = await client.copy(world, { place, pairs, ...the.how?.(world, number) });
    return { ...run, from, to: world.counts() };
  };
  if (the.together) return Promise.all(Array.from({ length: the.together }, (_, at) => one(at + 1)));
  const runs = [];
  for (let number = 1; number <= (the.runs ?? 1); ++number) {
    if (number > 1) await the.between?.(world, number);
    runs.push(await one(number));
  }
  return runs;
}

/** What the client did otherwise than it should: a few words, or nothing. */
async function judge(the, client, shared) {
  const world = new World(the, shared, client.name);
  try {
    await world.start();
    const runs = await play(the, world, client);
    const seen = { client: client.name, runs, world, image: world.image, most: the.most, ownTokens: the.ownTokens };
    if (options.verbose) runs.forEach(({ code, text }) => console.error(`# ${the.name}: ${code}\n${text}`));
    if (options.verbose)
      world.servers.forEach(({ name, log }) =>
        log.forEach((each) =>
          console.error(`#   ${name} ${each.at % 100000} ${each.method} ${each.url} ${each.status}`),
        ),
      );
    for (const expectation of [
      ...the.expect,
      ...always,
      ...(client.name === "mesh" && !the.together ? [account] : []),
    ]) {
      const wrong = await expectation(seen);
      if (wrong) return wrong;
    }
    return undefined;
  } finally {
    await world.stop();
  }
}

/** Cases that do not see that nothing was done: they could not fail, and are defects themselves. */
async function blind(cases, shared) {
  const judged = await Promise.all(
    cases.map(async (the) => {
      const wrongs = [];
      for (const code of [0, 1])
        wrongs.push(await judge(the, new NoClient(code), shared).catch((error) => error.message));
      return wrongs.every(Boolean) ? undefined : the.name;
    }),
  );
  return judged.filter(Boolean);
}

const todo = ({ name }, of) => (name === "mesh" && notYet.has(of) ? " # TODO" : "");

/** All cases, some side by side; those that mostly wait begin first and take no place. */
async function column(client, cases, shared) {
  const outcomes = new Map();
  const version = await client.version();
  const report = async (the) => {
    const began = Date.now();
    const wrong =
      the.meshOnly && client.name !== "mesh"
        ? `not asked: ${the.meshOnly}`
        : await judge(the, client, shared).catch((error) => `the script failed: ${error.stack}`);
    outcomes.set(the.name, wrong);
    const took = `(${((Date.now() - began) / 1000).toFixed(1)} s)`;
    console.log(
      `${wrong ? "not ok" : "ok"} ${outcomes.size} - ${client.name}: ${the.name} ${took}${todo(client, the.name)}`,
    );
    if (wrong) console.log(`  # ${the.does}\n  # should: ${the.right}\n  # but: ${wrong}`);
  };
  const waiting = cases.filter((the) => the.slow || the.waits).map(report);
  const rest = cases.filter((the) => !the.slow && !the.waits);
  const worker = async () => {
    for (let the = rest.shift(); the; the = rest.shift()) await report(the);
  };
  await Promise.all([...waiting, ...Array.from({ length: Number(options["at-once"]) }, worker)]);
  return { client: client.name, version, outcomes };
}

async function main() {
  const addresses = Object.values(networkInterfaces()).flatMap((all) => all.map(({ address }) => address));
  const possible = ({ host = "127.0.0.1", slow }) =>
    (host !== "::1" || addresses.includes(host)) && (!slow || options.slow || options["write-table"]);
  const all = chapters.flatMap(([, list]) => list).filter(({ name }) => name.includes(options.only));
  const cases = all.filter(possible);
  for (const { name } of all.filter((the) => !possible(the))) console.log(`# left out here: ${name}`);
  const twice = cases.find((one, at) => cases.findIndex(({ name }) => name === one.name) !== at);
  if (twice) throw new Error(`two cases are called ${twice.name}`);
  const wanted = options.client === "all" ? ["mesh", "skopeo"] : [options.client];
  const real = new RealRegistry();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => real.stop().finally(() => (cleanUp(), process.exit(130))));
  try {
    const shared = { certificates: await certificates(), real: await real.start() };
    const columns = [];
    const unseeing = await blind(cases, shared);
    if (unseeing.length > 0) throw new Error(`cases that a client passes that does nothing: ${unseeing.join(", ")}`);
    console.log(`1..${cases.length * wanted.length}`);
    for (const name of wanted) columns.push(await column(clients[name], cases, shared));
    for (const { client, version, outcomes } of columns) {
      const bad = [...outcomes.values()].filter(Boolean).length;
      console.log(`# ${version}: ${outcomes.size - bad} of ${outcomes.size} as a correct client`);
      if (client !== "mesh") continue;
      const other = [...outcomes].filter(([the, wrong]) => Boolean(wrong) !== notYet.has(the)).map(([the]) => the);
      if (other.length === 0) continue;
      console.log(`# otherwise than expected: ${other.join(", ")} (cases/all.mjs lists what mesh does not do yet)`);
      process.exitCode = 1;
    }
    if (options["write-table"]) return writeTable(columns);
    const missing = options.only ? [] : outOfDate();
    if (missing.length > 0) {
      console.log(
        `# docs/clients.md is not of these cases (${missing.join(", ")}): run with --client all --write-table`,
      );
      process.exitCode = 1;
    }
  } finally {
    await real.stop();
    cleanUp();
  }
}

await main();
process.exit();
