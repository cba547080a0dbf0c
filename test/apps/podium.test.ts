// Podium, which polls the login flow with the token in the query.
import { afterEach, expect, test } from "bun:test";
import { signedIn } from "../http/browser.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, FEED, openAs, openFor, PASSWORD, played } from "./phone.ts";

let server: Awaited<ReturnType<typeof openFor>>;
afterEach(() => server.close());

test("its login flow ends with a token, which syncs both ways", async () => {
  server = await openFor();
  await addElsewhere(server);
  const send = openAs(server, { "User-Agent": "Podium/1.9" });
  const { body } = await send("POST", "/index.php/login/v2");
  const poll = () => send("POST", `${body.poll.endpoint}?token=${body.poll.token}`);
  expect((await poll()).status).toBe(404);
  const browser = await signedIn(server, { name: "ann", token: PASSWORD });
  await browser.submit(new URL(body.login).pathname);
  const given = await poll();
  expect([given.status, given.body.loginName]).toEqual([200, "ann"]);
  const app = basicAuth(given.body.loginName, given.body.appPassword);
  const place = "/index.php/apps/gpoddersync";
  const list = await send("GET", `${place}/subscriptions?since=0`, app);
  expect([list.status, list.body.add]).toEqual([200, [FEED]]);
  expect((await send("GET", `${place}/episode_action?since=0`, app)).body.actions).toMatchObject([{ position: 42 }]);
  const add = JSON.stringify({ add: ["https://feeds.example/new"], remove: [] });
  expect((await send("POST", `${place}/subscription_change/create`, app, add)).status).toBe(200);
  expect((await send("POST", `${place}/episode_action/create`, app, JSON.stringify([played(300)]))).status).toBe(200);
});
