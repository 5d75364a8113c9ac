/** Servers that go, or change, at run time: removed by the program, or saved and removed by another process. */
import { configIdentity } from "../../config/config-identity.js";
import type { ServerConfig } from "../../config/server-config.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { Port } from "../port.js";
import { forgetServer } from "./forget-server.js";

/** Removes a server for everyone who has it from this port, and deletes its records unless they are to be kept. */
export async function removeServer(
  port: Port,
  name: string,
  { keepState = false }: { keepState?: boolean | undefined } = {},
): Promise<void> {
  const { config } = port.pool.require(name);
  const ports = portsWith(port, config);
  await Promise.all(ports.map((each) => each.remove(name)));
  await port.saved?.forgetEntry(name);
  if (keepState) return;
  await Promise.all(ports.map((each) => each.saved?.forgetLists(config)));
  const { settings, publicLists, warn } = port.parts;
  const isLast = !port.all().some((each) => each.configs().some((other) => isSame(other, config)));
  if (isLast) publicLists.forget(config);
  const of = port.principal === undefined ? "everyone" : { principal: port.principal.name };
  try {
    await forgetServer(settings.store, { config, of, isLast });
  } catch (error) {
    warn(name, `Records of the removed server could not be deleted: ${toToolportError(error).message}`);
  }
}

/**
 * Another process saved (`config`) or removed a server that was added at run time.
 *
 * @returns the ports that have a new server of this name now
 */
export async function followServer(
  port: Port,
  name: string,
  config: ServerConfig | undefined,
): Promise<readonly Port[]> {
  const known = port.pool.get(name)?.config;
  // What the program said of the same server comes before what another one saved of it.
  const isNamedHere = known !== undefined && !port.isRestored(name);
  if (isNamedHere && config !== undefined && isSame(known, config)) return [];
  const ports =
    known === undefined
      ? [port, ...port.others()].filter((each) => each.pool.get(name) === undefined)
      : portsWith(port, known);
  await Promise.all(ports.map((each) => each.remove(name)));
  if (config === undefined) return [];
  for (const each of ports) each.restore(config);
  return ports;
}

/** This port, and those of users who have the same server from it. They may have others of the same name. */
function portsWith(port: Port, config: ServerConfig): Port[] {
  const hasIt = (each: Port) => {
    const there = each.pool.get(config.name)?.config;
    return there !== undefined && isSame(there, config);
  };
  return [port, ...port.others().filter(hasIt)];
}

const isSame = (one: ServerConfig, other: ServerConfig): boolean =>
  configIdentity(one) === configIdentity(other);
