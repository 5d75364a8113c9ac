/** `createCodeMode(…).execute()`: programs in worker threads that call the tools of real servers. */
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { type CodeModeOptions, type CodeOutcome, createCodeMode } from "toolport/code";
import { createTestServer, type TestTool } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../../../test/support/failure.js";

const number = { type: "number" };
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const tools: Record<string, TestTool> = {
  add: {
    inputSchema: { type: "object", properties: { a: number, b: number }, required: ["a"] },
    handler: ({ a, b }) => String(Number(a) + Number(b ?? 0)),
  },
  "list-items": { handler: () => ({ structuredContent: { items: [1, 2, 3] }, content: [] }) },
  typed: { outputSchema: { type: "object" }, handler: () => ({ structuredContent: { n: 1 }, content: [] }) },
  json_text: { handler: () => '{"n":1}' },
  fail: { handler: () => ({ isError: true, content: [{ type: "text", text: "out of paper" }] }) },
  picture: {
    handler: () => ({
      content: [
        { type: "text", text: "here" },
        { type: "image", data: PNG, mimeType: "image/png" },
      ],
    }),
  },
};

interface Scene {
  readonly toolport: Toolport;
  run(
    source: string,
    options?: Parameters<ReturnType<typeof createCodeMode>["execute"]>[1],
  ): Promise<CodeOutcome>;
}

async function scene(
  use: (scene: Scene) => Promise<void>,
  {
    code: codeOptions,
    more,
    ...options
  }: Partial<ToolportOptions> & {
    code?: CodeModeOptions;
    more?: Record<string, TestTool>;
  } = {},
): Promise<void> {
  await using server = createTestServer({ tools: { ...tools, ...more } });
  await using toolport = createToolport({ mcpServers: { calc: server.memory() }, ...options });
  await using code = createCodeMode(toolport, codeOptions);
  await use({ toolport, run: (source, given) => code.execute(source, given) });
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const hanging = (): { tool: TestTool; started: Promise<void>; cancelled: Promise<void> } => {
  const [start, cancel] = [deferred(), deferred()];
  const handler: TestTool["handler"] = (_args, { signal }) => {
    signal.addEventListener("abort", () => cancel.resolve());
    start.resolve();
    return new Promise(() => {});
  };
  return { tool: { handler }, started: start.promise, cancelled: cancel.promise };
};

test("values: structured content, text, JSON only if the tool has an output schema, notes for images", () =>
  scene(async ({ run }) => {
    const out = await run(`
      const all = await Promise.all([1, 2, 3].map((a) => tools.calc.add({ a, b: 1 })));
      return [all, await tools.calc.listItems(), await tools.calc.typed(), await tools.calc.jsonText(), await tools.calc.picture()];`);
    expect(out.error).toBeUndefined();
    expect(out.value).toEqual([
      ["2", "3", "4"],
      { items: [1, 2, 3] },
      { n: 1 },
      '{"n":1}',
      expect.stringMatching(/^here\n\[image, image\/png, \d+ bytes\] \(artifact \w+\)$/),
    ]);
    expect(out.calls.map(({ tool, ok, outcome }) => [tool, ok, outcome])).toEqual([
      ["calc__add", true, undefined],
      ["calc__add", true, undefined],
      ["calc__add", true, undefined],
      ["calc__list-items", true, undefined],
      ["calc__typed", true, undefined],
      ["calc__json_text", true, undefined],
      ["calc__picture", true, undefined],
    ]);
  }));

test("a tool that reports failure throws a ToolError; what had run is listed", () =>
  scene(async ({ run }) => {
    const caught = await run(
      "try { await tools.calc.fail() } catch (e) { return [e instanceof ToolError, e.code, e.message] }",
    );
    expect(caught.value).toEqual([true, "TOOL_ERROR", "out of paper"]);
    const { error } = await run("await tools.calc.add({ a: 1 });\n  await tools.calc.fail();");
    expect(error).toMatchObject({ code: "THROWN", toolCode: "TOOL_ERROR", line: 2, column: 20 });
    expect(error?.message).toBe(
      "ToolError, line 2, column 20: out of paper.\n    await tools.calc.fail();\n                     ^\n" +
        "Calls before that: calc__add succeeded, calc__fail failed (TOOL_ERROR).",
    );
  }));

test("unknown names: the model reads which there are", () =>
  scene(async ({ run }) => {
    const { error } = await run("return 1 + (await tools.calc.lisItems())");
    expect(error?.message).toContain(
      "Did you mean tools.calc.listItems? tools.calc has: add, fail, jsonText,",
    );
    expect((await run("tools.clac.add()")).error?.message).toContain(
      "Did you mean tools.calc? tools has: calc.",
    );
  }));

test("arguments are checked by the schema of the tool, and must be one object", () =>
  scene(async ({ run }) => {
    expect((await run("await tools.calc.add({ b: 1 })")).error).toMatchObject({
      toolCode: "INVALID_ARGUMENTS",
    });
    const { error, calls } = await run("await tools.calc.add([1])");
    expect(error).toMatchObject({ toolCode: "INVALID_ARGUMENTS" });
    expect(calls).toMatchObject([{ tool: "calc__add", ok: false, outcome: "unsent" }]);
    expect((await run("await tools.calc.add(5n)")).error?.message).toContain("BigInt");
  }));

test("calls pass through approval with the context of the caller; refused calls were not sent", () => {
  const seen: unknown[] = [];
  return scene(
    async ({ run }) => {
      const out = await run("try { await tools.calc.add({ a: 1 }) } catch (e) { return e.code }", {
        context: { user: 7 },
      });
      expect(out.value).toBe("REFUSED");
      expect(out.calls).toMatchObject([{ ok: false, outcome: "unsent", code: "REFUSED" }]);
      expect(seen).toEqual([{ user: 7 }]);
    },
    {
      approve: (call) => {
        seen.push(call.context);
        return false;
      },
    },
  );
});

test("one progress report for each call and each line, in order", () =>
  scene(async ({ run }) => {
    const reports: unknown[] = [];
    await run(
      "await tools.calc.add({ a: 1 }); console.log('half'); await tools.calc.fail().catch(() => {})",
      {
        onProgress: (report) => reports.push(report),
      },
    );
    expect(reports).toEqual([
      { progress: 1, message: "calc__add" },
      { progress: 2, message: "half" },
      { progress: 3, message: "calc__fail: TOOL_ERROR" },
    ]);
  }));

describe("limits", () => {
  test("calls: the next one throws, and ends the program with CALL_LIMIT", () =>
    scene(async ({ run }) => {
      const { error, calls } = await run("for (;;) await tools.calc.add({ a: 1 })", { limits: { calls: 3 } });
      expect(error).toMatchObject({ code: "CALL_LIMIT", toolCode: "CALL_LIMIT", line: 1 });
      expect(calls).toHaveLength(3);
    }));

  test("parallel: no more calls at a time", () => {
    let [now, most] = [0, 0];
    const busy: TestTool = {
      async handler() {
        most = Math.max(most, ++now);
        await new Promise(setImmediate);
        now -= 1;
        return "done";
      },
    };
    return scene(
      async ({ run }) => {
        const out = await run(
          "return (await Promise.all(Array.from({ length: 20 }, () => tools.calc.busy()))).length",
        );
        expect(out.value).toBe(20);
        expect(most).toBe(3);
      },
      { more: { busy }, code: { limits: { parallel: 3 } } },
    );
  });

  test("time: the call is cancelled at its server, and its outcome is unknown", () => {
    const hang = hanging();
    return scene(
      async ({ run }) => {
        const out = await run("console.log('before'); await tools.calc.hang()", {
          limits: { timeMs: 2_000 },
        });
        expect(out.error).toMatchObject({ code: "TIME_LIMIT" });
        expect(out.error?.message).toContain("calc__hang may have run");
        expect(out.calls).toMatchObject([
          { tool: "calc__hang", ok: false, outcome: "unknown", code: "UNFINISHED" },
        ]);
        expect(out.logs[0]).toBe("before");
        await hang.cancelled;
      },
      { more: { hang: hang.tool } },
    );
  });

  test("wrong limits are refused, with a suggestion", () => {
    const toolport = {} as Toolport;
    expect(() => createCodeMode(toolport, { limits: { cpuMs: 0 } })).toThrow(
      "limits.cpuMs: must be a number",
    );
    const limits = { timeoutMs: 1 } as CodeModeOptions["limits"];
    expect(() => createCodeMode(toolport, { limits })).toThrow("limits.timeoutMs: there is no such limit");
  });
});

test("calls that the program does not await are cancelled and named", () => {
  const hang = hanging();
  return scene(
    async ({ run }) => {
      const out = await run("tools.calc.hang(); await tools.calc.add({ a: 1 }); return 1");
      expect(out.value).toBe(1);
      expect(out.logs).toEqual(["[1 call was not finished and cancelled: calc__hang]"]);
      expect(out.calls).toMatchObject([{ code: "UNFINISHED", outcome: "unknown" }, { ok: true }]);
      await hang.cancelled;
    },
    { more: { hang: hang.tool } },
  );
});

test("an abort of the caller ends the program and its calls", () => {
  const hang = hanging();
  return scene(
    async ({ run }) => {
      const abort = new AbortController();
      const running = failure(run("await tools.calc.hang()", { signal: abort.signal }));
      await hang.started;
      abort.abort(new Error("enough"));
      expect((await running).message).toBe("enough");
      await hang.cancelled;
    },
    { more: { hang: hang.tool } },
  );
});

test("close() ends running programs; later ones are refused", async () => {
  const hang = hanging();
  await using server = createTestServer({ tools: { hang: hang.tool } });
  await using toolport = createToolport({ mcpServers: { s: server.memory() } });
  const code = createCodeMode(toolport);
  const running = failure(code.execute("await tools.s.hang()"));
  await hang.started;
  await code.close();
  expect(await running).toMatchObject({ code: "CLOSED" });
  await hang.cancelled;
  expect(await failure(code.execute("return 1"))).toMatchObject({ code: "CLOSED" });
});

test("callable is what a model may see: deferred tools too, filtered and interface-only tools not", () =>
  scene(
    async ({ run }) => {
      const { value } = await run(
        "return Object.fromEntries(Object.entries(tools).map(([k, v]) => [k, Object.keys(v)]))",
      );
      expect(value).toEqual({ calc: ["add", "jsonText", "listItems", "picture", "typed"] });
    },
    {
      deferTools: true,
      code: { except: ["fail"] },
      more: { button: { handler: () => "", _meta: { ui: { visibility: ["app"] } } } as TestTool },
    },
  ));

test("nothing remains from one program to the next", () =>
  scene(async ({ run }) => {
    await run("globalThis.left = 1; Object.prototype.left = 2; tools.left = 3");
    expect((await run("return [typeof left, ({}).left]")).value).toEqual(["undefined", null]);
  }));
