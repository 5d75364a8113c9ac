/** Route handlers as in Next.js: each takes a `Request` and returns a `Response`. */
import { createToolport, type Toolport } from "toolport";
import { createScriptedModel, runAgentLoop } from "toolport/testing";
import { readCookie, setCookie } from "./session.ts";

export type Route = (request: Request) => Response | Promise<Response>;

export interface AppOptions {
  /** The MCP server. If it needs a login, every user logs in there once. */
  readonly mcpUrl: string;
  /** Where browsers reach this program. */
  readonly baseUrl: string;
}

export interface App {
  readonly routes: Readonly<Record<string, Route>>;
  close(): Promise<void>;
}

export function createApp({ mcpUrl, baseUrl }: AppOptions): App {
  const toolport = createToolport({
    mcpServers: { account: { url: mcpUrl } },
    callbackUrl: `${baseUrl}/oauth/callback`,
    idleTimeoutMs: 300_000, // closes the connections of users who left
    // store: postgresStore(url) keeps logins when this program restarts, and shares them with other processes
  });
  toolport.configureOAuthCallback({ successRedirect: "/", errorRedirect: "/?login=failed" });

  return {
    routes: {
      "GET /": (request) => homePage(readCookie(request, "user")),
      "POST /sign-in": signIn,
      "GET /connect": forUser(toolport, connect),
      "GET /oauth/callback": (request) => finishLogin(toolport, request),
      "POST /chat": forUser(toolport, chat),
    },
    close: () => toolport.close(),
  };
}

/** Your application's own login. This one checks no password. */
async function signIn(request: Request): Promise<Response> {
  const name = String((await request.formData()).get("name") ?? "");
  if (!/^\w{1,30}$/.test(name)) return new Response("Choose a name of letters and digits", { status: 400 });
  return redirect("/", setCookie("user", name));
}

/** Gives a route the port of the user who asks: with that user's own connections and logins. */
function forUser(toolport: Toolport, route: (request: Request, port: Toolport) => Promise<Response>): Route {
  return (request) => {
    const user = readCookie(request, "user");
    if (user === undefined) return Response.json({ error: "Sign in first" }, { status: 401 });
    return route(request, toolport.as(user));
  };
}

/** Sends the browser to the login of the MCP server, if it needs one. */
async function connect(_request: Request, port: Toolport): Promise<Response> {
  const { state, authUrl, error } = await port.connectServer("account");
  if (state !== "authenticating" || authUrl === undefined)
    return error === undefined ? redirect("/") : Response.json({ error: error.message }, { status: 502 });
  // Remembers in the browser which login it began.
  return redirect(authUrl, setCookie("login", new URL(authUrl).searchParams.get("state") ?? ""));
}

/** The browser comes back from the login. Toolport knows from `state` whose login it is. */
async function finishLogin(toolport: Toolport, request: Request): Promise<Response> {
  // Only the browser that began a login may finish it: otherwise a link could attach the account of another person.
  const state = new URL(request.url).searchParams.get("state");
  if (state === null || state !== readCookie(request, "login"))
    return new Response("This login began in another browser. Open /connect again.", { status: 400 });
  return toolport.handleOAuthCallback(request);
}

/** One question to the agent. Its tools run with the login of the user. */
async function chat(request: Request, port: Toolport): Promise<Response> {
  const { prompt } = (await request.json().catch(() => ({}))) as { prompt?: unknown };
  if (typeof prompt !== "string") return Response.json({ error: "Send { prompt } as JSON" }, { status: 400 });
  const { state } = await port.connectServer("account"); // returns at once if it is connected
  if (state === "authenticating")
    return Response.json({ error: "Log in to the account first", connect: "/connect" }, { status: 401 });

  // A script instead of a model, so that this runs without a key.
  const model = createScriptedModel([
    { say: { calls: [{ tool: "account__whoami" }] } },
    { say: ({ answers }) => `The account says that you are ${answers[0]?.text}` },
  ]);
  const { text } = await runAgentLoop({ toolport: port, model, prompt, signal: request.signal });
  return Response.json({ text });
}

const redirect = (location: string, cookie?: string): Response =>
  new Response(null, { status: 303, headers: { location, ...(cookie && { "set-cookie": cookie }) } });

function homePage(user: string | undefined): Response {
  const body =
    user === undefined
      ? `<form method="post" action="/sign-in"><label>Your name <input name="name"></label> <button>Sign in</button></form>`
      : `<p>Hello ${user}. <a href="/connect">Connect your account</a></p>
         <button id="ask">Who am I there?</button> <output id="answer"></output>
         <script>
           ask.onclick = async () => {
             const init = { method: "POST", body: JSON.stringify({ prompt: "Who am I?" }) };
             const { text, error } = await (await fetch("/chat", init)).json();
             answer.textContent = text ?? error;
           };
         </script>`;
  const html = `<!doctype html><html lang="en"><title>Web app</title><h1>Web app</h1>${body}</html>`;
  return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
}
