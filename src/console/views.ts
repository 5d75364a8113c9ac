/** Converts the snapshot of a port to redacted views for the page. */
import { definitionBytes } from "../catalog/search/definition-size.js";
import { isForModel } from "../model/tool-ui.js";
import type { ServerSnapshot, ToolportSnapshot } from "../port/snapshot.js";
import { TASKS_EXTENSION } from "../protocol/era.js";
import { tokensOfBytes } from "../util/estimate-tokens.js";
import { hideCredentials, redactText } from "../util/redact-text.js";
import { CLIENT_INFO } from "../util/version.js";
import type { Consent } from "./consent.js";
import type { CatalogView, ServerView, StateView, ToolSummary, ToolView } from "./console-api.js";
import { redactJson } from "./redact-json.js";
import type { Latencies } from "./server-history.js";

export interface StateParts {
  readonly snapshot: ToolportSnapshot;
  readonly latencies: Latencies;
  readonly consent: Consent;
  readonly sources: Readonly<Record<string, string>>;
  readonly catalogVersion: number;
  readonly hasStore: boolean;
  readonly canAnswer: boolean;
  readonly subscriptions: StateView["subscriptions"];
}

const MAX_DESCRIPTION = 4_000;

export function toStateView(parts: StateParts): StateView {
  return {
    principal: parts.snapshot.principal,
    servers: Object.values(parts.snapshot.servers).map((server) => toServerView(server, parts)),
    catalogVersion: parts.catalogVersion,
    hasStore: parts.hasStore,
    canAnswer: parts.canAnswer,
    subscriptions: parts.subscriptions,
    version: CLIENT_INFO.version,
  };
}

function toServerView(
  server: ServerSnapshot,
  { latencies, consent, sources }: Pick<StateParts, "latencies" | "consent" | "sources">,
): ServerView {
  const { breaker, error } = server;
  return {
    name: server.name,
    state: server.state,
    disabled: server.disabled,
    address: redactText(server.server_url),
    transport: server.transport,
    protocolVersion: server.protocolVersion,
    serverInfo: server.serverInfo,
    instructions: server.instructions === null ? null : text(server.instructions),
    capabilities: Object.keys(server.capabilities ?? {}),
    canSubscribe:
      (server.capabilities?.["resources"] as { subscribe?: unknown } | undefined)?.subscribe === true,
    toolCount: server.toolCount,
    cut: server.cut,
    error: error && { code: error.code, message: text(error.message) },
    attempt: server.attempt,
    retryAt: server.retryAt,
    breaker: breaker && { state: breaker.state, failures: breaker.failures, openUntil: breaker.openUntil },
    authUrl: server.auth_url,
    fallback: server.fallback,
    source: Object.hasOwn(sources, server.name) ? (sources[server.name] ?? null) : null,
    latency: latencies.of(server.name),
    needsConsent: consent.isNeeded(server),
  };
}

export function toCatalogView(snapshot: ToolportSnapshot, version: number): CatalogView {
  const describe = ({ description }: { description?: string }) => text(description ?? "");
  const summary = toolSummarizer(snapshot);
  return {
    version,
    tools: snapshot.tools.map(summary),
    withheld: snapshot.withheldTools.map(({ server, name, reason }) => ({
      server,
      name,
      reason: text(reason),
    })),
    resources: snapshot.resources.map((resource) => ({
      server: resource.server,
      uri: resource.uri,
      name: resource.title ?? resource.name,
      description: describe(resource),
      mimeType: resource.mimeType ?? null,
    })),
    templates: snapshot.resourceTemplates.map((template) => ({
      server: template.server,
      uri: template.uriTemplate,
      name: template.title ?? template.name,
      description: describe(template),
      mimeType: template.mimeType ?? null,
    })),
    prompts: snapshot.prompts.map((prompt) => ({
      server: prompt.server,
      name: prompt.name,
      description: describe(prompt),
      arguments: (prompt.arguments ?? []).map((argument) => ({
        name: argument.name,
        description: describe(argument),
        required: argument.required === true,
      })),
    })),
  };
}

export function toToolView(snapshot: ToolportSnapshot, name: string): ToolView | undefined {
  const tool = snapshot.tools.find((candidate) => candidate.name === name);
  return (
    tool && {
      ...toolSummarizer(snapshot)(tool),
      inputSchema: redactSchema(tool.inputSchema),
      outputSchema: redactSchema(tool.outputSchema),
      annotations: redactJson(tool.annotations) ?? null,
      canBeTask: canBeTask(tool, snapshot.servers[tool.server]),
    }
  );
}

/** With 2026-07-28 the server decides whether a call becomes a task. */
function canBeTask(
  { execution }: ToolportSnapshot["tools"][number],
  server: ServerSnapshot | undefined,
): boolean {
  if (server?.era === "modern")
    return TASKS_EXTENSION in ((server.capabilities?.["extensions"] ?? {}) as object);
  const support = execution?.["taskSupport"];
  return server?.capabilities?.["tasks"] !== undefined && (support === "optional" || support === "required");
}

function toolSummarizer({ nameIssues, textFindings }: ToolportSnapshot) {
  const issues = new Map(nameIssues.map((issue) => [issue.name, issue]));
  const findings = new Map(textFindings.map((finding) => [`${finding.server}\n${finding.name}`, finding]));
  return (tool: ToolportSnapshot["tools"][number]): ToolSummary => {
    const issue = issues.get(tool.name);
    const finding =
      findings.get(`${tool.server}\n${tool.sourceName}`) ?? findings.get(`${tool.server}\n${tool.name}`);
    return {
      name: tool.name,
      server: tool.server,
      sourceName: tool.sourceName,
      title: tool.title ?? null,
      description: text(tool.description ?? ""),
      // Not `cost()`, which would connect servers that the user has not started.
      tokens: isForModel(tool) ? tokensOfBytes(definitionBytes(tool)) : 0,
      deferred: tool.deferred === true,
      nameIssue: issue === undefined ? null : text(`${issue.kind}: ${issue.reason} (wanted ${issue.wanted})`),
      hasApp: tool.ui?.resourceUri !== undefined,
      textFinding:
        finding === undefined
          ? null
          : `Invisible characters: ${finding.removed} removed from its texts, ${finding.left} left in names and schemas`,
    };
  };
}

/** Redacts by content only: a property named "token" in a schema is not a secret. */
function redactSchema(schema: unknown): unknown {
  if (schema === undefined) return null;
  return JSON.parse(JSON.stringify(schema), (_key, value) =>
    typeof value === "string" ? hideCredentials(value) : value,
  );
}

const text = (value: string): string => hideCredentials(value.slice(0, MAX_DESCRIPTION));
