/** Completion: values that a server proposes for arguments of prompts and resource templates. */
import { createToolport } from "toolport";
import { createTestServer, type TestServerDefinition } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { failure } from "../support/failure.js";

const towns = { nb: ["Oslo", "Bergen"], sv: ["Malmö"] };
const definition: TestServerDefinition = {
  prompts: {
    trip: {
      arguments: [{ name: "language" }, { name: "town" }],
      get: () => "go",
      complete: {
        language: (value) => Object.keys(towns).filter((name) => name.startsWith(value)),
        town: (value, { language }) =>
          (towns[language as "nb"] ?? []).filter((name) => name.startsWith(value)),
      },
    },
  },
  resourceTemplates: {
    "map://{town}": { complete: { town: () => Array.from({ length: 150 }, (_, index) => `town ${index}`) } },
  },
};

describe.each(["legacy", "modern"] as const)("%s era", (era) => {
  test("of a prompt, with the known arguments", async () => {
    await using server = createTestServer({ ...definition, era });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const ref = { prompt: "trip" };
    expect(await toolport.complete("it", ref, { name: "language", value: "s" })).toEqual({
      values: ["sv"],
      total: 1,
      hasMore: false,
    });
    const argument = { name: "town", value: "B", context: { language: "nb" } };
    expect(await toolport.complete("it", ref, argument)).toMatchObject({ values: ["Bergen"] });
    expect(await toolport.complete("it", ref, { name: "town", value: "B" })).toMatchObject({ values: [] });
  });

  test("of a template", async () => {
    await using server = createTestServer({ ...definition, era });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const completion = await toolport.complete(
      "it",
      { template: "map://{town}" },
      { name: "town", value: "" },
    );
    expect(completion.values).toHaveLength(100);
    expect(completion).toMatchObject({ total: 150 });
  });

  test("of an unknown prompt or template", async () => {
    await using server = createTestServer({ ...definition, era });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const argument = { name: "town", value: "" };
    expect(await failure(toolport.complete("it", { prompt: "trp" }, argument))).toMatchObject({
      code: "PROMPT_NOT_FOUND",
      suggestions: ["trip"],
    });
    expect(await failure(toolport.complete("it", { template: "map://{twon}" }, argument))).toMatchObject({
      code: "RESOURCE_NOT_FOUND",
      suggestions: ["map://{town}"],
    });
    expect(await failure(toolport.complete("its", { prompt: "trip" }, argument))).toMatchObject({
      code: "UNKNOWN_SERVER",
    });
  });

  test("of a server that completes nothing", async () => {
    await using server = createTestServer({ era, prompts: { trip: { get: () => "go" } } });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    expect(
      await failure(toolport.complete("it", { prompt: "trip" }, { name: "a", value: "" })),
    ).toMatchObject({
      name: "CatalogError",
      code: "NOT_OFFERED",
      server: "it",
    });
  });
});

test("listeners see completions and subscriptions", async () => {
  await using server = createTestServer({ ...definition, resources: { "t://a": { text: "a" } } });
  const heard: unknown[] = [];
  await using toolport = createToolport({
    mcpServers: { it: server.memory() },
    listeners: [
      { after: ({ kind, name, uri, message, outcome }) => heard.push({ kind, name, uri, message, outcome }) },
    ],
  });
  await toolport.complete("it", { prompt: "trip" }, { name: "language", value: "n" });
  await (await toolport.subscribe("it", "t://a", () => {}))();
  expect(heard).toEqual([
    {
      kind: "completion",
      name: "trip",
      uri: undefined,
      message: { ref: { type: "ref/prompt", name: "trip" }, argument: { name: "language", value: "n" } },
      outcome: "ok",
    },
    { kind: "subscription", name: undefined, uri: "t://a", message: { uri: "t://a" }, outcome: "ok" },
  ]);
});
