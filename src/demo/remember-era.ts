/** Two ports over one store: the second knows which protocol era each server speaks and need not ask. */
import { createToolport, memoryStore, type Store } from "../index.js";
import type { DemoServers } from "./servers.js";
import { check, type StepOutcome } from "./step-runner.js";

interface Round {
  readonly ms: number;
  readonly probes: number;
}

export async function rememberEra(servers: DemoServers): Promise<StepOutcome<never>> {
  const store = memoryStore();
  const first = await connectOnce(servers, store);
  const second = await connectOnce(servers, store);
  check(first.probes > 0, "the first port knew the eras without asking");
  check(second.probes === 0, `the second port asked again, ${second.probes} times`);
  const line = (name: string, { ms, probes }: Round) => `${name}: ${ms} ms, ${probes} probes`;
  return {
    details: [line("first port, which has to ask", first), line("second port, which remembers", second)],
  };
}

/** Only servers that are there already: the start of a process would hide the difference. */
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
