// Keeps a record of every order, and answers questions about it.
import { hear, join, leave, offer, say, stopped } from "../../lib/bus.mjs";

const record = new Map();

function keep(subject, placed) {
  const again = record.has(placed.order) ? " again" : "";
  record.set(placed.order, placed);
  say(`heard shop.order.placed ${placed.order}${again}`);
}

function search({ customer }) {
  const orders = [...record.values()].filter((placed) => !customer || placed.customer === customer);
  say(`answered audit.search: ${orders.length} of ${record.size}`);
  return { orders };
}

async function main() {
  const stop = stopped();
  const { nc, js } = await join();
  offer(nc, "search", search);
  const hearing = await hear(js, keep);
  say("listening");
  await stop;
  await leave(nc, hearing);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
