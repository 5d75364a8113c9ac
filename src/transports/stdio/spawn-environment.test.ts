import { describe, expect, it } from "vitest";
import { mergeEnvironment, safeEnvironment } from "./spawn-environment.js";

describe("mergeEnvironment", () => {
  const defaults = { PATH: "/bin", HOME: "/home/me" };

  it("lets the server's own variables win over the safe ones", () => {
    const env = mergeEnvironment({ defaults, own: { PATH: "/mine", KEY: "k" }, platform: "linux" });
    expect(env).toEqual({ PATH: "/mine", HOME: "/home/me", KEY: "k" });
  });

  it("takes everything when asked", () => {
    const inherited = { PATH: "/bin", SECRET: "s", gone: undefined };
    expect(mergeEnvironment({ defaults, inherited, own: {}, platform: "linux" })).toEqual({
      PATH: "/bin",
      SECRET: "s",
    });
  });

  it("knows on Windows that Path is PATH", () => {
    const env = mergeEnvironment({
      defaults: { Path: "a", TEMP: "t" },
      own: { PATH: "b" },
      platform: "win32",
    });
    expect(env).toEqual({ PATH: "b", TEMP: "t" });
  });
});

describe("safeEnvironment", () => {
  it("has what the SDK has", async () => {
    const { getDefaultEnvironment } = await import("@modelcontextprotocol/client/stdio");
    expect(safeEnvironment()).toEqual(getDefaultEnvironment());
  });

  it("leaves functions and everything else out", () => {
    expect(safeEnvironment({ PATH: "/bin", TERM: "() { :; }", TOKEN: "t" }, "linux")).toEqual({
      PATH: "/bin",
    });
    expect(safeEnvironment({ PATH: "C:\\", SYSTEMROOT: "C:\\w", SHELL: "sh" }, "win32")).toEqual({
      PATH: "C:\\",
      SYSTEMROOT: "C:\\w",
    });
  });
});
