// Omarchy-Podcast, which asks for plays only once all that it played is uploaded.
import { expect, test } from "bun:test";
import { issueToken } from "../../src/services/accounts/tokens.ts";
import { actAsAdmin } from "../../src/services/actor.ts";
import { addElsewhere, askAs, EPISODE, FEED, openForEach, played, server } from "./phone.ts";

const EPISODES = "/api/2/episodes/ann.json";

// A phone is at second 42 of 600.
openForEach(addElsewhere);

test("what it plays on after a sync counts, though its clock is ten minutes behind", async () => {
  const admin = await actAsAdmin(server.app, "ann", "test");
  const own = await issueToken(server.app, admin, { label: "Omarchy", scope: "write", expires_at: null });
  const [ask, other] = [askAs("Omarchy-Podcast/0.1.0 (Linux)", own.token), askAs("Elsewhere/1")];
  // sync.py, _sync_actions.
  const upload = (position: number) => {
    const timestamp = new Date(server.clock.now() - 600_000).toISOString().slice(0, 19);
    const play = { podcast: FEED, episode: EPISODE, action: "play", timestamp, started: 42, position, total: 600 };
    return ask("POST", EPISODES, [{ ...play, device: "omarchy" }]);
  };
  await other("POST", EPISODES, [{ ...played(300), timestamp: "2026-01-01T00:01:00" }]);
  await ask("GET", "/api/2/subscriptions/ann/omarchy.json?since=0");
  const { timestamp } = await ask("GET", `${EPISODES}?since=0&aggregated=true`);
  await upload(360);
  await ask("GET", `${EPISODES}?since=${timestamp}&aggregated=true`);
  const told = async () => (await askAs("Kasts/25.04.3")("GET", `${EPISODES}?since=0`)).actions;
  expect(await told()).toMatchObject([{ position: 360 }]);
  // What another app played since its last sync is not what it knew.
  const at = new Date(server.clock.now()).toISOString().slice(0, 19);
  await other("POST", EPISODES, [{ ...played(500), timestamp: at }]);
  await upload(400);
  expect(await told()).toMatchObject([{ position: 500 }]);
});
