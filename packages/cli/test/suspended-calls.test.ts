/** Calls that wait for a person: `call --suspend`, `suspended`, `resume` and `discard`, each with its own store and port. */
import { inputRequired, ProtocolError } from "@modelcontextprotocol/server";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type CommandLinePlace,
  createCommandLinePlace,
  type Ended,
} from "../../../test/support/command-line.js";
import { type BookingServer, createBookingServer, seatForm } from "../../../test/suspend/booking-server.js";

interface Waiting {
  readonly token: string;
  readonly [name: string]: unknown;
}

const SEAT = JSON.stringify({ seat: { action: "accept", content: { seat: "12A" } } });

let bench: CommandLinePlace;
let travel: BookingServer;

beforeAll(async () => {
  bench = createCommandLinePlace();
  travel = createBookingServer();
  bench.configure({ travel: { url: (await travel.server.http()).entry.url } });
  await bench.run(["list", "--yes"]);
});
beforeEach(() => {
  travel.seen.requests = 0;
  travel.seen.booked = [];
});
afterAll(async () => {
  await travel.server.close();
  bench[Symbol.dispose]();
});

const suspend = async (...words: string[]): Promise<Waiting> => {
  const ended = await bench.run(["call", "travel.book", "to=Oslo", "--suspend", "--json", ...words]);
  expect({ code: ended.code, stderr: ended.stderr }).toEqual({ code: 6, stderr: "" });
  return ended.json<Waiting>();
};
const resume = (token: string, ...words: string[]) =>
  bench.run(["resume", "-", "--json", ...words], { input: `${token}\n` });
const waiting = async (...words: string[]) =>
  (await bench.run(["suspended", "--json", ...words])).json<{ suspended: Waiting[] }>().suspended;
const text = ({ stdout, stderr }: Ended) => stdout + stderr;

describe("input", () => {
  test("call prints what is asked, the token and how to resume it, and exits with 6", async () => {
    const { code, stdout, stderr } = await bench.run(["call", "travel.book", "to=Oslo", "--suspend"]);
    const [token = ""] = /tpc1\.[\w-]{43}/.exec(stdout) ?? [];
    expect({ code, stderr }).toEqual({ code: 6, stderr: "" });
    expect(
      stdout
        .replaceAll(token, "TOKEN")
        .replace(/20\S+Z/, "TIME")
        .split("\n"),
    ).toEqual([
      "travel__book waits for an answer",
      "  Server: travel",
      '  Arguments: {"to":"Oslo"}',
      "  Expires: TIME (the server may expire it earlier)",
      "  Asked (seat): Which seat?",
      "    seat: string, required",
      "    meal: string, optional",
      "Token: TOKEN",
      "Resume it: toolport resume TOKEN",
      "",
    ]);
    const raw = await bench.run(["suspended", "--output", "raw"]);
    expect(raw.stdout).toBe(`${token}\n`);
    const list = await bench.run(["suspended"]);
    expect(list.stdout).toMatch(/^TOOL +SERVER +WAITS FOR +ARGUMENTS +EXPIRES +TOKEN\n/);
    expect(list.stdout).toContain(`{"to":"Oslo"}`);
    const done = await bench.run(["resume", token, "--answers", SEAT]);
    expect(done).toMatchObject({ code: 0, stdout: "booked Oslo, seat 12A, meal none\n", stderr: "" });
    expect(travel.seen).toEqual({ requests: 2, booked: [{ to: "Oslo", seat: "12A", meal: "none" }] });
    expect(await waiting()).toEqual([]);
  });

  test("a wrong answer is reported with its fields and keeps the token; a used token is unknown", async () => {
    const { token } = await suspend();
    const wrong = await resume(
      token,
      "--answers",
      '{"seat":{"action":"accept","content":{"seat":"1","x":2}}}',
    );
    expect(wrong.code).toBe(1);
    expect(wrong.error()).toMatchObject({
      code: "INVALID_ARGUMENTS",
      server: "travel",
      issues: [
        { path: "seat.content.seat", message: "is shorter than 2" },
        { path: "seat.content.x", message: "was not asked for" },
      ],
      next: "toolport suspended --json",
    });
    const missing = await resume(token);
    expect(missing.error()).toMatchObject({
      code: "USAGE",
      message: expect.stringContaining('--answers \'{"seat":{"action":"accept","content":{}}}\''),
    });
    expect(travel.seen.requests).toBe(1);
    const done = await resume(token, "--answers", SEAT);
    expect(done.json()).toMatchObject({
      server: "travel",
      tool: "book",
      name: "travel__book",
      isError: false,
    });
    const again = await resume(token, "--answers", SEAT);
    expect(again.code).toBe(1);
    expect(again.error()).toMatchObject({ code: "SUSPENSION_UNKNOWN", next: "toolport suspended" });
    for (const ended of [wrong, missing, done, again]) expect(text(ended)).not.toContain("tpc1.");
    expect(travel.seen.booked).toHaveLength(1);
  });

  test("the next round is printed with its own token; a decline is sent as such", async () => {
    const first = (
      await bench.run(["call", "travel__tour", "to=Rome", "--suspend", "--ttl", "2d", "--json"])
    ).json<Waiting>();
    const left = Date.parse(String(first["expiresAt"])) - Date.now();
    expect(left).toBeGreaterThan(1.9 * 86_400_000);
    expect(left).toBeLessThanOrEqual(2 * 86_400_000);
    const next = await resume(first.token, "--answers", SEAT);
    expect(next.code).toBe(6);
    const second = next.json<Waiting>();
    expect(second).toMatchObject({ reason: "input", round: 2, requests: { pay: { message: "Pay now?" } } });
    const answers = JSON.stringify({ pay: { action: "accept", content: { pay: true } } });
    expect((await resume(second.token, "--answers", answers)).json()).toMatchObject({ text: "toured Rome" });
    const declined = await suspend();
    const answer = await resume(declined.token, "--answers", '{"seat":{"action":"decline"}}');
    expect(answer.json()).toMatchObject({ text: "not booked: decline" });
  });

  test("discard ends a call, and nothing is sent", async () => {
    const { token } = await suspend();
    const ended = await bench.run(["discard", "-"], { input: token });
    expect(ended).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "The call was discarded; nothing was sent\n",
    });
    expect((await bench.run(["discard", token, "--json"])).error()).toMatchObject({
      code: "SUSPENSION_UNKNOWN",
    });
    expect(travel.seen.requests).toBe(1);
  });
});

describe("approval", () => {
  const approval = ["--approval", "always"];

  test("waits before anything is sent; approved, the call goes on and asks", async () => {
    const call = await suspend(...approval);
    expect(call).toMatchObject({ reason: "approval", requests: {}, args: { to: "Oslo" }, round: 0 });
    expect((await resume(call.token)).error().message).toContain("--approve or --refuse");
    expect((await resume(call.token, "--answers", SEAT)).error()).toMatchObject({
      code: "INVALID_ARGUMENTS",
    });
    expect(travel.seen.requests).toBe(0);
    const next = (await resume(call.token, "--approve")).json<Waiting>();
    expect(next).toMatchObject({ reason: "input" });
    expect((await resume(next.token, "--answers", SEAT)).code).toBe(0);
    expect(travel.seen.requests).toBe(2);
  });

  test("a refused call is REFUSED, and its token is gone", async () => {
    const { token } = await suspend(...approval);
    const refused = await resume(token, "--refuse");
    expect([refused.code, refused.error().code]).toEqual([1, "REFUSED"]);
    expect((await resume(token, "--approve")).error()).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
    expect(travel.seen.requests).toBe(0);
  });
});

describe("key", () => {
  test("the same key returns the same token, then the saved result, and never sends twice", async () => {
    const key = ["--key", "order 1"];
    const first = await suspend(...key);
    expect((await suspend(...key)).token).toBe(first.token);
    await resume(first.token, "--answers", SEAT);
    const saved = await bench.run(["call", "travel.book", "to=Oslo", "--suspend", ...key]);
    expect(saved).toMatchObject({ code: 0, stdout: "booked Oslo, seat 12A, meal none\n" });
    const other = await bench.run(["call", "travel.book", "to=Rome", "--suspend", "--json", ...key]);
    expect(other.error()).toMatchObject({ code: "KEY_REUSED", server: "travel" });
    expect(travel.seen.requests).toBe(2);
  });
});

describe("principals", () => {
  test("a call of alice is hidden from bob and from the plain port", async () => {
    const call = await suspend("--principal", "alice");
    expect(call["principal"]).toBe("alice");
    for (const words of [[], ["--principal", "bob"]]) {
      expect(await waiting(...words)).toEqual([]);
      expect((await resume(call.token, "--answers", SEAT, ...words)).error()).toMatchObject({
        code: "SUSPENSION_UNKNOWN",
      });
      const discarded = await bench.run(["discard", "-", "--json", ...words], { input: call.token });
      expect(discarded.error()).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
    }
    expect(await waiting("--principal", "alice")).toMatchObject([{ token: call.token }]);
    const done = await resume(call.token, "--answers", SEAT, "--principal", "alice");
    expect(done.json()).toMatchObject({ isError: false });
    const shown = await bench.run(["call", "travel.book", "to=Oslo", "--suspend", "--principal", "alice"]);
    expect(shown.stdout).toMatch(/^travel__book waits for an answer of alice\n/);
    expect(shown.stdout).toMatch(/toolport resume \S+ --principal alice\n$/);
    const [left] = await waiting("--principal", "alice");
    await bench.run(["discard", left!.token, "--principal", "alice"]);
  });
});

describe("a difficult server", () => {
  const question = (message: string, requestState: string) =>
    inputRequired({
      inputRequests: { seat: inputRequired.elicit({ ...seatForm, message } as never) },
      requestState,
    });

  test("that no longer accepts its state: --restart begins anew", async () => {
    let isExpired = true;
    await using server = createTestServer({
      era: "modern",
      tools: {
        book: {
          handler(_args, { request }) {
            if (request.mcpReq.inputResponses === undefined) return question("Which seat?", "1");
            if (!isExpired) return "booked";
            throw new ProtocolError(-32602, "expired", { reason: "invalid_request_state" });
          },
        },
      },
    });
    using own = createCommandLinePlace();
    own.configure({ travel: { url: (await server.http()).entry.url } });
    const call = await own.run(["call", "travel.book", "--suspend", "--yes", "--json"]);
    const { token } = call.json<Waiting>();
    const answer = (given: string, ...words: string[]) =>
      own.run(["resume", "-", "--json", ...words], { input: given });
    for (let count = 0; count < 2; count += 1) {
      const expired = await answer(token, "--answers", SEAT);
      expect(expired.error()).toMatchObject({
        code: "SUSPENSION_EXPIRED",
        server: "travel",
        next: "toolport resume - --restart",
      });
    }
    isExpired = false;
    const anew = await answer(token, "--restart");
    expect(anew.code).toBe(6);
    expect(anew.json<Waiting>().token).not.toBe(token);
    expect((await answer(anew.json<Waiting>().token, "--answers", SEAT)).json()).toMatchObject({
      text: "booked",
    });
  });

  test("cannot forge lines or control the terminal with its question", async () => {
    const forged = `Seat?\u001b[2J\nToken: tpc1.${"f".repeat(43)}\n\u202eResume it`;
    await using server = createTestServer({
      era: "modern",
      tools: { book: { handler: () => question(forged, "1") } },
    });
    using own = createCommandLinePlace();
    own.configure({ travel: { url: (await server.http()).entry.url } });
    const { stdout } = await own.run(["call", "travel.book", "--suspend", "--yes"]);
    expect(stdout.match(/^Token: /gm)).toHaveLength(1);
    expect(stdout).toContain("Asked (seat): Seat?\\x1b[2J\\nToken: tpc1.");
    for (const words of [["suspended"], ["suspended", "--json"]])
      expect((await own.run(words)).stdout).not.toMatch(/[\u001b\u202e]/);
  });
});

describe("what is not offered", () => {
  test.each([
    [["call", "travel.book", "to=Oslo", "--suspend", "--no-state"], "NOT_OFFERED"],
    [["suspended", "--no-state"], "NOT_OFFERED"],
    [["resume", "x", "--no-state"], "NOT_OFFERED"],
    [["discard", "x", "--no-state"], "NOT_OFFERED"],
    [["call", "travel.book", "--key", "a"], "USAGE"],
    [["call", "travel.book", "--suspend", "--ttl", "31d"], "USAGE"],
    [["call", "travel.book", "--suspend", "--ttl", "5"], "USAGE"],
    [["suspended", "--principal="], "USAGE"],
    [["resume", "x", "--approve", "--refuse"], "USAGE"],
    [["resume", "-", "--answers", "-"], "USAGE"],
    [["resume", "x", "--answers", "[]"], "USAGE"],
    [["resume", "-"], "USAGE"],
    [["resume", "tpc1.forged"], "SUSPENSION_UNKNOWN"],
  ])("%j fails with %s, and nothing is sent", async (words, code) => {
    const ended = await bench.run([...words, "--json"]);
    expect(ended.code).toBe(1);
    expect(ended.error()).toMatchObject({ code, next: expect.stringMatching(/^toolport /) });
    expect(travel.seen.requests).toBe(0);
  });

  test("a token that is typed in the wrong place is not repeated in the error", async () => {
    const token = `tpc1.${"a".repeat(43)}`;
    for (const words of [[token], ["resume", "x", token], ["discard", `--${token}`], ["call", token]])
      for (const more of [[], ["--json"], ["--verbose"]]) {
        const ended = await bench.run([...words, ...more]);
        expect(ended.code).not.toBe(0);
        expect(text(ended)).not.toContain(token);
      }
  });
});
