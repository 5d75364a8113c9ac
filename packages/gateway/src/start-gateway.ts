/** The parts of a running gateway, and their end. */

import { type ToolInfo, withDeadline } from "@toolport/base";
import type { CodeExecutor, CodeModeOptions } from "@toolport/code";
import type { Toolport, ToolsOptions } from "@toolport/core";
import { compileFilter, givePort, type Users } from "@toolport/core/internal";
import { openAudit } from "./audit/open-audit.js";
import type { Authenticator } from "./auth/authenticator.js";
import { createConnect, createUpstreamLogins } from "./auth/connect.js";
import { offersOwnTool, visibleTools } from "./calls/own-tools.js";
import { ParkedCalls } from "./calls/parked-calls.js";
import { Questions } from "./calls/questions.js";
import { UserTasks } from "./calls/user-tasks.js";
import { callInnerTool, ProgramLimits } from "./code/call-inner-tool.js";
import { type GatewayOptions, MAX_BODY_BYTES } from "./gateway-options.js";
import type { AskClient } from "./message.js";
import { createPolicy, createServerRule, readsUris } from "./policy/create-policy.js";
import { ALLOW, fixedPolicy, type Policy, type PolicyDecision } from "./policy/policy.js";
import { RuleReview } from "./policy/review-rules.js";
import { GATEWAY_KEYS_RECORD, loadGatewayKeys } from "./replicas/gateway-key.js";
import { Mailbox } from "./replicas/mailbox.js";
import { createSeal } from "./replicas/seal.js";
import { createSharedNotes } from "./replicas/shared-notes.js";
import type { GatewayCode, GatewayParts, RequestContext } from "./request-context.js";
import { Sessions } from "./sessions.js";
import { Feeds } from "./streams/feeds.js";
import { GatewayUsers } from "./users.js";

/** A store that takes longer is not ready. */
const READY_MS = 2_000;

/** Reads the keys of the gateway, and creates its parts. Returns them, and a function that ends them. */
export async function startGateway(
  ports: Users,
  options: GatewayOptions,
  authenticator: Authenticator | undefined,
) {
  const { settings, report } = ports.plain.parts;
  const { store } = settings;
  // Wrong options and a missing package are found before anything is opened.
  const review = new RuleReview(options.policy, ports.plain, settings.logger);
  const code = options.code ? await openGatewayCode(options.code === true ? {} : options.code) : undefined;
  const keys = await loadGatewayKeys(store);
  const seal = createSeal(keys);
  const notes = createSharedNotes(store, "serve/session/");
  await notes.ready;
  const mailbox = new Mailbox(store);
  const { maxStreams = 10_000 } = options;
  const hasUsers = Boolean(options.auth) || options.identify !== undefined;
  const users = new GatewayUsers(
    ports,
    {
      maxUsers: options.maxUsers ?? 10_000,
      maxStreams,
      maxStreamsPerUser: options.maxStreamsPerUser ?? (hasUsers ? Math.ceil(maxStreams / 10) : maxStreams),
      userIdleMs: options.userIdleMs ?? 900_000,
      concurrency: options.concurrency ?? 64,
      bodyBytes: 4 * (options.maxBodyBytes ?? MAX_BODY_BYTES),
      rateLimit: options.rateLimit,
    },
    report,
  );
  const sessions = new Sessions(seal, notes);
  const feeds = new Feeds(ports, report);
  const questionTimeoutMs = options.questionTimeoutMs ?? 600_000;
  const parked: GatewayParts["parked"] = new ParkedCalls(questionTimeoutMs);
  const isServed = (principal: string | undefined, server: string): boolean =>
    options.servers?.(principal)?.includes(server) ?? true;
  const policies = [
    ...(options.servers === undefined ? [] : [createServerPolicy(isServed)]),
    ...(options.policy === undefined ? [] : [options.policy].flat()),
  ];
  const policy = policies.length === 0 ? undefined : createPolicy(policies, settings.logger);
  policy?.onChange(() => {
    review.reloaded();
    feeds.changedForAll();
  });
  const auditParts = { mac: seal.mac, replica: mailbox.replica, logger: settings.logger };
  const audit = options.audit === undefined ? undefined : await openAudit(options.audit, auditParts);
  const isWanted = compileFilter({ only: options.only, except: options.except, filter: options.filter });
  const hidesServer = createServerRule(policies);
  const parts: GatewayParts = {
    store,
    seal,
    notes,
    mailbox,
    users,
    sessions,
    feeds,
    parked,
    tasks: new UserTasks(store, report),
    policy,
    review,
    readsUris: () => options.policy !== undefined && readsUris(options.policy),
    code,
    questions: new Questions(mailbox, seal, questionTimeoutMs),
    connect:
      authenticator &&
      createConnect({
        authenticator,
        seal,
        store,
        logins: createUpstreamLogins((principal) => ports.use(principal, "needed")),
        callbackUrl: settings.callbackUrl?.toString(),
        warn: (message, server) => ports.plain.parts.warn(server, message),
      }),
    audit,
    stateTtlMs: options.stateTtlMs ?? 600_000,
    isSameForAll: !options.auth && policy === undefined,
    baggage: options.baggage ?? false,
    offers: (principal, tool) =>
      (options.servers === undefined || isServed(principal, tool.server)) &&
      isWanted({ name: tool.server }, tool) === undefined,
    showsServer: ({ principal, scopes }, server) => !hidesServer({ principal, scopes, server }),
    async isReady() {
      const reading = store.get(GATEWAY_KEYS_RECORD).then(() => true);
      const limit = { timeoutMs: READY_MS, onTimeout: () => new Error("late") };
      return withDeadline(reading, limit).catch(() => false);
    },
    report,
  };
  return {
    parts,
    async stop(): Promise<void> {
      parked.close();
      await code?.close();
      feeds.close();
      sessions.close();
      users.close();
      policy?.close();
      await audit?.close();
      mailbox.close();
      notes.close();
      keys.close();
    },
  };
}

/** Throws a `ConfigError` if an option is wrong or a package is missing. */
async function openGatewayCode(options: CodeModeOptions): Promise<GatewayCode> {
  // Loaded only if it is used.
  const { createCodeMode } = await import("@toolport/code");
  const { EXECUTE_NAME, loadExecutor, SEARCH_NAME } = await import("@toolport/code/internal");
  // Checks the options: nothing is used of the port yet.
  createCodeMode({} as Toolport, options);
  // One executor for all users, so that they share its threads: each runs one program at a time, in a VM of its own.
  const executor = options.executor ?? (await loadExecutor(options));
  const executorFor = (owner: string | undefined): CodeExecutor => ({
    version: executor.version,
    start: (program, host) => executor.start({ ...program, owner }, host),
  });
  return {
    isOffered: (name) => name === EXECUTE_NAME || name === SEARCH_NAME,
    open: (context, ask) =>
      createCodeMode(toolportOf(context, ask), {
        ...options,
        executor: executorFor(context.client.principal),
      }),
    async close() {
      // An executor of the program's own stays open.
      if (options.executor === undefined) await executor.close?.();
    },
  };
}

/** What programs use of a Toolport, as the client may use it. */
function toolportOf(context: RequestContext, ask: AskClient | undefined) {
  const { port } = context.user;
  const limits = new ProgramLimits(context.parts.users, context.user);
  const callTool = (
    name: string,
    args: Readonly<Record<string, unknown>>,
    { signal }: { signal: AbortSignal },
  ) => callInnerTool(context, { name, args, signal, ask, limits });
  const toolport: Pick<Toolport, "tools" | "searchTools" | "callTool"> = {
    tools: (options) => toolsOf(context, options),
    async searchTools(query, { limit = 10, ...wait } = {}) {
      await port.need("tools", wait);
      return (await port.catalog.search(query, limit)).map(({ tool }) => tool);
    },
    // Programs use one of its forms.
    callTool: callTool as Toolport["callTool"],
  };
  return givePort(toolport, {
    get artifacts() {
      return port.artifacts;
    },
    ownTools: [],
  });
}

/** The tools that a list would show to this client without code mode, and those that it would defer. */
async function toolsOf(
  context: RequestContext,
  { only, except, filter, signal = context.exchange.signal }: ToolsOptions = {},
): Promise<ToolInfo[]> {
  const { port } = context.user;
  await port.need("tools", { signal });
  const isWanted = compileFilter({ only, except, filter });
  const passes = (tool: ToolInfo) => isWanted({ name: tool.server }, tool) === undefined;
  const own = port.own
    .shown({ servers: undefined, all: true, isWanted: passes })
    .filter(({ name }) => offersOwnTool(context, name));
  const listed = port.catalog.snapshot().tools.filter(passes);
  const isVisible = await visibleTools(context, listed);
  return [...own, ...listed.filter((_, index) => isVisible[index])];
}

const DENY: PolicyDecision = { effect: "deny", reason: "this server is not offered to you" };

/** @param isServed whether a user may use a server. Tools of the gateway itself belong to no server */
const createServerPolicy = (isServed: (principal: string | undefined, server: string) => boolean): Policy =>
  fixedPolicy(({ principal, server }) => (server === "" || isServed(principal, server) ? ALLOW : DENY));
