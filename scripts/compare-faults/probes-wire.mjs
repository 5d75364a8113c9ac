/** Faults on the wire: sessions, sizes, streams, redirects, cancellation. */
import { readFileSync } from "node:fs";
import { nextCall } from "./next-call.mjs";
import { describe, seconds, watchMemory } from "./stage.mjs";

const MB = 1_000_000;
/** A client with a limit of about ten megabytes stays far below; one without a limit goes far beyond. */
const MEMORY_LIMIT_MB = 100;

/** A healthy HTTP server that the probe controls, and a handle to it. */
async function openHttp(stage) {
  const server = await stage.http();
  await stage.controlWith(server);
  return { server, handle: await stage.open(server) };
}

export async function forgottenSession(stage) {
  const { server, handle } = await openHttp(stage);
  await handle.call("it", "echo", { text: "before" });
  await server.tell({ fault: "forget" });
  return nextCall(stage, handle);
}

/** One call with a result that is far too large, then an ordinary one. */
async function tooMuch(stage, handle, call, restore) {
  const memory = watchMemory();
  const { isLate, error, ms } = await stage.settled(call());
  const rise = memory();
  const first = isLate
    ? `pending > ${seconds(stage.capMs)}`
    : `${error === undefined ? "accepted" : describe(error)} after ${seconds(ms)}`;
  await restore?.();
  const next = isLate ? undefined : await stage.settled(handle.call("it", "echo", { text: "next" }), 5_000);
  const works = next !== undefined && next.error === undefined && !next.isLate;
  return {
    survived: !isLate && works && rise < MEMORY_LIMIT_MB,
    fact: `${first}, RSS +${rise} MB${isLate ? "" : `, next call ${works ? "works" : "fails"}`}`,
  };
}

export async function bigStdio(stage) {
  await stage.controlWith(stage.stdio());
  const handle = await stage.open(stage.stdio());
  await handle.call("it", "echo", { text: "x" });
  return tooMuch(stage, handle, () => handle.call("it", "big", { bytes: 64 * MB }));
}

export async function bigHttp(stage) {
  const { server, handle } = await openHttp(stage);
  await server.tell({ fault: "big", bytes: 64 * MB });
  const call = () => handle.call("it", "echo", { text: "x" });
  return tooMuch(stage, handle, call, () => server.tell({ fault: "none" }));
}

export async function endlessEvent(stage) {
  const { server, handle } = await openHttp(stage);
  await server.tell({ fault: "endless-event", bytes: 300 * MB });
  const call = () => handle.call("it", "echo", { text: "x" });
  return tooMuch(stage, handle, call, () => server.tell({ fault: "none" }));
}

export async function droppedStream(stage) {
  const { server, handle } = await openHttp(stage);
  await server.tell({ fault: "drop" });
  const { isLate, error, ms } = await stage.settled(handle.call("it", "echo", { text: "x" }));
  if (isLate) return { survived: false, fact: `call pending > ${seconds(stage.capMs)}` };
  return { survived: ms < 5_000, fact: `${describe(error)} after ${seconds(ms)}` };
}

export async function retryAfter(stage) {
  const { server, handle } = await openHttp(stage);
  await server.tell({ fault: "busy", times: 1, status: 503, retryAfter: "1" });
  const { isLate, error } = await stage.settled(handle.call("it", "echo", { text: "x" }));
  const { attempts } = await server.look();
  const waited = attempts.length > 1 ? attempts[1] - attempts[0] : 0;
  const tried = `${attempts.length} attempt(s)${waited > 0 ? `, ${seconds(waited)} apart` : ""}`;
  const end = isLate ? "pending" : error === undefined ? "answered" : describe(error);
  return { survived: !isLate && error === undefined && waited >= 950, fact: `${end}: ${tried}` };
}

export async function foreignRedirect(stage) {
  const { server, handle } = await openHttp(stage);
  const canary = await stage.http("--host=127.0.0.2");
  await canary.tell({ canary: true });
  await server.tell({ fault: "redirect", to: canary.url });
  const { error, isLate } = await stage.settled(handle.call("it", "echo", { text: "private words" }));
  const { canary: got } = await canary.look();
  const leaked = got.some((line) => line.includes("private words"));
  const fact = leaked ? "body sent on" : `${got.length} request(s) there, ${describe(error ?? "no error")}`;
  return { survived: !leaked && !isLate && error !== undefined, fact };
}

export async function abortReported(stage) {
  const methodFile = `${stage.pidFile}.methods`;
  const server = stage.stdio(`--method-file=${methodFile}`);
  await stage.controlWith(server);
  const handle = await stage.open(server);
  const aborting = new AbortController();
  const call = stage.settled(handle.call("it", "slow", { ms: 60_000 }, { signal: aborting.signal }));
  await stage.sleep(300);
  const started = performance.now();
  aborting.abort();
  const { isLate } = await call;
  const rejectedMs = performance.now() - started;
  await stage.sleep(500);
  const isNotified = readFileSync(methodFile, "utf8").includes("notifications/cancelled");
  const rejected = isLate ? "call goes on" : `call ended in ${Math.round(rejectedMs)} ms`;
  return {
    survived: isNotified && !isLate,
    fact: `${rejected}, server ${isNotified ? "notified" : "not notified"}`,
  };
}
