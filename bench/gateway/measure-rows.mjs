/** The measurements of the gateway's benchmark. Contenders of a row take turns, so a busy machine slows down all of them. */
import { median } from "../process-figures.mjs";
import { connectClient, sendMany } from "./client.mjs";
import { FLOOR, fetchGateways, gateways, PEERS, toolport } from "./contenders.mjs";

const IN_FLIGHT = 32;
const TEXT = "The quick brown fox jumps over the lazy dog";

/** Each row: its contenders with the floor first, the request, and the largest ratio that is allowed. */
export const ROWS = {
  stdio: {
    title: "echo call → stdio",
    contenders: [FLOOR.stdio, ...gateways("stdio"), ...fetchGateways, ...PEERS.stdio],
    target: (contender) => (fetchGateways.includes(contender) ? 3 : 1.6),
    request: (client) => client.call("echo", { text: TEXT }),
    expected: TEXT,
    calls: 3_000,
    alone: 200,
  },
  http: {
    title: "echo call → HTTP",
    contenders: [FLOOR.http, ...gateways("http"), ...PEERS.http],
    target: () => 1.4,
    request: (client) => client.call("echo", { text: TEXT }),
    expected: TEXT,
    calls: 2_000,
    alone: 200,
  },
  sse: {
    title: "echo call with progress → stdio, answered as SSE",
    contenders: [FLOOR.stdio, ...gateways("stdio")],
    target: () => 2,
    serverEnv: { PROGRESS: "1" },
    request: (client) => client.call("echo", { text: TEXT }, { progressToken: "p" }),
    expected: TEXT,
    calls: 2_000,
    alone: 100,
  },
  large: {
    title: "1 MB result → stdio",
    contenders: [FLOOR.stdio, ...gateways("stdio")],
    target: () => 1.2,
    request: (client) => client.call("blob", { kb: 1_024, kind: "text" }),
    expected: "quick brown",
    calls: 60,
    alone: 20,
    inFlight: 4,
  },
  "large-http": {
    title: "1 MB result → HTTP",
    contenders: [FLOOR.http, ...gateways("http")],
    target: () => 1.2,
    request: (client) => client.call("blob", { kb: 1_024, kind: "text" }),
    expected: "quick brown",
    calls: 60,
    alone: 20,
    inFlight: 4,
  },
  list: {
    title: "tools/list of 1,000 tools, all pages",
    contenders: [FLOOR.stdio, ...gateways("stdio")],
    target: () => 0.15,
    serverEnv: { TOOLS: "1000" },
    pages: true,
    expected: "tool_999",
    calls: 100,
    alone: 10,
    inFlight: 2,
  },
  upstreams: {
    title: "echo call with 1, 10 and 40 servers → HTTP, modern",
    contenders: [1, 10, 40].map((count) =>
      toolport(`Toolport, ${count} servers`, { via: "http", era: "modern", count }),
    ),
    target: () => 1.2,
    request: (client) => client.call("echo", { text: TEXT }),
    expected: TEXT,
    calls: 2_000,
    alone: 100,
  },
};

/** Measures one row: CPU of the contender's processes per call, and the median time of calls one at a time. */
export async function measureRow(row, { rounds, share, withPeers, report }) {
  const running = [];
  try {
    for (const contender of row.contenders) {
      if (contender.isPeer && !withPeers) continue;
      const started = await startContender(row, contender, share).catch((error) => {
        report(`${contender.name}: left out, ${error.message}`);
      });
      if (started !== undefined) running.push(started);
    }
    for (let round = 0; round < rounds; round += 1)
      for (const each of running) await measureOnce(each, row, share);
    return running.map((each) => summary(each, running[0], row));
  } finally {
    for (const { processes, client } of running) {
      client.close();
      await processes.stop();
      processes.stopUpstream();
    }
  }
}

async function startContender(row, contender, share) {
  const processes = await contender.start({ serverEnv: row.serverEnv ?? {} });
  try {
    const client = await connectClient({ ...processes, era: contender.era });
    const started = { contender, processes, client, cpuUs: [], p50Ms: [] };
    // Twice as many calls as a round has, so that the JIT is done.
    await send(started, row, {
      count: callsOf(row, contender, share) * 2,
      inFlight: row.inFlight ?? IN_FLIGHT,
    });
    return started;
  } catch (error) {
    await processes.stop();
    processes.stopUpstream();
    throw error;
  }
}

/** Other gateways need ten times the CPU, so fewer calls give figures as exact. */
const callsOf = ({ calls }, { isPeer }, share) => scaled(isPeer ? calls / 4 : calls, share);

const scaled = (count, share) => Math.max(4, Math.round(count * share));

async function measureOnce(started, row, share) {
  const count = callsOf(row, started.contender, share);
  const before = started.processes.cpuMs();
  await send(started, row, { count, inFlight: row.inFlight ?? IN_FLIGHT });
  started.cpuUs.push(((started.processes.cpuMs() - before) * 1_000) / count);
  const times = [];
  for (let call = scaled(row.alone, share); call > 0; call -= 1) {
    const begin = performance.now();
    await send(started, row, { count: 1, inFlight: 1 });
    times.push(performance.now() - begin);
  }
  started.p50Ms.push(median(times));
}

async function send({ client }, row, { count, inFlight }) {
  if (row.pages) return readLists(client, row, { count, inFlight });
  await sendMany(client, row.request(client), { count, inFlight, expected: row.expected });
}

/** Reads all pages of the list, `count` times. */
async function readLists(client, { expected }, { count, inFlight }) {
  let left = count;
  const one = async () => {
    while (left-- > 0) {
      let text;
      let cursor;
      do {
        ({ text } = await client.post(client.prepare("tools/list", cursor === undefined ? {} : { cursor })));
        cursor = /"nextCursor":"([^"]+)"/.exec(text.slice(-1_000))?.[1];
      } while (cursor !== undefined);
      if (!text.includes(expected)) throw new Error(`Wrong answer: ${text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, one));
}

/** The ratio is taken within each round. */
function summary({ contender, cpuUs, p50Ms }, floor, row) {
  const ratio = median(cpuUs.map((value, round) => value / floor.cpuUs[round]));
  const limit = contender === floor.contender || contender.isPeer ? undefined : row.target(contender);
  return {
    row: row.title,
    name: contender.name,
    isPeer: contender.isPeer === true,
    cpuUs: median(cpuUs),
    p50Ms: median(p50Ms),
    ratio,
    limit,
    isMet: limit === undefined || ratio <= limit,
  };
}
