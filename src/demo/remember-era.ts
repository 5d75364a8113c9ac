/** Two ports over one store: the second knows which protocol era each server speaks and need not ask. */
import { createToolport, memoryStore, type Store } from "../index.js";
import type { DemoServers } from "./servers.js";
import { check, type StepOutcome } from "./step-runner.js";

interface Round {
  readonly ms: number;
  readonly requests: number;
}

export async function rememberEra(servers: DemoServers): Promise<StepOutcome<never>> {
  const store = memoryStore();
  const first = await connectOnce(servers, store);
  const second = await connectOnce(servers, store);
  check(second.requests < first.requests, "the second port asked as much as the first");
  const line = (name: string, { ms, requests }: Round) => `${name}: ${ms} ms, ${requests} HTTP requests`;
  return {
    details: [line("first port, which has to ask", first), line("second port, which remembers", second)],
  };
}

/** Only servers that count requests; a process's own start would hide the difference. */
async function connectOnce({ mcpServers, calendar, units }: DemoServers, store: Store): Promise<Round> {
  const count = () => calendar.requestCount + units.requestCount;
  const before = count();
  const { calendar: calendarEntry, units: unitsEntry } = mcpServers;
  await using toolport = createToolport({
    mcpServers: { calendar: calendarEntry!, units: unitsEntry! },
    store,
    onServerError: "throw",
  });
  const startedAt = performance.now();
  await toolport.connect();
  const round = { ms: Math.round(performance.now() - startedAt), requests: count() - before };
  return round;
}
