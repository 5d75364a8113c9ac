/** The fault rows of suspended calls that depend on the kind of server: older revisions, logins, tasks, hostile rounds. */
import { UrlElicitationRequiredError } from "@modelcontextprotocol/server";
import type { Suspended, Toolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { expect, test } from "vitest";
import { startTaskServer, textResult } from "../fixtures/servers/task-server.js";
import { failure } from "../support/failure.js";
import { startOAuthBench } from "../support/oauth-bench.js";
import { logIn } from "../support/oauth-browser.js";
import { CALLBACK_URL } from "../support/oauth-callback-url.js";
import { type FaultRig, newId, openClient, SEAT } from "./fault-rows.js";

const UNKNOWN = { code: "SUSPENSION_UNKNOWN", outcome: "unsent" };
const SUSPEND = { suspend: true } as const;

const seatQuestion = {
  method: "elicitation/create",
  params: {
    message: "Which seat?",
    requestedSchema: { type: "object", properties: { seat: { type: "string" } }, required: ["seat"] },
  },
};

/** A server of 2025-11-25 that asks while the call runs. */
function createLiveServer() {
  const seen = { calls: 0, actions: [] as string[] };
  const server = createTestServer({
    era: "legacy",
    tools: {
      book: {
        async handler(_args, { server: own }) {
          seen.calls += 1;
          const { action } = await own.elicitInput(seatQuestion.params as never);
          seen.actions.push(action);
          return `answered: ${action}`;
        },
      },
      /** Asks although the client did not declare that it can answer. */
      insist: {
        async handler(_args, { request }) {
          seen.calls += 1;
          const { action } = (await request.mcpReq.send(seatQuestion as never)) as { action: string };
          seen.actions.push(action);
          return `answered: ${action}`;
        },
      },
      note: { handler: () => `noted ${++seen.calls}` },
    },
  });
  return { server, seen };
}

/** Rows 14, 18 and 20, and what else depends on the server. */
export function testServerRows(rig: () => FaultRig): void {
  test("S14: a legacy server that asks live gets the answer of onElicitation", async () => {
    const { server: live, seen } = createLiveServer();
    await using server = live;
    const http = await server.http();
    await using client = openClient(rig(), {
      mcpServers: { live: http.entry },
      onElicitation: () => ({ action: "accept", content: { seat: "12A" } }),
    });
    expect(await client.toolport.callTool("live__book", {}, SUSPEND)).toMatchObject({
      text: "answered: accept",
    });
    expect(seen).toEqual({ calls: 1, actions: ["accept"] });
  });

  test("S14: without onElicitation it gets cancel, and the call is NOT_OFFERED with an unknown outcome", async () => {
    const { server: live, seen } = createLiveServer();
    await using server = live;
    const http = await server.http();
    await using client = openClient(rig(), { mcpServers: { live: http.entry } });
    // The server knows that this client has no user, and its tool fails by itself.
    expect(await client.toolport.callTool("live__book", {}, SUSPEND)).toMatchObject({ isError: true });
    const error = await failure(client.toolport.callTool("live__insist", {}, SUSPEND));
    expect(error).toMatchObject({ code: "NOT_OFFERED", outcome: "unknown", server: "live" });
    expect(error.message).toContain("onElicitation");
    expect(seen).toEqual({ calls: 2, actions: ["cancel"] });
    expect(await client.toolport.suspended()).toEqual([]);
    const key = newId("S14");
    const keyed = () => client.toolport.callTool("live__insist", {}, { suspend: { key } });
    expect(await failure(keyed())).toMatchObject({ code: "NOT_OFFERED" });
    expect(await failure(keyed())).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect(seen.calls).toBe(3);
  });

  test("S14: an approval suspends calls of a legacy server too", async () => {
    const { server: live, seen } = createLiveServer();
    await using server = live;
    const http = await server.http();
    await using client = openClient(rig(), { mcpServers: { live: http.entry }, approve: { when: "always" } });
    const { token } = (await client.toolport.callTool("live__note", {}, SUSPEND)) as Suspended;
    expect(seen.calls).toBe(0);
    expect(await client.toolport.resume(token, { approve: true })).toMatchObject({ text: "noted 1" });
    expect(await failure(client.toolport.resume(token, { approve: true }))).toMatchObject(UNKNOWN);
    expect(seen.calls).toBe(1);
  });

  test("S14: -32042 of 2025-11-25 suspends; the call is sent again after accept, and REFUSED after decline", async () => {
    const visited = new Set<string>();
    let [calls, ran] = [0, 0];
    await using server = createTestServer({
      era: "legacy",
      tools: {
        enter: {
          handler(args) {
            calls += 1;
            const elicitationId = String(args["id"]);
            if (visited.has(elicitationId)) return `ran ${++ran}`;
            throw new UrlElicitationRequiredError([
              { mode: "url", elicitationId, url: "https://example.com/login", message: "Log in" },
            ]);
          },
        },
      },
    });
    const http = await server.http();
    const enter = async ({ toolport }: { toolport: Toolport }, id: string) =>
      (await toolport.callTool("it__enter", { id }, SUSPEND)) as Suspended;
    const open = () => openClient(rig(), { mcpServers: { it: http.entry } });
    await using client = open();
    const first = await enter(client, "a");
    expect(first).toMatchObject({ reason: "input", requests: { a: { mode: "url", host: "example.com" } } });
    await using later = open();
    // The user agreed, but is not done: the server asks again.
    const accept = { answers: { a: { action: "accept" as const } } };
    const second = (await later.toolport.resume(first.token, accept)) as Suspended;
    expect(second).toMatchObject({ reason: "input", round: 2 });
    expect(ran).toBe(0);
    visited.add("a");
    expect(await later.toolport.resume(second.token, accept)).toMatchObject({ text: "ran 1" });
    const other = await enter(client, "b");
    const sent = calls;
    const declined = client.toolport.resume(other.token, { answers: { b: { action: "decline" } } });
    expect(await failure(declined)).toMatchObject({ code: "REFUSED", outcome: "unsent" });
    expect(await failure(client.toolport.resume(other.token, {}))).toMatchObject(UNKNOWN);
    expect([calls, ran]).toEqual([sent, 1]);
  });

  test("S18: a login suspends; too early the same token waits on; after it the call is sent once", async () => {
    await using bench = await startOAuthBench();
    const options = { mcpServers: { a: { url: bench.url } }, callbackUrl: CALLBACK_URL };
    const calls = () => [...bench.resource.calls.values()].reduce((sum, n) => sum + n, 0);
    await using client = openClient(rig(), options);
    const out = (await client.toolport.callTool("a__whoami", { text: "x" }, SUSPEND)) as Suspended;
    expect(out).toMatchObject({ reason: "login", round: 0, args: { text: "x" } });
    const { authUrl } = out.requests as { authUrl: string };
    await using later = openClient(rig(), options);
    const early = (await later.toolport.resume(out.token, {})) as Suspended;
    expect(early).toMatchObject({ reason: "login", token: out.token, expiresAt: out.expiresAt });
    expect(calls()).toBe(0);
    // The first URL is the one that the user got.
    await later.toolport.finishAuth("a", (await logIn(new URL(authUrl), "ada")).searchParams);
    expect(await later.toolport.resume(out.token, {})).toMatchObject({ text: "ada" });
    expect(calls()).toBe(1);
    expect(await failure(client.toolport.resume(out.token, {}))).toMatchObject(UNKNOWN);
  });

  test("S20: still a question after ten rounds is PROTOCOL, and the last token is withdrawn", async () => {
    const { server } = rig();
    const id = newId("S20");
    await using client = openClient(rig());
    let { token, round } = await client.call("endless", id);
    for (; round < 10; ) ({ token, round } = (await client.toolport.resume(token, SEAT)) as Suspended);
    expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject({ code: "PROTOCOL" });
    expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject(UNKNOWN);
    // Ten questions and the round after the last one.
    expect(server.requests(id)).toBe(11);
  });

  test.each(["large", "nonsense"])(
    "S20: a second round of the tool %s is PROTOCOL; its token is withdrawn",
    async (tool) => {
      const { server } = rig();
      const id = newId("S20");
      await using client = openClient(rig());
      const { token } = await client.call(tool, id);
      expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject({
        code: "PROTOCOL",
        outcome: "unknown",
      });
      expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject(UNKNOWN);
      expect((await client.toolport.suspended()).map((call) => call.token)).not.toContain(token);
      expect(server.requests(id)).toBe(2);
    },
  );

  test("S20: state that is refused after the effect is not reported as unsent", async () => {
    const { server } = rig();
    const id = newId("S20");
    await using client = openClient(rig());
    const { token } = await client.call("twice", id);
    expect(await failure(client.toolport.resume(token, SEAT))).toMatchObject({
      code: "PROTOCOL",
      outcome: "unknown",
    });
    expect(await failure(client.toolport.resume(token, { restart: true }))).toMatchObject(UNKNOWN);
    expect(server.commits(id)).toBe(1);
  });

  test("S20: a task that asks is suspended and continued elsewhere; a task that is gone is TASK_LOST", async () => {
    await using server = await startTaskServer("modern");
    server.onTask = (task) => {
      Object.assign(task, { status: "input_required", inputRequests: { seat: seatQuestion } });
      task.onPoll = () => {
        const [input] = task.inputs;
        if (input === undefined) return;
        const { action } = input["seat"] as { action: string };
        Object.assign(task, { status: "completed", result: textResult(`done: ${action}`) });
      };
    };
    const open = () => openClient(rig(), { mcpServers: { jobs: server.entry } });
    const begin = async ({ toolport }: { toolport: Toolport }) =>
      (await toolport.callTool("jobs__work", { text: "x" }, SUSPEND)) as Suspended;
    await using client = open();
    const out = await begin(client);
    expect(out).toMatchObject({ reason: "input", requests: { seat: { message: "Which seat?" } } });
    await using later = open();
    expect(await later.toolport.resume(out.token, SEAT)).toMatchObject({ text: "done: accept" });
    expect(server.made[0]?.inputs).toEqual([{ seat: SEAT.answers.seat }]);
    expect([server.count("tools/call"), server.count("tasks/update")]).toEqual([1, 1]);
    const lost = await begin(client);
    server.tasks.clear();
    expect(await failure(later.toolport.resume(lost.token, SEAT))).toMatchObject({ code: "TASK_LOST" });
    expect(await failure(later.toolport.resume(lost.token, SEAT))).toMatchObject(UNKNOWN);
    expect(server.count("tools/call")).toBe(2);
  });
}
