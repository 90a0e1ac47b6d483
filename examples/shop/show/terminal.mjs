// What the demo writes: plain lines, coloured on a terminal that wants colours.
const coloured = process.stdout.isTTY && !process.env.NO_COLOR && process.env.TERM !== "dumb";
const paint = (code) => (text) => (coloured ? `\x1b[${code}m${text}\x1b[0m` : text);

export const bold = paint(1);
export const faint = paint(2);
export const red = paint(31);
export const green = paint(32);
const yellow = paint(33);
const blue = paint(34);
const magenta = paint(35);
const cyan = paint(36);

const verbs = {
  emitted: green, heard: cyan, gave: yellow, did: magenta, asked: blue, answered: blue,
  refused: green, "no effect": green, granted: faint, SUCCEEDED: red, ESCAPED: red, UNANSWERED: red,
};

export const line = (text = "") => process.stdout.write(`${text}\n`);
export const title = (text) => line(`\n${bold(text)}`);

/** One thing that happened: who, what, and about what. */
export function happened(who, verb, rest) {
  line(`  ${who.padEnd(13)} ${(verbs[verb] ?? faint)(verb.padEnd(9))} ${rest}`);
}

/** One statement of the summary. */
export function verdict(holds, text) {
  line(`  ${holds ? green("ok  ") : red("NOT ")} ${text}`);
}
