// What apps demand of subscriptions, with the gPodder API and with Nextcloud's gPodder Sync.
import { expect, expectEqual } from "../expect.ts";
import { SIMILAR_URLS, similarUrls } from "../similar-urls.ts";
import { requireOk } from "./client.ts";
import { type Demand, expectLater, expectPresent, ONE_LIST } from "./demand.ts";

export const feedDemands: Demand[] = [
  {
    key: ONE_LIST,
    says: "What one device adds, another device of the user gets",
    source: "AntennaPod and gPodder join no devices: with a list for each device, no change reaches another one",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      await client.sendFeeds([feed], []);
      expectEqual("add for another device", await another.added(), [feed]);
    },
  },
  {
    key: "subscriptions/first-download-has-the-list",
    says: "A device without an earlier `since` gets every subscription in `add`, and none in `remove`",
    source: "AntennaPod's first sync: what is in `remove` it deletes, also a feed that the phone has had for years",
    level: "MUST",
    needs: [ONE_LIST],
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
    needs: [ONE_LIST],
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
      expectPresent(prober, timestamp);
    },
  },
  {
    key: "subscriptions/timestamp-without-news",
    says: "A response without changes has a timestamp that is not before `since`",
    source: "AntennaPod, Kasts and gPodder keep it as the next `since`; from 0 they get everything again",
    level: "MUST",
    run: (_prober, client) => expectLater(client.readFeeds),
  },
  {
    key: "subscriptions/body-without-content-type",
    says: "A body is read as JSON with any Content-Type",
    source: "mygpoclient and Qt send application/x-www-form-urlencoded",
    level: "MUST",
    async run(prober, client) {
      const feed = prober.feed();
      await client.sendFeeds([feed], [], { "Content-Type": "application/x-www-form-urlencoded" });
      expectEqual("add", await client.added(), [feed]);
    },
  },
  {
    key: "subscriptions/again-changes-nothing",
    says: "An upload that is sent again leaves one subscription",
    source: "Kasts and Qt repeat a POST whose response was lost",
    level: "MUST",
    async run(prober, client) {
      const feed = prober.feed();
      for (let time = 0; time < 3; time++) await client.sendFeeds([feed], []);
      expectEqual("add", await client.added(), [feed]);
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
    key: "subscriptions/upload-is-200",
    says: "An upload of changes is answered 200",
    source: "AntennaPod takes any other status for a failure",
    level: "MUST",
    async run(prober, client) {
      requireOk(await client.postFeeds([prober.feed()], []));
    },
  },
  {
    key: "subscriptions/url-is-kept",
    says: "A feed URL keeps its case, its query and its user information, without which private feeds can't be read",
    source: "PinePods#637: feeds with a user and a password lost them",
    level: "MUST",
    async run(prober, client) {
      const feed = `${prober.feed("/Private").replace("https://", "https://Ann:s%C3%A9cret@")}?Key=A%2Fb&z=1&a=2`;
      await client.sendFeeds([feed], []);
      expectEqual("add", await client.added(), [feed]);
    },
  },
  {
    key: "subscriptions/similar-urls-are-other-feeds",
    ...SIMILAR_URLS,
    async run(prober, client) {
      const feeds = similarUrls(prober.feed("/Private"));
      await client.sendFeeds(feeds, []);
      expectEqual("add", (await client.added()).sort(), feeds.sort());
    },
  },
  {
    key: "subscriptions/uploads-at-the-same-moment",
    says: "What two devices upload at the same moment is both there",
    source:
      "Phones that sync by a schedule; a server that writes the whole list as it read it loses one of the uploads",
    level: "MUST",
    needs: [ONE_LIST],
    async run(prober, client, another) {
      for (let round = 0; round < 3; round++)
        await Promise.all([client.sendFeeds([prober.feed()], []), another.sendFeeds([prober.feed()], [])]);
      expectEqual("number of feeds", (await client.added()).length, 6);
    },
  },
  {
    key: "subscriptions/a-local-feed-keeps-none-back",
    says: "A feed that is not a web URL does not keep the others of its upload back",
    source: "AntennaPod#7209: a local folder in the upload, 400, and sync was dead",
    level: "SHOULD",
    async run(prober, client) {
      const feed = prober.feed();
      await client.sendFeeds(["antennapod_local:content://a-folder", feed], []);
      expectEqual("add", await client.added(), [feed]);
    },
  },
  {
    key: "subscriptions/since-is-by-arrival",
    says: "`since` leaves out what was there before",
    source: "gPodder API, Subscriptions: since; Kasts and PinePods add again what they are given again",
    level: "MUST",
    needs: [ONE_LIST],
    async run(prober, client, another) {
      await client.sendFeeds([prober.feed()], []);
      await prober.clock.sleep(2100);
      const { timestamp } = await another.readFeeds(0);
      await prober.clock.sleep(2100);
      const second = prober.feed();
      await client.sendFeeds([second], []);
      expectEqual("add", await another.added(timestamp), [second]);
    },
  },
  {
    key: "subscriptions/odd-since-is-no-500",
    says: "A `since` that makes no sense is refused or left out, and breaks nothing",
    source: "gPodder API: since is a timestamp; an error 5xx makes apps try again",
    level: "SHOULD",
    async run(_prober, { request, paths }) {
      for (const since of ["x", "-1", "1.5", "99999999999999999999"]) {
        for (const path of [paths.read, paths.readActions]) {
          const { status } = await request("GET", `${path}?since=${since}`);
          expect(`Status ${status} to ${path}?since=${since}`, status < 500);
        }
      }
    },
  },
];

export const largeList: Demand = {
  key: "subscriptions/a-large-list",
  says: "All 300 feeds of an upload are there, and in one response",
  source: "The first sync of an app with many feeds; apps read a response to its end, and know no pages",
  level: "SHOULD",
  needs: [ONE_LIST],
  async run(prober, client, another) {
    const feeds = Array.from({ length: 300 }, () => prober.feed());
    await client.sendFeeds(feeds, []);
    expectEqual("add for another device", (await another.added()).sort(), feeds.sort());
  },
};
