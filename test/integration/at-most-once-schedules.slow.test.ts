/**
 * Random schedules of calls, pings, cancellations, server exits and statuses against servers that record what they execute:
 * no call runs twice that may not, and no executed call is reported as `outcome: "unsent"`.
 *
 * `TOOLPORT_LONG=1` runs 10,000 schedules; `SCHEDULE_SEED` repeats a run.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { createToolport, type Toolport, ToolportError } from "toolport";
import { afterAll, describe, expect, test } from "vitest";
import {
  type Executions,
  type HttpReply,
  recordingStdio,
  type StdioAct,
  startRecordingHttp,
} from "../support/recording-servers.js";

const isLong = process.env["TOOLPORT_LONG"] === "1";
const seed = Number(process.env["SCHEDULE_SEED"] ?? (isLong ? Date.now() % 2 ** 31 : 20_260_728));
const runs = (short: number, long: number) => ({ seed, numRuns: isLong ? long : short });
const LONG_MS = 3_600_000;
const timeout = isLong ? LONG_MS : 120_000;

const folder = mkdtempSync(join(tmpdir(), "toolport-schedules-"));
afterAll(() => rmSync(folder, { recursive: true }));

interface Ended {
  readonly key: string;
  readonly idempotent: boolean;
  readonly error: unknown;
}

/** Runs the call and returns how it ended: with a result, a typed error, or the caller's abort. */
async function settle(
  call: Promise<unknown>,
  ended: Omit<Ended, "error">,
  signal: AbortSignal,
): Promise<Ended> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error !== undefined && !signal.aborted) expect(error).toBeInstanceOf(ToolportError);
  return { ...ended, error };
}

async function check(calls: readonly Ended[], executions: Executions): Promise<void> {
  for (const { key, idempotent, error } of calls) {
    const count = await executions(key);
    const said = ToolportError.isInstance(error) ? `${error.code}, ${error.outcome}` : "no error of ours";
    const what = `${key}: executed ${count} time(s), ${said}`;
    if (!idempotent) expect(count, what).toBeLessThanOrEqual(1);
    expect(count, what).toBeLessThanOrEqual(3);
    if (ToolportError.isInstance(error) && error.outcome === "unsent") expect(count, what).toBe(0);
  }
}

/** The behaviour of a caller: when it calls, whether it aborts, how long it waits. */
const callerOf = {
  idempotent: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, fc.constant(true)),
  /** Started together with the previous call, or after it. */
  together: fc.boolean(),
  /** Aborted after this many turns of the event loop. */
  abortAfter: fc.option(fc.nat(20), { freq: 4 }),
  ping: fc.boolean(),
};

interface Caller {
  readonly idempotent: boolean;
  readonly together: boolean;
  readonly abortAfter: number | null;
  readonly ping: boolean;
}

interface Schedule {
  readonly toolport: Toolport;
  readonly tool: string;
  readonly timeoutMs: number;
}

/** Runs the calls of one schedule, some together and some one after the other. */
async function play<Step extends Caller>(
  { toolport, tool, timeoutMs }: Schedule,
  steps: readonly Step[],
  argsOf: (step: Step) => Record<string, unknown>,
): Promise<Ended[]> {
  const ended: Promise<Ended>[] = [];
  const pings: Promise<unknown>[] = [];
  for (const [index, step] of steps.entries()) {
    if (!step.together) await Promise.all(ended);
    const { idempotent, abortAfter } = step;
    const key = `call-${index}`;
    const abort = new AbortController();
    const { signal } = abort;
    const call = toolport.callTool(tool, { key, ...argsOf(step) }, { idempotent, signal, timeoutMs });
    ended.push(settle(call, { key, idempotent }, signal));
    if (step.ping) pings.push(toolport.ping("s").catch(() => {}));
    if (abortAfter !== null) {
      for (let turn = 0; turn < abortAfter; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      abort.abort();
    }
  }
  const all = await Promise.all(ended);
  await Promise.all(pings);
  return all;
}

const rpcRefusals = [-32700, -32601, -32021, -32022];
const rpcFailures = [-32600, -32602, -32603, -32000, -32001];

describe("over stdio", () => {
  type Step = Caller & { act: StdioAct; code: number | undefined };
  const acts: StdioAct[] = [
    "answer",
    "exit",
    "exit on pong",
    "exit on roots",
    "exit on next",
    "answer, exit on next",
    "silence",
  ];
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ ...callerOf, act: fc.constantFrom(...acts), code: fc.constant(undefined) }),
    },
    fc.record({
      ...callerOf,
      act: fc.constant<StdioAct>("refuse"),
      code: fc.constantFrom(...rpcRefusals),
    }),
    fc.record({
      ...callerOf,
      act: fc.constant<StdioAct>("answer"),
      code: fc.constantFrom(...rpcFailures),
    }),
  );

  test("no schedule executes a call twice, or calls an executed one unsent", { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 5 }), async (steps) => {
        const { entry, executions } = recordingStdio(folder);
        const toolport = createToolport({
          mcpServers: { s: { ...entry, restart: { delayMs: 1, maxAttempts: 100 } } },
          roots: [{ uri: "file:///project" }],
          breaker: false,
          retry: { baseMs: 1 },
        });
        const schedule = { toolport, tool: "s__run", timeoutMs: 300 };
        const calls = await play(schedule, steps, ({ act, code }) => ({ act, code }));
        await toolport.close();
        await check(calls, executions);
      }),
      runs(25, 1_000),
    );
  });
});

describe("over HTTP", () => {
  type Step = Caller & { replies: HttpReply[] };
  const challenge = { "www-authenticate": "Bearer" };
  const again = { "retry-after": "0" };
  /** The server never executes a request that it refuses with these. */
  const refusals = fc.constantFrom<HttpReply>(
    { runs: false, status: 401 },
    { runs: false, status: 401, headers: challenge },
    { runs: false, status: 403 },
    { runs: false, status: 404 },
    { runs: false, status: 405 },
    { runs: false, status: 406 },
    { runs: false, status: 413 },
    { runs: false, status: 415 },
    { runs: false, status: 429 },
    { runs: false, status: 429, headers: again },
    { runs: false, status: 503, headers: again },
    ...rpcRefusals.map((code) => ({ runs: false, code })),
  );
  const failures = fc.record({
    runs: fc.boolean(),
    how: fc.constantFrom<Omit<HttpReply, "runs">>(
      ...[400, 402, 408, 409, 410, 418, 422, 425, 500, 501, 502, 503, 504].map((status) => ({ status })),
      { status: 425, headers: again },
      { status: 500, headers: again },
      { cut: "socket" },
      { cut: "body" },
      { cut: "stream" },
      ...rpcFailures.map((code) => ({ code })),
    ),
  });
  const reply: fc.Arbitrary<HttpReply> = fc.oneof(
    refusals,
    failures.map(({ runs, how }) => ({ runs, ...how })),
  );
  const step: fc.Arbitrary<Step> = fc.record({ ...callerOf, replies: fc.array(reply, { maxLength: 4 }) });
  const schedule = fc.record({
    era: fc.constantFrom("legacy" as const, "modern" as const),
    authorized: fc.boolean(),
    steps: fc.array(step, { minLength: 1, maxLength: 6 }),
  });

  /** A provider with a new token after every refusal. */
  function provider() {
    let version = 0;
    return {
      token: async () => `token-${version}`,
      onUnauthorized: async () => {
        version += 1;
      },
    };
  }

  async function run(
    { era, authorized, steps }: { era: "legacy" | "modern"; authorized: boolean; steps: Step[] },
    replyOf: (reply: HttpReply, era: "legacy" | "modern") => HttpReply,
    verify: typeof check,
  ): Promise<number> {
    const server = await startRecordingHttp({ era });
    const toolport = createToolport({
      mcpServers: { s: { ...server.entry, ...(authorized && { authProvider: provider() }) } },
      breaker: false,
      retry: { baseMs: 1 },
    });
    const calls = await play({ toolport, tool: "s__bad", timeoutMs: 5_000 }, steps, ({ replies }) => ({
      replies: replies.map((one) => replyOf(one, era)),
    }));
    await toolport.close();
    await server.close();
    await verify(calls, server.executions);
    return Math.max(...calls.map(({ key }) => server.sends(key)));
  }

  test("no schedule executes a call twice, or calls an executed one unsent", { timeout }, async () => {
    await fc.assert(
      fc.asyncProperty(schedule, async (given) => {
        const sends = await run(given, (one) => one, check);
        expect(sends).toBeLessThanOrEqual(3);
      }),
      runs(150, 9_000),
    );
  });

  test("a server that executes refused requests gets a call twice by healing, three times in all", {
    timeout,
  }, async () => {
    /** Without `Retry-After`: one healing at most, so two executions. */
    const verify = async (calls: readonly Ended[], executions: Executions): Promise<void> => {
      for (const { key } of calls) expect(await executions(key)).toBeLessThanOrEqual(3);
    };
    const healed = fc.record({
      era: fc.constantFrom("legacy" as const, "modern" as const),
      authorized: fc.boolean(),
      steps: fc.array(
        fc.record({
          ...callerOf,
          idempotent: fc.constant(false),
          replies: fc.array(
            fc.constantFrom<HttpReply>(
              { runs: true, status: 401 },
              { runs: true, status: 401, headers: challenge },
              { runs: true, status: 404 },
            ),
            { minLength: 6, maxLength: 6 },
          ),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(healed, async (given) => {
        expect(
          await run(
            given,
            (one) => one,
            async () => {},
          ),
        ).toBeLessThanOrEqual(2);
      }),
      runs(40, 500),
    );
    await fc.assert(
      fc.asyncProperty(schedule, async (given) => {
        const sends = await run(given, (one) => ({ ...one, runs: true }), verify);
        expect(sends).toBeLessThanOrEqual(3);
      }),
      runs(40, 500),
    );
  });
});
