// The data of the recorded databases, and the requests whose responses are recorded.
import { appNamed } from "../../src/http/apps.ts";
import { actAsUser } from "../../src/services/actor.ts";
import { identifyClient } from "../../src/services/devices/clients.ts";
import { readFeedChanges } from "../../src/services/devices/device-list.ts";
import { uploadFeedChanges } from "../../src/services/devices/device-uploads.ts";
import { uploadActions } from "../../src/services/listening/episode-uploads.ts";
import { play } from "../domain/episode-sync.ts";
import type { Answer, TestApp, TestUser } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";

const url = (name: string) => `https://${name}.example/rss?key=s3cret`;
const GUIDS = {
  own: "11111111-1111-4111-8111-111111111111",
  renamed: "22222222-2222-4222-8222-222222222222",
};

const PASSWORD = "correct horse battery staple";

/** Fills a new database with one of everything. Returns the user who has it. */
export async function tell(podkeep: TestApp): Promise<TestUser> {
  const ann = await podkeep.user("ann");
  const bob = await podkeep.user("bob");
  await ann.setPassword(PASSWORD);
  const add = async (...names: string[]): Promise<string[]> => {
    const body = { subscriptions: names.map((name) => ({ feed_url: url(name) })) };
    return (await ann.request("POST", "/subscriptions", body)).body.success.map((item: { guid: string }) => item.guid);
  };
  await bob.request("POST", "/subscriptions", { subscriptions: [{ feed_url: url("kept") }] });
  await ann.request("POST", "/subscriptions", { subscriptions: [{ feed_url: url("own"), guid: GUIDS.own }] });
  const [, left, renamed, merged, into, deleted, revived, pending] = await add(
    "kept",
    "left",
    "renamed",
    "merged",
    "into",
    "deleted",
    "revived",
    "pending",
  );
  podkeep.clock.advance(60_000);
  await ann.request("PATCH", `/subscriptions/${left}`, { is_subscribed: false });
  await ann.request("PATCH", `/subscriptions/${renamed}`, { new_guid: GUIDS.renamed, new_feed_url: url("moved") });
  await ann.request("PATCH", `/subscriptions/${merged}`, { new_guid: into });
  await ann.request("DELETE", `/subscriptions/${revived}`);
  await add("revived");
  await ann.request("DELETE", `/subscriptions/${deleted}`);
  await podkeep.drain();
  podkeep.clock.advance(60_000);
  await ann.request("DELETE", `/subscriptions/${pending}`);
  await sync(podkeep, ann);
  await syncDraft(podkeep, ann);
  return ann;
}

/** What an app that keeps whole seconds leaves behind. */
async function sync({ app, clock }: TestApp, ann: TestUser): Promise<void> {
  const actor = actAsUser(ann.id, null, "phone");
  const client = identifyClient(actor, appNamed("AntennaPod", "gpodder"));
  const add = [url("kept"), url("own").replace("https", "http")];
  await uploadFeedChanges(app, actor, client, { add, remove: [] });
  await readFeedChanges(app, actor, client, { since: 0 });
  const played = play(60, { feed_url: url("kept"), sent_at: clock.now(), guid: "episode" });
  await uploadActions(app, actor, client, [played, { ...played, kind: "delete", position: null, total: null }]);
}

/** What a client of the draft leaves behind: what it said, its actions, and a login. */
async function syncDraft({ clock, send }: TestApp, ann: TestUser): Promise<void> {
  const { body } = await ann.request("GET", "/api/v1/sync");
  const { sync_id } = body.results[0].data;
  const said = (action: string, ago: number, data: object) => ({
    type: "subscription",
    action,
    action_id: ACTIONS[action],
    occurred_at: new Date(clock.now() - ago).toISOString(),
    data,
  });
  const requests = [said("subscribe", 2000, { feed_url: url("draft") }), said("unsubscribe", 1000, { sync_id })];
  const answer = await ann.request("POST", "/api/v1/sync", { requests }, { "Client-ID": GUIDS.own });
  if (answer.status !== 200) throw new Error(`The draft answers ${answer.status}`);
  const headers = { "Content-Type": "application/json" };
  await send("POST", "/auth/login", { headers, body: JSON.stringify({ username: "ann", password: PASSWORD }) });
}

const ACTIONS: Record<string, string> = {
  subscribe: "a651fd88-555d-4ac4-bdbb-e35846aa4da9",
  unsubscribe: "65a57789-3578-4842-89e5-a221f177efb9",
};

/** The responses to a client of the draft: everything, and an action that was done before. */
export async function askAsDraft(send: TestApp["send"], token: string) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const again = {
    type: "subscription",
    action: "subscribe",
    action_id: ACTIONS["subscribe"],
    occurred_at: "2026-01-01T00:00:00Z",
    data: { feed_url: url("draft") },
  };
  const { body } = await send("GET", "/api/v1/sync", { headers });
  const done = await send("POST", "/api/v1/sync", { headers, body: JSON.stringify({ requests: [again] }) });
  return { everything: body.results, done: done.body.results };
}

/** The user's responses to requests for all of it. */
export async function ask(get: (path: string) => Promise<Answer>): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  const list = await get("/subscriptions");
  const guids = new Set<string>(list.body.subscriptions.map((item: { guid: string }) => item.guid));
  const paths = [...guids].sort().map((guid) => `/subscriptions/${guid}`);
  const deletions = [1, 2, 3, 4].map((id) => `/deletions/${id}`);
  for (const path of ["/subscriptions", "/subscriptions?since=2026-01-01T00:00:30Z", ...paths, ...deletions]) {
    const { status, body } = await get(path);
    answers[path] = { status, body };
  }
  return answers;
}

/** The responses to an app that synced before, on the user's phone, by password. */
export async function askAsApp(send: TestApp["send"]) {
  const headers = {
    ...basicAuth("ann", PASSWORD),
    "User-Agent": "AntennaPod/3.5",
  };
  const get = async (path: string) => {
    const { status, body } = await send("GET", path, { headers });
    return { status, body };
  };
  const played = await get(`/api/2/episodes/ann.json?since=0&podcast=${encodeURIComponent(url("kept"))}`);
  const devices = await get("/api/2/devices/ann.json");
  // Later than what it was told last: only what is new. Before the list, whose moment is kept.
  const changes = await get("/api/2/subscriptions/ann/phone.json?since=2000000000");
  return {
    devices,
    // In its own spelling.
    list: await get("/subscriptions/ann/phone.json"),
    changes,
    actions: played.body.actions,
  };
}
