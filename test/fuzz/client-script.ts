/** Actions of a client in any order: all start at once, only pauses are awaited. */
import fc from "fast-check";
import { type Toolport, ToolportError } from "toolport";
import { expect } from "vitest";
import { waitFor } from "../support/wait-for.js";
import { within } from "./fuzz-model.js";

export type ClientStep =
  | { do: "call"; abortAfterMs?: number | undefined }
  | { do: "connect" | "disconnect" | "tools" | "ping" | "refresh" | "resources" | "prompts" | "kill" }
  | { do: "pause"; ms: number };

export const SERVER = "it";

/** Short timeouts, so that silence takes little time; no retries, so that each step is one request. */
export const QUICK = {
  timeoutMs: 60,
  maxTimeoutMs: 120,
  connectTimeoutMs: 250,
  maxMessageBytes: 4_096,
  retry: false,
  breaker: false,
} as const;
/** Shorter than the default limit of 15 s for lists. */
const PATIENCE = { timeoutMs: 100 };
export const RECONNECT = { maxAttempts: 2, delayMs: 1 };

/** Maximum time of any step, also on a busy machine. */
const SETTLED_MS = 5_000;

export const clientScript: fc.Arbitrary<ClientStep[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("call" as const),
        abortAfterMs: fc.option(fc.integer({ min: 0, max: 8 }), { nil: undefined, freq: 3 }),
      }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom(
          ...([
            "connect",
            "disconnect",
            "tools",
            "ping",
            "refresh",
            "resources",
            "prompts",
            "kill",
            "kill",
          ] as const),
        ),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant("pause" as const), ms: fc.integer({ min: 0, max: 5 }) }),
    },
  ),
  { maxLength: 14, size: "+1" },
);

/** Runs the script. Every promise must settle in time, with its own result or a typed error. */
export async function runClientScript(
  toolport: Toolport,
  steps: readonly ClientStep[],
  kill: () => void,
): Promise<void> {
  const begun: Promise<unknown>[] = [];
  for (const [index, step] of steps.entries()) {
    if (step.do === "pause") await new Promise((resolve) => setTimeout(resolve, step.ms));
    else if (step.do === "kill") kill();
    else begun.push(checked(begin(toolport, step, index), `${index} ${step.do}`));
  }
  const results = await within(SETTLED_MS, "the script", Promise.allSettled(begun));
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

const REASON = new Error("changed my mind");

function begin(
  toolport: Toolport,
  step: Exclude<ClientStep, { do: "pause" }>,
  index: number,
): Promise<unknown> {
  switch (step.do) {
    case "call":
      return callEcho(toolport, `text-${index}`, step.abortAfterMs);
    case "connect":
      return toolport.connectServer(SERVER, PATIENCE);
    case "disconnect":
      return toolport.disconnect(SERVER);
    case "ping":
      return toolport.ping(SERVER, PATIENCE);
    case "refresh":
      return toolport.refresh(SERVER, PATIENCE);
    case "tools":
    case "resources":
    case "prompts":
      return toolport[step.do](PATIENCE);
    default:
      return Promise.resolve();
  }
}

/** The text identifies the call, so that a result of another call is detected. */
async function callEcho(toolport: Toolport, text: string, abortAfterMs: number | undefined): Promise<void> {
  const controller = new AbortController();
  if (abortAfterMs !== undefined) setTimeout(() => controller.abort(REASON), abortAfterMs);
  const result = await toolport.callTool(
    `${SERVER}__echo`,
    { text },
    {
      ...PATIENCE,
      signal: controller.signal,
    },
  );
  if (/^text-\d+$/.test(result.text)) expect(result.text, "the answer to this call").toBe(text);
}

async function checked(promise: Promise<unknown>, what: string): Promise<void> {
  try {
    await promise;
  } catch (error) {
    if (error === REASON) return;
    if (!ToolportError.isInstance(error)) throw new Error(`${what} failed without a type`, { cause: error });
    expect(error.code, `${what}: ${error.message} ${(error.cause as Error)?.stack}`).not.toBe("UNEXPECTED");
  }
}

/** After the server works again, the client must work too. */
export async function expectHealed(toolport: Toolport): Promise<void> {
  await waitFor(
    async () => {
      await toolport.disconnect(SERVER);
      await toolport.connectServer(SERVER);
      return (
        (await toolport.callTool(`${SERVER}__echo`, { text: "well" }, { timeoutMs: 5_000 })).text === "well"
      );
    },
    { timeoutMs: SETTLED_MS, label: "the server to be well again" },
  );
}
