/** Faults of servers that require authorization and send false metadata. */
import { describe, seconds } from "./stage.mjs";

const CLIENT = { client_id: "known-client", client_secret: "known-secret" };
const WATCH_MS = 12_000;
/** Token requests for a call, and for a connect that may make several. */
const A_FEW = 8;

const openProtected = (stage, server, loginState) => stage.openProtected(stage.lib, server.url, loginState);

/** Probes a contender with two ways to authorize with both; reports the first that fails. */
const everyWay = (probe) => async (stage) => {
  const { openProtected: usual, openWithProvider: other } = stage.contender;
  const result = await probe({ ...stage, openProtected: usual });
  if (other === undefined || !result.survived) return result;
  const again = await probe({ ...stage, openProtected: other });
  return again.survived ? result : { ...again, fact: `with an authProvider: ${again.fact}` };
};

/** Without credentials, an honest server leads to its login page. */
async function controlLogin(stage) {
  const honest = await stage.oauth();
  await stage.control(async () => {
    const loginState = { redirects: [] };
    await openProtected(stage, honest, loginState).catch(() => {});
    const [first = "none"] = loginState.redirects;
    if (!first.startsWith(`${honest.origin}/authorize`)) throw new Error(`login page: ${first}`);
  });
}

/** Connects to a server with false metadata; returns where the user was sent, and the final error. */
async function meetLiar(stage, lies) {
  const liar = await stage.oauth();
  await liar.tell(lies);
  const loginState = { redirects: [] };
  const end = await stage.settled(openProtected(stage, liar, loginState));
  return { ...loginState, error: end.error, isLate: end.isLate };
}

async function fileLoginPage(stage) {
  await controlLogin(stage);
  const handed = [];
  let last;
  for (const page of ["file:///etc/passwd", "ms-msdt:/id"]) {
    last = await meetLiar(stage, { metadata: { authorization_endpoint: page } });
    if (last.redirects.length > 0) handed.push(page.split(":")[0]);
  }
  const fact = handed.length > 0 ? `passed to the opener: ${handed.join(", ")}` : describe(last.error);
  return { survived: handed.length === 0, fact };
}

async function metadataElsewhere(stage) {
  await controlLogin(stage);
  const canary = await stage.http("--host=127.0.0.2");
  await canary.tell({ canary: true });
  const place = `${canary.origin}/metadata`;
  const fetched = [];
  for (const [way, lies] of Object.entries({
    named: { resourceMetadata: place },
    redirected: { metadataRedirect: place },
  })) {
    const before = (await canary.look()).canary.length;
    await meetLiar(stage, lies);
    if ((await canary.look()).canary.length > before) fetched.push(way);
  }
  const fact = fetched.length > 0 ? `fetched (${fetched.join(", ")})` : "not fetched";
  return { survived: fetched.length === 0, fact };
}

async function withoutPkce(stage) {
  await controlLogin(stage);
  const { redirects, error } = await meetLiar(stage, {
    metadata: { code_challenge_methods_supported: null },
  });
  const refused = redirects.length === 0;
  return { survived: refused, fact: refused ? `refused: ${describe(error)}` : "goes on to the login page" };
}

/** Tokens of an earlier login at an honest server, and a call that works with them. */
async function openLoggedIn(stage, { isStamped }) {
  const server = await stage.oauth();
  const { issued } = await server.tell({ issue: true });
  const stamp = {
    issuer: server.origin,
    authorization_server: server.origin,
    token_endpoint: `${server.origin}/token`,
  };
  const stamped = (record) => (isStamped ? { ...record, ...stamp } : record);
  const loginState = { redirects: [], issued: stamped(issued), client: stamped(CLIENT) };
  let handle;
  await stage.control(async () => {
    handle = await openProtected(stage, server, loginState);
    await handle.call("it", "echo", { text: "x" });
  });
  return { server, loginState, handle };
}

async function otherAuthorizationServer(stage) {
  const { server, handle } = await openLoggedIn(stage, { isStamped: false });
  const evil = await stage.oauth();
  await server.tell({ expire: true, authorizationServers: [evil.origin] });
  const { error } = await stage.settled(handle.call("it", "echo", { text: "x" }));
  const { tokenBodies } = await evil.look();
  const leaked = tokenBodies.some((body) => /refresh-|known-secret|Basic /.test(body));
  const fact = leaked ? "refresh token sent there" : `nothing sent, ${describe(error ?? "no error")}`;
  return { survived: !leaked, fact };
}

async function everyTokenRefused(stage) {
  const { server, loginState, handle } = await openLoggedIn(stage, { isStamped: true });
  const count = async () => (await server.look()).tokenBodies.length;
  const before = await count();
  await server.tell({ refuseAll: true });
  const started = performance.now();
  const call = await stage.settled(handle.call("it", "echo", { text: "x" }), WATCH_MS);
  const ofCall = (await count()) - before;
  // And once from the start, which some libraries handle differently.
  const rest = Math.max(1_000, WATCH_MS - (performance.now() - started));
  const { issued } = await server.tell({ issue: true });
  const again = { ...loginState, redirects: [], issued: { ...loginState.issued, ...issued } };
  const connect = await stage.settled(openProtected(stage, server, again), rest);
  const posts = (await count()) - before;
  const end =
    call.isLate || connect.isLate ? `pending > ${seconds(WATCH_MS)}` : describe(call.error ?? connect.error);
  return {
    survived: posts <= A_FEW && !call.isLate && !connect.isLate,
    fact: `${posts} token requests for a call (${ofCall}) and a connect, ${end}`,
  };
}

export const probes = {
  fileLoginPage: everyWay(fileLoginPage),
  metadataElsewhere: everyWay(metadataElsewhere),
  withoutPkce: everyWay(withoutPkce),
  otherAuthorizationServer: everyWay(otherAuthorizationServer),
  everyTokenRefused: everyWay(everyTokenRefused),
};
