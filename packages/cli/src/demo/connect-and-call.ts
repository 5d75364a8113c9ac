/** Connects to all servers at once and calls a tool on each; shows filters, name collisions, and that a second port needs no protocol probe. */
import { ConnectionError } from "@toolport/base";
import { createToolport, type ServerReport, type Toolport, type ToolportSnapshot } from "@toolport/core";
import { memoryStore, type Store } from "@toolport/stores";
import type { CommandContext } from "../command.js";
import { formatTable, type TableColumn } from "../format-table.js";
import type { Colour, Paint } from "../plain-text.js";
import { type DemoServers, EXPECTED_FAILURES, type WeatherServers } from "./servers.js";
import { check } from "./step-runner.js";

const COLUMNS: readonly TableColumn[] = [
  { title: "server" },
  { title: "transport" },
  { title: "era" },
  { title: "state" },
  { title: "tools", align: "right" },
  { title: "ms", align: "right" },
];

const COLOURS: Readonly<Record<string, Colour>> = { ready: "green", failed: "red", idle: "dim" };
/** @param rows receives the servers, as `--json` prints them */
export async function connectAll(
  toolport: Toolport,
  rows: ServerRow[],
  { paint }: Pick<CommandContext, "paint">,
): Promise<string[]> {
  const { servers } = await toolport.connect({ timeoutMs: 8_000 });
  rows.push(...rowsOf(toolport.snapshot(), servers));
  for (const row of rows) checkRow(row);
  return [...drawTable(rows, paint), "", ...describeFailures(rows, paint)];
}

function rowsOf({ servers }: ToolportSnapshot, reports: Readonly<Record<string, ServerReport>>): ServerRow[] {
  return Object.values(servers).map(({ name, transport, era, protocolVersion, state, toolCount }) => ({
    server: name,
    transport,
    era,
    protocolVersion,
    state,
    tools: toolCount,
    ms: reports[name]?.ms,
    error: failureOf(reports[name]?.error),
  }));
}

type ServerView = ToolportSnapshot["servers"][string];

export interface ServerRow extends Pick<ServerView, "transport" | "era" | "protocolVersion" | "state"> {
  readonly server: string;
  readonly tools: ServerView["toolCount"];
  readonly ms: number | undefined;
  readonly error: ReturnType<typeof failureOf>;
}

function failureOf(error: ServerReport["error"]) {
  if (error === undefined) return undefined;
  const { code, message } = error;
  if (!(error instanceof ConnectionError)) return { code, message };
  const { errno, exitCode, stderrTail } = error;
  return { code, message, errno, exitCode, stderrTail };
}

function drawTable(rows: readonly ServerRow[], paint: Paint): string[] {
  const [head = "", ...lines] = formatTable(
    COLUMNS,
    rows.map(({ server, transport, era, protocolVersion, state, tools, ms }) => [
      server,
      transport,
      era === null ? "" : `${era} ${protocolVersion}`,
      paint(COLOURS[state] ?? "cyan", state),
      state === "ready" ? String(tools) : "",
      ms === undefined || state === "idle" ? "" : String(Math.round(ms)),
    ]),
  );
  return [paint("dim", head), ...lines];
}

function checkRow({ server, state, error }: ServerRow): void {
  const expected = EXPECTED_FAILURES[server];
  if (expected === undefined)
    check(state === "ready", `${server} is ${state}: ${error?.message ?? "no error"}`);
  else check(error?.code === expected, `${server} should fail with ${expected}, not ${error?.code ?? state}`);
}

function describeFailures(rows: readonly ServerRow[], paint: Paint): string[] {
  return rows.flatMap(({ server, error }) => {
    if (error === undefined) return [];
    const { code, errno, exitCode } = error;
    const facts = [code, errno, typeof exitCode === "number" && `exit code ${exitCode}`].filter(Boolean);
    const stderr = (error.stderrTail?.split("\n") ?? []).map((line) => paint("dim", `  stderr | ${line}`));
    return [
      `${paint("red", server)} failed as expected: ${facts.join(", ")}`,
      `  ${error.message}`,
      ...stderr,
    ];
  });
}

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

export async function listTools(toolport: Toolport): Promise<string[]> {
  const tools = await toolport.tools();
  for (const { name } of Object.values(CALLS)) {
    check(
      tools.some((tool) => tool.name === name),
      `${name} is not in the list`,
    );
  }
  const rows = tools.map(({ name, description }) => [name, description ?? ""]);
  return formatTable([{ title: "tool" }, { title: "what it does" }], rows);
}

export async function callEach(toolport: Toolport): Promise<string[]> {
  const rows: string[][] = [];
  for (const call of Object.values(CALLS)) {
    const { text, ms } = await callOnce(toolport, call);
    rows.push([call.name, text, `${ms} ms`]);
  }
  return formatTable([{ title: "tool" }, { title: "answer" }, { title: "time", align: "right" }], rows);
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

export async function shapeCatalog(weather: WeatherServers): Promise<string[]> {
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
  return [
    ...formatTable([{ title: "name" }, { title: "server" }, { title: "name on the server" }], rows),
    "filter: except delete_*, so delete_station is not offered",
    `collision: ${collision.server}/${collision.sourceName} became ${collision.name}`,
    `second listing: ${requests} requests`,
  ];
}

export async function rememberEra(servers: DemoServers): Promise<string[]> {
  const store = memoryStore();
  const first = await connectOnce(servers, store);
  const second = await connectOnce(servers, store);
  check(first.probes > 0, "the first port sent no probes");
  check(second.probes === 0, `the second port sent ${second.probes} probes`);
  const line = (name: string, { ms, probes }: typeof first) => `${name}: ${ms} ms, ${probes} probes`;
  return [line("first port, which probes", first), line("second port, which reads the store", second)];
}

/** Uses only running servers: starting a process would hide the difference. */
async function connectOnce(servers: DemoServers, store: Store) {
  const { calendar, units } = servers;
  const before = servers.probeCount;
  await using toolport = createToolport({
    mcpServers: { calendar: calendar.entry, units: units.entry },
    store,
    onServerError: "throw",
  });
  const startedAt = performance.now();
  await toolport.connect();
  return { ms: Math.round(performance.now() - startedAt), probes: servers.probeCount - before };
}
