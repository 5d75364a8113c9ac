/**
 * One port, many users: each has separate connections, credentials and caches.
 *
 * Run it on Node 24 or later: npm run build && node examples/per-user.ts
 */
import { fileURLToPath } from "node:url";
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";

/** In your program these come from your users' logins. */
const TOKENS: Readonly<Record<string, string>> = { ada: "token-of-ada", grace: "token-of-grace" };

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const names = new Map(Object.entries(TOKENS).map(([user, token]) => [`Bearer ${token}`, user]));
  await using inbox = createTestServer({
    tools: {
      whose: {
        handler: (_args, { request }) =>
          names.get(request.http?.req?.headers.get("authorization") ?? "") ?? "unknown",
      },
    },
  });
  const { url } = await inbox.http();
  await using toolport = createToolport({ mcpServers: { inbox: { url } } });

  // The same name returns the same port.
  const portOf = (user: string) =>
    toolport.as(user, { headers: async () => ({ Authorization: `Bearer ${TOKENS[user]}` }) });

  const calls = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? "ada" : "grace"));
  const answers = await Promise.all(
    calls.map(async (user) => (await portOf(user).callTool("inbox__whose")).text === user),
  );
  print(`${answers.filter(Boolean).length} of ${calls.length} calls reached the inbox of their user`);
  print(`without a user it is ${(await toolport.callTool("inbox__whose")).text}`);

  const { principal, servers } = portOf("ada").snapshot();
  print(`${principal}: ${servers["inbox"]?.state}`);

  await portOf("ada").close(); // closes the port of one user; the others stay open
  print(`grace: ${(await portOf("grace").callTool("inbox__whose")).text}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
