/** The container file of examples/deploy, built and run by Podman. Its base image is made of programs of this machine. */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LEAN_SERVER } from "../../../test/fixtures/stdio-peer.js";
import { findProgram } from "../../../test/support/local-service.js";
import { type PackageRegistry, startPackageRegistry } from "../../../test/support/package-registry.js";
import { openPodman, type PodmanEngine } from "../../../test/support/podman-engine.js";
import { waitFor } from "../../../test/support/wait-for.js";
import { root } from "../../../test/tree/source-files.js";

const deploy = join(root, "examples/deploy");
const IMAGE = "localhost/toolport-gateway";
const TOKEN = "t".repeat(40);
const NODE = 1_000;
const CONFIG = "/home/node/.config/toolport";

const found = await openPodman();
const refusal = "refusal" in found ? found.refusal : undefined;
const engine = ("engine" in found ? found.engine : undefined) as PodmanEngine;
if (refusal !== undefined) console.warn(`Skipped: the gateway in a Podman container. ${refusal}`);

const CALL = { method: "tools/call", params: { name: "lean__echo", arguments: { text: "hi" } } };

const redis = findProgram("redis-server");

/** What the container file needs of its base: a shell, Node, npm and the user `node`. */
async function importBase(registry: PackageRegistry): Promise<void> {
  const [, base = ""] = /^FROM (\S+)$/m.exec(readFileSync(join(deploy, "Containerfile"), "utf8")) ?? [];
  const npm = dirname(dirname(realpathSync(findProgram("npm")!)));
  await engine.importImage({
    name: base,
    files: {
      "/usr/local/bin/node": process.execPath,
      "/usr/local/lib/node_modules/npm": npm,
      "/bin/sh": realpathSync(findProgram("sh")!),
      "/bin/mkdir": realpathSync(findProgram("mkdir")!),
      "/usr/bin/env": realpathSync(findProgram("env")!),
    },
    links: { "/usr/local/bin/npm": "../lib/node_modules/npm/bin/npm-cli.js" },
    texts: {
      "/etc/passwd": `root:x:0:0:root:/root:/bin/sh\nnode:x:${NODE}:${NODE}::/home/node:/bin/sh\n`,
      "/etc/nsswitch.conf": "hosts: files dns\n",
      "/etc/group": `root:x:0:\nnode:x:${NODE}:\n`,
    },
    folders: { "/home/node": NODE, "/root": 0, "/tmp": NODE },
    changes: ["ENV PATH=/usr/local/bin:/usr/bin:/bin", `ENV npm_config_registry=${registry.url}`],
  });
}

/** Sends requests from inside the container, because it has no network. Resolves with the results. */
async function send(container: string, messages: readonly object[], token = TOKEN): Promise<unknown[]> {
  const program = `
    const [messages, token] = JSON.parse(process.argv[1]);
    const results = [];
    for (const message of messages) {
      const response = await fetch("http://127.0.0.1:8080/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json", authorization: "Bearer " + token },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
      });
      results.push(response.ok ? (await response.json()).result : response.status);
    }
    console.log(JSON.stringify(results));`;
  const node = ["exec", container, "node", "--input-type=module", "-e", program];
  return JSON.parse(await engine.podman(...node, JSON.stringify([messages, token])));
}

const isHealthy = (container: string): Promise<boolean> =>
  engine.podman("healthcheck", "run", container).then(
    () => true,
    () => false,
  );

/** Starts a container in the background and waits for the health check of its image. */
async function start(
  name: string,
  options: readonly string[],
  command: readonly string[] = [],
): Promise<string> {
  const log = ["--log-driver", "k8s-file"];
  await engine.podman("run", "-d", "--init", "--name", name, ...log, ...options, IMAGE, ...command);
  await waitFor(() => isHealthy(name), { label: "the gateway to be healthy" }).catch(async (error: Error) => {
    throw new Error(`${error.message}: ${await engine.logs(name)}`);
  });
  return name;
}

describe.skipIf(refusal !== undefined)(
  `the container file${refusal === undefined ? "" : ` (${refusal})`}`,
  () => {
    let folder: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), "toolport-deploy-"));
      await using registry = await startPackageRegistry();
      await importBase(registry);
      // Only the build uses the network of the host, to reach the registry.
      const options = ["--format", "docker", "--network", "host", "-t", IMAGE];
      await engine.podman("build", ...options, "-f", join(deploy, "Containerfile"), deploy);
      expect(registry.fetched).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^toolport@/),
          expect.stringMatching(/^ioredis@6/),
          expect.stringMatching(/^pg@8/),
        ]),
      );
      // As the page says: the user's own file, which needs no consent.
      const config = join(folder, "config");
      mkdirSync(config);
      copyFileSync(LEAN_SERVER, join(config, "server.mjs"));
      const mcpServers = { lean: { command: "node", args: [`${CONFIG}/server.mjs`] } };
      writeFileSync(join(config, "toolport.json"), JSON.stringify({ mcpServers }));
      chmodSync(folder, 0o755);
    }, 300_000);

    afterAll(async () => {
      await engine[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true });
    });

    it("has the folders of its volumes, for its user", async () => {
      const owners = `["${CONFIG}", "/home/node/.local/state"].map((path) => fs.statSync(path).uid).join()`;
      const printed = await engine.podman("run", "--rm", "--entrypoint", "node", IMAGE, "-p", owners);
      expect(printed.trim()).toBe(`${NODE},${NODE}`);
    });

    it("serves calls as an ordinary user, keeps its state in a volume, and ends when it is stopped", async () => {
      const volumes = [
        "-v",
        `${join(folder, "config")}:${CONFIG}:ro`,
        "-v",
        "toolport-state:/home/node/.local/state",
      ];
      const options = [...volumes, "-e", `TOOLPORT_SERVE_TOKEN=${TOKEN}`];
      const container = await start("gateway", options);
      const [listed, called] = await send(container, [{ method: "tools/list", params: {} }, CALL]);
      expect(JSON.stringify(listed)).toContain('"lean__echo"');
      expect(called).toMatchObject({ content: [{ type: "text", text: "hi" }] });
      expect(await send(container, [CALL], "wrong")).toEqual([401]);
      const ids = await engine.podman("exec", container, "node", "-p", "process.getuid()");
      expect(ids.trim()).toBe(String(NODE));
      const state = "fs.readdirSync('/home/node/.local/state/toolport').length > 0";
      expect((await engine.podman("exec", container, "node", "-p", state)).trim()).toBe("true");
      await engine.podman("stop", "-t", "20", container);
      const code = await engine.podman("inspect", "--format", "{{.State.ExitCode}}", container);
      expect(code.trim()).toBe("143");
      await engine.podman("rm", container);
      await engine.podman("volume", "rm", "toolport-state");
    });

    it.skipIf(redis === undefined)(
      "runs with the options of the compose file and a Redis of its own",
      async () => {
        const compose = readFileSync(join(deploy, "compose.yaml"), "utf8");
        const [gateway = [], store = []] = [...compose.matchAll(/command: (\[.*\])$/gm)].map(
          ([, list = ""]) => JSON.parse(list) as string[],
        );
        const [, redisImage = ""] = /image: (\S+)/.exec(compose) ?? [];
        const [, storeUrl = ""] = /TOOLPORT_STORE: (\S+)/.exec(compose) ?? [];
        await engine.importImage({
          name: redisImage,
          files: { "/usr/local/bin/redis-server": realpathSync(redis!) },
          folders: { "/data": 0 },
          changes: ["ENV PATH=/usr/local/bin", "WORKDIR /data"],
        });
        await engine.podman("run", "-d", "--name", "redis", redisImage, ...store);
        // The containers share one network without a way out. There, the name of the service leads to the Redis.
        const hosts = join(folder, "hosts");
        writeFileSync(hosts, `127.0.0.1 localhost ${new URL(storeUrl).hostname}\n`);
        const network = ["--network", "container:redis", "--no-hosts", "-v", `${hosts}:/etc/hosts:ro`];
        const key = randomBytes(32).toString("base64");
        const environment = ["-e", `TOOLPORT_STORE=${storeUrl}`, "-e", `TOOLPORT_STORE_KEY=${key}`];
        const config = ["-v", `${join(folder, "config")}:${CONFIG}:ro`];
        const container = await start("replica", [...network, ...environment, ...config], gateway);
        // Healthy: it has reached the Redis. Its users need tokens of the issuer, which does not exist here.
        expect(await send(container, [{ method: "tools/list", params: {} }])).toEqual([401]);
        await engine.podman("rm", "-f", "-t", "20", container);
        // The same with a local token: its state is in the Redis.
        const token = ["-e", `TOOLPORT_SERVE_TOKEN=${TOKEN}`];
        const local = await start("local", [...network, ...environment, ...config, ...token]);
        expect(await send(local, [CALL])).toMatchObject([{ content: [{ type: "text", text: "hi" }] }]);
        await engine.podman("rm", "-f", "-t", "20", local);
        await engine.podman("rm", "-f", "-v", "-t", "0", "redis");
      },
    );
  },
);
