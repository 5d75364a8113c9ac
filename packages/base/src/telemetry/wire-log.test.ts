/** Messages in the log: readable, short and without secrets. */
import { describe, expect, test } from "vitest";
import { cpuTimeMs } from "../../../../test/support/cpu-time.js";
import { createWireLog, describeMessage, guardLogger, type Logger } from "./logger.js";

const CANARY = "CANARY-3f9a";

function recorder() {
  const lines: string[] = [];
  const note = (message: string) => void lines.push(message);
  const logger: Logger = { debug: note, info: note, warn: note, error: note };
  return { lines, logger };
}

describe("describeMessage", () => {
  test.each<[string, unknown]>([
    ["a token", { params: { arguments: { token: CANARY } } }],
    ["a token under a longer name", { accessToken: CANARY, refresh_token: CANARY, "x-auth-token": CANARY }],
    ["a password", { password: CANARY, userPassword: CANARY, passwd: CANARY }],
    ["a secret", { client_secret: CANARY, Secret: CANARY }],
    [
      "keys",
      { apiKey: CANARY, api_key: CANARY, "API-Key": CANARY, privateKey: CANARY, "private-key": CANARY },
    ],
    ["a session", { sessionId: CANARY, data: { session_id: CANARY, "Mcp-Session-Id": CANARY } }],
    ["headers", { headers: { Authorization: `Bearer ${CANARY}`, Cookie: CANARY } }],
    ["a whole object under a secret name", { credentials: { user: CANARY, list: [CANARY] } }],
    ["a list under a secret name", { tokens: [CANARY] }],
    ["a number under a secret name", { pin: 1, secret: 12345 }],
    ["a URL with a query", { uri: `https://example.com/x?sig=${CANARY}` }],
    ["a bearer in running text", { text: `call it with Bearer ${CANARY}` }],
    ["JSON inside text", { text: `{"access_token":"${CANARY}"}` }],
  ])("redacts %s", (_what, message) => {
    const text = describeMessage(message);
    expect(text).not.toContain(CANARY);
    expect(text).not.toContain("12345");
  });

  test("keeps other fields", () => {
    const message = {
      jsonrpc: "2.0",
      id: "toolport-1",
      method: "tools/call",
      params: { name: "echo", arguments: { text: "hello" }, _meta: { progressToken: "toolport-1" } },
    };
    expect(JSON.parse(describeMessage(message))).toEqual(message);
    expect(describeMessage({ token: null })).toBe('{"token":null}');
  });

  test("truncates long messages and appends their length", () => {
    const text = describeMessage({ list: Array.from({ length: 1_000 }, (_, index) => `item ${index}`) });
    expect(text.length).toBeLessThan(2_100);
    expect(text).toMatch(/… \(\d+ characters\)$/);
  });

  test("handles a message of several megabytes quickly", () => {
    const started = cpuTimeMs();
    describeMessage({ text: "token=".repeat(1_000_000) });
    expect(cpuTimeMs() - started).toBeLessThan(10_000);
  });
});

describe("createWireLog", () => {
  const sent = { method: "ping", id: 1 };
  const received = { id: 1, result: {} };

  test.each([
    [true, true, ["[it] -> ", "[it] <- "]],
    [true, false, ["[it] -> "]],
    [false, true, ["[it] <- "]],
  ])("requests %s, responses %s", (logRequests, logResponses, expected) => {
    const { lines, logger } = recorder();
    const log = createWireLog({ server: "it", logRequests, logResponses, logger });
    log?.("sent", sent);
    log?.("received", received);
    expect(lines.map((line) => line.slice(0, 8))).toEqual(expected);
  });

  test("is undefined if logging is off", () => {
    const { logger } = recorder();
    expect(createWireLog({ server: "it", logRequests: false, logResponses: false, logger })).toBeUndefined();
  });
});

describe("guardLogger", () => {
  const levels = ["debug", "info", "warn", "error"] as const;

  test("passes messages on and keeps `this`", () => {
    const seen: unknown[] = [];
    class Mine {
      #mark = "mine";
      log(message: string, details?: unknown) {
        seen.push([this.#mark, message, details]);
      }
      debug = this.log.bind(this);
      info(message: string, details?: unknown) {
        this.log(message, details);
      }
      warn = this.log.bind(this);
      error = this.log.bind(this);
    }
    guardLogger(new Mine()).info("hello", { a: 1 });
    expect(seen).toEqual([["mine", "hello", { a: 1 }]]);
  });

  test.each(levels)("ignores a %s that throws or rejects", async (level) => {
    const fail = () => {
      throw new Error("disk full");
    };
    const reject = () => Promise.reject(new Error("disk full"));
    const throwing = guardLogger({ debug: fail, info: fail, warn: fail, error: fail });
    const rejecting = guardLogger({ debug: reject, info: reject, warn: reject, error: reject });
    expect(() => throwing[level]("x")).not.toThrow();
    expect(() => rejecting[level]("x")).not.toThrow();
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setImmediate(resolve));
  });
});
