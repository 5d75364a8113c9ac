/** Pins that one process approves reach the ports of users in all others. */

import { createToolport, type Toolport } from "@toolport/core";
import { memoryStore } from "@toolport/stores";
import { expect, test } from "vitest";
import { usersOf } from "../src/users.js";
import { countingServer, PATIENT, TOOLS } from "./support/counting-server.js";

const names = (toolport: Toolport) =>
  usersOf(toolport)
    .use("ada", "needed")
    .catalog.items("tools")
    .map(({ name }) => name);

test("a tool approved on one replica is offered on the other", async () => {
  await using one = await countingServer(TOOLS);
  const store = memoryStore();
  const options = { mcpServers: { one: { url: one.url } }, store, pins: "block" as const };
  await using first = createToolport(options);
  await using second = createToolport(options);
  await usersOf(first).use("ada", "needed").need("tools", PATIENT);
  expect(names(first)).toEqual(["one__echo"]);
  await one.server.update({ tools: { echo: { description: "Changed", handler: () => "ok" } } });
  // The second replica sees the tool for the first time, and the pin of the first.
  await usersOf(second).use("ada", "needed").need("tools", PATIENT);
  expect(names(second)).toEqual([]);
  const port = usersOf(first).use("ada", "needed");
  await port.reread(port.pool.require("one"));
  expect(names(first)).toEqual([]);
  const [here, changed] = [first, second].map(
    (replica) => new Promise((resolve) => replica.on("listsChanged", resolve)),
  );
  await first.as("ada").approveTools("one");
  expect(names(first)).toEqual(["one__echo"]);
  expect(await here).toMatchObject({ server: "one", lists: ["tools"], principal: "ada" });
  expect(await changed).toMatchObject({ server: "one", lists: ["tools"], principal: "ada" });
  expect(names(second)).toEqual(["one__echo"]);
});
