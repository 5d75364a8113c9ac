/** Keeps the host process from ending while somebody waits for what keeps no process alive itself. */
import { timerMs } from "./timer-ms.js";

/** Until the returned function is called. */
export function holdHost(): () => void {
  const timer = setInterval(() => {}, timerMs(Number.POSITIVE_INFINITY));
  return () => clearInterval(timer);
}
