// What audit can do once somebody has taken it over: everything here is tried with audit's own
// credentials (`mesh env two.audit -- node dist/attack.cjs`) and an unmodified client. One line for
// each attempt; exits 1 when one succeeds. Whether a redirected answer arrived anywhere cannot be
// seen from inside audit's account: the demo watches the whole bus meanwhile.
import { join, say } from "./lib/bus.mjs";

const own = process.env.MESH_CONSUMER;
const inbox = process.env.MESH_INBOX;
const ack = (consumer) => `$JS.ACK.${consumer}.1.1.1.1.0`;
const seconds = (count) => new Promise((resolve) => setTimeout(resolve, count * 1000));

const reading = [
  ["hear everything", ">"],
  ["hear every module", "mesh.mod.>"],
  ["hear what the seat is given to do", "mesh.seat.telegram-sender.accept.send"],
  ["take the seat's work", "_DELIVER.SEAT_TELEGRAM_SENDER_worker"],
  ["hear what shop is answered", "_INBOX.two.shop.>"],
  ["answer shop's tool in its place", "mesh.mod.shop.tool.price"],
  ["hear what machine one is told", "mesh.node.one.declare"],
  ["hear the server's own account", "$SYS.>"],
];

const asking = [
  ["pull shop's consumer", "$JS.API.CONSUMER.MSG.NEXT.EVENTS.two_shop"],
  ["look at shop's consumer", "$JS.API.CONSUMER.INFO.EVENTS.two_shop"],
  ["acknowledge for shop", ack("EVENTS.two_shop")],
  ["make a consumer", "$JS.API.CONSUMER.CREATE.EVENTS.spy"],
  ["make a stream", "$JS.API.STREAM.CREATE.SPY"],
  ["read a stream by its numbers", "$JS.API.STREAM.MSG.GET.EVENTS"],
  ["empty a stream", "$JS.API.STREAM.PURGE.EVENTS"],
  ["emit an order as shop", "mesh.mod.shop.event.order.placed"],
  ["give the seat work", "mesh.seat.telegram-sender.accept.send"],
  ["command machine one", "mesh.node.one.declare"],
];

// NATS does not ask whether a client may publish where it wants its answer to go. So each of these
// is something that audit may ask, with somebody else's subject as the place for the answer. The
// account that audit is alone in is what keeps the answer from getting there.
const granted = [
  ["its next event", `$JS.API.CONSUMER.MSG.NEXT.${own}`, '{"batch":4,"expires":4000000000}'],
  ["what its consumer is like", `$JS.API.CONSUMER.INFO.${own}`, "{}"],
  ["the receipt of an acknowledgement", ack(own), "+ACK"],
];

const elsewhere = [
  ["machine one, as a command", "mesh.node.one.declare"],
  ["shop's events", "mesh.mod.shop.event.order.placed"],
  ["the seat's queue", "mesh.seat.telegram-sender.accept.send"],
  ["shop's tool", "mesh.mod.shop.tool.order"],
  ["shop's inbox", "_INBOX.two.shop.answer"],
  ["the emptying of a stream", "$JS.API.STREAM.PURGE.EVENTS"],
  ["shop's acknowledgements", ack("EVENTS.two_shop")],
];

const words = [];
let succeeded = 0;

/** What the server has said no to since the last question: it does so before it answers a flush. */
async function refusal(nc) {
  await nc.flush();
  await seconds(0.01);
  return words.splice(0).join("; ");
}

/** Shows an attempt that must be refused, or what it reached. */
async function mustBeRefused(nc, what) {
  const refused = await refusal(nc);
  if (!refused) succeeded++;
  say(`${refused ? "refused" : "SUCCEEDED"} | ${what} | ${refused}`);
}

/** The same three questions with the answer to audit's own inbox: they are well-formed, and answered. */
async function control(nc) {
  for (const [what, subject, body] of granted) {
    const question = body.replace('"batch":4,"expires":4000000000', '"no_wait":true');
    const answer = await nc.request(subject, question, { timeout: 2000 }).catch(() => null);
    if (!answer) succeeded++;
    say(`${answer ? "granted" : "UNANSWERED"} | ${what}, to its own inbox | `);
  }
}

async function main() {
  const { nc } = await join((refused) => words.push(refused));
  for (const [what, subject] of reading) {
    nc.subscribe(subject, { callback: () => {} });
    await mustBeRefused(nc, what);
  }
  for (const [what, subject] of asking) {
    nc.publish(subject, "{}", { reply: `${inbox}.x` });
    await mustBeRefused(nc, what);
  }
  await control(nc);
  for (const [where, target] of elsewhere) {
    for (const [what, subject, body] of granted) {
      nc.publish(subject, body, { reply: target });
      const refused = await refusal(nc);
      say(`${refused ? "refused" : "sent"} | ${what}, to ${where} | ${refused}`);
    }
  }
  say("waiting | what is sent now is due to the redirected questions too | ");
  await seconds(3);
  await nc.close();
  process.exit(succeeded ? 1 : 0);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
