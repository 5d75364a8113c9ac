/** A tool as its server lists it, read with tolerance: one bad tool costs only itself. */
import { type ParamHeader, readParamHeaders } from "../protocol/param-headers.js";
import type { ToolInfo } from "./tool-info.js";

/** What is kept of a listed tool, before it gets its public name. */
export type SourceTool = Omit<ToolInfo, "name" | "server"> & {
  /** Arguments that the modern wire repeats as HTTP headers. */
  readonly paramHeaders: readonly ParamHeader[];
};

export type ReadTool = { tool: SourceTool } | { withheld: { name: string; reason: string } };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const text = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Reads one entry of `tools/list`. `withHeaders`: the wire repeats arguments as headers, so look for such. */
export function readSourceTool(raw: unknown, { withHeaders }: { withHeaders: boolean }): ReadTool {
  if (!isObject(raw)) return { withheld: { name: String(raw), reason: "The entry is not an object" } };
  const { name, inputSchema, outputSchema, annotations, icons, _meta } = raw;
  if (typeof name !== "string" || name === "") {
    return { withheld: { name: String(name), reason: "The name is not a non-empty string" } };
  }
  const withhold = (reason: string): ReadTool => ({ withheld: { name, reason } });
  if (!isObject(inputSchema)) return withhold("inputSchema is not an object");
  if (outputSchema !== undefined && !isObject(outputSchema)) return withhold("outputSchema is not an object");
  const headers = withHeaders ? readParamHeaders(inputSchema) : [];
  if (typeof headers === "string") return withhold(headers);
  return {
    tool: {
      sourceName: name,
      title: text(raw["title"]),
      description: text(raw["description"]),
      inputSchema,
      outputSchema,
      annotations: isObject(annotations) ? annotations : undefined,
      icons: Array.isArray(icons) ? icons.filter(isObject) : undefined,
      _meta: isObject(_meta) ? _meta : undefined,
      paramHeaders: headers,
    },
  };
}
