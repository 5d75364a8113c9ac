/** Many processes on one JSON state file. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fileStore } from "../../packages/stores/src/file/file-store.js";
import { isLong, testProcessesOnDisk } from "../contract/store-on-disk-processes.js";
import { useStateFolder } from "../support/state-folder.js";

const state = useStateFolder("state.json");

testProcessesOnDisk(state, {
  fileName: "state.json",
  open: fileStore,
  expectIntegrity: (file) => expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ toolport: 1 }),
  writers: 4,
  rounds: isLong ? 200 : 4,
  updatesEach: isLong ? 500 : 15,
  leftovers: /\.(lock|key)\.[\w-]+$/,
});

test.runIf(process.platform === "linux")("the lease of a killed process is free at once", async () => {
  const host = state.hosts.start(["lease", state.path, "work", "600000"]);
  await host.begun;
  const store = fileStore(state.path);
  expect(await store.lease("work", { ttlMs: 1_000 })).toBeUndefined();
  await host.kill();
  const lease = await store.lease("work", { ttlMs: 1_000 });
  expect(lease!.fence).toBeGreaterThan(Number(host.lines()[0]));
  await store.close();
});
