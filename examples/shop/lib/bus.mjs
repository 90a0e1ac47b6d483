// What a plain client does with the environment that Mesh gives a component. Nothing here is of
// Mesh itself: the same few calls exist in every NATS client, in any language.
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, usernamePasswordAuthenticator } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";

const env = process.env;
const encode = (value) => JSON.stringify(value);
const decode = (message) => JSON.parse(message.string() || "null");

/** One plain line for whoever watches. */
export const say = (text) => console.log(text);

/**
 * The bus as this instance: a NATS connection and its JetStream client. `refused` hears what the
 * server says no to.
 */
export async function join(refused = (words) => say(`the server says: ${words}`)) {
  const nc = await connect({
    servers: env.MESH_BUS.split(","),
    // Read anew at each connect: a rotated password is picked up by the next reconnect.
    authenticator: usernamePasswordAuthenticator(env.MESH_USER, () =>
      readFileSync(env.MESH_PASSWORD_FILE, "utf8")),
    inboxPrefix: env.MESH_INBOX,
    name: `${env.MESH_USER}.${env.MESH_COMPONENT}`,
    tls: env.MESH_CA_FILE ? { caFile: env.MESH_CA_FILE } : undefined,
    maxReconnectAttempts: -1,
    waitOnFirstConnect: true,
    reconnectTimeWait: 500,
    ignoreAuthErrorAbort: true,
  });
  report(nc, refused);
  return { nc, js: jetstream(nc) };
}

async function report(nc, refused) {
  for await (const status of nc.status()) {
    if (status.type === "error") refused(status.error.message);
    if (status.type === "disconnect" || status.type === "reconnect") say(`bus: ${status.type}`);
  }
}

/**
 * Publishes to a stream and waits until it is stored; the sequence it got. An answer that is lost
 * (a restart, a reload) is asked for again: the id makes a repetition be stored once, and it is
 * made with the module's own key, so that nobody else can take it first.
 */
export async function store(js, subject, data, key) {
  const secret = readFileSync(env.MESH_KEY_FILE);
  const name = subject.split(".").slice(4).join(".");
  const msgID = createHmac("sha256", secret).update(`${name}\0${key}`).digest("base64url").slice(0, 32);
  for (let left = 10; ; left--) {
    try {
      return (await js.publish(subject, encode(data), { msgID, timeout: 2000 })).seq;
    } catch (error) {
      if (left === 0 || error.name === "PermissionViolationError") throw error;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
}

/** Asks another module's tool: its answer, or what it says is wrong as an error. */
export async function ask(nc, module, tool, input) {
  const answer = decode(await nc.request(`mesh.mod.${module}.tool.${tool}`, encode(input), { timeout: 5000 }));
  if (answer?.error) throw new Error(`${module}.${tool}: ${answer.error}`);
  return answer;
}

/** Answers a tool of this module; instances share the calls. An error is an answer too. */
export function offer(nc, tool, handler) {
  nc.subscribe(`mesh.mod.${env.MESH_MODULE}.tool.${tool}`, {
    queue: env.MESH_MODULE,
    callback: async (refused, call) => {
      if (refused) return say(`the server says: ${refused.message}`);
      try {
        call.respond(encode(await handler(decode(call))));
      } catch (error) {
        call.respond(encode({ error: error.message }));
      }
    },
  });
}

/**
 * Pulls this instance's own consumer, one event after the other, until `close` is called on what
 * it returns. It binds and never creates. `heard(subject, data)` is awaited: done is acknowledged,
 * an exception brings the event again later.
 */
export async function hear(js, heard) {
  const [stream, consumer] = env.MESH_CONSUMER.split(".");
  const own = await js.consumers.get(stream, consumer);
  const pulled = await own.consume({ max_messages: 16, expires: 10_000, idle_heartbeat: 2_000 });
  const finished = (async () => {
    for await (const message of pulled) await handle(message, heard);
  })();
  return { close: () => (pulled.stop(), finished) };
}

async function handle(message, heard) {
  // A retry comes back under this instance's own name, with the event's subject behind it.
  const subject = message.subject.replace(/^mesh\.retry\.[^.]+\.[^.]+\./, "");
  try {
    await heard(subject, message.json());
    await message.ackAck();
  } catch (error) {
    say(`not done, comes again: ${subject}: ${error.message}`);
    message.nak(1000 * message.info.deliveryCount);
  }
}

/** Resolves when the component is told to stop. */
export const stopped = () =>
  new Promise((resolve) => ["SIGTERM", "SIGINT"].forEach((signal) => process.once(signal, resolve)));

/** Finishes what was started, then leaves the bus. */
export async function leave(nc, ...hearings) {
  await Promise.all(hearings.map((hearing) => hearing.close()));
  await nc.drain();
  say("stopped");
}
