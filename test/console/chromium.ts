/** The Chromium of this machine, where there is one. */
import { type Browser, chromium } from "playwright-core";
import { findProgram, mayBeSkipped } from "../support/local-service.js";

const program = process.env["CHROMIUM_PATH"] ?? findProgram("chromium", ["/usr/bin"]);

/** True if suites that need it should skip themselves. */
export const isWithoutChromium = mayBeSkipped(program);

export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  if (program === undefined) throw new Error("No Chromium was found, and TOOLPORT_REQUIRE_SERVICES is set");
  const isRoot = process.getuid?.() === 0;
  // All pages are on this machine, whatever proxy the environment names.
  const always = ["--no-proxy-server", ...(isRoot ? ["--no-sandbox"] : [])];
  return chromium.launch({ executablePath: program, args: [...args, ...always] });
}
