import type { ServerEntry } from "@toolport/core";
import { describe, expect, it } from "vitest";
import { nastyCommands as nasty } from "../../../test/fixtures/nasty-commands.js";
import { cpuTimeMs } from "../../../test/support/cpu-time.js";
import { describeCommand } from "./index.js";

describe("the text for consent", () => {
  it.each(Object.keys(nasty))("of %s", (name) => {
    const { text, startsProcess } = describeCommand(nasty[name]!);
    expect(startsProcess).toBe(true);
    expect(text).toMatchSnapshot();
    expect(text).toContain("DANGER");
    expect(text).not.toContain("CANARY");
    // No control characters.
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });

  it("contains the whole command, even if it is long", () => {
    const args = Array.from({ length: 500 }, (_, index) => `--argument-number-${index}`);
    expect(describeCommand({ command: "x", args }).text).toContain("--argument-number-499");
  });

  it.each<[string, ServerEntry, string]>([
    [
      "a package",
      { command: "npx", args: ["-y", "server"] },
      "runs      npx -y server\nnote      downloads a program and runs it",
    ],
    [
      "a local program",
      { command: "/usr/bin/server", cwd: "/srv/my data" },
      "runs      /usr/bin/server\nin        '/srv/my data'",
    ],
    [
      "a URL",
      { url: "https://example.com/mcp?key=CANARY", headers: { "X-Id": "CANARY" } },
      'calls     https://example.com/mcp?[redacted]\nsends     X-Id\nDANGER    contains a secret ("key"), and URLs end up in logs; use "headers" instead',
    ],
    ["a plain address", { url: "https://example.com/mcp" }, "calls     https://example.com/mcp"],
    [
      "a name that imitates another",
      { url: "https://xn--exmple-cua.com/mcp" },
      "calls     https://xn--exmple-cua.com/mcp\nDANGER    has a host name that may imitate another one",
    ],
  ])("of %s is short", (_name, entry, text) => {
    expect(describeCommand(entry).text).toBe(text);
  });

  it.each(["sh ", "rm -", "docker -", "\u001b[1", "base64 ", "$(", "`"])(
    "is fast on a megabyte of %j",
    (part) => {
      const before = cpuTimeMs();
      const { risks, text } = describeCommand({ command: "x", args: [part.repeat(1_000_000 / part.length)] });
      expect(cpuTimeMs() - before).toBeLessThan(20_000);
      expect(risks.map(({ message }) => message)).toContain("is too long to be examined");
      expect(text.length).toBeGreaterThan(900_000);
    },
  );

  it("reports no risks for a harmless command", () => {
    const usual: ServerEntry[] = [
      { command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/notes"] },
      { command: "uvx", args: ["mcp-server-git", "--repository", "."] },
      { command: "node", args: ["./dist/index.js", "--port", "3000"] },
      { command: "python3", args: ["-m", "server"] },
      { command: "docker", args: ["run", "-i", "--rm", "mcp/time"] },
      { command: "/opt/forms/bin/server", args: ["--format", "json"] },
    ];
    for (const entry of usual) {
      expect(describeCommand(entry).risks.filter(({ level }) => level === "danger")).toEqual([]);
    }
  });
});
