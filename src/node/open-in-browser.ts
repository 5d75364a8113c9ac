/** Opens a URL in the user's browser, without a shell that could read more into it. */
import { spawn } from "node:child_process";

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** False if there is no browser to be had. The URL has to be checked before. */
export async function openInBrowser(url: URL): Promise<boolean> {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const opener = spawn(command, [...args, url.href], { shell: false, detached: true, stdio: "ignore" });
    opener.once("error", () => resolve(false));
    opener.once("spawn", () => resolve(true));
    opener.unref();
  });
}
