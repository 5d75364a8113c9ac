/** Node and Deno can stop a running script, a regular expression included. Chosen by the package's `#run-bounded` conditions. */
import { type Context, createContext, Script } from "node:vm";
import { type BoundedRun, TIMED_OUT } from "./bounded-run.js";

let stage: { context: Context; script: Script } | undefined;

export const boundedRun: BoundedRun = {
  run<T>(task: () => T, limitMs: number): T | typeof TIMED_OUT {
    // The script only calls back; running it as a script enables the timeout.
    stage ??= { context: createContext(Object.create(null)), script: new Script("task()") };
    const { context, script } = stage;
    let result: T | typeof TIMED_OUT = TIMED_OUT;
    context["task"] = () => {
      result = task();
    };
    try {
      script.runInContext(context, { timeout: Math.max(1, Math.floor(limitMs)) });
    } catch (error) {
      if ((error as { code?: unknown }).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw error;
      return TIMED_OUT;
    } finally {
      // Otherwise the value would be retained.
      context["task"] = undefined;
    }
    return result;
  },
};
