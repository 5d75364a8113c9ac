/** Plays a schedule of what can happen to the lists of a server, and checks them when everything is quiet. */
import { createToolport, type Toolport } from "toolport";
import {
  type Delay,
  type Era,
  LISTS,
  type ListName,
  ListServer,
  loadServerSdk,
  type Way,
} from "./list-server.js";
import { VirtualTime } from "./virtual-time.js";

export type ListStep =
  | { readonly kind: "change"; readonly list: ListName; readonly times: number }
  | { readonly kind: "list" | "refresh" | "reconnect"; readonly user: number }
  /** A list changes so long after a new connection, or after its streams were cut. */
  | {
      readonly kind: "early change";
      readonly after: "reconnect" | "drop";
      readonly ms: number;
      readonly list: ListName;
    }
  | { readonly kind: "drop" }
  | { readonly kind: "slow lists" | "slow streams"; readonly delay: Delay }
  | { readonly kind: "fail"; readonly list: ListName; readonly times: number }
  | { readonly kind: "pass"; readonly ms: number };

export interface ListSchedule {
  readonly era: Era;
  readonly way: Way;
  /** Users besides the plain port. */
  readonly users: number;
  /** Lists are public for this time. */
  readonly publicMs?: number | undefined;
  readonly steps: readonly ListStep[];
}

const USERS = ["", "ada", "grace"] as const;
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };
/** All pauses before a read or a stream is tried again, together. */
const QUIET_MS = 120_000;

const sdk = loadServerSdk();

interface User {
  readonly name: string;
  readonly port: Toolport;
}

/** Loads all code. What is loaded while the clock runs ahead comes too late. */
export async function loadForLists(): Promise<void> {
  const loaded = await sdk;
  for (const era of ["legacy", "modern"] as const)
    for (const way of ["memory", "http"] as const) {
      const server = new ListServer(loaded, { era, way, time: { note() {} } });
      await using toolport = createToolport({
        mcpServers: { s: server.entry },
        logger: QUIET,
        fetch: server.fetch,
      });
      await toolport.connect();
      const changed = new Promise<void>((resolve) => toolport.on("listsChanged", () => resolve()));
      await server.change("tools", 1);
      await changed;
      await toolport.refresh("s");
      await toolport.disconnect("s");
      await toolport.connectServer("s");
      await server.close();
      await untilLoaded({ era, way, users: 0, steps: [{ kind: "reconnect", user: 0 }] });
    }
}

/** Plays a schedule without a fault until it ends well. */
async function untilLoaded(schedule: ListSchedule): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const error: unknown = await playLists(schedule, new Map()).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error === undefined) return;
    if (attempt === 20) throw error;
    await new Promise((resolve) => setTimeout(resolve, 20 * attempt));
  }
}

/** Throws if a list is old after quiet, or was read too often. @param seen counts what happened */
export async function playLists(schedule: ListSchedule, seen: Map<string, number>): Promise<void> {
  const loaded = await sdk;
  using time = new VirtualTime();
  const { era, way, publicMs } = schedule;
  const server = new ListServer(loaded, { era, way, publicMs, time });
  const toolport = createToolport({
    mcpServers: { s: server.entry },
    logger: QUIET,
    ...(way === "http" && { fetch: server.fetch }),
  });
  const users = new Map<string, User>();
  const userAt = (index: number): User => {
    const name = USERS[index % (schedule.users + 1)]!;
    const port = name === "" ? toolport : toolport.as(name, { headers: { "x-user": name } });
    const user = users.get(name) ?? { name, port };
    users.set(name, user);
    return user;
  };
  const pending = new Set<Promise<unknown>>();
  const begin = (work: Promise<unknown>) => {
    const tracked = work.catch(() => {}).finally(() => pending.delete(tracked));
    pending.add(tracked);
  };
  const asked = new Map<string, number>();
  const count = (what: string) => void asked.set(what, (asked.get(what) ?? 0) + 1);

  const call = (kind: "list" | "refresh" | "reconnect", { name, port }: User): void => {
    count(`${kind} ${name}`);
    if (kind === "list") begin(port.tools());
    else if (kind === "refresh") begin(port.refresh("s"));
    else {
      server.interrupt();
      begin(port.disconnect("s").then(() => port.connectServer("s")));
    }
  };

  /** After more failures in a row, a reader waits for the next report. */
  const failures: Record<ListName, number> = { tools: 4, resources: 4, prompts: 4 };
  const apply = async (step: ListStep): Promise<void> => {
    switch (step.kind) {
      case "change":
        return server.change(step.list, step.times);
      case "early change":
        if (step.after === "drop") server.drop();
        else call("reconnect", userAt(0));
        await time.pass(step.ms);
        return server.change(step.list, 1);
      case "drop":
        return server.drop();
      case "pass":
        return time.pass(step.ms);
      case "fail":
        server.failing[step.list] = Math.min(step.times, failures[step.list]);
        failures[step.list] -= server.failing[step.list];
        return;
      case "slow lists":
        server.listDelay = step.delay;
        return;
      case "slow streams":
        server.streamDelay = step.delay;
        return;
      default:
        return call(step.kind, userAt(step.user));
    }
  };

  const problems: string[] = [];
  const check = (): void => {
    for (const { name, port } of users.values()) {
      const { servers, tools } = port.snapshot();
      if (servers["s"]?.state !== "ready") {
        problems.push(`${name || "plain"} is ${servers["s"]?.state}`);
        continue;
      }
      const known: Record<ListName, readonly string[]> = {
        tools: tools.map(({ sourceName }) => sourceName),
        resources: port.snapshot().resources.map((resource) => resource.name),
        prompts: port.snapshot().prompts.map((prompt) => prompt.name),
      };
      for (const list of LISTS) {
        if (String(known[list]) !== `v${server.versions[list]}`)
          problems.push(
            `${list} of ${name || "plain"}: [${known[list]}], at the server v${server.versions[list]}`,
          );
      }
    }
  };

  const heal = async () => {
    server.listDelay = { before: 0, after: 0 };
    server.streamDelay = { before: 0, after: 0 };
    for (const list of LISTS) server.failing[list] = 0;
    await time.pass(QUIET_MS);
  };

  for (const step of schedule.steps) {
    await apply(step);
    await time.turns(1);
  }
  await time.pass(QUIET_MS);
  await heal();
  // A server whose lists failed when it connected is connected by the next caller.
  for (const { port } of users.values()) begin(port.connectServer("s"));
  await time.pass(QUIET_MS);
  // A public list may be older than the streams of its users, until one of them learns of the next change.
  if (publicMs !== undefined) {
    for (const list of LISTS) await server.change(list, 1);
    await time.pass(QUIET_MS);
  }
  check();
  if (pending.size > 0) problems.push(`${pending.size} calls have not ended`);
  for (const { name } of users.values())
    for (const list of LISTS) {
      const reads = server.countOf(`read ${list} ${name}`);
      const own = ["connect", "stream"].reduce((sum, what) => sum + server.countOf(`${what} ${name}`), 0);
      const callers =
        (asked.get(`refresh ${name}`) ?? 0) + (publicMs === undefined ? 0 : (asked.get(`list ${name}`) ?? 0));
      const others =
        publicMs === undefined
          ? 0
          : [...users.values()].reduce(
              (sum, user) => sum + server.countOf(`read ${list} ${user.name}`),
              -reads,
            );
      const allowed =
        own + callers + others + server.countOf(`change ${list}`) + server.countOf(`failure ${list} ${name}`);
      if (reads > allowed)
        problems.push(`${list} of ${name || "plain"} was read ${reads} times; ${allowed} are allowed`);
    }
  let isClosed = false;
  void toolport.close().then(() => {
    isClosed = true;
  });
  await time.pass(QUIET_MS, () => isClosed);
  await server.close();
  for (const [what, times] of server.counts) {
    const [kind] = what.split(" ");
    seen.set(kind!, (seen.get(kind!) ?? 0) + times);
  }
  if (problems.length > 0) throw new Error(problems.join("\n"));
}
