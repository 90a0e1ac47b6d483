// Runs `mesh`, and is done with every process it started when the demo ends.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const running = new Set();

export class Mesh {
  /** `program` is the binary, `folder` holds mesh.toml. */
  constructor(program, folder) {
    this.program = program;
    this.folder = folder;
  }

  /** Starts a verb; each line of either stream goes to `heard`. `done` has its exit code. */
  start(verb, heard = () => {}, options = {}) {
    // A group of its own: Ctrl-C in the terminal reaches the demo alone, which then ends it in order.
    const child = spawn(this.program, ["-C", this.folder, ...verb], {
      stdio: ["ignore", "pipe", "pipe"], detached: true, ...options,
    });
    running.add(child);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on("line", (text) => heard(text, stream === child.stdout));
    }
    child.done = new Promise((resolve) => {
      child.once("error", (error) => (running.delete(child), resolve(error.message)));
      child.once("close", (code, signal) => (running.delete(child), resolve(code ?? signal)));
    });
    return child;
  }

  /** Runs a verb to its end: its exit code, and what it wrote. */
  async run(verb, seconds = 20) {
    const output = [];
    const errors = [];
    const child = this.start(verb, (text, result) => (result ? output : errors).push(text));
    const code = await within(seconds, `mesh ${verb[0]}`, child.done).catch((error) => {
      child.kill("SIGKILL");
      throw error;
    });
    return { code, output: output.join("\n"), errors: errors.join("\n") };
  }

  /** Runs a verb with --json: its document. Anything but exit code 0 is an error. */
  async ask(...verb) {
    const { code, output, errors } = await this.run([...verb, "--json"]);
    if (code !== 0) throw new Error(`mesh ${verb[0]} ended with ${code}: ${errors || output}`);
    return JSON.parse(output);
  }
}

/**
 * Ends a process in order, and by force when that takes too long. Its exit code. Asked once however
 * often it is called: a second Ctrl-C would cut the orderly end short.
 */
export function end(child, seconds = 15) {
  if (!running.has(child)) return child.done;
  if (!child.ending) {
    child.kill("SIGINT");
    child.ending = within(seconds, "its end", child.done).catch(() => (child.kill("SIGKILL"), child.done));
  }
  return child.ending;
}

/** Ends whatever still runs. */
export const endAll = () => Promise.all([...running].map((child) => end(child)));

/** The promise's value, or an error that says what was waited for. */
export function within(seconds, what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${seconds} s for ${what}`)), seconds * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Resolves as soon as `holds` is true; an error that says what was waited for when it never is. */
export async function until(seconds, what, holds) {
  const deadline = Date.now() + seconds * 1000;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`waited ${seconds} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
