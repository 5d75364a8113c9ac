/** An environment for code of the documentation: every server that it names is a real one, in memory. */
import { inputRequired } from "@modelcontextprotocol/server";
import * as toolport from "toolport";
import { createTestServer, type TestServer, type TestServerDefinition } from "toolport/testing";

const { createToolport } = toolport;

export interface DocumentationWorld extends AsyncDisposable {
  /** Replaces the package: its ports connect to the servers of this environment. */
  readonly package: () => Promise<typeof toolport>;
  /** For code that uses a port without creating one. */
  readonly toolport: toolport.Toolport;
}

/** Fields that describe the connection to a server; all others apply to the stand-in, too. */
const WAY = [
  "type",
  "url",
  "sseUrl",
  "base_url",
  "endpoint",
  "headers",
  "proxy",
  "maxSockets",
  "authProvider",
  "oauth",
  "reconnect",
];
const WAY_OF_PROCESSES = ["command", "args", "env", "inheritEnv", "cwd", "encoding", "stderr", "restart"];
const WAY_OF_CONTAINERS = ["image", "dockerHost", "engine", "mounts", "runArgs", "automaticSSEFallback"];
const WAYS = new Set([...WAY, ...WAY_OF_PROCESSES, ...WAY_OF_CONTAINERS, "transport", "protocol"]);

const all = (text: string, pattern: RegExp): string[][] =>
  [...text.matchAll(pattern)].map(([, ...groups]) => groups.map((group) => group ?? ""));

/** The first defined group of each match. */
const values = (text: string, pattern: RegExp): string[] => [
  ...new Set(all(text, pattern).flatMap((groups) => groups.filter((group) => group !== "").slice(0, 1))),
];

const made = <Value>(names: readonly string[], value: (name: string) => Value): Record<string, Value> =>
  Object.fromEntries(names.map((name) => [name, value(name)]));

const proposals = (names: readonly string[]) => made(names, () => () => ["a value"]);

/** The tools, prompts and resources that the code expects of a server, read from its text. */
function definitionOf(server: string, text: string): TestServerDefinition {
  const own = (pattern: RegExp) =>
    all(text, pattern).flatMap(([name, what]) => (name === server ? [what!] : []));
  const tools = own(/\b([a-zA-Z][a-zA-Z-]*)__([\w-]+)\b/g);
  const resources = own(/(?:readResource|subscribe)\("([\w-]+)", "([^"]+)"/g);
  const prompts = [
    ...own(/getPrompt\("([\w-]+)", "([^"]+)"/g),
    ...values(text, /"ref\/prompt", name: "([^"]+)"/g),
  ];
  const inputs = values(text, /argument: \{ name: "(\w+)"|\{ name: "(\w+)", value: |\{ (\w+): "/g);
  const data = made(values(text, /(\w+): z\.number\(\)/g), () => 1);
  const templates = values(text, /template: "([^"]+)"/g);
  const questions = text.includes("suspend: ") ? values(text, /answers: \{ (\w+): /g) : [];
  const properties = made(values(text, /content: \{ (\w+): "/g), () => ({ type: "string" as const }));
  const form = { message: "Which one?", requestedSchema: { type: "object" as const, properties } };
  return {
    ...(questions.length > 0 && { era: "modern" as const }),
    tools: made([...tools, "any"], (name) => ({
      description: `Does ${name}`,
      handler(_args, { request }) {
        if (questions.length > 0 && request.mcpReq.inputResponses === undefined)
          return inputRequired({ inputRequests: made(questions, () => inputRequired.elicit(form)) });
        return { content: [{ type: "text", text: `done: ${name}` }], structuredContent: data };
      },
    })),
    resources: made([...resources, "any://thing"], (uri) => ({ name: uri, text: `about ${uri}` })),
    resourceTemplates: made(templates, (template) => ({
      complete: proposals(values(template, /\{\??(\w+)\}/g)),
      read: (uri: string) => `about ${uri}`,
    })),
    prompts: made(prompts, (name) => ({
      arguments: inputs.map((input) => ({ name: input })),
      complete: proposals(inputs),
      get: () => `Please ${name}`,
    })),
  };
}

export function createDocumentationWorld(text: string): DocumentationWorld {
  const servers = new Map<string, TestServer>();
  const ports: toolport.Toolport[] = [];

  function standIn(name: string, entry: toolport.ServerEntry): toolport.ServerEntry {
    if (typeof entry.transport === "function") return entry;
    const server = servers.get(name) ?? createTestServer(definitionOf(name, text));
    servers.set(name, server);
    const rest = Object.fromEntries(Object.entries(entry).filter(([key]) => !WAYS.has(key)));
    return { ...rest, ...server.memory() } as toolport.ServerEntry;
  }

  const create: typeof createToolport = (options = {}) => {
    const { mcpServers = {} } = options;
    const entries = Object.entries(mcpServers).map(([name, entry]) => [name, standIn(name, entry)]);
    const port = createToolport({ ...options, mcpServers: Object.fromEntries(entries) });
    ports.push(port);
    return {
      ...port,
      add: (name, entry, wait) => port.add(name, standIn(name, entry), wait),
      register: (name, entry) => port.register(name, standIn(name, entry)),
    };
  };

  const named = [
    ...values(text, /\b([a-zA-Z][a-zA-Z-]*)__[\w-]+\b/g),
    ...values(text, /(?:readResource|subscribe|getPrompt|complete|client|discover)\("([\w-]+)"/g),
    ...values(text, /servers\["([\w-]+)"\]/g),
  ];
  const ambient = create({
    mcpServers: Object.fromEntries([...named, "files"].map((name) => [name, { command: name }])),
  });

  return {
    package: async () => ({ ...toolport, createToolport: create }),
    toolport: ambient,
    async [Symbol.asyncDispose]() {
      await Promise.all(ports.map((port) => port.close()));
      await Promise.all([...servers.values()].map((server) => server[Symbol.asyncDispose]()));
    },
  };
}
