/** The three tiers: `unit` and `integration` are part of `npm test`, `slow` of `npm run test:slow`. */
import { defineConfig, mergeConfig } from "vitest/config";
import shared from "./vitest.shared.js";

const SLOW = "{src,test}/**/*.slow.test.ts";
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
            include: ["src/**/*.test.ts", "test/{adapters,types}/**/*.test.ts"],
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
            include: ["test/**/*.test.ts"],
            exclude: [SLOW, ...OWN_CONFIGURATION, "test/{adapters,types}/**"],
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
            isolate: false,
            // Most of these tests wait for processes and time limits, too.
            maxWorkers: 4,
            sequence: { groupOrder: 2 },
            setupFiles: ["test/support/shared-worker.ts"],
          },
        },
      ],
    },
  }),
);
