/** The `User-Agent` of every request. */
import { VERSION } from "../util/version.js";

/** Some firewalls reject requests without it. A configured `user-agent` header replaces it. */
export const USER_AGENT = `toolport/${VERSION}`;
