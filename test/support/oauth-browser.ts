/** Simulates a user with a browser at an authorization URL. */

/** One browser with cookies, so a second login may need no password. */
class OAuthBrowser {
  readonly #cookies = new Map<string, string>();
  readonly #user: string;

  constructor(user: string) {
    this.#user = user;
  }

  /** Logs in, agrees to everything, and returns the callback URL without opening it. */
  logIn(authorizationUrl: string | URL): Promise<URL> {
    return this.#answer(authorizationUrl, (page, base) => this.#submit(page, base));
  }

  /** Cancels on the first page, and returns the callback URL without opening it. */
  refuse(authorizationUrl: string | URL): Promise<URL> {
    return this.#answer(authorizationUrl, (page, base) => {
      const cancel = /href="([^"]+\/abort)"/.exec(page)?.[1];
      if (cancel === undefined) throw new Error(`Nothing to cancel on this page: ${page}`);
      return this.#open(new URL(cancel, base));
    });
  }

  async #answer(
    authorizationUrl: string | URL,
    answerPage: (page: string, base: URL) => Promise<Response>,
  ): Promise<URL> {
    const start = new URL(authorizationUrl);
    const home = start.searchParams.get("redirect_uri");
    if (home === null) throw new Error("The authorization URL has no redirect_uri");
    let response = await this.#open(start);
    for (let steps = 0; steps < 20; steps++) {
      const location = response.headers.get("location");
      if (location !== null) {
        const next = new URL(location, start);
        if (next.href.startsWith(home)) return next;
        response = await this.#open(next);
      } else if (response.ok) {
        response = await answerPage(await response.text(), start);
      } else {
        throw new Error(`The authorization server refused: ${response.status} ${await response.text()}`);
      }
    }
    throw new Error("The login does not come to an end");
  }

  async #submit(page: string, base: URL): Promise<Response> {
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    if (action === undefined || prompt === undefined) throw new Error(`No form in this page: ${page}`);
    const form = new URLSearchParams({ prompt, login: this.#user, password: "any" });
    return this.#open(new URL(action.replaceAll("&amp;", "&"), base), form);
  }

  async #open(url: URL, form?: URLSearchParams): Promise<Response> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      redirect: "manual",
      headers: { cookie },
      ...(form && { method: "POST", body: form }),
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const separator = pair.indexOf("=");
      const name = pair.slice(0, separator);
      const value = pair.slice(separator + 1);
      if (value === "") this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return response;
  }
}

/** Logs in with a new browser. */
export const logIn = (authorizationUrl: string | URL, user = "ada"): Promise<URL> =>
  new OAuthBrowser(user).logIn(authorizationUrl);

/** Refuses a login with a new browser. */
export const refuseLogin = (authorizationUrl: string | URL): Promise<URL> =>
  new OAuthBrowser("ada").refuse(authorizationUrl);
