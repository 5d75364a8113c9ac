/** Calls a tool by its name: a tool of a server, or one of the port itself, as a task, with suspension, or plainly. */
import type { CatalogEntry } from "../catalog/build-snapshot.js";
import type { SuspendedForApproval } from "../execution/suspend/suspension.js";
import type { AnyCallOptions, SuspendCallOptions } from "../execution/tool-call.js";
import type { ToolResult } from "../execution/tool-result.js";
import type { OwnToolSet } from "./own-tools/own-tool-set.js";
import type { PortSuspensions } from "./suspensions/port-suspensions.js";
import type { PortTasks } from "./tasks/port-tasks.js";

type Arguments = Readonly<Record<string, unknown>>;

/** The part of a port that calls need. */
interface CallHost {
  readonly catalog: { entry(name: string): CatalogEntry | undefined };
  readonly own: OwnToolSet;
  readonly tasks: PortTasks;
  opened(): Promise<void> | undefined;
  suspensions(): Promise<PortSuspensions>;
  callListedTool(name: string, args: Arguments, options: AnyCallOptions): Promise<ToolResult> | undefined;
  callTool(name: string, args: Arguments, options: AnyCallOptions): Promise<ToolResult>;
}

/** Saves a call that a person has to approve. Undefined if it needs no approval. */
export async function requestApproval(
  port: CallHost,
  { name, args, options }: { name: string; args: Arguments; options: SuspendCallOptions },
): Promise<SuspendedForApproval | undefined> {
  await port.opened();
  const target = port.catalog.entry(name) === undefined ? port.own.targetOf(name, args) : { name, args };
  return target && (await port.suspensions()).requestApproval(target.name, target.args, options);
}

export function createCallTool(
  port: CallHost,
): (name: string, args?: Arguments, options?: AnyCallOptions) => Promise<unknown> {
  return (name, args = {}, options = {}) => {
    try {
      // Fast path: allocates no promise.
      const opening = port.opened();
      if (opening === undefined) return call(name, args, options);
      return opening.then(() => call(name, args, options));
    } catch (error) {
      return Promise.reject(error);
    }
  };

  function call(name: string, args: Arguments, options: AnyCallOptions): Promise<unknown> {
    if (options.suspend) return callOrSuspend(name, args, options);
    if (options.task) return port.tasks.start(name, args, options);
    const calling = port.callListedTool(name, args, options) ?? port.own.call(name, args, options);
    return calling ?? port.callTool(name, args, options);
  }

  async function callOrSuspend(name: string, args: Arguments, options: SuspendCallOptions): Promise<unknown> {
    const target = port.catalog.entry(name) === undefined ? port.own.targetOf(name, args) : { name, args };
    if (target !== undefined) return (await port.suspensions()).call(target.name, target.args, options);
    const { suspend: _, ...plain } = options;
    return port.own.call(name, args, plain) ?? port.callTool(name, args, plain);
  }
}
