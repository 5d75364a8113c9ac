/** Toolport's core, as built in `dist/`. */
import { createAuthProvider } from "../auth-provider.mjs";

export { load } from "../../../bench/contenders/toolport.mjs";

export const configuration =
  "its defaults; `connectTimeoutMs` where a start hangs; OAuth both ways, with `callbackUrl`, so that the port keeps " +
  "the tokens itself, and with an `authProvider`, where both have to survive";
export const defaultConnectLimit = "60 s";

const CALLBACK_URL = "http://127.0.0.1:4545/callback";

function toPort(lib, servers, { stderr, connectTimeoutMs, callbackUrl } = {}) {
  const toEntry = ({ name, url, command, args }) => [
    name,
    url === undefined ? { command, args, ...(stderr && { stderr }) } : { url },
  ];
  const mcpServers = Object.fromEntries(servers.map(toEntry));
  return lib.createToolport({
    mcpServers,
    ...(connectTimeoutMs && { connectTimeoutMs }),
    ...(callbackUrl && { callbackUrl }),
  });
}

const toHandle = async (port) => {
  const list = await port.tools();
  const nameOf = (server, tool) =>
    list.find((info) => info.server === server && info.sourceName === tool)?.name ?? `${server}__${tool}`;
  return {
    tools: list.map(({ server, sourceName, name }) => ({ server, tool: sourceName, name })),
    call: async (server, tool, args, options) =>
      (await port.callTool(nameOf(server, tool), args, options)).text,
    close: () => port.close(),
  };
};

/** `connect()` does not throw for a failed server; this throws if all servers failed. */
export async function open(lib, servers, options) {
  const port = toPort(lib, servers, options);
  const reports = Object.values((await port.connect()).servers);
  if (reports.every(({ error }) => error !== undefined)) {
    await port.close();
    throw reports[0].error;
  }
  return toHandle(port);
}

export async function openCrowd(lib, servers, count) {
  const port = toPort(lib, servers);
  await Promise.all(Array.from({ length: count }, () => port.tools()));
  return toHandle(port);
}

/** Uses the same provider object as the other libraries; both ways must pass. */
export async function openWithProvider(lib, url, loginState) {
  const entry = { url, authProvider: createAuthProvider(loginState) };
  const port = lib.createToolport({ mcpServers: { it: entry } });
  const { error } = (await port.connect()).servers["it"];
  if (error === undefined) return toHandle(port);
  await port.close();
  throw error;
}

/** Logs in like a user, because Toolport's store accepts no tokens from outside. */
export async function openProtected(lib, url, loginState) {
  const port = toPort(lib, [{ name: "it", url }], { callbackUrl: CALLBACK_URL });
  const { authUrl, error } = (await port.connect()).servers["it"];
  if (authUrl !== undefined) loginState.redirects.push(authUrl);
  if (loginState.issued === undefined) {
    await port.close();
    throw error ?? new Error("connected without credentials");
  }
  const answer = await fetch(authUrl, { redirect: "manual" });
  await port.finishAuth("it", new URL(answer.headers.get("location")).searchParams);
  return toHandle(port);
}
