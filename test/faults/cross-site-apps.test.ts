// Requests that a browser sends for another site, with all credentials of its user, on every route of apps and of the page.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { basicAuth } from "../support/basic-auth.ts";
import { EXAMPLES, encodeBody, fill, openWorld, rowsOf, sessionOf, type World } from "./two-users.ts";

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.server.close());

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
/** Origins that apps are let in with, which a web page can have too, and one that only a web page has. */
const ORIGINS = [
  "tauri://localhost",
  "http://tauri.localhost",
  "https://tauri.localhost",
  "capacitor://localhost",
  "http://localhost:1420",
  "file://",
  "null",
  "https://evil.example",
];

describe.each(ORIGINS)("a page with Origin %s", (Origin) => {
  test("gets 403 on every route that takes credentials, and changes nothing", async () => {
    const { server, ann, bob } = world;
    const { gpodder, nextcloud, app_passwords, page } = EXAMPLES;
    const session = await sessionOf(server.app, ann, "app", "password");
    const Cookie = `sessionid=${session}; podkeep_page=${await sessionOf(server.app, ann, "page", "password")}`;
    const before = rowsOf(world);
    for (const [name, example] of [gpodder, nextcloud, app_passwords, page].flatMap((table) => Object.entries(table))) {
      const { path, ...sent } = fill(example, ann, bob);
      const encoded = await encodeBody(sent);
      for (const site of [{}, { "Sec-Fetch-Site": "cross-site" }, { "Sec-Fetch-Site": "same-site" }]) {
        const own = { Origin, Cookie, "User-Agent": FIREFOX, ...basicAuth("ann", ann.token) };
        const { status } = await server.send(name.split(" ")[0] ?? "", path, {
          headers: { ...encoded.headers, ...site, ...own },
          ...(encoded.body !== undefined && { body: encoded.body }),
        });
        expect([name, site, status]).toEqual([name, site, 403]);
      }
    }
    expect(rowsOf(world)).toEqual(before);
  });
});
