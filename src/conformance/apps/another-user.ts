// What another user must not see and not change.
import { expect, expectEqual } from "../expect.ts";
import { LOGIN_SCRIPT, scriptFor, syncClient } from "./client.ts";
import { type Demand, PLACES, play } from "./demand.ts";

export const anotherUser: Demand = {
  key: "auth/another-user-sees-nothing",
  says: "Another user neither gets nor changes a feed or a place of this one, also by this one's name in the path",
  source: "gPodder API, Subscriptions: 401, invalid user; Nextcloud: the password is one of the user",
  level: "MUST",
  needs: [PLACES],
  async run(prober, client, another) {
    const { protocol, paths } = client;
    const stranger = syncClient(prober, scriptFor(protocol), `c-${prober.id}-3`, "another user");
    const [feed, theirs, unknown] = [prober.feed(), prober.feed(), prober.feed()];
    const playTo = (position: number) => [play(prober, feed, `${feed}.mp3`, position)];
    await client.sendFeeds([feed, unknown], []);
    await client.sendActions(playTo(60));
    expectEqual("the other user's list", await stranger.added(), []);
    expectEqual("the other user's actions", (await stranger.readActions(0)).actions, []);
    await stranger.sendFeeds([theirs], [feed]);
    await stranger.sendActions(playTo(30));
    const expectKept = async () => {
      expectEqual("the list", (await client.added()).sort(), [feed, unknown]);
      const { actions } = await another.readActions(0);
      expectEqual(
        "positions",
        actions.map(({ position }) => position),
        [60],
      );
    };
    await expectKept();
    if (protocol === "nextcloud") return;
    const signedIn = syncClient(prober, LOGIN_SCRIPT, stranger.device, "another user");
    // Some servers have no login.
    const canSignIn = (await signedIn.login()).status === 200;
    if (canSignIn) await signedIn.signIn();
    for (const { request } of canSignIn ? [stranger, signedIn] : [stranger]) {
      for (const [method, path, body] of [
        ["GET", `${paths.read}?since=0`],
        ["GET", `${paths.readActions}?since=0`],
        ["GET", paths.devices],
        ["POST", paths.upload, { add: [], remove: [feed] }],
        ["POST", paths.uploadActions, playTo(30)],
      ] as const) {
        const { text } = await request(method, path, body);
        // A server that ignores the name answers with the other user's own: auth/another-name-is-refused is about that.
        const shown = [unknown, another.device].find((one) => text.replaceAll("\\/", "/").includes(one));
        expect(`The response to another user's ${method} ${path} has ${shown}`, shown === undefined);
      }
    }
    await expectKept();
  },
};
