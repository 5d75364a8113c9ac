/** Shows retry and fallback for a server that is busy or stopped. */
import type { FallbackRequest, Toolport } from "../index.js";
import { CALL_LIMIT } from "./call-tools.js";
import { check, type StepOutcome } from "./step-runner.js";
import { waitForChange } from "./wait-for-change.js";
import type { WeatherServers } from "./weather.js";

const CITY = { city: "Oslo" };

/** A server without a fallback rejects the call once with `Retry-After`. Toolport retries it after that time. */
export async function retryAfterRejection(
  toolport: Toolport,
  weather: WeatherServers,
): Promise<StepOutcome<never>> {
  weather.rejectNextCall();
  const { text, attempts, durationMs } = await toolport.callTool("weather_eu__forecast", CITY, CALL_LIMIT);
  check(attempts === 2, `${attempts} attempts were made, not 2`);
  check(durationMs >= 1_000, "the second attempt did not wait for Retry-After");
  return {
    details: [
      "first attempt: HTTP 503 with Retry-After: 1, so Toolport waits 1 s",
      `second attempt: "${text}", ${Math.round(durationMs)} ms after the call was made`,
    ],
  };
}

/** The server is stopped, so its fallback responds until the server is back. */
export async function fallBack(
  toolport: Toolport,
  weather: WeatherServers,
  asked: readonly FallbackRequest[],
): Promise<StepOutcome<never>> {
  const call = () => toolport.callTool("weather__forecast", CITY, CALL_LIMIT);
  await weather.stop();
  const instead = await call();
  check(instead.server === "weather_eu", `${instead.server} responded, not weather_eu`);
  check(instead.durationMs < 1_000, `that took ${Math.round(instead.durationMs)} ms`);
  check(asked.length === 1, `beforeFallback was called ${asked.length} times, not once`);
  await Promise.all([waitForChange(toolport, "weather", ({ to }) => to === "ready"), weather.start()]);
  const again = await call();
  check(again.server === "weather", `${again.server} responded, not weather`);
  return {
    details: [
      ...asked.map(
        ({ server, next, error, outcome }) =>
          `beforeFallback: ${server.name} → ${next.name} because of ${error.code}, outcome ${outcome}`,
      ),
      `${instead.server} responded "${instead.text}" after ${Math.round(instead.durationMs)} ms`,
      `weather was started again and reconnected automatically: ${again.server} responded "${again.text}"`,
    ],
  };
}
