/** What the caller passes to `callTool` stays as it is, and may be frozen or have accessors. */
import { createToolport } from "toolport";
import { createTestServer } from "toolport/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { usePidFolder } from "../fixtures/stdio-peer.js";
import { checkLeaksAfterEach } from "../support/leaks.js";

const scratch = usePidFolder();
checkLeaksAfterEach();

const server = createTestServer({
  tools: {
    echo: {
      inputSchema: { type: "object", properties: { text: { type: "string" } } },
      handler: ({ text }) => String(text),
    },
  },
});
let http: Awaited<ReturnType<typeof server.http>>;
beforeAll(async () => {
  http = await server.http();
});
afterAll(async () => {
  await http.close();
  await server.close();
});

const entries = {
  stdio: () => scratch.lean(),
  http: () => http.entry,
  memory: () => server.memory(),
};

function optionsOf(signal: AbortSignal) {
  return {
    signal,
    timeoutMs: 10_000,
    meta: Object.freeze({ "example.com/trace": 1 }),
    headers: Object.freeze({ "x-example": "1" }),
    context: Object.freeze({ user: "ada" }),
    onProgress: () => {},
    idempotent: true,
  };
}

/** The same options, each behind an accessor, on an object that takes no further property. */
function withAccessors(options: object): object {
  const descriptors = Object.entries(options).map(([name, value]) => [
    name,
    { enumerable: true, get: () => value as unknown },
  ]);
  return Object.freeze(Object.defineProperties({}, Object.fromEntries(descriptors)));
}

/** Every own property, symbols included, of the object and of the objects in it. */
function shapeOf(value: object): unknown {
  const descriptors = Object.getOwnPropertyDescriptors(value) as Record<PropertyKey, PropertyDescriptor>;
  return Reflect.ownKeys(descriptors).map((key) => {
    const { value: inner } = descriptors[key]!;
    const isPlain = typeof inner === "object" && inner !== null && !(inner instanceof AbortSignal);
    return [key, descriptors[key], isPlain ? shapeOf(inner as object) : undefined];
  });
}

describe.each(Object.keys(entries) as (keyof typeof entries)[])("over %s", (kind) => {
  test.each(["plain", "frozen", "accessors"])("%s options are left as they are", async (form) => {
    await using toolport = createToolport({ mcpServers: { it: entries[kind]() } });
    const { signal } = new AbortController();
    const plain = optionsOf(signal);
    const options =
      form === "plain" ? plain : form === "frozen" ? Object.freeze(plain) : withAccessors(plain);
    const args = Object.freeze({ text: "hi" });
    const before = shapeOf(options);
    for (let call = 0; call < 3; call += 1)
      expect((await toolport.callTool("it__echo", args, options)).text).toBe("hi");
    expect(shapeOf(options)).toEqual(before);
    expect(Object.keys(args)).toEqual(["text"]);
  });

  test("a failed call leaves frozen options as they are", async () => {
    await using toolport = createToolport({ mcpServers: { it: entries[kind]() } });
    const controller = new AbortController();
    const options = Object.freeze(optionsOf(controller.signal));
    const before = shapeOf(options);
    await toolport.tools();
    const calling = toolport.callTool("it__echo", { text: "hi" }, options);
    controller.abort("enough");
    await expect(calling).rejects.toBe("enough");
    expect(shapeOf(options)).toEqual(before);
  });
});
