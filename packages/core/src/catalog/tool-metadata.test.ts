import { expect, test } from "vitest";
import { McpToolMetadataKeys as Keys, toolMetadata } from "./tool-metadata.js";

const bare = { name: "s__t", server: "s", sourceName: "t", inputSchema: {} };

test("leaves out fields that the server does not send", () => {
  expect(toolMetadata(bare)).toEqual({ [Keys.SERVER]: "s", [Keys.SOURCE_NAME]: "t" });
});

test("keeps all fields under different keys", () => {
  const tool = {
    ...bare,
    title: "The title",
    annotations: {
      title: "The other title",
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    },
    icons: [{ src: "data:," }],
    execution: { taskSupport: "optional" },
    outputSchema: { type: "object" },
    _meta: { "example.com/cost": { tokens: 3 }, note: "x" },
  };
  expect(toolMetadata(tool)).toEqual({
    [Keys.TITLE]: "The title",
    [Keys.ANNOTATION_TITLE]: "The other title",
    [Keys.READ_ONLY_HINT]: true,
    [Keys.DESTRUCTIVE_HINT]: false,
    [Keys.IDEMPOTENT_HINT]: true,
    [Keys.OPEN_WORLD_HINT]: false,
    [Keys.ICONS]: tool.icons,
    [Keys.EXECUTION]: tool.execution,
    [Keys.OUTPUT_SCHEMA]: tool.outputSchema,
    [Keys.META]: tool._meta,
    [Keys.SERVER]: "s",
    [Keys.SOURCE_NAME]: "t",
    "example.com/cost": { tokens: 3 },
    note: "x",
  });
});

test("entries of _meta never use a key of Toolport", () => {
  const _meta = JSON.parse(
    '{"server":"evil","readOnlyHint":true,"title":"evil","__proto__":{"polluted":true}}',
  );
  const metadata = toolMetadata({ ...bare, _meta });
  expect(metadata[Keys.SERVER]).toBe("s");
  expect(metadata).not.toHaveProperty(Keys.READ_ONLY_HINT);
  expect(metadata).not.toHaveProperty(Keys.TITLE);
  expect(metadata[Keys.META]).toBe(_meta);
  expect(metadata["polluted"]).toBeUndefined();
});

test("all keys are different", () => {
  const values = Object.values(Keys);
  expect(new Set(values).size).toBe(values.length);
});
