// What apps demand of single requests of the gPodder API alone.
import { z } from "zod";
import { expect, expectEqual } from "../expect.ts";
import { requireOk, syncClient, writeTime } from "./client.ts";
import { type Demand, play } from "./demand.ts";

export const gpodderDemands: Demand[] = [
  {
    key: "auth/login-gives-a-cookie",
    says: "Login answers 200 with a cookie, which signs in alone from then on",
    source: "AntennaPod sends the password to login.json only",
    level: "MUST",
    async run(prober) {
      const phone = syncClient(
        prober,
        { protocol: "gpodder", user_agent: "AntennaPod/3.11.4", signs_in: "login" },
        `c-${prober.id}`,
      );
      const answer = await phone.login();
      requireOk(answer);
      expect("The response sets no cookie", answer.headers.getSetCookie().length > 0);
      requireOk(await phone.request("GET", phone.paths.devices));
    },
  },
  {
    key: "auth/challenge-names-basic",
    says: "A 401 asks for Basic, so that apps send the password at all",
    source: "gPodder and mygpoclient send it after a challenge, and switch sync off without one",
    level: "MUST",
    async run(prober, client) {
      const { status, headers } = await prober.request("GET", client.paths.devices);
      expectEqual("status", status, 401);
      expect("WWW-Authenticate does not name Basic", /^basic\b/i.test(headers.get("www-authenticate") ?? ""));
    },
  },
  {
    key: "devices/a-device-that-syncs-is-listed",
    says: "A device that was described is in the list, with its caption and type",
    source: "gPodder API, Devices; AntennaPod needs id, caption, type and subscriptions",
    level: "MUST",
    async run(prober, client) {
      const body = { caption: "A check", type: "mobile" };
      requireOk(
        await client.request(
          "POST",
          `/api/2/devices/${encodeURIComponent(prober.target.user)}/${client.device}.json`,
          body,
        ),
      );
      const Devices = z.array(
        z.looseObject({ id: z.string(), caption: z.string(), type: z.string(), subscriptions: z.number().int() }),
      );
      const answer = await client.request("GET", client.paths.devices);
      requireOk(answer);
      const found = answer.json(Devices).find(({ id }) => id === client.device);
      expectEqual("caption and type", [found?.caption, found?.type], ["A check", "mobile"]);
    },
  },
  {
    key: "subscriptions/list-of-a-device",
    says: "The list of a device is an array of feed URLs",
    source: "gPodder API, Subscriptions: Get Subscriptions of Device; mygpoclient",
    level: "MUST",
    async run(prober, client) {
      const feed = prober.feed();
      await client.sendFeeds([feed], []);
      const answer = await client.request("GET", client.paths.list);
      requireOk(answer);
      expectEqual("the list", answer.json(z.array(z.string())).filter(prober.isOurs), [feed]);
    },
  },
  {
    key: "subscriptions/whole-list-has-an-empty-response",
    says: "PUT of a whole list adds what is missing, with an empty response",
    source: "mygpoclient takes any text for a failure",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const { add } = await client.readFeeds(0);
      prober.atEnd(async () => void (await client.sendFeeds([], [feed])));
      const answer = await client.request("PUT", client.paths.list, [...add, feed]);
      requireOk(answer);
      expectEqual("the response", answer.text, "");
      expectEqual("add", (await another.readFeeds(0)).add.filter(prober.isOurs), [feed]);
    },
  },
  {
    key: "subscriptions/added-and-removed-is-400",
    says: "A feed that is added and removed in one upload is answered 400",
    source: "gPodder API, Subscriptions: Upload Subscription Changes",
    level: "SHOULD",
    async run(prober, client) {
      const feed = prober.feed();
      const { status } = await client.request("POST", client.paths.feeds, { add: [feed], remove: [feed] });
      expectEqual("status", status, 400);
    },
  },
  {
    key: "auth/another-name-is-refused",
    says: "Another user's name in the path is refused",
    source: "gPodder API, Authentication",
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
    key: "subscriptions/opml",
    says: "The list is there as OPML",
    source: "gPodder API, Subscriptions: formats; gPodder's download of the list",
    level: "SHOULD",
    async run(prober, client) {
      const feed = prober.feed();
      await client.sendFeeds([feed], []);
      const answer = await client.request("GET", `/subscriptions/${encodeURIComponent(prober.target.user)}.opml`);
      requireOk(answer);
      expect("The OPML does not name the feed", answer.text.includes(feed));
    },
  },
  {
    key: "episodes/actions-in-lower-case",
    says: "Actions are answered in lower case, and only plays have places",
    source: "gPodder drops a batch that has PLAY, or a place of -1",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const timestamp = writeTime(prober.clock.now());
      await client.sendActions([
        { podcast: feed, episode: `${feed}.mp3`, action: "download", timestamp },
        play(prober, feed, `${feed}-2.mp3`, 60),
      ]);
      for (const one of (await another.readActions(0)).actions.filter(({ podcast }) => prober.isOurs(podcast))) {
        expect(`${one.action} is not in lower case`, one.action === one.action.toLowerCase());
        if (one.action !== "play")
          expect(`A ${one.action} has the place ${one.position}`, (one.position ?? null) === null);
      }
    },
  },
];
