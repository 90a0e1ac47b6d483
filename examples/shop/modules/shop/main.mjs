// Takes orders: emits each, asks audit who the customer is, gives telegram-sender a text to send.
import { randomUUID } from "node:crypto";
import { ask, hear, join, leave, offer, say, stopped, store } from "../../lib/bus.mjs";

const prices = new Map([["tea", 4], ["cup", 9], ["kettle", 35]]);

function price({ item }) {
  if (!prices.has(item)) throw new Error(`no such item: ${item}`);
  return { item, price: prices.get(item) };
}

async function order(bus, { item, customer }) {
  const placed = { order: randomUUID().slice(0, 8), customer, ...price({ item }) };
  await store(bus.js, "mesh.mod.shop.event.order.placed", placed, placed.order);
  say(`emitted shop.order.placed ${placed.order} ${item} for ${customer}`);

  const before = await ask(bus.nc, "audit", "search", { customer });
  say(`asked audit.search about ${customer}: ${before.orders.length} in the record`);

  const text = `${customer}, your ${item} is on its way`;
  await store(bus.js, "mesh.seat.telegram-sender.accept.send", { order: placed.order, text }, placed.order);
  say(`gave telegram-sender.send ${placed.order} "${text}"`);
  return placed;
}
async function main() {
  const stop = stopped();
  const bus = await join();
  offer(bus.nc, "price", price);
  offer(bus.nc, "order", (input) => order(bus, input));
  const hearing = await hear(bus.js, (subject, { order }) => say(`heard telegram-sender:delivered ${order}`));
  say("open");
  await stop;
  await leave(bus.nc, hearing);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
