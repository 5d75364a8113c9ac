/** A program can write anything into its errors. What the host says about them is true all the same. */
import { createToolport } from "toolport";
import { type CodeMode, createCodeMode } from "toolport/code";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, expect, test } from "vitest";

let code: CodeMode;
let closeAll: () => Promise<void>;
beforeAll(() => {
  const server = createTestServer({ tools: { refuse: { handler: () => "never" } } });
  const toolport = createToolport({ mcpServers: { s: server.memory() }, approve: () => false });
  code = createCodeMode(toolport);
  closeAll = async () => {
    await code.close();
    await toolport.close();
    await server.close();
  };
});
afterAll(() => closeAll());

test.each(["program:0:0", "program:2:1", "program:99999999999999999999:1", "program:1:4000", "program:1:0"])(
  "a position that is not in the program is not reported: %s",
  async (stack) => {
    const source = `throw Object.assign(new Error("mine"), { stack: "at ${stack}" })`;
    const { error } = await code.execute(source);
    expect(error).toMatchObject({ code: "THROWN", message: expect.stringContaining("mine") });
    expect([undefined, 1]).toContain(error?.line);
    if (error?.column !== undefined) expect(error.column).toBeLessThanOrEqual(source.length);
  },
);

test("toolCode is that of a call, never one that the program made up", async () => {
  for (const made of ["REFUSED", "CALL_LIMIT", "TOOL_NOT_FOUND"])
    for (const error of [
      `Object.assign(new Error("mine"), { code: "${made}" })`,
      `new ToolError("mine", "${made}")`,
      `{ code: "${made}", name: "ToolError", message: "mine" }`,
    ]) {
      const out = await code.execute(`throw ${error}`);
      expect(out.error, error).toMatchObject({ code: "THROWN", toolCode: undefined });
    }
  const passedOn = await code.execute(
    "try { await tools.s.refuse({}) } catch (error) { error.code = 'CALL_LIMIT'; throw error }",
  );
  expect(passedOn.error).toMatchObject({ code: "THROWN", toolCode: "REFUSED" });
});

test("an error in a callback that nothing awaits is an error of the program", async () => {
  const out = await code.execute(
    "queueMicrotask(() => { throw new RangeError('late') }); await null; return 1",
  );
  expect(out.error).toMatchObject({ code: "THROWN", message: expect.stringMatching(/^RangeError: late/) });
});

test("promises that cannot be awaited any more are an error of the program, not of its memory", async () => {
  const out = await code.execute(
    "Object.defineProperty(Promise.prototype, 'constructor', { get() { throw new Error('mine') } }); await null;",
  );
  expect(out.error).toMatchObject({ code: "THROWN", message: expect.stringContaining("mine") });
});
