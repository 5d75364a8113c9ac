import { afterAll, afterEach, expect, test, vi } from "vitest";
import { createTelemetry } from "./open-telemetry.js";

const registry = Symbol.for("opentelemetry.js.api.1");
const globals = globalThis as Record<symbol, unknown>;
const load = vi.fn(() => {
  throw new Error("Cannot find package '@opentelemetry/api'");
});
vi.doMock("@opentelemetry/api", load);
afterAll(() => vi.doUnmock("@opentelemetry/api"));
afterEach(() => {
  delete globals[registry];
});

test("the package is loaded only if an SDK is registered, and a missing package is ignored", async () => {
  const telemetry = createTelemetry();
  const run = () => telemetry.attempt({ method: "tools/call", server: "a" }, async (meta) => meta ?? "none");
  expect(await run()).toBe("none");
  expect(load).not.toHaveBeenCalled();
  // An SDK was registered with another copy of the API that cannot be imported here.
  globals[registry] = { version: "1.9.0", trace: {} };
  expect(telemetry.isActive).toBe(true);
  expect(await run()).toBe("none");
  expect(load).toHaveBeenCalledTimes(1);
  expect(telemetry.isActive).toBe(false);
  expect(await run()).toBe("none");
  telemetry.sessionEnded({ server: "a" }, 1);
  expect(load).toHaveBeenCalledTimes(1);
});
