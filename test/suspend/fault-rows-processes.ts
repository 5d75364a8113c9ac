/** The fault rows of suspended calls that need a second process, a key or a database. */
import type { Suspended } from "toolport";
import { afterEach, expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { waitFor } from "../support/wait-for.js";
import { type HostJob, runFaultHost, startFaultHost } from "./fault-processes.js";
import { type FaultRig, newId, openClient, SEAT } from "./fault-rows.js";

const OTHER_KEY = "ff".repeat(32);
/** Longer than the lease of a killed process. */
const AFTER_LEASE_MS = 11_000;

/** The clock of this process is ahead, so that it need not wait for the lease of a killed one. */
function skipLease(): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + AFTER_LEASE_MS });
}

/** Rows 4 to 8. */
export function testProcessRows(rig: () => FaultRig): void {
  afterEach(() => void vi.useRealTimers());
  const job = (more: Pick<HostJob, "job"> & Partial<HostJob>): HostJob => ({
    store: rig().store.place!,
    servers: { travel: { url: rig().server.url } },
    ...more,
  });
  const call = (tool: string, id: string, suspend: object | true = true): HostJob =>
    job({ job: ["callTool", `travel__${tool}`, { id }, { suspend }] });

  test("S04: of two processes one gets the result, the other SUSPENSION_UNKNOWN", async () => {
    const { server } = rig();
    const id = newId("S04");
    const { token } = await runFaultHost<Suspended>(call("book", id));
    const hosts = [1, 2].map(() => startFaultHost(job({ job: ["resume", token, SEAT], waits: true })));
    try {
      for (const host of hosts) expect(await host.next()).toBe("ready");
      for (const host of hosts) host.go();
      const ends = await Promise.all(hosts.map((host) => host.next<{ text?: string; code?: string }>()));
      expect(ends.filter(({ text }) => text?.startsWith("booked"))).toHaveLength(1);
      expect(ends.filter(({ code }) => code === "SUSPENSION_UNKNOWN")).toHaveLength(1);
    } finally {
      for (const host of hosts) await host.kill();
    }
    expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
  });

  /** Lets a process resume the call, kills it there, and resumes the call in this process. */
  async function resumeAfterKill(id: string, token: string, stopAt: "marked" | "ending") {
    const host = startFaultHost(job({ job: ["resume", token, SEAT], stopAt }));
    try {
      expect(await host.next()).toBe("stopped");
    } finally {
      await host.kill();
    }
    const sent = rig().server.requests(id);
    skipLease();
    const client = openClient(rig());
    const error = await failure(client.toolport.resume(token, SEAT));
    expect(error).toMatchObject({ code: "OUTCOME_UNKNOWN", outcome: "unknown", server: "travel" });
    expect(error.message).not.toContain(token);
    expect((await client.toolport.suspended()).map((waiting) => waiting.token)).not.toContain(token);
    expect(rig().server.requests(id)).toBe(sent);
    return client;
  }

  test.each(["token", "key"])(
    "S05: killed after the mark, before sending, with a %s: OUTCOME_UNKNOWN",
    async (by) => {
      const { server } = rig();
      const id = newId("S05");
      const suspend = by === "key" ? { key: id } : true;
      const { token } = await runFaultHost<Suspended>(call("book", id, suspend));
      await using client = await resumeAfterKill(id, token, "marked");
      expect([server.requests(id), server.commits(id)]).toEqual([1, 0]);
      if (by === "key")
        expect(
          await failure(client.toolport.callTool("travel__book", { id }, { suspend: { key: id } })),
        ).toMatchObject({ code: "OUTCOME_UNKNOWN" });
      expect(await client.toolport.resume(token, { ...SEAT, again: true })).toMatchObject({ isError: false });
      expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
    },
  );

  test.each(["token", "key"])(
    "S06: killed after the answer, before saving, with a %s: OUTCOME_UNKNOWN",
    async (by) => {
      const { server } = rig();
      const id = newId("S06");
      const suspend = by === "key" ? { key: id } : true;
      const { token } = await runFaultHost<Suspended>(call("book", id, suspend));
      await using client = await resumeAfterKill(id, token, "ending");
      expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
      await client.toolport.discard(token);
      expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject({
        code: "SUSPENSION_UNKNOWN",
      });
    },
  );

  test("S06: killed after the effect, before the answer: OUTCOME_UNKNOWN", async () => {
    const { server } = rig();
    const id = newId("S06");
    const { token } = await runFaultHost<Suspended>(call("hang", id));
    const host = startFaultHost(job({ job: ["resume", token, SEAT] }));
    await waitFor(() => server.commits(id) === 1, { timeoutMs: 30_000, label: "the effect" });
    await host.kill();
    skipLease();
    await using client = openClient(rig());
    expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
  });

  test("S06: a call with a key that is killed during its first send is not sent again", async () => {
    const { server } = rig();
    const id = newId("S06");
    for (const stopAt of ["marked", "ending"] as const) {
      const name = `${id}-${stopAt}`;
      const host = startFaultHost({ ...call("note", name, { key: name }), stopAt });
      expect(await host.next()).toBe("stopped");
      await host.kill();
      skipLease();
      await using client = openClient(rig());
      const again = client.toolport.callTool("travel__note", { id: name }, { suspend: { key: name } });
      expect(await failure(again)).toMatchObject({ code: "OUTCOME_UNKNOWN" });
      expect(server.commits(name)).toBe(stopAt === "marked" ? 0 : 1);
      vi.useRealTimers();
    }
  });

  test("S07: without the store's key a call is KEY_MISMATCH and unsent; with the key it works", async () => {
    const { server } = rig();
    const id = newId("S07");
    await using client = openClient(rig());
    const { token } = await client.call("book", id);
    await using other = openClient(rig(), {}, OTHER_KEY);
    for (const use of [
      () => other.toolport.resume(token, SEAT),
      () => other.toolport.suspended(),
      () => other.toolport.discard(token),
    ])
      expect(await failure(use())).toMatchObject({ code: "KEY_MISMATCH", outcome: "unsent" });
    expect(server.requests(id)).toBe(1);
    expect(await client.toolport.resume(token, SEAT)).toMatchObject({ isError: false });
    expect(server.commits(id)).toBe(1);
  });

  test("S08: a record that was changed or moved in the database is CORRUPT and unsent", async () => {
    const { server, store } = rig();
    const id = newId("S08");
    await using client = openClient(rig());
    const opened = store.open();
    const keys = () => opened.list("suspended/");
    try {
      const before = await keys();
      const { token } = await client.call("book", id);
      const [own] = (await keys()).filter((key) => !before.includes(key));
      const other = await client.call("book", `${id}-other`);
      const [foreign] = (await keys()).filter((key) => key !== own && !before.includes(key));
      // The record of another call under the key of this one.
      await store.move!(foreign!, own!);
      const corrupt = { code: "CORRUPT", outcome: "unsent" };
      expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject(corrupt);
      await store.damage!(own!);
      expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject(corrupt);
      // A record that was not sealed at all.
      await opened.delete(own!);
      await opened.put(own!, {
        format: 1,
        state: "waiting",
        tool: "travel__book",
        server: "travel",
        given: {},
        token,
      });
      expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject(corrupt);
      // It does not hide the others.
      expect((await client.toolport.suspended()).map((call) => call.token)).toContain(other.token);
      expect([server.requests(id), server.commits(id)]).toEqual([1, 0]);
      expect(await client.toolport.resume(other.token, SEAT)).toMatchObject({ isError: false });
      await opened.delete(own!);
    } finally {
      await opened.close();
    }
  });
}
