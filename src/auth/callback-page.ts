/** What a browser sees at the end of a login: text that never changes, whatever the callback brought along. */

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};

const page = (title: string, text: string): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head>` +
  `<body><h1>${title}</h1><p>${text}</p></body></html>\n`;

export const successPage = (): Response =>
  new Response(page("You are logged in", "You can close this page and go back to the application."), {
    status: 200,
    headers: HEADERS,
  });

export const failurePage = (): Response =>
  new Response(
    page("The login did not succeed", "Go back to the application, which knows more, and start it anew."),
    { status: 400, headers: HEADERS },
  );
