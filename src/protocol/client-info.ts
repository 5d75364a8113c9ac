/** How Toolport introduces itself to servers. */
import { VERSION } from "../util/version.js";

export const CLIENT_INFO = { name: "toolport", version: VERSION } as const;
