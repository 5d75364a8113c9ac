/** A small model of a connection, and the commands that run on both the model and the real connection. */
import type fc from "fast-check";
import type { Toolport } from "toolport";
import { ToolportError } from "toolport";
import { expect } from "vitest";
import type { ConnectionStatus } from "../../packages/core/src/connection/connection-state.js";
import type { MemoryWorld, WorldMode } from "../support/memory-world.js";
import { waitFor } from "../support/wait-for.js";

/** Stable states; the others change without a command. */
type Resting = Extract<ConnectionStatus, "idle" | "ready" | "failed" | "closed">;

export interface ConnectionModel {
  status: Resting;
  mode: WorldMode;
}

export interface RealConnection {
  readonly toolport: Toolport;
  readonly world: MemoryWorld;
}

type Command = fc.AsyncCommand<ConnectionModel, RealConnection>;

const SERVER = "it";
const REASON = new Error("changed my mind");

const stateOf = ({ toolport }: RealConnection): ConnectionStatus | undefined =>
  toolport.snapshot().servers[SERVER]?.state;

/** Model and connection have the same state, and a transport is open exactly when it should be. */
async function expectSame(model: ConnectionModel, real: RealConnection): Promise<void> {
  const wanted = model.status === "ready" ? 1 : 0;
  const said = () => `${stateOf(real)} with ${real.world.live.size} open, not ${model.status} with ${wanted}`;
  await waitFor(() => stateOf(real) === model.status && real.world.live.size === wanted, {
    timeoutMs: 3_000,
    intervalMs: 1,
    label: said,
  });
}

/** True if it succeeded. Errors must be typed. */
async function outcome(promise: Promise<unknown>): Promise<boolean> {
  try {
    await promise;
    return true;
  } catch (error) {
    if (error !== REASON && !ToolportError.isInstance(error)) throw error;
    return false;
  }
}

function command(
  name: string,
  run: (model: ConnectionModel, real: RealConnection) => Promise<void>,
  check: (model: Readonly<ConnectionModel>) => boolean = () => true,
): Command {
  return {
    check,
    toString: () => name,
    async run(model, real) {
      await run(model, real);
      await expectSame(model, real);
    },
  };
}

/** A server that never responds is only used by commands with their own timeout. */
const answersOrRefuses = ({ mode, status }: Readonly<ConnectionModel>) =>
  mode !== "mute" || status === "ready";
const speaks = ({ mode }: Readonly<ConnectionModel>) => mode !== "mute";

export const setMode = (mode: WorldMode): Command =>
  command(mode, async (model, { world }) => {
    model.mode = mode;
    world.mode = mode;
  });

/** Any number of parallel calls open one connection. */
export const connect = (times: number): Command =>
  command(
    `connect x${times}`,
    async (model, { toolport, world }) => {
      const before = world.opened;
      const reports = await Promise.all(Array.from({ length: times }, () => toolport.connectServer(SERVER)));
      if (model.status !== "ready") {
        model.status = model.mode === "up" ? "ready" : "failed";
        expect(world.opened - before, "connections asked for").toBe(1);
      }
      for (const report of reports) expect(report.state).toBe(model.status);
    },
    answersOrRefuses,
  );

export const call = (times: number): Command =>
  command(
    `call x${times}`,
    async (model, { toolport }) => {
      const echo = (_: unknown, i: number) => toolport.callTool(`${SERVER}__echo`, { text: `${i}` });
      const results = await Promise.all(
        Array.from({ length: times }, async (_, i) => {
          const ok = await outcome(
            echo(_, i).then(({ text }) => {
              expect(text).toBe(`${i}`);
            }),
          );
          return ok;
        }),
      );
      if (model.status === "idle" || model.status === "failed")
        model.status = model.mode === "up" ? "ready" : "failed";
      for (const ok of results) expect(ok).toBe(model.status === "ready");
    },
    speaks,
  );

export const disconnect = (times: number): Command =>
  command(`disconnect x${times}`, async (model, { toolport }) => {
    await Promise.all(Array.from({ length: times }, () => toolport.disconnect(SERVER)));
    model.status = "closed";
  });

/** The server dies; Toolport reconnects in the background if it can. */
export const kill: Command = command(
  "kill",
  async (model, { world }) => {
    world.kill();
    if (model.status === "ready") model.status = model.mode === "up" ? "ready" : "failed";
    // Wait for the new connection before comparing.
    await new Promise((resolve) => setImmediate(resolve));
  },
  speaks,
);

/** Calls without a response, which the caller aborts. */
export const abortCall = (afterMs: number): Command =>
  command(
    `abort call after ${afterMs} ms`,
    async (model, { toolport }) => {
      const signal = abortAfter(afterMs);
      const ok = await outcome(toolport.callTool(`${SERVER}__hang`, {}, { signal }));
      expect(ok).toBe(false);
      if (model.status === "ready") return;
    },
    ({ status }) => status === "ready",
  );

/** No caller waits any more: the pending connection is dropped. */
export const abortConnect = (afterMs: number): Command =>
  command(
    `abort connect after ${afterMs} ms`,
    async (model, { toolport }) => {
      const ok = await outcome(
        toolport.connectServer(SERVER, { signal: abortAfter(afterMs) }).then(({ state, error }) => {
          if (state !== "ready") throw error ?? REASON;
        }),
      );
      expect(ok).toBe(model.status === "ready");
      if (model.status !== "ready") model.status = "idle";
    },
    ({ mode }) => mode === "mute",
  );

function abortAfter(ms: number): AbortSignal {
  const controller = new AbortController();
  setTimeout(() => controller.abort(REASON), ms);
  return controller.signal;
}
