/** The tool `read_artifact`: models read results that were too large, part by part. */

import { READ_ARTIFACT_NAME, type ToolInfo } from "@toolport/base";
import type { Artifacts } from "../../execution/artifacts/artifact-store.js";
import { type OwnTool, toOwnInfo } from "./own-tools.js";

const DEFINITION = {
  name: READ_ARTIFACT_NAME,
  description:
    "Reads a part of a result that was too large to show: items of its longest JSON list, or lines of its text.",
  inputSchema: Object.freeze({
    type: "object",
    properties: {
      id: { type: "string", description: "The id in the note of that result" },
      from: { type: "integer", description: "First item or line; default 0" },
      count: { type: "integer", description: "Default 50" },
      find: { type: "string", description: "Only those that contain this text" },
      fields: {
        type: "array",
        items: { type: "string" },
        description: "Only these fields of each item, such as user.login",
      },
    },
    required: ["id"],
    additionalProperties: false,
  }),
};

/** The tool as it is listed. One object, because schemas derived from it are cached by object. */
export const readArtifactInfo: ToolInfo = Object.freeze({
  ...toOwnInfo(DEFINITION),
  annotations: Object.freeze({ readOnlyHint: true, idempotentHint: true, openWorldHint: false }),
});

/** @param artifacts of the user; read when the tool is called */
export const createArtifactTool = (artifacts: () => Artifacts): OwnTool => ({
  ...DEFINITION,
  // Loaded with the first call: most programs have no large results.
  call: async (args) => (await import("./read-artifact.js")).readArtifact(artifacts(), args),
});
