/** The smoke test as a Worker: POST the servers as JSON, get the lines. See scripts/test-matrix.mjs. */
import * as toolport from "../../packages/toolport/dist/index.js";
import { smoke } from "./smoke-steps.mjs";

export default {
  async fetch(request) {
    const lines = [];
    try {
      for (const server of await request.json()) lines.push(...(await smoke(toolport, server)));
      return Response.json({ lines });
    } catch (error) {
      return Response.json({ lines, error: String(error?.stack ?? error) });
    }
  },
};
