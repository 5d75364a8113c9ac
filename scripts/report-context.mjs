/**
 * Counts what models get for the tools of 20 real servers, from Toolport and from other libraries: `npm run report:context`.
 *
 * Starts the servers of test/fixtures/definitions over stdio, writes the tables into docs/context.md and docs/code-mode.md, and exits with 1 if a target is
 * missed. `--no-peers` leaves the other libraries out and writes nothing. `--code` measures code mode only, and writes docs/code-mode.md.
 */
import { join } from "node:path";
import { createToolport } from "../packages/toolport/dist/index.js";
import { codeSections, table } from "./context/code-rows.mjs";
import { BIG, BIG_CALLS, CORPUS } from "./context/corpus.mjs";
import { measureCosts, measureSearch } from "./context/measure-port.mjs";
import { PEER_ROWS } from "./context/peer-rows.mjs";
import { ADAPTERS } from "./context/toolport-rows.mjs";
import { countTokens } from "./count-tokens.mjs";
import { root } from "./fetch-tool.mjs";
import { writeSection } from "./write-section.mjs";

const MAX_SHOWN = 400;
const MAX_ANSWER = 1_500;
const MAX_RESULT = 600;
const MIN_WITHIN = 0.9;
const NONE = "–";

const tokensOf = (value) => countTokens(typeof value === "string" ? value : JSON.stringify(value));
/** The texts that a model reads in an answer, without the JSON around them. */
const textsOf = (value) =>
  typeof value === "string"
    ? value
    : typeof value === "object" && value !== null
      ? Object.values(value).map(textsOf).join("\n")
      : "";
const number = (value) => (typeof value === "number" ? Math.round(value).toLocaleString("en-US") : NONE);
const percent = (share) => `${(share * 100).toFixed(1)} %`;

const targets = [];
const codeTargets = [];
const target = (what, value, limit, isMet) => targets.push({ what, value, limit, isMet });
const codeTarget = (what, value, limit, isMet) => codeTargets.push({ what, value, limit, isMet });
const targetTable = (rows) =>
  table(
    ["target", "measured", "limit"],
    rows.map(({ what, value, limit, isMet }) => [
      isMet ? what : `${what} (missed)`,
      ...[value, limit].map((each) => (typeof each === "number" ? number(each) : each)),
    ]),
  );

const open = (options) => createToolport({ onServerError: "throw", ...options });

async function definitions() {
  const [whole, deferring] = [open({ mcpServers: CORPUS }), open({ mcpServers: CORPUS, deferTools: true })];
  const rows = [];
  try {
    for (const [name, { tools, deferred = [] }] of Object.entries(ADAPTERS)) {
      const count = async (port, options) => tokensOf(await tools(port, options));
      const own = await count(deferring, {});
      target(`${name}: shown with \`deferTools\``, own, MAX_SHOWN, own <= MAX_SHOWN);
      const row = [
        await count(whole, { compact: false }),
        await count(whole, {}),
        await count(whole, { compact: { descriptions: 500, parameters: 200 } }),
        own,
      ];
      for (const mode of ["native", "client"])
        row.push(deferred.includes(mode) ? await count(deferring, { deferred: mode }) : undefined);
      rows.push([name, ...row.map(number)]);
    }
    return { rows, search: await measureSearch(deferring), costs: await measureCosts(whole) };
  } finally {
    await Promise.all([whole.close(), deferring.close()]);
  }
}

async function results() {
  const rows = [];
  const port = open({ mcpServers: BIG });
  try {
    for (const [name, { answer }] of Object.entries(ADAPTERS)) {
      const row = [];
      for (const call of BIG_CALLS) {
        const tokens = await countTokens(textsOf(await answer(port, `big__${call}`)));
        target(`${name}: \`${call}\`, 1 MB`, tokens, MAX_RESULT, tokens <= MAX_RESULT);
        row.push(number(tokens));
      }
      rows.push([`Toolport, ${name}`, ...row]);
    }
  } finally {
    await port.close();
  }
  return rows;
}

async function peers() {
  const rows = [];
  for (const ask of PEER_ROWS) {
    const { name, tools, count, answers } = await ask();
    const sizes = await Promise.all(BIG_CALLS.map((call) => countTokens(textsOf(answers[call]))));
    rows.push({ name, count, tokens: await tokensOf(tools), sizes });
  }
  return rows;
}

async function reportContext() {
  const { rows, search, costs } = await definitions();
  for (const { what, median } of search.answers)
    target(`answer of \`search_tools\` to ${what}, median`, median, MAX_ANSWER, median <= MAX_ANSWER);
  for (const { what, found, of } of search.names) target(`${what}, found first`, found, of, found === of);
  target(
    "`cost()` within 15 % of o200k, share of the tools",
    percent(costs.within),
    percent(MIN_WITHIN),
    costs.within >= MIN_WITHIN,
  );
  const big = await results();
  const others = process.argv.includes("--no-peers") ? undefined : await peers();
  const sections = [
    `${costs.tools} tools of ${Object.keys(CORPUS).length} servers; o200k tokens of the JSON that a request contains. Whole definitions with public names: ${number(costs.exact)} tokens, estimated by \`cost()\`: ${number(costs.estimated)}.`,
    "**Definitions that a model gets before its first word**",
    table(
      [
        "adapter",
        "`compact: false`",
        "default",
        "cut at 500 / 200",
        "`deferTools`",
        '`"native"`',
        '`"client"`',
      ],
      rows,
    ),
    "**Other libraries, the same servers**",
    others === undefined
      ? ""
      : table(
          ["library", "tools", "tokens"],
          others.map(({ name, count, tokens }) => [name, number(count), number(tokens)]),
        ),
    "**A result of 1 MB**",
    table(
      ["library", "JSON list", "log"],
      [...big, ...(others ?? []).map(({ name, sizes }) => [name, ...sizes.map(number)])],
    ),
    "**Search**",
    table(
      ["query", "median tokens", "p90", "largest"],
      search.answers.map(({ what, median, p90, largest }) => [what, ...[median, p90, largest].map(number)]),
    ),
  ];
  const text = sections.filter((section) => section !== "").join("\n\n");
  console.log(`${text}\n\n**Targets**\n\n${targetTable(targets)}`);
  if (others !== undefined) writeSection("context-report", text, join(root, "docs", "context.md"));
}

async function reportCode() {
  const text = (await codeSections({ target: codeTarget })).join("\n\n");
  console.log(`${text}\n\n**Targets**\n\n${targetTable(codeTargets)}`);
  if (!process.argv.includes("--no-peers"))
    writeSection("code-report", text, join(root, "docs", "code-mode.md"));
}

if (!process.argv.includes("--code")) await reportContext();
await reportCode();
const missed = [...targets, ...codeTargets].filter(({ isMet }) => !isMet);
for (const { what, value, limit } of missed) console.error(`Missed: ${what}: ${value}, limit ${limit}`);
process.exitCode = missed.length > 0 ? 1 : 0;
