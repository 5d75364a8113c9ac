/** `@ai-sdk/mcp`, one client for one server: calls go through the `execute` of the AI SDK's tools. */
import { createAuthProvider } from "../auth-provider.mjs";

export { load } from "../../../bench/contenders/ai-sdk.mjs";

export const peer = "ai-sdk";
export const isSingle = true;
export const configuration = "`maxRetries: 2`; `initializationOptions.timeout` where a start hangs";
export const defaultConnectLimit = "none";

export async function open(lib, [{ url, command, args }], { stderr, connectTimeoutMs, authProvider } = {}) {
  const Stdio = lib.StdioMCPTransport ?? lib.Experimental_StdioMCPTransport;
  const client = await lib.createMCPClient({
    transport:
      url === undefined
        ? new Stdio({ command, args, ...(stderr && { stderr }) })
        : { type: "http", url, ...(authProvider && { authProvider }) },
    maxRetries: 2,
    onUncaughtError: () => {},
    ...(connectTimeoutMs && { initializationOptions: { timeout: connectTimeoutMs } }),
  });
  const tools = await client.tools();
  return {
    tools: Object.keys(tools).map((name) => ({ server: "it", tool: name, name })),
    async call(_server, tool, given, { signal } = {}) {
      const options = { toolCallId: "1", messages: [], abortSignal: signal };
      return (await tools[tool].execute(given, options)).content[0]?.text;
    },
    close: () => client.close(),
  };
}

export const openProtected = (lib, url, loginState) =>
  open(lib, [{ name: "it", url }], { authProvider: createAuthProvider(loginState) });
