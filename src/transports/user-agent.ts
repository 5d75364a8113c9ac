/** The `User-Agent` of every request. */
import { VERSION } from "../util/version.js";

/** Firewalls refuse requests without one. A value of the user's replaces it. */
export const USER_AGENT = `toolport/${VERSION}`;
