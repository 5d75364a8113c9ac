/** Validates MCP content for the adapters. Accepts any input, never throws, never fetches. */
import { readBytes } from "./read-bytes.js";

/** Fields of every part. */
interface PartOrigin {
  /** The block as the server sent it. */
  readonly source: Readonly<Record<string, unknown>>;
  /** The server marks it for the user only (`annotations.audience: ["user"]`). */
  readonly userOnly: boolean;
}

type PartBody =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "image"; readonly data: string; readonly mimeType: string }
  | { readonly kind: "audio"; readonly data: string; readonly mimeType: string }
  /** An embedded resource with text. */
  | {
      readonly kind: "text-resource";
      readonly uri: string;
      readonly text: string;
      readonly mimeType: string | undefined;
    }
  /** An embedded resource with bytes, in base64. */
  | {
      readonly kind: "blob-resource";
      readonly uri: string;
      readonly data: string;
      readonly mimeType: string | undefined;
    }
  /** An embedded resource with only a URI. */
  | { readonly kind: "bare-resource"; readonly uri: string; readonly mimeType: string | undefined }
  /** A link to a resource that can be read from the same server. */
  | {
      readonly kind: "link";
      readonly uri: string;
      readonly name: string | undefined;
      readonly title: string | undefined;
      readonly description: string | undefined;
      readonly mimeType: string | undefined;
    }
  /** A block of a type that Toolport does not know. */
  | { readonly kind: "unknown"; readonly type: string }
  /** An item that is not a block, or a block that violates its type. */
  | { readonly kind: "malformed"; readonly type: string; readonly problem: string };

/**
 * One validated part of a tool result or of a prompt message: `data` is standard base64, `mimeType` is the actual type of the
 * bytes, and parts that violate the protocol have the kind `malformed` with a reason.
 */
export type ContentPart = PartOrigin & PartBody;

/**
 * The type of a block in `result.content` that replaces an item that is not a block: `value` is the item. If there are very
 * many, one block with `more` replaces the rest.
 */
export const MALFORMED_TYPE = "malformed";

type Block = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Block =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Limits the length of server text in a note. */
const MAX_TYPE = 100;

/** Reads one block. Anything invalid is `malformed`. */
export function toContentPart(item: unknown): ContentPart {
  const source = isRecord(item) ? item : { type: MALFORMED_TYPE, value: item };
  const { type, text } = source;
  // Fast path for text: the spread below is slow.
  if (type === "text" && typeof text === "string")
    return { kind: "text", text, source, userOnly: isUserOnly(source) };
  return { ...bodyOf(source), source, userOnly: isUserOnly(source) };
}

/** Reads all blocks of a result. */
export const toContentParts = (items: readonly unknown[]): ContentPart[] => items.map(toContentPart);

function bodyOf(block: Block): PartBody {
  const type = textOf(block["type"])?.slice(0, MAX_TYPE);
  const malformed = (problem: string): PartBody => ({ kind: "malformed", type: type ?? "content", problem });
  switch (type) {
    case undefined:
      return malformed("it has no type");
    case MALFORMED_TYPE:
      return { kind: "malformed", type: "content", problem: describe(block) };
    case "text":
      return malformed("it has no text");
    case "image":
    case "audio": {
      const bytes = readBytes(block["data"], block["mimeType"], type);
      if ("problem" in bytes) return malformed(bytes.problem);
      return { kind: type, data: bytes.data, mimeType: bytes.mimeType! };
    }
    case "resource": {
      // Some servers write the fields of the resource beside the type.
      const resource = block["resource"] ?? block;
      return isRecord(resource) ? resourceBody(resource, malformed) : malformed("it has no resource");
    }
    case "resource_link": {
      const uri = textOf(block["uri"]);
      if (uri === undefined || uri === "") return malformed("it has no uri");
      const [name, title, description] = ["name", "title", "description"].map((key) => textOf(block[key]));
      return { kind: "link", uri, name, title, description, mimeType: textOf(block["mimeType"]) };
    }
    default:
      return { kind: "unknown", type };
  }
}

function resourceBody(resource: Block, malformed: (problem: string) => PartBody): PartBody {
  const { uri, text, blob, mimeType } = resource;
  if (typeof uri !== "string" || uri === "") return malformed("it has no uri");
  if (typeof text === "string") return { kind: "text-resource", uri, text, mimeType: textOf(mimeType) };
  if (blob !== undefined && blob !== null) {
    const bytes = readBytes(blob, mimeType);
    if ("problem" in bytes) return malformed(`${bytes.problem} (${uri})`);
    return { kind: "blob-resource", uri, data: bytes.data, mimeType: bytes.mimeType ?? textOf(mimeType) };
  }
  if (text !== undefined && text !== null) return malformed(`its text is not a string (${uri})`);
  return { kind: "bare-resource", uri, mimeType: textOf(mimeType) };
}

/** https://modelcontextprotocol.io/specification/2025-11-25/server/resources#annotations */
function isUserOnly(block: Block): boolean {
  const { annotations } = block;
  const resource = block["resource"];
  const given = isRecord(annotations)
    ? annotations
    : isRecord(resource)
      ? resource["annotations"]
      : undefined;
  if (!isRecord(given)) return false;
  const audience: unknown[] = [given["audience"]].flat();
  return audience.includes("user") && !audience.includes("assistant");
}

/** Describes an item that is not a block, or how many more there are. */
function describe({ value, more }: Block): string {
  if (typeof more === "number") return `${more} more items are not content blocks`;
  if (value === null || value === undefined) return "it is null";
  if (Array.isArray(value)) return "it is a list";
  return typeof value === "object" ? "it is an object without a type" : `it is a ${typeof value}`;
}
