/** Reads one resource of one server. */
import { CatalogError } from "./errors/catalog-error.js";
import { ToolCallError } from "./errors/tool-call-error.js";
import type { Port } from "./port.js";
import type { AccessOptions } from "./toolport.js";

/** One content of a resource: text, or bytes in base64. */
export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

const isContents = (value: unknown): value is ResourceContents =>
  typeof value === "object" && value !== null && typeof (value as { uri?: unknown }).uri === "string";

/** Servers say it in two ways; both name the resource in `data.uri` or answer to a read. */
const NOT_FOUND = [-32002, -32602];

export function readResource(
  port: Port,
  { server, uri }: { server: string; uri: string },
  { context, ...wait }: AccessOptions,
): Promise<ResourceContents[]> {
  const event = {
    kind: "resource" as const,
    server,
    uri,
    message: { uri },
    context,
    principal: port.principal?.name,
  };
  return port.parts.around(event, async () => {
    try {
      const request = { method: "resources/read", params: { uri }, uri };
      const result = await port.ask(port.pool.require(server), request, wait);
      return Array.isArray(result["contents"]) ? result["contents"].filter(isContents) : [];
    } catch (error) {
      if (!(error instanceof ToolCallError) || !NOT_FOUND.includes(error.rpcCode ?? 0)) throw error;
      throw new CatalogError({
        code: "RESOURCE_NOT_FOUND",
        server,
        what: `There is no resource ${uri}: ${error.what}`,
        next: "Look at resources() for what there is",
        cause: error,
      });
    }
  });
}
