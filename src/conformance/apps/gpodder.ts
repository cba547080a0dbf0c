// What apps demand of single requests of the gPodder API alone.
import { z } from "zod";
import { expect, expectEqual } from "../expect.ts";
import { CompleteUpload, requireOk, scriptFor, syncClient, writeTime, ZONE } from "./client.ts";
import { type Demand, PLACES, play } from "./demand.ts";
import { gpodderAuthDemands } from "./gpodder-auth.ts";
import { gpodderDeviceDemands } from "./gpodder-devices.ts";

export const gpodderDemands: Demand[] = [
  ...gpodderAuthDemands,
  ...gpodderDeviceDemands,
  {
    key: "subscriptions/list-of-a-device",
    says: "The list of a device is an array of feed URLs, without those that were removed",
    source: "gPodder API, Subscriptions: Get Subscriptions of Device; mygpoclient",
    level: "MUST",
    async run(prober, client) {
      const [feed, gone] = [prober.feed(), prober.feed()];
      await client.sendFeeds([feed, gone], []);
      await client.sendFeeds([], [gone]);
      const answer = requireOk(await client.request("GET", client.paths.list));
      expectEqual("the list", answer.json(z.array(z.string())).filter(prober.isOurs), [feed]);
    },
  },
  {
    key: "subscriptions/whole-list-has-an-empty-response",
    says: "PUT of a whole list adds what is missing, with an empty response",
    source: "mygpoclient takes any text for a failure",
    level: "MUST",
    async run(prober, client) {
      const feed = prober.feed();
      const { add } = await client.readFeeds(0);
      prober.atEnd(feed, () => client.postFeeds([], [feed]));
      const answer = requireOk(await client.request("PUT", client.paths.list, [...add, feed]));
      expectEqual("the response", answer.text, "");
      expectEqual("add", await client.added(), [feed]);
    },
  },
  {
    key: "subscriptions/whole-list-without-a-feed-removes-it",
    says: "PUT of a whole list removes what the device had added and the list lacks",
    source: "gPodder API, Subscriptions: Upload Subscriptions of Device, the current list; mygpoclient",
    level: "SHOULD",
    needs: ["subscriptions/whole-list-has-an-empty-response"],
    async run(prober, client) {
      const [stays, gone] = [prober.feed(), prober.feed()];
      const { add } = await client.readFeeds(0);
      await client.sendFeeds([stays, gone], []);
      requireOk(await client.request("PUT", client.paths.list, [...add, stays]));
      expectEqual("add", await client.added(), [stays]);
    },
  },
  {
    key: "subscriptions/added-and-removed-is-400",
    says: "A feed that is added and removed in one upload is answered 400",
    source: "gPodder API, Subscriptions: Upload Subscription Changes",
    level: "SHOULD",
    async run(prober, client) {
      const feed = prober.feed();
      const { status } = await client.request("POST", client.paths.upload, { add: [feed], remove: [feed] });
      expectEqual("status", status, 400);
    },
  },
  {
    key: "subscriptions/opml",
    says: "The list is there as OPML, whose URLs are written as XML wants it, without what was removed",
    source: "gPodder API, Subscriptions: formats; gPodder's download of the list",
    level: "SHOULD",
    async run(prober, client) {
      const [feed, gone] = [`${prober.feed()}?a=1&b=2`, prober.feed()];
      await client.sendFeeds([feed, gone], []);
      await client.sendFeeds([], [gone]);
      const { text } = requireOk(await client.request("GET", client.paths.opml));
      const read = text.replaceAll(/&(amp|#38|#x26);/gi, "&");
      expect("The OPML does not name the feed", read.includes(feed));
      expect("The OPML is no XML: an & of a URL is not &amp;", !text.includes(feed));
      expect("The OPML names a feed that was removed", !text.includes(gone));
    },
  },
  {
    key: "subscriptions/upload-has-update-urls",
    says: "The response to an upload of changes has timestamp and update_urls",
    source: "gPodder API, Subscriptions: Upload Subscription Changes; AntennaPod can't go on without both",
    level: "MUST",
    async run(prober, client) {
      (await client.postFeeds([prober.feed()], [])).json(CompleteUpload);
    },
  },
  {
    key: "subscriptions/device-ids",
    says: "Letters, digits, `_`, `.` and `-` can be in the id of a device",
    source: "gPodder API, Devices: [\\w.-]+",
    level: "MUST",
    async run(prober) {
      const feed = prober.feed();
      const device = syncClient(prober, scriptFor("gpodder"), `A.Phone_of-${prober.id}`);
      await device.readFeeds(0);
      await device.sendFeeds([feed], []);
      expectEqual("add", await device.added(), [feed]);
    },
  },
  {
    key: "subscriptions/two-slashes",
    says: "A path that begins with two slashes is read as one with one",
    source: "Kasts keeps the slash at the end of the server's URL",
    level: "SHOULD",
    async run(_prober, client) {
      requireOk(await client.request("GET", `/${client.paths.read}?since=0`));
    },
  },
  {
    key: "episodes/upload-has-update-urls",
    says: "The response to an upload of actions has timestamp and update_urls",
    source: "gPodder API, Episode Actions: Upload; AntennaPod can't go on without both",
    level: "MUST",
    async run(prober, client) {
      const feed = prober.feed();
      (await client.postActions([play(prober, feed, `${feed}.mp3`, 60)])).json(CompleteUpload);
    },
  },
  {
    key: "episodes/actions-in-lower-case",
    says: "Actions are answered in lower case",
    source: "gPodder drops all actions of a response that has PLAY",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      await client.sendActions([play(prober, feed, `${feed}.mp3`, 60)]);
      for (const { action } of (await another.readActions(0)).actions) {
        expect(`${action} is not in lower case`, action === action.toLowerCase());
      }
    },
  },
  {
    key: "episodes/only-plays-have-places",
    says: "Actions that are not plays have no place, not even -1",
    source: "gPodder drops all actions of a response that has a place of -1",
    level: "MUST",
    async run(prober, client, another) {
      const feed = prober.feed();
      const timestamp = writeTime(prober.clock.now());
      await client.sendActions([{ podcast: feed, episode: `${feed}.mp3`, action: "download", timestamp }]);
      for (const { action, position } of (await another.readActions(0)).actions) {
        if (action.toLowerCase() !== "play")
          expect(`A ${action} has the place ${position}`, (position ?? null) === null);
      }
    },
  },
  {
    key: "episodes/times-without-a-zone",
    says: "Times of actions have no zone",
    source: "gPodder API, Episode Actions: timestamp; Kasts reads a time with Z as 1970",
    level: "SHOULD",
    async run(prober, client, another) {
      const feed = prober.feed();
      await client.sendActions([play(prober, feed, `${feed}.mp3`, 60)]);
      for (const { timestamp } of (await another.readActions(0)).actions) {
        expect(`${timestamp} has a zone`, !ZONE.test(timestamp));
      }
    },
  },
  {
    key: "episodes/other-actions-reach-another-device",
    says: "A download, a deletion of a file and a mark as new are what another device gets",
    source: "gPodder API, Episode Actions: action",
    level: "MUST",
    needs: [PLACES, "episodes/every-action-of-an-upload"],
    async run(prober, client, another) {
      const feed = prober.feed();
      const timestamp = writeTime(prober.clock.now());
      const kinds = ["delete", "download", "new"];
      const sent = kinds.map((action) => ({ podcast: feed, episode: `${feed}-${action}.mp3`, action, timestamp }));
      await client.sendActions(sent);
      const { actions } = await another.readActions(0);
      expectEqual("actions", actions.map(({ action }) => action.toLowerCase()).sort(), kinds);
    },
  },
  {
    key: "episodes/device-is-kept",
    says: "An action has the device that it was sent with",
    source: "gPodder API, Episode Actions: device; Rhythmbox skips actions that name none",
    level: "SHOULD",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      await client.sendActions([play(prober, feed, `${feed}.mp3`, 60)]);
      const devices = (await another.readActions(0)).actions.map(({ device }) => device);
      expectEqual("devices", devices, [client.device]);
    },
  },
  {
    key: "episodes/actions-of-one-podcast",
    says: "`podcast` in a query gives the actions of that feed alone",
    source: "gPodder API, Episode Actions: podcast",
    level: "SHOULD",
    needs: [PLACES],
    async run(prober, client, another) {
      const [feed, other] = [prober.feed(), prober.feed()];
      await client.sendActions([feed, other].map((one) => play(prober, one, `${one}.mp3`, 60)));
      const { actions } = await another.readActions(0, `&podcast=${encodeURIComponent(feed)}`);
      expectEqual("podcasts", [...new Set(actions.map(({ podcast }) => podcast))], [feed]);
    },
  },
  {
    key: "episodes/aggregated-and-device",
    says: "`aggregated` and `device` in a query lose no place",
    source: "Kasts sends aggregated, Music Assistant device",
    level: "MUST",
    needs: [PLACES],
    async run(prober, client, another) {
      const feed = prober.feed();
      const episode = `${feed}.mp3`;
      await client.sendActions([play(prober, feed, episode, 60)]);
      for (const query of ["&aggregated=true", "&aggregated=false"]) {
        const found = (await another.readActions(0, query)).actions.find((one) => one.episode === episode);
        expectEqual(`position with ${query}`, found?.position, 60);
      }
      const { status } = await another.request("GET", `${another.paths.readActions}?since=0&device=${another.device}`);
      expectEqual("status with &device", status, 200);
    },
  },
];
