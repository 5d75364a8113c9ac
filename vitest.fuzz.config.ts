/** The fuzzers, one after the other, each with its share of the time; run by `npm run fuzz`. */
import { mergeConfig } from "vitest/config";
import shared from "./vitest.shared.js";

const fuzz = mergeConfig(shared, {
  test: {
    pool: "forks",
    fileParallelism: false,
    // The shares of the time add up to the whole; what is above is for the run that shrinks a failure.
    testTimeout: 3_600_000,
  },
});
fuzz.test = { ...fuzz.test, include: ["test/fuzz/**/*.fuzz.ts"], exclude: [] };

export default fuzz;
