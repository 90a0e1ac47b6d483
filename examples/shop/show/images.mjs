// The shop's modules as images: one is built on a base that is mirrored from an upstream, then the
// upstream is switched off and all are built.
import { mkdirSync, mkdtempSync, readdirSync, copyFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mesh, end, until } from "./program.mjs";
import { faint, happened, line, title } from "./terminal.mjs";
import { Upstream } from "./upstream.mjs";

const modules = ["audit", "shop", "telegram"];

/** A mesh of the three modules, each an image on `base`. */
async function catalogue(shop, base, freePort) {
  const folder = mkdtempSync(join(tmpdir(), "mesh-images-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  let text = `mesh = "images"\n[bus]\nlisten = "127.0.0.1:${await freePort()}"\n`
    + `[registry]\nlisten = "127.0.0.1:${await freePort()}"\n[nodes.one]\n`;
  for (const name of modules) {
    const target = join(folder, name);
    mkdirSync(target);
    const source = join(shop, "modules", name, name === "telegram" ? "bin" : "dist");
    for (const file of readdirSync(source)) copyFileSync(join(source, file), join(target, file));
    writeFileSync(join(target, "Containerfile"), "ARG BASE\nFROM ${BASE}\nCOPY . /app/\nWORKDIR /app\n");
    writeFileSync(join(target, "module.toml"),
      `[components.server]\nbuild = { context = ".", args = { BASE = "${base}" } }\n`);
    text += `[modules.${name}]\npath = "${name}"\non = ["one"]\n`;
  }
  writeFileSync(join(folder, "mesh.toml"), text);
  return folder;
}

async function build(mesh, names) {
  const { code, output, errors } = await mesh.run(["build", ...names, "--json"], 90);
  if (code !== 0) throw new Error(`mesh build ended with ${code}: ${errors || output}`);
  const done = JSON.parse(output);
  for (const one of done.components) {
    happened(one.module, one.built ? "built" : "held", faint(one.digest));
  }
  for (const { method, url, status } of done.upstream) happened("upstream", "asked", faint(`${method} ${url} ${status}`));
  if (done.upstream.length === 0) happened("upstream", "asked", "nothing");
  return done;
}

export async function showImages(program, shop, freePort, prove) {
  title("images: an upstream registry with a base that was made just now");
  const upstream = await Upstream.start(await freePort());
  const base = await upstream.base("team/base");
  line(faint(`  ${base}`));
  const mesh = new Mesh(program, await catalogue(shop, base, freePort));
  await mesh.run(["init"]);
  const said = [];
  const controller = mesh.start(["controller"], (text) => said.push(text));
  const runs = async () => {
    const { code, output } = await mesh.run(["status", "--json"]);
    return code === 0 && JSON.parse(output).registry?.running === true;
  };
  await Promise.race([until(20, "the mesh's own registry", runs),
    controller.done.then((code) => { throw new Error(`mesh controller ended with ${code}:\n${said.join("\n")}`); })]);
  title("mesh build shop: the base is mirrored into the mesh's own registry, once");
  const first = await build(mesh, ["shop"]);
  await upstream.stop();
  title("the upstream is switched off; mesh build: the whole catalogue");
  const all = await build(mesh, []);
  await end(controller);
  prove(first.upstream.length > 0 && first.components.some((one) => one.module === "shop" && one.built),
    `one image built on a mirrored base, with ${first.upstream.length} questions to upstream`);
  prove(all.components.length === modules.length && all.components.every((one) => one.digest),
    `with upstream switched off the catalogue of ${modules.length} images was built`);
  prove(all.upstream.length === 0, "upstream was asked 0 times", all.upstream.map((one) => one.url));
}
