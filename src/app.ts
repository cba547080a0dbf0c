// The composition root: opens the database and puts services and workers together.
import { dirname } from "node:path";
import { type Clock, type Ids, systemClock, systemIds } from "./clock.ts";
import type { Config } from "./config/settings.ts";
import type { DatabaseUse } from "./db/database.ts";
import { type Migrating, SCHEMA_VERSION } from "./db/migrations/migrate.ts";
import { openDatabase } from "./db/open.ts";
import { describeDangling } from "./db/sqlite/file.ts";
import { findNetwork } from "./db/sqlite/file-system.ts";
import { refuseLost, requireBackups } from "./db/sqlite/lost.ts";
import { DomainError } from "./errors.ts";
import { type Logger, silentLogger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import { createPasswordChecker, type HashCost } from "./services/accounts/password-checker.ts";
import type { BackgroundWorker } from "./services/background-worker.ts";
import type { Context, EpisodeMoving } from "./services/context.ts";
import { createEpisodeMover } from "./services/listening/episode-mover.ts";
import { createDeletionWorker } from "./services/subscriptions/deletion-worker.ts";
import { createRemovalWatch } from "./services/subscriptions/removal-watch.ts";

export interface App extends Context {
  log: Logger;
  metrics: Metrics | undefined;
  /** Carries out deletions. */
  deletionWorker: BackgroundWorker;
  /** Moves episodes in parts. */
  mover: BackgroundWorker;
  /** Waits for deletions, moves and looks for mass removals in progress, then closes the database. */
  close(): Promise<void>;
}

interface AppOptions {
  clock?: Clock;
  ids?: Ids;
  log?: Logger;
  metrics?: Metrics | undefined;
  /** What hashing a password costs; what OWASP recommends by default. */
  hashing?: HashCost | undefined;
  /** Fewer episodes than a change of them usually leaves to the worker, and than that moves at a time. */
  episodeMoving?: Partial<Omit<EpisodeMoving, "wake">> | undefined;
  /** What opens it; a command by default. */
  use?: DatabaseUse;
  /** Instead of what the setting says. */
  migrate?: Migrating;
}

/**
 * Opens the database and creates the app. Its workers do nothing until they are started.
 * @throws DomainError "config" if the database can't be used, "conflict" if a server or restore uses it
 */
export async function openApp(config: Config, options: AppOptions = {}): Promise<App> {
  const log = options.log ?? silentLogger;
  const { metrics } = options;
  const database = await openDatabase(config.location, {
    ...config,
    migrate: options.migrate ?? config.migrate,
    metrics,
    use: options.use ?? "command",
    awaits: () => log.info("waiting until another server or podkeep migrate has migrated the database"),
    migrates: (versions) => log.info(versions, "migrating the schema; a large database takes minutes"),
    migrated: (migration) => log.info(migration, "schema migrated"),
    logDamaged: (copy) => log.warn({ copy }, "the write-ahead log is damaged: changes are lost. Run podkeep doctor"),
  });
  const network = "file" in config.location ? findNetwork(dirname(config.location.file)) : null;
  if (network) log.warn(`${network}: move it to a local disk`);
  const clock = options.clock ?? systemClock;
  const context: Context = {
    database,
    clock,
    ids: options.ids ?? systemIds,
    config,
    wakeDeletionWorker: () => deletionWorker.wake(),
    episodeMoving: {
      many: 1000,
      part: 128,
      plays: { many: 5000, part: 1000 },
      ...options.episodeMoving,
      wake: () => mover.wake(),
    },
    passwords: createPasswordChecker(clock, options.hashing),
    noting: new Set(),
    sessions: new Map(),
    removals: createRemovalWatch({ database, clock }, log, metrics),
  };
  const deletionWorker = createDeletionWorker(context, log);
  const mover = createEpisodeMover(context, log);
  return {
    ...context,
    log,
    metrics,
    deletionWorker,
    mover,
    async close() {
      await Promise.all([deletionWorker.stop(), mover.stop()]);
      await context.removals.idle();
      await database.close();
    },
  };
}

/**
 * @throws DomainError "config" if the database file is missing or empty, although there was one before, or its directory
 * is a link that leads nowhere; "unavailable" if that can't be known
 */
export async function refuseLostData({ location, backup_dir }: Config): Promise<void> {
  if ("url" in location) return;
  const directory = dirname(location.file);
  const dangling = describeDangling(directory);
  if (dangling !== null) throw new DomainError("config", `The data directory ${directory} can't be used: ${dangling}`);
  await requireBackups(location.file, backup_dir);
  refuseLost(location.file, backup_dir);
}

/** Migrates the database, also if PODKEEP_MIGRATE is "command". @returns its schema version */
export async function migrateDatabase(config: Config): Promise<string> {
  const app = await openApp(config, { migrate: "start" });
  await app.close();
  return SCHEMA_VERSION;
}
