/** Duties of a client towards schemas, results and caches. */
import type { Toolport } from "toolport";
import { expect } from "vitest";
import {
  type JsonRpcMethods,
  type JsonRpcRequest,
  startJsonRpcServer,
} from "../fixtures/servers/http-json-rpc.js";
import { openCanary } from "./canary.js";
import { faultCase } from "./fault-case.js";
import type { FaultHarness } from "./fault-harness.js";
import { expectOthersWell, openSchemaSetup } from "./schema-setup.js";

faultCase(
  "S15",
  "http, https and file are not fetched; what they would say is not checked",
  async (harness) => {
    const canary = await openCanary(harness);
    const refs = [`http://${canary.host}/s`, `https://${canary.host}/s`, "file:///etc/hostname"];
    const setup = await openSchemaSetup(harness, [
      ...refs.map(($ref, at) => ({
        name: `far_${at}`,
        inputSchema: { type: "object", properties: { x: { $ref } } },
      })),
      { name: "nowhere", inputSchema: { type: "object", properties: { x: { $ref: "#/$defs/none" } } } },
    ]);
    const names = [...refs.map((_, at) => `it__far_${at}`), "it__nowhere"];
    for (const name of names)
      expect((await setup.toolport.callTool(name, { x: 1 }, { checkArguments: "strict" })).text).toBe(
        '{"x":1}',
      );
    await expectOthersWell(setup);
    expect(canary.visits()).toBe(0);
  },
);

const SLOW = "^(a+)+$";
const BAIT = `${"a".repeat(28)}!`;

faultCase(
  "S16",
  "10,000 levels, 10,000 choices and an endless pattern, in one list",
  async (harness) => {
    const deep = `${'{"type":"object","properties":{"a":'.repeat(10_000)}{}${"}}".repeat(10_000)}`;
    const choices = Array.from({ length: 10_000 }, (_, at) => `choice ${at}`);
    const setup = await openSchemaSetup(harness, [
      `{"name":"deep","inputSchema":${deep}}`,
      { name: "long", inputSchema: { type: "object", properties: { x: { enum: choices } } } },
      { name: "slow", inputSchema: { type: "object", properties: { x: { type: "string", pattern: SLOW } } } },
    ]);
    const { toolport } = setup;
    await toolport.callTool("it__first", { text: "warm" });
    const refused = { server: "it", withinMs: 1_000 };
    await harness.fails(toolport.callTool("it__deep"), { code: "TOOL_WITHHELD", ...refused });
    expect((await toolport.callTool("it__long", { x: "choice 9999" })).isError).toBe(false);
    await harness.fails(toolport.callTool("it__long", { x: "other" }), {
      code: "INVALID_ARGUMENTS",
      ...refused,
    });
    // What takes too long is not checked.
    for (const checkArguments of ["strict", "repair"] as const)
      expect((await toolport.callTool("it__slow", { x: BAIT }, { checkArguments })).isError).toBe(false);
    await expectOthersWell(setup);
  },
  { maxLagMs: 750 },
);

/** A modern server over HTTP whose only tool gives this answer. */
async function openTool(
  harness: FaultHarness,
  answer: JsonRpcMethods[string],
): Promise<{ toolport: Toolport; calls: JsonRpcRequest[] }> {
  const calls: JsonRpcRequest[] = [];
  const server = await startJsonRpcServer({
    "tools/list": () => ({ tools: [{ name: "ask", inputSchema: { type: "object" } }] }),
    "tools/call": (request) => {
      calls.push(request);
      return answer(request);
    },
  });
  harness.atEnd(() => server[Symbol.asyncDispose]());
  const toolport = harness.open({ it: server.entry }, { onElicitation: () => ({ action: "decline" }) });
  await toolport.connect();
  return { toolport, calls };
}

const content = [{ type: "text", text: "done" }];
const form = {
  method: "elicitation/create",
  params: { mode: "form", message: "Who?", requestedSchema: { type: "object", properties: {} } },
};

for (const resultType of ["partial", "", 7, null]) {
  faultCase("S19", `an unknown resultType (${JSON.stringify(resultType)})`, async (harness) => {
    const { toolport, calls } = await openTool(harness, () => ({ resultType, content }));
    await harness.fails(toolport.callTool("it__ask"), {
      code: "PROTOCOL",
      server: "it",
      tool: "ask",
      withinMs: 1_000,
    });
    expect(calls).toHaveLength(1);
  });
}

faultCase("S19", "no resultType means complete", async (harness) => {
  const { toolport } = await openTool(harness, () => ({ content }));
  expect((await toolport.callTool("it__ask")).text).toBe("done");
});

/** Text that looks like JSON must not be parsed and serialized again. */
const STATES = ['{"n":1e3,  "x":null, "é":"\\u00e9 ü 💡"}', "{ not json", "", " \n\t ", "\u0000\u2028"];

for (const state of STATES) {
  faultCase("S19", `requestState is returned byte for byte: ${JSON.stringify(state)}`, async (harness) => {
    const { toolport, calls } = await openTool(harness, ({ params }) =>
      "requestState" in params
        ? { content }
        : { resultType: "input_required", inputRequests: { who: form }, requestState: state },
    );
    expect((await toolport.callTool("it__ask", { a: 1 })).text).toBe("done");
    const [first, second] = calls;
    expect(second?.params["requestState"]).toBe(state);
    expect(second?.params["inputResponses"]).toEqual({ who: { action: "decline" } });
    expect(second?.params["arguments"]).toEqual({ a: 1 });
    expect(second?.id).not.toBe(first?.id);
  });
}

faultCase("S19", "no requestState is sent if the server sent none", async (harness) => {
  const { toolport, calls } = await openTool(harness, ({ params }) =>
    "inputResponses" in params ? { content } : { resultType: "input_required", inputRequests: { who: form } },
  );
  expect((await toolport.callTool("it__ask")).text).toBe("done");
  expect(calls[1]?.params).not.toHaveProperty("requestState");
});

const READS = 10_000;

faultCase(
  "S20",
  "two users read cacheable resources 10,000 times: neither sees the other's",
  async (harness) => {
    let asked = 0;
    const server = await startJsonRpcServer({
      "resources/list": () => ({ resources: [] }),
      "resources/read": ({ params, headers }) => {
        asked += 1;
        const text = `${headers["x-user"]} ${params["uri"]}`;
        return {
          resultType: "complete",
          ttlMs: 60_000,
          scope: "private",
          contents: [{ uri: params["uri"], text }],
        };
      },
    });
    harness.atEnd(() => server[Symbol.asyncDispose]());
    const toolport = harness.open({ it: server.entry });
    const users = ["ada", "grace"].map((user) => ({
      user,
      port: toolport.as(user, { headers: { "x-user": user } }),
    }));
    let made = 0;
    let crossed = 0;
    const worker = async () => {
      while (made < READS) {
        const at = made++;
        const { user, port } = users[at % 2]!;
        const uri = `x://${Math.floor(at / 2) % 50}`;
        const [read] = await port.readResource("it", uri);
        if (read?.text !== `${user} ${uri}`) crossed += 1;
      }
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    expect(crossed).toBe(0);
    // The cache is per user: a hundred responses serve all reads, except for parallel ones.
    expect(asked).toBeLessThan(1_000);
  },
  { timeoutMs: 120_000 },
);

faultCase(
  "S20",
  "a negative or missing lifetime caches nothing; another URI is another entry",
  async (harness) => {
    const asked: string[] = [];
    const ttl: Record<string, unknown> = {
      "x://negative": -1,
      "x://none": undefined,
      "x://text": "60000",
      "x://kept": 60_000,
    };
    const server = await startJsonRpcServer({
      "resources/list": () => ({ resources: [] }),
      "resources/read": ({ params }) => {
        const uri = String(params["uri"]);
        asked.push(uri);
        return { resultType: "complete", ttlMs: ttl[uri], contents: [{ uri, text: uri }] };
      },
    });
    harness.atEnd(() => server[Symbol.asyncDispose]());
    const toolport = harness.open({ it: server.entry });
    for (let round = 0; round < 3; round += 1)
      for (const uri of Object.keys(ttl)) expect((await toolport.readResource("it", uri))[0]?.text).toBe(uri);
    for (const uri of Object.keys(ttl))
      expect(
        asked.filter((each) => each === uri),
        uri,
      ).toHaveLength(uri === "x://kept" ? 1 : 3);
  },
);

faultCase("S20", "a result that needed input of the user is not cached", async (harness) => {
  let rounds = 0;
  const server = await startJsonRpcServer({
    "resources/list": () => ({ resources: [] }),
    "resources/read": ({ params }) => {
      if (!("inputResponses" in params)) {
        rounds += 1;
        return { resultType: "input_required", inputRequests: { who: form } };
      }
      return {
        resultType: "complete",
        ttlMs: 60_000,
        contents: [{ uri: "x://it", text: `round ${rounds}` }],
      };
    },
  });
  harness.atEnd(() => server[Symbol.asyncDispose]());
  const toolport = harness.open({ it: server.entry }, { onElicitation: () => ({ action: "decline" }) });
  expect((await toolport.readResource("it", "x://it"))[0]?.text).toBe("round 1");
  expect((await toolport.readResource("it", "x://it"))[0]?.text).toBe("round 2");
});
