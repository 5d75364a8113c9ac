/** Resources: listed, read by URI or by template, cached as long as their server says. */
import { createToolport, ToolCallError } from "toolport";
import { createTestServer, type TestServerDefinition } from "toolport/testing";
import { describe, expect, test } from "vitest";
import { waitFor } from "../support/wait-for.js";

/** A resource that counts its reads. */
function counted(ttlMs?: number) {
  let reads = 0;
  return { ...(ttlMs !== undefined && { ttlMs }), read: () => `reading ${++reads}` };
}

const definition: TestServerDefinition = {
  resources: {
    "docs://index": { name: "index", text: "hello", mimeType: "text/plain" },
    "docs://logo": { blob: "aGk=", mimeType: "image/png" },
    "docs://folder": {
      read: () => ({
        contents: [
          { uri: "docs://folder/a", text: "a", mimeType: "text/plain" },
          { uri: "docs://folder/b", blob: "Yg==" },
        ],
      }),
    },
  },
  resourceTemplates: {
    "docs://page/{name}{?lang}": {
      name: "page",
      description: "One page",
      mimeType: "text/plain",
      read: (uri) => (uri.startsWith("docs://page/") ? `page at ${uri}` : undefined),
    },
  },
};

describe.each(["legacy", "modern"] as const)("%s era", (era) => {
  test("lists and templates of all servers, each with its server", async () => {
    await using server = createTestServer({ ...definition, era });
    await using toolport = createToolport({ mcpServers: { a: server.memory(), b: server.memory() } });
    const resources = await toolport.resources();
    expect(resources.map(({ server: name, uri }) => `${name} ${uri}`)).toEqual(
      ["a", "b"].flatMap((name) => ["index", "logo", "folder"].map((page) => `${name} docs://${page}`)),
    );
    expect(await toolport.resourceTemplates()).toMatchObject([
      { server: "a", uriTemplate: "docs://page/{name}{?lang}", name: "page", mimeType: "text/plain" },
      { server: "b", uriTemplate: "docs://page/{name}{?lang}" },
    ]);
  });

  test("text, bytes, and several contents under one URI", async () => {
    await using server = createTestServer({ ...definition, era });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    expect(await toolport.readResource("it", "docs://index")).toEqual([
      { uri: "docs://index", mimeType: "text/plain", text: "hello" },
    ]);
    expect(await toolport.readResource("it", "docs://logo")).toEqual([
      { uri: "docs://logo", mimeType: "image/png", blob: "aGk=" },
    ]);
    expect(await toolport.readResource("it", "docs://folder")).toEqual([
      { uri: "docs://folder/a", mimeType: "text/plain", text: "a" },
      { uri: "docs://folder/b", blob: "Yg==" },
    ]);
  });

  test("an unknown URI, with suggestions", async () => {
    await using server = createTestServer({ ...definition, era });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    await expect(toolport.readResource("it", "docs://indx")).rejects.toMatchObject({
      code: "RESOURCE_NOT_FOUND",
      server: "it",
      suggestions: ["docs://index"],
    });
    await expect(toolport.readResource("its", "docs://index")).rejects.toMatchObject({
      code: "UNKNOWN_SERVER",
    });
  });

  test("a template is filled in", async () => {
    await using server = createTestServer({ ...definition, era });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const template = "docs://page/{name}{?lang}";
    const read = async (args: Record<string, string>) =>
      (await toolport.readResource("it", { template, args }))[0]?.text;
    expect(await read({ name: "in stall/2" })).toBe("page at docs://page/in%20stall%2F2");
    expect(await read({ name: "a", lang: "nb" })).toBe("page at docs://page/a?lang=nb");
    const error = await read({ lagn: "nb" }).catch((caught: unknown) => caught as ToolCallError);
    expect(error).toBeInstanceOf(ToolCallError);
    expect(error).toMatchObject({
      code: "INVALID_ARGUMENTS",
      issues: [
        { path: "/name", message: "is missing" },
        { path: "/lagn", message: "is not a variable; did you mean lang?" },
      ],
    });
    await expect(toolport.readResource("it", { template: "docs://{", args: {} })).rejects.toMatchObject({
      code: "INVALID_ARGUMENTS",
    });
  });
});

describe("resources are cached", () => {
  const long = 60_000;
  const textOf = async (reading: Promise<{ text?: string }[]>) => (await reading)[0]?.text;

  test("as long as the server says, and not by default", async () => {
    await using server = createTestServer({
      era: "modern",
      resources: { "t://kept": counted(long), "t://short": counted(30), "t://plain": counted() },
    });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const read = (uri: string) => textOf(toolport.readResource("it", uri));
    expect([await read("t://kept"), await read("t://kept")]).toEqual(["reading 1", "reading 1"]);
    expect([await read("t://plain"), await read("t://plain")]).toEqual(["reading 1", "reading 2"]);
    expect(await read("t://short")).toBe("reading 1");
    await waitFor(async () => (await read("t://short")) === "reading 2");
    // Changes by the caller do not reach the cache.
    const [mine] = (await toolport.readResource("it", "t://kept")) as { text: string }[];
    mine!.text = "changed";
    expect(await read("t://kept")).toBe("reading 1");
  });

  test("not if disabled: for one read, one server, or all", async () => {
    await using server = createTestServer({ era: "modern", resources: { "t://kept": counted(long) } });
    await using toolport = createToolport({
      mcpServers: { it: server.memory(), off: { ...server.memory(), cache: false } },
    });
    expect(await textOf(toolport.readResource("it", "t://kept"))).toBe("reading 1");
    expect(await textOf(toolport.readResource("it", "t://kept", { cache: false }))).toBe("reading 2");
    expect(await textOf(toolport.readResource("it", "t://kept"))).toBe("reading 1");
    expect(await textOf(toolport.readResource("off", "t://kept"))).toBe("reading 3");
    expect(await textOf(toolport.readResource("off", "t://kept"))).toBe("reading 4");
    await using without = createToolport({ mcpServers: { it: server.memory() }, cache: false });
    expect(await textOf(without.readResource("it", "t://kept"))).toBe("reading 5");
    expect(await textOf(without.readResource("it", "t://kept"))).toBe("reading 6");
  });

  test("separately for each user", async () => {
    await using server = createTestServer({ era: "modern", resources: { "t://kept": counted(long) } });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const users = [toolport, toolport.as("ada"), toolport.as("bob"), toolport.as("ada")];
    const texts: (string | undefined)[] = [];
    for (const user of users) texts.push(await textOf(user.readResource("it", "t://kept")));
    expect(texts).toEqual(["reading 1", "reading 2", "reading 3", "reading 2"]);
  });

  test("until the resource, the list or the server changes", async () => {
    const resources = { "t://kept": counted(long) };
    await using server = createTestServer({ era: "modern", resources });
    await using toolport = createToolport({ mcpServers: { it: server.memory() } });
    const read = () => textOf(toolport.readResource("it", "t://kept"));
    const heard: string[] = [];
    toolport.on("notification", ({ method }) => heard.push(method));
    const stop = await toolport.subscribe("it", "t://kept", ({ missed }) => missed && heard.push("missed"));
    expect([await read(), await read()]).toEqual(["reading 1", "reading 1"]);
    await server.resourceUpdated("t://kept");
    await waitFor(() => heard.includes("notifications/resources/updated"));
    expect([await read(), await read()]).toEqual(["reading 2", "reading 2"]);
    await server.update({ resources });
    await waitFor(() => heard.includes("notifications/resources/list_changed"));
    expect([await read(), await read()]).toEqual(["reading 3", "reading 3"]);
    await toolport.disconnect("it");
    await toolport.connect();
    await waitFor(() => heard.includes("missed"));
    expect([await read(), await read()]).toEqual(["reading 4", "reading 4"]);
    await stop();
  });

  test("never if the read needed input of the user", async () => {
    let rounds = 0;
    await using server = createTestServer({
      era: "modern",
      resources: {
        "t://asked": {
          read(request) {
            rounds += 1;
            const given = (request.mcpReq as { inputResponses?: Record<string, { content?: unknown }> })
              .inputResponses;
            if (given !== undefined) {
              const contents = [{ uri: "t://asked", text: JSON.stringify(given["who"]?.content) }];
              return { contents, ttlMs: 60_000, cacheScope: "private" } as never;
            }
            return {
              resultType: "input_required",
              inputRequests: {
                who: {
                  method: "elicitation/create",
                  params: {
                    mode: "form",
                    message: "Who?",
                    requestedSchema: { type: "object", properties: { name: { type: "string" } } },
                  },
                },
              },
            } as never;
          },
        },
      },
    });
    let asked = 0;
    await using toolport = createToolport({
      mcpServers: { it: server.memory() },
      onElicitation: () => ({ action: "accept", content: { name: `user ${++asked}` } }),
    });
    expect(await textOf(toolport.readResource("it", "t://asked"))).toBe('{"name":"user 1"}');
    expect(await textOf(toolport.readResource("it", "t://asked"))).toBe('{"name":"user 2"}');
    expect(rounds).toBe(4);
  });
});

test("listeners see every read, also those from the cache", async () => {
  await using server = createTestServer({ era: "modern", resources: { "t://kept": counted(60_000) } });
  const heard: string[] = [];
  await using toolport = createToolport({
    mcpServers: { it: server.memory() },
    listeners: [
      { after: ({ kind, uri, outcome, context }) => heard.push(`${kind} ${uri} ${outcome} ${context}`) },
    ],
  });
  await toolport.readResource("it", "t://kept", { context: 1 });
  await toolport.readResource("it", "t://kept", { context: 2 });
  await toolport.readResource("it", "t://none", { context: 3 }).catch(() => {});
  expect(heard).toEqual(["resource t://kept ok 1", "resource t://kept ok 2", "resource t://none error 3"]);
});
