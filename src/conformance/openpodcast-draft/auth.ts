// Who may use the draft, and logging in.
import { z } from "zod";
import { type Check, NOWHERE } from "../check.ts";
import { expect, expectEqual, NotApplicable } from "../expect.ts";
import type { Prober } from "../prober.ts";
import { requireOtherUserToken } from "../target.ts";
import { action, DRAFT, draftClient, Entity, expectDraftError, factsOf, MINUTE, openSubscribed } from "./client.ts";

const SOURCE = `${DRAFT}, authentication`;
const ROUTES: [string, string][] = [
  ["GET", "/api/v1/sync"],
  ["POST", "/api/v1/sync"],
  ["GET", "/api/v1/subscriptions"],
  ["GET", `/api/v1/subscriptions/${NOWHERE}`],
];
const Access = z.looseObject({ access_token: z.string().min(1), expires_in: z.number().positive() });
const Login = Access.extend({
  refresh_token: z.string().min(1),
  refresh_expires: z.iso.datetime({ offset: true }),
  refresh_endpoint: z.string(),
});

async function logIn(prober: Prober) {
  const { user, password } = prober.target;
  if (user === "" || password === null) throw new NotApplicable("it needs a name and a password: add --user");
  const answer = await prober.request("POST", "/auth/login", { body: { username: user, password } });
  expectEqual("status", answer.status, 200);
  return answer.json(Login);
}

async function requireAccess(prober: Prober, token: string): Promise<void> {
  const headers = { Authorization: `Bearer ${token}` };
  expectEqual("status with the access token", (await prober.request("GET", "/api/v1/sync", { headers })).status, 200);
}

export const draftAuth: Check[] = [
  {
    id: "openpodcast-draft/auth/missing-token-is-401",
    says: "Every route answers 401 with the error body if no token is sent",
    source: SOURCE,
    level: "MUST",
    async run(prober) {
      for (const [method, path] of ROUTES) {
        expectDraftError(await prober.request(method, path, method === "POST" ? { body: { requests: [] } } : {}), 401);
      }
    },
  },
  {
    id: "openpodcast-draft/auth/wrong-token-is-401",
    says: "Every route answers 401 to a token that was never issued",
    source: SOURCE,
    level: "MUST",
    async run(prober) {
      const headers = { Authorization: "Bearer never-issued-token-of-a-check" };
      for (const [method, path] of ROUTES) {
        const body = method === "POST" ? { body: { requests: [] } } : {};
        expectDraftError(await prober.request(method, path, { ...body, headers }), 401);
      }
    },
  },
  {
    id: "openpodcast-draft/auth/login",
    says: "Name and password give an access token that is good, and a refresh token",
    source: `${SOURCE}: login`,
    level: "MUST",
    async run(prober) {
      await requireAccess(prober, (await logIn(prober)).access_token);
    },
  },
  {
    id: "openpodcast-draft/auth/refresh",
    says: "A refresh token gives another access token that is good, as often as it is used",
    source: `${SOURCE}: refreshing an access token; its response has no other refresh token`,
    level: "MUST",
    async run(prober) {
      const { refresh_token } = await logIn(prober);
      for (let times = 0; times < 2; times++) {
        const answer = await prober.request("POST", "/auth/refresh", { body: { refresh_token } });
        expectEqual("status", answer.status, 200);
        await requireAccess(prober, answer.json(Access).access_token);
      }
    },
  },
  {
    id: "openpodcast-draft/auth/wrong-credentials-are-401",
    says: "A wrong password and an unknown refresh token are answered 401",
    source: `${SOURCE}: error responses`,
    level: "MUST",
    async run(prober) {
      const { user } = prober.target;
      draftClient(prober);
      const wrong = { username: user || "nobody", password: "a password that nobody has" };
      expectDraftError(await prober.request("POST", "/auth/login", { body: wrong }), 401);
      const unknown = { refresh_token: "never-issued-token-of-a-check" };
      expectDraftError(await prober.request("POST", "/auth/refresh", { body: unknown }), 401);
    },
  },
];

/** After all checks of what one user does, because they would find there what is wrong with it. */
export const draftOtherUser: Check[] = [
  {
    id: "openpodcast-draft/auth/another-user-sees-nothing",
    says: "Another user neither lists, reads nor changes a subscription of this one",
    source: `${SOURCE}: a token is one user's`,
    level: "MUST",
    async run(prober) {
      const stranger = draftClient(prober, requireOtherUserToken(prober.target));
      const { app, now, sync_id } = await openSubscribed(prober, MINUTE);
      const path = `/api/v1/subscriptions/${sync_id}`;
      const before = (await app.request("GET", path)).json(Entity);
      expectEqual("the other user's list", await stranger.ours("include_unsubscribed=true"), []);
      const told = (await stranger.changes(undefined, "include_own=true")).map(({ data }) => data.feed_url);
      expectEqual("the other user's changes", told.filter(prober.isOurs), []);
      const { status } = await stranger.request("GET", path);
      expect(`Status ${status}`, status >= 400 && status < 500);
      for (const kind of ["update", "unsubscribe"]) {
        const data = { sync_id, guid: crypto.randomUUID(), feed_url: prober.feed("-moved") };
        await stranger.send(action(kind, now, data));
      }
      expectEqual("the subscription", factsOf((await app.request("GET", path)).json(Entity)), factsOf(before));
    },
  },
];
