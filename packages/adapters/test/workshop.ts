/** Four servers with everything that an adapter must handle, and the script of an agent that uses them. */
import { createToolport, type Toolport, type ToolportOptions } from "toolport";
import { createTestServer, type TestServer } from "toolport/testing";
import type { ScriptedTurn } from "./model-double.js";

/** A PNG of one pixel. */
export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const NUMBERS = {
  type: "object",
  properties: { a: { type: "number", maximum: 1_000 }, b: { type: "number" }, round: { type: "boolean" } },
  required: ["a", "b"],
};

export interface Workshop extends AsyncDisposable {
  readonly toolport: Toolport;
  readonly servers: Readonly<Record<"math" | "lab" | "art" | "many", TestServer>>;
  /** Set while `lab__wait` runs; its result is whether the server got the cancellation. */
  waiting(): { readonly started: Promise<void>; readonly stopped: Promise<unknown> };
}

export function openWorkshop(options: ToolportOptions = {}): Workshop {
  let arrived = 0;
  let open = () => {};
  const both = new Promise<void>((resolve) => (open = resolve));
  const started = resolvers<void>();
  const stopped = resolvers<unknown>();
  const servers = {
    math: createTestServer({
      tools: {
        add: {
          description: "Adds two numbers",
          inputSchema: NUMBERS,
          outputSchema: { type: "object", properties: { sum: { type: "number" } }, required: ["sum"] },
          annotations: { readOnlyHint: true },
          handler: ({ a, b }) => ({ structuredContent: { sum: Number(a) + Number(b) } }),
        },
        /** A map with any values, which strict mode cannot express. */
        search: {
          inputSchema: {
            type: "object",
            properties: { labels: { type: "object", additionalProperties: { type: "string" } } },
          },
          handler: () => "math",
        },
      },
    }),
    lab: createTestServer({
      tools: {
        /** Responds when two calls have arrived: sequential calls would wait forever. */
        meet: {
          inputSchema: { type: "object", properties: { who: { type: "string" } }, required: ["who"] },
          handler: async ({ who }) => {
            arrived += 1;
            if (arrived === 2) open();
            await both;
            return `${who} met the other`;
          },
        },
        fail: {
          annotations: { destructiveHint: false },
          handler: () => {
            throw new Error("The flask broke");
          },
        },
        wait: {
          handler: async (_args, { signal, progress }) => {
            await progress(1, 4, "warming up");
            await progress(2, 4);
            started.resolve();
            if (!signal.aborted)
              await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
            stopped.resolve(signal.reason);
            return "too late";
          },
        },
        boil: {
          handler: async (_args, { progress }) => {
            await progress(1, 2, "warming up");
            await progress(2, 2);
            return "boiled";
          },
        },
        search: { handler: () => "lab" },
      },
    }),
    art: createTestServer({
      tools: {
        picture: {
          description: "Paints",
          handler: () => [
            { type: "text", text: "A pixel" },
            { type: "image", data: PIXEL, mimeType: "image/png" },
          ],
        },
        search: { handler: () => "art" },
      },
    }),
    many: createTestServer({
      tools: Object.fromEntries(
        Array.from({ length: 100 }, (_, index) => [
          `tool.${index} with a name that no provider takes, and too long by far for every one of them`,
          { description: `Tool ${index}`, handler: () => String(index) },
        ]),
      ),
    }),
  };
  const mcpServers = Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, server.memory()]),
  );
  const toolport = createToolport({ mcpServers, ...options });
  return {
    toolport,
    servers,
    waiting: () => ({ started: started.promise, stopped: stopped.promise }),
    async [Symbol.asyncDispose]() {
      await toolport.close();
      await Promise.all(Object.values(servers).map((server) => server.close()));
    },
  };
}

/** One call, two parallel calls, a failure and an unknown tool, an image, the final text. */
export const AGENT_SCRIPT: readonly ScriptedTurn[] = [
  [{ name: "math__add", args: { a: 2, b: 3 } }],
  [
    { name: "lab__meet", args: { who: "Ada" } },
    { name: "lab__meet", args: { who: "Bob" } },
  ],
  [
    { name: "lab__fail", args: {} },
    { name: "lab__vanish", args: {} },
    { name: "math__add", args: { a: "two", b: 3 } },
  ],
  [{ name: "art__picture", args: {} }],
  "All done",
];

function resolvers<Value>(): { promise: Promise<Value>; resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((settle) => (resolve = settle));
  return { promise, resolve };
}
