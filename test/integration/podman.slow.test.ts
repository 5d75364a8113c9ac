/** Servers in real containers, run by Podman. */
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { SecretRecord } from "../../packages/core/src/config/known-secrets.js";
import type { DockerConfig } from "../../packages/core/src/config/server-config.js";
import { createToolport } from "../../packages/core/src/create-toolport.js";
import { createDockerTransport } from "../../packages/core/src/transports/docker/docker-transport.js";
import { containerConfig, isAlive, ownChildren, StdioPeer } from "../fixtures/stdio-peer.js";
import { LEAN_IMAGE, openPodman, type PodmanEngine } from "../support/podman-engine.js";
import { waitFor } from "../support/wait-for.js";

const found = await openPodman();
const refusal = "refusal" in found ? found.refusal : undefined;
const engine = ("engine" in found ? found.engine : undefined) as PodmanEngine;
// Reporters omit the titles of skipped suites.
if (refusal !== undefined) console.warn(`Skipped: servers in Podman containers. ${refusal}`);

const podmanConfig = (overrides: Partial<DockerConfig> = {}): DockerConfig =>
  containerConfig({ name: "lean", image: LEAN_IMAGE, engine: "podman", ...overrides });

async function start(overrides: Partial<DockerConfig> = {}): Promise<StdioPeer> {
  const peer = new StdioPeer(createDockerTransport(podmanConfig(overrides), { maxMessageBytes: 1_000_000 }));
  await peer.transport.start();
  return peer;
}

/** The error of a container that exits. */
async function endOf(overrides: Partial<DockerConfig>) {
  const peer = await start(overrides);
  await peer.closed;
  await peer.transport.close();
  return peer.transport.closeError;
}

describe.skipIf(refusal !== undefined)(`Podman${refusal === undefined ? "" : ` (${refusal})`}`, () => {
  afterEach(async () => {
    expect(await engine.containers()).toEqual([]);
    await waitFor(async () => (await engine.processes()).length === 0, { label: "the monitors to end" });
    expect(ownChildren()).toEqual([]);
  });
  afterAll(() => engine[Symbol.asyncDispose]());

  it("runs a container, answers calls, and removes it", async () => {
    const peer = await start({ env: new SecretRecord({ API_KEY: "s3cret-value" }) });
    expect(await peer.call("env", { name: "API_KEY" })).toBe("s3cret-value");
    const [container] = await engine.containers();
    expect(container?.name).toMatch(/^toolport-lean-[0-9a-f]{12}$/);
    await peer.transport.close();
    expect(isAlive(container!.pid)).toBe(false);
  });

  it("gives each container a unique name", async () => {
    const peers = await Promise.all([start(), start()]);
    await Promise.all(peers.map((peer) => peer.call("pid")));
    const names = (await engine.containers()).map(({ name }) => name);
    expect(new Set(names).size).toBe(2);
    await Promise.all(peers.map((peer) => peer.transport.close()));
  });

  it("is reached over its socket", async () => {
    await using service = await engine.serve();
    const peer = await start({ dockerHost: service.url, args: ["--ignore-eof", "--ignore-signals"] });
    expect(await peer.call("echo", { text: "hi" })).toBe("hi");
    const [container] = await engine.containers();
    await peer.transport.close();
    expect(isAlive(container!.pid)).toBe(false);
  });

  it("serves a whole port", async () => {
    await using toolport = createToolport({
      mcpServers: { lean: { transport: "docker", engine: "podman", image: LEAN_IMAGE } },
    });
    const { servers } = await toolport.connect();
    expect(servers["lean"]).toMatchObject({ state: "ready" });
    expect(await toolport.callTool("lean__echo", { text: "hi" })).toMatchObject({ text: "hi" });
  });

  it("leaves no process of a container that ignores the end of its input and SIGTERM", async () => {
    const peer = await start({ args: ["--ignore-eof", "--ignore-signals"] });
    expect(await peer.call("echo", { text: "hi" })).toBe("hi");
    const [container] = await engine.containers();
    expect(isAlive(container!.pid)).toBe(true);
    await peer.transport.close();
    expect(isAlive(container!.pid)).toBe(false);
  });

  it("leaves nothing of a container that is closed during its start", async () => {
    const peer = await start({ args: ["--ignore-eof", "--ignore-signals"] });
    await peer.transport.close();
    expect(peer.closeCount).toBe(1);
  });

  it("ends the processes that the server started", async () => {
    const peer = await start({ args: ["--ignore-eof", "--ignore-signals", "--setsid-child"] });
    await peer.call("pid");
    await peer.transport.close();
  });

  it("reports how a container exited", async () => {
    const error = await endOf({ args: ["--exit=3", "--stderr=no key"] });
    expect(error).toMatchObject({ code: "SPAWN_FAILED", exitCode: 3, server: "lean" });
    expect(error?.message).toContain(`The container of "${LEAN_IMAGE}" exited with code 3`);
    expect(error?.message).toContain("no key");
  });

  it("reports how a running container exited, and removes it", async () => {
    const peer = await start();
    await peer.call("echo", { text: "hi" });
    void peer.request("tools/call", { name: "crash", arguments: { code: 1 } });
    await peer.closed;
    expect(peer.transport.closeError).toMatchObject({ code: "CLOSED", exitCode: 1 });
    expect(peer.transport.closeError?.message).toContain(
      `The container of "${LEAN_IMAGE}" exited with code 1. The next call starts it again`,
    );
    await peer.transport.close();
  });

  it.each([
    ["is missing", "/missing", "No such file"],
    ["is not executable", "/app/server.mjs", ""],
  ])(
    "says to check the program when it %s, although the init process ends with 1",
    async (_, path, words) => {
      const error = await endOf({ runArgs: ["--entrypoint", path] });
      expect(error).toMatchObject({ code: "SPAWN_FAILED", exitCode: 1 });
      expect(error?.message).toContain(words);
      expect(error?.message).toContain("could not be run, or it exited with code 1");
      expect(error?.message).toContain('Check "args"');
      expect(error?.message).toContain(`podman run -i --rm ${LEAN_IMAGE}`);
    },
  );

  it("says to check the program when it cannot be run without an init process", async () => {
    const error = await endOf({ runArgs: ["--init=false", "--entrypoint", "/missing"] });
    expect(error).toMatchObject({ code: "SPAWN_FAILED", exitCode: 127 });
    expect(error?.message).toContain(`The program in "${LEAN_IMAGE}" could not be run (exit code 127)`);
  });

  it("says to check the image when there is none", async () => {
    const error = await endOf({ image: "localhost/missing", runArgs: ["--pull", "never"] });
    expect(error).toMatchObject({ code: "SPAWN_FAILED", exitCode: 125 });
    expect(error?.message).toContain('could not start a container of "localhost/missing"');
    expect(error?.message).toContain("image not known");
  });
});
