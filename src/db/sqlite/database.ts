// The embedded engine: one file, a writing connection with group commit, two reading connections.
import { dirname } from "node:path";
import { codeOf, DomainError, isDiskFull, messageOf, unavailableNow } from "../../errors.ts";
import type { Metrics } from "../../metrics.ts";
import { LONGEST_TURN, nextTurn, takeTurns } from "../../turns.ts";
import type { Changes, Database, DatabaseStatus } from "../database.ts";
import { createQueryBuilder } from "../query-builder.ts";
import { readAnything, type Tx } from "../statement.ts";
import { WaitingLimit } from "../waiting-limit.ts";
import { Checkpointer, KEPT_LOG, LONGEST_LOG } from "./checkpoint.ts";
import { SqliteConnection } from "./connection.ts";
import { keepDamagedLog } from "./damaged-log.ts";
import { isServed, lockDirectory } from "./directory-lock.ts";
import { adviseOnRights } from "./directory-owner.ts";
import { damaged, isDamage, prepareFile, refuseDamaged, sizeOf } from "./file.ts";
import { reasonIn } from "./file-system.ts";
import { type GroupOptions, GroupWriter } from "./group-commit.ts";
import { refuseLost, requireBackups } from "./lost.ts";
import { OpenFiles } from "./open-files.ts";
import { choosePageSize, removeJournal } from "./page-size.ts";
import { removeLeftovers } from "./replacement.ts";
import { LONGEST_PAUSE, retryWhileBusy } from "./retry-busy.ts";
import { Snapshot } from "./snapshot.ts";
import { keepStatistics } from "./statistics.ts";
import { isPending, type UpgradeOptions, upgradeFile } from "./upgrade.ts";

/** Of all databases of a process, so each statement is compiled once. */
const kysely = createQueryBuilder("sqlite");

export interface SqliteOptions extends UpgradeOptions {
  metrics?: Metrics | undefined;
  /** Called if the write-ahead log is damaged, with the copy that is kept. */
  logDamaged?: ((copy: string) => void) | undefined;
}

/**
 * Opens the database file, creates it if it is missing, and migrates it.
 * @throws DomainError "config" if the file is not ours, lost, damaged, or from a newer program; "unavailable" if it can't be
 * read or written; "conflict" if another process uses its directory in a way that excludes this one
 */
export async function openSqlite(options: SqliteOptions): Promise<Database> {
  const { file, busy_timeout, use } = options;
  await requireBackups(file, options.backup_dir);
  const unlock = lockDirectory(dirname(file), use);
  const opened: SqliteConnection[] = [];
  // A command that ends as the only one locks the file for a moment.
  const retry = <T>(act: () => T) => retryWhileBusy(busy_timeout, act, dirname(file));
  const open = async (...pragmas: string[]) => {
    const connection = await retry(() => new SqliteConnection(file, pragmas));
    opened.push(connection);
    return connection;
  };
  try {
    refuseLost(file, options.backup_dir);
    prepareFile(file);
    if (use === "server" && options.backup_dir !== null) removeLeftovers(file);
    const isBesideServer = use !== "server" && isServed(dirname(file));
    // A server has looked at the log that it uses.
    const damagedLog = isBesideServer ? null : keepDamagedLog(file);
    if (damagedLog !== null) options.logDamaged?.(damagedLog);
    const checkpoints = [`wal_autocheckpoint = ${LONGEST_LOG}`, `journal_size_limit = ${KEPT_LOG}`];
    // Pages as they were before a statement, for the case that it fails, would be written to a temporary file.
    const writer = await open("synchronous = full", "temp_store = memory", ...checkpoints);
    const { sqlite } = writer;
    const pending = await retry(() => isPending(sqlite, options));
    // Not at every command: it takes time in proportion to the file.
    if (use === "server" && !pending) await retry(() => refuseDamaged(sqlite, file));
    if (sizeOf(file) === 0) choosePageSize(sqlite);
    await retry(() => sqlite.run("pragma journal_mode = wal"));
    if (use === "server") removeJournal(sqlite, file);
    if (damagedLog !== null) await retry(() => sqlite.run("pragma wal_checkpoint(truncate)"));
    if (pending) await upgradeFile(sqlite, options);
    if (use === "server" || pending) keepStatistics(sqlite);
    const cache = `cache_size = -${cacheFor(sizeOf(file))}`;
    const readers = [await open("query_only = on", cache), await open("query_only = on", cache)];
    // Opens the log, and creates it if it is missing.
    for (const reader of readers) await retry(() => reader.run("select count(*) from sqlite_schema"));
    // One that waits for the file looks every few milliseconds.
    const rest = isBesideServer ? 2 * LONGEST_PAUSE : 0;
    return new SqliteDatabase(writer, readers, { ...options, rest }, unlock);
  } catch (error) {
    for (const connection of opened) connection.close();
    // Before it is unlocked: a restore must not replace the file while this looks at it again.
    const failure = failureOf(file, error);
    unlock();
    throw failure;
  }
}

function failureOf(file: string, error: unknown): DomainError {
  if (error instanceof DomainError) return error;
  if (codeOf(error) === "SQLITE_NOTADB") {
    return new DomainError("config", `${file} is not a SQLite database`, { cause: error });
  }
  if (isDamage(error)) return damaged(file, messageOf(error), error);
  const isRefused = codeOf(error) === "SQLITE_READONLY_DIRECTORY";
  const advice = isRefused ? `. ${adviseOnRights(dirname(file))}` : "";
  const reason =
    reasonIn(dirname(file), error) + advice + (isDiskFull(error) ? ". Free some space, and try again" : "");
  return new DomainError("unavailable", `${file} can't be opened as a database: ${reason}`, { cause: error });
}

/**
 * Kibibytes of the cache of a reader: 2 MB as SQLite's own, and of a large file up to 8 MB, which hold the pages that lead to
 * all others. @param size bytes of the file
 */
const cacheFor = (size: number) => Math.min(Math.max(2000, Math.ceil(size / 1024 / 32)), 8000);

/** Milliseconds after which a read gives others a turn: reads that run side by side rarely do, which would part them. */
const LONGEST_READ = 3 * LONGEST_TURN;

/**
 * Others get a turn between the statements of a long transaction.
 * @param longest milliseconds after which they do
 * @param count is called before each statement
 */
function txOn(connection: SqliteConnection, longest: number, count = () => {}): Tx {
  const giveTurn = takeTurns(longest);
  const execute: Tx["execute"] = async (query) => {
    count();
    const turn = giveTurn();
    if (turn) await turn;
    return connection.execute(query);
  };
  return { kysely, execute };
}

class SqliteDatabase implements Database {
  /** The second one is for those who come while a long read takes turns on the first. */
  readonly #snapshots: Snapshot[];
  readonly #group: GroupWriter;
  readonly #limit = new WaitingLimit();
  readonly #checkpointer: Checkpointer;
  readonly #files: OpenFiles;
  #isLost = false;
  #reading = 0;

  constructor(
    private readonly writer: SqliteConnection,
    readers: SqliteConnection[],
    private readonly options: SqliteOptions & Pick<GroupOptions, "rest">,
    private readonly unlock: () => void,
  ) {
    this.#files = new OpenFiles(options.file);
    this.#checkpointer = new Checkpointer(options.file);
    this.#snapshots = readers.map((reader) => new Snapshot(reader));
    this.#group = new GroupWriter(writer, {
      busy_timeout: options.busy_timeout,
      rest: options.rest,
      // A look takes 25 µs here, after a turn without work. One after the commit finds out the same.
      refuse: () => {
        if (this.#isLost) this.#refuseLost();
      },
      verify: () => this.#refuseLost(),
      committed: (jobs, duration) => options.metrics?.committed(jobs, duration / 1000),
      ended: () => {
        for (const snapshot of this.#snapshots) snapshot.end();
        // It opens the file by its path.
        if (!this.#isLost) this.#checkpointer.check(writer);
      },
    });
  }

  async read<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    this.#reading++;
    let snapshot = this.#snapshots.find(({ isFree }) => isFree);
    while (!snapshot) {
      await Promise.race(this.#snapshots.map(({ ended }) => ended));
      snapshot = this.#snapshots.find(({ isFree }) => isFree);
    }
    const { connection } = snapshot;
    try {
      return await snapshot.run(() => work(txOn(connection, LONGEST_READ)));
    } catch (error) {
      throw connection.translate(error);
    } finally {
      this.#reading--;
    }
  }

  write<T>(work: (tx: Tx) => Promise<T>, queue?: number, changes?: Changes): Promise<T> {
    const act = (count: () => void) => work(txOn(this.writer, LONGEST_TURN, count));
    return this.#limit.run(queue, () => this.#group.run(queue, act, changes));
  }

  watch(user: number, ignored?: "episodes"): () => boolean {
    return this.#group.watch(user, ignored);
  }

  async check(): Promise<void> {
    await this.read((tx) => readAnything(tx, {}));
    this.#refuseLost();
  }

  findLoss(): string | null {
    const loss = this.#files.findLoss();
    this.#isLost = loss !== null;
    if (this.#isLost && !this.#files.isIndexLost()) this.#emptyLog();
    return loss;
  }

  // Writes to files without their names succeed, and are lost when the process ends.
  #refuseLost(): void {
    const loss = this.findLoss();
    if (loss) throw unavailableNow(loss);
  }

  // The log may be without its name while the file is not; and it must not be replayed onto another file.
  #emptyLog(): void {
    try {
      if (!this.writer.inTransaction) this.writer.run("pragma wal_checkpoint(truncate)");
    } catch {
      // Someone reads or writes: the next look tries again.
    }
  }

  async status(): Promise<DatabaseStatus> {
    const { file } = this.options;
    return { waiting: this.#group.waiting, bytes: sizeOf(file), wal_bytes: sizeOf(`${file}-wal`) };
  }

  async close(): Promise<void> {
    await this.#group.idle();
    while (this.#reading > 0) await nextTurn();
    await this.#checkpointer.close();
    for (const snapshot of this.#snapshots) {
      snapshot.end();
      snapshot.connection.close();
    }
    this.writer.close();
    this.unlock();
  }
}
