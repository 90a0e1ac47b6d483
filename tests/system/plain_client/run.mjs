// The proof that any client will do: a mesh of its own making, its instances played by unmodified
// clients that are given what `mesh env` prints and nothing more. Each must store what it emits,
// hear what it consumes, and be refused everything that is another's. The mesh is drawn from a seed
// (`MESH_SEED=… node run.mjs` draws it again).
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mesh, endAll, until, within } from "../../../examples/shop/show/program.mjs";

const program = process.env.MESH ?? new URL("../../../build/bin/mesh", import.meta.url).pathname;
const seed = Number(process.env.MESH_SEED ?? Math.floor(Math.random() * 2 ** 31));
const draw = generator(seed);
const pick = (list) => list[Math.floor(draw() * list.length)];

/** Numbers from 0 to 1, the same ones for the same seed (mulberry32). */
function generator(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Three nodes and seven modules without components; each emits, and consumes what others emit. */
function drawMesh() {
  const nodes = ["n1", "n-2", "third"];
  const modules = Array.from({ length: 7 }, (_, index) => ({
    name: `m${index}${pick(["", "-x", "a"])}`, node: pick(nodes), emits: pick(["done", "order.placed", "a.b.c"]),
  }));
  modules.forEach((module, index) => {
    const other = modules.filter((each) => each !== module);
    const heard = index === 0 ? [] : [...new Set([pick(other), pick(other)])];
    module.consumes = heard.map((each) => `${each.name}.${each.emits}`);
  });
  return { nodes, modules };
}

function write(folder, { nodes, modules }, port) {
  const tables = nodes.map((node) => `[nodes.${node}]`);
  for (const { name, node, emits, consumes } of modules) {
    tables.push(`[modules.${name}]\npath = "${name}"\non = ["${node}"]`);
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "module.toml"), `emits = ["${emits}"]\nconsumes = ${JSON.stringify(consumes)}\n`);
  }
  writeFileSync(join(folder, "mesh.toml"), `mesh = "plain"\n\n[bus]\nlisten = "127.0.0.1:${port}"\n\n${tables.join("\n")}\n`);
}

const subjectOf = (event) => event.replace(/^([^.]+)\./, "mesh.mod.$1.event.");
const eventOf = ({ name, emits }) => subjectOf(`${name}.${emits}`);
const consumerOf = ({ node, name }) => `EVENTS.${node}_${name}`;

/** What the client of one instance is to do, and what it must be refused. */
function task(module, modules, acts) {
  const others = modules.filter((each) => each !== module);
  const heard = module.consumes.map(subjectOf);
  const foreignEvents = others.map(eventOf);
  return {
    emit: acts ? [] : [eventOf(module)],
    hear: acts ? heard : [],
    foreign: !acts ? { consumers: [], publish: [], subscribe: [] } : {
      consumers: others.map(consumerOf),
      publish: [...foreignEvents, `mesh.node.${module.node}.declare`, `mesh.node.${module.node}.report`,
        "mesh.x", "$SYS.REQ.SERVER.PING"],
      subscribe: [">", "mesh.>", "_INBOX.>", "$JS.>", "_DELIVER.>",
        ...others.map(({ node, name }) => `_INBOX.${node}.${name}.>`),
        ...foreignEvents.filter((subject) => !heard.includes(subject))],
    },
  };
}

/** Runs client.mjs with exactly `variables` around it: its document. */
function play(variables, wanted) {
  const client = new URL("client.mjs", import.meta.url).pathname;
  const child = spawn(process.execPath, [client], { env: variables, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  let errors = "";
  child.stdout.on("data", (data) => (output += data));
  child.stderr.on("data", (data) => (errors += data));
  child.stdin.end(JSON.stringify(wanted));
  const ended = new Promise((resolve, reject) => child.on("close", (code) =>
    code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`the client ended with ${code}: ${errors}`))));
  return within(60, "a client", ended).finally(() => child.kill("SIGKILL"));
}

async function freePort() {
  const probe = createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

async function main(folder) {
  const drawn = drawMesh();
  write(folder, drawn, await freePort());
  const mesh = new Mesh(program, folder);
  const log = [];
  await mesh.run(["init"]);
  mesh.start(["controller"], (text) => log.push(text));
  await until(30, "the bus", () => log.some((text) => text.includes("runs"))).catch((error) => {
    throw new Error(`${error.message}; the controller said:\n${log.join("\n")}`);
  });
  const pushed = await mesh.run(["push"]);
  if (pushed.code !== 0) throw new Error(`mesh push ended with ${pushed.code}: ${pushed.errors}`);

  const problems = [];
  const expect = (holds, text) => holds || problems.push(text);
  let refused = 0;
  for (const acts of [false, true]) {
    for (const module of drawn.modules) {
      const wanted = task(module, drawn.modules, acts);
      const found = await play((await mesh.ask("env", `${module.node}.${module.name}`)).env, wanted);
      expect(found.stored.length === wanted.emit.length, `${module.name} stored ${found.stored}`);
      expect([...found.heard].sort().join() === [...wanted.hear].sort().join(),
        `${module.name} heard ${found.heard}, not ${wanted.hear}`);
      found.escaped.forEach((what) => problems.push(`${module.name} was not refused: ${what}`));
      refused += found.refused;
    }
  }
  return { problems, refused, instances: drawn.modules.length };
}

const folder = mkdtempSync(join(tmpdir(), "mesh-plain-"));
const outcome = await main(folder).catch((error) => ({ problems: [error.message] }));
await endAll();
rmSync(folder, { recursive: true, force: true });
outcome.problems.forEach((problem) => console.error(problem));
if (outcome.problems.length === 0) {
  console.log(`${outcome.instances} instances stored and heard all that they declare`);
  console.log(`${outcome.refused} attempts at what is another's were refused`);
} else {
  console.error(`seed ${seed}`);
}
process.exit(outcome.problems.length === 0 ? 0 : 1);
