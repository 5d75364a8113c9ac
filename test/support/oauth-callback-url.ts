/** The callback URL of logins in tests: no server listens there, because the tests pass the callback on themselves. */
export const CALLBACK_URL = "http://127.0.0.1:4545/oauth/callback";
