// What apps demand of single requests of the gPodder API and of Nextcloud's gPodder Sync.
import type { Check } from "../check.ts";
import { expect, expectEqual } from "../expect.ts";
import type { SyncApp } from "./apps.ts";
import { type Action, scriptFor, syncClient, writeTime } from "./client.ts";
import { type Demand, play } from "./demand.ts";
import { gpodderDemands } from "./gpodder.ts";

type Protocol = SyncApp["protocol"];

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?$/;
const placesOf = (actions: Action[], episode: string) =>
  actions.filter((one) => one.episode === episode && one.action.toLowerCase() === "play").map((one) => one.position);

/** The same with both protocols. */
const SHARED: Demand[] = [
  {
    key: "subscriptions/first-download-has-the-list",
    says: "A device without a `since` of its own gets every subscription in `add`, and none in `remove`",
    source: "gPodder API, Subscriptions: Get Subscription Changes; AntennaPod's first sync",
    level: "MUST",
    async run(prober, client, another) {
      const [stays, gone] = [prober.feed(), prober.feed()];
      await client.sendFeeds([stays, gone], []);
      await client.sendFeeds([], [gone]);
      const { add, remove } = await another.readFeeds(0);
      expectEqual("add", add.filter(prober.isOurs), [stays]);
      expectEqual("remove", remove.filter(prober.isOurs), []);
    },
  },
  {
    key: "subscriptions/changes-reach-another-device",
    says: "What one device adds and removes is in the next changes of another one",
    source: "gPodder API, Subscriptions: Get Subscription Changes",
    level: "MUST",
    async run(prober, client, another) {
      const [first, second] = [prober.feed(), prober.feed()];
      await client.sendFeeds([first], []);
      const { timestamp } = await another.readFeeds(0);
      await prober.clock.sleep(2100);
      await client.sendFeeds([second], [first]);
      const { add, remove } = await another.readFeeds(timestamp);
      expectEqual("add", add.filter(prober.isOurs), [second]);
      expectEqual("remove", remove.filter(prober.isOurs), [first]);
    },
  },
  {
    key: "subscriptions/timestamp-is-whole-seconds",
    says: "`timestamp` is Unix time in whole seconds",
    source: "Kasts reads it with Qt's toInt, which makes 0 of milliseconds, fractions and texts",
    level: "MUST",
    async run(prober, client) {
      const { timestamp } = await client.readFeeds(0);
      const present = prober.clock.now() / 1000;
      expect(`${timestamp} is more than a day from now`, Math.abs(timestamp - present) < 86_400);
    },
  },
  {
    key: "subscriptions/body-without-content-type",
    says: "A body is read as JSON, whatever its Content-Type",
    source: "mygpoclient and Qt send application/x-www-form-urlencoded",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      await client.sendFeeds([feed], [], { "Content-Type": "application/x-www-form-urlencoded" });
      expectEqual("add", (await another.readFeeds(0)).add.filter(prober.isOurs), [feed]);
    },
  },
  {
    key: "subscriptions/again-changes-nothing",
    says: "An upload that is sent again leaves one subscription",
    source: "Kasts and Qt repeat a POST whose response was lost",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      for (let time = 0; time < 3; time++) await client.sendFeeds([feed], []);
      expectEqual("add", (await another.readFeeds(0)).add.filter(prober.isOurs), [feed]);
    },
  },
  {
    key: "subscriptions/unknown-removal-is-accepted",
    says: "The removal of a feed that is not subscribed is accepted",
    source: "Kasts and gPodder send removals that others made before",
    level: "MUST",
    async run(prober, client) {
      await client.sendFeeds([], [prober.feed()]);
    },
  },
  {
    key: "episodes/place-reaches-another-device",
    says: "A play with started, position and total is what another device gets",
    source: "gPodder API, Episode Actions",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendFeeds([feed], []);
      await client.sendActions([play(prober, feed, episode, 120)]);
      const found = (await another.readActions(0)).actions.find((one) => one.episode === episode);
      expectEqual("the play", found && [found.podcast, found.action, found.started, found.position, found.total], [
        feed,
        "play",
        0,
        120,
        3600,
      ]);
    },
  },
  {
    key: "episodes/latest-place-counts",
    says: "Of two plays of one episode the later one is the last that a device gets",
    source: "AntennaPod and Kasts apply the latest; PinePods the last one in the list",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([play(prober, feed, episode, 120)]);
      await prober.clock.sleep(1100);
      await client.sendActions([play(prober, feed, episode, 900)]);
      expectEqual("the last place", placesOf((await another.readActions(0)).actions, episode).at(-1), 900);
    },
  },
  {
    key: "episodes/since-gives-later-actions",
    says: "`since` gives what arrived after the timestamp of the last response",
    source: "gPodder API, Episode Actions: since",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const [first, second] = [`${feed}-1.mp3`, `${feed}-2.mp3`];
      await client.sendActions([play(prober, feed, first, 120)]);
      const { timestamp } = await another.readActions(0);
      await prober.clock.sleep(2100);
      await client.sendActions([play(prober, feed, second, 60)]);
      expectEqual("places", placesOf((await another.readActions(timestamp)).actions, second), [60]);
    },
  },
  {
    key: "episodes/an-earlier-play-that-arrives-late",
    says: "A play that an offline device made earlier and sends later is not skipped by `since`",
    source: "nextcloud-gpodder and oPodSync filter by arrival; a device that was offline for a day",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      const { timestamp } = await another.readActions(0);
      await prober.clock.sleep(1100);
      const early = writeTime(prober.clock.now() - 86_400_000);
      await client.sendActions([{ ...play(prober, feed, episode, 240), timestamp: early }]);
      expectEqual("places", placesOf((await another.readActions(timestamp)).actions, episode), [240]);
    },
  },
  {
    key: "episodes/a-bad-action-keeps-none-back",
    says: "One action that can't be read does not keep the others of its upload back",
    source: "nextcloud-gpodder#144: the app sends the same batch for ever",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([{ podcast: feed, action: "unheard-of" }, play(prober, feed, episode, 60), {}]);
      expectEqual("places", placesOf((await another.readActions(0)).actions, episode), [60]);
    },
  },
  {
    key: "episodes/a-download-keeps-the-place",
    says: "A download of an episode does not replace its place",
    source: "AntennaPod#7502: the episode became unplayed again",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([play(prober, feed, episode, 60)]);
      await prober.clock.sleep(1100);
      const timestamp = writeTime(prober.clock.now());
      await client.sendActions([{ podcast: feed, episode, action: "download", timestamp }]);
      expectEqual("places", placesOf((await another.readActions(0)).actions, episode), [60]);
    },
  },
  {
    key: "episodes/long-urls",
    says: "Episodes with URLs of 2,000 characters are kept",
    source: "nextcloud-gpodder#81: media URL over 500 characters",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}?${"x".repeat(2000)}`;
      await client.sendActions([play(prober, feed, episode, 60)]);
      expectEqual("places", placesOf((await another.readActions(0)).actions, episode), [60]);
    },
  },
  {
    key: "episodes/times-are-utc",
    says: "Times of actions are ISO 8601 in UTC",
    source: "gPodder API, Episode Actions: timestamp",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      await client.sendActions([play(prober, feed, `${feed}.mp3`, 60)]);
      for (const { podcast, timestamp } of (await another.readActions(0)).actions) {
        if (prober.isOurs(podcast)) expect(`${timestamp} is not such a time`, TIME.test(timestamp));
      }
    },
  },
  {
    key: "auth/wrong-password-is-401",
    says: "A wrong password is answered 401",
    source: "gPodder API, Authentication",
    level: "MUST",
    async run(prober, client) {
      const wrong = `Basic ${Buffer.from(`${prober.target.user}:no-password-of-a-check`).toString("base64")}`;
      const { status } = await prober.request("GET", `${client.paths.read}?since=0`, {
        headers: { Authorization: wrong },
      });
      expectEqual("status", status, 401);
    },
  },
];

const checkOf = (protocol: Protocol, { key, says, source, level, run }: Demand): Check => ({
  id: `${protocol}/${key}`,
  says,
  source,
  level,
  async run(prober) {
    const client = syncClient(prober, scriptFor(protocol), `c-${prober.id}-1`);
    const another = syncClient(prober, scriptFor(protocol), `c-${prober.id}-2`, true);
    // Every app reads the subscriptions first, which is where it names its device.
    for (const one of [client, another]) await one.readFeeds(0);
    await run(prober, client, another);
  },
});

export const appChecksOf = (protocol: Protocol): Check[] =>
  [...SHARED, ...(protocol === "gpodder" ? gpodderDemands : [])].map((demand) => checkOf(protocol, demand));
