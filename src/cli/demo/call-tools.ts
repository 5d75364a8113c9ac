/** Lists the tools, calls one on each working server, and shows filters and name collisions. */
import { createToolport, type Toolport } from "../../index.js";
import { formatTable } from "../../util/format-table.js";
import type { WeatherServers } from "./servers.js";
import { check, type StepOutcome } from "./step-runner.js";

/** A short timeout, so that a failing step does not delay the demo. */
export const CALL_LIMIT = { timeoutMs: 5_000 } as const;

interface DemoCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly answer: string;
}

export const CALLS = {
  notes: { name: "notes__add_note", args: { text: "buy milk" }, answer: "Note 1 is kept" },
  calendar: {
    name: "calendar__days_between",
    args: { from: "2026-01-01", to: "2026-12-24" },
    answer: "357",
  },
  units: { name: "units__to_fahrenheit", args: { celsius: 21 }, answer: '{"fahrenheit":69.8}' },
  dictionary: {
    name: "dictionary__define",
    args: { word: "port" },
    answer: "a place where ships load and unload",
  },
  relay: { name: "relay__reverse", args: { text: "troploot" }, answer: "toolport" },
} as const satisfies Record<string, DemoCall>;

export async function listTools(toolport: Toolport): Promise<StepOutcome> {
  const tools = await toolport.tools();
  for (const { name } of Object.values(CALLS)) {
    check(
      tools.some((tool) => tool.name === name),
      `${name} is not in the list`,
    );
  }
  const rows = tools.map(({ name, description }) => [name, description ?? ""]);
  return { details: formatTable([{ title: "tool" }, { title: "what it does" }], rows) };
}

export async function callEach(toolport: Toolport): Promise<StepOutcome> {
  const rows: string[][] = [];
  for (const call of Object.values(CALLS)) {
    const { text, ms } = await callOnce(toolport, call);
    rows.push([call.name, text, `${ms} ms`]);
  }
  return {
    details: formatTable([{ title: "tool" }, { title: "answer" }, { title: "time", align: "right" }], rows),
  };
}

/** Makes a call and checks its result. */
export async function callOnce(
  toolport: Toolport,
  { name, args, answer }: DemoCall,
): Promise<{ text: string; ms: number }> {
  const startedAt = performance.now();
  const { text, isError } = await toolport.callTool(name, args, CALL_LIMIT);
  check(
    !isError && text === answer,
    `${name} returned ${JSON.stringify(text)}, not ${JSON.stringify(answer)}`,
  );
  return { text, ms: Math.round(performance.now() - startedAt) };
}

export async function shapeCatalog(weather: WeatherServers): Promise<StepOutcome> {
  await using toolport = createToolport({
    mcpServers: weather.mcpServers,
    prefix: false,
    except: ["delete_*"],
    onServerError: "throw",
  });
  await toolport.connect();
  const tools = await toolport.tools();
  check(tools.length === 2, `${tools.length} tools are offered, not 2`);
  check(new Set(tools.map(({ name }) => name)).size === 2, "two tools have the same name");
  const [collision] = toolport.snapshot().nameIssues;
  check(collision?.kind === "collision", "the name collision is not reported");

  const before = weather.listCount;
  await toolport.tools();
  const requests = weather.listCount - before;
  check(requests === 0, `the second listing took ${requests} requests`);
  const rows = tools.map(({ name, server, sourceName }) => [name, server, sourceName]);
  return {
    details: [
      ...formatTable([{ title: "name" }, { title: "server" }, { title: "name on the server" }], rows),
      "filter: except delete_*, so delete_station is not offered",
      `collision: ${collision.server}/${collision.sourceName} became ${collision.name}`,
      `second listing: ${requests} requests`,
    ],
  };
}
