/** A server cannot be connected, or its lists cannot be read. */

/** Thrown by the methods of `MultiServerMCPClient`. `cause` is the `ToolportError` that says why. */
export class MCPClientError extends Error {
  override readonly name = "MCPClientError";
  /** The server it is about; undefined when it is about none in particular. */
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
