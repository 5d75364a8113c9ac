/** Starts the peer of a transport contract as a separate process, so that it can be killed and its memory does not count. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll } from "vitest";

/** Path of a server in `test/fixtures/servers`. */
export const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/servers/${name}.mjs`, import.meta.url));

export interface ContractPeer {
  readonly port: number;
  /** Kills the process. */
  kill(): void;
  /** Ends it if it still runs, and waits for its exit. */
  stop(): Promise<void>;
}

export async function startPeer(name: string): Promise<ContractPeer> {
  const child = spawn(process.execPath, [fixture(name)], { stdio: ["pipe", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, "line"), exited])) as [unknown];
  lines.close();
  if (typeof line !== "string") throw new Error(`The fixture ${name} ended before it listened`);
  const kill = () => void child.kill("SIGKILL");
  return {
    port: (JSON.parse(line) as { port: number }).port,
    kill,
    async stop() {
      kill();
      await exited;
    },
  };
}

/**
 * One peer for all tests of a file. A test that kills it gets a new one started by `replace()`, in its clean-up, so that no test
 * sees a process more at its end than at its start.
 */
export function usePeer(name: string) {
  let peer: ContractPeer | undefined;
  let isKilled = false;
  const start = async () => {
    peer = await startPeer(name);
    isKilled = false;
  };
  beforeAll(start);
  afterAll(() => peer?.stop());
  return {
    get port() {
      return peer!.port;
    },
    kill() {
      isKilled = true;
      peer?.kill();
    },
    async replace() {
      if (!isKilled) return;
      await peer?.stop();
      await start();
    },
  };
}
