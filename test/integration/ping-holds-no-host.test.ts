/** The ping after a timeout runs in the background and does not keep the host alive. */
import { expect, test } from "vitest";
import { startSingleThreadServer, TRANSPORTS } from "../support/single-thread-server.js";
import { startHost } from "../support/start-host.js";

/** Shorter than the timeout of a ping. */
const STILL_THERE_MS = 8_000;

test.concurrent.each(TRANSPORTS)("over %s", async (transport) => {
  await using server = await startSingleThreadServer(transport, ["--deaf"]);
  const host = await startHost("timeout-host.mjs", [JSON.stringify(server.entry)]);
  expect(host.report).toBe("TIMEOUT");
  let timer: NodeJS.Timeout | undefined;
  const stillThere = new Promise((resolve) => {
    timer = setTimeout(resolve, STILL_THERE_MS, "still there");
  });
  const end = await Promise.race([host.exited, stillThere]);
  clearTimeout(timer);
  host.kill("SIGKILL");
  expect(end).toEqual({ code: 0, signal: null });
});
