/** A lean port listens for changes only while a client does. */

import { createToolport, type Toolport } from "@toolport/core";
import { expect, onTestFinished, test } from "vitest";
import { usersOf } from "../src/users.js";
import { countingServer, PATIENT, TOOLS } from "./support/counting-server.js";
import { startListenServer } from "./support/listen-server.js";

const nextChange = (toolport: Toolport) =>
  new Promise<{ server: string; lists: readonly string[] }>((resolve) => {
    const off = toolport.on("listsChanged", (change) => {
      off();
      resolve(change);
    });
  });

const MORE = { more: { handler: () => "more" }, echo: { handler: () => "ok" } };

for (const era of ["modern", "legacy"] as const) {
  const request = era === "modern" ? "subscriptions/listen" : "GET";

  test(`streams open with the first listener and close with the last (${era})`, async () => {
    await using one = await countingServer({ ...TOOLS, era });
    await using two = await countingServer({ ...TOOLS, era });
    await using toolport = createToolport({ mcpServers: { one: { url: one.url }, two: { url: two.url } } });
    const port = usersOf(toolport).use("ada", "needed");
    await port.need("tools", { servers: ["one"], ...PATIENT });
    expect(one.methods()).not.toContain(request);
    const opened = one.next(request);
    const stop = port.listen();
    const stopOther = port.listen();
    await opened;
    const later = two.next(request);
    await port.need("tools", PATIENT);
    await later;
    const changed = nextChange(toolport);
    await one.server.update({ tools: MORE });
    expect(await changed).toMatchObject({ server: "one", lists: ["tools"] });
    await port.need("tools", PATIENT);
    expect(port.catalog.items("tools").map(({ name }) => name)).toEqual([
      "one__more",
      "one__echo",
      "two__echo",
    ]);
    stopOther();
    stopOther();
    expect(one.openStreams).toBe(1);
    const closed = [one.streamClosed(), two.streamClosed()];
    stop();
    await Promise.all(closed);
    expect(one.openStreams + two.openStreams).toBe(0);
    // Listening again works.
    const again = one.next(request);
    port.listen();
    await again;
  });
}

test("a list that changes while it is read is read again", async () => {
  let answer = (_list: object) => {};
  const first = new Promise<object>((resolve) => {
    answer = resolve;
  });
  const tool = (name: string) => ({ name, inputSchema: { type: "object" } });
  let request = () => {};
  const requested = new Promise<void>((resolve) => {
    request = resolve;
  });
  const server = await startListenServer((read) => {
    request();
    return read === 1 ? first : { tools: [tool("new")] };
  });
  onTestFinished(() => server.close());
  await using toolport = createToolport({ mcpServers: { one: server.entry } });
  const port = usersOf(toolport).use("ada", "needed");
  port.listen();
  const needed = port.need("tools", PATIENT);
  const changed = nextChange(toolport);
  const notify = await server.opened;
  await requested;
  notify("notifications/tools/list_changed");
  await changed;
  answer({ tools: [tool("old")] });
  await needed;
  await port.need("tools", PATIENT);
  expect(port.catalog.items("tools").map(({ name }) => name)).toEqual(["one__new"]);
});
