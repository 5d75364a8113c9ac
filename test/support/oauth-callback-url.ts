/** Where logins of the tests come back to: nobody listens there, the tests carry the browser's request themselves. */
export const CALLBACK_URL = "http://127.0.0.1:4545/oauth/callback";
