/** The three tiers: `unit` and `integration` are part of `npm test`, `slow` of `npm run test:slow`. */
import { defineConfig, mergeConfig } from "vitest/config";
import shared from "./vitest.shared.js";

const SLOW = "{packages,test}/**/*.slow.test.ts";
/** Tests that start no program: they run with those beside the sources. */
const UNIT_FOLDERS = ["packages/adapters/test/**/*.test.ts", "test/types/**/*.test.ts"];
/** Suites with a configuration of their own. That no fault is without a test is checked here. */
const OWN_CONFIGURATION = ["test/faults/!(manifest).test.ts", "test/package/**", "test/workerd/**"];

export default mergeConfig(
  shared,
  defineConfig({
    test: {
      projects: [
        {
          extends: true,
          test: {
            name: "unit",
            include: ["packages/*/src/**/*.test.ts", ...UNIT_FOLDERS],
            exclude: [SLOW],
            // Files share the workers and their loaded modules: a test must leave no global state behind.
            isolate: false,
            setupFiles: ["test/support/shared-worker.ts"],
          },
        },
        {
          extends: true,
          test: {
            name: "integration",
            include: ["{test,packages/*/test}/**/*.test.ts"],
            exclude: [SLOW, ...OWN_CONFIGURATION, ...UNIT_FOLDERS],
            isolate: false,
            // These tests wait for processes and time limits more than they compute, so more workers than cores pay off.
            maxWorkers: 4,
            sequence: { groupOrder: 1 },
            setupFiles: ["test/support/shared-worker.ts"],
          },
        },
        {
          extends: true,
          test: {
            name: "slow",
            include: [SLOW],
            exclude: OWN_CONFIGURATION,
            maxWorkers: 3,
            sequence: { groupOrder: 2 },
          },
        },
      ],
    },
  }),
);
