/** The property of a Toolport under which a gateway finds its ports. */

// A registered symbol, because CommonJS bundles contain several copies of this module.
export const ACCESS_KEY = Symbol.for("toolport.gateway-access");
