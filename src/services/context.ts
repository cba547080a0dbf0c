// The context of every service: database, clock, ids, settings.
import type { Clock, Ids } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import type { Database } from "../db/database.ts";
import type { PasswordChecker } from "./accounts/password-checker.ts";
import type { SignedSession } from "./accounts/signed-sessions.ts";
import type { RemovalWatch } from "./subscriptions/removal-watch.ts";

/** How episodes are moved in parts. */
export interface EpisodeMoving {
  /** From so many episodes on, a change leaves them to the worker. */
  many: number;
  /** Episodes that the worker moves in one transaction. */
  part: number;
  /** From so many plays of these on, they too are moved or deleted in parts, and how many are a part. */
  plays: { many: number; part: number };
  /** Called after each commit that leaves it work. */
  wake: () => void;
}

export interface Context {
  database: Database;
  clock: Clock;
  ids: Ids;
  config: Config;
  /** Called after each commit that can leave work for the deletion worker. */
  wakeDeletionWorker: () => void;
  episodeMoving: EpisodeMoving;
  passwords: PasswordChecker;
  /** Hashes of tokens and ids of the page's sessions whose last use is being written. */
  noting: Set<string>;
  /** Sessions of apps whose signature was checked, by their text. */
  sessions: Map<string, SignedSession>;
  removals: RemovalWatch;
}
