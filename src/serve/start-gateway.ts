/** The parts of a running gateway, and their end. */
import { compileFilter } from "../catalog/filters/filters.js";
import type { GatewayAccess } from "../port/gateway-access.js";
import { withDeadline } from "../util/with-deadline.js";
import type { AuditEntry } from "./audit/audit-event.js";
import { openAudit } from "./audit/open-audit.js";
import type { Authenticator } from "./auth/authenticator.js";
import { createConnect } from "./auth/connect.js";
import { createUpstreamLogins } from "./auth/upstream-logins.js";
import { ParkedCalls } from "./calls/parked-calls.js";
import { Questions } from "./calls/questions.js";
import { UserTasks } from "./calls/user-tasks.js";
import { openGatewayCode } from "./code/gateway-code.js";
import { type GatewayOptions, MAX_BODY_BYTES } from "./gateway-options.js";
import { createPolicy } from "./policy/create-policy.js";
import { createServerRule, readsUris } from "./policy/hides-server.js";
import { RuleReview } from "./policy/rule-review.js";
import { createServerPolicy } from "./policy/server-policy.js";
import { GATEWAY_KEYS_RECORD, loadGatewayKeys } from "./replicas/gateway-key.js";
import { createMailbox } from "./replicas/mailbox.js";
import { createSeal } from "./replicas/seal.js";
import { createSharedNotes } from "./replicas/shared-notes.js";
import type { GatewayParts, ServedEvent } from "./request-context.js";
import { Sessions } from "./sessions.js";
import { Feeds } from "./streams/feeds.js";
import { Users } from "./users.js";

/** A gateway that has read its keys. */
export interface RunningGateway {
  readonly parts: GatewayParts;
  readonly stop: () => Promise<void>;
}

/** A store that takes longer is not ready. */
const READY_MS = 2_000;

/** Reads the keys of the gateway, and creates its parts. */
export async function startGateway(
  access: GatewayAccess,
  options: GatewayOptions,
  authenticator: Authenticator | undefined,
): Promise<RunningGateway> {
  const { settings, report } = access.plain.parts;
  const { store } = settings;
  // Wrong options and a missing package are found before anything is opened.
  const review = new RuleReview(options.policy, access.plain, settings.logger);
  const code = options.code ? await openGatewayCode(options.code === true ? {} : options.code) : undefined;
  const keys = await loadGatewayKeys(store);
  const seal = createSeal(keys);
  const notes = createSharedNotes(store, "serve/session/");
  await notes.ready;
  const mailbox = createMailbox(store);
  const { maxStreams = 10_000 } = options;
  const hasUsers = Boolean(options.auth) || options.identify !== undefined;
  const users = new Users(
    access,
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
  const feeds = new Feeds(access, report);
  const parkMs = options.parkMs ?? 600_000;
  const parked: GatewayParts["parked"] = new ParkedCalls(parkMs);
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
  const audit =
    options.audit === undefined
      ? undefined
      : await openAudit(options.audit, {
          mac: seal.mac,
          replica: mailbox.replica,
          logger: settings.logger,
        });
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
    questions: new Questions(mailbox, seal, parkMs),
    connect:
      authenticator &&
      createConnect({
        authenticator,
        seal,
        store,
        logins: createUpstreamLogins((principal) => access.portOf(principal)),
        callbackUrl: settings.callbackUrl?.toString(),
        warn: (message, server) => access.plain.parts.warn(server, message),
      }),
    audit: audit && { space: audit.space, record: (event) => audit.record(auditEntry(event)) },
    stateTtlMs: options.stateTtlMs ?? 600_000,
    isSameForAll: !options.auth && policy === undefined,
    baggage: options.baggage ?? false,
    offers: (principal, tool) =>
      isServed(principal, tool.server) && isWanted({ name: tool.server }, tool) === undefined,
    showsServer: ({ principal, scopes }, server) => !hidesServer({ principal, scopes, server }),
    async isReady() {
      const reading = store.get(GATEWAY_KEYS_RECORD).then(() => true);
      return withDeadline(reading, { timeoutMs: READY_MS, onTimeout: () => new Error("late") }).catch(
        () => false,
      );
    },
    report,
  };
  return {
    parts,
    async stop() {
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

const auditEntry = ({ client, request, facts, durationMs }: ServedEvent): AuditEntry => ({
  principal: client.principal,
  method: request.method,
  server: facts.server,
  tool: facts.tool,
  definition: facts.definition,
  args: facts.args,
  outcome: facts.outcome ?? "ok",
  code: facts.errorCode,
  durationMs,
});
