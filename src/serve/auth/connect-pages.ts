/** The pages that a browser sees while a user connects an upstream server. They contain no script and nothing from the request. */

/** Forbids scripts, frames, forms and caching. */
const HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

const AGAIN = "Go back to your application and ask for a new link.";

const PAGES = {
  connected: [200, "You are logged in", "You can close this page and go back to your application."],
  badRequest: [400, "This page was opened in the wrong way", AGAIN],
  otherBrowser: [
    403,
    "This login was not started in this browser",
    `Nothing was saved. The login has to begin and end in the same browser, with cookies allowed. ${AGAIN}`,
  ],
  otherUser: [
    403,
    "This link belongs to another user",
    "Nothing was saved. Open only links that your own application shows you.",
  ],
  wrongMethod: [405, "This page was opened in the wrong way", AGAIN],
  unusable: [
    410,
    "This link cannot be used",
    `It has expired, was used before, or is not complete. ${AGAIN}`,
  ],
  failed: [502, "The login did not succeed", AGAIN],
  unavailable: [503, "The login is not possible at the moment", "Open the link again in a minute."],
} as const satisfies Record<string, readonly [number, string, string]>;

export type ConnectPage = keyof typeof PAGES;

export function connectPage(name: ConnectPage, cookies: readonly string[] = []): Response {
  const [status, title, text] = PAGES[name];
  const html =
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
    `<body><h1>${title}</h1><p>${text}</p></body></html>\n`;
  return new Response(html, { status, headers: withCookies(HEADERS, cookies) });
}

/** Sends the browser to a login page. */
export function redirectTo(location: string, cookies: readonly string[]): Response {
  const { "content-type": _type, ...headers } = HEADERS;
  return new Response(null, { status: 302, headers: withCookies({ ...headers, location }, cookies) });
}

function withCookies(fields: Readonly<Record<string, string>>, cookies: readonly string[]): Headers {
  const headers = new Headers(fields);
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return headers;
}
