/** Converts the snapshot of a port to redacted views for the page. */
import { definitionBytes, hideCredentials, isForModel, redactText, tokensOfBytes } from "@toolport/base";
import type { ServerSnapshot, ToolportSnapshot } from "@toolport/core";
import { redactJson } from "./redact-json.js";

const MAX_DESCRIPTION = 4_000;

export function toServerView(server: ServerSnapshot) {
  const { name, state, disabled, transport, protocolVersion, serverInfo, instructions } = server;
  const { toolCount, cut, error, attempt, retryAt, breaker, auth_url, fallback } = server;
  const capabilities = server.capabilities ?? {};
  return {
    name,
    state,
    disabled,
    /** URL without its query, or the command that starts it. */
    address: redactText(server.server_url),
    transport,
    protocolVersion,
    serverInfo,
    instructions: instructions && text(instructions),
    capabilities: Object.keys(capabilities),
    /** Clients may subscribe to its resources. */
    canSubscribe: (capabilities["resources"] as { subscribe?: unknown } | undefined)?.subscribe === true,
    toolCount,
    cut,
    error: error && { code: error.code, message: text(error.message) },
    attempt,
    retryAt,
    breaker: breaker && { state: breaker.state, failures: breaker.failures, openUntil: breaker.openUntil },
    authUrl: auth_url,
    fallback,
  };
}

export function toCatalogView(snapshot: ToolportSnapshot, version: number) {
  const describe = ({ description }: { description?: string }) => text(description ?? "");
  const resource = (
    uri: string,
    info: Omit<ToolportSnapshot["resources" | "resourceTemplates"][number], "uri" | "uriTemplate">,
  ) => ({
    server: info.server,
    uri,
    name: info.title ?? info.name,
    description: describe(info),
    mimeType: info.mimeType ?? null,
  });
  return {
    version,
    tools: snapshot.tools.map(toolSummarizer(snapshot)),
    withheld: snapshot.withheldTools.map(({ server, name, reason }) => ({
      server,
      name,
      reason: text(reason),
    })),
    resources: snapshot.resources.map((info) => resource(info.uri, info)),
    templates: snapshot.resourceTemplates.map((info) => resource(info.uriTemplate, info)),
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

export function toToolView(snapshot: ToolportSnapshot, name: string) {
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

type SnapshotTool = ToolportSnapshot["tools"][number];

const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** With 2026-07-28 the server decides whether a call becomes a task. */
function canBeTask({ execution }: SnapshotTool, server: ServerSnapshot | undefined): boolean {
  if (server?.era === "modern")
    return TASKS_EXTENSION in ((server.capabilities?.["extensions"] ?? {}) as object);
  const support = execution?.["taskSupport"];
  return server?.capabilities?.["tasks"] !== undefined && (support === "optional" || support === "required");
}

function toolSummarizer({ nameIssues, textFindings }: ToolportSnapshot) {
  const issues = new Map(nameIssues.map((issue) => [issue.name, issue]));
  const findings = new Map(textFindings.map((finding) => [`${finding.server}\n${finding.name}`, finding]));
  return (tool: SnapshotTool) => {
    const { name, server, sourceName, title = null, description = "", ui } = tool;
    const issue = issues.get(name);
    const finding = findings.get(`${server}\n${sourceName}`) ?? findings.get(`${server}\n${name}`);
    return {
      name,
      server,
      sourceName,
      title,
      description: text(description),
      // Not `cost()`, which would connect servers that the user has not started.
      tokens: isForModel(tool) ? tokensOfBytes(definitionBytes(tool)) : 0,
      deferred: tool.deferred === true,
      /** Why the tool has another name than expected. */
      nameIssue: issue === undefined ? null : text(`${issue.kind}: ${issue.reason} (wanted ${issue.wanted})`),
      hasApp: ui?.resourceUri !== undefined,
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
