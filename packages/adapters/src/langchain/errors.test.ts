import { ConfigError, formatPath } from "@toolport/base";
import { expect, test } from "vitest";
import { toZodError } from "./errors.js";

test.each<[(string | number)[]]>([
  [["mcpServers", "weather", "url"]],
  [["mcpServers", "my server", "args", 1]],
  [["mcpServers", "a.b[0]", "headers", 'X-"quoted"']],
  [["mcpServers"]],
  [["mcpServers", "@scope/server", "env"]],
])("parses a formatted path: %j", (path) => {
  const [root, ...rest] = path;
  const issues = [{ path: formatPath(String(root), rest), message: "wrong" }];
  const error = toZodError(new ConfigError({ code: "INVALID_CONFIG", issues }), false);
  expect(error.issues).toEqual([{ code: "custom", path, message: "wrong" }]);
});
