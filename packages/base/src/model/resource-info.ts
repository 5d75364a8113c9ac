/** Resources, templates and prompts as users see them. */

/** A resource of one server. Unknown fields are kept. */
export interface ResourceInfo {
  readonly server: string;
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  /** The resource is a user interface that a host renders (MCP Apps). */
  readonly isUi?: true;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A resource template of one server. */
export interface ResourceTemplateInfo {
  readonly server: string;
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  /** The resources are user interfaces that a host renders (MCP Apps). */
  readonly isUi?: true;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** A prompt of one server. */
export interface PromptInfo {
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** One content of a resource: text, or bytes in base64. */
export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  readonly blob?: string;
  readonly _meta?: Readonly<Record<string, unknown>>;
}
