// The demo: brings the shop up as a mesh of its own in a temporary folder, places orders, shows who
// said and heard what, lets audit be taken over, and ends with what was proved: exit 0 only if all
// was as it must be. `--stay` keeps the mesh until Ctrl-C.
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ledger, count } from "./ledger.mjs";
import { showImages } from "./images.mjs";
import { Mesh, end, endAll, until, within } from "./program.mjs";
import { bold, faint, happened, line, red, title, verdict } from "./terminal.mjs";

const shop = new URL("..", import.meta.url).pathname;
const stay = process.argv.includes("--stay");
const program = process.env.MESH ?? join(shop, "../../build/bin/mesh");
const began = Date.now();

const customers = [["tea", "ada"], ["kettle", "bob"], ["tea", "ada"], ["cup", "carol"], ["tea", "dan"]];

/** What passes on the bus for one order, in the account that the streams are in. */
const ordinary = ["mesh.mod.shop.event.order.placed", "mesh.seat.telegram-sender.accept.send",
  "mesh.seat.telegram-sender.event.delivered"];

/** What each machine says of itself, at each change and every half minute. */
const isReport = (subject) => /^mesh\.node\.[^.]+\.report$/.test(subject);

const findings = [];
let shown = 0;
/** Notes what was proved, or was not: the summary shows it, and the exit code follows. */
const prove = (holds, text, details = []) => findings.push({ holds: Boolean(holds), text, details });

/** A copy of the shop that listens on a free port: the checkout stays as it is. */
async function folderOfItsOwn() {
  const folder = mkdtempSync(join(tmpdir(), "mesh-demo-"));
  chmodSync(folder, 0o755); // a module's own user passes through it
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  cpSync(join(shop, "modules"), join(folder, "modules"), { recursive: true });
  const bus = `[bus]\nlisten = "127.0.0.1:${await freePort()}"\n`;
  writeFileSync(join(folder, "mesh.toml"), `${readFileSync(join(shop, "mesh.toml"))}\n${bus}`);
  return folder;
}

function freePort() {
  const probe = createServer();
  return new Promise((resolve) =>
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    }));
}

/** Starts the mesh and waits until its three modules are at work. */
async function bringUp(mesh, ledger) {
  title("mesh up: three modules on two machines, and their bus");
  await mesh.run(["init"]); // its recovery key is of no use to a mesh that ends in a minute
  const log = [];
  const up = mesh.start(["up"], (text) => {
    log.push(text);
    const entry = ledger.take(text);
    if (entry) happened(entry.who, entry.verb, `${entry.what} ${faint(entry.rest)}`);
    else if (stay || log.length < 60) line(faint(`  ${text}`));
  });
  const ready = ["holds telegram-sender", "listening", "open"];
  const allReady = () => ready.every((word) => log.some((text) => text.trimEnd().endsWith(word)));
  const ended = up.done.then((code) => {
    if (!allReady()) throw new Error(`mesh up ended with ${code}:\n${log.slice(-15).join("\n")}`);
  });
  await Promise.race([ended, until(40, "the modules to be at work", allReady)]);
  ended.catch(() => {});
  return up;
}

/** The controller's eyes: everything that passes in the account that the streams are in. */
async function watch(mesh, ledger) {
  let listening;
  const ready = new Promise((resolve) => (listening = resolve));
  const tap = mesh.start(["tap", "mesh.>", "--json"], (text, result) => {
    const subject = result && JSON.parse(text).subject;
    if (isReport(subject)) return;
    if (result) ledger.passed.push(subject);
    else if (text.includes("listening")) listening();
    else line(red(`  ${text}`));
  });
  await within(10, "mesh tap", Promise.race([ready, tap.done]));
  return tap;
}

async function place(mesh, orders) {
  const placed = [];
  for (const [item, customer] of orders) {
    const answer = await mesh.ask("call", "shop.order", JSON.stringify({ item, customer }));
    placed.push((answer.answer ?? answer).order);
  }
  return placed;
}

/** Waits until each order has gone its whole way. */
async function settle(ledger, orders) {
  const all = () => orders.every((order) => ledger.missed(order).length === 0);
  await until(20, "the orders to be worked on", all).catch(() => {});
}

async function ordersAreWorkedOn(mesh, ledger) {
  title("orders: placed with `mesh call shop.order`");
  const orders = await place(mesh, customers);
  await settle(ledger, orders);
  return orders;
}

/** What audit is granted, each subject with the declaration that it follows from. */
async function showGrants(mesh, principal) {
  title(`what ${principal} may do: its declarations say so, and nothing else is granted`);
  const { principals } = await mesh.ask("grants", principal);
  for (const [verb, list] of [["publish", principals[0].publish], ["hear", principals[0].subscribe]]) {
    for (const { subject, because } of list) happened(principal, verb, `${subject} ${faint(because.text)}`);
  }
}

/** Runs what a taken-over audit tries, and places orders while its redirected questions wait. */
async function takeOver(mesh, ledger) {
  title("audit is taken over: with its own password it tries to read what it may not");
  const before = ledger.passed.length;
  const attempts = [];
  let waiting;
  const halfway = new Promise((resolve) => (waiting = resolve));
  const attack = mesh.start(["env", "two.audit", "--", process.execPath, join(shop, "dist/attack.cjs")], (text) => {
    const [verdictOf, what, words] = text.split(" | ");
    if (what === undefined) return line(faint(`  ${text}`));
    if (verdictOf === "waiting") return waiting();
    if (verdictOf === "sent" && !attempts.some((attempt) => attempt.verdict === "sent")) {
      title("... and to command a machine: its own questions, with the answer sent elsewhere");
    }
    attempts.push({ verdict: verdictOf, what });
    happened("two.audit", verdictOf, `${what}${words ? faint(`: ${words}`) : ""}`);
  });
  await within(30, "the attack", Promise.race([halfway, attack.done]));
  title("orders meanwhile");
  const orders = await place(mesh, [["tea", "eve"], ["cup", "fred"], ["kettle", "grace"]]);
  await settle(ledger, orders);
  const code = await within(30, "the end of the attack", attack.done);
  const passed = ledger.passed.slice(before);
  title("what passed meanwhile, as the controller saw it");
  for (const [subject, times] of Object.entries(count(passed))) {
    happened("controller", ordinary.includes(subject) ? "saw" : "ESCAPED", `${subject} ${faint(`${times} times`)}`);
  }
  return { attempts, orders, code, passed };
}

function proveOrders(ledger, orders) {
  const missed = orders.flatMap((order) => ledger.missed(order));
  const n = orders.length;
  prove(missed.length === 0,
    `${n} orders: each emitted once, heard once by audit, and told to one customer by telegram once`, missed);
}

function proveSeen(ledger, orders) {
  const seen = count(ledger.passed);
  const wrong = ordinary.filter((subject) => seen[subject] !== orders.length)
    .map((subject) => `${subject}: ${seen[subject] ?? 0} times`);
  prove(wrong.length === 0, `the controller saw the same ${3 * orders.length} messages pass`, wrong);
}

function proveRefused({ attempts, code }) {
  const refused = attempts.filter((attempt) => attempt.verdict === "refused");
  const others = attempts.filter((attempt) => !["refused", "granted", "sent"].includes(attempt.verdict));
  prove(code === 0 && refused.length > 0 && others.length === 0,
    `${refused.length} attempts refused by the server`, others.map((attempt) => attempt.what));
}

function proveWithoutEffect({ attempts, orders, passed }) {
  const sent = attempts.filter((attempt) => attempt.verdict === "sent");
  const escaped = passed.filter((subject) => !ordinary.includes(subject));
  prove(sent.length > 0 && escaped.length === 0 && passed.length === 3 * orders.length,
    `${sent.length} redirected answers reached nobody: no machine was told anything, no event or work was forged`,
    Object.keys(count(escaped)));
}

/** Nothing waits, nothing is half done; and a second push finds nothing to change. */
async function proveQuiet(mesh) {
  const names = ["EVENTS.two_audit", "EVENTS.two_shop", "SEAT_TELEGRAM_SENDER.SEAT_TELEGRAM_SENDER_worker",
    "NODES.one", "NODES.two"]; // a declaration that somebody had forged would wait for its machine
  const left = async () => {
    const { consumers } = await mesh.ask("status");
    const done = (name) => consumers.some((one) => one.name === name && one.waiting === 0 && one.unacknowledged === 0);
    return names.filter((name) => !done(name));
  };
  await until(10, "the consumers to be done", async () => (await left()).length === 0).catch(() => {});
  const open = await left();
  prove(open.length === 0, "no event, no work and no declaration is left waiting", open);
  const again = await mesh.ask("push");
  prove(again.writes === 0 && again.reloaded === false, "a second push changes nothing on the bus",
    [`writes: ${again.writes}`, `reloaded: ${again.reloaded}`]);
}

async function main() {
  const ledger = new Ledger();
  const mesh = new Mesh(program, await folderOfItsOwn());
  const up = await bringUp(mesh, ledger);
  const tap = await watch(mesh, ledger);
  const orders = await ordersAreWorkedOn(mesh, ledger);
  await showGrants(mesh, "two.audit");
  const attack = await takeOver(mesh, ledger);
  orders.push(...attack.orders);
  proveOrders(ledger, orders);
  proveSeen(ledger, orders);
  proveRefused(attack);
  proveWithoutEffect(attack);
  await proveQuiet(mesh);
  await end(tap);
  if (stay) await staying(mesh, up);
  const code = await end(up);
  prove(code === 0, "the mesh ended in order", [`exit code ${code}`]);
  if (!cut) await showImages(program, shop, freePort, prove);
}

async function staying(mesh, up) {
  summary();
  line(`\nThe mesh stays until Ctrl-C. Try, in another terminal:`);
  line(bold(`  ${program} -C ${mesh.folder} call shop.order '{"item": "tea", "customer": "you"}'`));
  line(bold(`  ${program} -C ${mesh.folder} explain two.audit hear mesh.node.one.declare`));
  await Promise.race([new Promise((resolve) => (interrupted = resolve)), up.done]);
}

/** Shows the findings that were not shown yet. */
function summary() {
  title("what was proved");
  for (const { holds, text, details } of findings.slice(shown)) {
    verdict(holds, text);
    if (!holds) details.forEach((detail) => line(`         ${detail}`));
  }
  shown = findings.length;
}

/** What Ctrl-C does: it ends the wait of --stay, and the demo itself before that. */
let interrupted = async () => {
  cut = true;
  await endAll();
  process.exit(130);
};
let cut = false;
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => interrupted());

async function finish() {
  await endAll();
  if (cut) return;
  summary();
  const failed = findings.filter(({ holds }) => !holds).length;
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  line(failed ? red(`\n${failed} of ${findings.length} did not hold (${seconds} s)`) : `\nall of it, in ${seconds} s`);
  process.exit(failed ? 1 : 0);
}

main().catch((error) => prove(false, error.message)).then(finish);
