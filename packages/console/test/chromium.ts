/** Starts the Chromium of this machine, if there is one. */
import { type Browser, chromium } from "playwright-core";
import { findProgram, mayBeSkipped } from "../../../test/support/local-service.js";

const program = process.env["CHROMIUM_PATH"] ?? findProgram("chromium", ["/usr/bin"]);

/** True if suites that need Chromium must be skipped. */
export const isWithoutChromium = mayBeSkipped(program);

export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  if (program === undefined) throw new Error("No Chromium was found, and TOOLPORT_REQUIRE_SERVICES is set");
  const isRoot = process.getuid?.() === 0;
  // All pages are on this machine: bypass the environment's proxy.
  const always = ["--no-proxy-server", ...(isRoot ? ["--no-sandbox"] : [])];
  return chromium.launch({ executablePath: program, args: [...args, ...always] });
}
