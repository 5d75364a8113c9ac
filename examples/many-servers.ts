/**
 * Many servers in one port: each over another transport, one of them broken.
 *
 * Run it on Node 24 or later: npm run build && node examples/many-servers.ts
 */
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";

export async function main(print: (line: string) => void = console.log): Promise<void> {
  // In your program these are external servers; here they run on this machine.
  await using clock = createTestServer({ era: "legacy", tools: { year: { handler: () => "2026" } } });
  await using words = createTestServer({
    tools: { shout: { handler: ({ text }) => String(text).toUpperCase() } },
  });

  await using toolport = createToolport({
    mcpServers: {
      clock: { url: (await clock.http()).url },
      old: (await clock.sse()).entry,
      words: (await words.webSocket()).entry,
      child: (await words.stdio()).entry,
      broken: { command: "no-such-mcp-server" },
    },
  });

  const { servers } = await toolport.connect();
  for (const [name, { state, toolCount, error }] of Object.entries(servers)) {
    print(`${name}: ${state}, ${toolCount} tools${error === undefined ? "" : `, ${error.message}`}`);
  }

  for (const { name, server } of await toolport.tools()) print(`${name} (of ${server})`);

  const year = await toolport.callTool("clock__year");
  const loud = await toolport.callTool("child__shout", { text: `hello from ${year.text}` });
  print(`${loud.text}, says ${loud.server}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
