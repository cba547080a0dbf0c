// Podium, which polls the login flow with the token in the query, and apps that upload before they ask, as it does.
import { expect, test } from "bun:test";
import { signedIn } from "../http/browser.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { addElsewhere, askAs, FEED, openAs, openForEach, PASSWORD, played, server } from "./phone.ts";

openForEach(addElsewhere);

test("its login flow ends with a token, which syncs both ways", async () => {
  const send = openAs({ "User-Agent": "Podium/1.9" });
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

/** Podium with a token; a full sync asks for everything, a partial one uploads before it asks. */
const podium = (agent = "podium/19 (Android 15)") => askAs(agent);

const PLACE = "/index.php/apps/gpoddersync";
const removeElsewhere = () =>
  askAs("Elsewhere/1")("POST", "/api/2/subscriptions/ann/other.json", { add: [], remove: [FEED] });
const listed = async () => (await askAs("Elsewhere/1")("GET", "/api/2/subscriptions/ann/new.json?since=0")).add;

const AGENTS = ["podium/19 (Android 15)", "podzzz/3 (Android 15)", "PodcastMerlin/2.0 (Flutter)"];

test.each(AGENTS)(
  "what the user of %s adds again after it obeyed a removal counts, though it asks only then",
  async (agent) => {
    const ask = podium(agent);
    const { timestamp } = await ask("GET", `${PLACE}/subscriptions?since=0`);
    await ask("POST", `${PLACE}/subscription_change/create`, { add: [FEED], remove: [] });
    const idle = await ask("GET", `${PLACE}/subscriptions?since=${timestamp}`);
    await removeElsewhere();
    expect((await ask("GET", `${PLACE}/subscriptions?since=${idle.timestamp}`)).remove).toEqual([FEED]);
    await ask("POST", `${PLACE}/subscription_change/create`, { add: [FEED], remove: [] });
    expect(await listed()).toEqual([FEED]);
  },
);

test("its full sync, which uploads all that it has, brings back nothing that was removed elsewhere", async () => {
  const ask = podium();
  const { timestamp } = await ask("GET", `${PLACE}/subscriptions?since=0`);
  await ask("GET", `${PLACE}/subscriptions?since=${timestamp}`);
  await removeElsewhere();
  const full = await ask("GET", `${PLACE}/subscriptions?since=0`);
  await ask("POST", `${PLACE}/subscription_change/create`, { add: [FEED], remove: [] });
  expect(await listed()).toEqual([]);
  expect((await ask("GET", `${PLACE}/subscriptions?since=${full.timestamp}`)).remove).toEqual([FEED]);
});
