/** Programs of code mode in the console: those that the page runs, and those of the host. */
import { type CodeExecutor, createCodeMode } from "toolport/code";
import { describe, expect, it } from "vitest";
import { useServer } from "../../../test/support/use-server.js";
import { waitFor } from "../../../test/support/wait-for.js";
import type { ProgramSummary, ProgramView } from "../src/console-api.js";
import { CANARY, JWT, startHttpBench } from "./http-bench.js";

const bench = useServer(startHttpBench);

let runs = 0;
const run = (source: string, more: object = {}) =>
  bench.ask("runProgram", { source, run: `run-${++runs}`, ...more });
const list = () => bench.ask<ProgramSummary[]>("programs");
const newest = async (): Promise<ProgramView> => {
  const [first] = await list();
  return bench.ask("program", { id: first?.id });
};

describe("programs in the console", () => {
  it("do not run without the token, from another origin, or without consent to start servers", async () => {
    const body = { source: "return 1", run: "x" };
    expect((await bench.post("runProgram", body, { authorization: "Bearer wrong" })).status).toBe(401);
    expect((await bench.post("runProgram", body, { origin: "http://evil.example" })).status).toBe(403);
    for (const [action, more] of [
      ["runProgram", body],
      ["describeTools", { query: "echo" }],
    ] as const)
      await expect(bench.ask(action, more)).rejects.toMatchObject({
        code: "CONSENT_NEEDED",
        commands: [{ server: "program" }],
      });
    expect(bench.toolport.snapshot().servers["program"]?.state).toBe("idle");
    expect(await list()).toEqual([]);
  });

  it("report source, value, calls and lines", async () => {
    const source = `const { city } = JSON.parse(await tools.things.echo({ city: "Oslo" }));\nconsole.log("got", city);\nreturn { city };`;
    await run(source, { consent: true });
    expect(await newest()).toMatchObject({
      source,
      state: "ok",
      run: "run-1",
      error: null,
      logs: ["got Oslo"],
      callCount: 1,
      value: JSON.stringify({ city: "Oslo" }, null, 2),
      calls: [{ tool: "things__echo", state: "ok", durationMs: expect.any(Number) }],
    });
    expect(bench.server.calls.at(-1)?.args).toEqual({ city: "Oslo" });
  });

  it("report an error with its line, and the failed call", async () => {
    await run(`const a = 1;\nawait tools.things.leak();`);
    const { state, line, error, calls, value } = await newest();
    expect({ state, line, value }).toEqual({ state: "error", line: 2, value: null });
    expect(error).toContain("line 2");
    expect(calls).toMatchObject([{ tool: "things__leak", state: "error", code: "TOOL_ERROR" }]);
  });

  it("redact secrets in source, value, lines and errors", async () => {
    await run(`console.log("Bearer ${CANARY}");\nreturn { password: "hunter2", text: "${JWT}" };`);
    await run(`throw new Error("Bearer ${CANARY}");`);
    await run("await tools.things.leak();");
    const views = await Promise.all((await list()).map(({ id }) => bench.ask("program", { id })));
    const text = JSON.stringify([views, await list()]);
    for (const secret of [CANARY, JWT]) expect(text).not.toContain(secret);
    expect(text).toContain("[redacted]");
  });

  it("show calls and lines while they run, and are cancelled", async () => {
    const ended = run(`console.log("before");\nawait tools.things.slow();`);
    await waitFor(async () => (await newest()).calls.length === 1);
    expect(await newest()).toMatchObject({
      state: "running",
      durationMs: null,
      logs: ["before"],
      calls: [{ tool: "things__slow", state: "running" }],
    });
    expect(await bench.ask("cancel", { run: `run-${runs}` })).toBe(true);
    await expect(ended).rejects.toThrow("cancelled");
    expect(await newest()).toMatchObject({ state: "cancelled" });
  });

  it("include those of the host on the same port", async () => {
    await using code = createCodeMode(bench.toolport);
    await code.execute(`await tools.things.echo();\nreturn "host";`);
    expect(await newest()).toMatchObject({ run: null, state: "ok", value: '"host"', callCount: 1 });
  });

  it("describe tools by their declarations", async () => {
    expect(await bench.ask("describeTools", { query: "echo" })).toContain("echo(");
  });

  it("are limited in number and size", async () => {
    const long = `//${"x".repeat(64 * 1024)}`;
    expect((await bench.post("runProgram", { source: long, run: "x" })).status).toBe(413);
    expect((await bench.post("runProgram", { source: 1, run: "x" })).status).toBe(400);
    await using code = createCodeMode(bench.toolport, { limits: { outputBytes: 1_000_000 } });
    await code.execute(
      `for (let n = 0; n < 100; n++) console.log("y".repeat(2000));\nreturn "z".repeat(200000);${long}`,
    );
    const view = await newest();
    expect(view.value?.length).toBeLessThan(70_000);
    expect(view.logs.join("").length).toBeLessThan(70_000);
    expect(view.logs.at(-1)).toContain("more lines");
    expect(view.source.length).toBeLessThan(70_000);
    const stop = async () => {};
    const executor: CodeExecutor = {
      start: () => ({ ended: Promise.resolve({ value: undefined, cpuMs: 0 }), answer: () => {}, stop }),
    };
    await using quick = createCodeMode(bench.toolport, { executor });
    for (let n = 0; n < 50; n++) await quick.execute("");
    const left = await list();
    expect(left).toHaveLength(50);
    expect(left.every(({ id }) => id > view.id)).toBe(true);
    expect(await bench.ask("program", { id: view.id })).toBeNull();
  });
});
