/** What happens to a call whose server is busy, or is not there at all. */
import type { FallbackRequest, Toolport } from "../index.js";
import { CALL_LIMIT } from "./call-tools.js";
import { check, type StepOutcome } from "./step-runner.js";
import { waitForChange } from "./wait-for-change.js";
import type { WeatherServers } from "./weather.js";

const CITY = { city: "Oslo" };

/** A server without a fallback turns the call away once and says when to come back; the call is sent again then. */
export async function retryAfterRefusal(
  toolport: Toolport,
  weather: WeatherServers,
): Promise<StepOutcome<never>> {
  weather.refuseNextCall();
  const { text, attempts, durationMs } = await toolport.callTool("weather_eu__forecast", CITY, CALL_LIMIT);
  check(attempts === 2, `${attempts} attempts were made, not 2`);
  check(durationMs >= 1_000, "the second attempt did not wait for as long as the server asked");
  return {
    details: [
      "first attempt: HTTP 503, Retry-After: 1: the server asked us to come back after 1 s",
      `second attempt: "${text}", ${Math.round(durationMs)} ms after the call was made`,
    ],
  };
}

/** The server is gone; the one that was named as its fallback answers, until the first is back. */
export async function fallBack(
  toolport: Toolport,
  weather: WeatherServers,
  asked: readonly FallbackRequest[],
): Promise<StepOutcome<never>> {
  const call = () => toolport.callTool("weather__forecast", CITY, CALL_LIMIT);
  await weather.stop();
  const instead = await call();
  check(instead.server === "weather_eu", `${instead.server} answered, not weather_eu`);
  check(instead.durationMs < 1_000, `that took ${Math.round(instead.durationMs)} ms`);
  check(asked.length === 1, `beforeFallback was asked ${asked.length} times, not once`);
  await Promise.all([waitForChange(toolport, "weather", ({ to }) => to === "ready"), weather.start()]);
  const again = await call();
  check(again.server === "weather", `${again.server} answered, not weather`);
  return {
    details: [
      ...asked.map(
        ({ server, next, error, outcome }) =>
          `beforeFallback: ${server.name} → ${next.name} because of ${error.code}, outcome ${outcome}`,
      ),
      `${instead.server} answered "${instead.text}" after ${Math.round(instead.durationMs)} ms`,
      `weather was started again and came back by itself: ${again.server} answered "${again.text}"`,
    ],
  };
}
