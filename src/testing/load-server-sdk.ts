/** Loads the SDK's server package on first use, so that importing `toolport/testing` stays fast. */
import { ConfigError } from "../errors/config-error.js";

export type ServerSdk = typeof import("@modelcontextprotocol/server") &
  typeof import("@modelcontextprotocol/server/stdio");

let loaded: Promise<ServerSdk> | undefined;

export function loadServerSdk(): Promise<ServerSdk> {
  loaded ??= load();
  return loaded;
}

async function load(): Promise<ServerSdk> {
  try {
    const [server, stdio] = await Promise.all([
      import("@modelcontextprotocol/server"),
      import("@modelcontextprotocol/server/stdio"),
    ]);
    return { ...server, ...stdio };
  } catch (cause) {
    loaded = undefined;
    throw new ConfigError({
      code: "INVALID_CONFIG",
      what: "createTestServer needs the package @modelcontextprotocol/server, which could not be loaded",
      next: "Run: npm install --save-dev @modelcontextprotocol/server",
      cause,
    });
  }
}
