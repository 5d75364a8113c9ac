/** Resources in the format of `@langchain/mcp-adapters`. */
import type { ResourceContents, ResourceInfo, ResourceTemplateInfo } from "../../model/resource-info.js";
import type { MCPResource, MCPResourceContent, MCPResourceTemplate } from "./client-config.js";

export const toResource = ({ uri, ...rest }: ResourceInfo): MCPResource => ({ uri, ...describe(rest) });

export const toResourceTemplate = ({ uriTemplate, ...rest }: ResourceTemplateInfo): MCPResourceTemplate => ({
  uriTemplate,
  ...describe(rest),
});

export const toResourceContent = ({ uri, mimeType, text, blob }: ResourceContents): MCPResourceContent => ({
  uri,
  ...(mimeType !== undefined && { mimeType }),
  ...(text !== undefined && { text }),
  ...(blob !== undefined && { blob }),
});

type Described = Pick<ResourceInfo, "name" | "title" | "description" | "mimeType">;

const describe = ({ name, title, description, mimeType }: Described) => ({
  name: title ?? name,
  ...(description !== undefined && { description }),
  ...(mimeType !== undefined && { mimeType }),
});
