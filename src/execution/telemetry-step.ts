/** The outermost step: one span around a whole call, with everything that was tried for it inside. */
import type { Telemetry } from "../telemetry/open-telemetry.js";
import type { CallInterceptor, CallTrail } from "./tool-call.js";

/** Runs every call in a span `execute_tool {tool}`; costs a look at a global where no SDK is registered. */
export function telemetryStep(telemetry: Telemetry): CallInterceptor {
  return (next) => (call) => {
    if (!telemetry.isActive) return next(call);
    const { tool, attempts } = call;
    let answeredBy: string | undefined;
    const trail: CallTrail = {};
    const end = () => ({
      server: answeredBy ?? attempts.at(-1)?.server ?? tool.server,
      attempts: attempts.length,
      repairs: trail.repaired?.length ?? 0,
    });
    return telemetry.toolCall({ tool: tool.name, end }, async () => {
      const result = await next({ ...call, trail });
      answeredBy = result.server;
      return result;
    });
  };
}
