// What the tests of apps share: a server with a user who has a password, and requests as an app sends them.
import { afterEach, beforeEach, expect } from "bun:test";
import { actAsAdmin } from "../../src/services/actor.ts";
import { listPlays } from "../../src/services/listening/play-list.ts";
import { type Answer, openTestApp, type TestApp } from "../support/app.ts";
import { basicAuth } from "../support/basic-auth.ts";
import { playOf } from "../support/play.ts";

export const PASSWORD = "correct horse";

/** The server of the test that runs. */
export let server: TestApp & { token: string };

/** Opens a server with a user. @param name of the user */
export async function openFor(name = "ann"): Promise<void> {
  const opened = await openTestApp();
  const user = await opened.user(name);
  await user.setPassword(PASSWORD);
  server = Object.assign(opened, { token: user.token });
}

/** Opens one for each test of a file. @param prepare what happens before the test */
export function openForEach(prepare?: () => Promise<void>): void {
  beforeEach(async () => {
    await openFor();
    await prepare?.();
  });
  afterEach(() => server.close());
}

/** Sends requests with the headers that an app sends with each. */
export const openAs =
  (own: Record<string, string>) =>
  (method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> =>
    server.send(method, path, { headers: { ...own, ...headers }, ...(body === undefined ? {} : { body }) });

/** Asks as an app that signs in each time, a minute after the request before. @returns the body of a response of status 200 */
export function askAs(agent: string, token = server.token) {
  const send = openAs({ ...basicAuth("ann", token), "User-Agent": agent });
  return async (method: string, path: string, body?: unknown): Promise<Answer["body"]> => {
    server.clock.advance(60_000);
    const answer = await send(method, path, {}, body === undefined ? undefined : JSON.stringify(body));
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.body;
  };
}

/** A feed, an episode of it, and a play of that. */
export const FEED = "https://feeds.example/show";
export const EPISODE = "https://feeds.example/1.mp3";
export const played = (position: number) => playOf(FEED, EPISODE, { guid: "one", device: "app", position });

/** What "Listening" has, newest first. */
export async function listened(): Promise<{ started: number; position: number }[]> {
  const { plays } = await listPlays(server.app, await actAsAdmin(server.app, "ann", "test"), { limit: 100 });
  return plays.map(({ started, position }) => ({ started: started ?? 0, position: position ?? 0 }));
}

/** Adds the feed and a play as another app of the user does. */
export async function addElsewhere(name = "ann"): Promise<void> {
  const send = openAs({ ...basicAuth(name, server.token), "User-Agent": "Elsewhere/1" });
  const device = encodeURIComponent(name);
  await send("POST", `/api/2/subscriptions/${device}/other.json`, {}, JSON.stringify({ add: [FEED], remove: [] }));
  await send("POST", `/api/2/episodes/${device}.json`, {}, JSON.stringify([played(42)]));
}

/** Moves the only podcast as an Open Podcast API app does. */
export async function moveElsewhere(new_feed_url: string): Promise<void> {
  server.clock.advance(60_000);
  const send = openAs({ Authorization: `Bearer ${server.token}`, "Content-Type": "application/json" });
  const [one] = (await send("GET", "/subscriptions")).body.subscriptions;
  const moved = await send("PATCH", `/subscriptions/${one.guid}`, {}, JSON.stringify({ new_feed_url }));
  expect(moved.status).toBe(200);
}
