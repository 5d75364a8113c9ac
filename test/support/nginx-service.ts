/** A real nginx with the settings of examples/deploy, or a round-robin proxy where nginx is not installed. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startLoadBalancer } from "./load-balancer.js";
import { findProgram, startLocalService } from "./local-service.js";

const program = findProgram("nginx", ["/usr/sbin", "/usr/local/sbin"]);
const settings = fileURLToPath(new URL("../../examples/deploy/nginx.conf", import.meta.url));

export interface Balancer extends AsyncDisposable {
  readonly kind: "nginx" | "round-robin proxy";
  /** Without a slash at the end. */
  readonly url: string;
}

/** @param ports three processes on this machine */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  if (program === undefined) {
    const balancer = await startLoadBalancer();
    balancer.ports.push(...ports);
    return {
      kind: "round-robin proxy",
      url: balancer.url,
      [Symbol.asyncDispose]: () => balancer[Symbol.asyncDispose](),
    };
  }
  const service = await startLocalService({
    name: "nginx",
    command: program,
    args: (port, folder) => {
      writeFileSync(join(folder, "nginx.conf"), configuration(port, folder, ports));
      return ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
    },
    // Ends the workers too, at once.
    crashSignal: "SIGTERM",
    isReady: async (port) => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok,
  });
  return {
    kind: "nginx",
    url: `http://127.0.0.1:${service.port}`,
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** The file of the example, with the ports of the test. */
function configuration(port: number, folder: string, ports: readonly number[]): string {
  const example = ports.reduce(
    (text, replica, index) => text.replace(`127.0.0.1:${8081 + index}`, `127.0.0.1:${replica}`),
    readFileSync(settings, "utf8").replace("listen 127.0.0.1:8080", `listen 127.0.0.1:${port}`),
  );
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  const user = process.getuid?.() === 0 ? "user root;" : "";
  return `${user} daemon off; worker_processes 1; pid ${join(folder, "pid")};
events { worker_connections 256; }
http { access_log off; ${paths.join(" ")}
${example}
}`;
}
