/** Measures a port with the servers of the corpus: its search, and its estimate of costs. */
import { countTokens } from "../count-tokens.mjs";

/** The default number of matches. */
const LIMIT = 5;
/** How far the estimate may be off. */
const TOLERANCE = 0.15;

const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

/** One query for each tool: how long the answers for models are, and which exact names are found first. */
export async function measureSearch(port) {
  const tools = await port.tools({ all: true });
  const firstWords = ({ description = "" }) => description.trim().split(/\s+/).slice(0, 6).join(" ");
  const four = tools.map((_, index) =>
    [0, 100, 200, 300].map((step) => tools[(index + step) % tools.length]),
  );
  const queries = {
    "one public name": tools.map(({ name }) => name),
    "one name of the server's own": tools.map(({ sourceName }) => sourceName),
    "words of its description": tools.map(firstWords),
    "four public names": four.map((meant) => meant.map(({ name }) => name).join(" ")),
  };
  const answers = [];
  for (const [what, asked] of Object.entries(queries)) {
    const sizes = [];
    for (const query of asked)
      sizes.push(await countTokens((await port.callTool("search_tools", { query })).text));
    sizes.sort((a, b) => a - b);
    answers.push({ what, median: at(sizes, 0.5), p90: at(sizes, 0.9), largest: sizes.at(-1) });
  }
  const isFirst = async (query, meant) => {
    const found = (await port.searchTools(query, { limit: LIMIT })).slice(0, meant.length);
    return meant.every((tool) => found.some(({ name }) => name === tool.name));
  };
  const names = [];
  const count = async (what, cases) => {
    let found = 0;
    for (const [query, meant] of cases) if (await isFirst(query, meant)) found += 1;
    names.push({ what, found, of: cases.length });
  };
  const sameName = ({ sourceName }) => tools.filter((tool) => tool.sourceName === sourceName);
  await count(
    "one public name",
    tools.map((tool) => [tool.name, [tool]]),
  );
  await count(
    "one name of the server's own",
    tools.map((tool) => [tool.sourceName, sameName(tool)]),
  );
  await count(
    "four public names in one query",
    four.map((meant) => [meant.map(({ name }) => name).join(" "), meant]),
  );
  return { answers, names };
}

/** The estimate of `cost()` next to exact counts. */
export async function measureCosts(port) {
  const estimated = await port.cost();
  const exact = await port.cost({ count: (definition) => countTokens(definition) });
  const real = new Map(exact.tools.map(({ name, tokens }) => [name, tokens]));
  const near = estimated.tools.filter(
    ({ name, tokens }) => Math.abs(tokens / real.get(name) - 1) <= TOLERANCE,
  );
  return {
    tools: estimated.tools.length,
    estimated: estimated.tokens,
    exact: exact.tokens,
    within: near.length / estimated.tools.length,
  };
}
