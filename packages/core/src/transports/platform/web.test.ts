import { expect, it } from "vitest";
import type { TransportContext } from "../server-transport.js";
import { httpClient, webSocket } from "./web.js";

it("a runtime that handles proxies itself rejects a proxy address, and accepts other values", async () => {
  const proxy = "http://ada:hush@proxy.example:3128";
  const error = await httpClient({ proxy }).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "INVALID_CONFIG", outcome: "unsent" });
  expect(String(error)).not.toContain("hush");
  const context = { proxy, maxMessageBytes: 1 } as TransportContext;
  await expect(webSocket({} as never, context)).rejects.toMatchObject({ code: "INVALID_CONFIG" });
  for (const settings of [
    {},
    { proxy: "env" },
    { proxy: false },
    { proxy, fetch: globalThis.fetch },
  ] as const)
    await (await httpClient(settings)).close();
});
