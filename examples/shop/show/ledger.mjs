// Who said what: the modules' own lines, as `mesh up` passes them on, and what the controller saw pass.
const sentence = /\b(one|two)\.(telegram|audit|shop)\b\S*\s.*?\b(emitted|heard|gave|did|asked|answered) (\S+)(?: (.*))?$/;

export class Ledger {
  constructor() {
    this.said = [];
    this.passed = [];
  }

  /** Takes a line of `mesh up`; what happened, or null when the line says something else. */
  take(text) {
    const found = sentence.exec(text);
    if (!found) return null;
    const [, node, module, verb, what, rest = ""] = found;
    const entry = { who: `${node}.${module}`, verb, what, rest, order: rest.split(" ")[0] };
    this.said.push(entry);
    return entry;
  }

  /** How often `who` said that it `verb` `what` of this order. */
  times(who, verb, what, order) {
    const same = (entry) => entry.who === who && entry.verb === verb && entry.what === what && entry.order === order;
    return this.said.filter(same).length;
  }

  /** The steps of one order that were not taken exactly once: empty when all is well. */
  missed(order) {
    const steps = [
      ["two.shop", "emitted", "shop.order.placed"],
      ["two.audit", "heard", "shop.order.placed"],
      ["two.shop", "gave", "telegram-sender.send"],
      ["one.telegram", "did", "telegram-sender.send"],
      ["one.telegram", "emitted", "telegram-sender:delivered"],
      ["two.shop", "heard", "telegram-sender:delivered"],
    ];
    return steps
      .map((step) => ({ step, times: this.times(...step, order) }))
      .filter(({ times }) => times !== 1)
      .map(({ step, times }) => `${step.join(" ")} ${order}: ${times} times`);
  }
}

/** How often each value is in a list. */
export function count(list) {
  const times = {};
  for (const value of list) times[value] = (times[value] ?? 0) + 1;
  return times;
}
