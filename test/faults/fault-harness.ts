/** Runs one fault case with a healthy neighbour server; at the end nothing may be lost, leaked or revealed. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  createToolport,
  type ServerEntry,
  type Toolport,
  ToolportError,
  type ToolportOptions,
} from "toolport";
import { expect } from "vitest";
import { LEAN_SERVER } from "../fixtures/stdio-peer.js";
import { takeLeakSnapshot, waitFor, waitForNoLeaks } from "../support/leaks.js";
import { atMost } from "./at-most.js";
import { type HeapCheck, watchHeap } from "./heap-check.js";
import { type NeighbourWatch, watchNeighbour } from "./neighbour-watch.js";
import { warmUp } from "./warm-up.js";

const NEIGHBOUR = "neighbour";

export interface HarnessOptions {
  /** Longest time that the event loop may be blocked. @default 1000 (a busy machine alone causes hundreds) */
  readonly maxLagMs?: number;
  /** How much the heap may have grown at the end. @default 8 MiB */
  readonly maxHeapGrowth?: number;
  /** Runs a healthy server beside the broken one; false for cases that open no port in this process. @default true */
  readonly neighbour?: boolean;
}

/** The expected failure. */
export interface ExpectedFailure {
  readonly code: string | readonly string[];
  readonly server?: string;
  readonly tool?: string;
  /** From now to the rejection. */
  readonly withinMs: number;
}

export interface FaultHarness {
  /** A temporary folder, removed at the end. */
  readonly folder: string;
  /** A port with these servers and the neighbour. Closed at the end. */
  open(servers: Record<string, ServerEntry>, options?: Omit<ToolportOptions, "mcpServers">): Toolport;
  /** Everything that was logged, with its level. */
  readonly logged: readonly string[];
  /** Closes this at the end, last kept first. */
  keep<T extends { close(): unknown }>(closable: T): T;
  /** Runs this at the end. */
  atEnd(undo: () => unknown): void;
  /** Registers a secret, random by default: at the end no log line, error or snapshot may contain it. */
  secret(value?: string): string;
  /** Awaits the failure and checks that it is typed, in time and complete. */
  fails<E extends ToolportError = ToolportError>(
    promise: Promise<unknown>,
    expected: ExpectedFailure,
  ): Promise<E>;
  /** Awaits a success in time. */
  within<T>(withinMs: number, promise: Promise<T>): Promise<T>;
  /** At the end this value is searched for secrets, too. */
  note(value: unknown): void;
  /** Closes everything and checks the common rule; called by {@link faultCase}. */
  leave(): Promise<void>;
  /** Closes everything without checks; called by {@link faultCase} after a failure. */
  sweep(): Promise<void>;
}

/** Opens a harness, and takes the snapshot for the leak check. */
export async function openFaultHarness({
  maxLagMs = 1_000,
  maxHeapGrowth = 8 * 1024 * 1024,
  neighbour = true,
}: HarnessOptions = {}): Promise<FaultHarness> {
  await warmUp();
  const folder = mkdtempSync(join(tmpdir(), "fault-"));
  const filesBefore = new Set(temporaryFiles());
  const heap: HeapCheck = watchHeap();
  const before = takeLeakSnapshot();
  const undo: (() => unknown)[] = [];
  const logged: string[] = [];
  const noted: unknown[] = [];
  const secrets: string[] = [];
  const watches: NeighbourWatch[] = [];

  const note = (value: unknown) => void noted.push(value);
  const log = (level: string) => (line: string, data?: unknown) =>
    void logged.push(`${level} ${line}${data === undefined ? "" : ` ${inspect(data, { depth: 8 })}`}`);
  const logger = { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };

  async function letGo(): Promise<void> {
    for (const watch of watches) await watch.stop();
    for (const step of undo.splice(0).reverse()) await step();
    rmSync(folder, { recursive: true, force: true });
  }

  const harness: FaultHarness = {
    folder,
    logged,
    note,
    open(servers, options = {}) {
      const mcpServers = neighbour
        ? { ...servers, [NEIGHBOUR]: { command: process.execPath, args: [LEAN_SERVER] } }
        : servers;
      const toolport = createToolport({ logger, ...options, mcpServers });
      undo.push(async () => {
        note(toolport.snapshot());
        await toolport.close();
      });
      if (neighbour) watches.push(watchNeighbour(toolport, NEIGHBOUR));
      return toolport;
    },
    keep(closable) {
      undo.push(() => closable.close());
      return closable;
    },
    atEnd: (step) => void undo.push(step),
    secret(value = `canary-${crypto.randomUUID()}`) {
      secrets.push(value);
      return value;
    },
    async fails<E extends ToolportError = ToolportError>(
      promise: Promise<unknown>,
      expected: ExpectedFailure,
    ) {
      const began = performance.now();
      const error: unknown = await promise.then(
        (value) => {
          throw new Error(`Expected a failure with ${expected.code}, got ${inspect(value)}`);
        },
        (reason) => reason,
      );
      const tookMs = performance.now() - began;
      if (!ToolportError.isInstance(error)) throw error;
      note(error);
      expect([expected.code].flat(), error.message).toContain(error.code);
      expect(error.retryable).toBeTypeOf("boolean");
      expect(error.message).toContain(`(${error.code})`);
      if (expected.server !== undefined) expect(error.server).toBe(expected.server);
      if (expected.tool !== undefined) expect(error.tool).toBe(expected.tool);
      expect(tookMs, `time until ${error.message}`).toBeLessThanOrEqual(atMost(expected.withinMs));
      return error as E;
    },
    async within(withinMs, promise) {
      const began = performance.now();
      const value = await promise;
      expect(performance.now() - began).toBeLessThanOrEqual(atMost(withinMs));
      return value;
    },
    async leave() {
      const reports = [];
      for (const watch of watches) reports.push(await watch.stop());
      await letGo();
      for (const report of reports) report.expectHealthy({ maxLagMs });
      await waitForNoLeaks(before);
      const left = () => temporaryFiles().filter((file) => !filesBefore.has(file));
      await waitFor(() => left().length === 0, { label: () => `files to go: ${left().join(", ")}` });
      await heap.expectWithin(maxHeapGrowth);
      expectSilence(secrets, [...logged, ...noted]);
    },
    async sweep() {
      await letGo();
    },
  };
  return harness;
}

function expectSilence(secrets: readonly string[], said: readonly unknown[]): void {
  if (secrets.length === 0) return;
  for (const value of said) {
    const text = typeof value === "string" ? value : `${inspect(value, { depth: 12 })}${json(value)}`;
    for (const secret of secrets)
      expect(text.includes(secret), `a secret in: ${text.slice(0, 500)}`).toBe(false);
  }
}

function json(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

/** Only files of Toolport: other programs use the same folder. */
function temporaryFiles(): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith("toolport"));
}
