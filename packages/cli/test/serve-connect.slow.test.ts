/** `toolport serve --connect-client`: a user of the issuer connects an own account of a server on the pages of the gateway. */
import { createToolport } from "toolport";
import { expect, onTestFinished, test } from "vitest";
import { useProgram } from "../../../test/support/cli-sandbox.js";
import { startOAuthBench } from "../../../test/support/oauth-bench.js";
import { logIn } from "../../../test/support/oauth-browser.js";
import { freePort } from "../../../test/support/program-on-port.js";
import { sendRaw } from "../../../test/support/raw-request.js";
import { startServe } from "../../../test/support/served-program.js";

const createSandbox = useProgram();
const CALLBACK = "http://127.0.0.1:9/callback";

/** Opens pages of the gateway, with cookies. Returns the address that a page leads to. */
class GatewayBrowser {
  #cookie = "";

  async open(url: string | URL): Promise<{ status: number; location: string }> {
    const { origin, host, pathname, search } = new URL(url);
    // Not `fetch`: its requests say that a script sends them, which the pages refuse.
    const { status, headers } = await sendRaw(origin, pathname + search, {
      headers: { host, cookie: this.#cookie },
    });
    const cookies = headers["set-cookie"]?.map((line) => line.split(";")[0]) ?? [];
    if (cookies.length > 0) this.#cookie = cookies.join("; ");
    return { status, location: headers.location ?? "" };
  }
}

/** A gateway for users of an issuer, with a server that needs a login of its own. */
async function openGateway() {
  const sandbox = createSandbox();
  const origin = `http://127.0.0.1:${await freePort()}`;
  const gateway = {
    client_id: "gateway",
    client_secret: "gateway: secret/+%",
    redirect_uris: [`${origin}/connect/login`],
    application_type: "native" as const,
  };
  const vault = await startOAuthBench();
  const issuer = await startOAuthBench({ clients: [gateway], signedResource: `${origin}/mcp` });
  await sandbox.write("home/.config/toolport/toolport.json", { mcpServers: { vault: { url: vault.url } } });
  const options = ["--http", new URL(origin).host, "--url", `${origin}/mcp`, "--issuer", issuer.issuer];
  const served = await startServe(sandbox, [...options, "--connect-client", "gateway"], {
    TOOLPORT_CONNECT_SECRET: gateway.client_secret,
  });
  onTestFinished(async () => {
    await served[Symbol.asyncDispose]();
    await Promise.all([issuer, vault].map((bench) => bench[Symbol.asyncDispose]()));
    sandbox[Symbol.dispose]();
  });
  return { origin, vault, issuer, served, secret: gateway.client_secret };
}

/** The user's own client, with a token for the gateway from the issuer, and the link of the tool that begins a login. */
async function openClient({ origin, issuer, served }: Awaited<ReturnType<typeof openGateway>>, user: string) {
  const entry = { url: served.url, oauth: { scopes: ["tools:read"] } };
  const client = createToolport({ mcpServers: { gateway: entry }, callbackUrl: CALLBACK });
  onTestFinished(() => client.close());
  const { servers } = await client.connect();
  const authUrl = servers["gateway"]?.authUrl ?? "";
  expect(new URL(authUrl).origin).toBe(issuer.issuer);
  const back = await logIn(authUrl, user);
  await client.finishAuth("gateway", back.searchParams);
  const names = async () => {
    await client.refresh("gateway");
    return (await client.tools()).map(({ name }) => name);
  };
  // Until the user has an account there, the server has only a tool that offers the login.
  expect(await names()).toEqual(["gateway__vault__sign_in"]);
  const asked = await client.callTool("gateway__vault__sign_in", {});
  const link = new RegExp(`${origin}/connect/[^\\s"]+`).exec(asked.text)?.[0] ?? "";
  expect(link).not.toBe("");
  return { client, names, link };
}

test("a user logs in at the issuer, then at the server, and can use its tools", async () => {
  const gateway = await openGateway();
  const { issuer, vault, served, secret } = gateway;
  const { client, names, link } = await openClient(gateway, "ada");
  const browser = new GatewayBrowser();
  const atIssuer = await browser.open(link);
  expect(new URL(atIssuer.location).origin).toBe(issuer.issuer);
  const atVault = await browser.open(await logIn(atIssuer.location, "ada"));
  expect(new URL(atVault.location).origin).toBe(vault.issuer);
  const connected = await browser.open(await logIn(atVault.location, "ada-at-vault"));
  expect(connected.status).toBe(200);

  expect(await names()).toContain("gateway__vault__whoami");
  expect((await client.callTool("gateway__vault__whoami", {})).text).toBe("ada-at-vault");
  expect(served.stdout() + served.stderr()).not.toContain(secret);
});

test("a link that another user opens leads to no login at the server", async () => {
  const gateway = await openGateway();
  const { names, link } = await openClient(gateway, "ada");
  const browser = new GatewayBrowser();
  const atIssuer = await browser.open(link);
  const refused = await browser.open(await logIn(atIssuer.location, "bob"));
  expect(refused).toEqual({ status: 403, location: "" });
  expect(await names()).toEqual(["gateway__vault__sign_in"]);
});
