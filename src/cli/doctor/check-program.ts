/** Checks the Node version and the state file. */
import { randomBytes } from "node:crypto";
import { StateError } from "../../errors/state-error.js";
import { toToolportError } from "../../errors/to-toolport-error.js";
import type { Store } from "../../state/store.js";
import type { CommandContext } from "../command-context.js";
import { EXIT } from "../exit-codes.js";
import type { Finding } from "./finding.js";

const OLDEST: readonly [number, number] = [20, 19];

export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
  if (!isOld) return { check: "node", status: "ok", message: `Node ${version}` };
  return {
    check: "node",
    status: "fail",
    message: `Node ${version} is too old: ${OLDEST.join(".")} or later is required`,
    next: "Install a newer Node: https://nodejs.org",
    exitCode: EXIT.other,
  };
}

/** Reports why the store may lose records that it has acknowledged, such as suspended calls. */
export async function checkDurability(store: Pick<Store, "durabilityRisk">): Promise<Finding[]> {
  const check = "state";
  try {
    const risk = await store.durabilityRisk?.();
    // State in memory is reported by `checkStore`.
    if (risk === undefined || risk.isExpected) return [];
    return [{ check, status: "warn", message: `Suspended calls may be lost: ${risk.what}`, next: risk.next }];
  } catch (error) {
    const { what, next = "toolport state path" } = toToolportError(error);
    return [{ check, status: "warn", message: `Whether the store is durable is unknown: ${what}`, next }];
  }
}

/** Opens the state, which migrates its tables, and writes, reads and deletes an encrypted record. */
export async function checkStore(context: CommandContext): Promise<Finding> {
  const check = "state";
  try {
    const { store, statePath } = await context.openStore();
    const key = `doctor/${randomBytes(8).toString("hex")}`;
    await store.put(key, { here: true }, { secret: true, ttlMs: 60_000 });
    const found = await store.get(key);
    await store.delete(key);
    const count = (await store.list("")).length;
    if (found?.sealed !== true && statePath !== undefined)
      throw new StateError({ code: "CORRUPT", what: "A record that was just written is not encrypted" });
    if (statePath !== undefined)
      return {
        check,
        status: "ok",
        message: `${statePath}: readable, writable, up to date, ${count} records`,
      };
    return {
      check,
      status: "warn",
      message: "State is in memory: logins and lists are lost at the end of every command",
      next: "Remove --no-state and TOOLPORT_STATE=off",
    };
  } catch (error) {
    const { what, next } = toToolportError(error);
    return {
      check,
      status: "fail",
      message: what,
      next: next ?? "toolport state path",
      exitCode: EXIT.other,
    };
  }
}
