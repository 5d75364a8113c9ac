/** A port and the relays of its clients, for tests of requests that are passed on. */
import type { ServerEntry, ToolportOptions } from "toolport";
import { onTestFinished } from "vitest";
import type { CallRelay } from "../../src/execution/tool-call.js";
import { Port } from "../../src/port/port.js";
import { readOptions } from "../../src/port/read-options.js";
import { createSharedParts } from "../../src/port/shared-parts.js";
import type { RelayedQuestion } from "../../src/protocol/relay.js";

/** Everything that clients can declare. */
export const ALL_CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };

/** A port that is closed after the test. */
export function createTestPort(
  mcpServers: Record<string, ServerEntry>,
  options: Omit<ToolportOptions, "mcpServers"> = {},
): Port {
  const parts = createSharedParts(readOptions({ logger: QUIET, ...options, mcpServers }));
  const port = new Port(parts);
  for (const config of parts.settings.servers.values()) port.register(config);
  onTestFinished(async () => {
    await port.close();
    parts.close();
  });
  return port;
}

export interface TestRelay extends CallRelay {
  readonly questions: RelayedQuestion[];
  readonly logs: Readonly<Record<string, unknown>>[];
}

/** A relay whose client answers every question with its `name`. */
export function createTestRelay(given: Partial<CallRelay> & { readonly name?: string } = {}): TestRelay {
  const { name = "client", capabilities = {}, ...rest } = given;
  const questions: RelayedQuestion[] = [];
  const logs: Readonly<Record<string, unknown>>[] = [];
  return {
    capabilities,
    capabilityKey: Object.keys(capabilities).length === 0 ? "" : JSON.stringify(capabilities),
    passesInput: false,
    questions,
    logs,
    async answer(question) {
      questions.push(question);
      if (question.method === "roots/list") return { roots: [{ uri: `file:///${name}` }] };
      if (question.method === "sampling/createMessage")
        return { role: "assistant", content: { type: "text", text: name }, model: name };
      return { action: "accept", content: { name } };
    },
    onLog: (params) => void logs.push(params),
    ...rest,
  };
}

/** Calls a tool by its name on the server. */
export async function callRelayed(
  port: Port,
  { server = "up", tool, args = {} }: { server?: string; tool: string; args?: Record<string, unknown> },
  relay: CallRelay,
  options: Parameters<Port["run"]>[2] = {},
) {
  await port.bringUp([port.pool.require(server)], {});
  const entry = port.catalog.find(server, tool);
  if (entry === undefined) throw new Error(`no tool ${tool}`);
  return port.run(entry, args, options, { relay });
}
