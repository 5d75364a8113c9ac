/** Calls that wait, with the real program: answered at a terminal, and by another process after the first one ended. */
import { inputRequired } from "@modelcontextprotocol/server";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CliSandbox, useProgram } from "../../../test/support/cli-sandbox.js";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { hasTerminal, openTerminal, type Terminal } from "../../../test/support/terminal.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { type BookingServer, createBookingServer, seatForm } from "../../../test/suspend/booking-server.js";

const createSandbox = useProgram();
const SEAT = JSON.stringify({ seat: { action: "accept", content: { seat: "12A" } } });

describe("the program", () => {
  let sandbox: CliSandbox;
  let travel: BookingServer;
  beforeAll(async () => {
    sandbox = createSandbox();
    travel = createBookingServer();
    const { url } = (await travel.server.http()).entry;
    await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { travel: { url } } });
  });
  afterAll(async () => {
    await travel.server.close();
    sandbox[Symbol.dispose]();
  });

  const suspend = async (...words: string[]): Promise<string> => {
    const ended = await sandbox.run("call", ...words, "--suspend", "--json");
    expect([ended.code, ended.stderr]).toEqual([6, ""]);
    return ended.json<{ token: string }>().token;
  };
  const open = (...words: string[]): Terminal =>
    openTerminal([process.execPath, sandbox.main, ...words], { cwd: sandbox.project, env: sandbox.env });
  /** Types an answer after each question. */
  const talk = async (
    terminal: Terminal,
    turns: readonly (readonly [question: string, answer: string])[],
  ) => {
    for (const [question, answer] of turns) {
      await terminal.waitForText(question);
      terminal.type(`${answer}\r`);
    }
  };

  test("one process suspends, two race to resume: one result, one SUSPENSION_UNKNOWN, one booking", async () => {
    const token = await suspend("travel.book", "to=Oslo");
    const ended = await Promise.all(
      [1, 2].map(() => sandbox.runWith({ input: token }, "resume", "-", "--answers", SEAT, "--json")),
    );
    expect(ended.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(ended.find(({ code }) => code === 1)!.error()).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
    expect(travel.seen.booked).toHaveLength(1);
    for (const { stdout, stderr } of ended) expect(stdout + stderr).not.toContain("tpc1.");
  });

  test.skipIf(!hasTerminal)("call --suspend asks nothing, also at a terminal", async () => {
    const terminal = open("call", "travel.book", "to=Rome", "--suspend");
    expect(await terminal.ended).toBe(6);
    expect(terminal.shown).toContain("Resume it: toolport resume tpc1.");
    expect(terminal.shown).not.toContain("[y");
  });

  test.skipIf(!hasTerminal)("asks the forms of all rounds at the terminal", async () => {
    const token = await suspend("travel.tour", "to=Rome");
    const terminal = open("resume", "-");
    await talk(terminal, [
      ["Token: ", token],
      ["Answer? [y = fill in, n = decline, c = cancel, Enter = later] ", "y"],
      ["seat (string, required): ", "1"],
      ["seat is shorter than 2", "14C"],
      ["meal (string, default none, optional): ", ""],
      ["Pay now?", "y"],
      ["pay (boolean, y or n, required): ", "y"],
    ]);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown).toContain("travel__tour waits for an answer");
    expect(terminal.shown).toContain('Arguments: {"to":"Rome"}');
    expect(terminal.shown).toContain("toured Rome");
    // The token is typed without echo.
    expect(terminal.shown).not.toContain(token);
  });

  test.skipIf(!hasTerminal)("decides later, then approves and declines; the principal is shown", async () => {
    const words = ["--principal", "alice", "--approval", "always"];
    const token = await suspend("travel.book", "to=Oslo", ...words);
    const before = travel.seen.requests;
    const later = open("resume", token, "--principal", "alice");
    await talk(later, [["Approve? [y = yes, n = no, Enter = later] ", ""]]);
    expect(await later.ended).toBe(6);
    expect(later.shown).toContain("travel__book waits for an approval of alice");
    expect(later.shown).toContain("Nothing was sent; the call still waits");
    expect(travel.seen.requests).toBe(before);
    const approved = open("resume", token, "--principal", "alice");
    await talk(approved, [
      ["Approve?", "y"],
      ["Answer?", "n"],
    ]);
    expect(await approved.ended).toBe(0);
    expect(approved.shown).toContain("not booked: decline");
    expect(travel.seen.requests).toBe(before + 2);
  });

  test("waits for a login of its principal, before and after which the same token is used", async () => {
    using own = createSandbox();
    await using bench = await startOAuthBench();
    await own.write("home/.config/toolport/toolport.json", { mcpServers: { vault: { url: bench.url } } });
    const alice = ["--principal", "alice"];
    const words = ["call", "vault.whoami", "--suspend", "--json", ...alice];
    const call = await own.run(...words);
    expect(call.code).toBe(6);
    const waiting = call.json<{ token: string; reason: string }>();
    expect(waiting).toMatchObject({ reason: "login", server: "vault", tool: "vault__whoami" });
    const resume = (...more: string[]) =>
      own.runWith({ input: waiting.token }, "resume", "-", "--json", ...more);
    const early = await resume(...alice);
    expect([early.code, early.json()["token"]]).toEqual([6, waiting.token]);
    const text = await own.runWith({ input: waiting.token }, "resume", "-", ...alice);
    expect(text.stdout).toContain("Log in with: toolport auth vault --principal alice\n");

    let lines = "";
    const login = own.runWith(
      { onStart: (child) => child.stdout?.on("data", (chunk) => (lines += String(chunk))) },
      ...["auth", "vault", "--no-browser", "--json", "--timeout", "30000", ...alice],
    );
    await waitFor(() => lines.includes("\n"), { timeoutMs: 20_000, label: "the login page" });
    await (await fetch(await logIn(JSON.parse(lines.split("\n")[0]!).url))).text();
    expect((await login).code).toBe(0);
    // The login belongs to alice alone.
    expect((await own.run("tools", "vault", "--json")).code).toBe(3);
    const done = await resume(...alice);
    expect([done.code, done.stderr]).toEqual([0, ""]);
    expect(done.json()).toMatchObject({ server: "vault", tool: "whoami", isError: false });
    expect((await resume(...alice)).error()).toMatchObject({ code: "SUSPENSION_UNKNOWN" });
  });

  test("killed while the server works: the outcome is unknown until --again", async () => {
    using own = createSandbox();
    let onArrival: (() => void) | undefined;
    let booked = 0;
    await using server = createTestServer({
      era: "modern",
      tools: {
        book: {
          async handler(_args, { request, signal }) {
            if (request.mcpReq.inputResponses === undefined)
              return inputRequired({
                inputRequests: { seat: inputRequired.elicit(seatForm as never) },
                requestState: "1",
              });
            booked += 1;
            if (onArrival === undefined) return "booked";
            const gone = new Promise((resolve) => signal.addEventListener("abort", resolve));
            onArrival();
            await gone;
            return "too late";
          },
        },
      },
    });
    const { url } = (await server.http()).entry;
    await own.write("home/.config/toolport/toolport.json", { mcpServers: { slow: { url } } });
    const { token } = (await own.run("call", "slow.book", "--suspend", "--json")).json<{ token: string }>();
    const words = ["resume", "-", "--json", "--answers", SEAT];
    const killed = await own.runWith(
      {
        input: token,
        onStart: (child) => {
          onArrival = () => child.kill("SIGKILL");
        },
      },
      ...words,
    );
    expect([killed.code, killed.stdout, booked]).toEqual([null, "", 1]);
    onArrival = undefined;
    const unknown = await own.runWith({ input: token }, ...words);
    expect(unknown.error()).toMatchObject({ code: "OUTCOME_UNKNOWN", server: "slow" });
    expect(unknown.error().message).toContain("resume --again");
    expect(booked).toBe(1);
    const again = await own.runWith({ input: token }, ...words, "--again");
    expect(again.json()).toMatchObject({ server: "slow", tool: "book", text: "booked" });
    expect(booked).toBe(2);
  });
});
