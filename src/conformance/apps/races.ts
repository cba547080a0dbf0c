// Races of two devices: the cases in which servers lose changes, for each app in its own order of requests.
import { PLACES } from "./demand.ts";
import { pause, type Scene, secondToBegin, settle, settlePlaces } from "./scene.ts";

export interface Race {
  key: string;
  says: string;
  /** Keys of what it needs, apart from one list. */
  needs?: readonly string[];
  run(scene: Scene): Promise<void>;
}

export const RACES: Race[] = [
  {
    key: "added-between-download-and-upload",
    says: "hears of a feed that another device adds between its download and its upload",
    async run(scene) {
      const [mine, theirs] = [scene.feed(), scene.feed()];
      await scene.phone.syncFeeds();
      scene.phone.subscribe(mine);
      await secondToBegin(scene);
      await scene.phone.syncFeeds({ between: () => scene.other.sendFeeds([theirs], []) });
      await settle(scene, [mine, theirs]);
    },
  },
  {
    key: "added-while-it-uploads-slowly",
    says: "hears of a feed that another device adds seconds before its slow upload ends",
    async run(scene) {
      const [mine, theirs] = [scene.feed(), scene.feed()];
      await scene.phone.syncFeeds();
      scene.phone.subscribe(mine);
      const between = async () => {
        await pause(scene);
        await scene.other.sendFeeds([theirs], []);
        await pause(scene, 2.1);
      };
      await scene.phone.syncFeeds({ between });
      await settle(scene, [mine, theirs]);
    },
  },
  {
    key: "removed-between-download-and-upload",
    says: "hears of a removal that another device makes between its download and its upload",
    async run(scene) {
      const [mine, gone] = [scene.feed(), scene.feed()];
      await scene.other.sendFeeds([gone], []);
      await pause(scene);
      await scene.phone.syncFeeds();
      scene.phone.subscribe(mine);
      const between = async () => {
        await pause(scene);
        await scene.other.sendFeeds([], [gone]);
        await pause(scene);
      };
      await scene.phone.syncFeeds({ between });
      await settle(scene, [mine]);
    },
  },
  {
    key: "added-in-the-second-of-a-download",
    says: "hears of a feed that another device adds in the second of its download",
    async run(scene) {
      await scene.phone.syncFeeds();
      const theirs = scene.feed();
      await secondToBegin(scene);
      await scene.phone.syncFeeds();
      await scene.other.sendFeeds([theirs], []);
      await settle(scene, [theirs]);
    },
  },
  {
    key: "added-in-the-second-of-the-last-change",
    says: "hears of a feed that another device adds after its download, in the second of the change before",
    async run(scene) {
      const [first, second] = [scene.feed(), scene.feed()];
      await scene.phone.syncFeeds();
      await secondToBegin(scene);
      await scene.other.sendFeeds([first], []);
      await scene.phone.syncFeeds();
      await scene.other.sendFeeds([second], []);
      await settle(scene, [first, second]);
    },
  },
  {
    key: "added-in-the-second-of-an-upload",
    says: "hears of a feed that another device adds in the second of its upload",
    async run(scene) {
      const [mine, theirs] = [scene.feed(), scene.feed()];
      await scene.phone.syncFeeds();
      scene.phone.subscribe(mine);
      await secondToBegin(scene);
      await scene.phone.syncFeeds();
      await scene.other.sendFeeds([theirs], []);
      await settle(scene, [mine, theirs]);
    },
  },
  {
    key: "idle-for-several-syncs",
    says: "hears of a change after several syncs without news",
    async run(scene) {
      const theirs = scene.feed();
      for (let sync = 0; sync < 3; sync++) {
        await scene.phone.syncFeeds();
        await pause(scene);
      }
      await scene.other.sendFeeds([theirs], []);
      await settle(scene, [theirs]);
    },
  },
  {
    key: "download-lost",
    says: "hears again what was in a response that it did not receive",
    async run(scene) {
      const theirs = scene.feed();
      await scene.phone.syncFeeds();
      await pause(scene);
      await scene.other.sendFeeds([theirs], []);
      await pause(scene);
      await scene.phone.syncFeeds({ lost: "download" });
      await settle(scene, [theirs]);
    },
  },
  {
    key: "upload-lost",
    says: "sends an upload again whose response it did not receive, and nothing is doubled or missed",
    async run(scene) {
      const [mine, theirs] = [scene.feed(), scene.feed()];
      await scene.phone.syncFeeds();
      scene.phone.subscribe(mine);
      await scene.phone.syncFeeds({ lost: "upload" });
      await pause(scene);
      await scene.other.sendFeeds([theirs], []);
      await settle(scene, [mine, theirs]);
    },
  },
  {
    key: "added-and-removed-between-syncs",
    says: "does not have what another device added and removed between its syncs",
    async run(scene) {
      const [stays, passes] = [scene.feed(), scene.feed()];
      await scene.phone.syncFeeds();
      await pause(scene);
      await scene.other.sendFeeds([stays, passes], []);
      await pause(scene);
      await scene.other.sendFeeds([], [passes]);
      await settle(scene, [stays]);
    },
  },
  {
    key: "removed-and-added-again-between-syncs",
    says: "keeps what another device removed and added again between its syncs",
    async run(scene) {
      const feed = scene.feed();
      await scene.other.sendFeeds([feed], []);
      await pause(scene);
      await scene.phone.syncFeeds();
      await pause(scene);
      await scene.other.sendFeeds([], [feed]);
      await pause(scene);
      await scene.other.sendFeeds([feed], []);
      await settle(scene, [feed]);
    },
  },
  {
    key: "its-removal-reaches-all",
    says: "removes a feed for every device",
    async run(scene) {
      const [stays, gone] = [scene.feed(), scene.feed()];
      const tablet = scene.another();
      await scene.other.sendFeeds([stays, gone], []);
      await pause(scene);
      await scene.phone.syncFeeds();
      await tablet.syncFeeds();
      scene.phone.unsubscribe(gone);
      await pause(scene);
      await scene.phone.syncFeeds();
      await settle(scene, [stays], tablet);
    },
  },
  {
    key: "first-syncs-of-two-devices",
    says: "and another device bring their lists together when both sync for the first time",
    async run(scene) {
      const [mine, theirs] = [scene.feed(), scene.feed()];
      const tablet = scene.another();
      scene.phone.subscribe(mine);
      tablet.subscribe(theirs);
      await secondToBegin(scene);
      await scene.phone.syncFeeds({ between: () => tablet.syncFeeds() });
      await settle(scene, [mine, theirs], tablet);
    },
  },
  {
    key: "changes-at-the-same-moment",
    says: "and another device hear of each other's changes that were sent at the same moment",
    async run(scene) {
      const [mine, theirs] = [scene.feed(), scene.feed()];
      const tablet = scene.another();
      await scene.phone.syncFeeds();
      await tablet.syncFeeds();
      await pause(scene);
      scene.phone.subscribe(mine);
      tablet.subscribe(theirs);
      await secondToBegin(scene);
      await scene.phone.syncFeeds({ between: () => tablet.syncFeeds() });
      await settle(scene, [mine, theirs], tablet);
    },
  },
  {
    key: "place-between-download-and-upload",
    says: "hears of a place that another device sends between its download and its upload of plays",
    needs: [PLACES],
    async run(scene) {
      const feed = scene.feed();
      const [mine, theirs] = [`${feed}-1.mp3`, `${feed}-2.mp3`];
      const tablet = scene.another();
      await scene.other.sendFeeds([feed], []);
      for (const phone of [scene.phone, tablet]) await phone.sync();
      await pause(scene);
      scene.phone.play(feed, mine, 100);
      tablet.play(feed, theirs, 200);
      await scene.phone.syncPlays(async () => {
        await pause(scene);
        await tablet.syncPlays();
        await pause(scene);
      });
      await settlePlaces(scene, { [mine]: 100, [theirs]: 200 }, tablet);
    },
  },
  {
    key: "earlier-play-arrives-later",
    says: "is not set back by a play that was made earlier and arrives later",
    needs: [PLACES],
    async run(scene) {
      const feed = scene.feed();
      const episode = `${feed}-1.mp3`;
      const tablet = scene.another();
      await scene.other.sendFeeds([feed], []);
      for (const phone of [scene.phone, tablet]) await phone.sync();
      // The tablet is offline after it.
      tablet.play(feed, episode, 300, scene.prober.clock.now() - 60_000);
      // Long enough for an app that adds a second to its last timestamp.
      await pause(scene, 2.1);
      scene.phone.play(feed, episode, 900);
      await scene.phone.syncPlays();
      await pause(scene);
      await tablet.syncPlays();
      await settlePlaces(scene, { [episode]: 900 }, tablet);
    },
  },
];
