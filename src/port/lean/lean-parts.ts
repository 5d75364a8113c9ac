/**
 * The code that only gateways need, and what their users share.
 *
 * A gateway passes it to its Toolport, so that programs without a gateway do not load it.
 */

import { SharedSnapshots } from "../../catalog/build-snapshot.js";
import type { InternedLists } from "../../catalog/interned-lists.js";
import type { WaitOptions } from "../../connection/server-connection.js";
import type { RememberedEra } from "../../protocol/era.js";
import type { ListedPort } from "../list-reader.js";
import { findForCall, type NeedingPort } from "./find-for-call.js";
import { NeededLists } from "./needed-lists.js";
import { watchUsers } from "./watch-users.js";

export type LeanParts = ReturnType<typeof createLeanParts>;

/** One for all users of a Toolport. */
export function createLeanParts() {
  const hints = new Map<string, string>();
  return {
    /** Snapshots of users whose lists are the same. */
    snapshots: new SharedSnapshots(),
    shareEra,
    createNeeds: (port: ListedPort) => new NeededLists(port),
    findForCall: (port: NeedingPort, name: string, wait: WaitOptions) =>
      findForCall(port, { name, hints }, wait),
    watchUsers,
  };
}

/** Results of handshakes are the same for most users. */
function shareEra(interned: InternedLists, era: RememberedEra): RememberedEra {
  if (era.era === "modern") return interned.intern("era", [era])[0] as RememberedEra;
  const { resume, ...rest } = era;
  if (resume === undefined) return era;
  const result = interned.intern("handshake", [resume.result])[0] as typeof resume.result;
  return { ...rest, resume: { ...resume, result } };
}
