// docs/clients.md: what each client does in each case.
import { readFileSync, writeFileSync } from "node:fs";
import { chapters, elsewhere } from "./cases/all.mjs";

const file = new URL("../../docs/clients.md", import.meta.url);

const cell = (text) => text.replace(/\|/g, "\\|").replace(/</g, "&lt;").replace(/\s+/g, " ").trim();
const outcome = (outcomes, name) => (outcomes.has(name) ? words(outcomes.get(name)) : "not run");
const words = (wrong) => (wrong ? cell(wrong.length > 180 ? `${wrong.slice(0, 179)}…` : wrong) : "ok");

function intro(columns) {
  const total = columns[0].outcomes.size;
  const score = ({ version, outcomes }) =>
    `${version}: ${[...outcomes.values()].filter((wrong) => !wrong).length} of ${total}`;
  return `# What clients of registries do

<!-- Written by \`node tests/upstreams/run.mjs --client all --write-table\`. -->

\`tests/upstreams/\` holds a registry whose misbehaviours are named cases, each after a report that somebody made of some
client or registry, or after what Debian's docker-registry was measured to do. A case says what upstream does, and what
a correct client does: how it ends, what the destination holds then, which requests it makes and which it does not, and
what its words name. The destination is Debian's docker-registry behind a proxy that can misbehave too.

Every case also asks that no password or token is shown, that each request for a manifest accepts all four types, and
that there is an end to requests; of Mesh, that the account it gives of upstream's requests has every one.

${columns.map(score).join("; ")}.

Clients are judged by what Mesh wants of one. Another client's miss is not always a bug of it: it may have chosen
otherwise (skopeo asks upstream each time, and keeps no lock of tags). Each is run as its manual says for copying
everything unchanged: \`skopeo copy --all --preserve-digests --retry-times 3\`, \`mesh mirror\`. \`ok\`, or what was otherwise:
`;
}

/** The table's columns as they are, of clients that were not run now. */
function kept(columns) {
  const rows = [...readFileSync(file, "utf8").matchAll(/^\| (.*) \|$/gm)].map(([, row]) => row.split(/(?<!\\) \| /));
  const versions = rows.find(([first]) => first === "case")?.slice(3) ?? [];
  return versions.flatMap((version, at) => {
    if (columns.some((column) => column.version.split(" ")[0] === version.split(" ")[0])) return [];
    const cells = rows
      .filter(([first]) => first !== "case")
      .map((row) => [row[0], row[3 + at] === "ok" ? undefined : row[3 + at]]);
    return [{ version, outcomes: new Map(cells) }];
  });
}

/** Writes the table: the columns given, and those of it that are of other clients. */
export function writeTable(given) {
  const columns = [...given, ...kept(given)].sort((a, b) => (a.version < b.version ? -1 : 1));
  const out = [intro(columns)];
  for (const [title, cases] of chapters) {
    out.push(
      `## ${title}\n`,
      `| case | upstream … | a correct client … | ${columns.map(({ version }) => version).join(" | ")} |`,
      `|---|---|---|${columns.map(() => "---|").join("")}`,
    );
    for (const { name, does, right } of cases) {
      out.push(
        `| ${name} | ${cell(does)} | ${cell(right)} | ${columns.map(({ outcomes }) => outcome(outcomes, name)).join(" | ")} |`,
      );
    }
    out.push("");
  }
  out.push("## The reports\n", "Each with the cases that stand for it.\n");
  const reports = new Map();
  for (const { name, reports: its } of chapters.flatMap(([, cases]) => cases)) {
    for (const report of its) reports.set(report, [...(reports.get(report) ?? []), name]);
  }
  for (const [report, names] of [...reports].sort(([a], [b]) => (a < b ? -1 : 1)))
    out.push(`- ${cell(report)}: ${names.join(", ")}`);
  out.push("\nNot about a client's copying:\n", ...elsewhere.map(([report, why]) => `- ${report}: ${why}`), "");
  writeFileSync(file, out.join("\n"));
}

/** The cases that the table lacks, or has without there being any. */
export function outOfDate() {
  const rows = [...readFileSync(file, "utf8").matchAll(/^\| ([a-z0-9_-]+) \| /gm)]
    .map(([, name]) => name)
    .filter((name) => name !== "case");
  const names = chapters.flatMap(([, cases]) => cases.map(({ name }) => name));
  return [...names.filter((name) => !rows.includes(name)), ...rows.filter((name) => !names.includes(name))];
}
