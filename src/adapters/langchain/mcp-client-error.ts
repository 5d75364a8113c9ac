/** The error of a server that cannot be connected or whose lists cannot be read. */

/** Thrown by the methods of `MultiServerMCPClient`. `cause` is the `ToolportError` that says why. */
export class MCPClientError extends Error {
  override readonly name = "MCPClientError";
  /** The server; undefined if the error does not concern a single server. */
  readonly serverName: string | undefined;

  constructor(message: string, serverName?: string, options?: { cause?: unknown }) {
    super(message, options);
    this.serverName = serverName;
  }

  /** By name, as documented: also across copies of the package. */
  static isInstance(value: unknown): value is MCPClientError {
    return value instanceof Error && value.name === "MCPClientError";
  }
}
