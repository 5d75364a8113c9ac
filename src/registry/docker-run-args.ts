/** Makes a publisher's arguments for `docker run` fit beside those that Toolport gives itself. */

/** What of the arguments is left, and what was found in them. */
export interface DockerRunArgs {
  readonly runArgs: readonly string[];
  /** Variables written as `-e NAME=value`: passed by name instead, so that no process list shows them. */
  readonly env: Readonly<Record<string, string>>;
  /** Options that give the container more of the machine than containers usually get. */
  readonly reaching: readonly string[];
}

/** Toolport says these itself, or (a terminal) they would spoil the protocol. */
const OWN: ReadonlySet<string> = new Set([
  ...["-i", "--interactive", "--rm", "--init", "-t", "--tty", "-it", "-ti"],
]);

const REACHING =
  /^(?:--privileged|--cap-add|--device|--security-opt|--volumes-from|--mount|--volume|-v|--network|--net|--pid|--ipc|--userns|--uts|--gpus)(?:=|$)/;

const VARIABLE = /^([^=]+)=(.*)$/s;

/** Sorts the rendered arguments. `image` is left out where a publisher repeats it. */
export function toDockerRunArgs(args: readonly string[], image: string): DockerRunArgs {
  const runArgs: string[] = [];
  const env: Record<string, string> = {};
  const reaching = new Set<string>();
  const rest = args[0] === "run" ? args.slice(1) : [...args];
  for (let index = 0; index < rest.length; index++) {
    const arg = rest[index] ?? "";
    if (OWN.has(arg) || arg === image) continue;
    const isSplit = arg === "-e" || arg === "--env";
    const variable = VARIABLE.exec(
      isSplit ? (rest[index + 1] ?? "") : arg.startsWith("--env=") ? arg.slice(6) : "",
    );
    if (variable !== null) {
      env[variable[1] ?? ""] = variable[2] ?? "";
      if (isSplit) index++;
      continue;
    }
    if (REACHING.test(arg)) reaching.add(arg.split("=", 1)[0] ?? arg);
    runArgs.push(arg);
  }
  return { runArgs, env, reaching: [...reaching] };
}
