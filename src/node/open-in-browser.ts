/** Opens a URL in the user's browser, without a shell that could interpret it. */
import { spawn } from "node:child_process";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Returns false if no browser can be started. Callers validate the URL first. */
export async function openInBrowser(url: URL): Promise<boolean> {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const opener = spawn(command, [...args, url.href], { shell: false, detached: true, stdio: "ignore" });
    opener.once("error", () => resolve(false));
    opener.once("spawn", () => resolve(true));
    opener.unref();
  });
}
