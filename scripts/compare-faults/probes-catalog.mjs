/** Faults of lists, definitions and names, and of closing a connection. */
import { oddTool as oddToolText } from "../../test/fixtures/servers/fault-tools.mjs";
import { describe, seconds, watchLoop } from "./stage.mjs";

/** A busy machine blocks the event loop as well, but not for this long. */
const LOOP_LIMIT_MS = 1_000;

const GOOD = ["echo", "slow"];

/** One tool of three is malformed: the other two must be listed and work. */
const oddTool = (kind) => async (stage) => {
  const server = await stage.http();
  await stage.controlWith(server);
  await server.tell({ tools: kind });
  return goodToolsOf(stage, server);
};

async function goodToolsOf(stage, server) {
  const opened = await stage.settled(stage.open(server));
  if (opened.isLate) return { survived: false, fact: `list pending > ${seconds(stage.capMs)}` };
  if (opened.error) return { survived: false, fact: `no tools: ${describe(opened.error)}` };
  const { tools, call } = opened.value;
  const good = GOOD.filter((name) => tools.some(({ tool }) => tool === name)).length;
  const answer = good > 0 ? await stage.settled(call("it", "echo", { text: "x" })) : {};
  const works = answer.value === "x";
  return { survived: good === 2 && works, fact: `${good} of 2 good tools${works ? "" : ", not usable"}` };
}

export const deepSchema = oddTool("deep");
export const badPattern = oddTool("pattern");
export const numberAsName = oddTool("number");

/** Over stdio, where some libraries reject the whole message because of such names. */
export async function protoNames(stage) {
  await stage.controlWith(stage.stdio());
  return goodToolsOf(stage, stage.stdio(`--tool=${oddToolText("proto")}`));
}

export async function slowPattern(stage) {
  const server = await stage.http();
  await stage.controlWith(server);
  await server.tell({ tools: "redos" });
  const handle = await stage.open(server);
  const loop = watchLoop();
  const { error, isLate } = await stage.settled(handle.call("it", "odd", {}));
  const lag = loop();
  const end = isLate ? "pending" : error === undefined ? "answered" : describe(error);
  return { survived: lag < LOOP_LIMIT_MS, fact: `event loop held ${seconds(lag)}, call ${end}` };
}

export async function sameCursor(stage) {
  const server = await stage.http();
  await stage.controlWith(server);
  await server.tell({ fault: "same-cursor" });
  const before = (await server.look()).methods["tools/list"];
  const { isLate, error, ms } = await stage.settled(stage.open(server));
  const pages = (await server.look()).methods["tools/list"] - before;
  const end = isLate
    ? `goes on > ${seconds(stage.capMs)}`
    : `${error ? describe(error) : "list ends"} after ${seconds(ms)}`;
  return { survived: !isLate, fact: `${end}, ${pages} pages` };
}

export async function oneOfTwo(stage) {
  const good = { ...stage.stdio(), name: "good" };
  const bad = { ...stage.stdio("--exit=1"), name: "bad" };
  await stage.controlWith(stage.stdio());
  const opened = await stage.settled(stage.open([bad, good]));
  if (opened.isLate || opened.error) {
    return { survived: false, fact: `no tools: ${describe(opened.error ?? "pending")}` };
  }
  const { error } = await stage.settled(opened.value.call("good", "echo", { text: "x" }));
  return { survived: error === undefined, fact: error ? describe(error) : "the other one works" };
}

export async function sameNames(stage) {
  const servers = ["one", "two"].map((name) => ({ ...stage.stdio(), name }));
  await stage.controlWith(stage.stdio());
  const { tools } = await stage.open(servers);
  const names = new Set(tools.map(({ name }) => name));
  return { survived: names.size === tools.length, fact: `${tools.length} tools, ${names.size} names` };
}

export async function closings(stage) {
  await stage.controlWith(stage.stdio());
  const handle = await stage.open(stage.stdio());
  const call = stage.settled(handle.call("it", "slow", { ms: 60_000 }));
  await stage.sleep(200);
  const first = await stage.settled(handle.close());
  const inFlight = await call;
  const second = await stage.settled(handle.close(), 5_000);
  const after = await stage.settled(handle.call("it", "echo", { text: "x" }), 5_000);
  await stage.sleep(500);
  const problems = [
    (first.isLate || first.error) && "close() fails",
    (inFlight.isLate || !inFlight.error) && "call in flight stays",
    (second.isLate || second.error) && "second close() fails",
    after.isLate && "call after close() hangs",
    !after.isLate && !after.error && "call after close() runs",
    stage.alive().length > 0 && `${stage.alive().length} process(es) left`,
  ].filter(Boolean);
  return { survived: problems.length === 0, fact: problems.join(", ") || "all settle, nothing left" };
}
