/** Plays one schedule: replicas with a shared store, users, clients of both eras, servers that fail. */
import { createToolport, memoryStore, type Toolport } from "toolport";
import { createGateway, type Gateway } from "toolport/serve";
import { VirtualTime } from "../../../../test/support/virtual-time.js";
import { type Answer, type ClientEra, type ClientWorld, ScheduleClient } from "./clients.js";
import { Ledger, MARKS } from "./ledger.js";
import { type Act, createServers, type ScheduleServers, SERVERS, type ServerName } from "./servers.js";

/** Something that happens. Numbers choose among what there is, and `together` does not wait for what is under way. */
export type Step = { readonly together: boolean } & (
  | {
      readonly kind: "call";
      readonly client: number;
      readonly server: ServerName;
      readonly tool: "act" | "guarded" | "ask";
      readonly act: Act;
      readonly answer: Answer;
      /** Turns of the event loop after which the client gives up. */
      readonly abortAfter: number | null;
      /** The client loses its connections while the call runs. */
      readonly isCut: boolean;
      /** The client claims an approval that was never asked for. */
      readonly isForged: boolean;
    }
  | { readonly kind: "replay"; readonly round: number; readonly times: number; readonly user: number | null }
  | {
      readonly kind: "task";
      readonly client: number;
      readonly does: "create" | "list" | "get" | "result" | "cancel";
      /** Of the tasks that the user knows, or of all tasks. */
      readonly task: number;
      readonly ofAll: boolean;
      /** Of a server whose tasks the client cannot follow. */
      readonly isForeign: boolean;
      readonly act: Act;
    }
  | {
      readonly kind: "read" | "subscribe" | "list" | "plan";
      readonly client: number;
      readonly server: ServerName;
    }
  | { readonly kind: "cut"; readonly client: number }
  | { readonly kind: "leave"; readonly client: number; readonly endsSession: boolean }
  | { readonly kind: "report"; readonly server: ServerName }
  | { readonly kind: "crash"; readonly server: ServerName; readonly downMs: number }
  | { readonly kind: "reload"; readonly policy: number }
  | { readonly kind: "pass"; readonly ms: number }
);

export interface Schedule {
  readonly replicas: number;
  readonly clients: readonly { readonly user: number; readonly era: ClientEra }[];
  readonly steps: readonly Step[];
}

const CALL_MS = 20_000;
const QUESTION_MS = 60_000;
const STATE_MS = 60_000;
const IDLE_MS = 60_000;
/** A request may be asked for a server twice, wait for an answer, and for the server again. */
const LIMIT_MS = QUESTION_MS + 4 * CALL_MS;
/** Longer than any record of a session, a task or a lease. */
const RECORD_MS = 40 * 86_400_000;
const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

interface Known {
  readonly mark: string;
  readonly id: string;
}

/** Plays a schedule to its end and throws if something happened that must not. */
export async function play(schedule: Schedule, seen: Map<string, number>): Promise<void> {
  using time = new VirtualTime();
  const ledger = new Ledger(seen);
  const servers = createServers(ledger, time);
  const store = memoryStore();
  const toolports: Toolport[] = [];
  const gateways: Gateway[] = [];
  for (let replica = 0; replica < schedule.replicas; replica += 1) {
    const mcpServers = Object.fromEntries(SERVERS.map((name) => [name, servers[name].entry]));
    const toolport = createToolport({ mcpServers, store, logger: QUIET, timeoutMs: CALL_MS });
    toolports.push(toolport);
    gateways.push(
      createGateway(toolport, {
        auth: { verify: (request) => userOf(request.headers.get("authorization")) },
        policy: ledger.policy(),
        questionTimeoutMs: QUESTION_MS,
        stateTtlMs: STATE_MS,
        userIdleMs: IDLE_MS,
      }),
    );
  }
  const world: ClientWorld = {
    gateways,
    ledger,
    time,
    answers: new Map(),
    rounds: [],
    states: new Set(),
    open: new Set(),
  };
  const stage = new Stage(schedule, world, servers);
  await stage.open();
  for (const step of schedule.steps) await stage.step(step);
  await stage.end();
  // Everything that waits for users and clients has a limit.
  await time.pass(3 * IDLE_MS);
  const connections = SERVERS.filter((name) => servers[name].connections > 0);
  if (connections.length > 0) ledger.violations.push(`Connections of idle users are left: ${connections}`);
  const closing = [...gateways.map((gateway) => gateway.close()), ...toolports.map((each) => each.close())];
  let isClosed = false;
  void Promise.allSettled(closing).then(() => {
    isClosed = true;
  });
  await time.pass(LIMIT_MS, () => isClosed);
  if (!isClosed) ledger.violations.push("The gateway does not close");
  await time.quiet();
  if (time.timers > 0) ledger.violations.push(`${time.timers} timers are left`);
  if (ledger.policyListeners > 0) ledger.violations.push(`${ledger.policyListeners} listeners are left`);
  time.skip(RECORD_MS);
  // Only the keys of the gateway have no end.
  const records = (await store.list("")).filter((key) => key !== "serve/keys");
  if (records.length > 0) ledger.violations.push(`Records are left: ${records}`);
  await store.close();
  if (ledger.violations.length > 0) throw new Error([...new Set(ledger.violations)].slice(0, 5).join("\n"));
}

const userOf = (authorization: string | null) => {
  const principal = authorization?.replace("Bearer ", "") ?? "";
  return MARKS.some((mark) => mark === principal) ? { principal } : undefined;
};

class Stage {
  readonly #schedule: Schedule;
  readonly #world: ClientWorld;
  readonly #servers: ScheduleServers;
  readonly #clients: ScheduleClient[] = [];
  readonly #left = new Set<ScheduleClient>();
  readonly #unsettled = new Set<string>();
  /** Tasks that clients were given. */
  readonly #tasks: Known[] = [];
  #calls = 0;

  constructor(schedule: Schedule, world: ClientWorld, servers: ScheduleServers) {
    this.#schedule = schedule;
    this.#world = world;
    this.#servers = servers;
  }

  async open(): Promise<void> {
    for (const { user, era } of this.#schedule.clients) {
      const client = new ScheduleClient(this.#world, MARKS[user]!, era);
      this.#clients.push(client);
      this.#begin("connect", client.connect());
    }
    await this.#settled(CALL_MS);
  }

  async step(step: Step): Promise<void> {
    const { time, ledger } = this.#world;
    if (!step.together) await this.#settled(QUESTION_MS / 2);
    const target = "client" in step ? this.#clients[step.client % this.#clients.length] : undefined;
    if (target !== undefined && this.#left.has(target)) return;
    const client = target!;
    switch (step.kind) {
      case "call":
        return this.#call(client, step);
      case "replay":
        return this.#replay(step);
      case "task":
        return this.#begin(`task ${step.does}`, this.#task(client, step));
      case "read":
        return this.#begin("read", client.read(this.#uriOf(client, step.server)));
      case "subscribe":
        return this.#begin("subscribe", client.subscribe([this.#uriOf(client, step.server)]));
      case "list":
        return this.#begin("list", client.list());
      case "plan":
        return this.#begin("plan", client.plan(step.server));
      case "cut":
        return client.cut();
      case "leave":
        this.#left.add(client);
        return this.#begin("leave", client.close(step.endsSession));
      case "report":
        return this.#servers[step.server].report();
      case "crash":
        return this.#servers[step.server].crash(step.downMs);
      case "reload":
        return ledger.reload(step.policy);
      case "pass":
        return time.pass(step.ms);
    }
  }

  /** Everything under way ends within its limit; then the clients leave. */
  async end(): Promise<void> {
    const { time, ledger, open } = this.#world;
    await time.pass(LIMIT_MS, () => this.#unsettled.size === 0);
    for (const { what, isStream, since } of open)
      if (!isStream) ledger.violations.push(`${what} has no response after ${Date.now() - since} ms`);
    // The SDK's client waits for its person, not for the gateway.
    for (const client of this.#clients) client.release();
    await this.#settled(2 * CALL_MS);
    for (const what of this.#unsettled) ledger.violations.push(`${what} never ends`);
    for (const client of this.#clients)
      if (!this.#left.has(client)) this.#begin("close", client.close(client.era === "legacy"));
    await this.#settled(CALL_MS);
    if (open.size > 0)
      ledger.violations.push(`Open after the clients have left: ${[...open].map(({ what }) => what)}`);
  }

  #call(client: ScheduleClient, step: Extract<Step, { kind: "call" }>): void | Promise<void> {
    const { answers } = this.#world;
    const { server, tool, act, answer, abortAfter, isCut, isForged } = step;
    const id = this.#nextId();
    answers.set(id, answer);
    const name = `${server}__${tool}`;
    const args = { id, mark: client.mark, act };
    if (isForged) {
      const approval = { action: "accept", content: { allow: true } };
      return this.#begin(
        id,
        client.raw("tools/call", { name, arguments: args, inputResponses: { approval } }),
      );
    }
    const abort = new AbortController();
    this.#begin(id, client.call(name, args, abort.signal));
    if (abortAfter !== null) return this.#world.time.turns(abortAfter).then(() => abort.abort());
    // By then the gateway has opened a stream that the client can resume.
    if (isCut) return this.#world.time.pass(100).then(() => client.cut());
  }

  /** A request with a state is sent again: by the same client to any replica, or by another user. */
  #replay({ round, times, user }: Extract<Step, { kind: "replay" }>): void {
    const { rounds, ledger } = this.#world;
    const chosen = rounds[round % Math.max(1, rounds.length)];
    const sender = this.#clients.find((client) => client.mark === chosen?.mark && !this.#left.has(client));
    if (chosen === undefined || sender === undefined) return;
    ledger.count("replays");
    const mark = user === null ? chosen.mark : MARKS[user]!;
    for (let time = 0; time < times; time += 1)
      this.#begin("replay", sender.post(chosen.headers, chosen.message, mark));
  }

  async #task(client: ScheduleClient, step: Extract<Step, { kind: "task" }>): Promise<void> {
    const { ledger } = this.#world;
    const { does, act, isForeign } = step;
    if (does === "create") {
      const id = this.#nextId();
      const name = `${(client.era === "legacy") === isForeign ? "extended" : "jobs"}__job`;
      const task = client.era === "legacy" && { task: { ttl: 600_000 } };
      const args = { id, mark: client.mark, act };
      const { result } = await client.raw("tools/call", { name, arguments: args, ...task });
      const taskId = result?.task?.taskId ?? result?.taskId;
      if (taskId !== undefined) this.#know(client, taskId);
      return;
    }
    if (does === "list") {
      const { result } = await client.raw("tasks/list", {});
      for (const { taskId } of result?.tasks ?? []) {
        ledger.count("listed tasks");
        this.#know(client, taskId);
      }
      return;
    }
    const known = this.#tasks.filter(({ mark }) => step.ofAll || mark === client.mark);
    const task = known[step.task % Math.max(1, known.length)];
    if (task === undefined) return;
    const method = `tasks/${does === "result" && client.era === "modern" ? "get" : does}`;
    const { result } = await client.raw(method, { taskId: task.id });
    if (result === undefined) return;
    ledger.count("requests about tasks");
    if (!this.#tasks.some(({ mark, id }) => mark === client.mark && id === task.id))
      ledger.violations.push(`${client.mark} used a task of ${task.mark}`);
  }

  #know({ mark }: ScheduleClient, id: unknown): void {
    this.#tasks.push({ mark, id: String(id) });
  }

  #uriOf({ mark }: ScheduleClient, server: ServerName): string {
    return server === "jobs" || server === "extended" ? `job://${mark}` : `${server}-note://${mark}`;
  }

  #nextId(): string {
    this.#calls += 1;
    return `call-${this.#calls}`;
  }

  #begin(what: string, ending: Promise<unknown>): void {
    const { ledger } = this.#world;
    const named = `${what} #${this.#unsettled.size}-${Math.random()}`;
    this.#unsettled.add(named);
    ending
      .then(
        () => ledger.count(`${what.replace(/-\d+$/, "")} done`),
        () => ledger.count(`${what.replace(/-\d+$/, "")} failed`),
      )
      .finally(() => this.#unsettled.delete(named));
  }

  /** Lets time pass until all that was begun has ended. */
  #settled(ms: number): Promise<void> {
    return this.#world.time.pass(ms, () => this.#unsettled.size === 0);
  }
}
