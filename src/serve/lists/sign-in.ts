/** A tool for each server that waits for a login and whose tools are not known: calling it begins the login. */
import type { Port } from "../../port/port.js";

const SUFFIX = "__sign_in";

/** Name on the server, for policies and the audit log. */
export const SIGN_IN = "sign_in";

/** The servers that wait for a login. */
export const waitingServers = (port: Port): string[] =>
  port.pool
    .created()
    .filter(({ name, state }) => state.status === "authenticating" && !port.catalog.knows(name))
    .map(({ name }) => name);

export const signInTool = (server: string) => ({
  name: `${server}${SUFFIX}`,
  title: `Log in to ${server}`,
  description: `The tools of ${server} can be used after a login. Call this tool to begin it.`,
  inputSchema: { type: "object", properties: {} },
});

/** The server of such a tool. Undefined for any other name, and if the server does not wait for a login. */
export const signInServer = (port: Port, name: string): string | undefined =>
  name.endsWith(SUFFIX) ? waitingServers(port).find((server) => `${server}${SUFFIX}` === name) : undefined;
