/** The official SDK, second generation: one client for one server. */
import { createAuthProvider } from "../auth-provider.mjs";

export { load } from "../../../bench/contenders/sdk-v2.mjs";

export const peer = "sdk-v2";
export const isSingle = true;
export const configuration = "its defaults; `timeout` of `connect()` where a start hangs";
export const defaultConnectLimit = "60 s";

export async function open(lib, [{ url, command, args }], { stderr, connectTimeoutMs, authProvider } = {}) {
  const client = new lib.Client({ name: "compare", version: "1.0.0" });
  const transport =
    url === undefined
      ? new lib.StdioClientTransport({ command, args, ...(stderr && { stderr }) })
      : new lib.StreamableHTTPClientTransport(new URL(url), { ...(authProvider && { authProvider }) });
  await client.connect(transport, connectTimeoutMs && { timeout: connectTimeoutMs });
  const { tools } = await client.listTools();
  return {
    tools: tools.map(({ name }) => ({ server: "it", tool: name, name })),
    call: async (_server, name, given, options) =>
      (await client.callTool({ name, arguments: given }, options)).content[0]?.text,
    close: () => client.close(),
  };
}

export const openProtected = (lib, url, loginState) =>
  open(lib, [{ name: "it", url }], { authProvider: createAuthProvider(loginState) });
