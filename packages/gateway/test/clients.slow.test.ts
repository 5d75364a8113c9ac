/** The clients of both SDKs, in every era they know, get the same through a gateway as from the server itself. */
import { describe, expect, test } from "vitest";
import { waitFor } from "../../../test/support/wait-for.js";
import { gatewayArguments, type HttpProcess, UPSTREAMS, useGateways } from "./fixture-processes.js";
import { type ClientKind, type Fields, openClient, type SdkClient, type Target } from "./sdk-clients.js";

const CLIENTS: readonly ClientKind[] = ["v1", "v2-legacy", "v2-modern"];

const { server, gateways } = useGateways();

/** Fields that differ on purpose: each hop has its own. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  const { ttlMs: _, cacheScope: __, _meta, ...rest } = value as Fields;
  const fields = Object.entries(rest).map(([key, field]) => [key, comparable(field)]);
  const own = /^(io\.modelcontextprotocol\/|toolport\/|progressToken$)/;
  const meta = Object.entries((_meta ?? {}) as Fields).filter(([key]) => !own.test(key));
  return Object.fromEntries([...fields, ...(meta.length > 0 ? [["_meta", Object.fromEntries(meta)]] : [])]);
}

const byName = (entries: readonly Fields[]) =>
  [...entries].sort((a, b) => String(a["name"]).localeCompare(String(b["name"])));

const failure = async (call: Promise<unknown>): Promise<unknown> => {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return (error as { code?: unknown } | undefined)?.code;
};

/** Uses every part of the protocol, and returns what was seen. */
async function useAll(client: SdkClient): Promise<Fields> {
  const seen: Fields = {};
  for (const list of ["tools", "prompts", "resources", "resourceTemplates"] as const) {
    const entries = byName(await client.list(list));
    // The tasks extension and its tools exist in the modern era only, so they depend on the era of the upstream.
    seen[list] =
      list === "tools" ? entries.filter(({ name }) => /^(test|json)_/.test(String(name))) : entries;
    seen[list] = (seen[list] as Fields[]).filter(({ name }) => name !== "test_tool_with_task");
  }
  for (const tool of ["simple_text", "image_content", "audio_content", "embedded_resource"])
    seen[tool] = await client.call(`test_${tool}`);
  seen["mixed"] = await client.call("test_multiple_content_types");
  seen["error"] = await client.call("test_error_handling");
  seen["header"] = await client.call("test_mirrored_header", { region: "eu-west1" });
  seen["unknown tool"] = await failure(client.call("test_no_such_tool"));

  // The text of the result is the progress token, which each hop chooses.
  await client.call("test_tool_with_progress", {}, { onprogress: () => {} });
  seen["progress"] = [...client.progress];

  seen["elicitation"] = await client.call("test_elicitation", { message: "Who?" });
  seen["sampling"] = await client.call("test_sampling", { prompt: "What is the capital of France?" });
  seen["defaults"] = await client.call("test_elicitation_sep1034_defaults");
  seen["enums"] = await client.call("test_elicitation_sep1330_enums");
  for (const tool of [
    "elicitation",
    "sampling",
    "list_roots",
    "request_state",
    "multiple_inputs",
    "multi_round",
  ])
    seen[`asks ${tool}`] = await client.call(`test_input_required_result_${tool}`);
  seen["prompt that asks"] = await client.prompt("test_input_required_result_prompt");
  seen["questions"] = client.questions
    .map(({ method, params }) => ({ method, params: comparable(params ?? {}) }))
    .sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));

  for (const uri of ["test://static-text", "test://static-binary", "test://template/7/data"])
    seen[uri] = await client.read(uri);
  seen["unknown resource"] = await failure(client.read("test://no-such-resource"));
  seen["prompt"] = await client.prompt("test_simple_prompt");
  seen["prompt with arguments"] = await client.prompt("test_prompt_with_arguments", { arg1: "a", arg2: "b" });
  const resourceUri = "test://embedded";
  seen["prompt with resource"] = await client.prompt("test_prompt_with_embedded_resource", { resourceUri });
  seen["unknown prompt"] = await failure(client.prompt("test_no_such_prompt"));
  seen["completion"] = await client.complete({
    ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
    argument: { name: "arg1", value: "par" },
  });

  if (client.isLegacy) {
    seen["ping"] = await client.ping();
    seen["subscribe"] = await client.subscribe("test://watched-resource");
    seen["unsubscribe"] = await client.unsubscribe("test://watched-resource");
    await client.setLogLevel("debug");
    await client.call("test_tool_with_logging");
    seen["logs"] = client.notices.filter(({ method }) => method === "notifications/message");
  }
  return comparable(seen) as Fields;
}

/** List changes arrive without a request, so they are waited for. */
async function seeListChanges(client: SdkClient): Promise<void> {
  await client.listen();
  for (const list of ["tool", "prompt"] as const) {
    const method = `notifications/${list}s/list_changed`;
    const entry = `test_changing_${list}`;
    const has = async () => (await client.list(`${list}s`)).some(({ name }) => name === entry);
    const before = await has();
    const count = () => client.notices.filter((notice) => notice.method === method).length;
    const seen = count();
    await client.call(`test_trigger_${list}_change`);
    await waitFor(() => count() > seen, { label: () => `${method} (${client.kind})` });
    await waitFor(async () => (await has()) !== before, { label: () => `a changed list of ${list}s` });
  }
}

/** A call that the client aborts ends at once, and the connection stays usable. */
async function abortOne(client: SdkClient): Promise<void> {
  const controller = new AbortController();
  const aborted = client.call(
    "test_tool_with_progress",
    {},
    {
      signal: controller.signal,
      onprogress: () => controller.abort(new Error("changed my mind")),
    },
  );
  await expect(aborted).rejects.toThrow();
  expect((await client.call("test_simple_text"))["isError"]).toBeFalsy();
}

async function compare(kind: ClientKind, target: Target): Promise<void> {
  await using direct = await openClient(kind, server.url);
  await using through = await openClient(kind, target);
  if (through.version !== undefined) expect(through.version).toBe(direct.version);
  const expected = await useAll(direct);
  expect(await useAll(through)).toEqual(expected);
  await seeListChanges(through);
  await abortOne(through);
}

describe.each(UPSTREAMS)("with a %s upstream", (era) => {
  test.each(CLIENTS)("%s over HTTP", async (kind) => {
    await compare(kind, (gateways.get(era) as HttpProcess).url);
  });

  test.each(CLIENTS)("%s over stdio", async (kind) => {
    await compare(kind, gatewayArguments(server.url, era, "stdio"));
  });
});
