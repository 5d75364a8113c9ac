/** Starts the other side of a transport contract as a process of its own, so that it can vanish and its memory is not ours. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
/** Path of a server in `test/fixtures/servers`. */
export const fixture = (name) => fileURLToPath(new URL(`../fixtures/servers/${name}.mjs`, import.meta.url));
export async function startPeer(name) {
    const child = spawn(process.execPath, [fixture(name)], { stdio: ["pipe", "pipe", "inherit"] });
    const exited = once(child, "exit");
    const lines = createInterface({ input: child.stdout });
    const [line] = (await Promise.race([once(lines, "line"), exited]));
    lines.close();
    if (typeof line !== "string")
        throw new Error(`The fixture ${name} ended before it listened`);
    const kill = () => void child.kill("SIGKILL");
    return {
        port: JSON.parse(line).port,
        kill,
        async stop() {
            kill();
            await exited;
        },
    };
}
