/** Replicas in processes of their own: one is frozen, one is killed while it works. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Mailbox } from "../../packages/gateway/src/replicas/mailbox.js";
import type { Store } from "../../packages/stores/src/store.js";
import { transpileEverything } from "../fixtures/oauth-worker-source.js";
import { useServer } from "../support/use-server.js";
import { waitFor } from "../support/wait-for.js";
import { KEY } from "./server-stores.js";

const WORKER = fileURLToPath(new URL("../fixtures/hosts/mailbox-worker.mjs", import.meta.url));
const ADA = { principal: "ada" };

/** The database that the processes share. */
export interface SharedPlace {
  readonly kind: "redis" | "postgres" | "sqlite";
  /** URL or path. */
  readonly place: string;
  readonly namespace: string;
  /** A store of this process on the same data. */
  readonly store: Store;
}

/** Adds the tests. `open` is called once per test; `close` after it. */
export function testMailboxProcesses(open: () => Promise<SharedPlace & { close(): Promise<void> }>): void {
  const source = useServer(() => transpileEverything({ useBuild: false }));

  const start = async (shared: SharedPlace, replica: string) => {
    const args = [WORKER, source.folder, shared.kind, shared.place, shared.namespace, replica];
    const child = spawn(process.execPath, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, TOOLPORT_STORE_KEY: KEY },
    });
    const said: string[] = [];
    child.stdout.setEncoding("utf8").on("data", (text: string) => said.push(...text.trim().split("\n")));
    await waitFor(() => said.includes("ready"), { label: "the replica to start" });
    return { child, said };
  };
  const end = async ({ child }: { child: ChildProcess }): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };

  test("a frozen replica gets no message later, and one killed with -9 while it works is lost", async () => {
    const shared = await open();
    const mailbox = new Mailbox(shared.store);
    const [frozen, killed, alive] = await Promise.all(
      ["frozen", "killed", "alive"].map((replica) => start(shared, replica)),
    );
    try {
      const echo = (to: string, body: unknown) => mailbox.send(to, "echo", body, ADA);
      expect(await Promise.all(["frozen", "killed", "alive"].map((to) => echo(to, to)))).toHaveLength(3);
      frozen!.child.kill("SIGSTOP");
      const withdrawn = expect(echo("frozen", "too late")).rejects.toMatchObject({ code: "UNDELIVERABLE" });
      const lost = expect(mailbox.send("killed", "hang", {}, ADA)).rejects.toMatchObject({
        code: "REPLICA_LOST",
        outcome: "unknown",
      });
      await waitFor(() => killed!.said.includes("hang"), { label: "the work to begin" });
      killed!.child.kill("SIGKILL");
      await Promise.all([withdrawn, lost]);
      frozen!.child.kill("SIGCONT");
      expect(await echo("frozen", "again")).toBe("again");
      expect(frozen!.said.filter((line) => line.startsWith("echo"))).toEqual([
        'echo "frozen"',
        'echo "again"',
      ]);
      expect(await echo("alive", "still")).toBe("still");
    } finally {
      mailbox.close();
      await Promise.all([frozen, killed, alive].map((replica) => end(replica!)));
      await shared.close();
    }
  });
}
