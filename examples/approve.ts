/**
 * Asks for approval before a tool changes anything; tools that are known to be read-only run without it.
 *
 * Run it on Node 24 or later: npm run build && node examples/approve.ts
 */
import { fileURLToPath } from "node:url";
import { createToolport, ToolportError } from "toolport";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const files = new Map([["notes.txt", "buy milk"]]);
  await using disk = createTestServer({
    tools: {
      read: {
        annotations: { readOnlyHint: true },
        handler: ({ path }) => files.get(String(path)) ?? "no such file",
      },
      remove: { handler: ({ path }) => `removed: ${files.delete(String(path))}` },
    },
  });

  await using toolport = createToolport({
    // Hints are claims. They count only if you trust the server.
    mcpServers: { disk: { ...disk.memory(), trustAnnotations: true } },
    approve: async ({ server, tool, args, context }) => {
      const isAllowed = context === "an administrator"; // in your program: a dialog, a policy, a second person
      print(`${server.name}/${tool.sourceName} ${JSON.stringify(args)}: ${isAllowed ? "yes" : "no"}`);
      return isAllowed;
    },
  });

  const path = "notes.txt";
  print((await toolport.callTool("disk__read", { path })).text); // read-only: approve is not called

  try {
    await toolport.callTool("disk__remove", { path }, { context: "a guest" });
  } catch (error) {
    if (!ToolportError.isInstance(error)) throw error;
    print(`${error.code}, ${files.size} file left`);
  }

  print((await toolport.callTool("disk__remove", { path }, { context: "an administrator" })).text);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
