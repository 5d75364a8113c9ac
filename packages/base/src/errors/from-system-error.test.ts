import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { toToolportError } from "./to-toolport-error.js";
import { ConnectionError } from "./toolport-error.js";

const system = (errno: string, syscall?: string) =>
  Object.assign(new Error(`${syscall} ${errno}`), { code: errno, syscall });
const fetchFailed = (cause: unknown) => new TypeError("fetch failed", { cause });

test.each<[string, unknown, typeof ConnectionError, Record<string, unknown>]>([
  [
    "ECONNREFUSED",
    fetchFailed(system("ECONNREFUSED", "connect")),
    ConnectionError,
    { code: "UNREACHABLE", errno: "ECONNREFUSED", retryable: true, outcome: "unsent" },
  ],
  [
    "ENOTFOUND",
    system("ENOTFOUND", "getaddrinfo"),
    ConnectionError,
    { errno: "ENOTFOUND", outcome: "unsent" },
  ],
  [
    "ETIMEDOUT while connecting",
    system("ETIMEDOUT", "connect"),
    ConnectionError,
    { errno: "ETIMEDOUT", outcome: "unsent" },
  ],
  [
    "ETIMEDOUT while reading",
    system("ETIMEDOUT", "read"),
    ConnectionError,
    { errno: "ETIMEDOUT", outcome: "unknown", retryable: true },
  ],
  [
    "ECONNRESET",
    system("ECONNRESET", "read"),
    ConnectionError,
    { errno: "ECONNRESET", outcome: "unknown", retryable: true },
  ],
  [
    "no route while connecting",
    system("EHOSTUNREACH", "connect"),
    ConnectionError,
    { errno: "EHOSTUNREACH", outcome: "unsent" },
  ],
  [
    "a route that is lost under an open connection",
    system("EHOSTUNREACH", "read"),
    ConnectionError,
    { errno: "EHOSTUNREACH", outcome: "unknown", retryable: true },
  ],
  [
    "a TLS alert on an open connection",
    system("EPROTO", "write"),
    ConnectionError,
    { errno: "EPROTO", outcome: "unknown" },
  ],
  ["EPIPE", system("EPIPE", "write"), ConnectionError, { code: "UNREACHABLE", outcome: "unknown" }],
  [
    "both addresses refused",
    new AggregateError([system("ECONNREFUSED", "connect")]),
    ConnectionError,
    { errno: "ECONNREFUSED" },
  ],
  [
    "out of descriptors",
    system("EMFILE", "connect"),
    ConnectionError,
    { code: "UNREACHABLE", errno: "EMFILE", retryable: true, outcome: "unsent" },
  ],
  [
    "an expired certificate",
    fetchFailed(system("CERT_HAS_EXPIRED")),
    ConnectionError,
    { code: "UNREACHABLE", retryable: false, outcome: "unsent" },
  ],
  [
    "not TLS",
    fetchFailed(system("ERR_SSL_WRONG_VERSION_NUMBER")),
    ConnectionError,
    { code: "UNREACHABLE", retryable: false },
  ],
  ["not HTTP", fetchFailed(system("HPE_INVALID_CONSTANT")), ConnectionError, { code: "BAD_RESPONSE" }],
  [
    "no such program",
    system("ENOENT", "spawn nope"),
    ConnectionError,
    { code: "SPAWN_FAILED", errno: "ENOENT", outcome: "unsent", retryable: false },
  ],
])("%s", (_name, error, type, expected) => {
  const converted = toToolportError(error, { server: "weather", phase: "call" });
  expect(converted).toBeInstanceOf(type);
  expect(converted).toMatchObject({ ...expected, server: "weather", cause: error });
  expect(toToolportError(error, { phase: "connect" }).outcome).toBe("unsent");
});

test("real system errors are recognised", async () => {
  const server = createServer((socket) => socket.once("data", () => socket.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const reset = await fetch(`http://127.0.0.1:${port}/`).catch((error: unknown) => error);
  expect(toToolportError(reset)).toMatchObject({ code: "UNREACHABLE", outcome: "unknown", retryable: true });
  server.close();
  await once(server, "close");
  const refused = await fetch(`http://127.0.0.1:${port}/`).catch((error: unknown) => error);
  expect(toToolportError(refused)).toMatchObject({ errno: "ECONNREFUSED", outcome: "unsent" });
  const [missing] = await once(spawn(["no", "such", "program"].join("-")), "error");
  expect(toToolportError(missing)).toMatchObject({ code: "SPAWN_FAILED", errno: "ENOENT" });
});
