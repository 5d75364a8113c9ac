/** Keeps the demo's servers up and shows them in the console, until somebody has seen enough. */
import type { Toolport } from "../index.js";
import type { Screen } from "./screen.js";

/** Resolves at Enter, at Ctrl-C, or when the signal says so. */
export async function stayUp(toolport: Toolport, screen: Screen, signal?: AbortSignal): Promise<void> {
  const { startConsole } = await import("../console/start-console.js");
  const page = await startConsole({ toolport, log: (message) => screen.print([message]) });
  try {
    screen.print([
      `${screen.paint("title", "The servers stay up. Look at them here:")} ${page.url}`,
      screen.paint("quiet", "Enter or Ctrl-C ends the demo."),
      "",
    ]);
    await somebodyHadEnough(signal);
  } finally {
    await page.close();
  }
}

function somebodyHadEnough(signal: AbortSignal | undefined): Promise<void> {
  const { stdin } = process;
  return new Promise((resolve) => {
    const end = () => {
      stdin.off("data", end).off("end", end).pause();
      process.off("SIGINT", end).off("SIGTERM", end);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    stdin.on("data", end).on("end", end).resume();
    process.on("SIGINT", end).on("SIGTERM", end);
    signal?.addEventListener("abort", end);
    if (signal?.aborted) end();
  });
}
