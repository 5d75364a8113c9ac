/** Workers, browsers and Bun cannot stop a script in time: patterns run on a linear-time engine. */
import type { BoundedRun, LinearEngine } from "./bounded-run.js";

export const boundedRun: BoundedRun = {
  run: (task) => task(),
  async loadLinearEngine(): Promise<LinearEngine> {
    const { RE2JS } = await import("re2js");
    return (pattern) => {
      try {
        const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
        return (text) => compiled.test(text);
      } catch {
        // Look-around, back-references and very long repeats are not linear, so the engine rejects them.
        return undefined;
      }
    };
  },
};
