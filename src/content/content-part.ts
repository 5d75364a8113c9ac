/** MCP content in a form that every adapter can map: total, never throws, never fetches. */

/** What every part carries besides its own fields. */
interface PartOrigin {
  /** The block as the server sent it. */
  readonly source: Readonly<Record<string, unknown>>;
}

/** One piece of a tool's answer or of a prompt's message. */
export type ContentPart = PartOrigin &
  (
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
    /** An embedded resource that only names itself. */
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
    /** A block of a type nobody here knows, or one that is not what its type says. */
    | { readonly kind: "unknown"; readonly type: string }
  );

type Block = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Reads one block. Anything that does not fit becomes `unknown`. */
export function toContentPart(block: Block): ContentPart {
  const source = block;
  const type = textOf(block["type"]) ?? "none";
  const unknown: ContentPart = { kind: "unknown", type, source };
  switch (type) {
    case "text": {
      const text = textOf(block["text"]);
      return text === undefined ? unknown : { kind: "text", text, source };
    }
    case "image":
    case "audio": {
      const data = textOf(block["data"]);
      const mimeType = textOf(block["mimeType"]) ?? (type === "image" ? "image/png" : "audio/wav");
      return data === undefined ? unknown : { kind: type, data, mimeType, source };
    }
    case "resource":
      return toResourcePart(block["resource"], source) ?? unknown;
    case "resource_link": {
      const uri = textOf(block["uri"]);
      if (uri === undefined) return unknown;
      const [name, title, description, mimeType] = ["name", "title", "description", "mimeType"].map((key) =>
        textOf(block[key]),
      );
      return { kind: "link", uri, name, title, description, mimeType, source };
    }
    default:
      return unknown;
  }
}

function toResourcePart(resource: unknown, source: Block): ContentPart | undefined {
  if (typeof resource !== "object" || resource === null) return undefined;
  const { uri, text, blob, mimeType } = resource as Block;
  if (typeof uri !== "string") return undefined;
  const type = textOf(mimeType);
  if (typeof text === "string") return { kind: "text-resource", uri, text, mimeType: type, source };
  if (typeof blob === "string") return { kind: "blob-resource", uri, data: blob, mimeType: type, source };
  return { kind: "bare-resource", uri, mimeType: type, source };
}

/** Reads all blocks of an answer. */
export const toContentParts = (blocks: readonly Block[]): ContentPart[] => blocks.map(toContentPart);
