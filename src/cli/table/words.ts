/** Words that several commands take. */
import type { PositionalSpec } from "../command.js";

export const SERVER: PositionalSpec = { name: "server", summary: "Its name", completes: "server" };

export const OPTIONAL_SERVER: PositionalSpec = {
  name: "server",
  summary: "Only this server",
  completes: "server",
  optional: true,
};
