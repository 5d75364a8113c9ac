/** A server that requires a login. */
import type { TestHttpServer } from "../testing/index.js";
import { allOrNone } from "./all-or-none.js";
import { type AuthorizationServer, startAuthorizationServer } from "./authorization-server.js";
import { createDemoServer } from "./create-demo-server.js";

export interface VaultServer {
  readonly server: TestHttpServer;
  readonly authorization: AuthorizationServer;
  close(): Promise<void>;
}

const METADATA_PATH = "/.well-known/oauth-protected-resource";

export async function startVault(): Promise<VaultServer> {
  const authorization = await startAuthorizationServer();
  const vault = createDemoServer({
    name: "vault",
    tools: {
      open: {
        description: "Opens the vault",
        inputSchema: { type: "object", properties: {} },
        handler: () => "the vault is open",
      },
    },
  });
  const close = async () => {
    await vault.close();
    await authorization.close();
  };
  const listening = vault.http({
    anyPath: true,
    intercept: (request) => {
      const { origin, pathname } = new URL(request.url);
      if (pathname.startsWith(METADATA_PATH))
        return Response.json({ resource: `${origin}/mcp`, authorization_servers: [authorization.issuer] });
      if (pathname !== "/mcp") return undefined;
      const token = request.headers.get("authorization")?.replace(/^Bearer /, "");
      if (authorization.isValid(token)) return undefined;
      const challenge = `Bearer resource_metadata="${origin}${METADATA_PATH}"`;
      return new Response(null, { status: 401, headers: { "www-authenticate": challenge } });
    },
  });
  const [server] = await allOrNone([listening], close);
  return { server, authorization, close };
}
