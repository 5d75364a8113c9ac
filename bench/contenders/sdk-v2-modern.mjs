/** The official SDK, second generation, with a server of the stateless era. */
import { connectWith } from "./sdk-v2.mjs";

export { load, read } from "./sdk-v2.mjs";
export const era = "modern";

export const connect = (lib, servers) =>
  connectWith(lib, servers, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
