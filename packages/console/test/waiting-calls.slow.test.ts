/** The console's actions for calls that wait for a person: no token reaches the page, and every check of the port applies. */
import {
  createToolport,
  isSuspended,
  memoryStore,
  type Store,
  type Suspended,
  type Toolport,
  type ToolportEvents,
  type ToolportOptions,
} from "toolport";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sendRaw } from "../../../test/support/raw-request.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { createBookingServer } from "../../../test/suspend/booking-server.js";
import type { ActionValue, CallSummary, CallView, ConsoleEvent, WaitingView } from "../src/console-api.js";
import { type ConsoleOptions, startConsole } from "../src/start-console.js";
import { buildPage } from "./build-page.js";

let page: Awaited<ReturnType<typeof buildPage>>;
beforeAll(async () => {
  page = await buildPage();
});
afterAll(() => page?.remove());

interface SceneOptions {
  readonly principal?: string;
  readonly answeredBy?: string;
  readonly port?: ToolportOptions;
  readonly transport?: "memory" | "stdio";
}

/** A console on one port, and a second port with the same store, like that of another process. */
async function open({ principal, answeredBy, port, transport = "memory" }: SceneOptions = {}) {
  const { server, seen } = createBookingServer();
  const store: Store = memoryStore();
  const travel = transport === "memory" ? server.memory() : (await server.stdio()).entry;
  const create = () => createToolport({ mcpServers: { travel }, store, ...port });
  const [plain, other] = [create(), create()];
  const toolport = principal === undefined ? plain : plain.as(principal);
  const options: ConsoleOptions = { toolport, store, answeredBy, pageFolder: page.folder };
  const running = await startConsole(options);
  const headers = {
    "content-type": "application/json",
    authorization: `Bearer ${new URL(running.url).hash.slice(3)}`,
  };
  const sent: string[] = [];
  return {
    plain,
    toolport,
    other,
    seen,
    running,
    headers,
    sent,
    async ask<Value>(action: string, body: object = {}): Promise<Value> {
      const { status, text } = await sendRaw(running.url, `/api/${action}`, {
        method: "POST",
        headers,
        body: JSON.stringify(body),
      });
      sent.push(text);
      if (status !== 200) throw new Error(`${action} was answered with ${status}: ${text}`);
      const { value, error } = JSON.parse(text);
      if (error) throw Object.assign(new Error(error.message), error);
      return value;
    },
    async [Symbol.asyncDispose]() {
      await running.close();
      await Promise.all([plain.close(), other.close()]);
      await server.close();
    },
  };
}

async function suspend(port: Toolport, tool = "book"): Promise<Suspended> {
  const out = await port.callTool(`travel__${tool}`, { to: "Oslo", api_key: "hidden" }, { suspend: true });
  if (!isSuspended(out)) throw new Error("not suspended");
  return out;
}

const seat = (text: string) => ({ seat: { action: "accept", content: { seat: text } } });

test("a call of another process is answered; a wrong answer keeps it waiting", async () => {
  await using scene = await open();
  const news: ToolportEvents["suspension"][] = [];
  const calls: ToolportEvents["call"][] = [];
  scene.toolport.on("suspension", (event) => void news.push(event));
  scene.toolport.on("call", (event) => void calls.push(event));
  const { token } = await suspend(scene.other);
  const [call] = await scene.ask<WaitingView[]>("waiting");
  expect(call).toMatchObject({
    id: expect.stringMatching(/^[\da-f]{32}$/),
    reason: "input",
    server: "travel",
    round: 1,
    tool: "travel__book",
    args: { to: "Oslo", api_key: "[redacted]" },
    authUrl: null,
    questions: [{ key: "seat", mode: "form", message: "Which seat?", requestedSchema: { type: "object" } }],
  });
  const { id } = call!;
  await expect(scene.ask("resume", { id, answers: seat("1") })).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
    issues: [{ path: "seat.content.seat", message: "is shorter than 2" }],
  });
  await expect(scene.ask("resume", { id })).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
  await expect(scene.ask("resume", { id, approve: true })).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
  });
  expect(await scene.ask("waiting")).toHaveLength(1);
  expect(scene.seen.requests).toBe(1);
  const done = await scene.ask<ActionValue<"resume">>("resume", { id, answers: seat("12A") });
  expect(done).toMatchObject({ result: { text: "booked Oslo, seat 12A, meal none" } });
  expect(await scene.ask("waiting")).toEqual([]);
  await expect(scene.ask("resume", { id, answers: seat("12A") })).rejects.toMatchObject({
    code: "SUSPENSION_UNKNOWN",
    message: expect.stringContaining("no longer waits"),
  });
  expect(news).toEqual([
    { phase: "resumed", server: "travel", tool: "travel__book", reason: "input", answeredBy: "console" },
  ]);
  expect(calls.at(-1)).toMatchObject({ phase: "end", outcome: "ok", answeredBy: "console" });
  const [last] = await scene.ask<CallSummary[]>("calls");
  expect(last).toMatchObject({ outcome: "ok", person: "console" });
  expect(scene.sent.join()).not.toContain(token.slice(5));
  expect(scene.seen.booked).toHaveLength(1);
});

test("the next round has another id; the call log shows suspended rounds without a result", async () => {
  await using scene = await open({ answeredBy: "ada@example.com" });
  await suspend(scene.toolport, "tour");
  const [first] = await scene.ask<WaitingView[]>("waiting");
  const { next } = (await scene.ask<ActionValue<"resume">>("resume", {
    id: first!.id,
    answers: seat("12A"),
  })) as {
    next: WaitingView;
  };
  expect(next).toMatchObject({ round: 2, questions: [{ key: "pay" }] });
  expect(next.id).not.toBe(first!.id);
  const calls = await scene.ask<CallSummary[]>("calls");
  expect(calls.map(({ outcome, person }) => [outcome, person])).toEqual([
    ["suspended", "ada@example.com"],
    ["suspended", null],
  ]);
  const view = await scene.ask<CallView>("call", { id: calls[0]!.id });
  expect(view.result).toBeNull();
  await scene.ask("discard", { id: next.id });
  expect(await scene.toolport.suspended()).toEqual([]);
  await expect(scene.ask("discard", { id: next.id })).rejects.toMatchObject({ code: "SUSPENSION_UNKNOWN" });
  expect(scene.sent.join()).not.toContain("tpc1.");
});

test("approve sends the call, refuse ends it unsent", async () => {
  await using scene = await open({ port: { approve: { when: "always" } } });
  for (const tool of ["note", "book"]) await suspend(scene.other, tool);
  // Both may have begun in the same millisecond.
  const waiting = await scene.ask<WaitingView[]>("waiting");
  const [note, book] = ["travel__note", "travel__book"].map((name) =>
    waiting.find(({ tool }) => tool === name),
  );
  expect(note).toMatchObject({ reason: "approval", questions: [] });
  await expect(scene.ask("resume", { id: note!.id, approve: "yes" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
  });
  expect(scene.seen.requests).toBe(0);
  expect(await scene.ask("resume", { id: note!.id, approve: true })).toMatchObject({
    result: { text: "noted Oslo" },
  });
  await expect(scene.ask("resume", { id: book!.id, approve: false })).rejects.toMatchObject({
    code: "REFUSED",
  });
  expect(await scene.ask("waiting")).toEqual([]);
  expect(scene.seen.requests).toBe(1);
});

test("the console of bob shows only bob's calls", async () => {
  await using scene = await open({ principal: "bob" });
  const [alice, plain, bob] = await Promise.all([
    suspend(scene.other.as("alice")),
    suspend(scene.other),
    suspend(scene.other.as("bob")),
  ]);
  const shown = await scene.ask<WaitingView[]>("waiting");
  expect(shown).toHaveLength(1);
  // Not even with the token itself.
  for (const { token } of [alice, plain])
    for (const id of [token, await idOf(token)])
      await expect(scene.ask("resume", { id, answers: seat("12A") })).rejects.toMatchObject({
        code: "SUSPENSION_UNKNOWN",
      });
  expect(shown[0]!.id).toBe(await idOf(bob.token));
  expect(await scene.ask("resume", { id: shown[0]!.id, answers: seat("12A") })).toMatchObject({
    result: { isError: false },
  });
});

async function idOf(token: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return Buffer.from(bytes).toString("hex").slice(0, 32);
}

test("pages learn of calls that another process suspends and finishes", async () => {
  await using scene = await open();
  const stop = new AbortController();
  const { origin } = new URL(scene.running.url);
  const response = await fetch(`${origin}/api/events`, {
    method: "POST",
    headers: scene.headers,
    body: "{}",
    signal: stop.signal,
  });
  const events: ConsoleEvent["type"][] = [];
  const reading = (async () => {
    for await (const text of response.body!.pipeThrough(new TextDecoderStream()))
      events.push(...text.split("\n").flatMap((line) => (line ? [JSON.parse(line).type] : [])));
  })().catch(() => {});
  const heard = () => events.filter((type) => type === "waiting").length;
  // The first poll reports what waits already.
  await waitFor(() => heard() === 1);
  const { token } = await suspend(scene.other);
  await waitFor(() => heard() === 2);
  await scene.other.discard(token);
  await waitFor(() => heard() === 3);
  stop.abort();
  await reading;
});

test("the actions need the console's token and origin", async () => {
  await using scene = await open();
  for (const action of ["waiting", "resume", "discard"]) {
    const { authorization: _token, ...headers } = scene.headers;
    const request = { method: "POST", headers, body: "{}" };
    expect((await sendRaw(scene.running.url, `/api/${action}`, request)).status).toBe(401);
    const foreign = { ...scene.headers, origin: "https://evil.example" };
    const answer = await sendRaw(scene.running.url, `/api/${action}`, { ...request, headers: foreign });
    expect(answer.status).toBe(403);
  }
  await expect(scene.ask("resume", { id: 1 })).rejects.toThrow("400");
});

test("a program is started only with the user's consent", async () => {
  await using scene = await open({ transport: "stdio" });
  await suspend(scene.other);
  const [call] = await scene.ask<WaitingView[]>("waiting");
  const decision = { id: call!.id, answers: seat("12A") };
  await expect(scene.ask("resume", decision)).rejects.toMatchObject({
    code: "CONSENT_NEEDED",
    commands: [{ server: "travel" }],
  });
  expect(scene.seen.requests).toBe(1);
  expect(await scene.ask("resume", { ...decision, consent: true })).toMatchObject({
    result: { text: "booked Oslo, seat 12A, meal none" },
  });
});
