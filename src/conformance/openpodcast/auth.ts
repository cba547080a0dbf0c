// Who may use the Open Podcast API.
import { type Check, NOWHERE } from "../check.ts";
import { expect, expectEqual, requireSuccess } from "../expect.ts";
import type { Sent } from "../prober.ts";
import { expectError, openPodcast } from "./client.ts";

/** Requests with which nothing is wrong but the credentials: which error comes first is left open. */
const ROUTES: [method: string, path: string, sent?: Sent][] = [
  ["GET", "/subscriptions"],
  ["POST", "/subscriptions", { body: { subscriptions: [] } }],
  ["GET", `/subscriptions/${NOWHERE}`],
  ["PATCH", `/subscriptions/${NOWHERE}`, { body: { is_subscribed: false } }],
  ["DELETE", `/subscriptions/${NOWHERE}`],
  ["GET", "/deletions/1"],
];

export const authChecks: Check[] = [
  {
    id: "openpodcast/auth/missing-token-is-401",
    says: "Every route answers 401 with the error body if no credentials are sent",
    source: "Open Podcast API: Authorization, error 401",
    level: "MUST",
    async run(prober) {
      for (const [method, path, sent] of ROUTES) expectError(await prober.request(method, path, sent), 401);
    },
  },
  {
    id: "openpodcast/auth/wrong-token-is-401",
    says: "Every route answers 401 to a token that was never issued",
    source: "Open Podcast API: Authorization, error 401",
    level: "MUST",
    async run(prober) {
      const { request } = openPodcast(prober, "never-issued-token-of-a-check");
      for (const [method, path, sent] of ROUTES) expectError(await request(method, path, sent), 401);
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
