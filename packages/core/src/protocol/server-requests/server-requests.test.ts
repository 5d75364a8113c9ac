import { ConfigError, type Logger } from "@toolport/base";
import { describe, expect, test } from "vitest";
import { logToLogger, type ServerRequestOptions } from "./server-request-options.js";
import { createServerRequests } from "./server-requests.js";

const capabilities = (options: ServerRequestOptions) =>
  createServerRequests({ ...options, report() {} }).capabilities;

describe("client capabilities", () => {
  const decline = () => ({ action: "decline" }) as const;
  const sample = () => ({ role: "assistant", model: "m", content: { type: "text", text: "" } }) as const;

  const elicitation = { create: {} };
  const sampling = { createMessage: {} };
  const tasks = (requests: object) => ({ tasks: { list: {}, cancel: {}, requests } });

  test.each([
    [{}, {}],
    [
      { onElicitation: decline },
      { elicitation: { form: { applyDefaults: true } }, ...tasks({ elicitation }) },
    ],
    [{ onElicitation: { url: decline } }, { elicitation: { url: {} }, ...tasks({ elicitation }) }],
    [
      { onElicitation: { form: decline, url: decline } },
      { elicitation: { form: { applyDefaults: true }, url: {} }, ...tasks({ elicitation }) },
    ],
    [{ onElicitation: {} }, {}],
    [{ onSampling: sample }, { sampling: {}, ...tasks({ sampling }) }],
    [{ onSampling: { handle: sample } }, { sampling: {}, ...tasks({ sampling }) }],
    [{ onSampling: { handle: sample, tools: true } }, { sampling: { tools: {} }, ...tasks({ sampling }) }],
    [
      { onElicitation: { url: decline }, onSampling: sample },
      { elicitation: { url: {} }, sampling: {}, ...tasks({ elicitation, sampling }) },
    ],
    [{ roots: [] }, { roots: { listChanged: true } }],
    [{ onLog() {} }, {}],
  ])("of %o are %j", (options, expected) => {
    expect(capabilities(options)).toEqual(expected);
  });

  test("roots that are not file URLs are rejected at creation", () => {
    const roots = [{ uri: "file:///home/ada" }, { uri: "https://example.com" }, { uri: "/home" }];
    expect(() => capabilities({ roots })).toThrow(ConfigError);
    expect(() => capabilities({ roots })).toThrow(/roots\[1\]\.uri.*\n.*roots\[2\]\.uri/);
  });
});

test("log messages reach the logger at the right level, without secrets and control characters", () => {
  const lines: string[] = [];
  const write = (level: string) => (message: string) => lines.push(`${level} ${message}`);
  const logger: Logger = {
    debug: write("debug"),
    info: write("info"),
    warn: write("warn"),
    error: write("error"),
  };
  const log = logToLogger(logger);
  log({ server: "a", level: "debug", data: "one" });
  log({ server: "a", level: "notice", logger: "db", data: { rows: 2 } });
  log({ server: "a", level: "warning", data: "\u001b[31mred" });
  log({ server: "a", level: "emergency", data: "token=abcdef" });
  log({ server: "a", level: "error", data: undefined });
  expect(lines).toEqual([
    "debug [a] one",
    'info [a/db] {"rows":2}',
    "warn [a] [31mred",
    "error [a] token=[redacted]",
    "error [a] ",
  ]);
});
