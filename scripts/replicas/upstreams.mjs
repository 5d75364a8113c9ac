/**
 * The servers behind the gateway: one of each era, each with an authorization server. They record whose token came with whose call.
 * Started with an IPC channel: sends `{ legacy, modern }` with the ports first, and the records for every message.
 */
import { createServer } from "node:http";
import { createAuthorizationServer } from "../../test/fixtures/servers/authorization-server.mjs";
import { createLegacyServer } from "./legacy-upstream.mjs";
import { createModernServer } from "./modern-upstream.mjs";

/** What happened, by call: `ask` and `run` at most once each. */
const calls = {};
/** What must never happen. */
const crossings = [];

/** Records a stage of a call. The token says who the user is; the arguments say who it should be. */
function record(stage, { user, call }, tokenUser, server) {
  calls[call] ??= [];
  calls[call].push(stage);
  if (tokenUser !== user)
    crossings.push(`${server}: ${stage} of ${call} of ${user} came with the token of ${tokenUser}`);
}
const cross = (what) => crossings.push(what);

const ports = {};
for (const [name, create] of [
  ["legacy", createLegacyServer],
  ["modern", createModernServer],
]) {
  ports[name] = await serve((origin) => ({ ...createLogin(origin), server: create({ record, cross }) }));
}
process.send(ports);
process.on("message", () => process.send({ calls, crossings }));
process.on("disconnect", () => process.exit());

/** An authorization server that remembers which user got which token. */
function createLogin(origin) {
  const login = createAuthorizationServer(origin);
  const userOfCode = new Map();
  const userOfToken = new Map();
  return {
    login,
    userOf: ({ headers }) => userOfToken.get(/^Bearer (.*)$/.exec(headers.authorization ?? "")?.[1]),
    answer(request) {
      if (request.path === "/authorize") {
        const back = login.authorize(request.query);
        userOfCode.set(back.searchParams.get("code"), request.query.get("user"));
        return { status: 302, headers: { location: back.href } };
      }
      const answered = login.answer(request);
      const token = request.path === "/token" ? answered?.body?.access_token : undefined;
      if (token !== undefined) userOfToken.set(token, userOfCode.get(request.form.get("code")));
      return answered;
    },
  };
}

async function serve(open) {
  let parts;
  const listener = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => respond(parts, request, response, Buffer.concat(chunks).toString()));
  });
  await new Promise((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address();
  parts = open(`http://127.0.0.1:${port}`);
  return port;
}

function respond({ login, userOf, answer, server }, request, response, body) {
  const url = new URL(request.url, login.origin);
  const { headers } = request;
  const isMcp = url.pathname === "/mcp";
  const reply = isMcp
    ? login.challenge({ headers })
    : (answer({
        path: url.pathname,
        query: url.searchParams,
        body,
        form: new URLSearchParams(body),
        headers,
      }) ?? {
        status: 404,
      });
  if (reply === undefined) return server(request, response, body, userOf(request));
  const text = reply.body === undefined ? "" : JSON.stringify(reply.body);
  response.writeHead(reply.status ?? 200, { "content-type": "application/json", ...reply.headers }).end(text);
}
