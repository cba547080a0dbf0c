// A browser without JavaScript: keeps cookies, follows redirects, sends forms.
import { ORIGIN, type TestApp } from "../support/app.ts";

interface Page {
  status: number;
  path: string;
  body: string;
  headers: Headers;
}

export interface Browser {
  cookies: Map<string, string>;
  open(path: string): Promise<Page>;
  /** Sends a form with these fields. */
  submit(path: string, fields?: Record<string, string | File>, headers?: Record<string, string>): Promise<Page>;
}

/**
 * @param userAgent what it calls itself
 * @param origin of the server, as the browser has it
 */
export function openBrowser(server: Pick<TestApp, "http">, userAgent = "", origin = ORIGIN): Browser {
  const cookies = new Map<string, string>();
  async function request(method: string, path: string, init: RequestInit = {}, redirects = 0): Promise<Page> {
    const headers = new Headers(init.headers);
    headers.set("Cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    if (userAgent) headers.set("User-Agent", userAgent);
    if (!headers.has("Sec-Fetch-Site")) headers.set("Sec-Fetch-Site", "same-origin");
    const response = await server.http.fetch(new Request(origin + path, { ...init, method, headers }), {});
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (redirects > 10) throw new Error(`Too many redirects: ${path}`);
    if (response.status === 303 && location) return request("GET", location, {}, redirects + 1);
    return { status: response.status, path, body: await response.text(), headers: response.headers };
  }
  return {
    cookies,
    open: (path) => request("GET", path),
    submit(path, fields = {}, headers = {}) {
      const body = new FormData();
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      return request("POST", path, { body, headers });
    },
  };
}

/** Titles of pages, by which tabs of a browser are told apart. */
export async function titlesOf(browser: Browser, paths: string[]): Promise<string[]> {
  const titles: string[] = [];
  for (const path of paths) titles.push(/<title>(.*?)<\/title>/.exec((await browser.open(path)).body)?.[1] ?? "");
  return titles;
}

/** Signs a user in by a token, or the password in its place. */
export async function signedIn(server: TestApp, user: { name: string; token: string }): Promise<Browser> {
  const browser = openBrowser(server);
  const page = await browser.submit("/sign-in", { name: user.name, password: user.token });
  if (page.path !== "/podcasts") throw new Error(`Not signed in: ${page.path}`);
  return browser;
}

/** Connects AntennaPod on a phone, or what `fields` says. */
export const connect = (browser: Browser, fields: Record<string, string> = {}) =>
  browser.submit("/connect", { app: "antennapod", device: "phone", nonce: "once".repeat(5), ...fields });

/** The token in a page; "" if it shows none. */
export const tokenIn = (body: string) => /podkeep_[a-z0-9_]{44,}/.exec(body)?.[0] ?? "";
