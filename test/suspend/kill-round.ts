/** Clients are killed at random moments of their calls; afterwards every call is resolved, and none ran twice. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createToolport, isSuspended, type ResumeInput, type Suspended, ToolportError } from "toolport";
import { expect } from "vitest";
import type { FaultServer } from "./fault-processes.js";
import type { FaultStore } from "./fault-stores.js";

const script = fileURLToPath(new URL("./kill-host.mjs", import.meta.url));
/** A killed process holds its calls for this time. */
const LEASE_MS = 10_000;

export interface KillFigures {
  kills: number;
  calls: number;
  /** The caller had its result before the kill, or the process was killed right after the call was over. */
  finished: number;
  /** Waiting calls that were resumed after the kills. */
  resumed: number;
  /** Saved results that were found by their key. */
  saved: number;
  unknown: number;
  /** Without a key, killed before the question was saved: nothing ran, and no caller has a token. */
  lost: number;
}

export interface KillParts {
  readonly server: FaultServer;
  readonly store: FaultStore;
  readonly kills: number;
  /** Processes that run at the same time. */
  readonly together: number;
  /** A process is killed at a random moment up to this time after it is ready. */
  readonly lifeMs: number;
}

/** What the callers saw. */
export interface Trace {
  readonly begun: Set<string>;
  /** How the call ended for its caller: `result`, or a code and an outcome. */
  readonly ended: Map<string, string[]>;
  /** The last token of the call. */
  readonly tokens: Map<string, string>;
}

/** Runs one process, kills it, and starts the next one until all kills are made. */
async function runKilled(parts: KillParts, series: number, kills: number, trace: Trace): Promise<void> {
  for (let count = 0; count < kills; count += 1) {
    const job = {
      store: parts.store.place,
      servers: { travel: { url: parts.server.url } },
      prefix: `${series}.${count}`,
    };
    const child: ChildProcess = spawn(process.execPath, [script, JSON.stringify(job)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = once(child, "close");
    const isReady = new Promise<void>((resolve) => {
      createInterface({ input: child.stdout! }).on("line", (line) => {
        resolve();
        const [what, id = "", ...rest] = line.split(" ");
        if (what === "ready") return;
        if (what === "begin") trace.begun.add(id);
        else if (what === "token") trace.tokens.set(id, rest[0]!);
        else trace.ended.set(id, [...(trace.ended.get(id) ?? []), rest.join(" ")]);
      });
    });
    await Promise.race([isReady, closed]);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * parts.lifeMs));
    expect(child.exitCode, "the process was killed, not ended by an error").toBeNull();
    child.kill("SIGKILL");
    await closed;
  }
}

const contentFor = ({ properties }: { properties: object }): Record<string, string | boolean> =>
  "seat" in properties ? { seat: "12A" } : { pay: true };

export const answersTo = ({ requests }: Suspended): ResumeInput => ({
  answers: Object.fromEntries(
    Object.entries(requests as Record<string, { requestedSchema: { properties: object } }>).map(
      ([key, { requestedSchema }]) => [
        key,
        { action: "accept" as const, content: contentFor(requestedSchema) },
      ],
    ),
  ),
});

/** Kills `parts.kills` clients, then resolves every call and checks it. */
export async function runKills(parts: KillParts): Promise<KillFigures> {
  const trace = newTrace();
  const perSeries = Math.ceil(parts.kills / parts.together);
  const all = Array.from({ length: parts.together }, (_, series) =>
    runKilled(parts, series, perSeries, trace),
  );
  await Promise.all(all);
  return { ...(await resolveCalls(parts, trace)), kills: perSeries * parts.together };
}

export const newTrace = (): Trace => ({ begun: new Set(), ended: new Map(), tokens: new Map() });

/** Waits for the leases, resolves every call and checks that none ran twice. */
export async function resolveCalls(
  { server, store }: Pick<KillParts, "server" | "store">,
  trace: Trace,
): Promise<KillFigures> {
  await new Promise((resolve) => setTimeout(resolve, LEASE_MS + 500));
  const figures: KillFigures = {
    kills: 0,
    calls: trace.begun.size,
    finished: 0,
    resumed: 0,
    saved: 0,
    unknown: 0,
    lost: 0,
  };
  const opened = store.open();
  const toolport = createToolport({ mcpServers: { travel: { url: server.url } }, store: opened });
  try {
    const before = server.allCommits();
    for (const waiting of await toolport.suspended()) {
      const id = String(waiting.args["id"]);
      // A call that waits has had no effect.
      expect(before.get(id) ?? 0, `${id} waits`).toBe(0);
      let out: unknown = waiting;
      while (isSuspended(out)) out = await toolport.resume(out.token, answersTo(out));
      figures.resumed += 1;
      trace.ended.set(id, [...(trace.ended.get(id) ?? []), "result"]);
    }
    const commits = server.allCommits();
    for (const id of trace.begun) {
      const count = commits.get(id) ?? 0;
      const ends = trace.ended.get(id) ?? [];
      expect(count, `${id} ran ${count} times, its callers saw ${ends.join(", ")}`).toBeLessThanOrEqual(1);
      if (ends.includes("result")) {
        expect(count, `${id} has a result`).toBe(1);
        figures.finished += 1;
      } else if (
        ends.length > 0 &&
        ends.every((end) => end.endsWith("unsent") && !end.startsWith("SUSPENSION"))
      )
        expect(count, `${id}: ${ends.join(", ")}`).toBe(0);
      if (id.endsWith("-key")) await resolveKeyed(id, count, ends.includes("result"));
      else if (!ends.includes("result")) await resolveToken(id, count);
    }
    figures.finished -= figures.resumed;
    return figures;
  } finally {
    await toolport.close();
    await opened.close();
  }

  /** A call that neither waits nor has a result: its outcome is unknown, or it was over, or it never began. */
  async function resolveToken(id: string, count: number): Promise<void> {
    const token = trace.tokens.get(id);
    if (token === undefined) {
      expect(count, `${id} was never suspended`).toBe(0);
      figures.lost += 1;
      return;
    }
    const out = await toolport.resume(token, {}).catch((error: unknown) => error);
    const code = ToolportError.isInstance(out) ? out.code : "no error";
    expect(["OUTCOME_UNKNOWN", "SUSPENSION_UNKNOWN"], id).toContain(code);
    expect(server.commits(id), `${id} ran again by its token`).toBe(count);
    if (code === "OUTCOME_UNKNOWN") figures.unknown += 1;
    else {
      // The record is deleted only after the result has arrived.
      expect(count, `${id} is over`).toBe(1);
      figures.finished += 1;
    }
  }

  /** The same key again: the saved result, or an unknown outcome; never a second effect. */
  async function resolveKeyed(id: string, count: number, isCounted: boolean): Promise<void> {
    const tool = id.split("-")[1];
    const out = await toolport
      .callTool(`travel__${tool}`, { id }, { suspend: { key: id } })
      .catch((error: unknown) => error);
    const now = server.commits(id);
    expect(now, `${id} ran again by its key`).toBeLessThanOrEqual(1);
    if (ToolportError.isInstance(out)) {
      expect(out.code, id).toBe("OUTCOME_UNKNOWN");
      figures.unknown += isCounted ? 0 : 1;
    } else if (isSuspended(out)) {
      // Killed before the mark was saved: this is a new call.
      expect(count, id).toBe(0);
      figures.lost += 1;
    } else {
      expect(now, id).toBe(1);
      figures.saved += isCounted ? 0 : 1;
    }
  }
}
