// What apps demand of Nextcloud's gPodder Sync alone, and of Nextcloud's login flow.
import { z } from "zod";
import { expect, expectEqual, NotApplicable } from "../expect.ts";
import type { Prober } from "../prober.ts";
import { requireOk, writeTime } from "./client.ts";
import { type Demand, play } from "./demand.ts";

const Flow = z.looseObject({
  login: z.url(),
  poll: z.looseObject({ token: z.string().min(1), endpoint: z.url() }),
});
const FLOW = "Nextcloud, Login flow v2; AntennaPod";

/** Starts a login flow as AntennaPod does. @throws NotApplicable if the server has none */
async function startLogin(prober: Prober) {
  const answer = await prober.request("POST", "/index.php/login/v2", {
    body: "",
    headers: { "Content-Type": "application/x-www-form-urlencoded", "User-Agent": "AntennaPod/3.11.4" },
  });
  if ([401, 404, 405].includes(answer.status)) throw new NotApplicable("the server has no login flow v2");
  requireOk(answer);
  const { login, poll } = answer.json(Flow);
  const ask = () =>
    prober.request("POST", poll.endpoint, {
      body: `token=${encodeURIComponent(poll.token)}`,
      headers: { "Content-Type": "application/x-www-form-urlencoded" },
    });
  return { answer, login, poll, ask };
}

export const nextcloudDemands: Demand[] = [
  {
    key: "subscriptions/without-since-gives-the-list",
    says: "A request without `since` gives the whole list",
    source: "nextcloud-gpodder: since is 0 by default",
    level: "SHOULD",
    async run(prober, client) {
      const feed = prober.feed();
      await client.sendFeeds([feed], []);
      const answer = requireOk(await client.request("GET", client.paths.read));
      const { add } = answer.json(z.looseObject({ add: z.array(z.string()) }));
      expectEqual("add", add.filter(prober.isOurs), [feed]);
    },
  },
  {
    key: "episodes/every-action-has-a-place",
    says: "Every action has started, position and total as numbers, -1 if it is not a play",
    source: "GNOME Podcasts can't read a response in which one is missing; nextcloud-gpodder writes -1",
    level: "SHOULD",
    async run(prober, client, another) {
      const feed = prober.feed();
      const timestamp = writeTime(prober.clock.now());
      await client.sendActions([
        play(prober, feed, `${feed}-1.mp3`, 60),
        { podcast: feed, episode: `${feed}-2.mp3`, action: "download", timestamp },
      ]);
      for (const { action, started, position, total } of (await another.readActions(0)).actions) {
        const areNumbers = [started, position, total].every((one) => typeof one === "number");
        expect(`A ${action} has started ${started}, position ${position}, total ${total}`, areNumbers);
      }
    },
  },
  {
    key: "login/starts-without-credentials",
    says: "A login flow gives the page for the user, and a token and an endpoint for the app's polls, all at this server",
    source: FLOW,
    level: "SHOULD",
    async run(prober) {
      const { login, poll } = await startLogin(prober);
      const { origin } = new URL(prober.target.url);
      const origins = [login, poll.endpoint].map((url) => new URL(url).origin);
      expectEqual("origins of the page and the endpoint", origins, [origin, origin]);
    },
  },
  {
    key: "login/pending-poll-is-404",
    says: "A poll is answered 404 until the user has allowed the app",
    source: `${FLOW} and PinePods, which ends its login after any other status`,
    level: "SHOULD",
    async run(prober) {
      const { ask } = await startLogin(prober);
      for (let poll = 0; poll < 2; poll++) expectEqual("status", (await ask()).status, 404);
    },
  },
  {
    key: "login/polls-set-no-cookie",
    says: "Neither the start of a login flow nor a poll sets a cookie",
    source: "AntennaPod sends it with the next poll; oPodSync then answers 500 for ever",
    level: "SHOULD",
    async run(prober) {
      const { answer, ask } = await startLogin(prober);
      expectEqual(
        "cookies",
        [answer, await ask()].flatMap(({ headers }) => headers.getSetCookie().length),
        [0, 0],
      );
    },
  },
];
