/** The smoke test as a process of Bun, Deno or Node: `<runtime> smoke-process.mjs <servers as JSON>`. It must exit without `process.exit`. */
import * as toolport from "../../packages/toolport/dist/index.js";
import { smoke } from "./smoke-steps.mjs";

for (const server of JSON.parse(process.argv[2])) {
  for (const line of await smoke(toolport, server)) console.log(line);
}
