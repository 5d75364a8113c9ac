/** Calls a tool by its name: a tool of a server, or one of the port itself, as a task, with suspension, or plainly. */
import type { SuspendedForApproval } from "../execution/suspend/suspension.js";
import type { AnyCallOptions } from "../execution/tool-call.js";
import type { Fields } from "../util/json.js";
import type { Port } from "./port.js";
import type { SuspendableCall } from "./suspensions/port-suspensions.js";

/** Saves a call that a person has to approve. Undefined if it needs no approval. */
export async function requestApproval(
  port: Port,
  { name, args, options }: SuspendableCall,
): Promise<SuspendedForApproval | undefined> {
  await port.opened();
  const target = port.catalog.entry(name) === undefined ? port.own.targetOf(name, args) : { name, args };
  return target && (await port.suspensions()).requestApproval({ ...target, options });
}

export function createCallTool(
  port: Port,
): (name: string, args?: Fields, options?: AnyCallOptions) => Promise<unknown> {
  return async (name, args = {}, options = {}) => {
    // Not awaited if there is nothing to wait for: a `close()` right after this call must end the call.
    const opening = port.opened();
    if (opening !== undefined) await opening;
    if (options.suspend) return callOrSuspend(port, { name, args, options });
    if (options.task) return port.tasks.start(name, args, options);
    const entry = port.catalog.entry(name);
    if (entry !== undefined) return (await port.run(entry, args, options)).result;
    return port.own.call(name, args, options) ?? port.callTool(name, args, options);
  };
}

async function callOrSuspend(port: Port, { name, args, options }: SuspendableCall): Promise<unknown> {
  const target = port.catalog.entry(name) === undefined ? port.own.targetOf(name, args) : { name, args };
  if (target !== undefined) return (await port.suspensions()).call({ ...target, options });
  const { suspend: _, ...plain } = options;
  return port.own.call(name, args, plain) ?? port.callTool(name, args, plain);
}
