// Migrations, as a static map: a compiled executable has no directory to read them from.
import { type Kysely, type Migration, Migrator } from "kysely";
import { DomainError, reasonOf } from "../../errors.ts";
import type { Schema } from "../schema.ts";
import { start } from "./0001_start.ts";
import { relaxChecks } from "./0002_relax_checks.ts";
import { accounts } from "./0003_accounts.ts";
import { addTitles } from "./0004_titles.ts";
import { addAppSync } from "./0005_app_sync.ts";
import { addHistory } from "./0006_history.ts";
import { addFeedLookups } from "./0007_feed_lookups.ts";
import { addPage } from "./0008_page.ts";
import { keyLookupsBySpelling } from "./0009_lookups_by_spelling.ts";
import { addSignIns } from "./0010_sign_ins.ts";
import { addEpisodes } from "./0011_episodes.ts";
import { addPlays } from "./0012_plays.ts";
import { separateHoldings } from "./0013_holdings.ts";
import { addFirstSteps } from "./0014_first_steps.ts";
import { addPageEnds } from "./0015_page_ends.ts";
import { addRefusals } from "./0016_refusals.ts";
import { addDraft } from "./0017_draft.ts";
import { addSyncPauses } from "./0018_sync_pauses.ts";
import { addEpisodeTitles } from "./0019_episode_titles.ts";
import { giveEpisodesRowids } from "./0020_episode_pages.ts";
import { numberUsers } from "./0021_numbered_users.ts";
import { addEpisodeMoves } from "./0022_episode_moves.ts";
import { indexRetiredGuids } from "./0023_retired_guids.ts";
import { indexLeftFeeds } from "./0024_left_feeds.ts";
import { addEndsAhead } from "./0025_ends_ahead.ts";
import { indexRetiredSubscriptions } from "./0026_retired_subscriptions.ts";
import { shortenSpellingsKey } from "./0027_long_spellings.ts";
import type { Dialect } from "./dialect.ts";

const MIGRATIONS: Record<string, (dialect: Dialect) => Migration> = {
  "0001_start": start,
  "0002_relax_checks": relaxChecks,
  "0003_accounts": accounts,
  "0004_titles": addTitles,
  "0005_app_sync": addAppSync,
  "0006_history": addHistory,
  "0007_feed_lookups": addFeedLookups,
  "0008_page": addPage,
  "0009_lookups_by_spelling": () => keyLookupsBySpelling,
  "0010_sign_ins": addSignIns,
  "0011_episodes": addEpisodes,
  "0012_plays": addPlays,
  "0013_holdings": separateHoldings,
  "0014_first_steps": addFirstSteps,
  "0015_page_ends": addPageEnds,
  "0016_refusals": addRefusals,
  "0017_draft": addDraft,
  "0018_sync_pauses": () => addSyncPauses,
  "0019_episode_titles": addEpisodeTitles,
  "0020_episode_pages": giveEpisodesRowids,
  "0021_numbered_users": numberUsers,
  "0022_episode_moves": addEpisodeMoves,
  "0023_retired_guids": indexRetiredGuids,
  "0024_left_feeds": indexLeftFeeds,
  "0025_ends_ahead": () => addEndsAhead,
  "0026_retired_subscriptions": () => indexRetiredSubscriptions,
  "0027_long_spellings": shortenSpellingsKey,
};

/** The schema version of this program: its last migration. */
export const SCHEMA_VERSION = Object.keys(MIGRATIONS).at(-1) ?? "";
/** Holds the names of the applied migrations. A database with tables but without this one is not ours. */
export const MIGRATION_TABLE = "podkeep_migration";

/** In the same table while `podkeep copy` fills the database. */
export const COPYING = "copying";

/** When a database is migrated: at each opening, by `podkeep migrate` only, or at this opening if it is empty. */
export type Migrating = "start" | "command" | "empty";

/** What is said of a migration. Schema versions are names of migrations. */
export interface MigrationReport {
  /** Called before it waits for another server or command that migrates the database. */
  awaits?: (() => void) | undefined;
  /** Called before it, if the database was not new. */
  migrates?: ((versions: Versions) => void) | undefined;
  /** Called after it, if the database was not new, with the path of the backup from before it, if one was made. */
  migrated?: ((migration: Versions & { backup: string | null }) => void) | undefined;
}

interface Versions {
  from: string;
  to: string;
}

/** A database with the schema of an older or a newer program. */
export class OtherSchema extends DomainError {}

/** A database that holds a part of a copy. */
export class UnfinishedCopy extends DomainError {}

/**
 * The migrations that the database lacks.
 * @param names of the applied migrations, in any order, and COPYING
 * @param copying whether it is opened to be filled
 * @throws DomainError "config" if the database holds one that this program doesn't know, lacks one that only
 *   `podkeep migrate` may make, or holds a part of a copy
 */
export function pendingMigrations(names: readonly string[], migrating: Migrating, copying = false): string[] {
  if (names.includes(COPYING) && !copying) {
    throw new UnfinishedCopy("config", "A copy into this database was interrupted: run the same podkeep copy again");
  }
  const applied = names.filter((name) => name !== COPYING);
  const known = Object.keys(MIGRATIONS);
  const newest = [...applied].sort().at(-1);
  const newer = describeNewer(applied);
  if (newer !== null) throw new OtherSchema("config", newer);
  const pending = known.filter((name) => !applied.includes(name));
  if (names.includes(COPYING) && pending.length > 0) {
    throw new DomainError("config", "An older podkeep began a copy into this database: empty it and copy again");
  }
  // A copy fills new databases. Another one may be in use by servers of an older version.
  const isOnlyFilled = copying || migrating === "empty";
  if (pending.length > 0 && (migrating === "command" || (isOnlyFilled && newest !== undefined))) {
    const has =
      newest === undefined ? "no schema yet" : `schema version ${newest}, this program needs ${SCHEMA_VERSION}`;
    throw new OtherSchema("config", `The ${copying ? "target" : "database"} has ${has}: run podkeep migrate`);
  }
  return pending;
}

/** What to do about applied migrations that a newer program made; null if this one knows all. */
export function describeNewer(applied: readonly string[]): string | null {
  if (applied.every((name) => name === COPYING || name in MIGRATIONS)) return null;
  const newest = [...applied].sort().findLast((name) => name !== COPYING);
  return `The database has schema version ${newest}, this program knows up to ${SCHEMA_VERSION}: use a newer podkeep`;
}

/**
 * Brings the database to this program's schema, in a transaction of the caller.
 * @param schema of the tables, in a database with several
 * @throws DomainError "unavailable" if a migration fails
 */
export async function migrate(db: Kysely<Schema>, dialect: Dialect, schema?: string): Promise<void> {
  const getMigrations = async () =>
    Object.fromEntries(Object.entries(MIGRATIONS).map(([name, migrationFor]) => [name, migrationFor(dialect)]));
  const migrator = new Migrator({
    db,
    provider: { getMigrations },
    migrationTableName: MIGRATION_TABLE,
    migrationLockTableName: `${MIGRATION_TABLE}_lock`,
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
    disableTransactions: true,
  });
  const { error } = await migrator.migrateToLatest();
  if (error) throw notMigrated(error);
}

export const notMigrated = (cause: unknown) =>
  new DomainError("unavailable", `The database could not be migrated: ${reasonOf(cause)}`, { cause });
