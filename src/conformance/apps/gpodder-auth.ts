// How apps of the gPodder API sign in and out.
import { expect, expectEqual } from "../expect.ts";
import { Cookies, LOGIN_SCRIPT, requireOk, scriptFor, syncClient } from "./client.ts";
import type { Demand } from "./demand.ts";

const cookieOf = (headers: Headers) => new Cookies(headers).header();
/** An app drops such a cookie at once. */
const ENDS = /;\s*(max-age=(0|-\d+)|expires=[^;]*\b1970\b[^;]*)\s*(;|$)/i;

export const gpodderAuthDemands: Demand[] = [
  {
    key: "auth/login-gives-a-cookie",
    says: "Login answers 200 with a cookie, which signs in alone from then on",
    source: "AntennaPod sends the password to login.json only",
    level: "MUST",
    async run(prober) {
      const phone = syncClient(prober, { ...LOGIN_SCRIPT, user_agent: "AntennaPod/3.11.4" }, `c-${prober.id}`);
      const answer = requireOk(await phone.login());
      expect("The response sets no cookie", answer.headers.getSetCookie().length > 0);
      requireOk(await phone.request("GET", phone.paths.devices));
    },
  },
  {
    key: "auth/login-with-a-wrong-password-is-401",
    says: "A login with a wrong password is answered 401",
    source: "gPodder API, Authentication: Login; AntennaPod keeps a password that was taken, and every sync fails",
    level: "MUST",
    needs: ["auth/login-gives-a-cookie"],
    async run(prober, client) {
      const wrong = `Basic ${Buffer.from(`${prober.target.user}:no-password-of-a-check`).toString("base64")}`;
      const { status } = await prober.request("POST", client.paths.login, { headers: { Authorization: wrong } });
      expectEqual("status", status, 401);
    },
  },
  {
    key: "auth/challenge-names-basic",
    says: "A 401 asks for Basic with a realm, so that apps send the password at all",
    source: "gPodder and mygpoclient send it after a challenge, and switch sync off without one",
    level: "MUST",
    async run(prober, client) {
      const { status, headers } = await prober.request("GET", client.paths.devices);
      expectEqual("status", status, 401);
      expect(
        "WWW-Authenticate does not name Basic with a realm",
        /(^|,)\s*basic\s+realm=/i.test(headers.get("www-authenticate") ?? ""),
      );
    },
  },
  {
    key: "auth/another-name-is-refused",
    says: "Another user's name in the path is refused",
    source: "gPodder API, Subscriptions: 401, invalid user",
    level: "MUST",
    async run(_prober, client) {
      const { status } = await client.request(
        "GET",
        "/api/2/subscriptions/somebody-else-of-a-check/phone.json?since=0",
      );
      expect(`Status ${status} instead of a refusal`, status >= 400 && status < 500);
    },
  },
  {
    key: "auth/cookie-with-every-basic",
    says: "Every response to Basic sets the cookie, which signs in alone from then on",
    source: "mygpoclient answers only three challenges, then gPodder switches sync off",
    level: "MUST",
    async run(prober, client) {
      const { headers } = await client.readWithBasic();
      const cookie = cookieOf(headers);
      expect("The response to a GET with Basic sets no cookie", cookie !== null);
      requireOk(await prober.request("GET", client.paths.devices, { headers: { Cookie: cookie } }));
    },
  },
  {
    key: "auth/cookie-is-for-this-server",
    says: "The cookie is for every path of the server, neither for another domain nor, over http, for TLS only",
    source: "AntennaPod, and gPodder for /subscriptions/, then do not send it: 401 after a login that succeeded",
    level: "MUST",
    async run(prober, client) {
      const { protocol, hostname, pathname } = new URL(prober.target.url);
      const base = pathname.replace(/\/*$/, "/");
      for (const cookie of (await client.readWithBasic()).headers.getSetCookie()) {
        if (ENDS.test(cookie)) continue;
        // Without one it is for the folder of the request.
        const path = /;\s*path=([^;]*)/i.exec(cookie)?.[1]?.trim().replace(/\/*$/, "/") ?? "the path of the request";
        expect(`A cookie is for ${path}`, base.startsWith(path));
        const domain = /;\s*domain=\.?([^;]+)/i.exec(cookie)?.[1]?.trim().toLowerCase() ?? hostname;
        expect(`A cookie is for ${domain}`, hostname === domain || hostname.endsWith(`.${domain}`));
        expect("A cookie over http is Secure", protocol === "https:" || !/;\s*secure/i.test(cookie));
      }
    },
  },
  {
    key: "auth/cookie-is-named-sessionid",
    says: "The cookie is named sessionid",
    source: "Kodi's add-on for podcasts looks for this name; gpodder.net and oPodSync use it",
    level: "SHOULD",
    async run(prober) {
      const app = syncClient(prober, scriptFor("gpodder"), `c-${prober.id}`);
      const names = new Cookies((await app.login()).headers).names();
      expect(`The cookies are ${names.join(", ") || "none"}`, names.includes("sessionid"));
    },
  },
  {
    key: "auth/basic-counts-beside-an-old-cookie",
    says: "Basic that is right counts, also beside a cookie that is no longer valid",
    source: "AntennaPod and mygpoclient send both after a session has ended",
    level: "MUST",
    async run(_prober, client) {
      const names = new Cookies((await client.readWithBasic()).headers).names();
      const old = (names.length > 0 ? names : ["sessionid"]).map((name) => `${name}=0123456789abcdef0123456789abcdef`);
      const headers = { Cookie: old.join("; ") };
      requireOk(await client.request("GET", client.paths.devices, undefined, headers));
    },
  },
  {
    key: "auth/sessions-of-two-devices",
    says: "A login on one device leaves the session of another one as it is",
    source: "AntennaPod and PinePods on two devices that sync at once: one of them gets 401",
    level: "MUST",
    async run(prober) {
      const phone = syncClient(prober, LOGIN_SCRIPT, `c-${prober.id}-1`);
      requireOk(await phone.login());
      // So that the second session can't be the first one again.
      await prober.clock.sleep(1100);
      requireOk(await syncClient(prober, LOGIN_SCRIPT, `c-${prober.id}-2`).login());
      requireOk(await phone.request("GET", phone.paths.devices));
    },
  },
  {
    key: "auth/logout-ends-the-cookie",
    says: "Logout is answered 200, and its cookie is refused from then on",
    source: "gPodder API, Authentication: Logout; Kasts",
    level: "SHOULD",
    async run(prober) {
      const app = syncClient(prober, LOGIN_SCRIPT, `c-${prober.id}`);
      const cookie = cookieOf((await app.login()).headers);
      expect("Login sets no cookie", cookie !== null);
      requireOk(await prober.request("POST", app.paths.logout, { headers: { Cookie: cookie } }));
      // So that no session that begins later can be the same one.
      await prober.clock.sleep(1100);
      const { status } = await prober.request("GET", app.paths.devices, { headers: { Cookie: cookie } });
      expectEqual("status of the cookie afterwards", status, 401);
    },
  },
  {
    key: "auth/name-in-any-case",
    says: "The user's name in a path is read in any case",
    source: "gpodder.net compares names so; phones begin a name with a capital letter",
    level: "SHOULD",
    async run(prober, client) {
      const { user } = prober.target;
      const capital = user.charAt(0).toUpperCase() + user.slice(1);
      const other = capital === user ? user.toLowerCase() : capital;
      requireOk(await client.request("GET", `/api/2/devices/${encodeURIComponent(other)}.json`));
    },
  },
];
