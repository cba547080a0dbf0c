// AntennaPod, which skips a play that it is sent if it has something later to send of that episode, whatever that is:
// EpisodeActionFilter.java, createUniqueLocalMostRecentPlayActions.
import { expect, test } from "bun:test";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { addElsewhere, askAs, EPISODE, FEED, openForEach, played, server } from "./phone.ts";

// Another device is at second 42 of 600.
openForEach(addElsewhere);

const NEXTCLOUD = "/index.php/apps/gpoddersync/episode_action";
const PROTOCOLS = [
  ["gPodder API", "/api/2/episodes/ann.json", "/api/2/episodes/ann.json"],
  ["Nextcloud", NEXTCLOUD, `${NEXTCLOUD}/create`],
] as const;

const timestamp = () => new Date(server.clock.now()).toISOString().slice(0, 19);
const playElsewhere = (position: number) =>
  askAs("Elsewhere/1")("POST", PROTOCOLS[0][1], [{ ...played(position), timestamp: timestamp() }]);
/** What AntennaPod sends of an episode that its user does not play. */
const does = (action: string, device = "phone") => ({
  podcast: FEED,
  episode: EPISODE,
  guid: "one",
  action,
  timestamp: timestamp(),
  device,
});

/** A phone that has its list, and all positions. */
async function openPhone([, path, create]: (typeof PROTOCOLS)[number], name = "phone", agent = "AntennaPod/3.11.4") {
  const actor = await actAsAdmin(server.app, "ann", "test");
  const { token } = await issueToken(server.app, actor, { label: name, scope: "write", expires_at: null });
  const ask = askAs(agent, token);
  await ask("GET", `/api/2/subscriptions/ann/${name}.json?since=0`);
  let since: number = (await ask("GET", `${path}?since=0`)).timestamp;
  /** SyncService.java, syncEpisodeActions. @returns the plays that it is sent */
  return async (queued: object[] = [], { lost = false } = {}): Promise<ReturnType<typeof played>[]> => {
    const { actions, timestamp } = await ask("GET", `${path}?since=${since}`);
    const given = queued.length > 0 ? (await ask("POST", create, queued)).timestamp : timestamp;
    // NextcloudSyncService.java: its own time.
    if (!lost) since = queued.length > 0 && path === NEXTCLOUD ? Math.floor(server.clock.now() / 1000) : given;
    return actions.filter(({ action }: { action: string }) => action === "play");
  };
}

for (const protocol of PROTOCOLS) {
  for (const action of ["download", "delete"]) {
    test(`a position comes again after a ${action} for which AntennaPod with ${protocol[0]} skipped it`, async () => {
      const sync = await openPhone(protocol);
      await playElsewhere(100);
      expect(await sync([does(action)])).toMatchObject([{ podcast: FEED, position: 100 }]);
      expect(await sync()).toMatchObject([{ podcast: FEED, position: 100 }]);
      expect(await sync()).toEqual([]);
    });
  }

  test(`so it does if the response to AntennaPod's upload with ${protocol[0]} was lost`, async () => {
    const sync = await openPhone(protocol);
    await playElsewhere(100);
    const queued = [does("download")];
    await sync(queued, { lost: true });
    expect(await sync(queued)).toMatchObject([{ position: 100 }]);
    expect(await sync()).toMatchObject([{ position: 100 }]);
    expect(await sync()).toEqual([]);
  });
}

test("a position that AntennaPod took does not come again after what its user did with the episode", async () => {
  const sync = await openPhone(PROTOCOLS[0]);
  const early = does("download");
  await playElsewhere(100);
  expect(await sync([early])).toMatchObject([{ position: 100 }]);
  expect(await sync([does("delete")])).toEqual([]);
  expect(await sync()).toEqual([]);
});

test("what was marked as new is played on where it was left elsewhere after that, though AntennaPod skips that at first", async () => {
  const sync = await openPhone(PROTOCOLS[0]);
  await sync([does("new")]);
  await sync();
  await playElsewhere(100);
  expect(await sync([does("download")])).toMatchObject([{ position: 100 }]);
  expect(await sync()).toMatchObject([{ position: 100 }]);
});

test("what AntennaPod's user marks as new stays so, though it was finished elsewhere before", async () => {
  const sync = await openPhone(PROTOCOLS[0]);
  await playElsewhere(600);
  expect(await sync([does("delete"), does("new")])).toMatchObject([{ position: 600 }]);
  expect(await sync()).toEqual([]);
});

test("an episode that is marked as new on another AntennaPod stays so there, though this one skips that it was finished", async () => {
  const [sync, tablet] = [await openPhone(PROTOCOLS[0]), await openPhone(PROTOCOLS[0], "tablet")];
  await playElsewhere(600);
  expect(await tablet()).toMatchObject([{ position: 600 }]);
  await tablet([does("new", "tablet")]);
  expect(await sync([does("delete")])).toMatchObject([{ position: 600 }]);
  expect([await tablet(), await sync()]).toEqual([[], []]);
});

test("a position does not come again after a download to an app that skips none for it", async () => {
  const sync = await openPhone(PROTOCOLS[0], "desktop", "gPodder/3.11.5");
  await playElsewhere(100);
  expect(await sync([does("download", "desktop")])).toMatchObject([{ position: 100 }]);
  expect(await sync()).toEqual([]);
});
