/** Connects to all servers at once, shows their progress, and shows that a second port needs no protocol probe. */
import {
  ConnectionError,
  createToolport,
  memoryStore,
  type ServerReport,
  type Store,
  type Toolport,
  type ToolportSnapshot,
} from "../../index.js";
import { formatTable, type TableColumn } from "../../util/format-table.js";
import { type DemoServers, EXPECTED_FAILURES } from "./servers.js";
import { check, type Look, type Screen, type ShowProgress, type StepOutcome } from "./step-runner.js";

/** One server, as `--json` prints it. */
export interface ServerRow {
  readonly server: string;
  readonly transport: string;
  readonly era: string | null;
  readonly protocolVersion: string | null;
  readonly state: string;
  readonly tools: number;
  readonly ms: number;
  readonly error?: ServerFailure | undefined;
}

interface ServerFailure {
  readonly code: string;
  readonly message: string;
  readonly errno?: string | undefined;
  readonly exitCode?: number | null | undefined;
  readonly stderrTail?: string | undefined;
}

const COLUMNS: readonly TableColumn[] = [
  { title: "server" },
  { title: "transport" },
  { title: "era" },
  { title: "state" },
  { title: "tools", align: "right" },
  { title: "ms", align: "right" },
];

const LOOKS: Readonly<Record<string, Look>> = { ready: "good", failed: "bad", idle: "quiet" };
const REDRAW_MS = 80;

export async function connectAll(
  toolport: Toolport,
  screen: Screen,
  show: ShowProgress,
): Promise<StepOutcome<ServerRow[]>> {
  const startedAt = performance.now();
  const elapsed = () => Math.round(performance.now() - startedAt);
  const settled = new Map<string, number>();
  const table = () =>
    drawTable(
      rowsOf(toolport.snapshot(), (server) => settled.get(server) ?? elapsed()),
      screen,
    );
  const off = toolport.on("state", ({ server, to }) => {
    if (to === "ready" || to === "failed") settled.set(server, elapsed());
    show(table());
  });
  const redraw = setInterval(() => show(table()), REDRAW_MS);
  try {
    const { servers } = await toolport.connect({ timeoutMs: 8_000 });
    const rows = rowsOf(toolport.snapshot(), (server) => servers[server]?.ms ?? elapsed(), servers);
    for (const row of rows) checkRow(row);
    return { value: rows, details: [...drawTable(rows, screen), "", ...describeFailures(rows, screen)] };
  } finally {
    clearInterval(redraw);
    off();
  }
}

function rowsOf(
  { servers }: ToolportSnapshot,
  msOf: (server: string) => number,
  reports: Readonly<Record<string, ServerReport>> = {},
): ServerRow[] {
  return Object.values(servers).map(({ name, transport, era, protocolVersion, state, toolCount }) => ({
    server: name,
    transport,
    era,
    protocolVersion,
    state,
    tools: toolCount,
    ms: msOf(name),
    error: failureOf(reports[name]?.error),
  }));
}

function failureOf(error: ServerReport["error"]): ServerFailure | undefined {
  if (error === undefined) return undefined;
  const { code, message } = error;
  if (!(error instanceof ConnectionError)) return { code, message };
  const { errno, exitCode, stderrTail } = error;
  return { code, message, errno, exitCode, stderrTail };
}

function drawTable(rows: readonly ServerRow[], { paint }: Screen): string[] {
  const [head = "", ...lines] = formatTable(
    COLUMNS,
    rows.map(({ server, transport, era, protocolVersion, state, tools, ms }) => [
      server,
      transport,
      era === null ? "" : `${era} ${protocolVersion}`,
      paint(LOOKS[state] ?? "busy", state),
      state === "ready" ? String(tools) : "",
      state === "idle" ? "" : String(ms),
    ]),
  );
  return [paint("quiet", head), ...lines];
}

function checkRow({ server, state, error }: ServerRow): void {
  const expected = EXPECTED_FAILURES[server];
  if (expected === undefined)
    check(state === "ready", `${server} is ${state}: ${error?.message ?? "no error"}`);
  else check(error?.code === expected, `${server} should fail with ${expected}, not ${error?.code ?? state}`);
}

function describeFailures(rows: readonly ServerRow[], { paint }: Screen): string[] {
  return rows.flatMap(({ server, error }) => {
    if (error === undefined) return [];
    const { code, errno, exitCode } = error;
    const facts = [code, errno, typeof exitCode === "number" && `exit code ${exitCode}`].filter(Boolean);
    const stderr = (error.stderrTail?.split("\n") ?? []).map((line) => paint("quiet", `  stderr | ${line}`));
    return [
      `${paint("bad", server)} failed as expected: ${facts.join(", ")}`,
      `  ${error.message}`,
      ...stderr,
    ];
  });
}

interface Round {
  readonly ms: number;
  readonly probes: number;
}

export async function rememberEra(servers: DemoServers): Promise<StepOutcome> {
  const store = memoryStore();
  const first = await connectOnce(servers, store);
  const second = await connectOnce(servers, store);
  check(first.probes > 0, "the first port sent no probes");
  check(second.probes === 0, `the second port sent ${second.probes} probes`);
  const line = (name: string, { ms, probes }: Round) => `${name}: ${ms} ms, ${probes} probes`;
  return {
    details: [line("first port, which probes", first), line("second port, which reads the store", second)],
  };
}

/** Uses only running servers: starting a process would hide the difference. */
async function connectOnce(servers: DemoServers, store: Store): Promise<Round> {
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
