/** Interleaved calls of two users of one port, and a server that counts whose header came with whose call. */
import { createToolport, type Toolport } from "toolport";
import { startJsonRpcServer } from "../fixtures/servers/http-json-rpc.js";

/** Interleaved calls of two users; returns how many answers belonged to the other user. */
export async function interleave(toolport: Toolport, calls: number): Promise<number> {
  const users = ["ada", "grace"].map((user) => ({
    user,
    port: toolport.as(user, { headers: { "x-user": user } }),
  }));
  let crossed = 0;
  let made = 0;
  const worker = async () => {
    while (made < calls) {
      const { user, port } = users[made++ % 2]!;
      const { text } = await port.callTool("s__whoami", { user });
      if (text !== user) crossed += 1;
    }
  };
  await Promise.all(Array.from({ length: 32 }, worker));
  return crossed;
}

/** What a server over HTTP saw of that many calls; `answers`: how many answers belonged to the other user. */
export async function interleaveOverHttp(calls: number) {
  const seen = { ada: 0, grace: 0, crossed: 0 };
  await using server = await startJsonRpcServer({
    "tools/list": () => ({ tools: [{ name: "whoami", inputSchema: { type: "object" } }] }),
    "tools/call": ({ params, headers }) => {
      const { user } = params["arguments"] as { user: "ada" | "grace" };
      seen[user] += 1;
      if (headers["x-user"] !== user) seen.crossed += 1;
      return { content: [{ type: "text", text: String(headers["x-user"]) }] };
    },
  });
  await using toolport = createToolport({ mcpServers: { s: server.entry } });
  const answers = await interleave(toolport, calls);
  return { ...seen, answers };
}
