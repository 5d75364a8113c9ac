/** Outside engines that answer, fail, hang and lie, alone and together with rules. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createPolicy, type PolicyHook, type PolicyOption } from "./create-policy.js";
import type { PolicyRequest } from "./policy.js";
import { readPolicy } from "./read-policy.js";

const CALL: PolicyRequest = { method: "tools/call", server: "files", tool: "read", args: { path: "a" } };
const listed = (...tools: string[]): PolicyRequest[] =>
  tools.map((tool) => ({ method: "tools/list", server: "files", tool }));

function create(option: PolicyOption) {
  const warn = vi.fn();
  return { policy: createPolicy(option, { warn }), warn };
}

afterEach(() => {
  vi.useRealTimers();
});

describe("an outside engine", () => {
  it.each<[string, ReturnType<PolicyHook>, object]>([
    ["true", true, { effect: "allow" }],
    ["false", false, { effect: "deny", reason: "The policy engine denies this" }],
    ["a word", "approve", { effect: "approve" }],
    [
      "a decision",
      { effect: "deny", reason: "Not on Sundays" },
      { effect: "deny", reason: "Not on Sundays" },
    ],
    ["a promise", Promise.resolve(true), { effect: "allow" }],
  ])("answers with %s", async (_, answer, wanted) => {
    const { policy, warn } = create(() => answer);
    expect(await policy.decide(CALL)).toMatchObject({ ...wanted, readsArguments: true });
    expect(warn).not.toHaveBeenCalled();
  });

  it.each<[string, PolicyHook]>([
    [
      "throws",
      () => {
        throw new Error("out of order");
      },
    ],
    ["rejects", () => Promise.reject(new Error("out of order"))],
    ["returns nothing", () => undefined as never],
    ["returns 1", () => 1 as never],
    ["returns an unknown word", () => "permit" as never],
    ["returns an unknown effect", async () => ({ effect: "yes" }) as never],
    ["returns null", () => null as never],
  ])("that %s denies, and the logger gets the cause", async (_, hook) => {
    const { policy, warn } = create(hook);
    expect(await policy.decide(CALL)).toMatchObject({
      effect: "deny",
      reason: expect.stringContaining("did not decide"),
    });
    expect(await policy.decideAll(listed("a", "b"))).toMatchObject([{ effect: "deny" }, { effect: "deny" }]);
    expect(warn).toHaveBeenCalledWith(expect.any(String), expect.any(Error));
  });

  it("that hangs denies after its time, and its signal is aborted", async () => {
    vi.useFakeTimers();
    let seen: AbortSignal | undefined;
    const { policy } = create({
      timeoutMs: 500,
      decide: (_, { signal }) => {
        seen = signal;
        return new Promise(() => {});
      },
    });
    const deciding = policy.decide(CALL);
    await vi.advanceTimersByTimeAsync(499);
    expect(seen!.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await deciding).toMatchObject({ effect: "deny" });
    expect(seen!.aborted).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("that answers at once decides without a promise", () => {
    const { policy } = create(({ tool }) => tool === "read");
    expect(policy.decide(CALL)).toMatchObject({ effect: "allow" });
    expect(policy.decideAll(listed("read", "write"))).toMatchObject([
      { effect: "allow" },
      { effect: "deny" },
    ]);
  });

  it("is asked about a list 16 entries at a time, or once", async () => {
    let running = 0;
    let most = 0;
    const { policy } = create(async ({ tool }) => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
      return tool !== "3";
    });
    const requests = listed(...Array.from({ length: 100 }, (_, index) => String(index)));
    const decisions = await policy.decideAll(requests);
    expect(decisions.map(({ effect }) => effect).indexOf("deny")).toBe(3);
    expect(decisions).toHaveLength(100);
    expect(most).toBeLessThanOrEqual(17);

    const decideAll = vi.fn(async (all: readonly PolicyRequest[]) => all.map(({ tool }) => tool === "a"));
    const once = create({ decide: () => true, decideAll }).policy;
    expect(await once.decideAll(listed("a", "b"))).toMatchObject([{ effect: "allow" }, { effect: "deny" }]);
    expect(decideAll).toHaveBeenCalledTimes(1);
  });

  it("that answers a list with too few entries denies all", async () => {
    const { policy } = create({ decide: () => true, decideAll: async () => [true] });
    expect(await policy.decideAll(listed("a", "b"))).toMatchObject([{ effect: "deny" }, { effect: "deny" }]);
  });
});

describe("rules and engines together", () => {
  const rules = () =>
    readPolicy({
      default: "allow",
      rules: [
        { effect: "deny", tool: "remove", reason: "By rule" },
        { effect: "approve", tool: "write" },
      ],
    });

  it("the strictest answer counts, and the engine is not asked about what a rule denies", async () => {
    const asked: unknown[] = [];
    const hook: PolicyHook = async ({ tool }) => {
      asked.push(tool);
      return tool === "send" ? { effect: "deny", reason: "By engine" } : true;
    };
    const { policy } = create([await rules(), hook]);
    const decide = (tool: string) => policy.decide({ ...CALL, tool });
    expect(await decide("remove")).toMatchObject({ effect: "deny", reason: "By rule" });
    expect(asked).toEqual([]);
    expect(await decide("write")).toMatchObject({ effect: "approve", readsArguments: true });
    expect(await decide("send")).toMatchObject({ effect: "deny", reason: "By engine" });
    expect(await decide("read")).toMatchObject({ effect: "allow" });
    expect(await policy.decideAll(listed("read", "remove", "send", "write"))).toMatchObject([
      { effect: "allow" },
      { effect: "deny", reason: "By rule" },
      { effect: "deny", reason: "By engine" },
      { effect: "approve" },
    ]);
    expect(asked).toEqual(["write", "send", "read", "read", "send", "write"]);
  });

  it("rules that were not read are a mistake", () => {
    const written = { default: "deny", rules: [] };
    expect(() => create(written as never)).toThrow("await readPolicy(rules)");
  });

  it("no part at all allows", () => {
    expect(create([]).policy.decide(CALL)).toEqual({ effect: "allow" });
    expect(create([]).policy.decideAll(listed("a"))).toEqual([{ effect: "allow" }]);
  });
});
