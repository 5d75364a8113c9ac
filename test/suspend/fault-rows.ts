/** The fault rows of suspended calls that one process can show: every store runs them. */
import { createToolport, isSuspended, type ResumeInput, type Suspended, type Toolport } from "toolport";
import { expect, test, vi } from "vitest";
import { failure } from "../support/failure.js";
import { type FaultServer, startFaultServer } from "./fault-processes.js";
import type { FaultStore } from "./fault-stores.js";

/** What the rows of one store share. */
export interface FaultRig {
  readonly server: FaultServer;
  readonly store: FaultStore;
}

export const SEAT = { answers: { seat: { action: "accept", content: { seat: "12A" } } } } as const;

let count = 0;
/** An id for one call, by which the server counts its requests and effects. */
export const newId = (row: string): string => `${row}-${++count}`;

export interface Client extends AsyncDisposable {
  readonly toolport: Toolport;
  call(tool: string, id: string, port?: Pick<Toolport, "callTool">): Promise<Suspended>;
}

/** A port over the rig's store, in this process. */
export function openClient(
  { server, store }: FaultRig,
  options: Parameters<typeof createToolport>[0] = {},
  key?: string,
): Client {
  const opened = store.open(key);
  const toolport = createToolport({ mcpServers: { travel: { url: server.url } }, store: opened, ...options });
  return {
    toolport,
    async call(tool, id, port = toolport) {
      const out = await port.callTool(`travel__${tool}`, { id }, { suspend: true });
      if (!isSuspended(out)) throw new Error(`The call was not suspended: ${out.text}`);
      return out;
    },
    async [Symbol.asyncDispose]() {
      await toolport.close();
      if (store.place !== undefined) await opened.close();
    },
  };
}

const UNKNOWN = { code: "SUSPENSION_UNKNOWN", outcome: "unsent" };

/** Rows 1 to 3, 9 to 13 and 15 to 17, and 4 with two callers of one process. */
export function testFaultRows(rig: () => FaultRig): void {
  const refused = (client: Client, token: string, input: ResumeInput = SEAT) =>
    failure(client.toolport.resume(token, input));

  test("S01: a changed token is SUSPENSION_UNKNOWN, and the right one still works", async () => {
    const { server } = rig();
    const id = newId("S01");
    await using client = openClient(rig());
    const { token } = await client.call("book", id);
    const last = token.at(-1) === "A" ? "B" : "A";
    for (const wrong of [
      `${token.slice(0, -1)}${last}`,
      token.slice(0, -1),
      `${token}A`,
      token.replace("tpc1.", "tpc2."),
      token.toUpperCase(),
      "",
      "../../key",
      `tpc1.key-${"a".repeat(39)}`,
      42 as never,
      null as never,
      { toString: () => token } as never,
    ]) {
      const error = await refused(client, wrong);
      expect(error).toMatchObject(UNKNOWN);
      expect(JSON.stringify([error.message, error])).not.toContain("tpc1.");
    }
    expect(server.requests(id)).toBe(1);
    expect(await client.toolport.resume(token, SEAT)).toMatchObject({
      text: `booked ${id}, seat 12A, meal none`,
    });
    expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
  });

  test("S02: another user gets SUSPENSION_UNKNOWN, and the owner can still resume", async () => {
    const { server } = rig();
    const id = newId("S02");
    await using client = openClient(rig());
    const { toolport } = client;
    const [alice, bob] = [toolport.as("alice"), toolport.as("bob")];
    const { token } = await client.call("book", id, alice);
    for (const port of [bob, toolport, toolport.as("alice/"), toolport.as("ALICE")]) {
      expect(await failure(port.resume(token, SEAT))).toMatchObject(UNKNOWN);
      expect(await failure(port.discard(token))).toMatchObject(UNKNOWN);
      expect((await port.suspended()).map((call) => call.token)).not.toContain(token);
    }
    expect(server.requests(id)).toBe(1);
    expect((await alice.suspended()).map((call) => call.token)).toContain(token);
    expect(await alice.resume(token, SEAT)).toMatchObject({ isError: false });
    expect(server.commits(id)).toBe(1);
  });

  test("S03: a used token is SUSPENSION_UNKNOWN", async () => {
    const { server } = rig();
    const id = newId("S03");
    await using client = openClient(rig());
    const { token } = await client.call("book", id);
    await client.toolport.resume(token, SEAT);
    for (const input of [SEAT, { ...SEAT, again: true }, { restart: true }])
      expect(await refused(client, token, input)).toMatchObject(UNKNOWN);
    expect(await failure(client.toolport.discard(token))).toMatchObject(UNKNOWN);
    expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
  });

  test("S04: of two callers with different answers one gets the result, the other SUSPENSION_UNKNOWN", async () => {
    const { server } = rig();
    const id = newId("S04");
    await using client = openClient(rig());
    await using other = openClient(rig());
    const { token } = await client.call("book", id);
    const answer = (seat: string) => ({
      answers: { seat: { action: "accept" as const, content: { seat } } },
    });
    const ends = await Promise.allSettled([
      client.toolport.resume(token, answer("1A")),
      other.toolport.resume(token, answer("2B")),
      client.toolport.resume(token, { answers: { seat: { action: "decline" } } }),
    ]);
    const results = ends.filter(({ status }) => status === "fulfilled");
    const errors = ends.flatMap((end) => (end.status === "rejected" ? [end.reason] : []));
    expect(results).toHaveLength(1);
    expect(errors).toMatchObject([UNKNOWN, UNKNOWN]);
    expect(server.requests(id)).toBe(2);
    expect(server.commits(id)).toBeLessThanOrEqual(1);
  });

  test("S09: while the server is down the call is UNREACHABLE and unsent; then the same token works", async () => {
    const id = newId("S09");
    await using server = await startFaultServer();
    await using client = openClient({ ...rig(), server });
    const { token } = await client.call("book", id);
    await server.kill();
    await using later = openClient({ ...rig(), server });
    const limit = { timeoutMs: 1_000 };
    const unsent = { outcome: "unsent", server: "travel" };
    expect(await failure(later.toolport.resume(token, SEAT, limit))).toMatchObject({
      ...unsent,
      code: "UNREACHABLE",
    });
    // This one had a connection: it waits for the server to return, as for any call.
    const error = await failure(client.toolport.resume(token, SEAT, limit));
    expect(error).toMatchObject({ ...unsent, code: expect.stringMatching(/^(UNREACHABLE|TIMEOUT)$/) });
    await server.restart();
    expect(await later.toolport.resume(token, SEAT)).toMatchObject({ isError: false });
    expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
  });

  test("S10: a changed definition is TOOL_CHANGED and unsent; a new call works", async () => {
    const id = newId("S10");
    await using server = await startFaultServer();
    const { token } = await (async () => {
      await using client = openClient({ ...rig(), server });
      return await client.call("book", id);
    })();
    await server.restart({ description: "Books two flights" });
    await using client = openClient({ ...rig(), server });
    expect(await refused(client, token)).toMatchObject({ code: "TOOL_CHANGED", outcome: "unsent" });
    expect(await refused(client, token, { restart: true })).toMatchObject({ code: "TOOL_CHANGED" });
    await client.toolport.approveTools("travel");
    expect(await refused(client, token)).toMatchObject({ code: "TOOL_CHANGED" });
    expect(server.requests(id)).toBe(1);
    await client.toolport.discard(token);
    const again = await client.call("book", id);
    expect(await client.toolport.resume(again.token, SEAT)).toMatchObject({ isError: false });
    expect(server.commits(id)).toBe(1);
  });

  test("S11: another server under the same name is SUSPENSION_MOVED and gets nothing", async () => {
    const id = newId("S11");
    await using client = openClient(rig());
    const { token } = await client.call("book", id);
    await using other = await startFaultServer();
    await using moved = openClient({ ...rig(), server: other });
    await using none = openClient(rig(), { mcpServers: {} });
    for (const port of [moved, none]) {
      const error = await refused(port, token);
      expect(error).toMatchObject({ code: "SUSPENSION_MOVED", outcome: "unsent", server: "travel" });
    }
    expect(other.requests(id)).toBe(0);
    expect(await client.toolport.resume(token, SEAT)).toMatchObject({ isError: false });
  });

  test("S12: state that the server lets expire is SUSPENSION_EXPIRED and unsent; restart begins anew", async () => {
    const id = newId("S12");
    await using server = await startFaultServer();
    await using client = openClient({ ...rig(), server });
    const { token } = await client.call("book", id);
    // The state of the SDK's codec is valid for ten minutes.
    await server.restart({ clockAheadMs: 601_000 });
    const expired = { code: "SUSPENSION_EXPIRED", at: "server", outcome: "unsent" };
    expect(await refused(client, token)).toMatchObject(expired);
    const sent = server.requests(id);
    expect(await refused(client, token)).toMatchObject(expired);
    expect([server.requests(id), server.commits(id)]).toEqual([sent, 0]);
    const anew = (await client.toolport.resume(token, { restart: true })) as Suspended;
    expect(anew).toMatchObject({ suspended: true, reason: "input", round: 1, args: { id } });
    expect(anew.token).not.toBe(token);
    expect(await refused(client, token)).toMatchObject(UNKNOWN);
    expect(await client.toolport.resume(anew.token, SEAT)).toMatchObject({ isError: false });
    expect(server.commits(id)).toBe(1);
  });

  test("S13: after its own expiry a call is SUSPENSION_UNKNOWN, and its record is gone", async () => {
    const { server, store } = rig();
    const id = newId("S13");
    await using client = openClient(rig());
    const out = (await client.toolport.callTool(
      "travel__book",
      { id },
      { suspend: { ttlMs: 1_000, key: id } },
    )) as Suspended;
    expect(await client.toolport.suspended()).toContainEqual(out);
    const opened = store.open();
    await vi.waitFor(
      async () => expect((await opened.list("suspended/")).filter((key) => key.includes("key-"))).toEqual([]),
      { timeout: 20_000, interval: 100 },
    );
    if (store.place !== undefined) await opened.close();
    expect(await refused(client, out.token)).toMatchObject(UNKNOWN);
    expect((await client.toolport.suspended()).map((call) => call.args["id"])).not.toContain(id);
    expect([server.requests(id), server.commits(id)]).toEqual([1, 0]);
  });

  test("S15: an answer that does not fit the form is INVALID_ARGUMENTS and unsent; the token stays valid", async () => {
    const { server } = rig();
    const id = newId("S15");
    await using client = openClient(rig());
    const { token } = await client.call("book", id);
    const accept = (content: unknown) => ({ answers: { seat: { action: "accept", content } } });
    for (const [input, path] of [
      [{}, "seat"],
      [{ answers: null }, "answers"],
      [{ answers: [SEAT.answers.seat] }, "answers"],
      [{ answers: { seat: null } }, "seat.action"],
      [{ answers: { seat: { action: "maybe" } } }, "seat.action"],
      [accept({}), "seat.content.seat"],
      [accept({ seat: "1" }), "seat.content.seat"],
      [accept({ seat: 12 }), "seat.content.seat"],
      [accept([]), "seat.content"],
      [accept("12A"), "seat.content"],
      [{ answers: { ...SEAT.answers, pay: { action: "decline" } } }, "pay"],
      [{ ...SEAT, approve: true }, "approve"],
    ] as [ResumeInput, string][]) {
      const error = await refused(client, token, input);
      expect(error, JSON.stringify(input)).toMatchObject({ code: "INVALID_ARGUMENTS", outcome: "unsent" });
      expect(
        (error as unknown as { issues: { path: string }[] }).issues.map((issue) => issue.path),
      ).toContain(path);
    }
    expect(server.requests(id)).toBe(1);
    expect(await client.toolport.resume(token, SEAT)).toMatchObject({ isError: false });
    expect(server.commits(id)).toBe(1);
  });

  test.each(["decline", "cancel"] as const)(
    "S16: %s is sent, and the tool's own answer returned",
    async (action) => {
      const { server } = rig();
      const id = newId("S16");
      await using client = openClient(rig());
      const { token } = await client.call("book", id);
      expect(await client.toolport.resume(token, { answers: { seat: { action } } })).toMatchObject({
        text: `not booked: ${action}`,
        isError: false,
      });
      expect(await refused(client, token)).toMatchObject(UNKNOWN);
      expect([server.requests(id), server.commits(id)]).toEqual([2, 0]);
    },
  );

  test("S16: a call that is not approved is REFUSED, unsent, and its token gone", async () => {
    const { server } = rig();
    const id = newId("S16");
    await using client = openClient(rig(), { approve: { when: "always" } });
    const { token } = await client.call("book", id);
    expect(await refused(client, token, { approve: false })).toMatchObject({
      code: "REFUSED",
      outcome: "unsent",
    });
    expect(await refused(client, token, { approve: true })).toMatchObject(UNKNOWN);
    expect(server.requests(id)).toBe(0);
  });

  test("S17: an approval and a question are two tokens, and the approval is asked for once", async () => {
    const { server } = rig();
    const id = newId("S17");
    const asked: unknown[] = [];
    const approve = ({ args }: { args: unknown }) => {
      asked.push(args);
      return "suspend" as const;
    };
    await using client = openClient(rig(), { approve });
    const first = await client.call("book", id);
    expect(first).toMatchObject({ reason: "approval", round: 0, args: { id } });
    expect(await refused(client, first.token)).toMatchObject({ code: "INVALID_ARGUMENTS" });
    await using later = openClient(rig(), { approve });
    const second = (await later.toolport.resume(first.token, { approve: true })) as Suspended;
    expect(second).toMatchObject({ reason: "input", round: 1 });
    expect(second.token).not.toBe(first.token);
    await using last = openClient(rig(), { approve });
    expect(await last.toolport.resume(second.token, SEAT)).toMatchObject({ isError: false });
    expect(asked).toHaveLength(1);
    expect([server.requests(id), server.commits(id)]).toEqual([2, 1]);
  });
}
