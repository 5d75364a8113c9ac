/** A policy file that changes, breaks, disappears and is replaced while it is in use. */
import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PolicyDecision, PolicyEffect } from "./policy.js";
import { type WatchedPolicy, watchPolicy } from "./watch-policy.js";

let folder: string;
let file: string;
let policy: WatchedPolicy | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "toolport-policy-"));
  file = join(folder, "policy.json");
});
afterEach(async () => {
  policy?.close();
  policy = undefined;
  await rm(folder, { recursive: true });
});

const document = (effect: PolicyEffect): string => JSON.stringify({ default: effect, rules: [] });
const effectNow = () =>
  (policy!.decide({ method: "tools/call", server: "s", tool: "t" }) as PolicyDecision).effect;

/** Starts to watch, and offers the next change and the next warning as promises. */
async function watch(pollMs = 5) {
  const warnings: string[] = [];
  let onWarning = () => {};
  policy = await watchPolicy(file, {
    pollMs,
    logger: {
      info() {},
      warn(message) {
        warnings.push(message);
        onWarning();
      },
    },
  });
  return {
    warnings,
    changed: () => new Promise<void>((resolve) => policy!.onChange(resolve)),
    warned: () =>
      new Promise<void>((resolve) => {
        onWarning = resolve;
      }),
  };
}

describe("a policy file", () => {
  it("that is missing or broken stops the start, with file and line", async () => {
    await expect(watchPolicy(file)).rejects.toMatchObject({
      code: "UNREADABLE_CONFIG",
      message: expect.stringContaining("policy.json"),
    });
    await writeFile(file, '{\n  "default": "alow",\n  "rules": []\n}');
    await expect(watchPolicy(file)).rejects.toMatchObject({
      code: "INVALID_CONFIG",
      issues: [{ file, line: 2, path: "policy.default" }],
    });
    await expect(watchPolicy(folder)).rejects.toMatchObject({ code: "UNREADABLE_CONFIG" });
  });

  it("that changes is read again", async () => {
    await writeFile(file, document("allow"));
    const { changed, warnings } = await watch();
    expect(effectNow()).toBe("allow");
    const next = changed();
    await writeFile(file, document("deny"));
    await next;
    expect(effectNow()).toBe("deny");
    // A file that is caught half written may have caused a warning, which names the file.
    for (const warning of warnings) expect(warning).toContain(file);
  });

  it("that breaks keeps the old rules, and the next good version counts", async () => {
    await writeFile(file, document("deny"));
    const { changed, warned, warnings } = await watch();
    const warning = warned();
    await writeFile(join(folder, "broken"), "{ broken");
    await rename(join(folder, "broken"), file);
    await warning;
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(`${file}:1`);
    expect(warnings[0]).toContain("the rules read before stay in use");
    expect(effectNow()).toBe("deny");
    const next = changed();
    await writeFile(join(folder, "good"), document("approve"));
    await rename(join(folder, "good"), file);
    await next;
    expect(effectNow()).toBe("approve");
  });

  it("that is removed keeps the old rules and warns once", async () => {
    await writeFile(file, document("deny"));
    const { warned, warnings, changed } = await watch();
    const warning = warned();
    await rm(file);
    await warning;
    expect(effectNow()).toBe("deny");
    const next = changed();
    await writeFile(join(folder, "good"), document("allow"));
    await rename(join(folder, "good"), file);
    await next;
    expect(effectNow()).toBe("allow");
    expect(warnings).toHaveLength(1);
  });

  it("behind a link that is switched is read again", async () => {
    // The way Kubernetes replaces a mounted configuration map.
    for (const effect of ["allow", "deny"] as const) await writeFile(join(folder, effect), document(effect));
    await symlink(join(folder, "allow"), file);
    const { changed } = await watch();
    const next = changed();
    await symlink(join(folder, "deny"), join(folder, "new-link"));
    await rename(join(folder, "new-link"), file);
    await next;
    expect(effectNow()).toBe("deny");
  });

  it("is read at once by reload(), and not after close()", async () => {
    await writeFile(file, document("allow"));
    const { warnings } = await watch(60_000);
    await writeFile(file, document("deny"));
    await expect(policy!.reload()).resolves.toBe(true);
    expect(effectNow()).toBe("deny");
    await writeFile(file, "nonsense");
    await expect(policy!.reload()).resolves.toBe(false);
    expect(effectNow()).toBe("deny");
    expect(warnings).toHaveLength(1);
    await writeFile(file, document("allow"));
    policy!.close();
    await policy!.reload();
    expect(effectNow()).toBe("deny");
  });
});
