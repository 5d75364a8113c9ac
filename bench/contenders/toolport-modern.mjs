/** Toolport's core with a server of the stateless era. */
import { connectWith } from "./toolport.mjs";

export { load, read } from "./toolport.mjs";
export const era = "modern";

export const connect = (lib, servers) => connectWith(lib, servers, { protocol: { pin: "2026-07-28" } });
