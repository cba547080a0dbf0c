// What apps demand of episode actions, with the gPodder API and with Nextcloud's gPodder Sync.
import { expect, expectEqual } from "../expect.ts";
import { type Action, requireOk, timeOf, writeTime } from "./client.ts";
import { type Demand, expectLater, expectPresent, PLACES, play } from "./demand.ts";

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?$/;
const placesOf = (actions: Action[], episode: string) =>
  actions.filter((one) => one.episode === episode && one.action.toLowerCase() === "play").map((one) => one.position);

export const episodeDemands: Demand[] = [
  {
    key: PLACES,
    says: "A play with started, position and total is what another device gets",
    source: "gPodder API, Episode Actions",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendFeeds([feed], []);
      await client.sendActions([{ ...play(prober, feed, episode, 120), started: 30 }]);
      const found = (await another.readActions(0)).actions.find((one) => one.episode === episode);
      expectEqual(
        "the play",
        found && [found.podcast, found.action.toLowerCase(), found.started, found.position, found.total],
        [feed, "play", 30, 120, 3600],
      );
    },
  },
  {
    key: "episodes/latest-place-counts",
    says: "Of two plays of one episode a device gets the later one, with the latest time, also if its place is nearer",
    source: "AntennaPod, Kasts and gPodder apply the play with the latest time, in any order",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([play(prober, feed, episode, 900)]);
      await prober.clock.sleep(1100);
      await client.sendActions([play(prober, feed, episode, 120)]);
      const { actions } = await another.readActions(0);
      const latest = actions
        .filter((one) => one.episode === episode)
        .reduce<Action | null>((last, one) => (last && timeOf(last) > timeOf(one) ? last : one), null);
      expectEqual("the latest place", latest?.position, 120);
    },
  },
  {
    key: "episodes/since-gives-later-actions",
    says: "`since` gives what arrived after the timestamp of the last response, and leaves out what was there before",
    source: "gPodder API, Episode Actions: since",
    level: "MUST",
    of_two_apps: true,
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const [first, second] = [`${feed}-1.mp3`, `${feed}-2.mp3`];
      await client.sendActions([play(prober, feed, first, 120)]);
      await prober.clock.sleep(2100);
      const { timestamp } = await another.readActions(0);
      await prober.clock.sleep(2100);
      await client.sendActions([play(prober, feed, second, 60)]);
      const { actions } = await another.readActions(timestamp);
      expectEqual("places", [placesOf(actions, first), placesOf(actions, second)], [[], [60]]);
    },
  },
  {
    key: "episodes/an-earlier-play-that-arrives-late",
    says: "A play that an offline device made earlier and sends later is not skipped by `since`",
    source: "A device that was offline for a day: by its own time, no other device ever hears of its plays",
    level: "MUST",
    of_two_apps: true,
    needs: [PLACES],
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
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([{ podcast: feed, action: "unheard-of" }, play(prober, feed, episode, 60), {}]);
      expectEqual("places", placesOf((await another.readActions(0)).actions, episode), [60]);
    },
  },
  {
    key: "episodes/a-download-keeps-the-place",
    says: "A download of an episode, a mark as new and a deletion of its file do not replace its place",
    source: "AntennaPod#7502: the episode became unplayed again",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([play(prober, feed, episode, 60)]);
      await prober.clock.sleep(1100);
      const timestamp = writeTime(prober.clock.now());
      for (const action of ["download", "new", "delete"]) {
        await client.sendActions([{ podcast: feed, episode, action, timestamp }]);
        expectEqual("places", placesOf((await another.readActions(0)).actions, episode), [60]);
      }
    },
  },
  {
    key: "episodes/long-urls",
    says: "Episodes with URLs of 2,000 characters are kept",
    source: "nextcloud-gpodder#81: media URL over 500 characters",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}?${"x".repeat(2000)}`;
      await client.sendActions([play(prober, feed, episode, 60)]);
      expectEqual("places", placesOf((await another.readActions(0)).actions, episode), [60]);
    },
  },
  {
    key: "episodes/timestamp-is-whole-seconds",
    says: "`timestamp` of a response with actions is Unix time in whole seconds",
    source: "Kasts reads it with Qt's toInt, which makes 0 of milliseconds, fractions and texts",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      await client.sendActions([play(prober, feed, `${feed}.mp3`, 60)]);
      const { timestamp } = await another.readActions(0);
      expectPresent(prober, timestamp);
    },
  },
  {
    key: "episodes/timestamp-without-news",
    says: "A response without actions has a timestamp that is not before `since`",
    source: "AntennaPod, Kasts and gPodder keep it as the next `since`; from 0 they get everything again",
    level: "MUST",
    run: (_prober, client) => expectLater(client.readActions),
  },
  {
    key: "episodes/times-are-utc",
    says: "Times of actions are ISO 8601 in UTC, and those with which they were sent, also with a fraction and a zone",
    source: "gPodder API, Episode Actions: timestamp; PinePods sends a fraction and +00:00",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const at = prober.clock.now() - 3_600_000;
      const sent = ["", "Z", ".123456+00:00"].map((ending, n) => {
        return { ...play(prober, feed, `${feed}-${n}.mp3`, 60), timestamp: writeTime(at) + ending };
      });
      await client.sendActions(sent);
      const { actions } = await another.readActions(0);
      for (const { timestamp } of actions) expect(`${timestamp} is not such a time`, TIME.test(timestamp));
      const moments = actions.map((one) => writeTime(timeOf(one)));
      expectEqual("times", moments, [writeTime(at), writeTime(at), writeTime(at)]);
    },
  },
  {
    key: "episodes/upload-is-200",
    says: "An upload of actions is answered 200",
    source: "AntennaPod takes any other status for a failure",
    level: "MUST",
    async run(prober, client) {
      const feed = prober.feed();
      requireOk(await client.postActions([play(prober, feed, `${feed}.mp3`, 60)]));
    },
  },
  {
    key: "episodes/every-action-of-an-upload",
    says: "Every action of an upload of 30 is kept",
    source: "nextcloud-gpodder#20: only the first one was stored; AntennaPod and Kasts send up to 30",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const sent = Array.from({ length: 30 }, (_, n) => `${feed}-${n}.mp3`);
      await client.sendActions(sent.map((episode) => play(prober, feed, episode, 60)));
      const { actions } = await another.readActions(0);
      const found = new Set(actions.map(({ episode }) => episode));
      expectEqual(
        "episodes that are missing",
        sent.filter((episode) => !found.has(episode)),
        [],
      );
    },
  },
  {
    key: "episodes/uploads-at-the-same-moment",
    says: "What two devices play at the same moment is both there",
    source: "Phones that sync by a schedule; a server that writes all actions as it read them loses one of the uploads",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      for (let round = 0; round < 3; round++) {
        const [one, two] = [`${feed}-${round}-1.mp3`, `${feed}-${round}-2.mp3`];
        await Promise.all([
          client.sendActions([play(prober, feed, one, 60)]),
          another.sendActions([play(prober, feed, two, 60)]),
        ]);
      }
      const { actions } = await client.readActions(0);
      expectEqual("number of episodes", new Set(actions.map(({ episode }) => episode)).size, 6);
    },
  },
  {
    key: "episodes/without-since-gives-all",
    says: "A request without `since` gives every action",
    source: "gPodder API, Episode Actions: since is optional",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([play(prober, feed, episode, 60)]);
      expectEqual("places", placesOf((await another.readActions(null)).actions, episode), [60]);
    },
  },
  {
    key: "episodes/guid-is-kept-and-not-invented",
    says: "An action has the guid that it was sent with, and none if it was sent without",
    source: "AntennaPod finds an episode by its guid alone if there is one",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const [named, bare] = [`${feed}-1.mp3`, `${feed}-2.mp3`];
      const guid = `guid of ${feed}`;
      await client.sendActions([{ ...play(prober, feed, named, 60), guid }, play(prober, feed, bare, 60)]);
      const { actions } = await another.readActions(0);
      const guidOf = (url: string) => actions.find(({ episode }) => episode === url)?.guid ?? null;
      expectEqual("guids", [guidOf(named), guidOf(bare)], [guid, null]);
    },
  },
  {
    key: "episodes/names-are-kept",
    says: "The URLs of a feed and an episode, and a guid, keep their case, and the URLs their query",
    source: "AntennaPod, Kasts and gPodder compare them as texts; a private feed can't be read without its token",
    level: "MUST",
    needs: [PLACES, "episodes/guid-is-kept-and-not-invented"],
    async run(prober, client, another) {
      const feed = `${prober.feed("/Private")}?Key=A%2Fb&z=1&a=2`;
      const [episode, guid] = [`${prober.feed("/Episode")}?Token=C%2Fd&z=1&a=2`, `Guid-${feed}`];
      await client.sendActions([{ ...play(prober, feed, episode, 60), guid }]);
      const { actions } = await another.readActions(0);
      const names = actions.map((one) => [one.podcast, one.episode, one.guid]);
      expectEqual("podcast, episode and guid", names, [[feed, episode, guid]]);
    },
  },
  {
    key: "episodes/two-guids-of-one-file",
    says: "Two episodes with the same file and different guids are both kept",
    source: "nextcloud-gpodder#78: one replaced the other",
    level: "SHOULD",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      const sent = ["one", "two"].map((guid) => ({ ...play(prober, feed, episode, 60), guid }));
      await client.sendActions(sent);
      const { actions } = await another.readActions(0);
      const ours = actions.filter((one) => one.episode === episode);
      expectEqual("guids", ours.map(({ guid }) => guid).sort(), ["one", "two"]);
    },
  },
  {
    key: "episodes/a-play-without-a-place-is-accepted",
    says: "A play without a place, an episode that was marked as played, is accepted",
    source: "gPodder's players and gPodder#257; an app sends what was refused again for ever",
    level: "MUST",
    async run(prober, client) {
      const feed = prober.feed();
      const timestamp = writeTime(prober.clock.now());
      await client.sendActions([{ podcast: feed, episode: `${feed}.mp3`, action: "play", timestamp }]);
    },
  },
  {
    key: "episodes/a-play-without-a-place-is-not-at-0",
    says: "A play without a place does not get the place 0",
    source: "gPodder API, Episode Actions: position is optional; apps begin an episode again that is at 0",
    level: "SHOULD",
    needs: [PLACES, "episodes/a-play-without-a-place-is-accepted"],
    async run(prober, client, another) {
      const feed = prober.feed();
      const [episode, timestamp] = [`${feed}.mp3`, writeTime(prober.clock.now())];
      await client.sendActions([{ podcast: feed, episode, action: "play", timestamp }]);
      const places = placesOf((await another.readActions(0)).actions, episode);
      expect("The play has the place 0", !places.includes(0));
    },
  },
];

export const largeUpload: Demand = {
  key: "episodes/a-large-upload",
  says: "Every action of an upload of 300 is kept, and is in one response",
  source: "PinePods sends all of its actions at once; apps read a response to its end, and know no pages",
  level: "SHOULD",
  needs: [PLACES, "episodes/every-action-of-an-upload"],
  async run(prober, client, another) {
    const feed = prober.feed();
    const sent = Array.from({ length: 300 }, (_, n) => play(prober, feed, `${feed}-${n}.mp3`, 60));
    await client.sendActions(sent);
    const { actions } = await another.readActions(0);
    expectEqual("number of episodes", new Set(actions.map(({ episode }) => episode)).size, sent.length);
  },
};
