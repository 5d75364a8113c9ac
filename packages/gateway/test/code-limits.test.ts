/** `rateLimit` and `concurrency` of a gateway in code mode: each call of a program counts as a request of its user. */
import { createTestServer } from "toolport/testing";
import { describe, expect, it } from "vitest";
import { openGateway } from "./gateway-scene.js";
import { callModern, openRaw, textOfReply } from "./support/raw-gateway-client.js";

const auth = {
  verify: (request: Request) => ({
    principal: request.headers.get("authorization")!.slice("Bearer ".length),
    scopes: [],
  }),
};

async function run(url: string, token: string, code: string) {
  const { status, message } = await callModern(url, "execute", { code }, { token });
  return { status, value: (message.result?.["structuredContent"] as { value?: unknown } | undefined)?.value };
}

/** Calls that run in pairs: each waits until there are `size` of them. */
function meeting(size: number) {
  let running = 0;
  let most = 0;
  let waiting: (() => void)[] = [];
  const handler = async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length < size) return;
      for (const go of waiting) go();
      waiting = [];
    });
    running -= 1;
    return "met";
  };
  return { handler, most: () => most };
}

describe("rateLimit", () => {
  const CALLS = `
    const got = [];
    for (let n = 0; n < 5; n += 1) got.push(await tools.s.echo({ n }).catch(({ code }) => code));
    return got;
  `;

  it("a call that would have to wait too long is OVERLOADED and not sent; other users are served", async () => {
    await using server = createTestServer({ tools: { echo: { handler: () => "ok" } } });
    await using scene = await openGateway(
      { mcpServers: { s: server.memory() } },
      { auth, code: true, rateLimit: { perSecond: 0.001, burst: 4 } },
    );
    // `execute` is a request too.
    expect(await run(scene.url, "mallory", CALLS)).toEqual({
      status: 200,
      value: ["ok", "ok", "ok", "OVERLOADED", "OVERLOADED"],
    });
    expect(server.calls).toHaveLength(3);
    expect((await run(scene.url, "mallory", "return 1")).status).toBe(429);
    expect((await run(scene.url, "bob", "return tools.s.echo({})")).value).toBe("ok");
  });

  it("calls wait for the rate, in sequence and in parallel", async () => {
    await using server = createTestServer({ tools: { echo: { handler: () => "ok" } } });
    await using scene = await openGateway(
      { mcpServers: { s: server.memory() } },
      { auth, code: true, rateLimit: { perSecond: 50, burst: 1 } },
    );
    expect((await run(scene.url, "ada", CALLS)).value).toEqual(["ok", "ok", "ok", "ok", "ok"]);
    const parallel = "return (await Promise.all([1, 2, 3, 4].map((n) => tools.s.echo({ n })))).join()";
    expect((await run(scene.url, "bob", parallel)).value).toBe("ok,ok,ok,ok");
  });
});

describe("concurrency", () => {
  it.each([
    [1, "a program goes on in its own place"],
    [2, "one more call runs beside it"],
  ])("%i: %s", async (concurrency) => {
    const { handler, most } = meeting(concurrency);
    await using server = createTestServer({ tools: { meet: { handler } } });
    await using scene = await openGateway(
      { mcpServers: { s: server.memory() } },
      { auth, code: true, concurrency },
    );
    const source = "return (await Promise.all([1, 2, 3, 4].map((n) => tools.s.meet({ n })))).length";
    expect((await run(scene.url, "ada", source)).value).toBe(4);
    expect(most()).toBe(concurrency);
    expect((await run(scene.url, "ada", "return 1")).value).toBe(1);
  });

  it("a program that ends while its calls wait leaves no place taken", async () => {
    const { handler } = meeting(Number.POSITIVE_INFINITY);
    await using server = createTestServer({ tools: { meet: { handler } } });
    await using scene = await openGateway(
      { mcpServers: { s: server.memory() } },
      { auth, code: true, concurrency: 2 },
    );
    const source = "for (const n of [1, 2, 3, 4]) tools.s.meet({ n }); return 'left'";
    expect((await run(scene.url, "ada", source)).value).toBe("left");
    expect(server.calls.length).toBeLessThanOrEqual(2);
    const both = await Promise.all([1, 2].map((n) => run(scene.url, "ada", `return ${n}`)));
    expect(both.map(({ value }) => value)).toEqual([1, 2]);
  });
});

describe("answers that wait for programs", () => {
  it("those of one user end a program of that user, and none of another one", async () => {
    let open = (): void => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    let computes = (): void => {};
    const computing = new Promise<void>((resolve) => {
      computes = resolve;
    });
    const large = async () => {
      await opened;
      return "x".repeat(1_000_000);
    };
    const started = () => {
      computes();
      return "ok";
    };
    await using server = createTestServer({
      tools: { large: { handler: large }, started: { handler: started } },
    });
    const capacity = { threads: 1, memoryBytes: 32 << 20 };
    await using scene = await openGateway(
      { mcpServers: { s: server.memory() } },
      { auth, code: { capacity, limits: { cpuMs: 60_000 } } },
    );
    const source = (calls: number) =>
      `return (await Promise.all(Array.from({ length: ${calls} }, () => tools.s.large({})))).length`;
    // Two bytes for each character: 28 MB of 16 MiB. The large programs of one user have most together.
    const mallory = [5, 4, 4].map((calls) =>
      callModern(scene.url, "execute", { code: source(calls) }, { token: "mallory" }),
    );
    const ada = run(scene.url, "ada", source(1));
    await expect.poll(() => server.calls.length).toBe(14);
    const params = { name: "execute", arguments: { code: "tools.s.started({}); for (;;);" } };
    const bob = openRaw(scene.url, "tools/call", params, { token: "bob" });
    bob.response.catch(() => {});
    await computing;
    open();
    expect(textOfReply(await Promise.race(mallory))).toContain("too much data together");
    bob.abandon();
    expect((await ada).value).toBe(1);
    const failed = (await Promise.all(mallory)).filter(({ message }) => message.result?.isError);
    expect(failed.length).toBeLessThan(3);
  });
});
