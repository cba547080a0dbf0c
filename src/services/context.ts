// What every service needs: the database, the time, ids and the settings.
import type { Clock, Ids } from "../clock.ts";
import type { Config } from "../config/settings.ts";
import type { Database } from "../db/database.ts";

export interface Context {
  database: Database;
  clock: Clock;
  ids: Ids;
  config: Config;
  /** Called after each commit that may have left work for the deletion worker. */
  wakeWorker: () => void;
  /** Tokens whose use is being written down. */
  recording: Set<string>;
}
