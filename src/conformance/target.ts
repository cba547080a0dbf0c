// What a run checks.
import type { Clock } from "../clock.ts";
import { parseServerUrl } from "../server-url.ts";
import { NotApplicable } from "./expect.ts";

/** The server under test and the account on it. */
export interface Target {
  /** Base URL without a slash at its end. */
  url: string;
  user: string;
  /** The password, or a token that serves as one. */
  password: string | null;
  /** A bearer token. */
  token: string | null;
  /** A second one of the same account, for a second app. */
  second_token: string | null;
  /** The password that a second app uses, as each app has its own with Nextcloud's login; default: the first one. */
  second_password: string | null;
  /** Another user, who must not see what is in the account; null if none is named. */
  other_user: string | null;
  /** A bearer token of another user; the password too if the user is named. */
  other_user_token: string | null;
  /** Requests a second; 0 for no limit. */
  rate: number;
  /** Seconds until a response must be complete. */
  timeout: number;
  /** How requests reach the server; tests call it in their own process. */
  send(request: Request): Promise<Response>;
  clock: Clock;
  /** Ends the run early; what it made is still removed. */
  signal?: AbortSignal;
}

/** @throws NotApplicable if the run has no token of another user */
export function requireOtherUserToken({ other_user_token }: Target): string {
  if (other_user_token !== null) return other_user_token;
  throw new NotApplicable("it needs a token of another user: add --other-user-token");
}

/** Parses the base URL of a server. @returns null if it is none */
export function readBaseUrl(text: string): string | null {
  const url = parseServerUrl(text);
  if (!url) return null;
  const { origin, pathname, search, hash, username, password } = url;
  return search || hash || username || password ? null : origin + pathname.replace(/\/+$/, "");
}
