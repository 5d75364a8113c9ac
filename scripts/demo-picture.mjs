/**
 * Runs `toolport demo` and draws its output as docs/images/demo.svg, for the README: `npm run docs:picture`.
 *
 *   --from <file>   draws this saved output instead of running the demo
 *
 * A README needs a small picture: it shows the steps of `SHOWN` and counts the others.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root, run } from "./fetch-tool.mjs";

/** Steps that are shown, by the start of their title, with so many lines of details. */
const SHOWN = {
  "Start real MCP servers": 0,
  "Connect to all of them": 10,
  "Stop a server": 2,
  "Kill the stdio server": 2,
  "Serve all tools": 0,
  "Log in to a server": 0,
  "Close and check": 0,
};
const FONT_SIZE = 13;
const LINE_HEIGHT = 19;
const CHARACTER_WIDTH = 7.83;
const PADDING = 18;
const BAR = 30;
const COLUMNS = 100;
const COLOURS = { text: "#d5dae3", faint: "#8b95a7", good: "#5fd38a", bad: "#f08a8a", title: "#ffffff" };

/** The lines to draw, from the output of the demo. */
function selectLines(output) {
  const [title = "", ...blocks] = output.trim().split(/\n\n(?=\S)/);
  const summary = blocks.pop() ?? "";
  const lines = ["$ npx toolport demo", title, ""];
  let hidden = 0;
  const countHidden = () => {
    if (hidden > 0) lines.push(`  … ${hidden} more ${hidden === 1 ? "step" : "steps"}`);
    hidden = 0;
  };
  for (const block of blocks) {
    const [step = "", ...details] = block.split("\n");
    const [, limit] = Object.entries(SHOWN).find(([start]) => step.includes(start)) ?? [];
    if (limit === undefined) {
      hidden += 1;
      continue;
    }
    countHidden();
    lines.push(step, ...details.filter((line) => line !== "").slice(0, limit));
  }
  countHidden();
  return [...lines, "", summary].map(cut);
}

const cut = (line) => (line.length > COLUMNS ? `${line.slice(0, COLUMNS - 1)}…` : line);

/** Several spaces in a row survive only as no-break spaces. */
const toXmlText = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll(" ", "\u00a0");
const span = (colour, text) => `<tspan fill="${COLOURS[colour]}">${toXmlText(text)}</tspan>`;

/** One line in colours: marks of steps, states, and the time of a step. */
function paint(line) {
  const step = /^(✔|✖) (.*?)( {2}\d+ ms)?$/u.exec(line);
  if (step !== null) {
    const [, mark = "", title = "", time = ""] = step;
    return span(mark === "✔" ? "good" : "bad", `${mark} `) + span("title", title) + span("faint", time);
  }
  if (line.startsWith("$ ")) return span("faint", "$ ") + span("title", line.slice(2));
  if (line.startsWith("All ")) return span("good", line);
  const state = /^(\s.*\s)(ready|failed)(\s+[\d\s]+)$/.exec(line);
  if (state === null) return span(/^ (?! …)/.test(line) ? "text" : "faint", line);
  const [, before = "", name = "", after = ""] = state;
  return span("text", before) + span(name === "ready" ? "good" : "bad", name) + span("text", after);
}

/** The picture: a terminal window whose colours work on light and dark pages. */
function drawTerminal(lines) {
  const width = Math.ceil(COLUMNS * CHARACTER_WIDTH + 2 * PADDING);
  const height = BAR + 2 * PADDING + (lines.length - 1) * LINE_HEIGHT;
  const rows = lines.map((line, index) =>
    line === ""
      ? ""
      : `<text x="${PADDING}" y="${BAR + PADDING + index * LINE_HEIGHT}">${paint(line)}</text>\n`,
  );
  const dots = ["#f26d6d", "#f2c14e", "#5fd38a"].map(
    (colour, index) => `<circle cx="${PADDING + index * 18}" cy="${BAR / 2}" r="5.5" fill="${colour}"/>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title desc">
<title id="title">Output of npx toolport demo</title>
<desc id="desc">The demo connects to servers over every transport, two of which fail as expected, then stops and kills servers and calls their tools again.</desc>
<rect width="${width}" height="${height}" rx="9" fill="#171b24" stroke="#3a4252"/>
${dots.join("")}
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${FONT_SIZE}">
${rows.join("")}</g>
</svg>
`;
}

async function readOutput(file) {
  if (file !== undefined) return readFile(file, "utf8");
  const { code, output } = await run(
    process.execPath,
    [join(root, "packages/toolport/dist/cli/main.js"), "demo"],
    {
      timeoutMs: 120_000,
    },
  );
  if (code !== 0) throw new Error(`The demo failed (exit code ${code}).\n${output}`);
  return output;
}

const { values: flags } = parseArgs({ options: { from: { type: "string" } } });
const target = join(root, "docs/images/demo.svg");
await writeFile(target, drawTerminal(selectLines(await readOutput(flags.from))));
console.log(`Wrote ${target}`);
