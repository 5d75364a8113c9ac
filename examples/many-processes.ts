/**
 * Three processes behind a load balancer share a store, so any of them can serve a user who has logged in.
 *
 * Run it on Node 24 or later: npm run build && node examples/many-processes.ts
 */
import cluster from "node:cluster";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AuthError, createToolport } from "toolport";
import { sqliteStore } from "toolport/sqlite";
import { createTestServer } from "toolport/testing";

type Answer = { text: string; authUrl?: string; by: number };

/** One process of the application: `/callback` finishes a login, every other path is a request of a user. */
async function serve([mailUrl = "", file = ""]: readonly string[]): Promise<void> {
  const server = createServer(async (incoming, outgoing) => {
    const answer = await respond(new Request(new URL(incoming.url ?? "/", origin)));
    // Close the connection after each request, so that the next request goes to the next process.
    outgoing.writeHead(answer.status, { connection: "close" }).end(await answer.text());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const store = sqliteStore(file);
  const toolport = createToolport({
    mcpServers: { mail: { url: mailUrl, oauth: { clientId: "example" } } },
    store, // SQLite is for one machine; see also toolport/redis and toolport/postgres
    callbackUrl: `${origin}/callback`,
    idleTimeoutMs: 60_000,
  });
  async function respond(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/callback") return toolport.handleOAuthCallback(request);
    try {
      const { text } = await toolport.as(searchParams.get("user") ?? "").callTool("mail__unread");
      return Response.json({ text, by: process.pid });
    } catch (error) {
      const authUrl = error instanceof AuthError ? error.authUrl : undefined;
      return Response.json({ text: String(error), authUrl, by: process.pid }, { status: 500 });
    }
  }
  process.send?.(origin);
  await once(process, "disconnect");
  await toolport.close();
  await store.close();
}

/** A mail server with its own logins. Its login page accepts any user name without a password. */
async function startMail() {
  let logins = 0;
  const users = new Map<string, string>(); // by token
  const whoIs = (request?: Request) => users.get(request?.headers.get("authorization")?.slice(7) ?? "");
  const server = createTestServer({
    tools: { unread: { handler: (_args, { request }) => `3 letters for ${whoIs(request.http?.req)}` } },
  });
  const routes: Record<string, (url: URL, request: Request) => Response | Promise<Response>> = {
    "/mcp": () => new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } }),
    "/.well-known/oauth-protected-resource/mcp": ({ origin }) =>
      Response.json({ resource: `${origin}/mcp`, authorization_servers: [origin] }),
    "/.well-known/oauth-authorization-server": ({ origin: issuer }) =>
      Response.json({
        issuer,
        authorization_endpoint: `${issuer}/login`,
        token_endpoint: `${issuer}/token`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
      }),
    "/login": ({ searchParams: asked }) => {
      logins += 1;
      const answer = new URLSearchParams({ code: asked.get("user") ?? "", state: asked.get("state") ?? "" });
      return Response.redirect(`${asked.get("redirect_uri")}?${answer}`, 302);
    },
    "/token": async (_url, request) => {
      const token = crypto.randomUUID();
      users.set(token, new URLSearchParams(await request.text()).get("code") ?? "");
      return Response.json({ access_token: token, token_type: "Bearer", expires_in: 3600 });
    },
  };
  const intercept = (request: Request, asked = new URL(request.url)) =>
    whoIs(request) === undefined ? routes[asked.pathname]?.(asked, request) : undefined;
  const { url } = await server.http({ anyPath: true, intercept });
  return { url, countLogins: () => logins, [Symbol.asyncDispose]: () => server.close() };
}

export async function main(print: (line: string) => void = console.log): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "toolport-example-"));
  await using mail = await startMail();
  cluster.setupPrimary({ args: [mail.url, join(folder, "state.db")] });
  const startProcess = async (worker = cluster.fork()) => {
    const [origin] = (await once(worker, "message")) as [string];
    return { worker, origin };
  };
  const [first] = await Promise.all([startProcess(), startProcess(), startProcess()]);
  const ask = async (user: string) => (await (await fetch(`${first.origin}/?user=${user}`)).json()) as Answer;

  for (const user of ["ada", "grace"]) {
    const { authUrl } = await ask(user);
    await fetch(`${authUrl}&user=${user}`); // the browser: opens the login page and is redirected to any of the processes
  }
  const users = Array.from({ length: 12 }, () => ["ada", "grace"]).flat();
  const answers = await Promise.all(users.map(ask));
  const right = answers.filter(({ text }, index) => text === `3 letters for ${users[index]}`).length;
  print(`${right} of 24 answers are right, from ${new Set(answers.map(({ by }) => by)).size} processes`);

  first.worker.process.kill("SIGKILL");
  await once(first.worker, "exit");
  const { worker } = await startProcess();
  while ((await ask("ada")).by !== worker.process.pid);
  print(`a process died, a new one serves ada: ${mail.countLogins()} logins for 2 users`);
  const ended = Object.values(cluster.workers ?? {}).map((it) => it && once(it, "exit"));
  cluster.disconnect();
  await Promise.all(ended);
  rmSync(folder, { recursive: true, force: true });
}

if (cluster.isWorker) await serve(process.argv.slice(2));
else if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
