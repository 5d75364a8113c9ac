/** The steps that every runtime must pass, in plain JavaScript without imports. */

/**
 * Tests a server over HTTP: connect, list, call, read, reject, close.
 *
 * @param toolport the public entry point, loaded by the runtime
 * @param {{ era: "legacy" | "modern", url: string }} server made by scripts/smoke-runtimes.mjs
 * @returns one line for each check
 */
export async function smoke({ createToolport, memoryStore, ToolportError }, { era, url }) {
  const done = [];
  const check = (what, actual, expected) => {
    const [is, should] = [actual, expected].map((value) => JSON.stringify(value));
    if (is !== should) throw new Error(`${era}: ${what}: ${is} instead of ${should}`);
    done.push(`${era}: ${what}`);
  };
  const codeOf = (error) => (ToolportError.isInstance(error) ? error.code : String(error?.stack ?? error));
  const store = memoryStore();
  const open = () => createToolport({ mcpServers: { it: { url }, gone: { url: `${url}/nowhere` } }, store });
  const toolport = open();
  try {
    const { servers } = await toolport.connect();
    check("connected", servers.it.error?.message ?? servers.it.state, "ready");
    check("a missing server affects only itself", servers.gone.state, "failed");
    check("the era found", toolport.snapshot().servers.it.era, era);
    const tools = await toolport.tools();
    check("tools", tools.map(({ name }) => name).sort(), ["it__fail", "it__greet", "it__slow"]);
    const greeted = await toolport.callTool("it__greet", { name: "Ada" });
    check("a call", greeted.text, "Hello Ada");
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, n) => toolport.callTool("it__greet", { name: `n${n}` })),
    );
    check("calls at once", many.at(-1).text, "Hello n19");
    const refused = await toolport.callTool("it__greet", { name: "UPPER case!" }).catch(codeOf);
    check("arguments are checked", refused, "INVALID_ARGUMENTS");
    const failed = await toolport.callTool("it__fail", {});
    check("a tool that fails", [failed.isError, failed.text], [true, "No"]);
    const progress = [];
    const slow = await toolport.callTool(
      "it__slow",
      { ms: 50 },
      { onProgress: (p) => progress.push(p.progress) },
    );
    check("progress", [slow.text, progress], ["done", [1, 2]]);
    const late = await toolport.callTool("it__slow", { ms: 30_000 }, { timeoutMs: 300 }).catch(codeOf);
    check("a time limit", late, "TIMEOUT");
    const [contents] = await toolport.readResource("it", "shop://terms");
    check("a resource", contents.text, "No refunds");
    const { messages } = await toolport.getPrompt("it", "ask", { topic: "tea" });
    check("a prompt", messages[0].content.text, "About tea");
  } finally {
    await toolport.close();
  }
  const again = open();
  try {
    check(
      "a second port on the same store",
      (await again.callTool("it__greet", { name: "Bob" })).text,
      "Hello Bob",
    );
  } finally {
    await again.close();
  }
  return done;
}
