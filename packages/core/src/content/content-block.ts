/** Content as the protocol writes it: content of tool results and of prompt messages. */

/** The audience and the priority of a block. */
export type ContentAnnotations = {
  readonly audience?: readonly ("user" | "assistant")[] | undefined;
  /** From 0 (optional) to 1 (required). */
  readonly priority?: number | undefined;
  /** A date in ISO 8601. */
  readonly lastModified?: string | undefined;
};

// Aliases, because an interface is not assignable to `Record<string, unknown>`.
type BlockFields = {
  readonly annotations?: ContentAnnotations | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
};

/** A text. */
export type TextContent = BlockFields & {
  readonly type: "text";
  readonly text: string;
};

/** An image in base64. */
export type ImageContent = BlockFields & {
  readonly type: "image";
  /** In base64. */
  readonly data: string;
  readonly mimeType: string;
};

/** Audio in base64. */
export type AudioContent = BlockFields & {
  readonly type: "audio";
  /** In base64. */
  readonly data: string;
  readonly mimeType: string;
};

/** An embedded resource. It has `text`, or `blob` in base64; some servers send only its URI. */
export type EmbeddedResource = BlockFields & {
  readonly type: "resource";
  readonly resource: {
    readonly uri: string;
    readonly mimeType?: string | undefined;
    readonly text?: string | undefined;
    readonly blob?: string | undefined;
    readonly _meta?: Readonly<Record<string, unknown>> | undefined;
  };
};

/** A resource that can be read from the same server: `toolport.readResource(result.server, block.uri)`. */
export type ResourceLink = BlockFields & {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  /** In bytes. */
  readonly size?: number | undefined;
  readonly icons?: readonly Readonly<Record<string, unknown>>[] | undefined;
};

/**
 * The type of a block that is none of the others. A string at run time; declared as an enum because TypeScript would keep a member with
 * `type: string` in the union after `block.type === "text"`. Compare it as a string: `(block.type as string) === "chart"`.
 */
declare enum OtherType {
  Any = "",
}

/** A block of a type that this version of Toolport does not know, as the server sent it. */
export type OtherContent = {
  readonly type: OtherType;
  readonly [field: string]: unknown;
};

/**
 * A content block as defined by MCP.
 *
 * @example
 * ```ts
 * for (const block of result.content) {
 *   if (block.type === "text") console.log(block.text);
 *   else if (block.type === "image") console.log(block.mimeType, block.data.length);
 * }
 * ```
 */
export type ContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | EmbeddedResource
  | ResourceLink
  | OtherContent;
