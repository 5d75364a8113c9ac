/** The measurements: every row of every table, with the options of its worker. */

const HTTP = "http-json";
const listing = (tools) => ({ label: `HTTP, ${tools} tools`, params: { transport: HTTP, tools } });
const large = (mb, kind, transport) => ({
  label: `${mb} MB ${kind}, ${transport}`,
  params: { transport, mb, kind },
  inQuick: mb === 1,
});

/** The first is not a measurement: a contender with a wrong result there is not timed. */
export const PLAN = [
  {
    metric: "verify",
    rounds: 1,
    variants: [
      { label: "HTTP JSON", params: { transport: HTTP } },
      { label: "HTTP SSE", params: { transport: "http-sse" } },
      { label: "stdio", params: { transport: "stdio" } },
      { label: "list in pages", params: { transport: HTTP, tools: 100, page: 30 } },
    ],
  },
  { metric: "import", rounds: 5, variants: [{ label: "fresh process", params: {} }] },
  { metric: "command", rounds: 5, variants: [{ label: "--help", params: {} }] },
  {
    metric: "connect",
    rounds: 2,
    variants: [
      listing(10),
      listing(100),
      listing(1000),
      {
        label: "HTTP, 1000 tools, all with an output schema",
        params: { transport: HTTP, tools: 1000, outputEvery: 1, warm: 3 },
        inQuick: false,
      },
      { label: "stdio, 10 tools", params: { transport: "stdio", warm: 2 } },
    ],
  },
  {
    metric: "fleet",
    rounds: 5,
    variants: [
      { label: "20 × HTTP", params: { transport: HTTP, servers: 20, warm: 0 } },
      { label: "20 × stdio", params: { transport: "stdio", servers: 20, warm: 0 }, inQuick: false },
    ],
  },
  {
    metric: "calls",
    rounds: 3,
    variants: [
      {
        label: "stdio",
        params: { transport: "stdio", warmup: 3000, calls: 4000, concurrent: 10_000 },
        quick: { warmup: 300, calls: 400, concurrent: 2000 },
      },
      {
        label: "HTTP JSON",
        params: { transport: HTTP },
        quick: { warmup: 200, calls: 200, concurrent: 600 },
      },
      {
        label: "HTTP SSE",
        params: { transport: "http-sse" },
        quick: { warmup: 200, calls: 200, concurrent: 600 },
      },
    ],
  },
  {
    metric: "payload",
    rounds: 2,
    variants: [
      large(1, "text", "stdio"),
      large(1, "text", HTTP),
      large(8, "text", "stdio"),
      large(8, "text", HTTP),
      large(8, "image", "stdio"),
    ],
  },
  {
    metric: "heap",
    rounds: 1,
    variants: ["stdio", HTTP].map((transport) => ({
      label: transport,
      params: { transport },
      quick: { calls: 2000, warmup: 2000 },
    })),
  },
  {
    metric: "recovery",
    rounds: 1,
    variants: ["stdio", HTTP, "http-session"].map((transport) => ({
      label: transport,
      params: { transport },
    })),
  },
];

const column = (heading, path, digits = 0, hasRatio = true) => ({ heading, path, digits, hasRatio });

/** One table for each variant of the metric; a column is a figure of the worker's result. */
export const TABLES = [
  {
    metric: "import",
    title: "Import in a fresh process",
    columns: [
      column("wall ms", "ms", 0, false),
      column("CPU ms", "cpuMs", 0, false),
      column("RSS added, MB", "rssMb", 1, false),
    ],
  },
  {
    metric: "command",
    title: "Start of the command line (the floor: node that does nothing)",
    columns: [column("wall ms", "ms"), column("CPU ms", "cpuMs"), column("peak RSS, MB", "rssMb")],
  },
  {
    metric: "connect",
    title: "Connect, list and convert, one server",
    columns: [
      column("cold ms", "coldMs", 1),
      column("cold CPU ms", "coldCpuMs", 1),
      column("warm ms", "warmMs", 1),
      column("warm CPU ms", "warmCpuMs", 1),
    ],
  },
  {
    metric: "fleet",
    title: "Connect to 20 servers at once",
    columns: [column("wall ms", "coldMs"), column("client CPU ms", "coldCpuMs")],
  },
  {
    metric: "calls",
    title: "Calls one after another",
    columns: [
      column("p50 µs", "sequential.p50Us"),
      column("p99 µs", "sequential.p99Us"),
      column("CPU µs a call", "sequential.cpuUs"),
      column("structured p50 µs", "structured.p50Us"),
      column("structured CPU µs a call", "structured.cpuUs"),
    ],
  },
  {
    metric: "calls",
    title: "64 calls in flight",
    columns: [
      column("calls a second", "concurrent.perSecond"),
      column("CPU µs a call", "concurrent.cpuUs", 1),
    ],
  },
  {
    metric: "payload",
    title: "Large results",
    columns: [
      column("ms", "ms", 1),
      column("CPU ms", "cpuMs", 1),
      column("peak RSS rise, MB", "peakRiseMb"),
      column("peak RSS, MB", "peakMb", 0, false),
    ],
  },
  {
    metric: "heap",
    title: "Heap kept by calls",
    columns: [column("bytes a call", "bytesPerCall", 0, false), column("heap after, MB", "heapMb", 1, false)],
  },
];
