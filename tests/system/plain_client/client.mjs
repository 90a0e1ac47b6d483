// An instance as an unmodified client sees it. It is given the variables that `mesh env` prints, and
// nothing else; on stdin stands what the test wants to know of it:
//   {"emit": [subject…], "hear": [subject…], "foreign": {"consumers": […], "publish": […], "subscribe": […]}}
// It emits, pulls its own consumer until it has heard one event of each subject, tries everything
// foreign, and writes one JSON document: {"stored", "heard", "escaped", "refused"}.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(new URL("../../../examples/shop/package.json", import.meta.url));
const { connect } = require("@nats-io/transport-node");
const { jetstream, jetstreamManager } = require("@nats-io/jetstream");

const env = process.env;
const wanted = JSON.parse(readFileSync(0, "utf8"));
const found = { stored: [], heard: [], escaped: [], refused: 0 };
const words = [];

async function join() {
  const nc = await connect({
    servers: env.MESH_BUS.split(","),
    user: env.MESH_USER,
    pass: readFileSync(env.MESH_PASSWORD_FILE, "utf8"),
    inboxPrefix: env.MESH_INBOX,
  });
  (async () => {
    for await (const status of nc.status()) if (status.type === "error") words.push(status.error.message);
  })();
  return nc;
}

async function emit(nc) {
  for (const subject of wanted.emit) {
    const { stream } = await jetstream(nc).publish(subject, env.MESH_USER, { timeout: 5000 });
    found.stored.push(`${subject} in ${stream}`);
  }
}

/** Binds to the consumer that is there, and pulls until each subject was heard. */
async function hear(nc) {
  if (wanted.hear.length === 0) return;
  const [stream, name] = env.MESH_CONSUMER.split(".");
  const consumer = await jetstream(nc).consumers.get(stream, name);
  const pulled = await consumer.consume({ max_messages: 8, expires: 5000 });
  const late = setTimeout(() => pulled.stop(), 20_000);
  for await (const message of pulled) {
    found.heard.push(message.subject);
    await message.ackAck();
    if (wanted.hear.every((subject) => found.heard.includes(subject))) break;
  }
  clearTimeout(late);
}

/** What the server said no to since the last question: it does so before it answers a flush. */
async function refused(nc, what) {
  await nc.flush();
  await new Promise((resolve) => setTimeout(resolve, 5));
  if (words.splice(0).length === 0) found.escaped.push(what);
  else found.refused++;
}

async function tryForeign(nc) {
  for (const consumer of wanted.foreign.consumers) {
    const verbs = ["CONSUMER.INFO", "CONSUMER.MSG.NEXT", "CONSUMER.DELETE", "CONSUMER.DURABLE.CREATE"];
    const subjects = verbs.map((verb) => `$JS.API.${verb}.${consumer}`);
    for (const subject of [...subjects, `$JS.ACK.${consumer}.1.1.1.1.0`]) {
      nc.publish(subject, "{}", { reply: `${env.MESH_INBOX}.x` });
      await refused(nc, `publish ${subject}`);
    }
  }
  for (const subject of wanted.foreign.publish) {
    nc.publish(subject, "{}", { reply: `${env.MESH_INBOX}.x` });
    await refused(nc, `publish ${subject}`);
  }
  for (const subject of wanted.foreign.subscribe) {
    nc.subscribe(subject, { callback: () => {} });
    await refused(nc, `subscribe ${subject}`);
  }
}

/** The client's own calls that make, change or read what is not this instance's. */
async function tryManagement(nc) {
  const manager = await jetstreamManager(nc, { checkAPI: false, timeout: 500 });
  const calls = {
    "make a stream": () => manager.streams.add({ name: "SPY", subjects: ["spy"] }),
    "list the streams": () => manager.streams.list().next(),
    "read a stream's state": () => manager.streams.info("EVENTS"),
    "read a message": () => manager.streams.getMessage("EVENTS", { seq: 1 }),
    "empty a stream": () => manager.streams.purge("EVENTS"),
    "delete a stream": () => manager.streams.delete("EVENTS"),
    "make a consumer": () => manager.consumers.add("EVENTS", { durable_name: "spy", ack_policy: "explicit" }),
    "list the consumers": () => manager.consumers.list("EVENTS").next(),
  };
  for (const [what, call] of Object.entries(calls)) {
    const done = await call().then(() => true, () => false);
    if (done) found.escaped.push(what);
    else found.refused++;
  }
}

const nc = await join();
await emit(nc);
await hear(nc);
await tryForeign(nc);
await tryManagement(nc);
await nc.close();
process.stdout.write(JSON.stringify(found));
process.exit(0);
