/** The composition root: creates the ports and connects each public method to the part that implements it. */

import { type Fields, isForModel, type ToolInfo } from "@toolport/base";
import { compileFilter, passAll } from "./catalog/filters.js";
import { parseServerEntry } from "./config/parse-servers.js";
import type { ServerEntry } from "./config/server-entry.js";
import { failureOf } from "./connection/connection-state.js";
import type { ServerConnection, WaitOptions } from "./connection/server-connection.js";
import type { SuspendedForApproval } from "./execution/suspend/suspension.js";
import type { AnyCallOptions } from "./execution/tool-call.js";
import { complete } from "./port/complete.js";
import { getPrompt } from "./port/get-prompt.js";
import { instructions } from "./port/instructions.js";
import type { OAuthCallbackOptions } from "./port/oauth-callback.js";
import type { ToolportOptions } from "./port/options.js";
import type { Port } from "./port/port.js";
import { givePort, type PortAccess } from "./port/port-access.js";
import { readOptions } from "./port/read-options.js";
import { checkRequiredTools, handleFailures, reportOf, throwFailures } from "./port/report.js";
import { readResource } from "./port/resources/read-resource.js";
import { createSharedParts } from "./port/shared-parts.js";
import { createSkills } from "./port/skills.js";
import { takeSnapshot } from "./port/snapshot.js";
import type { SuspendableCall } from "./port/suspensions/port-suspensions.js";
import type { TaskHandle } from "./port/tasks/port-tasks.js";
import { Users } from "./port/users.js";
import type { Toolport } from "./toolport.js";

/**
 * Creates a port to many MCP servers. It connects nothing before `connect()`, `tools()` or `callTool()`.
 *
 * @example
 * ```ts
 * await using toolport = createToolport({
 *   mcpServers: { files: { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] } },
 * });
 * const tools = await toolport.tools();
 * const result = await toolport.callTool("files__list_directory", { path: "." });
 * console.log(result.text);
 * ```
 */
export function createToolport(options: ToolportOptions = {}): Toolport {
  const users = new Users(createSharedParts(readOptions(options)));
  const all: AllPorts = {
    users,
    methodsOf(port) {
      const methods = methodsByPort.get(port)?.deref() ?? toToolport(port, all);
      methodsByPort.set(port, new WeakRef(methods));
      return methods;
    },
    callback: {},
  };
  return all.methodsOf(users.plain);
}

/** What the ports of one `createToolport` share. */
interface AllPorts {
  readonly users: Users;
  /** The same object for the same port, as long as the program holds it. */
  methodsOf(port: Port): Toolport;
  /** What browsers show after a login. The same for all users, because the callback request does not say whose login it was. */
  callback: OAuthCallbackOptions;
}

/** The methods of an idle user that no one holds are freed: they are a third of its memory. */
const methodsByPort = new WeakMap<Port, WeakRef<Toolport>>();

/** What the parts of Toolport above the ports use of a port. */
const accessTo = (port: Port, { users }: AllPorts): PortAccess => ({
  get artifacts() {
    return port.artifacts;
  },
  get ownTools() {
    return port.own.shown({ servers: undefined, all: false, isWanted: () => true });
  },
  // What code mode saves is kept where suspended calls are.
  state: {
    store: port.parts.settings.store,
    principal: port.principal?.name,
    forgetCalls: async (keys) => (await port.suspensions()).forget(keys),
  },
  users: port === users.plain ? users : undefined,
});

/** The public methods of one port. */
function toToolport(port: Port, all: AllPorts): Toolport {
  const { pool, catalog, filters, parts } = port;
  const { settings } = parts;
  let closing: Promise<void> | undefined;

  async function connectOne(connection: ServerConnection, wait: WaitOptions = {}) {
    const [outcome] = await pool.connect([connection], { ...wait, isRequested: true });
    if (wait.signal?.aborted) throw wait.signal.reason;
    if (outcome!.error === undefined) port.pipeline.targets.resetBreaker(connection.name);
    return reportOf(outcome!, catalog);
  }

  function register(
    name: string,
    entry: ServerEntry,
  ): { connection: ServerConnection; saving: Promise<void> } {
    port.assertOpen();
    const config = parseServerEntry(name, entry);
    for (const other of port.others()) other.register(config);
    port.register(config);
    return {
      connection: pool.require(name),
      saving: Promise.resolve(port.saved?.state.then((state) => state?.keepServer(name, entry))),
    };
  }

  /** Connects the servers that have not been listed yet, then reads a list of the catalog. */
  async function readCatalog<Item>(read: () => readonly Item[], wait: WaitOptions = {}): Promise<Item[]> {
    await port.opened();
    await port.ensureLists(pool.all(), wait);
    return [...read()];
  }

  const methods: Toolport = {
    async connect({ servers, ...wait } = {}) {
      // Not awaited if there is nothing to wait for: a `close()` right after this call must close the new connections.
      const opening = port.opened();
      if (opening !== undefined) await opening;
      const chosen = port.choose(servers).filter(({ config }) => config.enabled);
      const outcomes = await pool.connect(chosen, { ...wait, isRequested: true });
      // With the others, connecting has read the lists.
      if (port.reads === "needed") await port.ensureLists(chosen, wait);
      if (wait.signal?.aborted) throw wait.signal.reason;
      handleFailures(outcomes, settings.onServerError, parts.report);
      if (servers === undefined) checkRequiredTools(settings.requiredTools, catalog);
      return {
        servers: Object.fromEntries(
          outcomes.map((outcome) => [outcome.connection.name, reportOf(outcome, catalog)]),
        ),
      };
    },
    async tools({ servers, only, except, filter, all = false, deferred = false, ...wait } = {}) {
      await port.opened();
      const chosen = port.choose(servers);
      await port.ensureLists(chosen, wait);
      if (settings.onServerError === "throw") throwFailures(chosen.flatMap(({ state }) => failureOf(state)));
      const isWanted = compileFilter({ only, except, filter });
      const passes = (tool: ToolInfo) =>
        isWanted === passAll || isWanted({ name: tool.server }, tool) === undefined;
      const hidden = port.own.deferred();
      const offered = catalog
        .tools()
        .filter(
          (tool) =>
            (servers?.includes(tool.server) ?? true) &&
            (all || (isForModel(tool) && hidden.has(tool) === deferred)) &&
            passes(tool),
        );
      if (deferred) return offered;
      return [...port.own.shown({ servers, all, isWanted: passes }), ...offered];
    },
    async searchTools(query, { limit = 10, ...wait } = {}) {
      await port.opened();
      await port.ensureLists(pool.all(), wait);
      return (await catalog.search(query, limit)).map(({ tool }) => tool);
    },
    async cost({ count, servers, ...wait } = {}) {
      await port.opened();
      await port.ensureLists(port.choose(servers), wait);
      return (await import("./port/tool-costs.js")).toolCosts(port, { count, servers });
    },
    callTool: createCallTool(port) as Toolport["callTool"],
    requestApproval: (name, args = {}, options = { suspend: true }) =>
      requestApproval(port, { name, args, options }),
    async tasks() {
      await port.opened();
      return port.tasks.list();
    },
    async task<Structured>(id: string) {
      await port.opened();
      return (await port.tasks.find(id)) as TaskHandle<Structured> | undefined;
    },
    async resume(token, answer = {}, options = {}) {
      await port.opened();
      return (await port.suspensions()).resume(token, answer, options) as Promise<never>;
    },
    async suspended() {
      await port.opened();
      return (await port.suspensions()).list();
    },
    async discard(token, options = {}) {
      await port.opened();
      await (await port.suspensions()).discard(token, options);
    },
    skills: (server) => createSkills(port, server),
    resources: (wait) => readCatalog(catalog.resources, wait),
    resourceTemplates: (wait) => readCatalog(catalog.resourceTemplates, wait),
    prompts: (wait) => readCatalog(catalog.prompts, wait),
    async readResource(server, resource, access = {}) {
      await port.opened();
      return readResource(port, { server, resource }, access);
    },
    async subscribe(server, uri, listener, access = {}) {
      await port.opened();
      return port.subscriptions.add({ server, uri, listener }, access);
    },
    async complete(server, ref, argument, access = {}) {
      await port.opened();
      return complete(port, { server, ref, argument }, access);
    },
    async instructions(wanted = {}) {
      await port.opened();
      return instructions(port, wanted);
    },
    async getPrompt(server, name, args = {}, access = {}) {
      await port.opened();
      return getPrompt(port, { server, name, args }, access);
    },
    async add(name, entry, wait) {
      await port.opened();
      const { connection, saving } = register(name, entry);
      const [report] = await Promise.all([connectOne(connection, wait), saving]);
      return report;
    },
    register(name, entry) {
      register(name, entry);
    },
    async remove(name, options) {
      await port.opened();
      // Loaded on first use: most programs remove no servers.
      const { removeServer } = await import("./port/saved/change-servers.js");
      await removeServer(port, name, options);
    },
    async connectServer(name, wait) {
      const opening = port.opened();
      if (opening !== undefined) await opening;
      return connectOne(pool.require(name), wait);
    },
    async discover(name, wait) {
      await port.opened();
      const connection = pool.require(name);
      const startedAt = performance.now();
      await port.reread(connection, wait);
      return reportOf({ connection, ms: Math.round(performance.now() - startedAt) }, catalog);
    },
    async refresh(name, wait) {
      await port.opened();
      const ready = pool.all().filter(({ session }) => session !== undefined);
      const connections = name === undefined ? ready : [pool.require(name)];
      await Promise.all(connections.map((connection) => port.reread(connection, wait)));
      const names = new Set(connections.map((connection) => connection.name));
      return catalog.tools().filter(({ server }) => names.has(server));
    },
    async disconnect(name) {
      const connections = port.choose(name === undefined ? undefined : [name]);
      await Promise.all(connections.map((connection) => connection.disconnect()));
    },
    async ping(name, { signal, timeoutMs = settings.timeoutMs } = {}) {
      port.assertOpen();
      return port.read(
        pool.require(name),
        async (session) => {
          const startedAt = performance.now();
          await session.ping({ timeoutMs, maxTimeoutMs: timeoutMs, signal });
          return { ms: performance.now() - startedAt };
        },
        { signal, timeoutMs },
      );
    },
    addFilter: (filter) => void filters.add(filter),
    setFilters: (input) => void filters.set(input),
    resetFilters: () => void filters.reset(),
    approveTools: (server, tools) => catalog.approve(server, tools),
    exportCatalog: () => catalog.export(),
    rootsChanged: () => port.serverRequests.rootsChanged(),
    async finishAuth(server, params, wait) {
      await port.opened();
      const connection = pool.require(server);
      let isSpent = false;
      const finishing = port.oauth.finish(server, params, () => {
        isSpent = true;
      });
      await finishing.catch(async (error: unknown) => {
        if (isSpent) await (await loginCode()).renewLogin(connection);
        throw error;
      });
      return connectOne(connection, wait);
    },
    async handleOAuthCallback(request) {
      await port.opened();
      const { answerOAuthCallback } = await loginCode();
      const portOf = (principal: string | undefined) => all.users.peek(principal);
      return answerOAuthCallback(request, port, { options: all.callback, portOf });
    },
    configureOAuthCallback(callback) {
      all.callback = callback;
    },
    async authStatus(server) {
      await port.opened();
      pool.require(server);
      return port.oauth.status(server);
    },
    async logOut(server) {
      await port.opened();
      await (await port.oauth.require(server)).logOut();
      await pool.require(server).disconnect();
    },
    snapshot: () => takeSnapshot(port),
    as(principal, principalOptions = {}) {
      port.assertOpen();
      return all.methodsOf(all.users.as(principal, principalOptions));
    },
    on: (event, listener) => parts.emitter.on(event, listener),
    async client(server, wait = {}) {
      await port.opened();
      return (await pool.require(server).acquire(wait)).client();
    },
    close() {
      closing ??= all.users.close(port);
      return closing;
    },
    [Symbol.asyncDispose]() {
      return this.close();
    },
  };
  return givePort(methods, accessTo(port, all));
}

/** Saves a call that a person has to approve. Undefined if it needs no approval. */
async function requestApproval(
  port: Port,
  { name, args, options }: SuspendableCall,
): Promise<SuspendedForApproval | undefined> {
  await port.opened();
  const target = port.catalog.entry(name) === undefined ? port.own.targetOf(name, args) : { name, args };
  return target && (await port.suspensions()).requestApproval({ ...target, options });
}

/** Calls a tool by its name: a tool of a server, or one of the port itself, as a task, with suspension, or plainly. */
function createCallTool(
  port: Port,
): (name: string, args?: Fields, options?: AnyCallOptions) => Promise<unknown> {
  return async (name, args = {}, options = {}) => {
    // Not awaited if there is nothing to wait for: a `close()` right after this call must end the call.
    const opening = port.opened();
    if (opening !== undefined) await opening;
    if (options.suspend) return callOrSuspend(port, { name, args, options });
    if (options.task) return port.tasks.start(name, args, options);
    const entry = port.catalog.entry(name);
    if (entry !== undefined) return (await port.run(entry, args, options)).result;
    return port.own.call(name, args, options) ?? port.callTool(name, args, options);
  };
}

async function callOrSuspend(port: Port, { name, args, options }: SuspendableCall): Promise<unknown> {
  const target = port.catalog.entry(name) === undefined ? port.own.targetOf(name, args) : { name, args };
  if (target !== undefined) return (await port.suspensions()).call({ ...target, options });
  const { suspend: _, ...plain } = options;
  return port.own.call(name, args, plain) ?? port.callTool(name, args, plain);
}

/** Loaded with the first login of a web application. */
const loginCode = () => import("./port/oauth-callback.js");
