/** Actions that the page can request, by name. Each calls a method of the port. */

import { randomUUID } from "node:crypto";
import {
  CatalogError,
  canParseUrl,
  didYouMean,
  type Fields,
  hideCredentials,
  suggest,
  type ToolInfo,
} from "@toolport/base";
import type { Progress, ResumeInput, ServerReport, Toolport } from "@toolport/core";
import type { Store } from "@toolport/stores";
import type { ConsoleApps } from "./console-apps.js";
import type { LoginCallbacks } from "./login-callbacks.js";
import { toProgressView } from "./logs.js";
import type { Observer } from "./observer.js";
import { BadRequest, fieldsOf, optionalText, textOf, textsOf } from "./read-body.js";
import { messageOf, redactJson } from "./redact-json.js";
import { toCatalogView, toToolView } from "./views.js";
import type { WaitingCalls } from "./waiting-calls.js";

interface ActionParts {
  readonly observer: Observer;
  readonly store: Store | undefined;
  readonly waiting: WaitingCalls;
  readonly logins: LoginCallbacks;
  readonly apps: ConsoleApps;
}

/** A template with the values of its variables. */
type TemplateReference = Exclude<Parameters<Toolport["readResource"]>[1], string>;

/** The signal aborts when the page disconnects. */
export type Action = (body: Fields, signal: AbortSignal) => Promise<unknown>;

export function createActions({ observer, store, waiting, logins, apps }: ActionParts) {
  const { toolport, questions, calls, runs, consent, history, traffic, watched } = observer;
  /** The server of an action. Throws if connecting it would start a program without consent. */
  const serverOf = (body: Fields): string => {
    const server = textOf(body, "server");
    consent.require([server], body["consent"]);
    return server;
  };
  /** @param call `run`: the page's own id of the call */
  const callTool = async (
    call: { name: string; args: Fields; consent: unknown; run?: string | undefined; task?: boolean },
    signal: AbortSignal,
  ): Promise<unknown> => {
    const { name, args } = call;
    const { tools, servers } = toolport.snapshot();
    const tool = tools.find((candidate) => candidate.name === name);
    // Fail here: the port would connect every server to find the tool.
    if (tool === undefined) throw unknownTool(name, tools);
    consent.require([tool.server, ...(servers[tool.server]?.fallback ?? [])], call.consent);
    return runs.run(call.run ?? randomUUID(), signal, async (run) => {
      const options = { signal: run.controller.signal, context: run };
      if (!call.task) return redactJson(await toolport.callTool(name, args, options));
      return { task: (await toolport.callTool(name, args, { ...options, task: true })).toJSON() };
    });
  };
  const readResource = async (server: string, resource: string | TemplateReference, signal: AbortSignal) =>
    redactJson(await toolport.readResource(server, resource, { signal, cache: false }));
  const getPrompt = async (server: string, name: string, args: Record<string, string>, signal: AbortSignal) =>
    redactJson(await toolport.getPrompt(server, name, args, { signal }));
  /** The last progress of each task whose result a page waits for. */
  const progressOfTasks = new Map<string, Progress>();
  const findTask = async (body: Fields) => {
    const task = await toolport.task(textOf(body, "id"));
    if (task === undefined) throw new BadRequest(404, "This task is no longer known");
    return task;
  };
  const requireQuestions = () => {
    if (questions === undefined) throw new BadRequest(404, "This console does not answer servers");
    return questions;
  };

  return {
    state: async () => observer.state(),
    catalog: async () => toCatalogView(toolport.snapshot(), observer.catalogVersion),
    tool: async (body) => toToolView(toolport.snapshot(), textOf(body, "name")) ?? null,
    calls: async () => calls.list(),
    call: async (body) => calls.view(Number(body["id"])) ?? null,

    history: async () => history.view(),
    traffic: async (body) => traffic.list(optionalText(body, "server"), optionalText(body, "kind")),
    message: async (body) => traffic.view(Number(body["id"])) ?? null,
    clearTraffic: async () => traffic.clear(),

    connect: async (body, signal) => toReportView(await toolport.connectServer(serverOf(body), { signal })),
    addServer: async (body) => addServer(toolport, textOf(body, "name").trim(), textOf(body, "url").trim()),
    disconnect: async (body) => toolport.disconnect(textOf(body, "server")),
    async restart(body, signal) {
      const server = serverOf(body);
      await toolport.disconnect(server);
      return toReportView(await toolport.connectServer(server, { signal }));
    },
    refresh: async (body, signal) => void (await toolport.refresh(serverOf(body), { signal })),
    authorize: async (body, signal) => toReportView(await logins.authorize(serverOf(body), signal)),
    logOut: async (body) => toolport.logOut(textOf(body, "server")),

    async callTool(body, signal) {
      const [name, args, run] = [textOf(body, "name"), fieldsOf(body, "args"), optionalText(body, "run")];
      return callTool({ name, args, run, consent: body["consent"], task: body["task"] === true }, signal);
    },
    openApp: async (body, signal) => apps.open(textOf(body, "tool"), { agreed: body["consent"], signal }),
    async callFromApp(body, signal) {
      const name = apps.findTool(textOf(body, "app"), textOf(body, "name"));
      return callTool({ name, args: fieldsOf(body, "args"), consent: body["consent"] }, signal);
    },
    closeApp: async (body) => apps.close(textOf(body, "app")),
    readResource: async (body, signal) =>
      readResource(serverOf(body), templateOf(body) ?? textOf(body, "uri"), signal),
    getPrompt: async (body, signal) =>
      getPrompt(serverOf(body), textOf(body, "name"), textsOf(body, "args"), signal),
    async complete(body, signal) {
      const [name, value] = [textOf(body, "argument"), textOf(body, "value")];
      const argument = { name, value, context: textsOf(body, "context") };
      const template = optionalText(body, "template");
      const reference = template === undefined ? { prompt: textOf(body, "prompt") } : { template };
      return toolport.complete(serverOf(body), reference, argument, { signal });
    },
    async replay(body, signal) {
      const call = calls.original(Number(body["id"]));
      if (call === undefined) throw new BadRequest(404, "This call is no longer in the log");
      const { server, name = "", message } = call;
      // Use the original arguments: interceptors and validation run again.
      const args = call.given ?? fieldsOf(message, "arguments");
      if (call.kind === "tool") return callTool({ name, args, consent: body["consent"] }, signal);
      consent.require([server], body["consent"]);
      if (call.kind === "prompt") return getPrompt(server, name, textsOf({ args }, "args"), signal);
      return readResource(server, call.uri ?? "", signal);
    },

    cancel: async (body) => runs.cancel(textOf(body, "run")),
    cancelCall: async (body) => calls.cancel(Number(body["id"])),
    tasks: async (_body, signal) => listTasks(toolport, progressOfTasks, signal),
    async taskResult(body, signal) {
      const task = await findTask(body);
      const onProgress = (progress: Progress) => void progressOfTasks.set(task.id, progress);
      try {
        return redactJson(await task.result({ signal, onProgress }));
      } finally {
        progressOfTasks.delete(task.id);
      }
    },
    cancelTask: async (body, signal) => (await findTask(body)).cancel({ signal }),

    subscribe: async (body, signal) => watched.add(serverOf(body), textOf(body, "uri"), signal),
    unsubscribe: async (body) => watched.remove(textOf(body, "server"), textOf(body, "uri")),

    questions: async () => questions?.list() ?? [],
    answer: async (body) => requireQuestions().answer(textOf(body, "id"), body),
    roots: async () => requireQuestions().roots,
    async setRoots(body) {
      requireQuestions().setRoots(body["roots"]);
      await toolport.rootsChanged();
    },

    waiting: async () => waiting.list(),
    async resume(body) {
      const { approve, again, restart } = body;
      const id = textOf(body, "id");
      consent.require([await waiting.serverOf(id)], body["consent"]);
      return waiting.resume(id, {
        ...(body["answers"] !== undefined && {
          answers: fieldsOf(body, "answers") as ResumeInput["answers"] & {},
        }),
        ...(typeof approve === "boolean" && { approve }),
        ...(again === true && { again }),
        ...(restart === true && { restart }),
      });
    },
    discard: async (body) => waiting.discard(textOf(body, "id")),

    logins: async () => listLogins(toolport),
    records: async () => (store === undefined ? null : listRecords(store)),
  } satisfies Record<string, Action>;
}

function templateOf(body: Fields): TemplateReference | undefined {
  const { template } = body;
  return typeof template === "string" ? { template, args: textsOf(body, "args") } : undefined;
}

/** Adds a server over HTTP. Programs cannot be added in the page: anyone with its URL could run any command. */
function addServer(toolport: Toolport, name: string, url: string): void {
  if (!/^[\w.-]{1,64}$/.test(name))
    throw new BadRequest(400, "The name has 1 to 64 letters, digits, dots, hyphens or underscores");
  if (Object.hasOwn(toolport.snapshot().servers, name))
    throw new BadRequest(400, `The name ${name} is already in use`);
  if (!canParseUrl(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new BadRequest(400, "This is not an http or https URL");
  toolport.register(name, { url });
}

/** The running tasks, with their status if the server says it. */
async function listTasks(toolport: Toolport, progressOf: ReadonlyMap<string, Progress>, signal: AbortSignal) {
  const { servers } = toolport.snapshot();
  const tasks = (await toolport.tasks()).filter(({ server }) => servers[server]?.state === "ready");
  return Promise.all(
    tasks.slice(0, 100).map(async (task) => {
      const { id, server, tool, createdAt } = task;
      const reported = await task.status({ signal }).catch(() => undefined);
      const message = reported?.message === undefined ? null : hideCredentials(reported.message);
      const progress = progressOf.get(id);
      return {
        id,
        server,
        tool,
        createdAt,
        message,
        status: reported?.status ?? ("unknown" as const),
        /** While the page waits for the result. */
        progress: progress === undefined ? null : toProgressView(progress),
      };
    }),
  );
}

function unknownTool(name: string, tools: readonly ToolInfo[]): CatalogError {
  const names = tools.map((tool) => tool.name);
  const suggestions = suggest(name, names);
  return new CatalogError({
    code: "TOOL_NOT_FOUND",
    what: `There is no tool named ${JSON.stringify(name)}`,
    next: didYouMean(suggestions, "Connect the server that provides it"),
    suggestions,
  });
}

/** The login state of every server that supports logins. */
async function listLogins(toolport: Toolport) {
  const servers = Object.values(toolport.snapshot().servers).filter(
    ({ transport }) => transport === "http" || transport === "sse",
  );
  return Promise.all(
    servers.map(async ({ name }) => {
      const unknown = { server: name, authorized: false, issuer: null, scopes: null, expiresAt: null };
      try {
        const status = await toolport.authStatus(name);
        if (status === undefined) return { ...unknown, managed: false, error: null };
        const { authorized, issuer = null, scopes = null, expiresAt = null } = status;
        return { server: name, managed: true, authorized, issuer, scopes, expiresAt, error: null };
      } catch (error) {
        return { ...unknown, managed: true, error: messageOf(error) };
      }
    }),
  );
}

const toReportView = ({ state, error, authUrl, toolCount, ms }: ServerReport) => ({
  state,
  error: error === undefined ? null : { code: error.code, message: hideCredentials(error.message) },
  authUrl: authUrl ?? null,
  toolCount,
  ms,
});

const MAX_RECORDS = 500;

async function listRecords(store: Store) {
  const keys = await store.list("");
  const records = await Promise.all(
    keys.slice(0, MAX_RECORDS).map(async (key) => {
      const record = await store.get(key).catch(() => undefined);
      return {
        key: hideCredentials(key),
        version: record?.version ?? 0,
        sealed: record?.sealed ?? true,
        bytes: JSON.stringify(record?.value ?? null).length,
      };
    }),
  );
  return { records, total: keys.length };
}
