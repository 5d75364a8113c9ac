/** The fault rows of suspended calls, on every store. */
import { afterAll, beforeAll, describe } from "vitest";
import { startFaultServer } from "./fault-processes.js";
import { type FaultRig, testFaultRows } from "./fault-rows.js";
import { testProcessRows } from "./fault-rows-processes.js";
import { testServerRows } from "./fault-rows-servers.js";
import { FAULT_STORES } from "./fault-stores.js";

describe.each(FAULT_STORES.map((kind) => ({ kind, name: kind.name })))("$name", ({ kind }) => {
  describe.skipIf(kind.isMissing)("rows", () => {
    let rig: FaultRig;
    beforeAll(async () => {
      rig = { server: await startFaultServer(), store: await kind.start() };
    });
    afterAll(async () => {
      await rig?.server[Symbol.asyncDispose]();
      await rig?.store[Symbol.asyncDispose]();
    });
    testFaultRows(() => rig);
    testServerRows(() => rig);
    // These need a store that processes share.
    if (kind.name !== "memory") testProcessRows(() => rig);
  });
});
