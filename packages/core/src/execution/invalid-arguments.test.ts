import { createSchemaValidator } from "@toolport/schemas/internal";
import { afterEach, expect, test, vi } from "vitest";
import { callOf, targetOf } from "../../../../test/support/tool-call.js";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  vi.resetModules();
});

test("a repair is logged to the debug channel, with paths and changes but without values", async () => {
  vi.stubEnv("DEBUG", "toolport:call");
  vi.resetModules();
  const { repairOrThrow } = await import("./invalid-arguments.js");
  const lines = vi.spyOn(console, "error").mockImplementation(() => {});
  const validator = createSchemaValidator();
  const schema = {
    type: "object",
    properties: { max_results: { type: "integer" }, token: { type: "array", items: { type: "string" } } },
    additionalProperties: false,
  };
  const args = { maxResults: "123456789", token: "s3cret" };
  const call = callOf({ args, target: targetOf({ validator }) });
  const issues = await validator.validate(schema, args);
  const sent = await repairOrThrow({ call, schema, args, issues, mode: "repair" }, () => {});
  expect(sent.args).toEqual({ max_results: 123456789, token: ["s3cret"] });
  expect(lines.mock.calls).toEqual([
    [
      'toolport:call [a/echo] arguments repaired: $.maxResults renamed to "max_results"; $.max_results text to number; $.token one value to a list',
    ],
  ]);
});
