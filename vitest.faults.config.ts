/** The fault suite: `npm run test:faults`, and `npm run test:faults:long` with the bounds of the catalogue as written. */
import { mergeConfig } from "vitest/config";
import shared from "./vitest.shared.js";

const faults = mergeConfig(shared, {
  test: {
    reporters: ["./test/faults/fault-table.ts"],
    execArgv: ["--expose-gc"],
    setupFiles: ["./test/faults/own-temp-folder.ts"],
    // The common rule looks at processes, sockets and the event loop: each file has a process of its own.
    pool: "forks",
    // The cases wait most of the time. Each file has a process and a temporary folder of its own.
    maxWorkers: 4,
  },
});
faults.test = { ...faults.test, include: ["test/faults/**/*.test.ts"], exclude: [] };

export default faults;
