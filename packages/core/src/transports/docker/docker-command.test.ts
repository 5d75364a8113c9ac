import { describe, expect, it } from "vitest";
import { SecretRecord } from "../../config/known-secrets.js";
import {
  dockerRemoveCommands,
  dockerRunCommand,
  type EngineInput,
  toContainerName,
} from "./docker-transport.js";

const input = (
  config: Partial<EngineInput["config"]> = {},
  hostEnv: NodeJS.ProcessEnv = {},
): EngineInput => ({
  containerName: "toolport-time-1",
  defaults: { PATH: "/bin", HOME: "/home/me" },
  hostEnv,
  config: {
    name: "time",
    image: "mcp/time",
    dockerHost: undefined,
    engine: "docker",
    args: [],
    env: new SecretRecord(),
    mounts: [],
    runArgs: [],
    ...config,
  },
});

describe("dockerRunCommand", () => {
  it("runs attached, with an init process and a name, and is removed at its end", () => {
    expect(dockerRunCommand(input())).toEqual({
      command: "docker",
      args: ["run", "-i", "--rm", "--init", "--name", "toolport-time-1", "mcp/time"],
      env: { PATH: "/bin", HOME: "/home/me" },
    });
  });

  it("puts mounts, variables, options and arguments in order", () => {
    const { args } = dockerRunCommand(
      input({
        args: ["--local-timezone", "UTC"],
        env: new SecretRecord({ A: "1", B: "2" }),
        mounts: ["/data:/data:ro", "cache:/cache"],
        runArgs: ["--network", "none"],
      }),
    );
    const start = args.indexOf("toolport-time-1") + 1;
    expect(args.slice(start).join(" ")).toBe(
      "-e A -e B -v /data:/data:ro -v cache:/cache --network none mcp/time --local-timezone UTC",
    );
  });

  it("passes values through the environment, never on the command line", () => {
    const { args, env } = dockerRunCommand(
      input({ env: new SecretRecord({ TOKEN: "s3cret", DOCKER_TOKEN: "t0p" }) }),
    );
    expect(args.join(" ")).not.toMatch(/s3cret|t0p/);
    expect(env).toMatchObject({ TOKEN: "s3cret", DOCKER_TOKEN: "t0p" });
  });

  it("does not let the container's variables change the engine", () => {
    const { args, env } = dockerRunCommand(
      input({
        env: new SecretRecord({ PATH: "/app", DOCKER_HOST: "tcp://inner" }),
        dockerHost: "unix:///outer",
      }),
    );
    expect(args).toContain("PATH=/app");
    expect(args).toContain("DOCKER_HOST=tcp://inner");
    expect(env).toMatchObject({ PATH: "/bin", DOCKER_HOST: "unix:///outer" });
  });

  it("passes on only the variables that configure the engine", () => {
    const hostEnv = { DOCKER_CONFIG: "/c", DOCKER_CONTEXT: "far", XDG_RUNTIME_DIR: "/run/me", API_KEY: "k" };
    expect(dockerRunCommand(input({}, hostEnv)).env).toEqual({
      PATH: "/bin",
      HOME: "/home/me",
      DOCKER_CONFIG: "/c",
      DOCKER_CONTEXT: "far",
      XDG_RUNTIME_DIR: "/run/me",
    });
    const { env } = dockerRunCommand(input({ dockerHost: "tcp://127.0.0.1:2375" }, hostEnv));
    expect(env.DOCKER_HOST).toBe("tcp://127.0.0.1:2375");
    expect(env).not.toHaveProperty("DOCKER_CONTEXT");
  });

  it.each(["podman", "/usr/bin/podman", "podman-remote"])(
    "passes the address to %s as an option",
    (engine) => {
      const config = { engine, dockerHost: "unix:///run/podman.sock" };
      const run = dockerRunCommand(input(config));
      expect(run.args.slice(0, 3)).toEqual(["--url", "unix:///run/podman.sock", "run"]);
      expect(run.env).not.toHaveProperty("DOCKER_HOST");
      const url = ["--url", "unix:///run/podman.sock"];
      expect(dockerRemoveCommands(input(config)).map(({ args }) => args)).toEqual([
        [...url, "kill", "toolport-time-1"],
        [...url, "rm", "-f", "-t", "0", "toolport-time-1"],
      ]);
    },
  );

  it.each(["docker", "nerdctl", "/opt/bin/docker"])("removes with options that %s supports", (engine) => {
    const commands = dockerRemoveCommands(input({ engine, dockerHost: "unix:///outer" }));
    expect(commands.map(({ args }) => args)).toEqual([
      ["kill", "toolport-time-1"],
      ["rm", "-f", "toolport-time-1"],
    ]);
    for (const { command, env } of commands) {
      expect(command).toBe(engine);
      expect(env).toMatchObject({ DOCKER_HOST: "unix:///outer" });
    }
  });

  it.each(["", "--privileged"])("refuses the image %j", (image) => {
    expect(() => dockerRunCommand(input({ image }))).toThrow(/image/);
  });
});

describe("toContainerName", () => {
  it.each([
    ["time", "toolport-time-ab"],
    ["my server/ü", "toolport-my-server--ab"],
    ["x".repeat(100), `toolport-${"x".repeat(40)}-ab`],
  ])("%s", (server, name) => {
    expect(toContainerName(server, "ab")).toBe(name);
    expect(name).toMatch(/^[a-zA-Z0-9][a-zA-Z0-9_.-]+$/);
  });
});
