// Who may use the Open Podcast API.
import { type Check, NOWHERE } from "../check.ts";
import { expect, expectEqual, requireSuccess } from "../expect.ts";
import type { Sent } from "../prober.ts";
import { requireOtherUserToken } from "../target.ts";
import { expectError, IS_ACCEPTED, MISSING, NEVER_ISSUED, openPodcast, WRONG, withApi } from "./client.ts";
import { IS_CARRIED_OUT } from "./deleting.ts";

/** Requests with which nothing is wrong but the credentials: which error comes first is left open. Others ask for PATCH and DELETE. */
const ROUTES: [method: string, path: string, sent?: Sent][] = [
  ["GET", "/subscriptions"],
  ["POST", "/subscriptions", { body: { subscriptions: [] } }],
  ["GET", `/subscriptions/${NOWHERE}`],
];

export const authChecks: Check[] = [
  {
    id: MISSING,
    says: "Reading and adding are answered 401 with the error body if no credentials are sent",
    source: "Open Podcast API: Authorization, error 401",
    level: "MUST",
    async run(prober) {
      for (const [method, path, sent] of ROUTES) expectError(await prober.request(method, path, sent), 401);
    },
  },
  {
    id: WRONG,
    says: "Reading and adding are answered 401 to a token that was never issued",
    source: "Open Podcast API: Authorization, error 401",
    level: "MUST",
    async run(prober) {
      const { request } = openPodcast(prober, NEVER_ISSUED);
      for (const [method, path, sent] of ROUTES) expectError(await request(method, path, sent), 401);
    },
  },
  {
    id: "openpodcast/auth/malformed-credentials-are-401",
    says: "A header without a token, or of another scheme, is answered 401 too",
    source: "Open Podcast API: a request without acceptable credentials gets the 401 error",
    level: "MUST",
    needs: [MISSING],
    async run(prober) {
      for (const authorization of ["Bearer", "Basic bm9ib2R5", "never-issued"]) {
        const headers = { Authorization: authorization };
        expectError(await prober.request("GET", "/subscriptions", { headers }), 401);
      }
    },
  },
  {
    id: "openpodcast/auth/scheme-in-any-case",
    says: "The name of the scheme is read in any case: `bearer` is `Bearer`",
    source: "RFC 9110, section 11.1",
    level: "SHOULD",
    async run(prober) {
      const { request } = openPodcast(prober);
      const headers = { Authorization: `bearer ${prober.target.token}` };
      requireSuccess(await request("GET", "/subscriptions", { headers }));
    },
  },
  {
    id: "openpodcast/auth/challenge-names-bearer",
    says: "A 401 has WWW-Authenticate with Bearer",
    source: "RFC 6750, section 3",
    level: "SHOULD",
    async run(prober) {
      const { status, headers } = await prober.request("GET", "/subscriptions");
      expectEqual("status", status, 401);
      expect("WWW-Authenticate does not name Bearer", /\bbearer\b/i.test(headers.get("www-authenticate") ?? ""));
    },
  },
];

/** After all checks of what one user does, because they would find there what is wrong with it. */
export const otherUserChecks = withApi([
  {
    id: "openpodcast/auth/another-user-sees-nothing",
    says: "Another user neither lists, reads, changes nor deletes a subscription of this one, nor reads its deletion",
    source: "Open Podcast API: the subscriptions of the authenticated user",
    level: "MUST",
    needs: [IS_CARRIED_OUT],
    async run(owner, prober) {
      const stranger = openPodcast(prober, requireOtherUserToken(prober.target));
      const [{ guid, feed_url }, gone] = [await owner.addOne(prober.feed()), await owner.addOne(prober.feed())];
      const { id } = await owner.delete(gone.guid);
      expectEqual("the other user's list", await stranger.ours(), []);
      const answers = [
        await stranger.read(guid),
        await stranger.patch(guid, { is_subscribed: false }),
        await stranger.request("DELETE", `/subscriptions/${guid}`),
        ...(id === undefined ? [] : [await stranger.request("GET", `/deletions/${id}`)]),
      ];
      for (const { status } of answers) expect(`Status ${status}`, status >= 400 && status < 500);
      const read = await owner.get(guid);
      expectEqual("the subscription", [read.feed_url, read.is_subscribed], [feed_url, true]);
    },
  },
  {
    id: "openpodcast/auth/two-users-one-podcast",
    says: "Two users add one feed with one guid, and what one of them changes leaves the other's subscription as it is",
    source: "Open Podcast API: the subscriptions of the authenticated user; a podcast has one guid for all who listen",
    level: "MUST",
    needs: [IS_ACCEPTED],
    async run(owner, prober) {
      const stranger = openPodcast(prober, requireOtherUserToken(prober.target));
      const [feed_url, guid] = [prober.feed(), crypto.randomUUID()];
      const theirs = await stranger.addOne(feed_url, guid);
      const { status } = await owner.read(theirs.guid);
      expect(`Status ${status} for what the other user added`, status >= 400 && status < 500);
      const added = await owner.addOne(feed_url, guid);
      requireSuccess(await stranger.patch(theirs.guid, { is_subscribed: false }));
      const read = await owner.get(added.guid);
      expectEqual("the subscription", [read.feed_url, read.is_subscribed], [feed_url, true]);
    },
  },
]);
