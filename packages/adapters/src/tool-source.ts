/** What an adapter needs of a port. A Toolport fits, and so does a code mode of `toolport/code`. */

import type { ToolInfo } from "@toolport/base";
import type {
  CallToolOptions,
  ResumeInput,
  ResumeOptions,
  SuspendCallOptions,
  Suspended,
  Toolport,
  ToolResult,
  ToolsOptions,
} from "@toolport/core";

/** Tools for a model, and a way to call them. Every method that may be missing belongs to a feature that the source does not have then. */
export interface ToolSource
  extends Partial<
    Pick<
      Toolport,
      "searchTools" | "snapshot" | "instructions" | "requestApproval" | "suspended" | "readResource"
    >
  > {
  tools(options?: ToolsOptions): Promise<ToolInfo[]>;
  callTool(
    name: string,
    args: Readonly<Record<string, unknown>> | undefined,
    options: SuspendCallOptions,
  ): Promise<ToolResult | Suspended>;
  callTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallToolOptions,
  ): Promise<ToolResult>;
  /** Continues a waiting call, and returns its result or the next suspension, unless there is a `resumeTool`. */
  resume(token: string, answer?: ResumeInput, options?: ResumeOptions): Promise<object>;
  /** As `resume()`, for sources whose `resume()` returns something other than a result for the model. */
  resumeTool?(token: string, answer?: ResumeInput, options?: ResumeOptions): Promise<ToolResult | Suspended>;
}

/** What a call is suspended with. */
export type SuspendOptions = Exclude<SuspendCallOptions["suspend"], true>;

/** Continues a waiting call of a model. */
export const resumeTool = (
  source: ToolSource,
  token: string,
  ...rest: [answer?: ResumeInput | undefined, options?: ResumeOptions | undefined]
): Promise<ToolResult | Suspended> =>
  source.resumeTool === undefined
    ? (source.resume(token, ...rest) as Promise<ToolResult | Suspended>)
    : source.resumeTool(token, ...rest);
